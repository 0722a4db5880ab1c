/*
   Families of matrices to measure products with, shared by the examples: the same entries on any number of processes
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
  GENERATE_ARROW,
  GENERATE_TETRA,
  GENERATE_BLOCKARROW,
  GENERATE_POWERLAW
} GenerateKind;
extern const char *const GenerateKinds[];

/* Rows of a sparse matrix, each sorted and without repeats */
typedef struct {
  PetscInt     m, n; /* rows here, columns */
  PetscInt    *i, *j;
  PetscScalar *a;
} GenerateCSR;

/* What makes the columns of a row: row i has at most most of them, repeats included, which row() writes and counts */
typedef struct {
  PetscInt  rows, most;
  PetscBool sorted; /* the columns of a row are sorted, and none comes twice */
  PetscInt (*row)(void *ctx, PetscInt i, PetscInt col[]);
  void *ctx;
} GenerateSource;

PETSC_EXTERN PetscErrorCode GenerateFrom(const GenerateSource *, PetscBool, PetscInt, PetscInt, GenerateCSR *);
PETSC_EXTERN PetscErrorCode GeneratePermutation(PetscInt64, PetscInt, PetscInt **);
PETSC_EXTERN PetscErrorCode GenerateRows(GenerateKind, PetscInt, PetscInt, PetscBool, PetscInt, PetscInt, GenerateCSR *);
PETSC_EXTERN PetscErrorCode GenerateCSRDestroy(GenerateCSR *);
PETSC_EXTERN PetscErrorCode GenerateMatrix(GenerateKind, PetscInt, PetscBool, Mat);
PETSC_EXTERN PetscBool      GenerateIsGrid(GenerateKind);
PETSC_EXTERN PetscErrorCode GenerateRowCount(GenerateKind, PetscInt, PetscInt, PetscInt *, PetscInt *);
PETSC_EXTERN PetscReal      GenerateValue(PetscInt64, PetscInt64);
PETSC_EXTERN PetscInt64     GenerateHash(PetscInt64, PetscInt64);
