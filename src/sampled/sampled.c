/*
   Sampled products: C = S .* (X Y^T), or X Y^T alone, at the entries of a sparse S.

   Where S is on a device with kernels for these scalars, sampleddevice.c makes the product. All else is made here, on
   the host. This wants no plan: any type of the aij family can go this way, and PETSc brings values from a device and
   back.
*/
#include "sampledimpl.h"

/*
   y has the rows of Y that the columns of S name, one behind the other. The sums go over the columns in their order.
   row is room for a row of X
*/
static PetscErrorCode AIJTCUSampledBlockInto(Mat S, Mat X, PetscInt k, const PetscScalar *y, PetscBool scale, PetscScalar *row, Mat C)
{
  const PetscInt    *rowptr, *colidx;
  const PetscScalar *s = NULL, *x;
  PetscScalar       *c;
  PetscInt           ld;

  PetscFunctionBegin;
  PetscCall(MatDenseGetLDA(X, &ld));
  PetscCall(MatDenseGetArrayRead(X, &x));
  PetscCall(AIJTCUHostGetCSR(S, &rowptr, &colidx));
  if (scale) PetscCall(MatSeqAIJGetArrayRead(S, &s));
  PetscCall(MatSeqAIJGetArrayWrite(C, &c));
  for (PetscInt i = 0; i < S->rmap->n; i++) {
    if (rowptr[i] == rowptr[i + 1]) continue;
    for (PetscInt l = 0; l < k; l++) row[l] = x[i + (size_t)l * ld];
    for (PetscInt e = rowptr[i]; e < rowptr[i + 1]; e++) {
      const PetscScalar *other = y + (size_t)colidx[e] * k;
      PetscScalar        sum   = 0;

      for (PetscInt l = 0; l < k; l++) sum += row[l] * other[l];
      c[e] = s ? s[e] * sum : sum;
    }
  }
  PetscCall(MatSeqAIJRestoreArrayWrite(C, &c));
  if (scale) PetscCall(MatSeqAIJRestoreArrayRead(S, &s));
  PetscCall(AIJTCUHostRestoreCSR(S, &rowptr, &colidx));
  PetscCall(MatDenseRestoreArrayRead(X, &x));
  PetscCall(PetscObjectStateIncrease((PetscObject)C));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode AIJTCUSampledBlockHost(Mat S, Mat X, PetscInt k, const PetscScalar *y, PetscBool scale, Mat C)
{
  PetscScalar   *row;
  PetscErrorCode ierr;

  PetscFunctionBegin;
  PetscCall(PetscMalloc1(k, &row));
  ierr = AIJTCUSampledBlockInto(S, X, k, y, scale, row, C);
  PetscCall(PetscFree(row));
  PetscCall(ierr);
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* The diagonal block, while the rows of Y that others own come */
static PetscErrorCode AIJTCUSampledWithRows(Mat S, Mat block, const PetscInt garray[], PetscInt nghosts, Mat X, PetscInt k, const PetscScalar *y, PetscScalar *ghosts, PetscBool scale, Mat C)
{
  PetscSF        sf;
  MPI_Datatype   unit;
  PetscErrorCode ierr, ended;

  PetscFunctionBegin;
  PetscCall(AIJTCUSampledRowsBegin(S, nghosts, garray, k, PETSC_MEMTYPE_HOST, y, ghosts, &sf, &unit));
  ierr  = AIJTCUSampledBlockHost(block, X, k, y, scale, C);
  ended = AIJTCUSampledRowsEnd(y, ghosts, &sf, &unit);
  PetscCall(ierr);
  PetscCall(ended);
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* y is room for the local rows of Y. ghosts gets memory if there are rows that others own, and the caller frees it */
static PetscErrorCode AIJTCUSampledOnHostInto(Mat S, Mat X, Mat Y, PetscBool scale, PetscScalar *y, PetscScalar **ghosts, Mat C)
{
  const PetscInt     k = X->cmap->N, n = Y->rmap->n;
  Mat                s[2], c[2];
  const PetscInt    *garray;
  const PetscScalar *array;
  PetscInt           ld;

  PetscFunctionBegin;
  PetscCall(MatDenseGetLDA(Y, &ld));
  PetscCall(MatDenseGetArrayRead(Y, &array));
  for (PetscInt l = 0; l < k; l++) {
    for (PetscInt j = 0; j < n; j++) y[(size_t)j * k + l] = array[j + (size_t)l * ld];
  }
  PetscCall(MatDenseRestoreArrayRead(Y, &array));
  PetscCall(AIJTCULocalBlocks(C, c, &garray));
  PetscCall(AIJTCULocalBlocks(S, s, &garray));
  if (s[1] && k) {
    PetscCall(PetscMalloc1((size_t)s[1]->cmap->n * k, ghosts));
    PetscCall(AIJTCUSampledWithRows(S, s[0], garray, s[1]->cmap->n, X, k, y, *ghosts, scale, c[0]));
  } else PetscCall(AIJTCUSampledBlockHost(s[0], X, k, y, scale, c[0]));
  if (s[1]) {
    PetscCall(AIJTCUSampledBlockHost(s[1], X, k, *ghosts, scale, c[1]));
    PetscCall(PetscObjectStateIncrease((PetscObject)C));
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode AIJTCUSampledOnHost(Mat S, Mat X, Mat Y, PetscBool scale, Mat C)
{
  PetscScalar   *y, *ghosts = NULL;
  PetscErrorCode ierr;

  PetscFunctionBegin;
  PetscCall(PetscMalloc1((size_t)Y->rmap->n * X->cmap->N, &y));
  ierr = AIJTCUSampledOnHostInto(S, X, Y, scale, y, &ghosts, C);
  PetscCall(PetscFree(ghosts));
  PetscCall(PetscFree(y));
  PetscCall(ierr);
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Whether a sparse S and dense X and Y fit. It is an error on all processes if they do not on one */
PetscErrorCode AIJTCUSampledCheckOperands(Mat S, Mat X, Mat Y)
{
  PetscBool aij, dense[2], fits;
  MPI_Comm  comm;

  PetscFunctionBegin;
  PetscCall(PetscObjectGetComm((PetscObject)S, &comm));
  PetscCall(PetscObjectBaseTypeCompareAny((PetscObject)S, &aij, MATSEQAIJ, MATMPIAIJ, ""));
  PetscCall(PetscObjectBaseTypeCompareAny((PetscObject)X, &dense[0], MATSEQDENSE, MATMPIDENSE, ""));
  PetscCall(PetscObjectBaseTypeCompareAny((PetscObject)Y, &dense[1], MATSEQDENSE, MATMPIDENSE, ""));
  PetscCheck(aij, comm, PETSC_ERR_SUP, "S must be of type aij, aijcusparse or aijtcu, not %s", ((PetscObject)S)->type_name);
  PetscCheck(dense[0] && dense[1], comm, PETSC_ERR_SUP, "X and Y must be dense, not %s and %s", ((PetscObject)X)->type_name, ((PetscObject)Y)->type_name);
  PetscCheck(S->assembled && X->assembled && Y->assembled, comm, PETSC_ERR_ARG_WRONGSTATE, "S, X and Y must be assembled");
  PetscCheck(X->cmap->N == Y->cmap->N, comm, PETSC_ERR_ARG_SIZ, "X and Y must have as many columns, not %" PetscInt_FMT " and %" PetscInt_FMT, X->cmap->N, Y->cmap->N);
  PetscCheck(X->rmap->N == S->rmap->N, comm, PETSC_ERR_ARG_SIZ, "X must have as many rows as S, %" PetscInt_FMT ", not %" PetscInt_FMT, S->rmap->N, X->rmap->N);
  PetscCheck(Y->rmap->N == S->cmap->N, comm, PETSC_ERR_ARG_SIZ, "Y must have as many rows as S has columns, %" PetscInt_FMT ", not %" PetscInt_FMT, S->cmap->N, Y->rmap->N);
  PetscCall(PetscLayoutCompare(X->rmap, S->rmap, &fits)); /* all processes know the whole layout, so they agree */
  if (fits) PetscCall(PetscLayoutCompare(Y->rmap, S->cmap, &fits));
  PetscCheck(fits, comm, PETSC_ERR_ARG_SIZ, "On each process X must have as many rows as S, and Y as many as the vectors that S multiplies");
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*@
  MatSampledMatTransposeMult - Computes X Y^T at the nonzeros of a sparse matrix S

  Collective

  Input Parameters:
+ S     - the sparse matrix, of type `MATAIJ`, `MATAIJCUSPARSE` or `MATAIJTCU`
. X     - a dense matrix with the row layout of `S`
. Y     - a dense matrix with as many columns as `X`, and the column layout of `S` as its row layout
. scale - `PETSC_TRUE` for c_ij = s_ij <x_i, y_j>, `PETSC_FALSE` for <x_i, y_j> alone
- reuse - MAT_INITIAL_MATRIX to make C, MAT_REUSE_MATRIX to replace the values of one from before

  Output Parameter:
. C - the sampled product, with type, layout and nonzero pattern of `S`

  Level: intermediate

  Notes:
  When `C` is reused, it must have the type and pattern of `S`, and must not be `S`. Its values are replaced.

  Rows i of X and j of Y are x_i and y_j. Complex numbers are not conjugated.

  The product is made where `S` is. Operands that are elsewhere are copied. The result has the same bits on every run.
  On the host, each sum goes over the columns of `X` and `Y` in their order, whatever the number of processes. On a
  device, the order depends on the kernel, which is chosen for `S`: tensor cores for a `MATAIJTCU` where bricks are
  faster. NaN and Inf are those of the host. In single precision `MatAIJTCUSetPrecision()` holds for tensor cores, as in
  products.

.seealso: `MATAIJTCU`, `MatMatTransposeMult()`
@*/
PetscErrorCode MatSampledMatTransposeMult(Mat S, Mat X, Mat Y, PetscBool scale, MatReuse reuse, Mat *C)
{
  PetscBool done = PETSC_FALSE;

  PetscFunctionBegin;
  PetscValidHeaderSpecific(S, MAT_CLASSID, 1);
  PetscValidHeaderSpecific(X, MAT_CLASSID, 2);
  PetscValidHeaderSpecific(Y, MAT_CLASSID, 3);
  PetscAssertPointer(C, 6);
  PetscCheckSameComm(S, 1, X, 2);
  PetscCheckSameComm(S, 1, Y, 3);
  PetscCheck(reuse == MAT_INITIAL_MATRIX || reuse == MAT_REUSE_MATRIX, PetscObjectComm((PetscObject)S), PETSC_ERR_ARG_OUTOFRANGE, "MatReuse must be MAT_INITIAL_MATRIX or MAT_REUSE_MATRIX");
  PetscCall(AIJTCUSampledCheckOperands(S, X, Y));
  if (reuse == MAT_REUSE_MATRIX) {
    PetscValidHeaderSpecific(*C, MAT_CLASSID, 6);
    PetscCall(AIJTCUSampledCheckSame(S, *C));
  } else PetscCall(MatDuplicate(S, MAT_DO_NOT_COPY_VALUES, C));

  PetscCall(PetscLogEventBegin(MAT_AIJTCU_Sampled, S, X, Y, *C));
#if AIJTCU_HAVE_DEVICE_REAL
  PetscCall(AIJTCUSampledOnDevice(S, X, Y, scale, *C, &done));
#else
  if (AIJTCU_HAVE_DEVICE) PetscCall(PetscInfo(S, "aijtcu: a sampled product is made on the host: our kernels have real scalars\n"));
#endif
  if (!done) PetscCall(AIJTCUSampledOnHost(S, X, Y, scale, *C));
  PetscCall(PetscLogEventEnd(MAT_AIJTCU_Sampled, S, X, Y, *C));
  PetscCall(AIJTCUSampledForget(*C));
  PetscCall(AIJTCUSampledRemember(S, *C));
  PetscFunctionReturn(PETSC_SUCCESS);
}
