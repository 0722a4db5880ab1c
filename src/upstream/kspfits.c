/*
   Whether a private struct of a KSP is what a workaround reads: values that are set must be found there. A workaround
   that reads one gives a function that tries it with a KSP of its own.
*/
#include "upstream.h"

#if AIJTCU_HAVE_BLOCK
/* trial keeps the answer. After an error it is asked again */
PetscErrorCode AIJTCUKSPFits(PetscErrorCode (*try_fit)(KSP, PetscBool *), AIJTCUKSPTrial *trial, PetscBool *fits)
{
  PetscFunctionBegin;
  if (!trial->asked) {
    PetscErrorCode ierr, destroyed;
    KSP            ksp;

    PetscCall(KSPCreate(PETSC_COMM_SELF, &ksp));
    ierr      = (*try_fit)(ksp, &trial->fits);
    destroyed = KSPDestroy(&ksp);
    PetscCall(ierr);
    PetscCall(destroyed);
    trial->asked = PETSC_TRUE;
  }
  *fits = trial->fits;
  PetscFunctionReturn(PETSC_SUCCESS);
}
#endif
