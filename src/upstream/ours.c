/*
   The solvers that workarounds are for: those with a matrix of ours.
*/
#include "upstream.h"
#include <petscpc.h>

static PetscErrorCode (*AIJTCUIsOurs)(Mat, PetscBool *);

/* Ours, or a MATNEST with a block of ours: its vectors are those of its blocks */
static PetscErrorCode AIJTCUHoldsOurs(Mat A, PetscBool *holds)
{
  Mat     **sub;
  PetscInt  m, n;
  PetscBool nest;

  PetscFunctionBegin;
  PetscCall((*AIJTCUIsOurs)(A, holds));
  PetscCall(PetscObjectTypeCompare((PetscObject)A, MATNEST, &nest));
  if (!nest) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCall(MatNestGetSubMats(A, &m, &n, &sub));
  for (PetscInt i = 0; i < m && !*holds; i++)
    for (PetscInt j = 0; j < n && !*holds; j++)
      if (sub[i][j]) PetscCall(AIJTCUHoldsOurs(sub[i][j], holds));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Whether the operator or the matrix of the preconditioner is ours, or a nest of ours. Both are set */
PetscErrorCode AIJTCUPCHasOurs(PC pc, PetscBool *has)
{
  Mat A, P;

  PetscFunctionBegin;
  PetscCall(PCGetOperators(pc, &A, &P));
  PetscCall(AIJTCUHoldsOurs(A, has));
  if (!*has) PetscCall(AIJTCUHoldsOurs(P, has));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* When the library is loaded. is_ours tells our matrices */
void AIJTCUKnowOurs(PetscErrorCode (*is_ours)(Mat, PetscBool *))
{
  AIJTCUIsOurs = is_ours;
}
