/*
   MatMultTransposeAdd() of a MATSEQAIJCUSPARSE adds what the result held, too

     z = y + A^T x is made as z = A^T x + 1 z, where z has not been given a value yet, and y is added then.

       MatCreateVecs(A, &y, &x); VecDuplicate(y, &z); VecSet(z, 1);
       MatMultTransposeAdd(A, x, y, z);  // is y + A^T x + 1

     What would help: beta is one for y == z alone, as it is without a transpose.

   Needed: 3.24 to 3.26. Gone when: "MatMultTransposeAdd()" of upstream.c. Ours: mult.c.

   f is the parent's function: y + A^T x in place is right
*/
#include "upstream.h"

PetscErrorCode AIJTCUMultTransposeAddInPlace(Mat A, PetscErrorCode (*f)(Mat, Vec, Vec, Vec), Vec x, Vec y, Vec z)
{
  PetscFunctionBegin;
  if (y != z) PetscCall(VecCopy(y, z));
  PetscCall((*f)(A, x, z, z));
  PetscFunctionReturn(PETSC_SUCCESS);
}
