/*
   MatConvert() in place lowers the nonzero state of a MATAIJCUSPARSE

     The matrix gets the state of the one that it is made of, which begins to count anew. PCSetUp() compares the state
     with that of its last time. Where nonzeros came in between, while KSPSetReusePreconditioner() held, both may be
     equal: the factor of the old pattern is computed anew with values of the new one, and solves are wrong, without a
     word.

       KSPSetUp(ksp);                               // ILU; the nonzero state of A is 2
       KSPSetReusePreconditioner(ksp, PETSC_TRUE);
       MatSetValue(A, i, j, 1, ADD_VALUES); ...     // new nonzeros: it is 3
       MatConvert(A, MATAIJ, MAT_INPLACE_MATRIX, &A);
       MatConvert(A, MATAIJCUSPARSE, MAT_INPLACE_MATRIX, &A);  // it is 2
       KSPSetReusePreconditioner(ksp, PETSC_FALSE);
       KSPSolve(ksp, b, x);

     What would help: a larger nonzero state in MatHeaderMerge() and MatHeaderReplace(), as both have a larger state.

   Needed: 3.24 to 3.26. Gone when: nothing says it; try the lines above. Ours: sequences.c, "convert", with a GPU.

   After a conversion in place: before is the state that A had. A parallel matrix counts anew at its next assembly: it
   adds up the states of its blocks
*/
#include "upstream.h"

PetscErrorCode AIJTCURaiseNonzeroState(Mat A, PetscObjectState before)
{
  const PetscBool same = (PetscBool)(A->ass_nonzerostate == A->nonzerostate);

  PetscFunctionBegin;
  A->nonzerostate = PetscMax(A->nonzerostate, before) + 1;
  if (same) A->ass_nonzerostate = A->nonzerostate;
  PetscFunctionReturn(PETSC_SUCCESS);
}
