/*
   The matrices that the benchmarks generate, by name and with the size they have there, shared by the examples
*/
#pragma once

#include "generate.h"

PETSC_EXTERN PetscErrorCode FamilyCheck(PetscInt, char *const[]);
PETSC_EXTERN PetscErrorCode FamilyStarts(const char[], PetscReal, PetscInt, PetscInt, PetscInt[]);
PETSC_EXTERN PetscErrorCode FamilyRowsOf(const char[], PetscReal, PetscInt, PetscInt, PetscInt, GenerateCSR *);
PETSC_EXTERN PetscErrorCode FamilyRows(const char[], PetscReal, GenerateCSR *);
