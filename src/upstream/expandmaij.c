/*
   A MATMAIJ of a matrix on a device is on the host, unless the matrix's type has the exact name of an aijcusparse

     There are no products of a MATMAIJ with a MATAIJCUSPARSE. So MatCreateMAIJ() makes a MATAIJ of it, by the exact
     name of the type. Of a type that is derived from MATAIJCUSPARSE, as the interpolation of a DMDA with several
     unknowns a point may be, it stays a MATMAIJ, and MatPtAP() with it is an error or is done on the host.

     What would help: PetscObjectBaseTypeCompareAny() in MatCreateMAIJ().

   Needed: 3.24 to 3.26. Gone when: nothing says it; read MatCreateMAIJ(). Ours: solvers.c (multigrid of a DMDA), with a
   GPU.

   MatConvert() of a MATSEQMAIJ to MATSEQAIJ loses its block sizes

     MatConvert_MPIMAIJ_MPIAIJ() gives them to the new matrix, MatConvert_SeqMAIJ_SeqAIJ() does not. So P^T A P has
     block size 1, where it has that of the MATMAIJ with a MATAIJ. PCPBJACOBI on the levels of a PCMG then is PCJACOBI.

       MatCreateMAIJ(P, 2, &M);               // one process
       MatConvert(M, MATAIJ, MAT_INITIAL_MATRIX, &B);
       MatGetBlockSize(B, &bs);               // gives 1

     What would help: MatSetBlockSize(B, dof), as for several processes.

   Needed: 3.24 to 3.26. Gone when: "MatConvert() of a MATSEQMAIJ" of upstream.c. Ours: maij.c.

   P becomes a matrix of the type, if it is a MATMAIJ
*/
#include "upstream.h"

PetscErrorCode AIJTCUExpandMAIJ(Mat P, MatType type)
{
  PetscInt  rbs, cbs;
  PetscBool is;

  PetscFunctionBegin;
  PetscCall(PetscObjectTypeCompareAny((PetscObject)P, &is, MATSEQMAIJ, MATMPIMAIJ, ""));
  if (!is) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCall(MatGetBlockSizes(P, &rbs, &cbs));
  PetscCall(MatConvert(P, MATAIJ, MAT_INPLACE_MATRIX, &P));
  PetscCall(MatSetBlockSizes(P, rbs, cbs));
  PetscCall(MatConvert(P, type, MAT_INPLACE_MATRIX, &P));
  PetscFunctionReturn(PETSC_SUCCESS);
}
