/*
   Adding sums of other processes on a device. A thread block has a tile of C in shared memory: it reads and writes C
   along columns, where rows of a halo often lie together, and sums along rows.
*/
#include "halo.h"
#include "../common/device.cuh"

enum {
  SIDE    = 32, /* rows and columns of a tile; one more column keeps lanes apart in the banks */
  THREADS = 256
};

namespace {
struct AddArgs {
  int64_t           nrows, N, ldc;
  const HrpbInt    *rows, *start, *at;
  const HrpbScalar *from;
  HrpbScalar       *C;
};
} // namespace

static __global__ void __launch_bounds__(THREADS) Add(const __grid_constant__ AddArgs a)
{
  __shared__ HrpbScalar tile[SIDE][SIDE + 1];
  const int64_t         i0   = (int64_t)blockIdx.x * SIDE;
  const int             lane = threadIdx.x % SIDE, warp = threadIdx.x / SIDE;
  const int64_t         row = i0 + lane < a.nrows ? (int64_t)a.rows[i0 + lane] : -1;

  for (int64_t n0 = (int64_t)blockIdx.y * SIDE; n0 < a.N; n0 += (int64_t)gridDim.y * SIDE) {
#pragma unroll
    for (int n = warp; n < SIDE; n += THREADS / SIDE) {
      if (row >= 0 && n0 + n < a.N) tile[n][lane] = a.C[row + (n0 + n) * a.ldc];
    }
    __syncthreads();
    for (int i = warp; i < SIDE; i += THREADS / SIDE) {
      if (i0 + i < a.nrows && n0 + lane < a.N) {
        HrpbScalar sum = tile[lane][i];

        for (int64_t k = a.start[i0 + i]; k < a.start[i0 + i + 1]; k++) sum += a.from[(int64_t)a.at[k] * a.N + n0 + lane];
        tile[lane][i] = sum;
      }
    }
    __syncthreads();
#pragma unroll
    for (int n = warp; n < SIDE; n += THREADS / SIDE) {
      if (row >= 0 && n0 + n < a.N) a.C[row + (n0 + n) * a.ldc] = tile[n][lane];
    }
    __syncthreads();
  }
}

HrpbError HaloAddDevice(int64_t nrows, const HrpbInt *rows, const HrpbInt *start, const HrpbInt *at, int64_t N, const HrpbScalar *from, HrpbScalar *C, int64_t ldc, HrpbStream stream)
{
  const AddArgs a = {nrows, N, ldc, rows, start, at, from, C};

  if (nrows == 0 || N == 0) return HRPB_SUCCESS;
  HrpbCall(HrpbLaunch(Add, dim3(HrpbGrid(nrows, SIDE), HrpbGrid(N, SIDE, 65535)), THREADS, 0, stream, a));
  return HRPB_SUCCESS;
}
