#include "input.cuh"
#include "../common/launch.cuh"
#include "windows.cuh"

enum {
  LONG_ROW    = 256,                 /* a strip with a row this long goes to a list: one lane would be slow */
  SHORT_ROW   = 32,                  /* the same where strips and ranges of columns are few */
  FEW_STRIPS  = 4096,
  FEW_COLUMNS = 4 * (int)HRPB_RANGE,
  MOST_BLOCKS = 1024,                /* thread blocks at most for the strips in the list */
  STRIP       = 16
};
#define NO_COLUMN INT32_MAX

namespace {
typedef struct {
  unsigned long long count8, count16;
  unsigned int       nlong; /* strips in the list */
} StripTotals;
} // namespace

/*
   Count columns of the strips of 16 rows, and of their halves, by merging their rows. A lane has a row, and the least
   column at the head of a row is the next one. Strips with a long row go to a list
*/
static __global__ void __launch_bounds__(HRPB_THREADS) MergeStrips(HrpbRows rows, int32_t long_row, int32_t *long_strips, StripTotals *totals)
{
  const int32_t      lane        = threadIdx.x % HRPB_LANES;
  const uint32_t     strip_lanes = ((1u << STRIP) - 1) << lane / STRIP * STRIP;
  unsigned long long count8 = 0, count16 = 0;

  /* all lanes of a warp stay in the loop as long as the first one does */
  for (int64_t warp_row = ((int64_t)blockIdx.x * HRPB_THREADS + threadIdx.x) / HRPB_LANES * HRPB_LANES; warp_row < rows.nrows; warp_row += (int64_t)gridDim.x * HRPB_THREADS) {
    const int64_t row  = warp_row + lane;
    int64_t       next = row < rows.nrows ? rows.rowptr[row] : 0;
    const int64_t end  = row < rows.nrows ? rows.rowptr[row + 1] : 0;
    int32_t       head = NO_COLUMN, ahead = NO_COLUMN; /* the columns of entries next and next + 1 */

    if (__ballot_sync(HRPB_ALL_LANES, end - next >= long_row) & strip_lanes) {
      if (lane % STRIP == 0) long_strips[atomicAdd(&totals->nlong, 1u)] = (int32_t)(row / STRIP);
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
  count8  = HrpbWarpSum(count8);
  count16 = HrpbWarpSum(count16);
  if (lane == 0 && count16) {
    atomicAdd(&totals->count8, count8);
    atomicAdd(&totals->count16, count16);
  }
}

/* Count columns of the strips in the list, and of their halves, as windows of one column, segment by segment */
static __global__ void __launch_bounds__(HRPB_THREADS) CountLongStrips(HrpbSegments strips, HrpbSegments halves, const int32_t *long_strips, StripTotals *totals)
{
  __shared__ HrpbPanel s;
  const int64_t        nparts = 3 * (int64_t)totals->nlong;

  for (int64_t i = blockIdx.x; i < nparts * strips.nsegments; i += gridDim.x) {
    const int64_t  strip = long_strips[i % nparts / 3];
    const int32_t  part = (int32_t)(i % nparts % 3), segment = (int32_t)(i / nparts);
    const uint32_t n = part < 2 ? HrpbCountSegment(&s, &halves, 2 * strip + part, segment, 1).bits : HrpbCountSegment(&s, &strips, strip, segment, 1).bits;

    if (threadIdx.x == 0 && n) atomicAdd(part < 2 ? &totals->count8 : &totals->count16, (unsigned long long)n);
  }
}

namespace {
typedef struct {
  StripTotals      strips;
  HrpbWindowTotals windows;
} Totals;

typedef struct {
  Totals   *totals;
  int32_t  *long_strips;
  uint32_t *ncolumns, *nwindows; /* of segments of panels */
} Workspace;
} // namespace

static HrpbError CountStrips(const HrpbSegments *strips, const HrpbSegments *halves, int64_t ncols, const Workspace *w, HrpbStream stream)
{
  StripTotals  *totals   = &w->totals->strips;
  const int32_t long_row = strips->rows.npanels < FEW_STRIPS && ncols <= FEW_COLUMNS ? SHORT_ROW : LONG_ROW;

  HrpbCallCuda(cudaMemsetAsync(totals, 0, sizeof(*totals), stream));
  MergeStrips<<<HrpbGrid(strips->rows.nrows, HRPB_THREADS), HRPB_THREADS, 0, stream>>>(strips->rows, long_row, w->long_strips, totals);
  HrpbCallCuda(cudaGetLastError());
  CountLongStrips<<<HrpbGrid(HrpbCountSegments(strips), 1, MOST_BLOCKS), HRPB_THREADS, 0, stream>>>(*strips, *halves, w->long_strips, totals);
  HrpbCallCuda(cudaGetLastError());
  return HRPB_SUCCESS;
}

static HrpbError Survey(int64_t nrows, int64_t ncols, const HrpbInt *rowptr, const HrpbInt *colidx, const HrpbInput *input, Workspace *w, HrpbStream stream, HrpbSurvey *s)
{
  const HrpbParams staged = HrpbStagedParams();
  const HrpbRows   panel_rows = HrpbMakeRows(nrows, rowptr, colidx, NULL, staged.panel_rows, 1), strip_rows = HrpbMakeRows(nrows, rowptr, colidx, NULL, STRIP, 1);
  HrpbSegments     columns = HrpbMakeSegments(&panel_rows, ncols, input->heaviest), strips = HrpbMakeSegments(&strip_rows, ncols, input->heaviest), halves = strips;
  Totals           sums;

  halves.rows = HrpbMakeRows(nrows, rowptr, colidx, NULL, STRIP / 2, 1);
  HrpbCall(HrpbAllocate(&w->totals, 1, stream));
  HrpbCall(HrpbAllocate(&w->long_strips, strips.rows.npanels, stream));
  HrpbCall(HrpbAllocate(&w->ncolumns, HrpbCountSegments(&columns), stream));
  HrpbCall(HrpbAllocate(&w->nwindows, HrpbCountSegments(&columns), stream));
  HrpbCall(CountStrips(&strips, &halves, ncols, w, stream));
  HrpbCall(HrpbCountWindows(&columns, staged.window_cols, w->ncolumns, w->nwindows, 1, NULL, &w->totals->windows, stream));
  HrpbCallCuda(cudaMemcpyAsync(&sums, w->totals, sizeof(sums), cudaMemcpyDeviceToHost, stream));
  HrpbCallCuda(cudaStreamSynchronize(stream));
  s->nnz              = input->nnz;
  s->strip_cols8      = (int64_t)sums.strips.count8;
  s->strip_cols16     = (int64_t)sums.strips.count16;
  s->staged_rows      = (int64_t)sums.windows.ngroups * staged.window_cols;
  s->most_staged_rows = (int64_t)sums.windows.most * staged.window_cols;
  s->needed_rows      = (int64_t)sums.windows.nwindows;
  s->heaviest         = input->heaviest;
  return HRPB_SUCCESS;
}

HrpbError HrpbSurveyDevice(int64_t nrows, int64_t ncols, const HrpbInt *rowptr, const HrpbInt *colidx, HrpbStream stream, HrpbSurvey *s)
{
  Workspace w = {};
  HrpbInput input;
  HrpbError err;

  *s = {};
  HrpbCall(CheckKernels());
  HrpbCall(HrpbCheckInputDevice(nrows, ncols, rowptr, colidx, NULL, stream, &input));
  err = Survey(nrows, ncols, rowptr, colidx, &input, &w, stream, s);
  err = HrpbFree(w.totals, err, stream);
  err = HrpbFree(w.long_strips, err, stream);
  err = HrpbFree(w.ncolumns, err, stream);
  err = HrpbFree(w.nwindows, err, stream);
  if (err) *s = {};
  return err;
}
