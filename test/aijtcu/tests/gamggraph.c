static char help[] = "PCGAMG makes the levels of a MATAIJTCU that it makes of a MATAIJ, by all coarseners. Prints on error only.\n\n";

#include <petscksp.h>
#include <petscaijtcu.h>
#include "grid.h"

/* The prolongators of both have entries in the same places. Their values depend on an estimate of an eigenvalue, which
   rounding changes on a device: they agree in half of the digits */
static PetscErrorCode Compare(PC pc[2])
{
  PetscInt nlevels[2];

  PetscFunctionBegin;
  for (int k = 0; k < 2; k++) PetscCall(PCMGGetLevels(pc[k], &nlevels[k]));
  if (nlevels[0] != nlevels[1]) {
    PetscCall(PetscPrintf(PETSC_COMM_WORLD, "%" PetscInt_FMT " levels, not %" PetscInt_FMT "\n", nlevels[0], nlevels[1]));
    PetscFunctionReturn(PETSC_SUCCESS);
  }
  for (PetscInt l = 1; l < nlevels[1]; l++) {
    Mat      P[2];
    PetscInt first, end, wrong = 0, n[2];
    PetscInt size[2][2];

    for (int k = 0; k < 2; k++) {
      PetscCall(PCMGGetInterpolation(pc[k], l, &P[k]));
      PetscCall(MatGetSize(P[k], &size[k][0], &size[k][1]));
    }
    if (size[0][0] != size[1][0] || size[0][1] != size[1][1]) {
      PetscCall(PetscPrintf(PETSC_COMM_WORLD, "level %" PetscInt_FMT " has another size\n", l));
      break;
    }
    PetscCall(MatGetOwnershipRange(P[1], &first, &end));
    for (PetscInt row = first; row < end; row++) {
      const PetscInt    *column[2];
      const PetscScalar *value[2];
      const PetscReal    bound = PETSC_SQRT_MACHINE_EPSILON;
      PetscBool          same;

      for (int k = 0; k < 2; k++) PetscCall(MatGetRow(P[k], row, &n[k], &column[k], &value[k]));
      same = (PetscBool)(n[0] == n[1]);
      if (same) PetscCall(PetscArraycmp(column[0], column[1], n[1], &same));
      for (PetscInt i = 0; i < n[1] && same; i++) same = (PetscBool)(PetscAbsScalar(value[0][i] - value[1][i]) < bound);
      if (!same) wrong++;
      for (int k = 0; k < 2; k++) PetscCall(MatRestoreRow(P[k], row, &n[k], &column[k], &value[k]));
    }
    if (wrong) PetscCall(PetscPrintf(PETSC_COMM_SELF, "level %" PetscInt_FMT ": %" PetscInt_FMT " rows of P differ\n", l, wrong));
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Motions of a rigid body */
static PetscErrorCode SetCoordinates(PC pc, Mat A, PetscInt n)
{
  PetscInt   first, end, bs;
  PetscReal *x;

  PetscFunctionBegin;
  PetscCall(MatGetBlockSize(A, &bs));
  PetscCall(MatGetOwnershipRange(A, &first, &end));
  PetscCall(PetscMalloc1(end - first + 2, &x));
  for (PetscInt k = 0; k < end - first; k++) x[k] = 0.25 * (PetscReal)(k % bs ? (first + k) / bs / n : (first + k) / bs % n);
  PetscCall(PCSetCoordinates(pc, bs, (end - first) / bs, x));
  PetscCall(PetscFree(x));
  PetscFunctionReturn(PETSC_SUCCESS);
}

int main(int argc, char **argv)
{
  PetscInt    n = 40, bs = 1;
  PetscBool   coordinates = PETSC_FALSE, symmetric = PETSC_TRUE;
  PetscMPIInt size;
  GridValues  values = {.corners = PETSC_TRUE, .here = {9, 0.5}, .neighbour = {-1, -0.125}};
  Mat         A[2];
  PC          pc[2];

  PetscCall(PetscInitialize(&argc, &argv, NULL, help));
  PetscCall(PetscDLLibraryRegister_petscaijtcu());
  PetscCall(PetscOptionsGetInt(NULL, NULL, "-n", &n, NULL));
  PetscCall(PetscOptionsGetInt(NULL, NULL, "-bs", &bs, NULL));
  PetscCall(PetscOptionsGetInt(NULL, NULL, "-lone", &values.lone, NULL));
  PetscCall(PetscOptionsGetInt(NULL, NULL, "-oneway", &values.oneway, NULL));
  PetscCall(PetscOptionsGetBool(NULL, NULL, "-symmetric", &symmetric, NULL));
  PetscCall(PetscOptionsGetBool(NULL, NULL, "-coordinates", &coordinates, NULL));
  PetscCallMPI(MPI_Comm_size(PETSC_COMM_WORLD, &size));
  for (int k = 0; k < 2; k++) {
    PetscCall(GridCreate(!k ? MATAIJTCU : size > 1 ? MATMPIAIJ : MATSEQAIJ, n, bs, &values, &A[k]));
    if (symmetric) PetscCall(MatSetOption(A[k], MAT_SYMMETRIC, PETSC_TRUE));
    PetscCall(PCCreate(PETSC_COMM_WORLD, &pc[k]));
    PetscCall(PCSetOperators(pc[k], A[k], A[k]));
    PetscCall(PCSetType(pc[k], PCGAMG));
    if (coordinates) PetscCall(SetCoordinates(pc[k], A[k], n));
    PetscCall(PCSetFromOptions(pc[k]));
    PetscCall(PCSetUp(pc[k]));
  }
  PetscCall(Compare(pc));
  for (int k = 0; k < 2; k++) {
    PetscCall(PCDestroy(&pc[k]));
    PetscCall(MatDestroy(&A[k]));
  }
  PetscCall(PetscFinalize());
  return 0;
}

/*TEST

  testset:
    output_file: output/empty.out
    args: -bs {{1 2}} -mg_levels_pc_type jacobi
    nsize: {{1 3}}

    test:
      suffix: square
      args: -pc_gamg_aggressive_square_graph {{0 1}}

    test:
      suffix: levels
      args: -pc_gamg_aggressive_coarsening 2 -pc_gamg_threshold {{-1 0.01}} -n 61

    test: # of PETSc's own tutorials
      suffix: degrees
      args: -pc_gamg_mis_k_minimum_degree_ordering -pc_gamg_aggressive_square_graph {{0 1}} -pc_gamg_low_memory_threshold_filter -n 61

    test:
      suffix: nodes
      args: -pc_gamg_mat_coarsen_type mis -n 20

    test:
      suffix: distance
      args: -pc_gamg_aggressive_square_graph 0 -pc_gamg_aggressive_mis_k 3 -pc_gamg_agg_nsmooths 0 -n 61

    test:
      suffix: oneway
      args: -symmetric 0 -oneway {{0 7}} -pc_gamg_agg_nsmooths 0

    test:
      suffix: lone
      nsize: 1
      args: -lone {{3 50}} -pc_gamg_aggressive_square_graph {{0 1}} -n 20

    test:
      suffix: matching
      args: -pc_gamg_mat_coarsen_type hem -mat_aijtcu_for {{none aij}}

  testset:
    output_file: output/empty.out
    args: -bs 2 -coordinates -mg_levels_pc_type jacobi

    test:
      suffix: bodies
      args: -lone {{0 3 50}} -n {{3 20}} -pc_gamg_mat_coarsen_type {{misk hem}}

TEST*/
