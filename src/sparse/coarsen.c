/*
   MATCOARSENMIS and MATCOARSENMISK of a graph on the device of one process: the aggregates of PETSc's walk, to the last
   node. Those of several processes are in parallelcoarsen.c.

   A graph may be a pattern of the device that hangs on a matrix without entries (hungpattern.c). Where it is the square
   of another graph, nodes of the independent set then take their neighbours in the other one, as PCGAMG lets them.

   PETSc's creators of the two are wrapped. A kernel finds the independent set of the walk. Aggregates of distance k are
   found as PETSc does it: those of a graph, then those of the graph of these, k times. What cannot be made here PETSc
   makes, on the host.
*/
#include "coarsen.h"

#if AIJTCU_HAVE_BLOCK && AIJTCU_HAVE_DEVICE_REAL
  #include <petscdevice_cuda.h>
  #include <petsc/private/matimpl.h>

typedef PetscErrorCode (*AIJTCUCoarsenFn)(MatCoarsen);

typedef enum {
  MIS,
  MISK,
  NWALKS
} AIJTCUWalk;

static const char *const     walks[] = {MATCOARSENMIS, MATCOARSENMISK};
static AIJTCUCoarsenFn       create[NWALKS], apply[NWALKS]; /* PETSc's */
static PetscErrorCode        MatCoarsenCreate_MIS_AIJTCU(MatCoarsen), MatCoarsenCreate_MISK_AIJTCU(MatCoarsen);
static const AIJTCUCoarsenFn ours[] = {MatCoarsenCreate_MIS_AIJTCU, MatCoarsenCreate_MISK_AIJTCU};

/* Whether a graph is one that is coarsened here */
PetscErrorCode AIJTCUCoarsens(Mat G, PetscBool *is)
{
  const SparseMatrix *hung;
  AIJTCUPlan         *plan;

  PetscFunctionBegin;
  *is = PETSC_FALSE;
  PetscCall(AIJTCUGetPlan(G, &plan));
  PetscCall(AIJTCUHungPattern(G, &hung, NULL));
  if (hung) *is = PETSC_TRUE;
  if (hung || !plan || AIJTCUGetOptions(plan)->sparse == MAT_AIJTCU_SPARSE_CUSPARSE) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCall(AIJTCUSparseOnDevice(G, is));
  *is = (PetscBool)(*is && G->rmap->n == G->cmap->n && sizeof(PetscInt) == sizeof(int32_t));
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode AIJTCUCoarsenerIsOurs(const char type[], PetscBool *is)
{
  PetscErrorCode (*found)(MatCoarsen);

  PetscFunctionBegin;
  *is = PETSC_FALSE;
  PetscCall(PetscFunctionListFind(MatCoarsenList, type, &found));
  for (int k = 0; k < NWALKS; k++) *is = (PetscBool)(*is || found == ours[k]);
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode AIJTCUSymmetricOnStream(const SparseMatrix *G, cudaStream_t stream, HrpbError *err)
{
  PetscFunctionBegin;
  AIJTCUCallDevice(*err, SparseIsSymmetric(G, stream));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* The node that each node of a graph is beside */
static PetscErrorCode AIJTCUWalkOnStream(const SparseMatrix *G, const PetscInt order[], PetscInt owner[], cudaStream_t stream,
  HrpbError *err)
{
  PetscFunctionBegin;
  PetscCall(PetscLogGpuTimeBegin());
  AIJTCUCallDevice(*err, SparseIndependent(G, (const int32_t *)order, stream, (int32_t *)owner));
  PetscCall(PetscLogGpuTimeEnd());
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Number the nodes of a set as they follow each other: aggregate[i] is that of node i, or -1 */
static PetscInt AIJTCUNumberOwners(PetscInt n, const PetscInt owner[], PetscInt number[], PetscInt aggregate[])
{
  PetscInt count = 0;

  for (PetscInt i = 0; i < n; i++) {
    if (owner[i] == i) number[i] = count++;
  }
  for (PetscInt i = 0; i < n; i++) aggregate[i] = owner[i] < 0 ? -1 : number[owner[i]];
  return count;
}

/* Arrays of the device for a prolongator without values */
typedef struct {
  HrpbInt *rowptr, *colidx;
} AIJTCUAggregates;

/*
   The graph of aggregates: P^T G P, where node i is in aggregate[i]. rows has room for P's n + 1 row pointers, and its
   columns
*/
static PetscErrorCode AIJTCUGraphOfAggregates(const SparseMatrix *G, PetscInt naggregates, const PetscInt aggregate[], PetscInt rows[],
  cudaStream_t stream, AIJTCUAggregates *on_device, SparsePlan *plan, HrpbError *err)
{
  const size_t   size  = sizeof(HrpbInt);
  const PetscInt n     = (PetscInt)G->nrows;
  PetscInt       count = 0;

  PetscFunctionBegin;
  rows[0] = 0;
  for (PetscInt i = 0; i < n; i++) {
    if (aggregate[i] >= 0) rows[n + 1 + count++] = aggregate[i];
    rows[i + 1] = count;
  }
  PetscCall(AIJTCUDeviceMalloc(size * (size_t)(n + 1), stream, (void **)&on_device->rowptr));
  PetscCall(AIJTCUDeviceMalloc(size * (size_t)PetscMax(count, 1), stream, (void **)&on_device->colidx));
  if (!on_device->rowptr || !on_device->colidx) *err = HRPB_ERR_DEVICE_MEMORY;
  else {
    const SparseMatrix operand[] = {
      *G, {.nrows = n, .ncols = naggregates, .nnz = count, .rowptr = on_device->rowptr, .colidx = on_device->colidx}};

    PetscCallCUDA(cudaMemcpyAsync(on_device->rowptr, rows, size * (size_t)(n + 1), cudaMemcpyHostToDevice, stream));
    PetscCallCUDA(cudaMemcpyAsync(on_device->colidx, rows + n + 1, size * (size_t)count, cudaMemcpyHostToDevice, stream));
    AIJTCUCallDevice(*err, SparsePlanCreate(SPARSE_PtAP, operand, false, stream, plan));
  }
  if (on_device->rowptr) PetscCallCUDA(cudaFreeAsync(on_device->rowptr, stream));
  if (on_device->colidx) PetscCallCUDA(cudaFreeAsync(on_device->colidx, stream));
  PetscFunctionReturn(PETSC_SUCCESS);
}

enum {
  WORK = 6 /* times n + 1 numbers: owners, their numbers, aggregates of a step, two for a prolongator; all aggregates */
};

/* The aggregates of distance k. work begins with the owners of the last step */
static PetscErrorCode AIJTCUAggregatesOnStream(const SparseMatrix *graph, PetscInt k, const PetscInt order[], PetscInt aggregate[],
  PetscInt work[], PetscInt *naggregates, cudaStream_t stream, HrpbError *err)
{
  const PetscInt n     = (PetscInt)graph->nrows;
  PetscInt      *owner = work, *number = work + n + 1, *step = work + 2 * (n + 1), *rows = work + 3 * (n + 1);
  SparseMatrix   G      = *graph;
  SparsePlan     plan   = {0};
  HrpbError      before = HRPB_SUCCESS;

  PetscFunctionBegin;
  for (PetscInt i = 0; i < n; i++) aggregate[i] = i;
  for (PetscInt round = 0; round < k && !*err; round++) {
    SparsePlan       next      = {0};
    AIJTCUAggregates on_device = {NULL, NULL};
    const PetscInt   nodes     = (PetscInt)G.nrows;

    PetscCall(AIJTCUWalkOnStream(&G, round ? NULL : order, owner, stream, err));
    if (*err) break;
    *naggregates = AIJTCUNumberOwners(nodes, owner, number, step);
    for (PetscInt i = 0; i < n; i++) aggregate[i] = aggregate[i] < 0 ? -1 : step[aggregate[i]];
    if (round == k - 1) break;
    if (!*naggregates) *err = HRPB_ERR_UNSUPPORTED;
    if (*err) break;
    PetscCall(AIJTCUGraphOfAggregates(&G, *naggregates, step, rows, stream, &on_device, &next, err));
    AIJTCUCallDevice(before, SparsePlanDestroy(&plan, HRPB_SUCCESS, stream));
    plan = next;
    G    = (SparseMatrix){.nrows = plan.result.nrows, .ncols = plan.result.ncols, .nnz = plan.result.nnz, .rowptr = plan.result.rowptr, .colidx = plan.result.colidx};
  }
  AIJTCUCallDevice(before, SparsePlanDestroy(&plan, HRPB_SUCCESS, stream));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*
   The list of a node begins with itself, if begin is true. Nodes follow, which ascend, and then those that it has taken
   from other lists, which ascend, too. taker[i] is the node that takes i, or -1; taker is NULL if none was taken
*/
static PetscErrorCode AIJTCULists(PetscInt n, const PetscInt list[], const PetscInt taker[], PetscBool begin, PetscCoarsenData **lists)
{
  PetscCDIntNd **last;

  PetscFunctionBegin;
  PetscCall(PetscCDCreate(n, lists));
  PetscCall(PetscCDSetChunkSize(*lists, n + 1));
  PetscCall(PetscMalloc1(n, &last));
  for (PetscInt i = 0; i < n && begin; i++) {
    if (list[i] == i) PetscCall(AIJTCUAppend(*lists, last, i, i));
  }
  for (PetscInt i = 0; i < n; i++) {
    if (list[i] >= 0 && !(begin && list[i] == i) && !(taker && taker[i] >= 0)) PetscCall(AIJTCUAppend(*lists, last, list[i], i));
  }
  for (PetscInt i = 0; i < n && taker; i++) {
    if (taker[i] >= 0) PetscCall(AIJTCUAppend(*lists, last, taker[i], i));
  }
  PetscCall(PetscFree(last));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* What is coarsened, and if that is a square, the graph whose nodes are taken afterwards */
typedef struct {
  SparseMatrix G, beneath;
  PetscBool    square;
} AIJTCUCoarsened;

static PetscErrorCode AIJTCUCoarsenOnStream(const AIJTCUCoarsened *c, PetscInt k, const PetscInt order[], PetscInt aggregate[],
  PetscInt taker[], PetscInt work[], cudaStream_t stream, HrpbError *err)
{
  PetscInt naggregates;

  PetscFunctionBegin;
  PetscCall(AIJTCUAggregatesOnStream(&c->G, k, order, aggregate, work, &naggregates, stream, err));
  if (!*err && c->square) AIJTCUCallDevice(*err, SparseTakers(&c->beneath, (const int32_t *)work, stream, (int32_t *)taker));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode AIJTCUCoarsenWith(MatCoarsen coarsen, AIJTCUWalk walk, const AIJTCUCoarsened *c, const PetscInt order[],
  PetscInt work[], HrpbError *err)
{
  const PetscInt n         = (PetscInt)c->G.nrows;
  PetscInt      *aggregate = work + (WORK - 1) * (n + 1), *taker = c->square ? work + n + 1 : NULL, k = 1;
  cudaStream_t   stream = NULL;
  Mat            none;

  PetscFunctionBegin;
  if (walk == MISK) PetscCall(MatCoarsenMISKGetDistance(coarsen, &k));
  AIJTCUCallOnStream(stream, AIJTCUCoarsenOnStream(c, k, order, aggregate, taker, work, stream, err));
  if (*err) PetscFunctionReturn(PETSC_SUCCESS);
  /* work begins with owners */
  PetscCall(AIJTCULists(n, walk == MIS ? work : aggregate, taker, (PetscBool)(walk == MIS), &coarsen->agg_lists));
  if (walk == MIS) PetscFunctionReturn(PETSC_SUCCESS);
  /* nodes of other processes */
  PetscCall(MatCreateSeqAIJ(PetscObjectComm((PetscObject)coarsen->graph), n, n, 0, NULL, &none));
  PetscCall(MatAssemblyBegin(none, MAT_FINAL_ASSEMBLY));
  PetscCall(MatAssemblyEnd(none, MAT_FINAL_ASSEMBLY));
  PetscCall(PetscCDSetMat(coarsen->agg_lists, none));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* A graph that is coarsened here: a matrix, or what hangs on one. It is symmetric */
PetscErrorCode AIJTCUCoarsenGraph(Mat mat, SparseMatrix *G, HrpbError *err)
{
  const SparseMatrix *hung;
  cudaStream_t        stream = NULL;

  PetscFunctionBegin;
  PetscCall(AIJTCUHungPattern(mat, &hung, NULL));
  if (hung) *G = *hung;
  else {
    PetscCall(AIJTCUSparseArrays(mat, PETSC_FALSE, G));
    AIJTCUCallOnStream(stream, AIJTCUSymmetricOnStream(G, stream, err));
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Coarsen a graph of several processes, or bring it to their hosts if that cannot be done. Collective */
static PetscErrorCode AIJTCUCoarsenTogether(MatCoarsen coarsen, AIJTCUWalk walk, PetscBool *done)
{
  PetscFunctionBegin;
  *done = PETSC_FALSE;
  #if AIJTCU_HAVE_PARALLEL_COARSENING
  {
    PetscInt  k = 0;
    PetscBool parallel;

    PetscCall(AIJTCUHungIsParallel(coarsen->graph, &parallel));
    if (!parallel) PetscFunctionReturn(PETSC_SUCCESS);
    if (walk == MISK) PetscCall(MatCoarsenMISKGetDistance(coarsen, &k));
    if (walk == MIS || k > 0) PetscCall(AIJTCUCoarsenParallel(coarsen, k, done));
    if (*done) PetscFunctionReturn(PETSC_SUCCESS);
    PetscCall(PetscInfo(coarsen, "aijtcu: a graph is coarsened on the host\n"));
    PetscCall(AIJTCUHungToHost(coarsen->graph));
  }
  #else
  (void)coarsen;
  (void)walk;
  #endif
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode AIJTCUCoarsenApply(MatCoarsen coarsen, AIJTCUWalk walk)
{
  AIJTCUCoarsened c     = {.square = PETSC_FALSE};
  const PetscInt *order = NULL;
  PetscInt       *work;
  Mat             of;
  PetscBool       done, usable;
  HrpbError       err = HRPB_ERR_UNSUPPORTED;

  PetscFunctionBegin;
  PetscCall(AIJTCUCoarsenTogether(coarsen, walk, &done));
  if (done) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCall(AIJTCUHungPattern(coarsen->graph, NULL, &of));
  c.square = (PetscBool)(of && coarsen->graph->structure_only);
  PetscCall(AIJTCUCoarsens(coarsen->graph, &usable));
  if (usable) {
    err = HRPB_SUCCESS;
    PetscCall(AIJTCUCoarsenGraph(coarsen->graph, &c.G, &err));
    if (!err && c.square) PetscCall(AIJTCUCoarsenGraph(of, &c.beneath, &err));
  }
  if (!err) {
    PetscCall(PetscMalloc1(WORK * (c.G.nrows + 1), &work));
    AIJTCUHugePages(work, sizeof(*work) * WORK * (size_t)(c.G.nrows + 1));
    if (coarsen->perm) PetscCall(ISGetIndices(coarsen->perm, &order));
    PetscCall(AIJTCUCoarsenWith(coarsen, walk, &c, order, work, &err));
    if (coarsen->perm) PetscCall(ISRestoreIndices(coarsen->perm, &order));
    PetscCall(PetscFree(work));
  }
  if (!err) PetscFunctionReturn(PETSC_SUCCESS);
  if (usable) PetscCall(PetscInfo(coarsen, "aijtcu: a graph is coarsened on the host: %s\n", HrpbErrorString(err)));
  PetscCall(AIJTCUHungToHost(coarsen->graph));
  PetscCall((*apply[walk])(coarsen));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode MatCoarsenApply_MIS_AIJTCU(MatCoarsen coarsen)
{
  PetscFunctionBegin;
  PetscCall(AIJTCUCoarsenApply(coarsen, MIS));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode MatCoarsenApply_MISK_AIJTCU(MatCoarsen coarsen)
{
  PetscFunctionBegin;
  PetscCall(AIJTCUCoarsenApply(coarsen, MISK));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static MatCoarsen latest; /* that a creator here was called for */

/* The coarsener of ours that was made last, since they were forgotten; or NULL */
MatCoarsen AIJTCUCoarsenerLatest(void)
{
  return latest;
}

void AIJTCUCoarsenerForget(void)
{
  latest = NULL;
}

static PetscErrorCode MatCoarsenCreate_MIS_AIJTCU(MatCoarsen coarsen)
{
  PetscFunctionBegin;
  latest = coarsen;
  PetscCall((*create[MIS])(coarsen));
  apply[MIS]          = coarsen->ops->apply;
  coarsen->ops->apply = MatCoarsenApply_MIS_AIJTCU;
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode MatCoarsenCreate_MISK_AIJTCU(MatCoarsen coarsen)
{
  PetscFunctionBegin;
  latest = coarsen;
  PetscCall((*create[MISK])(coarsen));
  apply[MISK]         = coarsen->ops->apply;
  coarsen->ops->apply = MatCoarsenApply_MISK_AIJTCU;
  PetscFunctionReturn(PETSC_SUCCESS);
}
#endif

/* Put ours in the place of PETSc's coarseners. It may be called again */
PetscErrorCode AIJTCURegisterCoarseners(void)
{
  PetscFunctionBegin;
#if AIJTCU_HAVE_BLOCK && AIJTCU_HAVE_DEVICE_REAL
  for (int k = 0; k < NWALKS; k++) PetscCall(AIJTCUReplaceCreator(MatCoarsenList, walks[k], ours[k], &create[k]));
#endif
  PetscFunctionReturn(PETSC_SUCCESS);
}
