/*
   CSR of complex numbers times a block, without the real matrix: it has 48 bytes for each entry in double precision,
   and the complex one has 20.

   As in csr/copy.cu there is a row-major copy of B, of real rows: the real parts of a row, and behind them the
   imaginary ones. A group of lanes has a row of A. Each lane has a few columns of both parts, and adds the entries one
   after the other, as MATAIJ does. So a sum that is not finite need not be made again, and its bits do not depend on
   how many columns there are. Rows are not cut: what has longer ones is multiplied as the real matrix.
*/
#include "pairs.cuh"
#include "../common/rowmajor.cuh"

enum {
  THREADS = 128,
  FEW     = 2, /* columns that take less time one by one, and the same where rows are cut */
  FEW_CUT = 3,
  MANY    = 5, /* columns for which rows are multiplied by nodes */
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
  const int64_t row  = (int64_t)blockIdx.x * (THREADS / G) + threadIdx.x / G;
  const int32_t n0   = blockIdx.y * (G * K * WIDTH) + threadIdx.x % G * WIDTH; /* first column */
  Columns       re[K] = {}, im[K] = {};

  HrpbWaitForKernelBefore();
  if (row >= a.nrows || n0 >= a.N) return;

  const HrpbInt     begin = __ldg(a.rowptr + row);
  const int32_t     length = (int32_t)(__ldg(a.rowptr + row + 1) - begin);
  const HrpbInt    *colidx = a.colidx + begin;
  const VectorPair *values = a.values + begin;
  const HrpbScalar *r      = a.R + n0;
  const auto        Column = [&](int k) { return n0 + k * G * WIDTH < a.N ? k * G * WIDTH : 0; };

  if (!length && a.C == a.C0) return; /* C is not touched where there are no entries */
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
      if (a.C0) sum = *(const VectorPair *)(a.C0 + 2 * row + n * a.ldc0) + sum; /* which may be C */
      *(VectorPair *)(a.C + 2 * row + n * a.ldc) = sum;
    }
  }
}

static int32_t LeadingDimension(int64_t N)
{
  return (int32_t)((N + WIDTH - 1) / WIDTH * WIDTH);
}

static HrpbError WorkBytes(const SpmmMatrix *A, const SpmmOperands *o, size_t *bytes)
{
  *bytes = sizeof(HrpbScalar) * (size_t)A->ncols * (size_t)LeadingDimension(o->N);
  return HRPB_SUCCESS;
}

bool PairsTake(const SpmmFacts *, const HrpbParams *, const SpmmOperands *o, const SpmmDevice *)
{
  return o->X.layout == SPMM_COLUMN_MAJOR && o->Y.layout == SPMM_COLUMN_MAJOR &&
         (o->update == SPMM_ASSIGN || (o->update == SPMM_ADD && o->Y0.layout == SPMM_COLUMN_MAJOR));
}

template <int G, int K, int U> static HrpbError Launch(const CsrPairsArgs &a, cudaStream_t stream)
{
  return LaunchAfter(CsrPairs<G, K, U>, dim3(HrpbGrid(a.nrows, THREADS / G), (a.N + G * K * WIDTH - 1) / (G * K * WIDTH)), THREADS, 0,
    stream, a);
}

/* nrows, ncols and the operands are those of the real matrix, the arrays of A those of the complex one */
static HrpbError Run(const SpmmMatrix *A, const SpmmOperands *o, void *work, HrpbStream stream)
{
  const int32_t N = (int32_t)o->N, ldr = LeadingDimension(N);
  HrpbScalar   *R = (HrpbScalar *)work;
  CsrPairsArgs a = {A->rowptr, A->colidx, (const VectorPair *)A->values, R, o->update == SPMM_ADD ? o->Y0.array : NULL, o->Y.array, o->Y.ld,
    o->Y0.ld, (int32_t)(A->nrows / 2), ldr, N};

  if (!PairsTake(NULL, NULL, o, NULL)) return HRPB_ERR_UNSUPPORTED;
  HrpbCall(RowMajor(o->X.array, o->X.ld, (int32_t)A->ncols, N, R, (int32_t)A->ncols, ldr, stream));
  if (N <= WIDTH) return Launch<1, 1, 4>(a, stream);
  if (N <= 2 * WIDTH) return Launch<2, 1, 4>(a, stream);
  if (N <= 4 * WIDTH) return Launch<4, 1, 4>(a, stream);
  if (N <= 8 * WIDTH) return Launch<8, 1, 4>(a, stream);
  return Launch<8, 2, 2>(a, stream);
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
  return N <= (s->nparts ? FEW_CUT : FEW) && o->update == SPMM_ASSIGN && !s->rows_entries && PairsTake(NULL, NULL, o, NULL);
}

const SpmmKernel *ComplexCsrColumnsKernel(void)
{
  return &columns;
}

const SpmmKernel *ComplexCsrKernel(const CsrSchedule *s, const VectorPlan *nodes, const SpmmOperands *o)
{
  if (s->nparts || !PairsTake(NULL, NULL, o, NULL)) return NULL;
  if (s->rows_entries) return &ComplexCsrRows;
  return nodes->nnodes && o->N >= MANY ? &ComplexCsrNodes : &pairs;
}

/* A row has one lane in this plan: nodes are sought whatever the lengths of rows */
HrpbError ComplexNodesDevice(const CsrSchedule *s, const HrpbInt *rowptr, const HrpbInt *colidx, HrpbStream stream, VectorPlan *nodes)
{
  *nodes       = VectorPlan();
  nodes->nrows = s->nrows / 2;
  nodes->ncols = s->ncols / 2;
  nodes->nnz   = s->nnz / COMPLEX_ENTRIES;
  nodes->lanes = 1;
  return s->nparts || s->rows_entries ? HRPB_SUCCESS : VectorNodesDevice(rowptr, colidx, stream, nodes);
}

/*
   The times of the model for the real matrix, and what part of them it takes here. The parts are those of five
   generated families (complex.csv), within a sixth of the time; with nodes those of three and of six real patterns. No
   product takes less than a group does for the longest row: a fifth of a microsecond for each of its entries
*/
double ComplexCsrSeconds(const SpmmFacts *real, int64_t N, const SpmmDevice *device)
{
  const SpmmCsrTimes *t      = &device->model->csr;
  const double        nnz    = (double)real->nnz, dense = (double)(real->nrows + real->ncols), needed = (double)real->survey.needed_rows;
  const int64_t       unit   = 64 / (int64_t)sizeof(HrpbScalar);
  const double        multiplied = (double)(N > unit ? (N + unit - 1) / unit * unit : N > 4 ? N : 4);
  const double        brought = needed * (double)(N > t->fewest_scattered ? N : t->fewest_scattered);
  const double        longest = 1e5 * (double)real->longest; /* which counts both parts of an entry */
  const bool          cut     = real->nrows && real->longest > CsrPartEntries(real->nrows, real->nnz);

  if (!real->nrows || (cut && N > FEW_CUT)) return 0;
  if (real->rows_entries) return 1e-12 * (t->launch + (0.4 * t->entry + 0.4 * t->in_place * (double)N) * nnz);
  if (real->nodes && N >= MANY) {
    const double columns = (double)(N > 8 ? N : 8);

    return 1e-12 * fmax(t->launch + longest, 2.5 * t->launch + (0.37 * t->entry + 0.29 * t->entry_column * columns) * nnz + 1.3 * t->dense * dense * columns);
  }
  if (cut || N <= FEW) return 1e-12 * (double)N * (1.45 * t->launch + 0.36 * t->entry * nnz + 0.75 * t->scattered * needed);
  return 1e-12 * (t->launch + fmax(longest, (0.53 * t->entry + 0.59 * t->entry_column * multiplied) * nnz + 1.45 * t->scattered * brought + 0.4 * t->dense * dense * multiplied));
}
