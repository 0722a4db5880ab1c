/*
   What complex matrices take of the times of the model: kernels for CSR, of those of csr-copy or csr-rows with the real
   matrix (SpmmCsrTimes); bricks in double precision, of those of bricks of real numbers (SpmmBrickTimes). The parts are
   taken to be the same on all devices, and those for CSR in single precision, too. Written by `make fit` from what
   examples/bench measured in complex double precision, commits: ca4fd734
*/
#pragma once

static const struct {
  struct { /* in_place is that of csr-rows; all others are times of csr-copy */
    double launch, entry, in_place;
  } rows;
  struct {
    double launch, entry, entry_column, scattered, spread, dense;
  } copy;
  struct {
    double launch, entry, entry_column, dense;
  } nodes;
  struct { /* csr-staged */
    double launch, staged_entry, staged, dense;
  } panels;
  struct { /* for each column */
    double launch, entry, scattered;
  } columns;
  struct {
    double launch, block_column, brick, brick_column, staged, far, dense, cut, part;
  } bricks;
} complex_parts = {
  .rows = {
    .launch   = 0.852,
    .entry    = 0.567,
    .in_place = 0.545
  },
  .copy = {
    .launch       = 1.1,
    .entry        = 0.419,
    .entry_column = 0.816,
    .scattered    = 0.578,
    .spread       = 1.31,
    .dense        = 0.901
  },
  .nodes = {
    .launch       = 1.69,
    .entry        = 0.183,
    .entry_column = 0.399,
    .dense        = 1.32
  },
  .panels = {
    .launch       = 1.38,
    .staged_entry = 0.329,
    .staged       = 0.731,
    .dense        = 0.833
  },
  .columns = {
    .launch    = 0.658,
    .entry     = 0.36,
    .scattered = 5.3
  },
  .bricks = {
    .launch       = 1.02,
    .block_column = 0.314,
    .brick        = 0.987,
    .brick_column = 1.17,
    .staged       = 1.96,
    .far          = 1.7,
    .dense        = 0.897,
    .cut          = 0.445,
    .part         = 1.93
  }
};
