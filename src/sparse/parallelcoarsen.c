/*
   MATCOARSENMIS and MATCOARSENMISK of a graph of several processes, on their devices: the aggregates of PETSc's walk,
   to the last node.

   Each process walks over its nodes, and leaves those for later that are beside an undecided one of a later process.
   Then all tell which nodes they have taken, and nodes beside one of another process belong to it. They go on until no
   node is left. Aggregates of distance k are those of a graph, then those of the graph of these, k times.

   Where the graph is the square of another one, nodes then go to the neighbour in the other one that was taken, as
   PCGAMG lets them. There is one at most.
*/
#include "parallelgraph.h"

#if AIJTCU_HAVE_PARALLEL_COARSENING
  #include <petscdevice_cuda.h>
  #include <petsc/private/matimpl.h>

/* The largest of all. A function, because MPIU_Allreduce() may return from its caller */
static PetscErrorCode AIJTCUMostOfAll(MPI_Comm comm, PetscInt n, PetscInt number[])
{
  PetscFunctionBegin;
  PetscCallMPI(MPIU_Allreduce(MPI_IN_PLACE, number, (PetscMPIInt)n, MPIU_INT, MPI_MAX, comm));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode AIJTCUWalkBeginOnStream(const AIJTCUPart *part, const PetscInt order[], cudaStream_t stream,
  SparseWalk *w, HrpbError *err)
{
  PetscFunctionBegin;
  AIJTCUCallDevice(*err, SparseWalkCreate(&part->G, order, stream, w));
  if (!*err) AIJTCUWorkspaceUser(PETSC_TRUE);
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode AIJTCUWalkTurnOnStream(const AIJTCUPart *part, int64_t later, const SparseWalk *w,
  PetscInt state[], cudaStream_t stream, HrpbError *err)
{
  PetscFunctionBegin;
  PetscCall(PetscLogGpuTimeBegin());
  AIJTCUCallDevice(*err, SparseWalkTurn(&part->G, later, w, stream, state));
  PetscCall(PetscLogGpuTimeEnd());
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode AIJTCUWalkMeetOnStream(const AIJTCUPart *part, const PetscInt ghosts[], const SparseWalk *w,
  PetscInt *undecided, cudaStream_t stream, HrpbError *err)
{
  PetscFunctionBegin;
  AIJTCUCallDevice(*err, SparseWalkMeet(&part->G, ghosts, w, stream, undecided));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode AIJTCUWalkOwnersOnStream(const AIJTCUPart *part, PetscInt owner[], const SparseWalk *w,
  cudaStream_t stream, HrpbError *err)
{
  PetscFunctionBegin;
  if (!*err) AIJTCUCallDevice(*err, SparseWalkOwners(&part->G, w, stream, owner));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static void AIJTCUWalkEnd(SparseWalk *w, cudaStream_t stream)
{
  if (!w->rank) return;
  (void)SparseWalkDestroy(w, HRPB_SUCCESS, stream);
  AIJTCUWorkspaceUser(PETSC_FALSE);
}

/* The first ghost that a later process has, as a column */
static PetscInt AIJTCULaterGhosts(const AIJTCUPart *part)
{
  const PetscInt n = AIJTCUPartGhosts(part);
  PetscInt       i = 0;

  while (i < n && part->ghosts[i] < part->nodes->rend) i++;
  return part->nodes->n + i;
}

/*
   The node that each node is beside: a column, the node itself, or -1 for one of fewer than two entries that no node
   took. state is room for numbers of nodes and ghosts. ok: all processes have it. Collective
*/
static PetscErrorCode AIJTCUPartWalk(const AIJTCUPart *part, const PetscInt order[], PetscInt owner[],
  PetscInt state[], PetscBool *ok)
{
  const PetscInt n = part->nodes->n, later = AIJTCULaterGhosts(part);
  MPI_Comm       comm   = part->nodes->comm;
  cudaStream_t   stream = NULL;
  HrpbError      err    = HRPB_SUCCESS;
  SparseWalk     w      = {.rank = NULL};
  PetscInt       status[2]; /* whether one has failed, and whether nodes are undecided */
  PetscErrorCode ierr;

  PetscFunctionBegin;
  PetscCall(PetscArrayzero(state, part->G.ncols));
  ierr = AIJTCUDeviceBegin(&stream);
  if (!ierr) ierr = AIJTCUWalkBeginOnStream(part, order, stream, &w, &err);
  do {
    status[1] = 0;
    if (!ierr && !err) ierr = AIJTCUWalkTurnOnStream(part, later, &w, state, stream, &err);
    PetscCall(AIJTCUPartTell(part, state));
    if (!ierr && !err) ierr = AIJTCUWalkMeetOnStream(part, state + n, &w, &status[1], stream, &err);
    status[0] = ierr || err;
    PetscCall(AIJTCUMostOfAll(comm, 2, status));
  } while (!status[0] && status[1]);
  if (!ierr) ierr = AIJTCUWalkOwnersOnStream(part, owner, &w, stream, &err);
  AIJTCUWalkEnd(&w, stream);
  ierr = AIJTCUPartWorked(stream, ierr);
  PetscCall(AIJTCUAgree(comm, ierr, (PetscBool)!err, ok));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*
   Aggregates of the nodes that own others, and in aggregate their numbers on all processes, of nodes and ghosts.
   Collective
*/
static PetscErrorCode AIJTCUPartAggregates(const AIJTCUPart *part, const PetscInt owner[], PetscInt number[],
  PetscInt aggregate[], PetscLayout *aggregates)
{
  const PetscInt n     = part->nodes->n;
  PetscInt       count = 0;

  PetscFunctionBegin;
  for (PetscInt i = 0; i < n; i++) number[i] = owner[i] == i ? count++ : -1;
  PetscCall(PetscLayoutCreateFromSizes(part->nodes->comm, count, PETSC_DETERMINE, 1, aggregates));
  for (PetscInt i = 0; i < n; i++) {
    if (number[i] >= 0) number[i] += (*aggregates)->rstart;
  }
  PetscCall(AIJTCUPartTell(part, number));
  for (PetscInt i = 0; i < n; i++) aggregate[i] = owner[i] < 0 ? -1 : number[owner[i]];
  PetscCall(AIJTCUPartTell(part, aggregate));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static inline PetscBool AIJTCUIsMine(PetscLayout layout, PetscInt number)
{
  return (PetscBool)(number >= layout->rstart && number < layout->rend);
}

/* Numbers of things become values of these things, which their processes have. Negative numbers stay. Collective */
static PetscErrorCode AIJTCULookUp(PetscLayout layout, const PetscInt value[], PetscInt n, PetscInt number[])
{
  PetscSF   sf;
  PetscInt *others, *values, m = 0, k = 0;

  PetscFunctionBegin;
  for (PetscInt i = 0; i < n; i++) m += number[i] >= 0 && !AIJTCUIsMine(layout, number[i]);
  PetscCall(PetscMalloc2(m, &others, m, &values));
  for (PetscInt i = 0; i < n; i++) {
    if (number[i] >= 0 && !AIJTCUIsMine(layout, number[i])) others[k++] = number[i];
  }
  PetscCall(PetscSFCreate(layout->comm, &sf));
  PetscCall(PetscSFSetGraphLayout(sf, layout, m, NULL, PETSC_COPY_VALUES, others));
  PetscCall(PetscSFBcastBegin(sf, MPIU_INT, value, values, MPI_REPLACE));
  PetscCall(PetscSFBcastEnd(sf, MPIU_INT, value, values, MPI_REPLACE));
  PetscCall(PetscSFDestroy(&sf));
  k = 0;
  for (PetscInt i = 0; i < n; i++) {
    if (number[i] >= 0) number[i] = AIJTCUIsMine(layout, number[i]) ? value[number[i] - layout->rstart] : values[k++];
  }
  PetscCall(PetscFree2(others, values));
  PetscFunctionReturn(PETSC_SUCCESS);
}

enum {
  WORK = 3 /* times numbers of nodes and ghosts: owners, their numbers, aggregates of a step */
};

/*
   One step more: aggregates of the graph `on`, and what nodes of the first graph belong to then. In the first step
   these are the same nodes. *aggregates become those of this step. work is room for WORK numbers. Collective
*/
static PetscErrorCode AIJTCUPartStep(const AIJTCUPart *on, PetscBool first, const PetscInt order[], PetscInt n,
  PetscInt aggregate[], PetscLayout *aggregates, PetscInt work[], PetscBool *ok)
{
  PetscInt   *owner = work, *number = work + on->G.ncols, *of = work + 2 * on->G.ncols;
  PetscLayout before = *aggregates;

  PetscFunctionBegin;
  PetscCall(AIJTCUPartWalk(on, first ? order : NULL, owner, number, ok));
  if (!*ok) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCall(AIJTCUPartAggregates(on, owner, number, of, aggregates));
  if (first) PetscCall(PetscArraycpy(aggregate, of, n));
  else PetscCall(AIJTCULookUp(before, of, n, aggregate));
  PetscCall(PetscLayoutDestroy(&before));
  *ok = (PetscBool)((*aggregates)->N > 0);
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*
   The aggregates of distance k, by their numbers on all processes. *aggregates are there after an error, too.
   Collective
*/
static PetscErrorCode AIJTCUPartDistance(const AIJTCUPart *part, PetscInt k, const PetscInt order[],
  PetscInt aggregate[], PetscLayout *aggregates, PetscBool *ok)
{
  AIJTCUPart     made = {.nodes = NULL};
  PetscErrorCode ierr = PETSC_SUCCESS;

  PetscFunctionBegin;
  *ok = PETSC_TRUE;
  for (PetscInt step = 0; step < k && *ok && !ierr; step++) {
    const AIJTCUPart *on   = step ? &made : part;
    AIJTCUPart        next = {.nodes = NULL};
    PetscInt         *work;

    ierr = PetscMalloc1(WORK * on->G.ncols, &work);
    if (ierr) break;
    ierr = AIJTCUPartStep(on, (PetscBool)!step, order, part->nodes->n, aggregate, aggregates, work, ok);
    if (!ierr && *ok && step < k - 1) {
      ierr = AIJTCUPartOfAggregates(on, *aggregates, work + 2 * on->G.ncols, &next, ok);
      (void)AIJTCUPartDestroy(&made);
      made = next;
    }
    (void)PetscFree(work);
  }
  (void)AIJTCUPartDestroy(&made);
  PetscCall(ierr);
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*
   Which node or aggregate a node belongs to, by numbers of all processes. Nodes of others that belong to those of
   here
*/
typedef struct {
  const PetscInt *of; /* of each node here, or negative */
  PetscInt        n, *node, *to; /* nodes of others, which ascend, and to which here, counted from the first one here */
} AIJTCUBelongs;

/* b has `of`. Collective */
static PetscErrorCode AIJTCUBelongsFromOthers(PetscLayout nodes, PetscLayout owners, AIJTCUBelongs *b)
{
  AIJTCUGhostRows g    = {.sf = NULL};
  AIJTCUShipment  come = {.sent = 0};
  PetscInt       *of, *node, *lengths, m = 0, k = 0;

  PetscFunctionBegin;
  for (PetscInt i = 0; i < nodes->n; i++) m += b->of[i] >= 0 && !AIJTCUIsMine(owners, b->of[i]);
  PetscCall(PetscMalloc3(m, &of, m, &node, m + 1, &lengths));
  for (PetscInt i = 0; i < nodes->n; i++) {
    if (b->of[i] < 0 || AIJTCUIsMine(owners, b->of[i])) continue;
    lengths[k] = 1;
    of[k]      = b->of[i];
    node[k++]  = nodes->rstart + i;
  }
  PetscCall(PetscSortIntWithArray(m, of, node));
  PetscCall(AIJTCUGhostsCreate(owners, m, of, &g));
  PetscCall(AIJTCUShipmentCreate(&g, AIJTCU_OWNERS, lengths, node, &come, &b->node));
  b->n = come.received;
  PetscCall(PetscMalloc1(b->n, &b->to));
  PetscCall(PetscArraycpy(b->to, g.rows, b->n));
  PetscCall(PetscSortIntWithArray(b->n, b->node, b->to));
  PetscCall(AIJTCUShipmentDestroy(&come));
  PetscCall(AIJTCUGhostsDestroy(&g));
  PetscCall(PetscFree3(of, node, lengths));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode AIJTCUBelongsDestroy(AIJTCUBelongs *b)
{
  PetscFunctionBegin;
  PetscCall(PetscFree(b->node));
  PetscCall(PetscFree(b->to));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* A matrix whose columns of other processes are all nodes of others that are in a list of this one */
static PetscErrorCode AIJTCUGhostsOfLists(PetscLayout nodes, const AIJTCUBelongs b[2], Mat *ghosts)
{
  const PetscScalar one = 1;
  PetscInt         *lengths;

  PetscFunctionBegin;
  PetscCall(PetscCalloc1(nodes->n, &lengths));
  for (int k = 0; k < 2; k++) {
    for (PetscInt i = 0; i < b[k].n; i++) lengths[b[k].to[i]]++;
  }
  PetscCall(MatCreateAIJ(nodes->comm, nodes->n, nodes->n, nodes->N, nodes->N, 0, NULL, 0, lengths, ghosts));
  for (int k = 0; k < 2; k++) {
    for (PetscInt i = 0; i < b[k].n; i++) PetscCall(MatSetValue(*ghosts, nodes->rstart + b[k].to[i], b[k].node[i], one, INSERT_VALUES));
  }
  PetscCall(MatAssemblyBegin(*ghosts, MAT_FINAL_ASSEMBLY));
  PetscCall(MatAssemblyEnd(*ghosts, MAT_FINAL_ASSEMBLY));
  PetscCall(PetscFree(lengths));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Nodes of others go to the ends of their lists, from one of them on up to one whose number is too large */
static PetscErrorCode AIJTCUAppendOthers(PetscCoarsenData *lists, PetscCDIntNd *last[], const AIJTCUBelongs *b,
  PetscInt *i, PetscInt end)
{
  PetscFunctionBegin;
  for (; *i < b->n && b->node[*i] < end; (*i)++) PetscCall(AIJTCUAppend(lists, last, b->to[*i], b->node[*i]));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode AIJTCUAppendOwn(PetscCoarsenData *lists, PetscCDIntNd *last[], PetscLayout nodes,
  PetscLayout owners, const PetscInt of[], PetscBool begun)
{
  PetscFunctionBegin;
  for (PetscInt i = 0; i < nodes->n; i++) {
    if (AIJTCUIsMine(owners, of[i]) && !(begun && of[i] - owners->rstart == i)) {
      PetscCall(AIJTCUAppend(lists, last, of[i] - owners->rstart, nodes->rstart + i));
    }
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*
   Lists as PETSc has them. Those of aggregates ascend. Those of nodes begin with themselves; nodes follow that belong
   to them, here and then of others, and then in the same way those of b[1], which come later to them
*/
static PetscErrorCode AIJTCUPartLists(PetscLayout nodes, PetscLayout owners, PetscBool begin, const AIJTCUBelongs b[2],
  PetscCoarsenData **lists)
{
  PetscCDIntNd **last;
  PetscInt       other[2] = {0, 0};

  PetscFunctionBegin;
  PetscCall(PetscCDCreate(nodes->n, lists));
  PetscCall(PetscCDSetChunkSize(*lists, nodes->n + b[0].n + b[1].n + 1));
  PetscCall(PetscMalloc1(PetscMax(nodes->n, owners->n), &last));
  for (PetscInt i = 0; i < nodes->n && begin; i++) {
    if (b[0].of[i] == nodes->rstart + i) PetscCall(AIJTCUAppend(*lists, last, i, nodes->rstart + i));
  }
  if (!begin) PetscCall(AIJTCUAppendOthers(*lists, last, &b[0], &other[0], nodes->rstart));
  PetscCall(AIJTCUAppendOwn(*lists, last, nodes, owners, b[0].of, begin));
  PetscCall(AIJTCUAppendOthers(*lists, last, &b[0], &other[0], PETSC_INT_MAX));
  if (b[1].of) PetscCall(AIJTCUAppendOwn(*lists, last, nodes, owners, b[1].of, PETSC_FALSE));
  PetscCall(AIJTCUAppendOthers(*lists, last, &b[1], &other[1], PETSC_INT_MAX));
  PetscCall(PetscFree(last));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* All that a coarsener leaves, of nodes that belong to something once or, in the second place, later. Collective */
static PetscErrorCode AIJTCUPartEnd(PetscLayout nodes, PetscLayout owners, int places, PetscInt *const of[],
  PetscBool begin, PetscCoarsenData **lists)
{
  AIJTCUBelongs b[2] = {{.n = 0}, {.n = 0}};
  Mat           ghosts;

  PetscFunctionBegin;
  for (int k = 0; k < places; k++) {
    b[k].of = of[k];
    PetscCall(AIJTCUBelongsFromOthers(nodes, owners, &b[k]));
  }
  PetscCall(AIJTCUPartLists(nodes, owners, begin, b, lists));
  PetscCall(AIJTCUGhostsOfLists(nodes, b, &ghosts));
  PetscCall(PetscCDSetMat(*lists, ghosts));
  for (int k = 0; k < places; k++) PetscCall(AIJTCUBelongsDestroy(&b[k]));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode AIJTCUCoarsenDistance(const AIJTCUPart *part, PetscInt k, const PetscInt order[],
  PetscCoarsenData **lists, PetscBool *ok)
{
  PetscInt      *aggregate;
  PetscLayout    aggregates = NULL;
  PetscErrorCode ierr;

  PetscFunctionBegin;
  PetscCall(PetscMalloc1(part->nodes->n, &aggregate));
  ierr = AIJTCUPartDistance(part, k, order, aggregate, &aggregates, ok);
  if (!ierr && *ok) ierr = AIJTCUPartEnd(part->nodes, aggregates, 1, &aggregate, PETSC_FALSE, lists);
  (void)PetscLayoutDestroy(&aggregates);
  (void)PetscFree(aggregate);
  PetscCall(ierr);
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode AIJTCUTakersOnStream(const SparseMatrix *G, const PetscInt owner[], PetscInt taker[],
  cudaStream_t stream, HrpbError *err)
{
  PetscFunctionBegin;
  PetscCall(PetscLogGpuTimeBegin());
  AIJTCUCallDevice(*err, SparseTakers(G, owner, stream, taker));
  PetscCall(PetscLogGpuTimeEnd());
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*
   Nodes beside one in a graph that was taken, which do not belong to it, or are one of another process's: its number in
   taker, or -1, and theirs in `of` becomes -1. owner is a column of the square. Collective
*/
static PetscErrorCode AIJTCUPartTakers(const AIJTCUPart *beneath, const PetscInt owner[], PetscInt of[],
  PetscInt taker[], PetscBool *ok)
{
  const PetscInt n      = beneath->nodes->n;
  cudaStream_t   stream = NULL;
  HrpbError      err    = HRPB_SUCCESS;
  PetscInt      *taken;
  PetscErrorCode ierr;

  PetscFunctionBegin;
  PetscCall(PetscMalloc1(beneath->G.ncols, &taken));
  for (PetscInt i = 0; i < n; i++) taken[i] = owner[i] == i;
  PetscCall(AIJTCUPartTell(beneath, taken));
  for (PetscInt i = 0; i < (PetscInt)beneath->G.ncols; i++) taken[i] = i >= n ? (taken[i] ? i : -1) : owner[i] < n ? owner[i] : -1;
  ierr = AIJTCUDeviceBegin(&stream);
  if (!ierr) ierr = AIJTCUTakersOnStream(&beneath->G, taken, taker, stream, &err);
  ierr = AIJTCUPartWorked(stream, ierr);
  (void)PetscFree(taken);
  PetscCall(AIJTCUAgree(beneath->nodes->comm, ierr, (PetscBool)!err, ok));
  for (PetscInt i = 0; i < n && *ok; i++) {
    if (taker[i] < 0) continue;
    taker[i] = AIJTCUPartNumber(beneath, taker[i]);
    of[i]    = -1;
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Of a graph, or of the square of the graph beneath, which is NULL otherwise */
static PetscErrorCode AIJTCUCoarsenNodes(const AIJTCUPart *part, const AIJTCUPart *beneath, const PetscInt order[],
  PetscCoarsenData **lists, PetscBool *ok)
{
  const PetscInt n = part->nodes->n, nall = (PetscInt)part->G.ncols;
  PetscInt      *state, *owner, *of[2];
  PetscErrorCode ierr;

  PetscFunctionBegin;
  PetscCall(PetscMalloc4(nall, &state, n, &owner, n, &of[0], n, &of[1]));
  ierr = AIJTCUPartWalk(part, order, owner, state, ok);
  for (PetscInt i = 0; i < n && !ierr && *ok; i++) of[0][i] = owner[i] < 0 ? -1 : AIJTCUPartNumber(part, owner[i]);
  if (!ierr && *ok && beneath) ierr = AIJTCUPartTakers(beneath, owner, of[0], of[1], ok);
  if (!ierr && *ok) ierr = AIJTCUPartEnd(part->nodes, part->nodes, beneath ? 2 : 1, of, PETSC_TRUE, lists);
  (void)PetscFree4(state, owner, of[0], of[1]);
  PetscCall(ierr);
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* The graph that hangs on a matrix. Collective */
static PetscErrorCode AIJTCUPartOfHung(Mat C, AIJTCUPart *part)
{
  const SparseMatrix *pattern;
  const PetscInt     *ghosts;
  PetscInt           *copy, n;

  PetscFunctionBegin;
  PetscCall(AIJTCUHungPattern(C, &pattern, NULL));
  PetscCall(AIJTCUHungGhosts(C, &n, &ghosts));
  PetscCall(PetscMalloc1(n, &copy));
  PetscCall(PetscArraycpy(copy, ghosts, n));
  PetscCall(AIJTCUPartCreate(C->rmap, pattern, (SparseGraph){.rowptr = NULL}, copy, part));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* k is the distance of MATCOARSENMISK, or 0 for MATCOARSENMIS. done: all processes have their lists. Collective */
PetscErrorCode AIJTCUCoarsenParallel(MatCoarsen coarsen, PetscInt k, PetscBool *done)
{
  const PetscInt *order   = NULL;
  AIJTCUPart      part, beneath = {.nodes = NULL};
  Mat             of;
  PetscErrorCode  ierr;

  PetscFunctionBegin;
  PetscCall(AIJTCUHungPattern(coarsen->graph, NULL, &of));
  if (!coarsen->graph->structure_only) of = NULL;
  PetscCall(AIJTCUPartOfHung(coarsen->graph, &part));
  if (of) PetscCall(AIJTCUPartOfHung(of, &beneath));
  if (coarsen->perm) PetscCall(ISGetIndices(coarsen->perm, &order));
  if (k) ierr = AIJTCUCoarsenDistance(&part, k, order, &coarsen->agg_lists, done);
  else ierr = AIJTCUCoarsenNodes(&part, of ? &beneath : NULL, order, &coarsen->agg_lists, done);
  if (coarsen->perm) PetscCall(ISRestoreIndices(coarsen->perm, &order));
  (void)AIJTCUPartDestroy(&part);
  (void)AIJTCUPartDestroy(&beneath);
  PetscCall(ierr);
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* The square of a graph that hangs on a matrix, on another empty one. Collective */
PetscErrorCode AIJTCUSquareParallel(Mat G, Mat *square, PetscBool *done)
{
  AIJTCUPart     part, made;
  PetscErrorCode ierr;

  PetscFunctionBegin;
  PetscCall(AIJTCUPartOfHung(G, &part));
  ierr = AIJTCUPartSquare(&part, &made, done);
  (void)AIJTCUPartDestroy(&part);
  PetscCall(ierr);
  if (!*done) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCall(MatCreate(PetscObjectComm((PetscObject)G), square));
  PetscCall(MatSetOption(*square, MAT_STRUCTURE_ONLY, PETSC_TRUE));
  PetscCall(AIJTCUHangPattern(*square, G, &made.G, made.arrays, made.ghosts));
  AIJTCUWorkspaceUser(PETSC_FALSE); /* it is that of the matrix now */
  made.arrays = (SparseGraph){.rowptr = NULL};
  made.ghosts = NULL;
  PetscCall(AIJTCUPartDestroy(&made));
  PetscFunctionReturn(PETSC_SUCCESS);
}
#endif
