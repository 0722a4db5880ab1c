/*
   A generated pattern as the stiffness matrix of springs: symmetric and positive definite, what an eigensolver can be
   measured with
*/
#pragma once

#include "generate.h"

PETSC_INTERN PetscErrorCode SpringsSetValues(GenerateCSR *);
PETSC_INTERN PetscErrorCode SpringsCreateMat(const GenerateCSR *, const char[], Mat *);
