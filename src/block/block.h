#pragma once
#include "../aijtcuimpl.h"
#if AIJTCU_HAVE_BLOCK
typedef struct _n_AIJTCUBlockCtx *AIJTCUBlockCtx;
typedef enum { AIJTCU_SCALAR_DIVIDE, AIJTCU_SCALAR_MULTIPLY, AIJTCU_SCALAR_SAME_SIGN } AIJTCUScalarOp;
PETSC_INTERN PetscErrorCode AIJTCUBlockCtxCreate(AIJTCUBlockCtx *);
PETSC_INTERN PetscErrorCode AIJTCUBlockCtxSetUp(AIJTCUBlockCtx, Mat, PetscInt, PetscBool *);
PETSC_INTERN PetscErrorCode AIJTCUBlockCtxDestroy(AIJTCUBlockCtx *);
PETSC_INTERN PetscErrorCode AIJTCUBlockWork(AIJTCUBlockCtx, PetscInt, Mat *);
PETSC_INTERN PetscScalar   *AIJTCUBlockScalars(AIJTCUBlockCtx, PetscInt);
PETSC_INTERN PetscErrorCode AIJTCUBlockDots(AIJTCUBlockCtx, PetscInt, const Mat[], Mat, PetscScalar *);
PETSC_INTERN PetscErrorCode AIJTCUBlockAXPBY(AIJTCUBlockCtx, Mat, const PetscScalar *, Mat, const PetscScalar *);
PETSC_INTERN PetscErrorCode AIJTCUBlockMAXPY(AIJTCUBlockCtx, Mat, PetscReal, PetscInt, const PetscScalar *, const Mat[]);
PETSC_INTERN PetscErrorCode AIJTCUBlockCGStep(AIJTCUBlockCtx, const PetscScalar *, Mat, Mat, Mat, Mat, PetscScalar *);
PETSC_INTERN PetscErrorCode AIJTCUBlockCopy(AIJTCUBlockCtx, Mat, Mat);
PETSC_INTERN PetscErrorCode AIJTCUBlockZero(AIJTCUBlockCtx, Mat);
PETSC_INTERN PetscErrorCode AIJTCUBlockScalarOp(AIJTCUBlockCtx, AIJTCUScalarOp, const PetscScalar *, PetscScalar *, const PetscScalar *, const PetscScalar *);
PETSC_INTERN PetscErrorCode AIJTCUBlockToHost(AIJTCUBlockCtx, PetscInt, const PetscScalar *, PetscScalar *);
PETSC_INTERN PetscErrorCode AIJTCUBlockToScalars(AIJTCUBlockCtx, PetscInt, const PetscScalar *, PetscScalar *);
#endif
