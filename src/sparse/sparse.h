/*
   Products of sparse matrices: A B, A^T B, P^T A P, R A R^T and A B C; graphs of matrices; sums.
*/
#pragma once

#include "../identity/identity.h"
#include <petscpc.h>

PETSC_INTERN PetscErrorCode AIJTCUSetUpSparse(Mat, PetscErrorCode (*)(Mat));
PETSC_INTERN PetscErrorCode AIJTCUAddSubset(Mat, PetscScalar, Mat, PetscBool *);
PETSC_INTERN PetscErrorCode AIJTCUCreateGraph(Mat, PetscBool, PetscBool, PetscReal, PetscInt, const PetscInt[], Mat *, PetscBool *);
PETSC_INTERN PetscErrorCode AIJTCUKeepGraphs(PC);
PETSC_INTERN void           AIJTCUKeepNoGraphs(void);
PETSC_INTERN PetscErrorCode AIJTCURegisterCoarseners(void);
