/*
   What the kernels for CSR share: how rows are cut, and the order in which the sums of a row's parts are put together.
   The order is the same wherever it happens, so that a column of C has the same bits whichever kernel made it.
*/
#pragma once

#include "../spmm.h"
#include "../common/device.cuh"

enum {
  /* Entries of a part of a row that is cut. A sum of more would be slow and inexact */
  CSR_LEAST_PART = 64,
  CSR_MOST_PART  = 256,

  /*
     Entries that are added up before they go to the sum of a row or part. Where rows have 30 entries and more, that
     halves the error of a sum in one go
  */
  CSR_CHUNK = 8,

  /* Entries of a section, at most; entries and rows that rows in one section begin in */
  CSR_SECTION = 1280,
  CSR_SHARED  = 896,
  /* The same where rows are cut that are not longer than a section */
  CSR_CUT_SECTION = 1024,
  CSR_CUT_SHARED  = 512,

  /*
     The sums of the parts of a row are added by a thread block where the row has more entries than this, otherwise by a
     thread, or by so many lanes in direct.cu
  */
  CSR_HUGE          = 2048,
  CSR_COMBINE_LANES = 8,

  /* rows.cu: rows of a thread block, and their entries, at most: 48 kB */
  CSR_ROWS         = 256,
  CSR_ROWS_ENTRIES = 4096,

  /*
     copy.cu: threads of a thread block; and thread blocks that a multiprocessor has at once, at least, where lanes have
     two or three vectors each
  */
  CSR_THREADS  = 128,
  CSR_RESIDENT = 6,

  /* staged.cu: rows of a panel, at most. With one warp more, that is as many as have 128 registers each */
  CSR_PANEL_ROWS = 480,
  /* Entries of a row, at most: they are in registers */
  CSR_STAGED_ENTRIES = 28,
  /* Columns of B at a time, zeros behind each, and rows of B at most */
  CSR_STAGED_COLUMNS = 4,
  CSR_STAGED_ZEROS   = 32 / sizeof(HrpbScalar),
  CSR_STAGED_ROWS    = (28 << 10) / sizeof(HrpbScalar) - CSR_STAGED_ZEROS,
  /* Shared memory for two stages: nearly all that a thread block can have on Hopper */
  CSR_STAGED_BYTES = 2 * CSR_STAGED_COLUMNS * (28 << 10)
};

static_assert((int)CSR_STAGED_ROWS <= 1 << 16, "the place of a row of B has 16 bits");

/* Part of a row that is cut; its sum has the slot of the same number */
struct CsrPart {
  HrpbInt begin;
  int32_t length;
};

/*
   A row that is cut: its parts are first, first + 1, ... The huge rows come first, then the others that are longer than
   a section
*/
struct CsrLongRow {
  int32_t row, first, nparts;
};

/*
   Entries that a thread block has at a time, up to those of the next section: either of the rows from row up to the
   next section's, or, of a single row that is longer than a section, those of the parts from slot on; slot is negative
   otherwise
*/
struct CsrSection {
  HrpbInt begin;
  int32_t row, slot;
};

/*
   Rows begin to end - 1 of B, which a panel needs, are its rows at, at + 1, ... in shared memory; begin and at lie
   where 16 bytes begin
*/
struct CsrRun {
  int32_t begin, end, at;
};

/* A product as the launchers get it */
struct CsrProduct {
  const CsrSchedule *schedule;
  const HrpbInt     *rowptr, *colidx;
  const HrpbScalar  *values, *B;
  HrpbScalar        *C, *partial; /* partial is column-major, too: a row for each part */
  int64_t            ldb, ldc;
  int32_t            N;
  cudaStream_t       stream;
  int64_t            b_row;       /* from an entry of B to that in the next row: 1 where B is column-major, and ldb 1 where it is not */
  const HrpbScalar  *C0;          /* what is added to the product, or NULL; only csr-copy and combine.cu do so */
  int64_t            ldc0;
};

/*
   combine.cu: a product as it was described, and the same for a kernel that takes plain ones alone:
   HRPB_ERR_UNSUPPORTED for others
*/
CsrProduct CsrProductOfAny(const SpmmMatrix *, const SpmmOperands *, void *work, cudaStream_t);
HrpbError  CsrProductOf(const SpmmMatrix *, const SpmmOperands *, void *work, cudaStream_t, CsrProduct *);

/* Bytes of workspace for the sums of parts */
static inline size_t CsrPartialBytes(const SpmmMatrix *A, int64_t N)
{
  return (sizeof(HrpbScalar) * (size_t)A->csr->nparts * (size_t)N + 255) / 256 * 256;
}

/*
   panels.cu: which rows of B panels of rows need, if staged.cu is to multiply them: where that pays, or, for panels of
   so many rows unless that is zero, wherever it can. panel_rows remains zero otherwise. Waits
*/
HrpbError CsrPanelsDevice(const HrpbInt *rowptr, const HrpbInt *colidx, int32_t panel_rows, cudaStream_t stream, CsrSchedule *s);
void      CsrPanelsDestroy(CsrSchedule *s, cudaStream_t stream);

/* staged.cu: whether this device has that kernel */
HrpbError CsrStagedSupports(bool *supports);

/*
   combine.cu: the rows that are cut, or only those of them that are longer than a section, from the sums of their parts
*/
HrpbError CsrCombineRun(const CsrProduct *, bool all);

/* Add over LANES neighbouring lanes of a warp, pairwise, into the first of them; by all lanes of the warp */
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
   The sum of a row that is not huge from those of its parts, Part(k), in the first of CSR_COMBINE_LANES lanes; by all
   lanes of the warp. Not finite where parts overflow, even if their sum does not
*/
template <typename PartSum> static __device__ __forceinline__ HrpbScalar CsrSumOfParts(int32_t nparts, PartSum Part)
{
  HrpbScalar sum = 0, lost = 0;

  for (int32_t k = threadIdx.x % CSR_COMBINE_LANES; k < nparts; k += CSR_COMBINE_LANES) HrpbAddCompensated(Part(k), &sum, &lost);
  CsrAddLanes<CSR_COMBINE_LANES>(&sum, &lost);
  return sum + lost;
}

/*
   Which of the NaNs among the terms of a sum comes through depends on how it is computed: let it be the same for all
   kernels
*/
static __device__ __forceinline__ HrpbScalar CsrOneNaN(HrpbScalar sum)
{
  return isnan(sum) ? (HrpbScalar)NAN : sum;
}

/*
   Whether sums of a row that is not cut, stored already, are to be computed again: those that are not finite, for a
   chunk or the chunks together may overflow where the entries one by one do not. A row of one chunk was added so
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
   The same sum with one entry after the other, as MATAIJ adds them: entry k meets b[colidx[k] * ldb]. A row of one
   chunk has that sum anyway, with whichever NaN
*/
template <typename Column> static __device__ __forceinline__ HrpbScalar CsrInOneGo(const Column *colidx, const HrpbScalar *values, int32_t length, const HrpbScalar *b, int64_t ldb)
{
  HrpbScalar sum = 0;

#pragma unroll 1
  for (int32_t k = 0; k < length; k++) sum = fma(values[k], b[(int64_t)colidx[k] * ldb], sum);
  return length > CSR_CHUNK ? CsrOneNaN(sum) : sum;
}
