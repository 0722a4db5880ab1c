/*
   A packed block taken apart by a kernel, wherever it lies.
*/
#pragma once

#include "device.cuh"

/* What lies at an address in shared memory. In place of pointers, which the compiler makes 64 bits wide and derives again and again from the special register that says where shared memory is */
__device__ __forceinline__ uint32_t ReadShared16(uint32_t address)
{
  uint16_t x;

  asm volatile("ld.shared.u16 %0,[%1];" : "=h"(x) : "r"(address));
  return x;
}
__device__ __forceinline__ void ReadShared(uint32_t address, double *x)
{
  asm volatile("ld.shared.f64 %0,[%1];" : "=d"(*x) : "r"(address));
}
__device__ __forceinline__ void ReadShared(uint32_t address, float *x)
{
  asm volatile("ld.shared.f32 %0,[%1];" : "=f"(*x) : "r"(address));
}

/* The same, or zero. Not by if: the compiler may make a branch of each, and then one load waits for the other */
__device__ __forceinline__ void ReadSharedIf(bool there, uint32_t address, double *x)
{
  *x = 0;
  asm volatile("{\n.reg .pred p;\nsetp.ne.u32 p,%1,0;\n@p ld.shared.f64 %0,[%2];\n}" : "+d"(*x) : "r"((uint32_t)there), "r"(address));
}
__device__ __forceinline__ void ReadSharedIf(bool there, uint32_t address, float *x)
{
  *x = 0;
  asm volatile("{\n.reg .pred p;\nsetp.ne.u32 p,%1,0;\n@p ld.shared.f32 %0,[%2];\n}" : "+f"(*x) : "r"((uint32_t)there), "r"(address));
}

/* An HrpbBrick in four registers, as one load brings it */
struct PackedBrick {
  uint4 words;

  PackedBrick() = default;
  __device__ __forceinline__ explicit PackedBrick(uint32_t shared) { asm volatile("ld.shared.v4.u32 {%0,%1,%2,%3},[%4];" : "=r"(words.x), "=r"(words.y), "=r"(words.z), "=r"(words.w) : "r"(shared)); }

  __device__ __forceinline__ uint32_t Pattern(int half) const { return half ? words.y : words.x; }
  __device__ __forceinline__ uint32_t Columns(void) const { return words.z; }
  __device__ __forceinline__ uint32_t Column(uint32_t slot) const { return __byte_perm(words.z, 0, 0x4440 | slot); }
  __device__ __forceinline__ uint32_t Value(int half) const { return half ? words.w >> 16 : words.w & 0xffff; }

  /* The slots of a lane, of row lane/4 and, with 16 rows, of row lane/4 + 8: zero where there is no entry, and all of them if the brick is not to be used. values is where those of the block are in shared memory */
  template <int BM, typename Scalar> __device__ __forceinline__ void Decode(bool use, uint32_t values, uint32_t lane, Scalar a[BM / 8]) const
  {
    const uint32_t bit = 1u << lane;

#pragma unroll
    for (int half = 0; half < BM / 8; half++) ReadSharedIf(use && Pattern(half) & bit, values + (Value(half) + __popc(Pattern(half) & (bit - 1))) * (uint32_t)sizeof(Scalar), &a[half]);
  }
};
static_assert(sizeof(PackedBrick) == sizeof(HrpbBrick) && offsetof(HrpbBrick, column) == 8 && offsetof(HrpbBrick, value) == 12, "the words are those of the layout");

/* The pattern run of a block; nstrips are those of a panel */
struct PackedBlock {
  const uint16_t    *strip_start;
  const PackedBrick *brick;

  __device__ __forceinline__ PackedBlock(const uint8_t *run, int32_t nstrips) : strip_start((const uint16_t *)(run + HrpbOffsetStripStart())), brick((const PackedBrick *)(run + HrpbOffsetBricks(nstrips))) { }
};
