/*
   What the files of sparse products and graphs share.
*/
#pragma once

#include "sparse.h"
#include "../device/device.h"
#include "../plan/plan.h"

#if AIJTCU_HAVE_DEVICE_REAL
  #include <sparse/sparse.h>

/* arrays.c */
PETSC_INTERN PetscErrorCode AIJTCUSparseOnDevice(Mat, PetscBool *);
PETSC_INTERN PetscErrorCode AIJTCUSparseArrays(Mat, PetscBool, SparseMatrix *);
PETSC_INTERN PetscErrorCode AIJTCUSparseBring(void *, const void *, size_t, struct CUstream_st *);
PETSC_INTERN PetscErrorCode AIJTCUSparsePattern(Mat, int64_t, int64_t, const HrpbInt[], const HrpbInt[]);
PETSC_INTERN PetscErrorCode AIJTCUSparseWriteBegin(Mat, PetscScalar **);
PETSC_INTERN PetscErrorCode AIJTCUSparseWriteEnd(Mat, PetscScalar **);

  #if AIJTCU_HAVE_HALO
/* parallel.c */
PETSC_INTERN PetscErrorCode AIJTCUParallelIs(Mat, PetscBool *);
PETSC_INTERN PetscErrorCode AIJTCUParallelSymbolic(Mat, PetscBool *);
  #endif
#endif
