/*
   Rows straight from the memory of other processes' devices, on the same machine: CUDA lets this process read
   it (cudaIpc...). A copy there takes the way that the devices have, and no memory of the host.

   No host waits for a device. A process that has started to pack says so by an empty message. The other one lets its
   copy wait for the packing, by an event of the other one. When it has started to copy, an empty message goes
   back. What next writes there waits for the copy in the same way.

   Nobody frees memory that another process may still read: all processes meet before.
*/
#include "haloimpl.h"
#include "../device/device.h"

#if AIJTCU_HAVE_HALO && AIJTCU_HAVE_DEVICE
  #include <petscdevice_cuda.h>

/* What neighbours tell each other: handles of the rows, and of an event that says that they are there, or read */
typedef struct {
  PetscBool            offered;
  cudaIpcMemHandle_t   rows;
  cudaIpcEventHandle_t event;
  PetscInt             first; /* row that is the first for the reader */
} AIJTCUHaloOffers;

/* Errors here are no errors: messages go instead */
static PetscBool AIJTCUHaloDirectSucceeds(cudaError_t err)
{
  return (PetscBool)!AIJTCUForgetError(err);
}

static PetscErrorCode AIJTCUHaloIsOnMachine(AIJTCUHalo *h, PetscMPIInt rank, PetscBool *here)
{
  *here = PETSC_FALSE;
  #if PetscDefined(HAVE_MPI_PROCESS_SHARED_MEMORY)
  PetscShmComm shm;
  PetscMPIInt  local;

  PetscFunctionBegin;
  PetscCall(PetscShmCommGet(PetscObjectComm((PetscObject)h->sf), &shm));
  PetscCall(PetscShmCommGlobalToLocal(shm, rank, &local));
  *here = (PetscBool)(local != MPI_PROC_NULL);
  #else
  PetscFunctionBegin;
  (void)h, (void)rank;
  #endif
  PetscFunctionReturn(PETSC_SUCCESS);
}

static void AIJTCUHaloPeerClose(AIJTCUHaloPeer *l)
{
  if (l->rows) (void)AIJTCUHaloDirectSucceeds(cudaIpcCloseMemHandle(l->rows));
  if (l->event) (void)AIJTCUHaloDirectSucceeds(cudaEventDestroy(l->event));
  l->rows  = NULL;
  l->event = NULL;
}

/* Send size bytes to each neighbour of both sides, and get as many */
static PetscErrorCode AIJTCUHaloSwap(AIJTCUHalo *h, const void *const give[2], void *const get[2], size_t size)
{
  const MPI_Comm comm = PetscObjectComm((PetscObject)h->sf);
  PetscMPIInt    n    = 0;

  PetscFunctionBegin;
  for (int k = 0; k < 2; k++) {
    const AIJTCUHaloSide *s = &h->side[k];

    for (PetscMPIInt i = 0; i < s->n; i++) PetscCallMPI(MPIU_Irecv((char *)get[k] + (size_t)i * size, (PetscCount)size, MPI_BYTE, s->ranks[i], h->side[!k].tag, comm, &h->requests[n++]));
  }
  for (int k = 0; k < 2; k++) {
    const AIJTCUHaloSide *s = &h->side[k];

    for (PetscMPIInt i = 0; i < s->n; i++) PetscCallMPI(MPIU_Isend((const char *)give[k] + (size_t)i * size, (PetscCount)size, MPI_BYTE, s->ranks[i], s->tag, comm, &h->requests[n++]));
  }
  PetscCallMPI(MPI_Waitall(n, h->requests, MPI_STATUSES_IGNORE));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Have the event of a side, and handles for those who may read there */
static void AIJTCUHaloOffer(AIJTCUHaloSide *s, AIJTCUHaloOffers offers[])
{
  AIJTCUHaloOffers offer;

  memset(&offer, 0, sizeof(offer));
  if (!AIJTCUHaloDirectSucceeds(cudaEventCreateWithFlags(&s->event, cudaEventDisableTiming | cudaEventInterprocess))) s->event = NULL;
  offer.offered = (PetscBool)(s->event && AIJTCUHaloDirectSucceeds(cudaIpcGetMemHandle(&offer.rows, s->device)) && AIJTCUHaloDirectSucceeds(cudaIpcGetEventHandle(&offer.event, s->event)));
  for (PetscMPIInt i = 0; i < s->n; i++) {
    offers[i]       = offer;
    offers[i].first = s->start[i];
  }
}

static PetscErrorCode AIJTCUHaloPeerOpen(AIJTCUHalo *h, PetscMPIInt rank, const AIJTCUHaloOffers *offer, AIJTCUHaloPeer *l)
{
  PetscBool here;
  void     *rows = NULL;

  PetscFunctionBegin;
  PetscCall(AIJTCUHaloIsOnMachine(h, rank, &here));
  if (!here || !offer->offered) PetscFunctionReturn(PETSC_SUCCESS);
  if (!AIJTCUHaloDirectSucceeds(cudaIpcOpenEventHandle(&l->event, offer->event))) l->event = NULL;
  if (l->event && !AIJTCUHaloDirectSucceeds(cudaIpcOpenMemHandle(&rows, offer->rows, cudaIpcMemLazyEnablePeerAccess))) AIJTCUHaloPeerClose(l);
  if (l->event) {
    l->rows  = rows;
    l->first = offer->first;
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* What goes between neighbours while they get to know what they may read: for each of both sides */
typedef struct {
  AIJTCUHaloOffers *give[2], *get[2];
  PetscBool        *ok[2], *okthere[2];
} AIJTCUHaloTrade;

/* Have all that is needed, before anything is exchanged. Collective when it is first called for a communicator */
static PetscErrorCode AIJTCUHaloTradeCreate(AIJTCUHalo *h, AIJTCUHaloTrade *t)
{
  PetscFunctionBegin;
  #if PetscDefined(HAVE_MPI_PROCESS_SHARED_MEMORY)
  {
    PetscShmComm shm;

    PetscCall(PetscShmCommGet(PetscObjectComm((PetscObject)h->sf), &shm));
  }
  #endif
  for (int k = 0; k < 2; k++) {
    AIJTCUHaloSide *s = &h->side[k];

    PetscCall(PetscCalloc2(s->n, &s->peers, s->n, &s->notices));
    for (PetscMPIInt i = 0; i < s->n; i++) s->notices[i] = MPI_REQUEST_NULL;
    PetscCall(PetscMalloc4(s->n, &t->give[k], s->n, &t->get[k], s->n, &t->ok[k], s->n, &t->okthere[k]));
    AIJTCUHaloOffer(s, t->give[k]);
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode AIJTCUHaloTradeDestroy(AIJTCUHaloTrade *t)
{
  PetscErrorCode freed[2];

  PetscFunctionBegin;
  for (int k = 0; k < 2; k++) freed[k] = PetscFree4(t->give[k], t->get[k], t->ok[k], t->okthere[k]);
  PetscCall(freed[0]);
  PetscCall(freed[1]);
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*
   Exchange handles with all neighbours. They are direct if both ends could open what they were offered. After an error
   of its own a process keeps its part of the exchange. Collective
*/
static PetscErrorCode AIJTCUHaloConnect(AIJTCUHalo *h, AIJTCUHaloTrade *t)
{
  PetscErrorCode ierr = PETSC_SUCCESS;

  PetscFunctionBegin;
  PetscCall(AIJTCUHaloSwap(h, (const void *const *)t->give, (void *const *)t->get, sizeof(AIJTCUHaloOffers)));
  for (int k = 0; k < 2; k++) {
    const AIJTCUHaloSide *s = &h->side[k];

    for (PetscMPIInt i = 0; i < s->n; i++) {
      if (!ierr) ierr = AIJTCUHaloPeerOpen(h, s->ranks[i], &t->get[k][i], &s->peers[i]);
      t->ok[k][i] = (PetscBool)(s->peers[i].event != NULL);
    }
  }
  PetscCall(AIJTCUHaloSwap(h, (const void *const *)t->ok, (void *const *)t->okthere, sizeof(PetscBool)));
  for (int k = 0; k < 2; k++) {
    for (PetscMPIInt i = 0; i < h->side[k].n; i++) {
      if (!t->okthere[k][i]) AIJTCUHaloPeerClose(&h->side[k].peers[i]);
    }
  }
  PetscCall(AIJTCUAgree(PetscObjectComm((PetscObject)h->sf), ierr, PETSC_TRUE, NULL));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*
   Let neighbours read each other's buffers, where they can. An error is one of all processes. Closed also after
   one. Collective
*/
PetscErrorCode AIJTCUHaloDirectOpen(Mat A, AIJTCUHalo *h)
{
  AIJTCUHaloTrade t          = {.give = {NULL, NULL}};
  PetscMPIInt     ndirect[2] = {0, 0};
  PetscErrorCode  ierr, destroyed;

  PetscFunctionBegin;
  h->direct = PETSC_TRUE;
  ierr      = AIJTCUHaloTradeCreate(h, &t);
  ierr      = AIJTCUAgree(PetscObjectComm((PetscObject)h->sf), ierr, PETSC_TRUE, NULL);
  if (!ierr) ierr = AIJTCUHaloConnect(h, &t);
  destroyed = AIJTCUHaloTradeDestroy(&t);
  PetscCall(ierr);
  PetscCall(destroyed);
  for (int k = 0; k < 2; k++) {
    for (PetscMPIInt i = 0; i < h->side[k].n; i++) ndirect[k] += h->side[k].peers[i].event != NULL;
  }
  PetscCall(PetscInfo(A, "aijtcu: rows go to %d of %d processes, and come from %d of %d, without memory of the host\n", ndirect[AIJTCU_HALO_ROWS],
    h->side[AIJTCU_HALO_ROWS].n, ndirect[AIJTCU_HALO_GHOSTS], h->side[AIJTCU_HALO_GHOSTS].n));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Read no more, and wait until nobody does. Collective. The memory may be freed after it */
void AIJTCUHaloDirectClose(AIJTCUHalo *h)
{
  if (!h->direct) return;
  for (int k = 0; k < 2; k++) {
    if (h->side[k].notices) (void)MPI_Waitall(h->side[k].n, h->side[k].notices, MPI_STATUSES_IGNORE);
  }
  (void)AIJTCUHaloDirectSucceeds(cudaStreamSynchronize(AIJTCUDeviceStreamBehind()));
  for (int k = 0; k < 2; k++) {
    const AIJTCUHaloSide *s = &h->side[k];

    for (PetscMPIInt i = 0; s->peers && i < s->n; i++) AIJTCUHaloPeerClose(&s->peers[i]);
  }
  (void)MPI_Barrier(PetscObjectComm((PetscObject)h->sf));
  for (int k = 0; k < 2; k++) {
    AIJTCUHaloSide *s = &h->side[k];

    if (s->event) (void)AIJTCUHaloDirectSucceeds(cudaEventDestroy(s->event));
    (void)PetscFree2(s->peers, s->notices);
    s->event      = NULL;
    s->being_read = PETSC_FALSE;
  }
  h->direct = PETSC_FALSE;
}

/* Whether rows from first to end - 1 of a side are all read by their processes themselves */
PetscBool AIJTCUHaloIsDirect(const AIJTCUHaloSide *s, PetscInt first, PetscInt end)
{
  for (PetscMPIInt i = 0; i < s->n; i++) {
    if (s->start[i] < end && s->start[i + 1] > first && !s->peers[i].event) return PETSC_FALSE;
  }
  return PETSC_TRUE;
}

/* What next writes the rows of a side, on the stream, waits until those that are there have been read */
PetscErrorCode AIJTCUHaloDirectWaitForReaders(AIJTCUHaloSide *s, cudaStream_t stream)
{
  PetscFunctionBegin;
  if (s->notices) PetscCallMPI(MPI_Waitall(s->n, s->notices, MPI_STATUSES_IGNORE));
  if (!s->being_read) PetscFunctionReturn(PETSC_SUCCESS);
  for (PetscMPIInt i = 0; i < s->n; i++) {
    if (s->peers[i].event) PetscCallCUDA(cudaStreamWaitEvent(stream, s->peers[i].event, 0));
  }
  s->being_read = PETSC_FALSE;
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* All is packed when the stream is through */
PetscErrorCode AIJTCUHaloDirectRecord(const AIJTCUHaloSide *s, cudaStream_t stream)
{
  PetscFunctionBegin;
  if (s->event) PetscCallCUDA(cudaEventRecord(s->event, stream));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Copy the rows of a neighbour on the stream. It has said that they are being packed */
PetscErrorCode AIJTCUHaloDirectCopy(AIJTCUHalo *h, AIJTCUHaloSideName from, PetscMPIInt i, PetscInt N, cudaStream_t stream)
{
  const AIJTCUHaloSide *s     = &h->side[!from];
  const AIJTCUHaloPeer *l     = &s->peers[i];
  const size_t          bytes = sizeof(HrpbScalar) * (size_t)(s->start[i + 1] - s->start[i]) * (size_t)N;

  PetscFunctionBegin;
  PetscCallCUDA(cudaStreamWaitEvent(stream, l->event, 0));
  PetscCallCUDA(cudaMemcpyAsync(s->device + (size_t)s->start[i] * (size_t)N, l->rows + (size_t)l->first * (size_t)N, bytes, cudaMemcpyDeviceToDevice, stream));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* All copies are on the stream. Tell those who have packed, and hear of those who copy from here */
PetscErrorCode AIJTCUHaloDirectCopied(AIJTCUHalo *h, AIJTCUHaloSideName from, cudaStream_t stream)
{
  const MPI_Comm    comm = PetscObjectComm((PetscObject)h->sf);
  AIJTCUHaloSide   *out = &h->side[from], *in = &h->side[!from];
  const cudaError_t err = in->event ? cudaEventRecord(in->event, stream) : cudaSuccess;

  PetscFunctionBegin;
  for (PetscMPIInt i = 0; i < in->n; i++) {
    if (in->peers[i].event) PetscCallMPI(MPIU_Isend(NULL, 0, MPI_BYTE, in->ranks[i], out->answer, comm, &in->notices[i]));
  }
  for (PetscMPIInt i = 0; i < out->n; i++) {
    if (out->peers[i].event) PetscCallMPI(MPIU_Irecv(NULL, 0, MPI_BYTE, out->ranks[i], out->answer, comm, &out->notices[i]));
  }
  out->being_read = PETSC_TRUE;
  PetscCallCUDA(err);
  PetscFunctionReturn(PETSC_SUCCESS);
}
#endif
