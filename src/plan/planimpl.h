/*
   What the files of the plan offer each other: how artifacts come and go.
*/
#pragma once

#include "plan.h"

PETSC_INTERN void AIJTCUSurveyDestroy(AIJTCUSurvey *);

#if AIJTCU_HAVE_DEVICE
PETSC_INTERN PetscErrorCode AIJTCURealOnStream(Mat, AIJTCUPlan *, AIJTCUNeed, AIJTCUDeviceCSR *, HrpbError *);
PETSC_INTERN void           AIJTCURealSpare(AIJTCUReal *);
PETSC_INTERN void           AIJTCURealDestroy(AIJTCUReal *);
PETSC_INTERN PetscInt64     AIJTCURealBytes(const AIJTCUReal *);
#endif

PETSC_INTERN PetscErrorCode AIJTCUCsrCreate(Mat, AIJTCUPlan *);
PETSC_INTERN PetscErrorCode AIJTCUCsrSeekPanels(Mat, AIJTCUPlan *);
PETSC_INTERN void           AIJTCUCsrDestroy(AIJTCUCsr *);
PETSC_INTERN PetscInt64     AIJTCUCsrBytes(const AIJTCUCsr *);

PETSC_INTERN void       AIJTCUVectorDestroy(AIJTCUVector *);
PETSC_INTERN PetscInt64 AIJTCUVectorBytes(const AIJTCUVector *);
PETSC_INTERN void       AIJTCUVectorHurry(AIJTCUPlan *);
PETSC_INTERN void       AIJTCUTransposeDestroy(AIJTCUTranspose *);
PETSC_INTERN PetscInt64 AIJTCUTransposeBytes(const AIJTCUTranspose *);

PETSC_INTERN PetscErrorCode AIJTCUTransposedUpdate(Mat, AIJTCUPlan *, PetscBool *);
PETSC_INTERN void           AIJTCUTransposedDestroy(AIJTCUTransposed *);
PETSC_INTERN PetscInt64     AIJTCUTransposedBytes(const AIJTCUTransposed *);

PETSC_INTERN PetscErrorCode AIJTCUOrderCreate(Mat, AIJTCUPlan *, PetscInt, PetscBool);
PETSC_INTERN void           AIJTCUOrderDestroy(AIJTCUOrder *);

PETSC_INTERN PetscErrorCode AIJTCUBricksCreate(Mat, AIJTCUPlan *, const AIJTCUDecision *, PetscBool);
PETSC_INTERN PetscErrorCode AIJTCUBricksUpdate(Mat, AIJTCUPlan *);
PETSC_INTERN PetscErrorCode AIJTCUBricksDestroy(AIJTCUBricks *);
PETSC_INTERN PetscBool      AIJTCUBricksFit(const AIJTCUBricks *, const AIJTCUDecision *, PetscBool);
PETSC_INTERN PetscInt64     AIJTCUBricksBytesBeside(const AIJTCUBricks *);

PETSC_INTERN PetscErrorCode AIJTCUTuningCreate(Mat, AIJTCUPlan *, const AIJTCUAsk *, PetscBool, const AIJTCUVariant[], PetscInt);
PETSC_INTERN PetscErrorCode AIJTCUTuningFinish(Mat, AIJTCUPlan *, PetscLogDouble);
PETSC_INTERN PetscErrorCode AIJTCUTuningDestroy(AIJTCUTunings *);
