/*
   The life of a plan: bricks are built, their values refreshed and everything dropped here only.

   Three states are kept apart: the pattern changed (rebuild), only values changed (refresh), nothing changed (touch nothing).
*/
#include "aijtcuimpl.h"

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

PetscErrorCode AIJTCUPlanReset(AIJTCUPlan *plan)
{
  PetscFunctionBegin;
#if AIJTCU_HAVE_BRICKS
  HrpbDestroy(&plan->hrpb);
  PetscCall(PetscFree(plan->values));
#endif
  plan->built = plan->refused = plan->analysed = PETSC_FALSE;
  PetscFunctionReturn(PETSC_SUCCESS);
}

#if AIJTCU_HAVE_BRICKS
static PetscErrorCode AIJTCUPackValues(Mat A, AIJTCUPlan *plan, const PetscInt *rowptr)
{
  const PetscScalar *a;

  PetscFunctionBegin;
  PetscCall(MatSeqAIJGetArrayRead(A, &a));
  HrpbPackValuesHost(&plan->hrpb, rowptr, a, plan->values);
  PetscCall(MatSeqAIJRestoreArrayRead(A, &a));
  PetscCall(PetscObjectStateGet((PetscObject)A, &plan->values_state));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* A debug build of PETSc checks what was built against the CSR it came from */
static PetscErrorCode AIJTCUCheck(Mat A, AIJTCUPlan *plan, const PetscInt *rowptr, const PetscInt *colidx)
{
  PetscFunctionBegin;
  if (PetscDefined(USE_DEBUG)) {
    const PetscScalar *a;
    char               message[256];
    HrpbError          err;

    PetscCall(MatSeqAIJGetArrayRead(A, &a));
    err = HrpbCheckHost(&plan->hrpb, A->rmap->n, A->cmap->n, rowptr, colidx, plan->values, a, message, sizeof(message));
    PetscCall(MatSeqAIJRestoreArrayRead(A, &a));
    PetscCheck(!err, PETSC_COMM_SELF, PETSC_ERR_PLIB, "HRPB does not agree with the matrix: %s", message);
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Build the bricks of A's pattern. Where that cannot be, say why in the log and refuse until the pattern changes */
static PetscErrorCode AIJTCUBuild(Mat A, AIJTCUPlan *plan, const AIJTCUPatternKey *key, const PetscInt *rowptr, const PetscInt *colidx)
{
  HrpbError      err;
  PetscErrorCode ierr;

  PetscFunctionBegin;
  HrpbDestroy(&plan->hrpb);
  PetscCall(PetscFree(plan->values));
  plan->built       = PETSC_FALSE;
  plan->refused     = PETSC_TRUE;
  plan->pattern_key = *key;
  PetscCall(PetscLogEventBegin(MAT_AIJTCU_Build, A, 0, 0, 0));
  err = HrpbBuildHost(A->rmap->n, A->cmap->n, rowptr, colidx, NULL, &plan->params, &plan->hrpb);
  if (!err) {
    ierr = PetscMalloc1(HrpbValueCount(&plan->hrpb), &plan->values);
    if (ierr == PETSC_ERR_MEM) err = HRPB_ERR_MEMORY;
    else PetscCall(ierr);
  }
  if (!err) {
    PetscCall(AIJTCUPackValues(A, plan, rowptr));
    PetscCall(AIJTCUCheck(A, plan, rowptr, colidx));
    plan->built   = PETSC_TRUE;
    plan->refused = PETSC_FALSE;
    AIJTCUGetCounts(plan)->builds++;
    PetscCall(PetscInfo(A, "aijtcu: built %" PetscInt64_FMT " bricks of %" PetscInt_FMT " rows for %" PetscInt64_FMT " nonzeros\n", (PetscInt64)plan->hrpb.nbricks, (PetscInt)plan->params.brick_rows, (PetscInt64)plan->hrpb.nnz));
  } else {
    HrpbDestroy(&plan->hrpb);
    PetscCall(PetscInfo(A, "aijtcu: no bricks, products take the scalar path: %s\n", HrpbErrorString(err)));
  }
  PetscCall(PetscLogEventEnd(MAT_AIJTCU_Build, A, 0, 0, 0));
  PetscFunctionReturn(PETSC_SUCCESS);
}
#endif

/*
   Bring the plan of the sequential matrix A up to date; usable says whether there are bricks to multiply with
*/
PetscErrorCode AIJTCUPlanUpdate(Mat A, AIJTCUPlan *plan, PetscBool *usable)
{
  PetscFunctionBegin;
  *usable = PETSC_FALSE;
#if AIJTCU_HAVE_BRICKS
  {
    const AIJTCUOptions *o      = AIJTCUGetOptions(plan);
    const HrpbParams     params = {(int32_t)o->brick_rows, (int32_t)o->panel_rows, (int32_t)o->block_cols};
    AIJTCUPatternKey     key;
    PetscObjectState     state;
    PetscBool            same, done;
    const PetscInt      *rowptr, *colidx;
    PetscInt             nrows;

    PetscCall(AIJTCUPatternKeyGet(A, &key));
    PetscCall(PetscObjectStateGet((PetscObject)A, &state));
    same = (PetscBool)((plan->built || plan->refused) && AIJTCUPatternKeyEqual(&key, &plan->pattern_key) && params.brick_rows == plan->params.brick_rows && params.panel_rows == plan->params.panel_rows && params.block_cols == plan->params.block_cols);
    if (!same || (plan->built && state != plan->values_state)) {
      PetscCall(MatGetRowIJ(A, 0, PETSC_FALSE, PETSC_FALSE, &nrows, &rowptr, &colidx, &done));
      PetscCheck(done, PETSC_COMM_SELF, PETSC_ERR_PLIB, "No row access to a matrix of type %s", ((PetscObject)A)->type_name);
      if (!same) {
        plan->params = params;
        PetscCall(AIJTCUBuild(A, plan, &key, rowptr, colidx));
      } else {
        PetscCall(PetscLogEventBegin(MAT_AIJTCU_Refresh, A, 0, 0, 0));
        PetscCall(AIJTCUPackValues(A, plan, rowptr));
        AIJTCUGetCounts(plan)->refreshes++;
        PetscCall(PetscLogEventEnd(MAT_AIJTCU_Refresh, A, 0, 0, 0));
      }
      PetscCall(MatRestoreRowIJ(A, 0, PETSC_FALSE, PETSC_FALSE, &nrows, &rowptr, &colidx, &done));
    }
    *usable = plan->built;
  }
#else
  PetscCall(PetscInfo(A, "aijtcu: no bricks for this scalar type, products take the scalar path\n"));
  (void)plan;
#endif
  PetscFunctionReturn(PETSC_SUCCESS);
}
