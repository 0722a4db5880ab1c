/*
   What the kernels on bricks share: long sums in chunks, and the way from accumulators to C.
*/
#pragma once

#include "brick.cuh"

/*
   In double a long sum of bricks of 8 rows is added in chunks, because in one go it has a larger error. With 16 rows
   there are no registers for a second set of sums. In single each step of a tensor core is a sum of its own
*/
enum {
  CHUNK_BRICKS = 8 /* a chunk but the last has so many bricks of a strip, or more: it ends with a block */
};

static constexpr __device__ bool HasChunks(int precision, int brick_rows)
{
  return precision == HRPB_FP64 && brick_rows == 8;
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
template <bool NEIGHBOURS> __device__ __forceinline__ int32_t TileColumn(int32_t g, int32_t which)
{
  return NEIGHBOURS ? 2 * g + which : g + 8 * which;
}

/* Entry i, n of B is B[i * brow + n * ldb], and so with C. brow and crow are 1 where a matrix is column-major */
template <typename Scalar> struct DenseArgs {
  const Scalar *B;
  Scalar       *C;
  int64_t       ldb, ldc, brow, crow;
  int32_t       N;
  bool          pairs;    /* whether two rows of C can be stored at once: those of a lane */
  bool          straddle; /* the same, but in some columns the second of a lane and the first of the next one */
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

/* Two neighbours, read or written together */
template <typename Scalar> struct alignas(2 * sizeof(Scalar)) ScalarPair {
  Scalar x, y;
};

/* Store to two neighbouring rows of a column, or to the first. A row that is not there is negative */
template <typename Scalar> __device__ __forceinline__ void StorePair(Scalar *c, int32_t row, int32_t next, Scalar x, Scalar y)
{
  if (next >= 0) *(ScalarPair<Scalar> *)(c + row) = {x, y};
  else if (row >= 0) c[row] = x;
}

/* Store sums of a panel to C, and compute again those that are not finite. ROWS: C may be row-major */
template <int BM, bool NEIGHBOURS, bool ROWS, int NT, typename Scalar> __device__ __forceinline__ void StoreSums(const Format<Scalar> &f, const DenseArgs<Scalar> &d, int32_t panel, uint32_t strip, uint32_t lane, const Scalar (&sum)[NT][BM / 2], int32_t n0)
{
  const int64_t crow = ROWS ? d.crow : 1;
  uint64_t      bad  = 0;

#pragma unroll
  for (int i = 0; i < BM / 2; i += BM == 8 ? 2 : 1) {
    int32_t row, col, panel_row;

    SumPlace<BM, NEIGHBOURS>(strip, lane, i, &panel_row, &col);
    row = MatrixRow(f, panel, panel_row);
    if (BM == 8) {
      const int32_t row1 = MatrixRow(f, panel, panel_row + 1);

      if (d.straddle) {
        const int32_t row2 = lane % 4 < 3 ? MatrixRow(f, panel, panel_row + 2) : -1;

#pragma unroll
        for (int t = 0; t < NT; t++) {
          const Scalar next = __shfl_down_sync(HRPB_ALL_LANES, sum[t][i], 1);
          Scalar      *c    = d.C + (n0 + 16 * t + col) * d.ldc;

          if (n0 + 16 * t + col >= d.N) continue;
          if ((uintptr_t)(c + row) % sizeof(ScalarPair<Scalar>) == 0) StorePair(c, row, row1, sum[t][i], sum[t][i + 1]);
          else {
            if (lane % 4 == 0 && row >= 0) c[row] = sum[t][i];
            StorePair(c, row1, row2, sum[t][i + 1], next);
          }
        }
        continue;
      }
#pragma unroll
      for (int t = 0; t < NT; t++) {
        if (n0 + 16 * t + col >= d.N) continue;
        Scalar *c = d.C + (n0 + 16 * t + col) * d.ldc;

        if (d.pairs && row1 >= 0) *(ScalarPair<Scalar> *)(c + row) = {sum[t][i], sum[t][i + 1]};
        else {
          if (row >= 0) c[row * crow] = sum[t][i];
          if (row1 >= 0) c[row1 * crow] = sum[t][i + 1];
        }
      }
    } else if (row >= 0) {
#pragma unroll
      for (int t = 0; t < NT; t++) {
        if (n0 + 16 * t + col < d.N) d.C[row * crow + (n0 + 16 * t + col) * d.ldc] = sum[t][i];
      }
    }
  }
  __syncwarp(); /* a lane may have stored what another one computes again */
#pragma unroll
  for (int t = 0; t < NT; t++) {
#pragma unroll
    for (int i = 0; i < BM / 2; i++) bad |= (uint64_t)!IsFinite(sum[t][i]) << (t * (BM / 2) + i);
  }
  for (; bad; bad &= bad - 1) {
    const int bit = __ffsll((long long)bad) - 1;
    int32_t   row, col, panel_row;

    SumPlace<BM, NEIGHBOURS>(strip, lane, bit % (BM / 2), &panel_row, &col);
    row = MatrixRow(f, panel, panel_row);
    col += n0 + 16 * (bit / (BM / 2));
    if (row >= 0 && col < d.N) d.C[row * crow + col * d.ldc] = ExactEntry<BM>(f, panel, panel_row, d.B + col * d.ldb, ROWS ? d.brow : 1);
  }
}
