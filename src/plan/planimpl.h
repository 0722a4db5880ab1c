/*
   What the files of the plan offer each other: how artifacts come and go. All have functions of the same form, so that
   plan.c and workorder.c have them in tables.
*/
#pragma once

#include "plan.h"

/* Create what a decision lacks, in place of what was there. A refusal is no error */
typedef PetscErrorCode (*AIJTCUCreateFn)(Mat, AIJTCUPlan *, const AIJTCUDecision *);

PETSC_INTERN PetscErrorCode AIJTCUSurveyCreate(Mat, AIJTCUPlan *, const AIJTCUDecision *);
PETSC_INTERN PetscErrorCode AIJTCUSurveyDestroy(AIJTCUPlan *);

PETSC_INTERN PetscErrorCode AIJTCUCsrCreate(Mat, AIJTCUPlan *, const AIJTCUDecision *);
PETSC_INTERN PetscErrorCode AIJTCUCsrSeekPanels(Mat, AIJTCUPlan *, const AIJTCUDecision *);
PETSC_INTERN PetscErrorCode AIJTCUCsrDestroy(AIJTCUPlan *);
PETSC_INTERN PetscInt64     AIJTCUCsrBytes(const AIJTCUPlan *);

PETSC_INTERN PetscErrorCode AIJTCUVectorCreate(Mat, AIJTCUPlan *, const AIJTCUDecision *);
PETSC_INTERN PetscErrorCode AIJTCUVectorUse(Mat, AIJTCUPlan *);
PETSC_INTERN void           AIJTCUVectorHurry(AIJTCUPlan *);
PETSC_INTERN void           AIJTCUVectorFacts(const AIJTCUPlan *, const VectorPlan *, SpmmFacts *);
PETSC_INTERN PetscErrorCode AIJTCUVectorDestroy(AIJTCUPlan *);
PETSC_INTERN PetscInt64     AIJTCUVectorBytes(const AIJTCUPlan *);

PETSC_INTERN PetscErrorCode AIJTCUTransposeCreate(Mat, AIJTCUPlan *, const AIJTCUDecision *);
PETSC_INTERN PetscErrorCode AIJTCUTransposeUpdate(Mat, AIJTCUPlan *, PetscBool *);
PETSC_INTERN PetscErrorCode AIJTCUTransposeDestroy(AIJTCUPlan *);
PETSC_INTERN PetscInt64     AIJTCUTransposeBytes(const AIJTCUPlan *);

PETSC_INTERN PetscErrorCode AIJTCUTransposedUpdate(Mat, AIJTCUPlan *, PetscBool *);
PETSC_INTERN PetscErrorCode AIJTCUTransposedDestroy(AIJTCUPlan *);
PETSC_INTERN PetscInt64     AIJTCUTransposedBytes(const AIJTCUPlan *);

PETSC_INTERN PetscErrorCode AIJTCUOrderCreate(Mat, AIJTCUPlan *, const AIJTCUDecision *);
PETSC_INTERN PetscErrorCode AIJTCUOrderDestroy(AIJTCUPlan *);

PETSC_INTERN PetscErrorCode AIJTCUBricksCreate(Mat, AIJTCUPlan *, const AIJTCUDecision *);
PETSC_INTERN PetscErrorCode AIJTCUBricksUpdate(Mat, AIJTCUPlan *);
PETSC_INTERN PetscErrorCode AIJTCUBricksDestroy(AIJTCUPlan *);
PETSC_INTERN PetscInt64     AIJTCUBricksDeviceBytes(const AIJTCUPlan *);

PETSC_INTERN PetscErrorCode AIJTCUTuningCreate(Mat, AIJTCUPlan *, const AIJTCUAsk *, PetscBool, const AIJTCUVariant[], PetscInt);
PETSC_INTERN PetscErrorCode AIJTCUTuningFinish(Mat, AIJTCUPlan *, PetscLogDouble);
PETSC_INTERN PetscErrorCode AIJTCUTuningDestroy(AIJTCUPlan *);

#if AIJTCU_HAVE_DEVICE
PETSC_INTERN void           AIJTCURealSpare(AIJTCUPlan *);
PETSC_INTERN PetscErrorCode AIJTCURealDestroy(AIJTCUPlan *);
PETSC_INTERN PetscInt64     AIJTCURealBytes(const AIJTCUPlan *);
#endif
