/*
   The proxy of a matrix on an NVIDIA GPU: a few of its row panels that stand for all of them, to time products in
   several formats at a fraction of what the products cost.

   Source: LO-SpMM, section 5: parts of a product are clustered by features, each cluster is represented in proportion,
   and the proxy has the occupancy of the whole product (section 5.2). There the proxy is another, shorter program; here
   it is the same kernels with fewer rows, so that registers and shared memory are equal by themselves, and the number
   of thread blocks is what must be looked after.

   As in hrpbdevice.h arrays are device pointers unless it says otherwise, structs and their numbers are on the host,
   the device is the current one, and work goes to stream.
*/
#pragma once

#include "../csr/csrdevice.h"

#ifdef __cplusplus
extern "C" {
#endif

enum {
  HRPB_UNIT_ROWS       = 256, /* of a unit: whole panels of every format, and whole thread blocks of the kernels for CSR */
  HRPB_REPRESENTATIVES = 12   /* segments in a proxy: consecutive units, so that panels share rows of B with neighbours */
};

/* What is known of a segment before anything is built. The last three are sums over every eighth of its rows */
typedef struct {
  int64_t begin;   /* its first entry: where it is, and not a feature */
  int64_t entries; /* all of them, */
  int64_t longest; /* and those of its longest row */
  int64_t runs;    /* of consecutive columns, */
  int64_t shared;  /* columns that the row before has, too, */
  int64_t span;    /* and from the first column to the last */
} HrpbFeatures;

/*
   Segment s is the segment_rows rows, a multiple of HRPB_UNIT_ROWS, from row s stride on; all lie in the matrix.
   features[] is on the host. The CSR is trusted. Waits for the stream
*/
HrpbError HrpbFeaturesDevice(const HrpbInt *rowptr, const HrpbInt *colidx, int64_t segment_rows, int64_t stride, int32_t nsegments, HrpbStream stream, HrpbFeatures features[]);

/*
   On the host: which nchosen of n segments stand for all. Those with like features form a cluster (k-means, from a
   start that follows from the features), a cluster has as many of the chosen as its share of the segments, and these
   are the ones next to its centroid. chosen[] ascends. HRPB_ERR_PARAMETER unless 0 < nchosen <= n, HRPB_ERR_MEMORY
*/
HrpbError HrpbChooseSegments(int32_t n, const HrpbFeatures features[], int32_t nchosen, int32_t chosen[]);

typedef struct {
  int64_t           nrows, ncols;
  const HrpbInt    *rowptr, *colidx; /* rows of the matrix with all of its columns, */
  const HrpbScalar *values;
  void             *own[3]; /* which these are, unless they are those of the matrix itself */
  double            share;   /* of the rows of the matrix, */
  double            entries; /* and of its entries: where this is far from the share of the rows, the proxy does not stand for the matrix */
  int64_t           N, ldb, ldc;
  HrpbScalar       *B, *C; /* ncols x N with some numbers, nrows x N */
} HrpbProxy;

/*
   Rows of a segment with which each candidate has the same number of thread blocks on a multiprocessor as in a large
   matrix. Kernels have one, two or three of them there at a time: with six panels of 128 rows, or twelve of 64, for
   each multiprocessor all have whole waves of them
*/
HrpbError HrpbSegmentRowsDevice(int64_t *segment_rows);

/*
   The matrix itself where the proxy would be more than half of it. Waits for the stream. p is zeroed on any error
*/
HrpbError HrpbProxyCreateDevice(int64_t nrows, int64_t ncols, const HrpbInt *rowptr, const HrpbInt *colidx, const HrpbScalar *values, int64_t segment_rows, int64_t N, HrpbStream stream, HrpbProxy *p);
void      HrpbProxyDestroyDevice(HrpbProxy *p, HrpbStream stream);

typedef struct {
  double  seconds;  /* of a product, the shortest of a few */
  /*
     Products made for that. The first one is not timed, because kernels are loaded when they are first called. It has a
     part of the rows where that can be
  */
  double products;
  /* Leading dimension of the row-major copy that it makes of all of B; zero where it makes none */
  int32_t ldr;
} HrpbTiming;

/* That leading dimension before anything is timed, with the arguments below */
int32_t HrpbCopyForBricks(const HrpbProxy *p, const HrpbParams *params);
int32_t HrpbCopyForCsr(const HrpbProxy *p, const CsrSchedule *matrix, int64_t N);

/*
   Products of the proxy by bricks with these parameters, and by the kernel for CSR that a matrix with this schedule
   gets for N columns, of which the proxy may have but a part. One timed product is enough where it takes longer than
   limit. Wait for the stream.

   HRPB_ERR_UNSUPPORTED where windows are wider than a column and the kernel that stages them does not take the format,
   and where the kernel for CSR takes the matrix but not the proxy
*/
HrpbError HrpbTimeBricksDevice(const HrpbProxy *p, const HrpbParams *params, HrpbPrecision precision, double limit, HrpbStream stream, HrpbTiming *t);
HrpbError HrpbTimeCsrDevice(const HrpbProxy *p, const CsrSchedule *matrix, int64_t N, double limit, HrpbStream stream, HrpbTiming *t);

/* A copy of B by itself, with that leading dimension */
HrpbError HrpbTimeCopyDevice(const HrpbProxy *p, int32_t ldr, HrpbStream stream, HrpbTiming *t);

#ifdef __cplusplus
}
#endif
