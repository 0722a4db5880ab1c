/*
   Products by bricks of a reordered matrix: X is copied to its order, and the product from it to Y. Rows that the
   kernel stores at their places in Y take up to five times as long as that copy: they lie anywhere, 8 bytes each.

   Copies are row-major where the kernel takes that. A row is whole sectors then, wherever it comes to. In column-major
   ones each number is in a sector of 32 bytes of its own.
*/
#include "reorder.h"
#include "../common/launch.cuh"
#include "../common/rowmajor.cuh"

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

    HrpbCall(HrpbLaunch(PermuteRows, dim3(HrpbGrid(n, HRPB_THREADS), HrpbGrid(columns, PERMUTED)), HRPB_THREADS, 0, stream, index, n, columns, from + column * ldfrom, ldfrom, to + column * ldto, ldto));
  }
  return HRPB_SUCCESS;
}

namespace {
/* Copies of X and Y in the order of the matrix: where they begin in the workspace, and the product of the two */
struct OrderedCopies {
  SpmmOperands product;
  size_t       bytes; /* of both */
};
} // namespace

/* Bytes of a copy. What follows it is aligned as device memory is */
static size_t CopyBytes(int64_t scalars)
{
  return (size_t)HrpbWholeUnits(sizeof(HrpbScalar) * (size_t)scalars);
}

static HrpbError CopiesFor(const SpmmKernel *kernel, const SpmmMatrix *A, int64_t n, int64_t N, void *work, OrderedCopies *c)
{
  const SpmmFacts   facts = SpmmFactsOf(A);
  const SpmmDevice *device;
  int64_t           ld = WholeSectors(N);
  size_t            bytes = CopyBytes(ld * (n + 1)); /* a padded matrix has a row of zeros behind the last */

  HrpbCall(SpmmGetDevice(&device));
  c->product          = SpmmPlain(N, (const HrpbScalar *)work, ld, NULL, ld);
  c->product.X.layout = SPMM_ROW_MAJOR_PADDED;
  c->product.Y.layout = SPMM_ROW_MAJOR;
  if (!kernel->takes(&facts, &A->hrpb->params, &c->product, device)) {
    ld         = WholeSectors(n); /* windows of 32 bytes are in one */
    bytes      = CopyBytes(ld * N);
    c->product = SpmmPlain(N, (const HrpbScalar *)work, ld, NULL, ld);
  }
  c->product.Y.array = (HrpbScalar *)((uint8_t *)work + bytes);
  c->bytes           = 2 * bytes;
  return HRPB_SUCCESS;
}

HrpbError SpmmWorkReordered(const SpmmKernel *kernel, const SpmmMatrix *A, const HrpbReordered *order, int64_t N, size_t *bytes)
{
  OrderedCopies c;

  HrpbCall(CopiesFor(kernel, A, order->n, N, NULL, &c));
  HrpbCall(SpmmWork(kernel, A, &c.product, bytes));
  *bytes += c.bytes;
  return HRPB_SUCCESS;
}

HrpbError SpmmRunReordered(const SpmmKernel *kernel, const SpmmMatrix *A, const HrpbReordered *order, const SpmmOperands *o, void *work, HrpbStream stream)
{
  const int32_t n = order->n, N = (int32_t)o->N;
  OrderedCopies c;

  if (!SpmmIsPlain(o)) return HRPB_ERR_UNSUPPORTED;
  if (o->N > HRPB_MAX_COLUMNS) return HRPB_ERR_OVERFLOW;
  if (!N) return HRPB_SUCCESS;
  HrpbCall(CopiesFor(kernel, A, n, N, work, &c));

  const SpmmOperands *p    = &c.product;
  HrpbScalar         *x    = (HrpbScalar *)work;
  const bool          rows = p->Y.layout == SPMM_ROW_MAJOR;
  const int32_t       ld   = (int32_t)p->X.ld;

  if (rows) HrpbCall(RowMajorAt(o->X.array, o->X.ld, n, N, order->position, x, n + 1, ld, stream));
  else HrpbCall(HrpbPermuteRowsDevice(order->order, n, N, o->X.array, o->X.ld, x, ld, stream));
  HrpbCall(SpmmRun(kernel, A, p, (uint8_t *)work + c.bytes, stream));
  if (rows) return ColumnMajorFrom((const HrpbScalar *)p->Y.array, ld, order->position, o->Y.array, o->Y.ld, n, N, stream);
  return HrpbPermuteRowsDevice(order->position, n, N, p->Y.array, ld, o->Y.array, o->Y.ld, stream);
}
