/*
   CSR of complex numbers times a block, without the real matrix: it has 48 bytes for each entry in double precision,
   and the complex one has 20.

   As in csr/copy.cu there is a row-major copy of B, of real rows: the real parts of a row, and behind them the
   imaginary ones. A group of lanes has a row of A, or a part of a row that is cut. Each lane has a few columns of both
   parts of numbers, and adds the entries one after the other, as MATAIJ does. So the sum of a row that is not cut need
   not be made again where it is not finite, and bits do not depend on how many columns there are.
*/
#include "pairs.cuh"
#include "../common/rowmajor.cuh"

enum {
  THREADS = 128,
  WIDTH   = 16 / sizeof(HrpbScalar) /* columns of a lane's vector */
};

namespace {
struct CsrPairsArgs {
  const HrpbInt    *rowptr, *colidx;
  const VectorPair *values;
  const HrpbScalar *R, *C0; /* C0 is NULL where nothing is added */
  HrpbScalar       *C;
  int64_t           ldc, ldc0;
  int32_t           nrows, ldr, N; /* rows of complex numbers */
  const VectorPart *parts;         /* of rows with more entries than most */
  VectorPair       *partial;       /* the sums of a part follow each other */
  int32_t           nparts, most;
  uint32_t          part_blocks;   /* thread blocks for parts: they come first, because their items are the longest */
};

struct alignas(16) Columns {
  HrpbScalar x[WIDTH];
};
} // namespace

static __device__ __forceinline__ Columns ReadColumns(const HrpbScalar *p)
{
  return *(const Columns *)p;
}

/*
   G  lanes of a group
   K  vectors of a lane, G vectors apart
   U  entries that are on their way together: the second number of the bounds leaves them registers. Beyond the last one
      it is read again, and not added
*/
template <int G, int K, int U>
static __global__ void __launch_bounds__(THREADS, K == 1 ? 8 : 6) CsrPairs(const __grid_constant__ CsrPairsArgs a)
{
  const bool    cut  = blockIdx.x < a.part_blocks;
  const int64_t item = (int64_t)(cut ? blockIdx.x : blockIdx.x - a.part_blocks) * (THREADS / G) + threadIdx.x / G;
  const int32_t n0   = blockIdx.y * (G * K * WIDTH) + threadIdx.x % G * WIDTH; /* first column */
  Columns       re[K] = {}, im[K] = {};

  HrpbWaitForKernelBefore();
  if (item >= (cut ? a.nparts : a.nrows) || n0 >= a.N) return;

  const HrpbInt     begin  = cut ? a.parts[item].begin : __ldg(a.rowptr + item);
  const int32_t     length = cut ? a.parts[item].length : (int32_t)(__ldg(a.rowptr + item + 1) - begin);
  const HrpbInt    *colidx = a.colidx + begin;
  const VectorPair *values = a.values + begin;
  const HrpbScalar *r      = a.R + n0;
  const auto        Column = [&](int k) { return n0 + k * G * WIDTH < a.N ? k * G * WIDTH : 0; };

  if (length > a.most || (!length && a.C == a.C0)) return; /* C is not touched where there are no entries */
#pragma unroll 1
  for (int32_t first = 0; first < length; first += U) {
    VectorPair value[U];
    Columns    x[U][K], y[U][K];

#pragma unroll
    for (int u = 0; u < U; u++) {
      const int32_t     at  = min(first + u, length - 1);
      const HrpbScalar *row_b = r + 2 * (int64_t)__ldg(colidx + at) * a.ldr;

      value[u] = VectorRead(values + at);
#pragma unroll
      for (int k = 0; k < K; k++) {
        x[u][k] = ReadColumns(row_b + Column(k));
        y[u][k] = ReadColumns(row_b + a.ldr + Column(k));
      }
    }
#pragma unroll
    for (int u = 0; u < U; u++) {
      if (first + u < length) {
#pragma unroll
        for (int k = 0; k < K; k++) {
#pragma unroll
          for (int w = 0; w < WIDTH; w++) {
            const VectorPair sum = VectorFma(value[u], VectorPair{x[u][k].x[w], y[u][k].x[w]}, VectorPair{re[k].x[w], im[k].x[w]});

            re[k].x[w] = sum.re;
            im[k].x[w] = sum.im;
          }
        }
      }
    }
  }
#pragma unroll
  for (int k = 0; k < K; k++) {
#pragma unroll
    for (int w = 0; w < WIDTH; w++) {
      const int32_t n   = n0 + k * G * WIDTH + w;
      VectorPair    sum = {re[k].x[w], im[k].x[w]};

      if (n >= a.N) continue;
      if (cut) a.partial[item * a.N + n] = sum;
      else {
        if (a.C0) sum = *(const VectorPair *)(a.C0 + 2 * item + n * a.ldc0) + sum; /* which may be C */
        *(VectorPair *)(a.C + 2 * item + n * a.ldc) = sum;
      }
    }
  }
}

static int32_t LeadingDimension(int64_t N)
{
  return (int32_t)((N + WIDTH - 1) / WIDTH * WIDTH);
}

/* The sums of parts come first, then the copy of B */
static HrpbError WorkBytes(const SpmmMatrix *A, const SpmmOperands *o, size_t *bytes)
{
  *bytes = ComplexPartialBytes(A->vector, o->N) + sizeof(HrpbScalar) * (size_t)A->ncols * (size_t)LeadingDimension(o->N);
  return HRPB_SUCCESS;
}

bool PairsTake(const SpmmFacts *, const HrpbParams *, const SpmmOperands *o, const SpmmDevice *)
{
  return o->X.layout == SPMM_COLUMN_MAJOR && o->Y.layout == SPMM_COLUMN_MAJOR &&
         (o->update == SPMM_ASSIGN || (o->update == SPMM_ADD && o->Y0.layout == SPMM_COLUMN_MAJOR));
}

template <int G, int K, int U> static HrpbError Launch(CsrPairsArgs a, cudaStream_t stream)
{
  constexpr int GROUPS = THREADS / G;

  a.part_blocks = (a.nparts + GROUPS - 1) / GROUPS;
  return LaunchAfter(CsrPairs<G, K, U>, dim3(a.part_blocks + HrpbGrid(a.nrows, GROUPS), (a.N + G * K * WIDTH - 1) / (G * K * WIDTH)),
    THREADS, 0, stream, a);
}

static HrpbError LaunchFor(const CsrPairsArgs &a, cudaStream_t stream)
{
  if (a.N <= WIDTH) return Launch<1, 1, 4>(a, stream);
  if (a.N <= 2 * WIDTH) return Launch<2, 1, 4>(a, stream);
  if (a.N <= 4 * WIDTH) return Launch<4, 1, 4>(a, stream);
  if (a.N <= 8 * WIDTH) return Launch<8, 1, 4>(a, stream);
  return Launch<8, 2, 2>(a, stream);
}

/* nrows, ncols and the operands are those of the real matrix, arrays and VectorPlan those of the complex one */
static HrpbError Run(const SpmmMatrix *A, const SpmmOperands *o, void *work, HrpbStream stream)
{
  const VectorPlan  *v    = A->vector;
  const int32_t      N    = (int32_t)o->N, ldr = LeadingDimension(N);
  VectorPair        *sums = (VectorPair *)work;
  HrpbScalar        *R    = (HrpbScalar *)((uint8_t *)work + ComplexPartialBytes(v, N));
  const CsrPairsArgs a    = {A->rowptr, A->colidx, (const VectorPair *)A->values, R, o->update == SPMM_ADD ? o->Y0.array : NULL, o->Y.array,
       o->Y.ld, o->Y0.ld, (int32_t)(A->nrows / 2), ldr, N, (const VectorPart *)v->parts, sums, v->nparts,
       v->nparts ? v->long_entries : INT32_MAX, 0};

  if (!PairsTake(NULL, NULL, o, NULL) || v->nparts != A->csr->nparts / 2) return HRPB_ERR_UNSUPPORTED;
  HrpbCall(RowMajor(o->X.array, o->X.ld, (int32_t)A->ncols, N, R, (int32_t)A->ncols, ldr, stream));
  HrpbCall(LaunchFor(a, stream));
  return ComplexCombine(A, o, sums, R, ldr, stream);
}

/* The kernels of the real matrix are what the choice knows. This one stands in for them where it can */
static const SpmmKernel pairs = {
  .name   = "csr-complex",
  .what   = "CSR of complex numbers times a row-major copy of B",
  .op     = SPMM_OP_PRODUCT,
  .format = SPMM_CSR,
  .takes  = PairsTake,
  .work   = WorkBytes,
  .run    = Run
};

/* Few columns one after the other, by the kernel for one vector */
static HrpbError RunColumns(const SpmmMatrix *A, const SpmmOperands *o, void *work, HrpbStream stream)
{
  const SpmmKernel *vector = ComplexVectorKernel(A->vector, false);

  for (int64_t n = 0; n < o->N; n++) {
    const SpmmOperands column = SpmmColumns(o, n, 1);

    HrpbCall(vector->run(A, &column, work, stream));
  }
  return HRPB_SUCCESS;
}

static const SpmmKernel columns = {
  .name   = "csr-columns-complex",
  .what   = "CSR of complex numbers times a few columns, one after the other",
  .op     = SPMM_OP_PRODUCT,
  .format = SPMM_CSR,
  .takes  = PairsTake,
  .work   = VectorPairWork,
  .run    = RunColumns
};

/* Where the second launch is refused, C must not have been added to by the first. Short rows have csr-rows-complex */
bool ComplexCsrTakesColumns(const CsrSchedule *s, const SpmmOperands *o, int64_t N)
{
  return N <= (s->nparts ? COMPLEX_FEW_CUT : COMPLEX_FEW) && o->update == SPMM_ASSIGN && !s->rows_entries && PairsTake(NULL, NULL, o, NULL);
}

const SpmmKernel *ComplexCsrColumnsKernel(void)
{
  return &columns;
}

const SpmmKernel *ComplexCsrKernel(const CsrSchedule *s, const VectorPlan *v, const SpmmOperands *o)
{
  if (v->nparts != s->nparts / 2 || !PairsTake(NULL, NULL, o, NULL)) return NULL;
  if (s->rows_entries) return &ComplexCsrRows;
  return v->nnodes && o->N >= COMPLEX_MANY ? &ComplexCsrNodes : &pairs;
}

/* A row has one lane in this plan: nodes are sought whatever the lengths of rows. Rows that are cut have none */
HrpbError ComplexCsrDevice(const CsrSchedule *s, const HrpbInt *rowptr, const HrpbInt *colidx, HrpbStream stream, VectorPlan *v)
{
  *v       = VectorPlan();
  v->nrows = s->nrows / 2;
  v->ncols = s->ncols / 2;
  v->nnz   = s->nnz / COMPLEX_ENTRIES;
  v->lanes = 1;
  if (s->nparts) {
    const HrpbError err = ComplexCutDevice(s, rowptr, stream, v);

    if (err) VectorPlanDestroyDevice(v, stream);
    return err;
  }
  return s->rows_entries ? HRPB_SUCCESS : VectorNodesDevice(rowptr, colidx, stream, v);
}
