/*
   Tables that programs append rows to, shared by the examples
*/
#pragma once

#include <petscsys.h>

/* What -csv and -commit say */
typedef struct {
  char file[PETSC_MAX_PATH_LEN], commit[64]; /* the file is empty where no table is written */
} ExampleTable;

PETSC_EXTERN PetscErrorCode ExampleOptionsTable(PetscOptionItems, ExampleTable *);
PETSC_EXTERN PetscErrorCode ExampleCSVOpen(MPI_Comm, const char[], const char[], FILE **);
PETSC_EXTERN PetscErrorCode ExamplePETScVersion(char[], size_t);
