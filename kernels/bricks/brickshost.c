#include "../format/block.h"

enum {
  TILE_COLS = 8 /* columns of B at a time: a brick is taken apart once for all of them */
};

/* ncols <= TILE_COLS columns of one strip of C: all its bricks, whatever their block, in ascending column order */
static void MultiplyStrip(const Hrpb *h, const HrpbScalar *values, int32_t p, int32_t strip, int32_t ncols, const HrpbScalar *B, int64_t ldb, HrpbScalar *C, int64_t ldc)
{
  const int32_t first                               = strip * h->params.brick_rows;
  HrpbScalar    sum[HRPB_MAX_BRICK_ROWS][TILE_COLS] = {{0}};

  for (uint32_t b = h->blocked_row_ptr[p]; b < h->blocked_row_ptr[p + 1]; b++) {
    const HrpbBlock   block        = HrpbGetBlock(h, b);
    const HrpbScalar *block_values = values + (size_t)h->value_ptr[b] * HRPB_VALUE_UNIT;

    for (uint32_t brick = block.strip_start[strip]; brick < block.strip_start[strip + 1]; brick++) {
      const HrpbScalar *a      = block_values + block.brick[brick].value[0];
      const uint8_t    *column = block.brick[brick].column;

      for (uint64_t bits = HrpbBrickPattern(&block.brick[brick]); bits; bits &= bits - 1, a++) {
        const int32_t     slot = __builtin_ctzll(bits);
        const HrpbScalar *x    = B + HrpbBlockColumn(h, b, column[slot % HRPB_BRICK_COLS]);

        for (int32_t j = 0; j < ncols; j++) sum[slot / HRPB_BRICK_COLS][j] += *a * x[j * ldb];
      }
    }
  }
  for (int32_t i = 0; i < h->params.brick_rows && first + i < HrpbPanelRows(h, p); i++) {
    HrpbScalar *c = C + HrpbPanelRow(h, p, first + i);

    for (int32_t j = 0; j < ncols; j++) c[j * ldc] = sum[i][j];
  }
}

void HrpbMultiplyHost(const Hrpb *h, const HrpbScalar *values, int64_t N, const HrpbScalar *B, int64_t ldb, HrpbScalar *C, int64_t ldc)
{
  const int32_t nstrips = h->params.panel_rows / h->params.brick_rows;

  for (int64_t n = 0; n < N; n += TILE_COLS) {
    const int32_t ncols = N - n < TILE_COLS ? (int32_t)(N - n) : TILE_COLS;

    for (int32_t p = 0; p < h->npanels; p++) {
      for (int32_t strip = 0; strip < nstrips; strip++) MultiplyStrip(h, values, p, strip, ncols, B + n * ldb, ldb, C + n * ldc, ldc);
    }
  }
}
