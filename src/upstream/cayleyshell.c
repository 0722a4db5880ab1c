/*
   The matrix A + nu B of STCAYLEY makes vectors of the host, where A and B are on a device

     With -st_matmode inplace or shell, this matrix of SLEPc is a MATSHELL. STComputeOperator_Cayley() and
     STMatShellCreate() do not give it a type of vectors. In a generalized problem that is Hermitian it is the matrix
     of the inner products: BV_IPMatMult() asks it by MatCreateVecs() for the vector Bx, which is a VECSEQ then.
     BVDotVec_Svec_CUDA() and BVDotVec_Mat_CUDA() call VecCUDAGetArrayRead(Bx). The first call copies Bx to the device.
     Those after it get that copy, because a VECSEQ does not say that it was written. So all inner products are those
     of the first vector: "The inner product is not well defined: indefinite matrix", or wrong eigenvectors. A PETSc
     with debugging says that the object is not seqcuda.

       EPSSetOperators(eps, A, B);  // both of a device
       EPSSetProblemType(eps, EPS_GHEP);
       // -st_type cayley -st_matmode inplace -eps_target 0.1 -eps_target_magnitude
       EPSSolve(eps);  // ends in BV_SafeSqrt()

     What would help: MatShellSetVecType() with the type of the vectors of A, as STGetOperator_Private() calls it.

   Needed: SLEPc 3.24 to 3.26. Gone when: nothing says it; read STComputeOperator_Cayley(). Ours: cayley.c, with a GPU.

   The library for SLEPc's solvers calls this after STComputeOperator_Cayley(), with SLEPc 3.26
*/
#include "upstream.h"

/* The vectors of a MATSHELL become those of A */
PetscErrorCode AIJTCUShellVecsOf(Mat shell, Mat A)
{
  PetscBool is;
  VecType   type;

  PetscFunctionBegin;
  if (!shell || !A) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCall(PetscObjectTypeCompare((PetscObject)shell, MATSHELL, &is));
  if (!is) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCall(MatGetVecType(A, &type));
  PetscCall(MatShellSetVecType(shell, type));
  PetscFunctionReturn(PETSC_SUCCESS);
}
