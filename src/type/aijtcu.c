/*
   The type MATAIJTCU: creation and conversion.

   A MATAIJTCU is a matrix of the parent type that carries a plan and a name of its own. The parent type is
   MATAIJCUSPARSE, or MATAIJ where there is no device. identity.c has the mechanism.

   The name begins with the parent's. PetscObjectBaseTypeCompare() and MatSetType() look at the beginning, so what
   PETSc does for the parent type it does for ours.

   Why a name of its own, and not a plan alone on a matrix of the parent type? With the parent's name, MatSetType() of
   an assembled aijcusparse would do nothing. A program could not ask for a conversion back, nor tell the two types
   apart. The price is that some functions of PETSc compare the exact name.

   PETSc has 327 test runs that name aijcusparse. With aijtcu in its place, on an H200, 251 passed when only products
   were caught. Now the parent's functions are called in the parent's view, and its operations and factors are wrapped.
   All but a few pass.

   Two lessons of that. PETSc copies a matrix's table of operations (hash assembly), so a wrapper calls the pointer
   that the plan has saved, never "the operation of A". PETSc copies composed functions (MatDuplicate(), ILU), so ours
   are taken away while the parent copies.
*/
#include "typeimpl.h"

/* Convert to another type, as the parent does it */
PetscErrorCode MatConvert_AIJTCU_Any(Mat A, MatType newtype, MatReuse reuse, Mat *M)
{
  AIJTCUPlan    *plan;
  Mat            P;
  PetscErrorCode ierr;

  PetscFunctionBegin;
  if (reuse == MAT_INPLACE_MATRIX) {
    const PetscObjectState before = A->nonzerostate;
    const PetscObjectId    id     = ((PetscObject)A)->id;

    PetscCall(AIJTCUValuesToHost(A, PETSC_FALSE)); /* some of PETSc's conversions read the array there as it is */
    PetscCall(AIJTCUDetach(A));
    PetscCall(AIJTCUConvertFirst(newtype, &A));
    PetscCall(MatConvert(A, newtype, reuse, &A));
    /* To the parent's own type nothing is converted: the matrix stays the object that it was */
    if (((PetscObject)A)->id != id) PetscCall(AIJTCURaiseNonzeroState(A, before));
    PetscFunctionReturn(PETSC_SUCCESS);
  }
  PetscCall(AIJTCUGetPlan(A, &plan));
  AIJTCUCallParentBare(A, (*plan->id.parent.duplicate)(A, MAT_COPY_VALUES, &P));
  ierr = AIJTCUFreeDuplicate(A, P);
  if (!ierr) ierr = MatPropagateSymmetryOptions(A, P); /* MATSBAIJ asks for these */
  if (!ierr) ierr = AIJTCUConvertFirst(newtype, &P);
  if (!ierr && reuse == MAT_INITIAL_MATRIX) ierr = MatConvert(P, newtype, MAT_INPLACE_MATRIX, &P);
  else if (!ierr) ierr = MatConvert(P, newtype, reuse, M);
  if (!ierr && reuse == MAT_INITIAL_MATRIX) *M = P;
  else PetscCall(MatDestroy(&P));
  PetscCall(ierr);
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*
   Convert from a parent type, or from the type itself under another of its names. PETSc converts other types by
   MatSetValues().
*/
PetscErrorCode MatConvert_AIJ_AIJTCU(Mat A, MatType newtype, MatReuse reuse, Mat *M)
{
  AIJTCUPlan *plan;
  PetscBool   device, parallel;

  PetscFunctionBegin;
  (void)newtype;
  if (reuse == MAT_REUSE_MATRIX) {
    PetscCall(MatCopy(A, *M, SAME_NONZERO_PATTERN));
    PetscFunctionReturn(PETSC_SUCCESS);
  }
  if (reuse == MAT_INITIAL_MATRIX) {
    PetscCall(MatDuplicate(A, MAT_COPY_VALUES, M));
    PetscCall(AIJTCUFreeDuplicate(A, *M));
  }
  PetscCall(AIJTCUGetPlan(*M, &plan));
  if (plan && plan->id.own_name) {
    PetscObjectState state;

    /* MatConvert() counts a change after this. In place there is none, and a preconditioner would be set up anew */
    PetscCall(PetscObjectStateGet((PetscObject)*M, &state));
    if (reuse == MAT_INPLACE_MATRIX) PetscCall(PetscObjectStateSet((PetscObject)*M, state - 1));
    PetscFunctionReturn(PETSC_SUCCESS);
  }
  PetscCall(PetscObjectBaseTypeCompare((PetscObject)*M, MATMPIAIJ, &parallel));
  PetscCall(AIJTCUHasDevice(PetscObjectComm((PetscObject)*M), &device));
  if (device) PetscCall(MatConvert(*M, parallel ? MATMPIAIJCUSPARSE : MATSEQAIJCUSPARSE, MAT_INPLACE_MATRIX, M));
  PetscCall(AIJTCUAttach(*M, parallel ? AIJTCU_KIND_MPI : AIJTCU_KIND_SEQ, PETSC_TRUE, NULL));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode MatCreate_AIJTCU_Private(Mat A, AIJTCUKind kind)
{
  PetscBool device;

  PetscFunctionBegin;
  PetscCall(AIJTCUHasDevice(PetscObjectComm((PetscObject)A), &device));
  PetscCall(AIJTCUForgetHash(A));
  PetscCall(AIJTCUParentCreate(A, kind, device));
  PetscCall(AIJTCUAttach(A, kind, PETSC_TRUE, NULL));
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode MatCreate_SeqAIJTCU(Mat A)
{
  PetscFunctionBegin;
  PetscCall(MatCreate_AIJTCU_Private(A, AIJTCU_KIND_SEQ));
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode MatCreate_MPIAIJTCU(Mat A)
{
  PetscFunctionBegin;
  PetscCall(MatCreate_AIJTCU_Private(A, AIJTCU_KIND_MPI));
  PetscFunctionReturn(PETSC_SUCCESS);
}
