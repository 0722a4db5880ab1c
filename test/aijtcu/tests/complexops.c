static char help[] = "All products of a MATAIJTCU with complex scalars beside those of MATAIJ on the host, after each change of its values.\n\
Prints on error only. -m, -n, -widths, -uneven, -slim, -full, -dense_type, -expect (tcu|csr): the path that products with blocks take.\n\n";

#include "arrays.h"
#include "bits.h"
#include "numbers.h"
#include "paths.h"
#include <petscaijtcu.h>

/* Matrices: any, complex symmetric (A^T = A), Hermitian (A^H = A). Entries are functions of global indices */
typedef enum {
  KIND_ANY,
  KIND_SYMMETRIC,
  KIND_HERMITIAN
} Kind;
static const char *const Kinds[] = {"any", "symmetric", "Hermitian"};

static PetscScalar Entry(Kind kind, PetscInt i, PetscInt j, PetscInt seed)
{
  const PetscScalar below = Scalar(PetscMax(i, j), PetscMin(i, j), seed);

  if (kind == KIND_ANY) return Scalar(i, j, seed);
  if (kind == KIND_SYMMETRIC || i > j) return below;
  return i < j ? PetscConj(below) : (PetscScalar)PetscRealPart(below);
}

/*
   Whether a few rows have far more entries than the others; whether all have few, whose columns run with the rows;
   whether entries come in blocks, so that bricks are nearly full and store both parts of a number once
*/
static PetscBool uneven = PETSC_FALSE, slim = PETSC_FALSE, full = PETSC_FALSE;

enum {
  BLOCK = 16 /* rows and columns of such a block */
};

/* The pattern is symmetric: near neighbours and some far away. Some rows have no entries */
static PetscBool IsThere(PetscInt i, PetscInt j)
{
  const PetscInt low = PetscMin(i, j), high = PetscMax(i, j);

  if (i % 37 == 5 || j % 37 == 5) return PETSC_FALSE;
  if (slim) return (PetscBool)(high - low <= 2);
  if (full) return (PetscBool)(low / BLOCK == high / BLOCK || Hash(low / BLOCK, high / BLOCK, 3) % 5 == 0);
  return (PetscBool)((uneven ? i == j || low % 23 == 4 : high - low <= 3) || Hash(low, high, 3) % 29 == 0);
}

static PetscErrorCode SetValues(Mat A, Kind kind, PetscInt seed)
{
  PetscInt first, end, N;

  PetscFunctionBegin;
  PetscCall(MatGetOwnershipRange(A, &first, &end));
  PetscCall(MatGetSize(A, NULL, &N));
  for (PetscInt i = first; i < end; i++) {
    for (PetscInt j = 0; j < N; j++) {
      if (IsThere(i, j)) PetscCall(MatSetValue(A, i, j, Entry(kind, i, j, seed), INSERT_VALUES));
    }
  }
  PetscCall(MatAssemblyBegin(A, MAT_FINAL_ASSEMBLY));
  PetscCall(MatAssemblyEnd(A, MAT_FINAL_ASSEMBLY));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode CreateMat(MatType type, PetscInt m, PetscInt n, Mat *A)
{
  PetscFunctionBegin;
  PetscCall(MatCreate(PETSC_COMM_WORLD, A));
  PetscCall(MatSetSizes(*A, PETSC_DECIDE, PETSC_DECIDE, m, n));
  PetscCall(MatSetType(*A, type));
  PetscCall(MatSetFromOptions(*A));
  PetscCall(MatSetType(*A, type));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* N columns of numbers; special: some of them are NaN or Inf, in one part or both */
static PetscErrorCode CreateDense(Mat A, PetscBool right, PetscInt N, PetscInt seed, PetscBool special, MatType type, Mat *B)
{
  const PetscScalar specials[] = {PetscCMPLX(PETSC_INFINITY, 0), PetscCMPLX(1, PETSC_INFINITY), PetscCMPLX(NAN, 2), PetscCMPLX(-PETSC_INFINITY, PETSC_INFINITY), PetscCMPLX(3, NAN)};
  PetscInt          m, n, M, NN, first, end, ld;
  PetscScalar      *b;

  PetscFunctionBegin;
  PetscCall(MatGetLocalSize(A, &m, &n));
  PetscCall(MatGetSize(A, &M, &NN));
  PetscCall(MatCreate(PETSC_COMM_WORLD, B));
  PetscCall(MatSetSizes(*B, right ? n : m, PETSC_DECIDE, right ? NN : M, N));
  PetscCall(MatSetType(*B, type));
  PetscCall(MatDenseSetLDA(*B, PetscMax(1, (right ? n : m) + 3)));
  PetscCall(MatSetUp(*B));
  PetscCall(MatGetOwnershipRange(*B, &first, &end));
  PetscCall(MatDenseGetLDA(*B, &ld));
  PetscCall(MatDenseGetArrayWrite(*B, &b));
  for (PetscInt j = 0; j < N; j++) {
    for (PetscInt i = first; i < end; i++) b[i - first + j * ld] = special && Hash(i, j, 9) % 41 == 0 ? specials[Hash(i, j, 10) % 5] : Scalar(i, j, seed);
  }
  PetscCall(MatDenseRestoreArrayWrite(*B, &b));
  PetscCall(MatAssemblyBegin(*B, MAT_FINAL_ASSEMBLY));
  PetscCall(MatAssemblyEnd(*B, MAT_FINAL_ASSEMBLY));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*
   Parts that are finite in one are finite in the other. Where C's rules for complex numbers (Annex G) make Inf of two
   parts that are NaN, the kernels have NaN
*/
static PetscBool SamePart(PetscReal got, PetscReal want, PetscReal most)
{
  if (PetscIsInfOrNanReal(want) || PetscIsInfOrNanReal(got)) return (PetscBool)(PetscIsInfOrNanReal(want) && PetscIsInfOrNanReal(got));
  return (PetscBool)(PetscAbsReal(got - want) <= most);
}

static PetscErrorCode CompareArrays(PetscInt m, PetscInt N, const PetscScalar *c, PetscInt ldc, const PetscScalar *d, PetscInt ldd, const char what[], const char then[])
{
  PetscInt wrong = 0;

  PetscFunctionBegin;
  for (PetscInt j = 0; j < N; j++) {
    PetscReal most = 1;

    for (PetscInt i = 0; i < m; i++) {
      const PetscReal size = PetscAbsScalar(d[i + j * ldd]);

      if (!PetscIsInfOrNanReal(size)) most = PetscMax(most, size);
    }
    for (PetscInt i = 0; i < m; i++) {
      const PetscScalar got = c[i + j * ldc], want = d[i + j * ldd];
      const PetscReal   tol = 20 * PETSC_MACHINE_EPSILON * most;

      if (SamePart(PetscRealPart(got), PetscRealPart(want), tol) && SamePart(PetscImaginaryPart(got), PetscImaginaryPart(want), tol)) continue;
      if (!wrong++) PetscCall(PetscPrintf(PETSC_COMM_SELF, "%s, %s: (%" PetscInt_FMT ", %" PetscInt_FMT ") is %g + %g i, must be %g + %g i\n", what, then, i, j, (double)PetscRealPart(got), (double)PetscImaginaryPart(got), (double)PetscRealPart(want), (double)PetscImaginaryPart(want)));
    }
  }
  if (wrong > 1) PetscCall(PetscPrintf(PETSC_COMM_SELF, "%s, %s: %" PetscInt_FMT " are wrong\n", what, then, wrong));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode CompareDense(Mat C, Mat D, const char what[], const char then[])
{
  const PetscScalar *c, *d;
  PetscInt           m, N, ldc, ldd;

  PetscFunctionBegin;
  PetscCall(MatGetLocalSize(C, &m, NULL));
  PetscCall(MatGetSize(C, NULL, &N));
  PetscCall(MatDenseGetLDA(C, &ldc));
  PetscCall(MatDenseGetLDA(D, &ldd));
  PetscCall(MatDenseGetArrayRead(C, &c));
  PetscCall(MatDenseGetArrayRead(D, &d));
  PetscCall(CompareArrays(m, N, c, ldc, d, ldd, what, then));
  PetscCall(MatDenseRestoreArrayRead(C, &c));
  PetscCall(MatDenseRestoreArrayRead(D, &d));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode CompareVecs(Vec y, Vec z, const char what[], const char then[])
{
  const PetscScalar *a, *b;
  PetscInt           n;

  PetscFunctionBegin;
  PetscCall(VecGetLocalSize(y, &n));
  PetscCall(VecGetArrayRead(y, &a));
  PetscCall(VecGetArrayRead(z, &b));
  PetscCall(CompareArrays(n, 1, a, PetscMax(n, 1), b, PetscMax(n, 1), what, then));
  PetscCall(VecRestoreArrayRead(y, &a));
  PetscCall(VecRestoreArrayRead(z, &b));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* A B, or A^T B, twice: the bits are the same. R is A as MATAIJ */
static PetscErrorCode TestBlocks(Mat A, Mat R, PetscBool transposed, PetscInt N, PetscBool special, MatType type, const char then[])
{
  PetscErrorCode (*const multiply)(Mat, Mat, MatReuse, PetscReal, Mat *) = transposed ? MatTransposeMatMult : MatMatMult;
  const char *what = transposed ? "A^T B" : "A B";
  Mat         B, H, C, D;
  PetscBool   same;

  PetscFunctionBegin;
  PetscCall(CreateDense(A, (PetscBool)!transposed, N, 7, special, type, &B));
  PetscCall(CreateDense(A, (PetscBool)!transposed, N, 7, special, MATDENSE, &H));
  PetscCall((*multiply)(A, B, MAT_INITIAL_MATRIX, PETSC_DEFAULT, &C));
  PetscCall((*multiply)(R, H, MAT_INITIAL_MATRIX, PETSC_DEFAULT, &D));
  PetscCall(CompareDense(C, D, what, then));
  PetscCall(MatDestroy(&D));
  PetscCall((*multiply)(A, B, MAT_INITIAL_MATRIX, PETSC_DEFAULT, &D));
  PetscCall(SameBits(C, D, &same));
  if (!same) PetscCall(PetscPrintf(PETSC_COMM_SELF, "%s, %s, N = %" PetscInt_FMT ": other bits the second time\n", what, then, N));
  PetscCall(MatDestroy(&B));
  PetscCall(MatDestroy(&H));
  PetscCall(MatDestroy(&C));
  PetscCall(MatDestroy(&D));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode FillVec(Vec x, PetscInt seed)
{
  PetscInt     first, end;
  PetscScalar *a;

  PetscFunctionBegin;
  PetscCall(VecGetOwnershipRange(x, &first, &end));
  PetscCall(VecGetArrayWrite(x, &a));
  for (PetscInt i = first; i < end; i++) a[i - first] = Scalar(i, 0, seed);
  PetscCall(VecRestoreArrayWrite(x, &a));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* op(A) x, y + op(A) x, and the same in place of y */
static PetscErrorCode TestVec(Mat A, Mat R, PetscErrorCode (*mult)(Mat, Vec, Vec), PetscErrorCode (*add)(Mat, Vec, Vec, Vec), PetscBool transposed, const char what[], const char then[])
{
  Vec x[2], y[2], z[2];
  Mat of[2] = {A, R};

  PetscFunctionBegin;
  for (int i = 0; i < 2; i++) {
    if (transposed) PetscCall(MatCreateVecs(of[i], &y[i], &x[i]));
    else PetscCall(MatCreateVecs(of[i], &x[i], &y[i]));
    PetscCall(VecDuplicate(y[i], &z[i]));
    PetscCall(FillVec(x[i], 21));
    PetscCall(FillVec(y[i], 22));
    PetscCall((*add)(of[i], x[i], y[i], z[i]));
  }
  PetscCall(CompareVecs(z[0], z[1], what, then));
  for (int i = 0; i < 2; i++) PetscCall((*add)(of[i], x[i], y[i], y[i]));
  PetscCall(CompareVecs(y[0], y[1], what, then));
  for (int i = 0; i < 2; i++) PetscCall((*mult)(of[i], x[i], z[i]));
  PetscCall(CompareVecs(z[0], z[1], what, then));
  for (int i = 0; i < 2; i++) {
    PetscCall(VecDestroy(&x[i]));
    PetscCall(VecDestroy(&y[i]));
    PetscCall(VecDestroy(&z[i]));
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Whether to try what needs a kernel of PETSc's on a device, and products with one vector */
static PetscBool kernels = PETSC_TRUE, vectors = PETSC_TRUE;

static PetscErrorCode TestAll(Mat A, Mat R, PetscInt nwidths, const PetscInt widths[], MatType type, const char then[])
{
  PetscFunctionBegin;
  for (PetscInt i = 0; i < nwidths; i++) {
    PetscCall(TestBlocks(A, R, PETSC_FALSE, widths[i], PETSC_FALSE, type, then));
    PetscCall(TestBlocks(A, R, PETSC_TRUE, widths[i], PETSC_FALSE, type, then));
  }
  if (!vectors) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCall(TestVec(A, R, MatMult, MatMultAdd, PETSC_FALSE, "MatMult()", then));
  PetscCall(TestVec(A, R, MatMultTranspose, MatMultTransposeAdd, PETSC_TRUE, "MatMultTranspose()", then));
  PetscCall(TestVec(A, R, MatMultHermitianTranspose, MatMultHermitianTransposeAdd, PETSC_TRUE, "MatMultHermitianTranspose()", then));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Bricks of A on a device: pairs have half of the bytes of four numbers for each entry, and few for the pattern */
static PetscErrorCode CheckPairs(Mat A)
{
  MatAIJTCUSynergy s;
  MatInfo          info;
  PetscBool        bricks;

  PetscFunctionBegin;
  PetscCall(HasBricks(A, &bricks));
  if (!bricks) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCall(MatAIJTCUGetSynergy(A, &s));
  PetscCall(MatGetInfo(A, MAT_GLOBAL_SUM, &info));
  if (!s.built || s.hrpb_bytes > 3 * (PetscInt64)sizeof(PetscScalar) / 2 * (PetscInt64)info.nz_used)
    PetscCall(PetscPrintf(PETSC_COMM_WORLD, "Bricks have %" PetscInt64_FMT " bytes for %g entries, alpha %g: no pairs\n", s.hrpb_bytes, info.nz_used, (double)s.alpha));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Changes of values, one after the other, of A and of R alike */
static PetscErrorCode Change(Mat A, PetscInt k, const char **what)
{
  Vec left, right;
  Mat other;

  PetscFunctionBegin;
  switch (k) {
  case 0:
    *what = "MatScale()";
    PetscCall(MatScale(A, PetscCMPLX(1.5, -0.5)));
    break;
  case 1:
    *what = "MatConjugate()";
    PetscCall(MatConjugate(A));
    break;
  case 2:
    *what = "MatDiagonalScale()";
    PetscCall(MatCreateVecs(A, &right, &left));
    PetscCall(FillVec(left, 31));
    PetscCall(FillVec(right, 32));
    PetscCall(MatDiagonalScale(A, left, right));
    PetscCall(VecDestroy(&left));
    PetscCall(VecDestroy(&right));
    break;
  case 3:
    *what = "arrays";
    PetscCall(ChangeArrays(A, PetscCMPLX(0.5, 2), PetscCMPLX(0.1, -0.2)));
    break;
  case 4:
    *what = "MatAXPY()";
    PetscCall(MatDuplicate(A, MAT_COPY_VALUES, &other));
    PetscCall(MatConjugate(other));
    PetscCall(MatAXPY(A, PetscCMPLX(-0.5, 1), other, SAME_NONZERO_PATTERN));
    PetscCall(MatDestroy(&other));
    break;
  case 5:
    *what = "new values";
    PetscCall(SetValues(A, KIND_ANY, 5));
    break;
  case 6:
    *what = "MatImaginaryPart()";
    PetscCall(MatImaginaryPart(A));
    break;
  case 7:
    *what = "new values again";
    PetscCall(SetValues(A, KIND_ANY, 6));
    break;
  default:
    *what = "MatRealPart()";
    PetscCall(MatRealPart(A));
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode TestChanges(PetscInt m, PetscInt n, PetscInt nwidths, const PetscInt widths[], MatType type, MatAIJTCUPath expect)
{
  Mat             A, R;
  const char     *what;
  MatAIJTCUCounts counts;
  PetscBool       bricks;

  PetscFunctionBegin;
  PetscCall(CreateMat(MATAIJTCU, m, n, &A));
  PetscCall(CreateMat(MATAIJ, m, n, &R));
  PetscCall(SetValues(A, KIND_ANY, 1));
  PetscCall(SetValues(R, KIND_ANY, 1));
  PetscCall(TestAll(A, R, nwidths, widths, type, "at first"));
  PetscCall(TestBlocks(A, R, PETSC_FALSE, widths[nwidths - 1], PETSC_TRUE, type, "NaN and Inf"));
  PetscCall(TestBlocks(A, R, PETSC_TRUE, widths[nwidths - 1], PETSC_TRUE, type, "NaN and Inf"));
  for (PetscInt k = 0; k <= 8; k++) {
    if (k == 2 && !kernels) continue; /* MatDiagonalScale() */
    PetscCall(Change(A, k, &what));
    PetscCall(Change(R, k, &what));
    PetscCall(TestAll(A, R, nwidths, widths, type, what));
  }
  if (full && expect == MAT_AIJTCU_PATH_TCU) PetscCall(CheckPairs(A));
  PetscCall(MatAIJTCUGetCounts(A, &counts));
  PetscCall(HasBricks(A, &bricks));
  if ((expect == MAT_AIJTCU_PATH_TCU && bricks && !counts.tcu) || (expect == MAT_AIJTCU_PATH_CSR && !counts.csr)) PetscCall(PetscPrintf(PETSC_COMM_SELF, "%d products with bricks and %d with CSR: none as set\n", (int)counts.tcu, (int)counts.csr));
  PetscCall(MatDestroy(&A));
  PetscCall(MatDestroy(&R));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* A copy of A, which is said to be Hermitian for ever, after a change by which it is not any more: a shift, a sum */
static PetscErrorCode TestNoMore(Mat A, Mat R, int k, PetscInt nwidths, const PetscInt widths[], MatType type)
{
  const Mat of[2] = {A, R};
  Mat       copies[2], other;

  PetscFunctionBegin;
  for (int i = 0; i < 2; i++) {
    PetscCall(MatDuplicate(of[i], MAT_COPY_VALUES, &copies[i]));
    if (k) {
      PetscCall(MatDuplicate(of[i], MAT_COPY_VALUES, &other));
      PetscCall(MatAXPY(copies[i], PetscCMPLX(1, 2), other, SAME_NONZERO_PATTERN));
      PetscCall(MatDestroy(&other));
    } else PetscCall(MatShift(copies[i], PetscCMPLX(0.5, -3)));
  }
  PetscCall(TestAll(copies[0], copies[1], nwidths, widths, type, k ? "Hermitian, with i times another" : "Hermitian, shifted"));
  for (int i = 0; i < 2; i++) PetscCall(MatDestroy(&copies[i]));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*
   A matrix that is said to be eternally symmetric or Hermitian. The second is not Hermitian any more when it was scaled.
   It is said to be positive definite, too, by which PETSc takes it for symmetric
*/
static PetscErrorCode TestKind(Kind kind, PetscInt m, PetscInt nwidths, const PetscInt widths[], MatType type)
{
  Mat A, R;

  PetscFunctionBegin;
  PetscCall(CreateMat(MATAIJTCU, m, m, &A));
  PetscCall(CreateMat(MATAIJ, m, m, &R));
  PetscCall(SetValues(A, kind, 2));
  PetscCall(SetValues(R, kind, 2));
  PetscCall(MatSetOption(A, MAT_SYMMETRIC, (PetscBool)(kind == KIND_SYMMETRIC)));
  PetscCall(MatSetOption(A, MAT_HERMITIAN, (PetscBool)(kind == KIND_HERMITIAN)));
  PetscCall(MatSetOption(A, MAT_SYMMETRY_ETERNAL, PETSC_TRUE));
  PetscCall(TestAll(A, R, nwidths, widths, type, Kinds[kind]));
  if (kind == KIND_HERMITIAN) {
    for (int k = 0; k < 2; k++) PetscCall(TestNoMore(A, R, k, nwidths, widths, type));
    PetscCall(MatScale(A, PetscCMPLX(0.5, 1)));
    PetscCall(MatScale(R, PetscCMPLX(0.5, 1)));
    PetscCall(TestAll(A, R, nwidths, widths, type, "Hermitian, scaled"));
    PetscCall(MatSetOption(A, MAT_SPD, PETSC_TRUE));
    PetscCall(MatSetOption(A, MAT_SPD_ETERNAL, PETSC_TRUE));
    PetscCall(TestBlocks(A, R, PETSC_TRUE, widths[nwidths - 1], PETSC_FALSE, type, "said to be positive definite"));
  }
  PetscCall(MatDestroy(&A));
  PetscCall(MatDestroy(&R));
  PetscFunctionReturn(PETSC_SUCCESS);
}

int main(int argc, char **argv)
{
  PetscInt      m = 90, n = 90, widths[8] = {1, 5, 32}, nwidths = 8;
  MatAIJTCUPath expect   = MAT_AIJTCU_PATH_AUTO;
  char          type[32] = MATDENSE;
  PetscBool     set;

  PetscCall(PetscInitialize(&argc, &argv, NULL, help));
  PetscCall(PetscDLLibraryRegister_petscaijtcu());
  PetscOptionsBegin(PETSC_COMM_WORLD, NULL, "Test of complex products", NULL);
  PetscCall(PetscOptionsInt("-m", "Rows", NULL, m, &m, NULL));
  n = m;
  PetscCall(PetscOptionsInt("-n", "Columns", NULL, n, &n, NULL));
  PetscCall(PetscOptionsIntArray("-widths", "Numbers of dense columns", NULL, widths, &nwidths, &set));
  if (!set) nwidths = 3;
  PetscCall(PetscOptionsBool("-kernels", "Try what needs kernels of PETSc's on a device", NULL, kernels, &kernels, NULL));
  vectors = kernels;
  PetscCall(PetscOptionsBool("-vectors", "Try products with one vector", NULL, vectors, &vectors, NULL));
  PetscCall(PetscOptionsBool("-uneven", "A few rows have far more entries than the others", NULL, uneven, &uneven, NULL));
  PetscCall(PetscOptionsBool("-slim", "All rows have few entries, and their columns run with the rows", NULL, slim, &slim, NULL));
  PetscCall(PetscOptionsBool("-full", "Entries come in dense blocks", NULL, full, &full, NULL));
  PetscCall(PetscOptionsString("-dense_type", "Type of the dense matrices", NULL, type, type, sizeof(type), NULL));
  PetscCall(PetscOptionsEnum("-expect", "Path that must be taken", NULL, MatAIJTCUPaths, (PetscEnum)expect, (PetscEnum *)&expect, NULL));
  PetscOptionsEnd();
  PetscCall(TestChanges(m, n, nwidths, widths, type, expect));
  if (m == n) {
    PetscCall(TestKind(KIND_SYMMETRIC, m, nwidths, widths, type));
    PetscCall(TestKind(KIND_HERMITIAN, m, nwidths, widths, type));
  }
  PetscCall(PetscFinalize());
  return 0;
}

/*TEST

  build:
    requires: complex

  testset:
    output_file: output/empty.out

    test:
      suffix: 1
      nsize: {{1 2 3}}
      args: -mat_aijtcu_path {{auto tcu csr}}

    test:
      suffix: rectangular
      nsize: {{1 3}}
      args: -m 70 -n 110 -mat_aijtcu_path {{tcu csr}}

    test:
      suffix: full
      args: -full -m 70 -widths 4,33 -mat_aijtcu_path tcu -expect tcu -mat_aijtcu_format {{8,64,32,8 16,128,32,16}}

    test:
      suffix: cuda
      requires: cuda
      args: -dense_type densecuda -mat_aijtcu_path {{tcu csr}} -widths 1,4,17,64

    test: # more rows than a thread block has; none is so long that it is cut
      suffix: cuda_csr
      requires: cuda
      args: -dense_type densecuda -mat_aijtcu_path csr -slim {{0 1}} -m 300 -widths 2,3,4,9,33,71

    test: # some are
      suffix: cuda_cut
      requires: cuda
      nsize: {{1 2}}
      args: -dense_type densecuda -mat_aijtcu_path csr -expect csr -uneven -m 300 -widths 3,5,9,33,71 -use_gpu_aware_mpi 0

    test: # bricks of pairs, whatever the first product has
      suffix: cuda_pairs
      requires: cuda double
      args: -dense_type densecuda -mat_aijtcu_path tcu -expect tcu -full -m 150 -widths {{4,33,64,96 96,4}}

    test: # the same in a format that is set
      suffix: cuda_pairs_format
      requires: cuda double
      args: -dense_type densecuda -mat_aijtcu_path tcu -expect tcu -full -m 150 -widths 4,33 -mat_aijtcu_format {{8,64,32,8 16,128,32,16}}

    test: # the same in parallel
      suffix: cuda_full
      requires: cuda
      nsize: {{1 2}}
      args: -dense_type densecuda -mat_aijtcu_path tcu -full -m 200 -widths 96,4 -use_gpu_aware_mpi 0

    test:
      suffix: cuda_vector
      requires: cuda
      args: -dense_type densecuda -mat_aijtcu_mult {{auto csr csr16}} -uneven {{0 1}} -widths 3

    test:
      suffix: cuda_host
      requires: cuda
      args: -mat_aijtcu_path {{tcu csr}} -mat_aijtcu_workspace_max {{0 0.016}}

    test:
      suffix: cuda_reorder
      requires: cuda
      args: -dense_type densecuda -mat_aijtcu_path tcu -mat_aijtcu_reorder always

    test:
      suffix: cuda_parallel
      requires: cuda
      nsize: {{2 3}}
      args: -dense_type densecuda -mat_aijtcu_path {{tcu csr}} -mat_aijtcu_halo {{auto mpi}} -use_gpu_aware_mpi 0

TEST*/
