/*
   The least time that a product can take on a machine: its operands moved once at the speed of a copy, its bricks
   multiplied at the peak of the tensor cores
*/
#pragma once

#include "rounds.h"

typedef struct {
  PetscBool device;
  Mat       A;      /* to ask and to wait for the device */
  PetscReal copy;   /* bytes per second, read and written, measured */
  PetscReal launch; /* s of the least that a device can be asked for, a copy of one number, and of the wait for it, measured */
  PetscReal tensor; /* flops per second of a product of dense matrices, measured, in single precision with operands rounded to TF32 */
  char      name[128], cuda[16];
  PetscInt  cc, multiprocessors; /* of the device, zero without one: compute capability, 90 for 9.0 */
  PetscReal memory;              /* bytes per second of its memory, as it says */
} Machine;

typedef struct {
  PetscReal bytes, flops, seconds; /* moved; executed by tensor cores, zeros of bricks included */
} Limit;

PETSC_INTERN PetscErrorCode MachineCreate(Machine *);
PETSC_INTERN PetscErrorCode MachineDestroy(Machine *);
PETSC_INTERN PetscErrorCode LimitOf(const Machine *, const Subject *, const GenerateCSR *, PetscInt, Limit *);
