/*
   The square of the graph that PCGAMG coarsens, on the device.

   PETSc makes a structure-only product of two SEQAIJ on the host, whatever type they are of (upstream/squaregraph.c).
   It looks at the name of the type. So the graph has another name from where PCGAMG begins to coarsen up to the set-up
   of that product. Nobody sees it: in between PCGAMG counts rows and makes an order of them.
*/
#include "sparseimpl.h"
#include "../upstream/upstream.h"

#if AIJTCU_HAVE_BLOCK && AIJTCU_HAVE_DEVICE_REAL
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

/* Set up the square. Where it is not ours it is PETSc's, which sees the graph's name now */
static PetscErrorCode MatProductSetFromOptions_Square(Mat C)
{
  PetscFunctionBegin;
  AIJTCUSquareShow();
  if (C->structure_only) PetscCall(AIJTCUSetUpSparse(C, NULL));
  if (!C->ops->productsymbolic) PetscCall(MatProductSetFromOptions(C));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode AIJTCUSquareHide(PC pc, Mat graph)
{
  static char name[] = "aijtcugraph";
  AIJTCUPlan *plan;
  PetscBool   squares, usable;

  PetscFunctionBegin;
  PetscCall(AIJTCUGetPlan(graph, &plan));
  if (!plan || hidden.graph) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCall(AIJTCUSparseOnDevice(graph, &usable));
  if (usable) PetscCall(AIJTCUGAMGSquares(pc, &squares));
  if (!usable || !squares) PetscFunctionReturn(PETSC_SUCCESS);
  hidden.graph                      = graph;
  hidden.type                       = ((PetscObject)graph)->type_name;
  hidden.setfromoptions             = graph->ops->productsetfromoptions;
  ((PetscObject)graph)->type_name   = name;
  graph->ops->productsetfromoptions = MatProductSetFromOptions_Square;
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
