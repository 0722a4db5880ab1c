/*
   A generated pattern as the stiffness matrix of springs. It is symmetric and positive definite, to measure an
   eigensolver with
*/
#pragma once

#include "generate.h"

PETSC_INTERN PetscErrorCode SpringsSetValues(PetscInt, GenerateCSR *);
PETSC_INTERN PetscErrorCode SpringsCreateMat(MPI_Comm, const GenerateCSR *, const char[], Mat *);
