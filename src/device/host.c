/*
   The arrays of a matrix on the host.
*/
#include "device.h"

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
