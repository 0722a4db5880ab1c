/*
   What reordering takes, and what it brings.
*/
#include <math.h>

#include "../spmm.h"

enum {
  BEST_STAGED = 4,  /* rows of B for a row of A, in the best order of any mesh */
  LONG_ROWS   = 128, /* entries of a row, on average, beyond which they are not sorted in registers */
  START       = 1350 /* microseconds of launches and waits, whatever the matrix */
};

double SpmmSecondsToReorder(const SpmmFacts *facts, int32_t levels, const SpmmDevice *device)
{
  const SpmmOrderTimes *t   = &device->model->order;
  const double          nnz = (double)facts->nnz;

  return 1e-6 * (int)START + 1e-12 * (nnz * (nnz > LONG_ROWS * (double)facts->nrows ? t->long_entry : t->entry) + t->one_row * (double)facts->longest + t->level * levels);
}

double SpmmSecondsReordered(const SpmmFacts *reordered, HrpbPrecision precision, int64_t N, const SpmmDevice *device)
{
  const HrpbParams   params = HrpbRowsParams();
  const SpmmOperands plain  = SpmmPlain(N, NULL, reordered->ncols, NULL, reordered->nrows);
  const SpmmKernel  *kernel = SpmmChooseKernel(SPMM_OP_PRODUCT, SPMM_BRICKS, false, reordered, &params, &plain, device);

  if (!kernel || !kernel->seconds) return INFINITY;
  return kernel->seconds(reordered, &params, precision, N, device) + 1e-12 * device->model->order.permute * (double)N * (double)reordered->nrows;
}

/* Bricks without a gap. No row of B is brought without an entry */
SpmmFacts SpmmFactsReorderedAtBest(const SpmmFacts *facts)
{
  const int64_t rows = BEST_STAGED * facts->nrows < facts->nnz ? BEST_STAGED * facts->nrows : facts->nnz;
  SpmmFacts     f    = *facts;

  f.survey = (HrpbSurvey){.nnz = facts->nnz, .strip_cols16 = facts->nnz / 16, .staged_rows = rows, .needed_rows = rows};
  return f;
}
