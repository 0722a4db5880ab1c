/*
   The least time that a product can take on a machine: its operands moved once at the speed of a copy, its bricks multiplied at the peak of the tensor cores
*/
#pragma once

#include "rounds.h"

typedef struct {
  PetscBool device;
  Mat       A;      /* to ask and to wait for the device */
  PetscReal copy;   /* bytes per second, read and written, measured */
  PetscReal tensor; /* flops per second, given */
  char      name[128], cuda[16];
} Machine;

typedef struct {
  PetscReal bytes, flops, seconds; /* moved; executed by tensor cores, zeros of bricks included */
} Limit;

PETSC_INTERN PetscErrorCode MachineCreate(PetscReal, Machine *);
PETSC_INTERN PetscErrorCode MachineDestroy(Machine *);
PETSC_INTERN PetscErrorCode LimitOf(const Machine *, const Subject *, const GenerateCSR *, PetscInt, Limit *);
