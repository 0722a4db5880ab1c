/*
   The small matrices of a Rayleigh-Ritz method: eigen.h. The basis is chosen as in Duersch, Shao, Yang, Gu, A robust
   and efficient implementation of LOBPCG (SIAM J. Sci. Comput. 40, 2018): P is orthonormal, and orthogonal to X, as
   coefficients. So V^H A V of the next iteration is known: Ritz values, and P^H A P.
*/
#include "eigen.h"

#if AIJTCU_HAVE_EIGEN
  /* What SLEPc does not declare */
  #if PetscDefined(USE_COMPLEX)
    #define LAPACKormtr_ PETSCBLAS(unmtr, UNMTR)
  #else
    #define LAPACKormtr_ PETSCBLAS(ormtr, ORMTR)
  #endif
  #if !defined(LAPACKsterf_)
    #define LAPACKsterf_ PETSCBLASREAL(sterf, STERF)
  #endif
BLAS_EXTERN void LAPACKsterf_(const PetscBLASInt *, PetscReal *, PetscReal *, PetscBLASInt *);
BLAS_EXTERN void LAPACKormtr_(const char *, const char *, const char *, const PetscBLASInt *, const PetscBLASInt *, const PetscScalar *, const PetscBLASInt *, const PetscScalar *, PetscScalar *, const PetscBLASInt *, PetscScalar *, const PetscBLASInt *, PetscBLASInt *);

enum {
  ROTATIONS = 25 /* rows for which LAPACK's stedc calls steqr */
};

PetscErrorCode AIJTCURitzCreate(AIJTCUBasis basis, PetscInt nx, PetscBool largest, AIJTCURitz *ritz)
{
  const PetscInt m = 3 * nx;
  AIJTCURitz     r;

  PetscFunctionBegin;
  PetscCall(PetscNew(ritz));
  r          = *ritz;
  r->basis   = basis;
  r->nx      = nx;
  r->largest = largest;
  r->lwork   = 1 + 6 * m + 2 * m * m + 64 * m;
  r->liwork  = 3 + 5 * m;
  PetscCall(PetscMalloc5(nx, &r->vector, m, &r->values, m, &r->d, m, &r->length, m, &r->live));
  PetscCall(PetscMalloc5(nx, &r->theta, 2 * m * nx, &r->C, m * m, &r->L, m * m, &r->H, m * m, &r->a));
  PetscCall(PetscMalloc4(m * m, &r->T, m * m, &r->S, m * m, &r->F, m * m, &r->Z));
  for (size_t i = 0; i < PETSC_STATIC_ARRAY_LENGTH(r->M); i++) PetscCall(PetscMalloc1(m * m, &r->M[i]));
  PetscCall(PetscMalloc5(r->lwork, &r->work, r->liwork, &r->iwork, m * m, &r->vectors, m, &r->tau, m, &r->beside));
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode AIJTCURitzDestroy(AIJTCURitz *ritz)
{
  AIJTCURitz r = *ritz;

  PetscFunctionBegin;
  if (!r) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCall(PetscFree5(r->vector, r->values, r->d, r->length, r->live));
  PetscCall(PetscFree5(r->theta, r->C, r->L, r->H, r->a));
  PetscCall(PetscFree4(r->T, r->S, r->F, r->Z));
  for (size_t i = 0; i < PETSC_STATIC_ARRAY_LENGTH(r->M); i++) PetscCall(PetscFree(r->M[i]));
  PetscCall(PetscFree5(r->work, r->iwork, r->vectors, r->tau, r->beside));
  PetscCall(PetscFree(*ritz));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* The square of a number's size */
static PetscReal AIJTCURitzSquare(PetscScalar x)
{
  return PetscRealPart(PetscConj(x) * x);
}

/* Entry (i, j) of M + M^H, which is twice the Hermitian part. Products that are Hermitian are so but for rounding */
static PetscScalar AIJTCURitzTwice(const PetscScalar M[], PetscInt ld, PetscInt i, PetscInt j)
{
  return M[j * ld + i] + PetscConj(M[i * ld + j]);
}

/* What BLAS calls the conjugate transpose, C here: that of real numbers is the transpose */
static const char *AIJTCURitzOp(const char *op)
{
  return PetscDefined(USE_COMPLEX) || *op != 'C' ? op : "T";
}

/* C = alpha op(A) op(B) + beta C, with m rows, n columns, and k that are summed over */
static PetscErrorCode AIJTCURitzGemm(const char op[], PetscInt m, PetscInt n, PetscInt k, PetscScalar alpha, const PetscScalar *A, PetscInt lda, const PetscScalar *B, PetscInt ldb, PetscScalar beta, PetscScalar *C, PetscInt ldc)
{
  const PetscBLASInt bm = (PetscBLASInt)m, bn = (PetscBLASInt)n, bk = (PetscBLASInt)k, la = (PetscBLASInt)PetscMax(lda, 1), lb = (PetscBLASInt)PetscMax(ldb, 1), lc = (PetscBLASInt)PetscMax(ldc, 1);

  PetscFunctionBegin;
  if (m && n) PetscCallBLAS("BLASgemm", BLASgemm_(AIJTCURitzOp(op), AIJTCURitzOp(op + 1), &bm, &bn, &bk, &alpha, A, &la, B, &lb, &beta, C, &lc));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* X = op(L)^-1 X on the left side (L), or X op(L)^-1 (R), with a lower triangle of n or of m rows */
static PetscErrorCode AIJTCURitzTrsm(const char side_op[], PetscInt m, PetscInt n, const PetscScalar *L, PetscInt ldl, PetscScalar *X, PetscInt ldx)
{
  const PetscScalar  one = 1;
  const PetscBLASInt bm = (PetscBLASInt)m, bn = (PetscBLASInt)n, la = (PetscBLASInt)PetscMax(ldl, 1), lx = (PetscBLASInt)PetscMax(ldx, 1);

  PetscFunctionBegin;
  if (m && n) PetscCallBLAS("BLAStrsm", BLAStrsm_(&side_op[0], "L", AIJTCURitzOp(side_op + 1), "N", &bm, &bn, &one, L, &la, X, &lx));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* The lower triangle of A becomes L; good says whether A is positive definite */
static PetscErrorCode AIJTCURitzCholesky(PetscInt n, PetscScalar *A, PetscInt lda, PetscBool *good)
{
  PetscBLASInt bn = (PetscBLASInt)n, la = (PetscBLASInt)PetscMax(lda, 1), info = 0;

  PetscFunctionBegin;
  if (n) PetscCallBLAS("LAPACKpotrf", LAPACKpotrf_("L", &bn, A, &la, &info));
  PetscCheck(info >= 0, PETSC_COMM_SELF, PETSC_ERR_LIB, "Error in LAPACK subroutine potrf: info=%" PetscBLASInt_FMT, info);
  *good = (PetscBool)(info == 0);
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscBool AIJTCURitzIsNaN(PetscInt n, const PetscScalar *x)
{
  PetscScalar sum = 0;

  for (PetscInt i = 0; i < n; i++) sum += 0 * x[i]; /* of an infinite number, too */
  return PetscIsNanScalar(sum);
}

/*
   Eigenvalues of the tridiagonal matrix with diagonal d and r->beside, in d, and the first k eigenvectors in
   r->vectors: by twisted factorizations (Parlett, Dhillon, Linear Algebra Appl. 267, 1997), all at once, so that
   divisions do not wait for each other. Then they are made orthonormal. There is no care for eigenvalues that are very
   close. So good says whether residuals are rounding, and the vectors were independent. If not, nothing has changed
*/
static PetscErrorCode AIJTCURitzTwisted(AIJTCURitz r, PetscInt n, PetscReal *d, PetscInt k, PetscBool *good)
{
  PetscReal *const p = (PetscReal *)r->work, *const q = p + n * k, *const z = q + n * k; /* row by row */
  PetscReal *const lambda = z + n * k, *const beside = lambda + n, *const least = beside + n, *const e = r->beside;
  PetscBLASInt *twist = r->iwork, bn = (PetscBLASInt)n, info = 0;
  PetscScalar  *V = r->vectors, *c = r->M[3];
  PetscReal     norm = 0, tiny;

  PetscFunctionBegin;
  for (PetscInt i = 0; i < n; i++) norm = PetscMax(norm, PetscAbsReal(d[i]) + (i ? PetscAbsReal(e[i - 1]) : 0) + (i < n - 1 ? PetscAbsReal(e[i]) : 0));
  tiny = PETSC_MACHINE_EPSILON * PETSC_MACHINE_EPSILON * norm;
  PetscCall(PetscArraycpy(lambda, d, n));
  PetscCall(PetscArraycpy(beside, e, n - 1));
  PetscCallBLAS("LAPACKsterf", LAPACKsterf_(&bn, lambda, beside, &info));
  *good = (PetscBool)(!info && tiny > 0);
  if (!*good) PetscFunctionReturn(PETSC_SUCCESS);
  for (PetscInt i = 0; i < n; i++) { /* pivots from above */
    for (PetscInt j = 0; j < k; j++) {
      const PetscReal x = d[i] - lambda[j] - (i ? e[i - 1] * (e[i - 1] / p[(i - 1) * k + j]) : 0);

      p[i * k + j] = PetscAbsReal(x) > tiny ? x : tiny;
    }
  }
  for (PetscInt i = n; i-- > 0;) { /* and from below */
    for (PetscInt j = 0; j < k; j++) {
      const PetscReal x = d[i] - lambda[j] - (i < n - 1 ? e[i] * (e[i] / q[(i + 1) * k + j]) : 0);

      q[i * k + j] = PetscAbsReal(x) > tiny ? x : tiny;
    }
  }
  for (PetscInt j = 0; j < k; j++) least[j] = PETSC_INFINITY;
  for (PetscInt i = 0; i < n; i++) { /* they meet where the last one is least */
    for (PetscInt j = 0; j < k; j++) {
      const PetscReal x = PetscAbsReal(p[i * k + j] + q[i * k + j] - (d[i] - lambda[j]));

      twist[j] = x < least[j] ? (PetscBLASInt)i : twist[j];
      least[j] = x < least[j] ? x : least[j];
    }
  }
  for (PetscInt j = 0; j < k; j++) z[(n - 1) * k + j] = twist[j] == n - 1 ? 1 : 0;
  for (PetscInt i = n - 1; i-- > 0;) {
    for (PetscInt j = 0; j < k; j++) z[i * k + j] = i == twist[j] ? 1 : -e[i] / p[i * k + j] * z[(i + 1) * k + j];
  }
  for (PetscInt i = 1; i < n; i++) {
    for (PetscInt j = 0; j < k; j++) z[i * k + j] = i > twist[j] ? -e[i - 1] / q[i * k + j] * z[(i - 1) * k + j] : z[i * k + j];
  }
  for (PetscInt j = 0; j < k; j++) {
    PetscReal square = 0;

    for (PetscInt i = 0; i < n; i++) square += PetscSqr(z[i * k + j]);
    for (PetscInt i = 0; i < n; i++) V[j * n + i] = z[i * k + j] / PetscSqrtReal(square);
  }
  *good = (PetscBool)!AIJTCURitzIsNaN(n * k, V);
  for (int twice = 0; twice < 2 && *good; twice++) {
    PetscCall(AIJTCURitzGemm("CN", k, k, n, 1, V, n, V, n, 0, c, k));
    PetscCall(AIJTCURitzCholesky(k, c, k, good));
    for (PetscInt j = 0; j < k && *good; j++) *good = (PetscBool)(PetscRealPart(c[j * (k + 1)]) > (PetscReal)0.1);
    if (*good) PetscCall(AIJTCURitzTrsm("RC", n, k, c, k, V, n));
  }
  for (PetscInt j = 0; j < k && *good; j++) { /* a Rayleigh quotient has less rounding than what sterf gives */
    const PetscScalar *v    = V + j * n;
    PetscReal          most = 0;

    lambda[j] = 0;
    for (PetscInt i = 0; i < n; i++) {
      z[i] = d[i] * PetscRealPart(v[i]) + (i ? e[i - 1] * PetscRealPart(v[i - 1]) : 0) + (i < n - 1 ? e[i] * PetscRealPart(v[i + 1]) : 0);
      lambda[j] += PetscRealPart(v[i]) * z[i];
    }
    for (PetscInt i = 0; i < n; i++) most = PetscMax(most, PetscAbsReal(z[i] - lambda[j] * PetscRealPart(v[i])));
    *good = (PetscBool)(most <= 16 * PETSC_MACHINE_EPSILON * norm); /* those of stedc are up to 7 */
  }
  if (*good) PetscCall(PetscArraycpy(d, lambda, n));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*
   All eigenvalues in ascending order, and the first nvectors eigenvectors in place of the first columns of A. This is
   syevd of LAPACK, but for vectors that nobody wants. The upper triangle is reduced: small numbers come first in A, and
   keep their digits so
*/
static PetscErrorCode AIJTCURitzEigen(AIJTCURitz r, PetscInt n, PetscScalar *A, PetscInt nvectors, PetscReal *values)
{
  PetscBLASInt bn = (PetscBLASInt)n, bm = (PetscBLASInt)nvectors, lwork = (PetscBLASInt)r->lwork, liwork = (PetscBLASInt)r->liwork, info = 0;
  PetscBool    solved = PETSC_FALSE;

  PetscFunctionBegin;
  if (!n) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCallBLAS("LAPACKsytrd", LAPACKsytrd_("U", &bn, A, &bn, values, r->beside, r->tau, r->work, &lwork, &info));
  PetscCheck(!info, PETSC_COMM_SELF, PETSC_ERR_LIB, "Error in LAPACK subroutine sytrd: info=%" PetscBLASInt_FMT, info);
  /* Few vectors are had faster. stedc is as exact as can be where it works by rotations alone: for small ones */
  if (n > ROTATIONS && 2 * nvectors <= n) PetscCall(AIJTCURitzTwisted(r, n, values, nvectors, &solved));
  if (!solved) {
  #if PetscDefined(USE_COMPLEX)
    const PetscBLASInt one = 1, lreal = 2 * (lwork - 1);

    PetscCallBLAS("LAPACKstedc", LAPACKstedc_("I", &bn, values, r->beside, r->vectors, &bn, r->work, &one, (PetscReal *)(r->work + 1), &lreal, r->iwork, &liwork, &info));
  #else
    PetscCallBLAS("LAPACKstedc", LAPACKstedc_("I", &bn, values, r->beside, r->vectors, &bn, r->work, &lwork, r->iwork, &liwork, &info));
  #endif
    PetscCheck(!info, PETSC_COMM_SELF, PETSC_ERR_LIB, "Error in LAPACK subroutine stedc: info=%" PetscBLASInt_FMT, info);
  }
  PetscCallBLAS("LAPACKormtr", LAPACKormtr_("L", "U", "N", &bn, &bm, A, &bn, r->tau, r->vectors, &bn, r->work, &lwork, &info));
  PetscCheck(!info, PETSC_COMM_SELF, PETSC_ERR_LIB, "Error in LAPACK subroutine ormtr: info=%" PetscBLASInt_FMT, info);
  PetscCall(PetscArraycpy(A, r->vectors, n * nvectors));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* V is X alone, orthonormal, with X^H A X; C: coefficients of X by which these are Ritz vectors */
PetscErrorCode AIJTCURitzStart(AIJTCURitz r, const PetscScalar *XAX)
{
  const PetscInt n = r->nx, ld = 2 * n;

  PetscFunctionBegin;
  r->np      = 0;
  r->error   = 0;
  r->general = PETSC_FALSE;
  r->nan     = AIJTCURitzIsNaN(n * n, XAX);
  if (r->nan) PetscFunctionReturn(PETSC_SUCCESS);
  for (PetscInt j = 0; j < n; j++) {
    for (PetscInt i = 0; i < n; i++) r->C[j * n + i] = (r->largest ? -1 : 1) * AIJTCURitzTwice(XAX, n, i, j) / 2;
  }
  PetscCall(AIJTCURitzEigen(r, n, r->C, n, r->values));
  PetscCall(PetscArrayzero(r->H, ld * ld));
  for (PetscInt j = 0; j < n; j++) {
    r->theta[j]      = r->largest ? -r->values[j] : r->values[j];
    r->H[j * ld + j] = r->theta[j];
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*
   Coefficients in C, n x rank, that make n vectors orthonormal whose products are G. condition: of these vectors with
   one length. What products cannot tell from vectors that depend on others leaves a lower rank. With left there are
   columns of these behind the others, combined of vectors of length one. again: such vectors are there, and may be
   nothing but rounding. Zero and NaN in G: see rank and condition
*/
PetscErrorCode AIJTCURitzOrthonormal(AIJTCURitz r, const PetscScalar *G, PetscInt n, PetscBool again, PetscReal *condition, PetscInt *rank, PetscInt *left)
{
  const PetscReal least = 10 * (PetscReal)n * PETSC_MACHINE_EPSILON, shortest = again ? PetscSqr(least) : 0;
  PetscInt        m = 0;

  PetscFunctionBegin;
  *rank      = 0;
  *left      = 0;
  *condition = PETSC_INFINITY;
  r->nan     = AIJTCURitzIsNaN(n * n, G);
  if (r->nan) PetscFunctionReturn(PETSC_SUCCESS);
  for (PetscInt j = 0; j < n; j++) {
    if (PetscRealPart(G[j * n + j]) > shortest) r->live[m++] = j;
  }
  if (!m) PetscFunctionReturn(PETSC_SUCCESS);
  for (PetscInt j = 0; j < m; j++) r->d[j] = 1 / PetscSqrtReal(PetscRealPart(G[r->live[j] * (n + 1)]));
  for (PetscInt j = 0; j < m; j++) {
    for (PetscInt i = 0; i < m; i++) r->S[j * m + i] = r->d[i] * r->d[j] * AIJTCURitzTwice(G, n, r->live[i], r->live[j]) / 2;
  }
  PetscCall(AIJTCURitzEigen(r, m, r->S, m, r->values));
  if (r->values[0] > 0) *condition = r->values[m - 1] / r->values[0];
  for (PetscInt j = m; j-- > 0;) { /* largest first */
    const PetscReal value = r->values[j];
    const PetscBool good  = (PetscBool)(value >= least * r->values[m - 1]);
    PetscScalar    *c     = r->C + (*rank + *left) * n;

    PetscCall(PetscArrayzero(c, n));
    for (PetscInt i = 0; i < m; i++) c[r->live[i]] = r->d[i] * r->S[j * m + i] / (good ? PetscSqrtReal(value) : 1);
    ++*(good ? rank : left);
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* P without the columns of vectors before first */
PetscErrorCode AIJTCURitzLeave(AIJTCURitz r, PetscInt first)
{
  PetscFunctionBegin;
  while (r->np && r->vector[r->np - 1] < first) r->np--;
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*
   Take W with these products in the inner product: of V where that is not NULL, of V and W, of W. Says how W is: nan,
   failed, fraction, condition. T makes W^ orthonormal
*/
PetscErrorCode AIJTCURitzVectors(AIJTCURitz r, PetscInt nw, const PetscScalar *VV, const PetscScalar *VW, const PetscScalar *WW)
{
  const PetscInt nv = r->nx + r->np, ld = 2 * r->nx;
  PetscBool      good;
  PetscInt       n = 0;

  PetscFunctionBegin;
  r->nw        = nw;
  r->rank      = 0;
  r->failed    = PETSC_FALSE;
  r->fraction  = 1;
  r->condition = 1;
  r->general   = (PetscBool)(VV != NULL);
  r->nan       = (PetscBool)(AIJTCURitzIsNaN(nv * nw, VW) || AIJTCURitzIsNaN(nw * nw, WW) || (VV && AIJTCURitzIsNaN(nv * nv, VV)));
  if (r->nan) PetscFunctionReturn(PETSC_SUCCESS);
  for (PetscInt j = 0; j < nw; j++) PetscCall(PetscArraycpy(r->a + j * ld, VW + j * nv, nv));
  if (VV) {
    for (PetscInt j = 0; j < nv; j++) PetscCall(PetscArraycpy(r->L + j * ld, VV + j * nv, nv));
    PetscCall(AIJTCURitzCholesky(nv, r->L, ld, &good));
    r->failed = (PetscBool)!good;
    if (!good) PetscFunctionReturn(PETSC_SUCCESS);
    PetscCall(AIJTCURitzTrsm("LN", nv, nw, r->L, ld, r->a, ld));
  }
  /* W^H W without what is in V */
  PetscCall(PetscArraycpy(r->S, WW, nw * nw));
  PetscCall(AIJTCURitzGemm("CN", nw, nw, nv, -1, r->a, ld, r->a, ld, 1, r->S, nw));
  for (PetscInt j = 0; j < nw; j++) {
    const PetscReal all = PetscRealPart(WW[j * (nw + 1)]), rest = PetscRealPart(r->S[j * (nw + 1)]);

    r->length[j] = all > 0 ? PetscSqrtReal(all) : 0;
    if (all > 0) {
      r->fraction  = PetscMin(r->fraction, PetscMax(rest, 0) / all);
      r->live[n++] = j;
    }
  }
  r->nlive = n;
  for (PetscInt j = 0; j < n; j++) {
    const PetscReal rest = PetscRealPart(r->S[r->live[j] * (nw + 1)]);

    r->d[j] = rest > 0 ? 1 / PetscSqrtReal(rest) : 0;
    if (!(rest > 0)) r->condition = PETSC_INFINITY;
  }
  for (PetscInt j = 0; j < n; j++) { /* live is ascending, so what is read has not been written */
    for (PetscInt i = 0; i < n; i++) r->Z[j * n + i] = r->d[i] * r->d[j] * AIJTCURitzTwice(r->S, nw, r->live[i], r->live[j]) / 2;
  }
  PetscCall(PetscArraycpy(r->S, r->Z, n * n)); /* for AIJTCURitzExplicit() */
  if (r->condition == PETSC_INFINITY) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCall(AIJTCURitzCholesky(n, r->Z, n, &good));
  if (!good) {
    r->condition = PETSC_INFINITY;
    PetscFunctionReturn(PETSC_SUCCESS);
  }
  for (PetscInt j = 0; j < n; j++) r->condition = PetscMax(r->condition, 1 / PetscSqr(PetscRealPart(r->Z[j * (n + 1)])));
  /* T = D L^-H */
  PetscCall(PetscArrayzero(r->T, nw * n));
  PetscCall(PetscArrayzero(r->F, n * n));
  for (PetscInt j = 0; j < n; j++) r->F[j * (n + 1)] = 1;
  PetscCall(AIJTCURitzTrsm("LC", n, n, r->Z, n, r->F, n));
  for (PetscInt j = 0; j < n; j++) {
    for (PetscInt i = 0; i <= j; i++) r->T[j * nw + r->live[i]] = r->d[i] * r->F[j * n + i];
  }
  r->rank = n;
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*
   Coefficients in C of vectors that span what [V, W] does beside V, for W in place of them: nx + np + nw rows, nw
   columns. They are orthogonal to V, and to each other, but for rounding. Vectors that are nothing but rounding are
   left out: as columns of zeros. again: W came from here, with length one
*/
PetscErrorCode AIJTCURitzExplicit(AIJTCURitz r, PetscBool again)
{
  const PetscReal eps = PETSC_MACHINE_EPSILON, tiny = PetscSqr(1000 * eps), least = 10 * (PetscReal)r->nw * eps;
  const PetscInt  nv = r->nx + r->np, nw = r->nw, ld = 2 * r->nx, m = nv + nw, n = r->nlive;
  PetscInt        rank = 0;

  PetscFunctionBegin;
  PetscCall(PetscArrayzero(r->T, nw * nw));
  if (r->fraction < (PetscReal)1e-3) { /* what is left of their products is not exact enough to mix them */
    for (PetscInt j = 0; j < n; j++) {
      const PetscReal length = r->length[r->live[j]];

      if (again && PetscSqr(length) < tiny) continue;
      r->T[rank++ * nw + r->live[j]] = 1 / length;
    }
  } else {
    PetscCall(AIJTCURitzEigen(r, n, r->S, n, r->values));
    for (PetscInt j = n; j-- > 0;) {
      if (r->values[j] < least * r->values[n - 1]) break;
      for (PetscInt i = 0; i < n; i++) r->T[rank * nw + r->live[i]] = r->d[i] * r->S[j * n + i] / PetscSqrtReal(r->values[j]);
      rank++;
    }
  }
  r->rank = rank;
  PetscCall(AIJTCURitzGemm("NN", nv, nw, nw, -1, r->a, ld, r->T, nw, 0, r->C, m));
  for (PetscInt j = 0; j < nw; j++) PetscCall(PetscArraycpy(r->C + j * m + nv, r->T + j * nw, nw));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*
   The matrix of the eigenproblem, from products with A: of V where that is not NULL, of V and W, of W. Sets noise, for
   vectors from first on
*/
PetscErrorCode AIJTCURitzProject(AIJTCURitz r, PetscInt first, const PetscScalar *VV, const PetscScalar *VW, const PetscScalar *WW)
{
  const PetscInt nv = r->nx + r->np, nw = r->nw, ld = 2 * r->nx, rank = r->rank, m = nv + rank, lf = 3 * r->nx;
  PetscScalar   *alpha = r->M[0], *Ha = r->M[1], *Q = r->M[2], *QT = r->M[3];
  PetscReal      most = 0, least = PETSC_INFINITY;

  PetscFunctionBegin;
  r->nan = (PetscBool)(AIJTCURitzIsNaN(nv * nw, VW) || AIJTCURitzIsNaN(nw * nw, WW) || (VV && AIJTCURitzIsNaN(nv * nv, VV)));
  if (r->nan) PetscFunctionReturn(PETSC_SUCCESS);
  for (PetscInt j = 0; j < nw; j++) PetscCall(PetscArraycpy(alpha + j * ld, VW + j * nv, nv));
  if (VV) {
    for (PetscInt j = 0; j < nv; j++) {
      for (PetscInt i = 0; i < nv; i++) r->H[j * ld + i] = AIJTCURitzTwice(VV, nv, i, j) / 2;
    }
    /* A X is more exact than A P */
    for (PetscInt j = 0; j < r->nx; j++) {
      for (PetscInt i = r->nx; i < nv; i++) {
        r->H[j * ld + i] = VV[j * nv + i];
        r->H[i * ld + j] = PetscConj(VV[j * nv + i]);
      }
    }
    PetscCall(AIJTCURitzTrsm("LN", nv, nv, r->L, ld, r->H, ld));
    PetscCall(AIJTCURitzTrsm("RC", nv, nv, r->L, ld, r->H, ld));
  }
  if (r->general) PetscCall(AIJTCURitzTrsm("LN", nv, nw, r->L, ld, alpha, ld));
  PetscCall(AIJTCURitzGemm("NN", nv, nw, nv, 1, r->H, ld, r->a, ld, 0, Ha, ld));
  /* Q = W^H A W - a^H alpha - alpha^H a + a^H H a */
  PetscCall(AIJTCURitzGemm("CN", nw, nw, nv, 1, r->a, ld, alpha, ld, 0, QT, nw));
  for (PetscInt j = 0; j < nw; j++) {
    for (PetscInt i = 0; i < nw; i++) Q[j * nw + i] = AIJTCURitzTwice(WW, nw, i, j) / 2 - QT[j * nw + i] - PetscConj(QT[i * nw + j]);
  }
  PetscCall(AIJTCURitzGemm("CN", nw, nw, nv, 1, r->a, ld, Ha, ld, 1, Q, nw));
  for (PetscInt j = 0; j < nw; j++) {
    for (PetscInt i = 0; i < nv; i++) alpha[j * ld + i] -= Ha[j * ld + i];
  }
  for (PetscInt j = 0; j < nv; j++) PetscCall(PetscArraycpy(r->F + j * lf, r->H + j * ld, nv));
  PetscCall(AIJTCURitzGemm("NN", nv, rank, nw, 1, alpha, ld, r->T, nw, 0, r->F + nv * lf, lf));
  PetscCall(AIJTCURitzGemm("NN", nw, rank, nw, 1, Q, nw, r->T, nw, 0, QT, nw));
  PetscCall(AIJTCURitzGemm("CN", rank, rank, nw, 1, r->T, nw, QT, nw, 0, r->F + nv * lf + nv, lf));
  for (PetscInt j = 0; j < m; j++) {
    for (PetscInt i = j + 1; i < m; i++) { /* below the diagonal from above it, and in the last block from both */
      PetscScalar *lower = r->F + j * lf + i, *upper = r->F + i * lf + j;

      if (j >= nv) *upper = (*upper + PetscConj(*lower)) / 2;
      *lower = PetscConj(*upper);
    }
    r->F[j * (lf + 1)] = PetscRealPart(r->F[j * (lf + 1)]);
    most               = PetscMax(most, PetscAbsScalar(r->F[j * lf + j]));
  }
  for (PetscInt i = first; i < r->nx; i++) {
    PetscReal square = 0;

    for (PetscInt j = nv; j < m; j++) square += AIJTCURitzSquare(r->F[j * lf + i]);
    if (square > 0) least = PetscMin(least, PetscSqrtReal(square));
  }
  r->rounding = rank ? PETSC_MACHINE_EPSILON * PetscSqrtReal(r->condition / r->fraction) : 0;
  r->noise    = rank ? r->rounding * most / least : 0;
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Orthonormal columns Q, m x n, from those of P, one after the other. Those that depend on others are left out */
static PetscErrorCode AIJTCURitzGramSchmidt(AIJTCURitz r, PetscInt m, const PetscScalar *X, PetscScalar *P, PetscInt n, PetscInt *rank)
{
  PetscScalar *c = r->M[3];

  PetscFunctionBegin;
  *rank = 0;
  for (PetscInt j = 0; j < n; j++) {
    PetscScalar *v      = P + *rank * m;
    PetscReal    square = 0;

    if (*rank < j) {
      PetscCall(PetscArraymove(v, P + j * m, m));
      r->vector[*rank] = r->vector[j];
    }
    for (int twice = 0; twice < 2; twice++) {
      PetscCall(AIJTCURitzGemm("CN", r->nx, 1, m, 1, X, m, v, m, 0, c, r->nx));
      PetscCall(AIJTCURitzGemm("NN", m, 1, r->nx, -1, X, m, c, r->nx, 1, v, m));
      PetscCall(AIJTCURitzGemm("CN", *rank, 1, m, 1, P, m, v, m, 0, c, *rank));
      if (*rank) PetscCall(AIJTCURitzGemm("NN", m, 1, *rank, -1, P, m, c, *rank, 1, v, m));
    }
    for (PetscInt i = 0; i < m; i++) square += AIJTCURitzSquare(v[i]);
    if (!(PetscSqrtReal(square) > PetscSqrtReal(PETSC_MACHINE_EPSILON))) continue;
    for (PetscInt i = 0; i < m; i++) v[i] /= PetscSqrtReal(square);
    ++*rank;
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*
   The same by products of matrices, where P is well conditioned. P has columns of length one. If little of them went,
   once is enough
*/
static PetscErrorCode AIJTCURitzOrthogonalize(AIJTCURitz r, PetscInt m, const PetscScalar *X, PetscScalar *P, PetscInt n, PetscInt *rank)
{
  PetscScalar *c = r->M[3], *copy = r->M[2];
  PetscBool    good  = PETSC_TRUE;
  PetscReal    least = 0;

  PetscFunctionBegin;
  PetscCall(PetscArraycpy(copy, P, m * n));
  for (int twice = 0; twice < 2 && good && least < (PetscReal)0.8; twice++) {
    PetscCall(AIJTCURitzGemm("CN", r->nx, n, m, 1, X, m, P, m, 0, c, r->nx));
    PetscCall(AIJTCURitzGemm("NN", m, n, r->nx, -1, X, m, c, r->nx, 1, P, m));
    PetscCall(AIJTCURitzGemm("CN", n, n, m, 1, P, m, P, m, 0, c, n));
    PetscCall(AIJTCURitzCholesky(n, c, n, &good));
    least = 1;
    for (PetscInt j = 0; j < n && good; j++) least = PetscMin(least, PetscRealPart(c[j * (n + 1)]));
    good = (PetscBool)(good && least > (PetscReal)0.01);
    if (good) PetscCall(AIJTCURitzTrsm("RC", m, n, c, n, P, m));
  }
  *rank = n;
  if (good) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCall(PetscArraycpy(P, copy, m * n));
  PetscCall(AIJTCURitzGramSchmidt(r, m, X, P, n, rank));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Coefficients of [V, W], in C, from those of [V, W^] */
static PetscErrorCode AIJTCURitzToBasis(AIJTCURitz r, const PetscScalar *Q, PetscInt n)
{
  const PetscInt nv = r->nx + r->np, nw = r->nw, ld = 2 * r->nx, m = nv + nw, k = nv + r->rank;
  PetscScalar   *C = r->C;

  PetscFunctionBegin;
  for (PetscInt j = 0; j < n; j++) PetscCall(PetscArraycpy(C + j * m, Q + j * k, nv));
  if (r->rank) PetscCall(AIJTCURitzGemm("NN", nw, n, r->rank, 1, r->T, nw, Q + nv, k, 0, C + nv, m));
  else {
    for (PetscInt j = 0; j < n; j++) PetscCall(PetscArrayzero(C + j * m + nv, nw));
  }
  PetscCall(AIJTCURitzGemm("NN", nv, n, nw, -1, r->a, ld, C + nv, m, 1, C, m));
  if (r->general) PetscCall(AIJTCURitzTrsm("LC", nv, n, r->L, ld, C, m));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* The longest of n columns, whose rows are k numbers of m each */
static PetscReal AIJTCURitzLongest(PetscInt k, PetscInt n, const PetscScalar *C, PetscInt m)
{
  PetscReal most = 0;

  for (PetscInt j = 0; j < n; j++) {
    PetscReal square = 0;

    for (PetscInt i = 0; i < k; i++) square += AIJTCURitzSquare(C[j * m + i]);
    most = PetscMax(most, square);
  }
  return PetscSqrtReal(most);
}

/*
   How far A X and A P are from products after a step with the coefficients C. Each vector is rounded when it is
   written, and its product with A as well, but not to the same. step: the largest part of X that is W^
*/
static void AIJTCURitzAddErrors(AIJTCURitz r, PetscInt np, PetscInt rank, PetscReal step)
{
  const PetscInt     nx = r->nx, m = nx + np + r->nw;
  const PetscScalar *CX = r->C, *CP = r->C + nx * m;
  const PetscReal    written = PETSC_MACHINE_EPSILON / 2, x = r->error, p = r->errorP;

  r->error  = x + AIJTCURitzLongest(np, nx, CX + nx, m) * p + step * r->rounding + written;
  r->errorP = AIJTCURitzLongest(nx, rank, CP, m) * x + AIJTCURitzLongest(np, rank, CP + nx, m) * p + r->rounding + written;
}

/*
   Solve the eigenproblem: in C the coefficients of X, and of P for the vectors from first on. C has nx + np + nw rows
   with the np of before. After it, np is that of the new P, whose column i belongs to vector[i]. AIJTCURitzNext() gives
   theta, and must follow
*/
PetscErrorCode AIJTCURitzSolve(AIJTCURitz r, PetscInt first)
{
  const PetscInt nx = r->nx, nv = nx + r->np, m = nv + r->rank, lf = 3 * nx;
  PetscScalar   *Z = r->Z, *P = r->S;
  PetscInt       n = 0, rank = 0;
  PetscBool      solved = PETSC_FALSE;
  PetscReal      step   = 0; /* largest part of a vector that is new in X */

  PetscFunctionBegin;
  for (PetscInt j = 0; j < m; j++) {
    for (PetscInt i = 0; i < m; i++) Z[j * m + i] = r->largest ? -r->F[j * lf + i] : r->F[j * lf + i];
  }
  /* Where rounding does not count, the larger ones are solved on the device */
  if (r->noise < (PetscReal)1e-4) PetscCall(AIJTCUBasisEigen(r->basis, m, Z, nx, r->values, &solved));
  if (!solved) PetscCall(AIJTCURitzEigen(r, m, Z, nx, r->values));
  /* P: what is in these vectors beside the X of before, last vector first */
  for (PetscInt j = nx; j-- > first;) {
    PetscReal square = 0;

    for (PetscInt i = nx; i < m; i++) square += AIJTCURitzSquare(Z[j * m + i]);
    if (!(square > 0)) continue;
    step = PetscMax(step, PetscSqrtReal(square));
    PetscCall(PetscArrayzero(P + n * m, nx));
    for (PetscInt i = nx; i < m; i++) P[n * m + i] = Z[j * m + i] / PetscSqrtReal(square);
    r->vector[n++] = j;
  }
  PetscCall(AIJTCURitzOrthogonalize(r, m, Z, P, n, &rank));
  PetscCall(PetscArraycpy(Z + nx * m, P, m * rank));
  PetscCall(AIJTCURitzToBasis(r, Z, nx + rank));
  AIJTCURitzAddErrors(r, r->np, rank, step);
  r->order = m;
  r->np    = rank;
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*
   V^H A V of the next V, and theta. What is in X is not taken for diagonal: rounding is that of the largest eigenvalue
   there. The coefficients are not changed, so they may be at work meanwhile
*/
PetscErrorCode AIJTCURitzNext(AIJTCURitz r)
{
  const PetscInt nx = r->nx, m = r->order, n = nx + r->np, lf = 3 * nx, ld = 2 * nx;
  PetscScalar   *Z = r->Z, *FZ = r->M[3];

  PetscFunctionBegin;
  PetscCall(AIJTCURitzGemm("NN", m, n, m, 1, r->F, lf, Z, m, 0, FZ, m));
  PetscCall(AIJTCURitzGemm("CN", n, n, m, 1, Z, m, FZ, m, 0, r->H, ld));
  for (PetscInt j = 0; j < n; j++) {
    for (PetscInt i = j + 1; i < n; i++) {
      r->H[j * ld + i] = AIJTCURitzTwice(r->H, ld, i, j) / 2;
      r->H[i * ld + j] = PetscConj(r->H[j * ld + i]);
    }
  }
  for (PetscInt j = 0; j < nx; j++) r->theta[j] = PetscRealPart(r->H[j * (ld + 1)]);
  PetscFunctionReturn(PETSC_SUCCESS);
}
#endif
