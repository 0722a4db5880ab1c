/*
   One vector in single precision, in a library of double precision: see single.h.
*/
#include "single.h"
#include "../common/device.cuh"

enum {
  MOST_BLOCKS = 1024 /* thread blocks that meet at one number */
};

#if !defined(HRPB_USE_SINGLE)
extern "C" const SpmmKernel SpmmVectorStaged, SpmmVectorBins, SpmmVectorNodes, SpmmVectorCsr16, SpmmVectorCsr;
extern "C" const SpmmKernel SpmmVectorStagedSingle, SpmmVectorBinsSingle, SpmmVectorNodesSingle, SpmmVectorCsr16Single, SpmmVectorCsrSingle;

const SpmmKernel *VectorSingleKernel(const SpmmKernel *kernel)
{
  const SpmmKernel *const kernels[][2] = {
    {&SpmmVectorStaged, &SpmmVectorStagedSingle},
    {&SpmmVectorBins,   &SpmmVectorBinsSingle  },
    {&SpmmVectorNodes,  &SpmmVectorNodesSingle },
    {&SpmmVectorCsr16,  &SpmmVectorCsr16Single },
    {&SpmmVectorCsr,    &SpmmVectorCsrSingle   }
  };

  for (const auto &k : kernels) {
    if (k[0] == kernel) return k[1];
  }
  return NULL;
}
#else
const SpmmKernel *VectorSingleKernel(const SpmmKernel *kernel)
{
  return kernel;
}
#endif

namespace {
union Bits {
  double        number;
  VectorLargest bits;
};

/* 2^e as two factors, neither of which over- or underflows for exponents of a double */
struct Power {
  double one, other;
};
} // namespace

static __device__ __forceinline__ VectorLargest BitsOf(double x)
{
  Bits b;

  b.number = fabs(x);
  return b.bits;
}

static __device__ __forceinline__ double PowerOfTwo(int e)
{
  Bits b;

  b.bits = (VectorLargest)(min(max(e, -1022), 1023) + 1023) << 52;
  return b.number;
}

static __device__ __forceinline__ Power PowerOf(int e)
{
  return {PowerOfTwo(e / 2), PowerOfTwo(e - e / 2)};
}

static __global__ void __launch_bounds__(HRPB_THREADS) FindLargest(int64_t n, const HrpbScalar *x, VectorLargest *largest)
{
  __shared__ VectorLargest warp[HRPB_WARPS];
  VectorLargest            most = 0;

  for (int64_t i = (int64_t)blockIdx.x * HRPB_THREADS + threadIdx.x; i < n; i += (int64_t)gridDim.x * HRPB_THREADS)
    most = max(most, BitsOf((double)x[i]));
  most = HrpbMostOfLanes(most);
  if (threadIdx.x % HRPB_LANES == 0) warp[threadIdx.x / HRPB_LANES] = most;
  __syncthreads();
  if (threadIdx.x > 0) return;
  for (int w = 1; w < HRPB_WARPS; w++) most = max(most, warp[w]);
  if (most) atomicMax(largest, most);
}

static __global__ void __launch_bounds__(HRPB_THREADS) ToSingle(int64_t n, const HrpbScalar *x, int exponent, const VectorLargest *largest, float *y)
{
  const Power p = PowerOf(largest ? exponent - VectorExponent(*largest) : exponent);

  for (int64_t i = (int64_t)blockIdx.x * HRPB_THREADS + threadIdx.x; i < n; i += (int64_t)gridDim.x * HRPB_THREADS) y[i] = (float)((double)x[i] * p.one * p.other);
}

static __global__ void __launch_bounds__(HRPB_THREADS) ToDouble(int64_t n, const float *x, int exponent, const VectorLargest *largest, HrpbScalar *y)
{
  const Power p = PowerOf(largest ? exponent + VectorExponent(*largest) : exponent);

  for (int64_t i = (int64_t)blockIdx.x * HRPB_THREADS + threadIdx.x; i < n; i += (int64_t)gridDim.x * HRPB_THREADS) y[i] = (HrpbScalar)((double)x[i] * p.one * p.other);
}

static __global__ void __launch_bounds__(HRPB_THREADS) StepSingle(int64_t n, const __grid_constant__ VectorSingleStep s)
{
  const int64_t i     = (int64_t)blockIdx.x * HRPB_THREADS + threadIdx.x;
  const int64_t first = s.dblock > 1 ? i / s.dblock * s.dblock : i;
  float         y     = 0;

  if (i >= n) return;
  if (s.c != 0) {
    for (int32_t k = 0; k < s.dblock; k++) y = fmaf(s.D[first * s.dblock + (i - first) + (int64_t)k * s.dblock], s.r[first + k], y);
    y *= s.c;
  }
  if (s.b != 0) y = fmaf(s.b, s.x[i], y);
  if (s.a != 0) y = fmaf(s.a, s.y0[i], y);
  s.y[i] = y;
}

HrpbError VectorZeroLargest(VectorLargest *largest, HrpbStream stream)
{
  HrpbCallCuda(cudaMemsetAsync(largest, 0, sizeof(*largest), stream));
  return HRPB_SUCCESS;
}

HrpbError VectorFindLargest(int64_t n, const HrpbScalar *x, VectorLargest *largest, HrpbStream stream)
{
  if (n > 0) HrpbCall(HrpbLaunch(FindLargest, HrpbGrid(n, HRPB_THREADS, MOST_BLOCKS), HRPB_THREADS, 0, stream, n, x, largest));
  return HRPB_SUCCESS;
}

HrpbError VectorToSingle(int64_t n, const HrpbScalar *x, int exponent, const VectorLargest *largest, float *y, HrpbStream stream)
{
  if (n > 0) HrpbCall(HrpbLaunch(ToSingle, HrpbGrid(n, HRPB_THREADS), HRPB_THREADS, 0, stream, n, x, exponent, largest, y));
  return HRPB_SUCCESS;
}

HrpbError VectorToDouble(int64_t n, const float *x, int exponent, const VectorLargest *largest, HrpbScalar *y, HrpbStream stream)
{
  if (n > 0) HrpbCall(HrpbLaunch(ToDouble, HrpbGrid(n, HRPB_THREADS), HRPB_THREADS, 0, stream, n, x, exponent, largest, y));
  return HRPB_SUCCESS;
}

HrpbError VectorStepSingle(int64_t n, const VectorSingleStep *s, HrpbStream stream)
{
  if (n > 0) HrpbCall(HrpbLaunch(StepSingle, HrpbGrid(n, HRPB_THREADS), HRPB_THREADS, 0, stream, n, *s));
  return HRPB_SUCCESS;
}
