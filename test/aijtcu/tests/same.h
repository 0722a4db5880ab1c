/*
   Whether matrices agree with those that a test made in another way: what differs is printed.
*/
#pragma once

#include <petscmat.h>

/* Within a few roundings of the norm; difference is what is left of the one less the other */
static PetscErrorCode SameNorms(PetscReal difference, PetscReal norm, const char what[], const char result[])
{
  PetscFunctionBegin;
  if (!(difference <= 10 * PETSC_MACHINE_EPSILON * norm)) PetscCall(PetscPrintf(PETSC_COMM_WORLD, "%s: %s differs by %g\n", what, result, (double)difference));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* A B is what R B is, with a dense B of the host */
static PetscErrorCode SameProducts(Mat A, Mat R, const char what[])
{
  Mat       B, C, D;
  PetscInt  n, N;
  PetscReal difference, norm;

  PetscFunctionBegin;
  PetscCall(MatGetLocalSize(R, NULL, &n));
  PetscCall(MatGetSize(R, NULL, &N));
  PetscCall(MatCreateDense(PETSC_COMM_WORLD, n, PETSC_DECIDE, N, 5, NULL, &B));
  PetscCall(MatSetRandom(B, NULL));
  PetscCall(MatMatMult(R, B, MAT_INITIAL_MATRIX, PETSC_DETERMINE, &C));
  PetscCall(MatMatMult(A, B, MAT_INITIAL_MATRIX, PETSC_DETERMINE, &D));
  PetscCall(MatConvert(D, MATDENSE, MAT_INPLACE_MATRIX, &D));
  PetscCall(MatAXPY(D, -1, C, SAME_NONZERO_PATTERN));
  PetscCall(MatNorm(D, NORM_FROBENIUS, &difference));
  PetscCall(MatNorm(C, NORM_FROBENIUS, &norm));
  PetscCall(SameNorms(difference, norm, what, "A B"));
  PetscCall(MatDestroy(&B));
  PetscCall(MatDestroy(&C));
  PetscCall(MatDestroy(&D));
  PetscFunctionReturn(PETSC_SUCCESS);
}
