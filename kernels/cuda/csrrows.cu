/*
   CSR times B as it is, a row of A to a thread: for short rows whose columns run with them, as in a 7-point stencil. The numbers of B that the threads of a warp meet lie together then, and
   no copy of B pays. A thread block has the entries of its rows in shared memory; of each, as many columns of B as a tile has are on their way together.
*/
#include "csr.cuh"

enum {
  ROWS_TILE    = 8, /* columns of B that a thread multiplies together, */
  ROWS_COLUMNS = 32 /* and those that a thread block goes through, tile by tile */
};

struct RowsArgs {
  const HrpbInt    *rowptr, *colidx;
  const HrpbScalar *values, *B;
  HrpbScalar       *C;
  int64_t           ldb, ldc;
  int32_t           nrows, N, room; /* room: for entries in shared memory */
};

/* A row as its thread sees it: entries begin to end - 1 in shared memory */
struct Row {
  const HrpbScalar *values;
  const int32_t    *columns;
  int32_t           row, begin, end;
};

/* U columns from n on, chunk by chunk, as all kernels for CSR add */
template <int U> static __device__ __forceinline__ void MultiplyTile(const RowsArgs &a, const Row &r, int32_t n)
{
  const HrpbScalar *B      = a.B + n * a.ldb;
  HrpbScalar       *c      = a.C + r.row + n * a.ldc;
  HrpbScalar        sum[U] = {};

#pragma unroll 1
  for (int32_t begin = r.begin; begin < r.end; begin += CSR_CHUNK) {
    const int32_t end     = min(begin + CSR_CHUNK, r.end);
    HrpbScalar    part[U] = {};

#pragma unroll 2
    for (int32_t k = begin; k < end; k++) {
      const HrpbScalar  value = r.values[k];
      const HrpbScalar *b     = B + r.columns[k];
      HrpbScalar        x[U];

#pragma unroll
      for (int u = 0; u < U; u++) x[u] = __ldg(b + u * a.ldb);
#pragma unroll
      for (int u = 0; u < U; u++) part[u] = fma(value, x[u], part[u]);
    }
#pragma unroll
    for (int u = 0; u < U; u++) sum[u] += part[u];
  }
#pragma unroll
  for (int u = 0; u < U; u++) c[u * a.ldc] = CsrFiniteOrInOneGo(sum[u], r.end - r.begin, [&](HrpbScalar s, int32_t i) { return fma(r.values[r.begin + i], B[r.columns[r.begin + i] + u * a.ldb], s); });
}

static __global__ void __launch_bounds__(CSR_ROWS) CsrRows(const __grid_constant__ RowsArgs a)
{
  extern __shared__ HrpbScalar values[];
  int32_t                     *columns = (int32_t *)(values + a.room);
  const int32_t                first = blockIdx.x * CSR_ROWS, nrows = min(a.nrows - first, (int32_t)CSR_ROWS), row = first + threadIdx.x;
  const int32_t                end   = min((int32_t)(blockIdx.y + 1) * ROWS_COLUMNS, a.N);
  const HrpbInt                start = __ldg(a.rowptr + first);

  for (int32_t k = threadIdx.x; k < (int32_t)(__ldg(a.rowptr + first + nrows) - start); k += CSR_ROWS) {
    values[k]  = __ldg(a.values + start + k);
    columns[k] = (int32_t)__ldg(a.colidx + start + k);
  }
  __syncthreads();
  if ((int32_t)threadIdx.x >= nrows) return;

  const Row r = {values, columns, row, (int32_t)(__ldg(a.rowptr + row) - start), (int32_t)(__ldg(a.rowptr + row + 1) - start)};
  int32_t   n = blockIdx.y * ROWS_COLUMNS;

#pragma unroll 1
  for (; n + ROWS_TILE <= end; n += ROWS_TILE) MultiplyTile<ROWS_TILE>(a, r, n);
  if (n + 4 <= end) {
    MultiplyTile<4>(a, r, n);
    n += 4;
  }
  if (n + 2 <= end) {
    MultiplyTile<2>(a, r, n);
    n += 2;
  }
  if (n < end) MultiplyTile<1>(a, r, n);
}
static_assert(ROWS_TILE == 8, "what is left of a tile is 4, 2 and 1 columns");

HrpbError CsrRowsRun(const CsrProduct *p)
{
  const CsrSchedule *s = p->schedule;
  const RowsArgs     a = {p->rowptr, p->colidx, p->values, p->B, p->C, p->ldb, p->ldc, s->nrows, p->N, s->rows_entries};

  CsrRows<<<dim3(HrpbGrid(s->nrows, CSR_ROWS), (p->N + ROWS_COLUMNS - 1) / ROWS_COLUMNS), CSR_ROWS, (sizeof(HrpbScalar) + sizeof(int32_t)) * (size_t)a.room, p->stream>>>(a);
  HrpbCallCuda(cudaGetLastError());
  return HRPB_SUCCESS;
}
