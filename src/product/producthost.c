/*
   A product of one matrix on the host: from PETSc's arrays to the kernels there.
*/
#include "productimpl.h"

#if AIJTCU_HAVE_BRICKS
/* A product of the sequential matrix A on the host, with its bricks if the decision has them, else with CSR */
PetscErrorCode AIJTCUHostRun(Mat A, const AIJTCUPlan *plan, const AIJTCUDecision *d, const SpmmOperands *operands, HrpbError *err)
{
  SpmmMatrix         matrix = {.nrows = A->rmap->n, .ncols = A->cmap->n};
  SpmmFacts          facts;
  const PetscScalar *values;

  PetscFunctionBegin;
  if (d->path == MAT_AIJTCU_PATH_TCU) {
    matrix.hrpb         = &plan->bricks.hrpb;
    matrix.brick_values = plan->bricks.values;
    *err                = SpmmRun(d->kernel, &matrix, operands, NULL, NULL);
    PetscFunctionReturn(PETSC_SUCCESS);
  }
  facts = SpmmFactsOf(&matrix);
  PetscCall(AIJTCUHostGetCSR(A, &matrix.rowptr, &matrix.colidx));
  PetscCall(MatSeqAIJGetArrayRead(A, &values));
  matrix.values = values;
  *err          = SpmmRun(SpmmChooseKernel(d->op, SPMM_CSR, PETSC_TRUE, &facts, NULL, operands, NULL), &matrix, operands, NULL, NULL);
  PetscCall(MatSeqAIJRestoreArrayRead(A, &values));
  PetscCall(AIJTCUHostRestoreCSR(A, &matrix.rowptr, &matrix.colidx));
  PetscFunctionReturn(PETSC_SUCCESS);
}
#endif
