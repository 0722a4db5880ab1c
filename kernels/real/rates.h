/*
   Kernels for CSR of complex numbers: which part they take of a time of csr-copy or csr-rows with the real matrix
   (SpmmCsrTimes). The parts are taken to be the same on all devices, and in single precision. Written by `make fit`
   from what examples/bench measured in complex double precision, commits: 344b3e1, cb4df58, 140b020
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
} parts = {
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
  }
};
