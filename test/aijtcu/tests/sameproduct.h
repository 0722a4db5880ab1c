/*
   Whether the products of two matrices agree, with dense matrices or with vectors. Differences are printed.
*/
#pragma once

#include <petscmat.h>

/* Compare within a few roundings of the norm. difference is the norm of the one less the other */
static inline PetscErrorCode SameNorms(PetscReal difference, PetscReal norm, const char what[], const char result[])
{
  PetscFunctionBegin;
  if (!(difference <= 10 * PETSC_MACHINE_EPSILON * norm)) PetscCall(PetscPrintf(PETSC_COMM_WORLD, "%s: %s differs by %g\n", what, result, (double)difference));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Check that a vector is what it should be. computed gets the difference */
static inline PetscErrorCode SameVectors(Vec computed, Vec right, const char what[], const char result[])
{
  PetscReal difference, norm;

  PetscFunctionBegin;
  PetscCall(VecAXPY(computed, -1, right));
  PetscCall(VecNorm(computed, NORM_2, &difference));
  PetscCall(VecNorm(right, NORM_2, &norm));
  PetscCall(SameNorms(difference, norm, what, result));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Norms of D - C and of C, with a dense matrix C of the host. D is destroyed */
static PetscErrorCode DifferenceOf(Mat *D, Mat C, PetscReal *difference, PetscReal *norm)
{
  PetscFunctionBegin;
  PetscCall(MatConvert(*D, MATDENSE, MAT_INPLACE_MATRIX, D));
  PetscCall(MatAXPY(*D, -1, C, SAME_NONZERO_PATTERN));
  PetscCall(MatNorm(*D, NORM_FROBENIUS, difference));
  PetscCall(MatNorm(C, NORM_FROBENIUS, norm));
  PetscCall(MatDestroy(D));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Check that D is what R S is, with a dense matrix S of the host. D is destroyed */
static inline PetscErrorCode SameAsProduct(Mat *D, Mat R, Mat S, const char what[])
{
  Mat       C;
  PetscReal difference, norm;

  PetscFunctionBegin;
  PetscCall(MatMatMult(R, S, MAT_INITIAL_MATRIX, PETSC_DETERMINE, &C));
  PetscCall(DifferenceOf(D, C, &difference, &norm));
  PetscCall(SameNorms(difference, norm, what, "A B"));
  PetscCall(MatDestroy(&C));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Check that A B is what R S is, with dense matrices B and S of the same entries */
static inline PetscErrorCode SameProductsWith(Mat A, Mat B, Mat R, Mat S, const char what[])
{
  Mat D;

  PetscFunctionBegin;
  PetscCall(MatMatMult(A, B, MAT_INITIAL_MATRIX, PETSC_DETERMINE, &D));
  PetscCall(SameAsProduct(&D, R, S, what));
  PetscFunctionReturn(PETSC_SUCCESS);
}
