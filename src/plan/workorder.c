/*
   From an ask to a work order: facts are gathered, the decision is made, and what it names is built or renewed. Nothing
   is chosen here: see choice.c.
*/
#include "planimpl.h"
#include <petsctime.h>
#include <real/real.h>

#if AIJTCU_HAVE_DEVICE
static PetscErrorCode AIJTCUPlanTune(Mat, AIJTCUPlan *, const AIJTCUDecision *);
#endif

/* The facts that a decision may lack, in their sequence, and what creates each */
static const AIJTCUCreateFn creates[AIJTCU_NNEEDS] = {
#if AIJTCU_HAVE_DEVICE
  [AIJTCU_NEED_VECTOR]    = AIJTCUVectorCreate,
  [AIJTCU_NEED_TRANSPOSE] = AIJTCUTransposeCreate,
  [AIJTCU_NEED_TUNING]    = AIJTCUPlanTune,
  [AIJTCU_NEED_CSR]       = AIJTCUCsrCreate,
  [AIJTCU_NEED_PANELS]    = AIJTCUCsrSeekPanels,
  [AIJTCU_NEED_ORDER]     = AIJTCUOrderCreate,
#endif
  [AIJTCU_NEED_SURVEY] = AIJTCUSurveyCreate};

/* Fetch the fact that a decision lacks */
static PetscErrorCode AIJTCUPlanFetch(Mat A, AIJTCUPlan *plan, const AIJTCUDecision *d)
{
  PetscFunctionBegin;
  PetscCheck(A->assembled, PETSC_COMM_SELF, PETSC_ERR_ARG_WRONGSTATE, "The matrix must be assembled");
  PetscCheck(creates[d->need], PETSC_COMM_SELF, PETSC_ERR_PLIB, "No fact %d", (int)d->need);
  plan->answer.known = PETSC_FALSE;
  PetscCall((*creates[d->need])(A, plan, d));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*
   Decide, with the facts that it takes, in their sequence: each is fetched once at most. While no path is known the
   decision is about the path, and ends with it. With a path, that of the ask, it is about what follows
*/
static PetscErrorCode AIJTCUPlanGather(Mat A, AIJTCUPlan *plan, const AIJTCUAsk *ask, AIJTCUDecision *d)
{
  AIJTCUNeedFact    last = AIJTCU_NEED_NOTHING;
  AIJTCUFacts       facts;
  AIJTCUDeviceFacts device;

  PetscFunctionBegin;
  PetscCall(AIJTCUDeviceFactsGet(plan, &device));
  for (;;) {
    PetscCall(AIJTCUFactsGet(A, plan, ask, &facts));
    *d = AIJTCUDecide(ask, plan->options, &facts, &device);
    if (ask->path == MAT_AIJTCU_PATH_AUTO ? d->path != MAT_AIJTCU_PATH_AUTO : !d->need) PetscFunctionReturn(PETSC_SUCCESS);
    PetscCheck(d->need > last, PETSC_COMM_SELF, PETSC_ERR_PLIB, "A decision needs fact %d after fact %d", (int)d->need, (int)last);
    last = d->need;
    PetscCall(AIJTCUPlanFetch(A, plan, d));
  }
}

/* Path and reason of an ask */
static PetscErrorCode AIJTCUPlanDecidePath(Mat A, AIJTCUPlan *plan, AIJTCUAsk *ask)
{
  AIJTCUDecision d;

  PetscFunctionBegin;
  PetscCall(AIJTCUPlanGather(A, plan, ask, &d));
  ask->path   = d.path;
  ask->reason = d.reason;
  if (ask->op == SPMM_OP_PRODUCT) plan->columns = d.N;
#if AIJTCU_HAVE_DEVICE
  if (d.path == MAT_AIJTCU_PATH_CUSPARSE) AIJTCURealSpare(plan);
#endif
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Decide path and reason of an ask, and write them into it */
PetscErrorCode AIJTCUPlanDecide(Mat A, AIJTCUPlan *plan, AIJTCUAsk *ask)
{
  PetscFunctionBegin;
  PetscCall(AIJTCUPlanSync(A, plan));
  PetscCall(AIJTCUPlanDecidePath(A, plan, ask));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* The whole decision */
static PetscErrorCode AIJTCUPlanDecideAll(Mat A, AIJTCUPlan *plan, const AIJTCUAsk *ask, AIJTCUDecision *d)
{
  AIJTCUAsk a = *ask;

  PetscFunctionBegin;
  if (a.path == MAT_AIJTCU_PATH_AUTO) PetscCall(AIJTCUPlanDecidePath(A, plan, &a));
  PetscCall(AIJTCUPlanGather(A, plan, &a, d));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Have the survey and the schedule, whether a decision needs them or not */
static PetscErrorCode AIJTCUPlanCount(Mat A, AIJTCUPlan *plan, const AIJTCUAsk *ask)
{
  const AIJTCUDecision survey = {.need = AIJTCU_NEED_SURVEY}, csr = {.need = AIJTCU_NEED_CSR};
  AIJTCUFacts          facts;

  PetscFunctionBegin;
  PetscCall(AIJTCUFactsGet(A, plan, ask, &facts));
  if (facts.survey_state == AIJTCU_EMPTY) PetscCall(AIJTCUPlanFetch(A, plan, &survey));
  if (facts.on_device && facts.csr_state == AIJTCU_EMPTY) PetscCall(AIJTCUPlanFetch(A, plan, &csr));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* For views: counts of active columns, of a matrix that need not be assembled */
PetscErrorCode AIJTCUPlanSurvey(Mat A, AIJTCUPlan *plan)
{
  PetscFunctionBegin;
  if (plan->survey.state == AIJTCU_EMPTY) PetscCall(AIJTCUSurveyCreate(A, plan, NULL));
  PetscFunctionReturn(PETSC_SUCCESS);
}

#if AIJTCU_HAVE_DEVICE
/* Measure times of a proxy for N columns. The model is asked first: there may be a reordering, or nothing to time */
static PetscErrorCode AIJTCUPlanTuneAsked(Mat A, AIJTCUPlan *plan, const AIJTCUDecision *lacking)
{
  const AIJTCUOptions *o      = plan->options;
  AIJTCUAsk            model  = {.op = lacking->op, .N = lacking->N, .untuned = PETSC_TRUE};
  AIJTCUAsk            bricks = {.op = lacking->op, .N = lacking->N, .untuned = PETSC_TRUE, .path = MAT_AIJTCU_PATH_TCU};
  AIJTCUDecision       d;
  AIJTCUFacts          facts;
  AIJTCUDeviceFacts    device;
  PetscLogDouble       start, end;
  PetscBool            reordered;
  AIJTCUVariant        variant[AIJTCU_MOST_VARIANTS];
  PetscInt             n = 0;

  PetscFunctionBegin;
  PetscCall(PetscTime(&start));
  PetscCall(AIJTCUDeviceFactsGet(plan, &device));
  PetscCall(AIJTCUFactsGet(A, plan, &model, &facts));
  if (!AIJTCUTuningIsValid(o, &facts, &device)) PetscCall(AIJTCUTuningDestroy(plan));
  PetscCall(AIJTCUPlanDecidePath(A, plan, &model));
  PetscCall(AIJTCUPlanGather(A, plan, &bricks, &d));
  reordered = (PetscBool)(d.reordered && SpmmColumnsRun(&plan->order.survey));
  if (!reordered) PetscCall(AIJTCUPlanCount(A, plan, &model));
  PetscCall(AIJTCUFactsGet(A, plan, &model, &facts));
  if (!reordered) n = AIJTCUVariants(&model, o, &facts, &device, variant);
  PetscCall(AIJTCUTuningCreate(A, plan, &model, reordered, variant, n));
  PetscCall(PetscTime(&end));
  PetscCall(AIJTCUTuningFinish(A, plan, end - start));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode AIJTCUPlanTune(Mat A, AIJTCUPlan *plan, const AIJTCUDecision *lacking)
{
  PetscFunctionBegin;
  PetscCall(PetscLogEventBegin(MAT_AIJTCU_Tune, A, 0, 0, 0));
  PetscCall(AIJTCUPlanTuneAsked(A, plan, lacking));
  PetscCall(PetscLogEventEnd(MAT_AIJTCU_Tune, A, 0, 0, 0));
  PetscFunctionReturn(PETSC_SUCCESS);
}
#endif

/* Fetch all facts, and make the whole decision. Fetches facts that the decision does not need, too */
PetscErrorCode AIJTCUPlanKnow(Mat A, AIJTCUPlan *plan, const AIJTCUAsk *ask, AIJTCUFacts *facts, AIJTCUDecision *d)
{
  PetscFunctionBegin;
  PetscCall(AIJTCUPlanSync(A, plan));
  PetscCall(AIJTCUPlanDecideAll(A, plan, ask, d));
  PetscCall(AIJTCUPlanCount(A, plan, ask));
  PetscCall(AIJTCUFactsGet(A, plan, ask, facts));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* For views: path and reason, if what is known already is enough. known says whether it is */
PetscErrorCode AIJTCUPlanPeek(Mat A, AIJTCUPlan *plan, const AIJTCUAsk *ask, AIJTCUDecision *d, PetscBool *known)
{
  AIJTCUFacts       facts;
  AIJTCUDeviceFacts device;

  PetscFunctionBegin;
  PetscCall(AIJTCUPlanSync(A, plan));
  PetscCall(AIJTCUDeviceFactsGet(plan, &device));
  PetscCall(AIJTCUFactsGet(A, plan, ask, &facts));
  *d     = AIJTCUDecide(ask, plan->options, &facts, &device);
  *known = (PetscBool)(d->path != MAT_AIJTCU_PATH_AUTO);
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* What the model compares for a product with N columns. fetch: facts that are lacking are found out, on a device */
PetscErrorCode AIJTCUPlanCompare(Mat A, AIJTCUPlan *plan, PetscInt N, PetscBool fetch, AIJTCUComparison *c)
{
  const AIJTCUAsk   ask = {.op = SPMM_OP_PRODUCT, .N = N};
  AIJTCUFacts       facts;
  AIJTCUDeviceFacts device;

  PetscFunctionBegin;
  PetscCall(AIJTCUPlanSync(A, plan));
  PetscCall(AIJTCUDeviceFactsGet(plan, &device));
  PetscCall(AIJTCUFactsGet(A, plan, &ask, &facts));
  if (fetch && facts.on_device) {
    PetscCall(AIJTCUPlanCount(A, plan, &ask));
    PetscCall(AIJTCUFactsGet(A, plan, &ask, &facts));
  }
  *c = AIJTCUCompare(N, plan->options, &facts, &device);
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* The tuning for N columns, or for the nearest number if the table is full. NULL if nothing was tuned */
PetscErrorCode AIJTCUPlanTuned(Mat A, AIJTCUPlan *plan, SpmmOp op, PetscInt N, const AIJTCUTuned **tuned)
{
  const AIJTCUAsk   ask = {.op = op, .N = N};
  AIJTCUFacts       facts;
  AIJTCUDeviceFacts device;
  PetscInt          k = -1;

  PetscFunctionBegin;
  PetscCall(AIJTCUPlanSync(A, plan));
  if (plan->tunings.n) {
    PetscCall(AIJTCUDeviceFactsGet(plan, &device));
    PetscCall(AIJTCUFactsGet(A, plan, &ask, &facts));
    k = AIJTCUTuningFind(op, plan->options, &facts, N, &device);
  }
  *tuned = k < 0 ? NULL : &plan->tunings.tuned[k];
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscBool AIJTCUAskedTheSame(const AIJTCUAsk *a, const AIJTCUAsk *b)
{
  PetscBool same = (PetscBool)(a->op == b->op && a->N == b->N && a->decide == b->decide && a->K == b->K);

  same = (PetscBool)(same && a->X == b->X && a->Y == b->Y && a->update == b->update && a->softmax == b->softmax);
  same = (PetscBool)(same && a->path == b->path && a->reason == b->reason);
  return (PetscBool)(same && a->host == b->host && a->transposed == b->transposed && a->conjugated == b->conjugated && a->untuned == b->untuned);
}

/* The whole decision, as it was the last time if nothing has changed since */
static PetscErrorCode AIJTCUPlanAnswer(Mat A, AIJTCUPlan *plan, const AIJTCUAsk *ask, AIJTCUDecision *d)
{
  AIJTCUAnswer *last = &plan->answer;
  PetscBool     on_device, same;

  PetscFunctionBegin;
  PetscCall(AIJTCUOnDevice(A, plan, &on_device));
  same = (PetscBool)(last->known && last->on_device == on_device && AIJTCUAskedTheSame(&last->ask, ask));
  if (same) PetscCall(PetscMemcmp(&last->options, plan->options, sizeof(last->options), &same));
  if (same) *d = last->decision;
  else {
    PetscCall(AIJTCUPlanDecideAll(A, plan, ask, d));
    PetscCall(PetscMemcpy(&last->options, plan->options, sizeof(last->options)));
    last->ask       = *ask;
    last->decision  = *d;
    last->on_device = on_device;
    last->known     = PETSC_TRUE;
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

#if AIJTCU_HAVE_BRICKS
/* Build the bricks of a decision, or renew their values. Without them the decision has no kernel */
static PetscErrorCode AIJTCUPlanHaveBricks(Mat A, AIJTCUPlan *plan, const AIJTCUAsk *ask, AIJTCUDecision *d)
{
  PetscFunctionBegin;
  if (d->there) PetscCall(AIJTCUBricksUpdate(A, plan));
  else {
    plan->answer.known = PETSC_FALSE;
    PetscCall(AIJTCUBricksCreate(A, plan, d));
    PetscCall(AIJTCUPlanAnswer(A, plan, ask, d)); /* the size of their blocks is known now */
  }
  /*
     Reordering is not allowed any more, and no bricks use the reordered matrix. A tuning made with it could not find
     it again, so both are dropped.
  */
  if (plan->options->reorder == MAT_AIJTCU_REORDER_NEVER && (plan->order.state != AIJTCU_EMPTY || plan->tunings.n)) {
    plan->answer.known = PETSC_FALSE;
    PetscCall(AIJTCUOrderDestroy(plan));
    if (plan->tunings.reorder != MAT_AIJTCU_REORDER_NEVER) PetscCall(AIJTCUTuningDestroy(plan));
  }
  if (plan->bricks.state != AIJTCU_READY) d->kernel = NULL;
  PetscFunctionReturn(PETSC_SUCCESS);
}
#endif

#if AIJTCU_HAVE_DEVICE
/* Whether few columns of complex numbers are multiplied one by one, on the CSR path */
static PetscBool AIJTCUPlanByColumns(const AIJTCUPlan *plan, const AIJTCUDecision *d, const AIJTCUAsk *ask)
{
  const SpmmOperands operands = AIJTCUOperandsAsked(ask);

  if (AIJTCU_PARTS == 1 || d->path != MAT_AIJTCU_PATH_CSR || d->kernel->op != SPMM_OP_PRODUCT || d->kernel->host) return PETSC_FALSE;
  if (plan->vector.state != AIJTCU_EMPTY && (plan->vector.state != AIJTCU_READY || !plan->vector.plan.nnz)) return PETSC_FALSE;
  return (PetscBool)ComplexCsrTakesColumns(&plan->csr.schedule, &plan->csr.pairs, &operands, PetscMax(ask->N, ask->decide));
}
#endif

/* The kernel of a decision, or the one that stands in for it and reads the complex matrix itself */
const SpmmKernel *AIJTCUPlanKernel(const AIJTCUPlan *plan, const AIJTCUAsk *ask, const AIJTCUDecision *d)
{
#if AIJTCU_HAVE_DEVICE
  const SpmmOperands operands = AIJTCUOperandsAsked(ask);
  const SpmmKernel  *kernel   = NULL;

  if (AIJTCU_PARTS == 1 || !d->kernel || d->kernel->host || d->kernel->format != SPMM_CSR) return d->kernel;
  if (d->kernel->op == SPMM_OP_VECTOR) kernel = ComplexVectorKernel(ask->transposed ? &plan->transpose.matrix.plan : &plan->vector.plan, ask->conjugated);
  else if (AIJTCUPlanByColumns(plan, d, ask)) kernel = ComplexCsrColumnsKernel();
  else if (d->kernel->op == SPMM_OP_PRODUCT) kernel = ComplexCsrKernel(&plan->csr.schedule, &plan->csr.pairs, &operands);
  return kernel ? kernel : d->kernel;
#else
  (void)plan;
  (void)ask;
  return d->kernel;
#endif
}

/* Build or renew what the kernel of a decision needs */
static PetscErrorCode AIJTCUPlanHave(Mat A, AIJTCUPlan *plan, const AIJTCUAsk *ask, AIJTCUDecision *d)
{
  PetscFunctionBegin;
#if AIJTCU_HAVE_BRICKS
  if (d->kernel && d->path == MAT_AIJTCU_PATH_TCU) PetscCall(AIJTCUPlanHaveBricks(A, plan, ask, d));
#endif
#if AIJTCU_HAVE_DEVICE
  if (d->kernel && d->kernel->op == SPMM_OP_VECTOR) {
    if (ask->transposed) {
      PetscBool usable;

      PetscCall(AIJTCUTransposeUpdate(A, plan, &usable));
      if (!usable) d->kernel = NULL;
    } else {
      PetscCall(AIJTCUVectorUse(A, plan));
      if (!plan->answer.known) PetscCall(AIJTCUPlanAnswer(A, plan, ask, d)); /* there is more to choose from now */
    }
  } else if (d->kernel && AIJTCUPlanByColumns(plan, d, ask)) {
    if (plan->vector.state == AIJTCU_EMPTY) PetscCall(AIJTCUVectorCreate(A, plan, d));
    if (plan->vector.state == AIJTCU_READY) PetscCall(AIJTCUVectorUse(A, plan));
  }
#endif
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* The matrix as the kernel sees it, but for PETSc's arrays */
static void AIJTCUPlanMatrix(Mat A, AIJTCUPlan *plan, const AIJTCUDecision *d, const AIJTCUAsk *ask, AIJTCUWorkOrder *order)
{
  const PetscBool        vector = (PetscBool)(d->kernel->op == SPMM_OP_VECTOR), transposed = ask->transposed;
  const int64_t          parts  = vector ? 1 : AIJTCU_PARTS; /* the real matrix has more than twice the bytes */
  const AIJTCUBricks    *b = &plan->bricks;
  const VectorTranspose *t = &plan->transpose.matrix;
  SpmmMatrix            *m = &order->A;

  m->nrows    = parts * (int64_t)(transposed ? A->cmap->n : A->rmap->n);
  m->ncols    = parts * (int64_t)(transposed ? A->rmap->n : A->cmap->n);
  order->need = d->kernel->op == SPMM_OP_SAMPLED && order->operands.update != SPMM_SCALE ? AIJTCU_CSR_PATTERN : AIJTCU_CSR_VALUES;
  if (d->kernel->format == SPMM_BRICKS) {
    m->hrpb         = &b->hrpb;
    m->schedule     = &b->schedule;
    m->brick_values = b->values;
    m->precision    = d->precision;
    if (d->reordered) order->reordered = &plan->order.matrix;
    if (d->kernel->op == SPMM_OP_PRODUCT) order->need = AIJTCU_CSR_NOTHING;
  } else if (transposed) {
    m->rowptr   = t->rowptr;
    m->colidx   = t->colidx;
    m->values   = t->values;
    m->vector   = &t->plan;
    order->need = AIJTCU_CSR_NOTHING;
  } else if (vector) {
    m->vector   = &plan->vector.plan;
    order->need = AIJTCU_CSR_ITSELF;
  } else if (!d->kernel->host) m->csr = &plan->csr.schedule;
  order->kernel = AIJTCUPlanKernel(plan, ask, d);
#if AIJTCU_HAVE_DEVICE
  if (AIJTCU_PARTS > 1 && m->csr) {
    if (order->kernel == d->kernel) plan->real.kept = PETSC_TRUE;
    else {
      const PetscBool columns = (PetscBool)(order->kernel == ComplexCsrColumnsKernel());

      order->need = AIJTCU_CSR_ITSELF;
      m->vector   = columns ? &plan->vector.plan : &plan->csr.pairs;
      if (columns) m->csr = NULL;
    }
  }
#endif
}

/*
   How what is asked for is made, for the matrix and the options as they are now, with all that it takes. Without a
   kernel the parent makes it, or another path does
*/
PetscErrorCode AIJTCUPlanOrder(Mat A, AIJTCUPlan *plan, const AIJTCUAsk *ask, AIJTCUWorkOrder *order)
{
  AIJTCUDecision d;

  PetscFunctionBegin;
  PetscCall(AIJTCUPlanSync(A, plan));
  AIJTCUPlanForgive(plan);
  PetscCall(AIJTCUPlanAnswer(A, plan, ask, &d));
  if (d.path == MAT_AIJTCU_PATH_TCU && !d.kernel && d.op == SPMM_OP_PRODUCT)
    PetscCall(PetscInfo(A, "aijtcu: products take the CSR path: %s\n",
      AIJTCUReasons[AIJTCU_HAVE_BRICKS ? AIJTCU_REASON_NO_KERNEL : AIJTCU_REASON_SCALAR_TYPE]));
  PetscCall(AIJTCUPlanHave(A, plan, ask, &d));
  *order          = (AIJTCUWorkOrder){.path = d.path, .reason = AIJTCUReasons[d.reason], .seconds = d.seconds, .kernel = d.kernel};
  order->operands = AIJTCUOperandsAsked(ask);
  if (d.kernel) AIJTCUPlanMatrix(A, plan, &d, ask, order);
  else order->why = d.path == MAT_AIJTCU_PATH_TCU ? plan->bricks.why : plan->csr.why;
  if (!order->kernel && !order->why) order->why = HRPB_ERR_UNSUPPORTED;
#if AIJTCU_HAVE_DEVICE
  AIJTCURealSpare(plan);
#endif
  PetscFunctionReturn(PETSC_SUCCESS);
}
