/*
   The tentative prolongator of PCGAMG, of the aggregates of one process, on the device.

   PETSc's takes the lists of nodes one after the other, factors the vectors near the null space for each, and sets the
   values. Here all lists are factored at once, and pattern and values are born on the device. Values agree to rounding.
*/
#include "coarsen.h"

#if AIJTCU_HAVE_BLOCK && AIJTCU_HAVE_DEVICE_REAL
  #include <petscdevice_cuda.h>
  #include <petsc/private/pcgamgimpl.h>

static PetscErrorCode (*AIJTCUProlong)(PC, Mat, PetscCoarsenData *, Mat *); /* PETSc's, of PCGAMGAGG */

/* The lists as arrays. Two allocations, which begin and aggregate begin */
typedef struct {
  PetscInt *begin, *member, *before, *aggregate;
  PetscInt  naggregates;
} AIJTCUNodeLists;

static PetscErrorCode AIJTCUListsGet(PetscCoarsenData *lists, PetscInt n, AIJTCUNodeLists *l)
{
  PetscInt count = 0, nodes = 0;

  PetscFunctionBegin;
  PetscCall(PetscMalloc2(n + 1, &l->begin, n, &l->member));
  PetscCall(PetscMalloc2(n, &l->aggregate, n + 1, &l->before));
  for (PetscInt i = 0; i < n; i++) l->aggregate[i] = -1;
  for (PetscInt i = 0; i < n; i++) {
    PetscCDIntNd *node;

    PetscCall(PetscCDGetHeadPos(lists, i, &node));
    if (!node) continue;
    l->begin[count] = nodes;
    while (node) {
      PetscInt id;

      PetscCall(PetscCDIntNdGetID(node, &id));
      PetscCheck(id >= 0 && id < n && l->aggregate[id] < 0, PETSC_COMM_SELF, PETSC_ERR_PLIB, "Node %" PetscInt_FMT " is in two lists, or in none", id);
      l->aggregate[id]   = count;
      l->member[nodes++] = id;
      PetscCall(PetscCDGetNextPos(lists, i, &node));
    }
    count++;
  }
  l->begin[count] = nodes;
  l->naggregates  = count;
  l->before[0]    = 0;
  for (PetscInt i = 0; i < n; i++) l->before[i + 1] = l->before[i] + (l->aggregate[i] >= 0);
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode AIJTCUListsFree(AIJTCUNodeLists *l)
{
  PetscFunctionBegin;
  PetscCall(PetscFree2(l->begin, l->member));
  PetscCall(PetscFree2(l->aggregate, l->before));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode AIJTCUProlongOnStream(const SparseAggregates *g, const PetscInt aggregate[], const PetscReal vectors[],
  PetscReal coarse[], cudaStream_t stream, SparseGraph *p, HrpbError *err)
{
  PetscFunctionBegin;
  PetscCall(PetscLogGpuTimeBegin());
  AIJTCUCallDevice(*err, SparseProlong(g, (const int32_t *)aggregate, vectors, stream, p, coarse));
  PetscCall(PetscLogGpuTimeEnd());
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode AIJTCUCopyOnStream(PetscScalar *to, const PetscScalar *from, size_t n, cudaStream_t stream)
{
  PetscFunctionBegin;
  PetscCallCUDA(cudaMemcpyAsync(to, from, sizeof(*to) * n, cudaMemcpyDeviceToDevice, stream));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* A matrix of the type of A with what p has */
static PetscErrorCode AIJTCUProlongMat(Mat A, PetscInt ncols, PetscInt cbs, const SparseGraph *p, Mat *P)
{
  cudaStream_t   stream = NULL;
  MatType        type;
  PetscInt       bs;
  PetscScalar   *values;
  PetscErrorCode ierr;

  PetscFunctionBegin;
  PetscCall(MatGetType(A, &type));
  PetscCall(MatGetBlockSize(A, &bs));
  PetscCall(MatCreate(PetscObjectComm((PetscObject)A), P));
  PetscCall(MatSetSizes(*P, (PetscInt)p->n, ncols, PETSC_DETERMINE, PETSC_DETERMINE));
  PetscCall(MatSetBlockSizes(*P, bs, cbs));
  PetscCall(MatSetType(*P, type));
  PetscCall(AIJTCUSparsePattern(*P, p->n, p->nnz, p->rowptr, p->colidx));
  (*P)->offloadmask = PETSC_OFFLOAD_UNALLOCATED;
  PetscUseTypeMethod(*P, assemblyend, MAT_FINAL_ASSEMBLY);
  PetscCall(AIJTCUInherit(A, *P));
  PetscCall(AIJTCUSparseWriteBegin(*P, &values));
  ierr = AIJTCUDeviceBegin(&stream);
  if (!ierr) ierr = AIJTCUCopyOnStream(values, p->values, (size_t)p->nnz, stream);
  PetscCall(AIJTCUDeviceEnd(stream));
  PetscCall(AIJTCUSparseWriteEnd(*P, &values));
  PetscCall(ierr);
  PetscCall(MatAssemblyBegin(*P, MAT_FINAL_ASSEMBLY));
  PetscCall(MatAssemblyEnd(*P, MAT_FINAL_ASSEMBLY));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode AIJTCUProlongWith(PC_GAMG *gamg, Mat A, const AIJTCUNodeLists *l, Mat *P, HrpbError *err)
{
  const PetscInt ncols = gamg->data_cell_cols, ncoarse = l->naggregates * ncols;
  cudaStream_t   stream = NULL;
  SparseGraph    p;
  PetscReal     *coarse;
  PetscInt       bs;
  HrpbError      end;
  PetscErrorCode ierr;

  PetscFunctionBegin;
  PetscCall(MatGetBlockSize(A, &bs));
  PetscCall(PetscMalloc1(ncoarse * ncols, &coarse));
  {
    const SparseAggregates g = {.nnodes = A->rmap->n / bs,
      .naggregates                      = l->naggregates,
      .bs                               = (int32_t)bs,
      .ncols                            = (int32_t)ncols,
      .begin                            = (const int32_t *)l->begin,
      .member                           = (const int32_t *)l->member,
      .before                           = (const int32_t *)l->before};

    AIJTCUCallOnStream(stream, AIJTCUProlongOnStream(&g, l->aggregate, gamg->data, coarse, stream, &p, err));
  }
  if (*err) {
    PetscCall(PetscFree(coarse));
    PetscFunctionReturn(PETSC_SUCCESS);
  }
  AIJTCUWorkspaceUser(PETSC_TRUE); /* p lives between calls on streams */
  ierr = AIJTCUProlongMat(A, ncoarse, ncols, &p, P);
  AIJTCUCallDevice(end, SparseGraphDestroy(&p, HRPB_SUCCESS, AIJTCUDeviceStreamBehind()));
  AIJTCUWorkspaceUser(PETSC_FALSE);
  PetscCall(ierr);
  PetscCall(AIJTCUCheckRefused(end));
  PetscCall(PetscFree(gamg->data));
  gamg->data           = coarse;
  gamg->data_cell_rows = ncols;
  gamg->data_sz        = ncoarse * ncols;
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode PCGAMGProlongator_AIJTCU(PC pc, Mat A, PetscCoarsenData *lists, Mat *P)
{
  PC_GAMG        *gamg = (PC_GAMG *)((PC_MG *)pc->data)->innerctx;
  AIJTCUNodeLists l;
  PetscInt        bs;
  PetscBool       usable;
  HrpbError       err = HRPB_ERR_UNSUPPORTED;

  PetscFunctionBegin;
  PetscCall(AIJTCUCoarsens(A, &usable)); /* the same asked of A, which is square, like its graph */
  if (usable) {
    err = HRPB_SUCCESS;
    PetscCall(MatGetBlockSize(A, &bs));
    PetscCall(PetscLogEventBegin(petsc_gamg_setup_events[GAMG_PROL], 0, 0, 0, 0));
    PetscCall(AIJTCUListsGet(lists, A->rmap->n / bs, &l));
    if (l.naggregates) PetscCall(AIJTCUProlongWith(gamg, A, &l, P, &err));
    else err = HRPB_ERR_UNSUPPORTED;
    PetscCall(AIJTCUListsFree(&l));
    PetscCall(PetscLogEventEnd(petsc_gamg_setup_events[GAMG_PROL], 0, 0, 0, 0));
  }
  if (err) {
    if (usable) PetscCall(PetscInfo(pc, "aijtcu: the prolongator is made on the host: %s\n", HrpbErrorString(err)));
    PetscCall((*AIJTCUProlong)(pc, A, lists, P));
    PetscFunctionReturn(PETSC_SUCCESS);
  }
  PetscCall(PetscInfo(pc, "%s: New grid %" PetscInt_FMT " nodes\n", ((PetscObject)pc)->prefix, (*P)->cmap->n / gamg->data_cell_cols));
  PetscCall(MatViewFromOptions(*P, NULL, "-pc_gamg_agg_view_initial_prolongation"));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Have a PCGAMG by aggregation make its prolongators here */
void AIJTCUProlongHere(struct _PCGAMGOps *ops)
{
  if (ops->prolongator != PCGAMGProlongator_AIJTCU) AIJTCUProlong = ops->prolongator;
  ops->prolongator = PCGAMGProlongator_AIJTCU;
}
#endif
