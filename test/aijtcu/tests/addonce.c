static char help[] = "A parallel product, of which the part with rows of B that other processes own is added to the rest. One row is so long that\n\
kernels of its own multiply it. One launch fails after the other. Each time the result is right, or there is an error: nothing is added twice.\n\n";

#define _GNU_SOURCE /* RTLD_DI_LINKMAP */
#include <petscmat.h>
#include "petscaijtcu.h"

#if defined(__linux__) && (defined(__x86_64__) || defined(__aarch64__))
  #include "inject.h"

enum {
  ROWS = 20000,
  COLS = 2
};

static PetscInt EntryB(PetscInt i, PetscInt n)
{
  return (i + n) % 7 - 3;
}

/* All entries are one, so all sums are whole numbers. The first row is full, the others have two entries */
static PetscErrorCode Create(Mat *A, Mat *B)
{
  PetscInt begin, end;

  PetscFunctionBegin;
  PetscCall(MatCreate(PETSC_COMM_WORLD, A));
  PetscCall(MatSetSizes(*A, PETSC_DECIDE, PETSC_DECIDE, ROWS, ROWS));
  PetscCall(MatSetType(*A, MATAIJTCU));
  PetscCall(MatSetFromOptions(*A));
  PetscCall(MatSetUp(*A));
  PetscCall(MatGetOwnershipRange(*A, &begin, &end));
  for (PetscInt i = begin; i < end; i++) {
    for (PetscInt j = 0; !i && j < ROWS; j++) PetscCall(MatSetValue(*A, 0, j, 1, INSERT_VALUES));
    PetscCall(MatSetValue(*A, i, i, 1, INSERT_VALUES));
    PetscCall(MatSetValue(*A, i, (i + 1) % ROWS, 1, INSERT_VALUES));
  }
  PetscCall(MatAssemblyBegin(*A, MAT_FINAL_ASSEMBLY));
  PetscCall(MatAssemblyEnd(*A, MAT_FINAL_ASSEMBLY));
  PetscCall(MatCreateDense(PETSC_COMM_WORLD, end - begin, PETSC_DECIDE, ROWS, COLS, NULL, B));
  for (PetscInt i = begin; i < end; i++) {
    for (PetscInt n = 0; n < COLS; n++) PetscCall(MatSetValue(*B, i, n, (PetscScalar)EntryB(i, n), INSERT_VALUES));
  }
  PetscCall(MatAssemblyBegin(*B, MAT_FINAL_ASSEMBLY));
  PetscCall(MatAssemblyEnd(*B, MAT_FINAL_ASSEMBLY));
  PetscCall(MatConvert(*B, MATDENSECUDA, MAT_INPLACE_MATRIX, B));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode IsRight(Mat C, PetscBool *is)
{
  const PetscScalar *c;
  PetscInt           begin, end, ld;

  PetscFunctionBegin;
  *is = PETSC_TRUE;
  PetscCall(MatGetOwnershipRange(C, &begin, &end));
  PetscCall(MatDenseGetLDA(C, &ld));
  PetscCall(MatDenseGetArrayRead(C, &c));
  for (PetscInt n = 0; n < COLS; n++) {
    for (PetscInt i = begin; i < end; i++) {
      PetscInt right = EntryB(i, n) + EntryB((i + 1) % ROWS, n);

      if (!i) {
        right = 0;
        for (PetscInt j = 0; j < ROWS; j++) right += EntryB(j, n);
      }
      if (c[i - begin + n * ld] != (PetscScalar)right) *is = PETSC_FALSE;
    }
  }
  PetscCall(MatDenseRestoreArrayRead(C, &c));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*
   The product of all processes. Each has its launches: the same one fails on all, but there may be one on the process
   of the long row alone. PETSc leaves its events open after an error. With synchronized logging, which -petsc_ci asks
   for, others would wait at the next event for a process that does not: so the tests have -log_sync 0
*/
static PetscErrorCode Run(void)
{
  Mat      A, B, C;
  PetscInt n = 1;

  PetscFunctionBegin;
  PetscCall(Create(&A, &B));
  PetscCall(MatMatMult(A, B, MAT_INITIAL_MATRIX, PETSC_DETERMINE, &C));
  for (PetscInt k = 0; k <= n; k++) {
    PetscErrorCode ierr;
    PetscBool      is = PETSC_TRUE;

    ncalls = 0;
    which  = k;
    fired  = PETSC_FALSE;
    armed  = PETSC_TRUE;
    ierr   = MatMatMult(A, B, MAT_REUSE_MATRIX, PETSC_DETERMINE, &C);
    armed  = PETSC_FALSE;
    if (!k) PetscCallMPI(MPIU_Allreduce(&ncalls, &n, 1, MPIU_INT, MPI_MAX, PETSC_COMM_WORLD));
    cuda_error = 0;
    if (!ierr) PetscCall(IsRight(C, &is));
    if (!is) PetscCall(PetscPrintf(PETSC_COMM_SELF, "launch %d fails: wrong result\n", (int)k));
    if (!k && ierr) PetscCall(PetscPrintf(PETSC_COMM_SELF, "it fails by itself\n"));
  }
  PetscCall(MatDestroy(&A));
  PetscCall(MatDestroy(&B));
  PetscCall(MatDestroy(&C));
  PetscFunctionReturn(PETSC_SUCCESS);
}
#endif

int main(int argc, char **argv)
{
  PetscCall(PetscInitialize(&argc, &argv, NULL, help));
#if defined(__linux__) && (defined(__x86_64__) || defined(__aarch64__))
  mode = FAIL_LAUNCH;
  code = OUT_OF_MEMORY;
  PetscCall(PetscOptionsGetBool(NULL, NULL, "-lasting", &lasting, NULL));
  PetscCall(InterposeLibrary());
  PetscCall(PetscPushErrorHandler(PetscReturnErrorHandler, NULL));
  PetscCall(PetscDLLibraryRegister_petscaijtcu());
  PetscCall(Run());
  PetscCall(PetscPopErrorHandler());
#endif
  PetscCall(PetscFinalize());
  return 0;
}

/*TEST

  test:
    suffix: cuda
    requires: cuda !complex
    nsize: 2
    output_file: output/empty.out
    args: -use_gpu_aware_mpi 0 -log_sync 0 -lasting {{0 1}} -mat_aijtcu_path {{csr tcu}}

TEST*/
