/*
   What a matrix promises to be for ever. Only that is believed: other flags outlive MatAXPY(), MatZeroRows() and
   arrays.

   With complex scalars MAT_SPD says MAT_SYMMETRIC, too. Programs say MAT_SPD of Hermitian matrices as well, whose
   transpose is another matrix. So there MAT_SYMMETRIC is not believed beside it.
*/
#include "common.h"

PetscBool AIJTCUIsSymmetricForEver(Mat A)
{
  if (PetscDefined(USE_COMPLEX) && A->spd == PETSC_BOOL3_TRUE) return PETSC_FALSE;
  return (PetscBool)(A->symmetric == PETSC_BOOL3_TRUE && A->symmetry_eternal);
}

PetscBool AIJTCUIsHermitianForEver(Mat A)
{
  if (!PetscDefined(USE_COMPLEX)) return AIJTCUIsSymmetricForEver(A);
  return (PetscBool)(A->hermitian == PETSC_BOOL3_TRUE && A->symmetry_eternal);
}
