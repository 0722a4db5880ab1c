/*
   MatAXPY() of matrices of which one has all entries of the other, on the device. Blocks of parallel matrices may have
   columns of other processes that are numbered differently.
*/
#include "sparseimpl.h"

#if AIJTCU_HAVE_DEVICE_REAL
  #include <petscdevice_cuda.h>

/* Two blocks, x += of y, and the place of x's columns among those of y, or NULL */
typedef struct {
  Mat       x, y;
  PetscInt *place;
  PetscBool none; /* x has no entries */
} AIJTCUPair;

static PetscErrorCode AIJTCUPairOnDevice(AIJTCUPair *p, PetscBool *is)
{
  MatInfo info;

  PetscFunctionBegin;
  PetscCall(MatGetInfo(p->x, MAT_LOCAL, &info));
  p->none = (PetscBool)(info.nz_used == 0);
  *is     = PETSC_TRUE;
  if (p->none) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCall(AIJTCUSparseOnDevice(p->x, is));
  if (*is) PetscCall(AIJTCUSparseOnDevice(p->y, is));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Without values: whether y has all entries of x */
static PetscErrorCode AIJTCUAddOnStream(const SparseMatrix *X, PetscScalar a, const SparseMatrix *Y, const PetscInt place[],
                                        PetscScalar *values, cudaStream_t stream, HrpbError *err)
{
  SparseMatrix numbered = *X;
  PetscInt    *map = NULL;
  HrpbInt     *colidx = NULL;

  PetscFunctionBegin;
  PetscCall(PetscLogGpuTimeBegin());
  if (place) {
    PetscCall(AIJTCUDeviceList(place, (PetscInt)X->ncols, stream, &map));
    PetscCall(AIJTCUDeviceMalloc(sizeof(*colidx) * (size_t)X->nnz, stream, (void **)&colidx));
    if (map && colidx) AIJTCUCallDevice(*err, SparseRenumber(X->nnz, X->colidx, 0, map, colidx, stream));
    else *err = HRPB_ERR_DEVICE_MEMORY;
    numbered.colidx = colidx;
  }
  if (!*err && !values) AIJTCUCallDevice(*err, SparseIsSubset(&numbered, Y->rowptr, Y->colidx, stream));
  else if (!*err) {
    AIJTCUCallDevice(*err, SparseAddSubset(&numbered, a, Y->rowptr, Y->colidx, values, stream));
    if (!*err) PetscCall(PetscLogGpuFlops(2.0 * (PetscLogDouble)X->nnz));
  }
  if (map) PetscCallCUDA(cudaFreeAsync(map, stream));
  if (colidx) PetscCallCUDA(cudaFreeAsync(colidx, stream));
  PetscCall(PetscLogGpuTimeEnd());
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode AIJTCUAddInto(const SparseMatrix *X, PetscScalar a, const SparseMatrix *Y, const PetscInt place[],
                                    PetscScalar *values, HrpbError *err)
{
  cudaStream_t stream = NULL;

  PetscFunctionBegin;
  AIJTCUCallOnStream(stream, AIJTCUAddOnStream(X, a, Y, place, values, stream, err));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode AIJTCUPairIsSubset(const AIJTCUPair *p, PetscBool *is)
{
  SparseMatrix x, y;
  HrpbError    err = HRPB_SUCCESS;

  PetscFunctionBegin;
  *is = PETSC_TRUE;
  if (p->none) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCall(AIJTCUSparseArrays(p->x, PETSC_FALSE, &x));
  PetscCall(AIJTCUSparseArrays(p->y, PETSC_FALSE, &y));
  PetscCall(AIJTCUAddInto(&x, 0, &y, p->place, NULL, &err));
  *is = (PetscBool)!err;
  if (err) PetscCall(PetscInfo(p->y, "aijtcu: a sum is made on the host: %s\n", HrpbErrorString(err)));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode AIJTCUPairAdd(const AIJTCUPair *p, PetscScalar a)
{
  SparseMatrix   x, y;
  PetscScalar   *values;
  HrpbError      err = HRPB_SUCCESS;
  PetscErrorCode ierr;

  PetscFunctionBegin;
  if (p->none) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCall(AIJTCUSparseArrays(p->x, PETSC_TRUE, &x));
  PetscCall(AIJTCUSparseArrays(p->y, PETSC_FALSE, &y));
  AIJTCUCallParent(p->y, MatSeqAIJCUSPARSEGetArray(p->y, &values));
  ierr = AIJTCUAddInto(&x, a, &y, p->place, values, &err);
  AIJTCUCallParent(p->y, MatSeqAIJCUSPARSERestoreArray(p->y, &values));
  PetscCall(ierr);
  AIJTCUCallKernels(err);
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Where the columns x, which ascend, are among the columns y. Nothing where one is not there */
static PetscErrorCode AIJTCUPlaces(PetscInt nx, const PetscInt x[], PetscInt ny, const PetscInt y[], PetscInt **place, PetscBool *all)
{
  PetscInt k = 0;

  PetscFunctionBegin;
  *all = PETSC_TRUE;
  PetscCall(PetscMalloc1(nx, place));
  for (PetscInt i = 0; i < nx && *all; i++) {
    while (k < ny && y[k] < x[i]) k++;
    *all = (PetscBool)(k < ny && y[k] == x[i]);
    (*place)[i] = k;
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* The blocks of Y and X, if they are on the device and Y's have all entries of X's */
static PetscErrorCode AIJTCUPairs(Mat Y, Mat X, AIJTCUPair pair[2], PetscBool *usable)
{
  const PetscInt *gx, *gy;
  Mat             x[2], y[2];

  PetscFunctionBegin;
  PetscCall(AIJTCULocalBlocks(X, x, &gx));
  PetscCall(AIJTCULocalBlocks(Y, y, &gy));
  *usable = PETSC_TRUE;
  for (int b = 0; b < 2 && *usable; b++) {
    pair[b] = (AIJTCUPair){x[b], y[b], NULL, PETSC_TRUE};
    if (!x[b]) continue;
    PetscCall(AIJTCUPairOnDevice(&pair[b], usable));
    if (b && *usable && !pair[b].none) PetscCall(AIJTCUPlaces(x[b]->cmap->n, gx, y[b]->cmap->n, gy, &pair[b].place, usable));
    if (*usable) PetscCall(AIJTCUPairIsSubset(&pair[b], usable));
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}
#endif

/* Y += a X on the device, where Y has all entries of X. done says whether it was. Collective */
PetscErrorCode AIJTCUAddSubset(Mat Y, PetscScalar a, Mat X, PetscBool *done)
{
  PetscFunctionBegin;
  *done = PETSC_FALSE;
#if AIJTCU_HAVE_DEVICE_REAL
  {
    AIJTCUPair     pair[2] = {{NULL, NULL, NULL, PETSC_TRUE}, {NULL, NULL, NULL, PETSC_TRUE}};
    AIJTCUPlan    *plan;
    PetscBool      at[2];
    PetscErrorCode ierr;
    const Mat      both[2] = {Y, X};

    for (int i = 0; i < 2; i++) { /* the same on all processes */
      PetscCall(AIJTCUGetPlan(both[i], &plan));
      PetscCall(AIJTCUAtDevice(both[i], plan, &at[i]));
      if (at[i] && plan && plan->id.kind == AIJTCU_KIND_MPI) PetscCall(AIJTCUAttachBlocks(both[i]));
    }
    if (!at[0] || !at[1]) PetscFunctionReturn(PETSC_SUCCESS);
    ierr = AIJTCUPairs(Y, X, pair, done);
    if (pair[1].x) PetscCall(AIJTCUAgree(PetscObjectComm((PetscObject)Y), ierr, *done, done));
    else PetscCall(ierr);
    for (int b = 0; b < 2; b++) {
      if (!ierr && *done && pair[b].x) ierr = AIJTCUPairAdd(&pair[b], a);
      PetscCall(PetscFree(pair[b].place));
    }
    PetscCall(ierr);
    if (*done && pair[1].x) PetscCall(PetscObjectStateIncrease((PetscObject)Y));
  }
#else
  (void)Y;
  (void)a;
  (void)X;
#endif
  PetscFunctionReturn(PETSC_SUCCESS);
}
