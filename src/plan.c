/*
   The plan of a sequential matrix: it asks for decisions, fetches what they need, builds what they name, and drops all
   of it when the pattern changes. It chooses nothing: see choice.c.

   Three states are kept apart: the pattern changed (all artifacts go), only values changed (packed values are renewed),
   nothing changed (nothing is touched).
*/
#include "aijtcuimpl.h"
#include <petsctime.h>

PetscErrorCode AIJTCUPatternKeyGet(Mat A, AIJTCUPatternKey *key)
{
  PetscFunctionBegin;
  PetscCall(PetscObjectGetId((PetscObject)A, &key->id));
  key->mat          = A;
  key->nonzerostate = A->nonzerostate;
  key->data         = A->data;
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscBool AIJTCUPatternKeyEqual(const AIJTCUPatternKey *a, const AIJTCUPatternKey *b)
{
  return (PetscBool)(a->mat == b->mat && a->id == b->id && a->nonzerostate == b->nonzerostate && a->data == b->data);
}

/* Drop all artifacts */
PetscErrorCode AIJTCUPlanReset(AIJTCUPlan *plan)
{
  PetscFunctionBegin;
#if AIJTCU_HAVE_BRICKS
  PetscCall(AIJTCUBricksDestroy(&plan->bricks));
#endif
  AIJTCUOrderDestroy(&plan->order); /* bricks may have been of it */
  AIJTCUCsrDestroy(&plan->csr);
  AIJTCUSurveyDestroy(&plan->survey);
  PetscCall(AIJTCUTuningDestroy(&plan->tunings));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* At the entrance of everything that looks at artifacts: from here on they are of A's pattern */
PetscErrorCode AIJTCUPlanSync(Mat A, AIJTCUPlan *plan)
{
  AIJTCUPatternKey key;

  PetscFunctionBegin;
  PetscCall(AIJTCUPatternKeyGet(A, &key));
  if (AIJTCUPatternKeyEqual(&key, &plan->pattern_key)) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCall(AIJTCUPlanReset(plan));
  plan->pattern_key = key;
  PetscFunctionReturn(PETSC_SUCCESS);
}

#if AIJTCU_HAVE_DEVICE
static PetscErrorCode AIJTCUPlanTune(Mat, AIJTCUPlan *, SpmmOp, PetscInt);
#endif

/* The fact that a decision lacks */
static PetscErrorCode AIJTCUPlanFetch(Mat A, AIJTCUPlan *plan, const AIJTCUDecision *d)
{
  PetscFunctionBegin;
  switch (d->need) {
  case AIJTCU_NEED_SURVEY:
    PetscCall(AIJTCUSurveyCreate(A, plan));
    break;
#if AIJTCU_HAVE_DEVICE
  case AIJTCU_NEED_CSR:
    PetscCall(AIJTCUCsrCreate(A, plan));
    break;
  case AIJTCU_NEED_ORDER:
    PetscCall(AIJTCUOrderCreate(A, plan, d->levels, (PetscBool)(AIJTCUGetOptions(plan)->reorder == MAT_AIJTCU_REORDER_ALWAYS)));
    break;
  case AIJTCU_NEED_TUNING:
    PetscCall(AIJTCUPlanTune(A, plan, d->op, d->N));
    break;
#endif
  default:
    SETERRQ(PETSC_COMM_SELF, PETSC_ERR_PLIB, "No fact %d", (int)d->need);
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*
   Ask until nothing is needed any more: a decision as a whole where d->path is MAT_AIJTCU_PATH_AUTO, which ends when
   the path is known; otherwise what follows from the path. Without tuning it is the model's
*/
static PetscErrorCode AIJTCUPlanAsk(Mat A, AIJTCUPlan *plan, PetscBool untuned, AIJTCUDecision *d)
{
  enum {
    MOST_QUESTIONS = 16 /* there are four facts; an order may be sought again, through more levels */
  };
  const AIJTCUOptions *o     = AIJTCUGetOptions(plan);
  const AIJTCUDecision asked = *d;
  AIJTCUDeviceFacts    device;

  PetscFunctionBegin;
  PetscCall(AIJTCUDeviceFactsGet(plan, &device));
  for (PetscInt k = 0; k < MOST_QUESTIONS; k++) {
    AIJTCUFacts facts;

    PetscCall(AIJTCUFactsGet(A, plan, &facts));
    facts.untuned = untuned;
    if (asked.path == MAT_AIJTCU_PATH_AUTO) {
      *d = AIJTCUDecide(asked.op, o, &facts, asked.N, &device);
      if (d->path != MAT_AIJTCU_PATH_AUTO) PetscFunctionReturn(PETSC_SUCCESS);
    } else {
      *d = AIJTCUDecideOn(&asked, o, &facts, &device);
      if (!d->need) PetscFunctionReturn(PETSC_SUCCESS);
    }
    PetscCall(AIJTCUPlanFetch(A, plan, d));
  }
  SETERRQ(PETSC_COMM_SELF, PETSC_ERR_PLIB, "A decision needs fact %d for ever", (int)d->need);
}

#if AIJTCU_HAVE_DEVICE
/* Times of a proxy, for N columns. The model is asked first: there may be a reordering, or nothing that can be timed */
static PetscErrorCode AIJTCUPlanTuneAsked(Mat A, AIJTCUPlan *plan, SpmmOp op, PetscInt N)
{
  const AIJTCUOptions *o      = AIJTCUGetOptions(plan);
  AIJTCUDecision       model  = {.op = op, .N = N, .path = MAT_AIJTCU_PATH_AUTO};
  AIJTCUDecision       bricks = {.op = op, .N = N, .path = MAT_AIJTCU_PATH_TCU};
  AIJTCUFacts          facts;
  AIJTCUDeviceFacts    device;
  PetscLogDouble       start, end;
  PetscBool            reordered;
  HrpbParams           format;

  PetscFunctionBegin;
  PetscCall(PetscTime(&start));
  PetscCall(AIJTCUDeviceFactsGet(plan, &device));
  PetscCall(AIJTCUFactsGet(A, plan, &facts));
  if (!AIJTCUTuningIsValid(o, &facts, &device)) PetscCall(AIJTCUTuningDestroy(&plan->tunings));
  PetscCall(AIJTCUPlanAsk(A, plan, PETSC_TRUE, &model));
  PetscCall(AIJTCUPlanAsk(A, plan, PETSC_TRUE, &bricks));
  reordered = (PetscBool)(bricks.reordered && SpmmColumnsRun(&plan->order.survey));
  PetscCall(AIJTCUFactsGet(A, plan, &facts));
  if (!reordered && facts.survey_state == AIJTCU_EMPTY) PetscCall(AIJTCUSurveyCreate(A, plan));
  if (!reordered && facts.csr_state == AIJTCU_EMPTY) PetscCall(AIJTCUCsrCreate(A, plan));
  PetscCall(AIJTCUFactsGet(A, plan, &facts));
  format = AIJTCUDecideFormat(o, &facts, &device);
  PetscCall(AIJTCUTuningCreate(A, plan, &facts, &model, reordered, &format));
  PetscCall(PetscTime(&end));
  PetscCall(AIJTCUTuningFinish(A, plan, end - start));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode AIJTCUPlanTune(Mat A, AIJTCUPlan *plan, SpmmOp op, PetscInt N)
{
  PetscFunctionBegin;
  PetscCall(PetscLogEventBegin(MAT_AIJTCU_Tune, A, 0, 0, 0));
  PetscCall(AIJTCUPlanTuneAsked(A, plan, op, N));
  PetscCall(PetscLogEventEnd(MAT_AIJTCU_Tune, A, 0, 0, 0));
  PetscFunctionReturn(PETSC_SUCCESS);
}
#endif

/*
   The path of an operation with N columns, and its reason. What else there is to decide waits until AIJTCUPlanPrepare()
*/
PetscErrorCode AIJTCUPlanDecide(Mat A, AIJTCUPlan *plan, SpmmOp op, PetscInt N, AIJTCUDecision *d)
{
  PetscFunctionBegin;
  PetscCall(AIJTCUPlanSync(A, plan));
  *d = (AIJTCUDecision){.op = op, .N = N, .path = MAT_AIJTCU_PATH_AUTO};
  PetscCall(AIJTCUPlanAsk(A, plan, PETSC_FALSE, d));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* All facts, and the whole decision for N columns. Fetches what is missing, also what the decision does not need */
PetscErrorCode AIJTCUPlanKnow(Mat A, AIJTCUPlan *plan, SpmmOp op, PetscInt N, AIJTCUFacts *facts, AIJTCUDecision *d)
{
  PetscFunctionBegin;
  PetscCall(AIJTCUPlanDecide(A, plan, op, N, d));
  PetscCall(AIJTCUPlanAsk(A, plan, PETSC_FALSE, d));
  PetscCall(AIJTCUFactsGet(A, plan, facts));
  if (facts->survey_state == AIJTCU_EMPTY) PetscCall(AIJTCUSurveyCreate(A, plan));
#if AIJTCU_HAVE_DEVICE
  if (facts->on_device && facts->csr_state == AIJTCU_EMPTY) PetscCall(AIJTCUCsrCreate(A, plan));
#endif
  PetscCall(AIJTCUFactsGet(A, plan, facts));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Path and reason as far as they follow from what is known already: known says whether they do. For views */
PetscErrorCode AIJTCUPlanPeek(Mat A, AIJTCUPlan *plan, SpmmOp op, PetscInt N, AIJTCUDecision *d, PetscBool *known)
{
  AIJTCUFacts       facts;
  AIJTCUDeviceFacts device;

  PetscFunctionBegin;
  PetscCall(AIJTCUPlanSync(A, plan));
  PetscCall(AIJTCUDeviceFactsGet(plan, &device));
  PetscCall(AIJTCUFactsGet(A, plan, &facts));
  *d     = AIJTCUDecide(op, AIJTCUGetOptions(plan), &facts, N, &device);
  *known = (PetscBool)(d->path != MAT_AIJTCU_PATH_AUTO);
  PetscFunctionReturn(PETSC_SUCCESS);
}

#if AIJTCU_HAVE_BRICKS
/* Bricks as decided, with the values of now */
static PetscErrorCode AIJTCUPlanPrepareBricks(Mat A, AIJTCUPlan *plan, AIJTCUDecision *d, PetscBool *usable)
{
  PetscBool device;

  PetscFunctionBegin;
  PetscCall(AIJTCUOnDevice(A, plan, &device));
  if (AIJTCUBricksFit(&plan->bricks, d, device)) PetscCall(AIJTCUBricksUpdate(A, plan));
  else {
    PetscCall(AIJTCUBricksCreate(A, plan, d, device));
    PetscCall(AIJTCUPlanAsk(A, plan, PETSC_FALSE, d)); /* how large their blocks are is known now */
  }
  /* no bricks are of the reordered matrix any more, nor does anything find it again for what was tuned with it */
  if (AIJTCUGetOptions(plan)->reorder == MAT_AIJTCU_REORDER_NEVER) {
    AIJTCUOrderDestroy(&plan->order);
    if (plan->tunings.reorder != MAT_AIJTCU_REORDER_NEVER) PetscCall(AIJTCUTuningDestroy(&plan->tunings));
  }
  *usable = (PetscBool)(plan->bricks.state == AIJTCU_READY);
  PetscFunctionReturn(PETSC_SUCCESS);
}
#endif

/*
   Bring up to date what the path of a decision needs, and say in d what that is of the matrix and the options of now.
   usable says whether there is something to multiply with: on the host there is nothing for the CSR path, for there
   that is the parent's product
*/
PetscErrorCode AIJTCUPlanPrepare(Mat A, AIJTCUPlan *plan, AIJTCUDecision *d, PetscBool *usable)
{
  PetscFunctionBegin;
  *usable = PETSC_FALSE;
  PetscCall(AIJTCUPlanSync(A, plan));
  PetscCall(AIJTCUPlanAsk(A, plan, PETSC_FALSE, d));
  if (d->path == MAT_AIJTCU_PATH_TCU && !d->kernel)
    PetscCall(PetscInfo(A, "aijtcu: products take the CSR path: %s\n", AIJTCUReasons[AIJTCU_HAVE_BRICKS ? AIJTCU_REASON_NO_KERNEL : AIJTCU_REASON_SCALAR_TYPE]));
#if AIJTCU_HAVE_BRICKS
  else if (d->path == MAT_AIJTCU_PATH_TCU) PetscCall(AIJTCUPlanPrepareBricks(A, plan, d, usable));
#endif
  else *usable = (PetscBool)(d->kernel != NULL);
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* What was tuned for N columns, or for the nearest number where there is no room for more; NULL if nothing was */
PetscErrorCode AIJTCUPlanTuned(Mat A, AIJTCUPlan *plan, SpmmOp op, PetscInt N, const AIJTCUTuned **tuned)
{
  AIJTCUFacts       facts;
  AIJTCUDeviceFacts device;
  PetscInt          k = -1;

  PetscFunctionBegin;
  PetscCall(AIJTCUPlanSync(A, plan));
  if (plan->tunings.n) {
    PetscCall(AIJTCUDeviceFactsGet(plan, &device));
    PetscCall(AIJTCUFactsGet(A, plan, &facts));
    k = AIJTCUTuningFind(op, AIJTCUGetOptions(plan), &facts, N, &device);
  }
  *tuned = k < 0 ? NULL : &plan->tunings.tuned[k];
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Device memory that the artifacts have */
PetscInt64 AIJTCUPlanDeviceBytes(const AIJTCUPlan *plan)
{
  PetscInt64 bytes = AIJTCUCsrBytes(&plan->csr) + AIJTCUOrderBytes(&plan->order);

#if AIJTCU_HAVE_BRICKS
  if (plan->bricks.device) bytes += AIJTCUBricksBytes(&plan->bricks) + AIJTCUBricksBytesBeside(&plan->bricks);
#endif
  return bytes;
}
