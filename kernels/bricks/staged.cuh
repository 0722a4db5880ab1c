/*
   Packed blocks and the rows of B that they need, in a ring of stages in shared memory: the producers' side, for
   kernels whose other warps multiply.

   Thread blocks are persistent: each takes one item of work after the other. A stage holds a packed block and the rows
   of B that the block needs, as they are in B, column-major or row-major. The pitch lets the lanes of a fragment hit
   different banks.

   A column-major B is read in place. Its columns lie in different memory pages, and a multiprocessor has few pages at
   hand. So a warp copies all rows of a column, or of a few columns, before it goes on to the next. This is twice as
   fast as all columns of a few rows. Where columns are not aligned to 16 bytes, copies are smaller and the other order
   may be faster: see Copies.
*/
#pragma once

#include "../common/stages.cuh"
#include "product.cuh"

enum {
  STAGED_STRIPS = 8, /* the most strips of a panel */
  STAGE_ALIGN   = 128,
  TILE_COLS     = 16,
  NARROW_BYTES  = 256 /* of a row of B in the widest tile that is copied without counting columns */
};

/* What a producer warp brings of packed blocks */
enum {
  NO_RUN,
  PATTERN_RUN,
  BOTH_RUNS
};

namespace {
template <typename Scalar> struct StagedArgs {
  Format<Scalar>    f;
  DenseArgs<Scalar> d;
  int32_t           ncols; /* of the matrix */
  int32_t           nstages;
  uint32_t          full;    /* see Turns */
  bool              back;    /* the same */
  bool              sectors; /* a column-major B: whether all its columns begin where a sector does */
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
   The same from a row to the next, where B is row-major: four rows of four or eight columns lie in different banks. A
   tile has nb columns, a multiple of eight
*/
static constexpr __host__ __device__ int RowPitch(int nb)
{
  return nb * (int)sizeof(HrpbScalar) + (nb * (int)sizeof(HrpbScalar) % 64 == 32 ? 0 : 32);
}

/* Bytes of a stage for rows of B */
static constexpr __host__ __device__ int StagedBytes(int brick_rows, int nb, bool rows)
{
  return rows ? StagedCols(brick_rows) * RowPitch(nb) : Pitch(brick_rows) * nb;
}

namespace {
/*
   The numbers of the items that a thread block takes. It takes those of one tile of columns, which is blockIdx.x. The
   first tiles, so many as full says, have gridDim.y thread blocks, and the others one less. Where items become shorter
   they are dealt forth and back, so that whoever had the longest of one turn has the shortest of the next
*/
struct Turns {
  const uint32_t full;
  uint32_t       i, step; /* the number, and how far it is to the next one */

  __device__ __forceinline__ Turns(bool back, uint32_t full_) : full(full_), i(blockIdx.y < Count() ? blockIdx.y : UINT32_MAX), step(back ? 2 * (Count() - blockIdx.y) - 1 : Count()) { }
  __device__ __forceinline__ void Next(void)
  {
    i += step;
    step = 2 * Count() - step;
  }

private:
  /* Thread blocks of the tile */
  __device__ __forceinline__ uint32_t Count(void) const { return gridDim.y - (blockIdx.x >= full); }
};

/* The items themselves */
template <typename Scalar> struct Work {
  const Format<Scalar> &f;
  Turns                 turns;
  WorkItem              item; /* still on its way from memory: do not read it early */

  __device__ __forceinline__ explicit Work(const StagedArgs<Scalar> &a) : f(a.f), turns(a.back, a.full) { Get(); }
  __device__ __forceinline__ bool Left(void) const { return turns.i < (uint32_t)f.nitems; }
  __device__ __forceinline__ void Next(void)
  {
    turns.Next();
    Get();
  }

private:
  __device__ __forceinline__ void Get(void)
  {
    if (Left()) item = GetItem(f, turns.i);
  }
};

/* The blocks that a thread block multiplies, one after the other, in groups of 1 to 32 */
template <typename Scalar> struct Blocks {
  Work<Scalar> work; /* the work after these blocks */
  uint32_t     begin, end;

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

/*
   How long the runs of a block are, in their units, and how many windows it has, in one number: lanes hand it to each
   other with one instruction
*/
struct BlockLengths {
  enum {
    PATTERN_BITS = 10,
    VALUE_BITS   = 13
  };
  uint32_t all;

  __device__ __forceinline__ uint32_t Pattern(void) const { return all & ((1u << PATTERN_BITS) - 1); }
  __device__ __forceinline__ uint32_t Values(void) const { return all >> PATTERN_BITS & ((1u << VALUE_BITS) - 1); }
  __device__ __forceinline__ uint32_t Windows(void) const { return all >> (PATTERN_BITS + VALUE_BITS); }
};

/* What a block needs, the same in all lanes */
struct BlockRuns {
  uint32_t     pattern, value, window; /* where they begin */
  BlockLengths length;
};
} // namespace

static_assert(STAGED_STRIPS * StagedCols(16) / HRPB_BRICK_COLS + 4 < 1 << BlockLengths::PATTERN_BITS, "a brick takes a unit of the pattern, and 4 are enough for what stands before the bricks");
static_assert(STAGED_STRIPS * 16 * StagedCols(16) / HRPB_VALUE_UNIT < 1 << BlockLengths::VALUE_BITS, "a block may be full");
static_assert(StagedCols(16) < 1 << (32 - BlockLengths::PATTERN_BITS - BlockLengths::VALUE_BITS), "a window may be a column");

template <typename Scalar> static __device__ __forceinline__ BlockPlace GetPlace(const Format<Scalar> &f, uint32_t block, uint32_t end)
{
  if (block >= end) return {};
  return {f.pattern_ptr[block], f.pattern_ptr[block + 1], f.value_ptr[block], f.value_ptr[block + 1], f.window_ptr[block], f.window_ptr[block + 1]};
}

static __device__ __forceinline__ BlockLengths LengthsOf(const BlockPlace &p)
{
  return {(p.pattern_end - p.pattern) | (p.value_end - p.value) << BlockLengths::PATTERN_BITS | (p.window_end - p.window) << (BlockLengths::PATTERN_BITS + BlockLengths::VALUE_BITS)};
}

/* The lengths that lane i knows */
static __device__ __forceinline__ BlockLengths LengthsFrom(const BlockLengths &l, uint32_t i)
{
  return {__shfl_sync(HRPB_ALL_LANES, l.all, i)};
}

/* The block whose place and lengths the first lane knows */
static __device__ __forceinline__ BlockRuns FirstRuns(const BlockPlace &p, const BlockLengths &l)
{
  return {__shfl_sync(HRPB_ALL_LANES, p.pattern, 0), __shfl_sync(HRPB_ALL_LANES, p.value, 0), __shfl_sync(HRPB_ALL_LANES, p.window, 0), LengthsFrom(l, 0)};
}

/* The next block, which has these lengths: blocks of an item lie one behind the other in memory */
static __device__ __forceinline__ BlockRuns NextRuns(const BlockRuns &r, const BlockLengths &l)
{
  return {r.pattern + r.length.Pattern(), r.value + r.length.Values(), r.window + r.length.Windows(), l};
}

/* Copy BYTES from each of COLUMNS columns of B, from_step scalars apart, to places TO_STEP bytes apart */
template <int COLUMNS, int BYTES, uint32_t TO_STEP, bool THROUGH_L1, typename Scalar> static __device__ __forceinline__ void CopyColumns(uint32_t to, const Scalar *from, int64_t from_step)
{
#pragma unroll
  for (int c = 0; c < COLUMNS; c++, from += from_step) CopyAsync<BYTES, THROUGH_L1>(to + c * TO_STEP, from);
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

   If all are aligned to 16 bytes, but not all to a sector of 32, every other column lies across sectors, or all do.
   Neighbouring copies then need the same sector. In wide tiles in double they go through L1, which has it the second
   time. In single a warp may copy two columns together, one of either kind.
*/
template <int BM, int NB, int NR, bool ALIGNED, typename Scalar> struct Copies {
  static constexpr uint32_t SIZE = sizeof(Scalar), PITCH = Pitch(BM);
  static constexpr bool     WIDE = NB * SIZE > 128, MIXED = !ALIGNED && WIDE, APART = ALIGNED && WIDE && SIZE == 8;
  static constexpr int      CHUNK = 16 / SIZE, CLASSES = MIXED ? CHUNK : 1;
  static constexpr bool     BEHIND = false;
  static_assert(StagedCols(BM) <= 32 * CHUNK);
  static_assert(NB % CLASSES == 0); /* a column has the same class in its tile as in B */

  const uint32_t warp, lane, shift;
  const uint32_t mine, in_window; /* number of the window with the lane's chunk in its block; the chunk's row there */
  const Scalar  *B = NULL;        /* the columns of B that the tile has, and how many these are */
  int32_t        N = 0;
  /*
     window with the lane's chunk of the next block. It is on its way from memory: nothing looks at it before that block
     is copied
  */
  int32_t        window = 0;
  int32_t        row    = 0;      /* row of B where the chunk of this block begins */

  __device__ __forceinline__ Copies(const Format<Scalar> &f, uint32_t w, uint32_t l) : warp(w), lane(l), shift(f.window_shift), mine(Part<CHUNK>(0) >> shift), in_window(Part<CHUNK>(0) & ((1u << shift) - 1)) { }

  /* Blocks are multiplied by N columns of B from n0 on */
  __device__ __forceinline__ void Open(const StagedArgs<Scalar> &a, int32_t n0)
  {
    B = a.d.B + n0 * a.d.ldb;
    N = min(NB, a.d.N - n0);
    if (!WIDE) { /* little time for each block */
      HrpbKeep(B);
      HrpbKeep(N);
    }
  }

  /* The next block is known: ask for its window */
  __device__ __forceinline__ void Seek(const Format<Scalar> &f, const BlockRuns &next)
  {
    if (mine < next.length.Windows()) window = f.windows[next.window + mine];
  }

  /* The next block becomes this one */
  __device__ __forceinline__ void Take(void) { row = (window << shift) + (int32_t)in_window; }

  /* Copy what this block needs to a stage */
  __device__ __forceinline__ void Copy(const StagedArgs<Scalar> &a, uint32_t nwindows, uint32_t stage) const
  {
    if (!MIXED) CopyClass<ALIGNED ? CHUNK : 1>(a, nwindows, stage, 0);
    else {
#pragma unroll 1
      for (int32_t first = 0; first < CLASSES; first++) {
        const uint32_t beyond = (uintptr_t)(B + first * a.d.ldb) % 16;

        if (beyond == 0) CopyClass<CHUNK>(a, nwindows, stage, first);
        else if (beyond == 8 && SIZE < 8) CopyClass<CHUNK / 2>(a, nwindows, stage, first); /* 8 bytes: a double */
        else CopyClass<1>(a, nwindows, stage, first);
      }
    }
  }

private:
  /* Lanes that copy V rows each for one column, and columns that the warp copies at a time */
  template <int V> static constexpr uint32_t LANES = StagedCols(BM) / V;
  template <int V> static constexpr uint32_t COLUMNS = LANES<V> < 32 ? 32 / LANES<V> : 1;

  /* The first row, among those in the stage, of the lane's part number j, which has V rows */
  template <int V> __device__ __forceinline__ uint32_t Part(uint32_t j) const { return ((COLUMNS<V> > 1 ? lane % LANES<V> : lane) + 32 * j) * V; }

  /* Copy the class of column number first, V rows at a time */
  template <int V> __device__ __forceinline__ void CopyClass(const StagedArgs<Scalar> &a, uint32_t nwindows, uint32_t stage, int32_t first) const
  {
    constexpr uint32_t STEP = CLASSES * COLUMNS<V> * NR; /* columns of B from one of the lane's to its next */
    const uint32_t     n    = first + CLASSES * (COLUMNS<V> > 1 ? warp * COLUMNS<V> + lane / LANES<V> : warp);

    if (APART && !a.sectors) {
      constexpr uint32_t EVEN = STEP % 2 ? 2 * STEP : STEP; /* columns so far apart are aligned alike */

#pragma unroll 1
      for (uint32_t m = n; m < n + EVEN; m += STEP) {
        if ((uintptr_t)(B + m * a.d.ldb) % HRPB_SECTOR) CopyParts<V, EVEN, true>(a, nwindows, stage, m);
        else CopyParts<V, EVEN, false>(a, nwindows, stage, m);
      }
    } else CopyParts<V, STEP, false>(a, nwindows, stage, n);
  }

  /* Copy the lane's parts of column number n, and of those STEP columns apart behind it */
  template <int V, uint32_t STEP, bool THROUGH_L1> __device__ __forceinline__ void CopyParts(const StagedArgs<Scalar> &a, uint32_t nwindows, uint32_t stage, uint32_t n) const
  {
    const int32_t ncopies = (N - (int32_t)n + (int32_t)STEP - 1) / (int32_t)STEP;

#pragma unroll
    for (int j = 0; j < (int)((LANES<V> + 31) / 32); j++) {
      const uint32_t part = Part<V>(j);
      const int32_t  from = V == CHUNK ? row : __shfl_sync(HRPB_ALL_LANES, row, part / CHUNK) + (int32_t)(part % CHUNK);

      if ((V == CHUNK ? mine : part >> shift) < nwindows) CopyRows<V, STEP, THROUGH_L1>(stage + n * PITCH + part * SIZE, B + from + n * a.d.ldb, STEP * a.d.ldb, ncopies, a.ncols - from);
    }
  }

  /*
     Copy V rows of ncopies columns, which are STEP columns and from_step scalars apart. B has nrows rows from there on.
     A narrow tile leaves the warp little time for each block, so whole ones are copied without counting
  */
  template <int V, int STEP, bool THROUGH_L1> __device__ __forceinline__ static void CopyRows(uint32_t to, const Scalar *from, int64_t from_step, int32_t ncopies, int32_t nrows)
  {
    constexpr int MOST = NB * SIZE <= NARROW_BYTES && NB % STEP == 0 ? NB / STEP : 0;

    if (nrows >= V && MOST && ncopies == MOST) CopyColumns<MOST, V * SIZE, STEP * PITCH, THROUGH_L1>(to, from, from_step);
    else if (nrows >= V) {
#pragma unroll 8
      for (int32_t c = ncopies; c > 0; c--, from += from_step, to += STEP * PITCH) CopyAsync<V * SIZE, THROUGH_L1>(to, from);
    } else { /* the window reaches beyond the last row of B */
#pragma unroll 1
      for (int32_t c = ncopies; c > 0; c--, from += from_step, to += STEP * PITCH) {
#pragma unroll 1
        for (int32_t v = 0; v < nrows; v++) CopyAsync<SIZE>(to + v * SIZE, from + v);
      }
    }
  }
};

/* The least power of two that is n or more */
static constexpr uint32_t PowerOfTwo(uint32_t n)
{
  return n <= 1 ? 1 : 2 * PowerOfTwo((n + 1) / 2);
}

/*
   How one of NR warps copies the rows that a block needs of a row-major B, for tiles of NB columns. Windows are columns
   of A, which are rows of B. Lane i has windows i, i + 32, ... of the block. A few lanes copy a row, 16 bytes each, and
   the warp a few rows at a time: rows lie in different memory pages.

   The warp has little time for each block. So the lanes' places in a row, and in the stage, are known beforehand, and a
   row's address is one multiplication: rows of B have less than 2^32 bytes
*/
template <int BM, int NB, int NR, typename Scalar> struct RowCopies {
  static constexpr uint32_t CHUNK = 16 / sizeof(Scalar), CHUNKS = NB / CHUNK;
  static constexpr uint32_t LANES = PowerOfTwo(CHUNKS), ROWS = 32 / LANES; /* for a row, and rows at a time */
  static constexpr uint32_t HELD  = StagedCols(BM) / 32;                   /* windows of a lane */
  static constexpr bool     BEHIND = true; /* B may be a copy that is still being made */
  static_assert(NB % CHUNK == 0 && CHUNKS <= 32 && StagedCols(BM) % 32 == 0 && 32 % (ROWS * NR) == 0);

  const uint32_t lane;
  uint32_t       mine, place;                  /* the lane's first row in a stage, and its part of that row */
  uint32_t       first        = 0;             /* that row, or more than any where the lane has no part */
  uint32_t       row_bytes    = 0;             /* of B */
  const Scalar  *B            = NULL;          /* the lane's part of the first row */
  int32_t        window[HELD] = {}, row[HELD]; /* of the next block, on their way from memory, and of this one */

  __device__ __forceinline__ RowCopies(const Format<Scalar> &, uint32_t warp, uint32_t l) : lane(l), mine(warp * ROWS + l / LANES), place(mine * RowPitch(NB) + l % LANES * 16)
  {
    HrpbKeep(mine);
    HrpbKeep(place);
  }

  /* Blocks are multiplied by N columns of B from n0 on. Up to 16 bytes of a row may be read beyond */
  __device__ __forceinline__ void Open(const StagedArgs<Scalar> &a, int32_t n0)
  {
    const uint32_t chunk = lane % LANES * CHUNK;

    first     = chunk < (uint32_t)min(NB, a.d.N - n0) ? mine : StagedCols(BM);
    row_bytes = (uint32_t)(a.d.brow * sizeof(Scalar));
    B         = a.d.B + n0 + chunk;
    HrpbKeep(first);
    HrpbKeep(row_bytes);
    HrpbKeep(B);
  }

  __device__ __forceinline__ void Seek(const Format<Scalar> &f, const BlockRuns &next)
  {
#pragma unroll
    for (uint32_t j = 0; j < HELD; j++) {
      if (32 * j + lane < next.length.Windows()) window[j] = f.windows[next.window + 32 * j + lane];
    }
  }

  __device__ __forceinline__ void Take(void)
  {
#pragma unroll
    for (uint32_t j = 0; j < HELD; j++) row[j] = window[j];
  }

  __device__ __forceinline__ void Copy(const StagedArgs<Scalar> &, uint32_t nrows, uint32_t stage) const
  {
    constexpr uint32_t BATCH = 8 * ROWS * NR;            /* rows of so many copies are looked for together */
    const int32_t      left  = (int32_t)(nrows - first); /* rows from the lane's first on */

#pragma unroll
    for (uint32_t begin = 0; begin < StagedCols(BM); begin += BATCH) {
      if (begin >= nrows) break;
#pragma unroll
      for (uint32_t r = begin; r < begin + BATCH && r < StagedCols(BM); r += ROWS * NR) {
        const uint32_t from = (uint32_t)__shfl_sync(HRPB_ALL_LANES, row[r / 32], (r + mine) % 32);

        CopyAsyncIf((int32_t)r < left, stage + place + r * RowPitch(NB), (const uint8_t *)B + (uint64_t)from * row_bytes);
      }
    }
  }
};

/* How a warp copies that brings packed blocks alone */
template <typename Scalar> struct NoCopies {
  static constexpr bool BEHIND = false;

  __device__ __forceinline__ NoCopies(const Format<Scalar> &, uint32_t, uint32_t) { }
  __device__ __forceinline__ void Open(const StagedArgs<Scalar> &, int32_t) { }
  __device__ __forceinline__ void Seek(const Format<Scalar> &, const BlockRuns &) { }
  __device__ __forceinline__ void Take(void) { }
  __device__ __forceinline__ void Copy(const StagedArgs<Scalar> &, uint32_t, uint32_t) const { }
};
} // namespace

/*
   A producer warp.

   BM      rows of a brick
   NB      columns of the tile
   COPIES  how it copies rows of B; it is number warp of the warps that do
   RUNS    what it brings of the packed blocks
   BYTES   of rows of B in a stage
*/
template <int BM, int NB, typename COPIES, int RUNS, int BYTES = StagedBytes(BM, NB, false), typename Scalar> static __device__ __forceinline__ void Produce(const StagedArgs<Scalar> &a, const Ring &ring, uint32_t warp, uint32_t lane)
{
  constexpr uint32_t    SIZE = sizeof(Scalar);
  const Format<Scalar> &f    = a.f;
  COPIES                copies(f, warp, lane);
  Blocks<Scalar>        blocks(a);
  /* next: lane i has the place of block i of the next group. lengths: the same of this group. block: the next block */
  BlockPlace            next    = GetPlace(f, blocks.begin + lane, blocks.end);
  BlockLengths          lengths = LengthsOf(next);
  BlockRuns             block   = FirstRuns(next, lengths);
  RingPlace             at;

  copies.Open(a, (int32_t)blockIdx.x * NB);
  copies.Seek(f, block);
  if (COPIES::BEHIND) HrpbWaitForKernelBefore(); /* the copy of B */
  while (blocks.Left()) {
    const uint32_t n = blocks.Count();

    blocks.Next(); /* fetch what comes after these blocks while they are copied */
    next = GetPlace(f, blocks.begin + lane, blocks.end);
    for (uint32_t i = 0; i < n; i++) {
      /* place is the same in all lanes, and the shuffle tells the compiler so: bulk copies want uniform registers */
      const uint32_t  place = __shfl_sync(HRPB_ALL_LANES, at.stage, 0);
      const uint32_t  base = ring.stages + place * a.stage_bytes, ready = RingFull(ring, place);
      const BlockRuns now = block;

      copies.Take();
      if (i + 1 < n) block = NextRuns(now, LengthsFrom(lengths, i + 1));
      else {
        lengths = LengthsOf(next);
        block   = FirstRuns(next, lengths);
      }
      copies.Seek(f, block);
      RingWaitEmpty(ring, at);
      if (RUNS == PATTERN_RUN) CopyRun(base + a.pattern_at, f.pattern + (size_t)now.pattern * HRPB_PATTERN_UNIT, now.length.Pattern() * HRPB_PATTERN_UNIT, ready, lane);
      if (RUNS == BOTH_RUNS) CopyRuns(base + a.pattern_at, f.pattern + (size_t)now.pattern * HRPB_PATTERN_UNIT, now.length.Pattern() * HRPB_PATTERN_UNIT, base + BYTES, (const uint8_t *)(f.values + (size_t)now.value * HRPB_VALUE_UNIT), now.length.Values() * (HRPB_VALUE_UNIT * SIZE), ready, lane);
      copies.Copy(a, now.length.Windows(), base);
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
template <int BM, int NB, typename COPIES, int RUNS, int BYTES = StagedBytes(BM, NB, false), typename Scalar> static __device__ __noinline__ void ProduceApart(const StagedArgs<Scalar> &args, Ring ring, uint32_t warp, uint32_t lane)
{
  const StagedArgs<Scalar> a = args;

  Produce<BM, NB, COPIES, RUNS, BYTES>(a, ring, warp, lane);
}

/* Where the pattern run of a stage begins, and bytes of a stage, for tiles of nb columns. rows: B is row-major */
template <typename Args> static void GetStage(int brick_rows, uint32_t max_pattern, uint32_t max_values, int nb, Args *a, bool rows = false)
{
  a->pattern_at  = (uint32_t)StagedBytes(brick_rows, nb, rows) + (max_values * HRPB_VALUE_UNIT * (uint32_t)sizeof(HrpbScalar) + 15) / 16 * 16;
  a->stage_bytes = (a->pattern_at + max_pattern * HRPB_PATTERN_UNIT + STAGE_ALIGN - 1) / STAGE_ALIGN * STAGE_ALIGN;
}

template <typename Args> static void GetStage(const Hrpb *h, int nb, Args *a, bool rows = false)
{
  GetStage(h->params.brick_rows, h->max_pattern, h->max_values, nb, a, rows);
}

/* Whether the producers can bring bricks of this format. Windows must be whole chunks of 16 bytes */
static inline bool IsStagedFormat(const HrpbParams *params)
{
  return params->window_cols * sizeof(HrpbScalar) >= 16 && params->block_cols <= StagedCols(params->brick_rows) && params->panel_rows / params->brick_rows <= STAGED_STRIPS;
}
