/*
   Vectors and dense matrices of small whole numbers. Sums of them have no roundings, so equal means equal. A NaN is
   unequal to everything.
*/
#pragma once

#include <petscmat.h>

/* Numbers that follow from k */
static inline PetscErrorCode FillVec(Vec x, PetscInt k)
{
  PetscScalar *a;
  PetscInt     n;

  PetscFunctionBegin;
  PetscCall(VecGetLocalSize(x, &n));
  PetscCall(VecGetArrayWrite(x, &a));
  for (PetscInt i = 0; i < n; i++) a[i] = (PetscScalar)((3 * i + k) % 7 - 3);
  PetscCall(VecRestoreArrayWrite(x, &a));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* How many numbers of two vectors differ, on this process */
static inline PetscErrorCode CountUnequalVec(Vec x, Vec y, PetscInt *unequal)
{
  const PetscScalar *a, *b;
  PetscInt           n;

  PetscFunctionBegin;
  *unequal = 0;
  PetscCall(VecGetLocalSize(y, &n));
  PetscCall(VecGetArrayRead(x, &a));
  PetscCall(VecGetArrayRead(y, &b));
  for (PetscInt i = 0; i < n; i++) *unequal += a[i] != b[i];
  PetscCall(VecRestoreArrayRead(y, &b));
  PetscCall(VecRestoreArrayRead(x, &a));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* The same of two dense matrices */
static inline PetscErrorCode CountUnequalDense(Mat C, Mat D, PetscInt *unequal)
{
  const PetscScalar *c, *d;
  PetscInt           ldc, ldd, m, N;

  PetscFunctionBegin;
  *unequal = 0;
  PetscCall(MatGetLocalSize(D, &m, NULL));
  PetscCall(MatGetSize(D, NULL, &N));
  PetscCall(MatDenseGetLDA(C, &ldc));
  PetscCall(MatDenseGetLDA(D, &ldd));
  PetscCall(MatDenseGetArrayRead(C, &c));
  PetscCall(MatDenseGetArrayRead(D, &d));
  for (PetscInt j = 0; j < N; j++) {
    for (PetscInt i = 0; i < m; i++) *unequal += c[i + j * ldc] != d[i + j * ldd];
  }
  PetscCall(MatDenseRestoreArrayRead(D, &d));
  PetscCall(MatDenseRestoreArrayRead(C, &c));
  PetscFunctionReturn(PETSC_SUCCESS);
}
