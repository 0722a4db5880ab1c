/*
   The product with CSR on the host: the reference for all other kernels. A column of A X is made, then the column of Y.
*/
#include <stdlib.h>

#include "../common/operands.h"

static bool Takes(const SpmmFacts *facts, const HrpbParams *params, const SpmmOperands *o, const SpmmDevice *device)
{
  (void)facts;
  (void)params;
  (void)o;
  (void)device;
  return true;
}

static HrpbError Run(const SpmmMatrix *A, const SpmmOperands *o, void *work, HrpbStream stream)
{
  HrpbScalar *ax = (HrpbScalar *)malloc(sizeof(*ax) * (size_t)A->nrows);

  (void)work;
  (void)stream;
  if (!ax) return HRPB_ERR_MEMORY;
  for (int64_t n = 0; n < o->N; n++) {
    const SpmmOperands column = SpmmColumns(o, n, 1);
    const SpmmFinish   f      = SpmmFinishOf(&column, ax, A->nrows);
    const SpmmView     y      = SpmmViewOf(column.Y.array, column.Y.ld, column.Y.layout);

    for (int64_t i = 0; i < A->nrows; i++) {
      ax[i] = 0;
      for (HrpbInt k = A->rowptr[i]; k < A->rowptr[i + 1]; k++) ax[i] += A->values[k] * SpmmAt(f.X, A->colidx[k], 0);
    }
    for (int64_t i = 0; i < A->nrows; i++) column.Y.array[i * y.row] = SpmmFinished(&f, i, 0);
  }
  free(ax);
  return HRPB_SUCCESS;
}

SPMM_KERNEL(SpmmCsrHost) = {
  .name   = "csr-host",
  .what   = "CSR, row by row",
  .op     = SPMM_OP_PRODUCT,
  .format = SPMM_CSR,
  .host   = true,
  .takes  = Takes,
  .run    = Run
};
