/*
   CSR times B as it is, with a thread for each row of A. It suits short rows whose columns run with the rows, as in a
   7-point stencil. There the numbers of B that the threads of a warp meet lie together, and no copy of B pays.

   A thread block has the entries of its rows in shared memory. For each entry all columns of B of a tile are on their
   way together.
*/
#include "csr.cuh"
#include "../common/launch.cuh"

enum {
  ROWS_TILE    = 8,  /* columns of B that a thread multiplies together */
  ROWS_COLUMNS = 32, /* the most columns of a thread block, tile by tile; fewer if it takes that for ROWS_BLOCKS */
  ROWS_BLOCKS  = 3   /* thread blocks for each multiprocessor: as many as the proxy of tuning has (proxy.cu) */
};

namespace {
struct RowsArgs {
  const HrpbInt    *rowptr, *colidx;
  const HrpbScalar *values, *B;
  HrpbScalar       *C;
  int64_t           ldb, ldc;
  int32_t           nrows, N, room; /* room: for entries in shared memory */
};
} // namespace

namespace {
/* A row as its thread sees it: entries begin to end - 1 in shared memory */
struct Row {
  const HrpbScalar *values;
  const int32_t    *columns;
  int32_t           row, begin, end;
};
} // namespace

/* Multiply U columns from n on */
template <int U, bool CHUNKS> static __device__ __forceinline__ void MultiplyTile(const RowsArgs &a, const Row &r, int32_t n)
{
  const HrpbScalar *B      = a.B + n * a.ldb;
  HrpbScalar       *c      = a.C + r.row + n * a.ldc;
  HrpbScalar        sum[U] = {};
  int32_t           begin  = r.begin;

  do {
    const int32_t end     = CHUNKS ? min(begin + CSR_CHUNK, r.end) : r.end;
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
    begin = end;
  } while (CHUNKS && begin < r.end);
#pragma unroll
  for (int u = 0; u < U; u++) c[u * a.ldc] = sum[u];
  if constexpr (CHUNKS) {
    if (!CsrAgain<U>(r.end - r.begin, sum)) return;
#pragma unroll 1
    for (int u = 0; u < U; u++) {
      if (!isfinite(c[u * a.ldc])) c[u * a.ldc] = CsrInOneGo(r.columns + r.begin, r.values + r.begin, r.end - r.begin, B + u * a.ldb, 1);
    }
  }
}

/* Multiply columns n to end - 1: U of them together while U or more are left, then half of U */
template <int U, bool CHUNKS> static __device__ __forceinline__ void MultiplyRow(const RowsArgs &a, const Row &r, int32_t n, int32_t end)
{
#pragma unroll 1
  for (; n + U <= end; n += U) MultiplyTile<U, CHUNKS>(a, r, n);
  if constexpr (U > 1) MultiplyRow<U / 2, CHUNKS>(a, r, n, end);
}

/*
   CHUNKS: some rows have more than one chunk. Their sums take registers from the columns on their way. COLUMNS: columns
   of a thread block. As an argument of the kernel it costs 3 to 20 %
*/
template <bool CHUNKS, int COLUMNS> static __global__ void __launch_bounds__(CSR_ROWS) CsrRows(const __grid_constant__ RowsArgs a)
{
  extern __shared__ HrpbScalar values[];
  int32_t                     *columns = (int32_t *)(values + a.room);
  const int32_t                first = blockIdx.x * CSR_ROWS, nrows = min(a.nrows - first, (int32_t)CSR_ROWS), row = first + threadIdx.x;
  const int32_t                end   = min((int32_t)(blockIdx.y + 1) * COLUMNS, a.N);
  const HrpbInt                start = __ldg(a.rowptr + first);

  for (int32_t k = threadIdx.x; k < (int32_t)(__ldg(a.rowptr + first + nrows) - start); k += CSR_ROWS) {
    values[k]  = __ldg(a.values + start + k);
    columns[k] = (int32_t)__ldg(a.colidx + start + k);
  }
  __syncthreads();
  if ((int32_t)threadIdx.x >= nrows) return;

  const Row r = {values, columns, row, (int32_t)(__ldg(a.rowptr + row) - start), (int32_t)(__ldg(a.rowptr + row + 1) - start)};

  MultiplyRow<CHUNKS ? ROWS_TILE / 2 : ROWS_TILE, CHUNKS>(a, r, blockIdx.y * COLUMNS, end);
}

template <int COLUMNS> static HrpbError Run(const CsrProduct *p, int64_t blocks)
{
  const CsrSchedule *s      = p->schedule;
  const RowsArgs     a      = {p->rowptr, p->colidx, p->values, p->B, p->C, p->ldb, p->ldc, s->nrows, p->N, s->rows_entries};
  const dim3         grid((unsigned)blocks, (p->N + COLUMNS - 1) / COLUMNS);
  const size_t       shared = (sizeof(HrpbScalar) + sizeof(int32_t)) * (size_t)a.room;

  if (s->longest > CSR_CHUNK) HrpbCall(HrpbLaunch(CsrRows<true, COLUMNS>, grid, CSR_ROWS, shared, p->stream, a));
  else HrpbCall(HrpbLaunch(CsrRows<false, COLUMNS>, grid, CSR_ROWS, shared, p->stream, a));
  return HRPB_SUCCESS;
}

static bool Takes(const SpmmFacts *facts, const HrpbParams *, const SpmmOperands *o, const SpmmDevice *)
{
  return SpmmIsPlain(o) && facts->rows_entries;
}

/* A thread has a row. The longest one comes last */
static double Seconds(const SpmmFacts *facts, const HrpbParams *, HrpbPrecision, int64_t N, const SpmmDevice *device)
{
  const SpmmCsrTimes *t = &device->model->csr;

  return 1e-12 * (t->launch + (t->entry + t->in_place * (double)N) * (double)facts->nnz + t->turn * (double)facts->longest);
}

static HrpbError RunProduct(const SpmmMatrix *A, const SpmmOperands *o, void *work, HrpbStream stream)
{
  const int64_t     blocks  = HrpbGrid(A->csr->nrows, CSR_ROWS);
  int               columns = ROWS_COLUMNS;
  CsrProduct        p;
  const SpmmDevice *device;

  HrpbCall(SpmmGetDevice(&device));
  HrpbCall(CsrProductOf(A, o, work, stream, &p));
  while (p.N > ROWS_TILE && columns > ROWS_TILE && blocks * ((p.N + columns - 1) / columns) < (int64_t)ROWS_BLOCKS * device->nsm) columns /= 2;
  return columns == ROWS_COLUMNS ? Run<ROWS_COLUMNS>(&p, blocks) : columns == ROWS_COLUMNS / 2 ? Run<ROWS_COLUMNS / 2>(&p, blocks) : Run<ROWS_TILE>(&p, blocks);
}

SPMM_KERNEL(SpmmCsrRows) = {
  .name    = "csr-rows",
  .what    = "CSR times B as it is, rows as they come: for short ones whose columns run with them",
  .op      = SPMM_OP_PRODUCT,
  .format  = SPMM_CSR,
  .takes   = Takes,
  .seconds = Seconds,
  .run     = RunProduct
};
