/*
   CUDA's runtime, cuBLAS and cuSPARSE on a host without a GPU, as far as PETSc's types of a device use them. A program
   that this is loaded into (LD_PRELOAD) finds one GPU. Memory of the device is memory of the host, streams do all work
   at once, and libpetscaijtcu.so has kernels that run on the processor: see cuda_runtime.h.

   Kernels of PETSc, Thrust and CUB that were compiled for a GPU do not run: they are left out without an error. So tests
   use nothing of PETSc's that needs one, such as VecSet() to a number other than zero on a device, unless PETSc is that
   of test/emulator/petsc.

   With EMULATED_CODE=0 the device runs no kernel: those of the library were compiled for other GPUs.
*/
#include <algorithm>
#include <complex>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <map>
#include <vector>

#include <cuda_runtime_api.h>
#include <cublas_v2.h>
#include <curand.h>
#include <cusolverDn.h>
#include <cusparse.h>
#include "attributes.h"

#define EXPORT extern "C" __attribute__((visibility("default")))

enum {
  ARCH = 90
};

/* What lies on the device: begin and bytes */
static std::map<uintptr_t, size_t> &Memory()
{
  static std::map<uintptr_t, size_t> memory;

  return memory;
}

static cudaError_t last_error = cudaSuccess;

static cudaError_t Allocate(void **p, size_t bytes)
{
  *p = NULL;
  if (posix_memalign(p, 256, bytes ? bytes : 1)) return last_error = cudaErrorMemoryAllocation;
  memset(*p, 0xff, bytes);
  Memory()[(uintptr_t)*p] = bytes ? bytes : 1;
  return cudaSuccess;
}

static cudaError_t Free(void *p)
{
  if (!p) return cudaSuccess;
  if (!Memory().erase((uintptr_t)p)) return last_error = cudaErrorInvalidValue;
  free(p);
  return cudaSuccess;
}

static bool OnDevice(const void *p)
{
  auto after = Memory().upper_bound((uintptr_t)p);

  if (after == Memory().begin()) return false;
  --after;
  return (uintptr_t)p < after->first + after->second;
}

/* Things that are only pointed to */
template <typename T> static cudaError_t Make(T *thing)
{
  *thing = (T)malloc(1);
  return cudaSuccess;
}
#define THING(STATUS, T, create, destroy) \
  EXPORT STATUS create(T *thing) \
  { \
    return (STATUS)Make(thing); \
  } \
  EXPORT STATUS destroy(T thing) \
  { \
    free(thing); \
    return (STATUS)0; \
  }

EXPORT cudaError_t cudaGetDeviceCount(int *n)
{
  const char *visible = getenv("CUDA_VISIBLE_DEVICES");

  *n = !(visible && !strcmp(visible, "-1"));
  return *n ? cudaSuccess : cudaErrorNoDevice;
}
EXPORT cudaError_t cudaGetDevice(int *device)
{
  *device = 0;
  return cudaSuccess;
}
EXPORT cudaError_t cudaSetDevice(int device)
{
  return device ? last_error = cudaErrorInvalidDevice : cudaSuccess;
}
EXPORT cudaError_t cudaSetDeviceFlags(unsigned int)
{
  return cudaSuccess;
}
EXPORT cudaError_t cudaGetDeviceFlags(unsigned int *flags)
{
  *flags = 0;
  return cudaSuccess;
}
EXPORT cudaError_t cudaDeviceSynchronize(void)
{
  return cudaSuccess;
}
EXPORT cudaError_t cudaDriverGetVersion(int *version)
{
  *version = CUDART_VERSION;
  return cudaSuccess;
}
EXPORT cudaError_t cudaRuntimeGetVersion(int *version)
{
  *version = CUDART_VERSION;
  return cudaSuccess;
}
EXPORT cudaError_t cudaDeviceGetAttribute(int *x, enum cudaDeviceAttr attribute, int)
{
  switch (attribute) {
  case cudaDevAttrMemoryClockRate: /* of an H100, as the name says */
    *x = 2619000;
    break;
  case cudaDevAttrMaxThreadsPerBlock:
    *x = 1024;
    break;
  case cudaDevAttrWarpSize:
    *x = 32;
    break;
  case cudaDevAttrMaxGridDimX:
    *x = INT32_MAX;
    break;
  default:
    *x = EmulatedAttribute(attribute, ARCH);
  }
  return cudaSuccess;
}
EXPORT cudaError_t cudaGetDeviceProperties(struct cudaDeviceProp *p, int)
{
  memset(p, 0, sizeof(*p));
  snprintf(p->name, sizeof(p->name), "NVIDIA H100 80GB HBM3"); /* that model of times */
  p->major                  = ARCH / 10;
  p->minor                  = ARCH % 10;
  p->totalGlobalMem         = (size_t)1 << 30;
  p->multiProcessorCount    = 3;
  p->sharedMemPerBlock      = 48 << 10;
  p->sharedMemPerBlockOptin = 227 << 10;
  p->warpSize               = 32;
  p->maxThreadsPerBlock     = 1024;
  return cudaSuccess;
}
EXPORT cudaError_t cudaMemGetInfo(size_t *unused, size_t *total)
{
  *unused = *total = (size_t)1 << 30;
  return cudaSuccess;
}
EXPORT cudaError_t cudaDeviceCanAccessPeer(int *can, int, int)
{
  *can = 0;
  return cudaSuccess;
}
EXPORT cudaError_t cudaDeviceGetPCIBusId(char *id, int n, int)
{
  snprintf(id, (size_t)n, "0000:00:00.0");
  return cudaSuccess;
}
EXPORT cudaError_t cudaDeviceGetDefaultMemPool(cudaMemPool_t *pool, int)
{
  *pool = NULL;
  return cudaSuccess;
}
EXPORT cudaError_t cudaDeviceGetMemPool(cudaMemPool_t *pool, int)
{
  *pool = NULL;
  return cudaSuccess;
}
EXPORT cudaError_t cudaMemPoolSetAttribute(cudaMemPool_t, enum cudaMemPoolAttr, void *)
{
  return cudaSuccess;
}
EXPORT cudaError_t cudaMemPoolTrimTo(cudaMemPool_t, size_t)
{
  return cudaSuccess;
}

EXPORT cudaError_t cudaMalloc(void **p, size_t bytes)
{
  return Allocate(p, bytes);
}
EXPORT cudaError_t cudaMallocAsync(void **p, size_t bytes, cudaStream_t)
{
  return Allocate(p, bytes);
}
EXPORT cudaError_t cudaFree(void *p)
{
  return Free(p);
}
EXPORT cudaError_t cudaFreeAsync(void *p, cudaStream_t)
{
  return Free(p);
}
EXPORT cudaError_t cudaMallocHost(void **p, size_t bytes)
{
  *p = malloc(bytes ? bytes : 1);
  return *p ? cudaSuccess : cudaErrorMemoryAllocation;
}
EXPORT cudaError_t cudaHostAlloc(void **p, size_t bytes, unsigned int)
{
  return cudaMallocHost(p, bytes);
}
EXPORT cudaError_t cudaFreeHost(void *p)
{
  free(p);
  return cudaSuccess;
}
EXPORT cudaError_t cudaHostRegister(void *, size_t, unsigned int)
{
  return cudaSuccess;
}
EXPORT cudaError_t cudaHostUnregister(void *)
{
  return cudaSuccess;
}
EXPORT cudaError_t cudaPointerGetAttributes(struct cudaPointerAttributes *a, const void *p)
{
  memset(a, 0, sizeof(*a));
  a->type          = OnDevice(p) ? cudaMemoryTypeDevice : cudaMemoryTypeUnregistered;
  a->devicePointer = a->hostPointer = (void *)p;
  return cudaSuccess;
}
/* Whether so many bytes from p on are of one piece of memory of the device */
static bool AllOnDevice(const void *p, size_t bytes)
{
  auto after = Memory().upper_bound((uintptr_t)p);

  if (after == Memory().begin()) return false;
  --after;
  return (uintptr_t)p + bytes <= after->first + after->second;
}
static cudaError_t CheckCopy(const void *to, size_t to_bytes, const void *from, size_t from_bytes, enum cudaMemcpyKind kind)
{
  const bool there = kind == cudaMemcpyHostToDevice || kind == cudaMemcpyDeviceToDevice || (kind == cudaMemcpyDefault && OnDevice(to));
  const bool here  = kind == cudaMemcpyDeviceToHost || kind == cudaMemcpyDeviceToDevice || (kind == cudaMemcpyDefault && OnDevice(from));

  if ((to_bytes && there != AllOnDevice(to, to_bytes)) || (from_bytes && here != AllOnDevice(from, from_bytes))) return last_error = cudaErrorInvalidValue;
  return cudaSuccess;
}
EXPORT cudaError_t cudaMemcpy(void *to, const void *from, size_t bytes, enum cudaMemcpyKind kind)
{
  const cudaError_t err = CheckCopy(to, bytes, from, bytes, kind);

  if (!err && bytes) memmove(to, from, bytes);
  return err;
}
EXPORT cudaError_t cudaMemcpyAsync(void *to, const void *from, size_t bytes, enum cudaMemcpyKind kind, cudaStream_t)
{
  return cudaMemcpy(to, from, bytes, kind);
}
EXPORT cudaError_t cudaMemcpy2D(void *to, size_t to_pitch, const void *from, size_t from_pitch, size_t bytes, size_t rows, enum cudaMemcpyKind kind)
{
  const size_t      none = !bytes || !rows;
  const cudaError_t err  = CheckCopy(to, none ? 0 : (rows - 1) * to_pitch + bytes, from, none ? 0 : (rows - 1) * from_pitch + bytes, kind);

  for (size_t i = 0; !err && i < rows; i++) memcpy((char *)to + i * to_pitch, (const char *)from + i * from_pitch, bytes);
  return err;
}
EXPORT cudaError_t cudaMemcpy2DAsync(void *to, size_t to_pitch, const void *from, size_t from_pitch, size_t bytes, size_t rows, enum cudaMemcpyKind kind, cudaStream_t)
{
  return cudaMemcpy2D(to, to_pitch, from, from_pitch, bytes, rows, kind);
}
EXPORT cudaError_t cudaMemset(void *p, int x, size_t bytes)
{
  if (bytes && !AllOnDevice(p, bytes)) return last_error = cudaErrorInvalidValue;
  if (bytes) memset(p, x, bytes);
  return cudaSuccess;
}
EXPORT cudaError_t cudaMemsetAsync(void *p, int x, size_t bytes, cudaStream_t)
{
  return cudaMemset(p, x, bytes);
}
EXPORT cudaError_t cudaMemset2D(void *p, size_t pitch, int x, size_t bytes, size_t rows)
{
  for (size_t i = 0; i < rows; i++) memset((char *)p + i * pitch, x, bytes);
  return cudaSuccess;
}
EXPORT cudaError_t cudaMemset2DAsync(void *p, size_t pitch, int x, size_t bytes, size_t rows, cudaStream_t)
{
  return cudaMemset2D(p, pitch, x, bytes, rows);
}

EXPORT cudaError_t cudaStreamCreate(cudaStream_t *stream)
{
  return Make(stream);
}
EXPORT cudaError_t cudaStreamCreateWithFlags(cudaStream_t *stream, unsigned int)
{
  return Make(stream);
}
EXPORT cudaError_t cudaStreamCreateWithPriority(cudaStream_t *stream, unsigned int, int)
{
  return Make(stream);
}
EXPORT cudaError_t cudaStreamDestroy(cudaStream_t stream)
{
  free(stream);
  return cudaSuccess;
}
EXPORT cudaError_t cudaStreamGetFlags(cudaStream_t, unsigned int *flags)
{
  *flags = cudaStreamNonBlocking;
  return cudaSuccess;
}
EXPORT cudaError_t cudaStreamQuery(cudaStream_t)
{
  return cudaSuccess;
}
EXPORT cudaError_t cudaStreamSynchronize(cudaStream_t)
{
  return cudaSuccess;
}
EXPORT cudaError_t cudaStreamWaitEvent(cudaStream_t, cudaEvent_t, unsigned int)
{
  return cudaSuccess;
}
EXPORT cudaError_t cudaStreamIsCapturing(cudaStream_t, enum cudaStreamCaptureStatus *status)
{
  *status = cudaStreamCaptureStatusNone;
  return cudaSuccess;
}
EXPORT cudaError_t cudaEventCreate(cudaEvent_t *event)
{
  return Make(event);
}
EXPORT cudaError_t cudaEventCreateWithFlags(cudaEvent_t *event, unsigned int)
{
  return Make(event);
}
EXPORT cudaError_t cudaEventDestroy(cudaEvent_t event)
{
  free(event);
  return cudaSuccess;
}
EXPORT cudaError_t cudaEventRecord(cudaEvent_t, cudaStream_t)
{
  return cudaSuccess;
}
EXPORT cudaError_t cudaEventQuery(cudaEvent_t)
{
  return cudaSuccess;
}
EXPORT cudaError_t cudaEventSynchronize(cudaEvent_t)
{
  return cudaSuccess;
}
EXPORT cudaError_t cudaEventElapsedTime(float *ms, cudaEvent_t, cudaEvent_t)
{
  *ms = 1;
  return cudaSuccess;
}

/* There are no graphs, and no memory is lent */
EXPORT cudaError_t cudaStreamBeginCapture(cudaStream_t, enum cudaStreamCaptureMode)
{
  return last_error = cudaErrorNotSupported;
}
EXPORT cudaError_t cudaStreamEndCapture(cudaStream_t, cudaGraph_t *)
{
  return last_error = cudaErrorNotSupported;
}
EXPORT cudaError_t cudaIpcGetMemHandle(cudaIpcMemHandle_t *, void *)
{
  return last_error = cudaErrorNotSupported;
}
EXPORT cudaError_t cudaIpcGetEventHandle(cudaIpcEventHandle_t *, cudaEvent_t)
{
  return last_error = cudaErrorNotSupported;
}
EXPORT cudaError_t cudaGraphLaunch(cudaGraphExec_t, cudaStream_t)
{
  return last_error = cudaErrorNotSupported;
}

EXPORT cudaError_t cudaFuncGetAttributes(struct cudaFuncAttributes *a, const void *)
{
  const char *code = getenv("EMULATED_CODE");

  memset(a, 0, sizeof(*a));
  if (code && !strcmp(code, "0")) return last_error = cudaErrorNoKernelImageForDevice;
  a->binaryVersion = a->ptxVersion = ARCH;
  a->maxDynamicSharedSizeBytes     = 48 << 10;
  a->maxThreadsPerBlock            = 1024;
  return cudaSuccess;
}
EXPORT cudaError_t cudaFuncSetAttribute(const void *, enum cudaFuncAttribute, int)
{
  return cudaSuccess;
}
EXPORT cudaError_t cudaOccupancyMaxActiveBlocksPerMultiprocessor(int *n, const void *, int, size_t)
{
  *n = 1;
  return cudaSuccess;
}
EXPORT cudaError_t cudaOccupancyMaxActiveBlocksPerMultiprocessorWithFlags(int *n, const void *, int, size_t, unsigned int)
{
  *n = 1;
  return cudaSuccess;
}

/* Kernels of ours have no address: their arguments are EmulatedRun(), and a function with its argument */
EXPORT cudaError_t cudaLaunchKernel(const void *kernel, dim3 blocks, dim3 threads, void **arguments, size_t shared, cudaStream_t)
{
  typedef void (*Run)(dim3, dim3, size_t, void (*)(const void *), const void *);
  const char *code = getenv("EMULATED_CODE");

  if (code && !strcmp(code, "0")) return last_error = cudaErrorNoKernelImageForDevice;
  if (kernel == NULL) ((Run)arguments[0])(blocks, threads, shared, (void (*)(const void *))arguments[1], arguments[2]);
  return cudaSuccess;
}

EXPORT cudaError_t cudaGetLastError(void)
{
  const cudaError_t err = last_error;

  last_error = cudaSuccess;
  return err;
}
EXPORT cudaError_t cudaPeekAtLastError(void)
{
  return last_error;
}
EXPORT const char *cudaGetErrorString(cudaError_t err)
{
  static char text[64];

  snprintf(text, sizeof(text), "emulated error %d", (int)err);
  return text;
}
EXPORT const char *cudaGetErrorName(cudaError_t err)
{
  return cudaGetErrorString(err);
}

/*
   cuBLAS: vectors and blocks, all in double or single precision
*/
#define NOTHING(library, ok, name, ...) \
  EXPORT library##Status_t name(__VA_ARGS__) \
  { \
    return ok; \
  }
#define BLAS(name, ...) NOTHING(cublas, CUBLAS_STATUS_SUCCESS, name, __VA_ARGS__)

THING(cublasStatus_t, cublasHandle_t, cublasCreate_v2, cublasDestroy_v2)
EXPORT cublasStatus_t cublasGetPointerMode_v2(cublasHandle_t, cublasPointerMode_t *mode)
{
  *mode = CUBLAS_POINTER_MODE_HOST;
  return CUBLAS_STATUS_SUCCESS;
}
BLAS(cublasSetStream_v2, cublasHandle_t, cudaStream_t)
BLAS(cublasSetPointerMode_v2, cublasHandle_t, cublasPointerMode_t)
BLAS(cublasSetMathMode, cublasHandle_t, cublasMath_t)
BLAS(cublasSetAtomicsMode, cublasHandle_t, cublasAtomicsMode_t)

template <typename T> static T At(const T *a, int ld, cublasOperation_t op, int i, int j)
{
  return op == CUBLAS_OP_N ? a[i + (size_t)j * (size_t)ld] : a[j + (size_t)i * (size_t)ld];
}
#define BLAS_OF(T, letter, LETTER) \
  EXPORT cublasStatus_t cublas##LETTER##dot_v2(cublasHandle_t, int n, const T *x, int incx, const T *y, int incy, T *r) \
  { \
    T sum = 0; \
    for (int i = 0; i < n; i++) sum += x[(size_t)i * (size_t)incx] * y[(size_t)i * (size_t)incy]; \
    *r = sum; \
    return CUBLAS_STATUS_SUCCESS; \
  } \
  EXPORT cublasStatus_t cublas##LETTER##nrm2_v2(cublasHandle_t, int n, const T *x, int incx, T *r) \
  { \
    long double sum = 0; /* squares do not overflow */ \
    for (int i = 0; i < n; i++) sum += (long double)x[(size_t)i * (size_t)incx] * (long double)x[(size_t)i * (size_t)incx]; \
    *r = (T)__builtin_sqrtl(sum); \
    return CUBLAS_STATUS_SUCCESS; \
  } \
  EXPORT cublasStatus_t cublas##LETTER##asum_v2(cublasHandle_t, int n, const T *x, int incx, T *r) \
  { \
    T sum = 0; \
    for (int i = 0; i < n; i++) sum += x[(size_t)i * (size_t)incx] < 0 ? -x[(size_t)i * (size_t)incx] : x[(size_t)i * (size_t)incx]; \
    *r = sum; \
    return CUBLAS_STATUS_SUCCESS; \
  } \
  EXPORT cublasStatus_t cublasI##letter##amax_v2(cublasHandle_t, int n, const T *x, int incx, int *r) \
  { \
    int most = 0; \
    for (int i = 1; i < n; i++) \
      if (__builtin_fabs((double)x[(size_t)i * (size_t)incx]) > __builtin_fabs((double)x[(size_t)most * (size_t)incx])) most = i; \
    *r = most + 1; \
    return CUBLAS_STATUS_SUCCESS; \
  } \
  EXPORT cublasStatus_t cublas##LETTER##axpy_v2(cublasHandle_t, int n, const T *a, const T *x, int incx, T *y, int incy) \
  { \
    for (int i = 0; i < n; i++) y[(size_t)i * (size_t)incy] += *a * x[(size_t)i * (size_t)incx]; \
    return CUBLAS_STATUS_SUCCESS; \
  } \
  EXPORT cublasStatus_t cublas##LETTER##scal_v2(cublasHandle_t, int n, const T *a, T *x, int incx) \
  { \
    for (int i = 0; i < n; i++) x[(size_t)i * (size_t)incx] *= *a; \
    return CUBLAS_STATUS_SUCCESS; \
  } \
  EXPORT cublasStatus_t cublas##LETTER##swap_v2(cublasHandle_t, int n, T *x, int incx, T *y, int incy) \
  { \
    for (int i = 0; i < n; i++) { \
      const T t                     = x[(size_t)i * (size_t)incx]; \
      x[(size_t)i * (size_t)incx] = y[(size_t)i * (size_t)incy]; \
      y[(size_t)i * (size_t)incy] = t; \
    } \
    return CUBLAS_STATUS_SUCCESS; \
  } \
  EXPORT cublasStatus_t cublas##LETTER##gemm_v2(cublasHandle_t, cublasOperation_t opa, cublasOperation_t opb, int m, int n, int k, const T *alpha, const T *a, int lda, const T *b, int ldb, const T *beta, T *c, int ldc) \
  { \
    for (int j = 0; j < n; j++) { \
      for (int i = 0; i < m; i++) { \
        T sum = 0; \
        T *to = &c[i + (size_t)j * (size_t)ldc]; \
        for (int l = 0; l < k; l++) sum += At(a, lda, opa, i, l) * At(b, ldb, opb, l, j); \
        *to = *alpha * sum + (*beta != 0 ? *beta * *to : 0); \
      } \
    } \
    return CUBLAS_STATUS_SUCCESS; \
  } \
  EXPORT cublasStatus_t cublas##LETTER##gemv_v2(cublasHandle_t h, cublasOperation_t op, int m, int n, const T *alpha, const T *a, int lda, const T *x, int, const T *beta, T *y, int) \
  { \
    const int rows = op == CUBLAS_OP_N ? m : n, inner = op == CUBLAS_OP_N ? n : m; \
    return cublas##LETTER##gemm_v2(h, op, CUBLAS_OP_N, rows, 1, inner, alpha, a, lda, x, inner, beta, y, rows); \
  }
BLAS_OF(double, d, D)
BLAS_OF(float, s, S)

#define MORE_BLAS_OF(T, LETTER) \
  EXPORT cublasStatus_t cublas##LETTER##copy_v2(cublasHandle_t, int n, const T *x, int incx, T *y, int incy) \
  { \
    for (int i = 0; i < n; i++) y[(size_t)i * (size_t)incy] = x[(size_t)i * (size_t)incx]; \
    return CUBLAS_STATUS_SUCCESS; \
  } \
  EXPORT cublasStatus_t cublas##LETTER##dgmm(cublasHandle_t, cublasSideMode_t side, int m, int n, const T *a, int lda, const T *x, int incx, T *c, int ldc) \
  { \
    for (int j = 0; j < n; j++) { \
      for (int i = 0; i < m; i++) c[i + (size_t)j * (size_t)ldc] = a[i + (size_t)j * (size_t)lda] * x[(side == CUBLAS_SIDE_LEFT ? i : j) * incx]; \
    } \
    return CUBLAS_STATUS_SUCCESS; \
  } \
  EXPORT cublasStatus_t cublas##LETTER##geam(cublasHandle_t, cublasOperation_t opa, cublasOperation_t opb, int m, int n, const T *alpha, const T *a, int lda, const T *beta, const T *b, int ldb, T *c, int ldc) \
  { \
    for (int j = 0; j < n; j++) { \
      for (int i = 0; i < m; i++) c[i + (size_t)j * (size_t)ldc] = (*alpha != 0 ? *alpha * At(a, lda, opa, i, j) : 0) + (*beta != 0 ? *beta * At(b, ldb, opb, i, j) : 0); \
    } \
    return CUBLAS_STATUS_SUCCESS; \
  } \
  EXPORT cublasStatus_t cublas##LETTER##tbsv_v2(cublasHandle_t, cublasFillMode_t, cublasOperation_t, cublasDiagType_t diag, int n, int k, const T *a, int lda, T *x, int incx) \
  { \
    if (k) return CUBLAS_STATUS_NOT_SUPPORTED; /* PETSc has diagonals alone */ \
    for (int i = 0; diag == CUBLAS_DIAG_NON_UNIT && i < n; i++) x[(size_t)i * (size_t)incx] /= a[(size_t)i * (size_t)lda]; \
    return CUBLAS_STATUS_SUCCESS; \
  } \
  EXPORT cublasStatus_t cublas##LETTER##gemvStridedBatched(cublasHandle_t h, cublasOperation_t op, int m, int n, const T *alpha, const T *a, int lda, long long stridea, const T *x, int incx, long long stridex, const T *beta, T *y, int incy, long long stridey, int batch) \
  { \
    for (int b = 0; b < batch; b++) cublas##LETTER##gemv_v2(h, op, m, n, alpha, a + b * stridea, lda, x + b * stridex, incx, beta, y + b * stridey, incy); \
    return CUBLAS_STATUS_SUCCESS; \
  }
MORE_BLAS_OF(double, D)
MORE_BLAS_OF(float, S)

/* cuRAND: numbers, the same after each creation of a generator */
EXPORT curandStatus_t curandCreateGenerator(curandGenerator_t *generator, curandRngType_t)
{
  *generator = (curandGenerator_t) new uint64_t(1);
  return CURAND_STATUS_SUCCESS;
}
EXPORT curandStatus_t curandDestroyGenerator(curandGenerator_t generator)
{
  delete (uint64_t *)generator;
  return CURAND_STATUS_SUCCESS;
}
EXPORT curandStatus_t curandSetPseudoRandomGeneratorSeed(curandGenerator_t generator, unsigned long long seed)
{
  *(uint64_t *)generator = 2 * seed + 1;
  return CURAND_STATUS_SUCCESS;
}
template <typename T> static curandStatus_t Numbers(curandGenerator_t generator, T *x, size_t n)
{
  uint64_t *state = (uint64_t *)generator;

  for (size_t i = 0; i < n; i++) {
    *state = *state * 6364136223846793005u + 1442695040888963407u;
    x[i]   = (T)((double)((*state >> 40) + 1) / (double)(1 << 24)); /* not zero, as cuRAND has it */
  }
  return CURAND_STATUS_SUCCESS;
}
EXPORT curandStatus_t curandGenerateUniformDouble(curandGenerator_t generator, double *x, size_t n)
{
  return Numbers(generator, x, n);
}
EXPORT curandStatus_t curandGenerateUniform(curandGenerator_t generator, float *x, size_t n)
{
  return Numbers(generator, x, n);
}
NOTHING(curand, CURAND_STATUS_SUCCESS, curandSetStream, curandGenerator_t, cudaStream_t)
NOTHING(curand, CURAND_STATUS_SUCCESS, curandSetGeneratorOrdering, curandGenerator_t, curandOrdering_t)

THING(cusolverStatus_t, cusolverDnHandle_t, cusolverDnCreate, cusolverDnDestroy)
NOTHING(cusolver, CUSOLVER_STATUS_SUCCESS, cusolverDnSetStream, cusolverDnHandle_t, cudaStream_t)

/* Complex numbers: what scales and adds values of matrices */
#define COMPLEX_BLAS(LETTER, Complex, T) \
  EXPORT cublasStatus_t cublas##LETTER##axpy_v2(cublasHandle_t, int n, const Complex *a, const Complex *x, int incx, Complex *y, int incy) \
  { \
    for (int i = 0; i < n; i++) ((std::complex<T> *)y)[i * incy] += *(const std::complex<T> *)a * ((const std::complex<T> *)x)[i * incx]; \
    return CUBLAS_STATUS_SUCCESS; \
  } \
  EXPORT cublasStatus_t cublas##LETTER##scal_v2(cublasHandle_t, int n, const Complex *a, Complex *x, int incx) \
  { \
    for (int i = 0; i < n; i++) ((std::complex<T> *)x)[i * incx] *= *(const std::complex<T> *)a; \
    return CUBLAS_STATUS_SUCCESS; \
  }
COMPLEX_BLAS(Z, cuDoubleComplex, double)
COMPLEX_BLAS(C, cuComplex, float)

/*
   cuSPARSE: products with vectors and blocks, triangular solves
*/
struct cusparseSpMatDescr {
  int64_t            rows, cols, nnz;
  const void        *rowptr, *colidx, *values;
  cudaDataType       type;
  cusparseFillMode_t fill;
  cusparseDiagType_t diag;
};
struct cusparseDnVecDescr {
  int64_t n;
  void   *values;
};
struct cusparseDnMatDescr {
  int64_t rows, cols, ld;
  void   *values;
};
static struct cusparseDnMatDescr AsBlock(const cusparseDnVecDescr *x)
{
  return {x->n, 1, x->n, x->values};
}

#define SPARSE(name, ...) NOTHING(cusparse, CUSPARSE_STATUS_SUCCESS, name, __VA_ARGS__)
THING(cusparseStatus_t, cusparseHandle_t, cusparseCreate, cusparseDestroy)
SPARSE(cusparseSetStream, cusparseHandle_t, cudaStream_t)
SPARSE(cusparseSetPointerMode, cusparseHandle_t, cusparsePointerMode_t)
EXPORT cusparseStatus_t cusparseGetPointerMode(cusparseHandle_t, cusparsePointerMode_t *mode)
{
  *mode = CUSPARSE_POINTER_MODE_DEVICE;
  return CUSPARSE_STATUS_SUCCESS;
}
THING(cusparseStatus_t, cusparseMatDescr_t, cusparseCreateMatDescr, cusparseDestroyMatDescr)
SPARSE(cusparseSetMatIndexBase, cusparseMatDescr_t, cusparseIndexBase_t)
SPARSE(cusparseSetMatType, cusparseMatDescr_t, cusparseMatrixType_t)
EXPORT cusparseIndexBase_t cusparseGetMatIndexBase(const cusparseMatDescr_t)
{
  return CUSPARSE_INDEX_BASE_ZERO;
}
EXPORT cusparseStatus_t cusparseCreateCsr(cusparseSpMatDescr_t *descr, int64_t rows, int64_t cols, int64_t nnz, void *rowptr, void *colidx, void *values, cusparseIndexType_t, cusparseIndexType_t, cusparseIndexBase_t, cudaDataType type)
{
  *descr = new cusparseSpMatDescr{rows, cols, nnz, rowptr, colidx, values, type, CUSPARSE_FILL_MODE_LOWER, CUSPARSE_DIAG_TYPE_NON_UNIT};
  return CUSPARSE_STATUS_SUCCESS;
}
EXPORT cusparseStatus_t cusparseDestroySpMat(cusparseConstSpMatDescr_t descr)
{
  delete descr;
  return CUSPARSE_STATUS_SUCCESS;
}
EXPORT cusparseStatus_t cusparseSpMatSetValues(cusparseSpMatDescr_t descr, void *values)
{
  if (!descr) return CUSPARSE_STATUS_INVALID_VALUE;
  descr->values = values;
  return CUSPARSE_STATUS_SUCCESS;
}
EXPORT cusparseStatus_t cusparseSpMatSetAttribute(cusparseSpMatDescr_t descr, cusparseSpMatAttribute_t attribute, void *data, size_t)
{
  if (attribute == CUSPARSE_SPMAT_FILL_MODE) descr->fill = *(cusparseFillMode_t *)data;
  else descr->diag = *(cusparseDiagType_t *)data;
  return CUSPARSE_STATUS_SUCCESS;
}
EXPORT cusparseStatus_t cusparseCreateDnVec(cusparseDnVecDescr_t *descr, int64_t n, void *values, cudaDataType)
{
  *descr = new cusparseDnVecDescr{n, values};
  return CUSPARSE_STATUS_SUCCESS;
}
EXPORT cusparseStatus_t cusparseDestroyDnVec(cusparseConstDnVecDescr_t descr)
{
  delete descr;
  return CUSPARSE_STATUS_SUCCESS;
}
EXPORT cusparseStatus_t cusparseDnVecSetValues(cusparseDnVecDescr_t descr, void *values)
{
  descr->values = values;
  return CUSPARSE_STATUS_SUCCESS;
}
EXPORT cusparseStatus_t cusparseCreateDnMat(cusparseDnMatDescr_t *descr, int64_t rows, int64_t cols, int64_t ld, void *values, cudaDataType, cusparseOrder_t)
{
  *descr = new cusparseDnMatDescr{rows, cols, ld, values};
  return CUSPARSE_STATUS_SUCCESS;
}
EXPORT cusparseStatus_t cusparseDestroyDnMat(cusparseConstDnMatDescr_t descr)
{
  delete descr;
  return CUSPARSE_STATUS_SUCCESS;
}
EXPORT cusparseStatus_t cusparseDnMatSetValues(cusparseDnMatDescr_t descr, void *values)
{
  descr->values = values;
  return CUSPARSE_STATUS_SUCCESS;
}

template <typename T> static T Conjugate(T x)
{
  return x;
}
template <typename T> static std::complex<T> Conjugate(std::complex<T> x)
{
  return std::conj(x);
}
template <typename T> static cusparseStatus_t Multiply(cusparseOperation_t op, const T *alpha, const cusparseSpMatDescr *a, const cusparseDnMatDescr *b, const T *beta, const cusparseDnMatDescr *c)
{
  const int *rowptr = (const int *)a->rowptr, *colidx = (const int *)a->colidx;
  const T   *v = (const T *)a->values, *x = (const T *)b->values;
  T         *y = (T *)c->values;

  const bool transposed = op != CUSPARSE_OPERATION_NON_TRANSPOSE;

  for (int64_t n = 0; n < c->cols; n++) {
    for (int64_t i = 0; i < c->rows; i++) y[i + n * c->ld] = *beta != T(0) ? *beta * y[i + n * c->ld] : T(0);
    for (int64_t i = 0; i < a->rows; i++) {
      for (int e = rowptr[i]; e < rowptr[i + 1]; e++) {
        const int64_t to = transposed ? colidx[e] : i, from = transposed ? i : colidx[e];

        y[to + n * c->ld] += *alpha * (op == CUSPARSE_OPERATION_CONJUGATE_TRANSPOSE ? Conjugate(v[e]) : v[e]) * x[from + n * b->ld];
      }
    }
  }
  return CUSPARSE_STATUS_SUCCESS;
}
static cusparseStatus_t MultiplyAs(cudaDataType type, cusparseOperation_t op, const void *alpha, const cusparseSpMatDescr *a, const cusparseDnMatDescr *b, const void *beta, const cusparseDnMatDescr *c)
{
  if (type == CUDA_C_64F) return Multiply(op, (const std::complex<double> *)alpha, a, b, (const std::complex<double> *)beta, c);
  if (type == CUDA_C_32F) return Multiply(op, (const std::complex<float> *)alpha, a, b, (const std::complex<float> *)beta, c);
  if (type == CUDA_R_64F) return Multiply(op, (const double *)alpha, a, b, (const double *)beta, c);
  return Multiply(op, (const float *)alpha, a, b, (const float *)beta, c);
}
EXPORT cusparseStatus_t cusparseSpMM(cusparseHandle_t, cusparseOperation_t op, cusparseOperation_t, const void *alpha, cusparseConstSpMatDescr_t a, cusparseConstDnMatDescr_t b, const void *beta, cusparseDnMatDescr_t c, cudaDataType type, cusparseSpMMAlg_t, void *)
{
  return MultiplyAs(type, op, alpha, a, b, beta, c);
}
EXPORT cusparseStatus_t cusparseSpMM_bufferSize(cusparseHandle_t, cusparseOperation_t, cusparseOperation_t, const void *, cusparseConstSpMatDescr_t, cusparseConstDnMatDescr_t, const void *, cusparseDnMatDescr_t, cudaDataType, cusparseSpMMAlg_t, size_t *bytes)
{
  *bytes = 8;
  return CUSPARSE_STATUS_SUCCESS;
}
SPARSE(cusparseSpMM_preprocess, cusparseHandle_t, cusparseOperation_t, cusparseOperation_t, const void *, cusparseConstSpMatDescr_t, cusparseConstDnMatDescr_t, const void *, cusparseDnMatDescr_t, cudaDataType, cusparseSpMMAlg_t, void *)
EXPORT cusparseStatus_t cusparseSpMV(cusparseHandle_t, cusparseOperation_t op, const void *alpha, cusparseConstSpMatDescr_t a, cusparseConstDnVecDescr_t x, const void *beta, cusparseDnVecDescr_t y, cudaDataType type, cusparseSpMVAlg_t, void *)
{
  const cusparseDnMatDescr b = AsBlock(x), c = AsBlock(y);

  return MultiplyAs(type, op, alpha, a, &b, beta, &c);
}
EXPORT cusparseStatus_t cusparseSpMV_bufferSize(cusparseHandle_t, cusparseOperation_t, const void *, cusparseConstSpMatDescr_t, cusparseConstDnVecDescr_t, const void *, cusparseDnVecDescr_t, cudaDataType, cusparseSpMVAlg_t, size_t *bytes)
{
  *bytes = 8;
  return CUSPARSE_STATUS_SUCCESS;
}
SPARSE(cusparseSpMV_preprocess, cusparseHandle_t, cusparseOperation_t, const void *, cusparseConstSpMatDescr_t, cusparseConstDnVecDescr_t, const void *, cusparseDnVecDescr_t, cudaDataType, cusparseSpMVAlg_t, void *)

template <typename T> static cusparseStatus_t Solve(bool transposed, const T *alpha, const cusparseSpMatDescr *a, const cusparseDnMatDescr *b, const cusparseDnMatDescr *x)
{
  const int *rowptr = (const int *)a->rowptr, *colidx = (const int *)a->colidx;
  const T   *v     = (const T *)a->values;
  const bool lower = a->fill == CUSPARSE_FILL_MODE_LOWER, unit = a->diag == CUSPARSE_DIAG_TYPE_UNIT;

  for (int64_t n = 0; n < x->cols; n++) {
    T       *y = (T *)x->values + n * x->ld;
    const T *r = (const T *)b->values + n * b->ld;

    for (int64_t i = 0; i < a->rows; i++) y[i] = *alpha * r[i];
    for (int64_t k = 0; k < a->rows; k++) {
      const int64_t i        = lower != transposed ? k : a->rows - 1 - k;
      T             diagonal = 1, sum = y[i];

      for (int e = rowptr[i]; e < rowptr[i + 1]; e++) {
        if (colidx[e] == i) diagonal = unit ? 1 : v[e];
        else if (!transposed && (colidx[e] < i) == lower) sum -= v[e] * y[colidx[e]];
      }
      y[i] = sum / diagonal;
      for (int e = rowptr[i]; transposed && e < rowptr[i + 1]; e++) {
        if (colidx[e] != i && (colidx[e] < i) == lower) y[colidx[e]] -= v[e] * y[i];
      }
    }
  }
  return CUSPARSE_STATUS_SUCCESS;
}
static cusparseStatus_t SolveAs(cudaDataType type, cusparseOperation_t op, const void *alpha, const cusparseSpMatDescr *a, const cusparseDnMatDescr *b, const cusparseDnMatDescr *x)
{
  const bool transposed = op != CUSPARSE_OPERATION_NON_TRANSPOSE;

  if (type == CUDA_R_64F) return Solve(transposed, (const double *)alpha, a, b, x);
  return Solve(transposed, (const float *)alpha, a, b, x);
}
THING(cusparseStatus_t, cusparseSpSVDescr_t, cusparseSpSV_createDescr, cusparseSpSV_destroyDescr)
EXPORT cusparseStatus_t cusparseSpSV_bufferSize(cusparseHandle_t, cusparseOperation_t, const void *, cusparseConstSpMatDescr_t, cusparseConstDnVecDescr_t, cusparseDnVecDescr_t, cudaDataType, cusparseSpSVAlg_t, cusparseSpSVDescr_t, size_t *bytes)
{
  *bytes = 8;
  return CUSPARSE_STATUS_SUCCESS;
}
SPARSE(cusparseSpSV_analysis, cusparseHandle_t, cusparseOperation_t, const void *, cusparseConstSpMatDescr_t, cusparseConstDnVecDescr_t, cusparseDnVecDescr_t, cudaDataType, cusparseSpSVAlg_t, cusparseSpSVDescr_t, void *)
SPARSE(cusparseSpSV_updateMatrix, cusparseHandle_t, cusparseSpSVDescr_t, void *, cusparseSpSVUpdate_t)
EXPORT cusparseStatus_t cusparseSpSV_solve(cusparseHandle_t, cusparseOperation_t op, const void *alpha, cusparseConstSpMatDescr_t a, cusparseConstDnVecDescr_t b, cusparseDnVecDescr_t x, cudaDataType type, cusparseSpSVAlg_t, cusparseSpSVDescr_t)
{
  const cusparseDnMatDescr rhs = AsBlock(b), y = AsBlock(x);

  return SolveAs(type, op, alpha, a, &rhs, &y);
}
THING(cusparseStatus_t, cusparseSpSMDescr_t, cusparseSpSM_createDescr, cusparseSpSM_destroyDescr)
EXPORT cusparseStatus_t cusparseSpSM_bufferSize(cusparseHandle_t, cusparseOperation_t, cusparseOperation_t, const void *, cusparseConstSpMatDescr_t, cusparseConstDnMatDescr_t, cusparseDnMatDescr_t, cudaDataType, cusparseSpSMAlg_t, cusparseSpSMDescr_t, size_t *bytes)
{
  *bytes = 8;
  return CUSPARSE_STATUS_SUCCESS;
}
SPARSE(cusparseSpSM_analysis, cusparseHandle_t, cusparseOperation_t, cusparseOperation_t, const void *, cusparseConstSpMatDescr_t, cusparseConstDnMatDescr_t, cusparseDnMatDescr_t, cudaDataType, cusparseSpSMAlg_t, cusparseSpSMDescr_t, void *)
EXPORT cusparseStatus_t cusparseSpSM_solve(cusparseHandle_t, cusparseOperation_t op, cusparseOperation_t, const void *alpha, cusparseConstSpMatDescr_t a, cusparseConstDnMatDescr_t b, cusparseDnMatDescr_t x, cudaDataType type, cusparseSpSMAlg_t, cusparseSpSMDescr_t)
{
  return SolveAs(type, op, alpha, a, b, x);
}
EXPORT cusparseStatus_t cusparseCsr2cscEx2_bufferSize(cusparseHandle_t, int, int, int, const void *, const int *, const int *, void *, int *, int *, cudaDataType, cusparseAction_t, cusparseIndexBase_t, cusparseCsr2CscAlg_t, size_t *bytes)
{
  *bytes = 8;
  return CUSPARSE_STATUS_SUCCESS;
}
EXPORT cusparseStatus_t cusparseCsr2cscEx2(cusparseHandle_t, int m, int n, int nnz, const void *values, const int *rowptr, const int *colidx, void *cscval, int *colptr, int *rowidx, cudaDataType type, cusparseAction_t, cusparseIndexBase_t, cusparseCsr2CscAlg_t, void *)
{
  const size_t bytes = type == CUDA_C_64F ? 16 : type == CUDA_R_64F || type == CUDA_C_32F ? 8 : 4;

  memset(colptr, 0, sizeof(int) * (size_t)(n + 1));
  for (int e = 0; e < nnz; e++) colptr[colidx[e] + 1]++;
  for (int j = 0; j < n; j++) colptr[j + 1] += colptr[j];
  for (int i = 0; i < m; i++) {
    for (int e = rowptr[i]; e < rowptr[i + 1]; e++) {
      const int to = colptr[colidx[e]]++;

      rowidx[to] = i;
      if (values && cscval) memcpy((char *)cscval + bytes * (size_t)to, (const char *)values + bytes * (size_t)e, bytes);
    }
  }
  for (int j = n; j > 0; j--) colptr[j] = colptr[j - 1];
  colptr[0] = 0;
  return CUSPARSE_STATUS_SUCCESS;
}

/* Sums of sparse matrices, where there is memory for all entries; incomplete factors without fill, in place */
EXPORT cusparseStatus_t cusparseCsrSetPointers(cusparseSpMatDescr_t descr, void *rowptr, void *colidx, void *values)
{
  descr->rowptr = rowptr;
  descr->colidx = colidx;
  descr->values = values;
  return CUSPARSE_STATUS_SUCCESS;
}
EXPORT cusparseStatus_t cusparseSpMatGetSize(cusparseConstSpMatDescr_t descr, int64_t *rows, int64_t *cols, int64_t *nnz)
{
  *rows = descr->rows;
  *cols = descr->cols;
  *nnz  = descr->nnz;
  return CUSPARSE_STATUS_SUCCESS;
}
template <typename T> static void AddRows(int m, T alpha, const T *a, const int *ai, const int *aj, T beta, const T *b, const int *bi, const int *bj, T *c, int *ci, int *cj)
{
  std::vector<int> rowptr(1, 0), colidx;
  std::vector<T>   values;

  for (int i = 0; i < m; i++) {
    int p = ai[i], q = bi[i];

    while (p < ai[i + 1] || q < bi[i + 1]) {
      const int j = q == bi[i + 1] || (p < ai[i + 1] && aj[p] < bj[q]) ? aj[p] : bj[q];
      T         x = 0;

      if (p < ai[i + 1] && aj[p] == j) x += alpha * a[p++];
      if (q < bi[i + 1] && bj[q] == j) x += beta * b[q++];
      colidx.push_back(j);
      values.push_back(x);
    }
    rowptr.push_back((int)colidx.size());
  }
  std::copy(rowptr.begin(), rowptr.end(), ci);
  std::copy(colidx.begin(), colidx.end(), cj);
  std::copy(values.begin(), values.end(), c);
}
/* L below and U on and above the diagonal, or L of a symmetric matrix on and below it */
template <typename T> static void FactorRows(int m, T *a, const int *ai, const int *aj, bool symmetric)
{
  const auto find = [=](int i, int j) -> T * {
    const int *p = std::lower_bound(aj + ai[i], aj + ai[i + 1], j);

    return p < aj + ai[i + 1] && *p == j ? a + (p - aj) : NULL;
  };

  for (int i = 0; i < m; i++) {
    for (int p = ai[i]; p < ai[i + 1] && aj[p] <= i; p++) {
      const int j = aj[p];

      if (symmetric) {
        for (int q = ai[i]; q < p; q++) {
          const T *x = find(j, aj[q]);

          if (x) a[p] -= a[q] * *x;
        }
        if (j < i) a[p] /= *find(j, j);
        else a[p] = (T)__builtin_sqrt((double)a[p]);
      } else if (j < i) {
        a[p] /= *find(j, j);
        for (int q = p + 1; q < ai[i + 1]; q++) {
          const T *x = find(j, aj[q]);

          if (x) a[q] -= a[p] * *x;
        }
      }
    }
  }
}
#define FACTORS_OF(T, LETTER, name, symmetric, info_t) \
  EXPORT cusparseStatus_t cusparse##LETTER##name##_bufferSize(cusparseHandle_t, int, int, const cusparseMatDescr_t, T *, const int *, const int *, info_t, int *bytes) \
  { \
    *bytes = 8; \
    return CUSPARSE_STATUS_SUCCESS; \
  } \
  SPARSE(cusparse##LETTER##name##_analysis, cusparseHandle_t, int, int, const cusparseMatDescr_t, const T *, const int *, const int *, info_t, cusparseSolvePolicy_t, void *) \
  EXPORT cusparseStatus_t cusparse##LETTER##name(cusparseHandle_t, int m, int, const cusparseMatDescr_t, T *a, const int *ai, const int *aj, info_t, cusparseSolvePolicy_t, void *) \
  { \
    FactorRows(m, a, ai, aj, symmetric); \
    return CUSPARSE_STATUS_SUCCESS; \
  }
#define SUMS_OF(T, LETTER) \
  EXPORT cusparseStatus_t cusparse##LETTER##csrgeam2_bufferSizeExt(cusparseHandle_t, int, int, const T *, const cusparseMatDescr_t, int, const T *, const int *, const int *, const T *, const cusparseMatDescr_t, int, const T *, const int *, const int *, const cusparseMatDescr_t, const T *, const int *, const int *, size_t *bytes) \
  { \
    *bytes = 8; \
    return CUSPARSE_STATUS_SUCCESS; \
  } \
  EXPORT cusparseStatus_t cusparse##LETTER##csrgeam2(cusparseHandle_t, int m, int, const T *alpha, const cusparseMatDescr_t, int, const T *a, const int *ai, const int *aj, const T *beta, const cusparseMatDescr_t, int, const T *b, const int *bi, const int *bj, const cusparseMatDescr_t, T *c, int *ci, int *cj, void *) \
  { \
    AddRows(m, *alpha, a, ai, aj, *beta, b, bi, bj, c, ci, cj); \
    return CUSPARSE_STATUS_SUCCESS; \
  } \
  FACTORS_OF(T, LETTER, csrilu02, false, csrilu02Info_t) \
  FACTORS_OF(T, LETTER, csric02, true, csric02Info_t)
SUMS_OF(double, D)
SUMS_OF(float, S)
THING(cusparseStatus_t, csrilu02Info_t, cusparseCreateCsrilu02Info, cusparseDestroyCsrilu02Info)
THING(cusparseStatus_t, csric02Info_t, cusparseCreateCsric02Info, cusparseDestroyCsric02Info)

EXPORT const char *cusparseGetErrorString(cusparseStatus_t)
{
  return "an error of the emulator";
}
EXPORT const char *cusparseGetErrorName(cusparseStatus_t)
{
  return "an error of the emulator";
}
