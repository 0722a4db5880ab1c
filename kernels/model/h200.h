/*
   NVIDIA H200 (SXM, 141 GB): written by `make fit MODEL=h200` from what examples/bench measured, which is `make bench`
   and 28 real matrices, in both precisions.
   Numbers marked "of the base model" are older: the measurement does not tell them, or they are not fitted. Those of
   sampled products are of c77c20d, and that of sampled-staged, beside csr-staged, of 1274e92.
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
  .source    = "test/results/bench-double-h200.csv, test/results/real-double-h200.csv, test/results/papers-h200.csv (densities)",
  .commit    = "07c204b, 6eee554, 4f90dfc",
#endif
  .cc        = 90,
  .nsm       = 132,
  .bandwidth = 4.81e12, /* bytes per second */
  .cache     = 6.29e7, /* bytes, of the base model */

  /* picoseconds */
  .bricks = {
    [HRPB_FP64] = {
      .launch       = 1.28e7,
      .least        = 1.16e7, /* of the base model */
      .block        = 0,
      .block_column = 4.33e3,
      .brick        = 56,
      .brick_column = 1.64,
      .staged       = 0.316,
      .far          = 0.592,
      .dense        = 1.72,
      .cut          = 6.14e6,
      .part         = 1.42e5
    },
    [HRPB_3XTF32] = {
      .launch       = 1.21e7,
      .least        = 1.2e7, /* of the base model */
      .block        = 2.55e5,
      .block_column = 2.48e3,
      .brick        = 52.9,
      .brick_column = 0.978,
      .staged       = 0.568,
      .far          = 0.688,
      .dense        = 0.682,
      .cut          = 5.14e6,
      .part         = 1.96e5
    },
    [HRPB_TF32] = {
      .launch       = 1.21e7,
      .least        = 1.24e7, /* of the base model */
      .block        = 2.08e5,
      .block_column = 6.1e3,
      .brick        = 45.4,
      .brick_column = 0.761,
      .staged       = 0.333,
      .far          = 0, /* of the base model */
      .dense        = 0.771,
      .cut          = 6.31e6,
      .part         = 1.6e5
    }
  },
  .rows = {
    [HRPB_FP64] = {
      .launch       = 1.75e7,
      .least        = 0, /* of the base model */
      .block        = 0,
      .block_column = 0,
      .brick        = 66.8,
      .brick_column = 1.96,
      .staged       = 0.0989,
      .far          = 2.04, /* of the base model */
      .dense        = 2.02,
      .cut          = 0,
      .part         = 2.21e5
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
    .start  = 1.93e8,
    .entry  = 29.4,
    .staged = 161
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
    .spread           = 0.0809,
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
  .short_in_turn       = 0.222,
  .narrow_windows_save = true, /* of the base model */
  .slice_columns       = 128, /* of the base model */
  .build = {
    .start  = 1.72e8,
    .entry  = 33.8,
    .staged = 158
  },
  .csr = {
    .launch           = 1.2e7,
    .column_launch    = 1.12e7,
    .entry            = 2.95,
    .staged_entry     = 3.42,
    .entry_column     = 0.315,
    .in_place         = 0.82,
    .staged           = 0.192,
    .column           = 5.79,
    .dense            = 4.14,
    .scattered        = 0.655,
    .spread           = 0.528,
    .turn             = 6.73e4,
    .fewest_copied    = 4, /* columns, of the base model */
    .fewest_few_rows  = 8, /* of the base model */
    .fewest_scattered = 8 /* of the base model */
  },
  .order = {
    .permute    = 5.43,
    .level      = 3.49e7,
    .entry      = 214,
    .long_entry = 558,
    .one_row    = 1.57e5
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
