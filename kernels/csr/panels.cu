/*
   What staged.cu goes by: the rows of B that each panel of rows needs, in runs of consecutive rows, and for each entry
   of the CSR where its row of B lies among those of its panel. It is made where that kernel pays.
*/
#include "csr.cuh"
#include "../common/launch.cuh"
#include "../format/windows.cuh"

enum {
  WINDOW_SHIFT = sizeof(HrpbScalar) == 8 ? 2 : 3, /* rows of B come in windows, which are sectors of 32 bytes */
  WINDOW       = 1 << WINDOW_SHIFT,
  PADDING      = 16 / sizeof(HrpbScalar), /* room in a run for what comes with it where columns are not aligned */
  SAMPLED      = 64,                      /* panels looked at first: all take long where columns are scattered */
  FEW_ENTRIES  = CSR_CHUNK,               /* entries of a row, on average, up to which csr-rows is as fast */
  LEAST_RUN    = 128,                     /* rows of a run, on average: a copy costs as much as some rows */
  /*
     Twice the uses of a row of B in shared memory, on average: to bring the row costs as much as some entries. Sampled
     products and those of complex numbers want fewer, because the kernels that they have otherwise are slower than
     csr-rows
  */
  LEAST_USES_TWICE         = 6,
  LEAST_SAMPLED_USES_TWICE = 3
};

namespace {
struct PanelTotals {
  unsigned long long nwindows, nruns;
  unsigned int       most;     /* the most rows of B of a panel, padding included */
  unsigned int       unsorted; /* whether an entry was not met where it would be if its row were sorted */
};
} // namespace

/*
   The bits of a word of the bitmap at which runs of active windows begin, and those at which they end. Both look at
   words of other threads. So all threads must be through before HrpbNextRange() clears the words
*/
static __device__ uint32_t RunStarts(const HrpbPanel *s, uint32_t word)
{
  return s->bitmap[word] & ~(s->bitmap[word] << 1 | (word ? s->bitmap[word - 1] >> 31 : 0));
}

static __device__ uint32_t RunEnds(const HrpbPanel *s, uint32_t word)
{
  return s->bitmap[word] & ~(s->bitmap[word] >> 1 | (word + 1 < HRPB_RANGE_WORDS ? s->bitmap[word + 1] << 31 : 0));
}

/* The bits up to this one */
static __device__ uint32_t UpTo(uint32_t bit)
{
  return (2u << bit) - 1;
}

/*
   The place of the first row of a window, given the number of the window in its panel and that of its run, both from 0
*/
static __device__ uint32_t Place(uint32_t window, uint32_t run)
{
  return window * WINDOW + run * PADDING;
}

/*
   Count: for panels 0, every, 2 every, ... run_ptr[panel] becomes the number of runs, unless run_ptr is NULL. Their
   totals are summed up. Fill: the runs, from run_ptr[panel] on, and places.

   It walks as through sorted rows. With rows that are not sorted it comes to an end as well, and says so.
*/
template <bool FILL> static __global__ void __launch_bounds__(HRPB_THREADS) PanelRuns(HrpbSegments g, int32_t ncols, int32_t every, uint32_t *run_ptr, PanelTotals *totals, CsrRun *runs, uint16_t *places)
{
  __shared__ HrpbPanel s;
  /*
     windows of the panel before each word of the bitmap, plus 2^16 times its runs. The run of a window is the last one
     that begins up to it
  */
  __shared__ uint32_t  before[HRPB_RANGE_WORDS];
  __shared__ HrpbInt   begin[HRPB_MAX_PANEL];    /* first entry of each row in the range at hand */
  const HrpbRows      &rows   = g.rows;
  const uint32_t       word0  = threadIdx.x * HRPB_THREAD_WORDS;
  const HrpbInt        entry0 = rows.rowptr[0];

  for (int64_t panel = (int64_t)blockIdx.x * every; panel < rows.npanels; panel += (int64_t)gridDim.x * every) {
    uint32_t nwindows = 0, nruns = 0, first;

    HrpbBeginSegment(&s, &g, panel, 0, false);
    for (;;) {
      uint32_t starts = 0, window, run;

      if (FILL) {
        for (int32_t i = threadIdx.x; i < rows.panel_rows; i += HRPB_THREADS) begin[i] = s.next[i];
      }
      if (!HrpbNextRange(&s, &rows, &first)) break;
      for (uint32_t word = word0; word < word0 + HRPB_THREAD_WORDS; word++) starts += __popc(RunStarts(&s, word));
      window = HrpbBlockExclusiveSum(&s, HrpbCountOwn(&s, 1).bits, &nwindows);
      run    = HrpbBlockExclusiveSum(&s, starts, &nruns);
      if (FILL) {
        for (uint32_t word = word0; word < word0 + HRPB_THREAD_WORDS; word++) {
          const int64_t column = (int64_t)(first + 32 * word) << WINDOW_SHIFT;
          CsrRun       *r      = runs + run_ptr[panel] + run;

          starts       = RunStarts(&s, word);
          before[word] = window | run << 16;
          for (uint32_t left = RunEnds(&s, word); left; left &= left - 1) {
            const uint32_t bit = __ffs(left) - 1;

            r[__popc(starts & UpTo(bit)) - 1].end = (int32_t)min(column + (bit + 1) * WINDOW, (int64_t)ncols);
          }
          for (uint32_t left = starts; left; left &= left - 1, r++, run++) {
            const uint32_t bit = __ffs(left) - 1;

            r->begin = (int32_t)(column + bit * WINDOW);
            r->at    = (int32_t)Place(window + __popc(s.bitmap[word] & UpTo(bit)) - 1, run);
          }
          window += __popc(s.bitmap[word]);
        }
        __syncthreads();
        for (int32_t row = threadIdx.x / HRPB_ROW_LANES; row < rows.panel_rows; row += HRPB_THREADS / HRPB_ROW_LANES) {
          for (int64_t k = begin[row] + threadIdx.x % HRPB_ROW_LANES; k < s.next[row]; k += HRPB_ROW_LANES) {
            const int32_t  col = (int32_t)rows.colidx[k];
            const uint32_t w = (uint32_t)(col >> WINDOW_SHIFT) - first, word = w / 32, bit = w % 32;

            if (w < HRPB_RANGE && s.bitmap[word] >> bit & 1) places[k - entry0] = (uint16_t)(Place((before[word] & 0xffff) + __popc(s.bitmap[word] & UpTo(bit)) - 1, (before[word] >> 16) + __popc(RunStarts(&s, word) & UpTo(bit)) - 1) + col % WINDOW);
            else totals->unsorted = 1;
          }
        }
      }
      __syncthreads();
    }
    if (!FILL && threadIdx.x == 0) {
      if (run_ptr) run_ptr[panel] = nruns;
      atomicMax(&totals->most, Place(nwindows, nruns));
      atomicAdd(&totals->nwindows, (unsigned long long)nwindows);
      atomicAdd(&totals->nruns, (unsigned long long)nruns);
    }
    __syncthreads(); /* the next panel's rows come to the same place */
  }
}

/* The totals of panels 0, every, 2 every, ... Waits */
static HrpbError CountPanels(const HrpbSegments *g, int32_t ncols, int32_t every, uint32_t *run_ptr, PanelTotals *totals, cudaStream_t stream, PanelTotals *found)
{
  HrpbCallCuda(cudaMemsetAsync(totals, 0, sizeof(*totals), stream));
  HrpbCall(HrpbLaunch(PanelRuns<false>, HrpbGrid(g->rows.npanels, every), HRPB_THREADS, 0, stream, *g, ncols, every, run_ptr, totals, NULL, NULL));
  return HrpbBring(found, totals, sizeof(*found), stream);
}

namespace {
/* Which panels are made */
struct Wanted {
  int32_t panel_rows;
  int     uses; /* twice the least uses of a row of B, or 0 where panels are made if they fit */
  int32_t room; /* rows of B in shared memory, at most */
};
} // namespace

/* Whether what was found in panels fits into shared memory, and is worth it. The panels have this many entries */
static bool Suits(const PanelTotals *t, int64_t entries, const Wanted &w)
{
  const int64_t rows = (int64_t)t->nwindows * WINDOW;

  return (int64_t)t->most <= w.room && (!w.uses || (w.uses * rows <= 2 * entries && LEAST_RUN * (int64_t)t->nruns <= rows));
}

static HrpbError Build(const HrpbSegments *g, const Wanted &w, PanelTotals *totals, cudaStream_t stream, CsrSchedule *s)
{
  const int32_t npanels = g->rows.npanels, every = npanels / SAMPLED;
  PanelTotals   found;
  uint32_t     *run_ptr;
  CsrRun       *runs;
  uint16_t     *places;

  if (every > 1) {
    HrpbCall(CountPanels(g, s->ncols, every, NULL, totals, stream, &found));
    if (!Suits(&found, s->nnz / every, w)) return HRPB_SUCCESS;
  }
  HrpbCall(HrpbAllocate(&run_ptr, (int64_t)npanels + 1, stream));
  s->run_ptr = run_ptr;
  HrpbCall(CountPanels(g, s->ncols, 1, run_ptr, totals, stream, &found));
  if (!Suits(&found, s->nnz, w)) return HRPB_SUCCESS;
  HrpbCall(HrpbSumsBefore(run_ptr, npanels, NULL, 0, stream));
  HrpbCall(HrpbAllocateTogether(stream, &runs, (int64_t)found.nruns, &places, s->nnz));
  s->runs   = runs;
  s->places = places;
  HrpbCall(HrpbLaunch(PanelRuns<true>, HrpbGrid(npanels, 1), HRPB_THREADS, 0, stream, *g, s->ncols, 1, run_ptr, totals, runs, places));
  HrpbCall(HrpbBring(&found, totals, sizeof(found), stream));
  if (found.unsorted) return HRPB_SUCCESS;
  s->panel_rows  = g->rows.panel_rows;
  s->staged_rows = (int32_t)found.most;
  s->bytes += (int64_t)sizeof(*run_ptr) * (npanels + 1) + (int64_t)sizeof(*runs) * (int64_t)found.nruns + (int64_t)sizeof(*places) * s->nnz;
  return HRPB_SUCCESS;
}

/*
   Rows of a panel, of which it has most at most. A multiprocessor has one panel at a time. Where the last of them would
   leave most multiprocessors idle, each panel has fewer rows, in whole warps. If that were far fewer the result is 0,
   for no panels: then more rows of B would be brought for each row of A
*/
static int32_t PanelRows(int32_t nrows, int64_t nsm, int64_t most)
{
  const int64_t turns = (nrows + most * nsm - 1) / (most * nsm), rows = (nrows + turns * nsm - 1) / (turns * nsm), warps = (rows + HRPB_LANES - 1) / HRPB_LANES;

  return 10 * rows >= 7 * most ? (int32_t)(warps * HRPB_LANES) : 0;
}

/* Make panels, or find that there can be none */
static HrpbError MakePanels(const HrpbInt *rowptr, const HrpbInt *colidx, const Wanted &w, cudaStream_t stream, CsrSchedule *s)
{
  const HrpbRows     rows = HrpbMakeRows(s->nrows, rowptr, colidx, NULL, w.panel_rows, WINDOW);
  const HrpbSegments g    = HrpbMakeSegments(&rows, s->ncols, 0);
  PanelTotals       *totals;
  HrpbError          err = HrpbAllocate(&totals, 1, stream);

  if (!err) err = HrpbFree(totals, Build(&g, w, totals, stream, s), stream);
  if (!s->panel_rows) CsrPanelsDestroy(s, stream);
  return err == HRPB_ERR_DEVICE_MEMORY ? HRPB_SUCCESS : err; /* other kernels do without this */
}

/* Whether there can be panels on this device; the rows of one, most at most, or 0 where that would be too few */
static HrpbError CanHavePanels(const CsrSchedule *s, int64_t most, bool *can, int32_t *panel_rows)
{
  const SpmmDevice *device;

  *can = false;
  if (!s->nnz || s->longest > CSR_STAGED_ENTRIES) return HRPB_SUCCESS;
  HrpbCall(CsrStagedSupports(can));
  HrpbCall(SpmmGetDevice(&device));
  *panel_rows = PanelRows(s->nrows, device->nsm, most);
  return HRPB_SUCCESS;
}

HrpbError CsrPanelsDevice(const HrpbInt *rowptr, const HrpbInt *colidx, int32_t panel_rows, cudaStream_t stream, CsrSchedule *s)
{
  bool    can;
  int32_t rows;

  HrpbCall(CanHavePanels(s, CSR_PANEL_ROWS, &can, &rows));
  if (!can) return HRPB_SUCCESS;
  if (panel_rows) return MakePanels(rowptr, colidx, {panel_rows, 0, CSR_STAGED_ROWS}, stream, s);
  if (!rows || s->nnz <= (int64_t)FEW_ENTRIES * s->nrows) return HRPB_SUCCESS;
  return MakePanels(rowptr, colidx, {rows, LEAST_USES_TWICE, CSR_STAGED_ROWS}, stream, s);
}

HrpbError CsrPanelsForPairsDevice(const HrpbInt *rowptr, const HrpbInt *colidx, int32_t panel_rows, int32_t most, int32_t room,
  cudaStream_t stream, CsrSchedule *s)
{
  bool    can;
  int32_t rows;

  HrpbCall(CanHavePanels(s, most, &can, &rows));
  if (can && panel_rows) return MakePanels(rowptr, colidx, {panel_rows, 0, room}, stream, s);
  if (!can || !rows) return HRPB_SUCCESS;
  return MakePanels(rowptr, colidx, {rows, LEAST_SAMPLED_USES_TWICE, room}, stream, s);
}

HrpbError CsrPanelsForSampledDevice(const HrpbInt *rowptr, const HrpbInt *colidx, HrpbStream stream, CsrSchedule *s)
{
  bool    can;
  int32_t rows;

  HrpbCall(CanHavePanels(s, CSR_PANEL_ROWS, &can, &rows));
  if (!can || !rows || s->panel_rows) return HRPB_SUCCESS;
  HrpbCall(MakePanels(rowptr, colidx, {rows, LEAST_SAMPLED_USES_TWICE, CSR_STAGED_ROWS}, stream, s));
  s->panels_sampled = s->panel_rows > 0;
  return HRPB_SUCCESS;
}

void CsrPanelsDestroy(CsrSchedule *s, cudaStream_t stream)
{
  (void)HrpbFree(s->run_ptr, HRPB_SUCCESS, stream);
  (void)HrpbFree(s->runs, HRPB_SUCCESS, stream); /* places lie behind it */
  s->run_ptr = s->runs = s->places = NULL;
  s->panel_rows = s->staged_rows = s->panels_sampled = 0;
}
