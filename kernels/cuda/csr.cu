/*
   CSR times a row-major copy of B.

   A group of lanes has a row of A, or a part of one that is cut; neighbouring groups of a warp have neighbouring rows, so that what they store is whole sectors of column-major C.
   The lanes of a group read the entries together, hand them round, and have a few columns of B each. What limits the kernel is the latency of scattered rows of B:
   U of them are on their way for each group, and the next entries with them.
*/
#include <string.h>

#include <cub/device/device_scan.cuh>

#include "../csrdevice.h"
#include "rowmajor.cuh"

enum {
  CSR_THREADS   = 128,
  CSR_CHUNK     = 8,  /* entries that a group reads at a time */
  LEAST_PART    = 64, /* entries of a part: at least, */
  MOST_PART     = 256, /* and at most: a sum of more would be slow and inexact */
  COMBINE_LANES = 8   /* that put the sums of the parts of a row together */
};

/* Part of a row that is cut; its sum has the slot of the same number */
struct CsrPart {
  HrpbInt begin;
  int32_t length;
};

/* A row that is cut: its parts are first, first + 1, ... */
struct CsrLongRow {
  int32_t row, first, nparts;
};

/* Two numbers in one, so that one scan sums both: rows that are cut before a row, and their parts. A device has no memory for the 2^37 entries that 2^32 parts take */
static __host__ __device__ inline uint64_t Pack(uint32_t nlong, uint32_t nparts)
{
  return (uint64_t)nlong << 32 | nparts;
}

static __host__ __device__ inline void Unpack(uint64_t packed, int32_t *nlong, int32_t *nparts)
{
  *nlong  = (int32_t)(packed >> 32);
  *nparts = (int32_t)(packed & 0xffffffffu);
}

static __global__ void __launch_bounds__(HRPB_THREADS) CountParts(const HrpbInt *rowptr, int32_t nrows, int32_t part_entries, uint64_t *count)
{
  for (int64_t row = (int64_t)blockIdx.x * HRPB_THREADS + threadIdx.x; row <= nrows; row += (int64_t)gridDim.x * HRPB_THREADS) {
    const int64_t length = row < nrows ? rowptr[row + 1] - rowptr[row] : 0;

    count[row] = length > part_entries ? Pack(1, (uint32_t)((length + part_entries - 1) / part_entries)) : 0;
  }
}

/* start is the scanned count */
static __global__ void __launch_bounds__(HRPB_THREADS) ListLongRows(const uint64_t *start, int32_t nrows, CsrLongRow *rows)
{
  for (int64_t row = (int64_t)blockIdx.x * HRPB_THREADS + threadIdx.x; row < nrows; row += (int64_t)gridDim.x * HRPB_THREADS) {
    int32_t at, first, next, end;

    Unpack(start[row], &at, &first);
    Unpack(start[row + 1], &next, &end);
    if (next > at) rows[at] = {(int32_t)row, first, end - first};
  }
}

static __global__ void __launch_bounds__(HRPB_THREADS) ListParts(const HrpbInt *rowptr, const CsrLongRow *rows, int32_t nlong, int32_t part_entries, CsrPart *parts)
{
  for (int32_t i = blockIdx.x; i < nlong; i += gridDim.x) {
    const CsrLongRow r = rows[i];

    for (int32_t k = threadIdx.x; k < r.nparts; k += HRPB_THREADS) {
      const HrpbInt begin = rowptr[r.row] + (HrpbInt)k * part_entries, left = rowptr[r.row + 1] - begin;

      parts[r.first + k] = {begin, (int32_t)(left < part_entries ? left : part_entries)};
    }
  }
}

/*
   Rows several times as long as the mean would keep a warp busy when all others are done. A power of two, so that a few more entries somewhere
   seldom move it
*/
static int32_t PartEntries(int64_t nrows, int64_t nnz)
{
  int32_t entries = LEAST_PART;

  while (entries < MOST_PART && entries < 4 * (nnz / nrows)) entries *= 2;
  return entries;
}

static HrpbError Schedule(const HrpbInt *rowptr, uint64_t *count, void *scan, size_t scan_bytes, cudaStream_t stream, CsrSchedule *s)
{
  const int64_t n = (int64_t)s->nrows + 1;
  uint64_t      total;
  CsrLongRow   *rows;
  CsrPart      *parts;

  CountParts<<<HrpbGrid(n, HRPB_THREADS), HRPB_THREADS, 0, stream>>>(rowptr, s->nrows, s->part_entries, count);
  HrpbCallCuda(cudaGetLastError());
  HrpbCallCuda(cub::DeviceScan::ExclusiveSum(scan, scan_bytes, count, count, n, stream));
  HrpbCallCuda(cudaMemcpyAsync(&total, count + s->nrows, sizeof(total), cudaMemcpyDeviceToHost, stream));
  HrpbCallCuda(cudaStreamSynchronize(stream));
  Unpack(total, &s->nlong, &s->nparts);
  if (!s->nlong) return HRPB_SUCCESS;
  HrpbCall(HrpbAllocate(&rows, s->nlong));
  s->long_rows = rows;
  HrpbCall(HrpbAllocate(&parts, s->nparts));
  s->parts = parts;
  ListLongRows<<<HrpbGrid(s->nrows, HRPB_THREADS), HRPB_THREADS, 0, stream>>>(count, s->nrows, rows);
  HrpbCallCuda(cudaGetLastError());
  ListParts<<<HrpbGrid(s->nlong, 1), HRPB_THREADS, 0, stream>>>(rowptr, rows, s->nlong, s->part_entries, parts);
  HrpbCallCuda(cudaGetLastError());
  HrpbCallCuda(cudaStreamSynchronize(stream)); /* count is freed next */
  return HRPB_SUCCESS;
}

HrpbError CsrScheduleDevice(int64_t nrows, int64_t ncols, const HrpbInt *rowptr, HrpbStream stream, CsrSchedule *s)
{
  uint64_t *count = NULL;
  uint8_t  *scan  = NULL;
  size_t    bytes = 0;
  HrpbInt   first, end;
  HrpbError err;

  memset(s, 0, sizeof(*s));
  if (nrows < 0 || ncols < 0) return HRPB_ERR_CSR;
  if (nrows >= INT32_MAX || ncols >= INT32_MAX) return HRPB_ERR_OVERFLOW;
  if (nrows == 0) return HRPB_SUCCESS;
  HrpbCallCuda(cudaMemcpyAsync(&first, rowptr, sizeof(first), cudaMemcpyDeviceToHost, stream));
  HrpbCallCuda(cudaMemcpyAsync(&end, rowptr + nrows, sizeof(end), cudaMemcpyDeviceToHost, stream));
  HrpbCallCuda(cudaStreamSynchronize(stream));
  s->nrows        = (int32_t)nrows;
  s->ncols        = (int32_t)ncols;
  s->nnz          = end - first;
  s->part_entries = PartEntries(nrows, s->nnz);
  err             = HrpbAllocate(&count, nrows + 1);
  if (!err) {
    const cudaError_t cerr = cub::DeviceScan::ExclusiveSum(NULL, bytes, count, count, nrows + 1, stream);

    if (cerr != cudaSuccess) err = HrpbDeviceError(cerr);
  }
  if (!err) err = HrpbAllocate(&scan, (int64_t)bytes);
  if (!err) err = Schedule(rowptr, count, scan, bytes, stream, s);
  err = HrpbFree(scan, err);
  err = HrpbFree(count, err);
  if (err) CsrScheduleDestroyDevice(s);
  return err;
}

void CsrScheduleDestroyDevice(CsrSchedule *s)
{
  (void)cudaFree(s->long_rows);
  (void)cudaFree(s->parts);
  memset(s, 0, sizeof(*s));
}

struct CsrArgs {
  const HrpbInt    *rowptr, *colidx;
  const HrpbScalar *values;
  const CsrPart    *parts;
  int32_t           nrows, nparts, part_entries;
  int32_t           part_blocks; /* thread blocks for the parts: the first, for their items are the longest */
  const HrpbScalar *R;           /* row-major copy of B, with one more row, of zeros, for lanes without an entry: their loads need no condition */
  int32_t           ncols, ldr;
  HrpbScalar       *C, *partial; /* partial is column-major, too: a row for each part */
  int64_t           ldc;
  int32_t           N, n0;       /* columns of C, and the first one of this launch */
};

template <int W> struct alignas(W * sizeof(HrpbScalar)) CsrVector {
  HrpbScalar x[W];
};

template <int G, typename T> static __device__ __forceinline__ T FromLane(T x, int lane)
{
  return G == 1 ? x : __shfl_sync(HRPB_ALL_LANES, x, lane, G);
}

/* The lane's share of CHUNK entries of a row, from entry first on; zeros in a column of their own beyond the last */
template <int G> static __device__ __forceinline__ void ReadEntries(const HrpbInt *colidx, const HrpbScalar *values, int32_t first, int32_t length, int32_t none, int32_t lane, int32_t (&col)[CSR_CHUNK / G], HrpbScalar (&value)[CSR_CHUNK / G])
{
#pragma unroll
  for (int i = 0; i < CSR_CHUNK / G; i++) {
    const int32_t at = first + i * G + lane;

    col[i]   = at < length ? (int32_t)__ldg(colidx + at) : none;
    value[i] = at < length ? __ldg(values + at) : (HrpbScalar)0;
  }
}

/*
   G lanes of a group
   K vectors of a lane, each
   W columns wide: 16 bytes, or a single column
   U rows of B that are on their way together: the second number of the bounds lets the compiler have the registers to keep them so
*/
template <int G, int K, int W, int U> static __global__ void __launch_bounds__(CSR_THREADS, G < 4 ? 5 : K == 1 ? 8 : 6) Csr(const __grid_constant__ CsrArgs a)
{
  constexpr int     GROUPS = CSR_THREADS / G;
  const int32_t     lane   = threadIdx.x % G;
  const int32_t     n0     = a.n0 + blockIdx.y * (G * K * W) + lane * W; /* first column of the lane */
  const bool        cut    = blockIdx.x < (uint32_t)a.part_blocks;
  const int64_t     item   = (int64_t)(cut ? blockIdx.x : blockIdx.x - a.part_blocks) * GROUPS + threadIdx.x / G;
  HrpbInt           begin  = 0;
  int32_t           length = 0, longest;
  bool              stores = false;
  int32_t           col[CSR_CHUNK / G];
  HrpbScalar        value[CSR_CHUNK / G], sum[K][W] = {};

  if (cut) {
    if (item < a.nparts) {
      begin  = a.parts[item].begin;
      length = a.parts[item].length;
      stores = true;
    }
  } else if (item < a.nrows) {
    const HrpbInt entries = __ldg(a.rowptr + item + 1) - __ldg(a.rowptr + item);

    begin  = __ldg(a.rowptr + item);
    stores = entries <= a.part_entries;
    length = stores ? (int32_t)entries : 0;
  }
  longest = __reduce_max_sync(HRPB_ALL_LANES, length);

  const HrpbInt    *colidx = a.colidx + begin;
  const HrpbScalar *values = a.values + begin, *r = a.R + n0;
  const int32_t     last   = n0 + (K - 1) * G * W < a.ldr ? (K - 1) * G * W : 0; /* the last vector, or, beyond the row's end, one that is read anyway */

  ReadEntries<G>(colidx, values, 0, length, a.ncols, lane, col, value);
#pragma unroll 1
  for (int32_t first = 0; first < longest; first += CSR_CHUNK) {
    int32_t    next_col[CSR_CHUNK / G];
    HrpbScalar next_value[CSR_CHUNK / G];

    ReadEntries<G>(colidx, values, first + CSR_CHUNK, length, a.ncols, lane, next_col, next_value);
#pragma unroll
    for (int e = 0; e < CSR_CHUNK; e += U) {
      CsrVector<W> x[U][K];

      if (first + e >= longest) break; /* the same for the whole warp */
#pragma unroll
      for (int u = 0; u < U; u++) {
        const HrpbScalar *row = r + (int64_t)FromLane<G>(col[(e + u) / G], (e + u) % G) * a.ldr;

#pragma unroll
        for (int k = 0; k < K; k++) x[u][k] = *(const CsrVector<W> *)(row + (k < K - 1 ? k * G * W : last));
      }
#pragma unroll
      for (int u = 0; u < U; u++) {
        const HrpbScalar v = FromLane<G>(value[(e + u) / G], (e + u) % G);

#pragma unroll
        for (int k = 0; k < K; k++) {
#pragma unroll
          for (int w = 0; w < W; w++) sum[k][w] = fma(v, x[u][k].x[w], sum[k][w]);
        }
      }
    }
#pragma unroll
    for (int i = 0; i < CSR_CHUNK / G; i++) {
      col[i]   = next_col[i];
      value[i] = next_value[i];
    }
  }
  if (!stores) return;
  HrpbScalar   *to   = (cut ? a.partial : a.C) + item;
  const int64_t ldto = cut ? a.nparts : a.ldc;

#pragma unroll
  for (int k = 0; k < K; k++) {
#pragma unroll
    for (int w = 0; w < W; w++) {
      const int32_t n = n0 + k * G * W + w;

      if (n < a.N) to[n * ldto] = sum[k][w];
    }
  }
}

/* An entry of C in one go */
static __device__ __noinline__ HrpbScalar ExactSum(const CsrArgs &a, int32_t row, const HrpbScalar *b)
{
  HrpbScalar sum = 0;

  for (HrpbInt k = a.rowptr[row]; k < a.rowptr[row + 1]; k++) sum = fma(a.values[k], b[a.colidx[k]], sum);
  return sum;
}

/* sum + lost += x, where lost is what rounding took from sum */
static __device__ __forceinline__ void AddCompensated(HrpbScalar x, HrpbScalar *sum, HrpbScalar *lost)
{
  const HrpbScalar t = *sum + x, y = t - *sum;

  *lost += (*sum - (t - y)) + (x - y);
  *sum = t;
}

/*
   Sums of the parts of rows that are cut, COMBINE_LANES lanes for each row and column: a lane adds every COMBINE_LANES-th part, then the lanes' sums are added pairwise.
   Where the sum is not finite, parts may have overflowed though their sum does not, and compensation makes NaN of Inf
*/
static __global__ void __launch_bounds__(CSR_THREADS) CsrCombine(const __grid_constant__ CsrArgs a, const CsrLongRow *rows, int32_t nlong, const HrpbScalar *B, int64_t ldb)
{
  constexpr int PER_WARP = HRPB_LANES / COMBINE_LANES;
  const int32_t lane     = threadIdx.x % COMBINE_LANES;
  const int64_t warps    = (int64_t)gridDim.x * (CSR_THREADS / HRPB_LANES);
  const int64_t nsums    = (int64_t)nlong * a.N;

  for (int64_t at = ((int64_t)blockIdx.x * CSR_THREADS + threadIdx.x) / HRPB_LANES * PER_WARP; at < nsums; at += warps * PER_WARP) {
    const int64_t     i = at + threadIdx.x % HRPB_LANES / COMBINE_LANES, n = i / nlong;
    const CsrLongRow  r = i < nsums ? rows[i % nlong] : CsrLongRow{0, 0, 0};
    const HrpbScalar *part = a.partial + r.first + n * a.nparts;
    HrpbScalar        sum = 0, lost = 0;

#pragma unroll 4
    for (int32_t k = lane; k < r.nparts; k += COMBINE_LANES) AddCompensated(part[k], &sum, &lost);
#pragma unroll
    for (int distance = COMBINE_LANES / 2; distance > 0; distance /= 2) {
      const HrpbScalar other = __shfl_down_sync(HRPB_ALL_LANES, sum, distance, COMBINE_LANES), other_lost = __shfl_down_sync(HRPB_ALL_LANES, lost, distance, COMBINE_LANES);

      AddCompensated(other, &sum, &lost);
      lost += other_lost;
    }
    if (lane == 0 && i < nsums) {
      sum += lost;
      a.C[r.row + n * a.ldc] = isfinite(sum) ? sum : ExactSum(a, r.row, B + n * ldb);
    }
  }
}

/* Columns of the copy of B: whole vectors, and whole sectors of 32 bytes where a row has more than one vector */
static int32_t LeadingDimension(int64_t N)
{
  const int32_t vector = 16 / (int32_t)sizeof(HrpbScalar), unit = N > vector ? 2 * vector : vector;

  return N == 1 ? 1 : (int32_t)((N + unit - 1) / unit * unit);
}

static size_t PartialBytes(const CsrSchedule *s, int64_t N)
{
  return (sizeof(HrpbScalar) * (size_t)s->nparts * (size_t)N + 255) / 256 * 256;
}

HrpbError CsrMultiplyWorkDevice(const CsrSchedule *s, int64_t N, size_t *bytes)
{
  *bytes = 0;
  if (N > HRPB_MAX_COLUMNS) return HRPB_ERR_OVERFLOW;
  if (N > 0 && s->nrows > 0) *bytes = PartialBytes(s, N) + sizeof(HrpbScalar) * ((size_t)s->ncols + 1) * (size_t)LeadingDimension(N);
  return HRPB_SUCCESS;
}

/* Columns n0 to n0 + ntiles*G*K*W - 1, as far as there are */
template <int G, int K, int W> static HrpbError Launch(CsrArgs a, int32_t n0, int32_t ntiles, cudaStream_t stream)
{
  constexpr int GROUPS = CSR_THREADS / G;

  a.n0          = n0;
  a.part_blocks = (a.nparts + GROUPS - 1) / GROUPS;
  Csr<G, K, W, CSR_CHUNK / (K == 3 ? 4 : K)><<<dim3(a.part_blocks + HrpbGrid(a.nrows, GROUPS), ntiles), CSR_THREADS, 0, stream>>>(a);
  HrpbCallCuda(cudaGetLastError());
  return HRPB_SUCCESS;
}

/* Tiles of 256 bytes of a row of B; the last, narrower one has a kernel that fits */
static HrpbError Run(const CsrArgs *a, cudaStream_t stream)
{
  constexpr int32_t VECTOR = 16 / sizeof(HrpbScalar), TILE = 16 * VECTOR;
  const int32_t     ntiles = a->N / TILE, n0 = ntiles * TILE, left = a->N - n0;

  if (a->N == 1) return Launch<1, 1, 1>(*a, 0, 1, stream);
  if (ntiles) HrpbCall(Launch<4, 4, VECTOR>(*a, 0, ntiles, stream));
  if (!left) return HRPB_SUCCESS;
  if (left <= VECTOR) return Launch<1, 1, VECTOR>(*a, n0, 1, stream);
  if (left <= 2 * VECTOR) return Launch<2, 1, VECTOR>(*a, n0, 1, stream);
  if (left <= 4 * VECTOR) return Launch<4, 1, VECTOR>(*a, n0, 1, stream);
  if (left <= 8 * VECTOR) return Launch<4, 2, VECTOR>(*a, n0, 1, stream);
  if (left <= 12 * VECTOR) return Launch<4, 3, VECTOR>(*a, n0, 1, stream);
  return Launch<4, 4, VECTOR>(*a, n0, 1, stream);
}

HrpbError CsrMultiplyDevice(const CsrSchedule *s, const HrpbInt *rowptr, const HrpbInt *colidx, const HrpbScalar *values, int64_t N, const HrpbScalar *B, int64_t ldb, HrpbScalar *C, int64_t ldc, void *work, HrpbStream stream)
{
  HrpbScalar *partial = (HrpbScalar *)work, *R;
  CsrArgs     a;

  if (N > HRPB_MAX_COLUMNS) return HRPB_ERR_OVERFLOW;
  if (N == 0 || s->nrows == 0) return HRPB_SUCCESS;
  R = (HrpbScalar *)((uint8_t *)work + PartialBytes(s, N));
  a = {rowptr, colidx, values, (const CsrPart *)s->parts, s->nrows, s->nparts, s->part_entries, 0, R, s->ncols, LeadingDimension(N), C, partial, ldc, (int32_t)N, 0};
  HrpbCall(RowMajor(B, ldb, s->ncols, (int32_t)N, R, s->ncols + 1, a.ldr, stream));
  HrpbCall(Run(&a, stream));
  if (!s->nlong) return HRPB_SUCCESS;
  CsrCombine<<<HrpbGrid(s->nlong * N, CSR_THREADS / COMBINE_LANES), CSR_THREADS, 0, stream>>>(a, (const CsrLongRow *)s->long_rows, s->nlong, B, ldb);
  HrpbCallCuda(cudaGetLastError());
  return HRPB_SUCCESS;
}
