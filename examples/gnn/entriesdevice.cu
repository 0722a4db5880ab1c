#include <cuda_runtime.h>
#include "entries.h"

enum {
  THREADS = 128
};

#define ENTRIES_ON_DEVICE(op) \
  static __global__ void __launch_bounds__(THREADS) op##Kernel(const op a, int64_t n) \
  { \
    for (int64_t i = (int64_t)blockIdx.x * THREADS + threadIdx.x; i < n; i += (int64_t)gridDim.x * THREADS) op##At(&a, i); \
  } \
  int op##OnDevice(const op *a, int64_t n, void *stream) \
  { \
    const int64_t blocks = (n + THREADS - 1) / THREADS; \
\
    if (n == 0) return cudaSuccess; \
    op##Kernel<<<(unsigned int)(blocks < 65536 ? blocks : 65536), THREADS, 0, (cudaStream_t)stream>>>(*a, n); \
    return cudaGetLastError(); \
  }
ENTRIES(ENTRIES_ON_DEVICE)
