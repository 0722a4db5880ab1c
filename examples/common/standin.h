/*
   Stand-ins for matrices that papers measure with and that are not at hand: graphs with the rows and nonzeros that are
   published, and layers of pruned networks
*/
#pragma once

#include "generate.h"

/* What is known, or assumed, of a graph */
typedef struct {
  const char *name;
  PetscInt    rows, nonzeros, longest;
  PetscInt    bulk;  /* entries that each row has beside those that fall with its rank */
  double      empty; /* share of rows without entries */
  double      near;  /* share of the entries within span rows of the diagonal */
  PetscInt    span;
} StandInGraph;

typedef struct {
  PetscInt     rows;
  StandInGraph graph;   /* without a name for a layer */
  PetscInt     percent; /* of a layer's entries that are left */
  PetscInt     block;   /* rows and columns of its blocks; 1 for single entries */
} StandIn;

PETSC_EXTERN PetscErrorCode StandInFind(const char[], PetscReal, PetscInt, StandIn *, PetscBool *);
PETSC_EXTERN PetscErrorCode StandInRows(const StandIn *, PetscBool, PetscInt, PetscInt, GenerateCSR *);
