/*
   Which path the products of a matrix are to take, and which they have taken.
*/
#pragma once

#include <petscmat.h>
#include "petscaijtcu.h"
#if PetscDefined(HAVE_CUDA)
  #include <cuda_runtime_api.h>
#endif

/* Whether products of a matrix can take bricks: the tensor cores of the device must pay for its precision */
static PetscErrorCode HasBricks(Mat A, PetscBool *has)
{
  PetscFunctionBegin;
  *has = PETSC_TRUE;
#if PetscDefined(HAVE_CUDA) && PetscDefined(USE_REAL_DOUBLE)
  {
    VecType type;
    char   *at;

    PetscCall(MatGetVecType(A, &type));
    PetscCall(PetscStrstr(type, "cuda", &at));
    if (at) {
      int device, major, minor;

      PetscCallExternal(cudaGetDevice, &device);
      PetscCallExternal(cudaDeviceGetAttribute, &major, cudaDevAttrComputeCapabilityMajor, device);
      PetscCallExternal(cudaDeviceGetAttribute, &minor, cudaDevAttrComputeCapabilityMinor, device);
      *has = (PetscBool)(minor == 0 && (major == 8 || major == 9 || major == 10));
    }
  }
#else
  (void)A;
#endif
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* For a matrix on one process: check that all products took the path that was set, bricks or CSR */
static inline PetscErrorCode CheckPath(Mat A, PetscInt nproducts)
{
  MatAIJTCUPath   path;
  MatAIJTCUCounts counts;
  PetscBool       bricks;

  PetscFunctionBegin;
  PetscCall(MatAIJTCUGetPath(A, &path));
  PetscCall(HasBricks(A, &bricks));
  PetscCall(MatAIJTCUGetCounts(A, &counts));
  if ((path == MAT_AIJTCU_PATH_TCU && bricks ? counts.tcu : counts.csr) != nproducts) PetscCall(PetscPrintf(PETSC_COMM_SELF, "%" PetscInt_FMT " products with bricks and %" PetscInt_FMT " without, %" PetscInt_FMT " were the parent's, of %" PetscInt_FMT "\n", (PetscInt)counts.tcu, (PetscInt)counts.csr, (PetscInt)counts.cusparse, nproducts));
  PetscFunctionReturn(PETSC_SUCCESS);
}
