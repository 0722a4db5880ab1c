/*
   What the files with arithmetic of blocks on a device share.
*/
#pragma once

#include "../common/launch.cuh"
#include "blockops.h"

enum {
  PACK = 16 / sizeof(BlockNumber) /* numbers that are moved at once */
};

/* Moves of 16 bytes. The compiler would take a store of a vector apart */
#if defined(HRPB_USE_SINGLE)
static __device__ __forceinline__ void LoadPack(const float *p, float *x)
{
  const float4 pack = *(const float4 *)p;

  x[0] = pack.x, x[1] = pack.y, x[2] = pack.z, x[3] = pack.w;
}

static __device__ __forceinline__ void StorePack(float *p, const float *x)
{
  asm volatile("st.global.v4.f32 [%0],{%1,%2,%3,%4};" ::"l"(p), "f"(x[0]), "f"(x[1]), "f"(x[2]), "f"(x[3])
               : "memory");
}
#else
static __device__ __forceinline__ void LoadPack(const double *p, double *x)
{
  const double2 pack = *(const double2 *)p;

  x[0] = pack.x, x[1] = pack.y;
}

static __device__ __forceinline__ void StorePack(double *p, const double *x)
{
  asm volatile("st.global.v2.f64 [%0],{%1,%2};" ::"l"(p), "d"(x[0]), "d"(x[1])
               : "memory");
}
#endif
#if defined(HRPB_USE_COMPLEX)
static __device__ __forceinline__ void LoadPack(const BlockNumber *p, BlockNumber *x)
{
  HrpbScalar parts[16 / sizeof(HrpbScalar)];

  LoadPack((const HrpbScalar *)p, parts);
  for (int c = 0; c < PACK; c++) x[c] = BlockNumber(parts[2 * c], parts[2 * c + 1]);
}

static __device__ __forceinline__ void StorePack(BlockNumber *p, const BlockNumber *x)
{
  HrpbScalar parts[16 / sizeof(HrpbScalar)];

  for (int c = 0; c < PACK; c++) parts[2 * c] = x[c].re, parts[2 * c + 1] = x[c].im;
  StorePack((HrpbScalar *)p, parts);
}
#endif

/* sums[k] = the sum of the nparts numbers behind one another that the kernel before has left for it in the workspace */
HrpbError BlockSumParts(const BlockShape *, int64_t nparts, int64_t nsums, BlockNumber *sums);

/* iterate.cu: see BlockOps */
HrpbError BlockCGIterate(const BlockShape *, const BlockIteration *);

/* square.cu, in real double only: see BlockOps */
enum {
  BLOCK_SQUARE = 32
};

size_t    BlockGramWork(int64_t n, int64_t N, BlockGramKind);
HrpbError BlockGramProducts(const BlockShape *, const BlockGram *, BlockNumber *G);
HrpbError BlockCombine(const BlockShape *, bool add, int32_t nterms, const BlockTerm[], BlockOut Y);
HrpbError BlockCombineGram(const BlockShape *, const BlockTerm[2], BlockOut Y, BlockGramKind, const BlockNumber *D, BlockNumber *G);

/* factor.cu, the same */
HrpbError BlockFactorize(const BlockShape *, const BlockFactor *);
