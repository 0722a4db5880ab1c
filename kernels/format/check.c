/* The checker: it walks through every array of the bricks and through the CSR in step, and trusts none of them. */
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "block.h"
#include "input.h"

typedef struct {
  const Hrpb       *h;
  const HrpbInt    *rowptr, *colidx;
  const HrpbScalar *values, *csr_values;

  /* where the check is, for the message; -1 where it is not inside of one */
  int64_t panel, block, brick;
  char   *message;
  size_t  len;

  uint32_t most_values; /* blocks with more are cut */
  struct {
    uint32_t windows, values; /* sums so far */
    uint32_t width;           /* windows of the first */
  } pieces; /* of the block at hand, which may have been cut */
  int64_t  nbricks, nbrick_cols; /* sums so far, as the next two are */
  uint32_t max_pattern, max_values;
  HrpbInt  next[HRPB_MAX_PANEL];      /* first entry of each row of the panel that is not yet found in a brick */
  uint64_t used[HRPB_MAX_BLOCK / 64]; /* columns of the block that are found in a brick */
  uint32_t nentries;                  /* entries of the block so far */
} Checker;

static HrpbError Fail(const Checker *, const char *, ...) __attribute__((format(printf, 2, 3)));

static HrpbError Fail(const Checker *c, const char *format, ...)
{
  char    where[96] = "";
  int     n         = 0;
  va_list args;

  if (!c->message || !c->len) return HRPB_ERR_CORRUPT;
  if (c->panel >= 0) n += snprintf(where + n, sizeof(where) - (size_t)n, "panel %lld, ", (long long)c->panel);
  if (c->block >= 0) n += snprintf(where + n, sizeof(where) - (size_t)n, "block %lld, ", (long long)c->block);
  if (c->brick >= 0) n += snprintf(where + n, sizeof(where) - (size_t)n, "brick %lld, ", (long long)c->brick);
  if (n) where[n - 2] = ':';
  n = snprintf(c->message, c->len, "%s", where);
  if ((size_t)n >= c->len) return HRPB_ERR_CORRUPT;
  va_start(args, format);
  (void)vsnprintf(c->message + n, c->len - (size_t)n, format, args);
  va_end(args);
  return HRPB_ERR_CORRUPT;
}

#define Expect(condition, ...) \
  do { \
    if (!(condition)) return Fail(c, __VA_ARGS__); \
  } while (0)

#define ExpectEqual(what, found, expected) Expect((int64_t)(found) == (int64_t)(expected), "%s is %lld and should be %lld", what, (long long)(found), (long long)(expected))

#define Call(expression) \
  do { \
    const HrpbError err_ = (expression); \
    if (err_) return err_; \
  } while (0)

/* A pointer array of n + 1 numbers, which ends with total */
static HrpbError CheckPointers(const Checker *c, const char *name, const uint32_t *ptr, int64_t n, int64_t total)
{
  Expect(ptr, "%s is NULL", name);
  Expect(ptr[0] == 0, "%s[0] is %lu and should be 0", name, (unsigned long)ptr[0]);
  for (int64_t i = 0; i < n; i++) Expect(ptr[i] <= ptr[i + 1], "%s decreases at %lld", name, (long long)i);
  Expect(ptr[n] == total, "%s ends with %lu and should end with %lld", name, (unsigned long)ptr[n], (long long)total);
  return HRPB_SUCCESS;
}

/*
   All that the extents of the arrays follow from. A pointer array is read only after the one that ends with its length
*/
static HrpbError CheckExtents(const Checker *c, int64_t nrows, int64_t ncols)
{
  const Hrpb *h = c->h;

  Expect(HrpbParamsAreValid(&h->params), "parameters %ld x %ld, bricks of %ld rows, windows of %ld: %s", (long)h->params.panel_rows, (long)h->params.block_cols, (long)h->params.brick_rows, (long)h->params.window_cols, HrpbErrorString(HRPB_ERR_PARAMETER));
  ExpectEqual("nrows", h->nrows, nrows);
  ExpectEqual("ncols", h->ncols, ncols);
  ExpectEqual("nnz", h->nnz, (int64_t)c->rowptr[nrows] - c->rowptr[0]);
  ExpectEqual("npanels", h->npanels, (nrows + h->params.panel_rows - 1) / h->params.panel_rows);
  Expect(h->nblocks >= 0, "nblocks is negative");
  Call(CheckPointers(c, "blocked_row_ptr", h->blocked_row_ptr, h->npanels, h->nblocks));
  Call(CheckPointers(c, "window_ptr", h->window_ptr, h->nblocks, h->nwindows));
  Expect(h->pattern_bytes % HRPB_PATTERN_UNIT == 0, "pattern_bytes is %lld, no multiple of %d", (long long)h->pattern_bytes, HRPB_PATTERN_UNIT);
  Call(CheckPointers(c, "pattern_ptr", h->pattern_ptr, h->nblocks, h->pattern_bytes / HRPB_PATTERN_UNIT));
  Expect(h->value_count % HRPB_VALUE_UNIT == 0, "value_count is %lld, no multiple of %d", (long long)h->value_count, HRPB_VALUE_UNIT);
  Call(CheckPointers(c, "value_ptr", h->value_ptr, h->nblocks, h->value_count / HRPB_VALUE_UNIT));
  Expect(h->windows || !h->nwindows, "windows is NULL");
  Expect(h->pattern || !h->nblocks, "pattern is NULL");
  Expect((uintptr_t)h->pattern % HRPB_PATTERN_UNIT == 0, "pattern is not aligned to %d bytes", HRPB_PATTERN_UNIT);
  return HRPB_SUCCESS;
}

/* The header of a block, and the lengths of its runs, which follow from it */
static HrpbError CheckHeader(const Checker *c, int64_t b)
{
  const Hrpb     *h     = c->h;
  const uint32_t  units = h->pattern_ptr[b + 1] - h->pattern_ptr[b], most = (uint32_t)(h->params.block_cols / h->params.window_cols);
  HrpbBlockHeader header;

  Expect(units > 0, "its pattern run is empty");
  memcpy(&header, h->pattern + (size_t)h->pattern_ptr[b] * HRPB_PATTERN_UNIT, sizeof(header));
  Expect(header.nbricks > 0 && header.nbricks <= HRPB_MAX_SLOTS / (8 * HRPB_BRICK_COLS), "it has %lu bricks", (unsigned long)header.nbricks);
  ExpectEqual("length of its pattern run in bytes", (int64_t)units * HRPB_PATTERN_UNIT, HrpbBlockBytes(&h->params, header.nbricks));
  Expect(header.nvalues > 0 && header.nvalues <= HRPB_MAX_SLOTS, "it has %lu values", (unsigned long)header.nvalues);
  ExpectEqual("length of its values", h->value_ptr[b + 1] - h->value_ptr[b], (header.nvalues + HRPB_VALUE_UNIT - 1) / HRPB_VALUE_UNIT);
  ExpectEqual("number of windows", header.nwindows, h->window_ptr[b + 1] - h->window_ptr[b]);
  Expect(header.nwindows > 0 && header.nwindows <= most, "it has %lu windows", (unsigned long)header.nwindows);
  ExpectEqual("unused word of the header", header.unused, 0);
  return HRPB_SUCCESS;
}

/* The active windows of a block; last is the last active window of the panel before it */
static HrpbError CheckWindows(const Checker *c, int64_t b, int32_t *last)
{
  const Hrpb   *h        = c->h;
  const int64_t nwindows = ((int64_t)h->ncols + h->params.window_cols - 1) / h->params.window_cols;

  for (uint32_t i = h->window_ptr[b]; i < h->window_ptr[b + 1]; i++) {
    const int32_t window = h->windows[i];

    Expect(window >= 0 && window < nwindows, "window %lu is %ld, and the matrix has %lld", (unsigned long)(i - h->window_ptr[b]), (long)window, (long long)nwindows);
    Expect(window > *last, "window %lu is %ld, after %ld", (unsigned long)(i - h->window_ptr[b]), (long)window, (long)*last);
    *last = window;
  }
  return HRPB_SUCCESS;
}

/*
   The column slots of a brick. Those with active columns of the strip ascend, and each has an entry. Slots that are
   left over in the strip's last brick repeat its last column, and have no entry. last is the last column of the strip
   before this brick, or -1
*/
static HrpbError CheckSlots(Checker *c, const HrpbBlock *block, const HrpbBrick *brick, bool last_brick, int32_t *last)
{
  const uint64_t pattern = HrpbBrickPattern(brick), first_slot = 0x1111111111111111; /* in every row */
  bool           padding = false;

  for (int32_t slot = 0; slot < HRPB_BRICK_COLS; slot++) {
    const int32_t column = brick->column[slot];

    Expect(column < (int32_t)block->header->nwindows * c->h->params.window_cols, "column %ld of the block is out of range", (long)column);
    /* the last window may reach beyond the matrix, but its entries may not */
    Expect(HrpbBlockColumn(c->h, c->block, column) < c->h->ncols, "column %ld of the block is column %ld, and the matrix has %ld", (long)column, (long)HrpbBlockColumn(c->h, c->block, column), (long)c->h->ncols);
    if (slot > 0 && last_brick && column == *last) padding = true;
    if (padding) {
      Expect(column == *last, "slot %ld follows padding", (long)slot);
      Expect(!(pattern & first_slot << slot), "slot %ld is padding and has an entry", (long)slot);
    } else {
      Expect(column > *last, "column %ld of the block follows %ld", (long)column, (long)*last);
      Expect(pattern & first_slot << slot, "slot %ld has a column and no entry", (long)slot);
      c->used[column / 64] |= (uint64_t)1 << column % 64;
    }
    *last = column;
  }
  return HRPB_SUCCESS;
}

/* Compare the entries of a brick with those that come next in the rows of the CSR */
static HrpbError CheckEntries(Checker *c, const HrpbBlock *block, const HrpbBrick *brick, int32_t strip)
{
  const Hrpb *h = c->h;

  for (uint64_t bits = HrpbBrickPattern(brick); bits; bits &= bits - 1) {
    const int32_t bit = __builtin_ctzll(bits), i = strip * h->params.brick_rows + bit / HRPB_BRICK_COLS;
    const int32_t column = HrpbBlockColumn(h, c->block, brick->column[bit % HRPB_BRICK_COLS]);
    int32_t       row;

    Expect(i < HrpbPanelRows(h, c->panel), "bit %ld is in row %ld of a panel of %ld", (long)bit, (long)i, (long)HrpbPanelRows(h, c->panel));
    row = HrpbPanelRow(h, c->panel, i);
    Expect(c->next[i] < c->rowptr[row + 1], "the matrix has no entry at row %ld, column %ld", (long)row, (long)column);
    Expect(c->colidx[c->next[i]] == column, "row %ld has an entry at column %ld where the matrix has %lld", (long)row, (long)column, (long long)c->colidx[c->next[i]]);
    Expect(HrpbPlaceOfValue(brick, (uint32_t)bit, h->params.pairs) < block->header->nvalues, "the bricks have more bits than the block has values, %lu", (unsigned long)block->header->nvalues);
    if (c->values) {
      const HrpbScalar value = HrpbValueOf(brick, (uint32_t)bit, h->params.pairs, c->values + (size_t)h->value_ptr[c->block] * HRPB_VALUE_UNIT);

      /* compares bytes, so that NaN equals itself and zeros differ by their sign */
      Expect(!memcmp(&value, c->csr_values + c->next[i], sizeof(value)), "the value at row %ld, column %ld differs", (long)row, (long)column);
    }
    c->next[i]++;
    c->nentries++;
  }
  return HRPB_SUCCESS;
}

static HrpbError CheckBricks(Checker *c, const HrpbBlock *block)
{
  const int32_t  nstrips = c->h->params.panel_rows / c->h->params.brick_rows;
  const uint32_t tw      = (uint32_t)c->h->params.window_cols;
  const int32_t  pairs   = c->h->params.pairs;

  ExpectEqual("start of the first strip", block->strip_start[0], 0);
  for (int32_t strip = 0; strip < nstrips; strip++) Expect(block->strip_start[strip] <= block->strip_start[strip + 1], "strip %ld ends before it starts", (long)strip);
  ExpectEqual("end of the last strip", block->strip_start[nstrips], block->header->nbricks);

  c->nentries = 0;
  memset(c->used, 0, sizeof(c->used));
  for (int32_t strip = 0; strip < nstrips; strip++) {
    int32_t last = -1;

    for (c->brick = block->strip_start[strip]; c->brick < block->strip_start[strip + 1]; c->brick++) {
      const HrpbBrick *brick = block->brick + c->brick;
      const bool       tall  = c->h->params.brick_rows == 16;

      Expect(HrpbBrickPattern(brick), "the pattern is empty");
      Expect(tall || !brick->pattern[1], "a brick of 8 rows has a pattern of a second half");
      ExpectEqual("first value", brick->value[0], HrpbStored(c->nentries, pairs));
      ExpectEqual("first value of the second half", brick->value[1], tall ? HrpbStored(c->nentries + (uint32_t)__builtin_popcount(brick->pattern[0]), pairs) : 0);
      Call(CheckSlots(c, block, brick, c->brick + 1 == block->strip_start[strip + 1], &last));
      Call(CheckEntries(c, block, brick, strip));
    }
  }
  c->brick = -1;
  ExpectEqual("number of values", block->header->nvalues, HrpbStored(c->nentries, pairs));
  for (uint32_t i = 0; i < block->header->nwindows; i++) {
    const uint32_t first = i * tw; /* tw divides 64: a window lies in one word */

    Expect(c->used[first / 64] >> first % 64 & (((uint64_t)1 << tw) - 1), "window %lu has no entry", (unsigned long)i);
  }
  return HRPB_SUCCESS;
}

/* The zeros behind the strip starts of a block, and behind its values */
static HrpbError CheckPadding(const Checker *c, const HrpbBlock *block)
{
  const Hrpb      *h    = c->h;
  const uint8_t   *byte = (const uint8_t *)(block->strip_start + h->params.panel_rows / h->params.brick_rows + 1);
  const uint8_t   *end  = (const uint8_t *)block->brick;
  const HrpbScalar zero = 0;

  for (; byte < end; byte++) Expect(*byte == 0, "a padding byte of the pattern run is not zero");
  if (!c->values) return HRPB_SUCCESS;
  for (size_t v = (size_t)h->value_ptr[c->block] * HRPB_VALUE_UNIT + block->header->nvalues; v < (size_t)h->value_ptr[c->block + 1] * HRPB_VALUE_UNIT; v++) Expect(!memcmp(c->values + v, &zero, sizeof(zero)), "a padding value is not zero");
  return HRPB_SUCCESS;
}

/* Add a block whose bricks are right to the sums */
static void AddBlock(Checker *c, const HrpbBlock *block)
{
  const Hrpb    *h       = c->h;
  const uint32_t pattern = h->pattern_ptr[c->block + 1] - h->pattern_ptr[c->block], values = h->value_ptr[c->block + 1] - h->value_ptr[c->block];
  int32_t        ncols = 0;

  for (int32_t m = 0; m < HRPB_MAX_BLOCK / 64; m++) ncols += __builtin_popcountll(c->used[m]);
  c->nbricks += block->header->nbricks;
  c->nbrick_cols += (ncols + HRPB_BRICK_COLS - 1) / HRPB_BRICK_COLS;
  if (c->max_pattern < pattern) c->max_pattern = pattern;
  if (c->max_values < values) c->max_values = values;
}

/*
   The next piece of a block that may have been cut. It has as many windows as the first, or what is left. When all have
   come, their values say how wide pieces are
*/
static HrpbError CheckPiece(Checker *c, uint32_t nwindows)
{
  const Hrpb    *h     = c->h;
  const uint32_t most  = (uint32_t)(h->params.block_cols / h->params.window_cols), end = h->window_ptr[h->blocked_row_ptr[c->panel + 1]];
  const uint32_t ahead = end - h->window_ptr[c->block], whole = c->pieces.windows + ahead < most ? c->pieces.windows + ahead : most;
  const uint32_t left  = whole - c->pieces.windows;

  if (!c->pieces.windows) c->pieces.width = nwindows;
  ExpectEqual("number of windows", nwindows, c->pieces.width < left ? c->pieces.width : left);
  c->pieces.windows += nwindows;
  c->pieces.values += c->nentries;
  if (c->pieces.windows < whole) return HRPB_SUCCESS;
  ExpectEqual("number of windows of a block, or of a piece of it", c->pieces.width, HrpbBlockWindows(whole, c->pieces.values, c->most_values));
  c->pieces.windows = c->pieces.values = 0;
  return HRPB_SUCCESS;
}

static HrpbError CheckPanel(Checker *c)
{
  const Hrpb   *h     = c->h;
  const int32_t nrows = HrpbPanelRows(h, c->panel);
  int32_t       last  = -1;

  for (int32_t i = 0; i < nrows; i++) c->next[i] = c->rowptr[HrpbPanelRow(h, c->panel, i)];
  for (c->block = h->blocked_row_ptr[c->panel]; c->block < h->blocked_row_ptr[c->panel + 1]; c->block++) {
    HrpbBlock block;

    Call(CheckHeader(c, c->block));
    Call(CheckWindows(c, c->block, &last));
    block = HrpbGetBlock(h, c->block);
    Call(CheckBricks(c, &block));
    Call(CheckPiece(c, block.header->nwindows));
    Call(CheckPadding(c, &block));
    AddBlock(c, &block);
  }
  c->block = -1;
  for (int32_t i = 0; i < nrows; i++) {
    const int32_t row = HrpbPanelRow(h, c->panel, i);

    if (c->next[i] < c->rowptr[row + 1]) return Fail(c, "no brick has the entry at row %ld, column %lld", (long)row, (long long)c->colidx[c->next[i]]);
  }
  return HRPB_SUCCESS;
}

static HrpbError Check(Checker *c, int64_t nrows, int64_t ncols)
{
  const Hrpb *h = c->h;
  HrpbError   err;

  err = HrpbCheckCsr(nrows, ncols, c->rowptr, c->colidx);
  Expect(!err, "%s", HrpbErrorString(err));
  Call(CheckExtents(c, nrows, ncols));
  if (h->params.pairs) Expect(!h->order && !HrpbCheckPairs(nrows, ncols, c->rowptr, c->colidx), "there are pairs, and an order, or entries that are none");
  if (h->order) {
    err = HrpbCheckOrder(nrows, h->order);
    if (err) (void)Fail(c, "%s", HrpbErrorString(err));
    if (err) return err == HRPB_ERR_MEMORY ? err : HRPB_ERR_CORRUPT;
  }
  c->most_values = HrpbMostValues(&h->params, h->nnz, h->nwindows);
  for (c->panel = 0; c->panel < h->npanels; c->panel++) Call(CheckPanel(c));
  c->panel = -1;
  ExpectEqual("nbricks", h->nbricks, c->nbricks);
  ExpectEqual("nbrick_cols", h->nbrick_cols, c->nbrick_cols);
  ExpectEqual("max_pattern", h->max_pattern, c->max_pattern);
  ExpectEqual("max_values", h->max_values, c->max_values);
  return HRPB_SUCCESS;
}

HrpbError HrpbCheckHost(const Hrpb *h, int64_t nrows, int64_t ncols, const HrpbInt *rowptr, const HrpbInt *colidx, const HrpbScalar *values, const HrpbScalar *csr_values, char *message, size_t len)
{
  Checker c = {.h = h, .rowptr = rowptr, .colidx = colidx, .values = csr_values ? values : NULL, .csr_values = csr_values, .panel = -1, .block = -1, .brick = -1, .message = message, .len = len};

  if (message && len) message[0] = 0;
  return Check(&c, nrows, ncols);
}
