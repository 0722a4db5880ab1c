/*
   The weights of a network: one list for all, so that Adam is one pass and their gradient one message. Every process
   has all of them.
*/
#pragma once

#include "nodes.h"

typedef struct {
  const char *name;
  PetscInt    rows, cols, first; /* where it begins in the list */
  PetscReal   bound;             /* drawn from -bound to bound */
  PetscReal   start;             /* added to what is drawn */
  PetscReal   decay;             /* L2 regularization */
  Block      *w, *dw;            /* filled by ParamsSetUp() */
} Param;

typedef enum {
  PARAMS_W,
  PARAMS_G, /* gradient */
  PARAMS_M, /* moments of Adam */
  PARAMS_V,
  PARAMS_DECAY,
  PARAMS_BEST, /* weights that were kept */
  PARAMS_LISTS
} ParamsList;

typedef struct {
  const Nodes *nodes;
  Param        param[16];
  PetscInt     n, size; /* how many, and numbers in all of them */
  Vec          list[PARAMS_LISTS];
  Real        *a[PARAMS_LISTS];
  PetscInt     step;
} Params;

PETSC_INTERN PetscErrorCode ParamsAdd(Params *, const char[], PetscInt rows, PetscInt cols, PetscReal decay, Block *, Block *);
PETSC_INTERN PetscErrorCode ParamsSetUp(const Nodes *, Params *);
PETSC_INTERN PetscErrorCode ParamsStart(Params *, uint64_t);
PETSC_INTERN PetscErrorCode ParamsSum(Params *);
PETSC_INTERN PetscErrorCode ParamsStep(Params *, PetscReal);
PETSC_INTERN PetscErrorCode ParamsKeep(Params *);
PETSC_INTERN PetscErrorCode ParamsBack(Params *);
PETSC_INTERN PetscErrorCode ParamsDestroy(Params *);
