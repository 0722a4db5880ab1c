#include "windows.cuh"

static __global__ void __launch_bounds__(HRPB_THREADS) CountWindows(HrpbRows rows, int32_t windows_per_block, uint32_t *nwindows, uint32_t *nblocks, HrpbWindowTotals *totals)
{
  __shared__ HrpbPanel s;

  for (int64_t panel = blockIdx.x; panel < rows.npanels; panel += gridDim.x) {
    const uint32_t n = HrpbCountPanel(&s, &rows, panel), blocks = (n + windows_per_block - 1) / windows_per_block;

    if (threadIdx.x == 0 && n > 0) {
      if (nwindows) nwindows[panel] = n;
      if (nblocks) nblocks[panel] = blocks;
      atomicAdd(&totals->nwindows, (unsigned long long)n);
      atomicAdd(&totals->nblocks, (unsigned long long)blocks);
      atomicMax(&totals->most, n);
    }
  }
}

static __global__ void __launch_bounds__(HRPB_THREADS) FillWindows(HrpbRows rows, int32_t windows_per_block, const uint32_t *window_start, const uint32_t *blocked_row_ptr, uint32_t *window_ptr, int32_t *windows)
{
  __shared__ HrpbPanel s;
  const int32_t        lane = threadIdx.x % HRPB_LANES, warp = threadIdx.x / HRPB_LANES;

  for (int64_t panel = blockIdx.x; panel < rows.npanels; panel += gridDim.x) {
    const uint32_t block0 = blocked_row_ptr[panel], nblocks = blocked_row_ptr[panel + 1] - block0;
    uint32_t       start = window_start[panel], first;

    for (uint32_t b = threadIdx.x; b < nblocks; b += HRPB_THREADS) window_ptr[block0 + b] = start + b * windows_per_block;
    HrpbBeginPanel(&s, &rows, panel);
    while (HrpbNextRange(&s, &rows, &first)) {
      const uint32_t n = HrpbCountOwn(&s), upto = HrpbWarpInclusiveSum(n);
      int32_t       *to = windows + start + (upto - n);

      if (lane == HRPB_LANES - 1) s.sum[warp] = upto;
      __syncthreads();
      for (int i = 0; i < HRPB_WARPS; i++) {
        if (i < warp) to += s.sum[i];
        start += s.sum[i];
      }
      for (int m = 0; m < HRPB_THREAD_WORDS; m++) {
        const uint32_t word = threadIdx.x * HRPB_THREAD_WORDS + m;

        for (uint32_t bits = s.bitmap[word]; bits; bits &= bits - 1) *to++ = (int32_t)(first + 32 * word + (__ffs(bits) - 1));
      }
    }
  }
}

HrpbError HrpbCountWindows(const HrpbRows *rows, int32_t windows_per_block, uint32_t *nwindows, uint32_t *nblocks, HrpbWindowTotals *totals, HrpbStream stream)
{
  const unsigned int grid = HrpbGrid(rows->npanels, 1);

  /* panels without entries add nothing */
  HrpbCallCuda(cudaMemsetAsync(totals, 0, sizeof(*totals), stream));
  if (nwindows) HrpbCallCuda(cudaMemsetAsync(nwindows, 0, sizeof(*nwindows) * (size_t)rows->npanels, stream));
  if (nblocks) HrpbCallCuda(cudaMemsetAsync(nblocks, 0, sizeof(*nblocks) * (size_t)rows->npanels, stream));
  CountWindows<<<grid, HRPB_THREADS, 0, stream>>>(*rows, windows_per_block, nwindows, nblocks, totals);
  HrpbCallCuda(cudaGetLastError());
  return HRPB_SUCCESS;
}

HrpbError HrpbFillWindows(const HrpbRows *rows, int32_t windows_per_block, const uint32_t *window_start, const uint32_t *blocked_row_ptr, uint32_t *window_ptr, int32_t *windows, HrpbStream stream)
{
  const unsigned int grid = HrpbGrid(rows->npanels, 1);

  FillWindows<<<grid, HRPB_THREADS, 0, stream>>>(*rows, windows_per_block, window_start, blocked_row_ptr, window_ptr, windows);
  HrpbCallCuda(cudaGetLastError());
  return HRPB_SUCCESS;
}
