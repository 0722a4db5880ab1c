/*
   cuBLAS, cuSOLVER and cuSPARSE with numbers as PETSc has them.
*/
#pragma once

#include <petscdevice_cuda.h>

#if PetscDefined(USE_COMPLEX) && PetscDefined(USE_REAL_SINGLE)
typedef cuComplex AIJTCUCudaScalar;
  #define AIJTCU_CUDA_TYPE   CUDA_C_32F
  #define AIJTCU_GEMM        cublasCgemm
  #define AIJTCU_EIGEN       cusolverDnCheevd
  #define AIJTCU_EIGEN_BYTES cusolverDnCheevd_bufferSize
#elif PetscDefined(USE_COMPLEX)
typedef cuDoubleComplex AIJTCUCudaScalar;
  #define AIJTCU_CUDA_TYPE   CUDA_C_64F
  #define AIJTCU_GEMM        cublasZgemm
  #define AIJTCU_EIGEN       cusolverDnZheevd
  #define AIJTCU_EIGEN_BYTES cusolverDnZheevd_bufferSize
#elif PetscDefined(USE_REAL_SINGLE)
typedef float AIJTCUCudaScalar;
  #define AIJTCU_CUDA_TYPE   CUDA_R_32F
  #define AIJTCU_GEMM        cublasSgemm
  #define AIJTCU_EIGEN       cusolverDnSsyevd
  #define AIJTCU_EIGEN_BYTES cusolverDnSsyevd_bufferSize
#else
typedef double AIJTCUCudaScalar;
  #define AIJTCU_CUDA_TYPE   CUDA_R_64F
  #define AIJTCU_GEMM        cublasDgemm
  #define AIJTCU_EIGEN       cusolverDnDsyevd
  #define AIJTCU_EIGEN_BYTES cusolverDnDsyevd_bufferSize
#endif
