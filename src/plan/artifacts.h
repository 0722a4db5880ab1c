/*
   Artifacts: what is made of a matrix once for a nonzero pattern, and kept in its plan.

   Each artifact has a file of its own, with functions to create it, to update it for new values, and to destroy it.
   Each has a state. None looks at the pattern or chooses: workorder.c creates what a decision names, and
   AIJTCUPlanSync() drops all of them together when the pattern changes. The plan of a parallel matrix has a halo, its
   blocks have the others.
*/
#pragma once

#include "choice.h"
#include <order/reorder.h>

/* facts.c: counts of active columns */
typedef struct {
  AIJTCUState state;
  HrpbError   why;    /* why it was refused */
  PetscBool   device; /* counted on the device; includes the facts about staging */
  HrpbSurvey  survey;
} AIJTCUSurvey;

/* arrays.c: the real matrix that a complex one on a device is to kernels */
typedef struct {
  PetscInt64       nrows, nnz; /* rows of the real matrix, entries of the complex one */
  HrpbInt         *rowptr, *colidx; /* NULL where it is not there */
  HrpbScalar      *values;          /* NULL where they are not */
  PetscObjectState values_state;
  PetscBool        kept; /* kernels that multiply read it */
  PetscBool        workspace_user;
} AIJTCUReal;

/* csr.c: the schedule of rows for the CSR kernels on a device, which read the matrix itself */
typedef struct {
  AIJTCUState state;
  HrpbError   why;
  CsrSchedule schedule;
  VectorPlan  pairs;         /* of a complex matrix: what kernels for blocks need, no more: ComplexCsrDevice() */
  PetscBool   panels_sought; /* for sampled products: see CsrPanelsForSampledDevice() */
} AIJTCUCsr;

/* vector.c: what products with one vector need on a device. Their kernels read the matrix itself */
typedef struct {
  AIJTCUState   state;
  HrpbError     why;
  VectorPlan    plan;
  PetscInt      products; /* with one vector so far, until it is improved */
  PetscBool     improved; /* nodes were looked for, or short columns made, as was set then */
  MatAIJTCUMult improved_for;
} AIJTCUVector;

/* vector.c: the transpose, on a device */
typedef struct {
  AIJTCUState      state;
  HrpbError        why;
  VectorTranspose  matrix;
  PetscObjectState values_state;
} AIJTCUTranspose;

/* transposed.c: the transpose as a matrix, for products with blocks */
typedef struct {
  Mat              mat; /* NULL while there is none. It has a plan of its own, and refers to the first three arrays */
  PetscObjectState values_state;
  PetscInt         nnz;
  PetscInt        *rowptr, *colidx;
  PetscScalar     *values; /* on the host; those that count may be on the device */
  PetscInt        *map;    /* [nnz] which entry of the matrix each of them is; NULL until it is needed on the host */
  PetscInt        *dmap;   /* the same on the device, where it is in use */
} AIJTCUTransposed;

/* order.c: the reordered matrix, on a device */
typedef struct {
  AIJTCUState   state;
  HrpbError     why;    /* HRPB_SUCCESS if neighbours share too little */
  PetscInt      levels; /* most levels of the search */
  PetscBool     forced; /* it was made without regard to how much neighbours share */
  PetscReal     shared; /* percent of their columns that neighbours share */
  HrpbReordered matrix;
  HrpbSurvey    survey;
} AIJTCUOrder;

/* bricks.c: the matrix, or the reordered one, as bricks */
typedef struct {
  AIJTCUState      state;
  HrpbError        why;
  HrpbParams       format;    /* format of the bricks, built or refused */
  PetscBool        device;    /* whether the bricks are on the device, built or refused */
  PetscBool        reordered; /* whether the bricks are of the reordered matrix, built or refused */
  PetscObjectState values_state;
  Hrpb             hrpb;
  HrpbScalar      *values;
  HrpbSchedule     schedule;  /* on a device only, like the members below */
  int32_t         *map;       /* where the values come from; NULL until the values change, or without memory for it */
  PetscBool        map_tried; /* the map was asked for */
  PetscBool        workspace_user;
} AIJTCUBricks;

/* tune.c: the choices of a tuning */
typedef struct {
  PetscInt           n;
  AIJTCUTuned       *tuned;     /* [AIJTCU_MOST_TUNED] */
  HrpbParams         format;    /* format of bricks for all numbers of columns: the first winner's; zeros before */
  MatAIJTCUPrecision precision; /* what was set at the time of the tuning */
  MatAIJTCUReorder   reorder;
} AIJTCUTunings;

/* A whole decision, and what it depends on beside the artifacts: a product that is repeated need not ask again */
typedef struct {
  PetscBool      known, on_device;
  AIJTCUOptions  options;
  AIJTCUAsk      ask;
  AIJTCUDecision decision;
} AIJTCUAnswer;
