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

/* l is to be freed after an error, too */
static PetscErrorCode AIJTCUListsGet(PetscCoarsenData *lists, PetscInt n, AIJTCUNodeLists *l)
{
  PetscInt count = 0, nodes = 0;

  PetscFunctionBegin;
  *l = (AIJTCUNodeLists){NULL};
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

/* Give P, which has its sizes and its type, the entries of p */
static PetscErrorCode AIJTCUProlongFill(Mat P, const SparseGraph *p)
{
  cudaStream_t   stream = NULL;
  PetscScalar   *values;
  PetscErrorCode ierr;

  PetscFunctionBegin;
  PetscCall(AIJTCUSparsePattern(P, p->n, p->nnz, p->rowptr, p->colidx));
  P->offloadmask = PETSC_OFFLOAD_UNALLOCATED;
  PetscUseTypeMethod(P, assemblyend, MAT_FINAL_ASSEMBLY);
  PetscCall(AIJTCUSparseWriteBegin(P, &values));
  ierr = AIJTCUDeviceBegin(&stream);
  if (!ierr) ierr = AIJTCUCopyOnStream(values, p->values, (size_t)p->nnz, stream);
  PetscCall(AIJTCUDeviceEnd(stream));
  PetscCall(AIJTCUSparseWriteEnd(P, &values));
  PetscCall(ierr);
  PetscCall(MatAssemblyBegin(P, MAT_FINAL_ASSEMBLY));
  PetscCall(MatAssemblyEnd(P, MAT_FINAL_ASSEMBLY));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* A matrix of the type of A with what p has */
static PetscErrorCode AIJTCUProlongMat(Mat A, PetscInt ncols, PetscInt cbs, const SparseGraph *p, Mat *P)
{
  MatType  type;
  PetscInt bs;

  PetscFunctionBegin;
  PetscCall(MatGetType(A, &type));
  PetscCall(MatGetBlockSize(A, &bs));
  PetscCall(MatCreate(PetscObjectComm((PetscObject)A), P));
  PetscCall(MatSetSizes(*P, (PetscInt)p->n, ncols, PETSC_DETERMINE, PETSC_DETERMINE));
  PetscCall(MatSetBlockSizes(*P, bs, cbs));
  PetscCall(MatSetType(*P, type));
  PetscCall(AIJTCUInherit(A, *P));
  PetscCall(AIJTCUProlongFill(*P, p));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* The same, if the device has memory for what PETSc allocates for it */
static PetscErrorCode AIJTCUProlongMatIfFits(Mat A, PetscInt ncols, PetscInt cbs, const SparseGraph *p, Mat *P, HrpbError *err)
{
  const size_t bytes = (size_t)p->nnz * (sizeof(PetscScalar) + sizeof(PetscInt)) + (size_t)(p->n + 1) * sizeof(PetscInt);
  PetscBool    fits;

  PetscFunctionBegin;
  PetscCall(AIJTCUDeviceAsk(bytes, &fits));
  if (fits) PetscCall(AIJTCUProlongMat(A, ncols, cbs, p, P));
  else *err = HRPB_ERR_DEVICE_MEMORY;
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* P, and in coarse what the vectors are on the level beneath */
static PetscErrorCode AIJTCUProlongWith(const PC_GAMG *gamg, Mat A, const AIJTCUNodeLists *l, PetscReal coarse[], Mat *P, HrpbError *err)
{
  const PetscInt   ncols  = gamg->data_cell_cols;
  cudaStream_t     stream = NULL;
  SparseAggregates g;
  SparseGraph      p;
  PetscInt         bs;
  HrpbError        end;
  PetscErrorCode   ierr;

  PetscFunctionBegin;
  PetscCall(MatGetBlockSize(A, &bs));
  g = (SparseAggregates){.nnodes = A->rmap->n / bs,
    .naggregates                 = l->naggregates,
    .bs                          = (int32_t)bs,
    .ncols                       = (int32_t)ncols,
    .begin                       = (const int32_t *)l->begin,
    .member                      = (const int32_t *)l->member,
    .before                      = (const int32_t *)l->before};
  AIJTCUCallOnStream(stream, AIJTCUProlongOnStream(&g, l->aggregate, gamg->data, coarse, stream, &p, err));
  if (*err) PetscFunctionReturn(PETSC_SUCCESS);
  AIJTCUWorkspaceUser(PETSC_TRUE); /* p lives between calls on streams */
  ierr = AIJTCUProlongMatIfFits(A, l->naggregates * ncols, ncols, &p, P, err);
  end  = SparseGraphDestroy(&p, HRPB_SUCCESS, AIJTCUDeviceStreamBehind());
  AIJTCUWorkspaceUser(PETSC_FALSE);
  PetscCall(ierr);
  PetscCall(AIJTCUCheckRefused(end));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* P, and on success what gamg keeps of the level beneath. Nothing is left where it fails or is refused */
static PetscErrorCode AIJTCUProlongOrRefuse(PC_GAMG *gamg, Mat A, PetscCoarsenData *lists, Mat *P, HrpbError *err)
{
  const PetscInt  ncols = gamg->data_cell_cols;
  AIJTCUNodeLists l;
  PetscReal      *coarse = NULL;
  PetscInt        bs;
  PetscErrorCode  ierr, end;

  PetscFunctionBegin;
  *P = NULL;
  PetscCall(MatGetBlockSize(A, &bs));
  ierr = AIJTCUListsGet(lists, A->rmap->n / bs, &l);
  if (!ierr && !l.naggregates) *err = HRPB_ERR_UNSUPPORTED;
  if (!ierr && !*err) ierr = PetscMalloc1(l.naggregates * ncols * ncols, &coarse);
  if (!ierr && !*err) ierr = AIJTCUProlongWith(gamg, A, &l, coarse, P, err);
  end = AIJTCUListsFree(&l);
  if (!ierr) ierr = end;
  if (!ierr && !*err) ierr = PetscFree(gamg->data);
  if (ierr || *err) {
    (void)MatDestroy(P);
    (void)PetscFree(coarse);
    PetscCall(ierr);
    PetscFunctionReturn(PETSC_SUCCESS);
  }
  gamg->data           = coarse;
  gamg->data_cell_rows = ncols;
  gamg->data_sz        = l.naggregates * ncols * ncols;
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode PCGAMGProlongator_AIJTCU(PC pc, Mat A, PetscCoarsenData *lists, Mat *P)
{
  PC_GAMG       *gamg = (PC_GAMG *)((PC_MG *)pc->data)->innerctx;
  PetscBool      usable;
  HrpbError      err = HRPB_ERR_UNSUPPORTED;
  PetscErrorCode ierr;

  PetscFunctionBegin;
  PetscCall(AIJTCUCoarsens(A, &usable)); /* the same asked of A, which is square, like its graph */
  if (usable) {
    err = HRPB_SUCCESS;
    PetscCall(PetscLogEventBegin(petsc_gamg_setup_events[GAMG_PROL], 0, 0, 0, 0));
    ierr = AIJTCUProlongOrRefuse(gamg, A, lists, P, &err);
    PetscCall(PetscLogEventEnd(petsc_gamg_setup_events[GAMG_PROL], 0, 0, 0, 0));
    PetscCall(ierr);
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
