/*
   Reordering by the method of Cuthill and McKee, with all rows of a level at a time, and the reordered matrix.
*/
#include <string.h>

#include <cub/device/device_radix_sort.cuh>
#include <cub/device/device_segmented_sort.cuh>
#include <cub/device/device_select.cuh>
#include <thrust/iterator/counting_iterator.h>

#include "reorder.h"
#include "../format/rows.cuh"
#include "../common/scan.cuh"

enum {
  SAMPLE      = 4096, /* rows, */
  ROW_SAMPLE  = 256,  /* the most columns of each */
  MOST_PARTS  = 32,   /* parts that are not connected, one after the other; what is left then stays in its order */
  PERMUTED    = 4,    /* columns of a thread: neighbours in memory, which one read brings */
  HASH_BITS   = 16
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
  const int64_t row  = sample < nsample ? (int64_t)sample * n / nsample : 0;
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
  CompareNeighbours<<<HrpbGrid(nsample, HRPB_WARPS), HRPB_THREADS, 0, stream>>>((int32_t)n, nsample, rowptr, colidx, sum);
  HrpbCallCuda(cudaGetLastError());
  HrpbCallCuda(cudaMemcpyAsync(&total, sum, sizeof(total), cudaMemcpyDeviceToHost, stream));
  HrpbCallCuda(cudaStreamSynchronize(stream));
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
typedef struct {
  int32_t        n;
  const HrpbInt *rowptr, *colidx;
  int32_t       *order, *position; /* position is negative in rows that have none yet */
  uint32_t      *parent;           /* [n] the least position of a neighbour in the level before */
  uint16_t      *hash;             /* [n] the same in rows with the same columns, and in few others */
  int32_t       *next, *sorted;    /* [n] rows of the next level, ascending; the same by their keys */
  uint64_t      *key, *sorted_key; /* [n] */
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

/* The rows with positions begin to end - 1 tell their neighbours */
static __global__ void __launch_bounds__(HRPB_THREADS) Tell(Search s, int32_t begin, int32_t end)
{
  const int64_t at = begin + (int64_t)blockIdx.x * HRPB_WARPS + threadIdx.x / HRPB_LANES;

  if (at >= end) return;
  const int32_t row = s.order[at];

  for (int64_t k = s.rowptr[row] + threadIdx.x % HRPB_LANES; k < s.rowptr[row + 1]; k += HRPB_LANES) {
    const HrpbInt column = s.colidx[k];

    if (s.position[column] < 0 && s.parent[column] > (uint32_t)at) atomicMin(s.parent + column, (uint32_t)at);
  }
}

namespace {
struct IsNext { /* whether a row was told, and has no position */
  const int32_t  *position;
  const uint32_t *parent;

  __device__ bool operator()(int32_t row) const { return position[row] < 0 && parent[row] != UNSEEN; }
};

struct IsLeft {
  const int32_t *position;

  __device__ bool operator()(int32_t row) const { return position[row] < 0; }
};
} // namespace

static __global__ void __launch_bounds__(HRPB_THREADS) MakeKeys(Search s, int32_t n)
{
  const int64_t i = (int64_t)blockIdx.x * HRPB_THREADS + threadIdx.x;

  if (i < n) s.key[i] = (uint64_t)s.parent[s.next[i]] << HASH_BITS | s.hash[s.next[i]];
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
  Place<<<HrpbGrid(n, HRPB_THREADS), HRPB_THREADS, 0, stream>>>(*s, rows, n, first);
  HrpbCallCuda(cudaGetLastError());
  return HRPB_SUCCESS;
}

/* Select the rows for which is() holds, ascending, to s->next */
template <typename Is> static HrpbError Select(Search *s, Is is, cudaStream_t stream, int32_t *n)
{
  size_t bytes = s->temporary_bytes;

  HrpbCallCuda(cub::DeviceSelect::If(s->temporary, bytes, thrust::counting_iterator<int32_t>(0), s->next, s->count, s->n, is, stream));
  HrpbCallCuda(cudaMemcpyAsync(n, s->count, sizeof(*n), cudaMemcpyDeviceToHost, stream));
  HrpbCallCuda(cudaStreamSynchronize(stream));
  return HRPB_SUCCESS;
}

static int BitsOf(uint32_t x)
{
  int bits = 0;

  while (x >> bits && bits < 32) bits++;
  return bits;
}

/* Search breadth first from all rows with positions from begin on. *end is behind the last row that gets a position */
static HrpbError SearchPart(Search *s, int32_t begin, int32_t *end, int32_t *levels, cudaStream_t stream)
{
  while (begin < *end) {
    const int32_t last  = *end;
    size_t        bytes = s->temporary_bytes;
    int32_t       n;

    if (++*levels > s->most_levels) return HRPB_ERR_UNSUPPORTED;
    Tell<<<WarpGrid(last - begin), HRPB_THREADS, 0, stream>>>(*s, begin, last);
    HrpbCallCuda(cudaGetLastError());
    HrpbCall(Select(s, IsNext{s->position, s->parent}, stream, &n));
    begin = last;
    if (!n) return HRPB_SUCCESS;
    MakeKeys<<<HrpbGrid(n, HRPB_THREADS), HRPB_THREADS, 0, stream>>>(*s, n);
    HrpbCallCuda(cudaGetLastError());
    HrpbCallCuda(cub::DeviceRadixSort::SortPairs(s->temporary, bytes, s->key, s->sorted_key, s->next, s->sorted, n, 0, HASH_BITS + BitsOf((uint32_t)last), stream));
    HrpbCall(PlaceRows(s, s->sorted, n, last, stream));
    *end = last + n;
  }
  return HRPB_SUCCESS;
}

/* Give all rows positions, from row first on. Each level takes some launches, and waits for the host */
static HrpbError SearchFrom(Search *s, int32_t first, int32_t *levels, cudaStream_t stream)
{
  int32_t end = 0, nleft;

  HrpbCallCuda(cudaMemsetAsync(s->position, 0xff, sizeof(*s->position) * (size_t)s->n, stream));
  HrpbCallCuda(cudaMemsetAsync(s->parent, 0xff, sizeof(*s->parent) * (size_t)s->n, stream));
  HrpbCallCuda(cudaMemcpyAsync(s->next, &first, sizeof(first), cudaMemcpyHostToDevice, stream));
  for (int part = 0; end < s->n; part++) {
    const int32_t begin = end;

    if (part) HrpbCall(Select(s, IsLeft{s->position}, stream, &nleft));
    if (part == MOST_PARTS) return PlaceRows(s, s->next, nleft, begin, stream);
    HrpbCall(PlaceRows(s, s->next, 1, begin, stream));
    end = begin + 1;
    HrpbCall(SearchPart(s, begin, &end, levels, stream));
  }
  return HRPB_SUCCESS;
}

static HrpbError AllocateSearch(Search *s, cudaStream_t stream)
{
  size_t select = 0, sort = 0;

  HrpbCall(HrpbAllocate(&s->parent, s->n, stream));
  HrpbCall(HrpbAllocate(&s->hash, s->n, stream));
  HrpbCall(HrpbAllocate(&s->next, s->n, stream));
  HrpbCall(HrpbAllocate(&s->sorted, s->n, stream));
  HrpbCall(HrpbAllocate(&s->key, s->n, stream));
  HrpbCall(HrpbAllocate(&s->sorted_key, s->n, stream));
  HrpbCall(HrpbAllocate(&s->count, 1, stream));
  HrpbCallCuda(cub::DeviceSelect::If(NULL, select, thrust::counting_iterator<int32_t>(0), s->next, s->count, s->n, IsNext{NULL, NULL}, stream));
  HrpbCallCuda(cub::DeviceRadixSort::SortPairs(NULL, sort, s->key, s->sorted_key, s->next, s->sorted, s->n, 0, 64, stream));
  s->temporary_bytes = select > sort ? select : sort;
  return HrpbAllocate(&s->temporary, (int64_t)s->temporary_bytes, stream);
}

static HrpbError FreeSearch(Search *s, HrpbError err, cudaStream_t stream)
{
  err = HrpbFree(s->parent, err, stream);
  err = HrpbFree(s->hash, err, stream);
  err = HrpbFree(s->next, err, stream);
  err = HrpbFree(s->sorted, err, stream);
  err = HrpbFree(s->key, err, stream);
  err = HrpbFree(s->sorted_key, err, stream);
  err = HrpbFree(s->count, err, stream);
  return HrpbFree(s->temporary, err, stream);
}

/*
   Search twice. The last row that the first search finds is far out. If the pattern is symmetric, the second search,
   from this row, has at least as many levels
*/
static HrpbError FindOrder(Search *s, int32_t most_levels, int32_t *levels, cudaStream_t stream)
{
  int32_t last, first_levels = 0, last_levels = 0;

  s->most_levels = most_levels / 2;
  HashRows<<<WarpGrid(s->n), HRPB_THREADS, 0, stream>>>(*s);
  HrpbCallCuda(cudaGetLastError());
  HrpbCall(SearchFrom(s, 0, &first_levels, stream));
  HrpbCallCuda(cudaMemcpyAsync(&last, s->order + s->n - 1, sizeof(last), cudaMemcpyDeviceToHost, stream));
  HrpbCallCuda(cudaStreamSynchronize(stream));
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
  uint8_t *temporary;
} Matrix;
} // namespace

static HrpbError MakeMatrix(const HrpbInt *rowptr, const HrpbInt *colidx, Matrix *m, cudaStream_t stream, HrpbReordered *c)
{
  size_t bytes = 0;

  HrpbCall(HrpbAllocate(&c->rowptr, (int64_t)c->n + 1, stream));
  HrpbCall(HrpbAllocate(&c->colidx, c->nnz, stream));
  HrpbCall(HrpbAllocate(&c->entry, c->nnz, stream));
  HrpbCall(HrpbAllocate(&m->renamed, c->nnz, stream));
  HrpbCall(HrpbAllocate(&m->entry, c->nnz, stream));
  MeasureRows<<<HrpbGrid((int64_t)c->n + 1, HRPB_THREADS), HRPB_THREADS, 0, stream>>>(rowptr, c->order, c->n, c->rowptr);
  HrpbCallCuda(cudaGetLastError());
  HrpbCall(HrpbExclusiveSum(c->rowptr, (int64_t)c->n + 1, stream));
  RenameColumns<<<WarpGrid(c->n), HRPB_THREADS, 0, stream>>>(rowptr, colidx, *c, m->renamed, m->entry);
  HrpbCallCuda(cudaGetLastError());
  HrpbCallCuda(cub::DeviceSegmentedSort::SortPairs(NULL, bytes, m->renamed, c->colidx, m->entry, c->entry, c->nnz, (int64_t)c->n, c->rowptr, c->rowptr + 1, stream));
  HrpbCall(HrpbAllocate(&m->temporary, (int64_t)bytes, stream));
  HrpbCallCuda(cub::DeviceSegmentedSort::SortPairs(m->temporary, bytes, m->renamed, c->colidx, m->entry, c->entry, c->nnz, (int64_t)c->n, c->rowptr, c->rowptr + 1, stream));
  return HRPB_SUCCESS;
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
  HrpbCall(FreeSearch(&s, err, stream));
  err = MakeMatrix(rowptr, colidx, &m, stream, c);
  err = HrpbFree(m.renamed, err, stream);
  err = HrpbFree(m.entry, err, stream);
  HrpbCall(HrpbFree(m.temporary, err, stream));
  HrpbCallCuda(cudaStreamSynchronize(stream));
  return HRPB_SUCCESS;
}

HrpbError HrpbReorderDevice(int64_t n, const HrpbInt *rowptr, const HrpbInt *colidx, int32_t most_levels, HrpbStream stream, HrpbReordered *c)
{
  HrpbInt   first = 0, end = 0;
  HrpbError err;

  memset(c, 0, sizeof(*c));
  if (n < 0) return HRPB_ERR_CSR;
  if (n >= INT32_MAX) return HRPB_ERR_OVERFLOW;
  if (n == 0) return HRPB_ERR_UNSUPPORTED;
  HrpbCallCuda(cudaMemcpyAsync(&first, rowptr, sizeof(first), cudaMemcpyDeviceToHost, stream));
  HrpbCallCuda(cudaMemcpyAsync(&end, rowptr + n, sizeof(end), cudaMemcpyDeviceToHost, stream));
  HrpbCallCuda(cudaStreamSynchronize(stream));
  if (end - first > INT32_MAX) return HRPB_ERR_UNSUPPORTED;
  c->n   = (int32_t)n;
  c->nnz = end - first;
  err    = Reorder(rowptr, colidx, most_levels, stream, c);
  if (err) HrpbReorderDestroyDevice(c, stream);
  return err;
}

void HrpbReorderDestroyDevice(HrpbReordered *c, HrpbStream stream)
{
  void *arrays[] = {c->order, c->position, c->rowptr, c->colidx, c->entry};

  for (void *array : arrays) (void)HrpbFree(array, HRPB_SUCCESS, stream);
  memset(c, 0, sizeof(*c));
}

/* ---- Reordered rows of dense matrices ---- */

/* A few columns at a time, so that what a sector has for other rows is still at hand when these come */
static __global__ void __launch_bounds__(HRPB_THREADS) PermuteRows(const int32_t *index, int64_t n, int64_t N, const HrpbScalar *from, int64_t ldfrom, HrpbScalar *to, int64_t ldto)
{
  const int64_t k = (int64_t)blockIdx.x * HRPB_THREADS + threadIdx.x, column = (int64_t)blockIdx.y * PERMUTED;

  if (k >= n) return;
  const int64_t row = index[k];
  HrpbScalar    x[PERMUTED];

#pragma unroll
  for (int j = 0; j < PERMUTED; j++) {
    if (column + j < N) x[j] = from[row + (column + j) * ldfrom];
  }
#pragma unroll
  for (int j = 0; j < PERMUTED; j++) {
    if (column + j < N) to[k + (column + j) * ldto] = x[j];
  }
}

HrpbError HrpbPermuteRowsDevice(const int32_t *index, int64_t n, int64_t N, const HrpbScalar *from, int64_t ldfrom, HrpbScalar *to, int64_t ldto, HrpbStream stream)
{
  enum {
    MOST = 65535 * PERMUTED /* the most columns of a launch */
  };

  if (n == 0) return HRPB_SUCCESS;
  for (int64_t column = 0; column < N; column += MOST) {
    const int64_t columns = N - column < MOST ? N - column : MOST;

    PermuteRows<<<dim3(HrpbGrid(n, HRPB_THREADS), HrpbGrid(columns, PERMUTED)), HRPB_THREADS, 0, stream>>>(index, n, columns, from + column * ldfrom, ldfrom, to + column * ldto, ldto);
    HrpbCallCuda(cudaGetLastError());
  }
  return HRPB_SUCCESS;
}
