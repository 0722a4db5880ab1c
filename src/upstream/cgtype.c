/*
   KSPCG does not tell whether it takes the matrix as Hermitian or as symmetric

     KSPCGSetType() and -ksp_cg_type set which of them it is, in complex arithmetic. An implementation for blocks of
     vectors outside of PETSc must know it: inner products are with conjugates or without.

     What would help: KSPCGGetType().

   Needed: 3.26. Gone when: there is such a function. Ours: blocksolve.c.

   The type is the first number of the private struct. Types that are set must be found there
*/
#include "upstream.h"
#include <petsc/private/kspimpl.h>

#if AIJTCU_HAVE_BLOCK && PetscDefined(USE_COMPLEX)
static PetscErrorCode AIJTCUCGTypeFits(KSP ksp, PetscBool *fits)
{
  PetscFunctionBegin;
  PetscCall(KSPSetType(ksp, KSPCG));
  *fits = PETSC_TRUE;
  for (int i = 0; i < 4; i++) {
    const KSPCGType type = i % 2 ? KSP_CG_HERMITIAN : KSP_CG_SYMMETRIC;

    PetscCall(KSPCGSetType(ksp, type));
    if (*(const KSPCGType *)ksp->data != type) *fits = PETSC_FALSE;
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Whether a KSP of type cg takes the matrix as Hermitian. No where that is not known */
PetscErrorCode AIJTCUCGIsHermitian(KSP ksp, PetscBool *hermitian)
{
  static AIJTCUKSPTrial trial;
  PetscBool             fits;

  PetscFunctionBegin;
  PetscCall(AIJTCUKSPFits(AIJTCUCGTypeFits, &trial, &fits));
  *hermitian = (PetscBool)(fits && *(const KSPCGType *)ksp->data == KSP_CG_HERMITIAN);
  PetscFunctionReturn(PETSC_SUCCESS);
}
#endif
