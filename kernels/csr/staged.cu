/*
   CSR times rows of B that a thread block has brought into shared memory. It suits rows of one or two dozen entries
   whose columns run with the rows, as in a 27-point stencil: there an entry of B is wanted many times.

   A thread has a row of A, with its entries in registers for all columns of B. One more warp lets the copy engine bring
   the runs of rows of B that the panel needs, a few columns at a time. The others multiply the columns before. What
   limits the kernel is shared memory, which gives a warp 128 bytes a cycle, and behind that L2. It needs Hopper or
   later.
*/
#include <math.h>

#include "csr.cuh"
#include "../common/shared.cuh"
#include "../common/stages.cuh"

enum {
  THREADS = CSR_PANEL_ROWS + (int)HRPB_LANES,
  GRAIN   = 16 / sizeof(HrpbScalar) /* scalars that the copy engine takes together */
};

/*
   Bytes of a column in shared memory that most matrices can do with, for four, three and two stages, and the most there
   can be. The compiler knows them, so that an entry has one address for all columns. All but the last leave a part of a
   multiprocessor's memory to L1, through which entries come. This is worth more than a third stage.

   A column ends with 32 bytes of zeros. An entry that is not there meets one of them, whatever Shift() adds to its
   place.
*/
enum {
  COLUMN_OF_FOUR  = 8320,
  COLUMN_OF_THREE = 11136,
  COLUMN_OF_TWO   = 16640,
  COLUMN_AT_MOST  = CSR_STAGED_BYTES / 2 / CSR_STAGED_COLUMNS,
  ZERO_BYTES      = CSR_STAGED_ZEROS * sizeof(HrpbScalar)
};

namespace {
struct StagedArgs {
  const HrpbInt    *rowptr, *colidx;
  const HrpbScalar *values, *B;
  const uint32_t   *run_ptr;
  const CsrRun     *runs;
  const uint16_t   *places; /* place of the row of B that an entry meets, among those of its panel */
  HrpbScalar       *C;
  int64_t           ldb, ldc;
  int32_t           nrows, ncols, npanels, panel_rows, N;
};
} // namespace

#if HAVE_COPY_ENGINE
/* Scalars before the first one of column n in its 16 bytes: they come with it */
static __device__ __forceinline__ uint32_t Shift(const StagedArgs &a, int32_t n)
{
  return ((uint32_t)((uintptr_t)a.B / sizeof(HrpbScalar)) + (uint32_t)n * (uint32_t)a.ldb) % GRAIN;
}

/* Whether the last 16 bytes of a run of column n may reach behind B. What lies there may be no memory */
static __device__ __forceinline__ bool EndsB(const StagedArgs &a, const CsrRun &r, int32_t n)
{
  return (a.N - 1 - n) * a.ldb + a.ncols - r.end < GRAIN - 1;
}

/*
   Scalars of a run of column n that the copy engine brings. The others in its first and last 16 bytes come, too. They
   belong to other rows or columns of B, or, before the first entry of B, to what B is aligned within
*/
static __device__ __forceinline__ uint32_t BulkScalars(const StagedArgs &a, const CsrRun &r, int32_t n)
{
  const uint32_t all = r.end - r.begin + Shift(a, n);

  return (EndsB(a, r, n) ? all : all + GRAIN - 1) / GRAIN * GRAIN;
}

/* Copy what the copy engine does not bring of a run of column n. The address is that of the run's column */
static __device__ __forceinline__ void CopyRest(const StagedArgs &a, const CsrRun &r, int32_t n, uint32_t to)
{
  const int32_t     shift = (int32_t)Shift(a, n);
  const HrpbScalar *b     = a.B + n * a.ldb;

  for (int32_t k = max((int32_t)BulkScalars(a, r, n), shift); k < r.end - r.begin + shift; k++) WriteShared(to + (r.at + k) * (uint32_t)sizeof(HrpbScalar), __ldg(b + r.begin + k - shift));
  CopyBulkFence(); /* the stage is the engine's again */
}

/*
   The producer, a warp. A lane has a column of each tile, and every eighth run. Its first run stays in registers for
   all tiles
*/
template <uint32_t STAGES, uint32_t COLUMN_BYTES> static __device__ __forceinline__ void Produce(const StagedArgs &a, const Ring &ring, uint32_t lane)
{
  constexpr uint32_t RUNS   = HRPB_LANES / CSR_STAGED_COLUMNS;
  const uint32_t     column = lane % CSR_STAGED_COLUMNS, own = lane / CSR_STAGED_COLUMNS;
  RingPlace          at;

  for (int32_t panel = blockIdx.x; panel < a.npanels; panel += gridDim.x) {
    const uint32_t first = __ldg(a.run_ptr + panel), nruns = __ldg(a.run_ptr + panel + 1) - first;
    const CsrRun   mine  = own < nruns ? a.runs[first + own] : CsrRun{0, 0, 0};

    for (int32_t n0 = 0; n0 < a.N; n0 += CSR_STAGED_COLUMNS) {
      const uint32_t to = ring.stages + (at.stage * CSR_STAGED_COLUMNS + column) * COLUMN_BYTES, ready = RingFull(ring, at.stage);
      const int32_t  n       = n0 + (int32_t)column;
      const uint32_t last    = n < a.N ? nruns : 0;
      uint32_t       scalars = 0;

      RingWaitEmpty(ring, at);
      for (uint32_t k = own; k < last; k += RUNS) {
        const CsrRun r = k < RUNS ? mine : a.runs[first + k];

        scalars += BulkScalars(a, r, n);
        if (EndsB(a, r, n)) CopyRest(a, r, n, to);
      }
      ArriveExpectAll(ready, scalars, sizeof(HrpbScalar), lane);
      for (uint32_t k = own; k < last; k += RUNS) {
        const CsrRun   r     = k < RUNS ? mine : a.runs[first + k];
        const uint32_t bytes = BulkScalars(a, r, n) * (uint32_t)sizeof(HrpbScalar);

        if (bytes) CopyBulk(to + r.at * (uint32_t)sizeof(HrpbScalar), a.B + n * a.ldb + r.begin - Shift(a, n), bytes, ready);
      }
      at.Next(STAGES);
    }
  }
}

/*
   Compute again the columns of a tile from n0 on, of a row whose sums are not all finite: a chunk may have overflowed
*/
static __device__ __noinline__ void MultiplyAgain(const StagedArgs &a, int32_t row, HrpbInt begin, int32_t length, int32_t n0)
{
  for (int32_t n = n0; n < min(n0 + CSR_STAGED_COLUMNS, a.N); n++) {
    HrpbScalar *c = a.C + row + n * a.ldc;

    if (!isfinite(*c)) *c = CsrInOneGo(a.colidx + begin, a.values + begin, length, a.B + n * a.ldb, 1);
  }
}

/*
   The consumers, all other warps. Column c of a tile begins where column c % SHIFTS does within 16 bytes. Tiles have a
   multiple of GRAIN columns, so this is the same in all of them
*/
template <int SHIFTS, uint32_t STAGES, uint32_t COLUMN_BYTES> static __device__ __forceinline__ void Consume(const StagedArgs &a, const Ring &ring)
{
  const HrpbInt start = __ldg(a.rowptr);
  RingPlace     at;
  uint32_t      first_scalar[SHIFTS];

#pragma unroll
  for (int c = 0; c < SHIFTS; c++) first_scalar[c] = ring.stages + Shift(a, c) * (uint32_t)sizeof(HrpbScalar);
  for (int32_t panel = blockIdx.x; panel < a.npanels; panel += gridDim.x) {
    const int32_t     row    = panel * a.panel_rows + threadIdx.x;
    const bool        in     = (int32_t)threadIdx.x < a.panel_rows && row < a.nrows;
    const HrpbInt     begin  = in ? __ldg(a.rowptr + row) : start;
    const int32_t     length = in ? (int32_t)(__ldg(a.rowptr + row + 1) - begin) : 0, longest = __reduce_max_sync(HRPB_ALL_LANES, length);
    const uint16_t   *places = a.places + (begin - start);
    const HrpbScalar *values = a.values + begin;
    HrpbScalar        value[CSR_STAGED_ENTRIES];
    uint32_t          place[CSR_STAGED_ENTRIES]; /* then in bytes */

    asm("" : "+l"(places), "+l"(values)); /* or the compiler computes each address by itself */
#pragma unroll
    for (int k = 0; k < CSR_STAGED_ENTRIES; k++) {
      place[k] = k < length ? __ldg(places + k) : (COLUMN_BYTES - ZERO_BYTES) / (uint32_t)sizeof(HrpbScalar);
      value[k] = k < length ? __ldg(values + k) : 0;
    }
#pragma unroll
    for (int k = 0; k < CSR_STAGED_ENTRIES; k++) place[k] *= (uint32_t)sizeof(HrpbScalar);
    for (int32_t n0 = 0; n0 < a.N; n0 += CSR_STAGED_COLUMNS) {
      uint32_t   column[SHIFTS];
      HrpbScalar sum[CSR_STAGED_COLUMNS] = {};
      bool       finite = true;

#pragma unroll
      for (int c = 0; c < SHIFTS; c++) column[c] = first_scalar[c] + at.stage * CSR_STAGED_COLUMNS * COLUMN_BYTES;
      RingWaitFull(ring, at);
#pragma unroll
      for (int first = 0; first < CSR_STAGED_ENTRIES; first += CSR_CHUNK) {
        HrpbScalar part[CSR_STAGED_COLUMNS] = {};

        if (first >= longest) break;
#pragma unroll
        for (int k = first; k < first + CSR_CHUNK && k < CSR_STAGED_ENTRIES; k++) {
#pragma unroll
          for (int c = 0; c < CSR_STAGED_COLUMNS; c++) part[c] = fma(value[k], ReadShared(column[c % SHIFTS] + place[k] + c * COLUMN_BYTES), part[c]);
        }
#pragma unroll
        for (int c = 0; c < CSR_STAGED_COLUMNS; c++) sum[c] += part[c];
      }
      RingLeave(ring, at);
      at.Next(STAGES);
      if (!in) continue;
#pragma unroll
      for (int c = 0; c < CSR_STAGED_COLUMNS; c++) {
        if (n0 + c < a.N) {
          a.C[row + (n0 + c) * a.ldc] = sum[c];
          finite = finite && isfinite(sum[c]);
        }
      }
      if (!finite) MultiplyAgain(a, row, begin, length, n0);
    }
  }
}
#endif

template <int SHIFTS, uint32_t STAGES, uint32_t COLUMN_BYTES> static __global__ void __launch_bounds__(THREADS, 1) CsrStaged(const __grid_constant__ StagedArgs a)
{
#if HAVE_COPY_ENGINE
  extern __shared__ __align__(128) uint8_t memory[];
  __shared__ __align__(8) uint64_t barriers[RING_BARRIERS / sizeof(uint64_t)];
  const Ring                       ring = RingAt(SharedAddress(memory), SharedAddress(barriers));

  for (uint32_t i = threadIdx.x; i < STAGES * CSR_STAGED_COLUMNS * CSR_STAGED_ZEROS; i += THREADS) WriteShared(ring.stages + (i / CSR_STAGED_ZEROS + 1) * COLUMN_BYTES - ZERO_BYTES + i % CSR_STAGED_ZEROS * (uint32_t)sizeof(HrpbScalar), 0);
  RingInit(ring, STAGES, 1, CSR_PANEL_ROWS / HRPB_LANES);
  if (threadIdx.x >= CSR_PANEL_ROWS) Produce<STAGES, COLUMN_BYTES>(a, ring, threadIdx.x - CSR_PANEL_ROWS);
  else Consume<SHIFTS, STAGES, COLUMN_BYTES>(a, ring);
#else
  __trap(); /* CsrStagedSupports() */
#endif
}

HrpbError CsrStagedSupports(bool *supports)
{
  const SpmmDevice *device;

  *supports = false;
  HrpbCall(SpmmGetDevice(&device));
  *supports = device->code >= 90 && RoomForStages(device, 1) >= CSR_STAGED_BYTES;
  return HRPB_SUCCESS;
}

template <int SHIFTS, uint32_t STAGES, uint32_t COLUMN_BYTES> static HrpbError Launch(const StagedArgs &a, cudaStream_t stream)
{
  const SpmmDevice *device;

  HrpbCall(SpmmGetDevice(&device));
  return LaunchRing(CsrStaged<SHIFTS, STAGES, COLUMN_BYTES>, device, a.npanels, 1, THREADS, STAGES * CSR_STAGED_COLUMNS * COLUMN_BYTES, stream, a);
}

template <int SHIFTS> static HrpbError LaunchStages(const StagedArgs &a, size_t column_bytes, cudaStream_t stream)
{
  if (column_bytes <= COLUMN_OF_FOUR) return Launch<SHIFTS, 4, COLUMN_OF_FOUR>(a, stream);
  if (column_bytes <= COLUMN_OF_THREE) return Launch<SHIFTS, 3, COLUMN_OF_THREE>(a, stream);
  if (column_bytes <= COLUMN_OF_TWO) return Launch<SHIFTS, 2, COLUMN_OF_TWO>(a, stream);
  return Launch<SHIFTS, 2, COLUMN_AT_MOST>(a, stream);
}

static bool Takes(const SpmmFacts *facts, const HrpbParams *, const SpmmOperands *o, const SpmmDevice *)
{
  return SpmmIsPlain(o) && facts->panel_rows;
}

/* A multiprocessor has a panel at a time. The last turn of panels may keep few multiprocessors busy */
static double Seconds(const SpmmFacts *facts, const HrpbParams *, HrpbPrecision, int64_t N, const SpmmDevice *device)
{
  const SpmmCsrTimes *t      = &device->model->csr;
  const double        panels = (double)facts->nrows / facts->panel_rows, turns = ceil(panels / device->nsm);

  return 1e-12 * (t->launch + (t->staged_entry + t->staged * (double)N) * (double)facts->nnz * turns * device->nsm / panels + t->dense * (double)N * (double)facts->nrows);
}

static HrpbError RunProduct(const SpmmMatrix *A, const SpmmOperands *o, void *work, HrpbStream stream)
{
  const CsrSchedule *s            = A->csr;
  const size_t       column_bytes = (size_t)s->staged_rows * sizeof(HrpbScalar) + ZERO_BYTES;
  CsrProduct         p;
  StagedArgs         a;

  HrpbCall(CsrProductOf(A, o, work, stream, &p));
  a = {p.rowptr, p.colidx, p.values, p.B, (const uint32_t *)s->run_ptr, (const CsrRun *)s->runs, (const uint16_t *)s->places, p.C, p.ldb, p.ldc, s->nrows, s->ncols, (s->nrows + s->panel_rows - 1) / s->panel_rows, s->panel_rows, p.N};
  return p.ldb % GRAIN == 0 ? LaunchStages<1>(a, column_bytes, stream) : LaunchStages<GRAIN>(a, column_bytes, stream);
}

SPMM_KERNEL(SpmmCsrStaged) = {
  .name    = "csr-staged",
  .what    = "CSR times rows of B in shared memory: for rows of up to 28 entries whose columns run with them",
  .op      = SPMM_OP_PRODUCT,
  .format  = SPMM_CSR,
  .takes   = Takes,
  .seconds = Seconds,
  .run     = RunProduct
};
