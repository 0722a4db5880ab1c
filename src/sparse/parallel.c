/*
   Products of parallel sparse matrices on devices: A B, A^T B and P^T A P.

   Each process multiplies with the rows that it has, by kernels/sparse, as one matrix of both blocks. Columns of other
   processes come after its own. Two exchanges are between these products:

     gather   for A B: rows of B that the columns of A name are fetched from their owners, and are behind B's own rows
     scatter  for A^T B: rows of the result that others own go to them. There they are added: a matrix of ones, which
              selects the rows to add, times all that there is. So the order of the sums is always the same

   P^T A P is both, one after the other. The result is split into the two blocks that PETSc has. Its pattern goes to the
   host, its values stay on the device. With new values only values are sent.

   What a process cannot do by itself, for lack of memory, all leave to the host.
*/
#include "parallelplan.h"
#include "../upstream/upstream.h"
#include <csr/transpose.h>

#if AIJTCU_HAVE_DEVICE_REAL && AIJTCU_HAVE_HALO
  #include <petscdevice_cuda.h>

/* Whether this process can multiply with A on its device */
static PetscErrorCode AIJTCUParallelUsable(Mat A, PetscBool *is)
{
  Mat             block[2];
  const PetscInt *garray;
  AIJTCUPlan     *plan;

  PetscFunctionBegin;
  *is = A->assembled;
  if (!*is) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCall(AIJTCUGetPlan(A, &plan));
  if (plan) PetscCall(AIJTCUAttachBlocks(A)); /* assembly may have made blocks of the host */
  PetscCall(AIJTCULocalBlocks(A, block, &garray));
  for (PetscInt i = 1; block[1] && i < block[1]->cmap->n && *is; i++) *is = (PetscBool)(garray[i - 1] < garray[i]);
  for (int b = 0; b < 2 && *is; b++) {
    *is = (PetscBool)(block[b] != NULL);
    if (*is) PetscCall(AIJTCUSparseOnDevice(block[b], is));
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode AIJTCUParallelDestroy(AIJTCUProductData data)
{
  AIJTCUParallel *s = (AIJTCUParallel *)AIJTCU_PRODUCT_GIVEN(data);

  PetscFunctionBegin;
  PetscCall(AIJTCUParallelReset(s));
  PetscCall(PetscFree(s));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Values of one product. Those of the operands are on the device */
static PetscErrorCode AIJTCUFillProduct(SparsePlan *plan, const SparseMatrix M[], PetscScalar *values, cudaStream_t stream)
{
  PetscFunctionBegin;
  AIJTCUCallKernels(SparsePlanFill(plan, M, values, stream));
  PetscCall(PetscLogGpuFlops(2.0 * (PetscLogDouble)SparsePlanMultiplications(plan)));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Values of the operands, and of what others need of them */
static PetscErrorCode AIJTCUFillOperandsOnStream(AIJTCUParallel *s, const SparseMatrix a[2], const SparseMatrix b[2], cudaStream_t stream)
{
  PetscFunctionBegin;
  AIJTCUCallKernels(SparseJoinValues(&b[0], &b[1], s->B.values, stream));
  if (s->gather.sent) {
    AIJTCUCallKernels(CsrTakeDevice(s->gather.sent, s->map, s->B.values, s->out, stream));
    PetscCall(AIJTCUSparseBring(s->gather.out, s->out, sizeof(PetscScalar) * (size_t)s->gather.sent, stream));
  }
  AIJTCUCallKernels(SparseJoinValues(&a[0], &a[1], s->A.values, stream));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode AIJTCUFillFirstOnStream(AIJTCUParallel *s, int64_t rows, cudaStream_t stream)
{
  SparseMatrix M[2] = {AIJTCUOfRows(&s->A), AIJTCUOfRows(&s->B)};

  PetscFunctionBegin;
  if (s->of[WITH_B]) {
    PetscScalar *values = s->of[WITH_AT] ? s->between : s->values;

    PetscCall(AIJTCUToDevice(s->B.values + s->own, s->gather.in, sizeof(PetscScalar) * (size_t)s->gather.received, stream));
    PetscCall(AIJTCUFillProduct(&s->plan[WITH_B], M, values, stream));
    M[0] = AIJTCUOwnRows(s, rows);
    M[1] = AIJTCUOfProduct(&s->plan[WITH_B].result, values);
  }
  if (s->of[WITH_AT]) {
    PetscCall(AIJTCUFillProduct(&s->plan[WITH_AT], M, s->parts.values, stream));
    if (s->scatter.sent) PetscCall(AIJTCUSparseBring(s->scatter.out, s->parts.values + s->kept,
                                                     sizeof(PetscScalar) * (size_t)s->scatter.sent, stream));
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode AIJTCUFillSumsOnStream(AIJTCUParallel *s, cudaStream_t stream)
{
  const SparseMatrix M[2] = {AIJTCUOfRows(&s->select), AIJTCUOfRows(&s->parts)};

  PetscFunctionBegin;
  PetscCall(AIJTCUToDevice(s->parts.values + s->kept, s->scatter.in, sizeof(PetscScalar) * (size_t)s->scatter.received, stream));
  PetscCall(AIJTCUFillProduct(&s->plan[SUMS], M, s->values, stream));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode AIJTCUSplitValuesOnStream(AIJTCUParallel *s, PetscScalar *values[2], cudaStream_t stream)
{
  const SparseMatrix C = AIJTCUOfProduct(AIJTCUResult(s), s->values);

  PetscFunctionBegin;
  AIJTCUCallKernels(SparseSplitValues(&C, s->rowptr[0], s->rowptr[1], values[0], values[1], stream));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Give the blocks of C their values */
static PetscErrorCode AIJTCUSplitValues(Mat C, AIJTCUParallel *s)
{
  cudaStream_t   stream = NULL;
  Mat            block[2];
  PetscScalar   *values[2];
  PetscErrorCode ierr;

  PetscFunctionBegin;
  PetscCall(AIJTCULocalBlocks(C, block, NULL));
  for (int b = 0; b < 2; b++) PetscCall(AIJTCUSparseWriteBegin(block[b], &values[b]));
  ierr = AIJTCUDeviceBegin(&stream);
  if (!ierr) ierr = AIJTCUSplitValuesOnStream(s, values, stream);
  PetscCall(AIJTCUDeviceEnd(stream));
  for (int b = 0; b < 2; b++) PetscCall(AIJTCUSparseWriteEnd(block[b], &values[b]));
  PetscCall(ierr);
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Functions that may fail, with exchanges in between that take place whatever happens. Collective */
static PetscErrorCode AIJTCUFill(Mat C, AIJTCUParallel *s)
{
  const Mat      A = C->product->A, B = C->product->B;
  cudaStream_t   stream = NULL;
  SparseMatrix   M[2][2];
  PetscErrorCode ierr, end;

  PetscFunctionBegin;
  ierr = AIJTCUBlockArrays(s, A, PETSC_TRUE, M[0]);
  if (!ierr) ierr = AIJTCUBlockArrays(s, B, PETSC_TRUE, M[1]);
  if (!ierr) ierr = AIJTCUDeviceBegin(&stream);
  if (!ierr) ierr = AIJTCUFillOperandsOnStream(s, M[0], M[1], stream);
  if (s->of[WITH_B]) PetscCall(AIJTCUShipmentGo(&s->gathered, &s->gather));
  if (!ierr) ierr = AIJTCUFillFirstOnStream(s, B->rmap->n, stream);
  if (s->of[SUMS]) {
    PetscCall(AIJTCUShipmentGo(&s->scattered, &s->scatter));
    if (!ierr) ierr = AIJTCUFillSumsOnStream(s, stream);
  }
  end = AIJTCUDeviceEnd(stream);
  if (!ierr) ierr = end;
  if (!ierr) ierr = AIJTCUSplitValues(C, s);
  PetscCall(AIJTCUAgree(PetscObjectComm((PetscObject)C), ierr, PETSC_TRUE, NULL));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Whether C is a product for this file, by what its operands are. All processes have the same answer */
PetscErrorCode AIJTCUParallelIs(Mat C, PetscBool *is)
{
  const Mat_Product *product    = C->product;
  const Mat          operand[2] = {product->A, product->B};

  PetscFunctionBegin;
  *is = (PetscBool)(!C->structure_only && (product->type == MATPRODUCT_AB || product->type == MATPRODUCT_AtB ||
                                           product->type == MATPRODUCT_PtAP));
  for (int i = 0; i < 2 && *is; i++) {
    AIJTCUPlan *plan;

    PetscCall(PetscObjectBaseTypeCompare((PetscObject)operand[i], MATMPIAIJ, is));
    if (!*is) break;
    PetscCall(AIJTCUGetPlan(operand[i], &plan));
    PetscCall(AIJTCUAtDevice(operand[i], plan, is));
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode AIJTCUParallelAllUsable(Mat C, PetscBool *all)
{
  PetscBool      a = PETSC_FALSE, b = PETSC_FALSE, c = PETSC_TRUE;
  PetscErrorCode ierr;

  PetscFunctionBegin;
  ierr = AIJTCUParallelUsable(C->product->A, &a);
  if (!ierr) ierr = AIJTCUParallelUsable(C->product->B, &b);
  if (!ierr && C->assembled) ierr = AIJTCUParallelUsable(C, &c); /* a C that there is */
  PetscCall(AIJTCUAgree(PetscObjectComm((PetscObject)C), ierr, (PetscBool)(a && b && c && !(C->assembled && C->boundtocpu)), all));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode MatProductNumeric_AIJTCU_Parallel(Mat C)
{
  AIJTCUParallel  *s = (AIJTCUParallel *)C->product->data;
  AIJTCUPatternKey key[2];
  PetscBool        usable, same;
  AIJTCUPlan      *plan;

  PetscFunctionBegin;
  PetscCall(AIJTCUParallelAllUsable(C, &usable));
  if (usable) {
    PetscCall(AIJTCUPatternKeyGet(C->product->A, &key[0]));
    PetscCall(AIJTCUPatternKeyGet(C->product->B, &key[1]));
    same = (PetscBool)(s->zeros && AIJTCUPatternKeyEqual(&key[0], &s->key[0]) && AIJTCUPatternKeyEqual(&key[1], &s->key[1]));
    PetscCall(AIJTCUAgree(PetscObjectComm((PetscObject)C), PETSC_SUCCESS, same, &same));
    if (!same) PetscCall(AIJTCUParallelPlan(C, s, &usable));
  }
  if (!usable) {
    PetscCall(PetscInfo(C, "aijtcu: parallel sparse product of operands that have changed: another product makes the values\n"));
    PetscCall(AIJTCUProductOfReplaced(C));
    PetscFunctionReturn(PETSC_SUCCESS);
  }
  PetscCall(AIJTCUFill(C, s));
  PetscCall(AIJTCUGetPlan(C, &plan));
  if (plan) AIJTCUCount(plan, sparse);
  PetscCall(MatAssemblyBegin(C, MAT_FINAL_ASSEMBLY));
  PetscCall(MatAssemblyEnd(C, MAT_FINAL_ASSEMBLY));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* done says whether C is made on the devices. Collective */
PetscErrorCode AIJTCUParallelSymbolic(Mat C, PetscBool *done)
{
  AIJTCUParallel *s;

  PetscFunctionBegin;
  PetscCall(AIJTCUParallelAllUsable(C, done));
  if (!*done) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCall(PetscNew(&s));
  C->product->data    = s;
  C->product->destroy = AIJTCUParallelDestroy;
  PetscCall(AIJTCUParallelPlan(C, s, done));
  if (*done) C->ops->productnumeric = MatProductNumeric_AIJTCU_Parallel;
  else {
    PetscCall(PetscFree(s));
    C->product->data    = NULL;
    C->product->destroy = NULL;
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}
#endif
