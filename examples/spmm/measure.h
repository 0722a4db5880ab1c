/*
   One product C = A B: its time, and how far two of them are apart
*/
#pragma once

#include <petscmat.h>

typedef struct {
  PetscLogDouble first, median, least; /* s; the first product includes everything done once for a matrix */
} Timing;

PETSC_INTERN PetscErrorCode MeasureProduct(Mat, const char[], PetscInt, PetscInt, Timing *, Mat *);
PETSC_INTERN PetscErrorCode ProductError(Mat, Mat, Mat, PetscReal *);
