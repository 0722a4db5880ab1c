static char help[] = "A matrix that is not assembled: products that are set up before it is, and duplicates. Prints on error only.\n\n";

#include "sameproduct.h"

#include <petscaijtcu.h>

#define ROWS 60

/* Entries that wait for MatAssemblyBegin(). room: more of it than the rows have entries, so that assembly moves them */
static PetscErrorCode Begin(MatType type, PetscBool room, Mat *A)
{
  PetscInt r0, r1, rows[ROWS];

  PetscFunctionBegin;
  PetscCall(MatCreate(PETSC_COMM_WORLD, A));
  PetscCall(MatSetSizes(*A, PETSC_DECIDE, PETSC_DECIDE, ROWS, ROWS));
  PetscCall(MatSetType(*A, type));
  PetscCall(MatSetFromOptions(*A));
  for (PetscInt i = 0; i < ROWS; i++) rows[i] = 9;
  if (room) PetscCall(MatXAIJSetPreallocation(*A, 1, rows, rows, NULL, NULL));
  else PetscCall(MatSetUp(*A));
  PetscCall(MatGetOwnershipRange(*A, &r0, &r1));
  for (PetscInt i = r0; i < r1; i++) {
    PetscCall(MatSetValue(*A, i, i, 1, INSERT_VALUES));
    PetscCall(MatSetValue(*A, i, i * 7 % ROWS, 1 + i, INSERT_VALUES));
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode End(Mat A)
{
  PetscFunctionBegin;
  PetscCall(MatAssemblyBegin(A, MAT_FINAL_ASSEMBLY));
  PetscCall(MatAssemblyEnd(A, MAT_FINAL_ASSEMBLY));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*
   MatProductCreate() does not ask whether A is assembled. The product is right, and so are those after it. On several
   processes PETSc's own product ends in an illegal access
*/
static PetscErrorCode TestProduct(PetscBool room)
{
  Mat A, R, B, C;

  PetscFunctionBegin;
  PetscCall(Begin(MATAIJ, PETSC_FALSE, &R));
  PetscCall(End(R));
  PetscCall(MatCreateDense(PETSC_COMM_WORLD, PETSC_DECIDE, PETSC_DECIDE, ROWS, 5, NULL, &B));
  PetscCall(MatSetRandom(B, NULL));
  PetscCall(Begin(MATAIJTCU, room, &A));
  PetscCall(MatProductCreate(A, B, NULL, &C));
  PetscCall(MatProductSetType(C, MATPRODUCT_AB));
  PetscCall(MatProductSetFromOptions(C));
  PetscCall(MatProductSymbolic(C));
  PetscCall(End(A));
  PetscCall(MatProductNumeric(C));
  PetscCall(SameAsProduct(&C, R, B, "set up before A was assembled"));
  PetscCall(SameProductsWith(A, B, R, B, "set up after it"));
  PetscCall(MatDestroy(&A));
  PetscCall(MatDestroy(&R));
  PetscCall(MatDestroy(&B));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* A duplicate of a matrix without entries is of the type, with its settings, and takes options */
static PetscErrorCode TestDuplicate(void)
{
  Mat           A, B, D;
  MatType       type, wanted;
  MatAIJTCUPath path;
  PetscBool     same;
  PetscInt      r0, r1;

  PetscFunctionBegin;
  PetscCall(MatCreate(PETSC_COMM_WORLD, &A));
  PetscCall(MatSetSizes(A, PETSC_DECIDE, PETSC_DECIDE, ROWS, ROWS));
  PetscCall(MatSetType(A, MATAIJTCU));
  PetscCall(MatAIJTCUSetPath(A, MAT_AIJTCU_PATH_CSR));
  PetscCall(MatSetUp(A));
  PetscCall(MatDuplicate(A, MAT_DO_NOT_COPY_VALUES, &B));
  PetscCall(MatGetOwnershipRange(B, &r0, &r1));
  for (PetscInt i = r0; i < r1; i++) PetscCall(MatSetValue(B, i, (i + 5) % ROWS, 1 + i, INSERT_VALUES));
  PetscCall(End(B));
  PetscCall(MatDuplicate(B, MAT_COPY_VALUES, &D));
  PetscCall(MatGetType(A, &wanted));
  for (int k = 0; k < 2; k++) {
    const Mat X = k ? D : B;

    PetscCall(MatGetType(X, &type));
    PetscCall(PetscStrcmp(type, wanted, &same));
    PetscCall(MatAIJTCUGetPath(X, &path));
    if (!same || path != MAT_AIJTCU_PATH_CSR) PetscCall(PetscPrintf(PETSC_COMM_WORLD, "duplicate %d: type %s, path %s\n", k, type, MatAIJTCUPaths[path]));
    PetscCall(MatSetOptionsPrefix(X, "tcu_"));
    PetscCall(MatSetFromOptions(X));
    PetscCall(MatAIJTCUGetPath(X, &path));
    if (path != MAT_AIJTCU_PATH_TCU) PetscCall(PetscPrintf(PETSC_COMM_WORLD, "duplicate %d: an option is not taken, path %s\n", k, MatAIJTCUPaths[path]));
  }
  PetscCall(MatDestroy(&A));
  PetscCall(MatDestroy(&B));
  PetscCall(MatDestroy(&D));
  PetscFunctionReturn(PETSC_SUCCESS);
}

int main(int argc, char **argv)
{
  PetscMPIInt size;

  PetscCall(PetscInitialize(&argc, &argv, NULL, help));
  PetscCall(PetscDLLibraryRegister_petscaijtcu());
  PetscCallMPI(MPI_Comm_size(PETSC_COMM_WORLD, &size));
  if (size == 1) {
    PetscCall(TestProduct(PETSC_FALSE));
    PetscCall(TestProduct(PETSC_TRUE));
  }
  PetscCall(TestDuplicate());
  PetscCall(PetscFinalize());
  return 0;
}

/*TEST

  testset:
    args: -tcu_mat_aijtcu_path tcu
    output_file: output/empty.out

    test:
      args: -mat_aijtcu_path {{auto tcu cusparse}}

    test:
      suffix: parallel
      nsize: 2

    test: # the synergy is asked for
      suffix: threshold
      requires: !complex
      args: -mat_aijtcu_synergy_threshold 0.01

    test:
      suffix: cuda
      requires: cuda
      args: -mat_aijtcu_path {{auto tcu}} -use_gpu_aware_mpi 0

TEST*/
