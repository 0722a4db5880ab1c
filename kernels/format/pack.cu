#include "packed.cuh"
#include "strip.cuh"

enum {
  BATCH = 4, /* bricks that are loaded before the first is stored. 8 take 1.1 times as long: registers */
  TAKEN = 4  /* values of a thread that are on their way together */
};

namespace {
/* What goes to the place of an entry of the CSR: its value */
struct ValueOfEntry {
  typedef HrpbScalar Type;
  const HrpbScalar  *csr_values;

  __device__ __forceinline__ HrpbScalar operator()(int64_t k) const { return csr_values[k]; }
  static __device__ __forceinline__ HrpbScalar None(void) { return 0; }
};

/* Or the number of the entry */
struct NumberOfEntry {
  typedef int32_t Type;

  __device__ __forceinline__ int32_t operator()(int64_t k) const { return (int32_t)k; }
  static __device__ __forceinline__ int32_t None(void) { return -1; }
};
} // namespace

template <int HALVES, typename What> static __global__ void __launch_bounds__(HRPB_THREADS) PackStrips(HrpbRows rows, Hrpb h, HrpbUnits units, What what, const HrpbInt *__restrict__ entry, typename What::Type *__restrict__ packed)
{
  typedef typename What::Type Type;
  const int32_t  lane = threadIdx.x % HRPB_LANES, shift = lane & ~3, nstrips = h.params.panel_rows / h.params.brick_rows;
  const uint32_t below = (1u << lane) - 1, counted = HrpbCounted(lane, h.params.pairs);
  const uint32_t part = h.params.pairs ? HrpbPairPart(lane) : 0, packs = h.params.pairs ? 0x55555555 : ~0u;

  for (int64_t unit = (int64_t)blockIdx.x * HRPB_WARPS + threadIdx.x / HRPB_LANES; unit < units.n; unit += (int64_t)gridDim.x * HRPB_WARPS) {
    const HrpbUnit u = HrpbGetUnit(&h, &units, (uint32_t)unit);
    /* of the lane's block: its runs, and its bricks in the strip */
    const PackedBrick *bricks      = NULL;
    uint32_t           first_brick = 0, strip_bricks = 0, value = 0;
    int64_t            panel       = 0;

    if (u.begin + lane < u.end) {
      const uint8_t    *run = h.pattern + (size_t)h.pattern_ptr[u.begin + lane] * HRPB_PATTERN_UNIT;
      const PackedBlock p(run, nstrips);

      bricks       = p.brick;
      first_brick  = p.strip_start[u.strip];
      strip_bricks = p.strip_start[u.strip + 1] - first_brick;
      value        = h.value_ptr[u.begin + lane];
      if (u.strip == 0) { /* what follows the values of a block */
        const uint32_t padded = (h.value_ptr[u.begin + lane + 1] - value) * HRPB_VALUE_UNIT;

        for (uint32_t i = ((const HrpbBlockHeader *)run)->nvalues; i < padded; i++) packed[(size_t)value * HRPB_VALUE_UNIT + i] = What::None();
      }
    }
    for (uint32_t block = u.begin, end; block < u.end; block = end) {
      HrpbCursors<HALVES> c;
      Type               *to;
      uint32_t            mine, upto, total, value0;

      panel  = HrpbFindPanel(h.blocked_row_ptr, h.npanels, panel, block);
      end    = min(u.end, h.blocked_row_ptr[panel + 1]);
      c      = HrpbSeek<HALVES>(&rows, &h, panel, u.strip, block);
      mine   = u.begin + lane >= block && u.begin + lane < end ? strip_bricks : 0;
      upto   = HrpbWarpInclusiveSum(mine);
      total  = __shfl_sync(HRPB_ALL_LANES, upto, HRPB_LANES - 1);
      value0 = __shfl_sync(HRPB_ALL_LANES, value, block - u.begin);
      to     = packed + (size_t)value0 * HRPB_VALUE_UNIT;

      /* the bricks of the strip in all blocks up to end, one for each lane */
      for (uint32_t brick0 = 0; brick0 < total; brick0 += HRPB_LANES) {
        uint32_t bits[HALVES] = {0}, at = 0;
        int      owner = 0; /* the lane that has the brick's block: the first whose upto is beyond the brick */

#pragma unroll
        for (int step = HRPB_LANES / 2; step > 0; step /= 2) {
          if (__shfl_sync(HRPB_ALL_LANES, upto, owner + step - 1) <= brick0 + lane) owner += step;
        }
        {
          const PackedBrick *owner_bricks = (const PackedBrick *)__shfl_sync(HRPB_ALL_LANES, (unsigned long long)bricks, owner);
          const uint32_t     brick        = brick0 + lane - __shfl_sync(HRPB_ALL_LANES, upto - mine, owner) + __shfl_sync(HRPB_ALL_LANES, first_brick, owner);
          const uint32_t     owner_value  = __shfl_sync(HRPB_ALL_LANES, value, owner);

          if (brick0 + lane < total) {
            const PackedBrick b = owner_bricks[brick];

#pragma unroll
            for (int half = 0; half < HALVES; half++) bits[half] = b.Pattern(half);
            at = (owner_value - value0) * HRPB_VALUE_UNIT + b.Value(0);
          }
        }
        /* brick after brick, with a slot for each lane; lanes without a brick have no bits */
        for (int i = 0; i < HRPB_LANES && brick0 + i < total; i += BATCH) {
          Type     x[BATCH][HALVES];
          uint32_t place[BATCH][HALVES];
          bool     set[BATCH][HALVES];

#pragma unroll
          for (int j = 0; j < BATCH; j++) {
            uint32_t first = __shfl_sync(HRPB_ALL_LANES, at, i + j);

#pragma unroll
            for (int half = 0; half < HALVES; half++) {
              const uint32_t b = __shfl_sync(HRPB_ALL_LANES, bits[half], i + j), row = b >> shift & 15;

              set[j][half]   = b & packs & 1u << lane;
              place[j][half] = first + (__popc(b & counted) << h.params.pairs) + part;
              if (set[j][half]) {
                const int64_t k = c.next[half] + __popc(row & (below >> shift));

                x[j][half] = what(entry ? (int64_t)entry[k] : k);
              }
              c.next[half] += __popc(row);
              first += HrpbStored(__popc(b), h.params.pairs);
            }
          }
#pragma unroll
          for (int j = 0; j < BATCH; j++) {
#pragma unroll
            for (int half = 0; half < HALVES; half++) {
              if (set[j][half]) to[place[j][half]] = x[j][half];
            }
          }
        }
      }
    }
  }
}

template <typename What> static HrpbError Pack(const Hrpb *h, const HrpbInt *rowptr, const HrpbInt *colidx, What what, const HrpbInt *entry, typename What::Type *packed, HrpbStream stream)
{
  const HrpbRows     rows  = HrpbMakeRows(h->nrows, rowptr, colidx, h->order, h->params.panel_rows, h->params.window_cols);
  const HrpbUnits    units = HrpbMakeUnits(h);
  const unsigned int grid  = HrpbGrid(units.n, HRPB_WARPS);

  if (h->nblocks == 0) return HRPB_SUCCESS;
  if (h->params.brick_rows == 8) HrpbCall(HrpbLaunch(PackStrips<1, What>, grid, HRPB_THREADS, 0, stream, rows, *h, units, what, entry, packed));
  else HrpbCall(HrpbLaunch(PackStrips<2, What>, grid, HRPB_THREADS, 0, stream, rows, *h, units, what, entry, packed));
  return HRPB_SUCCESS;
}

HrpbError HrpbPackValuesDevice(const Hrpb *h, const HrpbInt *rowptr, const HrpbInt *colidx, const HrpbScalar *csr_values, const HrpbInt *entry, HrpbScalar *values, HrpbStream stream)
{
  const ValueOfEntry what = {csr_values};

  return Pack(h, rowptr, colidx, what, entry, values, stream);
}

HrpbError HrpbMapValuesDevice(const Hrpb *h, const HrpbInt *rowptr, const HrpbInt *colidx, const HrpbInt *entry, int32_t *map, HrpbStream stream)
{
  if (h->nnz > INT32_MAX) return HRPB_ERR_OVERFLOW;
  return Pack(h, rowptr, colidx, NumberOfEntry(), entry, map, stream);
}

static __global__ void __launch_bounds__(HRPB_THREADS) TakeValues(int64_t n, const int32_t *__restrict__ map, const HrpbScalar *__restrict__ csr_values, HrpbScalar *__restrict__ values)
{
  for (int64_t first = (int64_t)blockIdx.x * HRPB_THREADS * TAKEN + threadIdx.x; first < n; first += (int64_t)gridDim.x * HRPB_THREADS * TAKEN) {
    int32_t    k[TAKEN];
    HrpbScalar x[TAKEN];

#pragma unroll
    for (int i = 0; i < TAKEN; i++) k[i] = first + i * HRPB_THREADS < n ? map[first + i * HRPB_THREADS] : -1;
#pragma unroll
    for (int i = 0; i < TAKEN; i++) x[i] = k[i] < 0 ? 0 : csr_values[k[i]];
#pragma unroll
    for (int i = 0; i < TAKEN; i++) {
      if (first + i * HRPB_THREADS < n) values[first + i * HRPB_THREADS] = x[i];
    }
  }
}

HrpbError HrpbTakeValuesDevice(const Hrpb *h, const int32_t *map, const HrpbScalar *csr_values, HrpbScalar *values, HrpbStream stream)
{
  const int64_t n = HrpbValueCount(h);

  if (!n) return HRPB_SUCCESS;
  HrpbCall(HrpbLaunch(TakeValues, HrpbGrid(n, (int)HRPB_THREADS * TAKEN), HRPB_THREADS, 0, stream, n, map, csr_values, values));
  return HRPB_SUCCESS;
}
