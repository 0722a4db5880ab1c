static char help[] = "Sampled products S .* (X Y^T) against sums over formulas for the entries. Prints on error only.\n\n";

#include <petscaijtcu.h>
#include <math.h>
#include <petsc/private/petscimpl.h> /* PetscObjectStateGet() */

static PetscScalar Left(PetscInt i, PetscInt l, PetscInt round)
{
  return (PetscScalar)((i * 7 + l * 3 + round) % 11 - 5);
}

static PetscScalar Right(PetscInt j, PetscInt l)
{
  return (PetscScalar)((j * 5 + l * 13) % 23 - 11);
}

static PetscScalar Entry(PetscInt i, PetscInt j)
{
  return (PetscScalar)((i + 3 * j) % 4); /* some are stored zeros */
}

static char dense_type[64] = MATDENSE;

/* X if other is false. The leading dimension is larger than the number of local rows */
static PetscErrorCode Dense(PetscInt m, PetscInt k, PetscBool other, PetscInt round, PetscInt nan, Mat *D)
{
  PetscScalar *a;
  PetscInt     r0, r1, lda;

  PetscFunctionBegin;
  PetscCall(MatCreate(PETSC_COMM_WORLD, D));
  PetscCall(MatSetSizes(*D, m, PETSC_DECIDE, PETSC_DETERMINE, k));
  PetscCall(MatSetType(*D, MATDENSE));
  PetscCall(MatDenseSetLDA(*D, m + 3));
  PetscCall(MatSetUp(*D));
  PetscCall(MatGetOwnershipRange(*D, &r0, &r1));
  PetscCall(MatDenseGetLDA(*D, &lda));
  PetscCall(MatDenseGetArrayWrite(*D, &a));
  for (PetscInt l = 0; l < k; l++) {
    for (PetscInt i = r0; i < r1; i++) a[i - r0 + l * lda] = i == nan && !l ? (PetscScalar)NAN : other ? Right(i, l) : Left(i, l, round);
  }
  PetscCall(MatDenseRestoreArrayWrite(*D, &a));
  PetscCall(MatAssemblyBegin(*D, MAT_FINAL_ASSEMBLY));
  PetscCall(MatAssemblyEnd(*D, MAT_FINAL_ASSEMBLY));
  PetscCall(MatConvert(*D, dense_type, MAT_INPLACE_MATRIX, D));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode Check(Mat S, Mat C, PetscInt k, PetscBool scale, PetscInt round, PetscInt nan)
{
  PetscInt  r0, r1, ns, nc, wrong = 0;
  MatType   ts, tc;
  PetscBool same;

  PetscFunctionBegin;
  PetscCall(MatGetType(S, &ts));
  PetscCall(MatGetType(C, &tc));
  PetscCall(PetscStrcmp(ts, tc, &same));
  if (!same) PetscCall(PetscPrintf(PETSC_COMM_WORLD, "type %s, not %s\n", tc, ts));
  PetscCall(MatGetOwnershipRange(S, &r0, &r1));
  for (PetscInt i = r0; i < r1; i++) {
    const PetscInt    *j;
    const PetscScalar *v;

    PetscCall(MatGetRow(S, i, &ns, NULL, NULL));
    PetscCall(MatGetRow(C, i, &nc, &j, &v));
    if (ns != nc) wrong++;
    for (PetscInt e = 0; e < nc; e++) {
      PetscScalar sum = 0;

      for (PetscInt l = 0; l < k; l++) sum += Left(i, l, round) * Right(j[e], l);
      if (scale) sum *= Entry(i, j[e]);
      if (i == nan) wrong += !PetscIsNanScalar(v[e]);
      else wrong += v[e] != sum; /* whole numbers: exact */
    }
    PetscCall(MatRestoreRow(S, i, &ns, NULL, NULL));
    PetscCall(MatRestoreRow(C, i, &nc, &j, &v));
  }
  if (wrong) PetscCall(PetscPrintf(PETSC_COMM_SELF, "%" PetscInt_FMT " wrong entries, k %" PetscInt_FMT ", scale %d, round %" PetscInt_FMT "\n", wrong, k, (int)scale, round));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Operands that do not fit are errors on all processes */
static PetscErrorCode MustFail(PetscErrorCode ierr, PetscErrorCode right, const char what[])
{
  PetscFunctionBegin;
  if (ierr != right) PetscCall(PetscPrintf(PETSC_COMM_SELF, "%s: error %d, not %d\n", what, (int)ierr, (int)right));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode TestErrors(Mat S, PetscInt m, PetscInt n)
{
  Mat         X, Y, Z, C, D = NULL;
  PetscMPIInt rank;

  PetscFunctionBegin;
  PetscCallMPI(MPI_Comm_rank(PETSC_COMM_WORLD, &rank));
  PetscCall(Dense(m, 4, PETSC_FALSE, 0, -1, &X));
  PetscCall(Dense(n, 4, PETSC_TRUE, 0, -1, &Y));
  PetscCall(MatSampledMatTransposeMult(S, X, Y, PETSC_TRUE, MAT_INITIAL_MATRIX, &C));
  PetscCall(PetscPushErrorHandler(PetscReturnErrorHandler, NULL));
  PetscCall(Dense(n, 5, PETSC_TRUE, 0, -1, &Z));
  PetscCall(MustFail(MatSampledMatTransposeMult(S, X, Z, PETSC_TRUE, MAT_INITIAL_MATRIX, &D), PETSC_ERR_ARG_SIZ, "other columns"));
  PetscCall(MatDestroy(&Z));
  PetscCall(Dense(n + !rank, 4, PETSC_TRUE, 0, -1, &Z));
  PetscCall(MustFail(MatSampledMatTransposeMult(S, X, Z, PETSC_TRUE, MAT_INITIAL_MATRIX, &D), PETSC_ERR_ARG_SIZ, "other rows"));
  PetscCall(MatDestroy(&Z));
  PetscCall(MustFail(MatSampledMatTransposeMult(X, X, Y, PETSC_TRUE, MAT_INITIAL_MATRIX, &D), PETSC_ERR_SUP, "a dense S"));
  PetscCall(MustFail(MatSampledMatTransposeMult(S, X, Y, PETSC_TRUE, MAT_REUSE_MATRIX, &S), PETSC_ERR_ARG_IDN, "C is S"));
  PetscCall(MatDuplicate(S, MAT_COPY_VALUES, &Z));
  PetscCall(MatSetOption(Z, MAT_NEW_NONZERO_LOCATION_ERR, PETSC_FALSE));
  if (!rank) PetscCall(MatSetValue(Z, 2, 0, 1, INSERT_VALUES)); /* in a row without entries, on one process only */
  PetscCall(MatAssemblyBegin(Z, MAT_FINAL_ASSEMBLY));
  PetscCall(MatAssemblyEnd(Z, MAT_FINAL_ASSEMBLY));
  PetscCall(MustFail(MatSampledMatTransposeMult(S, X, Y, PETSC_TRUE, MAT_REUSE_MATRIX, &Z), PETSC_ERR_ARG_INCOMP, "another pattern"));
  PetscCall(MatDestroy(&Z));
  PetscCall(MatCreate(PETSC_COMM_WORLD, &Z));
  PetscCall(MatSetSizes(Z, m, n, PETSC_DETERMINE, PETSC_DETERMINE));
  PetscCall(MatSetType(Z, MATAIJ));
  PetscCall(MatSetFromOptions(Z));
  PetscCall(MustFail(MatSampledMatTransposeMult(S, X, Y, PETSC_TRUE, MAT_REUSE_MATRIX, &Z), PETSC_ERR_ARG_WRONGSTATE, "a C without entries"));
  PetscCall(PetscPopErrorHandler());
  PetscCall(Check(S, C, 4, PETSC_TRUE, 0, -1)); /* errors left nothing behind */
  PetscCall(MatDestroy(&Z));
  PetscCall(MatDestroy(&C));
  PetscCall(MatDestroy(&X));
  PetscCall(MatDestroy(&Y));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Values of S that have changed are taken: twice of all gives twice the product, exactly */
static PetscErrorCode TestNewValues(Mat S, PetscInt m, PetscInt n)
{
  Mat       X, Y, C, D;
  PetscReal norm, size;

  PetscFunctionBegin;
  PetscCall(Dense(m, 20, PETSC_FALSE, 0, -1, &X));
  PetscCall(Dense(n, 20, PETSC_TRUE, 0, -1, &Y));
  PetscCall(MatSampledMatTransposeMult(S, X, Y, PETSC_TRUE, MAT_INITIAL_MATRIX, &C));
  PetscCall(MatDuplicate(C, MAT_COPY_VALUES, &D));
  PetscCall(MatScale(S, 2));
  PetscCall(MatSampledMatTransposeMult(S, X, Y, PETSC_TRUE, MAT_REUSE_MATRIX, &C));
  PetscCall(MatAXPY(C, -2, D, SAME_NONZERO_PATTERN));
  PetscCall(MatNorm(C, NORM_FROBENIUS, &norm));
  PetscCall(MatNorm(D, NORM_FROBENIUS, &size));
  if (norm != 0 || size == 0) PetscCall(PetscPrintf(PETSC_COMM_WORLD, "new values of S are not taken: %g of %g\n", (double)norm, (double)size));
  PetscCall(MatDestroy(&C));
  PetscCall(MatDestroy(&D));
  PetscCall(MatDestroy(&X));
  PetscCall(MatDestroy(&Y));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* A^T D is the transpose of A times D, whatever A was before */
static PetscErrorCode CheckTransposed(Mat A, Mat D, const char what[])
{
  Mat       T, P, Q;
  PetscReal norm, size;

  PetscFunctionBegin;
  PetscCall(MatTranspose(A, MAT_INITIAL_MATRIX, &T));
  PetscCall(MatTransposeMatMult(A, D, MAT_INITIAL_MATRIX, PETSC_DETERMINE, &P));
  PetscCall(MatMatMult(T, D, MAT_INITIAL_MATRIX, PETSC_DETERMINE, &Q));
  PetscCall(MatNorm(Q, NORM_FROBENIUS, &size));
  PetscCall(MatAXPY(Q, -1, P, SAME_NONZERO_PATTERN));
  PetscCall(MatNorm(Q, NORM_FROBENIUS, &norm));
  if (norm > 100 * PETSC_MACHINE_EPSILON * size || size == 0) PetscCall(PetscPrintf(PETSC_COMM_WORLD, "%s: the product with the transpose differs by %g of %g\n", what, (double)norm, (double)size));
  PetscCall(MatDestroy(&T));
  PetscCall(MatDestroy(&P));
  PetscCall(MatDestroy(&Q));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* A symmetric matrix gets values that are not: those of a sampled product, or of a softmax */
static PetscErrorCode TestSymmetry(PetscInt m)
{
  Mat      S, X, Y, C;
  PetscInt r0, r1, N;

  PetscFunctionBegin;
  PetscCall(MatCreate(PETSC_COMM_WORLD, &S));
  PetscCall(MatSetSizes(S, m, m, PETSC_DETERMINE, PETSC_DETERMINE));
  PetscCall(MatSetType(S, MATAIJ));
  PetscCall(MatSetFromOptions(S));
  PetscCall(MatSetUp(S));
  PetscCall(MatGetSize(S, &N, NULL));
  PetscCall(MatGetOwnershipRange(S, &r0, &r1));
  for (PetscInt i = r0; i < r1; i++) {
    for (PetscInt j = PetscMax(i - 2, 0); j < PetscMin(i + 3, N); j++) PetscCall(MatSetValue(S, i, j, (PetscScalar)((i + j) % 5 + 1), INSERT_VALUES));
  }
  PetscCall(MatAssemblyBegin(S, MAT_FINAL_ASSEMBLY));
  PetscCall(MatAssemblyEnd(S, MAT_FINAL_ASSEMBLY));
  PetscCall(MatSetOption(S, MAT_SYMMETRIC, PETSC_TRUE));
  PetscCall(MatSetOption(S, MAT_SYMMETRY_ETERNAL, PETSC_TRUE));
  PetscCall(Dense(m, 5, PETSC_FALSE, 0, -1, &X));
  PetscCall(Dense(m, 5, PETSC_TRUE, 0, -1, &Y));
  PetscCall(MatDuplicate(S, MAT_COPY_VALUES, &C));
  PetscCall(CheckTransposed(C, X, "before"));
  PetscCall(MatSampledMatTransposeMult(S, X, Y, PETSC_TRUE, MAT_REUSE_MATRIX, &C));
  PetscCall(CheckTransposed(C, X, "a sampled product"));
  PetscCall(MatDestroy(&C));
  if (!PetscDefined(USE_COMPLEX)) {
    PetscCall(MatDuplicate(S, MAT_COPY_VALUES, &C));
    PetscCall(MatSampledSoftmax(C));
    PetscCall(CheckTransposed(C, X, "a softmax"));
    PetscCall(MatDestroy(&C));
  }
  PetscCall(MatDestroy(&S));
  PetscCall(MatDestroy(&X));
  PetscCall(MatDestroy(&Y));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* A C, and one of two operands of a map, that are bound to the host while S is not, and then are not any more */
static PetscErrorCode TestBound(Mat S, PetscInt m, PetscInt n)
{
  Mat X, Y, C, D;

  PetscFunctionBegin;
  PetscCall(Dense(n, 5, PETSC_TRUE, 0, -1, &Y));
  PetscCall(Dense(m, 5, PETSC_FALSE, 0, -1, &X));
  PetscCall(MatSampledMatTransposeMult(S, X, Y, PETSC_TRUE, MAT_INITIAL_MATRIX, &C));
  PetscCall(MatDuplicate(C, MAT_COPY_VALUES, &D));
  PetscCall(MatDestroy(&X));
  for (PetscInt round = 1; round < 3; round++) {
    PetscCall(MatBindToCPU(C, (PetscBool)(round == 1)));
    PetscCall(Dense(m, 5, PETSC_FALSE, round, -1, &X));
    PetscCall(MatSampledMatTransposeMult(S, X, Y, PETSC_TRUE, MAT_REUSE_MATRIX, &C));
    PetscCall(Check(S, C, 5, PETSC_TRUE, round, -1));
    if (!PetscDefined(USE_COMPLEX)) PetscCall(MatSampledLeakyReLUGradient(C, 1, D));
    if (!PetscDefined(USE_COMPLEX)) PetscCall(MatSampledLeakyReLUGradient(D, 1, C));
    PetscCall(Check(S, C, 5, PETSC_TRUE, round, -1));
    PetscCall(Check(S, D, 5, PETSC_TRUE, 0, -1));
    PetscCall(MatDestroy(&X));
  }
  PetscCall(MatDestroy(&C));
  PetscCall(MatDestroy(&D));
  PetscCall(MatDestroy(&Y));
  PetscFunctionReturn(PETSC_SUCCESS);
}

int main(int argc, char **argv)
{
  const PetscInt ks[] = {1, 3, 32, 515};
  Mat            S, X, Y, C;
  PetscInt       m, n, r0, r1, M, N;
  PetscMPIInt    rank;
  char           expect[16];
  PetscBool      set;

  PetscCall(PetscInitialize(&argc, &argv, NULL, help));
  PetscCall(PetscDLLibraryRegister_petscaijtcu());
  PetscCallMPI(MPI_Comm_rank(PETSC_COMM_WORLD, &rank));
  PetscCall(PetscOptionsGetString(NULL, NULL, "-dense_type", dense_type, sizeof(dense_type), NULL));
  m = rank == 1 ? 0 : 23; /* no rows on a rank */
  n = 17 + rank;
  PetscCall(MatCreate(PETSC_COMM_WORLD, &S));
  PetscCall(MatSetSizes(S, m, n, PETSC_DETERMINE, PETSC_DETERMINE));
  PetscCall(MatSetType(S, MATAIJ));
  PetscCall(MatSetFromOptions(S));
  PetscCall(MatSetUp(S));
  PetscCall(MatGetSize(S, &M, &N));
  PetscCall(MatGetOwnershipRange(S, &r0, &r1));
  for (PetscInt i = r0; i < r1; i++) {
    if (i % 5 == 2) continue; /* empty rows */
    for (PetscInt e = 0; e < 6; e++) PetscCall(MatSetValue(S, i, (i * 3 + e * 7) % N, Entry(i, (i * 3 + e * 7) % N), INSERT_VALUES));
  }
  PetscCall(MatAssemblyBegin(S, MAT_FINAL_ASSEMBLY));
  PetscCall(MatAssemblyEnd(S, MAT_FINAL_ASSEMBLY));
  for (size_t q = 0; q < PETSC_STATIC_ARRAY_LENGTH(ks); q++) {
    for (PetscInt scale = 0; scale < 2; scale++) {
      PetscObjectState before, after;

      PetscCall(Dense(n, ks[q], PETSC_TRUE, 0, -1, &Y));
      for (PetscInt round = 0; round < 3; round++) { /* the last one has a NaN in a row of X */
        const PetscInt nan = round == 2 ? 3 : -1;

        PetscCall(Dense(m, ks[q], PETSC_FALSE, round, nan, &X));
        if (round) PetscCall(PetscObjectStateGet((PetscObject)C, &before));
        PetscCall(MatSampledMatTransposeMult(S, X, Y, (PetscBool)scale, round ? MAT_REUSE_MATRIX : MAT_INITIAL_MATRIX, &C));
        if (round) {
          PetscCall(PetscObjectStateGet((PetscObject)C, &after));
          if (after == before) PetscCall(PetscPrintf(PETSC_COMM_WORLD, "the state is the same\n"));
        }
        PetscCall(Check(S, C, ks[q], (PetscBool)scale, round, nan));
        PetscCall(MatDestroy(&X));
      }
      PetscCall(MatDestroy(&C));
      PetscCall(MatDestroy(&Y));
    }
  }
  PetscCall(TestSymmetry(m));
  PetscCall(TestBound(S, m, n)); /* before entries of S change */
  PetscCall(TestErrors(S, m, n));
  PetscCall(TestNewValues(S, m, n));
  PetscCall(PetscOptionsGetString(NULL, NULL, "-expect", expect, sizeof(expect), &set));
  if (set) { /* the path of all products */
    MatAIJTCUCounts counts;
    PetscBool       tcu;

    PetscCall(PetscStrcmp(expect, "tcu", &tcu));
    PetscCall(MatAIJTCUGetCounts(S, &counts));
    if (!(tcu ? counts.sampled_tcu : counts.sampled_csr) || (tcu ? counts.sampled_csr : counts.sampled_tcu)) PetscCall(PetscPrintf(PETSC_COMM_SELF, "%" PetscInt64_FMT " products by bricks, %" PetscInt64_FMT " with CSR\n", counts.sampled_tcu, counts.sampled_csr));
  }
  PetscCall(MatDestroy(&S));
  PetscCall(PetscFinalize());
  return 0;
}

/*TEST

  testset:
    output_file: output/empty.out

    test:
      nsize: {{1 2 3}}
      args: -mat_type {{aij aijtcu}}

    test:
      suffix: cuda
      requires: cuda
      args: -mat_type {{aijcusparse aijtcu}} -dense_type {{dense densecuda}}

    test:
      suffix: cuda_paths
      requires: cuda !complex
      args: -mat_type aijtcu -dense_type densecuda -mat_aijtcu_path tcu -mat_aijtcu_format {{16,32,16,4 8,24,8,4}} -expect tcu

    test: # the format is none that the kernel takes
      suffix: cuda_csr
      requires: cuda !complex
      args: -mat_type aijtcu -dense_type densecuda -mat_aijtcu_path {{tcu csr}} -mat_aijtcu_format 8,8,256,1 -expect csr

    test:
      suffix: cuda_parallel
      requires: cuda
      nsize: {{2 3}}
      args: -mat_type {{aijcusparse aijtcu}} -dense_type {{dense densecuda}} -use_gpu_aware_mpi 0

TEST*/
