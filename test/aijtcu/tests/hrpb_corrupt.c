static char help[] = "Tests that the checker of the HRPB format finds every corruption, and that builder and counter refuse what they must.\n\n";

#include <petscsys.h>
#include <format/hrpb.h>
#include <format/totals.h>

_Static_assert(sizeof(HrpbInt) == sizeof(PetscInt), "the kernels are built for another size of PetscInt: see HRPB_USE_INT64");
_Static_assert(sizeof(HrpbScalar) == sizeof(PetscReal), "the kernels are built for another precision: see HRPB_USE_SINGLE");

enum {
  NROWS = 40,
  NCOLS = 45
};

/*
   Rows with consecutive columns, gaps, padded bricks, an empty row, several blocks a panel, and a panel without
   entries (rows 16 to 31 in natural order).
*/
static PetscBool HasEntry(PetscInt i, PetscInt j)
{
  return (PetscBool)((i < 16 || i >= 32) && i != 5 && (PetscAbs(i - j) <= 2 || (i * 7 + j * 5) % 13 == 0));
}

typedef struct {
  HrpbInt     rowptr[NROWS + 1], colidx[NROWS * NCOLS];
  HrpbScalar  csr_values[NROWS * NCOLS];
  Hrpb        h;
  HrpbScalar *values;
  const char *name;
} Good;

static PetscErrorCode GoodCreate(const HrpbParams *params, const int32_t *order, const char *name, Good *g)
{
  HrpbError err;
  HrpbInt   nnz = 0;

  PetscFunctionBegin;
  for (PetscInt i = 0; i < NROWS; i++) {
    g->rowptr[i] = nnz;
    for (PetscInt j = 0; j < NCOLS; j++) {
      if (!HasEntry(i, j)) continue;
      g->csr_values[nnz] = 1 + i + (HrpbScalar)0.01 * j;
      g->colidx[nnz++]   = j;
    }
  }
  g->rowptr[NROWS] = nnz;
  g->csr_values[0] = (HrpbScalar)NAN; /* equals itself */
  g->name          = name;
  err              = HrpbBuildHost(NROWS, NCOLS, g->rowptr, g->colidx, order, params, &g->h);
  PetscCheck(!err, PETSC_COMM_SELF, PETSC_ERR_PLIB, "%s: HrpbBuildHost(): %s", name, HrpbErrorString(err));
  PetscCall(PetscMalloc1(HrpbValueCount(&g->h), &g->values));
  HrpbPackValuesHost(&g->h, g->rowptr, g->csr_values, g->values);
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode GoodDestroy(Good *g)
{
  PetscFunctionBegin;
  PetscCall(PetscFree(g->values));
  HrpbDestroy(&g->h);
  PetscFunctionReturn(PETSC_SUCCESS);
}

static HrpbError Check(const Good *g, char *message, size_t len)
{
  return HrpbCheckHost(&g->h, NROWS, NCOLS, g->rowptr, g->colidx, g->values, g->csr_values, message, len);
}

static PetscErrorCode ExpectGood(const Good *g)
{
  char message[256] = "";

  PetscFunctionBegin;
  if (Check(g, message, sizeof(message))) PetscCall(PetscPrintf(PETSC_COMM_SELF, "%s: %s\n", g->name, message));
  if (message[0]) PetscCall(PetscPrintf(PETSC_COMM_SELF, "%s: a message without an error: %s\n", g->name, message));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode ExpectCorrupt(const Good *g, const char *what, size_t index)
{
  char            message[256];
  const HrpbError err = Check(g, message, sizeof(message));

  PetscFunctionBegin;
  if (err != HRPB_ERR_CORRUPT) PetscCall(PetscPrintf(PETSC_COMM_SELF, "%s: corrupt %s, item %" PetscInt64_FMT ": the checker says \"%s\"\n", g->name, what, (PetscInt64)index, HrpbErrorString(err)));
  else if (strlen(message) < 10) PetscCall(PetscPrintf(PETSC_COMM_SELF, "%s: corrupt %s, item %" PetscInt64_FMT ": found without a message\n", g->name, what, (PetscInt64)index));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Change each byte of an array in turn: flip one bit, then all bits */
static PetscErrorCode CorruptBytes(const Good *g, const char *what, void *array, size_t nbytes)
{
  const uint8_t turns[] = {0x01, 0x10, 0x80, 0xff};
  uint8_t      *byte    = (uint8_t *)array;

  PetscFunctionBegin;
  for (size_t k = 0; k < nbytes; k++) {
    for (size_t t = 0; t < PETSC_STATIC_ARRAY_LENGTH(turns); t++) {
      byte[k] ^= turns[t];
      PetscCall(ExpectCorrupt(g, what, k));
      byte[k] ^= turns[t];
    }
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Change each item in turn: one more, one less, negative, largest, zero, and equal to its neighbours */
#define CorruptItems(g, array, n, top) \
  do { \
    for (int64_t k_ = 0; k_ < (int64_t)(n); k_++) { \
      const int64_t good_  = (int64_t)(array)[k_]; \
      const int64_t bad_[] = {good_ + 1, good_ - 1, -1, top, 0, k_ ? (int64_t)(array)[k_ - 1] : good_, k_ + 1 < (int64_t)(n) ? (int64_t)(array)[k_ + 1] : good_}; \
\
      for (size_t t_ = 0; t_ < PETSC_STATIC_ARRAY_LENGTH(bad_); t_++) { \
        if (bad_[t_] == good_) continue; \
        *(&(array)[k_]) = bad_[t_]; \
        if ((int64_t)(array)[k_] != good_) PetscCall(ExpectCorrupt(g, #array, (size_t)k_)); \
        (array)[k_] = good_; \
      } \
    } \
  } while (0)

#define CorruptNumber(g, field) CorruptItems(g, &(field), 1, INT32_MAX)

#define CorruptPointer(g, field) \
  do { \
    void *good_ = (void *)(field); \
\
    (field) = NULL; \
    PetscCall(ExpectCorrupt(g, #field " (NULL)", 0)); \
    (field) = good_; \
  } while (0)

static PetscErrorCode TestFields(Good *g)
{
  Hrpb *h = &g->h;

  PetscFunctionBegin;
  CorruptNumber(g, h->params.brick_rows);
  CorruptNumber(g, h->params.panel_rows);
  CorruptNumber(g, h->params.block_cols);
  CorruptNumber(g, h->params.window_cols);
  h->params.brick_rows = h->params.brick_rows == 8 ? 16 : 8;
  PetscCall(ExpectCorrupt(g, "brick_rows (other)", 0));
  h->params.brick_rows = h->params.brick_rows == 8 ? 16 : 8;
  h->params.panel_rows *= 2;
  PetscCall(ExpectCorrupt(g, "panel_rows (doubled)", 0));
  h->params.panel_rows /= 2;
  h->params.block_cols *= 2; /* a multiple of the window columns again */
  PetscCall(ExpectCorrupt(g, "block_cols (doubled)", 0));
  h->params.block_cols /= 2;
  for (int32_t tw = 1; tw <= HRPB_MAX_WINDOW; tw *= 2) {
    const int32_t good = h->params.window_cols;

    h->params.window_cols = tw;
    if (tw != good) PetscCall(ExpectCorrupt(g, "window_cols (other)", (size_t)tw));
    h->params.window_cols = good;
  }

  CorruptNumber(g, h->nrows);
  CorruptNumber(g, h->ncols);
  CorruptNumber(g, h->nnz);
  CorruptNumber(g, h->npanels);
  CorruptNumber(g, h->nblocks);
  CorruptNumber(g, h->nbricks);
  CorruptNumber(g, h->nwindows);
  CorruptNumber(g, h->nbrick_cols);
  CorruptNumber(g, h->pattern_bytes);
  CorruptNumber(g, h->value_count);
  CorruptNumber(g, h->max_pattern);
  CorruptNumber(g, h->max_values);

  CorruptPointer(g, h->blocked_row_ptr);
  CorruptPointer(g, h->pattern_ptr);
  CorruptPointer(g, h->value_ptr);
  CorruptPointer(g, h->window_ptr);
  CorruptPointer(g, h->windows);
  CorruptPointer(g, h->pattern);
  if (h->order) CorruptPointer(g, h->order);
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode TestArrays(Good *g)
{
  Hrpb        *h       = &g->h;
  const size_t nblocks = (size_t)h->nblocks, nbytes = (size_t)h->pattern_bytes;
  uint8_t     *good = h->pattern, *shifted;

  PetscFunctionBegin;
  CorruptItems(g, h->blocked_row_ptr, h->npanels + 1, UINT32_MAX);
  CorruptItems(g, h->pattern_ptr, nblocks + 1, UINT32_MAX);
  CorruptItems(g, h->value_ptr, nblocks + 1, UINT32_MAX);
  CorruptItems(g, h->window_ptr, nblocks + 1, UINT32_MAX);
  CorruptItems(g, h->windows, h->nwindows, INT32_MAX);
  if (h->order) CorruptItems(g, h->order, NROWS, INT32_MAX);
  /* Headers, strip starts, zeros, bricks: the format has one right value for each byte */
  PetscCall(CorruptBytes(g, "pattern", h->pattern, nbytes));
  PetscCall(CorruptBytes(g, "values", g->values, HrpbValueCount(h) * sizeof(*g->values)));

  PetscCall(PetscMalloc1(nbytes + 2 * HRPB_PATTERN_UNIT, &shifted));
  h->pattern = shifted + HRPB_PATTERN_UNIT - (uintptr_t)shifted % HRPB_PATTERN_UNIT + 4;
  PetscCall(PetscMemcpy(h->pattern, good, nbytes));
  PetscCall(ExpectCorrupt(g, "alignment of pattern", 0));
  h->pattern = good;
  PetscCall(PetscFree(shifted));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Swaps keep every count right */
static PetscErrorCode TestSwaps(Good *g)
{
  Hrpb *h = &g->h;

  PetscFunctionBegin;
  if (h->order) {
    for (PetscInt i = 0; i + 1 < NROWS; i++) {
      const int32_t row = h->order[i];

      if (row >= 16 && row < 32 && h->order[i + 1] >= 16 && h->order[i + 1] < 32) continue; /* rows without entries are alike */
      h->order[i]     = h->order[i + 1];
      h->order[i + 1] = row;
      PetscCall(ExpectCorrupt(g, "order (swapped)", (size_t)i));
      h->order[i + 1] = h->order[i];
      h->order[i]     = row;
    }
  }
  for (int64_t k = 0; k + 1 < h->nwindows; k++) {
    const int32_t window = h->windows[k];

    if (window == h->windows[k + 1]) continue; /* the last of a panel and the first of the next */
    h->windows[k]     = h->windows[k + 1];
    h->windows[k + 1] = window;
    PetscCall(ExpectCorrupt(g, "windows (swapped)", (size_t)k));
    h->windows[k + 1] = h->windows[k];
    h->windows[k]     = window;
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* A good format of another matrix, and a malformed matrix */
static PetscErrorCode TestMatrix(Good *g)
{
  PetscFunctionBegin;
  for (HrpbInt k = 0; k < g->rowptr[NROWS]; k++) {
    const HrpbInt column = g->colidx[k];

    g->colidx[k]++; /* moved to the right where possible; else a duplicate or out of range */
    PetscCall(ExpectCorrupt(g, "column of the matrix", (size_t)k));
    g->colidx[k] = column;
  }
  for (PetscInt i = 1; i < NROWS; i++) {
    g->rowptr[i]++; /* an entry moves to the row before */
    PetscCall(ExpectCorrupt(g, "row pointer of the matrix", (size_t)i));
    g->rowptr[i]--;
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode TestMessages(Good *g)
{
  char message[8] = "xxxxxxx";

  PetscFunctionBegin;
  g->h.nnz++;
  if (Check(g, NULL, 0) != HRPB_ERR_CORRUPT || Check(g, NULL, 8) != HRPB_ERR_CORRUPT || Check(g, message, 0) != HRPB_ERR_CORRUPT) PetscCall(PetscPrintf(PETSC_COMM_SELF, "%s: found only with a message\n", g->name));
  if (message[0] != 'x') PetscCall(PetscPrintf(PETSC_COMM_SELF, "%s: a message of length zero was written\n", g->name));
  (void)Check(g, message, sizeof(message));
  if (strlen(message) != sizeof(message) - 1 || message[0] == 'x') PetscCall(PetscPrintf(PETSC_COMM_SELF, "%s: a long message is not cut\n", g->name));
  g->h.nnz--;
  /* without values only the pattern is checked */
  g->values[0] = 5;
  if (HrpbCheckHost(&g->h, NROWS, NCOLS, g->rowptr, g->colidx, NULL, NULL, NULL, 0)) PetscCall(PetscPrintf(PETSC_COMM_SELF, "%s: a good pattern is refused without values\n", g->name));
  HrpbPackValuesHost(&g->h, g->rowptr, g->csr_values, g->values);
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* A window without an entry, with all numbers as if it had one. No change of a single number leads there */
static PetscErrorCode TestIdleWindow(void)
{
  const HrpbParams params   = {8, 8, 8, 4};
  const HrpbInt    rowptr[] = {0, 1}, colidx[] = {1};
  int32_t          windows[] = {0, 1}, *good;
  char             message[256];
  Hrpb             h;
  HrpbError        err;

  PetscFunctionBegin;
  err = HrpbBuildHost(1, 6, rowptr, colidx, NULL, &params, &h);
  PetscCheck(!err, PETSC_COMM_SELF, PETSC_ERR_PLIB, "HrpbBuildHost(): %s", HrpbErrorString(err));
  good                                     = h.windows;
  h.windows                                = windows;
  h.nwindows                               = 2;
  h.window_ptr[1]                          = 2;
  ((HrpbBlockHeader *)h.pattern)->nwindows = 2;
  err                                      = HrpbCheckHost(&h, 1, 6, rowptr, colidx, NULL, NULL, message, sizeof(message));
  if (err != HRPB_ERR_CORRUPT || !strstr(message, "window 1 has no entry")) PetscCall(PetscPrintf(PETSC_COMM_SELF, "a window without an entry: the checker says \"%s\", %s\n", HrpbErrorString(err), message));
  h.windows = good;
  HrpbDestroy(&h);
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode TestChecker(const HrpbParams *params, const int32_t *order, const char *name)
{
  Good *g;

  PetscFunctionBegin;
  PetscCall(PetscNew(&g));
  PetscCall(GoodCreate(params, order, name, g));
  PetscCall(ExpectGood(g));
  PetscCall(TestFields(g));
  PetscCall(TestArrays(g));
  PetscCall(TestSwaps(g));
  PetscCall(TestMatrix(g));
  PetscCall(TestMessages(g));
  PetscCall(ExpectGood(g)); /* all was put back */
  PetscCall(GoodDestroy(g));
  PetscCall(PetscFree(g));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Check that the builder refuses with the expected error and leaves h zeroed */
static PetscErrorCode ExpectRefused(HrpbError expected, int64_t nrows, int64_t ncols, const HrpbInt *rowptr, const HrpbInt *colidx, const int32_t *order, const HrpbParams *params, const char *what)
{
  Hrpb      h, zero;
  HrpbError err;

  PetscFunctionBegin;
  memset(&h, 0xff, sizeof(h));
  memset(&zero, 0, sizeof(zero));
  err = HrpbBuildHost(nrows, ncols, rowptr, colidx, order, params, &h);
  if (err != expected) PetscCall(PetscPrintf(PETSC_COMM_SELF, "%s: the builder says \"%s\" and should say \"%s\"\n", what, HrpbErrorString(err), HrpbErrorString(expected)));
  if (memcmp(&h, &zero, sizeof(h))) PetscCall(PetscPrintf(PETSC_COMM_SELF, "%s: the builder leaves something behind\n", what));
  HrpbDestroy(&h);
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode TestParameters(void)
{
  const HrpbInt    rowptr[] = {0, 1}, colidx[] = {0};
  const HrpbParams bad[] = {
      {4, 64, 64, 1},
      {0, 64, 64, 1},
      {12, 48, 64, 1},
      {-8, 64, 64, 1},
      {32, 64, 64, 1},
      {8, 0, 64, 1},
      {8, -8, 64, 1},
      {8, 12, 64, 1},
      {16, 8, 64, 1},
      {16, 24, 64, 1},
      {8, 1032, 4, 1},
      {8, 64, 0, 1},
      {8, 64, -4, 1},
      {8, 64, 6, 1},
      {8, 64, 260, 1},
      {8, 512, 256, 1},
      {16, 1024, 128, 1},
      {8, 64, 64, 0},
      {8, 64, 64, -1},
      {8, 64, 64, 3},
      {8, 64, 64, 32},
      {8, 64, 4, 8},
      {8, 64, 24, 16}};
  int64_t count = -1;

  PetscFunctionBegin;
  for (size_t k = 0; k < PETSC_STATIC_ARRAY_LENGTH(bad); k++) PetscCall(ExpectRefused(HRPB_ERR_PARAMETER, 1, 1, rowptr, colidx, NULL, &bad[k], "parameters"));
  if (HrpbCountStripColumns(1, 1, rowptr, colidx, 4, &count) != HRPB_ERR_PARAMETER || count) PetscCall(PetscPrintf(PETSC_COMM_SELF, "strips of 4 rows are counted\n"));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode TestBadCSR(void)
{
  const HrpbParams params = {8, 16, 8, 2};
  const struct {
    const char *what;
    HrpbError   err;
    int64_t     nrows, ncols;
    HrpbInt     rowptr[4], colidx[4];
  } bad[] = {
      {"an unsorted row", HRPB_ERR_CSR, 3, 5, {0, 1, 3, 4}, {0, 3, 2, 4}},
      {"a duplicate", HRPB_ERR_CSR, 3, 5, {0, 1, 3, 4}, {0, 3, 3, 4}},
      {"a column too large", HRPB_ERR_CSR, 3, 5, {0, 1, 3, 4}, {0, 2, 3, 5}},
      {"a negative column", HRPB_ERR_CSR, 3, 5, {0, 1, 3, 4}, {0, -1, 3, 4}},
      {"decreasing row pointers", HRPB_ERR_CSR, 3, 5, {0, 3, 2, 4}, {0, 1, 2, 4}},
      {"a row pointer far outside", HRPB_ERR_CSR, 3, 5, {0, 99, 2, 4}, {0, 1, 2, 4}},
      {"a negative row pointer", HRPB_ERR_CSR, 3, 5, {-1, 1, 3, 4}, {0, 2, 3, 4}},
      {"a negative number of rows", HRPB_ERR_CSR, -1, 5, {0, 1, 3, 4}, {0, 2, 3, 4}},
      {"entries without columns", HRPB_ERR_CSR, 3, 0, {0, 1, 3, 4}, {0, 2, 3, 4}},
      {"too many rows", HRPB_ERR_OVERFLOW, (int64_t)INT32_MAX + 1, 5, {0, 1, 3, 4}, {0, 2, 3, 4}},
      {"too many columns", HRPB_ERR_OVERFLOW, 3, (int64_t)INT32_MAX + 1, {0, 1, 3, 4}, {0, 2, 3, 4}}};

  PetscFunctionBegin;
  for (size_t k = 0; k < PETSC_STATIC_ARRAY_LENGTH(bad); k++) {
    int64_t   count = -1;
    HrpbError err;

    PetscCall(ExpectRefused(bad[k].err, bad[k].nrows, bad[k].ncols, bad[k].rowptr, bad[k].colidx, NULL, &params, bad[k].what));
    err = HrpbCountStripColumns(bad[k].nrows, bad[k].ncols, bad[k].rowptr, bad[k].colidx, 8, &count);
    if (err != bad[k].err || count) PetscCall(PetscPrintf(PETSC_COMM_SELF, "%s: the counter says \"%s\" and counts %" PetscInt64_FMT "\n", bad[k].what, HrpbErrorString(err), (PetscInt64)count));
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode TestBadOrder(void)
{
  const HrpbParams params   = {8, 16, 8, 2};
  const HrpbInt    rowptr[] = {0, 1, 3, 4}, colidx[] = {0, 2, 3, 4};
  const int32_t    bad[][3] = {
         {0, 1, 1},
         {0, 1, 3},
         {0, 1, -1},
         {2, 2, 0}};

  PetscFunctionBegin;
  for (size_t k = 0; k < PETSC_STATIC_ARRAY_LENGTH(bad); k++) PetscCall(ExpectRefused(HRPB_ERR_ORDER, 3, 5, rowptr, colidx, bad[k], &params, "order"));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*
   Errors that the builder finds between counting and allocating. A matrix that gets there needs more memory than a
   test may have.
*/
static PetscErrorCode TestTotals(void)
{
  const HrpbTotals largest = {.nblocks = INT32_MAX, .nbricks = INT64_MAX, .nwindows = UINT32_MAX, .nbrick_cols = INT64_MAX, .pattern = UINT32_MAX, .values = UINT32_MAX};
  HrpbTotals       t       = largest;

  PetscFunctionBegin;
  if (!HrpbTotalsFit(&t)) PetscCall(PetscPrintf(PETSC_COMM_SELF, "the largest totals do not fit\n"));
#define Exceed(field) \
  do { \
    t = largest; \
    t.field++; \
    if (HrpbTotalsFit(&t)) PetscCall(PetscPrintf(PETSC_COMM_SELF, "%s: one more than the largest fits\n", #field)); \
  } while (0)
  Exceed(nblocks);
  Exceed(nwindows);
  Exceed(pattern);
  Exceed(values);
#undef Exceed
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode TestErrorStrings(void)
{
  PetscFunctionBegin;
  for (int e = HRPB_SUCCESS; e <= HRPB_ERR_OPERANDS + 1; e++) {
    const char *s = HrpbErrorString((HrpbError)e);

    if (!s || !s[0]) PetscCall(PetscPrintf(PETSC_COMM_SELF, "error %d has no string\n", e));
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

int main(int argc, char **argv)
{
  const HrpbParams params8 = {8, 16, 8, 1}, params16 = {16, 16, 12, 1};
  int32_t          order[NROWS];

  PetscFunctionBeginUser;
  PetscCall(PetscInitialize(&argc, &argv, NULL, help));
  for (int32_t i = 0; i < NROWS; i++) order[i] = i * 7 % NROWS; /* 7 and 40 have no common factor */
  PetscCall(TestChecker(&params8, NULL, "8 rows"));
  PetscCall(TestChecker(&params16, NULL, "16 rows"));
  PetscCall(TestChecker(&params8, order, "8 rows, reordered"));
  PetscCall(TestChecker(&params16, order, "16 rows, reordered"));
  for (int32_t tw = 2; tw <= HRPB_MAX_WINDOW; tw *= 2) { /* none divides NCOLS */
    const HrpbParams windows = {tw < 8 ? 8 : 16, 16, PetscMax(tw, 8), tw};
    char             name[64];

    PetscCall(PetscSNPrintf(name, sizeof(name), "windows of %d", (int)tw));
    PetscCall(TestChecker(&windows, NULL, name));
    PetscCall(PetscSNPrintf(name, sizeof(name), "windows of %d, reordered", (int)tw));
    PetscCall(TestChecker(&windows, order, name));
  }
  PetscCall(TestIdleWindow());
  PetscCall(TestParameters());
  PetscCall(TestBadCSR());
  PetscCall(TestBadOrder());
  PetscCall(TestTotals());
  PetscCall(TestErrorStrings());
  PetscCall(PetscFinalize());
  return 0;
}

/*TEST

  test:
    suffix: 1

TEST*/
