/*
   KSPRICHARDSON for a block. As PETSc's KSPMatSolve_Richardson() it has one test for the whole block, with the
   Frobenius norm. Without norms no process waits for another or for the device.
*/
#include "blockksp.h"

#if AIJTCU_HAVE_BLOCK
typedef struct {
  PetscReal scale;
  PetscBool self_scale;
  PetscErrorCode (*set_scale)(KSP, PetscReal);
  PetscErrorCode (*set_self_scale)(KSP, PetscBool);
} AIJTCURichardson;

enum {
  NORM = AIJTCU_SCALARS_OWN,
  SCALE,
  END
};

static PetscErrorCode KSPRichardsonSetScale_AIJTCU(KSP ksp, PetscReal scale)
{
  AIJTCUBlockKSP   *s;
  AIJTCURichardson *rich;

  PetscFunctionBegin;
  PetscCall(AIJTCUBlockGetKSP(ksp, &s));
  rich        = (AIJTCURichardson *)s->data;
  rich->scale = scale;
  PetscCall((*rich->set_scale)(ksp, scale));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* PETSc's function sets matsolve */
static PetscErrorCode KSPRichardsonSetSelfScale_AIJTCU(KSP ksp, PetscBool self_scale)
{
  AIJTCUBlockKSP   *s;
  AIJTCURichardson *rich;

  PetscFunctionBegin;
  PetscCall(AIJTCUBlockGetKSP(ksp, &s));
  rich             = (AIJTCURichardson *)s->data;
  rich->self_scale = self_scale;
  PetscCall((*rich->set_self_scale)(ksp, self_scale));
  if (ksp->setupstage != KSP_SETUP_NEW) PetscCall(AIJTCUBlockEnter(ksp, s));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode AIJTCUComposeRichardson(KSP ksp, AIJTCUBlockKSP *s)
{
  AIJTCURichardson *rich = (AIJTCURichardson *)s->data;
  PetscObject       obj  = (PetscObject)ksp;

  PetscFunctionBegin;
  rich->scale = 1;
  PetscCall(PetscObjectQueryFunction(obj, "KSPRichardsonSetScale_C", &rich->set_scale));
  PetscCall(PetscObjectQueryFunction(obj, "KSPRichardsonSetSelfScale_C", &rich->set_self_scale));
  PetscCall(PetscObjectComposeFunction(obj, "KSPRichardsonSetScale_C", KSPRichardsonSetScale_AIJTCU));
  PetscCall(PetscObjectComposeFunction(obj, "KSPRichardsonSetSelfScale_C", KSPRichardsonSetSelfScale_AIJTCU));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Whether KSPMatSolve_Richardson() would have the preconditioner iterate, which has iterations of its own */
static PetscErrorCode AIJTCURichardsonOwn(KSP ksp, const AIJTCURichardson *rich, PetscBool *own, PetscBool *block)
{
  Mat          P;
  MatNullSpace nullsp;

  PetscFunctionBegin;
  PetscCall(PCGetOperators(ksp->pc, NULL, &P));
  PetscCall(MatGetNullSpace(P, &nullsp));
  PetscCall(PCApplyRichardsonExists(ksp->pc, own));
  PetscCall(PCMatApplyRichardsonExists(ksp->pc, block));
  *own = (PetscBool)((*own || *block) && ksp->max_it > 0 && rich->scale == 1.0 && (ksp->converged == KSPConvergedDefault || ksp->converged == KSPConvergedSkip) && !ksp->transpose_solve && !nullsp);
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode AIJTCULacksRichardson(KSP ksp, AIJTCUBlockKSP *s, const char **why)
{
  const AIJTCURichardson *rich = (const AIJTCURichardson *)s->data;
  PetscBool               own, block;

  PetscFunctionBegin;
  PetscCall(AIJTCURichardsonOwn(ksp, rich, &own, &block));
  if (rich->self_scale) *why = "richardson scales itself";
  else if (own && !block) *why = "the preconditioner has iterations of its own for richardson, for one vector";
  PetscFunctionReturn(PETSC_SUCCESS);
}

static AIJTCUBlockNeeds AIJTCUNeedsRichardson(KSP ksp)
{
  (void)ksp;
  return (AIJTCUBlockNeeds){.nscalars = END, .nblocks = AIJTCU_BLOCK_OWN + 1};
}

/* The test of KSPMatSolve_Richardson() after n iterations, with the Frobenius norm of V */
static PetscErrorCode AIJTCUTestRichardson(KSP ksp, AIJTCUBlockKSP *s, PetscInt n, Mat V)
{
  AIJTCUColumns   *c = &s->columns;
  const PetscReal *norm;
  PetscReal        sum = 0;

  PetscFunctionBegin;
  PetscCall(AIJTCUColumnsNorms(s, V, NORM, &norm));
  for (PetscInt j = 0; j < c->N; j++) sum += PetscSqr(norm[j]);
  ksp->rnorm = PetscSqrtReal(sum);
  for (PetscInt j = 0; j < c->N; j++) c->rnorm[j] = ksp->rnorm;
  if (PetscIsInfOrNanReal(ksp->rnorm)) {
    for (PetscInt j = 0; j < c->N; j++) PetscCall(AIJTCUColumnStopNaN(ksp, s, j, n));
    PetscFunctionReturn(PETSC_SUCCESS);
  }
  PetscCall(KSPLogResidualHistory(ksp, ksp->rnorm));
  PetscCall((*ksp->converged)(ksp, n, ksp->rnorm, &ksp->reason, ksp->cnvP));
  if (ksp->reason) PetscCall(AIJTCUColumnsStop(ksp, s, n, ksp->reason));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* The preconditioner's own iterations */
static PetscErrorCode AIJTCUIterateRichardson(KSP ksp, AIJTCUBlockKSP *s, Mat B, Mat X)
{
  PetscInt                    its;
  PCRichardsonConvergedReason reason;
  Mat                         work;

  PetscFunctionBegin;
  PetscCall(AIJTCUBlockWork(s->ctx, AIJTCU_BLOCK_TEMP, &work));
  PetscCall(PCMatApplyRichardson(ksp->pc, B, X, work, ksp->rtol, ksp->abstol, ksp->divtol, ksp->max_it, ksp->guess_zero, &its, &reason));
  PetscCall(AIJTCUColumnsStop(ksp, s, its, (KSPConvergedReason)reason));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* A smoother with D as in AIJTCUBlockSmooth(): a step is a product and one pass over the blocks */
static PetscErrorCode AIJTCUSmoothRichardson(KSP ksp, AIJTCUBlockKSP *s, PetscInt dblock, Vec D, Mat B, Mat X)
{
  const AIJTCURichardson *rich = (const AIJTCURichardson *)s->data;
  Mat                     W;

  PetscFunctionBegin;
  PetscCall(AIJTCUBlockWork(s->ctx, AIJTCU_BLOCK_OWN, &W));
  for (PetscInt n = 0; n < ksp->max_it; n++) {
    const PetscBool zero = (PetscBool)(!n && ksp->guess_zero);

    if (!zero) PetscCall(AIJTCUBlockMatMult(ksp, s, X, W));
    PetscCall(AIJTCUBlockSmooth(s->ctx, X, 0, NULL, zero ? 0 : 1, X, rich->scale, dblock, D, B, zero ? NULL : W));
  }
  PetscCall(AIJTCUColumnsSmoothed(ksp, s, X));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode AIJTCUSolveRichardson(KSP ksp, AIJTCUBlockKSP *s, Mat B, Mat X)
{
  const AIJTCUBlockCtx    ctx   = s->ctx;
  const AIJTCURichardson *rich  = (const AIJTCURichardson *)s->data;
  const PetscBool         norms = (PetscBool)(ksp->normtype != KSP_NORM_NONE), early = (PetscBool)(ksp->normtype == KSP_NORM_PRECONDITIONED);
  PetscBool               own, block;
  Mat                     R, Z, r;
  PetscInt                dblock;
  Vec                     D;

  PetscFunctionBegin;
  PetscCall(AIJTCURichardsonOwn(ksp, rich, &own, &block));
  PetscCall(AIJTCUBlockSmootherDiagonal(ksp, s, &dblock, &D));
  if (own || D) {
    PetscCall(own ? AIJTCUIterateRichardson(ksp, s, B, X) : AIJTCUSmoothRichardson(ksp, s, dblock, D, B, X));
    PetscFunctionReturn(PETSC_SUCCESS);
  }
  PetscCall(AIJTCUBlockWork(ctx, AIJTCU_BLOCK_TEMP, &Z));
  PetscCall(AIJTCUBlockWork(ctx, AIJTCU_BLOCK_OWN, &R));
  PetscCall(AIJTCUColumnsScaled(s, 1, (PetscScalar[]){rich->scale}, SCALE));
  PetscCall(AIJTCUBlockResidual(ksp, s, ksp->guess_zero, B, X, R, &r));
  ksp->reason = KSP_CONVERGED_ITERATING;
  for (PetscInt n = 0;; n++) {
    const PetscBool last = (PetscBool)(n >= ksp->max_it);

    if (early) PetscCall(AIJTCUBlockPCApply(ksp, r, Z));
    if (norms) PetscCall(AIJTCUTestRichardson(ksp, s, n, early ? Z : r));
    if (last) PetscCall(AIJTCUColumnsStop(ksp, s, n, norms ? KSP_DIVERGED_ITS : KSP_CONVERGED_ITS));
    if (!s->columns.nactive) break;
    if (!early) PetscCall(AIJTCUBlockPCApply(ksp, r, Z));
    PetscCall(AIJTCUBlockMAXPY(ctx, X, 1, 1, AIJTCUBlockScalars(ctx, SCALE), &Z));
    if (norms || n + 1 < ksp->max_it) PetscCall(AIJTCUBlockResidual(ksp, s, PETSC_FALSE, B, X, R, &r));
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode (*original)(KSP);

static PetscErrorCode KSPCreate_Richardson_AIJTCU(KSP ksp)
{
  PetscFunctionBegin;
  PetscCall(AIJTCUBlockCreateKSP(ksp, &AIJTCUBlockRichardson));
  PetscFunctionReturn(PETSC_SUCCESS);
}

const AIJTCUBlockMethod AIJTCUBlockRichardson = {
  .name     = KSPRICHARDSON,
  .create   = KSPCreate_Richardson_AIJTCU,
  .original = &original,
  .size     = sizeof(AIJTCURichardson),
  .compose  = AIJTCUComposeRichardson,
  .lacks    = AIJTCULacksRichardson,
  .needs    = AIJTCUNeedsRichardson,
  .solve    = AIJTCUSolveRichardson,
  .matsolve = PETSC_TRUE};
#endif
