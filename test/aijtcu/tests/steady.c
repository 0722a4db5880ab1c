static char help[] = "What products cost beside their kernels, as a block eigensolver makes them: created, set up, run and cleared on an existing C each time.\n\
Once they are steady, no call that allocates, copies or waits may reach CUDA; prints those that do. What a matrix says that it holds of the device's memory is what the driver has given. -time: prints microseconds of host time, too.\n\n";

#define _GNU_SOURCE /* RTLD_NEXT */
#include <petscmat.h>
#include <petscdevice.h>
#include <petsctime.h>
#include "petscaijtcu.h"

#if PetscDefined(HAVE_CUDA)
  #include "paths.h"
  #include "interpose.h"
  #include <petscdevice_cuda.h>

static PetscBool counting;

  #define COUNTED(name, parameters, arguments) \
    static PetscInt count_##name; \
    INTERPOSE(cudaError_t, name, parameters, arguments, if (counting) count_##name++)

COUNTED(cudaMalloc, (void **p, size_t n), (p, n))
COUNTED(cudaFree, (void *p), (p))
COUNTED(cudaMallocAsync, (void **p, size_t n, cudaStream_t s), (p, n, s))
COUNTED(cudaFreeAsync, (void *p, cudaStream_t s), (p, s))
COUNTED(cudaMallocHost, (void **p, size_t n), (p, n))
COUNTED(cudaFreeHost, (void *p), (p))
COUNTED(cudaMemcpy, (void *to, const void *from, size_t n, enum cudaMemcpyKind kind), (to, from, n, kind))
COUNTED(cudaMemcpyAsync, (void *to, const void *from, size_t n, enum cudaMemcpyKind kind, cudaStream_t s), (to, from, n, kind, s))
COUNTED(cudaMemcpy2D, (void *to, size_t ldto, const void *from, size_t ldfrom, size_t w, size_t h, enum cudaMemcpyKind kind), (to, ldto, from, ldfrom, w, h, kind))
COUNTED(cudaMemcpy2DAsync, (void *to, size_t ldto, const void *from, size_t ldfrom, size_t w, size_t h, enum cudaMemcpyKind kind, cudaStream_t s), (to, ldto, from, ldfrom, w, h, kind, s))
COUNTED(cudaStreamSynchronize, (cudaStream_t s), (s))
COUNTED(cudaDeviceSynchronize, (void), ())
COUNTED(cudaEventSynchronize, (cudaEvent_t e), (e))

static const struct {
  const char *name;
  PetscInt   *count;
} calls[] = {
  #define COUNT(name) {#name, &count_##name}
  COUNT(cudaMalloc), COUNT(cudaFree), COUNT(cudaMallocAsync), COUNT(cudaFreeAsync), COUNT(cudaMallocHost), COUNT(cudaFreeHost), COUNT(cudaMemcpy), COUNT(cudaMemcpyAsync), COUNT(cudaMemcpy2D), COUNT(cudaMemcpy2DAsync), COUNT(cudaStreamSynchronize), COUNT(cudaDeviceSynchronize), COUNT(cudaEventSynchronize)};

/* Counts of the first products, which allocate and wait. If they count none, counting does not work */
static PetscErrorCode ExpectCounts(void)
{
  PetscInt allocations = count_cudaMalloc + count_cudaMallocAsync, waits = count_cudaStreamSynchronize + count_cudaDeviceSynchronize + count_cudaEventSynchronize;

  PetscFunctionBegin;
  if (!allocations || !waits) PetscCall(PetscPrintf(PETSC_COMM_WORLD, "%" PetscInt_FMT " allocations and %" PetscInt_FMT " waits are counted of the first products\n", allocations, waits));
  for (size_t i = 0; i < PETSC_STATIC_ARRAY_LENGTH(calls); i++) *calls[i].count = 0;
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode PrintCounts(PetscInt nproducts)
{
  PetscFunctionBegin;
  for (size_t i = 0; i < PETSC_STATIC_ARRAY_LENGTH(calls); i++) {
    if (*calls[i].count) PetscCall(PetscPrintf(PETSC_COMM_WORLD, "%s: %" PetscInt_FMT " calls in %" PetscInt_FMT " products\n", calls[i].name, *calls[i].count, nproducts));
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Neighbours and far neighbours, with a few missing */
static PetscErrorCode CreateMatrix(PetscInt n, Mat *A)
{
  PetscFunctionBegin;
  PetscCall(MatCreate(PETSC_COMM_WORLD, A));
  PetscCall(MatSetSizes(*A, n, n, n, n));
  PetscCall(MatSetType(*A, MATAIJTCU));
  PetscCall(MatSetFromOptions(*A));
  PetscCall(MatSeqAIJSetPreallocation(*A, 9, NULL));
  for (PetscInt i = 0; i < n; i++) {
    for (PetscInt k = -4; k <= 4; k++) {
      const PetscInt j = i + (PetscAbsInt(k) == 4 ? 25 * k : k);

      if (j >= 0 && j < n && (i + k) % 7) PetscCall(MatSetValue(*A, i, j, (PetscScalar)(1 + (i + 3 * k) % 5), INSERT_VALUES));
    }
  }
  PetscCall(MatAssemblyBegin(*A, MAT_FINAL_ASSEMBLY));
  PetscCall(MatAssemblyEnd(*A, MAT_FINAL_ASSEMBLY));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode CreateProduct(Mat A, Mat B, Mat C)
{
  PetscFunctionBegin;
  PetscCall(MatProductCreateWithMat(A, B, NULL, C));
  PetscCall(MatProductSetType(C, MATPRODUCT_AB));
  PetscCall(MatProductSetFromOptions(C));
  PetscCall(MatProductSymbolic(C));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* The life of a product, except that C stays */
static PetscErrorCode Multiply(Mat A, Mat B, Mat C)
{
  PetscFunctionBegin;
  PetscCall(CreateProduct(A, B, C));
  PetscCall(MatProductNumeric(C));
  PetscCall(MatProductClear(C));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode WaitForDevice(void)
{
  PetscDeviceContext dctx;

  PetscFunctionBegin;
  PetscCall(PetscDeviceContextGetCurrentContext(&dctx));
  PetscCall(PetscDeviceContextSynchronize(dctx));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Bytes in use of the driver's pool. The memory of plans and the workspace come from it, unlike PETSc's arrays */
static PetscErrorCode PoolBytes(uint64_t *bytes)
{
  cudaMemPool_t pool;
  int           device;

  PetscFunctionBegin;
  PetscCallCUDA(cudaDeviceSynchronize());
  PetscCallCUDA(cudaGetDevice(&device));
  PetscCallCUDA(cudaDeviceGetDefaultMemPool(&pool, device));
  PetscCallCUDA(cudaMemPoolGetAttribute(pool, cudaMemPoolAttrUsedMemCurrent, bytes));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*
   Check memory, with a workspace as large as other matrices have made it. The driver rounds each array up. Products with
   one vector may need nothing beside the CSR
*/
static PetscErrorCode CheckBytes(PetscInt n, Mat B, Mat C)
{
  enum {
    MOST_ARRAYS = 20,
    ROUNDING    = 512
  };
  Mat              A;
  MatAIJTCUSynergy first, s;
  MatAIJTCUCounts  counts;
  uint64_t         before, bytes;
  PetscInt         N;

  PetscFunctionBegin;
  PetscCall(MatGetSize(B, NULL, &N));
  PetscCall(CreateMatrix(n, &A));
  PetscCall(PoolBytes(&before));
  for (PetscInt i = 0; i < 3; i++) { /* twice with new values: where these come from is noted the first time */
    PetscCall(Multiply(A, B, C));
    if (i == 0) PetscCall(MatAIJTCUGetSynergy(A, &first));
    PetscCall(MatScale(A, 2));
  }
  PetscCall(MatAIJTCUGetSynergy(A, &s));
  PetscCall(MatAIJTCUGetCounts(A, &counts));
  if (counts.refreshes && s.device_bytes <= first.device_bytes) PetscCall(PetscPrintf(PETSC_COMM_WORLD, "where new values come from was not noted\n"));
  PetscCall(PoolBytes(&bytes));
  bytes -= before;
  if (s.device_bytes < (N > 1) || bytes < (uint64_t)s.device_bytes || bytes > (uint64_t)s.device_bytes + MOST_ARRAYS * ROUNDING) PetscCall(PetscPrintf(PETSC_COMM_WORLD, "the matrix says that it holds %" PetscInt64_FMT " bytes, the driver %" PetscInt64_FMT "\n", s.device_bytes, (PetscInt64)bytes));
  PetscCall(MatDestroy(&A));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*
   Host time of a product in microseconds. If it is cleared each time, the time of its life; if not, of the product
   itself. Few products are launched at a time, so that the device's queue does not fill.
*/
static PetscErrorCode Time(Mat A, Mat B, Mat C, PetscBool clear, double *us)
{
  const PetscInt n = 20;

  PetscFunctionBegin;
  *us = PETSC_MAX_REAL;
  if (!clear) PetscCall(CreateProduct(A, B, C));
  for (PetscInt r = 0; r < 50; r++) {
    PetscLogDouble begin, end;

    PetscCall(WaitForDevice());
    PetscCall(PetscTime(&begin));
    for (PetscInt i = 0; i < n; i++) {
      if (clear) PetscCall(Multiply(A, B, C));
      else PetscCall(MatProductNumeric(C));
    }
    PetscCall(PetscTime(&end));
    *us = PetscMin(*us, 1e6 * (end - begin) / n);
  }
  if (!clear) PetscCall(MatProductClear(C));
  PetscFunctionReturn(PETSC_SUCCESS);
}
#endif

int main(int argc, char **argv)
{
  PetscFunctionBeginUser;
  PetscCall(PetscInitialize(&argc, &argv, NULL, help));
  PetscCall(PetscDLLibraryRegister_petscaijtcu());
#if PetscDefined(HAVE_CUDA)
  {
    const PetscInt nfirst = 3; /* products until everything has been made */
    Mat            A, B, C;
    PetscInt       n = 1000, N = 40, nproducts = 20;
    PetscBool      time = PETSC_FALSE;
    double         life, reuse;

    PetscCall(PetscOptionsGetInt(NULL, NULL, "-n", &n, NULL));
    PetscCall(PetscOptionsGetInt(NULL, NULL, "-columns", &N, NULL));
    PetscCall(PetscOptionsGetBool(NULL, NULL, "-time", &time, NULL));
    PetscCall(CreateMatrix(n, &A));
    PetscCall(MatCreateDenseCUDA(PETSC_COMM_WORLD, n, N, n, N, NULL, &B));
    PetscCall(MatCreateDenseCUDA(PETSC_COMM_WORLD, n, N, n, N, NULL, &C));
    PetscCall(MatSetRandom(B, NULL));
    PetscCall(MatZeroEntries(C));
    counting = PETSC_TRUE;
    for (PetscInt i = 0; i < nproducts + nfirst; i++) {
      if (i == nfirst) PetscCall(ExpectCounts());
      PetscCall(Multiply(A, B, C));
    }
    counting = PETSC_FALSE;
    PetscCall(PrintCounts(nproducts));
    PetscCall(CheckPath(A, nproducts + nfirst));
    PetscCall(CheckBytes(n, B, C));
    if (time) {
      PetscCall(Time(A, B, C, PETSC_TRUE, &life));
      PetscCall(Time(A, B, C, PETSC_FALSE, &reuse));
      PetscCall(PetscPrintf(PETSC_COMM_WORLD, "microseconds: %.2f from create to clear, %.2f for the product alone\n", life, reuse));
    }
    PetscCall(MatDestroy(&A));
    PetscCall(MatDestroy(&B));
    PetscCall(MatDestroy(&C));
  }
#endif
  PetscCall(PetscFinalize());
  return 0;
}

/*TEST

  build:
    requires: cuda !complex !defined(PETSC_USE_64BIT_INDICES)

  test:
    suffix: cuda
    args: -mat_aijtcu_path {{tcu csr}} -columns {{1 40}}
    output_file: output/empty.out

TEST*/
