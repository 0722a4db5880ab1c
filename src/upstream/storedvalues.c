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

   Here the number is kept, and what would go beyond it is an error, of all processes. A duplicate of the matrix has
   stored nothing yet
*/
#include "upstream.h"

#define STORED_KEY "MatAIJTCUStoredValues"

/* The local blocks, how many values each has, and how many it had when they were first stored, NULL if they were not */
static PetscErrorCode AIJTCUStoredValuesCount(Mat A, Mat block[2], PetscInt64 n[2], PetscInt64 *stored[2])
{
  MatInfo info;

  PetscFunctionBegin;
  PetscCall(AIJTCULocalBlocks(A, block, NULL));
  for (int i = 0; i < 2; i++) {
    n[i]      = 0;
    stored[i] = NULL;
    if (!block[i]) continue;
    PetscCall(MatGetInfo(block[i], MAT_LOCAL, &info));
    PetscCall(PetscObjectContainerQuery((PetscObject)block[i], STORED_KEY, &stored[i]));
    n[i] = (PetscInt64)info.nz_used;
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* After MatStoreValues(): the first time tells for how many values there is memory */
PetscErrorCode AIJTCUStoredValuesKeep(Mat A)
{
  Mat         block[2];
  PetscInt64 *stored[2], n[2];

  PetscFunctionBegin;
  PetscCall(AIJTCUStoredValuesCount(A, block, n, stored));
  for (int i = 0; i < 2; i++) {
    if (!block[i] || stored[i]) continue;
    PetscCall(PetscNew(&stored[i]));
    *stored[i] = n[i];
    PetscCall(AIJTCUComposeData((PetscObject)block[i], STORED_KEY, stored[i], PetscCtxDestroyDefault));
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*
   Whether the values of the local blocks fit into what stored values have. Where those of one process do not, all
   processes have an error, and nothing is stored. Collective
*/
PetscErrorCode AIJTCUStoredValuesFit(Mat A)
{
  Mat         block[2];
  PetscInt64 *stored[2], n[2];
  PetscBool   fits[2], all;

  PetscFunctionBegin;
  PetscCall(AIJTCUStoredValuesCount(A, block, n, stored));
  for (int i = 0; i < 2; i++) fits[i] = (PetscBool)(!stored[i] || n[i] <= *stored[i]);
  all = (PetscBool)(fits[0] && fits[1]);
  PetscCallMPI(MPIU_Allreduce(MPI_IN_PLACE, &all, 1, MPI_C_BOOL, MPI_LAND, PetscObjectComm((PetscObject)A)));
  for (int i = 0; i < 2; i++) {
    PetscCheck(fits[i], PETSC_COMM_SELF, PETSC_ERR_ARG_WRONGSTATE,
      "The matrix has %" PetscInt64_FMT " entries here, and had %" PetscInt64_FMT " when MatStoreValues() was first called: PETSc has memory for no more. MatDuplicate() gives a matrix that has stored nothing yet",
      n[i], *stored[i]);
  }
  PetscCheck(all, PETSC_COMM_SELF, PETSC_ERR_ARG_WRONGSTATE,
    "The matrix has more entries on another process than when MatStoreValues() was first called: PETSc has memory for no more");
  PetscFunctionReturn(PETSC_SUCCESS);
}
