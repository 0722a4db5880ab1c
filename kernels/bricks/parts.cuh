/*
   The end of an item of work. Sums of a whole panel go to C. Those of a part go to the workspace, where parts are added
   in their order, with compensation. So the bits are the same whoever adds.

   In a product of one narrow tile of columns the last warp to get there adds. A warp has a strip. In each part of a
   panel some warp has the same, and these share a counter. Nobody waits: a warp counts, and all but the last of them go
   on.

   Where there are more columns, or a panel has many parts, a kernel behind adds (parts.cu). A warp would take long for
   so many sums, and the others of its thread block would wait for it.

   Where a panel has many parts, they are added in ranges of neighbours, and then the sums of these in their order.

   Sums lie in the workspace as a warp has them in registers, 16 bytes of each lane side by side.
*/
#pragma once

#include "multiply.cuh"

enum {
  PART_COLUMNS      = 512, /* of a slice where panels are cut. A narrow rest may join it: */
  MOST_PART_COLUMNS = PART_COLUMNS + PART_COLUMNS / 4,
  ADD_SUMS          = 4    /* sums of a lane that are added at a time */
};

static constexpr __host__ __device__ int64_t TilesOf(int64_t N)
{
  return (N + 15) / 16;
}

/* Sums of so many rows of a part, in the workspace */
static constexpr __host__ __device__ int64_t PartSums(int64_t rows, int64_t N)
{
  return rows * 16 * TilesOf(N);
}

/* Where those of a strip begin, from column n0 on, which is the first of a tile */
template <int BM, typename Scalar> static __device__ __forceinline__ Scalar *PartialSums(const Format<Scalar> &f, const DenseArgs<Scalar> &d, int32_t slot, uint32_t strip, int32_t n0)
{
  return d.partial + slot * PartSums(f.panel_rows, d.N) + strip * PartSums(BM, d.N) + n0 * BM;
}

/* 16 bytes of a lane's sums */
static __device__ __forceinline__ void WriteSums(double *to, const double *x)
{
  *(double2 *)to = make_double2(x[0], x[1]);
}
static __device__ __forceinline__ void WriteSums(float *to, const float *x)
{
  *(float4 *)to = make_float4(x[0], x[1], x[2], x[3]);
}

/* The same, past L1: other warps have written them. The compiler moves no such read behind a condition */
static __device__ __forceinline__ void ReadSums(const double *from, double *x)
{
  asm volatile("ld.global.cg.v2.f64 {%0,%1}, [%2];" : "=d"(x[0]), "=d"(x[1]) : "l"(from) : "memory");
}
static __device__ __forceinline__ void ReadSums(const float *from, float *x)
{
  asm volatile("ld.global.cg.v4.f32 {%0,%1,%2,%3}, [%4];" : "=f"(x[0]), "=f"(x[1]), "=f"(x[2]), "=f"(x[3]) : "l"(from) : "memory");
}

/*
   Count a part, whose sums the lanes have stored. Whether it is the last of nparts: then all lanes can read the sums of
   the others, and the counter is zero again, for the next product
*/
static __device__ __forceinline__ bool IsLastPart(uint32_t *counter, uint32_t nparts)
{
  uint32_t before = 0;

  __syncwarp(); /* the stores of all lanes come before what the first one does */
  if (threadIdx.x % HRPB_LANES == 0) asm volatile("atom.inc.acq_rel.gpu.global.u32 %0, [%1], %2;" : "=r"(before) : "l"(counter), "r"(nparts - 1) : "memory");
  before = __shfl_sync(HRPB_ALL_LANES, before, 0);
  __syncwarp();
  return before == nparts - 1;
}

/*
   Add SUMS of the lane's sums of the parts begin to end - 1, which are part numbers apart from first on. So many parts
   come from memory TOGETHER
*/
template <int SUMS, int TOGETHER, typename Scalar> static __device__ __forceinline__ void AddParts(const Scalar *first, int64_t part, int32_t begin, int32_t end, Scalar *total)
{
  constexpr int SIZE = 16 / sizeof(Scalar);
  Scalar        sum[SUMS] = {}, lost[SUMS] = {};

#pragma unroll 1
  for (int32_t k = begin; k < end; k += TOGETHER) {
    Scalar next[TOGETHER][SUMS];

#pragma unroll
    for (int j = 0; j < TOGETHER; j++) { /* the last part again, because reads must not wait for conditions */
#pragma unroll
      for (int e = 0; e < SUMS; e += SIZE) ReadSums(first + min(k + j, end - 1) * part + e * HRPB_LANES, &next[j][e]);
    }
#pragma unroll
    for (int j = 0; j < TOGETHER; j++) {
      if (k + j >= end) break;
#pragma unroll
      for (int e = 0; e < SUMS; e++) HrpbAddCompensated(next[j][e], &sum[e], &lost[e]);
    }
  }
#pragma unroll
  for (int e = 0; e < SUMS; e++) total[e] = sum[e] + lost[e];
}

/* The same for all parts. The totals take the place of the sums of the first one */
template <int SUMS, typename Scalar> static __device__ __forceinline__ void AddInPlace(Scalar *first, int64_t part, int32_t nparts)
{
  constexpr int SIZE = 16 / sizeof(Scalar);
  Scalar        total[SUMS];

  AddParts<SUMS, 32 / (int)sizeof(Scalar)>(first, part, 0, nparts, total);
#pragma unroll
  for (int e = 0; e < SUMS; e += SIZE) WriteSums(first + e * HRPB_LANES, &total[e]);
}

/*
   The lane has stored nsums sums of a part, from mine on. Where the warp is the last, it adds those of all parts, and
   returns where the totals are. Otherwise NULL. It is a function of its own, so that blocks need no registers for it
*/
template <typename Scalar> static __device__ __noinline__ const Scalar *AddPartsIfLast(const Format<Scalar> &f, const DenseArgs<Scalar> &d, int32_t slot, Scalar *mine, uint32_t strip, int32_t nsums)
{
  const SplitPanel s     = d.split[slot];
  const int64_t    part  = PartSums(f.panel_rows, d.N);
  Scalar *const    first = mine - (slot - s.first) * part;

  if (!IsLastPart(d.counts + (int64_t)s.index * f.strips + strip, s.nslots)) return NULL;
#pragma unroll 1
  for (int32_t i = 0; i < nsums; i += ADD_SUMS) {
    if (nsums - i >= ADD_SUMS) AddInPlace<ADD_SUMS>(first + i * HRPB_LANES, part, s.nslots);
    else AddInPlace<16 / (int)sizeof(Scalar)>(first + i * HRPB_LANES, part, s.nslots); /* half a tile */
  }
  return first;
}

/*
   Sums of NT tiles that a lane has, from column n0 on: without columns beyond N, which are half a tile, or two halves
   whose columns take turns
*/
template <int BM, bool NEIGHBOURS, int NT> static __device__ __forceinline__ int32_t SumsOfTiles(int32_t N, int32_t n0)
{
  constexpr int COLUMNS = NEIGHBOURS ? 16 : 8;

  return min(NT * (BM / 2), (N - n0 + COLUMNS - 1) / COLUMNS * (BM / 2 * COLUMNS / 16));
}

/*
   The warp has multiplied an item. sum: NT tiles of a strip, from column n0 on. ROWS: C may be row-major. PAIRS: values
   may be pairs. ADDS: the last warp adds parts
*/
template <int BM, bool NEIGHBOURS, bool ROWS, bool PAIRS, bool ADDS, int NT, typename Scalar> static __device__ __forceinline__ void FinishItem(const Format<Scalar> &f, const DenseArgs<Scalar> &d, const WorkItem &item, uint32_t strip, uint32_t lane, Scalar (&sum)[NT][BM / 2], int32_t n0)
{
  constexpr int SIZE = 16 / sizeof(Scalar), SUMS = BM / 2;

  if (item.slot >= 0) {
    const int32_t nsums = SumsOfTiles<BM, NEIGHBOURS, NT>(d.N, n0);
    Scalar *const mine  = PartialSums<BM>(f, d, item.slot, strip, n0) + SIZE * lane;

#pragma unroll
    for (int i = 0; i < NT * SUMS; i += SIZE) {
      if (i < nsums) WriteSums(mine + i * HRPB_LANES, &sum[i / SUMS][i % SUMS]);
    }
    if (!ADDS || !d.counts) return;

    const Scalar *const totals = AddPartsIfLast(f, d, item.slot, mine, strip, nsums);

    if (!totals) return;
#pragma unroll
    for (int i = 0; i < NT * SUMS; i++) sum[i / SUMS][i % SUMS] = 0; /* so none is kept while parts are added */
#pragma unroll
    for (int i = 0; i < NT * SUMS; i += SIZE) {
      if (i < nsums) ReadSums(totals + i * HRPB_LANES, &sum[i / SUMS][i % SUMS]);
    }
  }
  StoreSums<BM, NEIGHBOURS, ROWS, PAIRS>(f, d, item.panel, strip, lane, sum, n0);
}
