/*
   Matrices from rows, and rows from a file, shared by the benchmarks that need the same matrix in several types
*/
#pragma once

#include "generate.h"

PETSC_EXTERN PetscErrorCode ExampleCSRLoad(const char[], GenerateCSR *);
PETSC_EXTERN PetscErrorCode ExampleCSRIsSymmetric(const GenerateCSR *, PetscBool *);
PETSC_EXTERN PetscErrorCode ExampleCSRMat(const GenerateCSR *, PetscBool, PetscInt, const char[], Mat *);
