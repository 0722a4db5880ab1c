/*
   PETSc's code for a device on a host without a GPU: see test/emulator/petsc. Thrust's algorithms are loops, and the
   threads of a kernel run one after the other. Only those of a thread block that wait for each other are fibers: see
   emulator.cpp.
*/
#pragma once

#include <cuda_runtime.h>

#include <memory>
#include <type_traits>
#include <utility>

/* What a thread throws where it would have to wait */
struct EmulatedWait { };

extern bool emulated_threads_wait;
static inline void EmulatedSync(void)
{
  if (!emulated_threads_wait) throw EmulatedWait();
  __syncthreads();
}
#define __syncthreads EmulatedSync
#define __shared__    static
#define __constant__
/* The threads of one thread block: one after the other, or as fibers. What they have done before they wait is done again */
void EmulatedThreads(dim3 blocks, dim3 threads, void (*kernel)(const void *), const void *arguments);

template <typename... Formal, size_t... I> static inline void EmulatedApply(void (*kernel)(Formal...), void **arguments, std::index_sequence<I...>)
{
  (void)arguments;
  kernel(*(std::remove_reference_t<Formal> *)arguments[I]...);
}
template <typename... Formal> static inline void EmulatedApply(void (*kernel)(Formal...), void **arguments)
{
  EmulatedApply(kernel, arguments, std::index_sequence_for<Formal...>());
}
template <typename F> static inline cudaError_t cudaLaunchKernel(F *kernel, dim3 blocks, dim3 threads, void **arguments, size_t, cudaStream_t)
{
  const auto call = [=] { EmulatedApply(kernel, arguments); };

  EmulatedThreads(blocks, threads, [](const void *f) { (*(decltype(call) *)f)(); }, &call);
  return cudaSuccess;
}

/* NAME<<<blocks, threads, shared, stream>>>(...) */
struct EmulatedKernel {
  dim3 blocks, threads;

  EmulatedKernel(dim3 blocks, dim3 threads, size_t = 0, cudaStream_t = NULL) : blocks(blocks), threads(threads) { }
  template <typename F> void operator()(const F &kernel) const
  {
    EmulatedThreads(blocks, threads, [](const void *f) { (*(const F *)f)(); }, &kernel);
  }
};

template <typename T> static inline cudaError_t cudaMallocHost(T **p, size_t bytes, unsigned int = 0)
{
  return cudaMallocHost((void **)p, bytes);
}
template <typename T> static inline cudaError_t cudaMallocAsync(T **p, size_t bytes, cudaStream_t stream)
{
  return cudaMallocAsync((void **)p, bytes, stream);
}

/* Memory of device_vectors: see test/emulator/petsc */
static inline void *EmulatedMalloc(size_t bytes)
{
  void *p;

  return cudaMalloc((void **)&p, bytes) == cudaSuccess ? p : NULL;
}
static inline void EmulatedFree(void *p)
{
  (void)cudaFree(p);
}

template <typename T, typename U> static inline std::common_type_t<T, U> min(T x, U y)
{
  return y < x ? (std::common_type_t<T, U>)y : (std::common_type_t<T, U>)x;
}
static inline long long __double_as_longlong(double x)
{
  return EmulatedBits<long long>(x);
}
static inline double __longlong_as_double(long long x)
{
  return EmulatedBits<double>(x);
}
static inline int __float_as_int(float x)
{
  return EmulatedBits<int>(x);
}
static inline float __int_as_float(int x)
{
  return EmulatedBits<float>(x);
}
template <typename T, typename U> static inline T atomicExch(T *p, U x)
{
  return EmulatedUpdate(p, [=](T) { return (T)x; });
}
template <typename T, typename U> static inline T atomicAnd(T *p, U x)
{
  return EmulatedUpdate(p, [=](T y) { return y & (T)x; });
}
template <typename T, typename U> static inline T atomicXor(T *p, U x)
{
  return EmulatedUpdate(p, [=](T y) { return y ^ (T)x; });
}

#include <thrust/execution_policy.h>

/* Thrust's policy for CUDA: loops, whatever the stream */
namespace thrust
{
namespace cuda
{
struct EmulatedPolicy {
  const decltype(thrust::device) &on(cudaStream_t) const { return thrust::device; }
};
static const EmulatedPolicy par, par_nosync;
} // namespace cuda
} // namespace thrust
