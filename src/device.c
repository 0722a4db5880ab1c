/*
   Products on a GPU: between PETSc's device CSR and dense matrices, and the kernels.
*/
#include "aijtcuimpl.h"

#if AIJTCU_HAVE_DEVICE
  #include <petscdevice_cuda.h>

/* What a caller can do something about is left to him, the rest is an error */
PetscErrorCode AIJTCUCheckDevice(HrpbError err)
{
  PetscFunctionBegin;
  PetscCheck(err != HRPB_ERR_DEVICE, PETSC_COMM_SELF, PETSC_ERR_GPU, "CUDA error in a kernel of aijtcu: %s", HrpbDeviceErrorString());
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode AIJTCUDeviceCallOnStream(Mat A, AIJTCUPlan *plan, AIJTCUDeviceCSR *csr, AIJTCUDeviceFn f, void *ctx, HrpbError *err)
{
  PetscErrorCode ierr;

  PetscFunctionBegin;
  ierr = AIJTCUDeviceBegin(&csr->stream);
  if (!ierr) ierr = (*f)(A, plan, csr, ctx, err);
  PetscCall(AIJTCUDeviceEnd(csr->stream));
  PetscCall(ierr);
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode AIJTCUDeviceCallWithValues(Mat A, AIJTCUPlan *plan, AIJTCUDeviceCSR *csr, AIJTCUDeviceFn f, void *ctx, HrpbError *err)
{
  PetscErrorCode ierr;

  PetscFunctionBegin;
  AIJTCUCallParent(A, MatSeqAIJCUSPARSEGetArrayRead(A, &csr->values));
  ierr = AIJTCUDeviceCallOnStream(A, plan, csr, f, ctx, err);
  AIJTCUCallParent(A, MatSeqAIJCUSPARSERestoreArrayRead(A, &csr->values));
  PetscCall(ierr);
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Work on the device for A. What it needs is got before it, and given back after an error, too */
PetscErrorCode AIJTCUDeviceCall(Mat A, AIJTCUPlan *plan, AIJTCUNeed need, AIJTCUDeviceFn f, void *ctx, HrpbError *err)
{
  AIJTCUDeviceCSR        csr = {NULL, NULL, NULL, NULL};
  const AIJTCUDeviceInt *i, *j;
  PetscErrorCode         ierr;

  PetscFunctionBegin;
  *err = HRPB_SUCCESS;
  if (need == AIJTCU_CSR_NOTHING) {
    PetscCall(AIJTCUDeviceCallOnStream(A, plan, &csr, f, ctx, err));
    PetscFunctionReturn(PETSC_SUCCESS);
  }
  AIJTCUCallParent(A, MatSeqAIJCUSPARSEGetIJ(A, PETSC_FALSE, &i, &j));
  csr.rowptr = (const HrpbInt *)i;
  csr.colidx = (const HrpbInt *)j;
  if (need == AIJTCU_CSR_VALUES) ierr = AIJTCUDeviceCallWithValues(A, plan, &csr, f, ctx, err);
  else ierr = AIJTCUDeviceCallOnStream(A, plan, &csr, f, ctx, err);
  AIJTCUCallParent(A, MatSeqAIJCUSPARSERestoreIJ(A, PETSC_FALSE, &i, &j));
  PetscCall(ierr);
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Whether the current device has kernels that pay for the plan's precision */
PetscErrorCode AIJTCUDeviceSupports(const AIJTCUPlan *plan, PetscBool *supports)
{
  HrpbError err;
  bool      pays;

  PetscFunctionBegin;
  AIJTCUCallDevice(err, HrpbSupportsDevice(AIJTCUGetPrecision(plan), &pays));
  *supports = pays ? PETSC_TRUE : PETSC_FALSE;
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Like all that is freed here without asking for errors: those of work before it come to light in the next call */
static void AIJTCUDeviceDestroyBricks(AIJTCUPlan *plan, cudaStream_t stream)
{
  HrpbScheduleDestroyDevice(&plan->schedule, stream);
  HrpbDestroyDevice(&plan->hrpb, stream);
  if (plan->values) (void)AIJTCUForgetError(cudaFreeAsync(plan->values, stream));
  if (plan->map) (void)AIJTCUForgetError(cudaFreeAsync(plan->map, stream));
  plan->values    = NULL;
  plan->map       = NULL;
  plan->map_tried = PETSC_FALSE;
}

/* The matrix in the order of the bricks; its values stay in their own */
static AIJTCUDeviceCSR AIJTCUCSROfBricks(const AIJTCUPlan *plan, const AIJTCUDeviceCSR *csr)
{
  AIJTCUDeviceCSR ordered = *csr;

  if (plan->bricks_clustered) {
    ordered.rowptr = plan->clustered.rowptr;
    ordered.colidx = plan->clustered.colidx;
  }
  return ordered;
}

/* Which entries of A those of the CSR of the bricks are; NULL where they are the same */
static const HrpbInt *AIJTCUEntriesOfBricks(const AIJTCUPlan *plan)
{
  return plan->bricks_clustered ? plan->clustered.entry : NULL;
}

static PetscErrorCode AIJTCUDevicePackCSR(Mat A, AIJTCUPlan *plan, const AIJTCUDeviceCSR *csr, void *ctx, HrpbError *err)
{
  const AIJTCUDeviceCSR ordered = AIJTCUCSROfBricks(plan, csr);

  PetscFunctionBegin;
  (void)A;
  (void)ctx;
  PetscCall(PetscLogGpuTimeBegin());
  *err = HrpbPackValuesDevice(&plan->hrpb, ordered.rowptr, ordered.colidx, ordered.values, AIJTCUEntriesOfBricks(plan), plan->values, ordered.stream);
  PetscCall(PetscLogGpuTimeEnd());
  PetscCall(AIJTCUCheckDevice(*err));
  PetscCheck(!*err, PETSC_COMM_SELF, PETSC_ERR_PLIB, "%s", HrpbErrorString(*err));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Find out where the values come from, if there is memory to keep it in: packing does without */
static PetscErrorCode AIJTCUDeviceMapValues(Mat A, AIJTCUPlan *plan, const AIJTCUDeviceCSR *csr)
{
  const AIJTCUDeviceCSR ordered = AIJTCUCSROfBricks(plan, csr);
  const PetscInt64      bytes   = HrpbValueCount(&plan->hrpb) * (PetscInt64)sizeof(*plan->map);
  int32_t              *map;
  HrpbError             err;

  PetscFunctionBegin;
  plan->map_tried = PETSC_TRUE;
  if (plan->hrpb.nnz > PETSC_INT32_MAX) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCall(AIJTCUDeviceMalloc((size_t)bytes, csr->stream, (void **)&map));
  if (!map) {
    PetscCall(PetscInfo(A, "aijtcu: no %" PetscInt64_FMT " bytes to note where values come from, each change of them takes longer\n", bytes));
    PetscFunctionReturn(PETSC_SUCCESS);
  }
  err = HrpbMapValuesDevice(&plan->hrpb, ordered.rowptr, ordered.colidx, AIJTCUEntriesOfBricks(plan), map, ordered.stream);
  if (err) (void)AIJTCUForgetError(cudaFreeAsync(map, csr->stream));
  else plan->map = map;
  PetscCall(AIJTCUCheckDevice(err));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* New values in the same pattern */
static PetscErrorCode AIJTCUDeviceRefreshCSR(Mat A, AIJTCUPlan *plan, const AIJTCUDeviceCSR *csr, void *ctx, HrpbError *err)
{
  PetscFunctionBegin;
  if (!plan->map_tried) PetscCall(AIJTCUDeviceMapValues(A, plan, csr));
  if (!plan->map) {
    PetscCall(AIJTCUDevicePackCSR(A, plan, csr, ctx, err));
    PetscFunctionReturn(PETSC_SUCCESS);
  }
  PetscCall(PetscLogGpuTimeBegin());
  *err = HrpbTakeValuesDevice(&plan->hrpb, plan->map, csr->values, plan->values, csr->stream);
  PetscCall(PetscLogGpuTimeEnd());
  PetscCall(AIJTCUCheckDevice(*err));
  PetscCheck(!*err, PETSC_COMM_SELF, PETSC_ERR_PLIB, "%s", HrpbErrorString(*err));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* The pool of the driver's that our memory comes from, and PETSc's on any but the default stream, keeps what is freed: give that back, for the pieces may be too small, or of another size */
static PetscErrorCode AIJTCUTrimPool(void)
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

/* AIJTCUDeviceCall() for what needs memory: where there is none it is called again when the pool has given back what it can */
PetscErrorCode AIJTCUDeviceCallForMemory(Mat A, AIJTCUPlan *plan, AIJTCUNeed need, AIJTCUDeviceFn f, void *ctx, HrpbError *err)
{
  PetscFunctionBegin;
  PetscCall(AIJTCUDeviceCall(A, plan, need, f, ctx, err));
  if (*err == HRPB_ERR_DEVICE_MEMORY) {
    PetscCall(AIJTCUTrimPool());
    PetscCall(AIJTCUDeviceCall(A, plan, need, f, ctx, err));
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode AIJTCUDeviceBuildCSR(Mat A, AIJTCUPlan *plan, const AIJTCUDeviceCSR *csr, void *ctx, HrpbError *err)
{
  const AIJTCUDeviceCSR ordered = AIJTCUCSROfBricks(plan, csr);

  PetscFunctionBegin;
  AIJTCUCallDevice(*err, HrpbBuildDevice(A->rmap->n, A->cmap->n, ordered.rowptr, ordered.colidx, NULL, &plan->params, csr->stream, &plan->hrpb));
  if (*err) PetscFunctionReturn(PETSC_SUCCESS);
  AIJTCUCallDevice(*err, HrpbScheduleDevice(&plan->hrpb, csr->stream, &plan->schedule));
  if (*err) {
    AIJTCUDeviceDestroyBricks(plan, csr->stream);
    PetscFunctionReturn(PETSC_SUCCESS);
  }
  PetscCall(AIJTCUDeviceMalloc(HrpbValueCount(&plan->hrpb) * sizeof(*plan->values), csr->stream, (void **)&plan->values));
  if (!plan->values) {
    AIJTCUDeviceDestroyBricks(plan, csr->stream);
    *err = HRPB_ERR_DEVICE_MEMORY;
    PetscFunctionReturn(PETSC_SUCCESS);
  }
  PetscCall(AIJTCUDevicePackCSR(A, plan, csr, ctx, err));
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode AIJTCUDeviceBuild(Mat A, AIJTCUPlan *plan, HrpbError *err)
{
  PetscFunctionBegin;
  if (!plan->workspace_user) AIJTCUWorkspaceUser(PETSC_TRUE);
  plan->workspace_user = PETSC_TRUE;
  plan->params         = plan->wanted;
  if (!plan->wanted.brick_rows) {
    if (!plan->bricks_clustered) PetscCall(AIJTCUAnalyse(A, plan));
    plan->params = AIJTCUDeviceFormat(A, plan->bricks_clustered ? &plan->clustered_survey : &plan->survey);
  }
  PetscCall(AIJTCUDeviceCallForMemory(A, plan, AIJTCU_CSR_VALUES, AIJTCUDeviceBuildCSR, NULL, err));
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode AIJTCUDeviceRefresh(Mat A, AIJTCUPlan *plan)
{
  HrpbError err;

  PetscFunctionBegin;
  PetscCall(AIJTCUDeviceCall(A, plan, AIJTCU_CSR_VALUES, AIJTCUDeviceRefreshCSR, NULL, &err));
  PetscFunctionReturn(PETSC_SUCCESS);
}

void AIJTCUDeviceDestroy(AIJTCUPlan *plan)
{
  AIJTCUDeviceDestroyBricks(plan, AIJTCUDeviceStreamBehind());
  if (plan->workspace_user) AIJTCUWorkspaceUser(PETSC_FALSE);
  plan->workspace_user = PETSC_FALSE;
}

static void AIJTCUUncluster(AIJTCUPlan *plan, cudaStream_t stream)
{
  HrpbClusterDestroyDevice(&plan->clustered, stream);
  AIJTCUWorkspaceUser(PETSC_FALSE);
}

static PetscErrorCode AIJTCUDeviceClusterCSR(Mat A, AIJTCUPlan *plan, const AIJTCUDeviceCSR *csr, void *ctx, HrpbError *err)
{
  HrpbClustered *c = &plan->clustered;
  double         shared;

  PetscFunctionBegin;
  (void)ctx;
  AIJTCUCallDevice(*err, HrpbSharedNeighboursDevice(A->rmap->n, csr->rowptr, csr->colidx, csr->stream, &shared));
  plan->cluster_shared = 100 * (PetscReal)shared;
  if (*err || (!plan->cluster_forced && plan->cluster_shared < AIJTCU_LEAST_SHARED)) PetscFunctionReturn(PETSC_SUCCESS);
  AIJTCUCallDevice(*err, HrpbClusterDevice(A->rmap->n, csr->rowptr, csr->colidx, (int32_t)plan->cluster_levels, csr->stream, c));
  if (*err) PetscFunctionReturn(PETSC_SUCCESS);
  AIJTCUWorkspaceUser(PETSC_TRUE);
  AIJTCUCallDevice(*err, HrpbSurveyDevice(c->n, c->n, c->rowptr, c->colidx, csr->stream, &plan->clustered_survey));
  if (*err) AIJTCUUncluster(plan, csr->stream);
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Fills plan->clustered and plan->clustered_survey, if that can be. Unless it is forced, only where neighbours share columns */
PetscErrorCode AIJTCUDeviceCluster(Mat A, AIJTCUPlan *plan, HrpbError *err)
{
  PetscFunctionBegin;
  PetscCall(AIJTCUDeviceCallForMemory(A, plan, AIJTCU_CSR_PATTERN, AIJTCUDeviceClusterCSR, NULL, err));
  PetscFunctionReturn(PETSC_SUCCESS);
}

void AIJTCUDeviceUncluster(AIJTCUPlan *plan)
{
  AIJTCUUncluster(plan, AIJTCUDeviceStreamBehind());
}

static PetscErrorCode AIJTCUDeviceScheduleCSR(Mat A, AIJTCUPlan *plan, const AIJTCUDeviceCSR *csr, void *ctx, HrpbError *err)
{
  PetscFunctionBegin;
  (void)ctx;
  AIJTCUCallDevice(*err, CsrScheduleDevice(A->rmap->n, A->cmap->n, csr->rowptr, csr->colidx, csr->stream, &plan->csr));
  plan->csr_scheduled = (PetscBool)!*err;
  if (plan->csr_scheduled) AIJTCUWorkspaceUser(PETSC_TRUE);
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* The scalar path's share of the plan; what is wrong with a pattern comes back in err */
PetscErrorCode AIJTCUDeviceSchedule(Mat A, AIJTCUPlan *plan, HrpbError *err)
{
  PetscFunctionBegin;
  PetscCall(AIJTCUDeviceCallForMemory(A, plan, AIJTCU_CSR_PATTERN, AIJTCUDeviceScheduleCSR, NULL, err));
  PetscFunctionReturn(PETSC_SUCCESS);
}

void AIJTCUDeviceUnschedule(AIJTCUPlan *plan)
{
  if (!plan->csr_scheduled) return;
  CsrScheduleDestroyDevice(&plan->csr, AIJTCUDeviceStreamBehind());
  AIJTCUWorkspaceUser(PETSC_FALSE);
  plan->csr_scheduled = PETSC_FALSE;
}

/* What multiplies: the bricks of a plan or, for the scalar path, the matrix itself */
typedef struct {
  const AIJTCUPlan      *plan;
  MatAIJTCUPath          path;
  const AIJTCUDeviceCSR *csr;
} AIJTCUKernel;

/* Leading dimension of a buffer: whole units of 16 bytes */
static PetscInt AIJTCUSlotLDA(PetscInt rows)
{
  const PetscInt unit = 16 / (PetscInt)sizeof(PetscScalar);

  return (PetscMax(rows, 1) + unit - 1) / unit * unit;
}

/* Scalars of B or C in the order of the bricks */
static size_t AIJTCUClusteredScalars(const HrpbClustered *c, PetscInt N)
{
  const size_t unit = 256 / sizeof(PetscScalar);

  return ((size_t)AIJTCUSlotLDA(c->n) * (size_t)N + unit - 1) / unit * unit;
}

static HrpbError AIJTCUKernelWork(const AIJTCUKernel *k, PetscInt N, size_t *bytes)
{
  const AIJTCUPlan *plan = k->plan;
  HrpbError         err;

  if (k->path == MAT_AIJTCU_PATH_CSR) return CsrMultiplyWorkDevice(&plan->csr, N, bytes);
  err = HrpbMultiplyWorkDevice(&plan->hrpb, &plan->schedule, AIJTCUGetPrecision(plan), N, bytes);
  if (!err && plan->bricks_clustered) *bytes += 2 * AIJTCUClusteredScalars(&plan->clustered, N) * sizeof(PetscScalar);
  return err;
}

/* B to the order of the bricks, and C from it. What the kernel for bricks needs comes behind both copies */
static HrpbError AIJTCUClusteredRun(const AIJTCUPlan *plan, PetscInt N, const PetscScalar *b, PetscInt ldb, PetscScalar *c, PetscInt ldc, void *work, cudaStream_t stream)
{
  const HrpbClustered *order = &plan->clustered;
  const PetscInt       ld    = AIJTCUSlotLDA(order->n);
  PetscScalar         *x = (PetscScalar *)work, *y = x + AIJTCUClusteredScalars(order, N);
  HrpbError            err;

  err = HrpbPermuteRowsDevice(order->order, order->n, N, b, ldb, x, ld, stream);
  if (!err) err = HrpbMultiplyDevice(&plan->hrpb, &plan->schedule, plan->values, AIJTCUGetPrecision(plan), N, x, ld, y, ld, y + AIJTCUClusteredScalars(order, N), stream);
  if (!err) err = HrpbPermuteRowsDevice(order->position, order->n, N, y, ld, c, ldc, stream);
  return err;
}

static HrpbError AIJTCUKernelRun(const AIJTCUKernel *k, PetscInt N, const PetscScalar *b, PetscInt ldb, PetscScalar *c, PetscInt ldc, void *work)
{
  const AIJTCUDeviceCSR *csr = k->csr;

  if (k->path == MAT_AIJTCU_PATH_CSR) return CsrMultiplyDevice(&k->plan->csr, csr->rowptr, csr->colidx, csr->values, N, b, ldb, c, ldc, work, csr->stream);
  if (k->plan->bricks_clustered) return AIJTCUClusteredRun(k->plan, N, b, ldb, c, ldc, work, csr->stream);
  return HrpbMultiplyDevice(&k->plan->hrpb, &k->plan->schedule, k->plan->values, AIJTCUGetPrecision(k->plan), N, b, ldb, c, ldc, work, csr->stream);
}

/* A product's arrays. Those on the host go through buffers behind the kernel's own workspace, two of each: one is copied while the other is multiplied */
typedef struct {
  MatAIJTCUPath      path;
  const PetscScalar *b;
  PetscScalar       *c;
  PetscInt           N, m, n, ldb, ldc;
  PetscBool          bhost, chost;
  PetscInt           ldbslot, ldcslot; /* of the buffers: whole units of 16 bytes */
  size_t             bslot, cslot;     /* scalars of a buffer, for a piece */
} AIJTCUArrays;

enum {
  PIECES      = 4,      /* at least, of large matrices on the host: of */
  LEAST_PIECE = 1 << 22 /* scalars, if they are cut for that */
};

/* Workspace for pieces of width columns, and of it what the kernel needs for itself; a product in one piece needs one buffer of each */
static PetscErrorCode AIJTCUWorkBytes(const AIJTCUKernel *k, AIJTCUArrays *x, PetscInt width, size_t *kernel, size_t *all, HrpbError *err)
{
  const size_t unit = 256 / sizeof(PetscScalar);

  PetscFunctionBegin;
  AIJTCUCallDevice(*err, AIJTCUKernelWork(k, width, kernel));
  *kernel    = (*kernel + 255) / 256 * 256;
  x->ldbslot = AIJTCUSlotLDA(x->n);
  x->ldcslot = AIJTCUSlotLDA(x->m);
  x->bslot   = x->bhost ? ((size_t)x->ldbslot * (size_t)width + unit - 1) / unit * unit : 0;
  x->cslot   = x->chost ? ((size_t)x->ldcslot * (size_t)width + unit - 1) / unit * unit : 0;
  *all       = *kernel + (width < x->N ? 2 : 1) * (x->bslot + x->cslot) * sizeof(PetscScalar);
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Columns of a dense matrix between host and device; a copy in two dimensions is limited in its pitch */
static PetscErrorCode AIJTCUCopyColumns(PetscScalar *to, PetscInt ldto, const PetscScalar *from, PetscInt ldfrom, PetscInt rows, PetscInt cols, enum cudaMemcpyKind kind, cudaStream_t stream)
{
  const size_t size = sizeof(*to), most = PETSC_INT32_MAX / sizeof(*to);

  PetscFunctionBegin;
  if (rows == 0) PetscFunctionReturn(PETSC_SUCCESS);
  if ((size_t)PetscMax(ldto, ldfrom) <= most) PetscCallCUDA(cudaMemcpy2DAsync(to, size * (size_t)ldto, from, size * (size_t)ldfrom, size * (size_t)rows, (size_t)cols, kind, stream));
  else {
    for (PetscInt j = 0; j < cols; j++) PetscCallCUDA(cudaMemcpyAsync(to + (size_t)j * (size_t)ldto, from + (size_t)j * (size_t)ldfrom, size * (size_t)rows, kind, stream));
  }
  if (kind == cudaMemcpyHostToDevice) PetscCall(PetscLogCpuToGpu(size * (PetscLogDouble)rows * (PetscLogDouble)cols));
  else PetscCall(PetscLogGpuToCpu(size * (PetscLogDouble)rows * (PetscLogDouble)cols));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* As many columns at a time as the workspace allows, and their workspace; of matrices on the host, if large, a part, so that copies overlap */
static PetscErrorCode AIJTCUChoosePiece(const AIJTCUKernel *k, AIJTCUArrays *x, PetscInt *piece, size_t *kernel, char **work, HrpbError *err)
{
  size_t all = 0;

  PetscFunctionBegin;
  *work  = NULL;
  *piece = PetscMin(x->N, HRPB_MAX_COLUMNS);
  if ((x->bhost || x->chost) && (size_t)PetscMax(x->m, x->n) * (size_t)*piece / PIECES > LEAST_PIECE) *piece = PetscMin(*piece, (*piece / PIECES + 15) / 16 * 16);
  for (;; *piece = (*piece / 2 + 15) / 16 * 16) {
    PetscBool fits;

    PetscCall(AIJTCUWorkBytes(k, x, *piece, kernel, &all, err));
    if (*err || !all) PetscFunctionReturn(PETSC_SUCCESS);
    PetscCall(AIJTCUWorkspaceFits(all, &fits));
    if (fits || *piece <= 16) PetscCall(AIJTCUWorkspaceGet(all, k->csr->stream, (void **)work));
    if (*work) PetscFunctionReturn(PETSC_SUCCESS);
    if (*piece <= 16) {
      *err = HRPB_ERR_DEVICE_MEMORY;
      PetscFunctionReturn(PETSC_SUCCESS);
    }
  }
}

/* One piece of a product */
static PetscErrorCode AIJTCUMultiplyPiece(const AIJTCUKernel *k, PetscInt N, const PetscScalar *b, PetscInt ldb, PetscScalar *c, PetscInt ldc, void *work, HrpbError *err)
{
  PetscFunctionBegin;
  PetscCall(PetscLogGpuTimeBegin());
  *err = AIJTCUKernelRun(k, N, b, ldb, c, ldc, work);
  PetscCall(PetscLogGpuTimeEnd());
  PetscCall(AIJTCUCheckDevice(*err));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Bring the columns of C of a piece to the host, behind its product */
static PetscErrorCode AIJTCUBringPiece(const AIJTCUArrays *x, PetscInt first, PetscInt width, const PetscScalar *from, int slot, const AIJTCUTransfers *t)
{
  PetscFunctionBegin;
  PetscCallCUDA(cudaStreamWaitEvent(t->out, t->multiplied[slot], 0));
  PetscCall(AIJTCUCopyColumns(x->c + (size_t)first * (size_t)x->ldc, x->ldc, from, x->ldcslot, x->m, width, cudaMemcpyDeviceToHost, t->out));
  PetscCallCUDA(cudaEventRecord(t->left[slot], t->out));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*
   The product of matrices of which one at least is on the host. The next columns of B come before the last ones of C go, because a copy of memory that is
   not page-locked keeps the host until it is made
*/
static PetscErrorCode AIJTCUMultiplyPieces(const AIJTCUKernel *k, const AIJTCUArrays *x, PetscInt piece, char *work, size_t kernel, const AIJTCUTransfers *t, HrpbError *err)
{
  const cudaStream_t stream = k->csr->stream;
  PetscScalar       *bslot = (PetscScalar *)(work + kernel), *cslot = bslot + (piece < x->N ? 2 : 1) * x->bslot;
  PetscInt           first;
  int                slot = 0;

  PetscFunctionBegin;
  for (int i = 0; i < 2; i++) { /* both slots are free when the work before is done */
    PetscCallCUDA(cudaEventRecord(t->multiplied[i], stream));
    PetscCallCUDA(cudaEventRecord(t->left[i], stream));
  }
  for (first = 0; first < x->N && !*err; first += piece, slot = !slot) {
    const PetscInt     width = PetscMin(piece, x->N - first);
    const PetscScalar *b     = x->b + (size_t)first * (size_t)x->ldb;
    PetscScalar       *c     = x->c + (size_t)first * (size_t)x->ldc;
    PetscInt           ldb = x->ldb, ldc = x->ldc;

    if (x->bhost) {
      PetscScalar *copy = bslot + (size_t)slot * x->bslot;

      ldb = x->ldbslot;
      PetscCallCUDA(cudaStreamWaitEvent(t->in, t->multiplied[slot], 0));
      PetscCall(AIJTCUCopyColumns(copy, ldb, b, x->ldb, x->n, width, cudaMemcpyHostToDevice, t->in));
      PetscCallCUDA(cudaEventRecord(t->arrived[slot], t->in));
      PetscCallCUDA(cudaStreamWaitEvent(stream, t->arrived[slot], 0));
      b = copy;
    }
    if (x->chost) {
      c   = cslot + (size_t)slot * x->cslot;
      ldc = x->ldcslot;
      PetscCallCUDA(cudaStreamWaitEvent(stream, t->left[slot], 0));
    }
    PetscCall(AIJTCUMultiplyPiece(k, width, b, ldb, c, ldc, work, err));
    PetscCallCUDA(cudaEventRecord(t->multiplied[slot], stream));
    if (x->chost && first > 0) PetscCall(AIJTCUBringPiece(x, first - piece, piece, cslot + (size_t)!slot * x->cslot, !slot, t));
  }
  if (x->chost && first > 0 && !*err) PetscCall(AIJTCUBringPiece(x, first - piece, x->N - (first - piece), cslot + (size_t)!slot * x->cslot, !slot, t));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Also after an error nothing is under way between these arrays and the device when this returns: they may be freed next */
static PetscErrorCode AIJTCUMultiplyFromHost(const AIJTCUKernel *k, const AIJTCUArrays *x, PetscInt piece, char *work, size_t kernel, HrpbError *err)
{
  AIJTCUTransfers *t;
  PetscErrorCode   ierr;
  cudaError_t      waited[3];

  PetscFunctionBegin;
  PetscCall(AIJTCUGetTransfers(&t));
  ierr      = AIJTCUMultiplyPieces(k, x, piece, work, kernel, t, err);
  waited[0] = cudaStreamSynchronize(k->csr->stream);
  waited[1] = cudaStreamSynchronize(t->in);
  waited[2] = cudaStreamSynchronize(t->out);
  PetscCall(ierr);
  for (int i = 0; i < 3; i++) PetscCallCUDA(waited[i]);
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode AIJTCUMultiplyOnDevice(const AIJTCUKernel *k, const AIJTCUArrays *x, PetscInt piece, void *work, HrpbError *err)
{
  PetscFunctionBegin;
  for (PetscInt first = 0; first < x->N && !*err; first += piece) PetscCall(AIJTCUMultiplyPiece(k, PetscMin(piece, x->N - first), x->b + (size_t)first * (size_t)x->ldb, x->ldb, x->c + (size_t)first * (size_t)x->ldc, x->ldc, work, err));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode AIJTCUDeviceMultiplyArrays(Mat A, AIJTCUPlan *plan, const AIJTCUDeviceCSR *csr, void *ctx, HrpbError *err)
{
  AIJTCUArrays      *x = (AIJTCUArrays *)ctx;
  const AIJTCUKernel k = {plan, x->path, csr};
  PetscInt           piece;
  size_t             kernel = 0;
  char              *work;

  PetscFunctionBegin;
  (void)A;
  PetscCall(AIJTCUChoosePiece(&k, x, &piece, &kernel, &work, err));
  if (*err) PetscFunctionReturn(PETSC_SUCCESS);
  if (x->bhost || x->chost) PetscCall(AIJTCUMultiplyFromHost(&k, x, piece, work, kernel, err));
  else PetscCall(AIJTCUMultiplyOnDevice(&k, x, piece, work, err));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* With B's array in x, that of C as well */
static PetscErrorCode AIJTCUDeviceMultiplyInto(Mat A, AIJTCUPlan *plan, AIJTCUArrays *x, Mat C, HrpbError *err)
{
  PetscMemType   mem;
  PetscErrorCode ierr;

  PetscFunctionBegin;
  PetscCall(MatDenseGetArrayWriteAndMemType(C, &x->c, &mem));
  x->chost = PetscMemTypeHost(mem) ? PETSC_TRUE : PETSC_FALSE;
  ierr     = AIJTCUDeviceCall(A, plan, x->path == MAT_AIJTCU_PATH_CSR ? AIJTCU_CSR_VALUES : AIJTCU_CSR_NOTHING, AIJTCUDeviceMultiplyArrays, x, err);
  PetscCall(MatDenseRestoreArrayWriteAndMemType(C, &x->c));
  PetscCall(ierr);
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* C = A B with what an updated plan has for the path */
PetscErrorCode AIJTCUDeviceMultiply(Mat A, AIJTCUPlan *plan, MatAIJTCUPath path, Mat B, Mat C, HrpbError *err)
{
  AIJTCUArrays   x = {.path = path, .N = B->cmap->n, .m = A->rmap->n, .n = A->cmap->n};
  PetscMemType   mem;
  PetscErrorCode ierr;

  PetscFunctionBegin;
  PetscCall(MatDenseGetLDA(B, &x.ldb));
  PetscCall(MatDenseGetLDA(C, &x.ldc));
  PetscCall(MatDenseGetArrayReadAndMemType(B, &x.b, &mem));
  x.bhost = PetscMemTypeHost(mem) ? PETSC_TRUE : PETSC_FALSE;
  ierr    = AIJTCUDeviceMultiplyInto(A, plan, &x, C, err);
  PetscCall(MatDenseRestoreArrayReadAndMemType(B, &x.b));
  PetscCall(ierr);
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode AIJTCUDeviceSurveyCSR(Mat A, AIJTCUPlan *plan, const AIJTCUDeviceCSR *csr, void *ctx, HrpbError *err)
{
  PetscFunctionBegin;
  (void)ctx;
  AIJTCUCallDevice(*err, HrpbSurveyDevice(A->rmap->n, A->cmap->n, csr->rowptr, csr->colidx, csr->stream, &plan->survey));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Fills plan->survey */
PetscErrorCode AIJTCUDeviceSurvey(Mat A, AIJTCUPlan *plan, HrpbError *err)
{
  PetscFunctionBegin;
  PetscCall(AIJTCUDeviceCallForMemory(A, plan, AIJTCU_CSR_PATTERN, AIJTCUDeviceSurveyCSR, NULL, err));
  PetscFunctionReturn(PETSC_SUCCESS);
}
#endif
