/*
   Panels of rows of A, and the rows of B that they need in shared memory: what csr-staged (staged.cu) and
   sampled-staged (../sample/staged.cu) share.

   A thread has a row of A. One more warp lets the copy engine bring the runs of rows of B that the panel needs, a few
   columns at a time, into a ring of stages. The others use the columns before. What limits such a kernel is shared
   memory, which gives a warp 128 bytes a cycle, and behind that L2. It needs Hopper or later.
*/
#pragma once

#include "csr.cuh"
#include "../common/shared.cuh"
#include "../common/stages.cuh"

enum {
  PANEL_THREADS = CSR_PANEL_ROWS + (int)HRPB_LANES,
  GRAIN         = 16 / sizeof(HrpbScalar) /* scalars that the copy engine takes together */
};

/*
   Bytes of a column in shared memory that most matrices can do with, for four, three and two stages. The compiler knows
   them, so that an entry has one address for all columns. They leave a part of a multiprocessor's memory to L1, through
   which entries come. This is worth more than a third stage.

   A column ends with 32 bytes of zeros. An entry that is not there meets one of them, whatever Shift() adds to its
   place.
*/
enum {
  COLUMN_OF_FOUR  = 8320,
  COLUMN_OF_THREE = 11136,
  COLUMN_OF_TWO   = 16640,
  ZERO_BYTES      = CSR_STAGED_ZEROS * sizeof(HrpbScalar)
};

namespace {
/* Column c of a tile begins where column c % SHIFTS does within 16 bytes: tiles have a multiple of GRAIN columns */
template <int SHIFTS_, uint32_t STAGES_, uint32_t COLUMN_BYTES_> struct PanelShape {
  static constexpr int      SHIFTS = SHIFTS_;
  static constexpr uint32_t STAGES = STAGES_, COLUMN_BYTES = COLUMN_BYTES_, STAGE_BYTES = CSR_STAGED_COLUMNS * COLUMN_BYTES_;
};

/* A column-major B, and the runs of its rows that each panel needs */
struct PanelB {
  const HrpbScalar *B;
  const uint32_t   *run_ptr;
  const CsrRun     *runs;
  int64_t           ldb;
  int32_t           ncols, npanels, N;
};

/* The rows of A in panels */
struct PanelA {
  const HrpbInt  *rowptr;
  const uint16_t *places; /* place of the row of B that an entry meets, among those of its panel */
  int32_t         nrows, panel_rows;
};

/* The row that a thread has of a panel */
struct PanelRow {
  int32_t row;
  bool    in;              /* whether there is one */
  HrpbInt begin;           /* its first entry */
  int32_t length, longest; /* its entries; the most of a row of the warp */
};
} // namespace

#if HAVE_COPY_ENGINE
/* start: the first entry of all */
static __device__ __forceinline__ PanelRow RowOfThread(const PanelA &a, int32_t panel, HrpbInt start)
{
  const int64_t row = (int64_t)panel * a.panel_rows + threadIdx.x;
  PanelRow      r;

  r.row     = (int32_t)row;
  r.in      = (int32_t)threadIdx.x < a.panel_rows && row < a.nrows;
  r.begin   = r.in ? __ldg(a.rowptr + r.row) : start;
  r.length  = r.in ? (int32_t)(__ldg(a.rowptr + r.row + 1) - r.begin) : 0;
  r.longest = __reduce_max_sync(HRPB_ALL_LANES, r.length);
  return r;
}

/* Scalars before the first one of column n in its 16 bytes: they come with it */
static __device__ __forceinline__ uint32_t Shift(const PanelB &b, int32_t n)
{
  return ((uint32_t)((uintptr_t)b.B / sizeof(HrpbScalar)) + (uint32_t)n * (uint32_t)b.ldb) % GRAIN;
}

/* Whether the last 16 bytes of a run of column n may reach behind B. What lies there may be no memory */
static __device__ __forceinline__ bool EndsB(const PanelB &b, const CsrRun &r, int32_t n)
{
  return (b.N - 1 - n) * b.ldb + b.ncols - r.end < GRAIN - 1;
}

/*
   Scalars of a run of column n that the copy engine brings. The others in its first and last 16 bytes come, too. They
   belong to other rows or columns of B, or, before the first entry of B, to what B is aligned within
*/
static __device__ __forceinline__ uint32_t BulkScalars(const PanelB &b, const CsrRun &r, int32_t n)
{
  const uint32_t all = r.end - r.begin + Shift(b, n);

  return (EndsB(b, r, n) ? all : all + GRAIN - 1) / GRAIN * GRAIN;
}

/* Copy what the copy engine does not bring of a run of column n. The address is that of the run's column */
static __device__ __forceinline__ void CopyRest(const PanelB &b, const CsrRun &r, int32_t n, uint32_t to)
{
  const int32_t     shift  = (int32_t)Shift(b, n);
  const HrpbScalar *column = b.B + n * b.ldb;

  for (int32_t k = max((int32_t)BulkScalars(b, r, n), shift); k < r.end - r.begin + shift; k++) WriteShared(to + (r.at + k) * (uint32_t)sizeof(HrpbScalar), __ldg(column + r.begin + k - shift));
  CopyBulkFence(); /* the stage is the engine's again */
}

/*
   The producer, a warp. A lane has a column of each tile, and every eighth run. Its first run stays in registers for
   all tiles
*/
template <typename Shape> static __device__ __forceinline__ void ProducePanels(const PanelB &b, const Ring &ring, uint32_t lane)
{
  constexpr uint32_t RUNS   = HRPB_LANES / CSR_STAGED_COLUMNS;
  const uint32_t     column = lane % CSR_STAGED_COLUMNS, own = lane / CSR_STAGED_COLUMNS;
  RingPlace          at;

  for (int32_t panel = blockIdx.x; panel < b.npanels; panel += gridDim.x) {
    const uint32_t first = __ldg(b.run_ptr + panel), nruns = __ldg(b.run_ptr + panel + 1) - first;
    const CsrRun   mine  = own < nruns ? b.runs[first + own] : CsrRun{0, 0, 0};

    for (int32_t n0 = 0; n0 < b.N; n0 += CSR_STAGED_COLUMNS) {
      const uint32_t to = ring.stages + (at.stage * CSR_STAGED_COLUMNS + column) * Shape::COLUMN_BYTES, ready = RingFull(ring, at.stage);
      const int32_t  n       = n0 + (int32_t)column;
      const uint32_t last    = n < b.N ? nruns : 0;
      uint32_t       scalars = 0;

      RingWaitEmpty(ring, at);
      for (uint32_t k = own; k < last; k += RUNS) {
        const CsrRun r = k < RUNS ? mine : b.runs[first + k];

        scalars += BulkScalars(b, r, n);
        if (EndsB(b, r, n)) CopyRest(b, r, n, to);
      }
      ArriveExpectAll(ready, scalars, sizeof(HrpbScalar));
      for (uint32_t k = own; k < last; k += RUNS) {
        const CsrRun   r     = k < RUNS ? mine : b.runs[first + k];
        const uint32_t bytes = BulkScalars(b, r, n) * (uint32_t)sizeof(HrpbScalar);

        if (bytes) CopyBulk(to + r.at * (uint32_t)sizeof(HrpbScalar), b.B + n * b.ldb + r.begin - Shift(b, n), bytes, ready);
      }
      at.Next(Shape::STAGES);
    }
  }
}

/* The ring of a thread block, with the zeros behind each column. All threads call it */
template <typename Shape> static __device__ __forceinline__ Ring PanelRing(const void *memory, const void *barriers)
{
  const Ring ring = RingAt(SharedAddress(memory), SharedAddress(barriers));

  for (uint32_t i = threadIdx.x; i < Shape::STAGES * CSR_STAGED_COLUMNS * CSR_STAGED_ZEROS; i += PANEL_THREADS) WriteShared(ring.stages + (i / CSR_STAGED_ZEROS + 1) * Shape::COLUMN_BYTES - ZERO_BYTES + i % CSR_STAGED_ZEROS * (uint32_t)sizeof(HrpbScalar), 0);
  RingInit(ring, Shape::STAGES, 1, CSR_PANEL_ROWS / HRPB_LANES);
  return ring;
}

/* Where the columns of the first stage's tile begin in shared memory, with what comes before their first scalar */
template <typename Shape> static __device__ __forceinline__ void FirstColumns(const PanelB &b, const Ring &ring, uint32_t (&column)[Shape::SHIFTS])
{
#pragma unroll
  for (int c = 0; c < Shape::SHIFTS; c++) column[c] = ring.stages + Shift(b, c) * (uint32_t)sizeof(HrpbScalar);
}

/* What a kernel does: its last warp brings rows of B, and all others call consume(ring) */
template <typename Shape, typename Consume> static __device__ __forceinline__ void RunPanels(const PanelB &b, Consume consume)
{
  extern __shared__ __align__(128) uint8_t memory[];
  __shared__ __align__(8) uint64_t barriers[RING_BARRIERS / sizeof(uint64_t)];
  const Ring                       ring = PanelRing<Shape>(memory, barriers);

  if (threadIdx.x >= CSR_PANEL_ROWS) ProducePanels<Shape>(b, ring, threadIdx.x - CSR_PANEL_ROWS);
  else consume(ring);
}
#endif

static inline PanelA PanelAOf(const SpmmMatrix *A)
{
  return {A->rowptr, (const uint16_t *)A->csr->places, A->csr->nrows, A->csr->panel_rows};
}

static inline PanelB PanelBOf(const CsrSchedule *s, int64_t N, const HrpbScalar *B, int64_t ldb)
{
  return {B, (const uint32_t *)s->run_ptr, (const CsrRun *)s->runs, ldb, s->ncols, (int32_t)(((int64_t)s->nrows + s->panel_rows - 1) / s->panel_rows), (int32_t)N};
}

/* Bytes of a column in shared memory, for the most rows of B that a panel needs */
static inline int64_t PanelColumnBytes(int64_t staged_rows)
{
  return staged_rows * (int64_t)sizeof(HrpbScalar) + (int64_t)ZERO_BYTES;
}

/* Call launch(PanelShape) with the shape that suits. MOST: bytes of a column in the largest */
template <int SHIFTS, uint32_t MOST, typename Launch> static HrpbError LaunchWithStages(int64_t column_bytes, Launch launch)
{
  if (column_bytes <= COLUMN_OF_FOUR) return launch(PanelShape<SHIFTS, 4, COLUMN_OF_FOUR>());
  if (column_bytes <= COLUMN_OF_THREE) return launch(PanelShape<SHIFTS, 3, COLUMN_OF_THREE>());
  if (column_bytes <= COLUMN_OF_TWO) return launch(PanelShape<SHIFTS, 2, COLUMN_OF_TWO>());
  return launch(PanelShape<SHIFTS, 2, MOST>());
}

template <uint32_t MOST, typename Launch> static HrpbError LaunchWithShape(const CsrSchedule *s, int64_t ldb, Launch launch)
{
  const int64_t bytes = PanelColumnBytes(s->staged_rows);

  return ldb % GRAIN == 0 ? LaunchWithStages<1, MOST>(bytes, launch) : LaunchWithStages<GRAIN, MOST>(bytes, launch);
}
