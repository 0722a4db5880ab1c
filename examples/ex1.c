static char help[] = "Multiplies a sparse matrix with a block of dense vectors.\n\n"
                     "  ./ex1 -m 100000 -N 32 -mat_aijtcu_view -mat_aijtcu_view_choice\n\n";

#include <petscaijtcu.h>

int main(int argc, char **argv)
{
  Mat      A, B, C;
  VecType  vtype;
  PetscInt m = 1000, N = 8, rstart, rend;

  PetscFunctionBeginUser;
  PetscCall(PetscInitialize(&argc, &argv, NULL, help));
  PetscCall(PetscDLLibraryRegister_petscaijtcu()); /* makes the type known */
  PetscCall(PetscOptionsGetInt(NULL, NULL, "-m", &m, NULL));
  PetscCall(PetscOptionsGetInt(NULL, NULL, "-N", &N, NULL));

  PetscCall(MatCreate(PETSC_COMM_WORLD, &A));
  PetscCall(MatSetSizes(A, PETSC_DECIDE, PETSC_DECIDE, m, m));
  PetscCall(MatSetType(A, MATAIJTCU));
  PetscCall(MatSetFromOptions(A)); /* -mat_type aij for another type, -mat_aijtcu_path csr for another path */
  PetscCall(MatSetUp(A));
  PetscCall(MatGetOwnershipRange(A, &rstart, &rend));
  for (PetscInt i = rstart; i < rend; i++) {
    for (PetscInt j = PetscMax(i - 1, 0); j <= PetscMin(i + 1, m - 1); j++) PetscCall(MatSetValue(A, i, j, i == j ? 2 : -1, INSERT_VALUES));
  }
  PetscCall(MatAssemblyBegin(A, MAT_FINAL_ASSEMBLY));
  PetscCall(MatAssemblyEnd(A, MAT_FINAL_ASSEMBLY)); /* -mat_view ::ascii_info prints here */

  PetscCall(MatGetVecType(A, &vtype)); /* where A is, on the device or the host, B and C are best */
  PetscCall(MatCreateDenseFromVecType(PETSC_COMM_WORLD, vtype, PETSC_DECIDE, PETSC_DECIDE, m, N, PETSC_DECIDE, NULL, &B));
  for (PetscInt i = rstart; i < rend; i++) {
    for (PetscInt j = 0; j < N; j++) PetscCall(MatSetValue(B, i, j, 1. / (1 + i + j), INSERT_VALUES));
  }
  PetscCall(MatAssemblyBegin(B, MAT_FINAL_ASSEMBLY));
  PetscCall(MatAssemblyEnd(B, MAT_FINAL_ASSEMBLY));
  PetscCall(MatMatMult(A, B, MAT_INITIAL_MATRIX, PETSC_DETERMINE, &C));
  PetscCall(MatMatMult(A, B, MAT_REUSE_MATRIX, PETSC_DETERMINE, &C)); /* with the set-up of the first */
  PetscCall(MatViewFromOptions(C, NULL, "-product_view"));

  PetscCall(MatDestroy(&A)); /* -mat_aijtcu_view prints here */
  PetscCall(MatDestroy(&B));
  PetscCall(MatDestroy(&C));
  PetscCall(PetscFinalize());
  return 0;
}

/*TEST

   testset:
      requires: double !complex
      args: -m 6 -N 2 -product_view
      test:
         suffix: 1
         args: -mat_type {{aij aijtcu}} -mat_aijtcu_path {{tcu csr cusparse}} -options_left no
         filter: grep -v type:
         diff_args: -j
      test:
         suffix: parallel
         nsize: 2
         filter: grep -c "e[+-]"

   test:
      suffix: view
      requires: !complex
      args: -mat_aijtcu_path tcu -mat_aijtcu_view
      filter: grep -o -e "type: seqaij.*" -e "bricks, fill"

TEST*/
