/*
   What the kernels on bricks share: long sums in chunks, and the way from accumulators to C.
*/
#pragma once

#include "brick.cuh"

/*
   In double a long sum of bricks of 8 rows is added in chunks, because in one go it has a larger error. With 16 rows
   there are registers for a second set of sums where a warp has half as many tiles: with pairs (HrpbParams). In single
   each step of a tensor core is a sum of its own
*/
enum {
  CHUNK_BRICKS = 8 /* a chunk but the last has so many bricks of a strip, or more: it ends with a block */
};

static constexpr __host__ __device__ bool HasChunks(int precision, int brick_rows, bool pairs)
{
  return precision == HRPB_FP64 && (brick_rows == 8 || pairs);
}

/* total += sum, and sum = 0 */
template <int NT, int SUMS, typename Scalar> static __device__ __forceinline__ void EndChunk(Scalar (&sum)[NT][SUMS], Scalar (&total)[NT][SUMS])
{
#pragma unroll
  for (int t = 0; t < NT; t++) {
#pragma unroll
    for (int i = 0; i < SUMS; i++) {
      total[t][i] += sum[t][i];
      sum[t][i] = 0;
    }
  }
}

/*
   The column of a tile of 16 that lane group g loads as its first (which = 0) or second. Where B is row-major, a load
   brings both: they are neighbours. Otherwise they are eight apart, in separate columns anyway
*/
template <bool NEIGHBOURS> constexpr __device__ __forceinline__ int32_t TileColumn(int32_t g, int32_t which)
{
  return NEIGHBOURS ? 2 * g + which : g + 8 * which;
}

/* Entry i, n of B is B[i * brow + n * ldb], and so with C. brow and crow are 1 where a matrix is column-major */
template <typename Scalar> struct DenseArgs {
  const Scalar *B;
  Scalar       *C;
  int64_t       ldb, ldc, brow, crow;
  int32_t       N;
  /*
     Whether rows of a panel follow each other in C, which is column-major. Two of 8 rows can be written at once then:
     those of a lane (pairs), or in some columns the second of a lane and the first of the next one (straddle)
  */
  bool          pairs, straddle;
  Scalar       *partial;  /* the sums of parts of panels */
  /* the panel of each part, and counters: see parts.cuh */
  const SplitPanel *split;
  uint32_t         *counts;
};

/* The row of the panel and the column of the tile of accumulator i of 16 columns: see mma.cuh */
template <int BM, bool NEIGHBOURS> __device__ __forceinline__ void SumPlace(uint32_t strip, uint32_t lane, int i, int32_t *row, int32_t *col)
{
  const int32_t g = lane / 4, k = lane % 4;

  if (BM == 8) {
    *row = strip * 8 + 2 * k + i % 2;
    *col = TileColumn<NEIGHBOURS>(g, i / 2);
  } else {
    *row = strip * 16 + g + i / 2 % 2 * 8;
    *col = TileColumn<NEIGHBOURS>(2 * k + i % 2, i / 4);
  }
}

/* Write two neighbours at once. The compiler may take two instructions for a struct */
static __device__ __forceinline__ void WritePair(double *to, double x, double y)
{
  asm volatile("st.global.v2.f64 [%0],{%1,%2};" ::"l"(to), "d"(x), "d"(y) : "memory");
}
static __device__ __forceinline__ void WritePair(float *to, float x, float y)
{
  asm volatile("st.global.v2.f32 [%0],{%1,%2};" ::"l"(to), "f"(x), "f"(y) : "memory");
}

/* How many columns the i-th of a lane's columns is behind its first one: it has BM / 4 in each tile */
template <int BM, bool NEIGHBOURS> static constexpr __device__ int32_t ColumnsAhead(int i)
{
  const int t = i / (BM / 4), k = i % (BM / 4);

  return 16 * t + (BM == 8 ? TileColumn<NEIGHBOURS>(0, k) : TileColumn<NEIGHBOURS>(k % 2, k / 2));
}

/* The number of a lane's sum of its row j, 0 or 1, and its i-th column, among those of a tile */
template <int BM> static constexpr __device__ int SumOf(int i, int j)
{
  const int k = i % (BM / 4);

  return BM == 8 ? 2 * k + j : 4 * (k / 2) + k % 2 + 2 * j;
}

/* A lane's sums of one of its rows to C. The row, and the lane's first column, which is col, are at c */
template <int BM, bool NEIGHBOURS, int NT, typename Scalar> static __device__ __forceinline__ void StoreRow(const DenseArgs<Scalar> &d, Scalar *c, int32_t col, int j, const Scalar (&sum)[NT][BM / 2])
{
#pragma unroll
  for (int i = 0; i < NT * BM / 4; i++) {
    if (col + ColumnsAhead<BM, NEIGHBOURS>(i) < d.N) *c = sum[i / (BM / 4)][SumOf<BM>(i, j)];
    c += (ColumnsAhead<BM, NEIGHBOURS>(i + 1) - ColumnsAhead<BM, NEIGHBOURS>(i)) * d.ldc;
  }
}

/* The same for both rows. They are neighbours in bricks of 8 rows, and can be written at once; otherwise eight apart */
template <int BM, bool NEIGHBOURS, int NT, typename Scalar> static __device__ __forceinline__ void StoreRows(const DenseArgs<Scalar> &d, Scalar *c, int32_t col, const Scalar (&sum)[NT][BM / 2])
{
#pragma unroll
  for (int i = 0; i < NT * BM / 4; i++) {
    const Scalar x = sum[i / (BM / 4)][SumOf<BM>(i, 0)], y = sum[i / (BM / 4)][SumOf<BM>(i, 1)];

    if (col + ColumnsAhead<BM, NEIGHBOURS>(i) < d.N) {
      if (BM == 8) WritePair(c, x, y);
      else {
        c[0] = x;
        c[8] = y;
      }
    }
    c += (ColumnsAhead<BM, NEIGHBOURS>(i + 1) - ColumnsAhead<BM, NEIGHBOURS>(i)) * d.ldc;
  }
}

/*
   The same for 8 rows, where in some columns no pair of a lane's rows, but the second with the first of the next lane,
   can be written at once. All rows of the strip exist
*/
template <bool NEIGHBOURS, int NT, typename Scalar> static __device__ __forceinline__ void StoreStraddling(const DenseArgs<Scalar> &d, Scalar *c, int32_t col, uint32_t lane, const Scalar (&sum)[NT][4])
{
  const uint32_t k = lane % 4;

#pragma unroll
  for (int i = 0; i < NT * 2; i++) {
    const Scalar x = sum[i / 2][SumOf<8>(i, 0)], y = sum[i / 2][SumOf<8>(i, 1)], next = __shfl_down_sync(HRPB_ALL_LANES, x, 1);
    const bool   askew = (uintptr_t)c % (2 * sizeof(Scalar)) != 0;

    if (col + ColumnsAhead<8, NEIGHBOURS>(i) < d.N) {
      if (!askew || k < 3) WritePair(c + askew, askew ? y : x, askew ? next : y);
      if (askew && (k == 0 || k == 3)) c[k == 3] = k == 3 ? y : x;
    }
    c += (ColumnsAhead<8, NEIGHBOURS>(i + 1) - ColumnsAhead<8, NEIGHBOURS>(i)) * d.ldc;
  }
}

/* Store the sums of a panel to C as they are. ROWS: C may be row-major */
template <int BM, bool NEIGHBOURS, bool ROWS, int NT, typename Scalar> static __device__ __forceinline__ void StoreAll(const Format<Scalar> &f, const DenseArgs<Scalar> &d, int32_t panel, uint32_t strip, uint32_t lane, const Scalar (&sum)[NT][BM / 2], int32_t n0)
{
  const int64_t crow = ROWS ? d.crow : 1;
  int32_t       panel_row[2], row[2], col;

#pragma unroll
  for (int j = 0; j < 2; j++) {
    SumPlace<BM, NEIGHBOURS>(strip, lane, BM == 8 ? j : 2 * j, &panel_row[j], &col);
    row[j] = MatrixRow(f, panel, panel_row[j]);
  }
  col += n0;

  Scalar *const c = d.C + col * d.ldc;

  if (row[1] >= 0 && (d.pairs || (BM == 16 && d.straddle))) {
    StoreRows<BM, NEIGHBOURS>(d, c + row[0], col, sum);
    return;
  }
  if constexpr (BM == 8) {
    if (d.straddle && MatrixRow(f, panel, strip * 8 + 7) >= 0) {
      StoreStraddling<NEIGHBOURS>(d, c + row[0], col, lane, sum);
      return;
    }
  }
  if (row[0] >= 0) StoreRow<BM, NEIGHBOURS>(d, c + row[0] * crow, col, 0, sum);
  if (row[1] >= 0) StoreRow<BM, NEIGHBOURS>(d, c + row[1] * crow, col, 1, sum);
}

/*
   Store sums of a panel to C, and compute again those that are not finite. ROWS: C may be row-major. PAIRS: values may
   be pairs
*/
template <int BM, bool NEIGHBOURS, bool ROWS, bool PAIRS, int NT, typename Scalar> __device__ __forceinline__ void StoreSums(const Format<Scalar> &f, const DenseArgs<Scalar> &d, int32_t panel, uint32_t strip, uint32_t lane, const Scalar (&sum)[NT][BM / 2], int32_t n0)
{
  bool     finite = true;
  uint64_t bad    = 0;

  StoreAll<BM, NEIGHBOURS, ROWS>(f, d, panel, strip, lane, sum, n0);
#pragma unroll
  for (int i = 0; i < NT * BM / 2; i++) finite &= IsFinite(sum[i / (BM / 2)][i % (BM / 2)]);
  __syncwarp(); /* a lane may have stored what another one computes again */
  if (finite) return;
#pragma unroll
  for (int i = 0; i < NT * BM / 2; i++) bad |= (uint64_t)!IsFinite(sum[i / (BM / 2)][i % (BM / 2)]) << i;
  for (; bad; bad &= bad - 1) {
    const int bit = __ffsll((long long)bad) - 1;
    int32_t   row, col, panel_row;

    SumPlace<BM, NEIGHBOURS>(strip, lane, bit % (BM / 2), &panel_row, &col);
    row = MatrixRow(f, panel, panel_row);
    col += n0 + 16 * (bit / (BM / 2));
    if (row >= 0 && col < d.N) {
      const Scalar *const b    = d.B + col * d.ldb;
      const int64_t       step = ROWS ? d.brow : 1;

      d.C[row * (ROWS ? d.crow : 1) + col * d.ldc] = PAIRS && f.pairs ? ExactEntry<BM, PAIRS>(f, panel, panel_row, b, step) : ExactEntry<BM, false>(f, panel, panel_row, b, step);
    }
  }
}
