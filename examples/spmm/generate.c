#include "generate.h"

const char *const GenerateKinds[] = {"elasticity", "poisson7", "stencil27", "dof8", "banded", "random", "rmat", "arrow", "GenerateKind", "GENERATE_", NULL};

enum {
  HALF_BANDWIDTH = 16,
  ROW_ENTRIES    = 16 /* of a random matrix, on average */
};

/* A random 64-bit number that depends on two numbers only (splitmix64): every process makes the same */
static PetscInt64 Hash(PetscInt64 a, PetscInt64 b)
{
  uint64_t z = (uint64_t)a * 0x9E3779B97F4A7C15u + (uint64_t)b + 0x632BE59BD9B4E019u;

  for (int k = 0; k < 2; k++) {
    z += 0x9E3779B97F4A7C15u;
    z = (z ^ (z >> 30)) * 0xBF58476D1CE4E5B9u;
    z = (z ^ (z >> 27)) * 0x94D049BB133111EBu;
    z ^= z >> 31;
  }
  return (PetscInt64)(z >> 1);
}

/* A random number in [-1, 1), the value of entry (row, column) */
PetscReal GenerateValue(PetscInt64 row, PetscInt64 column)
{
  return (PetscReal)((double)Hash(row, column) / 4611686018427387904.0 - 1.0);
}

typedef struct {
  PetscInt  *row, *col;
  PetscCount n, allocated;
} Entries;

static PetscErrorCode Add(Entries *e, PetscInt row, PetscInt col)
{
  PetscFunctionBegin;
  if (e->n == e->allocated) {
    e->allocated = PetscMax(1024, 2 * e->allocated);
    PetscCall(PetscRealloc(e->allocated * sizeof(*e->row), &e->row));
    PetscCall(PetscRealloc(e->allocated * sizeof(*e->col), &e->col));
  }
  e->row[e->n]   = row;
  e->col[e->n++] = col;
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* dof unknowns at each node of an n x n x n grid, coupled with those of the nodes at most one step away: in any direction, or (star) along one axis only */
static PetscErrorCode Grid(PetscInt n, PetscInt dof, PetscBool star, PetscInt rstart, PetscInt rend, Entries *e)
{
  PetscFunctionBegin;
  for (PetscInt row = rstart; row < rend; row++) {
    const PetscInt node = row / dof, x = node % n, y = node / n % n, z = node / n / n;

    for (PetscInt s = 0; s < 27; s++) {
      const PetscInt dx = s % 3 - 1, dy = s / 3 % 3 - 1, dz = s / 9 - 1;

      if (x + dx < 0 || x + dx >= n || y + dy < 0 || y + dy >= n || z + dz < 0 || z + dz >= n) continue;
      if (star && PetscAbs(dx) + PetscAbs(dy) + PetscAbs(dz) > 1) continue;
      for (PetscInt d = 0; d < dof; d++) PetscCall(Add(e, row, dof * (node + (dz * n + dy) * n + dx) + d));
    }
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode Banded(PetscInt n, PetscInt rstart, PetscInt rend, Entries *e)
{
  PetscFunctionBegin;
  for (PetscInt row = rstart; row < rend; row++) {
    for (PetscInt col = PetscMax(0, row - HALF_BANDWIDTH); col <= PetscMin(n - 1, row + HALF_BANDWIDTH); col++) PetscCall(Add(e, row, col));
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode Random(PetscInt n, PetscInt rstart, PetscInt rend, Entries *e)
{
  PetscFunctionBegin;
  for (PetscInt row = rstart; row < rend; row++) {
    for (PetscInt k = 0; k < ROW_ENTRIES; k++) PetscCall(Add(e, row, (PetscInt)(Hash(row, k) % n)));
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* R-MAT with the Graph500's probabilities: a few rows with very many entries. Each process makes an equal share of the entries, wherever they lie */
static PetscErrorCode RMAT(MPI_Comm comm, PetscInt n, Entries *e)
{
  PetscMPIInt rank, size;
  PetscInt64  all = (PetscInt64)n * ROW_ENTRIES, side = 1;

  PetscFunctionBegin;
  PetscCallMPI(MPI_Comm_rank(comm, &rank));
  PetscCallMPI(MPI_Comm_size(comm, &size));
  while (side < n) side *= 2;
  for (PetscInt64 k = all / size * rank; k < (rank == size - 1 ? all : all / size * (rank + 1)); k++) {
    PetscInt64 row = 0, col = 0;

    for (PetscInt64 half = side / 2; half; half /= 2) {
      const PetscInt64 draw = Hash(k, half) % 100; /* 57, 19, 19, 5 % */

      if (draw >= 76) row += half;
      if ((draw >= 57 && draw < 76) || draw >= 95) col += half;
    }
    if (row < n && col < n) PetscCall(Add(e, (PetscInt)row, (PetscInt)col));
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Full first row and column, and the diagonal */
static PetscErrorCode Arrow(PetscInt n, PetscInt rstart, PetscInt rend, Entries *e)
{
  PetscFunctionBegin;
  for (PetscInt row = rstart; row < rend; row++) {
    PetscCall(Add(e, row, 0));
    for (PetscInt col = 1; row == 0 && col < n; col++) PetscCall(Add(e, row, col));
    if (row) PetscCall(Add(e, row, row));
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*
   Fill A, whose type is set and whose sizes are not: n nodes a side for the matrices of grids, n rows for the others
*/
PetscErrorCode GenerateMatrix(GenerateKind kind, PetscInt n, Mat A)
{
  MPI_Comm  comm = PetscObjectComm((PetscObject)A);
  PetscBool grid = (PetscBool)(kind <= GENERATE_DOF8);
  PetscInt  dof  = kind == GENERATE_ELASTICITY ? 3 : kind == GENERATE_DOF8 ? 8
                                                                           : 1,
           rstart, rend;
  PetscInt64   rows  = grid ? (PetscInt64)n * n * n * dof : n;
  PetscInt     nodes = grid ? n * n * n : n, mine = PETSC_DECIDE;
  Entries      e = {0};
  PetscScalar *value;

  PetscFunctionBegin;
  PetscCheck(rows <= PETSC_INT_MAX, comm, PETSC_ERR_ARG_OUTOFRANGE, "-size %" PetscInt_FMT " gives more rows than this PETSc's integers can count", n);
  PetscCall(PetscSplitOwnership(comm, &mine, &nodes));
  PetscCall(MatSetSizes(A, mine * dof, mine * dof, nodes * dof, nodes * dof));
  PetscCall(MatSetBlockSize(A, dof));
  PetscCall(MatSetUp(A));
  PetscCall(MatGetOwnershipRange(A, &rstart, &rend));
  switch (kind) {
  case GENERATE_BANDED:
    PetscCall(Banded(n, rstart, rend, &e));
    break;
  case GENERATE_RANDOM:
    PetscCall(Random(n, rstart, rend, &e));
    break;
  case GENERATE_RMAT:
    PetscCall(RMAT(comm, n, &e));
    break;
  case GENERATE_ARROW:
    PetscCall(Arrow(n, rstart, rend, &e));
    break;
  default:
    PetscCall(Grid(n, dof, (PetscBool)(kind == GENERATE_POISSON7), rstart, rend, &e));
  }
  PetscCall(PetscMalloc1(e.n, &value));
  for (PetscCount k = 0; k < e.n; k++) value[k] = GenerateValue(e.row[k], e.col[k]);
  PetscCall(MatSetPreallocationCOO(A, e.n, e.row, e.col));
  PetscCall(MatSetValuesCOO(A, value, INSERT_VALUES));
  PetscCall(PetscFree(value));
  PetscCall(PetscFree(e.row));
  PetscCall(PetscFree(e.col));
  PetscFunctionReturn(PETSC_SUCCESS);
}
