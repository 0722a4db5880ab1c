/*
   Bricks times rows of B that are staged in shared memory.

   Thread blocks are persistent: each takes one item of work after the other. Producer warps keep a ring of stages
   filled (stages.cuh). The other warps multiply, one or two of them for each strip. A stage holds a packed block and
   the rows of B that the block needs. The rows are column-major, with a pitch that lets the lanes of a fragment hit
   different banks.

   Source: cuTeSpMM, section 3: the blocks of a panel in shared memory, and coarsening along N.

   B is read in place. Its columns lie in different memory pages, and a multiprocessor has few pages at hand. So a warp
   copies all rows of a column, or of a few columns, before it goes on to the next. This is twice as fast as all columns
   of a few rows. Where columns are not aligned to 16 bytes, copies are smaller and the other order may be faster: see
   Copies.
*/
#include <algorithm>

#include "../common/stages.cuh"
#include "product.cuh"

enum {
  STAGED_STRIPS = 8, /* the most strips of a panel */
  STAGE_ALIGN   = 128
};

namespace {
template <typename Scalar> struct StagedArgs {
  Format<Scalar>    f;
  DenseArgs<Scalar> d;
  int32_t           ncols; /* of the matrix */
  int32_t           ntiles, nstages;
  bool              back; /* see PairAfter() */
  /* where the pattern run begins in a stage, behind the rows of B and the values; bytes of a stage */
  uint32_t          pattern_at, stage_bytes;
};
} // namespace

/*
   Bytes from a column of B to the next one in a stage: four scalars more than its rows, so that four rows of eight
   columns lie in different banks
*/
static constexpr __host__ __device__ int Pitch(int brick_rows)
{
  return (StagedCols(brick_rows) + 4) * (int)sizeof(HrpbScalar);
}

/*
   The pair that a thread block takes after pair number w. The first is that of its own number. Where pairs become
   shorter they are dealt forth and back, so that whoever had the longest of one turn has the shortest of the next
*/
static __device__ __forceinline__ uint32_t PairAfter(uint32_t w, bool back)
{
  return back ? w + 2 * (gridDim.x - w % gridDim.x) - 1 : w + gridDim.x;
}

namespace {
/* What a thread block has to do: pairs of an item and a tile of columns, the tiles of an item one after the other */
template <typename Scalar> struct Work {
  const Format<Scalar> &f;
  const uint32_t        ntiles;
  const bool            back;
  uint32_t              i, tile; /* the item's number, and its tile */
  WorkItem              item;    /* the item itself, still on its way from memory: do not read it early */

  __device__ __forceinline__ explicit Work(const StagedArgs<Scalar> &a) : f(a.f), ntiles(a.ntiles), back(a.back), i(blockIdx.x / ntiles), tile(blockIdx.x % ntiles) { Get(); }
  __device__ __forceinline__ bool Left(void) const { return i < (uint32_t)f.nitems; }
  __device__ __forceinline__ void Next(void)
  {
    const uint32_t w = PairAfter(i * ntiles + tile, back);

    i    = w / ntiles;
    tile = w % ntiles;
    Get();
  }

private:
  __device__ __forceinline__ void Get(void)
  {
    if (Left()) item = GetItem(f, i);
  }
};

/* The blocks that a thread block multiplies, one after the other, in groups of 1 to 32 */
template <typename Scalar> struct Blocks {
  Work<Scalar> work; /* the work after these blocks */
  uint32_t     tile, begin, end;

  __device__ __forceinline__ explicit Blocks(const StagedArgs<Scalar> &a) : work(a) { Open(); }
  __device__ __forceinline__ bool     Left(void) const { return begin < end; }
  __device__ __forceinline__ uint32_t Count(void) const { return min(end - begin, 32u); }
  __device__ __forceinline__ void     Next(void)
  {
    begin += Count();
    if (begin == end) Open();
  }

private:
  __device__ __forceinline__ void Open(void)
  {
    begin = end = 0;
    while (work.Left() && begin == end) {
      tile  = work.tile;
      begin = work.item.begin;
      end   = work.item.end;
      work.Next();
    }
  }
};

/*
   Where the runs of a block and its windows begin and end. All is zero where there is no such block. The numbers may
   still be on their way from memory: who first computes with them waits for them
*/
struct BlockPlace {
  uint32_t pattern, pattern_end, value, value_end, window, window_end;
};
} // namespace

template <typename Scalar> static __device__ __forceinline__ BlockPlace GetPlace(const Format<Scalar> &f, uint32_t block, uint32_t end)
{
  if (block >= end) return {};
  return {f.pattern_ptr[block], f.pattern_ptr[block + 1], f.value_ptr[block], f.value_ptr[block + 1], f.window_ptr[block], f.window_ptr[block + 1]};
}

/* The place that lane i knows */
static __device__ __forceinline__ BlockPlace ShufflePlace(const BlockPlace &p, uint32_t i)
{
  return {__shfl_sync(HRPB_ALL_LANES, p.pattern, i), __shfl_sync(HRPB_ALL_LANES, p.pattern_end, i), __shfl_sync(HRPB_ALL_LANES, p.value, i), __shfl_sync(HRPB_ALL_LANES, p.value_end, i), __shfl_sync(HRPB_ALL_LANES, p.window, i), __shfl_sync(HRPB_ALL_LANES, p.window_end, i)};
}

/* Copy BYTES from each of COLUMNS columns of B, from_step scalars apart, to places TO_STEP bytes apart */
template <int COLUMNS, int BYTES, uint32_t TO_STEP, typename Scalar> static __device__ __forceinline__ void CopyColumns(uint32_t to, const Scalar *from, int64_t from_step)
{
#pragma unroll
  for (int c = 0; c < COLUMNS; c++, from += from_step) CopyAsync<BYTES>(to + c * TO_STEP, from);
}

namespace {
/*
   How one of NR warps copies the rows of B that a block needs, for tiles of NB columns. A chunk is as many rows as 16
   bytes hold. Windows consist of whole chunks, and a lane copies a chunk of a column at a time.

   If columns are not all aligned to 16 bytes (ALIGNED is false), chunks of most columns are not aligned either. But
   columns CHUNK apart are aligned alike, for any leading dimension, because CHUNK times it is a multiple of 16 bytes.
   They form a class. In wide tiles (MIXED) the warp copies class by class, 16, 8 or 4 bytes a lane: a chunk, or a part
   of one. It copies 32 parts of all columns of the class, then the next 32. A narrow tile has so few columns of each
   class that copies by scalars, all columns together, are faster.
*/
template <int BM, int NB, int NR, bool ALIGNED, typename Scalar> struct Copies {
  static constexpr uint32_t SIZE = sizeof(Scalar), PITCH = Pitch(BM);
  static constexpr bool     MIXED = !ALIGNED && NB * SIZE > 128;
  static constexpr int      CHUNK = 16 / SIZE, CLASSES = MIXED ? CHUNK : 1;
  static_assert(StagedCols(BM) <= 32 * CHUNK);
  static_assert(NB % CLASSES == 0); /* a column has the same class in its tile as in B */

  const uint32_t warp, lane;
  /*
     window with the lane's chunk of the next block. It is on its way from memory: nothing looks at it before that block
     is copied
  */
  int32_t        window = 0;
  int32_t        row;        /* row of B where the chunk of this block begins */

  __device__ __forceinline__ Copies(uint32_t w, uint32_t l) : warp(w), lane(l) { }

  /* The place of the next block is known: ask for its window */
  __device__ __forceinline__ void Seek(const Format<Scalar> &f, const BlockPlace &p)
  {
    if (Has(f, p, Part<CHUNK>(0))) window = f.windows[p.window + (Part<CHUNK>(0) >> f.window_shift)];
  }

  /* The next block becomes this one */
  __device__ __forceinline__ void Take(const Format<Scalar> &f) { row = (window << f.window_shift) + (int32_t)(Part<CHUNK>(0) & ((1u << f.window_shift) - 1)); }

  /* Copy the N columns of B from n0 on to a stage */
  __device__ __forceinline__ void Copy(const StagedArgs<Scalar> &a, const BlockPlace &p, uint32_t stage, int32_t n0, int32_t N) const
  {
    if (!MIXED) CopyClass<ALIGNED ? CHUNK : 1>(a, p, stage, n0, N, 0);
    else {
#pragma unroll 1
      for (int32_t first = 0; first < CLASSES; first++) {
        const uint32_t beyond = (uintptr_t)(a.d.B + first * a.d.ldb) % 16;

        if (beyond == 0) CopyClass<CHUNK>(a, p, stage, n0, N, first);
        else if (beyond == 8 && SIZE < 8) CopyClass<CHUNK / 2>(a, p, stage, n0, N, first); /* 8 bytes: a double */
        else CopyClass<1>(a, p, stage, n0, N, first);
      }
    }
  }

private:
  /* Lanes that copy V rows each for one column, and columns that the warp copies at a time */
  template <int V> static constexpr uint32_t LANES = StagedCols(BM) / V;
  template <int V> static constexpr uint32_t COLUMNS = LANES<V> < 32 ? 32 / LANES<V> : 1;

  /* The first row, among those in the stage, of the lane's part number j, which has V rows */
  template <int V> __device__ __forceinline__ uint32_t Part(uint32_t j) const { return ((COLUMNS<V> > 1 ? lane % LANES<V> : lane) + 32 * j) * V; }

  __device__ __forceinline__ static bool Has(const Format<Scalar> &f, const BlockPlace &p, uint32_t part) { return p.window + (part >> f.window_shift) < p.window_end; }

  /* Copy the class of column number first, V rows at a time */
  template <int V> __device__ __forceinline__ void CopyClass(const StagedArgs<Scalar> &a, const BlockPlace &p, uint32_t stage, int32_t n0, int32_t N, int32_t first) const
  {
    constexpr uint32_t STEP    = CLASSES * COLUMNS<V> * NR; /* columns of B from one of the lane's to its next */
    const uint32_t     n       = first + CLASSES * (COLUMNS<V> > 1 ? warp * COLUMNS<V> + lane / LANES<V> : warp);
    const int32_t      ncopies = (N - (int32_t)n + (int32_t)STEP - 1) / (int32_t)STEP;

#pragma unroll
    for (int j = 0; j < (int)((LANES<V> + 31) / 32); j++) {
      const uint32_t part = Part<V>(j);
      const int32_t  from = V == CHUNK ? row : __shfl_sync(HRPB_ALL_LANES, row, part / CHUNK) + (int32_t)(part % CHUNK);

      if (Has(a.f, p, part)) CopyRows<V, STEP>(stage + n * PITCH + part * SIZE, a.d.B + from + (n0 + n) * a.d.ldb, STEP * a.d.ldb, ncopies, a.ncols - from);
    }
  }

  /*
     Copy V rows of ncopies columns, which are STEP columns and from_step scalars apart. B has nrows rows from there on.
     A tile of few copies leaves the warp little time for each block, so whole tiles are copied without counting
  */
  template <int V, int STEP> __device__ __forceinline__ static void CopyRows(uint32_t to, const Scalar *from, int64_t from_step, int32_t ncopies, int32_t nrows)
  {
    constexpr int MOST = NB / STEP;

    if (nrows >= V && MOST <= 16 && ncopies == MOST) CopyColumns<MOST, V * SIZE, STEP * PITCH>(to, from, from_step);
    else if (nrows >= V) {
#pragma unroll 8
      for (int32_t c = ncopies; c > 0; c--, from += from_step, to += STEP * PITCH) CopyAsync<V * SIZE>(to, from);
    } else { /* the window reaches beyond the last row of B */
#pragma unroll 1
      for (int32_t c = ncopies; c > 0; c--, from += from_step, to += STEP * PITCH) {
#pragma unroll 1
        for (int32_t v = 0; v < nrows; v++) CopyAsync<SIZE>(to + v * SIZE, from + v);
      }
    }
  }
};

/* How a warp copies that brings packed blocks alone */
template <typename Scalar> struct NoCopies {
  __device__ __forceinline__ NoCopies(uint32_t, uint32_t) { }
  __device__ __forceinline__ void Seek(const Format<Scalar> &, const BlockPlace &) { }
  __device__ __forceinline__ void Take(const Format<Scalar> &) { }
  __device__ __forceinline__ void Copy(const StagedArgs<Scalar> &, const BlockPlace &, uint32_t, int32_t, int32_t) const { }
};
} // namespace

/*
   A producer warp.

   BM      rows of a brick
   NB      columns of the tile
   COPIES  how it copies rows of B; it is number warp of the warps that do
   RUNS    whether it brings the packed blocks
*/
template <int BM, int NB, typename COPIES, bool RUNS, typename Scalar> static __device__ __forceinline__ void Produce(const StagedArgs<Scalar> &a, const Ring &ring, uint32_t warp, uint32_t lane)
{
  constexpr uint32_t    SIZE = sizeof(Scalar);
  const Format<Scalar> &f    = a.f;
  COPIES                copies(warp, lane);
  Blocks<Scalar>        blocks(a);
  /* next: lane i has the place of block i of the next group. p: the place of the next block */
  BlockPlace            next = GetPlace(f, blocks.begin + lane, blocks.end), p;
  RingPlace             at;

  p = ShufflePlace(next, 0);
  copies.Seek(f, p);
  while (blocks.Left()) {
    const int32_t    n0 = blocks.tile * NB, N = min(NB, a.d.N - n0);
    const uint32_t   n     = blocks.Count();
    const BlockPlace group = next;

    blocks.Next(); /* fetch what comes after these blocks while they are copied */
    next = GetPlace(f, blocks.begin + lane, blocks.end);
    for (uint32_t i = 0; i < n; i++) {
      /* place is the same in all lanes, and the shuffle tells the compiler so: bulk copies want uniform registers */
      const uint32_t   place = __shfl_sync(HRPB_ALL_LANES, at.stage, 0);
      const uint32_t   base = ring.stages + place * a.stage_bytes, ready = RingFull(ring, place);
      const BlockPlace now  = p;

      copies.Take(f);
      p = i + 1 < n ? ShufflePlace(group, i + 1) : ShufflePlace(next, 0);
      copies.Seek(f, p);
      RingWaitEmpty(ring, at);
      if (RUNS) CopyRuns(base + a.pattern_at, f.pattern + (size_t)now.pattern * HRPB_PATTERN_UNIT, (now.pattern_end - now.pattern) * HRPB_PATTERN_UNIT, base + Pitch(BM) * NB, (const uint8_t *)(f.values + (size_t)now.value * HRPB_VALUE_UNIT), (now.value_end - now.value) * (HRPB_VALUE_UNIT * SIZE), ready, lane);
      copies.Copy(a, now, base, n0, N);
      BarrierArriveAfterCopies(ready);
      at.Next(a.nstages);
    }
  }
}

/*
   Produce() as a function that is not inlined. Inlined, it would share its plan of registers with the warps that
   multiply. With many sums these would then have no registers for operands on their way from shared memory.

   The copy of the arguments is in registers. Arguments in memory would be read again for each block.
*/
template <int BM, int NB, typename COPIES, bool RUNS, typename Scalar> static __device__ __noinline__ void ProduceApart(const StagedArgs<Scalar> &args, Ring ring, uint32_t warp, uint32_t lane)
{
  const StagedArgs<Scalar> a = args;

  Produce<BM, NB, COPIES, RUNS>(a, ring, warp, lane);
}

/*
   P        precision
   BM       rows of a brick
   NT       tiles of 16 columns that a warp multiplies
   WN       warps side by side along the columns of B
   ALIGNED  whether all columns of B are aligned to 16 bytes
   CTAS     thread blocks on a multiprocessor
   NP       producer warps: one for all, or one for the packed blocks and the others for B
   HALF     the second half of the last tile lies beyond N and is left out. A template parameter, because a condition
            that the compiler does not know costs more than it saves
*/
template <int P, int BM, int NT, int WN, bool ALIGNED, int CTAS, int NP, bool HALF> static __global__ void __launch_bounds__((STAGED_STRIPS * WN + NP) * 32, CTAS) Staged(const __grid_constant__ StagedArgs<typename Mma<P>::Scalar> a)
{
  typedef typename Mma<P>::Scalar Scalar;
  constexpr int NB     = 16 * NT * WN - (HALF ? 8 : 0); /* columns of the tile */
  constexpr int BRICKS = Mma<P>::BRICKS;
  constexpr int PITCH  = Pitch(BM);
  constexpr int SUMS   = BM / 2;
  typedef Copies<BM, NB, NP == 1 ? 1 : NP - 1, ALIGNED, Scalar> COPIES;
  extern __shared__ __align__(STAGE_ALIGN) uint8_t shared[];
  const Format<Scalar> &f = a.f;
  const uint32_t warp = threadIdx.x / 32, lane = threadIdx.x % 32, nconsumers = blockDim.x / 32 - NP;
  const uint32_t begin = __shfl_sync(HRPB_ALL_LANES, SharedAddress(shared), 0); /* the shuffle keeps it in a register */
  const Ring     ring  = RingAt(begin, begin + a.nstages * a.stage_bytes);
  RingPlace      at;

  RingInit(ring, a.nstages, 32 * NP + RUN_ARRIVALS, nconsumers);
  if (warp >= nconsumers) {
    if (NP == 1) Produce<BM, NB, COPIES, true>(a, ring, 0, lane);
    else if (warp == nconsumers) ProduceApart<BM, NB, NoCopies<Scalar>, true>(a, ring, 0, lane);
    else ProduceApart<BM, NB, COPIES, false>(a, ring, warp - nconsumers - 1, lane);
    return;
  }

  const uint32_t strip = warp / WN, n_warp = warp % WN * (16 * NT), g = lane / 4, k = lane % 4;
  const uint32_t nwork  = (uint32_t)f.nitems * a.ntiles;

  for (uint32_t w = blockIdx.x; w < nwork; w = PairAfter(w, a.back)) { /* read again: its registers are for blocks */
    Scalar sum[NT][SUMS] = {};

    for (uint32_t nblocks = CountBlocks(GetItem(f, w / a.ntiles)); nblocks > 0; nblocks--) {
      const uint32_t base = begin + at.stage * a.stage_bytes, run = base + a.pattern_at, start = run + (uint32_t)HrpbOffsetStripStart() + 2 * strip;
      const uint32_t bricks = run + (uint32_t)HrpbOffsetBricks(f.strips), values = base + PITCH * NB, b = base + (n_warp + g) * PITCH;

      RingWaitFull(ring, at);
      const uint32_t last = ReadShared16(start + 2);

#pragma unroll 1
      for (uint32_t brick = ReadShared16(start); brick < last; brick += BRICKS) {
        Scalar        slots[BRICKS][BM / 8];
        uint32_t      x[BRICKS]; /* rows of B */
        Bricks<P, BM> step;

#pragma unroll
        for (int u = 0; u < BRICKS; u++) {
          const bool        in = brick + u < last;
          const PackedBrick packed(bricks + (in ? brick + u : brick) * (uint32_t)sizeof(HrpbBrick));

          packed.Decode<BM>(in, values, lane, slots[u]);
          x[u] = b + packed.Column(k) * (uint32_t)sizeof(Scalar);
        }
        step.Set(slots[0], slots[BRICKS - 1]);
#pragma unroll
        for (int t = 0; t < NT; t++) {
          const bool second = !HALF || t < NT - 1;
          Scalar     y[BRICKS][2];

#pragma unroll
          for (int u = 0; u < BRICKS; u++) {
            y[u][0] = ReadShared(x[u] + (16 * t) * PITCH);
            y[u][1] = second ? ReadShared(x[u] + (16 * t + 8) * PITCH) : 0;
          }
          Step<P>(sum[t], step, y, second);
        }
      }
      RingLeave(ring, at);
      at.Next(a.nstages);
    }
    StoreSums<BM, NT, false>(f, a.d, GetItem(f, w / a.ntiles), strip, lane, sum, (int32_t)(w % a.ntiles) * NB + (int32_t)n_warp);
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

enum {
  TILE_COLS  = 16,
  WIDE_TILES = 8, /* the most tiles of 16 columns of a thread block */
  HALF_TILES = 4  /* the same where two or more thread blocks share a multiprocessor */
};

/* Where the pattern run of a stage begins, and bytes of a stage, for tiles of nb columns */
template <typename Args> static void GetStage(int brick_rows, uint32_t max_pattern, uint32_t max_values, int nb, Args *a)
{
  a->pattern_at  = (uint32_t)(Pitch(brick_rows) * nb) + (max_values * HRPB_VALUE_UNIT * (uint32_t)sizeof(HrpbScalar) + 15) / 16 * 16;
  a->stage_bytes = (a->pattern_at + max_pattern * HRPB_PATTERN_UNIT + STAGE_ALIGN - 1) / STAGE_ALIGN * STAGE_ALIGN;
}

template <typename Args> static void GetStage(const Hrpb *h, int nb, Args *a)
{
  GetStage(h->params.brick_rows, h->max_pattern, h->max_values, nb, a);
}

/*
   The tiling with tiles of at most 16*most columns. They are equally wide. A single narrow one is without a half of 16
   columns that would be empty
*/
static Tiling GetTiling(const Product *p, const SpmmDevice *device, int most)
{
  const int              q = (p->N + TILE_COLS - 1) / TILE_COLS, parts = (q + most - 1) / most;
  StagedArgs<HrpbScalar> a;
  Tiling                 t;

  t.nt          = (q + parts - 1) / parts;
  t.wn          = p->h->params.brick_rows == 16 && t.nt > HALF_TILES ? 2 : 1;
  t.nt          = (t.nt + t.wn - 1) / t.wn;
  t.ctas        = t.nt * t.wn <= 2 ? 3 : t.nt * t.wn <= HALF_TILES ? 2 : 1;
  t.half        = t.nt <= HALF_TILES && t.wn == 1 && TILE_COLS * t.nt - p->N >= TILE_COLS / 2;
  t.columns     = TILE_COLS * t.nt * t.wn - (t.half ? TILE_COLS / 2 : 0);
  t.ntiles      = (p->N + t.columns - 1) / t.columns;
  GetStage(p->h, t.columns, &a);
  t.stage_bytes = (int)a.stage_bytes;
  for (;; t.ctas--) { /* as many thread blocks as registers allow, as long as each has two stages */
    t.nstages = StagesThatFit(device, t.ctas, t.stage_bytes);
    if (t.ctas == 1 || t.nstages >= 2) return t;
  }
}

/*
   Up to 128 columns are multiplied together, so that A is decoded once. Two thread blocks with half of the columns each
   are better in two cases: where one would have only two stages, and where panels are short. Then one multiplies while
   the other stores its sums. Tiles are narrower where two stages do not fit, as on devices with less shared memory.
*/
static Tiling ChooseTiling(const Product *p, const SpmmDevice *device)
{
  const Tiling wide = GetTiling(p, device, WIDE_TILES);

  if (wide.nt * wide.wn <= HALF_TILES ? wide.nstages >= 2 : wide.nstages > 2 && p->h->nblocks >= (int64_t)StagedShortPanel(p->h->params.brick_rows) * p->h->npanels) return wide;
  for (int most = HALF_TILES;; most /= 2) {
    const Tiling t = GetTiling(p, device, most);

    if (most == 1 || t.nstages >= 2) return t;
  }
}

template <int P, int BM, int NT, int WN, bool ALIGNED, int CTAS, bool HALF> static HrpbError LaunchKernel(const Product *p, const SpmmDevice *device, const Tiling *t, const StagedArgs<HrpbScalar> *a)
{
  constexpr int NP     = 4 - CTAS; /* the more thread blocks, the fewer of their warps bring data */
  const auto    kernel = Staged<P, BM, NT, WN, ALIGNED, CTAS, NP, HALF>;
  const int     strips = p->h->params.panel_rows / BM;

  return LaunchRing(kernel, device, (int64_t)a->f.nitems * a->ntiles, t->ctas, (strips * WN + NP) * 32, t->nstages * t->stage_bytes + RING_BARRIERS, p->stream, *a);
}

template <int P, int BM, int NT, int WN, bool ALIGNED, int CTAS> static HrpbError Launch(const Product *p, const SpmmDevice *device, const Tiling *t, const StagedArgs<HrpbScalar> *a)
{
  constexpr bool NARROW = WN == 1 && NT <= HALF_TILES;

  return t->half ? LaunchKernel<P, BM, NT, WN, ALIGNED, CTAS, NARROW>(p, device, t, a) : LaunchKernel<P, BM, NT, WN, ALIGNED, CTAS, false>(p, device, t, a);
}

template <int P, bool ALIGNED> static HrpbError LaunchFor(const Product *p, const SpmmDevice *device, const Tiling *t, const StagedArgs<HrpbScalar> *a)
{
  const bool tall = p->h->params.brick_rows == 16;

  switch (t->nt * t->wn) {
  case 1:
    return tall ? Launch<P, 16, 1, 1, ALIGNED, 3>(p, device, t, a) : Launch<P, 8, 1, 1, ALIGNED, 3>(p, device, t, a);
  case 2:
    return tall ? Launch<P, 16, 2, 1, ALIGNED, 3>(p, device, t, a) : Launch<P, 8, 2, 1, ALIGNED, 3>(p, device, t, a);
  case 3:
    return tall ? Launch<P, 16, 3, 1, ALIGNED, 2>(p, device, t, a) : Launch<P, 8, 3, 1, ALIGNED, 2>(p, device, t, a);
  case 4:
    return tall ? Launch<P, 16, 4, 1, ALIGNED, 2>(p, device, t, a) : Launch<P, 8, 4, 1, ALIGNED, 2>(p, device, t, a);
  case 5:
    return Launch<P, 8, 5, 1, ALIGNED, 1>(p, device, t, a);
  case 6:
    return tall ? Launch<P, 16, 3, 2, ALIGNED, 1>(p, device, t, a) : Launch<P, 8, 6, 1, ALIGNED, 1>(p, device, t, a);
  case 7:
    return Launch<P, 8, 7, 1, ALIGNED, 1>(p, device, t, a);
  default:
    return tall ? Launch<P, 16, 4, 2, ALIGNED, 1>(p, device, t, a) : Launch<P, 8, 8, 1, ALIGNED, 1>(p, device, t, a);
  }
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

template <int P> static HrpbError Run(const Product *p, const SpmmDevice *device)
{
  const Tiling           t = ChooseTiling(p, device);
  StagedArgs<HrpbScalar> a;

  GetStage(p->h, t.columns, &a);
  a.f       = FormatOf(p->h, p->schedule, p->values);
  a.d       = DenseArgsOf(p);
  a.ncols   = p->h->ncols;
  a.ntiles  = t.ntiles;
  a.nstages = t.nstages;
  a.back    = IsLongestFirst(p, device, t.ctas);
  if (a.back) a.f.items = (const WorkItem *)p->schedule->longest;
  return ((uintptr_t)p->B | p->ldb * sizeof(HrpbScalar)) % 16 == 0 ? LaunchFor<P, true>(p, device, &t, &a) : LaunchFor<P, false>(p, device, &t, &a);
}

/* This does not depend on N. Wider tiles are chosen only where they fit, too */
static bool Takes(const SpmmFacts *facts, const HrpbParams *params, const SpmmOperands *o, const SpmmDevice *device)
{
  StagedArgs<HrpbScalar> a;

  if (!SpmmIsPlain(o) || params->window_cols * sizeof(HrpbScalar) < 16 || params->block_cols > StagedCols(params->brick_rows) || params->panel_rows / params->brick_rows > STAGED_STRIPS) return false;
  GetStage(params->brick_rows, facts->max_pattern, facts->max_values, TILE_COLS, &a);
  return 2 * (int64_t)a.stage_bytes <= RoomForStages(device, 1);
}

/*
   Rows of B that a product stages, for the model. With few panels the measured time already has what narrow windows
   save
*/
static double StagedRows(const SpmmFacts *facts, const SpmmDevice *device)
{
  const HrpbSurvey *s = &facts->survey;

  if (!device->model->narrow_windows_save || SpmmHasFewPanels(facts->nrows, device)) return (double)s->staged_rows;
  return (double)s->needed_rows + (double)(s->staged_rows - s->needed_rows) * SpmmWindowColumns(s) / HrpbStagedParams().window_cols;
}

/*
   The format is taken to be that of HrpbStagedParams(), whatever the parameters are. Bricks are taken to have nine
   tenths of the fill that alpha allows, as in four families of matrices
*/
static double Seconds(const SpmmFacts *facts, const HrpbParams *, HrpbPrecision precision, int64_t N, const SpmmDevice *device)
{
  const SpmmBrickTimes *t       = &device->model->bricks[precision];
  const HrpbParams      format  = HrpbStagedParams();
  const HrpbSurvey     *s       = &facts->survey;
  const double          columns = (double)std::max(N, (int64_t)TILE_COLS / 2); /* at least half a tile */
  const double          bricks  = (double)s->strip_cols16 / (0.9 * (int)HRPB_BRICK_COLS);
  const double          panels  = std::max(1.0, (double)facts->nrows / format.panel_rows);
  const double          staged  = StagedRows(facts, device);
  const double          longest = (double)s->most_staged_rows * staged / std::max(1.0, (double)s->staged_rows);
  const double          in_turn = std::min(longest * (SpmmHasFewPanels(facts->nrows, device) ? device->model->short_in_turn : 1), (double)HRPB_PART_COLS) / format.block_cols;
  const double          blocks  = (t->block + t->block_column * columns) * in_turn;
  const double          work    = (t->brick + t->brick_column * columns) * bricks + t->staged * staged * columns;
  const double          dense   = t->dense * (double)N * ((double)facts->nrows + (double)facts->ncols);

  return 1e-12 * std::max(blocks + t->launch + work * std::max(1.0, device->nsm / panels) + dense, t->least);
}

static HrpbError RunProduct(const SpmmMatrix *A, const SpmmOperands *o, void *work, HrpbStream stream)
{
  Product           p;
  const SpmmDevice *device;

  HrpbCall(ProductOf(A, o, work, stream, &p, &device));
  if (!A->hrpb->nblocks) return ProductWithoutBricks(&p);
#if defined(HRPB_USE_SINGLE)
  HrpbCall(A->precision == HRPB_TF32 ? Run<HRPB_TF32>(&p, device) : Run<HRPB_3XTF32>(&p, device));
#else
  HrpbCall(Run<HRPB_FP64>(&p, device));
#endif
  return CombineRun(&p);
}

SPMM_KERNEL(SpmmBricksStaged) = {
  .name    = "bricks-staged",
  .what    = "bricks on tensor cores, with the rows of B that a block needs in shared memory",
  .op      = SPMM_OP_PRODUCT,
  .format  = SPMM_BRICKS,
  .takes   = Takes,
  .work    = ProductWork,
  .seconds = Seconds,
  .run     = RunProduct
};
