/*
   CUDA's record of the last error.
*/
#include "common.h"

#if AIJTCU_HAVE_DEVICE
  #include <cuda_runtime_api.h>

/*
   Take away an error of a call whose result nobody uses, so that the next query does not report it. An error of
   earlier work shows again in the next call.
*/
PetscBool AIJTCUForgetError(int err)
{
  if (err != cudaSuccess) (void)cudaGetLastError();
  return (PetscBool)(err != cudaSuccess);
}
#endif
