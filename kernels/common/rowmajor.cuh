/*
   Row-major copies of B, and back: a kernel that reads single rows of B, or writes single rows of C, has whole sectors.
   Rows may come to other places on the way. They are whole there, too.
*/
#pragma once

#include "device.cuh"

/* The number and up to 32 bytes more: scalars of whole sectors */
static inline int64_t WholeSectors(int64_t n)
{
  const int64_t unit = HRPB_SECTOR / (int64_t)sizeof(HrpbScalar);

  return (n + unit - 1) / unit * unit;
}

enum {
  COPY_THREADS = 256,
  COPY_TILE    = 4 * COPY_THREADS /* scalars that a thread block transposes */
};

/* A tile of COLS columns. Its columns in shared memory are padded, so that no two lanes meet in a bank */
template <int COLS, typename Scalar> struct CopyTile {
  static constexpr int ROWS = COPY_TILE / COLS, BANKS = 128 / sizeof(Scalar), PADDING = BANKS > COLS ? BANKS / COLS : 1;
  Scalar               at[COLS][ROWS + PADDING];
};

/* The place of row r: place[r], or r where place is NULL */
static __device__ __forceinline__ int64_t CopyPlace(const int32_t *place, int64_t r)
{
  return place ? place[r] : r;
}

/* R [rows x ldr] = B [nrows x N], with zeros in the columns and rows beyond. Row r comes to row place[r] of R */
template <int COLS, typename Scalar> __global__ void __launch_bounds__(COPY_THREADS) CopyRowMajor(const Scalar *B, int64_t ldb, int32_t nrows, int32_t N, const int32_t *place, Scalar *R, int32_t rows, int32_t ldr)
{
  constexpr int     ROWS = CopyTile<COLS, Scalar>::ROWS;
  __shared__ CopyTile<COLS, Scalar> tile;
  const int64_t     r0 = (int64_t)blockIdx.x * ROWS;
  const int32_t     n0 = blockIdx.y * COLS;

#pragma unroll
  for (int i = threadIdx.x; i < COPY_TILE; i += COPY_THREADS) {
    const int r = i % ROWS, n = i / ROWS;

    tile.at[n][r] = r0 + r < nrows && n0 + n < N ? __ldcs(B + r0 + r + (n0 + n) * ldb) : Scalar(); /* leaves L2 to R */
  }
  __syncthreads();
#pragma unroll
  for (int i = threadIdx.x; i < COPY_TILE; i += COPY_THREADS) {
    const int r = i / COLS, n = i % COLS;

    if (r0 + r < rows && n0 + n < ldr) R[(r0 + r < nrows ? CopyPlace(place, r0 + r) : r0 + r) * ldr + n0 + n] = tile.at[n][r];
  }
}

/* The way back: C [nrows x N] gets row place[r] of R as its row r */
template <int COLS, typename Scalar> __global__ void __launch_bounds__(COPY_THREADS) CopyColumnMajor(const Scalar *R, int32_t ldr, const int32_t *place, Scalar *C, int64_t ldc, int32_t nrows, int32_t N)
{
  constexpr int     ROWS = CopyTile<COLS, Scalar>::ROWS;
  __shared__ CopyTile<COLS, Scalar> tile;
  const int64_t     r0 = (int64_t)blockIdx.x * ROWS;
  const int32_t     n0 = blockIdx.y * COLS;

#pragma unroll
  for (int i = threadIdx.x; i < COPY_TILE; i += COPY_THREADS) {
    const int r = i / COLS, n = i % COLS;

    if (r0 + r < nrows && n0 + n < N) tile.at[n][r] = R[CopyPlace(place, r0 + r) * ldr + n0 + n];
  }
  __syncthreads();
#pragma unroll
  for (int i = threadIdx.x; i < COPY_TILE; i += COPY_THREADS) {
    const int r = i % ROWS, n = i / ROWS;

    if (r0 + r < nrows && n0 + n < N) C[r0 + r + (n0 + n) * ldc] = tile.at[n][r];
  }
}

template <int COLS, typename Scalar> static HrpbError RowMajorTiles(const Scalar *B, int64_t ldb, int32_t nrows, int32_t N, const int32_t *place, Scalar *R, int32_t rows, int32_t ldr, cudaStream_t stream)
{
  HrpbCall(HrpbLaunch(CopyRowMajor<COLS, Scalar>, dim3(HrpbGrid(rows, COPY_TILE / COLS), (ldr + COLS - 1) / COLS), COPY_THREADS, 0, stream, B, ldb, nrows, N, place, R, rows, ldr));
  return HRPB_SUCCESS;
}

template <typename Scalar> static HrpbError RowMajorAt(const Scalar *B, int64_t ldb, int32_t nrows, int32_t N, const int32_t *place, Scalar *R, int32_t rows, int32_t ldr, cudaStream_t stream)
{
  if (ldr <= 4) return RowMajorTiles<4>(B, ldb, nrows, N, place, R, rows, ldr, stream);
  if (ldr <= 8) return RowMajorTiles<8>(B, ldb, nrows, N, place, R, rows, ldr, stream);
  if (ldr <= 16) return RowMajorTiles<16>(B, ldb, nrows, N, place, R, rows, ldr, stream);
  return RowMajorTiles<32>(B, ldb, nrows, N, place, R, rows, ldr, stream);
}

template <typename Scalar> static HrpbError RowMajor(const Scalar *B, int64_t ldb, int32_t nrows, int32_t N, Scalar *R, int32_t rows, int32_t ldr, cudaStream_t stream)
{
  return RowMajorAt(B, ldb, nrows, N, (const int32_t *)NULL, R, rows, ldr, stream);
}

template <int COLS, typename Scalar> static HrpbError ColumnMajorTiles(const Scalar *R, int32_t ldr, const int32_t *place, Scalar *C, int64_t ldc, int32_t nrows, int32_t N, cudaStream_t stream)
{
  HrpbCall(HrpbLaunch(CopyColumnMajor<COLS, Scalar>, dim3(HrpbGrid(nrows, COPY_TILE / COLS), (N + COLS - 1) / COLS), COPY_THREADS, 0, stream, R, ldr, place, C, ldc, nrows, N));
  return HRPB_SUCCESS;
}

template <typename Scalar> static HrpbError ColumnMajorFrom(const Scalar *R, int32_t ldr, const int32_t *place, Scalar *C, int64_t ldc, int32_t nrows, int32_t N, cudaStream_t stream)
{
  if (N <= 4) return ColumnMajorTiles<4>(R, ldr, place, C, ldc, nrows, N, stream);
  if (N <= 8) return ColumnMajorTiles<8>(R, ldr, place, C, ldc, nrows, N, stream);
  if (N <= 16) return ColumnMajorTiles<16>(R, ldr, place, C, ldc, nrows, N, stream);
  return ColumnMajorTiles<32>(R, ldr, place, C, ldc, nrows, N, stream);
}
