/*
   Rows that are cut, from the sums of their parts: a few lanes have a row and column, a thread block if the row is huge. The sums of the parts are mostly no longer in the cache,
   so it is the reads on their way that count.
*/
#include "csr.cuh"
#include "launch.cuh"

enum {
  COMBINE_THREADS = 256,
  COMBINE_WARPS   = COMBINE_THREADS / HRPB_LANES,
  EXACT_READS     = 4 /* entries of a lane that are on their way together */
};
static constexpr int GROUPS_WARP = HRPB_LANES / (int)CSR_COMBINE_LANES, GROUPS_BLOCK = COMBINE_WARPS * GROUPS_WARP;

struct CombineArgs {
  const HrpbInt    *rowptr, *colidx;
  const HrpbScalar *values, *B, *partial;
  const CsrLongRow *rows;
  HrpbScalar       *C;
  int64_t           ldb, ldc, ldpartial;
  int64_t           nhuge, nrest, N;
  uint32_t          huge_blocks; /* thread blocks for the huge rows */
};

/*
   An entry of C in one go, by all lanes of a warp: they read together, and each adds all in their order. When the sum is infinite, order is of no concern: it stays so, unless one of the entries that
   are left makes it NaN
*/
static __device__ __noinline__ HrpbScalar ExactSum(const CombineArgs &a, int32_t row, int64_t n)
{
  const HrpbScalar *b     = a.B + n * a.ldb;
  const HrpbInt     begin = a.rowptr[row], end = a.rowptr[row + 1];
  const int32_t     lane  = threadIdx.x % HRPB_LANES;
  HrpbScalar        sum   = 0;

  for (int64_t first = begin; first < end && !isnan(sum); first += EXACT_READS * HRPB_LANES) {
    HrpbScalar value[EXACT_READS], x[EXACT_READS];

#pragma unroll
    for (int i = 0; i < EXACT_READS; i++) {
      const int64_t at = first + i * HRPB_LANES + lane;

      value[i] = at < end ? a.values[at] : (HrpbScalar)0;
      x[i]     = at < end ? b[a.colidx[at]] : (HrpbScalar)0;
    }
#pragma unroll
    for (int i = 0; i < EXACT_READS; i++) {
      if (isfinite(sum)) {
        for (int k = 0; k < HRPB_LANES; k++) sum = fma(__shfl_sync(HRPB_ALL_LANES, value[i], k), __shfl_sync(HRPB_ALL_LANES, x[i], k), sum);
      } else if (__any_sync(HRPB_ALL_LANES, isnan(fma(value[i], x[i], sum)))) sum = (HrpbScalar)NAN;
    }
  }
  return CsrOneNaN(sum);
}

/* A row and column; all threads of the block */
static __device__ void CombineHuge(const CombineArgs &a, const CsrLongRow &r, int64_t n)
{
  __shared__ HrpbScalar warp_sum[COMBINE_WARPS], warp_lost[COMBINE_WARPS];
  const HrpbScalar     *part = a.partial + r.first + n * a.ldpartial;
  const int32_t         lane = threadIdx.x % HRPB_LANES, warp = threadIdx.x / HRPB_LANES;
  HrpbScalar            sum = 0, lost = 0;

#pragma unroll 4
  for (int32_t k = threadIdx.x; k < r.nparts; k += COMBINE_THREADS) HrpbAddCompensated(part[k], &sum, &lost);
  CsrAddLanes<HRPB_LANES>(&sum, &lost);
  __syncthreads(); /* what the last row left there has been read */
  if (lane == 0) {
    warp_sum[warp]  = sum;
    warp_lost[warp] = lost;
  }
  __syncthreads();
  if (warp > 0) return;
  sum  = lane < COMBINE_WARPS ? warp_sum[lane] : (HrpbScalar)0;
  lost = lane < COMBINE_WARPS ? warp_lost[lane] : (HrpbScalar)0;
  CsrAddLanes<COMBINE_WARPS>(&sum, &lost);
  sum += lost;
  if (!isfinite(__shfl_sync(HRPB_ALL_LANES, sum, 0))) sum = ExactSum(a, r.row, n);
  if (lane == 0) a.C[r.row + n * a.ldc] = sum;
}

/* As many rows and columns as a warp has groups of CSR_COMBINE_LANES lanes; r has no parts in groups that are left over */
static __device__ void CombineGroups(const CombineArgs &a, const CsrLongRow &r, int64_t n)
{
  const int32_t lane = threadIdx.x % HRPB_LANES;
  const bool    has  = lane % CSR_COMBINE_LANES == 0 && r.nparts > 0;
  HrpbScalar    sum  = CsrSumOfParts(r.nparts, [&](int32_t k) { return a.partial[r.first + k + n * a.ldpartial]; });

  for (uint32_t todo = __ballot_sync(HRPB_ALL_LANES, has && !isfinite(sum)); todo; todo &= todo - 1) {
    const int        from  = __ffs(todo) - 1;
    const HrpbScalar exact = ExactSum(a, __shfl_sync(HRPB_ALL_LANES, r.row, from), __shfl_sync(HRPB_ALL_LANES, n, from));

    if (lane == from) sum = exact;
  }
  if (has) a.C[r.row + n * a.ldc] = sum;
}

static __global__ void __launch_bounds__(COMBINE_THREADS) CsrCombine(const __grid_constant__ CombineArgs a)
{
  HrpbWaitForKernelBefore();
  if (blockIdx.x < a.huge_blocks) {
    for (int64_t i = blockIdx.x; i < a.nhuge * a.N; i += a.huge_blocks) CombineHuge(a, a.rows[i % a.nhuge], i / a.nhuge);
  } else {
    for (int64_t first = (int64_t)(blockIdx.x - a.huge_blocks) * GROUPS_BLOCK + threadIdx.x / HRPB_LANES * GROUPS_WARP; first < a.nrest * a.N; first += (int64_t)(gridDim.x - a.huge_blocks) * GROUPS_BLOCK) {
      const int64_t i = first + threadIdx.x % HRPB_LANES / CSR_COMBINE_LANES;

      CombineGroups(a, i < a.nrest * a.N ? a.rows[a.nhuge + i % a.nrest] : CsrLongRow{0, 0, 0}, i / a.nrest);
    }
  }
}

HrpbError CsrCombineRun(const CsrProduct *p, bool all)
{
  const int64_t      most = 1 << 24; /* thread blocks of either kind */
  const CsrSchedule *s = p->schedule;
  CombineArgs        a = {p->rowptr, p->colidx, p->values, p->B, p->partial, (const CsrLongRow *)s->long_rows, p->C, p->ldb, p->ldc, s->nparts, s->nhuge, (all ? s->nlong : s->ngiant) - s->nhuge, p->N, 0};
  uint32_t           rest_blocks = a.nrest ? HrpbGrid(a.nrest * a.N, GROUPS_BLOCK, most) : 0;

  a.huge_blocks = a.nhuge ? HrpbGrid(a.nhuge * a.N, 1, most) : 0;
  if (a.huge_blocks + rest_blocks == 0) return HRPB_SUCCESS;
  return LaunchAfter(CsrCombine, a.huge_blocks + rest_blocks, COMBINE_THREADS, 0, p->stream, a);
}
