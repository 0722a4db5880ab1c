/*
   Sampled products: what the host and the device share.
*/
#pragma once

#include "../device/device.h"
#include "../identity/identity.h"
#include "../plan/plan.h"
#include <petscsf.h>

/* sampledblocks.c */
PETSC_INTERN PetscErrorCode AIJTCUSampledCheckSame(Mat, Mat);
PETSC_INTERN PetscErrorCode AIJTCUSampledRemember(Mat, Mat);
PETSC_INTERN PetscErrorCode AIJTCUSampledForget(Mat);
PETSC_INTERN PetscErrorCode AIJTCUSampledRowsBegin(Mat, PetscInt, const PetscInt[], PetscInt, PetscMemType, const PetscScalar *, PetscScalar *, PetscSF *, MPI_Datatype *);
PETSC_INTERN PetscErrorCode AIJTCUSampledRowsEnd(const PetscScalar *, PetscScalar *, PetscSF *, MPI_Datatype *);

/* sampled.c */
PETSC_INTERN PetscErrorCode AIJTCUSampledCheckOperands(Mat, Mat, Mat);

#if AIJTCU_HAVE_DEVICE_REAL
/* sampleddevice.c */
PETSC_INTERN PetscErrorCode AIJTCUSampledIsOnDevice(Mat, PetscBool *);
PETSC_INTERN PetscErrorCode AIJTCUFusedOnDevice(Mat, Mat, Mat, PetscBool, PetscBool, Mat, Mat, PetscBool *);
PETSC_INTERN PetscErrorCode AIJTCUSampledOnDevice(Mat, Mat, Mat, PetscBool, Mat, PetscBool *);
#endif
