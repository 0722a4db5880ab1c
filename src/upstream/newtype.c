/*
   MatPermute() of a MATMPIAIJCUSPARSE is a MATMPIAIJ, and MatCreateSubMatrix() is not of a derived type

     MatPermute_MPIAIJ() makes its result with MatCreateAIJ(), on the host even for an A on a device. Where rows stay on
     their processes, MatCreateSubMatrix() of a parallel matrix takes the type of the result from that of the blocks.
     For a type that is derived from MATMPIAIJCUSPARSE the result is of the parent type.

       MatPermute(A, rows, cols, &P);
       MatGetType(P, &type);  // gives mpiaij for an A of type mpiaijcusparse

     What would help: MatSetType(*B, ((PetscObject)A)->type_name) in both.

   Needed: 3.24 to 3.26. Gone when: "MatPermute()" of upstream.c, 2 processes. Ours: type.c, "MatPermute()" and
   "MatCreateSubMatrix()".

   Here a new parallel matrix gets the type of A, or is destroyed
*/
#include "upstream.h"

PetscErrorCode AIJTCUConvertNew(Mat A, Mat *B)
{
  const char    *type = ((PetscObject)A)->type_name;
  PetscBool      same;
  PetscErrorCode ierr;

  PetscFunctionBegin;
  ierr = PetscObjectTypeCompare((PetscObject)*B, type, &same);
  if (!ierr && !same) ierr = MatConvert(*B, type, MAT_INPLACE_MATRIX, B);
  if (ierr) PetscCall(MatDestroy(B));
  PetscCall(ierr);
  PetscFunctionReturn(PETSC_SUCCESS);
}
