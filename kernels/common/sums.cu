#include "cub.cuh"

enum {
  SUMMED  = 65536,      /* the most numbers that one thread block adds up */
  OWN     = 8,          /* numbers of a thread at a time */
  WARPS   = HRPB_LANES, /* so that a warp can add up the warps */
  THREADS = WARPS * HRPB_LANES
};

/* A thread block for each array */
static __global__ void __launch_bounds__(THREADS) SumBefore(uint32_t *first, int64_t nfirst, uint32_t *second, int64_t nsecond)
{
  __shared__ uint32_t total[WARPS];
  uint32_t *const     a    = blockIdx.x ? second : first;
  const int64_t       n    = blockIdx.x ? nsecond : nfirst;
  const int           lane = threadIdx.x % HRPB_LANES, warp = threadIdx.x / HRPB_LANES;
  uint32_t            before = 0;

  for (int64_t begin = 0; begin < n; begin += THREADS * OWN) {
    const int64_t at = begin + warp * HRPB_LANES * OWN + lane;
    uint32_t      own[OWN], sum = 0, upto;

#pragma unroll
    for (int i = 0; i < OWN; i++) own[i] = at + i * HRPB_LANES < n ? a[at + i * HRPB_LANES] : 0;
#pragma unroll
    for (int i = 0; i < OWN; i++) {
      upto   = HrpbWarpInclusiveSum(own[i]);
      own[i] = sum + upto - own[i];
      sum += __shfl_sync(HRPB_ALL_LANES, upto, HRPB_LANES - 1);
    }
    __syncthreads(); /* the totals before have been read */
    if (lane == 0) total[warp] = sum;
    __syncthreads();
    upto = HrpbWarpInclusiveSum(total[lane]);
    sum  = before + __shfl_sync(HRPB_ALL_LANES, upto - total[lane], warp);
#pragma unroll
    for (int i = 0; i < OWN; i++) {
      if (at + i * HRPB_LANES < n) a[at + i * HRPB_LANES] = sum + own[i];
    }
    before += __shfl_sync(HRPB_ALL_LANES, upto, HRPB_LANES - 1);
  }
  if (threadIdx.x == 0) a[n] = before;
}

HrpbError HrpbSumsBefore(uint32_t *a, int64_t n, uint32_t *b, int64_t m, HrpbStream stream)
{
  if (n <= SUMMED && m <= SUMMED) {
    HrpbCall(HrpbLaunch(SumBefore, b ? 2 : 1, THREADS, 0, stream, a, n, b, m));
    return HRPB_SUCCESS;
  }
  HrpbCallCuda(cudaMemsetAsync(a + n, 0, sizeof(*a), stream));
  HrpbCall(HrpbExclusiveSum(a, n + 1, stream));
  return b ? HrpbSumsBefore(b, m, NULL, 0, stream) : HRPB_SUCCESS;
}
