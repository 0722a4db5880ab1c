/*
   The graphs that PCGAMG coarsens, on the device of one process: they and their squares do not go to the host.

   PCGAMG asks for a graph with MatCreateGraph(), and does not say what for. So it is known here when PCGAMG does, and
   whether anybody but a coarsener of ours (coarsen.c) will look at the graph. If not, the pattern of the graph hangs on
   an empty matrix (hungpattern.c).

   PETSc makes a structure-only product of two SEQAIJ on the host, whatever type they are of (upstream/gamggraph.c).
   It looks at the name of the type. So the graph has another name from where PCGAMG begins to coarsen up to the set-up
   of that product. Nobody sees it: in between PCGAMG counts rows and makes an order of them. Nobody needs the square
   but MATCOARSENMIS, so it hangs on an empty matrix, too.
*/
#include "coarsen.h"
#include "../upstream/upstream.h"

#if AIJTCU_HAVE_BLOCK && AIJTCU_HAVE_DEVICE_REAL
  #include <petscdevice_cuda.h>
  #include <petsc/private/pcgamgimpl.h>

/* PETSc's, of PCGAMGAGG */
static PetscErrorCode (*AIJTCUCreate)(PC, Mat, Mat *);
static PetscErrorCode (*AIJTCUCoarsen)(PC, Mat *, PetscCoarsenData **);

/* While PCGAMG makes a graph that it coarsens only: coarseners of ours that there were before. Otherwise -1 */
static int created_before = -1;

/* Whether nobody will look at the graph that is made now, but a coarsener of ours */
PetscBool AIJTCUGraphIsCoarsenedOnly(void)
{
  return (PetscBool)(created_before >= 0 && AIJTCUCoarsenersCreated() > created_before);
}

/* What PCGAMG makes its coarsener for, and then the graph. Options may be there to look at it */
static PetscErrorCode PCGAMGCreateGraph_AIJTCU(PC pc, Mat A, Mat *graph)
{
  const PC_GAMG *gamg = (const PC_GAMG *)((const PC_MG *)pc->data)->innerctx;
  PetscBool      seen, viewed;
  PetscErrorCode ierr;

  PetscFunctionBegin;
  PetscCall(PetscOptionsHasName(NULL, NULL, "-mat_graph_view", &seen));
  PetscCall(PetscOptionsHasName(NULL, NULL, "-mat_view", &viewed));
  if (!seen && !viewed && gamg->threshold[gamg->current_level] < 0 && !gamg->asm_hem_aggs) created_before = AIJTCUCoarsenersCreated();
  ierr           = (*AIJTCUCreate)(pc, A, graph);
  created_before = -1;
  PetscCall(ierr);
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* A graph whose name is hidden, or NULL, and what is put back */
static struct {
  Mat   graph;
  char *type;
  PetscErrorCode (*setfromoptions)(Mat);
} hidden;

static void AIJTCUSquareShow(void)
{
  if (!hidden.graph) return;
  ((PetscObject)hidden.graph)->type_name   = hidden.type;
  hidden.graph->ops->productsetfromoptions = hidden.setfromoptions;
  hidden.graph                             = NULL;
}

/* The square of a symmetric pattern, which is also its transpose times itself */
static PetscErrorCode AIJTCUSquareOnStream(const SparseMatrix *G, cudaStream_t stream, SparseGraph *square, HrpbError *err)
{
  PetscFunctionBegin;
  PetscCall(PetscLogGpuTimeBegin());
  AIJTCUCallDevice(*err, SparseGraphSquare(G, stream, square));
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

static PetscErrorCode MatProductSymbolic_AIJTCU_Square(Mat C)
{
  const Mat    G = C->product->A;
  SparseGraph  square;
  SparseMatrix pattern;
  HrpbError    err = HRPB_SUCCESS;

  PetscFunctionBegin;
  PetscCall(AIJTCUSquareMake(G, &square, &err));
  if (err) {
    PetscCall(PetscInfo(C, "aijtcu: the square of a graph is made on the host: %s\n", HrpbErrorString(err)));
    PetscCall(AIJTCUHungToHost(G));
    PetscCall(MatProductSetFromOptions(C));
    PetscUseTypeMethod(C, productsymbolic);
    PetscFunctionReturn(PETSC_SUCCESS);
  }
  pattern = AIJTCUPatternOf(&square);
  PetscCall(AIJTCUHangPattern(C, G, &pattern, square));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Set up the square. Where it is not ours it is PETSc's, which sees the graph's name now */
static PetscErrorCode MatProductSetFromOptions_AIJTCU_Square(Mat C)
{
  PetscFunctionBegin;
  AIJTCUSquareShow();
  if (C->structure_only) C->ops->productsymbolic = MatProductSymbolic_AIJTCU_Square;
  else PetscCall(MatProductSetFromOptions(C));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode AIJTCUSquareHide(PC pc, Mat graph)
{
  static char name[] = "aijtcugraph";
  PetscBool   squares, usable, ours;

  PetscFunctionBegin;
  if (hidden.graph) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCall(AIJTCUCoarsens(graph, &usable));
  if (usable) PetscCall(AIJTCUCoarsenerIsOurs(MATCOARSENMIS, &ours));
  if (usable && ours) PetscCall(AIJTCUGAMGSquares(pc, &squares));
  if (!usable || !ours || !squares) PetscFunctionReturn(PETSC_SUCCESS);
  hidden.graph                      = graph;
  hidden.type                       = ((PetscObject)graph)->type_name;
  hidden.setfromoptions             = graph->ops->productsetfromoptions;
  ((PetscObject)graph)->type_name   = name;
  graph->ops->productsetfromoptions = MatProductSetFromOptions_AIJTCU_Square;
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode PCGAMGCoarsen_AIJTCU(PC pc, Mat *graph, PetscCoarsenData **lists)
{
  PetscErrorCode ierr;

  PetscFunctionBegin;
  PetscCall(AIJTCUSquareHide(pc, *graph));
  ierr = (*AIJTCUCoarsen)(pc, graph, lists);
  AIJTCUSquareShow(); /* after an error, too */
  PetscCall(ierr);
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
