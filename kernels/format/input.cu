#include "input.cuh"

enum {
  MOST_BLOCKS = 1024 /* enough to fill a device. Each warp ends with an atomic operation on the same number */
};

namespace {
typedef struct {
  HrpbFindings csr;
  int32_t      bad_order;
} Findings;
} // namespace

static __global__ void __launch_bounds__(HRPB_THREADS) CheckRowptr(int64_t nrows, const HrpbInt *rowptr, HrpbFindings *findings)
{
  const int64_t      stride = (int64_t)gridDim.x * HRPB_THREADS, first = (int64_t)blockIdx.x * HRPB_THREADS + threadIdx.x;
  unsigned long long heaviest = 0;

  if (first == 0) {
    findings->nnz = (int64_t)rowptr[nrows] - rowptr[0];
    if (rowptr[0] < 0) findings->bad_rowptr = 1;
  }
  for (int64_t i = first; i < nrows; i += stride) {
    if (rowptr[i + 1] < rowptr[i]) findings->bad_rowptr = 1;
  }
  for (int64_t i = first * HRPB_MANY_ROWS; i < nrows; i += stride * HRPB_MANY_ROWS) {
    const int64_t entries = (int64_t)rowptr[min(i + HRPB_MANY_ROWS, nrows)] - rowptr[i];

    if (entries > 0) heaviest = max(heaviest, (unsigned long long)entries);
  }
  if (heaviest) atomicMax(&findings->heaviest, heaviest);
}

/* The loop is over entries, not over rows, so that the lengths of rows do not matter */
static __global__ void __launch_bounds__(HRPB_THREADS) CheckColumns(int64_t nrows, int64_t ncols, const HrpbInt *rowptr, const HrpbInt *colidx, HrpbFindings *findings)
{
  const int64_t stride = (int64_t)gridDim.x * HRPB_THREADS, first = (int64_t)blockIdx.x * HRPB_THREADS + threadIdx.x;
  int64_t       begin, end;
  long long     descents = 0;

  if (findings->bad_rowptr) return; /* a wrong row pointer must not lead outside colidx */
  begin = rowptr[0];
  end   = rowptr[nrows];
  for (int64_t k = begin + first; k < end; k += stride) {
    const HrpbInt column = colidx[k];

    if (column < 0 || column >= ncols) findings->bad_column = 1;
    if (k > begin && column <= colidx[k - 1]) descents++;
  }
  for (int64_t i = first; i < nrows; i += stride) {
    const int64_t k = rowptr[i];

    if (k > begin && k < rowptr[i + 1] && colidx[k] <= colidx[k - 1]) descents--;
  }
  descents = (long long)HrpbSumOfLanes((unsigned long long)descents);
  if (threadIdx.x % HRPB_LANES == 0 && descents) atomicAdd(&findings->descents, (unsigned long long)descents);
}

/* seen has nrows bits, all zero */
static __global__ void __launch_bounds__(HRPB_THREADS) CheckOrder(int64_t nrows, const int32_t *order, uint32_t *seen, int32_t *bad_order)
{
  for (int64_t i = (int64_t)blockIdx.x * HRPB_THREADS + threadIdx.x; i < nrows; i += (int64_t)gridDim.x * HRPB_THREADS) {
    const int32_t row = order[i];

    if (row < 0 || row >= nrows || atomicOr(seen + row / 32, 1u << row % 32) >> row % 32 & 1) *bad_order = 1;
  }
}

HrpbError HrpbCheckCsrDevice(int64_t nrows, int64_t ncols, const HrpbInt *rowptr, const HrpbInt *colidx, HrpbFindings *findings, HrpbStream stream)
{
  HrpbCall(HrpbLaunch(CheckRowptr, HrpbGrid(nrows, HRPB_THREADS, MOST_BLOCKS), HRPB_THREADS, 0, stream, nrows, rowptr, findings));
  HrpbCall(HrpbLaunch(CheckColumns, MOST_BLOCKS, HRPB_THREADS, 0, stream, nrows, ncols, rowptr, colidx, findings));
  return HRPB_SUCCESS;
}

HrpbError HrpbCheckSizes(int64_t nrows, int64_t ncols)
{
  if (nrows < 0 || ncols < 0) return HRPB_ERR_CSR;
  return nrows > INT32_MAX || ncols > INT32_MAX ? HRPB_ERR_OVERFLOW : HRPB_SUCCESS;
}

static HrpbError Check(int64_t nrows, int64_t ncols, const HrpbInt *rowptr, const HrpbInt *colidx, const int32_t *order, HrpbStream stream, Findings *findings, uint32_t *seen, HrpbInput *input)
{
  Findings found;

  HrpbCallCuda(cudaMemsetAsync(findings, 0, sizeof(*findings), stream));
  HrpbCall(HrpbCheckCsrDevice(nrows, ncols, rowptr, colidx, &findings->csr, stream));
  if (order) {
    HrpbCallCuda(cudaMemsetAsync(seen, 0, sizeof(*seen) * (size_t)((nrows + 31) / 32), stream));
    HrpbCall(HrpbLaunch(CheckOrder, HrpbGrid(nrows, HRPB_THREADS, MOST_BLOCKS), HRPB_THREADS, 0, stream, nrows, order, seen, &findings->bad_order));
  }
  HrpbCall(HrpbBring(&found, findings, sizeof(found), stream));
  if (!HrpbIsGood(&found.csr)) return HRPB_ERR_CSR;
  if (found.bad_order) return HRPB_ERR_ORDER;
  input->nnz      = found.csr.nnz;
  input->heaviest = (int64_t)found.csr.heaviest;
  return HRPB_SUCCESS;
}

HrpbError HrpbCheckInputDevice(int64_t nrows, int64_t ncols, const HrpbInt *rowptr, const HrpbInt *colidx, const int32_t *order, HrpbStream stream, HrpbInput *input)
{
  Findings *findings = NULL;
  uint32_t *seen     = NULL;
  HrpbError err;

  HrpbCall(HrpbCheckSizes(nrows, ncols));
  err = HrpbAllocateTogether(stream, &findings, 1, &seen, order ? (nrows + 31) / 32 : 0);
  if (!err) err = Check(nrows, ncols, rowptr, colidx, order, stream, findings, seen, input);
  return HrpbFree(findings, err, stream);
}
