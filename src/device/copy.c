/*
   Columns of dense matrices between the host and a GPU.
*/
#include "device.h"

#if AIJTCU_HAVE_DEVICE
  #include <petscdevice_cuda.h>

/* Leading dimension of a buffer: whole units of 16 bytes */
PetscInt AIJTCUDeviceLDA(PetscInt rows)
{
  const PetscInt unit = 16 / (PetscInt)sizeof(HrpbScalar);

  return (PetscMax(rows, 1) + unit - 1) / unit * unit;
}

/* Copy columns of a dense matrix between host and device. A copy in two dimensions is limited in its pitch */
PetscErrorCode AIJTCUDeviceCopyColumns(HrpbScalar *to, PetscInt64 ldto, const HrpbScalar *from, PetscInt64 ldfrom, PetscInt rows, PetscInt cols, PetscBool todevice, cudaStream_t stream)
{
  const enum cudaMemcpyKind kind = todevice ? cudaMemcpyHostToDevice : cudaMemcpyDeviceToHost;
  const size_t              size = sizeof(*to), most = PETSC_INT32_MAX / sizeof(*to);

  PetscFunctionBegin;
  if (rows == 0) PetscFunctionReturn(PETSC_SUCCESS);
  if ((size_t)PetscMax(ldto, ldfrom) <= most) PetscCallCUDA(cudaMemcpy2DAsync(to, size * (size_t)ldto, from, size * (size_t)ldfrom, size * (size_t)rows, (size_t)cols, kind, stream));
  else {
    for (PetscInt j = 0; j < cols; j++) PetscCallCUDA(cudaMemcpyAsync(to + (size_t)j * (size_t)ldto, from + (size_t)j * (size_t)ldfrom, size * (size_t)rows, kind, stream));
  }
  if (todevice) PetscCall(PetscLogCpuToGpu(size * (PetscLogDouble)rows * (PetscLogDouble)cols));
  else PetscCall(PetscLogGpuToCpu(size * (PetscLogDouble)rows * (PetscLogDouble)cols));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode AIJTCUBringOnStream(PetscScalar *y, PetscInt ldy, const PetscScalar *x, PetscInt ldx, PetscInt m, PetscInt N, PetscBool todevice, cudaStream_t stream)
{
  PetscFunctionBegin;
  PetscCall(AIJTCUDeviceCopyColumns((HrpbScalar *)y, AIJTCU_PARTS * (PetscInt64)ldy, (const HrpbScalar *)x, AIJTCU_PARTS * (PetscInt64)ldx, AIJTCU_PARTS * m, N, todevice, stream));
  PetscCallCUDA(cudaStreamSynchronize(stream));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode AIJTCUBringArray(PetscScalar *y, PetscInt ldy, PetscMemType ymem, const PetscScalar *x, PetscInt ldx, PetscMemType xmem, PetscInt m, PetscInt N)
{
  const PetscBool todevice = PetscMemTypeDevice(ymem) ? PETSC_TRUE : PETSC_FALSE;
  cudaStream_t    stream   = NULL;

  PetscFunctionBegin;
  PetscCheck(!PetscMemTypeDevice(xmem) == !!todevice, PETSC_COMM_SELF, PETSC_ERR_PLIB, "Both matrices are on the host, or both on the device");
  AIJTCUCallOnStream(stream, AIJTCUBringOnStream(y, ldy, x, ldx, m, N, todevice, stream));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Y = X of dense matrices, one on the host and the other on the device. MatCopy() would go entry by entry */
PetscErrorCode AIJTCUDeviceBring(Mat X, Mat Y)
{
  const PetscScalar *x;
  PetscScalar       *y;
  PetscInt           ldx, ldy;
  PetscMemType       xmem, ymem;
  PetscErrorCode     ierr;

  PetscFunctionBegin;
  PetscCall(MatDenseGetLDA(X, &ldx));
  PetscCall(MatDenseGetLDA(Y, &ldy));
  PetscCall(MatDenseGetArrayReadAndMemType(X, &x, &xmem));
  PetscCall(MatDenseGetArrayWriteAndMemType(Y, &y, &ymem));
  ierr = AIJTCUBringArray(y, ldy, ymem, x, ldx, xmem, X->rmap->n, X->cmap->N);
  PetscCall(MatDenseRestoreArrayWriteAndMemType(Y, &y));
  PetscCall(MatDenseRestoreArrayReadAndMemType(X, &x));
  PetscCall(ierr);
  PetscFunctionReturn(PETSC_SUCCESS);
}
#endif
