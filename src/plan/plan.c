/*
   The plan of a matrix, from its making to its end: what it has is of the pattern of now, and goes when that changes.

   Three cases are kept apart:

   the pattern changed     all artifacts are dropped
   only values changed     packed values are renewed
   nothing changed         nothing is touched
*/
#include "planimpl.h"

#if AIJTCU_HAVE_DEVICE
static PetscErrorCode AIJTCUPlanDropLaunches(AIJTCUPlan *plan)
{
  PetscFunctionBegin;
  PetscCall(AIJTCULaunchesDestroy(&plan->launches));
  PetscFunctionReturn(PETSC_SUCCESS);
}
#endif

#if AIJTCU_HAVE_HALO
static PetscErrorCode AIJTCUPlanDropHalo(AIJTCUPlan *plan)
{
  PetscFunctionBegin;
  AIJTCUHaloDestroy(&plan->halo);
  plan->transposes = AIJTCU_EMPTY;
  PetscFunctionReturn(PETSC_SUCCESS);
}
#endif

/* What a plan keeps for a pattern, in the sequence in which it goes: bricks before the order that they may be of */
static const struct {
  PetscErrorCode (*destroy)(AIJTCUPlan *);
  PetscInt64 (*bytes)(const AIJTCUPlan *); /* of device memory, or NULL */
  size_t state, why;                       /* of one that can be refused: where these are, else 0 */
} artifacts[] = {
#define REFUSABLE(artifact) offsetof(AIJTCUPlan, artifact.state), offsetof(AIJTCUPlan, artifact.why)
#if AIJTCU_HAVE_DEVICE
  {AIJTCUPlanDropLaunches,  NULL,                    0, 0                },
#endif
#if AIJTCU_HAVE_BRICKS
  {AIJTCUBricksDestroy,     AIJTCUBricksDeviceBytes, REFUSABLE(bricks)   },
#endif
  {AIJTCUOrderDestroy,      AIJTCUOrderBytes,        REFUSABLE(order)    },
  {AIJTCUCsrDestroy,        AIJTCUCsrBytes,          REFUSABLE(csr)      },
#if AIJTCU_HAVE_DEVICE
  {AIJTCURealDestroy,       AIJTCURealBytes,         0, 0                },
#endif
  {AIJTCUVectorDestroy,     AIJTCUVectorBytes,       REFUSABLE(vector)   },
  {AIJTCUTransposeDestroy,  AIJTCUTransposeBytes,    REFUSABLE(transpose)},
  {AIJTCUTransposedDestroy, AIJTCUTransposedBytes,   0, 0                },
  {AIJTCUSurveyDestroy,     NULL,                    REFUSABLE(survey)   },
#if AIJTCU_HAVE_HALO
  {AIJTCUPlanDropHalo,      NULL,                    0, 0                },
#endif
  {AIJTCUTuningDestroy,     NULL,                    0, 0                }
#undef REFUSABLE
};

/* Drop all artifacts */
PetscErrorCode AIJTCUPlanReset(AIJTCUPlan *plan)
{
  PetscFunctionBegin;
  plan->answer.known = PETSC_FALSE;
  plan->refused      = (AIJTCURefusal){0, 0};
  plan->forgives     = PETSC_FALSE;
  for (size_t k = 0; k < PETSC_STATIC_ARRAY_LENGTH(artifacts); k++) PetscCall((*artifacts[k].destroy)(plan));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*
   Every function that looks at artifacts or options calls this first. After it artifacts are of A's pattern, and
   plan->options are those in force
*/
PetscErrorCode AIJTCUPlanSync(Mat A, AIJTCUPlan *plan)
{
  AIJTCUPatternKey key;

  PetscFunctionBegin;
  plan->options = AIJTCUGetOptions(plan);
  PetscCall(AIJTCUPatternKeyGet(A, &key));
  if (AIJTCUPatternKeySame(&key, &plan->pattern_key)) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCall(AIJTCUPlanReset(plan));
  plan->pattern_key = key;
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*
   Before a product: what was refused for lack of memory is asked for again after some products. What follows from a
   path may change then, so the last answer goes
*/
void AIJTCUPlanForgive(AIJTCUPlan *plan)
{
  const PetscBool now = (PetscBool)(plan->forgives && !AIJTCURefusalHolds(&plan->refused));
  PetscBool       any = PETSC_FALSE;

  for (size_t k = 0; k < PETSC_STATIC_ARRAY_LENGTH(artifacts); k++) {
    AIJTCUState    *state = (AIJTCUState *)((char *)plan + artifacts[k].state);
    const HrpbError why   = *(const HrpbError *)((const char *)plan + artifacts[k].why);

    if (!artifacts[k].state || *state != AIJTCU_REFUSED || (why != HRPB_ERR_DEVICE_MEMORY && why != HRPB_ERR_MEMORY)) continue;
    any = PETSC_TRUE;
    if (now) *state = AIJTCU_EMPTY;
  }
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

/* Bytes of device memory in the artifacts, and in those of the transpose */
PetscInt64 AIJTCUPlanDeviceBytes(const AIJTCUPlan *plan)
{
  PetscInt64  bytes = 0;
  AIJTCUPlan *transposed;

  for (size_t k = 0; k < PETSC_STATIC_ARRAY_LENGTH(artifacts); k++) {
    if (artifacts[k].bytes) bytes += (*artifacts[k].bytes)(plan);
  }
  if (plan->transposed.mat && !AIJTCUGetPlan(plan->transposed.mat, &transposed) && transposed) bytes += AIJTCUPlanDeviceBytes(transposed);
  return bytes;
}

/* The format that is set. If none is: that of bricks on the host, or zeros on a device, which chooses */
HrpbParams AIJTCUGetFormat(const AIJTCUPlan *plan)
{
  return AIJTCUFormatSet(AIJTCUGetOptions(plan));
}
