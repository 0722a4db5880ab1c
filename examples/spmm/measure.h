/*
   One product C = A B: its time, and the distance between two products
*/
#pragma once

#include "exchange.h"
#include "spread.h"
#include <petscmat.h>

typedef struct {
  PetscLogDouble first; /* seconds; this product includes everything that is done once for a matrix */
  Spread         steady;
  Exchange       exchange; /* seconds of a steady product; zeros on one process */
} Timing;

PETSC_INTERN PetscErrorCode MeasureProduct(Mat, const char[], PetscInt, PetscInt, PetscBool, Timing *, Mat *);
PETSC_INTERN PetscErrorCode ProductError(Mat, Mat, Mat, PetscReal *);
