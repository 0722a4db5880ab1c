/*
   MatMatSolve() and MatMatSolveTranspose() with a factor of cuSPARSE, for a block on the device.

   PETSc's factor solves with one vector at a time (cusparsefactor.c). Here a block goes through the same triangular
   matrices by cusparseSpSM_solve(). What that needs is made when a block of some width first comes, and kept for WIDTHS
   widths until the matrix is factored anew: an analysis of each triangle, its buffer, and work blocks. Solves with the
   transpose of LU have all of this a second time. Other factors are those of symmetric matrices.

   Blocks on the host go column by column as in PETSc. So do those for which there is no memory, or no transpose of a
   factor with 64-bit indices, and a block of one column: cusparseSpSV_solve() takes half as long as
   cusparseSpSM_solve() for it. The log says so.
*/
#include "blockvec.h"

#if AIJTCU_HAVE_BLOCK && AIJTCU_HAVE_DEVICE
  #include "cudascalar.h"

  #define MATSOLVE_KEY "MatAIJTCUMatSolve"

enum {
  PARTS     = sizeof(PetscScalar) / sizeof(PetscReal), /* of a number: rows are moved as those of real ones */
  WIDTHS    = 2,                                       /* one that narrows its block comes back to the full width */
  TRIANGLES = 2
};

/* The transpose of a factor's matrix. NULL where it is not needed */
typedef struct {
  int         *rowptr, *colidx;
  PetscScalar *values;
} AIJTCUMatSolveTransposed;

typedef struct {
  cusparseSpSMDescr_t analysis;
  void               *buffer; /* cusparseSpSM_solve() uses it without being given it */
} AIJTCUMatSolveAnalysed;

/* What is kept for blocks of N columns */
typedef struct {
  PetscInt               N; /* 0 where there is nothing */
  PetscInt64             used;
  AIJTCUMatSolveAnalysed analysed[TRIANGLES];
  PetscScalar           *between;  /* what the first triangle gives */
  PetscScalar           *permuted; /* B in the order of the factor, then X. NULL where that is the matrix's */
} AIJTCUMatSolveWidth;

typedef struct {
  IS                       rows, columns; /* the orders in which the matrix was factored, or its transpose */
  PetscBool                transpose;     /* solves with the transpose of LU */
  PetscBool                ready, known;  /* what follows is that of the factor as it is; it can be worked with */
  AIJTCUTriangles          factor;
  PetscInt                 m, nnz;
  PetscInt                 ld; /* of the work blocks */
  cusparseHandle_t         handle;
  AIJTCUMatSolveTransposed transposed;
  cusparseSpMatDescr_t     triangle[TRIANGLES];
  int32_t                 *order[2]; /* of B's rows, and of X's */
  PetscInt64               solved;
  AIJTCUMatSolveWidth      widths[WIDTHS];
} AIJTCUMatSolve;

static const PetscScalar one = 1;

/* Errors are not reported where something is given back: nobody needs it any more */
static void AIJTCUMatSolveFree(void *p)
{
  if (p) (void)AIJTCUForgetError(cudaFreeAsync(p, AIJTCUDeviceStreamBehind()));
}

static void AIJTCUMatSolveWidthDrop(AIJTCUMatSolveWidth *width)
{
  for (int i = 0; i < TRIANGLES; i++) {
    if (width->analysed[i].analysis) (void)cusparseSpSM_destroyDescr(width->analysed[i].analysis);
    AIJTCUMatSolveFree(width->analysed[i].buffer);
  }
  AIJTCUMatSolveFree(width->between);
  AIJTCUMatSolveFree(width->permuted);
  memset(width, 0, sizeof(*width));
}

/* Forget what was made for the factor as it was */
static void AIJTCUMatSolveDrop(AIJTCUMatSolve *s)
{
  for (int i = 0; i < WIDTHS; i++) AIJTCUMatSolveWidthDrop(&s->widths[i]);
  for (int i = 0; i < TRIANGLES; i++) {
    if (s->triangle[i]) (void)cusparseDestroySpMat(s->triangle[i]);
    s->triangle[i] = NULL;
  }
  AIJTCUMatSolveFree(s->transposed.rowptr);
  AIJTCUMatSolveFree(s->transposed.colidx);
  AIJTCUMatSolveFree(s->transposed.values);
  memset(&s->transposed, 0, sizeof(s->transposed));
  for (int i = 0; i < 2; i++) {
    AIJTCUMatSolveFree(s->order[i]);
    s->order[i] = NULL;
  }
  s->ready = PETSC_FALSE;
}

static PetscErrorCode AIJTCUMatSolveDestroy(PetscCtxRt ctx)
{
  AIJTCUMatSolve *s = *(AIJTCUMatSolve **)ctx;

  PetscFunctionBegin;
  for (int i = 0; i < 2; i++) {
    AIJTCUMatSolveDrop(&s[i]);
    if (s[i].handle) (void)cusparseDestroy(s[i].handle);
    PetscCall(ISDestroy(&s[i].rows));
    PetscCall(ISDestroy(&s[i].columns));
  }
  AIJTCUWorkspaceUser(PETSC_FALSE);
  PetscCall(PetscFree(s));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*
   Make the transpose of the factor's matrix. have says whether there is memory for it, and cuSPARSE does so: for 32-bit
   indices only. cusparseSpSM_solve() could solve with the transpose of a matrix instead. But its analysis may then put
   entries in another order each time, and the bits of a solve depend on the order
*/
static PetscErrorCode AIJTCUMatSolveTransposeMake(AIJTCUMatSolve *s, cudaStream_t stream, PetscBool *have)
{
  const AIJTCUTriangles          *f       = &s->factor;
  AIJTCUMatSolveTransposed *const t       = &s->transposed;
  const cusparseAction_t          numeric = CUSPARSE_ACTION_NUMERIC;
  const cusparseIndexBase_t       zero    = CUSPARSE_INDEX_BASE_ZERO;
  const cusparseCsr2CscAlg_t      ordered = CUSPARSE_CSR2CSC_ALG1; /* entries of a row are in the order of columns */
  const int                       m = (int)s->m, nnz = (int)s->nnz;
  size_t                          bytes;
  void                           *work;
  cusparseStatus_t                err;

  PetscFunctionBegin;
  *have = PETSC_FALSE;
  if (f->index_size != sizeof(int)) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCall(AIJTCUDeviceMalloc(((size_t)m + 1) * sizeof(int), stream, (void **)&t->rowptr));
  PetscCall(AIJTCUDeviceMalloc((size_t)nnz * sizeof(int), stream, (void **)&t->colidx));
  PetscCall(AIJTCUDeviceMalloc((size_t)nnz * sizeof(*t->values), stream, (void **)&t->values));
  if (!t->rowptr || !t->colidx || !t->values) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCallCUSPARSE(cusparseCsr2cscEx2_bufferSize(s->handle, m, m, nnz, f->values, (const int *)f->rowptr, (const int *)f->colidx, t->values, t->rowptr, t->colidx, AIJTCU_CUDA_TYPE, numeric, zero, ordered, &bytes));
  PetscCall(AIJTCUDeviceMalloc(PetscMax(bytes, 1), stream, &work));
  if (!work) PetscFunctionReturn(PETSC_SUCCESS);
  err = cusparseCsr2cscEx2(s->handle, m, m, nnz, f->values, (const int *)f->rowptr, (const int *)f->colidx, t->values, t->rowptr, t->colidx, AIJTCU_CUDA_TYPE, numeric, zero, ordered, work);
  PetscCallCUDA(cudaFreeAsync(work, stream));
  PetscCallCUSPARSE(err);
  *have = PETSC_TRUE;
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*
   A triangle of the factor's matrix, or of its transpose, in CSR. cuSPARSE keeps nothing of another product or solve
   for it
*/
static PetscErrorCode AIJTCUMatSolveTriangleCreate(const AIJTCUMatSolve *s, PetscBool transposed, cusparseFillMode_t fill, cusparseDiagType_t diagonal, cusparseSpMatDescr_t *triangle)
{
  const AIJTCUTriangles          *f      = &s->factor;
  const AIJTCUMatSolveTransposed *t      = &s->transposed;
  const cusparseIndexType_t       type   = f->index_size == sizeof(int) ? CUSPARSE_INDEX_32I : CUSPARSE_INDEX_64I;
  const void                     *rowptr = transposed ? t->rowptr : f->rowptr, *colidx = transposed ? t->colidx : f->colidx;

  PetscFunctionBegin;
  PetscCallCUSPARSE(cusparseCreateCsr(triangle, s->m, s->m, s->nnz, (void *)rowptr, (void *)colidx, (void *)(transposed ? t->values : f->values), type, type, CUSPARSE_INDEX_BASE_ZERO, AIJTCU_CUDA_TYPE));
  PetscCallCUSPARSE(cusparseSpMatSetAttribute(*triangle, CUSPARSE_SPMAT_FILL_MODE, &fill, sizeof(fill)));
  PetscCallCUSPARSE(cusparseSpMatSetAttribute(*triangle, CUSPARSE_SPMAT_DIAG_TYPE, &diagonal, sizeof(diagonal)));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* In the order in which they are solved with. have says whether they can be had */
static PetscErrorCode AIJTCUMatSolveTrianglesCreate(AIJTCUMatSolve *s, cudaStream_t stream, PetscBool *have)
{
  const cusparseFillMode_t lower = CUSPARSE_FILL_MODE_LOWER, upper = CUSPARSE_FILL_MODE_UPPER;
  const cusparseDiagType_t ones = CUSPARSE_DIAG_TYPE_UNIT, any = CUSPARSE_DIAG_TYPE_NON_UNIT;

  PetscFunctionBegin;
  *have = PETSC_TRUE;
  if (s->transpose || s->factor.kind != AIJTCU_FACTOR_LU) PetscCall(AIJTCUMatSolveTransposeMake(s, stream, have));
  if (!*have) PetscFunctionReturn(PETSC_SUCCESS);
  switch (s->factor.kind) {
  case AIJTCU_FACTOR_LU: /* U^T is lower, and L^T is upper */
    PetscCall(AIJTCUMatSolveTriangleCreate(s, s->transpose, lower, s->transpose ? any : ones, &s->triangle[0]));
    PetscCall(AIJTCUMatSolveTriangleCreate(s, s->transpose, upper, s->transpose ? ones : any, &s->triangle[1]));
    break;
  case AIJTCU_FACTOR_LLT:
    PetscCall(AIJTCUMatSolveTriangleCreate(s, PETSC_FALSE, lower, any, &s->triangle[0]));
    PetscCall(AIJTCUMatSolveTriangleCreate(s, PETSC_TRUE, upper, any, &s->triangle[1]));
    break;
  case AIJTCU_FACTOR_UTDU:
    PetscCall(AIJTCUMatSolveTriangleCreate(s, PETSC_TRUE, lower, ones, &s->triangle[0]));
    PetscCall(AIJTCUMatSolveTriangleCreate(s, PETSC_FALSE, upper, ones, &s->triangle[1]));
    break;
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* The number of entries is the last of the offsets of rows, which are on the device */
static PetscErrorCode AIJTCUMatSolveCountEntries(AIJTCUMatSolve *s, cudaStream_t stream)
{
  const AIJTCUTriangles *f    = &s->factor;
  const char            *last = (const char *)f->rowptr + (size_t)s->m * f->index_size;
  int                    narrow;
  PetscInt               wide;

  PetscFunctionBegin;
  PetscCallCUDA(cudaMemcpyAsync(f->index_size == sizeof(narrow) ? (void *)&narrow : (void *)&wide, last, f->index_size, cudaMemcpyDeviceToHost, stream));
  PetscCallCUDA(cudaStreamSynchronize(stream));
  s->nnz = f->index_size == sizeof(narrow) ? narrow : wide;
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Bring an order of rows, or of their parts, to the device, by way of to */
static PetscErrorCode AIJTCUMatSolveOrderCopy(IS order, PetscInt m, cudaStream_t stream, int32_t *to, int32_t *on_device)
{
  const PetscInt *from;

  PetscFunctionBegin;
  PetscCall(ISGetIndices(order, &from));
  for (PetscInt i = 0; i < PARTS * m; i++) to[i] = (int32_t)(PARTS * from[i / PARTS] + i % PARTS);
  PetscCall(ISRestoreIndices(order, &from));
  PetscCallCUDA(cudaMemcpyAsync(on_device, to, (size_t)(PARTS * m) * sizeof(*to), cudaMemcpyHostToDevice, stream));
  PetscCallCUDA(cudaStreamSynchronize(stream));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* An order of rows on the device; have says whether there is memory for it */
static PetscErrorCode AIJTCUMatSolveOrderCreate(IS order, PetscInt m, cudaStream_t stream, int32_t **on_device, PetscBool *have)
{
  int32_t       *to;
  PetscErrorCode ierr;

  PetscFunctionBegin;
  PetscCall(AIJTCUDeviceMalloc((size_t)(PARTS * m) * sizeof(*to), stream, (void **)on_device));
  *have = (PetscBool)(*on_device != NULL);
  if (!*have) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCall(PetscMalloc1(PARTS * m, &to));
  ierr = AIJTCUMatSolveOrderCopy(order, m, stream, to, *on_device);
  PetscCall(PetscFree(to));
  PetscCall(ierr);
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode AIJTCUMatSolveOrdersCreate(AIJTCUMatSolve *s, cudaStream_t stream, PetscBool *have)
{
  IS             inverse;
  PetscErrorCode ierr;

  PetscFunctionBegin;
  PetscCall(AIJTCUMatSolveOrderCreate(s->rows, s->m, stream, &s->order[0], have));
  if (!*have) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCall(ISInvertPermutation(s->columns, PETSC_DECIDE, &inverse));
  ierr = AIJTCUMatSolveOrderCreate(inverse, s->m, stream, &s->order[1], have);
  PetscCall(ISDestroy(&inverse));
  PetscCall(ierr);
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Look at the factor as it is now. known says whether it can be worked with */
static PetscErrorCode AIJTCUMatSolvePrepare(Mat F, AIJTCUMatSolve *s, cudaStream_t stream)
{
  const PetscInt unit = 16 / (PetscInt)sizeof(PetscScalar);

  PetscFunctionBegin;
  if (s->ready) PetscFunctionReturn(PETSC_SUCCESS);
  AIJTCUMatSolveDrop(s); /* what an error has left */
  PetscCall(AIJTCUFactorGet(F, &s->factor, &s->known));
  if (s->factor.permuted && (!s->rows || !s->columns)) s->known = PETSC_FALSE;
  if (F->rmap->n > PETSC_INT32_MAX / PARTS) s->known = PETSC_FALSE;
  /* cuSPARSE needs no kernels of ours */
  if (s->known && (s->factor.permuted || s->factor.diagonal)) PetscCall(AIJTCUDeviceRuns(&s->known));
  if (s->known) {
    s->m  = F->rmap->n;
    s->ld = (s->m + unit - 1) / unit * unit;
    if (!s->handle) PetscCallCUSPARSE(cusparseCreate(&s->handle));
    PetscCall(AIJTCUMatSolveCountEntries(s, stream));
    PetscCallCUSPARSE(cusparseSetStream(s->handle, stream));
    PetscCall(AIJTCUMatSolveTrianglesCreate(s, stream, &s->known));
    if (s->known && s->factor.permuted) PetscCall(AIJTCUMatSolveOrdersCreate(s, stream, &s->known));
    if (!s->known) AIJTCUMatSolveDrop(s); /* no memory is held for what cannot be had */
  }
  s->ready = PETSC_TRUE; /* last: after an error all is made anew */
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* A triangular solve, by way of its two blocks. AIJTCUMatSolveForget() must follow, also after an error */
static PetscErrorCode AIJTCUMatSolveDescribe(const AIJTCUMatSolve *s, PetscInt N, const PetscScalar *b, PetscInt ldb, PetscScalar *x, PetscInt ldx, cusparseDnMatDescr_t at[2])
{
  PetscFunctionBegin;
  at[0] = at[1] = NULL;
  PetscCallCUSPARSE(cusparseCreateDnMat(&at[0], s->m, N, ldb, (void *)b, AIJTCU_CUDA_TYPE, CUSPARSE_ORDER_COL));
  PetscCallCUSPARSE(cusparseCreateDnMat(&at[1], s->m, N, ldx, x, AIJTCU_CUDA_TYPE, CUSPARSE_ORDER_COL));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static void AIJTCUMatSolveForget(cusparseDnMatDescr_t at[2])
{
  for (int i = 0; i < 2; i++) {
    if (at[i]) (void)cusparseDestroyDnMat(at[i]);
  }
}

static PetscErrorCode AIJTCUMatSolveAnalyseDescribed(const AIJTCUMatSolve *s, cusparseSpMatDescr_t triangle, const cusparseDnMatDescr_t at[2], cudaStream_t stream, AIJTCUMatSolveAnalysed *a, PetscBool *have)
{
  size_t bytes;

  PetscFunctionBegin;
  PetscCallCUSPARSE(cusparseSpSM_createDescr(&a->analysis));
  PetscCallCUSPARSE(cusparseSpSM_bufferSize(s->handle, CUSPARSE_OPERATION_NON_TRANSPOSE, CUSPARSE_OPERATION_NON_TRANSPOSE, &one, triangle, at[0], at[1], AIJTCU_CUDA_TYPE, CUSPARSE_SPSM_ALG_DEFAULT, a->analysis, &bytes));
  PetscCall(AIJTCUDeviceMalloc(bytes, stream, &a->buffer));
  *have = (PetscBool)(a->buffer != NULL);
  if (*have) PetscCallCUSPARSE(cusparseSpSM_analysis(s->handle, CUSPARSE_OPERATION_NON_TRANSPOSE, CUSPARSE_OPERATION_NON_TRANSPOSE, &one, triangle, at[0], at[1], AIJTCU_CUDA_TYPE, CUSPARSE_SPSM_ALG_DEFAULT, a->analysis, a->buffer));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode AIJTCUMatSolveAnalyse(const AIJTCUMatSolve *s, cusparseSpMatDescr_t triangle, PetscInt N, PetscScalar *block, cudaStream_t stream, AIJTCUMatSolveAnalysed *a, PetscBool *have)
{
  cusparseDnMatDescr_t at[2];
  PetscErrorCode       ierr;

  PetscFunctionBegin;
  ierr = AIJTCUMatSolveDescribe(s, N, block, s->ld, block, s->ld, at);
  if (!ierr) ierr = AIJTCUMatSolveAnalyseDescribed(s, triangle, at, stream, a, have);
  AIJTCUMatSolveForget(at);
  PetscCall(ierr);
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode AIJTCUMatSolveWidthCreate(AIJTCUMatSolve *s, PetscInt N, cudaStream_t stream, AIJTCUMatSolveWidth *width, PetscBool *have)
{
  const size_t bytes = (size_t)s->ld * (size_t)N * sizeof(PetscScalar);

  PetscFunctionBegin;
  PetscCall(AIJTCUDeviceMalloc(bytes, stream, (void **)&width->between));
  *have = (PetscBool)(width->between != NULL);
  if (*have && s->factor.permuted) {
    PetscCall(AIJTCUDeviceMalloc(bytes, stream, (void **)&width->permuted));
    *have = (PetscBool)(width->permuted != NULL);
  }
  for (int i = 0; i < TRIANGLES && *have; i++) PetscCall(AIJTCUMatSolveAnalyse(s, s->triangle[i], N, width->between, stream, &width->analysed[i], have));
  if (*have) width->N = N; /* last: after an error there is nothing */
  else AIJTCUMatSolveWidthDrop(width);
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* What is kept for N columns, or made in place of what was used the longest ago. NULL if there is no memory */
static PetscErrorCode AIJTCUMatSolveWidthGet(AIJTCUMatSolve *s, PetscInt N, cudaStream_t stream, AIJTCUMatSolveWidth **got)
{
  AIJTCUMatSolveWidth *width = &s->widths[0];
  PetscBool            have  = PETSC_TRUE;

  PetscFunctionBegin;
  for (int i = 0; i < WIDTHS; i++) {
    if (s->widths[i].used < width->used) width = &s->widths[i];
  }
  for (int i = 0; i < WIDTHS; i++) {
    if (s->widths[i].N == N) width = &s->widths[i];
  }
  if (width->N != N) {
    AIJTCUMatSolveWidthDrop(width);
    PetscCall(AIJTCUMatSolveWidthCreate(s, N, stream, width, &have));
  }
  width->used = ++s->solved;
  *got        = have ? width : NULL;
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode AIJTCUMatSolveRun(const AIJTCUMatSolve *s, const AIJTCUMatSolveWidth *width, int i, const PetscScalar *b, PetscInt ldb, PetscScalar *x, PetscInt ldx)
{
  cusparseDnMatDescr_t at[2];
  cusparseStatus_t     err = CUSPARSE_STATUS_SUCCESS;
  PetscErrorCode       ierr;

  PetscFunctionBegin;
  ierr = AIJTCUMatSolveDescribe(s, width->N, b, ldb, x, ldx, at);
  if (!ierr) err = cusparseSpSM_solve(s->handle, CUSPARSE_OPERATION_NON_TRANSPOSE, CUSPARSE_OPERATION_NON_TRANSPOSE, &one, s->triangle[i], at[0], at[1], AIJTCU_CUDA_TYPE, CUSPARSE_SPSM_ALG_DEFAULT, width->analysed[i].analysis);
  AIJTCUMatSolveForget(at);
  PetscCall(ierr);
  PetscCallCUSPARSE(err);
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* The rows of a block in another order */
static HrpbError AIJTCUMatSolvePermute(const AIJTCUMatSolve *s, PetscInt N, const int32_t *order, const PetscScalar *from, PetscInt ldfrom, PetscScalar *to, PetscInt ldto, cudaStream_t stream)
{
  return HrpbPermuteRowsDevice(order, PARTS * s->m, N, (const HrpbScalar *)from, PARTS * ldfrom, (HrpbScalar *)to, PARTS * ldto, stream);
}

/* X = B through the factor. All arrays are on the device. Where a kernel is refused X is anything */
static PetscErrorCode AIJTCUMatSolveArrays(const AIJTCUMatSolve *s, const AIJTCUMatSolveWidth *width, const PetscScalar *b, PetscInt ldb, PetscScalar *x, PetscInt ldx, cudaStream_t stream, HrpbError *err)
{
  const BlockShape   shape   = {.n = s->m, .N = width->N, .stream = stream};
  const PetscScalar *right   = b;
  PetscScalar       *left    = x;
  PetscInt           ldright = ldb, ldleft = ldx;

  PetscFunctionBegin;
  *err = HRPB_SUCCESS;
  if (width->permuted) {
    right   = width->permuted;
    left    = width->permuted;
    ldright = ldleft = s->ld;
    AIJTCUCallDevice(*err, AIJTCUMatSolvePermute(s, width->N, s->order[0], b, ldb, width->permuted, s->ld, stream));
    if (*err) PetscFunctionReturn(PETSC_SUCCESS);
  }
  PetscCall(AIJTCUMatSolveRun(s, width, 0, right, ldright, width->between, s->ld));
  if (s->factor.diagonal) AIJTCUCallDevice(*err, BlockOpsDevice.scale(&shape, s->factor.diagonal, 1, false, (BlockIn){width->between, s->ld}, (BlockOut){width->between, s->ld}));
  if (*err) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCall(AIJTCUMatSolveRun(s, width, 1, width->between, s->ld, left, ldleft));
  if (width->permuted) AIJTCUCallDevice(*err, AIJTCUMatSolvePermute(s, width->N, s->order[1], width->permuted, s->ld, x, ldx, stream));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* done says whether the factor can be worked with, and there are memory and kernels */
static PetscErrorCode AIJTCUMatSolveOnStream(Mat F, AIJTCUMatSolve *s, Mat B, Mat X, cudaStream_t stream, PetscBool *done)
{
  const PetscInt       N     = X->cmap->n;
  AIJTCUMatSolveWidth *width = NULL;
  const PetscScalar   *b;
  PetscScalar         *x;
  PetscInt             ldb, ldx;
  HrpbError            err;
  PetscErrorCode       ierr;

  PetscFunctionBegin;
  PetscCall(AIJTCUMatSolvePrepare(F, s, stream));
  if (s->known) {
    PetscCallCUSPARSE(cusparseSetStream(s->handle, stream));
    PetscCall(AIJTCUMatSolveWidthGet(s, N, stream, &width));
  }
  *done = (PetscBool)(width != NULL);
  if (!*done) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCall(MatDenseGetLDA(B, &ldb));
  PetscCall(MatDenseGetLDA(X, &ldx));
  PetscCall(MatDenseGetArrayReadAndMemType(B, &b, NULL));
  PetscCall(MatDenseGetArrayWriteAndMemType(X, &x, NULL));
  PetscCall(PetscLogGpuTimeBegin());
  ierr = AIJTCUMatSolveArrays(s, width, b, ldb, x, ldx, stream, &err);
  PetscCall(PetscLogGpuTimeEnd());
  PetscCall(MatDenseRestoreArrayWriteAndMemType(X, &x)); /* after an error, too */
  PetscCall(MatDenseRestoreArrayReadAndMemType(B, &b));
  PetscCall(ierr);
  *done = (PetscBool)!err;
  if (*done) PetscCall(PetscLogGpuFlops(2.0 * (PetscLogDouble)N * (PetscLogDouble)s->nnz * (s->factor.kind == AIJTCU_FACTOR_UTDU ? 2 : 1)));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode AIJTCUMatSolveOnDevice(Mat M, PetscBool *device)
{
  PetscBool bound;

  PetscFunctionBegin;
  PetscCall(PetscObjectTypeCompare((PetscObject)M, MATSEQDENSECUDA, device));
  PetscCall(MatBoundToCPU(M, &bound));
  if (bound) *device = PETSC_FALSE;
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*
   Whether this is a single column, not what is left of a wider block: bits do not depend on the columns that leave. The
   transpose is always ours, because PETSc's is that of old values after a factor was computed anew
*/
static PetscBool AIJTCUMatSolveIsSingle(PetscBool transpose, Mat X)
{
  return (PetscBool)(!transpose && AIJTCUWholeColumns(X->cmap->n) == 1);
}

/* Solve with all columns at once, if that can be */
static PetscErrorCode AIJTCUMatSolveAtOnce(Mat F, PetscBool transpose, Mat B, Mat X, PetscBool *done)
{
  AIJTCUMatSolve *s;
  PetscBool       device[2];

  PetscFunctionBegin;
  *done = PETSC_FALSE;
  PetscCall(PetscObjectContainerQuery((PetscObject)F, MATSOLVE_KEY, &s));
  PetscCall(AIJTCUMatSolveOnDevice(B, &device[0]));
  PetscCall(AIJTCUMatSolveOnDevice(X, &device[1]));
  if (device[0] && device[1] && X->cmap->n && !AIJTCUMatSolveIsSingle(transpose, X)) {
    cudaStream_t stream = NULL;

    AIJTCUCallOnStream(stream, AIJTCUMatSolveOnStream(F, &s[transpose], B, X, stream, done));
  }
  PetscCall(PetscInfo(F, "aijtcu: %" PetscInt_FMT " right-hand sides through %s factor %s\n", X->cmap->n, transpose ? "the transpose of a" : "a", *done ? "at once" : "one after the other: there is one, they are on the host, there is no memory or no kernel, or the factor of cuSPARSE is not as expected"));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode MatMatSolve_AIJTCU(Mat F, Mat B, Mat X)
{
  PetscBool      done;
  PetscErrorCode ierr;

  PetscFunctionBegin;
  PetscCall(AIJTCUMatSolveAtOnce(F, PETSC_FALSE, B, X, &done));
  if (done) PetscFunctionReturn(PETSC_SUCCESS);
  F->ops->matsolve = NULL;
  ierr             = MatMatSolve(F, B, X);
  F->ops->matsolve = MatMatSolve_AIJTCU;
  PetscCall(ierr);
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Factors that are not LU are those of symmetric matrices */
static PetscErrorCode MatMatSolveTranspose_AIJTCU(Mat F, Mat B, Mat X)
{
  const PetscBool lu = (PetscBool)(F->factortype == MAT_FACTOR_LU || F->factortype == MAT_FACTOR_ILU);
  PetscBool       done;
  PetscErrorCode  ierr;

  PetscFunctionBegin;
  PetscCall(AIJTCUMatSolveAtOnce(F, lu, B, X, &done));
  if (done) PetscFunctionReturn(PETSC_SUCCESS);
  F->ops->matsolvetranspose = NULL;
  ierr                      = MatMatSolveTranspose(F, B, X);
  F->ops->matsolvetranspose = MatMatSolveTranspose_AIJTCU;
  PetscCall(ierr);
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* The orders in which a matrix was factored */
static PetscErrorCode AIJTCUMatSolveSetOrders(IS rows, IS columns, AIJTCUMatSolve *s)
{
  PetscFunctionBegin;
  if (rows) {
    PetscCall(PetscObjectReference((PetscObject)rows));
    PetscCall(ISDestroy(&s->rows));
    s->rows = rows;
  }
  if (columns) {
    PetscCall(PetscObjectReference((PetscObject)columns));
    PetscCall(ISDestroy(&s->columns));
    s->columns = columns;
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*
   Called after each step that makes a factor: rows and columns are the orders of its symbolic phase, or NULL. Where the
   factor solves on the device and has nothing for a block, it gets ours
*/
PetscErrorCode AIJTCUMatSolveEnter(Mat F, IS rows, IS columns)
{
  AIJTCUMatSolve *s;

  PetscFunctionBegin;
  PetscCall(PetscObjectContainerQuery((PetscObject)F, MATSOLVE_KEY, &s));
  if (!s) {
    PetscCall(PetscCalloc1(2, &s)); /* the factor, and its transpose */
    s[1].transpose = PETSC_TRUE;
    AIJTCUWorkspaceUser(PETSC_TRUE); /* work on its memory is in order, on any stream */
    PetscCall(AIJTCUComposeData((PetscObject)F, MATSOLVE_KEY, s, AIJTCUMatSolveDestroy));
  }
  for (int i = 0; i < 2; i++) AIJTCUMatSolveDrop(&s[i]);
  PetscCall(AIJTCUMatSolveSetOrders(rows, columns, &s[0]));
  PetscCall(AIJTCUMatSolveSetOrders(columns, rows, &s[1]));
  if (F->boundtocpu || AIJTCUBlockSolvers == AIJTCU_BLOCK_SOLVERS_OFF) PetscFunctionReturn(PETSC_SUCCESS);
  if (F->ops->solve && !F->ops->matsolve) F->ops->matsolve = MatMatSolve_AIJTCU;
  if (F->ops->solvetranspose && !F->ops->matsolvetranspose) F->ops->matsolvetranspose = MatMatSolveTranspose_AIJTCU;
  PetscFunctionReturn(PETSC_SUCCESS);
}
#endif
