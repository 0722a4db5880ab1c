/*
   Large copies between a device and pageable memory of the host.

   The driver copies such memory through a buffer of its own, by one thread of the host, which is a seventh of what the
   bus can do. Here some threads do so, each with two slots of pinned memory and a stream: while one slot is on the bus,
   the other is copied by the thread. Threads begin and end with a copy. A process that has one core copies as the
   driver does.

   What PETSc copies may be pinned meanwhile. 110 MB in large pages take 2 ms in place of 18 then, and 8 to 11 to pin
   them and give them back (H200). Small pages may be moved before they are pinned, which does not pay. To allocate
   pinned memory takes ten times as long as to pin pages that are there.
*/
#if !defined(_GNU_SOURCE)
  #define _GNU_SOURCE /* sched_getaffinity() */
#endif
#include "device.h"

#if AIJTCU_HAVE_DEVICE
  #include <petscdevice_cuda.h>
  #include <pthread.h>
  #include <sched.h>
  #include <stdint.h>
  #include <stdlib.h>
  #include <sys/mman.h>

enum {
  THREADS      = 8,
  SLOTS        = 2,
  SLOT         = 1 << 20,  /* bytes */
  LEAST        = 4 << 20,  /* bytes of a copy that is worth the threads */
  LEAST_PINNED = 64 << 20, /* of one that is worth pinning */
  PAGE         = 1 << 12,
  LARGE_PAGE   = 1 << 21
};

/* What a thread copies: of all pieces of the size of a slot each n-th, from its rank on */
typedef struct {
  char        *to;
  const char  *from;
  size_t       bytes;
  PetscBool    todevice;
  int          rank, n, device;
  char        *slot[SLOTS];
  cudaStream_t stream;
  cudaEvent_t  done[SLOTS];
  cudaError_t  err;
} AIJTCUCopyShare;

static struct {
  char        *slots;   /* of all threads, pinned */
  PetscBool    lacking; /* they could not be had, and are not asked for again */
  cudaStream_t stream[THREADS];
  cudaEvent_t  done[THREADS][SLOTS];
  int          device;
} copies;

static PetscBool ends_with_petsc; /* whether PetscFinalize() frees them */

/*
   Memory that was never touched is to come in large pages, if the system gives them to who asks: a copy from the
   device is twice as fast then
*/
void AIJTCUHugePages(void *memory, size_t bytes)
{
  #if defined(MADV_HUGEPAGE)
  char *begin = (char *)(((uintptr_t)memory + PAGE - 1) / PAGE * PAGE), *end = (char *)memory + bytes;

  if (bytes >= 2 * LARGE_PAGE) (void)madvise(begin, (size_t)(end - begin) / PAGE * PAGE, MADV_HUGEPAGE);
  #else
  (void)memory;
  (void)bytes;
  #endif
}

/* Whether a process that this one makes has memory, too: whole pages */
static void AIJTCUForks(void *memory, size_t bytes, PetscBool has)
{
  #if defined(MADV_DONTFORK)
  (void)madvise(memory, bytes, has ? MADV_DOFORK : MADV_DONTFORK);
  #else
  (void)memory;
  (void)bytes;
  (void)has;
  #endif
}

/* Pin large pages that have been written, if that pays and can be done. AIJTCUUnpin() must follow where it was */
PetscBool AIJTCUPin(const void *memory, size_t bytes)
{
  return (PetscBool)(bytes >= LEAST_PINNED && !AIJTCUForgetError(cudaHostRegister((void *)memory, bytes, cudaHostRegisterDefault)));
}

void AIJTCUUnpin(const void *memory)
{
  (void)AIJTCUForgetError(cudaHostUnregister((void *)memory));
}

/*
   The device reads and writes pages that are pinned, whatever a process has in their place after fork(). So they are
   not for a process that this one makes
*/
static cudaError_t AIJTCUSlotsCreate(void)
{
  const size_t bytes = (size_t)THREADS * SLOTS * SLOT;
  cudaError_t  err;
  void        *memory;

  if (posix_memalign(&memory, LARGE_PAGE, bytes)) return cudaErrorMemoryAllocation;
  AIJTCUHugePages(memory, bytes);
  memset(memory, 0, bytes);
  AIJTCUForks(memory, bytes, PETSC_FALSE);
  err = cudaHostRegister(memory, bytes, cudaHostRegisterDefault);
  if (err == cudaSuccess) copies.slots = (char *)memory;
  else {
    AIJTCUForks(memory, bytes, PETSC_TRUE);
    free(memory);
  }
  return err;
}

static void AIJTCUSlotsFree(void)
{
  (void)AIJTCUForgetError(cudaHostUnregister(copies.slots));
  AIJTCUForks(copies.slots, (size_t)THREADS * SLOTS * SLOT, PETSC_TRUE);
  free(copies.slots);
}

static void AIJTCUCopiesFree(void)
{
  for (int t = 0; t < THREADS; t++) {
    if (copies.stream[t]) (void)AIJTCUForgetError(cudaStreamDestroy(copies.stream[t]));
    for (int s = 0; s < SLOTS; s++) {
      if (copies.done[t][s]) (void)AIJTCUForgetError(cudaEventDestroy(copies.done[t][s]));
    }
  }
  if (copies.slots) AIJTCUSlotsFree();
  memset(&copies, 0, sizeof(copies));
}

static PetscErrorCode AIJTCUCopiesFinalize(void)
{
  PetscFunctionBegin;
  AIJTCUCopiesFree();
  ends_with_petsc = PETSC_FALSE;
  PetscFunctionReturn(PETSC_SUCCESS);
}

static cudaError_t AIJTCUCopiesCreate(void)
{
  cudaError_t err = AIJTCUSlotsCreate();

  for (int t = 0; t < THREADS && err == cudaSuccess; t++) {
    err = cudaStreamCreateWithFlags(&copies.stream[t], cudaStreamNonBlocking);
    for (int s = 0; s < SLOTS && err == cudaSuccess; s++) err = cudaEventCreateWithFlags(&copies.done[t][s], cudaEventDisableTiming);
  }
  return err;
}

/* Slots, streams and events, kept until PETSc ends. have is false where there are none to be had */
static PetscErrorCode AIJTCUCopiesHave(int device, PetscBool *have)
{
  PetscFunctionBegin;
  if (copies.slots && copies.device != device) AIJTCUCopiesFree();
  *have = (PetscBool)!copies.lacking;
  if (copies.slots || copies.lacking) PetscFunctionReturn(PETSC_SUCCESS);
  if (!ends_with_petsc) PetscCall(PetscRegisterFinalize(AIJTCUCopiesFinalize));
  ends_with_petsc = PETSC_TRUE;
  copies.device   = device;
  if (AIJTCUForgetError(AIJTCUCopiesCreate())) {
    AIJTCUCopiesFree();
    copies.lacking = PETSC_TRUE;
    *have          = PETSC_FALSE;
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Piece number k of a share, or nothing behind the last */
static size_t AIJTCUCopyPiece(const AIJTCUCopyShare *c, size_t k, size_t *at)
{
  *at = ((size_t)c->rank + k * (size_t)c->n) * SLOT;
  return *at >= c->bytes ? 0 : c->bytes - *at < SLOT ? c->bytes - *at
                                                     : SLOT;
}

/* A piece between its slot and the device */
static cudaError_t AIJTCUCopyLaunch(const AIJTCUCopyShare *c, size_t k)
{
  size_t       at;
  const size_t bytes = AIJTCUCopyPiece(c, k, &at);
  char *const  slot  = c->slot[k % SLOTS];
  cudaError_t  err;

  if (!bytes) return cudaSuccess;
  if (c->todevice) err = cudaMemcpyAsync(c->to + at, slot, bytes, cudaMemcpyHostToDevice, c->stream);
  else err = cudaMemcpyAsync(slot, c->from + at, bytes, cudaMemcpyDeviceToHost, c->stream);
  return err == cudaSuccess ? cudaEventRecord(c->done[k % SLOTS], c->stream) : err;
}

static void *AIJTCUCopyThread(void *ctx)
{
  AIJTCUCopyShare *c = (AIJTCUCopyShare *)ctx;
  size_t           at, bytes;

  c->err = cudaSetDevice(c->device);
  for (size_t k = 0; k < SLOTS && !c->todevice && c->err == cudaSuccess; k++) c->err = AIJTCUCopyLaunch(c, k);
  for (size_t k = 0; c->err == cudaSuccess && (bytes = AIJTCUCopyPiece(c, k, &at)) > 0; k++) {
    if (k >= SLOTS || !c->todevice) c->err = cudaEventSynchronize(c->done[k % SLOTS]);
    if (c->err != cudaSuccess) break;
    if (c->todevice) {
      memcpy(c->slot[k % SLOTS], c->from + at, bytes);
      c->err = AIJTCUCopyLaunch(c, k);
    } else {
      memcpy(c->to + at, c->slot[k % SLOTS], bytes);
      c->err = AIJTCUCopyLaunch(c, k + SLOTS);
    }
  }
  const cudaError_t end = cudaStreamSynchronize(c->stream); /* after an error, too: nothing is on its way then */
  if (c->err == cudaSuccess) c->err = end;
  return NULL;
}

/* Threads for a copy: 1 where the driver's own way is as good */
static int AIJTCUCopyThreads(const void *host, size_t bytes)
{
  struct cudaPointerAttributes a;
  cpu_set_t                    cores;

  if (bytes < LEAST || sched_getaffinity(0, sizeof(cores), &cores)) return 1;
  if (AIJTCUForgetError(cudaPointerGetAttributes(&a, host)) || a.type != cudaMemoryTypeUnregistered) return 1;
  return (int)PetscMin((size_t)PetscMin(CPU_COUNT(&cores), THREADS), (bytes + SLOT - 1) / SLOT);
}

static PetscErrorCode AIJTCUCopyByThreads(AIJTCUCopyShare share[], int n)
{
  pthread_t thread[THREADS];
  int       begun = 1;

  PetscFunctionBegin;
  while (begun < n && !pthread_create(&thread[begun], NULL, AIJTCUCopyThread, &share[begun])) begun++;
  (void)AIJTCUCopyThread(&share[0]);
  for (int t = begun; t < n; t++) (void)AIJTCUCopyThread(&share[t]); /* those that there are no threads for */
  for (int t = 1; t < begun; t++) (void)pthread_join(thread[t], NULL);
  for (int t = 0; t < n; t++) PetscCallCUDA(share[t].err);
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Copy between pageable memory of the host and the device, behind the work of the stream. It is done on return */
PetscErrorCode AIJTCUHostCopy(void *to, const void *from, size_t bytes, PetscBool todevice, cudaStream_t stream)
{
  AIJTCUCopyShare share[THREADS];
  PetscBool       have = PETSC_FALSE;
  int             device, n = AIJTCUCopyThreads(todevice ? from : to, bytes);

  PetscFunctionBegin;
  PetscCallCUDA(cudaGetDevice(&device));
  if (n > 1) PetscCall(AIJTCUCopiesHave(device, &have));
  if (have) {
    PetscCallCUDA(cudaStreamSynchronize(stream));
    for (int t = 0; t < n; t++) {
      share[t] = (AIJTCUCopyShare){
        .to = (char *)to, .from = (const char *)from, .bytes = bytes, .todevice = todevice, .rank = t, .n = n, .device = device, .stream = copies.stream[t]};
      for (int s = 0; s < SLOTS; s++) {
        share[t].slot[s] = copies.slots + ((size_t)t * SLOTS + (size_t)s) * SLOT;
        share[t].done[s] = copies.done[t][s];
      }
    }
    PetscCall(AIJTCUCopyByThreads(share, n));
  } else {
    PetscCallCUDA(cudaMemcpyAsync(to, from, bytes, todevice ? cudaMemcpyHostToDevice : cudaMemcpyDeviceToHost, stream));
    PetscCallCUDA(cudaStreamSynchronize(stream));
  }
  if (todevice) PetscCall(PetscLogCpuToGpu((PetscLogDouble)bytes));
  else PetscCall(PetscLogGpuToCpu((PetscLogDouble)bytes));
  PetscFunctionReturn(PETSC_SUCCESS);
}
#endif
