/*
   The proxy of a matrix on an NVIDIA GPU: a few segments of its rows that stand for all of them. Products of the proxy
   are timed in several formats, at a fraction of what products of the matrix cost.

   Source: LO-SpMM, section 5. There the parts of a product are clustered by their features, each cluster is represented
   in proportion to its size, and the proxy has the occupancy of the whole product (section 5.2). The proxy of the paper
   is another, shorter program. Here it is the same kernel with fewer rows. So registers and shared memory are the same
   by themselves, and only the number of thread blocks needs care.

   As in hrpbdevice.h arrays are device pointers unless it says otherwise, structs and their numbers are on the host,
   the device is the current one, and work goes to stream.
*/
#pragma once

#include "../csr/csrdevice.h"

#ifdef __cplusplus
extern "C" {
#endif

enum {
  HRPB_UNIT_ROWS       = 256, /* rows of a unit: whole panels of all formats, whole thread blocks for CSR */
  HRPB_REPRESENTATIVES = 12   /* segments in a proxy. Each has consecutive units, which share rows of B */
};

/* What is known of a segment before anything is built. The last three are sums over every eighth row of the segment */
typedef struct {
  int64_t begin;   /* its first entry, which is no feature */
  int64_t entries; /* entries of the segment */
  int64_t longest; /* entries of its longest row */
  int64_t runs;    /* runs of consecutive columns */
  int64_t shared;  /* columns that the row before has, too */
  int64_t span;    /* columns from the first to the last */
} HrpbFeatures;

/*
   Features of nsegments segments. Segment s has the segment_rows rows from row s stride on. segment_rows is a multiple
   of HRPB_UNIT_ROWS, and all segments lie in the matrix. features[] is on the host. The CSR is trusted. Waits for the
   stream
*/
HrpbError HrpbFeaturesDevice(const HrpbInt *rowptr, const HrpbInt *colidx, int64_t segment_rows, int64_t stride, int32_t nsegments, HrpbStream stream, HrpbFeatures features[]);

/*
   On the host: which nchosen of n segments stand for all. Segments with like features form a cluster (k-means, from a
   start that follows from the features). A cluster gets as many of the chosen as is its share of the segments: those
   next to its centroid. chosen[] ascends. HRPB_ERR_PARAMETER unless 0 < nchosen <= n, HRPB_ERR_MEMORY
*/
HrpbError HrpbChooseSegments(int32_t n, const HrpbFeatures features[], int32_t nchosen, int32_t chosen[]);

typedef struct {
  int64_t           nrows, ncols;
  const HrpbInt    *rowptr, *colidx; /* rows of the matrix, with all of its columns */
  const HrpbScalar *values;
  void             *own[3]; /* the same three arrays, unless they are those of the matrix itself */
  double            share;   /* the proxy's share of the rows of the matrix */
  double            entries; /* its share of the entries: the proxy stands for the matrix only where both are alike */
  int64_t           N, ldb, ldc;
  HrpbScalar       *B, *C; /* ncols x N with some numbers; nrows x N */
} HrpbProxy;

/*
   Rows of a segment, such that each candidate has the same number of thread blocks on a multiprocessor as in a large
   matrix. Kernels have one, two or three thread blocks there at a time. Six panels of 128 rows, or twelve of 64, for
   each multiprocessor give all of them whole waves
*/
HrpbError HrpbSegmentRowsDevice(int64_t *segment_rows);

/*
   The proxy of a matrix, or the matrix itself where a proxy would be more than half of it. Waits for the stream. p is
   zeroed on any error
*/
HrpbError HrpbProxyCreateDevice(int64_t nrows, int64_t ncols, const HrpbInt *rowptr, const HrpbInt *colidx, const HrpbScalar *values, int64_t segment_rows, int64_t N, HrpbStream stream, HrpbProxy *p);
void      HrpbProxyDestroyDevice(HrpbProxy *p, HrpbStream stream);

typedef struct {
  double  seconds;  /* seconds of a product, the shortest of those that were timed */
  int32_t products; /* made for that. Where CUDA has no graphs one is not timed, but loads the kernels */
  int32_t ldr;      /* leading dimension of the row-major copy of all of B, or zero where none is made */
} HrpbTiming;

/* The same leading dimension before anything is timed */
int32_t HrpbCopyForBricks(const HrpbProxy *p, const HrpbParams *params);
int32_t HrpbCopyForCsr(const HrpbProxy *p, const CsrSchedule *matrix, int64_t N);

/*
   Time a product of the proxy by bricks with these parameters, or by the kernel on CSR that a matrix with this
   schedule gets for N columns. The proxy may have fewer columns than N. Both wait for the stream.

   HRPB_ERR_UNSUPPORTED: windows are wider than a column and the kernel that stages them does not take the format, or
   the kernel on CSR takes the matrix and not the proxy
*/
HrpbError HrpbTimeBricksDevice(const HrpbProxy *p, const HrpbParams *params, HrpbPrecision precision, HrpbStream stream, HrpbTiming *t);
HrpbError HrpbTimeCsrDevice(const HrpbProxy *p, const CsrSchedule *matrix, int64_t N, HrpbStream stream, HrpbTiming *t);

/* Time a copy of B alone, with this leading dimension; with zero, the launch of a kernel that does nothing */
HrpbError HrpbTimeCopyDevice(const HrpbProxy *p, int32_t ldr, HrpbStream stream, HrpbTiming *t);

#ifdef __cplusplus
}
#endif
