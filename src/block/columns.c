/*
   The columns of a block solve: each converges or diverges by itself, as in KSPSolve() for it alone.

   A column that has stopped is no longer worked on: its coefficients are zero. The arrays live on the host. Which
   columns are worked on is a scalar of the solve as well.

   What the block form cannot do is solved column by column, as KSPMatSolve() does it for a KSP without matsolve.
*/
#include "blockksp.h"

#if AIJTCU_HAVE_BLOCK
PetscErrorCode AIJTCUColumnsFree(AIJTCUColumns *c)
{
  PetscFunctionBegin;
  PetscCall(PetscFree6(c->active, c->its, c->rnorm, c->rnorm0, c->norm, c->reason));
  PetscCall(PetscFree2(c->column, c->from));
  PetscCall(PetscFree(c->host));
  PetscCall(PetscMemzero(c, sizeof(*c)));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode AIJTCUColumnsResize(AIJTCUColumns *c, PetscInt N)
{
  PetscFunctionBegin;
  if (N > c->allocated) {
    PetscCall(AIJTCUColumnsFree(c));
    /* Three scalars of a column go to the solve at once */
    PetscCall(PetscMalloc6(3 * N, &c->active, N, &c->its, N, &c->rnorm, N, &c->rnorm0, N, &c->norm, N, &c->reason));
    PetscCall(PetscMalloc2(N, &c->column, N, &c->from));
    c->allocated = N;
  }
  c->N = N;
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*
   Scalars of the solve: arrays k to k + count - 1. The one wait for the device of an iteration. It can be cut in two:
   AIJTCUColumnsFetchEnd() does not wait for what came behind the beginning. Of nsums arrays from array first on it
   gives the sums over all processes
*/
PetscErrorCode AIJTCUColumnsFetchBegin(AIJTCUBlockKSP *s, PetscInt k, PetscInt count)
{
  AIJTCUColumns *c = &s->columns;

  PetscFunctionBegin;
  if (count * c->N > c->nhost) {
    PetscCall(PetscFree(c->host));
    PetscCall(PetscMalloc1(count * c->N, &c->host));
    c->nhost = count * c->N;
  }
  PetscCall(AIJTCUBlockToHostBegin(s->ctx, count, AIJTCUBlockScalars(s->ctx, k)));
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode AIJTCUColumnsFetchEnd(AIJTCUBlockKSP *s, PetscInt k, PetscInt count, PetscInt first, PetscInt nsums, const PetscScalar **host)
{
  AIJTCUColumns *c = &s->columns;

  PetscFunctionBegin;
  PetscCall(AIJTCUBlockToHostEnd(s->ctx, count, AIJTCUBlockScalars(s->ctx, k), c->host));
  if (nsums) PetscCall(AIJTCUBlockSum(s->ctx, nsums, c->host + (first - k) * c->N));
  *host = c->host;
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode AIJTCUColumnsFetch(AIJTCUBlockKSP *s, PetscInt k, PetscInt count, const PetscScalar **host)
{
  PetscFunctionBegin;
  PetscCall(AIJTCUColumnsFetchBegin(s, k, count));
  PetscCall(AIJTCUColumnsFetchEnd(s, k, count, k, 0, host));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* With a nonzero guess the default test compares with norms of B: those that the method tests */
static PetscErrorCode AIJTCUColumnsCompareWith(KSP ksp, AIJTCUBlockKSP *s, Mat B)
{
  AIJTCUColumns     *c = &s->columns;
  const PetscScalar *dots;
  Mat                Z = B;

  PetscFunctionBegin;
  PetscCall(PetscInfo(ksp, "aijtcu: nonzero guess, computing norms of the right-hand sides\n"));
  if (ksp->normtype != KSP_NORM_UNPRECONDITIONED && ksp->pc_side != PC_RIGHT) {
    PetscCall(AIJTCUBlockWork(s->ctx, AIJTCU_BLOCK_TEMP, &Z));
    PetscCall(AIJTCUBlockPCApply(ksp, B, Z));
  }
  PetscCall(AIJTCUBlockDots(s->ctx, 1, ksp->normtype == KSP_NORM_NATURAL ? &B : &Z, Z, AIJTCUBlockScalars(s->ctx, AIJTCU_SCALARS_OWN)));
  PetscCall(AIJTCUColumnsFetch(s, AIJTCU_SCALARS_OWN, 1, &dots));
  for (PetscInt j = 0; j < c->N; j++) c->rnorm0[j] = PetscSqrtReal(PetscAbsScalar(dots[j]));
  c->rnorm0_set = PETSC_TRUE;
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* All columns of a block begin. The first of them is this one of all right-hand sides */
PetscErrorCode AIJTCUColumnsBegin(KSP ksp, AIJTCUBlockKSP *s, PetscInt first, PetscInt N, Mat B)
{
  AIJTCUColumns *c = &s->columns;

  PetscFunctionBegin;
  PetscCall(AIJTCUColumnsResize(c, N));
  c->rnorm0_set = PETSC_FALSE;
  c->narrow     = PETSC_FALSE;
  c->first      = first;
  c->largest    = 0;
  c->waited     = 0;
  if (!s->method->matsolve && ksp->converged == KSPConvergedDefault && ksp->normtype != KSP_NORM_NONE && !ksp->guess_zero && !((KSPConvergedDefaultCtx *)ksp->cnvP)->initialrtol) {
    PetscCall(AIJTCUColumnsCompareWith(ksp, s, B));
  }
  for (PetscInt j = 0; j < N; j++) {
    c->active[j]         = 1;
    c->active[N + j]     = -1;
    c->active[2 * N + j] = 0;
    c->column[j]         = j;
    c->its[j]            = 0;
    c->rnorm[j]          = 0;
    c->reason[j]         = KSP_CONVERGED_ITERATING;
  }
  PetscCall(AIJTCUBlockToScalars(s->ctx, 3, c->active, AIJTCUBlockScalars(s->ctx, AIJTCU_SCALARS_ACTIVE)));
  c->nactive = N;
  c->changed = PETSC_FALSE;
  ksp->its   = 0;
  ksp->rnorm = 0;
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* The scalars that say which columns are worked on */
PetscErrorCode AIJTCUColumnsActive(AIJTCUBlockKSP *s, const PetscScalar **active)
{
  AIJTCUColumns *c = &s->columns;

  PetscFunctionBegin;
  *active = AIJTCUBlockScalars(s->ctx, AIJTCU_SCALARS_ACTIVE);
  if (c->changed) PetscCall(AIJTCUBlockToScalars(s->ctx, 1, c->active, AIJTCUBlockScalars(s->ctx, AIJTCU_SCALARS_ACTIVE)));
  c->changed = PETSC_FALSE;
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Arrays k, k + 1 and so on of the scalars: the same number for every column that is worked on, zero for others */
PetscErrorCode AIJTCUColumnsScaled(AIJTCUBlockKSP *s, PetscInt count, const PetscScalar value[], PetscInt k)
{
  AIJTCUColumns *c     = &s->columns;
  PetscScalar   *given = c->active + c->N; /* there is room for two */

  PetscFunctionBegin;
  for (PetscInt i = 0; i < count; i++) {
    for (PetscInt j = 0; j < c->N; j++) given[i * c->N + j] = c->reason[j] ? 0 : value[i];
  }
  PetscCall(AIJTCUBlockToScalars(s->ctx, count, given, AIJTCUBlockScalars(s->ctx, k)));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Norms of the columns of X. Array k of the scalars is for them */
PetscErrorCode AIJTCUColumnsNorms(AIJTCUBlockKSP *s, Mat X, PetscInt k, const PetscReal **norm)
{
  AIJTCUColumns     *c = &s->columns;
  const PetscScalar *dots;

  PetscFunctionBegin;
  PetscCall(AIJTCUBlockDots(s->ctx, 1, &X, X, AIJTCUBlockScalars(s->ctx, k)));
  PetscCall(AIJTCUColumnsFetch(s, k, 1, &dots));
  for (PetscInt j = 0; j < c->N; j++) c->norm[j] = PetscSqrtReal(PetscRealPart(dots[j]));
  *norm = c->norm;
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* cg and bcgs make one iteration also where there should be none. What it ends with does not count, as in PETSc */
PetscErrorCode AIJTCUColumnStop(KSP ksp, AIJTCUBlockKSP *s, PetscInt j, PetscInt its, KSPConvergedReason reason)
{
  AIJTCUColumns *c = &s->columns;

  PetscFunctionBegin;
  if (its > ksp->max_it && reason != KSP_DIVERGED_NANORINF && reason != KSP_DIVERGED_PC_FAILED) reason = KSP_DIVERGED_ITS;
  PetscCall(PetscInfo(ksp, "aijtcu: right-hand side %" PetscInt_FMT " ends with %s at iteration %" PetscInt_FMT ", residual norm %14.12e\n", c->column[j], KSPConvergedReasons[reason], its, (double)c->rnorm[j]));
  c->reason[j] = reason;
  c->its[j]    = its;
  c->active[j] = 0;
  c->changed   = PETSC_TRUE;
  c->nactive--;
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* The columns that are still worked on end for a reason */
PetscErrorCode AIJTCUColumnsStop(KSP ksp, AIJTCUBlockKSP *s, PetscInt its, KSPConvergedReason reason)
{
  AIJTCUColumns *c = &s->columns;

  PetscFunctionBegin;
  for (PetscInt j = 0; j < c->N; j++) {
    if (!c->reason[j]) PetscCall(AIJTCUColumnStop(ksp, s, j, its, reason));
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*
   The end of a smoother whose steps are AIJTCUBlockSmooth(). If the preconditioner has failed on this process, X is
   infinite, as by AIJTCUBlockResidual()
*/
PetscErrorCode AIJTCUColumnsSmoothed(KSP ksp, AIJTCUBlockKSP *s, Mat X)
{
  PetscFunctionBegin;
  if (ksp->reason == KSP_DIVERGED_PC_FAILED) PetscCall(MatFlag(X, 1));
  PetscCall(AIJTCUColumnsStop(ksp, s, ksp->max_it, KSP_CONVERGED_ITS));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* What a column ends with whose numbers are not finite any more: the same on all processes */
static PetscErrorCode AIJTCUReasonNaN(KSP ksp, KSPConvergedReason *reason)
{
  PCFailedReason failed;

  PetscFunctionBegin;
  PetscCall(PCReduceFailedReason(ksp->pc));
  PetscCall(PCGetFailedReason(ksp->pc, &failed));
  *reason = failed ? KSP_DIVERGED_PC_FAILED : KSP_DIVERGED_NANORINF;
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode AIJTCUColumnStopNaN(KSP ksp, AIJTCUBlockKSP *s, PetscInt j, PetscInt its)
{
  KSPConvergedReason reason;

  PetscFunctionBegin;
  PetscCall(AIJTCUReasonNaN(ksp, &reason));
  PetscCall(AIJTCUColumnStop(ksp, s, j, its, reason));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* KSPConvergedDefault() or KSPConvergedSkip() for a column. With any of them a norm that is not finite ends it */
PetscErrorCode AIJTCUColumnTest(KSP ksp, AIJTCUBlockKSP *s, PetscInt j, PetscInt n, PetscReal norm, KSPConvergedReason *reason)
{
  const KSPConvergedDefaultCtx *ctx = (const KSPConvergedDefaultCtx *)ksp->cnvP;
  AIJTCUColumns                *c   = &s->columns;
  PetscReal                     ttol;

  PetscFunctionBegin;
  *reason = KSP_CONVERGED_ITERATING;
  if (ksp->normtype != KSP_NORM_NONE && PetscIsInfOrNanReal(norm)) {
    PetscCall(AIJTCUReasonNaN(ksp, reason));
    PetscFunctionReturn(PETSC_SUCCESS);
  }
  if (ksp->converged == KSPConvergedSkip || ctx->convmaxits) {
    if (n >= ksp->max_it) *reason = KSP_CONVERGED_ITS;
  }
  if (*reason || ksp->converged == KSPConvergedSkip || ksp->normtype == KSP_NORM_NONE) PetscFunctionReturn(PETSC_SUCCESS);
  if (!n) {
    if (!c->rnorm0_set || !c->rnorm0[j]) c->rnorm0[j] = norm; /* also with a nonzero guess for zeros */
    else if (ctx->mininitialrtol) c->rnorm0[j] = PetscMin(c->rnorm0[j], norm);
  }
  if (n <= ksp->chknorm || n < ksp->min_it) PetscFunctionReturn(PETSC_SUCCESS);
  ttol = PetscMax(ksp->rtol * c->rnorm0[j], ksp->abstol);
  if (norm <= ttol) *reason = norm < ksp->abstol ? KSP_CONVERGED_ATOL : KSP_CONVERGED_RTOL;
  else if (norm >= ksp->divtol * c->rnorm0[j]) *reason = KSP_DIVERGED_DTOL;
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*
   Test the columns that are worked on with their norms after n iterations. its is the number of iterations of a column
   that ends. The largest norm of all columns goes to the history.
*/
PetscErrorCode AIJTCUColumnsTest(KSP ksp, AIJTCUBlockKSP *s, PetscInt n, PetscInt its, const PetscReal norm[])
{
  PetscReal worst;

  PetscFunctionBegin;
  PetscCall(AIJTCUColumnsTestAgain(ksp, s, n, its, norm, &worst));
  PetscCall(KSPLogResidualHistory(ksp, worst));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* The same for an iteration that is in the history already. worst, which may be NULL, gets the largest norm */
PetscErrorCode AIJTCUColumnsTestAgain(KSP ksp, AIJTCUBlockKSP *s, PetscInt n, PetscInt its, const PetscReal norm[], PetscReal *worst)
{
  AIJTCUColumns *c       = &s->columns;
  PetscReal      largest = c->largest;

  PetscFunctionBegin;
  for (PetscInt j = 0; j < c->N; j++) {
    KSPConvergedReason reason;

    if (!c->reason[j]) {
      c->rnorm[j] = norm[j];
      PetscCall(AIJTCUColumnTest(ksp, s, j, n, norm[j], &reason));
      if (reason) PetscCall(AIJTCUColumnStop(ksp, s, j, its, reason));
    }
    if (c->rnorm[j] > largest) largest = c->rnorm[j];
  }
  if (worst) *worst = largest;
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode AIJTCUResultsFree(AIJTCUResults *r)
{
  PetscFunctionBegin;
  PetscCall(PetscFree4(r->its, r->rnorm, r->rnorm0, r->reason));
  r->N = r->allocated = 0;
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode AIJTCUResultsBegin(AIJTCUResults *r, PetscInt N)
{
  PetscFunctionBegin;
  if (N > r->allocated) {
    PetscCall(AIJTCUResultsFree(r));
    PetscCall(PetscMalloc4(N, &r->its, N, &r->rnorm, N, &r->rnorm0, N, &r->reason));
    r->allocated = N;
  }
  r->N = N;
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*
   The column that speaks for all: one that has diverged, for the gravest reason, or, if all have converged, the one
   with most iterations. The first of several.
*/
static PetscInt AIJTCUResultsWorst(const AIJTCUResults *r)
{
  PetscInt worst = 0;

  for (PetscInt j = 1; j < r->N; j++) {
    const KSPConvergedReason reason = r->reason[j], gravest = r->reason[worst];

    if (reason < 0 || gravest < 0 ? reason < gravest : r->its[j] > r->its[worst]) worst = j;
  }
  return worst;
}

/* The KSP gets the largest number of iterations, and the reason of the worst column */
PetscErrorCode AIJTCUResultsGive(KSP ksp, const AIJTCUResults *r)
{
  const PetscInt worst = AIJTCUResultsWorst(r);

  PetscFunctionBegin;
  ksp->its    = 0;
  ksp->reason = KSP_CONVERGED_ITS; /* for no columns */
  if (!r->N) PetscFunctionReturn(PETSC_SUCCESS);
  for (PetscInt j = 0; j < r->N; j++) ksp->its = PetscMax(ksp->its, r->its[j]);
  ksp->reason = r->reason[worst];
  ksp->rnorm  = r->rnorm[worst];
  ksp->rnorm0 = r->rnorm0[worst];
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* How the columns fare goes to the results. Those of a narrow block may have left when it is called again */
PetscErrorCode AIJTCUColumnsSave(AIJTCUBlockKSP *s)
{
  const AIJTCUColumns *c = &s->columns;
  AIJTCUResults       *r = &s->results;

  PetscFunctionBegin;
  for (PetscInt j = 0; j < c->N; j++) {
    const PetscInt k = c->first + c->column[j];

    r->its[k]    = c->its[j];
    r->rnorm[k]  = c->rnorm[j];
    r->rnorm0[k] = c->rnorm0[j];
    r->reason[k] = c->reason[j];
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*
   The end of a block solve with X. An outer solver sees that the preconditioner failed by what is not finite, as in
   KSPSolve()
*/
PetscErrorCode AIJTCUColumnsEnd(KSP ksp, AIJTCUBlockKSP *s, Mat X)
{
  const KSPConvergedReason *reason = s->results.reason + s->columns.first;
  Vec                       x;

  PetscFunctionBegin;
  PetscCall(AIJTCUColumnsSave(s));
  for (PetscInt j = 0; j < X->cmap->N; j++) {
    PetscCheck(reason[j], PetscObjectComm((PetscObject)ksp), PETSC_ERR_PLIB, "Block solver of %s ended without a reason for right-hand side %" PetscInt_FMT, s->method->name, j);
    if (reason[j] != KSP_DIVERGED_PC_FAILED) continue;
    PetscCall(MatDenseGetColumnVecWrite(X, j, &x));
    PetscCall(VecFlag(x, 1));
    PetscCall(MatDenseRestoreColumnVecWrite(X, j, &x));
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* What KSPMatSolve() shows once for a block is not shown for each column */
static void AIJTCUHideViews(KSP ksp)
{
  ksp->convergedreasonviewer = NULL;
  ksp->numberreasonviews     = 0;
  ksp->view = ksp->viewRate = ksp->viewFinalRes = ksp->viewMat = ksp->viewPMat = ksp->viewRhs = ksp->viewSol = PETSC_FALSE;
}

static void AIJTCUShowViews(KSP ksp, const struct _p_KSP *kept)
{
  ksp->convergedreasonviewer = kept->convergedreasonviewer;
  ksp->numberreasonviews     = kept->numberreasonviews;
  ksp->view                  = kept->view;
  ksp->viewRate              = kept->viewRate;
  ksp->viewFinalRes          = kept->viewFinalRes;
  ksp->viewMat               = kept->viewMat;
  ksp->viewPMat              = kept->viewPMat;
  ksp->viewRhs               = kept->viewRhs;
  ksp->viewSol               = kept->viewSol;
}

static PetscErrorCode AIJTCUSolveColumns(KSP ksp, AIJTCUResults *r, Mat B, Mat X)
{
  const PetscBool transpose = ksp->transpose.solve_requested;
  Vec             b, x;

  PetscFunctionBegin;
  for (PetscInt j = 0; j < r->N; j++) {
    const PetscBool write = ksp->guess_zero; /* KSPGuess may say otherwise for the next */

    PetscCall(MatDenseGetColumnVecRead(B, j, &b));
    PetscCall(write ? MatDenseGetColumnVecWrite(X, j, &x) : MatDenseGetColumnVec(X, j, &x));
    PetscCall(transpose ? KSPSolveTranspose(ksp, b, x) : KSPSolve(ksp, b, x));
    PetscCall(write ? MatDenseRestoreColumnVecWrite(X, j, &x) : MatDenseRestoreColumnVec(X, j, &x));
    PetscCall(MatDenseRestoreColumnVecRead(B, j, &b));
    r->reason[j] = ksp->reason;
    r->its[j]    = ksp->its;
    r->rnorm[j]  = ksp->rnorm;
    r->rnorm0[j] = ksp->rnorm0;
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Solve with one right-hand side after the other */
PetscErrorCode AIJTCUColumnByColumn(KSP ksp, AIJTCUBlockKSP *s, Mat B, Mat X)
{
  const struct _p_KSP kept = *ksp;
  PetscErrorCode      ierr;

  PetscFunctionBegin;
  AIJTCUHideViews(ksp);
  ierr = AIJTCUSolveColumns(ksp, &s->results, B, X);
  AIJTCUShowViews(ksp, &kept);
  PetscCall(ierr);
  PetscCall(AIJTCUResultsGive(ksp, &s->results));
  PetscFunctionReturn(PETSC_SUCCESS);
}
#endif
