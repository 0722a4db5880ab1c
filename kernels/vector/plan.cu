/*
   What is found once for a pattern: long rows, bins, rows that are staged, and nodes.
*/
#include <string.h>
#include <cub/device/device_radix_sort.cuh>
#include <cub/device/device_select.cuh>

#include "vector.cuh"
#include "../common/cub.cuh"
#include "../common/launch.cuh"

enum {
  MOST_BLOCKS    = 1024,    /* the most thread blocks that end with atomic operations on the same number */
  CLASSES        = 32,      /* lengths of rows: class k has up to 2^k entries */
  LONG_TURNS     = 32,      /* entries of a lane, beyond which a row is cut */
  FEW_LANES      = 1 << 19, /* of all rows: they are on the multiprocessors of an H200 together, or nearly */
  LANES          = 8,       /* that compare two rows */
  STAGED_COLUMNS = 1 << 17, /* rows are staged where there are more columns, */
  STAGED_ENTRIES = 1 << 22, /* and more entries */
  BLOCK_ENTRIES  = VECTOR_STAGED - 256,           /* of rows that begin in a VectorBlock. The last may reach out */
  ROW_COUNTS     = BLOCK_ENTRIES / VECTOR_THREADS /* as so many more entries: a thread block has a thread for a row */
};

/*
   Lengths of rows differ much where this many times as many lanes are busy as have entries, or where rows that are cut
   have more than this part of all entries
*/
#define MOST_WASTE 2.25
#define MOST_CUT   0.125

namespace {
/* Lengths of rows */
struct Lengths {
  HrpbInt            first, end; /* the first entry of the matrix, and the one behind the last */
  unsigned long long longest, entries[CLASSES];
  int32_t            rows[CLASSES], nonempty;
};

/* Rows that are cut, and their parts */
struct Cut {
  int32_t nlong, nparts;
};

/* What follows from a number of lanes */
struct Needs {
  Cut                cut, cut_bins; /* with that number, and with bins */
  unsigned long long turns;         /* of all warps: that of the longest row of each */
  int32_t            bin_rows[VECTOR_BINS];
};
} // namespace

static __device__ int32_t PartsOf(int64_t length, int32_t long_entries)
{
  return length > long_entries ? (int32_t)((length + VECTOR_PART - 1) / VECTOR_PART) : 0;
}

/* VECTOR_BINS for a row that is cut */
static __device__ int BinOf(int64_t length)
{
  int bin = 0;

  while (bin < VECTOR_BINS && length > VectorBinEntries(bin)) bin++;
  return bin;
}

static __global__ void __launch_bounds__(HRPB_THREADS) MeasureRows(const HrpbInt *rowptr, int32_t nrows, Lengths *lengths)
{
  __shared__ unsigned long long entries[CLASSES];
  __shared__ int32_t            rows[CLASSES];
  unsigned long long            longest  = 0;
  int32_t                       nonempty = 0;

  if (threadIdx.x < CLASSES) entries[threadIdx.x] = 0, rows[threadIdx.x] = 0;
  __syncthreads();
  for (int64_t row = (int64_t)blockIdx.x * HRPB_THREADS + threadIdx.x; row < nrows; row += (int64_t)gridDim.x * HRPB_THREADS) {
    const int64_t length = rowptr[row + 1] - rowptr[row];
    const int     k      = length > 1 ? min(32 - __clz((int)(min(length, (int64_t)INT32_MAX) - 1)), CLASSES - 1) : 0;

    longest = max(longest, (unsigned long long)length);
    nonempty += length > 0;
    atomicAdd(&rows[k], 1);
    atomicAdd(&entries[k], (unsigned long long)length);
  }
  __syncthreads();
  if (threadIdx.x < CLASSES && rows[threadIdx.x]) {
    atomicAdd(&lengths->rows[threadIdx.x], rows[threadIdx.x]);
    atomicAdd(&lengths->entries[threadIdx.x], entries[threadIdx.x]);
  }
  longest  = HrpbMostOfLanes(longest);
  nonempty = __reduce_add_sync(HRPB_ALL_LANES, nonempty);
  if (threadIdx.x % HRPB_LANES == 0 && longest) atomicMax(&lengths->longest, longest);
  if (threadIdx.x % HRPB_LANES == 0 && nonempty) atomicAdd(&lengths->nonempty, nonempty);
  if (blockIdx.x == 0 && threadIdx.x == 0) {
    lengths->first = rowptr[0];
    lengths->end   = rowptr[nrows];
  }
}

/* Add what a row that may be cut counts for */
static __device__ void CountCut(Cut *cut, int32_t nparts)
{
  if (!nparts) return;
  atomicAdd(&cut->nlong, 1);
  atomicAdd(&cut->nparts, nparts);
}

static __global__ void __launch_bounds__(HRPB_THREADS) CountNeeds(const HrpbInt *rowptr, int32_t nrows, int32_t lanes, int32_t long_entries, Needs *needs)
{
  unsigned long long turns             = 0;
  int32_t            rows[VECTOR_BINS] = {};

  for (int64_t first = (int64_t)blockIdx.x * HRPB_THREADS; first < nrows; first += (int64_t)gridDim.x * HRPB_THREADS) {
    const int64_t row    = first + threadIdx.x;
    const int64_t length = row < nrows ? rowptr[row + 1] - rowptr[row] : 0;
    const int     bin    = row < nrows ? BinOf(length) : VECTOR_BINS;
    int32_t       most   = length > long_entries ? 0 : (int32_t)((length + lanes - 1) / lanes);

    for (int distance = HRPB_LANES / lanes / 2; distance > 0; distance /= 2) most = max(most, __shfl_xor_sync(HRPB_ALL_LANES, most, distance));
    if (threadIdx.x % (HRPB_LANES / lanes) == 0) turns += (unsigned long long)most;
    for (int b = 0; b < VECTOR_BINS; b++) rows[b] += bin == b;
    CountCut(&needs->cut, PartsOf(length, long_entries));
    CountCut(&needs->cut_bins, PartsOf(length, VectorBinEntries(VECTOR_BINS - 1)));
  }
  turns = HrpbSumOfLanes(turns);
  if (threadIdx.x % HRPB_LANES == 0 && turns) atomicAdd(&needs->turns, turns);
  for (int b = 0; b < VECTOR_BINS; b++) {
    const int32_t all = __reduce_add_sync(HRPB_ALL_LANES, rows[b]);

    if (threadIdx.x % HRPB_LANES == 0 && all) atomicAdd(&needs->bin_rows[b], all);
  }
}

/* Rows that are cut, in any order: each is added up by itself */
static __global__ void __launch_bounds__(HRPB_THREADS) ListLongRows(const HrpbInt *rowptr, int32_t nrows, int32_t long_entries, Cut *listed, VectorLongRow *rows, VectorPart *parts)
{
  for (int64_t row = (int64_t)blockIdx.x * HRPB_THREADS + threadIdx.x; row < nrows; row += (int64_t)gridDim.x * HRPB_THREADS) {
    const HrpbInt begin = rowptr[row], end = rowptr[row + 1];
    const int32_t nparts = PartsOf(end - begin, long_entries);

    if (!nparts) continue;

    const int32_t first = atomicAdd(&listed->nparts, nparts);

    rows[atomicAdd(&listed->nlong, 1)] = {(int32_t)row, first, nparts};
    for (int32_t i = 0; i < nparts; i++) {
      const HrpbInt at = begin + (HrpbInt)i * VECTOR_PART;

      parts[first + i] = {at, (int32_t)min((int64_t)(end - at), (int64_t)VECTOR_PART), (int32_t)row, nparts == 1};
    }
  }
}

static __global__ void __launch_bounds__(HRPB_THREADS) ListBins(const HrpbInt *rowptr, int32_t nrows, uint32_t *bin, int32_t *rows)
{
  for (int64_t row = (int64_t)blockIdx.x * HRPB_THREADS + threadIdx.x; row < nrows; row += (int64_t)gridDim.x * HRPB_THREADS) {
    bin[row]  = (uint32_t)BinOf(rowptr[row + 1] - rowptr[row]);
    rows[row] = (int32_t)row;
  }
}

/* Whether so many lanes for each row are on the multiprocessors together, or nearly */
static bool AreFew(int64_t lanes, int32_t nrows)
{
  return lanes * nrows <= FEW_LANES;
}

/*
   Measured on an H200 and an H100: lanes that have few entries cost time, and so do neighbours that read far apart.
   Rows of 27 entries have four lanes, each with eight entries on their way. In double precision that takes as many
   registers as leave half of the thread blocks, so where few rows leave multiprocessors idle they have eight lanes
*/
static int32_t LanesFor(double mean, int32_t nrows)
{
  if (mean >= 22 && mean < 32) return sizeof(HrpbScalar) == 8 && AreFew(8, nrows) ? 8 : 4;
  return mean < 1.5 ? 1 : mean < 7.5 ? 2 : mean < 11 ? 4 : mean < 32 ? 8 : mean < 140 ? 16 : 32;
}

/*
   Measured on both: eight entries of each lane at a time, four, or two. With two there are more thread blocks, which
   does not matter where all are there together. A lane that has no more reads its last one again
*/
static int32_t TurnsFor(double mean, int32_t lanes, int32_t nrows)
{
  if (lanes == 4 && mean >= 22) return 8;
  return AreFew(lanes, nrows) || mean > 2.2 * lanes ? 4 : 2;
}

/*
   Lanes by the mean length of the rows that are not cut with so many lanes. entries is how many entries these have, and
   turns how many a lane takes at a time
*/
static int32_t ChooseLanes(const Lengths *l, int32_t nrows, double *entries, int32_t *turns)
{
  for (int32_t lanes = HRPB_LANES;; lanes /= 2) {
    double rows = 0;

    *entries = 0;
    for (int k = 0; k < CLASSES && 1ll << k <= LONG_TURNS * (int64_t)lanes; k++) {
      rows += l->rows[k];
      *entries += (double)l->entries[k];
    }
    const double mean = *entries / (rows > 0 ? rows : 1);

    *turns = TurnsFor(mean, lanes, nrows);
    if (lanes == 1 || LanesFor(mean, nrows) >= lanes) return lanes;
  }
}

static HrpbError MakeLongRows(const HrpbInt *rowptr, Cut *listed, unsigned grid, cudaStream_t stream, VectorPlan *v)
{
  VectorLongRow *rows;
  VectorPart    *parts;

  if (!v->nlong) return HRPB_SUCCESS;
  HrpbCall(HrpbAllocate(&rows, v->nlong, stream));
  v->long_rows = rows;
  HrpbCall(HrpbAllocate(&parts, v->nparts, stream));
  v->parts = parts;
  v->bytes += (int64_t)sizeof(*rows) * v->nlong + (int64_t)sizeof(*parts) * v->nparts;
  HrpbCallCuda(cudaMemsetAsync(listed, 0, sizeof(*listed), stream));
  HrpbCall(HrpbLaunch(ListLongRows, grid, HRPB_THREADS, 0, stream, rowptr, v->nrows, v->long_entries, listed, rows, parts));
  return HRPB_SUCCESS;
}

namespace {
struct Sort {
  uint32_t *bin, *sorted;
  int32_t  *rows;
};
} // namespace

static HrpbError SortRows(const HrpbInt *rowptr, unsigned grid, Sort *s, cudaStream_t stream, VectorPlan *v)
{
  const int bits = 3; /* VECTOR_BINS + 1 bins */
  int32_t  *order;

  HrpbCall(HrpbAllocate(&order, v->nrows, stream));
  v->order = order;
  v->bytes += (int64_t)sizeof(*order) * v->nrows;
  HrpbCall(HrpbAllocate(&s->bin, v->nrows, stream));
  HrpbCall(HrpbAllocate(&s->sorted, v->nrows, stream));
  HrpbCall(HrpbAllocate(&s->rows, v->nrows, stream));
  HrpbCall(HrpbLaunch(ListBins, grid, HRPB_THREADS, 0, stream, rowptr, v->nrows, s->bin, s->rows));
  return HrpbCallCub([=](void *memory, size_t &bytes) { return cub::DeviceRadixSort::SortPairs(memory, bytes, s->bin, s->sorted, s->rows, order, v->nrows, 0, bits, stream); }, stream);
}

static HrpbError MakeBins(const HrpbInt *rowptr, unsigned grid, cudaStream_t stream, VectorPlan *v)
{
  Sort      s   = {};
  HrpbError err = SortRows(rowptr, grid, &s, stream, v);

  err = HrpbFree(s.bin, err, stream);
  err = HrpbFree(s.sorted, err, stream);
  return HrpbFree(s.rows, err, stream);
}

namespace {
/* Whether a row is the first of a VectorBlock: that of the row before does not have it, or that row is cut */
struct BeginsBlock {
  const HrpbInt *rowptr;
  int32_t        long_entries;

  __device__ bool    IsCut(int32_t row) const { return rowptr[row + 1] - rowptr[row] > long_entries; }
  __device__ int64_t BlockOf(int32_t row) const { return (rowptr[row] - rowptr[0] + (int64_t)ROW_COUNTS * row) / BLOCK_ENTRIES; }
  __device__ bool    operator()(int32_t row) const { return !IsCut(row) && (row == 0 || IsCut(row - 1) || BlockOf(row) != BlockOf(row - 1)); }
};
} // namespace

/* A thread block lists the rows of a VectorBlock, a thread for each: rows from its first, up to one that is cut */
static __global__ void __launch_bounds__(VECTOR_THREADS) SortBlocks(const HrpbInt *rowptr, int32_t nrows, int32_t long_entries, const int32_t *first, int32_t nblocks, VectorBlock *blocks, uint8_t *places)
{
  enum {
    WARPS = VECTOR_THREADS / HRPB_LANES
  };
  __shared__ int32_t rows[VECTOR_BINS][WARPS];
  const int32_t      block = (int32_t)blockIdx.x, begin = first[block], end = block + 1 < nblocks ? first[block + 1] : nrows;
  const int64_t      row    = (int64_t)begin + threadIdx.x;
  const int64_t      length = row < end ? rowptr[row + 1] - rowptr[row] : INT64_MAX;
  const int          bin = BinOf(length), warp = threadIdx.x / HRPB_LANES, lane = threadIdx.x % HRPB_LANES;
  int32_t            at = 0, n = 0;

  for (int b = 0; b < VECTOR_BINS; b++) {
    const uint32_t mine = __ballot_sync(HRPB_ALL_LANES, bin == b);

    if (lane == 0) rows[b][warp] = __popc(mine);
    if (bin == b) at = __popc(mine & ((1u << lane) - 1));
  }
  __syncthreads();
  if (bin < VECTOR_BINS) {
    for (int b = bin; b < VECTOR_BINS; b++) {
      for (int w = 0; w < (b > bin ? WARPS : warp); w++) at += rows[b][w];
    }
    places[begin + at] = (uint8_t)threadIdx.x;
  }
  if (threadIdx.x > 0) return;

  VectorBlock b = {};

  for (int k = 0; k < VECTOR_BINS; k++) {
    for (int w = 0; w < WARPS; w++) b.rows[k] += (uint16_t)rows[k][w];
    n += b.rows[k];
  }
  b.begin       = rowptr[begin];
  b.entries     = (int32_t)(rowptr[begin + n] - b.begin);
  b.first       = begin;
  blocks[block] = b;
}

namespace {
struct Find {
  int32_t *first, *number;
};
} // namespace

static int64_t BytesOfBlocks(const VectorPlan *v)
{
  return (int64_t)sizeof(VectorBlock) * v->nblocks + (int64_t)sizeof(uint8_t) * v->nrows;
}

static HrpbError FindBlocks(const HrpbInt *rowptr, Find *f, cudaStream_t stream, VectorPlan *v)
{
  const BeginsBlock begins = {rowptr, v->long_entries};
  const int32_t     nrows  = v->nrows;
  VectorBlock      *blocks;
  uint8_t          *places;

  HrpbCall(HrpbAllocate(&f->first, v->nrows, stream));
  HrpbCall(HrpbAllocate(&f->number, 1, stream));
  HrpbCall(HrpbCallCub([=](void *memory, size_t &bytes) { return cub::DeviceSelect::If(memory, bytes, thrust::counting_iterator<int32_t>(0), f->first, f->number, nrows, begins, stream); }, stream));
  HrpbCall(HrpbBring(&v->nblocks, f->number, sizeof(v->nblocks), stream));
  HrpbCall(HrpbAllocate(&blocks, v->nblocks, stream));
  v->blocks = blocks;
  v->bytes += BytesOfBlocks(v);
  HrpbCall(HrpbAllocate(&places, v->nrows, stream));
  v->places = places;
  if (v->nblocks) HrpbCall(HrpbLaunch(SortBlocks, v->nblocks, VECTOR_THREADS, 0, stream, rowptr, v->nrows, v->long_entries, f->first, v->nblocks, blocks, places));
  return HRPB_SUCCESS;
}

static void DropBlocks(VectorPlan *v, cudaStream_t stream)
{
  if (v->blocks) v->bytes -= BytesOfBlocks(v);
  (void)HrpbFree(v->blocks, HRPB_SUCCESS, stream);
  (void)HrpbFree(v->places, HRPB_SUCCESS, stream);
  v->blocks = v->places = NULL;
  v->nblocks            = 0;
}

HrpbError VectorStageDevice(const HrpbInt *rowptr, HrpbStream stream, VectorPlan *v)
{
  Find      f = {};
  HrpbError err;

  if (v->nrows == 0 || v->lanes || v->blocks) return HRPB_SUCCESS;
  err = FindBlocks(rowptr, &f, stream, v);
  err = HrpbFree(f.first, err, stream);
  err = HrpbFree(f.number, err, stream);
  if (err) DropBlocks(v, stream);
  return err;
}

namespace {
struct Counters {
  Lengths *lengths;
  Needs   *needs;
};
} // namespace

/*
   Measured on an H100. Staging has two barriers, and is slower by a tenth where a product is short and waits for reads,
   or L1 has most of x. It is faster by a tenth where the reads of x take all that L2 has
*/
static bool PaysToStage(const VectorPlan *v)
{
  return v->ncols > STAGED_COLUMNS && v->nnz > STAGED_ENTRIES;
}

static HrpbError MakePlan(const HrpbInt *rowptr, Counters *c, cudaStream_t stream, VectorPlan *v)
{
  const unsigned grid = HrpbGrid(v->nrows, HRPB_THREADS, MOST_BLOCKS);
  Lengths        lengths;
  Needs          needs;
  double         entries;

  HrpbCall(HrpbAllocate(&c->lengths, 1, stream));
  HrpbCall(HrpbAllocate(&c->needs, 1, stream));
  HrpbCallCuda(cudaMemsetAsync(c->lengths, 0, sizeof(lengths), stream));
  HrpbCallCuda(cudaMemsetAsync(c->needs, 0, sizeof(needs), stream));
  HrpbCall(HrpbLaunch(MeasureRows, grid, HRPB_THREADS, 0, stream, rowptr, v->nrows, c->lengths));
  HrpbCall(HrpbBring(&lengths, c->lengths, sizeof(lengths), stream));
  if (lengths.longest >= INT32_MAX) return HRPB_ERR_OVERFLOW;
  v->first        = lengths.first;
  v->nnz          = lengths.end - lengths.first;
  v->longest      = (int64_t)lengths.longest;
  v->nonempty     = lengths.nonempty;
  v->lanes        = ChooseLanes(&lengths, v->nrows, &entries, &v->turns);
  v->long_entries = LONG_TURNS * v->lanes;
  HrpbCall(HrpbLaunch(CountNeeds, grid, HRPB_THREADS, 0, stream, rowptr, v->nrows, v->lanes, v->long_entries, c->needs));
  HrpbCall(HrpbBring(&needs, c->needs, sizeof(needs), stream));
  if ((double)(HRPB_LANES * needs.turns) > MOST_WASTE * entries || entries < (1 - MOST_CUT) * (double)v->nnz) {
    v->lanes        = 0;
    v->long_entries = VectorBinEntries(VECTOR_BINS - 1);
    needs.cut       = needs.cut_bins;
    for (int bin = 0; bin < VECTOR_BINS; bin++) v->bin_rows[bin] = needs.bin_rows[bin];
    HrpbCall(PaysToStage(v) ? VectorStageDevice(rowptr, stream, v) : MakeBins(rowptr, grid, stream, v));
  }
  v->nlong  = needs.cut.nlong;
  v->nparts = needs.cut.nparts;
  return MakeLongRows(rowptr, &c->needs->cut, grid, stream, v);
}

HrpbError VectorPlanDevice(int64_t nrows, int64_t ncols, const HrpbInt *rowptr, HrpbStream stream, VectorPlan *v)
{
  Counters  c = {};
  HrpbError err;

  memset(v, 0, sizeof(*v));
  if (nrows < 0 || ncols < 0) return HRPB_ERR_CSR;
  if (nrows >= INT32_MAX || ncols >= INT32_MAX) return HRPB_ERR_OVERFLOW;
  if (nrows) HrpbCall(CheckKernels());
  v->nrows = (int32_t)nrows;
  v->ncols = (int32_t)ncols;
  if (nrows == 0) return HRPB_SUCCESS;
  err = MakePlan(rowptr, &c, stream, v);
  err = HrpbFree(c.lengths, err, stream);
  err = HrpbFree(c.needs, err, stream);
  if (err) VectorPlanDestroyDevice(v, stream);
  return err;
}

/* Whether each row has other columns than the row before it. LANES lanes compare two rows */
static __global__ void __launch_bounds__(HRPB_THREADS) CompareRows(const HrpbInt *rowptr, const HrpbInt *colidx, int32_t nrows, uint8_t *differs)
{
  const int32_t lane = threadIdx.x % LANES;

  for (int64_t first = (int64_t)blockIdx.x * (HRPB_THREADS / LANES); first < nrows; first += (int64_t)gridDim.x * (HRPB_THREADS / LANES)) {
    const int64_t row   = first + threadIdx.x / LANES;
    int           other = row == 0;

    if (row > 0 && row < nrows) {
      const HrpbInt before = rowptr[row - 1], begin = rowptr[row], length = rowptr[row + 1] - begin;

      other = begin - before != length;
      for (HrpbInt k = lane; k < length && !other; k += LANES) other = colidx[before + k] != colidx[begin + k];
    }
#pragma unroll
    for (int distance = LANES / 2; distance > 0; distance /= 2) other |= __shfl_xor_sync(HRPB_ALL_LANES, other, distance);
    if (lane == 0 && row < nrows) differs[row] = other != 0;
  }
}

namespace {
struct Differs {
  const uint8_t *differs;

  __host__ __device__ bool operator()(int32_t row) const { return differs[row] != 0; }
};

/* Nodes of at most some rows: of a run of rows with the same columns, or, summed up, of all runs before it */
struct NodeCounts {
  static constexpr int KINDS = 5;
  int32_t              nodes[KINDS];

  __host__ __device__ NodeCounts operator+(const NodeCounts &b) const
  {
    NodeCounts sum = *this;

    for (int k = 0; k < KINDS; k++) sum.nodes[k] += b.nodes[k];
    return sum;
  }
};
} // namespace

/* The most rows of a node for which nodes.cu has a kernel */
static __host__ __device__ int32_t NodeRows(int kind)
{
  return kind < 3 ? kind + 2 : kind == 3 ? 6 : VECTOR_NODE;
}

static __global__ void __launch_bounds__(HRPB_THREADS) CountNodes(const int32_t *runs, int32_t nruns, int32_t nrows, NodeCounts *count)
{
  for (int64_t i = (int64_t)blockIdx.x * HRPB_THREADS + threadIdx.x; i <= nruns; i += (int64_t)gridDim.x * HRPB_THREADS) {
    const int32_t rows = i < nruns ? (i + 1 < nruns ? runs[i + 1] : nrows) - runs[i] : 0;
    NodeCounts    c;

    for (int k = 0; k < NodeCounts::KINDS; k++) c.nodes[k] = (rows + NodeRows(k) - 1) / NodeRows(k);
    count[i] = c;
  }
}

static __global__ void __launch_bounds__(HRPB_THREADS) ListNodes(const int32_t *runs, int32_t nruns, int32_t nrows, int kind, const NodeCounts *before, int32_t *nodes)
{
  for (int64_t i = (int64_t)blockIdx.x * HRPB_THREADS + threadIdx.x; i <= nruns; i += (int64_t)gridDim.x * HRPB_THREADS) {
    const int32_t end = i + 1 < nruns ? runs[i + 1] : nrows;
    int32_t       at  = before[i].nodes[kind];

    if (i == nruns) nodes[at] = nrows;
    else {
      for (int32_t row = runs[i]; row < end; row += NodeRows(kind)) nodes[at++] = row;
    }
  }
}

namespace {
struct Search {
  uint8_t    *differs;
  int32_t    *runs, *nruns;
  NodeCounts *count;
};
} // namespace

/*
   The rows of a node for which the fewest reads are made. A kernel reads as many values as a node may have rows,
   whatever it has. The columns and numbers of x of a node take half as long again as the values of a row
*/
static int ChooseKind(const NodeCounts *total)
{
  int     best  = 0;
  int64_t least = INT64_MAX;

  for (int kind = 0; kind < NodeCounts::KINDS; kind++) {
    const int64_t reads = (int64_t)total->nodes[kind] * (2 * NodeRows(kind) + 3);

    if (reads < least) least = reads, best = kind;
  }
  return best;
}

static HrpbError FindNodes(const HrpbInt *rowptr, const HrpbInt *colidx, Search *s, cudaStream_t stream, VectorPlan *v)
{
  const int32_t nrows = v->nrows;
  int32_t       nruns;
  int32_t      *nodes;
  int           kind;
  NodeCounts    total;

  HrpbCall(HrpbAllocate(&s->differs, v->nrows, stream));
  HrpbCall(HrpbAllocate(&s->runs, v->nrows, stream));
  HrpbCall(HrpbAllocate(&s->nruns, 1, stream));
  HrpbCall(HrpbLaunch(CompareRows, HrpbGrid((int64_t)v->nrows * LANES, HRPB_THREADS), HRPB_THREADS, 0, stream, rowptr, colidx, v->nrows, s->differs));
  HrpbCall(HrpbCallCub([=](void *memory, size_t &bytes) { return cub::DeviceSelect::If(memory, bytes, thrust::counting_iterator<int32_t>(0), s->runs, s->nruns, nrows, Differs{s->differs}, stream); }, stream));
  HrpbCall(HrpbBring(&nruns, s->nruns, sizeof(nruns), stream));
  if (4 * (int64_t)nruns > 3 * (int64_t)v->nrows) return HRPB_SUCCESS; /* too few rows share columns */
  HrpbCall(HrpbAllocate(&s->count, (int64_t)nruns + 1, stream));
  HrpbCall(HrpbLaunch(CountNodes, HrpbGrid((int64_t)nruns + 1, HRPB_THREADS), HRPB_THREADS, 0, stream, s->runs, nruns, v->nrows, s->count));
  HrpbCall(HrpbExclusiveSum(s->count, (int64_t)nruns + 1, stream));
  HrpbCall(HrpbBring(&total, s->count + nruns, sizeof(total), stream));
  kind = ChooseKind(&total);
  HrpbCall(HrpbAllocate(&nodes, (int64_t)total.nodes[kind] + 1, stream));
  v->nodes     = nodes;
  v->nnodes    = total.nodes[kind];
  v->node_rows = NodeRows(kind);
  v->bytes += (int64_t)sizeof(*nodes) * ((int64_t)v->nnodes + 1);
  HrpbCall(HrpbLaunch(ListNodes, HrpbGrid((int64_t)nruns + 1, HRPB_THREADS), HRPB_THREADS, 0, stream, s->runs, nruns, v->nrows, kind, s->count, nodes));
  return HRPB_SUCCESS;
}

static void DropNodes(VectorPlan *v, HrpbStream stream)
{
  if (v->nodes) v->bytes -= (int64_t)sizeof(int32_t) * ((int64_t)v->nnodes + 1);
  (void)HrpbFree(v->nodes, HRPB_SUCCESS, stream);
  v->nodes  = NULL;
  v->nnodes = v->node_rows = 0;
}

HrpbError VectorNodesDevice(const HrpbInt *rowptr, const HrpbInt *colidx, HrpbStream stream, VectorPlan *v)
{
  Search    s = {};
  HrpbError err;

  DropNodes(v, stream);
  if (v->nrows == 0 || v->lanes == 0) return HRPB_SUCCESS;
  err = FindNodes(rowptr, colidx, &s, stream, v);
  err = HrpbFree(s.differs, err, stream);
  err = HrpbFree(s.runs, err, stream);
  err = HrpbFree(s.nruns, err, stream);
  err = HrpbFree(s.count, err, stream);
  if (err) DropNodes(v, stream);
  return err;
}

void VectorPlanDestroyDevice(VectorPlan *v, HrpbStream stream)
{
  DropNodes(v, stream);
  VectorDropColumns(v, stream);
  (void)HrpbFree(v->long_rows, HRPB_SUCCESS, stream);
  (void)HrpbFree(v->parts, HRPB_SUCCESS, stream);
  (void)HrpbFree(v->order, HRPB_SUCCESS, stream);
  (void)HrpbFree(v->run_ptr, HRPB_SUCCESS, stream);
  (void)HrpbFree(v->runs, HRPB_SUCCESS, stream);
  DropBlocks(v, stream);
  memset(v, 0, sizeof(*v));
}
