/*
   What the benchmark of block solves solves: a matrix and right-hand sides, the same for matrices of all types, and how
   far solutions are from right
*/
#pragma once

#include "generate.h"

typedef struct {
  const char  *name;
  GenerateCSR  csr;
  PetscBool    symmetric;
  PetscInt     most; /* right-hand sides there are */
  PetscScalar *b;    /* their columns, one after the other */
} System;

PETSC_INTERN PetscErrorCode SystemGenerate(const char[], PetscReal, PetscInt, System *);
PETSC_INTERN PetscErrorCode SystemLoad(const char[], PetscBool, PetscInt, System *);
PETSC_INTERN PetscErrorCode SystemDestroy(System *);
PETSC_INTERN PetscErrorCode SystemMat(const System *, const char[], Mat *);
PETSC_INTERN PetscErrorCode SystemBlock(const System *, Mat, PetscBool, PetscInt, Mat *);
PETSC_INTERN PetscErrorCode SystemCheck(Mat, Mat, Mat, Mat, PetscReal *, PetscReal *);
