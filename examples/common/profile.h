/*
   The parts of a solve: wall time by what SLEPc does. Between two parts the profile waits for the device. Without
   that, the time of a launch would count for whoever waits next. The waiting costs time, so a solve is timed without a
   profile, and profiled in another run.
*/
#pragma once

#include <petscmat.h>

typedef enum {
  PROFILE_OTHER,
  PROFILE_PRODUCT,           /* A times a block, from creating the product to clearing it */
  PROFILE_ORTHOGONALIZATION, /* within the blocks of residuals and of directions */
  PROFILE_PROJECTION,        /* Gram matrices, without the product in them */
  PROFILE_UPDATE,            /* linear combinations of blocks */
  PROFILE_PRECONDITIONER,
  PROFILE_DENSE, /* the projected eigenproblem, on the host */
  PROFILE_PARTS
} ProfilePart;
extern const char *const ProfileParts[];

typedef struct {
  PetscReal seconds[PROFILE_PARTS];
  PetscInt  products;
} Profile;

PETSC_INTERN PetscErrorCode ProfileBegin(Mat, Profile *);
PETSC_INTERN PetscErrorCode ProfileEnd(void);
PETSC_INTERN PetscErrorCode ProfilePrint(MPI_Comm, const Profile *);
