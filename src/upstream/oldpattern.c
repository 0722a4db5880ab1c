/*
   A MATAIJCUSPARSE keeps an old pattern, or old values, on the device

     MatSeqAIJCUSPARSECopyToGPU() does nothing unless offloadmask says that the values on the host are the newest. What
     makes a new pattern on the host does not always say so: a preallocation without values after it, MatResetHash()
     without values after it, and MatLoad(), which reads values into a->a. A matrix that was multiplied before keeps on
     the device what it had. A parallel matrix is of this kind where one of its blocks gets no values.

       MatMult(A, x, y);
       MatSeqAIJSetPreallocation(A, 0, NULL);
       MatAssemblyBegin(A, MAT_FINAL_ASSEMBLY); MatAssemblyEnd(A, MAT_FINAL_ASSEMBLY);  // A is zero
       MatMatMult(A, B, MAT_INITIAL_MATRIX, PETSC_DETERMINE, &C);  // with the old A

     What would help: offloadmask set in MatSeqAIJSetPreallocation_SeqAIJ() and in MatLoad_SeqAIJ_Binary(); or the
     nonzero state compared in MatSeqAIJCUSPARSECopyToGPU() whatever offloadmask is.

   Needed: 3.24 to 3.26. Gone when: "preallocation without values after it" of upstream.c. Ours: sequences.c, -each
   ("load", "preallocate").
*/
#include "upstream.h"

/* What is on the device of A and its blocks is old: all of it will be made anew, on the host */
PetscErrorCode AIJTCUForgetDevice(Mat A)
{
  PetscFunctionBegin;
#if PetscDefined(HAVE_DEVICE)
  Mat block[2];

  PetscCall(AIJTCULocalBlocks(A, block, NULL));
  for (int i = 0; i < 2; i++) {
    if (block[i] && block[i]->offloadmask != PETSC_OFFLOAD_UNALLOCATED) block[i]->offloadmask = PETSC_OFFLOAD_CPU;
  }
#else
  (void)A;
#endif
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Before an assembly: the patterns of the last one */
PetscErrorCode AIJTCUAssembledPatterns(Mat A, AIJTCUPatterns *p)
{
  Mat block[2];

  PetscFunctionBegin;
  PetscCall(AIJTCULocalBlocks(A, block, NULL));
  for (int i = 0; i < 2; i++) {
    p->id[i]    = 0;
    p->state[i] = 0;
    if (!block[i]) continue;
    PetscCall(PetscObjectGetId((PetscObject)block[i], &p->id[i]));
    p->state[i] = block[i]->ass_nonzerostate;
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* After it: where there is another pattern, the device takes it. Values that are on the device alone were set there */
PetscErrorCode AIJTCUTakePatterns(Mat A, const AIJTCUPatterns *p)
{
  Mat block[2];

  PetscFunctionBegin;
  PetscCall(AIJTCULocalBlocks(A, block, NULL));
  for (int i = 0; i < 2; i++) {
    PetscObjectId id;

    if (!block[i]) continue;
    PetscCall(PetscObjectGetId((PetscObject)block[i], &id));
    if (id == p->id[i] && block[i]->nonzerostate == p->state[i]) continue;
#if PetscDefined(HAVE_DEVICE)
    if (block[i]->offloadmask == PETSC_OFFLOAD_BOTH) block[i]->offloadmask = PETSC_OFFLOAD_CPU;
#endif
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}
