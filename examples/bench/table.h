/*
   The rows that the benchmark writes: one for each matrix, number of columns and variant
*/
#pragma once

#include "csv.h"
#include "limit.h"

PETSC_INTERN PetscErrorCode TableAppend(const ExampleTable *, const Machine *, const char[], const GenerateCSR *, const MatAIJTCUSynergy *, const Operations *, PetscInt, PetscInt, const Subject *, const Subject *);
