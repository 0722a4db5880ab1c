/*
   cuSPARSE, which test/device compares with when it measures. It is not there on a host. See cuda_runtime.h.
*/
#pragma once

#include <cuda_runtime.h>

typedef void *cusparseHandle_t, *cusparseSpMatDescr_t, *cusparseDnMatDescr_t, *cusparseDnVecDescr_t;
enum cusparseSpMMAlg_t {
  CUSPARSE_SPMM_CSR_ALG1,
  CUSPARSE_SPMM_CSR_ALG2
};
enum cusparseSpMVAlg_t {
  CUSPARSE_SPMV_CSR_ALG1,
  CUSPARSE_SPMV_CSR_ALG2
};
enum cusparseOperation_t {
  CUSPARSE_OPERATION_NON_TRANSPOSE,
  CUSPARSE_OPERATION_TRANSPOSE
};
enum cusparseOrder_t {
  CUSPARSE_ORDER_ROW,
  CUSPARSE_ORDER_COL
};
enum cusparseIndexType_t {
  CUSPARSE_INDEX_32I,
  CUSPARSE_INDEX_64I
};
enum {
  CUSPARSE_INDEX_BASE_ZERO,
  CUSPARSE_SDDMM_ALG_DEFAULT,
  CUSPARSE_STATUS_NOT_SUPPORTED
};
#define CUSPARSE_NOT_THERE(name) \
  template <typename... Arguments> static inline int name(const Arguments &...) { return CUSPARSE_STATUS_NOT_SUPPORTED; }
CUSPARSE_NOT_THERE(cusparseCreate)
CUSPARSE_NOT_THERE(cusparseCreateCsr)
CUSPARSE_NOT_THERE(cusparseCreateDnMat)
CUSPARSE_NOT_THERE(cusparseCreateDnVec)
CUSPARSE_NOT_THERE(cusparseSpMV)
CUSPARSE_NOT_THERE(cusparseSpMV_bufferSize)
CUSPARSE_NOT_THERE(cusparseSpMV_preprocess)
CUSPARSE_NOT_THERE(cusparseSpMM)
CUSPARSE_NOT_THERE(cusparseSpMM_bufferSize)
CUSPARSE_NOT_THERE(cusparseSDDMM)
CUSPARSE_NOT_THERE(cusparseSDDMM_bufferSize)
CUSPARSE_NOT_THERE(cusparseSDDMM_preprocess)
CUSPARSE_NOT_THERE(cusparseDestroy)
CUSPARSE_NOT_THERE(cusparseDestroySpMat)
CUSPARSE_NOT_THERE(cusparseDestroyDnMat)
CUSPARSE_NOT_THERE(cusparseDestroyDnVec)
#undef CUSPARSE_NOT_THERE
