static char help[] = "Maps of rows, softmax and leaky ReLU, against sums on the host, and their gradients against differences. Prints on error only.\n\n";

#include <petscaijtcu.h>
#include <math.h>
#if PetscDefined(HAVE_CUDA)
  #include <petscdevice_cuda.h>
#endif

static PetscScalar Entry(PetscInt i, PetscInt j, PetscInt round)
{
  return (PetscScalar)((i * 7 + j * 3 + round * 5) % 13 - 6) / 4;
}

/* A band and a far column, some rows empty, some in one block only */
static PetscErrorCode Create(PetscInt round, Mat *C)
{
  PetscMPIInt rank;
  PetscInt    r0, r1, N;

  PetscFunctionBegin;
  PetscCallMPI(MPI_Comm_rank(PETSC_COMM_WORLD, &rank));
  PetscCall(MatCreate(PETSC_COMM_WORLD, C));
  PetscCall(MatSetSizes(*C, rank == 1 ? 0 : 31, 29 + rank, PETSC_DETERMINE, PETSC_DETERMINE));
  PetscCall(MatSetType(*C, MATAIJ));
  PetscCall(MatSetFromOptions(*C));
  PetscCall(MatSetUp(*C));
  PetscCall(MatGetSize(*C, NULL, &N));
  PetscCall(MatGetOwnershipRange(*C, &r0, &r1));
  for (PetscInt i = r0; i < r1; i++) {
    if (i % 5 == 2) continue;
    for (PetscInt e = 0; e < 1 + i % 9; e++) {
      const PetscInt j = (i * 3 + e * e * 11) % N;

      PetscCall(MatSetValue(*C, i, j, Entry(i, j, round), INSERT_VALUES));
    }
  }
  PetscCall(MatAssemblyBegin(*C, MAT_FINAL_ASSEMBLY));
  PetscCall(MatAssemblyEnd(*C, MAT_FINAL_ASSEMBLY));
  PetscFunctionReturn(PETSC_SUCCESS);
}

typedef enum {
  SOFTMAX,
  SOFTMAX_GRADIENT,
  LEAKY,
  LEAKY_GRADIENT
} Map;

#define SLOPE 0.25

/* C was made of entries of round 0. A gradient was made of those of round 1 */
static PetscErrorCode Check(Mat C, Map map)
{
  const PetscReal tol = 100 * PETSC_MACHINE_EPSILON;
  PetscInt        r0, r1, wrong = 0;

  PetscFunctionBegin;
  PetscCall(MatGetOwnershipRange(C, &r0, &r1));
  for (PetscInt i = r0; i < r1; i++) {
    const PetscInt    *j;
    const PetscScalar *v;
    PetscInt           n;
    PetscReal          sum = 0, dot = 0;

    PetscCall(MatGetRow(C, i, &n, &j, &v));
    for (PetscInt e = 0; e < n; e++) sum += PetscExpReal(PetscRealPart(Entry(i, j[e], 0)));
    for (PetscInt e = 0; e < n; e++) dot += PetscExpReal(PetscRealPart(Entry(i, j[e], 0))) / sum * PetscRealPart(Entry(i, j[e], 1));
    for (PetscInt e = 0; e < n; e++) {
      const PetscReal c = PetscRealPart(Entry(i, j[e], 0)), d = PetscRealPart(Entry(i, j[e], 1)), p = PetscExpReal(c) / sum;
      const PetscReal y = map == SOFTMAX ? p : map == SOFTMAX_GRADIENT ? p * (d - dot) : (map == LEAKY ? c : d) * (c > 0 ? 1 : (PetscReal)SLOPE);

      wrong += PetscAbsReal(PetscRealPart(v[e]) - y) > tol;
    }
    PetscCall(MatRestoreRow(C, i, &n, &j, &v));
  }
  if (wrong) PetscCall(PetscPrintf(PETSC_COMM_SELF, "%" PetscInt_FMT " wrong entries, map %d\n", wrong, (int)map));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* The sum of all entries of C times those of W */
static PetscErrorCode Inner(Mat C, Mat W, PetscReal *x)
{
  PetscInt r0, r1;

  PetscFunctionBegin;
  *x = 0;
  PetscCall(MatGetOwnershipRange(C, &r0, &r1));
  for (PetscInt i = r0; i < r1; i++) {
    const PetscScalar *v, *w;
    PetscInt           n;

    PetscCall(MatGetRow(C, i, &n, NULL, &v));
    PetscCall(MatGetRow(W, i, NULL, NULL, &w));
    for (PetscInt e = 0; e < n; e++) *x += PetscRealPart(v[e] * w[e]);
    PetscCall(MatRestoreRow(W, i, NULL, NULL, &w));
    PetscCall(MatRestoreRow(C, i, &n, NULL, &v));
  }
  PetscCallMPI(MPIU_Allreduce(MPI_IN_PLACE, x, 1, MPIU_REAL, MPIU_SUM, PETSC_COMM_WORLD));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* softmax(C + h D) - softmax(C - h D) in the direction of W, and the gradient of W in the direction of D */
static PetscErrorCode Differences(void)
{
  const PetscReal h = PetscSqrtReal(PetscSqrtReal(PETSC_MACHINE_EPSILON));
  Mat             C, D, W, P;
  PetscReal       plus, minus, gradient;

  PetscFunctionBegin;
  PetscCall(Create(0, &C));
  PetscCall(Create(2, &D));
  PetscCall(Create(1, &W));
  PetscCall(MatDuplicate(C, MAT_COPY_VALUES, &P));
  PetscCall(MatAXPY(P, h, D, SAME_NONZERO_PATTERN));
  PetscCall(MatSampledSoftmax(P));
  PetscCall(Inner(P, W, &plus));
  PetscCall(MatCopy(C, P, SAME_NONZERO_PATTERN));
  PetscCall(MatAXPY(P, -h, D, SAME_NONZERO_PATTERN));
  PetscCall(MatSampledSoftmax(P));
  PetscCall(Inner(P, W, &minus));
  PetscCall(MatCopy(C, P, SAME_NONZERO_PATTERN));
  PetscCall(MatSampledSoftmax(P));
  PetscCall(MatSampledSoftmaxGradient(P, W));
  PetscCall(Inner(W, D, &gradient));
  if (PetscAbsReal((plus - minus) / (2 * h) - gradient) > 20 * h * h) PetscCall(PetscPrintf(PETSC_COMM_WORLD, "gradient %g, differences %g\n", (double)gradient, (double)((plus - minus) / (2 * h))));
  PetscCall(MatDestroy(&C));
  PetscCall(MatDestroy(&D));
  PetscCall(MatDestroy(&W));
  PetscCall(MatDestroy(&P));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode Copy(const MatSampledRows *rows, void *to, const void *from, size_t bytes)
{
  PetscFunctionBegin;
  if (PetscMemTypeHost(rows->mem)) PetscCall(PetscMemcpy(to, from, bytes));
#if PetscDefined(HAVE_CUDA)
  else {
    PetscCallCUDA(cudaMemcpyAsync(to, from, bytes, cudaMemcpyDefault, (cudaStream_t)rows->stream));
    PetscCallCUDA(cudaStreamSynchronize((cudaStream_t)rows->stream));
  }
#endif
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Negate the values and count rows with entries, wherever the arrays are */
static PetscErrorCode Negate(const MatSampledRows *rows, void *ctx)
{
  PetscInt *full = (PetscInt *)ctx, *rowptr[2];

  PetscFunctionBegin;
  for (PetscInt b = 0; b < rows->blocks; b++) {
    PetscScalar *v;

    PetscCall(PetscMalloc1(rows->entries[b], &v));
    PetscCall(PetscCalloc1(rows->nrows + 1, &rowptr[b]));
    if (rows->entries[b]) {
      PetscCall(Copy(rows, rowptr[b], rows->rowptr[b], (size_t)(rows->nrows + 1) * sizeof(PetscInt)));
      PetscCall(Copy(rows, v, rows->values[b], (size_t)rows->entries[b] * sizeof(*v)));
      for (PetscInt e = 0; e < rows->entries[b]; e++) v[e] = -v[e];
      PetscCall(Copy(rows, rows->values[b], v, (size_t)rows->entries[b] * sizeof(*v)));
    }
    for (PetscInt i = 0; i < rows->nrows; i++) *full += rowptr[b][i + 1] > rowptr[b][i] && !(b && rowptr[0][i + 1] > rowptr[0][i]);
    PetscCall(PetscFree(v));
  }
  for (PetscInt b = 0; b < rows->blocks; b++) PetscCall(PetscFree(rowptr[b]));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode Refuse(const MatSampledRows *rows, void *ctx)
{
  (void)rows, (void)ctx;
  return PETSC_ERR_USER;
}

static PetscErrorCode CheckApply(void)
{
  Mat       C, D;
  PetscInt  full = 0, r0, r1;
  PetscReal norm;

  PetscFunctionBegin;
  PetscCall(Create(0, &C));
  PetscCall(Create(0, &D));
  PetscCall(PetscPushErrorHandler(PetscReturnErrorHandler, NULL));
  if (MatSampledApply(C, Refuse, NULL) != PETSC_ERR_USER) PetscCall(PetscPrintf(PETSC_COMM_SELF, "MatSampledApply(): a function that fails is no error\n"));
  PetscCall(PetscPopErrorHandler());
  PetscCall(MatSampledApply(C, Negate, &full)); /* the failure left nothing behind */
  PetscCall(MatAXPY(D, 1, C, SAME_NONZERO_PATTERN));
  PetscCall(MatNorm(D, NORM_FROBENIUS, &norm));
  PetscCall(MatGetOwnershipRange(C, &r0, &r1));
  for (PetscInt i = r0; i < r1; i++) full -= i % 5 != 2;
  if (norm != 0 || full) PetscCall(PetscPrintf(PETSC_COMM_SELF, "MatSampledApply(): norm %g, %" PetscInt_FMT " rows too many\n", (double)norm, full));
  PetscCall(MatDestroy(&C));
  PetscCall(MatDestroy(&D));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*
   Rows that have entries which are not finite: one is negative infinity, one positive infinity, one NaN, all are
   negative infinity. And one with finite numbers that are far from zero
*/
static PetscErrorCode CheckNotFinite(void)
{
  enum {
    ROWS = 5,
    COLS = 3
  };
  const PetscReal inf = (PetscReal)INFINITY, nan = (PetscReal)NAN, far = PETSC_MAX_REAL / 2;
  const PetscReal c[ROWS][COLS] = {
    {1,    -inf, 1   },
    {1,    inf,  2   },
    {1,    nan,  2   },
    {-inf, -inf, -inf},
    {-far, -far, -far * 2}
  };
  const PetscReal p[ROWS][COLS] = {
    {0.5,  0,    0.5 },
    {nan,  nan,  nan },
    {nan,  nan,  nan },
    {nan,  nan,  nan },
    {0.5,  0.5,  0   }
  };
  PetscInt r0, r1, wrong = 0;
  Mat      C;

  PetscFunctionBegin;
  PetscCall(MatCreate(PETSC_COMM_WORLD, &C));
  PetscCall(MatSetSizes(C, PETSC_DECIDE, PETSC_DECIDE, ROWS, COLS));
  PetscCall(MatSetType(C, MATAIJ));
  PetscCall(MatSetFromOptions(C));
  PetscCall(MatSetUp(C));
  PetscCall(MatGetOwnershipRange(C, &r0, &r1));
  for (PetscInt i = r0; i < r1; i++) {
    for (PetscInt j = 0; j < COLS; j++) PetscCall(MatSetValue(C, i, j, c[i][j], INSERT_VALUES));
  }
  PetscCall(MatAssemblyBegin(C, MAT_FINAL_ASSEMBLY));
  PetscCall(MatAssemblyEnd(C, MAT_FINAL_ASSEMBLY));
  PetscCall(MatSampledSoftmax(C));
  for (PetscInt i = r0; i < r1; i++) {
    const PetscScalar *v;
    const PetscInt    *j;
    PetscInt           n;

    PetscCall(MatGetRow(C, i, &n, &j, &v));
    for (PetscInt e = 0; e < n; e++) wrong += PetscIsNanReal(p[i][j[e]]) ? !PetscIsNanScalar(v[e]) : PetscRealPart(v[e]) != p[i][j[e]];
    wrong += n != COLS;
    PetscCall(MatRestoreRow(C, i, &n, &j, &v));
  }
  if (wrong) PetscCall(PetscPrintf(PETSC_COMM_SELF, "%" PetscInt_FMT " wrong entries in rows that are not finite\n", wrong));
  PetscCall(MatDestroy(&C));
  PetscFunctionReturn(PETSC_SUCCESS);
}

int main(int argc, char **argv)
{
  Mat C, D;

  PetscCall(PetscInitialize(&argc, &argv, NULL, help));
  PetscCall(PetscDLLibraryRegister_petscaijtcu());
  PetscCall(Create(0, &C));
  PetscCall(MatSampledSoftmax(C));
  PetscCall(Check(C, SOFTMAX));
  for (PetscInt k = 0; k < 2; k++) { /* the second time the patterns are known */
    PetscCall(Create(1, &D));
    PetscCall(MatSampledSoftmaxGradient(C, D));
    PetscCall(Check(D, SOFTMAX_GRADIENT));
    PetscCall(MatDestroy(&D));
  }
  PetscCall(MatDestroy(&C));
  PetscCall(Create(0, &C));
  PetscCall(Create(1, &D));
  PetscCall(MatSampledLeakyReLUGradient(C, SLOPE, D));
  PetscCall(Check(D, LEAKY_GRADIENT));
  PetscCall(MatSampledLeakyReLU(C, SLOPE));
  PetscCall(Check(C, LEAKY));
  PetscCall(PetscPushErrorHandler(PetscReturnErrorHandler, NULL));
  if (MatSampledSoftmaxGradient(C, C) != PETSC_ERR_ARG_IDN) PetscCall(PetscPrintf(PETSC_COMM_WORLD, "one matrix for two is no error\n"));
  PetscCall(PetscPopErrorHandler());
  PetscCall(MatDestroy(&C));
  PetscCall(MatDestroy(&D));
  PetscCall(CheckApply());
  PetscCall(Differences());
  PetscCall(CheckNotFinite());
  PetscCall(PetscFinalize());
  return 0;
}

/*TEST

  testset:
    requires: !complex
    output_file: output/empty.out

    test:
      nsize: {{1 2 3}}
      args: -mat_type {{aij aijtcu}}

    test:
      suffix: cuda
      requires: cuda
      nsize: {{1 3}}
      args: -mat_type {{aijcusparse aijtcu}} -use_gpu_aware_mpi 0

TEST*/
