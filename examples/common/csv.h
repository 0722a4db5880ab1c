/*
   Tables that programs append rows to, shared by the examples
*/
#pragma once

#include <petscsys.h>

PETSC_EXTERN PetscErrorCode ExampleCSVOpen(MPI_Comm, const char[], const char[], FILE **);
PETSC_EXTERN PetscErrorCode ExamplePETScVersion(char[], size_t);
