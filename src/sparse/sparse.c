/*
   Products of sparse matrices on a device: set-up, symbolic and numeric phase.

   The symbolic phase makes the pattern on the device, by kernels/sparse, and gives C its arrays on the host. The
   numeric phase fills the values on the device. They come to the host when somebody asks for them there. What else a
   product needs, such as A P and the transpose of P, are arrays on the device without a Mat. They are kept until C's
   product is cleared, so new values make no structure and allocate nothing.

   The parent makes a product that is not ours: where an operand is on the host, or where memory is short.
*/
#include "sparseimpl.h"
#include "../upstream/upstream.h"

#if AIJTCU_HAVE_DEVICE_REAL
  #include <petscdevice_cuda.h>

/* What a product has between its phases */
typedef struct {
  SparsePlan       plan;
  AIJTCUPatternKey key[3]; /* of the operands */
} AIJTCUSparse;

/* How the parent's product is set up */
static PetscErrorCode (*AIJTCUSparseParent)(Mat);

/* The operands of a product, in the order of kernels/sparse */
static PetscErrorCode AIJTCUSparseOperands(Mat C, Mat operand[3], SparseOp *op, PetscBool *is)
{
  const Mat_Product *product = C->product;

  PetscFunctionBegin;
  *is        = PETSC_TRUE;
  operand[0] = product->A;
  operand[1] = product->B;
  operand[2] = NULL;
  switch (product->type) {
  case MATPRODUCT_AB:
    *op = SPARSE_AB;
    break;
  case MATPRODUCT_AtB:
    *op = SPARSE_AtB;
    break;
  case MATPRODUCT_PtAP:
    *op = SPARSE_PtAP;
    break;
  case MATPRODUCT_RARt:
    *op = SPARSE_RARt;
    break;
  case MATPRODUCT_ABC:
    *op        = SPARSE_ABC;
    operand[2] = product->C;
    break;
  default:
    *is = PETSC_FALSE;
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Whether the product can be made on the device now */
static PetscErrorCode AIJTCUSparseUsable(Mat C, Mat operand[3], SparseOp *op, PetscBool *is)
{
  PetscFunctionBegin;
  PetscCall(AIJTCUSparseOperands(C, operand, op, is));
  for (int i = 0; i < 3 && *is; i++) {
    if (operand[i]) PetscCall(AIJTCUSparseOnDevice(operand[i], is));
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode AIJTCUSparsePlanDestroy(SparsePlan *plan)
{
  const PetscBool used = (PetscBool)(plan->result.rowptr != NULL);
  HrpbError       err;

  PetscFunctionBegin;
  if (!used) PetscFunctionReturn(PETSC_SUCCESS);
  AIJTCUCallDevice(err, SparsePlanDestroy(plan, HRPB_SUCCESS, AIJTCUDeviceStreamBehind()));
  AIJTCUWorkspaceUser(PETSC_FALSE);
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode AIJTCUSparseDestroy(AIJTCUProductData data)
{
  AIJTCUSparse *s = (AIJTCUSparse *)AIJTCU_PRODUCT_GIVEN(data);

  PetscFunctionBegin;
  PetscCall(AIJTCUSparsePlanDestroy(&s->plan));
  PetscCall(PetscFree(s));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode AIJTCUSparsePlanOnStream(SparseOp op, const SparseMatrix matrix[], PetscBool values, cudaStream_t stream, SparsePlan *plan, HrpbError *err)
{
  PetscFunctionBegin;
  PetscCall(PetscLogGpuTimeBegin());
  AIJTCUCallDevice(*err, SparsePlanCreate(op, matrix, values, stream, plan));
  PetscCall(PetscLogGpuTimeEnd());
  if (!*err) AIJTCUWorkspaceUser(PETSC_TRUE);
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* The plan for operands as they are now */
static PetscErrorCode AIJTCUSparsePlan(Mat C, const Mat operand[3], SparseOp op, AIJTCUSparse *s, HrpbError *err)
{
  SparseMatrix matrix[3];
  cudaStream_t stream = NULL;

  PetscFunctionBegin;
  for (int i = 0; i < 3; i++) {
    if (!operand[i]) continue;
    PetscCall(AIJTCUSparseArrays(operand[i], PETSC_FALSE, &matrix[i]));
    PetscCall(AIJTCUPatternKeyGet(operand[i], &s->key[i]));
  }
  AIJTCUCallOnStream(stream, AIJTCUSparsePlanOnStream(op, matrix, (PetscBool)!C->structure_only, stream, &s->plan, err));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Blocks of C are those of the operands, as the parent's are */
static PetscErrorCode AIJTCUSparseBlockSizes(Mat C, const Mat operand[3], SparseOp op)
{
  const PetscLayout rows    = op == SPARSE_AtB ? operand[0]->cmap : op == SPARSE_PtAP ? operand[1]->cmap : op == SPARSE_RARt ? operand[1]->rmap : operand[0]->rmap;
  const PetscLayout columns = op == SPARSE_ABC ? operand[2]->cmap : op == SPARSE_RARt ? operand[1]->rmap : operand[1]->cmap;

  PetscFunctionBegin;
  if (rows->bs > 0) PetscCall(PetscLayoutSetBlockSize(C->rmap, rows->bs));
  if (columns->bs > 0) PetscCall(PetscLayoutSetBlockSize(C->cmap, columns->bs));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*
   Let C be a matrix with the pattern of the plan. As after the parent's symbolic phase it is not assembled yet,
   unless it is to have no values
*/
static PetscErrorCode AIJTCUSparseResult(Mat C, const Mat operand[3], SparseOp op, const SparseProduct *p)
{
  PetscBool sparse;

  PetscFunctionBegin;
  PetscCall(AIJTCUSparseBlockSizes(C, operand, op));
  PetscCall(MatSetSizes(C, (PetscInt)p->nrows, (PetscInt)p->ncols, (PetscInt)p->nrows, (PetscInt)p->ncols));
  PetscCall(PetscObjectBaseTypeCompare((PetscObject)C, MATSEQAIJ, &sparse));
  if (C->structure_only) PetscCall(MatSetType(C, MATSEQAIJ)); /* as PETSc has it */
  else if (!sparse) PetscCall(MatSetType(C, MATSEQAIJCUSPARSE));
  PetscCall(AIJTCUSparsePattern(C, p->nrows, p->nnz, p->rowptr, p->colidx));
  C->offloadmask = PETSC_OFFLOAD_UNALLOCATED; /* whatever C was before */
  if (C->structure_only) {
    PetscCall(MatAssemblyBegin(C, MAT_FINAL_ASSEMBLY));
    PetscCall(MatAssemblyEnd(C, MAT_FINAL_ASSEMBLY));
    PetscFunctionReturn(PETSC_SUCCESS);
  }
  PetscUseTypeMethod(C, assemblyend, MAT_FINAL_ASSEMBLY);
  if (!sparse) PetscCall(AIJTCUInheritFromFirst(operand, C));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode AIJTCUSparseFillOnStream(SparsePlan *plan, const SparseMatrix matrix[], PetscScalar *values, cudaStream_t stream)
{
  HrpbError err = HRPB_SUCCESS;

  PetscFunctionBegin;
  PetscCall(PetscLogGpuTimeBegin());
  err = SparsePlanFill(plan, matrix, values, stream);
  PetscCall(PetscLogGpuTimeEnd());
  PetscCheck(!err, PETSC_COMM_SELF, PETSC_ERR_GPU, "A sparse product failed: %s: %s", HrpbErrorString(err), HrpbDeviceErrorString());
  PetscCall(PetscLogGpuFlops(2.0 * (PetscLogDouble)SparsePlanMultiplications(plan)));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode AIJTCUSparseFillInto(AIJTCUSparse *s, const Mat operand[3], PetscScalar *values)
{
  SparseMatrix matrix[3];
  cudaStream_t stream = NULL;

  PetscFunctionBegin;
  for (int i = 0; i < 3; i++) {
    if (operand[i]) PetscCall(AIJTCUSparseArrays(operand[i], PETSC_TRUE, &matrix[i]));
  }
  AIJTCUCallOnStream(stream, AIJTCUSparseFillOnStream(&s->plan, matrix, values, stream));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* The values of C on the device, which become the newest */
static PetscErrorCode AIJTCUSparseFill(Mat C, AIJTCUSparse *s, const Mat operand[3])
{
  PetscScalar   *values;
  PetscErrorCode ierr;

  PetscFunctionBegin;
  PetscCall(AIJTCUSparseWriteBegin(C, &values));
  ierr = AIJTCUSparseFillInto(s, operand, values);
  PetscCall(AIJTCUSparseWriteEnd(C, &values));
  PetscCall(ierr);
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Whether the operands have the patterns of the symbolic phase */
static PetscErrorCode AIJTCUSparseSamePatterns(const AIJTCUSparse *s, const Mat operand[3], PetscBool *same)
{
  AIJTCUPatternKey key;

  PetscFunctionBegin;
  *same = PETSC_TRUE;
  for (int i = 0; i < 3 && *same; i++) {
    if (!operand[i]) continue;
    PetscCall(AIJTCUPatternKeyGet(operand[i], &key));
    *same = AIJTCUPatternKeyEqual(&key, &s->key[i]);
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Operands with other patterns, or other operands: as in the symbolic phase, with the C that there is */
static PetscErrorCode AIJTCUSparseRenew(Mat C, AIJTCUSparse *s, const Mat operand[3], SparseOp op, PetscBool *done)
{
  HrpbError err = HRPB_SUCCESS;

  PetscFunctionBegin;
  PetscCall(AIJTCUSparsePlanDestroy(&s->plan));
  PetscCall(AIJTCUSparsePlan(C, operand, op, s, &err));
  *done = (PetscBool)!err;
  if (!err) PetscCall(AIJTCUSparseResult(C, operand, op, &s->plan.result));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode MatProductNumeric_AIJTCU_Sparse(Mat C)
{
  AIJTCUSparse *s = (AIJTCUSparse *)C->product->data;
  Mat           operand[3];
  SparseOp      op;
  PetscBool     usable, same;
  AIJTCUPlan   *plan;

  PetscFunctionBegin;
  PetscCall(AIJTCUSparseUsable(C, operand, &op, &usable));
  if (C->boundtocpu) usable = PETSC_FALSE;
  if (usable) {
    PetscCall(AIJTCUSparseSamePatterns(s, operand, &same));
    if (!same || !s->plan.result.rowptr) PetscCall(AIJTCUSparseRenew(C, s, operand, op, &usable));
  }
  if (!usable) { /* an operand has gone to the host, for example */
    PetscCall(PetscInfo(C, "aijtcu: sparse product of operands that have changed: another product makes the values\n"));
    PetscCall(AIJTCUProductOfReplaced(C));
    PetscFunctionReturn(PETSC_SUCCESS);
  }
  PetscCall(AIJTCUSparseFill(C, s, operand));
  PetscCall(AIJTCUGetPlan(C, &plan));
  if (plan) AIJTCUCount(plan, sparse);
  PetscCall(MatAssemblyBegin(C, MAT_FINAL_ASSEMBLY));
  PetscCall(MatAssemblyEnd(C, MAT_FINAL_ASSEMBLY));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode AIJTCUSparseByParent(Mat C)
{
  PetscFunctionBegin;
  C->ops->productsymbolic = NULL;
  PetscCall((*AIJTCUSparseParent)(C));
  PetscUseTypeMethod(C, productsymbolic);
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode MatProductSymbolic_AIJTCU_Sparse(Mat C)
{
  Mat           operand[3];
  SparseOp      op;
  PetscBool     usable;
  AIJTCUSparse *s;
  HrpbError     err = HRPB_ERR_UNSUPPORTED;

  PetscFunctionBegin;
  PetscCall(AIJTCUSparseUsable(C, operand, &op, &usable));
  PetscCall(PetscNew(&s));
  C->product->data    = s;
  C->product->destroy = AIJTCUSparseDestroy;
  if (usable) PetscCall(AIJTCUSparsePlan(C, operand, op, s, &err));
  if (err) {
    PetscCall(PetscInfo(C, "aijtcu: sparse product by the parent: %s\n", usable ? HrpbErrorString(err) : "an operand is on the host"));
    PetscCall(PetscFree(s));
    C->product->data    = NULL;
    C->product->destroy = NULL;
    PetscCall(AIJTCUSparseByParent(C));
    PetscFunctionReturn(PETSC_SUCCESS);
  }
  PetscCall(AIJTCUSparseResult(C, operand, op, &s->plan.result));
  C->ops->productsymbolic = MatProductSymbolic_AIJTCU_Sparse;
  C->ops->productnumeric  = MatProductNumeric_AIJTCU_Sparse;
  PetscFunctionReturn(PETSC_SUCCESS);
}

  #if AIJTCU_HAVE_HALO
static PetscErrorCode MatProductSymbolic_AIJTCU_Parallel(Mat C)
{
  PetscBool done;

  PetscFunctionBegin;
  PetscCall(AIJTCUParallelSymbolic(C, &done));
  if (!done) {
    PetscCall(PetscInfo(C, "aijtcu: parallel sparse product by the parent: a process cannot make its part on a device\n"));
    PetscCall(AIJTCUSparseByParent(C));
    PetscFunctionReturn(PETSC_SUCCESS);
  }
  C->ops->productsymbolic = MatProductSymbolic_AIJTCU_Parallel;
  PetscFunctionReturn(PETSC_SUCCESS);
}
  #endif

/*
   The symbolic phase that C has by what its operands are, or NULL. All processes have the same. What a process can do
   comes to light in that phase
*/
static PetscErrorCode AIJTCUSparseSymbolic(Mat C, PetscErrorCode (**symbolic)(Mat))
{
  Mat       operand[3];
  SparseOp  op;
  PetscBool is;

  PetscFunctionBegin;
  *symbolic = NULL;
  PetscCall(AIJTCUSparseUsable(C, operand, &op, &is));
  if (is) *symbolic = MatProductSymbolic_AIJTCU_Sparse;
  #if AIJTCU_HAVE_HALO
  PetscCall(AIJTCUParallelIs(C, &is));
  if (is) *symbolic = MatProductSymbolic_AIJTCU_Parallel;
  #endif
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Whether the user wants PETSc's product of the host, which is an option of the parent type */
static PetscErrorCode AIJTCUSparseOnHost(Mat C, PetscBool *host)
{
  const char *const names[] = {[MATPRODUCT_AB] = "-matmatmult_backend_cpu", [MATPRODUCT_AtB] = "-mattransposematmult_backend_cpu", [MATPRODUCT_PtAP] = "-matptap_backend_cpu", [MATPRODUCT_RARt] = "-matrart_backend_cpu", [MATPRODUCT_ABC] = "-matmatmatmult_backend_cpu"};
  const char       *prefix;

  PetscFunctionBegin;
  *host = PETSC_FALSE;
  PetscCall(MatGetOptionsPrefix(C, &prefix));
  PetscCall(PetscOptionsGetBool(NULL, prefix, C->product->api_user ? names[C->product->type] : "-mat_product_algorithm_backend_cpu", host, NULL));
  PetscFunctionReturn(PETSC_SUCCESS);
}
#endif

/* Set up a product of sparse matrices, if it is ours. parent sets up that of the parent type */
PetscErrorCode AIJTCUSetUpSparse(Mat C, PetscErrorCode (*parent)(Mat))
{
  PetscFunctionBegin;
#if AIJTCU_HAVE_DEVICE_REAL
  {
    const Mat operand[3] = {C->product->A, C->product->B, C->product->C};
    PetscBool host, ours = PETSC_FALSE, parents = PETSC_FALSE;
    PetscErrorCode (*symbolic)(Mat);

    PetscCall(AIJTCUSparseSymbolic(C, &symbolic));
    for (int i = 0; i < 3 && symbolic; i++) {
      AIJTCUPlan *plan = NULL;

      if (operand[i]) PetscCall(AIJTCUGetPlan(operand[i], &plan));
      if (plan && AIJTCUGetOptions(plan)->sparse == MAT_AIJTCU_SPARSE_CUSPARSE) parents = PETSC_TRUE;
      else if (plan) ours = PETSC_TRUE;
    }
    if (!ours || parents) PetscFunctionReturn(PETSC_SUCCESS);
    PetscCall(AIJTCUSparseOnHost(C, &host));
    if (host) PetscFunctionReturn(PETSC_SUCCESS);
    AIJTCUSparseParent      = parent;
    C->ops->productsymbolic = symbolic;
  }
#else
  if (AIJTCU_HAVE_DEVICE) PetscCall(PetscInfo(C, "aijtcu: a product of sparse matrices is made by PETSc on the host: our kernels have real scalars\n"));
  (void)parent;
#endif
  PetscFunctionReturn(PETSC_SUCCESS);
}
