/*
   Options of the examples, between PetscOptionsBegin() and PetscOptionsEnd().

   A wrong value is an error that names the option and the values allowed. Lists have any length, and nothing is cut.
   PETSc's own functions drop what is behind the end of an array, and do not say which option was not a number.
*/
#pragma once

#include <petscsys.h>

PETSC_EXTERN PetscErrorCode ExampleOptionsInt(PetscOptionItems, const char name[], const char text[], PetscInt least, PetscInt *);
PETSC_EXTERN PetscErrorCode ExampleOptionsReal(PetscOptionItems, const char name[], const char text[], PetscReal *);
PETSC_EXTERN PetscErrorCode ExampleOptionsBool(PetscOptionItems, const char name[], const char text[], PetscBool *);
PETSC_EXTERN PetscErrorCode ExampleOptionsText(PetscOptionItems, const char name[], const char text[], char[], size_t, PetscBool *set);
PETSC_EXTERN PetscErrorCode ExampleOptionsList(PetscOptionItems, const char name[], const char text[], const char usual[], PetscInt *n, char ***list);
PETSC_EXTERN PetscErrorCode ExampleOptionsNumbers(PetscOptionItems, const char name[], const char text[], const char usual[], PetscInt *n, PetscInt **list);
PETSC_EXTERN PetscErrorCode ExampleListDestroy(PetscInt n, char ***list);
