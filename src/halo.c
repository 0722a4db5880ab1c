/*
   The halo of a parallel matrix: its graph, its buffers, and what goes into them. haloengine.c sends.
*/
#include "aijtcuimpl.h"
#include <halo/halo.h>

#if AIJTCU_HAVE_HALO

/* Whether all processes say so. A function, because MPIU_Allreduce() may return from its caller */
static PetscErrorCode AIJTCUHaloAgree(Mat A, PetscBool mine, PetscBool *all)
{
  PetscFunctionBegin;
  PetscCallMPI(MPIU_Allreduce(&mine, all, 1, MPI_C_BOOL, MPI_LAND, PetscObjectComm((PetscObject)A)));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Whether there are kernels for what a matrix on a device needs. All processes have one or none has */
static PetscErrorCode AIJTCUHaloSupports(const AIJTCUPlan *plan, PetscBool *supports)
{
  PetscFunctionBegin;
  *supports = PETSC_TRUE;
  #if AIJTCU_HAVE_DEVICE
  if (plan->device) PetscCall(AIJTCUHaloDeviceSupports(supports));
  #else
  (void)plan;
  #endif
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*
   Find who needs which rows. The columns of the off-diagonal block are ghosts. They ascend, so those of one process
   are neighbours, and a message of its is received where it belongs.
*/
static PetscErrorCode AIJTCUHaloFind(Mat A, const AIJTCUPlan *plan, AIJTCUHalo *h, PetscBool *usable)
{
  Mat             block;
  const PetscInt *ghosts, *mine;
  PetscBool       here;

  PetscFunctionBegin;
  PetscCall(AIJTCUHaloSupports(plan, &here));
  PetscCall(MatMPIAIJGetSeqAIJ(A, NULL, &block, &ghosts));
  PetscCall(PetscObjectGetId((PetscObject)block, &h->block));
  h->nlocal  = A->cmap->n;
  h->nghosts = block->cmap->n;
  PetscCall(PetscSFCreate(PetscObjectComm((PetscObject)A), &h->sf));
  PetscCall(PetscSFSetType(h->sf, PETSCSFBASIC));
  PetscCall(PetscSFSetGraphLayout(h->sf, A->cmap, h->nghosts, NULL, PETSC_COPY_VALUES, ghosts));
  PetscCall(PetscSFSetUp(h->sf));
  PetscCall(PetscSFGetRootRanks(h->sf, &h->nfrom, &h->from, &h->fromstart, &mine, NULL));
  PetscCall(PetscSFGetLeafRanks(h->sf, &h->nto, &h->to, &h->tostart, &h->rows));
  PetscCall(PetscMalloc1((h->nfrom + h->nto) * AIJTCU_HALO_PIECES, &h->requests));
  PetscCall(PetscObjectGetNewTag((PetscObject)h->sf, &h->tag));
  PetscCall(PetscObjectGetNewTag((PetscObject)h->sf, &h->backtag));
  for (PetscInt i = 0; i < h->nghosts && here; i++) here = (PetscBool)(mine[i] == i);
  PetscCall(AIJTCUHaloAgree(A, here, usable));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode AIJTCUHaloCreate(Mat A, const AIJTCUPlan *plan, AIJTCUHalo *h)
{
  PetscBool usable;

  PetscFunctionBegin;
  AIJTCUHaloDestroy(h);
  PetscCall(AIJTCUHaloFind(A, plan, h, &usable));
  h->state = usable ? AIJTCU_READY : AIJTCU_REFUSED;
  if (usable) {
    PetscCall(PetscInfo(A, "aijtcu: halo of %" PetscInt_FMT " rows to %d processes and %" PetscInt_FMT " from %d\n", h->nto ? h->tostart[h->nto] : 0,
      h->nto, h->nghosts, h->nfrom));
  } else {
    PetscCall(PetscInfo(A, "aijtcu: no halo, the parent's product instead: on some process there are no kernels for the device, or columns of the "
                           "off-diagonal block do not ascend\n"));
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Collective where processes have lent each other memory */
static void AIJTCUHaloFree(AIJTCUHalo *h)
{
  h->width = 0;
  #if AIJTCU_HAVE_DEVICE
  if (h->place != AIJTCU_HALO_HOST) {
    AIJTCUHaloDeviceFree(h);
    return;
  }
  #endif
  free(h->buffers.out);
  free(h->buffers.in);
  memset(&h->buffers, 0, sizeof(h->buffers));
}

/* Whether the messages of one direction have no more scalars than MPI can count */
static PetscBool AIJTCUHaloCounts(PetscMPIInt n, const PetscInt start[], PetscInt N)
{
  for (PetscMPIInt i = 0; i < n; i++) {
    if (start[i + 1] - start[i] > PETSC_MPI_INT_MAX / N) return PETSC_FALSE;
  }
  return PETSC_TRUE;
}

/* Allocate buffers on this process, or if staged those that wait until it is known who lends memory to whom */
static PetscErrorCode AIJTCUHaloAllocate(AIJTCUHalo *h, PetscBool staged, PetscInt N, PetscBool *have)
{
  const size_t row = sizeof(PetscScalar) * (size_t)N, out = (size_t)PetscMax(AIJTCUHaloPacked(h), 1) * row, in = (size_t)PetscMax(h->nghosts, 1) * row;

  PetscFunctionBegin;
  *have = (PetscBool)(AIJTCUHaloCounts(h->nto, h->tostart, N) && AIJTCUHaloCounts(h->nfrom, h->fromstart, N));
  if (!*have) PetscFunctionReturn(PETSC_SUCCESS);
  #if AIJTCU_HAVE_DEVICE
  if (h->place != AIJTCU_HALO_HOST) {
    if (staged) PetscCall(AIJTCUHaloDeviceStage(h, out, in, have));
    else PetscCall(AIJTCUHaloDeviceAllocate(h, out, in, have));
    PetscFunctionReturn(PETSC_SUCCESS);
  }
  #endif
  if (staged) PetscFunctionReturn(PETSC_SUCCESS);
  h->buffers.out = (PetscScalar *)malloc(out);
  h->buffers.in  = (PetscScalar *)malloc(in);
  *have          = (PetscBool)(h->buffers.out && h->buffers.in);
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* The same on all processes. all says whether all have it. An error here is another process's lack of memory */
static PetscErrorCode AIJTCUHaloAllocateAll(Mat A, AIJTCUHalo *h, PetscBool staged, PetscInt N, PetscBool *all)
{
  PetscBool      mine;
  PetscErrorCode ierr = AIJTCUHaloAllocate(h, staged, N, &mine);

  PetscFunctionBegin;
  PetscCall(AIJTCUHaloAgree(A, (PetscBool)(!ierr && mine), all));
  PetscCall(ierr);
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode AIJTCUHaloGetBuffers(Mat A, AIJTCUHalo *h, PetscInt N, PetscBool *all)
{
  PetscFunctionBegin;
  PetscCall(AIJTCUHaloAllocateAll(A, h, PETSC_FALSE, N, all));
  #if AIJTCU_HAVE_DEVICE
  if (!*all || h->place == AIJTCU_HALO_HOST) PetscFunctionReturn(PETSC_SUCCESS);
  if (h->engine->direct) PetscCall(AIJTCUHaloDirectOpen(A, h));
  PetscCall(AIJTCUHaloAllocateAll(A, h, PETSC_TRUE, N, all));
  #endif
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Get buffers for N columns, on all processes or on none, in place of those that were there */
static PetscErrorCode AIJTCUHaloGrow(Mat A, AIJTCUHalo *h, PetscInt N)
{
  PetscBool      all;
  PetscErrorCode ierr;

  PetscFunctionBegin;
  AIJTCUHaloFree(h);
  ierr = AIJTCUHaloGetBuffers(A, h, N, &all);
  if (ierr || !all) {
    AIJTCUHaloFree(h);
    h->failed = N;
  }
  PetscCall(ierr);
  if (all) h->width = N;
  else {
    PetscCall(PetscInfo(A, "aijtcu: no buffers for a halo with %" PetscInt_FMT " columns, the parent's product instead\n", N));
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Where messages go: by PetscSF, the reference, always over the host */
static AIJTCUHaloPlace AIJTCUHaloPlaceOf(const AIJTCUHaloEngine *engine, PetscBool device)
{
  if (!device) return AIJTCU_HALO_HOST;
  #if AIJTCU_HAVE_DEVICE
  if (engine->messages && use_gpu_aware_mpi) return AIJTCU_HALO_DEVICE;
  #else
  (void)engine;
  #endif
  return AIJTCU_HALO_STAGED;
}

/*
   Have a halo with room for N columns of B and C, which are on the device or on the host. AIJTCUPlanSync() comes
   before. usable has the same answer on all processes
*/
PetscErrorCode AIJTCUHaloPrepare(Mat A, AIJTCUPlan *plan, PetscBool device, PetscInt N, PetscBool *usable)
{
  AIJTCUHalo             *h      = &plan->halo;
  const AIJTCUHaloEngine *engine = AIJTCUHaloEngineGet(plan->options.halo);
  const AIJTCUHaloPlace   place  = AIJTCUHaloPlaceOf(engine, device);
  Mat                     block;
  PetscObjectId           id;

  PetscFunctionBegin;
  PetscCall(MatMPIAIJGetSeqAIJ(A, NULL, &block, NULL));
  PetscCall(PetscObjectGetId((PetscObject)block, &id));
  if (h->state == AIJTCU_EMPTY || h->block != id) PetscCall(AIJTCUHaloCreate(A, plan, h));
  if (h->engine != engine || h->place != place) {
    AIJTCUHaloFree(h);
    h->failed = 0;
    h->engine = engine;
    h->place  = place;
  }
  if (h->state == AIJTCU_READY && N > h->width && (!h->failed || N < h->failed)) PetscCall(AIJTCUHaloGrow(A, h, N));
  *usable = (PetscBool)(h->state == AIJTCU_READY && N <= h->width);
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode AIJTCUHaloPack(AIJTCUHalo *h, const PetscScalar *b, PetscInt ldb, PetscInt N)
{
  const PetscInt packed = AIJTCUHaloPacked(h);

  PetscFunctionBegin;
  #if AIJTCU_HAVE_DEVICE
  if (h->place != AIJTCU_HALO_HOST) {
    PetscCall(AIJTCUHaloDevicePack(h, packed, b, ldb, N));
    PetscFunctionReturn(PETSC_SUCCESS);
  }
  #endif
  HaloPackHost(h->engine->messages ? h->rows : NULL, packed, N, b, ldb, h->buffers.out);
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*
   Pack rows of B, column-major, and let them go. AIJTCUHaloEnd() must follow, also after an error in between. On a
   device rows go when it is called: until then the host has the time to start more work there
*/
PetscErrorCode AIJTCUHaloBegin(Mat A, AIJTCUHalo *h, const PetscScalar *b, PetscInt ldb, PetscInt N)
{
  PetscFunctionBegin;
  if (!N) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCall(PetscLogEventBegin(MAT_AIJTCU_Pack, A, 0, 0, 0));
  PetscCall(AIJTCUHaloPack(h, b, ldb, N)); /* it does not fail on the host, where rows go now */
  PetscCall(PetscLogEventEnd(MAT_AIJTCU_Pack, A, 0, 0, 0));
  if (h->place != AIJTCU_HALO_HOST) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCall(PetscLogEventBegin(MAT_AIJTCU_Exchange, A, 0, 0, 0));
  PetscCall((*h->engine->start)(h, N));
  PetscCall(PetscLogEventEnd(MAT_AIJTCU_Exchange, A, 0, 0, 0));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Wait until the ghosts have come, and what was packed has gone. On a device later work waits for the ghosts */
PetscErrorCode AIJTCUHaloEnd(Mat A, AIJTCUHalo *h, PetscInt N)
{
  PetscErrorCode start = PETSC_SUCCESS, finish;

  PetscFunctionBegin;
  if (!N) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCall(PetscLogEventBegin(MAT_AIJTCU_Exchange, A, 0, 0, 0));
  if (h->place != AIJTCU_HALO_HOST) start = (*h->engine->start)(h, N);
  finish = (*h->engine->finish)(h, N);
  PetscCall(start);
  PetscCall(finish);
  #if AIJTCU_HAVE_DEVICE
  if (h->place != AIJTCU_HALO_HOST) PetscCall(AIJTCUHaloDeviceEnd(h));
  #endif
  PetscCall(PetscLogEventEnd(MAT_AIJTCU_Exchange, A, 0, 0, 0));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Bytes of device memory */
PetscInt64 AIJTCUHaloBytes(const AIJTCUHalo *h)
{
  if (h->place == AIJTCU_HALO_HOST || !h->width) return 0;
  return (PetscInt64)sizeof(PetscScalar) * h->width * ((PetscInt64)AIJTCUHaloPacked(h) + h->nghosts) + (PetscInt64)sizeof(PetscInt) * (h->nto ? h->tostart[h->nto] : 0);
}

/* Errors of what goes away are not looked at: the rest of the plan must go, too */
void AIJTCUHaloDestroy(AIJTCUHalo *h)
{
  AIJTCUHaloFree(h);
  #if AIJTCU_HAVE_DEVICE
  AIJTCUHaloDeviceDestroy(&h->device);
  #endif
  (void)PetscFree(h->requests);
  if (h->row_N) (void)MPI_Type_free(&h->row);
  if (h->sf) (void)PetscSFDestroy(&h->sf);
  memset(h, 0, sizeof(*h));
}
#endif
