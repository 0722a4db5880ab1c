/*
   Products of a matrix with a dense one, and with one vector.
*/
#pragma once

#include "../identity/identity.h"

/* select.c */
PETSC_INTERN PetscErrorCode MatProductSetFromOptions_AIJTCU(Mat);

/* mult.c */
PETSC_INTERN PetscErrorCode MatMult_AIJTCU(Mat, Vec, Vec);
PETSC_INTERN PetscErrorCode MatMultAdd_AIJTCU(Mat, Vec, Vec, Vec);
PETSC_INTERN PetscErrorCode MatMultTranspose_AIJTCU(Mat, Vec, Vec);
PETSC_INTERN PetscErrorCode MatMultTransposeAdd_AIJTCU(Mat, Vec, Vec, Vec);
PETSC_INTERN PetscErrorCode MatMultHermitianTranspose_AIJTCU(Mat, Vec, Vec);
PETSC_INTERN PetscErrorCode MatMultHermitianTransposeAdd_AIJTCU(Mat, Vec, Vec, Vec);
PETSC_INTERN PetscErrorCode MatSOR_AIJTCU(Mat, Vec, PetscReal, MatSORType, PetscReal, PetscInt, PetscInt, Vec);
PETSC_INTERN PetscErrorCode MatMultDiagonalBlock_AIJTCU(Mat, Vec, Vec);
