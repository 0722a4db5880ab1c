/*
   The active windows of a panel, found by a thread block: the panel's windows are marked as bits in shared memory, one range of windows after
   the other. A range begins at the first window that is left, so that a gap between columns costs nothing.
*/
#pragma once

#include "rows.cuh"

enum {
  HRPB_THREAD_WORDS = 8,                                /* of the bitmap: each thread clears and reads its own */
  HRPB_RANGE_WORDS  = HRPB_THREADS * HRPB_THREAD_WORDS, /* 8 kB */
  HRPB_RANGE        = HRPB_RANGE_WORDS * 32,            /* windows */
  HRPB_LONG_ROW     = 2048                              /* entries from which a row is the work of more than a warp */
};
#define HRPB_NO_WINDOW UINT32_MAX

/* In shared memory */
typedef struct {
  alignas(16) uint32_t bitmap[HRPB_RANGE_WORDS];      /* of the range at hand */
  HrpbInt  next[HRPB_MAX_PANEL], end[HRPB_MAX_PANEL]; /* of each row: its entries behind the range */
  uint32_t first[HRPB_WARPS], sum[HRPB_WARPS];        /* what each warp found */
} HrpbPanel;

/* A row-sorted CSR names a window several times in a row, and rows repeat each other: look before the atomic operation */
static __device__ inline void HrpbMark(HrpbPanel *s, uint32_t window)
{
  const uint32_t bit = 1u << window % 32;

  if (!(s->bitmap[window / 32] & bit)) atomicOr(s->bitmap + window / 32, bit);
}

static __device__ inline void HrpbBeginPanel(HrpbPanel *s, const HrpbRows *rows, int64_t panel)
{
  for (int32_t i = threadIdx.x; i < rows->panel_rows; i += HRPB_THREADS) {
    const int32_t row = HrpbMatrixRow(rows, panel, i);

    s->next[i] = row < 0 ? 0 : rows->rowptr[row];
    s->end[i]  = row < 0 ? 0 : rows->rowptr[row + 1];
  }
  __syncthreads();
}

/*
   Mark the windows of the next range, whose first is *first; false, for all threads, if no entry is left. Bit i of the bitmap is window *first + i.
   Between two calls a thread may read its own words of the bitmap, and nothing else of it
*/
static __device__ inline bool HrpbNextRange(HrpbPanel *s, const HrpbRows *rows, uint32_t *first)
{
  const int32_t lane = threadIdx.x % HRPB_LANES, warp = threadIdx.x / HRPB_LANES, shift = rows->shift;
  uint4        *words     = (uint4 *)(s->bitmap + threadIdx.x * HRPB_THREAD_WORDS);
  uint32_t      begin     = HRPB_NO_WINDOW;
  bool          long_rows = false;

  for (int32_t i = threadIdx.x; i < rows->panel_rows; i += HRPB_THREADS) {
    const int64_t next = s->next[i], left = s->end[i] - next;

    if (left > 0) begin = min(begin, (uint32_t)(rows->colidx[next] >> shift));
    if (left >= HRPB_LONG_ROW) long_rows = true;
  }
  for (int m = 0; m < HRPB_THREAD_WORDS / 4; m++) words[m] = make_uint4(0, 0, 0, 0);
  begin = __reduce_min_sync(HRPB_ALL_LANES, begin);
  if (lane == 0) s->first[warp] = begin;
  long_rows = __syncthreads_or(long_rows);
  for (int i = 0; i < HRPB_WARPS; i++) begin = min(begin, s->first[i]);
  if (begin == HRPB_NO_WINDOW) return false;
  *first = begin;

  if (long_rows) {
    for (int32_t i = 0; i < rows->panel_rows; i++) {
      const int64_t next = s->next[i], end = s->end[i];
      int64_t       stop;

      if (end - next < HRPB_LONG_ROW) continue;
      stop = HrpbLowerBound(rows->colidx, next, end, ((int64_t)begin + HRPB_RANGE) << shift);
      for (int64_t k = next + threadIdx.x; k < stop; k += HRPB_THREADS) HrpbMark(s, (uint32_t)(rows->colidx[k] >> shift) - begin);
      __syncthreads(); /* everyone has read next[i] */
      if (threadIdx.x == 0) s->next[i] = (HrpbInt)stop;
    }
    __syncthreads();
  }
  for (int32_t i = warp; i < rows->panel_rows; i += HRPB_WARPS) {
    const int64_t end  = s->end[i];
    int64_t       next = s->next[i];
    int           found;

    if (end - next >= HRPB_LONG_ROW) continue; /* its part was marked above */
    do {
      const uint32_t window = lane < end - next ? (uint32_t)(rows->colidx[next + lane] >> shift) - begin : HRPB_RANGE;
      const uint32_t before = __shfl_up_sync(HRPB_ALL_LANES, window, 1);

      if (window < HRPB_RANGE && (lane == 0 || window != before)) HrpbMark(s, window);
      found = __popc(__ballot_sync(HRPB_ALL_LANES, window < HRPB_RANGE));
      next += found;
    } while (found == HRPB_LANES);
    if (lane == 0) s->next[i] = (HrpbInt)next;
  }
  __syncthreads();
  return true;
}

/* Bits in the calling thread's words of the bitmap */
static __device__ inline uint32_t HrpbCountOwn(const HrpbPanel *s)
{
  const uint4 *words = (const uint4 *)(s->bitmap + threadIdx.x * HRPB_THREAD_WORDS);
  uint32_t     n     = 0;

  for (int m = 0; m < HRPB_THREAD_WORDS / 4; m++) n += __popc(words[m].x) + __popc(words[m].y) + __popc(words[m].z) + __popc(words[m].w);
  return n;
}

/* Active windows of a panel, the same for all threads */
static __device__ inline uint32_t HrpbCountPanel(HrpbPanel *s, const HrpbRows *rows, int64_t panel)
{
  uint32_t n = 0, first;

  HrpbBeginPanel(s, rows, panel);
  while (HrpbNextRange(s, rows, &first)) n += HrpbCountOwn(s);
  n = __reduce_add_sync(HRPB_ALL_LANES, n);
  if (threadIdx.x % HRPB_LANES == 0) s->sum[threadIdx.x / HRPB_LANES] = n;
  __syncthreads();
  n = 0;
  for (int i = 0; i < HRPB_WARPS; i++) n += s->sum[i];
  return n;
}

/* Sums over the panels, and the most windows that one has */
typedef struct {
  unsigned long long nwindows, nblocks;
  unsigned int       most;
} HrpbWindowTotals;

/*
   Count the active windows of each panel and the blocks of windows_per_block of them: nwindows [npanels] and nblocks [npanels], or NULL, and their
   sums, in totals, on the device too
*/
HrpbError HrpbCountWindows(const HrpbRows *rows, int32_t windows_per_block, uint32_t *nwindows, uint32_t *nblocks, HrpbWindowTotals *totals, HrpbStream stream);

/* Fill windows and window_ptr, but for its last number; window_start [npanels] and blocked_row_ptr [npanels + 1] say where each panel's begin */
HrpbError HrpbFillWindows(const HrpbRows *rows, int32_t windows_per_block, const uint32_t *window_start, const uint32_t *blocked_row_ptr, uint32_t *window_ptr, int32_t *windows, HrpbStream stream);
