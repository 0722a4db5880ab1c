/*
   C = A B on an NVIDIA GPU with A as CSR, without tensor cores: for matrices and numbers of columns for which bricks do
   not pay.

   As in hrpbdevice.h rowptr and colidx are device pointers, structs and their numbers are on the host, the device is
   the current one, and work goes to stream. The CSR is trusted: columns lie in [0, ncols), row pointers ascend from any
   nonnegative number. Rows need not be sorted, and may have several entries in a column, which are added.

   The products are in spmm.h. All kernels have the same bits: the entries of a row are added in the order of the CSR,
   with fused multiply-add, eight to a chunk, and so are the sums of the chunks. Of a row that is cut each part is added
   so, then the sums of the parts with compensation.
*/
#pragma once

#include "../format/hrpbdevice.h"

#ifdef __cplusplus
extern "C" {
#endif

enum {
  CSR_TILE_BYTES = 256 /* of a row of the copy of B that are multiplied at a time, unless tiles are narrow */
};

/*
   How rows are cut, and how entries are shared among thread blocks. It follows from the pattern, and lives as long as
   that. A row with more than part_entries is cut into parts. Entries are the work of thread blocks in sections. A row
   that is longer than a section is a giant. A giant with so many parts that a thread block adds them is huge.
*/
typedef struct {
  int32_t nrows, ncols;
  int64_t nnz, longest;    /* entries, and those of the longest row */
  int32_t part_entries;    /* of a part, at most */
  int32_t nlong, nparts;   /* rows that are cut, and their parts */
  int32_t ngiant, nhuge;   /* giants among them, and huge ones among those */
  int32_t nsections;       /* sections, */
  int32_t section_entries; /* and entries of the largest */

  /* By these the kernels know what they take. All have the same bits */
  int32_t direct_columns; /* products of up to so many columns are for csr-direct; */
  int32_t panel_rows;     /* wider ones for csr-staged in panels of so many rows, unless this is zero; */
  int32_t staged_rows;    /* rows of B that a panel needs, at most */
  int32_t rows_entries;   /* then for csr-rows, unless this is zero: entries of CSR_ROWS rows, at most */

  /* For csr-copy, which takes the others */
  int32_t narrow_tiles;  /* whether 128 bytes of a row of B are multiplied at a time, in place of CSR_TILE_BYTES */
  int32_t eight_columns; /* with up to so many columns eight lanes have a row, otherwise four, */
  int32_t eight_anyway;  /* and whether also where a quarter of the eight and more have no columns */

  /* In device memory */
  void   *long_rows, *parts;        /* NULL where no row is cut */
  void   *sections;
  void   *run_ptr, *runs, *places; /* NULL where panel_rows is zero */
  int64_t bytes;                   /* that all of these have */
} CsrSchedule;

/*
   Waits for the numbers in s; what is in device memory is made by work in the stream. HRPB_ERR_OVERFLOW for 2^31 rows
   or columns, HRPB_ERR_UNSUPPORTED where the device runs none of the kernels; s is zeroed on any error
*/
HrpbError CsrScheduleDevice(int64_t nrows, int64_t ncols, const HrpbInt *rowptr, const HrpbInt *colidx, HrpbStream stream, CsrSchedule *s);
void      CsrScheduleDestroyDevice(CsrSchedule *s, HrpbStream stream);

#ifdef __cplusplus
}
#endif
