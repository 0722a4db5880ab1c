/*
   NVIDIA H100 80GB HBM3: written by `make fit MODEL=h100` from what examples/bench measured at 71a9f5d and a2b168f,
   without matrices that were reordered: copies of B and C are faster since. In double launch, least, far, cut and
   column_launch were fitted anew, by the same functions with all others fixed, to 28 real matrices at 829d83e, whose
   products are launched as CUDA graphs (test/results/real-end-to-end-h100.csv).
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
  .source    = "test/results/real-end-to-end-h100.csv, test/results/bench-double-h100.csv",
  .commit    = "71a9f5d, a2b168f, 829d83e",
#endif
  .cc        = 90,
  .nsm       = 132,
  .bandwidth = 3.35e12, /* bytes per second */
  .cache     = 5.24e7, /* bytes */

  /* picoseconds */
  .bricks = {
    [HRPB_FP64] = {
      .launch       = 1.1e7,
      .least        = 1.27e7,
      .block        = 9.06e4,
      .block_column = 1.84e3,
      .brick        = 57.5,
      .brick_column = 1.14,
      .staged       = 0.553,
      .far          = 1.66,
      .dense        = 3.12,
      .cut          = 8.42e6,
      .part         = 1.77e5
    },
    [HRPB_3XTF32] = {
      .launch       = 1.24e7,
      .least        = 1.99e7,
      .block        = 0,
      .block_column = 2.66e4,
      .brick        = 61.4,
      .brick_column = 0.888,
      .staged       = 0.417,
      .far          = 0,
      .dense        = 1.22,
      .cut          = 3.95e7,
      .part         = 1.99e3
    },
    [HRPB_TF32] = {
      .launch       = 1.24e7,
      .least        = 1.43e7, /* of the base model */
      .block        = 0, /* of the base model */
      .block_column = 2.32e4, /* of the base model */
      .brick        = 46.9, /* of the base model */
      .brick_column = 0.304, /* of the base model */
      .staged       = 0.463, /* of the base model */
      .far          = 0,
      .dense        = 1.06, /* of the base model */
      .cut          = 1.27e7, /* of the base model */
      .part         = 3.5e5 /* of the base model */
    }
  },
  .rows = {
    [HRPB_FP64] = {
      .launch       = 1.1e7, /* of the base model */
      .least        = 0, /* of the base model */
      .block        = 1.11e5, /* of the base model */
      .block_column = 2.24e3, /* of the base model */
      .brick        = 70.1, /* of the base model */
      .brick_column = 1.39, /* of the base model */
      .staged       = 0.675, /* of the base model */
      .far          = 2.03, /* of the base model */
      .dense        = 4.48, /* of the base model */
      .cut          = 1.03e7, /* of the base model */
      .part         = 2.16e5 /* of the base model */
    },
    [HRPB_3XTF32] = {
      .launch       = 1.24e7, /* of the base model */
      .least        = 0, /* of the base model */
      .block        = 0, /* of the base model */
      .block_column = 3.72e4, /* of the base model */
      .brick        = 86, /* of the base model */
      .brick_column = 1.24, /* of the base model */
      .staged       = 0.584, /* of the base model */
      .far          = 0, /* of the base model */
      .dense        = 3.27, /* of the base model */
      .cut          = 5.53e7, /* of the base model */
      .part         = 2.79e3 /* of the base model */
    },
    [HRPB_TF32] = {
      .launch       = 1.24e7, /* of the base model */
      .least        = 0, /* of the base model */
      .block        = 0, /* of the base model */
      .block_column = 3.25e4, /* of the base model */
      .brick        = 65.7, /* of the base model */
      .brick_column = 0.426, /* of the base model */
      .staged       = 0.648, /* of the base model */
      .far          = 0, /* of the base model */
      .dense        = 3.27, /* of the base model */
      .cut          = 1.78e7, /* of the base model */
      .part         = 4.9e5 /* of the base model */
    }
  },
#if defined(HRPB_USE_SINGLE)
  .short_in_turn       = 1.04, /* of the base model */
  .narrow_windows_save = false, /* of the base model */
  .slice_columns       = 128, /* of the base model */
  .build = {
    .start  = 2.5e8,
    .entry  = 43.6,
    .staged = 205
  },
  .csr = {
    .launch           = 1.57e7,
    .column_launch    = 1.62e7,
    .entry            = 2.71,
    .staged_entry     = 2.5,
    .entry_column     = 0.0909,
    .in_place         = 0.537,
    .staged           = 0.0986,
    .column           = 3.44,
    .dense            = 3.27,
    .scattered        = 0.384,
    .spread           = 0.636,
    .turn             = 6.95e4,
    .fewest_copied    = 4, /* columns, of the base model */
    .fewest_few_rows  = 8, /* of the base model */
    .fewest_scattered = 10 /* of the base model */
  },
  .order = {
    .permute    = 0.511, /* of the base model */
    .level      = 3.28e7, /* of the base model */
    .entry      = 185, /* of the base model */
    .long_entry = 544, /* of the base model */
    .one_row    = 1.32e5 /* of the base model */
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
  .short_in_turn       = 1.23,
  .narrow_windows_save = true, /* of the base model */
  .slice_columns       = 64,
  .build = {
    .start  = 2.5e8,
    .entry  = 43.6,
    .staged = 205
  },
  .csr = {
    .launch           = 1.23e7,
    .column_launch    = 1.09e7,
    .entry            = 3.33,
    .staged_entry     = 4.67,
    .entry_column     = 0.283,
    .in_place         = 1.1,
    .staged           = 0.188,
    .column           = 4.86,
    .dense            = 4.48,
    .scattered        = 0.824,
    .spread           = 1.29,
    .turn             = 5.56e4,
    .fewest_copied    = 4, /* columns, of the base model */
    .fewest_few_rows  = 8, /* of the base model */
    .fewest_scattered = 8 /* of the base model */
  },
  .order = {
    .permute    = 0, /* of the base model */
    .level      = 3.21e7, /* of the base model */
    .entry      = 197, /* of the base model */
    .long_entry = 570, /* of the base model */
    .one_row    = 1.45e5 /* of the base model */
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
