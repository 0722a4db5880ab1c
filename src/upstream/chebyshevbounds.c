/*
   KSPCHEBYSHEV does not tell the bounds that it works with

     They come from KSPChebyshevSetEigenvalues(), from an estimate, or from PCGAMG, which writes them into the private
     struct. An implementation for blocks of vectors outside of PETSc needs them, and the factors of the fourth kind.

     What would help: KSPChebyshevGetEigenvalues().

   Needed: 3.26. Gone when: there is such a function. Ours: blocksolve.c.

   Nor does it tell whether it estimates them from noise (KSPChebyshevEstEigSetUseNoisy()). It makes noise on the host,
   in new pinned memory, in each set-up. noise.c of src/block makes it on the device.

   Here is a copy of the struct. Numbers that are set through PETSc's functions must be found in it
*/
#include "upstream.h"
#include <petsc/private/kspimpl.h>

#if AIJTCU_HAVE_BLOCK
typedef struct {
  PetscReal        emin, emax;
  PetscReal        emin_computed, emax_computed;
  PetscReal        emin_provided, emax_provided;
  PetscReal       *betas;
  PetscInt         num_betas_alloc;
  KSP              kspest;
  PetscReal        tform[4];
  PetscInt         eststeps;
  PetscBool        usenoisy;
  KSPChebyshevKind chebykind;
} AIJTCUChebyshevData;

/* Whether the copy is right for the PETSc that is loaded */
static PetscErrorCode AIJTCUChebyshevFits(KSP ksp, PetscBool *fits)
{
  const AIJTCUChebyshevData *data;
  KSP                        kspest;

  PetscFunctionBegin;
  PetscCall(KSPSetType(ksp, KSPCHEBYSHEV));
  PetscCall(KSPChebyshevSetEigenvalues(ksp, 3, 2));
  PetscCall(KSPChebyshevEstEigSet(ksp, 4, 5, 6, 7));
  PetscCall(KSPChebyshevEstEigGetKSP(ksp, &kspest));
  PetscCall(KSPChebyshevSetKind(ksp, KSP_CHEBYSHEV_OPT_FOURTH));
  data = (const AIJTCUChebyshevData *)ksp->data;
  PetscCall(KSPChebyshevEstEigSetUseNoisy(ksp, PETSC_FALSE));
  *fits = (PetscBool)!data->usenoisy;
  PetscCall(KSPChebyshevEstEigSetUseNoisy(ksp, PETSC_TRUE));
  *fits = (PetscBool)(*fits && data->usenoisy == PETSC_TRUE && data->emin == 2 && data->emax == 3 && data->kspest == kspest &&
                      data->chebykind == KSP_CHEBYSHEV_OPT_FOURTH);
  for (int i = 0; i < 4; i++) *fits = (PetscBool)(*fits && data->tform[i] == 4 + i);
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* NULL: the copy is wrong */
static PetscErrorCode AIJTCUChebyshevDataGet(KSP ksp, const AIJTCUChebyshevData **data)
{
  static AIJTCUKSPTrial trial;
  PetscBool             fits;

  PetscFunctionBegin;
  PetscCall(AIJTCUKSPFits(AIJTCUChebyshevFits, &trial, &fits));
  *data = fits ? (const AIJTCUChebyshevData *)ksp->data : NULL;
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Whether the set-up makes noise, if the operator is new */
PetscErrorCode AIJTCUChebyshevMakesNoise(KSP ksp, PetscBool *makes)
{
  const AIJTCUChebyshevData *data = NULL;

  PetscFunctionBegin;
  PetscCall(AIJTCUChebyshevDataGet(ksp, &data));
  *makes = (PetscBool)(data && data->usenoisy && (data->kspest || data->emin == 0 || data->emax == 0));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* What a KSP of type chebyshev that is set up works with: KSPChebyshevGetEigenvalues_Chebyshev() */
PetscErrorCode AIJTCUChebyshevGet(KSP ksp, AIJTCUChebyshev *c, PetscBool *known)
{
  const AIJTCUChebyshevData *data = NULL;

  PetscFunctionBegin;
  PetscCall(AIJTCUChebyshevDataGet(ksp, &data));
  *known = (PetscBool)(data != NULL);
  if (!data) PetscFunctionReturn(PETSC_SUCCESS);
  c->emin  = data->emin;
  c->emax  = data->emax;
  c->kind  = data->chebykind;
  c->betas = data->betas;
  if (c->emax == 0) {
    if (data->emax_computed != 0) c->emax = data->tform[2] * data->emin_computed + data->tform[3] * data->emax_computed;
    else if (data->emax_provided != 0) c->emax = data->tform[2] * data->emin_provided + data->tform[3] * data->emax_provided;
  }
  if (c->emin == 0) {
    if (data->emin_computed != 0) c->emin = data->tform[0] * data->emin_computed + data->tform[1] * data->emax_computed;
    else if (data->emin_provided != 0) c->emin = data->tform[0] * data->emin_provided + data->tform[1] * data->emax_provided;
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}
#endif
