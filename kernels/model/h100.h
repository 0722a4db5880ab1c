/*
   NVIDIA H100 80GB HBM3: written by `make fit MODEL=h100` from what examples/bench measured.
   Numbers marked "of the base model" are those of h200: the measurement does not tell them, or they are not fitted.
*/
#pragma once

#include "model.h"

static const SpmmModel h100 = {
  .name      = "h100",
  .device    = "H100",
#if defined(HRPB_USE_SINGLE)
  .source    = "test/results/bench-single-h100.csv",
  .commit    = "a2b168f",
#else
  .source    = "test/results/real-end-to-end-h100.csv, test/results/bench-double-h100.csv",
  .commit    = "c163e5a, a2b168f",
#endif
  .cc        = 90,
  .nsm       = 132,
  .bandwidth = 3.35e12, /* bytes per second */

  /* picoseconds */
  .bricks = {
    [HRPB_FP64] = {
      .launch       = 9.92e6,
      .least        = 1.94e7,
      .block        = 4.61e5,
      .block_column = 2.55e3,
      .brick        = 62.8,
      .brick_column = 1.88,
      .staged       = 0.00943,
      .dense        = 3.92
    },
    [HRPB_3XTF32] = {
      .launch       = 1.57e7,
      .least        = 2.03e7,
      .block        = 6.41e5,
      .block_column = 2.67e4,
      .brick        = 55.7,
      .brick_column = 0.698,
      .staged       = 0.42,
      .dense        = 1.46
    },
    [HRPB_TF32] = {
      .launch       = 1.13e7, /* of the base model */
      .least        = 1.43e7, /* of the base model */
      .block        = 4.7e5, /* of the base model */
      .block_column = 3.23e3, /* of the base model */
      .brick        = 54, /* of the base model */
      .brick_column = 0.2, /* of the base model */
      .staged       = 0.7, /* of the base model */
      .dense        = 1.2 /* of the base model */
    }
  },
#if defined(HRPB_USE_SINGLE)
  .short_in_turn       = 1.04, /* of the base model */
  .narrow_windows_save = false,
  .slice_columns       = 128,
  .csr = {
    .launch           = 1.73e7,
    .column_launch    = 1.63e7,
    .entry            = 3.14,
    .staged_entry     = 2.39,
    .entry_column     = 0.13,
    .in_place         = 0.514,
    .staged           = 0.221,
    .column           = 3.53,
    .dense            = 3.66,
    .scattered        = 0.423,
    .spread           = 0,
    .spread_byte      = 5.1e-9,
    .fewest_copied    = 4, /* columns, of the base model */
    .fewest_few_rows  = 8, /* of the base model */
    .fewest_scattered = 10 /* of the base model */
  },
  .order = {
    .permute    = 9.37,
    .bricks     = 1.04, /* times */
    .level      = 8.67e7,
    .entry      = 127,
    .long_entry = 650, /* of the base model */
    .one_row    = 5.7e4 /* of the base model */
  },
  .sampled = {
    .bricks        = 1.45, /* of the base model */
    .rows          = 1.6, /* of the base model */
    .copy          = 1.5, /* of the base model */
    .fused         = 1.5, /* of the base model */
    .fused_softmax = 1.9, /* of the base model */
    .entry         = 6 /* of the base model */
  }
#else
  .short_in_turn       = 1.04,
  .narrow_windows_save = true,
  .slice_columns       = 64,
  .csr = {
    .launch           = 2.04e7,
    .column_launch    = 1.77e7,
    .entry            = 3.77,
    .staged_entry     = 4.07,
    .entry_column     = 0.367,
    .in_place         = 1.04,
    .staged           = 0.371,
    .column           = 4.91,
    .dense            = 5.35,
    .scattered        = 0.653,
    .spread           = 0,
    .spread_byte      = 1.09e-8,
    .fewest_copied    = 4, /* columns, of the base model */
    .fewest_few_rows  = 8, /* of the base model */
    .fewest_scattered = 8 /* of the base model */
  },
  .order = {
    .permute    = 8.9, /* of the base model */
    .bricks     = 1, /* times, of the base model */
    .level      = 3e7, /* of the base model */
    .entry      = 200, /* of the base model */
    .long_entry = 600, /* of the base model */
    .one_row    = 5.7e4 /* of the base model */
  },
  .sampled = {
    .bricks        = 1.3, /* of the base model */
    .rows          = 1.2, /* of the base model */
    .copy          = 1.4, /* of the base model */
    .fused         = 1.4, /* of the base model */
    .fused_softmax = 2.3, /* of the base model */
    .entry         = 10 /* of the base model */
  }
#endif
};
