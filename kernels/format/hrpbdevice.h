/*
   HRPB on an NVIDIA GPU: the same format, to the byte, with its arrays in device memory.

   In all functions below rowptr, colidx, order and values are device pointers, as are the arrays of an Hrpb that
   HrpbBuildDevice() filled; the struct itself and its numbers are on the host. The device is the current one, work goes
   to stream. Functions that fill a struct wait for its numbers; the others do not. Memory comes from the device's
   default pool and is released in stream order.
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
   HrpbBuildHost() on the device. The CSR is checked as there, except that its row pointers are trusted to lie inside
   colidx. h is zeroed on any error; release with HrpbDestroyDevice()
*/
HrpbError HrpbBuildDevice(int64_t nrows, int64_t ncols, const HrpbInt *rowptr, const HrpbInt *colidx, const int32_t *order, const HrpbParams *params, HrpbStream stream, Hrpb *h);
void      HrpbDestroyDevice(Hrpb *h, HrpbStream stream);

/*
   HrpbPackValuesHost() on the device, with the CSR that h was built from. Unless entry is NULL, its entry k has the
   value csr_values[entry[k]]
*/
HrpbError HrpbPackValuesDevice(const Hrpb *h, const HrpbInt *rowptr, const HrpbInt *colidx, const HrpbScalar *csr_values, const HrpbInt *entry, HrpbScalar *values, HrpbStream stream);

/*
   The same for values that change more than once: where in csr_values each place of values takes its own from, -1 for
   one that stays zero; and new values with that. map has HrpbValueCount() numbers. Up to INT32_MAX nonzeros,
   HRPB_ERR_OVERFLOW beyond; rowptr begins with 0
*/
HrpbError HrpbMapValuesDevice(const Hrpb *h, const HrpbInt *rowptr, const HrpbInt *colidx, const HrpbInt *entry, int32_t *map, HrpbStream stream);
HrpbError HrpbTakeValuesDevice(const Hrpb *h, const int32_t *map, const HrpbScalar *csr_values, HrpbScalar *values, HrpbStream stream);

/* What can be said of a matrix before anything is built */
typedef struct {
  int64_t nnz;
  int64_t strip_cols8, strip_cols16; /* HrpbCountStripColumns() for strips of 8 and 16 rows */
  int64_t staged_rows;               /* rows of B, summed over the panels, that a product in the format HrpbStagedParams() would stage, */
  int64_t most_staged_rows;          /* the most of them that a panel has, */
  int64_t needed_rows;               /* and those of all that have an entry */
} HrpbSurvey;

/*
   The CSR is checked as HrpbBuildDevice() does; HRPB_ERR_UNSUPPORTED where the device runs none of the kernels. s is
   zeroed on any error
*/
HrpbError HrpbSurveyDevice(int64_t nrows, int64_t ncols, const HrpbInt *rowptr, const HrpbInt *colidx, HrpbStream stream, HrpbSurvey *s);

enum {
  HRPB_MAX_COLUMNS = 1 << 19 /* of B in one product: a grid ends at 65535 tiles */
};

typedef enum {
  HRPB_FP64,    /* double only, and the only one for it: every product and sum in double */
  HRPB_3XTF32,  /* single only: operands split in two TF32 numbers, as accurate as single */
  HRPB_TF32     /* single only: operands rounded to TF32, 11 bits */
} HrpbPrecision;

/* Whether the device has tensor cores that pay for this precision */
HrpbError HrpbSupportsDevice(HrpbPrecision precision, bool *supports);

/*
   Columns of a block at most, where rows of B are staged in shared memory: with bricks of 16 rows, and of 8, which
   short panels of few blocks have
*/
enum {
  HRPB_STAGED_COLS = 512 / (int)sizeof(HrpbScalar),
  HRPB_SHORT_COLS  = 64
};

/*
   The formats that suit the kernels: columns in runs, staged, in shorter panels where there are few; and scattered
   ones, gathered
*/
HrpbParams HrpbStagedParams(void);
HrpbParams HrpbShortParams(void);
HrpbParams HrpbGatherParams(void);

/*
   In which parts the panels are multiplied: panels with many more blocks than others are cut. Follows from the format,
   and lives as long
*/
typedef struct {
  int32_t nitems, nsplit, nslots; /* parts and whole panels; panels that are cut; their parts */
  void   *items, *split;          /* in device memory, NULL where no panel is cut, */
  int64_t bytes;                  /* and how much of that they have */
} HrpbSchedule;

enum {
  HRPB_PART_COLS = 2048 /* active columns of a part, at most */
};

HrpbError HrpbScheduleDevice(const Hrpb *h, HrpbStream stream, HrpbSchedule *s);
void      HrpbScheduleDestroyDevice(HrpbSchedule *s, HrpbStream stream);

#ifdef __cplusplus
}
#endif
