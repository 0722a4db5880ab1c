/*
   CSR of complex numbers times rows of B that a thread block has brought into shared memory: csr/staged.cu without the
   real matrix, in double precision. It suits rows of up to 28 entries whose columns run with the rows, as in stencils.

   A thread has a row of A, with its entries in registers for all columns of B. One more warp lets the copy engine bring
   the runs of rows of B that the panel needs, a few columns at a time, into a ring of stages, and the values of the
   next panel. An entry of the complex matrix has twice the registers that one of the real matrix has, so a panel has
   fewer rows. The bits are those of the other kernels here that add two entries at a time (copy.cuh).
*/
#include "copy.cuh"
#include "../common/shared.cuh"
#include "../common/stages.cuh"

#if !defined(HRPB_USE_SINGLE)
enum {
  PAIR = sizeof(VectorPair)
};

namespace {
/*
   ENTRIES  of a row, at most
   ROWS     of a panel, at most: registers limit them
   TILE     columns of a stage
   COLUMN   bytes of a column in a stage. It ends with a zero, which entries that are not there meet
*/
template <int ENTRIES_, int ROWS_, int TILE_, int STAGES_, int COLUMN_> struct Shape {
  static constexpr int ENTRIES = ENTRIES_, ROWS = ROWS_, TILE = TILE_, STAGES = STAGES_, COLUMN = COLUMN_;
  static constexpr int THREADS = ROWS + (int)HRPB_LANES, ROOM = COLUMN / PAIR - 1; /* rows of B */
  static constexpr int VALUES = STAGES * TILE * COLUMN; /* bytes before the values of a panel */
  static constexpr int BYTES = VALUES + ENTRIES * ROWS * PAIR;
};
typedef Shape<8, 480, 2, 3, 27904>  Short;
typedef Shape<28, 224, 2, 3, 20992> Long;
static_assert(Short::BYTES <= (int)CSR_STAGED_BYTES && Long::BYTES <= (int)CSR_STAGED_BYTES, "CsrStagedSupports() asks for so many");

struct PanelPairsArgs {
  ComplexProduct    p;      /* without the copy */
  const VectorPair *B;
  int64_t           ldb;    /* of complex numbers */
  const uint16_t   *places; /* of the rows of B that entries meet, among those of their panel */
  const uint32_t   *run_ptr;
  const CsrRun     *runs;
  int32_t           nrows, panel_rows, npanels;
};
} // namespace

/* Sums that are not finite are made again, entry by entry, as in ComplexStore() */
static __device__ __noinline__ void StoreAgain(const PanelPairsArgs &a, int64_t row, int32_t n)
{
  const HrpbInt end = a.p.rowptr[row + 1];
  VectorPair    sum = {};

  for (HrpbInt k = a.p.rowptr[row]; k < end; k++) sum = VectorFma(a.p.values[k], a.B[a.p.colidx[k] + n * a.ldb], sum);
  ComplexStoreSum(a.p, row, n, VectorOneNan(sum));
}

#if HAVE_COPY_ENGINE
static __device__ __forceinline__ VectorPair ReadPair(uint32_t address)
{
  const uint4 bits = ReadShared128(address);
  VectorPair  x;

  memcpy(&x, &bits, sizeof(x));
  return x;
}

/* The place of the values of a panel: behind the stages of B, with barriers of its own */
template <typename S> static __device__ __forceinline__ RingPlace PlaceOfValues(void)
{
  RingPlace at;

  at.stage = S::STAGES;
  return at;
}

/* Bring the values of a panel, if there is one */
template <typename S> static __device__ __forceinline__ void BringValues(const PanelPairsArgs &a, const Ring &ring, RingPlace *at, int32_t panel)
{
  if (panel >= a.npanels) return;

  const int64_t  row   = (int64_t)panel * a.panel_rows;
  const HrpbInt  begin = __ldg(a.p.rowptr + row), end = __ldg(a.p.rowptr + min(row + a.panel_rows, (int64_t)a.nrows));
  const uint32_t bytes = (uint32_t)(end - begin) * PAIR, ready = RingFull(ring, at->stage);

  RingWaitEmpty(ring, *at);
  if (IsElected()) {
    BarrierArriveExpect(ready, bytes);
    if (bytes) CopyBulk(ring.stages + S::VALUES, a.p.values + begin, bytes, ready);
  }
  __syncwarp();
  at->parity ^= 1;
}

/* The producer, a warp. A lane has a column of each tile, and some of the runs. Its first one stays in registers */
template <typename S> static __device__ __forceinline__ void ProducePairs(const PanelPairsArgs &a, const Ring &ring, uint32_t lane)
{
  constexpr int      TILE = S::TILE, STAGES = S::STAGES, COLUMN = S::COLUMN;
  constexpr uint32_t RUNS   = HRPB_LANES / TILE;
  const uint32_t     column = lane % TILE, own = lane / TILE;
  RingPlace          at, values = PlaceOfValues<S>();

  BringValues<S>(a, ring, &values, blockIdx.x);
  for (int32_t panel = blockIdx.x; panel < a.npanels; panel += gridDim.x) {
    const int32_t  soon  = min(STAGES * TILE, (a.p.N - 1) / TILE * TILE); /* nobody waits there: see below */
    const uint32_t first = __ldg(a.run_ptr + panel), nruns = __ldg(a.run_ptr + panel + 1) - first;
    const CsrRun   mine  = own < nruns ? a.runs[first + own] : CsrRun{0, 0, 0};

    for (int32_t n0 = 0; n0 < a.p.N; n0 += TILE) {
      const uint32_t to = ring.stages + (at.stage * TILE + column) * COLUMN, ready = RingFull(ring, at.stage);
      const int32_t  n    = n0 + (int32_t)column;
      const uint32_t last = n < a.p.N ? nruns : 0;
      const auto     Run  = [&](uint32_t k) { return k < RUNS ? mine : a.runs[first + k]; };
      uint32_t       rows = 0;

      RingWaitEmpty(ring, at);
      for (uint32_t k = own; k < last; k += RUNS) rows += Run(k).end - Run(k).begin;
      ArriveExpectAll(ready, rows, PAIR);
      for (uint32_t k = own; k < last; k += RUNS) {
        const CsrRun r = Run(k);

        CopyBulk(to + r.at * PAIR, a.B + n * a.ldb + r.begin, (r.end - r.begin) * PAIR, ready);
      }
      at.Next(STAGES);
      /* where this stage is the second of the panel in its place, consumers have taken the panel's values long ago */
      if (n0 == soon) BringValues<S>(a, ring, &values, panel + gridDim.x);
    }
  }
}

/* The consumers, all warps but one */
template <typename S> static __device__ __forceinline__ void ConsumePairs(const PanelPairsArgs &a, const Ring &ring)
{
  constexpr int ENTRIES = S::ENTRIES, TILE = S::TILE, COLUMN = S::COLUMN;
  const HrpbInt start   = __ldg(a.p.rowptr);
  RingPlace     at, values = PlaceOfValues<S>();

  for (int32_t panel = blockIdx.x; panel < a.npanels; panel += gridDim.x) {
    const int64_t     row    = (int64_t)panel * a.panel_rows + threadIdx.x;
    const bool        in     = (int32_t)threadIdx.x < a.panel_rows && row < a.nrows;
    const HrpbInt     begin  = in ? __ldg(a.p.rowptr + row) : start;
    const int32_t     length = in ? (int32_t)(__ldg(a.p.rowptr + row + 1) - begin) : 0, longest = __reduce_max_sync(HRPB_ALL_LANES, length);
    const uint16_t   *places = a.places + (begin - start);
    const uint32_t    mine   = ring.stages + S::VALUES + (uint32_t)(begin - __ldg(a.p.rowptr + (int64_t)panel * a.panel_rows)) * PAIR;
    const bool        stores = in && (length || a.p.C != a.p.C0); /* C is not touched where there are no entries */
    VectorPair        value[ENTRIES];
    uint32_t          place[ENTRIES / 2]; /* of two entries, in bytes */

#pragma unroll
    for (int k = 0; k < ENTRIES; k += 2) {
      const auto Place = [&](int i) { return i < length ? (uint32_t)__ldg(places + i) : (uint32_t)S::ROOM; };

      place[k / 2] = (Place(k) | Place(k + 1) << 16) * PAIR;
    }
    RingWaitFull(ring, values);
#pragma unroll
    for (int k = 0; k < ENTRIES; k++) value[k] = k < length ? ReadPair(mine + k * PAIR) : VectorPair{0, 0};
    RingLeave(ring, values);
    values.parity ^= 1;
    for (int32_t n0 = 0; n0 < a.p.N; n0 += TILE) {
      const uint32_t column    = ring.stages + at.stage * TILE * COLUMN;
      VectorPair     sum[TILE] = {};

      RingWaitFull(ring, at);
#pragma unroll
      for (int k = 0; k < ENTRIES; k += 2) {
        const uint32_t x0 = column + (place[k / 2] & 0xffff), x1 = column + (place[k / 2] >> 16);

        if (k % 4 == 0 && k >= longest) break;
#pragma unroll
        for (int c = 0; c < TILE; c++) sum[c] = ComplexAddTwo(sum[c], value + k, ReadPair(x0 + c * COLUMN), ReadPair(x1 + c * COLUMN));
      }
      RingLeave(ring, at);
      at.Next(S::STAGES);
#pragma unroll
      for (int c = 0; c < TILE; c++) {
        if (!stores || n0 + c >= a.p.N) continue;
        if (VectorIsFinite(sum[c])) ComplexStoreSum(a.p, row, n0 + c, sum[c]);
        else StoreAgain(a, row, n0 + c);
      }
    }
  }
}
#endif

template <typename S> static __global__ void __launch_bounds__(S::THREADS, 1) PanelPairs(const __grid_constant__ PanelPairsArgs a)
{
#if HAVE_COPY_ENGINE
  extern __shared__ __align__(128) uint8_t memory[];
  __shared__ __align__(8) uint64_t barriers[RING_BARRIERS / sizeof(uint64_t)];
  const Ring                       ring = RingAt(SharedAddress(memory), SharedAddress(barriers));

  for (int i = threadIdx.x; i < S::STAGES * S::TILE; i += S::THREADS) *(VectorPair *)(memory + i * S::COLUMN + S::ROOM * PAIR) = {0, 0};
  RingInit(ring, S::STAGES + 1, 1, S::ROWS / HRPB_LANES);
  if (threadIdx.x >= S::ROWS) ProducePairs<S>(a, ring, threadIdx.x - S::ROWS);
  else ConsumePairs<S>(a, ring);
#else
  __trap(); /* there are no panels: CsrStagedSupports() */
#endif
}

template <typename S> static HrpbError Launch(const PanelPairsArgs &a, cudaStream_t stream)
{
  const SpmmDevice *device;

  HrpbCall(SpmmGetDevice(&device));
  return LaunchRing(PanelPairs<S>, RingGrid(device, a.npanels, 1), S::THREADS, S::BYTES, stream, a);
}

static HrpbError Run(const SpmmMatrix *A, const SpmmOperands *o, void *, HrpbStream stream)
{
  const VectorPlan    *v      = A->vector;
  const int32_t        panels = v->panel_rows ? (v->nrows + v->panel_rows - 1) / v->panel_rows : 0;
  const PanelPairsArgs a      = {ComplexProductOf(A, o, NULL, 0, false), (const VectorPair *)o->X.array, o->X.ld / 2,
    (const uint16_t *)v->places_of_panels, (const uint32_t *)v->run_ptr, (const CsrRun *)v->runs, v->nrows, v->panel_rows, panels};

  if (!PairsTake(NULL, NULL, o, NULL) || !v->panel_rows) return HRPB_ERR_UNSUPPORTED;
  return v->panel_entries <= Short::ENTRIES ? Launch<Short>(a, stream) : Launch<Long>(a, stream);
}

SPMM_KERNEL(ComplexCsrPanels) = {
  .name   = "csr-staged-complex",
  .what   = "CSR of complex numbers times rows of B in shared memory: for rows of up to 28 entries whose columns run with them",
  .op     = SPMM_OP_PRODUCT,
  .format = SPMM_CSR,
  .takes  = PairsTake,
  .run    = Run
};
#endif

HrpbError ComplexPanelsDevice(int64_t longest, const HrpbInt *rowptr, const HrpbInt *colidx, int32_t panel_rows, cudaStream_t stream, VectorPlan *v)
{
#if !defined(HRPB_USE_SINGLE)
  const bool  few = longest <= Short::ENTRIES;
  CsrSchedule s   = {};

  s.nrows   = v->nrows;
  s.ncols   = v->ncols;
  s.nnz     = v->nnz;
  s.longest = longest;
  if (longest > Long::ENTRIES) return HRPB_SUCCESS;
  HrpbCall(CsrPanelsForPairsDevice(rowptr, colidx, panel_rows, few ? Short::ROWS : Long::ROWS, few ? Short::ROOM : Long::ROOM, stream, &s));
  v->panel_rows       = s.panel_rows;
  v->panel_entries    = (int32_t)longest;
  v->run_ptr          = s.run_ptr;
  v->runs             = s.runs;
  v->places_of_panels = s.places;
  v->bytes += s.bytes;
#endif
  return HRPB_SUCCESS;
}
