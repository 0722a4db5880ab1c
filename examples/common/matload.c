#include "matload.h"
#include "mtxreader.h"
#include <sys/stat.h>

#define CHUNK 131072 /* most entries of the file that are read between two exchanges */

/* Entries in the order of the file, with repeats. A list, because growing it moves nothing */
typedef struct _n_Triples *Triples;
struct _n_Triples {
  PetscInt    *row, *col;
  PetscScalar *value;
  PetscMPIInt  n;
  Triples      next;
};

static PetscErrorCode TriplesCreate(PetscMPIInt n, Triples *t)
{
  PetscFunctionBegin;
  PetscCall(PetscNew(t));
  PetscCall(PetscMalloc3(n, &(*t)->row, n, &(*t)->col, n, &(*t)->value));
  (*t)->n = n;
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* First part of a list */
static PetscErrorCode TriplesRemove(Triples *list)
{
  Triples t = *list;

  PetscFunctionBegin;
  *list = t->next;
  PetscCall(PetscFree3(t->row, t->col, t->value));
  PetscCall(PetscFree(t));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode TriplesDestroy(Triples *list)
{
  PetscFunctionBegin;
  while (*list) PetscCall(TriplesRemove(list));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* What rank 0 sends: its chunk sorted by owner, and where the part of each rank lies */
typedef struct {
  MtxReader    reader;
  PetscMPIInt  most; /* entries of a chunk; an entry of a symmetric file counts twice */
  Triples      chunk, sorted;
  PetscMPIInt *owner, *count, *start;
} Sender;

static PetscErrorCode SenderCreate(PetscMPIInt size, Sender *s)
{
  PetscFunctionBegin;
  s->most = 2 * (s->reader.nnz < CHUNK ? (PetscMPIInt)s->reader.nnz + 1 : CHUNK);
  PetscCall(PetscMalloc3(s->most, &s->owner, size, &s->count, size, &s->start));
  PetscCall(TriplesCreate(s->most, &s->chunk));
  PetscCall(TriplesCreate(s->most, &s->sorted));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode SenderDestroy(Sender *s)
{
  PetscFunctionBegin;
  MtxClose(&s->reader);
  PetscCall(PetscFree3(s->owner, s->count, s->start));
  PetscCall(TriplesDestroy(&s->chunk));
  PetscCall(TriplesDestroy(&s->sorted));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*
   Read one chunk and sort it by owner. An entry off the diagonal of a symmetric file becomes two. Returns false when
   the file is done.
*/
static PetscErrorCode SenderRead(Sender *s, PetscLayout rmap, PetscMPIInt size, PetscBool *more)
{
  MtxReader *r = &s->reader;
  Triples    t = s->chunk;

  PetscFunctionBegin;
  *more = PETSC_TRUE;
  for (t->n = 0; t->n < s->most - 1;) {
    PetscInt64 i, j;
    double     v;

    *more = MtxNext(r, &i, &j, &v);
    if (!*more) break;
    t->row[t->n]     = (PetscInt)i;
    t->col[t->n]     = (PetscInt)j;
    t->value[t->n++] = (PetscScalar)v;
    if (r->symmetry != MTX_GENERAL && i != j) {
      t->row[t->n]     = (PetscInt)j;
      t->col[t->n]     = (PetscInt)i;
      t->value[t->n++] = (PetscScalar)(r->symmetry == MTX_SKEW ? -v : v);
    }
  }
  PetscCall(PetscArrayzero(s->count, size));
  for (PetscMPIInt k = 0; k < t->n; k++) {
    PetscCall(PetscLayoutFindOwner(rmap, t->row[k], &s->owner[k]));
    s->count[s->owner[k]]++;
  }
  for (PetscMPIInt p = 0, sum = 0; p < size; p++) {
    s->start[p] = sum;
    sum += s->count[p];
  }
  for (PetscMPIInt k = 0; k < t->n; k++) {
    PetscMPIInt to = s->start[s->owner[k]]++;

    s->sorted->row[to]   = t->row[k];
    s->sorted->col[to]   = t->col[k];
    s->sorted->value[to] = t->value[k];
  }
  for (PetscMPIInt p = 0; p < size; p++) s->start[p] -= s->count[p];
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Raise on all processes the error that rank 0 found, after rank 0 has released its memory */
static PetscErrorCode SenderCheck(MPI_Comm comm, Sender *s, Triples *mine)
{
  PetscMPIInt    rank;
  PetscErrorCode error = s->reader.error;
  char           message[sizeof(s->reader.message)];

  PetscFunctionBegin;
  PetscCallMPI(MPI_Comm_rank(comm, &rank));
  PetscCallMPI(MPI_Bcast(&error, 1, MPI_INT, 0, comm));
  if (!error) PetscFunctionReturn(PETSC_SUCCESS);
  if (rank == 0) PetscCall(PetscStrncpy(message, s->reader.message, sizeof(message)));
  PetscCallMPI(MPI_Bcast(message, (PetscMPIInt)sizeof(message), MPI_CHAR, 0, comm));
  PetscCall(SenderDestroy(s));
  PetscCall(TriplesDestroy(mine));
  SETERRQ(comm, error, "%s", message);
}

/* The entries of this process by rows. Each row is sorted and without repeats */
typedef struct {
  PetscInt     m, rstart;
  PetscCount  *start; /* start of each row, [m + 1]. With repeats a row ends before the next one begins */
  PetscInt    *n;     /* entries of each row, [m] */
  PetscInt    *col;
  PetscScalar *value;
} Rows;

static int CompareColumns(const void *a, const void *b, PETSC_UNUSED void *ctx)
{
  const PetscInt i = *(const PetscInt *)a, j = *(const PetscInt *)b;

  return i < j ? -1 : i > j;
}

/*
   Sort by columns; repeats stay in the order of the file. Indices are sorted rather than values, because PETSc's sort
   moves accompanying data through memory of the size of the keys.
*/
static PetscErrorCode RowSort(PetscInt n, PetscInt col[], PetscScalar value[])
{
  PetscInt    *from;
  PetscScalar *copy;

  PetscFunctionBegin;
  PetscCall(PetscMalloc2(n, &from, n, &copy));
  PetscCall(PetscArraycpy(copy, value, n));
  for (PetscInt k = 0; k < n; k++) from[k] = k;
  PetscCall(PetscTimSortWithArray(n, col, sizeof(*col), from, sizeof(*from), CompareColumns, NULL));
  for (PetscInt k = 0; k < n; k++) value[k] = copy[from[k]];
  PetscCall(PetscFree2(from, copy));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*
   Sort a row. Files are mostly sorted one way or the other. For other rows the time must stay bounded, even if a row
   is long
*/
static PetscErrorCode RowsSort(Rows *rows)
{
  PetscFunctionBegin;
  for (PetscInt i = 0; i < rows->m; i++) {
    PetscInt    *col = PetscSafePointerPlusOffset(rows->col, rows->start[i]), n, unique = 0;
    PetscScalar *value = PetscSafePointerPlusOffset(rows->value, rows->start[i]);
    PetscBool    sorted;

    PetscCall(PetscIntCast(rows->start[i + 1] - rows->start[i], &n));
    PetscCall(PetscSortedInt(n, col, &sorted));
    if (!sorted) PetscCall(RowSort(n, col, value));
    for (PetscInt k = 0; k < n; k++) {
      if (unique && col[k] == col[unique - 1]) value[unique - 1] += value[k];
      else {
        col[unique]     = col[k];
        value[unique++] = value[k];
      }
    }
    rows->n[i] = unique;
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Takes the list. Its memory is freed as that of the rows is filled */
static PetscErrorCode RowsCreate(Triples *list, PetscInt rstart, PetscInt m, Rows *rows)
{
  PetscCount *start;

  PetscFunctionBegin;
  rows->m      = m;
  rows->rstart = rstart;
  /* the start of row i is at i + 2 while counting, and at i + 1 while filling; after that it is at i */
  PetscCall(PetscCalloc1(m + 2, &start));
  for (Triples t = *list; t; t = t->next) {
    for (PetscMPIInt k = 0; k < t->n; k++) start[t->row[k] - rstart + 2]++;
  }
  for (PetscInt i = 0; i < m; i++) start[i + 2] += start[i + 1];
  PetscCall(PetscMalloc1(start[m + 1], &rows->col));
  PetscCall(PetscMalloc1(start[m + 1], &rows->value));
  while (*list) {
    const Triples t = *list;

    for (PetscMPIInt k = 0; k < t->n; k++) {
      const PetscCount to = start[t->row[k] - rstart + 1]++;

      rows->col[to]   = t->col[k];
      rows->value[to] = t->value[k];
    }
    PetscCall(TriplesRemove(list));
  }
  rows->start = start;
  PetscCall(PetscMalloc1(m, &rows->n));
  PetscCall(RowsSort(rows));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode RowsDestroy(Rows *rows)
{
  PetscFunctionBegin;
  PetscCall(PetscFree(rows->start));
  PetscCall(PetscFree(rows->n));
  PetscCall(PetscFree(rows->col));
  PetscCall(PetscFree(rows->value));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Fill a matrix of any type. Kinds of AIJ get their memory at once, in the right size */
static PetscErrorCode RowsToMat(const Rows *rows, Mat A)
{
  PetscInt *diagonal, *other, cstart, cend;

  PetscFunctionBegin;
  PetscCall(MatGetOwnershipRangeColumn(A, &cstart, &cend));
  PetscCall(PetscCalloc2(rows->m, &diagonal, rows->m, &other));
  for (PetscInt i = 0; i < rows->m; i++) {
    for (PetscCount k = rows->start[i]; k < rows->start[i] + rows->n[i]; k++) diagonal[i] += rows->col[k] >= cstart && rows->col[k] < cend ? 1 : 0;
    other[i] = rows->n[i] - diagonal[i];
  }
  PetscCall(MatSeqAIJSetPreallocation(A, 0, diagonal));
  PetscCall(MatMPIAIJSetPreallocation(A, 0, diagonal, 0, other));
  PetscCall(PetscFree2(diagonal, other));
  for (PetscInt i = 0; i < rows->m; i++) {
    const PetscInt row = rows->rstart + i;

    PetscCall(MatSetValues(A, 1, &row, rows->n[i], PetscSafePointerPlusOffset(rows->col, rows->start[i]), PetscSafePointerPlusOffset(rows->value, rows->start[i]), INSERT_VALUES));
  }
  PetscCall(MatAssemblyBegin(A, MAT_FINAL_ASSEMBLY));
  PetscCall(MatAssemblyEnd(A, MAT_FINAL_ASSEMBLY));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode MatLoad_MatrixMarket(MPI_Comm comm, const char file[], Mat A)
{
  Sender      s    = {0};
  Triples     mine = NULL, *last = &mine, t;
  Rows        rows;
  PetscInt64  dims[2];
  PetscLayout rmap, cmap;
  PetscBool   more;
  PetscMPIInt rank, size;

  PetscFunctionBegin;
  PetscCallMPI(MPI_Comm_rank(comm, &rank));
  PetscCallMPI(MPI_Comm_size(comm, &size));
  if (rank == 0) {
    MtxOpen(&s.reader, file);
    dims[0] = s.reader.m;
    dims[1] = s.reader.n;
  }
  PetscCall(SenderCheck(comm, &s, &mine));
  if (rank == 0) PetscCall(SenderCreate(size, &s));
  PetscCallMPI(MPI_Bcast(dims, 2, MPIU_INT64, 0, comm));
  PetscCall(MatSetSizes(A, PETSC_DECIDE, PETSC_DECIDE, (PetscInt)dims[0], (PetscInt)dims[1]));
  PetscCall(MatGetLayouts(A, &rmap, &cmap));
  PetscCall(PetscLayoutSetUp(rmap));
  PetscCall(PetscLayoutSetUp(cmap));
  do {
    PetscMPIInt n;

    if (rank == 0) PetscCall(SenderRead(&s, rmap, size, &more));
    PetscCall(SenderCheck(comm, &s, &mine));
    PetscCallMPI(MPI_Bcast(&more, 1, MPI_C_BOOL, 0, comm));
    PetscCallMPI(MPI_Scatter(s.count, 1, MPI_INT, &n, 1, MPI_INT, 0, comm));
    PetscCall(TriplesCreate(n, last));
    t    = *last;
    last = &t->next;
    PetscCallMPI(MPI_Scatterv(rank ? NULL : s.sorted->row, s.count, s.start, MPIU_INT, t->row, n, MPIU_INT, 0, comm));
    PetscCallMPI(MPI_Scatterv(rank ? NULL : s.sorted->col, s.count, s.start, MPIU_INT, t->col, n, MPIU_INT, 0, comm));
    PetscCallMPI(MPI_Scatterv(rank ? NULL : s.sorted->value, s.count, s.start, MPIU_SCALAR, t->value, n, MPIU_SCALAR, 0, comm));
  } while (more);
  PetscCall(SenderDestroy(&s));
  PetscCall(RowsCreate(&mine, rmap->rstart, rmap->n, &rows));
  PetscCall(RowsToMat(&rows, A));
  PetscCall(RowsDestroy(&rows));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* What rank 0 sees in a PETSc binary file before the file is loaded */
typedef struct {
  int binary; /* whether it is one, and begins with a matrix */
  int bytes;  /* bytes of a number in it; 0 for this PETSc's size, or to let MatLoad() find out */
} BinaryFile;

/*
   Read the n numbers at a place in PETSc's format for PetscInt, most significant byte first. Returns how many there
   are
*/
static int ReadNumbers(const char file[], uint64_t place, int n, uint64_t number[])
{
  FILE         *fp = fopen(file, "rb");
  unsigned char b[sizeof(PetscInt)];
  int           got = 0;

  if (fp && !fseeko(fp, (off_t)place, SEEK_SET)) {
    for (; got < n && fread(b, sizeof(b), 1, fp) == 1; got++) {
      number[got] = 0;
      for (size_t i = 0; i < sizeof(b); i++) number[got] = 256 * number[got] + b[i];
    }
  }
  if (fp) (void)fclose(fp);
  return got;
}

/*
   Look at a PETSc binary file. One with a sparse matrix and nothing else has the size that its numbers imply.
   MatLoad() does not check the size, and takes the first half of numbers of twice the size for its own.

   If another object follows the matrix, it begins with one of the numbers that PETSc writes before objects. What
   cannot be read is left to the reader that follows.
*/
static BinaryFile LookAtFile(const char file[])
{
  BinaryFile  found = {0, 0};
  struct stat status;
  /*
     head: MAT_FILE_CLASSID, rows, columns, entries. The file goes on with the lengths of rows, the columns and the
     numbers of all entries. next: the number after these
  */
  uint64_t     head[4], next, before;
  const size_t sizes[] = {sizeof(float), sizeof(double), 2 * sizeof(double)};
  int          got;

  if (stat(file, &status) || !S_ISREG(status.st_mode)) return found;
  got          = ReadNumbers(file, 0, 4, head);
  found.binary = got > 0 && head[0] == (uint64_t)MAT_FILE_CLASSID;
  /* There cannot be more of them than bytes */
  if (!found.binary || got < 4 || head[1] > (uint64_t)status.st_size || head[3] > (uint64_t)status.st_size || !head[3]) return found;
  before = (4 + head[1] + head[3]) * sizeof(PetscInt);
  if (ReadNumbers(file, before + head[3] * sizeof(PetscScalar), 1, &next) && next / 100 == (uint64_t)MAT_FILE_CLASSID / 100) return found;
  for (size_t k = 0; k < PETSC_STATIC_ARRAY_LENGTH(sizes); k++) {
    if (sizes[k] != sizeof(PetscScalar) && (uint64_t)status.st_size == before + head[3] * sizes[k]) found.bytes = (int)sizes[k];
  }
  return found;
}

/*@
  ExampleMatLoad - Loads a sparse matrix from a Matrix Market file or a PETSc binary file

  Collective

  Input Parameters:
+ comm - the communicator of `A`
. file - name of the file, which rank 0 reads
- A    - the matrix, its type and options set, its sizes not

  Level: beginner

  Notes:
  A Matrix Market file may be compressed (gzip). It holds a coordinate matrix: real, integer or pattern; general,
  symmetric or skew-symmetric. Exponents may begin with D, as Fortran writes them. The first line may begin with one
  percent sign, with blanks, or with a byte order mark. Repeated entries are summed, and explicit zeros are kept. Values
  that are not finite are refused. So are sizes of more than a million if the file has less than a tenth as many
  entries.

  A PETSc binary file has the numbers and indices of the PETSc that wrote it. A file of another precision is refused
  where its size tells the precision.

  Rank 0 holds one chunk of a Matrix Market file at a time, and sends each entry to the owner of its row. Every process
  needs some 30 bytes for each entry of its rows, in double precision with 32-bit indices. It keeps 12 of these. An
  error names file and line on every process.

.seealso: `MatLoad()`, `MatSeqAIJSetPreallocation()`, `MatMPIAIJSetPreallocation()`
@*/
PetscErrorCode ExampleMatLoad(MPI_Comm comm, const char file[], Mat A)
{
  PetscViewer    viewer;
  PetscMPIInt    rank;
  BinaryFile     found = {0, 0};
  PetscErrorCode ierr;

  PetscFunctionBegin;
  PetscCallMPI(MPI_Comm_rank(comm, &rank));
  if (rank == 0) found = LookAtFile(file);
  PetscCallMPI(MPI_Bcast(&found, 2, MPI_INT, 0, comm));
  PetscCheck(!found.bytes, comm, PETSC_ERR_FILE_UNEXPECTED, "%s, a PETSc binary file: its numbers have %d bytes, and those of this PETSc %d; load it with a PETSc that has such numbers and write it as Matrix Market (MatView() with PETSC_VIEWER_ASCII_MATRIXMARKET), which any can read", file, found.bytes, (int)sizeof(PetscScalar));
  if (found.binary) {
    PetscCall(PetscViewerBinaryOpen(comm, file, FILE_MODE_READ, &viewer));
    ierr = MatLoad(A, viewer);
    PetscCall(PetscViewerDestroy(&viewer));
    /* PETSc does not name the file */
    if (ierr) SETERRQ(comm, ierr, "%s, a PETSc binary file: it is truncated, damaged, or holds something else than a sparse matrix for this PETSc's numbers and indices", file);
  } else PetscCall(MatLoad_MatrixMarket(comm, file, A));
  PetscFunctionReturn(PETSC_SUCCESS);
}
