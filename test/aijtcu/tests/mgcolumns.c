static char help[] = "Multigrid for a block against the same for each of its columns: one is zero, or the system is the transposed one. Prints on error only.\n\n";

#include <petscaijtcu.h>
#include <petscksp.h>

#define ROWS    300
#define COLUMNS 5

/* A Laplacian with some convection: its transpose is another matrix */
static PetscErrorCode CreateWith(MatType type, Mat *A)
{
  PetscInt r0, r1;

  PetscFunctionBegin;
  PetscCall(MatCreate(PETSC_COMM_WORLD, A));
  PetscCall(MatSetSizes(*A, PETSC_DECIDE, PETSC_DECIDE, ROWS, ROWS));
  PetscCall(MatSetType(*A, type));
  PetscCall(MatSetUp(*A));
  PetscCall(MatGetOwnershipRange(*A, &r0, &r1));
  for (PetscInt i = r0; i < r1; i++) {
    PetscCall(MatSetValue(*A, i, i, 2.1, INSERT_VALUES));
    if (i > 0) PetscCall(MatSetValue(*A, i, i - 1, -1.1, INSERT_VALUES));
    if (i < ROWS - 1) PetscCall(MatSetValue(*A, i, i + 1, -0.9, INSERT_VALUES));
  }
  PetscCall(MatAssemblyBegin(*A, MAT_FINAL_ASSEMBLY));
  PetscCall(MatAssemblyEnd(*A, MAT_FINAL_ASSEMBLY));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode CreateSolver(Mat A, KSP *ksp)
{
  PetscFunctionBegin;
  PetscCall(KSPCreate(PETSC_COMM_WORLD, ksp));
  PetscCall(KSPSetOperators(*ksp, A, A));
  PetscCall(KSPSetFromOptions(*ksp));
  PetscFunctionReturn(PETSC_SUCCESS);
}

int main(int argc, char **argv)
{
  Mat       A, R, B, X;
  Vec       zero;
  KSP       block, one;
  PetscBool transpose = PETSC_FALSE;

  PetscCall(PetscInitialize(&argc, &argv, NULL, help));
  PetscCall(PetscDLLibraryRegister_petscaijtcu());
  PetscCall(PetscOptionsGetBool(NULL, NULL, "-transpose", &transpose, NULL));
  PetscCall(CreateWith(MATAIJTCU, &A));
  PetscCall(CreateWith(MATAIJ, &R));
  PetscCall(MatCreateDense(PETSC_COMM_WORLD, PETSC_DECIDE, PETSC_DECIDE, ROWS, COLUMNS, NULL, &B));
  PetscCall(MatSetRandom(B, NULL));
  PetscCall(MatDenseGetColumnVecWrite(B, 0, &zero));
  PetscCall(VecSet(zero, 0));
  PetscCall(MatDenseRestoreColumnVecWrite(B, 0, &zero));
  PetscCall(MatDuplicate(B, MAT_DO_NOT_COPY_VALUES, &X));
  PetscCall(CreateSolver(A, &block));
  PetscCall(CreateSolver(R, &one));
  if (transpose) PetscCall(KSPMatSolveTranspose(block, B, X));
  else PetscCall(KSPMatSolve(block, B, X));
  for (PetscInt j = 0; j < COLUMNS; j++) {
    Vec       b, x, right;
    PetscReal difference, norm;

    PetscCall(MatDenseGetColumnVecRead(B, j, &b));
    PetscCall(MatDenseGetColumnVecRead(X, j, &x));
    PetscCall(VecDuplicate(x, &right));
    if (transpose) PetscCall(KSPSolveTranspose(one, b, right));
    else PetscCall(KSPSolve(one, b, right));
    PetscCall(VecNorm(right, NORM_2, &norm));
    PetscCall(VecAXPY(right, -1, x));
    PetscCall(VecNorm(right, NORM_2, &difference));
    if (!(difference <= 1e-5 * norm)) PetscCall(PetscPrintf(PETSC_COMM_WORLD, "column %" PetscInt_FMT " differs by %g of %g\n", j, (double)difference, (double)norm));
    PetscCall(VecDestroy(&right));
    PetscCall(MatDenseRestoreColumnVecRead(X, j, &x));
    PetscCall(MatDenseRestoreColumnVecRead(B, j, &b));
  }
  PetscCall(KSPDestroy(&block));
  PetscCall(KSPDestroy(&one));
  PetscCall(MatDestroy(&X));
  PetscCall(MatDestroy(&B));
  PetscCall(MatDestroy(&R));
  PetscCall(MatDestroy(&A));
  PetscCall(PetscFinalize());
  return 0;
}

/*TEST

  build:
    requires: double

  testset:
    nsize: {{1 2}}
    output_file: output/empty.out
    args: -mat_aijtcu_block_solvers always -use_gpu_aware_mpi 0 -ksp_rtol 1e-8 -pc_type gamg -pc_gamg_coarse_eq_limit 8

    test: # a column that is zero, or has ended outside, is zero for a smoother
      suffix: zero
      args: -ksp_type {{fgmres bcgs}} -mg_levels_ksp_type bcgs -mg_levels_pc_type jacobi

    test:
      suffix: transpose
      args: -ksp_type gmres -transpose

TEST*/
