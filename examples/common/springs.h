/*
   A generated pattern as the stiffness matrix of springs. It is symmetric and positive definite, to measure solvers
   with
*/
#pragma once

#include "generate.h"

PETSC_EXTERN PetscErrorCode SpringsSetValues(PetscInt, PetscReal, GenerateCSR *);
