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

/* A block's product while its kernel runs */
typedef struct {
  SpmmOp       op;
  SpmmOperands operands;
  PetscBool    bricks;
} AIJTCUSampledBlock;

static PetscErrorCode AIJTCUSampledRun(AIJTCUPlan *plan, const SpmmMatrix *S, const AIJTCUSampledBlock *b, const HrpbParams *format, cudaStream_t stream, HrpbError *err)
{
  const SpmmFacts   facts = SpmmFactsOf(S);
  const SpmmDevice *device;
  const SpmmKernel *kernel;

  PetscFunctionBegin;
  AIJTCUCallDevice(*err, SpmmGetDevice(&device));
  if (*err) PetscFunctionReturn(PETSC_SUCCESS);
  kernel = SpmmChooseKernel(b->op, b->bricks ? SPMM_BRICKS : SPMM_CSR, PETSC_FALSE, &facts, format, &b->operands, device);
  if (!kernel) {
    *err = HRPB_ERR_UNSUPPORTED;
    PetscFunctionReturn(PETSC_SUCCESS);
  }
  PetscCall(AIJTCULaunchWithWork(plan ? &plan->launches : NULL, kernel, S, &b->operands, stream, err));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* A block without a plan has a schedule for this product alone */
static PetscErrorCode AIJTCUSampledBlockOnStream(Mat S, AIJTCUPlan *plan, const AIJTCUDeviceCSR *csr, void *ctx, HrpbError *err)
{
  const AIJTCUSampledBlock *b = (const AIJTCUSampledBlock *)ctx;
  SpmmMatrix                A = {.nrows = S->rmap->n, .ncols = S->cmap->n, .rowptr = csr->rowptr, .colidx = csr->colidx, .values = csr->values};
  CsrSchedule               schedule;
  PetscErrorCode            ierr;

  PetscFunctionBegin;
  if (plan) {
    if (b->bricks) {
      A.hrpb         = &plan->bricks.hrpb;
      A.schedule     = &plan->bricks.schedule;
      A.brick_values = plan->bricks.values;
      A.precision    = AIJTCUPrecision(AIJTCUGetOptions(plan));
    } else A.csr = &plan->csr.schedule;
    PetscCall(AIJTCUSampledRun(plan, &A, b, b->bricks ? &plan->bricks.format : NULL, csr->stream, err));
    PetscFunctionReturn(PETSC_SUCCESS);
  }
  AIJTCUCallDevice(*err, CsrScheduleDevice(A.nrows, A.ncols, A.rowptr, A.colidx, csr->stream, &schedule));
  if (*err) PetscFunctionReturn(PETSC_SUCCESS);
  A.csr = &schedule;
  ierr  = AIJTCUSampledRun(NULL, &A, b, NULL, csr->stream, err);
  CsrScheduleDestroyDevice(&schedule, csr->stream);
  PetscCall(ierr);
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Whether the product of a block is by bricks. When this returns its plan has them, or the schedule of CSR kernels */
static PetscErrorCode AIJTCUSampledPrepare(Mat S, AIJTCUPlan *plan, const AIJTCUSampledBlock *b, PetscBool *bricks, HrpbError *err)
{
  AIJTCUDecision d = {.op = SPMM_OP_SAMPLED, .N = (PetscInt)b->operands.N, .path = MAT_AIJTCU_PATH_CSR};
  PetscBool      usable;

  PetscFunctionBegin;
  *bricks = PETSC_FALSE;
  if (b->operands.X.layout == SPMM_COLUMN_MAJOR) PetscCall(AIJTCUPlanDecide(S, plan, SPMM_OP_SAMPLED, d.N, &d));
  if (d.path == MAT_AIJTCU_PATH_TCU) {
    PetscCall(AIJTCUPlanPrepare(S, plan, &d, bricks));
    if (*bricks) PetscFunctionReturn(PETSC_SUCCESS);
  }
  d.path = MAT_AIJTCU_PATH_CSR;
  PetscCall(AIJTCUPlanPrepare(S, plan, &d, &usable));
  if (!usable) *err = HRPB_ERR_UNSUPPORTED;
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* C gets a device matrix of its own when its pattern is asked for there */
static PetscErrorCode AIJTCUSampledTouch(Mat C)
{
  const AIJTCUDeviceInt *i, *j;

  PetscFunctionBegin;
  AIJTCUCallParent(C, MatSeqAIJCUSPARSEGetIJ(C, PETSC_FALSE, &i, &j));
  AIJTCUCallParent(C, MatSeqAIJCUSPARSERestoreIJ(C, PETSC_FALSE, &i, &j));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* One block. right has the rows of Y that its columns name */
static PetscErrorCode AIJTCUSampledDoBlock(const AIJTCUSampled *p, int which, SpmmIn right, HrpbError *err)
{
  Mat                S = p->s[which], C = p->c[which];
  AIJTCUSampledBlock b = {.op = SPMM_OP_SAMPLED};
  AIJTCUPlan        *plan;
  PetscScalar       *c;
  PetscInt           nz;
  PetscErrorCode     ierr;
  MatInfo            info;

  PetscFunctionBegin;
  PetscCall(MatGetInfo(S, MAT_LOCAL, &info));
  nz = (PetscInt)info.nz_used;
  if (!nz) {
    PetscCall(PetscObjectStateIncrease((PetscObject)C));
    PetscFunctionReturn(PETSC_SUCCESS);
  }
  b.operands   = SpmmSampled(p->k, p->left.array, p->left.ld, right.array, right.ld, p->scale, NULL);
  b.operands.X = right;
  PetscCall(AIJTCUGetPlan(S, &plan));
  if (plan) PetscCall(AIJTCUSampledPrepare(S, plan, &b, &b.bricks, err));
  if (*err) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCall(AIJTCUSampledTouch(C));
  AIJTCUCallParent(C, MatSeqAIJCUSPARSEGetArrayWrite(C, &c));
  b.operands.Y.array = c;
  ierr               = AIJTCUDeviceCall(S, plan, p->scale ? AIJTCU_CSR_VALUES : AIJTCU_CSR_PATTERN, AIJTCUSampledBlockOnStream, &b, err);
  AIJTCUCallParent(C, MatSeqAIJCUSPARSERestoreArrayWrite(C, &c));
  PetscCall(ierr);
  if (plan && !*err) {
    if (b.bricks) AIJTCUCount(plan, sampled_tcu);
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
  PetscCall(AIJTCUAgree(PetscObjectComm((PetscObject)S), ierr, (PetscBool)!*err, &all));
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

/* The bricks of a fused product, where the sampled one takes bricks, and a kernel takes it whole and is faster so */
static PetscErrorCode AIJTCUFusedPrepare(Mat S, AIJTCUPlan *plan, AIJTCUSampledBlock *b)
{
  AIJTCUDecision    d;
  AIJTCUFacts       facts;
  AIJTCUDeviceFacts device;

  PetscFunctionBegin;
  PetscCall(AIJTCUPlanDecide(S, plan, SPMM_OP_SAMPLED, (PetscInt)b->operands.K, &d));
  PetscCall(AIJTCUDeviceFactsGet(plan, &device));
  PetscCall(AIJTCUFactsGet(S, plan, &facts));
  if (!AIJTCUFusedPays(&d, &b->operands, AIJTCUGetOptions(plan), &facts, &device)) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCall(AIJTCUPlanPrepare(S, plan, &d, &b->bricks));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* R = W Z, where W is S .* (X Y^T), X Y^T at the entries of S, or its softmax. The arrays are on the device */
static PetscErrorCode AIJTCUFusedRun(Mat S, AIJTCUPlan *plan, AIJTCUSampledBlock *b, HrpbError *err)
{
  MatInfo info;

  PetscFunctionBegin;
  PetscCall(AIJTCUFusedPrepare(S, plan, b));
  *err = HRPB_ERR_UNSUPPORTED;
  if (!b->bricks) PetscFunctionReturn(PETSC_SUCCESS);
  *err = HRPB_SUCCESS;
  PetscCall(AIJTCUDeviceCall(S, plan, AIJTCU_CSR_VALUES, AIJTCUSampledBlockOnStream, b, err));
  if (*err) PetscFunctionReturn(PETSC_SUCCESS);
  AIJTCUCount(plan, fused);
  PetscCall(MatGetInfo(S, MAT_LOCAL, &info));
  PetscCall(PetscLogGpuFlops(2.0 * info.nz_used * (PetscLogDouble)(b->operands.K + b->operands.N)));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*
   The same from PETSc's matrices. done says whether it was made: for a sequential S with bricks that suit, and dense
   matrices of the device
*/
PetscErrorCode AIJTCUFusedOnDevice(Mat S, Mat X, Mat Y, PetscBool scale, PetscBool softmax, Mat Z, Mat R, PetscBool *done)
{
  const Mat          in[3] = {X, Y, Z};
  AIJTCUDense        a[3];
  AIJTCUSampledBlock b   = {.op = SPMM_OP_FUSED};
  HrpbError          err = HRPB_ERR_UNSUPPORTED;
  PetscErrorCode     ierr = PETSC_SUCCESS;
  AIJTCUPlan        *plan;
  PetscBool          cuda, bound;
  PetscScalar       *r;
  PetscInt           ldr;

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
  b.operands = SpmmFused(X->cmap->N, a[0].array, a[0].lda, a[1].array, a[1].lda, scale, softmax, Z->cmap->N, a[2].array, a[2].lda, r, ldr);
  if (!a[0].host && !a[1].host && !a[2].host) ierr = AIJTCUFusedRun(S, plan, &b, &err);
  PetscCall(MatDenseRestoreArrayWriteAndMemType(R, &r));
  for (int i = 0; i < 3; i++) PetscCall(MatDenseRestoreArrayReadAndMemType(in[i], &a[i].array));
  PetscCall(ierr);
  *done = (PetscBool)!err;
  if (err && err != HRPB_ERR_UNSUPPORTED) PetscCall(PetscInfo(S, "aijtcu: no sampled product multiplied in the same pass, its values are made first: %s\n", HrpbErrorString(err)));
  PetscFunctionReturn(PETSC_SUCCESS);
}
#endif
