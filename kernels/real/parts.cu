/*
   Rows of a complex matrix that are cut: which parts they have, and their sums put together.

   The schedule of the real matrix says which rows are cut. Both real rows of a complex one have the same length, so
   they are cut alike, and stand one behind the other in its list: a part of the complex row has half as many entries.
*/
#include "copy.cuh"

enum {
  THREADS = 256,
  WARPS   = THREADS / HRPB_LANES,
  LANES   = 4,                  /* of a warp that add the parts of a row and a column */
  COLUMNS = HRPB_LANES / LANES, /* of a warp: their numbers are a whole line of L1 */
  READS   = 4                   /* parts of a lane that are on their way together */
};

namespace {
struct CombineArgs {
  ComplexProduct       p;
  const VectorPair    *sums;
  const VectorLongRow *rows;
  int32_t              nhuge, nrows; /* huge rows, which come first, and all */
};

/* A sum with what rounding has taken from it */
struct Compensated {
  VectorPair sum, lost;
};
} // namespace

static __device__ __forceinline__ void Add(Compensated *s, VectorPair x)
{
  HrpbAddCompensated(x.re, &s->sum.re, &s->lost.re);
  HrpbAddCompensated(x.im, &s->sum.im, &s->lost.im);
}

/* Over the lanes of a column, pairwise, into the first of them */
static __device__ __forceinline__ void AddLanes(Compensated *s)
{
  CsrAddLanes<LANES>(&s->sum.re, &s->lost.re);
  CsrAddLanes<LANES>(&s->sum.im, &s->lost.im);
}

/* What lane number first of step lanes adds of the parts of a row in column n */
static __device__ __forceinline__ Compensated SumOfLane(const CombineArgs &a, const VectorLongRow &r, int32_t n, int32_t first,
  int32_t step)
{
  Compensated s = {};

  if (n >= a.p.N) return s;
#pragma unroll READS
  for (int32_t k = first; k < r.nparts; k += step) Add(&s, VectorRead(a.sums + (int64_t)(r.first + k) * a.p.N + n));
  return s;
}

/* A sum that is not finite is made again: a part may overflow where the entries one by one do not */
static __device__ __forceinline__ void Store(const CombineArgs &a, const VectorLongRow &r, int32_t n, const Compensated &s)
{
  const VectorPair sum = s.sum + s.lost;

  if (n >= a.p.N || !r.nparts) return;
  ComplexStoreSum(a.p, r.row, n, VectorIsFinite(sum) ? sum : ComplexInOneGo(a.p, r.row, n));
}

/* A warp has a row and a few columns. If the row is huge, all warps of the thread block have it */
static __global__ void __launch_bounds__(THREADS) CombinePairs(const __grid_constant__ CombineArgs a)
{
  __shared__ Compensated of_warp[WARPS][COLUMNS];
  const int32_t          warp = threadIdx.x / HRPB_LANES, lane = threadIdx.x % LANES, column = threadIdx.x % HRPB_LANES / LANES;
  const bool             huge = blockIdx.x < (uint32_t)a.nhuge;
  const int64_t          i    = huge ? blockIdx.x : a.nhuge + (int64_t)(blockIdx.x - a.nhuge) * WARPS + warp;
  const VectorLongRow    r    = i < a.nrows ? a.rows[i] : VectorLongRow{0, 0, 0};

  HrpbWaitForKernelBefore();
  for (int32_t n = blockIdx.y * COLUMNS + column; n - column < a.p.N; n += gridDim.y * COLUMNS) {
    Compensated s = huge ? SumOfLane(a, r, n, warp * LANES + lane, THREADS / COLUMNS) : SumOfLane(a, r, n, lane, LANES);

    AddLanes(&s);
    if (huge) {
      __syncthreads(); /* what the columns before left there has been read */
      if (lane == 0) of_warp[warp][column] = s;
      __syncthreads();
      for (int w = 1; w < WARPS && warp == 0 && lane == 0; w++) {
        Add(&s, of_warp[w][column].sum);
        s.lost = s.lost + of_warp[w][column].lost;
      }
    }
    if (lane == 0 && (!huge || warp == 0)) Store(a, r, n, s);
  }
}

HrpbError ComplexCombine(const SpmmMatrix *A, const ComplexProduct &p, const VectorPair *sums, cudaStream_t stream)
{
  const int32_t     most  = 65535; /* of the second dimension of a grid */
  const VectorPlan *v     = A->vector;
  const int32_t     nhuge = A->csr->nhuge / 2, tiles = (p.N + COLUMNS - 1) / COLUMNS;
  const CombineArgs a = {p, sums, (const VectorLongRow *)v->long_rows, nhuge, v->nlong};
  const dim3        grid(nhuge + (v->nlong - nhuge + WARPS - 1) / WARPS, tiles < most ? tiles : most);

  return v->nlong ? LaunchAfter(CombinePairs, grid, THREADS, 0, stream, a) : HRPB_SUCCESS;
}

size_t ComplexPartialBytes(const VectorPlan *v, int64_t N)
{
  return (size_t)HrpbWholeUnits(sizeof(VectorPair) * (size_t)v->nparts * (size_t)N);
}

/* A thread block has a row that is cut */
static __global__ void __launch_bounds__(THREADS)
  ListPairs(const HrpbInt *rowptr, const CsrLongRow *real_rows, int32_t nrows, int32_t entries, VectorLongRow *rows, VectorPart *parts)
{
  for (int32_t i = blockIdx.x; i < nrows; i += gridDim.x) {
    const CsrLongRow    real = real_rows[2 * i];
    const VectorLongRow r    = {real.row / 2, real.first / 2, real.nparts};

    if (threadIdx.x == 0) rows[i] = r;
    for (int32_t k = threadIdx.x; k < r.nparts; k += THREADS) {
      const HrpbInt begin = rowptr[r.row] + (HrpbInt)k * entries, left = rowptr[r.row + 1] - begin;

      parts[r.first + k] = {begin, (int32_t)(left < entries ? left : entries), r.row, false};
    }
  }
}

HrpbError ComplexCutDevice(const CsrSchedule *s, const HrpbInt *rowptr, cudaStream_t stream, VectorPlan *v)
{
  VectorLongRow *rows;
  VectorPart    *parts;

  v->long_entries = s->part_entries / 2;
  HrpbCall(HrpbAllocate(&rows, s->nlong / 2, stream));
  v->long_rows = rows;
  HrpbCall(HrpbAllocate(&parts, s->nparts / 2, stream));
  v->parts = parts;
  HrpbCall(HrpbLaunch(ListPairs, HrpbGrid(s->nlong / 2, 1), THREADS, 0, stream, rowptr, (const CsrLongRow *)s->long_rows, s->nlong / 2,
    v->long_entries, rows, parts));
  v->nlong  = s->nlong / 2;
  v->nparts = s->nparts / 2;
  v->bytes += (int64_t)sizeof(*rows) * v->nlong + (int64_t)sizeof(*parts) * v->nparts;
  return HRPB_SUCCESS;
}
