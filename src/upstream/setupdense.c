/*
   MatSetUp() of a parallel dense matrix of the device allocates, and clears, as much memory of the host

     MatMPIDenseSetPreallocation_MPIDense() calls MatSeqDenseSetPreallocation() for its local matrix, which is a
     MATSEQDENSECUDA. That allocates on the host, by PetscCalloc1(), whatever the type is. Memory of the device comes
     when it is first asked for. With 258 MB it takes 0.1 s, in each symbolic phase of a product that makes its C.

       MatCreate(PETSC_COMM_WORLD, &C); MatSetSizes(C, m, PETSC_DECIDE, PETSC_DECIDE, N);
       MatSetType(C, MATMPIDENSECUDA);
       MatSetUp(C);  // the process has grown by m * N scalars

     What would help: MatSetUp() of the local matrix, where there is no array of the user.

   Needed: 3.26. Gone when: nothing says it; read MatMPIDenseSetPreallocation_MPIDense(). Ours: product.c, with blocks
   of the device.
*/
#include "upstream.h"

PetscErrorCode AIJTCUSetUpDense(Mat C)
{
  PetscFunctionBegin;
#if AIJTCU_HAVE_DEVICE
  {
    PetscBool device;

    PetscCall(PetscObjectTypeCompare((PetscObject)C, MATMPIDENSECUDA, &device));
    if (device && !C->preallocated) PetscCall(MatDenseCUDASetPreallocation(C, NULL));
  }
#endif
  PetscCall(MatSetUp(C));
  PetscFunctionReturn(PETSC_SUCCESS);
}
