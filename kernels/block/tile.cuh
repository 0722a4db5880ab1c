/*
   Tiles of blocks, as kernels that go through columns work with them.

   A tile is TILE rows of a column. A thread block does one tile at a time, and each thread has ENTRIES numbers of it in
   registers, in PACKS loads of 16 bytes that are all under way at once. Which thread has which entry does not depend on
   where a column begins. Columns that are not aligned are loaded number by number: a warp still reads whole sectors.

   Sums: each thread adds its entries, then a warp, then a thread block, in a fixed order. That is one number for a
   tile. A second kernel adds the tiles of a column, again in a fixed order. So bits depend on n alone.
*/
#pragma once

#include "block.cuh"

enum {
  THREADS = HRPB_THREADS,
  PACKS   = 4,
  ENTRIES = PACK * PACKS,
  TILE    = THREADS * ENTRIES,
  MOST_X  = 32 /* blocks that one kernel works with */
};

static int64_t Tiles(int64_t n)
{
  return (n + TILE - 1) / TILE;
}

/* Entries of a thread: number c of its pack k is row At(k, c) of the tile */
static __device__ __forceinline__ int32_t At(int k, int c)
{
  return (k * THREADS + (int32_t)threadIdx.x) * PACK + c;
}

/* Whether all of a thread's packs can be moved as such */
static __device__ __forceinline__ bool Whole(const BlockNumber *p, int64_t rows)
{
  return rows >= TILE && (uintptr_t)p % 16 == 0;
}

/* Load a thread's entries of the tile that begins at p, and zeros in what lies beyond its rows */
static __device__ __forceinline__ void Load(const BlockNumber *p, int64_t rows, BlockNumber x[ENTRIES])
{
  if (Whole(p, rows)) {
#pragma unroll
    for (int k = 0; k < PACKS; k++) LoadPack(p + At(k, 0), x + k * PACK);
  } else {
#pragma unroll
    for (int k = 0; k < PACKS; k++) {
#pragma unroll
      for (int c = 0; c < PACK; c++) x[k * PACK + c] = At(k, c) < rows ? p[At(k, c)] : (BlockNumber)0;
    }
  }
}

static __device__ __forceinline__ void Store(BlockNumber *p, int64_t rows, const BlockNumber x[ENTRIES])
{
  if (Whole(p, rows)) {
#pragma unroll
    for (int k = 0; k < PACKS; k++) StorePack(p + At(k, 0), x + k * PACK);
  } else {
#pragma unroll
    for (int k = 0; k < PACKS; k++) {
#pragma unroll
      for (int c = 0; c < PACK; c++) {
        if (At(k, c) < rows) p[At(k, c)] = x[k * PACK + c];
      }
    }
  }
}

static __device__ __forceinline__ BlockNumber Coefficient(const BlockNumber *a, int64_t j)
{
  return a ? a[j] : (BlockNumber)1;
}

static __device__ __forceinline__ BlockNumber SumOfLanes(BlockNumber x)
{
#if defined(HRPB_USE_COMPLEX)
  return BlockNumber(HrpbSumOfLanes(x.re), HrpbSumOfLanes(x.im));
#else
  return HrpbSumOfLanes(x);
#endif
}

/* The sum of conj(x) y over the entries of a warp, in all lanes */
static __device__ __forceinline__ BlockNumber WarpDot(const BlockNumber x[ENTRIES], const BlockNumber y[ENTRIES])
{
  BlockNumber sum = 0;

#pragma unroll
  for (int e = 0; e < ENTRIES; e++) sum += BlockConj(x[e]) * y[e];
  return SumOfLanes(sum);
}

/* The sum that a warp has for block i */
static __device__ __forceinline__ void LeaveWarpSum(BlockNumber (*sums)[MOST_X], int32_t i, BlockNumber sum)
{
  if (threadIdx.x % HRPB_LANES == 0) sums[threadIdx.x / HRPB_LANES][i] = sum;
}

/* Sums of the warps for nx blocks become those of the tile. parts[i stride] is that of block i */
static __device__ __forceinline__ void SumWarps(BlockNumber (*sums)[MOST_X], int32_t nx, BlockNumber *parts, int64_t stride)
{
  __syncthreads();
  if ((int32_t)threadIdx.x < nx) {
    BlockNumber sum = 0;

    for (int w = 0; w < HRPB_WARPS; w++) sum += sums[w][threadIdx.x];
    parts[threadIdx.x * stride] = sum;
  }
  __syncthreads();
}

/* The sum of ntiles parts that lie one after the other, by a warp, in all lanes */
static __device__ __forceinline__ BlockNumber SumOfParts(const BlockNumber *parts, int64_t ntiles)
{
  BlockNumber sum = 0;

  for (int64_t t = threadIdx.x % HRPB_LANES; t < ntiles; t += HRPB_LANES) sum += parts[t];
  return SumOfLanes(sum);
}

/* sums[k] = the sum of its ntiles parts, by one warp of all thread blocks */
static __device__ __forceinline__ void SumParts(const BlockNumber *parts, int64_t ntiles, int64_t nsums, BlockNumber *sums)
{
  for (int64_t k = (int64_t)blockIdx.x * HRPB_WARPS + threadIdx.x / HRPB_LANES; k < nsums; k += (int64_t)gridDim.x * HRPB_WARPS) {
    const BlockNumber sum = SumOfParts(parts + k * ntiles, ntiles);

    if (threadIdx.x % HRPB_LANES == 0) sums[k] = sum;
  }
}
