/*
   Matrices for tests, and comparisons with matrices that a test made in another way. Differences are printed.
*/
#pragma once

#include "sameproduct.h"

/* A band with n columns; every seventh row has only one entry */
static PetscErrorCode Fill(Mat A, PetscInt n, PetscReal scale)
{
  PetscInt r0, r1;

  PetscFunctionBegin;
  PetscCall(MatGetOwnershipRange(A, &r0, &r1));
  for (PetscInt i = r0; i < r1; i++) {
    if (i % 7 == 6 && i != r0) PetscCall(MatSetValue(A, i, i % n, 0.5 * scale, INSERT_VALUES));
    else {
      for (PetscInt d = -3; d <= 3; d++) {
        if (i + d >= 0 && i + d < n) PetscCall(MatSetValue(A, i, i + d, scale * (d ? 1. / (i + 2 * d * d) : 4.), INSERT_VALUES));
      }
    }
  }
  PetscCall(MatAssemblyBegin(A, MAT_FINAL_ASSEMBLY));
  PetscCall(MatAssemblyEnd(A, MAT_FINAL_ASSEMBLY));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* An m x n dense matrix, with the prefix a_ */
static PetscErrorCode Create(MatType type, PetscInt m, PetscInt n, Mat *A)
{
  PetscFunctionBegin;
  PetscCall(MatCreate(PETSC_COMM_WORLD, A));
  PetscCall(MatSetSizes(*A, PETSC_DECIDE, PETSC_DECIDE, m, n));
  PetscCall(MatSetType(*A, type));
  PetscCall(MatSetOptionsPrefix(*A, "a_"));
  PetscCall(MatSetFromOptions(*A));
  PetscCall(Fill(*A, n, 1));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Check that A B is what R B is, with a dense B of the host */
static PetscErrorCode SameProducts(Mat A, Mat R, const char what[])
{
  Mat      B;
  PetscInt n, N;

  PetscFunctionBegin;
  PetscCall(MatGetLocalSize(R, NULL, &n));
  PetscCall(MatGetSize(R, NULL, &N));
  PetscCall(MatCreateDense(PETSC_COMM_WORLD, n, PETSC_DECIDE, N, 5, NULL, &B));
  PetscCall(MatSetRandom(B, NULL));
  PetscCall(SameProductsWith(A, B, R, B, what));
  PetscCall(MatDestroy(&B));
  PetscFunctionReturn(PETSC_SUCCESS);
}
