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
  .commit    = "43785e8",
#else
  .source    = "test/results/bench-double-h200.csv, test/results/real-end-to-end-h200.csv",
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
      .block        = 2.69e4,
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
      .launch       = 1.04e7,
      .least        = 1.2e7,
      .block        = 3.01e5,
      .block_column = 1.57e3,
      .brick        = 60,
      .brick_column = 0.844,
      .staged       = 0.624,
      .far          = 0.568,
      .dense        = 1.06,
      .cut          = 5.08e6,
      .part         = 2.21e5
    },
    [HRPB_TF32] = {
      .launch       = 1.04e7,
      .least        = 1.24e7,
      .block        = 2.36e5,
      .block_column = 5.92e3,
      .brick        = 51.4,
      .brick_column = 0.347,
      .staged       = 0.467,
      .far          = 0, /* of the base model */
      .dense        = 1.11,
      .cut          = 4.93e6,
      .part         = 1.88e5
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
      .launch       = 1.52e7,
      .least        = 0, /* of the base model */
      .block        = 0,
      .block_column = 2.39e3,
      .brick        = 88.2,
      .brick_column = 2.11,
      .staged       = 0,
      .far          = 0, /* of the base model */
      .dense        = 2.1,
      .cut          = 0,
      .part         = 2.55e5
    },
    [HRPB_TF32] = {
      .launch       = 1.52e7,
      .least        = 0,
      .block        = 0,
      .block_column = 2.39e3,
      .brick        = 88.2,
      .brick_column = 2.11,
      .staged       = 0,
      .far          = 0,
      .dense        = 2.1,
      .cut          = 0,
      .part         = 2.55e5
    }
  },
#if defined(HRPB_USE_SINGLE)
  .short_in_turn       = 1.64,
  .narrow_windows_save = false, /* of the base model */
  .slice_columns       = 128, /* of the base model */
  .build = {
    .start  = 1.61e8,
    .entry  = 35.2,
    .staged = 164
  },
  .csr = {
    .launch           = 8.7e6,
    .column_launch    = 9.01e6,
    .entry            = 3.39,
    .staged_entry     = 2.38,
    .entry_column     = 0.105,
    .in_place         = 0.4,
    .staged           = 0.0994,
    .column           = 3.87,
    .dense            = 2.94,
    .scattered        = 0.466,
    .spread           = 0.117,
    .turn             = 7.14e4,
    .fewest_copied    = 4, /* columns, of the base model */
    .fewest_few_rows  = 8, /* of the base model */
    .fewest_scattered = 10 /* of the base model */
  },
  .order = {
    .permute    = 4.99,
    .level      = 3.17e7,
    .entry      = 197,
    .long_entry = 546,
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
  .short_in_turn       = 1.03,
  .narrow_windows_save = true, /* of the base model */
  .slice_columns       = 128, /* of the base model */
  .build = {
    .start  = 1.39e8,
    .entry  = 30.6,
    .staged = 161
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
