/*
   A packed block taken apart, for the routines that walk the bricks on the host.
*/
#pragma once

#include "hrpb.h"

typedef struct {
  const HrpbBlockHeader *header;
  const uint16_t        *strip_start;
  const HrpbBrick       *brick;
} HrpbBlock;

static inline HrpbBlock HrpbGetBlock(const Hrpb *h, int64_t b)
{
  const uint8_t *run = h->pattern + (size_t)h->pattern_ptr[b] * HRPB_PATTERN_UNIT;
  HrpbBlock      block;

  block.header      = (const HrpbBlockHeader *)run;
  block.strip_start = (const uint16_t *)(run + HrpbOffsetStripStart());
  block.brick       = (const HrpbBrick *)(run + HrpbOffsetBricks(h->params.panel_rows / h->params.brick_rows));
  return block;
}

/* Bit row*HRPB_BRICK_COLS + slot, of all rows */
static inline uint64_t HrpbBrickPattern(const HrpbBrick *brick)
{
  return brick->pattern[0] | (uint64_t)brick->pattern[1] << 32;
}

/* Where the value of a bit is, counted from the first value of the block */
static inline uint32_t HrpbPlaceOfValue(const HrpbBrick *brick, uint32_t bit, int pairs)
{
  const uint32_t at = bit % 32, half = bit / 32, counted = (uint32_t)__builtin_popcount(brick->pattern[half] & HrpbCounted(at, pairs));

  return brick->value[half] + (pairs ? 2 * counted + HrpbPairPart(at) : counted);
}

/* The value of a bit, from the values of the block. The sign is turned as that of a NaN is, too */
static inline HrpbScalar HrpbValueOf(const HrpbBrick *brick, uint32_t bit, int pairs, const HrpbScalar *values)
{
  const HrpbScalar value = values[HrpbPlaceOfValue(brick, bit, pairs)];

  return pairs && HrpbPairMinus(bit) ? -value : value;
}

/* The matrix column that is local column c of block b */
static inline int32_t HrpbBlockColumn(const Hrpb *h, int64_t b, int32_t c)
{
  const int32_t tw = h->params.window_cols;

  return h->windows[h->window_ptr[b] + (uint32_t)(c / tw)] * tw + c % tw;
}

/* Rows of panel p: panel_rows, or fewer in the last one */
static inline int32_t HrpbPanelRows(const Hrpb *h, int64_t p)
{
  const int64_t left = h->nrows - p * h->params.panel_rows;

  return left < h->params.panel_rows ? (int32_t)left : h->params.panel_rows;
}

/* The matrix row that is row i of panel p */
static inline int32_t HrpbPanelRow(const Hrpb *h, int64_t p, int32_t i)
{
  const int64_t k = p * h->params.panel_rows + i;

  return h->order ? h->order[k] : (int32_t)k;
}
