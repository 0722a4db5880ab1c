/*
   The plan of a matrix, from its making to its end: what it has is of the pattern of now, and goes when that changes.

   Three cases are kept apart:

   the pattern changed     all artifacts are dropped
   only values changed     packed values are renewed
   nothing changed         nothing is touched
*/
#include "planimpl.h"

/* Drop all artifacts */
PetscErrorCode AIJTCUPlanReset(AIJTCUPlan *plan)
{
  PetscFunctionBegin;
  plan->answer.known = PETSC_FALSE;
  plan->refused      = (AIJTCURefusal){0, 0};
  plan->forgives     = PETSC_FALSE;
#if AIJTCU_HAVE_DEVICE
  PetscCall(AIJTCULaunchesDestroy(&plan->launches));
#endif
#if AIJTCU_HAVE_BRICKS
  PetscCall(AIJTCUBricksDestroy(&plan->bricks));
#endif
  AIJTCUOrderDestroy(&plan->order); /* after the bricks, which may be of the reordered matrix */
  AIJTCUCsrDestroy(&plan->csr);
#if AIJTCU_HAVE_DEVICE
  AIJTCURealDestroy(&plan->real);
#endif
  AIJTCUVectorDestroy(&plan->vector);
  AIJTCUTransposeDestroy(&plan->transpose);
  AIJTCUTransposedDestroy(&plan->transposed);
  AIJTCUSurveyDestroy(&plan->survey);
  PetscCall(AIJTCUTuningDestroy(&plan->tunings));
#if AIJTCU_HAVE_HALO
  AIJTCUHaloDestroy(&plan->halo);
  plan->transposes = AIJTCU_EMPTY;
#endif
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Every function that looks at artifacts calls this first. After it they are of A's pattern */
PetscErrorCode AIJTCUPlanSync(Mat A, AIJTCUPlan *plan)
{
  AIJTCUPatternKey key;

  PetscFunctionBegin;
  PetscCall(AIJTCUPatternKeyGet(A, &key));
  if (AIJTCUPatternKeySame(&key, &plan->pattern_key)) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCall(AIJTCUPlanReset(plan));
  plan->pattern_key = key;
  PetscFunctionReturn(PETSC_SUCCESS);
}

static AIJTCUState AIJTCUForgive(AIJTCUState state, HrpbError why, PetscBool now, PetscBool *any)
{
  if (state != AIJTCU_REFUSED || (why != HRPB_ERR_DEVICE_MEMORY && why != HRPB_ERR_MEMORY)) return state;
  *any = PETSC_TRUE;
  return now ? AIJTCU_EMPTY : state;
}

/*
   Before a product: what was refused for lack of memory is asked for again after some products. What follows from a
   path may change then, so the last answer goes
*/
void AIJTCUPlanForgive(AIJTCUPlan *plan)
{
  const PetscBool now = (PetscBool)(plan->forgives && !AIJTCURefusalHolds(&plan->refused));
  PetscBool       any = PETSC_FALSE;

  plan->survey.state    = AIJTCUForgive(plan->survey.state, plan->survey.why, now, &any);
  plan->csr.state       = AIJTCUForgive(plan->csr.state, plan->csr.why, now, &any);
  plan->vector.state    = AIJTCUForgive(plan->vector.state, plan->vector.why, now, &any);
  plan->transpose.state = AIJTCUForgive(plan->transpose.state, plan->transpose.why, now, &any);
  plan->order.state     = AIJTCUForgive(plan->order.state, plan->order.why, now, &any);
#if AIJTCU_HAVE_BRICKS
  plan->bricks.state = AIJTCUForgive(plan->bricks.state, plan->bricks.why, now, &any);
#endif
  if (now) plan->answer.known = PETSC_FALSE;
  else if (any && !plan->forgives) AIJTCURefusalBegin(&plan->refused);
  plan->forgives = (PetscBool)(any && !now);
}

#if AIJTCU_HAVE_BRICKS
/* The transpose of A as a matrix, with A's pattern and values as they are now. It stays the plan's */
PetscErrorCode AIJTCUPlanTransposed(Mat A, AIJTCUPlan *plan, Mat *T)
{
  PetscBool have;

  PetscFunctionBegin;
  PetscCall(AIJTCUPlanSync(A, plan));
  PetscCall(AIJTCUTransposedUpdate(A, plan, &have));
  *T = have ? plan->transposed.mat : NULL;
  PetscFunctionReturn(PETSC_SUCCESS);
}
#endif

/* Bytes of device memory in the artifacts */
PetscInt64 AIJTCUPlanDeviceBytes(const AIJTCUPlan *plan)
{
  PetscInt64 bytes = AIJTCUCsrBytes(&plan->csr) + AIJTCUVectorBytes(&plan->vector) + AIJTCUTransposeBytes(&plan->transpose) + AIJTCUTransposedBytes(&plan->transposed) + AIJTCUOrderBytes(&plan->order);

  if (plan->transposed.mat) {
    AIJTCUPlan *transposed;

    if (!AIJTCUGetPlan(plan->transposed.mat, &transposed) && transposed) bytes += AIJTCUPlanDeviceBytes(transposed);
  }
#if AIJTCU_HAVE_BRICKS
  if (plan->bricks.device) bytes += AIJTCUBricksBytes(&plan->bricks) + AIJTCUBricksBytesBeside(&plan->bricks);
#endif
#if AIJTCU_HAVE_DEVICE
  bytes += AIJTCURealBytes(&plan->real);
#endif
  return bytes;
}

/* The format that is set. If none is: that of bricks on the host, or zeros on a device, which chooses */
HrpbParams AIJTCUGetFormat(const AIJTCUPlan *plan)
{
  return AIJTCUFormatSet(AIJTCUGetOptions(plan));
}
