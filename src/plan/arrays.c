/*
   The arrays of a matrix as kernels see it, on the host and on a device: with real scalars.

   A real matrix is taken as it is. A complex one becomes a real one of twice the rows and columns (kernels/real).
   Everything behind this file, facts, choice and what is built, is of that real matrix.

   On a device the real matrix has 4 (scalar + index) bytes for each entry, 48 in double precision. Bricks have what
   they need in themselves: 16 bytes of values for each complex entry, where they store its two numbers once. So the
   real matrix is there while something is made of it, and stays only while CSR kernels read it. On the host it is made
   for each use.

   On a device the arrays are those that PETSc has there. They are lent to a function for the time of its call.
*/
#include "planimpl.h"
#include "../upstream/upstream.h"
#include <real/real.h>
#if AIJTCU_HAVE_DEVICE
  #include <petscdevice_cuda.h>
#endif

#if AIJTCU_HAVE_BRICKS
static PetscErrorCode AIJTCUHostExpand(Mat A, PetscBool values, AIJTCUHostCSR *csr, HrpbError *err)
{
  const PetscInt    *rowptr, *colidx;
  const PetscScalar *v;
  PetscInt           nnz;

  PetscFunctionBegin;
  PetscCall(AIJTCUHostGetCSR(A, &rowptr, &colidx));
  nnz  = A->rmap->n ? rowptr[A->rmap->n] - rowptr[0] : 0;
  *err = ComplexFits(A->rmap->n, A->cmap->n, nnz);
  if (!*err) {
    csr->own_rowptr = (HrpbInt *)malloc(sizeof(HrpbInt) * (2 * (size_t)A->rmap->n + 1));
    csr->own_colidx = (HrpbInt *)malloc(sizeof(HrpbInt) * PetscMax(COMPLEX_ENTRIES * (size_t)nnz, 1));
    if (values) csr->own_values = (HrpbScalar *)malloc(sizeof(HrpbScalar) * PetscMax(COMPLEX_ENTRIES * (size_t)nnz, 1));
    if (!csr->own_rowptr || !csr->own_colidx || (values && !csr->own_values)) *err = HRPB_ERR_MEMORY;
  }
  if (!*err) ComplexPatternHost(A->rmap->n, rowptr, colidx, csr->own_rowptr, csr->own_colidx);
  if (!*err && values) {
    PetscCall(MatSeqAIJGetArrayRead(A, &v));
    ComplexValuesHost(A->rmap->n, rowptr, (const HrpbScalar *)v, csr->own_values);
    PetscCall(MatSeqAIJRestoreArrayRead(A, &v));
  }
  PetscCall(AIJTCUHostRestoreCSR(A, &rowptr, &colidx));
  csr->rowptr = csr->own_rowptr;
  csr->colidx = csr->own_colidx;
  csr->values = csr->own_values;
  PetscFunctionReturn(PETSC_SUCCESS);
}

static void AIJTCUHostFree(AIJTCUHostCSR *csr)
{
  free(csr->own_rowptr);
  free(csr->own_colidx);
  free(csr->own_values);
  csr->own_rowptr = csr->own_colidx = NULL;
  csr->own_values                   = NULL;
}

/* The host's arrays of the sequential matrix A. AIJTCUHostCSRRestore() must follow, also where err says why not */
PetscErrorCode AIJTCUHostCSRGet(Mat A, PetscBool values, AIJTCUHostCSR *csr, HrpbError *err)
{
  PetscFunctionBegin;
  *err = HRPB_SUCCESS;
  *csr = (AIJTCUHostCSR){.nrows = AIJTCU_PARTS * (int64_t)A->rmap->n, .ncols = AIJTCU_PARTS * (int64_t)A->cmap->n};
  if (AIJTCU_PARTS > 1) {
    const PetscErrorCode ierr = AIJTCUHostExpand(A, values, csr, err);

    if (ierr) AIJTCUHostFree(csr);
    PetscCall(ierr);
    PetscFunctionReturn(PETSC_SUCCESS);
  }
  PetscCall(AIJTCUHostGetCSR(A, &csr->rowptr, &csr->colidx));
  if (values) PetscCall(MatSeqAIJGetArrayRead(A, (const PetscScalar **)&csr->values));
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode AIJTCUHostCSRRestore(Mat A, AIJTCUHostCSR *csr)
{
  PetscFunctionBegin;
  AIJTCUHostFree(csr);
  if (AIJTCU_PARTS == 1) {
    if (csr->values) PetscCall(MatSeqAIJRestoreArrayRead(A, (const PetscScalar **)&csr->values));
    if (csr->rowptr) PetscCall(AIJTCUHostRestoreCSR(A, &csr->rowptr, &csr->colidx));
  }
  *csr = (AIJTCUHostCSR){0};
  PetscFunctionReturn(PETSC_SUCCESS);
}
#endif

#if AIJTCU_HAVE_DEVICE
enum {
  LARGE = 1 << 22 /* entries: fewer are copied as fast by the parent */
};

/* Bytes of device memory */
PetscInt64 AIJTCURealBytes(const AIJTCUPlan *plan)
{
  const AIJTCUReal *r       = &plan->real;
  const PetscInt64  entries = COMPLEX_ENTRIES * r->nnz;

  return r->rowptr ? (PetscInt64)sizeof(HrpbInt) * (r->nrows + 1 + entries) + (r->values ? (PetscInt64)sizeof(HrpbScalar) * entries : 0) : 0;
}

static void AIJTCURealFree(AIJTCUReal *r, cudaStream_t stream)
{
  void *arrays[] = {r->rowptr, r->colidx, r->values};

  for (size_t i = 0; i < PETSC_STATIC_ARRAY_LENGTH(arrays); i++) {
    if (arrays[i]) (void)AIJTCUForgetError(cudaFreeAsync(arrays[i], stream));
  }
  r->rowptr = r->colidx = NULL;
  r->values             = NULL;
  r->values_state       = 0;
}

static PetscErrorCode AIJTCURealPattern(Mat A, AIJTCUReal *r, const AIJTCUDeviceCSR *csr, HrpbError *err)
{
  MatInfo info;

  PetscFunctionBegin;
  AIJTCUCallParent(A, MatGetInfo(A, MAT_LOCAL, &info));
  r->nnz   = (PetscInt64)info.nz_used;
  r->nrows = csr->nrows;
  *err     = ComplexFits(A->rmap->n, A->cmap->n, r->nnz);
  if (*err) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCall(AIJTCUDeviceMalloc(sizeof(HrpbInt) * (size_t)(csr->nrows + 1), csr->stream, (void **)&r->rowptr));
  PetscCall(AIJTCUDeviceMalloc(sizeof(HrpbInt) * PetscMax(COMPLEX_ENTRIES * (size_t)r->nnz, 1), csr->stream, (void **)&r->colidx));
  if (r->rowptr && r->colidx) AIJTCUCallDevice(*err, ComplexPatternDevice(A->rmap->n, r->nnz, csr->rowptr, csr->colidx, r->rowptr, r->colidx, csr->stream));
  else *err = HRPB_ERR_DEVICE_MEMORY;
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* csr->rowptr and csr->values are those of A. An object's state is never zero */
static PetscErrorCode AIJTCURealValues(Mat A, AIJTCUReal *r, const AIJTCUDeviceCSR *csr, HrpbError *err)
{
  PetscObjectState state;

  PetscFunctionBegin;
  PetscCall(PetscObjectStateGet((PetscObject)A, &state));
  if (r->values && state == r->values_state) PetscFunctionReturn(PETSC_SUCCESS);
  if (!r->values) PetscCall(AIJTCUDeviceMalloc(sizeof(HrpbScalar) * PetscMax(COMPLEX_ENTRIES * (size_t)r->nnz, 1), csr->stream, (void **)&r->values));
  r->values_state = 0;
  if (r->values) AIJTCUCallDevice(*err, ComplexValuesDevice(A->rmap->n, r->nnz, csr->rowptr, csr->values, r->values, csr->stream));
  else *err = HRPB_ERR_DEVICE_MEMORY;
  if (!*err) r->values_state = state;
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Let csr, which has the arrays of A, have those of the real matrix. Refused, nothing of it is there */
static PetscErrorCode AIJTCURealOnStream(Mat A, AIJTCUPlan *plan, AIJTCUNeed need, AIJTCUDeviceCSR *csr, HrpbError *err)
{
  AIJTCUReal *r = &plan->real;

  PetscFunctionBegin;
  *err = HRPB_SUCCESS;
  if (!r->workspace_user) AIJTCUWorkspaceUser(PETSC_TRUE);
  r->workspace_user = PETSC_TRUE;
  if (!r->rowptr || !r->colidx) PetscCall(AIJTCURealPattern(A, r, csr, err));
  if (!*err && need == AIJTCU_CSR_VALUES) PetscCall(AIJTCURealValues(A, r, csr, err));
  if (*err) AIJTCURealFree(r, csr->stream);
  csr->rowptr = r->rowptr;
  csr->colidx = r->colidx;
  csr->values = r->values;
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Nothing is to be made of it now. Where CSR kernels read it, it stays */
void AIJTCURealSpare(AIJTCUPlan *plan)
{
  if (!plan->real.kept) (void)AIJTCURealDestroy(plan);
}

PetscErrorCode AIJTCURealDestroy(AIJTCUPlan *plan)
{
  AIJTCUReal *r = &plan->real;

  PetscFunctionBegin;
  if (r->rowptr || r->colidx || r->values) AIJTCURealFree(r, AIJTCUDeviceStreamBehind());
  if (r->workspace_user) AIJTCUWorkspaceUser(PETSC_FALSE);
  PetscCall(PetscMemzero(r, sizeof(*r)));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* With the arrays of A in csr. A plan has those of the real matrix that a complex A is to kernels */
static PetscErrorCode AIJTCUDeviceCallAsReal(Mat A, AIJTCUPlan *plan, AIJTCUNeed need, AIJTCUDeviceCSR *csr, AIJTCUDeviceFn f, void *ctx, HrpbError *err)
{
  PetscFunctionBegin;
  if (AIJTCU_PARTS > 1 && (need == AIJTCU_CSR_PATTERN || need == AIJTCU_CSR_VALUES)) PetscCall(AIJTCURealOnStream(A, plan, need, csr, err));
  if (!*err) PetscCall((*f)(A, plan, csr, ctx, err));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode AIJTCUDeviceCallOnStream(Mat A, AIJTCUPlan *plan, AIJTCUNeed need, AIJTCUDeviceCSR *csr, AIJTCUDeviceFn f, void *ctx, HrpbError *err)
{
  PetscFunctionBegin;
  AIJTCUCallOnStream(csr->stream, AIJTCUDeviceCallAsReal(A, plan, need, csr, f, ctx, err));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode AIJTCUDeviceCallWithValues(Mat A, AIJTCUPlan *plan, AIJTCUNeed need, AIJTCUDeviceCSR *csr, AIJTCUDeviceFn f, void *ctx, HrpbError *err)
{
  const PetscScalar *values;
  PetscErrorCode     ierr;

  PetscFunctionBegin;
  AIJTCUCallParent(A, MatSeqAIJCUSPARSEGetArrayRead(A, &values));
  csr->values = (const HrpbScalar *)values;
  ierr        = AIJTCUDeviceCallOnStream(A, plan, need, csr, f, ctx, err);
  AIJTCUCallParent(A, MatSeqAIJCUSPARSERestoreArrayRead(A, &values));
  PetscCall(ierr);
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*
   Values on their way to the device are new to bricks and transposes: MatSeqAIJRestoreArrayWrite() does not increase
   the state. An object's state is never zero
*/
void AIJTCUDeviceForgetValues(Mat A, AIJTCUPlan *plan)
{
  if (A->offloadmask == PETSC_OFFLOAD_CPU) plan->real.values_state = plan->bricks.values_state = plan->transpose.values_state = plan->transposed.values_state = 0;
}

/* Have the pattern on the device, where A gets a matrix of its own then */
PetscErrorCode AIJTCUPatternToDevice(Mat A)
{
  const AIJTCUDeviceInt *i, *j;

  PetscFunctionBegin;
  AIJTCUCallParent(A, MatSeqAIJCUSPARSEGetIJ(A, PETSC_FALSE, &i, &j));
  AIJTCUCallParent(A, MatSeqAIJCUSPARSERestoreIJ(A, PETSC_FALSE, &i, &j));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*
   Have the pattern on the device, and no values that the host may have, unless A had values there. Where the pattern
   first comes there the parent copies it. A large one, which is in large pages, is pinned
*/
PetscErrorCode AIJTCUPatternAlone(Mat A)
{
  const PetscInt *rowptr = NULL, *colidx = NULL;
  PetscBool       first, pinned = PETSC_FALSE;
  PetscErrorCode  ierr;

  PetscFunctionBegin;
  PetscCall(AIJTCUNeverOnDevice(A, &first));
  if (first) {
    PetscCall(AIJTCUHostGetCSR(A, &rowptr, &colidx));
    pinned = AIJTCUPin(colidx, A->rmap->n ? sizeof(*colidx) * (size_t)rowptr[A->rmap->n] : 0);
  }
  ierr = AIJTCUCallWithoutValues(A, AIJTCUPatternToDevice);
  if (pinned) AIJTCUUnpin(colidx);
  if (first) PetscCall(AIJTCUHostRestoreCSR(A, &rowptr, &colidx));
  PetscCall(ierr);
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode AIJTCUDeviceTake(PetscScalar *to, const PetscScalar *from, size_t n)
{
  struct CUstream_st *stream = NULL;

  PetscFunctionBegin;
  AIJTCUCallOnStream(stream, AIJTCUHostCopy(to, from, n * sizeof(*to), PETSC_TRUE, stream));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*
   Bring a large matrix to the device for the first time: the pattern as the parent does, values by AIJTCUHostCopy().
   What this leaves to the parent comes with whatever asks for it. No value changes, and so the state stays
*/
PetscErrorCode AIJTCUDeviceFetch(Mat A)
{
  const PetscScalar *from;
  PetscScalar       *to;
  PetscObjectState   state;
  MatInfo            info;
  PetscBool          first;
  PetscErrorCode     ierr;

  PetscFunctionBegin;
  if (A->offloadmask != PETSC_OFFLOAD_CPU || A->structure_only) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCall(MatGetInfo(A, MAT_LOCAL, &info));
  PetscCall(AIJTCUNeverOnDevice(A, &first));
  if (!first || info.nz_used < LARGE) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCall(PetscObjectStateGet((PetscObject)A, &state));
  PetscCall(MatSeqAIJGetArrayRead(A, &from));
  A->offloadmask = PETSC_OFFLOAD_UNALLOCATED; /* what the host has is not looked at */
  ierr           = AIJTCUCallWithoutValues(A, AIJTCUPatternToDevice);
  A->offloadmask = PETSC_OFFLOAD_CPU;
  PetscCall(ierr);
  AIJTCUCallParent(A, MatSeqAIJCUSPARSEGetArrayWrite(A, &to));
  ierr = AIJTCUDeviceTake(to, from, (size_t)info.nz_used);
  AIJTCUCallParent(A, MatSeqAIJCUSPARSERestoreArrayWrite(A, &to));
  A->offloadmask = ierr ? PETSC_OFFLOAD_CPU : PETSC_OFFLOAD_BOTH;
  PetscCall(PetscObjectStateSet((PetscObject)A, state));
  PetscCall(ierr);
  PetscCall(MatSeqAIJRestoreArrayRead(A, &from));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*
   Work on the device for A, which may have no plan. What it needs is taken before it, and given back after it, also
   after an error
*/
PetscErrorCode AIJTCUDeviceCall(Mat A, AIJTCUPlan *plan, AIJTCUNeed need, AIJTCUDeviceFn f, void *ctx, HrpbError *err)
{
  AIJTCUDeviceCSR        csr = {.nrows = AIJTCU_PARTS * (int64_t)A->rmap->n, .ncols = AIJTCU_PARTS * (int64_t)A->cmap->n};
  const AIJTCUDeviceInt *i, *j;
  PetscErrorCode         ierr;

  PetscFunctionBegin;
  *err = HRPB_SUCCESS;
  if (plan) AIJTCUDeviceForgetValues(A, plan);
  if (need == AIJTCU_CSR_NOTHING) {
    PetscCall(AIJTCUDeviceCallOnStream(A, plan, need, &csr, f, ctx, err));
    PetscFunctionReturn(PETSC_SUCCESS);
  }
  PetscCall(AIJTCUDeviceFetch(A));
  AIJTCUCallParent(A, MatSeqAIJCUSPARSEGetIJ(A, PETSC_FALSE, &i, &j));
  csr.rowptr = (const HrpbInt *)i;
  csr.colidx = (const HrpbInt *)j;
  if (need == AIJTCU_CSR_ITSELF) {
    csr.nrows = A->rmap->n;
    csr.ncols = A->cmap->n;
  }
  if (need == AIJTCU_CSR_VALUES || need == AIJTCU_CSR_ITSELF) ierr = AIJTCUDeviceCallWithValues(A, plan, need, &csr, f, ctx, err);
  else ierr = AIJTCUDeviceCallOnStream(A, plan, need, &csr, f, ctx, err);
  AIJTCUCallParent(A, MatSeqAIJCUSPARSERestoreIJ(A, PETSC_FALSE, &i, &j));
  PetscCall(ierr);
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Add the arrays of the matrix to an order that needs them */
void AIJTCUOrderTakeCSR(AIJTCUWorkOrder *order, const AIJTCUDeviceCSR *csr)
{
  if (order->need == AIJTCU_CSR_NOTHING) return;
  order->A.rowptr = csr->rowptr;
  order->A.colidx = csr->colidx;
  order->A.values = csr->values;
}

static PetscErrorCode AIJTCUOrderRunOnStream(Mat A, AIJTCUPlan *plan, const AIJTCUDeviceCSR *csr, void *ctx, HrpbError *err)
{
  AIJTCUWorkOrder *order = (AIJTCUWorkOrder *)ctx;

  PetscFunctionBegin;
  (void)A;
  AIJTCUOrderTakeCSR(order, csr);
  PetscCall(AIJTCULaunchWithWork(plan ? &plan->launches : NULL, order, csr->stream, err));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Run an order whose operands have their arrays on the device. A may have no plan */
PetscErrorCode AIJTCUOrderRun(Mat A, AIJTCUPlan *plan, AIJTCUWorkOrder *order, HrpbError *err)
{
  PetscFunctionBegin;
  PetscCall(AIJTCUDeviceCall(A, plan, order->need, AIJTCUOrderRunOnStream, order, err));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*
   AIJTCUDeviceCall() for work that needs memory. If memory is short, the pools give back what they can, and it is
   called again.
*/
PetscErrorCode AIJTCUDeviceCallForMemory(Mat A, AIJTCUPlan *plan, AIJTCUNeed need, AIJTCUDeviceFn f, void *ctx, HrpbError *err)
{
  PetscFunctionBegin;
  PetscCall(AIJTCUDeviceCall(A, plan, need, f, ctx, err));
  if (*err == HRPB_ERR_DEVICE_MEMORY) {
    PetscCall(AIJTCUDeviceTrim());
    PetscCall(AIJTCUDeviceCall(A, plan, need, f, ctx, err));
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}
#endif
