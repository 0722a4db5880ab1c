/*
   The plan of a product of parallel matrices: all patterns, and the memory for values.
*/
#include "parallelplan.h"
#include "../upstream/upstream.h"

#if AIJTCU_HAVE_DEVICE_REAL && AIJTCU_HAVE_HALO
  #include <petscdevice_cuda.h>

/* Memory on the device, or HRPB_ERR_DEVICE_MEMORY */
static PetscErrorCode AIJTCUTake(int64_t n, size_t size, cudaStream_t stream, void *p, HrpbError *err)
{
  PetscFunctionBegin;
  if (*err) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCall(AIJTCUDeviceMalloc(size * (size_t)n, stream, (void **)p));
  if (!*(void **)p) *err = HRPB_ERR_DEVICE_MEMORY;
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Memory for values may have to be larger than for the pattern */
static PetscErrorCode AIJTCURowsCreate(int64_t nrows, int64_t ncols, int64_t nnz, int64_t nvalues, cudaStream_t stream,
                                       AIJTCUDeviceRows *r, HrpbError *err)
{
  PetscFunctionBegin;
  if (nnz > PETSC_INT_MAX || ncols > PETSC_INT_MAX) *err = HRPB_ERR_OVERFLOW;
  r->nrows = nrows;
  r->ncols = ncols;
  r->nnz   = nnz;
  PetscCall(AIJTCUTake(nrows + 1, sizeof(*r->rowptr), stream, &r->rowptr, err));
  PetscCall(AIJTCUTake(nnz, sizeof(*r->colidx), stream, &r->colidx, err));
  PetscCall(AIJTCUTake(nvalues, sizeof(*r->values), stream, &r->values, err));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode AIJTCUGive(void *p, cudaStream_t stream)
{
  PetscFunctionBegin;
  if (*(void **)p) PetscCallCUDA(cudaFreeAsync(*(void **)p, stream));
  *(void **)p = NULL;
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode AIJTCURowsDestroy(AIJTCUDeviceRows *r, cudaStream_t stream)
{
  PetscFunctionBegin;
  PetscCall(AIJTCUGive(&r->rowptr, stream));
  PetscCall(AIJTCUGive(&r->colidx, stream));
  PetscCall(AIJTCUGive(&r->values, stream));
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode AIJTCUToDevice(void *to, const void *from, size_t bytes, cudaStream_t stream)
{
  PetscFunctionBegin;
  if (!bytes) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCallCUDA(cudaMemcpyAsync(to, from, bytes, cudaMemcpyHostToDevice, stream));
  PetscCall(PetscLogCpuToGpu((PetscLogDouble)bytes));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode AIJTCUParallelFree(AIJTCUParallel *s, cudaStream_t stream)
{
  HrpbError err = HRPB_SUCCESS;

  PetscFunctionBegin;
  for (int i = 0; i < NPRODUCTS; i++) err = SparsePlanDestroy(&s->plan[i], err, stream);
  AIJTCUCallKernels(err);
  PetscCall(AIJTCURowsDestroy(&s->A, stream));
  PetscCall(AIJTCURowsDestroy(&s->B, stream));
  PetscCall(AIJTCURowsDestroy(&s->parts, stream));
  PetscCall(AIJTCURowsDestroy(&s->select, stream));
  PetscCall(AIJTCUGive(&s->zeros, stream));
  PetscCall(AIJTCUGive(&s->map, stream));
  PetscCall(AIJTCUGive(&s->out, stream));
  PetscCall(AIJTCUGive(&s->between, stream));
  PetscCall(AIJTCUGive(&s->values, stream));
  for (int b = 0; b < 2; b++) PetscCall(AIJTCUGive(&s->rowptr[b], stream));
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode AIJTCUParallelReset(AIJTCUParallel *s)
{
  PetscFunctionBegin;
  if (s->zeros) {
    PetscCall(AIJTCUParallelFree(s, AIJTCUDeviceStreamBehind()));
    AIJTCUWorkspaceUser(PETSC_FALSE);
  }
  PetscCall(AIJTCUGhostsDestroy(&s->gathered));
  PetscCall(AIJTCUGhostsDestroy(&s->scattered));
  PetscCall(AIJTCUShipmentDestroy(&s->gather));
  PetscCall(AIJTCUShipmentDestroy(&s->scatter));
  PetscCall(AIJTCUGhostColumnsDestroy(&s->columns));
  PetscCall(PetscMemzero(s, sizeof(*s)));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* The blocks of A on the device */
PetscErrorCode AIJTCUBlockArrays(const AIJTCUParallel *s, Mat A, PetscBool values, SparseMatrix M[2])
{
  Mat     block[2];
  MatInfo info;

  PetscFunctionBegin;
  PetscCall(AIJTCULocalBlocks(A, block, NULL));
  for (int b = 0; b < 2; b++) {
    PetscCall(MatGetInfo(block[b], MAT_LOCAL, &info));
    if (info.nz_used > 0) PetscCall(AIJTCUSparseArrays(block[b], values, &M[b]));
    else M[b] = (SparseMatrix){block[b]->rmap->n, block[b]->cmap->n, 0, s->zeros, s->zeros, NULL};
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode AIJTCUBeginOnStream(AIJTCUParallel *s, PetscInt rows, cudaStream_t stream, HrpbError *err)
{
  PetscFunctionBegin;
  PetscCall(AIJTCUTake(rows + 1, sizeof(*s->zeros), stream, &s->zeros, err));
  if (!*err) {
    AIJTCUWorkspaceUser(PETSC_TRUE);
    PetscCallCUDA(cudaMemsetAsync(s->zeros, 0, sizeof(*s->zeros) * (size_t)(rows + 1), stream));
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Ask the owners of rows for them. columns are those of all rows that come */
static PetscErrorCode AIJTCUGatherPattern(AIJTCUParallel *s, Mat A, Mat B, PetscInt **map, PetscInt **columns)
{
  const PetscInt *i[2], *j[2], *ghosts, *garray;
  PetscInt       *lengths, *list, n, rows, k = 0;
  PetscBool       have;
  Mat             a[2], b[2];

  PetscFunctionBegin;
  PetscCall(AIJTCULocalBlocks(A, a, &ghosts));
  PetscCall(AIJTCULocalBlocks(B, b, &garray));
  PetscCall(AIJTCUGhostsCreate(B->rmap, a[1]->cmap->n, ghosts, &s->gathered));
  rows = AIJTCUGhostsRows(&s->gathered, AIJTCU_USERS);
  for (int o = 0; o < 2; o++) {
    PetscCall(MatGetRowIJ(b[o], 0, PETSC_FALSE, PETSC_FALSE, &n, &i[o], &j[o], &have));
    PetscCheck(have, PETSC_COMM_SELF, PETSC_ERR_PLIB, "No row pointers");
  }
  PetscCall(PetscMalloc1(rows + 1, &lengths));
  for (PetscInt r = 0; r < rows; r++) {
    const PetscInt row = s->gathered.rows[r];

    lengths[r] = i[0][row + 1] - i[0][row] + i[1][row + 1] - i[1][row];
    k += lengths[r];
  }
  PetscCall(PetscMalloc1(k, map));
  PetscCall(PetscMalloc1(k, &list));
  k = 0;
  for (PetscInt r = 0; r < rows; r++) {
    const PetscInt row = s->gathered.rows[r];

    for (PetscInt e = 0; e < lengths[r]; e++) (*map)[k + e] = i[0][row] + i[1][row] + e;
    for (PetscInt e = i[0][row]; e < i[0][row + 1]; e++) list[k++] = j[0][e] + B->cmap->rstart;
    for (PetscInt e = i[1][row]; e < i[1][row + 1]; e++) list[k++] = garray[j[1][e]];
  }
  for (int o = 0; o < 2; o++) PetscCall(MatRestoreRowIJ(b[o], 0, PETSC_FALSE, PETSC_FALSE, &n, &i[o], &j[o], &have));
  PetscCall(AIJTCUShipmentCreate(&s->gathered, AIJTCU_USERS, lengths, list, &s->gather, columns));
  PetscCall(PetscFree(lengths));
  PetscCall(PetscFree(list));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Below the rows of M that are there, with so many entries, those that come: where they begin, and their columns */
static PetscErrorCode AIJTCURowsThatCome(const AIJTCUShipment *g, int64_t rows, int64_t entries, const PetscInt columns[],
                                         AIJTCUDeviceRows *M, cudaStream_t stream)
{
  PetscInt *rowptr;

  PetscFunctionBegin;
  PetscCall(PetscMalloc1(g->nrows, &rowptr));
  for (PetscInt r = 0; r < g->nrows; r++) rowptr[r] = (PetscInt)entries + g->rowptr[r + 1];
  PetscCall(AIJTCUToDevice(M->rowptr + rows + 1, rowptr, sizeof(*rowptr) * (size_t)g->nrows, stream));
  PetscCall(AIJTCUToDevice(M->colidx + entries, columns, sizeof(*columns) * (size_t)g->received, stream));
  PetscCallCUDA(cudaStreamSynchronize(stream)); /* whatever memory of the host CUDA copies later */
  PetscCall(PetscFree(rowptr));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* The operands as one matrix each. columns and map are those of rows that come and go, numbered */
static PetscErrorCode AIJTCUOperandsOnStream(AIJTCUParallel *s, const SparseMatrix a[2], const SparseMatrix b[2], const PetscInt columns[],
                                             const PetscInt map[], cudaStream_t stream, HrpbError *err)
{
  const AIJTCUShipment *g    = &s->gather;
  HrpbInt              *renumber = NULL;

  PetscFunctionBegin;
  s->own = b[0].nnz + b[1].nnz;
  PetscCall(AIJTCURowsCreate(a[0].nrows, a[0].ncols + a[1].ncols, a[0].nnz + a[1].nnz, a[0].nnz + a[1].nnz, stream, &s->A, err));
  PetscCall(AIJTCURowsCreate(b[0].nrows + g->nrows, b[0].ncols + s->columns.n, s->own + g->received, s->own + g->received, stream, &s->B,
                             err));
  PetscCall(AIJTCUTake(b[1].ncols, sizeof(*renumber), stream, &renumber, err));
  PetscCall(AIJTCUTake(g->sent, sizeof(*s->map), stream, &s->map, err));
  PetscCall(AIJTCUTake(g->sent, sizeof(*s->out), stream, &s->out, err));
  if (!*err) AIJTCUCallDevice(*err, SparseJoin(&a[0], &a[1], NULL, s->A.rowptr, s->A.colidx, stream));
  if (!*err) {
    PetscCall(AIJTCUToDevice(renumber, s->columns.map, sizeof(*renumber) * (size_t)b[1].ncols, stream));
    AIJTCUCallDevice(*err, SparseJoin(&b[0], &b[1], renumber, s->B.rowptr, s->B.colidx, stream));
  }
  if (!*err) {
    PetscCall(AIJTCUToDevice(s->map, map, sizeof(*map) * (size_t)g->sent, stream));
    PetscCall(AIJTCURowsThatCome(g, b[0].nrows, s->own, columns, &s->B, stream));
  }
  PetscCall(AIJTCUGive(&renumber, stream));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* The patterns of A B, and of the product with a transpose */
static PetscErrorCode AIJTCUFirstOnStream(AIJTCUParallel *s, int64_t rows, cudaStream_t stream, HrpbError *err)
{
  SparseMatrix M[2] = {AIJTCUOfRows(&s->A), AIJTCUOfRows(&s->B)};

  PetscFunctionBegin;
  PetscCall(PetscLogGpuTimeBegin());
  if (s->of[WITH_B]) {
    AIJTCUCallDevice(*err, SparsePlanCreate(SPARSE_AB, M, true, stream, &s->plan[WITH_B]));
    M[0] = AIJTCUOwnRows(s, rows);
    M[1] = AIJTCUOfProduct(&s->plan[WITH_B].result, NULL);
  }
  if (s->of[WITH_AT]) {
    if (s->of[WITH_B]) PetscCall(AIJTCUTake(M[1].nnz, sizeof(*s->between), stream, &s->between, err));
    if (!*err) AIJTCUCallDevice(*err, SparsePlanCreate(SPARSE_AtB, M, true, stream, &s->plan[WITH_AT]));
  }
  PetscCall(PetscLogGpuTimeEnd());
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Bring the rows that others own: their lengths, and their columns. The caller frees both */
static PetscErrorCode AIJTCUForeignRowsOnStream(AIJTCUParallel *s, int64_t own, cudaStream_t stream, PetscInt **lengths, PetscInt **columns)
{
  const SparseProduct *T = &s->plan[WITH_AT].result;
  const int64_t        n = T->nrows - own;

  PetscFunctionBegin;
  PetscCall(PetscMalloc1(n + 1, lengths));
  PetscCall(AIJTCUSparseBring(*lengths, T->rowptr + own, sizeof(**lengths) * (size_t)(n + 1), stream));
  s->kept = (*lengths)[0];
  for (int64_t r = 0; r < n; r++) (*lengths)[r] = (*lengths)[r + 1] - (*lengths)[r];
  PetscCall(PetscMalloc1(T->nnz - s->kept, columns));
  if (T->nnz > s->kept) PetscCall(AIJTCUSparseBring(*columns, T->colidx + s->kept, sizeof(**columns) * (size_t)(T->nnz - s->kept), stream));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Send them. `rows` are those that others own, and *columns those of the rows that come, numbered */
static PetscErrorCode AIJTCUScatterPattern(AIJTCUParallel *s, PetscLayout rmap, PetscLayout cmap, PetscInt nrows, const PetscInt rows[],
                                           PetscInt lengths[], PetscInt list[], PetscInt **columns)
{
  AIJTCUGhostColumns more = {0, NULL, NULL};
  const PetscInt     n    = (PetscInt)(s->plan[WITH_AT].result.nnz - s->kept);

  PetscFunctionBegin;
  for (PetscInt e = 0; e < n; e++) list[e] = list[e] < cmap->n ? list[e] + cmap->rstart : s->columns.columns[list[e] - cmap->n];
  PetscCall(AIJTCUGhostsCreate(rmap, nrows, rows, &s->scattered));
  PetscCall(AIJTCUShipmentCreate(&s->scattered, AIJTCU_OWNERS, lengths, list, &s->scatter, columns));
  PetscCall(AIJTCUNumberColumns(cmap, s->columns.n, s->columns.columns, s->scatter.received, *columns, &more));
  PetscCall(AIJTCUGhostColumnsDestroy(&s->columns));
  s->columns = more;
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* The matrix of ones: a row of its own, and the rows of others for it, in their order */
static PetscErrorCode AIJTCUSelectOnStream(AIJTCUParallel *s, PetscInt own, cudaStream_t stream, HrpbError *err)
{
  const PetscInt n = s->scatter.nrows;
  PetscInt      *rowptr, *colidx;
  PetscScalar   *ones;

  PetscFunctionBegin;
  PetscCall(AIJTCURowsCreate(own, own + n, own + n, own + n, stream, &s->select, err));
  if (*err) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCall(PetscCalloc1(own + 2, &rowptr));
  PetscCall(PetscMalloc2(own + n, &colidx, own + n, &ones));
  for (PetscInt r = 0; r < n; r++) rowptr[s->scattered.rows[r] + 2]++;
  for (PetscInt r = 0; r < own; r++) rowptr[r + 2] += rowptr[r + 1] + 1; /* where r ends. rowptr[r + 1] runs there */
  for (PetscInt r = 0; r < own; r++) colidx[rowptr[r + 1]++] = r;
  for (PetscInt r = 0; r < n; r++) colidx[rowptr[s->scattered.rows[r] + 1]++] = own + r;
  for (PetscInt e = 0; e < own + n; e++) ones[e] = 1;
  PetscCall(AIJTCUToDevice(s->select.rowptr, rowptr, sizeof(*rowptr) * (size_t)(own + 1), stream));
  PetscCall(AIJTCUToDevice(s->select.colidx, colidx, sizeof(*colidx) * (size_t)(own + n), stream));
  PetscCall(AIJTCUToDevice(s->select.values, ones, sizeof(*ones) * (size_t)(own + n), stream));
  PetscCallCUDA(cudaStreamSynchronize(stream));
  PetscCall(PetscFree(rowptr));
  PetscCall(PetscFree2(colidx, ones));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* What this process has of its rows, and what others have, below each other */
static PetscErrorCode AIJTCUPartsOnStream(AIJTCUParallel *s, PetscInt own, PetscInt columns_own, const PetscInt columns[],
                                          cudaStream_t stream, HrpbError *err)
{
  const SparseProduct  *T = &s->plan[WITH_AT].result;
  const AIJTCUShipment *g = &s->scatter;
  const int64_t         nnz = s->kept + g->received;
  HrpbInt              *renumber = NULL;

  PetscFunctionBegin;
  PetscCall(AIJTCURowsCreate(own + g->nrows, columns_own + s->columns.n, nnz, PetscMax(nnz, T->nnz), stream, &s->parts, err));
  PetscCall(AIJTCUTake(T->ncols - columns_own, sizeof(*renumber), stream, &renumber, err));
  if (!*err) {
    PetscCallCUDA(cudaMemcpyAsync(s->parts.rowptr, T->rowptr, sizeof(*T->rowptr) * (size_t)(own + 1), cudaMemcpyDeviceToDevice, stream));
    PetscCall(AIJTCUToDevice(renumber, s->columns.map, sizeof(*renumber) * (size_t)(T->ncols - columns_own), stream));
    PetscCall(AIJTCURowsThatCome(g, own, s->kept, columns, &s->parts, stream));
    AIJTCUCallDevice(*err, SparseRenumber(s->kept, T->colidx, columns_own, renumber, s->parts.colidx, stream));
  }
  PetscCall(AIJTCUGive(&renumber, stream));
  if (!*err) PetscCall(AIJTCUSelectOnStream(s, own, stream, err));
  if (!*err) {
    const SparseMatrix M[2] = {AIJTCUOfRows(&s->select), AIJTCUOfRows(&s->parts)};

    AIJTCUCallDevice(*err, SparsePlanCreate(SPARSE_AB, M, true, stream, &s->plan[SUMS]));
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Which columns of others the result has, and where the rows of its blocks begin */
static PetscErrorCode AIJTCUSplitOnStream(AIJTCUParallel *s, PetscInt own, char used[], PetscInt nnz[2], HrpbInt *colidx[2],
                                          cudaStream_t stream, HrpbError *err)
{
  const SparseMatrix C   = AIJTCUOfProduct(AIJTCUResult(s), NULL);
  const PetscInt     n   = s->columns.n;
  uint8_t           *flags = NULL;
  HrpbInt           *map   = NULL;
  PetscInt          *place, k = 0;

  PetscFunctionBegin;
  for (int b = 0; b < 2; b++) PetscCall(AIJTCUTake(C.nrows + 1, sizeof(HrpbInt), stream, &s->rowptr[b], err));
  PetscCall(AIJTCUTake(C.nnz, sizeof(*s->values), stream, &s->values, err));
  PetscCall(AIJTCUTake(n, sizeof(*flags), stream, &flags, err));
  PetscCall(AIJTCUTake(n, sizeof(*map), stream, &map, err));
  if (!*err) {
    if (n) PetscCallCUDA(cudaMemsetAsync(flags, 0, (size_t)n, stream));
    AIJTCUCallDevice(*err, SparseSplitRows(&C, own, s->rowptr[0], s->rowptr[1], flags, stream));
  }
  if (!*err) {
    if (n) PetscCall(AIJTCUSparseBring(used, flags, (size_t)n, stream));
    for (int b = 0; b < 2; b++) {
      PetscCall(AIJTCUSparseBring(&nnz[b], s->rowptr[b] + C.nrows, sizeof(nnz[b]), stream));
      PetscCall(AIJTCUTake(nnz[b], sizeof(HrpbInt), stream, &colidx[b], err));
    }
  }
  if (!*err) {
    PetscCall(PetscMalloc1(n, &place));
    for (PetscInt i = 0; i < n; i++) {
      place[i] = k;
      k += used[i] ? 1 : 0;
    }
    PetscCall(AIJTCUToDevice(map, place, sizeof(*place) * (size_t)n, stream));
    AIJTCUCallDevice(*err, SparseSplitColumns(&C, own, s->rowptr[0], s->rowptr[1], map, colidx[0], colidx[1], stream));
    PetscCallCUDA(cudaStreamSynchronize(stream));
    PetscCall(PetscFree(place));
  }
  PetscCall(AIJTCUGive(&flags, stream));
  PetscCall(AIJTCUGive(&map, stream));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* A block of the result, without values */
static PetscErrorCode AIJTCUResultBlock(int64_t nrows, PetscInt ncols, PetscInt nnz, const HrpbInt rowptr[], const HrpbInt colidx[],
                                        Mat *block)
{
  PetscFunctionBegin;
  PetscCall(MatCreate(PETSC_COMM_SELF, block));
  PetscCall(MatSetSizes(*block, (PetscInt)nrows, ncols, (PetscInt)nrows, ncols));
  PetscCall(MatSetType(*block, MATSEQAIJCUSPARSE));
  PetscCall(AIJTCUSparsePattern(*block, nrows, nnz, rowptr, colidx));
  (*block)->offloadmask = PETSC_OFFLOAD_UNALLOCATED;
  PetscCall(MatAssemblyBegin(*block, MAT_FINAL_ASSEMBLY));
  PetscCall(MatAssemblyEnd(*block, MAT_FINAL_ASSEMBLY));
  (*block)->offloadmask = PETSC_OFFLOAD_UNALLOCATED;
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode AIJTCUFreeOnStream(HrpbInt *list[2], cudaStream_t stream)
{
  PetscFunctionBegin;
  for (int b = 0; b < 2; b++) PetscCall(AIJTCUGive(&list[b], stream));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* The two blocks of the result, and the columns of the second */
static PetscErrorCode AIJTCUResultBlocks(AIJTCUParallel *s, PetscInt own, Mat block[2], PetscInt **garray, HrpbError *err)
{
  const int64_t  nrows  = AIJTCUResult(s)->nrows;
  cudaStream_t   stream = NULL;
  HrpbInt       *colidx[2] = {NULL, NULL};
  PetscInt       nnz[2] = {0, 0}, n = 0;
  char          *used;
  PetscErrorCode ierr = PETSC_SUCCESS;

  PetscFunctionBegin;
  PetscCall(PetscMalloc1(s->columns.n, &used));
  AIJTCUCallOnStream(stream, AIJTCUSplitOnStream(s, own, used, nnz, colidx, stream, err));
  if (!*err) {
    PetscCall(PetscMalloc1(s->columns.n, garray));
    for (PetscInt i = 0; i < s->columns.n; i++) {
      if (used[i]) (*garray)[n++] = s->columns.columns[i];
    }
    ierr = AIJTCUResultBlock(nrows, own, nnz[0], s->rowptr[0], colidx[0], &block[0]);
    if (!ierr) ierr = AIJTCUResultBlock(nrows, n, nnz[1], s->rowptr[1], colidx[1], &block[1]);
  }
  AIJTCUCallOnStream(stream, AIJTCUFreeOnStream(colidx, stream));
  PetscCall(PetscFree(used));
  PetscCall(ierr);
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode AIJTCUParallelLayouts(Mat C, PetscLayout *rows, PetscLayout *columns)
{
  const Mat_Product *product = C->product;

  PetscFunctionBegin;
  *columns = product->B->cmap;
  *rows    = product->type == MATPRODUCT_AB ? product->A->rmap : product->type == MATPRODUCT_AtB ? product->A->cmap : product->B->cmap;
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* The first part of the plan, up to what others are needed for. ok says whether all processes have it. Collective */
static PetscErrorCode AIJTCUParallelFirst(Mat C, AIJTCUParallel *s, PetscBool *ok)
{
  const Mat_Product *product = C->product;
  Mat                A = product->A, B = product->B, b[2];
  SparseMatrix       M[2][2];
  cudaStream_t       stream = NULL;
  HrpbError          err    = HRPB_SUCCESS;
  PetscInt          *columns = NULL, *map = NULL;
  const PetscInt    *garray;
  PetscErrorCode     ierr = PETSC_SUCCESS;

  PetscFunctionBegin;
  s->of[WITH_B]  = (PetscBool)(product->type != MATPRODUCT_AtB);
  s->of[WITH_AT] = (PetscBool)(product->type != MATPRODUCT_AB);
  s->of[SUMS]    = s->of[WITH_AT];
  PetscCall(AIJTCUPatternKeyGet(A, &s->key[0]));
  PetscCall(AIJTCUPatternKeyGet(B, &s->key[1]));
  PetscCall(AIJTCULocalBlocks(B, b, &garray));
  if (s->of[WITH_B]) PetscCall(AIJTCUGatherPattern(s, A, B, &map, &columns));
  PetscCall(AIJTCUNumberColumns(B->cmap, b[1]->cmap->n, garray, s->gather.received, columns, &s->columns));
  /* From here on nobody waits for another */
  ierr = AIJTCUDeviceBegin(&stream);
  if (!ierr) ierr = AIJTCUBeginOnStream(s, PetscMax(A->rmap->n, B->rmap->n), stream, &err);
  PetscCall(AIJTCUDeviceEnd(stream));
  if (!ierr && !err) ierr = AIJTCUBlockArrays(s, A, PETSC_FALSE, M[0]);
  if (!ierr && !err) ierr = AIJTCUBlockArrays(s, B, PETSC_FALSE, M[1]);
  if (!ierr && !err) {
    ierr = AIJTCUDeviceBegin(&stream);
    if (!ierr) ierr = AIJTCUOperandsOnStream(s, M[0], M[1], columns, map, stream, &err);
    if (!ierr && !err) ierr = AIJTCUFirstOnStream(s, B->rmap->n, stream, &err);
    PetscCall(AIJTCUDeviceEnd(stream));
  }
  PetscCall(PetscFree(columns));
  PetscCall(PetscFree(map));
  if (err) PetscCall(PetscInfo(C, "aijtcu: parallel sparse product: %s\n", HrpbErrorString(err)));
  PetscCall(AIJTCUAgree(PetscObjectComm((PetscObject)C), ierr, (PetscBool)!err, ok));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* The second: sums of what all processes have */
static PetscErrorCode AIJTCUParallelSums(Mat C, AIJTCUParallel *s, PetscBool *ok)
{
  const Mat_Product *product = C->product;
  PetscLayout        rows, cols;
  PetscInt          *lengths = NULL, *list = NULL, *columns = NULL, n, *ghosts;
  Mat                a[2];
  const PetscInt    *garray;
  cudaStream_t       stream = NULL;
  HrpbError          err    = HRPB_SUCCESS;
  PetscErrorCode     ierr;

  PetscFunctionBegin;
  PetscCall(AIJTCUParallelLayouts(C, &rows, &cols));
  ierr = AIJTCUDeviceBegin(&stream);
  if (!ierr) ierr = AIJTCUForeignRowsOnStream(s, rows->n, stream, &lengths, &list);
  PetscCall(AIJTCUDeviceEnd(stream));
  PetscCall(AIJTCUAgree(PetscObjectComm((PetscObject)C), ierr, PETSC_TRUE, ok));
  if (product->type == MATPRODUCT_AtB) {
    PetscCall(AIJTCULocalBlocks(product->A, a, &garray));
    n = a[1]->cmap->n;
  } else {
    garray = s->columns.columns;
    n      = s->columns.n;
  }
  PetscCall(PetscMalloc1(n, &ghosts)); /* the columns are numbered anew below */
  PetscCall(PetscArraycpy(ghosts, garray, n));
  PetscCall(AIJTCUScatterPattern(s, rows, cols, n, ghosts, lengths, list, &columns));
  ierr = AIJTCUDeviceBegin(&stream);
  if (!ierr) ierr = AIJTCUPartsOnStream(s, rows->n, cols->n, columns, stream, &err);
  PetscCall(AIJTCUDeviceEnd(stream));
  PetscCall(PetscFree(ghosts));
  PetscCall(PetscFree(lengths));
  PetscCall(PetscFree(list));
  PetscCall(PetscFree(columns));
  if (err) PetscCall(PetscInfo(C, "aijtcu: parallel sparse product: %s\n", HrpbErrorString(err)));
  PetscCall(AIJTCUAgree(PetscObjectComm((PetscObject)C), ierr, (PetscBool)!err, ok));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* C is of the type of the first operand that is ours, or of the parents */
static PetscErrorCode AIJTCUParallelTakes(Mat C, Mat *D)
{
  const Mat operand[3] = {C->product->A, C->product->B, NULL};
  MatType   type       = MATMPIAIJCUSPARSE;
  PetscBool sparse, named = PETSC_FALSE;

  PetscFunctionBegin;
  PetscCall(PetscObjectBaseTypeCompare((PetscObject)C, MATMPIAIJ, &sparse));
  for (int i = 0; i < 2 && !named; i++) {
    AIJTCUPlan *plan;

    PetscCall(AIJTCUGetPlan(operand[i], &plan));
    named = (PetscBool)(plan && plan->id.own_name);
    if (named) type = ((PetscObject)operand[i])->type_name;
  }
  PetscCall(AIJTCUProductTakes(C, sparse ? ((PetscObject)C)->type_name : type, D));
  if (!sparse) PetscCall(AIJTCUInheritFromFirst(operand, C)); /* a C that was there keeps its options */
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* The plan, and a C that has its pattern. Where one process cannot, nothing is left of it. Collective */
PetscErrorCode AIJTCUParallelPlan(Mat C, AIJTCUParallel *s, PetscBool *ok)
{
  PetscLayout    rows, cols;
  Mat            block[2] = {NULL, NULL}, D;
  PetscInt      *garray   = NULL;
  HrpbError      err      = HRPB_SUCCESS;
  PetscErrorCode ierr;
  MPI_Comm       comm = PetscObjectComm((PetscObject)C);

  PetscFunctionBegin;
  PetscCall(AIJTCUParallelReset(s));
  PetscCall(AIJTCUParallelFirst(C, s, ok));
  if (*ok && s->of[SUMS]) PetscCall(AIJTCUParallelSums(C, s, ok));
  if (*ok) {
    PetscCall(AIJTCUParallelLayouts(C, &rows, &cols));
    ierr = AIJTCUResultBlocks(s, cols->n, block, &garray, &err);
    PetscCall(AIJTCUAgree(comm, ierr, (PetscBool)!err, ok));
  }
  if (!*ok) {
    for (int b = 0; b < 2; b++) PetscCall(MatDestroy(&block[b]));
    PetscCall(PetscFree(garray));
    PetscCall(AIJTCUParallelReset(s));
    PetscFunctionReturn(PETSC_SUCCESS);
  }
  PetscCall(MatCreateMPIAIJWithSeqAIJ(comm, rows->N, cols->N, block[0], block[1], garray, &D));
  PetscCall(MatSetOption(D, MAT_NEW_NONZERO_LOCATION_ERR, PETSC_FALSE)); /* as the parent's products are */
  PetscCall(MatSetOption(D, MAT_NEW_NONZERO_ALLOCATION_ERR, PETSC_FALSE));
  PetscCall(AIJTCUParallelTakes(C, &D));
  PetscFunctionReturn(PETSC_SUCCESS);
}
#endif
