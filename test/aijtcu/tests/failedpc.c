static char help[] = "Solves with a block whose preconditioner fails on one process, before and after it does not: no process waits for another for ever, and all end as with another type. Prints on error only.\n\n";

#include <petscaijtcu.h>
#include <petscksp.h>

#include "kind.h"

#define ROWS 40

/* Blocks of two rows along the diagonal. The last one is zero if it is to fail */
static PetscErrorCode Fill(Mat A, PetscBool fails)
{
  PetscInt r0, r1;

  PetscFunctionBegin;
  PetscCall(MatGetOwnershipRange(A, &r0, &r1));
  for (PetscInt i = r0; i < r1; i++) {
    const PetscBool zero = (PetscBool)(fails && i / 2 == ROWS / 2 - 1);

    for (PetscInt j = PetscMax(i - 1, 0); j < PetscMin(i + 2, ROWS); j++) PetscCall(MatSetValue(A, i, j, zero && j / 2 == i / 2 ? 0 : i == j ? 4 : -1, INSERT_VALUES));
  }
  PetscCall(MatAssemblyBegin(A, MAT_FINAL_ASSEMBLY));
  PetscCall(MatAssemblyEnd(A, MAT_FINAL_ASSEMBLY));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* on_device: whether the products are made there */
static PetscErrorCode Solves(MatType type, KSPConvergedReason reason[3], PetscBool *on_device)
{
  Mat A, B, X;
  KSP ksp;

  PetscFunctionBegin;
  PetscCall(MatCreate(PETSC_COMM_WORLD, &A));
  PetscCall(MatSetSizes(A, PETSC_DECIDE, PETSC_DECIDE, ROWS, ROWS));
  PetscCall(MatSetBlockSize(A, 2));
  PetscCall(MatSetType(A, type));
  PetscCall(MatSetUp(A));
  PetscCall(Fill(A, PETSC_FALSE));
  PetscCall(IsOnDevice(A, on_device));
  PetscCall(MatCreateDense(PETSC_COMM_WORLD, PETSC_DECIDE, PETSC_DECIDE, ROWS, 3, NULL, &B));
  PetscCall(MatSetRandom(B, NULL));
  PetscCall(MatDuplicate(B, MAT_COPY_VALUES, &X));
  PetscCall(KSPCreate(PETSC_COMM_WORLD, &ksp));
  PetscCall(KSPSetOperators(ksp, A, A));
  PetscCall(KSPSetFromOptions(ksp));
  for (PetscInt k = 0; k < 3; k++) {
    Mat right; /* a new one each time: the first use of a matrix may be collective */

    PetscCall(Fill(A, (PetscBool)(k == 1)));
    if (k) PetscCall(MatCopy(B, X, SAME_NONZERO_PATTERN));
    PetscCall(MatDuplicate(B, MAT_COPY_VALUES, &right));
    PetscCall(KSPMatSolve(ksp, right, X));
    PetscCall(KSPGetConvergedReason(ksp, &reason[k]));
    PetscCall(MatDestroy(&right));
  }
  PetscCall(KSPDestroy(&ksp));
  PetscCall(MatDestroy(&A));
  PetscCall(MatDestroy(&B));
  PetscCall(MatDestroy(&X));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Whether PETSc fails: pbjacobi on a device leaks, and aijcusparse then multiplies blocks of the host wrongly */
static PetscErrorCode IsForHost(PetscBool *skip)
{
  Mat       A;
  PetscBool pbjacobi;
  char      pc[16] = "";

  PetscFunctionBegin;
  PetscCall(PetscOptionsGetString(NULL, NULL, "-pc_type", pc, sizeof(pc), NULL));
  PetscCall(PetscStrcmp(pc, PCPBJACOBI, &pbjacobi));
  PetscCall(MatCreate(PETSC_COMM_WORLD, &A));
  PetscCall(MatSetSizes(A, PETSC_DECIDE, PETSC_DECIDE, ROWS, ROWS));
  PetscCall(MatSetType(A, MATAIJTCU));
  PetscCall(MatSetUp(A));
  PetscCall(IsOnDevice(A, skip));
  *skip = (PetscBool)(*skip && pbjacobi);
  PetscCall(MatDestroy(&A));
  PetscFunctionReturn(PETSC_SUCCESS);
}

int main(int argc, char **argv)
{
  KSPConvergedReason with[3], without[3];
  PetscBool          device, skip;
  MatType            other;

  PetscCall(PetscInitialize(&argc, &argv, NULL, help));
  PetscCall(PetscDLLibraryRegister_petscaijtcu());
  PetscCall(IsForHost(&skip));
  if (skip) {
    PetscCall(PetscOptionsClear(NULL)); /* nobody looks at them */
    PetscCall(PetscFinalize());
    return 0;
  }
  PetscCall(Solves(MATAIJTCU, with, &device));
  other = device ? MATAIJCUSPARSE : MATAIJ; /* factors on a device do not tell of a zero pivot */
  PetscCall(Solves(other, without, &device));
  for (PetscInt k = 0; k < 3; k++) {
    if (with[k] != without[k]) PetscCall(PetscPrintf(PETSC_COMM_SELF, "solve %" PetscInt_FMT ": %s, with %s %s\n", k, KSPConvergedReasons[with[k]], other, KSPConvergedReasons[without[k]]));
  }
  PetscCall(PetscFinalize());
  return 0;
}

/*TEST

  build:
    requires: double

  testset:
    nsize: {{1 2}}
    output_file: output/empty.out
    args: -use_gpu_aware_mpi 0 -mat_aijtcu_block_solvers always

    test:
      suffix: richardson
      args: -ksp_type richardson -ksp_norm_type none -ksp_max_it 3 -pc_type pbjacobi -ksp_initial_guess_nonzero {{0 1}}

    test:
      suffix: chebyshev
      args: -ksp_type chebyshev -ksp_chebyshev_eigenvalues 0.5,2 -ksp_norm_type none -ksp_max_it 3 -pc_type pbjacobi -ksp_initial_guess_nonzero {{0 1}}

    test: # column by column
      suffix: bjacobi
      args: -ksp_type {{gmres bcgs}} -pc_type bjacobi -pc_bjacobi_blocks 4 -sub_pc_type ilu

    test:
      suffix: multigrid
      args: -ksp_type {{gmres bcgs}} -pc_type gamg -mg_levels_pc_type pbjacobi -mg_levels_ksp_type richardson -mg_levels_ksp_max_it 2 -pc_gamg_coarse_eq_limit 8 -pc_gamg_process_eq_limit 2

TEST*/
