/*
   Products on a GPU: between PETSc's device CSR and dense matrices, and the kernels.
*/
#include "aijtcuimpl.h"

#if AIJTCU_HAVE_DEVICE
  #include <petscdevice_cuda.h>

  #if PETSC_VERSION_LT(3, 26, 0)
typedef int AIJTCUDeviceInt; /* what MatSeqAIJCUSPARSEGetIJ() gives */
  #else
typedef PetscInt AIJTCUDeviceInt;
  #endif

/* What a caller can do something about is left to him, the rest is an error */
static PetscErrorCode AIJTCUCheckDevice(HrpbError err)
{
  PetscFunctionBegin;
  PetscCheck(err != HRPB_ERR_DEVICE, PETSC_COMM_SELF, PETSC_ERR_GPU, "CUDA error in a kernel of aijtcu: %s", HrpbDeviceErrorString());
  PetscFunctionReturn(PETSC_SUCCESS);
}

  /* A call of the kernels: errors of CUDA end here */
  #define AIJTCUCallDevice(err, call) \
    do { \
      (err) = (call); \
      PetscCall(AIJTCUCheckDevice(err)); \
    } while (0)

/* The device's copy of the matrix, with the offsets of all rows */
static PetscErrorCode AIJTCUDeviceGetCSR(Mat A, const HrpbInt **rowptr, const HrpbInt **colidx, const HrpbScalar **values)
{
  const AIJTCUDeviceInt *i, *j;

  PetscFunctionBegin;
  AIJTCUCallParent(A, MatSeqAIJCUSPARSEGetIJ(A, PETSC_FALSE, &i, &j));
  if (values) AIJTCUCallParent(A, MatSeqAIJCUSPARSEGetArrayRead(A, values));
  *rowptr = (const HrpbInt *)i;
  *colidx = (const HrpbInt *)j;
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode AIJTCUDeviceRestoreCSR(Mat A, const HrpbInt **rowptr, const HrpbInt **colidx, const HrpbScalar **values)
{
  const AIJTCUDeviceInt *i = (const AIJTCUDeviceInt *)*rowptr, *j = (const AIJTCUDeviceInt *)*colidx;

  PetscFunctionBegin;
  if (values) AIJTCUCallParent(A, MatSeqAIJCUSPARSERestoreArrayRead(A, values));
  AIJTCUCallParent(A, MatSeqAIJCUSPARSERestoreIJ(A, PETSC_FALSE, &i, &j));
  *rowptr = *colidx = NULL;
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

/* The format for a matrix of which nothing was set: staged where columns come in runs; otherwise strips gather what they need */
static HrpbParams AIJTCUDeviceFormat(const AIJTCUPlan *plan)
{
  return AIJTCUColumnsRun(plan) ? HrpbStagedParams() : HrpbGatherParams();
}

static PetscErrorCode AIJTCUDeviceDestroyBricks(AIJTCUPlan *plan)
{
  PetscFunctionBegin;
  HrpbScheduleDestroyDevice(&plan->schedule);
  HrpbDestroyDevice(&plan->hrpb);
  if (plan->values) PetscCallCUDA(cudaFree(plan->values));
  plan->values = NULL;
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode AIJTCUDevicePackCSR(AIJTCUPlan *plan, const HrpbInt *rowptr, const HrpbInt *colidx, const HrpbScalar *values, cudaStream_t stream)
{
  HrpbError err;

  PetscFunctionBegin;
  PetscCall(PetscLogGpuTimeBegin());
  err = HrpbPackValuesDevice(&plan->hrpb, rowptr, colidx, values, plan->values, stream);
  PetscCall(PetscLogGpuTimeEnd());
  PetscCall(AIJTCUCheckDevice(err));
  PetscCheck(!err, PETSC_COMM_SELF, PETSC_ERR_PLIB, "%s", HrpbErrorString(err));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* PETSc's allocations come from a pool of the driver's that keeps what is freed: give that back */
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

static PetscErrorCode AIJTCUDeviceBuildCSR(Mat A, AIJTCUPlan *plan, const HrpbInt *rowptr, const HrpbInt *colidx, const HrpbScalar *values, cudaStream_t stream, HrpbError *err)
{
  cudaError_t cerr;

  PetscFunctionBegin;
  AIJTCUCallDevice(*err, HrpbBuildDevice(A->rmap->n, A->cmap->n, rowptr, colidx, NULL, &plan->params, stream, &plan->hrpb));
  if (*err) PetscFunctionReturn(PETSC_SUCCESS);
  AIJTCUCallDevice(*err, HrpbScheduleDevice(&plan->hrpb, stream, &plan->schedule));
  if (*err) PetscFunctionReturn(PETSC_SUCCESS);
  cerr = cudaMalloc((void **)&plan->values, PetscMax(1, HrpbValueCount(&plan->hrpb)) * sizeof(*plan->values));
  if (cerr == cudaErrorMemoryAllocation) {
    (void)cudaGetLastError();
    plan->values = NULL;
    *err         = HRPB_ERR_DEVICE_MEMORY;
    PetscFunctionReturn(PETSC_SUCCESS);
  }
  PetscCallCUDA(cerr);
  PetscCall(AIJTCUDevicePackCSR(plan, rowptr, colidx, values, stream));
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode AIJTCUDeviceBuild(Mat A, AIJTCUPlan *plan, HrpbError *err)
{
  const HrpbInt    *rowptr, *colidx;
  const HrpbScalar *values;
  cudaStream_t      stream;

  PetscFunctionBegin;
  if (!plan->workspace_user) PetscCall(AIJTCUWorkspaceUser(PETSC_TRUE));
  plan->workspace_user = PETSC_TRUE;
  if (!plan->wanted.brick_rows) PetscCall(AIJTCUAnalyse(A, plan));
  PetscCall(AIJTCUDeviceBegin(&stream));
  PetscCall(AIJTCUDeviceGetCSR(A, &rowptr, &colidx, &values));
  *err         = HRPB_SUCCESS;
  plan->params = plan->wanted;
  if (!plan->wanted.brick_rows) plan->params = AIJTCUDeviceFormat(plan);
  PetscCall(AIJTCUDeviceBuildCSR(A, plan, rowptr, colidx, values, stream, err));
  if (*err == HRPB_ERR_DEVICE_MEMORY) {
    PetscCall(AIJTCUDeviceDestroyBricks(plan));
    PetscCall(AIJTCUTrimPool());
    PetscCall(AIJTCUDeviceBuildCSR(A, plan, rowptr, colidx, values, stream, err));
  }
  PetscCall(AIJTCUDeviceRestoreCSR(A, &rowptr, &colidx, &values));
  PetscCall(AIJTCUDeviceEnd(stream));
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode AIJTCUDevicePack(Mat A, AIJTCUPlan *plan)
{
  const HrpbInt    *rowptr, *colidx;
  const HrpbScalar *values;
  cudaStream_t      stream;

  PetscFunctionBegin;
  PetscCall(AIJTCUDeviceBegin(&stream));
  PetscCall(AIJTCUDeviceGetCSR(A, &rowptr, &colidx, &values));
  PetscCall(AIJTCUDevicePackCSR(plan, rowptr, colidx, values, stream));
  PetscCall(AIJTCUDeviceRestoreCSR(A, &rowptr, &colidx, &values));
  PetscCall(AIJTCUDeviceEnd(stream));
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode AIJTCUDeviceDestroy(AIJTCUPlan *plan)
{
  PetscFunctionBegin;
  PetscCall(AIJTCUDeviceDestroyBricks(plan));
  if (plan->workspace_user) PetscCall(AIJTCUWorkspaceUser(PETSC_FALSE));
  plan->workspace_user = PETSC_FALSE;
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* The scalar path's share of the plan; what is wrong with a pattern comes back in err */
PetscErrorCode AIJTCUDeviceSchedule(Mat A, AIJTCUPlan *plan, HrpbError *err)
{
  const HrpbInt *rowptr, *colidx;
  cudaStream_t   stream;

  PetscFunctionBegin;
  PetscCall(AIJTCUDeviceBegin(&stream));
  PetscCall(AIJTCUDeviceGetCSR(A, &rowptr, &colidx, NULL));
  AIJTCUCallDevice(*err, CsrScheduleDevice(A->rmap->n, A->cmap->n, rowptr, stream, &plan->csr));
  if (*err == HRPB_ERR_DEVICE_MEMORY) {
    PetscCall(AIJTCUTrimPool());
    AIJTCUCallDevice(*err, CsrScheduleDevice(A->rmap->n, A->cmap->n, rowptr, stream, &plan->csr));
  }
  plan->csr_scheduled = (PetscBool)!*err;
  if (plan->csr_scheduled) PetscCall(AIJTCUWorkspaceUser(PETSC_TRUE));
  PetscCall(AIJTCUDeviceRestoreCSR(A, &rowptr, &colidx, NULL));
  PetscCall(AIJTCUDeviceEnd(stream));
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode AIJTCUDeviceUnschedule(AIJTCUPlan *plan)
{
  PetscFunctionBegin;
  if (!plan->csr_scheduled) PetscFunctionReturn(PETSC_SUCCESS);
  CsrScheduleDestroyDevice(&plan->csr);
  PetscCall(AIJTCUWorkspaceUser(PETSC_FALSE));
  plan->csr_scheduled = PETSC_FALSE;
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* What multiplies: the bricks of a plan or, for the scalar path, the matrix itself */
typedef struct {
  const AIJTCUPlan *plan;
  MatAIJTCUPath     path;
  const HrpbInt    *rowptr, *colidx; /* of the matrix itself */
  const HrpbScalar *values;
} AIJTCUKernel;

static HrpbError AIJTCUKernelWork(const AIJTCUKernel *k, PetscInt N, size_t *bytes)
{
  if (k->path == MAT_AIJTCU_PATH_SCALAR) return CsrMultiplyWorkDevice(&k->plan->csr, N, bytes);
  return HrpbMultiplyWorkDevice(&k->plan->hrpb, &k->plan->schedule, AIJTCUGetPrecision(k->plan), N, bytes);
}

static HrpbError AIJTCUKernelRun(const AIJTCUKernel *k, PetscInt N, const PetscScalar *b, PetscInt ldb, PetscScalar *c, PetscInt ldc, void *work, cudaStream_t stream)
{
  if (k->path == MAT_AIJTCU_PATH_SCALAR) return CsrMultiplyDevice(&k->plan->csr, k->rowptr, k->colidx, k->values, N, b, ldb, c, ldc, work, stream);
  return HrpbMultiplyDevice(&k->plan->hrpb, &k->plan->schedule, k->plan->values, AIJTCUGetPrecision(k->plan), N, b, ldb, c, ldc, work, stream);
}

/* A product's arrays. Those on the host go through buffers behind the kernel's own workspace, two of each: one is copied while the other is multiplied */
typedef struct {
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

static PetscInt AIJTCUSlotLDA(PetscInt rows)
{
  const PetscInt unit = 16 / (PetscInt)sizeof(PetscScalar);

  return (PetscMax(rows, 1) + unit - 1) / unit * unit;
}

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
    if (fits || *piece <= 16) PetscCall(AIJTCUWorkspaceGet(all, (void **)work));
    if (*work) PetscFunctionReturn(PETSC_SUCCESS);
    if (*piece <= 16) {
      *err = HRPB_ERR_DEVICE_MEMORY;
      PetscFunctionReturn(PETSC_SUCCESS);
    }
  }
}

/* One piece of a product */
static PetscErrorCode AIJTCUMultiplyPiece(const AIJTCUKernel *k, PetscInt N, const PetscScalar *b, PetscInt ldb, PetscScalar *c, PetscInt ldc, void *work, cudaStream_t stream, HrpbError *err)
{
  PetscFunctionBegin;
  PetscCall(PetscLogGpuTimeBegin());
  *err = AIJTCUKernelRun(k, N, b, ldb, c, ldc, work, stream);
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
static PetscErrorCode AIJTCUMultiplyPieces(const AIJTCUKernel *k, const AIJTCUArrays *x, PetscInt piece, char *work, size_t kernel, cudaStream_t stream, const AIJTCUTransfers *t, HrpbError *err)
{
  PetscScalar *bslot = (PetscScalar *)(work + kernel), *cslot = bslot + (piece < x->N ? 2 : 1) * x->bslot;
  PetscInt     first;
  int          slot = 0;

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
    PetscCall(AIJTCUMultiplyPiece(k, width, b, ldb, c, ldc, work, stream, err));
    PetscCallCUDA(cudaEventRecord(t->multiplied[slot], stream));
    if (x->chost && first > 0) PetscCall(AIJTCUBringPiece(x, first - piece, piece, cslot + (size_t)!slot * x->cslot, !slot, t));
  }
  if (x->chost && first > 0 && !*err) PetscCall(AIJTCUBringPiece(x, first - piece, x->N - (first - piece), cslot + (size_t)!slot * x->cslot, !slot, t));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* The host's arrays are the caller's again when this returns, after an error, too */
static PetscErrorCode AIJTCUMultiplyFromHost(const AIJTCUKernel *k, const AIJTCUArrays *x, PetscInt piece, char *work, size_t kernel, cudaStream_t stream, HrpbError *err)
{
  AIJTCUTransfers *t;
  PetscErrorCode   ierr;

  PetscFunctionBegin;
  PetscCall(AIJTCUGetTransfers(&t));
  ierr = AIJTCUMultiplyPieces(k, x, piece, work, kernel, stream, t, err);
  PetscCallCUDA(cudaStreamSynchronize(stream));
  PetscCallCUDA(cudaStreamSynchronize(t->in));
  PetscCallCUDA(cudaStreamSynchronize(t->out));
  PetscCall(ierr);
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode AIJTCUMultiplyOnDevice(const AIJTCUKernel *k, const AIJTCUArrays *x, PetscInt piece, void *work, cudaStream_t stream, HrpbError *err)
{
  PetscFunctionBegin;
  for (PetscInt first = 0; first < x->N && !*err; first += piece) PetscCall(AIJTCUMultiplyPiece(k, PetscMin(piece, x->N - first), x->b + (size_t)first * (size_t)x->ldb, x->ldb, x->c + (size_t)first * (size_t)x->ldc, x->ldc, work, stream, err));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode AIJTCUDeviceMultiplyArrays(const AIJTCUKernel *k, AIJTCUArrays *x, cudaStream_t stream, HrpbError *err)
{
  PetscInt piece;
  size_t   kernel = 0;
  char    *work;

  PetscFunctionBegin;
  PetscCall(AIJTCUChoosePiece(k, x, &piece, &kernel, &work, err));
  if (*err) PetscFunctionReturn(PETSC_SUCCESS);
  if (x->bhost || x->chost) PetscCall(AIJTCUMultiplyFromHost(k, x, piece, work, kernel, stream, err));
  else PetscCall(AIJTCUMultiplyOnDevice(k, x, piece, work, stream, err));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* C = A B with what an updated plan has for the path */
PetscErrorCode AIJTCUDeviceMultiply(Mat A, AIJTCUPlan *plan, MatAIJTCUPath path, Mat B, Mat C, HrpbError *err)
{
  AIJTCUKernel   kernel = {plan, path, NULL, NULL, NULL};
  AIJTCUArrays   x      = {.N = B->cmap->n, .m = A->rmap->n, .n = A->cmap->n};
  PetscMemType   bmem, cmem;
  PetscErrorCode ierr;
  cudaStream_t   stream;

  PetscFunctionBegin;
  PetscCall(MatDenseGetLDA(B, &x.ldb));
  PetscCall(MatDenseGetLDA(C, &x.ldc));
  PetscCall(MatDenseGetArrayReadAndMemType(B, &x.b, &bmem));
  PetscCall(MatDenseGetArrayWriteAndMemType(C, &x.c, &cmem));
  x.bhost = PetscMemTypeHost(bmem) ? PETSC_TRUE : PETSC_FALSE;
  x.chost = PetscMemTypeHost(cmem) ? PETSC_TRUE : PETSC_FALSE;
  if (path == MAT_AIJTCU_PATH_SCALAR) PetscCall(AIJTCUDeviceGetCSR(A, &kernel.rowptr, &kernel.colidx, &kernel.values));
  PetscCall(AIJTCUDeviceBegin(&stream));
  ierr = AIJTCUDeviceMultiplyArrays(&kernel, &x, stream, err);
  if (path == MAT_AIJTCU_PATH_SCALAR) PetscCall(AIJTCUDeviceRestoreCSR(A, &kernel.rowptr, &kernel.colidx, &kernel.values));
  PetscCall(AIJTCUDeviceEnd(stream));
  PetscCall(MatDenseRestoreArrayWriteAndMemType(C, &x.c));
  PetscCall(MatDenseRestoreArrayReadAndMemType(B, &x.b));
  PetscCall(ierr);
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Fills plan->survey */
PetscErrorCode AIJTCUDeviceSurvey(Mat A, AIJTCUPlan *plan, HrpbError *err)
{
  const HrpbInt *rowptr, *colidx;
  cudaStream_t   stream;

  PetscFunctionBegin;
  PetscCall(AIJTCUDeviceBegin(&stream));
  PetscCall(AIJTCUDeviceGetCSR(A, &rowptr, &colidx, NULL));
  AIJTCUCallDevice(*err, HrpbSurveyDevice(A->rmap->n, A->cmap->n, rowptr, colidx, stream, &plan->survey));
  PetscCall(AIJTCUDeviceRestoreCSR(A, &rowptr, &colidx, NULL));
  PetscCall(AIJTCUDeviceEnd(stream));
  PetscFunctionReturn(PETSC_SUCCESS);
}
#endif
