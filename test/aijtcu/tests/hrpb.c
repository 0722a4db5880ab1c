static char help[] = "Tests the HRPB format on the host: builder, checker, packing, product and column counts, without a matrix object.\n\n";

#include <petscsys.h>
#include <format/hrpb.h>

_Static_assert(sizeof(HrpbInt) == sizeof(PetscInt), "the kernels are built for another size of PetscInt: see HRPB_USE_INT64");
_Static_assert(sizeof(HrpbScalar) == sizeof(PetscReal), "the kernels are built for another precision: see HRPB_USE_SINGLE");

typedef struct {
  PetscInt   nrows, ncols;
  PetscInt  *rowptr, *colidx;
  PetscReal *values;
} CSR;

/* Reproducible noise in [0,n) */
static PetscInt Noise(PetscInt i, PetscInt j, PetscInt n)
{
  PetscInt64 x = (1000003 * (PetscInt64)i + 7919 * (PetscInt64)j) % 2147483647;

  x = (x * 1103515245 + 12345) % 2147483647;
  x = (x * 69621) % 2147483647;
  return (PetscInt)(x / 1000 % n);
}

static PetscBool Tridiagonal(PetscInt i, PetscInt j)
{
  return (PetscBool)(PetscAbs(i - j) <= 1);
}

static PetscBool Diagonal(PetscInt i, PetscInt j)
{
  return (PetscBool)(i == j);
}

static PetscBool Random(PetscInt i, PetscInt j)
{
  return (PetscBool)(Noise(i, j, 25) == 0);
}

static PetscBool Dense(PETSC_UNUSED PetscInt i, PETSC_UNUSED PetscInt j)
{
  return PETSC_TRUE;
}

static PetscBool Nothing(PETSC_UNUSED PetscInt i, PETSC_UNUSED PetscInt j)
{
  return PETSC_FALSE;
}

static PetscBool DenseRows(PetscInt i, PetscInt j)
{
  return (PetscBool)(i % 17 == 3 || Noise(i, j, 50) == 0);
}

static PetscBool OneEntryRows(PetscInt i, PetscInt j)
{
  return (PetscBool)(j == i * 37 % 90);
}

static PetscBool FewRows(PetscInt i, PetscInt j)
{
  return (PetscBool)((i < 3 || i % 150 == 7) && Noise(i, j, 3) == 0);
}

static PetscBool MostRows(PetscInt i, PetscInt j)
{
  return (PetscBool)((i + j) % 4 != 1);
}

static PetscBool OneBrick(PetscInt i, PetscInt j)
{
  return (PetscBool)(i >= 8 && i < 16 && j >= 20 && j < 24 && (i + j) % 3);
}

static PetscBool AlternatingPanels(PetscInt i, PetscInt j)
{
  return (PetscBool)(i / 128 % 2 == 1 && Noise(i, j, 10) == 0);
}

static PetscBool LongRow(PetscInt i, PetscInt j)
{
  return (PetscBool)(i == 1 || Noise(i, j, 10000) == 0);
}

/* 27-point stencil on 6 x 5 x 4 nodes of 3 unknowns */
static PetscBool Stencil(PetscInt i, PetscInt j)
{
  const PetscInt a = i / 3, b = j / 3;

  return (PetscBool)(PetscAbs(a % 6 - b % 6) <= 1 && PetscAbs(a / 6 % 5 - b / 6 % 5) <= 1 && PetscAbs(a / 30 - b / 30) <= 1);
}

typedef struct {
  const char *name;
  PetscInt    nrows, ncols;
  PetscBool (*has)(PetscInt, PetscInt);
} Pattern;

static const Pattern patterns[] = {
    {"tridiagonal", 137, 137, Tridiagonal},
    {"diagonal", 256, 256, Diagonal},
    {"random", 200, 150, Random},
    {"random wide", 60, 1500, Random},
    {"random tall", 1500, 60, Random},
    {"dense rows", 70, 300, DenseRows},
    {"dense brick", 16, 4, Dense},
    {"dense", 260, 300, Dense},
    {"one entry a row", 100, 90, OneEntryRows},
    {"empty rows and panels", 500, 80, FewRows},
    {"alternating empty panels", 700, 200, AlternatingPanels},
    {"single column", 300, 1, MostRows},
    {"single row", 1, 700, MostRows},
    {"one brick", 40, 50, OneBrick},
    {"stencil", 360, 360, Stencil},
    {"long row", 3, 100003, LongRow},
    {"no entries", 30, 30, Nothing},
    {"no rows", 0, 50, Nothing},
    {"no columns", 50, 0, Nothing}};

/* Nonzero, so that row pointers do not begin with zero */
static const PetscInt base = 7;

static PetscErrorCode CSRCreate(const Pattern *p, PetscRandom random, CSR *A)
{
  PetscInt nnz = base;

  PetscFunctionBegin;
  A->nrows = p->nrows;
  A->ncols = p->ncols;
  PetscCall(PetscMalloc1(p->nrows + 1, &A->rowptr));
  for (PetscInt i = 0; i < p->nrows; i++) {
    A->rowptr[i] = nnz;
    for (PetscInt j = 0; j < p->ncols; j++) nnz += p->has(i, j) ? 1 : 0;
  }
  A->rowptr[p->nrows] = nnz;
  PetscCall(PetscMalloc2(nnz, &A->colidx, nnz, &A->values));
  for (PetscInt k = 0; k < base; k++) A->colidx[k] = -1; /* before the first row: nothing may read these */
  for (PetscInt i = 0, k = base; i < p->nrows; i++) {
    for (PetscInt j = 0; j < p->ncols; j++) {
      if (p->has(i, j)) A->colidx[k++] = j;
    }
  }
  PetscCall(PetscRandomGetValuesReal(random, nnz, A->values));
  for (PetscInt k = base; k < nnz; k += 13) A->values[k] = 0; /* stored zeros are entries */
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode CSRDestroy(CSR *A)
{
  PetscFunctionBegin;
  PetscCall(PetscFree(A->rowptr));
  PetscCall(PetscFree2(A->colidx, A->values));
  PetscFunctionReturn(PETSC_SUCCESS);
}

typedef enum {
  ORDER_NATURAL,
  ORDER_REVERSED,
  ORDER_RANDOM
} Order;
static const char *const orders[] = {"natural", "reversed", "random"};

static PetscErrorCode FillOrder(Order which, PetscRandom random, PetscInt n, int32_t *order)
{
  PetscFunctionBegin;
  for (PetscInt i = 0; i < n; i++) order[i] = (int32_t)(which == ORDER_REVERSED ? n - 1 - i : i);
  if (which != ORDER_RANDOM) PetscFunctionReturn(PETSC_SUCCESS);
  for (PetscInt i = n - 1; i > 0; i--) {
    PetscReal     r;
    PetscInt      j;
    const int32_t row = order[i];

    PetscCall(PetscRandomGetValueReal(random, &r));
    j        = PetscMin(i, (PetscInt)(PetscAbsReal(r) * (i + 1)));
    order[i] = order[j];
    order[j] = row;
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Compare the product with a CSR loop in long double. Entries of C that are not of the product must stay NaN */
static PetscErrorCode CheckProduct(const CSR *A, const Hrpb *h, const HrpbScalar *values, PetscInt N, PetscBool special, PetscRandom random, const char *what)
{
  const PetscReal nan = (PetscReal)NAN;
  const PetscInt  ldb = A->ncols + 3, ldc = A->nrows + 5;
  PetscReal      *B, *C;

  PetscFunctionBegin;
  PetscCall(PetscMalloc2(ldb * N, &B, ldc * N, &C));
  PetscCall(PetscRandomGetValuesReal(random, ldb * N, B));
  for (PetscInt n = 0; n < N; n++) {
    if (special) {
      for (PetscInt j = Noise(n, 0, 5); j < A->ncols; j += 11 + Noise(n, j, 30)) B[j + n * ldb] = j % 3 ? (j % 2 ? nan : (PetscReal)INFINITY) : -(PetscReal)INFINITY;
    }
    for (PetscInt j = A->ncols; j < ldb; j++) B[j + n * ldb] = nan;
  }
  for (PetscInt k = 0; k < ldc * N; k++) C[k] = nan;

  HrpbMultiplyHost(h, values, N, B, ldb, C, ldc);

  for (PetscInt n = 0; n < N; n++) {
    for (PetscInt i = 0; i < A->nrows; i++) {
      const PetscReal c   = C[i + n * ldc];
      long double     sum = 0, size = 0;
      PetscBool       right;

      for (PetscInt k = A->rowptr[i]; k < A->rowptr[i + 1] && !isnan(sum); k++) {
        const long double term = (long double)A->values[k] * B[A->colidx[k] + n * ldb];

        sum += term;
        size += term < 0 ? -term : term;
      }
      if (isnan(sum)) right = (PetscBool)isnan(c);
      else if (isinf(sum)) right = (PetscBool)((long double)c == sum);
      else right = (PetscBool)(fabsl(c - sum) <= PETSC_MACHINE_EPSILON * (A->rowptr[i + 1] - A->rowptr[i]) * size);
      if (!right) PetscCall(PetscPrintf(PETSC_COMM_SELF, "%s: C(%" PetscInt_FMT ",%" PetscInt_FMT ") of %" PetscInt_FMT " columns is %g and should be %g\n", what, i, n, N, (double)c, (double)sum));
    }
    for (PetscInt i = A->nrows; i < ldc; i++) {
      if (!isnan(C[i + n * ldc])) PetscCall(PetscPrintf(PETSC_COMM_SELF, "%s: C was written outside of the product, at row %" PetscInt_FMT " of %" PetscInt_FMT "\n", what, i, A->nrows));
    }
  }
  PetscCall(PetscFree2(B, C));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* The expected numbers of a format */
typedef struct {
  PetscInt64 nblocks, nbricks, nwindows, nbrick_cols, pattern, max_pattern, values, max_values;
} Counts;

/* How far the entries of a row reach from its diagonal where they have no gaps; -1 for other patterns */
static PetscInt Reach(const Pattern *p)
{
  return p->has == Diagonal ? 0 : p->has == Tridiagonal ? 1 : p->has == Dense ? PetscMax(p->nrows, p->ncols) : -1;
}

/* For such a pattern: the columns, from first to before end, in which rows row0 to before row1 have entries */
static PetscInt ColumnsOfRows(const Pattern *p, PetscInt row0, PetscInt row1, PetscInt first, PetscInt end)
{
  return PetscMax(0, PetscMin(end, PetscMin(p->ncols, row1 + Reach(p))) - PetscMax(first, PetscMax(0, row0 - Reach(p))));
}

/* 16-byte units of a pattern run, counted independently of hrpb.h */
static PetscInt64 PatternUnits(const HrpbParams *params, PetscInt nbricks)
{
  return 1 + (2 * (params->panel_rows / params->brick_rows + 1) + 15) / 16 + nbricks;
}

/* Add a block: rows row0 to before row1, columns first to before end */
static void CountBlock(const Pattern *p, const HrpbParams *params, PetscInt row0, PetscInt row1, PetscInt first, PetscInt end, Counts *counts)
{
  PetscInt   nbricks = 0;
  PetscInt64 pattern, values = 0;

  for (PetscInt i = row0; i < row1; i += params->brick_rows) nbricks += (ColumnsOfRows(p, i, PetscMin(i + params->brick_rows, row1), first, end) + 3) / 4;
  for (PetscInt i = row0; i < row1; i++) values += ColumnsOfRows(p, i, i + 1, first, end);
  pattern = PatternUnits(params, nbricks);
  values  = (values + 3) / 4;
  counts->nblocks++;
  counts->nbricks += nbricks;
  counts->nbrick_cols += (ColumnsOfRows(p, row0, row1, first, end) + 3) / 4;
  counts->pattern += pattern;
  counts->max_pattern = PetscMax(counts->max_pattern, pattern);
  counts->values += values;
  counts->max_values = PetscMax(counts->max_values, values);
}

/* For the natural order. The rows of a panel cover an interval of columns, so its windows have no gaps either */
static PetscErrorCode CheckCounts(const Pattern *p, const Hrpb *h, const char *what)
{
  const PetscInt tm = h->params.panel_rows, tk = h->params.block_cols, tw = h->params.window_cols;
  const PetscInt brick_windows = tw < 4 ? 4 / tw : 1; /* windows of four columns that start at a multiple of four */
  Counts         right         = {0};

  PetscFunctionBegin;
  if (Reach(p) >= 0) {
    for (PetscInt row0 = 0; row0 < p->nrows; row0 += tm) {
      const PetscInt row1  = PetscMin(row0 + tm, p->nrows);
      const PetscInt first = PetscMax(0, row0 - Reach(p)) / tw, end = (PetscMin(p->ncols, row1 + Reach(p)) + tw - 1) / tw;

      right.nwindows += end - first;
      for (PetscInt window = first; window < end; window += tk / tw) CountBlock(p, &h->params, row0, row1, window * tw, window * tw + tk, &right);
    }
  } else if (p->has == OneBrick) right = (Counts){1, 1, brick_windows, 1, PatternUnits(&h->params, 1), PatternUnits(&h->params, 1), 6, 6};
  else if (p->has != Nothing) PetscFunctionReturn(PETSC_SUCCESS);
#define Compare(name, found, expected) \
  do { \
    if ((PetscInt64)(found) != (expected)) PetscCall(PetscPrintf(PETSC_COMM_SELF, "%s: %s is %" PetscInt64_FMT " and should be %" PetscInt64_FMT "\n", what, name, (PetscInt64)(found), (PetscInt64)(expected))); \
  } while (0)
  Compare("nblocks", h->nblocks, right.nblocks);
  Compare("nbricks", h->nbricks, right.nbricks);
  Compare("nwindows", h->nwindows, right.nwindows);
  Compare("nbrick_cols", h->nbrick_cols, right.nbrick_cols);
  Compare("pattern_bytes", h->pattern_bytes, 16 * right.pattern);
  Compare("max_pattern", h->max_pattern, right.max_pattern);
  Compare("value_count", HrpbValueCount(h), 4 * right.values);
  Compare("max_values", h->max_values, right.max_values);
  /*
     One block of one brick. It has two numbers in each of four pointer arrays, its windows, and three pattern units:
     header, strip starts, brick.
  */
  if (p->has == Dense && p->nrows == 16 && h->params.brick_rows == 16 && tm == 16) Compare("HrpbBytes()", HrpbBytes(h), 4 * 8 + 4 * brick_windows + 48);
#undef Compare
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode CheckFormat(const CSR *A, const Hrpb *h, const HrpbScalar *values, const char *what)
{
  char message[256];

  PetscFunctionBegin;
  if (HrpbCheckHost(h, A->nrows, A->ncols, A->rowptr, A->colidx, values, A->values, message, sizeof(message))) PetscCall(PetscPrintf(PETSC_COMM_SELF, "%s: %s\n", what, message));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode TestOrder(const Pattern *p, CSR *A, const HrpbParams *params, Order which, PetscRandom random)
{
  const PetscInt N[] = {1, 8, 21};
  Hrpb           h;
  HrpbScalar    *values;
  HrpbError      err;
  int32_t       *order;
  char           what[256];

  PetscFunctionBegin;
  PetscCall(PetscSNPrintf(what, sizeof(what), "%s, %s order, bricks of %d rows, panels of %d, blocks of %d, windows of %d", p->name, orders[which], (int)params->brick_rows, (int)params->panel_rows, (int)params->block_cols, (int)params->window_cols));
  PetscCall(PetscMalloc1(A->nrows, &order));
  PetscCall(FillOrder(which, random, A->nrows, order));
  err = HrpbBuildHost(A->nrows, A->ncols, A->rowptr, A->colidx, which == ORDER_NATURAL ? NULL : order, params, &h);
  PetscCheck(!err, PETSC_COMM_SELF, PETSC_ERR_PLIB, "%s: HrpbBuildHost(): %s", what, HrpbErrorString(err));
  PetscCall(PetscFree(order));
  PetscCall(CheckFormat(A, &h, NULL, what));
  if (which == ORDER_NATURAL) PetscCall(CheckCounts(p, &h, what));

  PetscCall(PetscMalloc1(HrpbValueCount(&h), &values));
  for (size_t k = 0; k < HrpbValueCount(&h); k++) values[k] = (HrpbScalar)NAN;
  HrpbPackValuesHost(&h, A->rowptr, A->values, values);
  PetscCall(CheckFormat(A, &h, values, what));
  for (size_t k = 0; k < PETSC_STATIC_ARRAY_LENGTH(N); k++) {
    if (N[k] * A->ncols > 300000) continue; /* the long row tests length, not N */
    if (params->window_cols > 1) continue;  /* the long row tests length, and N does not affect windows: the product below is enough */
    PetscCall(CheckProduct(A, &h, values, N[k], PETSC_FALSE, random, what));
  }
  PetscCall(CheckProduct(A, &h, values, 3, PETSC_TRUE, random, what));

  PetscCall(PetscRandomGetValuesReal(random, A->rowptr[A->nrows], A->values));
  HrpbPackValuesHost(&h, A->rowptr, A->values, values);
  PetscCall(CheckFormat(A, &h, values, what));
  PetscCall(CheckProduct(A, &h, values, 1, PETSC_FALSE, random, what));

  PetscCall(PetscFree(values));
  HrpbDestroy(&h);
  if (HrpbBytes(&h) || HrpbValueCount(&h)) PetscCall(PetscPrintf(PETSC_COMM_SELF, "%s: something is left after HrpbDestroy()\n", what));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode TestStripColumns(const Pattern *p, const CSR *A, PetscInt brick_rows)
{
  PetscInt64 expected = 0;
  int64_t    count;
  HrpbError  err;

  PetscFunctionBegin;
  for (PetscInt first = 0; first < p->nrows; first += brick_rows) {
    for (PetscInt j = 0; j < p->ncols; j++) {
      PetscBool active = PETSC_FALSE;

      for (PetscInt i = first; i < PetscMin(first + brick_rows, p->nrows) && !active; i++) active = p->has(i, j);
      expected += active ? 1 : 0;
    }
  }
  err = HrpbCountStripColumns(A->nrows, A->ncols, A->rowptr, A->colidx, (int32_t)brick_rows, &count);
  PetscCheck(!err, PETSC_COMM_SELF, PETSC_ERR_PLIB, "%s: HrpbCountStripColumns(): %s", p->name, HrpbErrorString(err));
  if (count != expected) PetscCall(PetscPrintf(PETSC_COMM_SELF, "%s: strips of %" PetscInt_FMT " rows have %" PetscInt64_FMT " active columns and should have %" PetscInt64_FMT "\n", p->name, brick_rows, (PetscInt64)count, expected));
  PetscFunctionReturn(PETSC_SUCCESS);
}

int main(int argc, char **argv)
{
  PetscInt    brick_rows = 8, panel_rows = 64, block_cols = 64;
  PetscRandom random;
  HrpbParams  params = {0};

  PetscFunctionBeginUser;
  PetscCall(PetscInitialize(&argc, &argv, NULL, help));
  PetscCall(PetscOptionsGetInt(NULL, NULL, "-brick_rows", &brick_rows, NULL));
  PetscCall(PetscOptionsGetInt(NULL, NULL, "-panel_rows", &panel_rows, NULL));
  PetscCall(PetscOptionsGetInt(NULL, NULL, "-block_cols", &block_cols, NULL));
  params.brick_rows = (int32_t)brick_rows;
  params.panel_rows = (int32_t)panel_rows;
  params.block_cols = (int32_t)block_cols;
  PetscCall(PetscRandomCreate(PETSC_COMM_SELF, &random));
  PetscCall(PetscRandomSetInterval(random, -1.0, 1.0));
  for (size_t k = 0; k < PETSC_STATIC_ARRAY_LENGTH(patterns); k++) {
    CSR A;

    PetscCall(CSRCreate(&patterns[k], random, &A));
    PetscCall(TestStripColumns(&patterns[k], &A, brick_rows));
    for (params.window_cols = 1; params.window_cols <= HRPB_MAX_WINDOW && params.block_cols % params.window_cols == 0; params.window_cols *= 2) {
      for (Order which = ORDER_NATURAL; which <= ORDER_RANDOM; which++) PetscCall(TestOrder(&patterns[k], &A, &params, which, random));
    }
    PetscCall(CSRDestroy(&A));
  }
  PetscCall(PetscRandomDestroy(&random));
  PetscCall(PetscFinalize());
  return 0;
}

/*TEST

  test:
    suffix: 1
    args: -brick_rows 8 -panel_rows {{8 16 64 128}} -block_cols {{4 16 32 64 256}}

  test:
    suffix: 2
    args: -brick_rows 16 -panel_rows {{16 64 128}} -block_cols {{4 16 32 64 256}}

  # as many slots as a block may have
  test:
    suffix: 3
    args: -brick_rows {{8 16}} -panel_rows 256 -block_cols 256

  test:
    suffix: 4
    args: -brick_rows {{8 16}} -panel_rows 1024 -block_cols 64

TEST*/
