/*
   KSPCG does not tell its coefficients

     KSPSolve_CG() waits for a device three times in an iteration: for two sums and a norm. An implementation outside of
     PETSc that waits once needs what this one reads and writes in the private struct of KSPCG: the coefficients, of
     which KSPComputeEigenvalues() makes its estimate, the value of the objective, a trust region, a target.

     What would help: functions for these. Or sums that stay on the device until the test of convergence.

   Needed: 3.26. Gone when: nothing says it. Ours: cgvector.c.

   Here is a copy of the struct. What is set through PETSc's functions must be found in it
*/
#include "upstream.h"

#if AIJTCU_HAVE_BLOCK && AIJTCU_HAVE_DEVICE_REAL
  #include <petsc/private/kspimpl.h>

static PetscErrorCode AIJTCUCGDataFits(KSP ksp, PetscBool *fits)
{
  const AIJTCUCGData *cg;

  PetscFunctionBegin;
  PetscCall(KSPSetType(ksp, KSPCG));
  cg = (const AIJTCUCGData *)ksp->data;
  *fits = (PetscBool)(!cg->e && !cg->d && !cg->ee && !cg->dd && cg->radius == 0 && cg->single_reduction == PETSC_FALSE);
  PetscCall(KSPCGSetType(ksp, KSP_CG_SYMMETRIC));
  if (cg->type != KSP_CG_SYMMETRIC) *fits = PETSC_FALSE;
  PetscCall(KSPCGSetType(ksp, KSP_CG_HERMITIAN));
  if (cg->type != KSP_CG_HERMITIAN) *fits = PETSC_FALSE;
  PetscCall(KSPCGSetRadius(ksp, 0.75));
  PetscCall(KSPCGSetObjectiveTarget(ksp, -3));
  PetscCall(KSPCGUseSingleReduction(ksp, PETSC_TRUE));
  *fits = (PetscBool)(*fits && cg->radius == 0.75 && cg->obj_min == -3 && cg->single_reduction == PETSC_TRUE);
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* The struct of a KSP of type cg, or NULL if it is not known */
PetscErrorCode AIJTCUCGGetData(KSP ksp, AIJTCUCGData **cg)
{
  static AIJTCUKSPTrial trial;
  PetscBool             fits;

  PetscFunctionBegin;
  PetscCall(AIJTCUKSPFits(AIJTCUCGDataFits, &trial, &fits));
  *cg = fits ? (AIJTCUCGData *)ksp->data : NULL;
  PetscFunctionReturn(PETSC_SUCCESS);
}
#endif
