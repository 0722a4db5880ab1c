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
      .launch       = 1.31e7,
      .least        = 1.14e7, /* of the base model */
      .block        = 0,
      .block_column = 7.49e3,
      .brick        = 57.8,
      .brick_column = 2,
      .staged       = 0.157,
      .far          = 0.625,
      .dense        = 2.55,
      .cut          = 2.15e6,
      .part         = 2.19e5
    },
    [HRPB_3XTF32] = {
      .launch       = 1.31e7,
      .least        = 1.16e7, /* of the base model */
      .block        = 1.03e5,
      .block_column = 1.14e4,
      .brick        = 62.5,
      .brick_column = 0.877,
      .staged       = 0.423,
      .far          = 0.496,
      .dense        = 1.04,
      .cut          = 3.81e6,
      .part         = 2.16e5
    },
    [HRPB_TF32] = {
      .launch       = 1.31e7,
      .least        = 1.12e7, /* of the base model */
      .block        = 0,
      .block_column = 1.25e4,
      .brick        = 54.4,
      .brick_column = 0.725,
      .staged       = 0.288,
      .far          = 0.743,
      .dense        = 1.3,
      .cut          = 4.98e6,
      .part         = 1.42e5
    }
  },
  .rows = {
    [HRPB_FP64] = {
      .launch       = 1.69e7,
      .least        = 0, /* of the base model */
      .block        = 0,
      .block_column = 0,
      .brick        = 81.8,
      .brick_column = 1.81,
      .staged       = 0,
      .far          = 2.03, /* of the base model */
      .dense        = 3.59,
      .cut          = 0,
      .part         = 2.83e5
    },
    [HRPB_3XTF32] = {
      .launch       = 1.62e7,
      .least        = 0, /* of the base model */
      .block        = 0,
      .block_column = 2.24e3,
      .brick        = 84.3,
      .brick_column = 1.99,
      .staged       = 0.159,
      .far          = 0, /* of the base model */
      .dense        = 1.68,
      .cut          = 0,
      .part         = 2.7e5
    },
    [HRPB_TF32] = {
      .launch       = 1.62e7,
      .least        = 0,
      .block        = 0,
      .block_column = 2.24e3,
      .brick        = 84.3,
      .brick_column = 1.99,
      .staged       = 0.159,
      .far          = 0,
      .dense        = 1.68,
      .cut          = 0,
      .part         = 2.7e5
    }
  },
#if defined(HRPB_USE_SINGLE)
  .narrow_windows_save = false, /* of the base model */
  .slice_columns       = 128, /* of the base model */
  .build = {
    .start  = 1.77e8,
    .entry  = 35.3,
    .staged = 163
  },
  .csr = {
    .launch           = 1.05e7,
    .column_launch    = 8.79e6,
    .entry            = 3.51,
    .staged_entry     = 2.68,
    .entry_column     = 0.0936,
    .in_place         = 0.515,
    .staged           = 0.0864,
    .column           = 4.44,
    .dense            = 3.25,
    .scattered        = 0.323,
    .spread           = 0.718,
    .turn             = 5.63e4,
    .fewest_copied    = 4, /* columns, of the base model */
    .fewest_few_rows  = 8, /* of the base model */
    .fewest_scattered = 10 /* of the base model */
  },
  .order = {
    .permute    = 5.95,
    .level      = 1.92e7,
    .entry      = 213,
    .long_entry = 531,
    .one_row    = 1.38e5
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
  .slice_columns       = 64, /* of the base model */
  .build = {
    .start  = 1.77e8,
    .entry  = 35.3,
    .staged = 163
  },
  .csr = {
    .launch           = 1.21e7,
    .column_launch    = 1.08e7,
    .entry            = 3.99,
    .staged_entry     = 4.11,
    .entry_column     = 0.227,
    .in_place         = 1.01,
    .staged           = 0.147,
    .column           = 6.78,
    .dense            = 5.7,
    .scattered        = 0.52,
    .spread           = 1.23,
    .turn             = 6.38e4,
    .fewest_copied    = 4, /* columns, of the base model */
    .fewest_few_rows  = 8, /* of the base model */
    .fewest_scattered = 8 /* of the base model */
  },
  .order = {
    .permute    = 6.25,
    .level      = 2.64e7,
    .entry      = 210,
    .long_entry = 558,
    .one_row    = 1.39e5
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
