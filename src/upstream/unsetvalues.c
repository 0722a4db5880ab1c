/*
   The pattern of a MATSEQAIJCUSPARSE comes to the device with values that nobody has set

     MatSeqAIJCUSPARSECopyToGPU() copies the values of the host with the pattern, also where offloadmask says
     PETSC_OFFLOAD_UNALLOCATED: there are none yet. Whoever is about to write them on the device waits for a copy of
     pages that were never touched, which takes longer than that of the pattern.

       MatSeqAIJSetPreallocation(A, 0, nnz); MatSeqAIJSetColumnIndices(A, j); ...
       MatSeqAIJCUSPARSEGetIJ(A, PETSC_FALSE, &i, &j);  // copies values, too
       MatSeqAIJCUSPARSEGetArrayWrite(A, &v);

     What would help: the pattern alone for PETSC_OFFLOAD_UNALLOCATED, as it is copied where there is no array of
     values.

   Needed: 3.24 to 3.26. Gone when: nothing says it; read MatSeqAIJCUSPARSECopyToGPU(). Ours: spgemm.c, with a GPU.

   Here the matrix has no array of values while f runs. Where the array hangs is not known outside of PETSc: it is
   looked for among the first members of the matrix's data, and nothing is done unless it is found there once
*/
#include "upstream.h"

#if PetscDefined(HAVE_CUDA)
enum {
  WORDS = 32 /* of data in which the address is looked for */
};

/* Whether no array of A was ever on the device. The data of the device begins with a pointer to them */
PetscErrorCode AIJTCUNeverOnDevice(Mat A, PetscBool *never)
{
  PetscFunctionBegin;
  *never = (PetscBool)(A->spptr && !*(void **)A->spptr);
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode AIJTCUCallWithoutValues(Mat A, PetscErrorCode (*f)(Mat))
{
  void         **word  = (void **)A->data;
  PetscScalar  **found = NULL;
  PetscScalar   *values;
  PetscInt       times = 0;
  PetscErrorCode ierr;

  PetscFunctionBegin;
  if (A->offloadmask == PETSC_OFFLOAD_UNALLOCATED) {
    PetscCall(MatSeqAIJGetArrayRead(A, (const PetscScalar **)&values));
    for (PetscInt k = 0; k < WORDS && values; k++) {
      if (word[k] != values) continue;
      found = (PetscScalar **)&word[k];
      times++;
    }
  }
  if (times == 1) *found = NULL;
  ierr = (*f)(A);
  if (times == 1) *found = values;
  PetscCall(ierr);
  PetscFunctionReturn(PETSC_SUCCESS);
}
#endif
