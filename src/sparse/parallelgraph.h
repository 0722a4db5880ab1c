/*
   What a process has of a graph of all processes, on its device.
*/
#pragma once

#include "coarsen.h"
#include "ghostrows.h"

#if AIJTCU_HAVE_PARALLEL_COARSENING
typedef struct {
  SparseMatrix    G;      /* columns are the nodes of this process, then ghosts. It is symmetric */
  SparseGraph     arrays; /* those of G, if they are its own */
  PetscLayout     nodes;
  PetscInt       *ghosts; /* which ascend */
  AIJTCUGhostRows exchange;
} AIJTCUPart;

static inline PetscInt AIJTCUPartGhosts(const AIJTCUPart *part)
{
  return (PetscInt)part->G.ncols - part->nodes->n;
}

/* The number that a column has on all processes */
static inline PetscInt AIJTCUPartNumber(const AIJTCUPart *part, PetscInt column)
{
  return column < part->nodes->n ? part->nodes->rstart + column : part->ghosts[column - part->nodes->n];
}

/* AIJTCUDeviceEnd() after work that may have failed: the first error of both, for which others do not wait */
static inline PetscErrorCode AIJTCUPartWorked(struct CUstream_st *stream, PetscErrorCode ierr)
{
  const PetscErrorCode end = AIJTCUDeviceEnd(stream);

  return ierr ? ierr : end;
}

PETSC_INTERN PetscErrorCode AIJTCUPartCreate(PetscLayout, const SparseMatrix *, SparseGraph, PetscInt[], AIJTCUPart *);
PETSC_INTERN PetscErrorCode AIJTCUPartDestroy(AIJTCUPart *);
PETSC_INTERN PetscErrorCode AIJTCUPartTell(const AIJTCUPart *, PetscInt[]);
PETSC_INTERN PetscErrorCode AIJTCUPartSquare(const AIJTCUPart *, AIJTCUPart *, PetscBool *);
PETSC_INTERN PetscErrorCode AIJTCUPartOfAggregates(const AIJTCUPart *, PetscLayout, const PetscInt[], AIJTCUPart *, PetscBool *);
#endif
