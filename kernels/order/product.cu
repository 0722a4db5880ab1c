/*
   Products by bricks of a reordered matrix: X is copied to its order, and the product from it to Y. Rows that the
   kernel stores at their places in Y take up to five times as long as that copy: they lie anywhere, 8 bytes each.
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

/* Leading dimension of a copy of X or Y: whole sectors, so that windows of 32 bytes are in one */
static int64_t CopyLD(const HrpbReordered *order)
{
  const int64_t unit = 32 / (int64_t)sizeof(HrpbScalar);

  return ((int64_t)order->n + unit - 1) / unit * unit;
}

/* Scalars of such a copy. What follows it is aligned as device memory is */
static int64_t CopyScalars(const HrpbReordered *order, int64_t N)
{
  const int64_t unit = 256 / (int64_t)sizeof(HrpbScalar);

  return (CopyLD(order) * N + unit - 1) / unit * unit;
}

HrpbError SpmmWorkReordered(const SpmmKernel *kernel, const SpmmMatrix *A, const HrpbReordered *order, int64_t N, size_t *bytes)
{
  const SpmmOperands copies = SpmmPlain(N, NULL, CopyLD(order), NULL, CopyLD(order));

  HrpbCall(SpmmWork(kernel, A, &copies, bytes));
  *bytes += 2 * sizeof(HrpbScalar) * (size_t)CopyScalars(order, N);
  return HRPB_SUCCESS;
}

HrpbError SpmmRunReordered(const SpmmKernel *kernel, const SpmmMatrix *A, const HrpbReordered *order, const SpmmOperands *o, void *work, HrpbStream stream)
{
  const int64_t      ld = CopyLD(order);
  HrpbScalar        *x = (HrpbScalar *)work, *y = x + CopyScalars(order, o->N);
  const SpmmOperands copies = SpmmPlain(o->N, x, ld, y, ld);

  if (!SpmmIsPlain(o)) return HRPB_ERR_UNSUPPORTED;
  HrpbCall(HrpbPermuteRowsDevice(order->order, order->n, o->N, o->X.array, o->X.ld, x, ld, stream));
  HrpbCall(SpmmRun(kernel, A, &copies, y + CopyScalars(order, o->N), stream));
  return HrpbPermuteRowsDevice(order->position, order->n, o->N, y, ld, o->Y.array, o->Y.ld, stream);
}
