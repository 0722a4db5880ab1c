/*
   How a creator of ours takes the place of PETSc's under the same name when the library is loaded.
*/
#include "common.h"

/*
   Let ours be the creator of that name in a list of PETSc's types, and keep the original, which ours calls. Nothing
   happens if ours is there already, or if there is no type of that name
*/
PetscErrorCode AIJTCUReplaceCreator_Private(PetscFunctionList *list, const char name[], PetscErrorCodeFn *ours, PetscErrorCodeFn **original)
{
  PetscErrorCodeFn *create;

  PetscFunctionBegin;
  PetscCall(PetscFunctionListFind(*list, name, &create));
  if (!create || create == ours) PetscFunctionReturn(PETSC_SUCCESS);
  *original = create;
  PetscCall(PetscFunctionListAdd(list, name, ours));
  PetscFunctionReturn(PETSC_SUCCESS);
}
