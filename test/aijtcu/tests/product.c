static char help[] = "Products of a MATAIJTCU with dense matrices against sums in extended precision of the same closed formulas.\n\
Prints on error only. -pattern, -m, -n, -dense_type, -expect (tcu|csr|cusparse): the path that the plan's counter must show.\n\n";

#include "bits.h"
#include "arrays.h"
#include "numbers.h"
#include "paths.h"
#include <petscaijtcu.h>
#include <math.h>

/*
   The matrix and the dense operands are functions of global indices, so every process can compute the right result
   alone
*/
typedef enum {
  PATTERN_BAND,     /* neighbours and two far bands */
  PATTERN_RANDOM,   /* scattered */
  PATTERN_EMPTY,    /* empty rows and empty panels */
  PATTERN_DENSEROW, /* one full row, one entry elsewhere */
  PATTERN_COLUMN,   /* one column */
  PATTERN_BLOCKS,   /* dense blocks of neighbours */
  PATTERN_NONE      /* no entries */
} Pattern;
static const char       *pattern_name; /* pattern of the matrix at hand */
static const char *const Patterns[] = {"band", "random", "empty", "denserow", "column", "blocks", "none", "Pattern", "PATTERN_", NULL};

typedef struct {
  Pattern   pattern;
  PetscInt  m, n, block; /* block: rows of a dense block */
  PetscBool extra; /* one more entry in nonempty rows: another nonzero pattern */
  PetscInt  avalues, bvalues;
} Problem;

static PetscScalar AEntry(const Problem *p, PetscInt i, PetscInt j)
{
  PetscScalar v = Scalar(i, j, 1 + p->avalues);

  return Hash(i, j, 77) % 11 ? v : 0; /* stored zeros too */
}
static PetscScalar BEntry(const Problem *p, PetscInt i, PetscInt j)
{
  return Scalar(i, j, 101 + p->bvalues);
}

/* What stands in a row of B in place of numbers */
static const PetscReal no_number = NAN;
static PetscScalar     BAt(const Problem *p, PetscInt i, PetscInt j, PetscInt nanrow, PetscInt infrow)
{
  if (i == nanrow) return no_number;
  return i == infrow && j % 2 ? (PetscScalar)INFINITY : BEntry(p, i, j);
}

/* A factor for MatScale() */
static PetscScalar Factor(PetscReal x)
{
  return PetscCMPLX(x, PetscDefined(USE_COMPLEX) ? 1 - x : 0);
}

/* The columns of row i, ascending, without duplicates */
static PetscInt Row(const Problem *p, PetscInt i, PetscInt cols[])
{
  PetscInt nc = 0;

  if (!p->n) return 0;
  switch (p->pattern) {
  case PATTERN_BAND:
    for (PetscInt d = -2; d <= 2; d++) cols[nc++] = i + d;
    cols[nc++] = i - 17;
    cols[nc++] = i + 17;
    break;
  case PATTERN_RANDOM:
    for (PetscInt k = 0; k < 9; k++) cols[nc++] = Hash(i, k, 5) % p->n;
    break;
  case PATTERN_EMPTY:
    if (i % 5 == 0 && (i / 64) % 2 == 0) {
      for (PetscInt k = 0; k < 4; k++) cols[nc++] = Hash(i, k, 6) % p->n;
    }
    break;
  case PATTERN_DENSEROW:
    if (i == 3) {
      for (PetscInt k = 0; k < p->n; k++) cols[nc++] = k;
    } else cols[nc++] = Hash(i, 0, 7) % p->n;
    break;
  case PATTERN_COLUMN:
    cols[nc++] = p->n / 2;
    break;
  case PATTERN_BLOCKS:
    for (PetscInt b = -2; b <= 2; b++) {
      for (PetscInt k = 0; k < p->block; k++) cols[nc++] = p->block * (i / p->block + b * b * b) + k;
    }
    break;
  default:
    break;
  }
  if (p->extra && p->pattern == PATTERN_BLOCKS) cols[nc++] = i + 27 * p->block; /* at least as dense */
  else if (p->extra && nc) cols[nc++] = Hash(i, 1, 8) % p->n;
  {
    PetscInt kept = 0;

    for (PetscInt k = 0; k < nc; k++) {
      if (cols[k] >= 0 && cols[k] < p->n) cols[kept++] = cols[k];
    }
    nc = kept;
  }
  for (PetscInt k = 1; k < nc; k++) {
    for (PetscInt l = k; l > 0 && cols[l] < cols[l - 1]; l--) {
      PetscInt t  = cols[l];
      cols[l]     = cols[l - 1];
      cols[l - 1] = t;
    }
  }
  {
    PetscInt kept = 0;

    for (PetscInt k = 0; k < nc; k++) {
      if (!kept || cols[k] != cols[kept - 1]) cols[kept++] = cols[k];
    }
    nc = kept;
  }
  return nc;
}

static PetscErrorCode SetValues(Mat A, const Problem *p)
{
  PetscInt  r0, r1, *cols;

  PetscFunctionBegin;
  PetscCall(PetscMalloc1(p->n + 32, &cols));
  PetscCall(MatGetOwnershipRange(A, &r0, &r1));
  for (PetscInt i = r0; i < r1; i++) {
    const PetscInt nc = Row(p, i, cols);

    for (PetscInt k = 0; k < nc; k++) PetscCall(MatSetValue(A, i, cols[k], AEntry(p, i, cols[k]), INSERT_VALUES));
  }
  PetscCall(MatAssemblyBegin(A, MAT_FINAL_ASSEMBLY));
  PetscCall(MatAssemblyEnd(A, MAT_FINAL_ASSEMBLY));
  PetscCall(PetscFree(cols));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode CreateA(const Problem *p, Mat *A)
{
  PetscFunctionBegin;
  PetscCall(MatCreate(PETSC_COMM_WORLD, A));
  PetscCall(MatSetSizes(*A, PETSC_DECIDE, PETSC_DECIDE, p->m, p->n));
  PetscCall(MatSetType(*A, MATAIJTCU));
  PetscCall(MatSetFromOptions(*A));
  PetscCall(SetValues(*A, p));
  PetscCall(MatSetOption(*A, MAT_NEW_NONZERO_LOCATION_ERR, PETSC_FALSE));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*
   A rows x N matrix with the row layout that A wants (that of its columns if right). Its leading dimension exceeds the
   local rows by pad
*/
static PetscErrorCode CreateDense(Mat A, PetscBool right, PetscInt N, PetscInt pad, MatType type, Mat *B)
{
  PetscInt m, n, M, NN, rows;

  PetscFunctionBegin;
  PetscCall(MatGetLocalSize(A, &m, &n));
  PetscCall(MatGetSize(A, &M, &NN));
  rows = right ? n : m;
  PetscCall(MatCreate(PETSC_COMM_WORLD, B));
  PetscCall(MatSetSizes(*B, rows, PETSC_DECIDE, right ? NN : M, N));
  PetscCall(MatSetType(*B, type));
  PetscCall(MatDenseSetLDA(*B, PetscMax(1, rows + pad)));
  PetscCall(MatSetUp(*B));
  PetscCall(MatAssemblyBegin(*B, MAT_FINAL_ASSEMBLY));
  PetscCall(MatAssemblyEnd(*B, MAT_FINAL_ASSEMBLY));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Fill B. Entries in the rows given become NaN and Inf; a negative row stands for none */
static PetscErrorCode FillB(Mat B, const Problem *p, PetscInt nanrow, PetscInt infrow)
{
  PetscScalar *b;
  PetscInt     r0, r1, ld, N;

  PetscFunctionBegin;
  PetscCall(MatGetOwnershipRange(B, &r0, &r1));
  PetscCall(MatGetSize(B, NULL, &N));
  PetscCall(MatDenseGetLDA(B, &ld));
  PetscCall(MatDenseGetArrayWrite(B, &b));
  for (PetscInt j = 0; j < N; j++) {
    for (PetscInt i = r0; i < r1; i++) {
      b[i - r0 + j * ld] = BAt(p, i, j, nanrow, infrow);
    }
    for (PetscInt i = r1 - r0; i < ld; i++) b[i + j * ld] = INFINITY; /* nothing may read the padding */
  }
  PetscCall(MatDenseRestoreArrayWrite(B, &b));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode Poison(Mat C)
{
  PetscScalar *c;
  PetscInt     ld, N;

  PetscFunctionBegin;
  PetscCall(MatGetSize(C, NULL, &N));
  PetscCall(MatDenseGetLDA(C, &ld));
  PetscCall(MatDenseGetArrayWrite(C, &c));
  for (PetscInt i = 0; i < ld * N; i++) c[i] = 12345;
  PetscCall(MatDenseRestoreArrayWrite(C, &c));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* One part of a number: within a few roundings of the sum of magnitudes, or not finite and of the same class */
static PetscBool PartIsRight(PetscReal got, long double sum, long double mag, PetscInt entries)
{
  if (isnan(sum)) return PetscIsNanReal(got);
  if (isinf(sum)) return (PetscBool)(PetscIsInfReal(got) && (got > 0) == (sum > 0));
  return (PetscBool)(!PetscIsInfOrNanReal(got) && fabsl((long double)got - sum) <= 4 * PETSC_MACHINE_EPSILON * mag * sqrtl((long double)entries + 1));
}

/* Compare C with scale * A B, entry by entry. Complex numbers are multiplied by their parts, all four of them */
static PetscErrorCode Check(Mat C, const Problem *p, PetscScalar scale, PetscInt nanrow, PetscInt infrow, const char what[])
{
  const PetscScalar *c;
  PetscInt           r0, r1, ld, N, *cols, wrong = 0;

  PetscFunctionBegin;
  PetscCall(PetscMalloc1(p->n + 32, &cols));
  PetscCall(MatGetOwnershipRange(C, &r0, &r1));
  PetscCall(MatGetSize(C, NULL, &N));
  PetscCall(MatDenseGetLDA(C, &ld));
  PetscCall(MatDenseGetArrayRead(C, &c));
  for (PetscInt i = r0; i < r1; i++) {
    const PetscInt nc = Row(p, i, cols);

    for (PetscInt j = 0; j < N; j++) {
      const PetscScalar got = c[i - r0 + j * ld];
      long double       re = 0, im = 0, mag = 0;

      for (PetscInt k = 0; k < nc; k++) {
        const PetscScalar a = scale * AEntry(p, i, cols[k]), b = BAt(p, cols[k], j, nanrow, infrow);
        const long double ar = PetscRealPart(a), ai = PetscImaginaryPart(a), br = PetscRealPart(b), bi = PetscImaginaryPart(b);

        re += PetscDefined(USE_COMPLEX) ? ar * br - ai * bi : ar * br; /* a stored zero is an entry: 0 x Inf */
        if (PetscDefined(USE_COMPLEX)) im += ar * bi + ai * br;
        if (isfinite(br) && isfinite(bi)) mag += (fabsl(ar) + fabsl(ai)) * (fabsl(br) + fabsl(bi));
      }
      if ((!PartIsRight(PetscRealPart(got), re, mag, nc) || !PartIsRight(PetscImaginaryPart(got), im, mag, nc)) && !wrong++) PetscCall(PetscPrintf(PETSC_COMM_SELF, "%s: %s: C(%" PetscInt_FMT ",%" PetscInt_FMT ") is %.17g + %.17g i, must be %.17g + %.17g i\n", pattern_name, what, i, j, (double)PetscRealPart(got), (double)PetscImaginaryPart(got), (double)re, (double)im));
    }
  }
  PetscCall(MatDenseRestoreArrayRead(C, &c));
  if (wrong > 1) PetscCall(PetscPrintf(PETSC_COMM_SELF, "%s: %s: %" PetscInt_FMT " wrong entries, N = %" PetscInt_FMT "\n", pattern_name, what, wrong, N));
  PetscCall(PetscFree(cols));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode CheckSameBits(Mat C, Mat D, const char what[])
{
  PetscInt  N;
  PetscBool same;

  PetscFunctionBegin;
  PetscCall(MatGetSize(C, NULL, &N));
  PetscCall(SameBits(C, D, &same));
  if (!same) PetscCall(PetscPrintf(PETSC_COMM_SELF, "%s: %s: the bits differ, N = %" PetscInt_FMT "\n", pattern_name, what, N));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*
   Whether cuSPARSE makes the product. A NaN of B may spill into the last row of C, and long rows are rounded
   differently from run to run.
*/
static PetscErrorCode IsCuSPARSE(Mat A, MatAIJTCUPath path, PetscBool *is)
{
  VecType type;

  PetscFunctionBegin;
  PetscCall(MatGetVecType(A, &type));
  PetscCall(PetscStrcmp(type, VECCUDA, is));
  if (path != MAT_AIJTCU_PATH_CUSPARSE) *is = PETSC_FALSE;
  PetscFunctionReturn(PETSC_SUCCESS);
}

static MatAIJTCUCounts before;

/*
   Check what happened on this process since the last call. In a parallel matrix on a device both blocks count, on the
   host only the diagonal one.
*/
static PetscErrorCode CheckCounts(Mat A, MatAIJTCUPath path, PetscInt products, PetscInt builds, PetscInt refreshes, const char what[])
{
  MatAIJTCUCounts now;
  PetscMPIInt     size;
  PetscInt64      used, other, built, refreshed;
  PetscBool       ok, bricks;
  MatAIJTCUReorder reorder;

  PetscFunctionBegin;
  PetscCallMPI(MPI_Comm_size(PETSC_COMM_WORLD, &size));
  PetscCall(HasBricks(A, &bricks));
  if (path == MAT_AIJTCU_PATH_TCU && !bricks) path = MAT_AIJTCU_PATH_CSR;
  PetscCall(MatAIJTCUGetCounts(A, &now));
  used      = path == MAT_AIJTCU_PATH_TCU ? now.tcu - before.tcu : path == MAT_AIJTCU_PATH_CSR ? now.csr - before.csr : now.cusparse - before.cusparse;
  other     = now.tcu - before.tcu + now.csr - before.csr + now.cusparse - before.cusparse - used;
  built     = now.builds - before.builds;
  refreshed = now.refreshes - before.refreshes;
  before    = now;
  PetscCall(MatAIJTCUGetReorder(A, &reorder));
  if (size > 1 && path == MAT_AIJTCU_PATH_TCU && reorder == MAT_AIJTCU_REORDER_ALWAYS) other -= PetscMin(other, products); /* an off-diagonal block adds to C, which bricks in another order do not */
  ok        = (PetscBool)(!other && used >= products && used <= (size > 1 ? 2 : 1) * products);
  if (path == MAT_AIJTCU_PATH_TCU) ok = (PetscBool)(ok && built >= builds && built <= (size > 1 ? 2 : 1) * builds && refreshed >= refreshes && refreshed <= (size > 1 ? 2 : 1) * refreshes);
  else ok = (PetscBool)(ok && !built && !refreshed);
  if (!ok)
    PetscCall(PetscPrintf(PETSC_COMM_SELF, "%s: %s: %" PetscInt64_FMT " products on the %s path (must be %" PetscInt_FMT "), %" PetscInt64_FMT " on the others, %" PetscInt64_FMT " builds (%" PetscInt_FMT "), %" PetscInt64_FMT " refreshes (%" PetscInt_FMT ")\n", pattern_name, what, used, MatAIJTCUPaths[path], products, other, built, builds, refreshed, refreshes));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode TestWidth(Problem p, PetscInt N, PetscInt pad, MatType type, MatAIJTCUPath path)
{
  Mat       A, A2, B, B2, C, D;
  MatType   ctype;
  PetscBool same, cusparse;

  PetscFunctionBegin;
  PetscCall(PetscMemzero(&before, sizeof(before)));
  PetscCall(CreateA(&p, &A));
  PetscCall(IsCuSPARSE(A, path, &cusparse));
  PetscCall(CreateDense(A, PETSC_TRUE, N, pad, type, &B));
  PetscCall(FillB(B, &p, -1, -1));
  PetscCall(CheckCounts(A, path, 0, 0, 0, "nothing before the first product"));

  /* PETSc makes C, twice */
  PetscCall(MatMatMult(A, B, MAT_INITIAL_MATRIX, PETSC_DEFAULT, &C));
  PetscCall(Check(C, &p, 1, -1, -1, "initial"));
  PetscCall(CheckCounts(A, path, 1, 1, 0, "initial"));
  PetscCall(MatMatMult(A, B, MAT_INITIAL_MATRIX, PETSC_DEFAULT, &D));
  if (!cusparse) PetscCall(CheckSameBits(C, D, "twice"));
  PetscCall(CheckCounts(A, path, 1, 0, 0, "nothing changed"));
  PetscCall(MatDestroy(&D));

  /* other values of B, then of A: first twice the values, then unrelated ones */
  p.bvalues++;
  PetscCall(FillB(B, &p, -1, -1));
  PetscCall(Poison(C));
  PetscCall(MatMatMult(A, B, MAT_REUSE_MATRIX, PETSC_DEFAULT, &C));
  PetscCall(Check(C, &p, 1, -1, -1, "reuse"));
  PetscCall(CheckCounts(A, path, 1, 0, 0, "reuse"));
  PetscCall(MatScale(A, Factor(2)));
  PetscCall(MatMatMult(A, B, MAT_REUSE_MATRIX, PETSC_DEFAULT, &C));
  PetscCall(Check(C, &p, Factor(2), -1, -1, "scaled"));
  PetscCall(CheckCounts(A, path, 1, 0, 1, "scaled"));
  p.avalues++;
  PetscCall(SetValues(A, &p));
  PetscCall(MatMatMult(A, B, MAT_REUSE_MATRIX, PETSC_DEFAULT, &C));
  PetscCall(Check(C, &p, 1, -1, -1, "new values"));
  PetscCall(CheckCounts(A, path, 1, 0, 1, "new values"));

  /* NaN and Inf reach the rows that have an entry there, and no others */
  PetscCall(FillB(B, &p, p.n / 2, p.n / 3));
  PetscCall(MatMatMult(A, B, MAT_REUSE_MATRIX, PETSC_DEFAULT, &C));
  if (!cusparse) PetscCall(Check(C, &p, 1, p.n / 2, p.n / 3, "NaN and Inf"));
  PetscCall(CheckCounts(A, path, 1, 0, 0, "NaN and Inf"));
  PetscCall(FillB(B, &p, -1, -1));

  /* other operands in the same product */
  PetscCall(CreateDense(A, PETSC_TRUE, N, pad, type, &B2));
  p.bvalues++;
  PetscCall(FillB(B2, &p, -1, -1));
  PetscCall(MatProductReplaceMats(NULL, B2, NULL, C));
  PetscCall(MatProductNumeric(C));
  PetscCall(Check(C, &p, 1, -1, -1, "other B"));
  PetscCall(MatDuplicate(A, MAT_COPY_VALUES, &A2));
  PetscCall(MatScale(A2, Factor(3)));
  PetscCall(MatProductReplaceMats(A2, NULL, NULL, C));
  PetscCall(MatProductNumeric(C));
  PetscCall(Check(C, &p, Factor(3), -1, -1, "other A"));
  PetscCall(MatGetType(A2, &ctype));
  PetscCall(PetscObjectTypeCompare((PetscObject)A, ctype, &same));
  if (!same) PetscCall(PetscPrintf(PETSC_COMM_WORLD, "%s: MatDuplicate() makes a %s\n", pattern_name, ctype));
  PetscCall(CheckCounts(A, path, 1, 0, 0, "other B"));
  PetscCall(MatDestroy(&A2));
  PetscCall(MatDestroy(&C));

  /* what SLEPc does at every call, with a C of its own: create, set up, compute, clear */
  PetscCall(CreateDense(A, PETSC_FALSE, N, pad, type, &C));
  for (PetscInt cycle = 0; cycle < 3; cycle++) {
    PetscCall(Poison(C));
    PetscCall(MatProductCreateWithMat(A, B2, NULL, C));
    PetscCall(MatProductSetType(C, MATPRODUCT_AB));
    PetscCall(MatProductSetFromOptions(C));
    PetscCall(MatProductSymbolic(C));
    PetscCall(MatProductNumeric(C));
    PetscCall(MatProductClear(C));
    PetscCall(Check(C, &p, 1, -1, -1, "create to clear"));
  }
  PetscCall(CheckCounts(A, path, 3, 0, 0, "create to clear"));
  PetscCall(MatGetType(C, &ctype));
  PetscCall(PetscObjectTypeCompare((PetscObject)B2, ctype, &same));
  if (!same) PetscCall(PetscPrintf(PETSC_COMM_WORLD, "%s: C given as %s became %s\n", pattern_name, type, ctype));

  /* another pattern */
  p.extra = PETSC_TRUE;
  PetscCall(SetValues(A, &p));
  PetscCall(MatProductCreateWithMat(A, B2, NULL, C));
  PetscCall(MatProductSetType(C, MATPRODUCT_AB));
  PetscCall(MatProductSetFromOptions(C));
  PetscCall(MatProductSymbolic(C));
  PetscCall(MatProductNumeric(C));
  PetscCall(Check(C, &p, 1, -1, -1, "new pattern"));
  {
    PetscMPIInt size;

    PetscCallMPI(MPI_Comm_size(PETSC_COMM_WORLD, &size));
    if (size == 1 && p.pattern != PATTERN_NONE && p.pattern != PATTERN_DENSEROW && p.m > 30 && p.n > 4) PetscCall(CheckCounts(A, path, 1, 1, 0, "new pattern"));
  }

  /* all that was on a device is gone */
  PetscCall(MatConvert(A, MATAIJ, MAT_INPLACE_MATRIX, &A));
  PetscCall(MatConvert(A, MATAIJTCU, MAT_INPLACE_MATRIX, &A));
  PetscCall(Poison(C));
  PetscCall(MatProductNumeric(C));
  PetscCall(Check(C, &p, 1, -1, -1, "converted, and back"));
  PetscCall(MatDestroy(&A));
  PetscCall(MatDestroy(&B));
  PetscCall(MatDestroy(&B2));
  PetscCall(MatDestroy(&C));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*
   MatMult() is the parent's. What a product leaves on the device must not change it: the first MatMult() after a
   product gives what it gave before.
*/
static PetscErrorCode TestMult(Problem p, PetscInt N, MatType type)
{
  Mat       A, B, C;
  Vec       x, y, column;
  PetscReal diff, norm;

  PetscFunctionBegin;
  PetscCall(CreateA(&p, &A));
  PetscCall(CreateDense(A, PETSC_TRUE, N, 0, type, &B));
  PetscCall(FillB(B, &p, -1, -1));
  PetscCall(MatCreateVecs(A, &x, &y));
  PetscCall(MatDenseGetColumnVecRead(B, N - 1, &column));
  PetscCall(VecCopy(column, x));
  PetscCall(MatDenseRestoreColumnVecRead(B, N - 1, &column));
  PetscCall(MatMatMult(A, B, MAT_INITIAL_MATRIX, PETSC_DEFAULT, &C));
  PetscCall(MatMult(A, x, y));
  PetscCall(Check(C, &p, 1, -1, -1, "before MatMult()"));
  PetscCall(VecNorm(y, NORM_INFINITY, &norm));
  PetscCall(MatDenseGetColumnVecRead(C, N - 1, &column));
  PetscCall(VecCopy(column, x)); /* a vector of y's kind, even if C's kind is another */
  PetscCall(MatDenseRestoreColumnVecRead(C, N - 1, &column));
  PetscCall(VecAXPY(y, -1, x));
  PetscCall(VecNorm(y, NORM_INFINITY, &diff));
  if (!(diff <= 100 * PETSC_MACHINE_EPSILON * norm)) PetscCall(PetscPrintf(PETSC_COMM_WORLD, "%s: MatMult() after a product with %" PetscInt_FMT " columns is off by %g of %g\n", pattern_name, N, (double)diff, (double)norm));
  PetscCall(VecDestroy(&x));
  PetscCall(VecDestroy(&y));
  PetscCall(MatDestroy(&A));
  PetscCall(MatDestroy(&B));
  PetscCall(MatDestroy(&C));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Check that D is E within a few roundings of the norm. E becomes the difference */
static PetscErrorCode CheckNorms(Mat E, Mat D, const char what[])
{
  PetscReal diff, norm;

  PetscFunctionBegin;
  PetscCall(MatNorm(E, NORM_FROBENIUS, &norm));
  PetscCall(MatAXPY(E, -1, D, SAME_NONZERO_PATTERN));
  PetscCall(MatNorm(E, NORM_FROBENIUS, &diff));
  if (!(diff <= 100 * PETSC_MACHINE_EPSILON * norm)) PetscCall(PetscPrintf(PETSC_COMM_WORLD, "%s: %s: differs by %g of %g\n", pattern_name, what, (double)diff, (double)norm));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Check A^T B after the values of A have changed, where D is that product */
static PetscErrorCode CheckNotSymmetric(Mat A, Mat B, Mat D, const char what[])
{
  Mat T, E;

  PetscFunctionBegin;
  PetscCall(MatTransposeMatMult(A, B, MAT_REUSE_MATRIX, PETSC_DEFAULT, &D));
  PetscCall(MatTranspose(A, MAT_INITIAL_MATRIX, &T));
  PetscCall(MatMatMult(T, B, MAT_INITIAL_MATRIX, PETSC_DEFAULT, &E));
  PetscCall(CheckNorms(E, D, what));
  PetscCall(MatDestroy(&T));
  PetscCall(MatDestroy(&E));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* A^T B of a matrix that is eternally symmetric is A B. Here S = A + A^T */
static PetscErrorCode TestSymmetric(Problem p, PetscInt N, MatType type, MatAIJTCUPath path)
{
  Mat       A, At, B, C, D;
  PetscBool cusparse;
  PetscInt  r0, r1;

  PetscFunctionBegin;
  if (p.m != p.n) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCall(CreateA(&p, &A));
  PetscCall(MatTranspose(A, MAT_INITIAL_MATRIX, &At));
  PetscCall(MatAXPY(A, 1, At, DIFFERENT_NONZERO_PATTERN));
  PetscCall(MatSetOption(A, MAT_SYMMETRIC, PETSC_TRUE));
  PetscCall(MatSetOption(A, MAT_SYMMETRY_ETERNAL, PETSC_TRUE));
  PetscCall(CreateDense(A, PETSC_TRUE, N, 2, type, &B));
  PetscCall(FillB(B, &p, -1, -1));
  PetscCall(PetscMemzero(&before, sizeof(before)));
  PetscCall(MatMatMult(A, B, MAT_INITIAL_MATRIX, PETSC_DEFAULT, &C));
  PetscCall(CheckCounts(A, path, 1, 1, 0, "symmetric"));
  PetscCall(MatTransposeMatMult(A, B, MAT_INITIAL_MATRIX, PETSC_DEFAULT, &D));
  PetscCall(CheckCounts(A, path, 1, 0, 0, "symmetric, transposed"));
  PetscCall(IsCuSPARSE(A, path, &cusparse));
  if (!cusparse) PetscCall(CheckSameBits(C, D, "A^T B with A symmetric"));
  PetscCall(MatSetOption(A, MAT_SYMMETRY_ETERNAL, PETSC_FALSE));
  PetscCall(MatGetOwnershipRange(A, &r0, &r1));
  PetscCall(MatZeroRows(A, r1 > r0, &r0, 0, NULL, NULL)); /* PETSc knows it to be symmetric still */
  if (!cusparse) PetscCall(CheckNotSymmetric(A, B, D, "A^T B after MatZeroRows()"));
  PetscCall(MatSetOption(A, MAT_NEW_NONZERO_LOCATION_ERR, PETSC_FALSE));
  if (!r0 && r1 > r0) PetscCall(MatSetValue(A, 0, p.n - 1, 100, INSERT_VALUES));
  PetscCall(MatAssemblyBegin(A, MAT_FINAL_ASSEMBLY));
  PetscCall(MatAssemblyEnd(A, MAT_FINAL_ASSEMBLY));
  PetscCall(CheckNotSymmetric(A, B, D, "A^T B after the symmetry was lost"));
  PetscCall(MatDestroy(&A));
  PetscCall(MatDestroy(&At));
  PetscCall(MatDestroy(&B));
  PetscCall(MatDestroy(&C));
  PetscCall(MatDestroy(&D));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode Transposed(Mat A, Mat B, MatReuse reuse, Mat *D)
{
  PetscFunctionBegin;
  PetscCall(MatTransposeMatMult(A, B, reuse, PETSC_DEFAULT, D));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode Projected(Mat A, Mat B, MatReuse reuse, Mat *D)
{
  PetscFunctionBegin;
  PetscCall(MatPtAP(A, B, reuse, PETSC_DEFAULT, D));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode Restricted(Mat A, Mat B, MatReuse reuse, Mat *D)
{
  PetscFunctionBegin;
  PetscCall(MatRARt(A, B, reuse, PETSC_DEFAULT, D));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Products with a dense matrix that the parent makes */
typedef struct {
  const char *name;
  PetscErrorCode (*compute)(Mat, Mat, MatReuse, Mat *);
  PetscBool wide; /* B is the sparse matrix, with as many columns as A */
} ParentProduct;

static const ParentProduct transposed = {"A^T B", Transposed, PETSC_FALSE}, projected = {"B^T A B", Projected, PETSC_FALSE}, restricted = {"B A B^T", Restricted, PETSC_TRUE};

/* Check that D is what MATAIJ and dense matrices give on the host, and that it has the type that it had */
static PetscErrorCode CheckParents(const ParentProduct *f, Mat A, Mat B, Mat D, MatType type, const char what[])
{
  Mat       R, H, E, S;
  char      text[64];
  PetscBool same;

  PetscFunctionBegin;
  PetscCall(MatConvert(A, MATAIJ, MAT_INITIAL_MATRIX, &R));
  PetscCall(MatConvert(B, MATDENSE, MAT_INITIAL_MATRIX, &H));
  PetscCall(MatConvert(D, MATDENSE, MAT_INITIAL_MATRIX, &S));
  PetscCall((*f->compute)(R, H, MAT_INITIAL_MATRIX, &E));
  PetscCall(PetscSNPrintf(text, sizeof(text), "%s, %s", f->name, what));
  PetscCall(CheckNorms(E, S, text));
  PetscCall(PetscObjectTypeCompare((PetscObject)D, type, &same));
  if (!same) PetscCall(PetscPrintf(PETSC_COMM_WORLD, "%s: %s, is no %s any more\n", pattern_name, text, type));
  PetscCall(MatDestroy(&R));
  PetscCall(MatDestroy(&H));
  PetscCall(MatDestroy(&S));
  PetscCall(MatDestroy(&E));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* A and B, their product, and the name of its type. If asked for, with a shell around A */
static PetscErrorCode CreateParents(const ParentProduct *f, Problem p, PetscInt N, MatType type, Mat *A, Mat *S, Mat *B, Mat *D, char had[], size_t len)
{
  MatType now;

  PetscFunctionBegin;
  PetscCall(CreateA(&p, A));
  PetscCall(CreateDense(*A, PETSC_FALSE, N, 2, type, B));
  PetscCall(FillB(*B, &p, -1, -1));
  if (f->wide) PetscCall(MatTranspose(*B, MAT_INPLACE_MATRIX, B));
  if (S) PetscCall(MatConvert(*A, MATSHELL, MAT_INITIAL_MATRIX, S));
  PetscCall((*f->compute)(S ? *S : *A, *B, MAT_INITIAL_MATRIX, D));
  PetscCall(MatGetType(*D, &now));
  PetscCall(PetscStrncpy(had, now, len));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Test twice: with other values in A, and with another A */
static PetscErrorCode TestParents(const ParentProduct *f, Problem p, PetscInt N, MatType type)
{
  Mat  A, Other, B, D;
  char had[64];

  PetscFunctionBegin;
  PetscCall(CreateParents(f, p, N, type, &A, NULL, &B, &D, had, sizeof(had)));
  PetscCall(CheckParents(f, A, B, D, had, "new"));
  PetscCall(MatScale(A, 2));
  PetscCall((*f->compute)(A, B, MAT_REUSE_MATRIX, &D));
  PetscCall(CheckParents(f, A, B, D, had, "again"));
  PetscCall(CreateA(&p, &Other)); /* scaled once, like A: no count of changes tells them apart */
  PetscCall(MatScale(Other, Factor(-6)));
  PetscCall((*f->compute)(Other, B, MAT_REUSE_MATRIX, &D));
  PetscCall(CheckParents(f, Other, B, D, had, "of another A"));
  PetscCall(MatDestroy(&A));
  PetscCall(MatDestroy(&Other));
  PetscCall(MatDestroy(&B));
  PetscCall(MatDestroy(&D));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* The product of a shell around A. PETSc asks for the product of the matrix inside. Also with another pattern in A */
static PetscErrorCode TestShell(const ParentProduct *f, Problem p, PetscInt N, MatType type)
{
  Mat  A, S, B, D;
  char had[64];

  PetscFunctionBegin;
  PetscCall(CreateParents(f, p, N, type, &A, &S, &B, &D, had, sizeof(had)));
  PetscCall(MatSetOption(A, MAT_NEW_NONZERO_ALLOCATION_ERR, PETSC_FALSE));
  for (PetscInt i = 0; i < 3; i++) {
    if (i != 1) { /* the second time nothing has changed since the first */
      PetscCall(MatSetValue(A, 0, p.n - 1 - i, 7, INSERT_VALUES));
      PetscCall(MatAssemblyBegin(A, MAT_FINAL_ASSEMBLY));
      PetscCall(MatAssemblyEnd(A, MAT_FINAL_ASSEMBLY));
    }
    PetscCall((*f->compute)(S, B, MAT_REUSE_MATRIX, &D));
    PetscCall(CheckParents(f, A, B, D, had, "of a shell"));
  }
  PetscCall(MatDestroy(&D));
  PetscCall(MatDestroy(&S));
  PetscCall(MatDestroy(&A));
  PetscCall(MatDestroy(&B));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* A^T B into a D that was moved to the host, and into one of the caller's. Each time A has other values */
static PetscErrorCode TestTransposed(Problem p, PetscInt N, MatType type)
{
  Mat       A, B, D;
  char      had[64];
  MatType   now;
  PetscBool sequential;

  PetscFunctionBegin;
  PetscCall(CreateParents(&transposed, p, N, type, &A, NULL, &B, &D, had, sizeof(had)));
  PetscCall(ChangeArrays(A, Factor(3), 0));
  PetscCall(Transposed(A, B, MAT_REUSE_MATRIX, &D));
  PetscCall(CheckParents(&transposed, A, B, D, had, "values written to the arrays"));
  PetscCall(PetscObjectBaseTypeCompare((PetscObject)D, MATSEQDENSE, &sequential));
  if (sequential) {
    PetscCall(MatConvert(D, MATSEQDENSE, MAT_INPLACE_MATRIX, &D));
    PetscCall(MatScale(A, 3));
    PetscCall(Transposed(A, B, MAT_REUSE_MATRIX, &D));
    PetscCall(CheckParents(&transposed, A, B, D, MATSEQDENSE, "after it went to the host"));
    PetscCall(MatDestroy(&D));
    PetscCall(CreateDense(A, PETSC_TRUE, N, 0, type, &D));
    PetscCall(MatGetType(D, &now));
    PetscCall(PetscStrncpy(had, now, sizeof(had)));
    PetscCall(MatProductCreateWithMat(A, B, NULL, D));
    PetscCall(MatProductSetType(D, MATPRODUCT_AtB));
    PetscCall(MatProductSetFromOptions(D));
    PetscCall(MatProductSymbolic(D));
    for (PetscInt i = 0; i < 3; i++) {
      PetscCall(MatScale(A, 1.5));
      PetscCall(MatProductNumeric(D));
      PetscCall(CheckParents(&transposed, A, B, D, had, "the caller's"));
    }
  }
  PetscCall(MatDestroy(&A));
  PetscCall(MatDestroy(&B));
  PetscCall(MatDestroy(&D));
  PetscFunctionReturn(PETSC_SUCCESS);
}

int main(int argc, char **argv)
{
  Problem           p         = {PATTERN_BAND, 150, 150, 3, PETSC_FALSE, 0, 0};
  PetscInt          widths[8] = {1, 3, 24, 93}, nwidths = 8, pad = 0;
  PetscEnum         patterns[PATTERN_NONE + 1];
  PetscInt          npatterns = PETSC_STATIC_ARRAY_LENGTH(patterns);
  MatAIJTCUPath     expect    = MAT_AIJTCU_PATH_TCU;
  char              type[32] = MATDENSE;
  PetscBool         set;

  PetscCall(PetscInitialize(&argc, &argv, NULL, help));
  PetscCall(PetscDLLibraryRegister_petscaijtcu());
  PetscOptionsBegin(PETSC_COMM_WORLD, NULL, "Product test", NULL);
  PetscCall(PetscOptionsEnumArray("-pattern", "Patterns of the matrix, one after the other", NULL, Patterns, patterns, &npatterns, &set));
  if (!set) {
    npatterns   = 1;
    patterns[0] = (PetscEnum)p.pattern;
  }
  PetscCall(PetscOptionsInt("-m", "Rows", NULL, p.m, &p.m, NULL));
  p.n = p.m;
  PetscCall(PetscOptionsInt("-n", "Columns", NULL, p.n, &p.n, NULL));
  PetscCall(PetscOptionsInt("-block", "Rows of a dense block", NULL, p.block, &p.block, NULL));
  PetscCall(PetscOptionsInt("-pad", "Leading dimension less rows", NULL, pad, &pad, NULL));
  PetscCall(PetscOptionsIntArray("-widths", "Numbers of dense columns", NULL, widths, &nwidths, &set));
  if (!set) nwidths = 4;
  PetscCall(PetscOptionsString("-dense_type", "Type of the dense matrices", NULL, type, type, sizeof(type), NULL));
  PetscCall(PetscOptionsEnum("-expect", "Path that must be taken", NULL, MatAIJTCUPaths, (PetscEnum)expect, (PetscEnum *)&expect, NULL));
  PetscOptionsEnd();
#if !PETSC_VERSION_LT(3, 25, 0) && PETSC_VERSION_LT(3, 26, 0)
  PetscMPIInt size;

  /* MATMPIAIJ itself crashes there, in MatMatMultSymbolic_MPIAIJ_MPIDense(), where a process has no columns */
  PetscCallMPI(MPI_Comm_size(PETSC_COMM_WORLD, &size));
  if (p.n < size) {
    nwidths = 0;
    PetscCall(PetscOptionsSetValue(NULL, "-options_left", "no"));
  }
#endif
  for (PetscInt k = 0; k < npatterns; k++) {
    p.pattern    = (Pattern)patterns[k];
    pattern_name = Patterns[p.pattern];
    for (PetscInt i = 0; i < nwidths; i++) PetscCall(TestWidth(p, widths[i], pad, type, expect));
    if (p.m == p.n) {
      for (PetscInt i = 0; i < nwidths; i++) PetscCall(TestMult(p, widths[i], type));
    }
    if (nwidths) {
      PetscCall(TestSymmetric(p, widths[nwidths - 1], type, expect));
      PetscCall(TestParents(&transposed, p, widths[nwidths - 1], type));
      PetscCall(TestShell(&transposed, p, widths[nwidths - 1], type));
      if (p.m == p.n) {
        PetscCall(TestParents(&projected, p, widths[nwidths - 1], type));
        PetscCall(TestShell(&projected, p, widths[nwidths - 1], type));
        PetscCall(TestParents(&restricted, p, widths[nwidths - 1], type));
      }
      PetscCall(TestTransposed(p, widths[nwidths - 1], type));
    }
  }
  PetscCall(PetscFinalize());
  return 0;
}

/*TEST

  testset:
    output_file: output/empty.out
    args: -pattern band,random,empty,denserow,column,blocks,none

    test:
      suffix: tcu
      args: -mat_aijtcu_path tcu -expect tcu -mat_aijtcu_format {{8,16,32,1 8,64,32,1 16,16,32,1 16,64,32,1}} -pad {{0 5}}

    test:
      suffix: scalar
      args: -mat_aijtcu_path csr -expect csr -pad {{0 5}}

    test:
      suffix: parallel
      nsize: {{2 3 4}}
      args: -mat_aijtcu_path tcu -expect tcu -mat_aijtcu_format {{8,64,32,1 16,64,32,1}} -pad 3

    test:
      suffix: parallel_scalar
      nsize: {{2 4}}
      args: -mat_aijtcu_path csr -expect csr

  testset:
    output_file: output/empty.out

    test:
      suffix: shapes
      args: -mat_aijtcu_path tcu -m {{1 7 65 300}} -n {{1 9 128}} -pattern band,random -mat_aijtcu_format {{8,64,4,1 8,64,256,1}}

    test:
      suffix: windows
      args: -mat_aijtcu_path tcu -m 65 -n 9 -pattern band,random -mat_aijtcu_format {{8,64,32,2 8,64,32,4 8,64,32,8 8,64,32,16 16,64,32,2 16,64,32,4 16,64,32,8 16,64,32,16}}

    test:
      suffix: shapes_parallel
      nsize: 3
      args: -mat_aijtcu_path tcu -m {{2 65}} -n {{1 128}} -pattern band,random

    test:
      suffix: wide
      args: -mat_aijtcu_path tcu -m 90 -n 5000 -pattern denserow -widths 96,128,300

    test:
      suffix: parent
      nsize: {{1 2}}
      args: -mat_aijtcu_path cusparse -expect cusparse -pattern random -use_gpu_aware_mpi 0

    test:
      suffix: auto
      args: -mat_aijtcu_path auto -mat_aijtcu_synergy_threshold 0.125 -pattern band,blocks -widths 3,24,93

    test:
      suffix: auto_low
      args: -mat_aijtcu_synergy_threshold 0.3 -expect csr -pattern random

    test:
      suffix: auto_default
      requires: !cuda
      args: -expect csr -pattern band,random

  testset:
    output_file: output/empty.out
    requires: cuda
    args: -dense_type densecuda -pattern band,random,empty,denserow,blocks,none

    test:
      suffix: cuda_tcu
      args: -mat_aijtcu_path tcu -mat_aijtcu_format {{8,64,32,1 16,64,32,1}} -pad {{0 5}}

    test: # tall panels, wide windows
      suffix: cuda_formats
      args: -mat_aijtcu_path tcu -m {{300 1000}} -pad {{0 3}} -mat_aijtcu_format 16,128,32,16

    test:
      suffix: cuda_gather
      args: -mat_aijtcu_path tcu -m {{300 1000}} -mat_aijtcu_format 8,8,256,1

    test: # products in pieces, through a workspace of 16 KiB
      suffix: cuda_pieces
      args: -mat_aijtcu_path tcu -mat_aijtcu_workspace_max 0.016 -widths 96,300 -m 300 -mat_aijtcu_format {{8,64,32,1 8,64,32,8}} -dense_type {{densecuda dense}}

    test: # dense matrices on the host, their sparse one on the device
      suffix: cuda_host
      args: -mat_aijtcu_path tcu -dense_type dense -pad {{0 5}}

    test: # bricks of the reordered matrix, also in pieces
      suffix: cuda_reorder
      args: -mat_aijtcu_path tcu -expect tcu -mat_aijtcu_reorder always -m {{1 300}} -n 300 -pad {{0 3}} -widths 1,24,93 -mat_aijtcu_workspace_max {{0 0.016}}

    test:
      suffix: cuda_scalar
      args: -mat_aijtcu_path csr -expect csr -pad {{0 5}}

    test:
      suffix: cuda_scalar_host
      args: -mat_aijtcu_path csr -expect csr -dense_type dense -pad {{0 5}}

    test: # products in pieces, and rows that are cut
      suffix: cuda_scalar_pieces
      args: -mat_aijtcu_path csr -expect csr -mat_aijtcu_workspace_max 0.016 -widths 96,300 -m 90 -n 5000 -dense_type {{densecuda dense}}

    test:
      suffix: cuda_parent
      args: -mat_aijtcu_path cusparse -expect cusparse

    test:
      suffix: cuda_parallel
      nsize: {{2 3}}
      args: -mat_aijtcu_path tcu -mat_aijtcu_reorder {{never always}} -use_gpu_aware_mpi 0

    test:
      suffix: cuda_parallel_scalar
      nsize: 2
      args: -mat_aijtcu_path csr -expect csr -use_gpu_aware_mpi 0

  testset: # what a device chooses by itself
    output_file: output/empty.out
    requires: cuda
    args: -dense_type densecuda

    test:
      suffix: cuda_auto
      timeoutfactor: 3
      args: -m 12000 -pattern blocks -block 32 -widths 93 -expect tcu

    test: # a complex matrix is one of four times the entries
      suffix: cuda_auto_few
      requires: !complex
      args: -pattern random,blocks -expect csr

    test: # cuSPARSE 12.6 leaves out the last of 32 rows where it finds the number of entries in shared memory
      suffix: cuda_mult
      args: -m 32 -pattern band,random,denserow,blocks -widths 1,6,24 -mat_aijtcu_path csr -expect csr

    test: # short rows whose columns run with them
      suffix: cuda_rows
      args: -m 5000 -pattern band -widths 60 -mat_aijtcu_path csr -expect csr

TEST*/
