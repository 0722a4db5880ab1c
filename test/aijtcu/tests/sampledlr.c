static char help[] = "The operator S .* (X Y^T) against its entries, and in a solve. Prints on error only.\n\n";

#include <petscaijtcu.h>
#include <petscksp.h>

#define ROWS    20 /* on each process */
#define COLUMNS 6

static PetscScalar Operand(PetscInt i, PetscInt l, PetscInt round)
{
  return (PetscScalar)((i * 7 + l * 3 + round) % 11 - 5) / 8 + (l == 0 ? 2 : 0);
}

static PetscScalar Entry(PetscInt i, PetscInt j)
{
  return i == j ? 40 : (PetscScalar)((i + 3 * j) % 4) / 2;
}

static PetscErrorCode Fill(Mat D, PetscInt round)
{
  PetscInt r0, r1, N;

  PetscFunctionBegin;
  PetscCall(MatGetOwnershipRange(D, &r0, &r1));
  PetscCall(MatGetSize(D, NULL, &N));
  for (PetscInt i = r0; i < r1; i++) {
    for (PetscInt l = 0; l < N; l++) PetscCall(MatSetValue(D, i, l, Operand(i, l, round), INSERT_VALUES));
  }
  PetscCall(MatAssemblyBegin(D, MAT_FINAL_ASSEMBLY));
  PetscCall(MatAssemblyEnd(D, MAT_FINAL_ASSEMBLY));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode Dense(const char type[], PetscInt N, PetscInt round, Mat *D)
{
  PetscFunctionBegin;
  PetscCall(MatCreate(PETSC_COMM_WORLD, D));
  PetscCall(MatSetSizes(*D, ROWS, PETSC_DECIDE, PETSC_DETERMINE, N));
  PetscCall(MatSetType(*D, type));
  PetscCall(MatSetUp(*D));
  PetscCall(Fill(*D, round));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* The same operator with its entries computed one by one */
static PetscErrorCode Explicit(Mat S, PetscInt k, PetscInt xround, PetscInt yround, PetscBool scale, PetscBool softmax, Mat *E)
{
  PetscInt r0, r1;

  PetscFunctionBegin;
  PetscCall(MatConvert(S, MATAIJ, MAT_INITIAL_MATRIX, E));
  PetscCall(MatGetOwnershipRange(S, &r0, &r1));
  for (PetscInt i = r0; i < r1; i++) {
    const PetscInt    *j;
    const PetscScalar *s;
    PetscInt           n;
    PetscScalar        entry[ROWS] = {0}, all = 0;
    PetscReal          most = PETSC_NINFINITY;

    PetscCall(MatGetRow(S, i, &n, &j, &s));
    for (PetscInt e = 0; e < n; e++) {
      for (PetscInt l = 0; l < k; l++) entry[e] += Operand(i, l, xround) * Operand(j[e], l, yround);
      if (scale) entry[e] *= s[e];
      most = PetscMax(most, PetscRealPart(entry[e]));
    }
    for (PetscInt e = 0; softmax && e < n; e++) all += entry[e] = PetscExpScalar(entry[e] - most);
    for (PetscInt e = 0; e < n; e++) PetscCall(MatSetValue(*E, i, j[e], softmax ? entry[e] / all : entry[e], INSERT_VALUES));
    PetscCall(MatRestoreRow(S, i, &n, &j, &s));
  }
  PetscCall(MatAssemblyBegin(*E, MAT_FINAL_ASSEMBLY));
  PetscCall(MatAssemblyEnd(*E, MAT_FINAL_ASSEMBLY));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode Near(Mat A, Mat B, const char what[])
{
  PetscReal norm, size;
  Mat       D;

  PetscFunctionBegin;
  PetscCall(MatConvert(A, MATDENSE, MAT_INITIAL_MATRIX, &D));
  PetscCall(MatNorm(D, NORM_FROBENIUS, &size));
  PetscCall(MatAXPY(D, -1, B, SAME_NONZERO_PATTERN));
  PetscCall(MatNorm(D, NORM_FROBENIUS, &norm));
  if (norm > 50 * PETSC_MACHINE_EPSILON * size || size == 0) PetscCall(PetscPrintf(PETSC_COMM_WORLD,
    "%s: differs by %g of %g\n", what, (double)norm, (double)size));
  PetscCall(MatDestroy(&D));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Products of M and its transpose with Z are those of E */
static PetscErrorCode Check(Mat M, Mat E, Mat Z)
{
  Mat       R, right;
  Vec       x, y, wanted, back;
  PetscReal norm, size;

  PetscFunctionBegin;
  for (PetscInt k = 0; k < 2; k++) {
    PetscCall(MatMatMult(M, Z, MAT_INITIAL_MATRIX, PETSC_DETERMINE, &R));
    PetscCall(MatMatMult(M, Z, MAT_REUSE_MATRIX, PETSC_DETERMINE, &R));
    PetscCall(MatMatMult(E, Z, MAT_INITIAL_MATRIX, PETSC_DETERMINE, &right));
    PetscCall(Near(R, right, "product"));
    PetscCall(MatDestroy(&R));
    PetscCall(MatDestroy(&right));
  }
  PetscCall(MatTransposeMatMult(M, Z, MAT_INITIAL_MATRIX, PETSC_DETERMINE, &R));
  PetscCall(MatTransposeMatMult(E, Z, MAT_INITIAL_MATRIX, PETSC_DETERMINE, &right));
  PetscCall(Near(R, right, "transposed product"));
  PetscCall(MatDestroy(&R));
  PetscCall(MatDestroy(&right));
  PetscCall(MatCreateVecs(M, &x, &y));
  PetscCall(VecDuplicate(y, &wanted));
  PetscCall(VecSet(x, 0.5));
  PetscCall(MatMult(M, x, y));
  PetscCall(MatMult(E, x, wanted));
  PetscCall(VecNorm(wanted, NORM_2, &size));
  PetscCall(VecAXPY(y, -1, wanted));
  PetscCall(VecNorm(y, NORM_2, &norm));
  if (norm > 50 * PETSC_MACHINE_EPSILON * size) PetscCall(PetscPrintf(PETSC_COMM_WORLD,
    "MatMult() differs by %g of %g\n", (double)norm, (double)size));
  PetscCall(VecDuplicate(x, &back));
  PetscCall(MatMultTranspose(M, wanted, x));
  PetscCall(MatMultTranspose(E, wanted, back));
  PetscCall(VecNorm(back, NORM_2, &size));
  PetscCall(VecAXPY(x, -1, back));
  PetscCall(VecNorm(x, NORM_2, &norm));
  if (norm > 50 * PETSC_MACHINE_EPSILON * size) PetscCall(PetscPrintf(PETSC_COMM_WORLD,
    "MatMultTranspose() differs by %g of %g\n", (double)norm, (double)size));
  PetscCall(VecDestroy(&back));
  PetscCall(VecDestroy(&x));
  PetscCall(VecDestroy(&y));
  PetscCall(VecDestroy(&wanted));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* M x = b by a method that wants products, and the diagonal or its block */
static PetscErrorCode Solve(Mat M, PCType type)
{
  KSP                ksp;
  PC                 pc;
  Vec                x, b;
  PetscReal          error;
  KSPConvergedReason reason;

  PetscFunctionBegin;
  PetscCall(MatCreateVecs(M, &x, &b));
  PetscCall(VecSet(x, 1));
  PetscCall(MatMult(M, x, b));
  PetscCall(KSPCreate(PETSC_COMM_WORLD, &ksp));
  PetscCall(KSPSetOperators(ksp, M, M));
  PetscCall(KSPSetType(ksp, KSPGMRES));
  PetscCall(KSPGetPC(ksp, &pc));
  PetscCall(PCSetType(pc, type));
  PetscCall(KSPSetTolerances(ksp, PetscSqrtReal(PETSC_MACHINE_EPSILON), PETSC_CURRENT, PETSC_CURRENT, PETSC_CURRENT));
  PetscCall(KSPSolve(ksp, b, x));
  PetscCall(KSPGetConvergedReason(ksp, &reason));
  PetscCall(VecShift(x, -1));
  PetscCall(VecNorm(x, NORM_INFINITY, &error));
  if (reason < 0 || error > 1e-2) PetscCall(PetscPrintf(PETSC_COMM_WORLD, "solve with %s: %s, error %g\n", type,
    KSPConvergedReasons[reason], (double)error));
  PetscCall(KSPDestroy(&ksp));
  PetscCall(VecDestroy(&x));
  PetscCall(VecDestroy(&b));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* With -expect_fused the first of such products after a change is made in one pass, and no other */
static PetscErrorCode CheckFused(Mat S, PetscInt expected)
{
  MatAIJTCUCounts counts;
  PetscBool       fused, set;

  PetscFunctionBegin;
  PetscCall(PetscOptionsGetBool(NULL, NULL, "-expect_fused", &fused, &set));
  if (!set) PetscFunctionReturn(PETSC_SUCCESS);
  if (!fused) expected = 0;
  PetscCall(MatAIJTCUGetCounts(S, &counts));
  if (counts.fused != expected) PetscCall(PetscPrintf(PETSC_COMM_SELF,
    "%" PetscInt64_FMT " products in one pass, not %" PetscInt_FMT "\n", counts.fused, expected));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* The first product is one with the transpose: S^T + a S has a symmetric pattern, and with a = 1 symmetric values */
static PetscErrorCode CheckTransposed(Mat S, Mat X, Mat Y, Mat Z)
{
  const struct {
    PetscScalar a;
    MatOption   known, eternal;
    PetscBool   scale, fused;
  } cases[] = {
    {1, MAT_SYMMETRIC,              MAT_SYMMETRY_ETERNAL,            PETSC_TRUE,  PETSC_TRUE },
    {2, MAT_STRUCTURALLY_SYMMETRIC, MAT_STRUCTURAL_SYMMETRY_ETERNAL, PETSC_FALSE, PETSC_TRUE },
    {2, MAT_STRUCTURALLY_SYMMETRIC, MAT_STRUCTURAL_SYMMETRY_ETERNAL, PETSC_TRUE,  PETSC_FALSE},
    {1, MAT_SYMMETRIC,              MAT_ROW_ORIENTED,                PETSC_TRUE,  PETSC_FALSE}, /* it may be stale */
    {2, MAT_ROW_ORIENTED,           MAT_ROW_ORIENTED,                PETSC_FALSE, PETSC_FALSE}  /* nothing is known */
  };

  PetscFunctionBegin;
  for (size_t c = 0; c < PETSC_STATIC_ARRAY_LENGTH(cases); c++) {
    Mat T, M, E, R, right;

    PetscCall(MatTranspose(S, MAT_INITIAL_MATRIX, &T));
    PetscCall(MatAXPY(T, cases[c].a, S, DIFFERENT_NONZERO_PATTERN));
    PetscCall(MatSetFromOptions(T));
    PetscCall(MatSetOption(T, cases[c].known, PETSC_TRUE));
    PetscCall(MatSetOption(T, cases[c].eternal, PETSC_TRUE));
    PetscCall(MatCreateSampledLR(T, X, Y, cases[c].scale, &M));
    PetscCall(Explicit(T, COLUMNS, 0, 1, cases[c].scale, PETSC_FALSE, &E));
    PetscCall(MatTransposeMatMult(E, Z, MAT_INITIAL_MATRIX, PETSC_DETERMINE, &right));
    PetscCall(MatTransposeMatMult(M, Z, MAT_INITIAL_MATRIX, PETSC_DETERMINE, &R));
    PetscCall(Near(R, right, "first product with the transpose"));
    PetscCall(MatTransposeMatMult(M, Z, MAT_REUSE_MATRIX, PETSC_DETERMINE, &R));
    PetscCall(Near(R, right, "second product with the transpose"));
    PetscCall(CheckFused(T, cases[c].fused));
    PetscCall(MatDestroy(&R));
    PetscCall(MatDestroy(&right));
    PetscCall(MatDestroy(&E));
    PetscCall(MatDestroy(&M));
    PetscCall(MatDestroy(&T));
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Blocks of S and of a dense matrix that are written alone, and a duplicate that becomes a softmax */
static PetscErrorCode CheckFollows(Mat S, Mat X, Mat Y, Mat Z)
{
  Mat             M, N, E, block, off;
  const PetscInt *garray;
  PetscMPIInt     size;

  PetscFunctionBegin;
  PetscCallMPI(MPI_Comm_size(PETSC_COMM_WORLD, &size));
  PetscCall(MatCreateSampledLR(S, X, Y, PETSC_TRUE, &M));
  PetscCall(Explicit(S, COLUMNS, 0, 1, PETSC_TRUE, PETSC_FALSE, &E));
  PetscCall(Check(M, E, Z));
  PetscCall(MatDenseGetLocalMatrix(Y, &block));
  PetscCall(MatScale(block, 2));
  PetscCall(MatScale(E, 2));
  PetscCall(Check(M, E, Z));
  PetscCall(MatScale(block, 0.5));
  PetscCall(MatDestroy(&E));
  if (size > 1) PetscCall(MatMPIAIJGetSeqAIJ(S, &block, &off, &garray));
  else block = S;
  PetscCall(MatScale(block, 2));
  PetscCall(Explicit(S, COLUMNS, 0, 1, PETSC_TRUE, PETSC_FALSE, &E));
  PetscCall(Check(M, E, Z));
  if (!PetscDefined(USE_COMPLEX)) {
    PetscCall(MatDuplicate(M, MAT_COPY_VALUES, &N));
    PetscCall(MatSampledLRSetSoftmax(N, PETSC_TRUE));
    PetscCall(Check(M, E, Z));
    PetscCall(MatDestroy(&E));
    PetscCall(Explicit(S, COLUMNS, 0, 1, PETSC_TRUE, PETSC_TRUE, &E));
    PetscCall(Check(N, E, Z));
    PetscCall(MatDestroy(&N));
  }
  PetscCall(MatScale(block, 0.5));
  PetscCall(MatDestroy(&E));
  PetscCall(MatDestroy(&M));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* One process alone writes its part of the sparse matrix, of X, of Y; then all know, and nobody waits for ever */
static PetscErrorCode CheckOneWrites(Mat S, Mat X, Mat Y, Mat Z)
{
  Mat             M, E, block[3], off;
  Vec             scale[2];
  const PetscInt *garray;
  PetscMPIInt     size, rank;

  PetscFunctionBegin;
  PetscCallMPI(MPI_Comm_size(PETSC_COMM_WORLD, &size));
  PetscCallMPI(MPI_Comm_rank(PETSC_COMM_WORLD, &rank));
  if (size == 1) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCall(MatMPIAIJGetSeqAIJ(S, &block[0], &off, &garray));
  PetscCall(MatDenseGetLocalMatrix(X, &block[1]));
  PetscCall(MatDenseGetLocalMatrix(Y, &block[2]));
  PetscCall(MatCreateSampledLR(S, X, Y, PETSC_TRUE, &M));
  PetscCall(Explicit(S, COLUMNS, 0, 1, PETSC_TRUE, PETSC_FALSE, &E));
  PetscCall(Check(M, E, Z));
  PetscCall(MatCreateVecs(S, &scale[1], &scale[0]));
  for (PetscInt k = 0; k < 2; k++) PetscCall(VecSet(scale[k], 1));
  for (PetscInt k = 0; k < 3; k++) {
    const PetscBool mine = (PetscBool)(rank == (k + 1) % size);

    if (mine) PetscCall(MatScale(block[k], 2));
    if (k) PetscCall(VecSet(scale[k - 1], mine ? 2 : 1)); /* rows for X, columns for Y */
    PetscCall(MatDestroy(&E));
    PetscCall(Explicit(S, COLUMNS, 0, 1, PETSC_TRUE, PETSC_FALSE, &E));
    PetscCall(MatDiagonalScale(E, scale[0], scale[1]));
    PetscCall(Check(M, E, Z));
  }
  for (PetscInt k = 0; k < 3; k++) {
    if (rank == (k + 1) % size) PetscCall(MatScale(block[k], 0.5));
    if (k) PetscCall(VecDestroy(&scale[k - 1]));
  }
  PetscCall(MatDestroy(&E));
  PetscCall(MatDestroy(&M));
  PetscFunctionReturn(PETSC_SUCCESS);
}

int main(int argc, char **argv)
{
  Mat      S, X, Y, Z, M, E;
  PetscInt r0, r1, N;
  char     type[64] = MATDENSE;
  PetscBool is;

  PetscCall(PetscInitialize(&argc, &argv, NULL, help));
  PetscCall(PetscDLLibraryRegister_petscaijtcu());
  PetscCall(PetscOptionsGetString(NULL, NULL, "-dense_type", type, sizeof(type), NULL));
  PetscCall(MatCreate(PETSC_COMM_WORLD, &S));
  PetscCall(MatSetSizes(S, ROWS, ROWS, PETSC_DETERMINE, PETSC_DETERMINE));
  PetscCall(MatSetType(S, MATAIJ));
  PetscCall(MatSetFromOptions(S));
  PetscCall(MatSetUp(S));
  PetscCall(MatGetSize(S, NULL, &N));
  PetscCall(MatGetOwnershipRange(S, &r0, &r1));
  for (PetscInt i = r0; i < r1; i++) {
    for (PetscInt e = 0; e < 4; e++) PetscCall(MatSetValue(S, i, (i + e * e * 3) % N, Entry(i, (i + e * e * 3) % N), INSERT_VALUES));
  }
  PetscCall(MatAssemblyBegin(S, MAT_FINAL_ASSEMBLY));
  PetscCall(MatAssemblyEnd(S, MAT_FINAL_ASSEMBLY));
  PetscCall(Dense(type, COLUMNS, 0, &X));
  PetscCall(Dense(type, COLUMNS, 1, &Y));
  PetscCall(Dense(type, 5, 2, &Z));
  PetscCall(CheckTransposed(S, X, Y, Z));
  PetscCall(PetscPushErrorHandler(PetscReturnErrorHandler, NULL));
  if (MatCreateSampledLR(S, X, Z, PETSC_TRUE, &M) != PETSC_ERR_ARG_SIZ || M) PetscCall(PetscPrintf(PETSC_COMM_WORLD,
    "operands that do not fit are no error\n"));
  PetscCall(PetscPopErrorHandler());
  PetscCall(MatCreateSampledLR(S, X, Y, PETSC_TRUE, &M));
  for (PetscInt round = 0; round < 2; round++) { /* another X the second time */
    if (round) PetscCall(Fill(X, 3));
    for (PetscInt softmax = 0; softmax < (PetscDefined(USE_COMPLEX) ? 1 : 2); softmax++) {
      if (!PetscDefined(USE_COMPLEX)) PetscCall(MatSampledLRSetSoftmax(M, (PetscBool)softmax));
      PetscCall(MatSampledLRGetSoftmax(M, &is));
      if (is != (PetscBool)softmax) PetscCall(PetscPrintf(PETSC_COMM_WORLD, "MatSampledLRGetSoftmax() gives %d\n", is));
      PetscCall(Explicit(S, COLUMNS, round ? 3 : 0, 1, PETSC_TRUE, (PetscBool)softmax, &E));
      PetscCall(Check(M, E, Z));
      PetscCall(MatDestroy(&E));
    }
  }
  PetscCall(CheckFused(S, 4));
  PetscCall(MatDestroy(&M));
  PetscCall(MatCreateSampledLR(S, X, X, PETSC_TRUE, &M)); /* a dominant diagonal */
  for (PetscInt scaled = 0; scaled < 2; scaled++) { /* PETSc scales the block that M gives it */
    PetscCall(Solve(M, PCJACOBI));
    PetscCall(Solve(M, PCBJACOBI));
    PetscCall(Solve(M, PCBJACOBI));
    PetscCall(MatScale(M, 3));
  }
  PetscCall(MatDestroy(&M));
  PetscCall(Fill(X, 0));
  PetscCall(CheckFollows(S, X, Y, Z));
  PetscCall(CheckOneWrites(S, X, Y, Z));
  PetscCall(MatDestroy(&S));
  PetscCall(MatDestroy(&X));
  PetscCall(MatDestroy(&Y));
  PetscCall(MatDestroy(&Z));
  PetscCall(PetscFinalize());
  return 0;
}

/*TEST

  testset:
    output_file: output/empty.out

    test:
      nsize: {{1 3}}
      args: -mat_type {{aij aijtcu}}

    test:
      suffix: cuda
      requires: cuda
      nsize: {{1 2}}
      args: -mat_type {{aijcusparse aijtcu}} -dense_type {{dense densecuda}} -use_gpu_aware_mpi 0

    test:
      suffix: cuda_fused
      requires: cuda double !complex
      args: -mat_type aijtcu -mat_aijtcu_path tcu -mat_aijtcu_format {{8,64,64,4 8,24,8,4}} -dense_type densecuda -expect_fused true -use_gpu_aware_mpi 0

    test:
      suffix: cuda_csr
      requires: cuda
      args: -mat_type aijtcu -mat_aijtcu_path csr -dense_type densecuda -expect_fused false -use_gpu_aware_mpi 0

TEST*/
