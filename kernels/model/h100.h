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
  .source    = "test/results/bench-single-h100.csv, test/results/real-single-h100.csv",
  .commit    = "729d6f0",
#else
  .source    = "test/results/bench-double-h100.csv, test/results/real-end-to-end-h100.csv",
  .commit    = "729d6f0",
#endif
  .cc        = 90,
  .nsm       = 132,
  .bandwidth = 3.35e12, /* bytes per second */
  .cache     = 5.24e7, /* bytes, of the base model */

  /* picoseconds */
  .bricks = {
    [HRPB_FP64] = {
      .launch       = 1.03e7,
      .least        = 1.21e7,
      .block        = 1.39e5,
      .block_column = 262,
      .brick        = 52.8,
      .brick_column = 1.91,
      .staged       = 0.449,
      .far          = 1.8,
      .dense        = 2.76,
      .cut          = 7.67e6,
      .part         = 4.41e5
    },
    [HRPB_3XTF32] = {
      .launch       = 1.03e7,
      .least        = 1.15e7,
      .block        = 2.22e5,
      .block_column = 4.16e3,
      .brick        = 58.2,
      .brick_column = 0.802,
      .staged       = 0.59,
      .far          = 0.819,
      .dense        = 1.23,
      .cut          = 6.42e6,
      .part         = 4.37e5
    },
    [HRPB_TF32] = {
      .launch       = 1.03e7,
      .least        = 1.12e7, /* of the base model */
      .block        = 1.65e5,
      .block_column = 5.65e3,
      .brick        = 51.2,
      .brick_column = 0.894,
      .staged       = 0.285,
      .far          = 0, /* of the base model */
      .dense        = 1.44,
      .cut          = 7.32e6,
      .part         = 3.69e5
    }
  },
  .rows = {
    [HRPB_FP64] = {
      .launch       = 1.62e7,
      .least        = 0, /* of the base model */
      .block        = 0,
      .block_column = 0,
      .brick        = 77.2,
      .brick_column = 2.28,
      .staged       = 0,
      .far          = 2.03, /* of the base model */
      .dense        = 3.62,
      .cut          = 0,
      .part         = 4.97e5
    },
    [HRPB_3XTF32] = {
      .launch       = 1.51e7,
      .least        = 0, /* of the base model */
      .block        = 0,
      .block_column = 1.45e3,
      .brick        = 87.8,
      .brick_column = 2.05,
      .staged       = 0,
      .far          = 0, /* of the base model */
      .dense        = 2.25,
      .cut          = 0,
      .part         = 4.48e5
    },
    [HRPB_TF32] = {
      .launch       = 1.51e7,
      .least        = 0,
      .block        = 0,
      .block_column = 1.45e3,
      .brick        = 87.8,
      .brick_column = 2.05,
      .staged       = 0,
      .far          = 0,
      .dense        = 2.25,
      .cut          = 0,
      .part         = 4.48e5
    }
  },
#if defined(HRPB_USE_SINGLE)
  .short_in_turn       = 1.64,
  .narrow_windows_save = false, /* of the base model */
  .slice_columns       = 128, /* of the base model */
  .build = {
    .start  = 3.13e8,
    .entry  = 39.2,
    .staged = 179
  },
  .csr = {
    .launch           = 8.25e6,
    .column_launch    = 8.45e6,
    .entry            = 3.59,
    .staged_entry     = 2.79,
    .entry_column     = 0.0934,
    .in_place         = 0.52,
    .staged           = 0.0765,
    .column           = 4.36,
    .dense            = 3.52,
    .scattered        = 0.491,
    .spread           = 0.39,
    .turn             = 6.75e4,
    .fewest_copied    = 4, /* columns, of the base model */
    .fewest_few_rows  = 8, /* of the base model */
    .fewest_scattered = 10 /* of the base model */
  },
  .order = {
    .permute    = 5.17,
    .level      = 2.81e7,
    .entry      = 227,
    .long_entry = 564,
    .one_row    = 1.61e5
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
  .slice_columns       = 64, /* of the base model */
  .build = {
    .start  = 3.13e8,
    .entry  = 39.2,
    .staged = 179
  },
  .csr = {
    .launch           = 1.04e7,
    .column_launch    = 9.35e6,
    .entry            = 3.89,
    .staged_entry     = 4.16,
    .entry_column     = 0.244,
    .in_place         = 1.01,
    .staged           = 0.172,
    .column           = 6.4,
    .dense            = 5.01,
    .scattered        = 0.937,
    .spread           = 1.03,
    .turn             = 6.49e4,
    .fewest_copied    = 4, /* columns, of the base model */
    .fewest_few_rows  = 8, /* of the base model */
    .fewest_scattered = 8 /* of the base model */
  },
  .order = {
    .permute    = 5.38,
    .level      = 3.27e7,
    .entry      = 225,
    .long_entry = 572,
    .one_row    = 1.63e5
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
