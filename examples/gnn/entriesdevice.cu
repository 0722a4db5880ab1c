#include <cuda_runtime.h>
#include "entries.h"

enum {
  THREADS = 128
};

#define ENTRIES_OVERLOAD(op) \
  static __device__ void At(const op *a, int64_t i) \
  { \
    op##At(a, i); \
  }
ENTRIES(ENTRIES_OVERLOAD)

template <typename Arguments> static __global__ void __launch_bounds__(THREADS) Each(const Arguments a, int64_t n)
{
  for (int64_t i = (int64_t)blockIdx.x * THREADS + threadIdx.x; i < n; i += (int64_t)gridDim.x * THREADS) At(&a, i);
}

template <typename Arguments> static int Launch(const Arguments *a, int64_t n, void *stream)
{
  const int64_t blocks = (n + THREADS - 1) / THREADS;

  if (n == 0) return cudaSuccess;
  Each<<<(unsigned int)(blocks < 65536 ? blocks : 65536), THREADS, 0, (cudaStream_t)stream>>>(*a, n);
  return cudaGetLastError();
}

#define ENTRIES_ON_DEVICE(op) \
  int op##OnDevice(const op *a, int64_t n, void *stream) \
  { \
    return Launch(a, n, stream); \
  }
ENTRIES(ENTRIES_ON_DEVICE)
