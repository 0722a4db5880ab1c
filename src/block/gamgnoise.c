/*
   The eigenvalue that PCGAMG smooths its prolongators with, by noise of the device.

   PCGAMGOptimizeProlongator_AGG() makes noise on the host, in new page-locked memory, for each level. Here the estimate
   is made before PETSc's function is called: by the same solver, with the same options and the same numbers, as
   KSPCHEBYSHEV has them (noise.c). It is handed over as one that the program has set.
*/
#include "blockksp.h"

#if AIJTCU_HAVE_BLOCK && AIJTCU_HAVE_DEVICE_REAL
  #include <petsc/private/pcgamgimpl.h>

static PetscErrorCode (*AIJTCUOptimize)(PC, Mat, Mat *); /* PETSc's, of PCGAMGAGG */

static PC_GAMG *AIJTCUGAMGOf(PC pc)
{
  return (PC_GAMG *)((PC_MG *)pc->data)->innerctx;
}

/* Noise of the device for an estimate that PETSc would make. NULL where it would make none, or must make it itself */
static PetscErrorCode AIJTCUNoiseFor(PC pc, Mat A, Vec *noise)
{
  const AIJTCUAggregation *a;
  AIJTCUPlan              *plan;
  MatNullSpace             nullsp;
  PetscBool                here = PETSC_FALSE, all;

  PetscFunctionBegin;
  *noise = NULL;
  PetscCall(AIJTCUGAMGAggregation(pc, &a));
  if (!a || a->nsmooths < 1 || AIJTCUGAMGOf(pc)->emax > 0) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCall(MatGetNullSpace(A, &nullsp)); /* PETSc takes it out of its noise */
  PetscCall(AIJTCUGetPlan(A, &plan));
  if (plan && !nullsp) PetscCall(AIJTCUOnDevice(A, plan, &here));
  PetscCall(AIJTCUAgree(PetscObjectComm((PetscObject)A), PETSC_SUCCESS, here, &all));
  if (all) PetscCall(AIJTCUNoiseGet(A, noise, &here)); /* one that it cannot make is NULL */
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* The estimate of PCGAMGOptimizeProlongator_AGG() */
static PetscErrorCode AIJTCUEstimate(PC pc, Mat A, Vec noise, PetscReal *emin, PetscReal *emax)
{
  const char *prefix;
  KSP         ksp;
  PC          jacobi;
  PetscBool   set, spd;
  Vec         x;

  PetscFunctionBegin;
  PetscCall(VecDuplicate(noise, &x));
  PetscCall(KSPCreate(PetscObjectComm((PetscObject)A), &ksp));
  PetscCall(KSPSetNestLevel(ksp, pc->kspnestlevel));
  PetscCall(PCGetOptionsPrefix(pc, &prefix));
  PetscCall(KSPSetOptionsPrefix(ksp, prefix));
  PetscCall(KSPAppendOptionsPrefix(ksp, "pc_gamg_esteig_"));
  PetscCall(MatIsSPDKnown(A, &set, &spd));
  if (set && spd) PetscCall(KSPSetType(ksp, KSPCG));
  PetscCall(KSPSetErrorIfNotConverged(ksp, pc->erroriffailure));
  PetscCall(KSPSetNormType(ksp, KSP_NORM_NONE));
  PetscCall(KSPSetInitialGuessNonzero(ksp, PETSC_FALSE));
  PetscCall(KSPSetOperators(ksp, A, A));
  PetscCall(KSPGetPC(ksp, &jacobi));
  PetscCall(PCSetType(jacobi, PCJACOBI));
  PetscCall(KSPSetTolerances(ksp, PETSC_CURRENT, PETSC_CURRENT, PETSC_CURRENT, 10));
  PetscCall(KSPSetFromOptions(ksp));
  PetscCall(KSPSetComputeSingularValues(ksp, PETSC_TRUE));
  PetscCall(KSPSolve(ksp, noise, x));
  PetscCall(KSPCheckSolve(ksp, pc, x));
  PetscCall(KSPComputeExtremeSingularValues(ksp, emax, emin));
  PetscCall(PetscInfo(pc, "%s: Smooth P0: max eigen=%e min=%e PC=%s\n", ((PetscObject)pc)->prefix, (double)*emax, (double)*emin, PCJACOBI));
  PetscCall(VecDestroy(&x));
  PetscCall(KSPDestroy(&ksp));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode PCGAMGOptimizeProlongator_AIJTCU(PC pc, Mat A, Mat *P)
{
  PC_GAMG *const  gamg = AIJTCUGAMGOf(pc);
  const PetscReal set[2] = {gamg->emin, gamg->emax};
  PetscReal       found[2];
  Vec             noise;
  PetscErrorCode  ierr;

  PetscFunctionBegin;
  PetscCall(AIJTCUNoiseFor(pc, A, &noise));
  if (noise) {
    PetscCall(AIJTCUEstimate(pc, A, noise, &found[0], &found[1]));
    PetscCall(VecDestroy(&noise));
    gamg->emin = found[0];
    gamg->emax = found[1];
  }
  ierr       = (*AIJTCUOptimize)(pc, A, P); /* which makes an estimate by itself where this one is no positive number */
  gamg->emin = set[0]; /* after an error, too */
  gamg->emax = set[1];
  PetscCall(ierr);
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Have a PCGAMG by aggregation make its estimates here. For every set-up: its type may have changed */
PetscErrorCode AIJTCUEstimateHere(PC pc)
{
  struct _PCGAMGOps *const ops = AIJTCUGAMGOf(pc)->ops;
  PCGAMGType               type;
  PetscBool                aggregates;

  PetscFunctionBegin;
  PetscCall(PCGAMGGetType(pc, &type));
  PetscCall(PetscStrcmp(type, PCGAMGAGG, &aggregates));
  if (!aggregates || ops->optprolongator == PCGAMGOptimizeProlongator_AIJTCU) PetscFunctionReturn(PETSC_SUCCESS);
  AIJTCUOptimize      = ops->optprolongator;
  ops->optprolongator = PCGAMGOptimizeProlongator_AIJTCU;
  PetscFunctionReturn(PETSC_SUCCESS);
}
#endif
