static char help[] = "A parallel matrix with a new pattern: PETSc gives it the state of the old one, or one process alone has it. Prints on error only.\n\n";

#include "sameproduct.h"

#include <petscaijtcu.h>

#define ROWS 16

/*
   Rows with the diagonal, and with so many neighbours from so far on. Both blocks of A are new ones. D, a duplicate,
   gets twice the values: set, and added to those that it has. bound: it is bound to the host then
*/
static PetscErrorCode SetPattern(Mat A, PetscInt from, PetscInt neighbours, MatDuplicateOption option, PetscBool bound, Mat *D)
{
  PetscInt    r0, r1, n = 0, i[ROWS * 8], j[ROWS * 8];
  PetscScalar v[ROWS * 8];

  PetscFunctionBegin;
  PetscCall(MatGetOwnershipRange(A, &r0, &r1));
  for (PetscInt r = r0; r < r1; r++) {
    for (PetscInt k = -1; k < neighbours; k++) {
      i[n]   = r;
      j[n]   = k < 0 ? r : (r + from + k) % ROWS;
      v[n++] = 1 + (PetscReal)r / 2 + k;
    }
  }
  PetscCall(MatSetPreallocationCOO(A, n, i, j));
  PetscCall(MatSetValuesCOO(A, v, INSERT_VALUES));
  PetscCall(MatDuplicate(A, option, D));
  if (option == MAT_DO_NOT_COPY_VALUES) PetscCall(MatSetValuesCOO(*D, v, INSERT_VALUES));
  PetscCall(MatBindToCPU(*D, bound));
  PetscCall(MatSetValuesCOO(*D, v, ADD_VALUES));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* D = 2 A */
static PetscErrorCode IsTwice(Mat D, Mat A)
{
  Vec       x, y, z;
  PetscReal norm, difference;

  PetscFunctionBegin;
  PetscCall(MatCreateVecs(A, &x, &y));
  PetscCall(VecDuplicate(y, &z));
  PetscCall(VecSetRandom(x, NULL));
  PetscCall(MatMult(A, x, y));
  PetscCall(MatMult(D, x, z));
  PetscCall(VecNorm(y, NORM_INFINITY, &norm));
  PetscCall(VecAXPY(z, -2, y));
  PetscCall(VecNorm(z, NORM_INFINITY, &difference));
  if (!(difference <= 100 * PETSC_MACHINE_EPSILON * norm)) PetscCall(PetscPrintf(PETSC_COMM_WORLD, "values of a duplicate: a difference of %g of %g\n", (double)difference, (double)norm));
  PetscCall(VecDestroy(&x));
  PetscCall(VecDestroy(&y));
  PetscCall(VecDestroy(&z));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* What is bound to the host is so after an error, too. Of that error PETSc's function leaks */
static PetscErrorCode StaysBound(Mat A)
{
  const PetscInt row = ROWS;
  PetscBool      before, after;
  PetscErrorCode ierr;

  PetscFunctionBegin;
  PetscCall(MatBoundToCPU(A, &before));
  PetscCall(PetscPushErrorHandler(PetscReturnErrorHandler, NULL));
  ierr = MatZeroRowsColumns(A, 1, &row, 1, NULL, NULL);
  PetscCall(PetscPopErrorHandler());
  PetscCall(MatBoundToCPU(A, &after));
  if (ierr != PETSC_ERR_ARG_OUTOFRANGE || before != after) {
    PetscCall(PetscPrintf(PETSC_COMM_WORLD, "a row that there is not: error %d, %s before, %s after\n", (int)ierr, before ? "bound" : "free", after ? "bound" : "free"));
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* One process alone drops an entry, after a product */
static PetscErrorCode DropOnOneProcess(Mat B)
{
  Mat         A, C, D, R;
  PetscInt    r0, r1;
  PetscMPIInt rank;

  PetscFunctionBegin;
  PetscCallMPI(MPI_Comm_rank(PETSC_COMM_WORLD, &rank));
  PetscCall(MatCreate(PETSC_COMM_WORLD, &A));
  PetscCall(MatSetSizes(A, PETSC_DECIDE, PETSC_DECIDE, ROWS, ROWS));
  PetscCall(MatSetType(A, MATAIJTCU));
  PetscCall(MatSetFromOptions(A));
  PetscCall(MatSetUp(A));
  PetscCall(MatGetOwnershipRange(A, &r0, &r1));
  for (PetscInt r = r0; r < r1; r++) {
    PetscCall(MatSetValue(A, r, r, 1 + (PetscReal)r, INSERT_VALUES));
    PetscCall(MatSetValue(A, r, (r + 1) % ROWS, rank || r > r0 ? 2 : 0, INSERT_VALUES));
  }
  PetscCall(MatAssemblyBegin(A, MAT_FINAL_ASSEMBLY));
  PetscCall(MatAssemblyEnd(A, MAT_FINAL_ASSEMBLY));
  PetscCall(MatMatMult(A, B, MAT_INITIAL_MATRIX, PETSC_DETERMINE, &C));
  PetscCall(MatEliminateZeros(A, PETSC_FALSE));
  PetscCall(MatMatMult(A, B, MAT_REUSE_MATRIX, PETSC_DETERMINE, &C));
  PetscCall(MatConvert(A, MATDENSE, MAT_INITIAL_MATRIX, &R));
  PetscCall(MatDuplicate(C, MAT_COPY_VALUES, &D));
  PetscCall(SameAsProduct(&D, R, B, "a product that is reused where one process dropped an entry"));
  PetscCall(MatDestroy(&C));
  PetscCall(MatMatMult(A, B, MAT_INITIAL_MATRIX, PETSC_DETERMINE, &C));
  PetscCall(SameAsProduct(&C, R, B, "a new product where one process dropped an entry"));
  PetscCall(MatDestroy(&R));
  PetscCall(MatDestroy(&A));
  PetscFunctionReturn(PETSC_SUCCESS);
}

int main(int argc, char **argv)
{
  const PetscInt from[] = {3, 7, 12, 2};
  Mat            A, B, C = NULL, S = NULL, M = NULL;
  PetscBool      errors = PETSC_FALSE;

  PetscCall(PetscInitialize(&argc, &argv, NULL, help));
  PetscCall(PetscDLLibraryRegister_petscaijtcu());
  PetscCall(PetscOptionsGetBool(NULL, NULL, "-errors", &errors, NULL));
  PetscCall(MatCreate(PETSC_COMM_WORLD, &A));
  PetscCall(MatSetSizes(A, PETSC_DECIDE, PETSC_DECIDE, ROWS, ROWS));
  PetscCall(MatSetType(A, MATAIJTCU));
  PetscCall(MatSetFromOptions(A));
  PetscCall(MatCreateDense(PETSC_COMM_WORLD, PETSC_DECIDE, PETSC_DECIDE, ROWS, 4, NULL, &B));
  PetscCall(MatSetRandom(B, NULL));
  for (PetscInt k = 0; k < (PetscInt)PETSC_STATIC_ARRAY_LENGTH(from); k++) {
    Mat D, R, E, T;
    Vec x, y, right;

    PetscCall(SetPattern(A, from[k], k + 1, k % 2 ? MAT_COPY_VALUES : MAT_DO_NOT_COPY_VALUES, (PetscBool)(k / 2), &T));
    if (errors) PetscCall(StaysBound(T));
    PetscCall(IsTwice(T, A));
    PetscCall(MatDestroy(&T));
    PetscCall(MatConvert(A, MATDENSE, MAT_INITIAL_MATRIX, &R));
    PetscCall(MatMatMult(A, B, C ? MAT_REUSE_MATRIX : MAT_INITIAL_MATRIX, PETSC_DETERMINE, &C));
    PetscCall(MatDuplicate(C, MAT_COPY_VALUES, &D));
    PetscCall(SameAsProduct(&D, R, B, "a product that is reused"));
    if (S) {
      PetscErrorCode ierr;

      PetscCall(PetscPushErrorHandler(PetscReturnErrorHandler, NULL));
      ierr = MatSampledMatTransposeMult(A, B, B, PETSC_TRUE, MAT_REUSE_MATRIX, &S);
      PetscCall(PetscPopErrorHandler());
      if (ierr != PETSC_ERR_ARG_INCOMP) PetscCall(PetscPrintf(PETSC_COMM_WORLD, "a sampled product of another pattern: error %d\n", (int)ierr));
    } else PetscCall(MatSampledMatTransposeMult(A, B, B, PETSC_TRUE, MAT_INITIAL_MATRIX, &S));
    if (!M) PetscCall(MatCreateSampledLR(A, B, B, PETSC_TRUE, &M));
    PetscCall(MatSampledMatTransposeMult(A, B, B, PETSC_TRUE, MAT_INITIAL_MATRIX, &E));
    PetscCall(MatCreateVecs(A, &x, &y));
    PetscCall(VecDuplicate(y, &right));
    PetscCall(VecSet(x, 1));
    PetscCall(MatMult(M, x, y));
    PetscCall(MatMult(E, x, right));
    PetscCall(SameVectors(y, right, "MatCreateSampledLR()", "M x"));
    PetscCall(VecDestroy(&x));
    PetscCall(VecDestroy(&y));
    PetscCall(VecDestroy(&right));
    PetscCall(MatDestroy(&E));
    PetscCall(MatDestroy(&R));
  }
  PetscCall(DropOnOneProcess(B));
  PetscCall(MatDestroy(&M));
  PetscCall(MatDestroy(&S));
  PetscCall(MatDestroy(&C));
  PetscCall(MatDestroy(&B));
  PetscCall(MatDestroy(&A));
  PetscCall(PetscFinalize());
  return 0;
}

/*TEST

  testset:
    output_file: output/empty.out

    test:
      nsize: {{1 3}}
      args: -mat_aijtcu_path {{auto cusparse}}

    test:
      suffix: cuda
      requires: cuda
      nsize: {{1 3}}
      args: -mat_aijtcu_path {{auto csr}} -use_gpu_aware_mpi 0 -errors -malloc_dump 0

TEST*/
