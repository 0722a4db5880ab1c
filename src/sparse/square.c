/*
   The square of the graph that PCGAMG coarsens, on the device.

   PETSc makes a structure-only product of two SEQAIJ on the host, whatever type they are of (upstream/squaregraph.c).
   It looks at the name of the type. So the graph has another name from where PCGAMG begins to coarsen up to the set-up
   of that product. Nobody sees it: in between PCGAMG counts rows and makes an order of them.

   Nobody needs the square but MATCOARSENMIS, which is ours then (coarsen.c). So it stays on the device: the matrix that
   PCGAMG gets has no entries, and the pattern hangs on it. It comes to the host where coarsening is not ours after all.
*/
#include "coarsen.h"
#include "../upstream/upstream.h"

#if AIJTCU_HAVE_BLOCK && AIJTCU_HAVE_DEVICE_REAL
  #include <petscdevice_cuda.h>
  #include <petsc/private/pcgamgimpl.h>

static PetscErrorCode (*AIJTCUCoarsen)(PC, Mat *, PetscCoarsenData **); /* PETSc's, of PCGAMGAGG */

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
static PetscErrorCode AIJTCUSquareOnStream(const SparseMatrix *G, cudaStream_t stream, SparseProduct *square, HrpbError *err)
{
  PetscFunctionBegin;
  PetscCall(PetscLogGpuTimeBegin());
  AIJTCUCallDevice(*err, SparseIsSymmetric(G, stream));
  if (!*err) AIJTCUCallDevice(*err, SparseProductCreate(G, G, stream, square));
  PetscCall(PetscLogGpuTimeEnd());
  if (!*err) AIJTCUWorkspaceUser(PETSC_TRUE);
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode AIJTCUSquareMake(Mat G, SparseProduct *square, HrpbError *err)
{
  SparseMatrix M;
  cudaStream_t stream = NULL;

  PetscFunctionBegin;
  PetscCall(AIJTCUSparseArrays(G, PETSC_FALSE, &M));
  AIJTCUCallOnStream(stream, AIJTCUSquareOnStream(&M, stream, square, err));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode MatProductSymbolic_AIJTCU_Square(Mat C)
{
  const Mat      G = C->product->A;
  SparseProduct *square;
  HrpbError      err = HRPB_SUCCESS;

  PetscFunctionBegin;
  PetscCall(PetscNew(&square));
  PetscCall(AIJTCUSquareMake(G, square, &err));
  if (err) {
    PetscCall(PetscInfo(C, "aijtcu: the square of a graph is made on the host: %s\n", HrpbErrorString(err)));
    PetscCall(PetscFree(square));
    PetscCall(MatProductSetFromOptions(C));
    PetscUseTypeMethod(C, productsymbolic);
    PetscFunctionReturn(PETSC_SUCCESS);
  }
  PetscCall(AIJTCUHangPattern(C, square));
  PetscCall(MatSetSizes(C, G->rmap->n, G->cmap->n, G->rmap->N, G->cmap->N));
  PetscCall(MatSetType(C, MATSEQAIJ)); /* as PETSc has it */
  PetscCall(MatSeqAIJSetPreallocation(C, 0, NULL));
  PetscCall(MatAssemblyBegin(C, MAT_FINAL_ASSEMBLY));
  PetscCall(MatAssemblyEnd(C, MAT_FINAL_ASSEMBLY));
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

/* Have a PCGAMG square its graphs on the device. For every set-up: its type may have changed */
PetscErrorCode AIJTCUSquareGraphs(PC pc)
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

      if (ops->coarsen != PCGAMGCoarsen_AIJTCU) AIJTCUCoarsen = ops->coarsen;
      ops->coarsen = PCGAMGCoarsen_AIJTCU;
    }
  }
#else
  (void)pc;
#endif
  PetscFunctionReturn(PETSC_SUCCESS);
}
