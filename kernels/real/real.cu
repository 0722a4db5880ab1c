/*
   A complex matrix as a real one, on a device. A thread has an entry, and finds its row by bisection: rows may differ
   in length as they like, and neighbours take the same steps.
*/
#include "real.h"
#include "../common/device.cuh"

namespace {
/* Two numbers that are read and written at once: parts of a complex one, or neighbours in a row of the real matrix */
template <typename T> struct alignas(2 * sizeof(T)) Pair {
  T x, y;
};
} // namespace

/* Where the two pairs of entry k, counted from the first, go: the second one as many behind the first as the row has */
static __device__ __forceinline__ int64_t PlaceOf(const HrpbInt *rowptr, int64_t nrows, int64_t k, int64_t *behind)
{
  int64_t low = 0, high = nrows; /* rowptr[low] <= k < rowptr[high] */

  k += rowptr[0];
  while (high - low > 1) {
    const int64_t middle = (low + high) / 2;

    if (rowptr[middle] <= k) low = middle;
    else high = middle;
  }
  *behind = rowptr[low + 1] - rowptr[low];
  return rowptr[low] - rowptr[0] + k - rowptr[0];
}

static __global__ void __launch_bounds__(HRPB_THREADS) ExpandRows(int64_t nrows, const HrpbInt *rowptr, HrpbInt *real_rowptr)
{
  for (int64_t i = (int64_t)blockIdx.x * HRPB_THREADS + threadIdx.x; i <= nrows; i += (int64_t)gridDim.x * HRPB_THREADS) {
    const HrpbInt begin = rowptr[i] - rowptr[0];

    real_rowptr[2 * i] = COMPLEX_ENTRIES * begin;
    if (i < nrows) real_rowptr[2 * i + 1] = 2 * (begin + rowptr[i + 1] - rowptr[0]);
  }
}

static __global__ void __launch_bounds__(HRPB_THREADS)
  ExpandColumns(int64_t nrows, int64_t nnz, const HrpbInt *rowptr, const HrpbInt *colidx, Pair<HrpbInt> *real_colidx)
{
  for (int64_t k = (int64_t)blockIdx.x * HRPB_THREADS + threadIdx.x; k < nnz; k += (int64_t)gridDim.x * HRPB_THREADS) {
    const HrpbInt       column = 2 * colidx[rowptr[0] + k];
    const Pair<HrpbInt> both   = {column, (HrpbInt)(column + 1)};
    int64_t             behind;
    const int64_t       at = PlaceOf(rowptr, nrows, k, &behind);

    real_colidx[at] = real_colidx[at + behind] = both;
  }
}

static __global__ void __launch_bounds__(HRPB_THREADS)
  ExpandValues(int64_t nrows, int64_t nnz, const HrpbInt *rowptr, const Pair<HrpbScalar> *values, Pair<HrpbScalar> *real_values)
{
  for (int64_t k = (int64_t)blockIdx.x * HRPB_THREADS + threadIdx.x; k < nnz; k += (int64_t)gridDim.x * HRPB_THREADS) {
    const Pair<HrpbScalar> value = values[rowptr[0] + k];
    int64_t                behind;
    const int64_t          at = PlaceOf(rowptr, nrows, k, &behind);

    real_values[at]          = {value.x, -value.y};
    real_values[at + behind] = {value.y, value.x};
  }
}

static __global__ void __launch_bounds__(HRPB_THREADS)
  TakePairs(int64_t nnz, const HrpbInt *map, const Pair<HrpbScalar> *values, Pair<HrpbScalar> *to)
{
  for (int64_t k = (int64_t)blockIdx.x * HRPB_THREADS + threadIdx.x; k < nnz; k += (int64_t)gridDim.x * HRPB_THREADS)
    to[k] = values[map[k]];
}

HrpbError ComplexPatternDevice(int64_t nrows, int64_t nnz, const HrpbInt *rowptr, const HrpbInt *colidx, HrpbInt *real_rowptr,
  HrpbInt *real_colidx, HrpbStream stream)
{
  HrpbCall(HrpbLaunch(ExpandRows, HrpbGrid(nrows + 1, HRPB_THREADS), HRPB_THREADS, 0, stream, nrows, rowptr, real_rowptr));
  if (nnz == 0) return HRPB_SUCCESS;
  HrpbCall(HrpbLaunch(ExpandColumns, HrpbGrid(nnz, HRPB_THREADS), HRPB_THREADS, 0, stream, nrows, nnz, rowptr, colidx,
    (Pair<HrpbInt> *)real_colidx));
  return HRPB_SUCCESS;
}

HrpbError ComplexValuesDevice(int64_t nrows, int64_t nnz, const HrpbInt *rowptr, const HrpbScalar *values, HrpbScalar *real_values,
  HrpbStream stream)
{
  if (nnz == 0) return HRPB_SUCCESS;
  HrpbCall(HrpbLaunch(ExpandValues, HrpbGrid(nnz, HRPB_THREADS), HRPB_THREADS, 0, stream, nrows, nnz, rowptr,
    (const Pair<HrpbScalar> *)values, (Pair<HrpbScalar> *)real_values));
  return HRPB_SUCCESS;
}

HrpbError ComplexTakeDevice(int64_t nnz, const HrpbInt *map, const HrpbScalar *values, HrpbScalar *to, HrpbStream stream)
{
  if (nnz == 0) return HRPB_SUCCESS;
  HrpbCall(HrpbLaunch(TakePairs, HrpbGrid(nnz, HRPB_THREADS), HRPB_THREADS, 0, stream, nnz, map, (const Pair<HrpbScalar> *)values,
    (Pair<HrpbScalar> *)to));
  return HRPB_SUCCESS;
}

extern "C" const SpmmKernel SpmmVectorCsrPairs, SpmmVectorBinsPairs, SpmmVectorStagedPairs, SpmmVectorCsrPairsConjugate,
  SpmmVectorBinsPairsConjugate, SpmmVectorStagedPairsConjugate;

const SpmmKernel *ComplexVectorKernel(const VectorPlan *v, bool conjugate)
{
  if (v->lanes) return conjugate ? &SpmmVectorCsrPairsConjugate : &SpmmVectorCsrPairs;
  if (v->blocks) return conjugate ? &SpmmVectorStagedPairsConjugate : &SpmmVectorStagedPairs;
  return conjugate ? &SpmmVectorBinsPairsConjugate : &SpmmVectorBinsPairs;
}
