static char help[] = "The life of a MATAIJTCU: creation, conversions, copies, options, operations, each against a MATAIJ of the same values. Prints on error only.\n\n";

#include "kind.h"
#include "same.h"

#include <petscaijtcu.h>
#include <errormessage.h>
#include <math.h>
#include <petsc/private/petscimpl.h> /* PetscObjectStateGet() */

/* Check that A x, A^T y and A B are those of R. A must be an aijtcu, unless it may not be one */
static PetscErrorCode Same(Mat A, Mat R, PetscBool aijtcu, const char what[])
{
  Mat       Rh;
  PetscBool is;
  PetscReal diff, norm;
  Vec       x, y, z;
  MatType   type;

  PetscFunctionBegin;
  PetscCall(MatGetType(A, &type));
  PetscCall(PetscObjectTypeCompareAny((PetscObject)A, &is, MATSEQAIJTCU, MATMPIAIJTCU, ""));
  if (is != aijtcu) PetscCall(PetscPrintf(PETSC_COMM_WORLD, "%s: type is %s\n", what, type));
  PetscCall(MatConvert(A, MATAIJ, MAT_INITIAL_MATRIX, &Rh));
  /* MatEqual() fails where one off-diagonal block has columns without entries that the other lacks */
  PetscCall(MatAXPY(Rh, -1, R, DIFFERENT_NONZERO_PATTERN));
  PetscCall(MatNorm(Rh, NORM_FROBENIUS, &diff));
  PetscCall(MatNorm(R, NORM_FROBENIUS, &norm));
  PetscCall(SameNorms(diff, norm, what, "what is stored"));
  PetscCall(MatDestroy(&Rh));
  for (PetscInt kind = 0; kind < 2; kind++) { /* vectors of A's kind, and of the host */
    PetscCall(MatCreateVecs(kind ? R : A, &x, &y));
    PetscCall(VecDuplicate(y, &z));
    PetscCall(VecSetRandom(x, NULL));
    PetscCall(MatMult(R, x, y));
    if (aijtcu || !kind) PetscCall(MatMult(A, x, z));
    else PetscCall(VecCopy(y, z));
    PetscCall(SameVectors(z, y, what, "A x"));
    if (aijtcu) {
      PetscCall(VecDestroy(&z));
      PetscCall(VecDuplicate(x, &z));
      PetscCall(MatMultTranspose(R, y, x));
      PetscCall(MatMultTranspose(A, y, z));
      PetscCall(SameVectors(z, x, what, "A^T y"));
    }
    PetscCall(VecDestroy(&x));
    PetscCall(VecDestroy(&y));
    PetscCall(VecDestroy(&z));
  }
  PetscCall(SameProducts(A, R, what));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode TestConversions(PetscInt m, PetscInt n)
{
  const char *const names[] = {MATAIJTCU, "seqaijtcu", "mpiaijtcu"};
  Mat               A, R, B, C;
  PetscObjectId     ids[2];
  PetscObjectState  states[2];
  PetscMPIInt       size;

  PetscFunctionBegin;
  PetscCallMPI(MPI_Comm_size(PETSC_COMM_WORLD, &size));
  PetscCall(Create(MATAIJ, m, n, &R));
  for (PetscInt i = 0; i < 3; i++) {
    if ((i == 1 && size > 1) || (i == 2 && size == 1)) continue;
    PetscCall(Create(names[i], m, n, &A));
    PetscCall(Same(A, R, PETSC_TRUE, names[i]));
    PetscCall(MatSetType(A, names[i]));
    PetscCall(Same(A, R, PETSC_TRUE, "MatSetType() again"));
    PetscCall(MatSetFromOptions(A));
    PetscCall(Same(A, R, PETSC_TRUE, "MatSetFromOptions() again"));
    PetscCall(MatDestroy(&A));
  }
  PetscCall(Create(MATAIJTCU, m, n, &A));
  PetscCall(MatConvert(A, MATAIJ, MAT_INITIAL_MATRIX, &B));
  PetscCall(Same(B, R, PETSC_FALSE, "to aij"));
  PetscCall(MatConvert(B, MATAIJTCU, MAT_INITIAL_MATRIX, &C));
  PetscCall(Same(C, R, PETSC_TRUE, "from aij"));
  PetscCall(MatConvert(A, MATAIJTCU, MAT_REUSE_MATRIX, &C));
  PetscCall(Same(C, R, PETSC_TRUE, "reuse"));
  PetscCall(MatDestroy(&C));
  PetscCall(MatConvert(A, MATAIJTCU, MAT_INITIAL_MATRIX, &C));
  PetscCall(Same(C, R, PETSC_TRUE, "to itself"));
  PetscCall(MatDestroy(&C));
  PetscCall(MatSetType(B, MATAIJTCU));
  PetscCall(Same(B, R, PETSC_TRUE, "MatSetType() on an assembled aij"));
  PetscCall(PetscObjectGetId((PetscObject)B, &ids[0]));
  PetscCall(MatGetNonzeroState(B, &states[0]));
  PetscCall(MatConvert(B, MATAIJ, MAT_INPLACE_MATRIX, &B));
  PetscCall(Same(B, R, PETSC_FALSE, "to aij in place"));
  PetscCall(PetscObjectGetId((PetscObject)B, &ids[1]));
  PetscCall(MatGetNonzeroState(B, &states[1]));
  if (ids[0] == ids[1] ? states[0] != states[1] : states[0] >= states[1]) PetscCall(PetscPrintf(PETSC_COMM_WORLD, "to aij in place: the nonzero state was %d and is %d\n", (int)states[0], (int)states[1]));
  PetscCall(MatConvert(B, MATAIJTCU, MAT_INPLACE_MATRIX, &B));
  PetscCall(Same(B, R, PETSC_TRUE, "from aij in place"));
  PetscCall(PetscObjectStateGet((PetscObject)B, &states[0]));
  PetscCall(MatConvert(B, MATAIJTCU, MAT_INPLACE_MATRIX, &B));
  PetscCall(PetscObjectStateGet((PetscObject)B, &states[1]));
  if (states[0] != states[1]) PetscCall(PetscPrintf(PETSC_COMM_WORLD, "to its own type in place: the state was %d and is %d\n", (int)states[0], (int)states[1]));
  PetscCall(MatDestroy(&B));
  PetscCall(MatConvert(A, MATDENSE, MAT_INITIAL_MATRIX, &B));
  PetscCall(MatConvert(A, MATDENSE, MAT_REUSE_MATRIX, &B));
  PetscCall(MatConvert(B, MATAIJTCU, MAT_INITIAL_MATRIX, &C));
  PetscCall(Same(C, R, PETSC_TRUE, "from dense"));
  PetscCall(MatDestroy(&C));
  PetscCall(MatConvert(B, MATAIJTCU, MAT_INPLACE_MATRIX, &B));
  PetscCall(Same(B, R, PETSC_TRUE, "from dense in place"));
  PetscCall(MatDestroy(&B));
  PetscCall(MatConvert(A, MATBAIJ, MAT_INITIAL_MATRIX, &B));
  PetscCall(MatConvert(B, MATAIJTCU, MAT_INPLACE_MATRIX, &B));
  PetscCall(Same(B, R, PETSC_TRUE, "by way of baij"));
  PetscCall(MatDestroy(&B));
  PetscCall(MatCreateAIJTCU(PETSC_COMM_WORLD, PETSC_DECIDE, PETSC_DECIDE, m, n, 7, NULL, 7, NULL, &B));
  PetscCall(Fill(B, n, 1));
  PetscCall(Same(B, R, PETSC_TRUE, "MatCreateAIJTCU()"));
  PetscCall(MatDestroy(&B));
  PetscCall(MatDestroy(&A));
  PetscCall(MatDestroy(&R));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* To MATIS: the parts of the processes are those of a MATAIJ */
static PetscErrorCode TestParts(PetscInt m)
{
  Mat       A, B, local;
  Vec       x, y[2];
  PetscInt  rows[2];
  PetscReal norm;

  PetscFunctionBegin;
  for (int k = 0; k < 2; k++) {
    PetscCall(Create(k ? MATAIJTCU : MATAIJ, m, m, &A));
    if (k == 0) { /* vectors of the host */
      PetscCall(MatCreateVecs(A, &x, &y[0]));
      PetscCall(VecDuplicate(y[0], &y[1]));
      PetscCall(VecSet(x, 1));
    }
    PetscCall(MatScale(A, 2));
    PetscCall(MatConvert(A, MATIS, MAT_INITIAL_MATRIX, &B));
    for (int round = 0; round < 2; round++) {
      PetscCall(MatISGetLocalMat(B, &local));
      PetscCall(MatGetSize(local, &rows[k], NULL));
      PetscCall(MatISRestoreLocalMat(B, &local));
      PetscCall(MatMult(B, x, y[k]));
      PetscCall(MatDestroy(&B));
      if (round == 0) { /* in place */
        PetscCall(MatConvert(A, MATIS, MAT_INPLACE_MATRIX, &A));
        B = A;
      }
    }
    if (k && rows[0] != rows[1]) PetscCall(PetscPrintf(PETSC_COMM_SELF, "to MATIS: %" PetscInt_FMT " rows on a process, of a MATAIJ %" PetscInt_FMT "\n", rows[1], rows[0]));
  }
  PetscCall(VecAXPY(y[1], -1, y[0]));
  PetscCall(VecNorm(y[1], NORM_INFINITY, &norm));
  if (!(norm <= 1000 * PETSC_MACHINE_EPSILON)) PetscCall(PetscPrintf(PETSC_COMM_WORLD, "to MATIS: a product differs by %g\n", (double)norm));
  PetscCall(VecDestroy(&x));
  PetscCall(VecDestroy(&y[0]));
  PetscCall(VecDestroy(&y[1]));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* MATSBAIJ wants a matrix that is known to be symmetric */
static PetscErrorCode TestSymmetric(PetscInt m)
{
  Mat A, R, T, S;

  PetscFunctionBegin;
  PetscCall(Create(MATAIJTCU, m, m, &A));
  PetscCall(MatTranspose(A, MAT_INITIAL_MATRIX, &T));
  PetscCall(MatAXPY(A, 1, T, DIFFERENT_NONZERO_PATTERN));
  PetscCall(MatDestroy(&T));
  PetscCall(MatSetOption(A, MAT_SYMMETRIC, PETSC_TRUE));
  PetscCall(MatConvert(A, MATAIJ, MAT_INITIAL_MATRIX, &R));
  PetscCall(MatConvert(A, MATSBAIJ, MAT_INITIAL_MATRIX, &S));
  PetscCall(SameProducts(S, R, "to sbaij"));
  PetscCall(MatDestroy(&S));
  PetscCall(SameProducts(A, R, "after it went to sbaij"));
  PetscCall(MatConvert(A, MATSBAIJ, MAT_INPLACE_MATRIX, &A));
  PetscCall(SameProducts(A, R, "to sbaij in place"));
  PetscCall(MatDestroy(&A));
  PetscCall(MatDestroy(&R));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*
   Sweeps, with vectors of A's kind and of the host. They are the first that the matrix is used for: in parallel they
   multiply with its blocks, which nobody has given plans yet
*/
static PetscErrorCode TestSweeps(PetscInt m)
{
  const MatSORType flags[] = {(MatSORType)(SOR_LOCAL_SYMMETRIC_SWEEP | SOR_ZERO_INITIAL_GUESS), SOR_LOCAL_SYMMETRIC_SWEEP, SOR_LOCAL_FORWARD_SWEEP, SOR_LOCAL_BACKWARD_SWEEP};

  PetscFunctionBegin;
  for (size_t i = 0; i < 2 * PETSC_STATIC_ARRAY_LENGTH(flags); i++) {
    Mat A, R;
    Vec b, x, y;

    PetscCall(Create(MATAIJTCU, m, m, &A));
    PetscCall(MatConvert(A, MATAIJ, MAT_INITIAL_MATRIX, &R));
    PetscCall(MatShift(A, 100));
    PetscCall(MatShift(R, 100));
    PetscCall(MatCreateVecs(i % 2 ? R : A, &x, &b));
    PetscCall(VecDuplicate(x, &y));
    PetscCall(VecSetRandom(b, NULL));
    PetscCall(VecSetRandom(x, NULL));
    PetscCall(VecCopy(x, y));
    PetscCall(MatSOR(R, b, 1, flags[i / 2], 0, 3, 1, x));
    PetscCall(MatSOR(A, b, 1, flags[i / 2], 0, 3, 1, y));
    PetscCall(SameVectors(y, x, "as created", "MatSOR()"));
    PetscCall(VecDestroy(&b));
    PetscCall(VecDestroy(&x));
    PetscCall(VecDestroy(&y));
    PetscCall(MatDestroy(&A));
    PetscCall(MatDestroy(&R));
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Apply each operation to both matrices, with a product before and after, so that a stale plan shows */
static PetscErrorCode TestOperations(PetscInt m, PetscInt n)
{
  Mat            A, R, B, S, T;
  Vec            l, r;
  PetscInt       rows[2] = {1, 2}, r0, r1;
  const PetscInt i0      = 0;

  PetscFunctionBegin;
  PetscCall(Create(MATAIJTCU, m, n, &A));
  PetscCall(Create(MATAIJ, m, n, &R));
  PetscCall(Same(A, R, PETSC_TRUE, "assembled"));
  PetscCall(MatScale(A, 3));
  PetscCall(MatScale(R, 3));
  PetscCall(Same(A, R, PETSC_TRUE, "MatScale()"));
  PetscCall(MatCreateVecs(A, &r, &l));
  PetscCall(VecSetRandom(r, NULL));
  PetscCall(VecSetRandom(l, NULL));
  PetscCall(MatDiagonalScale(A, l, r));
  PetscCall(MatDiagonalScale(R, l, r));
  PetscCall(Same(A, R, PETSC_TRUE, "MatDiagonalScale()"));
  PetscCall(VecDestroy(&r));
  PetscCall(VecDestroy(&l));
  for (int i = 0; i < 2; i++) {
    PetscCall(MatDuplicate(A, i ? MAT_SHARE_NONZERO_PATTERN : MAT_DO_NOT_COPY_VALUES, &B));
    PetscCall(MatCopy(A, B, SAME_NONZERO_PATTERN));
    PetscCall(MatScale(A, 3));
    PetscCall(Same(B, R, PETSC_TRUE, i ? "MatDuplicate() with the pattern shared" : "MatDuplicate() without values"));
    PetscCall(MatScale(R, 3));
    PetscCall(Same(A, R, PETSC_TRUE, "what was duplicated without values"));
    PetscCall(MatDestroy(&B));
  }
  PetscCall(MatDuplicate(A, MAT_COPY_VALUES, &B));
  PetscCall(Same(B, R, PETSC_TRUE, "MatDuplicate()"));
  PetscCall(MatAXPY(A, 0.5, B, SAME_NONZERO_PATTERN));
  PetscCall(MatDuplicate(R, MAT_COPY_VALUES, &S));
  PetscCall(MatAXPY(R, 0.5, S, SAME_NONZERO_PATTERN));
  PetscCall(Same(A, R, PETSC_TRUE, "MatAXPY()"));
  PetscCall(MatCopy(B, A, SAME_NONZERO_PATTERN));
  PetscCall(MatCopy(S, R, SAME_NONZERO_PATTERN));
  PetscCall(Same(A, R, PETSC_TRUE, "MatCopy()"));
  if (m == n) {
    PetscCall(MatShift(A, 2));
    PetscCall(MatShift(R, 2));
    PetscCall(Same(A, R, PETSC_TRUE, "MatShift()"));
    PetscCall(MatZeroRows(A, 2, rows, 1, NULL, NULL));
    PetscCall(MatZeroRows(R, 2, rows, 1, NULL, NULL));
    PetscCall(Same(A, R, PETSC_TRUE, "MatZeroRows()"));
    PetscCall(MatPtAP(A, B, MAT_INITIAL_MATRIX, PETSC_DEFAULT, &T));
    PetscCall(MatDestroy(&S));
    PetscCall(MatConvert(B, MATAIJ, MAT_INITIAL_MATRIX, &S));
    {
      Mat U;

      PetscCall(MatPtAP(R, S, MAT_INITIAL_MATRIX, PETSC_DEFAULT, &U));
      PetscCall(Same(T, U, PETSC_TRUE, "MatPtAP()"));
      PetscCall(MatScale(A, 2));
      PetscCall(MatScale(R, 2));
      PetscCall(MatPtAP(A, B, MAT_REUSE_MATRIX, PETSC_DEFAULT, &T));
      PetscCall(MatPtAP(R, S, MAT_REUSE_MATRIX, PETSC_DEFAULT, &U));
      PetscCall(Same(T, U, PETSC_TRUE, "MatPtAP() again"));
      PetscCall(MatDestroy(&T));
      PetscCall(MatDestroy(&U));
      PetscCall(MatMatMult(A, B, MAT_INITIAL_MATRIX, PETSC_DEFAULT, &T));
      PetscCall(MatMatMult(R, S, MAT_INITIAL_MATRIX, PETSC_DEFAULT, &U));
      PetscCall(Same(T, U, PETSC_TRUE, "sparse MatMatMult()"));
      PetscCall(MatDestroy(&T));
      PetscCall(MatDestroy(&U));
    }
  }
  PetscCall(MatDestroy(&B));
  PetscCall(MatDestroy(&S));
  PetscCall(MatTranspose(A, MAT_INITIAL_MATRIX, &B));
  PetscCall(MatTranspose(R, MAT_INITIAL_MATRIX, &S));
  PetscCall(Same(B, S, PETSC_TRUE, "MatTranspose()"));
  PetscCall(MatDestroy(&B));
  PetscCall(MatDestroy(&S));
  PetscCall(MatBindToCPU(A, PETSC_TRUE));
  PetscCall(Same(A, R, PETSC_TRUE, "bound to the CPU"));
  PetscCall(MatScale(A, 0.5));
  PetscCall(MatScale(R, 0.5));
  PetscCall(Same(A, R, PETSC_TRUE, "scaled while bound to the CPU"));
  PetscCall(MatBindToCPU(A, PETSC_FALSE));
  PetscCall(Same(A, R, PETSC_TRUE, "freed from the CPU"));
  PetscCall(MatZeroEntries(A));
  PetscCall(MatZeroEntries(R));
  PetscCall(Fill(A, n, 7));
  PetscCall(Fill(R, n, 7));
  PetscCall(Same(A, R, PETSC_TRUE, "values set again"));
  PetscCall(MatSetOption(A, MAT_NEW_NONZERO_LOCATION_ERR, PETSC_FALSE));
  PetscCall(MatSetOption(R, MAT_NEW_NONZERO_LOCATION_ERR, PETSC_FALSE));
  PetscCall(MatGetOwnershipRange(A, &r0, &r1));
  if (r1 > r0) {
    PetscCall(MatSetValue(A, r0, n - 1 - i0, 3, INSERT_VALUES));
    PetscCall(MatSetValue(R, r0, n - 1 - i0, 3, INSERT_VALUES));
  }
  PetscCall(MatAssemblyBegin(A, MAT_FINAL_ASSEMBLY));
  PetscCall(MatAssemblyEnd(A, MAT_FINAL_ASSEMBLY));
  PetscCall(MatAssemblyBegin(R, MAT_FINAL_ASSEMBLY));
  PetscCall(MatAssemblyEnd(R, MAT_FINAL_ASSEMBLY));
  PetscCall(Same(A, R, PETSC_TRUE, "a new nonzero"));
  PetscCall(MatDestroy(&A));
  PetscCall(MatDestroy(&R));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*
   Operations that change a matrix, or put another of its type in its place. A result that is not a matrix scales its
   rows or columns, so that a difference shows.
*/
static PetscErrorCode OtherPattern(Mat *X)
{
  Mat T;

  PetscFunctionBegin;
  PetscCall(MatTranspose(*X, MAT_INITIAL_MATRIX, &T));
  PetscCall(MatAXPY(*X, 2, T, DIFFERENT_NONZERO_PATTERN));
  PetscCall(MatDestroy(&T));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* A diagonal matrix of X's type and sizes */
static PetscErrorCode Diagonal(Mat X, Mat *D)
{
  PetscInt m, n, r0, r1;
  MatType  type;

  PetscFunctionBegin;
  PetscCall(MatGetLocalSize(X, &m, &n));
  PetscCall(MatGetType(X, &type));
  PetscCall(MatCreate(PetscObjectComm((PetscObject)X), D));
  PetscCall(MatSetSizes(*D, m, n, PETSC_DECIDE, PETSC_DECIDE));
  PetscCall(MatSetType(*D, type));
  PetscCall(MatSeqAIJSetPreallocation(*D, 1, NULL));
  PetscCall(MatMPIAIJSetPreallocation(*D, 1, NULL, 0, NULL));
  PetscCall(MatGetOwnershipRange(*D, &r0, &r1));
  for (PetscInt i = r0; i < r1; i++) PetscCall(MatSetValue(*D, i, i, 1 + i % 5, INSERT_VALUES));
  PetscCall(MatAssemblyBegin(*D, MAT_FINAL_ASSEMBLY));
  PetscCall(MatAssemblyEnd(*D, MAT_FINAL_ASSEMBLY));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode SubsetOfPattern(Mat *X)
{
  Mat D;

  PetscFunctionBegin;
  PetscCall(MatShift(*X, 1)); /* the diagonal is in the pattern */
  PetscCall(Diagonal(*X, &D));
  PetscCall(MatAXPY(*X, 3, D, SUBSET_NONZERO_PATTERN));
  PetscCall(MatAYPX(*X, 0.5, D, SUBSET_NONZERO_PATTERN));
  PetscCall(MatDestroy(&D));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode CopyToLarger(Mat *X)
{
  Mat Y;

  PetscFunctionBegin;
  PetscCall(MatDuplicate(*X, MAT_COPY_VALUES, &Y));
  PetscCall(OtherPattern(&Y));
  PetscCall(MatCopy(*X, Y, DIFFERENT_NONZERO_PATTERN));
  PetscCall(MatDestroy(X));
  *X = Y;
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode StoreAndLoad(Mat *X)
{
  PetscViewer viewer;
  MatType     type;
  Mat         Y;

  PetscFunctionBegin;
  PetscCall(PetscViewerBinaryOpen(PETSC_COMM_WORLD, "type-matrix.bin", FILE_MODE_WRITE, &viewer));
  PetscCall(PetscViewerBinarySetSkipInfo(viewer, PETSC_TRUE));
  PetscCall(MatView(*X, viewer));
  PetscCall(PetscViewerDestroy(&viewer));
  PetscCall(MatGetType(*X, &type));
  PetscCall(MatCreate(PETSC_COMM_WORLD, &Y));
  PetscCall(MatSetType(Y, type));
  PetscCall(PetscViewerBinaryOpen(PETSC_COMM_WORLD, "type-matrix.bin", FILE_MODE_READ, &viewer));
  PetscCall(MatLoad(Y, viewer));
  PetscCall(PetscViewerDestroy(&viewer));
  PetscCall(MatDestroy(X));
  *X = Y;
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode TransposeInPlace(Mat *X)
{
  Mat T;

  PetscFunctionBegin;
  PetscCall(MatTranspose(*X, MAT_INITIAL_MATRIX, &T));
  PetscCall(MatScale(*X, 2));
  PetscCall(MatTranspose(*X, MAT_REUSE_MATRIX, &T));
  PetscCall(MatDestroy(X));
  *X = T;
  PetscCall(MatTranspose(*X, MAT_INPLACE_MATRIX, X));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode SetDiagonal(Mat *X)
{
  Vec d;

  PetscFunctionBegin;
  PetscCall(MatCreateVecs(*X, NULL, &d));
  PetscCall(VecSet(d, 5));
  PetscCall(MatDiagonalSet(*X, d, ADD_VALUES));
  PetscCall(VecDestroy(&d));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode ZeroRowsColumns(Mat *X)
{
  const PetscInt rows[] = {0, 3};
  PetscMPIInt    rank;

  PetscFunctionBegin;
  PetscCallMPI(MPI_Comm_rank(PetscObjectComm((PetscObject)*X), &rank));
  PetscCall(MatZeroRowsColumns(*X, rank ? 0 : 2, rows, 2, NULL, NULL));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode Submatrix(Mat *X)
{
  PetscInt r0, r1;
  IS       rows;
  Mat      Y;

  PetscFunctionBegin;
  PetscCall(MatGetOwnershipRange(*X, &r0, &r1));
  PetscCall(ISCreateStride(PetscObjectComm((PetscObject)*X), (r1 - r0 + 1) / 2, r0, 2, &rows));
  PetscCall(MatCreateSubMatrix(*X, rows, rows, MAT_INITIAL_MATRIX, &Y));
  PetscCall(MatScale(*X, 3));
  PetscCall(MatCreateSubMatrix(*X, rows, rows, MAT_REUSE_MATRIX, &Y));
  PetscCall(ISDestroy(&rows));
  PetscCall(MatDestroy(X));
  *X = Y;
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode ScaleByDiagonal(Mat *X)
{
  Vec d;

  PetscFunctionBegin;
  PetscCall(MatCreateVecs(*X, NULL, &d));
  PetscCall(MatGetDiagonal(*X, d));
  PetscCall(VecShift(d, 2));
  PetscCall(MatDiagonalScale(*X, d, NULL));
  PetscCall(MatGetRowSum(*X, d));
  PetscCall(VecShift(d, 0.5));
  PetscCall(MatDiagonalScale(*X, d, NULL));
  PetscCall(VecDestroy(&d));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode ScaleByProducts(Mat *X)
{
  Vec x, y;

  PetscFunctionBegin;
  PetscCall(MatCreateVecs(*X, &x, &y));
  PetscCall(VecSet(x, 1));
  PetscCall(VecSet(y, 2));
  PetscCall(MatMultAdd(*X, x, y, y));
  PetscCall(MatMultTransposeAdd(*X, y, x, x));
  PetscCall(MatDiagonalScale(*X, y, x));
  PetscCall(VecDestroy(&x));
  PetscCall(VecDestroy(&y));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode SparseProducts(Mat *X)
{
  Mat Y;

  PetscFunctionBegin;
  PetscCall(MatTransposeMatMult(*X, *X, MAT_INITIAL_MATRIX, PETSC_DEFAULT, &Y));
  PetscCall(MatScale(*X, 2));
  PetscCall(MatTransposeMatMult(*X, *X, MAT_REUSE_MATRIX, PETSC_DEFAULT, &Y));
  PetscCall(MatAXPY(*X, 1, Y, DIFFERENT_NONZERO_PATTERN));
  PetscCall(MatDestroy(&Y));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode EliminateZeros(Mat *X)
{
  PetscInt r0, r1;
  Vec      l;

  PetscFunctionBegin;
  PetscCall(MatCreateVecs(*X, NULL, &l));
  PetscCall(VecSet(l, 1));
  PetscCall(VecGetOwnershipRange(l, &r0, &r1));
  for (PetscInt i = r0; i < r1; i += 3) PetscCall(VecSetValue(l, i, 0, INSERT_VALUES));
  PetscCall(VecAssemblyBegin(l));
  PetscCall(VecAssemblyEnd(l));
  PetscCall(MatDiagonalScale(*X, l, NULL));
  PetscCall(MatEliminateZeros(*X, PETSC_TRUE));
  PetscCall(VecDestroy(&l));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Few entries a row, spread all over it */
static PetscErrorCode FillScattered(Mat X)
{
  PetscInt r0, r1, n;

  PetscFunctionBegin;
  PetscCall(MatGetSize(X, NULL, &n));
  PetscCall(MatGetOwnershipRange(X, &r0, &r1));
  for (PetscInt i = r0; i < r1; i++) {
    for (PetscInt k = 0; k < 6; k++) PetscCall(MatSetValue(X, i, (5 * i + 11 * k) % n, k + 0.1 * (i % 7), INSERT_VALUES));
  }
  PetscCall(MatAssemblyBegin(X, MAT_FINAL_ASSEMBLY));
  PetscCall(MatAssemblyEnd(X, MAT_FINAL_ASSEMBLY));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Preallocate more entries than there will be, otherwise a reset would find nothing to do */
static PetscErrorCode PreallocateAgain(Mat *X)
{
  PetscFunctionBegin;
  PetscCall(MatSeqAIJSetPreallocation(*X, 9, NULL));
  PetscCall(MatMPIAIJSetPreallocation(*X, 9, NULL, 9, NULL));
  PetscCall(FillScattered(*X));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode ResetPreallocation(Mat *X)
{
  PetscInt n;

  PetscFunctionBegin;
  PetscCall(MatGetSize(*X, NULL, &n));
  PetscCall(MatResetPreallocation(*X));
  PetscCall(Fill(*X, n, 2));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*
   Store and retrieve values, with a product of other values between. The stored values are new themselves on a device.
   What was retrieved must not be scaled before it is compared: that would renew all that is made of it.
*/
static PetscErrorCode StoreAndRetrieve(Mat *X)
{
  Mat R;

  PetscFunctionBegin;
  PetscCall(MatConvert(*X, MATAIJ, MAT_INITIAL_MATRIX, &R));
  PetscCall(MatScale(R, 2));
  PetscCall(MatSetOption(*X, MAT_NEW_NONZERO_LOCATIONS, PETSC_FALSE));
  PetscCall(MatScale(*X, 2));
  PetscCall(MatStoreValues(*X));
  PetscCall(MatScale(*X, 3));
  PetscCall(SameProducts(*X, *X, "after MatStoreValues()"));
  PetscCall(MatRetrieveValues(*X));
  PetscCall(SameProducts(*X, R, "after MatRetrieveValues()"));
  PetscCall(MatSetOption(*X, MAT_NEW_NONZERO_LOCATIONS, PETSC_TRUE));
  PetscCall(MatDestroy(&R));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*
   PETSc has memory for as many values as the first time: there is an error where it is too little now. It is one of all
   processes, also where the first one alone has more
*/
static PetscErrorCode TestStoreMore(PetscInt m)
{
  PetscInt       r0, r1, n, more;
  Mat            A;
  PetscErrorCode ierr[2];

  PetscFunctionBegin;
  PetscCall(Create(MATAIJTCU, m, m, &A));
  PetscCall(MatGetSize(A, NULL, &n));
  PetscCall(MatGetOwnershipRange(A, &r0, &r1));
  PetscCall(PetscPushErrorHandler(PetscReturnErrorHandler, NULL));
  ierr[0] = MatStoreValues(A); /* an error before the option is set, and nothing is stored */
  PetscCall(PetscPopErrorHandler());
  if (!ierr[0]) PetscCall(PetscPrintf(PETSC_COMM_WORLD, "MatStoreValues() without MatSetOption(): no error\n"));
  PetscCall(MatSetOption(A, MAT_NEW_NONZERO_ALLOCATION_ERR, PETSC_FALSE));
  for (PetscInt j = r0; j < r1; j++) PetscCall(MatSetValue(A, r1 - 1, j, 1, INSERT_VALUES));
  PetscCall(MatAssemblyBegin(A, MAT_FINAL_ASSEMBLY));
  PetscCall(MatAssemblyEnd(A, MAT_FINAL_ASSEMBLY));
  PetscCall(MatSetOption(A, MAT_NEW_NONZERO_LOCATIONS, PETSC_FALSE));
  PetscCall(MatStoreValues(A));
  PetscCall(MatStoreValues(A));
  PetscCall(MatRetrieveValues(A));
  PetscCall(MatSetOption(A, MAT_NEW_NONZERO_LOCATIONS, PETSC_TRUE));
  PetscCall(MatSetOption(A, MAT_NEW_NONZERO_ALLOCATION_ERR, PETSC_FALSE));
  more = r0 == 0 ? r1 : 0;
  for (PetscInt j = 0; j < more; j++) PetscCall(MatSetValue(A, 0, j, 1, INSERT_VALUES)); /* a full row of the diagonal block */
  PetscCallMPI(MPIU_Allreduce(MPI_IN_PLACE, &more, 1, MPIU_INT, MPI_MAX, PETSC_COMM_WORLD));
  PetscCall(MatAssemblyBegin(A, MAT_FINAL_ASSEMBLY));
  PetscCall(MatAssemblyEnd(A, MAT_FINAL_ASSEMBLY));
  PetscCall(MatSetOption(A, MAT_NEW_NONZERO_LOCATIONS, PETSC_FALSE));
  PetscCall(PetscPushErrorHandler(PetscReturnErrorHandler, NULL));
  ierr[0] = MatStoreValues(A);
  ierr[1] = MatRetrieveValues(A);
  PetscCall(PetscPopErrorHandler());
  for (int i = 0; i < 2; i++) {
    if (more && ierr[i] != PETSC_ERR_ARG_WRONGSTATE) PetscCall(PetscPrintf(PETSC_COMM_SELF, "%s after new nonzeros: error %d\n", i ? "MatRetrieveValues()" : "MatStoreValues()", (int)ierr[i]));
  }
  PetscCall(MatDestroy(&A));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* The nonzeros are new to a device, which has other ones of a product before them */
static PetscErrorCode ZeroAndFill(Mat *X)
{
  PetscInt n;

  PetscFunctionBegin;
  PetscCall(MatGetSize(*X, NULL, &n));
  PetscCall(Fill(*X, n, 4));
  PetscCall(MatZeroEntries(*X));
  PetscCall(FillScattered(*X));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* There is room between rows, and values lie in front of it and behind it. All of them count from zero again */
static PetscErrorCode ZeroUnassembled(Mat *X)
{
  PetscInt r0, r1, n;

  PetscFunctionBegin;
  PetscCall(MatGetSize(*X, NULL, &n));
  PetscCall(MatGetOwnershipRange(*X, &r0, &r1));
  PetscCall(MatSeqAIJSetPreallocation(*X, 9, NULL));
  PetscCall(MatMPIAIJSetPreallocation(*X, 9, NULL, 9, NULL));
  for (PetscInt k = 0; k < 2; k++) {
    for (PetscInt i = r0; i < r1; i++) {
      for (PetscInt j = 0; j < 3; j++) PetscCall(MatSetValue(*X, i, (i + 7 * j) % n, 1 + k + j, ADD_VALUES));
    }
    PetscCall(MatAssemblyBegin(*X, k ? MAT_FINAL_ASSEMBLY : MAT_FLUSH_ASSEMBLY));
    PetscCall(MatAssemblyEnd(*X, k ? MAT_FINAL_ASSEMBLY : MAT_FLUSH_ASSEMBLY));
    if (!k) PetscCall(MatZeroEntries(*X));
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode Filter(Mat *X)
{
  PetscFunctionBegin;
  PetscCall(MatFilter(*X, 0.01, PETSC_TRUE, PETSC_TRUE));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Rows of each process backwards, and columns of all processes */
static PetscErrorCode Permute(Mat *X)
{
  PetscInt r0, r1, c0, c1, n;
  IS       rows, cols;
  Mat      Y;

  PetscFunctionBegin;
  PetscCall(MatGetOwnershipRange(*X, &r0, &r1));
  PetscCall(MatGetOwnershipRangeColumn(*X, &c0, &c1));
  PetscCall(MatGetSize(*X, NULL, &n));
  PetscCall(ISCreateStride(PetscObjectComm((PetscObject)*X), r1 - r0, r1 - 1, -1, &rows));
  PetscCall(ISCreateStride(PetscObjectComm((PetscObject)*X), c1 - c0, n - 1 - c0, -1, &cols));
  PetscCall(ISSetPermutation(rows));
  PetscCall(ISSetPermutation(cols));
  PetscCall(MatPermute(*X, rows, cols, &Y));
  PetscCall(ISDestroy(&rows));
  PetscCall(ISDestroy(&cols));
  PetscCall(MatDestroy(X));
  *X = Y;
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*
   Apply several operations in turn to both. Each is compared with a product before it, after the last change, and
   after this one
*/
static PetscErrorCode TestChanges(PetscInt m)
{
  const struct {
    const char *name;
    PetscErrorCode (*change)(Mat *);
  } list[] = {
    {"MatAXPY() with another pattern",          OtherPattern    },
    {"MatAXPY() and MatAYPX() with a subset",   SubsetOfPattern },
    {"MatCopy() to a larger pattern",           CopyToLarger    },
    {"MatView() and MatLoad()",                 StoreAndLoad    },
    {"MatTranspose() again, and in place",      TransposeInPlace},
    {"MatDiagonalSet()",                        SetDiagonal     },
    {"MatZeroRowsColumns()",                    ZeroRowsColumns },
    {"MatGetDiagonal() and MatGetRowSum()",     ScaleByDiagonal },
    {"MatMultAdd() and MatMultTransposeAdd()",  ScaleByProducts },
    {"MatTransposeMatMult() of sparse matrices", SparseProducts },
    {"MatEliminateZeros()",                     EliminateZeros  },
    {"preallocation of an assembled matrix",    PreallocateAgain},
    {"MatResetPreallocation()",                 ResetPreallocation},
    {"MatStoreValues() and MatRetrieveValues()", StoreAndRetrieve},
    {"MatZeroEntries() after new nonzeros",     ZeroAndFill     },
    {"MatZeroEntries() before the last assembly", ZeroUnassembled},
    {"MatFilter()",                             Filter          },
    {"MatPermute()",                            Permute         },
    {"MatCreateSubMatrix()",                    Submatrix       }
  };
  Mat X[2];

  PetscFunctionBegin;
  PetscCall(Create(MATAIJTCU, m, m, &X[0]));
  PetscCall(Create(MATAIJ, m, m, &X[1]));
  PetscCall(Same(X[0], X[1], PETSC_TRUE, "before the changes"));
  for (size_t k = 0; k < PETSC_STATIC_ARRAY_LENGTH(list); k++) {
    for (int i = 0; i < 2; i++) {
      const Mat before = X[i];
      PetscReal norm;

      PetscCall((*list[k].change)(&X[i]));
      if (X[i] != before && !i) { /* products set up later take a path that was set, too */
        PetscCall(MatSetOptionsPrefix(X[i], "a_"));
        PetscCall(MatSetFromOptions(X[i]));
      }
      PetscCall(MatNorm(X[i], NORM_INFINITY, &norm));
      PetscCall(MatScale(X[i], 4 / norm)); /* so that numbers do not grow */
    }
    PetscCall(Same(X[0], X[1], PETSC_TRUE, list[k].name));
  }
  for (int i = 0; i < 2; i++) PetscCall(MatDestroy(&X[i]));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Each process asks for the whole of a matrix whose rows and columns are not split alike, and again after new values */
static PetscErrorCode TestWhole(void)
{
  Mat         A, redundant, *sub;
  IS          all;
  PetscMPIInt rank, size;
  PetscInt    r0, r1, n, wrong = 0;

  PetscFunctionBegin;
  PetscCallMPI(MPI_Comm_rank(PETSC_COMM_WORLD, &rank));
  PetscCallMPI(MPI_Comm_size(PETSC_COMM_WORLD, &size));
  PetscCall(MatCreate(PETSC_COMM_WORLD, &A));
  PetscCall(MatSetSizes(A, rank ? 20 : 30, rank ? 10 : 10 * size + 20, 20 * size + 10, 20 * size + 10));
  PetscCall(MatSetType(A, MATAIJTCU));
  PetscCall(MatSetUp(A));
  PetscCall(MatGetOwnershipRange(A, &r0, &r1));
  PetscCall(MatGetSize(A, NULL, &n));
  for (PetscInt i = r0; i < r1; i++) {
    for (PetscInt j = 0; j < 3; j++) PetscCall(MatSetValue(A, i, (i + 17 * j) % n, 1 + i + j, INSERT_VALUES));
  }
  PetscCall(MatAssemblyBegin(A, MAT_FINAL_ASSEMBLY));
  PetscCall(MatAssemblyEnd(A, MAT_FINAL_ASSEMBLY));
  PetscCall(ISCreateStride(PETSC_COMM_SELF, n, 0, 1, &all));
  for (PetscInt k = 0; k < 2; k++) {
    const MatReuse reuse = k ? MAT_REUSE_MATRIX : MAT_INITIAL_MATRIX;

    PetscCall(MatCreateSubMatrices(A, 1, &all, &all, reuse, &sub));
    PetscCall(MatCreateRedundantMatrix(A, size, MPI_COMM_NULL, reuse, &redundant));
    for (PetscInt i = 0; i < n; i++) {
      for (PetscInt j = 0; j < 3; j++) {
        const PetscInt column = (i + 17 * j) % n;
        PetscScalar    a, b;

        PetscCall(MatGetValue(sub[0], i, column, &a));
        PetscCall(MatGetValue(redundant, i, column, &b));
        if (a != (PetscReal)((1 + i + j) * (1 + k)) || a != b) wrong++;
      }
    }
    PetscCall(MatScale(A, 2));
  }
  if (wrong) PetscCall(PetscPrintf(PETSC_COMM_SELF, "MatCreateSubMatrices() of the whole: %" PetscInt_FMT " entries are wrong\n", wrong));
  PetscCall(MatDestroySubMatrices(1, &sub));
  PetscCall(MatDestroy(&redundant));
  PetscCall(ISDestroy(&all));
  PetscCall(MatDestroy(&A));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*
   The rows of this process with the columns of both blocks, of a matrix that is bound to the host: made, filled again,
   and filled again after it was freed
*/
static PetscErrorCode TestBoundMerge(PetscInt m, PetscInt n)
{
  const char *const what[] = {"bound", "changed", "free again"};
  Mat               A, R, D, sub[2];
  IS                columns[2];
  PetscMPIInt       size;
  PetscBool         is;

  PetscFunctionBegin;
  PetscCallMPI(MPI_Comm_size(PETSC_COMM_WORLD, &size));
  if (size == 1) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCall(Create(MATAIJTCU, m, n, &A));
  PetscCall(Create(MATAIJ, m, n, &R));
  PetscCall(MatScale(A, 2)); /* on the device alone */
  PetscCall(MatScale(R, 2));
  PetscCall(MatBindToCPU(A, PETSC_TRUE));
  for (PetscInt k = 0; k < 3; k++) {
    const MatReuse reuse = k ? MAT_REUSE_MATRIX : MAT_INITIAL_MATRIX;
    PetscReal      norms[2];

    if (k == 2) PetscCall(MatBindToCPU(A, PETSC_FALSE));
    PetscCall(MatMPIAIJGetLocalMatMerge(A, reuse, &columns[0], &sub[0]));
    PetscCall(MatMPIAIJGetLocalMatMerge(R, reuse, &columns[1], &sub[1]));
    PetscCall(ISEqualUnsorted(columns[0], columns[1], &is));
    if (!is) PetscCall(PetscPrintf(PETSC_COMM_SELF, "MatMPIAIJGetLocalMatMerge(), %s: other columns\n", what[k]));
    PetscCall(MatConvert(sub[0], MATAIJ, MAT_INITIAL_MATRIX, &D));
    PetscCall(MatAXPY(D, -1, sub[1], DIFFERENT_NONZERO_PATTERN));
    PetscCall(MatNorm(D, NORM_FROBENIUS, &norms[0]));
    PetscCall(MatNorm(sub[1], NORM_FROBENIUS, &norms[1]));
    PetscCall(MatDestroy(&D));
    if (norms[0] > 10 * PETSC_MACHINE_EPSILON * norms[1]) PetscCall(PetscPrintf(PETSC_COMM_SELF, "MatMPIAIJGetLocalMatMerge(), %s: off by %g of %g\n", what[k], (double)norms[0], (double)norms[1]));
    for (PetscInt i = 0; i < 2; i++) PetscCall(ISDestroy(&columns[i]));
    PetscCall(MatScale(A, 3));
    PetscCall(MatScale(R, 3));
  }
  PetscCall(Same(A, R, PETSC_TRUE, "MatMPIAIJGetLocalMatMerge()"));
  for (PetscInt i = 0; i < 2; i++) PetscCall(MatDestroy(&sub[i]));
  PetscCall(MatDestroy(&A));
  PetscCall(MatDestroy(&R));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* A matrix that has A's diagonal block, too, does not take it away from the device. Its vectors are of the host */
static PetscErrorCode TestSharedBlock(PetscInt m)
{
  Mat         A, R, B, S, block;
  Vec         x, y, z;
  PetscMPIInt size;
  PetscBool   bound[2];

  PetscFunctionBegin;
  PetscCallMPI(MPI_Comm_size(PETSC_COMM_WORLD, &size));
  if (size == 1) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCall(Create(MATAIJTCU, m, m, &A));
  PetscCall(Create(MATAIJ, m, m, &R));
  for (PetscInt k = 0; k < 2; k++) {
    const MatReuse reuse = k ? MAT_REUSE_MATRIX : MAT_INITIAL_MATRIX;
    PetscReal      norms[2];

    PetscCall(MatGetMultiProcBlock(A, PETSC_COMM_SELF, reuse, &B));
    PetscCall(MatGetMultiProcBlock(R, PETSC_COMM_SELF, reuse, &S));
    PetscCall(MatBoundToCPU(A, &bound[0]));
    PetscCall(MatMPIAIJGetSeqAIJ(A, &block, NULL, NULL));
    PetscCall(MatBoundToCPU(block, &bound[1]));
    if (bound[0] != bound[1]) PetscCall(PetscPrintf(PETSC_COMM_SELF, "MatGetMultiProcBlock(): the matrix is%s bound to the host, its block is%s\n", bound[0] ? "" : " not", bound[1] ? "" : " not"));
    PetscCall(MatNorm(B, NORM_FROBENIUS, &norms[0]));
    PetscCall(MatNorm(S, NORM_FROBENIUS, &norms[1]));
    PetscCall(SameNorms(PetscAbsReal(norms[0] - norms[1]), norms[1], "MatGetMultiProcBlock()", "what is stored"));
    PetscCall(MatCreateVecs(S, &x, &y)); /* before A is multiplied */
    PetscCall(VecDuplicate(y, &z));
    PetscCall(VecSetRandom(x, NULL));
    PetscCall(MatMult(S, x, y));
    PetscCall(MatMult(B, x, z));
    PetscCall(SameVectors(z, y, "MatGetMultiProcBlock()", "B x"));
    PetscCall(VecDestroy(&x));
    PetscCall(VecDestroy(&y));
    PetscCall(VecDestroy(&z));
    PetscCall(Same(A, R, PETSC_TRUE, "MatGetMultiProcBlock()"));
    PetscCall(MatScale(A, 2));
    PetscCall(MatScale(R, 2));
  }
  PetscCall(MatDestroy(&B));
  PetscCall(MatDestroy(&S));
  PetscCall(Same(A, R, PETSC_TRUE, "MatGetMultiProcBlock(), destroyed"));
  PetscCall(MatDestroy(&A));
  PetscCall(MatDestroy(&R));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Numbers of PETSCCURAND for arrays of the host: they are in the interval, and come again with the seed */
static PetscErrorCode TestHostRandom(PetscInt m, PetscInt n)
{
  Mat         A, M, S;
  Vec         x;
  PetscRandom random;
  PetscReal   at[9], most, least = PETSC_MAX_REAL;
  PetscBool   device, same;

  PetscFunctionBegin;
  PetscCall(Create(MATAIJTCU, m, n, &A));
  PetscCall(IsOnDevice(A, &device));
  if (device) {
    PetscCall(PetscRandomCreate(PETSC_COMM_SELF, &random));
    PetscCall(PetscRandomSetType(random, PETSCCURAND));
    PetscCall(PetscRandomSetInterval(random, -2, 3));
    PetscCall(MatCreateSeqDense(PETSC_COMM_SELF, 7, 5, NULL, &M));
    PetscCall(MatDuplicate(M, MAT_DO_NOT_COPY_VALUES, &S));
    PetscCall(MatSetRandom(M, random));
    PetscCall(PetscRandomGetValuesReal(random, 9, at));
    most = PetscAbsReal(at[0]);
    for (PetscInt i = 0; i < 9; i++) {
      most  = PetscMax(most, PetscMax(at[i] - 1, -at[i]));
      least = PetscMin(least, at[i]);
    }
    PetscCheck(most <= 2 && least < 2 && at[0] != at[1], PETSC_COMM_SELF, PETSC_ERR_PLIB, "Random numbers %g, %g to %g", (double)at[0], (double)least, (double)most);
    PetscCall(PetscRandomSeed(random));
    PetscCall(MatSetRandom(S, random));
    PetscCall(MatEqual(M, S, &same));
    PetscCheck(same, PETSC_COMM_SELF, PETSC_ERR_PLIB, "With the same seed random numbers are other ones");
    PetscCall(MatNorm(M, NORM_FROBENIUS, &most));
    PetscCheck(most > 1 && most < 3 * PetscSqrtReal(2 * 35), PETSC_COMM_SELF, PETSC_ERR_PLIB, "Random numbers of norm %g", (double)most);
    PetscCall(MatCreateVecs(A, &x, NULL));
    PetscCall(VecSetRandom(x, random)); /* still on the device */
    PetscCall(VecNorm(x, NORM_INFINITY, &most));
    PetscCheck(most > 0 && most <= 3 * PetscSqrtReal(2), PETSC_COMM_SELF, PETSC_ERR_PLIB, "Random numbers of a vector up to %g", (double)most);
    PetscCall(VecDestroy(&x));
    PetscCall(MatDestroy(&M));
    PetscCall(MatDestroy(&S));
    PetscCall(PetscRandomDestroy(&random));
  }
  PetscCall(MatDestroy(&A));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*
   MatHeaderReplace() moves the plan to a matrix with another count of states. That count may reach the plan's own
   number again
*/
static PetscErrorCode TestHeaderReplace(PetscInt m, PetscInt n)
{
  Mat              A, D, R;
  PetscObjectState state, now;

  PetscFunctionBegin;
  PetscCall(Create(MATAIJTCU, m, n, &A));
  PetscCall(Create(MATAIJTCU, m, n, &D));
  PetscCall(Create(MATAIJ, m, n, &R));
  for (PetscInt i = 0; i < 20; i++) PetscCall(MatScale(D, 1));
  PetscCall(Same(D, R, PETSC_TRUE, "before MatHeaderReplace()"));
  PetscCall(PetscObjectStateGet((PetscObject)D, &state));
  PetscCall(MatHeaderReplace(A, &D));
  PetscCall(PetscObjectStateGet((PetscObject)A, &now));
  while (now < state) {
    PetscCall(MatScale(A, 2));
    PetscCall(MatScale(R, 2));
    PetscCall(PetscObjectStateGet((PetscObject)A, &now));
  }
  PetscCall(Same(A, R, PETSC_TRUE, "MatHeaderReplace()"));
  PetscCall(MatDestroy(&A));
  PetscCall(MatDestroy(&R));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* A copy of an array where the vectors of A have theirs, on its device. It is stored in a vector, as bytes */
static PetscErrorCode CopyToDevice(Mat A, const void *array, size_t bytes, Vec *copy)
{
  const PetscInt n = (PetscInt)((bytes + sizeof(PetscScalar) - 1) / sizeof(PetscScalar));
  VecType        type;
  PetscScalar   *a;

  PetscFunctionBegin;
  PetscCall(MatGetVecType(A, &type));
  PetscCall(VecCreate(PETSC_COMM_SELF, copy));
  PetscCall(VecSetSizes(*copy, n, n));
  PetscCall(VecSetType(*copy, type));
  PetscCall(VecGetArrayWrite(*copy, &a));
  PetscCall(PetscMemcpy(a, array, bytes));
  PetscCall(VecRestoreArrayWrite(*copy, &a));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode SetCoordinatesOfDevice(Mat A, PetscInt count, const PetscInt i[], const PetscInt j[])
{
  Vec          x, y;
  PetscScalar *a, *b;

  PetscFunctionBegin;
  PetscCall(CopyToDevice(A, i, (size_t)count * sizeof(*i), &x));
  PetscCall(CopyToDevice(A, j, (size_t)count * sizeof(*j), &y));
  PetscCall(VecGetArrayAndMemType(x, &a, NULL));
  PetscCall(VecGetArrayAndMemType(y, &b, NULL));
  PetscCall(PetscCheckPointerSetIntensity(0)); /* a debug build of PETSc checks on the host whether there is something */
  PetscCall(MatSetPreallocationCOO(A, count, (PetscInt *)a, (PetscInt *)b));
  PetscCall(PetscCheckPointerSetIntensity(1));
  PetscCall(VecRestoreArrayAndMemType(x, &a));
  PetscCall(VecRestoreArrayAndMemType(y, &b));
  PetscCall(VecDestroy(&x));
  PetscCall(VecDestroy(&y));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*
   Assembly by coordinates, with repeats and with entries of other processes. Values come twice. Then comes another
   pattern, and one whose coordinates are on the device, too.
*/
static PetscErrorCode TestCOO(PetscInt m, PetscInt n)
{
  Mat         A, R;
  PetscMPIInt rank, size;

  PetscFunctionBegin;
  PetscCallMPI(MPI_Comm_rank(PETSC_COMM_WORLD, &rank));
  PetscCallMPI(MPI_Comm_size(PETSC_COMM_WORLD, &size));
  PetscCall(MatCreate(PETSC_COMM_WORLD, &A));
  PetscCall(MatSetSizes(A, PETSC_DECIDE, PETSC_DECIDE, m, n));
  PetscCall(MatSetType(A, MATAIJTCU));
  PetscCall(MatCreate(PETSC_COMM_WORLD, &R));
  PetscCall(MatSetSizes(R, PETSC_DECIDE, PETSC_DECIDE, m, n));
  PetscCall(MatSetType(R, MATAIJ));
  for (PetscInt pattern = 0; pattern < 3; pattern++) {
    const PetscInt count = 4 * m / size;
    PetscInt      *i, *j;
    PetscScalar   *v;

    PetscCall(PetscMalloc3(count, &i, count, &j, count, &v));
    for (PetscInt k = 0; k < count; k++) {
      i[k] = (7 * k + 3 * rank + pattern) % m;
      j[k] = (5 * k * k + rank) % n;
    }
    if (pattern == 2) PetscCall(SetCoordinatesOfDevice(A, count, i, j));
    else PetscCall(MatSetPreallocationCOO(A, count, i, j));
    for (PetscInt k = 0; k < count; k++) { /* the call may have changed them */
      i[k] = (7 * k + 3 * rank + pattern) % m;
      j[k] = (5 * k * k + rank) % n;
    }
    PetscCall(MatSetPreallocationCOO(R, count, i, j));
    for (PetscInt times = 0; times < 2; times++) {
      for (PetscInt k = 0; k < count; k++) v[k] = (PetscScalar)(1 + times + k % 9);
      PetscCall(MatSetValuesCOO(A, v, times ? ADD_VALUES : INSERT_VALUES));
      PetscCall(MatSetValuesCOO(R, v, times ? ADD_VALUES : INSERT_VALUES));
      PetscCall(Same(A, R, PETSC_TRUE, times ? "COO, added" : "COO, inserted"));
    }
    { /* values where the vectors of the matrix have theirs, on its device */
      Vec                x;
      const PetscScalar *a;

      for (PetscInt k = 0; k < count; k++) v[k] *= 0.25;
      PetscCall(CopyToDevice(A, v, (size_t)count * sizeof(*v), &x));
      PetscCall(VecGetArrayReadAndMemType(x, &a, NULL));
      PetscCall(MatSetValuesCOO(A, a, INSERT_VALUES));
      PetscCall(VecRestoreArrayReadAndMemType(x, &a));
      PetscCall(VecDestroy(&x));
      PetscCall(MatSetValuesCOO(R, v, INSERT_VALUES));
      PetscCall(Same(A, R, PETSC_TRUE, "COO, values of the device"));
    }
    PetscCall(PetscFree3(i, j, v));
  }
  PetscCall(MatDestroy(&A));
  PetscCall(MatDestroy(&R));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Check that a call is refused. The message must name the option, if it is one, and have the right words in it */
static PetscErrorCode MustFail(PetscErrorCode error, const char what[], const char right[])
{
  const char *message = NULL;

  PetscFunctionBegin;
  if (!error) PetscCall(PetscPrintf(PETSC_COMM_WORLD, "%s: accepted\n", what));
  else {
    PetscCall(ExampleErrorMessage(error, &message));
    if ((what[0] == '-' && !strstr(message, what + 1)) || !strstr(message, right)) PetscCall(PetscPrintf(PETSC_COMM_WORLD, "%s: the message is \"%s\"\n", what, message));
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* An option of the matrix, or without a matrix one of the whole program */
static PetscErrorCode WrongOption(Mat A, const char name[], const char value[], const char right[])
{
  PetscErrorCode error;
  char           whole[64];

  PetscFunctionBegin;
  PetscCall(PetscSNPrintf(whole, sizeof(whole), "-%s%s", A ? "a_" : "", name + 1));
  PetscCall(PetscOptionsSetValue(NULL, whole, value));
  PetscCall(PetscPushErrorHandler(PetscReturnErrorHandler, NULL));
  error = A ? MatSetFromOptions(A) : PetscDLLibraryRegister_petscaijtcu();
  PetscCall(PetscPopErrorHandler());
  PetscCall(MustFail(error, name, right));
  PetscCall(PetscOptionsClearValue(NULL, whole));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode IsFormat(Mat A, PetscInt brick_rows, PetscInt panel_rows, PetscInt block_cols, PetscInt window_cols, const char what[])
{
  MatAIJTCUFormat f;

  PetscFunctionBegin;
  PetscCall(MatAIJTCUGetFormat(A, &f));
  if (f.brick_rows != brick_rows || f.panel_rows != panel_rows || f.block_cols != block_cols || f.window_cols != window_cols) PetscCall(PetscPrintf(PETSC_COMM_WORLD, "%s: the format is %" PetscInt_FMT ",%" PetscInt_FMT ",%" PetscInt_FMT ",%" PetscInt_FMT "\n", what, f.brick_rows, f.panel_rows, f.block_cols, f.window_cols));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* On one process a parallel matrix stays one, as with the other types of an aij */
static PetscErrorCode TestParallelOnOne(void)
{
  Mat       A, B, D;
  PetscBool parallel;

  PetscFunctionBegin;
  PetscCall(Create(MATMPIAIJ, 12, 12, &A));
  PetscCall(MatConvert(A, MATAIJTCU, MAT_INITIAL_MATRIX, &B));
  PetscCall(PetscObjectBaseTypeCompare((PetscObject)B, MATMPIAIJ, &parallel));
  if (!parallel) PetscCall(PetscPrintf(PETSC_COMM_WORLD, "a new matrix of an mpiaij is a %s\n", ((PetscObject)B)->type_name));
  PetscCall(MatConvert(A, MATAIJTCU, MAT_INPLACE_MATRIX, &A));
  PetscCall(PetscObjectBaseTypeCompare((PetscObject)A, MATMPIAIJ, &parallel));
  if (!parallel) PetscCall(PetscPrintf(PETSC_COMM_WORLD, "an mpiaij becomes a %s\n", ((PetscObject)A)->type_name));
  PetscCall(MatDuplicate(A, MAT_COPY_VALUES, &D));
  PetscCall(MatResetPreallocation(D)); /* PETSc leaves a duplicate alone that was never assembled */
  PetscCall(MatDestroy(&A));
  PetscCall(MatDestroy(&B));
  PetscCall(MatDestroy(&D));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode TestSettings(void)
{
  Mat              A, R, D;
  MatAIJTCUPath    path;
  MatAIJTCUTune    tune;
  PetscInt         products;
  MatAIJTCUTuning  tuning;
  MatAIJTCUCounts  counts;
  MatAIJTCUSynergy s;
  PetscReal        alpha;
  const struct {
    MatAIJTCUFormat format;
    const char     *what, *right;
  } wrong[] = {
    {{9, 18, 32, 1},    "9 brick rows",                          "8 or 16, not 9"                               },
    {{16, 40, 32, 1},   "40 panel rows with 16 brick rows",      "multiple of those of a brick, 16, up to 256"  },
    {{16, 512, 32, 1},  "512 panel rows",                        "up to 256, not 512"                           },
    {{16, 0, 32, 1},    "no panel rows",                         "up to 256, not 0"                             },
    {{16, 64, 6, 1},    "6 block columns",                       "multiple of 4 up to 256 where windows have 1" },
    {{16, 64, 260, 1},  "260 block columns",                     "up to 256"                                    },
    {{16, 64, 20, 8},   "20 block columns with 8 window columns", "multiple of 8 up to 256 where windows have 8"},
    {{16, 64, 48, 3},   "3 window columns",                      "1, 2, 4, 8 or 16, not 3"                      },
    {{16, 64, 32, 32},  "32 window columns",                     "1, 2, 4, 8 or 16, not 32"                     },
    {{0, 64, 32, 1},    "no brick rows",                         "8 or 16, not 0"                               },
    {{8, -64, 32, 1},   "panel rows of -64",                     "up to 256, not -64"                           }
  };

  PetscFunctionBegin;
  PetscCall(Create(MATAIJTCU, 64, 64, &A));
  PetscCall(MatAIJTCUGetCounts(A, &counts));
  if (counts.builds || counts.tcu || counts.csr || counts.cusparse) PetscCall(PetscPrintf(PETSC_COMM_WORLD, "a plan before the first product\n"));
  PetscCall(MatAIJTCUSetPath(A, MAT_AIJTCU_PATH_TCU));
  PetscCall(MatAIJTCUSetFormat(A, &(MatAIJTCUFormat){16, 32, 136, 8}));
  PetscCall(MatAIJTCUSetSynergyThreshold(A, 0.25));
  PetscCall(MatAIJTCUSetTune(A, MAT_AIJTCU_TUNE_PROXY));
  PetscCall(MatAIJTCUSetExpectedProducts(A, 321));
  PetscCall(MatDuplicate(A, MAT_COPY_VALUES, &D)); /* the conversion takes the settings along */
  PetscCall(MatAIJTCUGetPath(D, &path));
  if (path != MAT_AIJTCU_PATH_TCU) PetscCall(PetscPrintf(PETSC_COMM_WORLD, "path is %s\n", MatAIJTCUPaths[path]));
  PetscCall(IsFormat(D, 16, 32, 136, 8, "a format that is duplicated"));
  PetscCall(MatAIJTCUGetSynergyThreshold(D, &alpha));
  if (alpha != (PetscReal)0.25) PetscCall(PetscPrintf(PETSC_COMM_WORLD, "threshold is %g\n", (double)alpha));
  PetscCall(MatAIJTCUGetTune(D, &tune));
  if (tune != MAT_AIJTCU_TUNE_PROXY) PetscCall(PetscPrintf(PETSC_COMM_WORLD, "tune is %s\n", MatAIJTCUTunes[tune]));
  PetscCall(MatAIJTCUGetExpectedProducts(D, &products));
  if (products != 321) PetscCall(PetscPrintf(PETSC_COMM_WORLD, "%" PetscInt_FMT " products are expected\n", products));
  PetscCall(SameProducts(D, D, "tuned, with a path that is set"));
  PetscCall(MatAIJTCUGetTuning(D, 5, &tuning));
  if (tuning.nvariants || tuning.winner != -1) PetscCall(PetscPrintf(PETSC_COMM_WORLD, "a tuning where path and format are set\n"));
  PetscCall(MatDestroy(&D));

  PetscCall(PetscPushErrorHandler(PetscReturnErrorHandler, NULL));
  PetscCall(MustFail(MatAIJTCUSetPath(A, (MatAIJTCUPath)9), "path 9", "MAT_AIJTCU_PATH_AUTO, MAT_AIJTCU_PATH_TCU, MAT_AIJTCU_PATH_CSR or MAT_AIJTCU_PATH_CUSPARSE"));
  PetscCall(MustFail(MatAIJTCUSetPrecision(A, (MatAIJTCUPrecision)9), "precision 9", "MAT_AIJTCU_PRECISION_FULL or MAT_AIJTCU_PRECISION_TF32"));
  PetscCall(MustFail(MatAIJTCUSetTune(A, (MatAIJTCUTune)9), "tune 9", "MAT_AIJTCU_TUNE_NONE or MAT_AIJTCU_TUNE_PROXY"));
  for (size_t k = 0; k < PETSC_STATIC_ARRAY_LENGTH(wrong); k++) PetscCall(MustFail(MatAIJTCUSetFormat(A, &wrong[k].format), wrong[k].what, wrong[k].right));
  PetscCall(MustFail(MatAIJTCUSetExpectedProducts(A, 0), "no products", "1 or more, or PETSC_DEFAULT, not 0"));
  PetscCall(MustFail(MatAIJTCUSetSynergyThreshold(A, -1), "a negative threshold", "a fraction up to 1"));
  PetscCall(MustFail(MatAIJTCUSetSynergyThreshold(A, (PetscReal)NAN), "a threshold that is no number", "a fraction up to 1"));
  PetscCall(PetscPopErrorHandler());

  /* other types: setters do nothing, getters are errors */
  PetscCall(Create(MATAIJ, 64, 64, &R));
  PetscCall(MatAIJTCUSetPath(R, MAT_AIJTCU_PATH_TCU));
  PetscCall(PetscPushErrorHandler(PetscReturnErrorHandler, NULL));
  PetscCall(MustFail(MatAIJTCUGetPath(R, &path), "the path of an aij", "must be of type aijtcu"));
  PetscCall(MustFail(MatAIJTCUGetTune(R, &tune), "the tuning of an aij", "must be of type aijtcu"));
  PetscCall(MustFail(MatAIJTCUGetTuning(R, 8, &tuning), "what was tuned of an aij", "must be of type aijtcu"));
  PetscCall(MustFail(MatAIJTCUGetSynergy(R, &s), "the synergy of an aij", "must be of type aijtcu"));
  PetscCall(PetscPopErrorHandler());
  PetscCall(MatDestroy(&R));
  PetscCall(MatDestroy(&A));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Setting what was got changes nothing: neither what is got next, nor the threshold in force. For A or a block of it */
static PetscErrorCode SetWhatIsSet(Mat A, Mat whole)
{
  MatAIJTCUPath      path[2];
  MatAIJTCUFormat    format[2];
  MatAIJTCUPrecision precision[2];
  MatAIJTCUReorder   reorder[2];
  MatAIJTCUTune      tune[2];
  PetscInt           products[2];
  PetscReal          threshold[2];
  MatAIJTCUSynergy   s[2];

  PetscFunctionBegin;
  for (int k = 0; k < 2; k++) {
    Mat B = k ? whole : A;

    PetscCall(MatAIJTCUGetPath(B, &path[k]));
    PetscCall(MatAIJTCUGetFormat(B, &format[k]));
    PetscCall(MatAIJTCUGetPrecision(B, &precision[k]));
    PetscCall(MatAIJTCUGetReorder(B, &reorder[k]));
    PetscCall(MatAIJTCUGetTune(B, &tune[k]));
    PetscCall(MatAIJTCUGetExpectedProducts(B, &products[k]));
    PetscCall(MatAIJTCUGetSynergyThreshold(B, &threshold[k]));
    PetscCall(MatAIJTCUGetSynergy(B, &s[k]));
    if (k) break;
    PetscCall(MatAIJTCUSetPath(B, path[0]));
    PetscCall(MatAIJTCUSetFormat(B, &format[0]));
    PetscCall(MatAIJTCUSetPrecision(B, precision[0]));
    PetscCall(MatAIJTCUSetReorder(B, reorder[0]));
    PetscCall(MatAIJTCUSetTune(B, tune[0]));
    PetscCall(MatAIJTCUSetExpectedProducts(B, products[0]));
    PetscCall(MatAIJTCUSetSynergyThreshold(B, threshold[0]));
  }
  if (path[0] != path[1] || memcmp(&format[0], &format[1], sizeof(format[0])) || precision[0] != precision[1] || reorder[0] != reorder[1] || tune[0] != tune[1] || products[0] != products[1] || threshold[0] != threshold[1] || s[0].threshold != s[1].threshold) PetscCall(PetscPrintf(PETSC_COMM_SELF, "what is set is not what was got\n"));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode TestInverse(void)
{
  const MatAIJTCUFormat format = {16, 32, 64, 4};
  Mat                   A, diagonal;
  MatAIJTCUPath         path;
  PetscReal             alpha;
  PetscBool             parallel;

  PetscFunctionBegin;
  PetscCall(Create(MATAIJTCU, 64, 64, &A));
  PetscCall(IsFormat(A, 0, 0, 0, 0, "no format is set"));
  PetscCall(MatAIJTCUGetSynergyThreshold(A, &alpha));
  if (alpha != (PetscReal)PETSC_DEFAULT) PetscCall(PetscPrintf(PETSC_COMM_WORLD, "the threshold is %g while none is set\n", (double)alpha));
  PetscCall(SetWhatIsSet(A, A));
  PetscCall(MatAIJTCUSetFormat(A, &format));
  PetscCall(MatAIJTCUSetReorder(A, MAT_AIJTCU_REORDER_NEVER));
  PetscCall(MatAIJTCUSetExpectedProducts(A, 7));
  PetscCall(MatAIJTCUSetSynergyThreshold(A, 0.5));
  PetscCall(SetWhatIsSet(A, A));
  PetscCall(IsFormat(A, 16, 32, 64, 4, "a format that is set"));
  PetscCall(MatAIJTCUSetFormat(A, NULL));
  PetscCall(IsFormat(A, 0, 0, 0, 0, "the format is given back"));
  PetscCall(SameProducts(A, A, "a format that was given back")); /* this also gives plans to the blocks of a parallel matrix */
  PetscCall(PetscObjectBaseTypeCompare((PetscObject)A, MATMPIAIJ, &parallel));
  if (parallel) { /* a block has the options of the whole */
    PetscCall(MatMPIAIJGetSeqAIJ(A, &diagonal, NULL, NULL));
    PetscCall(MatAIJTCUSetPath(diagonal, MAT_AIJTCU_PATH_CUSPARSE));
    PetscCall(MatAIJTCUGetPath(diagonal, &path));
    if (path != MAT_AIJTCU_PATH_CUSPARSE) PetscCall(PetscPrintf(PETSC_COMM_WORLD, "path of a block is %s, not what was set\n", MatAIJTCUPaths[path]));
    PetscCall(SetWhatIsSet(diagonal, A));
  }
  PetscCall(MatDestroy(&A));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* None of these is a valid number; the last one has no value */
static const char *const numbers[] = {"-0.5", "high", "0.5x", "nan", "0.50000000000000000000000000000000000000000000000000000000000000000x", NULL};

/* Called before the library is made known, which is when it reads these options */
static PetscErrorCode TestWrongGlobalOptions(void)
{
  PetscFunctionBegin;
  PetscCall(WrongOption(NULL, "-mat_aijtcu_attach", "maybe", "true or false"));
  PetscCall(WrongOption(NULL, "-mat_aijtcu_view_choice", "2", "true or false"));
  if (PetscDefined(HAVE_CUDA) && !PetscDefined(USE_64BIT_INDICES)) {
    for (size_t i = 0; i < PETSC_STATIC_ARRAY_LENGTH(numbers); i++) PetscCall(WrongOption(NULL, "-mat_aijtcu_workspace_max", numbers[i], "0 or more"));
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* An error inside of PetscOptionsBegin() leaves PETSc's own list of options allocated: run without -malloc_dump */
static PetscErrorCode TestWrongOptions(void)
{
  Mat               A;
  const char *const format[]  = {"16", "16,64", "16,64,32", "16,64,32,", "16,64,32,1,", "16,64,32,1,5", ",64,32,1", "tall,64,32,1", "16,64.5,32,1", "16,64,32,1x", "4294967312,64,32,1" /* 2^32 + 16 */, "16-64,32,1", "", NULL};
  const char *const numbers4  = "four whole numbers brick,panel,block,window";
  PetscInt          products;

  PetscFunctionBegin;
  PetscCall(Create(MATAIJTCU, 64, 64, &A));
  PetscCall(MatAIJTCUSetFormat(A, &(MatAIJTCUFormat){16, 64, 32, 1}));
  PetscCall(WrongOption(A, "-mat_aijtcu_path", "tensor", "auto tcu csr cusparse"));
  PetscCall(WrongOption(A, "-mat_aijtcu_path", NULL, "auto, tcu, csr or cusparse"));
  for (size_t i = 0; i < PETSC_STATIC_ARRAY_LENGTH(format); i++) PetscCall(WrongOption(A, "-mat_aijtcu_format", format[i], numbers4));
  PetscCall(WrongOption(A, "-mat_aijtcu_format", "12,64,32,1", "8 or 16, not 12"));
  PetscCall(WrongOption(A, "-mat_aijtcu_format", "16,20,32,1", "multiple of those of a brick, 16, up to 256, not 20"));
  PetscCall(WrongOption(A, "-mat_aijtcu_format", "16,64,0,1", "multiple of 4 up to 256"));
  PetscCall(WrongOption(A, "-mat_aijtcu_format", "16,64,32,12", "1, 2, 4, 8 or 16, not 12"));
  PetscCall(WrongOption(A, "-mat_aijtcu_precision", "half", "full tf32"));
  PetscCall(WrongOption(A, "-mat_aijtcu_precision", NULL, "full or tf32"));
  PetscCall(WrongOption(A, "-mat_aijtcu_reorder", "sometimes", "auto never always"));
  PetscCall(WrongOption(A, "-mat_aijtcu_reorder", NULL, "auto, never or always"));
  PetscCall(WrongOption(A, "-mat_aijtcu_products", "0", "1 or more, or PETSC_DEFAULT, not 0"));
  PetscCall(WrongOption(A, "-mat_aijtcu_products", "banana", "a whole number"));
  PetscCall(WrongOption(A, "-mat_aijtcu_tune", "often", "none proxy"));
  PetscCall(WrongOption(A, "-mat_aijtcu_tune", NULL, "none or proxy"));
#if defined(PETSC_USE_REAL_DOUBLE)
  PetscCall(WrongOption(A, "-mat_aijtcu_precision", "tf32", "must be full")); /* for single precision only */
#endif
  for (size_t i = 0; i < PETSC_STATIC_ARRAY_LENGTH(numbers); i++) PetscCall(WrongOption(A, "-mat_aijtcu_synergy_threshold", numbers[i], "a fraction up to 1"));
  PetscCall(IsFormat(A, 16, 64, 32, 1, "a refused option left a trace"));
  PetscCall(MatAIJTCUSetExpectedProducts(A, 7));
  PetscCall(PetscOptionsSetValue(NULL, "-a_mat_aijtcu_products", "PETSC_DEFAULT"));
  PetscCall(MatSetFromOptions(A));
  PetscCall(PetscOptionsClearValue(NULL, "-a_mat_aijtcu_products"));
  PetscCall(MatAIJTCUGetExpectedProducts(A, &products));
  if (products != PETSC_DEFAULT) PetscCall(PetscPrintf(PETSC_COMM_SELF, "-mat_aijtcu_products PETSC_DEFAULT: %" PetscInt_FMT "\n", products));
  PetscCall(MatDestroy(&A));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Synergy in closed form: dense strips have alpha 1, a diagonal 1/16 and 1/8. Complex numbers are 2 x 2 blocks */
static PetscErrorCode TestSynergy(void)
{
  const PetscInt   parts = PetscDefined(USE_COMPLEX) ? 2 : 1;
  const PetscReal  least = (PetscReal)parts / 16;
  MatAIJTCUSynergy s;

  PetscFunctionBegin;
  for (PetscInt full = 0; full < 2; full++) {
    Mat      A, B, C;
    PetscInt r0, r1;

    PetscCall(MatCreate(PETSC_COMM_WORLD, &A));
    PetscCall(MatSetSizes(A, 64, 64, PETSC_DETERMINE, PETSC_DETERMINE));
    PetscCall(MatSetType(A, MATAIJTCU));
    PetscCall(MatAIJTCUSetPath(A, MAT_AIJTCU_PATH_TCU));
    PetscCall(MatAIJTCUSetFormat(A, &(MatAIJTCUFormat){8, 64, 32, 1})); /* so that a device chooses none */
    PetscCall(MatGetOwnershipRange(A, &r0, &r1));
    for (PetscInt i = r0; i < r1; i++) {
      if (!full) PetscCall(MatSetValue(A, i, i, 2, INSERT_VALUES));
      else {
        for (PetscInt j = r0; j < r1; j++) PetscCall(MatSetValue(A, i, j, 1, INSERT_VALUES));
      }
    }
    PetscCall(MatAssemblyBegin(A, MAT_FINAL_ASSEMBLY));
    PetscCall(MatAssemblyEnd(A, MAT_FINAL_ASSEMBLY));
    PetscCall(MatAIJTCUGetSynergy(A, &s));
    if (PetscAbsReal(s.alpha - (full ? 1 : least)) > PETSC_SMALL || PetscAbsReal(s.alpha8 - (full ? 1 : 2 * least)) > PETSC_SMALL) PetscCall(PetscPrintf(PETSC_COMM_SELF, "alpha %g, alpha8 %g\n", (double)s.alpha, (double)s.alpha8));
    if (s.cls != (full ? MAT_AIJTCU_SYNERGY_HIGH : parts > 1 ? MAT_AIJTCU_SYNERGY_MEDIUM : MAT_AIJTCU_SYNERGY_LOW) || s.built) PetscCall(PetscPrintf(PETSC_COMM_SELF, "class %s, built %d\n", MatAIJTCUSynergyClasses[s.cls], (int)s.built));
    PetscCall(MatCreateDense(PETSC_COMM_WORLD, 64, PETSC_DECIDE, PETSC_DETERMINE, 3, NULL, &B));
    PetscCall(MatMatMult(A, B, MAT_INITIAL_MATRIX, PETSC_DEFAULT, &C));
    PetscCall(MatAIJTCUGetSynergy(A, &s));
    if (!s.built || PetscAbsReal(s.fill - (full ? 1 : 2 * least)) > PETSC_SMALL || s.bricks != parts * (full ? 128 * parts : 16) || PetscAbsReal(s.beta - (PetscReal)(full ? 8. : 1.)) > PETSC_SMALL) PetscCall(PetscPrintf(PETSC_COMM_SELF, "built %d, fill %g, %" PetscInt64_FMT " bricks, beta %g\n", (int)s.built, (double)s.fill, s.bricks, (double)s.beta));
    if (s.columns != 3) PetscCall(PetscPrintf(PETSC_COMM_SELF, "the last product has %" PetscInt_FMT " columns\n", s.columns));
    PetscCall(MatDestroy(&A));
    PetscCall(MatDestroy(&B));
    PetscCall(MatDestroy(&C));
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Whether M, of some processes, multiplies as R, which is an aij */
static PetscErrorCode SameOfSome(Mat M, Mat R, PetscBool *same)
{
  Mat       B, C, D;
  PetscReal diff, norm;
  PetscInt  n;

  PetscFunctionBegin;
  PetscCall(MatGetLocalSize(R, NULL, &n));
  PetscCall(MatCreateDense(PetscObjectComm((PetscObject)R), n, PETSC_DECIDE, PETSC_DETERMINE, 3, NULL, &B));
  PetscCall(MatSetRandom(B, NULL));
  PetscCall(MatMatMult(R, B, MAT_INITIAL_MATRIX, PETSC_DETERMINE, &C));
  PetscCall(MatMatMult(M, B, MAT_INITIAL_MATRIX, PETSC_DETERMINE, &D));
  PetscCall(MatConvert(D, MATDENSE, MAT_INPLACE_MATRIX, &D));
  PetscCall(MatAXPY(D, -1, C, SAME_NONZERO_PATTERN));
  PetscCall(MatNorm(C, NORM_FROBENIUS, &norm));
  PetscCall(MatNorm(D, NORM_FROBENIUS, &diff));
  *same = (PetscBool)(norm > 0 && diff <= 100 * PETSC_MACHINE_EPSILON * norm);
  PetscCall(MatDestroy(&B));
  PetscCall(MatDestroy(&C));
  PetscCall(MatDestroy(&D));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* The whole matrix on each of some groups of processes is an aijtcu with the same options, and follows new values */
static PetscErrorCode TestRedundant(PetscInt m)
{
  Mat           A, R;
  MatAIJTCUPath path, got;
  PetscMPIInt   size;

  PetscFunctionBegin;
  PetscCallMPI(MPI_Comm_size(PETSC_COMM_WORLD, &size));
  PetscCall(Create(MATAIJTCU, m, m, &A));
  PetscCall(Create(MATAIJ, m, m, &R));
  PetscCall(MatAIJTCUGetPath(A, &path));
  for (PetscInt groups = 1; groups <= size; groups++) {
    Mat M = NULL, N = NULL;

    for (int again = 0; again < 2; again++) {
      PetscBool ours, same;

      PetscCall(MatCreateRedundantMatrix(A, groups, MPI_COMM_NULL, again ? MAT_REUSE_MATRIX : MAT_INITIAL_MATRIX, &M));
      PetscCall(MatCreateRedundantMatrix(R, groups, MPI_COMM_NULL, again ? MAT_REUSE_MATRIX : MAT_INITIAL_MATRIX, &N));
      PetscCall(PetscObjectTypeCompareAny((PetscObject)M, &ours, MATSEQAIJTCU, MATMPIAIJTCU, ""));
      if (ours) PetscCall(MatAIJTCUGetPath(M, &got));
      if (!ours || got != path) PetscCall(PetscPrintf(PETSC_COMM_SELF, "MatCreateRedundantMatrix() for %" PetscInt_FMT " groups: type %s, or another path\n", groups, ((PetscObject)M)->type_name));
      PetscCall(SameOfSome(M, N, &same));
      if (!same) PetscCall(PetscPrintf(PETSC_COMM_SELF, "MatCreateRedundantMatrix() for %" PetscInt_FMT " groups%s: another matrix\n", groups, again ? ", again" : ""));
      PetscCall(MatScale(A, 3));
      PetscCall(MatScale(R, 3));
    }
    PetscCall(MatDestroy(&M));
    PetscCall(MatDestroy(&N));
  }
  PetscCall(MatDestroy(&A));
  PetscCall(MatDestroy(&R));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* MatIsHermitian() of a matrix whose newest values are on the device: symmetric ones, then others */
static PetscErrorCode TestHermitian(void)
{
  const PetscInt n = 40;
  Mat            A[2];
  Vec            x, y;
  PetscMPIInt    size;
  PetscBool      is;

  PetscFunctionBegin;
  PetscCallMPI(MPI_Comm_size(PETSC_COMM_WORLD, &size));
  if (size > 1) PetscFunctionReturn(PETSC_SUCCESS); /* PETSc has it for one process alone */
  for (int k = 0; k < 2; k++) {
    PetscCall(MatCreate(PETSC_COMM_WORLD, &A[k]));
    PetscCall(MatSetSizes(A[k], n, n, n, n));
    PetscCall(MatSetType(A[k], MATAIJTCU));
    PetscCall(MatSeqAIJSetPreallocation(A[k], 2, NULL));
    for (PetscInt i = 0; i < n; i++) {
      PetscCall(MatSetValue(A[k], i, i, 2 + i, INSERT_VALUES));
      PetscCall(MatSetValue(A[k], i, (i + n / 2) % n, k && !i ? 5 : -1, INSERT_VALUES));
    }
    PetscCall(MatAssemblyBegin(A[k], MAT_FINAL_ASSEMBLY));
    PetscCall(MatAssemblyEnd(A[k], MAT_FINAL_ASSEMBLY));
  }
  PetscCall(MatCreateVecs(A[0], &x, &y));
  PetscCall(VecSet(x, 1));
  for (int k = 0; k < 2; k++) PetscCall(MatMult(A[k], x, y));
  PetscCall(MatIsHermitian(A[0], PETSC_SMALL, &is)); /* with a tolerance the answer is not kept */
  PetscCheck(is, PETSC_COMM_SELF, PETSC_ERR_PLIB, "A symmetric matrix is not Hermitian");
  PetscCall(MatAXPY(A[0], 1, A[1], SAME_NONZERO_PATTERN));
  PetscCall(MatIsHermitian(A[0], 0, &is));
  PetscCheck(!is, PETSC_COMM_SELF, PETSC_ERR_PLIB, "Hermitian by old values");
  for (int k = 0; k < 2; k++) PetscCall(MatDestroy(&A[k]));
  PetscCall(VecDestroy(&x));
  PetscCall(VecDestroy(&y));
  PetscFunctionReturn(PETSC_SUCCESS);
}

int main(int argc, char **argv)
{
  PetscInt  m = 90, n = 90;
  PetscBool wrong = PETSC_FALSE;

  PetscCall(PetscInitialize(&argc, &argv, NULL, help));
  PetscCall(PetscOptionsGetBool(NULL, NULL, "-wrong_options", &wrong, NULL));
  if (wrong) PetscCall(TestWrongGlobalOptions());
  PetscCall(PetscDLLibraryRegister_petscaijtcu());
  PetscCall(PetscDLLibraryRegister_petscaijtcu()); /* harmless */
  PetscCall(PetscOptionsGetInt(NULL, NULL, "-m", &m, NULL));
  PetscCall(PetscOptionsGetInt(NULL, NULL, "-n", &n, NULL));
  if (wrong) PetscCall(TestWrongOptions());
  PetscCall(TestConversions(m, n));
  PetscCall(TestParallelOnOne());
  PetscCall(TestOperations(m, n));
  if (m == n) {
    PetscCall(TestSymmetric(m));
    PetscCall(TestParts(m));
    PetscCall(TestSweeps(m));
    PetscCall(TestChanges(m));
    PetscCall(TestRedundant(m));
    PetscCall(TestSharedBlock(m));
  }
  PetscCall(TestStoreMore(m));
  PetscCall(TestHostRandom(m, n));
  PetscCall(TestHeaderReplace(m, n));
  PetscCall(TestWhole());
  PetscCall(TestBoundMerge(m, n));
  PetscCall(TestCOO(m, n));
  PetscCall(TestSettings());
  PetscCall(TestInverse());
  PetscCall(TestSynergy());
  PetscCall(TestHermitian());
  PetscCall(PetscFinalize());
  return 0;
}

/*TEST

  testset:
    output_file: output/empty.out
    nsize: {{1 2 3}}
    args: -a_mat_aijtcu_path {{tcu csr auto}} -use_gpu_aware_mpi 0

    test:
      suffix: square

    test:
      suffix: rectangular
      args: -m 61 -n 75

  test: # what is tuned follows the matrix
    suffix: cuda_tune
    requires: cuda !complex
    output_file: output/empty.out
    nsize: {{1 2}}
    args: -a_mat_aijtcu_tune proxy -use_gpu_aware_mpi 0

  test:
    suffix: wrong_options
    output_file: output/empty.out
    args: -wrong_options -malloc_dump no

TEST*/
