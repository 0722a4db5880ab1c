/*
   Tiles of a sampled product on tensor cores: the rows of a strip, times the columns of four of its bricks.

   An accumulator has a strip's rows and the columns of two bricks of 16 rows, or of four bricks of 8 rows, whose
   operands are swapped (FlashSparse, section 3.4).
*/
#pragma once

#include "../bricks/staged.cuh"

enum {
  TILE_BRICKS = 4, /* that a warp multiplies together */
  TAIL_BRICKS = 2  /* that may come behind these, and are multiplied with them */
};

namespace {
/*
   The strip's rows of 16 columns of the left operand, as a lane = 4*g + k has them. In double the lane's columns are k,
   4 + k, 8 + k, 12 + k. In single a step takes eight columns: the lane has two neighbours of them, so that lanes that
   read the right operand in shared memory hit different banks
*/
template <int P, int BM> struct LeftTile {
  enum {
    STEPS = 2,
    STEP  = 8,
    NEXT  = 2 /* columns from a lane's to the next one's */
  };
  Fragment<P, BM == 8 ? 2 : 4> f[STEPS];

  template <typename Get> __device__ __forceinline__ void Set(Get get)
  {
#pragma unroll
    for (int u = 0; u < STEPS; u++) {
      if (BM == 8) {
        f[u].Set(0, get(0, STEP * u));
        f[u].Set(1, get(0, STEP * u + 1));
      } else {
        f[u].Set(0, get(0, STEP * u));
        f[u].Set(1, get(1, STEP * u));
        f[u].Set(2, get(0, STEP * u + 1));
        f[u].Set(3, get(1, STEP * u + 1));
      }
    }
  }
};

template <int BM> struct LeftTile<HRPB_FP64, BM> {
  enum {
    STEPS = 4,
    STEP  = 4,
    NEXT  = 1
  };
  double a[STEPS][BM / 8];

  template <typename Get> __device__ __forceinline__ void Set(Get get)
  {
#pragma unroll
    for (int u = 0; u < STEPS; u++) {
#pragma unroll
      for (int half = 0; half < BM / 8; half++) a[u][half] = get(half, STEP * u);
    }
  }
};
} // namespace

/* The device, if it has tensor cores for the precision of A */
static inline HrpbError SampleDevice(const SpmmMatrix *A, const SpmmDevice **device)
{
  bool supports;

  HrpbCall(HrpbSupportsDevice(A->precision, &supports));
  return supports ? SpmmGetDevice(device) : HRPB_ERR_UNSUPPORTED;
}

/*
   sum += step number u of a tile. y has the addresses of what the lane reads of the right operand, in the step's first
   column: of two bricks, and of the two after them, which are left out unless TWO.

   A tensor core truncates where it adds in single, so each step starts from zero: see mma.cuh. Bricks of 16 rows have a
   sum for each pair of bricks. Bricks of 8 rows have one for all four, and in double a second one, so that an
   instruction need not wait for the one before
*/
template <int P, int PITCH, bool TWO> static __device__ __forceinline__ void SampleStep(float (&sum)[2][4], const LeftTile<P, 16> &left, int u, const uint32_t (&y)[2])
{
#pragma unroll
  for (int e = 0; e < (TWO ? 2 : 1); e++) {
    Fragment<P, 2> right;
    float          part[4] = {};

    right.Set(0, ReadShared(y[e]));
    right.Set(1, ReadShared(y[e] + PITCH));
    MmaSplit<P>(part, left.f[u], right);
#pragma unroll
    for (int i = 0; i < 4; i++) sum[e][i] += part[i];
  }
}

template <int P, int PITCH, bool TWO> static __device__ __forceinline__ void SampleStep(float (&sum)[2][4], const LeftTile<P, 8> &left, int u, const uint32_t (&y)[2])
{
  Fragment<P, 4> right;
  float          part[4] = {};

  right.Set(0, ReadShared(y[0]));
  right.Set(1, TWO ? ReadShared(y[1]) : 0);
  right.Set(2, ReadShared(y[0] + PITCH));
  right.Set(3, TWO ? ReadShared(y[1] + PITCH) : 0);
  MmaSplit<P>(part, right, left.f[u]);
#pragma unroll
  for (int i = 0; i < 4; i++) sum[0][i] += part[i];
}

template <int P, int PITCH, bool TWO> static __device__ __forceinline__ void SampleStep(double (&sum)[2][4], const LeftTile<P, 16> &left, int u, const uint32_t (&y)[2])
{
  MmaFp64(sum[0], left.a[u][0], left.a[u][1], ReadShared(y[0]));
  if (TWO) MmaFp64(sum[1], left.a[u][0], left.a[u][1], ReadShared(y[1]));
}

template <int P, int PITCH, bool TWO> static __device__ __forceinline__ void SampleStep(double (&sum)[2][4], const LeftTile<P, 8> &left, int u, const uint32_t (&y)[2])
{
  if (TWO) MmaFp64(sum[u % 2], ReadShared(y[0]), ReadShared(y[1]), left.a[u][0]);
  else MmaFp64(sum[u % 2], ReadShared(y[0]), left.a[u][0]);
}

/* Products from the sums of the steps. Indices: a pair of bricks, a row of two, and with 16 rows a column of two */
template <int BM, int PAIRS, typename Scalar> static __device__ __forceinline__ void ProductsOf(const Scalar (&sum)[2][4], Scalar (&product)[PAIRS][2][BM / 8])
{
#pragma unroll
  for (int e = 0; e < PAIRS; e++) {
#pragma unroll
    for (int j = 0; j < 2; j++) {
#pragma unroll
      for (int c = 0; c < BM / 8; c++) product[e][j][c] = BM == 8 ? sum[0][2 * e + j] + sum[1][2 * e + j] : sum[e][2 * j + c];
    }
  }
}

/*
   The lane's products with all columns, of the bricks at y, and of a tail of one or two bricks at behind: instructions
   of one need not wait for those of the other, and all are decoded and stored once. Sums are those of two calls
*/
template <int P, int BM, int NT, bool TWO, bool TAIL, typename Scalar> static __device__ __forceinline__ void SampleTiles(const LeftTile<P, BM> (&left)[NT], const uint32_t (&y)[2], uint32_t behind, Scalar (&product)[2][2][BM / 8], Scalar (&last)[1][2][BM / 8])
{
  typedef LeftTile<P, BM> Tile;
  Scalar sum[2][4] = {}, more[2][4] = {};

#pragma unroll
  for (int t = 0; t < NT; t++) {
#pragma unroll
    for (int u = 0; u < Tile::STEPS; u++) {
      const uint32_t columns = (TILE_COLS * t + Tile::STEP * u) * Pitch(BM), from[2] = {y[0] + columns, y[1] + columns}, tail[2] = {behind + columns, 0};

      SampleStep<P, Pitch(BM), TWO>(sum, left[t], u, from);
      if (TAIL) SampleStep<P, Pitch(BM), false>(more, left[t], u, tail);
    }
  }
  ProductsOf<BM>(sum, product);
  if (TAIL) ProductsOf<BM>(more, last);
}

/* The same without a tail */
template <int P, int BM, int NT, bool TWO, typename Scalar> static __device__ __forceinline__ void SampleTiles(const LeftTile<P, BM> (&left)[NT], const uint32_t (&y)[2], Scalar (&product)[2][2][BM / 8])
{
  Scalar none[1][2][BM / 8];

  SampleTiles<P, BM, NT, TWO, false>(left, y, 0, product, none);
}

/* The row of a panel that product row j of a lane = 4*g + k of a strip is in */
template <int BM> static __device__ __forceinline__ int32_t RowOfProduct(uint32_t strip, uint32_t g, uint32_t k, int j)
{
  return (int32_t)(strip * BM + (BM == 8 ? 2 * k + j : g + 8 * j));
}

/* Where the value of the slot is that meets product (row j, column c) of a lane = 4*g + k */
template <int BM> static __device__ __forceinline__ uint32_t PlaceOfValue(const PackedBrick &packed, uint32_t g, uint32_t k, int j, int c)
{
  const int      half = BM == 8 ? 0 : j;
  const uint32_t bit  = BM == 8 ? 8 * k + 4 * j + g % 4 : 4 * g + 2 * (k % 2) + c;

  return packed.Value(half) + __popc(packed.Pattern(half) & ((1u << bit) - 1));
}

/* The lane's part of the strip's rows, from columns of the left operand. What is not there is zero */
template <int P, int BM, int NT, typename Scalar> static __device__ __forceinline__ void LoadLeft(LeftTile<P, BM> (&left)[NT], const Format<Scalar> &f, int32_t panel, uint32_t strip, uint32_t g, uint32_t k, const Scalar *from, int64_t ld, int32_t N)
{
  const int32_t row[2] = {MatrixRow(f, panel, strip * BM + g), MatrixRow(f, panel, strip * BM + g + 8)};

#pragma unroll
  for (int t = 0; t < NT; t++) {
    left[t].Set([&](int half, int32_t column) {
      const int32_t n = TILE_COLS * t + LeftTile<P, BM>::NEXT * (int32_t)k + column;

      return row[half] >= 0 && n < N ? from[row[half] + n * ld] : (Scalar)0;
    });
  }
}

/* Addresses of a brick's parts in shared memory: a byte of its pattern, which is two rows, and the column of a slot */
static __device__ __forceinline__ uint32_t PatternByte(uint32_t brick, uint32_t byte)
{
  return brick + (uint32_t)offsetof(HrpbBrick, pattern) + byte;
}
static __device__ __forceinline__ uint32_t ColumnByte(uint32_t brick, uint32_t slot)
{
  return brick + (uint32_t)offsetof(HrpbBrick, column) + slot;
}

/*
   Four bricks of a strip, or two (PAIRS is 1), or the fewer that are left, as a lane needs them.

   bits  of each of the lane's rows of products: which of the bricks' columns have an entry, at Bit(column)
   y     where it reads the right operand, in its first column: see SampleStep()

   It is made from the address of the block's bricks, the number of the first one, how many of them there are, and the
   address of the right operand's column that the lane reads first. Bricks that are not there are the last one, without
   entries. With 8 rows a lane reads the few bytes that it needs: whole bricks would take more instructions, and more
   registers
*/
template <int BM, int PAIRS = TILE_BRICKS / 2> struct BrickGroup {
  uint32_t bits[2] = {}, y[PAIRS];

  static __device__ __forceinline__ uint32_t Bit(uint32_t column) { return BM == 8 ? 8 * (column / 4) + column % 4 : column; }
  __device__ __forceinline__ bool            Has(int j, uint32_t column) const { return bits[j] >> Bit(column) & 1; }
  __device__ __forceinline__ uint32_t        CountBefore(int j, uint32_t column) const { return __popc(bits[j] & ((1u << Bit(column)) - 1)); }
  __device__ __forceinline__ uint32_t        Count(int j) const { return __popc(bits[j]); }

  /* The column of the lane's product number c of pair e, and the brick that it is in */
  static __device__ __forceinline__ uint32_t Column(int e, int c, uint32_t g, uint32_t k) { return 8 * e + (BM == 8 ? g : 2 * k + c); }
  static __device__ __forceinline__ PackedBrick Brick(uint32_t bricks, uint32_t first, uint32_t n, int e, uint32_t g, uint32_t k)
  {
    return PackedBrick(bricks + (first + min(2 * e + (BM == 8 ? g : 2 * k) / 4, n - 1)) * (uint32_t)sizeof(HrpbBrick));
  }

  __device__ __forceinline__ BrickGroup(uint32_t bricks, uint32_t first, uint32_t n, uint32_t right, uint32_t g, uint32_t k)
  {
    const uint32_t begin = bricks + first * (uint32_t)sizeof(HrpbBrick);

#pragma unroll
    for (uint32_t e = 0; e < PAIRS; e++) y[e] = right + ReadShared8(ColumnByte(begin + min(2 * e + g / 4, n - 1) * (uint32_t)sizeof(HrpbBrick), g % 4)) * (uint32_t)sizeof(HrpbScalar);
    if (BM == 8) {
      uint32_t rows = 0; /* the byte of each brick with the lane's two rows */

#pragma unroll
      for (uint32_t q = 0; q < 2 * PAIRS; q++) rows |= ReadShared8(PatternByte(begin + min(q, n - 1) * (uint32_t)sizeof(HrpbBrick), k)) << 8 * q;
      rows &= 0xffffffffu >> 8 * (TILE_BRICKS - n);
      bits[0] = rows & 0x0f0f0f0fu;
      bits[1] = rows >> 4 & 0x0f0f0f0fu;
    } else {
#pragma unroll
      for (uint32_t q = 0; q < 2 * PAIRS; q++) {
        const PackedBrick packed(begin + min(q, n - 1) * (uint32_t)sizeof(HrpbBrick));

#pragma unroll
        for (int j = 0; j < 2; j++) bits[j] |= (packed.Pattern(j) >> 4 * g & 15) << 4 * q;
      }
#pragma unroll
      for (int j = 0; j < 2; j++) bits[j] &= (1u << 4 * n) - 1;
    }
  }
};

/* f(e, j, c) for each of the lane's products: pair of bricks, row, column */
template <int BM, int PAIRS = TILE_BRICKS / 2, typename F> static __device__ __forceinline__ void EachProduct(F f)
{
#pragma unroll
  for (int e = 0; e < PAIRS; e++) {
#pragma unroll
    for (int j = 0; j < 2; j++) {
#pragma unroll
      for (int c = 0; c < BM / 8; c++) f(e, j, c);
    }
  }
}
