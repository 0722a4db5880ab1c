/*
   Sampled products on tensor cores: a brick says which entries of a tile of B X^T are wanted.

   Producer warps bring the patterns of blocks and the rows of the right operand that a block needs into a ring of
   stages (bricks/staged.cuh). The other warps have a strip each. Its rows of the left operand are in registers, as
   fragments. One instruction makes four columns' share of the products of a strip's rows with the columns of two bricks
   of 16 rows, or of four bricks of 8 rows, whose operands are swapped (FlashSparse, section 3.4). A warp has four
   bricks at a time: a strip has about as many in a block, and their instructions need not wait for each other.

   Products go to the entries of the CSR. No map is needed: entries of a row come in ascending order of columns, in
   bricks as in the CSR, so a lane counts them as it goes along. What they are scaled by comes with the blocks: reads of
   the CSR's values would be waited for at each step.

   Where there are more columns than registers have room for, they are done in several launches, in order. All but the
   last leave the sums so far, which the next one begins with.
*/
#include "../bricks/staged.cuh"
#include "../format/rows.cuh"
#include "sample.cuh"

enum {
  MOST_TILES = 8 /* of 16 columns, whose fragments registers have room for */
};

namespace {
struct SampleBricksArgs {
  StagedArgs<HrpbScalar> b; /* its d.B and d.N are the columns of the right operand in this launch */
  SampleArgs             s; /* all columns */
  int32_t                n0;
  bool                   more;   /* columns come after this launch */
  bool                   scaled; /* in the end products are multiplied by the values of the bricks */
};

/*
   The strip's rows of 16 columns of the left operand, as a lane = 4*g + k has them. In double the lane's columns are k,
   4 + k, 8 + k, 12 + k. In single a step takes eight columns: the lane has two neighbours of them, so that lanes that
   read the right operand in shared memory hit different banks
*/
template <int P, int BM> struct LeftTile {
  enum {
    STEPS = 2,
    STEP  = 8,
    NEXT  = 2 /* columns from a lane's to the next one's */
  };
  Fragment<P, BM == 8 ? 2 : 4> f[STEPS];

  template <typename Get> __device__ __forceinline__ void Set(Get get)
  {
#pragma unroll
    for (int u = 0; u < STEPS; u++) {
      if (BM == 8) {
        f[u].Set(0, get(0, STEP * u));
        f[u].Set(1, get(0, STEP * u + 1));
      } else {
        f[u].Set(0, get(0, STEP * u));
        f[u].Set(1, get(1, STEP * u));
        f[u].Set(2, get(0, STEP * u + 1));
        f[u].Set(3, get(1, STEP * u + 1));
      }
    }
  }
};

template <int BM> struct LeftTile<HRPB_FP64, BM> {
  enum {
    STEPS = 4,
    STEP  = 4,
    NEXT  = 1
  };
  double a[STEPS][BM / 8];

  template <typename Get> __device__ __forceinline__ void Set(Get get)
  {
#pragma unroll
    for (int u = 0; u < STEPS; u++) {
#pragma unroll
      for (int half = 0; half < BM / 8; half++) a[u][half] = get(half, STEP * u);
    }
  }
};
} // namespace

/*
   sum += step number u of a tile. y has the addresses of what the lane reads of the right operand, in the step's first
   column: of two bricks, and of the two after them, which are left out unless TWO.

   A tensor core truncates where it adds in single, so each step starts from zero: see mma.cuh. Bricks of 16 rows have a
   sum for each pair of bricks. Bricks of 8 rows have one for all four, and in double a second one, so that an
   instruction need not wait for the one before
*/
template <int P, int PITCH, bool TWO> static __device__ __forceinline__ void SampleStep(float (&sum)[2][4], const LeftTile<P, 16> &left, int u, const uint32_t (&y)[2])
{
#pragma unroll
  for (int e = 0; e < (TWO ? 2 : 1); e++) {
    Fragment<P, 2> right;
    float          part[4] = {};

    right.Set(0, ReadShared(y[e]));
    right.Set(1, ReadShared(y[e] + PITCH));
    MmaSplit<P>(part, left.f[u], right);
#pragma unroll
    for (int i = 0; i < 4; i++) sum[e][i] += part[i];
  }
}

template <int P, int PITCH, bool TWO> static __device__ __forceinline__ void SampleStep(float (&sum)[2][4], const LeftTile<P, 8> &left, int u, const uint32_t (&y)[2])
{
  Fragment<P, 4> right;
  float          part[4] = {};

  right.Set(0, ReadShared(y[0]));
  right.Set(1, TWO ? ReadShared(y[1]) : 0);
  right.Set(2, ReadShared(y[0] + PITCH));
  right.Set(3, TWO ? ReadShared(y[1] + PITCH) : 0);
  MmaSplit<P>(part, right, left.f[u]);
#pragma unroll
  for (int i = 0; i < 4; i++) sum[0][i] += part[i];
}

template <int P, int PITCH, bool TWO> static __device__ __forceinline__ void SampleStep(double (&sum)[2][4], const LeftTile<P, 16> &left, int u, const uint32_t (&y)[2])
{
  MmaFp64(sum[0], left.a[u][0], left.a[u][1], ReadShared(y[0]));
  if (TWO) MmaFp64(sum[1], left.a[u][0], left.a[u][1], ReadShared(y[1]));
}

template <int P, int PITCH, bool TWO> static __device__ __forceinline__ void SampleStep(double (&sum)[2][4], const LeftTile<P, 8> &left, int u, const uint32_t (&y)[2])
{
  MmaFp64(sum[u % 2], ReadShared(y[0]), TWO ? ReadShared(y[1]) : 0, left.a[u][0]);
}

/* The lane's products with all columns. Indices: a pair of bricks, a row of two, and with 16 rows a column of two */
template <int P, int BM, int NT, bool TWO, typename Scalar> static __device__ __forceinline__ void SampleTiles(const LeftTile<P, BM> (&left)[NT], const uint32_t (&y)[2], Scalar (&product)[2][2][BM / 8])
{
  typedef LeftTile<P, BM> Tile;
  Scalar sum[2][4] = {};

#pragma unroll
  for (int t = 0; t < NT; t++) {
#pragma unroll
    for (int u = 0; u < Tile::STEPS; u++) {
      const uint32_t columns = (TILE_COLS * t + Tile::STEP * u) * Pitch(BM), from[2] = {y[0] + columns, y[1] + columns};

      SampleStep<P, Pitch(BM), TWO>(sum, left[t], u, from);
    }
  }
#pragma unroll
  for (int e = 0; e < 2; e++) {
#pragma unroll
    for (int j = 0; j < 2; j++) {
#pragma unroll
      for (int c = 0; c < BM / 8; c++) product[e][j][c] = BM == 8 ? sum[0][2 * e + j] + sum[1][2 * e + j] : sum[e][2 * j + c];
    }
  }
}

/* A product with those of earlier launches. If it is not finite in the last one: as a loop over all columns has it */
static __device__ __noinline__ HrpbScalar Finished(const SampleBricksArgs &a, int32_t row, HrpbInt place, HrpbScalar product)
{
  const SampleArgs &s = a.s;

  if (a.n0) product += s.out[place];
  if (a.more || IsFinite(product)) return product;
  return SampleInOneGo(s.left + row, s.ldleft, s.right + s.colidx[place], s.ldright, s.N);
}

/* The row of a panel that product row j of a lane = 4*g + k of a strip is in */
template <int BM> static __device__ __forceinline__ int32_t RowOfProduct(uint32_t strip, uint32_t g, uint32_t k, int j)
{
  return (int32_t)(strip * BM + (BM == 8 ? 2 * k + j : g + 8 * j));
}

/* Where the value of the slot is that meets product (row j, column c) of a lane = 4*g + k */
template <int BM> static __device__ __forceinline__ uint32_t PlaceOfValue(const PackedBrick &packed, uint32_t g, uint32_t k, int j, int c)
{
  const int      half = BM == 8 ? 0 : j;
  const uint32_t bit  = BM == 8 ? 8 * k + 4 * j + g % 4 : 4 * g + 2 * (k % 2) + c;

  return packed.Value(half) + __popc(packed.Pattern(half) & ((1u << bit) - 1));
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
  constexpr int BRICKS = 4; /* that a warp multiplies together */
  constexpr int NB     = 16 * NT, PITCH = Pitch(BM), RUNS = SCALED ? BOTH_RUNS : PATTERN_RUN;
  extern __shared__ __align__(STAGE_ALIGN) uint8_t shared[];
  const Format<Scalar> &f = a.b.f;
  const SampleArgs     &s = a.s;
  const int32_t  N = a.b.d.N;
  const uint32_t warp = threadIdx.x / 32, lane = threadIdx.x % 32, nconsumers = blockDim.x / 32 - NP, g = lane / 4, k = lane % 4;
  const uint32_t begin = __shfl_sync(HRPB_ALL_LANES, SharedAddress(shared), 0); /* the shuffle keeps it in a register */
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

  for (uint32_t w = blockIdx.x; w < (uint32_t)f.nitems; w = PairAfter(w, a.b.back)) {
    const WorkItem item = GetItem(f, w);
    HrpbInt        entry[2]; /* the next of each of the lane's two rows of products */
    Tile           left[NT];

    if (item.begin == item.end) continue;
#pragma unroll
    for (int j = 0; j < 2; j++) {
      const int32_t row = MatrixRow(f, item.panel, RowOfProduct<BM>(warp, g, k, j));

      entry[j] = row < 0 ? 0 : s.rowptr[row];
      if (row >= 0 && item.begin != f.blocked_row_ptr[item.panel]) {
        entry[j] = (HrpbInt)HrpbLowerBound(s.colidx, entry[j], s.rowptr[row + 1], (int64_t)f.windows[f.window_ptr[item.begin]] << f.window_shift);
      }
    }
    {
      const int32_t     row[2] = {MatrixRow(f, item.panel, warp * BM + g), MatrixRow(f, item.panel, warp * BM + g + 8)};
      const HrpbScalar *from   = s.left + a.n0 * s.ldleft;

#pragma unroll
      for (int t = 0; t < NT; t++) {
        left[t].Set([&](int half, int32_t column) {
          const int32_t n = TILE_COLS * t + Tile::NEXT * (int32_t)k + column;

          return row[half] >= 0 && n < N ? from[row[half] + n * s.ldleft] : (Scalar)0;
        });
      }
    }
    for (uint32_t nblocks = CountBlocks(item); nblocks > 0; nblocks--) {
      const uint32_t base = begin + at.stage * a.b.stage_bytes, run = base + a.b.pattern_at, start = run + (uint32_t)HrpbOffsetStripStart() + 2 * warp;
      const uint32_t bricks = run + (uint32_t)HrpbOffsetBricks(f.strips), values = base + PITCH * NB, right = base + Tile::NEXT * k * PITCH;

      RingWaitFull(ring, at);
      const uint32_t last = ReadShared16(start + 2);

#pragma unroll 1
      for (uint32_t brick = ReadShared16(start); brick < last; brick += BRICKS) {
        const int n       = min((int)(last - brick), BRICKS);
        uint32_t  bits[2] = {}; /* of each row: which of the bricks' 16 columns have an entry */
        uint32_t  y[2]    = {};
        Scalar    product[2][2][BM / 8], all = 0;

#pragma unroll
        for (int q = 0; q < BRICKS; q++) {
          const PackedBrick packed(bricks + (q < n ? brick + q : brick) * (uint32_t)sizeof(HrpbBrick));

#pragma unroll
          for (int j = 0; j < 2; j++) bits[j] |= (packed.Pattern(BM == 8 ? 0 : j) >> (BM == 8 ? 8 * k + 4 * j : 4 * g) & 15) << 4 * q;
          if (g / 4 == q % 2) y[q / 2] = right + packed.Column(g % 4) * (uint32_t)sizeof(Scalar);
        }
#pragma unroll
        for (int j = 0; j < 2; j++) bits[j] &= (1u << 4 * n) - 1;
        if (n > 2) SampleTiles<P, BM, NT, true>(left, y, product);
        else SampleTiles<P, BM, NT, false>(left, y, product);
#pragma unroll
        for (int e = 0; e < 2; e++) {
#pragma unroll
          for (int c = 0; c < BM / 8; c++) all += product[e][0][c] + product[e][1][c];
        }
        /* one look at all of them: what is not finite shows in the sum */
        const bool look = a.n0 || !IsFinite(all);

#pragma unroll
        for (int e = 0; e < 2; e++) {
          const uint32_t    mine = brick + 2 * e + (BM == 8 ? g : k * 2) / 4;
          const PackedBrick packed(bricks + (SCALED && mine < last ? mine : brick) * (uint32_t)sizeof(HrpbBrick));

#pragma unroll
          for (int j = 0; j < 2; j++) {
#pragma unroll
            for (int c = 0; c < BM / 8; c++) {
              const uint32_t column = 8 * e + (BM == 8 ? g : 2 * k + c);

              if (!(bits[j] >> column & 1)) continue;
              const HrpbInt place = entry[j] + (HrpbInt)__popc(bits[j] & ((1u << column) - 1));
              Scalar        p     = product[e][j][c];

              if (look) p = Finished(a, MatrixRow(f, item.panel, RowOfProduct<BM>(warp, g, k, j)), place, p);
              if (SCALED) p *= ReadShared(values + PlaceOfValue<BM>(packed, g, k, j, c) * (uint32_t)sizeof(Scalar));
              s.out[place] = p;
            }
          }
        }
#pragma unroll
        for (int j = 0; j < 2; j++) entry[j] += (HrpbInt)__popc(bits[j]);
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
  int           ctas = CTAS;

  for (;; ctas--) { /* as many thread blocks as registers allow, as long as each has two stages */
    a->b.nstages = StagesThatFit(device, ctas, (int)a->b.stage_bytes);
    if (ctas == 1 || a->b.nstages >= 2) break;
  }
  return LaunchRing(SampleBricks<P, BM, NT, ALIGNED, SCALED, CTAS, NP>, device, a->b.f.nitems, ctas, (a->b.f.strips + NP) * 32, a->b.nstages * (int)a->b.stage_bytes + RING_BARRIERS, stream, *a);
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
    if (2 * (int64_t)b.stage_bytes > RoomForStages(device, 1)) break;
    nt *= 2;
  }
  return nt;
}

/* Launch for tile after tile of columns. One column of none is launched, too: it makes zeros */
template <int P> static HrpbError RunTiles(const SpmmMatrix *A, const SpmmOperands *o, const SpmmDevice *device, cudaStream_t stream)
{
  const bool       aligned = ((uintptr_t)o->X.array | o->X.ld * sizeof(HrpbScalar)) % 16 == 0, tall = A->hrpb->params.brick_rows == 16;
  const int        nt      = TilesOfLaunch(A->hrpb, o->update == SPMM_SCALE, o->N, device);
  SampleBricksArgs a       = {};

  a.b.f      = FormatOf(A->hrpb, A->schedule, A->brick_values);
  a.b.ncols  = A->hrpb->ncols;
  a.b.ntiles = 1;
  a.s        = SampleArgsOf(A, o);
  a.scaled   = o->update == SPMM_SCALE;
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

  if (o->X.layout != SPMM_COLUMN_MAJOR || !IsStagedFormat(params)) return false;
  GetStage(params->brick_rows, facts->max_pattern, o->update == SPMM_SCALE ? facts->max_values : 0, TILE_COLS, &b);
  return 2 * (int64_t)b.stage_bytes <= RoomForStages(device, 1);
}

static double Seconds(const SpmmFacts *facts, const HrpbParams *params, HrpbPrecision precision, int64_t N, const SpmmDevice *device)
{
  return SpmmBricksStaged.seconds(facts, params, precision, N, device);
}

static HrpbError Run(const SpmmMatrix *A, const SpmmOperands *o, void *, HrpbStream stream)
{
  const SpmmDevice *device;
  bool              supports;

  HrpbCall(HrpbSupportsDevice(A->precision, &supports));
  if (!supports) return HRPB_ERR_UNSUPPORTED;
  HrpbCall(SpmmGetDevice(&device));
  if (!A->hrpb->nblocks) return HRPB_SUCCESS;
#if defined(HRPB_USE_SINGLE)
  return A->precision == HRPB_TF32 ? RunTiles<HRPB_TF32>(A, o, device, stream) : RunTiles<HRPB_3XTF32>(A, o, device, stream);
#else
  return RunTiles<HRPB_FP64>(A, o, device, stream);
#endif
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
