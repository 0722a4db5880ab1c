/*
   Fuzzes the HRPB format on the host. Inputs are random matrices, good and bad, for all parameters, and formats that
   were tampered with.

   The expected result is found without the kernels. hrpb.h says which matrices are good, and a loop over CSR gives the
   product. All numbers are small integers, so the product is exact in any order of summation.
*/
#include "fuzz.h"

#include <spmm.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

typedef struct {
  int64_t     nrows, ncols, capacity; /* entries that colidx and values have room for */
  HrpbInt    *rowptr, *colidx;
  HrpbScalar *values;
  int32_t    *order; /* or NULL */
  HrpbParams  params;
} Matrix;

/* Memory of exactly this size: a sanitizer sees a step beyond it */
static void *Block(size_t bytes)
{
  void *p = malloc(bytes);

  FuzzCheck(p || !bytes, "no memory");
  return p;
}

static int64_t SmallSize(Random *r)
{
  const int64_t most[] = {1, 4, 20, 80, 300};

  return RandomBelow(r, most[RandomBelow(r, 5)]);
}

/* Parameters that are allowed, any of them */
static HrpbParams RandomParams(Random *r)
{
  HrpbParams p;
  int32_t    unit, most;

  p.brick_rows  = RandomOneIn(r, 2) ? 8 : 16;
  p.window_cols = 1 << RandomBelow(r, 5);
  unit          = p.window_cols < HRPB_BRICK_COLS ? HRPB_BRICK_COLS : p.window_cols;
  p.block_cols  = unit * (int32_t)(1 + RandomBelow(r, RandomOneIn(r, 2) ? 3 : HRPB_MAX_BLOCK / unit));
  if (p.block_cols > HRPB_MAX_BLOCK) p.block_cols = unit;
  most = HRPB_MAX_SLOTS / p.block_cols;
  if (most > HRPB_MAX_PANEL) most = HRPB_MAX_PANEL;
  p.panel_rows = p.brick_rows * (int32_t)(1 + RandomBelow(r, RandomOneIn(r, 2) ? 4 : most / p.brick_rows));
  p.pairs      = p.window_cols > 1 && RandomOneIn(r, 3);
  return p;
}

static bool ParamsAreGood(const HrpbParams *p)
{
  bool window = false;

  for (int32_t w = 1; w <= 16; w *= 2) window = window || p->window_cols == w;
  return window && (!p->pairs || (p->pairs == 1 && p->window_cols > 1)) && (p->brick_rows == 8 || p->brick_rows == 16) && p->panel_rows >= p->brick_rows && p->panel_rows <= 1024 && p->panel_rows % p->brick_rows == 0 && p->block_cols >= 4 && p->block_cols <= 256 && p->block_cols % 4 == 0 && p->block_cols % p->window_cols == 0 && (int64_t)p->panel_rows * p->block_cols <= 65536;
}

static int64_t Largest(int64_t a, int64_t b)
{
  return a > b ? a : b;
}

/* The real matrix of a complex one: each entry becomes a block a -b, b a */
static void MatrixDouble(Random *r, Matrix *A)
{
  const HrpbInt  first = A->rowptr[0];
  const int64_t  n     = first + 4 * (A->capacity - first);
  Matrix         D     = {.nrows = 2 * A->nrows, .ncols = 2 * A->ncols, .capacity = n, .params = A->params};
  HrpbScalar    *b     = (HrpbScalar *)Block(sizeof(*b) * (size_t)A->capacity);
  HrpbInt        at    = first;

  D.rowptr = (HrpbInt *)Block(sizeof(*D.rowptr) * (size_t)(D.nrows + 1));
  D.colidx = (HrpbInt *)Block(sizeof(*D.colidx) * (size_t)n);
  D.values = (HrpbScalar *)Block(sizeof(*D.values) * (size_t)n);
  for (HrpbInt k = 0; k < first; k++) D.colidx[k] = -7;
  for (HrpbInt k = 0; k < first; k++) D.values[k] = 0;
  for (int64_t k = 0; k < A->capacity; k++) b[k] = (HrpbScalar)(RandomBelow(r, 9) - 4);
  D.rowptr[0] = first;
  for (int64_t i = 0; i < D.nrows; i++) {
    for (HrpbInt k = A->rowptr[i / 2]; k < A->rowptr[i / 2 + 1]; k++) {
      for (HrpbInt c = 0; c < 2; c++) {
        D.colidx[at]   = 2 * A->colidx[k] + c;
        D.values[at++] = i % 2 == c ? A->values[k] : c ? -b[k] : b[k];
      }
    }
    D.rowptr[i + 1] = at;
  }
  free(b);
  free(A->rowptr);
  free(A->colidx);
  free(A->values);
  *A = D;
}

static Matrix MatrixCreate(Random *r)
{
  const int64_t base = RandomOneIn(r, 2) ? 0 : RandomBelow(r, 4), gap = 1 + SmallSize(r), runs = RandomBelow(r, 4), empty = 1 + RandomBelow(r, 6);
  Matrix        A = {.nrows = SmallSize(r), .ncols = SmallSize(r)};
  HrpbInt      *colidx, n = (HrpbInt)base;

  A.params = RandomParams(r);
  A.rowptr = (HrpbInt *)Block(sizeof(*A.rowptr) * (size_t)(A.nrows + 1));
  colidx   = (HrpbInt *)Block(sizeof(*colidx) * (size_t)(base + A.nrows * A.ncols));
  for (HrpbInt k = 0; k < base; k++) colidx[k] = -7; /* nothing may read this */
  for (int64_t i = 0; i < A.nrows; i++) {
    A.rowptr[i] = n;
    if (RandomOneIn(r, empty)) continue;
    for (int64_t j = RandomBelow(r, gap); j < A.ncols; j += 1 + (RandomBelow(r, 4) < runs ? 0 : RandomBelow(r, gap))) colidx[n++] = (HrpbInt)j;
  }
  A.rowptr[A.nrows] = n;
  A.capacity        = n;
  A.colidx          = (HrpbInt *)Block(sizeof(*A.colidx) * (size_t)n);
  memcpy(A.colidx, colidx, sizeof(*A.colidx) * (size_t)n);
  free(colidx);
  A.values = (HrpbScalar *)Block(sizeof(*A.values) * (size_t)n);
  for (HrpbInt k = 0; k < n; k++) A.values[k] = (HrpbScalar)(RandomBelow(r, 9) - 4);
  if (A.params.pairs) MatrixDouble(r, &A);
  else if (RandomOneIn(r, 2)) {
    A.order = (int32_t *)Block(sizeof(*A.order) * (size_t)A.nrows);
    for (int32_t i = 0; i < A.nrows; i++) A.order[i] = i;
    for (int64_t i = A.nrows - 1; i > 0 && !RandomOneIn(r, 200); i--) {
      const int64_t j = RandomBelow(r, i + 1);
      const int32_t t = A.order[i];

      A.order[i] = A.order[j];
      A.order[j] = t;
    }
  }
  return A;
}

static void MatrixDestroy(Matrix *A)
{
  free(A->rowptr);
  free(A->colidx);
  free(A->values);
  free(A->order);
}

/* A number that is wrong in one of the usual ways */
static int64_t WrongNumber(Random *r, int64_t good, int64_t neighbour)
{
  const int64_t wrong[] = {good + 1, good - 1, neighbour, 0, -1, INT32_MAX, INT32_MIN, -good, 2 * good, good ^ 1 << RandomBelow(r, 16)};

  return RandomOneIn(r, 4) ? (int32_t)RandomBits(r) : wrong[RandomBelow(r, sizeof(wrong) / sizeof(*wrong))];
}

/* Spoil something that a caller hands over */
static void MatrixSpoil(Random *r, Matrix *A)
{
  int32_t *const param[] = {&A->params.brick_rows, &A->params.panel_rows, &A->params.block_cols, &A->params.window_cols, &A->params.pairs};
  int32_t       *p       = param[RandomBelow(r, 5)];
  const int64_t  sizes[] = {-1, INT64_MIN, (int64_t)INT32_MAX + 1, INT64_MAX, A->ncols > 0 && A->ncols <= INT32_MAX ? A->ncols - 1 : 0};
  int64_t        k;

  switch (RandomBelow(r, 8)) {
  case 0:
    *p = (int32_t)WrongNumber(r, *p, *param[RandomBelow(r, 5)]);
    break;
  case 1: /* rowptr has room for these rows only */
    A->nrows = sizes[RandomBelow(r, 4)];
    break;
  case 2:
    A->ncols = sizes[RandomBelow(r, 5)];
    break;
  case 3:
    if (!A->order || A->nrows <= 0 || A->nrows > INT32_MAX) break;
    k           = RandomBelow(r, A->nrows);
    A->order[k] = (int32_t)WrongNumber(r, A->order[k], A->order[RandomBelow(r, A->nrows)]);
    break;
  case 4:
  case 5:
    if (A->nrows < 0 || A->nrows > INT32_MAX) break;
    k            = RandomBelow(r, A->nrows + 1);
    A->rowptr[k] = (HrpbInt)WrongNumber(r, A->rowptr[k], A->rowptr[RandomBelow(r, A->nrows + 1)]);
    break;
  default:
    if (!A->capacity) break;
    k            = RandomBelow(r, A->capacity);
    A->colidx[k] = (HrpbInt)WrongNumber(r, A->colidx[k], A->colidx[RandomBelow(r, A->capacity)]);
  }
}

/*
   Whether a matrix is good, by the rules of hrpb.h. usable is false where row pointers that look right lead outside of
   colidx, which no reader can see.
*/
static HrpbError CsrError(const Matrix *A, bool *usable)
{
  *usable = true;
  if (A->nrows < 0 || A->ncols < 0) return HRPB_ERR_CSR;
  if (A->nrows > INT32_MAX || A->ncols > INT32_MAX) return HRPB_ERR_OVERFLOW;
  for (int64_t i = 0; i <= A->nrows; i++) {
    if (A->rowptr[i] < (i ? A->rowptr[i - 1] : 0)) return HRPB_ERR_CSR;
  }
  if (A->rowptr[A->nrows] > A->capacity) {
    *usable = false;
    return HRPB_SUCCESS;
  }
  for (int64_t i = 0; i < A->nrows; i++) {
    for (HrpbInt k = A->rowptr[i]; k < A->rowptr[i + 1]; k++) {
      if (A->colidx[k] < 0 || A->colidx[k] >= A->ncols || (k > A->rowptr[i] && A->colidx[k] <= A->colidx[k - 1])) return HRPB_ERR_CSR;
    }
  }
  return HRPB_SUCCESS;
}

static bool OrderIsGood(const Matrix *A)
{
  for (int64_t i = 0; A->order && i < A->nrows; i++) {
    int64_t found = 0;

    for (int64_t k = 0; k < A->nrows; k++) found += A->order[k] == i;
    if (found != 1) return false;
  }
  return true;
}

/* Whether entries are whole blocks of 2 x 2: each has the other three */
static bool IsOfPairs(const Matrix *A)
{
  if (A->nrows % 2 || A->ncols % 2) return false;
  for (int64_t i = 0; i < A->nrows; i++) {
    for (HrpbInt k = A->rowptr[i]; k < A->rowptr[i + 1]; k++) {
      for (int other = 1; other < 4; other++) {
        const int64_t row   = i ^ other / 2, column = A->colidx[k] ^ other % 2;
        bool          found = false;

        for (HrpbInt l = A->rowptr[row]; l < A->rowptr[row + 1]; l++) found = found || A->colidx[l] == column;
        if (!found) return false;
      }
    }
  }
  return true;
}

static HrpbError Build(const Matrix *A, Hrpb *h)
{
  return HrpbBuildHost(A->nrows, A->ncols, A->rowptr, A->colidx, A->order, &A->params, h);
}

/* Refusals have a message, for a buffer of any length */
static HrpbError Check(Random *r, const Hrpb *h, const Matrix *A, const HrpbScalar *values)
{
  const size_t    lengths[] = {0, 1, 12, 200}, len = lengths[RandomBelow(r, 4)];
  char           *message = (char *)Block(len);
  const HrpbError err     = HrpbCheckHost(h, A->nrows, A->ncols, A->rowptr, A->colidx, values, values ? A->values : NULL, message, len);

  FuzzCheck(!len || memchr(message, 0, len), "the checker's message does not end");
  FuzzCheck(len < 2 || (err == HRPB_SUCCESS) == !message[0], "the checker says %d and \"%s\"", (int)err, message);
  FuzzCheck(err == HRPB_SUCCESS || err == HRPB_ERR_CORRUPT, "the checker says %d", (int)err);
  free(message);
  return err;
}

static void CheckCount(Random *r, const Matrix *A, HrpbError expected)
{
  const int32_t   rows  = RandomOneIn(r, 2) ? 8 : 16;
  int64_t         right = 0, count;
  const HrpbError err   = HrpbCountStripColumns(A->nrows, A->ncols, A->rowptr, A->colidx, rows, &count);
  bool           *used;

  FuzzCheck(err == expected, "counting says %d and should say %d", (int)err, (int)expected);
  if (!err) {
    used = (bool *)Block((size_t)A->ncols);
    for (int64_t i = 0; i < A->nrows; i++) {
      if (i % rows == 0) memset(used, 0, (size_t)A->ncols);
      for (HrpbInt k = A->rowptr[i]; k < A->rowptr[i + 1]; k++) {
        right += !used[A->colidx[k]];
        used[A->colidx[k]] = true;
      }
    }
    free(used);
  }
  FuzzCheck(count == right, "%lld columns are counted of %lld", (long long)count, (long long)right);
}

static void CheckProduct(Random *r, const Hrpb *h, const HrpbScalar *values, const Matrix *A)
{
  const int64_t N = RandomBelow(r, 20), ldb = Largest(1, A->ncols + RandomBelow(r, 3)), ldc = Largest(1, A->nrows + RandomBelow(r, 3));
  const bool    special = RandomOneIn(r, 3);
  HrpbScalar   *B = (HrpbScalar *)Block(sizeof(*B) * (size_t)(ldb * N)), *C = (HrpbScalar *)Block(sizeof(*C) * (size_t)(ldc * N));

  for (int64_t k = 0; k < ldb * N; k++) {
    B[k] = (HrpbScalar)(RandomBelow(r, 17) - 8);
    if (special && RandomOneIn(r, 20)) B[k] = RandomOneIn(r, 2) ? (HrpbScalar)NAN : (HrpbScalar)(RandomOneIn(r, 2) ? INFINITY : -INFINITY);
    if (k % ldb >= A->ncols) B[k] = (HrpbScalar)NAN;
  }
  for (int64_t k = 0; k < ldc * N; k++) C[k] = 12345;
  HrpbMultiplyHost(h, values, N, B, ldb, C, ldc);
  for (int64_t n = 0; n < N; n++) {
    for (int64_t i = 0; i < ldc; i++) {
      const HrpbScalar c   = C[i + n * ldc];
      HrpbScalar       sum = i < A->nrows ? 0 : 12345;

      for (HrpbInt k = i < A->nrows ? A->rowptr[i] : 0; i < A->nrows && k < A->rowptr[i + 1]; k++) sum += A->values[k] * B[A->colidx[k] + n * ldb];
      FuzzCheck(c == sum || (isnan(c) && isnan(sum)), "C(%lld,%lld) is %g and should be %g", (long long)i, (long long)n, (double)c, (double)sum);
    }
  }
  free(B);
  free(C);
}

/*
   A dense matrix of any layout, in memory of its exact size: small integers, and 12345 in places that must not be read
*/
static SpmmOut RandomDense(Random *r, int64_t rows, int64_t N, bool special, int64_t *scalars)
{
  const SpmmLayout layout = RandomOneIn(r, 2) ? SPMM_COLUMN_MAJOR : SPMM_ROW_MAJOR;
  const int64_t    length = layout == SPMM_COLUMN_MAJOR ? rows : N, ld = Largest(1, length + RandomBelow(r, 3));
  SpmmOut          d      = {NULL, ld, layout};

  *scalars = ld * (layout == SPMM_COLUMN_MAJOR ? N : rows);
  d.array  = (HrpbScalar *)Block(sizeof(HrpbScalar) * (size_t)*scalars);
  for (int64_t k = 0; k < *scalars; k++) {
    d.array[k] = k % ld < length ? (HrpbScalar)(RandomBelow(r, 17) - 8) : 12345;
    if (special && RandomOneIn(r, 20)) d.array[k] = RandomOneIn(r, 2) ? (HrpbScalar)NAN : (HrpbScalar)(RandomOneIn(r, 2) ? INFINITY : -INFINITY);
  }
  return d;
}

static HrpbScalar At(SpmmIn d, int64_t i, int64_t n)
{
  return d.layout == SPMM_COLUMN_MAJOR ? d.array[i + n * d.ld] : d.array[i * d.ld + n];
}

/* Entry i, n of Y by the rules of spmm.h; Y0 is what it was before */
static HrpbScalar Expected(const Matrix *A, const SpmmOperands *o, SpmmIn Y0, int64_t i, int64_t n)
{
  const int64_t block = o->D ? o->dblock : 1, first = i / block * block;
  HrpbScalar    y     = 0;

  for (int64_t j = first; j < first + block; j++) {
    HrpbScalar product = 0, d = 1;

    if (!o->D && j != i) continue;
    for (HrpbInt k = A->rowptr[j]; k < A->rowptr[j + 1]; k++) product += A->values[k] * At(o->X, A->colidx[k], n);
    if (o->D) d = o->D[first * block + (i - first) + (j - first) * block];
    if (o->update == SPMM_STEP) y += d * ((o->B.array ? At(o->B, j, n) : 0) - product);
    else y = product;
  }
  if (o->update == SPMM_ADD) y += At(Y0, i, n);
  if (o->update == SPMM_STEP) y = (o->c != 0 ? o->c * y : 0) + (o->b != 0 ? o->b * At(o->X, i, n) : 0) + (o->a != 0 && Y0.array ? o->a * At(Y0, i, n) : 0);
  return y;
}

/* The kernels of the host, with operands of all kinds */
static void CheckOperands(Random *r, const Hrpb *h, const HrpbScalar *values, const Matrix *A)
{
  const int64_t N       = RandomBelow(r, 20);
  const bool    square  = A->nrows == A->ncols, special = RandomOneIn(r, 4);
  SpmmMatrix    M       = {.nrows = A->nrows, .ncols = A->ncols, .rowptr = A->rowptr, .colidx = A->colidx, .values = A->values, .hrpb = h, .brick_values = values};
  SpmmOperands  o       = {.N = N, .update = (SpmmUpdate)RandomBelow(r, square ? 3 : 2), .a = (HrpbScalar)(RandomBelow(r, 5) - 2), .b = (HrpbScalar)(RandomBelow(r, 5) - 2), .c = (HrpbScalar)(RandomBelow(r, 5) - 2)};
  int64_t       size[4] = {0, 0, 0, 0}, nblock = 1 + RandomBelow(r, 6);
  const SpmmOut X = RandomDense(r, A->ncols, N, special, &size[0]), Y = RandomDense(r, A->nrows, N, false, &size[1]), other = RandomDense(r, A->nrows, N, false, &size[2]), B = RandomDense(r, A->nrows, N, false, &size[3]);
  const bool    in_place = RandomOneIn(r, 2);
  HrpbScalar   *before = (HrpbScalar *)Block(sizeof(*before) * (size_t)size[1]), *D = (HrpbScalar *)Block(sizeof(*D) * (size_t)(A->nrows * nblock));
  SpmmIn        Y0;

  for (int64_t k = 0; k < A->nrows * nblock; k++) D[k] = (HrpbScalar)(RandomBelow(r, 5) - 2);
  if (size[1]) memcpy(before, Y.array, sizeof(*before) * (size_t)size[1]);
  o.X = (SpmmIn){X.array, X.ld, X.layout};
  o.Y = Y;
  if (o.update == SPMM_ADD || !RandomOneIn(r, 3)) o.Y0 = in_place ? (SpmmIn){Y.array, Y.ld, Y.layout} : (SpmmIn){other.array, other.ld, other.layout};
  if (!RandomOneIn(r, 3)) o.B = (SpmmIn){B.array, B.ld, B.layout};
  if (o.update == SPMM_STEP && A->nrows % nblock == 0 && !RandomOneIn(r, 3)) {
    o.D      = D;
    o.dblock = (int32_t)nblock;
  }
  Y0 = o.Y0;
  if (in_place && Y0.array) Y0.array = before;
  for (int i = 0; A->nrows && A->ncols && N && SpmmKernelGet(i); i++) { /* arrays without scalars may be the same one */
    const SpmmKernel *kernel = SpmmKernelGet(i);

    if (!kernel->host) continue;
    if (size[1]) memcpy(Y.array, before, sizeof(*before) * (size_t)size[1]);
    FuzzCheck(SpmmRun(kernel, &M, &o, NULL, NULL) == HRPB_SUCCESS, "%s refuses operands", kernel->name);
    for (int64_t k = 0; k < size[1]; k++) {
      const int64_t    line = k / Y.ld, at = k % Y.ld, row = Y.layout == SPMM_COLUMN_MAJOR ? at : line, n = Y.layout == SPMM_COLUMN_MAJOR ? line : at;
      const HrpbScalar y = Y.array[k], right = row < A->nrows && n < N ? Expected(A, &o, Y0, row, n) : 12345;

      FuzzCheck(y == right || (isnan(y) && isnan(right)), "%s: Y(%lld,%lld) is %g and should be %g, update %d", kernel->name, (long long)row, (long long)n, (double)y, (double)right, o.update);
    }
  }
  free(X.array);
  free(Y.array);
  free(other.array);
  free(B.array);
  free(before);
  free(D);
}

/* A format with its values, in memory of exact size */
typedef struct {
  Hrpb        h;
  HrpbScalar *values;
} Format;

static HrpbScalar *Pack(const Hrpb *h, const Matrix *A)
{
  HrpbScalar *values = (HrpbScalar *)Block(sizeof(*values) * HrpbValueCount(h));

  for (size_t k = 0; k < HrpbValueCount(h); k++) values[k] = (HrpbScalar)NAN;
  HrpbPackValuesHost(h, A->rowptr, A->values, values);
  return values;
}

static bool SameArray(const void *a, const void *b, size_t bytes)
{
  return !bytes || (a && b && !memcmp(a, b, bytes));
}

/* Whether two formats agree, apart from their order arrays. order may be NULL for the natural order */
static bool Same(const Format *a, const Format *b)
{
  const Hrpb  *g = &a->h, *h = &b->h;
  const size_t np = sizeof(uint32_t) * ((size_t)h->nblocks + 1);

  return !memcmp(&g->params, &h->params, sizeof(g->params)) && g->nrows == h->nrows && g->ncols == h->ncols && g->nnz == h->nnz && g->npanels == h->npanels && g->nblocks == h->nblocks && g->nbricks == h->nbricks && g->nwindows == h->nwindows && g->nbrick_cols == h->nbrick_cols && g->pattern_bytes == h->pattern_bytes && g->value_count == h->value_count && g->max_pattern == h->max_pattern && g->max_values == h->max_values && SameArray(g->blocked_row_ptr, h->blocked_row_ptr, sizeof(uint32_t) * ((size_t)h->npanels + 1)) && SameArray(g->pattern_ptr, h->pattern_ptr, np) && SameArray(g->value_ptr, h->value_ptr, np) && SameArray(g->window_ptr, h->window_ptr, np) && SameArray(g->windows, h->windows, sizeof(int32_t) * (size_t)h->nwindows) && SameArray(g->pattern, h->pattern, (size_t)h->pattern_bytes) && SameArray(a->values, b->values, sizeof(HrpbScalar) * (size_t)h->value_count);
}

/* A copy of size bytes of an array. Bytes beyond the array are noise */
static void *Copy(Random *r, const void *array, size_t has, size_t size)
{
  uint8_t *copy = size ? (uint8_t *)aligned_alloc(HRPB_PATTERN_UNIT, (size + HRPB_PATTERN_UNIT - 1) / HRPB_PATTERN_UNIT * HRPB_PATTERN_UNIT) : (uint8_t *)Block(1);

  if (size % HRPB_PATTERN_UNIT) { /* only the pattern needs its alignment, the others their exact size */
    free(copy);
    copy = (uint8_t *)Block(size);
  }
  if (array) memcpy(copy, array, has < size ? has : size);
  for (size_t k = has; k < size; k++) copy[k] = RandomOneIn(r, 2) ? 0 : (uint8_t)RandomBits(r);
  return copy;
}

static void FormatDestroy(Format *f)
{
  HrpbDestroy(&f->h);
  free(f->values);
}

/* Number of an item of an array; the last one often */
static int64_t Item(Random *r, int64_t n)
{
  return RandomOneIn(r, 4) ? n - 1 : RandomBelow(r, n);
}

static void SpoilItem32(Random *r, void *array, int64_t n)
{
  int32_t *item = (int32_t *)array;
  int64_t  k;

  if (n <= 0) return;
  k       = Item(r, n);
  item[k] = (int32_t)WrongNumber(r, item[k], item[RandomBelow(r, n)]);
}

static void SpoilBytes(Random *r, void *array, int64_t n)
{
  uint8_t *byte = (uint8_t *)array;
  int64_t  k;

  if (n <= 0) return;
  k = RandomBelow(r, n);
  switch (RandomBelow(r, 3)) {
  case 0:
    byte[k] ^= (uint8_t)(1 << RandomBelow(r, 8));
    break;
  case 1:
    byte[k] = (uint8_t)RandomBits(r);
    break;
  default:
    byte[k] = byte[RandomBelow(r, n)];
  }
}

/*
   A copy that was tampered with. The checker takes the extents of arrays from the numbers of the format, so the copies
   have these extents. Where such a number is absurd, the arrays keep their size and nothing else is touched. The
   checker must not read them then.
*/
static Format Tamper(Random *r, const Format *good)
{
  const Hrpb *g       = &good->h;
  Format      f       = *good;
  Hrpb       *h       = &f.h;
  int64_t     nblocks = h->nblocks, nwindows = h->nwindows, pattern_bytes = h->pattern_bytes, value_count = h->value_count;
  /* which array, and the pointers whose last item is its extent */
  const int   grow   = RandomOneIn(r, 4) ? (int)(1 + RandomBelow(r, 4)) : 0;
  const int   more   = RandomOneIn(r, 2) ? 1 : -1;
  bool        absurd = false;

  if (RandomOneIn(r, 4)) {
    int32_t *const n32[] = {&h->params.brick_rows, &h->params.panel_rows, &h->params.block_cols, &h->params.window_cols, &h->params.pairs, &h->nrows, &h->ncols, &h->npanels, &h->nblocks, (int32_t *)&h->max_pattern, (int32_t *)&h->max_values};
    int64_t *const n64[] = {&h->nnz, &h->nbricks, &h->nwindows, &h->nbrick_cols, &h->pattern_bytes, &h->value_count};
    const int64_t  k     = RandomBelow(r, 17);

    absurd = true;
    if (k < 11) *n32[k] = (int32_t)WrongNumber(r, *n32[k], *n32[RandomBelow(r, 11)]);
    else *n64[k - 11] = WrongNumber(r, *n64[k - 11], *n64[RandomBelow(r, 6)]);
  } else if (grow) {
    if (grow == 1 && nblocks + more >= 0) h->nblocks = (int32_t)(nblocks += more);
    if (grow == 2 && nwindows + more >= 0) h->nwindows = nwindows += more;
    if (grow == 3 && pattern_bytes + more * HRPB_PATTERN_UNIT >= 0) h->pattern_bytes = pattern_bytes += more * HRPB_PATTERN_UNIT;
    if (grow == 4 && value_count + more * HRPB_VALUE_UNIT >= 0) h->value_count = value_count += more * HRPB_VALUE_UNIT;
  }

  {
    const size_t has = sizeof(uint32_t) * ((size_t)g->nblocks + 1), size = sizeof(uint32_t) * ((size_t)nblocks + 1);

    if (h->order) h->order = (int32_t *)Copy(r, g->order, sizeof(int32_t) * (size_t)g->nrows, sizeof(int32_t) * (size_t)g->nrows);
    h->blocked_row_ptr = (uint32_t *)Copy(r, g->blocked_row_ptr, sizeof(uint32_t) * ((size_t)g->npanels + 1), sizeof(uint32_t) * ((size_t)g->npanels + 1));
    h->pattern_ptr     = (uint32_t *)Copy(r, g->pattern_ptr, has, size);
    h->value_ptr       = (uint32_t *)Copy(r, g->value_ptr, has, size);
    h->window_ptr      = (uint32_t *)Copy(r, g->window_ptr, has, size);
    h->windows         = (int32_t *)Copy(r, g->windows, sizeof(int32_t) * (size_t)g->nwindows, sizeof(int32_t) * (size_t)nwindows);
    h->pattern         = (uint8_t *)Copy(r, g->pattern, (size_t)g->pattern_bytes, (size_t)pattern_bytes);
    f.values           = (HrpbScalar *)Copy(r, good->values, sizeof(HrpbScalar) * (size_t)g->value_count, sizeof(HrpbScalar) * (size_t)value_count);
  }
  if (absurd) return f;
  if (grow) { /* checked as if it were right */
    h->blocked_row_ptr[h->npanels] = (uint32_t)nblocks;
    h->window_ptr[nblocks]         = (uint32_t)nwindows;
    h->pattern_ptr[nblocks]        = (uint32_t)(pattern_bytes / HRPB_PATTERN_UNIT);
    h->value_ptr[nblocks]          = (uint32_t)(value_count / HRPB_VALUE_UNIT);
  }
  for (int64_t n = RandomBelow(r, 4); n > 0; n--) {
    switch (RandomBelow(r, 12)) {
    case 0:
      SpoilItem32(r, h->blocked_row_ptr, h->npanels + 1);
      break;
    case 1:
      SpoilItem32(r, h->pattern_ptr, nblocks + 1);
      break;
    case 2:
      SpoilItem32(r, h->value_ptr, nblocks + 1);
      break;
    case 3:
      SpoilItem32(r, h->window_ptr, nblocks + 1);
      break;
    case 4:
      SpoilItem32(r, h->windows, nwindows);
      break;
    case 5:
      SpoilItem32(r, h->order, h->order ? h->nrows : 0);
      break;
    case 6:
      SpoilBytes(r, f.values, (int64_t)sizeof(*f.values) * value_count);
      break;
    case 7: /* words of a header */
      if (nblocks > 0 && h->pattern_ptr[RandomBelow(r, nblocks)] < pattern_bytes / HRPB_PATTERN_UNIT) {
        const uint32_t unit = h->pattern_ptr[RandomBelow(r, nblocks)];

        if (unit < pattern_bytes / HRPB_PATTERN_UNIT) SpoilItem32(r, h->pattern + (size_t)unit * HRPB_PATTERN_UNIT, 4);
      }
      break;
    default:
      SpoilBytes(r, h->pattern, pattern_bytes);
    }
  }
  if (RandomOneIn(r, 40)) {
    void **const arrays[] = {(void **)&h->order, (void **)&h->blocked_row_ptr, (void **)&h->pattern_ptr, (void **)&h->value_ptr, (void **)&h->window_ptr, (void **)&h->windows, (void **)&h->pattern};
    void **const a        = arrays[RandomBelow(r, 7)];

    free(*a);
    *a = NULL;
  }
  return f;
}

/* Must be refused, unless it is the format that its own parameters and order lead to */
static void CheckTampered(Random *r, const Format *good, const Matrix *A)
{
  Format          f    = Tamper(r, good);
  const bool      same = Same(&f, good) && SameArray(f.h.order, good->h.order, good->h.order ? sizeof(int32_t) * (size_t)A->nrows : 0) && !f.h.order == !good->h.order;
  const HrpbError err  = Check(r, &f.h, A, f.values);

  if (same) FuzzCheck(!err, "a good format is refused");
  else if (!err) {
    Matrix B = *A;
    Format own;

    B.params = f.h.params;
    B.order  = f.h.order;
    FuzzCheck(!Build(&B, &own.h), "the checker accepts a format that cannot be built");
    own.values = Pack(&own.h, &B);
    FuzzCheck(Same(&f, &own), "the checker accepts a format that the builder does not make");
    FormatDestroy(&own);
  }
  FormatDestroy(&f);
}

static void One(Random *r)
{
  Matrix    A = MatrixCreate(r);
  Format    f;
  HrpbError err;
  bool      usable;

  FuzzCheck(!Build(&A, &f.h), "a good matrix is refused");
  FuzzCheck(Check(r, &f.h, &A, NULL) == HRPB_SUCCESS, "a good pattern is refused");
  f.values = Pack(&f.h, &A);
  FuzzCheck(Check(r, &f.h, &A, f.values) == HRPB_SUCCESS, "a good format is refused");
  CheckProduct(r, &f.h, f.values, &A);
  CheckOperands(r, &f.h, f.values, &A);
  CheckCount(r, &A, HRPB_SUCCESS);
  for (int n = 0; n < 6; n++) CheckTampered(r, &f, &A);

  for (int64_t n = 1 + RandomBelow(r, 3); n > 0; n--) MatrixSpoil(r, &A);
  err = CsrError(&A, &usable);
  if (usable) {
    HrpbError expected = !ParamsAreGood(&A.params)                                ? HRPB_ERR_PARAMETER
                         : err                                                    ? err
                         : A.params.pairs && A.order                              ? HRPB_ERR_ORDER
                         : !OrderIsGood(&A)                                       ? HRPB_ERR_ORDER
                         : A.params.pairs && !IsOfPairs(&A)                       ? HRPB_ERR_CSR
                                                                                  : HRPB_SUCCESS;
    HrpbError found;
    Hrpb      h, zero;

    CheckCount(r, &A, err);
    if (err) FuzzCheck(Check(r, &f.h, &A, f.values) == HRPB_ERR_CORRUPT, "the checker accepts a bad matrix");
    memset(&h, 0xff, sizeof(h));
    memset(&zero, 0, sizeof(zero));
    found = Build(&A, &h);
    FuzzCheck(found == expected, "the builder says %d and should say %d", (int)found, (int)expected);
    if (found) FuzzCheck(!memcmp(&h, &zero, sizeof(h)), "the builder leaves something behind");
    else FuzzCheck(Check(r, &h, &A, NULL) == HRPB_SUCCESS, "a good pattern is refused");
    HrpbDestroy(&h);
  }
  FormatDestroy(&f);
  MatrixDestroy(&A);
}

int main(int argc, char **argv)
{
  return FuzzRun(argc, argv, "hrpb", One, NULL, false);
}
