/*
   The graph of a matrix, MatCreateGraph(), which multigrid coarsens: norms of blocks, symmetrized and scaled, on the
   device.

   It is what PETSc makes on the host, to the bit, unless blocks have holes: then PETSc makes it. The graph is a
   matrix of the host, because coarsening reads its arrays there.
*/
#include "sparseimpl.h"

#if AIJTCU_HAVE_DEVICE_REAL
  #include <petscdevice_cuda.h>

/* What MatCreateGraph() is asked for */
typedef struct {
  PetscInt        bs, n; /* size of blocks; rows and columns of a block that count, 0 for all */
  const PetscInt *at;
  PetscBool       symmetrize, scale;
} AIJTCUGraph;

static PetscErrorCode AIJTCUGraphMake(const AIJTCUGraph *a, const SparseMatrix *M, cudaStream_t stream, SparseGraph *g, HrpbError *err)
{
  int32_t at[SPARSE_MOST_BLOCK];

  PetscFunctionBegin;
  for (PetscInt i = 0; i < a->n; i++) at[i] = (int32_t)a->at[i];
  PetscCall(PetscLogGpuTimeBegin());
  AIJTCUCallDevice(*err, SparseGraphCreate(M, (int32_t)a->bs, (int32_t)a->n, at, stream, g));
  if (!*err) {
    if (a->symmetrize) *err = SparseGraphAddTranspose(g, stream);
    if (!*err && a->scale) *err = SparseGraphScale(g, stream);
    if (*err) *err = SparseGraphDestroy(g, *err, stream);
  }
  PetscCall(PetscLogGpuTimeEnd());
  PetscCall(AIJTCUCheckRefused(*err));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode AIJTCUGraphCall(const AIJTCUGraph *a, const SparseMatrix *M, SparseGraph *g, HrpbError *err)
{
  cudaStream_t stream = NULL;

  PetscFunctionBegin;
  AIJTCUCallOnStream(stream, AIJTCUGraphMake(a, M, stream, g, err));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode AIJTCUGraphValues(Mat G, const SparseGraph *g)
{
  cudaStream_t stream = NULL;
  PetscScalar *values;

  PetscFunctionBegin;
  PetscCall(MatSeqAIJGetArrayWrite(G, &values));
  AIJTCUHugePages(values, sizeof(*values) * (size_t)g->nnz);
  if (g->nnz) AIJTCUCallOnStream(stream, AIJTCUSparseBring(values, g->values, sizeof(*values) * (size_t)g->nnz, stream));
  PetscCall(MatSeqAIJRestoreArrayWrite(G, &values));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode AIJTCUGraphMat(Mat A, const SparseGraph *g, Mat *G)
{
  MatType type;

  PetscFunctionBegin;
  PetscCall(MatGetType(A, &type));
  PetscCall(MatCreate(PetscObjectComm((PetscObject)A), G));
  PetscCall(MatSetSizes(*G, (PetscInt)g->n, (PetscInt)g->n, (PetscInt)g->n, (PetscInt)g->n));
  PetscCall(MatSetBlockSizes(*G, 1, 1));
  PetscCall(MatSetType(*G, type));
  PetscCall(AIJTCUInherit(A, *G));
  PetscCall(AIJTCUSparsePattern(*G, g->n, g->nnz, g->rowptr, g->colidx));
  PetscCall(AIJTCUGraphValues(*G, g));
  PetscCall(MatAssemblyBegin(*G, MAT_FINAL_ASSEMBLY));
  PetscCall(MatAssemblyEnd(*G, MAT_FINAL_ASSEMBLY));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* The same from the arrays of A */
static PetscErrorCode AIJTCUGraphOf(Mat A, const AIJTCUGraph *a, const SparseMatrix *M, Mat *G, HrpbError *err)
{
  SparseGraph    g;
  HrpbError      end;
  PetscErrorCode ierr;

  PetscFunctionBegin;
  AIJTCUWorkspaceUser(PETSC_TRUE); /* g lives between calls on streams */
  ierr = AIJTCUGraphCall(a, M, &g, err);
  if (!ierr && !*err) {
    ierr = AIJTCUGraphMat(A, &g, G);
    end  = SparseGraphDestroy(&g, HRPB_SUCCESS, AIJTCUDeviceStreamBehind());
    if (!ierr) ierr = AIJTCUCheckRefused(end);
  }
  AIJTCUWorkspaceUser(PETSC_FALSE);
  PetscCall(ierr);
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* The graph with what PETSc does to it afterwards */
static PetscErrorCode AIJTCUGraphFinish(Mat A, PetscBool symmetrize, PetscReal filter, Mat G)
{
  PetscFunctionBegin;
  if (symmetrize) PetscCall(MatSetOption(G, MAT_SYMMETRIC, PETSC_TRUE));
  else PetscCall(MatPropagateSymmetryOptions(A, G));
  PetscCall(MatViewFromOptions(G, NULL, "-mat_graph_view"));
  if (filter >= 0) {
    PetscCall(MatFilter(G, filter, PETSC_TRUE, PETSC_TRUE));
    PetscCall(MatViewFromOptions(G, NULL, "-mat_filter_graph_view"));
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}
#endif

/* MatCreateGraph() of a sequential A, if it can be made on the device. done says whether it was */
PetscErrorCode AIJTCUCreateGraph(Mat A, PetscBool symmetrize, PetscBool scale, PetscReal filter, PetscInt n, const PetscInt at[], Mat *G, PetscBool *done)
{
  PetscFunctionBegin;
  *done = PETSC_FALSE;
#if AIJTCU_HAVE_DEVICE_REAL
  {
    AIJTCUGraph  a = {.n = n, .at = at, .scale = scale};
    AIJTCUPlan  *plan;
    SparseMatrix M;
    PetscBool    usable, known, symmetric;
    HrpbError    err = HRPB_SUCCESS;

    PetscCall(AIJTCUSparseOnDevice(A, &usable));
    PetscCall(AIJTCUGetPlan(A, &plan));
    PetscCall(MatGetBlockSize(A, &a.bs));
    if (!usable || !plan || AIJTCUGetOptions(plan)->sparse == MAT_AIJTCU_SPARSE_CUSPARSE || n > SPARSE_MOST_BLOCK) PetscFunctionReturn(PETSC_SUCCESS);
    if (a.bs == 1) a.n = 0;
    if (a.bs == 1 && !scale && filter < 0) PetscFunctionReturn(PETSC_SUCCESS); /* it may be A itself */
    PetscCall(MatIsSymmetricKnown(A, &known, &symmetric));
    a.symmetrize = (PetscBool)(symmetrize && !(known && symmetric));
    PetscCall(AIJTCUSparseArrays(A, PETSC_TRUE, &M));
    PetscCall(AIJTCUGraphOf(A, &a, &M, G, &err));
    *done = (PetscBool)!err;
    if (err) PetscCall(PetscInfo(A, "aijtcu: graph on the host: %s\n", HrpbErrorString(err)));
    else PetscCall(AIJTCUGraphFinish(A, symmetrize, filter, *G));
  }
#else
  (void)A;
  (void)symmetrize;
  (void)scale;
  (void)filter;
  (void)n;
  (void)at;
  (void)G;
#endif
  PetscFunctionReturn(PETSC_SUCCESS);
}
