/*
   The CSR of a matrix: the host's arrays, and the schedule of rows for the kernels that read the device's.
*/
#include "planimpl.h"
#include <real/real.h>

#if AIJTCU_HAVE_DEVICE
static PetscErrorCode AIJTCUCsrCreateOnDevice(Mat A, AIJTCUPlan *plan, const AIJTCUDeviceCSR *csr, void *ctx, HrpbError *err)
{
  PetscFunctionBegin;
  (void)A;
  (void)ctx;
  AIJTCUCallDevice(*err, CsrScheduleDevice(csr->nrows, csr->ncols, csr->rowptr, csr->colidx, csr->stream, &plan->csr.schedule));
  if (*err) PetscFunctionReturn(PETSC_SUCCESS);
  plan->csr.state = AIJTCU_READY;
  AIJTCUWorkspaceUser(PETSC_TRUE);
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode AIJTCUCsrPairsOnDevice(Mat A, AIJTCUPlan *plan, const AIJTCUDeviceCSR *csr, void *ctx, HrpbError *err)
{
  PetscFunctionBegin;
  (void)A;
  (void)ctx;
  AIJTCUCallDevice(*err, ComplexCsrDevice(&plan->csr.schedule, csr->rowptr, csr->colidx, csr->stream, &plan->csr.pairs));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*
   What the kernels for a complex matrix itself need: rows of B for panels, or rows that share their columns, without
   which they go row by row, or parts of long rows, without which products are those of the real matrix
*/
static PetscErrorCode AIJTCUCsrSeekPairs(Mat A, AIJTCUPlan *plan)
{
  const VectorPlan *pairs = &plan->csr.pairs;
  HrpbError         err;

  PetscFunctionBegin;
  PetscCall(AIJTCUDeviceCallForMemory(A, plan, AIJTCU_CSR_ITSELF, AIJTCUCsrPairsOnDevice, NULL, &err));
  if (err) PetscCall(PetscInfo(A, "aijtcu: no nodes, and no parts of complex rows, on the CSR path: %s\n", HrpbErrorString(err)));
  else if (pairs->panel_rows)
    PetscCall(PetscInfo(A, "aijtcu: panels of %d complex rows have the rows of B that they need in shared memory\n", (int)pairs->panel_rows));
  else if (pairs->nnodes) PetscCall(PetscInfo(A, "aijtcu: %d nodes of up to %d rows are multiplied together\n", (int)pairs->nnodes, (int)pairs->node_rows));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Choose the kernel and cut long rows into parts. Values do not matter here */
PetscErrorCode AIJTCUCsrCreate(Mat A, AIJTCUPlan *plan, const AIJTCUDecision *d)
{
  AIJTCUCsr         *c = &plan->csr;
  const CsrSchedule *s = &c->schedule;

  PetscFunctionBegin;
  (void)d;
  PetscCall(AIJTCUCsrDestroy(plan));
  PetscCall(AIJTCUDeviceCallForMemory(A, plan, AIJTCU_CSR_PATTERN, AIJTCUCsrCreateOnDevice, NULL, &c->why));
  if (c->why) {
    c->state = AIJTCU_REFUSED;
    PetscCall(PetscInfo(A, "aijtcu: no kernel for the CSR path, products are left to the parent: %s\n", HrpbErrorString(c->why)));
  } else if (s->panel_rows)
    PetscCall(PetscInfo(A, "aijtcu: panels of %d rows have the rows of B that they need, %d at most, in shared memory\n", (int)s->panel_rows,
      (int)s->staged_rows));
  else
    PetscCall(PetscInfo(A, "aijtcu: %d rows of more than %d entries are multiplied in %d parts\n", (int)s->nlong, (int)s->part_entries,
      (int)s->nparts));
  if (AIJTCU_PARTS > 1 && c->state == AIJTCU_READY) PetscCall(AIJTCUCsrSeekPairs(A, plan));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode AIJTCUCsrSeekPanelsOnDevice(Mat A, AIJTCUPlan *plan, const AIJTCUDeviceCSR *csr, void *ctx, HrpbError *err)
{
  PetscFunctionBegin;
  (void)A;
  (void)ctx;
  AIJTCUCallDevice(*err, CsrPanelsForSampledDevice(csr->rowptr, csr->colidx, csr->stream, &plan->csr.schedule));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Make the panels that sampled products want, if there can be any. Without them other kernels make the product */
PetscErrorCode AIJTCUCsrSeekPanels(Mat A, AIJTCUPlan *plan, const AIJTCUDecision *d)
{
  HrpbError err;

  PetscFunctionBegin;
  (void)d;
  plan->csr.panels_sought = PETSC_TRUE;
  PetscCall(AIJTCUDeviceCallForMemory(A, plan, AIJTCU_CSR_PATTERN, AIJTCUCsrSeekPanelsOnDevice, NULL, &err));
  if (err) PetscCall(PetscInfo(A, "aijtcu: no panels for sampled products: %s\n", HrpbErrorString(err)));
  else if (plan->csr.schedule.panel_rows) PetscCall(PetscInfo(A, "aijtcu: sampled products have panels of %d rows\n", (int)plan->csr.schedule.panel_rows));
  PetscFunctionReturn(PETSC_SUCCESS);
}
#endif

PetscErrorCode AIJTCUCsrDestroy(AIJTCUPlan *plan)
{
  AIJTCUCsr *c = &plan->csr;

  PetscFunctionBegin;
#if AIJTCU_HAVE_DEVICE
  if (c->state == AIJTCU_READY) {
    CsrScheduleDestroyDevice(&c->schedule, AIJTCUDeviceStreamBehind());
    if (c->pairs.bytes) VectorPlanDestroyDevice(&c->pairs, AIJTCUDeviceStreamBehind());
    AIJTCUWorkspaceUser(PETSC_FALSE);
  }
#endif
  PetscCall(PetscMemzero(c, sizeof(*c)));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Bytes of device memory */
PetscInt64 AIJTCUCsrBytes(const AIJTCUPlan *plan)
{
  return plan->csr.state == AIJTCU_READY ? plan->csr.schedule.bytes + plan->csr.pairs.bytes : 0;
}
