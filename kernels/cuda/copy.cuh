/*
   Asynchronous copies into shared memory that report to an mbarrier (PTX ISA, sections on mbarrier and cp.async.bulk).
*/
#pragma once

#include <cuda.h>
#include <stdint.h>

__device__ __forceinline__ uint32_t SharedAddress(const void *p)
{
  return (uint32_t)__cvta_generic_to_shared(p);
}

__device__ __forceinline__ void BarrierInit(uint32_t barrier, uint32_t count)
{
  asm volatile("mbarrier.init.shared::cta.b64 [%0],%1;" ::"r"(barrier), "r"(count) : "memory");
}

/* After the inits, before the copy engine sees the barriers */
__device__ __forceinline__ void BarrierInitFence(void)
{
  asm volatile("fence.mbarrier_init.release.cluster;" ::: "memory");
}

__device__ __forceinline__ void BarrierArrive(uint32_t barrier)
{
  asm volatile("mbarrier.arrive.shared::cta.b64 _,[%0];" ::"r"(barrier) : "memory");
}

/* Arrive, and announce bytes that copies will bring before the phase can end */
__device__ __forceinline__ void BarrierExpect(uint32_t barrier, uint32_t bytes)
{
  asm volatile("mbarrier.arrive.expect_tx.shared::cta.b64 _,[%0],%1;" ::"r"(barrier), "r"(bytes) : "memory");
}

__device__ __forceinline__ void BarrierWait(uint32_t barrier, uint32_t parity)
{
  uint32_t done;

  do {
    asm volatile("{\n.reg .pred p;\nmbarrier.try_wait.parity.shared::cta.b64 p,[%1],%2;\nselp.u32 %0,1,0,p;\n}" : "=r"(done) : "r"(barrier), "r"(parity) : "memory");
  } while (!done);
}

/* 16-byte aligned, a multiple of 16 bytes */
__device__ __forceinline__ void CopyBulk(uint32_t to, const void *from, uint32_t bytes, uint32_t barrier)
{
  asm volatile("cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes [%0],[%1],%2,[%3];" ::"r"(to), "l"(from), "r"(bytes), "r"(barrier) : "memory");
}

/* A box of a matrix, zeros where it reaches beyond */
__device__ __forceinline__ void CopyBox(uint32_t to, const CUtensorMap *map, int32_t row, int32_t col, uint32_t barrier)
{
  asm volatile("cp.async.bulk.tensor.2d.shared::cluster.global.tile.mbarrier::complete_tx::bytes [%0],[%1,{%2,%3}],[%4];" ::"r"(to), "l"(map), "r"(row), "r"(col), "r"(barrier) : "memory");
}
