/*
   A warp walks along a strip, through the blocks of a panel, with a cursor in each of its rows. So it need not search
   for entries, except where it starts in the middle of a panel.

   The unit of work is a strip of up to HRPB_GROUP consecutive blocks, whatever their panels. So panels of any width and
   number keep a device busy. The rows of a strip are one half of 8 rows (bricks of 8) or two (bricks of 16). Lane i
   works on row i/4 of each half. In a brick it works on slot i%4 of that row, which is bit i of the half of the
   pattern.
*/
#pragma once

#include "rows.cuh"

enum {
  HRPB_GROUP       = 32, /* the most blocks of a unit: one for each lane, where lanes read ahead */
  HRPB_LEAST_GROUP = 4,  /* the fewest, where there would be fewer than HRPB_FEW_UNITS units */
  HRPB_FEW_UNITS   = 8192,
  HRPB_HALF_ROWS   = 8
};

typedef struct {
  int32_t  strip;
  uint32_t begin, end; /* blocks */
} HrpbUnit;

typedef struct {
  int64_t n;     /* fits 32 bits: two bytes for each strip of each block fit the offsets of the pattern */
  int32_t group; /* blocks of one */
} HrpbUnits;

static inline HrpbUnits HrpbMakeUnits(const Hrpb *h)
{
  HrpbUnits units = {0, HRPB_GROUP};

  for (;; units.group /= 2) {
    units.n = ((int64_t)h->nblocks + units.group - 1) / units.group * (h->params.panel_rows / h->params.brick_rows);
    if (units.n >= HRPB_FEW_UNITS || units.group == HRPB_LEAST_GROUP) return units;
  }
}

/* The strips of a group follow each other: they read the same windows and pointers */
static __device__ inline HrpbUnit HrpbGetUnit(const Hrpb *h, const HrpbUnits *units, uint32_t unit)
{
  const uint32_t nstrips = h->params.panel_rows / h->params.brick_rows;
  HrpbUnit       u;

  u.strip = unit % nstrips;
  u.begin = unit / nstrips * units->group;
  u.end   = min(u.begin + units->group, (uint32_t)h->nblocks);
  return u;
}

template <int HALVES> struct HrpbCursors {
  int64_t next[HALVES], end[HALVES]; /* of the lane's row in each half */
};

/*
   The panel of a block, which is panel or a later one. All lanes of a warp call it. They go in steps of 1, 32, 1024,
   ... panels until that is too far, then back to steps of 1
*/
static __device__ inline int64_t HrpbFindPanel(const uint32_t *blocked_row_ptr, int32_t npanels, int64_t panel, uint32_t block)
{
  const int lane = threadIdx.x % HRPB_LANES;

  for (int64_t step = 1; step > 0;) {
    const int64_t ahead = panel + (lane + 1) * step;
    const int     n     = __popc(__ballot_sync(HRPB_ALL_LANES, ahead < npanels && blocked_row_ptr[ahead] <= block));

    panel += n * step;
    step = n == HRPB_LANES ? step * HRPB_LANES : step / HRPB_LANES;
  }
  return panel;
}

/* Set the cursors to the first entries of a block of a panel, or behind them */
template <int HALVES> static __device__ inline HrpbCursors<HALVES> HrpbSeek(const HrpbRows *rows, const Hrpb *h, int64_t panel, int32_t strip, uint32_t block)
{
  HrpbCursors<HALVES> c;

#pragma unroll
  for (int half = 0; half < HALVES; half++) {
    const int32_t row = HrpbMatrixRow(rows, panel, (strip * HALVES + half) * HRPB_HALF_ROWS + threadIdx.x % HRPB_LANES / 4);

    c.next[half] = row < 0 ? 0 : rows->rowptr[row];
    c.end[half]  = row < 0 ? 0 : rows->rowptr[row + 1];
    if (block != h->blocked_row_ptr[panel]) {
      const int64_t column = (int64_t)h->windows[h->window_ptr[block]] << rows->shift;

      c.next[half] = HrpbLowerBound(rows->colidx, c.next[half], c.end[half], column);
    }
  }
  return c;
}
