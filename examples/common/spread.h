/*
   The statistics that are printed of the times of one operation, shared by the examples
*/
#pragma once

#include <petscsys.h>

typedef struct {
  PetscReal median, least; /* s */
} Spread;

PETSC_EXTERN PetscErrorCode SpreadOf(PetscInt, PetscReal[], Spread *);
