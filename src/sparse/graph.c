/*
   The graph of a matrix, MatCreateGraph(), which multigrid coarsens: norms of blocks, symmetrized and scaled, on the
   device.

   It is what PETSc makes on the host, to the bit, unless blocks have holes: then PETSc makes it. PETSc also makes one
   of a parallel matrix that is to be symmetrized or scaled, or has no blocks. The values of the graph are on the host,
   because coarsening reads them there. Where PCGAMG only coarsens it by MATCOARSENMIS or MATCOARSENMISK the pattern is
   enough, and stays on the device (gamg.c).
*/
#include "coarsen.h"

#if AIJTCU_HAVE_DEVICE_REAL
  #include <petscdevice_cuda.h>

/* What MatCreateGraph() is asked for */
typedef struct {
  PetscInt        bs, n; /* size of blocks; rows and columns of a block that count, 0 for all */
  const PetscInt *at;
  PetscBool       symmetrize, scale;
} AIJTCUGraph;

static PetscErrorCode AIJTCUGraphMake(const AIJTCUGraph *a, const SparseMatrix *M, cudaStream_t stream, SparseGraph *g,
  HrpbError *err)
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

/* A graph, or the part of one that a block of a parallel matrix has, as a sequential matrix with g, or without edges */
static PetscErrorCode AIJTCUGraphMat(MPI_Comm comm, MatType type, PetscInt nrows, PetscInt ncols, const SparseGraph *g,
  Mat *G)
{
  PetscFunctionBegin;
  PetscCall(MatCreate(comm, G));
  PetscCall(MatSetSizes(*G, nrows, ncols, nrows, ncols));
  PetscCall(MatSetBlockSizes(*G, 1, 1));
  PetscCall(MatSetType(*G, type));
  if (g) {
    PetscCall(AIJTCUSparsePattern(*G, g->n, g->nnz, g->rowptr, g->colidx));
    PetscCall(AIJTCUGraphValues(*G, g));
  } else PetscCall(MatSeqAIJSetPreallocation(*G, 0, NULL));
  PetscCall(MatAssemblyBegin(*G, MAT_FINAL_ASSEMBLY));
  PetscCall(MatAssemblyEnd(*G, MAT_FINAL_ASSEMBLY));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* The same from the arrays of a sequential A */
static PetscErrorCode AIJTCUGraphOf(Mat A, const AIJTCUGraph *a, MatType type, Mat *G, HrpbError *err)
{
  const PetscInt nrows = A->rmap->n / a->bs, ncols = A->cmap->n / a->bs;
  SparseMatrix   M;
  SparseGraph    g;
  MatInfo        info;
  HrpbError      end;
  PetscErrorCode ierr;

  PetscFunctionBegin;
  PetscCall(MatGetInfo(A, MAT_LOCAL, &info));
  if (info.nz_used == 0) {
    PetscCall(AIJTCUGraphMat(PetscObjectComm((PetscObject)A), type, nrows, ncols, NULL, G));
    PetscFunctionReturn(PETSC_SUCCESS);
  }
  PetscCall(AIJTCUSparseArrays(A, PETSC_TRUE, &M));
  AIJTCUWorkspaceUser(PETSC_TRUE); /* g lives between calls on streams */
  ierr = AIJTCUGraphCall(a, &M, &g, err);
  if (!ierr && !*err) {
    ierr = AIJTCUGraphMat(PetscObjectComm((PetscObject)A), type, nrows, ncols, &g, G);
    end  = SparseGraphDestroy(&g, HRPB_SUCCESS, AIJTCUDeviceStreamBehind());
    if (!ierr) ierr = AIJTCUCheckRefused(end);
  }
  AIJTCUWorkspaceUser(PETSC_FALSE);
  PetscCall(ierr);
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Columns of nodes, if there are all columns of each */
static PetscErrorCode AIJTCUGraphColumns(PetscInt n, const PetscInt columns[], PetscInt bs, PetscInt nodes[],
  HrpbError *err)
{
  PetscFunctionBegin;
  if (n % bs) *err = HRPB_ERR_UNSUPPORTED;
  for (PetscInt i = 0; i < n && !*err; i++) {
    if (columns[i] % bs != i % bs || columns[i] / bs != columns[i / bs * bs] / bs) *err = HRPB_ERR_UNSUPPORTED;
    else nodes[i / bs] = columns[i] / bs;
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* The blocks of the graph, on this process */
static PetscErrorCode AIJTCUGraphBlocks(Mat A, const AIJTCUGraph *a, Mat block[2], PetscInt **garray, HrpbError *err)
{
  const PetscInt *columns;
  Mat             of[2];
  PetscBool       usable;

  PetscFunctionBegin;
  PetscCall(AIJTCULocalBlocks(A, of, &columns));
  PetscCall(PetscMalloc1(of[1]->cmap->n, garray));
  PetscCall(AIJTCUGraphColumns(of[1]->cmap->n, columns, a->bs, *garray, err));
  for (int b = 0; b < 2 && !*err; b++) {
    PetscCall(AIJTCUSparseOnDevice(of[b], &usable));
    if (usable) PetscCall(AIJTCUGraphOf(of[b], a, MATSEQAIJCUSPARSE, &block[b], err));
    else *err = HRPB_ERR_UNSUPPORTED;
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* The graph of a parallel A. Rows and columns are not scaled, and no transpose is added. Collective */
static PetscErrorCode AIJTCUGraphParallel(Mat A, const AIJTCUGraph *a, Mat *G, PetscBool *done)
{
  Mat            block[2] = {NULL, NULL};
  PetscInt      *garray   = NULL;
  HrpbError      err      = HRPB_SUCCESS;
  MatType        type;
  PetscErrorCode ierr;

  PetscFunctionBegin;
  PetscCall(AIJTCUAttachBlocks(A));
  ierr = AIJTCUGraphBlocks(A, a, block, &garray, &err);
  PetscCall(AIJTCUAgree(PetscObjectComm((PetscObject)A), ierr, (PetscBool)!err, done));
  if (!*done) {
    for (int b = 0; b < 2; b++) PetscCall(MatDestroy(&block[b]));
    PetscCall(PetscFree(garray));
    PetscFunctionReturn(PETSC_SUCCESS);
  }
  PetscCall(MatCreateMPIAIJWithSeqAIJ(PetscObjectComm((PetscObject)A), A->rmap->N / a->bs, A->cmap->N / a->bs, block[0], block[1], garray,
    G));
  PetscCall(MatGetType(A, &type));
  PetscCall(MatConvert(*G, type, MAT_INPLACE_MATRIX, G));
  PetscCall(AIJTCUInherit(A, *G));
  PetscFunctionReturn(PETSC_SUCCESS);
}

  #if AIJTCU_HAVE_BLOCK
/*
   The pattern of a graph, symmetric. It is that of the matrix where there are no blocks, and then g stays empty. What
   is not symmetric, and shall not be made so, is not made
*/
static PetscErrorCode AIJTCUGraphPatternMake(const AIJTCUGraph *a, const SparseMatrix *M, cudaStream_t stream,
  SparseGraph *g, HrpbError *err)
{
  SparseMatrix pattern = *M;
  int32_t      at[SPARSE_MOST_BLOCK];

  PetscFunctionBegin;
  for (PetscInt i = 0; i < a->n; i++) at[i] = (int32_t)a->at[i];
  PetscCall(PetscLogGpuTimeBegin());
  if (a->bs > 1) {
    AIJTCUCallDevice(*err, SparseGraphCreate(M, (int32_t)a->bs, (int32_t)a->n, at, stream, g));
    pattern = AIJTCUPatternOf(g);
  }
  if (!*err) AIJTCUCallDevice(*err, SparseIsSymmetric(&pattern, stream));
  if (*err == HRPB_ERR_UNSUPPORTED && a->symmetrize && (a->bs == 1 || g->rowptr)) {
    *err = HRPB_SUCCESS;
    if (a->bs == 1) AIJTCUCallDevice(*err, SparseGraphCreate(M, 1, 0, NULL, stream, g));
    if (!*err) AIJTCUCallDevice(*err, SparseGraphAddTranspose(g, stream));
  }
  if (g->rowptr) AIJTCUCallDevice(*err, *err ? SparseGraphDestroy(g, *err, stream) : SparseGraphDropValues(g, stream));
  PetscCall(PetscLogGpuTimeEnd());
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* The graph as a pattern that hangs on an empty matrix */
static PetscErrorCode AIJTCUGraphHung(Mat A, const AIJTCUGraph *a, Mat *G, HrpbError *err)
{
  cudaStream_t stream = NULL;
  SparseMatrix M;
  SparseGraph  g = {.rowptr = NULL};
  MatInfo      info;

  PetscFunctionBegin;
  PetscCall(MatGetInfo(A, MAT_LOCAL, &info));
  if (info.nz_used == 0) *err = HRPB_ERR_UNSUPPORTED;
  if (*err) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCall(AIJTCUSparseArrays(A, PETSC_TRUE, &M));
  AIJTCUCallOnStream(stream, AIJTCUGraphPatternMake(a, &M, stream, &g, err));
  if (*err) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCall(MatCreate(PetscObjectComm((PetscObject)A), G));
  PetscCall(MatSetBlockSizes(*G, 1, 1));
  if (g.rowptr) M = AIJTCUPatternOf(&g);
  PetscCall(AIJTCUHangPattern(*G, A, &M, g, NULL));
  PetscFunctionReturn(PETSC_SUCCESS);
}
  #endif

  #if AIJTCU_HAVE_PARALLEL_COARSENING
/* The pattern of a block of A, which becomes that of its graph; g has it then, if there are blocks */
static PetscErrorCode AIJTCUGraphBlockPattern(const AIJTCUGraph *a, SparseMatrix *M, cudaStream_t stream,
  SparseGraph *g, HrpbError *err)
{
  int32_t at[SPARSE_MOST_BLOCK];

  PetscFunctionBegin;
  for (PetscInt i = 0; i < a->n; i++) at[i] = (int32_t)a->at[i];
  if (*err || a->bs == 1) PetscFunctionReturn(PETSC_SUCCESS);
  AIJTCUCallDevice(*err, SparseGraphCreate(M, (int32_t)a->bs, (int32_t)a->n, at, stream, g));
  *M = (SparseMatrix){.nrows = g->n, .ncols = M->ncols / a->bs, .nnz = g->nnz, .rowptr = g->rowptr, .colidx = g->colidx};
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*
   Both blocks side by side. Those of M that have no entries have no arrays. sums tell whether ghosts' entries are
   symmetric
*/
static PetscErrorCode AIJTCUGraphJoinOnStream(const AIJTCUGraph *a, SparseMatrix M[2], PetscInt first,
  const PetscInt ghosts[], cudaStream_t stream, SparseGraph *joined, PetscInt64 sums[2], HrpbError *err)
{
  SparseGraph  g[2]  = {{.rowptr = NULL}, {.rowptr = NULL}};
  const size_t bytes = sizeof(HrpbInt) * (size_t)(M[0].nrows + 1);
  HrpbInt     *zeros;
  SparseMatrix G;

  PetscFunctionBegin;
  PetscCall(AIJTCUDeviceMalloc(bytes, stream, (void **)&zeros));
  if (!zeros) *err = HRPB_ERR_DEVICE_MEMORY;
  else PetscCallCUDA(cudaMemsetAsync(zeros, 0, bytes, stream));
  PetscCall(PetscLogGpuTimeBegin());
  for (int b = 0; b < 2; b++) {
    if (!M[b].rowptr) M[b].rowptr = M[b].colidx = zeros;
    PetscCall(AIJTCUGraphBlockPattern(a, &M[b], stream, &g[b], err));
  }
  if (!*err) {
    *joined = (SparseGraph){.n = M[0].nrows, .nnz = M[0].nnz + M[1].nnz};
    if (joined->nnz > PETSC_INT_MAX) *err = HRPB_ERR_OVERFLOW;
  }
  if (!*err) {
    PetscCall(AIJTCUDeviceMalloc(sizeof(HrpbInt) * (size_t)(joined->n + 1), stream, (void **)&joined->rowptr));
    PetscCall(AIJTCUDeviceMalloc(sizeof(HrpbInt) * (size_t)joined->nnz, stream, (void **)&joined->colidx));
    if (!joined->rowptr || !joined->colidx) *err = HRPB_ERR_DEVICE_MEMORY;
  }
  if (!*err) {
    AIJTCUCallDevice(*err, SparseJoin(&M[0], &M[1], NULL, joined->rowptr, joined->colidx, stream));
    G       = AIJTCUPatternOf(joined);
    G.ncols = M[0].ncols + M[1].ncols;
  }
  if (!*err) AIJTCUCallDevice(*err, SparseIsSymmetric(&G, stream));
  if (!*err) AIJTCUCallDevice(*err, SparseGhostSums(&G, first, ghosts, stream, (uint64_t *)sums));
  if (*err) *err = SparseGraphDestroy(joined, *err, stream);
  for (int b = 0; b < 2; b++) AIJTCUCallDevice(*err, SparseGraphDestroy(&g[b], *err, stream));
  if (zeros) PetscCallCUDA(cudaFreeAsync(zeros, stream));
  PetscCall(PetscLogGpuTimeEnd());
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* The part that this process has of a graph's pattern. It is square, and symmetric if sums of all processes agree */
static PetscErrorCode AIJTCUGraphJoin(Mat A, const AIJTCUGraph *a, SparseGraph *joined, PetscInt **ghosts,
  PetscInt *nghosts, PetscInt64 sums[2], HrpbError *err)
{
  const PetscInt *columns;
  cudaStream_t    stream = NULL;
  SparseMatrix    M[2];
  Mat             of[2];
  MatInfo         info;
  PetscBool       usable;

  PetscFunctionBegin;
  PetscCall(AIJTCULocalBlocks(A, of, &columns));
  PetscCall(PetscMalloc1(of[1]->cmap->n, ghosts));
  PetscCall(AIJTCUGraphColumns(of[1]->cmap->n, columns, a->bs, *ghosts, err));
  *nghosts = of[1]->cmap->n / a->bs;
  if (A->rmap->n != A->cmap->n) *err = HRPB_ERR_UNSUPPORTED; /* a node is a row and a column of one process */
  for (PetscInt i = 1; i < *nghosts && !*err; i++) {
    if ((*ghosts)[i - 1] >= (*ghosts)[i]) *err = HRPB_ERR_UNSUPPORTED;
  }
  for (int b = 0; b < 2 && !*err; b++) {
    M[b] = (SparseMatrix){.nrows = of[b]->rmap->n, .ncols = of[b]->cmap->n};
    PetscCall(AIJTCUSparseOnDevice(of[b], &usable));
    if (!usable) *err = HRPB_ERR_UNSUPPORTED;
    PetscCall(MatGetInfo(of[b], MAT_LOCAL, &info));
    if (usable && info.nz_used > 0) PetscCall(AIJTCUSparseArrays(of[b], (PetscBool)(a->bs > 1), &M[b]));
  }
  if (!*err) {
    AIJTCUCallOnStream(stream, AIJTCUGraphJoinOnStream(a, M, A->rmap->rstart / a->bs, *ghosts, stream, joined, sums, err));
    if (!*err) AIJTCUWorkspaceUser(PETSC_TRUE);
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Sums of numbers of all processes. A function, because MPIU_Allreduce() may return from its caller */
static PetscErrorCode AIJTCUGraphSums(MPI_Comm comm, PetscInt64 sums[2])
{
  PetscFunctionBegin;
  PetscCallMPI(MPIU_Allreduce(MPI_IN_PLACE, sums, 2, MPI_UINT64_T, MPI_SUM, comm));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* The graph of a parallel A as a pattern that hangs on an empty matrix, if it is symmetric. Collective */
static PetscErrorCode AIJTCUGraphHungParallel(Mat A, const AIJTCUGraph *a, Mat *G, PetscBool *done)
{
  MPI_Comm       comm    = PetscObjectComm((PetscObject)A);
  SparseGraph    joined  = {.rowptr = NULL};
  PetscInt64     sums[2] = {0, 0};
  PetscInt      *ghosts  = NULL, nghosts = 0;
  SparseMatrix   pattern;
  PetscBool      user;
  HrpbError      err = HRPB_SUCCESS;
  PetscErrorCode ierr;

  PetscFunctionBegin;
  PetscCall(AIJTCUAttachBlocks(A));
  ierr = AIJTCUGraphJoin(A, a, &joined, &ghosts, &nghosts, sums, &err);
  ierr = AIJTCUAgree(comm, ierr, (PetscBool)!err, done);
  user = (PetscBool)(joined.rowptr != NULL);
  if (!ierr) ierr = AIJTCUGraphSums(comm, sums);
  if (!ierr && *done && sums[0] == sums[1]) {
    pattern       = AIJTCUPatternOf(&joined);
    pattern.ncols = pattern.nrows + nghosts;
    PetscCall(MatCreate(comm, G));
    PetscCall(MatSetBlockSizes(*G, 1, 1));
    PetscCall(AIJTCUHangPattern(*G, A, &pattern, joined, ghosts));
  } else {
    *done = PETSC_FALSE;
    if (user) err = SparseGraphDestroy(&joined, HRPB_SUCCESS, AIJTCUDeviceStreamBehind());
    (void)PetscFree(ghosts);
  }
  if (user) AIJTCUWorkspaceUser(PETSC_FALSE);
  PetscCall(ierr);
  PetscFunctionReturn(PETSC_SUCCESS);
}
  #endif

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

/* MatCreateGraph(), if it can be made on the device. done says whether it was. Collective */
PetscErrorCode AIJTCUCreateGraph(Mat A, PetscBool symmetrize, PetscBool scale, PetscReal filter, PetscInt n,
  const PetscInt at[], Mat *G, PetscBool *done)
{
  PetscFunctionBegin;
  *done = PETSC_FALSE;
#if AIJTCU_HAVE_DEVICE_REAL
  {
    AIJTCUGraph a = {.n = n, .at = at, .scale = scale};
    AIJTCUPlan *plan;
    MatType     type;
    PetscBool   usable, known, symmetric;
    HrpbError   err = HRPB_SUCCESS;

    PetscCall(AIJTCUGetPlan(A, &plan));
    if (!plan || !A->assembled || n > SPARSE_MOST_BLOCK) PetscFunctionReturn(PETSC_SUCCESS);
    if (AIJTCUGetOptions(plan)->sparse == MAT_AIJTCU_SPARSE_CUSPARSE) PetscFunctionReturn(PETSC_SUCCESS);
    PetscCall(MatGetBlockSize(A, &a.bs));
    PetscCall(MatIsSymmetricKnown(A, &known, &symmetric));
    a.symmetrize = (PetscBool)(symmetrize && !(known && symmetric));
    if (a.bs == 1) a.n = 0;
    if (a.bs == 1 && !scale && filter < 0) PetscFunctionReturn(PETSC_SUCCESS); /* it may be A itself */
    if (plan->id.kind == AIJTCU_KIND_MPI) {
      PetscCall(AIJTCUAtDevice(A, plan, &usable));
  #if AIJTCU_HAVE_BLOCK
      if (filter < 0 && AIJTCUGraphIsCoarsenedOnly()) {
    #if AIJTCU_HAVE_PARALLEL_COARSENING
        if (usable && A->rmap->N == A->cmap->N) PetscCall(AIJTCUGraphHungParallel(A, &a, G, done));
    #endif
        a.scale = PETSC_FALSE; /* coarseners read no values */
      }
  #endif
      if (!*done && usable && a.bs > 1 && !a.symmetrize && !a.scale) PetscCall(AIJTCUGraphParallel(A, &a, G, done));
    } else {
      PetscCall(AIJTCUSparseOnDevice(A, &usable));
      if (!usable || A->rmap->n != A->cmap->n) PetscFunctionReturn(PETSC_SUCCESS);
  #if AIJTCU_HAVE_BLOCK
      /* coarseners of ours have 32-bit indices */
      if (filter < 0 && sizeof(PetscInt) == sizeof(int32_t) && AIJTCUGraphIsCoarsenedOnly()) {
        PetscCall(AIJTCUGraphHung(A, &a, G, &err));
        *done = (PetscBool)!err;
      }
  #endif
      if (!*done) {
        err = HRPB_SUCCESS;
        PetscCall(MatGetType(A, &type));
        PetscCall(AIJTCUGraphOf(A, &a, type, G, &err));
        *done = (PetscBool)!err;
        if (*done) PetscCall(AIJTCUInherit(A, *G));
        else PetscCall(PetscInfo(A, "aijtcu: graph on the host: %s\n", HrpbErrorString(err)));
      }
    }
    if (*done) PetscCall(AIJTCUGraphFinish(A, symmetrize, filter, *G));
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
