static char help[] = "Loads small Matrix Market files, good and bad ones, with ExampleMatLoad() and prints the matrices and the errors.\n\n";

#include "errormessage.h"
#include "matload.h"
#include <petscaijtcu.h>
#include <errno.h>
#include <sys/stat.h>
#include <unistd.h>
#include <zlib.h>

/* In a text, @ stands for a zero character */
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
  {"no rows", "%%MatrixMarket matrix coordinate real general\n0 3 0\n"},
  {"unsorted, repeated across other rows", "%%MatrixMarket matrix coordinate integer general\n4 4 7\n4 4 1\n1 3 2\n4 1 3\n1 3 -4\n1 1 5\n4 4 6\n1 3 7\n"},
  {"skew-symmetric, integer, repeated, upper triangle, a zero on the diagonal", "%%MatrixMarket matrix coordinate integer skew-symmetric\n3 3 4\n1 3 -2\n2 2 0\n1 3 5\n2 3 +1\n"},
  {"symmetric pattern, repeated", "%%MatrixMarket matrix coordinate pattern symmetric\n3 3 4\n1 1\n2 1\n2 1\n3 3\n"},
  {"blanks of all kinds, long numbers", "%%matrixMARKET\tMATRIX coordinate REAL  general \t\r\n \t\r\n\t2  2\t2 \r\n  0001\t002   +.25e1\t\r\n2 1 12500000000000000000000000000e-28 \r\n"},
  {"few entries for its rows", "%%MatrixMarket matrix coordinate real general\n3 1000000 1\n1 1000000 1\n"},
  {"exponents as Fortran writes them", "%%MatrixMarket matrix coordinate real general\n2 2 4\n1 1 1.5D-3\n1 2 -2d+02\n2 1 .5D0\n2 2 1E1\n"},
  {"one percent sign", "%MatrixMarket matrix coordinate pattern symmetric\n% a comment\n2 2 2\n1 1\n2 1\n"},
  {"blanks and blank lines before all", " \t\n\r\n  %%MatrixMarket matrix coordinate real general\n \t% a comment\n\f 1 2 1\n   1 2 7\n"},
  {"a byte order mark", "\xef\xbb\xbf%%MatrixMarket matrix coordinate integer general\n1 1 1\n1 1 7\n"},
  {"a byte order mark, a blank, one percent sign", "\xef\xbb\xbf %MatrixMarket matrix coordinate general\n1 1 1\n1 1 7d0\n"},
  {"empty file", ""},
  {"one comment", "%"},
  {"not text", "@@@@"},
  {"a zero in a comment", "%%MatrixMarket matrix coordinate real general\n% a@b\n1 1 1\n1 1 1\n"},
  {"a zero behind an entry", "%%MatrixMarket matrix coordinate real general\n1 1 1\n1 1 1@\n"},
  {"zeros at the end", "%%MatrixMarket matrix coordinate real general\n1 1 1\n1 1 1\n@@@@"},
  {"a banner run together", "%%MatrixMarketmatrix coordinate real general\n1 1 1\n1 1 1\n"},
  {"a banner with more", "%%MatrixMarket matrix coordinate real general symmetric\n1 1 1\n1 1 1\n"},
  {"not a matrix", "hello\nworld\n"},
  {"complex", "%%MatrixMarket matrix coordinate complex general\n1 1 1\n1 1 1 1\n"},
  {"array", "%%MatrixMarket matrix array real general\n1 1\n1\n"},
  {"hermitian", "%%MatrixMarket matrix coordinate real hermitian\n1 1 1\n1 1 1\n"},
  {"no symmetry in the first line", "%%MatrixMarket matrix coordinate real\n1 1 1\n1 1 1\n"},
  {"no size line", "%%MatrixMarket matrix coordinate real general\n% nothing\n"},
  {"bad size line", "%%MatrixMarket matrix coordinate real general\n3 3\n"},
  {"sizes that are negative", "%%MatrixMarket matrix coordinate real general\n3 -3 0\n"},
  {"sizes beyond any integer", "%%MatrixMarket matrix coordinate real general\n3 3 99999999999999999999\n"},
  {"sizes with a fraction", "%%MatrixMarket matrix coordinate real general\n3.0 3 1\n"},
  {"four sizes", "%%MatrixMarket matrix coordinate real general\n3 3 1 1\n"},
  {"many rows and few entries", "%%MatrixMarket matrix coordinate real general\n2000000000 3 1\n1 1 1\n"},
  {"many columns and few entries", "%%MatrixMarket matrix coordinate real general\n3 1000020 1\n1 1 1\n"},
  {"many entries, none of them there", "%%MatrixMarket matrix coordinate real general\n2000000000 2000000000 9223372036854775807\n1 1 1\n"},
  {"symmetric but not square", "%%MatrixMarket matrix coordinate real symmetric\n3 4 0\n"},
  {"truncated", "%%MatrixMarket matrix coordinate real general\n3 3 3\n1 1 1\n2 2 2\n"},
  {"more entries than said", "%%MatrixMarket matrix coordinate real general\n3 3 1\n1 1 1\n2 2 2\n"},
  {"no value", "%%MatrixMarket matrix coordinate real general\n3 3 1\n1 1\n"},
  {"not a number", "%%MatrixMarket matrix coordinate real general\n3 3 2\n1 1 1\n2 x 2\n"},
  {"something behind the value", "%%MatrixMarket matrix coordinate real general\n3 3 1\n1 1 1 1\n"},
  {"a value beyond the largest number", PetscDefined(USE_REAL_SINGLE) ? "%%MatrixMarket matrix coordinate real general\n3 3 2\n1 1 1\n1 2 -1e39\n" : "%%MatrixMarket matrix coordinate real general\n3 3 2\n1 1 1\n1 2 -1e309\n"},
  {"infinity", "%%MatrixMarket matrix coordinate real general\n3 3 1\n1 1 inf\n"},
  {"not a number, by name", "%%MatrixMarket matrix coordinate real general\n3 3 1\n1 1 nan\n"},
  {"an integer with a fraction", "%%MatrixMarket matrix coordinate integer general\n3 3 1\n1 1 1.5\n"},
  {"an integer beyond 64 bits", "%%MatrixMarket matrix coordinate integer general\n3 3 1\n1 1 9223372036854775808\n"},
  {"a pattern with a value", "%%MatrixMarket matrix coordinate pattern general\n3 3 1\n1 1 1\n"},
  {"a column beyond 64 bits", "%%MatrixMarket matrix coordinate real general\n3 3 1\n1 99999999999999999999 1\n"},
  {"a column beyond 32 bits", "%%MatrixMarket matrix coordinate real general\n3 3 1\n1 4294967297 1\n"},
  {"a negative row", "%%MatrixMarket matrix coordinate real general\n3 3 1\n-1 1 1\n"},
  {"skew-symmetric pattern", "%%MatrixMarket matrix coordinate pattern skew-symmetric\n2 2 1\n2 1\n"},
  {"row out of range", "%%MatrixMarket matrix coordinate real general\n3 3 1\n4 1 1\n"},
  {"column zero", "%%MatrixMarket matrix coordinate real general\n3 3 1\n1 0 1\n"},
  {"blanks only", "  \n\n\t\n"},
  {"no percent sign", "MatrixMarket matrix coordinate real general\n1 1 1\n1 1 1\n"},
  {"three percent signs", "%%%MatrixMarket matrix coordinate real general\n1 1 1\n1 1 1\n"},
  {"a byte order mark that is cut", "\xef\xbb%%MatrixMarket matrix coordinate real general\n1 1 1\n1 1 1\n"},
  {"two byte order marks", "\xef\xbb\xbf\xef\xbb\xbf%%MatrixMarket matrix coordinate real general\n1 1 1\n1 1 1\n"},
  {"text in UTF-16", "\xff\xfe%@%@M@a@t@r@i@x@M@a@r@k@e@t@"},
  {"an exponent without a number", "%%MatrixMarket matrix coordinate real general\n1 1 1\n1 1 1D\n"},
  {"a number that is an exponent", "%%MatrixMarket matrix coordinate real general\n1 1 1\n1 1 D5\n"},
  {"two exponents", "%%MatrixMarket matrix coordinate real general\n1 1 1\n1 1 1d2E3\n"},
  {"an exponent with a fraction", "%%MatrixMarket matrix coordinate real general\n1 1 1\n1 1 1d2.5\n"},
  {"an integer with an exponent", "%%MatrixMarket matrix coordinate integer general\n1 1 1\n1 1 1D2\n"},
  {"a value beyond the largest number, with an exponent of Fortran", "%%MatrixMarket matrix coordinate real general\n1 1 1\n1 1 1D309\n"},
  {"both triangles", "%%MatrixMarket matrix coordinate real symmetric\n2 2 2\n2 1 1\n1 2 1\n"},
  {"skew-symmetric with a diagonal", "%%MatrixMarket matrix coordinate real skew-symmetric\n2 2 1\n1 1 3\n"},
};

/* Write a text, compressed if asked. Then spoil the file: keep cut bytes, and invert byte spoil */
static PetscErrorCode WriteFile(MPI_Comm comm, const char file[], const char text[], PetscBool compress, size_t cut, size_t spoil)
{
  PetscMPIInt rank;
  size_t      len;
  char       *bytes;

  PetscFunctionBegin;
  PetscCallMPI(MPI_Comm_rank(comm, &rank));
  if (rank == 0) {
    gzFile gz = gzopen(file, compress ? "wb" : "wbT");
    FILE  *fp;

    PetscCall(PetscStrallocpy(text, &bytes));
    PetscCall(PetscStrlen(text, &len));
    for (size_t k = 0; k < len; k++) bytes[k] = (char)(text[k] == '@' ? 0 : text[k]);
    PetscCheck(gz && gzwrite(gz, bytes, (unsigned)len) == (int)len && gzclose(gz) == Z_OK, PETSC_COMM_SELF, PETSC_ERR_FILE_WRITE, "Cannot write %s", file);
    PetscCall(PetscFree(bytes));
    if (cut) PetscCheck(!truncate(file, (off_t)cut), PETSC_COMM_SELF, PETSC_ERR_FILE_WRITE, "Cannot shorten %s", file);
    if (spoil) {
      int byte;

      fp = fopen(file, "r+b");
      PetscCheck(fp && !fseek(fp, (long)spoil, SEEK_SET) && (byte = fgetc(fp)) != EOF && !fseek(fp, (long)spoil, SEEK_SET) && fputc(byte ^ 0xff, fp) != EOF && !fclose(fp), PETSC_COMM_SELF, PETSC_ERR_FILE_WRITE, "Cannot spoil %s", file);
    }
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

/* All processes must have the same error and the same message. The first one prints it */
static PetscErrorCode PrintError(MPI_Comm comm, PetscErrorCode error)
{
  const char *message = "";
  char        first[2048];
  int         mine[2] = {0, 0}, all[2]; /* processes with an error, and with another message than the first */

  PetscFunctionBegin;
  if (error) PetscCall(ExampleErrorMessage(error, &message));
  PetscCall(PetscStrncpy(first, message, sizeof(first)));
  PetscCallMPI(MPI_Bcast(first, (PetscMPIInt)sizeof(first), MPI_CHAR, 0, comm));
  mine[0] = error ? 1 : 0;
  mine[1] = strcmp(message, first) ? 1 : 0;
  PetscCallMPI(MPI_Allreduce(mine, all, 2, MPI_INT, MPI_MAX, comm));
  PetscCallMPI(MPI_Allreduce(MPI_IN_PLACE, mine, 1, MPI_INT, MPI_MIN, comm));
  if (all[0] != mine[0] || all[1]) PetscCall(PetscPrintf(comm, "  the processes disagree\n"));
  PetscCall(PetscPrintf(comm, "  error: %s\n", first));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Load and print a matrix, or the error */
static PetscErrorCode Try(MPI_Comm comm, const char what[], const char file[])
{
  Mat            A;
  PetscErrorCode error;
  int            failed;

  PetscFunctionBegin;
  PetscCall(PetscPrintf(comm, "%s\n", what));
  PetscCall(MatCreate(comm, &A));
  PetscCall(MatSetType(A, MATAIJTCU));
  PetscCall(MatSetFromOptions(A));
  PetscCall(PetscPushErrorHandler(PetscReturnErrorHandler, NULL));
  error = ExampleMatLoad(comm, file, A);
  PetscCall(PetscPopErrorHandler());
  failed = error ? 1 : 0;
  PetscCallMPI(MPI_Allreduce(MPI_IN_PLACE, &failed, 1, MPI_INT, MPI_MAX, comm));
  if (failed) PetscCall(PrintError(comm, error));
  else PetscCall(PrintRows(comm, A));
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
  PetscCall(WriteFile(comm, "matloadtest.mtx", text, PETSC_FALSE, 0, 0));
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

/* Write numbers as PETSc does, most significant byte first */
static void WriteNumber(FILE *fp, PetscInt number)
{
  for (size_t i = sizeof(number); i-- > 0;) (void)fputc((int)((uint64_t)number >> 8 * i & 0xff), fp);
}

/*
   A file like PETSc's: a diagonal of two zeros, each of the given number of bytes. After it come the first bytes of a
   vector, as many as given.
*/
static PetscErrorCode WriteBinary(MPI_Comm comm, size_t bytes, size_t after)
{
  const PetscInt head[] = {MAT_FILE_CLASSID, 2, 2, 2, 1, 1, 0, 1}; /* sizes, row lengths, columns */
  PetscMPIInt    rank;

  PetscFunctionBegin;
  PetscCallMPI(MPI_Comm_rank(comm, &rank));
  if (rank == 0) {
    FILE *fp = fopen("matloadtest.petsc", "wb");

    PetscCheck(fp, PETSC_COMM_SELF, PETSC_ERR_FILE_OPEN, "Cannot open matloadtest.petsc");
    for (size_t k = 0; k < PETSC_STATIC_ARRAY_LENGTH(head); k++) WriteNumber(fp, head[k]);
    for (size_t k = 0; k < 2 * bytes; k++) (void)fputc(0, fp);
    for (size_t k = 0; k < after / sizeof(PetscInt); k++) WriteNumber(fp, k ? 0 : VEC_FILE_CLASSID);
    PetscCheck(!ferror(fp) && !fclose(fp), PETSC_COMM_SELF, PETSC_ERR_FILE_WRITE, "Cannot write matloadtest.petsc");
  }
  PetscCallMPI(MPI_Barrier(comm));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*
   Numbers of another size are an error that names the size. A file that is as long because another object follows the
   matrix is no error.
*/
static PetscErrorCode TryOtherNumbers(MPI_Comm comm)
{
  const size_t own = sizeof(PetscScalar), sizes[] = {sizeof(float), sizeof(double), 2 * sizeof(double)};

  PetscFunctionBegin;
  for (size_t k = 0; k < PETSC_STATIC_ARRAY_LENGTH(sizes); k++) {
    Mat            A;
    PetscErrorCode error;
    const char    *message = "";
    char           says[64];

    if (sizes[k] == own) continue;
    PetscCall(WriteBinary(comm, sizes[k], 0));
    PetscCall(MatCreate(comm, &A));
    PetscCall(MatSetType(A, MATAIJ));
    PetscCall(PetscPushErrorHandler(PetscReturnErrorHandler, NULL));
    error = ExampleMatLoad(comm, "matloadtest.petsc", A);
    PetscCall(PetscPopErrorHandler());
    if (error) PetscCall(ExampleErrorMessage(error, &message));
    PetscCall(PetscSNPrintf(says, sizeof(says), "its numbers have %d bytes, and those of this PETSc %d;", (int)sizes[k], (int)own));
    PetscCall(PetscPrintf(comm, "PETSc binary, numbers of another size\n  %s\n", strstr(message, says) ? "an error that says so" : "no such error"));
    PetscCall(MatDestroy(&A));
  }
  PetscCall(WriteBinary(comm, own, 2 * PetscMin(own, sizeof(double)))); /* two numbers of the next size, or less */
  PetscCall(Try(comm, "PETSc binary, a vector follows", "matloadtest.petsc"));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Lines longer than the reader's buffer are allowed as comments only */
static PetscErrorCode TryLong(MPI_Comm comm)
{
  const char   begin[] = "%%MatrixMarket matrix coordinate real general\n%", end[] = "\n1 1 1\n1 1 7\n";
  const size_t n = 200000;
  char        *text;

  PetscFunctionBegin;
  PetscCall(PetscMalloc1(sizeof(begin) + n + sizeof(end), &text));
  memcpy(text, begin, sizeof(begin) - 1);
  memset(text + sizeof(begin) - 1, 'x', n);
  memcpy(text + sizeof(begin) - 1 + n, end, sizeof(end));
  PetscCall(WriteFile(comm, "matloadtest.mtx", text, PETSC_FALSE, 0, 0));
  PetscCall(Try(comm, "a long comment", "matloadtest.mtx"));
  text[sizeof(begin) - 2] = 'x';
  PetscCall(WriteFile(comm, "matloadtest.mtx", text, PETSC_FALSE, 0, 0));
  PetscCall(Try(comm, "a long line", "matloadtest.mtx"));
  PetscCall(PetscFree(text));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static int MakePipe(const char file[])
{
  return mkfifo(file, 0600);
}

static int MakeLoop(const char file[])
{
  return symlink(file, file);
}

/* A name that is no regular file; make() makes it */
static PetscErrorCode TryMade(MPI_Comm comm, const char what[], const char file[], int (*make)(const char[]))
{
  PetscMPIInt rank;

  PetscFunctionBegin;
  PetscCallMPI(MPI_Comm_rank(comm, &rank));
  if (rank == 0) PetscCheck(!unlink(file) || errno == ENOENT, PETSC_COMM_SELF, PETSC_ERR_FILE_WRITE, "Cannot remove %s", file);
  if (rank == 0) PetscCheck(!(*make)(file), PETSC_COMM_SELF, PETSC_ERR_FILE_WRITE, "Cannot make %s", file);
  PetscCallMPI(MPI_Barrier(comm));
  PetscCall(Try(comm, what, file));
  PetscFunctionReturn(PETSC_SUCCESS);
}

int main(int argc, char **args)
{
  MPI_Comm    comm;
  PetscMPIInt rank;

  PetscFunctionBeginUser;
  PetscCall(PetscInitialize(&argc, &args, NULL, help));
  PetscCall(PetscDLLibraryRegister_petscaijtcu());
  comm = PETSC_COMM_WORLD;
  PetscCallMPI(MPI_Comm_rank(comm, &rank));
  for (size_t i = 0; i < PETSC_STATIC_ARRAY_LENGTH(cases); i++) {
    PetscCall(WriteFile(comm, "matloadtest.mtx", cases[i].text, PETSC_FALSE, 0, 0));
    PetscCall(Try(comm, cases[i].what, "matloadtest.mtx"));
  }
  PetscCall(WriteFile(comm, "matloadtest.mtx.gz", cases[0].text, PETSC_TRUE, 0, 0));
  PetscCall(Try(comm, "compressed", "matloadtest.mtx.gz"));
  PetscCall(WriteFile(comm, "matloadtest.mtx.gz", cases[0].text, PETSC_TRUE, 100, 0));
  PetscCall(Try(comm, "compressed, truncated", "matloadtest.mtx.gz"));
  PetscCall(WriteFile(comm, "matloadtest.mtx.gz", cases[0].text, PETSC_TRUE, 5, 0));
  PetscCall(Try(comm, "compressed, truncated in its header", "matloadtest.mtx.gz"));
  PetscCall(WriteFile(comm, "matloadtest.mtx.gz", cases[0].text, PETSC_TRUE, 0, 40));
  PetscCall(Try(comm, "compressed, damaged", "matloadtest.mtx.gz"));
  PetscCall(TryLong(comm));
  PetscCall(Try(comm, "no such file", "matloadtest.missing"));
  PetscCall(Try(comm, "a folder", "."));
  PetscCall(TryMade(comm, "a pipe that nobody writes to", "matloadtest.pipe", MakePipe));
  PetscCall(TryMade(comm, "a link to itself, which nobody may open", "matloadtest.loop", MakeLoop));
  PetscCall(TryBinary(comm, cases[0].text));
  PetscCallMPI(MPI_Barrier(comm));
  if (rank == 0) PetscCheck(!truncate("matloadtest.petsc", 10), PETSC_COMM_SELF, PETSC_ERR_FILE_WRITE, "Cannot truncate matloadtest.petsc");
  PetscCallMPI(MPI_Barrier(comm));
  PetscCall(Try(comm, "PETSc binary, truncated in its head", "matloadtest.petsc"));
  PetscCall(TryOtherNumbers(comm));
  PetscCall(PetscFinalize());
  return 0;
}

/*TEST

   # the harness adds -malloc_dump: what an error leaves allocated becomes output
   test:
      nsize: {{1 2 3 4}}
      args: -mat_type {{aij aijtcu}}

TEST*/
