/*
   What the phases of a product share: the bins of rows.
*/
#pragma once

#include "../common/launch.cuh"
#include "sparse.h"

/* log2 of the table for the rows of a bin. Rows of the last bin are longer, and have none */
static __host__ __device__ inline int SparseBinBits(int bin)
{
  return bin < 4 ? 7 + bin : bin == 4 ? 12 : 14;
}

/* A warp for each row, or else a thread block */
static inline bool SparseBinIsWarps(int bin)
{
  return bin < 4;
}

/* Whether a thread block can have so much dynamic shared memory, beside what kernels here have of their own */
static inline bool SparseFits(const SpmmDevice *device, size_t bytes)
{
  return bytes + 4096 <= (size_t)device->shared_cta;
}

/* Let a kernel have so much dynamic shared memory. What it has of its own counts, too, where it may not have more */
template <typename... Formal> static HrpbError SparseShared(void (*kernel)(Formal...), size_t bytes)
{
  if (bytes + 8192 > 48 << 10) HrpbCallCuda(cudaFuncSetAttribute(kernel, cudaFuncAttributeMaxDynamicSharedMemorySize, (int)bytes));
  return HRPB_SUCCESS;
}
