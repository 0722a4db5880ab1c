/*
   Whether products of a matrix can take bricks if they are to: where the tensor cores of the device pay for its precision.
*/
#pragma once

#include <petscmat.h>
#if PetscDefined(HAVE_CUDA)
  #include <cuda_runtime_api.h>
#endif

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
