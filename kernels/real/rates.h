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
  struct { /* for each column */
    double launch, entry, scattered;
  } columns;
  struct {
    double launch, block_column, brick, brick_column, staged, far, dense, cut, part;
  } bricks;
} complex_parts = {
  .rows = {
    .launch   = 0.936,
    .entry    = 0.538,
    .in_place = 0.584
  },
  .copy = {
    .launch       = 1.14,
    .entry        = 0.425,
    .entry_column = 1.02,
    .scattered    = 0.671,
    .spread       = 0.804,
    .dense        = 0.716
  },
  .nodes = {
    .launch       = 2.49,
    .entry        = 0.189,
    .entry_column = 0.357,
    .dense        = 1.34
  },
  .columns = {
    .launch    = 0.613,
    .entry     = 0.355,
    .scattered = 7.03
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
