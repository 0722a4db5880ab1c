/*
   MatZeroEntries() of a MATSEQAIJCUSPARSE makes the values on the device the newest, whatever pattern they have there

     After a product the device has values. If nonzeros are added then, on the host, MatZeroEntries() clears the values
     on the device, which are too few, and says that they are the newest. What needs them on the host next copies as
     many as there are now.

       MatMult(A, x, y);
       MatSetValue(A, i, j, 1, ADD_VALUES);  // a new nonzero
       MatAssemblyBegin(A, MAT_FINAL_ASSEMBLY); MatAssemblyEnd(A, MAT_FINAL_ASSEMBLY);
       MatZeroEntries(A);
       MatSetValue(A, i, j, 1, ADD_VALUES);  // cudaMemcpy(): invalid argument

     What would help: the values on the host cleared where these are the newest. They are written next, as a rule.

   Needed: 3.24 to 3.26. Gone when: "MatZeroEntries()" of upstream.c. Ours: type.c, "MatZeroEntries() after new
   nonzeros".

   done says whether the entries of A are zero. Those of a parallel A are always cleared here, block by block
*/
#include "upstream.h"

#if PetscDefined(HAVE_CUDA)
PetscErrorCode AIJTCUZeroOnHost(Mat A, PetscBool *done)
{
  Mat blocks[2];

  PetscFunctionBegin;
  PetscCall(AIJTCULocalBlocks(A, blocks, NULL));
  *done = (PetscBool)(blocks[0] != A || A->offloadmask == PETSC_OFFLOAD_CPU);
  for (int i = 0; i < 2 && *done; i++) {
    PetscScalar    *values;
    const PetscInt *rowptr, *colidx;
    PetscInt        n;
    PetscBool       have;

    if (blocks[i] && blocks[i]->offloadmask != PETSC_OFFLOAD_CPU) PetscCall(MatZeroEntries(blocks[i]));
    else if (blocks[i]) {
      /* Before its last assembly a matrix has gaps between rows, so it is not the number of nonzeros that counts */
      PetscCall(MatGetRowIJ(blocks[i], 0, PETSC_FALSE, PETSC_FALSE, &n, &rowptr, &colidx, &have));
      PetscCheck(have, PETSC_COMM_SELF, PETSC_ERR_PLIB, "No row pointers");
      PetscCall(MatSeqAIJGetArrayWrite(blocks[i], &values));
      PetscCall(PetscArrayzero(values, (size_t)rowptr[n]));
      PetscCall(MatSeqAIJRestoreArrayWrite(blocks[i], &values));
      PetscCall(MatRestoreRowIJ(blocks[i], 0, PETSC_FALSE, PETSC_FALSE, &n, &rowptr, &colidx, &have));
      PetscCall(PetscObjectStateIncrease((PetscObject)blocks[i]));
    }
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}
#endif
