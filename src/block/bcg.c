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

   Q is kept as Qn and a factor F: Q = Qn F. Matrices of N rows and columns are on the host, each column after the
   other.
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
  PRODUCT /* with a small matrix */
};

/* Square matrices of N rows, and what is found of the block */
typedef struct {
  AIJTCUCGSettings settings;

  PetscInt     N;
  PetscInt     rank;
  PetscScalar *C, *F, *zeta, *H, *G, *temp;
  PetscInt    *pivot;
  PetscBool   *known;   /* norms of R are right */
  PetscReal   *dropped; /* norms of what is left out of the columns of Qn */
  PetscReal   *lost;    /* most that is missing of each column of R, in the natural norm */
  Mat          small;   /* one of them where the blocks are */
  Mat          gram;    /* the same, the result of a product */
} AIJTCUBCG;

static PetscErrorCode AIJTCUResetBCG(AIJTCUBlockKSP *s)
{
  AIJTCUBCG *b = (AIJTCUBCG *)s->data;

  PetscFunctionBegin;
  PetscCall(PetscFree7(b->C, b->F, b->zeta, b->H, b->G, b->temp, b->pivot));
  PetscCall(PetscFree3(b->known, b->dropped, b->lost));
  PetscCall(MatDestroy(&b->small));
  PetscCall(MatDestroy(&b->gram));
  b->N = 0;
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode AIJTCUSetUpBCG(AIJTCUBlockKSP *s, Mat X)
{
  AIJTCUBCG     *b = (AIJTCUBCG *)s->data;
  const PetscInt N = s->columns.N, size = N * N;
  Mat            x;
  PetscBool      same = PETSC_FALSE;

  PetscFunctionBegin;
  PetscCall(MatDenseGetLocalMatrix(X, &x));
  if (b->N == N) PetscCall(PetscObjectTypeCompare((PetscObject)b->small, ((PetscObject)x)->type_name, &same));
  if (same) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCall(AIJTCUResetBCG(s));
  PetscCall(PetscMalloc7(size, &b->C, size, &b->F, size, &b->zeta, size, &b->H, size, &b->G, size, &b->temp, N, &b->pivot));
  PetscCall(PetscMalloc3(N, &b->known, N, &b->dropped, N, &b->lost));
  PetscCall(MatCreate(PETSC_COMM_SELF, &b->small));
  PetscCall(MatSetSizes(b->small, N, N, N, N));
  PetscCall(MatSetType(b->small, ((PetscObject)x)->type_name));
  PetscCall(MatSetUp(b->small));
  b->N = N;
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* G = X^T Y over all processes, which would be symmetric without rounding */
static PetscErrorCode AIJTCUGram(AIJTCUBCG *b, Mat X, Mat Y, PetscScalar *G)
{
  const PetscScalar *g;
  Mat                x, y;
  PetscInt           ld;
  PetscMPIInt        size;

  PetscFunctionBegin;
  PetscCall(MatDenseGetLocalMatrix(X, &x));
  PetscCall(MatDenseGetLocalMatrix(Y, &y));
  PetscCall(MatTransposeMatMult(x, y, b->gram ? MAT_REUSE_MATRIX : MAT_INITIAL_MATRIX, PETSC_DETERMINE, &b->gram));
  PetscCall(MatDenseGetLDA(b->gram, &ld));
  PetscCall(MatDenseGetArrayRead(b->gram, &g));
  for (PetscInt j = 0; j < b->N; j++) PetscCall(PetscArraycpy(G + j * b->N, g + j * ld, b->N));
  PetscCall(MatDenseRestoreArrayRead(b->gram, &g));
  PetscCall(PetscMPIIntCast(b->N * b->N, &size));
  PetscCallMPI(MPIU_Allreduce(MPI_IN_PLACE, G, size, MPIU_SCALAR, MPIU_SUM, PetscObjectComm((PetscObject)X)));
  for (PetscInt j = 0; j < b->N; j++) {
    for (PetscInt i = 0; i < j; i++) G[j * b->N + i] = G[i * b->N + j] = (G[j * b->N + i] + G[i * b->N + j]) / 2;
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Y = X K, where Y is no result of another product */
static PetscErrorCode AIJTCUTimes(AIJTCUBCG *b, Mat X, const PetscScalar *K, Mat Y)
{
  PetscScalar *k;
  Mat          x, y;
  PetscInt     ld;

  PetscFunctionBegin;
  PetscCall(MatDenseGetLDA(b->small, &ld));
  PetscCall(MatDenseGetArrayWrite(b->small, &k));
  for (PetscInt j = 0; j < b->N; j++) PetscCall(PetscArraycpy(k + j * ld, K + j * b->N, b->N));
  PetscCall(MatDenseRestoreArrayWrite(b->small, &k));
  PetscCall(MatAssemblyBegin(b->small, MAT_FINAL_ASSEMBLY));
  PetscCall(MatAssemblyEnd(b->small, MAT_FINAL_ASSEMBLY));
  PetscCall(MatDenseGetLocalMatrix(X, &x));
  PetscCall(MatDenseGetLocalMatrix(Y, &y));
  if (!y->product) {
    PetscCall(MatProductCreateWithMat(x, b->small, NULL, y));
    PetscCall(MatProductSetType(y, MATPRODUCT_AB));
    PetscCall(MatProductSetFromOptions(y));
    PetscCall(MatProductSymbolic(y));
  } else PetscCall(MatProductReplaceMats(x, b->small, NULL, y));
  PetscCall(MatProductNumeric(y));
  PetscCall(PetscObjectStateIncrease((PetscObject)Y));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Z = X Y for small matrices, or X^T Y */
static void AIJTCUSmallTimes(PetscInt N, PetscBool transpose, const PetscScalar *X, const PetscScalar *Y, PetscScalar *Z)
{
  for (PetscInt j = 0; j < N; j++) {
    for (PetscInt i = 0; i < N; i++) {
      PetscScalar sum = 0;

      for (PetscInt k = 0; k < N; k++) sum += (transpose ? X[i * N + k] : X[k * N + i]) * Y[j * N + k];
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

/* H <- H^-1 on its leading block of the rank, zero elsewhere. Returns false if that is not positive definite */
static PetscBool AIJTCUInvert(AIJTCUBCG *b)
{
  const PetscInt N = b->N, n = b->rank;
  PetscScalar   *H = b->H, *L = b->temp;

  (void)PetscArrayzero(L, N * N);
  for (PetscInt k = 0; k < n; k++) { /* H = L L^T */
    for (PetscInt i = k; i < n; i++) {
      PetscScalar sum = H[k * N + i];

      for (PetscInt q = 0; q < k; q++) sum -= L[q * N + i] * L[q * N + k];
      if (i == k && !(PetscRealPart(sum) > 0)) return PETSC_FALSE;
      L[k * N + i] = i == k ? PetscSqrtReal(PetscRealPart(sum)) : sum / L[k * N + k];
    }
  }
  (void)PetscArrayzero(H, N * N);
  for (PetscInt j = 0; j < n; j++) {
    for (PetscInt i = 0; i < n; i++) { /* L y = e_j */
      PetscScalar sum = i == j ? 1 : 0;

      for (PetscInt q = 0; q < i; q++) sum -= L[q * N + i] * H[j * N + q];
      H[j * N + i] = sum / L[i * N + i];
    }
    for (PetscInt i = n - 1; i >= 0; i--) { /* L^T x = y */
      PetscScalar sum = H[j * N + i];

      for (PetscInt q = i + 1; q < n; q++) sum -= L[i * N + q] * H[j * N + q];
      H[j * N + i] = sum / L[i * N + i];
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

/* Zeta and F of Qn, with Z = M Qn. Columns end if there are none */
static PetscErrorCode AIJTCUNormalize(KSP ksp, AIJTCUBlockKSP *s, PetscInt its, Mat Qn, Mat Z)
{
  AIJTCUBCG *b = (AIJTCUBCG *)s->data;

  PetscFunctionBegin;
  PetscCall(AIJTCUGram(b, Qn, Z, b->G));
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
   Norms of the columns of R = Qn C, from products of Qn or Z = M Qn. Natural ones are those of the columns of Zeta C.
   known says which are right to a hundredth
*/
static PetscErrorCode AIJTCUNormsBCG(KSP ksp, AIJTCUBlockKSP *s, Mat Qn, Mat Z)
{
  AIJTCUBCG      *b              = (AIJTCUBCG *)s->data;
  AIJTCUColumns  *c              = &s->columns;
  const PetscInt  N              = b->N;
  const PetscBool preconditioned = (PetscBool)(ksp->normtype == KSP_NORM_PRECONDITIONED);

  PetscFunctionBegin;
  AIJTCUSmallTimes(N, PETSC_FALSE, b->zeta, b->C, b->temp);
  for (PetscInt j = 0; j < N; j++) {
    PetscReal sum = 0;

    for (PetscInt i = 0; i < N; i++) sum += PetscSqr(PetscRealPart(b->temp[j * N + i]));
    c->norm[j]  = PetscSqrtReal(sum);
    b->known[j] = (PetscBool)(b->lost[j] <= 0.01 * c->norm[j]);
  }
  if (ksp->normtype == KSP_NORM_NATURAL) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCall(AIJTCUGram(b, preconditioned ? Z : Qn, preconditioned ? Z : Qn, b->G));
  AIJTCUSmallTimes(N, PETSC_FALSE, b->G, b->C, b->temp);
  for (PetscInt j = 0; j < N; j++) {
    PetscReal sum = 0;

    for (PetscInt i = 0; i < N; i++) sum += PetscRealPart(b->C[j * N + i] * b->temp[j * N + i]);
    c->norm[j] = PetscSqrtReal(PetscMax(sum, 0));
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

/* An iteration: its direction from Z = M Qn and the last one, the step of X, and the next Qn */
static PetscErrorCode AIJTCUIterateBCG(KSP ksp, AIJTCUBlockKSP *s, PetscBool first, PetscInt its, Mat Z, Mat Qn[2], Mat S[2], Mat X)
{
  const AIJTCUBlockCtx ctx = s->ctx;
  AIJTCUBCG           *b   = (AIJTCUBCG *)s->data;
  const PetscInt       N   = b->N;
  Mat                  T, P, last = S[0];

  PetscFunctionBegin;
  PetscCall(AIJTCUBlockWork(ctx, RESULT, &T));
  PetscCall(AIJTCUBlockWork(ctx, PRODUCT, &P));
  AIJTCUSmallTimes(N, PETSC_FALSE, b->zeta, b->C, b->temp);
  PetscCall(PetscArraycpy(b->C, b->temp, N * N));
  PetscCall(AIJTCUTimes(b, Z, b->F, S[1])); /* s <- z f + s zeta^T */
  if (!first) {
    for (PetscInt j = 0; j < N; j++) {
      for (PetscInt i = 0; i < N; i++) b->temp[j * N + i] = b->zeta[i * N + j];
    }
    PetscCall(AIJTCUTimes(b, last, b->temp, P));
    PetscCall(AIJTCUBlockAXPBY(ctx, S[1], NULL, P, NULL));
  }
  S[0] = S[1];
  S[1] = last;
  PetscCall(AIJTCUBlockMatMult(ksp, s, S[0], T));
  PetscCall(AIJTCUGram(b, S[0], T, b->H));
  if (!AIJTCUInvert(b)) {
    PetscCall(AIJTCUBreakDown(ksp, s, its, b->H, ksp->converged_neg_curve ? KSP_CONVERGED_NEG_CURVE : KSP_DIVERGED_INDEFINITE_MAT));
    PetscFunctionReturn(PETSC_SUCCESS);
  }
  AIJTCUSmallTimes(N, PETSC_FALSE, b->H, b->C, b->temp);
  for (PetscInt j = 0; j < N; j++) {
    if (s->columns.reason[j]) PetscCall(PetscArrayzero(b->temp + j * N, N));
  }
  PetscCall(AIJTCUTimes(b, S[0], b->temp, P)); /* x <- x + s h^-1 c */
  PetscCall(AIJTCUBlockAXPBY(ctx, X, NULL, P, NULL));
  PetscCall(AIJTCUTimes(b, T, b->H, P)); /* qn <- qn f - t h^-1 */
  PetscCall(AIJTCUTimes(b, Qn[0], b->F, Qn[1]));
  PetscCall(AIJTCUBlockAXPBY(ctx, Qn[1], AIJTCUBlockScalars(ctx, AIJTCU_SCALARS_MINUS), P, NULL));
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
  PetscCall(AIJTCUColumnsNorms(s, r, AIJTCU_SCALARS_OWN, &norm));
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
    PetscCall(AIJTCUNormalize(ksp, s, *its, Qn[0], Z));
    if (!c->nactive) break;
    for (PetscInt j = 0; j < N; j++) c->norm[j] = 0;
    if (ksp->normtype != KSP_NORM_NONE) PetscCall(AIJTCUNormsBCG(ksp, s, Qn[0], Z));
    for (PetscInt j = 0; j < N; j++) b->known[j] = (PetscBool)(b->known[j] || first || ksp->normtype == KSP_NORM_NONE);
    PetscCall(AIJTCUTestBCG(ksp, s, *its, b->known, &again));
    if (again) break;
    if (*its >= ksp->max_it) PetscCall(AIJTCUColumnsStop(ksp, s, *its, KSP_DIVERGED_ITS));
    if (!b->rank) PetscCall(AIJTCUColumnsStop(ksp, s, *its, KSP_CONVERGED_ATOL));
    if (c->nactive) PetscCall(AIJTCUIterateBCG(ksp, s, first, ++*its, Z, Qn, S, X));
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode AIJTCUSolveBCG(KSP ksp, AIJTCUBlockKSP *s, Mat B, Mat X)
{
  PetscInt its = 0;
  Mat      W, w;

  PetscFunctionBegin;
  PetscCall(AIJTCUSetUpBCG(s, X));
  while (s->columns.nactive) PetscCall(AIJTCUCycleBCG(ksp, s, &its, B, X));
  /* Products of blocks hold each other */
  for (PetscInt k = QN; k <= PRODUCT; k++) {
    PetscCall(AIJTCUBlockWork(s->ctx, k, &W));
    PetscCall(MatDenseGetLocalMatrix(W, &w));
    PetscCall(MatProductClear(w));
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

static AIJTCUBlockNeeds AIJTCUNeedsBCG(KSP ksp)
{
  (void)ksp;
  return (AIJTCUBlockNeeds){.nscalars = AIJTCU_SCALARS_OWN + 1, .nblocks = PRODUCT + 1};
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
