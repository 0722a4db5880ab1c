/*
   HRPB (Hierarchical Row-Panel-Blocking): the sparse operand cut into bricks that a tensor core multiplies.

   Source: cuTeSpMM, section 3.2 and figures 3 to 5 (row panels, active columns, blocks, bricks, packedBlocks);
   the 8-row brick is FlashSparse's granularity (its operands swapped: C^T = B^T A^T).

   Nothing in this folder knows PETSc: plain pointers and sizes. This header is the one definition of the layout;
   builders, checker, kernels and reports include it.

   The hierarchy, for a CSR matrix of nrows x ncols whose rows are sorted and free of duplicates:

     panel   panel_rows (TM) rows. Row i of panel p is row order[p*TM + i] of the matrix, or p*TM + i where order is
             NULL; the last panel may be shorter. Its active columns are those with an entry
     window  window_cols (TW) consecutive columns of the matrix, the first a multiple of TW: what one copy of rows of B
             brings. It is active in a panel that has an entry in it. With TW = 1 the windows are the active columns;
             wider ones suit matrices whose columns come in runs. The matrix's last window may reach beyond its last
             column
     block   the next block_cols/window_cols active windows of a panel, in ascending order; the last block of a panel
             may be narrower. A panel without entries has no block. Local column w*TW + c of a block (uint8) is column c
             of its window w
     strip   brick_rows (BM, 8 or 16) rows of a panel. Inside a block every strip keeps its own compaction: its active
             columns among the block's, ascending, cut into groups of HRPB_BRICK_COLS. With TM = BM that is the
             paper's compaction; with tall panels it keeps the fill of short ones
     brick   one group: BM x HRPB_BRICK_COLS slots, in one or two halves of 8 rows. A bit of its pattern says that the
             slot holds an entry of the matrix (stored zeros included). A brick has at least one bit

   A packed block is two runs, each contiguous and 16-byte aligned, so that two bulk copies bring it:

     pattern  HrpbBlockHeader
              strip start   (TM/BM + 1) x uint16: first brick of each strip
              zero bytes up to a multiple of 16
              bricks        nbricks x HrpbBrick, strip by strip
     values   nvalues scalars in the order of the bricks, row-major inside a brick (ascending bits), then zeros up to a
              multiple of HRPB_VALUE_UNIT scalars

   The values of a row therefore appear in ascending column order, as in CSR: a refresh of the values walks both in
   step and needs no map, and a product that adds in storage order adds in the order of CSR.
   Values are kept apart (not in this struct), so that one pattern serves any precision.
*/
#pragma once

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/* The layout's small functions serve kernels, too */
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
  HRPB_PATTERN_UNIT   = 16,    /* bytes; unit of pattern_ptr */
  HRPB_VALUE_UNIT     = 4      /* scalars; unit of value_ptr: 16 bytes in single precision, 32 in double */
};

typedef enum {
  HRPB_SUCCESS = 0,
  HRPB_ERR_PARAMETER, /* brick_rows, panel_rows, block_cols or window_cols not allowed, or panel_rows*block_cols > HRPB_MAX_SLOTS */
  HRPB_ERR_CSR,       /* a negative size, row pointers not monotone, a column out of range, or a row that is not sorted and duplicate-free */
  HRPB_ERR_ORDER,     /* order is not a permutation of the rows */
  HRPB_ERR_OVERFLOW,  /* an offset or count does not fit the layout's 32 bits; nothing was allocated */
  HRPB_ERR_MEMORY,    /* malloc() failed; nothing is left allocated */
  HRPB_ERR_CORRUPT,   /* checker only: the format is not the one its CSR has */
  HRPB_ERR_DEVICE_MEMORY, /* device memory ran out; nothing is left allocated */
  HRPB_ERR_DEVICE,        /* a CUDA call failed: HrpbDeviceErrorString() says which error it was */
  HRPB_ERR_UNSUPPORTED,   /* no kernel for this on this device */
  HRPB_ERR_OPERANDS       /* a product's operands are not as spmm.h wants them */
} HrpbError;

/* First bytes of a block's pattern run */
typedef struct {
  uint32_t nbricks;
  uint32_t nvalues; /* without the padding */
  uint32_t nwindows;
  uint32_t unused;  /* zero */
} HrpbBlockHeader;

/* All there is to know of a brick: a kernel reads it at once. Of bricks of 8 rows the second half is zero */
typedef struct {
  uint32_t pattern[2]; /* of rows 0 to 7 and of rows 8 to 15: bit row%8*HRPB_BRICK_COLS + col; */
  uint8_t  column[4];  /* local column of each brick column; slots beyond the strip's last column repeat that last column and have no bit; */
  uint16_t value[2];   /* first value of each half, counted from the block's first value */
} HrpbBrick;

typedef struct {
  int32_t brick_rows;  /* BM: 8 or 16 */
  int32_t panel_rows;  /* TM: a multiple of BM, at most HRPB_MAX_PANEL */
  int32_t block_cols;  /* TK: a multiple of 4 and of TW, at most HRPB_MAX_BLOCK */
  int32_t window_cols; /* TW: 1, 2, 4, 8 or 16 */
} HrpbParams;

typedef struct {
  HrpbParams params;
  int32_t    nrows, ncols;
  int64_t    nnz;
  int32_t    npanels; /* ceil(nrows/TM) */
  int32_t    nblocks;
  int64_t    nbricks;
  int64_t    nwindows;    /* active windows summed over the panels: a product stages TW rows of B for each */
  int64_t    nbrick_cols; /* groups of 4 active columns summed over the blocks: beta = nbricks/nbrick_cols (paper, section 4) */

  int64_t pattern_bytes; /* of pattern, */
  int64_t value_count;   /* and scalars of a value array, padding included */

  uint32_t max_pattern; /* longest pattern run of a block, in HRPB_PATTERN_UNIT bytes, */
  uint32_t max_values;  /* and longest run of values, in HRPB_VALUE_UNIT scalars: what a kernel sets aside for a block */

  int32_t  *order;           /* [nrows] or NULL for the natural order */
  uint32_t *blocked_row_ptr; /* [npanels + 1] first block of each panel: the paper's blockedRowPtr */
  uint32_t *pattern_ptr;     /* [nblocks + 1] start of each block in pattern, in HRPB_PATTERN_UNIT bytes: with value_ptr the paper's sizePtr */
  uint32_t *value_ptr;       /* [nblocks + 1] start of each block's values, in HRPB_VALUE_UNIT scalars */
  uint32_t *window_ptr;      /* [nblocks + 1] start of each block in windows */
  int32_t  *windows;         /* [nwindows] first column of each active window divided by TW, ascending inside a panel; the paper's activeCols */
  uint8_t  *pattern;         /* [pattern_bytes] with value arrays the paper's packedBlocks; 16-byte aligned */
} Hrpb;

/* Where the parts of a block's pattern run begin, in bytes from its first */
HRPB_INLINE size_t HrpbOffsetStripStart(void)
{
  return sizeof(HrpbBlockHeader);
}
HRPB_INLINE size_t HrpbOffsetBricks(int32_t nstrips) /* of a panel */
{
  size_t n = HrpbOffsetStripStart() + 2 * ((size_t)nstrips + 1);
  return (n + HRPB_PATTERN_UNIT - 1) / HRPB_PATTERN_UNIT * HRPB_PATTERN_UNIT;
}
HRPB_INLINE size_t HrpbBlockBytes(const HrpbParams *p, uint32_t nbricks) /* the whole run */
{
  return HrpbOffsetBricks(p->panel_rows / p->brick_rows) + sizeof(HrpbBrick) * nbricks;
}

/* What an error code means, for the caller's message; never NULL */
const char *HrpbErrorString(HrpbError);

/*
   Bytes of all arrays of h (the values, one precision, not included), and number of scalars of its value array
*/
size_t HrpbBytes(const Hrpb *h);
size_t HrpbValueCount(const Hrpb *h);

/*
   Build the pattern of a CSR matrix.

   rowptr  [nrows + 1], rowptr[0] may be any nonnegative number
   colidx  indexed by rowptr, sorted and duplicate-free in each row, 0 <= column < ncols
   order   [nrows] permutation that says which rows form a panel, or NULL; copied
   h       filled on success, zeroed on any error; release with HrpbDestroy()

   nrows and ncols are 64-bit so that a size beyond the layout is refused (HRPB_ERR_OVERFLOW) rather than truncated. Two
   passes, so that every array is allocated once, at its size. Work O(nnz + rows + windows log panel_rows); workspace
   O(ncols/window_cols), and O(nrows) while an order is checked.
*/
HrpbError HrpbBuildHost(int64_t nrows, int64_t ncols, const HrpbInt *rowptr, const HrpbInt *colidx, const int32_t *order, const HrpbParams *params, Hrpb *h);
void      HrpbDestroy(Hrpb *h);

/*
   Copy the values of the CSR that h was built from into packed order; values has HrpbValueCount(h) scalars, padding is
   zeroed
*/
void HrpbPackValuesHost(const Hrpb *h, const HrpbInt *rowptr, const HrpbScalar *csr_values, HrpbScalar *values);

/*
   Validate every array of h against the CSR: bounds first, then structure, then entry by entry. With values or
   csr_values NULL only the pattern is checked. A CSR has one format for given parameters and order, so whatever passes
   is what the builder makes.

   The contents may be anything: nothing outside the arrays is read. Their extents, which a pointer does not tell, are
   taken to be those that HrpbBytes() adds up, from nrows, npanels, nblocks, nwindows, pattern_bytes and value_count;
   npanels is first compared with nrows, and each other count with the pointer array that ends in it.

   Returns HRPB_SUCCESS, HRPB_ERR_CORRUPT (also for a malformed CSR) or, without O(nrows) workspace for an order,
   HRPB_ERR_MEMORY; unless it succeeds, message (of size len, may be NULL) says the first thing that is wrong, and
   where.
*/
HrpbError HrpbCheckHost(const Hrpb *h, int64_t nrows, int64_t ncols, const HrpbInt *rowptr, const HrpbInt *colidx, const HrpbScalar *values, const HrpbScalar *csr_values, char *message, size_t len);

/*
   C = A B with A as bricks: the reference for every other kernel. B is ncols x N, C nrows x N, both column-major with
   leading dimensions ldb >= max(1,ncols) and ldc >= max(1,nrows). C is overwritten, rows without entries with zeros.
   Slots without a bit are never multiplied, so NaN and Inf of B reach only the rows that have an entry in that column.
   Adds in ascending column order.
*/
void HrpbMultiplyHost(const Hrpb *h, const HrpbScalar *values, int64_t N, const HrpbScalar *B, int64_t ldb, HrpbScalar *C, int64_t ldc);

/*
   Active columns of all strips of brick_rows rows in natural order, summed: what alpha = nnz/(brick_rows * that) needs,
   without building anything. Returns HRPB_ERR_PARAMETER unless brick_rows is 8 or 16, HRPB_ERR_CSR for a malformed
   matrix, HRPB_ERR_OVERFLOW for a size beyond 32 bits, HRPB_ERR_MEMORY without O(ncols) workspace; count is then zero.
*/
HrpbError HrpbCountStripColumns(int64_t nrows, int64_t ncols, const HrpbInt *rowptr, const HrpbInt *colidx, int32_t brick_rows, int64_t *count);

#ifdef __cplusplus
}
#endif
