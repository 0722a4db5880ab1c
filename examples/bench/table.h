/*
   The rows that the benchmark writes: one for each matrix, number of columns and variant
*/
#pragma once

#include "limit.h"

typedef struct {
  char file[PETSC_MAX_PATH_LEN], commit[64];
} Table;

PETSC_INTERN PetscErrorCode TableAppend(const Table *, const Machine *, const char[], const GenerateCSR *, const MatAIJTCUSynergy *, const Operations *, PetscInt, PetscInt, const Subject *, const Subject *);
