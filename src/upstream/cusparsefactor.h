/* What PETSc has of a factor of MATSOLVERCUSPARSE: a private struct, for the two files that need it */
#pragma once

#include "upstream.h"

#if AIJTCU_HAVE_DEVICE
  #include <petscdevice_cuda.h>

typedef struct {
  void                 *rperm, *cperm, *work, *handle;
  PetscInt              nnz;
  struct cudaDeviceProp prop;
  PetscBool             init_prop;
  PetscScalar          *values, *diagonal;
  int                  *rowptr32, *colidx32;
  PetscInt             *rowptr, *colidx;
  PetscScalar          *host_values, *host_diagonal;
  PetscInt             *host_rowptr;
  void                 *matrix, *triangle[2], *solve[4], *vector[2], *array[2];
  int                   factor_size;
  size_t                size[4];
  void                 *buffer[5], *ilu, *icc;
  int                   zero[2];
  cusparseSolvePolicy_t policy;
  PetscBool             transpose_created, transpose_analysed; /* what solves with the transpose need */
  PetscBool             analysed;                              /* what solves need */
} AIJTCUFactorData;

typedef struct {
  PetscBool arrays, flags; /* those on the device and what is before them; the last three */
} AIJTCUFactorFit;

PETSC_INTERN PetscErrorCode AIJTCUFactorAsk(AIJTCUFactorFit *);
#endif
