static char help[] = "Loads a large Matrix Market file, checks its product with a vector, and how much memory a process needed for it.\n\n";

#include "matload.h"
#include <petscaijtcu.h>
#include <sys/resource.h>

/*
   Entry k of row i. The file has all entries 0 first, then all entries 1: no row of it is sorted, and some have repeats
*/
static PetscInt Column(PetscInt i, PetscInt k, PetscInt n)
{
  return (PetscInt)(((PetscInt64)i + 7919 * (PetscInt64)k * (i % 3)) % n);
}

static PetscInt Value(PetscInt i, PetscInt k)
{
  return (i + 5 * k) % 9 - 4;
}

/* missing: by how much the size line exceeds the entries of the file */
static PetscErrorCode WriteFile(MPI_Comm comm, const char file[], PetscInt n, PetscInt per_row, PetscInt missing)
{
  PetscMPIInt rank;

  PetscFunctionBegin;
  PetscCallMPI(MPI_Comm_rank(comm, &rank));
  if (rank == 0) {
    FILE *fp = fopen(file, "w");

    PetscCheck(fp, PETSC_COMM_SELF, PETSC_ERR_FILE_OPEN, "Cannot write %s", file);
    fprintf(fp, "%%%%MatrixMarket matrix coordinate integer general\n%" PetscInt_FMT " %" PetscInt_FMT " %" PetscInt64_FMT "\n", n, n, (PetscInt64)n * per_row + missing);
    for (PetscInt k = 0; k < per_row; k++) {
      for (PetscInt i = 0; i < n; i++) fprintf(fp, "%" PetscInt_FMT " %" PetscInt_FMT " %" PetscInt_FMT "\n", i + 1, Column(i, k, n) + 1, Value(i, k));
    }
    PetscCheck(!ferror(fp) && !fclose(fp), PETSC_COMM_SELF, PETSC_ERR_FILE_WRITE, "Cannot write %s", file);
  }
  PetscCallMPI(MPI_Barrier(comm));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Most bytes that this process had in memory so far */
static PetscLogDouble Peak(void)
{
  struct rusage usage;

  (void)getrusage(RUSAGE_SELF, &usage);
  return 1024.0 * (PetscLogDouble)usage.ru_maxrss;
}

/* Any process that took more than its bound says so */
static PetscErrorCode CheckMemory(MPI_Comm comm, const char what[], PetscLogDouble took, PetscLogDouble most)
{
  PetscFunctionBegin;
  PetscCall(PetscInfo(NULL, "%s: %g MB of at most %g\n", what, took / 1e6, most / 1e6));
  if (took > most) PetscCall(PetscSynchronizedPrintf(comm, "%s took %g MB and may take %g\n", what, took / 1e6, most / 1e6));
  PetscCall(PetscSynchronizedFlush(comm, PETSC_STDOUT));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode TestLarge(MPI_Comm comm, PetscInt n, PetscInt per_row, PetscLogDouble fixed, PetscBool keep)
{
  const char file[] = "matloadmemory.mtx";
  Mat        A;
  Vec        x, y;
  /* each: bytes for an entry, in the list that arrives and in its row */
  PetscLogDouble     before, each = 3 * sizeof(PetscInt) + 2 * sizeof(PetscScalar);
  PetscInt           rstart, rend, wrong = 0;
  PetscScalar       *array;
  const PetscScalar *result;

  PetscFunctionBegin;
  if (!keep) PetscCall(WriteFile(comm, file, n, per_row, 0));
  PetscCall(MatCreate(comm, &A));
  PetscCall(MatSetType(A, MATAIJ));
  PetscCall(MatSetFromOptions(A));
  PetscCall(PetscMemoryGetCurrentUsage(&before));
  PetscCall(ExampleMatLoad(comm, file, A));
  PetscCall(MatGetOwnershipRange(A, &rstart, &rend));
  PetscCall(CheckMemory(comm, "Loading", Peak() - before, fixed + (PetscLogDouble)(rend - rstart) * (each * per_row + 48)));

  PetscCall(MatCreateVecs(A, &x, &y));
  PetscCall(VecGetArrayWrite(x, &array));
  for (PetscInt i = rstart; i < rend; i++) array[i - rstart] = i % 5 + 1;
  PetscCall(VecRestoreArrayWrite(x, &array));
  PetscCall(MatMult(A, x, y));
  PetscCall(VecGetArrayRead(y, &result));
  for (PetscInt i = rstart; i < rend; i++) {
    PetscInt sum = 0;

    for (PetscInt k = 0; k < per_row; k++) sum += Value(i, k) * (Column(i, k, n) % 5 + 1);
    if (result[i - rstart] != sum) wrong++;
  }
  PetscCall(VecRestoreArrayRead(y, &result));
  if (wrong) PetscCall(PetscSynchronizedPrintf(comm, "%" PetscInt_FMT " rows of the product are wrong\n", wrong));
  PetscCall(PetscSynchronizedFlush(comm, PETSC_STDOUT));
  PetscCall(VecDestroy(&x));
  PetscCall(VecDestroy(&y));
  PetscCall(MatDestroy(&A));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* A refused file, for which no memory was taken */
static PetscErrorCode TestRefused(MPI_Comm comm, const char what[], const char file[], PetscLogDouble most)
{
  Mat            A;
  PetscLogDouble before;
  PetscErrorCode error;

  PetscFunctionBegin;
  PetscCall(MatCreate(comm, &A));
  PetscCall(MatSetType(A, MATAIJ));
  PetscCall(MatSetFromOptions(A));
  before = Peak();
  PetscCall(PetscPushErrorHandler(PetscReturnErrorHandler, NULL));
  error = ExampleMatLoad(comm, file, A);
  PetscCall(PetscPopErrorHandler());
  if (!error) PetscCall(PetscPrintf(comm, "%s: no error\n", what));
  PetscCall(CheckMemory(comm, what, Peak() - before, most));
  PetscCall(MatDestroy(&A));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* A file of a few lines that claims to be large */
static PetscErrorCode TestClaim(MPI_Comm comm, const char sizes[], PetscLogDouble most)
{
  const char  file[] = "matloadclaim.mtx";
  PetscMPIInt rank;

  PetscFunctionBegin;
  PetscCallMPI(MPI_Comm_rank(comm, &rank));
  if (rank == 0) {
    FILE *fp = fopen(file, "w");

    PetscCheck(fp && fprintf(fp, "%%%%MatrixMarket matrix coordinate integer general\n%s\n1 1 1\n2 2 2\n", sizes) > 0 && !fclose(fp), PETSC_COMM_SELF, PETSC_ERR_FILE_WRITE, "Cannot write %s", file);
  }
  PetscCallMPI(MPI_Barrier(comm));
  PetscCall(TestRefused(comm, sizes, file, most));
  PetscFunctionReturn(PETSC_SUCCESS);
}

int main(int argc, char **args)
{
  PetscInt  n = 200000, per_row = 15;
  PetscReal fixed = 16; /* MB: the chunk that rank 0 reads, buffers of MPI */
  PetscBool keep  = PETSC_FALSE;

  PetscFunctionBeginUser;
  PetscCall(PetscInitialize(&argc, &args, NULL, help));
  PetscCall(PetscDLLibraryRegister_petscaijtcu());
  PetscOptionsBegin(PETSC_COMM_WORLD, NULL, "Memory for loading a file", NULL);
  PetscCall(PetscOptionsBoundedInt("-n", "Rows and columns", NULL, n, &n, NULL, 1));
  PetscCall(PetscOptionsBoundedInt("-per_row", "Entries of a row", NULL, per_row, &per_row, NULL, 1));
  PetscCall(PetscOptionsReal("-fixed", "MB a process may take beside those for its entries", NULL, fixed, &fixed, NULL));
  PetscCall(PetscOptionsBool("-keep", "Use the file of an earlier run", NULL, keep, &keep, NULL));
  PetscOptionsEnd();
  PetscCall(TestClaim(PETSC_COMM_WORLD, "2000000000 2000000000 9000000000000000000", 1e6 * fixed));
  PetscCall(TestClaim(PETSC_COMM_WORLD, "2000000000 2 2", 1e6 * fixed));
  /* An error in the last of several chunks. The harness adds -malloc_dump, which lists what it leaves */
  PetscCall(WriteFile(PETSC_COMM_WORLD, "matloadclaim.mtx", 20000, 15, 1));
  PetscCall(TestRefused(PETSC_COMM_WORLD, "truncated", "matloadclaim.mtx", 2e6 * fixed));
  PetscCall(TestLarge(PETSC_COMM_WORLD, n, per_row, 1e6 * fixed, keep));
  PetscCall(PetscFinalize());
  return 0;
}

/*TEST

   test:
      nsize: {{1 3}}
      args: -mat_type aij

TEST*/
