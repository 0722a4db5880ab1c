/*
   The halo of a matrix on a device. Rows are packed there, and copied in pieces to page-locked memory of the host,
   unless MPI takes memory of the device. Ghosts are copied the other way as they come.

   This work has streams of its own, so that it overlaps with the product that needs no ghosts. The host waits for a
   piece that it is about to send, and for no other work.
*/
#include "aijtcuimpl.h"
#include <halo/halo.h>

#if AIJTCU_HAVE_HALO && AIJTCU_HAVE_DEVICE
  #include <petscdevice_cuda.h>

PetscErrorCode AIJTCUHaloDeviceSupports(PetscBool *supports)
{
  const SpmmDevice *device;
  HrpbError         err;

  PetscFunctionBegin;
  AIJTCUCallDevice(err, SpmmGetDevice(&device));
  *supports = (PetscBool)(!err && device->code);
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* What an allocation gave: NULL where there is not enough memory */
static PetscErrorCode AIJTCUHaloAllocated(cudaError_t err, PetscScalar **p)
{
  PetscFunctionBegin;
  if (err != cudaSuccess) *p = NULL;
  if (err == cudaErrorMemoryAllocation) (void)cudaGetLastError();
  else PetscCallCUDA(err);
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* What does not depend on the number of columns */
static PetscErrorCode AIJTCUHaloDeviceCreate(AIJTCUHalo *h, cudaStream_t stream)
{
  AIJTCUHaloDevice *d    = &h->device;
  const size_t      rows = h->nto ? (size_t)h->tostart[h->nto] : 0;

  PetscFunctionBegin;
  if (!d->used) AIJTCUWorkspaceUser(PETSC_TRUE);
  d->used = PETSC_TRUE;
  if (!d->before) PetscCallCUDA(cudaEventCreateWithFlags(&d->before, cudaEventDisableTiming));
  if (!d->came) PetscCallCUDA(cudaEventCreateWithFlags(&d->came, cudaEventDisableTiming));
  for (int k = 0; k < AIJTCU_HALO_PIECES; k++) {
    if (!d->packed[k]) PetscCallCUDA(cudaEventCreateWithFlags(&d->packed[k], cudaEventDisableTiming));
  }
  if (d->rows) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCall(AIJTCUDeviceMalloc(rows * sizeof(PetscInt), stream, (void **)&d->rows));
  if (d->rows && rows) PetscCallCUDA(cudaMemcpyAsync(d->rows, h->rows, rows * sizeof(PetscInt), cudaMemcpyHostToDevice, stream));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Memory of the driver's pool cannot be lent, and not every MPI takes it */
static PetscErrorCode AIJTCUHaloDeviceAllocateOnStream(AIJTCUHalo *h, size_t out, size_t in, cudaStream_t stream)
{
  AIJTCUHaloBuffers *b = &h->buffers;

  PetscFunctionBegin;
  PetscCall(AIJTCUHaloDeviceCreate(h, stream));
  PetscCall(AIJTCUHaloAllocated(cudaMalloc((void **)&b->dout, out), &b->dout));
  PetscCall(AIJTCUHaloAllocated(cudaMalloc((void **)&b->din, in), &b->din));
  if (h->place == AIJTCU_HALO_DEVICE) {
    b->out = b->dout;
    b->in  = b->din;
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode AIJTCUHaloDeviceAllocate(AIJTCUHalo *h, size_t out, size_t in, PetscBool *have)
{
  cudaStream_t stream = NULL;

  PetscFunctionBegin;
  AIJTCUCallOnStream(stream, AIJTCUHaloDeviceAllocateOnStream(h, out, in, stream));
  *have = (PetscBool)(h->device.rows && h->buffers.dout && h->buffers.din);
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode AIJTCUHaloDeviceStage(AIJTCUHalo *h, size_t out, size_t in, PetscBool *have)
{
  const AIJTCUHaloDirect *d        = &h->direct;
  const PetscBool         sends    = (PetscBool)!AIJTCUHaloIsTaken(h, 0, AIJTCUHaloPacked(h));
  PetscBool               receives = (PetscBool)!d->open;

  PetscFunctionBegin;
  *have = PETSC_TRUE;
  for (PetscMPIInt i = 0; d->open && i < h->nfrom; i++) receives = (PetscBool)(receives || !d->from[i].event);
  h->device.receives = receives;
  if (h->place == AIJTCU_HALO_DEVICE) PetscFunctionReturn(PETSC_SUCCESS);
  if (sends) PetscCall(AIJTCUHaloAllocated(cudaMallocHost((void **)&h->buffers.out, out), &h->buffers.out));
  if (receives) PetscCall(AIJTCUHaloAllocated(cudaMallocHost((void **)&h->buffers.in, in), &h->buffers.in));
  *have = (PetscBool)((!sends || h->buffers.out) && (!receives || h->buffers.in));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* All of it goes at once, and copies may be under way */
void AIJTCUHaloDeviceFree(AIJTCUHalo *h)
{
  const cudaStream_t stream = AIJTCUDeviceStreamBehind();
  AIJTCUHaloBuffers *b      = &h->buffers;

  AIJTCUHaloDirectClose(h);
  if (b->dout || b->din || b->out || b->in) (void)AIJTCUForgetError(cudaStreamSynchronize(stream));
  if (b->dout) (void)AIJTCUForgetError(cudaFree(b->dout));
  if (b->din) (void)AIJTCUForgetError(cudaFree(b->din));
  if (h->place == AIJTCU_HALO_STAGED) {
    (void)AIJTCUForgetError(cudaFreeHost(b->out));
    (void)AIJTCUForgetError(cudaFreeHost(b->in));
  }
  memset(b, 0, sizeof(*b));
}

void AIJTCUHaloDeviceDestroy(AIJTCUHaloDevice *d)
{
  if (d->rows) (void)AIJTCUForgetError(cudaFreeAsync(d->rows, AIJTCUDeviceStreamBehind()));
  if (d->before) (void)AIJTCUForgetError(cudaEventDestroy(d->before));
  if (d->came) (void)AIJTCUForgetError(cudaEventDestroy(d->came));
  for (int k = 0; k < AIJTCU_HALO_PIECES; k++) {
    if (d->packed[k]) (void)AIJTCUForgetError(cudaEventDestroy(d->packed[k]));
  }
  if (d->used) AIJTCUWorkspaceUser(PETSC_FALSE);
  memset(d, 0, sizeof(*d));
}

/* Pack piece k of the rows. Without a list these are all rows of B */
static PetscErrorCode AIJTCUHaloPackPiece(AIJTCUHalo *h, PetscInt first, PetscInt end, const PetscScalar *b, PetscInt ldb, PetscInt N, cudaStream_t stream)
{
  const size_t at = (size_t)first * (size_t)N;
  HrpbError    err;

  PetscFunctionBegin;
  PetscCall(PetscLogGpuTimeBegin());
  if (h->engine->messages) err = HaloPackDevice(h->device.rows + first, end - first, N, b, ldb, h->buffers.dout + at, stream);
  else err = HaloPackDevice(NULL, end - first, N, b + first, ldb, h->buffers.dout + at, stream);
  PetscCall(PetscLogGpuTimeEnd());
  PetscCall(AIJTCUCheckDevice(err));
  if (h->place == AIJTCU_HALO_STAGED && end > first && !AIJTCUHaloIsTaken(h, first, end)) {
    const size_t bytes = sizeof(PetscScalar) * (size_t)(end - first) * (size_t)N;

    PetscCallCUDA(cudaMemcpyAsync(h->buffers.out + at, h->buffers.dout + at, bytes, cudaMemcpyDeviceToHost, stream));
    PetscCall(PetscLogGpuToCpu((PetscLogDouble)bytes));
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode AIJTCUHaloPackOnStream(AIJTCUHalo *h, PetscInt packed, const PetscScalar *b, PetscInt ldb, PetscInt N, cudaStream_t stream)
{
  const PetscInt    pieces = AIJTCUHaloPieces(h->place, packed, N);
  AIJTCUHaloDevice *d      = &h->device;
  AIJTCUTransfers  *t;

  PetscFunctionBegin;
  PetscCall(AIJTCUGetTransfers(&t));
  PetscCallCUDA(cudaEventRecord(d->before, stream));
  PetscCallCUDA(cudaStreamWaitEvent(t->out, d->before, 0));
  PetscCallCUDA(cudaStreamWaitEvent(t->in, d->before, 0));
  PetscCall(AIJTCUHaloDirectReuse(h, t->out));
  for (PetscInt k = 0; k < pieces; k++) {
    PetscCall(AIJTCUHaloPackPiece(h, AIJTCUHaloPieceStart(packed, pieces, k), AIJTCUHaloPieceStart(packed, pieces, k + 1), b, ldb, N, t->out));
    PetscCallCUDA(cudaEventRecord(d->packed[k], t->out));
  }
  d->last = d->packed[pieces - 1];
  PetscCall(AIJTCUHaloDirectReady(h, t->out));
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode AIJTCUHaloDevicePack(AIJTCUHalo *h, PetscInt packed, const PetscScalar *b, PetscInt ldb, PetscInt N)
{
  cudaStream_t stream = NULL;

  PetscFunctionBegin;
  AIJTCUCallOnStream(stream, AIJTCUHaloPackOnStream(h, packed, b, ldb, N, stream));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Staged, the ghosts of the last product may be on their way to the device; on the device they may be in use */
PetscErrorCode AIJTCUHaloDeviceVacate(const AIJTCUHalo *h)
{
  PetscFunctionBegin;
  if (h->device.receives) PetscCallCUDA(cudaEventSynchronize(h->place == AIJTCU_HALO_STAGED ? h->device.came : h->device.before));
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode AIJTCUHaloDeviceWait(const AIJTCUHalo *h, PetscInt end, PetscInt N)
{
  const PetscInt packed = AIJTCUHaloPacked(h), pieces = AIJTCUHaloPieces(h->place, packed, N);
  PetscInt       k = 0;

  PetscFunctionBegin;
  while (AIJTCUHaloPieceStart(packed, pieces, k + 1) < end) k++;
  PetscCallCUDA(cudaEventSynchronize(h->device.packed[k]));
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode AIJTCUHaloDeviceCopy(const AIJTCUHalo *h, PetscInt first, PetscInt end, PetscInt N)
{
  const size_t     at = (size_t)first * (size_t)N, bytes = sizeof(PetscScalar) * (size_t)(end - first) * (size_t)N;
  AIJTCUTransfers *t;

  PetscFunctionBegin;
  if (h->place != AIJTCU_HALO_STAGED || !bytes) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCall(AIJTCUGetTransfers(&t));
  PetscCallCUDA(cudaMemcpyAsync(h->buffers.din + at, h->buffers.in + at, bytes, cudaMemcpyHostToDevice, t->in));
  PetscCall(PetscLogCpuToGpu((PetscLogDouble)bytes));
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode AIJTCUHaloDeviceTake(AIJTCUHalo *h, PetscMPIInt i, PetscInt N)
{
  AIJTCUTransfers *t;

  PetscFunctionBegin;
  PetscCall(AIJTCUGetTransfers(&t));
  PetscCall(AIJTCUHaloDirectTake(h, i, N, t->in));
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode AIJTCUHaloDeviceTaken(AIJTCUHalo *h)
{
  AIJTCUTransfers *t;

  PetscFunctionBegin;
  PetscCall(AIJTCUGetTransfers(&t));
  PetscCall(AIJTCUHaloDirectTaken(h, t->in));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* A copy of the ghosts on the host. PetscFree() it */
PetscErrorCode AIJTCUHaloDeviceGhosts(const AIJTCUHalo *h, PetscInt N, PetscScalar **ghosts)
{
  const size_t bytes = sizeof(PetscScalar) * (size_t)h->nghosts * (size_t)N;
  cudaError_t  err;

  PetscFunctionBegin;
  PetscCall(PetscMalloc(bytes, ghosts));
  err = cudaEventSynchronize(h->device.came);
  if (err == cudaSuccess) err = cudaMemcpy(*ghosts, h->buffers.din, bytes, cudaMemcpyDeviceToHost);
  if (err != cudaSuccess) PetscCall(PetscFree(*ghosts));
  PetscCallCUDA(err);
  PetscCall(PetscLogGpuToCpu((PetscLogDouble)bytes));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode AIJTCUHaloEndOnStream(const AIJTCUHalo *h, cudaStream_t stream)
{
  AIJTCUTransfers *t;

  PetscFunctionBegin;
  PetscCall(AIJTCUGetTransfers(&t));
  PetscCallCUDA(cudaEventRecord(h->device.came, t->in));
  PetscCallCUDA(cudaStreamWaitEvent(stream, h->device.came, 0));
  PetscCallCUDA(cudaStreamWaitEvent(stream, h->device.last, 0)); /* B may change now */
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode AIJTCUHaloDeviceEnd(const AIJTCUHalo *h)
{
  cudaStream_t stream = NULL;

  PetscFunctionBegin;
  AIJTCUCallOnStream(stream, AIJTCUHaloEndOnStream(h, stream));
  PetscFunctionReturn(PETSC_SUCCESS);
}
#endif
