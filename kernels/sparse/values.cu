/*
   The values of a product whose pattern is known.

   A group of threads has a row of the result, with a table of its columns and their sums. It takes the entries of the
   row of A in their order, as many at a time as there are threads for the rows of B. Threads load, multiply and
   search at the same time, and add by turns, so each sum has the same order of terms every time. No two threads of a
   turn meet in one place, for they have entries of one row.
*/
#include "../common/launch.cuh"
#include "product.cuh"
#include "row.cuh"

/* A warp for a row */
static __global__ void __launch_bounds__(HRPB_THREADS) ByWarps(const __grid_constant__ SparseMatrix A, const __grid_constant__ SparseMatrix B, const int32_t *rows, int64_t n, int bits, int lanes, const HrpbInt *rowptr, const HrpbInt *colidx, HrpbScalar *values)
{
  extern __shared__ __align__(16) uint8_t shared[];
  const uint32_t                          lane = threadIdx.x % HRPB_LANES, warp = threadIdx.x / HRPB_LANES, at_once = HRPB_LANES >> lanes, mine = lane >> lanes, width = 1u << lanes;
  HrpbScalar                             *sums = (HrpbScalar *)shared + ((size_t)warp << bits);
  int32_t                                *keys = (int32_t *)((HrpbScalar *)shared + ((size_t)HRPB_WARPS << bits)) + ((size_t)warp << bits);
  const int64_t                           r    = (int64_t)blockIdx.x * HRPB_WARPS + warp;

  if (r >= n) return;
  const int64_t row = rows[r], to = rowptr[row], to_end = rowptr[row + 1], end = A.rowptr[row + 1];

  SparseClear<HRPB_LANES>(keys, bits);
  for (uint32_t i = lane; i < 1u << bits; i += HRPB_LANES) sums[i] = 0;
  __syncwarp();
  for (int64_t k = to + lane; k < to_end; k += HRPB_LANES) (void)SparseInsert(keys, bits, (int32_t)colidx[k]);
  __syncwarp();
  for (int64_t first = A.rowptr[row]; first < end; first += HRPB_LANES) {
    const uint32_t count = (uint32_t)(end - first < HRPB_LANES ? end - first : HRPB_LANES);
    const HrpbInt  middle = lane < count ? A.colidx[first + lane] : 0;
    const HrpbInt  begins = lane < count ? B.rowptr[middle] : 0, has = lane < count ? B.rowptr[middle + 1] - begins : 0;

    for (uint32_t e = 0; e < count; e += at_once) {
      const uint32_t   entry   = e + mine < HRPB_LANES ? e + mine : HRPB_LANES - 1;
      const HrpbInt    from   = __shfl_sync(HRPB_ALL_LANES, begins, (int)entry);
      const HrpbInt    there   = __shfl_sync(HRPB_ALL_LANES, has, (int)entry); /* lanes beyond count have zero */
      const uint32_t   length  = e + mine < HRPB_LANES ? (uint32_t)there : 0;
      const uint32_t   longest = __reduce_max_sync(HRPB_ALL_LANES, length);
      const HrpbScalar a       = length ? A.values[first + entry] : (HrpbScalar)0;

      for (uint32_t l = lane & (width - 1); l - (lane & (width - 1)) < longest; l += width) {
        int32_t    place = -1;
        HrpbScalar x     = 0;

        if (l < length) {
          place = SparseFind(keys, bits, (int32_t)B.colidx[from + l]);
          x     = a * B.values[from + l];
        }
        for (uint32_t turn = 0; turn < at_once; turn++) {
          if (turn == mine && place >= 0) sums[place] += x;
          __syncwarp();
        }
      }
    }
  }
  for (int64_t k = to + lane; k < to_end; k += HRPB_LANES) values[k] = sums[SparseFind(keys, bits, (int32_t)colidx[k])];
}

/* A thread block for a row: its threads have one row of B at a time */
static __global__ void __launch_bounds__(HRPB_THREADS) ByBlocks(const __grid_constant__ SparseMatrix A, const __grid_constant__ SparseMatrix B, const int32_t *rows, int bits, const HrpbInt *rowptr, const HrpbInt *colidx, HrpbScalar *values)
{
  extern __shared__ __align__(16) uint8_t shared[];
  __shared__ int64_t                      begins[HRPB_THREADS];
  __shared__ uint32_t                     lengths[HRPB_THREADS];
  HrpbScalar                             *sums = (HrpbScalar *)shared;
  int32_t                                *keys = (int32_t *)(sums + ((size_t)1 << bits));
  const int64_t                           row = rows[blockIdx.x], to = rowptr[row], to_end = rowptr[row + 1], end = A.rowptr[row + 1];

  if (bits) {
    SparseClear<HRPB_THREADS>(keys, bits);
    for (uint32_t i = threadIdx.x; i < 1u << bits; i += HRPB_THREADS) sums[i] = 0;
    __syncthreads();
    for (int64_t k = to + threadIdx.x; k < to_end; k += HRPB_THREADS) (void)SparseInsert(keys, bits, (int32_t)colidx[k]);
  } else { /* no table is large enough: the sums are where they will stay, and are found by bisection */
    for (int64_t k = to + threadIdx.x; k < to_end; k += HRPB_THREADS) values[k] = 0;
  }
  for (int64_t first = A.rowptr[row]; first < end; first += HRPB_THREADS) {
    const uint32_t count = (uint32_t)(end - first < HRPB_THREADS ? end - first : HRPB_THREADS);

    __syncthreads();
    if (threadIdx.x < count) {
      const HrpbInt middle = A.colidx[first + threadIdx.x];

      begins[threadIdx.x]  = B.rowptr[middle];
      lengths[threadIdx.x] = (uint32_t)(B.rowptr[middle + 1] - B.rowptr[middle]);
    }
    __syncthreads();
    for (uint32_t e = 0; e < count; e++) {
      const HrpbScalar a = A.values[first + e];

      for (uint32_t l = threadIdx.x; l < lengths[e]; l += HRPB_THREADS) {
        const HrpbInt    column = B.colidx[begins[e] + l];
        const HrpbScalar x      = a * B.values[begins[e] + l];

        if (bits) {
          const int32_t place = SparseFind(keys, bits, (int32_t)column);

          if (place >= 0) sums[place] += x;
        } else {
          int64_t low = to, high = to_end;

          while (low < high) {
            const int64_t half = low + (high - low) / 2;

            if (colidx[half] < column) low = half + 1;
            else high = half;
          }
          if (low < to_end && colidx[low] == column) values[low] += x;
        }
      }
      if (lengths[e]) __syncthreads();
    }
  }
  __syncthreads();
  if (!bits) return;
  for (int64_t k = to + threadIdx.x; k < to_end; k += HRPB_THREADS) values[k] = sums[SparseFind(keys, bits, (int32_t)colidx[k])];
}

HrpbError SparseProductFill(const SparseProduct *p, const SparseMatrix *A, const SparseMatrix *B, HrpbScalar *values, HrpbStream stream)
{
  const SpmmDevice *device;

  HrpbCall(SpmmGetDevice(&device));
  for (int bin = 0; bin < SPARSE_BINS; bin++) {
    const int32_t *rows = p->rows + p->begin[bin];
    const int64_t  n    = p->begin[bin + 1] - p->begin[bin];
    int            bits = bin < SPARSE_BINS - 1 ? SparseBinBits(bin) : 0;
    size_t         table = (sizeof(HrpbScalar) + sizeof(int32_t)) << bits;

    if (n == 0) continue;
    if (SparseBinIsWarps(bin) && SparseFits(device, HRPB_WARPS * table)) {
      HrpbCall(SparseShared(ByWarps, HRPB_WARPS * table));
      HrpbCall(HrpbLaunch(ByWarps, HrpbGrid(n, HRPB_WARPS), HRPB_THREADS, HRPB_WARPS * table, stream, *A, *B, rows, n, bits, p->lanes, p->rowptr, p->colidx, values));
    } else {
      if (!bits || !SparseFits(device, table)) bits = 0, table = 0;
      HrpbCall(SparseShared(ByBlocks, table));
      HrpbCall(HrpbLaunch(ByBlocks, (unsigned int)n, HRPB_THREADS, table, stream, *A, *B, rows, bits, p->rowptr, p->colidx, values));
    }
  }
  return HRPB_SUCCESS;
}
