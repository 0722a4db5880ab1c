/*
   The format as kernels see it: arrays, a packed block taken apart, bricks decoded by a warp; and single entries of C without tensor cores.
*/
#pragma once

#include "mma.cuh"

/* Blocks of a panel that are multiplied together: all of them, or, with a slot for their sums, some */
struct WorkItem {
  int32_t  panel;
  uint32_t begin, end;
  int32_t  slot; /* -1 for a whole panel */
};

template <typename Scalar> struct Format {
  int32_t         nrows, strips; /* strips of a panel */
  int32_t         panel_rows, window_cols;
  int32_t         nitems;
  const WorkItem *items; /* NULL: the panels */
  const int32_t  *order;
  const uint32_t *blocked_row_ptr, *pattern_ptr, *value_ptr, *window_ptr;
  const int32_t  *windows;
  const uint8_t  *pattern;
  const Scalar   *values;
};

template <typename Scalar> static inline Format<Scalar> FormatOf(const Hrpb *h, const HrpbSchedule *s, const Scalar *values)
{
  return {h->nrows, h->params.panel_rows / h->params.brick_rows, h->params.panel_rows, h->params.window_cols, s->nitems, (const WorkItem *)s->items, h->order, h->blocked_row_ptr, h->pattern_ptr, h->value_ptr, h->window_ptr, h->windows, h->pattern, values};
}

template <typename Scalar> __device__ __forceinline__ WorkItem GetItem(const Format<Scalar> &f, int64_t i)
{
  if (f.items) return f.items[i];
  return {(int32_t)i, f.blocked_row_ptr[i], f.blocked_row_ptr[i + 1], -1};
}

static __device__ __forceinline__ uint32_t CountBlocks(const WorkItem &item)
{
  return item.end - item.begin;
}

template <int BM> struct PackedBlock {
  const uint8_t *pattern, *column, *offset, *strip_start;

  __device__ __forceinline__ explicit PackedBlock(const uint8_t *run) : PackedBlock(run, ((const HrpbBlockHeader *)run)->nbricks) { }
  __device__ __forceinline__ PackedBlock(const uint8_t *run, uint32_t nbricks)
  {
    pattern     = run + sizeof(HrpbBlockHeader);
    column      = pattern + BM / 2 * nbricks;
    offset      = column + HRPB_BRICK_COLS * nbricks;
    strip_start = offset + 2 * nbricks;
  }
  __device__ __forceinline__ uint32_t Pattern(uint32_t brick, int half) const { return ((const uint32_t *)pattern)[BM / 8 * brick + half]; }
  __device__ __forceinline__ uint32_t Column(uint32_t brick, uint32_t slot) const { return column[HRPB_BRICK_COLS * brick + slot]; }
  __device__ __forceinline__ uint32_t Offset(uint32_t brick) const { return ((const uint16_t *)offset)[brick]; }
  __device__ __forceinline__ uint32_t StripStart(uint32_t strip) const { return ((const uint16_t *)strip_start)[strip]; }

  /* The lane's slots of a brick: of row g and, with 16 rows, of row g + 8; zero where there is no entry, and all of them if it is not to be used */
  template <typename Scalar> __device__ __forceinline__ void Decode(uint32_t brick, bool use, const Scalar *values, uint32_t lane, Scalar a[BM / 8]) const
  {
    const uint32_t bit = 1u << lane, low = Pattern(brick, 0);
    const Scalar  *v   = values + Offset(brick);

    a[0] = 0;
    if (use && low & bit) a[0] = v[__popc(low & (bit - 1))];
    if (BM == 16) {
      const uint32_t high = Pattern(brick, 1);

      a[BM / 8 - 1] = 0;
      if (use && high & bit) a[BM / 8 - 1] = v[__popc(low) + __popc(high & (bit - 1))];
    }
  }
};

__device__ __forceinline__ bool IsFinite(double x)
{
  return (__double2hiint(x) & 0x7ff00000) != 0x7ff00000;
}
__device__ __forceinline__ bool IsFinite(float x)
{
  return (__float_as_uint(x) & 0x7f800000) != 0x7f800000;
}

template <typename Scalar> __device__ __forceinline__ int32_t MatrixRow(const Format<Scalar> &f, int32_t panel, int32_t i)
{
  return HrpbRowOfPanel(f.order, f.nrows, f.panel_rows, panel, i);
}

/* Column of the matrix that is a local column of a block, from the block's windows */
template <typename Scalar> __device__ __forceinline__ int64_t MatrixColumn(const Format<Scalar> &f, const int32_t *windows, uint32_t column)
{
  return (int64_t)windows[column / f.window_cols] * f.window_cols + column % f.window_cols;
}

/*
   An entry of C as MATAIJ computes it: row of a panel times the column b of B. A tensor core multiplies the empty slots of a brick, too, and zero
   times Inf or NaN is NaN; so what does not come out finite is computed again by this, which touches entries only
*/
template <int BM, typename Scalar> __device__ __noinline__ Scalar ExactEntry(const Format<Scalar> &f, int32_t panel, int32_t row, const Scalar *b)
{
  const uint32_t strip = row / BM, half = row % BM / 8, shift = row % 8 * HRPB_BRICK_COLS;
  Scalar         sum = 0;

  for (uint32_t block = f.blocked_row_ptr[panel]; block < f.blocked_row_ptr[panel + 1]; block++) {
    const PackedBlock<BM> p(f.pattern + (size_t)f.pattern_ptr[block] * HRPB_PATTERN_UNIT);
    const Scalar         *values  = f.values + (size_t)f.value_ptr[block] * HRPB_VALUE_UNIT;
    const int32_t        *windows = f.windows + f.window_ptr[block];

    for (uint32_t brick = p.StripStart(strip); brick < p.StripStart(strip + 1); brick++) {
      const uint32_t pattern = p.Pattern(brick, half);
      uint32_t       v       = p.Offset(brick) + (half ? __popc(p.Pattern(brick, 0)) : 0) + __popc(pattern & ((1u << shift) - 1));

      for (uint32_t slot = 0; slot < HRPB_BRICK_COLS; slot++) {
        if (pattern >> (shift + slot) & 1) sum += values[v++] * b[MatrixColumn(f, windows, p.Column(brick, slot))];
      }
    }
    if (sum != sum) break; /* stays NaN */
  }
  return sum;
}
