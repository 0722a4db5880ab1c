/*
   How the workaround for STCAYLEY (../upstream/cayleyshell.c) enters: SLEPc's creator of that type is wrapped under the
   same name. The original is called first. Then ours stands behind the operation that makes the operator's matrices.
*/
#include "eigen.h"
#include "../upstream/upstream.h"

#if AIJTCU_HAVE_EIGEN
/* What SLEPc's creator sets, which is the same for each ST */
static PetscErrorCode (*AIJTCUCayleyOriginal)(ST);
static PetscErrorCode (*AIJTCUCayleyOperator)(ST);

static PetscErrorCode AIJTCUCayleyComputeOperator(ST st)
{
  PetscBool ours, device;

  PetscFunctionBegin;
  PetscCall((*AIJTCUCayleyOperator)(st));
  PetscCall(AIJTCUBasisTakes(st->A[0], &ours, &device));
  if (ours) PetscCall(AIJTCUShellVecsOf(st->T[0], st->A[0]));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode AIJTCUCayleyCreate(ST st)
{
  PetscFunctionBegin;
  PetscCall((*AIJTCUCayleyOriginal)(st));
  AIJTCUCayleyOperator     = st->ops->computeoperator;
  st->ops->computeoperator = AIJTCUCayleyComputeOperator;
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode AIJTCUCayleyEnter(void)
{
  PetscFunctionBegin;
  PetscCall(STInitializePackage());
  PetscCall(AIJTCUReplaceCreator(STList, STCAYLEY, AIJTCUCayleyCreate, &AIJTCUCayleyOriginal));
  PetscFunctionReturn(PETSC_SUCCESS);
}
#endif
