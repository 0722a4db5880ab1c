/*
   The active windows of a panel, found by a thread block. It marks the panel's windows as bits in shared memory, one
   range of windows after the other. A range begins at the first window that is left, so a gap between columns costs
   nothing.

   A panel with very many entries is cut in segments of windows, for as many thread blocks.
*/
#pragma once

#include "input.cuh"
#include "rows.cuh"

enum {
  HRPB_THREAD_WORDS  = 8,                                /* words of the bitmap that each thread clears and reads */
  HRPB_RANGE_WORDS   = HRPB_THREADS * HRPB_THREAD_WORDS, /* 8 kB */
  HRPB_RANGE         = HRPB_RANGE_WORDS * 32,            /* windows */
  HRPB_LONG_ROW      = 2048,                             /* entries: such a row is for more than a warp */
  HRPB_HEAVY_PANEL   = 1 << 16,                          /* entries: for more than a thread block */
  HRPB_SEGMENT       = 1 << 14,                          /* entries of a segment */
  HRPB_MOST_SEGMENTS = 32,                               /* the most segments of a panel */
  HRPB_MOST_UNITS    = 1 << 22,                          /* the most segments of all panels together */
  HRPB_BLOCKS_CUT    = 2048,                             /* thread blocks for cut panels; most are empty */
  HRPB_SEGMENT_SHIFT = 61,                               /* panels between the turns of two segments */
  HRPB_ROW_LANES     = 8,                                /* lanes that have a row, unless it is long */
  HRPB_READS         = 8                                 /* entries of a lane that are on their way together */
};
#define HRPB_NO_WINDOW UINT32_MAX

/* A panel as its thread block has it in shared memory */
typedef struct {
  alignas(16) uint32_t bitmap[HRPB_RANGE_WORDS];      /* of the range at hand */
  HrpbInt  next[HRPB_MAX_PANEL], end[HRPB_MAX_PANEL]; /* entries of each row behind the range */
  uint32_t first[HRPB_WARPS], sum[HRPB_WARPS];        /* what each warp found */
} HrpbPanel;

/* Panels, and the segments that they may be cut in. A thread block has a segment of a panel */
typedef struct {
  HrpbRows rows;
  int32_t  nsegments;       /* 1 where no panel is cut */
  int32_t  segment_windows; /* windows of a segment, a multiple of 32 */
} HrpbSegments;

/* heaviest: about the entries of the panel that has the most */
static inline HrpbSegments HrpbMakeSegments(const HrpbRows *rows, int64_t ncols, int64_t heaviest)
{
  const int64_t nwindows = (ncols >> rows->shift) + 1, most = HRPB_MOST_UNITS / ((int64_t)rows->npanels + 1);
  int64_t       n        = heaviest < HRPB_HEAVY_PANEL ? 1 : heaviest / HRPB_SEGMENT;

  if (n > HRPB_MOST_SEGMENTS) n = HRPB_MOST_SEGMENTS;
  if (n > most) n = most;
  if (n < 1) n = 1;
  return {*rows, (int32_t)n, (int32_t)((nwindows / n / 32 + 1) * 32)};
}

/*
   Whether a kernel has nothing to do: findings, unless they are NULL, say that there is no sorted CSR, or that panels
   are to be cut and are not
*/
static __device__ inline bool HrpbStops(const HrpbSegments *g, const HrpbFindings *findings)
{
  return findings && (!HrpbIsGood(findings) || (g->nsegments == 1 && findings->heaviest >= HRPB_HEAVY_PANEL));
}

/*
   A sorted CSR names a window several times in a row, and rows repeat each other. So look before the atomic operation
*/
static __device__ inline void HrpbMark(HrpbPanel *s, uint32_t window)
{
  const uint32_t bit = 1u << window % 32;

  if (!(s->bitmap[window / 32] & bit)) atomicOr(s->bitmap + window / 32, bit);
}

static __device__ inline uint32_t HrpbBlockSum(HrpbPanel *s, uint32_t n)
{
  uint32_t sum = 0;

  n = __reduce_add_sync(HRPB_ALL_LANES, n);
  __syncthreads(); /* the sums before have been read */
  if (threadIdx.x % HRPB_LANES == 0) s->sum[threadIdx.x / HRPB_LANES] = n;
  __syncthreads();
  for (int i = 0; i < HRPB_WARPS; i++) sum += s->sum[i];
  return sum;
}

/* The sum over the threads before. The sum over all threads is added to total */
static __device__ inline uint32_t HrpbBlockExclusiveSum(HrpbPanel *s, uint32_t own, uint32_t *total)
{
  const int      warp = threadIdx.x / HRPB_LANES;
  const uint32_t upto = HrpbWarpInclusiveSum(own);
  uint32_t       sum  = *total + upto - own;

  __syncthreads(); /* the sums before have been read */
  if (threadIdx.x % HRPB_LANES == HRPB_LANES - 1) s->sum[warp] = upto;
  __syncthreads();
  for (int i = 0; i < HRPB_WARPS; i++) {
    if (i < warp) sum += s->sum[i];
    *total += s->sum[i];
  }
  return sum;
}

/* Whether a panel is cut; the same in all threads */
static __device__ inline bool HrpbIsCut(HrpbPanel *s, const HrpbSegments *g, int64_t panel)
{
  const HrpbRows *rows    = &g->rows;
  int64_t         entries = 0;

  if (g->nsegments == 1) return false;
  if (!rows->order) entries = (int64_t)rows->rowptr[min((panel + 1) * rows->panel_rows, (int64_t)rows->nrows)] - rows->rowptr[min(panel * rows->panel_rows, (int64_t)rows->nrows)];
  else {
    uint32_t n = 0;

    for (int32_t i = threadIdx.x; i < rows->panel_rows; i += HRPB_THREADS) {
      const int32_t row = HrpbMatrixRow(rows, panel, i);

      if (row >= 0) n += (uint32_t)min((int64_t)rows->rowptr[row + 1] - rows->rowptr[row], (int64_t)HRPB_HEAVY_PANEL);
    }
    entries = HrpbBlockSum(s, n);
  }
  return entries >= HRPB_HEAVY_PANEL;
}

/* The rows of a segment of a panel, or of all of it */
static __device__ inline void HrpbBeginSegment(HrpbPanel *s, const HrpbSegments *g, int64_t panel, int32_t segment, bool cut)
{
  const HrpbRows *rows  = &g->rows;
  const int64_t   first = (int64_t)segment * g->segment_windows << rows->shift, last = (int64_t)(segment + 1) * g->segment_windows << rows->shift;

  for (int32_t i = threadIdx.x; i < rows->panel_rows; i += HRPB_THREADS) {
    const int32_t row  = HrpbMatrixRow(rows, panel, i);
    const int64_t next = row < 0 ? 0 : rows->rowptr[row], end = row < 0 ? 0 : rows->rowptr[row + 1];

    s->next[i] = (HrpbInt)(cut ? HrpbLowerBound(rows->colidx, next, end, first) : next);
    s->end[i]  = (HrpbInt)(cut ? HrpbLowerBound(rows->colidx, next, end, last) : end);
  }
  __syncthreads();
}

/*
   Mark the windows of the next range, the first of which is *first, a multiple of 32. Bit i of the bitmap is window
   *first + i. With two PARTS the halves of the panel have half of the bitmap each. False, in all threads, if no entry
   is left. Between two calls a thread may read its own words of the bitmap. Others only if all threads meet then
*/
template <int PARTS = 1> static __device__ inline bool HrpbNextRange(HrpbPanel *s, const HrpbRows *rows, uint32_t *first)
{
  constexpr int32_t ROWS = HRPB_LANES / HRPB_ROW_LANES, RANGE = HRPB_RANGE / PARTS; /* rows of a warp, windows */
  const int32_t     part_rows = rows->panel_rows / PARTS;
  const int32_t     lane = threadIdx.x % HRPB_LANES, warp = threadIdx.x / HRPB_LANES, shift = rows->shift;
  uint4        *words     = (uint4 *)(s->bitmap + threadIdx.x * HRPB_THREAD_WORDS);
  uint32_t      begin     = HRPB_NO_WINDOW;
  bool          long_rows = false;

  for (int32_t i = threadIdx.x; i < rows->panel_rows; i += HRPB_THREADS) {
    const int64_t next = s->next[i], left = s->end[i] - next;

    if (left > 0) begin = min(begin, (uint32_t)(rows->colidx[next] >> shift) & ~31u);
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
      stop = HrpbLowerBound(rows->colidx, next, end, ((int64_t)begin + RANGE) << shift);
      for (int64_t k = next + threadIdx.x; k < stop; k += HRPB_READS * HRPB_THREADS) {
        uint32_t window[HRPB_READS];

        /* beyond the end the last entry again */
#pragma unroll
        for (int u = 0; u < HRPB_READS; u++) window[u] = (uint32_t)(rows->colidx[min(k + u * HRPB_THREADS, stop - 1)] >> shift) - begin;
#pragma unroll
        for (int u = 0; u < HRPB_READS; u++) HrpbMark(s, window[u] + (PARTS > 1 ? i / part_rows * RANGE : 0));
      }
      __syncthreads(); /* everyone has read next[i] */
      if (threadIdx.x == 0) s->next[i] = (HrpbInt)stop;
    }
    __syncthreads();
  }
  /* HRPB_ROW_LANES lanes have a row. All lanes of a warp stay in the loop as long as its first row does */
  for (int32_t first_row = warp * ROWS; first_row < rows->panel_rows; first_row += HRPB_WARPS * ROWS) {
    const int32_t row  = first_row + lane / HRPB_ROW_LANES, at = lane % HRPB_ROW_LANES;
    /* the entries of a long row were marked above */
    const bool    mine = row < rows->panel_rows && s->end[row] - s->next[row] < HRPB_LONG_ROW;
    const int64_t end  = mine ? s->end[row] : 0;
    int64_t       next = mine ? s->next[row] : 0;
    int           found;

    do {
      uint32_t window[HRPB_READS];

      found = 0;
#pragma unroll
      for (int u = 0; u < HRPB_READS; u++) window[u] = u * HRPB_ROW_LANES + at < end - next ? (uint32_t)(rows->colidx[next + u * HRPB_ROW_LANES + at] >> shift) - begin : RANGE;
#pragma unroll
      for (int u = 0; u < HRPB_READS; u++) {
        const uint32_t before = __shfl_up_sync(HRPB_ALL_LANES, window[u], 1, HRPB_ROW_LANES);

        if (window[u] < RANGE && (at == 0 || window[u] != before)) HrpbMark(s, window[u] + (PARTS > 1 ? row / part_rows * RANGE : 0));
        found += __popc(__ballot_sync(HRPB_ALL_LANES, window[u] < RANGE) >> (lane - at) & ((1u << HRPB_ROW_LANES) - 1));
      }
      next += found;
    } while (__any_sync(HRPB_ALL_LANES, found == HRPB_READS * HRPB_ROW_LANES));
    if (mine && at == 0) s->next[row] = (HrpbInt)next;
  }
  __syncthreads();
  return true;
}

/*
   Bits in the calling thread's words of the bitmap, and aligned groups of bits with one that is set. A group is a power
   of two, 32 at most
*/
typedef struct {
  uint32_t bits, groups;
} HrpbCounts;

static __device__ inline HrpbCounts HrpbCountOwn(const HrpbPanel *s, int32_t group)
{
  HrpbCounts n     = {0, 0};
  uint32_t   first = 0; /* of each group */

  for (int32_t i = 0; i < 32; i += group) first |= 1u << i;
  for (int m = 0; m < HRPB_THREAD_WORDS; m++) {
    uint32_t word = s->bitmap[threadIdx.x * HRPB_THREAD_WORDS + m];

    n.bits += __popc(word);
    for (int32_t distance = 1; distance < group; distance *= 2) word |= word >> distance;
    n.groups += __popc(word & first);
  }
  return n;
}

/* Active windows of a segment, and groups of them; the same in all threads */
static __device__ inline HrpbCounts HrpbCountSegment(HrpbPanel *s, const HrpbSegments *g, int64_t panel, int32_t segment, int32_t group)
{
  const bool cut = HrpbIsCut(s, g, panel);
  HrpbCounts n   = {0, 0};
  uint32_t   first;

  if (segment && !cut) return n;
  HrpbBeginSegment(s, g, panel, segment, cut);
  while (HrpbNextRange(s, &g->rows, &first)) {
    const HrpbCounts own = HrpbCountOwn(s, group);

    n.bits += own.bits;
    n.groups += own.groups;
  }
  n.bits   = HrpbBlockSum(s, n.bits);
  n.groups = group > 1 ? HrpbBlockSum(s, n.groups) : n.bits;
  return n;
}

/* Sums over the panels, and the most of one panel */
typedef struct {
  unsigned long long nwindows, ngroups, nblocks;
  unsigned int       most;
} HrpbWindowTotals;

/* Segments of all panels; those of a panel follow each other */
static inline int64_t HrpbCountSegments(const HrpbSegments *g)
{
  return (int64_t)g->rows.npanels * g->nsegments;
}

/*
   The first segments, which all panels have, come before the others. Those of a panel are an odd number of units apart.
   So they fall to different thread blocks, whose number is a power of two
*/
static __device__ inline int64_t HrpbPanelOfUnit(const HrpbSegments *g, int64_t unit)
{
  return (unit + unit / g->rows.npanels * (HRPB_SEGMENT_SHIFT - g->rows.npanels % 2)) % g->rows.npanels;
}

static inline unsigned int HrpbSegmentGrid(const HrpbSegments *g)
{
  return HrpbGrid(HrpbCountSegments(g), 1, g->nsegments > 1 ? HRPB_BLOCKS_CUT : INT32_MAX);
}

/*
   Count the active windows of all segments, in nwindows [HrpbCountSegments()], unless HrpbStops(). ngroups, which may
   be NULL if a group is one window, gets the aligned groups of windows with an active one. nblocks [npanels], which may
   be NULL, gets the blocks of windows_per_block windows of each panel. totals are on the device, too, and zeros before;
   its most counts groups
*/
HrpbError HrpbCountWindows(const HrpbSegments *g, int32_t group, const HrpbFindings *findings, uint32_t *nwindows, uint32_t *ngroups, int32_t windows_per_block, uint32_t *nblocks, HrpbWindowTotals *totals, HrpbStream stream);

/*
   Fill windows and window_ptr. window_start [HrpbCountSegments() + 1] says where the windows of each segment begin,
   blocked_row_ptr [npanels + 1] where the blocks of each panel do
*/
HrpbError HrpbFillWindows(const HrpbSegments *g, int32_t windows_per_block, const uint32_t *window_start, const uint32_t *blocked_row_ptr, uint32_t *window_ptr, int32_t *windows, HrpbStream stream);
