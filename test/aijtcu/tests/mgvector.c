static char help[] = "Multigrid for one vector with a MATAIJTCU against PETSc's cycle: PCApply() and KSPSolve(). Prints on error only.\n\n";

#include <petscksp.h>
#include <petscaijtcu.h>
#include "grid.h"

static PetscErrorCode Create(PetscInt n, PetscInt bs, PetscReal shift, Mat *A)
{
  const GridValues values = {.here = {4 + bs + shift, -0.2}, .neighbour = {-1, 0.1}};

  PetscFunctionBegin;
  PetscCall(GridCreate(MATAIJTCU, n, bs, &values, A));
  PetscCall(MatSetOption(*A, MAT_SPD, PETSC_TRUE));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode Solver(Mat A, KSP *ksp)
{
  PetscFunctionBegin;
  PetscCall(KSPCreate(PETSC_COMM_WORLD, ksp));
  PetscCall(KSPSetOperators(*ksp, A, A));
  PetscCall(KSPSetType(*ksp, KSPCG));
  PetscCall(KSPSetTolerances(*ksp, 1e-8, PETSC_CURRENT, PETSC_CURRENT, 100));
  PetscCall(KSPSetFromOptions(*ksp));
  PetscCall(KSPSetUp(*ksp));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* x of both is the same to rounding */
static PetscErrorCode Near(Vec x, Vec y, const char what[])
{
  PetscReal norm, diff;
  Vec       d;

  PetscFunctionBegin;
  PetscCall(VecDuplicate(x, &d));
  PetscCall(VecCopy(x, d));
  PetscCall(VecAXPY(d, -1, y));
  PetscCall(VecNorm(y, NORM_2, &norm));
  PetscCall(VecNorm(d, NORM_2, &diff));
  if (!(diff <= 1e5 * PETSC_MACHINE_EPSILON * norm) || !(norm > 0))
    PetscCall(PetscPrintf(PETSC_COMM_WORLD, "%s: differs by %g of %g\n", what, (double)diff, (double)norm));
  PetscCall(VecDestroy(&d));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* The two solvers, ours and PETSc's, with a few right-hand sides */
static PetscErrorCode Compare(KSP ksp[2], const char what[])
{
  Vec b, x[3];
  Mat A;
  PC  pc;

  PetscFunctionBegin;
  PetscCall(KSPGetOperators(ksp[0], &A, NULL));
  PetscCall(MatCreateVecs(A, &x[0], &b));
  PetscCall(VecDuplicate(x[0], &x[1]));
  PetscCall(VecDuplicate(x[0], &x[2]));
  for (int i = 0; i < 4; i++) {
    PetscInt  its[2];
    PetscBool same;

    PetscCall(VecSetRandom(b, NULL));
    for (int k = 0; k < 2; k++) {
      PetscCall(KSPGetPC(ksp[k], &pc));
      PetscCall(VecSet(x[k], 7)); /* what is in it does not count */
      PetscCall(PCApply(pc, b, x[k]));
    }
    PetscCall(Near(x[0], x[1], what));
    PetscCall(KSPGetPC(ksp[0], &pc));
    PetscCall(PCApply(pc, b, x[2]));
    PetscCall(VecEqual(x[0], x[2], &same));
    if (!same) PetscCall(PetscPrintf(PETSC_COMM_WORLD, "%s: other bits the second time\n", what));
    for (int k = 0; k < 2; k++) {
      KSPConvergedReason reason;

      PetscCall(KSPSolve(ksp[k], b, x[k]));
      PetscCall(KSPGetIterationNumber(ksp[k], &its[k]));
      PetscCall(KSPGetConvergedReason(ksp[k], &reason));
      if (reason <= 0) PetscCall(PetscPrintf(PETSC_COMM_WORLD, "%s: solver %d ends for %s\n", what, k, KSPConvergedReasons[reason]));
    }
    if (its[0] != its[1]) PetscCall(PetscPrintf(PETSC_COMM_WORLD, "%s: %" PetscInt_FMT " iterations, not %" PetscInt_FMT "\n", what,
                                                its[0], its[1]));
  }
  PetscCall(VecDestroy(&b));
  for (int i = 0; i < 3; i++) PetscCall(VecDestroy(&x[i]));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode CountSolve(KSP ksp, void *count)
{
  PetscFunctionBegin;
  (void)ksp;
  ++*(PetscInt *)count;
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* What somebody wants to be told of a smoother's solves he is told */
static PetscErrorCode Watched(KSP ksp[2])
{
  PetscInt count[2] = {0, 0};

  PetscFunctionBegin;
  for (int k = 0; k < 2; k++) {
    PetscInt n;
    KSP      smoother;
    PC       pc;

    PetscCall(KSPGetPC(ksp[k], &pc));
    PetscCall(PCMGGetLevels(pc, &n));
    PetscCall(PCMGGetSmoother(pc, n - 1, &smoother));
    PetscCall(KSPConvergedReasonViewSet(smoother, CountSolve, &count[k], NULL));
  }
  PetscCall(Compare(ksp, "a smoother that is watched"));
  /* the first has more right-hand sides */
  if (!count[1] || count[0] < count[1])
    PetscCall(PetscPrintf(PETSC_COMM_WORLD, "a smoother tells of %" PetscInt_FMT " solves, not %" PetscInt_FMT " and more\n", count[0], count[1]));
  PetscFunctionReturn(PETSC_SUCCESS);
}

int main(int argc, char **argv)
{
  PetscInt n = 40, bs = 1;
  Mat      A[2];
  KSP      ksp[2];

  PetscCall(PetscInitialize(&argc, &argv, NULL, help));
  PetscCall(PetscDLLibraryRegister_petscaijtcu());
  PetscCall(PetscOptionsGetInt(NULL, NULL, "-n", &n, NULL));
  PetscCall(PetscOptionsGetInt(NULL, NULL, "-bs", &bs, NULL));
  for (int k = 0; k < 2; k++) {
    PetscCall(Create(n, bs, 0.01, &A[k]));
    if (k) PetscCall(MatAIJTCUSetMult(A[k], MAT_AIJTCU_MULT_CUSPARSE)); /* no cycle of ours */
    PetscCall(Solver(A[k], &ksp[k]));
  }
  PetscCall(Compare(ksp, "a cycle"));
  for (int k = 0; k < 2; k++) PetscCall(MatScale(A[k], 3)); /* new values */
  PetscCall(Compare(ksp, "new values"));
  for (int k = 0; k < 2; k++) {
    PetscCall(MatShift(A[k], 0.5));
    PetscCall(KSPSetReusePreconditioner(ksp[k], PETSC_TRUE)); /* its levels are of other values */
  }
  PetscCall(Compare(ksp, "a preconditioner that is kept"));
  PetscCall(MatAIJTCUSetMult(A[0], MAT_AIJTCU_MULT_CSR));
  PetscCall(Compare(ksp, "another kernel"));
  for (int k = 0; k < 2; k++) {
    PetscCall(KSPSetReusePreconditioner(ksp[k], PETSC_FALSE));
    PetscCall(MatDestroy(&A[k]));
    PetscCall(Create(n + 3, bs, 0.2, &A[k]));
    if (k) PetscCall(MatAIJTCUSetMult(A[k], MAT_AIJTCU_MULT_CUSPARSE));
    PetscCall(KSPReset(ksp[k]));
    PetscCall(KSPSetOperators(ksp[k], A[k], A[k]));
  }
  for (int k = 0; k < 2; k++) PetscCall(KSPSetUp(ksp[k]));
  PetscCall(Compare(ksp, "another matrix"));
  PetscCall(Watched(ksp));
  for (int k = 0; k < 2; k++) {
    PetscCall(KSPDestroy(&ksp[k]));
    PetscCall(MatDestroy(&A[k]));
  }
  PetscCall(PetscFinalize());
  return 0;
}

/*TEST

  testset:
    requires: double
    output_file: output/empty.out
    nsize: {{1 2}}
    args: -pc_type gamg -use_gpu_aware_mpi 0 -mg_levels_pc_type jacobi

    test:
      suffix: v
      args: -bs {{1 3}}

    test:
      suffix: w
      args: -pc_mg_cycle_type w -mg_levels_ksp_max_it {{1 3}}

    test:
      suffix: other
      args: -mg_levels_ksp_type richardson -mg_levels_pc_type jacobi -pc_mg_multiplicative_cycles 2

TEST*/
