/*
   Reordering on an NVIDIA GPU: rows and columns of a square matrix in an order in which those that belong together lie
   together. Bricks of the reordered matrix are as good as its pattern lets them be, whatever order it came in.

   As in hrpbdevice.h arrays are device pointers, structs and their numbers are on the host, the device is the current
   one, and work goes to stream.
*/
#pragma once

#include "../format/hrpbdevice.h"

#ifdef __cplusplus
extern "C" {
#endif

/* A matrix in another order: its row and column k are row and column order[k] of the one that it was made from */
typedef struct {
  int32_t  n;
  int64_t  nnz;
  int32_t *order, *position; /* [n]; position is the inverse of order */
  HrpbInt *rowptr;           /* [n + 1], from 0 */
  HrpbInt *colidx;           /* [nnz], ascending in each row */
  HrpbInt *entry;            /* [nnz] which entry of the matrix that it was made from each is */
  int32_t  levels;           /* the least most_levels with which it is found: about those of the two searches for it */
} HrpbReordered;

/*
   Whether it may be worth while: of the neighbours of a row (the rows that its columns name), how many of its columns
   do they share, on average over a sample? About 0.4 in a mesh, next to nothing where columns are random. Of a row with
   many columns 256 are looked at. The CSR is trusted. Waits for the stream
*/
HrpbError HrpbSharedNeighboursDevice(int64_t n, const HrpbInt *rowptr, const HrpbInt *colidx, HrpbStream stream, double *shared);

/*
   The order is that of Cuthill and McKee (Reducing the bandwidth of sparse symmetric matrices, 1969), level by level:
   breadth first from a row far out, and in each level by the first neighbour in the level before, rows with the same
   columns side by side. It follows from the CSR alone. The CSR is trusted, its rows are sorted; its pattern need not be
   symmetric.

   Waits for the stream, once for a level. HRPB_ERR_UNSUPPORTED where there are more than most_levels, which is known
   soon, or 2^31 entries; c is zeroed on any error. Needs twice as much memory again as it keeps while it works
*/
HrpbError HrpbReorderDevice(int64_t n, const HrpbInt *rowptr, const HrpbInt *colidx, int32_t most_levels, HrpbStream stream, HrpbReordered *c);
void      HrpbReorderDestroyDevice(HrpbReordered *c, HrpbStream stream);

/* Of its arrays */
HRPB_INLINE size_t HrpbReorderedBytes(const HrpbReordered *c)
{
  return c->n ? 2 * sizeof(int32_t) * (size_t)c->n + sizeof(HrpbInt) * ((size_t)c->n + 1 + 2 * (size_t)c->nnz) : 0;
}

/* to[k] = from[index[k]], k < n, in each of N columns */
HrpbError HrpbPermuteRowsDevice(const int32_t *index, int64_t n, int64_t N, const HrpbScalar *from, int64_t ldfrom, HrpbScalar *to, int64_t ldto, HrpbStream stream);

#ifdef __cplusplus
}
#endif
