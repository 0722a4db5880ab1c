/*
   The pattern of a transpose: entries sorted by their columns, those of a column in the order of rows.
*/
#include <string.h>

#include "../common/cub.cuh"
#include "../common/launch.cuh"
#include "sparse.h"

#include <cub/device/device_radix_sort.cuh>

/* Number the entries, and say which row each is of. A warp has a row */
static __global__ void __launch_bounds__(HRPB_THREADS) Number(int64_t nrows, const HrpbInt *rowptr, HrpbInt *number, HrpbInt *row_of)
{
  for (int64_t row = (int64_t)blockIdx.x * HRPB_WARPS + threadIdx.x / HRPB_LANES; row < nrows; row += (int64_t)gridDim.x * HRPB_WARPS) {
    for (int64_t k = rowptr[row] + threadIdx.x % HRPB_LANES; k < rowptr[row + 1]; k += HRPB_LANES) {
      number[k] = (HrpbInt)k;
      row_of[k] = (HrpbInt)row;
    }
  }
}

/* column[] ascends. Rows of the transpose that no entry begins have none */
static __global__ void __launch_bounds__(HRPB_THREADS) Rows(int64_t nrows, int64_t nnz, const HrpbInt *column, const HrpbInt *map, const HrpbInt *row_of, HrpbInt *rowptr, HrpbInt *colidx)
{
  for (int64_t k = (int64_t)blockIdx.x * HRPB_THREADS + threadIdx.x; k <= nnz; k += (int64_t)gridDim.x * HRPB_THREADS) {
    const int64_t after = k ? (int64_t)column[k - 1] + 1 : 0, upto = k < nnz ? (int64_t)column[k] : nrows;

    for (int64_t row = after; row <= upto; row++) rowptr[row] = (HrpbInt)k;
    if (k < nnz) colidx[k] = row_of[map[k]];
  }
}

static HrpbError Sorted(const SparseMatrix *A, HrpbInt *number, HrpbInt *row_of, HrpbInt *column, SparseTranspose *t, HrpbStream stream)
{
  int bits = 1;

  while (bits < 31 && (int64_t)1 << bits < A->ncols) bits++;
  HrpbCall(HrpbLaunch(Number, HrpbGrid(A->nrows, HRPB_WARPS), HRPB_THREADS, 0, stream, A->nrows, A->rowptr, number, row_of));
  HrpbCall(HrpbCallCub([=](void *memory, size_t &bytes) { return cub::DeviceRadixSort::SortPairs(memory, bytes, A->colidx, column, number, t->map, A->nnz, 0, bits, stream); }, stream));
  HrpbCall(HrpbLaunch(Rows, HrpbGrid(A->nnz + 1, HRPB_THREADS), HRPB_THREADS, 0, stream, t->nrows, A->nnz, column, t->map, row_of, t->rowptr, t->colidx));
  return HRPB_SUCCESS;
}

static HrpbError Make(const SparseMatrix *A, SparseTranspose *t, HrpbStream stream)
{
  HrpbInt  *number, *row_of, *column;
  HrpbError err;

  HrpbCall(HrpbAllocate(&t->rowptr, t->nrows + 1, stream));
  HrpbCall(HrpbAllocate(&t->colidx, t->nnz, stream));
  HrpbCall(HrpbAllocate(&t->map, t->nnz, stream));
  if (t->nnz == 0) {
    HrpbCallCuda(cudaMemsetAsync(t->rowptr, 0, sizeof(HrpbInt) * (size_t)(t->nrows + 1), stream));
    return HRPB_SUCCESS;
  }
  HrpbCall(HrpbAllocateTogether(stream, &number, t->nnz, &row_of, t->nnz, &column, t->nnz));
  err = Sorted(A, number, row_of, column, t, stream);
  return HrpbFree(number, err, stream);
}

HrpbError SparseTransposeCreate(const SparseMatrix *A, HrpbStream stream, SparseTranspose *t)
{
  SparseTranspose made = {};
  HrpbError       err;

  *t         = made;
  made.nrows = A->ncols;
  made.ncols = A->nrows;
  made.nnz   = A->nnz;
  if (A->nrows >= INT32_MAX || A->ncols >= INT32_MAX) return HRPB_ERR_OVERFLOW;
  HrpbCall(CheckKernels());
  err = Make(A, &made, stream);
  if (err) return SparseTransposeDestroy(&made, err, stream);
  *t = made;
  return HRPB_SUCCESS;
}

HrpbError SparseTransposeDestroy(SparseTranspose *t, HrpbError err, HrpbStream stream)
{
  err = HrpbFree(t->rowptr, err, stream);
  err = HrpbFree(t->colidx, err, stream);
  err = HrpbFree(t->map, err, stream);
  memset(t, 0, sizeof(*t));
  return err;
}
