/*
   HrpbCheckCsr() and HrpbCheckOrder() of the host on the device. Later kernels trust what passed here.
*/
#pragma once

#include "../common/device.cuh"
extern "C" {
#include "input.h"
}

enum {
  HRPB_MANY_ROWS = 128
};

typedef struct {
  int64_t nnz;
  int64_t heaviest; /* the most entries of HRPB_MANY_ROWS consecutive rows, the first a multiple of it */
} HrpbInput;

/* What the checks of a CSR find. It begins as zeros */
typedef struct {
  int32_t bad_rowptr, bad_column;
  /* entries that do not ascend, less the rows that begin with one: zero if only first entries of rows do not ascend */
  unsigned long long descents;
  unsigned long long heaviest;
  int64_t            nnz;
} HrpbFindings;

/* For kernels, and then for the host: whether the CSR has passed */
HRPB_INLINE bool HrpbIsGood(const HrpbFindings *f)
{
  return !f->bad_rowptr && !f->bad_column && !f->descents;
}

/* Check a CSR whose sizes fit 32 bits. findings are on the device. Does not wait */
HrpbError HrpbCheckCsrDevice(int64_t nrows, int64_t ncols, const HrpbInt *rowptr, const HrpbInt *colidx, HrpbFindings *findings, HrpbStream stream);

/* HRPB_ERR_CSR or HRPB_ERR_OVERFLOW for sizes that are not allowed */
HrpbError HrpbCheckSizes(int64_t nrows, int64_t ncols);

/* order may be NULL. input is filled on success. Waits for the stream */
HrpbError HrpbCheckInputDevice(int64_t nrows, int64_t ncols, const HrpbInt *rowptr, const HrpbInt *colidx, const int32_t *order, HrpbStream stream, HrpbInput *input);
