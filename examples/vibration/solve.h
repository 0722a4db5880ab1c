/*
   The eigensolver: SLEPc's LOBPCG with a preconditioner and defaults that suit K x = lambda M x, progress and
   statistics
*/
#pragma once

#include "beam.h"
#include "exchange.h"
#include "profile.h"
#include <slepceps.h>

typedef struct {
  PetscInt       wanted, converged, iterations;
  PetscInt       rounded;                   /* of these, those with a residual that rounding keeps above it */
  PetscBool      stagnated;                 /* rounding ended the iteration */
  PetscReal      negative;                  /* an approximate eigenvalue below zero that ended it; else zero */
  PetscInt       products;                  /* sparse matrix times block of vectors, on this process */
  PetscLogDouble product_time, setup, time; /* in those, before the iteration, and in it */
  Exchange       exchange;                  /* what the products spent on it; zeros on one process */
} SolveStatistics;

PETSC_INTERN PetscErrorCode Solve(const Beam *, Mat, Mat, PetscBool, Profile *, EPS *, SolveStatistics *);
