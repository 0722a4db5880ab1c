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
   How rows are cut and entries shared among thread blocks. Follows from the pattern, and lives as long as that; values
   are of no concern
*/
typedef struct {
  int32_t nrows, ncols;
  int64_t nnz, longest;        /* entries, and those of the longest row */
  int32_t part_entries;        /* of a part; rows with more are cut, */
  int32_t nlong, nparts;       /* so many, into so many parts; */
  int32_t ngiant, nhuge;       /* so many of them are longer than a section, and so many of those so long that their parts are the work of a thread block */
  int32_t nsections;           /* of entries that a thread block has, */
  int32_t section_entries;     /* so many in the largest */
  int32_t direct_columns;      /* Which kernel, all with the same bits: products of up to so many columns read B where it is, column by column; */
  int32_t panel_rows;          /* wider ones bring the rows of B that so many rows of A need into shared memory, unless this is zero, */
  int32_t staged_rows;         /* so many at most; */
  int32_t rows_entries;        /* then they read B where it is, by CSR_ROWS rows that have so many entries at most, unless this is zero; and a row-major copy of it otherwise, */
  int32_t narrow_tiles;        /* unless this is zero by 128 in place of 256 bytes of its rows at a time, */
  int32_t eight_columns;       /* and with up to so many columns by eight in place of four lanes for a row, */
  int32_t eight_anyway;        /* unless this is zero also where a quarter of the eight and more have no columns */
  void   *long_rows, *parts;   /* in device memory, NULL where no row is cut */
  void   *sections;            /* in device memory, as those that follow, which are NULL where panel_rows is zero */
  void   *run_ptr, *runs, *places;
  int64_t bytes;               /* of device memory that all of these have */
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
