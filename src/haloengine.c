/*
   Engines: ways to bring packed rows to the processes that need them. The table is at the end.
*/
#include "aijtcuimpl.h"

#if AIJTCU_HAVE_HALO

/* Hooks for a device. On the host all rows are packed when an engine starts, and ghosts are where they are needed */
static PetscErrorCode AIJTCUVacate(const AIJTCUHalo *h)
{
  PetscFunctionBegin;
  #if AIJTCU_HAVE_DEVICE
  if (h->place != AIJTCU_HALO_HOST) PetscCall(AIJTCUHaloDeviceVacate(h));
  #else
  (void)h;
  #endif
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode AIJTCUWaitForRows(const AIJTCUHalo *h, PetscInt end, PetscInt N)
{
  PetscFunctionBegin;
  #if AIJTCU_HAVE_DEVICE
  if (h->place != AIJTCU_HALO_HOST) PetscCall(AIJTCUHaloDeviceWait(h, end, N));
  #else
  (void)h, (void)end, (void)N;
  #endif
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode AIJTCUCopyGhosts(const AIJTCUHalo *h, PetscInt first, PetscInt end, PetscInt N)
{
  PetscFunctionBegin;
  #if AIJTCU_HAVE_DEVICE
  if (h->place != AIJTCU_HALO_HOST) PetscCall(AIJTCUHaloDeviceCopy(h, first, end, N));
  #else
  (void)h, (void)first, (void)end, (void)N;
  #endif
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Whether rows that go to process i, or come from it, need no message of their own */
static PetscBool AIJTCUIsDirect(const AIJTCULender lenders[], PetscMPIInt i)
{
  return (PetscBool)(lenders && lenders[i].event);
}

static PetscErrorCode AIJTCUTake(AIJTCUHalo *h, PetscMPIInt i, PetscInt N)
{
  PetscFunctionBegin;
  #if AIJTCU_HAVE_DEVICE
  PetscCall(AIJTCUHaloDeviceTake(h, i, N));
  #else
  (void)h, (void)i, (void)N;
  #endif
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode AIJTCUTaken(AIJTCUHalo *h)
{
  PetscFunctionBegin;
  #if AIJTCU_HAVE_DEVICE
  if (h->direct.open) PetscCall(AIJTCUHaloDeviceTaken(h));
  #else
  (void)h;
  #endif
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*
   Messages of MPI between buffers of ours. One product of A is under way at a time, and messages between two processes
   stay in order, so one tag is enough. After an error of the device all messages go as well: others wait for them.
*/
static PetscErrorCode AIJTCUMessagesStart(AIJTCUHalo *h, PetscInt N)
{
  const MPI_Comm       comm    = PetscObjectComm((PetscObject)h->sf);
  const PetscErrorCode vacated = AIJTCUVacate(h);
  PetscErrorCode       ierr    = PETSC_SUCCESS;
  PetscMPIInt          n       = 0;

  PetscFunctionBegin;
  for (PetscMPIInt i = 0; i < h->nfrom; i++) {
    const PetscInt first = h->fromstart[i], nrows = h->fromstart[i + 1] - first, pieces = AIJTCUHaloPieces(h->place, nrows, N);

    if (AIJTCUIsDirect(h->direct.from, i)) {
      PetscCallMPI(MPIU_Irecv(NULL, 0, MPI_BYTE, h->from[i], h->tag, comm, &h->requests[n++]));
      continue;
    }
    for (PetscInt k = 0; k < pieces; k++) {
      const PetscInt begin = AIJTCUHaloPieceStart(nrows, pieces, k), end = AIJTCUHaloPieceStart(nrows, pieces, k + 1);

      PetscCallMPI(MPIU_Irecv(h->buffers.in + (size_t)(first + begin) * (size_t)N, (end - begin) * N, MPIU_SCALAR, h->from[i], h->tag, comm, &h->requests[n++]));
    }
  }
  for (PetscMPIInt i = 0; i < h->nto; i++) {
    const PetscInt first = h->tostart[i], nrows = h->tostart[i + 1] - first, pieces = AIJTCUHaloPieces(h->place, nrows, N);

    if (AIJTCUIsDirect(h->direct.to, i)) {
      PetscCallMPI(MPIU_Isend(NULL, 0, MPI_BYTE, h->to[i], h->tag, comm, &h->requests[n++]));
      continue;
    }
    for (PetscInt k = 0; k < pieces; k++) {
      const PetscInt begin = AIJTCUHaloPieceStart(nrows, pieces, k), end = AIJTCUHaloPieceStart(nrows, pieces, k + 1);

      if (!ierr) ierr = AIJTCUWaitForRows(h, first + end, N);
      PetscCallMPI(MPIU_Isend(h->buffers.out + (size_t)(first + begin) * (size_t)N, (end - begin) * N, MPIU_SCALAR, h->to[i], h->tag, comm, &h->requests[n++]));
    }
  }
  h->nrequests = n;
  h->posted    = PETSC_TRUE;
  PetscCall(vacated);
  PetscCall(ierr);
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Ghosts are copied in the order of the processes, so a message that is late keeps those behind it waiting */
static PetscErrorCode AIJTCUMessagesFinish(AIJTCUHalo *h, PetscInt N)
{
  PetscErrorCode ierr = PETSC_SUCCESS, taken;
  PetscMPIInt    n    = 0;

  PetscFunctionBegin;
  if (!h->posted) PetscFunctionReturn(PETSC_SUCCESS); /* after an error of MPI */
  h->posted = PETSC_FALSE;
  for (PetscMPIInt i = 0; i < h->nfrom; i++) {
    const PetscInt first = h->fromstart[i], nrows = h->fromstart[i + 1] - first, pieces = AIJTCUHaloPieces(h->place, nrows, N);

    if (AIJTCUIsDirect(h->direct.from, i)) {
      PetscCallMPI(MPI_Wait(&h->requests[n++], MPI_STATUS_IGNORE));
      if (!ierr) ierr = AIJTCUTake(h, i, N);
      continue;
    }
    for (PetscInt k = 0; k < pieces; k++) {
      PetscCallMPI(MPI_Wait(&h->requests[n++], MPI_STATUS_IGNORE));
      if (!ierr) ierr = AIJTCUCopyGhosts(h, first + AIJTCUHaloPieceStart(nrows, pieces, k), first + AIJTCUHaloPieceStart(nrows, pieces, k + 1), N);
    }
  }
  taken = AIJTCUTaken(h);
  PetscCallMPI(MPI_Waitall(h->nrequests - n, h->requests + n, MPI_STATUSES_IGNORE));
  PetscCall(ierr);
  PetscCall(taken);
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* PetscSF, the reference. It packs once more, into buffers that it makes for each N */
static PetscErrorCode AIJTCUSFStart(AIJTCUHalo *h, PetscInt N)
{
  PetscErrorCode ierr, begun;
  PetscMPIInt    n;

  PetscFunctionBegin;
  if (h->row_N != N) {
    PetscCall(PetscMPIIntCast(N, &n));
    if (h->row_N) PetscCallMPI(MPI_Type_free(&h->row));
    h->row_N = 0;
    PetscCallMPI(MPI_Type_contiguous(n, MPIU_SCALAR, &h->row));
    h->row_N = N;
    PetscCallMPI(MPI_Type_commit(&h->row));
  }
  ierr = AIJTCUVacate(h);
  if (!ierr) ierr = AIJTCUWaitForRows(h, AIJTCUHaloPacked(h), N);
  begun     = PetscSFBcastBegin(h->sf, h->row, h->buffers.out, h->buffers.in, MPI_REPLACE);
  h->posted = (PetscBool)!begun;
  PetscCall(ierr);
  PetscCall(begun);
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode AIJTCUSFFinish(AIJTCUHalo *h, PetscInt N)
{
  PetscFunctionBegin;
  if (!h->posted) PetscFunctionReturn(PETSC_SUCCESS);
  h->posted = PETSC_FALSE;
  PetscCall(PetscSFBcastEnd(h->sf, h->row, h->buffers.out, h->buffers.in, MPI_REPLACE));
  PetscCall(AIJTCUCopyGhosts(h, 0, h->nghosts, N));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static const AIJTCUHaloEngine nearest    = {PETSC_TRUE, PETSC_TRUE, AIJTCUMessagesStart, AIJTCUMessagesFinish};
static const AIJTCUHaloEngine messages   = {PETSC_TRUE, PETSC_FALSE, AIJTCUMessagesStart, AIJTCUMessagesFinish};
static const AIJTCUHaloEngine starforest = {PETSC_FALSE, PETSC_FALSE, AIJTCUSFStart, AIJTCUSFFinish};

const AIJTCUHaloEngine *AIJTCUHaloEngineGet(MatAIJTCUHalo halo)
{
  return halo == MAT_AIJTCU_HALO_SF ? &starforest : halo == MAT_AIJTCU_HALO_MPI ? &messages
                                                                                : &nearest;
}
#endif
