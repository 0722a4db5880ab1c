/*
   Coarsening of graphs on the device, and matrices without entries that stand for one.
*/
#pragma once

#include "sparseimpl.h"
#include <petscmatcoarsen.h>

#if AIJTCU_HAVE_BLOCK && AIJTCU_HAVE_DEVICE_REAL
static inline SparseMatrix AIJTCUPatternOf(const SparseGraph *g)
{
  return (SparseMatrix){.nrows = g->n, .ncols = g->n, .nnz = g->nnz, .rowptr = g->rowptr, .colidx = g->colidx};
}

/* hungpattern.c */
PETSC_INTERN PetscErrorCode AIJTCUHangPattern(Mat, Mat, const SparseMatrix *, SparseGraph);
PETSC_INTERN PetscErrorCode AIJTCUHungPattern(Mat, const SparseMatrix **, Mat *);
PETSC_INTERN PetscErrorCode AIJTCUHungToHost(Mat);

/* coarsen.c */
PETSC_INTERN PetscErrorCode AIJTCUCoarsens(Mat, PetscBool *);
PETSC_INTERN PetscErrorCode AIJTCUCoarsenGraph(Mat, SparseMatrix *, HrpbError *);
PETSC_INTERN PetscErrorCode AIJTCUCoarsenerIsOurs(const char[], PetscBool *);
PETSC_INTERN MatCoarsen     AIJTCUCoarsenerLatest(void);
PETSC_INTERN void           AIJTCUCoarsenerForget(void);

/* prolongator.c */
struct _PCGAMGOps;
PETSC_INTERN void AIJTCUProlongHere(struct _PCGAMGOps *);

/* gamg.c */
PETSC_INTERN PetscBool AIJTCUGraphIsCoarsenedOnly(void);
#endif
