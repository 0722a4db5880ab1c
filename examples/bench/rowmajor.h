/*
   cuSPARSE's product with row-major operands, which PETSc has no type for: what ours is compared with. The copies to
   that layout are made before, and are not timed
*/
#pragma once

#include "generate.h"

typedef struct _n_RowMajor *RowMajor;

PETSC_INTERN PetscErrorCode RowMajorCreate(const GenerateCSR *, Mat B, RowMajor *);
PETSC_INTERN PetscErrorCode RowMajorRun(RowMajor);
PETSC_INTERN PetscErrorCode RowMajorGet(RowMajor, Mat C); /* C gets the product */
PETSC_INTERN PetscErrorCode RowMajorDestroy(RowMajor *);
