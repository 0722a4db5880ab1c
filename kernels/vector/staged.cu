/*
   CSR times one vector where rows are short. A warp has the rows of a group: it copies all their values and short
   columns into shared memory, as they lie one behind the other, and then each lane adds up a row. Reads of the matrix
   are whole lines, and lanes that have neighbouring rows of a stencil read neighbouring numbers of x.

   The bits are those of csr.cu: a lane has a sum for each of the lanes that a row has there.
*/
#include "vector.cuh"
#include "../common/copy.cuh"
#include "../common/launch.cuh"

enum {
  WARPS  = (int)VECTOR_THREADS / HRPB_LANES,
  ALIGN  = 16, /* bytes of a copy */
  SLACK  = 16, /* bytes before an array's first entry and behind its last one, at most, that copies bring with them */
  SHORT  = ALIGN / sizeof(uint16_t),
  VALUES = ALIGN / sizeof(HrpbScalar)
};

/* Bytes of shared memory that entries of a group have, where they may begin at any number of a copy */
static __host__ __device__ uint32_t RoomFor(int32_t entries, uint32_t size)
{
  return ((uint32_t)entries * size + SLACK + ALIGN - 1) / ALIGN * ALIGN;
}

/* How many entries after a copy's first one an address lies */
template <typename T> static __device__ __forceinline__ int32_t Skew(const T *p)
{
  return (int32_t)((uintptr_t)p % ALIGN / sizeof(T));
}

/* A warp copies short columns. The array is ours, and has room for copies beyond its ends */
static __device__ __forceinline__ void CopyColumns(uint32_t to, const uint16_t *columns, int32_t length, int32_t lane)
{
  const int32_t skew = Skew(columns);

  for (int32_t i = SHORT * lane; i < skew + length; i += SHORT * HRPB_LANES) CopyAsync<ALIGN>(to + i * (uint32_t)sizeof(*columns), columns - skew + i);
}

/* A warp copies values. Of the copies at both ends only what is asked for is read */
static __device__ __forceinline__ void CopyValues(uint32_t to, const HrpbScalar *values, int32_t length, int32_t lane)
{
  const int32_t skew = Skew(values);

  for (int32_t i = VALUES * lane; i < skew + length; i += VALUES * HRPB_LANES) {
    const uint32_t at = to + i * (uint32_t)sizeof(*values);

    if (i >= skew && i + VALUES <= skew + length) CopyAsync<ALIGN>(at, values - skew + i);
    else {
#pragma unroll
      for (int32_t k = 0; k < VALUES; k++) {
        if (i + k >= skew && i + k < skew + length) CopyAsync<sizeof(HrpbScalar)>(at + k * (uint32_t)sizeof(*values), values - skew + i + k);
      }
    }
  }
}

/*
   The sum of a row whose entries are in shared memory, as LANES lanes would make it. TURNS entries are on their way
   together; beyond the end of the row these are its last one
*/
template <int LANES, int TURNS> static __device__ __forceinline__ HrpbScalar SumOfRow(const uint16_t *columns, const HrpbScalar *values, int32_t length, const HrpbScalar *x)
{
  HrpbScalar sum[LANES] = {};

  static_assert(TURNS % LANES == 0, "an entry's lane is known to the compiler");
#pragma unroll 1
  for (int32_t first = 0; first < length; first += TURNS) {
    HrpbScalar value[TURNS], b[TURNS];
    const auto At = [&](int i) { return i == 0 ? first : min(first + i, length - 1); };

#pragma unroll
    for (int i = 0; i < TURNS; i++) b[i] = __ldg(x + columns[At(i)]);
#pragma unroll
    for (int i = 0; i < TURNS; i++) value[i] = values[At(i)];
#pragma unroll
    for (int i = 0; i < TURNS; i++) {
      if (i == 0 || first + i < length) sum[i % LANES] = fma(value[i], b[i], sum[i % LANES]);
    }
  }
#pragma unroll
  for (int distance = LANES / 2; distance > 0; distance /= 2) {
#pragma unroll
    for (int l = 0; l < distance; l++) sum[l] += sum[l + distance];
  }
  return sum[0];
}

/* The rows of a group that does not fit, or that no base reaches: lanes of the warp have a row */
template <int LANES> static __device__ __forceinline__ void MultiplyDirectly(const VectorProduct &a, int32_t first, int32_t lane)
{
#pragma unroll 1
  for (int32_t pass = 0; pass < LANES; pass++) {
    const int64_t    row    = (int64_t)first + pass * (VECTOR_GROUP / LANES) + lane / LANES;
    const HrpbInt    begin  = row < a.nrows ? __ldg(a.rowptr + row) : 0;
    const int32_t    length = row < a.nrows ? (int32_t)(__ldg(a.rowptr + row + 1) - begin) : 0;
    const bool       whole  = length <= a.long_entries;
    const HrpbScalar sum    = VectorAddLanes<LANES>(VectorSumOfLane<LANES, 2>(a.colidx + begin, a.values + begin, whole ? length : 0, a.x, lane % LANES));

    if (row < a.nrows && whole && lane % LANES == 0) VectorStore(a, (int32_t)row, sum);
  }
}

template <int LANES> static __global__ void __launch_bounds__(VECTOR_THREADS) VectorStaged(const __grid_constant__ VectorProduct a, int32_t most)
{
  extern __shared__ __align__(ALIGN) uint8_t shared[];
  const int32_t  lane  = threadIdx.x % HRPB_LANES, warp = threadIdx.x / HRPB_LANES;
  const uint32_t bytes = RoomFor(most, sizeof(HrpbScalar));
  uint8_t *const mine  = shared + warp * (bytes + RoomFor(most, sizeof(uint16_t)));
  const int64_t  first = ((int64_t)(blockIdx.x - a.nparts) * WARPS + warp) * VECTOR_GROUP;

  HrpbLetNextKernelCome();
  if (blockIdx.x < a.nparts) {
    VectorMultiplyPart(a, blockIdx.x);
    return;
  }
  if (first >= a.nrows) return;

  const int32_t row   = (int32_t)min(first + lane, (int64_t)a.nrows);
  const HrpbInt begin = __ldg(a.rowptr + row), next = __ldg(a.rowptr + min((int64_t)row + 1, (int64_t)a.nrows));
  const HrpbInt start = __shfl_sync(HRPB_ALL_LANES, begin, 0);
  const int64_t length = __shfl_sync(HRPB_ALL_LANES, next, HRPB_LANES - 1) - start; /* of all rows of the group */
  const int32_t base  = __ldg(a.bases + first / VECTOR_GROUP);

  if (length > most || base < 0) {
    MultiplyDirectly<LANES>(a, (int32_t)first, lane);
    return;
  }
  CopyColumns(SharedAddress(mine + bytes), a.columns + start, (int32_t)length, lane);
  CopyValues(SharedAddress(mine), a.values + start, (int32_t)length, lane);
  CopyAsyncCommit();

  const uint16_t   *columns = (const uint16_t *)(mine + bytes) + Skew(a.columns + start) + (begin - start);
  const HrpbScalar *values  = (const HrpbScalar *)mine + Skew(a.values + start) + (begin - start);

  CopyAsyncWait<0>();
  __syncwarp();
  const HrpbScalar sum = SumOfRow<LANES, 8>(columns, values, (int32_t)(next - begin), a.x + base);

  if (row < a.nrows && next - begin <= a.long_entries) VectorStore(a, row, sum);
}

static int32_t Bytes(const VectorPlan *v)
{
  return WARPS * (int32_t)(RoomFor(v->group_entries, sizeof(HrpbScalar)) + RoomFor(v->group_entries, sizeof(uint16_t)));
}

template <int LANES> static HrpbError Launch(const VectorProduct *p, const VectorPlan *v, cudaStream_t stream)
{
  const int32_t bytes = Bytes(v);

  HrpbCallCuda(cudaFuncSetAttribute(VectorStaged<LANES>, cudaFuncAttributeMaxDynamicSharedMemorySize, bytes));
  VectorStaged<LANES><<<p->nparts + HrpbGrid(p->nrows, VECTOR_THREADS), VECTOR_THREADS, bytes, stream>>>(*p, v->group_entries);
  HrpbCallCuda(cudaGetLastError());
  return VectorCombine(p, stream);
}

static HrpbError Run(const SpmmMatrix *A, const SpmmOperands *o, void *work, HrpbStream stream)
{
  VectorProduct p;

  HrpbCall(VectorProductOf(A, o, work, &p));
  switch (A->vector->lanes) {
  case 1:
    return Launch<1>(&p, A->vector, stream);
  case 2:
    return Launch<2>(&p, A->vector, stream);
  case 4:
    return Launch<4>(&p, A->vector, stream);
  case 8:
    return Launch<8>(&p, A->vector, stream);
  default:
    return HRPB_ERR_UNSUPPORTED;
  }
}

static bool Takes(const SpmmFacts *facts, const HrpbParams *, const SpmmOperands *o, const SpmmDevice *)
{
  return facts->short_groups && VectorTakes(o);
}

SPMM_KERNEL(SpmmVectorStaged) = {
  .name   = "vector-staged",
  .what   = "CSR times one vector, 32 rows at a time through shared memory",
  .op     = SPMM_OP_VECTOR,
  .format = SPMM_CSR,
  .takes  = Takes,
  .work   = VectorWork,
  .run    = Run
};
