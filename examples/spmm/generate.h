/*
   Matrices to measure products with, the same entries on any number of processes
*/
#pragma once

#include <petscmat.h>

typedef enum {
  GENERATE_ELASTICITY,
  GENERATE_POISSON7,
  GENERATE_STENCIL27,
  GENERATE_DOF8,
  GENERATE_BANDED,
  GENERATE_RANDOM,
  GENERATE_RMAT,
  GENERATE_ARROW
} GenerateKind;
extern const char *const GenerateKinds[];

PETSC_INTERN PetscErrorCode GenerateMatrix(GenerateKind, PetscInt, Mat);
PETSC_INTERN PetscReal      GenerateValue(PetscInt64, PetscInt64);
