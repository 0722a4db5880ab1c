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

/* Page-locked memory. NULL where there is not enough */
static PetscErrorCode AIJTCUHaloLocked(size_t bytes, PetscScalar **p)
{
  cudaError_t err;

  PetscFunctionBegin;
  err = cudaMallocHost((void **)p, bytes);
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

static PetscErrorCode AIJTCUHaloDeviceAllocateOnStream(AIJTCUHalo *h, size_t out, size_t in, AIJTCUHaloBuffers *b, cudaStream_t stream)
{
  PetscFunctionBegin;
  PetscCall(AIJTCUHaloDeviceCreate(h, stream));
  PetscCall(AIJTCUDeviceMalloc(out, stream, (void **)&b->dout));
  PetscCall(AIJTCUDeviceMalloc(in, stream, (void **)&b->din));
  if (h->place == AIJTCU_HALO_DEVICE) {
    b->out = b->dout;
    b->in  = b->din;
  } else {
    PetscCall(AIJTCUHaloLocked(out, &b->out));
    PetscCall(AIJTCUHaloLocked(in, &b->in));
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode AIJTCUHaloDeviceAllocate(AIJTCUHalo *h, size_t out, size_t in, AIJTCUHaloBuffers *b, PetscBool *have)
{
  cudaStream_t stream = NULL;

  PetscFunctionBegin;
  AIJTCUCallOnStream(stream, AIJTCUHaloDeviceAllocateOnStream(h, out, in, b, stream));
  *have = (PetscBool)(h->device.rows && b->dout && b->din && b->out && b->in);
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Memory that is page-locked goes at once, and copies may be under way */
void AIJTCUHaloDeviceFree(AIJTCUHaloPlace place, AIJTCUHaloBuffers *b)
{
  const cudaStream_t stream = AIJTCUDeviceStreamBehind();

  if (b->dout) (void)AIJTCUForgetError(cudaFreeAsync(b->dout, stream));
  if (b->din) (void)AIJTCUForgetError(cudaFreeAsync(b->din, stream));
  if (place == AIJTCU_HALO_STAGED && (b->out || b->in)) {
    (void)AIJTCUForgetError(cudaStreamSynchronize(stream));
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
  if (h->place == AIJTCU_HALO_STAGED && end > first) {
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
  for (PetscInt k = 0; k < pieces; k++) {
    PetscCall(AIJTCUHaloPackPiece(h, AIJTCUHaloPieceStart(packed, pieces, k), AIJTCUHaloPieceStart(packed, pieces, k + 1), b, ldb, N, t->out));
    PetscCallCUDA(cudaEventRecord(d->packed[k], t->out));
  }
  d->last = d->packed[pieces - 1];
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode AIJTCUHaloDevicePack(AIJTCUHalo *h, PetscInt packed, const PetscScalar *b, PetscInt ldb, PetscInt N)
{
  cudaStream_t stream = NULL;

  PetscFunctionBegin;
  AIJTCUCallOnStream(stream, AIJTCUHaloPackOnStream(h, packed, b, ldb, N, stream));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* In staged memory the ghosts of the last product may be on their way to the device; on the device they may be in use */
PetscErrorCode AIJTCUHaloDeviceVacate(const AIJTCUHalo *h)
{
  PetscFunctionBegin;
  PetscCallCUDA(cudaEventSynchronize(h->place == AIJTCU_HALO_STAGED ? h->device.came : h->device.before));
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

/* A copy of the ghosts on the host, from malloc() */
PetscErrorCode AIJTCUHaloDeviceGhosts(const AIJTCUHalo *h, PetscInt N, PetscScalar **ghosts)
{
  const size_t bytes = sizeof(PetscScalar) * (size_t)h->nghosts * (size_t)N;
  cudaError_t  err;

  PetscFunctionBegin;
  *ghosts = (PetscScalar *)malloc(bytes);
  PetscCheck(*ghosts, PETSC_COMM_SELF, PETSC_ERR_MEM, "No memory for a copy of %" PetscInt_FMT " rows", h->nghosts);
  err = cudaEventSynchronize(h->device.came);
  if (err == cudaSuccess) err = cudaMemcpy(*ghosts, h->buffers.din, bytes, cudaMemcpyDeviceToHost);
  if (err != cudaSuccess) free(*ghosts);
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
