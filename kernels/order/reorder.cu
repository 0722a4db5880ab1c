/*
   Reordering by the method of Cuthill and McKee, with all rows of a level at a time, and the reordered matrix.
*/
#include <string.h>

#include <algorithm>

#include <cub/device/device_segmented_sort.cuh>
#include <cub/device/device_select.cuh>
#include <thrust/iterator/counting_iterator.h>

#include "reorder.h"
#include "../format/rows.cuh"
#include "../common/cub.cuh"

enum {
  SAMPLE     = 4096, /* rows, */
  ROW_SAMPLE = 256,  /* the most columns of each */
  MOST_PARTS = 32,   /* parts that are not connected, one after the other; what is left then stays in its order */
  HASH_BITS  = 16,

  SCAN_THREADS  = 1024,
  FEW_TOGETHER  = 2,  /* levels that are started without a look at the ones before, at first. Then twice as many each */
  MOST_TOGETHER = 32, /* time, and so many at most. Both are even */
  MOST_SIBLINGS = 4096, /* children of a row that are compared with each other. More are sorted by CUB */
  LEVEL_BLOCKS  = 264 /* thread blocks for a level, whose rows are not known: two for each multiprocessor */
};
#define UNSEEN UINT32_MAX /* no neighbour in the level */

static unsigned int WarpGrid(int64_t rows)
{
  return HrpbGrid(rows, HRPB_WARPS);
}

/* ---- How much neighbours share ---- */

namespace {
typedef struct {
  unsigned long long share, rows; /* sum of SHARES of a row's columns */
} Shared;
} // namespace

enum {
  SHARES = 1000 /* shares are integers, which add up to the same in any order */
};

/*
   A warp has a row of the sample and a neighbour: the one that the middle of its columns names, or the next if that is
   the row itself
*/
static __global__ void __launch_bounds__(HRPB_THREADS) CompareNeighbours(int32_t n, int32_t nsample, const HrpbInt *rowptr, const HrpbInt *colidx, Shared *sum)
{
  const int32_t lane = threadIdx.x % HRPB_LANES, sample = blockIdx.x * HRPB_WARPS + threadIdx.x / HRPB_LANES;
  const int64_t row   = sample < nsample ? (int64_t)sample * n / nsample : 0;
  const int64_t begin = rowptr[row], end = rowptr[row + 1], nlooked = min(end - begin, (int64_t)ROW_SAMPLE);
  int64_t       other, middle = begin + (end - begin) / 2;
  uint32_t      found = 0;

  if (sample >= nsample || end - begin < 2) return;
  if (colidx[middle] == row) middle = middle + 1 < end ? middle + 1 : begin;
  other = colidx[middle];
  for (int64_t i = lane; i < nlooked; i += HRPB_LANES) {
    const HrpbInt column = colidx[begin + i * (end - begin) / nlooked];
    const int64_t at     = HrpbLowerBound(colidx, rowptr[other], rowptr[other + 1], column);

    if (at < rowptr[other + 1] && colidx[at] == column) found++;
  }
  __syncwarp();
  found = __reduce_add_sync(HRPB_ALL_LANES, found);
  if (lane == 0) {
    atomicAdd(&sum->rows, 1ull);
    atomicAdd(&sum->share, (unsigned long long)found * SHARES / (unsigned long long)nlooked);
  }
}

static HrpbError CountShared(int64_t n, const HrpbInt *rowptr, const HrpbInt *colidx, cudaStream_t stream, Shared *sum, double *shared)
{
  const int32_t nsample = (int32_t)(n < SAMPLE ? n : SAMPLE);
  Shared        total;

  HrpbCallCuda(cudaMemsetAsync(sum, 0, sizeof(*sum), stream));
  HrpbCall(HrpbLaunch(CompareNeighbours, HrpbGrid(nsample, HRPB_WARPS), HRPB_THREADS, 0, stream, (int32_t)n, nsample, rowptr, colidx, sum));
  HrpbCall(HrpbBring(&total, sum, sizeof(total), stream));
  *shared = total.rows ? (double)total.share / ((double)total.rows * (double)SHARES) : 0;
  return HRPB_SUCCESS;
}

HrpbError HrpbSharedNeighboursDevice(int64_t n, const HrpbInt *rowptr, const HrpbInt *colidx, HrpbStream stream, double *shared)
{
  Shared *sum;

  *shared = 0;
  if (n < 0) return HRPB_ERR_CSR;
  if (n > INT32_MAX) return HRPB_ERR_OVERFLOW;
  if (n == 0) return HRPB_SUCCESS;
  HrpbCall(HrpbAllocate(&sum, 1, stream));
  return HrpbFree(sum, CountShared(n, rowptr, colidx, stream, sum, shared), stream);
}

/* ---- The order ---- */

namespace {
/* Where a search is: the rows of the level at hand have the positions begin to end - 1 */
struct Level {
  int32_t begin, end;
  int32_t nfound; /* rows of the next level, so far */
  int32_t levels; /* before this one */
  int32_t waits;  /* not zero: a row has so many children that the host is to have them sorted. Until then all waits */
};

typedef struct {
  int32_t        n;
  const HrpbInt *rowptr, *colidx;
  int32_t       *order, *position; /* position is negative in rows that have none yet */
  uint32_t      *parent;           /* [n] the least position of a neighbour in the level before */
  uint16_t      *hash;             /* [n] the same in rows with the same columns, and in few others */
  uint32_t      *behind;           /* [n + 1] by position + 1: children of a row, then where the last of them ends */
  int32_t       *found;            /* [n] rows of the next level, as they are found */
  uint64_t      *sibling;          /* [n] by position: hash and number of rows of the next level, by their parents */
  Level         *level;            /* [2] a level, and the next one, in turn */
  int32_t       *count;            /* rows that were selected */
  uint8_t       *temporary;        /* what CUB needs for n rows */
  size_t         temporary_bytes;
  int32_t        most_levels;
} Search;
} // namespace

static __device__ uint32_t Mix(uint32_t x)
{
  x = (x ^ x >> 16) * 0x7feb352du;
  x = (x ^ x >> 15) * 0x846ca68bu;
  return x ^ x >> 16;
}

static __global__ void __launch_bounds__(HRPB_THREADS) HashRows(Search s)
{
  const int64_t row = (int64_t)blockIdx.x * HRPB_WARPS + threadIdx.x / HRPB_LANES;
  uint32_t      sum = 0;

  if (row >= s.n) return;
  for (int64_t k = s.rowptr[row] + threadIdx.x % HRPB_LANES; k < s.rowptr[row + 1]; k += HRPB_LANES) sum += Mix((uint32_t)s.colidx[k]);
  sum = __reduce_add_sync(HRPB_ALL_LANES, sum);
  if (threadIdx.x % HRPB_LANES == 0) s.hash[row] = (uint16_t)(Mix(sum) >> (32 - HASH_BITS));
}

/*
   A level is five kernels, which read on the device how many rows there are. So several levels are started at once, and
   the host waits seldom. Those behind the last level find nothing to do.
*/

/* The rows of the level tell their neighbours. Who is told first of a row notes it, in any order */
static __global__ void __launch_bounds__(HRPB_THREADS) Tell(Search s, Level *level)
{
  const int32_t begin = level->begin, end = level->waits ? begin : level->end;

  for (int64_t at = begin + (int64_t)blockIdx.x * HRPB_WARPS + threadIdx.x / HRPB_LANES; at < end; at += (int64_t)gridDim.x * HRPB_WARPS) {
    const int32_t row = s.order[at];

    if (threadIdx.x % HRPB_LANES == 0) s.behind[at + 1] = 0;
    for (int64_t k = s.rowptr[row] + threadIdx.x % HRPB_LANES; k < s.rowptr[row + 1]; k += HRPB_LANES) {
      const HrpbInt column = s.colidx[k];

      if (s.position[column] >= 0 || s.parent[column] <= (uint32_t)at) continue;
      if (atomicMin(s.parent + column, (uint32_t)at) == UNSEEN) s.found[atomicAdd(&level->nfound, 1)] = (int32_t)column;
    }
  }
}

static __global__ void __launch_bounds__(HRPB_THREADS) CountChildren(Search s, const Level *level)
{
  if (level->waits) return;
  for (int64_t i = (int64_t)blockIdx.x * HRPB_THREADS + threadIdx.x; i < level->nfound; i += (int64_t)gridDim.x * HRPB_THREADS) atomicAdd(s.behind + s.parent[s.found[i]] + 1, 1u);
}

/* One thread block: where the children of each row of the level begin, and what the next level is */
static __global__ void __launch_bounds__(SCAN_THREADS) PlaceChildren(Search s, Level *level, Level *next)
{
  __shared__ uint32_t sum[SCAN_THREADS / HRPB_LANES];
  const int           warp  = threadIdx.x / HRPB_LANES;
  const int32_t       begin = level->begin, end = level->end;
  uint32_t            total = (uint32_t)end;
  bool                many  = false;

  if (level->waits) {
    if (threadIdx.x == 0) *next = *level;
    return;
  }
  for (int64_t first = begin; first < end; first += SCAN_THREADS) {
    const int64_t  at  = first + threadIdx.x;
    const uint32_t own = at < end ? s.behind[at + 1] : 0, upto = HrpbWarpInclusiveSum(own);
    uint32_t       before = total + upto - own;

    __syncthreads(); /* the sums before have been read */
    if (threadIdx.x % HRPB_LANES == HRPB_LANES - 1) sum[warp] = upto;
    __syncthreads();
    for (int i = 0; i < SCAN_THREADS / HRPB_LANES; i++) {
      if (i < warp) before += sum[i];
      total += sum[i];
    }
    if (at < end) s.behind[at + 1] = before;
    many = many || own > MOST_SIBLINGS;
  }
  many = __syncthreads_or(many);
  if (threadIdx.x > 0) return;
  s.behind[begin] = (uint32_t)end; /* the children of the first row begin here */
  level->waits    = many;
  if (many) *next = *level;
  else *next = {end, end + level->nfound, 0, level->levels + (begin < end), 0};
}

/* The children of a row come to their places side by side, in any order. behind then is where they end */
static __global__ void __launch_bounds__(HRPB_THREADS) GatherChildren(Search s, const Level *level)
{
  if (level->waits) return;
  for (int64_t i = (int64_t)blockIdx.x * HRPB_THREADS + threadIdx.x; i < level->nfound; i += (int64_t)gridDim.x * HRPB_THREADS) {
    const int32_t row = s.found[i];

    s.sibling[atomicAdd(s.behind + s.parent[row] + 1, 1u)] = (uint64_t)s.hash[row] << 32 | (uint32_t)row;
  }
}

/* Each child has the position that follows from how many of its siblings have a smaller hash, or else number */
static __global__ void __launch_bounds__(HRPB_THREADS) OrderChildren(Search s, const Level *level)
{
  if (level->waits) return;
  for (int64_t i = level->end + (int64_t)blockIdx.x * HRPB_THREADS + threadIdx.x; i < level->end + level->nfound; i += (int64_t)gridDim.x * HRPB_THREADS) {
    const uint64_t own    = s.sibling[i];
    const int32_t  row    = (int32_t)(uint32_t)own;
    const uint32_t parent = s.parent[row];
    const int32_t  first = (int32_t)s.behind[parent], last = (int32_t)s.behind[parent + 1];
    int32_t        at = first;

#pragma unroll 8
    for (int32_t k = first; k < last; k++) at += s.sibling[k] < own;
    s.order[at]     = row;
    s.position[row] = at;
  }
}

static HrpbError SearchLevel(const Search *s, Level *level, Level *next, cudaStream_t stream)
{
  const unsigned int grid = HrpbGrid(s->n, HRPB_WARPS, LEVEL_BLOCKS);

  /* each reads what the one before it wrote: none is launched after one that failed */
  HrpbCall(HrpbLaunch(Tell, grid, HRPB_THREADS, 0, stream, *s, level));
  HrpbCall(HrpbLaunch(CountChildren, grid, HRPB_THREADS, 0, stream, *s, level));
  HrpbCall(HrpbLaunch(PlaceChildren, 1, SCAN_THREADS, 0, stream, *s, level, next));
  HrpbCall(HrpbLaunch(GatherChildren, grid, HRPB_THREADS, 0, stream, *s, level));
  HrpbCall(HrpbLaunch(OrderChildren, grid, HRPB_THREADS, 0, stream, *s, level));
  return HRPB_SUCCESS;
}

static __global__ void __launch_bounds__(HRPB_THREADS) PlaceSorted(Search s, const uint64_t *sorted, int32_t first, int32_t n)
{
  const int64_t i = (int64_t)blockIdx.x * HRPB_THREADS + threadIdx.x;

  if (i < n) {
    const int32_t row = (int32_t)(uint32_t)sorted[first + i];

    s.order[first + i] = row;
    s.position[row]    = (int32_t)(first + i);
  }
}

/* Order the children of the level that waited. s->level is that level. sorted is by position, as s->sibling is */
static HrpbError SortChildren(const Search *s, const Level *level, uint64_t *sorted, cudaStream_t stream)
{
  const int64_t   nparents = level->end - level->begin, end = (int64_t)level->end + level->nfound;
  const uint32_t *limits = s->behind + level->begin;

  HrpbCall(HrpbLaunch(GatherChildren, HrpbGrid(level->nfound, HRPB_THREADS, LEVEL_BLOCKS), HRPB_THREADS, 0, stream, *s, s->level));
  HrpbCall(HrpbCallCub([=](void *memory, size_t &bytes) { return cub::DeviceSegmentedSort::SortKeys(memory, bytes, s->sibling, sorted, end, nparents, limits, limits + 1, stream); }, stream));
  HrpbCall(HrpbLaunch(PlaceSorted, HrpbGrid(level->nfound, HRPB_THREADS), HRPB_THREADS, 0, stream, *s, sorted, level->end, level->nfound));
  return HRPB_SUCCESS;
}

/* Finish the level that waits. level becomes the next one */
static HrpbError FinishLevel(const Search *s, Level *level, cudaStream_t stream)
{
  uint64_t *sorted = NULL;
  HrpbError err;

  level->waits = 0;
  HrpbCallCuda(cudaMemcpyAsync(s->level, level, sizeof(*level), cudaMemcpyHostToDevice, stream));
  err = HrpbAllocate(&sorted, (int64_t)level->end + level->nfound, stream);
  if (!err) err = SortChildren(s, level, sorted, stream);
  HrpbCall(HrpbFree(sorted, err, stream));
  *level = {level->end, level->end + level->nfound, 0, level->levels + 1, 0};
  HrpbCallCuda(cudaMemcpyAsync(s->level, level, sizeof(*level), cudaMemcpyHostToDevice, stream));
  return HRPB_SUCCESS;
}

static __global__ void __launch_bounds__(HRPB_THREADS) Place(Search s, const int32_t *rows, int32_t n, int32_t first)
{
  const int64_t i = (int64_t)blockIdx.x * HRPB_THREADS + threadIdx.x;

  if (i < n) {
    s.order[first + i]  = rows[i];
    s.position[rows[i]] = (int32_t)(first + i);
  }
}

static HrpbError PlaceRows(const Search *s, const int32_t *rows, int32_t n, int32_t first, cudaStream_t stream)
{
  HrpbCall(HrpbLaunch(Place, HrpbGrid(n, HRPB_THREADS), HRPB_THREADS, 0, stream, *s, rows, n, first));
  return HRPB_SUCCESS;
}

namespace {
struct IsLeft { /* whether a row has no position */
  const int32_t *position;

  __device__ bool operator()(int32_t row) const { return position[row] < 0; }
};
} // namespace

/* Select the rows that have no position, ascending, to s->found */
static HrpbError SelectLeft(Search *s, cudaStream_t stream, int32_t *n)
{
  size_t bytes = s->temporary_bytes;

  HrpbCallCuda(cub::DeviceSelect::If(s->temporary, bytes, thrust::counting_iterator<int32_t>(0), s->found, s->count, s->n, IsLeft{s->position}, stream));
  return HrpbBring(n, s->count, sizeof(*n), stream);
}

/* Search breadth first from the row with position *end - 1. *end is behind the last row that gets a position */
static HrpbError SearchPart(Search *s, int32_t *end, int32_t *levels, cudaStream_t stream)
{
  Level level = {*end - 1, *end, 0, *levels, 0};

  /* the copy reads it at once, because it is no pinned memory */
  HrpbCallCuda(cudaMemcpyAsync(s->level, &level, sizeof(level), cudaMemcpyHostToDevice, stream));
  for (int together = FEW_TOGETHER; level.begin < level.end; together = std::min(2 * together, (int)MOST_TOGETHER)) {
    for (int i = 0; i < together; i++) HrpbCall(SearchLevel(s, s->level + i % 2, s->level + (i + 1) % 2, stream));
    HrpbCall(HrpbBring(&level, s->level, sizeof(level), stream));
    if (level.waits) HrpbCall(FinishLevel(s, &level, stream));
    if (level.levels > s->most_levels) return HRPB_ERR_UNSUPPORTED;
  }
  *end    = level.end;
  *levels = level.levels;
  return HRPB_SUCCESS;
}

/* Give all rows positions, from row first on */
static HrpbError SearchFrom(Search *s, int32_t first, int32_t *levels, cudaStream_t stream)
{
  int32_t end = 0, nleft;

  HrpbCallCuda(cudaMemsetAsync(s->position, 0xff, sizeof(*s->position) * (size_t)s->n, stream));
  HrpbCallCuda(cudaMemsetAsync(s->parent, 0xff, sizeof(*s->parent) * (size_t)s->n, stream));
  HrpbCallCuda(cudaMemcpyAsync(s->found, &first, sizeof(first), cudaMemcpyHostToDevice, stream));
  for (int part = 0; end < s->n; part++) {
    if (part) HrpbCall(SelectLeft(s, stream, &nleft));
    if (part == MOST_PARTS) return PlaceRows(s, s->found, nleft, end, stream);
    HrpbCall(PlaceRows(s, s->found, 1, end++, stream));
    HrpbCall(SearchPart(s, &end, levels, stream));
  }
  return HRPB_SUCCESS;
}

/* All of it lies behind parent */
static HrpbError AllocateSearch(Search *s, cudaStream_t stream)
{
  HrpbCallCuda(cub::DeviceSelect::If(NULL, s->temporary_bytes, thrust::counting_iterator<int32_t>(0), s->found, s->count, s->n, IsLeft{NULL}, stream));
  return HrpbAllocateTogether(stream, &s->parent, s->n, &s->hash, s->n, &s->behind, s->n + 1, &s->found, s->n, &s->sibling, s->n, &s->level, 2, &s->count, 1, &s->temporary, s->temporary_bytes);
}

/*
   Search twice. The last row that the first search finds is far out. If the pattern is symmetric, the second search,
   from this row, has at least as many levels
*/
static HrpbError FindOrder(Search *s, int32_t most_levels, int32_t *levels, cudaStream_t stream)
{
  int32_t last, first_levels = 0, last_levels = 0;

  s->most_levels = most_levels / 2;
  HrpbCall(HrpbLaunch(HashRows, WarpGrid(s->n), HRPB_THREADS, 0, stream, *s));
  HrpbCall(SearchFrom(s, 0, &first_levels, stream));
  HrpbCall(HrpbBring(&last, s->order + s->n - 1, sizeof(last), stream));
  s->most_levels = most_levels - first_levels;
  HrpbCall(SearchFrom(s, last, &last_levels, stream));
  *levels = first_levels + (last_levels > first_levels ? last_levels : first_levels);
  return HRPB_SUCCESS;
}

/* ---- The matrix in that order ---- */

static __global__ void __launch_bounds__(HRPB_THREADS) MeasureRows(const HrpbInt *rowptr, const int32_t *order, int32_t n, HrpbInt *length)
{
  const int64_t k = (int64_t)blockIdx.x * HRPB_THREADS + threadIdx.x;

  if (k < n) length[k] = rowptr[order[k] + 1] - rowptr[order[k]];
  if (k == n) length[k] = 0; /* the last number of a scan is the sum of the others */
}

static __global__ void __launch_bounds__(HRPB_THREADS) RenameColumns(const HrpbInt *rowptr, const HrpbInt *colidx, HrpbReordered c, HrpbInt *renamed, HrpbInt *entry)
{
  const int64_t k = (int64_t)blockIdx.x * HRPB_WARPS + threadIdx.x / HRPB_LANES;

  if (k >= c.n) return;
  const int64_t from = rowptr[c.order[k]], to = c.rowptr[k], length = c.rowptr[k + 1] - to;

  for (int64_t i = threadIdx.x % HRPB_LANES; i < length; i += HRPB_LANES) {
    renamed[to + i] = c.position[colidx[from + i]];
    entry[to + i]   = (HrpbInt)(from + i);
  }
}

namespace {
typedef struct {
  HrpbInt *renamed, *entry; /* in the order in which they come */
} Matrix;
} // namespace

/* The number of entries. Those of 64-bit indices may be too many */
static HrpbError CountEntries(const HrpbInt *rowptr, cudaStream_t stream, HrpbReordered *c)
{
  HrpbInt first, end;

  HrpbCallCuda(cudaMemcpyAsync(&first, rowptr, sizeof(first), cudaMemcpyDeviceToHost, stream));
  HrpbCall(HrpbBring(&end, rowptr + c->n, sizeof(end), stream));
  if (end - first > INT32_MAX) return HRPB_ERR_UNSUPPORTED;
  c->nnz = end - first;
  return HRPB_SUCCESS;
}

static HrpbError MakeMatrix(const HrpbInt *rowptr, const HrpbInt *colidx, Matrix *m, cudaStream_t stream, HrpbReordered *c)
{
  HrpbCall(HrpbAllocate(&c->rowptr, (int64_t)c->n + 1, stream));
  HrpbCall(HrpbAllocate(&c->colidx, c->nnz, stream));
  HrpbCall(HrpbAllocate(&c->entry, c->nnz, stream));
  HrpbCall(HrpbAllocate(&m->renamed, c->nnz, stream));
  HrpbCall(HrpbAllocate(&m->entry, c->nnz, stream));
  HrpbCall(HrpbLaunch(MeasureRows, HrpbGrid((int64_t)c->n + 1, HRPB_THREADS), HRPB_THREADS, 0, stream, rowptr, c->order, c->n, c->rowptr));
  HrpbCall(HrpbExclusiveSum(c->rowptr, (int64_t)c->n + 1, stream));
  HrpbCall(HrpbLaunch(RenameColumns, WarpGrid(c->n), HRPB_THREADS, 0, stream, rowptr, colidx, *c, m->renamed, m->entry));
  return HrpbCallCub([=](void *memory, size_t &bytes) { return cub::DeviceSegmentedSort::SortPairs(memory, bytes, m->renamed, c->colidx, m->entry, c->entry, c->nnz, (int64_t)c->n, c->rowptr, c->rowptr + 1, stream); }, stream);
}

static HrpbError Reorder(const HrpbInt *rowptr, const HrpbInt *colidx, int32_t most_levels, cudaStream_t stream, HrpbReordered *c)
{
  Search    s = {c->n, rowptr, colidx};
  Matrix    m = {};
  HrpbError err;

  HrpbCall(HrpbAllocate(&c->order, c->n, stream));
  HrpbCall(HrpbAllocate(&c->position, c->n, stream));
  s.order    = c->order;
  s.position = c->position;
  err        = AllocateSearch(&s, stream);
  if (!err) err = FindOrder(&s, most_levels, &c->levels, stream);
  HrpbCall(HrpbFree(s.parent, err, stream));
  if (sizeof(HrpbInt) == 4) HrpbCall(CountEntries(rowptr, stream, c)); /* a wait that most searches do without */
  err = MakeMatrix(rowptr, colidx, &m, stream, c);
  err = HrpbFree(m.renamed, err, stream);
  HrpbCall(HrpbFree(m.entry, err, stream));
  HrpbCallCuda(cudaStreamSynchronize(stream));
  return HRPB_SUCCESS;
}

HrpbError HrpbReorderDevice(int64_t n, const HrpbInt *rowptr, const HrpbInt *colidx, int32_t most_levels, HrpbStream stream, HrpbReordered *c)
{
  HrpbError err;

  memset(c, 0, sizeof(*c));
  if (n < 0) return HRPB_ERR_CSR;
  if (n >= INT32_MAX) return HRPB_ERR_OVERFLOW;
  if (n == 0) return HRPB_ERR_UNSUPPORTED;
  c->n = (int32_t)n;
  err  = sizeof(HrpbInt) > 4 ? CountEntries(rowptr, stream, c) : HRPB_SUCCESS;
  if (!err) err = Reorder(rowptr, colidx, most_levels, stream, c);
  if (err) HrpbReorderDestroyDevice(c, stream);
  return err;
}

void HrpbReorderDestroyDevice(HrpbReordered *c, HrpbStream stream)
{
  void *arrays[] = {c->order, c->position, c->rowptr, c->colidx, c->entry};

  for (void *array : arrays) (void)HrpbFree(array, HRPB_SUCCESS, stream);
  memset(c, 0, sizeof(*c));
}
