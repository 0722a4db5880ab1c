static char help[] = "What a user sees of LOBPCG with whole blocks is what SLEPc's own gives: tests, monitors, counts, reasons, initial spaces, further solves. Prints on error only.\n\n";

#include "chain.h"
#include <petscaijtcu.h>
#include <slepceps.h>

#define ROWS 80

/* What a solve told */
typedef struct {
  EPSConvergedReason reason;
  PetscInt           its, nconv, monitored, tested, tracked;
  PetscReal          value[8], estimate[8];
  PetscReal          error[8]; /* what the test of convergence says of the residual of A x - lambda x */
} Told;

typedef struct {
  const char *name;
  EPSConv     conv;
  PetscReal   tol;
  PetscInt    most, nev, block;
  PetscBool   trackall, user_conv, user_stop, start, twice, same;
  PetscReal   restart; /* where it is not zero */
  PetscReal   apart;   /* where it is not zero, or with same, vectors to start from are that far from the first one */
} Case;

static const Case cases[] = {
  {.name = "absolute", .conv = EPS_CONV_ABS, .tol = 1e-9, .most = 500, .nev = 3, .block = 4},
  {.name = "relative", .conv = EPS_CONV_REL, .tol = 1e-7, .most = 500, .nev = 3, .block = 4},
  {.name = "norm", .conv = EPS_CONV_NORM, .tol = 1e-9, .most = 500, .nev = 3, .block = 4},
  {.name = "test of the user", .conv = EPS_CONV_USER, .tol = 1e-5, .most = 500, .nev = 3, .block = 4, .user_conv = PETSC_TRUE},
  {.name = "all are tracked", .conv = EPS_CONV_REL, .tol = 1e-7, .most = 500, .nev = 2, .block = 4, .trackall = PETSC_TRUE},
  {.name = "stop of the user", .conv = EPS_CONV_REL, .tol = 1e-7, .most = 500, .nev = 3, .block = 4, .user_stop = PETSC_TRUE},
  {.name = "too few", .conv = EPS_CONV_REL, .tol = 1e-7, .most = 12, .nev = 3, .block = 4},
  {.name = "from solutions", .conv = EPS_CONV_REL, .tol = 1e-7, .most = 500, .nev = 3, .block = 4, .start = PETSC_TRUE},
  {.name = "from solutions nearly in one vector", .conv = EPS_CONV_REL, .tol = 1e-7, .most = 500, .nev = 3, .block = 4, .start = PETSC_TRUE, .apart = 1e-9},
  {.name = "from one solution, three times", .conv = EPS_CONV_REL, .tol = 1e-7, .most = 500, .nev = 3, .block = 4, .start = PETSC_TRUE, .same = PETSC_TRUE},
  {.name = "twice", .conv = EPS_CONV_REL, .tol = 1e-7, .most = 500, .nev = 3, .block = 4, .twice = PETSC_TRUE},
  {.name = "more than blocks", .conv = EPS_CONV_REL, .tol = 1e-6, .most = 900, .nev = 8, .block = 3, .restart = 0.9},
  {.name = "half a block", .conv = EPS_CONV_REL, .tol = 1e-6, .most = 900, .nev = 12, .block = 6, .restart = 0.5},
  {.name = "default block", .conv = EPS_CONV_REL, .tol = 1e-6, .most = 900, .nev = 5, .block = PETSC_DECIDE}};

static PetscErrorCode Monitor(EPS eps, PetscInt its, PetscInt nconv, PetscScalar *eigr, PetscScalar *eigi,
  PetscReal *errest, PetscInt nest, void *ctx)
{
  Told *told = (Told *)ctx;

  PetscFunctionBegin;
  (void)eps, (void)its, (void)nconv, (void)eigr, (void)eigi;
  told->monitored++;
  told->tracked = 0;
  for (PetscInt k = 0; k < nest; k++) told->tracked += errest[k] > 0;
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* The residual of a half is enough */
static PetscErrorCode Converged(EPS eps, PetscScalar eigr, PetscScalar eigi, PetscReal norm, PetscReal *error, void *ctx)
{
  PetscFunctionBegin;
  (void)eps, (void)eigr, (void)eigi;
  ((Told *)ctx)->tested++;
  *error = norm / 2;
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode Stopping(EPS eps, PetscInt its, PetscInt most, PetscInt nconv, PetscInt nev, EPSConvergedReason *reason, void *ctx)
{
  PetscFunctionBegin;
  PetscCall(EPSStoppingBasic(eps, its, most, nconv, nev, reason, ctx));
  if (*reason == EPS_CONVERGED_ITERATING && its >= 30) *reason = EPS_CONVERGED_USER;
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode CreateSolver(Mat A, const char mode[], const Case *c, EPS *eps, PC *pc)
{
  ST  st;
  KSP ksp;

  PetscFunctionBegin;
  PetscCall(PetscOptionsSetValue(NULL, "-eps_aijtcu_lobpcg", mode));
  PetscCall(EPSCreate(PETSC_COMM_WORLD, eps));
  PetscCall(EPSSetOperators(*eps, A, NULL));
  PetscCall(EPSSetProblemType(*eps, EPS_HEP));
  PetscCall(EPSSetWhichEigenpairs(*eps, EPS_SMALLEST_REAL));
  PetscCall(EPSSetType(*eps, EPSLOBPCG));
  PetscCall(EPSSetDimensions(*eps, c->nev, PETSC_DETERMINE, PETSC_DETERMINE));
  PetscCall(EPSLOBPCGSetBlockSize(*eps, c->block));
  if (c->restart > 0) PetscCall(EPSLOBPCGSetRestart(*eps, c->restart));
  PetscCall(EPSSetTolerances(*eps, c->tol, c->most));
  PetscCall(EPSSetTrackAll(*eps, c->trackall));
  PetscCall(EPSGetST(*eps, &st));
  PetscCall(STSetType(st, STPRECOND));
  PetscCall(STGetKSP(st, &ksp));
  PetscCall(KSPSetType(ksp, KSPPREONLY));
  PetscCall(KSPGetPC(ksp, pc));
  PetscCall(PCSetType(*pc, PCJACOBI));
  PetscCall(EPSSetFromOptions(*eps));
  PetscCall(PetscOptionsClearValue(NULL, "-eps_aijtcu_lobpcg"));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode Residual(EPS eps, Mat A, const Case *c, PetscInt k, PetscReal *error)
{
  PetscScalar value;
  PetscReal   norm;
  Vec         x, y;

  PetscFunctionBegin;
  PetscCall(MatCreateVecs(A, &x, &y));
  PetscCall(EPSGetEigenpair(eps, k, &value, NULL, x, NULL));
  PetscCall(MatMult(A, x, y));
  PetscCall(VecAXPY(y, -value, x));
  PetscCall(VecNorm(y, NORM_2, error));
  PetscCall(MatNorm(A, NORM_INFINITY, &norm));
  if (c->conv == EPS_CONV_REL) *error /= PetscAbsScalar(value);
  else if (c->conv == EPS_CONV_NORM) *error /= norm;
  else if (c->conv == EPS_CONV_USER) *error /= 2;
  PetscCall(VecDestroy(&x));
  PetscCall(VecDestroy(&y));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode Solve(Mat A, const char mode[], const Case *c, Told *told)
{
  EPS eps;
  PC  pc;
  Vec x[3];

  PetscFunctionBegin;
  PetscCall(PetscMemzero(told, sizeof(*told)));
  PetscCall(CreateSolver(A, mode, c, &eps, &pc));
  if (c->user_conv) PetscCall(EPSSetConvergenceTestFunction(eps, Converged, told, NULL));
  else PetscCall(EPSSetConvergenceTest(eps, c->conv));
  if (c->user_stop) PetscCall(EPSSetStoppingTestFunction(eps, Stopping, NULL, NULL));
  PetscCall(EPSMonitorSet(eps, Monitor, told, NULL));
  PetscCall(EPSSolve(eps));
  if (c->start) { /* again, from what was found */
    for (PetscInt k = 0; k < 3; k++) {
      PetscCall(MatCreateVecs(A, &x[k], NULL));
      PetscCall(EPSGetEigenvector(eps, k, x[k], NULL));
      if (k && (c->same || c->apart > 0)) PetscCall(VecAYPX(x[k], c->apart, x[0]));
    }
    PetscCall(EPSDestroy(&eps));
    PetscCall(PetscMemzero(told, sizeof(*told)));
    PetscCall(CreateSolver(A, mode, c, &eps, &pc));
    PetscCall(EPSMonitorSet(eps, Monitor, told, NULL));
    PetscCall(EPSSetInitialSpace(eps, 3, x));
    PetscCall(EPSSolve(eps));
    for (PetscInt k = 0; k < 3; k++) PetscCall(VecDestroy(&x[k]));
  }
  if (c->twice) { /* the same solver, with another matrix in between */
    Mat B;

    PetscCall(MatDuplicate(A, MAT_COPY_VALUES, &B));
    PetscCall(MatScale(B, 3));
    PetscCall(EPSSetOperators(eps, B, NULL));
    PetscCall(EPSSolve(eps));
    PetscCall(EPSSetOperators(eps, A, NULL));
    PetscCall(EPSSolve(eps));
    PetscCall(MatDestroy(&B));
  }
  PetscCall(EPSGetConvergedReason(eps, &told->reason));
  PetscCall(EPSGetIterationNumber(eps, &told->its));
  PetscCall(EPSGetConverged(eps, &told->nconv));
  for (PetscInt k = 0; k < PetscMin(told->nconv, 8); k++) {
    PetscScalar value;

    PetscCall(EPSGetEigenpair(eps, k, &value, NULL, NULL, NULL));
    PetscCall(EPSGetErrorEstimate(eps, k, &told->estimate[k]));
    told->value[k] = PetscRealPart(value);
    PetscCall(Residual(eps, A, c, k, &told->error[k]));
  }
  PetscCall(EPSDestroy(&eps));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode Check(const char name[], const char what[], PetscBool right)
{
  PetscFunctionBegin;
  if (!right) PetscCall(PetscPrintf(PETSC_COMM_WORLD, "%s: %s\n", name, what));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode Compare(Mat A, const Case *c)
{
  Told      theirs, ours, again;
  PetscBool close = PETSC_TRUE, small = PETSC_TRUE;

  PetscFunctionBegin;
  PetscCall(Solve(A, "off", c, &theirs));
  PetscCall(Solve(A, "always", c, &ours));
  PetscCall(Solve(A, "always", c, &again));
  PetscCall(Check(c->name, "another reason", (PetscBool)(ours.reason == theirs.reason)));
  /* SLEPc's solver draws more random vectors, so a further solve begins with others. In place of vectors that are the
     same it may take what rounding leaves of them */
  PetscCall(Check(c->name, "other iterations", (PetscBool)(PetscAbsInt(ours.its - theirs.its) <= 1 + theirs.its / (c->same ? 2 : c->twice ? 4
                                                                                                                                          : 10))));
  PetscCall(Check(c->name, "other pairs", (PetscBool)(PetscAbsInt(ours.nconv - theirs.nconv) <= 1)));
  PetscCall(Check(c->name, "monitored another number of times", (PetscBool)(c->twice || PetscAbsInt((ours.monitored - ours.its) - (theirs.monitored - theirs.its)) <= 2)));
  PetscCall(Check(c->name, "other estimates were tracked", (PetscBool)((ours.tracked == c->block) == (theirs.tracked == c->block))));
  PetscCall(Check(c->name, "the user's test was not called", (PetscBool)(!ours.tested == !theirs.tested)));
  for (PetscInt k = 0; k < PetscMin(8, PetscMin(ours.nconv, theirs.nconv)); k++) {
    close = (PetscBool)(close && PetscAbsReal(ours.value[k] - theirs.value[k]) <= 1e-8 * PetscAbsReal(theirs.value[k]));
    if (SLEPC_VERSION_LT(3, 26, 0)) continue; /* SLEPc's solver, whose locked vectors may exceed the tolerance */
    small = (PetscBool)(small && ours.estimate[k] < c->tol && PetscAbsReal(ours.error[k] - ours.estimate[k]) <= 1e-3 * c->tol);
  }
  PetscCall(Check(c->name, "other eigenvalues", close));
  PetscCall(Check(c->name, "an estimate is above the tolerance, or not that of the residual", small));
  PetscCall(Check(c->name, "other bits in another run", (PetscBool)(ours.its == again.its && !memcmp(ours.value, again.value, sizeof(ours.value)) && !memcmp(ours.estimate, again.estimate, sizeof(ours.estimate)))));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* A preconditioner that leaves NaN, in one entry of one process, when so many calls were made */
static PetscErrorCode ApplyNaN(PC pc, Vec x, Vec y)
{
  PetscInt *calls;
  PetscInt  first;

  PetscFunctionBegin;
  PetscCall(PCShellGetContext(pc, &calls));
  PetscCall(VecCopy(x, y));
  PetscCall(VecGetOwnershipRange(x, &first, NULL));
  if (--*calls <= 0 && first == 0) {
    PetscScalar *a;

    PetscCall(VecGetArray(y, &a));
    a[0] = NAN;
    PetscCall(VecRestoreArray(y, &a));
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Solve with NaN when so many calls were made. *calls is then how many are left, or less than nothing */
static PetscErrorCode SolveNaN(Mat A, const Case *c, PetscInt *calls, EPS *eps)
{
  PC pc;

  PetscFunctionBegin;
  PetscCall(CreateSolver(A, "always", c, eps, &pc));
  PetscCall(PCSetType(pc, PCSHELL));
  PetscCall(PCShellSetApply(pc, ApplyNaN));
  PetscCall(PCShellSetContext(pc, calls));
  PetscCall(EPSSolve(*eps));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* NaN when this part of the calls was made that a solve takes, in an iteration that at_least tells */
static PetscErrorCode TestNaN(Mat A, PetscReal part, PetscInt at_least)
{
  const Case         c = {.name = "NaN", .conv = EPS_CONV_REL, .tol = 1e-9, .most = 500, .nev = 4, .block = 4};
  PetscInt           its, nconv, calls = PETSC_INT_MAX;
  PetscReal          error;
  EPS                eps;
  EPSConvergedReason reason;

  PetscFunctionBegin;
  PetscCall(SolveNaN(A, &c, &calls, &eps));
  PetscCall(EPSDestroy(&eps));
  calls = PetscMax(5, (PetscInt)(part * (PETSC_INT_MAX - calls)));
  PetscCall(SolveNaN(A, &c, &calls, &eps));
  PetscCall(EPSGetConvergedReason(eps, &reason));
  PetscCall(EPSGetIterationNumber(eps, &its));
  PetscCall(EPSGetConverged(eps, &nconv));
  PetscCall(Check(c.name, "no breakdown", (PetscBool)(reason == EPS_DIVERGED_BREAKDOWN)));
  PetscCall(Check(c.name, "not at once", (PetscBool)(its >= at_least && calls > -c.block)));
  for (PetscInt k = 0; k < nconv; k++) {
    PetscCall(Residual(eps, A, &c, k, &error));
    PetscCall(Check(c.name, "a pair that has not converged", (PetscBool)(error < c.tol)));
  }
  PetscCall(EPSDestroy(&eps));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* With another type, or where it is off, the solve is SLEPc's, to the bit */
static PetscErrorCode TestOthers(Mat A)
{
  Mat  B;
  Told theirs, others;

  PetscFunctionBegin;
  PetscCall(CreateChain(MATAIJ, ROWS, 5, 5, &B));
  PetscCall(Solve(B, "off", &cases[1], &theirs));
  PetscCall(Solve(B, "always", &cases[1], &others));
  PetscCall(Check("another type", "not SLEPc's solve", (PetscBool)!memcmp(&theirs, &others, sizeof(theirs))));
  PetscCall(Solve(A, "off", &cases[1], &theirs));
  PetscCall(Solve(A, "auto", &cases[1], &others));
  PetscCall(Check("auto", "other eigenvalues", (PetscBool)(PetscAbsReal(theirs.value[0] - others.value[0]) < 1e-8)));
  PetscCall(MatDestroy(&B));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode SolveRestart(EPS eps, PetscInt nev, PetscReal restart, const char what[])
{
  PetscReal now;
  PetscInt  nconv;

  PetscFunctionBegin;
  PetscCall(EPSSetDimensions(eps, nev, PETSC_DETERMINE, PETSC_DETERMINE));
  PetscCall(EPSSolve(eps));
  PetscCall(EPSGetConverged(eps, &nconv));
  PetscCall(EPSLOBPCGGetRestart(eps, &now));
  PetscCall(Check("restart", what, (PetscBool)(nconv >= nev && now == restart)));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Vectors are locked sooner where pairs do not fit into a block, and nobody said when */
static PetscErrorCode TestRestart(Mat A)
{
  const Case c = {.name = "restart", .conv = EPS_CONV_REL, .tol = 1e-6, .most = 900, .nev = 12, .block = 4};
  Told       theirs, ours;
  EPS        eps;
  PC         pc;

  PetscFunctionBegin;
  PetscCall(CreateSolver(A, "always", &c, &eps, &pc));
  PetscCall(SolveRestart(eps, 12, (PetscReal)0.25, "of three blocks"));
  PetscCall(SolveRestart(eps, 3, (PetscReal)0.9, "of less than a block"));
  PetscCall(SolveRestart(eps, 9, (PetscReal)0.25, "of blocks again"));
  PetscCall(EPSLOBPCGSetRestart(eps, 0.75));
  PetscCall(SolveRestart(eps, 12, (PetscReal)0.75, "of the user"));
  PetscCall(EPSDestroy(&eps));
  PetscCall(CreateSolver(A, "off", &c, &eps, &pc));
  PetscCall(SolveRestart(eps, 12, (PetscReal)0.9, "of SLEPc"));
  PetscCall(EPSDestroy(&eps));
  PetscCall(Solve(A, "off", &c, &theirs));
  PetscCall(Solve(A, "always", &c, &ours));
  PetscCall(Check("restart", "not fewer iterations", (PetscBool)(ours.its < theirs.its)));
  PetscFunctionReturn(PETSC_SUCCESS);
}

int main(int argc, char **args)
{
  Mat A;

  PetscFunctionBeginUser;
  PetscCall(SlepcInitialize(&argc, &args, NULL, help));
  PetscCall(PetscDLLibraryRegister_petscaijtcu());
  PetscCall(CreateChain(MATAIJTCU, ROWS, 5, 5, &A));
  for (size_t k = 0; k < PETSC_STATIC_ARRAY_LENGTH(cases); k++) PetscCall(Compare(A, &cases[k]));
  PetscCall(TestOthers(A));
  if (!SLEPC_VERSION_LT(3, 26, 0)) {
    PetscCall(TestRestart(A));
    PetscCall(TestNaN(A, 0, 2));
    PetscCall(TestNaN(A, 0.8, 50)); /* some have converged */
  }
  PetscCall(MatDestroy(&A));
  PetscCall(SlepcFinalize());
  return 0;
}

/*TEST

  build:
    requires: double

  test:
    nsize: {{1 2}}
    output_file: output/empty.out
    args: -use_gpu_aware_mpi 0

TEST*/
