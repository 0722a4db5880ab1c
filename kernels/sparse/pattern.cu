/*
   The pattern of a product: lengths of rows, then their columns.

   Columns of a row are put into a hash table. A row is tried with a table that would do if each column came four
   times, and goes on to the next larger one if it does not. Where no table is large enough, each column has a bit in
   global memory.

   Rows of A that have the columns of the row before them, as those of several unknowns at a node of a mesh have, have
   the same row of the product: it is made once, and copied.
*/
#include <string.h>

#include "../common/cub.cuh"
#include "product.cuh"
#include "row.cuh"

#include <cub/device/device_radix_sort.cuh>

namespace {
/* log2 of the places of a table, and whether each warp has one */
struct Shape {
  int  bits;
  bool warps;
};

/* Numbers that come to the host */
struct Numbers {
  unsigned long long sum;                   /* of multiplications, or of entries */
  uint32_t           bin[SPARSE_BINS + 1];  /* rows of each, and those without entries */
  uint32_t           again;                 /* rows that go on to a larger table */
};
} // namespace

enum {
  LEVELS       = 4,
  EXPECTED     = 4,        /* how often a column is expected to come */
  BITMAP_BYTES = 64 << 20, /* for all thread blocks that count long rows */
  LONG_THREADS = 512,
  LONG_BLOCKS  = 264,
  MOST_SAME    = 32 /* rows that may be copies of one */
};

static_assert((int)SPARSE_BINS > (int)LEVELS, "a bin for each level, and one for rows beyond all tables");

static const Shape levels[LEVELS] = {{9, true}, {11, true}, {13, false}, {15, false}};

/* The first table of n that has room for so many columns, or n */
template <typename F> static __device__ __forceinline__ int Smallest(int n, uint64_t columns, F bits)
{
  int i = 0;

  while (i < n && columns > SparseMost(bits(i))) i++;
  return i;
}

static __device__ __forceinline__ void CountBin(Numbers *numbers, int bin, unsigned long long x)
{
  atomicAdd(&numbers->bin[bin], 1u);
  atomicAdd(&numbers->sum, x);
}

/* Whether each row has the columns of the row before. A warp has a row */
static __global__ void __launch_bounds__(HRPB_THREADS) Compare(const __grid_constant__ SparseMatrix A, uint8_t *same)
{
  for (int64_t row = (int64_t)blockIdx.x * HRPB_WARPS + threadIdx.x / HRPB_LANES; row < A.nrows; row += (int64_t)gridDim.x * HRPB_WARPS) {
    const HrpbInt begin = A.rowptr[row], n = A.rowptr[row + 1] - begin, before = row % MOST_SAME ? A.rowptr[row - 1] : begin;
    bool          is = row % MOST_SAME && begin - before == n;

    for (int64_t k = threadIdx.x % HRPB_LANES; k < n && is; k += HRPB_LANES) is = A.colidx[begin + k] == A.colidx[before + k];
    is = !__any_sync(HRPB_ALL_LANES, !is);
    if (threadIdx.x % HRPB_LANES == 0) same[row] = is;
  }
}

/* The row of which a row is a copy, or the row itself */
static __device__ __forceinline__ int64_t Original(const uint8_t *same, int64_t row)
{
  while (same[row]) row--;
  return row;
}

/* The level at which each row begins. A warp has a row */
static __global__ void __launch_bounds__(HRPB_THREADS) Bounds(const __grid_constant__ SparseMatrix A, const __grid_constant__ SparseMatrix B, const uint8_t *same, uint8_t *key, int32_t *row_of, uint32_t *length, Numbers *numbers)
{
  __shared__ Numbers mine;

  if (threadIdx.x < sizeof(mine) / 4) ((uint32_t *)&mine)[threadIdx.x] = 0;
  __syncthreads();
  for (int64_t row = (int64_t)blockIdx.x * HRPB_WARPS + threadIdx.x / HRPB_LANES; row < A.nrows; row += (int64_t)gridDim.x * HRPB_WARPS) {
    unsigned long long sum = 0;

    if (same[row]) {
      if (threadIdx.x % HRPB_LANES == 0) {
        key[row]    = SPARSE_BINS;
        row_of[row] = (int32_t)row;
      }
      continue;
    }
    for (int64_t k = A.rowptr[row] + threadIdx.x % HRPB_LANES; k < A.rowptr[row + 1]; k += HRPB_LANES) sum += (unsigned long long)(B.rowptr[A.colidx[k] + 1] - B.rowptr[A.colidx[k]]);
    sum = HrpbSumOfLanes(sum);
    if (threadIdx.x % HRPB_LANES == 0) {
      const uint64_t most = sum < (uint64_t)B.ncols ? sum : (uint64_t)B.ncols;
      const int      bin  = sum ? Smallest(LEVELS, (most + EXPECTED - 1) / EXPECTED, [](int i) { return 9 + 2 * i; }) : SPARSE_BINS;

      key[row]    = (uint8_t)bin;
      row_of[row] = (int32_t)row;
      length[row] = 0;
      for (int64_t copies = row + 1; copies < A.nrows && same[copies]; copies++) atomicAdd(&mine.sum, sum);
      CountBin(&mine, bin, sum);
    }
  }
  __syncthreads();
  if (threadIdx.x <= SPARSE_BINS && mine.bin[threadIdx.x]) atomicAdd(&numbers->bin[threadIdx.x], mine.bin[threadIdx.x]);
  if (threadIdx.x == 0 && mine.sum) atomicAdd(&numbers->sum, mine.sum);
}

/* The bin of each row by its length. With `same`: only of rows that are no copies, which have the length of theirs */
static __global__ void __launch_bounds__(HRPB_THREADS) Lengths(int64_t nrows, const uint8_t *same, const uint32_t *length, uint8_t *key, int32_t *row_of, HrpbInt *rowptr, Numbers *numbers)
{
  __shared__ Numbers mine;

  if (threadIdx.x < sizeof(mine) / 4) ((uint32_t *)&mine)[threadIdx.x] = 0;
  __syncthreads();
  for (int64_t row = (int64_t)blockIdx.x * HRPB_THREADS + threadIdx.x; row < nrows; row += (int64_t)gridDim.x * HRPB_THREADS) {
    const uint32_t n   = same ? length[Original(same, row)] : (uint32_t)(rowptr[row + 1] - rowptr[row]);
    const int      bin = n && !(same && same[row]) ? Smallest(SPARSE_BINS - 1, n, [](int i) { return SparseBinBits(i); }) : SPARSE_BINS;

    key[row]    = (uint8_t)bin;
    row_of[row] = (int32_t)row;
    if (same) rowptr[row] = (HrpbInt)n;
    CountBin(&mine, bin, n);
  }
  if (same && blockIdx.x == 0 && threadIdx.x == 0) rowptr[nrows] = 0;
  __syncthreads();
  if (threadIdx.x <= SPARSE_BINS && mine.bin[threadIdx.x]) atomicAdd(&numbers->bin[threadIdx.x], mine.bin[threadIdx.x]);
  if (threadIdx.x == 0 && mine.sum) atomicAdd(&numbers->sum, mine.sum);
}

/* Lengths of rows with tables, a group for each. Rows that a table has no room for are listed */
template <int THREADS>
static __global__ void __launch_bounds__(HRPB_THREADS) Count(const __grid_constant__ SparseMatrix A, const __grid_constant__ SparseMatrix B, const int32_t *rows, int64_t n, int bits, int lanes, uint32_t *length, int32_t *again, Numbers *numbers)
{
  extern __shared__ __align__(16) int32_t tables[];
  __shared__ uint32_t                     counts[HRPB_THREADS / HRPB_LANES];
  const int                               group  = threadIdx.x / THREADS;
  int32_t                                *keys   = tables + ((size_t)group << bits);
  volatile uint32_t                      *count  = &counts[group];
  const int64_t                           r      = (int64_t)blockIdx.x * (HRPB_THREADS / THREADS) + group;

  if (r >= n) return; /* the whole group */
  SparseClear<THREADS>(keys, bits);
  if (threadIdx.x % THREADS == 0) *count = 0;
  SparseSync<THREADS>();
  SparseColumns<THREADS>(A, B, rows[r], lanes, [=](int32_t column) {
    if (*count <= SparseMost(bits) && SparseInsert(keys, bits, column)) atomicAdd((uint32_t *)count, 1u);
  });
  SparseSync<THREADS>();
  if (threadIdx.x % THREADS) return;
  if (*count <= SparseMost(bits)) length[rows[r]] = *count;
  else again[atomicAdd(&numbers->again, 1u)] = rows[r];
}

/* The columns of rows, in order */
template <int THREADS>
static __global__ void __launch_bounds__(HRPB_THREADS) Columns(const __grid_constant__ SparseMatrix A, const __grid_constant__ SparseMatrix B, const int32_t *rows, int64_t n, int bits, int lanes, const HrpbInt *rowptr, HrpbInt *colidx)
{
  extern __shared__ __align__(16) int32_t tables[];
  const int                               group = threadIdx.x / THREADS;
  int32_t                                *keys  = tables + ((size_t)group << bits);
  const int64_t                           r     = (int64_t)blockIdx.x * (HRPB_THREADS / THREADS) + group;

  if (r >= n) return;
  SparseClear<THREADS>(keys, bits);
  SparseSync<THREADS>();
  SparseColumns<THREADS>(A, B, rows[r], lanes, [=](int32_t column) { (void)SparseInsert(keys, bits, column); });
  SparseSort<THREADS>(keys, bits);
  for (int64_t k = rowptr[rows[r]] + threadIdx.x % THREADS, first = rowptr[rows[r]]; k < rowptr[rows[r] + 1]; k += THREADS) colidx[k] = keys[k - first];
}

/* Copies of rows. A warp has a row */
static __global__ void __launch_bounds__(HRPB_THREADS) CopyRows(int64_t nrows, const uint8_t *same, const HrpbInt *rowptr, HrpbInt *colidx)
{
  for (int64_t row = (int64_t)blockIdx.x * HRPB_WARPS + threadIdx.x / HRPB_LANES; row < nrows; row += (int64_t)gridDim.x * HRPB_WARPS) {
    if (!same[row]) continue;
    const int64_t from = rowptr[Original(same, row)], to = rowptr[row];

    for (int64_t k = threadIdx.x % HRPB_LANES; k < rowptr[row + 1] - to; k += HRPB_LANES) colidx[to + k] = colidx[from + k];
  }
}

/*
   Long rows, with a bit for each column: a thread block has words of them. Without colidx their lengths are counted,
   with it their columns are listed: each thread has words that follow each other
*/
static __global__ void __launch_bounds__(LONG_THREADS) LongRows(const __grid_constant__ SparseMatrix A, const __grid_constant__ SparseMatrix B, const int32_t *rows, int64_t n, int lanes, int64_t words, uint32_t *bitmaps, uint32_t *length, const HrpbInt *rowptr, HrpbInt *colidx)
{
  __shared__ uint32_t sums[LONG_THREADS];
  uint32_t           *bits = bitmaps + (size_t)blockIdx.x * (size_t)words;
  const int64_t       share = (words + LONG_THREADS - 1) / LONG_THREADS, first = threadIdx.x * share, end = first + share < words ? first + share : words;

  for (int64_t r = blockIdx.x; r < n; r += gridDim.x) {
    uint32_t sum = 0;

    for (int64_t w = threadIdx.x; w < words; w += LONG_THREADS) bits[w] = 0;
    __syncthreads();
    SparseColumns<LONG_THREADS>(A, B, rows[r], lanes, [=](int32_t column) {
      if (!(((volatile uint32_t *)bits)[column / 32] >> column % 32 & 1)) atomicOr(&bits[column / 32], 1u << column % 32);
    });
    __syncthreads();
    for (int64_t w = first; w < end; w++) sum += (uint32_t)__popc(((volatile uint32_t *)bits)[w]);
    sums[threadIdx.x] = sum;
    __syncthreads();
    for (int distance = 1; distance < LONG_THREADS; distance *= 2) { /* sums of all threads up to each */
      const uint32_t before = (int)threadIdx.x >= distance ? sums[threadIdx.x - distance] : 0;

      __syncthreads();
      sums[threadIdx.x] += before;
      __syncthreads();
    }
    if (!colidx && threadIdx.x == 0) length[rows[r]] = sums[LONG_THREADS - 1];
    if (colidx) {
      HrpbInt *to = colidx + rowptr[rows[r]] + (sums[threadIdx.x] - sum);

      for (int64_t w = first; w < end; w++) {
        for (uint32_t word = ((volatile uint32_t *)bits)[w]; word; word &= word - 1) *to++ = (HrpbInt)(32 * w + __ffs((int)word) - 1);
      }
    }
    __syncthreads();
  }
}

/* Shared memory of a thread block whose groups have a table each */
static size_t TableBytes(int bits, bool warps)
{
  return (sizeof(int32_t) << bits) * (warps ? HRPB_WARPS : 1);
}

static HrpbError RunLong(const SparseMatrix *A, const SparseMatrix *B, const int32_t *rows, int64_t n, int lanes, uint32_t *length, const HrpbInt *rowptr, HrpbInt *colidx, HrpbStream stream)
{
  const int64_t words = (B->ncols + 31) / 32, room = BITMAP_BYTES / 4 / words;
  const int64_t most  = room < 1 ? 1 : room < LONG_BLOCKS ? room : LONG_BLOCKS;
  uint32_t     *bitmaps;

  if (n == 0) return HRPB_SUCCESS;
  HrpbCall(HrpbAllocate(&bitmaps, words * (n < most ? n : most), stream));
  return HrpbFree(bitmaps, HrpbLaunch(LongRows, HrpbGrid(n, 1, most), LONG_THREADS, 0, stream, *A, *B, rows, n, lanes, words, bitmaps, length, rowptr, colidx), stream);
}

static HrpbError RunCount(const SparseMatrix *A, const SparseMatrix *B, const int32_t *rows, int64_t n, int level, int lanes, uint32_t *length, int32_t *again, Numbers *numbers, HrpbStream stream)
{
  const int    bits   = levels[level].bits;
  const size_t shared = TableBytes(bits, levels[level].warps);

  if (n == 0) return HRPB_SUCCESS;
  if (levels[level].warps) {
    HrpbCall(SparseShared(Count<HRPB_LANES>, shared));
    HrpbCall(HrpbLaunch(Count<HRPB_LANES>, HrpbGrid(n, HRPB_WARPS), HRPB_THREADS, shared, stream, *A, *B, rows, n, bits, lanes, length, again, numbers));
  } else {
    HrpbCall(SparseShared(Count<HRPB_THREADS>, shared));
    HrpbCall(HrpbLaunch(Count<HRPB_THREADS>, HrpbGrid(n, 1), HRPB_THREADS, shared, stream, *A, *B, rows, n, bits, lanes, length, again, numbers));
  }
  return HRPB_SUCCESS;
}

static HrpbError RunColumns(const SparseMatrix *A, const SparseMatrix *B, const SparseProduct *p, const int32_t *rows, int64_t n, int bin, HrpbStream stream)
{
  const int    bits   = SparseBinBits(bin);
  const size_t shared = TableBytes(bits, SparseBinIsWarps(bin));

  if (n == 0) return HRPB_SUCCESS;
  if (SparseBinIsWarps(bin)) {
    HrpbCall(SparseShared(Columns<HRPB_LANES>, shared));
    HrpbCall(HrpbLaunch(Columns<HRPB_LANES>, HrpbGrid(n, HRPB_WARPS), HRPB_THREADS, shared, stream, *A, *B, rows, n, bits, p->lanes, p->rowptr, p->colidx));
  } else {
    HrpbCall(SparseShared(Columns<HRPB_THREADS>, shared));
    HrpbCall(HrpbLaunch(Columns<HRPB_THREADS>, HrpbGrid(n, 1), HRPB_THREADS, shared, stream, *A, *B, rows, n, bits, p->lanes, p->rowptr, p->colidx));
  }
  return HRPB_SUCCESS;
}

namespace {
/* What lives only while a pattern is made. One allocation, which `length` begins */
struct Work {
  uint32_t *length;         /* [nrows] */
  uint8_t  *key, *sorted, *same; /* [nrows] */
  int32_t  *row_of, *rows;  /* [nrows] */
  int32_t  *again[2];       /* [nrows] */
  Numbers  *numbers;
};
} // namespace

/* Sort rows by their bins, in each as they are, and bring what was counted */
static HrpbError SortRows(const Work *w, int64_t nrows, int32_t *rows, int64_t begin[SPARSE_BINS + 1], int64_t *sum, HrpbStream stream)
{
  Numbers numbers;

  HrpbCall(HrpbCallCub([=](void *memory, size_t &bytes) { return cub::DeviceRadixSort::SortPairs(memory, bytes, w->key, w->sorted, w->row_of, rows, (int)nrows, 0, 4, stream); }, stream));
  HrpbCall(HrpbBring(&numbers, w->numbers, sizeof(numbers), stream));
  begin[0] = 0;
  for (int i = 0; i < SPARSE_BINS; i++) begin[i + 1] = begin[i] + numbers.bin[i];
  *sum = (int64_t)numbers.sum;
  return HRPB_SUCCESS;
}

/* Lengths of all rows that are no copies */
static HrpbError CountAll(const SparseMatrix *A, const SparseMatrix *B, const Work *w, SparseProduct *p, HrpbStream stream)
{
  const SpmmDevice *device;
  int64_t           begin[SPARSE_BINS + 1], nagain = 0;
  int               level = 0;

  HrpbCall(SpmmGetDevice(&device));
  HrpbCallCuda(cudaMemsetAsync(w->numbers, 0, sizeof(Numbers), stream));
  HrpbCall(HrpbLaunch(Compare, HrpbGrid(A->nrows, HRPB_WARPS), HRPB_THREADS, 0, stream, *A, w->same));
  HrpbCall(HrpbLaunch(Bounds, HrpbGrid(A->nrows, HRPB_WARPS), HRPB_THREADS, 0, stream, *A, *B, w->same, w->key, w->row_of, w->length, w->numbers));
  HrpbCall(SortRows(w, A->nrows, w->rows, begin, &p->multiplications, stream));
  for (; level < LEVELS && SparseFits(device, TableBytes(levels[level].bits, levels[level].warps)); level++) {
    const int32_t *before = w->again[level % 2];
    int32_t       *again  = w->again[1 - level % 2];
    uint32_t       more;

    HrpbCallCuda(cudaMemsetAsync(&w->numbers->again, 0, sizeof(more), stream));
    HrpbCall(RunCount(A, B, w->rows + begin[level], begin[level + 1] - begin[level], level, p->lanes, w->length, again, w->numbers, stream));
    HrpbCall(RunCount(A, B, before, nagain, level, p->lanes, w->length, again, w->numbers, stream));
    if (nagain + begin[level + 1] - begin[level] == 0) continue;
    HrpbCall(HrpbBring(&more, &w->numbers->again, sizeof(more), stream));
    nagain = more;
  }
  HrpbCall(RunLong(A, B, w->again[level % 2], nagain, p->lanes, w->length, NULL, NULL, stream));
  return RunLong(A, B, w->rows + begin[level], begin[LEVELS + 1] - begin[level], p->lanes, w->length, NULL, NULL, stream);
}

/* The pattern. What is allocated in p is the caller's to release */
static HrpbError MakePattern(const SparseMatrix *A, const SparseMatrix *B, const Work *w, SparseProduct *p, HrpbStream stream)
{
  const SpmmDevice *device;
  int64_t           begin[SPARSE_BINS + 1], unused;

  HrpbCall(SpmmGetDevice(&device));
  HrpbCall(CountAll(A, B, w, p, stream));
  HrpbCallCuda(cudaMemsetAsync(w->numbers, 0, sizeof(Numbers), stream));
  HrpbCall(HrpbLaunch(Lengths, HrpbGrid(A->nrows, HRPB_THREADS), HRPB_THREADS, 0, stream, A->nrows, w->same, w->length, w->key, w->row_of, p->rowptr, w->numbers));
  HrpbCall(SortRows(w, A->nrows, w->rows, begin, &p->nnz, stream));
  if (sizeof(HrpbInt) == 4 && p->nnz > INT32_MAX) return HRPB_ERR_OVERFLOW;
  HrpbCall(HrpbExclusiveSum(p->rowptr, A->nrows + 1, stream));
  HrpbCall(HrpbAllocate(&p->colidx, p->nnz, stream));
  for (int bin = 0; bin < SPARSE_BINS; bin++) {
    const int32_t *rows = w->rows + begin[bin];
    const int64_t  n    = begin[bin + 1] - begin[bin];

    if (bin < SPARSE_BINS - 1 && SparseFits(device, TableBytes(SparseBinBits(bin), SparseBinIsWarps(bin)))) HrpbCall(RunColumns(A, B, p, rows, n, bin, stream));
    else HrpbCall(RunLong(A, B, rows, n, p->lanes, NULL, p->rowptr, p->colidx, stream));
  }
  HrpbCall(HrpbLaunch(CopyRows, HrpbGrid(A->nrows, HRPB_WARPS), HRPB_THREADS, 0, stream, A->nrows, w->same, p->rowptr, p->colidx));
  HrpbCallCuda(cudaMemsetAsync(w->numbers, 0, sizeof(Numbers), stream));
  HrpbCall(HrpbLaunch(Lengths, HrpbGrid(A->nrows, HRPB_THREADS), HRPB_THREADS, 0, stream, A->nrows, NULL, NULL, w->key, w->row_of, p->rowptr, w->numbers));
  return SortRows(w, A->nrows, p->rows, p->begin, &unused, stream);
}

/* As many lanes for a row of B as it has entries, or up to twice that */
static int LanesFor(const SparseMatrix *B)
{
  int lanes = 0;

  while (lanes < 5 && ((int64_t)1 << lanes) * B->nrows < B->nnz) lanes++;
  return lanes;
}

HrpbError SparseProductCreate(const SparseMatrix *A, const SparseMatrix *B, HrpbStream stream, SparseProduct *p)
{
  SparseProduct made = {};
  Work          w    = {};
  HrpbError     err;

  *p         = made;
  made.nrows = A->nrows;
  made.ncols = B->ncols;
  made.lanes = LanesFor(B);
  if (A->nrows >= INT32_MAX || B->ncols >= INT32_MAX) return HRPB_ERR_OVERFLOW;
  HrpbCall(CheckKernels());
  HrpbCall(HrpbAllocate(&made.rowptr, A->nrows + 1, stream));
  err = HrpbAllocate(&made.rows, A->nrows, stream);
  if (!err && (A->nrows == 0 || A->nnz == 0 || B->nnz == 0)) {
    const cudaError_t cuda = cudaMemsetAsync(made.rowptr, 0, sizeof(HrpbInt) * (size_t)(A->nrows + 1), stream);

    if (cuda != cudaSuccess) err = HrpbDeviceError(cuda);
    if (!err) err = HrpbAllocate(&made.colidx, 0, stream);
  } else {
    if (!err) err = HrpbAllocateTogether(stream, &w.length, A->nrows, &w.key, A->nrows, &w.sorted, A->nrows, &w.same, A->nrows, &w.row_of, A->nrows, &w.rows, A->nrows, &w.again[0], A->nrows, &w.again[1], A->nrows, &w.numbers, (int64_t)1);
    if (!err) err = MakePattern(A, B, &w, &made, stream);
    err = HrpbFree(w.length, err, stream);
  }
  if (err) return SparseProductDestroy(&made, err, stream);
  *p = made;
  return HRPB_SUCCESS;
}

HrpbError SparseProductDestroy(SparseProduct *p, HrpbError err, HrpbStream stream)
{
  err = HrpbFree(p->rowptr, err, stream);
  err = HrpbFree(p->colidx, err, stream);
  err = HrpbFree(p->rows, err, stream);
  memset(p, 0, sizeof(*p));
  return err;
}
