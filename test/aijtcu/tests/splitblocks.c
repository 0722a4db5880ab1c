static char help[] = "PCMatApply() of PCFIELDSPLIT: blocks with other numbers of columns and leading dimensions, and a process without rows. Prints on error only.\n\
-each: a split for each field. -plain: the preconditioner is made of a matrix of PETSc's.\n\n";

#include <petscaijtcu.h>
#include <petscksp.h>

enum {
  FIELDS = 3,
  NODES  = 20
};

/* The last of several processes has no rows. Each field couples with its neighbours, and a little with the others */
static PetscErrorCode Create(Mat *A)
{
  PetscMPIInt rank, size;
  PetscInt    nodes, r0, r1;
  const PetscInt n = NODES * FIELDS;

  PetscFunctionBegin;
  PetscCallMPI(MPI_Comm_rank(PETSC_COMM_WORLD, &rank));
  PetscCallMPI(MPI_Comm_size(PETSC_COMM_WORLD, &size));
  nodes = size == 1 ? NODES : rank == size - 1 ? 0 : rank ? NODES / 4 : NODES - (size - 2) * (NODES / 4);
  PetscCall(MatCreate(PETSC_COMM_WORLD, A));
  PetscCall(MatSetSizes(*A, nodes * FIELDS, nodes * FIELDS, n, n));
  PetscCall(MatSetBlockSize(*A, FIELDS));
  PetscCall(MatSetType(*A, MATAIJTCU));
  PetscCall(MatSetUp(*A));
  PetscCall(MatGetOwnershipRange(*A, &r0, &r1));
  for (PetscInt i = r0; i < r1; i++) {
    PetscCall(MatSetValue(*A, i, i, 5 + i % FIELDS, INSERT_VALUES));
    PetscCall(MatSetValue(*A, i, (i + FIELDS) % n, -1, INSERT_VALUES));
    PetscCall(MatSetValue(*A, i, (i + n - FIELDS) % n, -1, INSERT_VALUES));
    PetscCall(MatSetValue(*A, i, i - i % FIELDS + (i + 1) % FIELDS, .5, INSERT_VALUES));
  }
  PetscCall(MatAssemblyBegin(*A, MAT_FINAL_ASSEMBLY));
  PetscCall(MatAssemblyEnd(*A, MAT_FINAL_ASSEMBLY));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Each column of the block beside PCApply() */
static PetscErrorCode Apply(PC pc, Mat A, PetscInt N, PetscInt gap)
{
  VecType   type;
  PetscInt  m, n;
  PetscReal norm;
  Mat       X, Y;
  Vec       x, y, b, z;

  PetscFunctionBegin;
  PetscCall(MatGetVecType(A, &type));
  PetscCall(MatGetLocalSize(A, &m, NULL));
  PetscCall(MatGetSize(A, &n, NULL));
  PetscCall(MatCreateDenseFromVecType(PETSC_COMM_WORLD, type, m, PETSC_DECIDE, n, N, m + gap, NULL, &X));
  PetscCall(MatCreateDenseFromVecType(PETSC_COMM_WORLD, type, m, PETSC_DECIDE, n, N, m + 2 * gap, NULL, &Y));
  PetscCall(MatSetRandom(X, NULL));
  PetscCall(PCMatApply(pc, X, Y));
  PetscCall(MatCreateVecs(A, &z, &b));
  for (PetscInt j = 0; j < N; j++) {
    PetscCall(MatDenseGetColumnVecRead(X, j, &x));
    PetscCall(VecCopy(x, b)); /* which has the block size of A */
    PetscCall(MatDenseRestoreColumnVecRead(X, j, &x));
    PetscCall(PCApply(pc, b, z));
    PetscCall(MatDenseGetColumnVecRead(Y, j, &y));
    PetscCall(VecAXPY(z, -1, y));
    PetscCall(MatDenseRestoreColumnVecRead(Y, j, &y));
    PetscCall(VecNorm(z, NORM_INFINITY, &norm));
    if (!(norm <= 100 * PETSC_MACHINE_EPSILON)) PetscCall(PetscPrintf(PETSC_COMM_WORLD, "column %" PetscInt_FMT " of %" PetscInt_FMT ", gap %" PetscInt_FMT ": an error of %g\n", j, N, gap, (double)norm));
  }
  PetscCall(VecDestroy(&b));
  PetscCall(VecDestroy(&z));
  PetscCall(MatDestroy(&X));
  PetscCall(MatDestroy(&Y));
  PetscFunctionReturn(PETSC_SUCCESS);
}

int main(int argc, char **argv)
{
  PetscBool each = PETSC_FALSE, plain = PETSC_FALSE;
  Mat       A, P;
  PC        pc;

  PetscCall(PetscInitialize(&argc, &argv, NULL, help));
  PetscCall(PetscDLLibraryRegister_petscaijtcu());
  PetscCall(Create(&A));
  PetscCall(PCCreate(PETSC_COMM_WORLD, &pc));
  PetscCall(PCSetType(pc, PCFIELDSPLIT));
  PetscCall(PetscOptionsGetBool(NULL, NULL, "-each", &each, NULL));
  PetscCall(PCFieldSplitSetBlockSize(pc, FIELDS));
  if (!each) {
    PetscCall(PCFieldSplitSetFields(pc, "0", 1, (PetscInt[]){0}, (PetscInt[]){0}));
    PetscCall(PCFieldSplitSetFields(pc, "1", 2, (PetscInt[]){1, 2}, (PetscInt[]){1, 2}));
  }
  PetscCall(PetscOptionsGetBool(NULL, NULL, "-plain", &plain, NULL));
  if (plain) PetscCall(MatConvert(A, MATAIJ, MAT_INITIAL_MATRIX, &P));
  else PetscCall(PetscObjectReference((PetscObject)(P = A)));
  PetscCall(PCSetOperators(pc, A, P));
  PetscCall(PCSetFromOptions(pc));
  for (PetscInt gap = 0; gap < 4; gap += 3) {
    for (PetscInt N = 5; N > 0; N -= 2) PetscCall(Apply(pc, A, N, gap));
  }
  PetscCall(PCDestroy(&pc));
  PetscCall(MatDestroy(&P));
  PetscCall(MatDestroy(&A));
  PetscCall(PetscFinalize());
  return 0;
}

/*TEST

  test:
    output_file: output/empty.out
    nsize: {{1 2 3}}
    args: -each {{0 1}} -plain {{0 1}} -pc_fieldsplit_type {{additive multiplicative symmetric_multiplicative}} -fieldsplit_0_pc_type jacobi -fieldsplit_1_pc_type jacobi -options_left 0 -use_gpu_aware_mpi 0

TEST*/
