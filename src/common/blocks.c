/*
   The sequential matrices that a matrix consists of on a process.
*/
#include "common.h"

/*
   The local blocks of the aij matrix A: the diagonal one, and the off-diagonal one with its columns or NULL. A
   sequential A is its own diagonal block. garray may be NULL
*/
PetscErrorCode AIJTCULocalBlocks(Mat A, Mat block[2], const PetscInt **garray)
{
  PetscBool parallel;

  PetscFunctionBegin;
  PetscCall(PetscObjectBaseTypeCompare((PetscObject)A, MATMPIAIJ, &parallel));
  block[0] = A;
  block[1] = NULL;
  if (garray) *garray = NULL;
  if (parallel) PetscCall(MatMPIAIJGetSeqAIJ(A, &block[0], &block[1], garray));
  PetscFunctionReturn(PETSC_SUCCESS);
}
