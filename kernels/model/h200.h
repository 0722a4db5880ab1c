/*
   NVIDIA H200 (SXM, 141 GB): written by `make fit MODEL=h200` from what examples/bench measured, which is `make bench`
   in both precisions, and 28 real matrices in double.
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
      .launch       = 1.16e7,
      .least        = 1.17e7, /* of the base model */
      .block        = 6.96e4,
      .block_column = 2.62e3,
      .brick        = 53.5,
      .brick_column = 1.51,
      .staged       = 0.386,
      .far          = 1.69,
      .dense        = 1.8,
      .cut          = 1.04e7,
      .part         = 3.84e5
    },
    [HRPB_3XTF32] = {
      .launch       = 1.09e7, /* of the base model */
      .least        = 1.43e7, /* of the base model */
      .block        = 0, /* of the base model */
      .block_column = 2.14e4, /* of the base model */
      .brick        = 57, /* of the base model */
      .brick_column = 1.24, /* of the base model */
      .staged       = 0.42, /* of the base model */
      .far          = 0, /* of the base model */
      .dense        = 1.03, /* of the base model */
      .cut          = 1.11e7, /* of the base model */
      .part         = 4e5 /* of the base model */
    },
    [HRPB_TF32] = {
      .launch       = 1.09e7, /* of the base model */
      .least        = 1.43e7, /* of the base model */
      .block        = 0, /* of the base model */
      .block_column = 2.17e4, /* of the base model */
      .brick        = 46.9, /* of the base model */
      .brick_column = 0.0538, /* of the base model */
      .staged       = 0.535, /* of the base model */
      .far          = 0, /* of the base model */
      .dense        = 1.14, /* of the base model */
      .cut          = 1.27e7, /* of the base model */
      .part         = 3.56e5 /* of the base model */
    }
  },
  .rows = {
    [HRPB_FP64] = {
      .launch       = 1.69e7,
      .least        = 0, /* of the base model */
      .block        = 0,
      .block_column = 722,
      .brick        = 72,
      .brick_column = 2.02,
      .staged       = 0,
      .far          = 2.04, /* of the base model */
      .dense        = 2.28,
      .cut          = 0,
      .part         = 4.36e5
    },
    [HRPB_3XTF32] = {
      .launch       = 1.09e7, /* of the base model */
      .least        = 0, /* of the base model */
      .block        = 0, /* of the base model */
      .block_column = 3.08e4, /* of the base model */
      .brick        = 82.1, /* of the base model */
      .brick_column = 1.79, /* of the base model */
      .staged       = 0.605, /* of the base model */
      .far          = 0, /* of the base model */
      .dense        = 2.52, /* of the base model */
      .cut          = 1.6e7, /* of the base model */
      .part         = 5.76e5 /* of the base model */
    },
    [HRPB_TF32] = {
      .launch       = 1.09e7, /* of the base model */
      .least        = 0, /* of the base model */
      .block        = 0, /* of the base model */
      .block_column = 3.12e4, /* of the base model */
      .brick        = 67.5, /* of the base model */
      .brick_column = 0.0775, /* of the base model */
      .staged       = 0.77, /* of the base model */
      .far          = 0, /* of the base model */
      .dense        = 2.52, /* of the base model */
      .cut          = 1.83e7, /* of the base model */
      .part         = 5.13e5 /* of the base model */
    }
  },
#if defined(HRPB_USE_SINGLE)
  .short_in_turn       = 1.04, /* of the base model */
  .narrow_windows_save = false, /* of the base model */
  .slice_columns       = 128, /* of the base model */
  .build = {
    .start  = 3.65e8, /* of the base model */
    .entry  = 32.5, /* of the base model */
    .staged = 160 /* of the base model */
  },
  .csr = {
    .launch           = 1.11e7, /* of the base model */
    .column_launch    = 1.33e7, /* of the base model */
    .entry            = 2.96, /* of the base model */
    .staged_entry     = 2.27, /* of the base model */
    .entry_column     = 0.105, /* of the base model */
    .in_place         = 0.411, /* of the base model */
    .staged           = 0.111, /* of the base model */
    .column           = 3.19, /* of the base model */
    .dense            = 2.52, /* of the base model */
    .scattered        = 0.34, /* of the base model */
    .spread           = 0.391, /* of the base model */
    .turn             = 1.24e5, /* of the base model */
    .fewest_copied    = 4, /* columns, of the base model */
    .fewest_few_rows  = 8, /* of the base model */
    .fewest_scattered = 10 /* of the base model */
  },
  .order = {
    .permute    = 0.986, /* of the base model */
    .level      = 3.29e7, /* of the base model */
    .entry      = 174, /* of the base model */
    .long_entry = 539, /* of the base model */
    .one_row    = 1.33e5 /* of the base model */
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
  .short_in_turn       = 1.34,
  .narrow_windows_save = true, /* of the base model */
  .slice_columns       = 128, /* of the base model */
  .build = {
    .start  = 3.42e8,
    .entry  = 33.4,
    .staged = 180
  },
  .csr = {
    .launch           = 1.01e7,
    .column_launch    = 1.06e7,
    .entry            = 3.18,
    .staged_entry     = 3.36,
    .entry_column     = 0.285,
    .in_place         = 0.807,
    .staged           = 0.191,
    .column           = 5.17,
    .dense            = 4.29,
    .scattered        = 0.728,
    .spread           = 0.471,
    .turn             = 6.47e4,
    .fewest_copied    = 4, /* columns, of the base model */
    .fewest_few_rows  = 8, /* of the base model */
    .fewest_scattered = 8 /* of the base model */
  },
  .order = {
    .permute    = 5.25,
    .level      = 3.29e7,
    .entry      = 206,
    .long_entry = 567,
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
