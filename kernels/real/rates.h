/*
   What complex matrices take of the times of the model: kernels for CSR, of those of csr-copy or csr-rows with the real
   matrix (SpmmCsrTimes); bricks in double precision, of those of bricks of real numbers (SpmmBrickTimes). The parts are
   taken to be the same on all devices, and those for CSR in single precision, too. Written by `make fit` from what
   examples/bench measured in complex double precision, commits: 344b3e1, cb4df58, 140b020
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
    .launch   = 0.798,
    .entry    = 0.533,
    .in_place = 0.574
  },
  .copy = {
    .launch       = 1.43,
    .entry        = 0.408,
    .entry_column = 0.55,
    .scattered    = 1.52,
    .spread       = 0.762,
    .dense        = 0.87
  },
  .nodes = {
    .launch       = 2.26,
    .entry        = 0.352,
    .entry_column = 0.36,
    .dense        = 1.28
  },
  .columns = {
    .launch    = 0.704,
    .entry     = 0.33,
    .scattered = 7.51
  },
  .bricks = {
    .launch       = 1.01,
    .block_column = 0.504,
    .brick        = 1,
    .brick_column = 1.19,
    .staged       = 2.29,
    .far          = 2.82,
    .dense        = 0.694,
    .cut          = 0.49,
    .part         = 1.95
  }
};
