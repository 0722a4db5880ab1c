/*
   Matrices of whole blocks, as those of several unknowns at each node of a mesh are: their pattern node by node, and
   the values of a product block by block.

   The pattern of such a product is that of its nodes, which has as many entries as there are blocks. To add a product
   of two blocks, one place is sought for all of its numbers.

   A group of threads, a warp or a thread block, has a row of blocks of the result, with a table of its columns and a
   sum for each number. It takes one block of the row of A after the other. Each thread has other numbers of the
   products with the row of B. So each sum has the same order of terms every time.
*/
#include <algorithm>
#include <string.h>

#include "../common/cub.cuh"
#include "../common/launch.cuh"
#include "blocks.cuh"
#include "product.cuh"
#include "row.cuh"

enum {
  WARP_BYTES = 9 << 10, /* of a table that a warp may have */
  FEW_ROWS   = 2048,    /* of blocks: a thread block has each */
  SHIFT      = 16       /* of a quotient: numbers of a block are fewer than 1 << SHIFT / 2 */
};

/* Whether all rows of a block have the same columns, and these come in whole blocks. A warp has a row of blocks */
static __global__ void __launch_bounds__(HRPB_THREADS) CheckBlocks(const __grid_constant__ SparseMatrix A, int32_t rows, int32_t cols, uint32_t *broken)
{
  for (int64_t block = (int64_t)blockIdx.x * HRPB_WARPS + threadIdx.x / HRPB_LANES; block < A.nrows / rows; block += (int64_t)gridDim.x * HRPB_WARPS) {
    const HrpbInt first = A.rowptr[block * rows], n = A.rowptr[block * rows + 1] - first;
    bool          ok = n % cols == 0;

    for (int32_t r = 0; r < rows && ok; r++) {
      const HrpbInt begin = A.rowptr[block * rows + r];

      ok = A.rowptr[block * rows + r + 1] - begin == n;
      for (int64_t k = threadIdx.x % HRPB_LANES; k < n && ok; k += HRPB_LANES) {
        const HrpbInt column = A.colidx[begin + k];

        ok = column == A.colidx[first + k] && column % cols == k % cols && column / cols == A.colidx[first + k - k % cols] / cols;
      }
    }
    if (!ok) *broken = 1;
  }
}

static HrpbError AskBlocks(const SparseMatrix *A, int32_t rows, int32_t cols, uint32_t *broken, HrpbStream stream)
{
  uint32_t found;

  HrpbCallCuda(cudaMemsetAsync(broken, 0, sizeof(found), stream));
  HrpbCall(HrpbLaunch(CheckBlocks, HrpbGrid(A->nrows / rows, HRPB_WARPS), HRPB_THREADS, 0, stream, *A, rows, cols, broken));
  HrpbCall(HrpbBring(&found, broken, sizeof(found), stream));
  return found ? HRPB_ERR_UNSUPPORTED : HRPB_SUCCESS;
}

HrpbError SparseBlocksAreWhole(const SparseMatrix *A, int32_t rows, int32_t cols, HrpbStream stream)
{
  uint32_t *broken;

  if (A->nrows % rows || A->ncols % cols) return HRPB_ERR_UNSUPPORTED;
  HrpbCall(HrpbAllocate(&broken, 1, stream));
  return HrpbFree(broken, AskBlocks(A, rows, cols, broken, stream), stream);
}

/* A warp has a row of blocks */
static __global__ void __launch_bounds__(HRPB_THREADS) Nodes(const __grid_constant__ SparseMatrix A, int32_t rows, int32_t cols, HrpbInt *rowptr, HrpbInt *colidx)
{
  const int64_t nblocks = A.nrows / rows;

  for (int64_t block = (int64_t)blockIdx.x * HRPB_WARPS + threadIdx.x / HRPB_LANES; block <= nblocks; block += (int64_t)gridDim.x * HRPB_WARPS) {
    const int64_t first = A.rowptr[block * rows], to = first / rows / cols; /* rows of before have whole blocks */

    if (threadIdx.x % HRPB_LANES == 0) rowptr[block] = (HrpbInt)to;
    if (block == nblocks) break;
    const int64_t n = (A.rowptr[block * rows + 1] - first) / cols;

    for (int64_t k = threadIdx.x % HRPB_LANES; k < n; k += HRPB_LANES) colidx[to + k] = A.colidx[first + k * cols] / cols;
  }
}

HrpbError SparseBlocksCreate(const SparseMatrix *A, HrpbStream stream, SparseBlocks *b)
{
  SparseBlocks made = {A->brows, A->bcols, {}, {}};
  HrpbError    err;

  memset(b, 0, sizeof(*b));
  HrpbCall(SparseBlocksAreWhole(A, A->brows, A->bcols, stream));
  made.nodes.nrows = A->nrows / A->brows;
  made.nodes.ncols = A->ncols / A->bcols;
  made.nodes.nnz   = A->nnz / A->brows / A->bcols;
  HrpbCall(HrpbAllocate(&made.rowptr, made.nodes.nrows + 1 + made.nodes.nnz, stream));
  made.nodes.rowptr = made.rowptr;
  made.nodes.colidx = made.rowptr + made.nodes.nrows + 1;
  err = HrpbLaunch(Nodes, HrpbGrid(made.nodes.nrows + 1, HRPB_WARPS), HRPB_THREADS, 0, stream, *A, A->brows, A->bcols, made.rowptr, made.rowptr + made.nodes.nrows + 1);
  if (err) return SparseBlocksDestroy(&made, err, stream);
  *b = made;
  return HRPB_SUCCESS;
}

HrpbError SparseBlocksDestroy(SparseBlocks *b, HrpbError err, HrpbStream stream)
{
  err = HrpbFree(b->rowptr, err, stream);
  memset(b, 0, sizeof(*b));
  return err;
}

/* The matrix of these blocks. A warp has a row of it */
static __global__ void __launch_bounds__(HRPB_THREADS) Rows(int64_t nnodes, int32_t rows, int32_t cols, const HrpbInt *from, const HrpbInt *columns, HrpbInt *rowptr, HrpbInt *colidx)
{
  for (int64_t row = (int64_t)blockIdx.x * HRPB_WARPS + threadIdx.x / HRPB_LANES; row <= nnodes * rows; row += (int64_t)gridDim.x * HRPB_WARPS) {
    const int64_t node = row / rows, first = from[node];

    if (row == nnodes * rows) {
      if (threadIdx.x % HRPB_LANES == 0) rowptr[row] = (HrpbInt)(first * rows * cols);
      break;
    }
    const int64_t n = from[node + 1] - first, to = (first * rows + (row - node * rows) * n) * cols;

    if (threadIdx.x % HRPB_LANES == 0) rowptr[row] = (HrpbInt)to;
    for (int64_t k = threadIdx.x % HRPB_LANES; k < n * cols; k += HRPB_LANES) colidx[to + k] = columns[first + k / cols] * cols + (HrpbInt)(k % cols);
  }
}

HrpbError SparseBlocksToRows(const SparseProduct *nodes, int32_t rows, int32_t cols, HrpbStream stream, SparseProduct *p)
{
  const int64_t size = (int64_t)rows * cols;

  if (nodes->nrows * rows >= INT32_MAX || nodes->ncols * cols >= INT32_MAX || (sizeof(HrpbInt) == 4 && nodes->nnz > INT32_MAX / size)) return HRPB_ERR_OVERFLOW;
  p->nrows = nodes->nrows * rows;
  p->ncols = nodes->ncols * cols;
  p->nnz   = nodes->nnz * size;
  HrpbCall(HrpbAllocate(&p->rowptr, p->nrows + 1, stream));
  HrpbCall(HrpbAllocate(&p->colidx, p->nnz, stream));
  return HrpbLaunch(Rows, HrpbGrid(p->nrows + 1, HRPB_WARPS), HRPB_THREADS, 0, stream, nodes->nrows, rows, cols, nodes->rowptr, nodes->colidx, p->rowptr, p->colidx);
}

namespace {
struct FillArgs {
  SparseFactor   A, B;
  const HrpbInt *rowptr, *colidx; /* of the result's nodes */
  const int32_t *rows;            /* of it, n of them */
  int64_t        n;
  HrpbScalar    *values;
  int32_t        rb, cb, mb; /* rows and columns of a block of the result; columns of one of A */
  int32_t        bits;       /* of the table, or 0: the sums are where they will stay, and are found by bisection */
  uint32_t       bytes;      /* of a group's table */
};
} // namespace

static size_t TableBytes(int bits, int64_t size)
{
  return (sizeof(HrpbScalar) * (size_t)size * SparseMost(bits) + ((sizeof(int32_t) + sizeof(uint16_t)) << bits) + 15) / 16 * 16;
}

/* Which of n columns, in order, this one is */
static __device__ __forceinline__ uint32_t Bisect(const HrpbInt *columns, uint32_t n, HrpbInt column)
{
  uint32_t low = 0, high = n;

  while (low < high) {
    const uint32_t half = (low + high) / 2;

    if (columns[half] < column) low = half + 1;
    else high = half;
  }
  return low;
}

namespace {
/*
   Where numbers of a block are: by multiplications with 1 / columns and 1 / size. Such a quotient is right for rows
   that have a table; part is 0 for others
*/
struct Quotients {
  int32_t  mb, cb, size;
  uint32_t over;
  uint64_t part;

  __device__ int32_t RowOf(int32_t number) const { return (int32_t)((uint32_t)number * over >> SHIFT); }
  __device__ int32_t BlockOf(int32_t i) const { return part ? (int32_t)((uint32_t)i * part >> 32) : i / size; }
};

/* A block of A, and the row of B that it meets */
struct Pair {
  int64_t values_at;
  HrpbInt begin;
  int32_t length, across;
};

/* A number of the product of two blocks: what it is made of. With any MB it is made, and x has it */
template <int MB> struct Chunk {
  HrpbScalar x[MB ? MB : 1], y[MB ? MB : 1];
  HrpbInt    column;
  int32_t    number; /* of the block, or -1: the thread has none */

  __device__ __forceinline__ HrpbScalar Sum() const
  {
    HrpbScalar sum = MB ? 0 : x[0];

#pragma unroll
    for (int m = 0; m < MB; m++) sum += x[m] * y[m];
    return sum;
  }
};
} // namespace

/* Number i of the products of a block with a row of B. Beyond them it is none, and the last one is read in vain */
template <int MB>
static __device__ __forceinline__ void ReadChunk(const FillArgs &a, const Quotients &q, const Pair &p, int32_t i, Chunk<MB> *chunk)
{
  const int32_t           last = p.length * q.size - 1, own = min(i, last), l = q.BlockOf(own), rc = own - l * q.size, rr = q.RowOf(rc);
  const int32_t           next = a.A.map ? p.across : 1;
  const HrpbScalar *const x    = a.A.values + p.values_at + (a.A.map ? rr : rr * p.across);
  const HrpbScalar *const y    = a.B.values + ((int64_t)p.begin * q.mb + l) * q.cb + (rc - rr * q.cb);

  chunk->column = a.B.colidx[p.begin + l];
#pragma unroll
  for (int32_t m = 0; m < MB; m++) {
    chunk->x[m] = x[(int64_t)m * next];
    chunk->y[m] = y[(int64_t)m * p.length * q.cb];
  }
  if (!MB) {
    chunk->x[0] = 0;
    for (int32_t m = 0; m < q.mb; m++) chunk->x[0] += x[(int64_t)m * next] * y[(int64_t)m * p.length * q.cb];
  }
  if (i <= last) chunk->number = rc;
}

/* MB is mb, or 0 for any */
template <int MB, int THREADS> static __global__ void __launch_bounds__(HRPB_THREADS) FillBlocks(const __grid_constant__ FillArgs a)
{
  constexpr int CHUNKS = MB == 2 || MB == 3 ? 4 : 2; /* there are registers for no more */

  extern __shared__ __align__(16) uint8_t shared[];
  __shared__ int64_t                      values_at[HRPB_THREADS]; /* of A's blocks */
  __shared__ HrpbInt                      begins[HRPB_THREADS];    /* of B's rows, in blocks */
  __shared__ uint32_t                     lengths[HRPB_THREADS];
  __shared__ int32_t                      across[HRPB_THREADS]; /* from one row of A's block to the next, or column */
  const int32_t                           group = threadIdx.x / THREADS, thread = threadIdx.x % THREADS, mb = MB ? MB : a.mb, cb = a.cb, size = a.rb * cb;
  const Quotients                         q      = {mb, cb, size, ((1u << SHIFT) + (uint32_t)cb - 1) / (uint32_t)cb,
                                                    a.bits ? (((uint64_t)1 << 32) + (uint64_t)size - 1) / (uint64_t)size : 0};
  HrpbScalar *const                       sums   = (HrpbScalar *)(shared + (size_t)group * a.bytes);
  int32_t *const                          keys   = (int32_t *)(sums + (a.bits ? (size_t)size * SparseMost(a.bits) : 0));
  uint16_t *const                         places = (uint16_t *)(keys + ((size_t)1 << a.bits));
  const int64_t                           r      = (int64_t)blockIdx.x * (HRPB_THREADS / THREADS) + group;

  if (r >= a.n) return; /* the whole group */
  const int64_t     row = a.rows[r], to = a.rowptr[row], end = a.A.rowptr[row + 1];
  const int32_t     n   = (int32_t)(a.rowptr[row + 1] - to), numbers = n * size, width = n * cb;
  HrpbScalar *const out = a.values + to * size;

  if (a.bits) {
    SparseClear<THREADS>(keys, a.bits);
    for (int32_t i = thread; i < numbers; i += THREADS) sums[i] = 0;
    SparseSync<THREADS>();
    for (int32_t k = thread; k < n; k += THREADS) (void)SparseInsert(keys, a.bits, (int32_t)a.colidx[to + k]);
    SparseSync<THREADS>();
    for (int32_t k = thread; k < n; k += THREADS) places[SparseFind(keys, a.bits, (int32_t)a.colidx[to + k])] = (uint16_t)k;
  } else {
    for (int32_t i = thread; i < numbers; i += THREADS) out[i] = 0;
  }
  for (int64_t first = a.A.rowptr[row]; first < end; first += THREADS) {
    const int32_t count = (int32_t)(end - first < THREADS ? end - first : THREADS), at = group * THREADS;

    SparseSync<THREADS>();
    if (thread < count) {
      const HrpbInt middle = a.A.colidx[first + thread];

      begins[at + thread]  = a.B.rowptr[middle];
      lengths[at + thread] = (uint32_t)(a.B.rowptr[middle + 1] - a.B.rowptr[middle]);
      if (a.A.map) { /* the transpose of this block, which is in row `middle` of the matrix */
        const int64_t begin = a.A.from[middle], blocks = a.A.from[middle + 1] - begin;

        values_at[at + thread] = begin * mb * a.rb + (a.A.map[first + thread] - begin) * a.rb;
        across[at + thread]    = (int32_t)blocks * a.rb;
      } else {
        const int64_t begin = a.A.rowptr[row];

        values_at[at + thread] = begin * mb * a.rb + (first + thread - begin) * mb;
        across[at + thread]    = (int32_t)(end - begin) * mb;
      }
    }
    SparseSync<THREADS>();
    /* What a few chunks read is on its way together. A chunk is as many numbers of a row of B as there are threads */
    for (int32_t e = 0, i = thread; e < count;) {
      Chunk<MB> chunk[CHUNKS];
      bool      last[CHUNKS]; /* of the row of B */

#pragma unroll
      for (int u = 0; u < CHUNKS; u++) {
        while (e < count && lengths[at + e] == 0) e++;
        chunk[u].number = -1;
        last[u]         = false;
        if (e < count) {
          ReadChunk<MB>(a, q, {values_at[at + e], begins[at + e], (int32_t)lengths[at + e], across[at + e]}, i, &chunk[u]);
          i += THREADS;
          last[u] = i - thread >= (int32_t)lengths[at + e] * q.size;
          if (last[u]) e++, i = thread;
        }
      }
#pragma unroll
      for (int u = 0; u < CHUNKS; u++) {
        const HrpbScalar sum = chunk[u].Sum();
        const int32_t    number = chunk[u].number, rr = q.RowOf(number);

        if (number >= 0 && a.bits) sums[(int32_t)places[SparseFind(keys, a.bits, (int32_t)chunk[u].column)] * q.size + number] += sum;
        else if (number >= 0) out[rr * width + (int32_t)Bisect(a.colidx + to, (uint32_t)n, chunk[u].column) * cb + number - rr * cb] += sum;
        if (last[u]) SparseSync<THREADS>();
      }
    }
  }
  if (!a.bits) return;
  SparseSync<THREADS>();
  for (int32_t i = thread; i < numbers; i += THREADS) {
    const int32_t rr = i / width, k = i - rr * width, place = (int32_t)((uint32_t)k / (uint32_t)cb);

    out[i] = sums[place * size + rr * cb + (k - place * cb)];
  }
}

template <int MB, int THREADS> static HrpbError Launch(const FillArgs *a, HrpbStream stream)
{
  constexpr int groups = HRPB_THREADS / THREADS;

  HrpbCall(SparseShared(FillBlocks<MB, THREADS>, (size_t)groups * a->bytes));
  return HrpbLaunch(FillBlocks<MB, THREADS>, HrpbGrid(a->n, groups), HRPB_THREADS, (size_t)groups * a->bytes, stream, *a);
}

template <int THREADS> static HrpbError LaunchSize(const FillArgs *a, HrpbStream stream)
{
  switch (a->mb) {
  case 2:
    return Launch<2, THREADS>(a, stream);
  case 3:
    return Launch<3, THREADS>(a, stream);
  case 6:
    return Launch<6, THREADS>(a, stream);
  default:
    return Launch<0, THREADS>(a, stream);
  }
}

HrpbError SparseBlocksFill(const SparseProduct *nodes, const SparseFactor *A, const SparseFactor *B, int32_t rb, int32_t mb, int32_t cb, HrpbScalar *values, HrpbStream stream)
{
  const SpmmDevice *device;

  HrpbCall(SpmmGetDevice(&device));
  for (int bin = 0; bin < SPARSE_BINS; bin++) {
    FillArgs     a     = {*A, *B, nodes->rowptr, nodes->colidx, nodes->rows + nodes->begin[bin], nodes->begin[bin + 1] - nodes->begin[bin], values, rb, cb, mb, 0, 0};
    const int    bits  = bin < SPARSE_BINS - 1 ? SparseBinBits(bin) : 0;
    const size_t bytes = bits ? TableBytes(bits, (int64_t)rb * cb) : 0;

    if (a.n == 0) continue;
    if (bits && SparseFits(device, bytes + 8192)) { /* a table, beside what threads share */
      a.bits  = bits;
      a.bytes = (uint32_t)bytes;
    }
    if (a.bits && bytes <= WARP_BYTES && a.n >= FEW_ROWS && SparseFits(device, HRPB_WARPS * bytes + 8192)) HrpbCall(LaunchSize<HRPB_LANES>(&a, stream));
    else HrpbCall(LaunchSize<HRPB_THREADS>(&a, stream));
  }
  return HRPB_SUCCESS;
}
