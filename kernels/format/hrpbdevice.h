/*
   HRPB on an NVIDIA GPU: the same layout, to the byte, with its arrays in device memory.

   In all functions below rowptr, colidx, order and values are device pointers. So are the arrays of an Hrpb that
   HrpbBuildDevice() has filled; the struct itself and its numbers are on the host. The device is the current one, and
   work goes to stream. A function that fills a struct waits for its numbers. The others do not wait. Memory comes from
   the device's default pool and is released in stream order.
*/
#pragma once

#include <stdbool.h>

#include "hrpb.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef struct CUstream_st *HrpbStream; /* cudaStream_t */

/* The CUDA error behind the last HRPB_ERR_DEVICE or HRPB_ERR_DEVICE_MEMORY of this thread; never NULL */
const char *HrpbDeviceErrorString(void);

/*
   HrpbBuildHost() on the device. The CSR is checked in the same way, but its row pointers are trusted to lie inside
   colidx. h is zeroed on any error; HrpbDestroyDevice() releases it
*/
HrpbError HrpbBuildDevice(int64_t nrows, int64_t ncols, const HrpbInt *rowptr, const HrpbInt *colidx, const int32_t *order, const HrpbParams *params, HrpbStream stream, Hrpb *h);
void      HrpbDestroyDevice(Hrpb *h, HrpbStream stream);

/*
   HrpbPackValuesHost() on the device, with the CSR that h was built from. Where entry is not NULL, entry k of that CSR
   has the value csr_values[entry[k]]
*/
HrpbError HrpbPackValuesDevice(const Hrpb *h, const HrpbInt *rowptr, const HrpbInt *colidx, const HrpbScalar *csr_values, const HrpbInt *entry, HrpbScalar *values, HrpbStream stream);

/*
   The same for values that change more than once, in two steps. HrpbMapValuesDevice() says for each place of values
   where in csr_values its number comes from; -1 stands for a place that stays zero. HrpbTakeValuesDevice() takes new
   values by this map. map has HrpbValueCount() numbers. Above INT32_MAX nonzeros the result is HRPB_ERR_OVERFLOW.
   rowptr begins with 0
*/
HrpbError HrpbMapValuesDevice(const Hrpb *h, const HrpbInt *rowptr, const HrpbInt *colidx, const HrpbInt *entry, int32_t *map, HrpbStream stream);
HrpbError HrpbTakeValuesDevice(const Hrpb *h, const int32_t *map, const HrpbScalar *csr_values, HrpbScalar *values, HrpbStream stream);

/* What is known of a matrix before anything is built */
typedef struct {
  int64_t nnz;
  int64_t strip_cols8, strip_cols16; /* HrpbCountStripColumns() of strips of 8 and 16 rows */
  int64_t staged_rows;               /* rows of B that HrpbStagedParams() stages, summed over the panels */
  int64_t most_staged_rows;          /* the most of them in a panel */
  int64_t needed_rows;               /* those of staged_rows that meet an entry */
  int64_t heaviest;                  /* the most entries of 128 rows that follow each other, about */
} HrpbSurvey;

/*
   The CSR is checked as in HrpbBuildDevice(). HRPB_ERR_UNSUPPORTED: the device runs none of the kernels. s is zeroed on
   any error
*/
HrpbError HrpbSurveyDevice(int64_t nrows, int64_t ncols, const HrpbInt *rowptr, const HrpbInt *colidx, HrpbStream stream, HrpbSurvey *s);

/* HrpbBuildDevice() for a CSR that HrpbSurveyDevice() has looked through: it is not checked again, a wait less */
HrpbError HrpbBuildSurveyedDevice(int64_t nrows, int64_t ncols, const HrpbInt *rowptr, const HrpbInt *colidx, const HrpbSurvey *s, const HrpbParams *params, HrpbStream stream, Hrpb *h);

enum {
  HRPB_MAX_COLUMNS = 1 << 19, /* columns of B in one product: a grid ends at 65535 tiles */
  HRPB_SECTOR      = 32       /* bytes of a sector: what comes from L2 together */
};

typedef enum {
  HRPB_FP64,    /* double: all products and sums in double, the only precision there */
  HRPB_3XTF32,  /* single: operands are split into two TF32 numbers each, which is as accurate as single */
  HRPB_TF32     /* single: operands are rounded to TF32, 11 bits */
} HrpbPrecision;

/* Whether the device has tensor cores that pay in this precision */
HrpbError HrpbSupportsDevice(HrpbPrecision precision, bool *supports);

/*
   The most columns of a block where rows of B are staged in shared memory: with bricks of 16 rows, and with bricks of 8
   rows, which short panels with few blocks have
*/
enum {
  HRPB_STAGED_COLS = 512 / (int)sizeof(HrpbScalar),
  HRPB_SHORT_COLS  = 64
};

/*
   The formats that suit the kernels. Columns in runs: staged, or short where there are few panels. Columns that the
   rows of a panel share, wherever they are: rows. Scattered columns: gathered. On the host bricks are a reference
*/
HrpbParams HrpbReferenceParams(void);
HrpbParams HrpbStagedParams(void);
HrpbParams HrpbShortParams(void);
HrpbParams HrpbRowsParams(void);
HrpbParams HrpbGatherParams(void);

/*
   The items of work in which panels are multiplied: panels with many more blocks than others are cut into parts. A
   schedule follows from the bricks and lives as long as they do. The sums of a product depend on where panels are cut,
   and not on the sequence of the items
*/
enum {
  HRPB_MOST_CTAS = 3 /* thread blocks of a product on a multiprocessor */
};

typedef struct {
  int32_t nitems, nsplit, nmany, nslots; /* parts and whole panels; panels that are cut; those with many parts; parts */

  /*
     In device memory. items has parts, and then panels. split has the panel of each part, and behind them each panel
     that is cut, those with many parts first. counts is for the parts that a product has done; it is zero between
     products, so two products with a schedule must not run at the same time. It is NULL where a panel has many parts.
     All are NULL where no panel is cut. longest has the items with the longest first, or is NULL
  */
  void     *items, *longest, *split;
  uint32_t *counts;
  bool      longest_first[HRPB_MOST_CTAS]; /* whether that is the faster sequence, with one thread block and more */
  int64_t   bytes;                         /* of device memory that they have */
} HrpbSchedule;

enum {
  HRPB_PART_COLS = 2048 /* the most active columns of a part */
};

/* For bricks that were built on the device. Does not wait: the host has the blocks of their panels */
HrpbError HrpbScheduleDevice(const Hrpb *h, HrpbStream stream, HrpbSchedule *s);
void      HrpbScheduleDestroyDevice(HrpbSchedule *s, HrpbStream stream);

#ifdef __cplusplus
}
#endif
