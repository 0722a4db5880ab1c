/*
   MatSetValuesCOO() of a duplicate of a MATMPIAIJCUSPARSE is an error

     MatDuplicate() gives the duplicate the list of entries. Its blocks come to the device with what first needs them
     there. MatSetValuesCOO_MPIAIJCUSPARSE() takes their arrays there with MatSeqAIJCUSPARSEGetArrayWrite(), which ends
     with the error "Missing MultStruct". The sequential function copies the matrix first.

       MatSetPreallocationCOO(A, n, i, j);
       MatSetValuesCOO(A, v, INSERT_VALUES);
       MatDuplicate(A, MAT_COPY_VALUES, &B);
       MatSetValuesCOO(B, v, INSERT_VALUES);  // error

     What would help: MatSeqAIJCUSPARSECopyToGPU() of blocks that have none, as MatSetValuesCOO_SeqAIJCUSPARSE() does.

   Needed: 3.24 to 3.26. Gone when: "MatSetValuesCOO() of a duplicate" of upstream.c, 2 processes. Ours: coo.c.

   Here they come to the device before
*/
#include "upstream.h"

#if PetscDefined(HAVE_CUDA)
/* The blocks of a parallel A that have never been there */
PetscErrorCode AIJTCUBlocksToDevice(Mat A)
{
  Mat block[2];

  PetscFunctionBegin;
  PetscCall(AIJTCULocalBlocks(A, block, NULL));
  for (int i = 0; i < 2 && block[0] != A; i++) {
    PetscBool          never;
    const PetscScalar *array;

    if (!block[i]) continue;
    PetscCall(AIJTCUNeverOnDevice(block[i], &never));
    if (!never) continue;
    PetscCall(MatSeqAIJCUSPARSEGetArrayRead(block[i], &array));
    PetscCall(MatSeqAIJCUSPARSERestoreArrayRead(block[i], &array));
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}
#endif
