/*
   The builders on the device against those on the host: every number, every byte, and the packed values. No PETSc.

     gcc -O2 -std=gnu11 -Ikernels -c kernels/format/{hrpb,input,build,pack,count}.c
     nvcc -O3 -arch=sm_90 -Ikernels test/device/build.cu kernels/format/{build,windows,input,pack,count}.cu
     kernels/common/{device,scan}.cu *.o -o test-build

   with -DHRPB_USE_SINGLE or -DHRPB_USE_INT64 in both commands for other types of numbers.

     test-build            all tests
     test-build -small     few and small ones, to run under compute-sanitizer
     test-build -time n    times on the stencil of three unknowns a node and 27 neighbours on n^3 nodes
*/
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include <cuda_runtime.h>

#include "common/device.cuh"

static int npassed, nfailed;

static void Report(bool ok, const char *format, const char *what, const char *where)
{
  if (ok) npassed++;
  else {
    nfailed++;
    printf("FAILED: ");
    printf(format, what, where);
    printf("\n");
  }
}

#define CallCuda(...)                                                             \
  do {                                                                            \
    const cudaError_t err_ = (__VA_ARGS__);                                       \
    if (err_ != cudaSuccess) {                                                    \
      printf("build: %s:%d: %s\n", __FILE__, __LINE__, cudaGetErrorString(err_)); \
      exit(2);                                                                    \
    }                                                                             \
  } while (0)

static void *Allocate(size_t n)
{
  void *p = malloc(n ? n : 1);

  if (!p) {
    printf("build: out of memory\n");
    exit(2);
  }
  return p;
}

/* A copy of n bytes; n may be zero */
static void *ToDevice(const void *from, size_t n)
{
  void *p;

  CallCuda(cudaMalloc(&p, n ? n : 1));
  CallCuda(cudaMemcpy(p, from, n, cudaMemcpyHostToDevice));
  return p;
}

static void *ToHost(const void *from, size_t n)
{
  void *p = Allocate(n);

  CallCuda(cudaMemcpy(p, from, n, cudaMemcpyDeviceToHost));
  return p;
}

/* Random numbers, the same in every run */
static uint64_t seed = 1;

static int64_t Random(int64_t n)
{
  seed = seed * 6364136223846793005u + 1442695040888963407u;
  return (int64_t)((seed >> 24) % (uint64_t)n);
}

/* ---- Matrices ---- */

typedef struct {
  const char *name;
  int64_t     nrows, ncols, base; /* rowptr[0] */
  int64_t     n, room;            /* entries, including those before base */
  HrpbInt    *rowptr, *colidx;
  HrpbScalar *values;
  /* the copies on the device */
  HrpbInt    *drowptr, *dcolidx;
  HrpbScalar *dvalues;
} Matrix;

static Matrix Begin(const char *name, int64_t ncols, int64_t maxrows, int64_t base)
{
  Matrix m = {};

  m.name      = name;
  m.ncols     = ncols;
  m.base      = base;
  m.n         = base;
  m.room      = base + 1024;
  m.rowptr    = (HrpbInt *)Allocate(sizeof(*m.rowptr) * (size_t)(maxrows + 1));
  m.colidx    = (HrpbInt *)Allocate(sizeof(*m.colidx) * (size_t)m.room);
  m.rowptr[0] = (HrpbInt)base;
  for (int64_t i = 0; i < base; i++) m.colidx[i] = -1; /* nothing may read these */
  return m;
}

static void Add(Matrix *m, int64_t column)
{
  if (m->n == m->room) {
    HrpbInt *more = (HrpbInt *)Allocate(sizeof(*more) * (size_t)m->room * 2);

    memcpy(more, m->colidx, sizeof(*more) * (size_t)m->n);
    free(m->colidx);
    m->colidx = more;
    m->room *= 2;
  }
  m->colidx[m->n++] = (HrpbInt)column;
}

static int Compare(const void *a, const void *b)
{
  const HrpbInt x = *(const HrpbInt *)a, y = *(const HrpbInt *)b;

  return x < y ? -1 : x > y;
}

/* End a row: its columns sorted, each once */
static void EndRow(Matrix *m)
{
  const int64_t begin = m->rowptr[m->nrows];
  int64_t       end   = begin;

  qsort(m->colidx + begin, (size_t)(m->n - begin), sizeof(*m->colidx), Compare);
  for (int64_t k = begin; k < m->n; k++) {
    if (k == begin || m->colidx[k] != m->colidx[end - 1]) m->colidx[end++] = m->colidx[k];
  }
  m->n                  = end;
  m->rowptr[++m->nrows] = (HrpbInt)end;
}

static void AddRandom(Matrix *m, int64_t n)
{
  for (int64_t i = 0; i < n; i++) Add(m, Random(m->ncols));
}

/* Finish the matrix: give it values, all different, and copy it to the device */
static Matrix End(Matrix m)
{
  m.values = (HrpbScalar *)Allocate(sizeof(*m.values) * (size_t)m.n);
  for (int64_t k = 0; k < m.n; k++) m.values[k] = (HrpbScalar)(k + 1);
  m.drowptr = (HrpbInt *)ToDevice(m.rowptr, sizeof(*m.rowptr) * (size_t)(m.nrows + 1));
  m.dcolidx = (HrpbInt *)ToDevice(m.colidx, sizeof(*m.colidx) * (size_t)m.n);
  m.dvalues = (HrpbScalar *)ToDevice(m.values, sizeof(*m.values) * (size_t)m.n);
  return m;
}

static void Free(Matrix *m)
{
  free(m->rowptr);
  free(m->colidx);
  free(m->values);
  CallCuda(cudaFree(m->drowptr));
  CallCuda(cudaFree(m->dcolidx));
  CallCuda(cudaFree(m->dvalues));
}

/* The pattern of the real matrix of a complex one: each entry becomes a block of 2 x 2 */
static Matrix Doubled(const Matrix *m)
{
  Matrix d = Begin(m->name, 2 * m->ncols, 2 * m->nrows, m->base);

  for (int64_t i = 0; i < 2 * m->nrows; i++) {
    for (HrpbInt k = m->rowptr[i / 2]; k < m->rowptr[i / 2 + 1]; k++) {
      Add(&d, 2 * (int64_t)m->colidx[k]);
      Add(&d, 2 * (int64_t)m->colidx[k] + 1);
    }
    EndRow(&d);
  }
  return End(d);
}

static Matrix RandomMatrix(const char *name, int64_t nrows, int64_t ncols, int64_t most, int64_t base)
{
  Matrix m = Begin(name, ncols, nrows, base);

  for (int64_t i = 0; i < nrows; i++) {
    AddRandom(&m, Random(most + 1));
    EndRow(&m);
  }
  return End(m);
}

static Matrix Tridiagonal(int64_t n)
{
  Matrix m = Begin("tridiagonal", n, n, 0);

  for (int64_t i = 0; i < n; i++) {
    for (int64_t j = i - 1; j <= i + 1; j++) {
      if (j >= 0 && j < n) Add(&m, j);
    }
    EndRow(&m);
  }
  return End(m);
}

/* Three unknowns a node, 27 neighbours, n^3 nodes. Made in order, because it may be large */
static Matrix Stencil(int64_t n)
{
  Matrix m = Begin("stencil", 3 * n * n * n, 3 * n * n * n, 0);

  free(m.colidx);
  m.room   = 243 * n * n * n;
  m.colidx = (HrpbInt *)Allocate(sizeof(*m.colidx) * (size_t)m.room);
  for (int64_t i = 0; i < 3 * n * n * n; i++) {
    const int64_t x = i / 3 % n, y = i / 3 / n % n, z = i / 3 / n / n;

    for (int64_t w = z - 1; w <= z + 1; w++) {
      for (int64_t v = y - 1; v <= y + 1; v++) {
        for (int64_t u = x - 1; u <= x + 1; u++) {
          if (u < 0 || v < 0 || w < 0 || u >= n || v >= n || w >= n) continue;
          for (int d = 0; d < 3; d++) m.colidx[m.n++] = (HrpbInt)(3 * ((w * n + v) * n + u) + d);
        }
      }
    }
    m.rowptr[++m.nrows] = (HrpbInt)m.n;
  }
  return End(m);
}

/* Few entries a row, but every step-th row full */
static Matrix DenseRows(const char *name, int64_t nrows, int64_t ncols, int64_t step)
{
  Matrix m = Begin(name, ncols, nrows, 0);

  for (int64_t i = 0; i < nrows; i++) {
    if (i % step == step / 2) {
      for (int64_t j = 0; j < ncols; j++) Add(&m, j);
    } else AddRandom(&m, 3);
    EndRow(&m);
  }
  return End(m);
}

static Matrix OneEntryRows(int64_t nrows, int64_t ncols)
{
  Matrix m = Begin("one entry a row", ncols, nrows, 0);

  for (int64_t i = 0; i < nrows; i++) {
    AddRandom(&m, 1);
    EndRow(&m);
  }
  return End(m);
}

/* Runs of rows with entries and runs without, in turn. The first run is empty */
static Matrix EmptyRuns(const char *name, int64_t nrows, int64_t ncols, int64_t run)
{
  Matrix m = Begin(name, ncols, nrows, 0);

  for (int64_t i = 0; i < nrows; i++) {
    if (i / run % 2 == 1) AddRandom(&m, 5);
    EndRow(&m);
  }
  return End(m);
}

/* A row with n entries, in every other column; rows that are just too long for a warp; and short ones */
static Matrix LongRow(int64_t n)
{
  const int64_t lengths[] = {3, 2047, 2048, 2049, 0, 5000, 1, 40};
  Matrix        m         = Begin("long row", 2 * n + 5000, 70, 0);

  for (int64_t i = 0; i < 70; i++) {
    if (i == 33) {
      for (int64_t j = 0; j < n; j++) Add(&m, 2 * j + Random(2));
    } else if (i < 48) AddRandom(&m, lengths[i % 8]);
    else {
      for (int64_t j = 0; j < lengths[i % 8]; j++) Add(&m, n / 2 + 3 * j);
    }
    EndRow(&m);
  }
  return End(m);
}

/* All rows have few groups of columns, which lie far apart */
static Matrix FarColumns(int64_t nrows, int64_t ncols)
{
  Matrix m = Begin("columns far apart", ncols, nrows, 0);

  for (int64_t i = 0; i < nrows; i++) {
    const int64_t groups[] = {0, ncols / 3 + i, ncols - 40};

    for (int g = 0; g < 3; g++) {
      for (int64_t j = Random(5); j > 0; j--) Add(&m, groups[g] + Random(40));
    }
    EndRow(&m);
  }
  return End(m);
}

/* ---- Comparisons ---- */

static void Describe(char where[256], const Matrix *m, const HrpbParams *p, const char *order)
{
  snprintf(where, 256, "%s (%lld x %lld), bricks of %d rows, panels of %d, blocks of %d, windows of %d%s, %s order", m->name, (long long)m->nrows, (long long)m->ncols, p->brick_rows, p->panel_rows, p->block_cols, p->window_cols, p->pairs ? ", pairs" : "", order);
}

/* Compare an array of the device with one of the host */
static void CompareArray(const char *what, const char *where, const void *host, const void *device, size_t n)
{
  char  name[128];
  void *copy;

  if (!host || !device) {
    Report(host == device, "%s is on one side only: %s", what, where);
    return;
  }
  copy = ToHost(device, n);
  if (memcmp(host, copy, n)) {
    size_t i = 0;

    while (((const char *)host)[i] == ((const char *)copy)[i]) i++;
    snprintf(name, sizeof(name), "%s differs at byte %zu of %zu (%d, not %d)", what, i, n, ((const unsigned char *)copy)[i], ((const unsigned char *)host)[i]);
    Report(false, "%s: %s", name, where);
  } else npassed++;
  free(copy);
}

static void CompareNumber(const char *what, const char *where, int64_t host, int64_t device)
{
  char name[128];

  snprintf(name, sizeof(name), "%s is %lld, not %lld", what, (long long)device, (long long)host);
  Report(host == device, "%s: %s", name, where);
}

static void CompareFormats(const char *where, const Hrpb *a, const Hrpb *b)
{
#define Number(x) CompareNumber(#x, where, (int64_t)a->x, (int64_t)b->x)
  const int before = nfailed;

  Number(params.brick_rows);
  Number(params.panel_rows);
  Number(params.block_cols);
  Number(params.window_cols);
  Number(params.pairs);
  Number(nrows);
  Number(ncols);
  Number(nnz);
  Number(npanels);
  Number(nblocks);
  Number(nbricks);
  Number(nwindows);
  Number(nbrick_cols);
  Number(pattern_bytes);
  Number(value_count);
  Number(max_pattern);
  Number(max_values);
#undef Number
  if (nfailed > before) return; /* the lengths of these arrays may differ */
  CompareArray("order", where, a->order, b->order, sizeof(*a->order) * (size_t)a->nrows);
  CompareArray("blocked_row_ptr", where, a->blocked_row_ptr, b->blocked_row_ptr, sizeof(*a->blocked_row_ptr) * ((size_t)a->npanels + 1));
  CompareArray("pattern_ptr", where, a->pattern_ptr, b->pattern_ptr, sizeof(*a->pattern_ptr) * ((size_t)a->nblocks + 1));
  CompareArray("value_ptr", where, a->value_ptr, b->value_ptr, sizeof(*a->value_ptr) * ((size_t)a->nblocks + 1));
  CompareArray("window_ptr", where, a->window_ptr, b->window_ptr, sizeof(*a->window_ptr) * ((size_t)a->nblocks + 1));
  CompareArray("windows", where, a->windows, b->windows, sizeof(*a->windows) * (size_t)a->nwindows);
  CompareArray("pattern", where, a->pattern, b->pattern, (size_t)a->pattern_bytes);
}

static void ComparePacked(const char *where, const Matrix *m, const Hrpb *a, const Hrpb *b)
{
  const size_t n      = sizeof(HrpbScalar) * (size_t)a->value_count;
  HrpbScalar  *values = (HrpbScalar *)Allocate(n), *dvalues;
  int32_t     *map;
  HrpbError    err;

  CallCuda(cudaMalloc((void **)&dvalues, n ? n : 1));
  CallCuda(cudaMemset(dvalues, 0xff, n)); /* marks what is not written */
  HrpbPackValuesHost(a, m->rowptr, m->values, values);
  err = HrpbPackValuesDevice(b, m->drowptr, m->dcolidx, m->dvalues, NULL, dvalues, 0);
  CallCuda(cudaStreamSynchronize(0));
  Report(!err, "HrpbPackValuesDevice(): %s: %s", HrpbErrorString(err), where);
  CompareArray("values", where, values, dvalues, n);

  CallCuda(cudaMalloc((void **)&map, sizeof(*map) * (size_t)a->value_count + 1));
  CallCuda(cudaMemset(dvalues, 0xff, n));
  err = HrpbMapValuesDevice(b, m->drowptr, m->dcolidx, NULL, map, 0);
  if (!err) err = HrpbTakeValuesDevice(b, map, m->dvalues, dvalues, 0);
  CallCuda(cudaStreamSynchronize(0));
  Report(!err, "HrpbMapValuesDevice(), HrpbTakeValuesDevice(): %s: %s", HrpbErrorString(err), where);
  CompareArray("values by a map", where, values, dvalues, n);
  CallCuda(cudaFree(map));
  free(values);
  CallCuda(cudaFree(dvalues));
}

static int ncut; /* builds in which blocks were cut because they have many values */

static bool HasCutBlocks(const Hrpb *h)
{
  const uint32_t most = (uint32_t)(h->params.block_cols / h->params.window_cols);
  int64_t        nblocks = 0;

  for (int32_t p = 0; p < h->npanels; p++) nblocks += (h->window_ptr[h->blocked_row_ptr[p + 1]] - h->window_ptr[h->blocked_row_ptr[p]] + most - 1) / most;
  return h->nblocks > nblocks;
}

/* A build that goes by a survey has the same bytes as one that checks the matrix itself */
static void TestSurveyedBuild(const char *where, const Matrix *m, const HrpbParams *p, const Hrpb *host)
{
  HrpbSurvey survey;
  Hrpb       b;

  CompareNumber("error of HrpbSurveyDevice()", where, HRPB_SUCCESS, HrpbSurveyDevice(m->nrows, m->ncols, m->drowptr, m->dcolidx, 0, &survey));
  const HrpbError err = HrpbBuildSurveyedDevice(m->nrows, m->ncols, m->drowptr, m->dcolidx, &survey, p, 0, &b);

  CompareNumber("error of HrpbBuildSurveyedDevice()", where, HRPB_SUCCESS, err);
  if (err) return;
  CompareFormats(where, host, &b);
  HrpbDestroyDevice(&b, NULL);
}

static void TestBuild(const Matrix *m, const HrpbParams *p, const char *order_name, const int32_t *order, const int32_t *dorder)
{
  char            where[256];
  Hrpb            a, b;
  const HrpbError host   = HrpbBuildHost(m->nrows, m->ncols, m->rowptr, m->colidx, order, p, &a);
  const HrpbError device = HrpbBuildDevice(m->nrows, m->ncols, m->drowptr, m->dcolidx, dorder, p, 0, &b);

  Describe(where, m, p, order_name);
  if (device == HRPB_ERR_DEVICE || device == HRPB_ERR_DEVICE_MEMORY) printf("CUDA: %s\n", HrpbDeviceErrorString());
  CompareNumber("error of HrpbBuildDevice()", where, host, device);
  if (!host && !device) {
    const int before = nfailed;

    ncut += HasCutBlocks(&a);
    CompareFormats(where, &a, &b);
    if (nfailed == before) ComparePacked(where, m, &a, &b);
    if (!order) TestSurveyedBuild(where, m, p, &a);
  }
  if (!host) HrpbDestroy(&a);
  if (!device) HrpbDestroyDevice(&b, NULL);
}

/* Windows that the host's builder finds */
static int64_t HostWindows(const Matrix *m, HrpbParams p, int64_t *most)
{
  Hrpb    h;
  int64_t n = 0;

  *most = 0;
  if (!HrpbBuildHost(m->nrows, m->ncols, m->rowptr, m->colidx, NULL, &p, &h)) {
    n = h.nwindows;
    for (int32_t i = 0; i < h.npanels; i++) {
      const int64_t windows = h.window_ptr[h.blocked_row_ptr[i + 1]] - h.window_ptr[h.blocked_row_ptr[i]];

      if (windows > *most) *most = windows;
    }
    HrpbDestroy(&h);
  }
  return n;
}

static void TestSurvey(const Matrix *m)
{
  const HrpbParams staged = HrpbStagedParams();
  HrpbParams       single = staged;
  char             where[256];
  int64_t          cols8, cols16, windows, most;
  HrpbSurvey       s;
  HrpbError        err;

  single.window_cols = 1;
  Describe(where, m, &staged, "natural");
  err = HrpbCountStripColumns(m->nrows, m->ncols, m->rowptr, m->colidx, 8, &cols8);
  if (!err) err = HrpbCountStripColumns(m->nrows, m->ncols, m->rowptr, m->colidx, 16, &cols16);
  CompareNumber("error of HrpbSurveyDevice()", where, err, HrpbSurveyDevice(m->nrows, m->ncols, m->drowptr, m->dcolidx, 0, &s));
  CompareNumber("nonzeros", where, err ? 0 : m->rowptr[m->nrows] - m->rowptr[0], s.nnz);
  CompareNumber("columns of strips of 8", where, err ? 0 : cols8, s.strip_cols8);
  CompareNumber("columns of strips of 16", where, err ? 0 : cols16, s.strip_cols16);
  windows = HostWindows(m, staged, &most);
  CompareNumber("staged rows", where, windows * staged.window_cols, s.staged_rows);
  CompareNumber("most staged rows", where, most * staged.window_cols, s.most_staged_rows);
  CompareNumber("needed rows", where, HostWindows(m, single, &most), s.needed_rows);
}

/* Test every step-th choice of parameters, from the skip-th on */
static void SweepParams(const Matrix *m, const char *order_name, const int32_t *order, int64_t step, int64_t skip, int32_t pairs = 0)
{
  const int32_t panels[] = {0, 32, 64, 128, 136, 1024}, blocks[] = {4, 16, 32, 64, 256};
  int32_t      *dorder = order ? (int32_t *)ToDevice(order, sizeof(*order) * (size_t)m->nrows) : NULL;
  int64_t       choice = 0;

  for (int32_t bm = 8; bm <= 16; bm += 8) {
    for (int32_t panel : panels) {
      for (int32_t block : blocks) {
        for (int32_t window = 1; window <= 16; window *= 2) {
          const HrpbParams p = {bm, panel ? panel : bm, block, window, pairs};

          if (p.panel_rows % bm || block % window || p.panel_rows * block > HRPB_MAX_SLOTS || (pairs && window == 1)) continue;
          if (choice++ % step == skip % step) TestBuild(m, &p, order_name, order, dorder);
        }
      }
    }
  }
  CallCuda(cudaFree(dorder));
}

static void TestMatrix(Matrix m, int64_t step)
{
  static int64_t skip  = 0; /* each matrix gets other choices */
  int32_t       *order = (int32_t *)Allocate(sizeof(*order) * (size_t)m.nrows);

  SweepParams(&m, "natural", NULL, step, skip++);
  for (int64_t i = 0; i < m.nrows; i++) order[i] = (int32_t)(m.nrows - 1 - i);
  SweepParams(&m, "reversed", order, 3 * step, skip++);
  for (int64_t i = m.nrows - 1; i > 0; i--) {
    const int64_t j    = Random(i + 1);
    const int32_t swap = order[i];

    order[i] = order[j];
    order[j] = swap;
  }
  SweepParams(&m, "shuffled", order, 3 * step, skip++);
  TestSurvey(&m);
  {
    Matrix d = Doubled(&m);

    SweepParams(&d, "natural", NULL, 2 * step, skip++, 1);
    Free(&d);
  }
  free(order);
  Free(&m);
}

/* ---- What is refused ---- */

static bool IsZero(const Hrpb *h)
{
  Hrpb zero;

  memset(&zero, 0, sizeof(zero));
  return h->nrows == 0 && h->nblocks == 0 && h->nnz == 0 && !memcmp(&h->order, &zero.order, sizeof(zero) - offsetof(Hrpb, order));
}

static void TestRefused(const char *what, HrpbError expected, int64_t nrows, int64_t ncols, const HrpbInt *rowptr, const HrpbInt *colidx, const int32_t *order, HrpbParams p)
{
  HrpbInt *drowptr = (HrpbInt *)ToDevice(rowptr, sizeof(*rowptr) * 4), *dcolidx = (HrpbInt *)ToDevice(colidx, sizeof(*colidx) * 8);
  int32_t *dorder = order ? (int32_t *)ToDevice(order, sizeof(*order) * 3) : NULL;
  Hrpb       h;
  HrpbSurvey s;

  memset(&s, 0xff, sizeof(s));
  memset(&h, 0xff, sizeof(h));
  CompareNumber("error of HrpbBuildHost()", what, expected, HrpbBuildHost(nrows, ncols, rowptr, colidx, order, &p, &h));
  memset(&h, 0xff, sizeof(h));
  CompareNumber("error of HrpbBuildDevice()", what, expected, HrpbBuildDevice(nrows, ncols, drowptr, dcolidx, dorder, &p, 0, &h));
  Report(IsZero(&h), "%s is not zeroed: %s", "h", what);
  if (expected != HRPB_ERR_ORDER && expected != HRPB_ERR_PARAMETER && !p.pairs) {
    CompareNumber("error of HrpbSurveyDevice()", what, expected, HrpbSurveyDevice(nrows, ncols, drowptr, dcolidx, 0, &s));
    Report(s.nnz == 0 && s.strip_cols8 == 0 && s.strip_cols16 == 0 && s.staged_rows == 0 && s.most_staged_rows == 0 && s.needed_rows == 0, "%s is not zeroed: %s", "s", what);
  }
  CallCuda(cudaFree(drowptr));
  CallCuda(cudaFree(dcolidx));
  CallCuda(cudaFree(dorder));
}

static void TestRefusals(void)
{
  const HrpbParams p        = {8, 64, 32, 8};
  const HrpbParams bad[]    = {{7, 64, 32, 8}, {8, 60, 32, 8}, {16, 8, 32, 8}, {8, 1032, 4, 1}, {8, 64, 30, 2}, {8, 64, 260, 4}, {8, 64, 32, 3}, {8, 64, 32, 32}, {8, 64, 4, 8}, {8, 1024, 128, 8}, {8, 64, 32, 1, 1}, {8, 64, 32, 8, 2}, {8, 64, 32, 8, -1}};
  const HrpbParams pairs    = {8, 64, 32, 8, 1};
  const HrpbInt    pair_ptr[] = {0, 2, 4, 4}, pair[] = {2, 3, 2, 3, 0, 0, 0, 0}, askew[] = {3, 4, 3, 4, 0, 0, 0, 0}, apart[] = {2, 3, 4, 5, 0, 0, 0, 0}, half_ptr[] = {0, 2, 3, 3};
  const HrpbInt    rowptr[] = {0, 2, 5, 8}, colidx[] = {1, 4, 0, 3, 9, 2, 5, 6};
  const HrpbInt    negative_ptr[] = {-1, 2, 5, 8}, falling_ptr[] = {0, 5, 2, 8};
  const HrpbInt    unsorted[] = {1, 4, 3, 0, 9, 2, 5, 6}, unsorted_last[] = {1, 4, 0, 3, 9, 2, 6, 5}, duplicate[] = {4, 4, 0, 3, 9, 2, 5, 6};
  const HrpbInt    large[] = {1, 4, 0, 3, 10, 2, 5, 6}, negative[] = {-1, 4, 0, 3, 9, 2, 5, 6};
  const int32_t    order_twice[] = {0, 2, 2}, order_large[] = {0, 1, 3}, order_negative[] = {0, -1, 2};

  for (const HrpbParams &b : bad) TestRefused("a parameter that is not allowed", HRPB_ERR_PARAMETER, 3, 10, rowptr, colidx, NULL, b);
  TestRefused("a negative row pointer", HRPB_ERR_CSR, 3, 10, negative_ptr, colidx, NULL, p);
  TestRefused("falling row pointers", HRPB_ERR_CSR, 3, 10, falling_ptr, colidx, NULL, p);
  TestRefused("an unsorted row", HRPB_ERR_CSR, 3, 10, rowptr, unsorted, NULL, p);
  TestRefused("an unsorted last row", HRPB_ERR_CSR, 3, 10, rowptr, unsorted_last, NULL, p);
  TestRefused("a duplicate", HRPB_ERR_CSR, 3, 10, rowptr, duplicate, NULL, p);
  TestRefused("a column too large", HRPB_ERR_CSR, 3, 10, rowptr, large, NULL, p);
  TestRefused("a negative column", HRPB_ERR_CSR, 3, 10, rowptr, negative, NULL, p);
  TestRefused("an unsorted row and a wrong order", HRPB_ERR_CSR, 3, 10, rowptr, unsorted, order_twice, p);
  TestRefused("a row twice in the order", HRPB_ERR_ORDER, 3, 10, rowptr, colidx, order_twice, p);
  TestRefused("a row too large in the order", HRPB_ERR_ORDER, 3, 10, rowptr, colidx, order_large, p);
  TestRefused("a negative row in the order", HRPB_ERR_ORDER, 3, 10, rowptr, colidx, order_negative, p);
  TestRefused("pairs and an order", HRPB_ERR_ORDER, 2, 10, pair_ptr, pair, order_large, pairs);
  TestRefused("pairs of an odd number of rows", HRPB_ERR_CSR, 3, 10, pair_ptr, pair, NULL, pairs);
  TestRefused("pairs of an odd number of columns", HRPB_ERR_CSR, 2, 9, pair_ptr, pair, NULL, pairs);
  TestRefused("pairs that begin with an odd column", HRPB_ERR_CSR, 2, 10, pair_ptr, askew, NULL, pairs);
  TestRefused("rows that are no pairs", HRPB_ERR_CSR, 2, 10, pair_ptr, apart, NULL, pairs);
  TestRefused("half of a pair", HRPB_ERR_CSR, 2, 10, half_ptr, pair, NULL, pairs);
  TestRefused("a negative size", HRPB_ERR_CSR, -1, 10, rowptr, colidx, NULL, p);
  TestRefused("too many rows", HRPB_ERR_OVERFLOW, (int64_t)1 << 31, 10, rowptr, colidx, NULL, p);
  TestRefused("too many columns", HRPB_ERR_OVERFLOW, 3, (int64_t)1 << 31, rowptr, colidx, NULL, p);
}

/*
   As many columns as are allowed, with so few entries that the format is known. The host would need memory for all
   columns.
*/
static void TestLastColumn(int32_t brick_rows, int32_t window_cols)
{
  const HrpbParams p = {brick_rows, 64, 32, window_cols};
  const int64_t    n = INT32_MAX;
  Matrix           m = Begin("first and last column", n, 2, 0);
  char             where[256];
  HrpbScalar      *dvalues;
  Hrpb             h;
  HrpbError        err;

  Add(&m, 0);
  Add(&m, n - 1);
  EndRow(&m);
  EndRow(&m);
  m = End(m);
  Describe(where, &m, &p, "natural");
  err = HrpbBuildDevice(m.nrows, m.ncols, m.drowptr, m.dcolidx, NULL, &p, 0, &h);
  CompareNumber("error of HrpbBuildDevice()", where, HRPB_SUCCESS, err);
  if (!err) {
    const int32_t    windows[] = {0, (int32_t)((n - 1) / window_cols)};
    const HrpbScalar values[]  = {1, 2, 0, 0};

    CompareNumber("nblocks", where, 1, h.nblocks);
    CompareNumber("nwindows", where, 2, h.nwindows);
    CompareNumber("nbricks", where, 1, h.nbricks);
    CompareNumber("value_count", where, 4, h.value_count);
    if (h.nwindows == 2) CompareArray("windows", where, windows, h.windows, sizeof(windows));
    if (h.value_count == 4) {
      CallCuda(cudaMalloc((void **)&dvalues, sizeof(values)));
      err = HrpbPackValuesDevice(&h, m.drowptr, m.dcolidx, m.dvalues, NULL, dvalues, 0);
      CompareNumber("error of HrpbPackValuesDevice()", where, HRPB_SUCCESS, err);
      CompareArray("values", where, values, dvalues, sizeof(values));
      CallCuda(cudaFree(dvalues));
    }
    HrpbDestroyDevice(&h, NULL);
  }
  Free(&m);
}

/* Sums of two arrays at once, shorter and longer than what one thread block adds up */
static void TestSums(int64_t n, int64_t m)
{
  uint32_t *a = (uint32_t *)Allocate(sizeof(*a) * (size_t)(n + m + 2)), *b = a + n + 1, *da, *db;

  for (int64_t i = 0; i < n + m + 2; i++) a[i] = (uint32_t)Random(1 << 30);
  da = (uint32_t *)ToDevice(a, sizeof(*a) * (size_t)(n + 1));
  db = (uint32_t *)ToDevice(b, sizeof(*b) * (size_t)(m + 1));
  CompareNumber("error of HrpbSumsBefore()", "two arrays", HRPB_SUCCESS, HrpbSumsBefore(da, n, db, m, 0));
  for (uint32_t *x : {a, b}) {
    uint32_t sum = 0;

    for (int64_t i = 0, end = x == a ? n : m; i <= end; i++) {
      const uint32_t own = x[i];

      x[i] = sum;
      sum += own;
    }
  }
  CompareArray("sums", "first array", a, da, sizeof(*a) * (size_t)(n + 1));
  CompareArray("sums", "second array", b, db, sizeof(*b) * (size_t)(m + 1));
  CallCuda(cudaFree(da));
  CallCuda(cudaFree(db));
  free(a);
}

static void Test(bool small)
{
  const int64_t few = sizeof(HrpbScalar) == 8 ? 11 : 31; /* only packing depends on the precision */
  const int64_t s = small ? 8 : 1, step = small ? few : 3;

  TestRefusals();
  TestSums(0, 1);
  TestSums(257, 8192);
  TestSums(8193, 20000);
  TestSums(65536, 65537);
  for (int32_t window = 1; window <= 16; window *= 4) {
    TestLastColumn(8, window);
    TestLastColumn(16, window);
  }
  TestMatrix(RandomMatrix("no rows", 0, 10, 0, 0), s);
  TestMatrix(RandomMatrix("no columns", 20, 0, 0, 0), 9 * s);
  TestMatrix(RandomMatrix("nothing", 0, 0, 0, 3), 9 * s);
  TestMatrix(RandomMatrix("no entries", 3000 / s, 50, 0, 7), 9 * s);
  TestMatrix(DenseRows("one row", 1, 3000 / s, 1), step);
  TestMatrix(DenseRows("one column", 3000 / s, 1, 1), step);
  TestMatrix(DenseRows("full", 300 / s, 500 / s, 1), step);
  TestMatrix(DenseRows("full rows", 1500 / s, 3000 / s, 100), step);
  TestMatrix(RandomMatrix("random", 2500 / s, 3000 / s, 30, 0), step);
  TestMatrix(RandomMatrix("random with a base", 1237 / s, 400, 40, 5), step);
  TestMatrix(RandomMatrix("wide", 100, 200000 / s, 60, 0), step);
  TestMatrix(RandomMatrix("tall", 9000 / s, 50, 4, 0), step);
  TestMatrix(RandomMatrix("rows with one entry or none", 4000 / s, 3000, 1, 0), step);
  TestMatrix(OneEntryRows(3000 / s, 5000), step);
  TestMatrix(Tridiagonal(5003 / s), step);
  TestMatrix(EmptyRuns("empty runs of 8", 3000 / s, 700, 8), step);
  TestMatrix(EmptyRuns("empty runs of 64", 6000 / s, 700, 64), step);
  TestMatrix(EmptyRuns("empty runs of 1024", 9000 / s, 700, 1024 / s), step);
  TestMatrix(FarColumns(300 / s, 3000000 / s), 5 * step);
  TestMatrix(Stencil(small ? 4 : 12), 3 * step);
  TestMatrix(DenseRows("heavy panels", small ? 130 : 400, 40000, 61), small ? 50 : 20);
  TestMatrix(LongRow(small ? 10000 : 1000000), small ? 50 : 25);
  Report(ncut > 0, "%s%s", "no blocks were cut", "");
}

/* ---- Times ---- */

static double Seconds(void)
{
  struct timespec t;

  clock_gettime(CLOCK_MONOTONIC, &t);
  return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

static int CompareTimes(const void *a, const void *b)
{
  const double x = *(const double *)a, y = *(const double *)b;

  return x < y ? -1 : x > y;
}

enum {
  REPEATS = 5
};

static double Median(double t[REPEATS])
{
  qsort(t, REPEATS, sizeof(*t), CompareTimes);
  return t[REPEATS / 2];
}

static void CheckTimed(HrpbError err)
{
  if (!err) return;
  printf("build: %s (%s)\n", HrpbErrorString(err), HrpbDeviceErrorString());
  exit(2);
}

static void TimeBuild(const Matrix *m, HrpbParams p)
{
  double      build[REPEATS], pack[REPEATS], t;
  cudaEvent_t begin, end;
  Hrpb        h;

  CallCuda(cudaEventCreate(&begin));
  CallCuda(cudaEventCreate(&end));
  CheckTimed(HrpbBuildDevice(m->nrows, m->ncols, m->drowptr, m->dcolidx, NULL, &p, 0, &h)); /* loads the kernels */
  for (int i = 0; i < REPEATS; i++) {
    HrpbScalar *dvalues;
    float       ms;

    HrpbDestroyDevice(&h, NULL);
    CallCuda(cudaDeviceSynchronize());
    t = Seconds();
    CheckTimed(HrpbBuildDevice(m->nrows, m->ncols, m->drowptr, m->dcolidx, NULL, &p, 0, &h));
    build[i] = 1e3 * (Seconds() - t);

    CallCuda(cudaMalloc((void **)&dvalues, sizeof(*dvalues) * (size_t)(h.value_count + 1)));
    CheckTimed(HrpbPackValuesDevice(&h, m->drowptr, m->dcolidx, m->dvalues, NULL, dvalues, 0));
    CallCuda(cudaEventRecord(begin, 0));
    CheckTimed(HrpbPackValuesDevice(&h, m->drowptr, m->dcolidx, m->dvalues, NULL, dvalues, 0));
    CallCuda(cudaEventRecord(end, 0));
    CallCuda(cudaEventSynchronize(end));
    CallCuda(cudaEventElapsedTime(&ms, begin, end));
    pack[i] = ms;
    CallCuda(cudaFree(dvalues));
  }
  printf("bricks of %2d, panels of %4d, blocks of %3d, windows of %2d: build %.3f ms, pack %.3f ms; %d blocks, %lld bricks, %lld windows, %.1f MB of pattern\n", p.brick_rows, p.panel_rows, p.block_cols, p.window_cols, Median(build), Median(pack), h.nblocks, (long long)h.nbricks, (long long)h.nwindows, 1e-6 * (double)h.pattern_bytes);
  HrpbDestroyDevice(&h, NULL);
  CallCuda(cudaEventDestroy(begin));
  CallCuda(cudaEventDestroy(end));
}

static void Time(int64_t n)
{
  const int32_t windows[] = {1, 8, 16};
  Matrix        m         = Stencil(n);
  double        times[REPEATS];
  HrpbSurvey    survey;

  printf("stencil on %lld^3 nodes: %lld rows, %lld entries\n", (long long)n, (long long)m.nrows, (long long)m.n);
  for (int32_t bm = 8; bm <= 16; bm += 8) {
    for (int32_t window : windows) TimeBuild(&m, {bm, 64, 32, window});
  }
  CheckTimed(HrpbSurveyDevice(m.nrows, m.ncols, m.drowptr, m.dcolidx, 0, &survey));
  for (int i = 0; i < REPEATS; i++) {
    const double t = Seconds();

    CheckTimed(HrpbSurveyDevice(m.nrows, m.ncols, m.drowptr, m.dcolidx, 0, &survey));
    times[i] = 1e3 * (Seconds() - t);
  }
  printf("survey %.3f ms\n", Median(times));
  Free(&m);
}

int main(int argc, char **argv)
{
  if (argc == 3 && !strcmp(argv[1], "-time")) {
    Time(atoll(argv[2]));
    return 0;
  }
  if (argc > 2 || (argc == 2 && strcmp(argv[1], "-small"))) {
    printf("usage: %s [-small | -time n]\n", argv[0]);
    return 2;
  }
  Test(argc == 2);
  printf("build: %d passed, %d failed\n", npassed, nfailed);
  return nfailed ? 1 : 0;
}
