/*
   KSPCG for a block: each column as in KSPSolve_CG(), complex ones with a Hermitian matrix.

   The scalars of an iteration stay where the blocks are. One copy of them to the host serves all tests. What needs
   none of these tests comes behind that copy: a device makes it while the host tests. With M a diagonal, on one
   process, that is the product with the next direction: the rest of an iteration is one kernel, AIJTCUBlockCGIterate(),
   which makes the next direction of all columns. For a column that turns out to have ended that is in vain, and its
   step is zero. Else it is the step of X alone.

   A column that must not be changed by the step before these tests has a step of zero: its p^T A p, or its r^T M r, is
   zero or has changed its sign.

   Passes over a block, with M a diagonal: 5 for the step of X and the direction, 2 of the product with A, 2 for
   p^T A p, 3 for R and its sums. On a device what L2 keeps from one to the next is read there: iterate.cu.
*/
#include "blockksp.h"

#if AIJTCU_HAVE_BLOCK
/* Scalars. Those of two iterations take turns: the second are at SECOND. NORM follows BETA, both in one reduction */
enum {
  BETA = AIJTCU_SCALARS_OWN, /* r^T M r */
  NORM,                      /* square of the norm, or r^T M r */
  DPI,                       /* p^T A p */
  SECOND,
  STEP = BETA + 2 * (SECOND - BETA), /* what a direction is multiplied by */
  KEPT,                              /* r^T M r, p^T A p where they have the sign of before */
  END  = KEPT + 2,
  TURN = END /* of AIJTCUBlockCGIterate(): one number */
};

enum { /* work blocks */
  BLOCK_Z = AIJTCU_BLOCK_TEMP,
  BLOCK_R = AIJTCU_BLOCK_OWN,
  BLOCK_P,
  BLOCK_W, /* A P */
  BLOCKS
};

static PetscErrorCode KSPCGSetRadius_AIJTCU(KSP ksp, PetscReal radius)
{
  AIJTCUCGSettings *cg;

  PetscFunctionBegin;
  PetscCall(AIJTCUBlockGetData(ksp, &cg));
  cg->radius = radius;
  PetscCall((*cg->set_radius)(ksp, radius));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode KSPCGSetObjectiveTarget_AIJTCU(KSP ksp, PetscReal target)
{
  AIJTCUCGSettings *cg;

  PetscFunctionBegin;
  PetscCall(AIJTCUBlockGetData(ksp, &cg));
  cg->target = target;
  PetscCall((*cg->set_target)(ksp, target));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode KSPCGUseSingleReduction_AIJTCU(KSP ksp, PetscBool flg)
{
  AIJTCUCGSettings *cg;

  PetscFunctionBegin;
  PetscCall(AIJTCUBlockGetData(ksp, &cg));
  cg->single_reduction = flg;
  PetscCall((*cg->set_single_reduction)(ksp, flg));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Learn of what is set. The settings come first in the data of the method */
PetscErrorCode AIJTCUComposeCG(KSP ksp, AIJTCUBlockKSP *s)
{
  AIJTCUCGSettings *cg  = (AIJTCUCGSettings *)s->data;
  PetscObject       obj = (PetscObject)ksp;

  PetscFunctionBegin;
  PetscCall(PetscObjectQueryFunction(obj, "KSPCGSetRadius_C", &cg->set_radius));
  PetscCall(PetscObjectQueryFunction(obj, "KSPCGSetObjectiveTarget_C", &cg->set_target));
  PetscCall(PetscObjectQueryFunction(obj, "KSPCGUseSingleReduction_C", &cg->set_single_reduction));
  PetscCall(PetscObjectComposeFunction(obj, "KSPCGSetRadius_C", KSPCGSetRadius_AIJTCU));
  PetscCall(PetscObjectComposeFunction(obj, "KSPCGSetObjectiveTarget_C", KSPCGSetObjectiveTarget_AIJTCU));
  PetscCall(PetscObjectComposeFunction(obj, "KSPCGUseSingleReduction_C", KSPCGUseSingleReduction_AIJTCU));
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode AIJTCULacksCG(KSP ksp, AIJTCUBlockKSP *s, const char **why)
{
  const AIJTCUCGSettings *cg = (const AIJTCUCGSettings *)s->data;

  PetscFunctionBegin;
  (void)ksp;
  #if PetscDefined(USE_COMPLEX)
  PetscBool hermitian;

  PetscCall(AIJTCUCGIsHermitian(ksp, &hermitian));
  if (!hermitian) *why = "cg for complex symmetric matrices";
  #endif
  if (cg->radius) *why = "a trust region is set";
  else if (cg->target) *why = "a target of the objective is set";
  else if (cg->single_reduction) *why = "cg with a single reduction";
  PetscFunctionReturn(PETSC_SUCCESS);
}

static AIJTCUBlockNeeds AIJTCUNeedsCG(KSP ksp)
{
  (void)ksp;
  return (AIJTCUBlockNeeds){.nscalars = TURN + 1, .nblocks = BLOCKS};
}

/* Arrays of sums that come of M r: beta, and what the norm needs */
static PetscInt AIJTCUSumsCG(KSP ksp)
{
  return ksp->normtype == KSP_NORM_PRECONDITIONED ? 2 : 1;
}

/* beta = r^T M r, and what the norm needs, for the next iteration, whose scalars begin at k. local: of this process */
static PetscErrorCode AIJTCUPreconditionCG(KSP ksp, AIJTCUBlockKSP *s, Mat R, Mat Z, PetscInt k, PetscBool local)
{
  const Mat          left[2] = {R, Z};
  PetscScalar *const sums    = AIJTCUBlockScalars(s->ctx, k);

  PetscFunctionBegin;
  PetscCall(AIJTCUBlockPCApply(ksp, R, Z));
  if (local) PetscCall(AIJTCUBlockDotsLocal(s->ctx, AIJTCUSumsCG(ksp), left, Z, sums));
  else PetscCall(AIJTCUBlockDots(s->ctx, AIJTCUSumsCG(ksp), left, Z, sums));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Norms to test after n iterations. host has the scalars of the solve from BETA on */
static const PetscReal *AIJTCUNormsCG(KSP ksp, AIJTCUColumns *c, PetscInt n, const PetscScalar *host)
{
  const PetscScalar *square = host + ((n % 2 ? SECOND - BETA : 0) + (ksp->normtype == KSP_NORM_NATURAL ? 0 : NORM - BETA)) * c->N;

  for (PetscInt j = 0; j < c->N; j++) c->norm[j] = ksp->normtype == KSP_NORM_NONE ? 0 : PetscSqrtReal(PetscAbsScalar(square[j]));
  return c->norm;
}

/* Columns that break down in iteration i: in the order of KSPSolve_CG() */
static PetscErrorCode AIJTCUBreakdownsCG(KSP ksp, AIJTCUBlockKSP *s, PetscInt i, const PetscScalar *host)
{
  AIJTCUColumns     *c    = &s->columns;
  const PetscScalar *beta = host + (i % 2 ? SECOND - BETA : 0) * c->N, *dpi = beta + (DPI - BETA) * c->N, *kept = host + (KEPT - BETA) * c->N;

  PetscFunctionBegin;
  for (PetscInt j = 0; j < c->N; j++) {
    if (c->reason[j]) continue;
    if (PetscIsInfOrNanScalar(beta[j])) PetscCall(AIJTCUColumnStopNaN(ksp, s, j, i));
    else if (beta[j] == 0.0) PetscCall(AIJTCUColumnStop(ksp, s, j, i + 1, KSP_CONVERGED_ATOL));
    else if (kept[j] == 0.0) PetscCall(AIJTCUColumnStop(ksp, s, j, i + 1, KSP_DIVERGED_INDEFINITE_PC));
    else if (PetscIsInfOrNanScalar(dpi[j])) PetscCall(AIJTCUColumnStopNaN(ksp, s, j, i + 1));
    else if (kept[c->N + j] == 0.0) PetscCall(AIJTCUColumnStop(ksp, s, j, i + 1, ksp->converged_neg_curve ? KSP_CONVERGED_NEG_CURVE : KSP_DIVERGED_INDEFINITE_MAT));
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode AIJTCUBlocksCG(AIJTCUBlockCtx ctx, Mat *R, Mat *Z, Mat *P, Mat *W)
{
  PetscFunctionBegin;
  PetscCall(AIJTCUBlockWork(ctx, BLOCK_R, R));
  PetscCall(AIJTCUBlockWork(ctx, BLOCK_Z, Z));
  PetscCall(AIJTCUBlockWork(ctx, BLOCK_P, P));
  PetscCall(AIJTCUBlockWork(ctx, BLOCK_W, W));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Where the scalars of iteration i are: those of two iterations take turns. In the first the ones before are its own */
static PetscScalar *AIJTCUScalarsCG(AIJTCUBlockCtx ctx, PetscInt i, PetscInt which)
{
  return AIJTCUBlockScalars(ctx, (i % 2 ? SECOND : BETA) + which - BETA);
}

/* The direction P of iteration i, W = A P, and p^T A p if dots says so. D is NULL or M */
static PetscErrorCode AIJTCUDirectionCG(KSP ksp, AIJTCUBlockKSP *s, PetscInt i, Vec D, PetscBool dots, Mat R, Mat Z, Mat P, Mat W)
{
  const AIJTCUBlockCtx ctx = s->ctx;
  const PetscScalar *const active = AIJTCUBlockScalars(ctx, AIJTCU_SCALARS_ACTIVE), *const beta = AIJTCUScalarsCG(ctx, i, BETA), *const betaold = AIJTCUScalarsCG(ctx, i + 1, BETA);
  PetscScalar *const       step = AIJTCUBlockScalars(ctx, STEP);

  PetscFunctionBegin;
  if (!i) PetscCall(AIJTCUBlockCopy(ctx, Z, P));
  else if (D) PetscCall(AIJTCUBlockCGDirection(ctx, active, beta, betaold, R, D, P));
  else {
    PetscCall(AIJTCUBlockScalarOp(ctx, BLOCK_DIVIDE, active, step, beta, betaold));
    PetscCall(AIJTCUBlockAXPBY(ctx, P, active, Z, step)); /* p <- z + beta / betaold p */
  }
  PetscCall(AIJTCUBlockMatMult(ksp, s, P, W));
  if (dots) PetscCall(AIJTCUBlockDots(ctx, 1, &W, P, AIJTCUScalarsCG(ctx, i, DPI)));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode AIJTCUSolveCG(KSP ksp, AIJTCUBlockKSP *s, Mat B, Mat X)
{
  const AIJTCUBlockCtx ctx = s->ctx;
  /* M r comes before the norm */
  const PetscBool    early = (PetscBool)(ksp->normtype == KSP_NORM_PRECONDITIONED || ksp->normtype == KSP_NORM_NATURAL);
  const PetscBool    late  = (PetscBool)(ksp->normtype == KSP_NORM_UNPRECONDITIONED);
  AIJTCUColumns     *c     = &s->columns;
  const PetscScalar *host  = NULL, *active;
  const PetscInt    *from;
  PetscInt           i = 0, nsums; /* arrays of sums of all processes that wait until the scalars are fetched */
  PetscBool          whole;        /* an iteration is one kernel, and the product with A */
  Mat                R, Z, P, W, r;
  Vec                D; /* where M is a diagonal: a step does it, too */

  PetscFunctionBegin;
  PetscCall(AIJTCUBlockPCDiagonal(ksp, s, &D));
  nsums = D ? DPI - BETA : early ? AIJTCUSumsCG(ksp) : 0;
  PetscCall(AIJTCUBlockCtxIsAlone(ctx, &whole));
  whole = (PetscBool)(whole && D);
  PetscCall(AIJTCUBlocksCG(ctx, &R, &Z, &P, &W));
  PetscCall(AIJTCUBlockResidual(ksp, s, ksp->guess_zero, B, X, W, &r));
  PetscCall(AIJTCUBlockCopy(ctx, r, R));
  if (early) PetscCall(AIJTCUPreconditionCG(ksp, s, R, Z, BETA, PETSC_FALSE));
  if (late) PetscCall(AIJTCUBlockDots(ctx, 1, &R, R, AIJTCUBlockScalars(ctx, NORM)));
  PetscCall(AIJTCUColumnsFetch(s, BETA, DPI - BETA, &host));
  PetscCall(AIJTCUColumnsTest(ksp, s, 0, 0, AIJTCUNormsCG(ksp, c, 0, host)));
  if (!early && c->nactive) PetscCall(AIJTCUPreconditionCG(ksp, s, R, Z, BETA, PETSC_FALSE));
  if (c->nactive) PetscCall(AIJTCUDirectionCG(ksp, s, 0, D, (PetscBool)!whole, R, Z, P, W));

  while (c->nactive) {
    const PetscInt next = i % 2 ? BETA : SECOND, before = i ? i + 1 : i;
    BlockLengths   lengths;

    PetscCall(AIJTCUColumnsActive(s, &active));
    lengths = (BlockLengths){.active = active, .now = AIJTCUScalarsCG(ctx, i, BETA), .before = AIJTCUScalarsCG(ctx, before, BETA), .curvature = AIJTCUScalarsCG(ctx, i, DPI), .curvature_before = AIJTCUScalarsCG(ctx, before, DPI), .kept = AIJTCUBlockScalars(ctx, KEPT), .step = AIJTCUBlockScalars(ctx, STEP)};
    if (whole) PetscCall(AIJTCUBlockCGIterate(ctx, &lengths, (PetscBool)!late, AIJTCUScalarsCG(ctx, i, DPI), AIJTCUBlockScalars(ctx, next), AIJTCUBlockScalars(ctx, TURN), W, D, R, P, X));
    else if (D) PetscCall(AIJTCUBlockCGStepScaled(ctx, &lengths, W, R, D, (PetscBool)!late, PETSC_TRUE, AIJTCUBlockScalars(ctx, next)));
    else PetscCall(AIJTCUBlockCGStep(ctx, &lengths, W, R, late ? AIJTCUBlockScalars(ctx, next + NORM - BETA) : NULL));
    if (!D && early) PetscCall(AIJTCUPreconditionCG(ksp, s, R, Z, next, PETSC_TRUE));
    PetscCall(AIJTCUColumnsFetchBegin(s, BETA, END - BETA));
    if (!whole) PetscCall(AIJTCUBlockMAXPY(ctx, X, 1, 1, lengths.step, &P)); /* x <- x + step p */
    else if (i + 1 < ksp->max_it) PetscCall(AIJTCUBlockMatMult(ksp, s, P, W));
    PetscCall(AIJTCUColumnsFetchEnd(s, BETA, END - BETA, next, nsums, &host));
    if (nsums) PetscCall(AIJTCUBlockSumsToScalars(ctx, nsums, host + (next - BETA) * c->N, AIJTCUBlockScalars(ctx, next)));
    PetscCall(AIJTCUBreakdownsCG(ksp, s, i, host));
    i++;
    PetscCall(AIJTCUColumnsTest(ksp, s, i, i, AIJTCUNormsCG(ksp, c, i, host)));
    if (i >= ksp->max_it) PetscCall(AIJTCUColumnsStop(ksp, s, i, KSP_DIVERGED_ITS));
    if (!D && !early && c->nactive) PetscCall(AIJTCUPreconditionCG(ksp, s, R, Z, next, PETSC_FALSE));
    PetscCall(AIJTCUColumnsNarrow(ksp, s, AIJTCU_PATIENCE, &X, 3, (PetscInt[]){BLOCK_R, BLOCK_P, D ? BLOCK_W : BLOCK_Z}, &from));
    if (from) PetscCall(AIJTCUBlocksCG(ctx, &R, &Z, &P, &W));
    if (whole || !c->nactive) continue;
    PetscCall(AIJTCUColumnsActive(s, &active));
    PetscCall(AIJTCUDirectionCG(ksp, s, i, D, PETSC_TRUE, R, Z, P, W));
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

  #if AIJTCU_HAVE_DEVICE_REAL
/* The data of the method */
typedef struct {
  AIJTCUCGSettings settings;
  AIJTCUCGVector   vector;
} AIJTCUCGOwn;

static PetscErrorCode AIJTCUVectorCG(KSP ksp, AIJTCUBlockKSP *s, PetscBool *done)
{
  PetscFunctionBegin;
  PetscCall(AIJTCUCGVectorSolve(ksp, &((AIJTCUCGOwn *)s->data)->vector, done));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode AIJTCUResetCG(AIJTCUBlockKSP *s)
{
  PetscFunctionBegin;
  PetscCall(AIJTCUCGVectorDestroy(&((AIJTCUCGOwn *)s->data)->vector));
  PetscFunctionReturn(PETSC_SUCCESS);
}
  #else
typedef AIJTCUCGSettings AIJTCUCGOwn;
  #endif

static PetscErrorCode (*original)(KSP);

static PetscErrorCode KSPCreate_CG_AIJTCU(KSP ksp)
{
  PetscFunctionBegin;
  PetscCall(AIJTCUBlockCreateKSP(ksp, &AIJTCUBlockCG));
  PetscFunctionReturn(PETSC_SUCCESS);
}

const AIJTCUBlockMethod AIJTCUBlockCG = {
  .name     = KSPCG,
  .create   = KSPCreate_CG_AIJTCU,
  .original = &original,
  .size     = sizeof(AIJTCUCGOwn),
  .compose  = AIJTCUComposeCG,
  .lacks    = AIJTCULacksCG,
  .needs    = AIJTCUNeedsCG,
  #if AIJTCU_HAVE_DEVICE_REAL
  .vector = AIJTCUVectorCG,
  .reset  = AIJTCUResetCG,
  #endif
  .solve = AIJTCUSolveCG};
#endif
