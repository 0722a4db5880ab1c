/*
   The builder of bricks on the device. As on the host it finds everything twice, first to count and then to fill: the
   windows of the panels (windows.cu), then the bricks of the strips. Between the two, blocks with too many values are
   cut. Sums come to the host. It refuses what does not fit.

   Each time the host waits for a sum the device is idle. So arrays whose size is not known yet have room for as much as
   there can be: the survey of a matrix says how many windows. Only the pattern, which is long, waits for its size.
*/
#include <stdlib.h>
#include <string.h>

#include "input.cuh"
#include "strip.cuh"
#include "windows.cuh"

enum {
  MOST_BLOCKS = 512, /* the most thread blocks that end with atomic operations on the same numbers */
  /* a count of values (HRPB_MAX_SLOTS at most) and one of bricks (2048 at most) share 32 bits and add as one number */
  VALUE_BITS  = 20,
  ROOM        = 1 << 22 /* windows that there may be room for without need */
};

namespace {
typedef struct {
  unsigned long long nbricks, nbrick_cols;
  unsigned long long pattern, values; /* in units */
  uint32_t           max_pattern, max_values;
  uint32_t           nblocks; /* when blocks have been cut */
  uint32_t           no_pairs; /* there are to be pairs, and some entries are none */
} BrickTotals;

typedef struct {
  HrpbWindowTotals windows; /* its nblocks: before they are cut */
  BrickTotals      bricks;
} Totals;

typedef struct {
  HrpbSegments segments;
  Totals      *totals;       /* behind blocked_row_ptr, in the same memory */
  uint32_t    *window_start; /* [segments of all panels + 1] */
  uint32_t    *first;        /* [blocks before they are cut + 1] the first piece of each */
  uint32_t    *uncut;        /* window_ptr before blocks are cut */
  uint32_t    *count;        /* [nblocks][nstrips + 1] bricks and values of strips; later sums before each */
  uint32_t    *used;         /* [nblocks][words] a bit for each local column of the block that has an entry */
  int32_t      words;
} Workspace;
} // namespace

/*
   Move the cursors of one half of a strip behind a block. Bit i of mask says that the lane found an entry in local
   column i of the block. Each of the four lanes of a row finds a part of its entries.
*/
template <int WORDS> static __device__ __forceinline__ void SweepRows(const HrpbInt *colidx, const int32_t *windows, int32_t nwindows, int32_t shift, int64_t *next, int64_t end, uint32_t (&mask)[WORDS])
{
  const int32_t lane = threadIdx.x % HRPB_LANES, last = windows[nwindows - 1];
  uint32_t      found;

#pragma unroll
  for (int m = 0; m < WORDS; m++) mask[m] = 0;
  do {
    const bool    valid  = lane % 4 < end - *next;
    const int32_t column = valid ? (int32_t)colidx[*next + lane % 4] : 0, window = column >> shift;
    const bool    inside = valid && window <= last;

    if (inside) {
      int32_t w = 0, local;

      for (int32_t n = nwindows; n > 1; n -= n / 2) {
        if (windows[w + n / 2] <= window) w += n / 2;
      }
      local = (w << shift) + (column & ((1 << shift) - 1));
#pragma unroll
      for (int m = 0; m < WORDS; m++) {
        if (local / 32 == m) mask[m] |= 1u << local % 32;
      }
    }
    found = __ballot_sync(HRPB_ALL_LANES, inside);
    *next += __popc(found >> (lane & ~3) & 15);
  } while (found & 0x88888888u); /* a row may have more entries where all of its four lanes found one */
}

/* Bit i of mask says that the row has an entry in local column i of the block: what its four lanes found together */
template <int WORDS> static __device__ __forceinline__ void GatherRow(uint32_t (&mask)[WORDS])
{
#pragma unroll
  for (int m = 0; m < WORDS; m++) {
    mask[m] |= __shfl_xor_sync(HRPB_ALL_LANES, mask[m], 1);
    mask[m] |= __shfl_xor_sync(HRPB_ALL_LANES, mask[m], 2);
  }
}

/* Whether the entries of two neighbouring rows are whole blocks of 2 x 2. mask is that of the lane's row */
template <int WORDS> static __device__ __forceinline__ bool ArePairs(const uint32_t (&mask)[WORDS])
{
  bool pairs = true;

#pragma unroll
  for (int m = 0; m < WORDS; m++) {
    const uint32_t other = __shfl_xor_sync(HRPB_ALL_LANES, mask[m], 4); /* all lanes take part */

    pairs = pairs && other == mask[m] && !((mask[m] ^ mask[m] >> 1) & 0x55555555);
  }
  return pairs;
}

/* The first sweep. There may be fewer blocks than h has room for */
template <int HALVES, int WORDS> static __global__ void __launch_bounds__(HRPB_THREADS) CountStrips(HrpbRows rows, Hrpb h, HrpbUnits units, uint32_t *count, uint32_t *used, uint32_t *no_pairs)
{
  const int32_t  lane = threadIdx.x % HRPB_LANES, nstrips = h.params.panel_rows / h.params.brick_rows;
  const uint32_t nblocks = h.blocked_row_ptr[h.npanels];

  for (int64_t unit = (int64_t)blockIdx.x * HRPB_WARPS + threadIdx.x / HRPB_LANES; unit < units.n; unit += (int64_t)gridDim.x * HRPB_WARPS) {
    const HrpbUnit u     = HrpbGetUnit(&h, &units, (uint32_t)unit);
    const uint32_t last  = min(u.end, nblocks);
    int64_t        panel = 0;

    for (uint32_t block = u.begin; block < last;) {
      HrpbCursors<HALVES> c;
      uint32_t            end;

      panel = HrpbFindPanel(h.blocked_row_ptr, h.npanels, panel, block);
      end   = min(last, h.blocked_row_ptr[panel + 1]);
      c     = HrpbSeek<HALVES>(&rows, &h, panel, u.strip, block);
      for (; block < end; block++) {
        const uint32_t window0 = h.window_ptr[block], nwindows = h.window_ptr[block + 1] - window0;
        uint32_t       strip_used[WORDS] = {0}, ncols = 0, nvalues = 0;

#pragma unroll
        for (int half = 0; half < HALVES; half++) {
          uint32_t mask[WORDS];

          SweepRows<WORDS>(rows.colidx, h.windows + window0, nwindows, rows.shift, &c.next[half], c.end[half], mask);
#pragma unroll
          for (int m = 0; m < WORDS; m++) {
            strip_used[m] |= mask[m];
            nvalues += __popc(mask[m]);
          }
          if (h.params.pairs) {
            GatherRow(mask);
            if (!ArePairs(mask)) *no_pairs = 1;
          }
        }
        nvalues = __reduce_add_sync(HRPB_ALL_LANES, nvalues);
#pragma unroll
        for (int m = 0; m < WORDS; m++) {
          const uint32_t bits = __reduce_or_sync(HRPB_ALL_LANES, strip_used[m]);

          ncols += __popc(bits);
          if (lane == m && bits) atomicOr(used + (int64_t)block * WORDS + m, bits);
        }
        if (lane == 0) count[(int64_t)block * (nstrips + 1) + u.strip] = (ncols + HRPB_BRICK_COLS - 1) / HRPB_BRICK_COLS << VALUE_BITS | HrpbStored(nvalues, h.params.pairs);
      }
    }
  }
}

/*
   Sum up the strips of each block, and the blocks. The sizes of the runs go to pattern_ptr and value_ptr: zeros for
   blocks that h has room for and that are not there
*/
static __global__ void __launch_bounds__(HRPB_THREADS) SumStrips(Hrpb h, uint32_t *count, const uint32_t *used, int32_t words, BrickTotals *totals)
{
  const int32_t  nstrips = h.params.panel_rows / h.params.brick_rows;
  const uint32_t nblocks = h.blocked_row_ptr[h.npanels];
  BrickTotals    t       = {0};

  if (blockIdx.x == 0 && threadIdx.x == 0) totals->nblocks = nblocks;
  for (int64_t block = (int64_t)blockIdx.x * HRPB_THREADS + threadIdx.x; block < h.nblocks; block += (int64_t)gridDim.x * HRPB_THREADS) {
    uint32_t *block_count = count + block * (nstrips + 1);
    uint32_t  sum = 0, ncols = 0, pattern, values;

    if (block >= nblocks) {
      h.pattern_ptr[block] = h.value_ptr[block] = 0;
      continue;
    }

    for (int32_t strip = 0; strip < nstrips; strip++) {
      const uint32_t n = block_count[strip];

      block_count[strip] = sum;
      sum += n;
    }
    block_count[nstrips] = sum;
    for (int32_t m = 0; m < words; m++) ncols += __popc(used[block * words + m]);

    pattern              = (uint32_t)(HrpbBlockBytes(&h.params, sum >> VALUE_BITS) / HRPB_PATTERN_UNIT);
    values               = ((sum & ((1u << VALUE_BITS) - 1)) + HRPB_VALUE_UNIT - 1) / HRPB_VALUE_UNIT;
    h.pattern_ptr[block] = pattern;
    h.value_ptr[block]   = values;
    t.nbricks += sum >> VALUE_BITS;
    t.nbrick_cols += (ncols + HRPB_BRICK_COLS - 1) / HRPB_BRICK_COLS;
    t.pattern += pattern;
    t.values += values;
    t.max_pattern = max(t.max_pattern, pattern);
    t.max_values  = max(t.max_values, values);
  }
  t.nbricks     = HrpbSumOfLanes(t.nbricks);
  t.nbrick_cols = HrpbSumOfLanes(t.nbrick_cols);
  t.pattern     = HrpbSumOfLanes(t.pattern);
  t.values      = HrpbSumOfLanes(t.values);
  t.max_pattern = __reduce_max_sync(HRPB_ALL_LANES, t.max_pattern);
  t.max_values  = __reduce_max_sync(HRPB_ALL_LANES, t.max_values);
  if (threadIdx.x % HRPB_LANES == 0 && t.nbricks) {
    atomicAdd(&totals->nbricks, t.nbricks);
    atomicAdd(&totals->nbrick_cols, t.nbrick_cols);
    atomicAdd(&totals->pattern, t.pattern);
    atomicAdd(&totals->values, t.values);
    atomicMax(&totals->max_pattern, t.max_pattern);
    atomicMax(&totals->max_values, t.max_values);
  }
}

/*
   Store what a block has besides its bricks and the starts of its strips: the header, the end of the last strip, the
   zeros
*/
static __device__ void StoreFrame(const HrpbParams *params, uint8_t *run, uint32_t nbricks, uint32_t nvalues, uint32_t nwindows)
{
  const int32_t  lane = threadIdx.x % HRPB_LANES, nstrips = params->panel_rows / params->brick_rows;
  const uint32_t start = (uint32_t)HrpbOffsetStripStart(), end = (uint32_t)HrpbOffsetBricks(nstrips);
  uint16_t      *strip_start = (uint16_t *)(run + start);

  if (lane == 0) *(HrpbBlockHeader *)run = {nbricks, nvalues, nwindows, 0};
  if (lane == 0) strip_start[nstrips] = (uint16_t)nbricks;
  for (uint32_t i = nstrips + 1 + lane; start + 2 * i < end; i += HRPB_LANES) strip_start[i] = 0;
}

/*
   Store the bricks of a strip of a block to brick. value is the number of its first value. mask[half] has all local
   columns of the lane's row. column is the warp's share of shared memory, a word for each brick
*/
template <int HALVES, int WORDS> static __device__ __forceinline__ void StoreBricks(const uint32_t (&mask)[HALVES][WORDS], uint32_t *column, HrpbBrick *brick, uint32_t value, int pairs)
{
  const int32_t lane  = threadIdx.x % HRPB_LANES;
  uint8_t      *byte  = (uint8_t *)column;
  uint32_t      ncols = 0, nbricks;
  int32_t       last  = 0;

  /* rank the columns in use */
  __syncwarp(); /* the warp may still read the words for the block before */
#pragma unroll
  for (int m = 0; m < WORDS; m++) {
    uint32_t bits = mask[0][m];

    if (HALVES == 2) bits |= mask[HALVES - 1][m];
    bits = __reduce_or_sync(HRPB_ALL_LANES, bits);
    if (bits >> lane & 1) byte[ncols + __popc(bits & ((1u << lane) - 1))] = (uint8_t)(32 * m + lane);
    if (bits) last = 32 * m + 31 - __clz(bits);
    ncols += __popc(bits);
  }
  nbricks = (ncols + HRPB_BRICK_COLS - 1) / HRPB_BRICK_COLS;
  if (ncols + lane < nbricks * HRPB_BRICK_COLS) byte[ncols + lane] = (uint8_t)last;
  __syncwarp();

  /* brick after brick, with a slot for each lane and half; then a brick for each lane */
  for (uint32_t first = 0; first < nbricks; first += HRPB_LANES) {
    const uint32_t n          = min(nbricks - first, (uint32_t)HRPB_LANES);
    uint32_t       pattern[2] = {0}, nvalues = 0, upto;

    for (uint32_t i = 0; i < n; i++) {
      const uint32_t slot = HRPB_BRICK_COLS * (first + i) + lane % HRPB_BRICK_COLS, local = byte[slot];

#pragma unroll
      for (int half = 0; half < HALVES; half++) {
        uint32_t word = 0, bits;

#pragma unroll
        for (int m = 0; m < WORDS; m++) {
          if (local / 32 == m) word = mask[half][m];
        }
        bits = __ballot_sync(HRPB_ALL_LANES, slot < ncols && (word >> local % 32 & 1));
        if (lane == i) pattern[half] = bits;
      }
    }
#pragma unroll
    for (int half = 0; half < HALVES; half++) nvalues += HrpbStored(__popc(pattern[half]), pairs);
    upto = HrpbWarpInclusiveSum(nvalues);
    if (lane < n) {
      const uint32_t low = value + upto - nvalues, high = HALVES == 2 ? low + HrpbStored(__popc(pattern[0]), pairs) : 0;

      *(uint4 *)(brick + first + lane) = make_uint4(pattern[0], pattern[1], column[first + lane], low | high << 16);
    }
    value += __shfl_sync(HRPB_ALL_LANES, upto, HRPB_LANES - 1);
  }
}

/* The second sweep. count has what is before each strip, pattern_ptr where the blocks are */
template <int HALVES, int WORDS> static __global__ void __launch_bounds__(HRPB_THREADS) FillStrips(HrpbRows rows, Hrpb h, HrpbUnits units, const uint32_t *count)
{
  __shared__ uint32_t column[HRPB_WARPS][HRPB_MAX_BLOCK / HRPB_BRICK_COLS];
  const int32_t       lane = threadIdx.x % HRPB_LANES, nstrips = h.params.panel_rows / h.params.brick_rows;
  const uint32_t      value_mask = (1u << VALUE_BITS) - 1;

  for (int64_t unit = (int64_t)blockIdx.x * HRPB_WARPS + threadIdx.x / HRPB_LANES; unit < units.n; unit += (int64_t)gridDim.x * HRPB_WARPS) {
    const HrpbUnit u     = HrpbGetUnit(&h, &units, (uint32_t)unit);
    int64_t        panel = 0;

    for (uint32_t block = u.begin; block < u.end;) {
      HrpbCursors<HALVES> c;
      uint32_t            end;

      panel = HrpbFindPanel(h.blocked_row_ptr, h.npanels, panel, block);
      end   = min(u.end, h.blocked_row_ptr[panel + 1]);
      c     = HrpbSeek<HALVES>(&rows, &h, panel, u.strip, block);
      for (; block < end; block++) {
        const uint32_t *block_count = count + (int64_t)block * (nstrips + 1);
        const uint32_t  before = block_count[u.strip], total = block_count[nstrips];
        const uint32_t  window0 = h.window_ptr[block], nwindows = h.window_ptr[block + 1] - window0;
        uint8_t        *run = h.pattern + (size_t)h.pattern_ptr[block] * HRPB_PATTERN_UNIT;
        uint32_t        mask[HALVES][WORDS];

        if (u.strip == 0) StoreFrame(&h.params, run, total >> VALUE_BITS, total & value_mask, nwindows);
        if (lane == 0) ((uint16_t *)(run + HrpbOffsetStripStart()))[u.strip] = (uint16_t)(before >> VALUE_BITS);
#pragma unroll
        for (int half = 0; half < HALVES; half++) {
          SweepRows<WORDS>(rows.colidx, h.windows + window0, nwindows, rows.shift, &c.next[half], c.end[half], mask[half]);
          GatherRow(mask[half]);
        }
        StoreBricks<HALVES, WORDS>(mask, column[threadIdx.x / HRPB_LANES], (HrpbBrick *)(run + HrpbOffsetBricks(nstrips)) + (before >> VALUE_BITS), before & value_mask, h.params.pairs);
      }
    }
  }
}

template <int HALVES, int WORDS> static HrpbError CountBricks(const Workspace *w, const Hrpb *h, HrpbStream stream)
{
  const HrpbUnits units = HrpbMakeUnits(h);

  HrpbCall(HrpbLaunch(CountStrips<HALVES, WORDS>, HrpbGrid(units.n, HRPB_WARPS), HRPB_THREADS, 0, stream, w->segments.rows, *h, units, w->count, w->used, &w->totals->bricks.no_pairs));
  return HRPB_SUCCESS;
}

template <int HALVES, int WORDS> static HrpbError FillBricks(const Workspace *w, const Hrpb *h, HrpbStream stream)
{
  const HrpbUnits units = HrpbMakeUnits(h);

  HrpbCall(HrpbLaunch(FillStrips<HALVES, WORDS>, HrpbGrid(units.n, HRPB_WARPS), HRPB_THREADS, 0, stream, w->segments.rows, *h, units, w->count));
  return HRPB_SUCCESS;
}

/*
   Function<HALVES, WORDS>() for these parameters. The words of masks are registers: narrow blocks shall not pay for 256
   columns
*/
#define ForWords(Function, HALVES, words, ...) \
  ((words) == 1 ? Function<HALVES, 1>(__VA_ARGS__) : (words) == 2 ? Function<HALVES, 2>(__VA_ARGS__) : (words) == 4 ? Function<HALVES, 4>(__VA_ARGS__) : Function<HALVES, 8>(__VA_ARGS__))
#define ForParams(Function, h, words, ...) ((h)->params.brick_rows == 8 ? ForWords(Function, 1, words, __VA_ARGS__) : ForWords(Function, 2, words, __VA_ARGS__))

/*
   The pieces that each block is cut into: none for blocks that h has room for and that are not there. A warp has a
   block, and a lane some rows of its panel, in which it searches for the block's first entry and for the next block's
*/
static __global__ void __launch_bounds__(HRPB_THREADS) CountPieces(HrpbRows rows, Hrpb h, const HrpbWindowTotals *totals, uint32_t *pieces)
{
  const int32_t  lane        = threadIdx.x % HRPB_LANES;
  const uint32_t most_values = HrpbMostValues(&h.params, h.nnz, (int64_t)totals->nwindows);
  const int64_t  nblocks     = (int64_t)totals->nblocks;
  int64_t        panel       = 0;

  for (int64_t block = nblocks + (int64_t)blockIdx.x * HRPB_THREADS + threadIdx.x; block < h.nblocks; block += (int64_t)gridDim.x * HRPB_THREADS) pieces[block] = 0;
  for (int64_t block = (int64_t)blockIdx.x * HRPB_WARPS + threadIdx.x / HRPB_LANES; block < nblocks; block += (int64_t)gridDim.x * HRPB_WARPS) {
    const uint32_t window0 = h.window_ptr[block], nwindows = h.window_ptr[block + 1] - window0;
    uint32_t       nvalues = 0, width;

    panel = HrpbFindPanel(h.blocked_row_ptr, h.npanels, panel, (uint32_t)block);

    const bool    last  = block + 1 == h.blocked_row_ptr[panel + 1];
    const int64_t first = (int64_t)h.windows[window0] << rows.shift, then = last ? 0 : (int64_t)h.windows[window0 + nwindows] << rows.shift;

    for (int32_t i = lane; i < rows.panel_rows; i += HRPB_LANES) {
      const int32_t row = HrpbMatrixRow(&rows, panel, i);

      if (row < 0) continue;
      const int64_t end = rows.rowptr[row + 1], begin = HrpbLowerBound(rows.colidx, rows.rowptr[row], end, first);

      nvalues += (uint32_t)((last ? end : HrpbLowerBound(rows.colidx, begin, end, then)) - begin);
    }
    nvalues = __reduce_add_sync(HRPB_ALL_LANES, nvalues);
    width   = HrpbBlockWindows(nwindows, nvalues, most_values);
    if (lane == 0) pieces[block] = (nwindows + width - 1) / width;
  }
}

/*
   Where the windows of the pieces begin, and the blocks of panels. first [nblocks + 1] has the first piece of each
   block
*/
static __global__ void __launch_bounds__(HRPB_THREADS) PlacePieces(Hrpb h, const HrpbWindowTotals *totals, const uint32_t *first, const uint32_t *uncut)
{
  const int64_t nblocks = (int64_t)totals->nblocks;

  for (int64_t block = (int64_t)blockIdx.x * HRPB_THREADS + threadIdx.x; block <= nblocks; block += (int64_t)gridDim.x * HRPB_THREADS) {
    const uint32_t window0 = uncut[block], npieces = block < nblocks ? first[block + 1] - first[block] : 1;
    const uint32_t width   = block < nblocks ? (uncut[block + 1] - window0 + npieces - 1) / npieces : 0;

    for (uint32_t i = 0; i < npieces; i++) h.window_ptr[first[block] + i] = window0 + i * width;
  }
  for (int64_t p = (int64_t)blockIdx.x * HRPB_THREADS + threadIdx.x; p <= h.npanels; p += (int64_t)gridDim.x * HRPB_THREADS) h.blocked_row_ptr[p] = first[h.blocked_row_ptr[p]];
}

/* Count the windows and blocks of panels. window_start and blocked_row_ptr become the sums before each */
static HrpbError CountPanels(Workspace *w, Hrpb *h, HrpbStream stream)
{
  const int32_t windows_per_block = h->params.block_cols / h->params.window_cols;
  const int64_t nsegments         = HrpbCountSegments(&w->segments);

  HrpbCall(HrpbAllocateTogether(stream, &h->blocked_row_ptr, (int64_t)h->npanels + 1, &w->totals, 1));
  HrpbCall(HrpbAllocate(&w->window_start, nsegments + 1, stream));

  uint32_t *const end = h->blocked_row_ptr + h->npanels + 1; /* what lies between comes to the host: BringTotals() */

  HrpbCallCuda(cudaMemsetAsync(end, 0, (size_t)((uint8_t *)(w->totals + 1) - (uint8_t *)end), stream));
  HrpbCall(HrpbCountWindows(&w->segments, 1, NULL, w->window_start, NULL, windows_per_block, h->blocked_row_ptr, &w->totals->windows, stream));
  return HrpbSumsBefore(w->window_start, nsegments, h->blocked_row_ptr, h->npanels, stream);
}

/*
   As many windows as there can be, by the survey of the matrix, or a number beyond ROOM. The windows of a panel are at
   most those of the panel of the survey that it lies in, and at most the columns of its strips
*/
static int64_t MostWindows(const HrpbSurvey *s, const HrpbParams *params)
{
  const HrpbParams staged = HrpbStagedParams();
  int64_t          windows;

  if (!s || staged.panel_rows % params->panel_rows) return (int64_t)ROOM + 1;
  windows = s->staged_rows / (params->window_cols < staged.window_cols ? params->window_cols : staged.window_cols);
  if (windows > s->needed_rows) windows = s->needed_rows;
  windows *= staged.panel_rows / params->panel_rows;
  return windows < s->strip_cols8 ? windows : s->strip_cols8;
}

/*
   The windows and uncut blocks that need room: at least as many as there are, without a wait, or exactly so many, with
   one
*/
static HrpbError MeasureRoom(const Workspace *w, Hrpb *h, const HrpbSurvey *s, HrpbStream stream)
{
  const int64_t    nstrips = h->params.panel_rows / h->params.brick_rows;
  int64_t          nwindows = MostWindows(s, &h->params), nblocks = nwindows / (h->params.block_cols / h->params.window_cols) + h->npanels;
  HrpbWindowTotals totals;

  if (nwindows > ROOM || nblocks * nstrips > ROOM) {
    HrpbCall(HrpbBring(&totals, &w->totals->windows, sizeof(totals), stream));
    if (totals.nwindows > UINT32_MAX || totals.nblocks > INT32_MAX) return HRPB_ERR_OVERFLOW;
    nwindows = (int64_t)totals.nwindows;
    nblocks  = (int64_t)totals.nblocks;
    /*
       the starts of strips alone, two bytes each, would be too long a pattern. Checked here, because the next arrays
       are as long
    */
    if (nblocks * nstrips > (int64_t)UINT32_MAX * (HRPB_PATTERN_UNIT / 2)) return HRPB_ERR_OVERFLOW;
  }
  h->nwindows = nwindows;
  h->nblocks  = (int32_t)nblocks;
  return HRPB_SUCCESS;
}

/* Cut those of nuncut blocks that have many values */
static HrpbError CutBlocks(const Workspace *w, const Hrpb *h, int32_t nuncut, HrpbStream stream)
{
  const HrpbWindowTotals *totals = &w->totals->windows;
  Hrpb                    uncut  = *h;

  uncut.nblocks    = nuncut;
  uncut.window_ptr = w->uncut;
  HrpbCall(HrpbLaunch(CountPieces, HrpbGrid(nuncut, HRPB_WARPS), HRPB_THREADS, 0, stream, w->segments.rows, uncut, totals, w->first));
  HrpbCall(HrpbSumsBefore(w->first, nuncut, NULL, 0, stream));
  HrpbCall(HrpbLaunch(PlacePieces, HrpbGrid((nuncut > h->npanels ? nuncut : h->npanels) + (int64_t)1, HRPB_THREADS), HRPB_THREADS, 0, stream, *h, totals, w->first, w->uncut));
  return HRPB_SUCCESS;
}

/*
   Make windows, window_ptr and the final blocked_row_ptr. Blocks that are cut have more values than half of the limit
   for each of their pieces. So all pieces together are at most as many as there would be blocks without gaps
*/
static HrpbError FindBlocks(Workspace *w, Hrpb *h, HrpbStream stream)
{
  const bool    cut    = HrpbSharesRows(&h->params);
  const int32_t nuncut = h->nblocks, nstrips = h->params.panel_rows / h->params.brick_rows, windows_per_block = h->params.block_cols / h->params.window_cols;
  const int64_t n      = nuncut + (cut ? h->nwindows / windows_per_block : 0);

  if (n > INT32_MAX) return HRPB_ERR_OVERFLOW;
  h->nblocks = (int32_t)n;
  HrpbCall(HrpbAllocateTogether(stream, &h->window_ptr, n + 1, &h->pattern_ptr, n + 1, &h->value_ptr, n + 1, &h->windows, h->nwindows));
  HrpbCall(HrpbAllocateTogether(stream, &w->count, n * (nstrips + 1), &w->used, n * w->words, &w->first, cut ? nuncut + 1 : 0, &w->uncut, cut ? nuncut + 1 : 0));
  HrpbCall(HrpbFillWindows(&w->segments, windows_per_block, w->window_start, h->blocked_row_ptr, cut ? w->uncut : h->window_ptr, h->windows, stream));
  return cut ? CutBlocks(w, h, nuncut, stream) : HRPB_SUCCESS;
}

/* Count bricks and values of all blocks. pattern_ptr and value_ptr become the sums before each */
static HrpbError CountBlocks(const Workspace *w, const Hrpb *h, HrpbStream stream)
{
  HrpbCallCuda(cudaMemsetAsync(w->used, 0, sizeof(*w->used) * (size_t)h->nblocks * (size_t)w->words, stream));
  HrpbCall(ForParams(CountBricks, h, w->words, w, h, stream));
  HrpbCall(HrpbLaunch(SumStrips, HrpbGrid(h->nblocks, HRPB_THREADS, MOST_BLOCKS), HRPB_THREADS, 0, stream, *h, w->count, w->used, w->words, &w->totals->bricks));
  return HrpbSumsBefore(h->pattern_ptr, h->nblocks, h->value_ptr, h->nblocks, stream);
}

/* Bytes of windows, and of what there is for each block */
static int64_t BlockBytes(const Hrpb *h)
{
  return (int64_t)(sizeof(*h->window_ptr) + sizeof(*h->pattern_ptr) + sizeof(*h->value_ptr)) * h->nblocks + (int64_t)sizeof(*h->windows) * h->nwindows;
}

/* Numbers in place of room. The blocks of panels come along, for the schedule of the bricks */
static HrpbError BringTotals(const Workspace *w, Hrpb *h, HrpbStream stream)
{
  const int64_t room    = BlockBytes(h);
  const size_t  at      = (size_t)((uint8_t *)w->totals - (uint8_t *)h->blocked_row_ptr), bytes = at + sizeof(Totals);
  uint8_t      *brought = (uint8_t *)malloc(bytes);
  Totals        totals;

  if (!brought) return HRPB_ERR_MEMORY;
  h->panel_blocks = (uint32_t *)brought;
  HrpbCall(HrpbBring(brought, h->blocked_row_ptr, bytes, stream));
  memcpy(&totals, brought + at, sizeof(totals));
  if (totals.bricks.no_pairs) return HRPB_ERR_CSR;
  if (totals.bricks.pattern > UINT32_MAX || totals.bricks.values > UINT32_MAX) return HRPB_ERR_OVERFLOW;
  h->nwindows      = (int64_t)totals.windows.nwindows;
  h->nblocks       = (int32_t)totals.bricks.nblocks;
  h->nbricks       = (int64_t)totals.bricks.nbricks;
  h->nbrick_cols   = (int64_t)totals.bricks.nbrick_cols;
  h->pattern_bytes = (int64_t)totals.bricks.pattern * HRPB_PATTERN_UNIT;
  h->value_count   = (int64_t)totals.bricks.values * HRPB_VALUE_UNIT;
  h->max_pattern   = totals.bricks.max_pattern;
  h->max_values    = totals.bricks.max_values;
  h->spare_bytes   = room - BlockBytes(h);
  return HRPB_SUCCESS;
}

static HrpbError Build(Workspace *w, const int32_t *order, const HrpbSurvey *survey, Hrpb *h, HrpbStream stream)
{
  if (order) {
    HrpbCall(HrpbAllocate(&h->order, h->nrows, stream));
    HrpbCallCuda(cudaMemcpyAsync(h->order, order, sizeof(*order) * (size_t)h->nrows, cudaMemcpyDeviceToDevice, stream));
  }
  HrpbCall(CountPanels(w, h, stream));
  HrpbCall(MeasureRoom(w, h, survey, stream));
  HrpbCall(FindBlocks(w, h, stream));
  HrpbCall(CountBlocks(w, h, stream));
  HrpbCall(BringTotals(w, h, stream));
  HrpbCall(HrpbAllocate(&h->pattern, h->pattern_bytes, stream));
  return ForParams(FillBricks, h, w->words, w, h, stream);
}

/* The CSR and the order have been checked, with this result. survey may be NULL */
static HrpbError BuildChecked(const HrpbInput *input, const HrpbSurvey *survey, int64_t nrows, int64_t ncols, const HrpbInt *rowptr, const HrpbInt *colidx, const int32_t *order, const HrpbParams *params, HrpbStream stream, Hrpb *h)
{
  Workspace      w;
  const HrpbRows rows = HrpbMakeRows(nrows, rowptr, colidx, order, params->panel_rows, params->window_cols);
  HrpbError      err;

  if (params->pairs && order) return HRPB_ERR_ORDER;
  if (params->pairs && (nrows % 2 || ncols % 2)) return HRPB_ERR_CSR;
  memset(&w, 0, sizeof(w));
  w.segments = HrpbMakeSegments(&rows, ncols, input->heaviest);
  w.words    = params->block_cols <= 32 ? 1 : params->block_cols <= 64 ? 2 : params->block_cols <= 128 ? 4 : HRPB_MAX_BLOCK / 32;
  h->params  = *params;
  h->nrows   = (int32_t)nrows;
  h->ncols   = (int32_t)ncols;
  h->nnz     = input->nnz;
  h->npanels = rows.npanels;
  err        = Build(&w, order, survey, h, stream);
  err        = HrpbFree(w.window_start, err, stream);
  err        = HrpbFree(w.count, err, stream);
  if (err) HrpbDestroyDevice(h, stream);
  return err;
}

HrpbError HrpbBuildDevice(int64_t nrows, int64_t ncols, const HrpbInt *rowptr, const HrpbInt *colidx, const int32_t *order, const HrpbParams *params, HrpbStream stream, Hrpb *h)
{
  HrpbInput input;

  memset(h, 0, sizeof(*h));
  if (!HrpbParamsAreValid(params)) return HRPB_ERR_PARAMETER;
  HrpbCall(HrpbCheckInputDevice(nrows, ncols, rowptr, colidx, order, stream, &input));
  return BuildChecked(&input, NULL, nrows, ncols, rowptr, colidx, order, params, stream, h);
}

HrpbError HrpbBuildSurveyedDevice(int64_t nrows, int64_t ncols, const HrpbInt *rowptr, const HrpbInt *colidx, const HrpbSurvey *s, const HrpbParams *params, HrpbStream stream, Hrpb *h)
{
  const HrpbInput input = {s->nnz, s->heaviest};

  memset(h, 0, sizeof(*h));
  if (!HrpbParamsAreValid(params)) return HRPB_ERR_PARAMETER;
  return BuildChecked(&input, s, nrows, ncols, rowptr, colidx, NULL, params, stream, h);
}

void HrpbDestroyDevice(Hrpb *h, HrpbStream stream)
{
  void *arrays[] = {h->order, h->blocked_row_ptr, h->window_ptr, h->pattern}; /* others lie behind these */

  /* there is nobody to tell of an error; errors of earlier work are the caller's to find */
  for (void *array : arrays) (void)HrpbFree(array, HRPB_SUCCESS, stream);
  free(h->panel_blocks);
  memset(h, 0, sizeof(*h));
}
