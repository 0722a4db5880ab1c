/*
   Products of sparse matrices: A B, A^T B, P^T A P, R A R^T and A B C.
*/
#pragma once

#include "../identity/identity.h"

PETSC_INTERN PetscErrorCode AIJTCUSetUpSparse(Mat, PetscErrorCode (*)(Mat));
