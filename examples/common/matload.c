#include "matload.h"
#include "mtxreader.h"

#define CHUNK 131072 /* entries of the file read between two exchanges */

/* Entries of the rows of this process, with repeats */
typedef struct {
  PetscInt    *row, *col;
  PetscScalar *value;
  PetscCount   n, allocated;
} Triples;

static PetscErrorCode TriplesGrow(Triples *t, PetscCount n)
{
  PetscFunctionBegin;
  if (n > t->allocated) {
    t->allocated = PetscMax(n, 2 * t->allocated);
    PetscCall(PetscRealloc(t->allocated * sizeof(*t->row), &t->row));
    PetscCall(PetscRealloc(t->allocated * sizeof(*t->col), &t->col));
    PetscCall(PetscRealloc(t->allocated * sizeof(*t->value), &t->value));
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode TriplesDestroy(Triples *t)
{
  PetscFunctionBegin;
  PetscCall(PetscFree(t->row));
  PetscCall(PetscFree(t->col));
  PetscCall(PetscFree(t->value));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* What rank 0 sends: its chunk, and where the part of each rank lies once sorted by owner */
typedef struct {
  MtxReader    reader;
  Triples      chunk, sorted;
  PetscMPIInt *owner, *count, *start;
} Sender;

static PetscErrorCode SenderCreate(PetscMPIInt size, Sender *s)
{
  PetscFunctionBegin;
  PetscCall(PetscMalloc3(2 * CHUNK, &s->owner, size, &s->count, size, &s->start));
  PetscCall(TriplesGrow(&s->chunk, 2 * CHUNK));
  PetscCall(TriplesGrow(&s->sorted, 2 * CHUNK));
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

/* Read one chunk and sort it by owner; an entry off the diagonal of a symmetric file becomes two. False when the file is done */
static PetscErrorCode SenderRead(Sender *s, PetscLayout rmap, PetscMPIInt size, PetscBool *more)
{
  MtxReader *r = &s->reader;
  Triples   *t = &s->chunk;

  PetscFunctionBegin;
  *more = PETSC_TRUE;
  for (t->n = 0; t->n < 2 * CHUNK - 1;) {
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
  for (PetscCount k = 0; k < t->n; k++) {
    PetscCall(PetscLayoutFindOwner(rmap, t->row[k], &s->owner[k]));
    s->count[s->owner[k]]++;
  }
  for (PetscMPIInt p = 0, sum = 0; p < size; p++) {
    s->start[p] = sum;
    sum += s->count[p];
  }
  for (PetscCount k = 0; k < t->n; k++) {
    PetscMPIInt to = s->start[s->owner[k]]++;

    s->sorted.row[to]   = t->row[k];
    s->sorted.col[to]   = t->col[k];
    s->sorted.value[to] = t->value[k];
  }
  for (PetscMPIInt p = 0; p < size; p++) s->start[p] -= s->count[p];
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Raise on all processes what rank 0 found, after it has released what it holds */
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

static PetscErrorCode MatLoad_MatrixMarket(MPI_Comm comm, const char file[], Mat A)
{
  Sender      s    = {0};
  Triples     mine = {0};
  PetscInt64  dims[2];
  PetscLayout rmap, cmap;
  PetscBool   more;
  PetscMPIInt rank, size;

  PetscFunctionBegin;
  PetscCallMPI(MPI_Comm_rank(comm, &rank));
  PetscCallMPI(MPI_Comm_size(comm, &size));
  if (rank == 0) {
    PetscCall(SenderCreate(size, &s));
    MtxOpen(&s.reader, file);
    dims[0] = s.reader.m;
    dims[1] = s.reader.n;
  }
  PetscCall(SenderCheck(comm, &s, &mine));
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
    PetscCall(TriplesGrow(&mine, mine.n + n));
    PetscCallMPI(MPI_Scatterv(s.sorted.row, s.count, s.start, MPIU_INT, PetscSafePointerPlusOffset(mine.row, mine.n), n, MPIU_INT, 0, comm));
    PetscCallMPI(MPI_Scatterv(s.sorted.col, s.count, s.start, MPIU_INT, PetscSafePointerPlusOffset(mine.col, mine.n), n, MPIU_INT, 0, comm));
    PetscCallMPI(MPI_Scatterv(s.sorted.value, s.count, s.start, MPIU_SCALAR, PetscSafePointerPlusOffset(mine.value, mine.n), n, MPIU_SCALAR, 0, comm));
    mine.n += n;
  } while (more);
  if (rank == 0) PetscCall(SenderDestroy(&s));
  PetscCall(MatSetPreallocationCOO(A, mine.n, mine.row, mine.col));
  PetscCall(MatSetValuesCOO(A, mine.value, INSERT_VALUES));
  PetscCall(TriplesDestroy(&mine));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Whether a file begins with the number that PETSc writes before a matrix, as a PetscInt; a file that cannot be read is left to the reader that follows */
static PetscBool IsPetscBinary(const char file[])
{
  FILE         *fp = fopen(file, "rb");
  unsigned char b[sizeof(PetscInt)];
  PetscInt64    first = 0;

  if (!fp) return PETSC_FALSE;
  if (fread(b, sizeof(b), 1, fp) == 1) {
    for (size_t i = 0; i < sizeof(b); i++) first = 256 * first + b[i]; /* the most significant byte comes first */
  }
  (void)fclose(fp);
  return (PetscBool)(first == MAT_FILE_CLASSID);
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
  A Matrix Market file may be compressed (gzip) and holds a coordinate matrix: real, integer or pattern; general, symmetric or
  skew-symmetric. Repeated entries are summed, explicit zeros are kept.

  Rank 0 holds one chunk of a Matrix Market file at a time and sends each entry to the owner of its row. An error names file and line on every process.

.seealso: `MatLoad()`, `MatSetPreallocationCOO()`
@*/
PetscErrorCode ExampleMatLoad(MPI_Comm comm, const char file[], Mat A)
{
  PetscViewer viewer;
  PetscMPIInt rank;
  PetscBool   binary = PETSC_FALSE;

  PetscFunctionBegin;
  PetscCallMPI(MPI_Comm_rank(comm, &rank));
  if (rank == 0) binary = IsPetscBinary(file);
  PetscCallMPI(MPI_Bcast(&binary, 1, MPI_C_BOOL, 0, comm));
  if (binary) {
    PetscCall(PetscViewerBinaryOpen(comm, file, FILE_MODE_READ, &viewer));
    PetscCall(MatLoad(A, viewer));
    PetscCall(PetscViewerDestroy(&viewer));
  } else PetscCall(MatLoad_MatrixMarket(comm, file, A));
  PetscFunctionReturn(PETSC_SUCCESS);
}
