/*
   The product with CSR on the host: the reference for all other kernels. A X is made for as many rows as a block of D
   has, and a few columns, and then their part of Y.
*/
#include <stdlib.h>

#include "../common/operands.h"

enum {
  COLUMNS = 16 /* of X and Y at a time */
};

static bool Takes(const SpmmFacts *facts, const HrpbParams *params, const SpmmOperands *o, const SpmmDevice *device)
{
  (void)facts;
  (void)params;
  (void)o;
  (void)device;
  return true;
}

/* sums[n] = entry n of row i of A X, n < N <= COLUMNS. Each adds the entries of the row in their order */
static void RowTimes(const SpmmMatrix *A, int64_t i, SpmmView X, int64_t N, HrpbScalar sums[])
{
  for (int64_t n = 0; n < N; n++) sums[n] = 0;
  for (HrpbInt k = A->rowptr[i]; k < A->rowptr[i + 1]; k++) {
    const HrpbScalar  a = A->values[k];
    const HrpbScalar *x = X.array + A->colidx[k] * X.row;

    if (X.column == 1) {
      for (int64_t n = 0; n < N; n++) sums[n] += a * x[n];
    } else {
      for (int64_t n = 0; n < N; n++) sums[n] += a * x[n * X.column];
    }
  }
}

/* The operands of the rows from one on, which begins a block of D */
static SpmmFinish FromRow(SpmmFinish f, int64_t first)
{
  if (f.update == SPMM_STEP) f.X.array += first * f.X.row;
  if (f.Y0.array) f.Y0.array += first * f.Y0.row;
  if (f.B.array) f.B.array += first * f.B.row;
  if (f.D) f.D += first * f.dblock;
  return f;
}

/* Whether Y = Y0 + A X in place. Rows without entries are not touched then: most have none in a part of a matrix */
static bool AddsInPlace(const SpmmOperands *o)
{
  return o->update == SPMM_ADD && o->Y0.array == o->Y.array;
}

static HrpbError Run(const SpmmMatrix *A, const SpmmOperands *o, void *work, HrpbStream stream)
{
  const int64_t rows = o->update == SPMM_STEP && o->D ? o->dblock : 1;
  HrpbScalar    one[COLUMNS], *more = rows > 1 ? (HrpbScalar *)malloc(sizeof(*more) * COLUMNS * (size_t)rows) : NULL, *ax = rows > 1 ? more : one;

  (void)work;
  (void)stream;
  if (!ax) return HRPB_ERR_MEMORY;
  for (int64_t n0 = 0; n0 < o->N; n0 += COLUMNS) {
    const int64_t      N    = o->N - n0 < COLUMNS ? o->N - n0 : COLUMNS;
    const SpmmOperands part = SpmmColumns(o, n0, N);
    const SpmmFinish   all  = SpmmFinishOf(&part, NULL, 0);
    const SpmmView     y    = SpmmViewOf(part.Y.array, part.Y.ld, part.Y.layout);

    for (int64_t first = 0; first < A->nrows; first += rows) {
      SpmmFinish f;

      if (AddsInPlace(o) && A->rowptr[first] == A->rowptr[first + 1]) continue;
      f    = FromRow(all, first);
      f.ax = SpmmViewOf(ax, COLUMNS, SPMM_ROW_MAJOR);
      for (int64_t i = 0; i < rows; i++) RowTimes(A, first + i, all.X, N, ax + i * COLUMNS);
      for (int64_t i = 0; i < rows; i++) {
        for (int64_t n = 0; n < N; n++) part.Y.array[(first + i) * y.row + n * y.column] = SpmmFinished(&f, i, n);
      }
    }
  }
  free(more);
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
