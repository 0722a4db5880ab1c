/*
   Times of one operation with several variants. They take turns, so that all see the same clock rates and neighbours
*/
#pragma once

#include "cusparse.h"
#include "spread.h"
#include "variant.h"

typedef struct _n_SampledWork *SampledWork;

typedef struct {
  const Variant *variant;
  Mat            A, C;
  MatType        type;
  char           path[32]; /* path of the last product that was looked at; empty for the parent */
  /* Seconds: the first product with a new pattern; the part of it that is not the product; the cost of new values */
  PetscReal        first, setup, refresh;
  MatAIJTCUSynergy synergy;       /* zeros for the parent */
  MatAIJTCUFacts   facts;         /* of the last product that was looked at; zeros for the parent */
  PetscReal        once;          /* seconds, roughly: decides how often a product is repeated */
  Spread           steady, cycle; /* a product that is set up; from its creation to its clearing, or of many in a row */
  PetscInt         made;          /* products that the last operation made; zero for one */
  PetscInt         repeat;        /* how often the times were taken */
  PetscReal        error;

  const GenerateCSR *csr;
  RowMajor           rows; /* what makes a product with row-major operands */

  /* Of sampled products */
  Mat                X, Z;
  SampledWork        work;
} Subject;

typedef PetscErrorCode (*Operation)(Subject *, Mat);

/*
   What is timed. Without sampled, begin gets an array for C, and end leaves it. With it they make and destroy C, and
   get X and Z: C = X B^T at the entries of A, or C = (X B^T at the entries of A) Z
*/
typedef struct {
  const char *name;
  Operation   begin, numeric, end;
  Operation   cycle;  /* NULL where it is not timed: it would make a matrix on the host, and the set-up has that time */
  PetscInt    before; /* how often it is repeated before it is timed */
  PetscInt    left, right; /* dense matrices with the rows of A, and with its columns as rows */
  PetscInt    terms;       /* that an entry of A takes part in for each column */
  PetscBool   values;      /* an array with a number for each entry is read or written */
  PetscBool   sampled;
} Operations;

PETSC_INTERN const Operations ProductOperations, VectorOperations;

PETSC_INTERN PetscErrorCode TimeOnce(Subject *, Mat, Operation, PetscReal *);
PETSC_INTERN PetscErrorCode TimeSetUp(Subject *, Mat, const Operations *);
PETSC_INTERN PetscErrorCode TimeInTurn(PetscInt, Subject[], Mat, Operation, Spread[]);
