/*
   What the files of the type offer each other. Nobody else calls them: PETSc does.
*/
#pragma once

#include "../block/block.h"
#include "../halo/halo.h"
#include "../identity/identity.h"
#include "../plan/plan.h"
#include "../product/product.h"
#include "../sparse/sparse.h"
#include "../upstream/upstream.h"

/* aijtcu.c: creation and conversion */
PETSC_INTERN PetscErrorCode MatConvert_AIJTCU_Any(Mat, MatType, MatReuse, Mat *);
PETSC_INTERN PetscErrorCode MatConvert_AIJ_AIJTCU(Mat, MatType, MatReuse, Mat *);
PETSC_INTERN PetscErrorCode MatCreate_SeqAIJTCU(Mat);
PETSC_INTERN PetscErrorCode MatCreate_MPIAIJTCU(Mat);

/* parent.c: the parent types */
PETSC_INTERN PetscErrorCode AIJTCUParentsSetUp(PetscBool);
PETSC_INTERN PetscErrorCode AIJTCUParentsReplace(const char[]);
PETSC_INTERN PetscErrorCode AIJTCUParentCreate(Mat, AIJTCUKind, PetscBool);

/* wrap.c: what stands in for the parent's functions */
PETSC_INTERN const AIJTCUClass AIJTCUWrappers;

/* options.c: options whose values have names, and checks of the others */
typedef enum {
  AIJTCU_ENUM_PATH,
  AIJTCU_ENUM_PRECISION,
  AIJTCU_ENUM_REORDER,
  AIJTCU_ENUM_TUNE,
  AIJTCU_ENUM_MULT,
  AIJTCU_ENUM_SPARSE,
  AIJTCU_ENUM_MG_PRECISION,
  AIJTCU_ENUM_HALO,
  AIJTCU_NENUMS
} AIJTCUEnum;

PETSC_INTERN PetscErrorCode AIJTCUOptionsInitialize(AIJTCUOptions *);
PETSC_INTERN PetscErrorCode AIJTCUSetFromOptions(Mat, AIJTCUPlan *, PetscOptionItems);
PETSC_INTERN PetscEnum     *AIJTCUEnumOf(AIJTCUOptions *, AIJTCUEnum);
PETSC_INTERN PetscErrorCode AIJTCUCheckEnum(Mat, AIJTCUEnum, PetscEnum);
PETSC_INTERN PetscErrorCode AIJTCUCheckFormat(Mat, const MatAIJTCUFormat *);
PETSC_INTERN PetscErrorCode AIJTCUCheckProducts(Mat, PetscInt);
PETSC_INTERN PetscErrorCode AIJTCUCheckThreshold(Mat, PetscReal);

/* factor.c */
PETSC_INTERN PetscErrorCode AIJTCURegisterFactors(void);
PETSC_INTERN PetscErrorCode AIJTCUMarkPart(Mat);

/* query.c */
PETSC_INTERN PetscErrorCode AIJTCUSynergyFromCounts(PetscInt64, PetscInt64, PetscInt64, MatAIJTCUSynergy *);
PETSC_INTERN PetscErrorCode AIJTCULocalCounts(Mat, PetscInt64 *, PetscInt64 *, PetscInt64 *);

/* view.c */
PETSC_INTERN PetscErrorCode AIJTCUViewFromOptions(Mat);
