/*
   Stand-ins for matrices that papers measure with and that are not at hand: graphs with the rows and nonzeros that are
   published, and layers of pruned networks
*/
#pragma once

#include "generate.h"

typedef struct {
  PetscInt rows;
  void    *graph;   /* of the list, or NULL */
  PetscInt percent; /* of a layer's entries that are left */
  PetscInt block;   /* rows and columns of its blocks; 1 for single entries */
} StandIn;

PETSC_EXTERN PetscErrorCode StandInFind(const char[], PetscReal, PetscInt, StandIn *, PetscBool *);
PETSC_EXTERN PetscErrorCode StandInRows(const StandIn *, PetscBool, PetscInt, PetscInt, GenerateCSR *);
