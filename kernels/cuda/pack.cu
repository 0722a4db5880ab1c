#include "packed.cuh"
#include "strip.cuh"

enum {
  BATCH = 4 /* bricks whose values are loaded before the first of them is stored */
};

/* Zero what follows the values of a block */
static __device__ inline void StorePadding(HrpbScalar *values, uint32_t nvalues, uint32_t padded)
{
  for (; nvalues < padded; nvalues++) values[nvalues] = 0;
}

template <int HALVES> static __global__ void __launch_bounds__(HRPB_THREADS) PackStrips(HrpbRows rows, Hrpb h, HrpbUnits units, const HrpbScalar *__restrict__ csr_values, const HrpbInt *__restrict__ entry, HrpbScalar *__restrict__ values)
{
  const int32_t  lane = threadIdx.x % HRPB_LANES, shift = lane & ~3, nstrips = h.params.panel_rows / h.params.brick_rows;
  const uint32_t below = (1u << lane) - 1;

  for (int64_t unit = (int64_t)blockIdx.x * HRPB_WARPS + threadIdx.x / HRPB_LANES; unit < units.n; unit += (int64_t)gridDim.x * HRPB_WARPS) {
    const HrpbUnit u = HrpbGetUnit(&h, &units, (uint32_t)unit);
    /* of the lane's block: its runs and its bricks in the strip */
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
      if (u.strip == 0) StorePadding(values + (size_t)value * HRPB_VALUE_UNIT, ((const HrpbBlockHeader *)run)->nvalues, (h.value_ptr[u.begin + lane + 1] - value) * HRPB_VALUE_UNIT);
    }
    for (uint32_t block = u.begin, end; block < u.end; block = end) {
      HrpbCursors<HALVES> c;
      HrpbScalar         *to;
      uint32_t            mine, upto, total, value0;

      panel  = HrpbFindPanel(h.blocked_row_ptr, h.npanels, panel, block);
      end    = min(u.end, h.blocked_row_ptr[panel + 1]);
      c      = HrpbSeek<HALVES>(&rows, &h, panel, u.strip, block);
      mine   = u.begin + lane >= block && u.begin + lane < end ? strip_bricks : 0;
      upto   = HrpbWarpInclusiveSum(mine);
      total  = __shfl_sync(HRPB_ALL_LANES, upto, HRPB_LANES - 1);
      value0 = __shfl_sync(HRPB_ALL_LANES, value, block - u.begin);
      to     = values + (size_t)value0 * HRPB_VALUE_UNIT;

      /* the strip's bricks of all blocks up to end, one a lane */
      for (uint32_t brick0 = 0; brick0 < total; brick0 += HRPB_LANES) {
        uint32_t bits[HALVES] = {0}, at = 0;
        int      owner = 0; /* the lane of the brick's block: the first whose upto is beyond the brick */

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
        /* brick after brick, one slot a lane; lanes without a brick have no bits */
        for (int i = 0; i < HRPB_LANES && brick0 + i < total; i += BATCH) {
          HrpbScalar x[BATCH][HALVES];
          uint32_t   place[BATCH][HALVES];
          bool       set[BATCH][HALVES];

#pragma unroll
          for (int j = 0; j < BATCH; j++) {
            uint32_t first = __shfl_sync(HRPB_ALL_LANES, at, i + j);

#pragma unroll
            for (int half = 0; half < HALVES; half++) {
              const uint32_t b = __shfl_sync(HRPB_ALL_LANES, bits[half], i + j), row = b >> shift & 15;

              set[j][half]   = b >> lane & 1;
              place[j][half] = first + __popc(b & below);
              if (set[j][half]) {
                const int64_t k = c.next[half] + __popc(row & (below >> shift));

                x[j][half] = csr_values[entry ? (int64_t)entry[k] : k];
              }
              c.next[half] += __popc(row);
              first += __popc(b);
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

HrpbError HrpbPackValuesDevice(const Hrpb *h, const HrpbInt *rowptr, const HrpbInt *colidx, const HrpbScalar *csr_values, const HrpbInt *entry, HrpbScalar *values, HrpbStream stream)
{
  const HrpbRows     rows  = HrpbMakeRows(h->nrows, rowptr, colidx, h->order, h->params.panel_rows, h->params.window_cols);
  const HrpbUnits    units = HrpbMakeUnits(h);
  const unsigned int grid  = HrpbGrid(units.n, HRPB_WARPS);

  if (h->nblocks == 0) return HRPB_SUCCESS;
  if (h->params.brick_rows == 8) PackStrips<1><<<grid, HRPB_THREADS, 0, stream>>>(rows, *h, units, csr_values, entry, values);
  else PackStrips<2><<<grid, HRPB_THREADS, 0, stream>>>(rows, *h, units, csr_values, entry, values);
  HrpbCallCuda(cudaGetLastError());
  return HRPB_SUCCESS;
}
