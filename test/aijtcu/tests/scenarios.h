/*
   What is done while calls fail. Each scenario prepares something, and then does it.
*/
#pragma once

#include <petscksp.h>
#include <petscviewer.h>
#if PetscDefined(HAVE_CUDA)
  #include <petscdevice_cuda.h>
#endif
#include "petscaijtcu.h"

/*
   The matrix of all scenarios is a ring, so it looks the same from each process. Its entries and those of B are small
   whole numbers, whose products have no roundings: right means equal.
*/
enum {
  ROWS = 48,
  COLS = 3
};
#define FILENAME "faults.dat" /* a file in the folder of the test */

static MatType tested = MATAIJTCU; /* type of A; or MATAIJCUSPARSE, with products that are ours */

typedef struct World_ World;
struct World_ {
  Mat         A, B, C; /* C = A B, or A^T B, once it is made. With the operator L: C = L B */
  Mat         M;       /* another matrix with the entries of A, once it is made */
  Mat         X;       /* an operand, or the factor of A's block on this process, once it is made */
  Vec         x, y;    /* vectors of the host, y = A x, once they are made. With the block of A: x = A y */
  IS          rows;    /* rows of that block */
  PC          pc;
  KSP         ksp;
  PetscViewer viewer;
  PetscInt    values, pattern; /* the values that A has */
  PetscInt    factor, shift;   /* times that factor, and this much more on the diagonal */
  PetscBool   transposed;
  Mat         S; /* A .* (B B^T), or what a map makes of it, once it is made */
  Mat         P; /* B B^T at the entries of A, once it is made */
  Mat         L; /* the operator of S, once it is made */
  PetscReal (*entry)(const World *, PetscInt, PetscInt);
  PetscErrorCode (*check)(const World *, PetscBool *); /* whether all entries are right: those of S, or products with L */
};

static PetscInt EntryA(PetscInt values, PetscInt pattern, PetscInt i, PetscInt j)
{
  const PetscInt d = PetscAbsInt(i - j), ring = PetscMin(d, ROWS - d);

  if (ring > 2 && ring != ROWS / 2 && !(pattern && ring == 5)) return 0;
  return 1 + (i + j + values) % 7; /* A is symmetric */
}

static PetscInt EntryB(PetscInt i, PetscInt j)
{
  return (3 * i + 5 * j) % 11 - 4;
}

static PetscErrorCode Fill(Mat A, PetscInt values, PetscInt pattern)
{
  PetscInt begin, end;

  PetscFunctionBegin;
  PetscCall(MatGetOwnershipRange(A, &begin, &end));
  for (PetscInt i = begin; i < end; i++) {
    for (PetscInt j = 0; j < ROWS; j++) {
      const PetscInt a = EntryA(values, pattern, i, j);

      if (a) PetscCall(MatSetValue(A, i, j, (PetscScalar)a, INSERT_VALUES));
    }
  }
  PetscCall(MatAssemblyBegin(A, MAT_FINAL_ASSEMBLY));
  PetscCall(MatAssemblyEnd(A, MAT_FINAL_ASSEMBLY));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Set the values again, by coordinates. The coordinates are set the first time, and for another pattern */
static PetscErrorCode FillCOO(Mat A, PetscBool coordinates, PetscInt values, PetscInt pattern)
{
  static PetscInt    row[ROWS * ROWS], col[ROWS * ROWS];
  static PetscScalar value[ROWS * ROWS];
  PetscInt           begin, end, n = 0;

  PetscFunctionBegin;
  PetscCall(MatGetOwnershipRange(A, &begin, &end));
  for (PetscInt i = begin; i < end; i++) {
    for (PetscInt j = 0; j < ROWS; j++) {
      const PetscInt a = EntryA(values, pattern, i, j);

      if (!a) continue;
      row[n]     = i;
      col[n]     = j;
      value[n++] = (PetscScalar)a;
    }
  }
  if (coordinates) PetscCall(MatSetPreallocationCOO(A, n, row, col));
  PetscCall(MatSetValuesCOO(A, value, INSERT_VALUES));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Make A as a program does: set the type, then read the options */
static PetscErrorCode Create(MatType type, PetscInt values, PetscInt pattern, Mat *A)
{
  PetscFunctionBegin;
  PetscCall(MatCreate(PETSC_COMM_WORLD, A));
  PetscCall(MatSetSizes(*A, PETSC_DECIDE, PETSC_DECIDE, ROWS, ROWS));
  PetscCall(MatSetType(*A, type));
  PetscCall(MatSetFromOptions(*A));
  PetscCall(MatSeqAIJSetPreallocation(*A, 8, NULL));
  PetscCall(MatMPIAIJSetPreallocation(*A, 8, NULL, 8, NULL));
  PetscCall(MatSetOption(*A, MAT_NEW_NONZERO_LOCATION_ERR, PETSC_FALSE));
  PetscCall(Fill(*A, values, pattern));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode CreateB(Mat *B)
{
  PetscInt  begin, end;
  PetscBool cuda = PETSC_FALSE;

  PetscFunctionBegin;
  PetscCall(PetscOptionsGetBool(NULL, NULL, "-dense_cuda", &cuda, NULL));
  PetscCall(MatCreate(PETSC_COMM_WORLD, B));
  PetscCall(MatSetSizes(*B, PETSC_DECIDE, PETSC_DECIDE, ROWS, COLS));
  PetscCall(MatSetType(*B, cuda ? MATDENSECUDA : MATDENSE));
  PetscCall(MatSetUp(*B));
  PetscCall(MatGetOwnershipRange(*B, &begin, &end));
  for (PetscInt i = begin; i < end; i++) {
    for (PetscInt j = 0; j < COLS; j++) PetscCall(MatSetValue(*B, i, j, (PetscScalar)EntryB(i, j), INSERT_VALUES));
  }
  PetscCall(MatAssemblyBegin(*B, MAT_FINAL_ASSEMBLY));
  PetscCall(MatAssemblyEnd(*B, MAT_FINAL_ASSEMBLY));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode WorldCreate(World *w)
{
  PetscFunctionBegin;
  PetscCall(PetscMemzero(w, sizeof(*w)));
  w->factor = 1;
  PetscCall(CreateB(&w->B));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Whether rows of an array, from begin on, are those of the first ncols columns of A B */
static PetscBool AreRows(const World *w, const PetscScalar c[], PetscInt ldc, PetscInt ncols, PetscInt begin, PetscInt end)
{
  for (PetscInt i = begin; i < end; i++) {
    for (PetscInt n = 0; n < ncols; n++) {
      PetscInt sum = w->shift * EntryB(i, n);

      for (PetscInt j = 0; j < ROWS; j++) sum += w->factor * EntryA(w->values, w->pattern, i, j) * EntryB(j, n);
      if (c[i - begin + n * ldc] != (PetscScalar)sum) return PETSC_FALSE;
    }
  }
  return PETSC_TRUE;
}

/* AreRows(), or AreOperatorRows() */
typedef PetscBool (*Rows)(const World *, const PetscScalar[], PetscInt, PetscInt, PetscInt, PetscInt);

static PetscErrorCode IsDense(const World *w, Mat C, Rows are, PetscBool *is)
{
  const PetscScalar *c;
  PetscInt           begin, end, ldc;

  PetscFunctionBegin;
  PetscCall(MatGetOwnershipRange(C, &begin, &end));
  PetscCall(MatDenseGetLDA(C, &ldc));
  PetscCall(MatDenseGetArrayRead(C, &c));
  *is = (*are)(w, c, ldc, COLS, begin, end);
  PetscCall(MatDenseRestoreArrayRead(C, &c));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode IsVector(const World *w, Rows are, PetscBool *is)
{
  const PetscScalar *y;
  PetscInt           begin, end;

  PetscFunctionBegin;
  PetscCall(VecGetOwnershipRange(w->y, &begin, &end));
  PetscCall(VecGetArrayRead(w->y, &y));
  *is = (*are)(w, y, ROWS, 1, begin, end);
  PetscCall(VecRestoreArrayRead(w->y, &y));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode IsProduct(Mat C, const World *w, PetscBool *is)
{
  PetscFunctionBegin;
  PetscCall(IsDense(w, C, AreRows, is));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode IsProductWithVector(const World *w, PetscBool *is)
{
  PetscFunctionBegin;
  PetscCall(IsVector(w, AreRows, is));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* x = D y with the block D of A on this process */
static PetscErrorCode IsSolution(const World *w, PetscBool *is)
{
  Mat       D;
  Vec       r;
  PetscReal norm;

  PetscFunctionBegin;
  PetscCall(MatGetDiagonalBlock(w->A, &D));
  PetscCall(VecDuplicate(w->x, &r));
  PetscCall(MatMult(D, w->y, r));
  PetscCall(VecAXPY(r, -1, w->x));
  PetscCall(VecNorm(r, NORM_INFINITY, &norm));
  *is = (PetscBool)(norm < 100 * PETSC_MACHINE_EPSILON); /* sum of x, which is 1 everywhere */
  PetscCall(VecDestroy(&r));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Like the factor of ILU in place of a seqaij */
static PetscErrorCode IsIncompleteSolution(const World *w, PetscBool *is)
{
  MatFactorInfo info;
  Mat           D, R;
  Vec           r;
  PetscReal     norm;

  PetscFunctionBegin;
  PetscCall(MatFactorInfoInitialize(&info));
  PetscCall(MatGetDiagonalBlock(w->A, &D));
  PetscCall(MatConvert(D, MATSEQAIJ, MAT_INITIAL_MATRIX, &R));
  PetscCall(MatILUFactor(R, w->rows, w->rows, &info));
  PetscCall(VecDuplicate(w->y, &r));
  PetscCall(MatSolve(R, w->x, r));
  PetscCall(VecAXPY(r, -1, w->y));
  PetscCall(VecNorm(r, NORM_INFINITY, &norm));
  *is = (PetscBool)(norm < 100 * PETSC_MACHINE_EPSILON);
  PetscCall(VecDestroy(&r));
  PetscCall(MatDestroy(&R));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* What S must be. Softmax is the only map that has roundings */
enum {
  SLOPE = 2
};

static PetscReal EntryP(PetscInt i, PetscInt j)
{
  PetscInt sum = 0;

  for (PetscInt l = 0; l < COLS; l++) sum += EntryB(i, l) * EntryB(j, l);
  return (PetscReal)sum;
}

static PetscReal EntrySampled(const World *w, PetscInt i, PetscInt j)
{
  return (PetscReal)EntryA(w->values, w->pattern, i, j) * EntryP(i, j);
}

static PetscReal EntryApplied(const World *w, PetscInt i, PetscInt j)
{
  (void)w;
  (void)i;
  (void)j;
  return 0;
}

#if !PetscDefined(USE_COMPLEX)
static PetscReal EntrySoftmax(const World *w, PetscInt i, PetscInt j)
{
  PetscReal most = PETSC_NINFINITY, sum = 0;

  for (PetscInt l = 0; l < ROWS; l++) {
    if (EntryA(w->values, w->pattern, i, l)) most = PetscMax(most, EntrySampled(w, i, l));
  }
  for (PetscInt l = 0; l < ROWS; l++) {
    if (EntryA(w->values, w->pattern, i, l)) sum += PetscExpReal(EntrySampled(w, i, l) - most);
  }
  return EntryA(w->values, w->pattern, i, j) ? PetscExpReal(EntrySampled(w, i, j) - most) / sum : 0;
}

/* At A, whose rows need not add up to one */
static PetscReal EntrySoftmaxGradient(const World *w, PetscInt i, PetscInt j)
{
  PetscReal sum = 0;

  for (PetscInt l = 0; l < ROWS; l++) sum += (PetscReal)EntryA(w->values, w->pattern, i, l) * EntrySampled(w, i, l);
  return (PetscReal)EntryA(w->values, w->pattern, i, j) * (EntrySampled(w, i, j) - sum);
}

/* P has the signs of S, so this is its gradient at P, too */
static PetscReal EntryLeakyReLU(const World *w, PetscInt i, PetscInt j)
{
  const PetscReal s = EntrySampled(w, i, j);

  return s > 0 ? s : SLOPE * s;
}
#endif

/* Equal but for roundings: whole numbers here are so small that two of them differ by more */
static PetscBool IsNumber(PetscScalar is, PetscReal want)
{
  return (PetscBool)(PetscAbsScalar(is - want) <= PETSC_MACHINE_EPSILON * (100 + 4 * PetscAbsReal(want)));
}

static PetscErrorCode IsSampled(const World *w, PetscBool *is)
{
  PetscInt begin, end;

  PetscFunctionBegin;
  *is = PETSC_TRUE;
  PetscCall(MatGetOwnershipRange(w->S, &begin, &end));
  for (PetscInt i = begin; i < end; i++) {
    const PetscInt    *cols;
    const PetscScalar *values;
    PetscInt           n, expected = 0;

    for (PetscInt j = 0; j < ROWS; j++) expected += EntryA(w->values, w->pattern, i, j) != 0;
    PetscCall(MatGetRow(w->S, i, &n, &cols, &values));
    if (n != expected) *is = PETSC_FALSE;
    for (PetscInt e = 0; e < n; e++) {
      if (!EntryA(w->values, w->pattern, i, cols[e]) || !IsNumber(values[e], (*w->entry)(w, i, cols[e]))) *is = PETSC_FALSE;
    }
    PetscCall(MatRestoreRow(w->S, i, &n, &cols, &values));
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Whether rows of an array, from begin on, are those of the first ncols columns of L B */
static PetscBool AreOperatorRows(const World *w, const PetscScalar c[], PetscInt ldc, PetscInt ncols, PetscInt begin, PetscInt end)
{
  for (PetscInt i = begin; i < end; i++) {
    for (PetscInt n = 0; n < ncols; n++) {
      PetscReal sum = 0;

      for (PetscInt j = 0; j < ROWS; j++) sum += (*w->entry)(w, i, j) * (PetscReal)EntryB(j, n);
      if (!IsNumber(c[i - begin + n * ldc], sum)) return PETSC_FALSE;
    }
  }
  return PETSC_TRUE;
}

static PetscErrorCode IsOperatorProduct(const World *w, PetscBool *is)
{
  PetscFunctionBegin;
  PetscCall(IsDense(w, w->C, AreOperatorRows, is));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode IsOperatorProductWithVector(const World *w, PetscBool *is)
{
  PetscFunctionBegin;
  PetscCall(IsVector(w, AreOperatorRows, is));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode IsOperatorDiagonal(const World *w, PetscBool *is)
{
  const PetscScalar *y;
  PetscInt           begin, end;

  PetscFunctionBegin;
  *is = PETSC_TRUE;
  PetscCall(VecGetOwnershipRange(w->y, &begin, &end));
  PetscCall(VecGetArrayRead(w->y, &y));
  for (PetscInt i = begin; i < end; i++) {
    if (!IsNumber(y[i - begin], (*w->entry)(w, i, i))) *is = PETSC_FALSE;
  }
  PetscCall(VecRestoreArrayRead(w->y, &y));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode Product(World *w, MatReuse reuse, Mat *C)
{
  PetscFunctionBegin;
  if (w->transposed) PetscCall(MatTransposeMatMult(w->A, w->B, reuse, PETSC_DETERMINE, C));
  else PetscCall(MatMatMult(w->A, w->B, reuse, PETSC_DETERMINE, C));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* The scenarios: what is prepared, and what is then done while calls fail */
static PetscErrorCode ReadyA(World *w)
{
  PetscFunctionBegin;
  PetscCall(Create(tested, 0, 0, &w->A));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode ReadyAIJ(World *w)
{
  PetscFunctionBegin;
  PetscCall(Create(MATAIJ, 0, 0, &w->A));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode ReadySymmetric(World *w)
{
  PetscFunctionBegin;
  PetscCall(ReadyA(w));
  PetscCall(MatSetOption(w->A, MAT_SYMMETRIC, PETSC_TRUE));
  w->transposed = PETSC_TRUE;
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode ReadyUnsymmetric(World *w)
{
  PetscFunctionBegin;
  PetscCall(ReadyA(w));
  w->transposed = PETSC_TRUE; /* the matrix is symmetric, but is not marked so */
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode ReadyProduct(World *w)
{
  PetscFunctionBegin;
  PetscCall(ReadyA(w));
  PetscCall(Product(w, MAT_INITIAL_MATRIX, &w->C));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode ReadyNewValues(World *w)
{
  PetscFunctionBegin;
  PetscCall(ReadyProduct(w));
  PetscCall(Fill(w->A, w->values = 2, 0));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode ReadyNewPattern(World *w)
{
  PetscFunctionBegin;
  PetscCall(ReadyProduct(w));
  PetscCall(Fill(w->A, w->values = 1, w->pattern = 1));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode ReadyDestroy(World *w)
{
  PetscFunctionBegin;
  PetscCall(ReadyProduct(w));
  PetscCall(MatDestroy(&w->C)); /* it has a reference to A */
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode ReadyAIJCopy(World *w)
{
  PetscFunctionBegin;
  PetscCall(ReadyProduct(w));
  PetscCall(MatConvert(w->A, MATAIJ, MAT_INITIAL_MATRIX, &w->M));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode CreateVectors(World *w)
{
  PetscInt begin, end;

  PetscFunctionBegin;
  PetscCall(VecCreate(PETSC_COMM_WORLD, &w->x));
  PetscCall(VecSetSizes(w->x, PETSC_DECIDE, ROWS));
  PetscCall(VecSetType(w->x, VECSTANDARD));
  PetscCall(VecDuplicate(w->x, &w->y));
  PetscCall(VecGetOwnershipRange(w->x, &begin, &end));
  for (PetscInt i = begin; i < end; i++) PetscCall(VecSetValue(w->x, i, (PetscScalar)EntryB(i, 0), INSERT_VALUES));
  PetscCall(VecAssemblyBegin(w->x));
  PetscCall(VecAssemblyEnd(w->x));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode ReadyVectors(World *w)
{
  PetscFunctionBegin;
  PetscCall(ReadyA(w));
  PetscCall(CreateVectors(w));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode ReadyOperand(World *w)
{
  PetscFunctionBegin;
  PetscCall(ReadyProduct(w));
  PetscCall(CreateVectors(w));
  PetscCall(Create(MATAIJTCU, 2, 0, &w->X));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode ReadyOtherPattern(World *w)
{
  PetscFunctionBegin;
  PetscCall(ReadyProduct(w));
  PetscCall(Create(MATAIJTCU, 2, 1, &w->X));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode ReadyCOO(World *w)
{
  PetscFunctionBegin;
  PetscCall(ReadyA(w));
  PetscCall(FillCOO(w->A, PETSC_TRUE, 0, 0));
  PetscCall(Product(w, MAT_INITIAL_MATRIX, &w->C));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Every block of A is positive definite: the sum of a row is below the shift */
static PetscErrorCode ReadyFactor(World *w)
{
  Mat      D;
  PetscInt n;

  PetscFunctionBegin;
  PetscCall(ReadyA(w));
  PetscCall(MatShift(w->A, (PetscScalar)(w->shift = 64)));
  PetscCall(MatSetOption(w->A, MAT_SYMMETRIC, PETSC_TRUE));
  PetscCall(Product(w, MAT_INITIAL_MATRIX, &w->C));
  PetscCall(MatGetDiagonalBlock(w->A, &D));
  PetscCall(MatCreateVecs(D, &w->y, &w->x));
  PetscCall(VecSet(w->x, 1));
  PetscCall(VecGetLocalSize(w->x, &n));
  PetscCall(ISCreateStride(PETSC_COMM_SELF, n, 0, 1, &w->rows));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* An incomplete factor gives no solution */
static PetscErrorCode ReadyIncompleteFactor(World *w)
{
  PetscFunctionBegin;
  PetscCall(ReadyFactor(w));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* The other pattern contains this one */
static PetscErrorCode ReadyZeros(World *w)
{
  PetscInt begin, end;

  PetscFunctionBegin;
  PetscCall(ReadyA(w));
  PetscCall(MatGetOwnershipRange(w->A, &begin, &end));
  for (PetscInt i = begin; i < end; i++) {
    for (PetscInt j = 0; j < ROWS; j++) {
      if (EntryA(0, 1, i, j)) PetscCall(MatSetValue(w->A, i, j, (PetscScalar)EntryA(0, 0, i, j), INSERT_VALUES));
    }
  }
  PetscCall(MatAssemblyBegin(w->A, MAT_FINAL_ASSEMBLY));
  PetscCall(MatAssemblyEnd(w->A, MAT_FINAL_ASSEMBLY));
  PetscCall(Product(w, MAT_INITIAL_MATRIX, &w->C));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Blocks of one and of two rows */
static PetscErrorCode ReadyVariableBlocks(World *w)
{
  PetscInt n, sizes[ROWS];

  PetscFunctionBegin;
  PetscCall(ReadyProduct(w));
  PetscCall(MatGetLocalSize(w->A, &n, NULL));
  for (PetscInt i = 0; i < n / 3 * 2; i++) sizes[i] = 1 + i % 2;
  PetscCall(MatSetVariableBlockSizes(w->A, n / 3 * 2, sizes));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode ReadyView(World *w)
{
  PetscFunctionBegin;
  PetscCall(ReadyProduct(w));
  PetscCall(PetscViewerASCIIOpen(PETSC_COMM_WORLD, "/dev/null", &w->viewer));
  PetscCall(PetscViewerPushFormat(w->viewer, PETSC_VIEWER_ASCII_INFO));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode ReadyFile(World *w)
{
  PetscFunctionBegin;
  PetscCall(ReadyA(w));
  PetscCall(PetscViewerBinaryOpen(PETSC_COMM_WORLD, FILENAME, FILE_MODE_WRITE, &w->viewer));
  PetscCall(MatView(w->A, w->viewer));
  PetscCall(PetscViewerDestroy(&w->viewer));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode Sampled(World *w)
{
  PetscFunctionBegin;
  PetscCall(MatSampledMatTransposeMult(w->A, w->B, w->B, PETSC_TRUE, w->S ? MAT_REUSE_MATRIX : MAT_INITIAL_MATRIX, &w->S));
  w->entry = EntrySampled;
  w->check = IsSampled;
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode ReadySampled(World *w)
{
  PetscFunctionBegin;
  PetscCall(ReadyA(w));
  PetscCall(Sampled(w));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode ReadySampledNewValues(World *w)
{
  PetscFunctionBegin;
  PetscCall(ReadySampled(w));
  PetscCall(Fill(w->A, w->values = 2, 0));
  PetscFunctionReturn(PETSC_SUCCESS);
}

#if !PetscDefined(USE_COMPLEX)
static PetscErrorCode ReadySampledTwice(World *w)
{
  PetscFunctionBegin;
  PetscCall(ReadySampled(w));
  PetscCall(MatSampledMatTransposeMult(w->A, w->B, w->B, PETSC_FALSE, MAT_INITIAL_MATRIX, &w->P));
  PetscFunctionReturn(PETSC_SUCCESS);
}
#endif

static PetscErrorCode ReadyOperator(World *w)
{
  PetscFunctionBegin;
  PetscCall(ReadyVectors(w));
  PetscCall(MatCreateSampledLR(w->A, w->B, w->B, PETSC_TRUE, &w->L));
  w->entry = EntrySampled;
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode ReadyOperatorProduct(World *w)
{
  PetscFunctionBegin;
  PetscCall(ReadyOperator(w));
  PetscCall(MatMatMult(w->L, w->B, MAT_INITIAL_MATRIX, PETSC_DETERMINE, &w->C));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* The values of S are there, and are to be replaced */
static PetscErrorCode ReadyOperatorNewValues(World *w)
{
  PetscFunctionBegin;
  PetscCall(ReadyOperatorProduct(w));
  PetscCall(MatMult(w->L, w->x, w->y));
  PetscCall(Fill(w->A, w->values = 2, 0));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode ReadyOperatorNewPattern(World *w)
{
  PetscFunctionBegin;
  PetscCall(ReadyOperator(w));
  PetscCall(MatMult(w->L, w->x, w->y));
  PetscCall(Fill(w->A, w->values = 1, w->pattern = 1));
  PetscFunctionReturn(PETSC_SUCCESS);
}

#if !PetscDefined(USE_COMPLEX)
static PetscErrorCode ReadyOperatorSoftmax(World *w)
{
  PetscFunctionBegin;
  PetscCall(ReadyOperator(w));
  PetscCall(MatSampledLRSetSoftmax(w->L, PETSC_TRUE));
  w->entry = EntrySoftmax;
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* The values that were made are not wanted any more, though nothing has changed that they were made of */
static PetscErrorCode ReadyOperatorSoftmaxAnew(World *w)
{
  PetscFunctionBegin;
  PetscCall(ReadyOperator(w));
  PetscCall(MatMult(w->L, w->x, w->y));
  PetscCall(MatSampledLRSetSoftmax(w->L, PETSC_TRUE));
  w->entry = EntrySoftmax;
  PetscFunctionReturn(PETSC_SUCCESS);
}
#endif

static PetscErrorCode DoCreate(World *w)
{
  PetscFunctionBegin;
  PetscCall(Create(MATAIJTCU, 0, 0, &w->M));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode DoAssemble(World *w)
{
  PetscFunctionBegin;
  PetscCall(Fill(w->A, 3, 0));
  w->values = 3;
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode DoCoordinates(World *w)
{
  PetscFunctionBegin;
  PetscCall(FillCOO(w->A, PETSC_TRUE, 3, 1));
  w->values  = 3;
  w->pattern = 1;
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode DoCoordinateValues(World *w)
{
  PetscFunctionBegin;
  PetscCall(FillCOO(w->A, PETSC_FALSE, 3, 0));
  w->values = 3;
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Can be repeated with any values in A. So a step that changes A's values begins with it */
static PetscErrorCode DoCopy(World *w)
{
  PetscFunctionBegin;
  PetscCall(MatCopy(w->X, w->A, SAME_NONZERO_PATTERN));
  w->values = 2;
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode DoAXPY(World *w)
{
  PetscFunctionBegin;
  PetscCall(DoCopy(w));
  PetscCall(MatAXPY(w->A, 2, w->X, SAME_NONZERO_PATTERN));
  w->factor = 3;
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode DoAXPYOtherPattern(World *w)
{
  PetscFunctionBegin;
  PetscCall(MatZeroEntries(w->A));
  PetscCall(MatAXPY(w->A, 5, w->X, DIFFERENT_NONZERO_PATTERN));
  w->values  = 2;
  w->pattern = 1;
  w->factor  = 5;
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode DoScale(World *w)
{
  PetscFunctionBegin;
  PetscCall(DoCopy(w));
  PetscCall(MatScale(w->A, 2));
  w->factor = 2;
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode DoDiagonalScale(World *w)
{
  PetscFunctionBegin;
  PetscCall(DoCopy(w));
  PetscCall(VecSet(w->y, 2));
  PetscCall(VecSet(w->x, 3));
  PetscCall(MatDiagonalScale(w->A, w->y, w->x));
  w->factor = 6;
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode DoShift(World *w)
{
  PetscFunctionBegin;
  PetscCall(DoCopy(w));
  PetscCall(MatShift(w->A, 4));
  w->shift = 4;
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode DoStoreAndRetrieve(World *w)
{
  PetscFunctionBegin;
  PetscCall(DoCopy(w));
  PetscCall(MatSetOption(w->A, MAT_NEW_NONZERO_LOCATIONS, PETSC_FALSE));
  PetscCall(MatStoreValues(w->A));
  PetscCall(MatScale(w->A, 2));
  PetscCall(MatRetrieveValues(w->A));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* If the assembly at the end fails, the caller repeats it */
static PetscErrorCode DoEliminateZeros(World *w)
{
  PetscBool assembled;

  PetscFunctionBegin;
  PetscCall(MatAssembled(w->A, &assembled));
  if (!assembled) {
    PetscCall(MatAssemblyBegin(w->A, MAT_FINAL_ASSEMBLY));
    PetscCall(MatAssemblyEnd(w->A, MAT_FINAL_ASSEMBLY));
  }
  PetscCall(MatEliminateZeros(w->A, PETSC_FALSE));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode DoLU(World *w)
{
  MatFactorInfo info;
  Mat           D;

  PetscFunctionBegin;
  PetscCall(MatFactorInfoInitialize(&info));
  PetscCall(MatGetDiagonalBlock(w->A, &D));
  PetscCall(MatGetFactor(D, NULL, MAT_FACTOR_LU, &w->X));
  PetscCall(MatLUFactorSymbolic(w->X, D, w->rows, w->rows, &info));
  PetscCall(MatLUFactorNumeric(w->X, D, &info));
  PetscCall(MatSolve(w->X, w->x, w->y));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode DoCholesky(World *w)
{
  MatFactorInfo info;
  Mat           D;

  PetscFunctionBegin;
  PetscCall(MatFactorInfoInitialize(&info));
  PetscCall(MatGetDiagonalBlock(w->A, &D));
  PetscCall(MatGetFactor(D, NULL, MAT_FACTOR_CHOLESKY, &w->X));
  PetscCall(MatCholeskyFactorSymbolic(w->X, D, w->rows, &info));
  PetscCall(MatCholeskyFactorNumeric(w->X, D, &info));
  PetscCall(MatSolve(w->X, w->x, w->y));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* For a copy of the diagonal block, converted to a type if one is named */
static PetscErrorCode FactorInPlace(World *w, MatType type, PetscErrorCode (*factor)(Mat, IS, IS, const MatFactorInfo *))
{
  MatFactorInfo info;
  Mat           D;

  PetscFunctionBegin;
  PetscCall(MatFactorInfoInitialize(&info));
  PetscCall(MatGetDiagonalBlock(w->A, &D));
  PetscCall(MatDuplicate(D, MAT_COPY_VALUES, &w->X));
  if (type) PetscCall(MatConvert(w->X, type, MAT_INPLACE_MATRIX, &w->X));
  PetscCall((*factor)(w->X, w->rows, w->rows, &info));
  PetscCall(MatSolve(w->X, w->x, w->y));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode DoLUInPlace(World *w)
{
  PetscFunctionBegin;
  PetscCall(FactorInPlace(w, NULL, MatLUFactor));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode DoILUInPlace(World *w)
{
  PetscFunctionBegin;
  /* A copy of a block on a device is an aijcusparse, which PETSc cannot destroy then */
  PetscCall(FactorInPlace(w, MATAIJTCU, MatILUFactor));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode DoSetType(World *w)
{
  PetscFunctionBegin;
  PetscCall(MatSetType(w->A, MATAIJTCU));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode DoConvert(World *w)
{
  PetscFunctionBegin;
  PetscCall(MatConvert(w->A, MATAIJTCU, MAT_INITIAL_MATRIX, &w->M));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode DoConvertBack(World *w)
{
  PetscFunctionBegin;
  PetscCall(MatConvert(w->A, MATAIJ, w->M ? MAT_REUSE_MATRIX : MAT_INITIAL_MATRIX, &w->M));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode DoConvertInPlace(World *w)
{
  PetscFunctionBegin;
  PetscCall(MatConvert(w->A, MATAIJ, MAT_INPLACE_MATRIX, &w->A));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode DoDuplicate(World *w)
{
  PetscFunctionBegin;
  PetscCall(MatDuplicate(w->A, MAT_COPY_VALUES, &w->M));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode DoProduct(World *w)
{
  PetscFunctionBegin;
  PetscCall(Product(w, w->C ? MAT_REUSE_MATRIX : MAT_INITIAL_MATRIX, &w->C));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode DoMult(World *w)
{
  PetscFunctionBegin;
  PetscCall(MatMult(w->A, w->x, w->y));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* The other functions that take vectors */
static PetscErrorCode DoOtherMults(World *w)
{
  PetscFunctionBegin;
  PetscCall(MatMultTranspose(w->A, w->y, w->x));
  PetscCall(MatMultAdd(w->A, w->x, w->y, w->y));
  PetscCall(MatMultTransposeAdd(w->A, w->y, w->x, w->x));
  PetscCall(MatGetDiagonal(w->A, w->y));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode DoBind(World *w)
{
  PetscFunctionBegin;
  PetscCall(MatBindToCPU(w->A, PETSC_TRUE));
  PetscCall(MatBindToCPU(w->A, PETSC_FALSE));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Every second row of the process, of all columns; or all of A */
static PetscErrorCode CreateRows(const World *w, MPI_Comm comm, PetscInt step, IS *rows)
{
  PetscInt begin, end;

  PetscFunctionBegin;
  PetscCall(MatGetOwnershipRange(w->A, &begin, &end));
  PetscCall(ISCreateStride(comm, (end - begin) / step, begin, step, rows));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* All of A as a submatrix. One index set for rows and columns would return A itself */
static PetscErrorCode DoSubmatrix(World *w)
{
  IS             rows, cols;
  PetscErrorCode ierr;

  PetscFunctionBegin;
  PetscCall(CreateRows(w, PETSC_COMM_WORLD, 1, &rows));
  PetscCall(CreateRows(w, PETSC_COMM_WORLD, 1, &cols));
  ierr = MatCreateSubMatrix(w->A, rows, cols, MAT_INITIAL_MATRIX, &w->M);
  PetscCall(ISDestroy(&rows));
  PetscCall(ISDestroy(&cols));
  PetscCall(ierr);
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* A permutation that moves nothing */
static PetscErrorCode DoPermute(World *w)
{
  IS             rows;
  PetscErrorCode ierr;

  PetscFunctionBegin;
  PetscCall(CreateRows(w, PETSC_COMM_WORLD, 1, &rows));
  ierr = ISSetPermutation(rows);
  if (!ierr) ierr = MatPermute(w->A, rows, rows, &w->M);
  PetscCall(ISDestroy(&rows));
  PetscCall(ierr);
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Made, and then filled again */
static PetscErrorCode CreateSubmatrices(const World *w, MPI_Comm comm, PetscErrorCode (*create)(Mat, PetscInt, const IS[], const IS[], MatReuse, Mat *[]))
{
  IS             rows;
  Mat           *S = NULL;
  PetscErrorCode ierr;

  PetscFunctionBegin;
  PetscCall(CreateRows(w, comm, 2, &rows));
  ierr = (*create)(w->A, 1, &rows, &rows, MAT_INITIAL_MATRIX, &S);
  if (!ierr) ierr = (*create)(w->A, 1, &rows, &rows, MAT_REUSE_MATRIX, &S);
  PetscCall(ISDestroy(&rows));
  if (S) PetscCall(MatDestroySubMatrices(1, &S));
  PetscCall(ierr);
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Submatrices on each process, and of all processes */
static PetscErrorCode DoSubmatrices(World *w)
{
  PetscFunctionBegin;
  PetscCall(CreateSubmatrices(w, PETSC_COMM_SELF, MatCreateSubMatrices));
  if (size > 1) PetscCall(CreateSubmatrices(w, PETSC_COMM_WORLD, MatCreateSubMatricesMPI)); /* a sequential matrix does not have these */
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Preconditioners that take the diagonal blocks; on a device by hooks. They are destroyed later, when no call fails */
static PetscErrorCode SetUpPC(World *w, PCType type)
{
  PetscFunctionBegin;
  PetscCall(PCCreate(PETSC_COMM_WORLD, &w->pc));
  PetscCall(PCSetType(w->pc, type));
  PetscCall(PCSetOperators(w->pc, w->A, w->A));
  PetscCall(PCSetUp(w->pc));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode DoBlockDiagonal(World *w)
{
  PetscFunctionBegin;
  PetscCall(SetUpPC(w, PCPBJACOBI));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode DoVariableBlockDiagonal(World *w)
{
  PetscFunctionBegin;
  PetscCall(SetUpPC(w, PCVPBJACOBI));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* The functions that analyse, or query what was done */
static PetscErrorCode DoGet(World *w)
{
  MatAIJTCUSynergy synergy;
  MatAIJTCUTuning  tuning;
  MatAIJTCUCounts  counts;

  PetscFunctionBegin;
  PetscCall(MatAIJTCUGetSynergy(w->A, &synergy));
  PetscCall(MatAIJTCUGetTuning(w->A, COLS, &tuning));
  PetscCall(MatAIJTCUGetCounts(w->A, &counts));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode DoView(World *w)
{
  PetscFunctionBegin;
  PetscCall(MatView(w->A, w->viewer));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode DoLoad(World *w)
{
  PetscFunctionBegin;
  PetscCall(PetscViewerDestroy(&w->viewer));
  PetscCall(PetscViewerBinaryOpen(PETSC_COMM_WORLD, FILENAME, FILE_MODE_READ, &w->viewer));
  PetscCall(MatCreate(PETSC_COMM_WORLD, &w->M));
  PetscCall(MatSetType(w->M, MATAIJTCU));
  PetscCall(MatLoad(w->M, w->viewer));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode DoDestroy(World *w)
{
  PetscFunctionBegin;
  PetscCall(MatDestroy(&w->A));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode DoSampled(World *w)
{
  PetscFunctionBegin;
  PetscCall(Sampled(w));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* A function that makes all entries zero, where they are */
static PetscErrorCode Zero(const MatSampledRows *rows, void *ctx)
{
  PetscFunctionBegin;
  (void)ctx;
  for (PetscInt b = 0; b < rows->blocks; b++) {
    if (PetscMemTypeHost(rows->mem)) PetscCall(PetscArrayzero(rows->values[b], rows->entries[b]));
#if PetscDefined(HAVE_CUDA)
    else PetscCallCUDA(cudaMemsetAsync(rows->values[b], 0, (size_t)rows->entries[b] * sizeof(PetscScalar), (cudaStream_t)rows->stream));
#endif
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode DoApply(World *w)
{
  PetscFunctionBegin;
  PetscCall(MatSampledApply(w->S, Zero, NULL));
  w->entry = EntryApplied;
  PetscFunctionReturn(PETSC_SUCCESS);
}

#if !PetscDefined(USE_COMPLEX)
static PetscErrorCode DoSoftmax(World *w)
{
  PetscFunctionBegin;
  PetscCall(MatSampledSoftmax(w->S));
  w->entry = EntrySoftmax;
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode DoSoftmaxGradient(World *w)
{
  PetscFunctionBegin;
  PetscCall(MatSampledSoftmaxGradient(w->A, w->S));
  w->entry = EntrySoftmaxGradient;
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode DoLeakyReLU(World *w)
{
  PetscFunctionBegin;
  PetscCall(MatSampledLeakyReLU(w->S, SLOPE));
  w->entry = EntryLeakyReLU;
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode DoLeakyReLUGradient(World *w)
{
  PetscFunctionBegin;
  PetscCall(MatSampledLeakyReLUGradient(w->P, SLOPE, w->S));
  w->entry = EntryLeakyReLU;
  PetscFunctionReturn(PETSC_SUCCESS);
}
#endif

static PetscErrorCode DoCreateOperator(World *w)
{
  PetscFunctionBegin;
  PetscCall(MatCreateSampledLR(w->A, w->B, w->B, PETSC_TRUE, &w->L));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode DoOperatorProduct(World *w)
{
  PetscFunctionBegin;
  PetscCall(MatMatMult(w->L, w->B, w->C ? MAT_REUSE_MATRIX : MAT_INITIAL_MATRIX, PETSC_DETERMINE, &w->C));
  w->check = IsOperatorProduct;
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode DoOperatorMult(World *w)
{
  PetscFunctionBegin;
  PetscCall(MatMult(w->L, w->x, w->y));
  w->check = IsOperatorProductWithVector;
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* If it fails, the caller repeats it without a failure: it wants all values, and leaves nothing open */
static PetscErrorCode DoOperatorDiagonal(World *w)
{
  PetscFunctionBegin;
  PetscCall(MatGetDiagonal(w->L, w->y));
  w->check = IsOperatorDiagonal;
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Prolongators that are not smoothed: no estimate of an eigenvalue, which roundings change, is in them */
static PetscErrorCode CreateHierarchy(Mat A, PC *pc)
{
  PetscFunctionBegin;
  PetscCall(PCCreate(PETSC_COMM_WORLD, pc));
  PetscCall(PCSetType(*pc, PCGAMG));
  PetscCall(PCGAMGSetNSmooths(*pc, 0));
  PetscCall(PCGAMGSetCoarseEqLim(*pc, 4));
  PetscCall(PCSetOperators(*pc, A, A));
  PetscCall(PCSetFromOptions(*pc));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* The prolongators of a hierarchy are those that PETSc makes of the same matrix on the host, but for roundings */
static PetscErrorCode IsHierarchy(const World *w, PetscBool *is)
{
  PetscInt nlevels[2];
  PC       pc[2] = {w->pc, NULL};
  Mat      A;

  PetscFunctionBegin;
  PetscCall(Create(MATAIJ, w->values, w->pattern, &A));
  PetscCall(MatSetOption(A, MAT_SYMMETRIC, PETSC_TRUE));
  PetscCall(CreateHierarchy(A, &pc[1]));
  PetscCall(PCSetUp(pc[1]));
  for (int k = 0; k < 2; k++) PetscCall(PCMGGetLevels(pc[k], &nlevels[k]));
  *is = (PetscBool)(nlevels[0] == nlevels[1] && nlevels[0] > 1);
  for (PetscInt l = 1; l < nlevels[0] && *is; l++) {
    PetscInt m[2], n[2], count[2], first, end;
    Mat      P[2];

    for (int k = 0; k < 2; k++) {
      PetscCall(PCMGGetInterpolation(pc[k], l, &P[k]));
      PetscCall(MatGetSize(P[k], &m[k], &n[k]));
    }
    *is = (PetscBool)(m[0] == m[1] && n[0] == n[1]);
    PetscCall(MatGetOwnershipRange(P[1], &first, &end));
    for (PetscInt row = first; row < end && *is; row++) {
      const PetscInt    *column[2];
      const PetscScalar *value[2];

      for (int k = 0; k < 2; k++) PetscCall(MatGetRow(P[k], row, &count[k], &column[k], &value[k]));
      *is = (PetscBool)(count[0] == count[1]);
      for (PetscInt i = 0; i < count[0] && *is; i++) *is = (PetscBool)(column[0][i] == column[1][i] && PetscAbsScalar(value[0][i] - value[1][i]) < 100 * PETSC_MACHINE_EPSILON);
      for (int k = 0; k < 2; k++) PetscCall(MatRestoreRow(P[k], row, &count[k], &column[k], &value[k]));
    }
  }
  PetscCall(PCDestroy(&pc[1]));
  PetscCall(MatDestroy(&A));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode ReadyHierarchy(World *w)
{
  PetscFunctionBegin;
  PetscCall(ReadySymmetric(w));
  PetscCall(CreateHierarchy(w->A, &w->pc));
  w->transposed = PETSC_FALSE;
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode DoHierarchy(World *w)
{
  PetscFunctionBegin;
  PetscCall(PCSetUp(w->pc));
  w->check = IsHierarchy;
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Some iterations of cg for x, which is where A is. No norms: roundings do not end it */
static PetscErrorCode CreateSolver(Mat A, PCType type, KSP *ksp, Vec *x, Vec *y)
{
  PetscInt     n;
  PetscScalar *array;
  PC           pc;

  PetscFunctionBegin;
  PetscCall(MatCreateVecs(A, y, x));
  PetscCall(VecGetLocalSize(*x, &n));
  PetscCall(VecGetArrayWrite(*x, &array));
  for (PetscInt i = 0; i < n; i++) array[i] = (PetscScalar)(i % 5 - 1);
  PetscCall(VecRestoreArrayWrite(*x, &array));
  PetscCall(KSPCreate(PETSC_COMM_WORLD, ksp));
  PetscCall(KSPSetType(*ksp, KSPCG));
  PetscCall(KSPGetPC(*ksp, &pc));
  PetscCall(PCSetType(pc, type));
  PetscCall(KSPSetNormType(*ksp, KSP_NORM_NONE));
  PetscCall(KSPSetTolerances(*ksp, PETSC_CURRENT, PETSC_CURRENT, PETSC_CURRENT, 3));
  PetscCall(KSPSetOperators(*ksp, A, A));
  PetscCall(KSPSetUp(*ksp));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* 64 more on the diagonal */
static PetscErrorCode AddDiagonal(Mat A)
{
  PetscInt begin, end;

  PetscFunctionBegin;
  PetscCall(MatGetOwnershipRange(A, &begin, &end));
  for (PetscInt i = begin; i < end; i++) PetscCall(MatSetValue(A, i, i, 64, ADD_VALUES));
  PetscCall(MatAssemblyBegin(A, MAT_FINAL_ASSEMBLY));
  PetscCall(MatAssemblyEnd(A, MAT_FINAL_ASSEMBLY));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode ReadySolverWith(World *w, PCType type)
{
  PetscFunctionBegin;
  PetscCall(ReadyA(w));
  PetscCall(AddDiagonal(w->A));
  w->shift = 64;
  PetscCall(Product(w, MAT_INITIAL_MATRIX, &w->C));
  PetscCall(CreateSolver(w->A, type, &w->ksp, &w->x, &w->y));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode ReadySolver(World *w)
{
  PetscFunctionBegin;
  PetscCall(ReadySolverWith(w, PCNONE));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode ReadyDiagonalSolver(World *w)
{
  PetscFunctionBegin;
  PetscCall(ReadySolverWith(w, PCJACOBI));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* What PETSc's cg gives on the host */
static PetscErrorCode IsSolved(const World *w, PetscBool *is)
{
  const PetscScalar *y, *z;
  PetscInt           n;
  Mat                A;
  Vec                v[2];
  KSP                ksp;
  PC                 pc;
  PCType             type;

  PetscFunctionBegin;
  PetscCall(Create(MATAIJ, w->values, w->pattern, &A));
  PetscCall(AddDiagonal(A));
  PetscCall(KSPGetPC(w->ksp, &pc));
  PetscCall(PCGetType(pc, &type));
  PetscCall(CreateSolver(A, type, &ksp, &v[0], &v[1]));
  PetscCall(KSPSolve(ksp, v[0], v[1]));
  PetscCall(VecGetLocalSize(w->y, &n));
  PetscCall(VecGetArrayRead(w->y, &y));
  PetscCall(VecGetArrayRead(v[1], &z));
  *is = PETSC_TRUE;
  for (PetscInt i = 0; i < n; i++) *is = (PetscBool)(*is && PetscAbsScalar(y[i] - z[i]) < 10 * PETSC_MACHINE_EPSILON);
  PetscCall(VecRestoreArrayRead(v[1], &z));
  PetscCall(VecRestoreArrayRead(w->y, &y));
  PetscCall(KSPDestroy(&ksp));
  for (int i = 0; i < 2; i++) PetscCall(VecDestroy(&v[i]));
  PetscCall(MatDestroy(&A));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* If it fails, the caller repeats it without a failure */
static PetscErrorCode DoSolve(World *w)
{
  PetscFunctionBegin;
  PetscCall(KSPSolve(w->ksp, w->x, w->y));
  w->check = IsSolved;
  PetscFunctionReturn(PETSC_SUCCESS);
}

typedef struct {
  const char *name;
  PetscErrorCode (*ready)(World *);
  PetscErrorCode (*act)(World *);
  PetscBool device; /* differs on a device */
  PetscBool alone;  /* only by its name: it makes many calls, and PETSc leaves much after an error */
} Scenario;

static const Scenario scenarios[] = {
  {"create", ReadyA, DoCreate, PETSC_FALSE},
  {"assemble", ReadyProduct, DoAssemble, PETSC_TRUE}, /* wrapped on a device only */
  {"assemble by coordinates", ReadyProduct, DoCoordinates, PETSC_TRUE},
  {"new values by coordinates", ReadyCOO, DoCoordinateValues, PETSC_TRUE},
  {"set type", ReadyAIJ, DoSetType, PETSC_FALSE},
  {"convert", ReadyAIJ, DoConvert, PETSC_FALSE},
  {"convert back", ReadyProduct, DoConvertBack, PETSC_FALSE},
  {"convert back again", ReadyAIJCopy, DoConvertBack, PETSC_FALSE},
  {"convert in place", ReadyProduct, DoConvertInPlace, PETSC_FALSE},
  {"duplicate", ReadyProduct, DoDuplicate, PETSC_FALSE},
  {"copy", ReadyOperand, DoCopy, PETSC_TRUE},
  {"axpy", ReadyOperand, DoAXPY, PETSC_TRUE},
  {"axpy of another pattern", ReadyOtherPattern, DoAXPYOtherPattern, PETSC_TRUE},
  {"scale", ReadyOperand, DoScale, PETSC_TRUE},
  {"diagonal scale", ReadyOperand, DoDiagonalScale, PETSC_TRUE},
  {"shift", ReadyOperand, DoShift, PETSC_TRUE},
  {"store and retrieve", ReadyOperand, DoStoreAndRetrieve, PETSC_TRUE},
  {"eliminate zeros", ReadyZeros, DoEliminateZeros, PETSC_TRUE},
  {"lu", ReadyFactor, DoLU, PETSC_TRUE},
  {"cholesky", ReadyFactor, DoCholesky, PETSC_TRUE},
  {"lu in place", ReadyFactor, DoLUInPlace, PETSC_FALSE},
  {"ilu in place", ReadyIncompleteFactor, DoILUInPlace, PETSC_FALSE}, /* PETSc has no others in place for an aij */
  {"first product", ReadyA, DoProduct, PETSC_TRUE},
  {"product", ReadyProduct, DoProduct, PETSC_TRUE},
  {"product of new values", ReadyNewValues, DoProduct, PETSC_TRUE},
  {"product of a new pattern", ReadyNewPattern, DoProduct, PETSC_TRUE},
  {"symmetric transpose", ReadySymmetric, DoProduct, PETSC_FALSE},
  {"transpose", ReadyUnsymmetric, DoProduct, PETSC_TRUE},
  {"product with a vector", ReadyVectors, DoMult, PETSC_TRUE},
  {"other products with vectors", ReadyVectors, DoOtherMults, PETSC_TRUE},
  {"bind", ReadyProduct, DoBind, PETSC_TRUE},
  {"submatrix", ReadyProduct, DoSubmatrix, PETSC_FALSE},
  {"submatrices", ReadyProduct, DoSubmatrices, PETSC_FALSE},
  {"permute", ReadyProduct, DoPermute, PETSC_FALSE},
  {"diagonal blocks", ReadyProduct, DoBlockDiagonal, PETSC_TRUE},
  {"variable diagonal blocks", ReadyVariableBlocks, DoVariableBlockDiagonal, PETSC_TRUE},
  {"first sampled product", ReadyA, DoSampled, PETSC_TRUE},
  {"sampled product", ReadySampled, DoSampled, PETSC_TRUE},
  {"sampled product of new values", ReadySampledNewValues, DoSampled, PETSC_TRUE},
  {"map of a function", ReadySampled, DoApply, PETSC_TRUE},
#if !PetscDefined(USE_COMPLEX)
  {"softmax", ReadySampled, DoSoftmax, PETSC_TRUE},
  {"softmax gradient", ReadySampled, DoSoftmaxGradient, PETSC_TRUE},
  {"leaky relu", ReadySampled, DoLeakyReLU, PETSC_TRUE},
  {"leaky relu gradient", ReadySampledTwice, DoLeakyReLUGradient, PETSC_TRUE},
#endif
  {"operator", ReadyVectors, DoCreateOperator, PETSC_FALSE},
  {"first product of an operator", ReadyOperator, DoOperatorProduct, PETSC_TRUE},
  {"product of an operator", ReadyOperatorProduct, DoOperatorProduct, PETSC_TRUE},
  {"product of an operator of new values", ReadyOperatorNewValues, DoOperatorProduct, PETSC_TRUE},
  {"product of an operator with a vector", ReadyOperator, DoOperatorMult, PETSC_TRUE},
  {"product of an operator of a new pattern with a vector", ReadyOperatorNewPattern, DoOperatorMult, PETSC_TRUE},
  {"diagonal of an operator", ReadyOperator, DoOperatorDiagonal, PETSC_FALSE},
#if !PetscDefined(USE_COMPLEX)
  {"diagonal of a new softmax operator", ReadyOperatorSoftmaxAnew, DoOperatorDiagonal, PETSC_FALSE},
  {"product of a softmax operator", ReadyOperatorSoftmax, DoOperatorProduct, PETSC_TRUE},
  {"product of a softmax operator with a vector", ReadyOperatorSoftmax, DoOperatorMult, PETSC_TRUE},
#endif
  {"get", ReadyA, DoGet, PETSC_TRUE},
  {"view", ReadyView, DoView, PETSC_TRUE},
  {"load", ReadyFile, DoLoad, PETSC_FALSE},
  {"hierarchy", ReadyHierarchy, DoHierarchy, PETSC_TRUE, PETSC_TRUE},
  {"solve", ReadySolver, DoSolve, PETSC_TRUE, PETSC_TRUE},
  {"solve with a diagonal", ReadyDiagonalSolver, DoSolve, PETSC_TRUE, PETSC_TRUE},
  {"destroy", ReadyDestroy, DoDestroy, PETSC_TRUE}};
