/*
   The reordered matrix on a device. Its order brings together rows and columns that belong together. It is found once
   for a pattern. choice.c says when to look for it.
*/
#include "planimpl.h"

#if AIJTCU_HAVE_DEVICE
static PetscErrorCode AIJTCUOrderCreateOnDevice(Mat A, AIJTCUPlan *plan, const AIJTCUDeviceCSR *csr, void *ctx, HrpbError *err)
{
  AIJTCUOrder   *o = &plan->order;
  HrpbReordered *m = &o->matrix;
  double         shared;

  PetscFunctionBegin;
  (void)A;
  (void)ctx;
  AIJTCUCallDevice(*err, HrpbSharedNeighboursDevice(csr->nrows, csr->rowptr, csr->colidx, csr->stream, &shared));
  o->shared = 100 * (PetscReal)shared;
  if (*err || (!o->forced && o->shared < AIJTCU_LEAST_SHARED)) PetscFunctionReturn(PETSC_SUCCESS);
  AIJTCUCallDevice(*err, HrpbReorderDevice(csr->nrows, csr->rowptr, csr->colidx, (int32_t)o->levels, csr->stream, m));
  if (*err) PetscFunctionReturn(PETSC_SUCCESS);
  AIJTCUWorkspaceUser(PETSC_TRUE);
  *err = HrpbSurveyDevice(m->n, m->n, m->rowptr, m->colidx, csr->stream, &o->survey);
  if (*err) {
    HrpbReorderDestroyDevice(m, csr->stream);
    AIJTCUWorkspaceUser(PETSC_FALSE);
  }
  PetscCall(AIJTCUCheckRefused(*err));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static const char *AIJTCUOrderWhyNot(const AIJTCUOrder *o)
{
  if (o->why == HRPB_ERR_UNSUPPORTED) return "too many levels, or 2^31 entries";
  return o->why ? HrpbErrorString(o->why) : "neighbours share too little";
}

/* Search through as many levels as the decision says. Unless forced, it stops where neighbours share too few columns */
PetscErrorCode AIJTCUOrderCreate(Mat A, AIJTCUPlan *plan, const AIJTCUDecision *d)
{
  AIJTCUOrder *o = &plan->order;

  PetscFunctionBegin;
  PetscCall(AIJTCUOrderDestroy(plan));
  PetscCall(PetscLogEventBegin(MAT_AIJTCU_Reorder, A, 0, 0, 0));
  o->levels = d->levels;
  o->forced = (PetscBool)(plan->options->reorder == MAT_AIJTCU_REORDER_ALWAYS);
  PetscCall(AIJTCUDeviceCallForMemory(A, plan, AIJTCU_CSR_PATTERN, AIJTCUOrderCreateOnDevice, NULL, &o->why));
  o->state = o->matrix.n ? AIJTCU_READY : AIJTCU_REFUSED;
  if (o->state == AIJTCU_READY)
    PetscCall(PetscInfo(A, "aijtcu: reordered, through %" PetscInt_FMT " levels: strips of 16 rows have %" PetscInt64_FMT " columns\n",
      (PetscInt)o->matrix.levels, (PetscInt64)o->survey.strip_cols16));
  else PetscCall(PetscInfo(A, "aijtcu: not reordered: %s\n", AIJTCUOrderWhyNot(o)));
  PetscCall(PetscLogEventEnd(MAT_AIJTCU_Reorder, A, 0, 0, 0));
  PetscFunctionReturn(PETSC_SUCCESS);
}
#endif

PetscErrorCode AIJTCUOrderDestroy(AIJTCUPlan *plan)
{
  AIJTCUOrder *o = &plan->order;

  PetscFunctionBegin;
#if AIJTCU_HAVE_DEVICE
  if (o->matrix.n) { /* set also after an error that left the state as it was */
    HrpbReorderDestroyDevice(&o->matrix, AIJTCUDeviceStreamBehind());
    AIJTCUWorkspaceUser(PETSC_FALSE);
  }
#endif
  PetscCall(PetscMemzero(o, sizeof(*o)));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Bytes of device memory */
PetscInt64 AIJTCUOrderBytes(const AIJTCUPlan *plan)
{
  return (PetscInt64)HrpbReorderedBytes(&plan->order.matrix);
}
