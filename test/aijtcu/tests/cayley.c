static char help[] = "STCAYLEY of a generalized problem, with each way to keep A + nu B: eigenvalues beside those of an aij.\n\
-eps_type, -bv_type and others are for all of them.\n\n";

#include <petscaijtcu.h>
#include <slepceps.h>

/* Springs in a row, each mass also held, or the masses */
static PetscErrorCode Create(MatType type, PetscInt n, PetscBool mass, Mat *A)
{
  PetscInt first, end;

  PetscFunctionBegin;
  PetscCall(MatCreate(PETSC_COMM_WORLD, A));
  PetscCall(MatSetSizes(*A, PETSC_DECIDE, PETSC_DECIDE, n, n));
  PetscCall(MatSetType(*A, type));
  PetscCall(MatSetUp(*A));
  PetscCall(MatGetOwnershipRange(*A, &first, &end));
  for (PetscInt i = first; i < end; i++) {
    PetscCall(MatSetValue(*A, i, i, (PetscScalar)(mass ? 1 + 0.05 * (double)(i % 7) : 2.3), INSERT_VALUES));
    if (mass) continue;
    if (i > 0) PetscCall(MatSetValue(*A, i, i - 1, -1, INSERT_VALUES));
    if (i < n - 1) PetscCall(MatSetValue(*A, i, i + 1, -1, INSERT_VALUES));
  }
  PetscCall(MatAssemblyBegin(*A, MAT_FINAL_ASSEMBLY));
  PetscCall(MatAssemblyEnd(*A, MAT_FINAL_ASSEMBLY));
  PetscCall(MatSetOption(*A, MAT_HERMITIAN, PETSC_TRUE));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode Solve(MatType type, STMatMode mode, PetscReal *value, PetscReal *error)
{
  const PetscInt n = 90;
  PetscMPIInt    size;
  PetscInt       nconv;
  PetscScalar    found;
  Mat            A, B;
  EPS            eps;
  ST             st;
  KSP            ksp;
  PC             pc;

  PetscFunctionBegin;
  PetscCallMPI(MPI_Comm_size(PETSC_COMM_WORLD, &size));
  PetscCall(Create(type, n, PETSC_FALSE, &A));
  PetscCall(Create(type, n, PETSC_TRUE, &B));
  PetscCall(EPSCreate(PETSC_COMM_WORLD, &eps));
  PetscCall(EPSSetOperators(eps, A, B));
  PetscCall(EPSSetProblemType(eps, EPS_GHEP));
  PetscCall(EPSSetTarget(eps, 0.1));
  PetscCall(EPSSetWhichEigenpairs(eps, EPS_TARGET_MAGNITUDE));
  PetscCall(EPSSetTolerances(eps, (PetscReal)1e-9, 2000));
  PetscCall(EPSGetST(eps, &st));
  PetscCall(STSetType(st, STCAYLEY));
  PetscCall(STSetMatMode(st, mode));
  PetscCall(STGetKSP(st, &ksp));
  PetscCall(KSPGetPC(ksp, &pc));
  if (mode == ST_MATMODE_SHELL) {
    PetscCall(KSPSetType(ksp, KSPCG));
    PetscCall(PCSetType(pc, PCNONE));
    PetscCall(KSPSetTolerances(ksp, (PetscReal)1e-12, PETSC_CURRENT, PETSC_CURRENT, 2000));
  } else {
    PetscCall(KSPSetType(ksp, KSPPREONLY));
    PetscCall(PCSetType(pc, size > 1 ? PCREDUNDANT : PCLU));
  }
  PetscCall(EPSSetFromOptions(eps));
  PetscCall(EPSSolve(eps));
  PetscCall(EPSGetConverged(eps, &nconv));
  *value = 0;
  *error = 1;
  if (nconv) {
    PetscCall(EPSGetEigenvalue(eps, 0, &found, NULL));
    *value = PetscRealPart(found);
    PetscCall(EPSComputeError(eps, 0, EPS_ERROR_RELATIVE, error));
  }
  PetscCall(EPSDestroy(&eps));
  PetscCall(MatDestroy(&A));
  PetscCall(MatDestroy(&B));
  PetscFunctionReturn(PETSC_SUCCESS);
}

int main(int argc, char **args)
{
  const STMatMode   modes[] = {ST_MATMODE_COPY, ST_MATMODE_INPLACE, ST_MATMODE_SHELL};
  const char *const names[] = {"copy", "inplace", "shell"};

  PetscFunctionBeginUser;
  PetscCall(SlepcInitialize(&argc, &args, NULL, help));
  PetscCall(PetscDLLibraryRegister_petscaijtcu());
  for (int k = 0; k < 3 && !SLEPC_VERSION_LT(3, 26, 0); k++) {
    PetscReal right, value, error;

    PetscCall(Solve(MATAIJ, modes[k], &right, &error));
    PetscCall(Solve(MATAIJTCU, modes[k], &value, &error));
    if (PetscAbsReal(value - right) > 1e-8 * PetscAbsReal(right) || !(error < 1e-7)) PetscCall(PetscPrintf(PETSC_COMM_WORLD, "%s: eigenvalue %.12g, and %.12g of an aij; error %.1e\n", names[k], (double)value, (double)right, (double)error));
  }
  PetscCall(SlepcFinalize());
  return 0;
}

/*TEST

  build:
    requires: double

  testset:
    output_file: output/empty.out
    args: -bv_type {{mat svec}}

    test:
      suffix: krylovschur
      nsize: {{1 2}}

    test:
      suffix: subspace
      args: -eps_type subspace

TEST*/
