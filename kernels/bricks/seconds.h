/*
   The model of the time of bricks-rows.
*/
#pragma once

#include "../spmm.h"

#ifdef __cplusplus
extern "C" {
#endif

enum {
  ROWS_TILE_BYTES = 256 /* of a row of B that are multiplied at a time */
};

double BricksRowsSeconds(const SpmmFacts *, const HrpbParams *, HrpbPrecision, int64_t N, const SpmmDevice *);

#ifdef __cplusplus
}
#endif
