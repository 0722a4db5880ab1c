/*
   CSR of complex numbers times a block, without the real matrix: it has 48 bytes for each entry in double precision,
   and the complex one has 20.

   As in csr/copy.cu there is a row-major copy of B (copy.cuh). A group of lanes has a row of A, or a part of a row that
   is cut. Each lane has a few columns of both parts of numbers, and adds the entries in their order, two at a time. So
   bits do not depend on how many columns there are.
*/
#include "copy.cuh"
#include "../common/rowmajor.cuh"

enum {
  THREADS = 128,
  WIDTH   = COMPLEX_WIDTH
};

namespace {
struct CsrPairsArgs {
  ComplexProduct    p;
  int32_t           nrows;   /* of complex numbers */
  const VectorPart *parts;   /* of rows with more entries than most */
  VectorPair       *partial; /* the sums of a part follow each other */
  int32_t           nparts, most;
  uint32_t          part_blocks; /* thread blocks for parts: they come first, because their items are the longest */
};
} // namespace

static __device__ __forceinline__ ComplexColumns ReadColumns(const HrpbScalar *p)
{
  return *(const ComplexColumns *)p;
}

/*
   G  lanes of a group
   K  vectors of a lane, G vectors apart
   U  entries that are on their way together, an even number: the second number of the bounds leaves them registers.
      Beyond the last one it is read again, and added as zero at most
*/
template <int G, int K, int U>
static __global__ void __launch_bounds__(THREADS, K == 1 ? 8 : 6) CsrPairs(const __grid_constant__ CsrPairsArgs a)
{
  const bool     cut      = blockIdx.x < a.part_blocks;
  const int64_t  item     = (int64_t)(cut ? blockIdx.x : blockIdx.x - a.part_blocks) * (THREADS / G) + threadIdx.x / G;
  const int32_t  n0       = blockIdx.y * (G * K * WIDTH) + threadIdx.x % G * WIDTH; /* first column */
  ComplexColumns re[1][K] = {}, im[1][K] = {};

  HrpbWaitForKernelBefore();
  if (item >= (cut ? a.nparts : a.nrows) || n0 >= a.p.N) return;

  const HrpbInt     begin  = cut ? a.parts[item].begin : __ldg(a.p.rowptr + item);
  const int32_t     length = cut ? a.parts[item].length : (int32_t)(__ldg(a.p.rowptr + item + 1) - begin);
  const HrpbInt    *colidx = a.p.colidx + begin;
  const VectorPair *values = a.p.values + begin;
  const HrpbScalar *r      = a.p.R + n0;
  const auto        Column = [&](int k) { return n0 + k * G * WIDTH < a.p.N ? k * G * WIDTH : 0; };

  if (length > a.most || (!length && a.p.C == a.p.C0)) return; /* C is not touched where there are no entries */
#pragma unroll 1
  for (int32_t first = 0; first < length; first += U) {
    VectorPair     value[U];
    ComplexColumns x[U][K], y[U][K];

#pragma unroll
    for (int u = 0; u < U; u++) {
      const int32_t     at    = min(first + u, length - 1);
      const HrpbScalar *row_b = r + 2 * (int64_t)__ldg(colidx + at) * a.p.ldr;

      value[u] = VectorRead(values + at);
      if (u % 2 && first + u >= length) value[u] = {0, 0};
#pragma unroll
      for (int k = 0; k < K; k++) {
        x[u][k] = ReadColumns(row_b + Column(k));
        y[u][k] = ReadColumns(row_b + a.p.ldr + Column(k));
      }
    }
#pragma unroll
    for (int u = 0; u < U; u += 2) {
      if (first + u >= length) break;
#pragma unroll
      for (int k = 0; k < K; k++) {
#pragma unroll
        for (int w = 0; w < WIDTH; w++) {
          const VectorPair sum = ComplexAddTwo(VectorPair{re[0][k].x[w], im[0][k].x[w]}, value + u, VectorPair{x[u][k].x[w], y[u][k].x[w]},
            VectorPair{x[u + 1][k].x[w], y[u + 1][k].x[w]});

          re[0][k].x[w] = sum.re;
          im[0][k].x[w] = sum.im;
        }
      }
    }
  }
  if (!cut) {
    ComplexStore<G>(a.p, item, 1, n0, re, im);
    return;
  }
#pragma unroll
  for (int k = 0; k < K; k++) {
#pragma unroll
    for (int w = 0; w < WIDTH; w++) {
      const int32_t n = n0 + k * G * WIDTH + w;

      if (n < a.p.N) a.partial[item * a.p.N + n] = {re[0][k].x[w], im[0][k].x[w]};
    }
  }
}

/* The sums of parts come first, then the copy of B */
static HrpbError WorkBytes(const SpmmMatrix *A, const SpmmOperands *o, size_t *bytes)
{
  *bytes = ComplexPartialBytes(A->vector, o->N) + sizeof(HrpbScalar) * (size_t)A->ncols * (size_t)ComplexLeadingDimension(o->N);
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
  return LaunchAfter(CsrPairs<G, K, U>, dim3(a.part_blocks + HrpbGrid(a.nrows, GROUPS), (a.p.N + G * K * WIDTH - 1) / (G * K * WIDTH)),
    THREADS, 0, stream, a);
}

static HrpbError LaunchFor(const CsrPairsArgs &a, cudaStream_t stream)
{
  if (a.p.N <= WIDTH) return Launch<1, 1, 4>(a, stream);
  if (a.p.N <= 2 * WIDTH) return Launch<2, 1, 4>(a, stream);
  if (a.p.N <= 4 * WIDTH) return Launch<4, 1, 4>(a, stream);
  if (a.p.N <= 8 * WIDTH) return Launch<8, 1, 4>(a, stream);
  return Launch<8, 2, 2>(a, stream);
}

/* nrows, ncols and the operands are those of the real matrix, arrays and VectorPlan those of the complex one */
static HrpbError Run(const SpmmMatrix *A, const SpmmOperands *o, void *work, HrpbStream stream)
{
  const VectorPlan  *v = A->vector;
  const int32_t      N = (int32_t)o->N, ldr = ComplexLeadingDimension(N);
  VectorPair        *sums = (VectorPair *)work;
  HrpbScalar        *R    = (HrpbScalar *)((uint8_t *)work + ComplexPartialBytes(v, N));
  const CsrPairsArgs a    = {ComplexProductOf(A, o, R, ldr), (int32_t)(A->nrows / 2), (const VectorPart *)v->parts, sums, v->nparts,
    v->nparts ? v->long_entries : INT32_MAX, 0};

  if (!PairsTake(NULL, NULL, o, NULL) || v->nparts != A->csr->nparts / 2) return HRPB_ERR_UNSUPPORTED;
  HrpbCall(RowMajor(o->X.array, o->X.ld, (int32_t)A->ncols, N, R, (int32_t)A->ncols, ldr, stream));
  HrpbCall(LaunchFor(a, stream));
  return ComplexCombine(A, a.p, sums, stream);
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
  if (s->nparts || o->N < COMPLEX_MANY) return &pairs;
  return v->nnodes ? &ComplexCsrNodes : &ComplexCsrSingles;
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
