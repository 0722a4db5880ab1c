/*
   Engines: ways to bring packed rows to the processes that need them. The table is at the end.
*/
#include "aijtcuimpl.h"

#if AIJTCU_HAVE_HALO

/*
   Messages of MPI between buffers of ours. One product of A is under way at a time, and messages between two processes
   stay in order, so one tag is enough.
*/
static PetscErrorCode AIJTCUMessagesBegin(Mat A, AIJTCUHalo *h, PetscInt N)
{
  const MPI_Comm comm = PetscObjectComm((PetscObject)A);

  PetscFunctionBegin;
  for (PetscMPIInt i = 0; i < h->nfrom; i++) {
    const size_t first = (size_t)h->fromstart[i] * (size_t)N;

    PetscCallMPI(MPIU_Irecv(h->in + first, (h->fromstart[i + 1] - h->fromstart[i]) * N, MPIU_SCALAR, h->from[i], h->tag, comm, &h->requests[i]));
  }
  for (PetscMPIInt i = 0; i < h->nto; i++) {
    const size_t first = (size_t)h->tostart[i] * (size_t)N;

    PetscCallMPI(MPIU_Isend(h->out + first, (h->tostart[i + 1] - h->tostart[i]) * N, MPIU_SCALAR, h->to[i], h->tag, comm, &h->requests[h->nfrom + i]));
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode AIJTCUMessagesEnd(AIJTCUHalo *h)
{
  PetscFunctionBegin;
  PetscCallMPI(MPI_Waitall(h->nfrom + h->nto, h->requests, MPI_STATUSES_IGNORE));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* PetscSF, the reference. It packs once more, into buffers that it makes for each N */
static PetscErrorCode AIJTCUSFBegin(Mat A, AIJTCUHalo *h, PetscInt N)
{
  PetscMPIInt n;

  PetscFunctionBegin;
  (void)A;
  if (h->row_N != N) {
    PetscCall(PetscMPIIntCast(N, &n));
    if (h->row_N) PetscCallMPI(MPI_Type_free(&h->row));
    h->row_N = 0;
    PetscCallMPI(MPI_Type_contiguous(n, MPIU_SCALAR, &h->row));
    h->row_N = N;
    PetscCallMPI(MPI_Type_commit(&h->row));
  }
  PetscCall(PetscSFBcastBegin(h->sf, h->row, h->out, h->in, MPI_REPLACE));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode AIJTCUSFEnd(AIJTCUHalo *h)
{
  PetscFunctionBegin;
  PetscCall(PetscSFBcastEnd(h->sf, h->row, h->out, h->in, MPI_REPLACE));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static const AIJTCUHaloEngine messages   = {PETSC_FALSE, AIJTCUMessagesBegin, AIJTCUMessagesEnd};
static const AIJTCUHaloEngine starforest = {PETSC_TRUE, AIJTCUSFBegin, AIJTCUSFEnd};

const AIJTCUHaloEngine *AIJTCUHaloEngineGet(MatAIJTCUHalo halo)
{
  return halo == MAT_AIJTCU_HALO_SF ? &starforest : &messages;
}
#endif
