/*
   Packing on a device. A thread block transposes a tile in shared memory: it reads along columns of B, where rows that
   are packed together often lie together, and writes whole rows.
*/
#include "halo.h"
#include "../common/device.cuh"

enum {
  SIDE    = 32, /* rows and columns of a tile; one more column keeps lanes apart in the banks */
  THREADS = 256
};

static __global__ void __launch_bounds__(THREADS) Pack(const HrpbInt *rows, int64_t nrows, int64_t N, const HrpbScalar *B, int64_t ldb, HrpbScalar *to)
{
  __shared__ HrpbScalar tile[SIDE][SIDE + 1];
  const int64_t         i0   = (int64_t)blockIdx.x * SIDE;
  const int             lane = threadIdx.x % SIDE, warp = threadIdx.x / SIDE;
  const int64_t         row = i0 + lane < nrows ? (int64_t)rows[i0 + lane] : -1;

  for (int64_t n0 = (int64_t)blockIdx.y * SIDE; n0 < N; n0 += (int64_t)gridDim.y * SIDE) {
#pragma unroll
    for (int n = warp; n < SIDE; n += THREADS / SIDE) {
      if (row >= 0 && n0 + n < N) tile[n][lane] = B[row + (n0 + n) * ldb];
    }
    __syncthreads();
#pragma unroll
    for (int i = warp; i < SIDE; i += THREADS / SIDE) {
      if (i0 + i < nrows && n0 + lane < N) to[(i0 + i) * N + n0 + lane] = tile[lane][i];
    }
    __syncthreads();
  }
}

HrpbError HaloPackDevice(const HrpbInt *rows, int64_t nrows, int64_t N, const HrpbScalar *B, int64_t ldb, HrpbScalar *to, HrpbStream stream)
{
  if (nrows == 0 || N == 0) return HRPB_SUCCESS;
  HrpbCall(HrpbLaunch(Pack, dim3(HrpbGrid(nrows, SIDE), HrpbGrid(N, SIDE, 65535)), THREADS, 0, stream, rows, nrows, N, B, ldb, to));
  return HRPB_SUCCESS;
}
