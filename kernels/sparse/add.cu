/*
   Y + a X of matrices of which the second has no entry that the first lacks.
*/
#include "../common/launch.cuh"
#include "sparse.h"

/* Where a column is among those of a row, or -1 */
static __device__ __forceinline__ int64_t Find(const HrpbInt *colidx, int64_t begin, int64_t end, HrpbInt column)
{
  while (begin < end) {
    const int64_t half = begin + (end - begin) / 2;

    if (colidx[half] < column) begin = half + 1;
    else if (colidx[half] > column) end = half;
    else return half;
  }
  return -1;
}

/* Whether an entry of X is lacking, or else the sum. A warp has a row */
template <bool ADD>
static __global__ void __launch_bounds__(HRPB_THREADS) Rows(const __grid_constant__ SparseMatrix X, HrpbScalar a, const HrpbInt *rowptr, const HrpbInt *colidx, HrpbScalar *values, uint32_t *lacking)
{
  for (int64_t row = (int64_t)blockIdx.x * HRPB_WARPS + threadIdx.x / HRPB_LANES; row < X.nrows; row += (int64_t)gridDim.x * HRPB_WARPS) {
    for (int64_t k = X.rowptr[row] + threadIdx.x % HRPB_LANES; k < X.rowptr[row + 1]; k += HRPB_LANES) {
      const int64_t at = Find(colidx, rowptr[row], rowptr[row + 1], X.colidx[k]);

      if (ADD && at >= 0) values[at] += a * X.values[k];
      else if (!ADD && at < 0) *lacking = 1;
    }
  }
}

HrpbError SparseIsSubset(const SparseMatrix *X, const HrpbInt *rowptr, const HrpbInt *colidx, HrpbStream stream)
{
  uint32_t   *lacking, found = 0;
  HrpbError   err;
  cudaError_t cuda;

  HrpbCall(CheckKernels());
  HrpbCall(HrpbAllocate(&lacking, 1, stream));
  cuda = cudaMemsetAsync(lacking, 0, sizeof(*lacking), stream);
  err  = cuda == cudaSuccess ? HrpbLaunch(Rows<false>, HrpbGrid(X->nrows, HRPB_WARPS), HRPB_THREADS, 0, stream, *X, (HrpbScalar)0, rowptr,
                                 colidx, (HrpbScalar *)NULL, lacking)
                             : HrpbDeviceError(cuda);
  if (!err) err = HrpbBring(&found, lacking, sizeof(found), stream);
  return HrpbFree(lacking, !err && found ? HRPB_ERR_UNSUPPORTED : err, stream);
}

HrpbError SparseAddSubset(const SparseMatrix *X, HrpbScalar a, const HrpbInt *rowptr, const HrpbInt *colidx, HrpbScalar *values,
  HrpbStream stream)
{
  HrpbCall(CheckKernels());
  return HrpbLaunch(Rows<true>, HrpbGrid(X->nrows, HRPB_WARPS), HRPB_THREADS, 0, stream, *X, a, rowptr, colidx, values, (uint32_t *)NULL);
}
