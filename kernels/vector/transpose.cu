/*
   The transpose of a CSR matrix, as CSR: rows of the transpose have their entries in the order of the matrix's rows.
*/
#include <string.h>
#include <cub/device/device_radix_sort.cuh>

#include "vector.cuh"
#include "../common/cub.cuh"
#include "../common/launch.cuh"
#include "../real/real.h"
#include "../format/rows.cuh"

namespace {
struct Sort {
  uint32_t *column, *sorted;
  int32_t  *entry;
};
} // namespace

static __global__ void __launch_bounds__(HRPB_THREADS) ListEntries(const HrpbInt *colidx, int64_t first, int64_t nnz, uint32_t *column, int32_t *entry)
{
  for (int64_t k = (int64_t)blockIdx.x * HRPB_THREADS + threadIdx.x; k < nnz; k += (int64_t)gridDim.x * HRPB_THREADS) {
    column[k] = (uint32_t)colidx[first + k];
    entry[k]  = (int32_t)k;
  }
}

/* Columns of the transpose, and where its rows begin */
static __global__ void __launch_bounds__(HRPB_THREADS) MakeRows(const HrpbInt *rowptr, int32_t nrows, int32_t ncols, int64_t nnz, const uint32_t *sorted, const int32_t *map, HrpbInt *to_rowptr, HrpbInt *to_colidx)
{
  const HrpbInt first = rowptr[0];

  for (int64_t k = (int64_t)blockIdx.x * HRPB_THREADS + threadIdx.x; k < nnz; k += (int64_t)gridDim.x * HRPB_THREADS) to_colidx[k] = (HrpbInt)HrpbRowOfEntry(rowptr, nrows, first + map[k]);
  for (int64_t r = (int64_t)blockIdx.x * HRPB_THREADS + threadIdx.x; r <= ncols; r += (int64_t)gridDim.x * HRPB_THREADS) to_rowptr[r] = (HrpbInt)HrpbLowerBound(sorted, 0, nnz, r);
}

template <typename Number>
static __global__ void __launch_bounds__(HRPB_THREADS) TakeValues(const Number *values, int64_t nnz, const int32_t *map, Number *to)
{
  for (int64_t k = (int64_t)blockIdx.x * HRPB_THREADS + threadIdx.x; k < nnz; k += (int64_t)gridDim.x * HRPB_THREADS) to[k] = values[map[k]];
}

static HrpbError MakeTranspose(const HrpbInt *rowptr, const HrpbInt *colidx, int scalars, Sort *s, cudaStream_t stream,
  const VectorPlan *v, VectorTranspose *t)
{
  const unsigned grid = HrpbGrid(v->nnz > v->ncols ? v->nnz : v->ncols + (int64_t)1, HRPB_THREADS);
  int            bits = 1;

  while (bits < 31 && v->ncols > 1ll << bits) bits++;
  HrpbCall(HrpbAllocate(&t->rowptr, (int64_t)v->ncols + 1, stream));
  HrpbCall(HrpbAllocate(&t->colidx, v->nnz, stream));
  HrpbCall(HrpbAllocate(&t->map, v->nnz, stream));
  HrpbCall(HrpbAllocate(&t->values, scalars * v->nnz, stream));
  HrpbCall(HrpbAllocate(&s->column, v->nnz, stream));
  HrpbCall(HrpbAllocate(&s->sorted, v->nnz, stream));
  HrpbCall(HrpbAllocate(&s->entry, v->nnz, stream));
  HrpbCall(HrpbLaunch(ListEntries, grid, HRPB_THREADS, 0, stream, colidx, v->first, v->nnz, s->column, s->entry));
  HrpbCall(HrpbCallCub([=](void *memory, size_t &bytes) { return cub::DeviceRadixSort::SortPairs(memory, bytes, s->column, s->sorted, s->entry, t->map, v->nnz, 0, bits, stream); }, stream));
  HrpbCall(HrpbLaunch(MakeRows, grid, HRPB_THREADS, 0, stream, rowptr, v->nrows, v->ncols, v->nnz, s->sorted, t->map, t->rowptr, t->colidx));
  return HRPB_SUCCESS;
}

/* With numbers of so many scalars. No kernel reads complex ones by nodes */
static HrpbError Transpose(const HrpbInt *rowptr, const HrpbInt *colidx, int scalars, HrpbStream stream, const VectorPlan *v,
  VectorTranspose *t)
{
  Sort      s = {};
  HrpbError err;

  memset(t, 0, sizeof(*t));
  if (v->nnz >= INT32_MAX) return HRPB_ERR_OVERFLOW;
  err = MakeTranspose(rowptr, colidx, scalars, &s, stream, v, t);
  err = HrpbFree(s.column, err, stream);
  err = HrpbFree(s.sorted, err, stream);
  err = HrpbFree(s.entry, err, stream);
  if (!err) err = VectorPlanDevice(v->ncols, v->nrows, t->rowptr, stream, &t->plan);
  if (!err && scalars == 1) err = VectorNodesDevice(t->rowptr, t->colidx, stream, &t->plan);
  if (!err) err = VectorColumnsDevice(t->rowptr, t->colidx, stream, &t->plan);
  t->bytes =
    t->plan.bytes + (int64_t)sizeof(HrpbInt) * (v->ncols + 1 + v->nnz) + (int64_t)(sizeof(int32_t) + scalars * sizeof(HrpbScalar)) * v->nnz;
  if (err) VectorTransposeDestroyDevice(t, stream);
  return err;
}

HrpbError VectorTransposeDevice(const HrpbInt *rowptr, const HrpbInt *colidx, HrpbStream stream, const VectorPlan *v, VectorTranspose *t)
{
  return Transpose(rowptr, colidx, 1, stream, v, t);
}

HrpbError ComplexTransposeDevice(const HrpbInt *rowptr, const HrpbInt *colidx, HrpbStream stream, const VectorPlan *v, VectorTranspose *t)
{
  return Transpose(rowptr, colidx, 2, stream, v, t);
}

HrpbError VectorTransposeValuesDevice(int64_t first, const HrpbScalar *values, HrpbStream stream, const VectorTranspose *t)
{
  HrpbCall(HrpbLaunch(TakeValues<HrpbScalar>, HrpbGrid(t->plan.nnz, HRPB_THREADS), HRPB_THREADS, 0, stream, values + first, t->plan.nnz,
    t->map, t->values));
  return HRPB_SUCCESS;
}

HrpbError ComplexTransposeValuesDevice(int64_t first, const HrpbScalar *values, HrpbStream stream, const VectorTranspose *t)
{
  HrpbCall(HrpbLaunch(TakeValues<VectorPair>, HrpbGrid(t->plan.nnz, HRPB_THREADS), HRPB_THREADS, 0, stream,
    (const VectorPair *)values + first, t->plan.nnz, t->map, (VectorPair *)t->values));
  return HRPB_SUCCESS;
}

void VectorTransposeDestroyDevice(VectorTranspose *t, HrpbStream stream)
{
  VectorPlanDestroyDevice(&t->plan, stream);
  for (void *p : {(void *)t->rowptr, (void *)t->colidx, (void *)t->map, (void *)t->values}) (void)HrpbFree(p, HRPB_SUCCESS, stream);
  memset(t, 0, sizeof(*t));
}
