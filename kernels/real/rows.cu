/*
   CSR of complex numbers times B as it is, with a thread for each row of A: csr/rows.cu without the real matrix. It is
   for the same matrices. A thread adds the entries of its row one after the other, as MATAIJ does. So a sum that is not
   finite need not be made again.
*/
#include "pairs.cuh"

enum {
  ROWS    = CSR_ROWS, /* of a thread block: complex ones, two of the schedule's groups */
  TILE    = 4,            /* columns of B that a thread multiplies together */
  COLUMNS = 32,           /* the most columns of a thread block, tile by tile; fewer if it takes that for BLOCKS */
  BLOCKS  = 3             /* thread blocks for each multiprocessor */
};

namespace {
struct RowPairsArgs {
  const HrpbInt    *rowptr, *colidx;
  const VectorPair *values, *B, *C0; /* C0 is NULL where nothing is added */
  VectorPair       *C;
  int64_t           ldb, ldc, ldc0;
  int32_t           nrows, N, room; /* room: for entries in shared memory */
};

/* A row as its thread sees it: entries begin to end - 1 in shared memory */
struct RowOfPairs {
  const VectorPair *values;
  const int32_t    *columns;
  int32_t           row, begin, end;
};
} // namespace

/* Multiply U columns from n on */
template <int U> static __device__ __forceinline__ void MultiplyTile(const RowPairsArgs &a, const RowOfPairs &r, int32_t n)
{
  const VectorPair *B      = a.B + n * a.ldb;
  VectorPair       *c      = a.C + r.row + n * a.ldc;
  VectorPair        sum[U] = {};

#pragma unroll 2
  for (int32_t k = r.begin; k < r.end; k++) {
    const VectorPair  value = r.values[k];
    const VectorPair *b     = B + r.columns[k];
    VectorPair        x[U];

#pragma unroll
    for (int u = 0; u < U; u++) x[u] = VectorRead(b + u * a.ldb);
#pragma unroll
    for (int u = 0; u < U; u++) sum[u] = VectorFma(value, x[u], sum[u]);
  }
#pragma unroll
  for (int u = 0; u < U; u++) c[u * a.ldc] = a.C0 ? a.C0[r.row + (n + u) * a.ldc0] + sum[u] : sum[u]; /* C0 may be C */
}

/* Multiply columns n to end - 1: U of them together while U or more are left, then half of U */
template <int U> static __device__ __forceinline__ void MultiplyRow(const RowPairsArgs &a, const RowOfPairs &r, int32_t n, int32_t end)
{
#pragma unroll 1
  for (; n + U <= end; n += U) MultiplyTile<U>(a, r, n);
  if constexpr (U > 1) MultiplyRow<U / 2>(a, r, n, end);
}

/* WIDTH: columns of a thread block */
template <int WIDTH> static __global__ void __launch_bounds__(ROWS) RowPairs(const __grid_constant__ RowPairsArgs a)
{
  extern __shared__ VectorPair values[];
  int32_t                     *columns = (int32_t *)(values + a.room);
  const int32_t                first = blockIdx.x * ROWS, nrows = min(a.nrows - first, (int32_t)ROWS), row = first + threadIdx.x;
  const int32_t                end   = min((int32_t)(blockIdx.y + 1) * WIDTH, a.N);
  const HrpbInt                start = __ldg(a.rowptr + first);

  for (int32_t k = threadIdx.x; k < (int32_t)(__ldg(a.rowptr + first + nrows) - start); k += ROWS) {
    values[k]  = VectorRead(a.values + start + k);
    columns[k] = (int32_t)__ldg(a.colidx + start + k);
  }
  __syncthreads();
  if ((int32_t)threadIdx.x >= nrows) return;

  const RowOfPairs r = {values, columns, row, (int32_t)(__ldg(a.rowptr + row) - start), (int32_t)(__ldg(a.rowptr + row + 1) - start)};

  if (r.begin == r.end && a.C == a.C0) return; /* C is not touched where there are no entries */
  MultiplyRow<TILE>(a, r, blockIdx.y * WIDTH, end);
}

static_assert(2 * ((int)CSR_ROWS_ENTRIES / COMPLEX_ENTRIES) * (sizeof(VectorPair) + sizeof(int32_t)) <= 48 << 10, "a launch has this shared memory without asking");

template <int WIDTH> static HrpbError Run(const RowPairsArgs &a, cudaStream_t stream)
{
  return HrpbLaunch(RowPairs<WIDTH>, dim3(HrpbGrid(a.nrows, ROWS), (a.N + WIDTH - 1) / WIDTH), ROWS,
    (sizeof(VectorPair) + sizeof(int32_t)) * (size_t)a.room, stream, a);
}

/* The schedule counts entries of the real matrix */
static HrpbError RunProduct(const SpmmMatrix *A, const SpmmOperands *o, void *, HrpbStream stream)
{
  const RowPairsArgs a = {A->rowptr, A->colidx, (const VectorPair *)A->values, (const VectorPair *)o->X.array,
    o->update == SPMM_ADD ? (const VectorPair *)o->Y0.array : NULL, (VectorPair *)o->Y.array, o->X.ld / 2, o->Y.ld / 2, o->Y0.ld / 2,
    (int32_t)(A->nrows / 2), (int32_t)o->N, 2 * (A->csr->rows_entries / COMPLEX_ENTRIES)};
  const SpmmDevice *device;

  if (!PairsTake(NULL, NULL, o, NULL) || !A->csr->rows_entries) return HRPB_ERR_UNSUPPORTED;
  HrpbCall(SpmmGetDevice(&device));
  return HrpbGrid(a.nrows, ROWS) * ((a.N + COLUMNS - 1) / COLUMNS) < (unsigned)(BLOCKS * device->nsm) ? Run<TILE>(a, stream) : Run<COLUMNS>(a, stream);
}

SPMM_KERNEL(ComplexCsrRows) = {
  .name   = "csr-rows-complex",
  .what   = "CSR of complex numbers times B as it is, for short rows whose columns run with them",
  .op     = SPMM_OP_PRODUCT,
  .format = SPMM_CSR,
  .takes  = PairsTake,
  .run    = RunProduct
};
