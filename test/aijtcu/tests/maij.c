static char help[] = "A MATMAIJ of our matrix, whose values change, beside one of a MATAIJ. Prints on error only.\n\n";

#include <petscaijtcu.h>

#define ROWS 40

/* A band, rows x ROWS */
static PetscErrorCode Create(MatType type, PetscInt rows, Mat *A)
{
  PetscInt r0, r1;

  PetscFunctionBegin;
  PetscCall(MatCreate(PETSC_COMM_WORLD, A));
  PetscCall(MatSetSizes(*A, PETSC_DECIDE, PETSC_DECIDE, rows, ROWS));
  PetscCall(MatSetType(*A, type));
  PetscCall(MatSeqAIJSetPreallocation(*A, 3, NULL));
  PetscCall(MatMPIAIJSetPreallocation(*A, 3, NULL, 3, NULL));
  PetscCall(MatGetOwnershipRange(*A, &r0, &r1));
  for (PetscInt i = r0; i < r1; i++) {
    for (PetscInt d = 0; d < 3; d++) PetscCall(MatSetValue(*A, i, (i * ROWS / rows + 5 * d) % ROWS, 1. / (1 + i + 2 * d), INSERT_VALUES));
  }
  PetscCall(MatAssemblyBegin(*A, MAT_FINAL_ASSEMBLY));
  PetscCall(MatAssemblyEnd(*A, MAT_FINAL_ASSEMBLY));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode Same(Vec y, Vec z, const char what[], const char after[])
{
  PetscReal difference, norm;

  PetscFunctionBegin;
  PetscCall(VecNorm(z, NORM_INFINITY, &norm));
  PetscCall(VecAXPY(y, -1, z));
  PetscCall(VecNorm(y, NORM_INFINITY, &difference));
  if (!(difference <= 50 * PETSC_MACHINE_EPSILON * norm)) PetscCall(PetscPrintf(PETSC_COMM_WORLD, "%s after %s: a difference of %g, the norm is %g\n", what, after, (double)difference, (double)norm));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* The products of M with vectors, and those of W */
static PetscErrorCode SameProducts(Mat M, Mat W, const char after[])
{
  Vec x, y, z, tx, ty, tz;

  PetscFunctionBegin;
  PetscCall(MatCreateVecs(W, &x, &y));
  PetscCall(VecSetRandom(x, NULL));
  PetscCall(VecDuplicate(y, &z));
  PetscCall(VecSetRandom(z, NULL));
  PetscCall(VecDuplicate(z, &tx));
  PetscCall(VecCopy(z, tx));
  PetscCall(VecDuplicate(x, &ty));
  PetscCall(VecDuplicate(x, &tz));
  PetscCall(MatMult(W, x, z));
  PetscCall(MatMult(M, x, y));
  PetscCall(Same(y, z, "MatMult()", after));
  PetscCall(MatMultAdd(W, x, tx, z));
  PetscCall(MatMultAdd(M, x, tx, y));
  PetscCall(Same(y, z, "MatMultAdd()", after));
  PetscCall(MatMultTranspose(W, tx, tz));
  PetscCall(MatMultTranspose(M, tx, ty));
  PetscCall(Same(ty, tz, "MatMultTranspose()", after));
  PetscCall(MatMultTransposeAdd(W, tx, x, tz));
  PetscCall(MatMultTransposeAdd(M, tx, x, ty));
  PetscCall(Same(ty, tz, "MatMultTransposeAdd()", after));
  PetscCall(VecDestroy(&x));
  PetscCall(VecDestroy(&y));
  PetscCall(VecDestroy(&z));
  PetscCall(VecDestroy(&tx));
  PetscCall(VecDestroy(&ty));
  PetscCall(VecDestroy(&tz));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode LogHandlers(PetscInt *n)
{
  PetscFunctionBegin;
  *n = 0;
#if PetscDefined(USE_LOG)
  for (int i = 0; i < PETSC_LOG_HANDLER_MAX; i++) *n += PetscLogHandlers[i].eventBegin != NULL;
#endif
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* early: M is there before the values are on the device */
static PetscErrorCode Test(PetscInt dof, PetscInt rows, PetscBool early)
{
  const char *const changes[] = {"nothing", "MatScale()", "MatAXPY()", "MatDiagonalScale()", "MatBindToCPU()", "MatBindToCPU() with PETSC_FALSE"};
  Mat               A, R, M, W, K, C = NULL, D = NULL;
  Vec               x, y;
  PetscInt          before, after;
  PetscBool         same;

  PetscFunctionBegin;
  PetscCall(LogHandlers(&before));
  PetscCall(Create(MATAIJ, rows, &R));
  PetscCall(Create(MATAIJTCU, rows, &A));
  if (early) {
    PetscCall(MatCreateMAIJ(A, dof, &M));
    PetscCall(MatCreateMAIJ(R, dof, &W));
  }
  PetscCall(MatCreateVecs(A, &x, &y));
  PetscCall(VecSet(x, 1));
  PetscCall(MatMult(A, x, y));
  PetscCall(MatScale(A, 3));
  PetscCall(MatScale(R, 3));
  PetscCall(VecDestroy(&x));
  PetscCall(VecDestroy(&y));
  if (!early) {
    PetscCall(MatCreateMAIJ(A, dof, &M));
    PetscCall(MatCreateMAIJ(R, dof, &W));
  }
  { /* P^T K P with a K of the host */
    PetscInt m, r0, r1;

    PetscCall(MatGetLocalSize(W, &m, NULL));
    PetscCall(MatCreateAIJ(PETSC_COMM_WORLD, m, m, PETSC_DETERMINE, PETSC_DETERMINE, 2, NULL, 2, NULL, &K));
    PetscCall(MatGetOwnershipRange(K, &r0, &r1));
    for (PetscInt i = r0; i < r1; i++) {
      PetscCall(MatSetValue(K, i, i, 2, INSERT_VALUES));
      PetscCall(MatSetValue(K, i, (i + 1) % (dof * rows), 1 + i, INSERT_VALUES));
    }
    PetscCall(MatAssemblyBegin(K, MAT_FINAL_ASSEMBLY));
    PetscCall(MatAssemblyEnd(K, MAT_FINAL_ASSEMBLY));
  }
  for (int change = 0; change < (int)PETSC_STATIC_ARRAY_LENGTH(changes); change++) {
    for (int k = 0; k < 2; k++) {
      Mat X = k ? R : A, Y;

      switch (change) {
      case 1:
        PetscCall(MatScale(X, -2));
        break;
      case 2:
        PetscCall(MatDuplicate(X, MAT_COPY_VALUES, &Y));
        PetscCall(MatScale(Y, 2));
        PetscCall(MatAXPY(X, 1, Y, SAME_NONZERO_PATTERN));
        PetscCall(MatDestroy(&Y));
        break;
      case 3:
        PetscCall(MatCreateVecs(X, NULL, &y));
        PetscCall(VecSet(y, 5));
        PetscCall(MatDiagonalScale(X, y, NULL));
        PetscCall(VecDestroy(&y));
        break;
      case 4:
      case 5:
        PetscCall(MatBindToCPU(X, (PetscBool)(change == 4)));
        PetscCall(MatScale(X, 7));
        break;
      default:
        break;
      }
    }
    /* The first product of M is one or the other */
    if (early) PetscCall(SameProducts(M, W, changes[change]));
    PetscCall(MatPtAP(K, M, change ? MAT_REUSE_MATRIX : MAT_INITIAL_MATRIX, PETSC_DETERMINE, &C));
    PetscCall(MatPtAP(K, W, change ? MAT_REUSE_MATRIX : MAT_INITIAL_MATRIX, PETSC_DETERMINE, &D));
    PetscCall(MatMultEqual(C, D, 2, &same));
    if (!same) PetscCall(PetscPrintf(PETSC_COMM_WORLD, "MatPtAP() differs after %s\n", changes[change]));
    if (!early) PetscCall(SameProducts(M, W, changes[change]));
  }
  PetscCall(LogHandlers(&after));
  if (after != before) PetscCall(PetscPrintf(PETSC_COMM_WORLD, "%" PetscInt_FMT " log handlers, there were %" PetscInt_FMT "\n", after, before));
  PetscCall(MatDestroy(&A));
  PetscCall(MatDestroy(&R));
  PetscCall(MatDestroy(&M));
  PetscCall(MatDestroy(&W));
  PetscCall(MatDestroy(&C));
  PetscCall(MatDestroy(&D));
  PetscCall(MatDestroy(&K));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* The first event behind MatCreateMAIJ() is that of a product, for which PETSc has chosen the operation before it */
static PetscErrorCode First(int which)
{
  const char *const names[] = {"MatMultTranspose()", "MatMultTransposeAdd()"};
  Mat               A, R, M, W, K, C = NULL, D = NULL;
  Vec               x, y, z;
  PetscBool         same;

  PetscFunctionBegin;
  PetscCall(Create(MATAIJ, ROWS, &R));
  PetscCall(Create(MATAIJTCU, ROWS, &A));
  PetscCall(MatCreateVecs(A, &x, &y));
  PetscCall(VecSet(x, 1));
  PetscCall(MatMult(A, x, y)); /* A is on the device */
  PetscCall(VecDestroy(&x));
  PetscCall(VecDestroy(&y));
  PetscCall(MatCreateMAIJ(R, 2, &W));
  PetscCall(MatCreateVecs(W, &x, &y));
  PetscCall(VecSet(x, 1));
  PetscCall(VecDuplicate(x, &z));
  PetscCall(MatConvert(W, MATAIJ, MAT_INITIAL_MATRIX, &K));
  PetscCall(MatScale(R, 3));
  PetscCall(MatScale(A, 3));
  PetscCall(MatCreateMAIJ(A, 2, &M));
  if (which == 0) PetscCall(MatMultTranspose(M, x, y));
  else if (which == 1) PetscCall(MatMultTransposeAdd(M, x, x, y));
  else {
    PetscCall(MatPtAP(K, M, MAT_INITIAL_MATRIX, PETSC_DETERMINE, &C));
    PetscCall(MatPtAP(K, W, MAT_INITIAL_MATRIX, PETSC_DETERMINE, &D));
    PetscCall(MatScale(A, -2)); /* and once more with other values */
    PetscCall(MatScale(R, -2));
    PetscCall(MatPtAP(K, M, MAT_REUSE_MATRIX, PETSC_DETERMINE, &C));
    PetscCall(MatPtAP(K, W, MAT_REUSE_MATRIX, PETSC_DETERMINE, &D));
    PetscCall(MatMultEqual(C, D, 2, &same));
    if (!same) PetscCall(PetscPrintf(PETSC_COMM_WORLD, "MatPtAP() differs where it is the first product\n"));
  }
  if (which == 0) PetscCall(MatMultTranspose(W, x, z));
  if (which == 1) PetscCall(MatMultTransposeAdd(W, x, x, z));
  if (which < 2) PetscCall(Same(y, z, names[which], "nothing else"));
  PetscCall(MatDestroy(&A));
  PetscCall(MatDestroy(&R));
  PetscCall(MatDestroy(&M));
  PetscCall(MatDestroy(&W));
  PetscCall(MatDestroy(&K));
  PetscCall(MatDestroy(&C));
  PetscCall(MatDestroy(&D));
  PetscCall(VecDestroy(&x));
  PetscCall(VecDestroy(&y));
  PetscCall(VecDestroy(&z));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* P^T A P has the block size of a MATMAIJ P, which becomes one of our matrices */
static PetscErrorCode BlockSizes(PetscInt dof)
{
  Mat      A, P, M, C;
  PetscInt m, rbs, cbs;

  PetscFunctionBegin;
  PetscCall(Create(MATAIJTCU, 2 * ROWS, &P));
  PetscCall(MatCreateMAIJ(P, dof, &M));
  PetscCall(MatGetLocalSize(M, &m, NULL));
  PetscCall(MatCreateConstantDiagonal(PETSC_COMM_WORLD, m, m, PETSC_DETERMINE, PETSC_DETERMINE, 2, &C));
  PetscCall(MatConvert(C, MATAIJ, MAT_INITIAL_MATRIX, &A));
  PetscCall(MatDestroy(&C));
  PetscCall(MatConvert(A, MATAIJTCU, MAT_INPLACE_MATRIX, &A));
  PetscCall(MatPtAP(A, M, MAT_INITIAL_MATRIX, PETSC_DETERMINE, &C));
  PetscCall(MatGetBlockSizes(C, &rbs, &cbs));
  if (rbs != dof || cbs != dof) PetscCall(PetscPrintf(PETSC_COMM_WORLD, "MatPtAP() has block sizes %" PetscInt_FMT " and %" PetscInt_FMT " for %" PetscInt_FMT " unknowns a point\n", rbs, cbs, dof));
  PetscCall(MatDestroy(&A));
  PetscCall(MatDestroy(&P));
  PetscCall(MatDestroy(&M));
  PetscCall(MatDestroy(&C));
  PetscFunctionReturn(PETSC_SUCCESS);
}

int main(int argc, char **argv)
{
  const PetscInt dofs[] = {2, 13};
  Mat            A, M;

  PetscCall(PetscInitialize(&argc, &argv, NULL, help));
  PetscCall(PetscDLLibraryRegister_petscaijtcu());
  for (int k = 0; k < 8; k++) PetscCall(Test(dofs[k % 2], k & 2 ? ROWS : 2 * ROWS, (PetscBool)(k > 3)));
  for (int which = 0; which < 3; which++) PetscCall(First(which));
  for (int k = 0; k < 2; k++) PetscCall(BlockSizes(dofs[k]));
  /* Nobody multiplies these, and nothing of them is left */
  PetscCall(Create(MATAIJTCU, ROWS, &A));
  for (int k = 0; k < 2; k++) {
    PetscCall(MatCreateMAIJ(A, 3, &M));
    if (k) PetscCall(MatConvert(M, MATAIJ, MAT_INPLACE_MATRIX, &M));
    PetscCall(MatDestroy(&M));
  }
  PetscCall(MatDestroy(&A));
  PetscCall(PetscFinalize());
  return 0;
}

/*TEST

  testset: # nothing but allatonce and allatonce_merged keeps a MATMAIJ in parallel
    output_file: output/empty.out
    args: -options_left 0 -use_gpu_aware_mpi 0

    test:
      nsize: {{1 2 3}}
      args: -mat_product_algorithm {{allatonce nonscalable}}

    test:
      suffix: merged
      nsize: 2
      args: -mat_product_algorithm allatonce_merged -log_view :/dev/null

TEST*/
