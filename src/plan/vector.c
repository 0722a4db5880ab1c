/*
   What products with one vector need of a pattern, what makes them faster, and the transpose.
*/
#include "planimpl.h"
#include <real/real.h>

#if AIJTCU_HAVE_DEVICE
/*
   After so many products with a pattern something is made that makes them faster: it takes as long as some products.
   Matrices that are multiplied a few times, like those of coarse levels while a preconditioner is set up, do without
*/
enum {
  PRODUCTS_BEFORE = 30
};

/* What is made of a pattern is made of that of the matrix itself, complex or not */
static const AIJTCUNeed AIJTCUVectorPattern = AIJTCU_PARTS > 1 ? AIJTCU_CSR_ITSELF : AIJTCU_CSR_PATTERN;

/* The transpose, of complex numbers or of real ones */
static const struct {
  HrpbError (*create)(const HrpbInt *, const HrpbInt *, HrpbStream, const VectorPlan *, VectorTranspose *);
  HrpbError (*values)(int64_t, const HrpbScalar *, HrpbStream, const VectorTranspose *);
} AIJTCUVectorTransposes = {
#if PetscDefined(USE_COMPLEX)
  ComplexTransposeDevice, ComplexTransposeValuesDevice
#else
  VectorTransposeDevice, VectorTransposeValuesDevice
#endif
};

static PetscErrorCode AIJTCUVectorCreateOnDevice(Mat A, AIJTCUPlan *plan, const AIJTCUDeviceCSR *csr, void *ctx, HrpbError *err)
{
  PetscFunctionBegin;
  (void)A;
  (void)ctx;
  AIJTCUCallDevice(*err, VectorPlanDevice(csr->nrows, csr->ncols, csr->rowptr, csr->stream, &plan->vector.plan));
  if (*err) PetscFunctionReturn(PETSC_SUCCESS);
  plan->vector.state = AIJTCU_READY;
  AIJTCUWorkspaceUser(PETSC_TRUE);
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* What each product needs. It reads the row pointers once */
PetscErrorCode AIJTCUVectorCreate(Mat A, AIJTCUPlan *plan, const AIJTCUDecision *d)
{
  AIJTCUVector     *v = &plan->vector;
  const VectorPlan *p = &v->plan;

  PetscFunctionBegin;
  (void)d;
  PetscCall(AIJTCUVectorDestroy(plan));
  PetscCall(AIJTCUDeviceCallForMemory(A, plan, AIJTCUVectorPattern, AIJTCUVectorCreateOnDevice, NULL, &v->why));
  if (v->why) {
    v->state = AIJTCU_REFUSED;
    PetscCall(PetscInfo(A, "aijtcu: no products with one vector by our kernels, the parent makes them: %s\n", HrpbErrorString(v->why)));
  } else
    PetscCall(PetscInfo(A, "aijtcu: products with one vector have %d lanes for a row (0: by its length); %d rows are cut into %d parts\n", (int)p->lanes, (int)p->nlong, (int)p->nparts));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode AIJTCUVectorImproveOnDevice(Mat A, AIJTCUPlan *plan, const AIJTCUDeviceCSR *csr, void *ctx, HrpbError *err)
{
  const MatAIJTCUMult mult = *(const MatAIJTCUMult *)ctx;
  VectorPlan         *p    = &plan->vector.plan;

  PetscFunctionBegin;
  (void)A;
  /* no kernel reads complex numbers by nodes */
  if (AIJTCU_PARTS == 1 && mult != MAT_AIJTCU_MULT_CSR16) AIJTCUCallDevice(*err, VectorNodesDevice(csr->rowptr, csr->colidx, csr->stream, p));
  if (!*err && mult != MAT_AIJTCU_MULT_NODES) AIJTCUCallDevice(*err, VectorColumnsDevice(csr->rowptr, csr->colidx, csr->stream, p));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*
   Look for nodes, and make short columns, or one of the two where that is set. This takes as long as a few products,
   and is done once for what is set
*/
static PetscErrorCode AIJTCUVectorImprove(Mat A, AIJTCUPlan *plan, MatAIJTCUMult mult)
{
  AIJTCUVector     *v = &plan->vector;
  const VectorPlan *p = &v->plan;
  HrpbError         err;

  PetscFunctionBegin;
  if (v->improved && v->improved_for == mult) PetscFunctionReturn(PETSC_SUCCESS);
  v->improved        = PETSC_TRUE;
  v->improved_for    = mult;
  plan->answer.known = PETSC_FALSE;
  PetscCall(PetscLogEventBegin(MAT_AIJTCU_Analyse, A, 0, 0, 0));
  PetscCall(AIJTCUDeviceCallForMemory(A, plan, AIJTCUVectorPattern, AIJTCUVectorImproveOnDevice, &mult, &err));
  PetscCall(PetscLogEventEnd(MAT_AIJTCU_Analyse, A, 0, 0, 0));
  if (err) PetscCall(PetscInfo(A, "aijtcu: no nodes and short columns, products with one vector stay as they are: %s\n", HrpbErrorString(err)));
  else
    PetscCall(PetscInfo(A, "aijtcu: products with one vector have %d nodes of up to %d rows, and %s columns\n", (int)p->nnodes, (int)p->node_rows, p->columns ? "short" : "no short"));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Before a product with A itself: what makes it faster is made once it pays, or at once where it is set */
PetscErrorCode AIJTCUVectorUse(Mat A, AIJTCUPlan *plan)
{
  const MatAIJTCUMult mult = plan->options->mult;
  AIJTCUVector       *v    = &plan->vector;

  PetscFunctionBegin;
  if (mult == MAT_AIJTCU_MULT_CSR) PetscFunctionReturn(PETSC_SUCCESS);
  if (mult != MAT_AIJTCU_MULT_AUTO || v->products >= PRODUCTS_BEFORE) PetscCall(AIJTCUVectorImprove(A, plan, mult));
  else v->products++;
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* What makes products with A itself faster is made with the next one */
void AIJTCUVectorHurry(AIJTCUPlan *plan)
{
  plan->vector.products = PetscMax(plan->vector.products, PRODUCTS_BEFORE);
}

/* What the choice of a kernel needs to know of a VectorPlan. What was made for another setting stays, not used */
void AIJTCUVectorFacts(const AIJTCUPlan *plan, const VectorPlan *v, SpmmFacts *facts)
{
  const MatAIJTCUMult mult   = plan->options->mult;
  const SpmmMatrix    matrix = {.vector = v};
  const SpmmFacts     found  = SpmmFactsOf(&matrix);

  facts->bins          = found.bins;
  facts->staged        = found.staged;
  facts->nodes         = mult == MAT_AIJTCU_MULT_CSR || mult == MAT_AIJTCU_MULT_CSR16 ? 0 : found.nodes;
  facts->short_columns = mult != MAT_AIJTCU_MULT_CSR && found.short_columns;
}
#endif

PetscErrorCode AIJTCUVectorDestroy(AIJTCUPlan *plan)
{
  AIJTCUVector *v = &plan->vector;

  PetscFunctionBegin;
#if AIJTCU_HAVE_DEVICE
  if (v->state == AIJTCU_READY) {
    VectorPlanDestroyDevice(&v->plan, AIJTCUDeviceStreamBehind());
    AIJTCUWorkspaceUser(PETSC_FALSE);
  }
#endif
  PetscCall(PetscMemzero(v, sizeof(*v)));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Bytes of device memory */
PetscInt64 AIJTCUVectorBytes(const AIJTCUPlan *plan)
{
  return plan->vector.state == AIJTCU_READY ? plan->vector.plan.bytes : 0;
}

#if AIJTCU_HAVE_DEVICE
static PetscErrorCode AIJTCUTransposeCreateOnDevice(Mat A, AIJTCUPlan *plan, const AIJTCUDeviceCSR *csr, void *ctx, HrpbError *err)
{
  AIJTCUTranspose *t = &plan->transpose;

  PetscFunctionBegin;
  (void)A;
  (void)ctx;
  AIJTCUCallDevice(*err, (*AIJTCUVectorTransposes.create)(csr->rowptr, csr->colidx, csr->stream, &plan->vector.plan, &t->matrix));
  if (*err) PetscFunctionReturn(PETSC_SUCCESS);
  t->state = AIJTCU_READY;
  AIJTCUWorkspaceUser(PETSC_TRUE);
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Make the transpose, without its values. What products need of the matrix itself must be there */
PetscErrorCode AIJTCUTransposeCreate(Mat A, AIJTCUPlan *plan, const AIJTCUDecision *d)
{
  AIJTCUTranspose *t = &plan->transpose;

  PetscFunctionBegin;
  (void)d;
  PetscCall(AIJTCUTransposeDestroy(plan));
  PetscCall(PetscLogEventBegin(MAT_AIJTCU_Analyse, A, 0, 0, 0));
  PetscCall(AIJTCUDeviceCallForMemory(A, plan, AIJTCUVectorPattern, AIJTCUTransposeCreateOnDevice, NULL, &t->why));
  PetscCall(PetscLogEventEnd(MAT_AIJTCU_Analyse, A, 0, 0, 0));
  if (t->why) {
    t->state = AIJTCU_REFUSED;
    PetscCall(PetscInfo(A, "aijtcu: no transpose, the parent makes its products with one vector: %s\n", HrpbErrorString(t->why)));
  } else PetscCall(PetscInfo(A, "aijtcu: the transpose is made for products with one vector\n"));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode AIJTCUTransposeUpdateOnDevice(Mat A, AIJTCUPlan *plan, const AIJTCUDeviceCSR *csr, void *ctx, HrpbError *err)
{
  PetscFunctionBegin;
  (void)A;
  (void)ctx;
  PetscCall(PetscLogGpuTimeBegin());
  *err = (*AIJTCUVectorTransposes.values)(plan->vector.plan.first, csr->values, csr->stream, &plan->transpose.matrix);
  PetscCall(PetscLogGpuTimeEnd());
  PetscCall(AIJTCUCheckRefused(*err));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Let the transpose have the matrix's values, if that can be. An object's state is never zero */
PetscErrorCode AIJTCUTransposeUpdate(Mat A, AIJTCUPlan *plan, PetscBool *usable)
{
  AIJTCUTranspose *t = &plan->transpose;
  PetscObjectState state;
  HrpbError        err;

  PetscFunctionBegin;
  PetscCall(PetscObjectStateGet((PetscObject)A, &state));
  *usable = PETSC_TRUE;
  if (state == t->values_state && A->offloadmask != PETSC_OFFLOAD_CPU) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCall(PetscLogEventBegin(MAT_AIJTCU_Refresh, A, 0, 0, 0));
  PetscCall(AIJTCUDeviceCall(A, plan, AIJTCU_CSR_ITSELF, AIJTCUTransposeUpdateOnDevice, NULL, &err));
  PetscCall(PetscLogEventEnd(MAT_AIJTCU_Refresh, A, 0, 0, 0));
  t->values_state = err ? 0 : state;
  *usable         = (PetscBool)!err;
  if (err) PetscCall(PetscInfo(A, "aijtcu: no values of the transpose, the parent makes its product with one vector: %s\n", HrpbErrorString(err)));
  PetscFunctionReturn(PETSC_SUCCESS);
}
#endif

PetscErrorCode AIJTCUTransposeDestroy(AIJTCUPlan *plan)
{
  AIJTCUTranspose *t = &plan->transpose;

  PetscFunctionBegin;
#if AIJTCU_HAVE_DEVICE
  if (t->state == AIJTCU_READY) {
    VectorTransposeDestroyDevice(&t->matrix, AIJTCUDeviceStreamBehind());
    AIJTCUWorkspaceUser(PETSC_FALSE);
  }
#endif
  PetscCall(PetscMemzero(t, sizeof(*t)));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Bytes of device memory */
PetscInt64 AIJTCUTransposeBytes(const AIJTCUPlan *plan)
{
  return plan->transpose.state == AIJTCU_READY ? plan->transpose.matrix.bytes : 0;
}
