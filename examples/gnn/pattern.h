/*
   Sparse matrices with one pattern whose values change in every step.

   The values of a pattern are a list. MatSetValuesCOO() puts them into a matrix, where that is.
*/
#pragma once

#include "nodes.h"

typedef struct {
  const Nodes *nodes;
  Mat          like;      /* has the layout of rows and columns */
  PetscInt     nz;        /* entries here */
  PetscInt    *row, *col; /* global, of each entry */
  Vec          value;     /* list of values; this process only */
  Real        *v;         /* its array */
  Vec          ids;       /* has the memory for: */
  int64_t     *id;        /* an entry's number in all of the matrix, where value is */
} Pattern;

PETSC_INTERN PetscErrorCode PatternCreate(const Nodes *, Mat, PetscInt before, PetscInt copies, Pattern *);
PETSC_INTERN PetscErrorCode PatternMat(const Pattern *, Mat *);
PETSC_INTERN PetscErrorCode PatternGet(Pattern *, Mat, EntryMask);
PETSC_INTERN PetscErrorCode PatternPut(const Pattern *, Mat);
PETSC_INTERN PetscErrorCode PatternDestroy(Pattern *);
