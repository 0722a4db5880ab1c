/*
   Dense matrices, wherever they are.
*/
#include "common.h"

/* The local entries of X for those of Y, which has the same layout. MatCopy() goes entry by entry between two types */
PetscErrorCode AIJTCUCopyDense(Mat X, Mat Y)
{
  const PetscScalar *x;
  PetscScalar       *y;
  PetscInt           ldx, ldy;
  const PetscInt     n = X->rmap->n;

  PetscFunctionBegin;
  PetscCall(MatDenseGetLDA(X, &ldx));
  PetscCall(MatDenseGetLDA(Y, &ldy));
  PetscCall(MatDenseGetArrayRead(X, &x));
  PetscCall(MatDenseGetArrayWrite(Y, &y));
  for (PetscInt j = 0; j < X->cmap->N && n; j++) PetscCall(PetscArraycpy(y + (size_t)j * (size_t)ldy, x + (size_t)j * (size_t)ldx, n));
  PetscCall(MatDenseRestoreArrayWrite(Y, &y));
  PetscCall(MatDenseRestoreArrayRead(X, &x));
  if (!Y->assembled) { /* with a reduction */
    PetscCall(MatAssemblyBegin(Y, MAT_FINAL_ASSEMBLY));
    PetscCall(MatAssemblyEnd(Y, MAT_FINAL_ASSEMBLY));
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}
