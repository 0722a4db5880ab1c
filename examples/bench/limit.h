/*
   The least time that a product can take on a machine. Its operands, and what is made, are moved once, at the speed of
   a copy. Its bricks are multiplied at the peak of the tensor cores.
*/
#pragma once

#include "rounds.h"

typedef struct {
  PetscBool device;
  Mat       A;    /* a matrix to ask and to wait for the device */
  PetscReal copy; /* bytes per second, read and written, measured */
  /* Seconds of the least work of a device, measured: a copy of one number, and the wait for it */
  PetscReal launch;
  /* Flops per second of a product of dense matrices, measured. In single precision its operands are rounded to TF32 */
  PetscReal tensor;
  char      name[128], cuda[16];
  PetscInt  cc, multiprocessors; /* compute capability of the device, 90 for 9.0; zero without one */
  PetscReal memory;              /* bytes per second of the device's memory, as it reports */
} Machine;

typedef struct {
  PetscReal bytes, flops, seconds; /* bytes moved; flops of tensor cores, including zeros of bricks */
} Limit;

PETSC_INTERN PetscErrorCode MachineCreate(Machine *);
PETSC_INTERN PetscErrorCode MachineDestroy(Machine *);
PETSC_INTERN PetscErrorCode LimitOf(const Machine *, const Subject *, const GenerateCSR *, const Operations *, PetscInt, Limit *);
