/*
   MatScale(), MatShift() and MatAXPY() with a number that is not real leave a matrix Hermitian

     The flag stays. MatMultHermitianTranspose() of a matrix without an operation for it, such as MATAIJ, then is A x.
     SLEPc's contour methods shift a duplicate of a Hermitian matrix, which has its flags.

       MatSetOption(A, MAT_HERMITIAN, PETSC_TRUE);
       MatScale(A, PETSC_i);                // or MatShift(A, PETSC_i), or MatAXPY(A, PETSC_i, B, ...)
       MatMultHermitianTranspose(A, x, y);  // is A x, must be -A x

     What would help: these functions forget the flag.

   Needed: 3.24 to 3.26. Gone when: "MatScale(), MatShift() and MatAXPY() of a Hermitian matrix" of upstream.c. Ours:
   complexops.c.
*/
#include "upstream.h"

/* To call where a has scaled the matrix or what was added to it */
void AIJTCUForgetHermitian(Mat A, PetscScalar a)
{
  (void)a; /* of real scalars */
  if (PetscImaginaryPart(a) != 0 && A->hermitian == PETSC_BOOL3_TRUE) A->hermitian = PETSC_BOOL3_UNKNOWN;
}
