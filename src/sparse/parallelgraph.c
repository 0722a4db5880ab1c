/*
   Graphs of all processes on their devices: squares, and graphs of aggregates.

   There are patterns alone. Rows that others need, or have of an aggregate, go through memory of the host: these are
   rows at the borders of processes.

   What a process cannot do by itself, for lack of memory or code, all give up.
*/
#include "parallelgraph.h"
#include "parallelplan.h"

#if AIJTCU_HAVE_PARALLEL_COARSENING
  #include <petscdevice_cuda.h>

static PetscErrorCode AIJTCUArraysFree(SparseGraph *g)
{
  HrpbError err;

  PetscFunctionBegin;
  if (!g->rowptr) PetscFunctionReturn(PETSC_SUCCESS);
  err = SparseGraphDestroy(g, HRPB_SUCCESS, AIJTCUDeviceStreamBehind());
  AIJTCUWorkspaceUser(PETSC_FALSE);
  PetscCall(AIJTCUCheckRefused(err));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* arrays, of which this is a user until it is destroyed, and ghosts are taken over. Collective */
PetscErrorCode AIJTCUPartCreate(PetscLayout nodes, const SparseMatrix *G, SparseGraph arrays, PetscInt ghosts[],
  AIJTCUPart *part)
{
  PetscFunctionBegin;
  *part = (AIJTCUPart){.G = *G, .arrays = arrays, .ghosts = ghosts};
  PetscCall(PetscLayoutReference(nodes, &part->nodes));
  PetscCall(AIJTCUGhostsCreate(nodes, AIJTCUPartGhosts(part), ghosts, &part->exchange));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Nothing is left of it */
PetscErrorCode AIJTCUPartDestroy(AIJTCUPart *part)
{
  PetscFunctionBegin;
  PetscCall(AIJTCUArraysFree(&part->arrays));
  PetscCall(PetscFree(part->ghosts));
  if (part->nodes) PetscCall(AIJTCUGhostsDestroy(&part->exchange));
  PetscCall(PetscLayoutDestroy(&part->nodes));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* A number of each node, behind which there are those of ghosts then. Collective */
PetscErrorCode AIJTCUPartTell(const AIJTCUPart *part, PetscInt number[])
{
  PetscInt *ghosts = number + part->nodes->n;

  PetscFunctionBegin;
  PetscCall(PetscSFBcastBegin(part->exchange.sf, MPIU_INT, number, ghosts, MPI_REPLACE));
  PetscCall(PetscSFBcastEnd(part->exchange.sf, MPIU_INT, number, ghosts, MPI_REPLACE));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Bring rows of M: their lengths, with room for one more number, and their columns. The caller frees *columns */
static PetscErrorCode AIJTCUTakeOnStream(const SparseMatrix *M, PetscInt n, const PetscInt rows[], PetscInt lengths[],
  PetscInt **columns, cudaStream_t stream, HrpbError *err)
{
  PetscInt *rowptr, *to;

  PetscFunctionBegin;
  PetscCall(PetscMalloc2(M->nrows + 1, &rowptr, n + 1, &to));
  PetscCall(AIJTCUSparseBring(rowptr, M->rowptr, sizeof(*rowptr) * (size_t)(M->nrows + 1), stream));
  to[0] = 0;
  for (PetscInt i = 0; i < n; i++) {
    lengths[i] = rowptr[rows[i] + 1] - rowptr[rows[i]];
    if (lengths[i] > PETSC_INT_MAX - to[i]) *err = HRPB_ERR_OVERFLOW;
    to[i + 1] = *err ? 0 : to[i] + lengths[i];
  }
  PetscCall(PetscMalloc1(to[n], columns));
  if (!*err) AIJTCUCallDevice(*err, SparseTakeRows(M, n, rows, to, stream, *columns));
  PetscCall(PetscFree2(rowptr, to));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Columns of M as `more` numbers them, and below its rows those that have come, with these columns */
static PetscErrorCode AIJTCUStackOnStream(const SparseMatrix *M, PetscInt own, const AIJTCUGhostColumns *more,
  const AIJTCUShipment *come, const PetscInt columns[], cudaStream_t stream, SparseGraph *both, HrpbError *err)
{
  const size_t  size = sizeof(PetscInt);
  const int64_t nnz = M->nnz + come->received, others = M->ncols - own;
  HrpbInt      *map = NULL;
  PetscInt     *rowptr;

  PetscFunctionBegin;
  *both = (SparseGraph){.n = M->nrows + come->nrows, .nnz = nnz};
  if (nnz > PETSC_INT_MAX) *err = HRPB_ERR_OVERFLOW;
  if (*err) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCall(AIJTCUDeviceMalloc(size * (size_t)(both->n + 1), stream, (void **)&both->rowptr));
  PetscCall(AIJTCUDeviceMalloc(size * (size_t)nnz, stream, (void **)&both->colidx));
  PetscCall(AIJTCUDeviceMalloc(size * (size_t)others, stream, (void **)&map));
  if (!both->rowptr || !both->colidx || !map) *err = HRPB_ERR_DEVICE_MEMORY;
  else {
    PetscCall(PetscMalloc1(come->nrows, &rowptr));
    for (PetscInt r = 0; r < come->nrows; r++) rowptr[r] = (PetscInt)M->nnz + come->rowptr[r + 1];
    PetscCallCUDA(cudaMemcpyAsync(both->rowptr, M->rowptr, size * (size_t)(M->nrows + 1), cudaMemcpyDeviceToDevice, stream));
    PetscCall(AIJTCUToDevice(both->rowptr + M->nrows + 1, rowptr, size * (size_t)come->nrows, stream));
    PetscCall(AIJTCUToDevice(both->colidx + M->nnz, columns, size * (size_t)come->received, stream));
    PetscCall(AIJTCUToDevice(map, more->map, size * (size_t)others, stream));
    AIJTCUCallDevice(*err, SparseRenumber(M->nnz, M->colidx, own, map, both->colidx, stream));
    PetscCallCUDA(cudaStreamSynchronize(stream)); /* whatever memory of the host CUDA copies later */
    PetscCall(PetscFree(rowptr));
  }
  if (map) PetscCallCUDA(cudaFreeAsync(map, stream));
  if (*err) *err = SparseGraphDestroy(both, *err, stream);
  PetscFunctionReturn(PETSC_SUCCESS);
}

static inline SparseMatrix AIJTCUArraysOf(const SparseGraph *g, int64_t ncols)
{
  return (SparseMatrix){.nrows = g->n, .ncols = ncols, .nnz = g->nnz, .rowptr = g->rowptr, .colidx = g->colidx};
}

/* A graph of the rows of this process and those that have come, whose columns are numbered as `more` has it */
typedef PetscErrorCode (*AIJTCUWithRowsFn)(const void *ctx, const AIJTCUGhostColumns *more, const AIJTCUShipment *come, const PetscInt columns[],
  cudaStream_t stream, SparseGraph *g, HrpbError *err);

/* What all have made becomes a graph, or nothing is left of it. Ghosts are those of `columns`. Collective */
static PetscErrorCode AIJTCUPartFinish(PetscLayout nodes, SparseGraph arrays, const AIJTCUGhostColumns *columns,
  PetscErrorCode ierr, HrpbError err, AIJTCUPart *part, PetscBool *ok)
{
  const SparseMatrix G = AIJTCUArraysOf(&arrays, nodes->n + columns->n);
  PetscInt          *ghosts;

  PetscFunctionBegin;
  if (arrays.rowptr) AIJTCUWorkspaceUser(PETSC_TRUE);
  ierr = AIJTCUAgree(nodes->comm, ierr, (PetscBool)!err, ok);
  if (ierr || !*ok) (void)AIJTCUArraysFree(&arrays);
  PetscCall(ierr);
  if (!*ok) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCall(PetscMalloc1(columns->n, &ghosts));
  PetscCall(PetscArraycpy(ghosts, columns->columns, columns->n));
  PetscCall(AIJTCUPartCreate(nodes, &G, arrays, ghosts, part));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*
   Send rows, which are here: their lengths, and columns as all processes number them. With those that come f makes a
   graph of these nodes. Some of its columns are known. Collective
*/
static PetscErrorCode AIJTCUPartWithRows(const AIJTCUGhostRows *rows, AIJTCUSide from, PetscInt lengths[], const PetscInt list[],
  PetscLayout nodes, PetscInt nknown, const PetscInt known[], AIJTCUWithRowsFn f, const void *ctx, AIJTCUPart *part,
  PetscBool *ok)
{
  AIJTCUShipment     come   = {.sent = 0};
  AIJTCUGhostColumns more   = {.n = 0};
  SparseGraph        arrays = {.rowptr = NULL};
  cudaStream_t       stream = NULL;
  HrpbError          err    = HRPB_SUCCESS;
  PetscInt          *columns;
  PetscErrorCode     ierr;

  PetscFunctionBegin;
  PetscCall(AIJTCUShipmentCreate(rows, from, lengths, list, &come, &columns));
  PetscCall(AIJTCUNumberColumns(nodes, nknown, known, come.received, columns, &more));
  ierr = AIJTCUDeviceBegin(&stream);
  if (!ierr) ierr = (*f)(ctx, &more, &come, columns, stream, &arrays, &err);
  ierr = AIJTCUPartWorked(stream, ierr);
  ierr = AIJTCUPartFinish(nodes, arrays, &more, ierr, err, part, ok);
  (void)AIJTCUGhostColumnsDestroy(&more);
  (void)AIJTCUShipmentDestroy(&come);
  (void)PetscFree(columns);
  PetscCall(ierr);
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode AIJTCUPartSquareOnStream(const void *ctx, const AIJTCUGhostColumns *more, const AIJTCUShipment *come,
  const PetscInt columns[], cudaStream_t stream, SparseGraph *square, HrpbError *err)
{
  const AIJTCUPart *part = (const AIJTCUPart *)ctx;
  SparseGraph       both;
  SparseMatrix      B;

  PetscFunctionBegin;
  PetscCall(PetscLogGpuTimeBegin());
  PetscCall(AIJTCUStackOnStream(&part->G, part->nodes->n, more, come, columns, stream, &both, err));
  if (!*err) {
    B = AIJTCUArraysOf(&both, part->nodes->n + more->n);
    AIJTCUCallDevice(*err, SparseGraphProduct(&part->G, &B, stream, square));
    AIJTCUCallDevice(*err, SparseGraphDestroy(&both, *err, stream));
  }
  PetscCall(PetscLogGpuTimeEnd());
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* The square. ok: all processes have it. Collective */
PetscErrorCode AIJTCUPartSquare(const AIJTCUPart *part, AIJTCUPart *square, PetscBool *ok)
{
  const AIJTCUGhostRows *g      = &part->exchange;
  const PetscInt         n      = AIJTCUGhostsRows(g, AIJTCU_USERS);
  cudaStream_t           stream = NULL;
  HrpbError              err    = HRPB_SUCCESS;
  PetscInt              *lengths, *list = NULL;
  PetscErrorCode         ierr;

  PetscFunctionBegin;
  PetscCall(PetscMalloc1(n + 1, &lengths));
  ierr = AIJTCUDeviceBegin(&stream);
  if (!ierr) ierr = AIJTCUTakeOnStream(&part->G, n, g->rows, lengths, &list, stream, &err);
  ierr = AIJTCUPartWorked(stream, ierr);
  ierr = AIJTCUAgree(part->nodes->comm, ierr, (PetscBool)!err, ok);
  if (!ierr && *ok) {
    for (PetscInt r = 0, k = 0; r < n; r++) {
      for (const PetscInt end = k + lengths[r]; k < end; k++) list[k] = AIJTCUPartNumber(part, list[k]);
    }
    ierr = AIJTCUPartWithRows(g, AIJTCU_USERS, lengths, list, part->nodes, AIJTCUPartGhosts(part), part->ghosts, AIJTCUPartSquareOnStream, part,
      square, ok);
  }
  (void)PetscFree(lengths);
  (void)PetscFree(list);
  PetscCall(ierr);
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* A matrix of the host with at most one entry in each row, on the device. Its memory is one allocation */
static PetscErrorCode AIJTCUSelectorOnStream(int64_t nrows, int64_t ncols, const PetscInt rowptr[],
  const PetscInt colidx[], cudaStream_t stream, SparseMatrix *P, HrpbError *err)
{
  const size_t size = sizeof(PetscInt), n = (size_t)rowptr[nrows];
  HrpbInt     *memory;

  PetscFunctionBegin;
  *P = (SparseMatrix){.nrows = nrows, .ncols = ncols, .nnz = (int64_t)n};
  PetscCall(AIJTCUDeviceMalloc(size * ((size_t)nrows + 1 + n), stream, (void **)&memory));
  if (!memory) *err = HRPB_ERR_DEVICE_MEMORY;
  if (*err) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCall(AIJTCUToDevice(memory, rowptr, size * (size_t)(nrows + 1), stream));
  PetscCall(AIJTCUToDevice(memory + nrows + 1, colidx, size * n, stream));
  PetscCallCUDA(cudaStreamSynchronize(stream));
  P->rowptr = memory;
  P->colidx = memory + nrows + 1;
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*
   The graph of aggregates is P^T G P. Each process multiplies its rows with P. Rows of nodes in aggregates of others go
   to the owners of these, which multiply P^T with all rows that they have then
*/
typedef struct {
  PetscInt          *rowptr, *colidx; /* P, of nodes and ghosts; then that of nodes and of rows that have come */
  AIJTCUGhostColumns columns;         /* aggregates of others */
  PetscInt           n, *rows, *of;   /* nodes in aggregates of others, and which these are. They ascend */
  PetscInt          *lengths, *list;  /* their rows of G P */
  AIJTCUGhostRows    owners;
  SparseGraph        product; /* G P, on the device */
} AIJTCUCoarseRows;

static PetscErrorCode AIJTCURowsOfProductOnStream(const AIJTCUPart *part, PetscInt naggregates, AIJTCUCoarseRows *a,
  cudaStream_t stream, HrpbError *err)
{
  SparseMatrix P, M;

  PetscFunctionBegin;
  PetscCall(PetscLogGpuTimeBegin());
  PetscCall(AIJTCUSelectorOnStream(part->G.ncols, naggregates + a->columns.n, a->rowptr, a->colidx, stream, &P, err));
  if (!*err) {
    AIJTCUCallDevice(*err, SparseGraphProduct(&part->G, &P, stream, &a->product));
    PetscCallCUDA(cudaFreeAsync((void *)P.rowptr, stream));
  }
  if (!*err) {
    AIJTCUWorkspaceUser(PETSC_TRUE);
    M = AIJTCUArraysOf(&a->product, P.ncols);
    PetscCall(AIJTCUTakeOnStream(&M, a->n, a->rows, a->lengths, &a->list, stream, err));
  }
  PetscCall(PetscLogGpuTimeEnd());
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode AIJTCUTransposeTimesOnStream(const SparseMatrix *P, const SparseMatrix *M, cudaStream_t stream,
  SparseGraph *g, HrpbError *err)
{
  SparseTranspose t;

  PetscFunctionBegin;
  AIJTCUCallDevice(*err, SparseTransposeCreate(P, stream, &t));
  if (!*err) {
    const SparseMatrix T = {.nrows = t.nrows, .ncols = t.ncols, .nnz = t.nnz, .rowptr = t.rowptr, .colidx = t.colidx};

    AIJTCUCallDevice(*err, SparseGraphProduct(&T, M, stream, g));
    AIJTCUCallDevice(*err, SparseTransposeDestroy(&t, *err, stream));
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* P, and nodes in aggregates of others. Collective */
static PetscErrorCode AIJTCUCoarseRowsBegin(const AIJTCUPart *part, PetscLayout aggregates, const PetscInt aggregate[],
  AIJTCUCoarseRows *a)
{
  const PetscInt n = part->nodes->n, nall = (PetscInt)part->G.ncols;
  PetscInt       count = 0;

  PetscFunctionBegin;
  PetscCall(PetscMalloc2(nall + 1, &a->rowptr, nall, &a->colidx));
  a->rowptr[0] = 0;
  for (PetscInt i = 0; i < nall; i++) {
    if (aggregate[i] >= 0) a->colidx[count++] = aggregate[i];
    a->rowptr[i + 1] = count;
    if (i < n && aggregate[i] >= 0 && (aggregate[i] < aggregates->rstart || aggregate[i] >= aggregates->rend)) a->n++;
  }
  PetscCall(PetscMalloc3(a->n, &a->rows, a->n, &a->of, a->n + 1, &a->lengths));
  for (PetscInt i = 0, k = 0; i < n; i++) {
    if (aggregate[i] < 0 || (aggregate[i] >= aggregates->rstart && aggregate[i] < aggregates->rend)) continue;
    a->rows[k] = i;
    a->of[k++] = aggregate[i];
  }
  PetscCall(PetscSortIntWithArray(a->n, a->of, a->rows));
  PetscCall(AIJTCUNumberColumns(aggregates, 0, NULL, count, a->colidx, &a->columns));
  PetscCall(AIJTCUGhostsCreate(aggregates, a->n, a->of, &a->owners));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode AIJTCUCoarseRowsEnd(AIJTCUCoarseRows *a)
{
  PetscFunctionBegin;
  PetscCall(AIJTCUArraysFree(&a->product));
  PetscCall(PetscFree2(a->rowptr, a->colidx));
  PetscCall(PetscFree3(a->rows, a->of, a->lengths));
  PetscCall(PetscFree(a->list));
  PetscCall(AIJTCUGhostColumnsDestroy(&a->columns));
  PetscCall(AIJTCUGhostsDestroy(&a->owners));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* P of nodes and of rows that have come, without aggregates of others */
static PetscErrorCode AIJTCUCoarseRowsSelect(const AIJTCUPart *part, PetscInt naggregates, PetscInt ncome, AIJTCUCoarseRows *a)
{
  const PetscInt n = part->nodes->n, nrows = n + ncome;
  PetscInt      *rowptr, *colidx, count = 0;

  PetscFunctionBegin;
  PetscCall(PetscMalloc2(nrows + 1, &rowptr, nrows, &colidx));
  rowptr[0] = 0;
  for (PetscInt i = 0; i < nrows; i++) {
    if (i >= n) colidx[count++] = a->owners.rows[i - n];
    else if (a->rowptr[i + 1] > a->rowptr[i] && a->colidx[a->rowptr[i]] < naggregates) colidx[count++] = a->colidx[a->rowptr[i]];
    rowptr[i + 1] = count;
  }
  PetscCall(PetscFree2(a->rowptr, a->colidx));
  a->rowptr = rowptr;
  a->colidx = colidx;
  PetscFunctionReturn(PETSC_SUCCESS);
}

typedef struct {
  const AIJTCUPart *part;
  PetscInt          naggregates;
  AIJTCUCoarseRows *rows;
} AIJTCUSums;

static PetscErrorCode AIJTCUSumsOnStream(const void *ctx, const AIJTCUGhostColumns *more, const AIJTCUShipment *come,
  const PetscInt columns[], cudaStream_t stream, SparseGraph *g, HrpbError *err)
{
  const AIJTCUSums       *sums        = (const AIJTCUSums *)ctx;
  const PetscInt          naggregates = sums->naggregates;
  AIJTCUCoarseRows *const a           = sums->rows;
  const SparseMatrix      M           = AIJTCUArraysOf(&a->product, naggregates + a->columns.n);
  SparseGraph             both;
  SparseMatrix            P, B;

  PetscFunctionBegin;
  PetscCall(AIJTCUCoarseRowsSelect(sums->part, naggregates, come->nrows, a));
  PetscCall(PetscLogGpuTimeBegin());
  PetscCall(AIJTCUStackOnStream(&M, naggregates, more, come, columns, stream, &both, err));
  if (!*err) {
    PetscCall(AIJTCUSelectorOnStream(both.n, naggregates, a->rowptr, a->colidx, stream, &P, err));
    if (!*err) {
      B = AIJTCUArraysOf(&both, naggregates + more->n);
      PetscCall(AIJTCUTransposeTimesOnStream(&P, &B, stream, g, err));
      PetscCallCUDA(cudaFreeAsync((void *)P.rowptr, stream));
    }
    AIJTCUCallDevice(*err, SparseGraphDestroy(&both, *err, stream));
  }
  PetscCall(PetscLogGpuTimeEnd());
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* The sums of rows of G P, some of which others need. Collective */
static PetscErrorCode AIJTCUCoarseRowsSum(const AIJTCUPart *part, PetscLayout aggregates, AIJTCUCoarseRows *a,
  AIJTCUPart *coarse, PetscBool *ok)
{
  const AIJTCUSums sums = {part, aggregates->n, a};

  PetscFunctionBegin;
  for (PetscInt r = 0, k = 0; r < a->n; r++) {
    for (const PetscInt end = k + a->lengths[r]; k < end; k++) {
      a->list[k] = a->list[k] < aggregates->n ? aggregates->rstart + a->list[k] : a->columns.columns[a->list[k] - aggregates->n];
    }
  }
  PetscCall(AIJTCUPartWithRows(&a->owners, AIJTCU_OWNERS, a->lengths, a->list, aggregates, a->columns.n, a->columns.columns, AIJTCUSumsOnStream,
    &sums, coarse, ok));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*
   The graph of aggregates. aggregate[i] is the number that the aggregate of node or ghost i has on all processes, or
   negative. ok: all processes have it. Collective
*/
PetscErrorCode AIJTCUPartOfAggregates(const AIJTCUPart *part, PetscLayout aggregates, const PetscInt aggregate[],
  AIJTCUPart *coarse, PetscBool *ok)
{
  AIJTCUCoarseRows a      = {.n = 0};
  cudaStream_t     stream = NULL;
  HrpbError        err    = HRPB_SUCCESS;
  PetscErrorCode   ierr, end;

  PetscFunctionBegin;
  PetscCall(AIJTCUCoarseRowsBegin(part, aggregates, aggregate, &a));
  ierr = AIJTCUDeviceBegin(&stream);
  if (!ierr) ierr = AIJTCURowsOfProductOnStream(part, aggregates->n, &a, stream, &err);
  ierr = AIJTCUPartWorked(stream, ierr);
  ierr = AIJTCUAgree(aggregates->comm, ierr, (PetscBool)!err, ok);
  if (!ierr && *ok) ierr = AIJTCUCoarseRowsSum(part, aggregates, &a, coarse, ok);
  end = AIJTCUCoarseRowsEnd(&a);
  PetscCall(ierr);
  PetscCall(end);
  PetscFunctionReturn(PETSC_SUCCESS);
}
#endif
