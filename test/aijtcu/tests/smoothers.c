static char help[] = "Tests set-ups of smoothers: zeros on PCJACOBI's diagonal, and the noise of KSPCHEBYSHEV. Prints on error only.\n\
  -mat_type <type> : of the operator\n\
  -n <points>      : of a grid, along each side\n\n";

#include <petscksp.h>
#include <petscaijtcu.h>
#include "grid.h"

static int failed;

static PetscErrorCode Check(PetscBool ok, const char text[])
{
  PetscFunctionBegin;
  PetscCallMPI(MPIU_Allreduce(MPI_IN_PLACE, &ok, 1, MPI_C_BOOL, MPI_LAND, PETSC_COMM_WORLD));
  if (!ok) failed++;
  if (!ok) PetscCall(PetscPrintf(PETSC_COMM_WORLD, "FAILED: %s\n", text));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* The diagonal of the tests: entry i is d(i), or zero for every zeros-th; 0 for none */
static PetscScalar Diagonal(PetscInt i, PetscInt zeros)
{
  return zeros && i % zeros == 0 ? 0 : (i % 3 ? 1 : -1) * (2 + 0.25 * (PetscReal)(i % 7));
}

static PetscErrorCode SetDiagonal(Mat A, PetscInt zeros)
{
  PetscInt first, end;

  PetscFunctionBegin;
  PetscCall(MatGetOwnershipRange(A, &first, &end));
  for (PetscInt i = first; i < end; i++) PetscCall(MatSetValue(A, i, i, Diagonal(i, zeros), INSERT_VALUES));
  PetscCall(MatAssemblyBegin(A, MAT_FINAL_ASSEMBLY));
  PetscCall(MatAssemblyEnd(A, MAT_FINAL_ASSEMBLY));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Whether PCApply() divides by the diagonal, or by its magnitudes, and what it does where that is zero */
static PetscErrorCode CheckApply(PC pc, Mat A, PetscInt zeros, PetscBool magnitudes, PetscScalar at_zero, const char text[])
{
  const PetscScalar *a;
  PetscBool          ok = PETSC_TRUE;
  PetscInt           first, end;
  Vec                x, y;

  PetscFunctionBegin;
  PetscCall(MatCreateVecs(A, &x, &y));
  PetscCall(VecSet(x, 3));
  PetscCall(PCSetUp(pc));
  PetscCall(PCApply(pc, x, y));
  PetscCall(VecGetOwnershipRange(y, &first, &end));
  PetscCall(VecGetArrayRead(y, &a));
  for (PetscInt i = first; i < end; i++) {
    const PetscScalar d = Diagonal(i, zeros), want = d == (PetscScalar)0 ? 3 * at_zero : 3 / (magnitudes ? PetscAbsScalar(d) : d);

    if (PetscAbsScalar(a[i - first] - want) > 10 * PETSC_MACHINE_EPSILON) ok = PETSC_FALSE;
  }
  PetscCall(VecRestoreArrayRead(y, &a));
  PetscCall(Check(ok, text));
  PetscCall(VecDestroy(&x));
  PetscCall(VecDestroy(&y));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Set-ups of one preconditioner, where zeros come and go, on some processes alone, too */
static PetscErrorCode CheckZeros(Mat A)
{
  PetscInt N;
  PC       pc;

  PetscFunctionBegin;
  PetscCall(MatGetSize(A, &N, NULL));
  PetscCall(PCCreate(PETSC_COMM_WORLD, &pc));
  PetscCall(PCSetType(pc, PCJACOBI));
  PetscCall(PCSetOperators(pc, A, A));
  PetscCall(SetDiagonal(A, 5));
  PetscCall(CheckApply(pc, A, 5, PETSC_FALSE, 1, "zeros in the first set-up"));
  PetscCall(SetDiagonal(A, 0));
  PetscCall(CheckApply(pc, A, 0, PETSC_FALSE, 1, "no zeros"));
  PetscCall(SetDiagonal(A, N));
  PetscCall(CheckApply(pc, A, N, PETSC_FALSE, 1, "zero in the first row"));
  PetscCall(PCJacobiSetFixDiagonal(pc, PETSC_FALSE));
  PetscCall(SetDiagonal(A, 4));
  PetscCall(CheckApply(pc, A, 4, PETSC_FALSE, 0, "zeros that stay"));
  PetscCall(PCJacobiSetFixDiagonal(pc, PETSC_TRUE));
  PetscCall(PCJacobiSetUseAbs(pc, PETSC_TRUE));
  PetscCall(SetDiagonal(A, 3));
  PetscCall(CheckApply(pc, A, 3, PETSC_TRUE, 1, "zeros among magnitudes"));
  PetscCall(SetDiagonal(A, 0));
  PetscCall(CheckApply(pc, A, 0, PETSC_TRUE, 1, "magnitudes"));
  PetscCall(PCDestroy(&pc));
  PetscCall(PCCreate(PETSC_COMM_WORLD, &pc));
  PetscCall(PCSetType(pc, PCJACOBI));
  PetscCall(PCSetOperators(pc, A, A));
  PetscCall(CheckApply(pc, A, 0, PETSC_FALSE, 1, "no zeros in the first set-up"));
  PetscCall(PCDestroy(&pc));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* The noise of PETSc: a hash of the index */
static PetscScalar Noise(PetscInt i)
{
  unsigned int x = (unsigned int)i;

  for (int k = 0; k < 2; k++) x = ((x >> 16) ^ x) * 0x45d9f3b;
  x = (x >> 16) ^ x;
  return (PetscScalar)(((PetscInt64)x - 2147483648) * 5.e-10);
}

/* The right-hand side that the estimates were made with: noise, less its mean, or ones */
typedef enum {
  NOISE,
  NOISE_LESS_MEAN,
  ONES
} Kind;

static PetscErrorCode CheckEstimates(KSP ksp, Kind kind, const char text[])
{
  const PetscScalar *a;
  PetscScalar        mean = 0;
  PetscBool          ok   = PETSC_TRUE;
  PetscInt           first, end, N;
  KSP                estimates;
  Vec                b;

  PetscFunctionBegin;
  PetscCall(KSPSetUp(ksp));
  PetscCall(KSPChebyshevEstEigGetKSP(ksp, &estimates));
  PetscCall(KSPGetRhs(estimates, &b));
  PetscCall(VecGetSize(b, &N));
  for (PetscInt i = 0; i < N && kind == NOISE_LESS_MEAN; i++) mean += Noise(i) / (PetscReal)N;
  PetscCall(VecGetOwnershipRange(b, &first, &end));
  PetscCall(VecGetArrayRead(b, &a));
  for (PetscInt i = first; i < end; i++) {
    const PetscScalar want = kind == ONES ? 1 : Noise(i) - mean;

    if (PetscAbsScalar(a[i - first] - want) > (kind == NOISE_LESS_MEAN ? 100 : 0) * PETSC_MACHINE_EPSILON) ok = PETSC_FALSE;
  }
  PetscCall(VecRestoreArrayRead(b, &a));
  PetscCall(Check(ok, text));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Set-ups of one solver for new values */
static PetscErrorCode CheckNoise(Mat A)
{
  MatNullSpace nullsp;
  KSP          ksp;
  Vec          x, ones;

  PetscFunctionBegin;
  PetscCall(KSPCreate(PETSC_COMM_WORLD, &ksp));
  PetscCall(KSPSetType(ksp, KSPCHEBYSHEV));
  PetscCall(KSPSetOperators(ksp, A, A));
  PetscCall(KSPSetFromOptions(ksp));
  PetscCall(CheckEstimates(ksp, NOISE, "noise of the first set-up"));
  PetscCall(MatShift(A, 1));
  PetscCall(CheckEstimates(ksp, NOISE, "noise for new values"));
  PetscCall(MatNullSpaceCreate(PETSC_COMM_WORLD, PETSC_TRUE, 0, NULL, &nullsp));
  PetscCall(MatSetNullSpace(A, nullsp));
  PetscCall(MatNullSpaceDestroy(&nullsp));
  PetscCall(MatShift(A, 1));
  PetscCall(CheckEstimates(ksp, NOISE_LESS_MEAN, "noise without the null space"));
  PetscCall(MatSetNullSpace(A, NULL));
  PetscCall(MatCreateVecs(A, &x, &ones));
  PetscCall(VecSet(ones, 1));
  PetscCall(KSPSolve(ksp, ones, x)); /* the right-hand side of what follows */
  PetscCall(KSPChebyshevEstEigSetUseNoisy(ksp, PETSC_FALSE));
  PetscCall(MatShift(A, 1));
  PetscCall(CheckEstimates(ksp, ONES, "the right-hand side in the place of noise"));
  PetscCall(KSPChebyshevEstEigSetUseNoisy(ksp, PETSC_TRUE));
  PetscCall(MatShift(A, 1));
  PetscCall(CheckEstimates(ksp, NOISE, "noise again"));
  PetscCall(KSPReset(ksp));
  PetscCall(MatShift(A, 1));
  PetscCall(KSPSetOperators(ksp, A, A));
  PetscCall(CheckEstimates(ksp, NOISE, "noise after a reset"));
  PetscCall(VecDestroy(&x));
  PetscCall(VecDestroy(&ones));
  PetscCall(KSPDestroy(&ksp));
  PetscFunctionReturn(PETSC_SUCCESS);
}

int main(int argc, char **args)
{
  const GridValues values   = {.here = {8, 0.5}, .neighbour = {-1, 0.25}};
  char             type[64] = MATAIJ;
  PetscInt         n        = 12;
  Mat              A;

  PetscFunctionBeginUser;
  PetscCall(PetscInitialize(&argc, &args, NULL, help));
  PetscCall(PetscDLLibraryRegister_petscaijtcu());
  PetscCall(PetscOptionsGetString(NULL, NULL, "-mat_type", type, sizeof(type), NULL));
  PetscCall(PetscOptionsGetInt(NULL, NULL, "-n", &n, NULL));
  PetscCall(GridCreate(type, n, 2, &values, &A));
  PetscCall(CheckNoise(A));
  PetscCall(CheckZeros(A));
  PetscCall(MatDestroy(&A));
  PetscCheck(!failed, PETSC_COMM_WORLD, PETSC_ERR_PLIB, "%d checks failed", failed);
  PetscCall(PetscFinalize());
  return 0;
}

/*TEST

  testset:
    output_file: output/empty.out
    nsize: {{1 2}}
    args: -mat_type {{aij aijtcu}} -use_gpu_aware_mpi 0 -pc_type jacobi

    test:
      suffix: small

    test:
      suffix: large
      requires: cuda
      args: -n 400

TEST*/
