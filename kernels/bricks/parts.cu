/*
   The kernel that adds the parts of panels behind the one that made them: see parts.cuh. A warp has a tile of 16 columns
   of a strip.
*/
#include "product.cuh"

enum {
  ADD_THREADS = 128,
  TOGETHER    = 8 /* parts that come from memory together */
};

template <int BM, bool NEIGHBOURS> static __global__ void __launch_bounds__(ADD_THREADS) AddPartsBehind(const __grid_constant__ Format<HrpbScalar> f, const __grid_constant__ DenseArgs<HrpbScalar> d, int32_t nslots)
{
  constexpr int  SIZE  = 16 / sizeof(HrpbScalar), SUMS = BM / 2;
  const int32_t  lane  = threadIdx.x % HRPB_LANES, tiles = (int32_t)TilesOf(d.N);
  const int64_t  warp  = (int64_t)blockIdx.x * (ADD_THREADS / HRPB_LANES) + threadIdx.x / HRPB_LANES;
  const int32_t  n0    = (int32_t)(warp % tiles) * 16, slot = (int32_t)(warp / tiles / f.strips);
  const uint32_t strip = (uint32_t)(warp / tiles % f.strips);

  HrpbWaitForKernelBefore();
  if (slot >= nslots || d.split[slot].first != slot) return;

  const int32_t     nsums = SumsOfTiles<BM, NEIGHBOURS, 1>(d.N, n0);
  HrpbScalar *const first = PartialSums<BM>(f, d, slot, strip, n0) + SIZE * lane;
  HrpbScalar        sum[1][SUMS] = {};

  AddParts<4, TOGETHER>(d.split[slot], first, PartSums(f.panel_rows, d.N), nsums);
#pragma unroll
  for (int i = 0; i < SUMS; i += SIZE) {
    if (i < nsums) ReadSums(first + i * HRPB_LANES, &sum[0][i]);
  }
  StoreSums<BM, NEIGHBOURS, true>(f, d, d.split[slot].panel, strip, lane, sum, n0);
}

template <bool NEIGHBOURS> static HrpbError Launch(const Product *p)
{
  const HrpbSchedule      *s     = p->schedule;
  const Format<HrpbScalar> f     = FormatOf(p->h, s, p->values);
  const int64_t            warps = (int64_t)s->nslots * f.strips * TilesOf(p->N);

  return LaunchAfter(p->h->params.brick_rows == 8 ? AddPartsBehind<8, NEIGHBOURS> : AddPartsBehind<16, NEIGHBOURS>, dim3(HrpbGrid(warps, ADD_THREADS / (int)HRPB_LANES)), ADD_THREADS, 0, p->stream, f, DenseArgsOf(p), s->nslots);
}

HrpbError AddPartsRun(const Product *p, bool neighbours)
{
  if (!p->schedule->nsplit) return HRPB_SUCCESS;
  return neighbours ? Launch<true>(p) : Launch<false>(p);
}
