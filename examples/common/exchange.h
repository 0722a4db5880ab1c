/*
   What the products of a parallel MATAIJTCU spend on their halo, from the event log: PetscLogDefaultBegin() comes first
*/
#pragma once

#include <petscmat.h>

/* Seconds of the slowest process */
typedef struct {
  PetscLogDouble pack, wait, offdiagonal; /* packing, waiting for others, the off-diagonal block's product */
} Exchange;

PETSC_EXTERN PetscErrorCode ExampleExchangeNow(PetscLogStage, Exchange *);
PETSC_EXTERN PetscErrorCode ExampleExchangeSince(MPI_Comm, PetscLogStage, Exchange *);
