/*
   The plan of a product of parallel matrices.
*/
#pragma once

#include "sparseimpl.h"
#include "ghostrows.h"

#if AIJTCU_HAVE_DEVICE_REAL && AIJTCU_HAVE_HALO
/* Rows on a device */
typedef struct {
  int64_t      nrows, ncols, nnz;
  HrpbInt     *rowptr, *colidx;
  PetscScalar *values;
} AIJTCUDeviceRows;

enum {
  WITH_B,  /* A B */
  WITH_AT, /* the transpose of an operand, times B or A P */
  SUMS,    /* of what all processes have for a row */
  NPRODUCTS
};

typedef struct {
  PetscBool        of[NPRODUCTS]; /* which products it consists of */
  SparsePlan       plan[NPRODUCTS];
  PetscScalar     *between; /* values of A P */
  AIJTCUPatternKey key[2];
  HrpbInt         *zeros; /* row pointers of a block without entries */
  AIJTCUDeviceRows A, B;  /* the operands */
  int64_t          own;   /* entries of B in its own rows */

  AIJTCUGhostRows gathered;
  AIJTCUShipment  gather;
  HrpbInt        *map; /* entries of B that are sent, */
  PetscScalar    *out; /* and their values */

  AIJTCUGhostRows  scattered;
  AIJTCUShipment   scatter;
  AIJTCUDeviceRows parts, select;
  int64_t          kept; /* entries of `parts` that this process makes */

  AIJTCUGhostColumns columns; /* of the result */
  HrpbInt           *rowptr[2];
  PetscScalar       *values; /* of the result, before they are split */
} AIJTCUParallel;

static inline const SparseProduct *AIJTCUResult(const AIJTCUParallel *s)
{
  return &s->plan[s->of[SUMS] ? SUMS : WITH_B].result;
}

static inline SparseMatrix AIJTCUOfRows(const AIJTCUDeviceRows *r)
{
  return (SparseMatrix){.nrows = r->nrows, .ncols = r->ncols, .nnz = r->nnz, .rowptr = r->rowptr, .colidx = r->colidx, .values = r->values};
}

static inline SparseMatrix AIJTCUOfProduct(const SparseProduct *p, const PetscScalar *values)
{
  return (SparseMatrix){.nrows = p->nrows, .ncols = p->ncols, .nnz = p->nnz, .rowptr = p->rowptr, .colidx = p->colidx, .values = values};
}

/* The rows of B that this process has by itself */
static inline SparseMatrix AIJTCUOwnRows(const AIJTCUParallel *s, int64_t nrows)
{
  return (SparseMatrix){.nrows = nrows, .ncols = s->B.ncols, .nnz = s->own, .rowptr = s->B.rowptr, .colidx = s->B.colidx, .values = s->B.values};
}

/* parallelplan.c */
PETSC_INTERN PetscErrorCode AIJTCUParallelPlan(Mat, AIJTCUParallel *, PetscBool *);
PETSC_INTERN PetscErrorCode AIJTCUParallelReset(AIJTCUParallel *);
PETSC_INTERN PetscErrorCode AIJTCUBlockArrays(const AIJTCUParallel *, Mat, PetscBool, SparseMatrix[2]);
PETSC_INTERN PetscErrorCode AIJTCUToDevice(void *, const void *, size_t, struct CUstream_st *);
#endif
