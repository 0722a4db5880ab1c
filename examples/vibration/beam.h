/*
   A clamped elastic beam of box-shaped hexahedra: mesh, assembly, theory, and the kind of motion of a computed mode
*/
#pragma once

#include <petscksp.h>

enum {
  BEAM_PRODUCTS = 200 /* an eigensolve multiplies a matrix with about this many blocks of vectors */
};

typedef struct {
  PetscInt  nx, ny, nz;              /* elements along the beam and across it */
  PetscReal lx, ly, lz;              /* length and cross-section, m */
  PetscReal young, poisson, density; /* Pa, -, kg/m^3 */
  PetscBool bubbles;                 /* add the bending modes of an element to its trilinear shape functions */
  /*
     Unit of length of the matrices, in m. Young's modulus and the density are units, too, so that entries are about
     one
  */
  PetscReal unit;
} Beam;

/* The motions that beam theory knows */
typedef enum {
  BEAM_BENDING_Y,
  BEAM_BENDING_Z,
  BEAM_TORSION,
  BEAM_AXIAL,
  BEAM_OTHER
} BeamMotion;
extern const char *const BeamMotions[];

/*
   Nodes in the clamped section x = 0 are left out. Node n is node (i, j, k) of the mesh, i = 1..nx, one section after
   the other.
*/
static inline PetscInt BeamNodes(const Beam *b)
{
  return b->nx * (b->ny + 1) * (b->nz + 1);
}
static inline PetscInt BeamNode(const Beam *b, PetscInt i, PetscInt j, PetscInt k)
{
  return ((i - 1) * (b->ny + 1) + j) * (b->nz + 1) + k;
}
static inline void BeamNodePosition(const Beam *b, PetscInt n, PetscInt ijk[3])
{
  ijk[2] = n % (b->nz + 1);
  ijk[1] = n / (b->nz + 1) % (b->ny + 1);
  ijk[0] = n / (b->nz + 1) / (b->ny + 1) + 1;
}

PETSC_INTERN PetscErrorCode BeamSetFromOptions(MPI_Comm, Beam *);
PETSC_INTERN PetscErrorCode BeamStiffness(MPI_Comm, const Beam *, Mat *);
PETSC_INTERN PetscErrorCode BeamMass(MPI_Comm, const Beam *, Mat *);
PETSC_INTERN PetscBool      BeamCoarsen(const Beam *, Beam *);
PETSC_INTERN PetscErrorCode BeamMultigrid(const Beam *, Mat, PC);
PETSC_INTERN PetscReal      BeamFrequency(const Beam *, PetscReal);
PETSC_INTERN PetscErrorCode BeamClassify(const Beam *, Vec, BeamMotion *, PetscInt *);
PETSC_INTERN void           BeamTheory(const Beam *, BeamMotion, PetscInt, PetscReal *, PetscReal *);
PETSC_INTERN void           BeamDeflection(const Beam *, BeamMotion, PetscReal, PetscReal, PetscReal *, PetscReal *);
