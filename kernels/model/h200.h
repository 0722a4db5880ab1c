/*
   NVIDIA H200 (SXM, 141 GB). The numbers were fitted to what examples/bench measured (test/results/README.md), and to
   28 real matrices (test/results/kernels-real-h200.csv). Those of csr-copy for scattered columns and of reordering are
   from runs of their own, those of sampled products from test/results/sampled-fused-h200.csv. TF32 has those of
   3xTF32, but for bricks.
*/
#pragma once

#include "model.h"

static const SpmmModel h200 = {
  .name      = "h200",
  .device    = "H200",
#if defined(HRPB_USE_SINGLE)
  .source    = "test/results/bench-single-h200.csv",
#else
  .source    = "test/results/bench-double-h200.csv",
#endif
  .commit    = "7530f13",
  .cc        = 90,
  .nsm       = 132,
  .bandwidth = 4.8e12, /* bytes per second */

  /* picoseconds */
  .bricks = {
    [HRPB_FP64] = {
      .launch       = 8.56e6,
      .least        = 1.47e7,
      .block        = 2.67e5,
      .block_column = 1.55e3,
      .brick        = 57.6,
      .brick_column = 1.2,
      .staged       = 0.458,
      .dense        = 2.07
    },
    [HRPB_3XTF32] = {
      .launch       = 1.13e7,
      .least        = 1.43e7,
      .block        = 4.7e5,
      .block_column = 3.23e3,
      .brick        = 57.3,
      .brick_column = 0.345,
      .staged       = 0.815,
      .dense        = 1.2
    },
    [HRPB_TF32] = {
      .launch       = 1.13e7,
      .least        = 1.43e7,
      .block        = 4.7e5,
      .block_column = 3.23e3,
      .brick        = 54,
      .brick_column = 0.2,
      .staged       = 0.7,
      .dense        = 1.2
    }
  },
#if defined(HRPB_USE_SINGLE)
  .short_in_turn       = 1.04,  /* times */
  .narrow_windows_save = false, /* they are half a sector each */
  .slice_columns       = 128,
  .csr = {
    .launch           = 1.55e7,
    .column_launch    = 1.33e7,
    .entry            = 2.65,
    .staged_entry     = 2.08,
    .entry_column     = 0.189,
    .in_place         = 0.416,
    .staged           = 0.216,
    .column           = 3.19,
    .dense            = 2.74,
    .scattered        = 0.34,
    .spread           = 0.297,
    .spread_byte      = 1.9e-9,
    .fewest_copied    = 4, /* columns */
    .fewest_few_rows  = 8,
    .fewest_scattered = 10
  },
  .order = {
    .permute    = 7.7,
    .bricks     = 0.9, /* times */
    .level      = 30e6,
    .entry      = 200,
    .long_entry = 650,
    .one_row    = 57e3
  },
  .sampled = {
    .bricks        = 1.45,
    .rows          = 1.6,
    .copy          = 1.5,
    .fused         = 1.5,
    .fused_softmax = 1.9,
    .entry         = 6
  }
#else
  .short_in_turn       = 1.04,
  .narrow_windows_save = true,
  .slice_columns       = 128,
  .csr = {
    .launch           = 1.54e7,
    .column_launch    = 1.44e7,
    .entry            = 3.14,
    .staged_entry     = 3.12,
    .entry_column     = 0.392,
    .in_place         = 0.848,
    .staged           = 0.375,
    .column           = 4.29,
    .dense            = 4.25,
    .scattered        = 0.632,
    .spread           = 0.486,
    .spread_byte      = 4.82e-9,
    .fewest_copied    = 4, /* columns */
    .fewest_few_rows  = 8,
    .fewest_scattered = 8
  },
  .order = {
    .permute    = 8.9,
    .bricks     = 1.0,
    .level      = 30e6,
    .entry      = 200,
    .long_entry = 600,
    .one_row    = 57e3
  },
  .sampled = {
    .bricks        = 1.3,
    .rows          = 1.2,
    .copy          = 1.4,
    .fused         = 1.4,
    .fused_softmax = 2.3,
    .entry         = 10
  }
#endif
};
