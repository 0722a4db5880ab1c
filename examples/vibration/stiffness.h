/*
   The stiffness matrix of a file: loaded, checked for symmetry, and without the unknowns that are fixed
*/
#pragma once

#include <petscmat.h>

PETSC_INTERN PetscErrorCode StiffnessLoad(MPI_Comm, const char[], Mat *);
