static char help[] = "Solvers whose creators the library wraps do with another type of matrix what they do without the library. Prints on error only.\n\
  -mat_type <type> : of the matrix\n\
  -dense_type <type> : of blocks\n\n";

#include <petscaijtcu.h>
#include <petscksp.h>

enum {
  ROWS    = 48,
  COLUMNS = 5
};

/* What a solve with each solver gave: solutions, the history of residuals, and the view of the solver */
typedef struct {
  PetscInt    nhistory;
  PetscScalar x[2][COLUMNS * ROWS]; /* of one right-hand side, and of a block, on this process */
  PetscReal   history[200];
  char        view[16384];
} Result;

typedef struct {
  KSPType ksp;
  PCType  pc;
  PCSide  side;
} Solver;

/* A line of masses, two to a point, so that blocks along the diagonal are not diagonal */
static PetscErrorCode CreateMatrix(Mat *A)
{
  PetscInt start, end;

  PetscFunctionBegin;
  PetscCall(MatCreate(PETSC_COMM_WORLD, A));
  PetscCall(MatSetSizes(*A, PETSC_DECIDE, PETSC_DECIDE, ROWS, ROWS));
  PetscCall(MatSetBlockSize(*A, 2));
  PetscCall(MatSetType(*A, MATAIJ));
  PetscCall(MatSetFromOptions(*A));
  PetscCall(MatSetUp(*A));
  PetscCall(MatGetOwnershipRange(*A, &start, &end));
  for (PetscInt i = start; i < end; i++) {
    PetscCall(MatSetValue(*A, i, i, 2.3 + 0.01 * (i % 7), INSERT_VALUES));
    PetscCall(MatSetValue(*A, i, i ^ 1, 0.2, INSERT_VALUES));
    if (i >= 2) PetscCall(MatSetValue(*A, i, i - 2, -1, INSERT_VALUES));
    if (i + 2 < ROWS) PetscCall(MatSetValue(*A, i, i + 2, -1, INSERT_VALUES));
  }
  PetscCall(MatAssemblyBegin(*A, MAT_FINAL_ASSEMBLY));
  PetscCall(MatAssemblyEnd(*A, MAT_FINAL_ASSEMBLY));
  PetscCall(MatSetOption(*A, MAT_SPD, PETSC_TRUE));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Right-hand sides of all sizes, on any number of processes */
static PetscErrorCode CreateBlock(Mat A, Mat *B)
{
  char         type[64] = MATDENSE;
  PetscInt     m, start, lda;
  PetscScalar *b;

  PetscFunctionBegin;
  PetscCall(PetscOptionsGetString(NULL, NULL, "-dense_type", type, sizeof(type), NULL));
  PetscCall(MatGetLocalSize(A, &m, NULL));
  PetscCall(MatGetOwnershipRange(A, &start, NULL));
  PetscCall(MatCreate(PETSC_COMM_WORLD, B));
  PetscCall(MatSetSizes(*B, m, PETSC_DECIDE, ROWS, COLUMNS));
  PetscCall(MatSetType(*B, type));
  PetscCall(MatSetUp(*B));
  PetscCall(MatDenseGetLDA(*B, &lda));
  PetscCall(MatDenseGetArrayWrite(*B, &b));
  for (PetscInt j = 0; j < COLUMNS; j++) {
    for (PetscInt i = 0; i < m; i++) b[j * lda + i] = (PetscReal)(((start + i) * (j + 3) + j) % 11) - 4;
  }
  PetscCall(MatDenseRestoreArrayWrite(*B, &b));
  PetscCall(MatAssemblyBegin(*B, MAT_FINAL_ASSEMBLY));
  PetscCall(MatAssemblyEnd(*B, MAT_FINAL_ASSEMBLY));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode CopyArray(Mat X, PetscScalar to[])
{
  const PetscScalar *x;
  PetscInt           m, lda;

  PetscFunctionBegin;
  PetscCall(MatGetLocalSize(X, &m, NULL));
  PetscCall(MatDenseGetLDA(X, &lda));
  PetscCall(MatDenseGetArrayRead(X, &x));
  for (PetscInt j = 0; j < COLUMNS; j++) PetscCall(PetscArraycpy(to + j * m, x + j * lda, m));
  PetscCall(MatDenseRestoreArrayRead(X, &x));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* What KSPView() prints goes by a file */
static PetscErrorCode View(KSP ksp, char text[], size_t length)
{
  const char *const name = "wrapped.view";
  PetscViewer       viewer;
  PetscMPIInt       rank;
  FILE             *file;
  size_t            n = 0;

  PetscFunctionBegin;
  PetscCall(PetscViewerASCIIOpen(PETSC_COMM_WORLD, name, &viewer));
  PetscCall(KSPView(ksp, viewer));
  PetscCall(PetscViewerDestroy(&viewer));
  PetscCallMPI(MPI_Comm_rank(PETSC_COMM_WORLD, &rank));
  if (!rank) {
    file = fopen(name, "r");
    PetscCheck(file, PETSC_COMM_SELF, PETSC_ERR_FILE_OPEN, "%s is not there", name);
    n = fread(text, 1, length - 1, file);
    fclose(file);
    PetscCheck(n > 0 && n < length - 1, PETSC_COMM_SELF, PETSC_ERR_FILE_READ, "A view of %zu bytes", n);
  }
  text[n] = 0;
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode Solve(const Solver *s, Mat A, Mat B, Result *r)
{
  KSP ksp;
  PC  pc;
  Vec b, x;
  Mat X;

  PetscFunctionBegin;
  PetscCall(PetscMemzero(r, sizeof(*r)));
  PetscCall(KSPCreate(PETSC_COMM_WORLD, &ksp));
  PetscCall(KSPSetOperators(ksp, A, A));
  PetscCall(KSPSetType(ksp, s->ksp));
  PetscCall(KSPSetPCSide(ksp, s->side));
  PetscCall(KSPGetPC(ksp, &pc));
  PetscCall(PCSetType(pc, s->pc));
  PetscCall(KSPSetTolerances(ksp, (PetscReal)1e-6, PETSC_CURRENT, PETSC_CURRENT, 30));
  PetscCall(KSPSetResidualHistory(ksp, r->history, PETSC_STATIC_ARRAY_LENGTH(r->history), PETSC_FALSE));
  PetscCall(KSPSetFromOptions(ksp));
  PetscCall(MatDuplicate(B, MAT_DO_NOT_COPY_VALUES, &X));
  PetscCall(MatZeroEntries(X));
  PetscCall(MatDenseGetColumnVecRead(B, 1, &b));
  PetscCall(MatDenseGetColumnVecWrite(X, 1, &x));
  PetscCall(KSPSolve(ksp, b, x));
  PetscCall(MatDenseRestoreColumnVecWrite(X, 1, &x));
  PetscCall(MatDenseRestoreColumnVecRead(B, 1, &b));
  PetscCall(CopyArray(X, r->x[0]));
  PetscCall(KSPMatSolve(ksp, B, X));
  PetscCall(CopyArray(X, r->x[1]));
  PetscCall(KSPGetResidualHistory(ksp, NULL, &r->nhistory));
  PetscCall(View(ksp, r->view, sizeof(r->view)));
  PetscCall(MatDestroy(&X));
  PetscCall(KSPDestroy(&ksp));
  PetscFunctionReturn(PETSC_SUCCESS);
}

int main(int argc, char **argv)
{
  const Solver solvers[] = {
    {KSPCG, PCJACOBI, PC_LEFT},
    {KSPCG, PCPBJACOBI, PC_LEFT},
    {KSPCG, PCMG, PC_LEFT},
    {KSPCG, PCGAMG, PC_LEFT},
    {KSPCHEBYSHEV, PCJACOBI, PC_LEFT},
    {KSPRICHARDSON, PCJACOBI, PC_LEFT},
    {KSPRICHARDSON, PCGAMG, PC_LEFT},
    {KSPGMRES, PCBJACOBI, PC_LEFT},
    {KSPGMRES, PCJACOBI, PC_RIGHT},
    {KSPFGMRES, PCJACOBI, PC_RIGHT},
    {KSPBCGS, PCPBJACOBI, PC_LEFT},
    {KSPPREONLY, PCJACOBI, PC_LEFT},
    {KSPPREONLY, PCGAMG, PC_LEFT}};
  const int n = PETSC_STATIC_ARRAY_LENGTH(solvers);
  Result   *results[2];
  Mat       A, B;

  PetscFunctionBeginUser;
  PetscCall(PetscInitialize(&argc, &argv, NULL, help));
  for (int i = 0; i < 2; i++) {
    if (i) PetscCall(PetscDLLibraryRegister_petscaijtcu());
    PetscCall(PetscMalloc1(n, &results[i]));
    PetscCall(CreateMatrix(&A)); /* anew: a view says what has been done with it */
    PetscCall(CreateBlock(A, &B));
    for (int k = 0; k < n; k++) PetscCall(Solve(&solvers[k], A, B, &results[i][k]));
    PetscCall(MatDestroy(&A));
    PetscCall(MatDestroy(&B));
  }
  for (int k = 0; k < n; k++) {
    const Result *without = &results[0][k], *with = &results[1][k];
    PetscBool     same[4];

    PetscCall(PetscMemcmp(without->x[0], with->x[0], sizeof(with->x[0]), &same[0]));
    PetscCall(PetscMemcmp(without->x[1], with->x[1], sizeof(with->x[1]), &same[1]));
    PetscCall(PetscMemcmp(without->history, with->history, sizeof(with->history), &same[2]));
    PetscCall(PetscStrcmp(without->view, with->view, &same[3]));
    if (without->nhistory != with->nhistory) same[2] = PETSC_FALSE;
    PetscCallMPI(MPIU_Allreduce(MPI_IN_PLACE, same, 4, MPI_C_BOOL, MPI_LAND, PETSC_COMM_WORLD));
    for (int i = 0; i < 4; i++) {
      const char *const what[] = {"another solution", "other solutions of a block", "other residuals", "another view"};

      if (!same[i]) PetscCall(PetscPrintf(PETSC_COMM_WORLD, "%s with %s: %s with the library\n", solvers[k].ksp, solvers[k].pc, what[i]));
    }
  }
  for (int i = 0; i < 2; i++) PetscCall(PetscFree(results[i]));
  PetscCall(PetscFinalize());
  return 0;
}

/*TEST

  testset:
    output_file: output/empty.out

    test:
      suffix: 1
      nsize: {{1 3}}

    test:
      suffix: device
      requires: cuda
      args: -mat_type aijcusparse -dense_type densecuda

    test: # also where block solves are asked for everywhere
      suffix: always
      args: -mat_aijtcu_block_solvers always

TEST*/
