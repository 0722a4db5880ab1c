/*
   Bricks times rows of B that are staged in shared memory: the kernel, its tiling and its launch, for a B that is
   column-major (staged.cu) or row-major (rows.cu).

   Producer warps keep a ring of stages filled (staged.cuh). The other warps multiply, one or two of them for each
   strip.

   Source: cuTeSpMM, section 3: the blocks of a panel in shared memory, and coarsening along N.
*/
#pragma once

#include "seconds.h"
#include "staged.cuh"
#include "steps.cuh"

/* How B lies in memory */
enum {
  B_UNALIGNED, /* column-major */
  B_ALIGNED,   /* column-major, and all columns are aligned to 16 bytes */
  B_ROWS       /* row-major, rows are aligned to 16 bytes, and windows are columns */
};

enum {
  WIDE_TILES   = (int)WIDE_COLS / TILE_COLS, /* the most tiles of a thread block, where B is column-major */
  HALF_TILES   = 4, /* the same where two or more thread blocks share a multiprocessor */
  NARROW_TILES = 2, /* the same where three do. The last warp adds parts then: parts.cuh */
  ROWS_TILES   = ROWS_TILE_BYTES / (TILE_COLS * (int)sizeof(HrpbScalar)) /* the same where B is row-major */
};

namespace {
template <int BM, int NB, int NR, int LAYOUT, typename Scalar> struct CopiesOf {
  typedef Copies<BM, NB, NR, LAYOUT == B_ALIGNED, Scalar> Type;
};
template <int BM, int NB, int NR, typename Scalar> struct CopiesOf<BM, NB, NR, B_ROWS, Scalar> {
  typedef RowCopies<BM, NB, NR, Scalar> Type;
};
} // namespace

/*
   P        precision
   BM       rows of a brick
   NT       tiles of 16 columns that a warp multiplies
   WN       warps side by side along the columns of B
   LAYOUT   of B
   CTAS     thread blocks on a multiprocessor
   NP       producer warps: one for all, or one for the packed blocks and the others for B
   HALF     the second half of the last tile lies beyond N and is left out. A template parameter, because a condition
            that the compiler does not know costs more than it saves
   PAIRS    values are pairs: see HrpbParams
*/
template <int P, int BM, int NT, int WN, int LAYOUT, int CTAS, int NP, bool HALF, bool PAIRS> static __global__ void __launch_bounds__((STAGED_STRIPS * WN + NP) * 32, CTAS) Staged(const __grid_constant__ StagedArgs<typename Mma<P>::Scalar> a)
{
  typedef typename Mma<P>::Scalar Scalar;
  constexpr bool ROWS = LAYOUT == B_ROWS, CHUNKS = HasChunks(P, BM, PAIRS);
  constexpr int  NB   = 16 * NT * WN - (HALF ? 8 : 0); /* columns of the tile */
  constexpr int  SUMS = BM / 2, BYTES = StagedBytes(BM, NB, ROWS);
  /* bytes from a row of B in a stage to the next, and from a column */
  constexpr uint32_t ROW = ROWS ? RowPitch(NB) : sizeof(Scalar), COLUMN = ROWS ? sizeof(Scalar) : Pitch(BM);
  typedef typename CopiesOf<BM, NB, NP == 1 ? 1 : NP - 1, LAYOUT, Scalar>::Type COPIES;
  extern __shared__ __align__(STAGE_ALIGN) uint8_t shared[];
  const Format<Scalar> &f = a.f;
  const uint32_t warp = threadIdx.x / 32, lane = threadIdx.x % 32, nconsumers = blockDim.x / 32 - NP;
  const uint32_t begin = __shfl_sync(HRPB_ALL_LANES, SharedAddress(shared), 0); /* the shuffle keeps it in a register */
  const Ring     ring  = RingAt(begin, begin + a.nstages * a.stage_bytes);
  RingPlace      at;

  RingInit(ring, a.nstages, 32 * NP + RUN_ARRIVALS, nconsumers);
  if (warp >= nconsumers) {
    if (NP == 1) Produce<BM, NB, COPIES, BOTH_RUNS, BYTES>(a, ring, 0, lane);
    else if (warp == nconsumers) ProduceApart<BM, NB, NoCopies<Scalar>, BOTH_RUNS, BYTES>(a, ring, 0, lane);
    else ProduceApart<BM, NB, COPIES, NO_RUN, BYTES>(a, ring, warp - nconsumers - 1, lane);
    return;
  }

  const uint32_t strip = warp / WN, n_warp = warp % WN * (16 * NT), g = lane / 4;

  /* an item is read again at its end: registers are for its blocks */
  for (Turns turns(a.back, a.full); turns.i < (uint32_t)f.nitems; turns.Next()) {
    Scalar   sum[NT][SUMS] = {}, total[NT][SUMS] = {};
    uint32_t in_chunk = 0; /* bricks of the strip since the last chunk ended */

    for (uint32_t nblocks = CountBlocks(GetItem(f, turns.i)); nblocks > 0; nblocks--) {
      const uint32_t    base = begin + at.stage * a.stage_bytes, run = base + a.pattern_at, start = run + (uint32_t)HrpbOffsetStripStart() + 2 * strip;
      const StagedBlock block = {run + (uint32_t)HrpbOffsetBricks(f.strips), base + BYTES, base + (n_warp + g) * COLUMN};

      RingWaitFull(ring, at);
      const uint32_t first = ReadShared16(start), last = ReadShared16(start + 2);

      MultiplyStrip<P, BM, NT, HALF, PAIRS, ROW, COLUMN, StepsAtATime(P, BM, NT)>(block, first, last, lane, sum);
      RingLeave(ring, at);
      at.Next(a.nstages);
      in_chunk += last - first;
      if (CHUNKS && in_chunk >= CHUNK_BRICKS) {
        EndChunk(sum, total);
        in_chunk = 0;
      }
    }
    if (CHUNKS) EndChunk(sum, total);
    FinishItem<BM, false, ROWS, PAIRS, NT * WN <= NARROW_TILES>(f, a.d, GetItem(f, turns.i), strip, lane, CHUNKS ? total : sum, (int32_t)(blockIdx.x * NB + n_warp));
  }
}

namespace {
/* How many columns of B are multiplied together, and by what: see Staged() */
typedef struct {
  int  nt, wn, ctas; /* ctas: as many thread blocks on a multiprocessor as there is shared memory for */
  bool half;
  int  columns, ntiles; /* columns of a tile; number of tiles */
  int  nstages, stage_bytes;
} Tiling;
} // namespace

/* Whether bricks of 16 rows are added in chunks: warps then have NARROW_TILES tiles at most */
static bool IsTallInChunks(const Product *p)
{
  return p->h->params.brick_rows == 16 && HasChunks(p->precision, 16, p->h->params.pairs != 0);
}

/*
   The tiling with tiles of at most 16*most columns. They are equally wide. A single narrow one is without a half of 16
   columns that would be empty
*/
static Tiling GetTiling(const Product *p, const SpmmDevice *device, int most, bool rows)
{
  const int              q = (p->N + TILE_COLS - 1) / TILE_COLS, parts = (q + most - 1) / most;
  const bool             chunks = IsTallInChunks(p);
  StagedArgs<HrpbScalar> a;
  Tiling                 t;

  t.nt          = (q + parts - 1) / parts;
  t.wn          = p->h->params.brick_rows == 16 && t.nt > (chunks ? NARROW_TILES : HALF_TILES) ? 2 : 1;
  t.nt          = (t.nt + t.wn - 1) / t.wn;
  t.ctas        = t.nt * t.wn <= NARROW_TILES ? 3 : t.nt * t.wn <= HALF_TILES ? 2 : 1;
  if (chunks && t.nt * t.wn > 1) t.ctas = t.wn == 1 ? 2 : 1; /* two sets of sums */
  t.half        = t.nt <= HALF_TILES && t.wn == 1 && TILE_COLS * t.nt - p->N >= TILE_COLS / 2;
  t.columns     = TILE_COLS * t.nt * t.wn - (t.half ? TILE_COLS / 2 : 0);
  t.ntiles      = (p->N + t.columns - 1) / t.columns;
  GetStage(p->h, t.columns, &a, rows);
  t.stage_bytes = (int)a.stage_bytes;
  t.ctas        = ShareStages(device, t.ctas, t.stage_bytes, &t.nstages);
  return t;
}

/*
   Up to 128 columns are multiplied together, so that A is decoded once. Two thread blocks with half of the columns each
   are better in two cases: where one would have only two stages, and where panels are short. Then one multiplies while
   the other stores its sums. Tiles are narrower where two stages do not fit, as on devices with less shared memory.

   A row-major B is brought ROWS_TILE_BYTES of a row at a time. Wider tiles wait longer for L2 than decoding A once
   saves.
*/
static Tiling ChooseTiling(const Product *p, const SpmmDevice *device, bool rows)
{
  const Tiling wide = GetTiling(p, device, rows ? ROWS_TILES : IsTallInChunks(p) ? HALF_TILES : WIDE_TILES, rows);

  if (wide.nt * wide.wn <= HALF_TILES ? wide.nstages >= 2 : wide.nstages > 2 && p->h->nblocks >= (int64_t)StagedShortPanel(p->h->params.brick_rows) * p->h->npanels) return wide;
  for (int most = rows ? ROWS_TILES : HALF_TILES;; most /= 2) {
    const Tiling t = GetTiling(p, device, most, rows);

    if (most == 1 || t.nstages >= 2) return t;
  }
}

/*
   Thread blocks of each tile: those that the device has room for are dealt to tiles, so some tiles may have one more
   than others. Each has one at least, and no more than there are items
*/
static int64_t Room(const SpmmDevice *device, const Tiling *t)
{
  return std::max((int64_t)device->nsm * t->ctas, (int64_t)t->ntiles);
}

static dim3 TileGrid(const SpmmDevice *device, const Tiling *t, int32_t nitems)
{
  return dim3(t->ntiles, HrpbGrid(Room(device, t), t->ntiles, std::max(nitems, 1)));
}

/* How many tiles have a thread block in the last row of that grid */
static uint32_t FullTiles(const SpmmDevice *device, const Tiling *t, int32_t nitems)
{
  const dim3 grid = TileGrid(device, t, nitems);

  return (uint32_t)std::min(Room(device, t) - (int64_t)(grid.y - 1) * t->ntiles, (int64_t)t->ntiles);
}

/*
   Columns of B that one launch multiplies at most. Tiles of so many columns as there can be then have eight thread
   blocks or more, and one more or less makes little difference
*/
static inline int32_t LaunchColumns(const SpmmDevice *device)
{
  return std::max(device->nsm / 8, 1) * (int32_t)WIDE_TILES * (int32_t)TILE_COLS;
}

template <int P, int BM, int NT, int WN, int LAYOUT, int CTAS, bool HALF, bool PAIRS> static HrpbError LaunchKernel(const Product *p, const SpmmDevice *device, const Tiling *t, const StagedArgs<HrpbScalar> *a)
{
  constexpr int NP     = 4 - CTAS; /* the more thread blocks, the fewer of their warps bring data */
  const auto    kernel = Staged<P, BM, NT, WN, LAYOUT, CTAS, NP, HALF, PAIRS>;
  const int     strips = p->h->params.panel_rows / BM;

  return LaunchRing(kernel, TileGrid(device, t, a->f.nitems), (strips * WN + NP) * 32, t->nstages * t->stage_bytes + RING_BARRIERS, p->stream, *a, p->behind);
}

template <int P, int BM, int NT, int WN, int LAYOUT, int CTAS, bool PAIRS> static HrpbError Launch(const Product *p, const SpmmDevice *device, const Tiling *t, const StagedArgs<HrpbScalar> *a)
{
  constexpr bool NARROW = WN == 1 && NT <= HALF_TILES;

  HrpbCall(t->half ? LaunchKernel<P, BM, NT, WN, LAYOUT, CTAS, NARROW, PAIRS>(p, device, t, a) : LaunchKernel<P, BM, NT, WN, LAYOUT, CTAS, false, PAIRS>(p, device, t, a));
  return a->d.counts ? HRPB_SUCCESS : AddPartsRun(p, false);
}

/* Bricks of 8 rows */
template <int P, int LAYOUT, bool PAIRS> static HrpbError LaunchShort(const Product *p, const SpmmDevice *device, const Tiling *t, const StagedArgs<HrpbScalar> *a)
{
  constexpr int most = LAYOUT == B_ROWS ? ROWS_TILES : WIDE_TILES;

  if constexpr (most > HALF_TILES) {
    switch (t->nt) {
    case 5:
      return Launch<P, 8, 5, 1, LAYOUT, 1, PAIRS>(p, device, t, a);
    case 6:
      return Launch<P, 8, 6, 1, LAYOUT, 1, PAIRS>(p, device, t, a);
    case 7:
      return Launch<P, 8, 7, 1, LAYOUT, 1, PAIRS>(p, device, t, a);
    case 8:
      return Launch<P, 8, 8, 1, LAYOUT, 1, PAIRS>(p, device, t, a);
    default:
      break;
    }
  }
  if constexpr (most > 2) {
    if (t->nt == 3) return Launch<P, 8, 3, 1, LAYOUT, 2, PAIRS>(p, device, t, a);
    if (t->nt == 4) return Launch<P, 8, 4, 1, LAYOUT, 2, PAIRS>(p, device, t, a);
  }
  return t->nt == 2 ? Launch<P, 8, 2, 1, LAYOUT, 3, PAIRS>(p, device, t, a) : Launch<P, 8, 1, 1, LAYOUT, 3, PAIRS>(p, device, t, a);
}

/* Bricks of 16 rows */
template <int P, int LAYOUT, bool PAIRS> static HrpbError LaunchTall(const Product *p, const SpmmDevice *device, const Tiling *t, const StagedArgs<HrpbScalar> *a)
{
  constexpr int most = LAYOUT == B_ROWS ? ROWS_TILES : WIDE_TILES;

  if constexpr (HasChunks(P, 16, PAIRS)) {
    if (t->wn == 2) return Launch<P, 16, 2, 2, LAYOUT, 1, PAIRS>(p, device, t, a);
    if (t->nt == 2) return Launch<P, 16, 2, 1, LAYOUT, 2, PAIRS>(p, device, t, a);
  } else {
    if constexpr (most > HALF_TILES) {
      if (t->nt * t->wn == 6) return Launch<P, 16, 3, 2, LAYOUT, 1, PAIRS>(p, device, t, a);
      if (t->nt * t->wn == 8) return Launch<P, 16, 4, 2, LAYOUT, 1, PAIRS>(p, device, t, a);
    }
    if constexpr (most > 2) {
      if (t->nt == 3) return Launch<P, 16, 3, 1, LAYOUT, 2, PAIRS>(p, device, t, a);
      if (t->nt == 4) return Launch<P, 16, 4, 1, LAYOUT, 2, PAIRS>(p, device, t, a);
    }
    if (t->nt == 2) return Launch<P, 16, 2, 1, LAYOUT, 3, PAIRS>(p, device, t, a);
  }
  return Launch<P, 16, 1, 1, LAYOUT, 3, PAIRS>(p, device, t, a);
}

template <int P, int LAYOUT, bool PAIRS> static HrpbError LaunchFor(const Product *p, const SpmmDevice *device, const Tiling *t, const StagedArgs<HrpbScalar> *a)
{
  return p->h->params.brick_rows == 16 ? LaunchTall<P, LAYOUT, PAIRS>(p, device, t, a) : LaunchShort<P, LAYOUT, PAIRS>(p, device, t, a);
}

/*
   Whether the longest items come first. Neighbours then lie apart, and each brings the rows of B that they share. That
   costs nothing as long as L2 holds most of B and something of A and C
*/
static bool IsLongestFirst(const Product *p, const SpmmDevice *device, int ctas)
{
  const int64_t bytes = (int64_t)p->h->ncols * p->N * (int64_t)sizeof(HrpbScalar);

  return p->schedule->longest && p->schedule->longest_first[ctas - 1] && 4 * bytes <= 3 * (int64_t)device->cache;
}

/* What a product is launched with, and its tiling */
static Tiling StagedArgsOf(const Product *p, const SpmmDevice *device, bool rows, StagedArgs<HrpbScalar> *args)
{
  const Tiling           t = ChooseTiling(p, device, rows);
  StagedArgs<HrpbScalar> a;

  GetStage(p->h, t.columns, &a, rows);
  a.f       = FormatOf(p->h, p->schedule, p->values);
  a.d       = DenseArgsOf(p);
  a.ncols   = p->h->ncols;
  a.nstages = t.nstages;
  a.full    = FullTiles(device, &t, a.f.nitems);
  a.back    = IsLongestFirst(p, device, t.ctas);
  a.sectors = IsAligned(p->B, p->ldb, HRPB_SECTOR);
  if (a.back) a.f.items = (const WorkItem *)p->schedule->longest;
  if (t.ntiles == 1 && t.nt * t.wn <= NARROW_TILES) a.d.counts = p->schedule->counts;
  *args     = a;
  return t;
}

/* The product with a column-major B, read where it is */
template <int P, bool PAIRS> static HrpbError RunColumnMajor(const Product *p, const SpmmDevice *device)
{
  StagedArgs<HrpbScalar> a;
  const Tiling           t = StagedArgsOf(p, device, false, &a);

  return IsAligned(p->B, p->ldb, 16) ? LaunchFor<P, B_ALIGNED, PAIRS>(p, device, &t, &a) : LaunchFor<P, B_UNALIGNED, PAIRS>(p, device, &t, &a);
}

/* The same where values are pairs: pairs.cu */
HrpbError StagedPairsRun(const Product *, const SpmmDevice *);

/* This does not depend on N. Wider tiles are chosen only where they fit, too */
static inline bool StagesFit(const SpmmFacts *facts, const HrpbParams *params, const SpmmDevice *device, bool rows)
{
  StagedArgs<HrpbScalar> a;

  GetStage(params->brick_rows, facts->max_pattern, facts->max_values, TILE_COLS, &a, rows);
  return TwoStagesFit(device, a.stage_bytes);
}
