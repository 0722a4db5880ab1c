/*
   PetscErrorMessage() with one type of text for all releases of PETSc
*/
#pragma once

#include <petscsys.h>

static inline PetscErrorCode ExampleErrorMessage(PetscErrorCode error, const char **message)
{
#if PETSC_VERSION_LT(3, 25, 0)
  char *text;
#else
  const char *text;
#endif

  PetscFunctionBegin;
  PetscCall(PetscErrorMessage(error, NULL, &text));
  *message = text;
  PetscFunctionReturn(PETSC_SUCCESS);
}
