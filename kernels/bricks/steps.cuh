/*
   What a warp does with its strip of a staged block: bricks times tiles of 16 columns of B, all in shared memory.

   A brick is a chain of reads that wait for each other: its head, then its values and rows of B, then the tensor core.
   Where a warp has few tiles it goes through the chains of several bricks at the same time. They are added in the same
   order as one by one, so the bits are the same.
*/
#pragma once

#include "mma.cuh"
#include "../format/packed.cuh"

/*
   Steps of a tensor core that a warp with nt tiles takes at a time: a power of two. More lose, or have no registers. In
   single a step has two bricks already
*/
static constexpr __device__ int StepsAtATime(int precision, int brick_rows, int nt)
{
  if (precision != HRPB_FP64) return nt == 1 && brick_rows == 16 ? 2 : 1;
  return nt == 1 ? 4 : nt == 2 || brick_rows == 16 ? 2 : 1;
}

/* Where the bricks and values of a block are in shared memory, and the lane's first column of the rows of B */
struct StagedBlock {
  uint32_t bricks, values, b;
};

/*
   sum += STEPS steps of bricks, from number brick on, times NT tiles. The strip ends before number last: it has all of
   these bricks, but in single the second one of a single step may be missing. HALF: the last tile has eight columns.
   ROW, COLUMN: bytes from a row of B to the next, and from a column. PAIRS: of the values
*/
template <int P, int BM, int NT, bool HALF, bool PAIRS, uint32_t ROW, uint32_t COLUMN, int STEPS, typename Scalar> static __device__ __forceinline__ void MultiplySteps(const StagedBlock &block, uint32_t brick, uint32_t last, uint32_t lane, Scalar (&sum)[NT][BM / 2])
{
  constexpr int BRICKS = Mma<P>::BRICKS;
  Bricks<P, BM> bricks[STEPS];
  uint32_t      x[STEPS][BRICKS]; /* rows of B */

#pragma unroll
  for (int s = 0; s < STEPS; s++) {
    Scalar slots[BRICKS][BM / 8];

#pragma unroll
    for (int u = 0; u < BRICKS; u++) {
      const uint32_t    i  = brick + s * BRICKS + u;
      const bool        in = BRICKS == 1 || i < last;
      const PackedBrick packed(block.bricks + (in ? i : brick) * (uint32_t)sizeof(HrpbBrick));

      packed.Decode<BM, PAIRS>(in, block.values, lane, slots[u]);
      x[s][u] = block.b + packed.Column(lane % 4) * ROW;
    }
    bricks[s].Set(slots[0], slots[BRICKS - 1]);
  }
#pragma unroll
  for (int t = 0; t < NT; t++) {
    const bool second = !HALF || t < NT - 1;
    Scalar     y[STEPS][BRICKS][2];

#pragma unroll
    for (int s = 0; s < STEPS; s++) {
#pragma unroll
      for (int u = 0; u < BRICKS; u++) {
        y[s][u][0] = ReadShared(x[s][u] + (16 * t) * COLUMN);
        y[s][u][1] = second ? ReadShared(x[s][u] + (16 * t + 8) * COLUMN) : 0;
      }
    }
#pragma unroll
    for (int s = 0; s < STEPS; s++) Step<P>(sum[t], bricks[s], y[s], second);
  }
}

/* sum += the bricks from number brick up to last - 1: STEPS steps at a time, what is left by half as many, and so on */
template <int P, int BM, int NT, bool HALF, bool PAIRS, uint32_t ROW, uint32_t COLUMN, int STEPS, typename Scalar> static __device__ __forceinline__ void MultiplyStrip(const StagedBlock &block, uint32_t brick, uint32_t last, uint32_t lane, Scalar (&sum)[NT][BM / 2])
{
  constexpr uint32_t BRICKS = STEPS * Mma<P>::BRICKS;

#pragma unroll 1
  for (; STEPS == 1 ? brick < last : brick + BRICKS <= last; brick += BRICKS) MultiplySteps<P, BM, NT, HALF, PAIRS, ROW, COLUMN, STEPS>(block, brick, last, lane, sum);
  if constexpr (STEPS > 1) MultiplyStrip<P, BM, NT, HALF, PAIRS, ROW, COLUMN, STEPS / 2>(block, brick, last, lane, sum);
}
