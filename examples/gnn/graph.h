/*
   A graph whose nodes have features and, some of them, labels
*/
#pragma once

#include <petscmat.h>

typedef enum {
  SPLIT_TRAIN,
  SPLIT_VAL,
  SPLIT_TEST,
  SPLITS,
  SPLIT_NONE = SPLITS
} Split;

typedef struct {
  Mat      A;        /* ones, the diagonal included; type aij */
  Mat      features; /* rows of this process, each with sum 1; type seqaij */
  PetscInt classes;
  int32_t *label; /* of nodes of this process; -1 where there is none */
  Split   *split;
} Graph;

PETSC_INTERN PetscErrorCode GraphLoad(MPI_Comm, const char[], Graph *);
PETSC_INTERN PetscErrorCode GraphGenerate(MPI_Comm, PetscInt, PetscReal neighbours, Graph *);
PETSC_INTERN PetscErrorCode GraphMean(const Graph *, PetscBool symmetric, Mat *);
PETSC_INTERN PetscErrorCode GraphCopies(const Graph *, PetscInt, Mat *);
PETSC_INTERN PetscErrorCode GraphConvert(Mat, Mat *);
PETSC_INTERN PetscErrorCode GraphDestroy(Graph *);
