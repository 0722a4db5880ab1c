/*
   MatAXPY() of matrices of which one has all entries of the other, on the device.
*/
#include "sparseimpl.h"

#if AIJTCU_HAVE_DEVICE_REAL
  #include <petscdevice_cuda.h>

static PetscErrorCode AIJTCUAddOnStream(const SparseMatrix *X, PetscScalar a, const SparseMatrix *Y, PetscScalar *values, cudaStream_t stream, HrpbError *err)
{
  PetscFunctionBegin;
  PetscCall(PetscLogGpuTimeBegin());
  AIJTCUCallDevice(*err, SparseAddSubset(X, a, Y->rowptr, Y->colidx, values, stream));
  PetscCall(PetscLogGpuTimeEnd());
  if (!*err) PetscCall(PetscLogGpuFlops(2.0 * (PetscLogDouble)X->nnz));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode AIJTCUAddInto(const SparseMatrix *X, PetscScalar a, const SparseMatrix *Y, PetscScalar *values, HrpbError *err)
{
  cudaStream_t stream = NULL;

  PetscFunctionBegin;
  AIJTCUCallOnStream(stream, AIJTCUAddOnStream(X, a, Y, values, stream, err));
  PetscFunctionReturn(PETSC_SUCCESS);
}
#endif

/* Y += a X of sequential matrices on the device, where Y has all entries of X. done says whether it was */
PetscErrorCode AIJTCUAddSubset(Mat Y, PetscScalar a, Mat X, PetscBool *done)
{
  PetscFunctionBegin;
  *done = PETSC_FALSE;
#if AIJTCU_HAVE_DEVICE_REAL
  {
    SparseMatrix   x, y;
    PetscScalar   *values;
    PetscBool      usable;
    HrpbError      err = HRPB_SUCCESS;
    PetscErrorCode ierr;

    PetscCall(AIJTCUSparseOnDevice(X, &usable));
    if (usable) PetscCall(AIJTCUSparseOnDevice(Y, &usable));
    if (!usable) PetscFunctionReturn(PETSC_SUCCESS);
    PetscCall(AIJTCUSparseArrays(X, PETSC_TRUE, &x));
    PetscCall(AIJTCUSparseArrays(Y, PETSC_FALSE, &y));
    AIJTCUCallParent(Y, MatSeqAIJCUSPARSEGetArray(Y, &values));
    ierr = AIJTCUAddInto(&x, a, &y, values, &err);
    AIJTCUCallParent(Y, MatSeqAIJCUSPARSERestoreArray(Y, &values));
    PetscCall(ierr);
    *done = (PetscBool)!err;
    if (err) PetscCall(PetscInfo(Y, "aijtcu: a sum is made on the host: %s\n", HrpbErrorString(err)));
  }
#else
  (void)Y;
  (void)a;
  (void)X;
#endif
  PetscFunctionReturn(PETSC_SUCCESS);
}
