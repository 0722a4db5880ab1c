/*
   Products of cuSPARSE that PETSc has no type for, which ours are compared with. Operands are on a device
*/
#pragma once

#include "generate.h"

/* A sampled product: X Y^T at the entries of a CSR matrix */
typedef struct _n_CusparseSampled *CusparseSampled;

PETSC_INTERN PetscErrorCode CusparseSampledCreate(const GenerateCSR *, PetscInt k, PetscBool rows, const PetscScalar x[], const PetscScalar y[], CusparseSampled *);
PETSC_INTERN PetscErrorCode CusparseSampledRun(CusparseSampled, Mat W); /* into W, of the parent */
PETSC_INTERN PetscErrorCode CusparseSampledDestroy(CusparseSampled *);

/* A product with row-major operands. The copies to that layout are made before, and are not timed */
typedef struct _n_RowMajor *RowMajor;

PETSC_INTERN PetscErrorCode RowMajorCreate(const GenerateCSR *, Mat B, RowMajor *);
PETSC_INTERN PetscErrorCode RowMajorRun(RowMajor);
PETSC_INTERN PetscErrorCode RowMajorGet(RowMajor, Mat C); /* C gets the product */
PETSC_INTERN PetscErrorCode RowMajorDestroy(RowMajor *);
