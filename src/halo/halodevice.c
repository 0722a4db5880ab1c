/*
   The halo of a matrix on a device. Rows are packed there, and copied in pieces to page-locked memory of the host,
   unless MPI takes memory of the device. What comes is copied the other way.

   Copies have streams of their own, so that they overlap with the product that needs no ghosts. The host waits for a
   piece that it is about to send, and for no other work.
*/
#include "haloimpl.h"
#include "../device/device.h"
#include <halo/halo.h>

#if AIJTCU_HAVE_HALO && AIJTCU_HAVE_DEVICE
  #include <petscdevice_cuda.h>

/* What does not depend on the number of columns */
static PetscErrorCode AIJTCUHaloDeviceCreate(AIJTCUHalo *h, cudaStream_t stream)
{
  AIJTCUHaloDevice *d = &h->device;

  PetscFunctionBegin;
  if (!d->used) AIJTCUWorkspaceUser(PETSC_TRUE);
  d->used = PETSC_TRUE;
  if (!d->packed) PetscCallCUDA(cudaEventCreateWithFlags(&d->packed, cudaEventDisableTiming));
  if (!d->received) PetscCallCUDA(cudaEventCreateWithFlags(&d->received, cudaEventDisableTiming));
  for (int k = 0; k < AIJTCU_HALO_PIECES; k++) {
    if (!d->staged[k]) PetscCallCUDA(cudaEventCreateWithFlags(&d->staged[k], cudaEventDisableTiming));
  }
  PetscCall(AIJTCUDeviceList(h->rows, AIJTCUHaloRows(&h->side[AIJTCU_HALO_ROWS]), stream, &d->rows));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Other processes cannot read memory of the driver's pool, and not every MPI takes it */
static PetscErrorCode AIJTCUHaloDeviceAllocateOnStream(AIJTCUHalo *h, const size_t bytes[2], cudaStream_t stream)
{
  PetscFunctionBegin;
  PetscCall(AIJTCUHaloDeviceCreate(h, stream));
  for (int i = 0; i < 2; i++) {
    AIJTCUHaloSide *s = &h->side[i];

    PetscCall(AIJTCUAllocated(cudaMalloc((void **)&s->device, bytes[i]), (void **)&s->device));
    if (h->place == AIJTCU_HALO_DEVICE) s->buffer = s->device;
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode AIJTCUHaloDeviceAllocate(AIJTCUHalo *h, const size_t bytes[2], PetscBool *have)
{
  cudaStream_t stream = NULL;

  PetscFunctionBegin;
  AIJTCUCallOnStream(stream, AIJTCUHaloDeviceAllocateOnStream(h, bytes, stream));
  *have = (PetscBool)(h->device.rows && h->side[0].device && h->side[1].device);
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode AIJTCUHaloDeviceStage(AIJTCUHalo *h, const size_t bytes[2], PetscBool *have)
{
  PetscFunctionBegin;
  *have = PETSC_TRUE;
  for (int i = 0; i < 2; i++) {
    AIJTCUHaloSide *s = &h->side[i];

    s->messages = (PetscBool)(!h->direct || !AIJTCUHaloIsDirect(s, 0, AIJTCUHaloRows(s)));
    if (h->place == AIJTCU_HALO_DEVICE || !s->messages) continue;
    PetscCall(AIJTCUAllocated(cudaMallocHost((void **)&s->buffer, bytes[i]), (void **)&s->buffer));
    if (!s->buffer) *have = PETSC_FALSE;
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* All of it goes at once, and copies may be under way */
void AIJTCUHaloDeviceFree(AIJTCUHalo *h)
{
  const cudaStream_t stream = AIJTCUDeviceStreamBehind();

  AIJTCUHaloDirectClose(h);
  if (h->side[0].device || h->side[1].device || h->side[0].buffer || h->side[1].buffer) (void)AIJTCUForgetError(cudaStreamSynchronize(stream));
  for (int i = 0; i < 2; i++) {
    AIJTCUHaloSide *s = &h->side[i];

    if (s->device) (void)AIJTCUForgetError(cudaFree(s->device));
    if (h->place == AIJTCU_HALO_STAGED) (void)AIJTCUForgetError(cudaFreeHost(s->buffer));
    s->buffer = s->device = NULL;
  }
}

void AIJTCUHaloDeviceDestroy(AIJTCUHalo *h)
{
  AIJTCUHaloDevice  *d       = &h->device;
  AIJTCUHaloTargets *t       = &h->targets;
  PetscInt          *lists[] = {d->rows, t->drows, t->dstart, t->dat};

  for (size_t i = 0; i < PETSC_STATIC_ARRAY_LENGTH(lists); i++) {
    if (lists[i]) (void)AIJTCUForgetError(cudaFreeAsync(lists[i], AIJTCUDeviceStreamBehind()));
  }
  t->drows = t->dstart = t->dat = NULL;
  if (d->packed) (void)AIJTCUForgetError(cudaEventDestroy(d->packed));
  if (d->received) (void)AIJTCUForgetError(cudaEventDestroy(d->received));
  for (int k = 0; k < AIJTCU_HALO_PIECES; k++) {
    if (d->staged[k]) (void)AIJTCUForgetError(cudaEventDestroy(d->staged[k]));
  }
  if (d->used) AIJTCUWorkspaceUser(PETSC_FALSE);
  memset(d, 0, sizeof(*d));
}

static PetscErrorCode AIJTCUHaloWaitForSumsOnStream(AIJTCUHalo *h, cudaStream_t stream)
{
  PetscFunctionBegin;
  PetscCall(AIJTCUHaloDirectWaitForReaders(&h->side[AIJTCU_HALO_GHOSTS], stream));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* The sums of the last product may be on their way to their owners: what writes new ones waits */
PetscErrorCode AIJTCUHaloDeviceWaitForSums(AIJTCUHalo *h)
{
  cudaStream_t stream = NULL;

  PetscFunctionBegin;
  AIJTCUCallOnStream(stream, AIJTCUHaloWaitForSumsOnStream(h, stream));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Pack rows of B */
static PetscErrorCode AIJTCUHaloPackRows(AIJTCUHalo *h, const HrpbScalar *b, PetscInt64 ldb, PetscInt N, cudaStream_t stream)
{
  const AIJTCUHaloSideName from = AIJTCU_HALO_ROWS;
  HrpbError                err;

  PetscFunctionBegin;
  PetscCall(PetscLogGpuTimeBegin());
  err = HaloPackDevice(h->device.rows, AIJTCUHaloRows(&h->side[from]), N, b, ldb, h->side[from].device, stream);
  PetscCall(PetscLogGpuTimeEnd());
  PetscCall(AIJTCUCheckKernels(err)); /* neighbours wait for these rows, and for no others */
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Staged, copy what was packed to where messages leave, but for rows that neighbours read themselves */
static PetscErrorCode AIJTCUHaloStageRows(AIJTCUHalo *h, AIJTCUHaloSideName from, PetscInt N, cudaStream_t stream)
{
  const AIJTCUHaloSide *s      = &h->side[from];
  const PetscInt        packed = AIJTCUHaloRows(&h->side[from]), pieces = AIJTCUHaloPieces(h->place, packed, N);

  PetscFunctionBegin;
  for (PetscInt k = 0; k < pieces; k++) {
    const PetscInt first = AIJTCUHaloPieceStart(packed, pieces, k), end = AIJTCUHaloPieceStart(packed, pieces, k + 1);
    const size_t   at = (size_t)first * (size_t)N, bytes = sizeof(HrpbScalar) * (size_t)(end - first) * (size_t)N;

    if (bytes && !(h->direct && AIJTCUHaloIsDirect(s, first, end))) {
      PetscCallCUDA(cudaMemcpyAsync(s->buffer + at, s->device + at, bytes, cudaMemcpyDeviceToHost, stream));
      PetscCall(PetscLogGpuToCpu((PetscLogDouble)bytes));
    }
    PetscCallCUDA(cudaEventRecord(h->device.staged[k], stream));
  }
  h->device.last_staged = h->device.staged[pieces - 1];
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*
   Sums for ghosts are there already. Rows are packed on the caller's stream, before the product of the diagonal block:
   beside it a kernel may find no room on the device until that has ended, and all others wait for the rows
*/
static PetscErrorCode AIJTCUHaloPackOnStream(AIJTCUHalo *h, AIJTCUHaloSideName from, const HrpbScalar *b, PetscInt64 ldb, PetscInt N, cudaStream_t stream)
{
  AIJTCUHaloDevice *d = &h->device;
  AIJTCUTransfers  *t;

  PetscFunctionBegin;
  PetscCall(AIJTCUGetTransfers(&t));
  PetscCall(AIJTCUHaloDirectWaitForReaders(&h->side[from], stream));
  if (from == AIJTCU_HALO_ROWS) PetscCall(AIJTCUHaloPackRows(h, b, ldb, N, stream));
  PetscCall(AIJTCUHaloDirectRecord(&h->side[from], stream));
  PetscCallCUDA(cudaEventRecord(d->packed, stream));
  PetscCallCUDA(cudaStreamWaitEvent(t->in, d->packed, 0));
  PetscCall(AIJTCUHaloDirectWaitForReaders(&h->side[!from], t->in));
  d->last_staged = NULL;
  if (h->place != AIJTCU_HALO_STAGED || !h->side[from].messages) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCallCUDA(cudaStreamWaitEvent(t->out, d->packed, 0));
  PetscCall(AIJTCUHaloStageRows(h, from, N, t->out));
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode AIJTCUHaloDevicePack(AIJTCUHalo *h, AIJTCUHaloSideName from, const HrpbScalar *b, PetscInt64 ldb, PetscInt N)
{
  cudaStream_t stream = NULL;

  PetscFunctionBegin;
  AIJTCUCallOnStream(stream, AIJTCUHaloPackOnStream(h, from, b, ldb, N, stream));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Staged, what came for the last product may be on its way to the device; on the device it may be in use */
PetscErrorCode AIJTCUHaloDeviceWaitForBuffer(const AIJTCUHalo *h, AIJTCUHaloSideName from)
{
  PetscFunctionBegin;
  if (h->side[!from].messages) PetscCallCUDA(cudaEventSynchronize(h->place == AIJTCU_HALO_STAGED ? h->device.received : h->device.packed));
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode AIJTCUHaloDeviceWaitForRows(const AIJTCUHalo *h, AIJTCUHaloSideName from, PetscInt end, PetscInt N)
{
  const PetscInt packed = AIJTCUHaloRows(&h->side[from]), pieces = AIJTCUHaloPieces(h->place, packed, N);
  PetscInt       k = 0;

  PetscFunctionBegin;
  while (AIJTCUHaloPieceStart(packed, pieces, k + 1) < end) k++;
  PetscCallCUDA(cudaEventSynchronize(h->device.last_staged ? h->device.staged[k] : h->device.packed));
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode AIJTCUHaloDeviceUnstage(const AIJTCUHalo *h, AIJTCUHaloSideName from, PetscInt first, PetscInt end, PetscInt N)
{
  const AIJTCUHaloSide *s  = &h->side[!from];
  const size_t          at = (size_t)first * (size_t)N, bytes = sizeof(HrpbScalar) * (size_t)(end - first) * (size_t)N;
  AIJTCUTransfers      *t;

  PetscFunctionBegin;
  if (h->place != AIJTCU_HALO_STAGED || !bytes) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCall(AIJTCUGetTransfers(&t));
  PetscCallCUDA(cudaMemcpyAsync(s->device + at, s->buffer + at, bytes, cudaMemcpyHostToDevice, t->in));
  PetscCall(PetscLogCpuToGpu((PetscLogDouble)bytes));
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode AIJTCUHaloDeviceCopyDirect(AIJTCUHalo *h, AIJTCUHaloSideName from, PetscMPIInt i, PetscInt N)
{
  AIJTCUTransfers *t;

  PetscFunctionBegin;
  PetscCall(AIJTCUGetTransfers(&t));
  PetscCall(AIJTCUHaloDirectCopy(h, from, i, N, t->in));
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode AIJTCUHaloDeviceCopiedDirect(AIJTCUHalo *h, AIJTCUHaloSideName from)
{
  AIJTCUTransfers *t;

  PetscFunctionBegin;
  PetscCall(AIJTCUGetTransfers(&t));
  PetscCall(AIJTCUHaloDirectCopied(h, from, t->in));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* A copy of what came, on the host */
PetscErrorCode AIJTCUHaloDeviceToHost(const AIJTCUHalo *h, AIJTCUHaloSideName from, PetscInt N, HrpbScalar **rows)
{
  const AIJTCUHaloSide *s     = &h->side[!from];
  const size_t          bytes = sizeof(HrpbScalar) * (size_t)AIJTCUHaloRows(s) * (size_t)N;
  cudaError_t           err;

  PetscFunctionBegin;
  PetscCall(PetscMalloc(bytes, rows));
  err = cudaEventSynchronize(h->device.received);
  if (err == cudaSuccess) err = cudaMemcpy(*rows, s->device, bytes, cudaMemcpyDeviceToHost);
  if (err != cudaSuccess) PetscCall(PetscFree(*rows));
  PetscCallCUDA(err);
  PetscCall(PetscLogGpuToCpu((PetscLogDouble)bytes));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode AIJTCUHaloSumsFromHostOnStream(const AIJTCUHalo *h, PetscInt N, const HrpbScalar *sums, cudaStream_t stream)
{
  const size_t bytes = sizeof(HrpbScalar) * (size_t)h->nghosts * (size_t)N;

  PetscFunctionBegin;
  PetscCallCUDA(cudaMemcpyAsync(h->side[AIJTCU_HALO_GHOSTS].device, sums, bytes, cudaMemcpyHostToDevice, stream));
  PetscCallCUDA(cudaStreamSynchronize(stream)); /* the caller may free them next */
  PetscCall(PetscLogCpuToGpu((PetscLogDouble)bytes));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Let the sums for ghosts be these, which are on the host */
PetscErrorCode AIJTCUHaloDeviceSumsFromHost(const AIJTCUHalo *h, PetscInt N, const HrpbScalar *sums)
{
  cudaStream_t stream = NULL;

  PetscFunctionBegin;
  AIJTCUCallOnStream(stream, AIJTCUHaloSumsFromHostOnStream(h, N, sums, stream));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode AIJTCUHaloAddOnStream(AIJTCUHalo *h, PetscInt N, HrpbScalar *c, PetscInt64 ldc, PetscBool *done, cudaStream_t stream)
{
  AIJTCUHaloTargets *t = &h->targets;
  HrpbError          err;

  PetscFunctionBegin;
  PetscCall(AIJTCUDeviceList(t->rows, t->nrows, stream, &t->drows));
  PetscCall(AIJTCUDeviceList(t->start, t->nrows + 1, stream, &t->dstart));
  PetscCall(AIJTCUDeviceList(t->at, t->start[t->nrows], stream, &t->dat));
  *done = (PetscBool)(t->drows && t->dstart && t->dat);
  if (!*done) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCall(PetscLogGpuTimeBegin());
  err = HaloAddDevice(t->nrows, t->drows, t->dstart, t->dat, N, h->side[AIJTCU_HALO_ROWS].device, c, ldc, stream);
  PetscCall(PetscLogGpuTimeEnd());
  PetscCall(AIJTCUCheckRefused(err)); /* it is one launch: refused, it has added nothing */
  *done = (PetscBool)!err;
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Add the sums that came to rows of a column-major matrix, if there is memory for lists and the kernel. done: added */
PetscErrorCode AIJTCUHaloDeviceAdd(AIJTCUHalo *h, PetscInt N, HrpbScalar *c, PetscInt64 ldc, PetscBool *done)
{
  cudaStream_t stream = NULL;

  PetscFunctionBegin;
  AIJTCUCallOnStream(stream, AIJTCUHaloAddOnStream(h, N, c, ldc, done, stream));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode AIJTCUHaloEndOnStream(const AIJTCUHalo *h, cudaStream_t stream)
{
  AIJTCUTransfers *t;

  PetscFunctionBegin;
  PetscCall(AIJTCUGetTransfers(&t));
  PetscCallCUDA(cudaEventRecord(h->device.received, t->in));
  PetscCallCUDA(cudaStreamWaitEvent(stream, h->device.received, 0));
  /* B may change now */
  if (h->device.last_staged) PetscCallCUDA(cudaStreamWaitEvent(stream, h->device.last_staged, 0));
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
