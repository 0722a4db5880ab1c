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
  double least;        /* a product with next to nothing to do; zero for bricks-rows */
  double block;        /* to come to the next block of the panel that has most of them */
  double block_column; /* to come to the next block, in addition for each column of B */
  double brick;        /* to decode a brick */
  double brick_column; /* to multiply a brick with a column of B, as far as the next brick does not hide that */
  double staged;       /* to bring an entry of B into shared memory, in whole sectors */
  double far;          /* in addition, where neither L2 nor a panel nearby has it */
  double dense;        /* an entry of B or C */
  double cut;          /* to put the sums of panels together that are cut into parts */
  double part;         /* in addition for each part of the panel that has most of them */
} SpmmBrickTimes;

/* To build bricks, beyond what the CSR path takes to begin */
typedef struct {
  double start;
  double entry;
  double staged; /* for a row of B that they stage */
} SpmmBuildTimes;

/* The kernels for CSR */
typedef struct {
  double  launch;           /* of a product */
  double  column_launch;    /* of a product by csr-direct, column by column */
  double  entry;            /* to read an entry of the CSR; not for csr-staged and csr-direct */
  double  staged_entry;     /* to read an entry of the CSR in csr-staged */
  double  entry_column;     /* to multiply an entry with one of B in csr-copy */
  double  in_place;         /* to multiply an entry with one of B in csr-rows */
  double  staged;           /* to multiply an entry with one of B in csr-staged */
  double  column;           /* to read an entry and multiply it with one of B in csr-direct */
  double  dense;            /* to copy an entry of B, or to write one of C; not for csr-rows */
  double  scattered;        /* to bring an entry of B that rows before have not brought, in csr-copy */
  double  spread;           /* in addition, where L2 does not have it: see cache */
  double  turn;             /* an entry of the longest row, or part of a row, in csr-copy and csr-rows */
  int32_t fewest_copied;    /* a product by csr-copy with fewer columns of B takes as long as with these */
  int32_t fewest_few_rows;  /* the same number where rows of A are few */
  int32_t fewest_scattered; /* the same number where columns of A are scattered */
} SpmmCsrTimes;

/* Reordering */
typedef struct {
  double permute;    /* to bring an entry of C back to its order. B comes into the other one while it is copied */
  double level;      /* of the search for the order */
  double entry;      /* to name an entry anew, and to build bricks of it */
  double long_entry; /* the same where rows are too long to be sorted in registers */
  double one_row;    /* for an entry of the longest row, which one warp goes through */
} SpmmOrderTimes;

/*
   Sampled products. The first six are no times: how many times as long as a product they take, which is one by the
   kernel with the same end of its name, or by bricks with the columns of both operands together
*/
typedef struct {
  double bricks, staged, rows, copy;
  double fused, fused_softmax;
  double entry; /* to map an entry, or to pack it anew */
} SpmmSampledTimes;

typedef struct {
  const char    *name;      /* as the file is called: "h200" */
  const char    *device;    /* as CUDA calls it, or a part of that: "H200" */
  const char    *source;    /* the file of the benchmark */
  const char    *commit;    /* the commit that the benchmark ran */
  int32_t        cc;        /* compute capability: 90 for 9.0 */
  int32_t        nsm;       /* multiprocessors */
  double         bandwidth; /* of its memory, bytes per second */
  double         cache;     /* bytes of its L2 */
  SpmmBrickTimes bricks[3]; /* [HrpbPrecision]; those of other scalars are not used */
  SpmmBrickTimes rows[3];   /* the same of bricks-rows, its copy of B included */
  SpmmBuildTimes build;
  SpmmCsrTimes   csr;
  SpmmOrderTimes order;
  SpmmSampledTimes sampled;

  /* Not a time: columns of B that bricks multiply at a time where B takes several times L2: SliceColumns() */
  int32_t slice_columns;
  /* Whether the rows of B that narrow windows leave out show in the time of all matrices */
  bool narrow_windows_save;
} SpmmModel;

/*
   The model of the device: compute capability comes first, then the name, then memory and multiprocessors. Never NULL
*/
const SpmmModel *SpmmNearestModel(const char name[], int32_t cc, int32_t nsm, double bandwidth);

#ifdef __cplusplus
}
#endif
