/*
   Bricks of 16 rows times B without tensor cores, to know what these bring: the same format and the same way of the data as in kernels/bricks/staged.cu, but scalar cores multiply, and only entries.

   Thread blocks are persistent; producer warps keep a ring of stages filled with packed blocks and with the rows of B that these need, each warp all rows of a column before the next one. The other warps have a strip of
   16 rows each: a lane has a column of B, or two, and their sums of 16 rows in registers. A brick is decoded by the lanes together, as for a tensor core, but into shared memory, where each lane reads the rows that
   have entries: with its empty slots a row of a brick has a place that is known, so that no load waits for the number of entries before it. With few columns lanes have a half or a quarter of the rows, so that none is idle.
   Panels are not cut.
*/
#pragma once

#include <algorithm>

#include "common/copy.cuh"
#include "bricks/product.cuh"

enum {
  SCALAR_STRIPS   = 8, /* of a panel, at most */
  SCALAR_STAGES   = 8, /* at most */
  SCALAR_ALIGN    = 128,
  SCALAR_CHUNK    = 16 / (int)sizeof(HrpbScalar), /* rows of B in 16 bytes */
  SCALAR_BRICK    = (int)HRPB_MAX_BRICK_ROWS * (int)HRPB_BRICK_COLS * (int)sizeof(HrpbScalar), /* bytes of a brick with its empty slots, */
  SCALAR_BARRIERS = 16 * SCALAR_STAGES, /* of the barriers, */
  SCALAR_PITCH    = ((int)HRPB_STAGED_COLS + (int)SCALAR_CHUNK) * (int)sizeof(HrpbScalar) /* and from a column of a stage to the next: a chunk more than it has rows, so that those of eight columns lie in different banks */
};

struct ScalarArgs {
  Format<HrpbScalar>    f;
  DenseArgs<HrpbScalar> d;
  int32_t               ncols; /* of the matrix */
  int32_t               ntiles, nstages;
  bool                  chunks; /* C lets 16 bytes of a column be stored at once */
  uint32_t              values_at, pattern_at, stage_bytes;
};

/* The blocks that a thread block multiplies, one after the other. The panel after the one at hand is read before it is needed */
template <int NB> struct ScalarWalk {
  const ScalarArgs &a;
  const int64_t     nwork;
  int64_t           work;
  uint32_t          block, end;
  WorkItem          next;

  __device__ __forceinline__ explicit ScalarWalk(const ScalarArgs &args) : a(args), nwork((int64_t)args.f.nitems * args.ntiles), work((int64_t)blockIdx.x - gridDim.x), block(0), end(0), next(ItemOf(blockIdx.x)) { Open(); }
  __device__ __forceinline__ bool    Left(void) const { return work < nwork; }
  __device__ __forceinline__ int32_t FirstColumn(void) const { return (int32_t)(work % a.ntiles) * NB; }
  __device__ __forceinline__ void    Next(void)
  {
    if (++block == end) Open();
  }

private:
  __device__ __forceinline__ WorkItem ItemOf(int64_t w) const { return w < nwork ? GetItem(a.f, w / a.ntiles) : WorkItem{}; }
  __device__ __forceinline__ void     Open(void) /* the next panel that has blocks */
  {
    do {
      work += gridDim.x;
      block = next.begin;
      end   = next.end;
      next  = ItemOf(work + gridDim.x);
    } while (Left() && block == end);
  }
};

struct ScalarRange {
  uint32_t begin, end;
};

/* Where a block's runs and windows are, and the first column of its tile */
struct ScalarPlace {
  ScalarRange pattern, value, window;
  int32_t     n0; /* -1: there is no block */
};

template <int NB> __device__ __forceinline__ ScalarPlace PlaceAndNext(ScalarWalk<NB> &walk)
{
  const auto  range = [&](const uint32_t *ptr) { return ScalarRange{ptr[walk.block], ptr[walk.block + 1]}; };
  ScalarPlace p     = {{}, {}, {}, -1};

  if (!walk.Left()) return p;
  p = {range(walk.a.f.pattern_ptr), range(walk.a.f.value_ptr), range(walk.a.f.window_ptr), walk.FirstColumn()};
  walk.Next();
  return p;
}

/*
   A producer warp. Where the runs of a block are is read two blocks ahead, and which rows of B it needs one block ahead.

   NB    columns of the tile
   V     rows of B that are copied together: a chunk, or one where B is not aligned; windows consist of whole chunks
   NR    warps that copy rows of B, this one being number warp of them, or 0 if it does not
   RUNS  whether it brings the packed blocks
*/
template <int NB, int V, int NR, bool RUNS> __device__ __forceinline__ void ScalarProduce(const ScalarArgs &a, uint32_t shared, uint32_t full, uint32_t empty, uint32_t warp, uint32_t lane)
{
  constexpr int32_t         SIZE = sizeof(HrpbScalar), EACH = HRPB_STAGED_COLS / V / 32, STEP = NR ? NR : 1; /* chunks of a column that a lane copies, and columns to the warp's next */
  const Format<HrpbScalar> &f     = a.f;
  const int32_t             first = (int32_t)warp; /* column of the tile */
  ScalarWalk<NB>            walk(a);
  int32_t                   row[EACH]; /* of B, -1 for none */
  uint32_t                  stage = 0, parity = 0;

  const auto FindRows = [&](const ScalarPlace &p, int32_t (&found)[EACH]) {
#pragma unroll
    for (int j = 0; j < (NR ? EACH : 0); j++) {
      const uint32_t at = (lane + 32 * j) * V, window = p.window.begin + (at >> f.window_shift);

      found[j] = window < p.window.end ? (f.windows[window] << f.window_shift) + (int32_t)(at & ((1u << f.window_shift) - 1)) : -1;
    }
  };
  ScalarPlace now = PlaceAndNext(walk), next = PlaceAndNext(walk);

  FindRows(now, row);
  while (now.n0 >= 0) {
    const uint32_t    base = shared + stage * a.stage_bytes, ready = full + 8 * stage;
    const int32_t     columns = min(NB, a.d.N - now.n0);
    const ScalarPlace later   = PlaceAndNext(walk);
    int32_t           next_row[EACH];

    FindRows(next, next_row);
    BarrierWait(empty + 8 * stage, parity ^ 1);
    if (RUNS) CopyRuns(base + a.pattern_at, f.pattern + (size_t)now.pattern.begin * HRPB_PATTERN_UNIT, (now.pattern.end - now.pattern.begin) * HRPB_PATTERN_UNIT, base + a.values_at, (const uint8_t *)(f.values + (size_t)now.value.begin * HRPB_VALUE_UNIT), (now.value.end - now.value.begin) * (HRPB_VALUE_UNIT * SIZE), ready, lane);
#pragma unroll
    for (int j = 0; j < (NR ? EACH : 0); j++) {
      const int32_t     rows = min(V, a.ncols - row[j]); /* fewer where the window reaches beyond the last row of B */
      const HrpbScalar *from = a.d.B + row[j] + (now.n0 + first) * a.d.ldb;
      uint32_t          to   = base + first * SCALAR_PITCH + (lane + 32 * j) * (V * SIZE);

      if (row[j] < 0) continue;
      if (rows == V) {
#pragma unroll 8
        for (int32_t c = first; c < columns; c += STEP, from += STEP * a.d.ldb, to += STEP * SCALAR_PITCH) CopyAsync<V * SIZE>(to, from);
      } else {
#pragma unroll 1
        for (int32_t c = first; c < columns; c += STEP, from += STEP * a.d.ldb, to += STEP * SCALAR_PITCH) {
#pragma unroll 1
          for (int32_t v = 0; v < rows; v++) CopyAsync<SIZE>(to + v * SIZE, from + v);
        }
      }
    }
    BarrierArriveAfterCopies(ready);
    NextStage(a.nstages, stage, parity);
    now  = next;
    next = later;
#pragma unroll
    for (int j = 0; j < EACH; j++) row[j] = next_row[j];
  }
}

/*
   Rows of B of the four slots of a brick, of the lane's columns. Lanes whose columns are eight apart would meet in a bank if they read the same row, for a row has the same place in the chunks of all columns. So they read
   the slots in different orders, s ^ turn, and put them right again: where columns of a matrix run, the rows that are read together have different places
*/
template <int W, int NC> __device__ __forceinline__ void ReadRows(const uint8_t *x, uint32_t columns, uint32_t turn, HrpbScalar (&b)[NC][HRPB_BRICK_COLS])
{
  const uint32_t in_turn = __byte_perm(columns, 0, 0x3210 ^ turn * 0x1111);

#pragma unroll
  for (int c = 0; c < NC; c++) {
#pragma unroll
    for (int s = 0; s < HRPB_BRICK_COLS; s++) b[c][s] = *(const HrpbScalar *)(x + c * W * SCALAR_PITCH + (in_turn >> 8 * s & 255) * sizeof(HrpbScalar));
#pragma unroll
    for (int bit = 1; bit < SCALAR_CHUNK && 8 * bit < W; bit *= 2) {
#pragma unroll
      for (int s = 0; s < HRPB_BRICK_COLS; s++) {
        const HrpbScalar low = b[c][s & ~bit], high = b[c][s | bit];

        if (s & bit) continue;
        b[c][s]       = turn & bit ? high : low;
        b[c][s | bit] = turn & bit ? low : high;
      }
    }
  }
}

/* A row of a brick */
struct alignas(16) ScalarRow {
  HrpbScalar slots[HRPB_BRICK_COLS];
};

/* Entries alone, in their order: ROWS rows, the first one's bits the lowest */
template <int ROWS, int NC> __device__ __forceinline__ void MultiplyEntries(uint64_t bits, const ScalarRow *rows, const HrpbScalar (&b)[NC][HRPB_BRICK_COLS], HrpbScalar (&sum)[NC][ROWS])
{
#pragma unroll
  for (int r = 0; r < ROWS; r++) {
    const uint32_t entries = (uint32_t)(bits >> HRPB_BRICK_COLS * r) & 15;

    if (!entries) continue;
    const ScalarRow row = rows[r];

#pragma unroll
    for (int s = 0; s < HRPB_BRICK_COLS; s++) {
#pragma unroll
      for (int c = 0; c < NC; c++) {
        if (entries >> s & 1) sum[c][r] = fma(row.slots[s], b[c][s], sum[c][r]);
      }
    }
  }
}

/* What is the same for all lanes of a warp, so that the compiler knows */
static __device__ __forceinline__ uint32_t SameInWarp(uint32_t x)
{
  return __shfl_sync(HRPB_ALL_LANES, x, 0);
}

/* ROWS sums of a column, its neighbours having those of theirs: the lanes exchange chunks, so that neighbours store what lies together. row: the first one's in the panel; n0: column of C of the first lane */
template <int W, int ROWS> __device__ __forceinline__ void StoreColumn(const ScalarArgs &a, int32_t panel, int32_t row, int32_t n0, uint32_t lane, const HrpbScalar (&sum)[ROWS])
{
  constexpr int LANES = ROWS / SCALAR_CHUNK; /* that exchange, and chunks of each */
  struct alignas(16) Chunk {
    HrpbScalar x[SCALAR_CHUNK];
  };
  Chunk   chunk[LANES];
  int32_t rows[SCALAR_CHUNK];

#pragma unroll
  for (int i = 0; i < ROWS; i++) chunk[i / SCALAR_CHUNK].x[i % SCALAR_CHUNK] = sum[i];
#pragma unroll
  for (int distance = LANES / 2; distance > 0; distance /= 2) {
    const bool upper = lane & distance;

#pragma unroll
    for (int i = 0; i < LANES; i++) {
      if (i & distance) continue;
#pragma unroll
      for (int v = 0; v < SCALAR_CHUNK; v++) {
        HrpbScalar      &low = chunk[i].x[v], &high = chunk[i | distance].x[v];
        const HrpbScalar other = __shfl_xor_sync(HRPB_ALL_LANES, upper ? low : high, distance);

        if (upper) low = other;
        else high = other;
      }
    }
  }
#pragma unroll
  for (int v = 0; v < SCALAR_CHUNK; v++) rows[v] = MatrixRow(a.f, panel, row + (int32_t)(lane % LANES) * SCALAR_CHUNK + v);
#pragma unroll
  for (int i = 0; i < LANES; i++) {
    const int32_t n = n0 + (int32_t)(lane % W / LANES * LANES) + i;
    HrpbScalar   *c = a.d.C + n * a.d.ldc;

    if (n >= a.d.N) continue;
    if (a.chunks && rows[SCALAR_CHUNK - 1] >= 0) *(Chunk *)(c + rows[0]) = chunk[i];
    else {
#pragma unroll
      for (int v = 0; v < SCALAR_CHUNK; v++) {
        if (rows[v] >= 0) c[rows[v]] = chunk[i].x[v];
      }
    }
  }
}

/*
   W     columns side by side in a warp: 32, or fewer, and then each lane has fewer rows
   NC    columns of a lane, W apart
   WN    warps side by side along the columns of B
   V     see ScalarProduce()
   CTAS  thread blocks on a multiprocessor: the more, the fewer of their warps bring data
*/
template <int W, int NC, int WN, int V, int CTAS> __global__ void __launch_bounds__((SCALAR_STRIPS * WN + 4 - CTAS) * 32, CTAS) ScalarBricks(const __grid_constant__ ScalarArgs a)
{
  constexpr int NP = 4 - CTAS, NB = W * NC * WN, ROWS = HRPB_MAX_BRICK_ROWS * W / 32;
  extern __shared__ __align__(SCALAR_ALIGN) uint8_t scalar_shared[];
  const Format<HrpbScalar> &f    = a.f;
  const uint32_t            warp = threadIdx.x / 32, lane = threadIdx.x % 32, nconsumers = blockDim.x / 32 - NP;
  const uint32_t            full = SharedAddress(scalar_shared) + a.nstages * a.stage_bytes, empty = full + 8 * SCALAR_STAGES;
  const int64_t             nwork = (int64_t)f.nitems * a.ntiles;
  uint32_t                  stage = 0, parity = 0;

  if (threadIdx.x == 0) {
    for (int s = 0; s < a.nstages; s++) {
      BarrierInit(full + 8 * s, 32 * NP + RUN_ARRIVALS);
      BarrierInit(empty + 8 * s, 32 * nconsumers);
    }
    BarrierInitFence();
  }
  __syncthreads();
  if (warp >= nconsumers) {
    if (NP == 1) ScalarProduce<NB, V, 1, true>(a, SharedAddress(scalar_shared), full, empty, 0, lane);
    else if (warp == nconsumers) ScalarProduce<NB, V, 0, true>(a, SharedAddress(scalar_shared), full, empty, 0, lane);
    else ScalarProduce<NB, V, NP == 1 ? 1 : NP - 1, false>(a, SharedAddress(scalar_shared), full, empty, warp - nconsumers - 1, lane);
    return;
  }

  const uint32_t strip = warp / WN, n_warp = warp % WN * (W * NC), part = lane / W, column = lane % W, turn = column / 8 % SCALAR_CHUNK;
  HrpbScalar    *decoded = (HrpbScalar *)(scalar_shared + a.nstages * a.stage_bytes + SCALAR_BARRIERS + warp * SCALAR_BRICK);

  for (int64_t w = blockIdx.x; w < nwork; w += gridDim.x) {
    const WorkItem item = GetItem(f, w / a.ntiles);
    HrpbScalar     sum[NC][ROWS] = {};

    for (uint32_t block = item.begin; block < item.end; block++) {
      const uint8_t *base = scalar_shared + stage * a.stage_bytes;

      BarrierWait(full + 8 * stage, parity);
      const PackedBlock p(base + a.pattern_at, f.strips);
      const uint32_t    values = SharedAddress(base + a.values_at), last = p.strip_start[strip + 1];

#pragma unroll 1
      for (uint32_t i = p.strip_start[strip]; i < last; i++) {
        const PackedBrick brick   = p.brick[i];
        const uint64_t    pattern = SameInWarp(brick.Pattern(0)) | (uint64_t)SameInWarp(brick.Pattern(1)) << 32;
        HrpbScalar        slots[2], b[NC][HRPB_BRICK_COLS];

        brick.Decode<HRPB_MAX_BRICK_ROWS>(true, values, lane, slots);
        ReadRows<W>(base + (n_warp + column) * SCALAR_PITCH, brick.Columns(), turn, b);
        __syncwarp(); /* the brick before has been read */
        decoded[lane]      = slots[0];
        decoded[lane + 32] = slots[1];
        __syncwarp();
        MultiplyEntries(pattern >> HRPB_BRICK_COLS * ROWS * part, (const ScalarRow *)decoded + ROWS * part, b, sum);
      }
      BarrierArrive(empty + 8 * stage);
      NextStage(a.nstages, stage, parity);
    }
#pragma unroll
    for (int c = 0; c < NC; c++) StoreColumn<W>(a, item.panel, strip * HRPB_MAX_BRICK_ROWS + part * ROWS, (int32_t)(w % a.ntiles) * NB + n_warp + c * W, lane, sum[c]);
  }
}

/* Columns of a tile, thread blocks of a multiprocessor, and what the stages of each take */
typedef struct {
  int columns, ctas, nstages;
} ScalarTiling;

/* Warps that multiply, at most */
static int ScalarWarps(int columns)
{
  return SCALAR_STRIPS * (columns > 64 ? 2 : 1);
}

static ScalarTiling ScalarTilingOf(const Hrpb *h, const DeviceInfo *device, int columns, ScalarArgs *a)
{
  ScalarTiling t = {columns, columns <= 32 ? 3 : columns <= 64 ? 2 : 1, 0};

  a->values_at   = (uint32_t)(SCALAR_PITCH * columns);
  a->pattern_at  = a->values_at + (h->max_values * HRPB_VALUE_UNIT * (uint32_t)sizeof(HrpbScalar) + 15) / 16 * 16;
  a->stage_bytes = (a->pattern_at + h->max_pattern * HRPB_PATTERN_UNIT + SCALAR_ALIGN - 1) / SCALAR_ALIGN * SCALAR_ALIGN;
  for (;; t.ctas--) {
    const int room = std::min(device->shared_sm / t.ctas - device->shared_own, device->shared_cta) - SCALAR_BARRIERS - ScalarWarps(columns) * SCALAR_BRICK;

    t.nstages = std::min(room / (int)a->stage_bytes, (int)SCALAR_STAGES);
    if (t.ctas == 1 || t.nstages >= 2) return t;
  }
}

template <int W, int NC, int WN, int V, int CTAS> static HrpbError ScalarLaunch(const ScalarTiling *t, const DeviceInfo *device, const ScalarArgs *a, cudaStream_t stream)
{
  const auto kernel = ScalarBricks<W, NC, WN, V, CTAS>;
  const int  bytes  = t->nstages * (int)a->stage_bytes + SCALAR_BARRIERS + ScalarWarps(t->columns) * SCALAR_BRICK;

  HrpbCallCuda(cudaFuncSetAttribute(kernel, cudaFuncAttributeMaxDynamicSharedMemorySize, bytes));
  kernel<<<HrpbGrid((int64_t)a->f.nitems * a->ntiles, 1, (int64_t)device->nsm * t->ctas), (a->f.strips * WN + 4 - CTAS) * 32, bytes, stream>>>(*a);
  HrpbCallCuda(cudaGetLastError());
  return HRPB_SUCCESS;
}

template <int V> static HrpbError ScalarLaunchFor(const ScalarTiling *t, const DeviceInfo *device, const ScalarArgs *a, cudaStream_t stream)
{
  switch (t->columns) {
  case 8:
    return ScalarLaunch<8, 1, 1, V, 3>(t, device, a, stream);
  case 16:
    return ScalarLaunch<16, 1, 1, V, 3>(t, device, a, stream);
  case 32:
    return ScalarLaunch<32, 1, 1, V, 3>(t, device, a, stream);
  case 64:
    return ScalarLaunch<32, 2, 1, V, 2>(t, device, a, stream);
  default:
    return ScalarLaunch<32, 2, 2, V, 1>(t, device, a, stream);
  }
}

/*
   HrpbMultiplyDevice() without tensor cores, for formats of bricks of 16 rows that the staged kernel takes; HRPB_ERR_UNSUPPORTED for others. Needs no work space. The entries of a row are added in the order of the CSR, with
   fused multiply-add. The width of the tiles is chosen as in the staged kernel: up to 128 columns, but half of that where stages are few or panels short
*/
static HrpbError ScalarBricksMultiply(const Hrpb *h, const HrpbScalar *values, int64_t N, const HrpbScalar *B, int64_t ldb, HrpbScalar *C, int64_t ldc, cudaStream_t stream)
{
  const HrpbSchedule whole   = {h->npanels, 0, 0, NULL, NULL};
  const HrpbParams  *params  = &h->params;
  const bool         aligned = ((uintptr_t)B | ldb * sizeof(HrpbScalar)) % 16 == 0;
  int                columns = 8;
  const DeviceInfo  *device;
  ScalarTiling       t;
  ScalarArgs         a;

  HrpbCall(GetDeviceInfo(&device));
  if (params->brick_rows != HRPB_MAX_BRICK_ROWS || params->panel_rows / params->brick_rows > SCALAR_STRIPS || params->block_cols > HRPB_STAGED_COLS || params->window_cols % SCALAR_CHUNK) return HRPB_ERR_UNSUPPORTED;
  if (N > HRPB_MAX_COLUMNS) return HRPB_ERR_OVERFLOW;
  if (N == 0 || h->nrows == 0) return HRPB_SUCCESS;
  while (columns < N && columns < 128) columns *= 2;
  t = ScalarTilingOf(h, device, columns, &a);
  if (columns == 128 && (t.nstages <= 2 || h->nblocks < (int64_t)StagedShortPanel(h->params.brick_rows) * h->npanels)) t = ScalarTilingOf(h, device, 64, &a);
  while (t.nstages < 2 && t.columns > 8) t = ScalarTilingOf(h, device, t.columns / 2, &a);
  if (t.nstages < 1) return HRPB_ERR_UNSUPPORTED;
  a.f       = FormatOf(h, &whole, values);
  a.d       = {B, C, ldb, ldc, (int32_t)N, false, NULL, 0};
  a.ncols   = h->ncols;
  a.ntiles  = (int32_t)((N + t.columns - 1) / t.columns);
  a.nstages = t.nstages;
  a.chunks  = !h->order && ((uintptr_t)C | ldc * sizeof(HrpbScalar)) % 16 == 0;
  return aligned ? ScalarLaunchFor<SCALAR_CHUNK>(&t, device, &a, stream) : ScalarLaunchFor<1>(&t, device, &a, stream);
}
