/*
   Sampled products on an NVIDIA GPU, beside those of the table (spmm.h): a row-major operand for rows that come from
   other processes. Pointers are device pointers, and work goes to the stream.
*/
#pragma once

#include "../spmm.h"

#ifdef __cplusplus
extern "C" {
#endif

/*
   A row-major copy of nrows rows and N columns, with the leading dimension that SampledRowMajorLD() says. It is padded
   as SPMM_ROW_MAJOR_PADDED wants it, but for the row of zeros at the end
*/
int64_t   SampledRowMajorLD(int64_t N);
HrpbError SampledRowMajorDevice(int64_t nrows, int64_t N, const HrpbScalar *from, int64_t ldfrom, HrpbScalar *to, HrpbStream stream);

#ifdef __cplusplus
}
#endif
