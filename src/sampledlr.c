/*
   The operator M = S .* (X Y^T), in the style of MatCreateLRC(). It follows S, X and Y: values of the entries are made
   when M is used and one of them has changed since.

   It is a MATSHELL, which brings scaling, shifts and what else wants nothing but products.
*/
#include "aijtcuimpl.h"

typedef struct {
  Mat              of[3]; /* S, X, Y */
  PetscBool        scale;
  Mat              C;        /* the values, once they were needed */
  AIJTCUPatternKey pattern;  /* of S, when C was made */
  PetscObjectState state[3]; /* of all three then */
} AIJTCUSampledLR;

/* Bring C up to date. What has changed on one process has changed on all */
static PetscErrorCode AIJTCUSampledLRGet(Mat M, AIJTCUSampledLR **lr)
{
  AIJTCUSampledLR *p;
  AIJTCUPatternKey pattern;
  PetscBool        stale[2]; /* the values; the pattern, too */

  PetscFunctionBegin;
  PetscCall(MatShellGetContext(M, &p));
  *lr = p;
  PetscCall(AIJTCUPatternKeyGet(p->of[0], &pattern));
  stale[0] = stale[1] = (PetscBool)(!p->C || !AIJTCUPatternKeyEqual(&p->pattern, &pattern));
  for (int i = 0; i < 3; i++) {
    PetscObjectState state;

    PetscCall(PetscObjectStateGet((PetscObject)p->of[i], &state));
    if (state != p->state[i]) stale[0] = PETSC_TRUE;
  }
  PetscCallMPI(MPIU_Allreduce(MPI_IN_PLACE, stale, 2, MPI_C_BOOL, MPI_LOR, PetscObjectComm((PetscObject)M)));
  if (!stale[0]) PetscFunctionReturn(PETSC_SUCCESS);
  if (stale[1]) PetscCall(MatDestroy(&p->C));
  PetscCall(MatSampledMatTransposeMult(p->of[0], p->of[1], p->of[2], p->scale, p->C ? MAT_REUSE_MATRIX : MAT_INITIAL_MATRIX, &p->C));
  p->pattern = pattern;
  for (int i = 0; i < 3; i++) PetscCall(PetscObjectStateGet((PetscObject)p->of[i], &p->state[i]));
  PetscFunctionReturn(PETSC_SUCCESS);
}

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

static PetscErrorCode MatMatMultNumeric_SampledLR(Mat M, Mat Z, Mat R, void *ctx)
{
  AIJTCUSampledLR *lr;

  PetscFunctionBegin;
  (void)ctx;
  PetscCall(AIJTCUSampledLRGet(M, &lr));
  PetscCall(MatMatMult(lr->C, Z, MAT_REUSE_MATRIX, PETSC_DETERMINE, &R));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode MatTransposeMatMultNumeric_SampledLR(Mat M, Mat Z, Mat R, void *ctx)
{
  AIJTCUSampledLR *lr;

  PetscFunctionBegin;
  (void)ctx;
  PetscCall(AIJTCUSampledLRGet(M, &lr));
  PetscCall(MatTransposeMatMult(lr->C, Z, MAT_REUSE_MATRIX, PETSC_DETERMINE, &R));
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
  `MatMult()`, `MatMultTranspose()`, `MatGetDiagonal()`, and `MatMatMult()` and `MatTransposeMatMult()` with dense
  matrices work with `M`, and so do solvers that want these. Products are those of the type of `S`: of `MATAIJTCU` on a
  device, for example.

  `M` follows `S`, `X` and `Y`: after a change of these its next use makes the values anew with
  `MatSampledMatTransposeMult()`, where `S` is. They are kept until the next change. So `M` takes as much memory as a
  copy of `S`.

.seealso: `MATAIJTCU`, `MATSHELL`, `MatSampledMatTransposeMult()`, `MatCreateLRC()`
@*/
PetscErrorCode MatCreateSampledLR(Mat S, Mat X, Mat Y, PetscBool scale, Mat *M)
{
  const MatType    dense[] = {MATDENSE, MATDENSECUDA};
  AIJTCUSampledLR *lr;
  VecType          vtype;

  PetscFunctionBegin;
  PetscValidHeaderSpecific(S, MAT_CLASSID, 1);
  PetscValidHeaderSpecific(X, MAT_CLASSID, 2);
  PetscValidHeaderSpecific(Y, MAT_CLASSID, 3);
  PetscValidLogicalCollectiveBool(S, scale, 4);
  PetscAssertPointer(M, 5);
  PetscCall(PetscNew(&lr));
  lr->of[0] = S;
  lr->of[1] = X;
  lr->of[2] = Y;
  lr->scale = scale;
  for (int i = 0; i < 3; i++) PetscCall(PetscObjectReference((PetscObject)lr->of[i]));
  PetscCall(MatCreateShell(PetscObjectComm((PetscObject)S), S->rmap->n, S->cmap->n, S->rmap->N, S->cmap->N, lr, M));
  PetscCall(MatShellSetContextDestroy(*M, AIJTCUSampledLRDestroy));
  PetscCall(MatGetVecType(S, &vtype));
  PetscCall(MatShellSetVecType(*M, vtype));
  PetscCall(MatSetBlockSizesFromMats(*M, S, S));
  PetscCall(MatShellSetOperation(*M, MATOP_MULT, (PetscErrorCodeFn *)MatMult_SampledLR));
  PetscCall(MatShellSetOperation(*M, MATOP_MULT_TRANSPOSE, (PetscErrorCodeFn *)MatMultTranspose_SampledLR));
  PetscCall(MatShellSetOperation(*M, MATOP_GET_DIAGONAL, (PetscErrorCodeFn *)MatGetDiagonal_SampledLR));
  for (size_t i = 0; i < PETSC_STATIC_ARRAY_LENGTH(dense); i++) {
    PetscCall(MatShellSetMatProductOperation(*M, MATPRODUCT_AB, NULL, MatMatMultNumeric_SampledLR, NULL, dense[i], dense[i]));
    PetscCall(MatShellSetMatProductOperation(*M, MATPRODUCT_AtB, NULL, MatTransposeMatMultNumeric_SampledLR, NULL, dense[i], dense[i]));
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}
