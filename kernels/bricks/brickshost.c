/*
   The product by bricks on the host: the reference for those on a device.
*/
#include <stdlib.h>

#include "../common/operands.h"
#include "../format/block.h"

enum {
  TILE_COLS = 8 /* columns of B at a time: a brick is taken apart once for all of them */
};

/*
   Multiply ncols <= TILE_COLS columns of one strip of C, which is column-major: all its bricks, whatever their block,
   in ascending column order
*/
static void MultiplyStrip(const Hrpb *h, const HrpbScalar *values, int32_t p, int32_t strip, int32_t ncols, SpmmView B, HrpbScalar *C, int64_t ldc)
{
  const int32_t first                               = strip * h->params.brick_rows;
  HrpbScalar    sum[HRPB_MAX_BRICK_ROWS][TILE_COLS] = {{0}};

  for (uint32_t b = h->blocked_row_ptr[p]; b < h->blocked_row_ptr[p + 1]; b++) {
    const HrpbBlock   block        = HrpbGetBlock(h, b);
    const HrpbScalar *block_values = values + (size_t)h->value_ptr[b] * HRPB_VALUE_UNIT;

    for (uint32_t brick = block.strip_start[strip]; brick < block.strip_start[strip + 1]; brick++) {
      const uint8_t *column = block.brick[brick].column;

      for (uint64_t bits = HrpbBrickPattern(&block.brick[brick]); bits; bits &= bits - 1) {
        const int32_t     slot = __builtin_ctzll(bits);
        const HrpbScalar  a    = HrpbValueOf(&block.brick[brick], (uint32_t)slot, h->params.pairs, block_values);
        const HrpbScalar *x    = B.array + HrpbBlockColumn(h, b, column[slot % HRPB_BRICK_COLS]) * B.row;

        for (int32_t j = 0; j < ncols; j++) sum[slot / HRPB_BRICK_COLS][j] += a * x[j * B.column];
      }
    }
  }
  for (int32_t i = 0; i < h->params.brick_rows && first + i < HrpbPanelRows(h, p); i++) {
    HrpbScalar *c = C + HrpbPanelRow(h, p, first + i);

    for (int32_t j = 0; j < ncols; j++) c[j * ldc] = sum[i][j];
  }
}

static void MultiplyTile(const Hrpb *h, const HrpbScalar *values, int32_t ncols, SpmmView B, HrpbScalar *C, int64_t ldc)
{
  const int32_t nstrips = h->params.panel_rows / h->params.brick_rows;

  for (int32_t p = 0; p < h->npanels; p++) {
    for (int32_t strip = 0; strip < nstrips; strip++) MultiplyStrip(h, values, p, strip, ncols, B, C, ldc);
  }
}

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
  const bool  in_place = o->update == SPMM_ASSIGN && o->Y.layout == SPMM_COLUMN_MAJOR;
  HrpbScalar *ax       = in_place ? NULL : (HrpbScalar *)malloc(sizeof(*ax) * (size_t)A->nrows * TILE_COLS);

  (void)work;
  (void)stream;
  if (!in_place && !ax) return HRPB_ERR_MEMORY;
  for (int64_t first = 0; first < o->N; first += TILE_COLS) {
    const int32_t      ncols = o->N - first < TILE_COLS ? (int32_t)(o->N - first) : TILE_COLS;
    const SpmmOperands tile  = SpmmColumns(o, first, ncols);
    const SpmmFinish   f     = SpmmFinishOf(&tile, ax, A->nrows);
    const SpmmView     y     = SpmmViewOf(tile.Y.array, tile.Y.ld, tile.Y.layout);

    if (in_place) MultiplyTile(A->hrpb, A->brick_values, ncols, f.X, tile.Y.array, tile.Y.ld);
    else {
      MultiplyTile(A->hrpb, A->brick_values, ncols, f.X, ax, A->nrows);
      for (int32_t n = 0; n < ncols; n++) {
        for (int64_t i = 0; i < A->nrows; i++) tile.Y.array[i * y.row + n * y.column] = SpmmFinished(&f, i, n);
      }
    }
  }
  free(ax);
  return HRPB_SUCCESS;
}

SPMM_KERNEL(SpmmBricksHost) = {
  .name   = "bricks-host",
  .what   = "bricks, strip by strip",
  .op     = SPMM_OP_PRODUCT,
  .format = SPMM_BRICKS,
  .host   = true,
  .takes  = Takes,
  .run    = Run
};

void HrpbMultiplyHost(const Hrpb *h, const HrpbScalar *values, int64_t N, const HrpbScalar *B, int64_t ldb, HrpbScalar *C, int64_t ldc)
{
  const SpmmMatrix   A = {.nrows = h->nrows, .ncols = h->ncols, .hrpb = h, .brick_values = values};
  const SpmmOperands o = SpmmPlain(N, B, ldb, C, ldc);

  (void)Run(&A, &o, NULL, NULL); /* this needs no memory of its own for these operands */
}
