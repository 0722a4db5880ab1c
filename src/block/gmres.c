/*
   KSPGMRES and KSPFGMRES for a block: each column as in KSPSolve_GMRES() or KSPSolve_FGMRES().

   All columns that are worked on are at the same step of the same cycle. A column that ends within a cycle has zeros in
   the rest of the basis. Its solution is built at the end of the cycle, with those of the others. The Hessenberg
   matrices are on the host: a step copies its products there, and the factors that make the next vectors of the basis
   units back.
*/
#include "blockksp.h"

#if AIJTCU_HAVE_BLOCK
typedef struct {
  PetscReal haptol, breakdowntol;
  PetscBool modified; /* the preconditioner of fgmres changes */
  PetscErrorCode (*set_haptol)(KSP, PetscReal);
  PetscErrorCode (*set_breakdowntol)(KSP, PetscReal);
  PetscErrorCode (*set_modifypc)(KSP, KSPFlexibleModifyPCFn *, PetscCtx, PetscCtxDestroyFn *);

  /* Workspace for a restart of max_k and N columns */
  PetscInt     max_k, N;
  PetscScalar *hessenberg; /* of column j at j * AIJTCUHessenbergSize(max_k) */
  PetscScalar *given;      /* arrays of scalars for the device */
  PetscInt    *steps;      /* vectors of the basis that the solution of a column is made of */
  Mat         *V, *Z;      /* basis, and what M makes of it in fgmres */
} AIJTCUGMRES;

enum {
  FACTOR = AIJTCU_SCALARS_OWN, /* what makes a vector of the basis a unit */
  PRODUCTS                     /* with the basis, the square of the norm that is left, products of a second pass */
};

/* Work blocks */
enum {
  RESULT = AIJTCU_BLOCK_OWN, /* of products */
  BASIS
};

/* A column's numbers on the host, as KSP_GMRES has them. Column i of hh begins at i (max_k + 2) */
typedef struct {
  PetscScalar *hh, *cc, *ss, *grs, *rnorm0;
} AIJTCUHessenberg;

static size_t AIJTCUHessenbergSize(PetscInt max_k)
{
  return (size_t)(max_k + 2) * (max_k + 1) + 2 * (size_t)(max_k + 1) + (size_t)max_k + 3;
}

static AIJTCUHessenberg AIJTCUHessenbergOf(const AIJTCUGMRES *g, PetscInt j)
{
  AIJTCUHessenberg h;

  h.hh     = g->hessenberg + (size_t)j * AIJTCUHessenbergSize(g->max_k);
  h.cc     = h.hh + (size_t)(g->max_k + 2) * (g->max_k + 1);
  h.ss     = h.cc + g->max_k + 1;
  h.grs    = h.ss + g->max_k + 1;
  h.rnorm0 = h.grs + g->max_k + 2;
  return h;
}

static PetscErrorCode KSPGMRESSetHapTol_AIJTCU(KSP ksp, PetscReal tol)
{
  AIJTCUGMRES *g;

  PetscFunctionBegin;
  PetscCall(AIJTCUBlockGetData(ksp, &g));
  PetscCall((*g->set_haptol)(ksp, tol));
  g->haptol = tol;
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode KSPGMRESSetBreakdownTolerance_AIJTCU(KSP ksp, PetscReal tol)
{
  AIJTCUGMRES *g;

  PetscFunctionBegin;
  PetscCall(AIJTCUBlockGetData(ksp, &g));
  PetscCall((*g->set_breakdowntol)(ksp, tol));
  g->breakdowntol = tol == (PetscReal)PETSC_DEFAULT ? 0.1 : tol;
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode KSPFlexibleSetModifyPC_AIJTCU(KSP ksp, KSPFlexibleModifyPCFn *f, PetscCtx ctx, PetscCtxDestroyFn *destroy)
{
  AIJTCUGMRES *g;

  PetscFunctionBegin;
  PetscCall(AIJTCUBlockGetData(ksp, &g));
  PetscCall((*g->set_modifypc)(ksp, f, ctx, destroy));
  g->modified = (PetscBool)(f != KSPFlexibleModifyPCNoChange);
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode AIJTCUComposeGMRES(KSP ksp, AIJTCUBlockKSP *s)
{
  AIJTCUGMRES *g   = (AIJTCUGMRES *)s->data;
  PetscObject  obj = (PetscObject)ksp;

  PetscFunctionBegin;
  g->haptol       = 1e-30;
  g->breakdowntol = 0.1;
  PetscCall(PetscObjectQueryFunction(obj, "KSPGMRESSetHapTol_C", &g->set_haptol));
  PetscCall(PetscObjectQueryFunction(obj, "KSPGMRESSetBreakdownTolerance_C", &g->set_breakdowntol));
  PetscCall(PetscObjectQueryFunction(obj, "KSPFlexibleSetModifyPC_C", &g->set_modifypc));
  if (g->set_haptol) PetscCall(PetscObjectComposeFunction(obj, "KSPGMRESSetHapTol_C", KSPGMRESSetHapTol_AIJTCU));
  if (g->set_breakdowntol) PetscCall(PetscObjectComposeFunction(obj, "KSPGMRESSetBreakdownTolerance_C", KSPGMRESSetBreakdownTolerance_AIJTCU));
  if (g->set_modifypc) PetscCall(PetscObjectComposeFunction(obj, "KSPFlexibleSetModifyPC_C", KSPFlexibleSetModifyPC_AIJTCU));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode AIJTCUResetGMRES(AIJTCUBlockKSP *s)
{
  AIJTCUGMRES *g = (AIJTCUGMRES *)s->data;

  PetscFunctionBegin;
  PetscCall(PetscFree5(g->hessenberg, g->given, g->steps, g->V, g->Z));
  g->max_k = g->N = 0;
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode AIJTCULacksGMRES(KSP ksp, AIJTCUBlockKSP *s, const char **why)
{
  const AIJTCUGMRES *g = (const AIJTCUGMRES *)s->data;

  PetscFunctionBegin;
  if (ksp->pc_side == PC_SYMMETRIC) *why = "the preconditioner is applied symmetrically";
  else if (ksp->pc->ops->applyBA && s->method == &AIJTCUBlockGMRES) *why = "the preconditioner applies the operator itself";
  else if (g->modified) *why = "the preconditioner is changed in each iteration";
  else if (ksp->orthog != KSPOrthogonalizationClassicalGramSchmidt && ksp->orthog != KSPOrthogonalizationModifiedGramSchmidt) *why = "the orthogonalization is not one of PETSc's";
  PetscFunctionReturn(PETSC_SUCCESS);
}

static AIJTCUBlockNeeds AIJTCUNeedsGMRES(KSP ksp)
{
  PetscBool flexible;
  PetscInt  max_k = 0;

  (void)KSPGMRESGetRestart(ksp, &max_k); /* neither can fail here */
  (void)PetscObjectTypeCompare((PetscObject)ksp, KSPFGMRES, &flexible);
  return (AIJTCUBlockNeeds){.nscalars = PRODUCTS + 2 * (max_k + 1) + 1, .nblocks = BASIS + (max_k + 1) * (flexible ? 2 : 1)};
}

static PetscErrorCode AIJTCUSetUpGMRES(KSP ksp, AIJTCUBlockKSP *s)
{
  AIJTCUGMRES   *g = (AIJTCUGMRES *)s->data;
  const PetscInt N = s->columns.N;
  PetscInt       max_k;

  PetscFunctionBegin;
  PetscCall(KSPGMRESGetRestart(ksp, &max_k));
  if (g->max_k == max_k && g->N >= N) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCall(AIJTCUResetGMRES(s));
  PetscCall(PetscMalloc5(AIJTCUHessenbergSize(max_k) * N, &g->hessenberg, (max_k + 1) * N, &g->given, N, &g->steps, max_k + 1, &g->V, max_k + 1, &g->Z));
  g->max_k = max_k;
  g->N     = N;
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Subtract from U its components along the basis, it + 1 vectors. host gets the products and the square that is left */
static PetscErrorCode AIJTCUOrthogonalize(KSP ksp, AIJTCUBlockKSP *s, PetscInt it, Mat U, const PetscScalar **host)
{
  AIJTCUGMRES         *g   = (AIJTCUGMRES *)s->data;
  AIJTCUColumns       *c   = &s->columns;
  const AIJTCUBlockCtx ctx = s->ctx;
  const PetscInt       n = it + 1, N = c->N, square = PRODUCTS + n, again = square + 1;
  PetscBool            refine = (PetscBool)(ksp->cgstype == KSP_ORTHOGONALIZATION_CGS_REFINE_ALWAYS);
  PetscScalar         *sum;

  PetscFunctionBegin;
  if (ksp->orthog == KSPOrthogonalizationModifiedGramSchmidt) {
    for (PetscInt i = 0; i < n; i++) {
      PetscCall(AIJTCUBlockDots(ctx, 1, &g->V[i], U, AIJTCUBlockScalars(ctx, PRODUCTS + i)));
      PetscCall(AIJTCUBlockMAXPY(ctx, U, -1, 1, AIJTCUBlockScalars(ctx, PRODUCTS + i), &g->V[i]));
    }
    PetscCall(AIJTCUBlockDots(ctx, 1, &U, U, AIJTCUBlockScalars(ctx, square)));
    PetscCall(AIJTCUColumnsFetch(s, PRODUCTS, n + 1, host));
    PetscFunctionReturn(PETSC_SUCCESS);
  }
  PetscCall(AIJTCUBlockDots(ctx, n, g->V, U, AIJTCUBlockScalars(ctx, PRODUCTS)));
  PetscCall(AIJTCUBlockMAXPY(ctx, U, -1, n, AIJTCUBlockScalars(ctx, PRODUCTS), g->V));
  if (!refine) {
    PetscCall(AIJTCUBlockDots(ctx, 1, &U, U, AIJTCUBlockScalars(ctx, square)));
    PetscCall(AIJTCUColumnsFetch(s, PRODUCTS, n + 1, host));
    if (ksp->cgstype != KSP_ORTHOGONALIZATION_CGS_REFINE_IFNEEDED) PetscFunctionReturn(PETSC_SUCCESS);
    for (PetscInt j = 0; j < N; j++) { /* which columns need it */
      PetscReal along = 0;

      for (PetscInt i = 0; i < n; i++) along += AIJTCUSquareOf((*host)[i * N + j]);
      g->given[j] = !c->reason[j] && PetscSqrtReal(PetscRealPart((*host)[n * N + j])) < PetscSqrtReal(along) ? 1 : 0;
      if (g->given[j] != 0.0) refine = PETSC_TRUE;
    }
    if (!refine) PetscFunctionReturn(PETSC_SUCCESS);
    PetscCall(AIJTCUBlockToScalars(ctx, 1, g->given, AIJTCUBlockScalars(ctx, FACTOR)));
  } else PetscCall(AIJTCUBlockToScalars(ctx, 1, c->active, AIJTCUBlockScalars(ctx, FACTOR)));
  PetscCall(AIJTCUBlockDots(ctx, n, g->V, U, AIJTCUBlockScalars(ctx, again)));
  for (PetscInt i = 0; i < n; i++) {
    PetscScalar *h = AIJTCUBlockScalars(ctx, again + i);

    PetscCall(AIJTCUBlockScalarOp(ctx, BLOCK_MULTIPLY, AIJTCUBlockScalars(ctx, FACTOR), h, h, AIJTCUBlockScalars(ctx, FACTOR)));
  }
  PetscCall(AIJTCUBlockMAXPY(ctx, U, -1, n, AIJTCUBlockScalars(ctx, again), g->V));
  PetscCall(AIJTCUBlockDots(ctx, 1, &U, U, AIJTCUBlockScalars(ctx, square)));
  PetscCall(AIJTCUColumnsFetch(s, PRODUCTS, 2 * n + 1, host));
  sum = c->host;
  for (PetscInt k = 0; k < n * N; k++) sum[k] += sum[(n + 1) * N + k];
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Rotate column it of a Hessenberg matrix, as KSPGMRESUpdateHessenberg() does. False if it is zero */
static PetscBool AIJTCUHessenbergUpdate(const AIJTCUGMRES *g, AIJTCUHessenberg h, PetscInt it, PetscBool happy, PetscReal *res)
{
  PetscScalar *hh = h.hh + (size_t)it * (g->max_k + 2), tt;

  for (PetscInt i = 0; i < it; i++, hh++) {
    tt    = hh[0];
    hh[0] = PetscConj(h.cc[i]) * tt + h.ss[i] * hh[1];
    hh[1] = h.cc[i] * hh[1] - h.ss[i] * tt;
  }
  *res = 0;
  if (happy) return PETSC_TRUE;
  tt = PetscSqrtScalar(PetscConj(hh[0]) * hh[0] + PetscConj(hh[1]) * hh[1]);
  if (tt == 0.0) return PETSC_FALSE;
  h.cc[it]      = hh[0] / tt;
  h.ss[it]      = hh[1] / tt;
  h.grs[it + 1] = -h.ss[it] * h.grs[it];
  h.grs[it]     = PetscConj(h.cc[it]) * h.grs[it];
  hh[0]         = PetscConj(h.cc[it]) * hh[0] + h.ss[it] * hh[1];
  *res          = PetscAbsScalar(h.grs[it + 1]);
  return PETSC_TRUE;
}

/* Give the factors that make the next vectors of the basis units, and make them: V = U / norm */
static PetscErrorCode AIJTCUNextOfBasis(AIJTCUBlockKSP *s, PetscInt it, Mat U)
{
  AIJTCUGMRES         *g   = (AIJTCUGMRES *)s->data;
  const AIJTCUBlockCtx ctx = s->ctx;

  PetscFunctionBegin;
  for (PetscInt j = 0; j < s->columns.N; j++) {
    if (s->columns.reason[j]) g->given[j] = 0;
  }
  PetscCall(AIJTCUBlockToScalars(ctx, 1, g->given, AIJTCUBlockScalars(ctx, FACTOR)));
  PetscCall(AIJTCUBlockWork(ctx, BASIS + it, &g->V[it]));
  PetscCall(AIJTCUBlockAXPBY(ctx, g->V[it], AIJTCUBlockScalars(ctx, FACTOR), U, AIJTCUBlockScalars(ctx, AIJTCU_SCALARS_ZERO)));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* The beginning of a cycle after its iterations: residuals, tests, and the first vectors of the basis */
static PetscErrorCode AIJTCUBeginCycle(KSP ksp, AIJTCUBlockKSP *s, PetscInt its, Mat B, Mat X)
{
  AIJTCUGMRES     *g = (AIJTCUGMRES *)s->data;
  AIJTCUColumns   *c = &s->columns;
  const PetscReal *norm;
  Mat              R, Z, U;

  PetscFunctionBegin;
  PetscCall(AIJTCUBlockWork(s->ctx, RESULT, &R));
  PetscCall(AIJTCUBlockWork(s->ctx, AIJTCU_BLOCK_TEMP, &Z));
  PetscCall(AIJTCUBlockResidual(ksp, s, (PetscBool)(!its && ksp->guess_zero), B, X, R, &U));
  if (ksp->pc_side == PC_LEFT) {
    PetscCall(AIJTCUBlockPCApply(ksp, U, Z));
    U = Z;
  }
  PetscCall(AIJTCUColumnsNorms(s, U, PRODUCTS, &norm));
  for (PetscInt j = 0; j < c->N; j++) {
    const AIJTCUHessenberg h = AIJTCUHessenbergOf(g, j);

    g->steps[j] = 0;
    if (c->reason[j]) continue;
    if (PetscIsInfOrNanReal(norm[j])) {
      c->rnorm[j] = norm[j];
      PetscCall(AIJTCUColumnStopNaN(ksp, s, j, its));
    } else if (g->set_breakdowntol && its && PetscAbsReal(norm[j] - c->rnorm[j]) > g->breakdowntol * PetscRealPart(*h.rnorm0)) PetscCall(AIJTCUColumnStop(ksp, s, j, its, KSP_DIVERGED_BREAKDOWN));
    else {
      h.grs[0] = *h.rnorm0 = c->rnorm[j] = norm[j];
      if (!norm[j]) PetscCall(AIJTCUColumnStop(ksp, s, j, its, KSP_CONVERGED_ATOL));
    }
  }
  if (its) PetscCall(AIJTCUColumnsTestAgain(ksp, s, its, its, norm, NULL));
  else PetscCall(AIJTCUColumnsTest(ksp, s, its, its, norm));
  if (its >= ksp->max_it) PetscCall(AIJTCUColumnsStop(ksp, s, its, KSP_DIVERGED_ITS));
  if (!c->nactive) PetscFunctionReturn(PETSC_SUCCESS);
  for (PetscInt j = 0; j < c->N; j++) g->given[j] = 1 / norm[j];
  PetscCall(AIJTCUNextOfBasis(s, 0, U));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* A step of a cycle, after which its iterations are done */
static PetscErrorCode AIJTCUStepGMRES(KSP ksp, AIJTCUBlockKSP *s, PetscInt it, PetscInt its)
{
  AIJTCUGMRES       *g        = (AIJTCUGMRES *)s->data;
  AIJTCUColumns     *c        = &s->columns;
  const PetscBool    flexible = (PetscBool)(s->method == &AIJTCUBlockFGMRES);
  const PetscScalar *host;
  Mat                R, Z, U;

  PetscFunctionBegin;
  PetscCall(AIJTCUBlockWork(s->ctx, RESULT, &R));
  PetscCall(AIJTCUBlockWork(s->ctx, flexible ? BASIS + g->max_k + 1 + it : AIJTCU_BLOCK_TEMP, &Z));
  if (flexible) g->Z[it] = Z;
  PetscCall(AIJTCUBlockBAorAB(ksp, s, g->V[it], R, Z, &U));
  PetscCall(AIJTCUOrthogonalize(ksp, s, it, U, &host));
  for (PetscInt j = 0; j < c->N; j++) {
    const AIJTCUHessenberg h  = AIJTCUHessenbergOf(g, j);
    const PetscReal        tt = PetscSqrtReal(PetscRealPart(host[(it + 1) * c->N + j]));
    PetscReal              least;
    PetscBool              happy;

    if (c->reason[j]) continue;
    if (PetscIsInfOrNanReal(tt)) {
      g->steps[j] = 0;
      c->rnorm[j] = tt; /* as KSPCheckNorm() has it */
      PetscCall(AIJTCUColumnStopNaN(ksp, s, j, its - 1));
      continue;
    }
    for (PetscInt i = 0; i <= it; i++) h.hh[(size_t)it * (g->max_k + 2) + i] = host[i * c->N + j];
    h.hh[(size_t)it * (g->max_k + 2) + it + 1] = tt;
    least                                      = PetscMin(PetscAbsScalar(tt / h.grs[it]), g->haptol);
    happy                                      = (PetscBool)(flexible ? tt <= least : tt < least);
    g->given[j]                                = tt ? 1 / tt : 0;
    g->steps[j]                                = it + 1;
    if (!AIJTCUHessenbergUpdate(g, h, it, happy, &c->norm[j])) PetscCall(AIJTCUColumnStop(ksp, s, j, its, KSP_DIVERGED_NULL));
    else if (happy) {
      KSPConvergedReason reason = KSP_CONVERGED_HAPPY_BREAKDOWN;

      c->rnorm[j] = 0;
      if (ksp->normtype != KSP_NORM_NONE) PetscCall(AIJTCUColumnTest(ksp, s, j, its, 0, &reason));
      PetscCall(AIJTCUColumnStop(ksp, s, j, its, reason ? reason : KSP_DIVERGED_BREAKDOWN));
    }
  }
  PetscCall(AIJTCUColumnsTest(ksp, s, its, its, c->norm));
  if (c->nactive && it + 1 < g->max_k && its < ksp->max_it) PetscCall(AIJTCUNextOfBasis(s, it + 1, U));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* The coefficients of a column's solution, in given: KSPGMRESBuildSoln(). Returns false if there are none */
static PetscBool AIJTCUHessenbergSolve(const AIJTCUGMRES *g, AIJTCUHessenberg h, PetscInt steps, PetscBool flexible, PetscScalar *y, PetscInt stride)
{
  for (PetscInt k = steps - 1; k >= 0; k--) {
    PetscScalar tt = h.grs[k];

    for (PetscInt i = k + 1; i < steps; i++) tt -= h.hh[(size_t)i * (g->max_k + 2) + k] * y[i * stride];
    if (h.hh[(size_t)k * (g->max_k + 2) + k] != 0.0) y[k * stride] = tt / h.hh[(size_t)k * (g->max_k + 2) + k];
    else if (flexible) y[k * stride] = 0;
    else return PETSC_FALSE;
  }
  return PETSC_TRUE;
}

/* The end of a cycle: X gets what the cycle has found */
static PetscErrorCode AIJTCUEndCycle(KSP ksp, AIJTCUBlockKSP *s, PetscInt its, Mat X)
{
  AIJTCUGMRES         *g        = (AIJTCUGMRES *)s->data;
  AIJTCUColumns       *c        = &s->columns;
  const AIJTCUBlockCtx ctx      = s->ctx;
  const PetscBool      flexible = (PetscBool)(s->method == &AIJTCUBlockFGMRES);
  PetscInt             n        = 0;
  Mat                  T, Z;

  PetscFunctionBegin;
  for (PetscInt j = 0; j < c->N; j++) n = PetscMax(n, g->steps[j]);
  if (!n) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCall(PetscArrayzero(g->given, n * c->N));
  for (PetscInt j = 0; j < c->N; j++) {
    if (AIJTCUHessenbergSolve(g, AIJTCUHessenbergOf(g, j), g->steps[j], flexible, g->given + j, c->N)) continue;
    for (PetscInt i = 0; i < n; i++) g->given[i * c->N + j] = 0;
    if (!c->reason[j]) PetscCall(AIJTCUColumnStop(ksp, s, j, its, KSP_DIVERGED_BREAKDOWN));
    c->reason[j] = KSP_DIVERGED_BREAKDOWN;
  }
  PetscCall(AIJTCUBlockToScalars(ctx, n, g->given, AIJTCUBlockScalars(ctx, PRODUCTS)));
  if (flexible || ksp->pc_side == PC_LEFT) {
    PetscCall(AIJTCUBlockMAXPY(ctx, X, 1, n, AIJTCUBlockScalars(ctx, PRODUCTS), flexible ? g->Z : g->V));
    PetscFunctionReturn(PETSC_SUCCESS);
  }
  PetscCall(AIJTCUBlockWork(ctx, RESULT, &T));
  PetscCall(AIJTCUBlockWork(ctx, AIJTCU_BLOCK_TEMP, &Z));
  PetscCall(AIJTCUBlockZero(ctx, T));
  PetscCall(AIJTCUBlockMAXPY(ctx, T, 1, n, AIJTCUBlockScalars(ctx, PRODUCTS), g->V));
  PetscCall(AIJTCUBlockPCApply(ksp, T, Z));
  for (PetscInt j = 0; j < c->N; j++) g->given[j] = g->steps[j] ? 1 : 0;
  PetscCall(AIJTCUBlockToScalars(ctx, 1, g->given, AIJTCUBlockScalars(ctx, FACTOR)));
  PetscCall(AIJTCUBlockMAXPY(ctx, X, 1, 1, AIJTCUBlockScalars(ctx, FACTOR), &Z));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Between two cycles the block may narrow. Of the last cycle only the norm that it began with is still needed, and B */
static PetscErrorCode AIJTCUNarrowGMRES(KSP ksp, AIJTCUBlockKSP *s, Mat *B, Mat *X)
{
  const AIJTCUGMRES   *g     = (const AIJTCUGMRES *)s->data;
  const AIJTCUColumns *c     = &s->columns;
  const PetscInt       kept  = AIJTCU_BLOCK_RHS;
  const Mat            given = *B;
  const PetscInt      *from;
  PetscBool            own;

  PetscFunctionBegin;
  if (!c->nactive || c->nactive > c->N / 2) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCall(AIJTCUBlockWork(s->ctx, kept, B));
  own = (PetscBool)(*B == given);
  *B  = given;
  PetscCall(AIJTCUColumnsNarrow(ksp, s, 0, X, own ? 1 : 0, &kept, &from));
  if (!from) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCall(AIJTCUBlockWork(s->ctx, kept, B));
  if (!own) PetscCall(AIJTCUBlockMove(s->ctx, c->N, from, given, NULL, *B));
  for (PetscInt j = 0; j < c->N; j++) *AIJTCUHessenbergOf(g, j).rnorm0 = *AIJTCUHessenbergOf(g, from[j]).rnorm0;
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode AIJTCUSolveGMRES(KSP ksp, AIJTCUBlockKSP *s, Mat B, Mat X)
{
  AIJTCUGMRES   *g   = (AIJTCUGMRES *)s->data;
  AIJTCUColumns *c   = &s->columns;
  PetscInt       its = 0;

  PetscFunctionBegin;
  PetscCall(AIJTCUSetUpGMRES(ksp, s));
  while (c->nactive) {
    PetscCall(AIJTCUBeginCycle(ksp, s, its, B, X));
    for (PetscInt it = 0; c->nactive && it < g->max_k && its < ksp->max_it; it++) PetscCall(AIJTCUStepGMRES(ksp, s, it, ++its));
    PetscCall(AIJTCUEndCycle(ksp, s, its, X));
    if (its >= ksp->max_it) PetscCall(AIJTCUColumnsStop(ksp, s, its, KSP_DIVERGED_ITS));
    PetscCall(AIJTCUNarrowGMRES(ksp, s, &B, &X));
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode (*original_gmres)(KSP), (*original_fgmres)(KSP);

static PetscErrorCode KSPCreate_GMRES_AIJTCU(KSP ksp)
{
  PetscFunctionBegin;
  PetscCall(AIJTCUBlockCreateKSP(ksp, &AIJTCUBlockGMRES));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode KSPCreate_FGMRES_AIJTCU(KSP ksp)
{
  PetscFunctionBegin;
  PetscCall(AIJTCUBlockCreateKSP(ksp, &AIJTCUBlockFGMRES));
  PetscFunctionReturn(PETSC_SUCCESS);
}

  #define GMRES \
    .size = sizeof(AIJTCUGMRES), .compose = AIJTCUComposeGMRES, .lacks = AIJTCULacksGMRES, .needs = AIJTCUNeedsGMRES, .solve = AIJTCUSolveGMRES, .reset = AIJTCUResetGMRES

const AIJTCUBlockMethod AIJTCUBlockGMRES  = {.name = KSPGMRES, .create = KSPCreate_GMRES_AIJTCU, .original = &original_gmres, GMRES};
const AIJTCUBlockMethod AIJTCUBlockFGMRES = {.name = KSPFGMRES, .create = KSPCreate_FGMRES_AIJTCU, .original = &original_fgmres, GMRES};
#endif
