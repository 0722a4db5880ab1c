/*
   The builder: one walk over panels and blocks, made twice, first to count and then to fill.
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

  /* the panel at hand */
  int32_t  nactive;
  int32_t *active;   /* [ncols] its active columns, ascending */
  int32_t *spare;    /* [ncols] where they are merged to */
  int32_t *position; /* [ncols] of a column in active, -1 if it is not active */
  int32_t  panel_rows;
  HrpbInt  next[HRPB_MAX_PANEL], end[HRPB_MAX_PANEL]; /* of each row: its entries not yet in a block */

  /* the block at hand, as it will be stored */
  HrpbBlockHeader header;
  uint64_t        pattern[MAX_BRICKS];
  uint8_t         column[MAX_BRICKS * HRPB_BRICK_COLS];
  uint16_t        offset[MAX_BRICKS];
  uint16_t        strip_start[MAX_STRIPS + 1];
} Builder;

/* Sort active, made of nparts ascending parts, by merging neighbours until one is left; part[nparts] is its end */
static void MergeActive(Builder *w, int32_t *part, int32_t nparts)
{
  while (nparts > 1) {
    int32_t *a = w->active, *merged = w->spare, n = 0;

    for (int32_t m = 0; m < nparts; m += 2) {
      const int32_t begin = part[m], middle = part[m + 1], end = m + 1 < nparts ? part[m + 2] : middle;
      int32_t       i = begin, j = middle;

      for (int32_t k = begin; k < end; k++) merged[k] = j == end || (i < middle && a[i] < a[j]) ? a[i++] : a[j++];
      part[n++] = begin;
    }
    part[n]   = w->nactive;
    nparts    = n;
    w->active = merged;
    w->spare  = a;
  }
}

/* Begin panel p: its rows and its active columns. Rows are sorted, so what a row adds to the columns is an ascending part */
static void BeginPanel(Builder *w, int32_t p)
{
  const int64_t first = (int64_t)p * w->params.panel_rows, left = w->nrows - first;
  int32_t       part[HRPB_MAX_PANEL + 1];
  int32_t       nparts = 0;

  w->panel_rows = left < w->params.panel_rows ? (int32_t)left : w->params.panel_rows;
  w->nactive    = 0;
  for (int32_t i = 0; i < w->panel_rows; i++) {
    const int64_t row   = w->order ? w->order[first + i] : first + i;
    const int32_t begin = w->nactive;

    w->next[i] = w->rowptr[row];
    w->end[i]  = w->rowptr[row + 1];
    for (HrpbInt k = w->next[i]; k < w->end[i]; k++) {
      const int32_t column = (int32_t)w->colidx[k];

      if (w->position[column] >= 0) continue;
      w->position[column]     = 0;
      w->active[w->nactive++] = column;
    }
    if (w->nactive > begin) part[nparts++] = begin;
  }
  part[nparts] = w->nactive;
  MergeActive(w, part, nparts);
  for (int32_t i = 0; i < w->nactive; i++) w->position[w->active[i]] = i;
}

static void EndPanel(Builder *w)
{
  for (int32_t i = 0; i < w->nactive; i++) w->position[w->active[i]] = -1;
}

/* Append the bricks of a strip to the block whose active columns begin at first; the cursors of its rows move past the block */
static void PackStrip(Builder *w, int32_t strip, int32_t first)
{
  const int32_t  bm                        = w->params.brick_rows;
  const int32_t  row0                      = strip * bm;
  const int32_t  nrows                     = w->panel_rows - row0 < bm ? w->panel_rows - row0 : bm;
  uint64_t       used[HRPB_MAX_BLOCK / 64] = {0};            /* the strip's active columns among the block's */
  uint8_t        local[HRPB_MAX_BRICK_ROWS][HRPB_MAX_BLOCK]; /* the columns of each row, */
  int32_t        nlocal[HRPB_MAX_BRICK_ROWS];                /* how many there are, */
  uint8_t        rank[HRPB_MAX_BLOCK];                       /* and their place among the strip's active columns */
  uint32_t       n      = 0;
  const uint32_t brick0 = w->header.nbricks;
  uint8_t       *column = w->column + (size_t)brick0 * HRPB_BRICK_COLS;

  for (int32_t i = 0; i < nrows; i++) {
    HrpbInt k = w->next[row0 + i];

    nlocal[i] = 0;
    for (; k < w->end[row0 + i]; k++) {
      const int32_t c = w->position[w->colidx[k]] - first;

      if (c >= (int32_t)w->header.ncols) break;
      local[i][nlocal[i]++] = (uint8_t)c;
      used[c / 64] |= (uint64_t)1 << c % 64;
    }
    w->next[row0 + i] = k;
  }
  for (int32_t m = 0; m < HRPB_MAX_BLOCK / 64; m++) {
    for (uint64_t bits = used[m]; bits; bits &= bits - 1) {
      const int32_t c = 64 * m + __builtin_ctzll(bits);

      rank[c]     = (uint8_t)n;
      column[n++] = (uint8_t)c;
    }
  }
  for (; n % HRPB_BRICK_COLS; n++) column[n] = column[n - 1];
  w->header.nbricks += n / HRPB_BRICK_COLS;

  memset(w->pattern + brick0, 0, sizeof(*w->pattern) * (n / HRPB_BRICK_COLS));
  for (int32_t i = 0; i < nrows; i++) {
    for (int32_t k = 0; k < nlocal[i]; k++) {
      const uint32_t r = rank[local[i][k]];

      w->pattern[brick0 + r / HRPB_BRICK_COLS] |= (uint64_t)1 << ((uint32_t)i * HRPB_BRICK_COLS + r % HRPB_BRICK_COLS);
    }
  }
  for (uint32_t brick = brick0; brick < w->header.nbricks; brick++) {
    w->offset[brick] = (uint16_t)w->header.nvalues;
    w->header.nvalues += (uint32_t)__builtin_popcountll(w->pattern[brick]);
  }
}

/* The block of the panel's active columns first, first + 1, ... */
static void PackBlock(Builder *w, int32_t first)
{
  const int32_t left = w->nactive - first, nstrips = w->params.panel_rows / w->params.brick_rows;

  memset(&w->header, 0, sizeof(w->header));
  w->header.ncols = (uint32_t)(left < w->params.block_cols ? left : w->params.block_cols);
  for (int32_t strip = 0; strip < nstrips; strip++) {
    w->strip_start[strip] = (uint16_t)w->header.nbricks;
    PackStrip(w, strip, first);
  }
  w->strip_start[nstrips] = (uint16_t)w->header.nbricks;
}

/* Write the pattern run of the block at hand */
static void StoreBlock(const Builder *w, uint8_t *run)
{
  const int32_t  bm = w->params.brick_rows, nstrips = w->params.panel_rows / bm;
  const uint32_t n = w->header.nbricks;

  memset(run, 0, HrpbBlockBytes(&w->params, n));
  memcpy(run, &w->header, sizeof(w->header));
  if (bm == 16) memcpy(run + HrpbOffsetPattern(), w->pattern, sizeof(uint64_t) * n);
  else {
    uint32_t *pattern = (uint32_t *)(run + HrpbOffsetPattern());

    for (uint32_t brick = 0; brick < n; brick++) pattern[brick] = (uint32_t)w->pattern[brick];
  }
  memcpy(run + HrpbOffsetColumn(bm, n), w->column, (size_t)HRPB_BRICK_COLS * n);
  memcpy(run + HrpbOffsetValueOffset(bm, n), w->offset, sizeof(uint16_t) * n);
  memcpy(run + HrpbOffsetStripStart(bm, n), w->strip_start, sizeof(uint16_t) * (size_t)(nstrips + 1));
}

/* Note in h where the block that comes next begins */
static void StorePointers(const HrpbTotals *t, Hrpb *h)
{
  h->pattern_ptr[t->nblocks] = (uint32_t)t->pattern;
  h->value_ptr[t->nblocks]   = (uint32_t)t->values;
  h->col_ptr[t->nblocks]     = (uint32_t)t->nstaged;
  h->run_ptr[t->nblocks]     = (uint32_t)t->nruns;
}

/* Walk all blocks in order, summing up in t; h, unless NULL, has its arrays and is filled on the way */
static void Walk(Builder *w, int32_t npanels, HrpbTotals *t, Hrpb *h)
{
  memset(t, 0, sizeof(*t));
  for (int32_t p = 0; p < npanels; p++) {
    if (h) h->blocked_row_ptr[p] = (uint32_t)t->nblocks;
    BeginPanel(w, p);
    for (int64_t first = 0; first < w->nactive; first += w->params.block_cols) {
      const int32_t *active = w->active + first;

      PackBlock(w, (int32_t)first);
      if (h) {
        StorePointers(t, h);
        StoreBlock(w, h->pattern + (size_t)t->pattern * HRPB_PATTERN_UNIT);
        memcpy(h->active_cols + t->nstaged, active, sizeof(*active) * w->header.ncols);
      }
      for (int32_t i = 0; i < (int32_t)w->header.ncols; i++) {
        if (i > 0 && active[i] == active[i - 1] + 1) continue;
        if (h) h->runs[t->nruns] = (HrpbRun){.column = active[i], .local = i};
        t->nruns++;
      }
      t->nblocks++;
      t->nbricks += w->header.nbricks;
      t->nstaged += w->header.ncols;
      t->nbrick_cols += (w->header.ncols + HRPB_BRICK_COLS - 1) / HRPB_BRICK_COLS;
      t->pattern += (int64_t)(HrpbBlockBytes(&w->params, w->header.nbricks) / HRPB_PATTERN_UNIT);
      t->values += (w->header.nvalues + HRPB_VALUE_UNIT - 1) / HRPB_VALUE_UNIT;
    }
    EndPanel(w);
  }
  if (h) {
    h->blocked_row_ptr[npanels] = (uint32_t)t->nblocks;
    StorePointers(t, h);
  }
}

/* malloc() for n items that may be none; for all but the pattern its alignment suffices */
static void *Allocate(size_t n, size_t size)
{
  return malloc(n ? n * size : 1);
}

static HrpbError AllocateArrays(Hrpb *h, const HrpbTotals *t, bool ordered)
{
  const size_t npointers = (size_t)h->nblocks + 1, bytes = (size_t)t->pattern * HRPB_PATTERN_UNIT;

  h->blocked_row_ptr = (uint32_t *)Allocate((size_t)h->npanels + 1, sizeof(*h->blocked_row_ptr));
  h->pattern_ptr     = (uint32_t *)Allocate(npointers, sizeof(*h->pattern_ptr));
  h->value_ptr       = (uint32_t *)Allocate(npointers, sizeof(*h->value_ptr));
  h->col_ptr         = (uint32_t *)Allocate(npointers, sizeof(*h->col_ptr));
  h->run_ptr         = (uint32_t *)Allocate(npointers, sizeof(*h->run_ptr));
  h->active_cols     = (int32_t *)Allocate((size_t)h->nstaged, sizeof(*h->active_cols));
  h->runs            = (HrpbRun *)Allocate((size_t)h->nruns, sizeof(*h->runs));
  h->pattern         = (uint8_t *)aligned_alloc(HRPB_PATTERN_UNIT, bytes ? bytes : HRPB_PATTERN_UNIT);
  if (ordered) h->order = (int32_t *)Allocate((size_t)h->nrows, sizeof(*h->order));
  if (!h->blocked_row_ptr || !h->pattern_ptr || !h->value_ptr || !h->col_ptr || !h->run_ptr || !h->active_cols || !h->runs || !h->pattern || (ordered && !h->order)) return HRPB_ERR_MEMORY;
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

  Walk(w, h->npanels, &t, NULL);
  if (!HrpbTotalsFit(&t)) return HRPB_ERR_OVERFLOW;
  h->nblocks     = (int32_t)t.nblocks;
  h->nbricks     = t.nbricks;
  h->nruns       = t.nruns;
  h->nstaged     = t.nstaged;
  h->nbrick_cols = t.nbrick_cols;
  err            = AllocateArrays(h, &t, w->order != NULL);
  if (err) return err;
  if (h->order) memcpy(h->order, w->order, sizeof(*h->order) * (size_t)h->nrows);
  Walk(w, h->npanels, &t, h);
  return HRPB_SUCCESS;
}

HrpbError HrpbBuildHost(int64_t nrows, int64_t ncols, const HrpbInt *rowptr, const HrpbInt *colidx, const int32_t *order, const HrpbParams *params, Hrpb *h)
{
  Builder  *w;
  HrpbError err;

  memset(h, 0, sizeof(*h));
  if (!HrpbParamsAreValid(params)) return HRPB_ERR_PARAMETER;
  err = HrpbCheckCsr(nrows, ncols, rowptr, colidx);
  if (!err && order) err = HrpbCheckOrder(nrows, order);
  if (err) return err;

  w = (Builder *)calloc(1, sizeof(*w));
  if (!w) return HRPB_ERR_MEMORY;
  w->rowptr   = rowptr;
  w->colidx   = colidx;
  w->order    = order;
  w->nrows    = (int32_t)nrows;
  w->ncols    = (int32_t)ncols;
  w->params   = *params;
  w->active   = (int32_t *)Allocate((size_t)ncols, sizeof(*w->active));
  w->spare    = (int32_t *)Allocate((size_t)ncols, sizeof(*w->spare));
  w->position = (int32_t *)Allocate((size_t)ncols, sizeof(*w->position));
  if (w->active && w->spare && w->position) {
    for (int64_t i = 0; i < ncols; i++) w->position[i] = -1;
    err = Build(w, h);
  } else err = HRPB_ERR_MEMORY;
  free(w->active);
  free(w->spare);
  free(w->position);
  free(w);
  if (err) HrpbDestroy(h);
  return err;
}
