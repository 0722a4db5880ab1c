/*
   Ghosts straight from the memory of other processes' devices, on the same machine: CUDA lends it to this process
   (cudaIpc...). A copy there takes the way that the devices have, and no memory of the host.

   No host waits for a device. A process that has started to pack says so by an empty message. The other one lets its
   copy wait for the packing, by an event that it was lent as well. When it has started to copy, an empty message goes
   back. The next packing waits for the copy in the same way.

   What was lent is given back before its owner frees it: all processes meet in between.
*/
#include "aijtcuimpl.h"

#if AIJTCU_HAVE_HALO && AIJTCU_HAVE_DEVICE
  #include <petscdevice_cuda.h>

/* What an owner lends, and what it is lent in return */
typedef struct {
  PetscBool            lent;
  cudaIpcMemHandle_t   out;
  cudaIpcEventHandle_t ready;
  PetscInt             first; /* row of out that is the borrower's first */
} Loan;

typedef struct {
  PetscBool            lent;
  cudaIpcEventHandle_t taken;
} Return;

/* Errors here are no errors: messages go instead */
static PetscBool Succeeds(cudaError_t err)
{
  return (PetscBool)!AIJTCUForgetError(err);
}

static PetscErrorCode AIJTCULocalRank(AIJTCUHalo *h, PetscMPIInt rank, PetscBool *here)
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

static void AIJTCUGiveBack(AIJTCULender *l)
{
  if (l->out) (void)Succeeds(cudaIpcCloseMemHandle(l->out));
  if (l->event) (void)Succeeds(cudaEventDestroy(l->event));
  l->out   = NULL;
  l->event = NULL;
}

/* Send size bytes to each neighbour, and get as many. ways are those of rows: with them, or against them */
static PetscErrorCode AIJTCUSwap(AIJTCUHalo *h, const void *forth, void *forthin, size_t forthsize, const void *back, void *backin, size_t backsize)
{
  const MPI_Comm comm = PetscObjectComm((PetscObject)h->sf);
  PetscMPIInt    n    = 0;

  PetscFunctionBegin;
  for (PetscMPIInt i = 0; i < h->nfrom; i++) PetscCallMPI(MPIU_Irecv((char *)forthin + (size_t)i * forthsize, (PetscCount)forthsize, MPI_BYTE, h->from[i], h->tag, comm, &h->requests[n++]));
  for (PetscMPIInt i = 0; i < h->nto; i++) PetscCallMPI(MPIU_Irecv((char *)backin + (size_t)i * backsize, (PetscCount)backsize, MPI_BYTE, h->to[i], h->backtag, comm, &h->requests[n++]));
  for (PetscMPIInt i = 0; i < h->nto; i++) PetscCallMPI(MPIU_Isend((const char *)forth + (size_t)i * forthsize, (PetscCount)forthsize, MPI_BYTE, h->to[i], h->tag, comm, &h->requests[n++]));
  for (PetscMPIInt i = 0; i < h->nfrom; i++) PetscCallMPI(MPIU_Isend((const char *)back + (size_t)i * backsize, (PetscCount)backsize, MPI_BYTE, h->from[i], h->backtag, comm, &h->requests[n++]));
  PetscCallMPI(MPI_Waitall(n, h->requests, MPI_STATUSES_IGNORE));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Have the two events that are lent, and handles of all that is */
static void AIJTCULend(AIJTCUHalo *h, Loan loans[], Return *back)
{
  AIJTCUHaloDirect *d = &h->direct;
  Loan              loan;

  memset(&loan, 0, sizeof(loan));
  memset(back, 0, sizeof(*back));
  if (!Succeeds(cudaEventCreateWithFlags(&d->ready, cudaEventDisableTiming | cudaEventInterprocess))) d->ready = NULL;
  if (!Succeeds(cudaEventCreateWithFlags(&d->taken, cudaEventDisableTiming | cudaEventInterprocess))) d->taken = NULL;
  loan.lent  = (PetscBool)(d->ready && Succeeds(cudaIpcGetMemHandle(&loan.out, h->buffers.dout)) && Succeeds(cudaIpcGetEventHandle(&loan.ready, d->ready)));
  back->lent = (PetscBool)(d->taken && Succeeds(cudaIpcGetEventHandle(&back->taken, d->taken)));
  for (PetscMPIInt i = 0; i < h->nto; i++) {
    loans[i]       = loan;
    loans[i].first = h->tostart[i];
  }
}

static PetscErrorCode AIJTCUBorrow(AIJTCUHalo *h, PetscMPIInt rank, PetscBool lent, const Loan *loan, const cudaIpcEventHandle_t *event, AIJTCULender *l)
{
  PetscBool here;
  void     *out = NULL;

  PetscFunctionBegin;
  PetscCall(AIJTCULocalRank(h, rank, &here));
  if (!here || !lent) PetscFunctionReturn(PETSC_SUCCESS);
  if (!Succeeds(cudaIpcOpenEventHandle(&l->event, *event))) l->event = NULL;
  if (l->event && loan && !Succeeds(cudaIpcOpenMemHandle(&out, loan->out, cudaIpcMemLazyEnablePeerAccess))) AIJTCUGiveBack(l);
  if (l->event && loan) {
    l->out   = out;
    l->first = loan->first;
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Exchange handles with all neighbours. A way is direct if both of its ends could open what they were lent */
static PetscErrorCode AIJTCUHaloConnect(AIJTCUHalo *h, Loan *loans, Loan *loansin, Return *backs, Return *backsin, PetscBool *ok, PetscBool *okin)
{
  AIJTCUHaloDirect *d = &h->direct;

  PetscFunctionBegin;
  for (PetscMPIInt i = 0; i < h->nfrom; i++) backs[i] = backs[h->nfrom];
  PetscCall(AIJTCUSwap(h, loans, loansin, sizeof(*loans), backs, backsin, sizeof(*backs)));
  for (PetscMPIInt i = 0; i < h->nfrom; i++) {
    PetscCall(AIJTCUBorrow(h, h->from[i], loansin[i].lent, &loansin[i], &loansin[i].ready, &d->from[i]));
    ok[h->nto + i] = (PetscBool)(d->from[i].event != NULL);
  }
  for (PetscMPIInt i = 0; i < h->nto; i++) {
    PetscCall(AIJTCUBorrow(h, h->to[i], backsin[i].lent, NULL, &backsin[i].taken, &d->to[i]));
    ok[i] = (PetscBool)(d->to[i].event != NULL);
  }
  PetscCall(AIJTCUSwap(h, ok, okin, sizeof(*ok), ok + h->nto, okin + h->nfrom, sizeof(*ok)));
  for (PetscMPIInt i = 0; i < h->nfrom; i++) {
    if (!okin[i]) AIJTCUGiveBack(&d->from[i]);
  }
  for (PetscMPIInt i = 0; i < h->nto; i++) {
    if (!okin[h->nfrom + i]) AIJTCUGiveBack(&d->to[i]);
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Let neighbours lend each other their buffers, where they can. Collective */
PetscErrorCode AIJTCUHaloDirectOpen(Mat A, AIJTCUHalo *h)
{
  AIJTCUHaloDirect *d = &h->direct;
  Loan             *loans, *loansin;
  Return           *backs, *backsin;
  PetscBool        *ok, *okin;
  PetscMPIInt       nfrom = 0, nto = 0;

  PetscFunctionBegin;
  d->open = PETSC_TRUE;
  #if PetscDefined(HAVE_MPI_PROCESS_SHARED_MEMORY)
  {
    PetscShmComm shm;

    /* Collective when it is first called for a communicator, so processes without neighbours call it as well */
    PetscCall(PetscShmCommGet(PetscObjectComm((PetscObject)h->sf), &shm));
  }
  #endif
  PetscCall(PetscCalloc3(h->nfrom, &d->from, h->nto, &d->to, h->nfrom + h->nto, &d->empty));
  for (PetscMPIInt i = 0; i < h->nfrom + h->nto; i++) d->empty[i] = MPI_REQUEST_NULL;
  PetscCall(PetscMalloc6(h->nto, &loans, h->nfrom, &loansin, h->nfrom + 1, &backs, h->nto, &backsin, h->nto + h->nfrom, &ok, h->nto + h->nfrom, &okin));
  AIJTCULend(h, loans, &backs[h->nfrom]);
  PetscCall(AIJTCUHaloConnect(h, loans, loansin, backs, backsin, ok, okin));
  PetscCall(PetscFree6(loans, loansin, backs, backsin, ok, okin));
  for (PetscMPIInt i = 0; i < h->nfrom; i++) nfrom += d->from[i].event != NULL;
  for (PetscMPIInt i = 0; i < h->nto; i++) nto += d->to[i].event != NULL;
  PetscCall(PetscInfo(A, "aijtcu: rows go to %d of %d processes, and come from %d of %d, without memory of the host\n", nto, h->nto, nfrom, h->nfrom));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Give back what was lent, and wait until all others have. Collective. The memory may be freed after it */
void AIJTCUHaloDirectClose(AIJTCUHalo *h)
{
  AIJTCUHaloDirect *d = &h->direct;

  if (!d->open) return;
  if (d->empty) (void)MPI_Waitall(h->nto + h->nfrom, d->empty, MPI_STATUSES_IGNORE);
  (void)Succeeds(cudaStreamSynchronize(AIJTCUDeviceStreamBehind()));
  for (PetscMPIInt i = 0; d->from && i < h->nfrom; i++) AIJTCUGiveBack(&d->from[i]);
  for (PetscMPIInt i = 0; d->to && i < h->nto; i++) AIJTCUGiveBack(&d->to[i]);
  (void)MPI_Barrier(PetscObjectComm((PetscObject)h->sf));
  if (d->ready) (void)Succeeds(cudaEventDestroy(d->ready));
  if (d->taken) (void)Succeeds(cudaEventDestroy(d->taken));
  (void)PetscFree3(d->from, d->to, d->empty);
  memset(d, 0, sizeof(*d));
}

/* Whether rows from first to end - 1 of out are all taken by their processes */
PetscBool AIJTCUHaloIsTaken(const AIJTCUHalo *h, PetscInt first, PetscInt end)
{
  if (!h->direct.open) return PETSC_FALSE;
  for (PetscMPIInt i = 0; i < h->nto; i++) {
    if (h->tostart[i] < end && h->tostart[i + 1] > first && !h->direct.to[i].event) return PETSC_FALSE;
  }
  return PETSC_TRUE;
}

/* Packing on the stream waits until what was packed last has been taken */
PetscErrorCode AIJTCUHaloDirectReuse(AIJTCUHalo *h, cudaStream_t stream)
{
  AIJTCUHaloDirect *d = &h->direct;

  PetscFunctionBegin;
  if (!d->open) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCallMPI(MPI_Waitall(h->nto + h->nfrom, d->empty, MPI_STATUSES_IGNORE));
  for (PetscMPIInt i = 0; i < h->nto; i++) {
    if (d->to[i].event) PetscCallCUDA(cudaStreamWaitEvent(stream, d->to[i].event, 0));
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* All is packed when the stream is through */
PetscErrorCode AIJTCUHaloDirectReady(AIJTCUHalo *h, cudaStream_t stream)
{
  PetscFunctionBegin;
  if (h->direct.ready) PetscCallCUDA(cudaEventRecord(h->direct.ready, stream));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Copy the ghosts of process i on the stream. It has said that they are being packed */
PetscErrorCode AIJTCUHaloDirectTake(AIJTCUHalo *h, PetscMPIInt i, PetscInt N, cudaStream_t stream)
{
  const AIJTCULender *l     = &h->direct.from[i];
  const size_t        bytes = sizeof(PetscScalar) * (size_t)(h->fromstart[i + 1] - h->fromstart[i]) * (size_t)N;

  PetscFunctionBegin;
  PetscCallCUDA(cudaStreamWaitEvent(stream, l->event, 0));
  PetscCallCUDA(cudaMemcpyAsync(h->buffers.din + (size_t)h->fromstart[i] * (size_t)N, l->out + (size_t)l->first * (size_t)N, bytes, cudaMemcpyDeviceToDevice, stream));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* All copies are on the stream. Tell owners of rows, and hear of those who copy from here; the next packing waits */
PetscErrorCode AIJTCUHaloDirectTaken(AIJTCUHalo *h, cudaStream_t stream)
{
  const MPI_Comm    comm = PetscObjectComm((PetscObject)h->sf);
  AIJTCUHaloDirect *d    = &h->direct;
  cudaError_t       err  = d->taken ? cudaEventRecord(d->taken, stream) : cudaSuccess;

  PetscFunctionBegin;
  for (PetscMPIInt i = 0; i < h->nfrom; i++) {
    if (d->from[i].event) PetscCallMPI(MPIU_Isend(NULL, 0, MPI_BYTE, h->from[i], h->backtag, comm, &d->empty[h->nto + i]));
  }
  for (PetscMPIInt i = 0; i < h->nto; i++) {
    if (d->to[i].event) PetscCallMPI(MPIU_Irecv(NULL, 0, MPI_BYTE, h->to[i], h->backtag, comm, &d->empty[i]));
  }
  PetscCallCUDA(err);
  PetscFunctionReturn(PETSC_SUCCESS);
}
#endif
