/*
   A row-major copy of B: from it a kernel that reads single rows of B reads whole sectors.
*/
#pragma once

#include "device.cuh"

enum {
  COPY_THREADS = 256,
  COPY_TILE    = 4 * COPY_THREADS /* scalars that a thread block transposes */
};

/*
   R [rows x ldr] = B [nrows x N], with zeros in the columns and rows beyond. Tiles have COLS columns. Their rows in
   shared memory are padded, so that no two lanes meet in a bank
*/
template <int COLS, typename Scalar> __global__ void __launch_bounds__(COPY_THREADS) CopyRowMajor(const Scalar *B, int64_t ldb, int32_t nrows, int32_t N, Scalar *R, int32_t rows, int32_t ldr)
{
  constexpr int     ROWS = COPY_TILE / COLS, BANKS = 128 / sizeof(Scalar), PADDING = BANKS > COLS ? BANKS / COLS : 1;
  __shared__ Scalar tile[COLS][ROWS + PADDING];
  const int64_t     r0 = (int64_t)blockIdx.x * ROWS;
  const int32_t     n0 = blockIdx.y * COLS;

#pragma unroll
  for (int i = threadIdx.x; i < COPY_TILE; i += COPY_THREADS) {
    const int r = i % ROWS, n = i / ROWS;

    tile[n][r] = r0 + r < nrows && n0 + n < N ? __ldcs(B + r0 + r + (n0 + n) * ldb) : (Scalar)0; /* leaves L2 to R */
  }
  __syncthreads();
#pragma unroll
  for (int i = threadIdx.x; i < COPY_TILE; i += COPY_THREADS) {
    const int r = i / COLS, n = i % COLS;

    if (r0 + r < rows && n0 + n < ldr) R[(r0 + r) * ldr + n0 + n] = tile[n][r];
  }
}

template <int COLS, typename Scalar> static HrpbError RowMajorTiles(const Scalar *B, int64_t ldb, int32_t nrows, int32_t N, Scalar *R, int32_t rows, int32_t ldr, cudaStream_t stream)
{
  CopyRowMajor<COLS><<<dim3(HrpbGrid(rows, COPY_TILE / COLS), (ldr + COLS - 1) / COLS), COPY_THREADS, 0, stream>>>(B, ldb, nrows, N, R, rows, ldr);
  HrpbCallCuda(cudaGetLastError());
  return HRPB_SUCCESS;
}

template <typename Scalar> static HrpbError RowMajor(const Scalar *B, int64_t ldb, int32_t nrows, int32_t N, Scalar *R, int32_t rows, int32_t ldr, cudaStream_t stream)
{
  if (ldr <= 4) return RowMajorTiles<4>(B, ldb, nrows, N, R, rows, ldr, stream);
  if (ldr <= 8) return RowMajorTiles<8>(B, ldb, nrows, N, R, rows, ldr, stream);
  if (ldr <= 16) return RowMajorTiles<16>(B, ldb, nrows, N, R, rows, ldr, stream);
  return RowMajorTiles<32>(B, ldb, nrows, N, R, rows, ldr, stream);
}
