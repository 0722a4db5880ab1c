/*
   A MATSEQAIJCUSPARSE cannot be destroyed after MatILUFactor()

     MatILUFactor_SeqAIJ() writes the factor over the matrix on the host and sets factortype; type and spptr stay those
     of a matrix on the device. MatDestroy() then takes what is on the device for triangular factors, and frees it as
     these.

       MatCreateSeqAIJCUSPARSE(..., &A); ...
       MatILUFactor(A, rows, rows, &info);
       MatDestroy(&A);  // ends in an error or a crash

     What would help: ILU in place only for exactly MATSEQAIJ, or a conversion first.

   Needed: 3.24 to 3.26. Gone when: nothing says it, for a failure is a crash: try the lines above. Ours: "ilu in place"
   of faults.c.

   Here the matrix becomes a seqaij. Not for what PETSc refuses anyway
*/
#include "upstream.h"

PetscErrorCode AIJTCUILUFactorInPlace(Mat A, IS r, IS c, const MatFactorInfo *info)
{
  PetscFunctionBegin;
  PetscCall(MatConvert(A, MATSEQAIJ, MAT_INPLACE_MATRIX, &A));
  PetscUseTypeMethod(A, ilufactor, r, c, info);
  PetscFunctionReturn(PETSC_SUCCESS);
}
