static char help[] = "Tests MatMatSolve() and MatMatSolveTranspose() with factors of an aijtcu against solves with vectors and factors of a seqaij. Prints on error only.\n\
  -mat_type <type>   : of the matrix that is factored\n\
  -dense_type <type> : of the blocks\n\
  -n <points>        : of a grid in each of two directions\n\
  -levels <levels>   : of ilu and icc\n\
  -order <type>      : of rows and columns\n\n";

#include <petscaijtcu.h>
#include "kind.h"
#include "phase.h"

typedef struct {
  MatType         type, dense;
  PetscInt        n;
  MatOrderingType order;
  MatFactorInfo   info;
  PetscBool       bound; /* to the host while factors are made */
} Test;

typedef struct {
  Mat A, F; /* the matrix and its factor */
  IS  rows, columns;
} Factored;

/*
   Five points of a grid, symmetric or not, with a dominant diagonal: no factor is ill-conditioned. All values are
   multiplied with scale, and some more with shift. With complex scalars those of a matrix that is not symmetric are
   complex. In a symmetric one they are real: icc of cuSPARSE takes others as Hermitian, and PETSc solves as if they were
   symmetric
*/
static PetscErrorCode SetValues(const Test *t, Mat A, PetscBool symmetric, PetscReal scale, PetscReal shift)
{
  const PetscInt n = t->n;

  PetscFunctionBegin;
  for (PetscInt i = 0; i < n; i++) {
    for (PetscInt j = 0; j < n; j++) {
      const PetscInt    row  = i * n + j;
      const PetscReal   west = symmetric ? 1 : 1.3, south = symmetric ? 0.4 : 0.9;
      const PetscScalar diagonal  = scale * (4.1 + shift * (PetscReal)(row % 3));
      const PetscInt    columns[] = {row - n, row - 1, row + 1, row + n};
      const PetscReal   values[]  = {south, west, 1, 0.4};
      const PetscBool   there[]   = {(PetscBool)(i > 0), (PetscBool)(j > 0), (PetscBool)(j < n - 1), (PetscBool)(i < n - 1)};

      PetscCall(MatSetValue(A, row, row, diagonal, INSERT_VALUES));
      for (int k = 0; k < 4; k++) {
        if (there[k]) PetscCall(MatSetValue(A, row, columns[k], -scale * values[k] * (symmetric ? 1 : Turned(1, row + k)), INSERT_VALUES));
      }
    }
  }
  PetscCall(MatAssemblyBegin(A, MAT_FINAL_ASSEMBLY));
  PetscCall(MatAssemblyEnd(A, MAT_FINAL_ASSEMBLY));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode Symbolic(const Test *t, MatFactorType factor, Factored *f)
{
  PetscFunctionBegin;
  switch (factor) {
  case MAT_FACTOR_LU:
    PetscCall(MatLUFactorSymbolic(f->F, f->A, f->rows, f->columns, &t->info));
    break;
  case MAT_FACTOR_ILU:
    PetscCall(MatILUFactorSymbolic(f->F, f->A, f->rows, f->columns, &t->info));
    break;
  case MAT_FACTOR_CHOLESKY:
    PetscCall(MatCholeskyFactorSymbolic(f->F, f->A, f->rows, &t->info));
    break;
  default:
    PetscCall(MatICCFactorSymbolic(f->F, f->A, f->rows, &t->info));
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode Numeric(const Test *t, MatFactorType factor, Factored *f)
{
  PetscFunctionBegin;
  if (factor == MAT_FACTOR_LU || factor == MAT_FACTOR_ILU) PetscCall(MatLUFactorNumeric(f->F, f->A, &t->info));
  else PetscCall(MatCholeskyFactorNumeric(f->F, f->A, &t->info));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode Create(const Test *t, MatType type, MatFactorType factor, MatSolverType package, Factored *f)
{
  const PetscInt m = t->n * t->n;
  PetscBool      device, cusparse;

  PetscFunctionBegin;
  PetscCall(MatCreate(PETSC_COMM_SELF, &f->A));
  PetscCall(MatSetSizes(f->A, m, m, m, m));
  PetscCall(MatSetType(f->A, type));
  PetscCall(MatSeqAIJSetPreallocation(f->A, 5, NULL));
  PetscCall(SetValues(t, f->A, (PetscBool)(factor == MAT_FACTOR_CHOLESKY || factor == MAT_FACTOR_ICC), 1, 0));
  PetscCall(IsOnDevice(f->A, &device));
  PetscCall(MatBindToCPU(f->A, t->bound));
  PetscCall(PetscStrcmp(package, MATSOLVERCUSPARSE, &cusparse));
  PetscCall(MatGetFactor(f->A, cusparse && !device ? NULL : package, factor, &f->F));
  PetscCall(MatGetOrdering(f->A, t->order, &f->rows, &f->columns));
  PetscCall(Symbolic(t, factor, f));
  PetscCall(Numeric(t, factor, f));
  PetscCall(MatBindToCPU(f->A, PETSC_FALSE));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode Destroy(Factored *f)
{
  PetscFunctionBegin;
  PetscCall(MatDestroy(&f->F));
  PetscCall(MatDestroy(&f->A));
  PetscCall(ISDestroy(&f->rows));
  PetscCall(ISDestroy(&f->columns));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Counts how many columns the factor solves alone, by MatSolve() or MatSolveTranspose() */
static PetscInt ncolumns;
static PetscErrorCode (*solve_one)(Mat, Vec, Vec);

static PetscErrorCode SolveOne(Mat F, Vec b, Vec x)
{
  PetscFunctionBegin;
  ncolumns++;
  PetscCall((*solve_one)(F, b, x));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode CountedSolve(Mat F, PetscBool transpose, Mat B, Mat X)
{
  MatOperation      op = transpose ? MATOP_SOLVE_TRANSPOSE : MATOP_SOLVE;
  PetscErrorCodeFn *f;

  PetscFunctionBegin;
  PetscCall(MatGetOperation(F, op, &f));
  if (!f) op = MATOP_SOLVE; /* a symmetric factor may have one for both */
  if (!f) PetscCall(MatGetOperation(F, op, &f));
  solve_one = (PetscErrorCode (*)(Mat, Vec, Vec))f;
  PetscCall(MatSetOperation(F, op, (PetscErrorCodeFn *)SolveOne));
  ncolumns = 0;
  PetscCall(transpose ? MatMatSolveTranspose(F, B, X) : MatMatSolve(F, B, X));
  PetscCall(MatSetOperation(F, op, f));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* X, a block of the host, is the solution for B by the factor of the host */
static PetscErrorCode CheckColumns(Mat F, PetscBool transpose, Mat B, Mat X, const char what[])
{
  const PetscReal tolerance = PetscDefined(USE_REAL_SINGLE) ? 1e-4 : 1e-11;
  Vec             b, x, expected;
  PetscReal       error, norm;
  PetscInt        N;

  PetscFunctionBegin;
  PetscCall(MatGetSize(X, NULL, &N));
  PetscCall(MatCreateVecs(F, NULL, &expected));
  for (PetscInt j = 0; j < N; j++) {
    PetscCall(MatDenseGetColumnVecRead(B, j, &b));
    PetscCall(transpose ? MatSolveTranspose(F, b, expected) : MatSolve(F, b, expected));
    PetscCall(MatDenseRestoreColumnVecRead(B, j, &b));
    PetscCall(VecNorm(expected, NORM_INFINITY, &norm));
    PetscCall(MatDenseGetColumnVecRead(X, j, &x));
    PetscCall(VecAXPY(expected, -1, x));
    PetscCall(MatDenseRestoreColumnVecRead(X, j, &x));
    PetscCall(VecNorm(expected, NORM_INFINITY, &error));
    if (!(error <= tolerance * norm)) PetscCall(PetscPrintf(PETSC_COMM_SELF, "%s: column %" PetscInt_FMT " of %" PetscInt_FMT " differs by %g\n", what, j, N, (double)(error / norm)));
  }
  PetscCall(VecDestroy(&expected));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Blocks with N columns, in which the columns do not follow each other */
static PetscErrorCode Check(const Test *t, const Factored *f, const Factored *host, PetscBool transpose, PetscInt N, const char what[])
{
  const PetscInt m = t->n * t->n;
  Mat            B, X, Y, B_host, X_host;
  PetscBool      same, device;

  PetscFunctionBegin;
  PetscCall(MatCreate(PETSC_COMM_SELF, &B));
  PetscCall(MatSetSizes(B, m, N, m, N));
  PetscCall(MatSetType(B, t->dense));
  PetscCall(MatDenseSetLDA(B, m + 3));
  PetscCall(MatSetUp(B));
  PetscCall(MatSetRandom(B, NULL));
  PetscCall(MatDuplicate(B, MAT_COPY_VALUES, &X)); /* what is in X does not count */
  PetscCall(MatDuplicate(B, MAT_DO_NOT_COPY_VALUES, &Y));
  PetscCall(CountedSolve(f->F, transpose, B, X));
  PetscCall(transpose ? MatMatSolveTranspose(f->F, B, Y) : MatMatSolve(f->F, B, Y));
  PetscCall(PetscObjectTypeCompare((PetscObject)B, MATSEQDENSECUDA, &device));
  /* a single column is solved as PETSc does, but for the transpose */
  if (device && ncolumns != (N == 1 && !transpose)) PetscCall(PetscPrintf(PETSC_COMM_SELF, "%s: %" PetscInt_FMT " of %" PetscInt_FMT " columns alone\n", what, ncolumns, N));
  PetscCall(MatEqual(X, Y, &same));
  if (!same) PetscCall(PetscPrintf(PETSC_COMM_SELF, "%s: other bits in a second solve with %" PetscInt_FMT " columns\n", what, N));
  PetscCall(MatConvert(B, MATDENSE, MAT_INITIAL_MATRIX, &B_host));
  PetscCall(MatConvert(X, MATDENSE, MAT_INITIAL_MATRIX, &X_host));
  PetscCall(CheckColumns(host->F, transpose, B_host, X_host, what));
  PetscCall(MatDestroy(&B_host));
  PetscCall(MatDestroy(&X_host));
  PetscCall(MatDestroy(&B));
  PetscCall(MatDestroy(&X));
  PetscCall(MatDestroy(&Y));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Widths that come, go and come back, and new values */
static PetscErrorCode TestFactor(const Test *t, MatFactorType factor)
{
  const PetscBool symmetric = (PetscBool)(factor == MAT_FACTOR_CHOLESKY || factor == MAT_FACTOR_ICC);
  Factored        f, host;

  PetscFunctionBegin;
  PetscCall(Create(t, t->type, factor, MATSOLVERCUSPARSE, &f));
  PetscCall(Create(t, MATSEQAIJ, factor, NULL, &host));
  for (int i = 0; i < 7; i++) PetscCall(Check(t, &f, &host, PETSC_FALSE, (PetscInt[]){5, 32, 5, 1, 32, 40, 5}[i], MatFactorTypes[factor]));
  for (int i = 0; i < 3; i++) PetscCall(Check(t, &f, &host, PETSC_TRUE, (PetscInt[]){5, 32, 5}[i], "transpose"));
  PetscCall(SetValues(t, f.A, symmetric, 2, 0.1));
  PetscCall(SetValues(t, host.A, symmetric, 2, 0.1));
  PetscCall(Numeric(t, factor, &f));
  PetscCall(Numeric(t, factor, &host));
  for (int i = 0; i < 2; i++) PetscCall(Check(t, &f, &host, PETSC_FALSE, (PetscInt[]){5, 8}[i], "new values"));
  /* Blocks of the host go by vectors, with which PETSc 3.26.1 solves with the transpose of the old factor */
  PetscCall(Check(t, &f, &host, PETSC_TRUE, 5, "transpose with new values"));
  PetscCall(MatBindToCPU(f.A, PETSC_TRUE));
  PetscCall(MatScale(f.A, 3));
  PetscCall(MatScale(host.A, 3));
  PetscCall(Numeric(t, factor, &f));
  PetscCall(Numeric(t, factor, &host));
  PetscCall(Check(t, &f, &host, PETSC_FALSE, 5, "new values of a bound matrix"));
  PetscCall(Destroy(&f));
  PetscCall(Destroy(&host));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* A factor of PETSc, or of the package that is taken where none is asked for. One of a few rows solves on the host */
static PetscErrorCode TestPackage(const Test *t, MatFactorType factor, MatSolverType package)
{
  const PetscInt m = t->n * t->n;
  Factored       f, host;
  Mat            B, X;

  PetscFunctionBegin;
  PetscCall(Create(t, t->type, factor, package, &f));
  PetscCall(Create(t, MATSEQAIJ, factor, NULL, &host));
  for (int transpose = 0; transpose < 2; transpose++) {
    PetscCall(MatCreate(PETSC_COMM_SELF, &B));
    PetscCall(MatSetSizes(B, m, 5, m, 5));
    PetscCall(MatSetType(B, t->dense));
    PetscCall(MatSetUp(B));
    PetscCall(MatSetRandom(B, NULL));
    PetscCall(MatDuplicate(B, MAT_DO_NOT_COPY_VALUES, &X));
    if (transpose) PetscCall(MatMatSolveTranspose(f.F, B, X));
    else PetscCall(MatMatSolve(f.F, B, X));
    PetscCall(MatConvert(B, MATDENSE, MAT_INPLACE_MATRIX, &B));
    PetscCall(MatConvert(X, MATDENSE, MAT_INPLACE_MATRIX, &X));
    PetscCall(CheckColumns(host.F, (PetscBool)transpose, B, X, package ? package : "default"));
    PetscCall(MatDestroy(&B));
    PetscCall(MatDestroy(&X));
    /* a factor computed anew solves as the first one */
    PetscCall(SetValues(t, f.A, PETSC_FALSE, 2, 0.1));
    PetscCall(SetValues(t, host.A, PETSC_FALSE, 2, 0.1));
    PetscCall(Numeric(t, factor, &f));
    PetscCall(Numeric(t, factor, &host));
  }
  PetscCall(Destroy(&f));
  PetscCall(Destroy(&host));
  PetscFunctionReturn(PETSC_SUCCESS);
}

int main(int argc, char **args)
{
  const MatFactorType factors[] = {MAT_FACTOR_LU, MAT_FACTOR_CHOLESKY, MAT_FACTOR_ILU, MAT_FACTOR_ICC};
  char                type[64] = MATAIJTCU, dense[64] = MATSEQDENSE, order[64] = MATORDERINGNATURAL;
  PetscInt            levels = 0;
  Test                t      = {.type = type, .dense = dense, .n = 9, .order = order};

  PetscFunctionBeginUser;
  PetscCall(PetscInitialize(&argc, &args, NULL, help));
  PetscCall(PetscDLLibraryRegister_petscaijtcu());
  PetscCall(PetscOptionsGetString(NULL, NULL, "-mat_type", type, sizeof(type), NULL));
  PetscCall(PetscOptionsGetString(NULL, NULL, "-dense_type", dense, sizeof(dense), NULL));
  PetscCall(PetscOptionsGetString(NULL, NULL, "-order", order, sizeof(order), NULL));
  PetscCall(PetscOptionsGetInt(NULL, NULL, "-n", &t.n, NULL));
  PetscCall(PetscOptionsGetInt(NULL, NULL, "-levels", &levels, NULL));
  PetscCall(MatFactorInfoInitialize(&t.info));
  t.info.fill   = 5;
  t.info.levels = levels;
  PetscCall(TestPackage(&t, MAT_FACTOR_LU, NULL));
  PetscCall(TestPackage(&t, MAT_FACTOR_LU, MATSOLVERPETSC));
  PetscCall(TestPackage(&t, MAT_FACTOR_ILU, MATSOLVERPETSC));
  t.bound = PETSC_TRUE;
  PetscCall(TestPackage(&t, MAT_FACTOR_LU, NULL));
  PetscCall(TestPackage(&t, MAT_FACTOR_ILU, NULL));
  PetscCall(TestFactor(&t, MAT_FACTOR_CHOLESKY));
  PetscCall(TestFactor(&t, MAT_FACTOR_ICC));
  t.bound = PETSC_FALSE;
  for (size_t i = 0; i < PETSC_STATIC_ARRAY_LENGTH(factors); i++) PetscCall(TestFactor(&t, factors[i]));
  PetscCall(PetscFinalize());
  return 0;
}

/*TEST

  test:
    suffix: 1
    output_file: output/empty.out
    args: -levels {{0 1}} -order {{rcm nd}}

  testset: # PETSc's ILU(0) leaves functions of an aijcusparse composed with its factor, which -checkfunctionlist tells
    output_file: output/empty.out
    requires: cuda
    args: -levels {{0 1}} -order {{natural rcm nd}}
    filter: sed -e "/function name: MatProductSetFromOptions_seqaijcusparse/d" -e "/function name: MatCUSPARSE/d" -e "/function name: MatSeqAIJCopySubArray_C/d"

    test:
      suffix: device
      args: -dense_type densecuda

    test:
      suffix: device_host
      args: -n 4

    test:
      suffix: device_large
      args: -dense_type densecuda -n 60

TEST*/
