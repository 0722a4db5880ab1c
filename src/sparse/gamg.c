/*
   The graphs that PCGAMG coarsens, on the devices of all processes: they and their squares do not go to the host.

   PCGAMG asks for a graph with MatCreateGraph(), and does not say what for. So it is known here when PCGAMG does, and
   whether anybody but a coarsener of ours (coarsen.c) will look at the graph. If not, the pattern of the graph hangs on
   an empty matrix (hungpattern.c).

   Then PCGAMG makes an order of the nodes, squares the graph if so set, and coarsens it. Where a coarsener of ours does
   the last, all of this is done here, as PCGAMGCoarsen_AGG() does it, with the same result. PETSc would make the square
   on the host, whatever type the graph is of, and wait for memory at each node while it makes the order
   (upstream/gamggraph.c). Nobody needs the square but the coarsener, so it hangs on an empty matrix, too.
*/
#include "coarsen.h"
#include "../upstream/upstream.h"

#if AIJTCU_HAVE_BLOCK && AIJTCU_HAVE_DEVICE_REAL
  #include <petscbt.h>
  #if PetscDefined(HAVE_XMMINTRIN_H)
    #include <xmmintrin.h> /* of PETSC_Prefetch() */
  #endif
  #include <petscdevice_cuda.h>
  #include <petsc/private/pcgamgimpl.h>

/* PETSc's, of PCGAMGAGG */
static PetscErrorCode (*AIJTCUCreate)(PC, Mat, Mat *);
static PetscErrorCode (*AIJTCUCoarsen)(PC, Mat *, PetscCoarsenData **);

/* Whether PCGAMG is set up, and whether it makes a graph that it coarsens only */
static PetscBool sets_up, coarsens_only;

/* Whether nobody will look at the graph that is made now, but a coarsener of ours */
PetscBool AIJTCUGraphIsCoarsenedOnly(void)
{
  return (PetscBool)(coarsens_only && AIJTCUCoarsenerLatest());
}

/* What PCGAMG makes its coarsener for, and then the graph. Options may be there to look at it */
static PetscErrorCode PCGAMGCreateGraph_AIJTCU(PC pc, Mat A, Mat *graph)
{
  const PC_GAMG *gamg = (const PC_GAMG *)((const PC_MG *)pc->data)->innerctx;
  PetscBool      seen, viewed, typed;
  PetscErrorCode ierr;

  PetscFunctionBegin;
  PetscCall(PetscOptionsHasName(NULL, NULL, "-mat_graph_view", &seen));
  PetscCall(PetscOptionsHasName(NULL, NULL, "-mat_view", &viewed));
  /* PCGAMG asks for the type again, by another name, once levels are not aggressive */
  PetscCall(PetscOptionsHasName(NULL, ((PetscObject)pc)->prefix, "-mat_coarsen_type", &typed));
  coarsens_only = (PetscBool)(sets_up && !seen && !viewed && !typed && gamg->threshold[gamg->current_level] < 0 && !gamg->asm_hem_aggs);
  AIJTCUCoarsenerForget();
  ierr          = (*AIJTCUCreate)(pc, A, graph);
  coarsens_only = PETSC_FALSE;
  PetscCall(ierr);
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* The square of a symmetric pattern, which is also its transpose times itself */
static PetscErrorCode AIJTCUSquareOnStream(const SparseMatrix *G, cudaStream_t stream, SparseGraph *square, HrpbError *err)
{
  PetscFunctionBegin;
  PetscCall(PetscLogGpuTimeBegin());
  AIJTCUCallDevice(*err, SparseGraphProduct(G, G, stream, square));
  PetscCall(PetscLogGpuTimeEnd());
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode AIJTCUSquareMake(Mat G, SparseGraph *square, HrpbError *err)
{
  SparseMatrix M;
  cudaStream_t stream = NULL;

  PetscFunctionBegin;
  PetscCall(AIJTCUCoarsenGraph(G, &M, err));
  if (!*err) AIJTCUCallOnStream(stream, AIJTCUSquareOnStream(&M, stream, square, err));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* The square of a graph, or NULL. It hangs on an empty matrix. Collective */
static PetscErrorCode AIJTCUSquareHang(Mat G, PetscBool parallel, Mat *square, HrpbError *err)
{
  SparseGraph  own;
  SparseMatrix pattern;

  PetscFunctionBegin;
  #if AIJTCU_HAVE_PARALLEL_COARSENING
  if (parallel) {
    PetscBool done;

    PetscCall(AIJTCUSquareParallel(G, square, &done));
    if (!done) *err = HRPB_ERR_UNSUPPORTED;
    PetscFunctionReturn(PETSC_SUCCESS);
  }
  #else
  (void)parallel;
  #endif
  PetscCall(AIJTCUSquareMake(G, &own, err));
  if (*err) PetscFunctionReturn(PETSC_SUCCESS);
  pattern = AIJTCUPatternOf(&own);
  PetscCall(MatCreate(PetscObjectComm((PetscObject)G), square));
  PetscCall(MatSetOption(*square, MAT_STRUCTURE_ONLY, PETSC_TRUE));
  PetscCall(AIJTCUHangPattern(*square, G, &pattern, own, NULL));
  PetscFunctionReturn(PETSC_SUCCESS);
}

enum {
  AHEAD   = 256, /* places that are drawn before they are needed */
  CHECKED = 4    /* numbers that are drawn in both ways first */
};

/* PETSc's default generator has 48 bits, in three parts. Here they are one number */
static PetscReal AIJTCUDraw(PetscInt64 *bits)
{
  *bits = (PetscInt64)((0x5deece66dULL * (unsigned long long)*bits + 0xb) & 0xffffffffffffULL);
  return (PetscReal)((double)*bits / 281474976710656.);
}

/* Whether the numbers of a generator that was just created can be drawn here, which takes a fifth of the time */
static PetscErrorCode AIJTCUDrawsHere(PetscRandom random, PetscInt64 *bits, PetscBool *here)
{
  PetscRandom other;
  PetscInt64  seed, next;

  PetscFunctionBegin;
  PetscCall(PetscRandomGetSeed(random, &seed));
  *bits = next = (PetscInt64)(((unsigned long long)seed << 16 | 0x330e) & 0xffffffffffffULL);
  *here        = PETSC_TRUE;
  PetscCall(PetscRandomCreate(PETSC_COMM_SELF, &other));
  for (int k = 0; k < CHECKED; k++) {
    PetscReal x;

    PetscCall(PetscRandomGetValueReal(other, &x));
    if (x != AIJTCUDraw(&next)) *here = PETSC_FALSE;
  }
  PetscCall(PetscRandomDestroy(&other));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* PCGAMG's order: each place in turn is exchanged with a random one, unless that was. Its memory is there by then */
static PetscErrorCode AIJTCUShuffle(PetscInt n, PetscInt order[])
{
  PetscInt    place[AHEAD];
  PetscBT     exchanged;
  PetscRandom random;
  PetscInt64  bits = 0;
  PetscBool   here = PETSC_FALSE;

  PetscFunctionBegin;
  for (PetscInt i = 0; i < n; i++) order[i] = i;
  PetscCall(PetscBTCreate(n, &exchanged));
  PetscCall(PetscRandomCreate(PETSC_COMM_SELF, &random));
  PetscCall(AIJTCUDrawsHere(random, &bits, &here));
  for (PetscInt first = 0; first < n; first += AHEAD) {
    const PetscInt m = PetscMin((PetscInt)AHEAD, n - first);

    for (PetscInt k = 0; k < m; k++) {
      PetscReal x;

      if (here) x = AIJTCUDraw(&bits);
      else PetscCall(PetscRandomGetValueReal(random, &x));
      place[k] = (PetscInt)(x * n) % n;
      PETSC_Prefetch(order + place[k], 1, PETSC_PREFETCH_HINT_T0);
    }
    for (PetscInt k = 0; k < m; k++) {
      const PetscInt i = order[first + k];

      if (place[k] == first + k || PetscBTLookupSet(exchanged, place[k])) continue;
      order[first + k] = order[place[k]];
      order[place[k]]  = i;
    }
  }
  PetscCall(PetscRandomDestroy(&random));
  PetscCall(PetscBTDestroy(&exchanged));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Have nodes with few neighbours come first. To ask for each row costs more than to sort, where events are logged */
static PetscErrorCode AIJTCUOrderByDegrees(Mat G, PetscInt order[])
{
  const PetscInt n = G->rmap->n, first = G->rmap->rstart;
  const HrpbInt *rowptr;
  PetscInt      *degree;

  PetscFunctionBegin;
  PetscCall(PetscMalloc1(n, &degree));
  PetscCall(AIJTCUHungRowPointers(G, &rowptr));
  for (PetscInt i = 0; i < n; i++) {
    if (rowptr) degree[i] = (PetscInt)(rowptr[order[i] + 1] - rowptr[order[i]]);
    else {
      PetscCall(MatGetRow(G, first + order[i], &degree[i], NULL, NULL));
      PetscCall(MatRestoreRow(G, first + order[i], NULL, NULL, NULL));
    }
  }
  PetscCall(PetscSortIntWithArray(n, degree, order));
  PetscCall(PetscFree(degree));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* The coarsener of the level, as PCGAMG sets it */
static PetscErrorCode AIJTCUSetCoarsener(PC pc, const AIJTCUAggregation *a, PetscBool aggressive, MatCoarsen coarsener)
{
  PetscFunctionBegin;
  if (aggressive && a->use_aggressive_square_graph) PetscCall(MatCoarsenSetType(coarsener, MATCOARSENMIS));
  else if (aggressive) PetscCall(MatCoarsenMISKSetDistance(coarsener, a->aggressive_mis_k));
  else if (a->use_aggressive_square_graph && a->aggressive_coarsening_levels > 0) {
    PetscCall(PetscObjectSetOptionsPrefix((PetscObject)coarsener, ((PetscObject)pc)->prefix));
    PetscCall(MatCoarsenSetFromOptions(coarsener));
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* The aggregates of a graph, or of its square, which takes its place. None: it could not be done on the device */
static PetscErrorCode AIJTCUAggregate(MatCoarsen coarsener, const PetscInt order[], Mat square, Mat *graph, PetscCoarsenData **lists)
{
  const SparseMatrix *hung;
  PetscBool           parallel;
  IS                  perm;

  PetscFunctionBegin;
  PetscCall(AIJTCUHungIsParallel(*graph, &parallel));
  PetscCall(ISCreateGeneral(PETSC_COMM_SELF, (*graph)->rmap->n, order, PETSC_USE_POINTER, &perm));
  PetscCall(MatCoarsenSetAdjacency(coarsener, square ? square : *graph));
  PetscCall(MatCoarsenSetStrictAggs(coarsener, PETSC_TRUE));
  PetscCall(MatCoarsenSetGreedyOrdering(coarsener, perm));
  PetscCall(MatCoarsenApply(coarsener));
  PetscCall(MatCoarsenGetData(coarsener, lists));
  PetscCall(ISDestroy(&perm));
  if (!square) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCall(AIJTCUHungPattern(square, &hung, NULL));
  if (hung && parallel) PetscCall(MatDestroy(&square)); /* the lists have a matrix with their ghosts */
  else if (hung) {
    PetscCall(MatDestroy(graph));
    *graph = square;
    PetscCall(PetscCDSetMat(*lists, square));
  } else {
    /* aggregates of the square alone: on the host PCGAMG gives nodes to other aggregates afterwards */
    PetscCall(PetscCDDestroy(*lists));
    PetscCall(MatDestroy(&square));
    *lists = NULL;
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Coarsen a graph on the device, if that can be done */
static PetscErrorCode AIJTCUCoarsenHere(PC pc, const AIJTCUAggregation *a, MatCoarsen coarsener, Mat *graph, PetscCoarsenData **lists)
{
  const PC_GAMG  *gamg       = (const PC_GAMG *)((const PC_MG *)pc->data)->innerctx;
  const PetscBool aggressive = (PetscBool)(gamg->current_level < a->aggressive_coarsening_levels);
  PetscLogEvent   aggregate;
  HrpbError       err    = HRPB_SUCCESS;
  Mat             square = NULL;
  PetscBool       parallel;
  PetscInt       *order;

  PetscFunctionBegin;
  PetscCall(AIJTCUHungIsParallel(*graph, &parallel));
  PetscCall(PetscLogEventGetId("  GAMG MIS/Agg", &aggregate));
  PetscCall(PetscMalloc1((*graph)->rmap->n, &order));
  PetscCall(AIJTCUShuffle((*graph)->rmap->n, order));
  if (a->use_minimum_degree_ordering) PetscCall(AIJTCUOrderByDegrees(*graph, order));
  PetscCall(PetscLogEventBegin(aggregate, 0, 0, 0, 0));
  if (aggressive && a->use_aggressive_square_graph) PetscCall(AIJTCUSquareHang(*graph, parallel, &square, &err));
  if (!err) {
    PetscCall(AIJTCUSetCoarsener(pc, a, aggressive, coarsener));
    PetscCall(AIJTCUAggregate(coarsener, order, square, graph, lists));
  } else PetscCall(PetscInfo(pc, "aijtcu: the square of a graph is made on the host: %s\n", HrpbErrorString(err)));
  PetscCall(PetscLogEventEnd(aggregate, 0, 0, 0, 0));
  PetscCall(PetscFree(order));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode PCGAMGCoarsen_AIJTCU(PC pc, Mat *graph, PetscCoarsenData **lists)
{
  const AIJTCUAggregation *a         = NULL;
  const MatCoarsen         coarsener = AIJTCUCoarsenerLatest();
  PetscLogEvent            coarsen;
  PetscBool                usable, mis;

  PetscFunctionBegin;
  *lists = NULL;
  PetscCall(AIJTCUCoarsens(*graph, &usable));
  PetscCall(AIJTCUCoarsenerIsOurs(MATCOARSENMIS, &mis));
  if (usable && mis && coarsener && !((PC_GAMG *)((PC_MG *)pc->data)->innerctx)->asm_hem_aggs) PetscCall(AIJTCUGAMGAggregation(pc, &a));
  if (a) {
    PetscCall(PetscLogEventGetId(" GAMG Coarsen", &coarsen));
    PetscCall(PetscLogEventBegin(coarsen, 0, 0, 0, 0));
    PetscCall(AIJTCUCoarsenHere(pc, a, coarsener, graph, lists));
    PetscCall(PetscLogEventEnd(coarsen, 0, 0, 0, 0));
  }
  if (*lists) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCall(AIJTCUHungToHost(*graph));
  PetscCall((*AIJTCUCoarsen)(pc, graph, lists));
  PetscFunctionReturn(PETSC_SUCCESS);
}
#endif

/*
   Have a PCGAMG keep its graphs on the device, and make its prolongators there. For every set-up: its type may have
   changed
*/
PetscErrorCode AIJTCUKeepGraphs(PC pc)
{
  PetscFunctionBegin;
#if AIJTCU_HAVE_BLOCK && AIJTCU_HAVE_DEVICE_REAL
  sets_up = PETSC_TRUE;
  {
    PCGAMGType type;
    PetscBool  aggregates;

    PetscCall(PCGAMGGetType(pc, &type));
    PetscCall(PetscStrcmp(type, PCGAMGAGG, &aggregates));
    if (aggregates) {
      struct _PCGAMGOps *ops = ((PC_GAMG *)((PC_MG *)pc->data)->innerctx)->ops;

      if (ops->creategraph != PCGAMGCreateGraph_AIJTCU) AIJTCUCreate = ops->creategraph;
      if (ops->coarsen != PCGAMGCoarsen_AIJTCU) AIJTCUCoarsen = ops->coarsen;
      ops->creategraph = PCGAMGCreateGraph_AIJTCU;
      ops->coarsen     = PCGAMGCoarsen_AIJTCU;
      AIJTCUProlongHere(ops);
    }
  }
#else
  (void)pc;
#endif
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* After the set-up: PCGAMGCreateGraph() of a program gives a graph with entries */
void AIJTCUKeepNoGraphs(void)
{
#if AIJTCU_HAVE_BLOCK && AIJTCU_HAVE_DEVICE_REAL
  sets_up = PETSC_FALSE;
#endif
}
