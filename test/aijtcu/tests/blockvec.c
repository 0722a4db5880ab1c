static char help[] = "Tests arithmetic with blocks against that of vectors, column by column. Prints on error only.\n\
  -dense_type <type> : of the blocks\n\
  -m <rows>\n\
  -widths <N,...>    : numbers of columns, one after the other with one context\n\
  -pad <n>           : rows beyond the last in the arrays of the blocks\n\n";

#define _GNU_SOURCE /* RTLD_NEXT */
#include <petscmat.h>
#include <../src/block/blockvec.h>
#include <dlfcn.h>
#include "phase.h"

#if AIJTCU_HAVE_BLOCK
enum {
  NX       = 3, /* blocks in a sum */
  NSCALARS = 12,
  NSQUARES = 4 /* square matrices behind the scalars */
};

typedef struct {
  AIJTCUBlockCtx ctx;
  PetscRandom    random;
  MatType        type;
  PetscInt       m, N, pad;
} Test;

static PetscErrorCode CreateBlock(const Test *t, Mat *X)
{
  PetscInt m = PETSC_DECIDE, M = t->m;

  PetscFunctionBegin;
  PetscCall(PetscSplitOwnership(PETSC_COMM_WORLD, &m, &M));
  PetscCall(MatCreate(PETSC_COMM_WORLD, X));
  PetscCall(MatSetSizes(*X, m, PETSC_DECIDE, M, t->N));
  PetscCall(MatSetType(*X, t->type));
  if (t->pad) PetscCall(MatDenseSetLDA(*X, m + t->pad));
  PetscCall(MatSetUp(*X));
  PetscCall(MatSetRandom(*X, t->random));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Fill a column, with NaN for what must not be read */
static PetscErrorCode FillColumn(Mat X, PetscInt j, PetscScalar value)
{
  Vec x;

  PetscFunctionBegin;
  PetscCall(MatDenseGetColumnVecWrite(X, j, &x));
  PetscCall(VecSet(x, value));
  PetscCall(MatDenseRestoreColumnVecWrite(X, j, &x));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* A copy of a column */
static PetscErrorCode GetColumn(Mat X, PetscInt j, Vec *x)
{
  Vec column;

  PetscFunctionBegin;
  PetscCall(MatDenseGetColumnVecRead(X, j, &column));
  PetscCall(VecDuplicate(column, x));
  PetscCall(VecCopy(column, *x));
  PetscCall(MatDenseRestoreColumnVecRead(X, j, &column));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* A column of X is x, to rounding in terms of about one. x is destroyed */
static PetscErrorCode CheckColumn(Mat X, PetscInt j, Vec *x, const char what[])
{
  Vec       column;
  PetscReal error;

  PetscFunctionBegin;
  PetscCall(MatDenseGetColumnVecRead(X, j, &column));
  PetscCall(VecAXPY(*x, -1, column));
  PetscCall(VecNorm(*x, NORM_INFINITY, &error));
  if (!(error <= 100 * PETSC_MACHINE_EPSILON)) PetscCall(PetscPrintf(PETSC_COMM_WORLD,
    "%s: column %" PetscInt_FMT " is wrong by %g\n", what, j, (double)error));
  PetscCall(MatDenseRestoreColumnVecRead(X, j, &column));
  PetscCall(VecDestroy(x));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Coefficients of each kind. Those of column j of the first are zero if j % 3 == 1 */
static PetscErrorCode Coefficients(const Test *t, PetscInt narrays, PetscInt first, PetscScalar **host)
{
  PetscFunctionBegin;
  PetscCall(PetscMalloc1(narrays * t->N, host));
  for (PetscInt k = 0; k < narrays * t->N; k++) (*host)[k] = (k % t->N + k / t->N) % 3 == 1 ? 0 : Turned(0.3 * (PetscReal)(k % 7) - 1, k);
  PetscCall(AIJTCUBlockToScalars(t->ctx, narrays, *host, AIJTCUBlockScalars(t->ctx, first)));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode CheckScalar(const char what[], PetscInt j, PetscScalar found, PetscScalar expected, PetscReal size)
{
  PetscFunctionBegin;
  if (!(PetscAbsScalar(found - expected) <= 100 * PETSC_MACHINE_EPSILON * (1 + size))) PetscCall(PetscPrintf(PETSC_COMM_WORLD, "%s: scalar %" PetscInt_FMT " is %g, not %g\n", what, j, (double)PetscRealPart(found), (double)PetscRealPart(expected)));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode TestDots(const Test *t, Mat X[NX])
{
  PetscScalar *const dots = AIJTCUBlockScalars(t->ctx, 2);
  PetscScalar       *host, *again;
  PetscBool          same;

  PetscFunctionBegin;
  PetscCall(PetscMalloc2(NX * t->N, &host, NX * t->N, &again));
  PetscCall(AIJTCUBlockDots(t->ctx, NX, X, X[1], dots));
  PetscCall(AIJTCUBlockToHost(t->ctx, NX, dots, host));
  PetscCall(AIJTCUBlockDots(t->ctx, NX, X, X[1], dots));
  PetscCall(AIJTCUBlockToHost(t->ctx, NX, dots, again));
  PetscCall(PetscArraycmp(host, again, NX * t->N, &same));
  if (!same) PetscCall(PetscPrintf(PETSC_COMM_WORLD, "dots: other bits the second time\n"));
  for (PetscInt i = 0; i < NX; i++) {
    for (PetscInt j = 0; j < t->N; j++) {
      Vec         x, y;
      PetscScalar dot;

      PetscCall(GetColumn(X[i], j, &x));
      PetscCall(GetColumn(X[1], j, &y));
      PetscCall(VecDot(y, x, &dot)); /* the second is conjugated */
      PetscCall(CheckScalar("dots", i * t->N + j, host[i * t->N + j], dot, (PetscReal)t->m));
      PetscCall(VecDestroy(&x));
      PetscCall(VecDestroy(&y));
    }
  }
  PetscCall(PetscFree2(host, again));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Y = a X + b Y; a column whose coefficients are zero holds NaN before */
static PetscErrorCode TestAXPBY(const Test *t, Mat X, Mat Y, PetscBool has_a, PetscBool has_b)
{
  PetscScalar *coef;
  Vec         *expected;
  Mat          A, B;

  PetscFunctionBegin;
  PetscCall(Coefficients(t, 2, 0, &coef));
  PetscCall(MatDuplicate(X, MAT_COPY_VALUES, &A));
  PetscCall(MatDuplicate(Y, MAT_COPY_VALUES, &B));
  PetscCall(PetscMalloc1(t->N, &expected));
  for (PetscInt j = 0; j < t->N; j++) {
    const PetscScalar a = has_a ? coef[j] : 1, b = has_b ? coef[t->N + j] : 1;
    Vec               x;

    PetscCall(GetColumn(A, j, &x));
    PetscCall(GetColumn(B, j, &expected[j]));
    PetscCall(VecAXPBY(expected[j], a, b, x));
    PetscCall(VecDestroy(&x));
    if (a == 0.) PetscCall(FillColumn(A, j, NAN));
    if (b == 0.) PetscCall(FillColumn(B, j, NAN));
  }
  PetscCall(AIJTCUBlockAXPBY(t->ctx, B, has_a ? AIJTCUBlockScalars(t->ctx, 0) : NULL, A, has_b ? AIJTCUBlockScalars(t->ctx, 1) : NULL));
  for (PetscInt j = 0; j < t->N; j++) PetscCall(CheckColumn(B, j, &expected[j], "axpby"));
  PetscCall(PetscFree(expected));
  PetscCall(PetscFree(coef));
  PetscCall(MatDestroy(&A));
  PetscCall(MatDestroy(&B));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode TestMAXPY(const Test *t, const Mat X[NX], Mat Y)
{
  PetscScalar *coef;
  Mat          B;

  PetscFunctionBegin;
  PetscCall(Coefficients(t, NX, 0, &coef));
  PetscCall(MatDuplicate(Y, MAT_COPY_VALUES, &B));
  PetscCall(AIJTCUBlockMAXPY(t->ctx, B, -1, NX, AIJTCUBlockScalars(t->ctx, 0), X));
  for (PetscInt j = 0; j < t->N; j++) {
    Vec x, y;

    PetscCall(GetColumn(Y, j, &y));
    for (PetscInt i = 0; i < NX; i++) {
      PetscCall(GetColumn(X[i], j, &x));
      PetscCall(VecAXPY(y, -coef[i * t->N + j], x));
      PetscCall(VecDestroy(&x));
    }
    PetscCall(CheckColumn(B, j, &y, "maxpy"));
  }
  PetscCall(PetscFree(coef));
  PetscCall(MatDestroy(&B));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Scalars of the context from the third on that give step lengths a: 4 a over 4 */
static PetscErrorCode SetLengths(const Test *t, const PetscScalar a[], BlockLengths *l)
{
  PetscScalar *numbers;

  PetscFunctionBegin;
  PetscCall(PetscMalloc1(3 * t->N, &numbers));
  for (PetscInt j = 0; j < t->N; j++) {
    numbers[j]            = 4 * a[j];
    numbers[t->N + j]     = 4;
    numbers[2 * t->N + j] = 1;
  }
  PetscCall(AIJTCUBlockToScalars(t->ctx, 3, numbers, AIJTCUBlockScalars(t->ctx, 2)));
  PetscCall(PetscFree(numbers));
  *l = (BlockLengths){.now = AIJTCUBlockScalars(t->ctx, 2), .before = AIJTCUBlockScalars(t->ctx, 2), .active = AIJTCUBlockScalars(t->ctx, 4), .kept = AIJTCUBlockScalars(t->ctx, 5), .step = AIJTCUBlockScalars(t->ctx, 7)};
  l->curvature = l->curvature_before = AIJTCUBlockScalars(t->ctx, 3);
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* P = D R + P, beside functions of vectors */
static PetscErrorCode TestCGDirection(const Test *t, const BlockLengths *l, Mat R, Vec D, Mat P0)
{
  Mat P;

  PetscFunctionBegin;
  PetscCall(AIJTCUBlockWork(t->ctx, 6, &P));
  PetscCall(AIJTCUBlockCopy(t->ctx, P0, P));
  PetscCall(AIJTCUBlockCGDirection(t->ctx, l->active, l->curvature, l->curvature_before, R, D, P));
  for (PetscInt j = 0; j < t->N; j++) {
    Vec r, p, z;

    PetscCall(GetColumn(R, j, &r));
    PetscCall(GetColumn(P0, j, &p));
    PetscCall(VecDuplicate(r, &z));
    PetscCall(VecPointwiseMult(z, r, D));
    PetscCall(VecAXPY(z, 1, p));
    PetscCall(CheckColumn(P, j, &z, "direction"));
    PetscCall(VecDestroy(&r));
    PetscCall(VecDestroy(&p));
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* The step that multiplies with a diagonal, too. R is what the other step has made of W and R0 */
/* With and without sums of all processes */
static PetscErrorCode TestCGStepScaled(const Test *t, const PetscScalar a[], Mat W, Mat R0, Mat R)
{
  PetscScalar *const sums = AIJTCUBlockScalars(t->ctx, 8), *host;
  BlockLengths       lengths;
  PetscBool          takes;
  Mat                R1;
  Vec                D;

  PetscFunctionBegin;
  PetscCall(AIJTCUBlockWork(t->ctx, 6, &R1));
  PetscCall(MatCreateVecs(W, NULL, &D));
  PetscCall(VecSetRandom(D, t->random));
  PetscCall(AIJTCUBlockCtxTakes(t->ctx, D, &takes));
  if (!takes) PetscCall(PetscPrintf(PETSC_COMM_WORLD, "vectors of a block are not taken\n"));
  PetscCall(PetscMalloc1(2 * t->N, &host));
  for (int znormal = 0; znormal < 2; znormal++) {
    PetscCall(AIJTCUBlockCopy(t->ctx, R0, R1));
    PetscCall(SetLengths(t, a, &lengths));
    PetscCall(AIJTCUBlockCGStepScaled(t->ctx, &lengths, W, R1, D, (PetscBool)znormal, (PetscBool)znormal, sums));
    PetscCall(AIJTCUBlockToHostBegin(t->ctx, 2, sums));
    PetscCall(AIJTCUBlockToHostEnd(t->ctx, 2, sums, host));
    if (znormal) {
      PetscCall(AIJTCUBlockSum(t->ctx, 2, host));
      PetscCall(AIJTCUBlockSumsToScalars(t->ctx, 2, host, sums));
      PetscCall(AIJTCUBlockToHost(t->ctx, 2, sums, host));
    }
    for (PetscInt j = 0; j < t->N; j++) {
      Vec         r, z;
      PetscScalar dot;

      PetscCall(GetColumn(R, j, &r));
      PetscCall(VecDuplicate(r, &z));
      PetscCall(VecPointwiseMult(z, r, D));
      PetscCall(VecDot(z, r, &dot));
      PetscCall(CheckScalar("scaled step", j, host[j], dot, 4 * (PetscReal)t->m));
      PetscCall(VecDot(znormal ? z : r, znormal ? z : r, &dot));
      PetscCall(CheckScalar("scaled step", t->N + j, host[t->N + j], dot, 4 * (PetscReal)t->m));
      PetscCall(CheckColumn(R1, j, &r, "scaled step, R"));
      PetscCall(VecDestroy(&z));
    }
  }
  PetscCall(TestCGDirection(t, &lengths, R, D, W));
  PetscCall(PetscFree(host));
  PetscCall(VecDestroy(&D));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode TestCGStep(const Test *t, Mat W, Mat Y)
{
  PetscScalar *const rr = AIJTCUBlockScalars(t->ctx, 1);
  BlockLengths       lengths;
  PetscScalar       *a, *host;
  Mat                R;

  PetscFunctionBegin;
  PetscCall(Coefficients(t, 1, 0, &a));
  PetscCall(SetLengths(t, a, &lengths));
  PetscCall(PetscMalloc1(t->N, &host));
  PetscCall(AIJTCUBlockWork(t->ctx, 1, &R));
  PetscCall(AIJTCUBlockCopy(t->ctx, W, R));
  PetscCall(AIJTCUBlockCGStep(t->ctx, &lengths, Y, R, rr));
  PetscCall(AIJTCUBlockToHost(t->ctx, 1, rr, host));
  for (PetscInt j = 0; j < t->N; j++) {
    Vec         w, r;
    PetscScalar dot;

    PetscCall(GetColumn(Y, j, &w));
    PetscCall(GetColumn(W, j, &r));
    PetscCall(VecAXPY(r, -a[j], w));
    PetscCall(VecDot(r, r, &dot));
    PetscCall(CheckScalar("cg step", j, host[j], dot, 4 * (PetscReal)t->m));
    PetscCall(CheckColumn(R, j, &r, "cg step, R"));
    PetscCall(VecDestroy(&w));
  }
  PetscCall(TestCGStepScaled(t, a, Y, W, R));
  PetscCall(AIJTCUBlockZero(t->ctx, R));
  for (PetscInt j = 0; j < t->N; j++) {
    Vec x;

    PetscCall(GetColumn(R, j, &x));
    PetscCall(VecSet(x, 0));
    PetscCall(CheckColumn(R, j, &x, "zero"));
  }
  PetscCall(PetscFree(host));
  PetscCall(PetscFree(a));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode TestScalars(const Test *t)
{
  PetscScalar *coef, *host;

  PetscFunctionBegin;
  PetscCall(Coefficients(t, NX, 0, &coef));
  PetscCall(PetscMalloc1(t->N, &host));
  for (BlockScalarOp op = BLOCK_MULTIPLY; op <= BLOCK_FINITE; op++) {
    PetscCall(AIJTCUBlockScalarOp(t->ctx, op, AIJTCUBlockScalars(t->ctx, 0), AIJTCUBlockScalars(t->ctx, NX),
      AIJTCUBlockScalars(t->ctx, 1), AIJTCUBlockScalars(t->ctx, 2)));
    PetscCall(AIJTCUBlockToHost(t->ctx, 1, AIJTCUBlockScalars(t->ctx, NX), host));
    for (PetscInt j = 0; j < t->N; j++) {
      const PetscScalar x = coef[t->N + j], y = coef[2 * t->N + j];
      PetscScalar       expected = x * y;

      if (op == BLOCK_DIVIDE) expected = y == 0. ? 0 : x / y;
      if (op == BLOCK_CONJUGATE_DIVIDE) expected = y == 0. ? 0 : PetscConj(x) / y;
      if (op == BLOCK_SAME_SIGN) expected = PetscRealPart(x) * PetscRealPart(y) > 0 || (PetscDefined(USE_COMPLEX) && PetscRealPart(x) * PetscRealPart(y) == 0) ? x : 0;
      if (op == BLOCK_FINITE) expected = x;
      PetscCall(CheckScalar("scalar operation", j, host[j], coef[j] == 0. ? 0 : expected, 1));
    }
  }
  PetscCall(PetscFree(host));
  PetscCall(PetscFree(coef));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* A block of another shape is an error, and its array is not kept. Work blocks stay where the shape does */
static PetscErrorCode TestContext(Test *t, Mat X)
{
  PetscBool      usable;
  PetscErrorCode ierr;
  Mat            W, again, other;

  PetscFunctionBegin;
  PetscCall(AIJTCUBlockWork(t->ctx, 4, &W));
  PetscCall(AIJTCUBlockCtxSetUp(t->ctx, X, NSCALARS - 1, &usable));
  PetscCall(AIJTCUBlockWork(t->ctx, 4, &again));
  if (!usable || W != again) PetscCall(PetscPrintf(PETSC_COMM_WORLD, "a context set up again does not keep its work blocks\n"));
  t->N++;
  PetscCall(CreateBlock(t, &other));
  t->N--;
  PetscCall(PetscPushErrorHandler(PetscReturnErrorHandler, NULL));
  ierr = AIJTCUBlockAXPBY(t->ctx, W, NULL, other, NULL);
  PetscCall(PetscPopErrorHandler());
  if (ierr != PETSC_ERR_ARG_SIZ) PetscCall(PetscPrintf(PETSC_COMM_WORLD, "a block of another shape gives error %d\n", (int)ierr));
  PetscCall(MatDestroy(&other));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* By this a context finds out where a block is */
static PetscBool failing;

PETSC_EXTERN PetscErrorCode MatDenseGetArrayReadAndMemType(Mat X, const PetscScalar **x, PetscMemType *mem)
{
  static PetscErrorCode (*next)(Mat, const PetscScalar **, PetscMemType *);

  if (!next) *(void **)&next = dlsym(RTLD_NEXT, "MatDenseGetArrayReadAndMemType");
  return failing ? PETSC_ERR_USER : (*next)(X, x, mem);
}

/* An error of one process is one of all, and nobody waits. Then the context can be set up */
static PetscErrorCode TestError(const Test *t, Mat X)
{
  PetscMPIInt    rank;
  PetscBool      usable;
  PetscErrorCode ierr;

  PetscFunctionBegin;
  PetscCallMPI(MPI_Comm_rank(PETSC_COMM_WORLD, &rank));
  PetscCall(PetscPushErrorHandler(PetscReturnErrorHandler, NULL));
  failing = (PetscBool)!rank;
  ierr    = AIJTCUBlockCtxSetUp(t->ctx, X, NSCALARS, &usable);
  failing = PETSC_FALSE;
  PetscCall(PetscPopErrorHandler());
  if (ierr != (rank ? PETSC_ERR_LIB : PETSC_ERR_USER)) PetscCall(PetscPrintf(PETSC_COMM_SELF,
    "[%d] a block that one process cannot look at gives error %d\n", rank, (int)ierr));
  PetscCall(AIJTCUBlockCtxSetUp(t->ctx, X, NSCALARS, &usable));
  if (!usable) PetscCall(PetscPrintf(PETSC_COMM_WORLD, "no context after an error\n"));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode GetArray(Mat X, const PetscScalar **x, PetscInt *ld)
{
  PetscFunctionBegin;
  PetscCall(MatDenseGetLDA(X, ld));
  PetscCall(MatDenseGetArrayRead(X, x));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Y = X K, Y += X K, or Y = X K - W L^T; or the same with D X */
static PetscErrorCode TestCombine(const Test *t, Mat X, Mat W, Mat Y0, Vec D, PetscBool add, PetscInt nterms, const PetscScalar K[])
{
  const PetscInt     N      = t->N;
  PetscScalar       *square = AIJTCUBlockScalars(t->ctx, NSCALARS);
  const PetscScalar *x, *w, *y0, *y, *d = NULL;
  PetscInt           m, ldx, ldw, ld0, ldy;
  PetscReal          error    = 0;
  AIJTCUBlockTerm    terms[2] = {
       {.sign = 1, .X = X, .K = square},
       {.sign = -1, .X = W, .K = square + N * N, .transpose = PETSC_TRUE}};
  Mat Y;

  PetscFunctionBegin;
  PetscCall(AIJTCUBlockToScalars(t->ctx, 2 * N, K, square));
  PetscCall(AIJTCUBlockWork(t->ctx, 2, &Y));
  PetscCall(AIJTCUBlockCopy(t->ctx, Y0, Y));
  PetscCall(AIJTCUBlockCombine(t->ctx, Y, add, nterms, terms, D));
  PetscCall(MatGetLocalSize(X, &m, NULL));
  PetscCall(GetArray(X, &x, &ldx));
  PetscCall(GetArray(W, &w, &ldw));
  PetscCall(GetArray(Y0, &y0, &ld0));
  PetscCall(GetArray(Y, &y, &ldy));
  if (D) PetscCall(VecGetArrayRead(D, &d));
  for (PetscInt j = 0; j < N; j++) {
    for (PetscInt i = 0; i < m; i++) {
      PetscScalar sum = add ? y0[j * ld0 + i] : 0;

      for (PetscInt k = 0; k < N; k++) {
        sum += (d ? d[i] : 1) * x[k * ldx + i] * K[j * N + k];
        if (nterms > 1) sum -= w[k * ldw + i] * PetscConj(K[N * N + k * N + j]);
      }
      error = PetscMax(error, PetscAbsScalar(sum - y[j * ldy + i]));
    }
  }
  if (!(error <= 16 * N * PETSC_MACHINE_EPSILON)) PetscCall(PetscPrintf(PETSC_COMM_SELF,
    "combine: %" PetscInt_FMT " columns are wrong by %g\n", N, (double)error));
  if (D) PetscCall(VecRestoreArrayRead(D, &d));
  PetscCall(MatDenseRestoreArrayRead(X, &x));
  PetscCall(MatDenseRestoreArrayRead(W, &w));
  PetscCall(MatDenseRestoreArrayRead(Y0, &y0));
  PetscCall(MatDenseRestoreArrayRead(Y, &y));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*
   The products of columns of X with D X, or with Y where D is NULL, and what kind says, with sums of all processes or
   not. They are symmetric only if X^T Y is: what is above the diagonal counts
*/
static PetscErrorCode TestGram(const Test *t, Mat X, Mat Y, Vec D, BlockGramKind kind, PetscBool local)
{
  const PetscInt     N = t->N, n = kind == BLOCK_GRAM_PLAIN ? 1 : 2;
  PetscScalar       *G = AIJTCUBlockScalars(t->ctx, NSCALARS + 2 * N), *host, *expected;
  const PetscScalar *x, *y, *d = NULL;
  PetscInt           m, ldx, ldy;

  PetscFunctionBegin;
  PetscCall(PetscMalloc1(n * N * N, &host));
  PetscCall(PetscCalloc1(n * N * N, &expected));
  PetscCall(AIJTCUBlockGram(t->ctx, kind, X, D ? NULL : Y, D, local, G));
  PetscCall(AIJTCUBlockToHost(t->ctx, n * N, G, host));
  if (local) PetscCall(AIJTCUBlockSum(t->ctx, n * N, host));
  PetscCall(MatGetLocalSize(X, &m, NULL));
  PetscCall(GetArray(X, &x, &ldx));
  PetscCall(GetArray(D ? X : Y, &y, &ldy));
  if (D) PetscCall(VecGetArrayRead(D, &d));
  for (PetscInt k = 0; k < n * N * N; k++) {
    const PetscInt  i = k % N, j = k / N % N;
    const PetscBool second = (PetscBool)(k >= N * N);

    for (PetscInt r = 0; r < m && i <= j; r++) {
      const PetscScalar s  = d ? d[r] : 1;
      const PetscScalar xi = second && kind == BLOCK_GRAM_WITH_Y ? s * y[i * ldy + r] : x[i * ldx + r];
      const PetscScalar yj = second && kind == BLOCK_GRAM_WITH_X ? x[j * ldx + r] : s * y[j * ldy + r];

      expected[k] += PetscConj(xi) * yj;
    }
  }
  if (D) PetscCall(VecRestoreArrayRead(D, &d));
  PetscCall(MatDenseRestoreArrayRead(X, &x));
  PetscCall(MatDenseRestoreArrayRead(D ? X : Y, &y));
  PetscCallMPI(MPIU_Allreduce(MPI_IN_PLACE, expected, (PetscMPIInt)(n * N * N), MPIU_SCALAR, MPIU_SUM, PETSC_COMM_WORLD));
  for (PetscInt k = 0; k < n * N * N; k++) {
    if (k % N <= k / N % N) PetscCall(CheckScalar("gram", k, host[k], expected[k], 4 * (PetscReal)t->m));
  }
  PetscCall(PetscFree(host));
  PetscCall(PetscFree(expected));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Y = X K - W L^T and its products with D Y in one call: those of two calls, with sums of all processes or not */
static PetscErrorCode TestCombineGram(const Test *t, Mat X, Mat W, Vec D, BlockGramKind kind, PetscBool local, const PetscScalar K[])
{
  const PetscInt  N = t->N, n = kind == BLOCK_GRAM_PLAIN ? 1 : 2;
  PetscScalar    *square = AIJTCUBlockScalars(t->ctx, NSCALARS), *G = square + 2 * N * N, *host, *expected;
  AIJTCUBlockTerm terms[2] = {
    {.sign = 1, .X = X, .K = square},
    {.sign = -1, .X = W, .K = square + N * N, .transpose = PETSC_TRUE}};
  Mat       Y[2];
  PetscReal norm;

  PetscFunctionBegin;
  PetscCall(PetscMalloc2(n * N * N, &host, n * N * N, &expected));
  PetscCall(AIJTCUBlockToScalars(t->ctx, 2 * N, K, square));
  for (int i = 0; i < 2; i++) PetscCall(AIJTCUBlockWork(t->ctx, 2 + i, &Y[i]));
  PetscCall(AIJTCUBlockCombine(t->ctx, Y[0], PETSC_FALSE, 2, terms, NULL));
  PetscCall(AIJTCUBlockGram(t->ctx, kind, Y[0], NULL, D, local, G));
  PetscCall(AIJTCUBlockToHost(t->ctx, n * N, G, expected));
  PetscCall(AIJTCUBlockCombineGram(t->ctx, Y[1], terms, kind, D, local, G));
  PetscCall(AIJTCUBlockToHost(t->ctx, n * N, G, host));
  PetscCall(MatAXPY(Y[1], -1, Y[0], SAME_NONZERO_PATTERN));
  PetscCall(MatNorm(Y[1], NORM_FROBENIUS, &norm));
  if (norm != 0) PetscCall(PetscPrintf(PETSC_COMM_WORLD, "combine_gram: other bits of the sum\n"));
  for (PetscInt k = 0; k < n * N * N; k++) PetscCall(CheckScalar("combine_gram", k, host[k], expected[k], 4 * (PetscReal)(N * N * t->m)));
  PetscCall(PetscFree2(host, expected));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Sums of blocks times square matrices, and products of blocks. Where the BLAS makes them there is no diagonal */
static PetscErrorCode TestSquares(const Test *t, Mat X, Mat W, Mat Y)
{
  const PetscInt N = t->N;
  PetscScalar   *K;
  Vec            D;

  PetscFunctionBegin;
  PetscCall(PetscMalloc1(2 * N * N, &K));
  for (PetscInt i = 0; i < 2 * N * N; i++) PetscCall(PetscRandomGetValue(t->random, &K[i]));
  PetscCallMPI(MPI_Bcast(K, (PetscMPIInt)(2 * N * N), MPIU_SCALAR, 0, PETSC_COMM_WORLD));
  PetscCall(MatCreateVecs(X, NULL, &D));
  PetscCall(VecSetRandom(D, t->random));
  for (int kind = BLOCK_GRAM_PLAIN; kind <= BLOCK_GRAM_WITH_Y && AIJTCUBlockCtxCombines(t->ctx); kind++) {
    for (int local = 0; local < 2; local++) PetscCall(TestCombineGram(t, X, W, D, (BlockGramKind)kind, (PetscBool)local, K));
  }
  for (int scaled = 0; scaled < (AIJTCUBlockCtxCombines(t->ctx) ? 2 : 1); scaled++) {
    for (int k = 0; k < 3; k++) PetscCall(TestCombine(t, X, W, Y, scaled ? D : NULL, (PetscBool)(k == 1), k == 2 ? 2 : 1, K));
    for (int kind = BLOCK_GRAM_PLAIN; kind <= BLOCK_GRAM_WITH_Y; kind++) PetscCall(TestGram(t, X, Y, scaled ? D : NULL,
      (BlockGramKind)kind, (PetscBool)scaled));
  }
  PetscCall(VecDestroy(&D));
  PetscCall(PetscFree(K));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Random numbers are between this and the opposite one */
static PetscScalar Corner(void)
{
#if PetscDefined(USE_COMPLEX)
  return PetscCMPLX(1, 1);
#else
  return 1;
#endif
}

static PetscErrorCode TestWidth(Test *t)
{
  Mat       X[NX], Y;
  PetscBool usable;

  PetscFunctionBegin;
  for (PetscInt i = 0; i < NX; i++) PetscCall(CreateBlock(t, &X[i]));
  PetscCall(CreateBlock(t, &Y));
  PetscCall(AIJTCUBlockCtxSetUp(t->ctx, Y, NSCALARS + NSQUARES * t->N, &usable));
  if (!usable) PetscCall(PetscPrintf(PETSC_COMM_WORLD, "blocks of type %s are not taken\n", t->type));
  else {
    PetscCall(TestDots(t, X));
    for (int k = 0; k < 4; k++) PetscCall(TestAXPBY(t, X[0], Y, (PetscBool)(k & 1), (PetscBool)(k >> 1)));
    PetscCall(TestMAXPY(t, X, Y));
    PetscCall(TestCGStep(t, X[1], Y));
    PetscCall(TestSquares(t, X[0], X[1], Y));
    PetscCall(TestScalars(t));
    PetscCall(TestContext(t, Y));
    PetscCall(TestError(t, Y));
  }
  for (PetscInt i = 0; i < NX; i++) PetscCall(MatDestroy(&X[i]));
  PetscCall(MatDestroy(&Y));
  PetscFunctionReturn(PETSC_SUCCESS);
}
#endif

int main(int argc, char **argv)
{
  PetscFunctionBeginUser;
  PetscCall(PetscInitialize(&argc, &argv, NULL, help));
#if AIJTCU_HAVE_BLOCK
  {
    Test      t         = {.m = 50, .pad = 0};
    char      type[64]  = MATDENSE;
    PetscInt  widths[8] = {1, 7, 16, 7}, n = PETSC_STATIC_ARRAY_LENGTH(widths);
    PetscBool set;

    PetscCall(PetscOptionsGetString(NULL, NULL, "-dense_type", type, sizeof(type), NULL));
    PetscCall(PetscOptionsGetInt(NULL, NULL, "-m", &t.m, NULL));
    PetscCall(PetscOptionsGetInt(NULL, NULL, "-pad", &t.pad, NULL));
    PetscCall(PetscOptionsGetIntArray(NULL, NULL, "-widths", widths, &n, &set));
    if (!set) n = 4;
    t.type = type;
    PetscCall(PetscRandomCreate(PETSC_COMM_WORLD, &t.random));
    PetscCall(PetscRandomSetInterval(t.random, -Corner(), Corner()));
    PetscCall(AIJTCUBlockCtxCreate(&t.ctx));
    for (PetscInt k = 0; k < n; k++) {
      t.N = widths[k];
      PetscCall(TestWidth(&t));
    }
    PetscCall(AIJTCUBlockCtxDestroy(&t.ctx));
    PetscCall(PetscRandomDestroy(&t.random));
  }
#endif
  PetscCall(PetscFinalize());
  return 0;
}

/*TEST

  build:
    requires: linux

  testset:
    output_file: output/empty.out
    args: -malloc_test

    test:
      suffix: 1
      args: -m {{0 1 50 5000}} -pad {{0 3}}

    test:
      suffix: 2
      nsize: 3
      args: -m {{2 50}} -pad {{0 3}}

  testset:
    output_file: output/empty.out
    requires: cuda
    args: -dense_type densecuda

    test:
      suffix: device
      args: -m {{0 1 50 5000}} -pad {{0 3}} -widths 1,7,16,33,31

    test:
      suffix: device_2
      nsize: 3
      args: -m {{2 50}} -use_gpu_aware_mpi 0

TEST*/
