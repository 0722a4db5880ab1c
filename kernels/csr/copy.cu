/*
   CSR times a row-major copy of B.

   A group of lanes has a row of A, or a part of a row that is cut. Neighbouring groups of a warp have neighbouring
   rows, so that they store whole sectors of column-major C where its columns begin with one: four rows in double, eight
   in single. Eight lanes read a line of L1 at once, four lanes half of it.

   The lanes of a group read a chunk of entries together, hand the entries round, and have a few columns of B each. What
   limits the kernel is the latency of scattered rows of B. So each group has U of them on their way, and the next
   entries.
*/
#include <algorithm>

#include "csr.cuh"
#include "../common/launch.cuh"
#include "../common/rowmajor.cuh"

namespace {
struct CsrArgs {
  const HrpbInt    *rowptr, *colidx;
  const HrpbScalar *values;
  const CsrPart    *parts;
  int32_t           nrows, nparts, part_entries;
  int32_t           part_blocks; /* thread blocks for parts: they come first, because their items are the longest */
  /*
     row-major copy of B, with one more row, of zeros. It is for lanes without an entry, whose loads then need no
     condition. Where the kernel adds, zeros of its own are for them, because R may be B itself
  */
  const HrpbScalar *R;
  int32_t           ncols, ldr;
  HrpbScalar       *C, *partial; /* partial is column-major, too, with a row for each part */
  int64_t           ldc;
  int32_t           N, n0;       /* columns of C, and the first of them in this launch */
  const HrpbScalar *C0;          /* what is added to the product, if the kernel adds */
  int64_t           ldc0;
  const int32_t    *filled;      /* the same: nrows rows, all those with entries that are not cut; NULL: all rows */
};

template <int W> struct alignas(W * sizeof(HrpbScalar)) CsrVector {
  HrpbScalar x[W];
};
} // namespace

/* As many as the lanes of a group read together, where the kernel adds */
alignas(16) static __device__ const HrpbScalar zeros[CSR_TILE_BYTES / 2 / sizeof(HrpbScalar)] = {};

template <int G, typename T> static __device__ __forceinline__ T FromLane(T x, int lane)
{
  return G == 1 ? x : __shfl_sync(HRPB_ALL_LANES, x, lane, G);
}

/*
   The lane's share of a chunk of entries of a row, from entry first on. Beyond the last entry there are zeros, in a
   column of their own
*/
template <int G> static __device__ __forceinline__ void ReadEntries(const HrpbInt *colidx, const HrpbScalar *values, int32_t first, int32_t length, int32_t none, int32_t lane, int32_t (&col)[CSR_CHUNK / G], HrpbScalar (&value)[CSR_CHUNK / G])
{
#pragma unroll
  for (int i = 0; i < CSR_CHUNK / G; i++) {
    const int32_t at = first + i * G + lane;

    col[i]   = at < length ? (int32_t)__ldg(colidx + at) : none;
    value[i] = at < length ? __ldg(values + at) : (HrpbScalar)0;
  }
}

/* The same as a function that is not inlined: it is rarely needed */
static __device__ __noinline__ HrpbScalar Again(const HrpbInt *colidx, const HrpbScalar *values, int32_t length, const HrpbScalar *b, int64_t ldb)
{
  return CsrInOneGo(colidx, values, length, b, ldb);
}

/*
   G   lanes of a group
   K   vectors of a lane, each
   W   columns wide: 16 bytes
   U   rows of B that are on their way together: the second number of the bounds lets the compiler have the registers to
       keep them so
   ADD whether the product is added to C0, which may be C
*/
template <int G, int K, int W, int U, bool ADD> static __global__ void __launch_bounds__(CSR_THREADS, G < 4 || K == 4 ? 5 : K == 1 ? 8 : CSR_RESIDENT) Csr(const __grid_constant__ CsrArgs a)
{
  constexpr int     GROUPS = CSR_THREADS / G;
  const int32_t     lane   = threadIdx.x % G;
  const int32_t     tile   = a.n0 + blockIdx.y * (G * K * W), n0 = tile + lane * W; /* first columns */
  const bool        cut    = blockIdx.x < (uint32_t)a.part_blocks;
  const int64_t     item   = (int64_t)(cut ? blockIdx.x : blockIdx.x - a.part_blocks) * GROUPS + threadIdx.x / G;
  int64_t           row    = item;
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
    if constexpr (ADD) row = a.filled ? __ldg(a.filled + item) : item;
    const HrpbInt entries = __ldg(a.rowptr + row + 1) - __ldg(a.rowptr + row);

    begin  = __ldg(a.rowptr + row);
    stores = entries <= a.part_entries;
    length = stores ? (int32_t)entries : 0;
  }
  longest = __reduce_max_sync(HRPB_ALL_LANES, length);
  HrpbLetNextKernelCome();
  /* The copy of B does not let this kernel come early: with two columns that took 1.28 times as long */
  HrpbWaitForKernelBefore();

  const HrpbInt    *colidx = a.colidx + begin;
  /* a lane beyond the end of the row reads what the first lane of the tile does */
  const HrpbScalar *values = a.values + begin, *r = a.R + (n0 < a.ldr ? n0 : tile);
  /* a lane whose last vector is beyond reads its first vector in place of it */
  const int32_t     last   = n0 + (K - 1) * G * W < a.ldr ? (K - 1) * G * W : 0;

  ReadEntries<G>(colidx, values, 0, length, a.ncols, lane, col, value);
#pragma unroll 1
  for (int32_t first = 0; first < longest; first += CSR_CHUNK) {
    int32_t    next_col[CSR_CHUNK / G];
    HrpbScalar next_value[CSR_CHUNK / G], part[K][W] = {};

    ReadEntries<G>(colidx, values, first + CSR_CHUNK, length, a.ncols, lane, next_col, next_value);
#pragma unroll
    for (int e = 0; e < CSR_CHUNK; e += U) {
      CsrVector<W> x[U][K];

      if (first + e >= longest) break; /* the same in the whole warp */
#pragma unroll
      for (int u = 0; u < U; u++) {
        const int32_t     c     = FromLane<G>(col[(e + u) / G], (e + u) % G);
        const HrpbScalar *row_b = ADD && c == a.ncols ? zeros + lane * W : r + (int64_t)c * a.ldr;

#pragma unroll
        for (int k = 0; k < K; k++) x[u][k] = *(const CsrVector<W> *)(row_b + (k < K - 1 ? k * G * W : last));
      }
#pragma unroll
      for (int u = 0; u < U; u++) {
        const HrpbScalar v = FromLane<G>(value[(e + u) / G], (e + u) % G);

#pragma unroll
        for (int k = 0; k < K; k++) {
#pragma unroll
          for (int w = 0; w < W; w++) part[k][w] = fma(v, x[u][k].x[w], part[k][w]);
        }
      }
    }
#pragma unroll
    for (int k = 0; k < K; k++) {
#pragma unroll
      for (int w = 0; w < W; w++) sum[k][w] += part[k][w];
    }
#pragma unroll
    for (int i = 0; i < CSR_CHUNK / G; i++) {
      col[i]   = next_col[i];
      value[i] = next_value[i];
    }
  }
  if (!stores) return;
  if constexpr (ADD) {
    if (!cut) {
      const bool again = CsrAgain<K * W>(length, &sum[0][0]);

      /* C is not touched where there are no entries */
      if (!length && a.C == a.C0) return;
#pragma unroll
      for (int k = 0; k < K; k++) {
#pragma unroll
        for (int w = 0; w < W; w++) {
          const int32_t n = n0 + k * G * W + w;

          if (n >= a.N) continue;
          if (again && !isfinite(sum[k][w])) sum[k][w] = Again(colidx, values, length, a.R + n, a.ldr);
          a.C[row + n * a.ldc] = a.C0[row + n * a.ldc0] + sum[k][w];
        }
      }
      return;
    }
  }
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
  if (cut || !CsrAgain<K * W>(length, &sum[0][0])) return; /* for parts CsrCombineRun() does this */
#pragma unroll 1
  for (int i = 0; i < K * W; i++) {
    const int32_t n = n0 + i / W * G * W + i % W;

    if (n < a.N && !isfinite(to[n * ldto])) to[n * ldto] = CsrInOneGo(colidx, values, length, a.R + n, a.ldr);
  }
}

/* Columns of the copy of B: whole vectors, and whole sectors of 32 bytes where a row has more than one vector */
static int32_t LeadingDimension(int64_t N)
{
  const int32_t vector = 16 / (int32_t)sizeof(HrpbScalar), unit = N > vector ? 2 * vector : vector;

  return (int32_t)((N + unit - 1) / unit * unit);
}

/* Columns n0 to n0 + ntiles*G*K*W - 1, as far as they exist */
template <int G, int K, int W, bool ADD = false> static HrpbError Launch(CsrArgs a, int32_t n0, int32_t ntiles, bool first, cudaStream_t stream)
{
  constexpr int GROUPS = CSR_THREADS / G;

  a.n0          = n0;
  a.part_blocks = (a.nparts + GROUPS - 1) / GROUPS;
  return LaunchAs(first, Csr<G, K, W, CSR_CHUNK / (K == 3 ? 4 : K), ADD>, dim3(a.part_blocks + HrpbGrid(a.nrows, GROUPS), ntiles), CSR_THREADS, 0, stream, a);
}

/*
   Tiles of CSR_TILE_BYTES of a row of B, or twice as many of half the size (narrow), by G lanes. The last tile may lack
   up to wanting columns. What is left is narrower, and has a kernel that fits
*/
template <int G> static HrpbError RunTiles(const CsrArgs *a, int32_t wanting, bool narrow, bool first, cudaStream_t stream)
{
  constexpr int32_t VECTOR = 16 / sizeof(HrpbScalar), TILE = CSR_TILE_BYTES / sizeof(HrpbScalar), K = CSR_TILE_BYTES / 16 / G;
  const int32_t     ntiles = (a->N + wanting) / TILE, n0 = ntiles * TILE, left = a->N - n0;

  if (ntiles && narrow) HrpbCall(Launch<G, K / 2, VECTOR>(*a, 0, 2 * ntiles, first, stream));
  if (ntiles && !narrow) HrpbCall(Launch<G, K, VECTOR>(*a, 0, ntiles, first, stream));
  if (left <= 0) return HRPB_SUCCESS;
  if (left <= VECTOR) return Launch<1, 1, VECTOR>(*a, n0, 1, first, stream);
  if (left <= 2 * VECTOR) return Launch<2, 1, VECTOR>(*a, n0, 1, first, stream);
  if (left <= 4 * VECTOR) return Launch<4, 1, VECTOR>(*a, n0, 1, first, stream);
  if (left <= 8 * VECTOR) return Launch<G, K / 2, VECTOR>(*a, n0, 1, first, stream);
  /* four lanes: of eight a quarter or more would have no columns, which takes up to 1.2 times as long */
  return Launch<4, 3, VECTOR>(*a, n0, 1, first, stream);
}

/*
   The same for products that are added, in tiles of half as many bytes, by four lanes. A few variants are enough: such
   products have few columns at a time. Of the block of a parallel matrix that needs rows of others most rows are empty:
   where C is added to in place, only those with entries have threads
*/
static HrpbError RunTilesAdding(const CsrSchedule *s, CsrArgs *a, bool first, cudaStream_t stream)
{
  constexpr int32_t VECTOR = 16 / sizeof(HrpbScalar), TILE = 8 * VECTOR;
  const int32_t     ntiles = a->N / TILE, n0 = ntiles * TILE, left = a->N - n0;

  if (s->filled && a->C == a->C0) {
    a->filled = (const int32_t *)s->filled;
    a->nrows  = s->nfilled;
  }
  if (ntiles) HrpbCall((Launch<4, 2, VECTOR, true>(*a, 0, ntiles, first, stream)));
  if (left <= 0) return HRPB_SUCCESS;
  if (left <= VECTOR) return Launch<1, 1, VECTOR, true>(*a, n0, 1, first, stream);
  if (left <= 2 * VECTOR) return Launch<2, 1, VECTOR, true>(*a, n0, 1, first, stream);
  if (left <= 4 * VECTOR) return Launch<4, 1, VECTOR, true>(*a, n0, 1, first, stream);
  return Launch<4, 2, VECTOR, true>(*a, n0, 1, first, stream);
}

/* Copy row-major B [nrows x N] to R [rows x ldr], with zeros in the columns and rows beyond B */
static __global__ void __launch_bounds__(COPY_THREADS) PadRows(const HrpbScalar *B, int64_t ldb, int32_t nrows, int32_t N, HrpbScalar *R, int64_t rows, int32_t ldr)
{
  for (int64_t e = (int64_t)blockIdx.x * COPY_THREADS + threadIdx.x; e < rows * ldr; e += (int64_t)gridDim.x * COPY_THREADS) {
    const int64_t row = e / ldr;
    const int32_t n   = (int32_t)(e % ldr);

    R[e] = row < nrows && n < N ? B[row * ldb + n] : (HrpbScalar)0;
  }
}

/* Whether a row-major B of N columns is whole vectors, one behind the other */
static bool IsVectors(const SpmmIn *B, int64_t N)
{
  return B->ld == N && N % (16 / (int64_t)sizeof(HrpbScalar)) == 0 && (uintptr_t)B->array % 16 == 0;
}

/*
   B as the kernel reads it: rows with leading dimension ldr. there: the caller had it in this form, and nothing was
   copied
*/
static HrpbError MakeRows(const SpmmOperands *o, int32_t nrows, HrpbScalar *R, cudaStream_t stream, const HrpbScalar **rows, int32_t *ldr, bool *there)
{
  *rows  = R;
  *ldr   = LeadingDimension(o->N);
  *there = false;
  switch (o->X.layout) {
  case SPMM_COLUMN_MAJOR:
    return RowMajor(o->X.array, o->X.ld, nrows, (int32_t)o->N, R, nrows + 1, *ldr, stream);
  case SPMM_ROW_MAJOR:
    if (o->update == SPMM_ADD && IsVectors(&o->X, o->N)) break;
    HrpbCall(HrpbLaunch(PadRows, HrpbGrid(((int64_t)nrows + 1) * *ldr, COPY_TILE), COPY_THREADS, 0, stream, o->X.array, o->X.ld, nrows, (int32_t)o->N, R, (int64_t)nrows + 1, *ldr));
    return HRPB_SUCCESS;
  default:
    break;
  }
  *rows  = o->X.array;
  *ldr   = (int32_t)o->X.ld;
  *there = true;
  return HRPB_SUCCESS;
}

/* The workspace has the sums of parts first, then the copy of B */
static HrpbError WorkBytes(const SpmmMatrix *A, const SpmmOperands *o, size_t *bytes)
{
  *bytes = CsrPartialBytes(A, o->N);
  if (o->X.layout != SPMM_ROW_MAJOR_PADDED) *bytes += sizeof(HrpbScalar) * ((size_t)A->ncols + 1) * (size_t)LeadingDimension(o->N);
  return HRPB_SUCCESS;
}

static bool Takes(const SpmmFacts *, const HrpbParams *, const SpmmOperands *o, const SpmmDevice *)
{
  return o->Y.layout == SPMM_COLUMN_MAJOR && (o->update == SPMM_ASSIGN || (o->update == SPMM_ADD && o->Y0.layout == SPMM_COLUMN_MAJOR));
}

/* The model counts at least this many columns for the time to copy B and to write C */
static double CopiedColumns(const SpmmFacts *facts, int64_t N, const SpmmDevice *device)
{
  const SpmmCsrTimes *t = &device->model->csr;

  return (double)std::max(N, (int64_t)(SpmmHasFewPanels(facts->nrows, device) ? t->fewest_few_rows : t->fewest_copied));
}

enum {
  KEPT_BYTES = 120000 /* of rows of B that a multiprocessor keeps while it multiplies 128 rows of A: half of its L1 */
};

/*
   Each entry is multiplied, and a lane whose row has fewer entries than another of its warp goes along with that: more
   than 64 bytes of columns count in whole units of 64 bytes. A row of B that the rows of A before have not brought
   comes from L2, or from memory, as far as L2 does not hold a tile of the copy. So do those that these have brought,
   and that are lost again because so many rows of B are needed. What eight rows share is not lost: they are in a warp
   or two, which read it together. The rows of A are multiplied side by side, each entry after entry, and the longest of
   them comes last
*/
static double Seconds(const SpmmFacts *facts, const HrpbParams *, HrpbPrecision, int64_t N, const SpmmDevice *device)
{
  const SpmmCsrTimes *t       = &device->model->csr;
  const HrpbSurvey   *s       = &facts->survey;
  const int64_t       unit    = 64 / (int64_t)sizeof(HrpbScalar);
  const double        copied  = CopiedColumns(facts, N, device);
  const double        columns = N > unit ? (double)((N + unit - 1) / unit * unit) : copied;
  const double        tile    = (double)CSR_TILE_BYTES * (double)std::max(facts->ncols, (int64_t)1);
  const double        missed  = std::max(0.0, 1 - device->model->cache / tile);
  const double        bytes   = (double)std::min((int64_t)CSR_TILE_BYTES, std::max((int64_t)16, N * (int64_t)sizeof(HrpbScalar)));
  const double        needed  = (double)s->needed_rows / std::max(1.0, (double)facts->nrows / HrpbStagedParams().panel_rows);
  const double        lost    = std::max(0.0, 1 - (int)KEPT_BYTES / std::max(needed * bytes, 1.0)) * (double)std::max((int64_t)0, s->strip_cols8 - s->needed_rows);
  const double        brought = (double)s->needed_rows * (double)std::max(N, (int64_t)t->fewest_scattered);
  const double        turns   = (double)std::max(facts->nnz, facts->turns);
  const double        entries = t->entry * (double)facts->nnz + t->entry_column * columns * turns + (t->scattered + t->spread * missed) * brought + t->scattered * lost * (double)N;
  const double        turn    = t->turn * (double)std::min(facts->longest, (int64_t)CsrPartEntries(std::max(facts->nrows, (int64_t)1), facts->nnz));
  const double        dense   = t->dense * copied * ((double)facts->nrows + (double)facts->ncols);

  return 1e-12 * (t->launch + entries + turn + dense);
}

static HrpbError RunProduct(const SpmmMatrix *A, const SpmmOperands *o, void *work, HrpbStream stream)
{
  const CsrSchedule *s = A->csr;
  const int32_t      quarter = CSR_TILE_BYTES / sizeof(HrpbScalar) / 4;
  const CsrProduct   p = CsrProductOfAny(A, o, work, stream);
  const HrpbScalar  *R;
  CsrArgs            a;
  int32_t            ldr;
  bool               first; /* first: whether the next kernel is the first of the product */

  if (!Takes(NULL, NULL, o, NULL)) return HRPB_ERR_UNSUPPORTED;
  HrpbCall(MakeRows(o, s->ncols, (HrpbScalar *)((uint8_t *)work + CsrPartialBytes(A, o->N)), stream, &R, &ldr, &first));
  a = {p.rowptr, p.colidx, p.values, (const CsrPart *)s->parts, s->nrows, s->nparts, s->part_entries, 0, R, s->ncols, ldr, p.C, p.partial, p.ldc, p.N, 0, p.C0, p.ldc0, NULL};
  if (p.C0) HrpbCall(RunTilesAdding(s, &a, first, stream));
  else if (p.N <= s->eight_columns) HrpbCall(RunTiles<8>(&a, s->eight_anyway ? 2 * quarter - 1 : quarter - 1, s->narrow_tiles, first, stream));
  else HrpbCall(RunTiles<4>(&a, quarter - 1, s->narrow_tiles, first, stream));
  return CsrCombineRun(&p, true);
}

SPMM_KERNEL(SpmmCsrCopy) = {
  .name    = "csr-copy",
  .what    = "CSR times a row-major copy of B, or a row-major B; it adds, too",
  .op      = SPMM_OP_PRODUCT,
  .format  = SPMM_CSR,
  .takes   = Takes,
  .work    = WorkBytes,
  .seconds = Seconds,
  .copies  = LeadingDimension,
  .run     = RunProduct
};
