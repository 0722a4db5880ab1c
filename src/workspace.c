/*
   What all plans on a device share: the order of their work, and device memory for copies of B, for sums of parts and
   for matrices that come from the host.

   One buffer serves all because their work is done one after the other, whatever stream it is given to: an event marks
   where the last of it ends. The buffer grows to what the largest product asked for, up to a cap, and goes when the
   last plan on the device does.
*/
#include "aijtcuimpl.h"

#if AIJTCU_HAVE_DEVICE
  #include <petscdevice_cuda.h>

  #pragma weak PetscDefaultCudaStream /* data, which a PETSc without CUDA has not: the library would not be loaded there, and could not say why */

static struct {
  void       *buffer;
  size_t      bytes;
  size_t      failed; /* so much was asked for in vain */
  int         device; /* of the buffer and the event */
  PetscInt    nusers;
  cudaEvent_t done;

  AIJTCUTransfers transfers;
} shared;

/* What a caller can do something about is left to him, the rest is an error */
PetscErrorCode AIJTCUCheckDevice(HrpbError err)
{
  PetscFunctionBegin;
  PetscCheck(err != HRPB_ERR_DEVICE, PETSC_COMM_SELF, PETSC_ERR_GPU, "CUDA error in a kernel of aijtcu: %s", HrpbDeviceErrorString());
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*
   An error of a call that nobody asks for, lest another's question meets it: one of work before comes to light in the
   next call
*/
PetscBool AIJTCUForgetError(int err)
{
  if (err != cudaSuccess) (void)cudaGetLastError();
  return (PetscBool)(err != cudaSuccess);
}

static void AIJTCUTransfersFree(AIJTCUTransfers *t)
{
  if (t->in) (void)AIJTCUForgetError(cudaStreamDestroy(t->in));
  if (t->out) (void)AIJTCUForgetError(cudaStreamDestroy(t->out));
  for (int i = 0; i < 2; i++) {
    if (t->arrived[i]) (void)AIJTCUForgetError(cudaEventDestroy(t->arrived[i]));
    if (t->multiplied[i]) (void)AIJTCUForgetError(cudaEventDestroy(t->multiplied[i]));
    if (t->left[i]) (void)AIJTCUForgetError(cudaEventDestroy(t->left[i]));
  }
  memset(t, 0, sizeof(*t));
}

/* Device memory from the driver's pool, in the order of the stream; NULL where there is not as much */
PetscErrorCode AIJTCUDeviceMalloc(size_t bytes, cudaStream_t stream, void **p)
{
  cudaError_t err;

  PetscFunctionBegin;
  err = cudaMallocAsync(p, PetscMax(bytes, 1), stream);
  if (err != cudaSuccess) *p = NULL;
  if (err == cudaErrorMemoryAllocation) (void)cudaGetLastError();
  else PetscCallCUDA(err);
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* All of it, whatever CUDA says */
static void AIJTCUSharedFree(void)
{
  if (shared.buffer) {
    if (shared.done) (void)AIJTCUForgetError(cudaEventSynchronize(shared.done));
    (void)AIJTCUForgetError(cudaFree(shared.buffer)); /* does not wait for what comes from the driver's pool, nor asks which device is current */
  }
  if (shared.done) (void)AIJTCUForgetError(cudaEventDestroy(shared.done));
  AIJTCUTransfersFree(&shared.transfers);
  shared.buffer = NULL;
  shared.done   = NULL;
  shared.bytes = shared.failed = 0;
}

/* A plan on the device comes or goes */
void AIJTCUWorkspaceUser(PetscBool comes)
{
  shared.nusers += comes ? 1 : -1;
  if (shared.nusers == 0) AIJTCUSharedFree();
}

/*
   The stream of PETSc's current device context, behind what plans have put on any stream, and behind PETSc's own
   default stream, on which matrices are assembled and scaled. To be followed by AIJTCUDeviceEnd()
*/
PetscErrorCode AIJTCUDeviceBegin(cudaStream_t *stream)
{
  PetscDeviceContext dctx;
  void              *handle;
  int                device;

  PetscFunctionBegin;
  PetscCall(PetscDeviceContextGetCurrentContext(&dctx));
  PetscCall(PetscDeviceContextGetStreamHandle(dctx, &handle));
  *stream = *(cudaStream_t *)handle;
  PetscCallCUDA(cudaGetDevice(&device));
  if (device != shared.device) AIJTCUSharedFree();
  shared.device = device;
  if (!shared.done) PetscCallCUDA(cudaEventCreateWithFlags(&shared.done, cudaEventDisableTiming));
  else PetscCallCUDA(cudaStreamWaitEvent(*stream, shared.done, 0));
  if (*stream != PetscDefaultCudaStream) {
    PetscCallCUDA(cudaEventRecord(shared.done, PetscDefaultCudaStream));
    PetscCallCUDA(cudaStreamWaitEvent(*stream, shared.done, 0));
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* A stream in which memory of plans can be freed: behind all that they have put on any stream */
cudaStream_t AIJTCUDeviceStreamBehind(void)
{
  if (shared.done && AIJTCUForgetError(cudaStreamWaitEvent(PetscDefaultCudaStream, shared.done, 0))) (void)AIJTCUForgetError(cudaDeviceSynchronize());
  return PetscDefaultCudaStream;
}

/* Streams and events for matrices that come from the host, between AIJTCUDeviceBegin() and AIJTCUDeviceEnd() */
PetscErrorCode AIJTCUGetTransfers(AIJTCUTransfers **transfers)
{
  AIJTCUTransfers *t = &shared.transfers;

  PetscFunctionBegin;
  if (!t->in) PetscCallCUDA(cudaStreamCreateWithFlags(&t->in, cudaStreamNonBlocking));
  if (!t->out) PetscCallCUDA(cudaStreamCreateWithFlags(&t->out, cudaStreamNonBlocking));
  for (int i = 0; i < 2; i++) {
    if (!t->arrived[i]) PetscCallCUDA(cudaEventCreateWithFlags(&t->arrived[i], cudaEventDisableTiming));
    if (!t->multiplied[i]) PetscCallCUDA(cudaEventCreateWithFlags(&t->multiplied[i], cudaEventDisableTiming));
    if (!t->left[i]) PetscCallCUDA(cudaEventCreateWithFlags(&t->left[i], cudaEventDisableTiming));
  }
  *transfers = t;
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Also after an error, that of AIJTCUDeviceBegin() included: what was put on the stream until then is there */
PetscErrorCode AIJTCUDeviceEnd(cudaStream_t stream)
{
  cudaError_t err = cudaSuccess;

  PetscFunctionBegin;
  if (shared.done) err = cudaEventRecord(shared.done, stream);
  if (shared.nusers == 0) AIJTCUSharedFree(); /* an analysis before anything is built */
  PetscCallCUDA(err);
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*
   Whether a product should take so much at once, rather than in pieces: -mat_aijtcu_workspace_max, else a quarter of
   the device's memory
*/
PetscErrorCode AIJTCUWorkspaceFits(size_t bytes, PetscBool *fits)
{
  const SpmmDevice *device;
  HrpbError         err;

  PetscFunctionBegin;
  AIJTCUCallDevice(err, SpmmGetDevice(&device));
  PetscCheck(!err, PETSC_COMM_SELF, PETSC_ERR_GPU, "%s", HrpbErrorString(err));
  *fits = (PetscBool)(bytes <= shared.bytes || ((!shared.failed || bytes < shared.failed) && bytes <= (AIJTCUWorkspaceMax > 0 ? (size_t)(AIJTCUWorkspaceMax * 1048576) : device->memory / 4)));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*
   So many bytes until AIJTCUDeviceEnd(), for work on the stream that AIJTCUDeviceBegin() gave; NULL where there is not
   as much memory
*/
PetscErrorCode AIJTCUWorkspaceGet(size_t bytes, cudaStream_t stream, void **work)
{
  PetscFunctionBegin;
  *work = NULL;
  if (bytes > shared.bytes) {
    if (shared.buffer) PetscCallCUDA(cudaFreeAsync(shared.buffer, stream));
    shared.buffer = NULL;
    shared.bytes  = 0;
    PetscCall(AIJTCUDeviceMalloc(bytes, stream, &shared.buffer));
    if (!shared.buffer) {
      shared.failed = bytes;
      PetscFunctionReturn(PETSC_SUCCESS);
    }
    shared.bytes = bytes;
  }
  *work = shared.buffer;
  PetscFunctionReturn(PETSC_SUCCESS);
}
#endif
