/*
   Rows of sparse matrices between processes.
*/
#pragma once

#include "../common/common.h"

#if AIJTCU_HAVE_DEVICE_REAL && AIJTCU_HAVE_HALO
  #include <petscsf.h>
  #include <petsc/private/hashmapi.h>

/* Of rows that this process lacks, the processes that own them; of its own rows, those that use them */
typedef enum {
  AIJTCU_OWNERS,
  AIJTCU_USERS
} AIJTCUSide;

typedef struct {
  PetscMPIInt        n;
  const PetscMPIInt *ranks;
  const PetscInt    *start; /* [n + 1] rows of a process */
} AIJTCUPeers;

typedef struct {
  PetscSF         sf;
  PetscMPIInt     tag;
  AIJTCUPeers     peers[2];
  const PetscInt *rows; /* which rows of this process others use, process by process */
} AIJTCUGhostRows;

/* Rows that one side sends to the other */
typedef struct {
  AIJTCUSide   from;
  PetscInt     sent, received; /* entries */
  PetscInt    *first[2];       /* entry of each process */
  PetscInt     nrows, *rowptr; /* of what is received */
  PetscScalar *out, *in;       /* values */
} AIJTCUShipment;

/* Columns of others, which ascend */
typedef struct {
  PetscInt  n, *columns;
  PetscInt *map; /* where each of those of before is among them */
} AIJTCUGhostColumns;

PETSC_INTERN PetscErrorCode AIJTCUGhostsCreate(PetscLayout, PetscInt, const PetscInt[], AIJTCUGhostRows *);
PETSC_INTERN PetscErrorCode AIJTCUGhostsDestroy(AIJTCUGhostRows *);
PETSC_INTERN PetscInt       AIJTCUGhostsRows(const AIJTCUGhostRows *, AIJTCUSide);
PETSC_INTERN PetscErrorCode AIJTCUShipmentCreate(const AIJTCUGhostRows *, AIJTCUSide, PetscInt[], const PetscInt[], AIJTCUShipment *,
                                                 PetscInt **);
PETSC_INTERN PetscErrorCode AIJTCUShipmentGo(const AIJTCUGhostRows *, AIJTCUShipment *);
PETSC_INTERN PetscErrorCode AIJTCUShipmentDestroy(AIJTCUShipment *);
PETSC_INTERN PetscErrorCode AIJTCUNumberColumns(PetscLayout, PetscInt, const PetscInt[], PetscInt, PetscInt[], AIJTCUGhostColumns *);
PETSC_INTERN PetscErrorCode AIJTCUGhostColumnsDestroy(AIJTCUGhostColumns *);
#endif
