/*
   Whether two dense matrices have the same bits, on this process
*/
#pragma once

#include <petscmat.h>

static inline PetscErrorCode SameBits(Mat C, Mat D, PetscBool *same)
{
  const PetscScalar *c, *d;
  PetscInt           m, N, ldc, ldd;

  PetscFunctionBegin;
  *same = PETSC_TRUE;
  PetscCall(MatGetLocalSize(C, &m, NULL));
  PetscCall(MatGetSize(C, NULL, &N));
  PetscCall(MatDenseGetLDA(C, &ldc));
  PetscCall(MatDenseGetLDA(D, &ldd));
  PetscCall(MatDenseGetArrayRead(C, &c));
  PetscCall(MatDenseGetArrayRead(D, &d));
  for (PetscInt j = 0; j < N && *same; j++) PetscCall(PetscMemcmp(c + j * ldc, d + j * ldd, (size_t)m * sizeof(*c), same));
  PetscCall(MatDenseRestoreArrayRead(C, &c));
  PetscCall(MatDenseRestoreArrayRead(D, &d));
  PetscFunctionReturn(PETSC_SUCCESS);
}
