/*
   The model of the time of bricks that share rows of B.
*/
#pragma once

#include "../spmm.h"

#ifdef __cplusplus
extern "C" {
#endif

enum {
  LEAST_TILE      = 8,   /* columns of B of the narrowest tile */
  WIDE_COLS       = 128, /* the most columns of a thread block, where B is column-major */
  LEAST_PART      = 8,   /* blocks of the shortest part of a panel that is cut */
  ROWS_TILE_BYTES = 256 /* of a row of B that are multiplied at a time */
};

double BricksStagedSeconds(const SpmmFacts *, const HrpbParams *, HrpbPrecision, int64_t N, const SpmmDevice *);
double BricksRowsSeconds(const SpmmFacts *, const HrpbParams *, HrpbPrecision, int64_t N, const SpmmDevice *);

#ifdef __cplusplus
}
#endif
