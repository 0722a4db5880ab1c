/*
   What the kernels on CSR share: how rows are cut, and in which order the sums of a row's parts are put together. The
   order is the same everywhere, so that a column of C has the same bits whichever kernel made it.
*/
#pragma once

#include "../spmm.h"
#include "../common/device.cuh"

enum {
  CSR_CHUNK      = 8,   /* entries that are added up before they go to the sum: half of the error of a sum in one go */
  CSR_LEAST_PART = 64,  /* the fewest entries of a part */
  CSR_MOST_PART  = 256, /* the most: a longer sum would be slow and inexact */

  /* direct.cu: the most entries of a section, and the entries and rows within which rows of one section begin */
  CSR_SECTION     = 1280,
  CSR_SHARED      = 896,
  CSR_CUT_SECTION = 1024, /* the same two where rows are cut that are not longer than a section */
  CSR_CUT_SHARED  = 512,

  /* rows.cu: rows of a thread block, and the most entries of these, which are 48 kB */
  CSR_ROWS         = 256,
  CSR_ROWS_ENTRIES = 4096,

  /* copy.cu: threads of a thread block; thread blocks of a multiprocessor where lanes have two or three vectors each */
  CSR_THREADS  = 128,
  CSR_RESIDENT = 6,

  /* staged.cu */
  CSR_PANEL_ROWS     = 480,                                                /* rows of a thread block, at most */
  CSR_STAGED_ENTRIES = 28,                                                 /* the most entries of a row, in registers */
  CSR_STAGED_COLUMNS = 4,                                                  /* columns of B at a time */
  CSR_STAGED_ZEROS   = 32 / sizeof(HrpbScalar),                            /* zeros behind each of these */
  CSR_STAGED_ROWS    = (28 << 10) / sizeof(HrpbScalar) - CSR_STAGED_ZEROS, /* the most rows of B in shared memory */
  CSR_STAGED_BYTES   = 2 * CSR_STAGED_COLUMNS * (28 << 10),                /* of two stages: nearly all of Hopper's */

  /*
     combine.cu: a thread block adds up a row with more than CSR_HUGE entries, a thread any other. In direct.cu
     CSR_COMBINE_LANES lanes do
  */
  CSR_HUGE          = 2048,
  CSR_COMBINE_LANES = 8
};

static_assert((int)CSR_STAGED_ROWS <= 1 << 16, "the place of a row of B has 16 bits");

/* A part of a row that is cut. Its sum has the slot of the same number */
struct CsrPart {
  HrpbInt begin;
  int32_t length;
};

/* A row that is cut. Its parts are first, first + 1, ... Huge rows come first, then other giant rows, then the rest */
struct CsrLongRow {
  int32_t row, first, nparts;
};

/*
   A section: entries from begin on, up to those of the next section. They belong to the rows from row up to that of the
   next section, and slot is negative. Or they belong to a single row that is longer than a section, and slot is the
   number of their first part
*/
struct CsrSection {
  HrpbInt begin;
  int32_t row, slot;
};

/*
   A run: rows begin to end - 1 of B, which a panel needs. In shared memory they are the rows at, at + 1, ... Both begin
   and at are multiples of what 16 bytes hold
*/
struct CsrRun {
  int32_t begin, end, at;
};

/* A product as the launchers get it */
struct CsrProduct {
  const CsrSchedule *schedule;
  const HrpbInt     *rowptr, *colidx;
  const HrpbScalar  *values, *B;
  HrpbScalar        *C, *partial; /* partial is column-major, too, with a row for each part */
  int64_t            ldb, ldc;
  int32_t            N;
  cudaStream_t       stream;
  int64_t            b_row;       /* distance of rows of B: 1 if B is column-major. Otherwise ldb is 1 */
  const HrpbScalar  *C0;          /* what is added to the product, or NULL; only csr-copy and combine.cu add */
  int64_t            ldc0;
};

/*
   combine.cu: a product as it was described; the same for a kernel that takes plain ones only, with
   HRPB_ERR_UNSUPPORTED for others
*/
CsrProduct CsrProductOfAny(const SpmmMatrix *, const SpmmOperands *, void *work, cudaStream_t);
HrpbError  CsrProductOf(const SpmmMatrix *, const SpmmOperands *, void *work, cudaStream_t, CsrProduct *);

/* Bytes of workspace for the sums of parts */
static inline size_t CsrPartialBytes(const SpmmMatrix *A, int64_t N)
{
  return (size_t)HrpbWholeUnits(sizeof(HrpbScalar) * (size_t)A->csr->nparts * (size_t)N);
}

/*
   The most entries of a part of a row. Longer rows are cut: those several times as long as the mean would keep a warp
   busy when all others are done. The number is a power of two, so that a few more entries somewhere seldom change it
*/
HRPB_INLINE int32_t CsrPartEntries(int64_t nrows, int64_t nnz)
{
  int32_t entries = CSR_LEAST_PART;

  while (entries < CSR_MOST_PART && entries < 4 * (nnz / nrows)) entries *= 2;
  return entries;
}

/*
   panels.cu: which rows of B each panel of rows needs, for staged.cu. It is made where this kernel pays. If panel_rows
   is not zero, it is made for panels of panel_rows rows wherever the kernel can multiply. Otherwise s->panel_rows stays
   zero. Waits
*/
HrpbError CsrPanelsDevice(const HrpbInt *rowptr, const HrpbInt *colidx, int32_t panel_rows, cudaStream_t stream, CsrSchedule *s);
void      CsrPanelsDestroy(CsrSchedule *s, cudaStream_t stream);

/*
   The same for the pattern of a complex matrix, of which s has nothing but its sizes and its longest row: panels of at
   most so many rows, and room for so many rows of B (real/panels.cu)
*/
HrpbError CsrPanelsForPairsDevice(const HrpbInt *rowptr, const HrpbInt *colidx, int32_t panel_rows, int32_t most, int32_t room,
  cudaStream_t stream, CsrSchedule *s);

/* staged.cu: whether this device has that kernel */
HrpbError CsrStagedSupports(bool *supports);

/* combine.cu: make the rows that are cut from the sums of their parts; unless all is set, only the giant ones */
HrpbError CsrCombineRun(const CsrProduct *, bool all);

/* Add over LANES neighbouring lanes of a warp, pairwise, into the first of them. All lanes of the warp call it */
template <int LANES> static __device__ __forceinline__ void CsrAddLanes(HrpbScalar *sum, HrpbScalar *lost)
{
#pragma unroll
  for (int distance = LANES / 2; distance > 0; distance /= 2) {
    const HrpbScalar other = __shfl_down_sync(HRPB_ALL_LANES, *sum, distance, LANES), other_lost = __shfl_down_sync(HRPB_ALL_LANES, *lost, distance, LANES);

    HrpbAddCompensated(other, sum, lost);
    *lost += other_lost;
  }
}

/*
   The sum of a row that is not huge from those of its parts, Part(k). The first of CSR_COMBINE_LANES lanes gets it, and
   all lanes of the warp call it. It is not finite where parts overflow, even if the sum of all entries does not
*/
template <typename PartSum> static __device__ __forceinline__ HrpbScalar CsrSumOfParts(int32_t nparts, PartSum Part)
{
  HrpbScalar sum = 0, lost = 0;

  for (int32_t k = threadIdx.x % CSR_COMBINE_LANES; k < nparts; k += CSR_COMBINE_LANES) HrpbAddCompensated(Part(k), &sum, &lost);
  CsrAddLanes<CSR_COMBINE_LANES>(&sum, &lost);
  return sum + lost;
}

/* Which of several NaNs comes out of a sum depends on how it is computed. This one is the same for all kernels */
static __device__ __forceinline__ HrpbScalar CsrOneNaN(HrpbScalar sum)
{
  return isnan(sum) ? (HrpbScalar)NAN : sum;
}

/*
   Whether sums of a row that is not cut are to be computed again. They are stored already. Those that are not finite
   are, because a chunk may overflow, or the chunks together, where the entries one by one do not. A row of one chunk
   was added one by one
*/
template <int N> static __device__ __forceinline__ bool CsrAgain(int32_t length, const HrpbScalar *sum)
{
  bool finite = true;

  if (length <= CSR_CHUNK) return false;
#pragma unroll
  for (int n = 0; n < N; n++) finite = finite && isfinite(sum[n]);
  return !finite;
}

/*
   The same sum with one entry after the other, as MATAIJ adds them. Entry k meets b[colidx[k] * ldb]. A row of one
   chunk has this sum anyway, with whichever NaN
*/
template <typename Column> static __device__ __forceinline__ HrpbScalar CsrInOneGo(const Column *colidx, const HrpbScalar *values, int32_t length, const HrpbScalar *b, int64_t ldb)
{
  HrpbScalar sum = 0;

#pragma unroll 1
  for (int32_t k = 0; k < length; k++) sum = fma(values[k], b[(int64_t)colidx[k] * ldb], sum);
  return length > CSR_CHUNK ? CsrOneNaN(sum) : sum;
}
