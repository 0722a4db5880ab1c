#include "measure.h"
#include "generate.h"
#include "machine.h"
#if PetscDefined(HAVE_CUDA)
  #include <petscdevice_cuda.h>
#endif

/*
   Columns first to first + N - 1 of the dense operand, with the row layout of A's columns. Values do not depend on the
   number of processes.
*/
static PetscErrorCode CreateOperand(Mat A, const char type[], PetscInt first, PetscInt N, Mat *B)
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
    for (PetscInt i = 0; i < n; i++) b[i + (size_t)j * lda] = GenerateValue(rstart + i, -1 - first - j);
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
  PetscCall(CreateOperand(A, type, 0, N, &B));
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

static PetscErrorCode AbsoluteValues(Mat A)
{
  PetscScalar *a;
  MatInfo      info;

  PetscFunctionBegin;
  PetscCall(MatGetInfo(A, MAT_LOCAL, &info));
  PetscCall(MatSeqAIJGetArray(A, &a));
  for (PetscCount k = 0; k < (PetscCount)info.nz_used; k++) a[k] = PetscAbsScalar(a[k]);
  PetscCall(MatSeqAIJRestoreArray(A, &a));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* N columns of |A| |B| from first on, on the host. The rounding errors of A B are proportional to these */
static PetscErrorCode Scale(Mat A, PetscInt first, PetscInt N, Mat *S)
{
  Mat          H, Hd, Ho, B;
  PetscScalar *b;
  PetscInt     n, lda;
  PetscBool    mpi;

  PetscFunctionBegin;
  PetscCall(MatConvert(A, MATAIJ, MAT_INITIAL_MATRIX, &H));
  PetscCall(PetscObjectBaseTypeCompare((PetscObject)H, MATMPIAIJ, &mpi));
  if (mpi) {
    PetscCall(MatMPIAIJGetSeqAIJ(H, &Hd, &Ho, NULL));
    PetscCall(AbsoluteValues(Hd));
    PetscCall(AbsoluteValues(Ho));
  } else PetscCall(AbsoluteValues(H));
  PetscCall(CreateOperand(H, MATDENSE, first, N, &B));
  PetscCall(MatGetLocalSize(B, &n, NULL));
  PetscCall(MatDenseGetLDA(B, &lda));
  PetscCall(MatDenseGetArray(B, &b));
  for (PetscInt j = 0; j < N; j++) {
    for (PetscInt i = 0; i < n; i++) b[i + (size_t)j * lda] = PetscAbsScalar(b[i + (size_t)j * lda]);
  }
  PetscCall(MatDenseRestoreArray(B, &b));
  PetscCall(MatMatMult(H, B, MAT_INITIAL_MATRIX, PETSC_DETERMINE, S));
  PetscCall(MatDestroy(&B));
  PetscCall(MatDestroy(&H));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*
   Largest |C - D| / (|A| |B|) over the last two columns of two products C = A B and D of MeasureProduct(). More
   columns would take longer than the products. Infinite where an entry is not a number.
*/
PetscErrorCode ProductError(Mat A, Mat C, Mat D, PetscReal *error)
{
  Mat                S;
  const PetscScalar *c, *d, *s;
  PetscInt           m, N, first, ldc, ldd, lds;

  PetscFunctionBegin;
  PetscCall(MatGetSize(C, NULL, &N));
  PetscCall(MatGetLocalSize(C, &m, NULL));
  first = PetscMax(0, N - 2);
  PetscCall(Scale(A, first, N - first, &S));
  PetscCall(MatDenseGetLDA(C, &ldc));
  PetscCall(MatDenseGetLDA(D, &ldd));
  PetscCall(MatDenseGetLDA(S, &lds));
  PetscCall(MatDenseGetArrayRead(C, &c));
  PetscCall(MatDenseGetArrayRead(D, &d));
  PetscCall(MatDenseGetArrayRead(S, &s));
  *error = 0;
  for (PetscInt j = first; j < N; j++) {
    for (PetscInt i = 0; i < m; i++) {
      PetscReal difference = PetscAbsScalar(c[i + (size_t)j * ldc] - d[i + (size_t)j * ldd]), scale = PetscRealPart(s[i + (size_t)(j - first) * lds]);

      if (difference > 0) *error = PetscMax(*error, difference / scale);
      else if (PetscIsNanReal(difference)) *error = PETSC_INFINITY;
    }
  }
  PetscCall(MatDenseRestoreArrayRead(C, &c));
  PetscCall(MatDenseRestoreArrayRead(D, &d));
  PetscCall(MatDenseRestoreArrayRead(S, &s));
  PetscCallMPI(MPIU_Allreduce(MPI_IN_PLACE, error, 1, MPIU_REAL, MPIU_MAX, PetscObjectComm((PetscObject)A)));
  PetscCall(MatDestroy(&S));
  PetscFunctionReturn(PETSC_SUCCESS);
}
