/*
   Files and folders that options name, shared by the examples. Programs look at them before their work begins, which
   may take long, and not when they first need them
*/
#pragma once

#include <petscsys.h>

PETSC_EXTERN PetscErrorCode ExampleFolderMake(MPI_Comm, const char folder[]);
PETSC_EXTERN PetscErrorCode ExampleFileCheckWrite(MPI_Comm, const char file[]);
PETSC_EXTERN PetscErrorCode ExampleFilesCheckRead(MPI_Comm, PetscInt n, char *const files[]);
