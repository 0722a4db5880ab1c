/*
   One product C = A B: its time, and how far two of them are apart
*/
#pragma once

#include "spread.h"
#include <petscmat.h>

typedef struct {
  PetscLogDouble first; /* s; this product includes everything done once for a matrix */
  Spread         steady;
} Timing;

PETSC_INTERN PetscErrorCode MeasureProduct(Mat, const char[], PetscInt, PetscInt, PetscBool, Timing *, Mat *);
PETSC_INTERN PetscErrorCode ProductError(Mat, Mat, Mat, PetscReal *);
