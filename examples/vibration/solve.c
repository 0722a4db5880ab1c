#include "solve.h"
#include "generate.h"

enum {
  /*
     Factor of the machine precision and |K| for the least residual that can be reached. For the beam of 1 m with up to
     a million unknowns 10 to 30 was seen
  */
  ROUNDING = 100,
  RISE     = 100 /* growth of a residual after its minimum, beyond which it will not fall again */
};

/* Set an option that the user has not given */
static PetscErrorCode DefaultOption(const char name[], const char value[])
{
  PetscBool given;

  PetscFunctionBegin;
  PetscCall(PetscOptionsHasName(NULL, NULL, name, &given));
  if (!given) PetscCall(PetscOptionsSetValue(NULL, name, value));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*
   The default preconditioner of K. With a mesh: multigrid on coarser meshes. Without one: a factorization, if K is
   small enough to be factored on every process and nothing says what the coarse levels of algebraic multigrid must
   represent. Otherwise: algebraic multigrid.
*/
static PetscErrorCode DefaultPreconditioner(const Beam *b, Mat K, PetscReal norm, ST st, PC pc)
{
  MatNullSpace near;
  MatInfo      info;

  PetscFunctionBegin;
  if (b) {
    PetscCall(BeamMultigrid(b, K, pc));
    PetscFunctionReturn(PETSC_SUCCESS);
  }
  PetscCall(MatGetNearNullSpace(K, &near));
  PetscCall(MatGetInfo(K, MAT_GLOBAL_SUM, &info));
  if (near || info.nz_used > 1e6) {
    PetscCall(PCSetType(pc, PCGAMG));
    PetscCall(PCGAMGSetAggressiveLevels(pc, 0));
  } else {
    PetscCall(PCSetType(pc, PCREDUNDANT));
    /* The shift lets K be factored for a structure that is free to move, whose K is singular */
    PetscCall(STSetShift(st, -PETSC_SQRT_MACHINE_EPSILON * norm));
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*
   Options of the preconditioner in use. Multigrid must apply to a block of vectors at once. Richardson's iteration has
   a block form, Chebyshev's has not. With the row sums of absolute values as diagonal, the eigenvalues of the smoothed
   matrix are at most one, on every level of any symmetric matrix. So a scale below two is safe.
*/
static PetscErrorCode DefaultPreconditionerOptions(PC pc)
{
  PetscBool multigrid, redundant;

  PetscFunctionBegin;
  PetscCall(PetscObjectTypeCompareAny((PetscObject)pc, &multigrid, PCMG, PCGAMG, ""));
  PetscCall(PetscObjectTypeCompare((PetscObject)pc, PCREDUNDANT, &redundant));
  if (multigrid) {
    PetscCall(DefaultOption("-st_mg_levels_ksp_type", "richardson"));
    PetscCall(DefaultOption("-st_mg_levels_ksp_max_it", "4"));
    PetscCall(DefaultOption("-st_mg_levels_ksp_richardson_scale", "1.9"));
    PetscCall(DefaultOption("-st_mg_levels_pc_type", "jacobi"));
    PetscCall(DefaultOption("-st_mg_levels_pc_jacobi_type", "rowl1"));
  } else if (redundant) PetscCall(DefaultOption("-st_redundant_pc_type", "cholesky"));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*
   The convergence test. The residual is relative to the eigenvalue, as by EPS_CONV_REL, except for eigenvalues so
   small that rounding exceeds the tolerance. The eigenvalue itself has an error of the square of its residual and is
   not worse for it.
*/
static PetscErrorCode Converged(EPS eps, PetscScalar eigr, PetscScalar eigi, PetscReal residual, PetscReal *error, void *ctx)
{
  PetscReal rounding = *(PetscReal *)ctx, tol;

  PetscFunctionBegin;
  (void)eigi;
  PetscCall(EPSGetTolerances(eps, &tol, NULL));
  *error = residual / PetscMax(PetscAbsScalar(eigr), rounding / tol);
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* How many of the first n pairs this test let pass for rounding */
static PetscErrorCode CountRounded(EPS eps, PetscReal rounding, PetscInt n, PetscInt *rounded)
{
  EPSConv   conv;
  PetscReal tol;

  PetscFunctionBegin;
  *rounded = 0;
  PetscCall(EPSGetConvergenceTest(eps, &conv));
  PetscCall(EPSGetTolerances(eps, &tol, NULL));
  for (PetscInt i = 0; i < n && conv == EPS_CONV_USER; i++) {
    PetscScalar value;
    PetscReal   error;

    PetscCall(EPSGetEigenvalue(eps, i, &value, NULL));
    PetscCall(EPSGetErrorEstimate(eps, i, &error));
    if (error * PetscMax(PetscAbsScalar(value), rounding / tol) > tol * PetscAbsScalar(value)) ++*rounded;
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

typedef struct {
  PetscInt  converged;    /* at the last iteration */
  PetscReal least, error; /* of the first eigenvalue that has not converged: the least error so far, and the last one */
  PetscReal rounding;     /* of an eigenvalue that is zero */
  PetscBool check;        /* whether to look for eigenvalues below zero */
  PetscReal negative;
} Stagnation;

static PetscErrorCode StagnationMonitor(EPS eps, PetscInt its, PetscInt nconv, PetscScalar *eigr, PetscScalar *eigi,
  PetscReal *errest, PetscInt nest, void *ctx)
{
  Stagnation *s = (Stagnation *)ctx;

  PetscFunctionBegin;
  (void)eps, (void)its, (void)eigi;
  /* A Rayleigh quotient below zero shows that the smallest eigenvalue is no larger */
  for (PetscInt k = 0; s->check && k < nest; k++) {
    if (PetscRealPart(eigr[k]) < PetscMin(s->negative, -s->rounding)) s->negative = PetscRealPart(eigr[k]);
  }
  if (nconv >= nest) PetscFunctionReturn(PETSC_SUCCESS);
  if (nconv != s->converged) s->least = PETSC_MAX_REAL;
  s->converged = nconv;
  s->error     = errest[nconv];
  s->least     = PetscMin(s->least, s->error);
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*
   Stop when rounding dominates. As X converges, the block R that SLEPc's LOBPCG adds to it comes to lie in the span of
   X. The reason is that preconditioned residuals are largest in the softest modes, which are X, and are not made
   orthogonal to it. The Gram matrix of (X R P) is then singular to working precision. Residuals rise again, and some
   iterations later its Cholesky factorization fails.

   Stop also at an eigenvalue below zero. The preconditioners here are for matrices that have none.
*/
static PetscErrorCode StagnationTest(EPS eps, PetscInt its, PetscInt max_it, PetscInt nconv, PetscInt nev,
  EPSConvergedReason *reason, void *ctx)
{
  Stagnation *s = (Stagnation *)ctx;

  PetscFunctionBegin;
  PetscCall(EPSStoppingBasic(eps, its, max_it, nconv, nev, reason, NULL));
  if (s->negative < 0 || (*reason == EPS_CONVERGED_ITERATING && nconv == s->converged &&
    s->error > RISE * s->least)) *reason = EPS_DIVERGED_BREAKDOWN;
  PetscFunctionReturn(PETSC_SUCCESS);
}

typedef struct {
  PetscInt iteration, converged; /* at the last line */
} ProgressContext;

/* Print a line when an eigenvalue has converged, and every few iterations */
static PetscErrorCode Progress(EPS eps, PetscInt its, PetscInt nconv, PetscScalar *eigr, PetscScalar *eigi,
  PetscReal *errest, PetscInt nest, void *ctx)
{
  ProgressContext *last = (ProgressContext *)ctx;
  MPI_Comm         comm = PetscObjectComm((PetscObject)eps);
  PetscInt         nev;

  PetscFunctionBegin;
  (void)eigi;
  if (its < last->iteration + 5 && nconv <= last->converged) PetscFunctionReturn(PETSC_SUCCESS);
  last->iteration = its;
  last->converged = nconv;
  PetscCall(EPSGetDimensions(eps, &nev, NULL, NULL));
  PetscCall(PetscPrintf(comm, "  iteration %3" PetscInt_FMT ": converged %" PetscInt_FMT " of %" PetscInt_FMT, its,
    PetscMin(nconv, nev), nev));
  if (nconv < PetscMin(nev, nest)) PetscCall(PetscPrintf(comm, ", next eigenvalue %.6g with residual %.1e",
    (double)PetscRealPart(eigr[nconv]), (double)errest[nconv]));
  PetscCall(PetscPrintf(comm, "\n"));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode CreateSolver(const Beam *b, Mat K, Mat M, PetscReal *rounding, EPS *eps)
{
  ST        st;
  KSP       ksp;
  PC        pc;
  PetscInt  n, nev, bs;
  PetscReal norm;
  PetscBool lobpcg, shift;

  PetscFunctionBegin;
  PetscCall(MatGetSize(K, &n, NULL));
  PetscCall(MatNorm(K, NORM_INFINITY, &norm));
  *rounding = ROUNDING * PETSC_MACHINE_EPSILON * norm;
  PetscCall(EPSCreate(PetscObjectComm((PetscObject)K), eps));
  PetscCall(EPSSetOperators(*eps, K, M));
  PetscCall(EPSSetProblemType(*eps, M ? EPS_GHEP : EPS_HEP));
  PetscCall(EPSSetWhichEigenpairs(*eps, EPS_SMALLEST_REAL));
  PetscCall(DefaultOption("-eps_type", EPSLOBPCG));         /* EPSSetType() would make SLEPc 3.26 refuse other ST */
  PetscCall(DefaultOption("-bv_orthog_block", "chol"));     /* by products of blocks, not vector by vector */
  /* On the host, too: its results do not depend on the unit of K */
  PetscCall(DefaultOption("-eps_aijtcu_lobpcg", "always"));
  PetscCall(EPSSetDimensions(*eps, 8, PETSC_DETERMINE, PETSC_DETERMINE));
  PetscCall(EPSSetTolerances(*eps, PetscDefined(USE_REAL_SINGLE) ? 1e-3 : 1e-6, 500));
  PetscCall(EPSSetConvergenceTestFunction(*eps, Converged, rounding, NULL));
  PetscCall(EPSGetST(*eps, &st));
  PetscCall(STSetType(st, STPRECOND));
  PetscCall(STGetKSP(st, &ksp));
  PetscCall(KSPSetType(ksp, KSPPREONLY)); /* one cycle, not an inner solve */
  PetscCall(KSPGetPC(ksp, &pc));
  PetscCall(DefaultPreconditioner(b, K, norm, st, pc));
  PetscCall(EPSSetFromOptions(*eps));
  /* It counts as used, whatever the solver is */
  PetscCall(PetscOptionsHasName(NULL, NULL, "-eps_aijtcu_lobpcg", &lobpcg));
  PetscCall(PetscObjectTypeCompare((PetscObject)*eps, EPSLOBPCG, &lobpcg));
  PetscCall(PetscObjectTypeCompare((PetscObject)st, STSHIFT, &shift));
  if (M || !shift) PetscCall(DefaultPreconditionerOptions(pc)); /* else nothing is solved */
  if (lobpcg) {
    /*
       A few vectors more than wanted. The last wanted eigenvector converges by its distance to the first one outside
       the block
    */
    PetscCall(EPSGetDimensions(*eps, &nev, NULL, NULL));
    PetscCall(EPSLOBPCGGetBlockSize(*eps, &bs));
    if (bs == 0) PetscCall(EPSLOBPCGSetBlockSize(*eps, PetscMax(1, PetscMin(PetscMin(n / 5, 64), (nev + 7) / 4 * 4))));
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Noise that is the same for any number of processes */
static PetscErrorCode SetNoise(PetscInt n, BV X)
{
  PetscFunctionBegin;
  for (PetscInt k = 0; k < n; k++) {
    Vec          x;
    PetscScalar *a;
    PetscInt     first, end;

    PetscCall(BVGetColumn(X, k, &x));
    PetscCall(VecGetOwnershipRange(x, &first, &end));
    PetscCall(VecGetArrayWrite(x, &a));
    for (PetscInt i = first; i < end; i++) a[i - first] = GenerateValue(i, k);
    PetscCall(VecRestoreArrayWrite(x, &a));
    PetscCall(BVRestoreColumn(X, k, &x));
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*
   Start LOBPCG from smooth vectors: the preconditioner applied to a block of noise. With noise itself the first
   preconditioned residuals would be almost parallel.
*/
static PetscErrorCode SetInitialVectors(EPS eps, KSP ksp, Mat K, Mat M)
{
  PetscInt n;
  Vec      v, *x;
  BV       basis, noise, smooth;
  Mat      B, X;

  PetscFunctionBegin;
  PetscCall(EPSLOBPCGGetBlockSize(eps, &n));
  /*
     Blocks like those of the iteration. Multigrid keeps products that were set up for them, with their leading
     dimension, for the next block.
  */
  PetscCall(EPSGetBV(eps, &basis));
  PetscCall(BVDuplicateResize(basis, n, &noise));
  PetscCall(BVDuplicateResize(basis, n, &smooth));
  PetscCall(SetNoise(n, smooth));
  if (M) PetscCall(BVMatMult(smooth, M, noise));
  else PetscCall(BVCopy(smooth, noise));
  PetscCall(BVGetMat(noise, &B));
  PetscCall(BVGetMat(smooth, &X));
  PetscCall(KSPMatSolve(ksp, B, X));
  PetscCall(BVRestoreMat(smooth, &X));
  PetscCall(BVRestoreMat(noise, &B));
  PetscCall(MatCreateVecs(K, &v, NULL));
  PetscCall(VecDuplicateVecs(v, n, &x));
  PetscCall(VecDestroy(&v));
  for (PetscInt i = 0; i < n; i++) PetscCall(BVCopyVec(smooth, i, x[i]));
  PetscCall(EPSSetInitialSpace(eps, n, x));
  PetscCall(VecDestroyVecs(n, &x));
  PetscCall(BVDestroy(&noise));
  PetscCall(BVDestroy(&smooth));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*
   Solve K x = lambda M x for the smallest eigenvalues. M may be NULL for the identity. K and M are symmetric, M
   positive definite. SLEPc's options can change everything that is set here. With a profile, which may be NULL for
   none, the iteration waits for the device between its parts.
*/
PetscErrorCode Solve(const Beam *b, Mat K, Mat M, PetscBool quiet, Profile *profile, EPS *eps, SolveStatistics *s)
{
  ProgressContext    progress   = {0};
  Stagnation         stagnation = {.least = PETSC_MAX_REAL};
  PetscReal          rounding;
  ST                 st;
  KSP                ksp;
  PetscLogStage      stage;
  PetscLogEvent      event;
  PetscEventPerfInfo info;
  PetscBool          lobpcg;
  EPSConvergedReason reason;

  PetscFunctionBegin;
  PetscCall(PetscTime(&s->setup));
  PetscCall(CreateSolver(b, K, M, &rounding, eps));
  if (!quiet) PetscCall(EPSMonitorSet(*eps, Progress, &progress, NULL));
  PetscCall(PetscObjectTypeCompare((PetscObject)*eps, EPSLOBPCG, &lobpcg));
  if (lobpcg) {
    stagnation.rounding = rounding;
    stagnation.check    = (PetscBool)!b; /* a beam's matrices have none */
    PetscCall(EPSMonitorSet(*eps, StagnationMonitor, &stagnation, NULL));
    PetscCall(EPSSetStoppingTestFunction(*eps, StagnationTest, &stagnation, NULL));
  }
  PetscCall(EPSSetUp(*eps));
  PetscCall(EPSGetST(*eps, &st));
  if (lobpcg) { /* other solvers may use no preconditioner */
    PetscCall(STGetKSP(st, &ksp));
    PetscCall(KSPSetUp(ksp));
    PetscCall(SetInitialVectors(*eps, ksp, K, M));
  }
  PetscCall(PetscTime(&s->time));
  s->setup = s->time - s->setup;

  PetscCall(PetscLogStageRegister("Eigensolver", &stage));
  PetscCall(PetscLogStagePush(stage));
  if (profile) PetscCall(ProfileBegin(K, profile));
  PetscCall(EPSSolve(*eps));
  if (profile) PetscCall(ProfileEnd());
  PetscCall(PetscLogStagePop());
  PetscCall(PetscTimeSubtract(&s->time));
  s->time = -s->time;
  PetscCall(PetscLogEventGetId("MatMatMultNum", &event));
  PetscCall(PetscLogEventGetPerfInfo(stage, event, &info));
  s->products     = info.count;
  s->product_time = info.time;
  PetscCallMPI(MPIU_Allreduce(MPI_IN_PLACE, &s->product_time, 1, MPI_DOUBLE, MPI_MAX, PetscObjectComm((PetscObject)K)));
  PetscCall(PetscMemzero(&s->exchange, sizeof(s->exchange)));
  PetscCall(ExampleExchangeSince(PetscObjectComm((PetscObject)K), stage, &s->exchange));

  PetscCall(EPSGetDimensions(*eps, &s->wanted, NULL, NULL));
  PetscCall(EPSGetIterationNumber(*eps, &s->iterations));
  PetscCall(EPSGetConverged(*eps, &s->converged));
  s->converged = PetscMin(s->converged, s->wanted);
  PetscCall(CountRounded(*eps, rounding, s->converged, &s->rounded));
  PetscCall(EPSGetConvergedReason(*eps, &reason));
  s->stagnated = (PetscBool)(reason == EPS_DIVERGED_BREAKDOWN);
  s->negative  = stagnation.negative;
  PetscFunctionReturn(PETSC_SUCCESS);
}
