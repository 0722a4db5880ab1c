/*
   A band matrix, and a dense matrix to multiply it with. For tests that need a product of some size, where the numbers
   do not matter.
*/
#pragma once

#include <petscmat.h>

/*
   Diagonals -half to half of a square matrix. Entries are small whole numbers over divisor. Options have the prefix a_
*/
static PetscErrorCode CreateBand(MatType type, PetscInt rows, PetscInt half, PetscInt divisor, Mat *A)
{
  PetscFunctionBegin;
  PetscCall(MatCreate(PETSC_COMM_SELF, A));
  PetscCall(MatSetSizes(*A, rows, rows, rows, rows));
  PetscCall(MatSetType(*A, type));
  PetscCall(MatSetOptionsPrefix(*A, "a_"));
  PetscCall(MatSetFromOptions(*A));
  PetscCall(MatSeqAIJSetPreallocation(*A, 2 * half + 1, NULL));
  for (PetscInt i = 0; i < rows; i++) {
    for (PetscInt j = PetscMax(i - half, 0); j <= PetscMin(i + half, rows - 1); j++) PetscCall(MatSetValue(*A, i, j, (PetscScalar)((3 * i + 5 * j) % 11 - 4) / (PetscScalar)divisor, INSERT_VALUES));
  }
  PetscCall(MatAssemblyBegin(*A, MAT_FINAL_ASSEMBLY));
  PetscCall(MatAssemblyEnd(*A, MAT_FINAL_ASSEMBLY));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Random numbers, made on the host and copied to the device */
static inline PetscErrorCode CreateDense(PetscInt rows, PetscInt columns, Mat *host, Mat *device)
{
  PetscFunctionBegin;
  PetscCall(MatCreateSeqDense(PETSC_COMM_SELF, rows, columns, NULL, host));
  PetscCall(MatSetRandom(*host, NULL));
  PetscCall(MatConvert(*host, MATSEQDENSECUDA, MAT_INITIAL_MATRIX, device));
  PetscFunctionReturn(PETSC_SUCCESS);
}
