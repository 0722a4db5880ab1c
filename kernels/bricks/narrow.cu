/*
   Bricks times a few columns of B, which are read where they are. So few columns take no longer than reading A does, and
   nothing is worth staging but what says where bricks lie.

   A warp has a strip. Its bricks lie in all blocks of the panel, a few in each. So the lanes look at 32 blocks at a time,
   and then at 32 of the bricks that these have for the strip, one each. What they find goes through shared memory. Then
   the warp takes a few bricks at a time, all of whose values and numbers of B are on their way together.
*/
#include "product.cuh"

enum {
  NARROW_WARPS   = 8,
  NARROW_COLUMNS = 8, /* half a tile */
  TOGETHER       = 4  /* bricks that are on their way together */
};

namespace {
/* What a lane knows of a block: where its parts begin, and the bricks of the strip */
struct StripOfBlock {
  uint32_t pattern, value, window;
  uint32_t first, count; /* the first brick of the strip in the block, and how many there are */
  uint32_t begin, end;   /* their places among those of all lanes */
};

/* What all lanes want to know of a brick */
struct alignas(16) FoundBrick {
  uint32_t pattern[2];
  uint32_t run, value;            /* where the values of its block begin, in HRPB_VALUE_UNIT scalars; HrpbBrick's value */
  int32_t  rows[HRPB_BRICK_COLS]; /* of B */
};
} // namespace

/* *p if has, or zero, without a branch, so that all reads are on their way before one is waited for */
static __device__ __forceinline__ HrpbScalar ReadIf(const HrpbScalar *p, bool has)
{
  HrpbScalar x = 0;

#if defined(HRPB_USE_SINGLE)
  asm volatile("{\n.reg .pred p;\nsetp.ne.s32 p,%2,0;\n@p ld.global.cs.f32 %0,[%1];\n}" : "+f"(x) : "l"(p), "r"((int)has));
#else
  asm volatile("{\n.reg .pred p;\nsetp.ne.s32 p,%2,0;\n@p ld.global.cs.f64 %0,[%1];\n}" : "+d"(x) : "l"(p), "r"((int)has));
#endif
  return x;
}

/*
   The strip in a block, one for each lane. A step of the tensor core takes EACH bricks of one block, as in the other
   kernels, whose sums have the same bits. So the bricks of a block have a multiple of EACH places
*/
template <uint32_t EACH, typename Scalar> static __device__ __forceinline__ StripOfBlock FindStrip(const Format<Scalar> &f, uint32_t block, uint32_t end, uint32_t strip)
{
  StripOfBlock s = {};

  if (block < end) {
    s.pattern = f.pattern_ptr[block];
    s.value   = f.value_ptr[block];
    s.window  = f.window_ptr[block];

    const PackedBlock p(f.pattern + (size_t)s.pattern * HRPB_PATTERN_UNIT, f.strips);

    s.first = p.strip_start[strip];
    s.count = p.strip_start[strip + 1] - s.first;
  }
  const uint32_t places = (s.count + EACH - 1) / EACH * EACH;

  s.end   = HrpbWarpInclusiveSum(places);
  s.begin = s.end - places;
  return s;
}

/*
   The brick at a place, one for each lane, where there are total places. One without a brick has an empty one, with the
   rows of the brick before it: where these are not finite, a sum is not finite in any case
*/
template <typename Scalar> static __device__ __forceinline__ FoundBrick FindBrick(const Format<Scalar> &f, const StripOfBlock &strip, uint32_t place, uint32_t total)
{
  const uint32_t at   = min(place, total - 1);
  uint32_t       lane = 0; /* that has the block */

#pragma unroll
  for (uint32_t step = HRPB_LANES / 2; step > 0; step /= 2) {
    if (__shfl_sync(HRPB_ALL_LANES, strip.end, lane + step - 1) <= at) lane += step;
  }
  const uint32_t    pattern = __shfl_sync(HRPB_ALL_LANES, strip.pattern, lane), window = __shfl_sync(HRPB_ALL_LANES, strip.window, lane);
  const uint32_t    first = __shfl_sync(HRPB_ALL_LANES, strip.first, lane), count = __shfl_sync(HRPB_ALL_LANES, strip.count, lane);
  const uint32_t    i     = at - __shfl_sync(HRPB_ALL_LANES, strip.begin, lane);
  const PackedBrick brick = PackedBlock(f.pattern + (size_t)pattern * HRPB_PATTERN_UNIT, f.strips).brick[first + min(i, count - 1)];
  const bool        is    = place < total && i < count;
  FoundBrick        found;

  found.run   = __shfl_sync(HRPB_ALL_LANES, strip.value, lane);
  found.value = brick.words.w;
#pragma unroll
  for (int half = 0; half < 2; half++) found.pattern[half] = is ? brick.Pattern(half) : 0;
#pragma unroll
  for (uint32_t slot = 0; slot < HRPB_BRICK_COLS; slot++) found.rows[slot] = (int32_t)MatrixColumn(f, f.windows + window, brick.Column(slot));
  return found;
}

/* sum += n bricks times B, n <= HRPB_LANES. b: the lane's column of B */
template <int P, int BM> static __device__ __forceinline__ void MultiplyFound(const FoundBrick *found, uint32_t n, const typename Mma<P>::Scalar *values, const typename Mma<P>::Scalar *b, uint32_t lane, typename Mma<P>::Scalar (&sum)[BM / 2])
{
  typedef typename Mma<P>::Scalar Scalar;
  constexpr int  EACH = Mma<P>::BRICKS;
  const uint32_t bit  = 1u << lane;

#pragma unroll 1
  for (uint32_t first = 0; first < n; first += TOGETHER) {
    Scalar slots[TOGETHER][BM / 8], x[TOGETHER];

#pragma unroll
    for (int u = 0; u < TOGETHER; u++) {
      const FoundBrick &brick = found[first + u];
      const Scalar     *run   = values + (size_t)brick.run * HRPB_VALUE_UNIT;

#pragma unroll
      for (int half = 0; half < BM / 8; half++) slots[u][half] = ReadIf(run + (half ? brick.value >> 16 : brick.value & 0xffff) + __popc(brick.pattern[half] & (bit - 1)), brick.pattern[half] & bit);
    }
#pragma unroll
    for (int u = 0; u < TOGETHER; u++) x[u] = __ldg(b + found[first + u].rows[lane % HRPB_BRICK_COLS]);
#pragma unroll
    for (int u = 0; u < TOGETHER; u += EACH) {
      Scalar        y[EACH][2] = {};
      Bricks<P, BM> bricks;

      if (first + u >= n) break; /* to add zeros might change the sign of a zero */
#pragma unroll
      for (int v = 0; v < EACH; v++) y[v][0] = x[u + v];
      bricks.Set(slots[u], slots[u + EACH - 1]);
      Step<P>(sum, bricks, y, false);
    }
  }
}

template <int P, int BM> static __global__ void __launch_bounds__(NARROW_WARPS * 32) Narrow(const __grid_constant__ Format<typename Mma<P>::Scalar> f, const __grid_constant__ DenseArgs<typename Mma<P>::Scalar> d)
{
  typedef typename Mma<P>::Scalar Scalar;
  __shared__ FoundBrick found_by_warps[NARROW_WARPS][HRPB_LANES];
  const uint32_t lane  = threadIdx.x % 32;
  const int64_t  w     = (int64_t)blockIdx.x * NARROW_WARPS + threadIdx.x / 32;
  const uint32_t strip = (uint32_t)(w % f.strips);
  const int64_t  at    = w / f.strips;
  FoundBrick    *found = found_by_warps[threadIdx.x / 32];
  Scalar         sum[1][BM / 2] = {};

  HrpbLetNextKernelCome();
  if (at >= f.nitems) return;

  /* columns beyond the last are the last one's, and nobody asks for their sums */
  const WorkItem item = GetItem(f, at);
  const Scalar  *b    = d.B + min((int32_t)(lane / HRPB_BRICK_COLS), d.N - 1) * d.ldb;

  for (uint32_t block = item.begin; block < item.end; block += HRPB_LANES) {
    const StripOfBlock s     = FindStrip<Mma<P>::BRICKS>(f, block + lane, item.end, strip);
    const uint32_t     total = __shfl_sync(HRPB_ALL_LANES, s.end, HRPB_LANES - 1);

    for (uint32_t place = 0; place < total; place += HRPB_LANES) {
      const FoundBrick mine = FindBrick(f, s, place + lane, total);

      __syncwarp();
      found[lane] = mine;
      __syncwarp();
      MultiplyFound<P, BM>(found, min(total - place, (uint32_t)HRPB_LANES), f.values, b, lane, sum[0]);
    }
  }
  StoreSums<BM, 1, false>(f, d, item, strip, lane, sum, 0);
}

template <int P> static HrpbError Run(const Product *p)
{
  const Format<HrpbScalar> f      = FormatOf(p->h, p->schedule, p->values);
  const auto               kernel = p->h->params.brick_rows == 16 ? Narrow<P, 16> : Narrow<P, 8>;

  kernel<<<HrpbGrid((int64_t)f.nitems * f.strips, NARROW_WARPS), NARROW_WARPS * 32, 0, p->stream>>>(f, DenseArgsOf(p));
  HrpbCallCuda(cudaGetLastError());
  return CombineRun(p);
}

static bool Takes(const SpmmFacts *, const HrpbParams *params, const SpmmOperands *o, const SpmmDevice *)
{
  return SpmmIsPlain(o) && o->N <= NARROW_COLUMNS && params->window_cols > 1;
}

static HrpbError RunProduct(const SpmmMatrix *A, const SpmmOperands *o, void *work, HrpbStream stream)
{
  Product           p;
  const SpmmDevice *device;

  HrpbCall(ProductOf(A, o, work, stream, &p, &device));
  if (!A->hrpb->nblocks) return ProductWithoutBricks(&p);
#if defined(HRPB_USE_SINGLE)
  return A->precision == HRPB_TF32 ? Run<HRPB_TF32>(&p) : Run<HRPB_3XTF32>(&p);
#else
  return Run<HRPB_FP64>(&p);
#endif
}

SPMM_KERNEL(SpmmBricksNarrow) = {
  .name   = "bricks-narrow",
  .what   = "bricks on tensor cores times a few columns of B, which are read where they are",
  .op     = SPMM_OP_PRODUCT,
  .format = SPMM_BRICKS,
  .takes  = Takes,
  .work   = ProductWork,
  .run    = RunProduct
};
