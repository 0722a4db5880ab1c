/*
   KSPBCGS for a block: each column as in KSPSolve_BCGS().

   (x, y) is the sum of x conj(y), as in PETSc. One copy of the scalars of an iteration to the host serves all tests. A
   column that breaks down has steps of zero.
*/
#include "blockksp.h"

#if AIJTCU_HAVE_BLOCK
enum {
  RHO = AIJTCU_SCALARS_OWN, /* (r, rp) of two iterations, which take turns */
  D1  = RHO + 2,            /* (v, rp) */
  ST,                       /* the conjugate of (s, t), and (t, t), in one reduction */
  TT,
  NORM,
  ALPHA, /* rho / d1 and (s, t) / (t, t), for one update of x */
  OMEGA,
  BETA, /* rho / rhoold alpha / omega */
  TEMP,
  END
};

enum { /* work blocks */
  BLOCK_Z = AIJTCU_BLOCK_TEMP,
  BLOCK_W = AIJTCU_BLOCK_OWN,
  BLOCK_R,
  BLOCK_RP,
  BLOCK_P,
  BLOCK_S,
  BLOCK_SECOND,
  BLOCK_Y, /* for the right side only */
  BLOCKS
};

static PetscErrorCode AIJTCULacksBCGS(KSP ksp, AIJTCUBlockKSP *s, const char **why)
{
  PetscFunctionBegin;
  (void)s;
  if (ksp->pc->ops->applyBA) *why = "the preconditioner applies the operator itself";
  PetscFunctionReturn(PETSC_SUCCESS);
}

static AIJTCUBlockNeeds AIJTCUNeedsBCGS(KSP ksp)
{
  return (AIJTCUBlockNeeds){.nscalars = END, .nblocks = ksp->pc_side == PC_RIGHT ? BLOCKS : BLOCK_Y};
}

/* Test the columns after iteration i, in the order of KSPSolve_BCGS(). host has the scalars of the solve from RHO on */
static PetscErrorCode AIJTCUTestBCGS(KSP ksp, AIJTCUBlockKSP *s, PetscInt i, const PetscScalar *host)
{
  AIJTCUColumns     *c   = &s->columns;
  const PetscScalar *rho = host + i % 2 * c->N, *d1 = host + (D1 - RHO) * c->N, *tt = host + (TT - RHO) * c->N, *square = host + (NORM - RHO) * c->N;

  PetscFunctionBegin;
  for (PetscInt j = 0; j < c->N; j++) {
    c->norm[j] = ksp->normtype == KSP_NORM_NONE ? 0 : PetscSqrtReal(PetscRealPart(square[j]));
    if (c->reason[j]) continue;
    if (PetscIsInfOrNanScalar(d1[j])) PetscCall(AIJTCUColumnStopNaN(ksp, s, j, i));
    /* a column of zeros */
    else if (d1[j] == 0.0 && !i && rho[j] == 0.0) PetscCall(AIJTCUColumnStop(ksp, s, j, i, KSP_CONVERGED_ATOL));
    else if (d1[j] == 0.0) PetscCall(AIJTCUColumnStop(ksp, s, j, i, KSP_DIVERGED_BREAKDOWN));
    else if (tt[j] == 0.0 && square[j] != 0.0) PetscCall(AIJTCUColumnStop(ksp, s, j, i, KSP_DIVERGED_BREAKDOWN));
    else if (tt[j] == 0.0) { /* x + alpha p is the solution */
      c->rnorm[j] = 0;
      PetscCall(AIJTCUColumnStop(ksp, s, j, i + 1, KSP_CONVERGED_RTOL));
    }
  }
  PetscCall(AIJTCUColumnsTest(ksp, s, i + 1, i + 1, c->norm));
  for (PetscInt j = 0; j < c->N; j++) {
    if (!c->reason[j] && rho[j] == 0.0) PetscCall(AIJTCUColumnStop(ksp, s, j, i + 1, KSP_DIVERGED_BREAKDOWN));
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* v and t are results of M in two blocks or, for the right side, of products in two blocks */
static PetscErrorCode AIJTCUBlocksBCGS(AIJTCUBlockCtx ctx, PetscBool right, Mat *R, Mat *RP, Mat *P, Mat *S, Mat W[2], Mat Z[2])
{
  PetscFunctionBegin;
  PetscCall(AIJTCUBlockWork(ctx, BLOCK_Z, &Z[0]));
  PetscCall(AIJTCUBlockWork(ctx, BLOCK_W, &W[0]));
  PetscCall(AIJTCUBlockWork(ctx, BLOCK_R, R));
  PetscCall(AIJTCUBlockWork(ctx, BLOCK_RP, RP));
  PetscCall(AIJTCUBlockWork(ctx, BLOCK_P, P));
  PetscCall(AIJTCUBlockWork(ctx, BLOCK_S, S));
  PetscCall(AIJTCUBlockWork(ctx, BLOCK_SECOND, right ? &W[1] : &Z[1]));
  if (right) Z[1] = Z[0];
  else W[1] = W[0];
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode AIJTCUSolveBCGS(KSP ksp, AIJTCUBlockKSP *s, Mat B, Mat X)
{
  const AIJTCUBlockCtx ctx   = s->ctx;
  const PetscBool      right = (PetscBool)(ksp->pc_side == PC_RIGHT);
  AIJTCUColumns       *c     = &s->columns;
  const PetscScalar   *host, *active;
  const PetscInt      *from;
  Mat                  R, RP, P, S, Y, W[2], Z[2], V = NULL, T, r;

  PetscFunctionBegin;
  PetscCall(AIJTCUBlocksBCGS(ctx, right, &R, &RP, &P, &S, W, Z));
  /* For the right side the sum of steps is in Y, to which M is applied at the end */
  Y = X;
  if (right) {
    PetscCall(AIJTCUBlockWork(ctx, BLOCK_Y, &Y));
    PetscCall(AIJTCUBlockZero(ctx, Y));
  }
  PetscCall(AIJTCUBlockResidual(ksp, s, ksp->guess_zero, B, X, W[0], &r));
  if (right) PetscCall(AIJTCUBlockCopy(ctx, r, R));
  else PetscCall(AIJTCUBlockPCApply(ksp, r, R));
  PetscCall(AIJTCUBlockDots(ctx, 1, &R, R, AIJTCUBlockScalars(ctx, RHO))); /* the square of the norm is also (r, rp) */
  PetscCall(AIJTCUColumnsFetch(s, RHO, 1, &host));
  for (PetscInt j = 0; j < c->N; j++) c->norm[j] = ksp->normtype == KSP_NORM_NONE ? 0 : PetscSqrtReal(PetscRealPart(host[j]));
  PetscCall(AIJTCUColumnsTest(ksp, s, 0, 0, c->norm));
  if (c->nactive) {
    PetscCall(AIJTCUBlockCopy(ctx, R, RP));
    PetscCall(AIJTCUBlockCopy(ctx, R, P));
  }
  for (PetscInt i = 0; c->nactive; i++) {
    PetscScalar *const rho = AIJTCUBlockScalars(ctx, RHO + i % 2), *const rhoold = AIJTCUBlockScalars(ctx, RHO + (i + 1) % 2);
    PetscScalar *const alpha = AIJTCUBlockScalars(ctx, ALPHA), *const omega = AIJTCUBlockScalars(ctx, OMEGA), *const beta = AIJTCUBlockScalars(ctx, BETA), *const temp = AIJTCUBlockScalars(ctx, TEMP);

    PetscCall(AIJTCUColumnsActive(s, &active));
    if (i) {
      PetscCall(AIJTCUBlockDots(ctx, 1, &RP, R, rho));
      PetscCall(AIJTCUBlockScalarOp(ctx, BLOCK_DIVIDE, active, beta, rho, rhoold));
      PetscCall(AIJTCUBlockScalarOp(ctx, BLOCK_DIVIDE, active, temp, alpha, omega));
      PetscCall(AIJTCUBlockScalarOp(ctx, BLOCK_MULTIPLY, active, beta, beta, temp));
      PetscCall(AIJTCUBlockScalarOp(ctx, BLOCK_MULTIPLY, active, temp, beta, omega));
      PetscCall(AIJTCUBlockAXPBY(ctx, P, active, R, beta)); /* p <- r - omega beta v + beta p */
      PetscCall(AIJTCUBlockMAXPY(ctx, P, -1, 1, temp, &V));
    }
    PetscCall(AIJTCUBlockBAorAB(ksp, s, P, W[0], Z[0], &V));
    PetscCall(AIJTCUBlockDots(ctx, 1, &RP, V, AIJTCUBlockScalars(ctx, D1)));
    /* NaN or Inf in (v, rp) stops the step as zero does */
    PetscCall(AIJTCUBlockScalarOp(ctx, BLOCK_FINITE, active, temp, AIJTCUBlockScalars(ctx, D1), NULL));
    PetscCall(AIJTCUBlockScalarOp(ctx, BLOCK_DIVIDE, active, alpha, rho, temp));
    PetscCall(AIJTCUBlockCopy(ctx, R, S)); /* s <- r - alpha v */
    PetscCall(AIJTCUBlockMAXPY(ctx, S, -1, 1, alpha, &V));
    PetscCall(AIJTCUBlockBAorAB(ksp, s, S, W[1], Z[1], &T));
    PetscCall(AIJTCUBlockDots(ctx, 2, (Mat[]){S, T}, T, AIJTCUBlockScalars(ctx, ST)));
    PetscCall(AIJTCUBlockScalarOp(ctx, BLOCK_CONJUGATE_DIVIDE, alpha, omega, AIJTCUBlockScalars(ctx, ST), AIJTCUBlockScalars(ctx, TT)));
    PetscCall(AIJTCUBlockMAXPY(ctx, Y, 1, 2, alpha, (Mat[]){P, S})); /* x <- x + alpha p + omega s */
    PetscCall(AIJTCUBlockCopy(ctx, S, R));                           /* r <- s - omega t */
    PetscCall(AIJTCUBlockMAXPY(ctx, R, -1, 1, omega, &T));
    PetscCall(AIJTCUBlockDots(ctx, 1, &R, R, AIJTCUBlockScalars(ctx, NORM)));
    PetscCall(AIJTCUColumnsFetch(s, RHO, ALPHA - RHO, &host));
    PetscCall(AIJTCUTestBCGS(ksp, s, i, host));
    if (i + 1 >= ksp->max_it) PetscCall(AIJTCUColumnsStop(ksp, s, i + 1, KSP_DIVERGED_ITS));
    if (right) continue; /* Y has what all columns get at the end */
    PetscCall(AIJTCUColumnsNarrow(ksp, s, AIJTCU_PATIENCE, &X, 4, (PetscInt[]){BLOCK_R, BLOCK_RP, BLOCK_P, BLOCK_Z}, &from));
    if (!from) continue;
    PetscCall(AIJTCUBlocksBCGS(ctx, right, &R, &RP, &P, &S, W, Z));
    V = Z[0];
    Y = X;
  }
  if (right && V) {
    PetscCall(AIJTCUBlockPCApply(ksp, Y, Z[0]));
    PetscCall(AIJTCUBlockAXPBY(ctx, X, NULL, Z[0], NULL));
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode (*original)(KSP);

static PetscErrorCode KSPCreate_BCGS_AIJTCU(KSP ksp)
{
  PetscFunctionBegin;
  PetscCall(AIJTCUBlockCreateKSP(ksp, &AIJTCUBlockBCGS));
  PetscFunctionReturn(PETSC_SUCCESS);
}

const AIJTCUBlockMethod AIJTCUBlockBCGS = {
  .name     = KSPBCGS,
  .create   = KSPCreate_BCGS_AIJTCU,
  .original = &original,
  .lacks    = AIJTCULacksBCGS,
  .needs    = AIJTCUNeedsBCGS,
  .solve    = AIJTCUSolveBCGS};
#endif
