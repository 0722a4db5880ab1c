/*
   CUDA on a host without a GPU, as far as kernels/ and test/device use it. test/emulator/translate makes C++ of their
   files, which is compiled with this header in place of CUDA's.

   The threads of a thread block are fibers. One runs at a time, until it has to wait: for the other lanes of its warp,
   for the other warps, or for an mbarrier. Thread blocks run one after the other, and a kernel ends before its launch
   returns. If all threads wait that is an error; on a GPU they would wait for ever. Copies by cp.async are made only
   when a thread has to wait for them. A thread that forgets to wait sees the old data.

   EMULATED_ARCH is the architecture that kernels are compiled for, and that of the device. Tensor cores cut TF32
   operands to 11 bits. They cut sums to single precision, while real ones keep a few bits more. Addresses of shared
   memory, static variables here, have 32 bits, so the program must not be position-independent.
*/
#pragma once

#include <math.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <algorithm>
#include <cmath>

#if defined(EMULATED_LIBRARY) /* with CUDA's own declarations: libraries.cpp has the functions */
  #include <cuda_runtime_api.h>
  #undef __global__
  #undef __device__
  #undef __host__
  #undef __grid_constant__
  #undef __launch_bounds__
  #undef __forceinline__
  #undef __align__
  #undef __shared__
#endif
#define __global__
#define __device__
#define __host__
#define __grid_constant__
#define __launch_bounds__(...)
#define __forceinline__ inline
#define __align__(n)    __attribute__((aligned(n)))

using std::isfinite;
using std::isinf;
using std::isnan;
using std::max;
using std::min;

#if !defined(EMULATED_LIBRARY)
struct dim3 {
  unsigned int x, y, z;
  dim3(unsigned int x = 1, unsigned int y = 1, unsigned int z = 1) : x(x), y(y), z(z) { }
};
struct alignas(16) int4 {
  int x, y, z, w;
};
struct alignas(16) uint4 {
  unsigned int x, y, z, w;
};
struct alignas(16) float4 {
  float x, y, z, w;
};
struct alignas(8) float2 {
  float x, y;
};
struct alignas(16) double2 {
  double x, y;
};
typedef struct CUstream_st *cudaStream_t;
static inline float4 make_float4(float x, float y, float z, float w)
{
  return {x, y, z, w};
}
static inline double2 make_double2(double x, double y)
{
  return {x, y};
}
static inline int4 make_int4(int x, int y, int z, int w)
{
  return {x, y, z, w};
}
static inline uint4 make_uint4(unsigned int x, unsigned int y, unsigned int z, unsigned int w)
{
  return {x, y, z, w};
}
#else
  #include <vector_functions.h>
#endif

/* emulator.cpp: the running thread, and its thread block */
extern dim3 threadIdx, blockIdx, blockDim, gridDim;

void *EmulatedShared(void); /* dynamic shared memory */

/*
   An exchange in the warp: the x of all lanes, each of at most 64 bytes. That of lane i starts at byte 64 i. It is
   valid until the lane's next exchange.
*/
const unsigned char *EmulatedExchange(const void *x, size_t bytes);

void EmulatedRun(dim3 blocks, dim3 threads, size_t shared, void (*kernel)(const void *), const void *arguments);

#if !defined(EMULATED_LIBRARY)
enum cudaError_t : int;
extern "C" cudaError_t cudaLaunchKernel(const void *, dim3, dim3, void **, size_t, cudaStream_t);
#endif

/* A kernel's name here is NULL, and its arguments are EmulatedRun(), and a function with its argument */
struct EmulatedLaunch {
  dim3         blocks, threads;
  size_t       shared;
  cudaStream_t stream;

  EmulatedLaunch(dim3 blocks, dim3 threads, size_t shared = 0, cudaStream_t stream = NULL) : blocks(blocks), threads(threads), shared(shared), stream(stream) { }
  template <typename F> cudaError_t operator()(const F &kernel) const
  {
    void *arguments[] = {(void *)EmulatedRun, (void *)+[](const void *f) { (*(const F *)f)(); }, (void *)&kernel};

    return cudaLaunchKernel(NULL, blocks, threads, arguments, shared, stream);
  }
};

/* What the threads of a thread block and of a warp do together */
void __syncthreads(void);
int  __syncthreads_or(int);

template <typename T> static inline T EmulatedLane(const unsigned char *all, int lane)
{
  T x;

  memcpy(&x, all + 64 * lane, sizeof(x));
  return x;
}
static inline int EmulatedLaneId(void)
{
  return (int)(threadIdx.x % 32);
}
static inline void __syncwarp(unsigned int = 0xffffffffu)
{
  (void)EmulatedExchange(NULL, 0);
}
template <typename T> static inline T __shfl_sync(unsigned int, T x, int lane, int width = 32)
{
  return EmulatedLane<T>(EmulatedExchange(&x, sizeof(x)), EmulatedLaneId() / width * width + (lane & (width - 1)));
}
template <typename T> static inline T __shfl_up_sync(unsigned int, T x, unsigned int distance, int width = 32)
{
  const unsigned char *all = EmulatedExchange(&x, sizeof(x));

  return EmulatedLane<T>(all, EmulatedLaneId() % width < (int)distance ? EmulatedLaneId() : EmulatedLaneId() - (int)distance);
}
template <typename T> static inline T __shfl_down_sync(unsigned int, T x, unsigned int distance, int width = 32)
{
  const unsigned char *all = EmulatedExchange(&x, sizeof(x));

  return EmulatedLane<T>(all, EmulatedLaneId() % width + (int)distance >= width ? EmulatedLaneId() : EmulatedLaneId() + (int)distance);
}
template <typename T> static inline T __shfl_xor_sync(unsigned int, T x, int mask, int = 32)
{
  return EmulatedLane<T>(EmulatedExchange(&x, sizeof(x)), EmulatedLaneId() ^ mask);
}
template <typename T, typename F> static inline T EmulatedReduce(T x, F f)
{
  const unsigned char *all = EmulatedExchange(&x, sizeof(x));

  x = EmulatedLane<T>(all, 0);
  for (int lane = 1; lane < 32; lane++) x = f(x, EmulatedLane<T>(all, lane));
  return x;
}
template <typename T> static inline T __reduce_add_sync(unsigned int, T x)
{
  return EmulatedReduce(x, [](T a, T b) { return (T)(a + b); });
}
template <typename T> static inline T __reduce_max_sync(unsigned int, T x)
{
  return EmulatedReduce(x, [](T a, T b) { return a > b ? a : b; });
}
template <typename T> static inline T __reduce_min_sync(unsigned int, T x)
{
  return EmulatedReduce(x, [](T a, T b) { return a < b ? a : b; });
}
static inline unsigned int __reduce_or_sync(unsigned int, unsigned int x)
{
  return EmulatedReduce(x, [](unsigned int a, unsigned int b) { return a | b; });
}
static inline unsigned int __ballot_sync(unsigned int, int x)
{
  return __reduce_or_sync(0xffffffffu, x ? 1u << EmulatedLaneId() : 0);
}
static inline int __any_sync(unsigned int, int x)
{
  return __ballot_sync(0xffffffffu, x) != 0;
}

/* Bits and numbers */
#define __ldg(p)  (*(p))
#define __ldcs(p) (*(p))
#define __trap()  abort()

static inline int __popc(unsigned int x)
{
  return __builtin_popcount(x);
}
static inline int __ffs(int x)
{
  return __builtin_ffs(x);
}
static inline int __ffsll(long long x)
{
  return __builtin_ffsll(x);
}
static inline int __clz(int x)
{
  return x ? __builtin_clz((unsigned int)x) : 32;
}
static inline unsigned int __funnelshift_r(unsigned int low, unsigned int high, unsigned int shift)
{
  return (unsigned int)((((uint64_t)high << 32) | low) >> (shift & 31));
}
static inline unsigned int __byte_perm(unsigned int x, unsigned int y, unsigned int selector)
{
  const uint64_t bytes  = (uint64_t)y << 32 | x;
  unsigned int   result = 0;

  for (int i = 0; i < 4; i++) result |= (unsigned int)(bytes >> 8 * (selector >> 4 * i & 7) & 0xff) << 8 * i;
  return result;
}
template <typename To, typename From> static inline To EmulatedBits(From from)
{
  To to;

  static_assert(sizeof(to) == sizeof(from), "as many bits");
  memcpy(&to, &from, sizeof(to));
  return to;
}
static inline unsigned int __float_as_uint(float x)
{
  return EmulatedBits<unsigned int>(x);
}
static inline float __uint_as_float(unsigned int x)
{
  return EmulatedBits<float>(x);
}
static inline int __double2hiint(double x)
{
  return (int)(EmulatedBits<uint64_t>(x) >> 32);
}
static inline int __double2loint(double x)
{
  return (int)EmulatedBits<uint64_t>(x);
}
static inline double __hiloint2double(int high, int low)
{
  return EmulatedBits<double>((uint64_t)(uint32_t)high << 32 | (uint32_t)low);
}
static inline float __fmul_rn(float x, float y)
{
  return x * y;
}
static inline float __fmaf_rn(float x, float y, float z)
{
  return std::fma(x, y, z);
}

static inline double rsqrt(double x)
{
  return 1 / sqrt(x);
}
static inline void __threadfence(void) { }

/* A fiber gives way only where it waits */
template <typename T, typename F> static inline T EmulatedUpdate(T *p, F f)
{
  const T before = *p;

  *p = (T)f(before);
  return before;
}
template <typename T, typename U> static inline T atomicAdd(T *p, U x)
{
  return EmulatedUpdate(p, [=](T y) { return y + (T)x; });
}
template <typename T, typename U> static inline T atomicOr(T *p, U x)
{
  return EmulatedUpdate(p, [=](T y) { return y | (T)x; });
}
template <typename T, typename U> static inline T atomicMax(T *p, U x)
{
  return EmulatedUpdate(p, [=](T y) { return y > (T)x ? y : (T)x; });
}
template <typename T, typename U> static inline T atomicMin(T *p, U x)
{
  return EmulatedUpdate(p, [=](T y) { return y < (T)x ? y : (T)x; });
}
template <typename T, typename U, typename V> static inline T atomicCAS(T *p, U old, V x)
{
  return EmulatedUpdate(p, [=](T y) { return y == (T)old ? (T)x : y; });
}

/* PTX, with operands as in the text of the kernels */
extern unsigned char *const emulated_base; /* what is at the address 0 of shared memory */
static inline unsigned char *EmulatedAt(uint32_t address)
{
  return emulated_base + (int32_t)address;
}
#define __cvta_generic_to_shared(p) ((size_t)((unsigned char *)(p) - emulated_base))
#define __cvta_shared_to_generic(p) (EmulatedAt((uint32_t)(p)))

void ptx_mbarrier_init(uint32_t barrier, uint32_t count);
void ptx_mbarrier_arrive(uint32_t barrier);
void ptx_mbarrier_arrive_expect(uint32_t barrier, uint32_t bytes);
void ptx_mbarrier_wait(uint32_t &done, uint32_t barrier, uint32_t parity);
void ptx_cp_async(uint32_t to, const void *from, int bytes = 16);
static inline void ptx_cp_async_if(uint32_t to, const void *from, uint32_t is)
{
  if (is) ptx_cp_async(to, from);
}
void ptx_cp_async_arrive(uint32_t barrier);
void ptx_cp_async_commit(void);
void ptx_cp_async_wait(int groups);
void ptx_cp_async_bulk(uint32_t to, const void *from, uint32_t bytes, uint32_t barrier);
static inline void ptx_fence(void) { }
static inline void ptx_elect(uint32_t &is)
{
  is = threadIdx.x % 32 == 0;
}
static inline void ptx_atomic_inc(uint32_t &before, uint32_t *p, uint32_t most)
{
  before = EmulatedUpdate(p, [=](uint32_t x) { return x < most ? x + 1 : 0; });
}

template <typename T> static inline void ptx_load_shared(T &x, uint32_t address)
{
  memcpy(&x, EmulatedAt(address), sizeof(x));
}
static inline void ptx_load_shared(uint32_t &x, uint32_t &y, uint32_t &z, uint32_t &w, uint32_t address)
{
  const uint32_t *from = (const uint32_t *)EmulatedAt(address);

  x = from[0], y = from[1], z = from[2], w = from[3];
}
template <typename T> static inline void ptx_load_shared_if(T &x, uint32_t is, uint32_t address)
{
  if (is) ptx_load_shared(x, address);
}
template <typename T> static inline void ptx_store_shared(uint32_t address, T x)
{
  memcpy(EmulatedAt(address), &x, sizeof(x));
}
static inline void ptx_load_shared_byte(uint32_t &x, uint32_t from)
{
  uint8_t byte;

  ptx_load_shared(byte, from);
  x = byte;
}
template <typename T, typename P> static inline void ptx_load_if(T &x, const P *from, int is)
{
  if (is) memcpy(&x, from, sizeof(x));
}

template <typename T> static inline void ptx_load_global(T &x, const T *from)
{
  x = *from;
}
static inline void ptx_load_global(double &x, double &y, const double *from)
{
  x = from[0], y = from[1];
}
static inline void ptx_load_global(float &x, float &y, float &z, float &w, const float *from)
{
  x = from[0], y = from[1], z = from[2], w = from[3];
}

template <typename T, typename... Values> static inline void ptx_store_global(T *to, Values... x)
{
  const T all[] = {x...};

  memcpy(to, all, sizeof(all));
}

void ptx_mma_m16n8k4(double &c0, double &c1, double &c2, double &c3, double a0, double a1, double b);
void ptx_mma_m8n8k4(double &c0, double &c1, double a, double b);
void ptx_mma_m16n8k8(float &c0, float &c1, float &c2, float &c3, uint32_t a0, uint32_t a1, uint32_t a2, uint32_t a3, uint32_t b0, uint32_t b1);

#if defined(EMULATED_LIBRARY)
template <typename T> static inline cudaError_t cudaMalloc(T **p, size_t bytes)
{
  return cudaMalloc((void **)p, bytes);
}
template <typename F> static inline cudaError_t cudaFuncGetAttributes(cudaFuncAttributes *a, F f)
{
  return cudaFuncGetAttributes(a, (const void *)f);
}
template <typename F> static inline cudaError_t cudaFuncSetAttribute(F f, cudaFuncAttribute attribute, int x)
{
  return cudaFuncSetAttribute((const void *)f, attribute, x);
}
template <typename... Formal, typename... Actual> static inline cudaError_t cudaLaunchKernelEx(const cudaLaunchConfig_t *c, void (*kernel)(Formal...), const Actual &...arguments)
{
  return EmulatedLaunch(c->gridDim, c->blockDim, c->dynamicSmemBytes, c->stream)([&] { kernel(arguments...); });
}
static inline void cudaGridDependencySynchronize(void) { }
static inline void cudaTriggerProgrammaticLaunchCompletion(void) { }
#else
/* The runtime. Streams do all work at once, and events have no time */
enum cudaError_t : int {
  cudaSuccess,
  cudaErrorMemoryAllocation          = 2,
  cudaErrorInvalidDeviceFunction     = 98,
  cudaErrorInvalidDevice             = 101,
  cudaErrorNoKernelImageForDevice    = 209,
  cudaErrorUnsupportedPtxVersion     = 222,
  cudaErrorCooperativeLaunchTooLarge = 720,
  cudaErrorNotSupported              = 801,
  cudaErrorStreamCaptureInvalidated  = 901
};
enum cudaMemcpyKind {
  cudaMemcpyHostToDevice = 1,
  cudaMemcpyDeviceToHost,
  cudaMemcpyDeviceToDevice
};
enum cudaDeviceAttr {
  cudaDevAttrMultiProcessorCount,
  cudaDevAttrL2CacheSize,
  cudaDevAttrComputeCapabilityMajor,
  cudaDevAttrComputeCapabilityMinor,
  cudaDevAttrMaxSharedMemoryPerMultiprocessor,
  cudaDevAttrMaxSharedMemoryPerBlockOptin,
  cudaDevAttrReservedSharedMemoryPerBlock,
  cudaDevAttrMemoryClockRate,
  cudaDevAttrGlobalMemoryBusWidth,
  cudaDevAttrCooperativeLaunch
};
enum cudaFuncAttribute {
  cudaFuncAttributeMaxDynamicSharedMemorySize,
  cudaFuncAttributePreferredSharedMemoryCarveout
};
enum cudaLaunchAttributeID {
  cudaLaunchAttributeProgrammaticStreamSerialization,
  cudaLaunchAttributeCooperative
};
enum cudaStreamCaptureMode {
  cudaStreamCaptureModeRelaxed
};
enum {
  cudaStreamNonBlocking = 1
};
enum cudaDataType {
  CUDA_R_32F,
  CUDA_R_64F
};
typedef struct CUevent_st     *cudaEvent_t;
typedef struct CUgraph_st     *cudaGraph_t;
typedef struct CUgraphExec_st *cudaGraphExec_t;
struct cudaDeviceProp {
  char   name[256];
  int    major;
  size_t sharedMemPerBlockOptin, totalGlobalMem;
};
struct cudaFuncAttributes {
  int binaryVersion, ptxVersion, maxDynamicSharedSizeBytes;
};
struct cudaLaunchAttribute {
  cudaLaunchAttributeID id;
  struct {
    int programmaticStreamSerializationAllowed, cooperative;
  } val;
};
struct cudaLaunchConfig_t {
  dim3                 gridDim, blockDim;
  size_t               dynamicSmemBytes;
  cudaStream_t         stream;
  cudaLaunchAttribute *attrs;
  unsigned int         numAttrs;
};

cudaError_t cudaGetLastError(void);
cudaError_t EmulatedAllocate(void **p, size_t bytes); /* fill it with ones: NaN, and invalid addresses */
cudaError_t cudaFree(void *);
cudaError_t cudaMemcpy(void *to, const void *from, size_t bytes, cudaMemcpyKind);
cudaError_t cudaMemcpy2D(void *to, size_t to_pitch, const void *from, size_t from_pitch, size_t bytes, size_t rows, cudaMemcpyKind);
cudaError_t cudaMemset(void *, int, size_t);
cudaError_t cudaMemGetInfo(size_t *unused, size_t *total);
cudaError_t cudaDeviceGetAttribute(int *, cudaDeviceAttr, int device);
cudaError_t cudaGetDeviceProperties(cudaDeviceProp *, int device);

template <typename T> static inline cudaError_t cudaMalloc(T **p, size_t bytes)
{
  return EmulatedAllocate((void **)p, bytes);
}
static inline cudaError_t cudaMallocAsync(void **p, size_t bytes, cudaStream_t)
{
  return EmulatedAllocate(p, bytes);
}
static inline cudaError_t cudaFreeAsync(void *p, cudaStream_t)
{
  return cudaFree(p);
}
static inline cudaError_t cudaMemcpyAsync(void *to, const void *from, size_t bytes, cudaMemcpyKind kind, cudaStream_t)
{
  return cudaMemcpy(to, from, bytes, kind);
}
static inline cudaError_t cudaMemcpy2DAsync(void *to, size_t to_pitch, const void *from, size_t from_pitch, size_t bytes, size_t rows, cudaMemcpyKind kind, cudaStream_t)
{
  return cudaMemcpy2D(to, to_pitch, from, from_pitch, bytes, rows, kind);
}
static inline cudaError_t cudaMemset2DAsync(void *p, size_t pitch, int x, size_t bytes, size_t rows, cudaStream_t)
{
  for (size_t i = 0; i < rows; i++) cudaMemset((char *)p + i * pitch, x, bytes);
  return cudaSuccess;
}
static inline cudaError_t cudaMemsetAsync(void *p, int x, size_t bytes, cudaStream_t)
{
  return cudaMemset(p, x, bytes);
}
static inline cudaError_t cudaGetDevice(int *device)
{
  *device = 0;
  return cudaSuccess;
}
template <typename F> static inline cudaError_t cudaFuncGetAttributes(cudaFuncAttributes *a, F)
{
  a->binaryVersion = a->ptxVersion = EMULATED_ARCH / 10;
  a->maxDynamicSharedSizeBytes     = 48 << 10;
  return cudaSuccess;
}
template <typename F> static inline cudaError_t cudaFuncSetAttribute(F, cudaFuncAttribute, int)
{
  return cudaSuccess;
}
template <typename... Formal, typename... Actual> static inline cudaError_t cudaLaunchKernelEx(const cudaLaunchConfig_t *c, void (*kernel)(Formal...), const Actual &...arguments)
{
  const cudaError_t err = EmulatedLaunch(c->gridDim, c->blockDim, c->dynamicSmemBytes)([&] { kernel(arguments...); });

  if (err != cudaSuccess) (void)cudaGetLastError();
  return err;
}
static inline cudaError_t cudaDeviceSynchronize(void) { return cudaSuccess; }
static inline cudaError_t cudaStreamSynchronize(cudaStream_t) { return cudaSuccess; }
static inline cudaError_t cudaEventCreate(cudaEvent_t *) { return cudaSuccess; }
static inline cudaError_t cudaEventDestroy(cudaEvent_t) { return cudaSuccess; }
static inline cudaError_t cudaEventRecord(cudaEvent_t, cudaStream_t = NULL) { return cudaSuccess; }
static inline cudaError_t cudaEventSynchronize(cudaEvent_t) { return cudaSuccess; }
static inline cudaError_t cudaEventElapsedTime(float *ms, cudaEvent_t, cudaEvent_t)
{
  *ms = 1;
  return cudaSuccess;
}
/* There are no graphs: who asks for one has to do without */
static inline cudaError_t cudaStreamCreateWithFlags(cudaStream_t *, unsigned int) { return cudaSuccess; }
static inline cudaError_t cudaStreamDestroy(cudaStream_t) { return cudaSuccess; }
static inline cudaError_t cudaStreamBeginCapture(cudaStream_t, cudaStreamCaptureMode) { return cudaErrorNotSupported; }
static inline cudaError_t cudaStreamEndCapture(cudaStream_t, cudaGraph_t *) { return cudaErrorNotSupported; }
static inline cudaError_t cudaGraphInstantiateWithFlags(cudaGraphExec_t *, cudaGraph_t, unsigned long long) { return cudaErrorNotSupported; }
static inline cudaError_t cudaGraphUpload(cudaGraphExec_t, cudaStream_t) { return cudaErrorNotSupported; }
static inline cudaError_t cudaGraphLaunch(cudaGraphExec_t, cudaStream_t) { return cudaErrorNotSupported; }
static inline cudaError_t cudaGraphDestroy(cudaGraph_t) { return cudaSuccess; }
static inline cudaError_t cudaGraphExecDestroy(cudaGraphExec_t) { return cudaSuccess; }
static inline cudaError_t cudaRuntimeGetVersion(int *version)
{
  *version = 0;
  return cudaSuccess;
}
static inline const char *cudaGetErrorString(cudaError_t) { return "an error of the emulator"; }
static inline void        cudaGridDependencySynchronize(void) { }
static inline void        cudaTriggerProgrammaticLaunchCompletion(void) { }
#endif
