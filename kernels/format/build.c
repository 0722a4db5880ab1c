/*
   The builder of bricks on the host: one walk over panels and blocks, made twice, first to count and then to fill.
   Where blocks are cut they are counted once more.
*/
#include <stdlib.h>
#include <string.h>

#include "input.h"
#include "totals.h"

enum {
  MAX_STRIPS = HRPB_MAX_PANEL / 8,
  MAX_BRICKS = HRPB_MAX_SLOTS / (8 * HRPB_BRICK_COLS)
};

typedef struct {
  const HrpbInt *rowptr, *colidx;
  const int32_t *order;
  int32_t        nrows, ncols;
  HrpbParams     params;
  int32_t        window_shift; /* column >> window_shift is its window: window_cols is a power of two */
  uint32_t       most_values;  /* blocks with more are cut */

  /* the panel at hand; arrays have as many items as the matrix has windows */
  int32_t  nwindows;
  int32_t *windows;  /* its active windows, ascending */
  int32_t *spare;    /* where windows are merged to */
  int32_t *position; /* place of a window in windows, or -1 if it is not active */
  int32_t  panel_rows;
  HrpbInt  next[HRPB_MAX_PANEL], end[HRPB_MAX_PANEL]; /* entries of each row that are not yet in a block */

  /* the block at hand, as it will be stored */
  HrpbBlockHeader header;
  uint16_t        strip_start[MAX_STRIPS + 1];
  HrpbBrick       brick[MAX_BRICKS];
  uint64_t        used[HRPB_MAX_BLOCK / 64]; /* columns of the block with an entry */
} Builder;

/*
   Sort windows, which consist of nparts ascending parts, by merging neighbours until one part is left. part[nparts] is
   its end
*/
static void MergeWindows(Builder *w, int32_t *part, int32_t nparts)
{
  while (nparts > 1) {
    int32_t *a = w->windows, *merged = w->spare, n = 0;

    for (int32_t m = 0; m < nparts; m += 2) {
      const int32_t begin = part[m], middle = part[m + 1], end = m + 1 < nparts ? part[m + 2] : middle;
      int32_t       i = begin, j = middle;

      for (int32_t k = begin; k < end; k++) merged[k] = j == end || (i < middle && a[i] < a[j]) ? a[i++] : a[j++];
      part[n++] = begin;
    }
    part[n]    = w->nwindows;
    nparts     = n;
    w->windows = merged;
    w->spare   = a;
  }
}

/*
   Begin panel p: its rows and its active windows. Rows are sorted, so what a row adds to the windows is an ascending
   part
*/
static void BeginPanel(Builder *w, int32_t p)
{
  const int64_t first = (int64_t)p * w->params.panel_rows, left = w->nrows - first;
  int32_t       part[HRPB_MAX_PANEL + 1];
  int32_t       nparts = 0;

  w->panel_rows = left < w->params.panel_rows ? (int32_t)left : w->params.panel_rows;
  w->nwindows   = 0;
  for (int32_t i = 0; i < w->panel_rows; i++) {
    const int64_t row   = w->order ? w->order[first + i] : first + i;
    const int32_t begin = w->nwindows;

    w->next[i] = w->rowptr[row];
    w->end[i]  = w->rowptr[row + 1];
    for (HrpbInt k = w->next[i]; k < w->end[i]; k++) {
      const int32_t window = (int32_t)w->colidx[k] >> w->window_shift;

      if (w->position[window] >= 0) continue;
      w->position[window]       = 0;
      w->windows[w->nwindows++] = window;
    }
    if (w->nwindows > begin) part[nparts++] = begin;
  }
  part[nparts] = w->nwindows;
  MergeWindows(w, part, nparts);
  for (int32_t i = 0; i < w->nwindows; i++) w->position[w->windows[i]] = i;
}

static void EndPanel(Builder *w)
{
  for (int32_t i = 0; i < w->nwindows; i++) w->position[w->windows[i]] = -1;
}

/*
   Append the bricks of a strip to the block whose active windows begin at first; the cursors of its rows move past the
   block
*/
static void PackStrip(Builder *w, int32_t strip, int32_t first)
{
  const int32_t  bm                        = w->params.brick_rows;
  const int32_t  row0                      = strip * bm;
  const int32_t  nrows                     = w->panel_rows - row0 < bm ? w->panel_rows - row0 : bm;
  uint64_t       used[HRPB_MAX_BLOCK / 64] = {0};            /* the strip's active columns among the block's */
  uint8_t        local[HRPB_MAX_BRICK_ROWS][HRPB_MAX_BLOCK]; /* the columns of each row, */
  int32_t        nlocal[HRPB_MAX_BRICK_ROWS];                /* how many columns each row has */
  uint8_t        rank[HRPB_MAX_BLOCK];                       /* place of a column among the strip's active columns */
  uint8_t        last  = 0;
  uint32_t       n     = 0;
  HrpbBrick     *brick = w->brick + w->header.nbricks;

  for (int32_t i = 0; i < nrows; i++) {
    HrpbInt k = w->next[row0 + i];

    nlocal[i] = 0;
    for (; k < w->end[row0 + i]; k++) {
      const int32_t column = (int32_t)w->colidx[k], window = w->position[column >> w->window_shift] - first;
      const int32_t c = (window << w->window_shift) + (column & (w->params.window_cols - 1));

      if (window >= (int32_t)w->header.nwindows) break;
      local[i][nlocal[i]++] = (uint8_t)c;
      used[c / 64] |= (uint64_t)1 << c % 64;
    }
    w->next[row0 + i] = k;
  }
  for (int32_t m = 0; m < HRPB_MAX_BLOCK / 64; m++) {
    w->used[m] |= used[m];
    for (uint64_t bits = used[m]; bits; bits &= bits - 1) {
      const int32_t c = 64 * m + __builtin_ctzll(bits);

      rank[c] = (uint8_t)n;
      if (n % HRPB_BRICK_COLS == 0) memset(brick + n / HRPB_BRICK_COLS, 0, sizeof(*brick));
      last = brick[n / HRPB_BRICK_COLS].column[n % HRPB_BRICK_COLS] = (uint8_t)c;
      n++;
    }
  }
  for (; n % HRPB_BRICK_COLS; n++) brick[n / HRPB_BRICK_COLS].column[n % HRPB_BRICK_COLS] = last;
  w->header.nbricks += n / HRPB_BRICK_COLS;

  for (int32_t i = 0; i < nrows; i++) {
    for (int32_t k = 0; k < nlocal[i]; k++) {
      const uint32_t r = rank[local[i][k]];

      brick[r / HRPB_BRICK_COLS].pattern[i / 8] |= (uint32_t)1 << ((uint32_t)i % 8 * HRPB_BRICK_COLS + r % HRPB_BRICK_COLS);
    }
  }
  for (uint32_t b = 0; b < n / HRPB_BRICK_COLS; b++) {
    for (int32_t half = 0; half < bm / 8; half++) {
      brick[b].value[half] = (uint16_t)w->header.nvalues;
      w->header.nvalues += HrpbStored((uint32_t)__builtin_popcount(brick[b].pattern[half]), w->params.pairs);
    }
  }
}

/* Entries of the panel in the active windows first to end - 1, which are those that are not yet in a block */
static uint32_t CountValues(const Builder *w, int32_t end)
{
  uint32_t n = 0;

  for (int32_t i = 0; i < w->panel_rows; i++) {
    for (HrpbInt k = w->next[i]; k < w->end[i] && w->position[(int32_t)w->colidx[k] >> w->window_shift] < end; k++) n++;
  }
  return n;
}

/* The block of the panel's active windows first, first + 1, ..., end - 1 */
static void PackBlock(Builder *w, int32_t first, int32_t end)
{
  const int32_t nstrips = w->params.panel_rows / w->params.brick_rows;

  memset(&w->header, 0, sizeof(w->header));
  memset(w->used, 0, sizeof(w->used));
  w->header.nwindows = (uint32_t)(end - first);
  for (int32_t strip = 0; strip < nstrips; strip++) {
    w->strip_start[strip] = (uint16_t)w->header.nbricks;
    PackStrip(w, strip, first);
  }
  w->strip_start[nstrips] = (uint16_t)w->header.nbricks;
}

/* Write the pattern run of the block at hand */
static void StoreBlock(const Builder *w, uint8_t *run)
{
  const int32_t nstrips = w->params.panel_rows / w->params.brick_rows;

  memset(run, 0, HrpbOffsetBricks(nstrips));
  memcpy(run, &w->header, sizeof(w->header));
  memcpy(run + HrpbOffsetStripStart(), w->strip_start, sizeof(*w->strip_start) * (size_t)(nstrips + 1));
  memcpy(run + HrpbOffsetBricks(nstrips), w->brick, sizeof(*w->brick) * w->header.nbricks);
}

/* Note in h where the next block begins */
static void StorePointers(const HrpbTotals *t, Hrpb *h)
{
  h->pattern_ptr[t->nblocks] = (uint32_t)t->pattern;
  h->value_ptr[t->nblocks]   = (uint32_t)t->values;
  h->window_ptr[t->nblocks]  = (uint32_t)t->nwindows;
}

/* Add the block at hand to the sums */
static void AddBlock(const Builder *w, HrpbTotals *t)
{
  const int64_t pattern = (int64_t)(HrpbBlockBytes(&w->params, w->header.nbricks) / HRPB_PATTERN_UNIT);
  const int64_t values  = (w->header.nvalues + HRPB_VALUE_UNIT - 1) / HRPB_VALUE_UNIT;
  int32_t       ncols   = 0;

  for (int32_t m = 0; m < HRPB_MAX_BLOCK / 64; m++) ncols += __builtin_popcountll(w->used[m]);
  t->nblocks++;
  t->nbricks += w->header.nbricks;
  t->nwindows += w->header.nwindows;
  t->nbrick_cols += (ncols + HRPB_BRICK_COLS - 1) / HRPB_BRICK_COLS;
  t->pattern += pattern;
  t->values += values;
  if (t->max_pattern < pattern) t->max_pattern = pattern;
  if (t->max_values < values) t->max_values = values;
}

static int32_t Least(int32_t a, int32_t b)
{
  return a < b ? a : b;
}

/* Walk all blocks in order, summing up in t; h, unless NULL, has its arrays and is filled on the way */
static void Walk(Builder *w, int32_t npanels, HrpbTotals *t, Hrpb *h)
{
  const int32_t most = w->params.block_cols >> w->window_shift;

  memset(t, 0, sizeof(*t));
  for (int32_t p = 0; p < npanels; p++) {
    if (h) h->blocked_row_ptr[p] = (uint32_t)t->nblocks;
    BeginPanel(w, p);
    for (int32_t begin = 0, end; begin < w->nwindows; begin = end) {
      int32_t width;

      end   = begin + Least(most, w->nwindows - begin);
      width = (int32_t)HrpbBlockWindows((uint32_t)(end - begin), CountValues(w, end), w->most_values);
      for (int32_t first = begin; first < end; first += width) {
        PackBlock(w, first, Least(first + width, end));
        if (h) {
          StorePointers(t, h);
          StoreBlock(w, h->pattern + (size_t)t->pattern * HRPB_PATTERN_UNIT);
          memcpy(h->windows + t->nwindows, w->windows + first, sizeof(*w->windows) * w->header.nwindows);
        }
        AddBlock(w, t);
      }
    }
    EndPanel(w);
  }
  if (h) {
    h->blocked_row_ptr[npanels] = (uint32_t)t->nblocks;
    StorePointers(t, h);
  }
}

/* malloc() for n items, or none. Its alignment suffices for all but the pattern */
static void *Allocate(size_t n, size_t size)
{
  return malloc(n ? n * size : 1);
}

static HrpbError AllocateArrays(Hrpb *h, bool ordered)
{
  const size_t npointers = (size_t)h->nblocks + 1;

  h->blocked_row_ptr = (uint32_t *)Allocate((size_t)h->npanels + 1, sizeof(*h->blocked_row_ptr));
  h->pattern_ptr     = (uint32_t *)Allocate(npointers, sizeof(*h->pattern_ptr));
  h->value_ptr       = (uint32_t *)Allocate(npointers, sizeof(*h->value_ptr));
  h->window_ptr      = (uint32_t *)Allocate(npointers, sizeof(*h->window_ptr));
  h->windows         = (int32_t *)Allocate((size_t)h->nwindows, sizeof(*h->windows));
  h->pattern         = (uint8_t *)aligned_alloc(HRPB_PATTERN_UNIT, h->pattern_bytes ? (size_t)h->pattern_bytes : HRPB_PATTERN_UNIT);
  if (ordered) h->order = (int32_t *)Allocate((size_t)h->nrows, sizeof(*h->order));
  if (!h->blocked_row_ptr || !h->pattern_ptr || !h->value_ptr || !h->window_ptr || !h->windows || !h->pattern || (ordered && !h->order)) return HRPB_ERR_MEMORY;
  return HRPB_SUCCESS;
}

static HrpbError Build(Builder *w, Hrpb *h)
{
  HrpbTotals t;
  HrpbError  err;

  h->params  = w->params;
  h->nrows   = w->nrows;
  h->ncols   = w->ncols;
  h->nnz     = (int64_t)w->rowptr[w->nrows] - w->rowptr[0];
  h->npanels = (int32_t)(((int64_t)w->nrows + w->params.panel_rows - 1) / w->params.panel_rows);

  w->most_values = UINT32_MAX;
  Walk(w, h->npanels, &t, NULL);
  w->most_values = HrpbMostValues(&w->params, h->nnz, t.nwindows);
  if (t.max_values * HRPB_VALUE_UNIT > HrpbStored(w->most_values, w->params.pairs)) Walk(w, h->npanels, &t, NULL);
  if (!HrpbTotalsFit(&t)) return HRPB_ERR_OVERFLOW;
  h->nblocks       = (int32_t)t.nblocks;
  h->nbricks       = t.nbricks;
  h->nwindows      = t.nwindows;
  h->nbrick_cols   = t.nbrick_cols;
  h->pattern_bytes = t.pattern * HRPB_PATTERN_UNIT;
  h->value_count   = t.values * HRPB_VALUE_UNIT;
  h->max_pattern   = (uint32_t)t.max_pattern;
  h->max_values    = (uint32_t)t.max_values;
  err              = AllocateArrays(h, w->order != NULL);
  if (err) return err;
  if (h->order) memcpy(h->order, w->order, sizeof(*h->order) * (size_t)h->nrows);
  Walk(w, h->npanels, &t, h);
  return HRPB_SUCCESS;
}

HrpbError HrpbBuildHost(int64_t nrows, int64_t ncols, const HrpbInt *rowptr, const HrpbInt *colidx, const int32_t *order, const HrpbParams *params, Hrpb *h)
{
  Builder  *w;
  int64_t   nwindows; /* of the matrix */
  HrpbError err;

  memset(h, 0, sizeof(*h));
  if (!HrpbParamsAreValid(params)) return HRPB_ERR_PARAMETER;
  err = HrpbCheckCsr(nrows, ncols, rowptr, colidx);
  if (!err && order) err = params->pairs ? HRPB_ERR_ORDER : HrpbCheckOrder(nrows, order);
  if (!err && params->pairs) err = HrpbCheckPairs(nrows, ncols, rowptr, colidx);
  if (err) return err;

  w = (Builder *)calloc(1, sizeof(*w));
  if (!w) return HRPB_ERR_MEMORY;
  w->rowptr       = rowptr;
  w->colidx       = colidx;
  w->order        = order;
  w->nrows        = (int32_t)nrows;
  w->ncols        = (int32_t)ncols;
  w->params       = *params;
  w->window_shift = __builtin_ctz((unsigned)params->window_cols);

  nwindows    = (ncols + params->window_cols - 1) / params->window_cols;
  w->windows  = (int32_t *)Allocate((size_t)nwindows, sizeof(*w->windows));
  w->spare    = (int32_t *)Allocate((size_t)nwindows, sizeof(*w->spare));
  w->position = (int32_t *)Allocate((size_t)nwindows, sizeof(*w->position));
  if (w->windows && w->spare && w->position) {
    for (int64_t i = 0; i < nwindows; i++) w->position[i] = -1;
    err = Build(w, h);
  } else err = HRPB_ERR_MEMORY;
  free(w->windows);
  free(w->spare);
  free(w->position);
  free(w);
  if (err) HrpbDestroy(h);
  return err;
}
