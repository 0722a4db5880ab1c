/*
   A ring of stages in shared memory, between the warps of a thread block that bring data (producers) and those that use
   it (consumers).

   Each stage has two mbarriers. A producer waits until the stage is empty, starts its copies into it, and arrives at
   the barrier "full", which completes when the copies are there. A consumer waits until the stage is full, reads it,
   and arrives at the barrier "empty". All warps go round the ring in the same order, each at its own speed.

   What a stage holds is the kernel's business. It is filled by the functions of copy.cuh and by those of the last part
   of this file. On the host, the functions at the end say how many stages fit, and launch such a kernel.
*/
#pragma once

#include "copy.cuh"
#include "launch.cuh"

enum {
  RING_STAGES   = 8,               /* at most */
  RING_BARRIERS = 16 * RING_STAGES /* bytes for the barriers of all stages */
};

/* Addresses in shared memory: of the first stage, and of the first barrier of each kind */
struct Ring {
  uint32_t stages, full, empty;
};

/*
   Where a warp is on its way round the ring: at which stage, and which parity the barriers of the stage have in this
   turn
*/
struct RingPlace {
  uint32_t parity = 0, stage = 0;

  __device__ __forceinline__ void Next(uint32_t nstages)
  {
    if (++stage == nstages) {
      stage = 0;
      parity ^= 1;
    }
  }
};

/* The ring with stages from one address on, and RING_BARRIERS bytes of barriers from another */
static __device__ __forceinline__ Ring RingAt(uint32_t stages, uint32_t barriers)
{
  return {stages, barriers, barriers + 8 * RING_STAGES};
}

/*
   All threads of the thread block call this before they use the ring. What they have written to shared memory before
   the call can be read by all of them after it.

   nstages    a reference, so that the compiler may read an argument of the kernel again in place of keeping it
   arrivals   at the barrier "full" of a stage in each turn: those of the producers' threads
   nconsumers warps, all of whose lanes arrive at the barrier "empty"
*/
static __device__ __forceinline__ void RingInit(const Ring &r, const int32_t &nstages, uint32_t arrivals, uint32_t nconsumers)
{
  if (threadIdx.x == 0) {
    for (int32_t s = 0; s < nstages; s++) {
      BarrierInit(r.full + 8 * s, arrivals);
      BarrierInit(r.empty + 8 * s, HRPB_LANES * nconsumers);
    }
    BarrierInitFence();
  }
  __syncthreads();
}

/*
   A producer waits for its stage. In the first turn nobody has used it: a new barrier lets those pass who wait for the
   other parity
*/
static __device__ __forceinline__ void RingWaitEmpty(const Ring &r, const RingPlace &p)
{
  BarrierWait(r.empty + 8 * p.stage, p.parity ^ 1);
}

/* The barrier where producers arrive, and their copies report */
static __device__ __forceinline__ uint32_t RingFull(const Ring &r, uint32_t stage)
{
  return r.full + 8 * stage;
}

/* A consumer waits for its stage */
static __device__ __forceinline__ void RingWaitFull(const Ring &r, const RingPlace &p)
{
  BarrierWait(r.full + 8 * p.stage, p.parity);
}

/* A consumer has read its stage */
static __device__ __forceinline__ void RingLeave(const Ring &r, const RingPlace &p)
{
  BarrierArrive(r.empty + 8 * p.stage);
}

enum {
  /* Of a warp in CopyRun() or CopyRuns(), beside those of its lanes in BarrierArriveAfterCopies() */
  RUN_ARRIVALS = HAVE_COPY_ENGINE
};

#if HAVE_COPY_ENGINE
/*
   Whether this is the one lane of its warp that does something for all. With a condition on the lane's number in its
   place, the compiler puts a loop around each bulk copy
*/
static __device__ __forceinline__ bool IsElected(void)
{
  uint32_t is;

  asm volatile("{\n.reg .pred p;\nelect.sync _|p,0xffffffff;\nselp.u32 %0,1,0,p;\n}" : "=r"(is));
  return is;
}
#endif

/*
   All lanes of a warp copy a run, whose addresses and bytes are multiples of 16. BarrierArriveAfterCopies() must follow
*/
static __device__ __forceinline__ void CopyRun(uint32_t to, const uint8_t *from, uint32_t bytes, uint32_t barrier, uint32_t lane)
{
#if HAVE_COPY_ENGINE
  if (IsElected()) {
    BarrierArriveExpect(barrier, bytes);
    CopyBulk(to, from, bytes, barrier);
  }
  __syncwarp();
#else
  for (uint32_t i = 16 * lane; i < bytes; i += 16 * HRPB_LANES) CopyAsync<16>(to + i, from + i);
#endif
}

/*
   All lanes of a warp copy two runs, whose addresses and bytes are multiples of 16. BarrierArriveAfterCopies() must
   follow
*/
static __device__ __forceinline__ void CopyRuns(uint32_t to0, const uint8_t *from0, uint32_t bytes0, uint32_t to1, const uint8_t *from1, uint32_t bytes1, uint32_t barrier, uint32_t lane)
{
#if HAVE_COPY_ENGINE
  if (IsElected()) {
    BarrierArriveExpect(barrier, bytes0 + bytes1);
    CopyBulk(to0, from0, bytes0, barrier);
    CopyBulk(to1, from1, bytes1, barrier);
  }
  __syncwarp();
#else
  for (uint32_t i = 16 * lane; i < bytes0; i += 16 * HRPB_LANES) CopyAsync<16>(to0 + i, from0 + i);
  for (uint32_t i = 16 * lane; i < bytes1; i += 16 * HRPB_LANES) CopyAsync<16>(to1 + i, from1 + i);
#endif
}

#if HAVE_COPY_ENGINE
/*
   All lanes of a warp say how many items, of how many bytes, they will let the copy engine bring. The warp arrives
   once, and the barrier waits for all these bytes. Whoever waits for it also sees what the lanes wrote to the stage
   themselves.
*/
static __device__ __forceinline__ void ArriveExpectAll(uint32_t barrier, uint32_t nitems, uint32_t bytes)
{
  const uint32_t all = __reduce_add_sync(HRPB_ALL_LANES, nitems);

  __syncwarp();
  if (IsElected()) BarrierArriveExpect(barrier, all * bytes);
  __syncwarp();
}
#endif

/* Bytes of shared memory for the stages of one thread block, where ctas of them share a multiprocessor */
static inline int RoomForStages(const SpmmDevice *device, int ctas)
{
  const int room = device->shared_sm / ctas - device->shared_own;

  return (room < device->shared_cta ? room : device->shared_cta) - (int)RING_BARRIERS;
}

static inline int StagesThatFit(const SpmmDevice *device, int ctas, int stage_bytes)
{
  const int n = RoomForStages(device, ctas) / stage_bytes;

  return n < RING_STAGES ? n : RING_STAGES;
}

/* Whether a thread block can have two stages, so that one is filled while the other one is used */
static inline bool TwoStagesFit(const SpmmDevice *device, int64_t stage_bytes)
{
  return 2 * stage_bytes <= RoomForStages(device, 1);
}

/*
   How many thread blocks share a multiprocessor, and the stages of each: as many thread blocks as registers have room
   for, which is most, as long as each has two stages
*/
static inline int ShareStages(const SpmmDevice *device, int most, int stage_bytes, int32_t *nstages)
{
  for (;; most--) {
    *nstages = StagesThatFit(device, most, stage_bytes);
    if (most == 1 || *nstages >= 2) return most;
  }
}

/* Thread blocks that take one of n items after the other: ctas for each multiprocessor, or one for each item */
static inline unsigned RingGrid(const SpmmDevice *device, int64_t n, int ctas)
{
  return HrpbGrid(n, 1, (int64_t)device->nsm * ctas);
}

/*
   Launch a kernel with a ring. bytes are those of dynamic shared memory. after: it calls HrpbWaitForKernelBefore(), and
   is launched behind another kernel of ours
*/
template <typename Args> static HrpbError LaunchRing(void (*kernel)(Args), dim3 grid, int threads, int bytes, cudaStream_t stream, const Args &a, bool after = false)
{
  cudaFuncAttributes now;

  /* never lowered: a CUDA graph of another product may launch the same kernel with more */
  HrpbCallCuda(cudaFuncGetAttributes(&now, kernel));
  if (now.maxDynamicSharedSizeBytes < bytes) HrpbCallCuda(cudaFuncSetAttribute(kernel, cudaFuncAttributeMaxDynamicSharedMemorySize, bytes));
  return LaunchAs(!after, kernel, grid, threads, bytes, stream, a);
}
