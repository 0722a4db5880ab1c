/*
   Springs between n masses in a line, and from each to the ground: symmetric and definite
*/
#pragma once

#include <petscmat.h>

/* The springs to the ground come again after a period: 0, 1 / divisor, 2 / divisor, ... */
static inline PetscErrorCode CreateChain(MatType type, PetscInt n, PetscInt period, PetscReal divisor, Mat *A)
{
  PetscInt first, end;

  PetscFunctionBegin;
  PetscCall(MatCreate(PETSC_COMM_WORLD, A));
  PetscCall(MatSetSizes(*A, PETSC_DECIDE, PETSC_DECIDE, n, n));
  PetscCall(MatSetType(*A, type));
  PetscCall(MatSetOption(*A, MAT_SYMMETRIC, PETSC_TRUE));
  PetscCall(MatSetUp(*A));
  PetscCall(MatGetOwnershipRange(*A, &first, &end));
  for (PetscInt i = first; i < end; i++) {
    if (i > 0) PetscCall(MatSetValue(*A, i, i - 1, -1, INSERT_VALUES));
    if (i < n - 1) PetscCall(MatSetValue(*A, i, i + 1, -1, INSERT_VALUES));
    PetscCall(MatSetValue(*A, i, i, 2 + (PetscReal)(i % period) / divisor, INSERT_VALUES));
  }
  PetscCall(MatAssemblyBegin(*A, MAT_FINAL_ASSEMBLY));
  PetscCall(MatAssemblyEnd(*A, MAT_FINAL_ASSEMBLY));
  PetscFunctionReturn(PETSC_SUCCESS);
}
