/*
   Which machine the examples run on, and waiting for it, shared by the examples
*/
#pragma once

#include <petscmat.h>

PETSC_EXTERN PetscErrorCode ExampleMachineMat(Mat *);
PETSC_EXTERN PetscErrorCode ExampleMatOnDevice(Mat, PetscBool *);
PETSC_EXTERN PetscErrorCode ExampleHasDevice(PetscBool *);
PETSC_EXTERN PetscErrorCode ExampleMatTypesCheck(MPI_Comm, PetscInt n, char *const types[]);
PETSC_EXTERN PetscErrorCode ExampleMachine(Mat, char[], size_t);
PETSC_EXTERN PetscErrorCode ExampleCUDAVersion(Mat, char[], size_t);
PETSC_EXTERN PetscErrorCode ExampleSynchronize(Mat);
PETSC_EXTERN PetscErrorCode ExampleTime(Mat, PetscLogDouble *);
