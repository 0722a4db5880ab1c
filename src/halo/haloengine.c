/*
   Engines: ways to bring packed rows to the processes that need them, and sums back. The table is at the end.
*/
#include "haloimpl.h"

#if AIJTCU_HAVE_HALO

/* Hooks for a device. On the host all rows are packed when an engine starts, and they come to where they are needed */
static PetscErrorCode AIJTCUHaloWaitForBuffer(const AIJTCUHalo *h, AIJTCUHaloSideName from)
{
  PetscFunctionBegin;
  #if AIJTCU_HAVE_DEVICE
  if (h->place != AIJTCU_HALO_HOST) PetscCall(AIJTCUHaloDeviceWaitForBuffer(h, from));
  #else
  (void)h, (void)from;
  #endif
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode AIJTCUHaloWaitForRows(const AIJTCUHalo *h, AIJTCUHaloSideName from, PetscInt end, PetscInt N)
{
  PetscFunctionBegin;
  #if AIJTCU_HAVE_DEVICE
  if (h->place != AIJTCU_HALO_HOST) PetscCall(AIJTCUHaloDeviceWaitForRows(h, from, end, N));
  #else
  (void)h, (void)from, (void)end, (void)N;
  #endif
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode AIJTCUHaloUnstage(const AIJTCUHalo *h, AIJTCUHaloSideName from, PetscInt first, PetscInt end, PetscInt N)
{
  PetscFunctionBegin;
  #if AIJTCU_HAVE_DEVICE
  if (h->place != AIJTCU_HALO_HOST) PetscCall(AIJTCUHaloDeviceUnstage(h, from, first, end, N));
  #else
  (void)h, (void)from, (void)first, (void)end, (void)N;
  #endif
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Whether rows that go to neighbour i of a side, or come from it, need no message of their own */
static PetscBool AIJTCUHaloIsPeer(const AIJTCUHaloSide *s, PetscMPIInt i)
{
  return (PetscBool)(s->peers && s->peers[i].event);
}

static PetscErrorCode AIJTCUHaloCopyDirect(AIJTCUHalo *h, AIJTCUHaloSideName from, PetscMPIInt i, PetscInt N)
{
  PetscFunctionBegin;
  #if AIJTCU_HAVE_DEVICE
  PetscCall(AIJTCUHaloDeviceCopyDirect(h, from, i, N));
  #else
  (void)h, (void)from, (void)i, (void)N;
  #endif
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode AIJTCUHaloCopiedDirect(AIJTCUHalo *h, AIJTCUHaloSideName from)
{
  PetscFunctionBegin;
  #if AIJTCU_HAVE_DEVICE
  if (h->direct) PetscCall(AIJTCUHaloDeviceCopiedDirect(h, from));
  #else
  (void)h, (void)from;
  #endif
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*
   Messages of MPI between buffers of ours. One product of A is under way at a time, and messages between two processes
   stay in order, so one tag for each way is enough. After an error of the device all messages go as well: others wait
   for them.
*/
static PetscErrorCode AIJTCUHaloMessagesStart(AIJTCUHalo *h, AIJTCUHaloSideName from, PetscInt N)
{
  const MPI_Comm        comm = PetscObjectComm((PetscObject)h->sf);
  const AIJTCUHaloSide *out = &h->side[from], *in = &h->side[!from];
  const PetscErrorCode  free = AIJTCUHaloWaitForBuffer(h, from);
  PetscErrorCode        ierr = PETSC_SUCCESS;
  PetscMPIInt           n    = 0;

  PetscFunctionBegin;
  for (PetscMPIInt i = 0; i < in->n; i++) {
    const PetscInt first = in->start[i], nrows = in->start[i + 1] - first, pieces = AIJTCUHaloPieces(h->place, nrows, N);

    if (AIJTCUHaloIsPeer(in, i)) {
      PetscCallMPI(MPIU_Irecv(NULL, 0, MPI_BYTE, in->ranks[i], out->tag, comm, &h->requests[n++]));
      continue;
    }
    for (PetscInt k = 0; k < pieces; k++) {
      const PetscInt begin = AIJTCUHaloPieceStart(nrows, pieces, k), end = AIJTCUHaloPieceStart(nrows, pieces, k + 1);

      PetscCallMPI(MPIU_Irecv(in->buffer + (size_t)(first + begin) * (size_t)N, (end - begin) * N, MPIU_REAL, in->ranks[i], out->tag, comm, &h->requests[n++]));
    }
  }
  for (PetscMPIInt i = 0; i < out->n; i++) {
    const PetscInt first = out->start[i], nrows = out->start[i + 1] - first, pieces = AIJTCUHaloPieces(h->place, nrows, N);

    if (AIJTCUHaloIsPeer(out, i)) {
      PetscCallMPI(MPIU_Isend(NULL, 0, MPI_BYTE, out->ranks[i], out->tag, comm, &h->requests[n++]));
      continue;
    }
    for (PetscInt k = 0; k < pieces; k++) {
      const PetscInt begin = AIJTCUHaloPieceStart(nrows, pieces, k), end = AIJTCUHaloPieceStart(nrows, pieces, k + 1);

      if (!ierr) ierr = AIJTCUHaloWaitForRows(h, from, first + end, N);
      PetscCallMPI(MPIU_Isend(out->buffer + (size_t)(first + begin) * (size_t)N, (end - begin) * N, MPIU_REAL, out->ranks[i], out->tag, comm, &h->requests[n++]));
    }
  }
  h->nrequests = n;
  h->posted    = PETSC_TRUE;
  PetscCall(free);
  PetscCall(ierr);
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Rows are copied in the order of the processes, so a message that is late keeps those behind it waiting */
static PetscErrorCode AIJTCUHaloMessagesFinish(AIJTCUHalo *h, AIJTCUHaloSideName from, PetscInt N)
{
  const AIJTCUHaloSide *in   = &h->side[!from];
  PetscErrorCode        ierr = PETSC_SUCCESS, copied;
  PetscMPIInt           n    = 0;

  PetscFunctionBegin;
  if (!h->posted) PetscFunctionReturn(PETSC_SUCCESS); /* after an error of MPI */
  h->posted = PETSC_FALSE;
  for (PetscMPIInt i = 0; i < in->n; i++) {
    const PetscInt first = in->start[i], nrows = in->start[i + 1] - first, pieces = AIJTCUHaloPieces(h->place, nrows, N);

    if (AIJTCUHaloIsPeer(in, i)) {
      PetscCallMPI(MPI_Wait(&h->requests[n++], MPI_STATUS_IGNORE));
      if (!ierr) ierr = AIJTCUHaloCopyDirect(h, from, i, N);
      continue;
    }
    for (PetscInt k = 0; k < pieces; k++) {
      PetscCallMPI(MPI_Wait(&h->requests[n++], MPI_STATUS_IGNORE));
      if (!ierr) ierr = AIJTCUHaloUnstage(h, from, first + AIJTCUHaloPieceStart(nrows, pieces, k), first + AIJTCUHaloPieceStart(nrows, pieces, k + 1), N);
    }
  }
  copied = AIJTCUHaloCopiedDirect(h, from);
  PetscCallMPI(MPI_Waitall(h->nrequests - n, h->requests + n, MPI_STATUSES_IGNORE));
  PetscCall(ierr);
  PetscCall(copied);
  PetscFunctionReturn(PETSC_SUCCESS);
}

  #if AIJTCU_HAVE_DEVICE
/* On a device nobody waits: later work there comes behind it */
static PetscErrorCode AIJTCUNcclFinish(AIJTCUHalo *h, AIJTCUHaloSideName from, PetscInt N)
{
  PetscFunctionBegin;
  (void)h, (void)from, (void)N;
  PetscFunctionReturn(PETSC_SUCCESS);
}

static const AIJTCUHaloEngine collective = {.open = AIJTCUHaloNcclOpen, .start = AIJTCUHaloNcclStart, .finish = AIJTCUNcclFinish};
  #endif
static const AIJTCUHaloEngine nearest  = {.direct = PETSC_TRUE, .start = AIJTCUHaloMessagesStart, .finish = AIJTCUHaloMessagesFinish};
static const AIJTCUHaloEngine messages = {.start = AIJTCUHaloMessagesStart, .finish = AIJTCUHaloMessagesFinish};

/* On the host what is for devices is by messages */
const AIJTCUHaloEngine *AIJTCUHaloEngineGet(MatAIJTCUHalo halo, PetscBool device)
{
  switch (halo) {
  case MAT_AIJTCU_HALO_MPI:
    return &messages;
  #if AIJTCU_HAVE_DEVICE
  case MAT_AIJTCU_HALO_NCCL:
    if (device) return &collective;
    return &messages;
  #endif
  default:
    (void)device;
    return &nearest;
  }
}
#endif
