/*
   Products with one vector that others launch: what a kernel for one vector is given, with the arrays of the matrix,
   and whether that still holds.
*/
#include "planimpl.h"

#if AIJTCU_HAVE_DEVICE
/* Whether kernels of ours multiply with a sequential A where it is */
static PetscErrorCode AIJTCUVectorUsable(Mat A, AIJTCUPlan **plan, PetscBool *usable)
{
  PetscFunctionBegin;
  PetscCall(AIJTCUGetPlan(A, plan));
  *usable = (PetscBool)(AIJTCU_PARTS == 1 && *plan && (*plan)->id.kind == AIJTCU_KIND_SEQ && A->assembled && AIJTCUGetOptions(*plan)->mult != MAT_AIJTCU_MULT_CUSPARSE);
  if (*usable) PetscCall(AIJTCUOnDevice(A, *plan, usable));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode AIJTCUVectorProductOnDevice(Mat A, AIJTCUPlan *plan, const AIJTCUDeviceCSR *csr, void *ctx, HrpbError *err)
{
  AIJTCUVectorProduct *p = (AIJTCUVectorProduct *)ctx;

  PetscFunctionBegin;
  (void)A;
  (void)plan;
  *err = HRPB_SUCCESS;
  AIJTCUOrderTakeCSR(&p->order, csr);
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* What makes products faster is made at once */
PetscErrorCode AIJTCUVectorProductGet(Mat A, PetscBool transposed, AIJTCUVectorProduct *p, PetscBool *usable)
{
  const AIJTCUAsk ask = {.op = SPMM_OP_VECTOR, .N = 1, .path = MAT_AIJTCU_PATH_CSR, .transposed = transposed};
  AIJTCUPlan     *plan;
  HrpbError       err = HRPB_SUCCESS;

  PetscFunctionBegin;
  PetscCall(PetscMemzero(p, sizeof(*p)));
  PetscCall(AIJTCUVectorUsable(A, &plan, usable));
  if (!*usable) PetscFunctionReturn(PETSC_SUCCESS);
  AIJTCUDeviceForgetValues(A, plan);
  PetscCall(AIJTCUPlanSync(A, plan));
  AIJTCUVectorHurry(plan);
  PetscCall(AIJTCUPlanOrder(A, plan, &ask, &p->order));
  *usable = (PetscBool)(p->order.kernel && p->order.kernel->op == SPMM_OP_VECTOR);
  if (!*usable) PetscFunctionReturn(PETSC_SUCCESS);
  p->mat        = A;
  p->transposed = transposed;
  p->plan       = plan->id.number;
  PetscCall(AIJTCUDeviceCall(A, plan, p->order.need, AIJTCUVectorProductOnDevice, p, &err));
  memcpy(&p->vector, p->order.A.vector, sizeof(p->vector));
  PetscCall(PetscObjectStateGet((PetscObject)A, &p->state));
  *usable = (PetscBool)!err;
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode AIJTCUVectorProductIsCurrent(const AIJTCUVectorProduct *p, PetscBool *is)
{
  AIJTCUPlan      *plan;
  PetscObjectState state;

  PetscFunctionBegin;
  PetscCall(AIJTCUVectorUsable(p->mat, &plan, is));
  if (!*is) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCall(PetscObjectStateGet((PetscObject)p->mat, &state));
  *is = (PetscBool)(plan->id.number == p->plan && state == p->state && p->mat->offloadmask != PETSC_OFFLOAD_CPU);
  if (*is) *is = (PetscBool)(!memcmp(&p->vector, p->transposed ? &plan->transpose.matrix.plan : &plan->vector.plan, sizeof(p->vector)) && (!p->transposed || p->order.A.values == plan->transpose.matrix.values));
  PetscFunctionReturn(PETSC_SUCCESS);
}
#endif
