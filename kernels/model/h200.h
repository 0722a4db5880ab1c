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
      .launch       = 1.19e7,
      .least        = 1.16e7, /* of the base model */
      .block        = 0,
      .block_column = 1.09e4,
      .brick        = 62.5,
      .brick_column = 1.52,
      .staged       = 0.143,
      .far          = 0.477,
      .dense        = 1.59,
      .cut          = 4.93e6,
      .part         = 1.45e5
    },
    [HRPB_3XTF32] = {
      .launch       = 1.19e7,
      .least        = 1.2e7, /* of the base model */
      .block        = 3.42e5,
      .block_column = 7.58e3,
      .brick        = 56.7,
      .brick_column = 1.01,
      .staged       = 0.405,
      .far          = 0.432,
      .dense        = 0.635,
      .cut          = 3.92e6,
      .part         = 1.99e5
    },
    [HRPB_TF32] = {
      .launch       = 1.19e7,
      .least        = 1.24e7, /* of the base model */
      .block        = 2.19e5,
      .block_column = 1.15e4,
      .brick        = 51.9,
      .brick_column = 0.516,
      .staged       = 0.262,
      .far          = 0, /* of the base model */
      .dense        = 0.749,
      .cut          = 5.49e6,
      .part         = 1.59e5
    }
  },
  .rows = {
    [HRPB_FP64] = {
      .launch       = 1.73e7,
      .least        = 0, /* of the base model */
      .block        = 0,
      .block_column = 0,
      .brick        = 68.4,
      .brick_column = 1.85,
      .staged       = 0.103,
      .far          = 2.04, /* of the base model */
      .dense        = 2.12,
      .cut          = 0,
      .part         = 2.2e5
    },
    [HRPB_3XTF32] = {
      .launch       = 1.76e7,
      .least        = 0, /* of the base model */
      .block        = 0,
      .block_column = 3.38e3,
      .brick        = 85.9,
      .brick_column = 2.15,
      .staged       = 0.046,
      .far          = 0, /* of the base model */
      .dense        = 1.06,
      .cut          = 0,
      .part         = 2.43e5
    },
    [HRPB_TF32] = {
      .launch       = 1.76e7,
      .least        = 0,
      .block        = 0,
      .block_column = 3.38e3,
      .brick        = 85.9,
      .brick_column = 2.15,
      .staged       = 0.046,
      .far          = 0,
      .dense        = 1.06,
      .cut          = 0,
      .part         = 2.43e5
    }
  },
#if defined(HRPB_USE_SINGLE)
  .narrow_windows_save = false, /* of the base model */
  .slice_columns       = 128, /* of the base model */
  .build = {
    .start  = 1.9e8,
    .entry  = 29.9,
    .staged = 163
  },
  .csr = {
    .launch           = 1.12e7,
    .column_launch    = 1.06e7,
    .entry            = 3.32,
    .staged_entry     = 2.27,
    .entry_column     = 0.115,
    .in_place         = 0.392,
    .staged           = 0.0981,
    .column           = 3.89,
    .dense            = 3.01,
    .scattered        = 0.268,
    .spread           = 0.315,
    .turn             = 6.13e4,
    .fewest_copied    = 4, /* columns, of the base model */
    .fewest_few_rows  = 8, /* of the base model */
    .fewest_scattered = 10 /* of the base model */
  },
  .order = {
    .permute    = 5.3,
    .level      = 2.95e7,
    .entry      = 168,
    .long_entry = 523,
    .one_row    = 1.39e5
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
  .narrow_windows_save = true, /* of the base model */
  .slice_columns       = 128, /* of the base model */
  .build = {
    .start  = 1.9e8,
    .entry  = 29.9,
    .staged = 163
  },
  .csr = {
    .launch           = 1.23e7,
    .column_launch    = 1.12e7,
    .entry            = 3.15,
    .staged_entry     = 3.39,
    .entry_column     = 0.299,
    .in_place         = 0.813,
    .staged           = 0.196,
    .column           = 5.84,
    .dense            = 4.05,
    .scattered        = 0.365,
    .spread           = 0.886,
    .turn             = 6.5e4,
    .fewest_copied    = 4, /* columns, of the base model */
    .fewest_few_rows  = 8, /* of the base model */
    .fewest_scattered = 8 /* of the base model */
  },
  .order = {
    .permute    = 5.33,
    .level      = 2.55e7,
    .entry      = 205,
    .long_entry = 534,
    .one_row    = 1.36e5
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
