/*
   NVIDIA H100 80GB HBM3: written by `make fit MODEL=h100` from what examples/bench measured.
   Numbers marked "of the base model" are those of h200: the measurement does not tell them, or they are not fitted.
*/
#pragma once

#include "model.h"

static const SpmmModel h100 = {
  .name      = "h100",
  .device    = "H100",
#if defined(HRPB_USE_SINGLE)
  .source    = "test/results/bench-single-h100.csv",
  .commit    = "a2b168f",
#else
  .source    = "test/results/bench-double-h100.csv",
  .commit    = "a2b168f",
#endif
  .cc        = 90,
  .nsm       = 132,
  .bandwidth = 3.35e12, /* bytes per second */

  /* picoseconds */
  .bricks = {
    [HRPB_FP64] = {
      .launch       = 1.42e7,
      .least        = 1e7, /* of the base model */
      .block        = 6.89e5,
      .block_column = 2.03e3,
      .brick        = 59,
      .brick_column = 1.88,
      .staged       = 0,
      .dense        = 3.36
    },
    [HRPB_3XTF32] = {
      .launch       = 1.57e7,
      .least        = 2.03e7,
      .block        = 6.24e5,
      .block_column = 2.74e4,
      .brick        = 55.8,
      .brick_column = 0.7,
      .staged       = 0.417,
      .dense        = 1.46
    },
    [HRPB_TF32] = {
      .launch       = 1.4e7, /* of the base model */
      .least        = 1.5e7, /* of the base model */
      .block        = 2.3e6, /* of the base model */
      .block_column = 2.3e4, /* of the base model */
      .brick        = 43, /* of the base model */
      .brick_column = 0.62, /* of the base model */
      .staged       = 0.44, /* of the base model */
      .dense        = 0.91 /* of the base model */
    }
  },
#if defined(HRPB_USE_SINGLE)
  .short_in_turn       = 0.2, /* of the base model */
  .narrow_windows_save = false,
  .csr = {
    .launch           = 1.73e7,
    .column_launch    = 1.63e7,
    .entry            = 3.14,
    .staged_entry     = 2.39,
    .entry_column     = 0.13,
    .in_place         = 0.514,
    .staged           = 0.221,
    .column           = 3.53,
    .dense            = 3.66,
    .scattered        = 0.423,
    .spread           = 0,
    .spread_byte      = 5.1e-9,
    .fewest_copied    = 4, /* columns, of the base model */
    .fewest_few_rows  = 8, /* of the base model */
    .fewest_scattered = 10 /* of the base model */
  },
  .order = {
    .permute    = 9.38,
    .bricks     = 1.04, /* times */
    .level      = 8.67e7,
    .entry      = 127,
    .long_entry = 650, /* of the base model */
    .one_row    = 5.7e4 /* of the base model */
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
  .short_in_turn       = 0.34, /* of the base model */
  .narrow_windows_save = true,
  .csr = {
    .launch           = 1.77e7,
    .column_launch    = 1.73e7,
    .entry            = 3.9,
    .staged_entry     = 4.5,
    .entry_column     = 0.312,
    .in_place         = 1.02,
    .staged           = 0.349,
    .column           = 4.82,
    .dense            = 5.86,
    .scattered        = 0.719,
    .spread           = 0,
    .spread_byte      = 1.07e-8,
    .fewest_copied    = 4, /* columns, of the base model */
    .fewest_few_rows  = 8, /* of the base model */
    .fewest_scattered = 8 /* of the base model */
  },
  .order = {
    .permute    = 13.5,
    .bricks     = 0.935, /* times */
    .level      = 8.49e7,
    .entry      = 152,
    .long_entry = 600, /* of the base model */
    .one_row    = 5.7e4 /* of the base model */
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
