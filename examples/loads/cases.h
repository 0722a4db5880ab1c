/*
   Load cases: a block of forces, one column for each case, generated for a beam or from a file
*/
#pragma once

#include "beam.h"

/* A generated load: distributed over a section of the beam, with this resultant */
typedef struct {
  BeamMotion motion;   /* what it does to the beam */
  PetscInt   section;  /* the nodes i = section of the mesh */
  PetscReal  distance; /* of that section from the clamped end, m */
  PetscReal  load;     /* a force in N, or in torsion a moment in N m */
} LoadCase;

PETSC_INTERN PetscErrorCode LoadCasesCreate(const Beam *, PetscInt, char *const[], PetscInt, PetscReal, PetscInt *, LoadCase **);
PETSC_INTERN PetscErrorCode LoadCasesForces(const Beam *, PetscInt, const LoadCase[], Mat, Mat *);
PETSC_INTERN PetscErrorCode LoadForces(const char[], Mat, Mat *);
