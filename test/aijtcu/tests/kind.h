/*
   Blocks and vectors of the kind of a matrix. PETSc's solvers with a matrix on a device do not look where their vectors
   are, and compute something else with those of the host. So a reference gets vectors of the matrix's kind.
*/
#pragma once

#include <petscmat.h>

/* A works on a device */
static inline PetscErrorCode IsOnDevice(Mat A, PetscBool *device)
{
  VecType type;

  PetscFunctionBegin;
  PetscCall(MatGetVecType(A, &type));
  PetscCall(PetscStrendswith(type, "cuda", device));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* x = column j of B */
static inline PetscErrorCode CopyColumn(Mat B, PetscInt j, Vec x)
{
  Vec b;

  PetscFunctionBegin;
  PetscCall(MatDenseGetColumnVecRead(B, j, &b));
  PetscCall(VecCopy(b, x));
  PetscCall(MatDenseRestoreColumnVecRead(B, j, &b));
  PetscFunctionReturn(PETSC_SUCCESS);
}
