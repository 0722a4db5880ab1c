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

   MatSetValuesCOO() of a MATAIJCUSPARSE that is bound to the host is lost, or an error

     MatBindToCPU() takes the function from a sequential matrix, and that of MATSEQAIJ does not come in its place:
     MatSetValuesCOO_Basic() lacks the list of entries. A parallel matrix keeps the function, which writes the arrays on
     the device. Those on the host are read as they are. A list that is given while the matrix is bound is not the
     device's either.

       MatSetPreallocationCOO(A, n, i, j);
       MatBindToCPU(A, PETSC_TRUE);
       MatSetValuesCOO(A, v, INSERT_VALUES);  // 1 process: error, "Missing coo_i IS"
       MatMult(A, x, y);                      // 2 processes: with values of before

     MatHeaderMerge(A, &C) gives A the flag of C, and leaves it its functions: a bound sequential A is not bound any
     more, and still has none.

     What would help: the functions of MATAIJ composed while a matrix is bound, with the list of the host.

   Needed: 3.24 to 3.26. Gone when: "MatSetValuesCOO() of a bound matrix" of upstream.c. Ours: coo.c.

   Here blocks come to the device before, and a bound matrix is not bound meanwhile
*/
#include "upstream.h"

/* Before a list of entries is given or, values, used. lost: A has no function for that */
PetscErrorCode AIJTCUBeginCOO(Mat A, PetscBool values, PetscBool lost, PetscBool *bound)
{
  PetscFunctionBegin;
  *bound = PETSC_FALSE;
#if PetscDefined(HAVE_CUDA)
  Mat       block[2];
  PetscBool never;

  *bound = A->boundtocpu;
  if (lost) A->boundtocpu = PETSC_TRUE;
  if (A->boundtocpu) PetscCall(MatBindToCPU(A, PETSC_FALSE));
  PetscCall(AIJTCULocalBlocks(A, block, NULL));
  for (int i = 0; i < 2 && values && block[0] != A; i++) {
    const PetscScalar *array;

    if (!block[i]) continue;
    PetscCall(AIJTCUNeverOnDevice(block[i], &never));
    if (!never) continue;
    PetscCall(MatSeqAIJCUSPARSEGetArrayRead(block[i], &array));
    PetscCall(MatSeqAIJCUSPARSERestoreArrayRead(block[i], &array));
  }
#else
  (void)A;
  (void)values;
  (void)lost;
#endif
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode AIJTCUEndCOO(Mat A, PetscBool bound)
{
  PetscFunctionBegin;
  if (bound) PetscCall(MatBindToCPU(A, PETSC_TRUE));
  PetscFunctionReturn(PETSC_SUCCESS);
}
