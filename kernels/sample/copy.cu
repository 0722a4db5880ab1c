/*
   Sampled products with CSR and a row-major copy of the right operand.

   A group of lanes has a row of A, or a part of a row that is cut, and a chunk of its entries at a time. Each lane has
   some columns of the operands. The rows of the copy that the chunk needs are on their way together. In the end the
   lanes exchange their sums so that each has one entry.

   A right operand that is row-major already is not copied.
*/
#include "sample.h"
#include "../common/rowmajor.cuh"
#include "../csr/csr.cuh"
#include "../format/rows.cuh"
#include "sample.cuh"

static constexpr int GROUP = CSR_CHUNK; /* lanes of a group: as many as entries of a chunk */
static constexpr int WIDTH = 16 / (int)sizeof(HrpbScalar), GROUPS = (int)CSR_THREADS / GROUP;

namespace {
struct SampleCopyArgs {
  SampleArgs        s;
  const CsrPart    *parts;
  int32_t           nparts, part_entries;
  int32_t           part_blocks; /* thread blocks for parts: they come first, because their items are the longest */
  const HrpbScalar *R;           /* row-major copy of the right operand, with one more row, of zeros */
  int32_t           ldr;
};

struct alignas(16) SampleVector {
  HrpbScalar x[WIDTH];
};
} // namespace

/* Lanes apart by DISTANCE exchange halves of their 2*DISTANCE sums, so that a lane has DISTANCE of them, of both */
template <int DISTANCE> static __device__ __forceinline__ void ExchangeSums(HrpbScalar *sum, int32_t lane)
{
  const bool upper = lane & DISTANCE;

#pragma unroll
  for (int u = 0; u < DISTANCE; u++) {
    const HrpbScalar give = upper ? sum[u] : sum[u + DISTANCE], keep = upper ? sum[u + DISTANCE] : sum[u];

    sum[u] = keep + __shfl_xor_sync(HRPB_ALL_LANES, give, DISTANCE);
  }
}

/* V: vectors of a lane, of 16 bytes each */
template <int V> static __global__ void __launch_bounds__(CSR_THREADS) SampleCopy(const __grid_constant__ SampleCopyArgs args)
{
  constexpr int     TILE   = GROUP * WIDTH * V;
  const SampleArgs &a      = args.s;
  const int32_t     lane   = threadIdx.x % GROUP;
  const bool        cut    = blockIdx.x < (uint32_t)args.part_blocks;
  const int64_t     item   = (int64_t)(cut ? blockIdx.x : blockIdx.x - args.part_blocks) * GROUPS + threadIdx.x / GROUP;
  HrpbInt           begin  = 0;
  int32_t           length = 0, row = 0, longest;

  if (cut) {
    if (item < args.nparts) {
      begin  = args.parts[item].begin;
      length = args.parts[item].length;
      row    = HrpbRowOfEntry(a.rowptr, a.nrows, begin);
    }
  } else if (item < a.nrows) {
    const HrpbInt entries = __ldg(a.rowptr + item + 1) - __ldg(a.rowptr + item);

    begin  = __ldg(a.rowptr + item);
    length = entries <= args.part_entries ? (int32_t)entries : 0;
    row    = (int32_t)item;
  }
  longest = __reduce_max_sync(HRPB_ALL_LANES, length);
  HrpbWaitForKernelBefore();
#pragma unroll 1
  for (int32_t first = 0; first < longest; first += GROUP) {
    const bool    mine = first + lane < length;
    const int32_t col  = mine ? (int32_t)__ldg(a.colidx + begin + first + lane) : a.ncols;
    HrpbScalar    sum[GROUP] = {};

#pragma unroll 1
    for (int32_t n0 = lane * WIDTH; n0 - lane * WIDTH < args.ldr; n0 += TILE) {
      HrpbScalar   x[V][WIDTH];
      SampleVector y[GROUP][V];

#pragma unroll
      for (int v = 0; v < V; v++) {
        const int32_t n = n0 + v * GROUP * WIDTH;

#pragma unroll
        for (int w = 0; w < WIDTH; w++) x[v][w] = n + w < a.N ? __ldg(a.left + row + (n + w) * a.ldleft) : (HrpbScalar)0;
      }
#pragma unroll
      for (int u = 0; u < GROUP; u++) {
        const HrpbScalar *r = args.R + (int64_t)__shfl_sync(HRPB_ALL_LANES, col, u, GROUP) * args.ldr;

#pragma unroll
        for (int v = 0; v < V; v++) {
          const int32_t n = n0 + v * GROUP * WIDTH;

          y[u][v] = n < args.ldr ? *(const SampleVector *)(r + n) : SampleVector{};
        }
      }
#pragma unroll
      for (int u = 0; u < GROUP; u++) {
#pragma unroll
        for (int v = 0; v < V; v++) {
#pragma unroll
          for (int w = 0; w < WIDTH; w++) sum[u] = fma(x[v][w], y[u][v].x[w], sum[u]);
        }
      }
    }
    ExchangeSums<4>(sum, lane);
    ExchangeSums<2>(sum, lane);
    ExchangeSums<1>(sum, lane);
    if (mine) {
      const HrpbInt at = begin + first + lane;

      if (!isfinite(sum[0])) sum[0] = SampleInOneGo(a.left + row, a.ldleft, args.R + (int64_t)col * args.ldr, 1, a.N);
      a.out[at] = a.values ? a.values[at] * sum[0] : sum[0];
    }
  }
}

static_assert(GROUP == 8, "sums are exchanged in three steps");

/* Columns of a row of the copy: whole sectors of 32 bytes, and one even for operands without columns */
static int32_t LeadingDimension(int64_t N)
{
  return N ? (int32_t)((N + 2 * WIDTH - 1) / (2 * WIDTH) * (2 * WIDTH)) : 2 * WIDTH;
}

static bool Takes(const SpmmFacts *, const HrpbParams *, const SpmmOperands *, const SpmmDevice *)
{
  return true;
}

static HrpbError Work(const SpmmMatrix *A, const SpmmOperands *o, size_t *bytes)
{
  *bytes = o->X.layout == SPMM_ROW_MAJOR_PADDED ? 0 : sizeof(HrpbScalar) * ((size_t)A->ncols + 1) * (size_t)LeadingDimension(o->N);
  return HRPB_SUCCESS;
}

static double Seconds(const SpmmFacts *facts, const HrpbParams *params, HrpbPrecision precision, int64_t N, const SpmmDevice *device)
{
  return device->model->sampled.copy * SpmmCsrCopy.seconds(facts, params, precision, N, device);
}

template <int V> static HrpbError Launch(const SampleCopyArgs &a, bool first, HrpbStream stream)
{
  return LaunchAs(first, SampleCopy<V>, dim3(a.part_blocks + HrpbGrid(a.s.nrows, GROUPS)), CSR_THREADS, 0, stream, a);
}

static HrpbError Run(const SpmmMatrix *A, const SpmmOperands *o, void *work, HrpbStream stream)
{
  const CsrSchedule *s     = A->csr;
  const bool         first = o->X.layout != SPMM_COLUMN_MAJOR; /* the only kernel of the product */
  SampleCopyArgs     a = {SampleArgsOf(A, o), (const CsrPart *)s->parts, s->nparts, s->part_entries, (s->nparts + GROUPS - 1) / GROUPS, o->X.array, (int32_t)o->X.ld};

  if (!first) {
    a.R   = (const HrpbScalar *)work;
    a.ldr = LeadingDimension(o->N);
    HrpbCall(RowMajor(o->X.array, o->X.ld, a.s.ncols, a.s.N, (HrpbScalar *)work, a.s.ncols + 1, a.ldr, stream));
  }
  return a.s.N <= GROUP * WIDTH ? Launch<1>(a, first, stream) : Launch<2>(a, first, stream);
}

int64_t SampledRowMajorLD(int64_t N)
{
  return LeadingDimension(N);
}

HrpbError SampledRowMajorDevice(int64_t nrows, int64_t N, const HrpbScalar *from, int64_t ldfrom, HrpbScalar *to, HrpbStream stream)
{
  return nrows ? RowMajor(from, ldfrom, (int32_t)nrows, (int32_t)N, to, (int32_t)nrows, LeadingDimension(N), stream) : HRPB_SUCCESS;
}

SPMM_KERNEL(SpmmSampledCopy) = {
  .name    = "sampled-copy",
  .what    = "sampled products with a row-major copy of the right operand",
  .op      = SPMM_OP_SAMPLED,
  .format  = SPMM_CSR,
  .takes   = Takes,
  .work    = Work,
  .seconds = Seconds,
  .copies  = LeadingDimension,
  .run     = Run
};
