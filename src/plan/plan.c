/*
   The plan of a sequential matrix. It asks for decisions, fetches what they need, builds what they name, and drops all
   of it when the pattern changes. It chooses nothing: see choice.c.

   Three cases are kept apart:

   the pattern changed     all artifacts are dropped
   only values changed     packed values are renewed
   nothing changed         nothing is touched
*/
#include "planimpl.h"
#include <petsctime.h>

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

#if AIJTCU_HAVE_DEVICE
static PetscErrorCode AIJTCUPlanTune(Mat, AIJTCUPlan *, SpmmOp, PetscInt);
#endif

/* Fetch the fact that a decision lacks */
static PetscErrorCode AIJTCUPlanFetch(Mat A, AIJTCUPlan *plan, const AIJTCUDecision *d)
{
  PetscFunctionBegin;
  PetscCheck(A->assembled, PETSC_COMM_SELF, PETSC_ERR_ARG_WRONGSTATE, "The matrix must be assembled");
  plan->answer.known = PETSC_FALSE;
  switch (d->need) {
  case AIJTCU_NEED_SURVEY:
    PetscCall(AIJTCUSurveyCreate(A, plan));
    break;
#if AIJTCU_HAVE_DEVICE
  case AIJTCU_NEED_CSR:
    PetscCall(AIJTCUCsrCreate(A, plan));
    break;
  case AIJTCU_NEED_PANELS:
    PetscCall(AIJTCUCsrSeekPanels(A, plan));
    break;
  case AIJTCU_NEED_VECTOR:
    PetscCall(AIJTCUVectorCreate(A, plan));
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
   Ask until the decision needs nothing more. A decision whose d->path is MAT_AIJTCU_PATH_AUTO is made as a whole, and
   the loop ends when the path is known. Otherwise the path stays, and the loop finds what follows from it. Without
   tuning the model decides.
*/
static PetscErrorCode AIJTCUPlanAsk(Mat A, AIJTCUPlan *plan, PetscBool untuned, AIJTCUDecision *d)
{
  enum {
    MOST_QUESTIONS = 16 /* there are six facts. A reordering may be sought again through more levels */
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
/* Measure times of a proxy for N columns. The model is asked first: there may be a reordering, or nothing to time */
static PetscErrorCode AIJTCUPlanTuneAsked(Mat A, AIJTCUPlan *plan, SpmmOp op, PetscInt N)
{
  const AIJTCUOptions *o      = AIJTCUGetOptions(plan);
  AIJTCUDecision       model  = {.op = op, .N = N, .path = MAT_AIJTCU_PATH_AUTO};
  AIJTCUDecision       bricks = {.op = op, .N = N, .path = MAT_AIJTCU_PATH_TCU};
  AIJTCUFacts          facts;
  AIJTCUDeviceFacts    device;
  PetscLogDouble       start, end;
  PetscBool            reordered;
  AIJTCUVariant        variant[AIJTCU_MOST_VARIANTS];
  PetscInt             n = 0;

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
  if (!reordered) n = AIJTCUVariants(&model, o, &facts, &device, variant);
  PetscCall(AIJTCUTuningCreate(A, plan, &model, reordered, variant, n));
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

PetscInt AIJTCUDecideColumns = 0;

/* Decide the path of an operation with N columns, and its reason. AIJTCUPlanPrepare() decides the rest */
PetscErrorCode AIJTCUPlanDecide(Mat A, AIJTCUPlan *plan, SpmmOp op, PetscInt N, AIJTCUDecision *d)
{
  PetscFunctionBegin;
  PetscCall(AIJTCUPlanSync(A, plan));
  *d = (AIJTCUDecision){.op = op, .N = N, .path = MAT_AIJTCU_PATH_AUTO};
  PetscCall(AIJTCUPlanAsk(A, plan, PETSC_FALSE, d));
#if AIJTCU_HAVE_DEVICE
  if (d->path == MAT_AIJTCU_PATH_CUSPARSE) AIJTCURealSpare(&plan->real);
#endif
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Fetch all facts, and make the whole decision for N columns. Fetches facts that the decision does not need, too */
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

/* For views: path and reason, if what is known already is enough. known says whether it is */
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
/* Build the bricks of a decision, or renew their values */
static PetscErrorCode AIJTCUPlanPrepareBricks(Mat A, AIJTCUPlan *plan, AIJTCUDecision *d, PetscBool *usable)
{
  PetscBool device;

  PetscFunctionBegin;
  PetscCall(AIJTCUOnDevice(A, plan, &device));
  if (AIJTCUBricksFit(&plan->bricks, d, device)) PetscCall(AIJTCUBricksUpdate(A, plan));
  else {
    plan->answer.known = PETSC_FALSE;
    PetscCall(AIJTCUBricksCreate(A, plan, d, device));
    PetscCall(AIJTCUPlanAsk(A, plan, PETSC_FALSE, d)); /* the size of their blocks is known now */
  }
  /*
     Reordering is not allowed any more, and no bricks use the reordered matrix. A tuning made with it could not find
     it again, so both are dropped.
  */
  if (AIJTCUGetOptions(plan)->reorder == MAT_AIJTCU_REORDER_NEVER && (plan->order.state != AIJTCU_EMPTY || plan->tunings.n)) {
    plan->answer.known = PETSC_FALSE;
    AIJTCUOrderDestroy(&plan->order);
    if (plan->tunings.reorder != MAT_AIJTCU_REORDER_NEVER) PetscCall(AIJTCUTuningDestroy(&plan->tunings));
  }
  *usable = (PetscBool)(plan->bricks.state == AIJTCU_READY);
  PetscFunctionReturn(PETSC_SUCCESS);
}
#endif

/* What follows from the path of d, as it was the last time if nothing has changed since */
static PetscErrorCode AIJTCUPlanAskAgain(Mat A, AIJTCUPlan *plan, AIJTCUDecision *d)
{
  AIJTCUAnswer         *last    = &plan->answer;
  const AIJTCUDecision *answer  = &last->decision;
  const AIJTCUOptions  *options = AIJTCUGetOptions(plan);
  PetscBool             on_device, same;

  PetscFunctionBegin;
  PetscCall(AIJTCUOnDevice(A, plan, &on_device));
  same = (PetscBool)(last->known && last->on_device == on_device && answer->op == d->op && answer->N == d->N && answer->path == d->path);
  same = (PetscBool)(same && answer->reason == d->reason && answer->adds == d->adds);
  if (same) PetscCall(PetscMemcmp(&last->options, options, sizeof(*options), &same));
  if (same) *d = *answer;
  else {
    PetscCall(AIJTCUPlanAsk(A, plan, PETSC_FALSE, d));
    PetscCall(PetscMemcpy(&last->options, options, sizeof(*options)));
    last->decision  = *d;
    last->on_device = on_device;
    last->known     = PETSC_TRUE;
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*
   Bring up to date what the path of a decision needs, and write into d what follows for the matrix and the options as
   they are now. usable says whether there is something to multiply with. For the CSR path on the host there is
   nothing: the parent makes that product.
*/
PetscErrorCode AIJTCUPlanPrepare(Mat A, AIJTCUPlan *plan, AIJTCUDecision *d, PetscBool *usable)
{
  PetscFunctionBegin;
  *usable = PETSC_FALSE;
  PetscCall(AIJTCUPlanSync(A, plan));
  AIJTCUPlanForgive(plan);
  PetscCall(AIJTCUPlanAskAgain(A, plan, d));
#if AIJTCU_HAVE_DEVICE
  if (d->kernel && d->kernel->op == SPMM_OP_VECTOR) {
    PetscCall(AIJTCUVectorUse(A, plan));
    PetscCall(AIJTCUPlanAskAgain(A, plan, d));
  }
#endif
  if (d->path == MAT_AIJTCU_PATH_TCU && !d->kernel)
    PetscCall(PetscInfo(A, "aijtcu: products take the CSR path: %s\n", AIJTCUReasons[AIJTCU_HAVE_BRICKS ? AIJTCU_REASON_NO_KERNEL : AIJTCU_REASON_SCALAR_TYPE]));
#if AIJTCU_HAVE_BRICKS
  else if (d->path == MAT_AIJTCU_PATH_TCU) PetscCall(AIJTCUPlanPrepareBricks(A, plan, d, usable));
#endif
  else *usable = (PetscBool)(d->kernel != NULL);
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* The tuning for N columns, or for the nearest number if the table is full. NULL if nothing was tuned */
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
