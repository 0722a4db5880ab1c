/*
   Block conjugate gradients: -ksp_type bcg. All columns share one Krylov space, so fewer iterations are needed than
   with cg. With one right-hand side, or any other operator, it is cg.

   The iteration is BCGrQ (Dubrulle, Retooling the method of block conjugate gradients, ETNA 12, 2001), with the
   preconditioner M as inner product: the residual is R = Q C, with Q^T M Q = 1.

     T = A S                      H = S^T T
     X <- X + S H^-1 C            Qn = Q - T H^-1
     Qn^T M Qn = Zeta^T Zeta      Qn = Q Zeta
     S <- M Q + S Zeta^T          C <- Zeta C

   Of complex numbers a transpose is conjugated: A and M are Hermitian.

   Zeta is a Cholesky factor with pivots. Columns of Qn that depend on others are left out: the columns of Q and S
   behind the rank are zero. So dependent, zero or converged right-hand sides are no breakdown (compare Ji and Li, A
   breakdown-free block conjugate gradient method, BIT 57, 2017). What is left out is lost from R. How much that is at
   most is counted for each column. A column whose norm might be another one does not end. When all others have ended,
   and these seem to have converged, the residual is computed anew, and the iteration begins again.

   Q is kept as Qn and a factor F: Q = Qn F. Small matrices have N rows and columns, each column after the other. C,
   Zeta and F are found on the host, and H is inverted where the blocks are. So on a device an iteration waits for one
   copy to the host. The step of X comes behind that copy: the device makes it while the host computes Zeta and F, and
   the next direction and its product while the host computes C and tests. On more than one process a sum over them is a
   wait, too.

   On one process a device with a diagonal M finds C, Zeta and F itself. The host is sent C, and what it tests, while
   the device makes the step of X, the next direction, its product and H. It ends columns before the device inverts H.

   Passes over a block on a device, with M a diagonal: 3 for S, 2 for H, 3 for Qn and its products, 3 for X, and 2 of
   the product with A. cg has one less.

   A singular A has a null space, and right-hand sides without it have residuals without it, but for rounding. M Qn is
   without it, too. So a column of Qn that is small beside what rounding has left there has a product with M Qn of
   either sign, and grows. The null space is taken out of Qn as well, then.

   A block of one column is cg's.
*/
#include "blockksp.h"

#if AIJTCU_HAVE_BLOCK
  #include <petscblaslapack.h>

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
  PIVOTS = AIJTCU_SCALARS_OWN, /* of H. From here on what the host gets */
  DROPPED,                     /* norms of what is left out of the columns of Qn */
  RANK,                        /* one number */
  SQUARES
};

/* Small matrices where the blocks are */
enum {
  SQUARE_H, /* those of two iterations take turns: the next may be made while the host gets one */
  SQUARE_H_NEXT,
  SQUARE_GRAM,  /* Qn^T M Qn */
  SQUARE_NORMS, /* the products that norms are computed from */
  SQUARE_C,     /* the last that the host gets */
  SQUARE_F,
  SQUARE_ZETA,
  SQUARE_INVERSE, /* of H */
  SQUARE_STEP,    /* H^-1 C, without the columns that have ended */
  SQUARES_END
};

/* Square matrices of N rows, and what is found of the block */
typedef struct {
  AIJTCUCGSettings settings;

  PetscInt     N;
  PetscInt     rank;
  PetscScalar *C, *next, *G, *norms, *temp; /* next is Zeta C */
  PetscScalar *F, *zeta;                    /* one after the other */
  PetscInt    *order, *open;                /* columns of Qn that are pivots, those up to the rank, and that are not */
  PetscBool   *known;                       /* norms of R are right */
  PetscReal   *dropped;                     /* norms of what is left out of the columns of Qn */
  PetscReal   *lost;                        /* most that is missing of each column of R, in the natural norm */

  /* M where it is a diagonal that blocks are multiplied with. No Z = M Qn is made then */
  Vec D;

  PetscBool project; /* the null space of a singular A is taken out of Qn */
  PetscBool factors; /* the next C, Zeta and F are found where the blocks are, but the first */
} AIJTCUBCG;

static PetscErrorCode AIJTCUResetBCG(AIJTCUBlockKSP *s)
{
  AIJTCUBCG *b = (AIJTCUBCG *)s->data;

  PetscFunctionBegin;
  PetscCall(PetscFree6(b->C, b->next, b->G, b->norms, b->temp, b->F));
  PetscCall(PetscFree5(b->known, b->dropped, b->lost, b->order, b->open));
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
  PetscCall(PetscMalloc6(size, &b->C, size, &b->next, size, &b->G, size, &b->norms, size, &b->temp, 2 * size, &b->F));
  PetscCall(PetscCalloc5(N, &b->known, N, &b->dropped, N, &b->lost, N, &b->order, N, &b->open));
  b->zeta = b->F + size;
  b->N    = N;
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscScalar *AIJTCUSquare(AIJTCUBlockKSP *s, PetscInt k)
{
  return AIJTCUBlockScalars(s->ctx, SQUARES + k * s->columns.N);
}

/* H of iteration its */
static PetscInt AIJTCUWhichH(PetscInt its)
{
  return its % 2 ? SQUARE_H_NEXT : SQUARE_H;
}

/* Z = X Y for small matrices */
static PetscErrorCode AIJTCUSmallTimes(PetscInt N, const PetscScalar *X, const PetscScalar *Y, PetscScalar *Z)
{
  const PetscScalar one = 1, zero = 0;
  PetscBLASInt      n;

  PetscFunctionBegin;
  PetscCall(PetscBLASIntCast(N, &n));
  PetscCallBLAS("BLASgemm", BLASgemm_("N", "N", &n, &n, &n, &one, X, &n, Y, &n, &zero, Z, &n));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* The place of the next pivot among the n columns that are none yet: one that lost least. -1 if all depend on others */
static PetscInt AIJTCUPivot(const AIJTCUBCG *b, const PetscScalar first[], PetscInt n, const PetscInt open[])
{
  const PetscInt N    = b->N;
  PetscReal      most = 16 * N * PETSC_MACHINE_EPSILON;
  PetscInt       p    = -1;

  for (PetscInt k = 0; k < n; k++) {
    const PetscInt  j   = open[k];
    const PetscReal now = PetscRealPart(b->G[j * N + j]);

    if (PetscRealPart(first[j]) > 0 && now > most * PetscRealPart(first[j])) {
      most = now / PetscRealPart(first[j]);
      p    = k;
    }
  }
  return p;
}

/*
   Rows of the pivots of F are the inverse of the columns of the pivots of Zeta, which are triangular. A row of the
   inverse, of the pivots in their order, is made of those below it, all its entries at once
*/
static void AIJTCUInvertFactor(AIJTCUBCG *b)
{
  const PetscInt     N    = b->N, n = b->rank;
  const PetscScalar *zeta = b->zeta;
  PetscScalar       *rows = b->temp;

  (void)PetscArrayzero(b->F, N * N);
  for (PetscInt i = n; i-- > 0;) {
    PetscScalar *row = rows + i * n;

    for (PetscInt k = i; k < n; k++) row[k] = k == i ? 1 : 0;
    for (PetscInt q = i + 1; q < n; q++) {
      const PetscScalar z = zeta[b->order[q] * N + i];

      for (PetscInt k = q; k < n; k++) row[k] -= z * rows[q * n + k];
    }
    for (PetscInt k = i; k < n; k++) {
      row[k] /= zeta[b->order[i] * N + i];
      b->F[k * N + b->order[i]] = row[k];
    }
  }
}

/*
   G = Zeta^T Zeta by Cholesky with pivots, and F, with which F^T G F is 1 up to the rank. The columns of G are scaled
   for the choice of the pivots, because residuals have norms of all sizes. G is overwritten, its upper triangle and of
   columns that are no pivots yet. Returns false if G has a negative number on its diagonal, which a positive definite M
   does not give. One that is small beside what Q had, one, is rounding: that column is left out. So is any with a
   singular A: M Qn is without the null space.
*/
static PetscBool AIJTCUFactor(AIJTCUBCG *b)
{
  const PetscInt N = b->N;
  PetscScalar   *G = b->G, *zeta = b->zeta;
  PetscScalar   *first = b->temp, *row = b->temp + N; /* the diagonal at first; a row of Zeta */
  PetscInt      *open = b->open, n = N, k;            /* columns that are no pivots yet, ascending */

  (void)PetscArrayzero(zeta, N * N);
  b->rank = 0;
  for (PetscInt j = 0; j < N; j++) {
    if (!b->project && PetscRealPart(G[j * N + j]) < -PETSC_SQRT_MACHINE_EPSILON) return PETSC_FALSE;
    first[j] = PetscMax(PetscRealPart(G[j * N + j]), 0);
    open[j]  = j;
  }
  while ((k = AIJTCUPivot(b, first, n, open)) >= 0) {
    const PetscInt  p    = open[k];
    const PetscReal root = PetscSqrtReal(PetscRealPart(G[p * N + p]));

    for (PetscInt l = 0; l < n; l++) {
      const PetscInt j = open[l];

      row[j]                = (j < p ? PetscConj(G[p * N + j]) : G[j * N + p]) / root;
      zeta[j * N + b->rank] = row[j];
    }
    b->order[b->rank++] = p;
    n--;
    for (PetscInt l = k; l < n; l++) open[l] = open[l + 1];
    for (PetscInt l = 0; l < n; l++) {
      const PetscInt    j = open[l];
      const PetscScalar x = row[j];

      for (PetscInt m = 0; m <= l; m++) G[j * N + open[m]] -= PetscConj(row[open[m]]) * x;
    }
  }
  (void)PetscArrayzero(b->dropped, N);
  for (PetscInt l = 0; l < n; l++) b->dropped[open[l]] = PetscSqrtReal(PetscAbsReal(PetscRealPart(G[open[l] * (N + 1)])));
  AIJTCUInvertFactor(b);
  return PETSC_TRUE;
}

/* Whether small matrices, one after the other, have a number that is infinite or none: times zero it is none */
static PetscBool AIJTCUSmallIsNaN(PetscInt n, const PetscScalar X[])
{
  PetscReal sum = 0;

  for (PetscInt k = 0; k < n; k++) sum += 0 * PetscRealPart(X[k]) + 0 * PetscImaginaryPart(X[k]);
  return PetscIsNanReal(sum);
}

/* The block is not what a positive definite A and M give. NaN of a column is in all of them by now */
static PetscErrorCode AIJTCUBreakDown(KSP ksp, AIJTCUBlockKSP *s, PetscInt its, const PetscScalar *small, KSPConvergedReason reason)
{
  AIJTCUColumns  *c   = &s->columns;
  const PetscBool nan = AIJTCUSmallIsNaN(c->N * c->N, small);

  PetscFunctionBegin;
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
    for (PetscInt i = 0; i <= j; i++) {
      Y[j * N + i] = (X[j * N + i] + PetscConj(X[i * N + j])) / 2;
      Y[i * N + j] = PetscConj(Y[j * N + i]);
    }
  }
}

/* The step of the last iteration: x <- x + s h^-1 c */
static PetscErrorCode AIJTCUStepBCG(AIJTCUBlockKSP *s, Mat S, Mat X)
{
  const AIJTCUBlockTerm term = {.sign = 1, .X = S, .K = AIJTCUSquare(s, SQUARE_STEP)};

  PetscFunctionBegin;
  PetscCall(AIJTCUBlockCombine(s->ctx, X, PETSC_TRUE, 1, &term, NULL));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Which products the norms need, beside those of the natural norm */
static BlockGramKind AIJTCUNormsKind(KSP ksp)
{
  return ksp->normtype == KSP_NORM_UNPRECONDITIONED ? BLOCK_GRAM_WITH_X : ksp->normtype == KSP_NORM_PRECONDITIONED ? BLOCK_GRAM_WITH_Y
                                                                                                                   : BLOCK_GRAM_PLAIN;
}

/*
   Products of Qn and Z = M Qn for the next factor and for norms, and that factor where the device finds it. Then the
   host is sent what it needs. With a diagonal M the iteration before has made the products with Qn
*/
static PetscErrorCode AIJTCUFetchBeginBCG(KSP ksp, AIJTCUBlockKSP *s, PetscBool first, Mat Qn, Mat Z, PetscInt *count)
{
  AIJTCUBCG          *b    = (AIJTCUBCG *)s->data;
  const PetscInt      N    = b->N;
  const BlockGramKind kind = AIJTCUNormsKind(ksp);

  PetscFunctionBegin;
  *count = SQUARES - PIVOTS + (kind == BLOCK_GRAM_PLAIN ? SQUARE_GRAM + 1 : SQUARE_NORMS + 1) * N;
  if (first || !b->D) PetscCall(AIJTCUBlockGram(s->ctx, kind, Qn, Z, b->D, PETSC_TRUE, AIJTCUSquare(s, SQUARE_GRAM)));
  if (!first && b->factors) {
    const BlockFactor factor = {.G = AIJTCUSquare(s, SQUARE_GRAM), .C = AIJTCUSquare(s, SQUARE_C), .F = AIJTCUSquare(s, SQUARE_F), .zeta = AIJTCUSquare(s, SQUARE_ZETA), .dropped = AIJTCUBlockScalars(s->ctx, DROPPED), .rank = AIJTCUBlockScalars(s->ctx, RANK)};

    PetscCall(AIJTCUBlockFactor(s->ctx, &factor));
    *count = SQUARES - PIVOTS + (SQUARE_C + 1) * N;
  }
  PetscCall(AIJTCUColumnsFetchBegin(s, PIVOTS, *count));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*
   The wait of an iteration, for these, and for how the inversion of H before has ended: a column ends if that broke
   down. *host is what the host was sent
*/
static PetscErrorCode AIJTCUFetchEndBCG(KSP ksp, AIJTCUBlockKSP *s, PetscInt its, PetscBool first, PetscInt count, const PetscScalar **host)
{
  AIJTCUBCG          *b     = (AIJTCUBCG *)s->data;
  const PetscInt      N     = b->N;
  const BlockGramKind kind  = AIJTCUNormsKind(ksp);
  const PetscInt      nsums = (kind == BLOCK_GRAM_PLAIN ? 1 : 2) * N;
  const PetscScalar  *squares;
  PetscBool           good = PETSC_TRUE;

  PetscFunctionBegin;
  PetscCall(AIJTCUColumnsFetchEnd(s, PIVOTS, count, SQUARES + SQUARE_GRAM * N, nsums, host));
  squares = *host + (SQUARES - PIVOTS) * N;
  for (PetscInt k = 0; k < N && !first; k++) good = (PetscBool)(good && PetscRealPart((*host)[k]) > 0);
  if (!good) PetscCall(AIJTCUBreakDown(ksp, s, its, squares + AIJTCUWhichH(its - 1) * N * N, ksp->converged_neg_curve ? KSP_CONVERGED_NEG_CURVE : KSP_DIVERGED_INDEFINITE_MAT));
  if (first || !b->factors) AIJTCUSymmetric(N, squares + SQUARE_GRAM * N * N, b->G);
  if (kind != BLOCK_GRAM_PLAIN) AIJTCUSymmetric(N, squares + SQUARE_NORMS * N * N, b->norms);
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*
   Columns of the residual that the iteration begins with are not mixed yet. One whose products with itself are not
   finite ends, so that it does not spoil the others. again says that there was one
*/
static PetscErrorCode AIJTCUStopNaNs(KSP ksp, AIJTCUBlockKSP *s, PetscInt its, PetscBool *again)
{
  AIJTCUBCG         *b     = (AIJTCUBCG *)s->data;
  AIJTCUColumns     *c     = &s->columns;
  const PetscScalar *norms = AIJTCUNormsKind(ksp) == BLOCK_GRAM_PLAIN ? b->G : b->norms;

  PetscFunctionBegin;
  *again = PETSC_FALSE;
  for (PetscInt j = 0; j < c->N; j++) {
    const PetscInt own = j * c->N + j;

    if (c->reason[j] || !(PetscIsInfOrNanScalar(b->G[own]) || PetscIsInfOrNanScalar(norms[own]))) continue;
    c->rnorm[j] = PetscSqrtReal(PetscRealPart(norms[own]));
    PetscCall(AIJTCUColumnStopNaN(ksp, s, j, its));
    *again = PETSC_TRUE;
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*
   Columns of the residual that the iteration begins with are not mixed yet. One that M makes negative ends alone, as in
   cg. One that has ended takes no part: it may be rounding, of either sign
*/
static PetscErrorCode AIJTCULeaveOut(KSP ksp, AIJTCUBlockKSP *s, PetscInt its)
{
  AIJTCUBCG     *b = (AIJTCUBCG *)s->data;
  AIJTCUColumns *c = &s->columns;
  const PetscInt N = b->N;

  PetscFunctionBegin;
  for (PetscInt j = 0; j < N; j++) {
    if (!c->reason[j] && PetscRealPart(b->G[j * N + j]) < 0) PetscCall(AIJTCUColumnStop(ksp, s, j, its, KSP_DIVERGED_INDEFINITE_PC));
    if (!c->reason[j]) continue;
    for (PetscInt i = 0; i < N; i++) b->G[j * N + i] = b->G[i * N + j] = 0;
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Zeta and F, and what is left out. Columns end if there are none */
static PetscErrorCode AIJTCUNormalize(KSP ksp, AIJTCUBlockKSP *s, PetscInt its)
{
  AIJTCUBCG *b = (AIJTCUBCG *)s->data;

  PetscFunctionBegin;
  if (AIJTCUSmallIsNaN(b->N * b->N, b->G)) {
    PetscCall(AIJTCUBreakDown(ksp, s, its, b->G, KSP_DIVERGED_NANORINF));
    PetscFunctionReturn(PETSC_SUCCESS);
  }
  if (!AIJTCUFactor(b)) PetscCall(AIJTCUBreakDown(ksp, s, its, b->G, KSP_DIVERGED_INDEFINITE_PC));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* What the device has found of these. host is what it has sent */
static PetscErrorCode AIJTCUNormalized(KSP ksp, AIJTCUBlockKSP *s, PetscInt its, const PetscScalar *host)
{
  AIJTCUBCG      *b    = (AIJTCUBCG *)s->data;
  const PetscInt  N    = b->N;
  const PetscReal rank = PetscRealPart(host[(RANK - PIVOTS) * N]);

  PetscFunctionBegin;
  b->rank = rank > 0 ? (PetscInt)rank : 0;
  for (PetscInt j = 0; j < N; j++) b->dropped[j] = PetscRealPart(host[(DROPPED - PIVOTS) * N + j]);
  if (!(rank >= 0)) PetscCall(AIJTCUBreakDown(ksp, s, its, host + (SQUARES - PIVOTS + SQUARE_GRAM * N) * N, PetscIsNanReal(rank) ? KSP_DIVERGED_NANORINF : KSP_DIVERGED_INDEFINITE_PC));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* The next C, and what R lacks by what was left out of Qn. There is C where the device has found it, else NULL */
static PetscErrorCode AIJTCUNextC(AIJTCUBCG *b, const PetscScalar *found)
{
  PetscFunctionBegin;
  for (PetscInt i = 0; i < b->N; i++) {
    if (b->dropped[i] == 0) continue;
    for (PetscInt j = 0; j < b->N; j++) b->lost[j] += b->dropped[i] * PetscAbsScalar(b->C[j * b->N + i]);
  }
  if (found) PetscCall(PetscArraycpy(b->next, found, b->N * b->N));
  else PetscCall(AIJTCUSmallTimes(b->N, b->zeta, b->C, b->next));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*
   Norms of the columns of R = Qn C. Natural ones are those of the columns of Zeta C. known says which are right to a
   hundredth
*/
static PetscErrorCode AIJTCUNormsBCG(KSP ksp, AIJTCUBlockKSP *s)
{
  AIJTCUBCG     *b = (AIJTCUBCG *)s->data;
  AIJTCUColumns *c = &s->columns;
  const PetscInt N = b->N;

  PetscFunctionBegin;
  for (PetscInt j = 0; j < N; j++) {
    PetscReal sum = 0;

    for (PetscInt i = 0; i < N; i++) sum += AIJTCUSquareOf(b->next[j * N + i]);
    c->norm[j]  = ksp->normtype == KSP_NORM_NONE ? 0 : PetscSqrtReal(sum);
    b->known[j] = (PetscBool)(ksp->normtype == KSP_NORM_NONE || b->lost[j] <= 0.01 * c->norm[j]);
  }
  if (ksp->normtype == KSP_NORM_NATURAL || ksp->normtype == KSP_NORM_NONE) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCall(AIJTCUSmallTimes(N, b->norms, b->C, b->temp));
  for (PetscInt j = 0; j < N; j++) {
    PetscReal sum = 0;

    for (PetscInt i = 0; i < N; i++) sum += PetscRealPart(PetscConj(b->C[j * N + i]) * b->temp[j * N + i]);
    c->norm[j] = PetscSqrtReal(PetscMax(sum, 0));
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*
   Norms of the residual that the iteration begins with: its columns are not mixed yet. So they are known before any
   factorization, and a column that is solved ends even if that breaks down
*/
static PetscErrorCode AIJTCUFirstNormsBCG(KSP ksp, AIJTCUBlockKSP *s)
{
  AIJTCUBCG         *b       = (AIJTCUBCG *)s->data;
  AIJTCUColumns     *c       = &s->columns;
  const PetscBool    natural = (PetscBool)(ksp->normtype == KSP_NORM_NATURAL);
  const PetscScalar *norms   = natural ? b->G : b->norms;

  PetscFunctionBegin;
  for (PetscInt j = 0; j < b->N; j++) {
    c->norm[j]  = ksp->normtype == KSP_NORM_NONE ? 0 : PetscSqrtReal(PetscAbsScalar(norms[j * b->N + j]));
    b->known[j] = PETSC_TRUE;
  }
  PetscFunctionReturn(PETSC_SUCCESS);
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

/*
   The first part of an iteration, of Zeta and F alone: the direction from Z = M Qn and the last one, its product T, and
   H. A device does it while the host finds C and tests. If that ends the iteration it is in vain
*/
static PetscErrorCode AIJTCUDirectionBCG(KSP ksp, AIJTCUBlockKSP *s, PetscInt its, PetscBool first, Mat Z, Mat Qn, Mat S[2], Mat T)
{
  const AIJTCUBlockCtx ctx = s->ctx;
  AIJTCUBCG           *b   = (AIJTCUBCG *)s->data;
  PetscScalar *const   F   = AIJTCUSquare(s, SQUARE_F);
  const Mat            last = S[0];

  PetscFunctionBegin;
  if (first || !b->factors) PetscCall(AIJTCUBlockToScalars(ctx, 2 * b->N, b->F, F));
  { /* s <- z f + s zeta^T */
    const AIJTCUBlockTerm terms[2] = {
      {.sign = 1, .X = Z ? Z : Qn, .K = F},
      {.sign = 1, .X = last, .K = AIJTCUSquare(s, SQUARE_ZETA), .transpose = PETSC_TRUE}};

    PetscCall(AIJTCUBlockCombine(ctx, S[1], PETSC_FALSE, first ? 1 : 2, terms, b->D));
  }
  S[0] = S[1];
  S[1] = last;
  PetscCall(AIJTCUBlockMatMult(ksp, s, S[0], T));
  PetscCall(AIJTCUBlockGram(ctx, BLOCK_GRAM_PLAIN, S[0], T, NULL, PETSC_FALSE, AIJTCUSquare(s, AIJTCUWhichH(its))));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*
   The second part, but for the step of X: the length of the step, and the next Qn. With a diagonal M also the products
   of the next Qn, in the pass that makes it
*/
static PetscErrorCode AIJTCUIterateBCG(KSP ksp, AIJTCUBlockKSP *s, PetscInt its, PetscBool first, Mat Qn[2], Mat T)
{
  const AIJTCUBlockCtx ctx = s->ctx;
  AIJTCUBCG           *b   = (AIJTCUBCG *)s->data;
  const PetscInt       N   = b->N;
  PetscScalar *const   C = AIJTCUSquare(s, SQUARE_C), *const inverse = AIJTCUSquare(s, SQUARE_INVERSE);
  const PetscScalar   *active;
  const Mat            last = Qn[0];

  PetscFunctionBegin;
  PetscCall(PetscArraycpy(b->C, b->next, N * N));
  if (first || !b->factors) PetscCall(AIJTCUBlockToScalars(ctx, N, b->C, C));
  PetscCall(AIJTCUColumnsActive(s, &active));
  PetscCall(AIJTCUBlockInvert(ctx, b->rank, AIJTCUSquare(s, AIJTCUWhichH(its)), C, active, inverse, AIJTCUSquare(s, SQUARE_STEP), AIJTCUBlockScalars(ctx, PIVOTS)));
  { /* qn <- qn f - t h^-1 */
    const AIJTCUBlockTerm terms[2] = {
      {.sign = 1, .X = Qn[0], .K = AIJTCUSquare(s, SQUARE_F)},
      {.sign = -1, .X = T, .K = inverse}};

    if (b->D) PetscCall(AIJTCUBlockCombineGram(ctx, Qn[1], terms, AIJTCUNormsKind(ksp), b->D, PETSC_TRUE, AIJTCUSquare(s, SQUARE_GRAM)));
    else PetscCall(AIJTCUBlockCombine(ctx, Qn[1], PETSC_FALSE, 2, terms, NULL));
  }
  Qn[0] = Qn[1];
  Qn[1] = last;
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Iterations from the residual of X on, until all columns have ended or the residual is to be computed anew */
static PetscErrorCode AIJTCUCycleBCG(KSP ksp, AIJTCUBlockKSP *s, PetscInt *its, Mat B, Mat X)
{
  const AIJTCUBlockCtx ctx = s->ctx;
  AIJTCUBCG           *b   = (AIJTCUBCG *)s->data;
  AIJTCUColumns       *c   = &s->columns;
  const PetscInt       N   = b->N;
  const PetscScalar   *active, *host;
  PetscInt             count;
  Mat                  Qn[2], S[2], Z = NULL, R, r; /* R is T later */

  PetscFunctionBegin;
  b->D = NULL;
  if (AIJTCUBlockCtxCombines(ctx)) PetscCall(AIJTCUBlockPCDiagonal(ksp, s, &b->D));
  PetscCall(AIJTCUBlockCtxIsAlone(ctx, &b->factors));
  b->factors = (PetscBool)(b->factors && b->D && !b->project && AIJTCUBlockCtxFactors(ctx));
  if (!b->D) PetscCall(AIJTCUBlockWork(ctx, AIJTCU_BLOCK_TEMP, &Z));
  PetscCall(AIJTCUBlockWork(ctx, RESULT, &R));
  for (int i = 0; i < 2; i++) {
    PetscCall(AIJTCUBlockWork(ctx, QN + i, &Qn[i]));
    PetscCall(AIJTCUBlockWork(ctx, DIRECTION + i, &S[i]));
  }
  PetscCall(AIJTCUBlockResidual(ksp, s, (PetscBool)(!*its && ksp->guess_zero), B, X, R, &r));
  PetscCall(AIJTCUColumnsActive(s, &active));
  PetscCall(AIJTCUBlockAXPBY(ctx, Qn[0], active, r, AIJTCUBlockScalars(ctx, AIJTCU_SCALARS_ZERO)));
  PetscCall(PetscArrayzero(b->C, N * N));
  for (PetscInt j = 0; j < N; j++) b->C[j * N + j] = 1;
  PetscCall(PetscArrayzero(b->lost, N));
  for (PetscBool first = PETSC_TRUE; c->nactive; first = PETSC_FALSE) {
    const PetscBool ahead = (PetscBool)(!first && *its < ksp->max_it), found = (PetscBool)(!first && b->factors);
    PetscBool       again = PETSC_FALSE;

    if (b->project) PetscCall(KSP_RemoveNullSpaceMat(ksp, Qn[0]));
    if (Z) PetscCall(AIJTCUBlockPCApply(ksp, Qn[0], Z));
    PetscCall(AIJTCUFetchBeginBCG(ksp, s, first, Qn[0], Z, &count));
    if (!first) PetscCall(AIJTCUStepBCG(s, S[0], X));
    if (found && ahead) PetscCall(AIJTCUDirectionBCG(ksp, s, *its, first, Z, Qn[0], S, R));
    PetscCall(AIJTCUFetchEndBCG(ksp, s, *its, first, count, &host));
    if (first) PetscCall(AIJTCUStopNaNs(ksp, s, *its, &again));
    if (again) break;
    if (found && c->nactive) PetscCall(AIJTCUNormalized(ksp, s, *its, host));
    else if (!first && c->nactive) PetscCall(AIJTCUNormalize(ksp, s, *its));
    if (!c->nactive) break;
    if (!found && ahead && b->rank) PetscCall(AIJTCUDirectionBCG(ksp, s, *its, first, Z, Qn[0], S, R));
    if (!first) PetscCall(AIJTCUNextC(b, found ? host + (SQUARES - PIVOTS + SQUARE_C * N) * N : NULL));
    if (first) PetscCall(AIJTCUFirstNormsBCG(ksp, s));
    else PetscCall(AIJTCUNormsBCG(ksp, s));
    PetscCall(AIJTCUTestBCG(ksp, s, *its, b->known, &again));
    if (again) break;
    if (first) {
      PetscCall(AIJTCULeaveOut(ksp, s, *its));
      PetscCall(AIJTCUNormalize(ksp, s, *its));
      PetscCall(AIJTCUNextC(b, NULL));
    }
    if (*its >= ksp->max_it) PetscCall(AIJTCUColumnsStop(ksp, s, *its, KSP_DIVERGED_ITS));
    if (!b->rank) PetscCall(AIJTCUColumnsStop(ksp, s, *its, KSP_CONVERGED_ATOL));
    if (!c->nactive) break;
    if (!ahead) PetscCall(AIJTCUDirectionBCG(ksp, s, *its, first, Z, Qn[0], S, R));
    PetscCall(AIJTCUIterateBCG(ksp, s, *its, first, Qn, R));
    ++*its;
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Whether A has a null space, and B has nothing of it but rounding */
static PetscErrorCode AIJTCUProjects(KSP ksp, AIJTCUBlockKSP *s, Mat B, PetscBool *is)
{
  const AIJTCUBlockCtx ctx = s->ctx;
  const PetscInt       N   = s->columns.N;
  const PetscScalar   *active, *dots;
  MatNullSpace         nullsp;
  Mat                  A, W;

  PetscFunctionBegin;
  PetscCall(PCGetOperators(ksp->pc, &A, NULL));
  PetscCall(ksp->transpose_solve ? MatGetTransposeNullSpace(A, &nullsp) : MatGetNullSpace(A, &nullsp));
  *is = (PetscBool)(nullsp != NULL);
  if (!nullsp) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCall(AIJTCUBlockWork(ctx, RESULT, &W));
  PetscCall(AIJTCUColumnsActive(s, &active));
  PetscCall(AIJTCUBlockAXPBY(ctx, W, active, B, AIJTCUBlockScalars(ctx, AIJTCU_SCALARS_ZERO)));
  PetscCall(AIJTCUBlockDots(ctx, 1, &W, W, AIJTCUBlockScalars(ctx, PIVOTS)));
  PetscCall(KSP_RemoveNullSpaceMat(ksp, W));
  PetscCall(AIJTCUBlockDots(ctx, 1, &W, W, AIJTCUBlockScalars(ctx, SQUARES)));
  PetscCall(AIJTCUColumnsFetch(s, PIVOTS, SQUARES - PIVOTS + 1, &dots));
  for (PetscInt j = 0; j < N; j++) {
    const PetscReal all = PetscRealPart(dots[j]), left = PetscRealPart(dots[(SQUARES - PIVOTS) * N + j]);

    if (!(all - left <= 100 * PETSC_MACHINE_EPSILON * all)) *is = PETSC_FALSE;
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
  PetscCall(AIJTCUProjects(ksp, s, B, &((AIJTCUBCG *)s->data)->project));
  while (s->columns.nactive) PetscCall(AIJTCUCycleBCG(ksp, s, &its, B, X));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*
   The residual is a product of small matrices, which is right for a Hermitian M alone. Of a complex matrix that is not
   real PETSc's multigrid, icc and cholesky make preconditioners that are not
*/
static PetscErrorCode AIJTCULacksBCG(KSP ksp, AIJTCUBlockKSP *s, const char **why)
{
  PetscBool hermitian = PETSC_TRUE;

  PetscFunctionBegin;
  if (PetscDefined(USE_COMPLEX)) PetscCall(PetscObjectTypeCompareAny((PetscObject)ksp->pc, &hermitian, PCNONE, PCJACOBI, PCPBJACOBI, ""));
  if (!hermitian) *why = "the preconditioner may not be Hermitian";
  else PetscCall(AIJTCULacksCG(ksp, s, why));
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
  .lacks    = AIJTCULacksBCG,
  .needs    = AIJTCUNeedsBCG,
  .solve    = AIJTCUSolveBCG,
  .reset    = AIJTCUResetBCG};
#endif
