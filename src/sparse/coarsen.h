/*
   Coarsening of graphs on the device, and matrices without entries that stand for one.
*/
#pragma once

#include "sparseimpl.h"
#include <petscmatcoarsen.h>

/* Graphs of several processes. Kernels that walk over them have 32-bit indices */
#if AIJTCU_HAVE_BLOCK && AIJTCU_HAVE_DEVICE_REAL && AIJTCU_HAVE_HALO && !PetscDefined(USE_64BIT_INDICES)
  #define AIJTCU_HAVE_PARALLEL_COARSENING 1
#else
  #define AIJTCU_HAVE_PARALLEL_COARSENING 0
#endif

#if AIJTCU_HAVE_BLOCK && AIJTCU_HAVE_DEVICE_REAL
static inline SparseMatrix AIJTCUPatternOf(const SparseGraph *g)
{
  return (SparseMatrix){.nrows = g->n, .ncols = g->n, .nnz = g->nnz, .rowptr = g->rowptr, .colidx = g->colidx};
}

/* hungpattern.c */
PETSC_INTERN PetscErrorCode AIJTCUHangPattern(Mat, Mat, const SparseMatrix *, SparseGraph, PetscInt[]);
PETSC_INTERN PetscErrorCode AIJTCUHungPattern(Mat, const SparseMatrix **, Mat *);
PETSC_INTERN PetscErrorCode AIJTCUHungGhosts(Mat, PetscInt *, const PetscInt *[]);
PETSC_INTERN PetscErrorCode AIJTCUHungIsParallel(Mat, PetscBool *);
PETSC_INTERN PetscErrorCode AIJTCUHungRowPointers(Mat, const HrpbInt *[]);
PETSC_INTERN PetscErrorCode AIJTCUHungToHost(Mat);

/* lists.c */
PETSC_INTERN PetscErrorCode AIJTCUAppend(PetscCoarsenData *, PetscCDIntNd *[], PetscInt, PetscInt);

/* coarsen.c */
PETSC_INTERN PetscErrorCode AIJTCUCoarsens(Mat, PetscBool *);
PETSC_INTERN PetscErrorCode AIJTCUCoarsenGraph(Mat, SparseMatrix *, HrpbError *);
PETSC_INTERN PetscErrorCode AIJTCUCoarsenerIsOurs(const char[], PetscBool *);
PETSC_INTERN MatCoarsen     AIJTCUCoarsenerLatest(void);
PETSC_INTERN void           AIJTCUCoarsenerForget(void);

  #if AIJTCU_HAVE_PARALLEL_COARSENING
/* parallelcoarsen.c */
PETSC_INTERN PetscErrorCode AIJTCUCoarsenParallel(MatCoarsen, PetscInt, PetscBool *);
PETSC_INTERN PetscErrorCode AIJTCUSquareParallel(Mat, Mat *, PetscBool *);
  #endif

/* prolongator.c */
struct _PCGAMGOps;
PETSC_INTERN void AIJTCUProlongHere(struct _PCGAMGOps *);

/* gamg.c */
PETSC_INTERN PetscBool AIJTCUGraphIsCoarsenedOnly(void);
#endif
