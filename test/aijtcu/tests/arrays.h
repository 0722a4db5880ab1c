/*
   Values that are written through the arrays of a matrix.
*/
#pragma once

#include <petscmat.h>

/*
   Each value times factor, and more added to it, in A or in the blocks of a parallel A, of which A itself is not told
*/
static PetscErrorCode ChangeArrays(Mat A, PetscScalar factor, PetscScalar more)
{
  Mat       block[2] = {A, NULL};
  PetscBool parallel;

  PetscFunctionBegin;
  PetscCall(PetscObjectBaseTypeCompare((PetscObject)A, MATMPIAIJ, &parallel));
  if (parallel) PetscCall(MatMPIAIJGetSeqAIJ(A, &block[0], &block[1], NULL));
  for (int b = 0; b < 2 && block[b]; b++) {
    PetscScalar *a;
    MatInfo      info;

    PetscCall(MatGetInfo(block[b], MAT_LOCAL, &info));
    PetscCall(MatSeqAIJGetArray(block[b], &a));
    for (PetscInt i = 0; i < (PetscInt)info.nz_used; i++) a[i] = factor * a[i] + more;
    PetscCall(MatSeqAIJRestoreArray(block[b], &a));
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}
