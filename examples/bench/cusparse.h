/*
   cuSPARSE's sampled product, X Y^T at the entries of a CSR matrix: what ours is compared with. Operands are on a
   device
*/
#pragma once

#include "generate.h"

typedef struct _n_CusparseSampled *CusparseSampled;

PETSC_INTERN PetscErrorCode CusparseSampledCreate(const GenerateCSR *, PetscInt k, PetscBool rows, const PetscScalar x[], const PetscScalar y[], CusparseSampled *);
PETSC_INTERN PetscErrorCode CusparseSampledRun(CusparseSampled, Mat W); /* into W, of the parent */
PETSC_INTERN PetscErrorCode CusparseSampledDestroy(CusparseSampled *);
