/*
   Device memory for copies of B and for matrices that come from the host: one buffer for all plans, because products follow each other on a stream. It
   grows to what the largest product asked for, up to a cap, and goes when the last plan on the device does.
*/
#include "aijtcuimpl.h"

#if AIJTCU_HAVE_DEVICE
  #include <petscdevice_cuda.h>

static struct {
  void        *buffer;
  size_t       bytes;
  int          device;
  PetscInt     nusers;
  cudaStream_t stream; /* that used it last */
  cudaEvent_t  done;   /* what it did there */
} workspace;

static PetscErrorCode AIJTCUWorkspaceFree(void)
{
  PetscFunctionBegin;
  if (workspace.buffer) PetscCallCUDA(cudaFree(workspace.buffer)); /* waits for who still uses it */
  if (workspace.done) PetscCallCUDA(cudaEventDestroy(workspace.done));
  workspace.buffer = NULL;
  workspace.done   = NULL;
  workspace.bytes  = 0;
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* A plan on the device comes or goes */
PetscErrorCode AIJTCUWorkspaceUser(PetscBool comes)
{
  PetscFunctionBegin;
  workspace.nusers += comes ? 1 : -1;
  if (workspace.nusers == 0) PetscCall(AIJTCUWorkspaceFree());
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Whether a product should take so much at once, rather than in pieces: -mat_aijtcu_workspace_max, else a quarter of the device's memory */
PetscErrorCode AIJTCUWorkspaceFits(size_t bytes, PetscBool *fits)
{
  static size_t total = 0;

  PetscFunctionBegin;
  if (bytes > workspace.bytes && !total) {
    size_t unused;

    PetscCallCUDA(cudaMemGetInfo(&unused, &total));
  }
  *fits = (PetscBool)(bytes <= workspace.bytes || bytes <= (AIJTCUWorkspaceMax > 0 ? (size_t)(AIJTCUWorkspaceMax * 1048576) : total / 4));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* So many bytes for what is put on the stream until the next call; NULL where there is not as much memory */
PetscErrorCode AIJTCUWorkspaceGet(size_t bytes, cudaStream_t stream, void **work)
{
  int device;

  PetscFunctionBegin;
  *work = NULL;
  PetscCallCUDA(cudaGetDevice(&device));
  if (bytes > workspace.bytes || device != workspace.device) {
    cudaError_t err;

    PetscCall(AIJTCUWorkspaceFree());
    err = cudaMalloc(&workspace.buffer, bytes);
    if (err == cudaErrorMemoryAllocation) {
      (void)cudaGetLastError();
      workspace.buffer = NULL;
      PetscFunctionReturn(PETSC_SUCCESS);
    }
    PetscCallCUDA(err);
    workspace.bytes  = bytes;
    workspace.device = device;
  } else if (stream != workspace.stream) { /* behind what the other stream has left to do */
    if (!workspace.done) PetscCallCUDA(cudaEventCreateWithFlags(&workspace.done, cudaEventDisableTiming));
    PetscCallCUDA(cudaEventRecord(workspace.done, workspace.stream));
    PetscCallCUDA(cudaStreamWaitEvent(stream, workspace.done, 0));
  }
  workspace.stream = stream;
  *work            = workspace.buffer;
  PetscFunctionReturn(PETSC_SUCCESS);
}
#endif
