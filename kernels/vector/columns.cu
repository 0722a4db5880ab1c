/*
   Short columns: 16 bits for each entry, which are added to the base of a group of rows.
*/
#include "vector.cuh"

enum {
  COPY       = 16 / sizeof(uint16_t), /* columns that vector-staged copies together. The last copy may go beyond the end */
  MOST_LANES = 8                      /* of a row in vector-staged */
};

/* In vector-staged: of a group's entries, times the mean; of its rows at a bank, the mean over all groups */
#define MOST_SPREAD 1.25
#define MOST_CROWD  4.5

namespace {
/* Columns that a group of rows has: from least to most */
struct Range {
  int32_t least, most;
};

/* What is found of groups: entries of those that their base reaches, and of those that are short besides */
struct Found {
  unsigned long long reached, in_short;
  unsigned long long crowded; /* of all groups: rows at the bank of shared memory where most begin */
  int32_t            most;    /* entries of a short group */
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

/* How many of a group's rows begin at the same bank of shared memory, at most. For the first warp */
static __device__ int32_t Crowd(const HrpbInt *rowptr, int64_t row, int32_t nrows)
{
  __shared__ int32_t rows[HRPB_LANES];

  rows[threadIdx.x] = 0;
  __syncwarp();
  if (row < nrows) atomicAdd(&rows[rowptr[row] % HRPB_LANES], 1);
  __syncwarp();
  return __reduce_max_sync(HRPB_ALL_LANES, rows[threadIdx.x]);
}

/* A thread block has a group. Those of up to limit entries are short */
static __global__ void __launch_bounds__(HRPB_THREADS) FindBases(const HrpbInt *rowptr, const HrpbInt *colidx, int32_t nrows, int32_t limit, int32_t *bases, Found *found)
{
  const int64_t first = (int64_t)blockIdx.x * VECTOR_GROUP;
  const HrpbInt begin = rowptr[first], end = rowptr[min(first + VECTOR_GROUP, (int64_t)nrows)];
  Range         r = {INT32_MAX, 0};

  for (int64_t k = (int64_t)begin + threadIdx.x; k < end; k += HRPB_THREADS) r = Join(r, {(int32_t)colidx[k], (int32_t)colidx[k]});
  r = RangeOfBlock(r);
  if (threadIdx.x >= HRPB_LANES) return;

  const int32_t crowd   = Crowd(rowptr, first + threadIdx.x, nrows);
  const bool    reaches = r.most - r.least <= UINT16_MAX;

  if (threadIdx.x > 0) return;
  bases[blockIdx.x] = begin == end ? 0 : reaches ? r.least : -1;
  atomicAdd(&found->crowded, (unsigned long long)crowd);
  if (begin == end || !reaches) return;
  atomicAdd(&found->reached, (unsigned long long)(end - begin));
  if (end - begin > limit) return;
  atomicAdd(&found->in_short, (unsigned long long)(end - begin));
  atomicMax(&found->most, (int32_t)(end - begin));
}

static __global__ void __launch_bounds__(HRPB_THREADS) Shorten(const HrpbInt *rowptr, const HrpbInt *colidx, int32_t nrows, const int32_t *bases, uint16_t *columns)
{
  const int64_t first = (int64_t)blockIdx.x * VECTOR_GROUP;
  const HrpbInt begin = rowptr[first], end = rowptr[min(first + VECTOR_GROUP, (int64_t)nrows)], start = rowptr[0];
  const int32_t base = bases[blockIdx.x];

  for (int64_t k = (int64_t)begin + threadIdx.x; k < end; k += HRPB_THREADS) columns[k - start] = base < 0 ? 0 : (uint16_t)((int32_t)colidx[k] - base);
}

static int64_t Groups(const VectorPlan *v)
{
  return ((int64_t)v->nrows + VECTOR_GROUP - 1) / VECTOR_GROUP;
}

/* Whether these are most of the entries */
static bool Most(unsigned long long entries, const VectorPlan *v)
{
  return (int64_t)entries >= v->nnz - v->nnz / 8;
}

static int64_t Bytes(const VectorPlan *v)
{
  return (int64_t)sizeof(int32_t) * Groups(v) + (int64_t)sizeof(uint16_t) * (v->nnz + COPY);
}

/*
   The most entries of a group that vector-staged has in shared memory, or zero where it does not pay: where rows are
   long, few groups are short, or many rows begin at the same bank
*/
static int32_t GroupEntries(const Found *found, const VectorPlan *v)
{
  if (v->lanes > MOST_LANES || !Most(found->in_short, v) || (double)found->crowded > MOST_CROWD * (double)Groups(v)) return 0;
  return found->most;
}

static HrpbError MakeColumns(const HrpbInt *rowptr, const HrpbInt *colidx, Found *on_device, cudaStream_t stream, VectorPlan *v)
{
  const unsigned groups = (unsigned)Groups(v);
  const int32_t  limit  = (int32_t)min(MOST_SPREAD * (int)VECTOR_GROUP * ((double)v->nnz / v->nrows) + (int)COPY, (double)INT32_MAX);
  Found          found;
  int32_t       *bases;
  uint16_t      *columns;

  HrpbCall(HrpbAllocate(&bases, groups, stream));
  v->bases = bases;
  HrpbCallCuda(cudaMemsetAsync(on_device, 0, sizeof(*on_device), stream));
  FindBases<<<groups, HRPB_THREADS, 0, stream>>>(rowptr, colidx, v->nrows, limit, bases, on_device);
  HrpbCallCuda(cudaGetLastError());
  HrpbCallCuda(cudaMemcpyAsync(&found, on_device, sizeof(found), cudaMemcpyDeviceToHost, stream));
  HrpbCallCuda(cudaStreamSynchronize(stream));
  if (!Most(found.reached, v)) return HRPB_SUCCESS; /* bases reach too little */
  HrpbCall(HrpbAllocate(&columns, v->nnz + COPY, stream));
  v->columns       = columns;
  v->group_entries = GroupEntries(&found, v);
  HrpbCallCuda(cudaMemsetAsync(columns + v->nnz, 0, COPY * sizeof(*columns), stream));
  Shorten<<<groups, HRPB_THREADS, 0, stream>>>(rowptr, colidx, v->nrows, bases, columns);
  HrpbCallCuda(cudaGetLastError());
  return HRPB_SUCCESS;
}

void VectorDropColumns(VectorPlan *v, cudaStream_t stream)
{
  if (v->columns) v->bytes -= Bytes(v);
  (void)HrpbFree(v->columns, HRPB_SUCCESS, stream);
  (void)HrpbFree(v->bases, HRPB_SUCCESS, stream);
  v->columns = v->bases = NULL;
  v->group_entries      = 0;
}

HrpbError VectorColumnsDevice(const HrpbInt *rowptr, const HrpbInt *colidx, HrpbStream stream, VectorPlan *v)
{
  Found    *found = NULL;
  HrpbError err;

  VectorDropColumns(v, stream);
  if (v->nnz == 0 || v->lanes == 0) return HRPB_SUCCESS;
  err = HrpbAllocate(&found, 1, stream);
  if (!err) err = MakeColumns(rowptr, colidx, found, stream, v);
  err = HrpbFree(found, err, stream);
  if (!err && v->columns) v->bytes += Bytes(v);
  else {
    (void)HrpbFree(v->columns, HRPB_SUCCESS, stream);
    (void)HrpbFree(v->bases, HRPB_SUCCESS, stream);
    v->columns = v->bases = NULL;
    v->group_entries      = 0;
  }
  return err;
}
