/*
   MatSeqAIJSetColumnIndices() copies the column indices, also onto themselves

     A sparse product that was made on a device brings its column indices to where MATSEQAIJ has them:
     MatSeqAIJSetPreallocation() gives the place, and MatGetRowIJ() tells it. That they are there now only
     MatSeqAIJSetColumnIndices() says. It reads and writes all of them, which is as long as bringing them.

       MatSeqAIJSetPreallocation(C, 0, lengths);
       MatGetRowIJ(C, 0, PETSC_FALSE, PETSC_FALSE, &n, &i, &j, &done);
       MatSeqAIJSetColumnIndices(C, (PetscInt *)j);

     What would help: no copy where indices == aij->j.

   Needed: 3.24 to 3.26. Gone when: nothing says it; read MatSeqAIJSetColumnIndices_SeqAIJ(). Ours: sparseproduct.c.

   How many are copied is a number in the struct, of which here is a copy of the first lines. It is looked at only if it
   is the number that is expected. Assembly sets the number of entries
*/
#include "upstream.h"

typedef struct {
  PetscBool roworiented;
  PetscInt  nonew, nounused, maxnz;
} AIJTCUSeqAIJ;

/* The nnz columns of a preallocated matrix are where it has them, at j. It is to be assembled next */
PetscErrorCode AIJTCUColumnsAreThere(Mat A, PetscInt nnz, PetscInt *j)
{
  AIJTCUSeqAIJ  *a     = (AIJTCUSeqAIJ *)A->data;
  const PetscInt maxnz = a->maxnz;
  PetscErrorCode ierr;

  PetscFunctionBegin;
  if (maxnz == nnz) a->maxnz = 0;
  ierr = MatSeqAIJSetColumnIndices(A, j);
  if (maxnz == nnz) a->maxnz = maxnz;
  PetscCall(ierr);
  PetscFunctionReturn(PETSC_SUCCESS);
}
