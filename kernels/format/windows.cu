#include "windows.cuh"

enum {
  MOST_BLOCKS = 256 /* thread blocks that end with atomic operations on the same numbers */
};

static __global__ void __launch_bounds__(HRPB_THREADS) CountWindows(HrpbSegments g, int32_t group, const HrpbFindings *findings, uint32_t *nwindows, uint32_t *ngroups)
{
  __shared__ HrpbPanel s;

  if (HrpbStops(&g, findings)) return;
  for (int64_t unit = blockIdx.x; unit < (int64_t)g.rows.npanels * g.nsegments; unit += gridDim.x) {
    const int64_t    panel = HrpbPanelOfUnit(&g, unit), segment = unit / g.rows.npanels, i = panel * g.nsegments + segment;
    const HrpbCounts n = HrpbCountSegment(&s, &g, panel, (int32_t)segment, group);

    if (threadIdx.x == 0) nwindows[i] = n.bits;
    if (threadIdx.x == 0 && ngroups) ngroups[i] = n.groups;
  }
}

static __global__ void __launch_bounds__(HRPB_THREADS) SumPanels(HrpbSegments g, const uint32_t *nwindows, const uint32_t *ngroups, int32_t windows_per_block, uint32_t *nblocks, HrpbWindowTotals *totals)
{
  HrpbWindowTotals t = {0};

  for (int64_t panel = (int64_t)blockIdx.x * HRPB_THREADS + threadIdx.x; panel < g.rows.npanels; panel += (int64_t)gridDim.x * HRPB_THREADS) {
    uint32_t windows = 0, groups = 0, blocks;

    for (int64_t i = panel * g.nsegments; i < (panel + 1) * g.nsegments; i++) {
      windows += nwindows[i];
      groups += ngroups ? ngroups[i] : nwindows[i];
    }
    blocks = (windows + windows_per_block - 1) / windows_per_block;
    if (nblocks) nblocks[panel] = blocks;
    t.nwindows += windows;
    t.ngroups += groups;
    t.nblocks += blocks;
    t.most = max(t.most, groups);
  }
  t.nwindows = HrpbSumOfLanes(t.nwindows);
  t.ngroups  = HrpbSumOfLanes(t.ngroups);
  t.nblocks  = HrpbSumOfLanes(t.nblocks);
  t.most     = __reduce_max_sync(HRPB_ALL_LANES, t.most);
  if (threadIdx.x % HRPB_LANES == 0 && t.nwindows) {
    atomicAdd(&totals->nwindows, t.nwindows);
    atomicAdd(&totals->ngroups, t.ngroups);
    atomicAdd(&totals->nblocks, t.nblocks);
    atomicMax(&totals->most, t.most);
  }
}

static __global__ void __launch_bounds__(HRPB_THREADS) FillWindows(HrpbSegments g, int32_t windows_per_block, const uint32_t *window_start, const uint32_t *blocked_row_ptr, uint32_t *window_ptr, int32_t *windows)
{
  __shared__ HrpbPanel s;

  if (blockIdx.x == 0 && threadIdx.x == 0) window_ptr[blocked_row_ptr[g.rows.npanels]] = window_start[(int64_t)g.rows.npanels * g.nsegments];
  for (int64_t unit = blockIdx.x; unit < (int64_t)g.rows.npanels * g.nsegments; unit += gridDim.x) {
    const int64_t panel   = HrpbPanelOfUnit(&g, unit);
    const int32_t segment = (int32_t)(unit / g.rows.npanels);
    const bool    cut     = HrpbIsCut(&s, &g, panel);
    uint32_t      start, first;

    if (segment && !cut) continue;
    start = window_start[panel * g.nsegments + segment];
    if (segment == 0) {
      const uint32_t block0 = blocked_row_ptr[panel], nblocks = blocked_row_ptr[panel + 1] - block0;

      for (uint32_t b = threadIdx.x; b < nblocks; b += HRPB_THREADS) window_ptr[block0 + b] = start + b * windows_per_block;
    }
    HrpbBeginSegment(&s, &g, panel, segment, cut);
    while (HrpbNextRange(&s, &g.rows, &first)) {
      int32_t *to = windows + HrpbBlockExclusiveSum(&s, HrpbCountOwn(&s, 1).bits, &start);

      for (int m = 0; m < HRPB_THREAD_WORDS; m++) {
        const uint32_t word = threadIdx.x * HRPB_THREAD_WORDS + m;

        for (uint32_t bits = s.bitmap[word]; bits; bits &= bits - 1) *to++ = (int32_t)(first + 32 * word + (__ffs(bits) - 1));
      }
    }
  }
}

HrpbError HrpbCountWindows(const HrpbSegments *g, int32_t group, const HrpbFindings *findings, uint32_t *nwindows, uint32_t *ngroups, int32_t windows_per_block, uint32_t *nblocks, HrpbWindowTotals *totals, HrpbStream stream)
{
  HrpbCall(HrpbLaunch(CountWindows, HrpbSegmentGrid(g), HRPB_THREADS, 0, stream, *g, group, findings, nwindows, ngroups));
  HrpbCall(HrpbLaunch(SumPanels, HrpbGrid(g->rows.npanels, HRPB_THREADS, MOST_BLOCKS), HRPB_THREADS, 0, stream, *g, nwindows, ngroups, windows_per_block, nblocks, totals));
  return HRPB_SUCCESS;
}

HrpbError HrpbFillWindows(const HrpbSegments *g, int32_t windows_per_block, const uint32_t *window_start, const uint32_t *blocked_row_ptr, uint32_t *window_ptr, int32_t *windows, HrpbStream stream)
{
  HrpbCall(HrpbLaunch(FillWindows, HrpbSegmentGrid(g), HRPB_THREADS, 0, stream, *g, windows_per_block, window_start, blocked_row_ptr, window_ptr, windows));
  return HRPB_SUCCESS;
}
