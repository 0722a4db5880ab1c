/*
   Arithmetic with blocks on the host: the reference of the kernels on a device, and what works where there is none.
*/
#include <string.h>

#include "blockops.h"

enum {
  SUMS  = 8,    /* of one column, so that the compiler may add several numbers at once */
  PIECE = 1024, /* rows that stay in the cache between several operations: a multiple of SUMS */
  FEW   = 4     /* blocks that are added at once */
};

static BlockNumber Coefficient(const BlockNumber *a, int64_t j)
{
  return a ? a[j] : 1;
}

/* Add conj(x) y to the sums. Pieces of a column, one after the other, give the same sums as the column at once */
static void AddProducts(int64_t n, const BlockNumber *x, const BlockNumber *y, BlockNumber sums[SUMS])
{
  BlockNumber sum[SUMS]; /* the compiler knows that nothing else is here */
  int64_t     i;

  memcpy(sum, sums, sizeof(sum));
  for (i = 0; i + SUMS <= n; i += SUMS) {
    for (int k = 0; k < SUMS; k++) sum[k] += BlockConj(x[i + k]) * y[i + k];
  }
  for (int k = 0; i + k < n; k++) sum[k] += BlockConj(x[i + k]) * y[i + k];
  memcpy(sums, sum, sizeof(sum));
}

static BlockNumber Total(const BlockNumber sum[SUMS])
{
  BlockNumber total = 0;

  for (int k = 0; k < SUMS; k++) total += sum[k];
  return total;
}

static BlockNumber Dot(int64_t n, const BlockNumber *x, const BlockNumber *y)
{
  BlockNumber sum[SUMS] = {0};

  AddProducts(n, x, y, sum);
  return Total(sum);
}

static void AXPBY(int64_t n, BlockNumber *y, BlockNumber a, const BlockNumber *x, BlockNumber b)
{
  if (a == 0 && b == 1) return;
  for (int64_t i = 0; i < n; i++) {
    BlockNumber sum = 0;

    if (b != 0) sum = b * y[i];
    if (a != 0) sum += a * x[i];
    y[i] = sum;
  }
}

static size_t Work(int64_t n, int64_t N, int64_t nx)
{
  (void)n;
  (void)N;
  (void)nx;
  return 0;
}

static HrpbError Dots(const BlockShape *s, int64_t nx, const BlockIn X[], BlockIn Y, BlockNumber *dots)
{
  for (int64_t j = 0; j < s->N; j++) {
    for (int64_t i = 0; i < nx; i++) dots[i * s->N + j] = Dot(s->n, X[i].array + j * X[i].ld, Y.array + j * Y.ld);
  }
  return HRPB_SUCCESS;
}

static HrpbError BlockAXPBY(const BlockShape *s, BlockOut Y, const BlockNumber *a, BlockIn X, const BlockNumber *b)
{
  for (int64_t j = 0; j < s->N; j++) AXPBY(s->n, Y.array + j * Y.ld, Coefficient(a, j), X.array + j * X.ld, Coefficient(b, j));
  return HRPB_SUCCESS;
}

/* y += a[0] x[0] + a[1] x[1] + ..., with one pass over y for FEW of them. The order is that of one after the other */
static void AddFew(int64_t n, BlockNumber *y, const BlockNumber a[FEW], const BlockNumber *const x[FEW])
{
  const BlockNumber *const x0 = x[0], *const x1 = x[1], *const x2 = x[2], *const x3 = x[3];

  for (int64_t i = 0; i < n; i++) y[i] = (((y[i] + a[0] * x0[i]) + a[1] * x1[i]) + a[2] * x2[i]) + a[3] * x3[i];
}

static HrpbError MAXPY(const BlockShape *s, BlockOut Y, HrpbScalar sign, int64_t nx, const BlockNumber *coef, const BlockIn X[])
{
  for (int64_t j = 0; j < s->N; j++) {
    BlockNumber *y = Y.array + j * Y.ld;

    for (int64_t i = 0; i < nx; i += FEW) {
      const int64_t      few = nx - i < FEW ? nx - i : FEW;
      BlockNumber        a[FEW];
      const BlockNumber *x[FEW];
      bool               all = few == FEW;

      for (int64_t k = 0; k < few; k++) {
        a[k] = sign * Coefficient(coef, (i + k) * s->N + j);
        x[k] = X[i + k].array + j * X[i + k].ld;
        if (a[k] == 0) all = false;
      }
      if (all) AddFew(s->n, y, a, x);
      else {
        for (int64_t k = 0; k < few; k++) AXPBY(s->n, y, a[k], x[k], 1);
      }
    }
  }
  return HRPB_SUCCESS;
}

static HrpbError CGStep(const BlockShape *s, const BlockStep *t, BlockNumber *sums)
{
  for (int64_t j = 0; j < s->N; j++) {
    BlockNumber       kept[2], z[PIECE], first[SUMS] = {0}, second[SUMS] = {0};
    const BlockNumber a = BlockStepLength(&t->lengths, j, kept);

    t->lengths.kept[j]        = kept[0];
    t->lengths.kept[s->N + j] = kept[1];
    t->lengths.step[j]        = a;
    for (int64_t i = 0; i < s->n; i += PIECE) {
      const int64_t n = s->n - i < PIECE ? s->n - i : PIECE;
      BlockNumber  *r = t->R.array + j * t->R.ld + i;

      AXPBY(n, r, -a, t->W.array + j * t->W.ld + i, 1);
      for (int64_t k = 0; k < n && t->kind; k++) z[k] = t->D[i + k] * r[k];
      if (sums) AddProducts(n, r, t->kind ? z : r, first);
      if (sums && t->kind) AddProducts(n, t->kind == BLOCK_STEP_WITH_Z ? z : r, t->kind == BLOCK_STEP_WITH_Z ? z : r, second);
    }
    if (sums) sums[j] = Total(first);
    if (sums && t->kind) sums[s->N + j] = Total(second);
  }
  return HRPB_SUCCESS;
}

static HrpbError CGDirection(const BlockShape *s, const BlockDirection *t)
{
  for (int64_t j = 0; j < s->N; j++) {
    const BlockNumber a = Coefficient(t->active, j), b = a != 0 ? BlockScalar(BLOCK_DIVIDE, t->now[j], t->before[j]) : 0;
    BlockNumber       z[PIECE];

    for (int64_t i = 0; i < s->n; i += PIECE) {
      const int64_t n = s->n - i < PIECE ? s->n - i : PIECE;
      BlockNumber  *p = t->P.array + j * t->P.ld + i;

      if (t->X.array) AXPBY(n, t->X.array + j * t->X.ld + i, t->step[j], p, 1);
      for (int64_t k = 0; k < n && a != 0; k++) z[k] = t->D[i + k] * t->R.array[j * t->R.ld + i + k];
      AXPBY(n, p, a, z, b);
    }
  }
  return HRPB_SUCCESS;
}

static HrpbError CGIterate(const BlockShape *s, const BlockIteration *t)
{
  return BlockCGIterateApart(&BlockOpsHost, s, t);
}

static HrpbError Residual(const BlockShape *s, BlockIn Y, const BlockNumber *a, BlockIn X, BlockOut R, BlockNumber *total)
{
  for (int64_t j = 0; j < s->N; j++) {
    const BlockNumber aj         = Coefficient(a, j);
    BlockNumber       sums[SUMS] = {0};

    for (int64_t i = 0; i < s->n; i += PIECE) {
      const int64_t      n = s->n - i < PIECE ? s->n - i : PIECE;
      const BlockNumber *y = Y.array + j * Y.ld + i, *x = X.array + j * X.ld + i;
      BlockNumber       *r = R.array + j * R.ld + i;

      for (int64_t k = 0; k < n; k++) r[k] = aj != 0 ? y[k] - aj * x[k] : y[k];
      if (total) AddProducts(n, r, r, sums);
    }
    if (total) total[j] = Total(sums);
  }
  return HRPB_SUCCESS;
}

static HrpbError Smooth(const BlockShape *s, const BlockSmooth *t)
{
  for (int64_t j = 0; j < s->N; j++) {
    const BlockNumber *y0 = t->Y0.array + j * t->Y0.ld, *x = t->X.array + j * t->X.ld, *b = t->B.array + j * t->B.ld,
                      *w = t->W.array ? t->W.array + j * t->W.ld : NULL;
    BlockNumber       *y = t->Y.array + j * t->Y.ld;

    for (int64_t i = 0; i < s->n; i++) {
      const int64_t      first = i / t->dblock * t->dblock;
      const BlockNumber *D     = t->D + first * t->dblock + (i - first);
      BlockNumber        sum   = 0;

      for (int64_t k = 0; k < t->dblock && t->c != 0; k++) sum += t->c * D[k * t->dblock] * (w ? b[first + k] - w[first + k] : b[first + k]);
      if (t->b != 0) sum += t->b * x[i];
      if (t->a != 0) sum += t->a * y0[i];
      y[i] = sum;
    }
  }
  return HRPB_SUCCESS;
}

static HrpbError Copy(const BlockShape *s, BlockIn X, BlockOut Y)
{
  if (X.array == Y.array || s->n == 0) return HRPB_SUCCESS;
  for (int64_t j = 0; j < s->N; j++) memcpy(Y.array + j * Y.ld, X.array + j * X.ld, sizeof(BlockNumber) * (size_t)s->n);
  return HRPB_SUCCESS;
}

static HrpbError Zero(const BlockShape *s, BlockOut Y)
{
  if (s->n == 0) return HRPB_SUCCESS;
  for (int64_t j = 0; j < s->N; j++) memset(Y.array + j * Y.ld, 0, sizeof(BlockNumber) * (size_t)s->n);
  return HRPB_SUCCESS;
}

static HrpbError Move(const BlockShape *s, const HrpbInt *from, const HrpbInt *to, BlockIn X, BlockOut Y)
{
  if (s->n == 0) return HRPB_SUCCESS;
  for (int64_t k = 0; k < s->N; k++)
    memmove(Y.array + (to ? to[k] : k) * Y.ld, X.array + (from ? from[k] : k) * X.ld, sizeof(BlockNumber) * (size_t)s->n);
  return HRPB_SUCCESS;
}

static HrpbError Scalars(const BlockShape *s, BlockScalarOp op, const BlockNumber *active, BlockNumber *out, const BlockNumber *x,
  const BlockNumber *y)
{
  for (int64_t j = 0; j < s->N; j++) out[j] = Coefficient(active, j) != 0 ? BlockScalar(op, Coefficient(x, j), Coefficient(y, j)) : 0;
  return HRPB_SUCCESS;
}

/* Sweeps: each takes one row and column. After all of them there is the inverse with the other sign */
static HrpbError Invert(const BlockShape *s, const BlockInvert *t)
{
  const int64_t N = s->N, n = t->rank;
  BlockNumber  *A = t->inverse, *column = t->step;
  bool          good = true;

  for (int64_t j = 0; j < N; j++) {
    t->pivots[j] = 1;
    for (int64_t i = 0; i < N; i++) A[j * N + i] = (t->H[j * N + i] + BlockConj(t->H[i * N + j])) / 2;
  }
  for (int64_t k = 0; k < n && good; k++) {
    const HrpbScalar pivot = BlockReal(A[k * N + k]), over = 1 / pivot;

    t->pivots[k] = pivot;
    good         = pivot > 0;
    memcpy(column, A + k * N, sizeof(BlockNumber) * (size_t)n);
    for (int64_t j = 0; j < n; j++) {
      for (int64_t i = 0; i < n; i++) A[j * N + i] = BlockSweep(A[j * N + i], column[i], column[j], over, i == k, j == k);
    }
  }
  for (int64_t j = 0; j < N; j++) {
    for (int64_t i = 0; i < N; i++) A[j * N + i] = good && i < n && j < n ? -A[j * N + i] : 0;
  }
  for (int64_t j = 0; j < N; j++) {
    for (int64_t i = 0; i < N; i++) {
      BlockNumber sum = 0;

      for (int64_t k = 0; k < n && good && t->active[j] != 0; k++) sum += A[k * N + i] * t->C[j * N + k];
      t->step[j * N + i] = sum;
    }
  }
  return HRPB_SUCCESS;
}

static HrpbError Scale(const BlockShape *s, const BlockNumber *D, int32_t dblock, bool transpose, BlockIn X, BlockOut Y)
{
  const int64_t row = transpose ? dblock : 1, column = transpose ? 1 : dblock;

  for (int64_t j = 0; j < s->N; j++) {
    const BlockNumber *x = X.array + j * X.ld;
    BlockNumber       *y = Y.array + j * Y.ld;

    for (int64_t first = 0; first < s->n; first += dblock) {
      const BlockNumber *d = D + first * dblock;

      for (int32_t i = 0; i < dblock; i++) {
        BlockNumber sum = d[i * row] * x[first];

        for (int32_t k = 1; k < dblock; k++) sum += d[i * row + k * column] * x[first + k];
        y[first + i] = sum;
      }
    }
  }
  return HRPB_SUCCESS;
}

const BlockOps BlockOpsHost = {
  .work         = Work,
  .dots         = Dots,
  .axpby        = BlockAXPBY,
  .maxpy        = MAXPY,
  .cg_step      = CGStep,
  .cg_direction = CGDirection,
  .cg_iterate   = CGIterate,
  .residual     = Residual,
  .smooth       = Smooth,
  .copy         = Copy,
  .zero         = Zero,
  .move         = Move,
  .scalars      = Scalars,
  .invert       = Invert,
  .scale        = Scale};
