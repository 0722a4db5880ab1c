/*
   What goes with sampled products on an NVIDIA GPU, beside the table (spmm.h): a row-major operand for rows that come
   from other processes, and maps of rows. Pointers are device pointers, and work goes to the stream.
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

/* Maps of the entries c of a row. The gradients get those of the result, and leave those of what was mapped */
typedef enum {
  SAMPLED_SOFTMAX,            /* exp(c - most) divided by the sum of these */
  SAMPLED_SOFTMAX_GRADIENT,   /* with the softmax p and its gradient d: p (d - sum of all p d) */
  SAMPLED_LEAKY_RELU,         /* c where c > 0, else slope c */
  SAMPLED_LEAKY_RELU_GRADIENT /* with c, or what was made of it, and the gradient d: d where c > 0, else slope d */
} SampledMap;

/* Rows of one or two matrices, a row being that of both together. Where there is no second, or it is empty: NULL */
typedef struct {
  int64_t           nrows;
  const HrpbInt    *rowptr[2];
  const HrpbScalar *in[2];  /* p or c, for gradients */
  HrpbScalar       *out[2]; /* what is mapped in place */
} SampledRows;

/* nnz: entries of both, from which the shape of the launch follows */
HrpbError SampledMapDevice(SampledMap, const SampledRows *, int64_t nnz, HrpbScalar slope, HrpbStream stream);

#ifdef __cplusplus
}
#endif
