/*
   Our product C = A B of a sequential A with a dense B, or A^T B with an A that is eternally symmetric: its set-up, its
   symbolic and its numeric phase. On a device any A^T B is ours: a product with the transpose, which A's plan keeps.

   workorder.c decides on the path, once when the product is set up. The numeric phase has an order made of it, with
   what the path needs, and runs it. If bricks cannot be had, the CSR path takes their place. If that cannot be had
   either, the parent makes the product. delegate.c has all other products.

   Callers such as SLEPc make, set up, run and clear a product at every call. So what can be kept hangs on A.
*/
#include "productimpl.h"

#if AIJTCU_HAVE_BRICKS
static PetscErrorCode AIJTCUHostMultiply(Mat A, AIJTCUWorkOrder *order, Mat B, Mat C, HrpbError *err)
{
  const PetscScalar *b;
  PetscScalar       *c;
  PetscInt64         ldb, ldc;

  PetscFunctionBegin;
  PetscCall(AIJTCURealLDA(B, &ldb));
  PetscCall(AIJTCURealLDA(C, &ldc));
  PetscCall(MatDenseGetArrayRead(B, &b));
  PetscCall(MatDenseGetArrayWrite(C, &c));
  order->operands = SpmmPlain(B->cmap->n, (const HrpbScalar *)b, ldb, (HrpbScalar *)c, ldc);
  PetscCall(AIJTCUHostRun(A, order, err));
  PetscCall(MatDenseRestoreArrayWrite(C, &c));
  PetscCall(MatDenseRestoreArrayRead(B, &b));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Compute C = A B by the path of the ask, if possible. done says whether it was; the log says why not */
static PetscErrorCode AIJTCUMultiply(Mat A, AIJTCUPlan *plan, const AIJTCUAsk *ask, Mat B, Mat C, PetscBool *done)
{
  const PetscBool     tcu   = (PetscBool)(ask->path == MAT_AIJTCU_PATH_TCU);
  const PetscLogEvent event = tcu ? MAT_AIJTCU_Tcu : MAT_AIJTCU_CSR;
  AIJTCUWorkOrder     order;
  PetscLogDouble      flops;
  HrpbError           err = HRPB_SUCCESS;

  PetscFunctionBegin;
  PetscCall(AIJTCUPlanOrder(A, plan, ask, &order));
  *done = (PetscBool)(order.kernel != NULL);
  if (!*done) PetscFunctionReturn(PETSC_SUCCESS);
  /* PETSc counts four for each of complex numbers */
  flops = 2.0 * (PetscLogDouble)SpmmFactsOf(&order.A).nnz / (order.A.vector ? 1 : AIJTCU_PARTS * AIJTCU_PARTS) * (PetscLogDouble)B->cmap->n;
  PetscCall(PetscLogEventBegin(event, A, B, C, 0));
  if (order.kernel->host) {
    PetscCall(AIJTCUHostMultiply(A, &order, B, C, &err));
    if (!err) PetscCall(PetscLogFlops(flops));
  }
  #if AIJTCU_HAVE_DEVICE
  else {
    PetscCall(AIJTCUDeviceMultiply(A, plan, ask, &order, B, C, &err));
    if (!err) PetscCall(PetscLogGpuFlops(flops));
  }
  #endif
  PetscCall(PetscLogEventEnd(event, A, B, C, 0));
  *done = (PetscBool)!err;
  if (err) {
    PetscCall(PetscInfo(A, "aijtcu: no product on the %s path, %s instead: %s\n", MatAIJTCUPaths[ask->path],
      tcu ? "the CSR path" : "the parent's product", HrpbErrorString(err)));
  } else if (tcu) AIJTCUCount(plan, tcu);
  else AIJTCUCount(plan, csr);
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* The same. Where bricks cannot be had, the CSR path takes their place */
static PetscErrorCode AIJTCUMultiplyOr(Mat A, AIJTCUPlan *plan, AIJTCUAsk ask, Mat B, Mat C, PetscBool *done)
{
  PetscFunctionBegin;
  PetscCall(AIJTCUMultiply(A, plan, &ask, B, C, done));
  if (!*done && ask.path == MAT_AIJTCU_PATH_TCU) {
    ask.path = MAT_AIJTCU_PATH_CSR;
    PetscCall(AIJTCUMultiply(A, plan, &ask, B, C, done));
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* The operands of a product may have been replaced since it was set up */
static PetscErrorCode AIJTCUCheckSizes(Mat C, PetscBool transposed)
{
  const Mat      A = C->product->A, B = C->product->B;
  const PetscInt m = transposed ? A->cmap->n : A->rmap->n, n = transposed ? A->rmap->n : A->cmap->n;

  PetscFunctionBegin;
  PetscCheck(m == C->rmap->n && n == B->rmap->n && B->cmap->n == C->cmap->n, PETSC_COMM_SELF, PETSC_ERR_ARG_SIZ,
    "Local sizes do not fit: A %" PetscInt_FMT " x %" PetscInt_FMT ", B %" PetscInt_FMT " x %" PetscInt_FMT ", C %" PetscInt_FMT
    " x %" PetscInt_FMT,
    A->rmap->n, A->cmap->n, B->rmap->n, B->cmap->n, C->rmap->n, C->cmap->n);
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Numeric phase. The parent makes the product, too, if A or what is known of it changed since the product was set up */
static PetscErrorCode AIJTCUNumeric(Mat C, PetscErrorCode (*self)(Mat), MatAIJTCUPath path)
{
  Mat         A = C->product->A, B = C->product->B;
  AIJTCUAsk   ask = {.op = SPMM_OP_PRODUCT, .N = B->cmap->n, .decide = AIJTCUWholeColumns(B->cmap->n), .path = path};
  AIJTCUPlan *plan;
  PetscBool   done = PETSC_FALSE, changed;

  PetscFunctionBegin;
  PetscCall(AIJTCUGetPlan(A, &plan));
  PetscCall(AIJTCUProductSymmetryChanged(C, &changed));
  PetscCall(AIJTCUCheckSizes(C, PETSC_FALSE));
  if (plan && !changed) PetscCall(AIJTCUMultiplyOr(A, plan, ask, B, C, &done));
  PetscCall(AIJTCUNumericEnd(C, self, done));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode MatProductNumeric_AIJTCU_Bricks(Mat C)
{
  PetscFunctionBegin;
  PetscCall(AIJTCUNumeric(C, MatProductNumeric_AIJTCU_Bricks, MAT_AIJTCU_PATH_TCU));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode MatProductNumeric_AIJTCU_CSR(Mat C)
{
  PetscFunctionBegin;
  PetscCall(AIJTCUNumeric(C, MatProductNumeric_AIJTCU_CSR, MAT_AIJTCU_PATH_CSR));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* C gets the type that the parent's product gives it, so that a caller sees no difference between the paths */
static PetscErrorCode AIJTCUSymbolic(Mat C, PetscBool transposed, PetscErrorCode (*numeric)(Mat))
{
  const Mat         A = C->product->A, B = C->product->B;
  const PetscLayout rows = transposed ? A->cmap : A->rmap;
  AIJTCUPlan       *plan;
  PetscBool         cdense, bcuda, bound;

  PetscFunctionBegin;
  PetscCall(AIJTCUGetPlan(A, &plan));
  PetscCall(MatBoundToCPU(A, &bound));
  PetscCall(MatSetSizes(C, rows->n, B->cmap->n, rows->N, B->cmap->N));
  if (!transposed) PetscCall(MatSetBlockSizesFromMats(C, A, B));
  PetscCall(PetscObjectBaseTypeCompare((PetscObject)C, MATSEQDENSE, &cdense));
  if (!cdense) {
    PetscCall(PetscObjectTypeCompare((PetscObject)B, MATSEQDENSECUDA, &bcuda));
    PetscCall(MatSetType(C, plan->id.device && !bound ? MATSEQDENSECUDA : ((PetscObject)B)->type_name));
    if (bcuda || !plan->id.device) PetscCall(MatSetVecType(C, B->defaultvectype));
  }
  PetscCall(MatSetUp(C));
  if (C->product->type == MATPRODUCT_AtB && !transposed) C->product->symbolic_used_the_fact_A_is_symmetric = PETSC_TRUE;
  C->ops->productnumeric = numeric;
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode MatProductSymbolic_AIJTCU_Bricks(Mat C)
{
  PetscFunctionBegin;
  PetscCall(AIJTCUSymbolic(C, PETSC_FALSE, MatProductNumeric_AIJTCU_Bricks));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode MatProductSymbolic_AIJTCU_CSR(Mat C)
{
  PetscFunctionBegin;
  PetscCall(AIJTCUSymbolic(C, PETSC_FALSE, MatProductNumeric_AIJTCU_CSR));
  PetscFunctionReturn(PETSC_SUCCESS);
}
#endif

/* Decide the path of a product with N columns. It is in the ask then */
static PetscErrorCode AIJTCUDecideProduct(Mat A, AIJTCUPlan *plan, PetscInt N, AIJTCUAsk *ask)
{
  const PetscInt columns = AIJTCUWholeColumns(N);

  PetscFunctionBegin;
  *ask = (AIJTCUAsk){.op = SPMM_OP_PRODUCT, .N = N, .decide = columns};
  PetscCall(AIJTCUPlanDecide(A, plan, ask));
  PetscCall(AIJTCURecordChoice(A, columns, ask->path, AIJTCUReasons[ask->reason]));
  if (ask->path == MAT_AIJTCU_PATH_CSR) PetscCall(PetscInfo(A, "aijtcu: product with %" PetscInt_FMT " columns on the CSR path: %s\n", columns, AIJTCUReasons[ask->reason]));
  PetscFunctionReturn(PETSC_SUCCESS);
}

#if AIJTCU_HAVE_DEVICE
/* Compute C = A B of sequential matrices on a device without a MatProduct. done says whether the product was ours */
static PetscErrorCode AIJTCUMultiplyOnce(Mat A, Mat B, Mat C, PetscBool *done)
{
  AIJTCUPlan *plan;
  AIJTCUAsk   ask;

  PetscFunctionBegin;
  *done = PETSC_FALSE;
  PetscCall(AIJTCUGetPlan(A, &plan));
  PetscCall(AIJTCUDecideProduct(A, plan, B->cmap->n, &ask));
  if (ask.path != MAT_AIJTCU_PATH_CUSPARSE) PetscCall(AIJTCUMultiplyOr(A, plan, ask, B, C, done));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode MatProductNumeric_AIJTCU_Transposed(Mat C)
{
  Mat         A = C->product->A, B = C->product->B, T;
  AIJTCUPlan *plan;
  PetscBool   done = PETSC_FALSE;

  PetscFunctionBegin;
  PetscCall(AIJTCUGetPlan(A, &plan));
  PetscCall(AIJTCUCheckSizes(C, PETSC_TRUE));
  if (plan) PetscCall(AIJTCUOnDevice(A, plan, &done));
  if (done) {
    PetscCall(AIJTCUPlanTransposed(A, plan, &T));
    done = PETSC_FALSE;
    if (T) PetscCall(AIJTCUMultiplyOnce(T, B, C, &done));
  }
  PetscCall(AIJTCUNumericEnd(C, MatProductNumeric_AIJTCU_Transposed, done));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode MatProductSymbolic_AIJTCU_Transposed(Mat C)
{
  PetscFunctionBegin;
  PetscCall(AIJTCUSymbolic(C, PETSC_TRUE, MatProductNumeric_AIJTCU_Transposed));
  PetscFunctionReturn(PETSC_SUCCESS);
}
#endif

/*
   Set up the product of a sequential A with a dense B, if it is ours. On the host the parent's product is the CSR path
*/
PetscErrorCode AIJTCUSetUpProduct(Mat C, AIJTCUPlan *plan, PetscBool transposed)
{
  Mat       A = C->product->A;
  AIJTCUAsk ask;
  PetscBool device;

  PetscFunctionBegin;
  PetscCall(AIJTCUOnDevice(A, plan, &device));
  if (transposed) { /* the numeric phase decides about the transpose */
#if AIJTCU_HAVE_DEVICE
    if (device && AIJTCUGetOptions(plan)->path != MAT_AIJTCU_PATH_CUSPARSE) C->ops->productsymbolic = MatProductSymbolic_AIJTCU_Transposed;
#endif
    PetscFunctionReturn(PETSC_SUCCESS);
  }
  PetscCall(AIJTCUDecideProduct(A, plan, C->product->B->cmap->n, &ask));
#if AIJTCU_HAVE_BRICKS
  if (ask.path == MAT_AIJTCU_PATH_TCU) C->ops->productsymbolic = MatProductSymbolic_AIJTCU_Bricks;
  else if (ask.path == MAT_AIJTCU_PATH_CSR && device) C->ops->productsymbolic = MatProductSymbolic_AIJTCU_CSR;
#endif
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* C = A B of sequential matrices, from its making to its end: C may belong to another product next time */
PetscErrorCode AIJTCUMultiplyLocal(Mat A, Mat B, Mat C)
{
  PetscBool done = PETSC_FALSE;

  PetscFunctionBegin;
#if AIJTCU_HAVE_DEVICE
  {
    AIJTCUPlan *plan;
    PetscBool   device;

    PetscCall(AIJTCUGetPlan(A, &plan));
    PetscCall(AIJTCUOnDevice(A, plan, &device));
    if (device) PetscCall(AIJTCUMultiplyOnce(A, B, C, &done));
  }
#endif
  if (done) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCall(MatProductClear(C));
  PetscCall(MatProductCreateWithMat(A, B, NULL, C));
  PetscCall(MatProductSetType(C, MATPRODUCT_AB));
  PetscCall(MatProductSetFromOptions(C));
  PetscCall(MatProductSymbolic(C));
  PetscCall(MatProductNumeric(C));
  PetscCall(MatProductClear(C));
  PetscFunctionReturn(PETSC_SUCCESS);
}
