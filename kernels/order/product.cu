/*
   Products by bricks of a reordered matrix: X is copied to its order, and rows of the product are stored at their
   places in Y.
*/
#include "reorder.h"
#include "../common/device.cuh"

enum {
  PERMUTED = 4 /* columns of a thread: neighbours in memory, which one read brings */
};

/* A few columns at a time, so that what a sector has for other rows is still at hand when these come */
static __global__ void __launch_bounds__(HRPB_THREADS) PermuteRows(const int32_t *index, int64_t n, int64_t N, const HrpbScalar *from, int64_t ldfrom, HrpbScalar *to, int64_t ldto)
{
  const int64_t k = (int64_t)blockIdx.x * HRPB_THREADS + threadIdx.x, column = (int64_t)blockIdx.y * PERMUTED;

  if (k >= n) return;
  const int64_t row = index[k];
  HrpbScalar    x[PERMUTED];

#pragma unroll
  for (int j = 0; j < PERMUTED; j++) {
    if (column + j < N) x[j] = from[row + (column + j) * ldfrom];
  }
#pragma unroll
  for (int j = 0; j < PERMUTED; j++) {
    if (column + j < N) to[k + (column + j) * ldto] = x[j];
  }
}

HrpbError HrpbPermuteRowsDevice(const int32_t *index, int64_t n, int64_t N, const HrpbScalar *from, int64_t ldfrom, HrpbScalar *to, int64_t ldto, HrpbStream stream)
{
  enum {
    MOST = 65535 * PERMUTED /* the most columns of a launch */
  };

  if (n == 0) return HRPB_SUCCESS;
  for (int64_t column = 0; column < N; column += MOST) {
    const int64_t columns = N - column < MOST ? N - column : MOST;

    PermuteRows<<<dim3(HrpbGrid(n, HRPB_THREADS), HrpbGrid(columns, PERMUTED)), HRPB_THREADS, 0, stream>>>(index, n, columns, from + column * ldfrom, ldfrom, to + column * ldto, ldto);
    HrpbCallCuda(cudaGetLastError());
  }
  return HRPB_SUCCESS;
}

/* Leading dimension of the copy of X: whole units of 16 bytes */
static int64_t CopyLD(const HrpbReordered *order)
{
  const int64_t unit = 16 / (int64_t)sizeof(HrpbScalar);

  return ((int64_t)order->n + unit - 1) / unit * unit;
}

/* Bytes of the copy, so that what follows it is aligned as device memory is */
static size_t CopyBytes(const HrpbReordered *order, int64_t N)
{
  return (sizeof(HrpbScalar) * (size_t)(CopyLD(order) * N) + 255) / 256 * 256;
}

/* The product with the copy, which comes first in the workspace */
static SpmmOperands OfCopy(const HrpbReordered *order, const SpmmOperands *o, void *work)
{
  SpmmOperands copied = *o;

  copied.X = {(const HrpbScalar *)work, CopyLD(order), SPMM_COLUMN_MAJOR};
  return copied;
}

HrpbError SpmmWorkReordered(const SpmmKernel *kernel, const SpmmMatrix *A, const HrpbReordered *order, const SpmmOperands *o, size_t *bytes)
{
  const SpmmOperands copied = OfCopy(order, o, NULL);

  HrpbCall(SpmmWork(kernel, A, &copied, bytes));
  *bytes += CopyBytes(order, o->N);
  return HRPB_SUCCESS;
}

HrpbError SpmmRunReordered(const SpmmKernel *kernel, const SpmmMatrix *A, const HrpbReordered *order, const SpmmOperands *o, void *work, HrpbStream stream)
{
  const SpmmOperands copied = OfCopy(order, o, work);
  Hrpb               placed = *A->hrpb;
  SpmmMatrix         stored = *A;

  placed.order = order->order;
  stored.hrpb  = &placed;
  HrpbCall(HrpbPermuteRowsDevice(order->order, order->n, o->N, o->X.array, o->X.ld, (HrpbScalar *)work, copied.X.ld, stream));
  return SpmmRun(kernel, &stored, &copied, (uint8_t *)work + CopyBytes(order, o->N), stream);
}
