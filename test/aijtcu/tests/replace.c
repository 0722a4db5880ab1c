static char help[] = "Which matrices -mat_aijtcu_for reaches, and which it leaves alone. Prints on error only.\n\n";

/*
   The program knows what it gave as option, and says itself which type each matrix must have. Products are compared with
   those of a MATSEQAIJ or MATMPIAIJ, which the option does not touch.
*/
#include <petscaijtcu.h>
#include <petscdmda.h>

static PetscBool aij, aijcusparse;

static PetscErrorCode Expect(Mat A, PetscBool ours, const char what[])
{
  MatType   type;
  PetscBool is;

  PetscFunctionBegin;
  PetscCall(MatGetType(A, &type));
  PetscCall(PetscObjectTypeCompareAny((PetscObject)A, &is, MATSEQAIJTCU, MATMPIAIJTCU, ""));
  if (is != ours) PetscCall(PetscPrintf(PETSC_COMM_WORLD, "%s: the type is %s\n", what, type));
  PetscFunctionReturn(PETSC_SUCCESS);
}

#define ROWS 40

static PetscErrorCode Fill(Mat A)
{
  PetscInt begin, end;

  PetscFunctionBegin;
  PetscCall(MatGetOwnershipRange(A, &begin, &end));
  for (PetscInt i = begin; i < end; i++) {
    for (PetscInt j = PetscMax(i - 2, 0); j < PetscMin(i + 3, ROWS); j++) PetscCall(MatSetValue(A, i, j, 1 + i + 0.5 * j, INSERT_VALUES));
  }
  PetscCall(MatAssemblyBegin(A, MAT_FINAL_ASSEMBLY));
  PetscCall(MatAssemblyEnd(A, MAT_FINAL_ASSEMBLY));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* type: NULL to leave it to MatSetFromOptions() */
static PetscErrorCode Create(MatType type, PetscBool options, Mat *A)
{
  PetscFunctionBegin;
  PetscCall(MatCreate(PETSC_COMM_WORLD, A));
  PetscCall(MatSetSizes(*A, PETSC_DECIDE, PETSC_DECIDE, ROWS, ROWS));
  if (type) PetscCall(MatSetType(*A, type));
  if (options) PetscCall(MatSetFromOptions(*A));
  PetscCall(MatSetUp(*A));
  PetscCall(Fill(*A));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode Make(MatType type, PetscBool options, PetscBool ours, const char what[])
{
  Mat       A, R, B, C, D;
  PetscReal norm, size;
  PetscInt  m;

  PetscFunctionBegin;
  PetscCall(Create(type, options, &A));
  PetscCall(Expect(A, ours, what));
  PetscCall(MatGetLocalSize(A, &m, NULL));
  PetscCall(MatCreateDense(PETSC_COMM_WORLD, m, PETSC_DECIDE, PETSC_DETERMINE, 5, NULL, &B));
  PetscCall(MatSetRandom(B, NULL));
  PetscCall(MatMatMult(A, B, MAT_INITIAL_MATRIX, PETSC_DETERMINE, &C));
  PetscCall(MatCreateAIJ(PETSC_COMM_WORLD, m, m, PETSC_DETERMINE, PETSC_DETERMINE, 5, NULL, 4, NULL, &R));
  PetscCall(Expect(R, PETSC_FALSE, "MatCreateAIJ()"));
  PetscCall(Fill(R));
  PetscCall(MatMatMult(R, B, MAT_INITIAL_MATRIX, PETSC_DETERMINE, &D));
  PetscCall(MatNorm(D, NORM_FROBENIUS, &size));
  PetscCall(MatAXPY(D, -1, C, SAME_NONZERO_PATTERN));
  PetscCall(MatNorm(D, NORM_FROBENIUS, &norm));
  if (norm > 100 * PETSC_MACHINE_EPSILON * size) PetscCall(PetscPrintf(PETSC_COMM_WORLD, "%s: a wrong product, by %g\n",
    what, (double)norm));
  PetscCall(MatDestroy(&D));
  PetscCall(MatDuplicate(A, MAT_COPY_VALUES, &D));
  PetscCall(Expect(D, ours, "a copy"));
  PetscCall(MatDestroy(&D));
  PetscCall(MatTranspose(A, MAT_INITIAL_MATRIX, &D));
  PetscCall(MatDestroy(&D));
  PetscCall(MatDestroy(&A));
  PetscCall(MatDestroy(&R));
  PetscCall(MatDestroy(&B));
  PetscCall(MatDestroy(&C));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* The blocks of a parallel matrix belong to it: they are none of the program's matrices */
static PetscErrorCode Blocks(void)
{
  Mat         A, blocks[2];
  PetscMPIInt size;

  PetscFunctionBegin;
  PetscCallMPI(MPI_Comm_size(PETSC_COMM_WORLD, &size));
  if (size == 1) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCall(Create(NULL, PETSC_TRUE, &A));
  PetscCall(MatMPIAIJGetSeqAIJ(A, &blocks[0], &blocks[1], NULL));
  PetscCall(Expect(blocks[0], PETSC_FALSE, "the diagonal block"));
  PetscCall(Expect(blocks[1], PETSC_FALSE, "the off-diagonal block"));
  PetscCall(MatDestroy(&A));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* A KSP factors, and a DM makes a matrix, an interpolation and a coarse operator */
static PetscErrorCode Solve(void)
{
  DM        da, coarse;
  KSP       ksp;
  Mat       A, P, G;
  Vec       x, b;
  PetscReal norm, size;

  PetscFunctionBegin;
  PetscCall(DMDACreate2d(PETSC_COMM_WORLD, DM_BOUNDARY_NONE, DM_BOUNDARY_NONE, DMDA_STENCIL_STAR, 9, 9, PETSC_DECIDE,
    PETSC_DECIDE, 1, 1, NULL, NULL, &da));
  PetscCall(DMSetUp(da));
  PetscCall(DMCreateMatrix(da, &A));
  PetscCall(Expect(A, aij, "DMCreateMatrix()"));
  PetscCall(MatShift(A, 3));
  PetscCall(MatCreateVecs(A, &x, &b));
  PetscCall(VecSet(b, 6));
  PetscCall(KSPCreate(PETSC_COMM_WORLD, &ksp));
  PetscCall(KSPSetOperators(ksp, A, A));
  PetscCall(KSPSetFromOptions(ksp));
  PetscCall(KSPSolve(ksp, b, x));
  PetscCall(VecShift(x, -2));
  PetscCall(VecNorm(x, NORM_2, &norm));
  PetscCall(VecNorm(b, NORM_2, &size));
  if (norm > 1e-4 * size) PetscCall(PetscPrintf(PETSC_COMM_WORLD, "a wrong solution, by %g\n", (double)norm));
  PetscCall(DMCoarsen(da, PETSC_COMM_WORLD, &coarse));
  PetscCall(DMCreateInterpolation(coarse, da, &P, NULL));
  PetscCall(MatPtAP(A, P, MAT_INITIAL_MATRIX, PETSC_DETERMINE, &G));
  PetscCall(MatDestroy(&G));
  PetscCall(MatDestroy(&P));
  PetscCall(DMDestroy(&coarse));
  PetscCall(VecDestroy(&x));
  PetscCall(VecDestroy(&b));
  PetscCall(KSPDestroy(&ksp));
  PetscCall(MatDestroy(&A));
  PetscCall(DMDestroy(&da));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* What -mat_type aijtcu would make of these breaks programs: a dense matrix whose array is asked for, a shell */
static PetscErrorCode Others(void)
{
  const MatType      types[] = {MATDENSE, MATBAIJ, MATSBAIJ, MATIS, MATSHELL, MATNEST, MATCOMPOSITE};
  const PetscScalar *array;
  Mat                A;

  PetscFunctionBegin;
  for (size_t i = 0; i < PETSC_STATIC_ARRAY_LENGTH(types); i++) {
    PetscCall(MatCreate(PETSC_COMM_WORLD, &A));
    PetscCall(MatSetSizes(A, PETSC_DECIDE, PETSC_DECIDE, 12, 12));
    PetscCall(MatSetType(A, types[i]));
    PetscCall(MatSetFromOptions(A));
    PetscCall(Expect(A, PETSC_FALSE, types[i]));
    if (!i) {
      PetscCall(MatSetUp(A));
      PetscCall(MatDenseGetArrayRead(A, &array));
      PetscCall(MatDenseRestoreArrayRead(A, &array));
    }
    PetscCall(MatDestroy(&A));
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode Wrong(const char value[])
{
  PetscErrorCode error;

  PetscFunctionBegin;
  PetscCall(PetscOptionsSetValue(NULL, "-mat_aijtcu_for", value));
  PetscCall(PetscPushErrorHandler(PetscReturnErrorHandler, NULL));
  error = PetscDLLibraryRegister_petscaijtcu();
  PetscCall(PetscPopErrorHandler());
  if (error != PETSC_ERR_ARG_OUTOFRANGE) PetscCall(PetscPrintf(PETSC_COMM_WORLD, "-mat_aijtcu_for %s: error %d\n", value, (int)error));
  PetscCall(PetscOptionsClearValue(NULL, "-mat_aijtcu_for"));
  PetscFunctionReturn(PETSC_SUCCESS);
}

int main(int argc, char **argv)
{
  PetscMPIInt size;
  PetscBool   wrong = PETSC_FALSE;
  char        list[64] = "";

  /* twice, because PETSc's list of names ends with PETSc */
  if (MPI_Init(&argc, &argv)) return 1;
  for (PetscInt times = 0; times < 2; times++) {
    PetscCall(PetscInitialize(&argc, &argv, NULL, help));
    PetscCall(PetscOptionsGetBool(NULL, NULL, "-wrong", &wrong, NULL));
    if (wrong) {
      const char *const values[] = {"baij", "aij,dense", "seqaij", ",", "", "aij, aijcusparse"};

      for (size_t i = 0; i < PETSC_STATIC_ARRAY_LENGTH(values); i++) PetscCall(Wrong(values[i]));
    }
    PetscCall(PetscDLLibraryRegister_petscaijtcu());
    PetscCall(PetscOptionsGetString(NULL, NULL, "-mat_aijtcu_for", list, sizeof(list), NULL));
    aijcusparse = (PetscBool)(strstr(list, "aijcusparse") != NULL);
    aij         = (PetscBool)(!strcmp(list, "aij") || strchr(list, ','));
    PetscCallMPI(MPI_Comm_size(PETSC_COMM_WORLD, &size));
    PetscCall(Make(NULL, PETSC_TRUE, aij, "MatSetFromOptions()"));
    PetscCall(Make(MATAIJ, PETSC_FALSE, aij, "MATAIJ"));
    PetscCall(Make(MATAIJ, PETSC_TRUE, aij, "MATAIJ and MatSetFromOptions()"));
    PetscCall(Make(size == 1 ? MATSEQAIJ : MATMPIAIJ, PETSC_TRUE, PETSC_FALSE, "the sequential or parallel type by its name"));
    if (aijcusparse) PetscCall(Make(MATAIJCUSPARSE, PETSC_TRUE, PETSC_TRUE, "MATAIJCUSPARSE")); /* without a device, too */
    PetscCall(Blocks());
    PetscCall(Solve());
    PetscCall(Others());
    PetscCall(PetscFinalize());
  }
  return MPI_Finalize();
}

/*TEST

  testset:
    output_file: output/empty.out
    nsize: {{1 2}}
    args: -use_gpu_aware_mpi 0 -ksp_rtol 1e-6

    test:
      suffix: aij
      args: -mat_aijtcu_for aij -pc_type {{jacobi bjacobi gamg}}

    # A factor of PETSc's ILU is destroyed with PETSc's functions alone. Those of a MATAIJCUSPARSE stay in the list
    test:
      suffix: ilu
      nsize: 1
      requires: !cuda
      args: -mat_aijtcu_for aij -pc_type ilu -pc_factor_mat_solver_type petsc

    test:
      suffix: both
      args: -mat_aijtcu_for {{aij,aijcusparse aijcusparse,aij}}

    test:
      suffix: aijcusparse
      args: -mat_aijtcu_for aijcusparse

    test:
      suffix: none
      args: -mat_aijtcu_for none

  test:
    suffix: wrong
    output_file: output/empty.out
    nsize: 1
    args: -wrong -malloc_dump 0 -checkfunctionlist 0 -use_gpu_aware_mpi 0

TEST*/
