static char help[] = "Tests PCMatApply() of PCJACOBI and PCPBJACOBI against PCApply() column by column. Prints on error only.\n\
  -mat_type <type>   : of the operator\n\
  -dense_type <type> : of the blocks\n\
  -m <blocks>        : number of blocks along the diagonal, of -bs <rows> each\n\n";

#include <petscksp.h>
#include <../src/block/blockvec.h>
#include "kind.h"
#include "phase.h"

#if AIJTCU_HAVE_BLOCK
  #include <petsc/private/pcimpl.h>

typedef struct {
  MatType  type, dense;
  PetscInt m, bs;
} Test;

/* A band, not symmetric, with negative numbers on the diagonal. Some are zero if that is asked for */
static PetscErrorCode CreateOperator(const Test *t, MatType type, PetscBool zeros, Mat *A)
{
  const PetscInt M = t->m * t->bs;
  PetscInt       first, end, m = PETSC_DECIDE, nblocks = t->m;

  PetscFunctionBegin;
  PetscCall(PetscSplitOwnership(PETSC_COMM_WORLD, &m, &nblocks));
  PetscCall(MatCreate(PETSC_COMM_WORLD, A));
  PetscCall(MatSetSizes(*A, m * t->bs, m * t->bs, M, M));
  PetscCall(MatSetType(*A, type));
  PetscCall(MatSetBlockSize(*A, t->bs));
  PetscCall(MatSetUp(*A));
  PetscCall(MatGetOwnershipRange(*A, &first, &end));
  for (PetscInt i = first; i < end; i++) {
    for (PetscInt j = PetscMax(i - t->bs, 0); j <= PetscMin(i + t->bs, M - 1); j++) {
      PetscScalar a = 0.1 * (PetscReal)((3 * i + 5 * j) % 11) - 0.4;

      if (i == j) a = zeros && i % 5 == 2 ? 0. : (i % 4 == 1 ? -1. : 1.) * (7 + 0.3 * (PetscReal)(i % 6));
      PetscCall(MatSetValue(*A, i, j, a * Turned(1, i + 2 * j), INSERT_VALUES));
    }
  }
  PetscCall(MatAssemblyBegin(*A, MAT_FINAL_ASSEMBLY));
  PetscCall(MatAssemblyEnd(*A, MAT_FINAL_ASSEMBLY));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* The largest difference of two columns, relative to the second. NaN is equal to NaN */
static PetscErrorCode Difference(Vec found, Vec expected, PetscReal *error)
{
  const PetscScalar *a, *b;
  PetscInt           n;

  PetscFunctionBegin;
  *error = 0;
  PetscCall(VecGetLocalSize(found, &n));
  PetscCall(VecGetArrayRead(found, &a));
  PetscCall(VecGetArrayRead(expected, &b));
  for (PetscInt i = 0; i < n; i++) {
    if (a[i] == b[i] || (PetscIsNanScalar(a[i]) && PetscIsNanScalar(b[i]))) continue;
    *error = PetscMax(*error, PetscIsInfOrNanScalar(a[i] - b[i]) ? PETSC_MAX_REAL : PetscAbsScalar(a[i] - b[i]) / (1 + PetscAbsScalar(b[i])));
  }
  PetscCall(VecRestoreArrayRead(found, &a));
  PetscCall(VecRestoreArrayRead(expected, &b));
  PetscCallMPI(MPIU_Allreduce(MPI_IN_PLACE, error, 1, MPIU_REAL, MPIU_MAX, PETSC_COMM_WORLD));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Blocks against vectors. ours says whether blocks are to be taken as a whole */
static PetscErrorCode Check(const Test *t, PC pc, PetscBool ours, PetscReal bound, const char what[])
{
  const PetscInt N = 7;
  PetscInt       m;
  Mat            A, X, Y;
  Vec            x, y, expected;
  PetscRandom    random;

  PetscFunctionBegin;
  PetscCall(PCGetOperators(pc, NULL, &A));
  PetscCall(MatGetLocalSize(A, &m, NULL));
  PetscCall(MatCreate(PETSC_COMM_WORLD, &X));
  PetscCall(MatSetSizes(X, m, PETSC_DECIDE, PETSC_DETERMINE, N));
  PetscCall(MatSetType(X, t->dense));
  PetscCall(MatDenseSetLDA(X, m + 3));
  PetscCall(MatSetUp(X));
  PetscCall(PetscRandomCreate(PETSC_COMM_WORLD, &random));
  PetscCall(MatSetRandom(X, random));
  PetscCall(PetscRandomDestroy(&random));
  PetscCall(MatDuplicate(X, MAT_COPY_VALUES, &Y)); /* what is in Y does not count */
  PetscCall(MatCreateVecs(A, &x, &expected));
  for (int transpose = 0; transpose < 2; transpose++) {
    if (transpose) PetscCall(PCMatApplyTranspose(pc, X, Y));
    else PetscCall(PCMatApply(pc, X, Y));
    for (PetscInt j = 0; j < N; j++) {
      PetscReal error;

      PetscCall(CopyColumn(X, j, x));
      if (transpose) PetscCall(PCApplyTranspose(pc, x, expected));
      else PetscCall(PCApply(pc, x, expected));
      PetscCall(MatDenseGetColumnVecRead(Y, j, &y));
      PetscCall(Difference(y, expected, &error));
      PetscCall(MatDenseRestoreColumnVecRead(Y, j, &y));
      if (error > bound) PetscCall(PetscPrintf(PETSC_COMM_WORLD, "%s%s: column %" PetscInt_FMT " differs by %g\n", what, transpose ? ", transposed" : "", j, (double)error));
    }
  }
  if ((pc->ops->matapply != NULL) != ours || (pc->ops->matapplytranspose != NULL) != ours) PetscCall(PetscPrintf(PETSC_COMM_WORLD, "%s: blocks are%s taken as a whole\n", what, ours ? " not" : ""));
  PetscCall(VecDestroy(&x));
  PetscCall(VecDestroy(&expected));
  PetscCall(MatDestroy(&X));
  PetscCall(MatDestroy(&Y));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode TestJacobi(const Test *t)
{
  const PCJacobiType types[] = {PC_JACOBI_DIAGONAL, PC_JACOBI_ROWL1, PC_JACOBI_ROWMAX, PC_JACOBI_ROWSUM};
  PC                 pc;
  Mat                A;

  PetscFunctionBegin;
  for (size_t k = 0; k < PETSC_STATIC_ARRAY_LENGTH(types); k++) {
    for (int flags = 0; flags < 4; flags++) {
      char what[64];

      if (types[k] == PC_JACOBI_ROWL1 && flags == 3) continue; /* PETSc's error: a negative diagonal */
      PetscCall(PetscSNPrintf(what, sizeof(what), "%s%s%s", PCJacobiTypes[types[k]], flags & 1 ? ", abs" : "", flags & 2 ? ", fixed" : ""));
      PetscCall(CreateOperator(t, t->type, PETSC_TRUE, &A));
      PetscCall(PCCreate(PETSC_COMM_WORLD, &pc));
      PetscCall(PCSetType(pc, PCJACOBI));
      PetscCall(PCJacobiSetType(pc, types[k]));
      PetscCall(PCJacobiSetUseAbs(pc, (PetscBool)(flags & 1)));
      PetscCall(PCJacobiSetFixDiagonal(pc, (PetscBool)(flags >> 1)));
      PetscCall(PCSetOperators(pc, A, A));
      PetscCall(Check(t, pc, PETSC_TRUE, PetscDefined(USE_COMPLEX) ? 4 * PETSC_MACHINE_EPSILON : 0, what)); /* kernels may round a complex product elsewhere */
      PetscCall(PCDestroy(&pc));
      PetscCall(MatDestroy(&A));
    }
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* What changes between two blocks */
static PetscErrorCode TestChanges(const Test *t, PCType type, PetscReal bound)
{
  PC        pc;
  Mat       A, plain;
  PetscBool device, host;

  PetscFunctionBegin;
  PetscCall(PetscStrcmp(t->dense, MATDENSE, &host));
  PetscCall(CreateOperator(t, t->type, PETSC_FALSE, &A));
  PetscCall(IsOnDevice(A, &device)); /* PETSc's PCPBJACOBI does not get back from there, and takes no columns of the host */
  PetscCall(CreateOperator(t, device ? MATAIJCUSPARSE : MATAIJ, PETSC_FALSE, &plain));
  PetscCall(MatScale(plain, 3));
  PetscCall(PCCreate(PETSC_COMM_WORLD, &pc));
  PetscCall(PCSetType(pc, type));
  PetscCall(PCSetOperators(pc, A, A));
  PetscCall(Check(t, pc, PETSC_TRUE, bound, type));
  PetscCall(MatScale(A, 2));
  PetscCall(PCSetReusePreconditioner(pc, PETSC_TRUE));
  PetscCall(Check(t, pc, PETSC_TRUE, bound, "new values, the old preconditioner"));
  PetscCall(PCSetReusePreconditioner(pc, PETSC_FALSE));
  PetscCall(Check(t, pc, PETSC_TRUE, bound, "new values"));
  PetscCall(PCSetOperators(pc, plain, plain));
  if (!device || !host) PetscCall(Check(t, pc, PETSC_FALSE, bound, "an operator of another type"));
  PetscCall(PCSetOperators(pc, plain, A));
  PetscCall(Check(t, pc, PETSC_TRUE, bound, "the preconditioner is made of ours"));
  PetscCall(PCReset(pc));
  PetscCall(PCSetOperators(pc, A, A));
  PetscCall(Check(t, pc, PETSC_TRUE, bound, "after a reset"));
  PetscCall(PCJacobiSetType(pc, PC_JACOBI_ROWMAX)); /* nothing with PCPBJACOBI */
  PetscCall(Check(t, pc, PETSC_TRUE, bound, "another kind of diagonal"));
  PetscCall(PCSetType(pc, PCNONE));
  PetscCall(PCSetType(pc, type));
  PetscCall(Check(t, pc, PETSC_TRUE, bound, "after another type"));
  PetscCall(PCDestroy(&pc));
  PetscCall(MatDestroy(&A));
  PetscCall(MatDestroy(&plain));
  PetscFunctionReturn(PETSC_SUCCESS);
}
#endif

int main(int argc, char **argv)
{
  PetscFunctionBeginUser;
  PetscCall(PetscInitialize(&argc, &argv, NULL, help));
#if AIJTCU_HAVE_BLOCK
  {
    Test t        = {.m = 20, .bs = 3};
    char type[64] = MATAIJTCU, dense[64] = MATDENSE;

    PetscCall(PetscDLLibraryRegister_petscaijtcu());
    PetscCall(PetscOptionsGetString(NULL, NULL, "-mat_type", type, sizeof(type), NULL));
    PetscCall(PetscOptionsGetString(NULL, NULL, "-dense_type", dense, sizeof(dense), NULL));
    PetscCall(PetscOptionsGetInt(NULL, NULL, "-m", &t.m, NULL));
    PetscCall(PetscOptionsGetInt(NULL, NULL, "-bs", &t.bs, NULL));
    t.type  = type;
    t.dense = dense;
    PetscCall(TestJacobi(&t));
    PetscCall(TestChanges(&t, PCJACOBI, PetscDefined(USE_COMPLEX) ? 4 * PETSC_MACHINE_EPSILON : 0));
    PetscCall(TestChanges(&t, PCPBJACOBI, 100 * PETSC_MACHINE_EPSILON));
  }
#endif
  PetscCall(PetscFinalize());
  return 0;
}

/*TEST

  testset:
    output_file: output/empty.out

    test:
      suffix: 1
      nsize: {{1 2}}
      args: -bs {{1 2 3 6}}

    test:
      suffix: few
      nsize: 3
      args: -m 2 -bs 17

  testset:
    output_file: output/empty.out
    requires: cuda
    args: -dense_type densecuda

    test:
      suffix: device
      args: -bs {{1 2 3 6 17}}

    test:
      suffix: device_large
      args: -m 3000 -bs {{1 3}}

    test:
      suffix: device_2
      nsize: 2
      args: -bs {{1 3}} -use_gpu_aware_mpi 0

    test:
      suffix: device_mixed
      args: -bs {{1 3}} -dense_type dense

TEST*/
