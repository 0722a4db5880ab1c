/*
   All of an iteration of conjugate gradients but the product with A, in one kernel: see BlockIteration.

   Three passes over the blocks, each of which needs the sums of the one before. All thread blocks are on the device at
   once, and wait for each other between the passes. Each has the same tiles in all of them. As many of these as there
   is room for stay in shared memory: P, and W or R. Passes go through the tiles in turn from the last to the first and
   back, beginning with the last, where a product ends. So a pass begins with what is in L2.

   With s bytes in a block that is 10 s through memory, 7 s where all tiles stay. The product with A adds 2 s.

   A tile is of one column, see tile.cuh. Bits are those of several kernels.
*/
#include <algorithm>

#include "tile.cuh"

static const int KEPT_BYTES = 2 * (int)TILE * (int)sizeof(BlockNumber); /* of an item: two tiles */

enum {
  CTAS   = 3,   /* thread blocks of a multiprocessor */
  FEW    = 256, /* parts that each warp adds by itself. More are added once, and waited for */
  STATIC = 4 << 10 /* bytes of shared memory that are not for tiles, at most */
};

namespace {
struct IterateArgs {
  BlockIteration t;
  BlockNumber   *parts; /* of the curvatures, then of the sums */
  int64_t        n;
  int32_t        N, ntiles;
  int32_t        nkept; /* items of a thread block that stay in shared memory */
};

/* A tile of a column: a thread block's item number q */
struct Item {
  int32_t      j, tile;
  int64_t      i0, rows;
  BlockNumber *kept; /* where its tiles stay, or NULL */
};
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

static __device__ __forceinline__ int32_t Items(const IterateArgs &a)
{
  return (int32_t)(((uint32_t)(a.N * a.ntiles) - 1 - blockIdx.x) / gridDim.x + 1);
}

/* The last ones stay */
static __device__ __forceinline__ Item ItemOf(const IterateArgs &a, int32_t q, int32_t nitems, BlockNumber *memory)
{
  const uint32_t k = blockIdx.x + (uint32_t)q * gridDim.x;
  const int32_t  from_last = nitems - 1 - q;
  Item           item;

  item.tile = (int32_t)(k / (uint32_t)a.N);
  item.j    = (int32_t)(k % (uint32_t)a.N);
  item.i0   = (int64_t)item.tile * TILE;
  item.rows = a.n - item.i0;
  item.kept = from_last < a.nkept ? memory + from_last * 2 * TILE : NULL;
  return item;
}

static __device__ __forceinline__ void Keep(BlockNumber *kept, const BlockNumber x[ENTRIES])
{
#pragma unroll
  for (int e = 0; e < ENTRIES; e++) kept[e * THREADS + threadIdx.x] = x[e];
}

/* What a thread has kept, or its entries of a column */
static __device__ __forceinline__ void Again(const BlockNumber *kept, const BlockNumber *column, const Item &item, BlockNumber x[ENTRIES])
{
  if (kept) {
#pragma unroll
    for (int e = 0; e < ENTRIES; e++) x[e] = kept[e * THREADS + threadIdx.x];
  } else Load(column + item.i0, item.rows, x);
}

static __device__ __forceinline__ void Curvature(const IterateArgs &a, const Item &item, BlockNumber (*sums)[MOST_X])
{
  const BlockIteration &t = a.t;
  BlockNumber           p[ENTRIES], w[ENTRIES];

  Load(t.P.array + item.j * t.P.ld + item.i0, item.rows, p);
  Load(t.W.array + item.j * t.W.ld + item.i0, item.rows, w);
  if (item.kept) Keep(item.kept, p), Keep(item.kept + TILE, w);
  LeaveWarpSum(sums, 0, WarpDot(w, p));
  SumWarps(sums, 1, a.parts + (int64_t)item.j * a.ntiles + item.tile, 0);
}

/* parts are those of the sums */
static __device__ __forceinline__ void Step(const IterateArgs &a, const Item &item, BlockNumber (*sums)[MOST_X], BlockNumber *parts)
{
  const BlockIteration &t    = a.t;
  const BlockLengths   &l    = t.lengths;
  BlockNumber *const    R    = t.R.array + item.j * t.R.ld + item.i0, *const kept = item.kept ? item.kept + TILE : NULL;
  BlockNumber           r[ENTRIES], w[ENTRIES], both[2];

  Load(R, item.rows, r);
  Again(kept, t.W.array + item.j * t.W.ld, item, w);

  const BlockNumber curvature = a.ntiles > FEW ? t.curvature[item.j] : SumOfParts(a.parts + (int64_t)item.j * a.ntiles, a.ntiles);
  const BlockNumber length    = BlockStepLengthWith(&l, item.j, curvature, both);

  if (item.tile == 0 && threadIdx.x == 0) {
    t.curvature[item.j]  = curvature;
    l.kept[item.j]       = both[0];
    l.kept[a.N + item.j] = both[1];
    l.step[item.j]       = length;
  }
  if (length != 0) {
#pragma unroll
    for (int e = 0; e < ENTRIES; e++) r[e] -= length * w[e];
    Store(R, item.rows, r);
  }
  if (kept) Keep(kept, r);
  Load(t.D + item.i0, item.rows, w);
#pragma unroll
  for (int e = 0; e < ENTRIES; e++) w[e] *= r[e];
  LeaveWarpSum(sums, 0, WarpDot(r, w));
  LeaveWarpSum(sums, 1, t.kind == BLOCK_STEP_WITH_Z ? WarpDot(w, w) : WarpDot(r, r));
  SumWarps(sums, 2, parts + (int64_t)item.j * a.ntiles + item.tile, (int64_t)a.N * a.ntiles);
}

static __device__ __forceinline__ void Direction(const IterateArgs &a, const Item &item, const BlockNumber *parts)
{
  const BlockIteration &t = a.t;
  BlockNumber *const    P = t.P.array + item.j * t.P.ld + item.i0, *const X = t.X.array + item.j * t.X.ld + item.i0;
  const BlockNumber     active = t.lengths.active[item.j], length = t.lengths.step[item.j];
  BlockNumber           p[ENTRIES] = {}, x[ENTRIES], r[ENTRIES], now = 0, ratio = 0;

  if (active != 0 || length != 0) Again(item.kept, t.P.array + item.j * t.P.ld, item, p);
  if (length != 0) Load(X, item.rows, x);
  if (active != 0) Again(item.kept ? item.kept + TILE : NULL, t.R.array + item.j * t.R.ld, item, r);
  if (a.ntiles > FEW) now = t.sums[item.j];
  else {
    now = SumOfParts(parts + (int64_t)item.j * a.ntiles, a.ntiles);
    if (item.tile == 0) {
      const BlockNumber norm = SumOfParts(parts + (int64_t)(a.N + item.j) * a.ntiles, a.ntiles);

      if (threadIdx.x == 0) t.sums[item.j] = now, t.sums[a.N + item.j] = norm;
    }
  }
  if (active != 0) ratio = BlockScalar(BLOCK_DIVIDE, now, t.lengths.now[item.j]);
  if (length != 0) {
#pragma unroll
    for (int e = 0; e < ENTRIES; e++) x[e] += length * p[e];
    Store(X, item.rows, x);
  }
  if (active != 0) {
    Load(t.D + item.i0, item.rows, x);
#pragma unroll
    for (int e = 0; e < ENTRIES; e++) x[e] *= r[e];
  }
#pragma unroll
  for (int e = 0; e < ENTRIES; e++) {
    p[e] = ratio != 0 ? ratio * p[e] : (BlockNumber)0;
    if (active != 0) p[e] += active * x[e];
  }
  Store(P, item.rows, p);
}

static __global__ void __launch_bounds__(THREADS, CTAS) IterateKernel(const __grid_constant__ IterateArgs a)
{
  extern __shared__ BlockNumber memory[];
  __shared__ BlockNumber sums[HRPB_WARPS][MOST_X];
  const int32_t          nitems = Items(a);
  BlockNumber *const     parts  = a.parts + (int64_t)a.N * a.ntiles; /* of the sums */

  for (int32_t q = nitems - 1; q >= 0; q--) Curvature(a, ItemOf(a, q, nitems, memory), sums);
  WaitForAll(a.t.turn);
  if (a.ntiles > FEW) {
    SumParts(a.parts, a.ntiles, a.N, a.t.curvature);
    WaitForAll(a.t.turn);
  }
  for (int32_t q = 0; q < nitems; q++) Step(a, ItemOf(a, q, nitems, memory), sums, parts);
  WaitForAll(a.t.turn);
  if (a.ntiles > FEW) {
    SumParts(parts, a.ntiles, 2 * a.N, a.t.sums);
    WaitForAll(a.t.turn);
  }
  for (int32_t q = nitems - 1; q >= 0; q--) Direction(a, ItemOf(a, q, nitems, memory), parts);
}

/* By several kernels. Without rows there are lengths all the same */
static HrpbError Several(const BlockShape *s, const BlockIteration *t)
{
  const BlockStep      step      = {t->kind, t->lengths, t->W, t->R, t->D};
  const BlockDirection direction = {t->lengths.active, t->sums, t->lengths.now, t->lengths.step, {t->R.array, t->R.ld}, t->D, t->P, t->X};
  const BlockIn        P         = {t->P.array, t->P.ld};

  HrpbCall(BlockOpsDevice.dots(s, 1, &t->W, P, t->curvature));
  HrpbCall(BlockOpsDevice.cg_step(s, &step, t->sums));
  return BlockOpsDevice.cg_direction(s, &direction);
}

HrpbError BlockCGIterate(const BlockShape *s, const BlockIteration *t)
{
  IterateArgs         a        = {*t, (BlockNumber *)s->work, s->n, (int32_t)s->N, (int32_t)Tiles(s->n), 0};
  cudaLaunchAttribute together = {};
  cudaLaunchConfig_t  config   = {};
  cudaFuncAttributes  now;
  const SpmmDevice   *device;
  int                 id, all, bytes;

  if (s->n == 0 || s->N == 0 || s->N > INT32_MAX / Tiles(s->n)) return Several(s, t);
  HrpbCall(SpmmGetDevice(&device));
  HrpbCallCuda(cudaGetDevice(&id));
  HrpbCallCuda(cudaDeviceGetAttribute(&all, cudaDevAttrCooperativeLaunch, id));
  bytes   = std::min(device->shared_sm / CTAS, device->shared_cta) - device->shared_own - STATIC;
  a.nkept = std::max(bytes, 0) / KEPT_BYTES;
  bytes   = a.nkept * KEPT_BYTES;
  HrpbCallCuda(cudaFuncGetAttributes(&now, IterateKernel));
  if (now.maxDynamicSharedSizeBytes < bytes) {
    HrpbCallCuda(cudaFuncSetAttribute(IterateKernel, cudaFuncAttributeMaxDynamicSharedMemorySize, bytes));
  }
  together.id              = cudaLaunchAttributeCooperative;
  together.val.cooperative = 1;
  config.gridDim           = dim3(HrpbGrid(s->N * a.ntiles, 1, all ? (int64_t)device->nsm * CTAS : 1));
  config.blockDim          = dim3(THREADS);
  config.dynamicSmemBytes  = (size_t)bytes;
  config.stream            = s->stream;
  config.attrs             = &together;
  config.numAttrs          = all ? 1 : 0;
  return HrpbLaunchAs(&config, IterateKernel, a);
}
