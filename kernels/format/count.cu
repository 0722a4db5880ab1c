#include "input.cuh"
#include "../common/launch.cuh"
#include "windows.cuh"

enum {
  LONG_ROW    = 256,                 /* a strip with a row this long goes to a list: one lane would be slow */
  SHORT_ROW   = 32,                  /* the same where strips and ranges of columns are few */
  FEW_STRIPS  = 16384,
  FEW_COLUMNS = 4 * (int)HRPB_RANGE,
  MOST_BLOCKS = 1024,                /* thread blocks at most for the strips in the list */
  STRIP       = 16
};
#define NO_COLUMN INT32_MAX

namespace {
typedef struct {
  unsigned long long count8, count16;
  unsigned int       nlisted; /* strips in the list */
} StripTotals;
} // namespace

/*
   Count columns of the strips of 16 rows, and of their halves, by merging their rows. A lane has a row, and the least
   column at the head of a row is the next one. Strips with a long row go to a list
*/
static __global__ void __launch_bounds__(HRPB_THREADS) MergeStrips(HrpbSegments strips, const HrpbFindings *findings, int32_t long_row, int32_t *listed, StripTotals *totals)
{
  const HrpbRows    &rows        = strips.rows;
  const int32_t      lane        = threadIdx.x % HRPB_LANES;
  const uint32_t     strip_lanes = ((1u << STRIP) - 1) << lane / STRIP * STRIP;
  unsigned long long count8 = 0, count16 = 0;

  if (HrpbStops(&strips, findings)) return;
  /* all lanes of a warp stay in the loop as long as the first one does */
  for (int64_t warp_row = ((int64_t)blockIdx.x * HRPB_THREADS + threadIdx.x) / HRPB_LANES * HRPB_LANES; warp_row < rows.nrows; warp_row += (int64_t)gridDim.x * HRPB_THREADS) {
    const int64_t row  = warp_row + lane;
    int64_t       next = row < rows.nrows ? rows.rowptr[row] : 0;
    const int64_t end  = row < rows.nrows ? rows.rowptr[row + 1] : 0;
    int32_t       head = NO_COLUMN, ahead = NO_COLUMN; /* the columns of entries next and next + 1 */

    if (__ballot_sync(HRPB_ALL_LANES, end - next >= long_row) & strip_lanes) {
      if (lane % STRIP == 0) listed[atomicAdd(&totals->nlisted, 1u)] = (int32_t)(row / STRIP);
    } else {
      if (next < end) head = (int32_t)rows.colidx[next];
      if (next + 1 < end) ahead = (int32_t)rows.colidx[next + 1];
    }
    while (__any_sync(HRPB_ALL_LANES, head != NO_COLUMN)) {
      int32_t least8 = head, least;

      for (int distance = 1; distance < STRIP / 2; distance *= 2) least8 = min(least8, __shfl_xor_sync(HRPB_ALL_LANES, least8, distance));
      least = min(least8, __shfl_xor_sync(HRPB_ALL_LANES, least8, STRIP / 2));
      if (least == NO_COLUMN) continue;
      if (lane % STRIP == 0) count16++;
      if (lane % (STRIP / 2) == 0 && least8 == least) count8++;
      if (head == least) {
        head  = ahead;
        ahead = ++next + 1 < end ? (int32_t)rows.colidx[next + 1] : NO_COLUMN;
      }
    }
  }
  count8  = HrpbSumOfLanes(count8);
  count16 = HrpbSumOfLanes(count16);
  if (lane == 0 && count16) {
    atomicAdd(&totals->count8, count8);
    atomicAdd(&totals->count16, count16);
  }
}

/*
   Count columns of the strips in the list, and of their halves, as windows of one column, segment by segment. The first
   half of the threads has the bitmap of a strip's first half, the others that of the second
*/
static __global__ void __launch_bounds__(HRPB_THREADS) CountListed(HrpbSegments strips, const int32_t *listed, StripTotals *totals)
{
  constexpr int        HALF = HRPB_THREADS / 2 * HRPB_THREAD_WORDS; /* words */
  __shared__ HrpbPanel s;
  const int64_t        n = totals->nlisted;

  for (int64_t i = blockIdx.x; i < n * strips.nsegments; i += gridDim.x) {
    const int64_t strip   = listed[i % n];
    const int32_t segment = (int32_t)(i / n);
    const bool    cut     = HrpbIsCut(&s, &strips, strip);
    uint32_t      count8 = 0, count16 = 0, first;

    if (segment && !cut) continue;
    HrpbBeginSegment(&s, &strips, strip, segment, cut);
    while (HrpbNextRange<2>(&s, &strips.rows, &first)) {
      for (int m = 0; m < HRPB_THREAD_WORDS; m++) {
        const int      at   = threadIdx.x * HRPB_THREAD_WORDS + m;
        const uint32_t word = s.bitmap[at];

        count8 += __popc(word);
        if (at < HALF) count16 += __popc(word | s.bitmap[HALF + at]);
      }
      __syncthreads(); /* the bitmap of the other half has been read */
    }
    count8  = HrpbBlockSum(&s, count8);
    count16 = HrpbBlockSum(&s, count16);
    if (threadIdx.x == 0 && count16) {
      atomicAdd(&totals->count8, (unsigned long long)count8);
      atomicAdd(&totals->count16, (unsigned long long)count16);
    }
  }
}

namespace {
typedef struct {
  HrpbFindings     csr;
  StripTotals      strips;
  HrpbWindowTotals windows;
} Totals;

typedef struct {
  Totals   *totals;
  int32_t  *listed;
  uint32_t *ncolumns, *nwindows; /* of segments of panels */
} Workspace;
} // namespace

static HrpbError CountStrips(const HrpbSegments *strips, int64_t ncols, const HrpbFindings *findings, const Workspace *w, HrpbStream stream)
{
  StripTotals  *totals   = &w->totals->strips;
  const int32_t long_row = strips->rows.npanels < FEW_STRIPS && ncols <= FEW_COLUMNS ? SHORT_ROW : LONG_ROW;

  HrpbCall(HrpbLaunch(MergeStrips, HrpbGrid(strips->rows.nrows, HRPB_THREADS), HRPB_THREADS, 0, stream, *strips, findings, long_row, w->listed, totals));
  HrpbCall(HrpbLaunch(CountListed, HrpbGrid(HrpbCountSegments(strips), 1, MOST_BLOCKS), HRPB_THREADS, 0, stream, *strips, w->listed, totals));
  return HRPB_SUCCESS;
}

/*
   The CSR is checked unless heaviest is known. All work is on its way before the host waits. It comes to nothing where
   the CSR has not passed, or has panels to be cut
*/
static HrpbError Count(int64_t nrows, int64_t ncols, const HrpbInt *rowptr, const HrpbInt *colidx, int64_t heaviest, Workspace *w, HrpbStream stream, HrpbSurvey *s)
{
  const HrpbParams staged = HrpbStagedParams();
  const HrpbRows   panel_rows = HrpbMakeRows(nrows, rowptr, colidx, NULL, staged.panel_rows, 1), strip_rows = HrpbMakeRows(nrows, rowptr, colidx, NULL, STRIP, 1);
  HrpbSegments     columns = HrpbMakeSegments(&panel_rows, ncols, heaviest), strips = HrpbMakeSegments(&strip_rows, ncols, heaviest);
  HrpbFindings    *findings;
  Totals           sums;

  HrpbCall(HrpbAllocateTogether(stream, &w->totals, 1, &w->listed, strips.rows.npanels, &w->ncolumns, HrpbCountSegments(&columns), &w->nwindows, HrpbCountSegments(&columns)));
  HrpbCallCuda(cudaMemsetAsync(w->totals, 0, sizeof(*w->totals), stream));
  findings = heaviest ? NULL : &w->totals->csr;
  if (findings) HrpbCall(HrpbCheckCsrDevice(nrows, ncols, rowptr, colidx, findings, stream));
  HrpbCall(CountStrips(&strips, ncols, findings, w, stream));
  HrpbCall(HrpbCountWindows(&columns, staged.window_cols, findings, w->ncolumns, w->nwindows, 1, NULL, &w->totals->windows, stream));
  HrpbCall(HrpbBring(&sums, w->totals, sizeof(sums), stream));
  if (!HrpbIsGood(&sums.csr)) return HRPB_ERR_CSR;
  if (findings) {
    s->nnz      = sums.csr.nnz;
    s->heaviest = (int64_t)sums.csr.heaviest;
  }
  s->strip_cols8      = (int64_t)sums.strips.count8;
  s->strip_cols16     = (int64_t)sums.strips.count16;
  s->staged_rows      = (int64_t)sums.windows.ngroups * staged.window_cols;
  s->most_staged_rows = (int64_t)sums.windows.most * staged.window_cols;
  s->needed_rows      = (int64_t)sums.windows.nwindows;
  return HRPB_SUCCESS;
}

static HrpbError Survey(int64_t nrows, int64_t ncols, const HrpbInt *rowptr, const HrpbInt *colidx, int64_t heaviest, HrpbStream stream, HrpbSurvey *s)
{
  Workspace       w   = {};
  const HrpbError err = Count(nrows, ncols, rowptr, colidx, heaviest, &w, stream, s);

  return HrpbFree(w.totals, err, stream);
}

HrpbError HrpbSurveyDevice(int64_t nrows, int64_t ncols, const HrpbInt *rowptr, const HrpbInt *colidx, HrpbStream stream, HrpbSurvey *s)
{
  HrpbError err;

  *s = {};
  HrpbCall(CheckKernels());
  HrpbCall(HrpbCheckSizes(nrows, ncols));
  err = Survey(nrows, ncols, rowptr, colidx, 0, stream, s);
  if (!err && s->heaviest >= HRPB_HEAVY_PANEL) err = Survey(nrows, ncols, rowptr, colidx, s->heaviest, stream, s);
  if (err) *s = {};
  return err;
}
