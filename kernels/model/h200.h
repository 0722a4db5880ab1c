/*
   NVIDIA H200 (SXM, 141 GB): written by `make fit MODEL=h200` from what examples/bench measured, which is `make bench`
   and 28 real matrices, in both precisions.
   Numbers marked "of the base model" are older: the measurement does not tell them, or they are not fitted. Those of
   sampled products are from test/results/sampled-fused-h200.csv, and that of sampled-staged from
   sampled-shares-h200.csv beside csr-staged.
*/
#pragma once

#include "model.h"

static const SpmmModel h200 = {
  .name      = "h200",
  .device    = "H200",
#if defined(HRPB_USE_SINGLE)
  .source    = "test/results/bench-single-h200.csv, test/results/real-single-h200.csv",
  .commit    = "6ff261d",
#else
  .source    = "test/results/bench-double-h200.csv, test/results/real-double-h200.csv",
  .commit    = "6ff261d",
#endif
  .cc        = 90,
  .nsm       = 132,
  .bandwidth = 4.81e12, /* bytes per second */
  .cache     = 6.29e7, /* bytes, of the base model */

  /* picoseconds */
  .bricks = {
    [HRPB_FP64] = {
      .launch       = 1.16e7,
      .least        = 1.16e7, /* of the base model */
      .block        = 2.66e4,
      .block_column = 3.74e3,
      .brick        = 50.9,
      .brick_column = 1.67,
      .staged       = 0.375,
      .far          = 1.71,
      .dense        = 1.63,
      .cut          = 4.25e6,
      .part         = 1.68e5
    },
    [HRPB_3XTF32] = {
      .launch       = 1.16e7,
      .least        = 1.2e7, /* of the base model */
      .block        = 2.94e5,
      .block_column = 2.42e3,
      .brick        = 53.2,
      .brick_column = 0.934,
      .staged       = 0.576,
      .far          = 0.678,
      .dense        = 0.709,
      .cut          = 4.94e6,
      .part         = 1.95e5
    },
    [HRPB_TF32] = {
      .launch       = 1.16e7,
      .least        = 1.24e7, /* of the base model */
      .block        = 2.41e5,
      .block_column = 6.1e3,
      .brick        = 45.6,
      .brick_column = 0.727,
      .staged       = 0.34,
      .far          = 0, /* of the base model */
      .dense        = 0.793,
      .cut          = 6.18e6,
      .part         = 1.59e5
    }
  },
  .rows = {
    [HRPB_FP64] = {
      .launch       = 1.6e7,
      .least        = 0, /* of the base model */
      .block        = 0,
      .block_column = 0,
      .brick        = 65.6,
      .brick_column = 2.07,
      .staged       = 0.0533,
      .far          = 2.04, /* of the base model */
      .dense        = 2.09,
      .cut          = 0,
      .part         = 2.13e5
    },
    [HRPB_3XTF32] = {
      .launch       = 1.71e7,
      .least        = 0, /* of the base model */
      .block        = 0,
      .block_column = 2.21e3,
      .brick        = 86.1,
      .brick_column = 2.04,
      .staged       = 0,
      .far          = 0, /* of the base model */
      .dense        = 1.66,
      .cut          = 0,
      .part         = 2.36e5
    },
    [HRPB_TF32] = {
      .launch       = 1.71e7,
      .least        = 0,
      .block        = 0,
      .block_column = 2.21e3,
      .brick        = 86.1,
      .brick_column = 2.04,
      .staged       = 0,
      .far          = 0,
      .dense        = 1.66,
      .cut          = 0,
      .part         = 2.36e5
    }
  },
#if defined(HRPB_USE_SINGLE)
  .short_in_turn       = 1.64,
  .narrow_windows_save = false, /* of the base model */
  .slice_columns       = 128, /* of the base model */
  .build = {
    .start  = 1.71e8,
    .entry  = 30.3,
    .staged = 157
  },
  .csr = {
    .launch           = 1.08e7,
    .column_launch    = 1.06e7,
    .entry            = 3.27,
    .staged_entry     = 2.3,
    .entry_column     = 0.103,
    .in_place         = 0.395,
    .staged           = 0.0933,
    .column           = 3.88,
    .dense            = 3.14,
    .scattered        = 0.449,
    .spread           = 0.0812,
    .turn             = 6.4e4,
    .fewest_copied    = 4, /* columns, of the base model */
    .fewest_few_rows  = 8, /* of the base model */
    .fewest_scattered = 10 /* of the base model */
  },
  .order = {
    .permute    = 4.66,
    .level      = 3.9e7,
    .entry      = 176,
    .long_entry = 545,
    .one_row    = 1.59e5
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
  .short_in_turn       = 1.03,
  .narrow_windows_save = true, /* of the base model */
  .slice_columns       = 128, /* of the base model */
  .build = {
    .start  = 1.71e8,
    .entry  = 30.3,
    .staged = 157
  },
  .csr = {
    .launch           = 1.07e7,
    .column_launch    = 1.03e7,
    .entry            = 2.91,
    .staged_entry     = 3.39,
    .entry_column     = 0.298,
    .in_place         = 0.828,
    .staged           = 0.195,
    .column           = 5.77,
    .dense            = 4.33,
    .scattered        = 0.672,
    .spread           = 0.582,
    .turn             = 6.68e4,
    .fewest_copied    = 4, /* columns, of the base model */
    .fewest_few_rows  = 8, /* of the base model */
    .fewest_scattered = 8 /* of the base model */
  },
  .order = {
    .permute    = 5.97,
    .level      = 3.06e7,
    .entry      = 222,
    .long_entry = 551,
    .one_row    = 1.58e5
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
