/*
   Families of matrices. A family only says which columns a row has. Sorting, permuting and filling in values are the
   same for all. Rows are made in order, and go straight into the arrays of a CSR.
*/
#include "generate.h"

const char *const GenerateKinds[] = {"elasticity", "poisson7", "stencil27", "dof8", "banded", "random", "rmat", "arrow", "tetra", "blockarrow", "powerlaw", "GenerateKind", "GENERATE_", NULL};

enum {
  HALF_BANDWIDTH = 16,
  ROW_ENTRIES    = 16, /* average entries of a row of a random matrix */
  BLOCK          = 32, /* rows of a dense block of blockarrow */
  ARROW_ROWS     = 4,  /* full rows and columns of blockarrow */
  CELL           = 4,  /* nodes a side of the cells in which tetra numbers nodes at random */
  /* seeds of random numbers; no row of a matrix has a negative number */
  SEED_PERMUTATION = -1,
  SEED_CELL        = -2,
  SEED_RANK        = -3 /* standin.c has -4 to -6 */
};

/* A random 64-bit number that depends on two numbers only (splitmix64), so every process makes the same */
PetscInt64 GenerateHash(PetscInt64 a, PetscInt64 b)
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
  return (PetscReal)((double)GenerateHash(row, column) / 4611686018427387904.0 - 1.0);
}

typedef struct _n_Family Family;
struct _n_Family {
  PetscInt n, dof, rows; /* nodes a side of the grid, or rows; unknowns a node */
  PetscInt layers;       /* of the grid, of n x n nodes each */
  PetscInt most;         /* most columns of a row, repeats included */
  PetscInt (*row)(const Family *, PetscInt, PetscInt[]);
  PetscBool   sorted;        /* row gives sorted columns without repeats; if false, any order */
  PetscInt   *node, *number; /* tetra: place in the grid of a node by its number, and back */
  PetscInt   *rank;          /* powerlaw: rank of a row by its length */
  PetscCount *start;         /* rmat: the columns of all rows */
  PetscInt   *col;
};

/*
   dof unknowns at each node of a grid. They are coupled with those of all nodes at most one step away in any direction
*/
static PetscInt BoxRow(const Family *f, PetscInt row, PetscInt col[])
{
  const PetscInt n = f->n, node = row / f->dof, x = node % n, y = node / n % n, z = node / n / n;
  const PetscInt begin = PetscMax(0, x - 1), end = PetscMin(n, x + 2);
  PetscInt       count = 0;

  for (PetscInt w = PetscMax(0, z - 1); w < PetscMin(f->layers, z + 2); w++) {
    for (PetscInt v = PetscMax(0, y - 1); v < PetscMin(n, y + 2); v++) {
      const PetscInt line = (w * n + v) * n;

      for (PetscInt c = f->dof * (line + begin); c < f->dof * (line + end); c++) col[count++] = c;
    }
  }
  return count;
}

/* One unknown at each node of a grid, coupled with those one step away along one axis */
static PetscInt StarRow(const Family *f, PetscInt row, PetscInt col[])
{
  const PetscInt n = f->n, x = row % n, y = row / n % n, z = row / n / n;
  PetscInt       count = 0;

  if (z > 0) col[count++] = row - n * n;
  if (y > 0) col[count++] = row - n;
  if (x > 0) col[count++] = row - 1;
  col[count++] = row;
  if (x < n - 1) col[count++] = row + 1;
  if (y < n - 1) col[count++] = row + n;
  if (z < f->layers - 1) col[count++] = row + n * n;
  return count;
}

static PetscInt BandedRow(const Family *f, PetscInt row, PetscInt col[])
{
  PetscInt count = 0;

  for (PetscInt c = PetscMax(0, row - HALF_BANDWIDTH); c <= PetscMin(f->n - 1, row + HALF_BANDWIDTH); c++) col[count++] = c;
  return count;
}

static PetscInt RandomRow(const Family *f, PetscInt row, PetscInt col[])
{
  for (PetscInt k = 0; k < ROW_ENTRIES; k++) col[k] = (PetscInt)(GenerateHash(row, k) % f->n);
  return ROW_ENTRIES;
}

/* Full first row and column, and the diagonal */
static PetscInt ArrowRow(const Family *f, PetscInt row, PetscInt col[])
{
  PetscInt count = 0;

  if (row == 0) {
    while (count < f->n) {
      col[count] = count;
      count++;
    }
  } else {
    col[count++] = 0;
    col[count++] = row;
  }
  return count;
}

/* Dense blocks on the diagonal, and a few full rows and columns */
static PetscInt BlockArrowRow(const Family *f, PetscInt row, PetscInt col[])
{
  const PetscInt begin = row < ARROW_ROWS ? 0 : row / BLOCK * BLOCK, end = row < ARROW_ROWS ? f->n : PetscMin(f->n, begin + BLOCK);
  PetscInt       count = 0;

  for (PetscInt c = 0; c < PetscMin(ARROW_ROWS, begin); c++) col[count++] = c;
  for (PetscInt c = begin; c < end; c++) col[count++] = c;
  return count;
}

/*
   The row with the k-th most entries, counted from 0, has n / 4 (k + 1)^(-3/4) of them. In half a million rows that is
   10^5 in the first, and 25 on average.
*/
static PetscInt PowerLawRow(const Family *f, PetscInt row, PetscInt col[])
{
  const PetscInt length = PetscMax(1, (PetscInt)((double)f->n / 4 * pow((double)f->rank[row] + 1, -0.75)));

  for (PetscInt k = 0; k < length; k++) col[k] = (PetscInt)(GenerateHash(row, k) % f->n);
  return length;
}

/*
   Three unknowns at each node of a mesh of tetrahedra: Kuhn's triangulation of a grid. A node's neighbours differ from
   it by 0 or 1 in each coordinate, or by 0 or -1 in each.
*/
static PetscInt TetraRow(const Family *f, PetscInt row, PetscInt col[])
{
  const PetscInt n = f->n, node = f->node[row / f->dof], x = node % n, y = node / n % n, z = node / n / n;
  PetscInt       count = 0;

  for (PetscInt s = -7; s <= 7; s++) {
    const PetscInt step = s < 0 ? -1 : 1, bits = PetscAbs(s), u = x + step * (bits & 1), v = y + step * (bits >> 1 & 1), w = z + step * (bits >> 2);

    if (u < 0 || u >= n || v < 0 || v >= n || w < 0 || w >= f->layers) continue;
    for (PetscInt d = 0; d < f->dof; d++) col[count++] = f->dof * f->number[(w * n + v) * n + u] + d;
  }
  return count;
}

/* The columns that RMATSetUp() found */
static PetscInt RMATRow(const Family *f, PetscInt row, PetscInt col[])
{
  PetscInt count = 0;

  for (PetscCount k = f->start[row]; k < f->start[row + 1]; k++) col[count++] = f->col[k];
  return count;
}

static void Shuffle(PetscInt64 seed, PetscInt n, PetscInt p[])
{
  for (PetscInt k = n - 1; k > 0; k--) {
    const PetscInt other = (PetscInt)(GenerateHash(seed, k) % (k + 1)), kept = p[k];

    p[k]     = p[other];
    p[other] = kept;
  }
}

/* The numbers from 0 to n - 1 in an order that a seed tells */
PetscErrorCode GeneratePermutation(PetscInt64 seed, PetscInt n, PetscInt **p)
{
  PetscFunctionBegin;
  PetscCall(PetscMalloc1(n, p));
  for (PetscInt k = 0; k < n; k++) (*p)[k] = k;
  Shuffle(seed, n, *p);
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode Inverse(PetscInt n, const PetscInt p[], PetscInt **q)
{
  PetscFunctionBegin;
  PetscCall(PetscMalloc1(n, q));
  for (PetscInt k = 0; k < n; k++) (*q)[p[k]] = k;
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*
   Nodes are numbered cell by cell, and at random within a cell. Neighbours get close numbers, as from a mesh
   generator, but in no regular order.
*/
static PetscErrorCode TetraSetUp(Family *f)
{
  const PetscInt n = f->n, cells = (n + CELL - 1) / CELL, deep = (f->layers + CELL - 1) / CELL;
  PetscInt       count = 0;

  PetscFunctionBegin;
  PetscCall(PetscMalloc1(n * n * f->layers, &f->node));
  for (PetscInt cell = 0; cell < cells * cells * deep; cell++) {
    const PetscInt x = cell % cells * CELL, y = cell / cells % cells * CELL, z = cell / cells / cells * CELL, first = count;

    for (PetscInt w = z; w < PetscMin(f->layers, z + CELL); w++) {
      for (PetscInt v = y; v < PetscMin(n, y + CELL); v++) {
        for (PetscInt u = x; u < PetscMin(n, x + CELL); u++) f->node[count++] = (w * n + v) * n + u;
      }
    }
    Shuffle(GenerateHash(SEED_CELL, cell), count - first, f->node + first);
  }
  PetscCall(Inverse(n * n * f->layers, f->node, &f->number));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* R-MAT with the Graph500's probabilities: a few rows have very many entries. Every process draws all entries */
static PetscErrorCode RMATSetUp(Family *f)
{
  const PetscCount all  = (PetscCount)f->n * ROW_ENTRIES;
  PetscInt64       side = 1;
  PetscInt        *rows, *cols;
  PetscCount      *start;

  PetscFunctionBegin;
  while (side < f->n) side *= 2;
  PetscCall(PetscMalloc2(all, &rows, all, &cols));
  /* the start of row i is at i + 2 while counting, and at i + 1 while filling; after that it is at i */
  PetscCall(PetscCalloc1(f->n + 2, &start));
  for (PetscCount k = 0; k < all; k++) {
    PetscInt64 row = 0, col = 0;

    for (PetscInt64 half = side / 2; half; half /= 2) {
      const PetscInt64 draw = GenerateHash(k, half) % 100; /* 57, 19, 19, 5 % */

      if (draw >= 76) row += half;
      if ((draw >= 57 && draw < 76) || draw >= 95) col += half;
    }
    rows[k] = row < f->n && col < f->n ? (PetscInt)row : -1;
    cols[k] = (PetscInt)col;
    if (rows[k] >= 0) start[rows[k] + 2]++;
  }
  for (PetscInt i = 0; i < f->n; i++) {
    f->most = PetscMax(f->most, (PetscInt)start[i + 2]);
    start[i + 2] += start[i + 1];
  }
  PetscCall(PetscMalloc1(start[f->n + 1], &f->col));
  for (PetscCount k = 0; k < all; k++) {
    if (rows[k] >= 0) f->col[start[rows[k] + 1]++] = cols[k];
  }
  f->start = start;
  PetscCall(PetscFree2(rows, cols));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Whether a size is the number of nodes a side of a grid. Otherwise it is a number of rows */
PetscBool GenerateIsGrid(GenerateKind kind)
{
  return (PetscBool)(kind <= GENERATE_DOF8 || kind == GENERATE_TETRA);
}

/* Rows of the matrix of a size, and how many rows make a node. The sizes are those of GenerateRows() */
PetscErrorCode GenerateRowCount(GenerateKind kind, PetscInt n, PetscInt layers, PetscInt *rows, PetscInt *dof)
{
  PetscInt64 all = n;

  PetscFunctionBegin;
  *dof = kind == GENERATE_ELASTICITY || kind == GENERATE_TETRA ? 3 : kind == GENERATE_DOF8 ? 8
                                                                                           : 1;
  if (GenerateIsGrid(kind)) all = n > 1000000 || layers > 1000000 ? PETSC_INT64_MAX / *dof : (PetscInt64)n * n * layers;
  PetscCheck(all * *dof <= PETSC_INT_MAX, PETSC_COMM_SELF, PETSC_ERR_ARG_OUTOFRANGE, "Size %" PetscInt_FMT " of %s gives more rows than this PETSc's integers can count", n, GenerateKinds[kind]);
  *rows = (PetscInt)(all * *dof);
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode FamilyCreate(GenerateKind kind, PetscInt n, PetscInt layers, Family *f)
{
  PetscFunctionBegin;
  PetscCall(PetscMemzero(f, sizeof(*f)));
  f->n      = n;
  f->layers = layers;
  PetscCall(GenerateRowCount(kind, n, layers, &f->rows, &f->dof));
  f->most   = n;
  f->sorted = PETSC_TRUE;
  switch (kind) {
  case GENERATE_POISSON7:
    f->row  = StarRow;
    f->most = 7;
    break;
  case GENERATE_BANDED:
    f->row  = BandedRow;
    f->most = 2 * HALF_BANDWIDTH + 1;
    break;
  case GENERATE_RANDOM:
    f->row    = RandomRow;
    f->most   = ROW_ENTRIES;
    f->sorted = PETSC_FALSE;
    break;
  case GENERATE_RMAT:
    f->row    = RMATRow;
    f->sorted = PETSC_FALSE;
    PetscCall(RMATSetUp(f));
    break;
  case GENERATE_ARROW:
    f->row = ArrowRow;
    break;
  case GENERATE_TETRA:
    f->row    = TetraRow;
    f->most   = 15 * f->dof;
    f->sorted = PETSC_FALSE;
    PetscCall(TetraSetUp(f));
    break;
  case GENERATE_BLOCKARROW:
    f->row  = BlockArrowRow;
    f->most = PetscMax(n, BLOCK + ARROW_ROWS);
    break;
  case GENERATE_POWERLAW:
    f->row    = PowerLawRow;
    f->most   = n / 4 + 1;
    f->sorted = PETSC_FALSE;
    PetscCall(GeneratePermutation(SEED_RANK, n, &f->rank));
    break;
  default:
    f->row  = BoxRow;
    f->most = 27 * f->dof;
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode FamilyDestroy(Family *f)
{
  PetscFunctionBegin;
  PetscCall(PetscFree(f->node));
  PetscCall(PetscFree(f->number));
  PetscCall(PetscFree(f->rank));
  PetscCall(PetscFree(f->start));
  PetscCall(PetscFree(f->col));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*
   Rows rstart to rend - 1 of what a source describes. permuted puts rows and columns in the same random order. Values
   follow from places
*/
PetscErrorCode GenerateFrom(const GenerateSource *s, PetscBool permuted, PetscInt rstart, PetscInt rend, GenerateCSR *csr)
{
  const PetscInt m   = rend - rstart;
  PetscInt      *old = NULL, *new = NULL;
  PetscCount     count = 0, room = (PetscCount)m * PetscMin(s->most, 2 * ROW_ENTRIES) + s->most;

  PetscFunctionBegin;
  if (permuted) {
    PetscCall(GeneratePermutation(SEED_PERMUTATION, s->rows, &old));
    PetscCall(Inverse(s->rows, old, &new));
  }
  csr->m = m;
  csr->n = s->rows;
  PetscCall(PetscMalloc1(m + 1, &csr->i));
  PetscCall(PetscMalloc1(room, &csr->j));
  csr->i[0] = 0;
  for (PetscInt r = 0; r < m; r++) {
    PetscInt *col, k;

    if (room - count < s->most) { /* memory that is not touched costs nothing */
      room = 2 * room;
      PetscCall(PetscRealloc((size_t)room * sizeof(*csr->j), &csr->j));
    }
    col = csr->j + count;
    k   = s->row(s->ctx, permuted ? old[rstart + r] : rstart + r, col);
    for (PetscInt c = 0; permuted && c < k; c++) col[c] = new[col[c]];
    if (permuted || !s->sorted) PetscCall(PetscSortRemoveDupsInt(&k, col));
    count += k;
    PetscCall(PetscIntCast(count, &csr->i[r + 1]));
  }
  PetscCall(PetscMalloc1(count, &csr->a));
  for (PetscInt r = 0; r < m; r++) {
    for (PetscInt k = csr->i[r]; k < csr->i[r + 1]; k++) csr->a[k] = GenerateValue(rstart + r, csr->j[k]);
  }
  PetscCall(PetscFree(old));
  PetscCall(PetscFree(new));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscInt FamilyRow(void *f, PetscInt row, PetscInt col[])
{
  return ((const Family *)f)->row((const Family *)f, row, col);
}

/*
   Rows rstart to rend - 1 of a matrix. Those of grids have layers of n x n nodes. The others have n rows and no layers.
   permuted puts rows and columns in the same random order.
*/
PetscErrorCode GenerateRows(GenerateKind kind, PetscInt n, PetscInt layers, PetscBool permuted, PetscInt rstart, PetscInt rend, GenerateCSR *csr)
{
  Family f;

  PetscFunctionBegin;
  PetscCall(FamilyCreate(kind, n, layers, &f));
  PetscCall(GenerateFrom(&(GenerateSource){.rows = f.rows, .most = f.most, .sorted = f.sorted, .row = FamilyRow, .ctx = &f}, permuted, rstart, rend, csr));
  PetscCall(FamilyDestroy(&f));
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode GenerateCSRDestroy(GenerateCSR *csr)
{
  PetscFunctionBegin;
  PetscCall(PetscFree(csr->i));
  PetscCall(PetscFree(csr->j));
  PetscCall(PetscFree(csr->a));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*
   Fill A. Its type is a kind of AIJ and is set, its sizes are not. A grid has n nodes a side. The other arguments are
   those of GenerateRows()
*/
PetscErrorCode GenerateMatrix(GenerateKind kind, PetscInt n, PetscBool permuted, Mat A)
{
  PetscInt    rows, dof, nodes, mine = PETSC_DECIDE, rstart, rend;
  GenerateCSR csr;

  PetscFunctionBegin;
  PetscCall(GenerateRowCount(kind, n, n, &rows, &dof));
  nodes = rows / dof;
  PetscCall(PetscSplitOwnership(PetscObjectComm((PetscObject)A), &mine, &nodes));
  PetscCall(MatSetSizes(A, mine * dof, mine * dof, rows, rows));
  if (!permuted) PetscCall(MatSetBlockSize(A, dof));
  PetscCall(MatSetUp(A));
  PetscCall(MatGetOwnershipRange(A, &rstart, &rend));
  PetscCall(GenerateRows(kind, n, n, permuted, rstart, rend, &csr));
  PetscCall(MatSeqAIJSetPreallocationCSR(A, csr.i, csr.j, csr.a));
  PetscCall(MatMPIAIJSetPreallocationCSR(A, csr.i, csr.j, csr.a));
  PetscCall(GenerateCSRDestroy(&csr));
  PetscFunctionReturn(PETSC_SUCCESS);
}
