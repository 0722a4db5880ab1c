/*
   A MATMAIJ of a matrix on a device is on the host, unless the matrix's type has the exact name of an aijcusparse

     There are no products of a MATMAIJ with a MATAIJCUSPARSE. So MatCreateMAIJ() makes a MATAIJ of it, by the exact
     name of the type. Of a type that is derived from MATAIJCUSPARSE, as the interpolation of a DMDA with several
     unknowns a point may be, it stays a MATMAIJ, and MatPtAP() with it is an error or is done on the host.

     What would help: PetscObjectBaseTypeCompareAny() in MatCreateMAIJ().

   Needed: 3.24 to 3.26. Gone when: nothing says it; read MatCreateMAIJ(). Ours: solvers.c (multigrid of a DMDA), with a
   GPU.

   P becomes a matrix of the type, if it is a MATMAIJ
*/
#include "upstream.h"

PetscErrorCode AIJTCUExpandMAIJ(Mat P, MatType type)
{
  PetscBool is;

  PetscFunctionBegin;
  PetscCall(PetscObjectTypeCompareAny((PetscObject)P, &is, MATSEQMAIJ, MATMPIMAIJ, ""));
  if (!is) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCall(MatConvert(P, MATAIJ, MAT_INPLACE_MATRIX, &P));
  PetscCall(MatConvert(P, type, MAT_INPLACE_MATRIX, &P));
  PetscFunctionReturn(PETSC_SUCCESS);
}
