/*
   Sampled products with CSR, both operands as they are.

   A thread has a row, and a few of its entries at a time. It goes down the columns of the operands. Neighbouring rows
   mostly have neighbouring columns, so what a warp reads of a column lies together.

   Rows may be long or columns lie anywhere: the result is right, but sampled-copy is faster. CsrSchedule says where
   rows suit.
*/
#include "../csr/csr.cuh"
#include "sample.cuh"

enum {
  ROWS_ENTRIES = 8 /* entries of a row that a thread has at a time */
};

namespace {
struct SampleRowsArgs {
  SampleArgs s;
  int32_t    room; /* the most entries of CSR_ROWS rows */
};
} // namespace

static __global__ void __launch_bounds__(CSR_ROWS) SampleRows(const __grid_constant__ SampleRowsArgs args)
{
  extern __shared__ HrpbScalar sums[];
  const SampleArgs &a       = args.s;
  int32_t          *columns = (int32_t *)(sums + args.room);
  const int32_t     first = blockIdx.x * CSR_ROWS, nrows = min(a.nrows - first, (int32_t)CSR_ROWS), row = first + threadIdx.x;
  const HrpbInt     start    = __ldg(a.rowptr + first);
  const int32_t     nentries = (int32_t)(__ldg(a.rowptr + first + nrows) - start);

  for (int32_t k = threadIdx.x; k < nentries; k += CSR_ROWS) columns[k] = (int32_t)__ldg(a.colidx + start + k);
  __syncthreads();
  if ((int32_t)threadIdx.x < nrows) {
    const int32_t end = (int32_t)(__ldg(a.rowptr + row + 1) - start);

#pragma unroll 1
    for (int32_t k = (int32_t)(__ldg(a.rowptr + row) - start); k < end; k += ROWS_ENTRIES) {
      const HrpbScalar *x = a.left + row;
      const HrpbScalar *y[ROWS_ENTRIES];
      HrpbScalar        sum[ROWS_ENTRIES] = {};

#pragma unroll
      for (int u = 0; u < ROWS_ENTRIES; u++) y[u] = a.right + columns[k + u < end ? k + u : k];
#pragma unroll 2
      for (int32_t l = 0; l < a.N; l++) {
        const HrpbScalar left = __ldg(x + l * a.ldleft);

#pragma unroll
        for (int u = 0; u < ROWS_ENTRIES; u++) sum[u] = fma(left, __ldg(y[u] + l * a.ldright), sum[u]);
      }
#pragma unroll
      for (int u = 0; u < ROWS_ENTRIES; u++) {
        if (k + u < end) sums[k + u] = sum[u];
      }
    }
  }
  __syncthreads();
  for (int32_t k = threadIdx.x; k < nentries; k += CSR_ROWS) a.out[start + k] = a.values ? a.values[start + k] * sums[k] : sums[k];
}

static bool Takes(const SpmmFacts *facts, const HrpbParams *, const SpmmOperands *o, const SpmmDevice *)
{
  return facts->rows_entries && o->X.layout == SPMM_COLUMN_MAJOR;
}

static double Seconds(const SpmmFacts *facts, const HrpbParams *params, HrpbPrecision precision, int64_t N, const SpmmDevice *device)
{
  return device->model->sampled.rows * SpmmCsrRows.seconds(facts, params, precision, N, device);
}

static HrpbError Run(const SpmmMatrix *A, const SpmmOperands *o, void *, HrpbStream stream)
{
  const SampleRowsArgs a = {SampleArgsOf(A, o), A->csr->rows_entries};

  HrpbCall(HrpbLaunch(SampleRows, HrpbGrid(A->nrows, CSR_ROWS), CSR_ROWS, (sizeof(HrpbScalar) + sizeof(int32_t)) * (size_t)a.room, stream, a));
  return HRPB_SUCCESS;
}

SPMM_KERNEL(SpmmSampledRows) = {
  .name    = "sampled-rows",
  .what    = "sampled products, both operands as they are: for short rows whose columns run with them",
  .op      = SPMM_OP_SAMPLED,
  .format  = SPMM_CSR,
  .takes   = Takes,
  .seconds = Seconds,
  .run     = Run
};
