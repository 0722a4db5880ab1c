/*
   Between PETSc's arrays and the kernels of sparse matrices: operands on the device, and patterns of results on the
   host.
*/
#include "sparseimpl.h"
#include "../upstream/upstream.h"

#if AIJTCU_HAVE_DEVICE_REAL
  #include <petscdevice_cuda.h>

/* Whether a matrix is a sequential one that is on the device */
PetscErrorCode AIJTCUSparseOnDevice(Mat A, PetscBool *is)
{
  AIJTCUPlan *plan;
  PetscBool   bound;

  PetscFunctionBegin;
  *is = PETSC_FALSE;
  if (!A->assembled || A->structure_only) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCall(AIJTCUGetPlan(A, &plan));
  PetscCall(MatBoundToCPU(A, &bound));
  if (plan) {
    if (plan->id.kind == AIJTCU_KIND_SEQ) PetscCall(AIJTCUOnDevice(A, plan, is));
  } else PetscCall(PetscObjectTypeCompare((PetscObject)A, MATSEQAIJCUSPARSE, is));
  *is = (PetscBool)(*is && !bound);
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* The arrays of a matrix on the device. They stay where they are until the matrix changes */
PetscErrorCode AIJTCUSparseArrays(Mat A, PetscBool values, SparseMatrix *M)
{
  const AIJTCUDeviceInt *i, *j;
  const PetscScalar     *v = NULL;
  AIJTCUPlan            *plan;
  MatInfo                info;

  PetscFunctionBegin;
  PetscCall(AIJTCUGetPlan(A, &plan));
  if (plan) AIJTCUDeviceForgetValues(A, plan);
  PetscCall(AIJTCUDeviceFetch(A));
  PetscCall(MatGetInfo(A, MAT_LOCAL, &info));
  AIJTCUCallParent(A, MatSeqAIJCUSPARSEGetIJ(A, PETSC_FALSE, &i, &j));
  *M = (SparseMatrix){.nrows = A->rmap->n, .ncols = A->cmap->n, .nnz = (int64_t)info.nz_used, .rowptr = (const HrpbInt *)i, .colidx = (const HrpbInt *)j,
                      .brows = (int32_t)A->rmap->bs, .bcols = (int32_t)A->cmap->bs};
  AIJTCUCallParent(A, MatSeqAIJCUSPARSERestoreIJ(A, PETSC_FALSE, &i, &j));
  if (values) {
    AIJTCUCallParent(A, MatSeqAIJCUSPARSEGetArrayRead(A, &v));
    M->values = v;
    AIJTCUCallParent(A, MatSeqAIJCUSPARSERestoreArrayRead(A, &v));
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode AIJTCUSparseBring(void *to, const void *from, size_t bytes, cudaStream_t stream)
{
  PetscFunctionBegin;
  PetscCall(AIJTCUHostCopy(to, from, bytes, PETSC_FALSE, stream));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* lengths is workspace */
static PetscErrorCode AIJTCUSparsePatternOnStream(Mat C, int64_t nrows, int64_t nnz, const HrpbInt rowptr[], const HrpbInt colidx[], PetscInt lengths[], cudaStream_t stream)
{
  const PetscInt *i, *j;
  PetscInt        n;
  PetscBool       have;

  PetscFunctionBegin;
  PetscCall(AIJTCUSparseBring(lengths, rowptr, sizeof(*lengths) * (size_t)(nrows + 1), stream));
  for (PetscInt row = 0; row < (PetscInt)nrows; row++) lengths[row] = lengths[row + 1] - lengths[row];
  PetscCall(MatSeqAIJSetPreallocation(C, 0, lengths));
  PetscCall(MatSetOption(C, MAT_NEW_NONZERO_ALLOCATION_ERR, PETSC_FALSE)); /* as the parent's products are */
  PetscCall(MatGetRowIJ(C, 0, PETSC_FALSE, PETSC_FALSE, &n, &i, &j, &have));
  PetscCheck(have, PETSC_COMM_SELF, PETSC_ERR_PLIB, "No row pointers");
  AIJTCUHugePages((PetscInt *)j, sizeof(*j) * (size_t)nnz);
  if (nnz) PetscCall(AIJTCUSparseBring((PetscInt *)j, colidx, sizeof(*j) * (size_t)nnz, stream));
  PetscCall(AIJTCUColumnsAreThere(C, (PetscInt)nnz, (PetscInt *)j));
  PetscCall(MatRestoreRowIJ(C, 0, PETSC_FALSE, PETSC_FALSE, &n, &i, &j, &have));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Give C, which has its type, a pattern of the device. It is to be assembled then */
PetscErrorCode AIJTCUSparsePattern(Mat C, int64_t nrows, int64_t nnz, const HrpbInt rowptr[], const HrpbInt colidx[])
{
  cudaStream_t   stream = NULL;
  PetscInt      *lengths;
  PetscErrorCode ierr;

  PetscFunctionBegin;
  PetscCall(PetscMalloc1(nrows + 1, &lengths));
  ierr = AIJTCUDeviceBegin(&stream);
  if (!ierr) ierr = AIJTCUSparsePatternOnStream(C, nrows, nnz, rowptr, colidx, lengths, stream);
  PetscCall(AIJTCUDeviceEnd(stream));
  PetscCall(PetscFree(lengths));
  PetscCall(ierr);
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* The values of C on the device, which are the newest then. C has its pattern */
PetscErrorCode AIJTCUSparseWriteBegin(Mat C, PetscScalar **values)
{
  PetscFunctionBegin;
  PetscCall(AIJTCUPatternAlone(C));
  AIJTCUCallParent(C, MatSeqAIJCUSPARSEGetArrayWrite(C, values));
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode AIJTCUSparseWriteEnd(Mat C, PetscScalar **values)
{
  PetscFunctionBegin;
  AIJTCUCallParent(C, MatSeqAIJCUSPARSERestoreArrayWrite(C, values));
  PetscFunctionReturn(PETSC_SUCCESS);
}
#endif
