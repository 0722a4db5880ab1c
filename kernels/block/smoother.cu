/*
   Vectors of the set-up of a smoother: smoother.h.
*/
#include "../common/launch.cuh"
#include "smoother.h"

#if !defined(HRPB_USE_COMPLEX)
/* PETSc's hash of an index, as a number between -1.08 and 1.08 */
static __device__ __forceinline__ HrpbScalar NoiseOf(int64_t index)
{
  uint32_t x = (uint32_t)index;

  x = (x >> 16 ^ x) * 0x45d9f3b;
  x = (x >> 16 ^ x) * 0x45d9f3b;
  x = x >> 16 ^ x;
  return (HrpbScalar)(((int64_t)x - 2147483648) * 5.e-10);
}

static __global__ void __launch_bounds__(HRPB_THREADS) Noise(int64_t n, int64_t first, HrpbScalar *x)
{
  for (int64_t i = (int64_t)blockIdx.x * HRPB_THREADS + threadIdx.x; i < n; i += (int64_t)gridDim.x * HRPB_THREADS)
    x[i] = NoiseOf(first + i);
}

HrpbError BlockNoise(int64_t n, int64_t first, HrpbScalar *x, HrpbStream stream)
{
  if (n > 0) HrpbCall(HrpbLaunch(Noise, HrpbGrid(n, HRPB_THREADS), HRPB_THREADS, 0, stream, n, first, x));
  return HRPB_SUCCESS;
}

static __global__ void __launch_bounds__(HRPB_THREADS) FindZero(int64_t n, const HrpbScalar *x, uint32_t *found)
{
  for (int64_t i = (int64_t)blockIdx.x * HRPB_THREADS + threadIdx.x; i < n; i += (int64_t)gridDim.x * HRPB_THREADS) {
    if (x[i] == 0) *found = 1;
  }
}

static HrpbError AskZero(int64_t n, const HrpbScalar *x, HrpbStream stream, uint32_t *on_device, uint32_t *found)
{
  HrpbCallCuda(cudaMemsetAsync(on_device, 0, sizeof(*on_device), stream));
  HrpbCall(HrpbLaunch(FindZero, HrpbGrid(n, HRPB_THREADS), HRPB_THREADS, 0, stream, n, x, on_device));
  return HrpbBring(found, on_device, sizeof(*found), stream);
}

HrpbError BlockHasZero(int64_t n, const HrpbScalar *x, HrpbStream stream, bool *has)
{
  uint32_t *on_device, found = 0;

  *has = false;
  if (n == 0) return HRPB_SUCCESS;
  HrpbCall(HrpbAllocate(&on_device, 1, stream));
  HrpbCall(HrpbFree(on_device, AskZero(n, x, stream, on_device, &found), stream));
  *has = found != 0;
  return HRPB_SUCCESS;
}
#endif
