/*
   CSR times a row-major copy of B.

   A group of lanes has a row of A, or a part of one that is cut; neighbouring groups of a warp have neighbouring rows, so that what they store is whole sectors of column-major C, where its columns begin with one: four rows of double, eight of single.
   Eight lanes read a line of the first cache at once, four half of it.
   The lanes of a group read a chunk of entries together, hand them round, and have a few columns of B each. What limits the kernel is the latency of scattered rows of B:
   U of them are on their way for each group, and the next entries with them.
*/
#include "csr.cuh"
#include "launch.cuh"
#include "rowmajor.cuh"

namespace
{
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
} // namespace

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
   W columns wide: 16 bytes
   U rows of B that are on their way together: the second number of the bounds lets the compiler have the registers to keep them so
*/
template <int G, int K, int W, int U> static __global__ void __launch_bounds__(CSR_THREADS, G < 4 || K == 4 ? 5 : K == 1 ? 8 : CSR_RESIDENT) Csr(const __grid_constant__ CsrArgs a)
{
  constexpr int     GROUPS = CSR_THREADS / G;
  const int32_t     lane   = threadIdx.x % G;
  const int32_t     tile   = a.n0 + blockIdx.y * (G * K * W), n0 = tile + lane * W; /* first columns of the tile and of the lane */
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
  HrpbLetNextKernelCome();
  HrpbWaitForKernelBefore(); /* the copy of B, which does not let this one come early: with two columns that took 1.28 times as long */

  const HrpbInt    *colidx = a.colidx + begin;
  const HrpbScalar *values = a.values + begin, *r = a.R + (n0 < a.ldr ? n0 : tile); /* a lane beyond the row's end reads what the tile's first one does, */
  const int32_t     last   = n0 + (K - 1) * G * W < a.ldr ? (K - 1) * G * W : 0; /* and its last vector is its first there */

  ReadEntries<G>(colidx, values, 0, length, a.ncols, lane, col, value);
#pragma unroll 1
  for (int32_t first = 0; first < longest; first += CSR_CHUNK) {
    int32_t    next_col[CSR_CHUNK / G];
    HrpbScalar next_value[CSR_CHUNK / G], part[K][W] = {};

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
  if (cut || !CsrAgain<K * W>(length, &sum[0][0])) return; /* of parts CsrCombineRun() sees to that */
#pragma unroll 1
  for (int i = 0; i < K * W; i++) {
    const int32_t n = n0 + i / W * G * W + i % W;

    if (n < a.N && !isfinite(to[n * ldto])) to[n * ldto] = CsrInOneGo(colidx, values, length, a.R + n, a.ldr);
  }
}

/* Columns of the copy of B: whole vectors, and whole sectors of 32 bytes where a row has more than one vector */
int32_t CsrLeadingDimension(int64_t N)
{
  const int32_t vector = 16 / (int32_t)sizeof(HrpbScalar), unit = N > vector ? 2 * vector : vector;

  return (int32_t)((N + unit - 1) / unit * unit);
}

static size_t PartialBytes(const CsrSchedule *s, int64_t N)
{
  return (sizeof(HrpbScalar) * (size_t)s->nparts * (size_t)N + 255) / 256 * 256;
}

bool CsrCopiesB(const CsrSchedule *s, int64_t N)
{
  return N > s->direct_columns && !s->panel_rows && !s->rows_entries;
}

HrpbError CsrMultiplyWorkDevice(const CsrSchedule *s, int64_t N, size_t *bytes)
{
  *bytes = 0;
  if (N > HRPB_MAX_COLUMNS) return HRPB_ERR_OVERFLOW;
  if (N == 0 || s->nrows == 0) return HRPB_SUCCESS;
  if (CsrCopiesB(s, N)) *bytes = PartialBytes(s, N) + sizeof(HrpbScalar) * ((size_t)s->ncols + 1) * (size_t)CsrLeadingDimension(N);
  else if (s->ngiant) *bytes = PartialBytes(s, N);
  return HRPB_SUCCESS;
}

/* Columns n0 to n0 + ntiles*G*K*W - 1, as far as there are */
template <int G, int K, int W> static HrpbError Launch(CsrArgs a, int32_t n0, int32_t ntiles, cudaStream_t stream)
{
  constexpr int GROUPS = CSR_THREADS / G;

  a.n0          = n0;
  a.part_blocks = (a.nparts + GROUPS - 1) / GROUPS;
  return LaunchAfter(Csr<G, K, W, CSR_CHUNK / (K == 3 ? 4 : K)>, dim3(a.part_blocks + HrpbGrid(a.nrows, GROUPS), ntiles), CSR_THREADS, 0, stream, a);
}

/* Tiles of CSR_TILE_BYTES of a row of B, or two of half as many, of which the last may want so many columns, by G lanes; what is left, narrower, has a kernel that fits */
template <int G> static HrpbError RunTiles(const CsrArgs *a, int32_t wanting, bool narrow, cudaStream_t stream)
{
  constexpr int32_t VECTOR = 16 / sizeof(HrpbScalar), TILE = CSR_TILE_BYTES / sizeof(HrpbScalar), K = CSR_TILE_BYTES / 16 / G;
  const int32_t     ntiles = (a->N + wanting) / TILE, n0 = ntiles * TILE, left = a->N - n0;

  if (ntiles && narrow) HrpbCall(Launch<G, K / 2, VECTOR>(*a, 0, 2 * ntiles, stream));
  if (ntiles && !narrow) HrpbCall(Launch<G, K, VECTOR>(*a, 0, ntiles, stream));
  if (left <= 0) return HRPB_SUCCESS;
  if (left <= VECTOR) return Launch<1, 1, VECTOR>(*a, n0, 1, stream);
  if (left <= 2 * VECTOR) return Launch<2, 1, VECTOR>(*a, n0, 1, stream);
  if (left <= 4 * VECTOR) return Launch<4, 1, VECTOR>(*a, n0, 1, stream);
  if (left <= 8 * VECTOR) return Launch<G, K / 2, VECTOR>(*a, n0, 1, stream);
  return Launch<4, 3, VECTOR>(*a, n0, 1, stream); /* eight lanes, a quarter of them and more without columns, take 1.2 times as long for 8 dof, tetra and banded, R-MAT 1.02, where rows keep the device busy */
}

static HrpbError CopyAndRun(const CsrProduct *p)
{
  const CsrSchedule *s   = p->schedule;
  const int32_t      ldr = CsrLeadingDimension(p->N), quarter = CSR_TILE_BYTES / sizeof(HrpbScalar) / 4;
  HrpbScalar        *R   = (HrpbScalar *)((uint8_t *)p->partial + PartialBytes(s, p->N));
  const CsrArgs      a   = {p->rowptr, p->colidx, p->values, (const CsrPart *)s->parts, s->nrows, s->nparts, s->part_entries, 0, R, s->ncols, ldr, p->C, p->partial, p->ldc, p->N, 0};

  HrpbCall(RowMajor(p->B, p->ldb, s->ncols, p->N, R, s->ncols + 1, ldr, p->stream));
  if (p->N <= s->eight_columns) return RunTiles<8>(&a, s->eight_anyway ? 2 * quarter - 1 : quarter - 1, s->narrow_tiles, p->stream);
  return RunTiles<4>(&a, quarter - 1, s->narrow_tiles, p->stream);
}

HrpbError CsrMultiplyDevice(const CsrSchedule *s, const HrpbInt *rowptr, const HrpbInt *colidx, const HrpbScalar *values, int64_t N, const HrpbScalar *B, int64_t ldb, HrpbScalar *C, int64_t ldc, void *work, HrpbStream stream)
{
  const CsrProduct p = {s, rowptr, colidx, values, B, C, (HrpbScalar *)work, ldb, ldc, (int32_t)N, stream};

  if (N > HRPB_MAX_COLUMNS) return HRPB_ERR_OVERFLOW;
  if (N == 0 || s->nrows == 0) return HRPB_SUCCESS;
  if (CsrCopiesB(s, N)) {
    HrpbCall(CopyAndRun(&p));
    return CsrCombineRun(&p, true);
  }
  if (N > s->direct_columns) return s->panel_rows ? CsrStagedRun(&p) : CsrRowsRun(&p); /* no row is cut */
  HrpbCall(CsrDirectRun(&p));
  return CsrCombineRun(&p, false);
}
