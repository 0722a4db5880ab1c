/*
   Reads and writes of shared memory by addresses of 32 bits. The compiler makes pointers 64 bits wide, and derives them
   again and again from the special register that says where shared memory is.
*/
#pragma once

#include "device.cuh"

#if defined(HRPB_USE_SINGLE)
  #define SHARED_SCALAR ".f32"
  #define SCALAR_REGISTER "f"
#else
  #define SHARED_SCALAR ".f64"
  #define SCALAR_REGISTER "d"
#endif

__device__ __forceinline__ HrpbScalar ReadShared(uint32_t address)
{
  HrpbScalar x;

  asm volatile("ld.shared" SHARED_SCALAR " %0,[%1];" : "=" SCALAR_REGISTER(x) : "r"(address));
  return x;
}

/* The same if there, or zero. An if might become a branch for each, and then one load would wait for the other */
__device__ __forceinline__ HrpbScalar ReadSharedIf(bool there, uint32_t address)
{
  HrpbScalar x = 0;

  asm volatile("{\n.reg .pred p;\nsetp.ne.u32 p,%1,0;\n@p ld.shared" SHARED_SCALAR " %0,[%2];\n}" : "+" SCALAR_REGISTER(x) : "r"((uint32_t)there), "r"(address));
  return x;
}

__device__ __forceinline__ void WriteShared(uint32_t address, HrpbScalar x)
{
  asm volatile("st.shared" SHARED_SCALAR " [%0],%1;" ::"r"(address), SCALAR_REGISTER(x) : "memory");
}

__device__ __forceinline__ uint32_t ReadShared8(uint32_t address)
{
  uint32_t x;

  asm volatile("ld.shared.u8 %0,[%1];" : "=r"(x) : "r"(address));
  return x;
}

__device__ __forceinline__ uint32_t ReadShared16(uint32_t address)
{
  uint16_t x;

  asm volatile("ld.shared.u16 %0,[%1];" : "=h"(x) : "r"(address));
  return x;
}

__device__ __forceinline__ uint4 ReadShared128(uint32_t address)
{
  uint4 x;

  asm volatile("ld.shared.v4.u32 {%0,%1,%2,%3},[%4];" : "=r"(x.x), "=r"(x.y), "=r"(x.z), "=r"(x.w) : "r"(address));
  return x;
}

#undef SHARED_SCALAR
#undef SCALAR_REGISTER
