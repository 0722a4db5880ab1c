static char help[] = "A matrix with block sizes that was preallocated: the inverses of its diagonal blocks, and pbjacobi, also after the matrix was bound to the host, are those of MATAIJ. pbjacobi for a matrix with more rows than before. Prints on error only.\n\n";

#include <petscaijtcu.h>
#include <petscksp.h>

static PetscErrorCode Test(void)
{
  const PetscInt bs = 3, n = 8 * bs;
  PetscScalar   *inverse[2];
  Vec            y[2];
  PetscReal      difference, norm;
  PetscInt       r0, r1, m;

  PetscFunctionBegin;
  for (int k = 0; k < 2; k++) {
    const PetscScalar *values;
    Mat                A;
    PC                 pc;
    Vec                x;

    PetscCall(MatCreate(PETSC_COMM_WORLD, &A));
    PetscCall(MatSetSizes(A, PETSC_DECIDE, PETSC_DECIDE, n, n));
    PetscCall(MatSetBlockSize(A, bs));
    PetscCall(MatSetType(A, k ? MATAIJTCU : MATAIJ));
    PetscCall(MatSeqAIJSetPreallocation(A, bs + 1, NULL));
    PetscCall(MatMPIAIJSetPreallocation(A, bs + 1, NULL, 1, NULL));
    PetscCall(MatGetOwnershipRange(A, &r0, &r1));
    for (PetscInt i = r0; i < r1; i++) {
      for (PetscInt j = i / bs * bs; j < (i / bs + 1) * bs; j++) PetscCall(MatSetValue(A, i, j, i == j ? 5 + i : 1. / (1 + i + 2 * j), INSERT_VALUES));
      PetscCall(MatSetValue(A, i, (i + 2 * bs) % n, -1, INSERT_VALUES));
    }
    PetscCall(MatAssemblyBegin(A, MAT_FINAL_ASSEMBLY));
    PetscCall(MatAssemblyEnd(A, MAT_FINAL_ASSEMBLY));
    m = (r1 - r0) * bs;
    PetscCall(MatInvertBlockDiagonal(A, &values));
    PetscCall(PetscMalloc1(m, &inverse[k]));
    PetscCall(PetscArraycpy(inverse[k], values, m));
    PetscCall(PCCreate(PETSC_COMM_WORLD, &pc));
    PetscCall(PCSetOperators(pc, A, A));
    PetscCall(PCSetType(pc, PCPBJACOBI));
    PetscCall(MatCreateVecs(A, &x, &y[k]));
    PetscCall(VecSet(x, 1));
    PetscCall(PCApply(pc, x, y[k]));
    /* set up on the device before, and now on the host */
    PetscCall(MatBindToCPU(A, PETSC_TRUE));
    PetscCall(MatScale(A, 4));
    PetscCall(PCSetUp(pc));
    PetscCall(PCApplyTranspose(pc, y[k], x));
    PetscCall(PCApply(pc, x, y[k]));
    PetscCall(PCDestroy(&pc));
    PetscCall(VecDestroy(&x));
    PetscCall(MatDestroy(&A));
  }
  for (PetscInt i = 0; i < m; i++) {
    if (!(PetscAbsScalar(inverse[1][i] - inverse[0][i]) <= 10 * PETSC_MACHINE_EPSILON)) {
      PetscCall(PetscPrintf(PETSC_COMM_SELF, "inverse of diagonal blocks: number %" PetscInt_FMT " is %g, not %g\n", i, (double)PetscRealPart(inverse[1][i]), (double)PetscRealPart(inverse[0][i])));
      break;
    }
  }
  PetscCall(VecNorm(y[0], NORM_INFINITY, &norm));
  PetscCall(VecAXPY(y[1], -1, y[0]));
  PetscCall(VecNorm(y[1], NORM_INFINITY, &difference));
  if (!(difference <= 10 * PETSC_MACHINE_EPSILON * norm)) PetscCall(PetscPrintf(PETSC_COMM_WORLD, "pbjacobi: a difference of %g, the norm is %g\n", (double)difference, (double)norm));
  for (int k = 0; k < 2; k++) {
    PetscCall(PetscFree(inverse[k]));
    PetscCall(VecDestroy(&y[k]));
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* A preconditioner that was reset, for more blocks than before, and for larger ones. PCGAMG does so with its levels */
static PetscErrorCode Larger(void)
{
  const PetscInt bs[] = {1, 2, 4, 1}, n[] = {20, 800000, 800000, 40};
  PC             pc;

  PetscFunctionBegin;
  PetscCall(PCCreate(PETSC_COMM_WORLD, &pc));
  PetscCall(PCSetType(pc, PCPBJACOBI));
  for (int k = 0; k < 4; k++) {
    Mat       A;
    Vec       x, y;
    PetscInt  r0, r1;
    PetscReal norm;

    PetscCall(MatCreate(PETSC_COMM_WORLD, &A));
    PetscCall(MatSetSizes(A, PETSC_DECIDE, PETSC_DECIDE, n[k], n[k]));
    PetscCall(MatSetBlockSize(A, bs[k]));
    PetscCall(MatSetType(A, MATAIJTCU));
    PetscCall(MatSeqAIJSetPreallocation(A, 1, NULL));
    PetscCall(MatMPIAIJSetPreallocation(A, 1, NULL, 0, NULL));
    PetscCall(MatGetOwnershipRange(A, &r0, &r1));
    for (PetscInt i = r0; i < r1; i++) PetscCall(MatSetValue(A, i, i, 2, INSERT_VALUES));
    PetscCall(MatAssemblyBegin(A, MAT_FINAL_ASSEMBLY));
    PetscCall(MatAssemblyEnd(A, MAT_FINAL_ASSEMBLY));
    PetscCall(MatCreateVecs(A, &x, &y));
    PetscCall(VecSet(x, 2));
    PetscCall(PCReset(pc));
    PetscCall(PCSetOperators(pc, A, A));
    for (int t = 0; t < 2; t++) {
      if (t) PetscCall(PCApplyTranspose(pc, x, y));
      else PetscCall(PCApply(pc, x, y));
      PetscCall(VecShift(y, -1));
      PetscCall(VecNorm(y, NORM_INFINITY, &norm));
      if (!(norm <= 10 * PETSC_MACHINE_EPSILON)) PetscCall(PetscPrintf(PETSC_COMM_WORLD, "pbjacobi of %" PetscInt_FMT " rows after fewer: an error of %g\n", n[k], (double)norm));
    }
    PetscCall(VecDestroy(&x));
    PetscCall(VecDestroy(&y));
    PetscCall(MatDestroy(&A));
  }
  PetscCall(PCDestroy(&pc));
  PetscFunctionReturn(PETSC_SUCCESS);
}

int main(int argc, char **argv)
{
  PetscCall(PetscInitialize(&argc, &argv, NULL, help));
  PetscCall(PetscDLLibraryRegister_petscaijtcu());
  PetscCall(Test());
  PetscCall(Larger());
  PetscCall(PetscFinalize());
  return 0;
}

/*TEST

  test:
    output_file: output/empty.out
    nsize: {{1 2 3}}
    args: -use_gpu_aware_mpi 0

TEST*/
