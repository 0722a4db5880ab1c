/*
   Sampled products on a GPU: from PETSc's arrays to the kernels, and the values of C back into its device CSR.

   Rows of Y that other processes own come as rows, one behind the other, on the device: PetscSF brings them, and the
   kernel of the off-diagonal block reads them so.
*/
#include "sampledimpl.h"

#if AIJTCU_HAVE_DEVICE_REAL
  #include <petscdevice_cuda.h>
  #include <sample/sample.h>

/* The local array of a dense matrix, where it is */
typedef struct {
  const PetscScalar *array;
  PetscInt           lda;
  PetscBool          host;
} AIJTCUDense;

/* A sampled product while it is made */
typedef struct {
  Mat          s[2], c[2]; /* the diagonal and the off-diagonal block, or NULL */
  PetscInt     k, m, n;    /* columns; local rows of X and Y */
  PetscBool    scale;
  AIJTCUDense  x, y;
  SpmmIn       left, right;   /* X and Y on the device */
  PetscScalar *xcopy, *ycopy; /* copies of operands of the host */
  PetscScalar *rows, *ghosts; /* rows of Y: those that we own, and those that we need */
  PetscInt     nghosts;
  cudaStream_t stream;
} AIJTCUSampled;

/* Memory until AIJTCUSampledFree() */
static PetscErrorCode AIJTCUSampledMalloc(AIJTCUSampled *p, size_t scalars, PetscScalar **a, HrpbError *err)
{
  PetscFunctionBegin;
  PetscCall(AIJTCUDeviceMalloc(scalars * sizeof(**a), p->stream, (void **)a));
  if (!*a) *err = HRPB_ERR_DEVICE_MEMORY;
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* An operand on the device, copied there if it is on the host */
static PetscErrorCode AIJTCUSampledBring(AIJTCUSampled *p, const AIJTCUDense *in, PetscInt rows, PetscScalar **copy, SpmmIn *out, HrpbError *err)
{
  PetscFunctionBegin;
  *out = (SpmmIn){in->array, in->lda, SPMM_COLUMN_MAJOR};
  if (!in->host || *err) PetscFunctionReturn(PETSC_SUCCESS);
  out->ld = AIJTCUDeviceLDA(rows);
  PetscCall(AIJTCUSampledMalloc(p, (size_t)out->ld * (size_t)p->k, copy, err));
  if (*err) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCall(AIJTCUDeviceCopyColumns(*copy, (PetscInt)out->ld, in->array, in->lda, rows, p->k, PETSC_TRUE, p->stream));
  out->array = *copy;
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Bring the operands, and make what is sent to others and room for what comes from them */
static PetscErrorCode AIJTCUSampledBegin(AIJTCUSampled *p, HrpbError *err)
{
  const size_t ld = (size_t)SampledRowMajorLD(p->k);

  PetscFunctionBegin;
  PetscCall(AIJTCUSampledBring(p, &p->x, p->m, &p->xcopy, &p->left, err));
  PetscCall(AIJTCUSampledBring(p, &p->y, p->n, &p->ycopy, &p->right, err));
  if (p->s[1] && !*err) PetscCall(AIJTCUSampledMalloc(p, (size_t)p->n * ld, &p->rows, err));
  if (p->s[1] && !*err) PetscCall(AIJTCUSampledMalloc(p, (size_t)(p->nghosts + 1) * ld, &p->ghosts, err));
  if (p->s[1] && !*err) {
    AIJTCUCallDevice(*err, SampledRowMajorDevice(p->n, p->k, p->right.array, p->right.ld, p->rows, p->stream));
    PetscCallCUDA(cudaMemsetAsync(p->ghosts + (size_t)p->nghosts * ld, 0, ld * sizeof(*p->ghosts), p->stream));
  }
  /* PetscSF works on another stream, and the caller may change arrays of the host next */
  if (p->s[1] || p->x.host || p->y.host) PetscCallCUDA(cudaStreamSynchronize(p->stream));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* All is freed, even if one of them fails */
static PetscErrorCode AIJTCUSampledFree(AIJTCUSampled *p)
{
  PetscScalar *const all[] = {p->xcopy, p->ycopy, p->rows, p->ghosts};
  cudaError_t        first = cudaSuccess;

  PetscFunctionBegin;
  for (size_t i = 0; i < PETSC_STATIC_ARRAY_LENGTH(all); i++) {
    const cudaError_t err = all[i] ? cudaFreeAsync(all[i], p->stream) : cudaSuccess;

    if (first == cudaSuccess) first = err;
  }
  PetscCallCUDA(first);
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* A block without a plan has a schedule for this product alone */
static PetscErrorCode AIJTCUSampledWithoutPlan(Mat S, AIJTCUPlan *plan, const AIJTCUDeviceCSR *csr, void *ctx, HrpbError *err)
{
  AIJTCUWorkOrder    *order   = (AIJTCUWorkOrder *)ctx;
  const SpmmOperands *o       = &order->operands;
  const AIJTCUAsk     ask     = {.op = SPMM_OP_SAMPLED, .N = (PetscInt)o->N, .X = o->X.layout, .update = o->update, .path = MAT_AIJTCU_PATH_CSR};
  const AIJTCUOptions options = {.threshold = PETSC_DEFAULT};
  AIJTCUFacts         facts   = {.device = PETSC_TRUE, .on_device = PETSC_TRUE, .csr_state = AIJTCU_READY, .panels_sought = PETSC_TRUE};
  AIJTCUDeviceFacts   device  = {.device = NULL};
  CsrSchedule         schedule;
  PetscErrorCode      ierr;

  PetscFunctionBegin;
  (void)plan;
  AIJTCUCallDevice(*err, SpmmGetDevice(&device.device));
  if (*err) PetscFunctionReturn(PETSC_SUCCESS);
  AIJTCUCallDevice(*err, CsrScheduleDevice(S->rmap->n, S->cmap->n, csr->rowptr, csr->colidx, csr->stream, &schedule));
  if (*err) PetscFunctionReturn(PETSC_SUCCESS);
  order->A     = (SpmmMatrix){.nrows = S->rmap->n, .ncols = S->cmap->n, .csr = &schedule};
  facts.matrix = SpmmFactsOf(&order->A);
  AIJTCUOrderTakeCSR(order, csr);
  order->kernel = AIJTCUDecide(&ask, &options, &facts, &device).kernel;
  ierr          = AIJTCULaunchWithWork(NULL, order, csr->stream, err);
  CsrScheduleDestroyDevice(&schedule, csr->stream);
  PetscCall(ierr);
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* How the product of a block is made: by bricks, where that is decided and they can be had, or by CSR */
static PetscErrorCode AIJTCUSampledOrder(Mat S, AIJTCUPlan *plan, AIJTCUAsk ask, AIJTCUWorkOrder *order, HrpbError *err)
{
  PetscFunctionBegin;
  if (ask.X != SPMM_COLUMN_MAJOR) ask.path = MAT_AIJTCU_PATH_CSR;
  else PetscCall(AIJTCUPlanDecide(S, plan, &ask));
  if (ask.path != MAT_AIJTCU_PATH_TCU) ask.path = MAT_AIJTCU_PATH_CSR;
  PetscCall(AIJTCUPlanOrder(S, plan, &ask, order));
  if (!order->kernel && ask.path == MAT_AIJTCU_PATH_TCU) {
    ask.path = MAT_AIJTCU_PATH_CSR;
    PetscCall(AIJTCUPlanOrder(S, plan, &ask, order));
  }
  if (!order->kernel) *err = HRPB_ERR_UNSUPPORTED;
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* One block. right has the rows of Y that its columns name */
static PetscErrorCode AIJTCUSampledDoBlock(const AIJTCUSampled *p, int which, SpmmIn right, HrpbError *err)
{
  Mat             S = p->s[which], C = p->c[which];
  const AIJTCUAsk ask   = {.op = SPMM_OP_SAMPLED, .N = p->k, .X = right.layout, .update = p->scale ? SPMM_SCALE : SPMM_ASSIGN};
  AIJTCUWorkOrder order = {.need = p->scale ? AIJTCU_CSR_VALUES : AIJTCU_CSR_PATTERN};
  AIJTCUPlan     *plan;
  PetscScalar    *c;
  PetscInt        nz;
  PetscErrorCode  ierr;
  MatInfo         info;

  PetscFunctionBegin;
  PetscCall(MatGetInfo(S, MAT_LOCAL, &info));
  nz = (PetscInt)info.nz_used;
  if (!nz) {
    PetscCall(PetscObjectStateIncrease((PetscObject)C));
    PetscFunctionReturn(PETSC_SUCCESS);
  }
  PetscCall(AIJTCUGetPlan(S, &plan));
  if (plan) PetscCall(AIJTCUSampledOrder(S, plan, ask, &order, err));
  if (*err) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCall(AIJTCUPatternToDevice(C));
  AIJTCUCallParent(C, MatSeqAIJCUSPARSEGetArrayWrite(C, &c));
  order.operands   = SpmmSampled(p->k, p->left.array, p->left.ld, right.array, right.ld, p->scale, c);
  order.operands.X = right;
  if (plan) ierr = AIJTCUOrderRun(S, plan, &order, err);
  else ierr = AIJTCUDeviceCall(S, NULL, order.need, AIJTCUSampledWithoutPlan, &order, err);
  AIJTCUCallParent(C, MatSeqAIJCUSPARSERestoreArrayWrite(C, &c));
  PetscCall(ierr);
  if (plan && !*err) {
    if (order.path == MAT_AIJTCU_PATH_TCU) AIJTCUCount(plan, sampled_tcu);
    else AIJTCUCount(plan, sampled_csr);
  }
  if (!*err) PetscCall(PetscLogGpuFlops(2.0 * (PetscLogDouble)nz * (PetscLogDouble)p->k));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Failures and errors of one process are those of all: the others would wait for its rows of Y */
static PetscErrorCode AIJTCUSampledAgree(Mat S, PetscErrorCode ierr, HrpbError *err)
{
  PetscBool all;

  PetscFunctionBegin;
  PetscCall(AIJTCUAgree(PetscObjectComm((PetscObject)S), ierr, (PetscBool) !*err, &all));
  if (!all && !*err) *err = HRPB_ERR_DEVICE_MEMORY;
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Both blocks, while rows of Y come from other processes */
static PetscErrorCode AIJTCUSampledBlocksOf(Mat S, AIJTCUSampled *p, const PetscInt garray[], HrpbError *err)
{
  const SpmmIn   ghosts = {p->ghosts, SampledRowMajorLD(p->k), SPMM_ROW_MAJOR_PADDED};
  PetscSF        sf;
  MPI_Datatype   unit;
  PetscErrorCode ierr, ended;

  PetscFunctionBegin;
  if (!p->s[1]) {
    PetscCall(AIJTCUSampledDoBlock(p, 0, p->right, err));
    PetscFunctionReturn(PETSC_SUCCESS);
  }
  PetscCall(AIJTCUSampledRowsBegin(S, p->nghosts, garray, (PetscInt)ghosts.ld, PETSC_MEMTYPE_CUDA, p->rows, p->ghosts, &sf, &unit));
  ierr  = AIJTCUSampledDoBlock(p, 0, p->right, err);
  ended = AIJTCUSampledRowsEnd(p->rows, p->ghosts, &sf, &unit);
  PetscCall(ierr);
  PetscCall(ended);
  if (!*err) PetscCall(AIJTCUSampledDoBlock(p, 1, ghosts, err));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode AIJTCUSampledBeginOnStream(AIJTCUSampled *p, HrpbError *err)
{
  PetscBool runs;

  PetscFunctionBegin;
  PetscCall(AIJTCUDeviceRuns(&runs));
  if (!runs) *err = HRPB_ERR_UNSUPPORTED;
  if (*err) PetscFunctionReturn(PETSC_SUCCESS);
  AIJTCUCallOnStream(p->stream, AIJTCUSampledBegin(p, err));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode AIJTCUSampledAll(Mat S, AIJTCUSampled *p, const PetscInt garray[], HrpbError *err)
{
  PetscErrorCode ierr;

  PetscFunctionBegin;
  ierr = AIJTCUSampledBeginOnStream(p, err);
  PetscCall(AIJTCUSampledAgree(S, ierr, err));
  if (*err) PetscFunctionReturn(PETSC_SUCCESS);
  ierr = AIJTCUSampledBlocksOf(S, p, garray, err);
  PetscCall(AIJTCUSampledAgree(S, ierr, err));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Whether S is on a device, with or without a plan. The answer is that of all processes: kernels need not run there */
PetscErrorCode AIJTCUSampledIsOnDevice(Mat S, PetscBool *on)
{
  AIJTCUPlan *plan;

  PetscFunctionBegin;
  PetscCall(AIJTCUGetPlan(S, &plan));
  PetscCall(AIJTCUAtDevice(S, plan, on));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode AIJTCUDenseGet(Mat A, AIJTCUDense *a)
{
  PetscMemType mem;

  PetscFunctionBegin;
  PetscCall(MatDenseGetLDA(A, &a->lda));
  PetscCall(MatDenseGetArrayReadAndMemType(A, &a->array, &mem));
  a->host = PetscMemTypeHost(mem) ? PETSC_TRUE : PETSC_FALSE;
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Make the product if S and C are on a device. done says whether it was made; the log says why not */
PetscErrorCode AIJTCUSampledOnDevice(Mat S, Mat X, Mat Y, PetscBool scale, Mat C, PetscBool *done)
{
  AIJTCUSampled   p   = {.k = X->cmap->N, .m = X->rmap->n, .n = Y->rmap->n, .scale = scale};
  HrpbError       err = HRPB_SUCCESS;
  const PetscInt *garray;
  PetscErrorCode  ierr, freed;

  PetscFunctionBegin;
  PetscCall(AIJTCUSampledIsOnDevice(S, done));
  if (*done) PetscCall(AIJTCUSampledIsOnDevice(C, done)); /* a C of before may be bound to the host */
  if (!*done) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCall(AIJTCULocalBlocks(C, p.c, &garray));
  PetscCall(AIJTCULocalBlocks(S, p.s, &garray));
  p.nghosts = p.s[1] ? p.s[1]->cmap->n : 0;
  PetscCall(AIJTCUDenseGet(X, &p.x));
  PetscCall(AIJTCUDenseGet(Y, &p.y));
  ierr  = AIJTCUSampledAll(S, &p, garray, &err);
  freed = AIJTCUSampledFree(&p);
  PetscCall(MatDenseRestoreArrayReadAndMemType(Y, &p.y.array));
  PetscCall(MatDenseRestoreArrayReadAndMemType(X, &p.x.array));
  PetscCall(ierr);
  PetscCall(freed);
  *done = (PetscBool)!err;
  if (err) PetscCall(PetscInfo(S, "aijtcu: no sampled product on the device, one on the host instead: %s\n", HrpbErrorString(err)));
  else if (p.s[1]) PetscCall(PetscObjectStateIncrease((PetscObject)C));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* R = W Z, where W is S .* (X Y^T), X Y^T at the entries of S, or its softmax. The arrays are on the device */
static PetscErrorCode AIJTCUFusedRun(Mat S, AIJTCUPlan *plan, const SpmmOperands *o, HrpbError *err)
{
  const PetscBool softmax = o->softmax ? PETSC_TRUE : PETSC_FALSE;
  const AIJTCUAsk ask     = {.op = SPMM_OP_FUSED, .N = (PetscInt)o->N, .K = (PetscInt)o->K, .update = o->update, .softmax = softmax};
  AIJTCUWorkOrder order;
  MatInfo         info;

  PetscFunctionBegin;
  PetscCall(AIJTCUPlanOrder(S, plan, &ask, &order));
  *err = HRPB_ERR_UNSUPPORTED;
  if (!order.kernel) PetscFunctionReturn(PETSC_SUCCESS);
  order.operands = *o;
  PetscCall(AIJTCUOrderRun(S, plan, &order, err));
  if (*err) PetscFunctionReturn(PETSC_SUCCESS);
  AIJTCUCount(plan, fused);
  PetscCall(MatGetInfo(S, MAT_LOCAL, &info));
  PetscCall(PetscLogGpuFlops(2.0 * info.nz_used * (PetscLogDouble)(o->K + o->N)));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*
   The same from PETSc's matrices. done says whether it was made: for a sequential S with bricks that suit, and dense
   matrices of the device
*/
PetscErrorCode AIJTCUFusedOnDevice(Mat S, Mat X, Mat Y, PetscBool scale, PetscBool softmax, Mat Z, Mat R, PetscBool *done)
{
  const Mat      in[3] = {X, Y, Z};
  AIJTCUDense    a[3];
  SpmmOperands   o;
  HrpbError      err  = HRPB_ERR_UNSUPPORTED;
  PetscErrorCode ierr = PETSC_SUCCESS;
  AIJTCUPlan    *plan;
  PetscBool      cuda, bound;
  PetscScalar   *r;
  PetscInt       ldr;

  PetscFunctionBegin;
  *done = PETSC_FALSE;
  PetscCall(AIJTCUGetPlan(S, &plan));
  PetscCall(PetscObjectTypeCompare((PetscObject)R, MATSEQDENSECUDA, &cuda));
  PetscCall(MatBoundToCPU(R, &bound));
  if (!plan || !cuda || bound || R == X || R == Y || R == Z) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCall(AIJTCUSampledIsOnDevice(S, &cuda));
  if (!cuda) PetscFunctionReturn(PETSC_SUCCESS);
  for (int i = 0; i < 3; i++) PetscCall(AIJTCUDenseGet(in[i], &a[i]));
  PetscCall(MatDenseGetLDA(R, &ldr));
  PetscCall(MatDenseGetArrayWriteAndMemType(R, &r, NULL));
  o = SpmmFused(X->cmap->N, a[0].array, a[0].lda, a[1].array, a[1].lda, scale, softmax, Z->cmap->N, a[2].array, a[2].lda, r, ldr);
  if (!a[0].host && !a[1].host && !a[2].host) ierr = AIJTCUFusedRun(S, plan, &o, &err);
  PetscCall(MatDenseRestoreArrayWriteAndMemType(R, &r));
  for (int i = 0; i < 3; i++) PetscCall(MatDenseRestoreArrayReadAndMemType(in[i], &a[i].array));
  PetscCall(ierr);
  *done = (PetscBool)!err;
  if (err && err != HRPB_ERR_UNSUPPORTED) PetscCall(PetscInfo(S, "aijtcu: no sampled product multiplied in the same pass, its values are made first: %s\n", HrpbErrorString(err)));
  PetscFunctionReturn(PETSC_SUCCESS);
}
#endif
