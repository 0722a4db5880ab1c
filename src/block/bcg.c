/*
   Block conjugate gradients: -ksp_type bcg. All columns share one Krylov space, so fewer iterations are needed than
   with cg. With one right-hand side, or any other operator, it is cg.

   The iteration is BCGrQ (Dubrulle, Retooling the method of block conjugate gradients, ETNA 12, 2001), with the
   preconditioner M as inner product: the residual is R = Q C, with Q^T M Q = 1.

     T = A S                      H = S^T T
     X <- X + S H^-1 C            Qn = Q - T H^-1
     Qn^T M Qn = Zeta^T Zeta      Qn = Q Zeta
     S <- M Q + S Zeta^T          C <- Zeta C

   Zeta is a Cholesky factor with pivots. Columns of Qn that depend on others are left out: the columns of Q and S
   behind the rank are zero. So dependent, zero or converged right-hand sides are no breakdown (compare Ji and Li, A
   breakdown-free block conjugate gradient method, BIT 57, 2017). What is left out is lost from R. How much that is at
   most is counted for each column. A column whose norm might be another one does not end. When all others have ended,
   and these seem to have converged, the residual is computed anew, and the iteration begins again.

   Q is kept as Qn and a factor F: Q = Qn F. Small matrices have N rows and columns, each column after the other. C,
   Zeta and F are found on the host, and H is inverted where the blocks are. So on a device an iteration waits for one
   copy to the host and sends one. On more than one process a sum over them is a wait, too.

   A block of one column is cg's.
*/
#include "blockksp.h"

#if AIJTCU_HAVE_BLOCK
/* Work blocks */
enum {
  RESULT = AIJTCU_BLOCK_OWN, /* of products with A */
  QN,
  QN_NEXT,
  DIRECTION,
  DIRECTION_NEXT,
  BLOCKS
};

/* Scalars. Those of each column come before the small matrices */
enum {
  NORM = AIJTCU_SCALARS_OWN,
  PIVOTS, /* of H. From here on what the host gets */
  SQUARES
};

/* Small matrices where the blocks are */
enum {
  SQUARE_H,
  SQUARE_GRAM,  /* Qn^T M Qn */
  SQUARE_NORMS, /* the products that norms are computed from */
  SQUARE_F,     /* from here on what the host sends */
  SQUARE_ZETA,
  SQUARE_C,       /* without the columns that have ended */
  SQUARE_INVERSE, /* of H */
  SQUARE_STEP,    /* H^-1 C */
  SQUARES_END
};

/* Square matrices of N rows, and what is found of the block */
typedef struct {
  AIJTCUCGSettings settings;

  PetscInt     N;
  PetscInt     rank;
  PetscScalar *C, *G, *norms, *temp;
  PetscScalar *F, *zeta, *left; /* one after the other; left is C without the columns that have ended */
  PetscInt    *pivot;
  PetscBool   *known;   /* norms of R are right */
  PetscReal   *dropped; /* norms of what is left out of the columns of Qn */
  PetscReal   *lost;    /* most that is missing of each column of R, in the natural norm */
} AIJTCUBCG;

static PetscErrorCode AIJTCUResetBCG(AIJTCUBlockKSP *s)
{
  AIJTCUBCG *b = (AIJTCUBCG *)s->data;

  PetscFunctionBegin;
  PetscCall(PetscFree6(b->C, b->G, b->norms, b->temp, b->F, b->pivot));
  PetscCall(PetscFree3(b->known, b->dropped, b->lost));
  b->N = 0;
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode AIJTCUSetUpBCG(AIJTCUBlockKSP *s)
{
  AIJTCUBCG     *b = (AIJTCUBCG *)s->data;
  const PetscInt N = s->columns.N, size = N * N;

  PetscFunctionBegin;
  if (b->N == N) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCall(AIJTCUResetBCG(s));
  PetscCall(PetscMalloc6(size, &b->C, size, &b->G, size, &b->norms, size, &b->temp, 3 * size, &b->F, N, &b->pivot));
  PetscCall(PetscMalloc3(N, &b->known, N, &b->dropped, N, &b->lost));
  b->zeta = b->F + size;
  b->left = b->zeta + size;
  b->N    = N;
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscScalar *AIJTCUSquare(AIJTCUBlockKSP *s, PetscInt k)
{
  return AIJTCUBlockScalars(s->ctx, SQUARES + k * s->columns.N);
}

/* Z = X Y for small matrices */
static void AIJTCUSmallTimes(PetscInt N, const PetscScalar *X, const PetscScalar *Y, PetscScalar *Z)
{
  for (PetscInt j = 0; j < N; j++) {
    for (PetscInt i = 0; i < N; i++) {
      PetscScalar sum = 0;

      for (PetscInt k = 0; k < N; k++) sum += X[k * N + i] * Y[j * N + k];
      Z[j * N + i] = sum;
    }
  }
}

/*
   G = Zeta^T Zeta by Cholesky with pivots, and F, with which F^T G F is 1 up to the rank. The columns of G are scaled
   for the choice of the pivots, because residuals have norms of all sizes. G is overwritten. Returns false if G has a
   negative number on its diagonal, which a positive definite M does not give.
*/
static PetscBool AIJTCUFactor(AIJTCUBCG *b)
{
  const PetscInt  N   = b->N;
  const PetscReal tol = 16 * N * PETSC_MACHINE_EPSILON;
  PetscScalar    *G = b->G, *zeta = b->zeta, *F = b->F, *first = b->temp; /* the diagonal at first */

  (void)PetscArrayzero(zeta, N * N);
  (void)PetscArrayzero(F, N * N);
  b->rank = 0;
  for (PetscInt j = 0; j < N; j++) {
    if (PetscRealPart(G[j * N + j]) < 0) return PETSC_FALSE;
    first[j]    = G[j * N + j];
    b->pivot[j] = -1; /* at which step column j was the pivot */
  }
  for (PetscInt k = 0; k < N; k++) {
    PetscReal most = tol, root;
    PetscInt  p    = -1;

    for (PetscInt j = 0; j < N; j++) {
      if (b->pivot[j] < 0 && PetscRealPart(first[j]) > 0 && PetscRealPart(G[j * N + j]) > most * PetscRealPart(first[j])) {
        most = PetscRealPart(G[j * N + j]) / PetscRealPart(first[j]);
        p    = j;
      }
    }
    if (p < 0) break;
    root        = PetscSqrtReal(PetscRealPart(G[p * N + p]));
    b->pivot[p] = k;
    for (PetscInt j = 0; j < N; j++) zeta[j * N + k] = b->pivot[j] < 0 || j == p ? G[j * N + p] / root : 0;
    for (PetscInt j = 0; j < N; j++) {
      for (PetscInt i = 0; i < N; i++) {
        if (b->pivot[i] < 0 && b->pivot[j] < 0) G[j * N + i] -= zeta[i * N + k] * zeta[j * N + k];
      }
    }
    b->rank++;
  }
  for (PetscInt j = 0; j < N; j++) b->dropped[j] = b->pivot[j] < 0 ? PetscSqrtReal(PetscMax(PetscRealPart(G[j * N + j]), 0)) : 0;
  /* Rows of the pivots of F are the inverse of the columns of the pivots of Zeta, which are triangular */
  for (PetscInt k = 0; k < b->rank; k++) {
    for (PetscInt i = k; i >= 0; i--) {
      PetscInt    p   = 0;
      PetscScalar sum = i == k ? 1 : 0;

      while (b->pivot[p] != i) p++;
      for (PetscInt q = 0; q < N; q++) {
        if (b->pivot[q] > i && b->pivot[q] <= k) sum -= zeta[q * N + i] * F[k * N + q];
      }
      F[k * N + p] = sum / zeta[p * N + i];
    }
  }
  return PETSC_TRUE;
}

/* The block is not what a positive definite A and M give. NaN of a column is in all of them by now */
static PetscErrorCode AIJTCUBreakDown(KSP ksp, AIJTCUBlockKSP *s, PetscInt its, const PetscScalar *small, KSPConvergedReason reason)
{
  AIJTCUColumns *c   = &s->columns;
  PetscBool      nan = PETSC_FALSE;

  PetscFunctionBegin;
  for (PetscInt k = 0; k < c->N * c->N; k++) nan = (PetscBool)(nan || PetscIsInfOrNanScalar(small[k]));
  for (PetscInt j = 0; j < c->N; j++) {
    if (c->reason[j]) continue;
    if (nan) PetscCall(AIJTCUColumnStopNaN(ksp, s, j, its));
    else PetscCall(AIJTCUColumnStop(ksp, s, j, its, reason));
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Y = (X + X^T) / 2 for small matrices: what would be symmetric without rounding */
static void AIJTCUSymmetric(PetscInt N, const PetscScalar *X, PetscScalar *Y)
{
  for (PetscInt j = 0; j < N; j++) {
    for (PetscInt i = 0; i <= j; i++) Y[j * N + i] = Y[i * N + j] = (X[j * N + i] + X[i * N + j]) / 2;
  }
}

/*
   Products of Qn and Z = M Qn for the next factor and for norms, and how the inversion of H before has ended: a column
   ends if that broke down. This is the wait of an iteration
*/
static PetscErrorCode AIJTCUFetchBCG(KSP ksp, AIJTCUBlockKSP *s, PetscBool first, PetscInt its, Mat Qn, Mat Z)
{
  AIJTCUBCG         *b     = (AIJTCUBCG *)s->data;
  const PetscInt     N     = b->N;
  const PetscBool    plain = (PetscBool)(ksp->normtype == KSP_NORM_UNPRECONDITIONED), more = (PetscBool)(plain || ksp->normtype == KSP_NORM_PRECONDITIONED);
  const Mat          X[2] = {plain ? Z : Qn, plain ? Qn : Z};
  const PetscScalar *host, *squares;
  PetscBool          good = PETSC_TRUE;

  PetscFunctionBegin;
  PetscCall(AIJTCUBlockGram(s->ctx, more ? 2 : 1, X, plain ? Qn : Z, AIJTCUSquare(s, SQUARE_GRAM)));
  PetscCall(AIJTCUColumnsFetch(s, PIVOTS, SQUARES - PIVOTS + (SQUARE_GRAM + (more ? 2 : 1)) * N, &host));
  squares = host + (SQUARES - PIVOTS) * N;
  for (PetscInt k = 0; k < N && !first; k++) good = (PetscBool)(good && PetscRealPart(host[k]) > 0);
  if (!good) PetscCall(AIJTCUBreakDown(ksp, s, its, squares + SQUARE_H * N * N, ksp->converged_neg_curve ? KSP_CONVERGED_NEG_CURVE : KSP_DIVERGED_INDEFINITE_MAT));
  AIJTCUSymmetric(N, squares + SQUARE_GRAM * N * N, b->G);
  if (more) AIJTCUSymmetric(N, squares + SQUARE_NORMS * N * N, b->norms);
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Zeta and F of Qn. Columns end if there are none */
static PetscErrorCode AIJTCUNormalize(KSP ksp, AIJTCUBlockKSP *s, PetscInt its)
{
  AIJTCUBCG *b = (AIJTCUBCG *)s->data;

  PetscFunctionBegin;
  for (PetscInt k = 0; k < b->N * b->N; k++) {
    if (!PetscIsInfOrNanScalar(b->G[k])) continue;
    PetscCall(AIJTCUBreakDown(ksp, s, its, b->G, KSP_DIVERGED_NANORINF));
    PetscFunctionReturn(PETSC_SUCCESS);
  }
  if (!AIJTCUFactor(b)) PetscCall(AIJTCUBreakDown(ksp, s, its, b->G, KSP_DIVERGED_INDEFINITE_PC));
  for (PetscInt j = 0; j < b->N; j++) {
    for (PetscInt i = 0; i < b->N; i++) b->lost[j] += b->dropped[i] * PetscAbsScalar(b->C[j * b->N + i]);
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*
   Norms of the columns of R = Qn C. Natural ones are those of the columns of Zeta C. known says which are right to a
   hundredth
*/
static void AIJTCUNormsBCG(KSP ksp, AIJTCUBlockKSP *s)
{
  AIJTCUBCG     *b = (AIJTCUBCG *)s->data;
  AIJTCUColumns *c = &s->columns;
  const PetscInt N = b->N;

  AIJTCUSmallTimes(N, b->zeta, b->C, b->temp);
  for (PetscInt j = 0; j < N; j++) {
    PetscReal sum = 0;

    for (PetscInt i = 0; i < N; i++) sum += PetscSqr(PetscRealPart(b->temp[j * N + i]));
    c->norm[j]  = PetscSqrtReal(sum);
    b->known[j] = (PetscBool)(b->lost[j] <= 0.01 * c->norm[j]);
  }
  if (ksp->normtype == KSP_NORM_NATURAL) return;
  AIJTCUSmallTimes(N, b->norms, b->C, b->temp);
  for (PetscInt j = 0; j < N; j++) {
    PetscReal sum = 0;

    for (PetscInt i = 0; i < N; i++) sum += PetscRealPart(b->C[j * N + i] * b->temp[j * N + i]);
    c->norm[j] = PetscSqrtReal(PetscMax(sum, 0));
  }
}

/*
   Test after its iterations. A column whose norm is not known does not end. again says that there are only such
   columns, and that they seem to have converged
*/
static PetscErrorCode AIJTCUTestBCG(KSP ksp, AIJTCUBlockKSP *s, PetscInt its, const PetscBool known[], PetscBool *again)
{
  AIJTCUColumns     *c = &s->columns;
  KSPConvergedReason reason;
  PetscReal          worst = 0;

  PetscFunctionBegin;
  *again = PETSC_TRUE;
  for (PetscInt j = 0; j < c->N; j++) {
    if (!c->reason[j]) {
      c->rnorm[j] = c->norm[j];
      PetscCall(AIJTCUColumnTest(ksp, s, j, its, c->norm[j], &reason));
      if (!reason) *again = PETSC_FALSE;
      else if (known[j]) PetscCall(AIJTCUColumnStop(ksp, s, j, its, reason));
    }
    worst = PetscMax(worst, c->rnorm[j]);
  }
  PetscCall(KSPLogResidualHistory(ksp, worst));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* An iteration: its direction from Z = M Qn and the last one, the step of X, and the next Qn */
static PetscErrorCode AIJTCUIterateBCG(KSP ksp, AIJTCUBlockKSP *s, PetscBool first, Mat Z, Mat Qn[2], Mat S[2], Mat X)
{
  const AIJTCUBlockCtx ctx = s->ctx;
  AIJTCUBCG           *b   = (AIJTCUBCG *)s->data;
  const PetscInt       N   = b->N;
  PetscScalar *const F = AIJTCUSquare(s, SQUARE_F), *const inverse = AIJTCUSquare(s, SQUARE_INVERSE), *const step = AIJTCUSquare(s, SQUARE_STEP);
  Mat T, last = S[0];

  PetscFunctionBegin;
  PetscCall(AIJTCUBlockWork(ctx, RESULT, &T));
  AIJTCUSmallTimes(N, b->zeta, b->C, b->temp);
  PetscCall(PetscArraycpy(b->C, b->temp, N * N));
  for (PetscInt j = 0; j < N; j++) {
    if (s->columns.reason[j]) PetscCall(PetscArrayzero(b->left + j * N, N));
    else PetscCall(PetscArraycpy(b->left + j * N, b->C + j * N, N));
  }
  PetscCall(AIJTCUBlockToScalars(ctx, 3 * N, b->F, F));
  PetscCall(AIJTCUBlockTimes(ctx, 1, Z, PETSC_FALSE, F, PETSC_FALSE, S[1])); /* s <- z f + s zeta^T */
  if (!first) PetscCall(AIJTCUBlockTimes(ctx, 1, last, PETSC_TRUE, AIJTCUSquare(s, SQUARE_ZETA), PETSC_TRUE, S[1]));
  S[0] = S[1];
  S[1] = last;
  PetscCall(AIJTCUBlockMatMult(ksp, s, S[0], T));
  PetscCall(AIJTCUBlockGram(ctx, 1, &S[0], T, AIJTCUSquare(s, SQUARE_H)));
  PetscCall(AIJTCUBlockInvert(ctx, b->rank, AIJTCUSquare(s, SQUARE_H), AIJTCUSquare(s, SQUARE_C), inverse, step, AIJTCUBlockScalars(ctx, PIVOTS)));
  PetscCall(AIJTCUBlockTimes(ctx, 1, S[0], PETSC_FALSE, step, PETSC_TRUE, X));    /* x <- x + s h^-1 c */
  PetscCall(AIJTCUBlockTimes(ctx, 1, Qn[0], PETSC_FALSE, F, PETSC_FALSE, Qn[1])); /* qn <- qn f - t h^-1 */
  PetscCall(AIJTCUBlockTimes(ctx, -1, T, PETSC_FALSE, inverse, PETSC_TRUE, Qn[1]));
  last  = Qn[0];
  Qn[0] = Qn[1];
  Qn[1] = last;
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Columns whose first residual r is no number end, so that they do not spoil the others */
static PetscErrorCode AIJTCUStopNaNs(KSP ksp, AIJTCUBlockKSP *s, Mat r)
{
  AIJTCUColumns   *c = &s->columns;
  const PetscReal *norm;

  PetscFunctionBegin;
  PetscCall(AIJTCUColumnsNorms(s, r, NORM, &norm));
  for (PetscInt j = 0; j < c->N; j++) {
    c->rnorm[j] = norm[j];
    if (PetscIsInfOrNanReal(norm[j])) PetscCall(AIJTCUColumnStopNaN(ksp, s, j, 0));
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Iterations from the residual of X on, until all columns have ended or the residual is to be computed anew */
static PetscErrorCode AIJTCUCycleBCG(KSP ksp, AIJTCUBlockKSP *s, PetscInt *its, Mat B, Mat X)
{
  const AIJTCUBlockCtx ctx = s->ctx;
  AIJTCUBCG           *b   = (AIJTCUBCG *)s->data;
  AIJTCUColumns       *c   = &s->columns;
  const PetscInt       N   = b->N;
  const PetscScalar   *active;
  Mat                  Qn[2], S[2], Z, R, r;

  PetscFunctionBegin;
  PetscCall(AIJTCUBlockWork(ctx, AIJTCU_BLOCK_TEMP, &Z));
  PetscCall(AIJTCUBlockWork(ctx, RESULT, &R));
  for (int i = 0; i < 2; i++) {
    PetscCall(AIJTCUBlockWork(ctx, QN + i, &Qn[i]));
    PetscCall(AIJTCUBlockWork(ctx, DIRECTION + i, &S[i]));
  }
  PetscCall(AIJTCUBlockResidual(ksp, s, (PetscBool)(!*its && ksp->guess_zero), B, X, R, &r));
  if (!*its) PetscCall(AIJTCUStopNaNs(ksp, s, r));
  PetscCall(AIJTCUColumnsActive(s, &active));
  PetscCall(AIJTCUBlockAXPBY(ctx, Qn[0], active, r, AIJTCUBlockScalars(ctx, AIJTCU_SCALARS_ZERO)));
  PetscCall(PetscArrayzero(b->C, N * N));
  for (PetscInt j = 0; j < N; j++) b->C[j * N + j] = 1;
  PetscCall(PetscArrayzero(b->lost, N));
  for (PetscBool first = PETSC_TRUE; c->nactive; first = PETSC_FALSE) {
    PetscBool again;

    PetscCall(AIJTCUBlockPCApply(ksp, Qn[0], Z));
    PetscCall(AIJTCUFetchBCG(ksp, s, first, *its, Qn[0], Z));
    if (c->nactive) PetscCall(AIJTCUNormalize(ksp, s, *its));
    if (!c->nactive) break;
    for (PetscInt j = 0; j < N; j++) c->norm[j] = 0;
    if (ksp->normtype != KSP_NORM_NONE) AIJTCUNormsBCG(ksp, s);
    for (PetscInt j = 0; j < N; j++) b->known[j] = (PetscBool)(b->known[j] || first || ksp->normtype == KSP_NORM_NONE);
    PetscCall(AIJTCUTestBCG(ksp, s, *its, b->known, &again));
    if (again) break;
    if (*its >= ksp->max_it) PetscCall(AIJTCUColumnsStop(ksp, s, *its, KSP_DIVERGED_ITS));
    if (!b->rank) PetscCall(AIJTCUColumnsStop(ksp, s, *its, KSP_CONVERGED_ATOL));
    if (!c->nactive) break;
    PetscCall(AIJTCUIterateBCG(ksp, s, first, Z, Qn, S, X));
    ++*its;
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode AIJTCUSolveBCG(KSP ksp, AIJTCUBlockKSP *s, Mat B, Mat X)
{
  PetscInt its = 0;

  PetscFunctionBegin;
  if (s->columns.N == 1) {
    PetscCall((*AIJTCUBlockCG.solve)(ksp, s, B, X));
    PetscFunctionReturn(PETSC_SUCCESS);
  }
  PetscCall(AIJTCUSetUpBCG(s));
  while (s->columns.nactive) PetscCall(AIJTCUCycleBCG(ksp, s, &its, B, X));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Enough for cg's solve as well */
static AIJTCUBlockNeeds AIJTCUNeedsBCG(KSP ksp)
{
  AIJTCUBlockNeeds needs = (*AIJTCUBlockCG.needs)(ksp);

  needs.nscalars = PetscMax(needs.nscalars, SQUARES);
  needs.nblocks  = PetscMax(needs.nblocks, BLOCKS);
  needs.nsquares = SQUARES_END;
  return needs;
}

static PetscErrorCode (*original)(KSP);

static PetscErrorCode KSPCreate_BCG_AIJTCU(KSP ksp)
{
  PetscFunctionBegin;
  PetscCall(AIJTCUBlockCreateKSP(ksp, &AIJTCUBlockBCG));
  PetscFunctionReturn(PETSC_SUCCESS);
}

const AIJTCUBlockMethod AIJTCUBlockBCG = {
  .name     = "bcg",
  .base     = KSPCG,
  .create   = KSPCreate_BCG_AIJTCU,
  .original = &original,
  .size     = sizeof(AIJTCUBCG),
  .compose  = AIJTCUComposeCG,
  .lacks    = AIJTCULacksCG,
  .needs    = AIJTCUNeedsBCG,
  .solve    = AIJTCUSolveBCG,
  .reset    = AIJTCUResetBCG};
#endif
