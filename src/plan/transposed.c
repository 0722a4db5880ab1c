/*
   The transpose of a sequential matrix, as a matrix: for products A^T B with a block B.

   It is multiplied like any other matrix: it has a plan, and reads the options of the matrix that it belongs to. So
   A^T B has the same bits on every run, while cuSPARSE's transposed product adds with atomics. The pattern is
   transposed once, and values are taken, where those of the matrix are. A device without memory for it has none: the
   parent makes the product.
*/
#include "planimpl.h"
#include "../upstream/upstream.h"
#include <real/real.h>
#include <csr/transpose.h>
#include <sparse/sparse.h>
#if AIJTCU_HAVE_DEVICE
  #include <petscdevice_cuda.h>
#endif

#if AIJTCU_HAVE_BRICKS
/* Transpose the pattern of A, on the host */
static PetscErrorCode AIJTCUTransposedPatternHost(Mat A, AIJTCUTransposed *t)
{
  const PetscInt *rowptr, *colidx;

  PetscFunctionBegin;
  PetscCall(PetscMalloc1(t->nnz, &t->map));
  PetscCall(AIJTCUHostGetCSR(A, &rowptr, &colidx));
  CsrTransposeHost(A->rmap->n, A->cmap->n, rowptr, colidx, t->rowptr, t->colidx, t->map);
  PetscCall(AIJTCUHostRestoreCSR(A, &rowptr, &colidx));
  PetscFunctionReturn(PETSC_SUCCESS);
}

  #if AIJTCU_HAVE_DEVICE
static PetscErrorCode AIJTCUTransposedBring(const SparseTranspose *T, AIJTCUTransposed *t, cudaStream_t stream)
{
  PetscFunctionBegin;
  AIJTCUHugePages(t->colidx, sizeof(*t->colidx) * (size_t)t->nnz);
  PetscCall(AIJTCUHostCopy(t->rowptr, T->rowptr, sizeof(*t->rowptr) * (size_t)(T->nrows + 1), PETSC_FALSE, stream));
  PetscCall(AIJTCUHostCopy(t->colidx, T->colidx, sizeof(*t->colidx) * (size_t)t->nnz, PETSC_FALSE, stream));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* The same on the device, where the map stays */
static PetscErrorCode AIJTCUTransposedPatternOnDevice(Mat A, AIJTCUPlan *plan, const AIJTCUDeviceCSR *csr, void *ctx, HrpbError *err)
{
  AIJTCUTransposed  *t = &plan->transposed;
  const SparseMatrix M = {.nrows = A->rmap->n, .ncols = A->cmap->n, .nnz = t->nnz, .rowptr = csr->rowptr, .colidx = csr->colidx};
  SparseTranspose    T;
  PetscErrorCode     ierr;

  PetscFunctionBegin;
  (void)ctx;
  AIJTCUCallDevice(*err, SparseTransposeCreate(&M, csr->stream, &T));
  if (*err) PetscFunctionReturn(PETSC_SUCCESS);
  AIJTCUWorkspaceUser(PETSC_TRUE);
  ierr    = AIJTCUTransposedBring(&T, t, csr->stream);
  t->dmap = T.map;
  T.map   = NULL;
  AIJTCUCallDevice(*err, SparseTransposeDestroy(&T, HRPB_SUCCESS, csr->stream));
  PetscCall(ierr);
  PetscFunctionReturn(PETSC_SUCCESS);
}
  #endif

/* The arrays that the transpose refers to */
static PetscErrorCode AIJTCUTransposedPattern(Mat A, AIJTCUPlan *plan, AIJTCUTransposed *t)
{
  HrpbError err = HRPB_ERR_UNSUPPORTED;
  MatInfo   info;

  PetscFunctionBegin;
  AIJTCUCallParent(A, MatGetInfo(A, MAT_LOCAL, &info));
  t->nnz = (PetscInt)info.nz_used;
  PetscCall(PetscMalloc1(A->cmap->n + 1, &t->rowptr));
  PetscCall(PetscMalloc1(t->nnz, &t->colidx));
  PetscCall(PetscMalloc1(t->nnz, &t->values));
  #if AIJTCU_HAVE_DEVICE
  {
    PetscBool device;

    PetscCall(AIJTCUOnDevice(A, plan, &device));
    if (device && t->nnz) {
      PetscCall(AIJTCUDeviceCallForMemory(A, plan, AIJTCU_CSR_ITSELF, AIJTCUTransposedPatternOnDevice, NULL, &err));
      if (err) PetscCall(PetscInfo(A, "aijtcu: the pattern of the transpose is made on the host: %s\n", HrpbErrorString(err)));
    }
  }
  #else
  (void)plan;
  #endif
  if (err) PetscCall(AIJTCUTransposedPatternHost(A, t));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode AIJTCUTransposedCreate(Mat A, AIJTCUPlan *plan, AIJTCUTransposed *t)
{
  const char *name = ((PetscObject)A)->name ? ((PetscObject)A)->name : ((PetscObject)A)->prefix;

  PetscFunctionBegin;
  PetscCall(AIJTCUTransposedPattern(A, plan, t));
  PetscCall(MatCreateSeqAIJWithArrays(PETSC_COMM_SELF, A->cmap->n, A->rmap->n, t->rowptr, t->colidx, t->values, &t->mat));
  PetscCall(MatConvert(t->mat, plan->id.parent_type, MAT_INPLACE_MATRIX, &t->mat));
  PetscCall(AIJTCUAttach(t->mat, AIJTCU_KIND_SEQ, PETSC_FALSE, plan->id.owner ? plan->id.owner : plan));
  if (name) PetscCall(PetscObjectSetName((PetscObject)t->mat, name)); /* for what lists products */
  PetscCall(PetscInfo(A, "aijtcu: the transpose is made for products with blocks\n"));
  PetscFunctionReturn(PETSC_SUCCESS);
}

  #if AIJTCU_HAVE_DEVICE
static PetscErrorCode AIJTCUTransposedMapOnStream(AIJTCUTransposed *t, cudaStream_t stream)
{
  PetscFunctionBegin;
  PetscCall(AIJTCUDeviceList(t->map, t->nnz, stream, &t->dmap));
  if (t->dmap) AIJTCUWorkspaceUser(PETSC_TRUE);
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Have the map on the device, if there is memory for it */
static PetscErrorCode AIJTCUTransposedMap(Mat A, AIJTCUTransposed *t)
{
  cudaStream_t stream = NULL;

  PetscFunctionBegin;
  if (t->dmap) PetscFunctionReturn(PETSC_SUCCESS);
  AIJTCUCallOnStream(stream, AIJTCUTransposedMapOnStream(t, stream));
  if (!t->dmap) PetscCall(PetscInfo(A, "aijtcu: no map on the device, values of the transpose are taken on the host: %s\n", HrpbErrorString(HRPB_ERR_DEVICE_MEMORY)));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode AIJTCUTransposedTakeOnStream(const AIJTCUTransposed *t, const PetscScalar *from, PetscScalar *to, cudaStream_t stream, HrpbError *err)
{
  PetscFunctionBegin;
  PetscCall(PetscLogGpuTimeBegin());
  *err = AIJTCU_PARTS > 1 ? ComplexTakeDevice(t->nnz, t->dmap, (const HrpbScalar *)from, (HrpbScalar *)to, stream) : CsrTakeDevice(t->nnz, t->dmap, (const HrpbScalar *)from, (HrpbScalar *)to, stream);
  PetscCall(PetscLogGpuTimeEnd());
  PetscCall(AIJTCUCheckRefused(*err));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode AIJTCUTransposedTakeCalled(const AIJTCUTransposed *t, const PetscScalar *from, PetscScalar *to, HrpbError *err)
{
  cudaStream_t stream = NULL;

  PetscFunctionBegin;
  AIJTCUCallOnStream(stream, AIJTCUTransposedTakeOnStream(t, from, to, stream, err));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode AIJTCUTransposedTake(AIJTCUTransposed *t, const PetscScalar *from, HrpbError *err)
{
  PetscScalar   *to;
  PetscBool      first;
  PetscErrorCode ierr;

  PetscFunctionBegin;
  PetscCall(AIJTCUNeverOnDevice(t->mat, &first));
  if (first) t->mat->offloadmask = PETSC_OFFLOAD_UNALLOCATED; /* what the host has is not looked at */
  PetscCall(AIJTCUPatternAlone(t->mat));
  AIJTCUCallParent(t->mat, MatSeqAIJCUSPARSEGetArrayWrite(t->mat, &to));
  ierr = AIJTCUTransposedTakeCalled(t, from, to, err);
  AIJTCUCallParent(t->mat, MatSeqAIJCUSPARSERestoreArrayWrite(t->mat, &to));
  PetscCall(ierr);
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode AIJTCUTransposedMapToHost(AIJTCUTransposed *t)
{
  cudaStream_t stream = NULL;

  PetscFunctionBegin;
  PetscCall(PetscMalloc1(t->nnz, &t->map));
  AIJTCUCallOnStream(stream, AIJTCUHostCopy(t->map, t->dmap, sizeof(*t->map) * (size_t)t->nnz, PETSC_FALSE, stream));
  PetscFunctionReturn(PETSC_SUCCESS);
}
  #endif

static PetscErrorCode AIJTCUTransposedTakeHost(AIJTCUTransposed *t, const PetscScalar *from)
{
  PetscScalar *to;

  PetscFunctionBegin;
  #if AIJTCU_HAVE_DEVICE
  if (!t->map) PetscCall(AIJTCUTransposedMapToHost(t));
  #endif
  PetscCall(MatSeqAIJGetArray(t->mat, &to));
  if (AIJTCU_PARTS > 1) ComplexTakeHost(t->nnz, t->map, (const HrpbScalar *)from, (HrpbScalar *)to);
  else CsrTakeHost(t->nnz, t->map, (const HrpbScalar *)from, (HrpbScalar *)to);
  PetscCall(MatSeqAIJRestoreArray(t->mat, &to));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Let the transpose, which is where A is, have its values */
static PetscErrorCode AIJTCUTransposedValues(Mat A, PetscBool device, AIJTCUTransposed *t)
{
  const PetscScalar *values;
  PetscErrorCode     ierr;

  PetscFunctionBegin;
  if (!t->nnz) PetscFunctionReturn(PETSC_SUCCESS);
  #if AIJTCU_HAVE_DEVICE
  if (device) PetscCall(AIJTCUTransposedMap(A, t));
  if (device && t->dmap) {
    HrpbError err = HRPB_SUCCESS;

    AIJTCUCallParent(A, MatSeqAIJCUSPARSEGetArrayRead(A, &values));
    ierr = AIJTCUTransposedTake(t, values, &err);
    AIJTCUCallParent(A, MatSeqAIJCUSPARSERestoreArrayRead(A, &values));
    PetscCall(ierr);
    if (!err) PetscFunctionReturn(PETSC_SUCCESS);
    PetscCall(PetscInfo(A, "aijtcu: no kernel takes values of the transpose, they are taken on the host: %s\n", HrpbErrorString(err)));
  }
  #else
  (void)device;
  #endif
  PetscCall(MatSeqAIJGetArrayRead(A, &values));
  ierr = AIJTCUTransposedTakeHost(t, values);
  PetscCall(MatSeqAIJRestoreArrayRead(A, &values));
  PetscCall(ierr);
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Whether there is memory for it, and the map, where A is. PETSc ends a program that has none on a device */
static PetscErrorCode AIJTCUTransposedFits(Mat A, AIJTCUPlan *plan, PetscBool *fits)
{
  PetscFunctionBegin;
  *fits = PETSC_TRUE;
  #if AIJTCU_HAVE_DEVICE
  {
    PetscBool device;
    MatInfo   info;
    size_t    bytes;

    PetscCall(AIJTCUOnDevice(A, plan, &device));
    PetscCall(MatGetInfo(A, MAT_LOCAL, &info));
    bytes = (size_t)info.nz_used * (sizeof(PetscScalar) + sizeof(PetscInt) + (plan->transposed.dmap ? 0 : sizeof(PetscInt))) + (size_t)(A->cmap->n + 1) * sizeof(PetscInt);
    if (device) PetscCall(AIJTCUDeviceAsk(bytes, fits));
  }
  if (!*fits) PetscCall(PetscInfo(A, "aijtcu: no transpose, the parent's product instead: %s\n", HrpbErrorString(HRPB_ERR_DEVICE_MEMORY)));
  #else
  (void)A;
  (void)plan;
  #endif
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Make it, if there is none and there is memory for it. It reads the options of A's owner, which may have changed */
static PetscErrorCode AIJTCUTransposedHave(Mat A, AIJTCUPlan *plan, PetscBool *have)
{
  AIJTCUTransposed *t    = &plan->transposed;
  PetscErrorCode    ierr = PETSC_SUCCESS;
  AIJTCUPlan       *tplan;

  PetscFunctionBegin;
  *have = PETSC_TRUE;
  if (!t->mat) {
    PetscCall(AIJTCUTransposedFits(A, plan, have));
    if (!*have) PetscFunctionReturn(PETSC_SUCCESS);
    PetscCall(PetscLogEventBegin(MAT_AIJTCU_Analyse, A, 0, 0, 0));
    ierr = AIJTCUTransposedCreate(A, plan, t);
    PetscCall(PetscLogEventEnd(MAT_AIJTCU_Analyse, A, 0, 0, 0));
    if (!ierr) ierr = AIJTCUTransposedFits(A, plan, have); /* the pools may have kept what its pattern was made in */
  }
  if (ierr || !*have) (void)AIJTCUTransposedDestroy(plan);
  PetscCall(ierr);
  if (!*have) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCall(AIJTCUGetPlan(t->mat, &tplan));
  tplan->id.owner        = plan->id.owner ? plan->id.owner : plan;
  tplan->id.off_diagonal = plan->id.off_diagonal;
  tplan->is_transpose    = PETSC_TRUE;
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*
   Have the transpose where A is, and as A is, if there is memory for it. An object's state is never zero. Values can be
   written on the host without a new state. Those of a matrix on a device are then on their way there: see
   AIJTCUDeviceCall(). On the host nothing tells of them, so they are taken for each product
*/
PetscErrorCode AIJTCUTransposedUpdate(Mat A, AIJTCUPlan *plan, PetscBool *have)
{
  AIJTCUTransposed *t = &plan->transposed;
  PetscObjectState  state;
  PetscBool         device, bound, tbound, changed;

  PetscFunctionBegin;
  PetscCall(AIJTCUTransposedHave(A, plan, have));
  if (!*have) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCall(PetscObjectStateGet((PetscObject)A, &state));
  PetscCall(AIJTCUOnDevice(A, plan, &device));
  PetscCall(MatBoundToCPU(A, &bound));
  PetscCall(MatBoundToCPU(t->mat, &tbound));
  #if AIJTCU_HAVE_DEVICE
  if (device) AIJTCUDeviceForgetValues(A, plan);
  #endif
  changed = (PetscBool)(!device || state != t->values_state || bound != tbound);
  if (changed) {
    t->values_state = 0;
    if (bound != tbound) PetscCall(MatBindToCPU(t->mat, bound));
    PetscCall(PetscLogEventBegin(MAT_AIJTCU_Refresh, A, 0, 0, 0));
    PetscCall(AIJTCUTransposedValues(A, device, t));
    PetscCall(PetscLogEventEnd(MAT_AIJTCU_Refresh, A, 0, 0, 0));
    t->values_state = state;
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}
#endif

/* An error is not looked at: the rest of the plan must go, too */
PetscErrorCode AIJTCUTransposedDestroy(AIJTCUPlan *plan)
{
  AIJTCUTransposed *t = &plan->transposed;

  PetscFunctionBegin;
  (void)MatDestroy(&t->mat);
#if AIJTCU_HAVE_DEVICE
  if (t->dmap) {
    (void)AIJTCUForgetError(cudaFreeAsync(t->dmap, AIJTCUDeviceStreamBehind()));
    AIJTCUWorkspaceUser(PETSC_FALSE);
  }
#endif
  (void)PetscFree(t->rowptr);
  (void)PetscFree(t->colidx);
  (void)PetscFree(t->map);
  (void)PetscFree(t->values);
  PetscCall(PetscMemzero(t, sizeof(*t)));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Bytes of device memory, beside those that the matrix itself has */
PetscInt64 AIJTCUTransposedBytes(const AIJTCUPlan *plan)
{
  const AIJTCUTransposed *t = &plan->transposed;

  return t->dmap ? (PetscInt64)sizeof(PetscInt) * t->nnz : 0;
}
