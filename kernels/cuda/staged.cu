/*
   Bricks times B staged in shared memory (Hopper): persistent thread blocks; one warp keeps a ring of stages filled by the copy engine, the others, one
   a strip, multiply. A stage holds a packed block and the windows of B that it needs, as [window][column of B][TW].

   Source: cuTeSpMM, section 3 (a panel's blocks in shared memory, coarsening along N). Where B is read in place a window is a box of 16 rows and all
   columns of the tile; the copy engine takes about 6.5 cycles for a column of a box, whether it has 64 bytes or 128, so windows are as
   wide as its swizzle allows. The swizzle lets the lanes of a fragment, which differ in the column of B, hit different banks.
*/
#include "copy.cuh"
#include "launch.cuh"

#include <cudaTypedefs.h>

enum {
  STAGED_WINDOW = 16, /* TW of the formats that this kernel takes */
  STAGED_BOXES  = 4,  /* windows of a block at most */
  STAGED_STRIPS = 8,  /* strips of a panel at most */
  STAGE_ALIGN   = 1024, /* the longest swizzle pattern */
  MAX_STAGES    = 8
};

template <typename Scalar> struct StagedArgs {
  CUtensorMap       map;  /* of B, or */
  const Scalar     *copy; /* B as [tile][window][NB][TW], swizzled, zeros beyond B */
  Format<Scalar>    f;
  DenseArgs<Scalar> d;
  int32_t           nwindows; /* of the matrix */
  int32_t           ntiles, nstages;
  uint32_t          values_at, pattern_at, stage_bytes; /* where a stage keeps the block behind the windows, and all it holds */
};

/* Bytes of a column of a window, and what the swizzle does to the number of a 16-byte chunk in it (cuTensorMapEncodeTiled()) */
template <typename Scalar> struct Window {
  enum {
    PITCH = STAGED_WINDOW * (int)sizeof(Scalar)
  };
  static __host__ __device__ __forceinline__ uint32_t Swizzle(uint32_t chunk, uint32_t column)
  {
    return chunk ^ (PITCH == 128 ? column & 7 : column >> 1 & 3);
  }
};

/* What a lane of the producer knows of one block */
struct BlockCopies {
  uint32_t pattern, pattern_units, value, value_units, nwindows;
  int32_t  window[STAGED_BOXES];
};

template <typename Scalar> __device__ __forceinline__ void LoadCopies(const Format<Scalar> &f, uint32_t block, uint32_t end, BlockCopies &c)
{
  c.nwindows = 0;
  if (block >= end) return;
  const uint32_t w = f.window_ptr[block];

  c.pattern       = f.pattern_ptr[block];
  c.pattern_units = f.pattern_ptr[block + 1] - c.pattern;
  c.value         = f.value_ptr[block];
  c.value_units   = f.value_ptr[block + 1] - c.value;
  c.nwindows      = f.window_ptr[block + 1] - w;
#pragma unroll
  for (int i = 0; i < STAGED_BOXES; i++) {
    if (i < c.nwindows) c.window[i] = f.windows[w + i];
  }
}

/* The producer warp; lane i has the next block i ready */
template <int NB, bool COPIED, typename Scalar> __device__ __forceinline__ void Produce(const StagedArgs<Scalar> &a, uint32_t shared, uint32_t full, uint32_t empty, uint32_t lane)
{
  constexpr uint32_t    BOX   = Window<Scalar>::PITCH * NB;
  const Format<Scalar> &f     = a.f;
  const int64_t         nwork = (int64_t)f.nitems * a.ntiles;
  uint32_t              begin = 0, end = 0, stage = 0, parity = 0;
  BlockCopies           next;

  if (blockIdx.x < nwork) {
    const WorkItem item = GetItem(f, blockIdx.x / a.ntiles);

    begin = item.begin;
    end   = item.end;
    LoadCopies(f, begin + lane, end, next);
  }
  for (int64_t w = blockIdx.x; w < nwork;) {
    const int32_t     tile    = (int32_t)(w % a.ntiles);
    const BlockCopies mine    = next;
    const uint32_t    nblocks = min(end - begin, 32u);

    /* fetch what comes after these blocks while they are copied */
    begin += nblocks;
    if (begin == end) {
      w += gridDim.x;
      if (w < nwork) {
        const WorkItem item = GetItem(f, w / a.ntiles);

        begin = item.begin;
        end   = item.end;
      }
    }
    if (w < nwork) LoadCopies(f, begin + lane, end, next);
    for (uint32_t i = 0; i < nblocks; i++) {
      if (lane == i) {
        const uint32_t to = shared + stage * a.stage_bytes, ready = full + 8 * stage;
        const uint32_t pattern_bytes = mine.pattern_units * HRPB_PATTERN_UNIT, value_bytes = mine.value_units * (HRPB_VALUE_UNIT * (uint32_t)sizeof(Scalar));

        BarrierWait(empty + 8 * stage, parity ^ 1);
        BarrierExpect(ready, pattern_bytes + value_bytes + mine.nwindows * BOX);
        CopyBulk(to + a.pattern_at, f.pattern + (size_t)mine.pattern * HRPB_PATTERN_UNIT, pattern_bytes, ready);
        CopyBulk(to + a.values_at, f.values + (size_t)mine.value * HRPB_VALUE_UNIT, value_bytes, ready);
#pragma unroll
        for (int j = 0; j < STAGED_BOXES; j++) {
          if (j >= mine.nwindows) break;
          if (COPIED) CopyBulk(to + j * BOX, (const uint8_t *)a.copy + ((int64_t)tile * a.nwindows + mine.window[j]) * BOX, BOX, ready);
          else CopyBox(to + j * BOX, &a.map, mine.window[j] * STAGED_WINDOW, tile * NB, ready);
        }
      }
      __syncwarp(); /* a lane that ran ahead would take the stage's phase before last for the last one */
      if (++stage == a.nstages) {
        stage = 0;
        parity ^= 1;
      }
    }
  }
}

/*
   P       precision
   BM      rows of a brick
   NT      tiles of 16 columns that a warp multiplies
   WN      warps side by side along the columns of B
   COPIED  B comes from a copy in windows, otherwise in place
   CTAS    thread blocks on a multiprocessor
*/
template <int P, int BM, int NT, int WN, bool COPIED, int CTAS> __global__ void __launch_bounds__((STAGED_STRIPS * WN + 1) * 32, CTAS) Staged(const __grid_constant__ StagedArgs<typename Mma<P>::Scalar> a)
{
#if __CUDA_ARCH__ >= 900
  typedef typename Mma<P>::Scalar Scalar;
  constexpr int U     = 2;             /* bricks decoded together */
  constexpr int NB    = 16 * NT * WN;  /* columns of the tile */
  constexpr int PITCH = Window<Scalar>::PITCH;
  constexpr int SUMS  = BM / 2;
  extern __shared__ __align__(STAGE_ALIGN) uint8_t shared[];
  const Format<Scalar> &f = a.f;
  const uint32_t warp = threadIdx.x / 32, lane = threadIdx.x % 32, nconsumers = blockDim.x / 32 - 1;
  const uint32_t full  = SharedAddress(shared) + a.nstages * a.stage_bytes, empty = full + 8 * MAX_STAGES;
  const int64_t  nwork = (int64_t)f.nitems * a.ntiles;
  uint32_t       stage = 0, parity = 0;

  if (threadIdx.x == 0) {
    for (int s = 0; s < a.nstages; s++) {
      BarrierInit(full + 8 * s, 1);
      BarrierInit(empty + 8 * s, nconsumers);
    }
    BarrierInitFence();
  }
  __syncthreads();
  if (warp == nconsumers) {
    Produce<NB, COPIED>(a, SharedAddress(shared), full, empty, lane);
    return;
  }

  const uint32_t strip = warp / WN, n_warp = warp % WN * (16 * NT), g = lane / 4, k = lane % 4;
  const uint32_t swizzle = Window<Scalar>::Swizzle(0, g) * 16;

  for (int64_t w = blockIdx.x; w < nwork; w += gridDim.x) {
    const WorkItem item = GetItem(f, w / a.ntiles);
    const int32_t  n0   = (int32_t)(w % a.ntiles) * NB + n_warp;
    Scalar         sum[NT][SUMS] = {};

    for (uint32_t block = item.begin; block < item.end; block++) {
      const uint8_t *base = shared + stage * a.stage_bytes;

      BarrierWait(full + 8 * stage, parity);
      const PackedBlock<BM> p(base + a.pattern_at);
      const Scalar         *values = (const Scalar *)(base + a.values_at);
      const uint8_t        *b      = base + (n_warp + g) * PITCH;
      const uint32_t        last   = p.StripStart(strip + 1);

#pragma unroll 1
      for (uint32_t brick = p.StripStart(strip); brick < last; brick += U) {
        Scalar         slots[U][BM / 8];
        const uint8_t *x[U];

#pragma unroll
        for (int u = 0; u < U; u++) {
          const bool     in     = brick + u < last;
          const uint32_t at     = in ? brick + u : brick;
          const uint32_t column = p.Column(at, k);

          p.Decode(at, in, values, lane, slots[u]);
          x[u] = b + column / STAGED_WINDOW * (PITCH * NB) + (column * (uint32_t)sizeof(Scalar) % PITCH ^ swizzle);
        }
#pragma unroll
        for (int u = 0; u < U; u += Mma<P>::BRICKS) {
          Bricks<P, BM> bricks;

          bricks.Set(slots[u], slots[u + Mma<P>::BRICKS - 1]);
#pragma unroll
          for (int t = 0; t < NT; t++) {
            Scalar y[Mma<P>::BRICKS][2];

#pragma unroll
            for (int v = 0; v < Mma<P>::BRICKS; v++) {
              y[v][0] = *(const Scalar *)(x[u + v] + (16 * t) * PITCH);
              y[v][1] = *(const Scalar *)(x[u + v] + (16 * t + 8) * PITCH);
            }
            Step<P>(sum[t], bricks, y);
          }
        }
      }
      __syncwarp();
      if (lane == 0) BarrierArrive(empty + 8 * stage);
      if (++stage == a.nstages) {
        stage = 0;
        parity ^= 1;
      }
    }
    StoreSums<BM, NT, false>(f, a.d, item, strip, lane, sum, n0);
  }
#else
  __trap(); /* see StagedIsCompiled() */
#endif
}

/* copy [ntiles][nwindows][NB][TW] = B [nrows x N], zeros beyond. A thread moves 16 bytes, so that a warp reads and writes whole lines */
template <typename Scalar> __global__ void __launch_bounds__(256) CopyWindows(const Scalar *B, int64_t ldb, int32_t nrows, int32_t nwindows, int32_t N, int32_t NB, Scalar *copy)
{
  constexpr int EACH   = 16 / (int)sizeof(Scalar), CHUNKS = STAGED_WINDOW / EACH; /* scalars in a chunk, and chunks in a column of a window */
  const int64_t i      = (int64_t)blockIdx.x * blockDim.x + threadIdx.x;
  const int32_t window = (int32_t)(i / CHUNKS), chunk = (int32_t)(i % CHUNKS);

  if (window >= nwindows) return;
  for (int32_t n = blockIdx.y; n < (N + NB - 1) / NB * NB; n += gridDim.y) {
    struct alignas(16) {
      Scalar x[EACH];
    } y;

#pragma unroll
    for (int j = 0; j < EACH; j++) y.x[j] = n < N && i * EACH + j < nrows ? B[i * EACH + j + n * ldb] : (Scalar)0;
    *(decltype(y) *)(copy + (((int64_t)(n / NB) * nwindows + window) * NB + n % NB) * STAGED_WINDOW + Window<Scalar>::Swizzle(chunk, n % NB) * EACH) = y;
  }
}

/* How many columns of B are multiplied together, and by what */
typedef struct {
  int nt, wn, nb, ntiles;
} Tiling;

/* As few tiles of up to 128 columns as there can be, equally wide: a ragged last one costs its share */
static Tiling GetTiling(const Product *p)
{
  const int q = (p->N + 15) / 16, per = (q + (q + 7) / 8 - 1) / ((q + 7) / 8);
  Tiling    t;

  t.wn     = p->h->params.brick_rows == 16 && per > 2 ? 2 : 1;
  t.nt     = (per + t.wn - 1) / t.wn;
  t.nb     = 16 * t.nt * t.wn;
  t.ntiles = (p->N + t.nb - 1) / t.nb;
  return t;
}

/* Windows of the whole matrix */
static int32_t WindowsOf(const Hrpb *h)
{
  return (int32_t)(((int64_t)h->ncols + STAGED_WINDOW - 1) / STAGED_WINDOW);
}

/* The copy engine reads B in place if its columns are aligned to 16 bytes */
static bool InPlace(const Product *p)
{
  return ((uintptr_t)p->B | p->ldb * sizeof(HrpbScalar)) % 16 == 0;
}

/* Bytes of a stage, and of its parts, for a tile */
template <typename Args> static void GetStage(const Product *p, int nb, Args *a)
{
  a->values_at   = (uint32_t)(p->h->params.block_cols * sizeof(HrpbScalar) * nb);
  a->pattern_at  = a->values_at + (p->h->max_values * HRPB_VALUE_UNIT * (uint32_t)sizeof(HrpbScalar) + 15) / 16 * 16;
  a->stage_bytes = (a->pattern_at + p->h->max_pattern * HRPB_PATTERN_UNIT + STAGE_ALIGN - 1) / STAGE_ALIGN * STAGE_ALIGN;
}

/* Code for an older device also runs on this one, compiled by the driver, but has an empty kernel */
HrpbError StagedIsCompiled(bool *compiled)
{
  cudaFuncAttributes attributes;

#if defined(HRPB_USE_SINGLE)
  HrpbCallCuda(cudaFuncGetAttributes(&attributes, Staged<HRPB_3XTF32, 8, 1, 1, false, 2>));
#else
  HrpbCallCuda(cudaFuncGetAttributes(&attributes, Staged<HRPB_FP64, 8, 1, 1, false, 2>));
#endif
  *compiled = attributes.ptxVersion >= 90;
  return HRPB_SUCCESS;
}

bool StagedTakes(const Product *p, const DeviceInfo *device)
{
  const HrpbParams      *params = &p->h->params;
  StagedArgs<HrpbScalar> a;

  if (!device->stages || params->window_cols != STAGED_WINDOW || params->block_cols > STAGED_WINDOW * STAGED_BOXES || params->panel_rows / params->brick_rows > STAGED_STRIPS) return false;
  GetStage(p, GetTiling(p).nb, &a);
  return 2 * a.stage_bytes + 16 * MAX_STAGES <= (uint32_t)device->shared_cta;
}

size_t StagedWork(const Product *p, const DeviceInfo *)
{
  const Tiling t = GetTiling(p);

  return InPlace(p) ? 0 : (size_t)WindowsOf(p->h) * Window<HrpbScalar>::PITCH * t.nb * t.ntiles;
}

/* The part of the driver that describes a matrix to the copy engine, without linking to the driver */
static HrpbError EncodeMap(const Product *p, int nb, CUtensorMap *map)
{
  static PFN_cuTensorMapEncodeTiled_v12000 encode = NULL;
  const cuuint64_t                         sizes[2] = {(cuuint64_t)p->h->ncols, (cuuint64_t)p->N}, strides[1] = {(cuuint64_t)p->ldb * sizeof(HrpbScalar)};
  const cuuint32_t                         box[2] = {STAGED_WINDOW, (cuuint32_t)nb}, steps[2] = {1, 1};

  if (!encode) {
    cudaDriverEntryPointQueryResult found;
    void                           *f = NULL;

#if CUDART_VERSION >= 12050
    HrpbCallCuda(cudaGetDriverEntryPointByVersion("cuTensorMapEncodeTiled", &f, 12000, cudaEnableDefault, &found));
#else
    HrpbCallCuda(cudaGetDriverEntryPoint("cuTensorMapEncodeTiled", &f, cudaEnableDefault, &found));
#endif
    if (found != cudaDriverEntryPointSuccess) return HrpbDeviceError(cudaErrorNotSupported);
    encode = (PFN_cuTensorMapEncodeTiled_v12000)f;
  }
  if (encode(map, sizeof(HrpbScalar) == 8 ? CU_TENSOR_MAP_DATA_TYPE_FLOAT64 : CU_TENSOR_MAP_DATA_TYPE_FLOAT32, 2, (void *)p->B, sizes, strides, box, steps, CU_TENSOR_MAP_INTERLEAVE_NONE, Window<HrpbScalar>::PITCH == 128 ? CU_TENSOR_MAP_SWIZZLE_128B : CU_TENSOR_MAP_SWIZZLE_64B,
             CU_TENSOR_MAP_L2_PROMOTION_L2_128B, CU_TENSOR_MAP_FLOAT_OOB_FILL_NONE) != CUDA_SUCCESS)
    return HrpbDeviceError(cudaErrorInvalidValue);
  return HRPB_SUCCESS;
}

template <int P, int BM, int NT, int WN, bool COPIED, int CTAS> static HrpbError Launch(const Product *p, const DeviceInfo *device, StagedArgs<HrpbScalar> *a)
{
  const auto    kernel = Staged<P, BM, NT, WN, COPIED, CTAS>;
  const int     strips = p->h->params.panel_rows / BM, barriers = 16 * MAX_STAGES;
  const int64_t nwork  = (int64_t)a->f.nitems * a->ntiles;
  int           ctas   = CTAS, nstages = 0;

  /* as many thread blocks as registers allow, as long as each has two stages */
  for (;; ctas--) {
    const int most = device->shared_sm / ctas - device->shared_own, bytes = (most < device->shared_cta ? most : device->shared_cta) - barriers;

    nstages = bytes / (int)a->stage_bytes < MAX_STAGES ? bytes / (int)a->stage_bytes : MAX_STAGES;
    if (ctas == 1 || nstages >= 2) break;
  }
  a->nstages = nstages;
  HrpbCallCuda(cudaFuncSetAttribute(kernel, cudaFuncAttributeMaxDynamicSharedMemorySize, nstages * (int)a->stage_bytes + barriers));
  kernel<<<HrpbGrid(nwork, 1, (int64_t)device->nsm * ctas), (strips * WN + 1) * 32, nstages * a->stage_bytes + barriers, p->stream>>>(*a);
  HrpbCallCuda(cudaGetLastError());
  return HRPB_SUCCESS;
}

template <int P, bool COPIED> static HrpbError LaunchFor(const Product *p, const DeviceInfo *device, const Tiling *t, StagedArgs<HrpbScalar> *a)
{
  if (p->h->params.brick_rows == 8) {
    switch (t->nt) {
    case 1:
      return Launch<P, 8, 1, 1, COPIED, 2>(p, device, a);
    case 2:
      return Launch<P, 8, 2, 1, COPIED, 2>(p, device, a);
    case 3:
      return Launch<P, 8, 3, 1, COPIED, 2>(p, device, a);
    case 4:
      return Launch<P, 8, 4, 1, COPIED, 2>(p, device, a);
    case 5:
      return Launch<P, 8, 5, 1, COPIED, 1>(p, device, a);
    case 6:
      return Launch<P, 8, 6, 1, COPIED, 1>(p, device, a);
    case 7:
      return Launch<P, 8, 7, 1, COPIED, 1>(p, device, a);
    default:
      return Launch<P, 8, 8, 1, COPIED, 1>(p, device, a);
    }
  }
  switch (t->nt * t->wn) {
  case 1:
    return Launch<P, 16, 1, 1, COPIED, 2>(p, device, a);
  case 2:
    return Launch<P, 16, 2, 1, COPIED, 2>(p, device, a);
  case 4:
    return Launch<P, 16, 2, 2, COPIED, 1>(p, device, a);
  case 6:
    return Launch<P, 16, 3, 2, COPIED, 1>(p, device, a);
  default:
    return Launch<P, 16, 4, 2, COPIED, 1>(p, device, a);
  }
}

template <int P> static HrpbError Run(const Product *p, const DeviceInfo *device, void *work)
{
  const Tiling           t = GetTiling(p);
  StagedArgs<HrpbScalar> a;

  GetStage(p, t.nb, &a);
  a.f        = FormatOf(p->h, p->schedule, p->values);
  a.d        = DenseArgsOf(p);
  a.copy     = (const HrpbScalar *)work;
  a.nwindows = WindowsOf(p->h);
  a.ntiles   = t.ntiles;
  if (InPlace(p)) {
    HrpbCall(EncodeMap(p, t.nb, &a.map));
    return LaunchFor<P, false>(p, device, &t, &a);
  }
  CopyWindows<<<dim3(HrpbGrid((int64_t)a.nwindows * (Window<HrpbScalar>::PITCH / 16), 256), t.nb * t.ntiles < 65535 ? t.nb * t.ntiles : 65535), 256, 0, p->stream>>>(p->B, p->ldb, p->h->ncols, a.nwindows, p->N, t.nb, (HrpbScalar *)work);
  HrpbCallCuda(cudaGetLastError());
  return LaunchFor<P, true>(p, device, &t, &a);
}

HrpbError StagedRun(const Product *p, const DeviceInfo *device, void *work)
{
#if defined(HRPB_USE_SINGLE)
  return p->precision == HRPB_TF32 ? Run<HRPB_TF32>(p, device, work) : Run<HRPB_3XTF32>(p, device, work);
#else
  return Run<HRPB_FP64>(p, device, work);
#endif
}
