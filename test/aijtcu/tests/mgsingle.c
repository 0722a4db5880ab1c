static char help[] = "Multigrid for one vector in single precision (-mat_aijtcu_mg_precision single) beside one in full precision: PCApply(), "
                     "and cg with it. Prints on error only.\n\n";

#include <petscksp.h>
#include <petscaijtcu.h>
#include "grid.h"
#include "multigrid.h"

typedef struct {
  Mat       A;
  KSP       ksp;
  Vec       b, x;
  PetscReal scale;
} Solver;

static PetscErrorCode Create(PetscInt n, PetscInt bs, PetscReal scale, Solver *s)
{
  const GridValues values = {.here = {4.01 + bs, -0.2}, .neighbour = {-1, 0.1}};

  PetscFunctionBegin;
  PetscCall(GridCreate(MATAIJTCU, n, bs, &values, &s->A));
  PetscCall(MatScale(s->A, scale));
  PetscCall(MatSetOption(s->A, MAT_SPD, PETSC_TRUE));
  PetscCall(MatCreateVecs(s->A, &s->x, &s->b));
  PetscCall(KSPCreate(PETSC_COMM_WORLD, &s->ksp));
  PetscCall(KSPSetType(s->ksp, KSPCG));
  PetscCall(KSPSetOperators(s->ksp, s->A, s->A));
  PetscCall(KSPSetTolerances(s->ksp, 1e-10, 0, PETSC_CURRENT, 200));
  PetscCall(KSPSetFromOptions(s->ksp));
  PetscCall(KSPSetUp(s->ksp));
  s->scale = scale;
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode Destroy(Solver *s)
{
  PetscFunctionBegin;
  PetscCall(KSPDestroy(&s->ksp));
  PetscCall(VecDestroy(&s->b));
  PetscCall(VecDestroy(&s->x));
  PetscCall(MatDestroy(&s->A));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode Apply(const Solver *s)
{
  PC pc;

  PetscFunctionBegin;
  PetscCall(KSPGetPC(s->ksp, &pc));
  PetscCall(VecSet(s->x, 7)); /* what is in it does not count */
  PetscCall(PCApply(pc, s->b, s->x));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* x of both is the same to single precision, and no better: or to the last bit, where there is no such cycle */
static PetscErrorCode Near(const Solver s[2], PetscBool single, const char what[])
{
  PetscReal norm, diff;
  Vec       d;

  PetscFunctionBegin;
  PetscCall(VecDuplicate(s[0].x, &d));
  PetscCall(VecWAXPY(d, -1, s[1].x, s[0].x));
  PetscCall(VecNorm(s[1].x, NORM_INFINITY, &norm));
  PetscCall(VecNorm(d, NORM_INFINITY, &diff));
  if (!(diff <= 3e-5 * norm) || !(norm > 0) || (single ? !(diff >= 1e-11 * norm) : diff != 0))
    PetscCall(PetscPrintf(PETSC_COMM_WORLD, "%s, scale %g: differs by %g of %g\n", what, (double)s->scale, (double)diff, (double)norm));
  PetscCall(VecDestroy(&d));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode Solve(const Solver *s, PetscInt *its, const char what[])
{
  KSPConvergedReason reason;
  PetscReal          norm, residual;
  Vec                r;

  PetscFunctionBegin;
  PetscCall(KSPSolve(s->ksp, s->b, s->x));
  PetscCall(KSPGetIterationNumber(s->ksp, its));
  PetscCall(KSPGetConvergedReason(s->ksp, &reason));
  PetscCall(VecDuplicate(s->b, &r));
  PetscCall(MatMult(s->A, s->x, r));
  PetscCall(VecAYPX(r, -1, s->b));
  PetscCall(VecNorm(r, NORM_2, &residual));
  PetscCall(VecNorm(s->b, NORM_2, &norm));
  if (reason <= 0 || !(residual <= 1e-8 * norm))
    PetscCall(PetscPrintf(PETSC_COMM_WORLD, "%s, scale %g: ends for %s with the residual %g of %g\n", what, (double)s->scale,
                          KSPConvergedReasons[reason], (double)residual, (double)norm));
  PetscCall(VecDestroy(&r));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode SetEntry(Vec b, PetscInt i, PetscScalar value)
{
  PetscFunctionBegin;
  PetscCall(VecSetValue(b, i, value, INSERT_VALUES));
  PetscCall(VecAssemblyBegin(b));
  PetscCall(VecAssemblyEnd(b));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Right-hand sides of several sizes, solves, zero, and NaN */
static PetscErrorCode Compare(const Solver s[2], PetscBool single, const char what[])
{
  const PetscReal sizes[] = {1, 1e-60, 3e60};
  PetscInt        its[2];
  PetscReal       norm;

  PetscFunctionBegin;
  for (PetscInt i = 0; i < 3; i++) {
    PetscCall(VecSetRandom(s[0].b, NULL));
    PetscCall(VecScale(s[0].b, sizes[i]));
    PetscCall(VecCopy(s[0].b, s[1].b));
    for (int again = 0; again < 3; again++) { /* the second time makes a graph, the third launches it */
      for (int k = 0; k < 2; k++) PetscCall(Apply(&s[k]));
      PetscCall(Near(s, single, what));
    }
    if (i) continue;
    for (int k = 0; k < 2; k++) PetscCall(Solve(&s[k], &its[k], what));
    if (10 * its[0] > 11 * its[1])
      PetscCall(PetscPrintf(PETSC_COMM_WORLD, "%s, scale %g: %" PetscInt_FMT " iterations, not %" PetscInt_FMT "\n", what,
                            (double)s->scale, its[0], its[1]));
  }
  PetscCall(VecSet(s[0].b, 0));
  PetscCall(Apply(&s[0]));
  PetscCall(VecNorm(s[0].x, NORM_INFINITY, &norm));
  if (norm != 0) PetscCall(PetscPrintf(PETSC_COMM_WORLD, "%s: of zero comes %g\n", what, (double)norm));
  PetscCall(VecSet(s[0].b, 1));
  PetscCall(SetEntry(s[0].b, 5, NAN));
  PetscCall(Apply(&s[0]));
  PetscCall(VecNorm(s[0].x, NORM_2, &norm));
  if (!PetscIsNanReal(norm)) PetscCall(PetscPrintf(PETSC_COMM_WORLD, "%s: NaN is lost\n", what));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*
   One number is too large beside the others for single precision. Its row is coupled with nothing, and not on the
   coarse level, so a cycle is as good as ever: but it is the one in full precision
*/
static PetscErrorCode FarApart(PetscInt n)
{
  const PetscInt row = 0;
  Solver         s[2];

  PetscFunctionBegin;
  for (int k = 0; k < 2; k++) {
    const GridValues values = {.here = {4.01, 0}, .neighbour = {-1, 0}};
    PetscInt         first, end;
    KSP              smoother;
    Mat              P;

    PetscCall(GridCreate(MATAIJTCU, n, 1, &values, &s[k].A));
    PetscCall(MatZeroRowsColumns(s[k].A, 1, &row, 1e25, NULL, NULL));
    PetscCall(InterpolationCreate(s[k].A, PETSC_DECIDE, (n * n + 3) / 4, &P));
    PetscCall(MatGetOwnershipRange(P, &first, &end));
    for (PetscInt i = PetscMax(first, 1); i < end; i++) PetscCall(MatSetValue(P, i, i / 4, 1, INSERT_VALUES));
    PetscCall(MatCreateVecs(s[k].A, &s[k].x, &s[k].b));
    PetscCall(KSPCreate(PETSC_COMM_WORLD, &s[k].ksp));
    PetscCall(KSPSetOperators(s[k].ksp, s[k].A, s[k].A));
    PetscCall(SetTwoLevels(s[k].ksp, &P));
    PetscCall(SetSmoother(s[k].ksp, KSPCHEBYSHEV, &smoother));
    PetscCall(KSPChebyshevSetEigenvalues(smoother, 2.2, 0.2));
    PetscCall(KSPSetUp(s[k].ksp));
    s[k].scale = 1;
  }
  PetscCall(MatAIJTCUSetMGPrecision(s[0].A, MAT_AIJTCU_MG_PRECISION_SINGLE));
  PetscCall(VecSetRandom(s[0].b, NULL));
  PetscCall(VecCopy(s[0].b, s[1].b));
  for (int k = 0; k < 2; k++) PetscCall(Apply(&s[k]));
  PetscCall(Near(s, PETSC_FALSE, "numbers far apart"));
  for (int k = 0; k < 2; k++) PetscCall(Destroy(&s[k]));
  PetscFunctionReturn(PETSC_SUCCESS);
}

int main(int argc, char **argv)
{
  const PetscReal      scales[] = {1, 2.1e11, 1e-14, 1e40, 1e-60};
  MatAIJTCUMGPrecision precision;
  PetscInt             n = 30, bs = 1;
  PetscBool            single;
  Solver               s[2];

  PetscCall(PetscInitialize(&argc, &argv, NULL, help));
  PetscCall(PetscDLLibraryRegister_petscaijtcu());
  PetscCall(PetscOptionsGetInt(NULL, NULL, "-n", &n, NULL));
  PetscCall(PetscOptionsGetInt(NULL, NULL, "-bs", &bs, NULL));
  for (PetscInt i = 0; i < 5; i++) {
    for (int k = 0; k < 2; k++) PetscCall(Create(n, bs, scales[i], &s[k]));
    PetscCall(PetscObjectTypeCompare((PetscObject)s->x, VECSEQCUDA, &single));
    PetscCall(MatAIJTCUSetMGPrecision(s[0].A, MAT_AIJTCU_MG_PRECISION_SINGLE));
    PetscCall(MatAIJTCUGetMGPrecision(s[0].A, &precision));
    if (precision != MAT_AIJTCU_MG_PRECISION_SINGLE) PetscCall(PetscPrintf(PETSC_COMM_WORLD, "What was set is not got\n"));
    PetscCall(Compare(s, single, "a cycle"));
    for (int k = 0; k < 2; k++) { /* new values, which the copies must follow */
      PetscCall(MatScale(s[k].A, 1000));
      PetscCall(MatShift(s[k].A, 500 * scales[i]));
    }
    PetscCall(Compare(s, single, "new values"));
    for (int k = 0; k < 2; k++) { /* of the finest level alone, which smoothers do not hear of */
      PetscCall(KSPSetReusePreconditioner(s[k].ksp, PETSC_TRUE));
      PetscCall(MatShift(s[k].A, 500 * scales[i]));
    }
    PetscCall(Compare(s, single, "new values with a preconditioner that is kept"));
    PetscCall(MatAIJTCUSetMGPrecision(s[0].A, MAT_AIJTCU_MG_PRECISION_FULL));
    for (int k = 0; k < 2; k++) {
      PetscCall(VecSetRandom(s[0].b, NULL));
      PetscCall(VecCopy(s[0].b, s[1].b));
      PetscCall(Apply(&s[0]));
      PetscCall(Apply(&s[1]));
      PetscCall(Near(s, PETSC_FALSE, "in full precision again"));
    }
    for (int k = 0; k < 2; k++) PetscCall(Destroy(&s[k]));
  }
  PetscCall(FarApart(n));
  PetscCall(PetscFinalize());
  return 0;
}

/*TEST

  testset:
    requires: double !complex
    output_file: output/empty.out
    args: -pc_type gamg -use_gpu_aware_mpi 0 -mg_levels_pc_type jacobi
    args: -mg_coarse_sub_pc_factor_shift_type none -mg_coarse_sub_pc_factor_zeropivot 0

    test:
      suffix: v
      args: -bs {{1 3}}

    test:
      suffix: blocks
      args: -bs 3 -mg_levels_pc_type pbjacobi

    test:
      suffix: w
      args: -pc_mg_cycle_type w -mg_levels_ksp_max_it {{1 3}} -pc_mg_multiplicative_cycles 2

    test:
      suffix: two
      nsize: 2

TEST*/
