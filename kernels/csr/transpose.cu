/*
   Values of a transpose on a device.
*/
#include "transpose.h"
#include "../common/device.cuh"

static __global__ void __launch_bounds__(HRPB_THREADS) Take(int64_t nnz, const HrpbInt *map, const HrpbScalar *values, HrpbScalar *to)
{
  for (int64_t k = (int64_t)blockIdx.x * HRPB_THREADS + threadIdx.x; k < nnz; k += (int64_t)gridDim.x * HRPB_THREADS) to[k] = values[map[k]];
}

HrpbError CsrTakeDevice(int64_t nnz, const HrpbInt *map, const HrpbScalar *values, HrpbScalar *to, HrpbStream stream)
{
  if (nnz == 0) return HRPB_SUCCESS;
  HrpbCall(HrpbLaunch(Take, HrpbGrid(nnz, HRPB_THREADS), HRPB_THREADS, 0, stream, nnz, map, values, to));
  return HRPB_SUCCESS;
}
