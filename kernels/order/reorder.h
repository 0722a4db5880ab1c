/*
   Reordering on an NVIDIA GPU: rows and columns of a square matrix get an order in which those that belong together lie
   together. Bricks of the reordered matrix are as good as its pattern lets them be, in whatever order it came.

   As in hrpbdevice.h arrays are device pointers, structs and their numbers are on the host, the device is the current
   one, and work goes to stream.
*/
#pragma once

#include "../spmm.h"

#ifdef __cplusplus
extern "C" {
#endif

/* A reordered matrix: its row and column k are row and column order[k] of the matrix that it was made from */
typedef struct {
  int32_t  n;
  int64_t  nnz;
  int32_t *order, *position; /* [n]; position is the inverse of order */
  HrpbInt *rowptr;           /* [n + 1], from 0 */
  HrpbInt *colidx;           /* [nnz], ascending in each row */
  HrpbInt *entry;            /* [nnz] the entry of the matrix that each was made from */
  int32_t  levels;           /* the least most_levels with which it is found: about the levels of the two searches */
} HrpbReordered;

/*
   Whether reordering may pay: on average over a sample, which share of its columns does a row have in common with its
   neighbours, the rows that its columns name? It is about 0.4 in a mesh, and next to nothing where columns are random.
   At most 256 columns of a row are looked at. The CSR is trusted. Waits for the stream
*/
HrpbError HrpbSharedNeighboursDevice(int64_t n, const HrpbInt *rowptr, const HrpbInt *colidx, HrpbStream stream, double *shared);

/*
   Reorder a matrix by the method of Cuthill and McKee (Reducing the bandwidth of sparse symmetric matrices, 1969),
   level by level. The search is breadth first, from a row far out. In each level rows are in the order of their first
   neighbour in the level before, and rows with the same columns are side by side. The order follows from the CSR alone.
   The CSR is trusted, and its rows are sorted. Its pattern need not be symmetric.

   Waits for the stream after 2, 4, 8, 16 levels and then after each 32. HRPB_ERR_UNSUPPORTED: there are more than
   most_levels, which is known soon, or 2^31 entries. c is zeroed on any error. While it works it needs twice as much
   memory again as it keeps.
*/
HrpbError HrpbReorderDevice(int64_t n, const HrpbInt *rowptr, const HrpbInt *colidx, int32_t most_levels, HrpbStream stream, HrpbReordered *c);
void      HrpbReorderDestroyDevice(HrpbReordered *c, HrpbStream stream);

/* Bytes of its arrays */
HRPB_INLINE size_t HrpbReorderedBytes(const HrpbReordered *c)
{
  return c->n ? 2 * sizeof(int32_t) * (size_t)c->n + sizeof(HrpbInt) * ((size_t)c->n + 1 + 2 * (size_t)c->nnz) : 0;
}

/* to[k] = from[index[k]], k < n, in each of N columns */
HrpbError HrpbPermuteRowsDevice(const int32_t *index, int64_t n, int64_t N, const HrpbScalar *from, int64_t ldfrom, HrpbScalar *to, int64_t ldto, HrpbStream stream);

/*
   A plain product with the matrix, by bricks of the reordered one. Both ways of the vectors are copies in the
   workspace, which has these bytes
*/
HrpbError SpmmWorkReordered(const SpmmKernel *, const SpmmMatrix *bricks, const HrpbReordered *, int64_t N, size_t *bytes);
HrpbError SpmmRunReordered(const SpmmKernel *, const SpmmMatrix *bricks, const HrpbReordered *, const SpmmOperands *, void *work, HrpbStream stream);

#ifdef __cplusplus
}
#endif
