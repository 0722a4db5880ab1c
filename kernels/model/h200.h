/*
   NVIDIA H200 (SXM, 141 GB): written by `make fit MODEL=h200` from what examples/bench measured at 0ca9bfa. These are
   `make bench`, 15 of its 20 families in double and 19 in single, and 28 real matrices
   (test/results/real-end-to-end-h200.csv).
   Numbers marked "of the base model" are older: the measurement does not tell them, or they are not fitted. Those of
   sampled products are from test/results/sampled-fused-h200.csv.
*/
#pragma once

#include "model.h"

static const SpmmModel h200 = {
  .name      = "h200",
  .device    = "H200",
#if defined(HRPB_USE_SINGLE)
  .source    = "make bench",
  .commit    = "0ca9bfa",
#else
  .source    = "make bench, test/results/real-end-to-end-h200.csv",
  .commit    = "0ca9bfa",
#endif
  .cc        = 90,
  .nsm       = 132,
  .bandwidth = 4.81e12, /* bytes per second */
  .cache     = 6.29e7, /* bytes */

  /* picoseconds */
  .bricks = {
    [HRPB_FP64] = {
      .launch       = 1.36e7,
      .least        = 1.47e7, /* of the base model */
      .block        = 3.49e4,
      .block_column = 3.81e3,
      .brick        = 56.5,
      .brick_column = 1.08,
      .staged       = 0.547,
      .far          = 0,
      .dense        = 1.82,
      .cut          = 1.13e7,
      .part         = 3.73e5
    },
    [HRPB_3XTF32] = {
      .launch       = 1.36e7,
      .least        = 1.43e7, /* of the base model */
      .block        = 0,
      .block_column = 2.36e4,
      .brick        = 56.2,
      .brick_column = 1.31,
      .staged       = 0.407,
      .far          = 0,
      .dense        = 0.999,
      .cut          = 1.1e7,
      .part         = 3.78e5
    },
    [HRPB_TF32] = {
      .launch       = 1.36e7,
      .least        = 1.43e7, /* of the base model */
      .block        = 0,
      .block_column = 2.32e4,
      .brick        = 46.9,
      .brick_column = 0.304,
      .staged       = 0.463,
      .far          = 0,
      .dense        = 1.06,
      .cut          = 1.27e7,
      .part         = 3.5e5
    }
  },
#if defined(HRPB_USE_SINGLE)
  .short_in_turn       = 1.04, /* of the base model */
  .narrow_windows_save = false, /* of the base model */
  .slice_columns       = 128, /* of the base model */
  .build = {
    .start  = 3.77e8,
    .entry  = 29.5,
    .staged = 164
  },
  .csr = {
    .launch           = 1.51e7,
    .column_launch    = 1.33e7, /* of the base model */
    .entry            = 2.87,
    .staged_entry     = 2.18,
    .entry_column     = 0.0991,
    .in_place         = 0.4,
    .staged           = 0.0992,
    .column           = 3.19, /* of the base model */
    .dense            = 2.85,
    .scattered        = 0.404,
    .spread           = 0.282,
    .turn             = 1.32e5,
    .fewest_copied    = 4, /* columns, of the base model */
    .fewest_few_rows  = 8, /* of the base model */
    .fewest_scattered = 10 /* of the base model */
  },
  .order = {
    .permute    = 0.511,
    .bricks     = 1.4, /* times */
    .level      = 3.28e7,
    .entry      = 185,
    .long_entry = 544,
    .one_row    = 1.32e5
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
  .short_in_turn       = 1.03,
  .narrow_windows_save = true, /* of the base model */
  .slice_columns       = 128, /* of the base model */
  .build = {
    .start  = 3.77e8,
    .entry  = 29.5,
    .staged = 164
  },
  .csr = {
    .launch           = 1.41e7,
    .column_launch    = 1.2e7,
    .entry            = 2.6,
    .staged_entry     = 3.38,
    .entry_column     = 0.304,
    .in_place         = 0.825,
    .staged           = 0.184,
    .column           = 5.01,
    .dense            = 4.21,
    .scattered        = 0.564,
    .spread           = 0.787,
    .turn             = 6.49e4,
    .fewest_copied    = 4, /* columns, of the base model */
    .fewest_few_rows  = 8, /* of the base model */
    .fewest_scattered = 8 /* of the base model */
  },
  .order = {
    .permute    = 0,
    .bricks     = 1.22, /* times */
    .level      = 3.21e7,
    .entry      = 197,
    .long_entry = 570,
    .one_row    = 1.45e5
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
