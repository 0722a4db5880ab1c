/*
   The proxy of a matrix: features of its segments, the rows of the chosen ones, and times of products with them.
*/
#include <string.h>

#include "proxy.h"
#include "../common/launch.cuh"
#include "../common/rowmajor.cuh"
#include "../csr/csr.cuh"
#include "../format/rows.cuh"

enum {
  /*
     one row in SAMPLED is read entry by entry: features cost no more than reading an eighth of the pattern
  */
  SAMPLED       = 8,
  MOST_SEGMENTS = 4096, /* segments that are looked at; those of a larger matrix are spread over it */
  WAVE_PANELS   = 6,    /* panels of WAVE_ROWS rows on a multiprocessor: whole waves of 1, 2 and 3 thread blocks */
  WAVE_ROWS     = 128,
  BUSY          = 1 << 16 /* scalars that one thread block fills in some 10 microseconds */
};

static_assert((int)HRPB_THREADS == (int)HRPB_UNIT_ROWS, "a thread for each row of a unit");

/* Whether a row, sorted, has a column */
static __device__ bool HasColumn(const HrpbInt *colidx, HrpbInt begin, HrpbInt end, HrpbInt column)
{
  const int64_t at = HrpbLowerBound(colidx, begin, end, column);

  return at < end && colidx[at] == column;
}

static __device__ void AddFeature(int64_t *feature, unsigned long long x)
{
  x = HrpbSumOfLanes(x);
  if (threadIdx.x % HRPB_LANES == 0 && x) atomicAdd((unsigned long long *)feature, x);
}

/* A thread block has a unit. It adds up whole numbers, so the order does not matter */
static __global__ void __launch_bounds__(HRPB_THREADS) MeasureUnits(const HrpbInt *rowptr, const HrpbInt *colidx, int32_t units, int64_t stride, HrpbFeatures *features)
{
  const int32_t      lane = threadIdx.x % HRPB_LANES, warp = threadIdx.x / HRPB_LANES;
  const int64_t      first = blockIdx.x / units * stride, unit = first + (int64_t)(blockIdx.x % units) * HRPB_UNIT_ROWS;
  HrpbFeatures      *f       = &features[blockIdx.x / units];
  const int64_t      length  = rowptr[unit + threadIdx.x + 1] - rowptr[unit + threadIdx.x];
  const uint32_t     longest = __reduce_max_sync(HRPB_ALL_LANES, (uint32_t)(length < INT32_MAX ? length : INT32_MAX));
  unsigned long long runs = 0, shared = 0, span = 0;

  if (lane == 0) atomicMax((unsigned long long *)&f->longest, (unsigned long long)longest);
  if (unit == first && threadIdx.x == 0) {
    f->begin   = rowptr[first];
    f->entries = rowptr[first + (int64_t)units * HRPB_UNIT_ROWS] - rowptr[first];
  }
  for (int64_t row = unit + SAMPLED * (warp + 1) - 1; row < unit + HRPB_UNIT_ROWS; row += SAMPLED * HRPB_WARPS) {
    const HrpbInt before = rowptr[row - 1], begin = rowptr[row], end = rowptr[row + 1];

    for (int64_t k = begin + lane; k < end; k += HRPB_LANES) { /* the step after the last may lie beyond HrpbInt */
      const HrpbInt column = colidx[k];

      runs += k == begin || colidx[k - 1] + 1 != column;
      shared += HasColumn(colidx, before, begin, column);
    }
    if (lane == 0 && end > begin) span += (unsigned long long)llabs((long long)colidx[end - 1] - (long long)colidx[begin]);
  }
  AddFeature(&f->runs, runs);
  AddFeature(&f->shared, shared);
  AddFeature(&f->span, span);
}

static HrpbError FeaturesInto(const HrpbInt *rowptr, const HrpbInt *colidx, int64_t segment_rows, int64_t stride, int32_t nsegments, HrpbStream stream, HrpbFeatures *f)
{
  const int32_t units = (int32_t)(segment_rows / HRPB_UNIT_ROWS);

  HrpbCallCuda(cudaMemsetAsync(f, 0, sizeof(*f) * (size_t)nsegments, stream));
  return HrpbLaunch(MeasureUnits, (unsigned int)((int64_t)nsegments * units), HRPB_THREADS, 0, stream, rowptr, colidx, units, stride, f);
}

HrpbError HrpbFeaturesDevice(const HrpbInt *rowptr, const HrpbInt *colidx, int64_t segment_rows, int64_t stride, int32_t nsegments, HrpbStream stream, HrpbFeatures features[])
{
  HrpbFeatures *f;
  HrpbError     err;

  HrpbCall(HrpbAllocate(&f, nsegments, stream));
  err = FeaturesInto(rowptr, colidx, segment_rows, stride, nsegments, stream, f);
  if (!err) err = HrpbBring(features, f, sizeof(*features) * (size_t)nsegments, stream);
  return HrpbFree(f, err, stream);
}

namespace {
/* The chosen segments, and what is added to row pointers of each */
struct Segments {
  int64_t first[HRPB_REPRESENTATIVES], shift[HRPB_REPRESENTATIVES];
};
} // namespace

static __global__ void __launch_bounds__(HRPB_THREADS) GatherRowPointers(const HrpbInt *rowptr, const __grid_constant__ Segments s, int64_t segment_rows, int64_t nrows, HrpbInt *to)
{
  for (int64_t row = (int64_t)blockIdx.x * HRPB_THREADS + threadIdx.x; row <= nrows; row += (int64_t)gridDim.x * HRPB_THREADS) {
    const int64_t i = (row < nrows ? row : nrows - 1) / segment_rows; /* the last row pointer ends the last segment */

    to[row] = (HrpbInt)(rowptr[s.first[i] + row - i * segment_rows] + s.shift[i]);
  }
}

/* Numbers in (-1, 1) with random bits: products of zeros would be faster */
static __global__ void __launch_bounds__(HRPB_THREADS) Fill(HrpbScalar *x, int64_t n)
{
  for (int64_t i = (int64_t)blockIdx.x * HRPB_THREADS + threadIdx.x; i < n; i += (int64_t)gridDim.x * HRPB_THREADS) {
    unsigned long long z = (unsigned long long)(i + 1) * 0x9E3779B97F4A7C15ull;

    z    = (z ^ (z >> 32)) * 0xD6E8FEB86659FD93ull;
    x[i] = (HrpbScalar)((double)(long long)(z ^ (z >> 32)) / 9223372036854775808.0);
  }
}

/* Copy the rows of the chosen segments. The rows of a segment are contiguous, and so are their entries */
static HrpbError GatherRows(const HrpbInt *rowptr, const HrpbInt *colidx, const HrpbScalar *values, int64_t segment_rows, int64_t stride, const HrpbFeatures *features, const int32_t *chosen, HrpbStream stream, HrpbProxy *p)
{
  HrpbInt    *to_rowptr, *to_colidx;
  HrpbScalar *to_values;
  Segments    s;
  HrpbInt     first, end;
  int64_t     nnz = 0;

  for (int i = 0; i < HRPB_REPRESENTATIVES; i++) {
    s.first[i] = chosen[i] * stride;
    s.shift[i] = nnz - features[chosen[i]].begin;
    nnz += features[chosen[i]].entries;
  }
  HrpbCallCuda(cudaMemcpyAsync(&first, rowptr, sizeof(first), cudaMemcpyDeviceToHost, stream));
  HrpbCallCuda(cudaMemcpyAsync(&end, rowptr + p->nrows, sizeof(end), cudaMemcpyDeviceToHost, stream));
  HrpbCallCuda(cudaStreamSynchronize(stream));
  if (end > first) p->entries = (double)nnz / (double)(end - first);
  p->nrows = HRPB_REPRESENTATIVES * segment_rows;
  HrpbCall(HrpbAllocate(&to_rowptr, p->nrows + 1, stream));
  p->rowptr = to_rowptr;
  p->own[0] = to_rowptr;
  HrpbCall(HrpbAllocate(&to_colidx, nnz, stream));
  p->colidx = to_colidx;
  p->own[1] = to_colidx;
  HrpbCall(HrpbAllocate(&to_values, nnz, stream));
  p->values = to_values;
  p->own[2] = to_values;
  HrpbCall(HrpbLaunch(GatherRowPointers, HrpbGrid(p->nrows + 1, HRPB_THREADS), HRPB_THREADS, 0, stream, rowptr, s, segment_rows, p->nrows, to_rowptr));
  for (int i = 0; i < HRPB_REPRESENTATIVES; i++) {
    const HrpbFeatures *f  = &features[chosen[i]];
    const int64_t       at = f->begin + s.shift[i];

    HrpbCallCuda(cudaMemcpyAsync(to_colidx + at, colidx + f->begin, sizeof(*colidx) * (size_t)f->entries, cudaMemcpyDeviceToDevice, stream));
    HrpbCallCuda(cudaMemcpyAsync(to_values + at, values + f->begin, sizeof(*values) * (size_t)f->entries, cudaMemcpyDeviceToDevice, stream));
  }
  return HRPB_SUCCESS;
}

static HrpbError ChooseAndGather(int64_t nrows, const HrpbInt *rowptr, const HrpbInt *colidx, const HrpbScalar *values, int64_t segment_rows, HrpbStream stream, HrpbProxy *p)
{
  const int64_t all = nrows / segment_rows, stride = segment_rows * ((all + MOST_SEGMENTS - 1) / MOST_SEGMENTS);
  const int32_t n        = (int32_t)((nrows - segment_rows) / stride + 1);
  HrpbFeatures *features = (HrpbFeatures *)malloc(sizeof(*features) * (size_t)n);
  int32_t       chosen[HRPB_REPRESENTATIVES];
  HrpbError     err = features ? HRPB_SUCCESS : HRPB_ERR_MEMORY;

  if (!err) err = HrpbFeaturesDevice(rowptr, colidx, segment_rows, stride, n, stream, features);
  if (!err) err = HrpbChooseSegments(n, features, HRPB_REPRESENTATIVES, chosen);
  if (!err) err = GatherRows(rowptr, colidx, values, segment_rows, stride, features, chosen, stream, p);
  free(features);
  return err;
}

static HrpbError FillDense(HrpbScalar *x, int64_t n, int64_t most_blocks, cudaStream_t stream)
{
  HrpbCall(HrpbLaunch(Fill, HrpbGrid(n, HRPB_THREADS, most_blocks), HRPB_THREADS, 0, stream, x, n));
  return HRPB_SUCCESS;
}

static HrpbError MakeDense(int64_t N, HrpbStream stream, HrpbProxy *p)
{
  p->N   = N;
  p->ldb = p->ncols > 1 ? p->ncols : 1; /* as PETSc has it by default: whether columns are aligned matters */
  p->ldc = p->nrows;
  HrpbCall(HrpbAllocate(&p->B, p->ldb * N, stream));
  HrpbCall(HrpbAllocate(&p->C, p->ldc * N, stream));
  return FillDense(p->B, p->ldb * N, INT32_MAX, stream);
}

HrpbError HrpbSegmentRowsDevice(int64_t *segment_rows)
{
  const SpmmDevice *device;
  int64_t           units;

  *segment_rows = 0;
  HrpbCall(SpmmGetDevice(&device));
  units         = (int64_t)device->nsm * WAVE_PANELS * WAVE_ROWS / (HRPB_REPRESENTATIVES * HRPB_UNIT_ROWS);
  *segment_rows = HRPB_UNIT_ROWS * (units > 1 ? units : 1);
  return HRPB_SUCCESS;
}

HrpbError HrpbProxyCreateDevice(int64_t nrows, int64_t ncols, const HrpbInt *rowptr, const HrpbInt *colidx, const HrpbScalar *values, int64_t segment_rows, int64_t N, HrpbStream stream, HrpbProxy *p)
{
  HrpbError err = HRPB_SUCCESS;

  memset(p, 0, sizeof(*p));
  if (nrows <= 0 || ncols < 0 || N <= 0 || segment_rows <= 0 || segment_rows % HRPB_UNIT_ROWS) return HRPB_ERR_PARAMETER;
  p->nrows   = nrows;
  p->ncols   = ncols;
  p->rowptr  = rowptr;
  p->colidx  = colidx;
  p->values  = values;
  p->entries = 1;
  if (nrows >= 2 * HRPB_REPRESENTATIVES * segment_rows) err = ChooseAndGather(nrows, rowptr, colidx, values, segment_rows, stream, p);
  p->share = (double)p->nrows / (double)nrows;
  if (!err) err = MakeDense(N, stream, p);
  if (err) HrpbProxyDestroyDevice(p, stream);
  return err;
}

void HrpbProxyDestroyDevice(HrpbProxy *p, HrpbStream stream)
{
  for (int i = 0; i < 3; i++) (void)HrpbFree(p->own[i], HRPB_SUCCESS, stream);
  (void)HrpbFree(p->B, HRPB_SUCCESS, stream);
  (void)HrpbFree(p->C, HRPB_SUCCESS, stream);
  memset(p, 0, sizeof(*p));
}

/* Launch what multiply(stream) launches: by its graph, if there is one */
template <typename F> static HrpbError Launch(F multiply, SpmmGraph graph, cudaStream_t stream)
{
  if (!graph) return multiply(stream);
  HrpbCallCuda(cudaGraphLaunch(graph, stream));
  return HRPB_SUCCESS;
}

/*
   The device is busy until the host has launched what is timed. Otherwise it would wait for the host, for longer than
   small products take
*/
template <typename F> static HrpbError TimeOnce(const HrpbProxy *p, F multiply, SpmmGraph graph, const cudaEvent_t event[2], cudaStream_t stream, double *seconds)
{
  const int64_t n = p->ldb * p->N;
  float         ms;

  HrpbCall(FillDense(p->B, n < BUSY ? n : BUSY, 1, stream));
  HrpbCallCuda(cudaEventRecord(event[0], stream));
  HrpbCall(Launch(multiply, graph, stream));
  HrpbCallCuda(cudaEventRecord(event[1], stream));
  HrpbCallCuda(cudaEventSynchronize(event[1]));
  HrpbCallCuda(cudaEventElapsedTime(&ms, event[0], event[1]));
  *seconds = 1e-3 * ms;
  return HRPB_SUCCESS;
}

/*
   L2 has of B what it can, as after a product: it was filled with the same numbers again. With an empty L2 the proxy
   would wait for memory more often than the matrix does: next to its segments it reads more rows of B for each row of
   A. A graph has loaded the kernels; without one a product does. One product is timed. It lacks what all first products
   lack, so it is about as good as the second for comparing
*/
template <typename F> static HrpbError TimeWith(const HrpbProxy *p, F multiply, SpmmGraph graph, const cudaEvent_t event[2], cudaStream_t stream, HrpbTiming *t)
{
  t->products = graph ? 1 : 2;
  if (graph) HrpbCallCuda(cudaGraphUpload(graph, stream));
  else HrpbCall(multiply(stream));
  HrpbCall(FillDense(p->B, p->ldb * p->N, INT32_MAX, stream));
  return TimeOnce(p, multiply, graph, event, stream, &t->seconds);
}

template <typename F> static HrpbError CallLaunch(void *multiply, HrpbStream stream)
{
  return (*(F *)multiply)(stream);
}

/*
   Time what multiply(stream) launches. Products that come again are graphs, in which several kernels take little longer
   than one. So are these
*/
template <typename F> static HrpbError Time(const HrpbProxy *p, F multiply, cudaStream_t stream, HrpbTiming *t)
{
  SpmmGraph   graph    = SpmmCapture(CallLaunch<F>, &multiply);
  cudaEvent_t event[2] = {NULL, NULL};
  cudaError_t cuda     = cudaEventCreate(&event[0]);
  HrpbError   err;

  if (cuda == cudaSuccess) cuda = cudaEventCreate(&event[1]);
  err = cuda == cudaSuccess ? TimeWith(p, multiply, graph, event, stream, t) : HrpbDeviceError(cuda);
  for (int i = 0; i < 2; i++) {
    if (event[i] && (cuda = cudaEventDestroy(event[i])) != cudaSuccess && !err) err = HrpbDeviceError(cuda);
  }
  if (graph && (cuda = cudaGraphExecDestroy(graph)) != cudaSuccess && !err) err = HrpbDeviceError(cuda);
  return err;
}

static int32_t LeadingDimensionOfCopy(const SpmmKernel *kernel, int64_t N)
{
  return kernel && kernel->copies ? kernel->copies(N) : 0;
}

/* The kernel that A gets for N columns. Before there are bricks, params says what they will be */
static HrpbError Choose(SpmmMatrix A, SpmmFormat format, const HrpbParams *params, int64_t N, const SpmmKernel **kernel)
{
  const SpmmFacts    facts = SpmmFactsOf(&A);
  const SpmmOperands plain = SpmmPlain(N, NULL, 0, NULL, 0);
  const SpmmDevice  *device;

  HrpbCall(SpmmGetDevice(&device));
  *kernel = SpmmChooseKernel(SPMM_OP_PRODUCT, format, false, &facts, params, &plain, device);
  return *kernel ? HRPB_SUCCESS : HRPB_ERR_UNSUPPORTED;
}

int32_t HrpbCopyForBricks(const HrpbProxy *p, const HrpbParams *params)
{
  const SpmmKernel *kernel;

  return Choose({}, SPMM_BRICKS, params, p->N, &kernel) ? 0 : LeadingDimensionOfCopy(kernel, p->N);
}

int32_t HrpbCopyForCsr(const HrpbProxy *p, const CsrSchedule *matrix, int64_t N)
{
  const SpmmKernel *kernel;

  return Choose({.nrows = matrix->nrows, .ncols = matrix->ncols, .csr = matrix}, SPMM_CSR, NULL, N, &kernel) ? 0 : LeadingDimensionOfCopy(kernel, p->N);
}

/* Time products of A, which has the rows of the proxy, by this kernel */
static HrpbError TimeKernel(const HrpbProxy *p, const SpmmKernel *kernel, const SpmmMatrix *A, HrpbStream stream, HrpbTiming *t)
{
  const SpmmOperands plain = SpmmPlain(p->N, p->B, p->ldb, p->C, p->ldc);
  uint8_t           *work;
  size_t             bytes;
  HrpbError          err;

  HrpbCall(SpmmWork(kernel, A, &plain, &bytes));
  HrpbCall(HrpbAllocate(&work, (int64_t)bytes, stream));
  err = Time(p, [&](cudaStream_t at) { return SpmmRun(kernel, A, &plain, work, at); }, stream, t);
  return HrpbFree(work, err, stream);
}

/* The bricks, and what is needed beside them */
static HrpbError TimeBricks(const HrpbProxy *p, const Hrpb *h, HrpbPrecision precision, HrpbStream stream, HrpbSchedule *s, HrpbScalar **values, HrpbTiming *t)
{
  const SpmmKernel *kernel;
  SpmmMatrix        A;

  HrpbCall(Choose({.hrpb = h}, SPMM_BRICKS, &h->params, p->N, &kernel));
  t->ldr = LeadingDimensionOfCopy(kernel, p->N);
  if (t->ldr && h->params.window_cols > 1) return HRPB_ERR_UNSUPPORTED;
  HrpbCall(HrpbScheduleDevice(h, stream, s));
  HrpbCall(HrpbAllocate(values, (int64_t)HrpbValueCount(h), stream));
  HrpbCall(HrpbPackValuesDevice(h, p->rowptr, p->colidx, p->values, NULL, *values, stream));
  A = {.nrows = p->nrows, .ncols = p->ncols, .hrpb = h, .schedule = s, .brick_values = *values, .precision = precision};
  return TimeKernel(p, kernel, &A, stream, t);
}

HrpbError HrpbTimeBricksDevice(const HrpbProxy *p, const HrpbParams *params, HrpbPrecision precision, HrpbStream stream, HrpbTiming *t)
{
  HrpbSchedule s      = {};
  HrpbScalar  *values = NULL;
  Hrpb         h;
  HrpbError    err;

  *t = {};
  HrpbCall(HrpbBuildDevice(p->nrows, p->ncols, p->rowptr, p->colidx, NULL, params, stream, &h));
  err = TimeBricks(p, &h, precision, stream, &s, &values, t);
  err = HrpbFree(values, err, stream);
  HrpbScheduleDestroyDevice(&s, stream);
  HrpbDestroyDevice(&h, stream);
  return err;
}

/*
   The proxy is multiplied by csr-staged if the matrix is, and not otherwise. Where segments meet, a panel may need more
   rows of B than fit. A proxy that is the matrix itself has the matrix's own schedule
*/
static HrpbError CsrSamePanels(const HrpbProxy *p, const CsrSchedule *matrix, int64_t N, HrpbStream stream, CsrSchedule *s)
{
  const int32_t panel_rows = matrix->panels_sampled || N <= matrix->direct_columns ? 0 : matrix->panel_rows;

  if (p->share >= 1) return HRPB_SUCCESS;
  if (s->panel_rows != panel_rows) {
    CsrPanelsDestroy(s, stream);
    if (panel_rows) HrpbCall(CsrPanelsDevice(p->rowptr, p->colidx, panel_rows, stream, s));
  }
  return s->panel_rows == panel_rows ? HRPB_SUCCESS : HRPB_ERR_UNSUPPORTED;
}

/*
   The panels of csr-staged are not whole waves in the proxy. Some multiprocessors have none in the last turn, so its
   time counts for the share of those that have one. 1 for the matrix itself, and for other kernels
*/
static HrpbError ShareOfTurns(const HrpbProxy *p, const CsrSchedule *s, double *share)
{
  const SpmmDevice *device;
  int64_t           npanels, turns;

  *share = 1;
  if (!s->panel_rows || p->share >= 1) return HRPB_SUCCESS;
  HrpbCall(SpmmGetDevice(&device));
  npanels = (p->nrows + s->panel_rows - 1) / s->panel_rows;
  turns   = (npanels + device->nsm - 1) / device->nsm;
  *share  = (double)npanels / (double)(turns * device->nsm);
  return HRPB_SUCCESS;
}

/*
   The kernel is the one of the matrix and of N. A unit consists of whole thread blocks of csr-rows, so rows_entries
   holds
*/
static HrpbError TimeCsr(const HrpbProxy *p, const CsrSchedule *matrix, int64_t N, HrpbStream stream, CsrSchedule *s, HrpbTiming *t)
{
  const SpmmMatrix  A = {.nrows = p->nrows, .ncols = p->ncols, .rowptr = p->rowptr, .colidx = p->colidx, .values = p->values, .csr = s};
  const SpmmKernel *kernel;
  double            share;

  s->rows_entries  = matrix->rows_entries;
  s->narrow_tiles  = matrix->narrow_tiles;
  s->eight_columns = N > matrix->eight_columns ? 0 : HRPB_MAX_COLUMNS;
  s->eight_anyway  = matrix->eight_anyway;
  s->longest       = matrix->longest;
  HrpbCall(Choose({.nrows = matrix->nrows, .ncols = matrix->ncols, .csr = matrix}, SPMM_CSR, NULL, N, &kernel));
  HrpbCall(CsrSamePanels(p, matrix, N, stream, s));
  t->ldr = LeadingDimensionOfCopy(kernel, p->N);
  HrpbCall(ShareOfTurns(p, s, &share));
  HrpbCall(TimeKernel(p, kernel, &A, stream, t));
  t->seconds *= share;
  return HRPB_SUCCESS;
}

HrpbError HrpbTimeCsrDevice(const HrpbProxy *p, const CsrSchedule *matrix, int64_t N, HrpbStream stream, HrpbTiming *t)
{
  CsrSchedule s = *matrix; /* its arrays, too, are those of the proxy if it is the matrix */
  HrpbError   err;

  *t = {};
  if (p->share < 1) HrpbCall(CsrScheduleDevice(p->nrows, p->ncols, p->rowptr, p->colidx, stream, &s));
  err = TimeCsr(p, matrix, N, stream, &s, t);
  if (p->share < 1) CsrScheduleDestroyDevice(&s, stream);
  return err;
}

HrpbError HrpbTimeCopyDevice(const HrpbProxy *p, int32_t ldr, HrpbStream stream, HrpbTiming *t)
{
  const int32_t N = (int32_t)p->N, nrows = (int32_t)p->ncols;
  HrpbScalar   *R = NULL;
  HrpbError     err;

  *t = {};
  HrpbCall(HrpbAllocate(&R, (int64_t)nrows * ldr, stream));
  err = Time(p, [&](cudaStream_t at) { return ldr ? RowMajor(p->B, p->ldb, nrows, N, R, nrows, ldr, at) : FillDense(p->C, 0, 1, at); }, stream, t);
  return HrpbFree(R, err, stream);
}
