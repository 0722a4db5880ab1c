/*
   The life of a plan: bricks are built, their values refreshed, long rows cut, and everything dropped here only.

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

/* The host's row pointers and columns of the sequential matrix A */
PetscErrorCode AIJTCUHostGetCSR(Mat A, const PetscInt **rowptr, const PetscInt **colidx)
{
  PetscInt  nrows;
  PetscBool done;

  PetscFunctionBegin;
  PetscCall(MatGetRowIJ(A, 0, PETSC_FALSE, PETSC_FALSE, &nrows, rowptr, colidx, &done));
  PetscCheck(done, PETSC_COMM_SELF, PETSC_ERR_PLIB, "No row access to a matrix of type %s", ((PetscObject)A)->type_name);
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode AIJTCUHostRestoreCSR(Mat A, const PetscInt **rowptr, const PetscInt **colidx)
{
  PetscInt  nrows;
  PetscBool done;

  PetscFunctionBegin;
  PetscCall(MatRestoreRowIJ(A, 0, PETSC_FALSE, PETSC_FALSE, &nrows, rowptr, colidx, &done));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Whether A is on a device at present, and there are kernels for it */
PetscErrorCode AIJTCUOnDevice(Mat A, const AIJTCUPlan *plan, PetscBool *on)
{
  PetscBool bound;

  PetscFunctionBegin;
  PetscCall(MatBoundToCPU(A, &bound));
#if AIJTCU_HAVE_DEVICE
  *on = (PetscBool)(plan->device && !bound);
#else
  *on = PETSC_FALSE;
  (void)plan;
#endif
  PetscFunctionReturn(PETSC_SUCCESS);
}

#if AIJTCU_HAVE_BRICKS
PetscBool AIJTCUParamsEqual(const HrpbParams *a, const HrpbParams *b)
{
  return (PetscBool)(a->brick_rows == b->brick_rows && a->panel_rows == b->panel_rows && a->block_cols == b->block_cols && a->window_cols == b->window_cols);
}

static PetscErrorCode AIJTCUDestroyBricks(AIJTCUPlan *plan)
{
  PetscFunctionBegin;
#if AIJTCU_HAVE_DEVICE
  if (plan->on_device) AIJTCUDeviceDestroy(plan);
#endif
  HrpbDestroy(&plan->hrpb);
  PetscCall(PetscFree(plan->values));
  plan->on_device = PETSC_FALSE;
  PetscFunctionReturn(PETSC_SUCCESS);
}
#endif

PetscErrorCode AIJTCUPlanReset(AIJTCUPlan *plan)
{
  PetscFunctionBegin;
  plan->built = plan->refused = plan->analysed = PETSC_FALSE;
#if AIJTCU_HAVE_DEVICE
  AIJTCUClusterReset(plan);
  PetscCall(AIJTCUTuneReset(plan));
#endif
#if AIJTCU_HAVE_BRICKS
  PetscCall(AIJTCUDestroyBricks(plan));
#endif
#if AIJTCU_HAVE_DEVICE
  AIJTCUDeviceUnschedule(plan);
  plan->csr_refused = PETSC_FALSE;
#endif
  PetscFunctionReturn(PETSC_SUCCESS);
}

#if AIJTCU_HAVE_BRICKS
static PetscErrorCode AIJTCUHostPack(Mat A, AIJTCUPlan *plan, const PetscInt *rowptr)
{
  const PetscScalar *a;

  PetscFunctionBegin;
  PetscCall(MatSeqAIJGetArrayRead(A, &a));
  HrpbPackValuesHost(&plan->hrpb, rowptr, a, plan->values);
  PetscCall(MatSeqAIJRestoreArrayRead(A, &a));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* A debug build of PETSc checks what was built against the CSR it came from */
static PetscErrorCode AIJTCUHostCheck(Mat A, AIJTCUPlan *plan, const PetscInt *rowptr, const PetscInt *colidx)
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

static PetscErrorCode AIJTCUHostBuild(Mat A, AIJTCUPlan *plan, const PetscInt *rowptr, const PetscInt *colidx, HrpbError *err)
{
  PetscErrorCode ierr;

  PetscFunctionBegin;
  plan->params = plan->wanted;
  *err         = HrpbBuildHost(A->rmap->n, A->cmap->n, rowptr, colidx, NULL, &plan->params, &plan->hrpb);
  if (*err) PetscFunctionReturn(PETSC_SUCCESS);
  ierr = PetscMalloc1(HrpbValueCount(&plan->hrpb), &plan->values);
  if (ierr == PETSC_ERR_MEM) {
    *err = HRPB_ERR_MEMORY;
    PetscFunctionReturn(PETSC_SUCCESS);
  }
  PetscCall(ierr);
  PetscCall(AIJTCUHostPack(A, plan, rowptr));
  PetscCall(AIJTCUHostCheck(A, plan, rowptr, colidx));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Build the bricks on the host, or only pack the values anew */
static PetscErrorCode AIJTCUHostUpdate(Mat A, AIJTCUPlan *plan, PetscBool build, HrpbError *err)
{
  const PetscInt *rowptr, *colidx;

  PetscFunctionBegin;
  PetscCall(AIJTCUHostGetCSR(A, &rowptr, &colidx));
  if (build) PetscCall(AIJTCUHostBuild(A, plan, rowptr, colidx, err));
  else PetscCall(AIJTCUHostPack(A, plan, rowptr));
  PetscCall(AIJTCUHostRestoreCSR(A, &rowptr, &colidx));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Build the bricks of A's pattern. Where that cannot be, say why in the log and refuse until the pattern changes */
static PetscErrorCode AIJTCUBuild(Mat A, AIJTCUPlan *plan)
{
  HrpbError err = HRPB_SUCCESS;

  PetscFunctionBegin;
  PetscCall(PetscLogEventBegin(MAT_AIJTCU_Build, A, 0, 0, 0));
#if AIJTCU_HAVE_DEVICE
  if (plan->on_device) PetscCall(AIJTCUDeviceBuild(A, plan, &err));
#endif
  if (!plan->on_device) PetscCall(AIJTCUHostUpdate(A, plan, PETSC_TRUE, &err));
  if (!err) {
    plan->built = PETSC_TRUE;
    AIJTCUGetCounts(plan)->builds++;
    PetscCall(PetscInfo(A, "aijtcu: built %" PetscInt64_FMT " bricks of %" PetscInt_FMT " rows for %" PetscInt64_FMT " nonzeros on the %s, %" PetscInt64_FMT " bytes (panels of %" PetscInt_FMT " rows, blocks of %" PetscInt_FMT " columns, windows of %" PetscInt_FMT ")\n",
                        (PetscInt64)plan->hrpb.nbricks, (PetscInt)plan->params.brick_rows, (PetscInt64)plan->hrpb.nnz, plan->on_device ? "device" : "host", (PetscInt64)(HrpbBytes(&plan->hrpb) + HrpbValueCount(&plan->hrpb) * sizeof(HrpbScalar)), (PetscInt)plan->params.panel_rows,
                        (PetscInt)plan->params.block_cols, (PetscInt)plan->params.window_cols));
  } else {
    PetscCall(AIJTCUDestroyBricks(plan));
    plan->refused = PETSC_TRUE;
    PetscCall(PetscInfo(A, "aijtcu: no bricks, products take the scalar path: %s\n", HrpbErrorString(err)));
  }
  PetscCall(PetscLogEventEnd(MAT_AIJTCU_Build, A, 0, 0, 0));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode AIJTCURefresh(Mat A, AIJTCUPlan *plan)
{
  PetscFunctionBegin;
  PetscCall(PetscLogEventBegin(MAT_AIJTCU_Refresh, A, 0, 0, 0));
#if AIJTCU_HAVE_DEVICE
  if (plan->on_device) PetscCall(AIJTCUDeviceRefresh(A, plan));
#endif
  if (!plan->on_device) PetscCall(AIJTCUHostUpdate(A, plan, PETSC_FALSE, NULL));
  AIJTCUGetCounts(plan)->refreshes++;
  PetscCall(PetscLogEventEnd(MAT_AIJTCU_Refresh, A, 0, 0, 0));
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
    HrpbParams           wanted = AIJTCUGetFormat(plan);
    PetscBool            device, cluster = PETSC_FALSE;
    AIJTCUPatternKey     key;
    PetscObjectState     state;

    PetscCall(AIJTCUOnDevice(A, plan, &device));
  #if AIJTCU_HAVE_DEVICE
    if (device) {
      PetscBool supports;

      PetscCall(AIJTCUDeviceSupports(plan, &supports));
      if (!supports) { /* the path was chosen while A was bound to the CPU */
        PetscCall(PetscInfo(A, "aijtcu: this device has no tensor cores that pay for this precision, products take the scalar path\n"));
        PetscFunctionReturn(PETSC_SUCCESS);
      }
      PetscCall(AIJTCUClusterForBricks(A, plan, &cluster));
    }
  #endif
    if (device && !o->format.brick_rows) {
      PetscCall(PetscMemzero(&wanted, sizeof(wanted)));
  #if AIJTCU_HAVE_DEVICE
      PetscCall(AIJTCUTuneFormat(A, plan, &wanted));
  #endif
    }
    PetscCall(AIJTCUPatternKeyGet(A, &key));
    PetscCall(PetscObjectStateGet((PetscObject)A, &state));
    if (!(plan->built || plan->refused) || !AIJTCUPatternKeyEqual(&key, &plan->pattern_key) || device != plan->asked_device || cluster != plan->bricks_clustered || !AIJTCUParamsEqual(&wanted, &plan->wanted)) {
      plan->built   = PETSC_FALSE; /* and stays so after an error in what follows */
      plan->refused = PETSC_FALSE;
      PetscCall(AIJTCUDestroyBricks(plan));
      plan->pattern_key  = key;
      plan->values_state = state;
      plan->wanted           = wanted;
      plan->bricks_clustered = cluster;
      plan->on_device = plan->asked_device = device;
      PetscCall(AIJTCUBuild(A, plan));
    } else if (plan->built && state != plan->values_state) {
      PetscCall(AIJTCURefresh(A, plan));
      plan->values_state = state;
    }
  #if AIJTCU_HAVE_DEVICE
    if (o->reorder == MAT_AIJTCU_REORDER_NEVER) { /* no bricks are of the other order any more, nor does anything find it again for what was tuned with it */
      AIJTCUClusterReset(plan);
      if (plan->tune_cluster != MAT_AIJTCU_REORDER_NEVER) PetscCall(AIJTCUTuneReset(plan));
    }
  #endif
    *usable = plan->built;
  }
#else
  PetscCall(PetscInfo(A, "aijtcu: no bricks for this scalar type, products take the scalar path\n"));
  (void)plan;
#endif
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*
   The same for the scalar path on a device: which kernel it is, and the parts of long rows, both of a pattern. On the host there is nothing to use, for there the parent's product is the scalar path
*/
PetscErrorCode AIJTCUPlanUpdateScalar(Mat A, AIJTCUPlan *plan, PetscBool *usable)
{
  PetscFunctionBegin;
  PetscCall(AIJTCUOnDevice(A, plan, usable));
#if AIJTCU_HAVE_DEVICE
  if (*usable) {
    AIJTCUPatternKey key;

    PetscCall(AIJTCUPatternKeyGet(A, &key));
    if (!(plan->csr_scheduled || plan->csr_refused) || !AIJTCUPatternKeyEqual(&key, &plan->csr_key)) {
      HrpbError err;

      AIJTCUDeviceUnschedule(plan);
      PetscCall(AIJTCUDeviceSchedule(A, plan, &err));
      plan->csr_key     = key;
      plan->csr_refused = (PetscBool)(err != HRPB_SUCCESS);
      if (err) PetscCall(PetscInfo(A, "aijtcu: no kernel for the scalar path, products are left to the parent: %s\n", HrpbErrorString(err)));
      else if (plan->csr.panel_rows) PetscCall(PetscInfo(A, "aijtcu: panels of %" PetscInt_FMT " rows have the rows of B that they need, %" PetscInt_FMT " at most, in shared memory\n", (PetscInt)plan->csr.panel_rows, (PetscInt)plan->csr.staged_rows));
      else PetscCall(PetscInfo(A, "aijtcu: %" PetscInt_FMT " rows of more than %" PetscInt_FMT " entries are multiplied in %" PetscInt_FMT " parts\n", (PetscInt)plan->csr.nlong, (PetscInt)plan->csr.part_entries, (PetscInt)plan->csr.nparts));
    }
    *usable = plan->csr_scheduled;
  }
#endif
  PetscFunctionReturn(PETSC_SUCCESS);
}
