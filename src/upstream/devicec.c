/*
   The second MatProductNumeric() of a MATSEQAIJCUSPARSE with a C on the host writes through a pointer of the host on
   the device

     The symbolic phase makes a MATSEQDENSECUDA of a C of type MATSEQDENSE, and the first numeric phase makes it a
     MATSEQDENSE again when it is done. The next numeric phase forgets that: MatDenseGetArrayWriteAndMemType() gives it
     C's array on the host, which it hands to cuSPARSE.

       MatProductCreateWithMat(A, B, NULL, C);  // C is of type MATSEQDENSE, A of type MATSEQAIJCUSPARSE
       MatProductSetType(C, MATPRODUCT_AB); MatProductSetFromOptions(C); MatProductSymbolic(C);
       MatProductNumeric(C);
       MatProductNumeric(C);  // ends in an illegal access

     What would help: cisdense asked of C in the numeric phase, before its array is taken.

   Needed: 3.24 to 3.26. Gone when: nothing says it, for a failure is an illegal access, which ends the program: try the
   lines above. Ours: product.c.

   Here C is one of the device while numeric runs, and a C of the host gets back there
*/
#include "upstream.h"

PetscErrorCode AIJTCUProductWithDeviceC(Mat C, PetscErrorCode (*numeric)(Mat))
{
  PetscBool      bound, move = PETSC_FALSE;
  PetscErrorCode ierr;

  PetscFunctionBegin;
  PetscCall(MatBoundToCPU(C->product->A, &bound));
  if (!bound) PetscCall(PetscObjectTypeCompare((PetscObject)C, MATSEQDENSE, &move));
  if (move) PetscCall(MatConvert(C, MATSEQDENSECUDA, MAT_INPLACE_MATRIX, &C));
  ierr = (*numeric)(C);
  if (move) PetscCall(MatConvert(C, MATSEQDENSE, MAT_INPLACE_MATRIX, &C)); /* nothing to do where PETSc has done so */
  PetscCall(ierr);
  PetscFunctionReturn(PETSC_SUCCESS);
}
