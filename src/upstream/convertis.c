/*
   MatConvert() of a MATMPIAIJCUSPARSE to MATIS gives every process all rows

     MatConvert_XAIJ_IS() is composed as "MatConvert_mpiaij_is_C", which MatConvert() does not find for a type that is
     derived from MATMPIAIJ. MatConvert_Basic() makes local matrices that have all rows and columns. The matrix is
     right, but no process has a part of its own, and PCBDDC takes every row for a vertex of the coarse problem.

       MatConvert(A, MATIS, MAT_INITIAL_MATRIX, &B);  // a MATMPIAIJCUSPARSE with N rows, on 2 processes
       MatISGetLocalMat(B, &local);
       MatGetSize(local, &n, NULL);  // N, where a MATMPIAIJ has its rows and the columns of others that they meet

     What would help: the function composed under the names of MATSEQAIJCUSPARSE and MATMPIAIJCUSPARSE, too.

   Needed: 3.24 to 3.26. Gone when: "MatConvert() to MATIS" of upstream.c, 2 processes. Ours: type.c, with a GPU.

   Here such a matrix is made a MATAIJ first. The local matrices are of type MATAIJ in any case
*/
#include "upstream.h"

/* A is about to be converted to a type, in place, and nothing of ours any more */
PetscErrorCode AIJTCUConvertFirst(MatType newtype, Mat *A)
{
  PetscBool is;

  PetscFunctionBegin;
  PetscCall(PetscStrcmp(newtype, MATIS, &is));
  if (is) PetscCall(MatConvert(*A, MATAIJ, MAT_INPLACE_MATRIX, A));
  PetscFunctionReturn(PETSC_SUCCESS);
}
