/*
   The rows that a process has of a parallel matrix: two matrices side by side, [D O]. They become one, and one becomes
   two. A warp has a row.
*/
#include "../common/cub.cuh"
#include "../common/launch.cuh"
#include "sparse.h"

/* Entries of D and O before a row are before that row of both */
static __global__ void __launch_bounds__(HRPB_THREADS)
  Join(const __grid_constant__ SparseMatrix D, const __grid_constant__ SparseMatrix O, const HrpbInt *map, HrpbInt *rowptr, HrpbInt *colidx)
{
  const int lane = threadIdx.x % HRPB_LANES;

  for (int64_t row = (int64_t)blockIdx.x * HRPB_WARPS + threadIdx.x / HRPB_LANES; row <= D.nrows; row += (int64_t)gridDim.x * HRPB_WARPS) {
    const int64_t d = D.rowptr[row], o = O.rowptr[row];

    if (lane == 0) rowptr[row] = (HrpbInt)(d + o);
    if (row == D.nrows) continue;
    const int64_t dend = D.rowptr[row + 1], oend = O.rowptr[row + 1];

    for (int64_t k = d + lane; k < dend; k += HRPB_LANES) colidx[k + o] = D.colidx[k];
    for (int64_t k = o + lane; k < oend; k += HRPB_LANES) colidx[k + dend] = (HrpbInt)D.ncols + (map ? map[O.colidx[k]] : O.colidx[k]);
  }
}

static __global__ void __launch_bounds__(HRPB_THREADS)
  JoinValues(const __grid_constant__ SparseMatrix D, const __grid_constant__ SparseMatrix O, HrpbScalar *values)
{
  const int lane = threadIdx.x % HRPB_LANES;

  for (int64_t row = (int64_t)blockIdx.x * HRPB_WARPS + threadIdx.x / HRPB_LANES; row < D.nrows; row += (int64_t)gridDim.x * HRPB_WARPS) {
    const int64_t d = D.rowptr[row], o = O.rowptr[row], dend = D.rowptr[row + 1], oend = O.rowptr[row + 1];

    for (int64_t k = d + lane; k < dend; k += HRPB_LANES) values[k + o] = D.values[k];
    for (int64_t k = o + lane; k < oend; k += HRPB_LANES) values[k + dend] = O.values[k];
  }
}

static __global__ void __launch_bounds__(HRPB_THREADS)
  Renumber(int64_t nnz, const HrpbInt *colidx, HrpbInt own, const HrpbInt *map, HrpbInt *to)
{
  for (int64_t k = (int64_t)blockIdx.x * HRPB_THREADS + threadIdx.x; k < nnz; k += (int64_t)gridDim.x * HRPB_THREADS)
    to[k] = colidx[k] < own ? colidx[k] : own + map[colidx[k] - own];
}

/* Where the columns of O begin in each row. The number of those before, and of those of O, in an array each */
static __global__ void __launch_bounds__(HRPB_THREADS)
  Count(const __grid_constant__ SparseMatrix C, HrpbInt own, HrpbInt *rowptr_d, HrpbInt *rowptr_o, uint8_t *used)
{
  const int lane = threadIdx.x % HRPB_LANES;

  for (int64_t row = (int64_t)blockIdx.x * HRPB_WARPS + threadIdx.x / HRPB_LANES; row < C.nrows; row += (int64_t)gridDim.x * HRPB_WARPS) {
    const int64_t begin = C.rowptr[row], end = C.rowptr[row + 1];
    uint32_t      n = 0;

    for (int64_t k = begin + lane; k < end; k += HRPB_LANES) {
      if (C.colidx[k] < own) n++;
      else used[C.colidx[k] - own] = 1;
    }
    n = HrpbSumOfLanes(n);
    if (lane) continue;
    rowptr_d[row] = (HrpbInt)n;
    rowptr_o[row] = (HrpbInt)(end - begin) - (HrpbInt)n;
  }
}

static __global__ void __launch_bounds__(HRPB_THREADS) Columns(const __grid_constant__ SparseMatrix C, HrpbInt own, const HrpbInt *rowptr_d,
  const HrpbInt *rowptr_o, const HrpbInt *map, HrpbInt *d, HrpbInt *o)
{
  for (int64_t row = (int64_t)blockIdx.x * HRPB_WARPS + threadIdx.x / HRPB_LANES; row < C.nrows; row += (int64_t)gridDim.x * HRPB_WARPS) {
    const int64_t begin = C.rowptr[row], end = C.rowptr[row + 1], to = rowptr_d[row], middle = begin + rowptr_d[row + 1] - to;

    for (int64_t k = begin + threadIdx.x % HRPB_LANES; k < end; k += HRPB_LANES) {
      if (k < middle) d[to + k - begin] = C.colidx[k];
      else o[rowptr_o[row] + k - middle] = map[C.colidx[k] - own];
    }
  }
}

static __global__ void __launch_bounds__(HRPB_THREADS)
  Values(const __grid_constant__ SparseMatrix C, const HrpbInt *rowptr_d, const HrpbInt *rowptr_o, HrpbScalar *d, HrpbScalar *o)
{
  for (int64_t row = (int64_t)blockIdx.x * HRPB_WARPS + threadIdx.x / HRPB_LANES; row < C.nrows; row += (int64_t)gridDim.x * HRPB_WARPS) {
    const int64_t begin = C.rowptr[row], end = C.rowptr[row + 1], to = rowptr_d[row], middle = begin + rowptr_d[row + 1] - to;

    for (int64_t k = begin + threadIdx.x % HRPB_LANES; k < end; k += HRPB_LANES) {
      if (k < middle) d[to + k - begin] = C.values[k];
      else o[rowptr_o[row] + k - middle] = C.values[k];
    }
  }
}

/* A warp has a row that is taken */
static __global__ void __launch_bounds__(HRPB_THREADS)
  TakeRows(const __grid_constant__ SparseMatrix M, int64_t n, const HrpbInt *rows, const HrpbInt *to, HrpbInt *colidx)
{
  for (int64_t i = (int64_t)blockIdx.x * HRPB_WARPS + threadIdx.x / HRPB_LANES; i < n; i += (int64_t)gridDim.x * HRPB_WARPS) {
    const int64_t begin = M.rowptr[rows[i]], end = M.rowptr[rows[i] + 1];

    for (int64_t k = begin + threadIdx.x % HRPB_LANES; k < end; k += HRPB_LANES) colidx[to[i] + k - begin] = M.colidx[k];
  }
}

static HrpbError TakeAll(const SparseMatrix *M, int64_t n, const HrpbInt rows[], const HrpbInt to[], HrpbInt *list, HrpbInt *places, HrpbInt *columns, HrpbStream stream, HrpbInt colidx[])
{
  HrpbCallCuda(cudaMemcpyAsync(list, rows, sizeof(*rows) * (size_t)n, cudaMemcpyHostToDevice, stream));
  HrpbCallCuda(cudaMemcpyAsync(places, to, sizeof(*to) * (size_t)n, cudaMemcpyHostToDevice, stream));
  HrpbCall(HrpbLaunch(TakeRows, HrpbGrid(n, HRPB_WARPS), HRPB_THREADS, 0, stream, *M, n, (const HrpbInt *)list, (const HrpbInt *)places, columns));
  return HrpbBring(colidx, columns, sizeof(*colidx) * (size_t)to[n], stream);
}

HrpbError SparseTakeRows(const SparseMatrix *M, int64_t n, const HrpbInt rows[], const HrpbInt to[], HrpbStream stream, HrpbInt colidx[])
{
  HrpbInt *list, *places, *columns;

  if (n == 0 || to[n] == 0) return HRPB_SUCCESS;
  HrpbCall(CheckKernels());
  HrpbCall(HrpbAllocateTogether(stream, &list, n, &places, n, &columns, (int64_t)to[n]));
  return HrpbFree(list, TakeAll(M, n, rows, to, list, places, columns, stream, colidx), stream);
}

HrpbError SparseJoin(const SparseMatrix *D, const SparseMatrix *O, const HrpbInt *map, HrpbInt *rowptr, HrpbInt *colidx, HrpbStream stream)
{
  HrpbCall(CheckKernels());
  return HrpbLaunch(Join, HrpbGrid(D->nrows + 1, HRPB_WARPS), HRPB_THREADS, 0, stream, *D, *O, map, rowptr, colidx);
}

HrpbError SparseJoinValues(const SparseMatrix *D, const SparseMatrix *O, HrpbScalar *values, HrpbStream stream)
{
  return HrpbLaunch(JoinValues, HrpbGrid(D->nrows, HRPB_WARPS), HRPB_THREADS, 0, stream, *D, *O, values);
}

HrpbError SparseRenumber(int64_t nnz, const HrpbInt *colidx, int64_t own, const HrpbInt *map, HrpbInt *to, HrpbStream stream)
{
  if (nnz == 0) return HRPB_SUCCESS;
  return HrpbLaunch(Renumber, HrpbGrid(nnz, HRPB_THREADS), HRPB_THREADS, 0, stream, nnz, colidx, (HrpbInt)own, map, to);
}

HrpbError SparseSplitRows(const SparseMatrix *C, int64_t own, HrpbInt *rowptr_d, HrpbInt *rowptr_o, uint8_t *used, HrpbStream stream)
{
  HrpbCall(CheckKernels());
  HrpbCall(HrpbLaunch(Count, HrpbGrid(C->nrows, HRPB_WARPS), HRPB_THREADS, 0, stream, *C, (HrpbInt)own, rowptr_d, rowptr_o, used));
  HrpbCall(HrpbExclusiveSum(rowptr_d, C->nrows + 1, stream));
  return HrpbExclusiveSum(rowptr_o, C->nrows + 1, stream);
}

HrpbError SparseSplitColumns(const SparseMatrix *C, int64_t own, const HrpbInt *rowptr_d, const HrpbInt *rowptr_o, const HrpbInt *map,
  HrpbInt *colidx_d, HrpbInt *colidx_o, HrpbStream stream)
{
  return HrpbLaunch(Columns, HrpbGrid(C->nrows, HRPB_WARPS), HRPB_THREADS, 0, stream, *C, (HrpbInt)own, rowptr_d, rowptr_o, map, colidx_d,
    colidx_o);
}

HrpbError SparseSplitValues(const SparseMatrix *C, const HrpbInt *rowptr_d, const HrpbInt *rowptr_o, HrpbScalar *values_d,
  HrpbScalar *values_o, HrpbStream stream)
{
  return HrpbLaunch(Values, HrpbGrid(C->nrows, HRPB_WARPS), HRPB_THREADS, 0, stream, *C, rowptr_d, rowptr_o, values_d, values_o);
}
