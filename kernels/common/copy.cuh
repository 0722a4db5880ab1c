/*
   Asynchronous copies into shared memory that report to an mbarrier (PTX ISA, sections on mbarrier, cp.async and
   cp.async.bulk). The copy engine came with Hopper. On earlier devices lanes copy by CopyAsync() alone.
*/
#pragma once

#include <stdint.h>

#if __CUDA_ARCH__ >= 900
  #define HAVE_COPY_ENGINE 1
#else
  #define HAVE_COPY_ENGINE 0
#endif

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
#if HAVE_COPY_ENGINE
  asm volatile("fence.mbarrier_init.release.cluster;" ::: "memory");
#endif
}

__device__ __forceinline__ void BarrierArrive(uint32_t barrier)
{
  asm volatile("{\n.reg .b64 state;\nmbarrier.arrive.shared::cta.b64 state,[%0];\n}" ::"r"(barrier) : "memory");
}

/* Arrive when all that this thread has copied by CopyAsync() is there */
__device__ __forceinline__ void BarrierArriveAfterCopies(uint32_t barrier)
{
  asm volatile("cp.async.mbarrier.arrive.noinc.shared::cta.b64 [%0];" ::"r"(barrier) : "memory");
}

__device__ __forceinline__ void BarrierWait(uint32_t barrier, uint32_t parity)
{
  uint32_t done;

  do {
#if HAVE_COPY_ENGINE
    asm volatile("{\n.reg .pred p;\nmbarrier.try_wait.parity.shared::cta.b64 p,[%1],%2;\nselp.u32 %0,1,0,p;\n}" : "=r"(done) : "r"(barrier), "r"(parity) : "memory");
#else
    asm volatile("{\n.reg .pred p;\nmbarrier.test_wait.parity.shared::cta.b64 p,[%1],%2;\nselp.u32 %0,1,0,p;\n}" : "=r"(done) : "r"(barrier), "r"(parity) : "memory");
#endif
  } while (!done);
}

/* Copy BYTES (4, 8 or 16), aligned to as many. Copies of 16 bytes go through L1 only where THROUGH_L1 says so */
template <int BYTES, bool THROUGH_L1 = false> __device__ __forceinline__ void CopyAsync(uint32_t to, const void *from)
{
  if (BYTES == 16 && !THROUGH_L1) asm volatile("cp.async.cg.shared.global [%0],[%1],16;" ::"r"(to), "l"(from) : "memory");
  else asm volatile("cp.async.ca.shared.global [%0],[%1],%2;" ::"r"(to), "l"(from), "n"(BYTES) : "memory");
}

/*
   Copy 16 bytes past L1 if a condition holds. It is one instruction: with a branch around a copy, the compiler computes
   its addresses behind the branch, those of each copy anew
*/
__device__ __forceinline__ void CopyAsyncIf(bool condition, uint32_t to, const void *from)
{
  asm volatile("{\n.reg .pred p;\nsetp.ne.u32 p,%2,0;\n@p cp.async.cg.shared.global [%0],[%1],16;\n}" ::"r"(to), "l"(from), "r"((uint32_t)condition) : "memory");
}

/* The copies since the last call are a group. Wait until at most N groups are under way */
__device__ __forceinline__ void CopyAsyncCommit(void)
{
  asm volatile("cp.async.commit_group;" ::: "memory");
}
template <int N> __device__ __forceinline__ void CopyAsyncWait(void)
{
  asm volatile("cp.async.wait_group %0;" ::"n"(N) : "memory");
}

#if HAVE_COPY_ENGINE
/* Arrive at a barrier, which then waits for bytes from the copy engine, too */
__device__ __forceinline__ void BarrierArriveExpect(uint32_t barrier, uint32_t bytes)
{
  asm volatile("mbarrier.arrive.expect_tx.shared::cta.b64 _,[%0],%1;" ::"r"(barrier), "r"(bytes) : "memory");
}

__device__ __forceinline__ void CopyBulk(uint32_t to, const void *from, uint32_t bytes, uint32_t barrier)
{
  asm volatile("cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes [%0],[%1],%2,[%3];" ::"r"(to), "l"(from), "r"(bytes), "r"(barrier) : "memory");
}

/* Between a thread's own writes to shared memory and those of the copy engine to the same places */
__device__ __forceinline__ void CopyBulkFence(void)
{
  asm volatile("fence.proxy.async.shared::cta;" ::: "memory");
}
#endif
