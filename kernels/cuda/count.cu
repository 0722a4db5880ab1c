#include "input.cuh"
#include "windows.cuh"

enum {
  MOST_BLOCKS = 1024 /* thread blocks for the strips with long rows, of which there are few */
};
#define NO_COLUMN INT32_MAX

typedef struct {
  unsigned long long count;
  unsigned int       nlong; /* strips with a long row */
} StripTotals;

/* Columns of the strips by merging their rows, one a lane: the least column at the head of a row is the next. Strips with a long row go to a list */
static __global__ void __launch_bounds__(HRPB_THREADS) MergeStrips(HrpbRows rows, int32_t *long_strips, StripTotals *totals)
{
  const int32_t      brick_rows = rows.panel_rows, lane = threadIdx.x % HRPB_LANES;
  const uint32_t     strip_lanes = ((1u << brick_rows) - 1) << lane / brick_rows * brick_rows;
  unsigned long long count       = 0;

  /* all lanes of a warp stay in the loop as long as its first does */
  for (int64_t warp_row = ((int64_t)blockIdx.x * HRPB_THREADS + threadIdx.x) / HRPB_LANES * HRPB_LANES; warp_row < rows.nrows; warp_row += (int64_t)gridDim.x * HRPB_THREADS) {
    const int64_t row  = warp_row + lane;
    int64_t       next = row < rows.nrows ? rows.rowptr[row] : 0;
    const int64_t end  = row < rows.nrows ? rows.rowptr[row + 1] : 0;
    int32_t       head = NO_COLUMN, ahead = NO_COLUMN; /* the columns of entries next and next + 1 */

    if (__ballot_sync(HRPB_ALL_LANES, end - next >= HRPB_LONG_ROW) & strip_lanes) {
      if (lane % brick_rows == 0) long_strips[atomicAdd(&totals->nlong, 1u)] = (int32_t)(row / brick_rows);
    } else {
      if (next < end) head = (int32_t)rows.colidx[next];
      if (next + 1 < end) ahead = (int32_t)rows.colidx[next + 1];
    }
    while (__any_sync(HRPB_ALL_LANES, head != NO_COLUMN)) {
      int32_t least = head;

      for (int distance = 1; distance < brick_rows; distance *= 2) least = min(least, __shfl_xor_sync(HRPB_ALL_LANES, least, distance));
      if (least == NO_COLUMN) continue;
      if (lane % brick_rows == 0) count++;
      if (head == least) {
        head  = ahead;
        ahead = ++next + 1 < end ? (int32_t)rows.colidx[next + 1] : NO_COLUMN;
      }
    }
  }
  count = HrpbWarpSum(count);
  if (lane == 0 && count) atomicAdd(&totals->count, count);
}

/* Columns of the strips in the list, as windows of one column */
static __global__ void __launch_bounds__(HRPB_THREADS) CountLongStrips(HrpbRows rows, const int32_t *long_strips, StripTotals *totals)
{
  __shared__ HrpbPanel s;

  for (unsigned int i = blockIdx.x; i < totals->nlong; i += gridDim.x) {
    const uint32_t n = HrpbCountPanel(&s, &rows, long_strips[i]);

    if (threadIdx.x == 0) atomicAdd(&totals->count, (unsigned long long)n);
  }
}

typedef struct {
  StripTotals      strips8, strips16;
  HrpbWindowTotals windows, columns;
} Totals;

static HrpbError CountStrips(const HrpbRows *rows, int32_t *long_strips, StripTotals *totals, HrpbStream stream)
{
  HrpbCallCuda(cudaMemsetAsync(totals, 0, sizeof(*totals), stream));
  MergeStrips<<<HrpbGrid(rows->nrows, HRPB_THREADS), HRPB_THREADS, 0, stream>>>(*rows, long_strips, totals);
  HrpbCallCuda(cudaGetLastError());
  CountLongStrips<<<HrpbGrid(rows->npanels, 1, MOST_BLOCKS), HRPB_THREADS, 0, stream>>>(*rows, long_strips, totals);
  HrpbCallCuda(cudaGetLastError());
  return HRPB_SUCCESS;
}

static HrpbError Survey(int64_t nrows, const HrpbInt *rowptr, const HrpbInt *colidx, int32_t *long_strips, Totals *totals, HrpbStream stream, HrpbSurvey *s)
{
  const HrpbParams staged   = HrpbStagedParams();
  const HrpbRows   strips8  = HrpbMakeRows(nrows, rowptr, colidx, NULL, 8, 1);
  const HrpbRows   strips16 = HrpbMakeRows(nrows, rowptr, colidx, NULL, 16, 1);
  const HrpbRows   windows  = HrpbMakeRows(nrows, rowptr, colidx, NULL, staged.panel_rows, staged.window_cols);
  const HrpbRows   columns  = HrpbMakeRows(nrows, rowptr, colidx, NULL, staged.panel_rows, 1);
  Totals           sums;

  HrpbCall(CountStrips(&strips8, long_strips, &totals->strips8, stream));
  HrpbCall(CountStrips(&strips16, long_strips, &totals->strips16, stream));
  HrpbCall(HrpbCountWindows(&windows, 1, NULL, NULL, &totals->windows, stream));
  HrpbCall(HrpbCountWindows(&columns, 1, NULL, NULL, &totals->columns, stream));
  HrpbCallCuda(cudaMemcpyAsync(&sums, totals, sizeof(sums), cudaMemcpyDeviceToHost, stream));
  HrpbCallCuda(cudaStreamSynchronize(stream));
  s->strip_cols8      = (int64_t)sums.strips8.count;
  s->strip_cols16     = (int64_t)sums.strips16.count;
  s->staged_rows      = (int64_t)sums.windows.nwindows * staged.window_cols;
  s->most_staged_rows = (int64_t)sums.windows.most * staged.window_cols;
  s->needed_rows      = (int64_t)sums.columns.nwindows;
  return HRPB_SUCCESS;
}

HrpbError HrpbSurveyDevice(int64_t nrows, int64_t ncols, const HrpbInt *rowptr, const HrpbInt *colidx, HrpbStream stream, HrpbSurvey *s)
{
  Totals   *totals      = NULL;
  int32_t  *long_strips = NULL;
  int64_t   nnz;
  HrpbError err;

  *s = {};
  HrpbCall(HrpbCheckInputDevice(nrows, ncols, rowptr, colidx, NULL, stream, &nnz));
  err = HrpbAllocate(&totals, 1);
  if (!err) err = HrpbAllocate(&long_strips, (nrows + 7) / 8);
  if (!err) err = Survey(nrows, rowptr, colidx, long_strips, totals, stream, s);
  if (!err) s->nnz = nnz;
  else *s = {};
  err = HrpbFree(long_strips, err);
  return HrpbFree(totals, err);
}
