/*
   NVIDIA H100 80GB HBM3: written by `make fit MODEL=h100` from what examples/bench measured, which is `make bench` and
   28 real matrices, in both precisions.
   Numbers marked "of the base model" are older: the measurement does not tell them, or they are not fitted.
*/
#pragma once

#include "model.h"

static const SpmmModel h100 = {
  .name      = "h100",
  .device    = "H100",
#if defined(HRPB_USE_SINGLE)
  .source    = "test/results/h100-single.csv",
  .commit    = "1ca49da",
#else
  .source    = "test/results/h100-double.csv",
  .commit    = "6ff261d",
#endif
  .cc        = 90,
  .nsm       = 132,
  .bandwidth = 3.35e12, /* bytes per second */
  .cache     = 5.24e7, /* bytes, of the base model */

  /* picoseconds */
  .bricks = {
    [HRPB_FP64] = {
      .launch       = 1.14e7,
      .least        = 1.14e7, /* of the base model */
      .block        = 8.08e4,
      .block_column = 3.74e3,
      .brick        = 53.9,
      .brick_column = 1.9,
      .staged       = 0.363,
      .far          = 1.94,
      .dense        = 2.66,
      .cut          = 2.83e6,
      .part         = 2.11e5
    },
    [HRPB_3XTF32] = {
      .launch       = 1.19e7,
      .least        = 1.16e7,
      .block        = 1.83e5,
      .block_column = 6.47e3,
      .brick        = 57.6,
      .brick_column = 1.15,
      .staged       = 0.496,
      .far          = 0.428,
      .dense        = 1.08,
      .cut          = 3.98e6,
      .part         = 2.12e5
    },
    [HRPB_TF32] = {
      .launch       = 1.25e7,
      .least        = 1.12e7, /* of the base model */
      .block        = 6.21e4,
      .block_column = 7.71e3,
      .brick        = 48.7,
      .brick_column = 0.957,
      .staged       = 0.369,
      .far          = 0.697,
      .dense        = 1.33,
      .cut          = 5.2e6,
      .part         = 1.37e5
    }
  },
  .rows = {
    [HRPB_FP64] = {
      .launch       = 1.67e7,
      .least        = 0, /* of the base model */
      .block        = 0,
      .block_column = 0,
      .brick        = 78.6,
      .brick_column = 1.99,
      .staged       = 0,
      .far          = 2.03, /* of the base model */
      .dense        = 3.51,
      .cut          = 0,
      .part         = 2.83e5
    },
    [HRPB_3XTF32] = {
      .launch       = 1.6e7,
      .least        = 0, /* of the base model */
      .block        = 0,
      .block_column = 4.04e3,
      .brick        = 83.4,
      .brick_column = 1.89,
      .staged       = 0.32,
      .far          = 0, /* of the base model */
      .dense        = 0.962,
      .cut          = 0,
      .part         = 2.79e5
    },
    [HRPB_TF32] = {
      .launch       = 1.6e7,
      .least        = 0,
      .block        = 0,
      .block_column = 4.04e3,
      .brick        = 83.4,
      .brick_column = 1.89,
      .staged       = 0.32,
      .far          = 0,
      .dense        = 0.962,
      .cut          = 0,
      .part         = 2.79e5
    }
  },
#if defined(HRPB_USE_SINGLE)
  .short_in_turn       = 1.64,
  .narrow_windows_save = false, /* of the base model */
  .slice_columns       = 128, /* of the base model */
  .build = {
    .start  = 1.63e8,
    .entry  = 37.7,
    .staged = 175
  },
  .csr = {
    .launch           = 1.03e7,
    .column_launch    = 8.79e6,
    .entry            = 3.4,
    .staged_entry     = 2.7,
    .entry_column     = 0.0979,
    .in_place         = 0.52,
    .staged           = 0.0855,
    .column           = 4.44,
    .dense            = 3.28,
    .scattered        = 0.474,
    .spread           = 0.54,
    .turn             = 5.63e4,
    .fewest_copied    = 4, /* columns, of the base model */
    .fewest_few_rows  = 8, /* of the base model */
    .fewest_scattered = 10 /* of the base model */
  },
  .order = {
    .permute    = 6.79,
    .level      = 2.85e7,
    .entry      = 234,
    .long_entry = 553,
    .one_row    = 1.58e5
  },
  .sampled = {
    .bricks        = 1.45, /* of the base model */
    .staged        = 1.05, /* of the base model */
    .rows          = 1.6, /* of the base model */
    .copy          = 1.5, /* of the base model */
    .fused         = 1.5, /* of the base model */
    .fused_softmax = 1.9, /* of the base model */
    .entry         = 6 /* of the base model */
  }
#else
  .short_in_turn       = 1.7,
  .narrow_windows_save = true, /* of the base model */
  .slice_columns       = 64, /* of the base model */
  .build = {
    .start  = 1.86e8,
    .entry  = 33.7,
    .staged = 155
  },
  .csr = {
    .launch           = 1.18e7,
    .column_launch    = 1.08e7,
    .entry            = 3.76,
    .staged_entry     = 4.13,
    .entry_column     = 0.249,
    .in_place         = 1.02,
    .staged           = 0.161,
    .column           = 6.75,
    .dense            = 5.37,
    .scattered        = 0.942,
    .spread           = 0.799,
    .turn             = 6.41e4,
    .fewest_copied    = 4, /* columns, of the base model */
    .fewest_few_rows  = 8, /* of the base model */
    .fewest_scattered = 8 /* of the base model */
  },
  .order = {
    .permute    = 6.39,
    .level      = 3.57e7,
    .entry      = 222,
    .long_entry = 580,
    .one_row    = 1.59e5
  },
  .sampled = {
    .bricks        = 1.3, /* of the base model */
    .staged        = 1.05, /* of the base model */
    .rows          = 1.2, /* of the base model */
    .copy          = 1.4, /* of the base model */
    .fused         = 1.4, /* of the base model */
    .fused_softmax = 2.3, /* of the base model */
    .entry         = 10 /* of the base model */
  }
#endif
};
