/*
   NVIDIA H200 (SXM, 141 GB): written by `make fit MODEL=h200` from what examples/bench measured at 829d83e, which is
   `make bench` in both precisions, and 28 real matrices in double.
   Numbers marked "of the base model" are older: the measurement does not tell them, or they are not fitted. Those of
   sampled products are from test/results/sampled-fused-h200.csv.
*/
#pragma once

#include "model.h"

static const SpmmModel h200 = {
  .name      = "h200",
  .device    = "H200",
#if defined(HRPB_USE_SINGLE)
  .source    = "test/results/bench-single-h200.csv",
  .commit    = "829d83e",
#else
  .source    = "test/results/bench-double-h200.csv, test/results/real-end-to-end-h200.csv",
  .commit    = "829d83e",
#endif
  .cc        = 90,
  .nsm       = 132,
  .bandwidth = 4.81e12, /* bytes per second */
  .cache     = 6.29e7, /* bytes, of the base model */

  /* picoseconds */
  .bricks = {
    [HRPB_FP64] = {
      .launch       = 1.09e7,
      .least        = 1.17e7,
      .block        = 8.98e4,
      .block_column = 3.16e3,
      .brick        = 58.6,
      .brick_column = 1.25,
      .staged       = 0.429,
      .far          = 1.62,
      .dense        = 1.79,
      .cut          = 7.73e6,
      .part         = 4.07e5
    },
    [HRPB_3XTF32] = {
      .launch       = 1.09e7,
      .least        = 1.43e7, /* of the base model */
      .block        = 0,
      .block_column = 2.14e4,
      .brick        = 57,
      .brick_column = 1.24,
      .staged       = 0.42,
      .far          = 0, /* of the base model */
      .dense        = 1.03,
      .cut          = 1.11e7,
      .part         = 4e5
    },
    [HRPB_TF32] = {
      .launch       = 1.09e7,
      .least        = 1.43e7, /* of the base model */
      .block        = 0,
      .block_column = 2.17e4,
      .brick        = 46.9,
      .brick_column = 0.0538,
      .staged       = 0.535,
      .far          = 0, /* of the base model */
      .dense        = 1.14,
      .cut          = 1.27e7,
      .part         = 3.56e5
    }
  },
#if defined(HRPB_USE_SINGLE)
  .short_in_turn       = 1.04, /* of the base model */
  .narrow_windows_save = false, /* of the base model */
  .slice_columns       = 128, /* of the base model */
  .build = {
    .start  = 3.65e8,
    .entry  = 32.5,
    .staged = 160
  },
  .csr = {
    .launch           = 1.11e7,
    .column_launch    = 1.33e7, /* of the base model */
    .entry            = 2.96,
    .staged_entry     = 2.27,
    .entry_column     = 0.105,
    .in_place         = 0.411,
    .staged           = 0.111,
    .column           = 3.19, /* of the base model */
    .dense            = 2.52,
    .scattered        = 0.34,
    .spread           = 0.391,
    .turn             = 1.24e5,
    .fewest_copied    = 4, /* columns, of the base model */
    .fewest_few_rows  = 8, /* of the base model */
    .fewest_scattered = 10 /* of the base model */
  },
  .order = {
    .permute    = 0.986,
    .bricks     = 1.44, /* times */
    .level      = 3.29e7,
    .entry      = 174,
    .long_entry = 539,
    .one_row    = 1.33e5
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
  .short_in_turn       = 1.05,
  .narrow_windows_save = true, /* of the base model */
  .slice_columns       = 128, /* of the base model */
  .build = {
    .start  = 3.65e8,
    .entry  = 32.5,
    .staged = 160
  },
  .csr = {
    .launch           = 1.02e7,
    .column_launch    = 9.25e6,
    .entry            = 2.84,
    .staged_entry     = 3.4,
    .entry_column     = 0.299,
    .in_place         = 0.822,
    .staged           = 0.181,
    .column           = 5.44,
    .dense            = 4.33,
    .scattered        = 0.659,
    .spread           = 0.563,
    .turn             = 6.48e4,
    .fewest_copied    = 4, /* columns, of the base model */
    .fewest_few_rows  = 8, /* of the base model */
    .fewest_scattered = 8 /* of the base model */
  },
  .order = {
    .permute    = 0,
    .bricks     = 1.26, /* times */
    .level      = 3.23e7,
    .entry      = 209,
    .long_entry = 558,
    .one_row    = 1.6e5
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
