/*
   Which paths the products of a matrix took, shared by the examples
*/
#pragma once

#include <petscaijtcu.h>

PETSC_EXTERN PetscErrorCode ExamplePathCounts(Mat, MatAIJTCUCounts *);
PETSC_EXTERN PetscErrorCode ExamplePathTaken(Mat, const MatAIJTCUCounts *, char[], size_t);
PETSC_EXTERN PetscErrorCode ExampleSampledPathTaken(Mat, const MatAIJTCUCounts *, char[], size_t);
