/*
   Bricks of a matrix, or of the reordered one, on the host or on a device: their pattern, their values, and their
   schedule, by which a device shares them among its multiprocessors.

   A change of values alone packs the values anew. The first change also notes where they come from.
*/
#include "planimpl.h"

#if AIJTCU_HAVE_BRICKS
/* Bricks with their values */
PetscInt64 AIJTCUBricksBytes(const AIJTCUBricks *b)
{
  if (b->state != AIJTCU_READY) return 0;
  return (PetscInt64)(HrpbBytes(&b->hrpb) + HrpbValueCount(&b->hrpb) * sizeof(*b->values));
}

/* All bytes of device memory */
PetscInt64 AIJTCUBricksDeviceBytes(const AIJTCUPlan *plan)
{
  const AIJTCUBricks *b = &plan->bricks;

  if (b->state != AIJTCU_READY || !b->device) return 0;
  return AIJTCUBricksBytes(b) + b->schedule.bytes + (PetscInt64)b->hrpb.spare_bytes + (b->map ? (PetscInt64)(HrpbValueCount(&b->hrpb) * sizeof(*b->map)) : 0);
}

  #if AIJTCU_HAVE_DEVICE
    #include <petscdevice_cuda.h>

/*
   Frees without asking for errors, like all functions here that free. An error of earlier work shows in the next call
*/
static void AIJTCUBricksFreeOnDevice(AIJTCUBricks *b, cudaStream_t stream)
{
  HrpbScheduleDestroyDevice(&b->schedule, stream);
  HrpbDestroyDevice(&b->hrpb, stream);
  if (b->values) (void)AIJTCUForgetError(cudaFreeAsync(b->values, stream));
  if (b->map) (void)AIJTCUForgetError(cudaFreeAsync(b->map, stream));
  b->values    = NULL;
  b->map       = NULL;
  b->map_tried = PETSC_FALSE;
}

/* The CSR of the matrix that bricks are of. The values keep the order of A */
static AIJTCUDeviceCSR AIJTCUCSROfBricks(const AIJTCUPlan *plan, const AIJTCUDeviceCSR *csr)
{
  AIJTCUDeviceCSR ordered = *csr;

  if (plan->bricks.reordered) {
    ordered.rowptr = plan->order.matrix.rowptr;
    ordered.colidx = plan->order.matrix.colidx;
  }
  return ordered;
}

/* The entry of A for each entry of the matrix that bricks are of. NULL where they are the same */
static const HrpbInt *AIJTCUEntriesOfBricks(const AIJTCUPlan *plan)
{
  return plan->bricks.reordered ? plan->order.matrix.entry : NULL;
}

static PetscErrorCode AIJTCUDevicePack(Mat A, AIJTCUPlan *plan, const AIJTCUDeviceCSR *csr, void *ctx, HrpbError *err)
{
  const AIJTCUDeviceCSR ordered = AIJTCUCSROfBricks(plan, csr);
  AIJTCUBricks         *b       = &plan->bricks;

  PetscFunctionBegin;
  (void)A;
  (void)ctx;
  PetscCall(PetscLogGpuTimeBegin());
  *err = HrpbPackValuesDevice(&b->hrpb, ordered.rowptr, ordered.colidx, ordered.values, AIJTCUEntriesOfBricks(plan), b->values,
    ordered.stream);
  PetscCall(PetscLogGpuTimeEnd());
  PetscCall(AIJTCUCheckRefused(*err));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Note where the values come from, if there is memory for that. Packing works without it */
static PetscErrorCode AIJTCUDeviceMapValues(Mat A, AIJTCUPlan *plan, const AIJTCUDeviceCSR *csr)
{
  const AIJTCUDeviceCSR ordered = AIJTCUCSROfBricks(plan, csr);
  AIJTCUBricks         *b       = &plan->bricks;
  const PetscInt64      bytes   = (PetscInt64)(HrpbValueCount(&b->hrpb) * sizeof(*b->map));
  int32_t              *map;
  HrpbError             err;

  PetscFunctionBegin;
  b->map_tried = PETSC_TRUE;
  if (b->hrpb.nnz > PETSC_INT32_MAX) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCall(AIJTCUDeviceMalloc((size_t)bytes, csr->stream, (void **)&map));
  if (!map) {
    PetscCall(PetscInfo(A, "aijtcu: no %" PetscInt64_FMT " bytes to note where values come from, each change of them takes longer\n",
      bytes));
    PetscFunctionReturn(PETSC_SUCCESS);
  }
  err = HrpbMapValuesDevice(&b->hrpb, ordered.rowptr, ordered.colidx, AIJTCUEntriesOfBricks(plan), map, ordered.stream);
  if (err) (void)AIJTCUForgetError(cudaFreeAsync(map, csr->stream));
  else b->map = map;
  PetscCall(AIJTCUCheckRefused(err)); /* without the map values are packed */
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Pack new values of the same pattern */
static PetscErrorCode AIJTCUBricksUpdateOnDevice(Mat A, AIJTCUPlan *plan, const AIJTCUDeviceCSR *csr, void *ctx, HrpbError *err)
{
  AIJTCUBricks *b = &plan->bricks;

  PetscFunctionBegin;
  if (!b->map_tried) PetscCall(AIJTCUDeviceMapValues(A, plan, csr));
  if (!b->map) {
    PetscCall(AIJTCUDevicePack(A, plan, csr, ctx, err));
    PetscFunctionReturn(PETSC_SUCCESS);
  }
  PetscCall(PetscLogGpuTimeBegin());
  *err = HrpbTakeValuesDevice(&b->hrpb, b->map, csr->values, b->values, csr->stream);
  PetscCall(PetscLogGpuTimeEnd());
  PetscCall(AIJTCUCheckRefused(*err));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* The survey of the matrix that bricks are built of, if it was looked through on the device */
static const HrpbSurvey *AIJTCUSurveyOfBricks(const AIJTCUPlan *plan)
{
  if (plan->bricks.reordered) return &plan->order.survey;
  return plan->survey.device && plan->survey.state == AIJTCU_READY ? &plan->survey.survey : NULL;
}

static PetscErrorCode AIJTCUBricksCreateOnDevice(Mat A, AIJTCUPlan *plan, const AIJTCUDeviceCSR *csr, void *ctx, HrpbError *err)
{
  const AIJTCUDeviceCSR ordered = AIJTCUCSROfBricks(plan, csr);
  AIJTCUBricks         *b       = &plan->bricks;
  const HrpbSurvey     *survey  = AIJTCUSurveyOfBricks(plan);

  PetscFunctionBegin;
  if (survey) AIJTCUCallDevice(*err, HrpbBuildSurveyedDevice(csr->nrows, csr->ncols, ordered.rowptr, ordered.colidx, survey, &b->format, csr->stream, &b->hrpb));
  else AIJTCUCallDevice(*err, HrpbBuildDevice(csr->nrows, csr->ncols, ordered.rowptr, ordered.colidx, NULL, &b->format, csr->stream, &b->hrpb));
  if (*err) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCall(AIJTCUDeviceMalloc(HrpbValueCount(&b->hrpb) * sizeof(*b->values), csr->stream, (void **)&b->values));
  if (!b->values) {
    AIJTCUBricksFreeOnDevice(b, csr->stream);
    *err = HRPB_ERR_DEVICE_MEMORY;
    PetscFunctionReturn(PETSC_SUCCESS);
  }
  PetscCall(AIJTCUDevicePack(A, plan, csr, ctx, err));
  /* the host makes the schedule while the device fills and packs */
  if (!*err) AIJTCUCallDevice(*err, HrpbScheduleDevice(&b->hrpb, csr->stream, &b->schedule));
  if (*err) AIJTCUBricksFreeOnDevice(b, csr->stream);
  PetscFunctionReturn(PETSC_SUCCESS);
}
  #endif

/* Free what there is. The format and place of refused bricks stay known */
static PetscErrorCode AIJTCUBricksFree(AIJTCUBricks *b)
{
  PetscFunctionBegin;
  #if AIJTCU_HAVE_DEVICE
  if (b->device) {
    AIJTCUBricksFreeOnDevice(b, AIJTCUDeviceStreamBehind());
    if (b->workspace_user) AIJTCUWorkspaceUser(PETSC_FALSE);
    b->workspace_user = PETSC_FALSE;
  }
  #endif
  HrpbDestroy(&b->hrpb);
  PetscCall(PetscFree(b->values));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* In a debug build of PETSc: check what was built against the CSR that it came from */
static PetscErrorCode AIJTCUHostCheck(const AIJTCUBricks *b, const AIJTCUHostCSR *csr)
{
  PetscFunctionBegin;
  if (PetscDefined(USE_DEBUG)) {
    char            message[256];
    const HrpbError err = HrpbCheckHost(&b->hrpb, csr->nrows, csr->ncols, csr->rowptr, csr->colidx, b->values, csr->values, message, sizeof(message));

    PetscCheck(!err, PETSC_COMM_SELF, PETSC_ERR_PLIB, "HRPB does not agree with the matrix: %s", message);
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode AIJTCUBricksCreateFrom(AIJTCUBricks *b, const AIJTCUHostCSR *csr)
{
  PetscErrorCode ierr;

  PetscFunctionBegin;
  b->why = HrpbBuildHost(csr->nrows, csr->ncols, csr->rowptr, csr->colidx, NULL, &b->format, &b->hrpb);
  if (b->why) PetscFunctionReturn(PETSC_SUCCESS);
  ierr = PetscMalloc1(HrpbValueCount(&b->hrpb), &b->values);
  if (ierr == PETSC_ERR_MEM) {
    b->why = HRPB_ERR_MEMORY;
    PetscFunctionReturn(PETSC_SUCCESS);
  }
  PetscCall(ierr);
  HrpbPackValuesHost(&b->hrpb, csr->rowptr, csr->values, b->values);
  PetscCall(AIJTCUHostCheck(b, csr));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Build the bricks on the host, or only pack the values anew */
static PetscErrorCode AIJTCUBricksOnHost(Mat A, AIJTCUBricks *b, PetscBool build)
{
  AIJTCUHostCSR  csr;
  PetscErrorCode ierr = PETSC_SUCCESS;

  PetscFunctionBegin;
  PetscCall(AIJTCUHostCSRGet(A, PETSC_TRUE, &csr, &b->why));
  if (!b->why && build) ierr = AIJTCUBricksCreateFrom(b, &csr);
  else if (!b->why) HrpbPackValuesHost(&b->hrpb, csr.rowptr, csr.values, b->values);
  PetscCall(AIJTCUHostCSRRestore(A, &csr));
  PetscCall(ierr);
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*
   Build on the device. Without memory or a kernel for the format, bricks are refused. The workspace is kept from now
   on
*/
static PetscErrorCode AIJTCUBricksBuild(Mat A, AIJTCUPlan *plan)
{
  AIJTCUBricks *b = &plan->bricks;

  PetscFunctionBegin;
  #if AIJTCU_HAVE_DEVICE
  if (b->device) {
    AIJTCUWorkspaceUser(PETSC_TRUE);
    b->workspace_user = PETSC_TRUE;
    PetscCall(AIJTCUDeviceCallForMemory(A, plan, AIJTCU_CSR_VALUES, AIJTCUBricksCreateOnDevice, NULL, &b->why));
    PetscFunctionReturn(PETSC_SUCCESS);
  }
  #endif
  PetscCall(AIJTCUBricksOnHost(A, b, PETSC_TRUE));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* There are no bricks, and b->why says why */
static PetscErrorCode AIJTCUBricksRefuse(Mat A, AIJTCUBricks *b)
{
  PetscFunctionBegin;
  PetscCall(AIJTCUBricksFree(b));
  b->state = AIJTCU_REFUSED;
  PetscCall(PetscInfo(A, "aijtcu: no bricks, products take the CSR path: %s\n", HrpbErrorString(b->why)));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*
   Build the bricks that a decision names, in place of those that were there. Where that fails, say why in the log, and
   refuse.
*/
PetscErrorCode AIJTCUBricksCreate(Mat A, AIJTCUPlan *plan, const AIJTCUDecision *d)
{
  AIJTCUBricks *b = &plan->bricks;

  PetscFunctionBegin;
  PetscCall(AIJTCUBricksDestroy(plan)); /* if a call below fails there are no bricks */
  b->format    = d->format;
  b->device    = (PetscBool)!d->kernel->host;
  b->reordered = d->reordered;
  PetscCall(PetscLogEventBegin(MAT_AIJTCU_Build, A, 0, 0, 0));
  PetscCall(AIJTCUBricksBuild(A, plan));
  PetscCall(PetscObjectStateGet((PetscObject)A, &b->values_state)); /* AIJTCUDeviceCall() may have forgotten it */
  if (!b->why) {
    b->state = AIJTCU_READY;
    AIJTCUCount(plan, builds);
    PetscCall(PetscInfo(A, "aijtcu: built %" PetscInt64_FMT " bricks of %d rows for %" PetscInt64_FMT " nonzeros on the %s, "
                           "%" PetscInt64_FMT " bytes (panels of %d rows, blocks of %d columns, windows of %d)\n",
      (PetscInt64)b->hrpb.nbricks, (int)b->format.brick_rows, (PetscInt64)b->hrpb.nnz, b->device ? "device" : "host", AIJTCUBricksBytes(b),
      (int)b->format.panel_rows, (int)b->format.block_cols, (int)b->format.window_cols));
  } else PetscCall(AIJTCUBricksRefuse(A, b));
  PetscCall(PetscLogEventEnd(MAT_AIJTCU_Build, A, 0, 0, 0));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Renew values that have changed since they were packed. On a device also those that are on their way there */
PetscErrorCode AIJTCUBricksUpdate(Mat A, AIJTCUPlan *plan)
{
  AIJTCUBricks    *b = &plan->bricks;
  PetscObjectState state;

  PetscFunctionBegin;
  PetscCall(PetscObjectStateGet((PetscObject)A, &state));
  #if AIJTCU_HAVE_DEVICE
  if (b->device) AIJTCUDeviceForgetValues(A, plan);
  #endif
  if (b->state != AIJTCU_READY || state == b->values_state) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCall(PetscLogEventBegin(MAT_AIJTCU_Refresh, A, 0, 0, 0));
  #if AIJTCU_HAVE_DEVICE
  if (b->device) PetscCall(AIJTCUDeviceCall(A, plan, AIJTCU_CSR_VALUES, AIJTCUBricksUpdateOnDevice, NULL, &b->why));
  #endif
  if (!b->device) PetscCall(AIJTCUBricksOnHost(A, b, PETSC_FALSE));
  if (b->why) PetscCall(AIJTCUBricksRefuse(A, b)); /* some may be old */
  b->values_state = state;
  if (!b->why) AIJTCUCount(plan, refreshes);
  PetscCall(PetscLogEventEnd(MAT_AIJTCU_Refresh, A, 0, 0, 0));
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode AIJTCUBricksDestroy(AIJTCUPlan *plan)
{
  AIJTCUBricks *b = &plan->bricks;

  PetscFunctionBegin;
  b->state = AIJTCU_EMPTY; /* also if the update fails */
  PetscCall(AIJTCUBricksFree(b));
  PetscCall(PetscMemzero(b, sizeof(*b)));
  PetscFunctionReturn(PETSC_SUCCESS);
}
#endif
