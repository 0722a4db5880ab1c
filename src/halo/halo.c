/*
   The halo of a parallel matrix: its graph, its buffers, and what goes into them. haloengine.c sends.
*/
#include "haloimpl.h"
#include "../device/device.h"
#include <halo/halo.h>

#if AIJTCU_HAVE_HALO

/* Whether there are kernels for what a matrix on a device needs. All processes have one or none has */
static PetscErrorCode AIJTCUHaloSupports(PetscBool device, PetscBool *supports)
{
  PetscFunctionBegin;
  *supports = PETSC_TRUE;
  #if AIJTCU_HAVE_DEVICE
  if (device) PetscCall(AIJTCUDeviceRuns(supports));
  #else
  (void)device;
  #endif
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* The real rows of complex ones, which kernels see, and where they begin */
static PetscErrorCode AIJTCUHaloTakeParts(AIJTCUHalo *h)
{
  const PetscInt n = AIJTCUHaloRows(&h->side[AIJTCU_HALO_ROWS]);

  PetscFunctionBegin;
  if (AIJTCU_PARTS == 1) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCall(PetscMalloc1(AIJTCU_PARTS * n, &h->own_rows));
  for (PetscInt i = 0; i < AIJTCU_PARTS * n; i++) h->own_rows[i] = AIJTCU_PARTS * h->rows[i / AIJTCU_PARTS] + i % AIJTCU_PARTS;
  h->rows = h->own_rows;
  for (int k = 0; k < 2; k++) {
    AIJTCUHaloSide *s = &h->side[k];

    PetscCall(PetscMalloc1(s->n + 1, &s->own_start));
    for (PetscMPIInt i = 0; i <= s->n; i++) s->own_start[i] = s->n ? AIJTCU_PARTS * s->start[i] : 0;
    s->start = s->own_start;
  }
  h->nlocal *= AIJTCU_PARTS;
  h->nghosts *= AIJTCU_PARTS;
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*
   Find who needs which rows. The columns of the off-diagonal block are ghosts. They ascend, so those of one process
   are neighbours, and a message of its is received where it belongs.
*/
static PetscErrorCode AIJTCUHaloFind(Mat A, PetscBool device, AIJTCUHalo *h, PetscBool *usable)
{
  AIJTCUHaloSide *rows = &h->side[AIJTCU_HALO_ROWS], *others = &h->side[AIJTCU_HALO_GHOSTS];
  Mat             block;
  const PetscInt *ghosts, *mine;
  PetscBool       here;
  PetscErrorCode  ierr;

  PetscFunctionBegin;
  ierr = AIJTCUHaloSupports(device, &here);
  PetscCall(MatMPIAIJGetSeqAIJ(A, NULL, &block, &ghosts));
  h->nlocal  = A->cmap->n;
  h->nghosts = block->cmap->n;
  PetscCall(PetscSFCreate(PetscObjectComm((PetscObject)A), &h->sf));
  PetscCall(PetscSFSetType(h->sf, PETSCSFBASIC));
  PetscCall(PetscSFSetGraphLayout(h->sf, A->cmap, h->nghosts, NULL, PETSC_COPY_VALUES, ghosts));
  PetscCall(PetscSFSetUp(h->sf));
  PetscCall(PetscSFGetRootRanks(h->sf, &others->n, &others->ranks, &others->start, &mine, NULL));
  PetscCall(PetscSFGetLeafRanks(h->sf, &rows->n, &rows->ranks, &rows->start, &h->rows));
  PetscCall(PetscMalloc1((rows->n + others->n) * AIJTCU_HALO_PIECES, &h->requests));
  for (int i = 0; i < 2; i++) {
    PetscCall(PetscObjectGetNewTag((PetscObject)h->sf, &h->side[i].tag));
    PetscCall(PetscObjectGetNewTag((PetscObject)h->sf, &h->side[i].answer));
  }
  for (PetscInt i = 0; i < h->nghosts && here; i++) here = (PetscBool)(mine[i] == i);
  if (PetscMax(PetscMax(h->nlocal, h->nghosts), AIJTCUHaloRows(rows)) > PETSC_INT_MAX / AIJTCU_PARTS) here = PETSC_FALSE;
  else if (!ierr) ierr = AIJTCUHaloTakeParts(h);
  PetscCall(AIJTCUAgree(PetscObjectComm((PetscObject)A), ierr, here, usable));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Collective where processes read from each other's devices */
static void AIJTCUHaloFree(AIJTCUHalo *h)
{
  h->width = 0;
  #if AIJTCU_HAVE_DEVICE
  if (h->place != AIJTCU_HALO_HOST) {
    AIJTCUHaloDeviceFree(h);
    return;
  }
  #endif
  for (int i = 0; i < 2; i++) {
    free(h->side[i].buffer);
    h->side[i].buffer = NULL;
  }
}

/* Errors of what goes away are not looked at: the rest of the plan must go, too */
static void AIJTCUHaloReset(AIJTCUHalo *h)
{
  AIJTCUHaloTargets *t = &h->targets;

  AIJTCUHaloFree(h);
  #if AIJTCU_HAVE_DEVICE
  AIJTCUHaloDeviceDestroy(h);
  #endif
  (void)PetscFree3(t->rows, t->start, t->at);
  (void)PetscFree(h->requests);
  (void)PetscFree(h->own_rows);
  for (int i = 0; i < 2; i++) (void)PetscFree(h->side[i].own_start);
  if (h->sf) (void)PetscSFDestroy(&h->sf);
  memset(h, 0, sizeof(*h));
}

static PetscErrorCode AIJTCUHaloSetUp(Mat A, PetscBool device, AIJTCUHalo *h)
{
  PetscBool usable;

  PetscFunctionBegin;
  AIJTCUHaloReset(h); /* what an error has left */
  PetscCall(AIJTCUHaloFind(A, device, h, &usable));
  h->state = usable ? AIJTCU_READY : AIJTCU_REFUSED;
  if (usable) {
    PetscCall(PetscInfo(A, "aijtcu: halo of %" PetscInt_FMT " rows to %d processes and %" PetscInt_FMT " from %d\n", AIJTCUHaloRows(&h->side[AIJTCU_HALO_ROWS]) / AIJTCU_PARTS,
      h->side[AIJTCU_HALO_ROWS].n, h->nghosts / AIJTCU_PARTS, h->side[AIJTCU_HALO_GHOSTS].n));
  } else {
    PetscCall(PetscInfo(A, "aijtcu: no halo, the parent's product instead: on some process there are no kernels for the device, or columns of the "
                           "off-diagonal block do not ascend, or are too many\n"));
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Whether the messages of a side have no more scalars than MPI can count */
static PetscBool AIJTCUHaloCounts(const AIJTCUHaloSide *s, PetscInt N)
{
  for (PetscMPIInt i = 0; i < s->n; i++) {
    if (s->start[i + 1] - s->start[i] > PETSC_MPI_INT_MAX / N) return PETSC_FALSE;
  }
  return PETSC_TRUE;
}

/* Allocate buffers on this process, or if staged those that wait until it is known who reads from whom */
static PetscErrorCode AIJTCUHaloAllocate(AIJTCUHalo *h, PetscBool staged, PetscInt N, PetscBool *have)
{
  size_t bytes[2];

  PetscFunctionBegin;
  for (int i = 0; i < 2; i++) bytes[i] = (size_t)PetscMax(AIJTCUHaloRows(&h->side[i]), 1) * (size_t)N * sizeof(HrpbScalar);
  *have = (PetscBool)(AIJTCUHaloCounts(&h->side[0], N) && AIJTCUHaloCounts(&h->side[1], N));
  if (!*have) PetscFunctionReturn(PETSC_SUCCESS);
  #if AIJTCU_HAVE_DEVICE
  if (h->place != AIJTCU_HALO_HOST) {
    if (staged) PetscCall(AIJTCUHaloDeviceStage(h, bytes, have));
    else PetscCall(AIJTCUHaloDeviceAllocate(h, bytes, have));
    PetscFunctionReturn(PETSC_SUCCESS);
  }
  #endif
  if (staged) PetscFunctionReturn(PETSC_SUCCESS);
  for (int i = 0; i < 2; i++) h->side[i].buffer = (HrpbScalar *)malloc(bytes[i]);
  *have = (PetscBool)(h->side[0].buffer && h->side[1].buffer);
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* The same on all processes. all says whether all have it */
static PetscErrorCode AIJTCUHaloAllocateAll(Mat A, AIJTCUHalo *h, PetscBool staged, PetscInt N, PetscBool *all)
{
  PetscBool            mine = PETSC_FALSE;
  const PetscErrorCode ierr = AIJTCUHaloAllocate(h, staged, N, &mine);

  PetscFunctionBegin;
  PetscCall(AIJTCUAgree(PetscObjectComm((PetscObject)A), ierr, mine, all));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode AIJTCUHaloGetBuffers(Mat A, AIJTCUHalo *h, PetscInt N, PetscBool *all)
{
  PetscFunctionBegin;
  PetscCall(AIJTCUHaloAllocateAll(A, h, PETSC_FALSE, N, all));
  #if AIJTCU_HAVE_DEVICE
  if (!*all || h->place == AIJTCU_HALO_HOST) PetscFunctionReturn(PETSC_SUCCESS);
  if (h->engine->direct) PetscCall(AIJTCUHaloDirectOpen(A, h));
  PetscCall(AIJTCUHaloAllocateAll(A, h, PETSC_TRUE, N, all));
  #endif
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Get buffers for N columns, on all processes or on none, in place of those that were there */
static PetscErrorCode AIJTCUHaloReplace(Mat A, AIJTCUHalo *h, PetscInt N, PetscBool *all)
{
  PetscErrorCode ierr;

  PetscFunctionBegin;
  AIJTCUHaloFree(h);
  ierr = AIJTCUHaloGetBuffers(A, h, N, all);
  if (ierr || !*all) {
    AIJTCUHaloFree(h);
    h->failed = N;
  } else h->width = N;
  PetscCall(ierr);
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* The same for as many columns as there is memory for */
static PetscErrorCode AIJTCUHaloGrow(Mat A, AIJTCUHalo *h, PetscInt N)
{
  PetscInt  n   = N;
  PetscBool all = PETSC_FALSE;

  PetscFunctionBegin;
  h->failed = 0;
  for (; n > 0 && !all; n = all ? n : n / 2) PetscCall(AIJTCUHaloReplace(A, h, n, &all));
  if (n == N) h->refused = (AIJTCURefusal){0, 0};
  else AIJTCURefusalBegin(&h->refused);
  if (n == N) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCall(PetscInfo(A, "aijtcu: no buffers for a halo with %" PetscInt_FMT " columns, %s instead\n", N, n ? "pieces" : "the parent's product"));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Where buffers are */
static AIJTCUHaloPlace AIJTCUHaloPlaceOf(const AIJTCUHaloEngine *engine, PetscBool device)
{
  if (!device) return AIJTCU_HALO_HOST;
  #if AIJTCU_HAVE_DEVICE
  if (engine->open || use_gpu_aware_mpi) return AIJTCU_HALO_DEVICE;
  #else
  (void)engine;
  #endif
  return AIJTCU_HALO_STAGED;
}

/*
   Have a halo of A's pattern with room for N columns of B and C, which are on the device or on the host, or for as many
   as there is memory for. The halo goes with the pattern. usable has the same answer on all processes
*/
PetscErrorCode AIJTCUHaloPrepare(Mat A, PetscBool device, MatAIJTCUHalo way, PetscInt N, AIJTCUHalo **halo, PetscBool *usable)
{
  const AIJTCUHaloEngine *engine = AIJTCUHaloEngineGet(way, device);
  const AIJTCUHaloPlace   place  = AIJTCUHaloPlaceOf(engine, device);
  AIJTCUHalo             *h;

  PetscFunctionBegin;
  if (!*halo) PetscCall(PetscNew(halo));
  h = *halo;
  if (h->state == AIJTCU_EMPTY) PetscCall(AIJTCUHaloSetUp(A, device, h));
  if (h->engine != engine || h->place != place) {
    AIJTCUHaloFree(h);
    h->failed  = 0;
    h->refused = (AIJTCURefusal){0, 0};
    h->engine  = NULL; /* after an error it is opened again */
    if (engine->open && h->state == AIJTCU_READY) PetscCall((*engine->open)(A, h));
    h->engine = engine;
    h->place  = place;
  }
  if (h->state == AIJTCU_READY && N > h->width && (!h->failed || N < h->failed || !AIJTCURefusalHolds(&h->refused))) PetscCall(AIJTCUHaloGrow(A, h, N));
  *usable = (PetscBool)(h->state == AIJTCU_READY && (h->width || !N));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Have rows on their way to the buffer. Sums for ghosts are there already */
static PetscErrorCode AIJTCUHaloPack(AIJTCUHalo *h, AIJTCUHaloSideName from, const HrpbScalar *b, PetscInt64 ldb, PetscInt N)
{
  PetscFunctionBegin;
  #if AIJTCU_HAVE_DEVICE
  if (h->place != AIJTCU_HALO_HOST) {
    PetscCall(AIJTCUHaloDevicePack(h, from, b, ldb, N));
    PetscFunctionReturn(PETSC_SUCCESS);
  }
  #endif
  if (from == AIJTCU_HALO_ROWS) HaloPackHost(h->rows, AIJTCUHaloRows(&h->side[from]), N, b, ldb, h->side[from].buffer);
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*
   Pack rows of B, column-major, and let them go, or the sums for ghosts. AIJTCUHaloEnd() must follow, also after an
   error in between. On a device rows go when it is called: until then the host has the time to start more work there
*/
PetscErrorCode AIJTCUHaloBegin(Mat A, AIJTCUHalo *h, AIJTCUHaloSideName from, const HrpbScalar *b, PetscInt64 ldb, PetscInt N)
{
  PetscFunctionBegin;
  if (!N) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCall(PetscLogEventBegin(MAT_AIJTCU_Pack, A, 0, 0, 0));
  PetscCall(AIJTCUHaloPack(h, from, b, ldb, N)); /* it does not fail on the host, where rows go now */
  PetscCall(PetscLogEventEnd(MAT_AIJTCU_Pack, A, 0, 0, 0));
  if (h->place != AIJTCU_HALO_HOST) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCall(PetscLogEventBegin(MAT_AIJTCU_Exchange, A, 0, 0, 0));
  h->started = PETSC_TRUE;
  PetscCall((*h->engine->start)(h, from, N));
  PetscCall(PetscLogEventEnd(MAT_AIJTCU_Exchange, A, 0, 0, 0));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Wait until rows have come, and what was packed has gone. On a device later work waits for what came */
PetscErrorCode AIJTCUHaloEnd(Mat A, AIJTCUHalo *h, AIJTCUHaloSideName from, PetscInt N)
{
  PetscErrorCode start = PETSC_SUCCESS, finish;

  PetscFunctionBegin;
  if (!N) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCall(PetscLogEventBegin(MAT_AIJTCU_Exchange, A, 0, 0, 0));
  if (!h->started) start = (*h->engine->start)(h, from, N); /* on a device, or after an error that came before */
  h->started = PETSC_FALSE;
  finish     = (*h->engine->finish)(h, from, N);
  PetscCall(start);
  PetscCall(finish);
  #if AIJTCU_HAVE_DEVICE
  if (h->place != AIJTCU_HALO_HOST) PetscCall(AIJTCUHaloDeviceEnd(h));
  #endif
  PetscCall(PetscLogEventEnd(MAT_AIJTCU_Exchange, A, 0, 0, 0));
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscBool AIJTCUHaloIsOnHost(const AIJTCUHalo *h)
{
  return (PetscBool)(h->place == AIJTCU_HALO_HOST);
}

PetscInt AIJTCUHaloWidth(const AIJTCUHalo *h)
{
  return h->width;
}

PetscInt AIJTCUHaloGhostCount(const AIJTCUHalo *h)
{
  return h->nghosts;
}

const HrpbScalar *AIJTCUHaloGhosts(const AIJTCUHalo *h)
{
  const AIJTCUHaloSide *s = &h->side[AIJTCU_HALO_GHOSTS];

  return h->place == AIJTCU_HALO_HOST ? s->buffer : s->device;
}

PetscErrorCode AIJTCUHaloGhostsToHost(const AIJTCUHalo *h, PetscInt N, HrpbScalar **ghosts)
{
  PetscFunctionBegin;
  *ghosts = NULL;
  #if AIJTCU_HAVE_DEVICE
  PetscCall(AIJTCUHaloDeviceToHost(h, AIJTCU_HALO_ROWS, N, ghosts));
  #else
  (void)h, (void)N;
  #endif
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode AIJTCUHaloSumsFromHost(const AIJTCUHalo *h, PetscInt N, const HrpbScalar *sums)
{
  PetscFunctionBegin;
  #if AIJTCU_HAVE_DEVICE
  PetscCall(AIJTCUHaloDeviceSumsFromHost(h, N, sums));
  #else
  (void)h, (void)N, (void)sums;
  #endif
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Where the sums for ghosts are to be: on the device, or on the host */
PetscErrorCode AIJTCUHaloSums(AIJTCUHalo *h, HrpbScalar **sums)
{
  const AIJTCUHaloSide *s = &h->side[AIJTCU_HALO_GHOSTS];

  PetscFunctionBegin;
  *sums = s->buffer;
  #if AIJTCU_HAVE_DEVICE
  if (h->place != AIJTCU_HALO_HOST) {
    PetscCall(AIJTCUHaloDeviceWaitForSums(h));
    *sums = s->device;
  }
  #endif
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Find which rows others have sums for, and where these come. sums is zeros, one for each local row */
static PetscErrorCode AIJTCUHaloListTargets(const AIJTCUHalo *h, PetscInt sums[], AIJTCUHaloTargets *t)
{
  const PetscInt n = AIJTCUHaloRows(&h->side[AIJTCU_HALO_ROWS]);

  PetscFunctionBegin;
  t->nrows = 0;
  for (PetscInt k = 0; k < n; k++) t->nrows += !sums[h->rows[k]]++;
  PetscCall(PetscMalloc3(t->nrows, &t->rows, t->nrows + 1, &t->start, n, &t->at));
  t->start[0] = 0;
  for (PetscInt i = 0, k = 0; i < h->nlocal; i++) {
    if (!sums[i]) continue;
    t->rows[k]      = i;
    t->start[k + 1] = t->start[k] + sums[i];
    sums[i]         = t->start[k++]; /* where the next of them goes. Neighbours are in the order of their ranks */
  }
  for (PetscInt k = 0; k < n; k++) t->at[sums[h->rows[k]]++] = k;
  t->there = PETSC_TRUE;
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode AIJTCUHaloFindTargets(AIJTCUHalo *h)
{
  PetscInt      *sums;
  PetscErrorCode ierr;

  PetscFunctionBegin;
  PetscCall(PetscCalloc1(h->nlocal, &sums));
  ierr = AIJTCUHaloListTargets(h, sums, &h->targets);
  PetscCall(PetscFree(sums));
  PetscCall(ierr);
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* On the host, where C is brought if need be */
static PetscErrorCode AIJTCUHaloAddOnHost(const AIJTCUHalo *h, const HrpbScalar *sums, PetscInt N, Mat C)
{
  const AIJTCUHaloTargets *t = &h->targets;
  PetscScalar             *c;
  PetscInt                 ldc;

  PetscFunctionBegin;
  PetscCall(MatDenseGetLDA(C, &ldc));
  PetscCall(MatDenseGetArray(C, &c));
  HaloAddHost(t->nrows, t->rows, t->start, t->at, N, sums, (HrpbScalar *)c, AIJTCU_PARTS * (int64_t)ldc);
  PetscCall(MatDenseRestoreArray(C, &c));
  PetscFunctionReturn(PETSC_SUCCESS);
}

  #if AIJTCU_HAVE_DEVICE
static PetscErrorCode AIJTCUHaloAddOnDevice(AIJTCUHalo *h, PetscInt N, Mat C)
{
  PetscScalar   *c;
  HrpbScalar    *sums;
  PetscInt       ldc;
  PetscBool      done = PETSC_FALSE;
  PetscErrorCode ierr;

  PetscFunctionBegin;
  PetscCall(MatDenseGetLDA(C, &ldc));
  PetscCall(MatDenseGetArrayAndMemType(C, &c, NULL));
  ierr = AIJTCUHaloDeviceAdd(h, N, (HrpbScalar *)c, AIJTCU_PARTS * (PetscInt64)ldc, &done);
  PetscCall(MatDenseRestoreArrayAndMemType(C, &c));
  PetscCall(ierr);
  if (done) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCall(PetscInfo(C, "aijtcu: no lists on the device, sums of other processes are added on the host: %s\n", HrpbErrorString(HRPB_ERR_DEVICE_MEMORY)));
  PetscCall(AIJTCUHaloDeviceToHost(h, AIJTCU_HALO_GHOSTS, N, &sums));
  ierr = AIJTCUHaloAddOnHost(h, sums, N, C);
  PetscCall(PetscFree(sums));
  PetscCall(ierr);
  PetscFunctionReturn(PETSC_SUCCESS);
}
  #endif

/* Add the sums that came to the rows of C, a local dense matrix that is where the halo is */
PetscErrorCode AIJTCUHaloAdd(Mat A, AIJTCUHalo *h, PetscInt N, Mat C)
{
  PetscFunctionBegin;
  if (!h->targets.there) PetscCall(AIJTCUHaloFindTargets(h));
  if (!N || !h->targets.nrows) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCall(PetscLogEventBegin(MAT_AIJTCU_Pack, A, 0, 0, 0));
  if (h->place == AIJTCU_HALO_HOST) PetscCall(AIJTCUHaloAddOnHost(h, h->side[AIJTCU_HALO_ROWS].buffer, N, C));
  #if AIJTCU_HAVE_DEVICE
  else PetscCall(AIJTCUHaloAddOnDevice(h, N, C));
  #endif
  PetscCall(PetscLogEventEnd(MAT_AIJTCU_Pack, A, 0, 0, 0));
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscInt64 AIJTCUHaloBytes(const AIJTCUHalo *h)
{
  PetscInt64 rows, index = sizeof(PetscInt), bytes;

  if (!h || h->place == AIJTCU_HALO_HOST || !h->width) return 0;
  rows  = AIJTCUHaloRows(&h->side[AIJTCU_HALO_ROWS]);
  bytes = (PetscInt64)sizeof(HrpbScalar) * h->width * (rows + h->nghosts) + index * rows;
  if (h->targets.drows) bytes += index * (2 * (PetscInt64)h->targets.nrows + 1 + rows);
  return bytes;
}

void AIJTCUHaloDestroy(AIJTCUHalo **h)
{
  if (!*h) return;
  AIJTCUHaloReset(*h);
  (void)PetscFree(*h);
}
#endif
