/*
   All of an iteration of conjugate gradients but the product with A, in one kernel: see BlockIteration.

   Three passes over the blocks, each of which needs the sums of the one before. All thread blocks are on the device at
   once, and wait for each other between the passes. Each has the same tiles in all of them, of one column where there
   are fewer columns than thread blocks. So it needs the scalars of a column once in a pass. Passes go through the tiles
   in turn from the last to the first and back, beginning with the last, where a product ends. So a pass begins with
   what is in L2.

   With s bytes in a block that is 10 s, where several kernels have as much. The product with A adds 2 s. Tiles that
   stay in shared memory, where there is room for a third of them or all, save 0 to 4 % of an iteration.

   A tile is of one column, see tile.cuh. Bits are those of several kernels.
*/
#include <algorithm>

#include "tile.cuh"

enum {
  CTAS  = 4,         /* thread blocks of a multiprocessor */
  FEW   = 256,       /* parts that each warp adds by itself. More are added once, and waited for */
  BATCH = MOST_X / 2 /* tiles whose sums are made at once */
};

namespace {
struct IterateArgs {
  BlockIteration t;
  BlockNumber   *parts; /* of the curvatures, then of the sums */
  int64_t        n;
  int32_t        N, ntiles;
  int32_t        together; /* columns that are worked on at once: so many thread blocks for a tile of each */
};

/* The tiles of a thread block in a column: from first, in steps */
struct Share {
  int32_t first, step, count;
};

typedef BlockNumber Sums[HRPB_WARPS][MOST_X];
} // namespace

/*
   Wait until all thread blocks are here, and see what they have written. Each adds its share of half the range of a
   counter, so that the highest bit changes with the last. The other bits are zero before and after
*/
static __device__ __forceinline__ void WaitForAll(uint32_t *turn)
{
  __syncthreads();
  if (threadIdx.x == 0) {
    const uint32_t share = blockIdx.x == 0 ? 0x80000000u - (gridDim.x - 1) : 1;

    __threadfence();
    const uint32_t before = atomicAdd(turn, share);

    while (!((before ^ *(volatile uint32_t *)turn) & 0x80000000u)) { }
    __threadfence();
  }
  __syncthreads();
}

static __device__ __forceinline__ Share ShareOf(const IterateArgs &a)
{
  Share s = {(int32_t)(blockIdx.x / (uint32_t)a.together), (int32_t)(gridDim.x / (uint32_t)a.together), 0};

  s.count = (a.ntiles - 1 - s.first) / s.step + 1;
  return s;
}

/* Sums of the warps for the tiles from number first on, of the k-th of two sums, become parts of column j */
static __device__ __forceinline__ void LeaveParts(const IterateArgs &a, const Share &s, int32_t j, int32_t first, int32_t last, bool down, int32_t nsums, const Sums &sums, BlockNumber *parts)
{
  __syncthreads();
  if ((int32_t)threadIdx.x < nsums * (last - first)) {
    const int32_t i = first + (int32_t)threadIdx.x / nsums, k = (int32_t)threadIdx.x % nsums;
    BlockNumber   sum = 0;

    for (int w = 0; w < HRPB_WARPS; w++) sum += sums[w][threadIdx.x];
    parts[((int64_t)k * a.N + j) * a.ntiles + s.first + (int64_t)(down ? s.count - 1 - i : i) * s.step] = sum;
  }
  __syncthreads();
}

static __device__ __forceinline__ void Curvatures(const IterateArgs &a, const Share &s, int32_t j, Sums &sums)
{
  const BlockNumber *const P = a.t.P.array + j * a.t.P.ld, *const W = a.t.W.array + j * a.t.W.ld;

  for (int32_t first = 0; first < s.count; first += BATCH) {
    const int32_t last = min(first + BATCH, s.count);

    for (int32_t i = first; i < last; i++) {
      const int64_t i0 = ((int64_t)s.first + (int64_t)(s.count - 1 - i) * s.step) * TILE;
      BlockNumber   p[ENTRIES], w[ENTRIES];

      Load(P + i0, a.n - i0, p);
      Load(W + i0, a.n - i0, w);
      LeaveWarpSum(sums, i - first, WarpDot(w, p));
    }
    LeaveParts(a, s, j, first, last, true, 1, sums, a.parts);
  }
}

/* parts are those of the sums */
static __device__ __forceinline__ void Steps(const IterateArgs &a, const Share &s, int32_t j, Sums &sums, BlockNumber *parts)
{
  const BlockLengths      &l = a.t.lengths;
  const BlockNumber *const W = a.t.W.array + j * a.t.W.ld;
  BlockNumber *const       R = a.t.R.array + j * a.t.R.ld;
  const BlockNumber        curvature = a.ntiles > FEW ? a.t.curvature[j] : SumOfParts(a.parts + (int64_t)j * a.ntiles, a.ntiles);
  BlockNumber              kept[2];
  const BlockNumber        length = BlockStepLengthWith(&l, j, curvature, kept);

  if (s.first == 0 && threadIdx.x == 0) {
    a.t.curvature[j] = curvature;
    l.kept[j]        = kept[0];
    l.kept[a.N + j]  = kept[1];
    l.step[j]        = length;
  }
  for (int32_t first = 0; first < s.count; first += BATCH) {
    const int32_t last = min(first + BATCH, s.count);

    for (int32_t i = first; i < last; i++) {
      const int64_t i0 = ((int64_t)s.first + (int64_t)i * s.step) * TILE;
      BlockNumber   r[ENTRIES], z[ENTRIES];

      Load(R + i0, a.n - i0, r);
      if (length != 0) {
        Load(W + i0, a.n - i0, z);
#pragma unroll
        for (int e = 0; e < ENTRIES; e++) r[e] -= length * z[e];
        Store(R + i0, a.n - i0, r);
      }
      Load(a.t.D + i0, a.n - i0, z);
#pragma unroll
      for (int e = 0; e < ENTRIES; e++) z[e] *= r[e];
      LeaveWarpSum(sums, 2 * (i - first), WarpDot(r, z));
      LeaveWarpSum(sums, 2 * (i - first) + 1, a.t.kind == BLOCK_STEP_WITH_Z ? WarpDot(z, z) : WarpDot(r, r));
    }
    LeaveParts(a, s, j, first, last, false, 2, sums, parts);
  }
}

static __device__ __forceinline__ void Directions(const IterateArgs &a, const Share &s, int32_t j, const BlockNumber *parts)
{
  const BlockLengths      &l = a.t.lengths;
  const BlockNumber *const R = a.t.R.array + j * a.t.R.ld;
  BlockNumber *const       P = a.t.P.array + j * a.t.P.ld, *const X = a.t.X.array + j * a.t.X.ld;
  const BlockNumber        active = l.active[j], length = l.step[j];
  const BlockNumber        now   = a.ntiles > FEW ? a.t.sums[j] : SumOfParts(parts + (int64_t)j * a.ntiles, a.ntiles);
  const BlockNumber        ratio = active != 0 ? BlockScalar(BLOCK_DIVIDE, now, l.now[j]) : (BlockNumber)0;

  if (s.first == 0 && a.ntiles <= FEW) {
    const BlockNumber norm = SumOfParts(parts + ((int64_t)a.N + j) * a.ntiles, a.ntiles);

    if (threadIdx.x == 0) a.t.sums[j] = now, a.t.sums[a.N + j] = norm;
  }
  for (int32_t q = s.count - 1; q >= 0; q--) {
    const int64_t i0 = ((int64_t)s.first + (int64_t)q * s.step) * TILE, rows = a.n - i0;
    BlockNumber   p[ENTRIES] = {}, x[ENTRIES];

    if (ratio != 0 || length != 0) Load(P + i0, rows, p);
    if (length != 0) {
      Load(X + i0, rows, x);
#pragma unroll
      for (int e = 0; e < ENTRIES; e++) x[e] += length * p[e];
      Store(X + i0, rows, x);
    }
    if (active != 0) {
      BlockNumber r[ENTRIES];

      Load(R + i0, rows, r);
      Load(a.t.D + i0, rows, x);
#pragma unroll
      for (int e = 0; e < ENTRIES; e++) x[e] *= r[e];
    }
#pragma unroll
    for (int e = 0; e < ENTRIES; e++) {
      p[e] = ratio != 0 ? ratio * p[e] : (BlockNumber)0;
      if (active != 0) p[e] += active * x[e];
    }
    Store(P + i0, rows, p);
  }
}

static __global__ void __launch_bounds__(THREADS, CTAS) IterateKernel(const __grid_constant__ IterateArgs a)
{
  __shared__ Sums    sums;
  const Share        s     = ShareOf(a);
  const int32_t      own   = (int32_t)(blockIdx.x % (uint32_t)a.together);
  BlockNumber *const parts = a.parts + (int64_t)a.N * a.ntiles; /* of the sums */

  for (int32_t j = own; j < a.N; j += a.together) Curvatures(a, s, j, sums);
  WaitForAll(a.t.turn);
  if (a.ntiles > FEW) {
    SumParts(a.parts, a.ntiles, a.N, a.t.curvature);
    WaitForAll(a.t.turn);
  }
  for (int32_t j = own; j < a.N; j += a.together) Steps(a, s, j, sums, parts);
  WaitForAll(a.t.turn);
  if (a.ntiles > FEW) {
    SumParts(parts, a.ntiles, 2 * (int64_t)a.N, a.t.sums);
    WaitForAll(a.t.turn);
  }
  for (int32_t j = own; j < a.N; j += a.together) Directions(a, s, j, parts);
}

/*
   Without rows there are lengths all the same. A context that has a part of the multiprocessors refuses what needs all
   of them
*/
HrpbError BlockCGIterate(const BlockShape *s, const BlockIteration *t)
{
  IterateArgs         a        = {*t, (BlockNumber *)s->work, s->n, (int32_t)s->N, (int32_t)Tiles(s->n), 0};
  cudaLaunchAttribute together = {};
  cudaLaunchConfig_t  config   = {};
  const SpmmDevice   *device;
  HrpbError           err;
  int                 id, all, most;

  if (s->n == 0 || s->N == 0 || s->N > INT32_MAX / Tiles(s->n)) return BlockCGIterateApart(&BlockOpsDevice, s, t);
  HrpbCall(SpmmGetDevice(&device));
  /* Blocks that L2 does not hold: a pass does not find there what the one before has left (src/block/README.md) */
  if ((double)s->n * (double)s->N * sizeof(BlockNumber) > device->cache) return BlockCGIterateApart(&BlockOpsDevice, s, t);
  HrpbCallCuda(cudaGetDevice(&id));
  HrpbCallCuda(cudaDeviceGetAttribute(&all, cudaDevAttrCooperativeLaunch, id));
  most                     = all ? device->nsm * CTAS : 1;
  a.together               = std::min(a.N, most);
  together.id              = cudaLaunchAttributeCooperative;
  together.val.cooperative = 1;
  config.gridDim           = dim3((unsigned int)(a.together * std::min(a.ntiles, most / a.together)));
  config.blockDim          = dim3(THREADS);
  config.stream            = s->stream;
  config.attrs             = &together;
  config.numAttrs          = all ? 1 : 0;
  err                      = HrpbLaunchAs(&config, IterateKernel, a);
  return err == HRPB_ERR_UNSUPPORTED ? BlockCGIterateApart(&BlockOpsDevice, s, t) : err;
}
