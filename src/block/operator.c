/*
   What a block method does with the operator and the preconditioner, and where its blocks are.

   Blocks are where A works, on the host or the device. B and X that are elsewhere are copied, once in and once out.
   A product with A is set up once and kept, because in parallel that takes longer than the product.
*/
#include "blockksp.h"

#if AIJTCU_HAVE_BLOCK
/* Whether a dense matrix is one of the device */
static PetscErrorCode AIJTCUBlockIsDevice(Mat M, PetscBool *device)
{
  PetscFunctionBegin;
  PetscCall(PetscObjectTypeCompareAny((PetscObject)M, device, MATSEQDENSECUDA, MATMPIDENSECUDA, ""));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* A matrix that is kept in *kept, with the layout of M, on the device or the host */
static PetscErrorCode AIJTCUBlockLike(Mat M, PetscBool device, Mat *kept)
{
  PetscBool rows = PETSC_FALSE, columns = PETSC_FALSE, there = PETSC_FALSE;

  PetscFunctionBegin;
  if (*kept) { /* all processes know the whole layout, so they agree */
    PetscCall(AIJTCUBlockIsDevice(*kept, &there));
    PetscCall(PetscLayoutCompare((*kept)->rmap, M->rmap, &rows));
    PetscCall(PetscLayoutCompare((*kept)->cmap, M->cmap, &columns));
  }
  if (rows && columns && there == device) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCall(MatDestroy(kept));
  #if PetscDefined(HAVE_CUDA)
  if (device) {
    PetscCall(MatCreateDenseCUDA(PetscObjectComm((PetscObject)M), M->rmap->n, M->cmap->n, M->rmap->N, M->cmap->N, NULL, kept));
    PetscFunctionReturn(PETSC_SUCCESS);
  }
  #endif
  PetscCall(MatCreateDense(PetscObjectComm((PetscObject)M), M->rmap->n, M->cmap->n, M->rmap->N, M->cmap->N, NULL, kept));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*
   B without the part in the null space of the transpose, or of A in a solve with the transpose. As in KSPSolve(): no X
   gives that part
*/
static PetscErrorCode AIJTCUBlockRangeOnly(KSP ksp, AIJTCUBlockKSP *s, Mat *B)
{
  MatNullSpace nullsp;
  Mat          A, range;
  Vec          b;

  PetscFunctionBegin;
  PetscCall(KSPGetOperators(ksp, &A, NULL));
  PetscCall(ksp->transpose_solve ? MatGetNullSpace(A, &nullsp) : MatGetTransposeNullSpace(A, &nullsp));
  if (!nullsp) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCall(AIJTCUBlockWork(s->ctx, AIJTCU_BLOCK_RHS, &range));
  PetscCall(AIJTCUBlockCopy(s->ctx, *B, range));
  for (PetscInt j = 0; j < range->cmap->N; j++) {
    PetscCall(MatDenseGetColumnVec(range, j, &b));
    PetscCall(MatNullSpaceRemove(nullsp, b));
    PetscCall(MatDenseRestoreColumnVec(range, j, &b));
  }
  *B = range;
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*
   Whether the last solve had its B and X in the same places. Then everything is there, and no process need ask the
   others: a smoother solves with like blocks again and again. Which blocks these are does not matter, and processes
   need not agree about it: where a preconditioner has failed on one, its residual is another one. fits says whether
   work blocks as large were there
*/
static PetscErrorCode AIJTCUBlockSamePlace(AIJTCUBlockKSP *s, const Mat given[2], PetscBool device, AIJTCUBlockNeeds needs, PetscBool *same, PetscBool *fits)
{
  AIJTCUBlockPlace        place = {.device = device, .needs = needs};
  const AIJTCUBlockPlace *last  = &s->place;
  Mat                     work;
  PetscBool               rows, columns;

  PetscFunctionBegin;
  for (int i = 0; i < 2; i++) PetscCall(AIJTCUBlockIsDevice(given[i], &place.given_device[i]));
  *fits = (PetscBool)(s->ctx && last->device == device && last->needs.nscalars == needs.nscalars && last->needs.nblocks == needs.nblocks);
  if (*fits) { /* all processes know the whole layout, so they agree */
    PetscCall(AIJTCUBlockWork(s->ctx, AIJTCU_BLOCK_TEMP, &work));
    PetscCall(PetscLayoutCompare(work->rmap, given[1]->rmap, &rows));
    PetscCall(PetscLayoutCompare(work->cmap, given[1]->cmap, &columns));
    *fits = (PetscBool)(rows && columns);
  }
  *same = *fits;
  for (int i = 0; i < 2; i++) {
    if (last->given_device[i] != place.given_device[i]) *same = PETSC_FALSE;
  }
  s->place = place;
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Ask for the memory of nblocks more blocks like X, and give it back */
static PetscErrorCode AIJTCUBlockAskHere(Mat X, PetscBool device, PetscInt nblocks, PetscBool *fits)
{
  const size_t bytes = (size_t)nblocks * (size_t)X->rmap->n * (size_t)X->cmap->N * sizeof(PetscScalar);

  PetscFunctionBegin;
  *fits = PETSC_TRUE;
  if (!device) {
    PetscErrorCode ierr;
    void          *p;

    PetscCall(PetscPushErrorHandler(PetscReturnErrorHandler, NULL));
    ierr = PetscMalloc(bytes, &p);
    PetscCall(PetscPopErrorHandler());
    *fits = (PetscBool)!ierr;
    if (*fits) PetscCall(PetscFree(p));
  }
  #if AIJTCU_HAVE_DEVICE
  else
    PetscCall(AIJTCUDeviceAsk(bytes, fits));
  #endif
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* The same on all processes. An error of one is an error of all */
static PetscErrorCode AIJTCUBlockAsk(Mat X, PetscBool device, PetscInt nblocks, PetscBool *fits)
{
  PetscBool            here = PETSC_FALSE;
  const PetscErrorCode ierr = AIJTCUBlockAskHere(X, device, nblocks, &here);

  PetscFunctionBegin;
  PetscCall(AIJTCUAgree(PetscObjectComm((PetscObject)X), ierr, here, fits));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* A place for a solve with blocks like X. It is given back where memory is short */
static PetscErrorCode AIJTCUBlockTakePlace(AIJTCUBlockKSP *s, const Mat given[2], PetscBool device, PetscBool fits, PetscBool *usable)
{
  const AIJTCUBlockNeeds needs = s->place.needs;
  Mat                    X     = given[1];

  PetscFunctionBegin;
  for (int i = 0; i < 2; i++) {
    if (s->place.given_device[i] != device) PetscCall(AIJTCUBlockLike(given[i], device, &s->moved[i]));
  }
  if (s->place.given_device[1] != device) X = s->moved[1];
  if (!fits) { /* the results of products are blocks that go */
    for (size_t i = 0; i < PETSC_STATIC_ARRAY_LENGTH(s->product); i++) PetscCall(MatDestroy(&s->product[i].result));
  }
  if (!s->ctx) PetscCall(AIJTCUBlockCtxCreate(&s->ctx));
  PetscCall(AIJTCUBlockCtxSetUp(s->ctx, X, needs.nscalars, usable));
  if (*usable && !fits) PetscCall(AIJTCUBlockAsk(X, device, needs.nblocks, usable));
  if (!*usable) {
    PetscCall(AIJTCUBlockReset(s));
    PetscFunctionReturn(PETSC_SUCCESS);
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* B and X where A works: at[0] and at[1], which may be B and X, and a place for the solve. usable: it can be had */
PetscErrorCode AIJTCUBlockWhere(KSP ksp, AIJTCUBlockKSP *s, Mat B, Mat X, Mat at[2], PetscBool *usable)
{
  const Mat        given[2] = {B, X};
  AIJTCUBlockNeeds needs    = (*s->method->needs)(ksp);
  Mat              A;
  AIJTCUPlan      *plan;
  PetscBool        device, fits = PETSC_FALSE;

  PetscFunctionBegin;
  PetscCall(KSPGetOperators(ksp, &A, NULL));
  PetscCall(AIJTCUGetPlan(A, &plan));
  PetscCheck(plan, PetscObjectComm((PetscObject)ksp), PETSC_ERR_PLIB, "The operator was an aijtcu when the KSP was set up, and is none now");
  PetscCall(AIJTCUAtDevice(A, plan, &device));
  needs.nscalars += needs.nsquares * X->cmap->N;
  PetscCall(AIJTCUBlockSamePlace(s, given, device, needs, usable, &fits));
  if (!*usable) PetscCall(AIJTCUBlockTakePlace(s, given, device, fits, usable));
  if (!*usable) PetscFunctionReturn(PETSC_SUCCESS);
  for (int i = 0; i < 2; i++) {
    at[i] = given[i];
    if (s->place.given_device[i] == device) continue;
    at[i] = s->moved[i];
    if (i == 0 || !ksp->guess_zero) PetscCall(AIJTCUCopyDense(given[i], at[i]));
    else PetscCall(MatZeroEntries(at[i]));
  }
  PetscCall(AIJTCUBlockRangeOnly(ksp, s, &at[0]));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* The end of a solve: X gets the result, and nothing of the caller is held */
PetscErrorCode AIJTCUBlockDone(AIJTCUBlockKSP *s, Mat at, Mat X)
{
  Mat idle;

  PetscFunctionBegin;
  if (at != X) PetscCall(AIJTCUCopyDense(at, X));
  for (size_t i = 0; i < PETSC_STATIC_ARRAY_LENGTH(s->product); i++) {
    const Mat result = s->product[i].result;

    if (!result || !result->product || result->product->B != at) continue;
    PetscCall(AIJTCUBlockWork(s->ctx, AIJTCU_BLOCK_TEMP, &idle));
    PetscCall(MatProductReplaceMats(NULL, idle, NULL, result));
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Give back what is kept from solve to solve */
PetscErrorCode AIJTCUBlockReset(AIJTCUBlockKSP *s)
{
  PetscFunctionBegin;
  for (size_t i = 0; i < PETSC_STATIC_ARRAY_LENGTH(s->product); i++) PetscCall(MatDestroy(&s->product[i].result));
  for (size_t i = 0; i < PETSC_STATIC_ARRAY_LENGTH(s->moved); i++) PetscCall(MatDestroy(&s->moved[i]));
  PetscCall(AIJTCUBlockCtxDestroy(&s->ctx));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Do not hold an operator that the KSP has no more */
PetscErrorCode AIJTCUBlockForgetOthers(AIJTCUBlockKSP *s, Mat A)
{
  PetscFunctionBegin;
  for (size_t i = 0; i < PETSC_STATIC_ARRAY_LENGTH(s->product); i++) {
    const Mat result = s->product[i].result;

    if (!result || !result->product || result->product->A == A) continue;
    PetscCall(MatProductClear(result));
    PetscCall(MatDestroy(&s->product[i].result));
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode AIJTCUBlockSetUpProduct(Mat A, PetscBool transposed, Mat X, Mat Y, AIJTCUBlockProduct *p)
{
  PetscFunctionBegin;
  PetscCall(PetscObjectReference((PetscObject)Y));
  PetscCall(MatDestroy(&p->result));
  p->result = Y;
  PetscCall(MatProductCreateWithMat(A, X, NULL, Y));
  PetscCall(MatProductSetType(Y, transposed ? MATPRODUCT_AtB : MATPRODUCT_AB));
  PetscCall(MatProductSetFromOptions(Y));
  PetscCall(MatProductSymbolic(Y));
  PetscCall(PetscObjectGetId((PetscObject)A, &p->id));
  PetscCall(MatGetNonzeroState(A, &p->nonzerostate));
  p->N          = Y->cmap->N;
  p->transposed = transposed;
  p->decide     = AIJTCUWholeColumns(p->N);
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Y = A X, or A^T X in a solve with the transpose. Y is a work block that nobody else makes a product of */
PetscErrorCode AIJTCUBlockMatMult(KSP ksp, AIJTCUBlockKSP *s, Mat X, Mat Y)
{
  AIJTCUBlockProduct *p = NULL;
  PetscObjectId       id;
  PetscObjectState    state;
  Mat                 A;

  PetscFunctionBegin;
  PetscCall(KSPGetOperators(ksp, &A, NULL));
  for (size_t i = 0; i < PETSC_STATIC_ARRAY_LENGTH(s->product); i++) {
    if (s->product[i].result == Y) p = &s->product[i];
  }
  for (size_t i = 0; i < PETSC_STATIC_ARRAY_LENGTH(s->product) && !p; i++) {
    if (!s->product[i].result) p = &s->product[i];
  }
  if (!p) p = &s->product[0]; /* its result was a block of another size */
  PetscCall(PetscObjectGetId((PetscObject)A, &id));
  PetscCall(MatGetNonzeroState(A, &state));
  if (p->result != Y || p->id != id || p->nonzerostate != state || p->N != Y->cmap->N || p->transposed != ksp->transpose_solve || p->decide != AIJTCUWholeColumns(p->N) || !Y->product || Y->product->A != A) {
    PetscCall(AIJTCUBlockSetUpProduct(A, ksp->transpose_solve, X, Y, p));
  }
  if (Y->product->B != X) PetscCall(MatProductReplaceMats(NULL, X, NULL, Y));
  PetscCall(MatProductNumeric(Y));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Y = M X, with M the preconditioner or its transpose: KSP_PCApply() */
PetscErrorCode AIJTCUBlockPCApply(KSP ksp, Mat X, Mat Y)
{
  PetscFunctionBegin;
  PetscCall(KSP_PCMatApply(ksp, X, Y));
  PetscCall(KSP_RemoveNullSpaceMat(ksp, Y));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*
   D: all that KSP_PCApply() and AIJTCUBlockPCApply() do is to multiply with this diagonal, or blocks along it: see
   AIJTCUBlockScale(). NULL where they do more, or not that. D may be anywhere
*/
PetscErrorCode AIJTCUPCBlocks(KSP ksp, PetscInt *dblock, Vec *D)
{
  Mat          A;
  MatNullSpace nullsp;

  PetscFunctionBegin;
  *D = NULL;
  PetscCall(PCGetOperators(ksp->pc, &A, NULL));
  PetscCall(ksp->transpose_solve ? MatGetTransposeNullSpace(A, &nullsp) : MatGetNullSpace(A, &nullsp));
  if (!nullsp) PetscCall(AIJTCUJacobiGetDiagonal(ksp->pc, dblock, D));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* The same, where the blocks of a solve can work with it */
static PetscErrorCode AIJTCUBlockPCBlocks(KSP ksp, AIJTCUBlockKSP *s, PetscInt *dblock, Vec *D)
{
  PetscBool takes;

  PetscFunctionBegin;
  PetscCall(AIJTCUPCBlocks(ksp, dblock, D));
  if (!*D) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCall(AIJTCUBlockCtxTakes(s->ctx, *D, &takes));
  if (!takes || (*dblock > 1 && ksp->transpose_solve)) *D = NULL;
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* The same, for those who take a diagonal alone */
PetscErrorCode AIJTCUBlockPCDiagonal(KSP ksp, AIJTCUBlockKSP *s, Vec *D)
{
  PetscInt dblock;

  PetscFunctionBegin;
  PetscCall(AIJTCUBlockPCBlocks(ksp, s, &dblock, D));
  if (*D && dblock > 1) *D = NULL;
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*
   What a smoother multiplies with, whose steps are AIJTCUBlockSmooth(). D is NULL where there are norms, which need the
   residual, or no steps. Not so where the preconditioner has failed, which one process may know alone: all make the
   same steps, and AIJTCUColumnsSmoothed() follows
*/
PetscErrorCode AIJTCUBlockSmootherDiagonal(KSP ksp, AIJTCUBlockKSP *s, PetscInt *dblock, Vec *D)
{
  PetscFunctionBegin;
  *D = NULL;
  if (ksp->normtype == KSP_NORM_NONE && ksp->max_it > 0) PetscCall(AIJTCUBlockPCBlocks(ksp, s, dblock, D));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*
   The preconditioned operator: KSP_PCApplyBAorAB(). *Y is M A X in Z for the left side, A M X in W for the right side.
   W is the result of a product.
*/
PetscErrorCode AIJTCUBlockBAorAB(KSP ksp, AIJTCUBlockKSP *s, Mat X, Mat W, Mat Z, Mat *Y)
{
  PetscFunctionBegin;
  if (ksp->pc_side == PC_RIGHT) {
    PetscCall(AIJTCUBlockPCApply(ksp, X, Z));
    PetscCall(AIJTCUBlockMatMult(ksp, s, Z, W));
    *Y = W;
  } else {
    PetscCall(AIJTCUBlockMatMult(ksp, s, X, W));
    PetscCall(AIJTCUBlockPCApply(ksp, W, Z));
    *Y = Z;
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*
   *r is B - A X, in R, or B itself for a zero X on one process. If the preconditioner failed on some processes, it is
   infinite there, and the first norm tells the others. R is the result of a product. Several processes go on with the
   same matrix, because the first use of one may be collective, as that of a column vector is.
*/
PetscErrorCode AIJTCUBlockResidual(KSP ksp, AIJTCUBlockKSP *s, PetscBool zero, Mat B, Mat X, Mat R, Mat *r)
{
  PetscMPIInt size;

  PetscFunctionBegin;
  PetscCallMPI(MPI_Comm_size(PetscObjectComm((PetscObject)ksp), &size));
  *r = zero && size == 1 ? B : R;
  if (zero && size > 1) PetscCall(AIJTCUBlockCopy(s->ctx, B, R));
  if (!zero) {
    PetscCall(AIJTCUBlockMatMult(ksp, s, X, R));
    PetscCall(AIJTCUBlockAXPBY(s->ctx, R, NULL, B, AIJTCUBlockScalars(s->ctx, AIJTCU_SCALARS_MINUS)));
  }
  if (ksp->reason == KSP_DIVERGED_PC_FAILED) {
    PetscCall(MatFlag(R, 1));
    *r = R;
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}
#endif
