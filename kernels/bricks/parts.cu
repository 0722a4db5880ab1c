/*
   The kernel that adds the parts of panels behind the one that made them: see parts.cuh. A warp has 8 or 16 columns of
   a strip. Where a panel has many parts, a thread block has them: each warp a range of the parts.
*/
#include "product.cuh"

enum {
  RANGES      = 8, /* of the parts of a panel that has many. Sums depend on it */
  ADD_THREADS = RANGES * HRPB_LANES,
  TOGETHER    = 16 /* parts that come from memory together */
};

/* Pieces of a tile of 16 columns: its halves, where a lane's sums of one lie together and are 16 bytes at least */
template <int BM, bool NEIGHBOURS> static constexpr __host__ __device__ int PiecesOfTile(void)
{
  return !NEIGHBOURS && BM / 4 * sizeof(HrpbScalar) >= 16 ? 2 : 1;
}

/* Pieces of a strip with N columns */
template <int BM, bool NEIGHBOURS> static constexpr __host__ __device__ int32_t PiecesOfStrip(int32_t N)
{
  constexpr int COLUMNS = 16 / PiecesOfTile<BM, NEIGHBOURS>();

  return (N + COLUMNS - 1) / COLUMNS;
}

/* cut: ncut panels. The first nblocks thread blocks have a piece each, the others one for each of their warps */
template <int BM, bool NEIGHBOURS> static __global__ void __launch_bounds__(ADD_THREADS) AddPartsBehind(const __grid_constant__ Format<HrpbScalar> f, const __grid_constant__ DenseArgs<HrpbScalar> d, const SplitPanel *cut, int32_t ncut, int32_t nblocks)
{
  constexpr int                PIECES = PiecesOfTile<BM, NEIGHBOURS>(), COLUMNS = 16 / PIECES, SUMS = BM / 2 / PIECES, AT_ONCE = SUMS < ADD_SUMS ? SUMS : ADD_SUMS;
  __shared__ HrpbScalar        range[RANGES][SUMS][HRPB_LANES];
  const int32_t                lane = threadIdx.x % HRPB_LANES, warp = threadIdx.x / HRPB_LANES, block = blockIdx.x, pieces = PiecesOfStrip<BM, NEIGHBOURS>(d.N);
  const bool                   shared = block < nblocks;
  const int64_t                number = shared ? block : nblocks + (int64_t)(block - nblocks) * RANGES + warp;
  const int32_t                piece = (int32_t)(number % pieces), n0 = piece * COLUMNS;
  const uint32_t               strip = (uint32_t)(number / pieces % f.strips);
  const int64_t                index = number / pieces / f.strips;

  HrpbWaitForKernelBefore();
  if (index >= ncut) return;

  const SplitPanel             s     = cut[index];
  const int32_t                nsums = PIECES == 2 ? SUMS : SumsOfTiles<BM, NEIGHBOURS, 1>(d.N, n0);
  const int32_t                begin = shared ? (int32_t)((int64_t)s.nslots * warp / RANGES) : 0, end = shared ? (int32_t)((int64_t)s.nslots * (warp + 1) / RANGES) : s.nslots;
  const HrpbScalar *const      first = PartialSums<BM>(f, d, s.first, strip, n0 / 16 * 16) + piece % PIECES * SUMS * HRPB_LANES + 16 / sizeof(HrpbScalar) * lane;
  DenseArgs<HrpbScalar>        mine  = d;
  HrpbScalar                   sum[1][BM / 2] = {};

#pragma unroll
  for (int i = 0; i < SUMS; i += AT_ONCE) {
    if (i < nsums) AddParts<AT_ONCE, TOGETHER>(first + i * HRPB_LANES, PartSums(f.panel_rows, d.N), begin, end, &sum[0][i]);
  }
  if (shared) {
#pragma unroll
    for (int i = 0; i < SUMS; i++) range[warp][i][lane] = sum[0][i];
    __syncthreads();
    if (warp) return;
#pragma unroll
    for (int i = 0; i < SUMS; i++) {
      HrpbScalar lost = 0;

      sum[0][i] = 0;
      for (int r = 0; r < RANGES; r++) HrpbAddCompensated(range[r][i][lane], &sum[0][i], &lost);
      sum[0][i] += lost;
    }
  }
  mine.N = min(d.N, n0 + COLUMNS); /* the other half of a tile is another warp's */
  StoreSums<BM, NEIGHBOURS, true, true>(f, mine, s.panel, strip, lane, sum, n0);
}

template <int BM, bool NEIGHBOURS> static HrpbError Launch(const Product *p)
{
  const HrpbSchedule      *s       = p->schedule;
  const Format<HrpbScalar> f       = FormatOf(p->h, s, p->values);
  const int64_t            pieces  = (int64_t)f.strips * PiecesOfStrip<BM, NEIGHBOURS>(p->N);
  const int32_t            nblocks = (int32_t)(s->nmany * pieces);

  return LaunchAfter(AddPartsBehind<BM, NEIGHBOURS>, dim3(nblocks + HrpbGrid((s->nsplit - s->nmany) * pieces, RANGES)), ADD_THREADS, 0, p->stream, f, DenseArgsOf(p), (const SplitPanel *)s->split + s->nslots, s->nsplit, nblocks);
}

template <bool NEIGHBOURS> static HrpbError LaunchFor(const Product *p)
{
  return p->h->params.brick_rows == 16 ? Launch<16, NEIGHBOURS>(p) : Launch<8, NEIGHBOURS>(p);
}

HrpbError AddPartsRun(const Product *p, bool neighbours)
{
  if (!p->schedule->nsplit) return HRPB_SUCCESS;
  return neighbours ? LaunchFor<true>(p) : LaunchFor<false>(p);
}
