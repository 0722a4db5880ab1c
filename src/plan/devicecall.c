/*
   Work on a GPU with the arrays that PETSc has there of a matrix.
*/
#include "planimpl.h"
#include "../upstream/upstream.h"

#if AIJTCU_HAVE_DEVICE
enum {
  LARGE = 1 << 22 /* entries: fewer are copied as fast by the parent */
};

/* With the arrays of A in csr. A plan has those of the real matrix that a complex A is to kernels */
static PetscErrorCode AIJTCUDeviceCallAsReal(Mat A, AIJTCUPlan *plan, AIJTCUNeed need, AIJTCUDeviceCSR *csr, AIJTCUDeviceFn f, void *ctx, HrpbError *err)
{
  PetscFunctionBegin;
  if (AIJTCU_PARTS > 1 && (need == AIJTCU_CSR_PATTERN || need == AIJTCU_CSR_VALUES)) PetscCall(AIJTCURealOnStream(A, plan, need, csr, err));
  if (!*err) PetscCall((*f)(A, plan, csr, ctx, err));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode AIJTCUDeviceCallOnStream(Mat A, AIJTCUPlan *plan, AIJTCUNeed need, AIJTCUDeviceCSR *csr, AIJTCUDeviceFn f, void *ctx, HrpbError *err)
{
  PetscFunctionBegin;
  AIJTCUCallOnStream(csr->stream, AIJTCUDeviceCallAsReal(A, plan, need, csr, f, ctx, err));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode AIJTCUDeviceCallWithValues(Mat A, AIJTCUPlan *plan, AIJTCUNeed need, AIJTCUDeviceCSR *csr, AIJTCUDeviceFn f, void *ctx, HrpbError *err)
{
  const PetscScalar *values;
  PetscErrorCode     ierr;

  PetscFunctionBegin;
  AIJTCUCallParent(A, MatSeqAIJCUSPARSEGetArrayRead(A, &values));
  csr->values = (const HrpbScalar *)values;
  ierr        = AIJTCUDeviceCallOnStream(A, plan, need, csr, f, ctx, err);
  AIJTCUCallParent(A, MatSeqAIJCUSPARSERestoreArrayRead(A, &values));
  PetscCall(ierr);
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*
   Values on their way to the device are new to bricks and transposes: MatSeqAIJRestoreArrayWrite() does not increase
   the state. An object's state is never zero
*/
void AIJTCUDeviceForgetValues(Mat A, AIJTCUPlan *plan)
{
  if (A->offloadmask == PETSC_OFFLOAD_CPU) plan->real.values_state = plan->bricks.values_state = plan->transpose.values_state = plan->transposed.values_state = 0;
}

static PetscErrorCode AIJTCUDevicePattern(Mat A)
{
  const AIJTCUDeviceInt *i, *j;

  PetscFunctionBegin;
  AIJTCUCallParent(A, MatSeqAIJCUSPARSEGetIJ(A, PETSC_FALSE, &i, &j));
  AIJTCUCallParent(A, MatSeqAIJCUSPARSERestoreIJ(A, PETSC_FALSE, &i, &j));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode AIJTCUDeviceTake(PetscScalar *to, const PetscScalar *from, size_t n)
{
  struct CUstream_st *stream = NULL;

  PetscFunctionBegin;
  AIJTCUCallOnStream(stream, AIJTCUHostCopy(to, from, n * sizeof(*to), PETSC_TRUE, stream));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*
   Bring a large matrix to the device for the first time: the pattern as the parent does, values by AIJTCUHostCopy().
   What this leaves to the parent comes with whatever asks for it. No value changes, and so the state stays
*/
PetscErrorCode AIJTCUDeviceFetch(Mat A)
{
  const PetscScalar *from;
  PetscScalar       *to;
  PetscObjectState   state;
  MatInfo            info;
  PetscBool          first;
  PetscErrorCode     ierr;

  PetscFunctionBegin;
  if (A->offloadmask != PETSC_OFFLOAD_CPU || A->structure_only) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCall(MatGetInfo(A, MAT_LOCAL, &info));
  PetscCall(AIJTCUNeverOnDevice(A, &first));
  if (!first || info.nz_used < LARGE) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCall(PetscObjectStateGet((PetscObject)A, &state));
  PetscCall(MatSeqAIJGetArrayRead(A, &from));
  A->offloadmask = PETSC_OFFLOAD_UNALLOCATED; /* what the host has is not looked at */
  ierr           = AIJTCUCallWithoutValues(A, AIJTCUDevicePattern);
  A->offloadmask = PETSC_OFFLOAD_CPU;
  PetscCall(ierr);
  AIJTCUCallParent(A, MatSeqAIJCUSPARSEGetArrayWrite(A, &to));
  ierr = AIJTCUDeviceTake(to, from, (size_t)info.nz_used);
  AIJTCUCallParent(A, MatSeqAIJCUSPARSERestoreArrayWrite(A, &to));
  A->offloadmask = ierr ? PETSC_OFFLOAD_CPU : PETSC_OFFLOAD_BOTH;
  PetscCall(PetscObjectStateSet((PetscObject)A, state));
  PetscCall(ierr);
  PetscCall(MatSeqAIJRestoreArrayRead(A, &from));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*
   Work on the device for A, which may have no plan. What it needs is taken before it, and given back after it, also
   after an error
*/
PetscErrorCode AIJTCUDeviceCall(Mat A, AIJTCUPlan *plan, AIJTCUNeed need, AIJTCUDeviceFn f, void *ctx, HrpbError *err)
{
  AIJTCUDeviceCSR        csr = {.nrows = AIJTCU_PARTS * (int64_t)A->rmap->n, .ncols = AIJTCU_PARTS * (int64_t)A->cmap->n};
  const AIJTCUDeviceInt *i, *j;
  PetscErrorCode         ierr;

  PetscFunctionBegin;
  *err = HRPB_SUCCESS;
  if (plan) AIJTCUDeviceForgetValues(A, plan);
  if (need == AIJTCU_CSR_NOTHING) {
    PetscCall(AIJTCUDeviceCallOnStream(A, plan, need, &csr, f, ctx, err));
    PetscFunctionReturn(PETSC_SUCCESS);
  }
  PetscCall(AIJTCUDeviceFetch(A));
  AIJTCUCallParent(A, MatSeqAIJCUSPARSEGetIJ(A, PETSC_FALSE, &i, &j));
  csr.rowptr = (const HrpbInt *)i;
  csr.colidx = (const HrpbInt *)j;
  if (need == AIJTCU_CSR_ITSELF) {
    csr.nrows = A->rmap->n;
    csr.ncols = A->cmap->n;
  }
  if (need == AIJTCU_CSR_VALUES || need == AIJTCU_CSR_ITSELF) ierr = AIJTCUDeviceCallWithValues(A, plan, need, &csr, f, ctx, err);
  else ierr = AIJTCUDeviceCallOnStream(A, plan, need, &csr, f, ctx, err);
  AIJTCUCallParent(A, MatSeqAIJCUSPARSERestoreIJ(A, PETSC_FALSE, &i, &j));
  PetscCall(ierr);
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Have the pattern on the device, where C gets a matrix of its own then */
PetscErrorCode AIJTCUPatternToDevice(Mat C)
{
  const AIJTCUDeviceInt *i, *j;

  PetscFunctionBegin;
  AIJTCUCallParent(C, MatSeqAIJCUSPARSEGetIJ(C, PETSC_FALSE, &i, &j));
  AIJTCUCallParent(C, MatSeqAIJCUSPARSERestoreIJ(C, PETSC_FALSE, &i, &j));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Add the arrays of the matrix to an order that needs them */
void AIJTCUOrderTakeCSR(AIJTCUWorkOrder *order, const AIJTCUDeviceCSR *csr)
{
  if (order->need == AIJTCU_CSR_NOTHING) return;
  order->A.rowptr = csr->rowptr;
  order->A.colidx = csr->colidx;
  order->A.values = csr->values;
}

static PetscErrorCode AIJTCUOrderRunOnStream(Mat A, AIJTCUPlan *plan, const AIJTCUDeviceCSR *csr, void *ctx, HrpbError *err)
{
  AIJTCUWorkOrder *order = (AIJTCUWorkOrder *)ctx;

  PetscFunctionBegin;
  (void)A;
  AIJTCUOrderTakeCSR(order, csr);
  PetscCall(AIJTCULaunchWithWork(plan ? &plan->launches : NULL, order, csr->stream, err));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Run an order whose operands have their arrays on the device. A may have no plan */
PetscErrorCode AIJTCUOrderRun(Mat A, AIJTCUPlan *plan, AIJTCUWorkOrder *order, HrpbError *err)
{
  PetscFunctionBegin;
  PetscCall(AIJTCUDeviceCall(A, plan, order->need, AIJTCUOrderRunOnStream, order, err));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*
   AIJTCUDeviceCall() for work that needs memory. If memory is short, the pools give back what they can, and it is
   called again.
*/
PetscErrorCode AIJTCUDeviceCallForMemory(Mat A, AIJTCUPlan *plan, AIJTCUNeed need, AIJTCUDeviceFn f, void *ctx, HrpbError *err)
{
  PetscFunctionBegin;
  PetscCall(AIJTCUDeviceCall(A, plan, need, f, ctx, err));
  if (*err == HRPB_ERR_DEVICE_MEMORY) {
    PetscCall(AIJTCUDeviceTrim());
    PetscCall(AIJTCUDeviceCall(A, plan, need, f, ctx, err));
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}
#endif
