static char help[] = "An operator S .* (X X^T), whose entries are never set, in a linear solve and in an eigenproblem.\n\n"
                     "  ./ex2 -m 100000 -neighbours 8 -eps_type krylovschur\n\n";

#include <petscaijtcu.h>
#include <slepceps.h>

/*
  Points on a circle, and the cosines of the angles between neighbours: x_i is (cos t_i, sin t_i), and S says who is
  whose neighbour. The eigenvalues of this circulant matrix are known: see Eigenvalue().
*/
static PetscReal Eigenvalue(PetscInt p, PetscInt m, PetscInt neighbours)
{
  PetscReal sum = 1;

  for (PetscInt d = 1; d <= neighbours; d++) sum += 2 * PetscCosReal(2 * PETSC_PI * (PetscReal)d / (PetscReal)m) * PetscCosReal(2 * PETSC_PI * (PetscReal)(p * d) / (PetscReal)m);
  return sum;
}

int main(int argc, char **argv)
{
  Mat         S, X, M;
  Vec         u, b;
  KSP         ksp;
  EPS         eps;
  VecType     vtype;
  PetscScalar largest;
  PetscReal   error;
  PetscInt    m = 200, neighbours = 4, rstart, rend;

  PetscFunctionBeginUser;
  PetscCall(SlepcInitialize(&argc, &argv, NULL, help));
  PetscCall(PetscDLLibraryRegister_petscaijtcu());
  PetscCall(PetscOptionsGetInt(NULL, NULL, "-m", &m, NULL));
  PetscCall(PetscOptionsGetInt(NULL, NULL, "-neighbours", &neighbours, NULL));
  PetscCall(MatCreate(PETSC_COMM_WORLD, &S));
  PetscCall(MatSetSizes(S, PETSC_DECIDE, PETSC_DECIDE, m, m));
  PetscCall(MatSetType(S, MATAIJTCU));
  PetscCall(MatSetFromOptions(S));
  PetscCall(MatSetUp(S));
  PetscCall(MatGetOwnershipRange(S, &rstart, &rend));
  PetscCall(MatGetVecType(S, &vtype));
  PetscCall(MatCreateDenseFromVecType(PETSC_COMM_WORLD, vtype, rend - rstart, PETSC_DECIDE, m, 2, PETSC_DECIDE, NULL, &X));
  for (PetscInt i = rstart; i < rend; i++) {
    const PetscReal angle = 2 * PETSC_PI * (PetscReal)i / (PetscReal)m;

    PetscCall(MatSetValue(X, i, 0, PetscCosReal(angle), INSERT_VALUES));
    PetscCall(MatSetValue(X, i, 1, PetscSinReal(angle), INSERT_VALUES));
    for (PetscInt d = -neighbours; d <= neighbours; d++) PetscCall(MatSetValue(S, i, (i + d + m) % m, 1, INSERT_VALUES));
  }
  PetscCall(MatAssemblyBegin(S, MAT_FINAL_ASSEMBLY));
  PetscCall(MatAssemblyEnd(S, MAT_FINAL_ASSEMBLY));
  PetscCall(MatAssemblyBegin(X, MAT_FINAL_ASSEMBLY));
  PetscCall(MatAssemblyEnd(X, MAT_FINAL_ASSEMBLY));

  /* an eigenproblem */
  PetscCall(MatCreateSampledLR(S, X, X, PETSC_FALSE, &M));
  PetscCall(EPSCreate(PETSC_COMM_WORLD, &eps));
  PetscCall(EPSSetOperators(eps, M, NULL));
  PetscCall(EPSSetProblemType(eps, EPS_HEP));
  PetscCall(EPSSetWhichEigenpairs(eps, EPS_LARGEST_REAL));
  PetscCall(EPSSetFromOptions(eps));
  PetscCall(EPSSolve(eps));
  PetscCall(EPSGetEigenvalue(eps, 0, &largest, NULL));
  error = PetscAbsReal(PetscRealPart(largest) - Eigenvalue(0, m, neighbours));
  PetscCall(PetscPrintf(PETSC_COMM_WORLD, "largest eigenvalue %.4f %s\n", (double)PetscRealPart(largest), error < 1e-4 ? "as it should be" : "is wrong"));

  /* a linear solve with the same operator, shifted */
  PetscCall(MatShift(M, 10));
  PetscCall(MatCreateVecs(M, &u, &b));
  PetscCall(VecSet(b, 10 + Eigenvalue(0, m, neighbours)));
  PetscCall(KSPCreate(PETSC_COMM_WORLD, &ksp));
  PetscCall(KSPSetOperators(ksp, M, M));
  PetscCall(KSPSetType(ksp, KSPCG));
  PetscCall(KSPSetFromOptions(ksp)); /* -pc_type jacobi or none: what wants entries does not work */
  PetscCall(KSPSolve(ksp, b, u));
  PetscCall(VecShift(u, -1));
  PetscCall(VecNorm(u, NORM_INFINITY, &error));
  PetscCall(PetscPrintf(PETSC_COMM_WORLD, "solution %s\n", error < 1e-4 ? "as it should be" : "is wrong"));

  PetscCall(KSPDestroy(&ksp));
  PetscCall(EPSDestroy(&eps));
  PetscCall(VecDestroy(&u));
  PetscCall(VecDestroy(&b));
  PetscCall(MatDestroy(&M));
  PetscCall(MatDestroy(&X));
  PetscCall(MatDestroy(&S));
  PetscCall(SlepcFinalize());
  return 0;
}

/*TEST

  testset:
    args: -pc_type {{jacobi none}}
    output_file: output/ex2_1.out

    test:
      nsize: {{1 2}}
      args: -mat_type {{aij aijtcu}}

    test:
      suffix: cuda
      requires: cuda
      args: -use_gpu_aware_mpi 0

TEST*/
