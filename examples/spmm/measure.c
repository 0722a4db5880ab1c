#include "measure.h"
#include "generate.h"
#include "machine.h"
#if PetscDefined(HAVE_CUDA)
  #include <petscdevice_cuda.h>
#endif

/*
   The dense operand of N columns, with the row layout of A's columns. Values do not depend on the number of processes.
*/
static PetscErrorCode CreateOperand(Mat A, const char type[], PetscInt N, Mat *B)
{
  PetscInt     n, rstart, lda;
  PetscScalar *b;

  PetscFunctionBegin;
  PetscCall(MatGetLocalSize(A, NULL, &n));
  PetscCall(MatGetOwnershipRangeColumn(A, &rstart, NULL));
  PetscCall(MatCreate(PetscObjectComm((PetscObject)A), B));
  PetscCall(MatSetSizes(*B, n, PETSC_DECIDE, PETSC_DETERMINE, N));
  PetscCall(MatSetType(*B, type));
  PetscCall(MatSetUp(*B));
  PetscCall(MatDenseGetLDA(*B, &lda));
  PetscCall(MatDenseGetArrayWrite(*B, &b));
  for (PetscInt j = 0; j < N; j++) {
    for (PetscInt i = 0; i < n; i++) b[i + (size_t)j * lda] = GenerateValue(rstart + i, -1 - j);
  }
  PetscCall(MatDenseRestoreArrayWrite(*B, &b));
  PetscCall(MatAssemblyBegin(*B, MAT_FINAL_ASSEMBLY));
  PetscCall(MatAssemblyEnd(*B, MAT_FINAL_ASSEMBLY));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*
   Lock the memory of a dense matrix of the host, or unlock it. Copies of locked memory run beside other work of the
   device
*/
static PetscErrorCode PageLock(Mat M, PetscBool lock)
{
  PetscFunctionBegin;
#if PetscDefined(HAVE_CUDA)
  PetscScalar *a;
  PetscInt     n, lda;

  PetscCall(MatGetSize(M, NULL, &n));
  PetscCall(MatDenseGetLDA(M, &lda));
  PetscCall(MatDenseGetArray(M, &a));
  if (lock) PetscCallCUDA(cudaHostRegister(a, sizeof(*a) * (size_t)lda * (size_t)n, cudaHostRegisterDefault));
  else PetscCallCUDA(cudaHostUnregister(a));
  PetscCall(MatDenseRestoreArray(M, &a));
#else
  (void)M, (void)lock;
#endif
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Seconds of one product; the slowest process counts */
static PetscErrorCode TimeProduct(Mat A, Mat B, MatReuse reuse, Mat *C, PetscLogDouble *seconds)
{
  MPI_Comm       comm = PetscObjectComm((PetscObject)A);
  PetscLogDouble start, end;

  PetscFunctionBegin;
  PetscCall(ExampleSynchronize(A));
  PetscCallMPI(MPI_Barrier(comm));
  PetscCall(PetscTime(&start));
  PetscCall(MatMatMult(A, B, reuse, PETSC_DETERMINE, C));
  PetscCall(ExampleTime(A, &end));
  *seconds = end - start;
  PetscCallMPI(MPIU_Allreduce(MPI_IN_PLACE, seconds, 1, MPI_DOUBLE, MPI_MAX, comm));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*
   Multiply A with a block of N dense vectors: once, then twice to warm up, then repeat times. If asked for, memory is
   page-locked after the first product.
*/
PetscErrorCode MeasureProduct(Mat A, const char type[], PetscInt N, PetscInt repeat, PetscBool lock, Timing *t, Mat *C)
{
  const MPI_Comm       comm     = PetscObjectComm((PetscObject)A);
  const PetscLogDouble products = (PetscLogDouble)repeat;
  PetscMPIInt          size;
  Mat                  B;
  PetscReal           *seconds;

  PetscFunctionBegin;
  PetscCallMPI(MPI_Comm_size(comm, &size));
  PetscCall(PetscMemzero(&t->exchange, sizeof(t->exchange)));
  PetscCall(CreateOperand(A, type, N, &B));
  PetscCall(PetscMalloc1(repeat, &seconds));
  PetscCall(TimeProduct(A, B, MAT_INITIAL_MATRIX, C, &t->first));
  if (lock) {
    PetscCall(PageLock(B, PETSC_TRUE));
    PetscCall(PageLock(*C, PETSC_TRUE));
  }
  for (PetscInt k = -2; k < repeat; k++) {
    PetscLogDouble s;

    if (k == 0 && size > 1) PetscCall(ExampleExchangeNow(PETSC_DETERMINE, &t->exchange));
    PetscCall(TimeProduct(A, B, MAT_REUSE_MATRIX, C, &s));
    if (k >= 0) seconds[k] = (PetscReal)s;
  }
  if (size > 1) PetscCall(ExampleExchangeSince(comm, PETSC_DETERMINE, &t->exchange));
  t->exchange = (Exchange){t->exchange.pack / products, t->exchange.wait / products, t->exchange.offdiagonal / products};
  PetscCall(SpreadOf(repeat, seconds, &t->steady));
  PetscCall(PetscFree(seconds));
  if (lock) {
    PetscCall(PageLock(B, PETSC_FALSE));
    PetscCall(PageLock(*C, PETSC_FALSE));
  }
  PetscCall(MatDestroy(&B));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* The same number, or the same infinity. Two sums that overflow in both directions are no numbers, and the same, too */
static PetscBool Same(PetscScalar c, PetscScalar d)
{
  return (PetscBool)(c == d || (PetscIsNanScalar(c) && PetscIsNanScalar(d)));
}

/*
   |C - D| / (|A| |B|) of column j of a row. Rounding errors of A B are proportional to |A| |B|. In long double no sum
   of these overflows
*/
static PetscReal RelativeError(PetscInt n, const PetscInt col[], const PetscScalar a[], PetscInt j, PetscScalar c, PetscScalar d)
{
  const long double re = (long double)PetscRealPart(c) - PetscRealPart(d), im = (long double)PetscImaginaryPart(c) - PetscImaginaryPart(d);
  long double       scale = 0;
  PetscReal         relative;

  if (Same(c, d)) return 0;
  for (PetscInt k = 0; k < n; k++) scale += fabsl((long double)PetscAbsScalar(a[k]) * GenerateValue(col[k], -1 - j));
  relative = (PetscReal)(hypotl(re, im) / scale);
  return PetscIsNanReal(relative) ? PETSC_INFINITY : relative;
}

/*
   Largest |C - D| / (|A| |B|) over the last two columns of two products C = A B and D of MeasureProduct(). More
   columns would take longer than the products. Infinite where one of two entries is infinite or not a number.
*/
PetscErrorCode ProductError(Mat A, Mat C, Mat D, PetscReal *error)
{
  const PetscScalar *c, *d;
  PetscInt           start, m, N, ldc, ldd;

  PetscFunctionBegin;
  PetscCall(MatGetSize(C, NULL, &N));
  PetscCall(MatGetLocalSize(C, &m, NULL));
  PetscCall(MatGetOwnershipRange(A, &start, NULL));
  PetscCall(MatDenseGetLDA(C, &ldc));
  PetscCall(MatDenseGetLDA(D, &ldd));
  PetscCall(MatDenseGetArrayRead(C, &c));
  PetscCall(MatDenseGetArrayRead(D, &d));
  *error = 0;
  for (PetscInt i = 0; i < m; i++) {
    const PetscInt    *col;
    const PetscScalar *a;
    PetscInt           n;

    PetscCall(MatGetRow(A, start + i, &n, &col, &a));
    for (PetscInt j = PetscMax(0, N - 2); j < N; j++) *error = PetscMax(*error, RelativeError(n, col, a, j, c[i + (size_t)j * ldc], d[i + (size_t)j * ldd]));
    PetscCall(MatRestoreRow(A, start + i, &n, &col, &a));
  }
  PetscCall(MatDenseRestoreArrayRead(C, &c));
  PetscCall(MatDenseRestoreArrayRead(D, &d));
  PetscCallMPI(MPIU_Allreduce(MPI_IN_PLACE, error, 1, MPIU_REAL, MPIU_MAX, PetscObjectComm((PetscObject)A)));
  PetscFunctionReturn(PETSC_SUCCESS);
}
