/*
   MatMPIAIJSetPreallocation() of a MATMPIAIJCUSPARSE makes blocks without the block sizes of the matrix

     That of MATMPIAIJ gives them to the blocks, with MatSetBlockSizesFromMats(). Here they have block size 1. So
     MatInvertBlockDiagonal() makes an array for it, of which the caller reads more than there is, as
     MatInvertBlockDiagonalMat() does: wrong numbers, without a word.

       MatSetBlockSize(A, 2);
       MatMPIAIJSetPreallocation(A, 2, NULL, 2, NULL);
       MatMPIAIJGetSeqAIJ(A, &diagonal, NULL, NULL);
       MatGetBlockSize(diagonal, &bs);  // gives 1

     What would help: MatSetBlockSizesFromMats() where the blocks are made, as in MatMPIAIJSetPreallocation_MPIAIJ().

   Needed: 3.24 to 3.26. Gone when: "block sizes of preallocated blocks" of upstream.c, 2 processes. Ours:
   blocksizes.c, with a GPU.

   For a parallel A that was preallocated
*/
#include "upstream.h"

PetscErrorCode AIJTCUGiveBlockSizes(Mat A)
{
  Mat block[2];

  PetscFunctionBegin;
  PetscCall(AIJTCULocalBlocks(A, block, NULL));
  for (int i = 0; i < 2; i++) {
    if (block[i] && block[i] != A) PetscCall(MatSetBlockSizesFromMats(block[i], A, A));
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}
