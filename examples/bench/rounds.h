/*
   Times of the same operation with several variants in turn, so that all see the same clock rates and neighbours
*/
#pragma once

#include "spread.h"
#include "variant.h"

typedef struct {
  const Variant   *variant;
  Mat              A, C;
  MatType          type;
  char             path[32];              /* of the last product that was looked at; empty for the parent */
  PetscReal        first, setup, refresh; /* s: first product with a new pattern; what of it is not the product; what new values cost */
  MatAIJTCUSynergy synergy;               /* zeros for the parent */
  MatAIJTCUFacts   facts;                 /* zeros for the parent; of the last product that was looked at */
  PetscReal        once;                  /* s, about: what decides how often a product is repeated */
  Spread           steady, cycle;         /* a product that is set up; from creating the product to clearing it */
  PetscInt         repeat;                /* how often the times were taken */
  PetscReal        error;
} Subject;

typedef PetscErrorCode (*Operation)(Subject *, Mat);

PETSC_INTERN PetscErrorCode ProductBegin(Subject *, Mat);
PETSC_INTERN PetscErrorCode ProductNumeric(Subject *, Mat);
PETSC_INTERN PetscErrorCode ProductEnd(Subject *, Mat);
PETSC_INTERN PetscErrorCode ProductCycle(Subject *, Mat);
PETSC_INTERN PetscErrorCode TimeOnce(Subject *, Mat, Operation, PetscReal *);
PETSC_INTERN PetscErrorCode TimeSetUp(Subject *, Mat);
PETSC_INTERN PetscErrorCode TimeInTurn(PetscInt, Subject[], Mat, Operation, Spread[]);
