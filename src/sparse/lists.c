/*
   Lists of nodes as PETSc's coarseners hand them over.
*/
#include "coarsen.h"

#if AIJTCU_HAVE_BLOCK && AIJTCU_HAVE_DEVICE_REAL
/* Append a node to a list whose last node is known: PetscCDAppendID() walks along the list */
PetscErrorCode AIJTCUAppend(PetscCoarsenData *lists, PetscCDIntNd *last[], PetscInt list, PetscInt node)
{
  PetscCDIntNd *const head = lists->array[list];

  PetscFunctionBegin;
  lists->array[list] = NULL;
  PetscCall(PetscCDAppendID(lists, list, node));
  if (head) {
    last[list]->next   = lists->array[list];
    last[list]         = lists->array[list];
    lists->array[list] = head;
  } else last[list] = lists->array[list];
  PetscFunctionReturn(PETSC_SUCCESS);
}
#endif
