/*
   The CSR path on an NVIDIA GPU: products without tensor cores, for matrices and numbers of columns for which bricks do
   not pay. This header has the schedule that all its kernels need; spmm.h has the products.

   As in hrpbdevice.h rowptr and colidx are device pointers, structs and their numbers are on the host, the device is
   the current one, and work goes to stream. The CSR is trusted: columns lie in [0, ncols), row pointers ascend from any
   nonnegative number. Rows need not be sorted. They may have several entries in a column, which are added.

   All kernels give the same bits. The entries of a row are added in the order of the CSR, with fused multiply-add, in
   chunks of eight. The sums of the chunks are added in the same order. In a row that is cut each part is added in this
   way, and the sums of the parts are added with compensation.
*/
#pragma once

#include "../format/hrpbdevice.h"

#ifdef __cplusplus
extern "C" {
#endif

enum {
  CSR_TILE_BYTES = 256 /* of a row of the copy of B: the part in a tile, unless tiles are narrow */
};

/*
   How long rows are cut, how entries are shared among thread blocks, and which kernel suits. A schedule follows from
   the pattern, and lives as long as the pattern does. It does not depend on values.

   Which kernel multiplies N columns, the first that applies (all give the same bits):

     N <= direct_columns  csr-direct: B is read where it is, column by column
     panel_rows > 0       csr-staged, unless panels_sampled is set: rows of B are brought into shared memory
     rows_entries > 0     csr-rows: B is read where it is, by CSR_ROWS rows together
     else                 csr-copy: from a row-major copy of B. The last three numbers are for this kernel
*/
typedef struct {
  int32_t nrows, ncols;
  int64_t nnz, longest;        /* entries; entries of the longest row */
  int32_t part_entries;        /* entries of a part; longer rows are cut */
  int32_t nlong, nparts;       /* rows that are cut, and all their parts */
  /* cut rows that are longer than a section; those of them whose parts are the work of a whole thread block */
  int32_t ngiant, nhuge;
  int32_t nsections;           /* sections: the entries that a thread block has */
  int32_t section_entries;     /* entries of the largest section */
  int32_t direct_columns;      /* the most columns of B for csr-direct */
  int32_t panel_rows;          /* rows of A in a panel of csr-staged and of sampled-staged, or zero */
  int32_t staged_rows;         /* the most rows of B that such a panel needs */
  int32_t panels_sampled;      /* not zero: panels are for sampled-staged alone */
  int32_t rows_entries;        /* the most entries of CSR_ROWS rows in csr-rows, or zero */
  int32_t narrow_tiles;        /* not zero: tiles of 128 bytes of a row of the copy, not of 256 */
  int32_t eight_columns;       /* the most columns of B with eight lanes for a row; beyond, four */
  int32_t eight_anyway;        /* not zero: also where a quarter of the eight lanes or more have no columns */
  void   *long_rows, *parts;   /* in device memory, NULL where no row is cut */
  void   *sections;            /* in device memory */
  void   *run_ptr, *runs, *places; /* in device memory, NULL where panel_rows is zero */
  int32_t nfilled;             /* rows with entries that are not cut */
  void   *filled;              /* these rows, in device memory; NULL unless most rows have no entries */
  int64_t bytes;               /* of device memory that all these arrays have */
  int64_t turns;               /* entries, if rows that are not cut had as many as the longest of their eight */
} CsrSchedule;

/*
   Waits for the numbers in s. What is in device memory is made by work in the stream. HRPB_ERR_OVERFLOW: 2^31 rows or
   columns. HRPB_ERR_UNSUPPORTED: the device runs none of the kernels. s is zeroed on any error
*/
HrpbError CsrScheduleDevice(int64_t nrows, int64_t ncols, const HrpbInt *rowptr, const HrpbInt *colidx, HrpbStream stream, CsrSchedule *s);

/*
   Rows that are too short for csr-staged may suit sampled-staged: it stores nothing for each column. So panels are
   sought for these, too, before the first sampled product. The arguments are those that the schedule was made with. It
   stays as it is where panels are there already, or do not pay. Waits
*/
HrpbError CsrPanelsForSampledDevice(const HrpbInt *rowptr, const HrpbInt *colidx, HrpbStream stream, CsrSchedule *s);
void      CsrScheduleDestroyDevice(CsrSchedule *s, HrpbStream stream);

#ifdef __cplusplus
}
#endif
