/*
   The kernel that adds the parts of panels behind the one that made them: see parts.cuh. A warp has 8 or 16 columns of
   a strip. A panel may have hundreds of parts, and few warps then.
*/
#include "product.cuh"

enum {
  ADD_THREADS = 128,
  TOGETHER    = 16 /* parts that come from memory together */
};

/* Pieces of a tile of 16 columns: its halves, where a lane's sums of one lie together and are 16 bytes at least */
template <int BM, bool NEIGHBOURS> static constexpr __host__ __device__ int Pieces(void)
{
  return !NEIGHBOURS && BM / 4 * sizeof(HrpbScalar) >= 16 ? 2 : 1;
}

template <int BM, bool NEIGHBOURS> static __global__ void __launch_bounds__(ADD_THREADS) AddPartsBehind(const __grid_constant__ Format<HrpbScalar> f, const __grid_constant__ DenseArgs<HrpbScalar> d, int32_t nslots)
{
  constexpr int  SIZE = 16 / sizeof(HrpbScalar), PIECES = Pieces<BM, NEIGHBOURS>(), COLUMNS = 16 / PIECES, SUMS = BM / 2 / PIECES;
  const int32_t  lane = threadIdx.x % HRPB_LANES, pieces = (d.N + COLUMNS - 1) / COLUMNS;
  const int64_t  warp = (int64_t)blockIdx.x * (ADD_THREADS / HRPB_LANES) + threadIdx.x / HRPB_LANES;
  const int32_t  piece = (int32_t)(warp % pieces), n0 = piece * COLUMNS, slot = (int32_t)(warp / pieces / f.strips);
  const uint32_t strip = (uint32_t)(warp / pieces % f.strips);

  HrpbWaitForKernelBefore();
  if (slot >= nslots || d.split[slot].first != slot) return;

  const int32_t         nsums = PIECES == 2 ? SUMS : SumsOfTiles<BM, NEIGHBOURS, 1>(d.N, n0);
  HrpbScalar *const     first = PartialSums<BM>(f, d, slot, strip, n0 / 16 * 16) + piece % PIECES * SUMS * HRPB_LANES + SIZE * lane;
  DenseArgs<HrpbScalar> mine  = d;
  HrpbScalar            sum[1][BM / 2] = {};

  AddParts<SUMS, TOGETHER>(d.split[slot], first, PartSums(f.panel_rows, d.N), nsums);
#pragma unroll
  for (int i = 0; i < SUMS; i += SIZE) {
    if (i < nsums) ReadSums(first + i * HRPB_LANES, &sum[0][i]);
  }
  mine.N = min(d.N, n0 + COLUMNS); /* the other half of a tile is another warp's */
  StoreSums<BM, NEIGHBOURS, true>(f, mine, d.split[slot].panel, strip, lane, sum, n0);
}

template <bool NEIGHBOURS> static HrpbError Launch(const Product *p)
{
  const HrpbSchedule      *s     = p->schedule;
  const Format<HrpbScalar> f     = FormatOf(p->h, s, p->values);
  const bool               tall  = p->h->params.brick_rows == 16;
  const int64_t            warps = (int64_t)s->nslots * f.strips * TilesOf(p->N) * (tall ? Pieces<16, NEIGHBOURS>() : Pieces<8, NEIGHBOURS>());

  return LaunchAfter(tall ? AddPartsBehind<16, NEIGHBOURS> : AddPartsBehind<8, NEIGHBOURS>, dim3(HrpbGrid(warps, ADD_THREADS / (int)HRPB_LANES)), ADD_THREADS, 0, p->stream, f, DenseArgsOf(p), s->nslots);
}

HrpbError AddPartsRun(const Product *p, bool neighbours)
{
  if (!p->schedule->nsplit) return HRPB_SUCCESS;
  return neighbours ? Launch<true>(p) : Launch<false>(p);
}
