/*
   The operator M = S .* (X Y^T), or its softmax, in the style of MatCreateLRC(). It follows S, X and Y: values of the
   entries are made when M is used and one of them has changed since.

   On a device the first product with a dense matrix after a change is made in one pass, without the values. They are
   made and kept from the second on. A product with M^T is one with S^T .* (Y X^T): of the same kind where S is known to
   be symmetric.

   It is a MATSHELL, which brings scaling, shifts and what else wants nothing but products.
*/
#include "sampledimpl.h"

/* What of S, X and Y something was made of */
typedef struct {
  AIJTCUOperandKey s;
  PetscObjectState x, y;
} AIJTCUSampledLRKey;

typedef struct {
  Mat                of[3]; /* S, X, Y */
  PetscBool          scale, softmax;
  Mat                C;     /* the values, once they were needed */
  PetscBool          whole; /* making C has not failed */
  AIJTCUSampledLRKey made;  /* what C was made of */
  PetscBool          fused; /* a product was made in one pass, of */
  AIJTCUSampledLRKey once;
} AIJTCUSampledLR;

/* The states of a dense matrix and of its local one, which may be written alone. They only grow, and so does the sum */
static PetscErrorCode AIJTCUSampledDenseState(Mat X, PetscObjectState *state)
{
  PetscObjectState own = 0;
  Mat              local;

  PetscFunctionBegin;
  PetscCall(PetscObjectStateGet((PetscObject)X, state));
  PetscCall(MatDenseGetLocalMatrix(X, &local));
  if (local != X) PetscCall(PetscObjectStateGet((PetscObject)local, &own));
  *state += own;
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode AIJTCUSampledLRKeyGet(const AIJTCUSampledLR *lr, AIJTCUSampledLRKey *key)
{
  PetscFunctionBegin;
  PetscCall(AIJTCUOperandKeyGet(lr->of[0], &key->s));
  PetscCall(AIJTCUSampledDenseState(lr->of[1], &key->x));
  PetscCall(AIJTCUSampledDenseState(lr->of[2], &key->y));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscBool AIJTCUSampledLRKeyEqual(const AIJTCUSampledLRKey *a, const AIJTCUSampledLRKey *b)
{
  return (PetscBool)(AIJTCUPatternKeyEqual(&a->s.pattern, &b->s.pattern) && a->s.values == b->s.values &&
                     a->s.plan == b->s.plan && a->x == b->x && a->y == b->y);
}

/*
   Whether there are no values, or no pattern, of S, X and Y as they are, on one process at least. Local matrices may be
   written on one alone, and making the values is collective: so each use asks the others. Collective
*/
static PetscErrorCode AIJTCUSampledLRIsStale(const AIJTCUSampledLR *lr, const AIJTCUSampledLRKey *now,
  PetscBool *values, PetscBool *pattern)
{
  PetscBool stale[2];

  PetscFunctionBegin;
  stale[0] = (PetscBool)(!lr->whole || !AIJTCUSampledLRKeyEqual(&lr->made, now));
  stale[1] = (PetscBool)(!lr->whole || !AIJTCUPatternKeyEqual(&lr->made.s.pattern, &now->s.pattern));
  PetscCallMPI(MPIU_Allreduce(MPI_IN_PLACE, stale, 2, MPI_C_BOOL, MPI_LOR, PetscObjectComm((PetscObject)lr->of[0])));
  *values  = stale[0];
  *pattern = stale[1];
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Bring C up to date */
static PetscErrorCode AIJTCUSampledLRGet(Mat M, AIJTCUSampledLR **lr)
{
  AIJTCUSampledLR   *p;
  AIJTCUSampledLRKey now;
  PetscBool          values, pattern;

  PetscFunctionBegin;
  PetscCall(MatShellGetContext(M, &p));
  *lr = p;
  PetscCall(AIJTCUSampledLRKeyGet(p, &now));
  PetscCall(AIJTCUSampledLRIsStale(p, &now, &values, &pattern));
  if (!values) PetscFunctionReturn(PETSC_SUCCESS);
  p->whole = PETSC_FALSE;
  if (!pattern) { /* S may be of another type now */
    PetscBool same;

    PetscCall(PetscObjectTypeCompare((PetscObject)p->C, ((PetscObject)p->of[0])->type_name, &same));
    pattern = (PetscBool)!same;
  }
  if (pattern) PetscCall(MatDestroy(&p->C));
  PetscCall(MatSampledMatTransposeMult(p->of[0], p->of[1], p->of[2], p->scale, p->C ? MAT_REUSE_MATRIX : MAT_INITIAL_MATRIX, &p->C));
  if (p->softmax) PetscCall(MatSampledSoftmax(p->C));
  p->made  = now;
  p->whole = PETSC_TRUE;
  PetscFunctionReturn(PETSC_SUCCESS);
}

#if AIJTCU_HAVE_DEVICE_REAL
/* Whether M^T is S .* (Y X^T). Without scaling the pattern of S is enough */
static PetscErrorCode AIJTCUSampledLRIsExchanged(const AIJTCUSampledLR *lr, PetscBool *is)
{
  const Mat S = lr->of[0];
  PetscBool known, symmetric;

  PetscFunctionBegin;
  if (lr->scale) PetscCall(MatIsSymmetricKnown(S, &known, &symmetric));
  else PetscCall(MatIsStructurallySymmetricKnown(S, &known, &symmetric));
  /* what does not hold for ever may be stale: AIJTCUProductIsDense() */
  *is = (PetscBool)(!lr->softmax && known && symmetric && (lr->scale ? S->symmetry_eternal : S->structural_symmetry_eternal));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* R = M Z, or M^T Z, without values, if there are none, and none were wanted before */
static PetscErrorCode AIJTCUSampledLRTryOnce(Mat M, PetscBool transposed, Mat Z, Mat R, PetscBool *done)
{
  AIJTCUSampledLR   *lr;
  AIJTCUSampledLRKey now;
  PetscBool          values, pattern, fits = PETSC_TRUE;
  PetscMPIInt        size;
  Mat                X, Y;

  PetscFunctionBegin;
  *done = PETSC_FALSE;
  PetscCallMPI(MPI_Comm_size(PetscObjectComm((PetscObject)M), &size));
  if (size > 1) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCall(MatShellGetContext(M, &lr));
  if (transposed) PetscCall(AIJTCUSampledLRIsExchanged(lr, &fits));
  if (!fits) PetscFunctionReturn(PETSC_SUCCESS);
  X = lr->of[transposed ? 2 : 1];
  Y = lr->of[transposed ? 1 : 2];
  PetscCall(AIJTCUSampledLRKeyGet(lr, &now));
  PetscCall(AIJTCUSampledLRIsStale(lr, &now, &values, &pattern));
  if (!values || (lr->fused && AIJTCUSampledLRKeyEqual(&lr->once, &now))) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCall(AIJTCUSampledCheckOperands(lr->of[0], X, Y));
  PetscCall(PetscLogEventBegin(MAT_AIJTCU_Sampled, lr->of[0], X, Y, Z));
  PetscCall(AIJTCUFusedOnDevice(lr->of[0], X, Y, lr->scale, lr->softmax, Z, R, done));
  PetscCall(PetscLogEventEnd(MAT_AIJTCU_Sampled, lr->of[0], X, Y, Z));
  if (*done) {
    lr->fused = PETSC_TRUE;
    lr->once  = now;
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}
#endif

static PetscErrorCode MatMult_SampledLR(Mat M, Vec x, Vec y)
{
  AIJTCUSampledLR *lr;

  PetscFunctionBegin;
  PetscCall(AIJTCUSampledLRGet(M, &lr));
  PetscCall(MatMult(lr->C, x, y));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode MatMultTranspose_SampledLR(Mat M, Vec x, Vec y)
{
  AIJTCUSampledLR *lr;

  PetscFunctionBegin;
  PetscCall(AIJTCUSampledLRGet(M, &lr));
  PetscCall(MatMultTranspose(lr->C, x, y));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode MatGetDiagonal_SampledLR(Mat M, Vec d)
{
  AIJTCUSampledLR *lr;

  PetscFunctionBegin;
  PetscCall(AIJTCUSampledLRGet(M, &lr));
  PetscCall(MatGetDiagonal(lr->C, d));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*
   A copy of the diagonal block, which is M's own: PETSc scales it where M is scaled. A solver takes it anew when it is
   set up
*/
static PetscErrorCode MatGetDiagonalBlock_SampledLR(Mat M, Mat *block)
{
  static const char key[] = "MatSampledLR diagonal block";
  AIJTCUSampledLR  *lr;
  Mat               diagonal, copy;

  PetscFunctionBegin;
  PetscCall(AIJTCUSampledLRGet(M, &lr));
  PetscCall(MatGetDiagonalBlock(lr->C, &diagonal));
  PetscCall(MatDuplicate(diagonal, MAT_COPY_VALUES, &copy));
  PetscCall(PetscObjectCompose((PetscObject)M, key, (PetscObject)copy));
  *block = copy;
  PetscCall(MatDestroy(&copy)); /* M has it */
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* R = M Z, or M^T Z */
static PetscErrorCode AIJTCUSampledLRMultiply(Mat M, PetscBool transposed, Mat Z, Mat R)
{
  AIJTCUSampledLR *lr;
  PetscBool        done = PETSC_FALSE;

  PetscFunctionBegin;
#if AIJTCU_HAVE_DEVICE_REAL
  PetscCall(AIJTCUSampledLRTryOnce(M, transposed, Z, R, &done));
#endif
  if (done) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCall(AIJTCUSampledLRGet(M, &lr));
  if (transposed) PetscCall(MatTransposeMatMult(lr->C, Z, MAT_REUSE_MATRIX, PETSC_DETERMINE, &R));
  else PetscCall(MatMatMult(lr->C, Z, MAT_REUSE_MATRIX, PETSC_DETERMINE, &R));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode MatMatMultNumeric_SampledLR(Mat M, Mat Z, Mat R, void *ctx)
{
  PetscFunctionBegin;
  (void)ctx;
  PetscCall(AIJTCUSampledLRMultiply(M, PETSC_FALSE, Z, R));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode MatTransposeMatMultNumeric_SampledLR(Mat M, Mat Z, Mat R, void *ctx)
{
  PetscFunctionBegin;
  (void)ctx;
  PetscCall(AIJTCUSampledLRMultiply(M, PETSC_TRUE, Z, R));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode AIJTCUSampledLRDestroy(PetscCtxRt ctx)
{
  AIJTCUSampledLR *lr = *(AIJTCUSampledLR **)ctx;

  PetscFunctionBegin;
  for (int i = 0; i < 3; i++) PetscCall(MatDestroy(&lr->of[i]));
  PetscCall(MatDestroy(&lr->C));
  PetscCall(PetscFree(lr));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode AIJTCUSampledLRNew(Mat S, Mat X, Mat Y, PetscBool scale, AIJTCUSampledLR **lr)
{
  const Mat        of[3] = {S, X, Y};
  AIJTCUSampledLR *p;
  PetscErrorCode   ierr = PETSC_SUCCESS;

  PetscFunctionBegin;
  PetscCall(PetscNew(&p));
  p->scale = scale;
  for (int i = 0; i < 3 && !ierr; i++) {
    ierr = PetscObjectReference((PetscObject)of[i]);
    if (!ierr) p->of[i] = of[i];
  }
  if (ierr) (void)AIJTCUSampledLRDestroy((void *)&p);
  PetscCall(ierr);
  *lr = p;
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode MatDuplicate_SampledLR(Mat, MatDuplicateOption, Mat *);

/* The shell of lr. owned says whether it destroys lr */
static PetscErrorCode AIJTCUSampledLRShell(Mat S, AIJTCUSampledLR *lr, PetscBool *owned, Mat *M)
{
  const MatType dense[] = {MATDENSE, MATDENSECUDA};
  VecType       vtype;

  PetscFunctionBegin;
  PetscCall(MatCreateShell(PetscObjectComm((PetscObject)S), S->rmap->n, S->cmap->n, S->rmap->N, S->cmap->N, lr, M));
  PetscCall(MatShellSetContextDestroy(*M, AIJTCUSampledLRDestroy));
  *owned = PETSC_TRUE;
  PetscCall(MatGetVecType(S, &vtype));
  PetscCall(MatShellSetVecType(*M, vtype));
  PetscCall(MatSetBlockSizesFromMats(*M, S, S));
  PetscCall(MatShellSetOperation(*M, MATOP_MULT, (PetscErrorCodeFn *)MatMult_SampledLR));
  PetscCall(MatShellSetOperation(*M, MATOP_MULT_TRANSPOSE, (PetscErrorCodeFn *)MatMultTranspose_SampledLR));
  PetscCall(MatShellSetOperation(*M, MATOP_GET_DIAGONAL, (PetscErrorCodeFn *)MatGetDiagonal_SampledLR));
  PetscCall(MatShellSetOperation(*M, MATOP_DUPLICATE, (PetscErrorCodeFn *)MatDuplicate_SampledLR));
  PetscCall(MatShellSetOperation(*M, MATOP_GET_DIAGONAL_BLOCK, (PetscErrorCodeFn *)MatGetDiagonalBlock_SampledLR));
  for (size_t i = 0; i < PETSC_STATIC_ARRAY_LENGTH(dense); i++) {
    PetscCall(MatShellSetMatProductOperation(*M, MATPRODUCT_AB, NULL, MatMatMultNumeric_SampledLR, NULL, dense[i], dense[i]));
    PetscCall(MatShellSetMatProductOperation(*M, MATPRODUCT_AtB, NULL, MatTransposeMatMultNumeric_SampledLR, NULL, dense[i], dense[i]));
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode AIJTCUSampledLRCreate(const Mat of[3], PetscBool scale, PetscBool softmax, Mat *M)
{
  AIJTCUSampledLR *lr    = NULL;
  PetscBool        owned = PETSC_FALSE;
  PetscErrorCode   ierr;

  PetscFunctionBegin;
  *M = NULL;
  PetscCall(AIJTCUSampledLRNew(of[0], of[1], of[2], scale, &lr));
  lr->softmax = softmax;
  ierr        = AIJTCUSampledLRShell(of[0], lr, &owned, M);
  if (ierr) {
    (void)MatDestroy(M);
    if (!owned) (void)AIJTCUSampledLRDestroy((void *)&lr);
  }
  PetscCall(ierr);
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* PETSc's duplicates share what is behind a shell. Ours may become a softmax, or be one no more. Scaling is copied */
static PetscErrorCode MatDuplicate_SampledLR(Mat M, MatDuplicateOption op, Mat *N)
{
  AIJTCUSampledLR *lr;
  PetscErrorCode   ierr = PETSC_SUCCESS;

  PetscFunctionBegin;
  PetscCall(MatShellGetContext(M, &lr));
  PetscCall(AIJTCUSampledLRCreate(lr->of, lr->scale, lr->softmax, N));
  if (op == MAT_COPY_VALUES) ierr = MatCopy(M, *N, SAME_NONZERO_PATTERN);
  if (ierr) (void)MatDestroy(N);
  PetscCall(ierr);
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*@
  MatCreateSampledLR - Creates the operator S .* (X Y^T), or X Y^T at the nonzeros of S

  Collective

  Input Parameters:
+ S     - the sparse matrix, of type `MATAIJ`, `MATAIJCUSPARSE` or `MATAIJTCU`
. X     - a dense matrix with the row layout of `S`
. Y     - a dense matrix with as many columns as `X`, and the column layout of `S` as its row layout; may be `X`
- scale - `PETSC_TRUE` for entries s_ij <x_i, y_j>, `PETSC_FALSE` for <x_i, y_j> alone

  Output Parameter:
. M - the operator, a `MATSHELL`

  Level: intermediate

  Notes:
  `MatMult()`, `MatMultTranspose()`, `MatGetDiagonal()`, `MatGetDiagonalBlock()`, and `MatMatMult()` and
  `MatTransposeMatMult()` with dense matrices work with `M`, and so do solvers that want these. Products are those of
  the type of `S`: of `MATAIJTCU` on a device, for example. `MatScale()` and `MatShift()` of `M` hold for these, but
  PETSc 3.26.1 leaves a shift out of the products with dense matrices.

  `M` follows `S`, `X` and `Y`: after a change of these its next use makes the values anew with
  `MatSampledMatTransposeMult()`, where `S` is. They are kept until the next change, also of a local matrix that one
  process writes alone. So `M` takes as much memory as a copy of `S`. A solver that was set up with `M` does not see
  such a change by itself: call `MatAssemblyBegin()` and `MatAssemblyEnd()` with `M` after it, and its preconditioner
  is made anew.

  The first `MatMatMult()` after a change may do without the values: where a sequential `MATAIJTCU` and the dense
  matrices are on a device, and bricks suit, it is made in one pass, with up to 64 columns of `X` and of the other
  matrix. So a program that changes `X` for every product never has the values in memory. The sums of such a product
  have another order than those of the next ones. The same holds for `MatTransposeMatMult()`, unless `M` is a softmax,
  where `S` is known to be symmetric (`MatIsSymmetricKnown()`), or, without `scale`, its pattern
  (`MatIsStructurallySymmetricKnown()`).

.seealso: `MATAIJTCU`, `MATSHELL`, `MatSampledLRSetSoftmax()`, `MatSampledMatTransposeMult()`, `MatCreateLRC()`
@*/
PetscErrorCode MatCreateSampledLR(Mat S, Mat X, Mat Y, PetscBool scale, Mat *M)
{
  const Mat of[3] = {S, X, Y};

  PetscFunctionBegin;
  PetscValidHeaderSpecific(S, MAT_CLASSID, 1);
  PetscValidHeaderSpecific(X, MAT_CLASSID, 2);
  PetscValidHeaderSpecific(Y, MAT_CLASSID, 3);
  PetscValidLogicalCollectiveBool(S, scale, 4);
  PetscAssertPointer(M, 5);
  *M = NULL;
  PetscCall(AIJTCUSampledCheckOperands(S, X, Y));
  PetscCall(AIJTCUSampledLRCreate(of, scale, PETSC_FALSE, M));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* The context of M, or an error if MatCreateSampledLR() has not made M */
static PetscErrorCode AIJTCUSampledLRContext(Mat M, AIJTCUSampledLR **lr)
{
  PetscErrorCodeFn *mult = NULL;
  PetscBool         shell;

  PetscFunctionBegin;
  PetscCall(PetscObjectTypeCompare((PetscObject)M, MATSHELL, &shell));
  if (shell) PetscCall(MatShellGetOperation(M, MATOP_MULT, &mult));
  PetscCheck(mult == (PetscErrorCodeFn *)MatMult_SampledLR, PetscObjectComm((PetscObject)M), PETSC_ERR_ARG_WRONG,
    "The matrix must be one that MatCreateSampledLR() has made");
  PetscCall(MatShellGetContext(M, lr));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*@
  MatSampledLRSetSoftmax - Makes the operator of `MatCreateSampledLR()` the softmax of the rows of S .* (X Y^T)

  Logically Collective

  Input Parameters:
+ M       - the operator
- softmax - whether it is the softmax; it is not unless this is called

  Level: intermediate

  Note:
  `MatSampledSoftmax()` says what softmax is. `MatMatMult()` with this operator is the attention of graph networks.

.seealso: `MATAIJTCU`, `MatCreateSampledLR()`, `MatSampledLRGetSoftmax()`, `MatSampledSoftmax()`
@*/
PetscErrorCode MatSampledLRSetSoftmax(Mat M, PetscBool softmax)
{
  AIJTCUSampledLR *lr;

  PetscFunctionBegin;
  PetscValidHeaderSpecific(M, MAT_CLASSID, 1);
  PetscValidLogicalCollectiveBool(M, softmax, 2);
  PetscCall(AIJTCUSampledLRContext(M, &lr));
  PetscCheck(!softmax || !PetscDefined(USE_COMPLEX), PetscObjectComm((PetscObject)M), PETSC_ERR_SUP, "Complex numbers have no order");
  if (lr->softmax == softmax) PetscFunctionReturn(PETSC_SUCCESS);
  lr->softmax = softmax;
  lr->fused   = PETSC_FALSE;
  lr->whole   = PETSC_FALSE;
  PetscCall(MatDestroy(&lr->C));
  PetscCall(PetscObjectStateIncrease((PetscObject)M));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*@
  MatSampledLRGetSoftmax - Gets whether the operator of `MatCreateSampledLR()` is a softmax

  Not Collective

  Input Parameter:
. M - the operator

  Output Parameter:
. softmax - whether it is the softmax of the rows of S .* (X Y^T)

  Level: intermediate

.seealso: `MATAIJTCU`, `MatCreateSampledLR()`, `MatSampledLRSetSoftmax()`
@*/
PetscErrorCode MatSampledLRGetSoftmax(Mat M, PetscBool *softmax)
{
  AIJTCUSampledLR *lr;

  PetscFunctionBegin;
  PetscValidHeaderSpecific(M, MAT_CLASSID, 1);
  PetscAssertPointer(softmax, 2);
  PetscCall(AIJTCUSampledLRContext(M, &lr));
  *softmax = lr->softmax;
  PetscFunctionReturn(PETSC_SUCCESS);
}
