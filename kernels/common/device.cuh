/*
   What code for the device shares: errors, memory, the shape of a launch, sums over a warp.
*/
#pragma once

#include <stddef.h>
#include <stdint.h>
#include <cuda_runtime.h>

#include "../format/hrpbdevice.h"

enum {
  HRPB_LANES   = 32,
  HRPB_WARPS   = 8, /* warps of a thread block, in all builders */
  HRPB_THREADS = HRPB_WARPS * HRPB_LANES
};
#define HRPB_ALL_LANES 0xffffffffu

/* Remember a CUDA error for HrpbDeviceErrorString(), clear it, and say which HrpbError it is */
HrpbError HrpbDeviceError(cudaError_t err);

#define HrpbCallCuda(...) \
  do { \
    const cudaError_t err_ = (__VA_ARGS__); \
    if (err_ != cudaSuccess) return HrpbDeviceError(err_); \
  } while (0)
#define HrpbCall(...) \
  do { \
    const HrpbError err_ = (__VA_ARGS__); \
    if (err_) return err_; \
  } while (0)

/*
   Launches. All kernels of ours are launched by HrpbLaunchAs(), and none of its errors is dropped.

   A kernel may be brought to the device when it is first launched, and there may be no memory for it then. Who must not
   stop halfway has all of them brought first: while SpmmLoad() runs nothing is launched, and kernels are
   brought alone
*/
bool      HrpbIsLoading(void);
HrpbError HrpbLoadKernel(const void *kernel);

template <typename T> struct HrpbSame {
  typedef T type;
};

template <typename... Formal> static inline HrpbError HrpbLaunchAs(const cudaLaunchConfig_t *config, void (*kernel)(Formal...), typename HrpbSame<Formal>::type... arguments)
{
  if (HrpbIsLoading()) return HrpbLoadKernel((const void *)kernel);
  HrpbCallCuda(cudaLaunchKernelEx(config, kernel, arguments...));
  return HRPB_SUCCESS;
}

template <typename... Formal> static inline HrpbError HrpbLaunch(void (*kernel)(Formal...), dim3 grid, unsigned int threads, size_t shared, cudaStream_t stream, typename HrpbSame<Formal>::type... arguments)
{
  cudaLaunchConfig_t config = {};

  config.gridDim          = grid;
  config.blockDim         = dim3(threads);
  config.dynamicSmemBytes = shared;
  config.stream           = stream;
  return HrpbLaunchAs(&config, kernel, arguments...);
}

/*
   Device memory for n items, or none, from the driver's pool. Allocation and release are work in the stream and wait
   for nothing
*/
template <typename T> static inline HrpbError HrpbAllocate(T **p, int64_t n, HrpbStream stream)
{
  const cudaError_t err = cudaMallocAsync((void **)p, n > 0 ? sizeof(T) * (size_t)n : 1, stream);

  if (err == cudaSuccess) return HRPB_SUCCESS;
  *p = NULL;
  return HrpbDeviceError(err);
}

/*
   Several arrays that are allocated as one, given by pairs of a pointer and a number of items. Whoever releases the
   first releases all. On an error the pointers stay as they are
*/
static inline int64_t HrpbBytesTogether(void)
{
  return 0;
}

static inline void HrpbPlaceTogether(uint8_t *) { }

/* Bytes up to where the next array begins */
static inline int64_t HrpbWholeUnits(size_t bytes)
{
  return ((int64_t)bytes + 255) / 256 * 256;
}

template <typename T, typename... More> static inline int64_t HrpbBytesTogether(T **, int64_t n, More... more)
{
  return HrpbWholeUnits(sizeof(T) * (size_t)n) + HrpbBytesTogether(more...);
}

template <typename T, typename... More> static inline void HrpbPlaceTogether(uint8_t *memory, T **p, int64_t n, More... more)
{
  *p = (T *)memory;
  HrpbPlaceTogether(memory + HrpbWholeUnits(sizeof(T) * (size_t)n), more...);
}

template <typename... Arrays> static inline HrpbError HrpbAllocateTogether(HrpbStream stream, Arrays... arrays)
{
  uint8_t        *memory;
  const HrpbError err = HrpbAllocate(&memory, HrpbBytesTogether(arrays...), stream);

  if (!err) HrpbPlaceTogether(memory, arrays...);
  return err;
}

/* Release what may be NULL, and keep an earlier error */
static inline HrpbError HrpbFree(void *p, HrpbError before, HrpbStream stream)
{
  const cudaError_t err = p ? cudaFreeAsync(p, stream) : cudaSuccess;

  if (before || err == cudaSuccess) return before;
  return HrpbDeviceError(err);
}

/* Bring numbers from the device to the host. Waits for them, and so for all work before */
HrpbError HrpbBring(void *to, const void *from, size_t bytes, HrpbStream stream);

/* Copy columns of so many rows, or zero them, with any leading dimension. Copies in two dimensions are limited there */
HrpbError HrpbCopyColumns(HrpbScalar *to, int64_t ldto, const HrpbScalar *from, int64_t ldfrom, int64_t rows, int64_t columns, HrpbStream stream);
HrpbError HrpbZeroColumns(HrpbScalar *to, int64_t ldto, int64_t rows, int64_t columns, HrpbStream stream);

/*
   a[i] = a[0] + ... + a[i - 1], i <= n: the last number is the sum of all, and need not be set before. The same for b
   with m, unless b is NULL. Short arrays take one launch, and no memory. See cub.cuh for other types
*/
HrpbError HrpbSumsBefore(uint32_t *a, int64_t n, uint32_t *b, int64_t m, HrpbStream stream);

/* Thread blocks for n items, per_block items each. Kernels stride, so fewer thread blocks do as well */
static inline unsigned int HrpbGrid(int64_t n, int64_t per_block, int64_t most = INT32_MAX)
{
  const int64_t blocks = (n + per_block - 1) / per_block;

  return (unsigned int)(blocks < 1 ? 1 : blocks < most ? blocks : most);
}

/*
   A kernel that LaunchAfter() launches calls this before it reads what the kernel before it writes, in the threads that
   read or in others for which these wait. The compiler may move reads by __ldg() to before the call: use them only for
   what no kernel of ours has written
*/
static __device__ __forceinline__ void HrpbWaitForKernelBefore()
{
#if __CUDA_ARCH__ >= 900
  cudaGridDependencySynchronize();
#endif
}

/* The next kernel may start as soon as all thread blocks have called this, or else as soon as they have ended */
static __device__ __forceinline__ void HrpbLetNextKernelCome()
{
#if __CUDA_ARCH__ >= 900
  cudaTriggerProgrammaticLaunchCompletion();
#endif
}

/* Have x in registers of its own. The compiler may otherwise compute it anew wherever it is needed */
template <typename T> static __device__ __forceinline__ void HrpbKeep(T &x)
{
  if constexpr (sizeof(T) == 8) asm volatile("" : "+l"(x));
  else asm volatile("" : "+r"(x));
}

/* The matrix row that is row i of a panel, or -1 beyond the last one */
static __device__ inline int32_t HrpbRowOfPanel(const int32_t *order, int32_t nrows, int32_t panel_rows, int64_t panel, int32_t i)
{
  const uint32_t k = (uint32_t)panel * (uint32_t)panel_rows + (uint32_t)i; /* fewer than 2^31 rows and a panel */

  if (k >= (uint32_t)nrows) return -1;
  return order ? order[k] : (int32_t)k;
}

static __device__ inline uint32_t HrpbWarpInclusiveSum(uint32_t x)
{
  const int lane = threadIdx.x % HRPB_LANES;

#pragma unroll
  for (int distance = 1; distance < HRPB_LANES; distance *= 2) {
    const uint32_t before = __shfl_up_sync(HRPB_ALL_LANES, x, distance);

    if (lane >= distance) x += before;
  }
  return x;
}

/* The sum over groups of lanes that follow each other, in all of them; the maximum over a warp */
template <int LANES = HRPB_LANES, typename T> static __device__ __forceinline__ T HrpbSumOfLanes(T x)
{
#pragma unroll
  for (int distance = LANES / 2; distance > 0; distance /= 2) x += __shfl_xor_sync(HRPB_ALL_LANES, x, distance);
  return x;
}

template <typename T> static __device__ __forceinline__ T HrpbMostOfLanes(T x)
{
#pragma unroll
  for (int distance = HRPB_LANES / 2; distance > 0; distance /= 2) x = max(x, __shfl_xor_sync(HRPB_ALL_LANES, x, distance));
  return x;
}

/* sum + lost += x, where lost is what rounding has taken from sum */
template <typename Scalar> static __device__ __forceinline__ void HrpbAddCompensated(Scalar x, Scalar *sum, Scalar *lost)
{
  const Scalar t = *sum + x, y = t - *sum;

  *lost += (*sum - (t - y)) + (x - y);
  *sum = t;
}
