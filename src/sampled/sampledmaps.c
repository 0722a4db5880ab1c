/*
   Maps of the rows of sparse matrices, in place: softmax and leaky ReLU, and their gradients. A row of a parallel
   matrix is in two blocks, and both are mapped together.

   A matrix on a device is mapped there, and its values stay there.
*/
#include "sampledimpl.h"
#include <math.h>
#include <sample/sample.h>

/*
   A map, with the blocks of what it changes and of what it reads. There may be one block, and nothing to read. Where a
   user's function is set, it is the map
*/
typedef struct {
  SampledMap   map;
  PetscReal    slope;
  Mat          out[2], in[2];
  MatSampledFn fn;
  void        *ctx;
} AIJTCUMap;

/* Rows of a matrix as arrays of the host */
typedef struct {
  const PetscInt    *rowptr[2], *colidx[2];
  PetscScalar       *out[2];
  const PetscScalar *in[2];
} AIJTCUMapArrays;

static void AIJTCUMapRow(const AIJTCUMap *m, const AIJTCUMapArrays *a, PetscInt row)
{
  PetscReal   most = -(PetscReal)INFINITY; /* PETSC_NINFINITY is a number */
  PetscScalar sum  = 0;

  for (int b = 0; b < 2 && m->out[b]; b++) {
    for (PetscInt e = a->rowptr[b][row]; e < a->rowptr[b][row + 1]; e++) {
      if (m->map == SAMPLED_SOFTMAX) most = PetscMax(most, PetscRealPart(a->out[b][e]));
      if (m->map == SAMPLED_SOFTMAX_GRADIENT) sum += a->in[b][e] * a->out[b][e];
    }
  }
  for (int b = 0; b < 2 && m->out[b]; b++) {
    for (PetscInt e = a->rowptr[b][row]; e < a->rowptr[b][row + 1]; e++) {
      PetscScalar *c = &a->out[b][e];

      switch (m->map) {
      case SAMPLED_SOFTMAX:
        sum += *c = PetscExpScalar(*c - most);
        break;
      case SAMPLED_SOFTMAX_GRADIENT:
        *c = a->in[b][e] * (*c - sum);
        break;
      case SAMPLED_LEAKY_RELU:
        if (!(PetscRealPart(*c) > 0)) *c *= m->slope;
        break;
      case SAMPLED_LEAKY_RELU_GRADIENT:
        if (!(PetscRealPart(a->in[b][e]) > 0)) *c *= m->slope;
        break;
      }
    }
  }
  if (m->map != SAMPLED_SOFTMAX) return;
  for (int b = 0; b < 2 && m->out[b]; b++) {
    for (PetscInt e = a->rowptr[b][row]; e < a->rowptr[b][row + 1]; e++) a->out[b][e] /= sum;
  }
}

/* Call the user's function. Its rows are those of arrays that are where mem says */
static PetscErrorCode AIJTCUMapByUser(const AIJTCUMap *m, const PetscInt *const rowptr[2], PetscScalar *const values[2], PetscMemType mem, void *stream)
{
  MatSampledRows rows = {.nrows = m->out[0]->rmap->n, .mem = mem, .stream = stream};

  PetscFunctionBegin;
  for (PetscInt b = 0; b < 2 && m->out[b]; b++) {
    MatInfo info;

    PetscCall(MatGetInfo(m->out[b], MAT_LOCAL, &info));
    rows.blocks     = b + 1;
    rows.entries[b] = (PetscInt)info.nz_used;
    rows.rowptr[b]  = rowptr[b];
    rows.values[b]  = values[b];
  }
  PetscCallBack("MatSampledApply() function", m->fn(&rows, m->ctx));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode AIJTCUMapOnHost(const AIJTCUMap *m)
{
  AIJTCUMapArrays a    = {{NULL}, {NULL}, {NULL}, {NULL}};
  PetscErrorCode  ierr = PETSC_SUCCESS;

  PetscFunctionBegin;
  for (int b = 0; b < 2 && m->out[b]; b++) {
    PetscCall(AIJTCUHostGetCSR(m->out[b], &a.rowptr[b], &a.colidx[b]));
    PetscCall(MatSeqAIJGetArray(m->out[b], &a.out[b]));
    if (m->in[b]) PetscCall(MatSeqAIJGetArrayRead(m->in[b], &a.in[b]));
  }
  if (m->fn) ierr = AIJTCUMapByUser(m, a.rowptr, a.out, PETSC_MEMTYPE_HOST, NULL);
  else {
    for (PetscInt i = 0; i < m->out[0]->rmap->n; i++) AIJTCUMapRow(m, &a, i);
  }
  for (int b = 0; b < 2 && m->out[b]; b++) {
    if (m->in[b]) PetscCall(MatSeqAIJRestoreArrayRead(m->in[b], &a.in[b]));
    PetscCall(MatSeqAIJRestoreArray(m->out[b], &a.out[b]));
    PetscCall(AIJTCUHostRestoreCSR(m->out[b], &a.rowptr[b], &a.colidx[b]));
  }
  PetscCall(ierr);
  PetscFunctionReturn(PETSC_SUCCESS);
}

#if AIJTCU_HAVE_DEVICE_REAL
static PetscErrorCode AIJTCUMapOnStream(const AIJTCUMap *m, const SampledRows *rows, PetscInt nz, struct CUstream_st *stream, HrpbError *err)
{
  PetscFunctionBegin;
  if (m->fn) PetscCall(AIJTCUMapByUser(m, (const PetscInt *const *)rows->rowptr, rows->out, PETSC_MEMTYPE_CUDA, stream));
  else *err = SampledMapDevice(m->map, rows, nz, (HrpbScalar)m->slope, stream);
  PetscCall(AIJTCUCheckRefused(*err)); /* it is one launch: refused, it has changed nothing */
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode AIJTCUMapLaunch(const AIJTCUMap *m, const SampledRows *rows, PetscInt nz, HrpbError *err)
{
  struct CUstream_st *stream = NULL;

  PetscFunctionBegin;
  *err = HRPB_SUCCESS;
  AIJTCUCallOnStream(stream, AIJTCUMapOnStream(m, rows, nz, stream, err));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* done says whether there was a kernel */
static PetscErrorCode AIJTCUMapOnDevice(const AIJTCUMap *m, PetscBool *done)
{
  SampledRows            rows = {.nrows = m->out[0]->rmap->n};
  const AIJTCUDeviceInt *i[2], *j[2];
  PetscInt               all = 0;
  HrpbError              err;
  PetscErrorCode         ierr;

  PetscFunctionBegin;
  for (int b = 0; b < 2 && m->out[b]; b++) {
    MatInfo info;

    PetscCall(MatGetInfo(m->out[b], MAT_LOCAL, &info));
    if (!info.nz_used) continue; /* PETSc may have nothing on the device */
    all += (PetscInt)info.nz_used;
    AIJTCUCallParent(m->out[b], MatSeqAIJCUSPARSEGetIJ(m->out[b], PETSC_FALSE, &i[b], &j[b]));
    AIJTCUCallParent(m->out[b], MatSeqAIJCUSPARSEGetArray(m->out[b], &rows.out[b]));
    if (m->in[b]) AIJTCUCallParent(m->in[b], MatSeqAIJCUSPARSEGetArrayRead(m->in[b], &rows.in[b]));
    rows.rowptr[b] = (const HrpbInt *)i[b];
  }
  ierr = AIJTCUMapLaunch(m, &rows, all, &err);
  for (int b = 0; b < 2 && m->out[b]; b++) {
    if (!rows.rowptr[b]) continue;
    if (m->in[b]) AIJTCUCallParent(m->in[b], MatSeqAIJCUSPARSERestoreArrayRead(m->in[b], &rows.in[b]));
    AIJTCUCallParent(m->out[b], MatSeqAIJCUSPARSERestoreArray(m->out[b], &rows.out[b]));
    AIJTCUCallParent(m->out[b], MatSeqAIJCUSPARSERestoreIJ(m->out[b], PETSC_FALSE, &i[b], &j[b]));
  }
  PetscCall(ierr);
  *done = (PetscBool)!err;
  if (err) PetscCall(PetscInfo(m->out[0], "aijtcu: no map of rows on the device, one on the host instead: %s\n", HrpbErrorString(err)));
  PetscFunctionReturn(PETSC_SUCCESS);
}
#endif

/* out becomes what m makes of it and, unless that is NULL, of in */
static PetscErrorCode AIJTCUMapMatrix(AIJTCUMap m, Mat in, Mat out)
{
  PetscBool       device = PETSC_FALSE, aij;
  const PetscInt *garray;

  PetscFunctionBegin;
  PetscCall(PetscObjectBaseTypeCompareAny((PetscObject)out, &aij, MATSEQAIJ, MATMPIAIJ, ""));
  PetscCheck(aij, PetscObjectComm((PetscObject)out), PETSC_ERR_SUP, "The matrix must be of type aij, aijcusparse or aijtcu, not %s", ((PetscObject)out)->type_name);
  PetscCheck(m.fn || !PetscDefined(USE_COMPLEX), PetscObjectComm((PetscObject)out), PETSC_ERR_SUP, "Complex numbers have no order");
  PetscCheck(out->assembled, PetscObjectComm((PetscObject)out), PETSC_ERR_ARG_WRONGSTATE, "The matrix must be assembled");
  if (in) PetscCall(AIJTCUSampledCheckSame(in, out));
  PetscCall(AIJTCULocalBlocks(out, m.out, &garray));
  if (in) PetscCall(AIJTCULocalBlocks(in, m.in, &garray));
#if AIJTCU_HAVE_DEVICE_REAL
  PetscCall(AIJTCUSampledIsOnDevice(out, &device));
  if (device && in) PetscCall(AIJTCUSampledIsOnDevice(in, &device)); /* one of both may be bound to the host */
  if (device && !m.fn) PetscCall(AIJTCUDeviceRuns(&device)); /* a function of the user's has kernels of its own */
  if (device) PetscCall(AIJTCUMapOnDevice(&m, &device));
#endif
  if (!device) PetscCall(AIJTCUMapOnHost(&m));
  PetscCall(AIJTCUSampledForget(out));
  if (in) PetscCall(AIJTCUSampledRemember(in, out));
  if (m.out[1]) PetscCall(PetscObjectStateIncrease((PetscObject)out));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode AIJTCUMapRows(SampledMap map, PetscReal slope, Mat in, Mat out)
{
  const AIJTCUMap m = {.map = map, .slope = slope};

  PetscFunctionBegin;
  PetscCall(AIJTCUMapMatrix(m, in, out));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*@C
  MatSampledApply - Calls a function that changes the values of a sparse matrix where they are, on the host or a device

  Logically Collective

  Input Parameters:
+ C   - the matrix, of type `MATAIJ`, `MATAIJCUSPARSE` or `MATAIJTCU`
. fn  - the function: it gets the local rows of `C`, a `MatSampledRows`, and ctx
- ctx - whatever `fn` wants, or `NULL`

  Level: advanced

  Note:
  The values of a matrix on a device do not leave it: `fn` launches kernels of its own on the stream that it is given,
  and needs not wait for them. It may be called with no rows.

.seealso: `MATAIJTCU`, `MatSampledRows`, `MatSampledSoftmax()`, `MatSampledLeakyReLU()`, `MatSampledMatTransposeMult()`
@*/
PetscErrorCode MatSampledApply(Mat C, MatSampledFn fn, void *ctx)
{
  const AIJTCUMap m = {.fn = fn, .ctx = ctx};

  PetscFunctionBegin;
  PetscValidHeaderSpecific(C, MAT_CLASSID, 1);
  PetscCheck(fn, PetscObjectComm((PetscObject)C), PETSC_ERR_ARG_NULL, "There must be a function");
  PetscCall(AIJTCUMapMatrix(m, NULL, C));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*@
  MatSampledSoftmax - Replaces the nonzeros of each row of a sparse matrix by their softmax

  Collective

  Input Parameter:
. C - the matrix, of type `MATAIJ`, `MATAIJCUSPARSE` or `MATAIJTCU`

  Level: intermediate

  Notes:
  An entry c becomes exp(c - m)/s. m is the largest entry of its row, and s makes the row add up to one. Stored zeros
  are entries. Rows without entries stay empty. A row with NaN or positive Inf becomes NaN, and so does a row that has
  nothing but negative Inf.

  A matrix on a device is mapped there. The result has the same bits on every run.

.seealso: `MATAIJTCU`, `MatSampledSoftmaxGradient()`, `MatSampledLeakyReLU()`, `MatSampledMatTransposeMult()`
@*/
PetscErrorCode MatSampledSoftmax(Mat C)
{
  PetscFunctionBegin;
  PetscValidHeaderSpecific(C, MAT_CLASSID, 1);
  PetscCall(AIJTCUMapRows(SAMPLED_SOFTMAX, 0, NULL, C));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*@
  MatSampledSoftmaxGradient - The gradient of `MatSampledSoftmax()`

  Collective

  Input Parameters:
+ P - what `MatSampledSoftmax()` has made
- D - the gradient with respect to the entries of `P`, with type and nonzero pattern of `P`; becomes the gradient with
      respect to the entries that `P` was made of

  Level: intermediate

.seealso: `MATAIJTCU`, `MatSampledSoftmax()`, `MatSampledLeakyReLUGradient()`
@*/
PetscErrorCode MatSampledSoftmaxGradient(Mat P, Mat D)
{
  PetscFunctionBegin;
  PetscValidHeaderSpecific(P, MAT_CLASSID, 1);
  PetscValidHeaderSpecific(D, MAT_CLASSID, 2);
  PetscCall(AIJTCUMapRows(SAMPLED_SOFTMAX_GRADIENT, 0, P, D));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*@
  MatSampledLeakyReLU - Multiplies the nonzeros of a sparse matrix that are not positive by a number

  Logically Collective

  Input Parameters:
+ C     - the matrix, of type `MATAIJ`, `MATAIJCUSPARSE` or `MATAIJTCU`
- slope - the number

  Level: intermediate

.seealso: `MATAIJTCU`, `MatSampledLeakyReLUGradient()`, `MatSampledSoftmax()`, `MatSampledMatTransposeMult()`
@*/
PetscErrorCode MatSampledLeakyReLU(Mat C, PetscReal slope)
{
  PetscFunctionBegin;
  PetscValidHeaderSpecific(C, MAT_CLASSID, 1);
  PetscValidLogicalCollectiveReal(C, slope, 2);
  PetscCall(AIJTCUMapRows(SAMPLED_LEAKY_RELU, slope, NULL, C));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*@
  MatSampledLeakyReLUGradient - The gradient of `MatSampledLeakyReLU()`

  Collective

  Input Parameters:
+ C     - the matrix before or, with a positive `slope`, after `MatSampledLeakyReLU()`
. slope - the number that entries that are not positive are multiplied by
- D     - the gradient with respect to the result, with type and nonzero pattern of `C`; becomes the gradient with
          respect to the entries before

  Level: intermediate

.seealso: `MATAIJTCU`, `MatSampledLeakyReLU()`, `MatSampledSoftmaxGradient()`
@*/
PetscErrorCode MatSampledLeakyReLUGradient(Mat C, PetscReal slope, Mat D)
{
  PetscFunctionBegin;
  PetscValidHeaderSpecific(C, MAT_CLASSID, 1);
  PetscValidLogicalCollectiveReal(C, slope, 2);
  PetscValidHeaderSpecific(D, MAT_CLASSID, 3);
  PetscCall(AIJTCUMapRows(SAMPLED_LEAKY_RELU_GRADIENT, slope, C, D));
  PetscFunctionReturn(PETSC_SUCCESS);
}
