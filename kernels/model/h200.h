/*
   NVIDIA H200 (SXM, 141 GB). The numbers were fitted by hand to what examples/bench measured (test/results/README.md),
   those of csr-copy for scattered columns and of reordering to runs of their own, and those of bricks in double to 15
   real matrices, too. Those of sampled products are from test/results/sampled-h200.csv.
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
      .launch       = 8.5e6,
      .least        = 10e6,
      .block        = 0.36e6,
      .block_column = 4.3e3,
      .brick        = 46,
      .brick_column = 3.4,
      .staged       = 0.17,
      .dense        = 1.4
    },
    [HRPB_3XTF32] = {
      .launch       = 8.0e6,
      .least        = 22e6,
      .block        = 3.2e6,
      .block_column = 19e3,
      .brick        = 45,
      .brick_column = 1.45,
      .staged       = 0.23,
      .dense        = 1.9
    },
    [HRPB_TF32] = {
      .launch       = 14e6,
      .least        = 15e6,
      .block        = 2.3e6,
      .block_column = 23e3,
      .brick        = 43,
      .brick_column = 0.62,
      .staged       = 0.44,
      .dense        = 0.91
    }
  },
#if defined(HRPB_USE_SINGLE)
  .short_in_turn       = 0.2,   /* times; from four matrices */
  .narrow_windows_save = false, /* they are half a sector each */
  .csr = {
    .launch           = 24e6,
    .column_launch    = 12e6,
    .entry            = 3.2,
    .staged_entry     = 1.6,
    .entry_column     = 0.19,
    .in_place         = 0.46,
    .staged           = 0.22,
    .column           = 2.9,
    .dense            = 2.1,
    .scattered        = 0.34,
    .spread           = 0.1,
    .spread_byte      = 2.8e-9,
    .fewest_copied    = 4, /* columns */
    .fewest_few_rows  = 8,
    .fewest_scattered = 10
  },
  .order = {
    .permute    = 7.7,
    .bricks     = 0.9, /* times */
    .level      = 70e6,
    .entry      = 150,
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
  .short_in_turn       = 0.64,
  .narrow_windows_save = true,
  .csr = {
    .launch           = 21e6,
    .column_launch    = 12e6,
    .entry            = 2.6,
    .staged_entry     = 2.9,
    .entry_column     = 0.475,
    .in_place         = 0.78,
    .staged           = 0.345,
    .column           = 3.9,
    .dense            = 4.5,
    .scattered        = 0.76,
    .spread           = 0.50,
    .spread_byte      = 4.7e-9,
    .fewest_copied    = 4,
    .fewest_few_rows  = 8,
    .fewest_scattered = 8
  },
  .order = {
    .permute    = 8.9,
    .bricks     = 1.0,
    .level      = 70e6,
    .entry      = 150,
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
