/*
   The matrix in another order: when there is one, and the order found once for a pattern. Bricks of it are built and multiplied in device.c.
*/
#include "aijtcuimpl.h"

#if AIJTCU_HAVE_DEVICE

PetscBool AIJTCUClusterForced(const AIJTCUPlan *plan)
{
  return (PetscBool)(AIJTCUGetOptions(plan)->reorder == MAT_AIJTCU_REORDER_ALWAYS);
}

/*
   Whether bricks of the sequential matrix A on a device are to be of it in another order, if there is one: that of rows is that of columns. By itself the model takes bricks of scattered
   columns in no other. Where bricks of the matrix as it is have won a tuning there is no other order any more: bricks would be built anew from product to product
*/
PetscErrorCode AIJTCUWantsCluster(Mat A, AIJTCUPlan *plan, PetscBool *wants)
{
  const AIJTCUOptions *o      = AIJTCUGetOptions(plan);
  const PetscBool      forced = AIJTCUClusterForced(plan);
  HrpbParams           tuned  = {0, 0, 0, 0};

  PetscFunctionBegin;
  *wants = (PetscBool)(A->rmap->n == A->cmap->n && (forced || (o->reorder == MAT_AIJTCU_REORDER_AUTO && o->path == MAT_AIJTCU_PATH_AUTO && o->threshold == (PetscReal)PETSC_DEFAULT)));
  if (!*wants || forced) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCall(AIJTCUTuneFormat(A, plan, &tuned));
  *wants = (PetscBool)!tuned.brick_rows;
  if (!*wants) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCall(AIJTCUAnalyse(A, plan));
  *wants = (PetscBool)!AIJTCUColumnsRun(&plan->survey);
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Whether there is an order that the option allows: one that was made whatever neighbours share may be left from another value of it */
PetscBool AIJTCUClusterUsable(const AIJTCUPlan *plan)
{
  return (PetscBool)(plan->clustered.n && (AIJTCUClusterForced(plan) || plan->cluster_shared >= AIJTCU_LEAST_SHARED));
}

void AIJTCUClusterReset(AIJTCUPlan *plan)
{
  plan->cluster_tried = PETSC_FALSE;
  if (plan->clustered.n) AIJTCUDeviceUncluster(plan);
}

/* Find the order of the pattern, in a search of so many levels at most, unless that was tried */
PetscErrorCode AIJTCUClusterUpdate(Mat A, AIJTCUPlan *plan, PetscInt levels)
{
  const PetscBool  forced = AIJTCUClusterForced(plan);
  AIJTCUPatternKey key;
  HrpbError        err;

  PetscFunctionBegin;
  PetscCall(AIJTCUPatternKeyGet(A, &key));
  if (plan->cluster_tried && AIJTCUPatternKeyEqual(&key, &plan->cluster_key) && (plan->clustered.n || (plan->cluster_forced >= forced && plan->cluster_levels >= levels))) PetscFunctionReturn(PETSC_SUCCESS);
  AIJTCUClusterReset(plan);
  PetscCall(PetscLogEventBegin(MAT_AIJTCU_Reorder, A, 0, 0, 0));
  plan->cluster_levels = levels;
  plan->cluster_forced = forced;
  PetscCall(AIJTCUDeviceCluster(A, plan, &err));
  plan->cluster_tried = PETSC_TRUE;
  plan->cluster_key   = key;
  if (plan->clustered.n) PetscCall(PetscInfo(A, "aijtcu: another order, found through %" PetscInt_FMT " levels, where strips of 16 rows have %" PetscInt64_FMT " columns\n", (PetscInt)plan->clustered.levels, (PetscInt64)plan->clustered_survey.strip_cols16));
  else PetscCall(PetscInfo(A, "aijtcu: no other order: %s\n", err == HRPB_ERR_UNSUPPORTED ? "too many levels, or 2^31 entries" : err ? HrpbErrorString(err) : "neighbours share too little"));
  PetscCall(PetscLogEventEnd(MAT_AIJTCU_Reorder, A, 0, 0, 0));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*
   The same before bricks are built: whether they are to be of it. Where the model decides, it has searched as far as pays; bricks of a pattern that it was not asked about are of
   the matrix as it is
*/
PetscErrorCode AIJTCUClusterForBricks(Mat A, AIJTCUPlan *plan, PetscBool *clustered)
{
  AIJTCUPatternKey key;

  PetscFunctionBegin;
  PetscCall(AIJTCUWantsCluster(A, plan, clustered));
  if (!*clustered) PetscFunctionReturn(PETSC_SUCCESS);
  if (AIJTCUClusterForced(plan)) PetscCall(AIJTCUClusterUpdate(A, plan, AIJTCU_MOST_LEVELS));
  PetscCall(AIJTCUPatternKeyGet(A, &key));
  *clustered = (PetscBool)(plan->cluster_tried && AIJTCUPatternKeyEqual(&key, &plan->cluster_key) && AIJTCUClusterUsable(plan));
  PetscFunctionReturn(PETSC_SUCCESS);
}
#endif
