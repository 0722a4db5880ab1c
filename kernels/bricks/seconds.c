/*
   The time of bricks-rows is that of bricks that stage what they need and no more, and of a copy of B. A copy takes
   what csr-copy takes longer for B and C than bricks that read B in place. Each tile of columns goes through A anew.
   Where panels are few, tiles are multiplied side by side.
*/
#include "seconds.h"

double BricksRowsSeconds(const SpmmFacts *facts, const HrpbParams *params, HrpbPrecision precision, int64_t N, const SpmmDevice *device)
{
  const SpmmKernel *staged = SpmmKernelFind("bricks-staged");
  const double      copy   = device->model->csr.dense - device->model->bricks[precision].dense;
  const double      launch = 1e-12 * device->model->bricks[precision].launch;
  const int64_t     tile   = SpmmHasFewPanels(facts->nrows, device) ? N : ROWS_TILE_BYTES / (int64_t)sizeof(HrpbScalar);
  SpmmFacts         needed = *facts;
  double            product;

  if (facts->survey.staged_rows) needed.survey.most_staged_rows = (int64_t)((double)facts->survey.most_staged_rows * (double)facts->survey.needed_rows / (double)facts->survey.staged_rows);
  needed.survey.staged_rows = facts->survey.needed_rows;
  product = staged->seconds(&needed, params, precision, N < tile ? N : tile, device);
  if (N > tile) product = launch + (product - launch) * (double)N / (double)tile;
  return product + 1e-12 * copy * (double)N * ((double)facts->nrows + (double)facts->ncols);
}
