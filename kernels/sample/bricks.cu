/*
   Sampled products on tensor cores: a brick says which entries of a tile of B X^T are wanted.

   Producer warps bring the patterns of blocks and the rows of the right operand that a block needs into a ring of
   stages (bricks/staged.cuh). The other warps have a strip each. Its rows of the left operand are in registers, as
   fragments. One instruction makes four columns' share of the products of a strip's rows with the columns of two bricks
   of 16 rows, or of four bricks of 8 rows, whose operands are swapped (FlashSparse, section 3.4). A warp has four
   bricks at a time: a strip has about as many in a block, and their instructions need not wait for each other. In
   double, where a block has one or two more for the strip, they go along as a tail, in instructions of half the size:
   see HasTail().

   Products go to the entries of the CSR. No map is needed: entries of a row come in ascending order of columns, in
   bricks as in the CSR, so a lane counts them as it goes along. What they are scaled by comes with the blocks: reads of
   the CSR's values would be waited for at each step.

   Where there are more columns than registers have room for, they are done in several launches, in order. All but the
   last leave the sums so far, to which the next one adds.
*/
#include "../format/rows.cuh"
#include "sample.cuh"
#include "tiles.cuh"

enum {
  MOST_TILES = 8 /* of 16 columns, whose fragments registers have room for */
};

/*
   Whether four bricks take a tail of one or two along. 64 columns leave no registers for it where two thread blocks
   share a multiprocessor, nor does 3xTF32, whose instructions have no half to save
*/
static constexpr __host__ __device__ bool HasTail(int precision, int brick_rows, int nt)
{
  return precision == HRPB_FP64 && brick_rows == 8 && nt != 4;
}

namespace {
struct SampleBricksArgs {
  StagedArgs<HrpbScalar> b; /* its d.B and d.N are the columns of the right operand in this launch */
  SampleArgs             s; /* all columns */
  int32_t                n0;
  bool                   more;   /* columns come after this launch */
  bool                   scaled; /* in the end products are multiplied by the values of the bricks */
};
} // namespace

/*
   The lane's entries of a group of bricks that are not finite, as a loop over all columns has them. entry are the
   places of the group's first entries in the lane's two rows
*/
template <int BM, int PAIRS> static __device__ __noinline__ void SampleAgain(const SampleBricksArgs &a, int32_t panel, uint32_t strip, uint32_t g, uint32_t k, HrpbInt entry0, HrpbInt entry1, BrickGroup<BM, PAIRS> group)
{
  const SampleArgs &s = a.s;

#pragma unroll 1
  for (int i = 0; i < 2 * PAIRS * (BM / 8); i++) {
    const int      e = i / (2 * (BM / 8)), j = i / (BM / 8) % 2, c = i % (BM / 8);
    const uint32_t column = group.Column(e, c, g, k);
    const HrpbInt  place  = (j ? entry1 : entry0) + (HrpbInt)group.CountBefore(j, column);

    if (!group.Has(j, column) || IsFinite(s.out[place])) continue;
    const HrpbScalar p = SampleInOneGo(s.left + MatrixRow(a.b.f, panel, RowOfProduct<BM>(strip, g, k, j)), s.ldleft, s.right + s.colidx[place], s.ldright, s.N);

    s.out[place] = s.values ? s.values[place] * p : p;
  }
}

/*
   Store the products of a group of bricks, n of them from number brick on: those of earlier launches are added, and
   they are scaled. entry: see SampleAgain(). It says whether one is not finite before it is scaled.

   Stores are predicated: branches around them, or around what is not finite, take as long as the products
*/
template <int BM, bool SCALED, int PAIRS, typename Scalar> static __device__ __forceinline__ bool StoreProducts(const SampleBricksArgs &a, const BrickGroup<BM, PAIRS> &group, Scalar (&product)[PAIRS][2][BM / 8], const HrpbInt (&entry)[2], uint32_t bricks, uint32_t brick, uint32_t n, uint32_t values, uint32_t g, uint32_t k)
{
  bool look = false;

  if (a.n0) {
    EachProduct<BM, PAIRS>([&](int e, int j, int c) {
      const uint32_t column = group.Column(e, c, g, k);

      if (group.Has(j, column)) product[e][j][c] += a.s.out[entry[j] + (HrpbInt)group.CountBefore(j, column)];
    });
  }
  EachProduct<BM, PAIRS>([&](int e, int j, int c) {
    const uint32_t column = group.Column(e, c, g, k);
    Scalar         p      = product[e][j][c];

    look |= !IsFinite(p);
    if (SCALED) p *= ReadShared(values + PlaceOfValue<BM>(group.Brick(bricks, brick, n, e, g, k), g, k, j, c) * (uint32_t)sizeof(Scalar));
    if (group.Has(j, column)) a.s.out[entry[j] + (HrpbInt)group.CountBefore(j, column)] = p;
  });
  return look;
}

/*
   P        precision
   BM       rows of a brick
   NT       tiles of 16 columns
   ALIGNED  whether all columns of the right operand are aligned to 16 bytes
   SCALED   whether products are multiplied by the values of the bricks
   CTAS     thread blocks on a multiprocessor
   NP       producer warps: one for the packed blocks, the others for the right operand
*/
template <int P, int BM, int NT, bool ALIGNED, bool SCALED, int CTAS, int NP> static __global__ void __launch_bounds__((STAGED_STRIPS + NP) * 32, CTAS) SampleBricks(const __grid_constant__ SampleBricksArgs a)
{
  typedef typename Mma<P>::Scalar Scalar;
  typedef LeftTile<P, BM>         Tile;
  typedef Copies<BM, 16 * NT, NP - 1, ALIGNED, Scalar> COPIES;
  constexpr int  NB = 16 * NT, PITCH = Pitch(BM), RUNS = SCALED ? BOTH_RUNS : PATTERN_RUN;
  constexpr bool WITH_TAIL = HasTail(P, BM, NT);
  extern __shared__ __align__(STAGE_ALIGN) uint8_t shared[];
  const Format<Scalar> &f = a.b.f;
  const SampleArgs     &s = a.s;
  const int32_t  N = a.b.d.N;
  const uint32_t warp = threadIdx.x / 32, lane = __shfl_sync(HRPB_ALL_LANES, threadIdx.x % 32, threadIdx.x % 32), nconsumers = blockDim.x / 32 - NP, g = lane / 4, k = lane % 4;
  const uint32_t begin = __shfl_sync(HRPB_ALL_LANES, SharedAddress(shared), 0); /* a shuffle keeps it in a register */
  const Ring     ring  = RingAt(begin, begin + a.b.nstages * a.b.stage_bytes);
  RingPlace      at;

  /* Columns beyond the last stay zero: nobody copies there, and zero times what may be left there might be NaN */
  for (int32_t i = threadIdx.x; i < a.b.nstages * (NB - N) * (int32_t)(PITCH / sizeof(Scalar)); i += blockDim.x) {
    const int32_t stage = i % a.b.nstages, at_word = i / a.b.nstages;

    WriteShared(begin + stage * a.b.stage_bytes + N * PITCH + at_word * (int32_t)sizeof(Scalar), 0);
  }
  RingInit(ring, a.b.nstages, 32 * NP + RUN_ARRIVALS, nconsumers);
  if (warp >= nconsumers) {
    if (warp == nconsumers) ProduceApart<BM, NB, NoCopies<Scalar>, RUNS>(a.b, ring, 0, lane);
    else ProduceApart<BM, NB, COPIES, NO_RUN>(a.b, ring, warp - nconsumers - 1, lane);
    return;
  }

  Turns    turns(a.b.back, a.b.full);
  WorkItem next = turns.i < (uint32_t)f.nitems ? GetItem(f, turns.i) : WorkItem{};

  while (turns.i < (uint32_t)f.nitems) {
    const WorkItem item = next;
    HrpbInt        entry[2]; /* the next of each of the lane's two rows of products */
    Tile           left[NT];

    turns.Next();
    if (turns.i < (uint32_t)f.nitems) next = GetItem(f, turns.i);
    if (item.begin == item.end) continue;
#pragma unroll
    for (int j = 0; j < 2; j++) {
      const int32_t row = MatrixRow(f, item.panel, RowOfProduct<BM>(warp, g, k, j));

      entry[j] = row < 0 ? 0 : s.rowptr[row];
      if (row >= 0 && item.slot >= 0) {
        entry[j] = (HrpbInt)HrpbLowerBound(s.colidx, entry[j], s.rowptr[row + 1], (int64_t)f.windows[f.window_ptr[item.begin]] << f.window_shift);
      }
    }
    LoadLeft<P, BM, NT>(left, f, item.panel, warp, g, k, s.left + a.n0 * s.ldleft, s.ldleft, N);
    for (uint32_t nblocks = CountBlocks(item); nblocks > 0; nblocks--) {
      const uint32_t base = begin + at.stage * a.b.stage_bytes, run = base + a.b.pattern_at, start = run + (uint32_t)HrpbOffsetStripStart() + 2 * warp;
      const uint32_t bricks = run + (uint32_t)HrpbOffsetBricks(f.strips), values = base + PITCH * NB, right = base + Tile::NEXT * k * PITCH;

      RingWaitFull(ring, at);
      const uint32_t last = ReadShared16(start + 2);

#pragma unroll 1
      for (uint32_t brick = ReadShared16(start); brick < last;) {
        const uint32_t left_over = last - brick;

        if (WITH_TAIL && left_over > TILE_BRICKS && left_over <= TILE_BRICKS + TAIL_BRICKS) {
          const uint32_t          n = left_over - TILE_BRICKS, behind = brick + TILE_BRICKS;
          const BrickGroup<BM>    group(bricks, brick, TILE_BRICKS, right, g, k);
          const BrickGroup<BM, 1> tail(bricks, behind, n, right, g, k);
          const HrpbInt           then[2] = {entry[0] + (HrpbInt)group.Count(0), entry[1] + (HrpbInt)group.Count(1)};
          Scalar                  product[2][2][BM / 8], rest[1][2][BM / 8];

          SampleTiles<P, BM, NT, true, true>(left, group.y, tail.y[0], product, rest);
          const bool look = StoreProducts<BM, SCALED>(a, group, product, entry, bricks, brick, TILE_BRICKS, values, g, k), look_then = StoreProducts<BM, SCALED>(a, tail, rest, then, bricks, behind, n, values, g, k);

          if ((look || look_then) && !a.more) {
            SampleAgain(a, item.panel, warp, g, k, entry[0], entry[1], group);
            SampleAgain(a, item.panel, warp, g, k, then[0], then[1], tail);
          }
#pragma unroll
          for (int j = 0; j < 2; j++) entry[j] = then[j] + (HrpbInt)tail.Count(j);
          break;
        }
        const uint32_t       n = min(left_over, (uint32_t)TILE_BRICKS);
        const BrickGroup<BM> group(bricks, brick, n, right, g, k);
        Scalar               product[2][2][BM / 8];

        if (n > 2) SampleTiles<P, BM, NT, true>(left, group.y, product);
        else SampleTiles<P, BM, NT, false>(left, group.y, product);
        if (StoreProducts<BM, SCALED>(a, group, product, entry, bricks, brick, n, values, g, k) && !a.more) SampleAgain(a, item.panel, warp, g, k, entry[0], entry[1], group);
#pragma unroll
        for (int j = 0; j < 2; j++) entry[j] += (HrpbInt)group.Count(j);
        brick += TILE_BRICKS;
      }
      RingLeave(ring, at);
      at.Next(a.b.nstages);
    }
  }
}

/* Thread blocks that share a multiprocessor, by the registers that fragments take */
static constexpr int SharingFor(int brick_rows, int nt)
{
  return brick_rows * nt <= 32 ? 2 : 1;
}

template <int P, int BM, int NT, bool ALIGNED, bool SCALED> static HrpbError LaunchKernel(SampleBricksArgs *a, const SpmmDevice *device, cudaStream_t stream)
{
  constexpr int CTAS = SharingFor(BM, NT), NP = 4 - CTAS;
  const int     ctas = ShareStages(device, CTAS, (int)a->b.stage_bytes, &a->b.nstages);

  return LaunchRing(SampleBricks<P, BM, NT, ALIGNED, SCALED, CTAS, NP>, dim3(1, RingGrid(device, a->b.f.nitems, ctas)), (a->b.f.strips + NP) * 32, a->b.nstages * (int)a->b.stage_bytes + RING_BARRIERS, stream, *a);
}

template <int P, int BM, int NT, bool ALIGNED> static HrpbError Launch(SampleBricksArgs *a, const SpmmDevice *device, cudaStream_t stream)
{
  return a->scaled && !a->more ? LaunchKernel<P, BM, NT, ALIGNED, true>(a, device, stream) : LaunchKernel<P, BM, NT, ALIGNED, false>(a, device, stream);
}

template <int P, int BM, bool ALIGNED> static HrpbError LaunchFor(int nt, SampleBricksArgs *a, const SpmmDevice *device, cudaStream_t stream)
{
  switch (nt) {
  case 1:
    return Launch<P, BM, 1, ALIGNED>(a, device, stream);
  case 2:
    return Launch<P, BM, 2, ALIGNED>(a, device, stream);
  case 4:
    return Launch<P, BM, 4, ALIGNED>(a, device, stream);
  default:
    return Launch<P, BM, MOST_TILES, ALIGNED>(a, device, stream);
  }
}

/* Bytes of a stage of nt tiles */
static void GetSampleStage(const Hrpb *h, bool scaled, int nt, StagedArgs<HrpbScalar> *b)
{
  GetStage(h->params.brick_rows, h->max_pattern, scaled ? h->max_values : 0, TILE_COLS * nt, b);
}

/* Tiles of a launch: as many as there are columns for, registers have room for, and two stages have */
static int TilesOfLaunch(const Hrpb *h, bool scaled, int64_t N, const SpmmDevice *device)
{
  int nt = 1;

  while (nt < MOST_TILES && TILE_COLS * nt < N) {
    StagedArgs<HrpbScalar> b;

    GetSampleStage(h, scaled, 2 * nt, &b);
    if (!TwoStagesFit(device, b.stage_bytes)) break;
    nt *= 2;
  }
  return nt;
}

/* Launch for tile after tile of columns. One column of none is launched, too: it makes zeros */
template <int P> static HrpbError RunTiles(const SpmmMatrix *A, const SpmmOperands *o, const SpmmDevice *device, cudaStream_t stream)
{
  const bool       aligned = IsAligned(o->X.array, o->X.ld, 16), tall = A->hrpb->params.brick_rows == 16;
  const int        nt      = TilesOfLaunch(A->hrpb, o->update == SPMM_SCALE, o->N, device);
  SampleBricksArgs a       = {};

  a.b.f       = FormatOf(A->hrpb, A->schedule, A->brick_values);
  a.b.ncols   = A->hrpb->ncols;
  a.b.full    = 1; /* tile */
  a.b.sectors = IsAligned(o->X.array, o->X.ld, HRPB_SECTOR);
  a.s         = SampleArgsOf(A, o);
  a.scaled    = o->update == SPMM_SCALE;
  GetSampleStage(A->hrpb, a.scaled, nt, &a.b);
  for (int32_t n0 = 0; n0 == 0 || n0 < o->N; n0 += TILE_COLS * nt) {
    a.n0      = n0;
    a.more    = n0 + TILE_COLS * nt < o->N;
    a.b.d.B   = o->X.array + n0 * o->X.ld;
    a.b.d.ldb = o->X.ld;
    a.b.d.N   = a.more ? TILE_COLS * nt : (int32_t)o->N - n0;
    if (tall) HrpbCall(aligned ? LaunchFor<P, 16, true>(nt, &a, device, stream) : LaunchFor<P, 16, false>(nt, &a, device, stream));
    else HrpbCall(aligned ? LaunchFor<P, 8, true>(nt, &a, device, stream) : LaunchFor<P, 8, false>(nt, &a, device, stream));
  }
  return HRPB_SUCCESS;
}

static bool Takes(const SpmmFacts *facts, const HrpbParams *params, const SpmmOperands *o, const SpmmDevice *device)
{
  StagedArgs<HrpbScalar> b;

  if (o->X.layout != SPMM_COLUMN_MAJOR || !IsStagedFormat(params) || params->pairs) return false;
  GetStage(params->brick_rows, facts->max_pattern, o->update == SPMM_SCALE ? facts->max_values : 0, TILE_COLS, &b);
  return TwoStagesFit(device, b.stage_bytes);
}

static double Seconds(const SpmmFacts *facts, const HrpbParams *params, HrpbPrecision precision, int64_t N, const SpmmDevice *device)
{
  return device->model->sampled.bricks * SpmmBricksStaged.seconds(facts, params, precision, N, device);
}

static HrpbError Run(const SpmmMatrix *A, const SpmmOperands *o, void *, HrpbStream stream)
{
  const SpmmDevice *device;

  HrpbCall(SampleDevice(A, &device));
  if (A->hrpb->nblocks) HrpbCallPrecision(A->precision, RunTiles, A, o, device, stream);
  return HRPB_SUCCESS;
}

SPMM_KERNEL(SpmmSampledBricks) = {
  .name    = "sampled-bricks",
  .what    = "sampled products on tensor cores, with the rows of the right operand that a block needs in shared memory",
  .op      = SPMM_OP_SAMPLED,
  .format  = SPMM_BRICKS,
  .takes   = Takes,
  .seconds = Seconds,
  .run     = Run
};
