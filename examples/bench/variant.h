/*
   The variants that are compared: PETSc's own product, and ours by every path, format of bricks and precision,
   reordered, and tuned; cuSPARSE with row-major operands, and the matrix dense
*/
#pragma once

#include "generate.h"
#include <petscaijtcu.h>

typedef struct {
  const char        *name;
  PetscBool          ours;
  MatAIJTCUPath      path;
  PetscInt           brick_rows; /* 0: the device chooses the format */
  MatAIJTCUFormat    format;     /* where it has all four numbers of it */
  MatAIJTCUPrecision precision;
  MatAIJTCUReorder   reorder;
  MatAIJTCUTune      tune;
  PetscBool          dense; /* cuBLAS, or BLAS, with the matrix dense */
  PetscBool          rows;  /* cuSPARSE with row-major operands */
  PetscBool          apart; /* of those that are multiplied: not in the same pass */
} Variant;

PETSC_INTERN PetscErrorCode VariantFind(const char[], const Variant **);
PETSC_INTERN PetscBool      VariantSuits(const Variant *, const GenerateCSR *);
PETSC_INTERN PetscErrorCode VariantCreateMat(const Variant *, const GenerateCSR *, MatType, Mat *);
