static char help[] = "Loads small Matrix Market files, good and bad ones, with ExampleMatLoad() and prints the matrices and the errors.\n\n";

#include "matload.h"
#include <petscaijtcu.h>
#include <unistd.h>
#include <zlib.h>

static const struct {
  const char *what, *text;
} cases[] = {
  {"general, comments, blank lines, a repeated entry, an explicit zero", "%%MatrixMarket matrix coordinate real general\n% a comment\n\n3 4 5\n1 1 1.5\n\n1 1 1\n2 4 -2e0\n%another\n3 1 0\n3 3 7.25\n"},
  {"symmetric, carriage returns", "%%matrixmarket Matrix Coordinate Integer Symmetric\r\n3 3 3\r\n1 1 4\r\n2 1 -1\r\n3 2 -2\r\n"},
  {"symmetric, upper triangle, no newline at the end", "%%MatrixMarket matrix coordinate real symmetric\n2 2 2\n1 2 5\n2 2 1"},
  {"skew-symmetric", "%%MatrixMarket matrix coordinate real skew-symmetric\n3 3 2\n2 1 1\n3 1 2\n"},
  {"pattern", "%%MatrixMarket matrix coordinate pattern general\n2 3 2\n1 3\n2 1\n"},
  {"no field in the first line", "%%MatrixMarket matrix coordinate general\n1 1 1\n1 1 -3.5e+12\n"},
  {"no entries", "%%MatrixMarket matrix coordinate real general\n2 2 0\n"},
  {"empty file", ""},
  {"not a matrix", "hello\nworld\n"},
  {"complex", "%%MatrixMarket matrix coordinate complex general\n1 1 1\n1 1 1 1\n"},
  {"array", "%%MatrixMarket matrix array real general\n1 1\n1\n"},
  {"hermitian", "%%MatrixMarket matrix coordinate real hermitian\n1 1 1\n1 1 1\n"},
  {"no symmetry in the first line", "%%MatrixMarket matrix coordinate real\n1 1 1\n1 1 1\n"},
  {"no size line", "%%MatrixMarket matrix coordinate real general\n% nothing\n"},
  {"bad size line", "%%MatrixMarket matrix coordinate real general\n3 3\n"},
  {"symmetric but not square", "%%MatrixMarket matrix coordinate real symmetric\n3 4 0\n"},
  {"truncated", "%%MatrixMarket matrix coordinate real general\n3 3 3\n1 1 1\n2 2 2\n"},
  {"more entries than said", "%%MatrixMarket matrix coordinate real general\n3 3 1\n1 1 1\n2 2 2\n"},
  {"no value", "%%MatrixMarket matrix coordinate real general\n3 3 1\n1 1\n"},
  {"not a number", "%%MatrixMarket matrix coordinate real general\n3 3 2\n1 1 1\n2 x 2\n"},
  {"something behind the value", "%%MatrixMarket matrix coordinate real general\n3 3 1\n1 1 1 1\n"},
  {"row out of range", "%%MatrixMarket matrix coordinate real general\n3 3 1\n4 1 1\n"},
  {"column zero", "%%MatrixMarket matrix coordinate real general\n3 3 1\n1 0 1\n"},
  {"both triangles", "%%MatrixMarket matrix coordinate real symmetric\n2 2 2\n2 1 1\n1 2 1\n"},
  {"skew-symmetric with a diagonal", "%%MatrixMarket matrix coordinate real skew-symmetric\n2 2 1\n1 1 3\n"},
};

static PetscErrorCode WriteFile(MPI_Comm comm, const char file[], const char text[], PetscBool compress, size_t cut)
{
  PetscMPIInt rank;
  size_t      len;

  PetscFunctionBegin;
  PetscCallMPI(MPI_Comm_rank(comm, &rank));
  if (rank == 0) {
    PetscCall(PetscStrlen(text, &len));
    if (compress) {
      gzFile gz = gzopen(file, "wb");

      PetscCheck(gz && gzwrite(gz, text, (unsigned)len) == (int)len && gzclose(gz) == Z_OK, PETSC_COMM_SELF, PETSC_ERR_FILE_WRITE, "Cannot write %s", file);
    } else {
      FILE *fp = fopen(file, "wb");

      PetscCheck(fp && fwrite(text, 1, len, fp) == len && !fclose(fp), PETSC_COMM_SELF, PETSC_ERR_FILE_WRITE, "Cannot write %s", file);
    }
    if (cut) PetscCheck(!truncate(file, (off_t)cut), PETSC_COMM_SELF, PETSC_ERR_FILE_WRITE, "Cannot shorten %s", file);
  }
  PetscCallMPI(MPI_Barrier(comm));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Print the rows of A, in the same form for any number of processes */
static PetscErrorCode PrintRows(MPI_Comm comm, Mat A)
{
  PetscInt m, n, rstart, rend;

  PetscFunctionBegin;
  PetscCall(MatGetSize(A, &m, &n));
  PetscCall(PetscPrintf(comm, "  %" PetscInt_FMT " x %" PetscInt_FMT "\n", m, n));
  PetscCall(MatGetOwnershipRange(A, &rstart, &rend));
  for (PetscInt i = rstart; i < rend; i++) {
    const PetscInt    *cols;
    const PetscScalar *vals;
    PetscInt           nc;

    PetscCall(MatGetRow(A, i, &nc, &cols, &vals));
    PetscCall(PetscSynchronizedPrintf(comm, "  row %" PetscInt_FMT ":", i));
    for (PetscInt k = 0; k < nc; k++) PetscCall(PetscSynchronizedPrintf(comm, " (%" PetscInt_FMT ", %g)", cols[k], (double)PetscRealPart(vals[k])));
    PetscCall(PetscSynchronizedPrintf(comm, "\n"));
    PetscCall(MatRestoreRow(A, i, &nc, &cols, &vals));
  }
  PetscCall(PetscSynchronizedFlush(comm, PETSC_STDOUT));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Load and print a matrix, or the error: from the last process, which did not read the file */
static PetscErrorCode Try(MPI_Comm comm, const char what[], const char file[])
{
  Mat            A;
  PetscErrorCode error;
  PetscMPIInt    rank, size;
#if PETSC_VERSION_LT(3, 25, 0)
  char *message;
#else
  const char *message;
#endif

  PetscFunctionBegin;
  PetscCallMPI(MPI_Comm_rank(comm, &rank));
  PetscCallMPI(MPI_Comm_size(comm, &size));
  PetscCall(PetscPrintf(comm, "%s\n", what));
  PetscCall(MatCreate(comm, &A));
  PetscCall(MatSetType(A, MATAIJTCU));
  PetscCall(MatSetFromOptions(A));
  PetscCall(PetscPushErrorHandler(PetscReturnErrorHandler, NULL));
  error = ExampleMatLoad(comm, file, A);
  PetscCall(PetscPopErrorHandler());
  if (error) {
    PetscCall(PetscErrorMessage(error, NULL, &message));
    if (rank == size - 1) PetscCall(PetscSynchronizedPrintf(comm, "  error: %s\n", message));
    PetscCall(PetscSynchronizedFlush(comm, PETSC_STDOUT));
  } else PetscCall(PrintRows(comm, A));
  PetscCall(MatDestroy(&A));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* A matrix written by PETSc comes back the same */
static PetscErrorCode TryBinary(MPI_Comm comm, const char text[])
{
  Mat         A, B;
  PetscViewer viewer;
  PetscBool   same;

  PetscFunctionBegin;
  PetscCall(WriteFile(comm, "matloadtest.mtx", text, PETSC_FALSE, 0));
  PetscCall(MatCreate(comm, &A));
  PetscCall(MatSetType(A, MATAIJ));
  PetscCall(ExampleMatLoad(comm, "matloadtest.mtx", A));
  PetscCall(PetscViewerBinaryOpen(comm, "matloadtest.petsc", FILE_MODE_WRITE, &viewer));
  PetscCall(MatView(A, viewer));
  PetscCall(PetscViewerDestroy(&viewer));
  PetscCall(MatCreate(comm, &B));
  PetscCall(MatSetType(B, MATAIJ));
  PetscCall(ExampleMatLoad(comm, "matloadtest.petsc", B));
  PetscCall(MatEqual(A, B, &same));
  PetscCall(PetscPrintf(comm, "PETSc binary\n  %s\n", same ? "equal" : "different"));
  PetscCall(MatDestroy(&A));
  PetscCall(MatDestroy(&B));
  PetscFunctionReturn(PETSC_SUCCESS);
}

int main(int argc, char **args)
{
  MPI_Comm comm;

  PetscFunctionBeginUser;
  PetscCall(PetscInitialize(&argc, &args, NULL, help));
  PetscCall(PetscDLLibraryRegister_petscaijtcu());
  comm = PETSC_COMM_WORLD;
  for (size_t i = 0; i < PETSC_STATIC_ARRAY_LENGTH(cases); i++) {
    PetscCall(WriteFile(comm, "matloadtest.mtx", cases[i].text, PETSC_FALSE, 0));
    PetscCall(Try(comm, cases[i].what, "matloadtest.mtx"));
  }
  PetscCall(WriteFile(comm, "matloadtest.mtx.gz", cases[0].text, PETSC_TRUE, 0));
  PetscCall(Try(comm, "compressed", "matloadtest.mtx.gz"));
  PetscCall(WriteFile(comm, "matloadtest.mtx.gz", cases[0].text, PETSC_TRUE, 100));
  PetscCall(Try(comm, "compressed, truncated", "matloadtest.mtx.gz"));
  PetscCall(Try(comm, "no such file", "matloadtest.missing"));
  PetscCall(TryBinary(comm, cases[0].text));
  PetscCall(PetscFinalize());
  return 0;
}

/*TEST

   test:
      nsize: {{1 2 3 4}}
      args: -mat_type {{aij aijtcu}}

TEST*/
