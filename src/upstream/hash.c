/*
   MatDestroy_MPI_Hash() leaves hash_active set

     MatSetType() of a parallel matrix that collects values in a hash table destroys the data of its old type by the
     function that MatSetUp_MPI_Hash() has put there. hash_active stays PETSC_TRUE, and the next preallocation copies
     the operations that were put aside over those of the new type. They are zero by then.

       MatSetType(A, MATAIJ); MatSetUp(A);  // 2 processes
       MatSetType(A, MATAIJCUSPARSE);
       MatMPIAIJSetPreallocation(A, 1, NULL, 1, NULL);
       MatSetValue(A, i, i, 1, INSERT_VALUES);  // there is no such operation

     What would help: A->hash_active = PETSC_FALSE, as in MatReset_SeqAIJ().

   Needed: 3.24 to 3.26. Gone when: "MatSetType() after MatSetUp()" of upstream.c, 2 processes. Ours:
   sequences.c, -each ("latetype").

   A matrix that gets its type collects nothing

   MatResetHash() of a MATMPIAIJCUSPARSE makes its blocks MATSEQAIJ

     MatResetHash_MPIAIJ() calls the MatSetUp_MPI_Hash() of MATMPIAIJ. The matrix keeps its type, and its blocks are on
     the host from then on.

       MatResetHash(A);  // 2 processes
       MatSetValue(A, ...); MatAssemblyBegin(A, MAT_FINAL_ASSEMBLY); MatAssemblyEnd(A, MAT_FINAL_ASSEMBLY);
       MatMPIAIJGetSeqAIJ(A, &diagonal, NULL, NULL);
       MatGetType(diagonal, &type);  // gives seqaij

     What would help: mat->ops->setup in place of MatSetUp_MPI_Hash().

   Needed: 3.24 to 3.26. Gone when: "MatResetHash()" of upstream.c, 2 processes. Ours: sequences.c, -each
   ("resethash").

   MatBindToCPU() of a MATSEQAIJCUSPARSE that collects values in a hash table sets the flag alone

     MatSetUp_Seq_Hash() has put the operations aside, bindtocpu among them. After the assembly they are back, those of
     the device, in a matrix that is said to be bound. MatAssemblyEnd_MPIAIJ() does so with its blocks.

       MatSetType(A, MATSEQAIJCUSPARSE); MatSetUp(A);
       MatBindToCPU(A, PETSC_TRUE);
       MatSetValue(A, ...); MatAssemblyBegin(A, MAT_FINAL_ASSEMBLY); MatAssemblyEnd(A, MAT_FINAL_ASSEMBLY);
       MatMult(A, x, y);  // error, "Cannot copy to GPU"

     What would help: MatBindToCPU() at the end of MatAssemblyEnd_Seq_Hash().

   Needed: 3.24 to 3.26. Gone when: "MatBindToCPU() while values are collected" of upstream.c. Ours: sequences.c, -each
   ("bound").

   What is bound is bound once more after an assembly. So is a block of a parallel matrix that is bound: a random
   sequence had one that was not, after new entries, and MatDiagonalScale() made zeros of its entries
*/
#include "upstream.h"

PetscErrorCode AIJTCUForgetHash(Mat A)
{
  PetscFunctionBegin;
  A->hash_active = PETSC_FALSE;
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* After MatResetHash() of a parallel A on a device: its blocks, which are empty, are made there */
PetscErrorCode AIJTCUResetBlocks(Mat A)
{
  Mat block[2];

  PetscFunctionBegin;
  PetscCall(AIJTCULocalBlocks(A, block, NULL));
  for (int i = 0; i < 2 && block[0] != A; i++) {
    PetscBool device;

    if (!block[i]) continue;
    PetscCall(PetscObjectTypeCompare((PetscObject)block[i], MATSEQAIJCUSPARSE, &device));
    if (device) continue;
    PetscCall(MatSetType(block[i], MATSEQAIJCUSPARSE)); /* the nonzero state grows */
    PetscCall(MatSetUp(block[i]));
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* The same for an assembled block that came to be on the host in some other way */
PetscErrorCode AIJTCUBlockToDevice(Mat block)
{
  PetscBool host;

  PetscFunctionBegin;
  PetscCall(PetscObjectTypeCompare((PetscObject)block, MATSEQAIJ, &host));
  if (host && block->assembled) PetscCall(MatConvert(block, MATSEQAIJCUSPARSE, MAT_INPLACE_MATRIX, &block));
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode AIJTCUBindAgain(Mat A)
{
  PetscFunctionBegin;
#if PetscDefined(HAVE_DEVICE)
  Mat block[2];

  PetscCall(AIJTCULocalBlocks(A, block, NULL));
  for (int i = 0; i < 2; i++) {
    if (!block[i] || !(block[i]->boundtocpu || A->boundtocpu)) continue;
    block[i]->boundtocpu = PETSC_FALSE;
    PetscCall(MatBindToCPU(block[i], PETSC_TRUE));
  }
#else
  (void)A;
#endif
  PetscFunctionReturn(PETSC_SUCCESS);
}
