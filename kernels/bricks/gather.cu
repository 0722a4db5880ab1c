/*
   Bricks times a row-major copy of B, which is read where the bricks say. For matrices whose columns are scattered, and
   for all that the staged kernel does not take.

   A warp has a strip, with a ring of stages of its own in shared memory. So rows of B are on their way to all stages,
   however few registers there are. A row of B is copied as a whole before the next one: rows lie in different memory
   pages.
*/
#include "../common/copy.cuh"
#include "product.cuh"
#include "../common/rowmajor.cuh"

enum {
  GATHER_WARPS = 4
};

namespace {
template <typename Scalar> struct GatherArgs {
  Format<Scalar>    f;
  DenseArgs<Scalar> d;
  const Scalar     *R;       /* row-major copy of B, */
  int32_t           ldr;     /* its leading dimension, a multiple of 16; zeros beyond B */
  int32_t           columns; /* of the copy that are multiplied, a multiple of 16 */
};

/*
   What a step of the tensor core needs: rows of B, so far apart that a fragment hits different banks, and the slots of
   the bricks, one or two for each lane
*/
template <int P, int BM, int NT> struct GatherStage {
  typedef typename Mma<P>::Scalar Scalar;
  enum {
    BRICKS = Mma<P>::BRICKS,
    ROWS   = (int)HRPB_BRICK_COLS * (int)BRICKS,
    BYTES  = 16 * NT * (int)sizeof(Scalar), /* of a row */
    PITCH  = BYTES + 32
  };
  alignas(16) uint8_t rows[ROWS * PITCH];
  Scalar slots[BRICKS][BM / 8][32];
};

template <int P, int BM, int NT, int STAGES> struct GatherRing {
  GatherStage<P, BM, NT> stages[STAGES];
  int4                   rows[32]; /* rows of B for the next bricks */
};

/* Two neighbours, read together */
template <typename Scalar> struct alignas(2 * sizeof(Scalar)) ScalarPair {
  Scalar x, y;
};
} // namespace

/* sum += the bricks of a stage times its rows, for as many of the tiles as there are */
template <int P, int BM, int NT> static __device__ __forceinline__ void MultiplyStage(const GatherStage<P, BM, NT> &s, uint32_t lane, int32_t tiles, typename Mma<P>::Scalar (&sum)[NT][BM / 2])
{
  typedef typename Mma<P>::Scalar Scalar;
  typedef GatherStage<P, BM, NT>  Stage;
  const uint32_t g = lane / 4, k = lane % 4;
  Scalar         slots[2][BM / 8];
  Bricks<P, BM>  bricks;

#pragma unroll
  for (int v = 0; v < Stage::BRICKS; v++) {
#pragma unroll
    for (int half = 0; half < BM / 8; half++) slots[v][half] = s.slots[v][half][lane];
  }
  bricks.Set(slots[0], slots[Stage::BRICKS - 1]);
#pragma unroll
  for (int t = 0; t < NT; t++) {
    Scalar y[Stage::BRICKS][2];

    if (t >= tiles) break;
#pragma unroll
    for (int v = 0; v < Stage::BRICKS; v++) {
      const ScalarPair<Scalar> pair = *(const ScalarPair<Scalar> *)(s.rows + (HRPB_BRICK_COLS * v + k) * Stage::PITCH + (16 * t + 2 * g) * sizeof(Scalar));

      y[v][0] = pair.x;
      y[v][1] = pair.y;
    }
    Step<P>(sum[t], bricks, y);
  }
}

/*
   P       precision
   BM      rows of a brick
   NT      tiles of 16 columns that a warp multiplies
   STAGES  of a warp's ring
   DIRECT  a panel is one strip, and windows are columns. Then the columns of a brick are the next four windows
*/
template <int P, int BM, int NT, int STAGES, bool DIRECT> static __global__ void __launch_bounds__(GATHER_WARPS * 32) Gather(const __grid_constant__ GatherArgs<typename Mma<P>::Scalar> a)
{
  typedef typename Mma<P>::Scalar       Scalar;
  typedef GatherStage<P, BM, NT>        Stage;
  typedef GatherRing<P, BM, NT, STAGES> Ring;
  static_assert(STAGES > 1 && STAGES <= 32); /* bits of ends */
  extern __shared__ __align__(16) uint8_t shared[];
  constexpr int         PIECES = Stage::BYTES / 16; /* of a row, 16 bytes each */
  /*
     Panels of one strip are for this kernel alone, so their sums may have bits of their own. A second set of sums would
     leave room for fewer warps
  */
  constexpr bool        CHUNKS = HasChunks(P, BM, false) && !DIRECT;
  const Format<Scalar> &f     = a.f;
  const uint32_t        lane  = threadIdx.x % 32;
  const int64_t         w     = (int64_t)blockIdx.x * GATHER_WARPS + threadIdx.x / 32;
  const uint32_t        strip = (uint32_t)(w % f.strips);
  const int64_t         at    = w / f.strips;
  const int32_t         n0    = blockIdx.y * 16 * NT;
  const int32_t         tiles = (a.columns - n0) / 16; /* of the NT, those that exist */
  Ring                 &ring  = ((Ring *)shared)[threadIdx.x / 32];
  uint32_t              put = 0, got = 0, nput = 0; /* next stage to fill, next to multiply, number of full ones */
  Scalar                sum[NT][BM / 2] = {}, total[NT][BM / 2] = {};
  uint32_t              in_chunk = 0; /* bricks of the strip since the last chunk ended */
  uint32_t              ends     = 0; /* bit i: a chunk ends with stage i */
  const auto            multiply = [&] {
    MultiplyStage(ring.stages[got], lane, tiles, sum);
    if (CHUNKS && ends >> got & 1) {
      EndChunk(sum, total);
      ends ^= 1u << got;
    }
    got = got + 1 < STAGES ? got + 1 : 0;
    nput--;
  };

  if (at >= f.nitems) return;
  const WorkItem item = GetItem(f, at);

  HrpbWaitForKernelBefore(); /* the copy of B */
  for (uint32_t block = item.begin; block < item.end; block++) {
    const uint32_t    first = f.window_ptr[block], nwindows = f.window_ptr[block + 1] - first;
    const PackedBlock p(f.pattern + (size_t)f.pattern_ptr[block] * HRPB_PATTERN_UNIT, f.strips);
    const Scalar     *values  = f.values + (size_t)f.value_ptr[block] * HRPB_VALUE_UNIT;
    const int32_t    *windows = f.windows + first;
    const uint32_t    begin   = DIRECT ? 0 : p.strip_start[strip];
    const uint32_t    last    = DIRECT ? (nwindows + HRPB_BRICK_COLS - 1) / HRPB_BRICK_COLS : p.strip_start[strip + 1];

    /* a lane has a brick: its pattern, first value and rows */
    for (uint32_t group = begin; group < last; group += 32) {
      const uint32_t    n = min(last - group, 32u), mine = group + min(lane, n - 1);
      const PackedBrick own = p.brick[mine];
      uint32_t          pattern[BM / 8];
      int32_t           row[HRPB_BRICK_COLS];

#pragma unroll
      for (int half = 0; half < BM / 8; half++) pattern[half] = lane < n ? own.Pattern(half) : 0;
#pragma unroll
      for (uint32_t slot = 0; slot < HRPB_BRICK_COLS; slot++) {
        row[slot] = DIRECT ? windows[min(HRPB_BRICK_COLS * mine + slot, nwindows - 1)] : (int32_t)MatrixColumn(f, windows, own.Column(slot));
      }
      __syncwarp();
      ring.rows[lane] = make_int4(row[0], row[1], row[2], row[3]);
      __syncwarp();

#pragma unroll 1
      for (uint32_t brick = 0; brick < n; brick += Stage::BRICKS) {
        Stage &s = ring.stages[put];

#pragma unroll
        for (int v = 0; v < Stage::BRICKS; v++) {
          const Scalar *value = values + __shfl_sync(HRPB_ALL_LANES, own.Value(0), brick + v);

#pragma unroll
          for (int half = 0; half < BM / 8; half++) {
            const uint32_t bits = __shfl_sync(HRPB_ALL_LANES, pattern[half], brick + v), bit = 1u << lane;

            if (bits & bit) CopyAsync<sizeof(Scalar)>(SharedAddress(&s.slots[v][half][lane]), value + __popc(bits & (bit - 1)));
            else s.slots[v][half][lane] = 0;
            value += __popc(bits);
          }
        }
#pragma unroll
        for (uint32_t i = 0; i < Stage::ROWS * PIECES; i += 32) {
          const uint32_t r = (i + lane) / PIECES, piece = (i + lane) % PIECES;

          if (r < Stage::ROWS && (int32_t)(piece * (16 / sizeof(Scalar))) < a.columns - n0)
            CopyAsync<16>(SharedAddress(s.rows + r * Stage::PITCH + piece * 16), a.R + (int64_t)((const int32_t *)ring.rows)[HRPB_BRICK_COLS * brick + r] * a.ldr + n0 + piece * (16 / sizeof(Scalar)));
        }
        CopyAsyncCommit();
        put = put + 1 < STAGES ? put + 1 : 0;
        if (++nput == STAGES) {
          CopyAsyncWait<STAGES - 1>();
          __syncwarp();
          multiply();
          __syncwarp();
        }
      }
    }
    in_chunk += last - begin;
    if (CHUNKS && in_chunk >= CHUNK_BRICKS) {
      /* the stage that was filled last has the last brick. It is multiplied when others have been filled */
      ends |= 1u << (put ? put - 1 : STAGES - 1);
      in_chunk = 0;
    }
  }
  CopyAsyncWait<0>();
  __syncwarp();
  while (nput > 0) multiply();
  if (CHUNKS) EndChunk(sum, total);
  FinishItem<BM, true, false, true, false>(f, a.d, item, strip, lane, CHUNKS ? total : sum, n0);
}

/* Columns of a row of the copy of B */
static int32_t LeadingDimension(int64_t N)
{
  return (int32_t)((N + 15) / 16 * 16);
}

template <int P, int BM, int NT, bool DIRECT> static HrpbError Launch(const Product *p, const GatherArgs<HrpbScalar> *a)
{
  constexpr int STAGES = NT <= 2 ? 4 : 3; /* more stages would leave room for fewer thread blocks */
  const auto    kernel = Gather<P, BM, NT, STAGES, DIRECT>;
  const int     bytes  = (int)sizeof(GatherRing<P, BM, NT, STAGES>) * GATHER_WARPS;

  HrpbCallCuda(cudaFuncSetAttribute(kernel, cudaFuncAttributeMaxDynamicSharedMemorySize, bytes));
  return LaunchAfter(kernel, dim3(HrpbGrid((int64_t)a->f.nitems * a->f.strips, GATHER_WARPS), (a->columns + 16 * NT - 1) / (16 * NT)), GATHER_WARPS * 32, bytes, p->stream, *a);
}

/* Columns in tiles of at most 128, or 64 where a tile of 16 has twice the sums, equally wide */
template <int P, int BM, bool DIRECT> static HrpbError LaunchFor(const Product *p, const GatherArgs<HrpbScalar> *a)
{
  constexpr int MOST = BM == 8 ? 8 : 4;
  const int     q = a->columns / 16, parts = (q + MOST - 1) / MOST;

  switch ((q + parts - 1) / parts) {
  case 1:
    return Launch<P, BM, 1, DIRECT>(p, a);
  case 2:
    return Launch<P, BM, 2, DIRECT>(p, a);
  case 3:
    return Launch<P, BM, 3, DIRECT>(p, a);
  case 4:
    return Launch<P, BM, 4, DIRECT>(p, a);
  case 5:
  case 6:
    return Launch<P, BM, MOST == 8 ? 6 : MOST, DIRECT>(p, a);
  default:
    return Launch<P, BM, MOST, DIRECT>(p, a);
  }
}

template <int P> static HrpbError Run(const Product *p, const GatherArgs<HrpbScalar> *a)
{
  if (p->h->params.brick_rows == 16) return LaunchFor<P, 16, false>(p, a);
  return a->f.strips == 1 && a->f.window_shift == 0 ? LaunchFor<P, 8, true>(p, a) : LaunchFor<P, 8, false>(p, a);
}

static bool Takes(const SpmmFacts *, const HrpbParams *params, const SpmmOperands *o, const SpmmDevice *)
{
  return SpmmIsPlain(o) && !params->pairs;
}

static HrpbError WorkBytes(const SpmmMatrix *A, const SpmmOperands *o, size_t *bytes)
{
  HrpbCall(ProductWork(A, o, bytes));
  *bytes += sizeof(HrpbScalar) * (size_t)A->ncols * (size_t)LeadingDimension(o->N);
  return HRPB_SUCCESS;
}

static HrpbError RunProduct(const SpmmMatrix *A, const SpmmOperands *o, void *work, HrpbStream stream)
{
  HrpbScalar            *R = (HrpbScalar *)((uint8_t *)work + ProductPartialBytes(A, o->N));
  GatherArgs<HrpbScalar> a;
  Product                p;
  const SpmmDevice      *device;

  HrpbCall(ProductOf(A, o, work, stream, &p, &device));
  if (!A->hrpb->nblocks) return ProductWithoutBricks(&p);
  a.f   = FormatOf(p.h, p.schedule, p.values);
  a.ldr = LeadingDimension(p.N);
  HrpbCall(RowMajor(p.B, p.ldb, p.h->ncols, p.N, R, p.h->ncols, a.ldr, stream));
  return RunSlices(&p, p.N, [&](const Product *slice, int32_t n) {
    a.d       = DenseArgsOf(slice);
    a.R       = R + n;
    a.columns = LeadingDimension(slice->N);
    HrpbCallPrecision(slice->precision, Run, slice, &a);
    return AddPartsRun(slice, true);
  });
}

SPMM_KERNEL(SpmmBricksGather) = {
  .name   = "bricks-gather",
  .what   = "bricks on tensor cores, which read a row-major copy of B where they say",
  .op     = SPMM_OP_PRODUCT,
  .format = SPMM_BRICKS,
  .takes  = Takes,
  .work   = WorkBytes,
  .copies = LeadingDimension,
  .run    = RunProduct
};
