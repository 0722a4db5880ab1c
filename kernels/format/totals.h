/*
   How much a format holds: 64-bit sums while a builder counts, compared with the layout's 32-bit types before anything
   is allocated.
*/
#pragma once

#include <stdbool.h>

#include "hrpb.h"

typedef struct {
  int64_t nblocks, nbricks, nwindows, nbrick_cols;
  int64_t pattern, max_pattern; /* of all blocks and of the longest, in HRPB_PATTERN_UNIT bytes */
  int64_t values, max_values;   /* of all blocks and of the longest, in HRPB_VALUE_UNIT scalars */
} HrpbTotals;

static inline bool HrpbTotalsFit(const HrpbTotals *t)
{
  return t->nblocks <= INT32_MAX && t->nwindows <= UINT32_MAX && t->pattern <= UINT32_MAX && t->values <= UINT32_MAX;
}
