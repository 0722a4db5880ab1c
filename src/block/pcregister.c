/*
   How our creator of a preconditioner comes into PETSc's list when the library is loaded. It calls PETSc's creator.
*/
#include "blockvec.h"

#if AIJTCU_HAVE_BLOCK
/* Let ours create preconditioners of a type, and keep the original. Nothing happens if ours does already */
PetscErrorCode AIJTCURegisterPC(const char type[], PetscErrorCode (*ours)(PC), PetscErrorCode (**original)(PC))
{
  PetscErrorCode (*create)(PC);

  PetscFunctionBegin;
  PetscCall(PCInitializePackage());
  PetscCall(PetscFunctionListFind(PCList, type, &create));
  if (!create || create == ours) PetscFunctionReturn(PETSC_SUCCESS);
  *original = create;
  PetscCall(PCRegister(type, ours));
  PetscFunctionReturn(PETSC_SUCCESS);
}
#endif
