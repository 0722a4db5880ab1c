#include "cusparse.h"
#if PetscDefined(HAVE_CUDA)
  #include <petscdevice_cuda.h>
  #include <petsc/private/petsclegacycupmblas.h> /* cublasXgeam() */

struct _n_CusparseSampled {
  cusparseHandle_t     handle;
  cusparseSpMatDescr_t c;
  cusparseDnMatDescr_t x, y;
  PetscInt            *i, *j; /* the pattern on the device */
  void                *buffer;
};

struct _n_RowMajor {
  cusparseHandle_t     handle;
  cusparseSpMatDescr_t a;
  cusparseDnMatDescr_t b, c;
  PetscInt            *i, *j; /* the matrix on the device */
  PetscScalar         *values;
  Mat                  Bt, Ct; /* B^T and C^T: column-major, which is B and C row-major */
  void                *buffer;
};

  #if PetscDefined(USE_COMPLEX)
static const cudaDataType type = PetscDefined(USE_REAL_SINGLE) ? CUDA_C_32F : CUDA_C_64F;
  #else
static const cudaDataType type = PetscDefined(USE_REAL_SINGLE) ? CUDA_R_32F : CUDA_R_64F;
  #endif
static const PetscScalar one = 1, zero = 0;

/* An array, and a byte more: none may be empty */
static PetscErrorCode Upload(const void *from, size_t bytes, void **to)
{
  PetscFunctionBegin;
  PetscCallCUDA(cudaMalloc(to, bytes + 1));
  PetscCallCUDA(cudaMemcpy(*to, from, bytes, cudaMemcpyHostToDevice));
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
  PetscCall(Upload(csr->i, sizeof(*csr->i) * (size_t)(csr->m + 1), (void **)&s->i));
  PetscCall(Upload(csr->j, sizeof(*csr->j) * (size_t)nnz, (void **)&s->j));
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

static PetscErrorCode Describe(Mat M, PetscInt rows, PetscInt N, cusparseDnMatDescr_t *d)
{
  PetscScalar *array;

  PetscFunctionBegin;
  PetscCall(MatDenseGetArrayAndMemType(M, &array, NULL)); /* it stays there */
  PetscCallCUSPARSE(cusparseCreateDnMat(d, rows, N, N, array, type, CUSPARSE_ORDER_ROW));
  PetscCall(MatDenseRestoreArrayAndMemType(M, &array));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* At = A^T, on the device: MatTranspose() would make it on the host. Both without gaps between columns */
static PetscErrorCode Transpose(Mat A, Mat At)
{
  const PetscScalar *a;
  PetscScalar       *t;
  PetscInt           m, n;
  cublasHandle_t     handle;

  PetscFunctionBegin;
  PetscCall(MatGetSize(A, &m, &n));
  PetscCall(PetscCUBLASGetHandle(&handle));
  PetscCall(MatDenseGetArrayReadAndMemType(A, &a, NULL));
  PetscCall(MatDenseGetArrayWriteAndMemType(At, &t, NULL));
  PetscCallCUBLAS(cublasXgeam(handle, CUBLAS_OP_T, CUBLAS_OP_N, (int)n, (int)m, &one, a, (int)m, &zero, t, (int)n, t, (int)n));
  PetscCall(MatDenseRestoreArrayWriteAndMemType(At, &t));
  PetscCall(MatDenseRestoreArrayReadAndMemType(A, &a));
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode RowMajorCreate(const GenerateCSR *csr, Mat B, RowMajor *product)
{
  const cusparseIndexType_t index = PetscDefined(USE_64BIT_INDICES) ? CUSPARSE_INDEX_64I : CUSPARSE_INDEX_32I;
  const PetscInt            nnz   = csr->i[csr->m];
  PetscInt                  N;
  RowMajor                  p;
  PetscDeviceContext        dctx;
  void                     *stream;
  size_t                    bytes;

  PetscFunctionBegin;
  PetscCall(PetscNew(&p));
  *product = p;
  PetscCall(MatGetSize(B, NULL, &N));
  PetscCall(Upload(csr->i, sizeof(*csr->i) * (size_t)(csr->m + 1), (void **)&p->i));
  PetscCall(Upload(csr->j, sizeof(*csr->j) * (size_t)nnz, (void **)&p->j));
  PetscCall(Upload(csr->a, sizeof(*csr->a) * (size_t)nnz, (void **)&p->values));
  PetscCall(MatCreateSeqDenseCUDA(PETSC_COMM_SELF, N, csr->n, NULL, &p->Bt));
  PetscCall(MatCreateSeqDenseCUDA(PETSC_COMM_SELF, N, csr->m, NULL, &p->Ct));
  PetscCall(Transpose(B, p->Bt));
  PetscCall(Describe(p->Bt, csr->n, N, &p->b));
  PetscCall(Describe(p->Ct, csr->m, N, &p->c));
  PetscCall(PetscDeviceContextGetCurrentContext(&dctx));
  PetscCall(PetscDeviceContextGetStreamHandle(dctx, &stream));
  PetscCallCUSPARSE(cusparseCreate(&p->handle));
  PetscCallCUSPARSE(cusparseSetStream(p->handle, *(cudaStream_t *)stream));
  PetscCallCUSPARSE(cusparseCreateCsr(&p->a, csr->m, csr->n, nnz, p->i, p->j, p->values, index, index, CUSPARSE_INDEX_BASE_ZERO, type));
  PetscCallCUSPARSE(cusparseSpMM_bufferSize(p->handle, CUSPARSE_OPERATION_NON_TRANSPOSE, CUSPARSE_OPERATION_NON_TRANSPOSE, &one, p->a, p->b, &zero, p->c, type, CUSPARSE_SPMM_CSR_ALG2, &bytes));
  PetscCallCUDA(cudaMalloc(&p->buffer, bytes + 1));
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode RowMajorRun(RowMajor p)
{
  PetscFunctionBegin;
  PetscCallCUSPARSE(cusparseSpMM(p->handle, CUSPARSE_OPERATION_NON_TRANSPOSE, CUSPARSE_OPERATION_NON_TRANSPOSE, &one, p->a, p->b, &zero, p->c, type, CUSPARSE_SPMM_CSR_ALG2, p->buffer));
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode RowMajorGet(RowMajor p, Mat C)
{
  PetscScalar *array;

  PetscFunctionBegin;
  PetscCallCUDA(cudaDeviceSynchronize());                     /* the handle's stream is not PETSc's */
  PetscCall(MatDenseGetArrayAndMemType(p->Ct, &array, NULL)); /* what is on the device is new */
  PetscCall(MatDenseRestoreArrayAndMemType(p->Ct, &array));
  PetscCall(Transpose(p->Ct, C));
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode RowMajorDestroy(RowMajor *product)
{
  RowMajor p = *product;

  PetscFunctionBegin;
  if (!p) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCallCUDA(cudaFree(p->i));
  PetscCallCUDA(cudaFree(p->j));
  PetscCallCUDA(cudaFree(p->values));
  PetscCallCUDA(cudaFree(p->buffer));
  PetscCallCUSPARSE(cusparseDestroySpMat(p->a));
  PetscCallCUSPARSE(cusparseDestroyDnMat(p->b));
  PetscCallCUSPARSE(cusparseDestroyDnMat(p->c));
  PetscCallCUSPARSE(cusparseDestroy(p->handle));
  PetscCall(MatDestroy(&p->Bt));
  PetscCall(MatDestroy(&p->Ct));
  PetscCall(PetscFree(*product));
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

PetscErrorCode RowMajorCreate(const GenerateCSR *csr, Mat B, RowMajor *product)
{
  PetscFunctionBegin;
  (void)csr, (void)B, (void)product;
  SETERRQ(PETSC_COMM_SELF, PETSC_ERR_SUP, "This PETSc has no CUDA");
}

PetscErrorCode RowMajorRun(RowMajor p)
{
  PetscFunctionBegin;
  (void)p;
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode RowMajorGet(RowMajor p, Mat C)
{
  PetscFunctionBegin;
  (void)p, (void)C;
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode RowMajorDestroy(RowMajor *product)
{
  PetscFunctionBegin;
  (void)product;
  PetscFunctionReturn(PETSC_SUCCESS);
}
#endif
