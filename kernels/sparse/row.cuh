/*
   Columns of a row of a product, in a hash table in shared memory or as bits of all columns in global memory, and who
   works on what.

   A row belongs to a group: a warp, or a thread block. Its threads share the entries of the row of A, and `lanes` of
   them read a row of B.
*/
#pragma once

#include "../common/device.cuh"
#include "sparse.h"

enum {
  SPARSE_EMPTY = INT32_MAX /* no column */
};

/* log2 of the places of a table; three quarters of them are used at most, so a search ends soon */
static __host__ __device__ inline uint32_t SparseMost(int bits)
{
  return 3u << (bits - 2);
}

/* Neighbours go to places far apart, and multiples of a power of two as well */
static __device__ __forceinline__ uint32_t SparsePlace(int32_t column, int bits)
{
  return (uint32_t)column * 0x9E3779B1u >> (32 - bits);
}

/* Whether the column is new in the table, which has an empty place */
static __device__ __forceinline__ bool SparseInsert(int32_t *keys, int bits, int32_t column)
{
  for (uint32_t at = SparsePlace(column, bits);; at = (at + 1) & ((1u << bits) - 1)) {
    int32_t seen = ((volatile int32_t *)keys)[at];

    if (seen == SPARSE_EMPTY) seen = atomicCAS(&keys[at], (int32_t)SPARSE_EMPTY, column);
    if (seen == SPARSE_EMPTY) return true;
    if (seen == column) return false;
  }
}

/* The place of a column, or -1 */
static __device__ __forceinline__ int32_t SparseFind(const int32_t *keys, int bits, int32_t column)
{
  for (uint32_t at = SparsePlace(column, bits);; at = (at + 1) & ((1u << bits) - 1)) {
    const int32_t seen = keys[at];

    if (seen == column) return (int32_t)at;
    if (seen == SPARSE_EMPTY) return -1;
  }
}

template <int THREADS> static __device__ __forceinline__ void SparseSync(void)
{
  if (THREADS == HRPB_LANES) __syncwarp();
  else __syncthreads();
}

template <int THREADS> static __device__ __forceinline__ void SparseClear(int32_t *keys, int bits)
{
  for (uint32_t i = threadIdx.x % THREADS; i < 1u << bits; i += THREADS) keys[i] = SPARSE_EMPTY;
}

/* Call f(column) for the columns of a row of A B, again and again, in any order */
template <int THREADS, typename F> static __device__ __forceinline__ void SparseColumns(const SparseMatrix &A, const SparseMatrix &B, int64_t row, int lanes, F f)
{
  const uint32_t thread = threadIdx.x % THREADS, mask = (1u << lanes) - 1;
  const HrpbInt  end    = A.rowptr[row + 1];

  for (int64_t k = A.rowptr[row] + (thread >> lanes); k < end; k += THREADS >> lanes) {
    const HrpbInt middle = A.colidx[k], last = B.rowptr[middle + 1];

    for (int64_t l = B.rowptr[middle] + (thread & mask); l < last; l += mask + 1) f((int32_t)B.colidx[l]);
  }
}

/* Sort a table. The empty places come last */
template <int THREADS> static __device__ __forceinline__ void SparseSort(int32_t *keys, int bits)
{
  for (uint32_t size = 2; size <= 1u << bits; size *= 2) {
    for (uint32_t stride = size / 2; stride; stride /= 2) {
      SparseSync<THREADS>();
      for (uint32_t i = threadIdx.x % THREADS; i < 1u << (bits - 1); i += THREADS) {
        const uint32_t low = 2 * i - (i & (stride - 1)), high = low + stride;
        const int32_t  x = keys[low], y = keys[high];

        if ((x > y) == !(low & size)) {
          keys[low]  = y;
          keys[high] = x;
        }
      }
    }
  }
  SparseSync<THREADS>();
}
