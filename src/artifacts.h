/*
   Artifacts: what is made of a matrix once for a nonzero pattern, and kept in its plan.

   Each has a file of its own, with functions that create, update (for new values) and destroy it, and a state. None looks
   at the pattern or chooses: plan.c creates what a decision names, and AIJTCUPlanSync() drops all of them together when
   the pattern changes. What is to be kept of the halo of a parallel matrix belongs here, too.
*/
#pragma once

#include "choice.h"
#include <order/reorder.h>

typedef struct _n_AIJTCUPlan AIJTCUPlan;

/* facts.c: counts of active columns */
typedef struct {
  AIJTCUState state;
  HrpbError   why;    /* refused */
  PetscBool   device; /* counted on the device, with what concerns staging */
  HrpbSurvey  survey;
} AIJTCUSurvey;

/* csr.c: how rows are cut for the kernels for CSR on a device, which read the matrix itself */
typedef struct {
  AIJTCUState state;
  HrpbError   why;
  CsrSchedule schedule;
} AIJTCUCsr;

/* order.c: the reordered matrix, on a device */
typedef struct {
  AIJTCUState   state;
  HrpbError     why;    /* HRPB_SUCCESS if neighbours share too little */
  PetscInt      levels; /* of the search, at most */
  PetscBool     forced; /* it was made whatever neighbours share */
  PetscReal     shared; /* percent of their columns */
  HrpbReordered matrix;
  HrpbSurvey    survey;
} AIJTCUOrder;

/* bricks.c: the matrix, or the reordered one, as bricks */
typedef struct {
  AIJTCUState      state;
  HrpbError        why;
  HrpbParams       format;    /* of the bricks, or of those that were refused, */
  PetscBool        device;    /* as are these: where they are, */
  PetscBool        reordered; /* and of which matrix */
  PetscObjectState values_state;
  Hrpb             hrpb;
  HrpbScalar      *values;
  HrpbSchedule     schedule;  /* on a device only, as is what follows */
  int32_t         *map;       /* where the values come from, once they have changed; NULL if there is none, */
  PetscBool        map_tried; /* perhaps because there was no memory for it */
  PetscBool        workspace_user;
} AIJTCUBricks;

/* tune.c: the choices of a tuning */
typedef struct {
  PetscInt           n;
  AIJTCUTuned       *tuned;     /* [AIJTCU_MOST_TUNED] */
  HrpbParams         format;    /* of bricks, for all numbers of columns: the first that won; zeros while none has */
  MatAIJTCUPrecision precision; /* what was set meanwhile */
  MatAIJTCUReorder   reorder;
} AIJTCUTunings;

PETSC_INTERN PetscErrorCode AIJTCUSurveyCreate(Mat, AIJTCUPlan *);
PETSC_INTERN void           AIJTCUSurveyDestroy(AIJTCUSurvey *);

PETSC_INTERN PetscErrorCode AIJTCUHostGetCSR(Mat, const PetscInt **, const PetscInt **);
PETSC_INTERN PetscErrorCode AIJTCUHostRestoreCSR(Mat, const PetscInt **, const PetscInt **);
PETSC_INTERN PetscErrorCode AIJTCUCsrCreate(Mat, AIJTCUPlan *);
PETSC_INTERN void           AIJTCUCsrDestroy(AIJTCUCsr *);
PETSC_INTERN PetscInt64     AIJTCUCsrBytes(const AIJTCUCsr *);

PETSC_INTERN PetscErrorCode AIJTCUOrderCreate(Mat, AIJTCUPlan *, PetscInt, PetscBool);
PETSC_INTERN void           AIJTCUOrderDestroy(AIJTCUOrder *);
PETSC_INTERN PetscInt64     AIJTCUOrderBytes(const AIJTCUOrder *);

PETSC_INTERN PetscErrorCode AIJTCUBricksCreate(Mat, AIJTCUPlan *, const AIJTCUDecision *, PetscBool);
PETSC_INTERN PetscErrorCode AIJTCUBricksUpdate(Mat, AIJTCUPlan *);
PETSC_INTERN PetscErrorCode AIJTCUBricksDestroy(AIJTCUBricks *);
PETSC_INTERN PetscBool      AIJTCUBricksFit(const AIJTCUBricks *, const AIJTCUDecision *, PetscBool);
PETSC_INTERN PetscInt64     AIJTCUBricksBytes(const AIJTCUBricks *);
PETSC_INTERN PetscInt64     AIJTCUBricksBytesBeside(const AIJTCUBricks *);

PETSC_INTERN PetscErrorCode AIJTCUTuningCreate(Mat, AIJTCUPlan *, const AIJTCUFacts *, const AIJTCUDecision *, PetscBool, const HrpbParams *);
PETSC_INTERN PetscErrorCode AIJTCUTuningFinish(Mat, AIJTCUPlan *, PetscLogDouble);
PETSC_INTERN PetscErrorCode AIJTCUTuningDestroy(AIJTCUTunings *);
PETSC_INTERN PetscErrorCode AIJTCUTuningOptions(Mat, const AIJTCUTuned *, char **);
