/*
   LOBPCG with whole blocks, by the method of Knyazev (SIAM J. Sci. Comput. 23, 2001), with the basis of Duersch, Shao,
   Yang, Gu (2018). It stands in for the solve of SLEPc's EPSLOBPCG, and does what that does for a user: iterations,
   soft and hard locking, guard vectors, tests, monitors, deflation and initial spaces.

   An iteration, where X has bs vectors, and those from ini on have not converged:

     W = T R                          one call of the preconditioner
     W -= Y (B Y)^H W                 where vectors are locked, or a deflation space is given
     B W, A W                         one product each
     S^H B W, S^H A W                 S = [X, P, W]. One reduction, and one copy to the host
     coefficients of X and P          on the host: ritz.c
     S C, A S C, B S C                the next X, P, and their products. One copy to the device
     R = A X - B X theta, norms

   So A X, A P (B X, B P) are never multiplied anew, but where they are needed to be exact: before vectors are accepted,
   and where rounding may have added up. No vector is counted as converged at the end, or locked, whose residual of
   exact products does not pass the test.

   W is not orthonormal, but in its coefficients. That is exact enough as long as W is well conditioned, and not nearly
   in the span of X and P. If it is not, the vectors are made orthonormal before the product with A. The matrices of
   ritz.c tell.

   The arrays hold, in units of bs columns, P X W X P: X and P are on one side of W, then on the other. A vector has its
   own column of W. Without a preconditioner residuals are made there.
*/
#include "eigen.h"

#if AIJTCU_HAVE_EIGEN
enum {
  AIJTCU_FAMILIES = 3, /* S, A S, B S */
  AIJTCU_NARROW   = 8  /* columns by which a preconditioner and products get fewer. All set up anew for another width */
};

typedef struct {
  EPS          eps;
  Mat          A, B;                /* B may be NULL */
  PetscInt     bs, guard, nc, most; /* vectors of the deflation space; columns of Y */
  PetscBool    lock;
  AIJTCUBasis  basis;
  AIJTCURitz   ritz;
  PetscInt     ny, side, first; /* vectors in Y; where X and P are; the first column of W belongs to this vector */
  PetscInt     from;            /* and the first one of the matrices R, W, A W, B W to this */
  PetscBool    exact;           /* A X, B X and theta are not what coefficients say, but products */
  PetscReal    drift;           /* how far V may be from orthonormal */
  PetscReal    size;            /* of A: the largest residual so far. Vectors to start from are mostly random */
  PetscBool    all;             /* V^H B V and V^H A V are products, not what coefficients say */
  PC           pc;              /* that is applied without its ST, or NULL */
  PetscBool    none;            /* and is of type none: R is W */
  PetscInt     passes;          /* how often W is made orthogonal to Y */
  PetscBool    careful;         /* W was made orthonormal in the last iteration */
  Mat          R, W, AW, BW;
  PetscScalar *C, *G, *H; /* coefficients in the order of the arrays; products in the order of ritz.c */
  PetscReal   *norm;
  PetscReal   *removed; /* what each vector of W had in Y */
  PetscScalar *minus;
  PetscInt     made; /* columns of V from the beginning on that hold vectors to start from */
} AIJTCULobpcg;

static int AIJTCULobpcgInner(const AIJTCULobpcg *s)
{
  return s->B ? AIJTCU_BASIS_BS : AIJTCU_BASIS_S;
}

static PetscInt AIJTCULobpcgX(const AIJTCULobpcg *s, PetscInt side)
{
  return (side ? 3 : 1) * s->bs;
}

/* X and P */
static AIJTCUBasisPart AIJTCULobpcgV(const AIJTCULobpcg *s, int array)
{
  return (AIJTCUBasisPart){array, s->side ? 3 * s->bs : s->bs - s->ritz->np, s->bs + s->ritz->np};
}

/* All of S that is there */
static AIJTCUBasisPart AIJTCULobpcgAll(const AIJTCULobpcg *s, int array)
{
  return (AIJTCUBasisPart){array, s->side ? 2 * s->bs : s->bs - s->ritz->np, 2 * s->bs + s->ritz->np};
}

/* Columns of W, and residuals, of the vectors from first on */
static AIJTCUBasisPart AIJTCULobpcgFrom(const AIJTCULobpcg *s, int array, PetscInt first)
{
  return (AIJTCUBasisPart){array, (array == AIJTCU_BASIS_R ? 0 : 2 * s->bs) + first, s->bs - first};
}

static AIJTCUBasisPart AIJTCULobpcgW(const AIJTCULobpcg *s, int array)
{
  return AIJTCULobpcgFrom(s, array, s->first);
}

static int AIJTCULobpcgR(const AIJTCULobpcg *s)
{
  return s->none ? AIJTCU_BASIS_S : AIJTCU_BASIS_R;
}

/* Which column of all that is there the k-th of [X, P, W] is */
static PetscInt AIJTCULobpcgColumn(const AIJTCULobpcg *s, PetscInt np, PetscInt side, PetscInt k)
{
  const PetscInt bs = s->bs;

  if (k < bs) return (side ? bs : np) + k;
  if (k < bs + np) return side ? 2 * bs + k - bs : np - 1 - (k - bs);
  return (side ? 0 : np + bs) + s->first + k - bs - np;
}

static PetscErrorCode AIJTCULobpcgLeaveMats(AIJTCULobpcg *s)
{
  PetscFunctionBegin;
  PetscCall(MatDestroy(&s->R));
  PetscCall(MatDestroy(&s->AW));
  PetscCall(MatDestroy(&s->BW));
  PetscCall(MatDestroy(&s->W));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode AIJTCULobpcgSetUpProduct(Mat A, Mat X, Mat Y)
{
  PetscFunctionBegin;
  PetscCall(MatProductCreateWithMat(A, X, NULL, Y));
  PetscCall(MatProductSetType(Y, MATPRODUCT_AB));
  PetscCall(MatProductSetFromOptions(Y));
  PetscCall(MatProductSymbolic(Y));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* The vectors before first have no W any more, and matrices of R, W and its products some vectors later */
static PetscErrorCode AIJTCULobpcgMats(AIJTCULobpcg *s, PetscInt first)
{
  const PetscInt from = first / AIJTCU_NARROW * AIJTCU_NARROW;

  PetscFunctionBegin;
  s->first = first;
  if (s->W && s->from == from) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCall(AIJTCULobpcgLeaveMats(s));
  s->from = from;
  PetscCall(AIJTCUBasisMat(s->basis, AIJTCULobpcgFrom(s, AIJTCULobpcgR(s), from), &s->R));
  PetscCall(AIJTCUBasisMat(s->basis, AIJTCULobpcgFrom(s, AIJTCU_BASIS_S, from), &s->W));
  PetscCall(AIJTCUBasisMat(s->basis, AIJTCULobpcgFrom(s, AIJTCU_BASIS_AS, from), &s->AW));
  PetscCall(AIJTCULobpcgSetUpProduct(s->A, s->W, s->AW));
  if (s->B) {
    PetscCall(AIJTCUBasisMat(s->basis, AIJTCULobpcgFrom(s, AIJTCU_BASIS_BS, from), &s->BW));
    PetscCall(AIJTCULobpcgSetUpProduct(s->B, s->W, s->BW));
  }
  /* Columns that are no longer there are multiplied with zeros, and must be numbers */
  for (int f = AIJTCU_BASIS_S; f < AIJTCU_FAMILIES - !s->B; f++) PetscCall(AIJTCUBasisZero(s->basis, (AIJTCUBasisPart){f, 2 * s->bs, from}));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode AIJTCULobpcgMultiply(AIJTCULobpcg *s, Mat Y)
{
  PetscFunctionBegin;
  PetscCall(PetscLogEventBegin(BV_MatMult, s->eps, 0, 0, 0));
  PetscCall(MatProductNumeric(Y));
  PetscCall(AIJTCUBasisRead(Y));
  PetscCall(PetscLogEventEnd(BV_MatMult, s->eps, 0, 0, 0));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Y = A X of other columns than those of W, which is rare */
static PetscErrorCode AIJTCULobpcgMultiplyPart(AIJTCULobpcg *s, Mat A, AIJTCUBasisPart x, AIJTCUBasisPart y)
{
  Mat X, Y;

  PetscFunctionBegin;
  if (!x.n) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCall(AIJTCUBasisMat(s->basis, x, &X));
  PetscCall(AIJTCUBasisMat(s->basis, y, &Y));
  PetscCall(AIJTCULobpcgSetUpProduct(A, X, Y));
  PetscCall(AIJTCULobpcgMultiply(s, Y));
  PetscCall(MatDestroy(&Y));
  PetscCall(MatDestroy(&X));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Columns without what is in Y. removed: its length in each column, or NULL */
static PetscErrorCode AIJTCULobpcgSubtractY(AIJTCULobpcg *s, AIJTCUBasisPart x, PetscReal *removed)
{
  const AIJTCUBasisPart Y = {AIJTCU_BASIS_Y, 0, s->ny}, BY = {s->B ? AIJTCU_BASIS_BY : AIJTCU_BASIS_Y, 0, s->ny};
  const PetscScalar    *c;

  PetscFunctionBegin;
  if (!s->ny || !x.n) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCall(PetscLogEventBegin(BV_Orthogonalize, s->eps, 0, 0, 0));
  PetscCall(AIJTCUBasisProducts(s->basis, BY, x, PETSC_FALSE, &c));
  for (PetscInt j = 0; j < x.n; j++) {
    PetscReal square = 0;

    for (PetscInt i = 0; i < s->ny; i++) {
      square += PetscSqr(PetscAbsScalar(c[j * s->ny + i]));
      s->minus[j * s->ny + i] = -c[j * s->ny + i];
    }
    if (removed) removed[j] = PetscSqrtReal(square);
  }
  PetscCall(AIJTCUBasisCombine(s->basis, 1, &Y, s->minus, PETSC_TRUE, &x));
  PetscCall(PetscLogEventEnd(BV_Orthogonalize, s->eps, 0, 0, 0));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Coefficients of [X, P, W] that ritz.c gives, for as many columns, in the order of the arrays */
static PetscErrorCode AIJTCULobpcgOrder(AIJTCULobpcg *s, PetscInt np, PetscInt n, PetscBool to_basis)
{
  const PetscInt m = 2 * s->bs + np, k = s->bs + np + s->bs - s->first;

  PetscFunctionBegin;
  PetscCall(PetscArrayzero(s->C, m * n));
  for (PetscInt j = 0; j < n; j++) {
    /* There is no W before X */
    const PetscInt to = to_basis ? AIJTCULobpcgColumn(s, n - s->bs, !s->side, j) - (s->side ? 0 : s->bs) : j;

    for (PetscInt i = 0; i < k; i++) s->C[to * m + AIJTCULobpcgColumn(s, np, s->side, i)] = s->ritz->C[j * k + i];
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* n columns of X K become X, for so many families. There is no P */
static PetscErrorCode AIJTCULobpcgRotate(AIJTCULobpcg *s, const PetscScalar *K, PetscInt n, int families)
{
  AIJTCUBasisPart x[AIJTCU_FAMILIES], y[AIJTCU_FAMILIES];

  PetscFunctionBegin;
  for (int f = 0; f < families; f++) {
    x[f] = (AIJTCUBasisPart){f, AIJTCULobpcgX(s, s->side), s->bs};
    y[f] = (AIJTCUBasisPart){f, AIJTCULobpcgX(s, !s->side), n};
  }
  PetscCall(PetscLogEventBegin(BV_Mult, s->eps, 0, 0, 0));
  PetscCall(AIJTCUBasisCombine(s->basis, families, x, K, PETSC_FALSE, y));
  PetscCall(PetscLogEventEnd(BV_Mult, s->eps, 0, 0, 0));
  s->side = !s->side;
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Column k of SLEPc's vectors, to start from: what is there, or a random vector. They are made one after the other */
static PetscErrorCode AIJTCULobpcgTake(AIJTCULobpcg *s, PetscInt k, PetscInt column)
{
  EPS eps = s->eps;
  Vec v;

  PetscFunctionBegin;
  if (k >= eps->ncv - 1) { /* the last one is for what need not be kept */
    k       = eps->ncv - 1;
    s->made = PetscMin(s->made, k);
  }
  if (k >= s->made) {
    PetscCall(BVSetRandomColumn(eps->V, k));
    if (k < eps->ncv - 1) s->made = k + 1;
  }
  PetscCall(BVGetColumn(eps->V, k, &v));
  PetscCall(AIJTCUBasisSetColumn(s->basis, AIJTCU_BASIS_S, column, v));
  PetscCall(BVRestoreColumn(eps->V, k, &v));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*
   Vectors to start from: the columns of X become orthonormal, orthogonal to Y, and Ritz vectors. P is empty.

   A user's vectors may be nearly dependent. What their products cannot tell apart is computed as vectors, twice, and
   then its products tell. Where nothing is left, or it is not told even then, there are new vectors.
*/
static PetscErrorCode AIJTCULobpcgStart(AIJTCULobpcg *s, PetscBool *good)
{
  enum {
    KEEP = 2,
    MOST = 10
  };
  const PetscInt     bs = s->bs;
  const PetscScalar *G;
  PetscReal          condition;
  PetscInt           rank, left;

  PetscFunctionBegin;
  *good       = PETSC_FALSE;
  s->ritz->np = 0;
  for (int round = 0;; round++) {
    AIJTCUBasisPart X = {AIJTCU_BASIS_S, AIJTCULobpcgX(s, s->side), bs}, BX = X;

    if (round == MOST) PetscFunctionReturn(PETSC_SUCCESS);
    PetscCall(AIJTCULobpcgSubtractY(s, X, NULL));
    BX.array = AIJTCULobpcgInner(s);
    if (s->B) PetscCall(AIJTCULobpcgMultiplyPart(s, s->B, X, BX));
    PetscCall(AIJTCUBasisProducts(s->basis, X, BX, PETSC_FALSE, &G));
    PetscCall(AIJTCURitzOrthonormal(s->ritz, G, bs, (PetscBool)(round > 0), &condition, &rank, &left));
    if (s->ritz->nan) PetscFunctionReturn(PETSC_SUCCESS);
    if (round && rank == bs && condition < 1 + 1000 * PETSC_MACHINE_EPSILON * bs) break;
    if (round < KEEP) rank += left;
    PetscCall(AIJTCULobpcgRotate(s, s->ritz->C, rank, 1));
    for (PetscInt j = rank; j < bs; j++) {
      PetscCall(PetscInfo(s->eps, "aijtcu: lobpcg takes a random vector in place of one that depends on others\n"));
      PetscCall(AIJTCULobpcgTake(s, s->eps->ncv - 1, AIJTCULobpcgX(s, s->side) + j));
    }
  }
  PetscCall(AIJTCULobpcgMultiplyPart(s, s->A, (AIJTCUBasisPart){AIJTCU_BASIS_S, AIJTCULobpcgX(s, s->side), bs}, (AIJTCUBasisPart){AIJTCU_BASIS_AS, AIJTCULobpcgX(s, s->side), bs}));
  PetscCall(AIJTCUBasisProducts(s->basis, (AIJTCUBasisPart){AIJTCU_BASIS_S, AIJTCULobpcgX(s, s->side), bs}, (AIJTCUBasisPart){AIJTCU_BASIS_AS, AIJTCULobpcgX(s, s->side), bs}, PETSC_FALSE, &G));
  PetscCall(PetscLogEventBegin(DS_Solve, s->eps, 0, 0, 0));
  PetscCall(AIJTCURitzStart(s->ritz, G));
  PetscCall(PetscLogEventEnd(DS_Solve, s->eps, 0, 0, 0));
  if (s->ritz->nan) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCall(AIJTCULobpcgRotate(s, s->ritz->C, bs, AIJTCU_FAMILIES - !s->B));
  s->exact = PETSC_FALSE;
  s->drift = 0;
  *good    = PETSC_TRUE;
  PetscFunctionReturn(PETSC_SUCCESS);
}

static void AIJTCULobpcgValues(AIJTCULobpcg *s, PetscInt locked)
{
  for (PetscInt j = 0; j < s->bs && locked + j < s->eps->ncv; j++) s->eps->eigr[locked + j] = s->ritz->theta[j];
}

/*
   A V, and B V, as products, and Rayleigh quotients of X. A Ritz value of small matrices has the rounding of the
   largest one, which may be more than all of it
*/
static PetscErrorCode AIJTCULobpcgRenew(AIJTCULobpcg *s, PetscInt locked)
{
  const AIJTCUBasisPart X = {AIJTCU_BASIS_S, AIJTCULobpcgX(s, s->side), s->bs}, BX = {AIJTCULobpcgInner(s), X.first, s->bs};
  const PetscScalar    *product;

  PetscFunctionBegin;
  PetscCall(AIJTCULobpcgMultiplyPart(s, s->A, AIJTCULobpcgV(s, AIJTCU_BASIS_S), AIJTCULobpcgV(s, AIJTCU_BASIS_AS)));
  if (s->B) PetscCall(AIJTCULobpcgMultiplyPart(s, s->B, AIJTCULobpcgV(s, AIJTCU_BASIS_S), AIJTCULobpcgV(s, AIJTCU_BASIS_BS)));
  PetscCall(AIJTCUBasisProducts(s->basis, X, BX, PETSC_TRUE, &product)); /* x^H A x is bs numbers behind x^H B x */
  for (PetscInt j = 0; j < s->bs; j++, product += 2 * s->bs) s->ritz->theta[j] = PetscRealPart(product[j + s->bs] / product[j]);
  AIJTCULobpcgValues(s, locked);
  s->exact        = PETSC_TRUE;
  s->ritz->error  = 0;
  s->ritz->errorP = 0;
  s->drift        = PETSC_INFINITY; /* X^H A X is not what it was taken for */
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* R of the vectors from first on, and the norms */
static PetscErrorCode AIJTCULobpcgResidual(AIJTCULobpcg *s, PetscInt first)
{
  const PetscInt        n = s->bs - first, x = AIJTCULobpcgX(s, s->side) + first;
  const AIJTCUBasisPart AX = {AIJTCU_BASIS_AS, x, n}, BX = {AIJTCULobpcgInner(s), x, n}, R = AIJTCULobpcgFrom(s, AIJTCULobpcgR(s), first);
  const PetscScalar    *squares;

  PetscFunctionBegin;
  for (PetscInt j = 0; j < n; j++) s->C[j] = s->ritz->theta[first + j];
  PetscCall(AIJTCUBasisResidual(s->basis, AX, s->C, BX, R, &squares));
  for (PetscInt j = 0; j < n; j++) {
    s->norm[first + j] = PetscSqrtReal(PetscRealPart(squares[j]));
    s->size            = PetscMax(s->size, s->norm[first + j]);
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*
   Products of all that is there, or of W alone, with W: in the order of ritz.c. VV, VW, WW of the inner product, then
   of A
*/
static PetscErrorCode AIJTCULobpcgProducts(AIJTCULobpcg *s, PetscBool all, PetscBool inner, PetscBool operator, const PetscScalar * g[3], const PetscScalar *h[3])
{
  const PetscInt     np = s->ritz->np, nv = s->bs + np, nw = s->bs - s->first, m = 2 * s->bs + np;
  const int          array = inner ? AIJTCULobpcgInner(s) : AIJTCU_BASIS_AS;
  const PetscBool    both  = (PetscBool)(inner && operator);
  const PetscInt     next  = both ? 2 * m : m;                                 /* to the next column of one of them */
  const PetscInt     w     = all ? AIJTCULobpcgColumn(s, np, s->side, nv) : 0; /* the first column of W there */
  const PetscScalar *product;

  PetscFunctionBegin;
  PetscCall(PetscLogEventBegin(BV_MatProject, s->eps, 0, 0, 0));
  PetscCall(AIJTCUBasisProducts(s->basis, AIJTCULobpcgAll(s, AIJTCU_BASIS_S), all ? AIJTCULobpcgAll(s, array) : AIJTCULobpcgW(s, array), both, &product));
  for (int k = 0; k < 2; k++) {
    PetscScalar        *to    = k ? s->H : s->G;
    const PetscScalar **parts = k ? h : g, *from = product + (both && k ? m : 0);

    if (!(k ? operator : inner)) continue;
    parts[0] = all ? to : NULL;
    for (PetscInt c = 0; c < nv && all; c++) {
      for (PetscInt r = 0; r < nv; r++) *to++ = from[AIJTCULobpcgColumn(s, np, s->side, c) * next + AIJTCULobpcgColumn(s, np, s->side, r)];
    }
    parts[1] = to;
    for (PetscInt c = 0; c < nw; c++) {
      for (PetscInt r = 0; r < nv; r++) *to++ = from[(w + c) * next + AIJTCULobpcgColumn(s, np, s->side, r)];
    }
    parts[2] = to;
    for (PetscInt c = 0; c < nw; c++) {
      for (PetscInt r = 0; r < nw; r++) *to++ = from[(w + c) * next + AIJTCULobpcgColumn(s, np, s->side, nv + r)];
    }
  }
  PetscCall(PetscLogEventEnd(BV_MatProject, s->eps, 0, 0, 0));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Make W orthonormal, and orthogonal to X, P and Y, as vectors. G has the products of the inner product at the end */
static PetscErrorCode AIJTCULobpcgOrthonormalize(AIJTCULobpcg *s, const PetscScalar *g[3])
{
  enum {
    MOST = 6
  };
  const AIJTCUBasisPart all = AIJTCULobpcgAll(s, AIJTCU_BASIS_S), W = AIJTCULobpcgW(s, AIJTCU_BASIS_S), room = AIJTCULobpcgW(s, AIJTCU_BASIS_R);

  PetscFunctionBegin;
  for (int round = 0; round < MOST; round++) {
    PetscCall(PetscLogEventBegin(BV_Orthogonalize, s->eps, 0, 0, 0));
    PetscCall(AIJTCURitzExplicit(s->ritz, (PetscBool)(round > 0)));
    PetscCall(AIJTCULobpcgOrder(s, s->ritz->np, W.n, PETSC_FALSE));
    PetscCall(AIJTCUBasisCombine(s->basis, 1, &all, s->C, PETSC_FALSE, &room));
    PetscCall(AIJTCUBasisCopy(s->basis, room, W));
    PetscCall(AIJTCULobpcgSubtractY(s, W, NULL));
    PetscCall(AIJTCUBasisWritten(s->W));
    /* What is left of vectors in V has a product that is not exact */
    if (s->B) PetscCall(AIJTCULobpcgMultiply(s, s->BW));
    PetscCall(PetscLogEventEnd(BV_Orthogonalize, s->eps, 0, 0, 0));
    PetscCall(AIJTCULobpcgProducts(s, PETSC_FALSE, PETSC_TRUE, PETSC_FALSE, g, NULL));
    PetscCall(AIJTCURitzVectors(s->ritz, W.n, NULL, g[1], g[2]));
    if (s->ritz->nan || (s->ritz->condition < 2 && s->ritz->fraction > (PetscReal)0.5)) break;
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*
   Whether STApplyMat() does nothing a user sees but to apply a preconditioner. It sets W to zero first, and has the
   processes agree on whether that failed
*/
static PetscErrorCode AIJTCULobpcgIsPlain(AIJTCULobpcg *s)
{
  ST        st = s->eps->st;
  KSP       ksp;
  PetscBool precond, only;

  PetscFunctionBegin;
  PetscCall(STGetKSP(st, &ksp));
  PetscCall(PetscObjectTypeCompare((PetscObject)st, STPRECOND, &precond));
  PetscCall(PetscObjectTypeCompare((PetscObject)ksp, KSPPREONLY, &only));
  s->pc = NULL;
  if (!precond || !only || st->M || !st->P || !ksp->guess_zero || ksp->transpose_solve || ksp->errorifnotconverged) PetscFunctionReturn(PETSC_SUCCESS);
  if (ksp->nmax != PETSC_DECIDE && ksp->nmax < s->bs) PetscFunctionReturn(PETSC_SUCCESS);
  if (ksp->numberreasonviews || ksp->convergedreasonviewer || ksp->view || ksp->viewRate || ksp->viewMat || ksp->viewPMat || ksp->viewRhs || ksp->viewSol || ksp->viewFinalRes) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCall(KSPGetPC(ksp, &s->pc));
  PetscCall(PetscObjectTypeCompare((PetscObject)s->pc, PCNONE, &s->none));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Where the preconditioner fails on a process, W is infinite there, and products with it are NaN everywhere */
static PetscErrorCode AIJTCULobpcgApply(AIJTCULobpcg *s)
{
  ST             st = s->eps->st;
  PCFailedReason failed;

  PetscFunctionBegin;
  PetscCall(PetscLogEventBegin(ST_MatSolve, st, s->R, s->W, 0));
  PetscCall(KSPSetUp(st->ksp));
  PetscCall(KSPSetUpOnBlocks(st->ksp));
  if (s->none) PetscCall(AIJTCUBasisWritten(s->W));
  else PetscCall(PCMatApply(s->pc, s->R, s->W));
  PetscCall(PCGetFailedReason(s->pc, &failed));
  PetscCall(MatFlag(s->W, failed));
  st->ksp->its    = failed ? 0 : 1;
  st->ksp->reason = failed ? KSP_DIVERGED_PC_FAILED : KSP_CONVERGED_ITS;
  PetscCall(PetscLogEventEnd(ST_MatSolve, st, s->R, s->W, 0));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* W = T R, without what is in Y. It is zero where a vector has none any more */
static PetscErrorCode AIJTCULobpcgPrecondition(AIJTCULobpcg *s)
{
  PetscFunctionBegin;
  PetscCall(AIJTCUBasisWritten(s->R));
  if (s->pc) PetscCall(AIJTCULobpcgApply(s));
  else PetscCall(STApplyMat(s->eps->st, s->R, s->W));
  PetscCall(AIJTCUBasisRead(s->W));
  for (PetscInt k = 0; k < s->passes && s->ny; k++) PetscCall(AIJTCULobpcgSubtractY(s, AIJTCULobpcgW(s, AIJTCU_BASIS_S), k ? NULL : s->removed));
  PetscCall(AIJTCUBasisZero(s->basis, (AIJTCUBasisPart){AIJTCU_BASIS_S, 2 * s->bs + s->from, s->first - s->from}));
  PetscCall(AIJTCUBasisWritten(s->W));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* What these products say of W, and where those with A are there, the eigenproblem */
static PetscErrorCode AIJTCULobpcgDense(AIJTCULobpcg *s, PetscInt first, const PetscScalar *g[3], const PetscScalar *h[3])
{
  PetscFunctionBegin;
  PetscCall(PetscLogEventBegin(DS_Solve, s->eps, 0, 0, 0));
  PetscCall(AIJTCURitzVectors(s->ritz, s->bs - first, g[0], g[1], g[2]));
  if (h && !s->ritz->nan && !s->ritz->failed) PetscCall(AIJTCURitzProject(s->ritz, first, h[0], h[1], h[2]));
  PetscCall(PetscLogEventEnd(DS_Solve, s->eps, 0, 0, 0));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* The next X and P by Rayleigh-Ritz in [X, P, W], for the vectors from first on */
static PetscErrorCode AIJTCULobpcgStep(AIJTCULobpcg *s, PetscInt first, PetscBool *good)
{
  const PetscReal    limit = PetscPowReal(PETSC_MACHINE_EPSILON, (PetscReal)0.375); /* 1e-6 in double */
  AIJTCURitz         ritz  = s->ritz;
  const PetscScalar *g[3], *h[3];
  const PetscInt     np = ritz->np, nw = s->bs - first;
  PetscBool          all = (PetscBool)(s->all || s->drift > 10000 * PETSC_MACHINE_EPSILON), redo;
  AIJTCUBasisPart    from[AIJTCU_FAMILIES], to[AIJTCU_FAMILIES];
  const int          families = AIJTCU_FAMILIES - !s->B;

  PetscFunctionBegin;
  *good = PETSC_FALSE;
  if (s->B) PetscCall(AIJTCULobpcgMultiply(s, s->BW));
  if (!s->careful) PetscCall(AIJTCULobpcgMultiply(s, s->AW));
  PetscCall(AIJTCULobpcgProducts(s, all, PETSC_TRUE, (PetscBool)!s->careful, g, h));
  PetscCall(AIJTCULobpcgDense(s, first, g, s->careful ? NULL : h));
  redo = (PetscBool)(!(ritz->condition < ritz->fraction * (s->careful ? 100 : 1 / limit)));
  if (!s->careful && ritz->noise > (PetscReal)0.05 && ritz->condition > 100 * ritz->fraction) redo = PETSC_TRUE;
  /* Where little of a vector was not in Y, once was not enough */
  for (PetscInt j = 0; j < nw && s->ny && s->passes == 1 && !redo; j++) {
    redo = (PetscBool)(s->removed[j] > 100 * ritz->length[j]);
    if (redo) s->passes = 2;
  }
  if (redo && !ritz->nan && !ritz->failed) {
    PetscCall(PetscInfo(s->eps, "aijtcu: lobpcg makes W orthonormal: condition %g, part outside of X and P %g, noise %g\n", (double)ritz->condition, (double)ritz->fraction, (double)ritz->noise));
    if (all) PetscCall(AIJTCURitzVectors(ritz, nw, NULL, g[1], g[2]));
    PetscCall(AIJTCULobpcgOrthonormalize(s, g));
  }
  if ((redo || s->careful) && !ritz->nan && !ritz->failed) {
    PetscCall(AIJTCULobpcgMultiply(s, s->AW));
    PetscCall(AIJTCULobpcgProducts(s, all, PETSC_TRUE, PETSC_TRUE, g, h));
    PetscCall(AIJTCULobpcgDense(s, first, g, h));
  }
  if (!all && ritz->noise > (PetscReal)0.01 && !ritz->nan) {
    all = PETSC_TRUE;
    PetscCall(AIJTCULobpcgProducts(s, all, PETSC_TRUE, PETSC_TRUE, g, h));
    PetscCall(AIJTCULobpcgDense(s, first, g, h));
  }
  if (ritz->nan) PetscFunctionReturn(PETSC_SUCCESS);
  if (ritz->failed) { /* rounding has added up so far that V is not independent */
    PetscCall(AIJTCULobpcgStart(s, good));
    PetscFunctionReturn(PETSC_SUCCESS);
  }
  s->careful = redo;
  s->drift   = all ? 0 : s->drift;
  s->all     = (PetscBool)(ritz->noise > (PetscReal)0.001); /* so small couplings need not come back */
  if (ritz->rank) s->drift += PETSC_MACHINE_EPSILON * ritz->condition / ritz->fraction;
  PetscCall(PetscLogEventBegin(DS_Solve, s->eps, 0, 0, 0));
  PetscCall(AIJTCURitzSolve(ritz, first));
  PetscCall(PetscLogEventEnd(DS_Solve, s->eps, 0, 0, 0));
  PetscCall(AIJTCULobpcgOrder(s, np, s->bs + ritz->np, PETSC_TRUE));
  for (int f = 0; f < families; f++) {
    from[f] = (AIJTCUBasisPart){f, s->side ? 2 * s->bs : s->bs - np, 2 * s->bs + np};
    to[f]   = (AIJTCUBasisPart){f, s->side ? s->bs - ritz->np : 3 * s->bs, s->bs + ritz->np};
  }
  PetscCall(PetscLogEventBegin(BV_Mult, s->eps, 0, 0, 0));
  PetscCall(AIJTCUBasisCombine(s->basis, families, from, s->C, PETSC_FALSE, to));
  PetscCall(PetscLogEventEnd(BV_Mult, s->eps, 0, 0, 0));
  PetscCall(PetscLogEventBegin(DS_Solve, s->eps, 0, 0, 0));
  PetscCall(AIJTCURitzNext(ritz)); /* while a device combines */
  PetscCall(PetscLogEventEnd(DS_Solve, s->eps, 0, 0, 0));
  s->side  = !s->side;
  s->exact = PETSC_FALSE;
  *good    = PETSC_TRUE;
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Test the vectors from first on, as SLEPc does. k is the first that has not converged */
static PetscErrorCode AIJTCULobpcgTest(AIJTCULobpcg *s, PetscInt first, PetscInt locked, PetscInt *k)
{
  EPS       eps = s->eps;
  PetscBool all = PETSC_TRUE; /* have converged so far */

  PetscFunctionBegin;
  *k = first;
  for (PetscInt j = first; j < s->bs && (all || eps->trackall); j++) {
    const PetscInt i = locked + j;

    PetscCall((*eps->converged)(eps, eps->eigr[i], eps->eigi[i], s->norm[j], &eps->errest[i], eps->convergedctx));
    all = (PetscBool)(all && eps->errest[i] < eps->tol);
    if (all) ++*k;
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*
   The first k vectors converged, those before first some time ago. They went on with the others, and need not pass now:
   k becomes the number of those that do, by exact products
*/
static PetscErrorCode AIJTCULobpcgVerify(AIJTCULobpcg *s, PetscInt first, PetscInt locked, PetscInt *k)
{
  PetscFunctionBegin;
  if (!*k || (s->exact && !first)) PetscFunctionReturn(PETSC_SUCCESS);
  if (!s->exact) PetscCall(AIJTCULobpcgRenew(s, locked));
  PetscCall(AIJTCULobpcgResidual(s, 0));
  PetscCall(AIJTCULobpcgTest(s, 0, locked, k));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* The first n vectors of X become SLEPc's, from its vector first on */
static PetscErrorCode AIJTCULobpcgGive(AIJTCULobpcg *s, PetscInt first, PetscInt n)
{
  Vec v;

  PetscFunctionBegin;
  for (PetscInt j = 0; j < n; j++) {
    PetscCall(BVGetColumn(s->eps->V, first + j, &v));
    PetscCall(AIJTCUBasisGetColumn(s->basis, AIJTCU_BASIS_S, AIJTCULobpcgX(s, s->side) + j, v));
    PetscCall(BVRestoreColumn(s->eps->V, first + j, &v));
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* There are np columns of P beside the X that was on a side. They go beside the X of now, without what is in Y */
static PetscErrorCode AIJTCULobpcgKeepP(AIJTCULobpcg *s, PetscInt side, PetscInt np)
{
  const PetscInt        bs   = s->bs;
  const AIJTCUBasisPart from = {AIJTCU_BASIS_S, side ? 4 * bs : bs - np, np}, P = {AIJTCU_BASIS_S, s->side ? 4 * bs : bs - np, np};

  PetscFunctionBegin;
  if (side != s->side) { /* the first one is next to X */
    PetscCall(PetscArrayzero(s->C, np * np));
    for (PetscInt k = 0; k < np; k++) s->C[k * np + np - 1 - k] = 1;
    PetscCall(AIJTCUBasisCombine(s->basis, 1, &from, s->C, PETSC_FALSE, &P));
  }
  PetscCall(AIJTCULobpcgSubtractY(s, P, NULL));
  PetscCall(AIJTCULobpcgMultiplyPart(s, s->A, P, (AIJTCUBasisPart){AIJTCU_BASIS_AS, P.first, np}));
  if (s->B) PetscCall(AIJTCULobpcgMultiplyPart(s, s->B, P, (AIJTCUBasisPart){AIJTCU_BASIS_BS, P.first, np}));
  s->ritz->np     = np;
  s->ritz->errorP = 0;
  if (np) s->drift = PETSC_INFINITY; /* it is not orthogonal to new vectors of X */
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* n vectors converged, and are locked: they go to Y, and new ones come behind the others */
static PetscErrorCode AIJTCULobpcgLock(AIJTCULobpcg *s, PetscInt locked, PetscInt n, PetscBool *good)
{
  const PetscInt bs = s->bs, side = s->side, x = AIJTCULobpcgX(s, side), to = AIJTCULobpcgX(s, !side);
  PetscInt       np;

  PetscFunctionBegin;
  PetscCheck(s->ny + n <= s->most, PetscObjectComm((PetscObject)s->eps), PETSC_ERR_SUP, "The stopping test goes on beyond the number of eigenpairs that were asked for, %" PetscInt_FMT ": set that number", s->eps->nev);
  PetscCall(AIJTCUBasisCopy(s->basis, (AIJTCUBasisPart){AIJTCU_BASIS_S, x, n}, (AIJTCUBasisPart){AIJTCU_BASIS_Y, s->ny, n}));
  if (s->B) PetscCall(AIJTCUBasisCopy(s->basis, (AIJTCUBasisPart){AIJTCU_BASIS_BS, x, n}, (AIJTCUBasisPart){AIJTCU_BASIS_BY, s->ny, n}));
  s->ny += n;
  PetscCall(AIJTCUBasisCopy(s->basis, (AIJTCUBasisPart){AIJTCU_BASIS_S, x + n, bs - n}, (AIJTCUBasisPart){AIJTCU_BASIS_S, to, bs - n}));
  for (PetscInt j = 0; j < n; j++) PetscCall(AIJTCULobpcgTake(s, locked + bs + j, to + bs - n + j));
  s->side = !side;
  PetscCall(AIJTCURitzLeave(s->ritz, n));
  np = s->ritz->np;
  for (PetscInt k = 0; k < np; k++) s->ritz->vector[k] -= n;
  PetscCall(AIJTCULobpcgStart(s, good));
  if (*good) PetscCall(AIJTCULobpcgKeepP(s, side, np));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode AIJTCULobpcgIterate(AIJTCULobpcg *s)
{
  EPS            eps    = s->eps;
  const PetscInt bs     = s->bs;
  PetscInt       locked = 0, nconv = 0, its = 0, k;
  PetscBool      good;

  PetscFunctionBegin;
  s->made = eps->nini;
  for (PetscInt j = 0; j < bs; j++) PetscCall(AIJTCULobpcgTake(s, j, AIJTCULobpcgX(s, s->side) + j));
  PetscCall(AIJTCULobpcgStart(s, &good));
  if (good) AIJTCULobpcgValues(s, locked);
  while (good && eps->reason == EPS_CONVERGED_ITERATING) {
    const PetscInt first = s->lock ? nconv : 0;

    if (its && s->ritz->error * s->size > (PetscReal)0.1 * s->norm[nconv]) PetscCall(AIJTCULobpcgRenew(s, locked));
    PetscCall(AIJTCULobpcgResidual(s, first));
    PetscCall(AIJTCULobpcgTest(s, first, locked, &nconv));
    if (nconv >= bs - s->guard || locked + nconv >= eps->nev) PetscCall(AIJTCULobpcgVerify(s, first, locked, &nconv));
    eps->nconv = locked + nconv;
    if (its) PetscCall(EPSMonitor(eps, eps->its + its, eps->nconv, eps->eigr, eps->eigi, eps->errest, locked + bs));
    PetscCall((*eps->stopping)(eps, eps->its + its, eps->max_it, eps->nconv, eps->nev, &eps->reason, eps->stoppingctx));
    if (eps->reason != EPS_CONVERGED_ITERATING) {
      PetscCall(AIJTCULobpcgVerify(s, first, locked, &nconv));
      if (locked + nconv < eps->nconv) { /* would it stop for fewer, too? */
        eps->reason = EPS_CONVERGED_ITERATING;
        PetscCall((*eps->stopping)(eps, eps->its + its, eps->max_it, locked + nconv, eps->nev, &eps->reason, eps->stoppingctx));
      }
      eps->nconv = locked + nconv;
    }
    if (eps->reason != EPS_CONVERGED_ITERATING || nconv >= bs - s->guard) PetscCall(AIJTCULobpcgGive(s, locked, nconv));
    if (eps->reason != EPS_CONVERGED_ITERATING) break;
    if (nconv >= bs - s->guard) {
      eps->its += its - 1;
      its = 0;
      PetscCall(AIJTCULobpcgLock(s, locked, nconv, &good));
      locked += nconv;
      nconv = 0;
      if (good) AIJTCULobpcgValues(s, locked);
      continue;
    }
    its++;
    k = s->lock ? nconv : 0;
    PetscCall(AIJTCULobpcgMats(s, k));
    PetscCall(AIJTCURitzLeave(s->ritz, k));
    PetscCall(AIJTCULobpcgPrecondition(s));
    PetscCall(AIJTCULobpcgStep(s, k, &good));
    if (good) AIJTCULobpcgValues(s, locked);
  }
  if (!good) {
    PetscCall(PetscInfo(eps, "aijtcu: lobpcg ends, because %s\n", s->ritz->nan ? "there are vectors with NaN or infinite entries, of the preconditioner or of a product" : "vectors are not independent"));
    eps->reason = EPS_DIVERGED_BREAKDOWN;
    eps->nconv  = locked; /* of X nothing is known */
  }
  eps->its += its;
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* The deflation space, and its products with B */
static PetscErrorCode AIJTCULobpcgConstraints(AIJTCULobpcg *s)
{
  Vec v;

  PetscFunctionBegin;
  for (PetscInt j = 0; j < s->nc; j++) {
    PetscCall(BVGetColumn(s->eps->V, j - s->nc, &v));
    PetscCall(AIJTCUBasisSetColumn(s->basis, AIJTCU_BASIS_Y, j, v));
    PetscCall(BVRestoreColumn(s->eps->V, j - s->nc, &v));
  }
  if (s->B) PetscCall(AIJTCULobpcgMultiplyPart(s, s->B, (AIJTCUBasisPart){AIJTCU_BASIS_Y, 0, s->nc}, (AIJTCUBasisPart){AIJTCU_BASIS_BY, 0, s->nc}));
  s->ny = s->nc;
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Vectors of a block that need not converge for the others to be locked: as SLEPc has it */
PetscInt AIJTCULOBPCGGuards(PetscInt bs, PetscReal restart)
{
  return bs == 1 ? 0 : PetscMin((PetscInt)((1.0 - restart) * bs + 0.45), bs - 1);
}

/* Solve. solved is false where there is no memory for it, with nothing changed */
PetscErrorCode AIJTCULOBPCGSolve(EPS eps, PetscBool *solved)
{
  AIJTCULobpcg s = {.eps = eps, .nc = eps->nds, .passes = 1};
  PetscReal    restart;
  PetscInt     nmat, columns[AIJTCU_BASIS_ARRAYS];

  PetscFunctionBegin;
  PetscCall(STGetNumMatrices(eps->st, &nmat));
  PetscCall(STGetMatrix(eps->st, 0, &s.A));
  if (nmat > 1) PetscCall(STGetMatrix(eps->st, 1, &s.B));
  PetscCall(EPSLOBPCGGetBlockSize(eps, &s.bs));
  PetscCall(EPSLOBPCGGetLocking(eps, &s.lock));
  PetscCall(EPSLOBPCGGetRestart(eps, &restart));
  s.guard                  = AIJTCULOBPCGGuards(s.bs, restart);
  s.most                   = s.nc + (eps->nev > s.bs - s.guard ? eps->nev + s.bs : 0);
  columns[AIJTCU_BASIS_S]  = 5 * s.bs;
  columns[AIJTCU_BASIS_AS] = 5 * s.bs;
  columns[AIJTCU_BASIS_BS] = s.B ? 5 * s.bs : 0;
  columns[AIJTCU_BASIS_R]  = s.bs;
  columns[AIJTCU_BASIS_Y]  = s.most;
  columns[AIJTCU_BASIS_BY] = s.B ? s.most : 0;
  PetscCall(AIJTCUBasisCreate(s.A, columns, PetscMax(18 * s.bs * s.bs, s.most * s.bs), &s.basis));
  *solved = (PetscBool)(s.basis != NULL);
  if (!*solved) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCall(AIJTCURitzCreate(s.basis, s.bs, (PetscBool)(eps->which == EPS_LARGEST_REAL), &s.ritz));
  PetscCall(PetscMalloc6(9 * s.bs * s.bs, &s.C, 9 * s.bs * s.bs, &s.G, 9 * s.bs * s.bs, &s.H, s.bs, &s.norm, s.bs, &s.removed, s.most * s.bs, &s.minus));
  PetscCall(AIJTCULobpcgIsPlain(&s));
  PetscCall(AIJTCULobpcgConstraints(&s));
  PetscCall(AIJTCULobpcgIterate(&s));
  PetscCall(AIJTCULobpcgLeaveMats(&s));
  PetscCall(PetscFree6(s.C, s.G, s.H, s.norm, s.removed, s.minus));
  PetscCall(AIJTCURitzDestroy(&s.ritz));
  PetscCall(AIJTCUBasisDestroy(&s.basis));
  PetscFunctionReturn(PETSC_SUCCESS);
}
#endif
