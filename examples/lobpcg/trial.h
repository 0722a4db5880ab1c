/*
   A fixed number of iterations of SLEPc's LOBPCG: its time, its parts, and the eigenvalues that it reached
*/
#pragma once

#include "profile.h"
#include "spread.h"
#include <slepceps.h>

typedef struct {
  PetscInt          block;
  BVOrthogBlockType orthogonalization;
  PetscInt          repeat; /* number of timings */
  PetscBool         once;   /* time the first solve, without one before it */
  const char       *mode;   /* of -eps_aijtcu_lobpcg */
} TrialOptions;

typedef struct {
  PetscInt   iterations;
  Spread     solve;
  Profile    profile;
  PetscReal *eigenvalue; /* as many eigenvalues as the block has vectors */
  char       path[32];   /* paths of the products; empty for a type that is not ours */
} Trial;

PETSC_INTERN PetscErrorCode TrialStart(Mat, PetscInt, Vec *[]);
PETSC_INTERN PetscErrorCode TrialRun(Mat, Vec[], const TrialOptions *, Trial *);
PETSC_INTERN PetscErrorCode TrialDestroy(Trial *);
