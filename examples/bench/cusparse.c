#include "cusparse.h"
#if PetscDefined(HAVE_CUDA)
  #include <petscdevice_cuda.h>

struct _n_CusparseSampled {
  cusparseHandle_t     handle;
  cusparseSpMatDescr_t c;
  cusparseDnMatDescr_t x, y;
  PetscInt            *i, *j; /* the pattern on the device */
  void                *buffer;
};

  #if PetscDefined(USE_COMPLEX)
static const cudaDataType type = PetscDefined(USE_REAL_SINGLE) ? CUDA_C_32F : CUDA_C_64F;
  #else
static const cudaDataType type = PetscDefined(USE_REAL_SINGLE) ? CUDA_R_32F : CUDA_R_64F;
  #endif
static const PetscScalar one = 1, zero = 0;

static PetscErrorCode Upload(const PetscInt from[], PetscInt n, PetscInt **to)
{
  PetscFunctionBegin;
  PetscCallCUDA(cudaMalloc((void **)to, sizeof(**to) * (size_t)(n + 1)));
  PetscCallCUDA(cudaMemcpy(*to, from, sizeof(**to) * (size_t)n, cudaMemcpyHostToDevice));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* x and y have k columns: column-major without gaps, or row-major */
PetscErrorCode CusparseSampledCreate(const GenerateCSR *csr, PetscInt k, PetscBool rows, const PetscScalar x[], const PetscScalar y[], CusparseSampled *sampled)
{
  const cusparseIndexType_t index = PetscDefined(USE_64BIT_INDICES) ? CUSPARSE_INDEX_64I : CUSPARSE_INDEX_32I;
  const cusparseOrder_t     order = rows ? CUSPARSE_ORDER_ROW : CUSPARSE_ORDER_COL;
  const PetscInt            nnz   = csr->i[csr->m];
  CusparseSampled           s;
  size_t                    bytes;

  PetscFunctionBegin;
  PetscCall(PetscNew(&s));
  *sampled = s;
  PetscCall(Upload(csr->i, csr->m + 1, &s->i));
  PetscCall(Upload(csr->j, nnz, &s->j));
  PetscCallCUSPARSE(cusparseCreate(&s->handle));
  PetscCallCUSPARSE(cusparseCreateCsr(&s->c, csr->m, csr->n, nnz, s->i, s->j, NULL, index, index, CUSPARSE_INDEX_BASE_ZERO, type));
  PetscCallCUSPARSE(cusparseCreateDnMat(&s->x, csr->m, k, rows ? k : csr->m, (void *)x, type, order));
  PetscCallCUSPARSE(cusparseCreateDnMat(&s->y, csr->n, k, rows ? k : csr->n, (void *)y, type, order));
  PetscCallCUSPARSE(cusparseSDDMM_bufferSize(s->handle, CUSPARSE_OPERATION_NON_TRANSPOSE, CUSPARSE_OPERATION_TRANSPOSE, &one, s->x, s->y, &zero, s->c, type, CUSPARSE_SDDMM_ALG_DEFAULT, &bytes));
  PetscCallCUDA(cudaMalloc(&s->buffer, bytes + 1));
  PetscCallCUSPARSE(cusparseSDDMM_preprocess(s->handle, CUSPARSE_OPERATION_NON_TRANSPOSE, CUSPARSE_OPERATION_TRANSPOSE, &one, s->x, s->y, &zero, s->c, type, CUSPARSE_SDDMM_ALG_DEFAULT, s->buffer));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* The values of W are on the device, and nowhere else, after this */
PetscErrorCode CusparseSampledRun(CusparseSampled s, Mat W)
{
  PetscScalar *values;

  PetscFunctionBegin;
  PetscCall(MatSeqAIJCUSPARSEGetArrayWrite(W, &values));
  PetscCallCUSPARSE(cusparseCsrSetPointers(s->c, s->i, s->j, values));
  PetscCallCUSPARSE(cusparseSDDMM(s->handle, CUSPARSE_OPERATION_NON_TRANSPOSE, CUSPARSE_OPERATION_TRANSPOSE, &one, s->x, s->y, &zero, s->c, type, CUSPARSE_SDDMM_ALG_DEFAULT, s->buffer));
  PetscCall(MatSeqAIJCUSPARSERestoreArrayWrite(W, &values));
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode CusparseSampledDestroy(CusparseSampled *sampled)
{
  CusparseSampled s = *sampled;

  PetscFunctionBegin;
  if (!s) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCallCUDA(cudaFree(s->i));
  PetscCallCUDA(cudaFree(s->j));
  PetscCallCUDA(cudaFree(s->buffer));
  PetscCallCUSPARSE(cusparseDestroySpMat(s->c));
  PetscCallCUSPARSE(cusparseDestroyDnMat(s->x));
  PetscCallCUSPARSE(cusparseDestroyDnMat(s->y));
  PetscCallCUSPARSE(cusparseDestroy(s->handle));
  PetscCall(PetscFree(*sampled));
  PetscFunctionReturn(PETSC_SUCCESS);
}
#else
PetscErrorCode CusparseSampledCreate(const GenerateCSR *csr, PetscInt k, PetscBool rows, const PetscScalar x[], const PetscScalar y[], CusparseSampled *sampled)
{
  PetscFunctionBegin;
  (void)csr, (void)k, (void)rows, (void)x, (void)y, (void)sampled;
  SETERRQ(PETSC_COMM_SELF, PETSC_ERR_SUP, "This PETSc has no CUDA");
}

PetscErrorCode CusparseSampledRun(CusparseSampled s, Mat W)
{
  PetscFunctionBegin;
  (void)s, (void)W;
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode CusparseSampledDestroy(CusparseSampled *s)
{
  PetscFunctionBegin;
  (void)s;
  PetscFunctionReturn(PETSC_SUCCESS);
}
#endif
