/*
   Facts: what is known of a matrix and of the device, gathered for a decision.

   AIJTCUFactsGet() reads what is there and computes nothing, so a view may call it. workorder.c fetches what a decision
   lacks: the survey from this file, the others from vector.c, tune.c, csr.c and order.c. Where a matrix is, this file
   alone asks.
*/
#include "planimpl.h"

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
  *at = PETSC_FALSE; /* also after an error */
  PetscCall(AIJTCUWhere(A, plan, &place));
  *at = (PetscBool)(place == AIJTCU_PLACE_IDLE || place == AIJTCU_PLACE_DEVICE);
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Whether kernels of ours work on A where it is, on a device of this process */
PetscErrorCode AIJTCUOnDevice(Mat A, const AIJTCUPlan *plan, PetscBool *on)
{
  AIJTCUPlace place;

  PetscFunctionBegin;
  *on = PETSC_FALSE; /* also after an error */
  PetscCall(AIJTCUWhere(A, plan, &place));
  *on = (PetscBool)(place == AIJTCU_PLACE_DEVICE);
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* The part of a survey that alpha needs, on the host */
static PetscErrorCode AIJTCUHostSurvey(Mat A, HrpbSurvey *survey, HrpbError *err)
{
  AIJTCUHostCSR csr;

  PetscFunctionBegin;
  PetscCall(AIJTCUHostCSRGet(A, PETSC_FALSE, &csr, err));
  if (!*err) *err = HrpbCountStripColumns(csr.nrows, csr.ncols, csr.rowptr, csr.colidx, 8, &survey->strip_cols8);
  if (!*err) *err = HrpbCountStripColumns(csr.nrows, csr.ncols, csr.rowptr, csr.colidx, 16, &survey->strip_cols16);
  if (!*err) survey->nnz = csr.nrows ? csr.rowptr[csr.nrows] - csr.rowptr[0] : 0;
  PetscCall(AIJTCUHostCSRRestore(A, &csr));
  PetscFunctionReturn(PETSC_SUCCESS);
}

#if AIJTCU_HAVE_DEVICE
static PetscErrorCode AIJTCUDeviceSurvey(Mat A, AIJTCUPlan *plan, const AIJTCUDeviceCSR *csr, void *ctx, HrpbError *err)
{
  PetscFunctionBegin;
  (void)A;
  (void)plan;
  AIJTCUCallDevice(*err, HrpbSurveyDevice(csr->nrows, csr->ncols, csr->rowptr, csr->colidx, csr->stream, (HrpbSurvey *)ctx));
  PetscFunctionReturn(PETSC_SUCCESS);
}
#endif

/* Count what the model needs to know of bricks, where the matrix is. Nothing is built */
PetscErrorCode AIJTCUSurveyCreate(Mat A, AIJTCUPlan *plan, const AIJTCUDecision *d)
{
  AIJTCUSurvey *s = &plan->survey;
  PetscBool     device;

  PetscFunctionBegin;
  (void)d;
  PetscCall(AIJTCUOnDevice(A, plan, &device));
  PetscCall(AIJTCUSurveyDestroy(plan));
  PetscCall(PetscLogEventBegin(MAT_AIJTCU_Analyse, A, 0, 0, 0));
#if AIJTCU_HAVE_DEVICE
  if (device) PetscCall(AIJTCUDeviceCallForMemory(A, plan, AIJTCU_CSR_PATTERN, AIJTCUDeviceSurvey, &s->survey, &s->why));
#endif
  /* a survey of the host has all that a device without kernels can use */
  if (!device || s->why == HRPB_ERR_UNSUPPORTED) PetscCall(AIJTCUHostSurvey(A, &s->survey, &s->why));
  if (s->why) { /* alpha is zero, so the choice is the CSR path */
    PetscCall(PetscInfo(A, "aijtcu: synergy is unknown: %s\n", HrpbErrorString(s->why)));
    s->survey.strip_cols8 = s->survey.strip_cols16 = 0;
  }
  s->state  = s->why ? AIJTCU_REFUSED : AIJTCU_READY;
  s->device = device;
  PetscCall(PetscLogEventEnd(MAT_AIJTCU_Analyse, A, 0, 0, 0));
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode AIJTCUSurveyDestroy(AIJTCUPlan *plan)
{
  PetscFunctionBegin;
  PetscCall(PetscMemzero(&plan->survey, sizeof(plan->survey)));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* A survey of the host says nothing of staging. A device needs that, so it counts again */
static PetscBool AIJTCUSurveyServes(const AIJTCUSurvey *s, PetscBool on_device)
{
  return (PetscBool)(s->state != AIJTCU_EMPTY && (s->device || !on_device));
}

/* What is known of A for an ask. The artifacts must be of its pattern: see AIJTCUPlanSync() */
PetscErrorCode AIJTCUFactsGet(Mat A, const AIJTCUPlan *plan, const AIJTCUAsk *ask, AIJTCUFacts *f)
{
  AIJTCUPlace place;

  PetscFunctionBegin;
  PetscCall(PetscMemzero(f, sizeof(*f)));
  PetscCall(AIJTCUWhere(A, plan, &place));
  f->device       = plan->id.device;
  f->bound        = (PetscBool)(place == AIJTCU_PLACE_BOUND);
  f->on_device    = (PetscBool)(place == AIJTCU_PLACE_DEVICE && !ask->host);
  f->matrix.nrows = AIJTCU_PARTS * (int64_t)A->rmap->n;
  f->matrix.ncols = AIJTCU_PARTS * (int64_t)A->cmap->n;
  if (AIJTCUSurveyServes(&plan->survey, f->on_device)) {
    f->survey_state  = plan->survey.state;
    f->matrix.survey = plan->survey.survey;
    f->matrix.nnz    = plan->survey.survey.nnz;
  }
  f->csr_state     = plan->csr.state;
  f->panels_sought = plan->csr.panels_sought;
  if (f->csr_state == AIJTCU_READY) SpmmFactsOfCsr(&plan->csr.schedule, &f->matrix);
#if AIJTCU_HAVE_DEVICE
  f->vector_state    = plan->vector.state == AIJTCU_READY && !plan->vector.plan.nnz ? AIJTCU_REFUSED : plan->vector.state;
  f->transpose_state = plan->transpose.state;
  AIJTCUVectorFacts(plan, ask->transposed ? &plan->transpose.matrix.plan : &plan->vector.plan, &f->matrix);
  /* complex: kernels for blocks have them, those for one vector do not */
  if (AIJTCU_PARTS > 1) {
    f->matrix.nodes       = ask->op == SPMM_OP_PRODUCT ? plan->csr.pairs.nnodes : 0;
    f->matrix.pair_panels = ask->op == SPMM_OP_PRODUCT ? plan->csr.pairs.panel_rows : 0;
  }
#endif
  f->order_state        = plan->order.state;
  f->order_levels       = plan->order.levels;
  f->order_forced       = plan->order.forced;
  f->order_shared       = plan->order.shared;
  f->order_found        = plan->order.matrix.levels;
  f->order_survey       = plan->order.survey;
  f->bricks_state       = plan->bricks.device == f->on_device ? plan->bricks.state : AIJTCU_EMPTY;
  f->bricks_format      = plan->bricks.format;
  f->bricks_reordered   = plan->bricks.reordered;
  f->bricks_max_pattern = plan->bricks.hrpb.max_pattern;
  f->bricks_max_values  = plan->bricks.hrpb.max_values;
  f->ntuned             = plan->tunings.n;
  f->tuned              = plan->tunings.tuned;
  f->tuned_format       = plan->tunings.format;
  f->tuned_precision    = plan->tunings.precision;
  f->tuned_reorder      = plan->tunings.reorder;
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* What is known of the device of the matrix; zeros for a matrix that stays on the host */
PetscErrorCode AIJTCUDeviceFactsGet(const AIJTCUPlan *plan, AIJTCUDeviceFacts *device)
{
  PetscFunctionBegin;
  PetscCall(PetscMemzero(device, sizeof(*device)));
#if AIJTCU_HAVE_DEVICE
  if (plan->id.device) {
    HrpbError err;

    AIJTCUCallDevice(err, SpmmGetDevice(&device->device));
    for (size_t p = 0; p < PETSC_STATIC_ARRAY_LENGTH(device->pays) && !err; p++) {
      bool pays;

      AIJTCUCallDevice(err, HrpbSupportsDevice((HrpbPrecision)p, &pays));
      device->pays[p] = pays ? PETSC_TRUE : PETSC_FALSE;
    }
    PetscCheck(!err, PETSC_COMM_SELF, PETSC_ERR_GPU, "%s", HrpbErrorString(err));
  }
#else
  (void)plan;
#endif
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* The threshold in force */
PetscErrorCode AIJTCUThreshold(const AIJTCUPlan *plan, PetscReal *threshold)
{
  AIJTCUDeviceFacts device;

  PetscFunctionBegin;
  PetscCall(AIJTCUDeviceFactsGet(plan, &device));
  *threshold = AIJTCUThresholdInForce(AIJTCUGetOptions(plan), plan->id.device, &device);
  PetscFunctionReturn(PETSC_SUCCESS);
}
