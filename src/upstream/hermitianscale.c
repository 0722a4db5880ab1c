/*
   MatScale() by a number that is not real leaves a matrix Hermitian

     The flag stays. MatMultHermitianTranspose() of a matrix without an operation for it, such as MATAIJ, then is A x.

       MatSetOption(A, MAT_HERMITIAN, PETSC_TRUE);
       MatScale(A, PETSC_i);
       MatMultHermitianTranspose(A, x, y);  // is A x, must be -A x

     What would help: MatScale() forgets the flag.

   Needed: 3.24 to 3.26. Gone when: "MatScale() of a Hermitian matrix" of upstream.c. Ours: complexops.c.
*/
#include "upstream.h"

void AIJTCUScaleHermitian(Mat A, PetscScalar a)
{
  (void)a; /* of real scalars */
  if (PetscImaginaryPart(a) != 0 && A->hermitian == PETSC_BOOL3_TRUE) A->hermitian = PETSC_BOOL3_UNKNOWN;
}
