/*
   Loading a sparse matrix from a Matrix Market or PETSc binary file, shared by the examples
*/
#pragma once

#include <petscmat.h>

PETSC_EXTERN PetscErrorCode ExampleMatLoad(MPI_Comm, const char[], Mat);
