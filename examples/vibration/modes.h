/*
   Displaced beams gathered on one process: mode shapes or deflections, and the files made of them
*/
#pragma once

#include "beam.h"

typedef struct {
  const Beam *beam;
  PetscInt    count;
  const char *name, *unit; /* what one is called, and the unit of its value */
  PetscReal  *value;       /* [count], a frequency or a displacement */
  /*
     On rank 0: displacement of node (i,j,k) of mode m at 3*((m*nodes) + (i*(ny+1) + j)*(nz+1) + k). Clamped nodes are
     included. The largest length is 1
  */
  float *u;
} Modes;

PETSC_INTERN PetscErrorCode ModesCreate(const Beam *, PetscInt, const char[], const char[], Modes *);
PETSC_INTERN PetscErrorCode ModesSet(Modes *, PetscInt, PetscReal, Vec);
PETSC_INTERN PetscErrorCode ModesDestroy(Modes *);
PETSC_INTERN PetscErrorCode ModesWriteVTK(const Modes *, const char[]);
PETSC_INTERN PetscErrorCode ModesDraw(const Modes *, const char[]);

static inline PetscInt ModesNodes(const Modes *m) /* clamped nodes included */
{
  return (m->beam->nx + 1) * (m->beam->ny + 1) * (m->beam->nz + 1);
}
static inline const float *ModesAt(const Modes *m, PetscInt mode, PetscInt i, PetscInt j, PetscInt k)
{
  return m->u + 3 * ((size_t)mode * ModesNodes(m) + (i * (m->beam->ny + 1) + j) * (m->beam->nz + 1) + k);
}
