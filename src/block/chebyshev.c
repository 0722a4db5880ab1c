/*
   KSPCHEBYSHEV for a block. The bounds of the eigenvalues are PETSc's.

   The first kind is the recurrence of KSPSolve_Chebyshev_FirstKind() for the steps d = x_k+1 - x_k, so that X stays
   where it is. Without norms no process waits for another or for the device. A smoother has none, and most have a
   diagonal as preconditioner: then a step is a product and one pass over the blocks.
*/
#include "blockksp.h"

#if AIJTCU_HAVE_BLOCK
enum {
  NORM = AIJTCU_SCALARS_OWN,
  COEFFICIENTS,
  END = COEFFICIENTS + 2
};

static PetscErrorCode AIJTCULacksChebyshev(KSP ksp, AIJTCUBlockKSP *s, const char **why)
{
  AIJTCUChebyshev bounds;
  PetscBool       known;

  PetscFunctionBegin;
  (void)s;
  PetscCall(AIJTCUChebyshevGet(ksp, &bounds, &known));
  if (!known) *why = "this PETSc keeps the bounds of chebyshev in another place";
  PetscFunctionReturn(PETSC_SUCCESS);
}

static AIJTCUBlockNeeds AIJTCUNeedsChebyshev(KSP ksp)
{
  (void)ksp;
  return (AIJTCUBlockNeeds){.nscalars = END, .nblocks = AIJTCU_BLOCK_OWN + 3};
}

/* Z = M R, and a test where norms are wanted. n iterations are done */
static PetscErrorCode AIJTCUStepChebyshev(KSP ksp, AIJTCUBlockKSP *s, PetscInt n, Mat R, Mat Z)
{
  const PetscBool  last = (PetscBool)(n >= ksp->max_it), early = (PetscBool)(ksp->normtype == KSP_NORM_PRECONDITIONED);
  const PetscReal *norm;

  PetscFunctionBegin;
  if (early) PetscCall(AIJTCUBlockPCApply(ksp, R, Z));
  if (ksp->normtype != KSP_NORM_NONE) {
    PetscCall(AIJTCUColumnsNorms(s, early ? Z : R, NORM, &norm));
    /* PETSc counts the iteration that a test in the middle belongs to */
    if (ksp->max_it) PetscCall(AIJTCUColumnsTest(ksp, s, n, !n || last ? n : n + 1, norm));
  }
  if (last) PetscCall(AIJTCUColumnsStop(ksp, s, n, ksp->normtype == KSP_NORM_NONE && ksp->max_it ? KSP_CONVERGED_ITS : KSP_DIVERGED_ITS));
  if (!early && s->columns.nactive) PetscCall(AIJTCUBlockPCApply(ksp, R, Z));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* The numbers of the first kind: a step is x_n = omega x_n-1 + (1 - omega) x_n-2 + omega scale M r_n-1; omega_1 is 1 */
PetscReal AIJTCUChebyshevOmega(PetscReal alpha, PetscReal c[2])
{
  const PetscReal next = 2 / alpha * c[1] - c[0], omega = 2 / alpha * c[1] / next;

  c[0] = c[1];
  c[1] = next;
  return omega;
}

static PetscErrorCode AIJTCUSolveChebyshevFirst(KSP ksp, AIJTCUBlockKSP *s, const AIJTCUChebyshev *bounds, Mat B, Mat X)
{
  const AIJTCUBlockCtx ctx   = s->ctx;
  const PetscReal      scale = 2 / (bounds->emax + bounds->emin), alpha = 1 - scale * bounds->emin;
  const PetscBool      norms = (PetscBool)(ksp->normtype != KSP_NORM_NONE);
  PetscScalar *const   value = AIJTCUBlockScalars(ctx, COEFFICIENTS);
  PetscReal            c[2]  = {1, 1 / alpha};
  Mat                  d[2], R, r;

  PetscFunctionBegin;
  PetscCall(AIJTCUBlockWork(ctx, AIJTCU_BLOCK_TEMP, &d[1]));
  PetscCall(AIJTCUBlockWork(ctx, AIJTCU_BLOCK_OWN, &R));
  PetscCall(AIJTCUBlockWork(ctx, AIJTCU_BLOCK_OWN + 1, &d[0]));
  PetscCall(AIJTCUBlockResidual(ksp, s, ksp->guess_zero, B, X, R, &r));
  PetscCall(AIJTCUStepChebyshev(ksp, s, 0, r, d[0]));
  for (PetscInt n = 1; s->columns.nactive; n++) {
    const PetscBool last = (PetscBool)(n >= ksp->max_it);

    if (n == 1) { /* the first step is scale M r; d[0] is not scaled */
      PetscCall(AIJTCUColumnsScaled(s, 1, (PetscScalar[]){scale}, COEFFICIENTS));
      PetscCall(AIJTCUBlockMAXPY(ctx, X, 1, 1, value, d));
    } else {
      const PetscReal omega = AIJTCUChebyshevOmega(alpha, c);

      PetscCall(AIJTCUColumnsScaled(s, 2, (PetscScalar[]){(omega - 1) * (n == 2 ? scale : 1), omega * scale}, COEFFICIENTS));
      if (last && !norms) PetscCall(AIJTCUBlockMAXPY(ctx, X, 1, 2, value, d));
      else {
        PetscCall(AIJTCUBlockAXPBY(ctx, d[0], AIJTCUBlockScalars(ctx, COEFFICIENTS + 1), d[1], value));
        PetscCall(AIJTCUBlockAXPBY(ctx, X, NULL, d[0], NULL));
      }
    }
    if (!last || norms) PetscCall(AIJTCUBlockResidual(ksp, s, PETSC_FALSE, B, X, R, &r));
    PetscCall(AIJTCUStepChebyshev(ksp, s, n, r, d[1]));
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* The first kind without norms, with D as in AIJTCUBlockSmooth(). x_n comes to T and to X in turns, the last to X */
static PetscErrorCode AIJTCUSmoothChebyshev(KSP ksp, AIJTCUBlockKSP *s, const AIJTCUChebyshev *bounds, PetscInt dblock, Vec D, Mat B, Mat X)
{
  const PetscReal scale = 2 / (bounds->emax + bounds->emin), alpha = 1 - scale * bounds->emin;
  PetscReal       c[2] = {1, 1 / alpha};
  Mat             T, W;

  PetscFunctionBegin;
  PetscCall(AIJTCUBlockWork(s->ctx, AIJTCU_BLOCK_TEMP, &T));
  PetscCall(AIJTCUBlockWork(s->ctx, AIJTCU_BLOCK_OWN, &W));
  for (PetscInt n = 1; n <= ksp->max_it; n++) {
    const Mat       from = n % 2 ? X : T, before = n % 2 ? T : X, to = n == ksp->max_it ? X : before;
    const PetscReal omega = n == 1 ? 1 : AIJTCUChebyshevOmega(alpha, c);
    const PetscInt  known = n - (ksp->guess_zero ? 1 : 0); /* how many of x_n-1, x_n-2, ... are not zero, or there */

    if (known) PetscCall(AIJTCUBlockMatMult(ksp, s, from, W));
    PetscCall(AIJTCUBlockSmooth(s->ctx, to, known > 1 ? 1 - omega : 0, before, known ? omega : 0, from, omega * scale, dblock, D, B, known ? W : NULL));
  }
  PetscCall(AIJTCUColumnsSmoothed(ksp, s, X));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* The fourth kind: KSPSolve_Chebyshev_FourthKind(). Its residual is not that of X if beta is not 1 */
static PetscErrorCode AIJTCUSolveChebyshevFourth(KSP ksp, AIJTCUBlockKSP *s, const AIJTCUChebyshev *bounds, Mat B, Mat X)
{
  const AIJTCUBlockCtx ctx   = s->ctx;
  const PetscReal      scale = 1 / bounds->emax;
  PetscScalar *const   value = AIJTCUBlockScalars(ctx, COEFFICIENTS);
  Mat                  R, W, D, Z, r;

  PetscFunctionBegin;
  PetscCall(AIJTCUBlockWork(ctx, AIJTCU_BLOCK_TEMP, &Z));
  PetscCall(AIJTCUBlockWork(ctx, AIJTCU_BLOCK_OWN, &W));
  PetscCall(AIJTCUBlockWork(ctx, AIJTCU_BLOCK_OWN + 1, &R));
  PetscCall(AIJTCUBlockWork(ctx, AIJTCU_BLOCK_OWN + 2, &D));
  PetscCall(AIJTCUBlockResidual(ksp, s, ksp->guess_zero, B, X, W, &r));
  PetscCall(AIJTCUBlockCopy(ctx, r, R));
  PetscCall(AIJTCUStepChebyshev(ksp, s, 0, R, Z));
  for (PetscInt n = 1; s->columns.nactive; n++) {
    const PetscReal old = (2. * n - 3) / (2 * n + 1), new = n == 1 ? 4. / 3 * scale : scale *(8. * n - 4) / (2 * n + 1);

    PetscCall(AIJTCUColumnsScaled(s, 2, (PetscScalar[]){n == 1 ? 0 : old, new}, COEFFICIENTS));
    PetscCall(AIJTCUBlockAXPBY(ctx, D, AIJTCUBlockScalars(ctx, COEFFICIENTS + 1), Z, value));
    PetscCall(AIJTCUColumnsScaled(s, 1, (PetscScalar[]){bounds->betas[n - 1]}, COEFFICIENTS));
    PetscCall(AIJTCUBlockMAXPY(ctx, X, 1, 1, value, &D));
    if (n < ksp->max_it) {
      PetscCall(AIJTCUBlockMatMult(ksp, s, D, W));
      PetscCall(AIJTCUBlockAXPBY(ctx, R, AIJTCUBlockScalars(ctx, AIJTCU_SCALARS_MINUS), W, NULL));
      r = R;
    } else if (ksp->normtype != KSP_NORM_NONE) PetscCall(AIJTCUBlockResidual(ksp, s, PETSC_FALSE, B, X, W, &r));
    PetscCall(AIJTCUStepChebyshev(ksp, s, n, r, Z));
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode AIJTCUSolveChebyshev(KSP ksp, AIJTCUBlockKSP *s, Mat B, Mat X)
{
  AIJTCUChebyshev bounds;
  PetscBool       known;
  PetscInt        dblock;
  Vec             D;

  PetscFunctionBegin;
  PetscCall(AIJTCUChebyshevGet(ksp, &bounds, &known));
  PetscCall(AIJTCUBlockSmootherDiagonal(ksp, s, &dblock, &D));
  if (D && bounds.kind == KSP_CHEBYSHEV_FIRST) PetscCall(AIJTCUSmoothChebyshev(ksp, s, &bounds, dblock, D, B, X));
  else if (bounds.kind == KSP_CHEBYSHEV_FIRST) PetscCall(AIJTCUSolveChebyshevFirst(ksp, s, &bounds, B, X));
  else PetscCall(AIJTCUSolveChebyshevFourth(ksp, s, &bounds, B, X));
  PetscFunctionReturn(PETSC_SUCCESS);
}

  #if AIJTCU_HAVE_DEVICE_REAL
/* A chebyshev's own */
typedef struct {
  Vec noise;
} AIJTCUChebyshevOwn;

static PetscErrorCode AIJTCUSetUpChebyshev(KSP ksp, AIJTCUBlockKSP *s)
{
  PetscFunctionBegin;
  PetscCall(AIJTCUSetUpWithNoise(ksp, s->setup, &((AIJTCUChebyshevOwn *)s->data)->noise));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode AIJTCUResetChebyshev(AIJTCUBlockKSP *s)
{
  PetscFunctionBegin;
  PetscCall(VecDestroy(&((AIJTCUChebyshevOwn *)s->data)->noise));
  PetscFunctionReturn(PETSC_SUCCESS);
}
  #endif

static PetscErrorCode (*original)(KSP);

static PetscErrorCode KSPCreate_Chebyshev_AIJTCU(KSP ksp)
{
  PetscFunctionBegin;
  PetscCall(AIJTCUBlockCreateKSP(ksp, &AIJTCUBlockChebyshev));
  PetscFunctionReturn(PETSC_SUCCESS);
}

const AIJTCUBlockMethod AIJTCUBlockChebyshev = {
  .name     = KSPCHEBYSHEV,
  .create   = KSPCreate_Chebyshev_AIJTCU,
  .original = &original,
  #if AIJTCU_HAVE_DEVICE_REAL
  .size  = sizeof(AIJTCUChebyshevOwn),
  .setup = AIJTCUSetUpChebyshev,
  .reset = AIJTCUResetChebyshev,
  #endif
  .lacks = AIJTCULacksChebyshev,
  .needs = AIJTCUNeedsChebyshev,
  .solve = AIJTCUSolveChebyshev};
#endif
