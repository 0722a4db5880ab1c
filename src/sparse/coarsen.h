/*
   Coarsening of graphs on the device, and matrices without entries that stand for one.
*/
#pragma once

#include "sparseimpl.h"

#if AIJTCU_HAVE_BLOCK && AIJTCU_HAVE_DEVICE_REAL
PETSC_INTERN PetscErrorCode AIJTCUCoarsens(Mat, PetscBool *);
PETSC_INTERN PetscErrorCode AIJTCUCoarsenerIsOurs(const char[], PetscBool *);
PETSC_INTERN PetscErrorCode AIJTCUHangPattern(Mat, SparseProduct *);
#endif
