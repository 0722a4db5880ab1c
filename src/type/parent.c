/*
   The parent types of MATAIJTCU: how their matrices are made. Also -mat_aijtcu_attach, which hangs a plan on every
   matrix of a parent type on a device.

   A matrix with an attached plan keeps its type and its name, so code that looks at them behaves as before. Its dense
   products are caught like those of a block of a parallel aijtcu. Matrices that PETSc converts from MATAIJ do not come
   by here.
*/
#include "typeimpl.h"

typedef PetscErrorCode (*CreateFn)(Mat);

static const MatType names[2][2] = {
  {MATSEQAIJ, MATSEQAIJCUSPARSE},
  {MATMPIAIJ, MATMPIAIJCUSPARSE}
};
static CreateFn create[2][2]; /* the types as registered before us: kind, and whether on a device */

/* Make A a matrix of a parent type, without a plan */
PetscErrorCode AIJTCUParentCreate(Mat A, AIJTCUKind kind, PetscBool device)
{
  PetscFunctionBegin;
  PetscCheck(create[kind][device], PetscObjectComm((PetscObject)A), PETSC_ERR_ARG_UNKNOWN_TYPE, "Parent matrix type %s of aijtcu is not registered", names[kind][device]);
  PetscCall((*create[kind][device])(A));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode AIJTCUCreateAttached(Mat A, AIJTCUKind kind)
{
  PetscFunctionBegin;
  PetscCall(AIJTCUParentCreate(A, kind, PETSC_TRUE));
  if (!A->factortype) PetscCall(AIJTCUAttach(A, kind, PETSC_FALSE, NULL)); /* factors have the parent's type, too */
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode MatCreate_SeqAIJCUSPARSE_AIJTCU(Mat A)
{
  PetscFunctionBegin;
  PetscCall(AIJTCUCreateAttached(A, AIJTCU_KIND_SEQ));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode MatCreate_MPIAIJCUSPARSE_AIJTCU(Mat A)
{
  PetscFunctionBegin;
  PetscCall(AIJTCUCreateAttached(A, AIJTCU_KIND_MPI));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*
   Called when the library is loaded. PETSc's own types are registered then, and ours are not. It may be called again
   if a later step fails.
*/
PetscErrorCode AIJTCUParentsSetUp(PetscBool attach)
{
  PetscFunctionBegin;
  for (PetscInt kind = 0; kind < 2; kind++) {
    for (PetscInt device = 0; device < 2; device++) {
      CreateFn found;

      PetscCall(PetscFunctionListFind(MatList, names[kind][device], &found));
      if (found != MatCreate_SeqAIJCUSPARSE_AIJTCU && found != MatCreate_MPIAIJCUSPARSE_AIJTCU) create[kind][device] = found;
    }
  }
  if (!attach) PetscFunctionReturn(PETSC_SUCCESS);
  if (create[AIJTCU_KIND_SEQ][1] && create[AIJTCU_KIND_MPI][1]) {
    PetscCall(MatRegister(MATSEQAIJCUSPARSE, MatCreate_SeqAIJCUSPARSE_AIJTCU));
    PetscCall(MatRegister(MATMPIAIJCUSPARSE, MatCreate_MPIAIJCUSPARSE_AIJTCU));
  } else PetscCall(PetscInfo(NULL, "-mat_aijtcu_attach does nothing: this PETSc has no %s (it is configured without CUDA)\n", MATAIJCUSPARSE));
  PetscFunctionReturn(PETSC_SUCCESS);
}
