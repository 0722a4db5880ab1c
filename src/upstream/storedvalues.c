/*
   MatStoreValues() writes past the end of its memory where there are more entries than the first time

     MatStoreValues_SeqAIJ() keeps the memory that it has taken when it was first called. If nonzeros came since, it
     writes, and MatRetrieveValues_SeqAIJ() reads, beyond its end. So it is with all types that are derived from
     MATSEQAIJ, in parallel as well.

       MatSetOption(A, MAT_NEW_NONZERO_LOCATIONS, PETSC_FALSE);
       MatStoreValues(A);
       MatSetOption(A, MAT_NEW_NONZERO_LOCATIONS, PETSC_TRUE);
       MatShift(A, 1);  // A had no entries on its diagonal
       MatSetOption(A, MAT_NEW_NONZERO_LOCATIONS, PETSC_FALSE);
       MatStoreValues(A);

     What would help: the number of values kept beside them, and other memory where it differs.

   Needed: 3.24 to 3.26. Gone when: nothing says it; read MatStoreValues_SeqAIJ(). Ours: type.c,
   "MatStoreValues() after new nonzeros".

   Here the number is kept, and what would go beyond it is an error. A duplicate of the matrix has stored nothing yet
*/
#include "upstream.h"

#define STORED_KEY "MatAIJTCUStoredValues"

static PetscErrorCode AIJTCUStoredValuesFitBlock(Mat block, PetscBool store)
{
  PetscInt64 *stored;
  MatInfo     info;

  PetscFunctionBegin;
  PetscCall(MatGetInfo(block, MAT_LOCAL, &info));
  PetscCall(PetscObjectContainerQuery((PetscObject)block, STORED_KEY, &stored));
  if (!stored && store) {
    PetscCall(PetscNew(&stored));
    *stored = (PetscInt64)info.nz_used;
    PetscCall(AIJTCUComposeData((PetscObject)block, STORED_KEY, stored, PetscCtxDestroyDefault));
  }
  PetscCheck(!stored || (PetscInt64)info.nz_used <= *stored, PETSC_COMM_SELF, PETSC_ERR_ARG_WRONGSTATE,
    "The matrix has %" PetscInt64_FMT " entries here, and had %" PetscInt64_FMT " when MatStoreValues() was first called: PETSc has memory for no more. MatDuplicate() gives a matrix that has stored nothing yet",
    (PetscInt64)info.nz_used, *stored);
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Whether the values of the local blocks fit into what stored values have. store: it may be the first time */
PetscErrorCode AIJTCUStoredValuesFit(Mat A, PetscBool store)
{
  Mat block[2];

  PetscFunctionBegin;
  PetscCall(AIJTCULocalBlocks(A, block, NULL));
  for (int i = 0; i < 2; i++) {
    if (block[i]) PetscCall(AIJTCUStoredValuesFitBlock(block[i], store));
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}
