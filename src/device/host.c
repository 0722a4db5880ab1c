/*
   Products on the host: from PETSc's arrays to the kernels there. device.c has those on a GPU.
*/
#include "device.h"
#include "../plan/plan.h"

/* The host's row pointers and columns of the sequential matrix A */
PetscErrorCode AIJTCUHostGetCSR(Mat A, const PetscInt **rowptr, const PetscInt **colidx)
{
  PetscInt  nrows;
  PetscBool done;

  PetscFunctionBegin;
  PetscCall(MatGetRowIJ(A, 0, PETSC_FALSE, PETSC_FALSE, &nrows, rowptr, colidx, &done));
  PetscCheck(done, PETSC_COMM_SELF, PETSC_ERR_PLIB, "No row access to a matrix of type %s", ((PetscObject)A)->type_name);
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode AIJTCUHostRestoreCSR(Mat A, const PetscInt **rowptr, const PetscInt **colidx)
{
  PetscInt  nrows;
  PetscBool done;

  PetscFunctionBegin;
  PetscCall(MatRestoreRowIJ(A, 0, PETSC_FALSE, PETSC_FALSE, &nrows, rowptr, colidx, &done));
  PetscFunctionReturn(PETSC_SUCCESS);
}

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
