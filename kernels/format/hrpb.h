/*
   HRPB (Hierarchical Row-Panel-Blocking): a sparse matrix cut into bricks, small dense blocks that a tensor core
   multiplies.

   Source: cuTeSpMM, section 3.2 and figures 3 to 5, for panels, active columns, blocks, bricks and packed blocks.
   Bricks of 8 rows are those of FlashSparse, which swaps the operands: C^T = B^T A^T.

   This header is the one definition of the layout. Builders, checker, kernels and reports include it. Nothing in
   kernels/ knows PETSc: there are plain pointers and sizes.

   The hierarchy, for a CSR matrix of nrows x ncols whose rows are sorted and have no duplicates:

     panel   panel_rows (TM) rows. Row i of panel p is row order[p*TM + i] of the matrix, or row p*TM + i where order is
             NULL. The last panel may be shorter. The active columns of a panel are those with an entry in it
     window  window_cols (TW) consecutive columns of the matrix, the first of them a multiple of TW. A window is active
             in a panel that has an entry in it. One copy brings the rows of B that belong to a window. With TW = 1
             windows are active columns. Wider windows suit matrices whose columns come in runs. The last window may
             reach beyond the last column of the matrix
     block   the next block_cols/window_cols active windows of a panel, in ascending order. The last block of a panel
             may be narrower. A block with many more values than the mean is cut into 2, 4, ... narrower ones: see
             HrpbMostValues(). A panel without entries has no block. Local column w*TW + c of a block (uint8) is column
             c of its window w
     strip   brick_rows (BM, 8 or 16) rows of a panel. In each block a strip has its own active columns. They are in
             ascending order, cut into groups of HRPB_BRICK_COLS. With TM = BM this is the compaction of the paper. With
             taller panels bricks stay as full as they are in short ones
     brick   such a group: BM x HRPB_BRICK_COLS slots, in one or two halves of 8 rows. Its pattern has a bit for each
             slot that holds an entry of the matrix, a stored zero included. A brick has at least one bit

   A packed block has two parts, which are called runs. Each is contiguous and aligned to 16 bytes, so that two bulk
   copies bring the block:

     pattern  HrpbBlockHeader, then strip start: (TM/BM + 1) x uint16, the first brick of each strip, then zero bytes up
              to a multiple of 16, then bricks: nbricks x HrpbBrick, strip by strip
     values   nvalues scalars, brick after brick, row-major inside a brick (ascending bits), then zeros up to a multiple
              of HRPB_VALUE_UNIT scalars

   A complex matrix is a real one of 2 x 2 blocks a -b, b a: see real/real.h. Such a matrix may have each block's values
   stored once, as pairs a b (HrpbParams.pairs). Everything else is as without: the same bricks with the same bits, in
   the same blocks. A half of a brick has whole blocks, whose pairs are in the order of their first bits.

   So the values of a row are in ascending column order, as in CSR. A refresh of the values walks through both in step
   and needs no map. A product that adds in the order of storage adds in the order of CSR.

   Values are not in this struct: one pattern serves any precision.
*/
#pragma once

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/* Small functions of the layout are called in kernels, too */
#if defined(__CUDACC__)
  #define HRPB_INLINE static inline __host__ __device__
#else
  #define HRPB_INLINE static inline
#endif

#if defined(HRPB_USE_INT64)
typedef int64_t HrpbInt; /* the index type of the caller's CSR */
#else
typedef int32_t HrpbInt;
#endif
#if defined(HRPB_USE_SINGLE)
typedef float HrpbScalar;
#else
typedef double HrpbScalar;
#endif

enum {
  HRPB_BRICK_COLS     = 4,     /* k of the mma shapes used */
  HRPB_MAX_BRICK_ROWS = 16,    /* bricks have 8 or 16 rows */
  HRPB_MAX_PANEL      = 1024,  /* tallest panel */
  HRPB_MAX_BLOCK      = 256,   /* widest block: local columns are uint8 */
  HRPB_MAX_WINDOW     = 16,    /* widest window */
  HRPB_MAX_SLOTS      = 65536, /* panel_rows*block_cols at most: value offsets are uint16 */
  HRPB_PATTERN_UNIT   = 16,    /* bytes: the unit of pattern_ptr */
  HRPB_VALUE_UNIT     = 4      /* scalars: the unit of value_ptr, 16 bytes in single precision and 32 in double */
};

typedef enum {
  HRPB_SUCCESS = 0,
  HRPB_ERR_PARAMETER, /* a number of HrpbParams is not allowed, or panel_rows*block_cols > HRPB_MAX_SLOTS */
  HRPB_ERR_CSR,       /* negative size, bad row pointers, column out of range, unsorted or double columns, no pairs */
  HRPB_ERR_ORDER,     /* order is not a permutation of the rows, or there is one and pairs */
  HRPB_ERR_OVERFLOW,  /* an offset or count does not fit the layout's 32 bits; nothing is left allocated */
  HRPB_ERR_MEMORY,    /* malloc() failed; nothing is left allocated */
  HRPB_ERR_CORRUPT,   /* of the checker: these are not the bricks of this CSR */
  HRPB_ERR_DEVICE_MEMORY, /* device memory ran out; nothing is left allocated */
  HRPB_ERR_DEVICE,        /* a CUDA call failed: HrpbDeviceErrorString() says how */
  HRPB_ERR_UNSUPPORTED,   /* no kernel for this on this device */
  HRPB_ERR_OPERANDS       /* a product's operands are not as spmm.h wants them */
} HrpbError;

/* The first bytes of the pattern run of a block */
typedef struct {
  uint32_t nbricks;
  uint32_t nvalues; /* without the padding */
  uint32_t nwindows;
  uint32_t unused;  /* zero */
} HrpbBlockHeader;

/* A brick without its values. One load brings it to a lane. The second half of a brick of 8 rows is zero */
typedef struct {
  uint32_t pattern[2]; /* of rows 0 to 7, of rows 8 to 15: bit row%8*HRPB_BRICK_COLS + col */
  uint8_t  column[4];  /* local columns; those beyond the last of the strip repeat it, and have no bits */
  uint16_t value[2];   /* first value of each half, counted from the first one of the block */
} HrpbBrick;

typedef struct {
  int32_t brick_rows;  /* BM: 8 or 16 */
  int32_t panel_rows;  /* TM: a multiple of BM, at most HRPB_MAX_PANEL */
  int32_t block_cols;  /* TK: a multiple of 4 and of TW, at most HRPB_MAX_BLOCK */
  int32_t window_cols; /* TW: 1, 2, 4, 8 or 16 */
  int32_t pairs;       /* 1: A is of blocks a -b, b a, each stored as a b. TW > 1, and no order. Otherwise 0 */
} HrpbParams;

typedef struct {
  HrpbParams params;
  int32_t    nrows, ncols;
  int64_t    nnz;
  int32_t    npanels; /* ceil(nrows/TM) */
  int32_t    nblocks;
  int64_t    nbricks;
  int64_t    nwindows;    /* active windows of all panels: a product stages TW rows of B for each */
  int64_t    nbrick_cols; /* groups of 4 active columns of all blocks: beta = nbricks/nbrick_cols (paper, section 4) */

  int64_t pattern_bytes; /* of pattern */
  int64_t spare_bytes;   /* of the device: room that was made for blocks and windows before their number was known */
  int64_t value_count;   /* scalars of an array of values, padding included */

  uint32_t max_pattern; /* longest pattern run of a block, in HRPB_PATTERN_UNIT bytes */
  uint32_t max_values;  /* longest values run, in HRPB_VALUE_UNIT scalars */

  int32_t  *order;           /* [nrows] or NULL for the natural order */
  uint32_t *blocked_row_ptr; /* [npanels + 1] first block of each panel: the paper's blockedRowPtr */
  uint32_t *pattern_ptr;     /* [nblocks + 1] where blocks begin in pattern, in HRPB_PATTERN_UNIT bytes: sizePtr */
  uint32_t *value_ptr;       /* [nblocks + 1] where each block begins in the values, in HRPB_VALUE_UNIT scalars */
  uint32_t *window_ptr;      /* [nblocks + 1] where each block begins in windows */
  int32_t  *windows;         /* [nwindows] first column divided by TW, ascending in a panel: activeCols */
  uint8_t  *pattern;         /* [pattern_bytes] with the values the paper's packedBlocks; aligned to 16 bytes */

  uint32_t *panel_blocks; /* of bricks on a device: a copy of blocked_row_ptr on the host. Otherwise NULL */
} Hrpb;

/* Where the parts of a block's pattern run begin, in bytes from the first one of the run */
HRPB_INLINE size_t HrpbOffsetStripStart(void)
{
  return sizeof(HrpbBlockHeader);
}
HRPB_INLINE size_t HrpbOffsetBricks(int32_t nstrips) /* strips of a panel */
{
  size_t n = HrpbOffsetStripStart() + 2 * ((size_t)nstrips + 1);
  return (n + HRPB_PATTERN_UNIT - 1) / HRPB_PATTERN_UNIT * HRPB_PATTERN_UNIT;
}
HRPB_INLINE size_t HrpbBlockBytes(const HrpbParams *p, uint32_t nbricks) /* bytes of the whole run */
{
  return HrpbOffsetBricks(p->panel_rows / p->brick_rows) + sizeof(HrpbBrick) * nbricks;
}

/*
   Where the value of a bit of a half is among those of the half: numbers are counted before the bit. With pairs they
   are those of the first bits of blocks, before that of the bit's own block, and each stands for two.

   HrpbPairFirst()   the first bit of the block that a bit belongs to
   HrpbPairPart()    which of the two numbers it has
   HrpbPairMinus()   whether with the other sign
   HrpbCounted()     a mask of the bits to count
   HrpbStored()      scalars that are stored for so many bits
*/
enum {
  HRPB_PAIR_FIRSTS = 0x05050505 /* the first bits of all blocks of a half */
};
HRPB_INLINE uint32_t HrpbPairFirst(uint32_t bit)
{
  return bit & ~5u;
}
HRPB_INLINE uint32_t HrpbPairPart(uint32_t bit)
{
  return (bit ^ bit >> 2) & 1;
}
HRPB_INLINE int HrpbPairMinus(uint32_t bit)
{
  return (bit & 5) == 1;
}
HRPB_INLINE uint32_t HrpbCounted(uint32_t bit, int pairs)
{
  return pairs ? HRPB_PAIR_FIRSTS & ((1u << HrpbPairFirst(bit)) - 1) : (1u << bit) - 1;
}
HRPB_INLINE uint32_t HrpbStored(uint32_t bits, int pairs)
{
  return pairs ? bits / 2 : bits;
}

/* Whether rows of B are shared, and so staged for a block. Panels of one strip with windows of one column share none */
HRPB_INLINE int HrpbSharesRows(const HrpbParams *p)
{
  return p->window_cols > 1 || p->panel_rows > p->brick_rows;
}

/*
   How blocks are cut. A kernel that stages blocks in shared memory has room for the fullest of the matrix in each
   stage, so no block shall be much fuller than others.

   HrpbMostValues()    values that a block may have: twice as many as one of TK columns has on average. nwindows are the
                       active windows of all panels. Without a limit where nothing is staged
   HrpbBlockWindows()  windows of each piece of a block that may have more. The last piece has what is left
*/
HRPB_INLINE uint32_t HrpbMostValues(const HrpbParams *p, int64_t nnz, int64_t nwindows)
{
  return !HrpbSharesRows(p) || !nwindows ? UINT32_MAX : (uint32_t)(2 * ((nnz * (p->block_cols / p->window_cols) + nwindows - 1) / nwindows));
}
HRPB_INLINE uint32_t HrpbBlockWindows(uint32_t nwindows, uint32_t nvalues, uint32_t most_values)
{
  uint32_t pieces = 1;

  while (pieces < nwindows && nvalues > (uint64_t)most_values * pieces) pieces *= 2;
  return (nwindows + pieces - 1) / pieces;
}

/* What an error code means, to be put into a message; never NULL */
const char *HrpbErrorString(HrpbError);

/* Bytes of all arrays of h without the values, and number of scalars of an array of values */
size_t HrpbBytes(const Hrpb *h);
size_t HrpbValueCount(const Hrpb *h);

/*
   Build the pattern of a CSR matrix.

   rowptr  [nrows + 1], rowptr[0] may be any nonnegative number
   colidx  indexed by rowptr, sorted and without duplicates in each row, 0 <= column < ncols
   order   [nrows] permutation that says which rows form a panel, or NULL; it is copied
   params  with pairs the CSR must have the entries of whole blocks: HRPB_ERR_CSR. Values are not looked at
   h       is filled on success and zeroed on any error; HrpbDestroy() releases it

   nrows and ncols have 64 bits, so that a size beyond the layout can be refused: HRPB_ERR_OVERFLOW.

   There are two passes, so that every array is allocated once, with its size. The work is O(nnz + rows + windows log
   panel_rows). The workspace is O(ncols/window_cols), and O(nrows) while an order is checked.
*/
HrpbError HrpbBuildHost(int64_t nrows, int64_t ncols, const HrpbInt *rowptr, const HrpbInt *colidx, const int32_t *order, const HrpbParams *params, Hrpb *h);
void      HrpbDestroy(Hrpb *h);

/*
   Copy the values of the CSR that h was built from into the order of the bricks. values has HrpbValueCount(h) scalars;
   its padding is zeroed. Pairs are the first columns of blocks
*/
void HrpbPackValuesHost(const Hrpb *h, const HrpbInt *rowptr, const HrpbScalar *csr_values, HrpbScalar *values);

/*
   Compare every array of h with the CSR: bounds first, then structure, then entry by entry. Where values or csr_values
   are NULL only the pattern is compared. A CSR has one set of bricks for given parameters and order, so whatever passes
   is what the builder makes.

   The arrays may hold anything: nothing outside of them is read. Their extents are taken to be those that HrpbBytes()
   adds up, from nrows, npanels, nblocks, nwindows, pattern_bytes and value_count. Of these npanels is first compared
   with nrows, and each of the others with the pointer array that ends in it.

   Returns HRPB_SUCCESS, HRPB_ERR_CORRUPT (also for a CSR that is none), or HRPB_ERR_MEMORY without O(nrows) workspace
   for an order. On an error message says what is wrong first, and where. It has len bytes and may be NULL.
*/
HrpbError HrpbCheckHost(const Hrpb *h, int64_t nrows, int64_t ncols, const HrpbInt *rowptr, const HrpbInt *colidx, const HrpbScalar *values, const HrpbScalar *csr_values, char *message, size_t len);

/*
   C = A B with A as bricks, on the host: the reference of all kernels. B is ncols x N and C is nrows x N, both
   column-major, with leading dimensions ldb >= max(1,ncols) and ldc >= max(1,nrows). C is overwritten; rows without
   entries become zeros.

   Slots without a bit are never multiplied, so NaN and Inf of B reach only the rows that have an entry in that column.
   The entries of a row are added in ascending column order.
*/
void HrpbMultiplyHost(const Hrpb *h, const HrpbScalar *values, int64_t N, const HrpbScalar *B, int64_t ldb, HrpbScalar *C, int64_t ldc);

/*
   Active columns of all strips of brick_rows rows in natural order. Nothing is built. With this number alpha =
   nnz/(brick_rows * number).

   Returns HRPB_ERR_PARAMETER unless brick_rows is 8 or 16, HRPB_ERR_CSR for a CSR that is none, HRPB_ERR_OVERFLOW for a
   size beyond 32 bits, HRPB_ERR_MEMORY without O(ncols) workspace. count is zero on any error.
*/
HrpbError HrpbCountStripColumns(int64_t nrows, int64_t ncols, const HrpbInt *rowptr, const HrpbInt *colidx, int32_t brick_rows, int64_t *count);

#ifdef __cplusplus
}
#endif
