/*
   Short columns: 16 bits for each entry, which are added to the base of a group of rows.
*/
#include "vector.cuh"

namespace {
/* Columns that a group of rows has: from least to most */
struct Range {
  int32_t least, most;
};
} // namespace

static __device__ Range Join(Range a, Range b)
{
  return {min(a.least, b.least), max(a.most, b.most)};
}

static __device__ Range RangeOfBlock(Range r)
{
  __shared__ Range warp[HRPB_WARPS];

#pragma unroll
  for (int distance = HRPB_LANES / 2; distance > 0; distance /= 2) {
    const Range other = {__shfl_xor_sync(HRPB_ALL_LANES, r.least, distance), __shfl_xor_sync(HRPB_ALL_LANES, r.most, distance)};

    r = Join(r, other);
  }
  if (threadIdx.x % HRPB_LANES == 0) warp[threadIdx.x / HRPB_LANES] = r;
  __syncthreads();
  for (int w = 0; w < HRPB_WARPS; w++) r = Join(r, warp[w]);
  return r;
}

/* A thread block has a group. reached counts the entries of the groups that their base reaches */
static __global__ void __launch_bounds__(HRPB_THREADS) FindBases(const HrpbInt *rowptr, const HrpbInt *colidx, int32_t nrows, int32_t *bases, unsigned long long *reached)
{
  const int64_t first = (int64_t)blockIdx.x * VECTOR_GROUP;
  const HrpbInt begin = rowptr[first], end = rowptr[min(first + VECTOR_GROUP, (int64_t)nrows)];
  Range         r = {INT32_MAX, 0};

  for (int64_t k = (int64_t)begin + threadIdx.x; k < end; k += HRPB_THREADS) r = Join(r, {(int32_t)colidx[k], (int32_t)colidx[k]});
  r = RangeOfBlock(r);
  if (threadIdx.x > 0) return;
  bases[blockIdx.x] = begin == end ? 0 : r.most - r.least <= UINT16_MAX ? r.least : -1;
  if (begin < end && r.most - r.least <= UINT16_MAX) atomicAdd(reached, (unsigned long long)(end - begin));
}

static __global__ void __launch_bounds__(HRPB_THREADS) Shorten(const HrpbInt *rowptr, const HrpbInt *colidx, int32_t nrows, const int32_t *bases, uint16_t *columns)
{
  const int64_t first = (int64_t)blockIdx.x * VECTOR_GROUP;
  const HrpbInt begin = rowptr[first], end = rowptr[min(first + VECTOR_GROUP, (int64_t)nrows)], start = rowptr[0];
  const int32_t base = bases[blockIdx.x];

  if (base < 0) return;
  for (int64_t k = (int64_t)begin + threadIdx.x; k < end; k += HRPB_THREADS) columns[k - start] = (uint16_t)((int32_t)colidx[k] - base);
}

static int64_t Groups(const VectorPlan *v)
{
  return ((int64_t)v->nrows + VECTOR_GROUP - 1) / VECTOR_GROUP;
}

static int64_t Bytes(const VectorPlan *v)
{
  return (int64_t)sizeof(int32_t) * Groups(v) + (int64_t)sizeof(uint16_t) * v->nnz;
}

static HrpbError MakeColumns(const HrpbInt *rowptr, const HrpbInt *colidx, unsigned long long *on_device, cudaStream_t stream, VectorPlan *v)
{
  const unsigned     groups = (unsigned)Groups(v);
  unsigned long long reached;
  int32_t           *bases;
  uint16_t          *columns;

  HrpbCall(HrpbAllocate(&bases, groups, stream));
  v->bases = bases;
  HrpbCallCuda(cudaMemsetAsync(on_device, 0, sizeof(*on_device), stream));
  HrpbCall(HrpbLaunch(FindBases, groups, HRPB_THREADS, 0, stream, rowptr, colidx, v->nrows, bases, on_device));
  HrpbCall(HrpbBring(&reached, on_device, sizeof(reached), stream));
  if ((int64_t)reached < v->nnz - v->nnz / 8) return HRPB_SUCCESS; /* bases reach too little */
  HrpbCall(HrpbAllocate(&columns, v->nnz, stream));
  v->columns = columns;
  HrpbCall(HrpbLaunch(Shorten, groups, HRPB_THREADS, 0, stream, rowptr, colidx, v->nrows, bases, columns));
  return HRPB_SUCCESS;
}

void VectorDropColumns(VectorPlan *v, cudaStream_t stream)
{
  if (v->columns) v->bytes -= Bytes(v);
  (void)HrpbFree(v->columns, HRPB_SUCCESS, stream);
  (void)HrpbFree(v->bases, HRPB_SUCCESS, stream);
  v->columns = v->bases = NULL;
}

HrpbError VectorColumnsDevice(const HrpbInt *rowptr, const HrpbInt *colidx, HrpbStream stream, VectorPlan *v)
{
  unsigned long long *reached = NULL;
  HrpbError           err;

  VectorDropColumns(v, stream);
  if (v->nnz == 0 || v->lanes == 0) return HRPB_SUCCESS;
  err = HrpbAllocate(&reached, 1, stream);
  if (!err) err = MakeColumns(rowptr, colidx, reached, stream, v);
  err = HrpbFree(reached, err, stream);
  if (!err && v->columns) v->bytes += Bytes(v);
  else {
    (void)HrpbFree(v->columns, HRPB_SUCCESS, stream);
    (void)HrpbFree(v->bases, HRPB_SUCCESS, stream);
    v->columns = v->bases = NULL;
  }
  return err;
}
