/*
   The solvers that the benchmark of block solves compares. Each is a line of options, as a user would give them
*/
#pragma once

#include <petscksp.h>

typedef struct {
  const char *name;      /* with an underscore behind it also the prefix of its options */
  PetscBool   symmetric; /* only for symmetric matrices */
  PetscBool   vector;    /* KSPSolve() with one vector, not KSPMatSolve() */
  const char *options;   /* pairs of a name without prefix and a value, ksp_type first */
} Solver;

PETSC_INTERN PetscErrorCode SolverNames(char[], size_t);
PETSC_INTERN PetscErrorCode SolverFind(const char[], const Solver **);
PETSC_INTERN PetscErrorCode SolverLacks(const Solver *, PetscBool, const char **);
PETSC_INTERN PetscErrorCode SolverCreate(const Solver *, Mat, KSP *);
PETSC_INTERN PetscErrorCode SolverSetUp(KSP, PetscReal *);
