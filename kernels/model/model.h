/*
   What the model of times knows of a device: numbers that were fitted to a benchmark on it, for the precision that the
   library is compiled for.

   A file of this folder has the numbers of one device, and says where they come from. `make fit` writes such a file. A
   device that has none takes those of the nearest one (SpmmNearestModel()). The formulas that they belong to stand
   beside the kernels: `seconds` in kernels/spmm.h.

   All times are in picoseconds. They are constants, so that a choice, and with it the bits of a product, is the same in
   every run.
*/
#pragma once

#include "../format/hrpbdevice.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Bricks of 16 rows with rows of B in shared memory */
typedef struct {
  double launch;       /* of a product */
  double least;        /* as long as a product takes with next to nothing to do */
  double block;        /* to come to the next block of the panel that has most of them, */
  double block_column; /* and as much again for each column of B */
  double brick;        /* to decode a brick, */
  double brick_column; /* and to multiply it with a column of B, as far as that does not hide behind the next brick */
  double staged;       /* to bring an entry of B into shared memory */
  double dense;        /* an entry of B or C */
} SpmmBrickTimes;

/* The kernels for CSR */
typedef struct {
  double  launch;           /* of a product, */
  double  column_launch;    /* and of one column by column */
  double  entry;            /* to read an entry of the CSR, */
  double  staged_entry;     /* and for csr-staged */
  double  entry_column;     /* to multiply it with an entry of B: csr-copy, */
  double  in_place;         /* csr-rows, */
  double  staged;           /* csr-staged, */
  double  column;           /* csr-direct, which includes reading the entry */
  double  dense;            /* to copy an entry of B, or to write one of C */
  double  scattered;        /* as entry_column, where the rows of B that a row needs are all over B, but in L2; */
  double  spread;           /* this where they are not, */
  double  spread_byte;      /* and as much again for each byte of a tile of all rows of B */
  int32_t fewest_copied;    /* columns of csr-copy: fewer take as long; */
  int32_t fewest_few_rows;  /* so do fewer than these where rows are few; */
  int32_t fewest_scattered; /* and than these where columns are scattered */
} SpmmCsrTimes;

/* Reordering */
typedef struct {
  double permute;    /* an entry of B or C, into the other order or back */
  double bricks;     /* not a time: bricks of a reordered matrix take so many times as long as those of one that came in a good order */
  double level;      /* of the search for the order */
  double entry;      /* to name an entry anew, and to build bricks of it, */
  double long_entry; /* where rows are too long to be sorted in registers; */
  double one_row;    /* and an entry of the longest row, which one warp goes through */
} SpmmOrderTimes;

typedef struct {
  const char    *name;      /* as the file is called: "h200" */
  const char    *device;    /* as CUDA calls it, or a part of that: "H200" */
  const char    *source;    /* the benchmark, */
  const char    *commit;    /* and of which commit it was */
  int32_t        cc;        /* compute capability: 90 for 9.0 */
  int32_t        nsm;       /* multiprocessors */
  double         bandwidth; /* of its memory, bytes per second */
  SpmmBrickTimes bricks[3]; /* [HrpbPrecision]; of the precisions that the library is compiled for those are used that it has */
  SpmmCsrTimes   csr;
  SpmmOrderTimes order;

  /* Not a time. A small matrix has short panels: the one with most blocks has so many times as many of them in turn */
  double short_in_turn;
  /* Whether the rows of B that narrow windows leave out show in the time of all matrices */
  bool narrow_windows_save;
} SpmmModel;

const SpmmModel *SpmmModelGet(int i); /* NULL behind the last */

/*
   The model of the device: compute capability comes first, then the name, then memory and multiprocessors. Never NULL
*/
const SpmmModel *SpmmNearestModel(const char name[], int32_t cc, int32_t nsm, double bandwidth);

#ifdef __cplusplus
}
#endif
