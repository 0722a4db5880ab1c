/*
   The error of a product, from a sample of its rows in extended precision. B is operand number 0
*/
#pragma once

#include "generate.h"

typedef struct {
  const GenerateCSR *csr;
  PetscInt           n, *row;         /* the sample */
  PetscInt           first, N;        /* the columns that are compared */
  long double       *re, *im, *scale; /* [n N]: A B and |A| |B| */
} Reference;

PETSC_INTERN PetscErrorCode ReferenceCreate(const GenerateCSR *, Reference *);
PETSC_INTERN PetscErrorCode ReferenceSetColumns(Reference *, PetscInt);
PETSC_INTERN PetscErrorCode ReferenceSetFused(Reference *, PetscInt, PetscInt, PetscInt);
PETSC_INTERN PetscErrorCode ReferenceSampledError(const Reference *, PetscInt, PetscInt, Mat, PetscReal *);
PETSC_INTERN PetscErrorCode ReferenceError(const Reference *, Mat, PetscReal *);
PETSC_INTERN PetscErrorCode ReferenceDestroy(Reference *);
