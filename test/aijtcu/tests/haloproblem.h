/*
   Parallel matrices and dense ones whose entries are formulas, in partitions of many shapes, and sums of the formulas
   to compare products with.
*/
#pragma once

#include <petscmat.h>
#include "petscaijtcu.h"

/* How rows and entries are shared */
typedef enum {
  SHAPE_EVEN,     /* a band; rows are shared evenly */
  SHAPE_NOROWS,   /* every second process has no rows */
  SHAPE_ONE,      /* the last process has all rows */
  SHAPE_DIAGONAL, /* no entries off the diagonal blocks */
  SHAPE_HALF,     /* every second process has none */
  SHAPE_GHOSTS,   /* entries are scattered: more ghosts than rows */
  SHAPE_ORDER     /* a row that needs everything, on the last process */
} Shape;
static const char *const Shapes[] = {"even", "norows", "one", "diagonal", "half", "ghosts", "order", "Shape", "SHAPE_", NULL};

typedef struct {
  Shape     shape;
  PetscInt  n, m, first; /* rows of all, and of this process */
  PetscInt  far;         /* distance of far entries: another one is another pattern */
  PetscInt  values;      /* another number has other values */
  PetscBool symmetric;
} Problem;

static PetscMPIInt rank, size;

static inline PetscReal Real(PetscInt64 a, PetscInt64 b, PetscInt64 c)
{
  return (PetscReal)((7919 * a + 104729 * b + 1299709 * c + 31 * a * b) % 20011) / 10007 - 1;
}

static inline PetscReal AEntry(const Problem *p, PetscInt i, PetscInt j)
{
  return p->symmetric ? Real(PetscMin(i, j), PetscMax(i, j), p->values) : Real(i, j, p->values);
}

static inline PetscReal BEntry(PetscInt j, PetscInt n)
{
  return Real(j, n, 5);
}

/* Whether there is an entry. The answer is that of j, i, too, but for the last shape */
static inline PetscBool Has(const Problem *p, PetscInt i, PetscInt j)
{
  const PetscInt away = PetscAbsInt(i - j);

  switch (p->shape) {
  case SHAPE_GHOSTS:
    return (PetscBool)(!away || (i + j) * 37 % 11 < 3 || away == p->far);
  case SHAPE_ORDER:
    return (PetscBool)(away <= 1 || i == p->n - 1);
  default:
    return (PetscBool)(away <= 2 || away == p->far);
  }
}

/* Rows that a process has */
static inline PetscInt Rows(const Problem *p, PetscMPIInt of)
{
  const PetscMPIInt owners = p->shape == SHAPE_NOROWS ? (size + 1) / 2 : size, k = p->shape == SHAPE_NOROWS ? of / 2 : of;

  if (p->shape == SHAPE_ONE) return of == size - 1 ? p->n : 0;
  if (p->shape == SHAPE_NOROWS && of % 2) return 0;
  return p->n / owners + (k < p->n % owners);
}

static inline PetscBool IsMine(const Problem *p, PetscInt j)
{
  return (PetscBool)(j >= p->first && j < p->first + p->m);
}

static inline PetscMPIInt Owner(const Problem *p, PetscInt i)
{
  PetscMPIInt of = 0;

  while (i >= Rows(p, of)) i -= Rows(p, of++);
  return of;
}

static inline PetscBool HasEntry(const Problem *p, PetscInt i, PetscInt j)
{
  if (!Has(p, i, j)) return PETSC_FALSE;
  if (p->shape == SHAPE_DIAGONAL) return (PetscBool)(Owner(p, i) == Owner(p, j));
  if (p->shape == SHAPE_HALF) return (PetscBool)(Owner(p, i) % 2 == 0 || Owner(p, i) == Owner(p, j));
  return PETSC_TRUE;
}

static inline PetscErrorCode Fill(const Problem *p, Mat A)
{
  PetscFunctionBegin;
  for (PetscInt i = p->first; i < p->first + p->m; i++) {
    for (PetscInt j = 0; j < p->n; j++) {
      if (HasEntry(p, i, j)) PetscCall(MatSetValue(A, i, j, AEntry(p, i, j), INSERT_VALUES));
    }
  }
  PetscCall(MatAssemblyBegin(A, MAT_FINAL_ASSEMBLY));
  PetscCall(MatAssemblyEnd(A, MAT_FINAL_ASSEMBLY));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static char dense_type[32]; /* of B and C */

static inline PetscErrorCode CreateA(Problem *p, Mat *A)
{
  VecType   vectype;
  PetscBool host;

  PetscFunctionBegin;
  p->m = Rows(p, rank);
  PetscCall(MatCreate(PETSC_COMM_WORLD, A));
  PetscCall(MatSetSizes(*A, p->m, p->m, p->n, p->n));
  PetscCall(MatSetType(*A, MATMPIAIJTCU));
  PetscCall(MatSetFromOptions(*A));
  PetscCall(MatSetUp(*A));
  PetscCall(MatSetOption(*A, MAT_NEW_NONZERO_LOCATION_ERR, PETSC_FALSE));
  PetscCall(MatSetOption(*A, MAT_NEW_NONZERO_ALLOCATION_ERR, PETSC_FALSE));
  PetscCall(MatGetOwnershipRange(*A, &p->first, NULL));
  PetscCall(Fill(p, *A));
  if (p->symmetric) {
    PetscCall(MatSetOption(*A, MAT_SYMMETRIC, PETSC_TRUE));
    PetscCall(MatSetOption(*A, MAT_SYMMETRY_ETERNAL, PETSC_TRUE));
  }
  PetscCall(MatGetVecType(*A, &vectype));
  PetscCall(PetscStrcmp(vectype, VECSTANDARD, &host));
  if (!dense_type[0]) PetscCall(PetscStrncpy(dense_type, host ? MATMPIDENSE : MATMPIDENSECUDA, sizeof(dense_type)));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* B with columns that are longer than its rows */
static inline PetscErrorCode CreateB(const Problem *p, PetscInt N, Mat *B)
{
  PetscScalar *b;
  PetscInt     ld;

  PetscFunctionBegin;
  PetscCall(MatCreate(PETSC_COMM_WORLD, B));
  PetscCall(MatSetSizes(*B, p->m, PETSC_DECIDE, p->n, N));
  PetscCall(MatSetType(*B, dense_type));
  PetscCall(MatDenseSetLDA(*B, p->m + 3));
  PetscCall(MatSetUp(*B));
  PetscCall(MatDenseGetLDA(*B, &ld));
  PetscCall(MatDenseGetArrayWrite(*B, &b));
  for (PetscInt n = 0; n < N; n++) {
    for (PetscInt j = 0; j < p->m; j++) b[j + n * ld] = BEntry(p->first + j, n);
  }
  PetscCall(MatDenseRestoreArrayWrite(*B, &b));
  PetscCall(MatAssemblyBegin(*B, MAT_FINAL_ASSEMBLY));
  PetscCall(MatAssemblyEnd(*B, MAT_FINAL_ASSEMBLY));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Compare C with sums of the formulas, for A or its transpose, B's values being scaled */
static inline PetscErrorCode CheckEither(const Problem *p, PetscBool transposed, Mat C, PetscReal scale, const char what[])
{
  const PetscScalar *c;
  PetscInt           ld, N, wrong = 0;

  PetscFunctionBegin;
  PetscCall(MatGetSize(C, NULL, &N));
  PetscCall(MatDenseGetLDA(C, &ld));
  PetscCall(MatDenseGetArrayRead(C, &c));
  for (PetscInt i = 0; i < p->m; i++) {
    for (PetscInt n = 0; n < N; n++) {
      long double sum = 0, all = 0;

      for (PetscInt j = 0; j < p->n; j++) {
        const PetscInt    row = transposed ? j : p->first + i, col = transposed ? p->first + i : j;
        const long double x = HasEntry(p, row, col) ? (long double)AEntry(p, row, col) * BEntry(j, n) * scale : 0;

        sum += x;
        all += x < 0 ? -x : x;
      }
      if (!(PetscAbsReal((PetscReal)(PetscRealPart(c[i + n * ld]) - sum)) <= 20 * PETSC_MACHINE_EPSILON * (PetscReal)all)) wrong++;
    }
  }
  PetscCall(MatDenseRestoreArrayRead(C, &c));
  if (wrong) PetscCall(PetscPrintf(PETSC_COMM_SELF, "[%d] %s, N = %" PetscInt_FMT ": %" PetscInt_FMT " entries are wrong\n", rank, what, N, wrong));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static inline PetscErrorCode Check(const Problem *p, Mat C, PetscReal scale, const char what[])
{
  PetscFunctionBegin;
  PetscCall(CheckEither(p, PETSC_FALSE, C, scale, what));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* The same bits in two matrices? */
static inline PetscErrorCode CheckBits(Mat C, Mat D, const char what[])
{
  const PetscScalar *c, *d;
  PetscInt           m, N, ldc, ldd, wrong = 0;

  PetscFunctionBegin;
  PetscCall(MatGetLocalSize(C, &m, NULL));
  PetscCall(MatGetSize(C, NULL, &N));
  PetscCall(MatDenseGetLDA(C, &ldc));
  PetscCall(MatDenseGetLDA(D, &ldd));
  PetscCall(MatDenseGetArrayRead(C, &c));
  PetscCall(MatDenseGetArrayRead(D, &d));
  for (PetscInt n = 0; n < N; n++) wrong += memcmp(c + n * ldc, d + n * ldd, sizeof(*c) * (size_t)m) != 0;
  PetscCall(MatDenseRestoreArrayRead(C, &c));
  PetscCall(MatDenseRestoreArrayRead(D, &d));
  if (wrong) PetscCall(PetscPrintf(PETSC_COMM_SELF, "[%d] %s, N = %" PetscInt_FMT ": other bits in %" PetscInt_FMT " columns\n", rank, what, N, wrong));
  PetscFunctionReturn(PETSC_SUCCESS);
}
