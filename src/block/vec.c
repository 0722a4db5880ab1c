/* stand-in */
#include "block.h"
#if AIJTCU_HAVE_BLOCK
struct _n_AIJTCUBlockCtx { Mat like; PetscInt ns, N, n; PetscScalar *s; Mat work[300]; };
PetscErrorCode AIJTCUBlockCtxCreate(AIJTCUBlockCtx *c) { PetscFunctionBegin; PetscCall(PetscNew(c)); PetscFunctionReturn(PETSC_SUCCESS); }
static PetscErrorCode Clear(AIJTCUBlockCtx c) { PetscFunctionBegin; for (int i = 0; i < 300; i++) PetscCall(MatDestroy(&c->work[i])); PetscFunctionReturn(PETSC_SUCCESS); }
PetscErrorCode AIJTCUBlockCtxSetUp(AIJTCUBlockCtx c, Mat X, PetscInt n, PetscBool *u)
{
  PetscFunctionBegin;
  *u = PETSC_TRUE;
  {
    PetscBool same = (PetscBool)(c->N == X->cmap->N && c->n == X->cmap->n);
    PetscCallMPI(MPIU_Allreduce(MPI_IN_PLACE, &same, 1, MPI_C_BOOL, MPI_LAND, PetscObjectComm((PetscObject)X)));
    if (!same) PetscCall(Clear(c));
    c->n = X->cmap->n;
  }
  c->like = X; c->N = X->cmap->N;
  if (n * c->N > c->ns) { PetscCall(PetscFree(c->s)); PetscCall(PetscCalloc1(n * c->N, &c->s)); c->ns = n * c->N; }
  PetscFunctionReturn(PETSC_SUCCESS);
}
PetscErrorCode AIJTCUBlockCtxDestroy(AIJTCUBlockCtx *c) { PetscFunctionBegin; if (*c) { PetscCall(Clear(*c)); PetscCall(PetscFree((*c)->s)); PetscCall(PetscFree(*c)); } PetscFunctionReturn(PETSC_SUCCESS); }
PetscErrorCode AIJTCUBlockWork(AIJTCUBlockCtx c, PetscInt k, Mat *W)
{
  PetscFunctionBegin;
  if (!c->work[k]) PetscCall(MatDuplicate(c->like, MAT_DO_NOT_COPY_VALUES, &c->work[k]));
  *W = c->work[k];
  PetscFunctionReturn(PETSC_SUCCESS);
}
PetscScalar *AIJTCUBlockScalars(AIJTCUBlockCtx c, PetscInt k) { return c->s + k * c->N; }
#define ARRAYS(M, m, ld) PetscScalar *m; PetscInt ld; PetscCall(MatDenseGetLDA(M, &ld)); PetscCall(MatDenseGetArrayRead(M, (const PetscScalar **)&m));
#define DONE(M, m) PetscCall(MatDenseRestoreArrayRead(M, (const PetscScalar **)&m));
#define WDONE(M, m) PetscCall(MatDenseRestoreArrayRead(M, (const PetscScalar **)&m)); PetscCall(PetscObjectStateIncrease((PetscObject)M));
PetscErrorCode AIJTCUBlockDots(AIJTCUBlockCtx c, PetscInt nx, const Mat X[], Mat Y, PetscScalar *dots)
{
  PetscFunctionBegin;
  for (PetscInt i = 0; i < nx; i++) {
    ARRAYS(X[i], x, lx) ARRAYS(Y, y, ly)
    for (PetscInt j = 0; j < c->N; j++) { PetscScalar s = 0; for (PetscInt k = 0; k < Y->rmap->n; k++) s += x[j * lx + k] * y[j * ly + k]; dots[i * c->N + j] = s; }
    DONE(X[i], x) DONE(Y, y)
  }
  PetscCallMPI(MPIU_Allreduce(MPI_IN_PLACE, dots, nx * c->N, MPIU_SCALAR, MPIU_SUM, PetscObjectComm((PetscObject)Y)));
  PetscFunctionReturn(PETSC_SUCCESS);
}
PetscErrorCode AIJTCUBlockAXPBY(AIJTCUBlockCtx c, Mat Y, const PetscScalar *a, Mat X, const PetscScalar *b)
{
  PetscFunctionBegin;
  ARRAYS(X, x, lx) ARRAYS(Y, y, ly)
  for (PetscInt j = 0; j < c->N; j++) {
    PetscScalar aj = a ? a[j] : 1, bj = b ? b[j] : 1;
    for (PetscInt k = 0; k < Y->rmap->n; k++) y[j * ly + k] = (aj != 0. ? aj * x[j * lx + k] : 0) + (bj != 0. ? bj * y[j * ly + k] : 0);
  }
  DONE(X, x) WDONE(Y, y)
  PetscFunctionReturn(PETSC_SUCCESS);
}
PetscErrorCode AIJTCUBlockMAXPY(AIJTCUBlockCtx c, Mat Y, PetscReal sign, PetscInt nx, const PetscScalar *coef, const Mat X[])
{
  PetscFunctionBegin;
  for (PetscInt i = 0; i < nx; i++) {
    ARRAYS(X[i], x, lx) ARRAYS(Y, y, ly)
    for (PetscInt j = 0; j < c->N; j++) {
      PetscScalar aj = coef ? coef[i * c->N + j] : 1;
      if (aj != 0.) for (PetscInt k = 0; k < Y->rmap->n; k++) y[j * ly + k] += sign * aj * x[j * lx + k];
    }
    DONE(X[i], x) WDONE(Y, y)
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}
PetscErrorCode AIJTCUBlockCGStep(AIJTCUBlockCtx c, const PetscScalar *a, Mat P, Mat W, Mat X, Mat R, PetscScalar *rr)
{
  PetscFunctionBegin;
  PetscCall(AIJTCUBlockMAXPY(c, X, 1, 1, a, &P));
  PetscCall(AIJTCUBlockMAXPY(c, R, -1, 1, a, &W));
  if (rr) PetscCall(AIJTCUBlockDots(c, 1, &R, R, rr));
  PetscFunctionReturn(PETSC_SUCCESS);
}
PetscErrorCode AIJTCUBlockCopy(AIJTCUBlockCtx c, Mat X, Mat Y) { PetscFunctionBegin; (void)c; PetscCall(MatCopy(X, Y, SAME_NONZERO_PATTERN)); PetscFunctionReturn(PETSC_SUCCESS); }
PetscErrorCode AIJTCUBlockZero(AIJTCUBlockCtx c, Mat Y) { PetscFunctionBegin; (void)c; PetscCall(MatZeroEntries(Y)); PetscFunctionReturn(PETSC_SUCCESS); }
PetscErrorCode AIJTCUBlockScalarOp(AIJTCUBlockCtx c, AIJTCUScalarOp op, const PetscScalar *active, PetscScalar *out, const PetscScalar *x, const PetscScalar *y)
{
  PetscFunctionBegin;
  for (PetscInt j = 0; j < c->N; j++) {
    PetscScalar r;
    if (op == AIJTCU_SCALAR_DIVIDE) r = y[j] != 0. ? x[j] / y[j] : 0;
    else if (op == AIJTCU_SCALAR_MULTIPLY) r = x[j] * y[j];
    else r = (PetscRealPart(x[j]) > 0 && PetscRealPart(y[j]) > 0) || (PetscRealPart(x[j]) < 0 && PetscRealPart(y[j]) < 0) ? x[j] : 0;
    out[j] = active[j] != 0. ? r : 0;
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}
PetscErrorCode AIJTCUBlockToHost(AIJTCUBlockCtx c, PetscInt n, const PetscScalar *s, PetscScalar *h) { PetscFunctionBegin; PetscCall(PetscArraycpy(h, s, n * c->N)); PetscFunctionReturn(PETSC_SUCCESS); }
PetscErrorCode AIJTCUBlockToScalars(AIJTCUBlockCtx c, PetscInt n, const PetscScalar *h, PetscScalar *s) { PetscFunctionBegin; PetscCall(PetscArraycpy(s, h, n * c->N)); PetscFunctionReturn(PETSC_SUCCESS); }
#endif
