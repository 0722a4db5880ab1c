#include "stiffness.h"
#include "beam.h"
#include "matload.h"
#include <petscaijtcu.h>

/*
   Allowed difference between an entry and the one across the diagonal, relative to the largest number in their rows.
   It is the rounding that an assembly in a different sequence makes in a symmetric matrix.
*/
#define ROUNDING (1e4 * PETSC_MACHINE_EPSILON)

/* A row of a matrix, in the order of its columns */
typedef struct {
  PetscInt     n, room, *col;
  PetscScalar *value;
} Row;

static PetscErrorCode RowGet(Mat K, PetscInt i, Row *r)
{
  PetscInt           n;
  const PetscInt    *col;
  const PetscScalar *value;

  PetscFunctionBegin;
  PetscCall(MatGetRow(K, i, &n, &col, &value));
  r->n = n; /* restoring makes the other one zero */
  if (r->n > r->room) {
    r->room = 2 * r->n;
    PetscCall(PetscFree2(r->col, r->value));
    PetscCall(PetscMalloc2(r->room, &r->col, r->room, &r->value));
  }
  PetscCall(PetscArraycpy(r->col, col, r->n));
  PetscCall(PetscArraycpy(r->value, value, r->n));
  PetscCall(MatRestoreRow(K, i, &n, &col, &value));
  PetscCall(PetscSortIntWithScalarArray(r->n, r->col, r->value));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* The column of the first entry that differs in two rows; -1 if none does. An absent entry is zero */
static PetscInt FirstDifference(const Row *a, const Row *b, PetscScalar *value, PetscScalar *other)
{
  PetscReal largest = 0;

  for (PetscInt k = 0; k < a->n; k++) largest = PetscMax(largest, PetscAbsScalar(a->value[k]));
  for (PetscInt k = 0; k < b->n; k++) largest = PetscMax(largest, PetscAbsScalar(b->value[k]));
  for (PetscInt k = 0, l = 0; k < a->n || l < b->n;) {
    const PetscInt col = k == a->n ? b->col[l] : l == b->n ? a->col[k]
                                                           : PetscMin(a->col[k], b->col[l]);

    *value = k < a->n && a->col[k] == col ? a->value[k++] : 0;
    *other = l < b->n && b->col[l] == col ? b->value[l++] : 0;
    if (!(PetscAbsScalar(*value - PetscConj(*other)) <= (PetscReal)ROUNDING * largest)) return col;
  }
  return -1;
}

/* Raise an error that names the first entry that differs from the one across the diagonal */
static PetscErrorCode CheckSymmetry(Mat K, const char file[])
{
  MPI_Comm    comm = PetscObjectComm((PetscObject)K);
  Mat         T;
  Row         a = {0, 0, NULL, NULL}, b = {0, 0, NULL, NULL};
  PetscInt    rstart, rend, row = PETSC_INT_MAX, col = 0, first;
  PetscScalar value[2];

  PetscFunctionBegin;
  PetscCall(MatTranspose(K, MAT_INITIAL_MATRIX, &T));
  PetscCall(MatGetOwnershipRange(K, &rstart, &rend));
  for (PetscInt i = rstart; i < rend && row == PETSC_INT_MAX; i++) {
    PetscCall(RowGet(K, i, &a));
    PetscCall(RowGet(T, i, &b));
    col = FirstDifference(&a, &b, &value[0], &value[1]);
    if (col >= 0) row = i;
  }
  PetscCall(PetscFree2(a.col, a.value));
  PetscCall(PetscFree2(b.col, b.value));
  PetscCall(MatDestroy(&T));
  PetscCallMPI(MPIU_Allreduce(&row, &first, 1, MPIU_INT, MPI_MIN, comm));
  if (first == PETSC_INT_MAX) PetscFunctionReturn(PETSC_SUCCESS);
  if (row != first) col = 0, value[0] = value[1] = 0; /* all others */
  PetscCallMPI(MPIU_Allreduce(MPI_IN_PLACE, &col, 1, MPIU_INT, MPI_SUM, comm));
  PetscCallMPI(MPIU_Allreduce(MPI_IN_PLACE, value, 2, MPIU_SCALAR, MPIU_SUM, comm));
  SETERRQ(comm, PETSC_ERR_ARG_WRONG, "%s holds a matrix that is not symmetric: row %" PetscInt_FMT ", column %" PetscInt_FMT " (counted from 1) has %g where row %" PetscInt_FMT ", column %" PetscInt_FMT " has %g; a stiffness matrix is needed: real, symmetric, without negative eigenvalues", file, first + 1, col + 1, (double)PetscRealPart(value[0]), col + 1, first + 1, (double)PetscRealPart(value[1]));
}

/*
   Leave out the unknowns whose row and column hold nothing but the diagonal: fixed ones, as structural codes write
   them. Each is an eigenvalue on its own. Often all of these are the same, hundreds of times.
*/
static PetscErrorCode RemoveFixed(Mat *K)
{
  MPI_Comm comm = PetscObjectComm((PetscObject)*K);
  PetscInt rstart, rend, n = 0, kept, all, *rows;
  IS       is;
  Mat      free;

  PetscFunctionBegin;
  PetscCall(MatGetOwnershipRange(*K, &rstart, &rend));
  PetscCall(MatGetSize(*K, &all, NULL));
  PetscCall(PetscMalloc1(rend - rstart, &rows));
  for (PetscInt i = rstart; i < rend; i++) {
    PetscInt        nc;
    const PetscInt *cols;
    PetscBool       fixed = PETSC_TRUE;

    PetscCall(MatGetRow(*K, i, &nc, &cols, NULL));
    for (PetscInt k = 0; k < nc; k++) fixed = (PetscBool)(fixed && cols[k] == i);
    PetscCall(MatRestoreRow(*K, i, &nc, &cols, NULL));
    if (!fixed) rows[n++] = i;
  }
  PetscCallMPI(MPIU_Allreduce(&n, &kept, 1, MPIU_INT, MPI_SUM, comm));
  if (kept && kept < all) {
    PetscCall(ISCreateGeneral(comm, n, rows, PETSC_USE_POINTER, &is));
    PetscCall(MatCreateSubMatrix(*K, is, is, MAT_INITIAL_MATRIX, &free));
    PetscCall(MatDestroy(K));
    PetscCall(ISDestroy(&is));
    *K = free;
    PetscCall(PetscPrintf(comm, "Left out: %" PetscInt_FMT " fixed unknowns, whose rows and columns hold nothing but the diagonal\n", all - kept));
  }
  PetscCall(PetscFree(rows));
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode StiffnessLoad(MPI_Comm comm, const char file[], Mat *K)
{
  PetscInt m, n;

  PetscFunctionBegin;
  PetscCall(MatCreate(comm, K));
  PetscCall(MatSetType(*K, MATAIJTCU));
  PetscCall(MatAIJTCUSetExpectedProducts(*K, BEAM_PRODUCTS));
  PetscCall(MatSetFromOptions(*K));
  PetscCall(ExampleMatLoad(comm, file, *K));
  PetscCall(MatGetSize(*K, &m, &n));
  PetscCheck(m == n, comm, PETSC_ERR_ARG_SIZ, "%s holds a %" PetscInt_FMT " x %" PetscInt_FMT " matrix; a square one is needed", file, m, n);
  PetscCall(CheckSymmetry(*K, file));
  PetscCall(RemoveFixed(K));
  PetscCall(MatSetOption(*K, MAT_SYMMETRIC, PETSC_TRUE));
  PetscCall(MatSetOption(*K, MAT_SYMMETRY_ETERNAL, PETSC_TRUE));
  PetscFunctionReturn(PETSC_SUCCESS);
}
