/*
   What the benchmark of block solves solves: a matrix and right-hand sides, the same for matrices of all types, and how
   far solutions are from right. With several processes each has some rows; matrices from files are for one process
*/
#pragma once

#include "generate.h"

typedef struct {
  const char  *name;
  char         values[32]; /* where they are from: stored, dominant, or springs and the smallest eigenvalue */
  GenerateCSR  csr;      /* the rows of this process */
  PetscInt     first;    /* the number of the first of them */
  PetscInt64   nonzeros; /* of all processes */
  PetscBool    symmetric;
  PetscInt     most; /* right-hand sides there are */
  PetscScalar *b;    /* their columns, one after the other */
} System;

PETSC_INTERN PetscErrorCode SystemGenerate(const char[], PetscReal, PetscReal, PetscInt, System *);
PETSC_INTERN PetscErrorCode SystemLoad(const char[], PetscBool, PetscBool, PetscReal, PetscInt, System *);
PETSC_INTERN PetscErrorCode SystemShift(PetscScalar, System *);
PETSC_INTERN PetscErrorCode SystemDestroy(System *);
PETSC_INTERN PetscErrorCode SystemMat(const System *, const char[], Mat *);
PETSC_INTERN PetscErrorCode SystemBlock(const System *, Mat, PetscBool, PetscInt, Mat *);
PETSC_INTERN PetscErrorCode SystemCheck(Mat, Mat, Mat, Mat, PetscReal *, PetscReal *);
