/*
   Arithmetic with blocks: from dense matrices of PETSc to kernels/block/ and back.

   A context knows where the blocks of a solve are, on the host or on a device. There it has arrays of scalars and work
   blocks. Each function takes the arrays of its blocks, calls one kernel, and gives them back, also after an error. On
   a device the small copies between scalars and the host go through page-locked memory.
*/
#include "blockvec.h"

#if AIJTCU_HAVE_BLOCK
  #include <petscblaslapack.h>
  #if AIJTCU_HAVE_DEVICE
    #include "cudascalar.h"
  #endif

/* What a function does with a block */
typedef enum {
  AIJTCU_BLOCK_READ,
  AIJTCU_BLOCK_UPDATE,
  AIJTCU_BLOCK_WRITE
} AIJTCUBlockAccess;

typedef struct {
  Mat               mat;
  AIJTCUBlockAccess access;
  PetscScalar      *array;
  PetscInt          ld;
  PetscBool         any; /* it may have any number of columns */
} AIJTCUBlockOperand;

struct _n_AIJTCUBlockCtx {
  MPI_Comm        comm; /* of PETSc; the blocks have references to it */
  PetscMPIInt     nranks;
  PetscBool       owes; /* other processes wait for sums of this one */
  PetscInt        n, N; /* rows here, and columns */
  PetscInt        full; /* columns of work blocks: more than N where the context was narrowed */
  PetscBool       device;
  const BlockOps *ops;

  PetscScalar *scalars; /* nscalars arrays of N */
  PetscInt     nscalars;
  size_t       capacity;     /* of the memory for scalars, in scalars */
  Mat          like;         /* what work blocks are made like, a reference: the block of the set-up, or a work block */
  PetscBool    own;          /* it is a work block, so that the other need not stay */
  Mat         *work, *views; /* where the context was narrowed, a view of a work block is there as long as that is so */
  PetscInt     nwork;        /* places in work and views; not all need be there */

  AIJTCUBlockOperand *operands; /* of the call that is under way */
  BlockIn            *in;
  PetscInt            noperands;

  #if AIJTCU_HAVE_DEVICE
  PetscScalar *host;   /* page-locked, as long as the scalars */
  cudaEvent_t  made;   /* what is copied to it */
  cudaEvent_t  copied; /* the last copy from it to the device, or to it */
  #endif
};

/* One call of a kernel. The blocks are the operands of the context, those that are in X first */
typedef struct _n_AIJTCUBlockCall AIJTCUBlockCall;
/* Of run and blas one is NULL */
struct _n_AIJTCUBlockCall {
  HrpbError (*run)(const struct _n_AIJTCUBlockCtx *, const BlockShape *, const AIJTCUBlockCall *);
  PetscErrorCode (*blas)(const struct _n_AIJTCUBlockCtx *, const BlockShape *, const AIJTCUBlockCall *);
  PetscInt           noperands, nx;
  PetscInt           nsums; /* arrays of sums in out, which all ranks add up */
  PetscInt           flops; /* for each entry of a block */
  BlockScalarOp      op;
  PetscReal          sign;
  PetscInt           dblock;
  PetscBool          transpose;
  PetscBool          add;    /* to what is in Y */
  PetscBool          local;  /* sums are of this process alone */
  size_t             work;   /* bytes of workspace, if they are not those of sums */
  PetscInt           nmoved; /* columns that are moved, and where */
  const PetscInt    *from, *to;
  BlockStepKind      step;
  BlockSmooth        smooth; /* its numbers */
  BlockInvert        invert;
  BlockFactor        factor;
  BlockGram          gram;
  BlockTerm          term[2];
  const PetscScalar *a, *b, *active;
  BlockLengths       lengths;
  const PetscScalar *D; /* a diagonal, or blocks along it; NULL where there are no rows */
  PetscScalar       *out, *curvature, *turn;
};

  #if AIJTCU_HAVE_DEVICE
/* Give back what is on the device. Errors are not reported: the solve does not need it any more */
static void AIJTCUBlockLeaveDevice(AIJTCUBlockCtx ctx)
{
  if (ctx->copied) {
    (void)AIJTCUForgetError(cudaEventSynchronize(ctx->copied));
    (void)AIJTCUForgetError(cudaEventDestroy(ctx->copied));
  }
  if (ctx->made) (void)AIJTCUForgetError(cudaEventDestroy(ctx->made));
  if (ctx->host) (void)AIJTCUForgetError(cudaFreeHost(ctx->host));
  if (ctx->scalars) (void)AIJTCUForgetError(cudaFreeAsync(ctx->scalars, AIJTCUDeviceStreamBehind()));
  ctx->copied  = NULL;
  ctx->made    = NULL;
  ctx->host    = NULL;
  ctx->scalars = NULL;
}

/*
   Memory for scalars and their buffer on the host, and workspace for as many sums: all that functions will need. have
   says whether there is enough
*/
static PetscErrorCode AIJTCUBlockMallocOnStream(AIJTCUBlockCtx ctx, size_t bytes, cudaStream_t stream, PetscBool *have)
{
  size_t           sums = (*ctx->ops->work)(ctx->n, ctx->N, ctx->nscalars);
  AIJTCUTransfers *streams;
  void            *work;

  PetscFunctionBegin;
  if (!ctx->scalars) {
    PetscCall(AIJTCUGetTransfers(&streams)); /* they are made here, not amid a solve */
    PetscCallCUDA(cudaEventCreateWithFlags(&ctx->copied, cudaEventDisableTiming));
    PetscCallCUDA(cudaEventCreateWithFlags(&ctx->made, cudaEventDisableTiming));
    PetscCall(AIJTCUAllocated(cudaMallocHost((void **)&ctx->host, bytes), (void **)&ctx->host));
    if (ctx->host) PetscCall(AIJTCUDeviceMalloc(bytes, stream, (void **)&ctx->scalars));
  }
  *have = (PetscBool)(ctx->scalars != NULL);
  if (!*have) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCallCUDA(cudaMemsetAsync(ctx->scalars, 0, bytes, stream));
  if (ctx->ops->square && ctx->N <= ctx->ops->square) sums = PetscMax(sums, (*ctx->ops->gram_work)(ctx->n, ctx->N, BLOCK_GRAM_WITH_Y));
  if (!sums) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCall(AIJTCUWorkspaceGet(sums, stream, &work));
  *have = (PetscBool)(work != NULL);
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode AIJTCUBlockMallocDevice(AIJTCUBlockCtx ctx, size_t bytes, PetscBool *have)
{
  cudaStream_t stream = NULL;

  PetscFunctionBegin;
  AIJTCUCallOnStream(stream, AIJTCUBlockMallocOnStream(ctx, bytes, stream, have));
  PetscFunctionReturn(PETSC_SUCCESS);
}
  #endif

/* Give back memory for scalars, where it is on the host or on a device */
static PetscErrorCode AIJTCUBlockFreeScalars(AIJTCUBlockCtx ctx)
{
  PetscFunctionBegin;
  #if AIJTCU_HAVE_DEVICE
  if (ctx->device) AIJTCUBlockLeaveDevice(ctx);
  #endif
  PetscCall(PetscFree(ctx->scalars));
  ctx->capacity = 0;
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Memory for scalars, all zero. have says whether there is enough */
static PetscErrorCode AIJTCUBlockMallocScalars(AIJTCUBlockCtx ctx, PetscInt nscalars, PetscBool *have)
{
  const size_t count = (size_t)PetscMax(nscalars, 1) * (size_t)PetscMax(ctx->N, 1);

  PetscFunctionBegin;
  if (count > ctx->capacity) PetscCall(AIJTCUBlockFreeScalars(ctx));
  ctx->nscalars = nscalars;
  *have         = PETSC_TRUE;
  #if AIJTCU_HAVE_DEVICE
  if (ctx->device) {
    PetscCall(AIJTCUBlockMallocDevice(ctx, count * sizeof(*ctx->scalars), have));
    if (*have) ctx->capacity = PetscMax(count, ctx->capacity);
    else PetscCall(AIJTCUBlockFreeScalars(ctx));
    PetscFunctionReturn(PETSC_SUCCESS);
  }
  #endif
  if (!ctx->scalars) {
    PetscCall(PetscMalloc1(count, &ctx->scalars));
    ctx->capacity = count;
  }
  PetscCall(PetscArrayzero(ctx->scalars, count));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode AIJTCUBlockLeaveViews(AIJTCUBlockCtx ctx)
{
  PetscFunctionBegin;
  for (PetscInt k = 0; k < ctx->nwork; k++) {
    if (ctx->views[k]) PetscCall(MatDenseRestoreSubMatrix(ctx->work[k], &ctx->views[k]));
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode AIJTCUBlockCtxWiden(AIJTCUBlockCtx ctx)
{
  PetscFunctionBegin;
  PetscCall(AIJTCUBlockLeaveViews(ctx));
  ctx->N = ctx->full;
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode AIJTCUBlockFreeWork(AIJTCUBlockCtx ctx)
{
  PetscFunctionBegin;
  PetscCall(AIJTCUBlockCtxWiden(ctx));
  for (PetscInt k = 0; k < ctx->nwork; k++) PetscCall(MatDestroy(&ctx->work[k]));
  PetscCall(MatDestroy(&ctx->like));
  ctx->own = PETSC_FALSE;
  PetscCall(PetscFree(ctx->work));
  PetscCall(PetscFree(ctx->views));
  ctx->nwork = 0;
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode AIJTCUBlockCtxCreate(AIJTCUBlockCtx *ctx)
{
  PetscFunctionBegin;
  PetscCall(PetscNew(ctx));
  (*ctx)->ops = &BlockOpsHost;
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Go to the host or to the device. Nothing is kept from where the context was before */
static PetscErrorCode AIJTCUBlockSetDevice(AIJTCUBlockCtx ctx, PetscBool device)
{
  PetscFunctionBegin;
  if (device == ctx->device) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCall(AIJTCUBlockFreeWork(ctx));
  PetscCall(AIJTCUBlockFreeScalars(ctx));
  #if AIJTCU_HAVE_DEVICE
  AIJTCUWorkspaceUser(device);
  ctx->ops = device ? &BlockOpsDevice : &BlockOpsHost;
  #endif
  ctx->device = device;
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode AIJTCUBlockCtxDestroy(AIJTCUBlockCtx *ctx)
{
  PetscFunctionBegin;
  if (!*ctx) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCall(AIJTCUBlockFreeWork(*ctx));
  PetscCall(AIJTCUBlockFreeScalars(*ctx));
  PetscCall(AIJTCUBlockSetDevice(*ctx, PETSC_FALSE));
  PetscCall(PetscFree2((*ctx)->operands, (*ctx)->in));
  PetscCall(PetscFree(*ctx));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Where X's array is. usable says whether kernels can work there */
static PetscErrorCode AIJTCUBlockFind(Mat X, PetscBool *device, PetscBool *usable)
{
  const PetscScalar *x;
  PetscMemType       mem;

  PetscFunctionBegin;
  PetscCall(MatDenseGetArrayReadAndMemType(X, &x, &mem));
  PetscCall(MatDenseRestoreArrayReadAndMemType(X, &x));
  *device = PETSC_FALSE;
  *usable = PetscMemTypeHost(mem);
  #if AIJTCU_HAVE_DEVICE
  if (PetscMemTypeCUDA(mem)) {
    *device = PETSC_TRUE;
    PetscCall(AIJTCUDeviceRuns(usable));
  }
  #endif
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* What each process does by itself */
static PetscErrorCode AIJTCUBlockCtxSetUpHere(AIJTCUBlockCtx ctx, Mat X, PetscInt nscalars, PetscBool *usable)
{
  PetscBool device;

  PetscFunctionBegin;
  PetscCall(AIJTCUBlockCtxWiden(ctx)); /* after an error it may be narrow */
  PetscCall(AIJTCUBlockFind(X, &device, usable));
  if (!*usable) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCall(AIJTCUBlockSetDevice(ctx, device));
  ctx->n = X->rmap->n;
  ctx->N = ctx->full = X->cmap->N;
  PetscCall(AIJTCUBlockMallocScalars(ctx, nscalars, usable));
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode AIJTCUBlockCtxSetUp(AIJTCUBlockCtx ctx, Mat X, PetscInt nscalars, PetscBool *usable)
{
  PetscBool      here = PETSC_FALSE, rows = PETSC_FALSE, columns = PETSC_FALSE;
  PetscErrorCode ierr;

  PetscFunctionBegin;
  PetscCall(PetscObjectGetComm((PetscObject)X, &ctx->comm));
  PetscCallMPI(MPI_Comm_size(ctx->comm, &ctx->nranks));
  ierr = AIJTCUBlockCtxSetUpHere(ctx, X, nscalars, &here);
  PetscCall(AIJTCUAgree(ctx->comm, ierr, here, usable)); /* an error of one is an error of all */
  if (!*usable) PetscFunctionReturn(PETSC_SUCCESS);
  if (ctx->own) {
    PetscCall(PetscLayoutCompare(ctx->like->rmap, X->rmap, &rows));
    PetscCall(PetscLayoutCompare(ctx->like->cmap, X->cmap, &columns));
  }
  if (!rows || !columns) {
    PetscCall(AIJTCUBlockFreeWork(ctx));
    PetscCall(PetscObjectReference((PetscObject)X));
    ctx->like = X;
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* The k-th work block, which is the context's. It is made when it is first asked for */
PetscErrorCode AIJTCUBlockWork(AIJTCUBlockCtx ctx, PetscInt k, Mat *W)
{
  PetscFunctionBegin;
  if (k >= ctx->nwork) {
    PetscCall(PetscRealloc((size_t)(k + 1) * sizeof(*ctx->work), &ctx->work));
    PetscCall(PetscRealloc((size_t)(k + 1) * sizeof(*ctx->views), &ctx->views));
    PetscCall(PetscArrayzero(ctx->work + ctx->nwork, k + 1 - ctx->nwork));
    PetscCall(PetscArrayzero(ctx->views + ctx->nwork, k + 1 - ctx->nwork));
    ctx->nwork = k + 1;
  }
  if (!ctx->work[k]) PetscCall(MatDuplicate(ctx->like, MAT_DO_NOT_COPY_VALUES, &ctx->work[k]));
  if (!ctx->own) {
    PetscCall(MatDestroy(&ctx->like));
    PetscCall(PetscObjectReference((PetscObject)ctx->work[k]));
    ctx->like = ctx->work[k];
    ctx->own  = PETSC_TRUE;
  }
  *W = ctx->work[k];
  if (ctx->N == ctx->full) PetscFunctionReturn(PETSC_SUCCESS);
  if (!ctx->views[k]) PetscCall(MatDenseGetSubMatrix(ctx->work[k], PETSC_DECIDE, PETSC_DECIDE, 0, ctx->N, &ctx->views[k]));
  *W = ctx->views[k];
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Whether sums of this process are those of all */
PetscErrorCode AIJTCUBlockCtxIsAlone(AIJTCUBlockCtx ctx, PetscBool *alone)
{
  PetscFunctionBegin;
  *alone = (PetscBool)(ctx->nranks == 1);
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscScalar *AIJTCUBlockScalars(AIJTCUBlockCtx ctx, PetscInt k)
{
  return ctx->scalars + (size_t)k * (size_t)ctx->N;
}

/* Where the array of a block is to be taken; on a device it must be there */
static PetscErrorCode AIJTCUBlockGet(AIJTCUBlockCtx ctx, AIJTCUBlockOperand *o)
{
  PetscMemType mem = PETSC_MEMTYPE_HOST;

  PetscFunctionBegin;
  PetscCheck(o->mat->rmap->n == ctx->n && (o->any || o->mat->cmap->N == ctx->N), PETSC_COMM_SELF, PETSC_ERR_ARG_SIZ, "A block with %" PetscInt_FMT " rows on this rank and %" PetscInt_FMT " columns among blocks with %" PetscInt_FMT " and %" PetscInt_FMT, o->mat->rmap->n, o->mat->cmap->N, ctx->n, ctx->N);
  PetscCall(MatDenseGetLDA(o->mat, &o->ld));
  if (!ctx->device) {
    if (o->access == AIJTCU_BLOCK_READ) PetscCall(MatDenseGetArrayRead(o->mat, (const PetscScalar **)&o->array));
    else if (o->access == AIJTCU_BLOCK_WRITE) PetscCall(MatDenseGetArrayWrite(o->mat, &o->array));
    else PetscCall(MatDenseGetArray(o->mat, &o->array));
    PetscFunctionReturn(PETSC_SUCCESS);
  }
  if (o->access == AIJTCU_BLOCK_READ) PetscCall(MatDenseGetArrayReadAndMemType(o->mat, (const PetscScalar **)&o->array, &mem));
  else if (o->access == AIJTCU_BLOCK_WRITE) PetscCall(MatDenseGetArrayWriteAndMemType(o->mat, &o->array, &mem));
  else PetscCall(MatDenseGetArrayAndMemType(o->mat, &o->array, &mem));
  PetscCheck(PetscMemTypeCUDA(mem), PETSC_COMM_SELF, PETSC_ERR_ARG_WRONG, "A block of type %s, whose array is on the host, among blocks on a device", ((PetscObject)o->mat)->type_name);
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode AIJTCUBlockRestore(AIJTCUBlockCtx ctx, AIJTCUBlockOperand *o)
{
  PetscFunctionBegin;
  if (!ctx->device) {
    if (o->access == AIJTCU_BLOCK_READ) PetscCall(MatDenseRestoreArrayRead(o->mat, (const PetscScalar **)&o->array));
    else if (o->access == AIJTCU_BLOCK_WRITE) PetscCall(MatDenseRestoreArrayWrite(o->mat, &o->array));
    else PetscCall(MatDenseRestoreArray(o->mat, &o->array));
    PetscFunctionReturn(PETSC_SUCCESS);
  }
  if (o->access == AIJTCU_BLOCK_READ) PetscCall(MatDenseRestoreArrayReadAndMemType(o->mat, (const PetscScalar **)&o->array));
  else if (o->access == AIJTCU_BLOCK_WRITE) PetscCall(MatDenseRestoreArrayWriteAndMemType(o->mat, &o->array));
  else PetscCall(MatDenseRestoreArrayAndMemType(o->mat, &o->array));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Add up what the processes have in arrays on the host */
PetscErrorCode AIJTCUBlockSum(AIJTCUBlockCtx ctx, PetscInt narrays, PetscScalar *sums)
{
  PetscMPIInt count;

  PetscFunctionBegin;
  ctx->owes = PETSC_FALSE;
  if (ctx->nranks == 1) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCall(PetscMPIIntCast(narrays * ctx->N, &count));
  PetscCallMPI(MPIU_Allreduce(MPI_IN_PLACE, sums, count, MPIU_SCALAR, MPIU_SUM, ctx->comm));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*
   After an error of this process the others wait for its sums. They get NaN, so that no column goes on with sums that
   lack a part
*/
static PetscErrorCode AIJTCUBlockSumNothing(AIJTCUBlockCtx ctx, PetscInt narrays)
{
  PetscScalar   *sums;
  PetscErrorCode ierr;

  PetscFunctionBegin;
  PetscCall(PetscMalloc1(narrays * ctx->N, &sums));
  for (PetscInt j = 0; j < narrays * ctx->N; j++) sums[j] = (PetscScalar)NAN;
  ierr = AIJTCUBlockSum(ctx, narrays, sums);
  PetscCall(PetscFree(sums));
  PetscCall(ierr);
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode AIJTCUBlockCallRun(AIJTCUBlockCtx ctx, const BlockShape *shape, const AIJTCUBlockCall *call, HrpbError *err)
{
  PetscFunctionBegin;
  *err = HRPB_SUCCESS;
  if (call->blas) PetscCall((*call->blas)(ctx, shape, call));
  else *err = (*call->run)(ctx, shape, call);
  PetscFunctionReturn(PETSC_SUCCESS);
}

  #if AIJTCU_HAVE_DEVICE
/* The bytes of narrays arrays of scalars. They must fit into the buffer on the host */
static PetscErrorCode AIJTCUBlockScalarBytes(AIJTCUBlockCtx ctx, PetscInt narrays, size_t *bytes)
{
  const size_t count = (size_t)narrays * (size_t)ctx->N;

  PetscFunctionBegin;
  PetscCheck(count <= ctx->capacity, PETSC_COMM_SELF, PETSC_ERR_ARG_OUTOFRANGE, "%" PetscInt_FMT " arrays of scalars where there are %" PetscInt_FMT, narrays, ctx->nscalars);
  *bytes = count * sizeof(*ctx->scalars);
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*
   Bring scalars to the buffer on the host. They are there after AIJTCUBlockAwait(). A stream of its own makes the copy,
   so that no kernel waits for it
*/
static PetscErrorCode AIJTCUBlockDown(AIJTCUBlockCtx ctx, PetscInt narrays, const PetscScalar *scalars, cudaStream_t stream)
{
  AIJTCUTransfers *t     = NULL;
  size_t           bytes = 0;

  PetscFunctionBegin;
  PetscCall(AIJTCUBlockScalarBytes(ctx, narrays, &bytes));
  PetscCall(AIJTCUGetTransfers(&t));
  PetscCallCUDA(cudaEventRecord(ctx->made, stream));
  PetscCallCUDA(cudaStreamWaitEvent(t->out, ctx->made, 0));
  PetscCallCUDA(cudaMemcpyAsync(ctx->host, scalars, bytes, cudaMemcpyDeviceToHost, t->out));
  PetscCallCUDA(cudaEventRecord(ctx->copied, t->out));
  PetscCall(PetscLogGpuToCpuScalar((PetscLogDouble)bytes));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode AIJTCUBlockAwait(AIJTCUBlockCtx ctx)
{
  PetscFunctionBegin;
  PetscCallCUDA(cudaEventSynchronize(ctx->copied));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Send scalars from the buffer on the host, which must not be written until the event says that they are copied */
static PetscErrorCode AIJTCUBlockUp(AIJTCUBlockCtx ctx, PetscInt narrays, PetscScalar *scalars, cudaStream_t stream)
{
  size_t bytes = 0;

  PetscFunctionBegin;
  PetscCall(AIJTCUBlockScalarBytes(ctx, narrays, &bytes));
  PetscCallCUDA(cudaMemcpyAsync(scalars, ctx->host, bytes, cudaMemcpyHostToDevice, stream));
  PetscCallCUDA(cudaEventRecord(ctx->copied, stream));
  PetscCall(PetscLogCpuToGpuScalar((PetscLogDouble)bytes));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode AIJTCUBlockComputeOnStream(AIJTCUBlockCtx ctx, BlockShape *shape, const AIJTCUBlockCall *call)
{
  const size_t bytes = call->work || !call->nsums || !call->run ? call->work : (*ctx->ops->work)(ctx->n, ctx->N, call->nsums);
  HrpbError    err;

  PetscFunctionBegin;
  if (bytes) {
    PetscCall(AIJTCUWorkspaceGet(bytes, shape->stream, &shape->work));
    PetscCheck(shape->work, PETSC_COMM_SELF, PETSC_ERR_MEM, "No memory on the device for %zu bytes of sums", bytes);
  }
  PetscCall(PetscLogGpuTimeBegin());
  PetscCall(AIJTCUBlockCallRun(ctx, shape, call, &err));
  PetscCall(PetscLogGpuTimeEnd());
  PetscCall(AIJTCUCheckKernels(err));
  if (call->nsums && ctx->nranks > 1 && !call->local) {
    PetscCall(AIJTCUBlockDown(ctx, call->nsums, call->out, shape->stream));
    PetscCall(AIJTCUBlockAwait(ctx));
    PetscCall(AIJTCUBlockSum(ctx, call->nsums, ctx->host));
    PetscCall(AIJTCUBlockUp(ctx, call->nsums, call->out, shape->stream));
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode AIJTCUBlockComputeOnDevice(AIJTCUBlockCtx ctx, const AIJTCUBlockCall *call)
{
  BlockShape shape = {.n = ctx->n, .N = ctx->N};

  PetscFunctionBegin;
  AIJTCUCallOnStream(shape.stream, AIJTCUBlockComputeOnStream(ctx, &shape, call));
  PetscCall(PetscLogGpuFlops((PetscLogDouble)call->flops * (PetscLogDouble)ctx->n * (PetscLogDouble)ctx->N));
  PetscFunctionReturn(PETSC_SUCCESS);
}
  #endif

static PetscErrorCode AIJTCUBlockCompute(AIJTCUBlockCtx ctx, const AIJTCUBlockCall *call)
{
  const BlockShape shape = {.n = ctx->n, .N = ctx->N};
  HrpbError        err;

  PetscFunctionBegin;
  #if AIJTCU_HAVE_DEVICE
  if (ctx->device) {
    PetscCall(AIJTCUBlockComputeOnDevice(ctx, call));
    PetscFunctionReturn(PETSC_SUCCESS);
  }
  #endif
  PetscCall(AIJTCUBlockCallRun(ctx, &shape, call, &err));
  PetscCheck(!err, PETSC_COMM_SELF, PETSC_ERR_LIB, "Arithmetic with blocks failed: %s", HrpbErrorString(err));
  if (call->nsums && ctx->nranks > 1 && !call->local) PetscCall(AIJTCUBlockSum(ctx, call->nsums, call->out));
  PetscCall(PetscLogFlops((PetscLogDouble)call->flops * (PetscLogDouble)ctx->n * (PetscLogDouble)ctx->N));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Room for n operands */
static PetscErrorCode AIJTCUBlockOperands(AIJTCUBlockCtx ctx, PetscInt n)
{
  PetscFunctionBegin;
  if (n <= ctx->noperands) PetscFunctionReturn(PETSC_SUCCESS);
  ctx->noperands = 0;
  PetscCall(PetscFree2(ctx->operands, ctx->in));
  PetscCall(PetscMalloc2(n, &ctx->operands, n, &ctx->in));
  ctx->noperands = n;
  PetscFunctionReturn(PETSC_SUCCESS);
}

static void AIJTCUBlockOperandSet(AIJTCUBlockCtx ctx, PetscInt k, Mat mat, AIJTCUBlockAccess access)
{
  ctx->operands[k].mat    = mat;
  ctx->operands[k].access = access;
  ctx->operands[k].any    = PETSC_FALSE;
}

/* Take the arrays of all operands, compute, and give them back */
static PetscErrorCode AIJTCUBlockRun(AIJTCUBlockCtx ctx, const AIJTCUBlockCall *call)
{
  PetscErrorCode ierr = PETSC_SUCCESS;
  PetscInt       got;

  PetscFunctionBegin;
  ctx->owes = (PetscBool)(call->nsums && !call->local);
  for (got = 0; got < call->noperands; got++) {
    ierr = AIJTCUBlockGet(ctx, &ctx->operands[got]);
    if (ierr) break;
    ctx->in[got] = (BlockIn){ctx->operands[got].array, ctx->operands[got].ld};
  }
  if (!ierr) ierr = AIJTCUBlockCompute(ctx, call);
  while (got-- > 0) {
    const PetscErrorCode restored = AIJTCUBlockRestore(ctx, &ctx->operands[got]);

    if (!ierr) ierr = restored;
  }
  if (ierr && ctx->owes) (void)AIJTCUBlockSumNothing(ctx, call->nsums);
  PetscCall(ierr);
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* The same with the array of D, where the blocks are */
static PetscErrorCode AIJTCUBlockRunWithVec(AIJTCUBlockCtx ctx, AIJTCUBlockCall *call, Vec D)
{
  PetscErrorCode ierr;

  PetscFunctionBegin;
  #if AIJTCU_HAVE_DEVICE
  if (ctx->device) {
    PetscCall(VecCUDAGetArrayRead(D, &call->D));
    ierr = AIJTCUBlockRun(ctx, call);
    PetscCall(VecCUDARestoreArrayRead(D, &call->D));
    PetscCall(ierr);
    PetscFunctionReturn(PETSC_SUCCESS);
  }
  #endif
  PetscCall(VecGetArrayRead(D, &call->D));
  ierr = AIJTCUBlockRun(ctx, call);
  PetscCall(VecRestoreArrayRead(D, &call->D));
  PetscCall(ierr);
  PetscFunctionReturn(PETSC_SUCCESS);
}

static BlockOut AIJTCUBlockOut(const struct _n_AIJTCUBlockCtx *ctx, PetscInt k)
{
  return (BlockOut){ctx->operands[k].array, ctx->operands[k].ld};
}

/* Run a call that reads nx blocks X, and Y behind them. Y may be among X */
static PetscErrorCode AIJTCUBlockRunSums(AIJTCUBlockCtx ctx, const Mat X[], Mat Y, const AIJTCUBlockCall *call)
{
  PetscFunctionBegin;
  PetscCall(AIJTCUBlockOperands(ctx, call->nx + 1));
  for (PetscInt i = 0; i < call->nx; i++) AIJTCUBlockOperandSet(ctx, i, X[i], AIJTCU_BLOCK_READ);
  AIJTCUBlockOperandSet(ctx, call->nx, Y, AIJTCU_BLOCK_READ);
  PetscCall(AIJTCUBlockRun(ctx, call));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static HrpbError AIJTCURunDots(const struct _n_AIJTCUBlockCtx *ctx, const BlockShape *shape, const AIJTCUBlockCall *call)
{
  return (*ctx->ops->dots)(shape, call->nx, ctx->in, ctx->in[call->nx], call->out);
}

static PetscErrorCode AIJTCUBlockDotsOf(AIJTCUBlockCtx ctx, PetscInt nx, const Mat X[], Mat Y, PetscBool local, PetscScalar *dots)
{
  const AIJTCUBlockCall call = {.run = AIJTCURunDots, .noperands = nx + 1, .nx = nx, .nsums = nx, .flops = 2 * nx, .local = local, .out = dots};

  PetscFunctionBegin;
  PetscCall(AIJTCUBlockRunSums(ctx, X, Y, &call));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* dots[i N + j] = X[i]_j . Y_j, with the conjugate of X[i]_j. Y may be among X */
PetscErrorCode AIJTCUBlockDots(AIJTCUBlockCtx ctx, PetscInt nx, const Mat X[], Mat Y, PetscScalar *dots)
{
  PetscFunctionBegin;
  PetscCall(AIJTCUBlockDotsOf(ctx, nx, X, Y, PETSC_FALSE, dots));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* The same of the rows of this process alone */
PetscErrorCode AIJTCUBlockDotsLocal(AIJTCUBlockCtx ctx, PetscInt nx, const Mat X[], Mat Y, PetscScalar *dots)
{
  PetscFunctionBegin;
  PetscCall(AIJTCUBlockDotsOf(ctx, nx, X, Y, PETSC_TRUE, dots));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static HrpbError AIJTCURunAXPBY(const struct _n_AIJTCUBlockCtx *ctx, const BlockShape *shape, const AIJTCUBlockCall *call)
{
  return (*ctx->ops->axpby)(shape, AIJTCUBlockOut(ctx, 1), call->a, ctx->in[0], call->b);
}

/* Y_j = a_j X_j + b_j Y_j */
PetscErrorCode AIJTCUBlockAXPBY(AIJTCUBlockCtx ctx, Mat Y, const PetscScalar *a, Mat X, const PetscScalar *b)
{
  const AIJTCUBlockCall call = {.run = AIJTCURunAXPBY, .noperands = 2, .flops = 3, .a = a, .b = b};

  PetscFunctionBegin;
  PetscCall(AIJTCUBlockOperands(ctx, 2));
  AIJTCUBlockOperandSet(ctx, 0, X, AIJTCU_BLOCK_READ);
  AIJTCUBlockOperandSet(ctx, 1, Y, AIJTCU_BLOCK_UPDATE);
  PetscCall(AIJTCUBlockRun(ctx, &call));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static HrpbError AIJTCURunMAXPY(const struct _n_AIJTCUBlockCtx *ctx, const BlockShape *shape, const AIJTCUBlockCall *call)
{
  return (*ctx->ops->maxpy)(shape, AIJTCUBlockOut(ctx, call->nx), call->sign, call->nx, call->a, ctx->in);
}

/* Y_j += sign (the sum over i of coef[i N + j] X[i]_j) */
PetscErrorCode AIJTCUBlockMAXPY(AIJTCUBlockCtx ctx, Mat Y, PetscReal sign, PetscInt nx, const PetscScalar *coef, const Mat X[])
{
  const AIJTCUBlockCall call = {.run = AIJTCURunMAXPY, .noperands = nx + 1, .nx = nx, .flops = 2 * nx, .sign = sign, .a = coef};

  PetscFunctionBegin;
  PetscCall(AIJTCUBlockOperands(ctx, nx + 1));
  for (PetscInt i = 0; i < nx; i++) AIJTCUBlockOperandSet(ctx, i, X[i], AIJTCU_BLOCK_READ);
  AIJTCUBlockOperandSet(ctx, nx, Y, AIJTCU_BLOCK_UPDATE);
  PetscCall(AIJTCUBlockRun(ctx, &call));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static HrpbError AIJTCURunCGStep(const struct _n_AIJTCUBlockCtx *ctx, const BlockShape *shape, const AIJTCUBlockCall *call)
{
  const BlockStep t = {.kind = call->step, .lengths = call->lengths, .W = ctx->in[0], .R = AIJTCUBlockOut(ctx, 1), .D = call->D};

  return (*ctx->ops->cg_step)(shape, &t, call->out);
}

/* W and R are the operands of a step */
static PetscErrorCode AIJTCUBlockStepOperands(AIJTCUBlockCtx ctx, Mat W, Mat R)
{
  PetscFunctionBegin;
  PetscCall(AIJTCUBlockOperands(ctx, 2));
  AIJTCUBlockOperandSet(ctx, 0, W, AIJTCU_BLOCK_READ);
  AIJTCUBlockOperandSet(ctx, 1, R, AIJTCU_BLOCK_UPDATE);
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* R_j -= step_j W_j, with the lengths; rr_j = R_j . R_j, if rr is not NULL */
PetscErrorCode AIJTCUBlockCGStep(AIJTCUBlockCtx ctx, const BlockLengths *lengths, Mat W, Mat R, PetscScalar *rr)
{
  const AIJTCUBlockCall call = {.run = AIJTCURunCGStep, .noperands = 2, .nsums = rr ? 1 : 0, .flops = rr ? 4 : 2, .lengths = *lengths, .out = rr};

  PetscFunctionBegin;
  PetscCall(AIJTCUBlockStepOperands(ctx, W, R));
  PetscCall(AIJTCUBlockRun(ctx, &call));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*
   The same with sums of Z = D R, in one pass and with one reduction. D is a diagonal with which AIJTCUBlockCtxTakes()
   says that the blocks can work. sums has two arrays: R_j . Z_j, then the square of the norm of Z_j (znormal) or of
   R_j. local says that they are of this process alone
*/
PetscErrorCode AIJTCUBlockCGStepScaled(AIJTCUBlockCtx ctx, const BlockLengths *lengths, Mat W, Mat R, Vec D, PetscBool znormal, PetscBool local, PetscScalar *sums)
{
  AIJTCUBlockCall call = {.run = AIJTCURunCGStep, .noperands = 2, .nsums = 2, .flops = 7, .local = local, .lengths = *lengths, .step = znormal ? BLOCK_STEP_WITH_Z : BLOCK_STEP_WITH_R, .out = sums};

  PetscFunctionBegin;
  PetscCall(AIJTCUBlockStepOperands(ctx, W, R));
  PetscCall(AIJTCUBlockRunWithVec(ctx, &call, D));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static HrpbError AIJTCURunCGDirection(const struct _n_AIJTCUBlockCtx *ctx, const BlockShape *shape, const AIJTCUBlockCall *call)
{
  const BlockDirection t = {.active = call->active, .now = call->a, .before = call->b, .R = ctx->in[0], .D = call->D, .P = AIJTCUBlockOut(ctx, 1)};

  return (*ctx->ops->cg_direction)(shape, &t);
}

/* P_j = D R_j + now_j / before_j P_j, or zero where active_j is zero */
PetscErrorCode AIJTCUBlockCGDirection(AIJTCUBlockCtx ctx, const PetscScalar *active, const PetscScalar *now, const PetscScalar *before, Mat R, Vec D, Mat P)
{
  AIJTCUBlockCall call = {.run = AIJTCURunCGDirection, .noperands = 2, .flops = 3, .active = active, .a = now, .b = before};

  PetscFunctionBegin;
  PetscCall(AIJTCUBlockOperands(ctx, 2));
  AIJTCUBlockOperandSet(ctx, 0, R, AIJTCU_BLOCK_READ);
  AIJTCUBlockOperandSet(ctx, 1, P, AIJTCU_BLOCK_UPDATE);
  PetscCall(AIJTCUBlockRunWithVec(ctx, &call, D));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static HrpbError AIJTCURunCGIterate(const struct _n_AIJTCUBlockCtx *ctx, const BlockShape *shape, const AIJTCUBlockCall *call)
{
  const BlockIteration t = {.kind = call->step, .lengths = call->lengths, .curvature = call->curvature, .sums = call->out, .W = ctx->in[0], .D = call->D, .R = AIJTCUBlockOut(ctx, 1), .P = AIJTCUBlockOut(ctx, 2), .X = AIJTCUBlockOut(ctx, 3), .turn = (uint32_t *)call->turn};

  return (*ctx->ops->cg_iterate)(shape, &t);
}

/*
   All of an iteration but the product W = A P, on one process: see BlockIteration. curvature is that of the lengths.
   sums are those of AIJTCUBlockCGStepScaled(). turn is an array of scalars that nothing else changes
*/
PetscErrorCode AIJTCUBlockCGIterate(AIJTCUBlockCtx ctx, const BlockLengths *lengths, PetscBool znormal, PetscScalar *curvature, PetscScalar *sums, PetscScalar *turn, Mat W, Vec D, Mat R, Mat P, Mat X)
{
  AIJTCUBlockCall call = {.run = AIJTCURunCGIterate, .noperands = 4, .nsums = 2, .flops = 14, .local = PETSC_TRUE, .lengths = *lengths, .step = znormal ? BLOCK_STEP_WITH_Z : BLOCK_STEP_WITH_R, .curvature = curvature, .turn = turn, .out = sums};

  PetscFunctionBegin;
  PetscCall(AIJTCUBlockOperands(ctx, 4));
  AIJTCUBlockOperandSet(ctx, 0, W, AIJTCU_BLOCK_READ);
  AIJTCUBlockOperandSet(ctx, 1, R, AIJTCU_BLOCK_UPDATE);
  AIJTCUBlockOperandSet(ctx, 2, P, AIJTCU_BLOCK_UPDATE);
  AIJTCUBlockOperandSet(ctx, 3, X, AIJTCU_BLOCK_UPDATE);
  call.work = (*ctx->ops->work)(ctx->n, ctx->N, 3);
  PetscCall(AIJTCUBlockRunWithVec(ctx, &call, D));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Y, and those blocks that are read: a term that is left out has no operand. They are in this order */
static HrpbError AIJTCURunSmooth(const struct _n_AIJTCUBlockCtx *ctx, const BlockShape *shape, const AIJTCUBlockCall *call)
{
  BlockSmooth   t   = call->smooth;
  PetscInt      k   = 1;
  const BlockIn in0 = ctx->in[0];

  t.D      = call->D;
  t.dblock = (int32_t)call->dblock;

  t.Y  = AIJTCUBlockOut(ctx, 0);
  t.Y0 = t.a != 0 ? ctx->in[k++] : in0;
  t.X  = t.b != 0 ? ctx->in[k++] : in0;
  t.B  = t.c != 0 ? ctx->in[k++] : in0;
  t.W  = k < call->noperands ? ctx->in[k] : (BlockIn){NULL, 0};
  return (*ctx->ops->smooth)(shape, &t);
}

/*
   A step of a smoother: Y = a Y0 + b X + c D (B - W), for all columns the same. D is as in AIJTCUBlockScale(). A term
   whose number is zero is left out, and so is W if it is NULL. Y may be Y0 or X
*/
PetscErrorCode AIJTCUBlockSmooth(AIJTCUBlockCtx ctx, Mat Y, PetscScalar a, Mat Y0, PetscScalar b, Mat X, PetscScalar c, PetscInt dblock, Vec D, Mat B, Mat W)
{
  AIJTCUBlockCall call = {.run = AIJTCURunSmooth, .smooth = {.a = a, .b = b, .c = c}, .dblock = dblock, .flops = 4 + 2 * dblock};

  PetscFunctionBegin;
  PetscCall(AIJTCUBlockOperands(ctx, 5));
  AIJTCUBlockOperandSet(ctx, call.noperands++, Y, Y == Y0 || Y == X ? AIJTCU_BLOCK_UPDATE : AIJTCU_BLOCK_WRITE);
  if (a != 0) AIJTCUBlockOperandSet(ctx, call.noperands++, Y0, AIJTCU_BLOCK_READ);
  if (b != 0) AIJTCUBlockOperandSet(ctx, call.noperands++, X, AIJTCU_BLOCK_READ);
  if (c != 0) AIJTCUBlockOperandSet(ctx, call.noperands++, B, AIJTCU_BLOCK_READ);
  if (c != 0 && W) AIJTCUBlockOperandSet(ctx, call.noperands++, W, AIJTCU_BLOCK_READ);
  PetscCall(AIJTCUBlockRunWithVec(ctx, &call, D));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static HrpbError AIJTCURunCopy(const struct _n_AIJTCUBlockCtx *ctx, const BlockShape *shape, const AIJTCUBlockCall *call)
{
  (void)call;
  return (*ctx->ops->copy)(shape, ctx->in[0], AIJTCUBlockOut(ctx, 1));
}

/* Y = X */
PetscErrorCode AIJTCUBlockCopy(AIJTCUBlockCtx ctx, Mat X, Mat Y)
{
  const AIJTCUBlockCall call = {.run = AIJTCURunCopy, .noperands = 2};

  PetscFunctionBegin;
  if (X == Y) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCall(AIJTCUBlockOperands(ctx, 2));
  AIJTCUBlockOperandSet(ctx, 0, X, AIJTCU_BLOCK_READ);
  AIJTCUBlockOperandSet(ctx, 1, Y, AIJTCU_BLOCK_WRITE);
  PetscCall(AIJTCUBlockRun(ctx, &call));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static HrpbError AIJTCURunZero(const struct _n_AIJTCUBlockCtx *ctx, const BlockShape *shape, const AIJTCUBlockCall *call)
{
  (void)call;
  return (*ctx->ops->zero)(shape, AIJTCUBlockOut(ctx, 0));
}

/* Y = 0 */
PetscErrorCode AIJTCUBlockZero(AIJTCUBlockCtx ctx, Mat Y)
{
  const AIJTCUBlockCall call = {.run = AIJTCURunZero, .noperands = 1};

  PetscFunctionBegin;
  PetscCall(AIJTCUBlockOperands(ctx, 1));
  AIJTCUBlockOperandSet(ctx, 0, Y, AIJTCU_BLOCK_WRITE);
  PetscCall(AIJTCUBlockRun(ctx, &call));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static HrpbError AIJTCURunMove(const struct _n_AIJTCUBlockCtx *ctx, const BlockShape *shape, const AIJTCUBlockCall *call)
{
  BlockShape moved = *shape;

  moved.N = call->nmoved;
  return (*ctx->ops->move)(&moved, call->from, call->to, ctx->in[0], AIJTCUBlockOut(ctx, call->noperands - 1));
}

PetscErrorCode AIJTCUBlockMove(AIJTCUBlockCtx ctx, PetscInt n, const PetscInt from[], Mat X, const PetscInt to[], Mat Y)
{
  const AIJTCUBlockCall call = {.run = AIJTCURunMove, .noperands = X == Y ? 1 : 2, .nmoved = n, .from = from, .to = to};

  PetscFunctionBegin;
  PetscCall(AIJTCUBlockOperands(ctx, 2));
  AIJTCUBlockOperandSet(ctx, 0, X, X == Y ? AIJTCU_BLOCK_UPDATE : AIJTCU_BLOCK_READ);
  AIJTCUBlockOperandSet(ctx, 1, Y, AIJTCU_BLOCK_UPDATE);
  for (int i = 0; i < 2; i++) ctx->operands[i].any = PETSC_TRUE;
  PetscCall(AIJTCUBlockRun(ctx, &call));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static HrpbError AIJTCURunScalarOp(const struct _n_AIJTCUBlockCtx *ctx, const BlockShape *shape, const AIJTCUBlockCall *call)
{
  return (*ctx->ops->scalars)(shape, call->op, call->active, call->out, call->a, call->b);
}

/* out_j = active_j != 0 ? x_j op y_j : 0. out may be x or y */
PetscErrorCode AIJTCUBlockScalarOp(AIJTCUBlockCtx ctx, BlockScalarOp op, const PetscScalar *active, PetscScalar *out, const PetscScalar *x, const PetscScalar *y)
{
  const AIJTCUBlockCall call = {.run = AIJTCURunScalarOp, .op = op, .active = active, .out = out, .a = x, .b = y};

  PetscFunctionBegin;
  PetscCall(AIJTCUBlockRun(ctx, &call));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* C = alpha op(A) op(B) + beta C. A transpose is conjugated */
static PetscErrorCode AIJTCUBlockGemm(const struct _n_AIJTCUBlockCtx *ctx, PetscBool ta, PetscBool tb, const PetscInt mnk[3], PetscScalar alpha, BlockIn A, BlockIn B, PetscScalar beta, BlockOut C)
{
  const char *const transpose = PetscDefined(USE_COMPLEX) ? "C" : "T";
  PetscBLASInt      m, n, k, lda, ldb, ldc;

  PetscFunctionBegin;
  (void)ctx;
  PetscCall(PetscBLASIntCast(mnk[0], &m));
  PetscCall(PetscBLASIntCast(mnk[1], &n));
  PetscCall(PetscBLASIntCast(mnk[2], &k));
  PetscCall(PetscBLASIntCast((PetscInt)A.ld, &lda));
  PetscCall(PetscBLASIntCast((PetscInt)B.ld, &ldb));
  PetscCall(PetscBLASIntCast((PetscInt)C.ld, &ldc));
  #if AIJTCU_HAVE_DEVICE
  if (ctx->device) {
    const cublasOperation_t op = PetscDefined(USE_COMPLEX) ? CUBLAS_OP_C : CUBLAS_OP_T, opa = ta ? op : CUBLAS_OP_N, opb = tb ? op : CUBLAS_OP_N;
    cublasHandle_t          handle;

    PetscCall(PetscCUBLASGetHandle(&handle));
    PetscCallCUBLAS(AIJTCU_GEMM(handle, opa, opb, (int)m, (int)n, (int)k, (const AIJTCUCudaScalar *)&alpha, (const AIJTCUCudaScalar *)A.array, (int)lda, (const AIJTCUCudaScalar *)B.array, (int)ldb, (const AIJTCUCudaScalar *)&beta, (AIJTCUCudaScalar *)C.array, (int)ldc));
    PetscFunctionReturn(PETSC_SUCCESS);
  }
  #endif
  PetscCallBLAS("BLASgemm", BLASgemm_(ta ? transpose : "N", tb ? transpose : "N", &m, &n, &k, &alpha, A.array, &lda, B.array, &ldb, &beta, C.array, &ldc));
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscBool AIJTCUBlockCtxCombines(AIJTCUBlockCtx ctx)
{
  return (PetscBool)(ctx->ops->square && ctx->N <= ctx->ops->square);
}

/* X comes first, then Y, if it is there */
static HrpbError AIJTCURunGram(const struct _n_AIJTCUBlockCtx *ctx, const BlockShape *shape, const AIJTCUBlockCall *call)
{
  BlockGram g = call->gram;

  g.X = ctx->in[0];
  g.D = call->D;
  if (call->noperands > 1) g.Y = ctx->in[1];
  return (*ctx->ops->gram)(shape, &g, call->out);
}

static PetscErrorCode AIJTCURunGramBLAS(const struct _n_AIJTCUBlockCtx *ctx, const BlockShape *shape, const AIJTCUBlockCall *call)
{
  const PetscInt N = ctx->N;

  PetscFunctionBegin;
  (void)shape;
  if (!ctx->n) { /* the BLAS need not take matrices without rows */
  #if AIJTCU_HAVE_DEVICE
    if (ctx->device) {
      PetscCallCUDA(cudaMemsetAsync(call->out, 0, (size_t)(call->nsums * N) * sizeof(*call->out), shape->stream));
      PetscFunctionReturn(PETSC_SUCCESS);
    }
  #endif
    PetscCall(PetscArrayzero(call->out, call->nsums * N));
    PetscFunctionReturn(PETSC_SUCCESS);
  }
  for (PetscInt i = 0; i < call->nsums / N; i++) {
    const BlockIn X = ctx->in[i && call->gram.kind == BLOCK_GRAM_WITH_Y ? 1 : 0], Y = ctx->in[i && call->gram.kind == BLOCK_GRAM_WITH_X ? 0 : 1];

    PetscCall(AIJTCUBlockGemm(ctx, PETSC_TRUE, PETSC_FALSE, (PetscInt[]){N, N, ctx->n}, 1, X, Y, 0, (BlockOut){call->out + i * N * N, N}));
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*
   Square matrices of N rows, one after the other: X^T Y, then what kind says. They are symmetric but for rounding.
   Where Y is NULL it is D X, if the context combines. local says that sums are of this process alone
*/
PetscErrorCode AIJTCUBlockGram(AIJTCUBlockCtx ctx, BlockGramKind kind, Mat X, Mat Y, Vec D, PetscBool local, PetscScalar *G)
{
  const PetscInt  nx   = kind == BLOCK_GRAM_PLAIN ? 1 : 2;
  AIJTCUBlockCall call = {.noperands = Y ? 2 : 1, .nsums = nx * ctx->N, .flops = 2 * nx * ctx->N, .local = local, .gram.kind = kind, .out = G};

  PetscFunctionBegin;
  PetscCall(AIJTCUBlockOperands(ctx, 2));
  AIJTCUBlockOperandSet(ctx, 0, X, AIJTCU_BLOCK_READ);
  if (Y) AIJTCUBlockOperandSet(ctx, 1, Y, AIJTCU_BLOCK_READ);
  if (AIJTCUBlockCtxCombines(ctx)) {
    call.run  = AIJTCURunGram;
    call.work = (*ctx->ops->gram_work)(ctx->n, ctx->N, call.gram.kind);
  } else call.blas = AIJTCURunGramBLAS;
  if (Y) PetscCall(AIJTCUBlockRun(ctx, &call));
  else PetscCall(AIJTCUBlockRunWithVec(ctx, &call, D));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Y comes first, then the terms */
static HrpbError AIJTCURunCombine(const struct _n_AIJTCUBlockCtx *ctx, const BlockShape *shape, const AIJTCUBlockCall *call)
{
  const PetscInt nterms = call->noperands - 1;
  BlockTerm      term[2];

  for (PetscInt i = 0; i < nterms; i++) {
    term[i]   = call->term[i];
    term[i].X = ctx->in[i + 1];
  }
  term[0].D = call->D;
  return (*ctx->ops->combine)(shape, call->add, (int32_t)nterms, term, AIJTCUBlockOut(ctx, 0));
}

static PetscErrorCode AIJTCURunCombineBLAS(const struct _n_AIJTCUBlockCtx *ctx, const BlockShape *shape, const AIJTCUBlockCall *call)
{
  PetscFunctionBegin;
  (void)shape;
  for (PetscInt i = 0; i < call->noperands - 1 && ctx->n; i++) {
    const BlockTerm *t = &call->term[i];

    PetscCall(AIJTCUBlockGemm(ctx, PETSC_FALSE, (PetscBool)t->transpose, (PetscInt[]){ctx->n, ctx->N, ctx->N}, t->sign, ctx->in[i + 1], (BlockIn){t->K, ctx->N}, i || call->add ? 1 : 0, AIJTCUBlockOut(ctx, 0)));
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode AIJTCUBlockSetTerms(AIJTCUBlockCtx ctx, Mat Y, PetscBool add, PetscInt nterms, const AIJTCUBlockTerm terms[], AIJTCUBlockCall *call)
{
  PetscFunctionBegin;
  PetscCall(AIJTCUBlockOperands(ctx, 3));
  AIJTCUBlockOperandSet(ctx, 0, Y, add ? AIJTCU_BLOCK_UPDATE : AIJTCU_BLOCK_WRITE);
  for (PetscInt i = 0; i < nterms; i++) {
    AIJTCUBlockOperandSet(ctx, i + 1, terms[i].X, AIJTCU_BLOCK_READ);
    call->term[i] = (BlockTerm){.sign = terms[i].sign, .K = terms[i].K, .transpose = terms[i].transpose};
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*
   Y = the sum of one or two terms, or Y += one. Y is in no term. Where D is not NULL the first term is with D X, if the
   context combines
*/
PetscErrorCode AIJTCUBlockCombine(AIJTCUBlockCtx ctx, Mat Y, PetscBool add, PetscInt nterms, const AIJTCUBlockTerm terms[], Vec D)
{
  AIJTCUBlockCall call = {.noperands = nterms + 1, .flops = 2 * nterms * ctx->N, .add = add};

  PetscFunctionBegin;
  PetscCall(AIJTCUBlockSetTerms(ctx, Y, add, nterms, terms, &call));
  if (AIJTCUBlockCtxCombines(ctx)) call.run = AIJTCURunCombine;
  else call.blas = AIJTCURunCombineBLAS;
  if (D) PetscCall(AIJTCUBlockRunWithVec(ctx, &call, D));
  else PetscCall(AIJTCUBlockRun(ctx, &call));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static HrpbError AIJTCURunCombineGram(const struct _n_AIJTCUBlockCtx *ctx, const BlockShape *shape, const AIJTCUBlockCall *call)
{
  BlockTerm term[2] = {call->term[0], call->term[1]};

  for (int i = 0; i < 2; i++) term[i].X = ctx->in[i + 1];
  return (*ctx->ops->combine_gram)(shape, term, AIJTCUBlockOut(ctx, 0), call->gram.kind, call->D, call->out);
}

/* AIJTCUBlockCombine() of two terms, then AIJTCUBlockGram() of Y and D Y, in one pass. For a context that combines */
PetscErrorCode AIJTCUBlockCombineGram(AIJTCUBlockCtx ctx, Mat Y, const AIJTCUBlockTerm terms[2], BlockGramKind kind, Vec D, PetscBool local, PetscScalar *G)
{
  const PetscInt  nx   = kind == BLOCK_GRAM_PLAIN ? 1 : 2;
  AIJTCUBlockCall call = {.run = AIJTCURunCombineGram, .noperands = 3, .nsums = nx * ctx->N, .flops = (4 + 2 * nx) * ctx->N, .local = local, .gram.kind = kind, .out = G};

  PetscFunctionBegin;
  PetscCall(AIJTCUBlockSetTerms(ctx, Y, PETSC_FALSE, 2, terms, &call));
  call.work = (*ctx->ops->gram_work)(ctx->n, ctx->N, kind);
  PetscCall(AIJTCUBlockRunWithVec(ctx, &call, D));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static HrpbError AIJTCURunInvert(const struct _n_AIJTCUBlockCtx *ctx, const BlockShape *shape, const AIJTCUBlockCall *call)
{
  return (*ctx->ops->invert)(shape, &call->invert);
}

/* See BlockOps.invert() */
PetscErrorCode AIJTCUBlockInvert(AIJTCUBlockCtx ctx, PetscInt rank, const PetscScalar *H, const PetscScalar *C, const PetscScalar *active, PetscScalar *inverse, PetscScalar *step, PetscScalar *pivots)
{
  const AIJTCUBlockCall call = {.run = AIJTCURunInvert, .invert = {.rank = rank, .H = H, .C = C, .active = active, .inverse = inverse, .step = step, .pivots = pivots}};

  PetscFunctionBegin;
  PetscCall(AIJTCUBlockRun(ctx, &call));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Whether AIJTCUBlockFactor() can be called */
PetscBool AIJTCUBlockCtxFactors(AIJTCUBlockCtx ctx)
{
  return (PetscBool)(AIJTCUBlockCtxCombines(ctx) && ctx->ops->factor);
}

static HrpbError AIJTCURunFactor(const struct _n_AIJTCUBlockCtx *ctx, const BlockShape *shape, const AIJTCUBlockCall *call)
{
  return (*ctx->ops->factor)(shape, &call->factor);
}

/* See BlockFactor */
PetscErrorCode AIJTCUBlockFactor(AIJTCUBlockCtx ctx, const BlockFactor *factor)
{
  const AIJTCUBlockCall call = {.run = AIJTCURunFactor, .factor = *factor};

  PetscFunctionBegin;
  PetscCall(AIJTCUBlockRun(ctx, &call));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static HrpbError AIJTCURunScale(const struct _n_AIJTCUBlockCtx *ctx, const BlockShape *shape, const AIJTCUBlockCall *call)
{
  return (*ctx->ops->scale)(shape, call->D, (int32_t)call->dblock, call->transpose, ctx->in[0], AIJTCUBlockOut(ctx, 1));
}

static PetscErrorCode AIJTCUVecIsDevice(Vec D, PetscBool *device)
{
  PetscFunctionBegin;
  PetscCall(PetscObjectTypeCompareAny((PetscObject)D, device, VECSEQCUDA, VECMPICUDA, ""));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Whether the context can work with an array of D: on a device it must be a vector of that */
PetscErrorCode AIJTCUBlockCtxTakes(AIJTCUBlockCtx ctx, Vec D, PetscBool *takes)
{
  PetscFunctionBegin;
  *takes = PETSC_TRUE;
  if (ctx->device) PetscCall(AIJTCUVecIsDevice(D, takes));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Not so where a matrix of the device is bound to the host, or is columns of such a one: upstream/bounddense.c */
static PetscErrorCode AIJTCUBlockOnDevice(Mat X, PetscBool *is)
{
  PetscBool bound;
  Mat       local;

  PetscFunctionBegin;
  PetscCall(MatDenseGetLocalMatrix(X, &local));
  PetscCall(MatBoundToCPU(X, &bound));
  PetscCall(PetscObjectTypeCompare((PetscObject)local, MATSEQDENSECUDA, is));
  if (bound) *is = PETSC_FALSE;
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Whether D, X and Y are all on a device that kernels run on */
static PetscErrorCode AIJTCUBlockScaleOnDevice(Vec D, Mat X, Mat Y, PetscBool *device)
{
  PetscBool x, y;

  PetscFunctionBegin;
  PetscCall(AIJTCUVecIsDevice(D, device));
  PetscCall(AIJTCUBlockOnDevice(X, &x));
  PetscCall(AIJTCUBlockOnDevice(Y, &y));
  *device = (PetscBool)(*device && x && y);
  #if AIJTCU_HAVE_DEVICE
  if (*device) PetscCall(AIJTCUDeviceRuns(device));
  #else
  *device = PETSC_FALSE;
  #endif
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*
   Y = D X or D^T X, where D has the rows of this process: see BlockOps.scale(). What is not on a device is brought to
   the host, and the work is done there
*/
PetscErrorCode AIJTCUBlockScale(Vec D, PetscInt dblock, PetscBool transpose, Mat X, Mat Y)
{
  AIJTCUBlockOperand       operands[2] = {{.mat = X, .access = AIJTCU_BLOCK_READ}, {.mat = Y, .access = AIJTCU_BLOCK_WRITE}};
  BlockIn                  in[2];
  struct _n_AIJTCUBlockCtx ctx  = {.n = X->rmap->n, .N = X->cmap->N, .nranks = 1, .ops = &BlockOpsHost, .operands = operands, .in = in, .noperands = 2};
  AIJTCUBlockCall          call = {.run = AIJTCURunScale, .noperands = 2, .flops = 2 * dblock - 1, .dblock = dblock, .transpose = transpose};

  PetscFunctionBegin;
  PetscCall(AIJTCUBlockScaleOnDevice(D, X, Y, &ctx.device));
  #if AIJTCU_HAVE_DEVICE
  if (ctx.device) ctx.ops = &BlockOpsDevice;
  #endif
  PetscCall(AIJTCUBlockRunWithVec(&ctx, &call, D));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*
   Bring arrays of scalars that lie one after the other to the host. Until AIJTCUBlockToHostEnd() with the same, scalars
   must not go there or back, there must be no sums over processes, and nothing may change these scalars
*/
PetscErrorCode AIJTCUBlockToHostBegin(AIJTCUBlockCtx ctx, PetscInt narrays, const PetscScalar *scalars)
{
  PetscFunctionBegin;
  #if AIJTCU_HAVE_DEVICE
  if (ctx->device) {
    cudaStream_t stream = NULL;

    AIJTCUCallOnStream(stream, AIJTCUBlockDown(ctx, narrays, scalars, stream));
  }
  #endif
  (void)ctx;
  (void)narrays;
  (void)scalars;
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* host = what was asked for. Waits for it, and not for work that came behind */
PetscErrorCode AIJTCUBlockToHostEnd(AIJTCUBlockCtx ctx, PetscInt narrays, const PetscScalar *scalars, PetscScalar *host)
{
  PetscFunctionBegin;
  #if AIJTCU_HAVE_DEVICE
  if (ctx->device) {
    PetscCall(AIJTCUBlockAwait(ctx));
    scalars = ctx->host;
  }
  #endif
  PetscCall(PetscArraycpy(host, scalars, narrays * ctx->N));
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode AIJTCUBlockToHost(AIJTCUBlockCtx ctx, PetscInt narrays, const PetscScalar *scalars, PetscScalar *host)
{
  PetscFunctionBegin;
  PetscCall(AIJTCUBlockToHostBegin(ctx, narrays, scalars));
  PetscCall(AIJTCUBlockToHostEnd(ctx, narrays, scalars, host));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* All scalars, of the columns that are kept */
static PetscErrorCode AIJTCUBlockNarrowScalars(AIJTCUBlockCtx ctx, PetscInt N, const PetscInt from[])
{
  PetscScalar *scalars;

  PetscFunctionBegin;
  PetscCall(PetscMalloc1(ctx->nscalars * ctx->N, &scalars));
  PetscCall(AIJTCUBlockToHost(ctx, ctx->nscalars, ctx->scalars, scalars));
  for (PetscInt k = 0; k < ctx->nscalars; k++) {
    for (PetscInt j = 0; j < N; j++) scalars[k * N + j] = scalars[k * ctx->N + from[j]];
  }
  ctx->N = N;
  PetscCall(AIJTCUBlockToScalars(ctx, ctx->nscalars, scalars, ctx->scalars));
  PetscCall(PetscFree(scalars));
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode AIJTCUBlockCtxNarrow(AIJTCUBlockCtx ctx, PetscInt N, const PetscInt from[], PetscInt nkept, const PetscInt kept[])
{
  PetscFunctionBegin;
  PetscCall(AIJTCUBlockLeaveViews(ctx));
  for (PetscInt k = 0; k < nkept; k++) PetscCall(AIJTCUBlockMove(ctx, N, from, ctx->work[kept[k]], NULL, ctx->work[kept[k]]));
  PetscCall(AIJTCUBlockNarrowScalars(ctx, N, from));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Arrays of scalars that lie one after the other = host, which may be changed as soon as this returns */
PetscErrorCode AIJTCUBlockToScalars(AIJTCUBlockCtx ctx, PetscInt narrays, const PetscScalar *host, PetscScalar *scalars)
{
  PetscFunctionBegin;
  #if AIJTCU_HAVE_DEVICE
  if (ctx->device) {
    cudaStream_t stream = NULL;
    size_t       bytes  = 0;

    PetscCall(AIJTCUBlockScalarBytes(ctx, narrays, &bytes));
    PetscCall(AIJTCUBlockAwait(ctx)); /* the buffer is free */
    PetscCall(PetscMemcpy(ctx->host, host, bytes));
    AIJTCUCallOnStream(stream, AIJTCUBlockUp(ctx, narrays, scalars, stream));
    PetscFunctionReturn(PETSC_SUCCESS);
  }
  #endif
  PetscCall(PetscArraycpy(scalars, host, narrays * ctx->N));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* The same for sums that AIJTCUBlockSum() made. With one process they are there */
PetscErrorCode AIJTCUBlockSumsToScalars(AIJTCUBlockCtx ctx, PetscInt narrays, const PetscScalar *host, PetscScalar *scalars)
{
  PetscFunctionBegin;
  if (ctx->nranks > 1) PetscCall(AIJTCUBlockToScalars(ctx, narrays, host, scalars));
  PetscFunctionReturn(PETSC_SUCCESS);
}
#endif
