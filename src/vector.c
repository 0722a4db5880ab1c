/*
   What products with one vector need of a pattern: long rows, and nodes.
*/
#include "aijtcuimpl.h"

#if AIJTCU_HAVE_DEVICE
static PetscErrorCode AIJTCUVectorCreateOnDevice(Mat A, AIJTCUPlan *plan, const AIJTCUDeviceCSR *csr, void *ctx, HrpbError *err)
{
  PetscFunctionBegin;
  (void)ctx;
  AIJTCUCallDevice(*err, VectorPlanDevice(A->rmap->n, A->cmap->n, csr->rowptr, csr->stream, &plan->vector.plan));
  if (*err) PetscFunctionReturn(PETSC_SUCCESS);
  plan->vector.state = AIJTCU_READY;
  AIJTCUWorkspaceUser(PETSC_TRUE);
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* What each product needs. It reads the row pointers once */
PetscErrorCode AIJTCUVectorCreate(Mat A, AIJTCUPlan *plan)
{
  AIJTCUVector     *v = &plan->vector;
  const VectorPlan *p = &v->plan;

  PetscFunctionBegin;
  AIJTCUVectorDestroy(v);
  PetscCall(AIJTCUDeviceCallForMemory(A, plan, AIJTCU_CSR_PATTERN, AIJTCUVectorCreateOnDevice, NULL, &v->why));
  if (v->why) {
    v->state = AIJTCU_REFUSED;
    PetscCall(PetscInfo(A, "aijtcu: products with one vector are left to the parent: %s\n", HrpbErrorString(v->why)));
  } else
    PetscCall(PetscInfo(A, "aijtcu: products with one vector have %d lanes for a row; %d rows are cut into %d parts\n", (int)p->lanes, (int)p->nlong, (int)p->nparts));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode AIJTCUVectorFindNodesOnDevice(Mat A, AIJTCUPlan *plan, const AIJTCUDeviceCSR *csr, void *ctx, HrpbError *err)
{
  PetscFunctionBegin;
  (void)A;
  (void)ctx;
  AIJTCUCallDevice(*err, VectorNodesDevice(csr->rowptr, csr->colidx, csr->stream, &plan->vector.plan));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Look for nodes, once. It takes as long as a few products */
PetscErrorCode AIJTCUVectorFindNodes(Mat A, AIJTCUPlan *plan)
{
  AIJTCUVector     *v = &plan->vector;
  const VectorPlan *p = &v->plan;
  HrpbError         err;

  PetscFunctionBegin;
  if (v->state != AIJTCU_READY || v->searched) PetscFunctionReturn(PETSC_SUCCESS);
  v->searched = PETSC_TRUE;
  PetscCall(PetscLogEventBegin(MAT_AIJTCU_Analyse, A, 0, 0, 0));
  PetscCall(AIJTCUDeviceCallForMemory(A, plan, AIJTCU_CSR_PATTERN, AIJTCUVectorFindNodesOnDevice, NULL, &err));
  PetscCall(PetscLogEventEnd(MAT_AIJTCU_Analyse, A, 0, 0, 0));
  if (err) PetscCall(PetscInfo(A, "aijtcu: products with one vector do without nodes: %s\n", HrpbErrorString(err)));
  else if (!p->nnodes) PetscCall(PetscInfo(A, "aijtcu: rows do not come in nodes, which have the same columns\n"));
  else PetscCall(PetscInfo(A, "aijtcu: %d nodes of up to %d rows with the same columns\n", (int)p->nnodes, (int)p->node_rows));
  PetscFunctionReturn(PETSC_SUCCESS);
}
#endif

void AIJTCUVectorDestroy(AIJTCUVector *v)
{
#if AIJTCU_HAVE_DEVICE
  if (v->state == AIJTCU_READY) {
    VectorPlanDestroyDevice(&v->plan, AIJTCUDeviceStreamBehind());
    AIJTCUWorkspaceUser(PETSC_FALSE);
  }
#endif
  memset(v, 0, sizeof(*v));
}

/* Bytes of device memory */
PetscInt64 AIJTCUVectorBytes(const AIJTCUVector *v)
{
  return v->state == AIJTCU_READY ? v->plan.bytes : 0;
}
