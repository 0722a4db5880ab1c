/*
   Where a matrix is: the one place that asks.
*/
#include "plan.h"

/* plan may be NULL: A then has the type that it seems to have */
PetscErrorCode AIJTCUWhere(Mat A, const AIJTCUPlan *plan, AIJTCUPlace *place)
{
  PetscBool device = PETSC_FALSE, bound;

  PetscFunctionBegin;
  *place = AIJTCU_PLACE_HOST;
#if AIJTCU_HAVE_DEVICE
  if (plan) device = plan->id.device;
  else PetscCall(PetscObjectTypeCompareAny((PetscObject)A, &device, MATSEQAIJCUSPARSE, MATMPIAIJCUSPARSE, MATSEQDENSECUDA, MATMPIDENSECUDA, ""));
#else
  (void)plan;
#endif
  if (!device) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCall(MatBoundToCPU(A, &bound));
  *place = AIJTCU_PLACE_BOUND;
  if (bound) PetscFunctionReturn(PETSC_SUCCESS);
  *place = AIJTCU_PLACE_DEVICE;
#if AIJTCU_HAVE_DEVICE
  PetscBool runs;

  PetscCall(AIJTCUDeviceRuns(&runs));
  if (!runs) *place = AIJTCU_PLACE_IDLE;
#endif
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Whether A is on a device, where kernels of ours may run or not. All processes have the same answer */
PetscErrorCode AIJTCUAtDevice(Mat A, const AIJTCUPlan *plan, PetscBool *at)
{
  AIJTCUPlace place;

  PetscFunctionBegin;
  PetscCall(AIJTCUWhere(A, plan, &place));
  *at = (PetscBool)(place == AIJTCU_PLACE_IDLE || place == AIJTCU_PLACE_DEVICE);
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Whether kernels of ours work on A where it is, on a device of this process */
PetscErrorCode AIJTCUOnDevice(Mat A, const AIJTCUPlan *plan, PetscBool *on)
{
  AIJTCUPlace place;

  PetscFunctionBegin;
  PetscCall(AIJTCUWhere(A, plan, &place));
  *on = (PetscBool)(place == AIJTCU_PLACE_DEVICE);
  PetscFunctionReturn(PETSC_SUCCESS);
}
