#include "trial.h"
#include "generate.h"
#include "machine.h"
#include "pathtaken.h"

enum {
  ITERATIONS = 40,
  /* iterations before the time is taken. The last has residuals and directions, so everything was called once */
  WARM_UP = 3
};

/*
   Vectors for a block to start from, the same for matrices of all types. There are two blocks of them; otherwise
   LOBPCG makes the second one itself, in the solve.
*/
PetscErrorCode TrialStart(Mat A, PetscInt block, Vec *start[])
{
  Vec      x;
  PetscInt first, end;

  PetscFunctionBegin;
  PetscCall(MatCreateVecs(A, &x, NULL));
  PetscCall(VecGetOwnershipRange(x, &first, &end));
  PetscCall(VecDuplicateVecs(x, 2 * block, start));
  PetscCall(VecDestroy(&x));
  for (PetscInt k = 0; k < 2 * block; k++) {
    PetscScalar *a;

    PetscCall(VecGetArrayWrite((*start)[k], &a));
    for (PetscInt i = first; i < end; i++) a[i - first] = GenerateValue(i, -1 - k);
    PetscCall(VecRestoreArrayWrite((*start)[k], &a));
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* The eigenvalues of the last iteration. SLEPc gives only those that have converged */
static PetscErrorCode KeepEigenvalues(EPS eps, PetscInt its, PetscInt nconv, PetscScalar *eigr, PetscScalar *eigi, PetscReal *errest, PetscInt nest, void *ctx)
{
  PetscReal *eigenvalue = (PetscReal *)ctx;
  PetscInt   block;

  PetscFunctionBegin;
  (void)its, (void)nconv, (void)eigi, (void)errest;
  PetscCall(EPSLOBPCGGetBlockSize(eps, &block));
  for (PetscInt k = 0; k < PetscMin(block, nest); k++) eigenvalue[k] = PetscRealPart(eigr[k]);
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* No preconditioner, and a tolerance that is never met. SLEPc's options can change both */
static PetscErrorCode CreateSolver(Mat A, const TrialOptions *o, EPS *eps)
{
  ST                 st;
  KSP                ksp;
  PC                 pc;
  BV                 bv;
  BVOrthogType       type;
  BVOrthogRefineType refine;
  BVOrthogBlockType  block;
  PetscReal          eta;

  PetscFunctionBegin;
  PetscCall(EPSCreate(PetscObjectComm((PetscObject)A), eps));
  PetscCall(EPSSetOperators(*eps, A, NULL));
  PetscCall(EPSSetProblemType(*eps, EPS_HEP));
  PetscCall(EPSSetWhichEigenpairs(*eps, EPS_SMALLEST_REAL));
  PetscCall(EPSSetType(*eps, EPSLOBPCG));
  PetscCall(EPSLOBPCGSetBlockSize(*eps, o->block));
  PetscCall(EPSSetTolerances(*eps, PETSC_MACHINE_EPSILON * PETSC_MACHINE_EPSILON, ITERATIONS));
  PetscCall(EPSGetST(*eps, &st));
  PetscCall(STSetType(st, STPRECOND));
  PetscCall(STGetKSP(st, &ksp));
  PetscCall(KSPSetType(ksp, KSPPREONLY));
  PetscCall(KSPGetPC(ksp, &pc));
  PetscCall(PCSetType(pc, PCNONE));
  PetscCall(PetscOptionsSetValue(NULL, "-eps_aijtcu_lobpcg", o->mode));
  PetscCall(EPSSetFromOptions(*eps));
  PetscCall(PetscOptionsClearValue(NULL, "-eps_aijtcu_lobpcg"));
  PetscCall(EPSGetBV(*eps, &bv));
  PetscCall(BVGetOrthogonalization(bv, &type, &refine, &eta, &block));
  PetscCall(BVSetOrthogonalization(bv, type, refine, eta, o->orthogonalization));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* The time when all processes are here, in s */
static PetscErrorCode TimeOfAll(Mat A, PetscLogDouble *seconds)
{
  PetscFunctionBegin;
  PetscCall(ExampleSynchronize(A));
  PetscCallMPI(MPI_Barrier(PetscObjectComm((PetscObject)A)));
  PetscCall(ExampleTime(A, seconds));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Set up, and solve once. If most is not 0 it limits the iterations. With a profile, fill that */
static PetscErrorCode SolveOnce(Mat A, Vec start[], const TrialOptions *o, PetscInt most, Profile *profile, Trial *trial, PetscReal *seconds)
{
  EPS            eps;
  ST             st;
  KSP            ksp;
  PetscLogDouble begin, end;

  PetscFunctionBegin;
  PetscCall(CreateSolver(A, o, &eps));
  if (most) PetscCall(EPSSetTolerances(eps, PETSC_CURRENT, most));
  PetscCall(EPSMonitorSet(eps, KeepEigenvalues, trial->eigenvalue, NULL));
  PetscCall(EPSSetInitialSpace(eps, 2 * o->block, start));
  PetscCall(EPSSetUp(eps));
  PetscCall(EPSGetST(eps, &st));
  PetscCall(STGetKSP(st, &ksp));
  PetscCall(KSPSetUp(ksp));
  if (profile) PetscCall(ProfileBegin(A, profile));
  PetscCall(TimeOfAll(A, &begin));
  PetscCall(EPSSolve(eps));
  PetscCall(TimeOfAll(A, &end));
  if (profile) PetscCall(ProfileEnd());
  *seconds = (PetscReal)(end - begin);
  PetscCall(EPSGetIterationNumber(eps, &trial->iterations));
  PetscCall(EPSDestroy(&eps));
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode TrialRun(Mat A, Vec start[], const TrialOptions *o, Trial *trial)
{
  MatAIJTCUCounts before;
  PetscReal      *seconds, unused;

  PetscFunctionBegin;
  PetscCall(PetscMalloc1(o->repeat, &seconds));
  PetscCall(PetscCalloc1(o->block, &trial->eigenvalue));
  if (!o->once) PetscCall(SolveOnce(A, start, o, WARM_UP, NULL, trial, &unused));
  PetscCall(ExamplePathCounts(A, &before));
  for (PetscInt k = 0; k < o->repeat; k++) PetscCall(SolveOnce(A, start, o, 0, NULL, trial, &seconds[k]));
  PetscCall(ExamplePathTaken(A, &before, trial->path, sizeof(trial->path)));
  PetscCall(SpreadOf(o->repeat, seconds, &trial->solve));
  PetscCall(SolveOnce(A, start, o, 0, &trial->profile, trial, &unused));
  PetscCall(PetscFree(seconds));
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode TrialDestroy(Trial *trial)
{
  PetscFunctionBegin;
  PetscCall(PetscFree(trial->eigenvalue));
  PetscFunctionReturn(PETSC_SUCCESS);
}
