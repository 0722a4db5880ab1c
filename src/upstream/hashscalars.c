/*
   MatSetValues() of a MATMPIAIJCUSPARSE that nobody preallocated reads complex numbers as if they were aligned

     mpiaijcusparse.cu includes mpihashmat.h. PetscScalar is thrust::complex<double> there, which is aligned to 16
     bytes, and MatSetValues_MPI_Hash() is compiled so. In C a double complex is aligned to 8: a variable of the
     program, or what another process has sent. Then the process ends with a segmentation violation.

       MatSetType(A, MATMPIAIJCUSPARSE); MatSetUp(A);
       for (int k = 0; k < 3; k++) MatSetValues(A, 1, &row, 1, &row, (PetscScalar *)(numbers + k), INSERT_VALUES);
       // with an array of double, numbers; mat ex5 and ex18, with complex scalars

     What would help: mpihashmat.h included by files in C alone, with the type of the blocks as an argument.

   Needed: 3.24 to 3.26. Gone when: nothing says it; try the lines above. Ours: sequences.c, with complex
   scalars and 2 processes.

   Here the set-up is that of MATMPIAIJ, which is compiled as C. The blocks, which are empty, are made on the device
   afterwards: hash.c
*/
#include "upstream.h"

#if PetscDefined(USE_COMPLEX)
/* MatSetUp() of a parallel A on a device */
PetscErrorCode AIJTCUSetUpHash(Mat A)
{
  static PetscErrorCode (*setup)(Mat) = NULL;

  PetscFunctionBegin;
  if (!setup) {
    Mat M;

    PetscCall(MatCreate(PETSC_COMM_SELF, &M));
    PetscCall(MatSetType(M, MATMPIAIJ));
    setup = M->ops->setup;
    PetscCall(MatDestroy(&M));
  }
  PetscCall((*setup)(A));
  PetscCall(AIJTCUResetBlocks(A));
  PetscFunctionReturn(PETSC_SUCCESS);
}
#endif
