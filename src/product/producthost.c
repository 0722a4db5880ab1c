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

/* Run a work order for the sequential matrix A on the host, by its bricks or its CSR */
PetscErrorCode AIJTCUHostRun(Mat A, const AIJTCUWorkOrder *order, HrpbError *err)
{
  SpmmMatrix    matrix = order->A;
  AIJTCUHostCSR csr;

  PetscFunctionBegin;
  if (order->kernel->format == SPMM_BRICKS) {
    *err = SpmmRun(order->kernel, &matrix, &order->operands, NULL, NULL);
    PetscFunctionReturn(PETSC_SUCCESS);
  }
  PetscCall(AIJTCUHostCSRGet(A, PETSC_TRUE, &csr, err));
  matrix.rowptr = csr.rowptr;
  matrix.colidx = csr.colidx;
  matrix.values = csr.values;
  if (!*err) *err = SpmmRun(order->kernel, &matrix, &order->operands, NULL, NULL);
  PetscCall(AIJTCUHostCSRRestore(A, &csr));
  PetscFunctionReturn(PETSC_SUCCESS);
}
#endif
