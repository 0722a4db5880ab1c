/*
   Data that are composed with an object of PETSc, and go with it.
*/
#include "common.h"

/* Compose data with an object. If that fails, the data are destroyed */
PetscErrorCode AIJTCUComposeData(PetscObject obj, const char key[], void *data, PetscErrorCode (*destroy)(PetscCtxRt))
{
  PetscErrorCode ierr;

  PetscFunctionBegin;
  ierr = PetscObjectContainerCompose(obj, key, data, destroy);
  if (ierr) PetscCall((*destroy)(&data));
  PetscCall(ierr);
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* What is composed with an object under this key. If there is nothing, zeros are, which nobody need destroy */
PetscErrorCode AIJTCUComposedData(PetscObject obj, const char key[], size_t bytes, void **data)
{
  PetscFunctionBegin;
  PetscCall(PetscObjectContainerQuery(obj, key, data));
  if (*data) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCall(PetscCalloc(bytes, data));
  PetscCall(AIJTCUComposeData(obj, key, *data, PetscCtxDestroyDefault));
  PetscFunctionReturn(PETSC_SUCCESS);
}
