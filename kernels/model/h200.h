/*
   NVIDIA H200 (SXM, 141 GB): written by `make fit MODEL=h200` from what examples/bench measured, which is `make bench`
   and 28 real matrices, in both precisions.
   Numbers marked "of the base model" are older: the measurement does not tell them, or they are not fitted. Those of
   sampled products are from test/results/sampled-fused-h200.csv, and that of sampled-staged from
   sampled-shares-h200.csv beside csr-staged.
   Since that fit parts of panels are added faster, and bricks are built with fewer waits. So cut, part and start are
   what was fitted, times what they fell by on an H100.
*/
#pragma once

#include "model.h"

static const SpmmModel h200 = {
  .name      = "h200",
  .device    = "H200",
#if defined(HRPB_USE_SINGLE)
  .source    = "test/results/bench-single-h200.csv, test/results/real-single-h200.csv",
  .commit    = "729d6f0",
#else
  .source    = "test/results/bench-double-h200.csv, test/results/real-end-to-end-h200.csv",
  .commit    = "729d6f0",
#endif
  .cc        = 90,
  .nsm       = 132,
  .bandwidth = 4.81e12, /* bytes per second */
  .cache     = 6.29e7, /* bytes, of the base model */

  /* picoseconds */
  .bricks = {
    [HRPB_FP64] = {
      .launch       = 1.09e7,
      .least        = 1.17e7, /* of the base model */
      .block        = 7.92e4,
      .block_column = 2.41e3,
      .brick        = 53.7,
      .brick_column = 1.49,
      .staged       = 0.422,
      .far          = 1.64,
      .dense        = 1.78,
      .cut          = 6.35e6,
      .part         = 2.09e5
    },
    [HRPB_3XTF32] = {
      .launch       = 1.09e7,
      .least        = 1.35e7,
      .block        = 3.13e5,
      .block_column = 2.3e3,
      .brick        = 56.5,
      .brick_column = 0.978,
      .staged       = 0.571,
      .far          = 0.648,
      .dense        = 1.09,
      .cut          = 3.65e6,
      .part         = 2.17e5
    },
    [HRPB_TF32] = {
      .launch       = 1.09e7,
      .least        = 1.35e7,
      .block        = 2.58e5,
      .block_column = 5.87e3,
      .brick        = 47.4,
      .brick_column = 0.941,
      .staged       = 0.252,
      .far          = 0, /* of the base model */
      .dense        = 1.05,
      .cut          = 4.9e6,
      .part         = 1.95e5
    }
  },
  .rows = {
    [HRPB_FP64] = {
      .launch       = 1.63e7,
      .least        = 0, /* of the base model */
      .block        = 0,
      .block_column = 623,
      .brick        = 69.9,
      .brick_column = 2.09,
      .staged       = 0,
      .far          = 2.04, /* of the base model */
      .dense        = 2.28,
      .cut          = 0,
      .part         = 2.7e5
    },
    [HRPB_3XTF32] = {
      .launch       = 1.63e7,
      .least        = 0, /* of the base model */
      .block        = 0,
      .block_column = 2.44e3,
      .brick        = 88.3,
      .brick_column = 1.99,
      .staged       = 0,
      .far          = 0, /* of the base model */
      .dense        = 2.03,
      .cut          = 0,
      .part         = 2.52e5
    },
    [HRPB_TF32] = {
      .launch       = 1.63e7,
      .least        = 0,
      .block        = 0,
      .block_column = 2.44e3,
      .brick        = 88.3,
      .brick_column = 1.99,
      .staged       = 0,
      .far          = 0,
      .dense        = 2.03,
      .cut          = 0,
      .part         = 2.52e5
    }
  },
#if defined(HRPB_USE_SINGLE)
  .short_in_turn       = 1.64,
  .narrow_windows_save = false, /* of the base model */
  .slice_columns       = 128, /* of the base model */
  .build = {
    .start  = 1.6e8,
    .entry  = 35.2,
    .staged = 186
  },
  .csr = {
    .launch           = 9.86e6,
    .column_launch    = 1.07e7,
    .entry            = 3.12,
    .staged_entry     = 2.28,
    .entry_column     = 0.116,
    .in_place         = 0.403,
    .staged           = 0.0883,
    .column           = 4.03,
    .dense            = 3.16,
    .scattered        = 0.398,
    .spread           = 0.158,
    .turn             = 6.55e4,
    .fewest_copied    = 4, /* columns, of the base model */
    .fewest_few_rows  = 8, /* of the base model */
    .fewest_scattered = 10 /* of the base model */
  },
  .order = {
    .permute    = 5.07,
    .level      = 3.46e7,
    .entry      = 205,
    .long_entry = 557,
    .one_row    = 1.56e5
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
  .short_in_turn       = 1.49,
  .narrow_windows_save = true, /* of the base model */
  .slice_columns       = 128, /* of the base model */
  .build = {
    .start  = 1.6e8,
    .entry  = 35.2,
    .staged = 186
  },
  .csr = {
    .launch           = 9.92e6,
    .column_launch    = 9.42e6,
    .entry            = 3.2,
    .staged_entry     = 3.37,
    .entry_column     = 0.285,
    .in_place         = 0.808,
    .staged           = 0.193,
    .column           = 5.9,
    .dense            = 4.23,
    .scattered        = 0.779,
    .spread           = 0.411,
    .turn             = 6.28e4,
    .fewest_copied    = 4, /* columns, of the base model */
    .fewest_few_rows  = 8, /* of the base model */
    .fewest_scattered = 8 /* of the base model */
  },
  .order = {
    .permute    = 5.28,
    .level      = 3.21e7,
    .entry      = 215,
    .long_entry = 564,
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
