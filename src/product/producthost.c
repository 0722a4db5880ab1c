/*
   A product of one matrix on the host: from PETSc's arrays to the kernels there.
*/
#include "productimpl.h"
#include <real/real.h>

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
  SpmmMatrix         matrix = order->A;
  const PetscScalar *values;

  PetscFunctionBegin;
  if (order->kernel->format == SPMM_BRICKS) {
    *err = SpmmRun(order->kernel, &matrix, &order->operands, NULL, NULL);
    PetscFunctionReturn(PETSC_SUCCESS);
  }
  PetscCall(AIJTCUHostGetCSR(A, &matrix.rowptr, &matrix.colidx));
  PetscCall(MatSeqAIJGetArrayRead(A, &values));
  matrix.values = (const HrpbScalar *)values;
  if (AIJTCU_PARTS > 1) {
    matrix.nrows /= AIJTCU_PARTS;
    matrix.ncols /= AIJTCU_PARTS;
    *err = ComplexCsrHost(&matrix, &order->operands);
  } else *err = SpmmRun(order->kernel, &matrix, &order->operands, NULL, NULL);
  PetscCall(MatSeqAIJRestoreArrayRead(A, &values));
  PetscCall(AIJTCUHostRestoreCSR(A, &matrix.rowptr, &matrix.colidx));
  PetscFunctionReturn(PETSC_SUCCESS);
}
#endif
