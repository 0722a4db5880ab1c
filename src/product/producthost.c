/*
   A product of one matrix on the host: from PETSc's arrays to the kernels there.
*/
#include "productimpl.h"

#if AIJTCU_HAVE_BRICKS
/* The leading dimension of a dense matrix, as kernels see it */
PetscErrorCode AIJTCURealLDA(Mat M, PetscInt64 *ld)
{
  PetscInt lda;

  PetscFunctionBegin;
  PetscCall(MatDenseGetLDA(M, &lda));
  *ld = AIJTCU_PARTS * (PetscInt64)lda;
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* A product of the sequential matrix A on the host, with its bricks if the decision has them, else with CSR */
PetscErrorCode AIJTCUHostRun(Mat A, const AIJTCUPlan *plan, const AIJTCUDecision *d, const SpmmOperands *operands, HrpbError *err)
{
  SpmmMatrix    matrix = {.nrows = AIJTCU_PARTS * (int64_t)A->rmap->n, .ncols = AIJTCU_PARTS * (int64_t)A->cmap->n};
  SpmmFacts     facts;
  AIJTCUHostCSR csr;

  PetscFunctionBegin;
  if (d->path == MAT_AIJTCU_PATH_TCU) {
    matrix.hrpb         = &plan->bricks.hrpb;
    matrix.brick_values = plan->bricks.values;
    *err                = SpmmRun(d->kernel, &matrix, operands, NULL, NULL);
    PetscFunctionReturn(PETSC_SUCCESS);
  }
  facts = SpmmFactsOf(&matrix);
  PetscCall(AIJTCUHostCSRGet(A, PETSC_TRUE, &csr, err));
  matrix.rowptr = csr.rowptr;
  matrix.colidx = csr.colidx;
  matrix.values = csr.values;
  if (!*err) *err = SpmmRun(SpmmChooseKernel(d->op, SPMM_CSR, PETSC_TRUE, &facts, NULL, operands, NULL), &matrix, operands, NULL, NULL);
  PetscCall(AIJTCUHostCSRRestore(A, &csr));
  PetscFunctionReturn(PETSC_SUCCESS);
}
#endif
