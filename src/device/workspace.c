/*
   What all plans on a device share: the order of their work, and device memory. The memory is for copies of B, for
   sums of parts and for matrices that come from the host.

   One buffer serves all. Their work is done one after the other, on any stream: an event marks where the last of it
   ends. Work in CUDA's default stream needs no mark, as long as all work is in that stream: it keeps its order, and
   nobody destroys it. To record an event and wait for it takes the host half a microsecond. The buffer grows to what
   the largest product asked for, up to a cap. It goes when the last plan on the device does.
*/
#include "device.h"

#if AIJTCU_HAVE_DEVICE
  #include <petscdevice_cuda.h>

  /*
     Data that a PETSc without CUDA lacks. Without the pragma the library could not be loaded there, and could not say
     why
  */
  #pragma weak PetscDefaultCudaStream

static struct {
  void         *buffer;
  size_t        bytes;
  size_t        failed;  /* size that was asked for in vain, */
  AIJTCURefusal refused; /* and how long it is not asked for again */
  int           device;  /* device of the buffer and the events */
  PetscInt      nusers;

  cudaStream_t last;  /* that of the last work. NULL: CUDA's default stream */
  cudaEvent_t  done;  /* where the last work ends, unless that is in the default stream */
  cudaEvent_t  petsc; /* where PETSc's own work in its default stream ends, for work in another one */

  AIJTCUTransfers transfers;
} shared;

PetscErrorCode AIJTCUCheckRefused(HrpbError err)
{
  PetscFunctionBegin;
  PetscCheck(err != HRPB_ERR_DEVICE, PETSC_COMM_SELF, PETSC_ERR_GPU, "CUDA error in a kernel of aijtcu: %s", HrpbDeviceErrorString());
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode AIJTCUCheckKernels(HrpbError err)
{
  PetscFunctionBegin;
  PetscCall(AIJTCUCheckRefused(err));
  PetscCheck(!err, PETSC_COMM_SELF, err == HRPB_ERR_DEVICE_MEMORY ? PETSC_ERR_MEM : PETSC_ERR_GPU, "A kernel of aijtcu could not be launched: %s", HrpbErrorString(err));
  PetscFunctionReturn(PETSC_SUCCESS);
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

/* What a call of CUDA has allocated: NULL where there is not enough memory. err is a cudaError_t */
PetscErrorCode AIJTCUAllocated(int err, void **p)
{
  PetscFunctionBegin;
  if (err != cudaSuccess) *p = NULL;
  if (err == cudaErrorMemoryAllocation) (void)cudaGetLastError();
  else PetscCallCUDA((cudaError_t)err);
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Device memory from the driver's pool, in the order of the stream. NULL where there is not enough */
PetscErrorCode AIJTCUDeviceMalloc(size_t bytes, cudaStream_t stream, void **p)
{
  PetscFunctionBegin;
  PetscCall(AIJTCUAllocated(cudaMallocAsync(p, PetscMax(bytes, 1), stream), p));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*
   Have a list of the host on the device. It is NULL where there is no memory for it, or where it was not copied: what
   is read from it are addresses
*/
PetscErrorCode AIJTCUDeviceList(const PetscInt list[], PetscInt n, cudaStream_t stream, PetscInt **on_device)
{
  const size_t bytes = (size_t)n * sizeof(*list);
  PetscInt    *copy;
  cudaError_t  err = cudaSuccess;

  PetscFunctionBegin;
  if (*on_device) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCall(AIJTCUDeviceMalloc(bytes, stream, (void **)&copy));
  if (!copy) PetscFunctionReturn(PETSC_SUCCESS);
  if (n) err = cudaMemcpyAsync(copy, list, bytes, cudaMemcpyHostToDevice, stream);
  if (err != cudaSuccess) (void)AIJTCUForgetError(cudaFreeAsync(copy, stream));
  PetscCallCUDA(err);
  *on_device = copy;
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Keep the host waiting for the last work. Its device need not be the current one */
static void AIJTCUWaitForWork(void)
{
  int now;

  if (!shared.done) return;
  if (shared.last) {
    (void)AIJTCUForgetError(cudaEventSynchronize(shared.done));
    return;
  }
  if (AIJTCUForgetError(cudaGetDevice(&now))) return;
  if (now != shared.device) (void)AIJTCUForgetError(cudaSetDevice(shared.device));
  (void)AIJTCUForgetError(cudaStreamSynchronize(NULL));
  if (now != shared.device) (void)AIJTCUForgetError(cudaSetDevice(now));
}

/* Keep a stream waiting for the last work */
static cudaError_t AIJTCUStreamBehindWork(cudaStream_t stream)
{
  cudaError_t err = cudaSuccess;

  if (!shared.done || (!stream && !shared.last)) return err;
  if (!shared.last) err = cudaEventRecord(shared.done, NULL);
  return err == cudaSuccess ? cudaStreamWaitEvent(stream, shared.done, 0) : err;
}

/* Free all of it, even if CUDA reports errors */
static void AIJTCUSharedFree(void)
{
  if (shared.buffer) {
    AIJTCUWaitForWork();
    /* This does not wait for memory from the driver's pool, nor asks which device is current */
    (void)AIJTCUForgetError(cudaFree(shared.buffer));
  }
  if (shared.done) (void)AIJTCUForgetError(cudaEventDestroy(shared.done));
  if (shared.petsc) (void)AIJTCUForgetError(cudaEventDestroy(shared.petsc));
  AIJTCUTransfersFree(&shared.transfers);
  shared.buffer = NULL;
  shared.done = shared.petsc = NULL;
  shared.last                = NULL;
  shared.bytes = shared.failed = 0;
  shared.refused               = (AIJTCURefusal){0, 0};
}

/* Count a plan on the device that comes or goes */
void AIJTCUWorkspaceUser(PetscBool comes)
{
  shared.nusers += comes ? 1 : -1;
  if (shared.nusers == 0) AIJTCUSharedFree();
}

/*
   The stream of PETSc's current device context. It waits for the work of plans on any stream. It also waits for
   PETSc's own default stream, on which matrices are assembled and scaled. AIJTCUDeviceEnd() must follow.
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
  if (device != shared.device) {
    AIJTCUWaitForWork(); /* plans on the device of before are freed later, on streams of another */
    AIJTCUSharedFree();
  }
  shared.device = device;
  if (!shared.done) PetscCallCUDA(cudaEventCreateWithFlags(&shared.done, cudaEventDisableTiming));
  PetscCallCUDA(AIJTCUStreamBehindWork(*stream));
  if (*stream != PetscDefaultCudaStream) {
    if (!shared.petsc) PetscCallCUDA(cudaEventCreateWithFlags(&shared.petsc, cudaEventDisableTiming));
    PetscCallCUDA(cudaEventRecord(shared.petsc, PetscDefaultCudaStream));
    PetscCallCUDA(cudaStreamWaitEvent(*stream, shared.petsc, 0));
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* A stream in which memory of plans can be freed. It waits for their work on any stream, and of another device */
cudaStream_t AIJTCUDeviceStreamBehind(void)
{
  int device;

  if (!AIJTCUForgetError(cudaGetDevice(&device)) && device != shared.device) AIJTCUWaitForWork();
  else if (AIJTCUForgetError(AIJTCUStreamBehindWork(PetscDefaultCudaStream))) (void)AIJTCUForgetError(cudaDeviceSynchronize());
  return PetscDefaultCudaStream;
}

/* Streams and events for matrices that come from the host. For use between AIJTCUDeviceBegin() and AIJTCUDeviceEnd() */
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

/* Call this also after an error, even one of AIJTCUDeviceBegin(): the stream may have got work before it */
PetscErrorCode AIJTCUDeviceEnd(cudaStream_t stream)
{
  cudaError_t err = cudaSuccess;

  PetscFunctionBegin;
  if (shared.done && stream) err = cudaEventRecord(shared.done, stream);
  shared.last = stream;
  if (shared.nusers == 0) AIJTCUSharedFree(); /* an analysis before anything is built */
  PetscCallCUDA(err);
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*
   Whether a product should take this many bytes at once, rather than work in pieces. The limit is
   -mat_aijtcu_workspace_max, or a quarter of the device's memory.
*/
PetscErrorCode AIJTCUWorkspaceFits(size_t bytes, PetscBool *fits)
{
  const SpmmDevice *device;
  HrpbError         err;

  PetscFunctionBegin;
  AIJTCUCallDevice(err, SpmmGetDevice(&device));
  PetscCheck(!err, PETSC_COMM_SELF, PETSC_ERR_GPU, "%s", HrpbErrorString(err));
  if (bytes > shared.bytes && shared.failed && bytes >= shared.failed && AIJTCURefusalHolds(&shared.refused)) *fits = PETSC_FALSE;
  else *fits = (PetscBool)(bytes <= shared.bytes || bytes <= (AIJTCUWorkspaceMax > 0 ? (size_t)(AIJTCUWorkspaceMax * 1048576) : device->memory / 4));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*
   Workspace of this many bytes until AIJTCUDeviceEnd(), for work on the stream that AIJTCUDeviceBegin() gave. NULL
   where there is not enough memory.
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
      shared.failed = shared.failed ? PetscMin(bytes, shared.failed) : bytes;
      AIJTCURefusalBegin(&shared.refused);
      PetscFunctionReturn(PETSC_SUCCESS);
    }
    shared.bytes = bytes;
    if (bytes >= shared.failed) {
      shared.failed  = 0;
      shared.refused = (AIJTCURefusal){0, 0};
    }
  }
  *work = shared.buffer;
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Whether the current device is one that the kernels run on */
PetscErrorCode AIJTCUDeviceRuns(PetscBool *runs)
{
  const SpmmDevice *device;
  HrpbError         err;

  PetscFunctionBegin;
  AIJTCUCallDevice(err, SpmmGetDevice(&device));
  *runs = (PetscBool)(!err && device->code);
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*
   Give memory that the pools keep back to the driver. Our memory comes from the driver's default pool. So does PETSc's
   on any stream but the default one. A pool keeps what is freed, perhaps in pieces that are too small or of another
   size.
*/
PetscErrorCode AIJTCUDeviceTrim(void)
{
  cudaMemPool_t pool;
  int           device;

  PetscFunctionBegin;
  PetscCallCUDA(cudaDeviceSynchronize());
  PetscCallCUDA(cudaGetDevice(&device));
  PetscCallCUDA(cudaDeviceGetDefaultMemPool(&pool, device));
  PetscCallCUDA(cudaMemPoolTrimTo(pool, 0));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode AIJTCUDeviceAskOnStream(size_t bytes, cudaStream_t stream, PetscBool *have)
{
  void *p;

  PetscFunctionBegin;
  PetscCall(AIJTCUDeviceMalloc(bytes, stream, &p));
  *have = (PetscBool)(p != NULL);
  if (p) PetscCallCUDA(cudaFreeAsync(p, stream));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*
   Whether the device has so much memory, which can also be had without the pools. Where memory is short they keep
   nothing of it: to give it back and to have it again takes as long as many products
*/
PetscErrorCode AIJTCUDeviceAsk(size_t bytes, PetscBool *have)
{
  cudaStream_t stream = NULL;
  size_t       unused, all;
  PetscBool    shortage;

  PetscFunctionBegin;
  PetscCallCUDA(cudaMemGetInfo(&unused, &all));
  shortage = (PetscBool)(unused / 2 < bytes);
  if (shortage) PetscCall(AIJTCUDeviceTrim());
  AIJTCUCallOnStream(stream, AIJTCUDeviceAskOnStream(bytes, stream, have));
  if (shortage) PetscCall(AIJTCUDeviceTrim());
  PetscFunctionReturn(PETSC_SUCCESS);
}
#endif
