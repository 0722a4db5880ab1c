/*
   Bricks as kernels see them: arrays and items of work. And single entries of C without tensor cores.
*/
#pragma once

#include "mma.cuh"
#include "../format/packed.cuh"

/* Blocks of a panel that are multiplied together: all of them, or some, whose sums have a slot */
struct WorkItem {
  int32_t  panel;
  uint32_t begin, end;
  int32_t  slot; /* -1 for a whole panel */
};

/*
   A panel that was cut. Its parts have the slots first, first + 1, ... Its counters, one for each strip, come behind
   those of index panels
*/
struct alignas(16) SplitPanel {
  int32_t panel, index, first, nslots;
};

template <typename Scalar> struct Format {
  int32_t         nrows, strips; /* strips of a panel */
  int32_t         panel_rows;
  uint32_t        window_shift; /* column >> window_shift is its window: a window has a power of two of columns */
  int32_t         nitems;
  const WorkItem *items; /* NULL: items are the panels */
  const int32_t  *order;
  const uint32_t *blocked_row_ptr, *pattern_ptr, *value_ptr, *window_ptr;
  const int32_t  *windows;
  const uint8_t  *pattern;
  const Scalar   *values;
  bool            pairs; /* see HrpbParams */
};

template <typename Scalar> static inline Format<Scalar> FormatOf(const Hrpb *h, const HrpbSchedule *s, const Scalar *values)
{
  return {h->nrows, h->params.panel_rows / h->params.brick_rows, h->params.panel_rows, (uint32_t)__builtin_ctz((unsigned)h->params.window_cols), s->nitems, (const WorkItem *)s->items, h->order, h->blocked_row_ptr, h->pattern_ptr, h->value_ptr, h->window_ptr, h->windows, h->pattern, values, h->params.pairs != 0};
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

/* The column of the matrix that is a local column of a block with these windows */
template <typename Scalar> __device__ __forceinline__ int64_t MatrixColumn(const Format<Scalar> &f, const int32_t *windows, uint32_t column)
{
  return ((int64_t)windows[column >> f.window_shift] << f.window_shift) + (column & ((1u << f.window_shift) - 1));
}

/*
   An entry of C as MATAIJ computes it: a row of a panel times column b of B, whose rows are step scalars apart. A
   tensor core multiplies the empty slots of a brick, too, and zero times Inf or NaN is NaN. So what does not come out
   finite is computed again by this function, which touches entries only. The registers of what a kernel calls count for
   the kernel: so plain values have a function without the arithmetic of pairs
*/
template <int BM, bool PAIRS, typename Scalar> __device__ __noinline__ Scalar ExactEntry(const Format<Scalar> &f, int32_t panel, int32_t row, const Scalar *b, int64_t step)
{
  const uint32_t strip = row / BM, half = row % BM / 8, shift = row % 8 * HRPB_BRICK_COLS;
  Scalar         sum = 0;

  for (uint32_t block = f.blocked_row_ptr[panel]; block < f.blocked_row_ptr[panel + 1]; block++) {
    const PackedBlock p(f.pattern + (size_t)f.pattern_ptr[block] * HRPB_PATTERN_UNIT, f.strips);
    const Scalar     *values  = f.values + (size_t)f.value_ptr[block] * HRPB_VALUE_UNIT;
    const int32_t    *windows = f.windows + f.window_ptr[block];

    for (uint32_t i = p.strip_start[strip]; i < p.strip_start[strip + 1]; i++) {
      const PackedBrick brick   = p.brick[i];
      const uint32_t    pattern = brick.Pattern(half);
      uint32_t          v       = brick.Value(half) + __popc(pattern & ((1u << shift) - 1));

      for (uint32_t slot = 0; slot < HRPB_BRICK_COLS; slot++) {
        if (!(pattern >> (shift + slot) & 1)) continue;
        sum += (PAIRS ? brick.Entry(half, shift + slot, true, values) : values[v++]) * b[MatrixColumn(f, windows, brick.Column(slot)) * step];
      }
    }
    if (sum != sum) break; /* it stays NaN */
  }
  return sum;
}
