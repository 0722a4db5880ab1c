/*
   What each idea of the kernels brings. Every idea is switched off in turn, by itself. The product without it is timed
   beside the product with it and cuSPARSE's, in the same run, as the paper on FlashSparse does (section 4.3). A switch
   is something that the library lets one choose: format, schedule, kernel, precision, reordering. An idea that needs a
   copy of a kernel to be switched off has no switch here. No PETSc.

     test-ideas                    tests all these products
     test-ideas -small             few and small ones, to run under compute-sanitizer
     test-ideas -csv FILE          times them, minutes; appends to the table FILE
       [-columns 1,8,32,128]       numbers of columns of B
       [-matrices rmat,arrow]      some of the matrices
       [-commit X]                 what the table says of the version
*/
#include <time.h>

#include <string>

#include "matrices.cuh"
#include "order/reorder.h"
#include "common/rowmajor.cuh"

/* Products: first those with all ideas, then those that lack one */
enum {
  CUSPARSE,
  CUSPARSE_ROWS,  /* with row-major copies of B and C */
  CSR,            /* by the kernel that the schedule names */
  CSR_TOGETHER,   /* all columns together, where the schedule says column by column */
  CSR_BY_COLUMN,  /* column by column */
  CSR_UNSTAGED,   /* rows of B from global memory or a copy, in place of shared memory */
  CSR_COPY,       /* with a copy of B, in place of rows as they come */
  CSR_WIDE,       /* from a copy of B, in wide tiles */
  CSR_FOUR,       /* from a copy of B, by four lanes a row */
  CSR_WHOLE_ROWS, /* with a copy of B; no row is cut */
  STAGED,
  STAGED_WHOLE, /* no panel is cut */
  STAGED_ODD,   /* B has an odd leading dimension, so not all columns are aligned to 16 bytes */
  STAGED_TF32,
  ROWS_8,    /* panels of 64 rows, bricks of 8 rows */
  PANELS_64, /* panels of 64 rows, bricks of 16 rows */
  PANELS_32,
  NARROW_WINDOWS,
  HALF_BLOCKS,
  GATHERED,
  GATHERED_WHOLE,
  ORDERED, /* bricks of the reordered matrix; B is copied to its order, and C back */
  NVARIANTS
};

typedef struct {
  const char *name;
  int         on, off; /* the products with it and without */
} Idea;

#if defined(HRPB_USE_SINGLE)
  #define NARROW       4
  #define ROWS_IDEA    "bricks of 16 rows and blocks of 128 columns (not 8 and 64), panels of 64"
  #define WINDOWS_IDEA "windows of 8 columns (not 4)"
  #define BLOCKS_IDEA  "blocks of 128 columns (not 64)"
#else
  #define NARROW       2
  #define ROWS_IDEA    "bricks of 16 rows (not 8), panels of 64"
  #define WINDOWS_IDEA "windows of 8 columns (not 2)"
  #define BLOCKS_IDEA  "blocks of 64 columns (not 32)"
#endif

static const Idea ideas[] = {
  {"bricks (not CSR)", STAGED, CSR},
  {ROWS_IDEA, PANELS_64, ROWS_8},
  {"panels of 128 rows (not 64)", STAGED, PANELS_64},
  {"panels of 128 rows (not 32)", STAGED, PANELS_32},
  {WINDOWS_IDEA, STAGED, NARROW_WINDOWS},
  {BLOCKS_IDEA, STAGED, HALF_BLOCKS},
  {"B in place (not gathered)", STAGED, GATHERED},
  {"B with columns aligned to 16 bytes (not an odd number of rows)", STAGED, STAGED_ODD},
  {"heavy panels cut", STAGED, STAGED_WHOLE},
  {"heavy panels cut, gathered", GATHERED, GATHERED_WHOLE},
  {"three products of TF32 (not one)", STAGED, STAGED_TF32},
  {"reordered", ORDERED, STAGED},
  {"reordered bricks (not CSR)", ORDERED, CSR},
  {"CSR (not cuSPARSE with row-major copies)", CSR, CUSPARSE_ROWS},
  {"CSR: column by column (not together)", CSR, CSR_TOGETHER},
  {"CSR: columns together (not one by one)", CSR, CSR_BY_COLUMN},
  {"CSR: rows of B in shared memory (not by columns or from a copy)", CSR, CSR_UNSTAGED},
  {"CSR: rows as they come (not a copy of B)", CSR_UNSTAGED, CSR_COPY},
  {"CSR: narrow tiles of a copy of B (not wide)", CSR, CSR_WIDE},
  {"CSR: eight lanes for a row of a copy of B (not four)", CSR, CSR_FOUR},
  {"CSR: long rows cut", CSR, CSR_WHOLE_ROWS}
};

/* A product of a matrix, if it can be had */
typedef struct {
  const char   *name;
  bool          possible;
  CsrSchedule   csr;      /* schedule of a product with CSR */
  DeviceBricks  bricks;   /* bricks, owned or borrowed from another product */
  HrpbSchedule  schedule; /* schedule of the bricks: which panels are cut */
  HrpbPrecision precision;
  bool          is_csr, owns, odd, ordered;
} Variant;

typedef struct {
  const Matrix *A;
  DeviceCsr     csr;
  HrpbReordered order;
  Variant       variants[NVARIANTS];
} Subject;

static const HrpbPrecision full = sizeof(HrpbScalar) == 4 ? HRPB_3XTF32 : HRPB_FP64;

static double Bound(const Variant *v)
{
  return v->precision == HRPB_TF32 ? 1.3e-3 : sizeof(HrpbScalar) == 4 ? 1e-6 : 2e-15;
}

static HrpbSchedule WholePanels(const Hrpb *h)
{
  return {h->npanels, 0, 0, NULL, NULL};
}

static void SetCsr(Subject *s, int variant, const char *name, int32_t direct_columns, int32_t rows_entries, int32_t panel_rows)
{
  Variant *v = &s->variants[variant];

  *v                    = {name, true, s->csr.schedule, {}, {}, full, true, false, false, false};
  v->csr.direct_columns = direct_columns;
  v->csr.rows_entries   = rows_entries;
  v->csr.panel_rows     = panel_rows;
}

static void SetBricks(Subject *s, int variant, const char *name, const HrpbParams *params)
{
  const Matrix      *A = s->A;
  const DeviceBricks b = BricksOnDevice(A->nrows, A->ncols, s->csr.rowptr, s->csr.colidx, NULL, s->csr.values, params);

  s->variants[variant] = {name, true, {}, b, b.schedule, full, false, true, false, false};
}

/* The schedule or the bricks of another variant */
static Variant *SetLike(Subject *s, int variant, const char *name, int other)
{
  Variant *v = &s->variants[variant];

  *v      = s->variants[other];
  v->name = name;
  v->owns = false;
  return v;
}

/* Whether the matrix has a reordering that is found soon */
static void SetOrdered(Subject *s)
{
  const HrpbParams params = HrpbStagedParams();
  const DeviceCsr *d      = &s->csr;
  HrpbError        err;
  DeviceBricks     b;

  if (s->A->nrows != s->A->ncols || s->A->colidx.empty()) return;
  err = HrpbReorderDevice(s->A->nrows, d->rowptr, d->colidx, 500, NULL, &s->order);
  if (err == HRPB_ERR_UNSUPPORTED) return;
  Check(err);
  b                    = BricksOnDevice(s->order.n, s->order.n, s->order.rowptr, s->order.colidx, s->order.entry, d->values, &params);
  s->variants[ORDERED] = {"ordered", true, {}, b, b.schedule, full, false, true, false, true};
}

/* kernels: matrices on which kernels and formats differ. order: matrices in a poor order */
static void Prepare(const Matrix *A, bool kernels, bool order, Subject *s)
{
  const HrpbParams   staged = HrpbStagedParams(), gathered = HrpbGatherParams();
  const CsrSchedule *csr;
  bool               bricks;

  *s     = {};
  s->A   = A;
  s->csr = CsrOnDevice(A);
  csr    = &s->csr.schedule;
  Check(HrpbSupportsDevice(full, &bricks));
  s->variants[CUSPARSE_ROWS] = {"cuSPARSE with row-major copies", false, {}, {}, {}, full, false, false, false, false};
  SetCsr(s, CSR, "csr", csr->direct_columns, csr->rows_entries, csr->panel_rows);
  if (bricks) SetBricks(s, STAGED, "staged", &staged);
  if (bricks && order) SetOrdered(s);
  if (!kernels) return;
  SetCsr(s, CSR_TOGETHER, "csr, columns together", 0, csr->rows_entries, csr->panel_rows);
  SetCsr(s, CSR_BY_COLUMN, "csr, column by column", 65535, csr->rows_entries, csr->panel_rows);
  SetCsr(s, CSR_UNSTAGED, "csr, B not in shared memory", csr->direct_columns, csr->rows_entries, 0);
  SetCsr(s, CSR_COPY, "csr, a copy of B", csr->direct_columns, 0, 0);
  SetLike(s, CSR_WIDE, "csr, wide tiles", CSR)->csr.narrow_tiles  = 0;
  SetLike(s, CSR_FOUR, "csr, four lanes", CSR)->csr.eight_columns = 0;
  SetCsr(s, CSR_WHOLE_ROWS, "csr, whole rows", 0, 0, 0);
  s->variants[CSR_WHOLE_ROWS].csr.part_entries = INT32_MAX;
  s->variants[CSR_WHOLE_ROWS].csr.nlong = s->variants[CSR_WHOLE_ROWS].csr.nparts = s->variants[CSR_WHOLE_ROWS].csr.ngiant = s->variants[CSR_WHOLE_ROWS].csr.nhuge = 0;
  if (!bricks) return;
  SetLike(s, STAGED_WHOLE, "staged, whole panels", STAGED)->schedule = WholePanels(&s->variants[STAGED].bricks.h);
  SetLike(s, STAGED_ODD, "staged, odd leading dimension", STAGED)->odd = true;
  if (sizeof(HrpbScalar) == 4) SetLike(s, STAGED_TF32, "staged, TF32", STAGED)->precision = HRPB_TF32;
  {
    const struct {
      int         variant;
      const char *name;
      HrpbParams  params;
    } formats[] = {
      {ROWS_8, "bricks of 8 rows", {8, 64, HRPB_SHORT_COLS, staged.window_cols}},
      {PANELS_64, "panels of 64", {staged.brick_rows, 64, staged.block_cols, staged.window_cols}},
      {PANELS_32, "panels of 32", {staged.brick_rows, 32, staged.block_cols, staged.window_cols}},
      {NARROW_WINDOWS, "narrow windows", {staged.brick_rows, staged.panel_rows, staged.block_cols, NARROW}},
      {HALF_BLOCKS, "half blocks", {staged.brick_rows, staged.panel_rows, staged.block_cols / 2, staged.window_cols}},
      {GATHERED, "gathered", gathered}};

    for (const auto &f : formats) SetBricks(s, f.variant, f.name, &f.params);
  }
  SetLike(s, GATHERED_WHOLE, "gathered, whole panels", GATHERED)->schedule = WholePanels(&s->variants[GATHERED].bricks.h);
}

static void Destroy(Subject *s)
{
  for (Variant &v : s->variants) {
    if (v.possible && v.owns) BricksDestroy(&v.bricks);
  }
  HrpbReorderDestroyDevice(&s->order, NULL);
  CsrDestroy(&s->csr);
}

static SpmmMatrix MatrixOf(const Subject *s, const Variant *v)
{
  return v->is_csr ? CsrMatrix(&v->csr, s->csr.rowptr, s->csr.colidx, s->csr.values) : BricksMatrix(&v->bricks.h, &v->schedule, v->bricks.values, v->precision);
}

static size_t WorkBytes(const Subject *s, const Variant *v, int64_t N)
{
  const SpmmMatrix   A = MatrixOf(s, v);
  const SpmmOperands o = SpmmPlain(N, NULL, A.ncols, NULL, A.nrows);
  size_t             bytes;

  if (v->ordered) Check(SpmmWorkReordered(KernelFor(&A, &o), &A, &s->order, N, &bytes));
  else Check(WorkFor(&A, N, &bytes));
  return bytes;
}

static void Multiply(const Subject *s, const Variant *v, int64_t N, const HrpbScalar *B, int64_t ldb, HrpbScalar *C, int64_t ldc, void *work)
{
  const SpmmMatrix   A = MatrixOf(s, v);
  const SpmmOperands o = SpmmPlain(N, B, ldb, C, ldc);

  if (v->ordered) Check(SpmmRunReordered(KernelFor(&A, &o), &A, &s->order, &o, work, NULL));
  else Check(MultiplyPlain(&A, N, B, ldb, C, ldc, work));
}

static void Test(const Matrix &A)
{
  Subject s;

  Prepare(&A, true, true, &s);
  for (const Variant &v : s.variants) {
    const auto multiply = [&](int64_t N, const HrpbScalar *B, int64_t ldb, HrpbScalar *C, int64_t ldc) {
      const size_t bytes = WorkBytes(&s, &v, N) + 1;
      void        *work;

      Check(cudaMalloc(&work, bytes));
      Check(cudaMemset(work, 0xff, bytes)); /* NaN: a read of what was not written shows */
      Multiply(&s, &v, N, B, ldb, C, ldc, work);
      Check(cudaDeviceSynchronize());
      cudaFree(work);
    };
    int k = 0;

    if (!v.possible || v.odd) continue; /* the same as STAGED, for another B */
    for (int64_t N : {1, 3, 8, 16, 17, 32, 33, 45, 64, 65, 100, 128, 130}) {
      if (small_run && N != 3 && N != 45 && N != 130) continue;
      TestProduct(&A, v.name, multiply, N, k % 3 == 0 ? 0 : k % 3 == 1 ? 3 : 18, k % 4 == 3, 0, Bound(&v));
      k++;
    }
    TestProduct(&A, v.name, multiply, 21, 16, 0, 1, Bound(&v));
    /* Another order of summation may overflow elsewhere */
    if (!v.ordered && v.precision != HRPB_TF32) TestProduct(&A, v.name, multiply, 40, 0, 0, 2, Bound(&v));
  }
  Destroy(&s);
}

static void TestAll(void)
{
  Test(Make("stencil", small_run ? 189 : 756, small_run ? 189 : 756, Stencil));
  Test(Arrow(small_run ? 300 : 5000)); /* some rows are cut, and in the larger matrix some panels */
  Test(Grid("7 points", small_run ? 6 : 11, 1, false));
  Test(Make("no entries", 30, 30, Nothing));
  if (small_run) return;
  Test(Make("band", 333, 333, Band));
  Test(Make("random", 500, 400, Sparse));
  Test(Make("random tall", 1501, 70, Sparse));
  Test(Make("dense", 150, 299, Dense));
  Test(Make("dense rows", 300, 500, DenseRows));
  Test(Make("one brick", 40, 50, OneBrick));
  Test(Make("empty panels", 700, 200, Gaps));
  Test(LongRow(20011, false));
  {
    const Matrix A = Grid("", 8, 3, true);

    Test(Reordered(A, "shuffled mesh", RandomOrder(A.nrows)));
  }
}

enum {
  /* rows of C for which a row-major copy, with rows for columns, has room. The 7-point matrix has a few less */
  MOST_ROWS   = 32 * 65535,
  ROUNDS      = 9,
  MOST_REPEAT = 20 /* products timed together, where they are short: about a millisecond */
};

typedef struct {
  const char *file, *commit;
  std::string columns, matrices;
} Options;

typedef struct {
  FILE       *csv;
  const char *commit;
  char        machine[256], cuda[32];
  double      begin;
  int         wrong;
} Benchmark;

static double Now(void)
{
  struct timespec t;

  clock_gettime(CLOCK_MONOTONIC, &t);
  return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

/* Whether a word is in a list with commas */
static std::vector<std::string> Words(const std::string &list)
{
  std::vector<std::string> words;

  for (size_t begin = 0; begin <= list.size();) {
    const size_t end = std::min(list.find(',', begin), list.size());

    if (end > begin) words.push_back(list.substr(begin, end - begin));
    begin = end + 1;
  }
  return words;
}

/* B and C with a number of columns, and the product of each variant that is timed */
typedef struct {
  const Subject *s;
  int64_t        N;
  HrpbScalar    *B, *odd, *C; /* odd: the same as B, with one more row that is not used */
  HrpbScalar    *B_rows, *C_rows; /* row-major */
  void          *work;
  Cusparse       cusparse, cusparse_rows;
} Bench;

/* Random numbers. Each column is the one before, moved by one row */
static HrpbScalar *RandomColumns(int64_t nrows, int64_t N, int64_t ld, const std::vector<HrpbScalar> &random)
{
  HrpbScalar *d = Upload(random), *B;

  Check(cudaMalloc(&B, sizeof(HrpbScalar) * (size_t)(ld * N)));
  for (int64_t n = 0; n < N; n++) Check(cudaMemcpy(B + n * ld, d + n, sizeof(HrpbScalar) * nrows, cudaMemcpyDeviceToDevice));
  cudaFree(d);
  return B;
}

static void BenchCreate(const Subject *s, int64_t N, const bool *needed, Bench *b)
{
  const Matrix           *A     = s->A;
  size_t                  bytes = 0;
  std::vector<HrpbScalar> random((size_t)(A->ncols + N));

  for (HrpbScalar &x : random) x = Uniform();
  *b = {s, N, RandomColumns(A->ncols, N, A->ncols, random), NULL, NULL, NULL, NULL, NULL, {}, {}};
  if (needed[STAGED_ODD]) b->odd = RandomColumns(A->ncols, N, A->ncols + 1, random);
  Check(cudaMalloc(&b->C, sizeof(HrpbScalar) * (size_t)(A->nrows * N)));
  for (int v = 0; v < NVARIANTS; v++) {
    if (needed[v] && v != CUSPARSE && v != CUSPARSE_ROWS) bytes = std::max(bytes, WorkBytes(s, &s->variants[v], N));
  }
  Check(cudaMalloc(&b->work, bytes + 1));
  b->cusparse = CusparseCreate(A, s->csr.rowptr, s->csr.colidx, s->csr.values, N, b->B, b->C);
  if (!needed[CUSPARSE_ROWS]) return;
  Check(cudaMalloc(&b->B_rows, sizeof(HrpbScalar) * (size_t)(A->ncols * N)));
  Check(cudaMalloc(&b->C_rows, sizeof(HrpbScalar) * (size_t)(A->nrows * N)));
  b->cusparse_rows = CusparseCreate(A, s->csr.rowptr, s->csr.colidx, s->csr.values, N, b->B_rows, b->C_rows, true);
}

static void BenchDestroy(Bench *b)
{
  CusparseDestroy(&b->cusparse);
  if (b->B_rows) CusparseDestroy(&b->cusparse_rows);
  cudaFree(b->B_rows);
  cudaFree(b->C_rows);
  cudaFree(b->B);
  cudaFree(b->odd);
  cudaFree(b->C);
  cudaFree(b->work);
}

/* Row-major C, seen as columns of C: it looks like a row-major copy of a matrix with rows for columns */
static void RunRows(const Bench *b)
{
  const Matrix *A = b->s->A;

  Check(RowMajor(b->B, A->ncols, (int32_t)A->ncols, (int32_t)b->N, b->B_rows, (int32_t)A->ncols, (int32_t)b->N, NULL));
  CusparseMultiply(&b->cusparse_rows);
  Check(RowMajor(b->C_rows, b->N, (int32_t)b->N, (int32_t)A->nrows, b->C, (int32_t)b->N, (int32_t)A->nrows, NULL));
}

static void Run(const Bench *b, int variant)
{
  const Matrix  *A = b->s->A;
  const Variant *v = &b->s->variants[variant];

  if (variant == CUSPARSE) CusparseMultiply(&b->cusparse);
  else if (variant == CUSPARSE_ROWS) RunRows(b);
  else Multiply(b->s, v, b->N, v->odd ? b->odd : b->B, A->ncols + v->odd, b->C, A->nrows, b->work);
}

/* The first column of C and the last */
static std::vector<HrpbScalar> SomeColumns(const Bench *b)
{
  const int64_t           n = b->s->A->nrows;
  std::vector<HrpbScalar> c((size_t)(2 * n));

  Check(cudaMemcpy(c.data(), b->C, sizeof(HrpbScalar) * n, cudaMemcpyDeviceToHost));
  Check(cudaMemcpy(c.data() + n, b->C + (b->N - 1) * n, sizeof(HrpbScalar) * n, cudaMemcpyDeviceToHost));
  return c;
}

/* Check the product before it is timed. This finds gross errors; the tests find the others */
static bool Agrees(const Variant *v, const std::vector<HrpbScalar> &c, const std::vector<HrpbScalar> &reference)
{
  double size = 0, error = 0;

  for (size_t i = 0; i < c.size(); i++) {
    const double e = fabs((double)c[i] - (double)reference[i]);

    if (!(e <= 1e30)) return false;
    size  = std::max(size, fabs((double)reference[i]));
    error = std::max(error, e);
  }
  return error <= 100 * Bound(v) * size;
}

static int CsrKernel(const CsrSchedule *s, int64_t N)
{
  return N <= s->direct_columns ? 0 : s->panel_rows ? 3 : s->rows_entries ? 1 : 2;
}

/* Whether the two products of an idea can be had and differ */
static bool Matters(const Subject *s, const Idea *idea, int64_t N)
{
  const Variant *on = &s->variants[idea->on], *off = &s->variants[idea->off];

  if (idea->off == CUSPARSE_ROWS) return N > 1 && s->A->nrows <= MOST_ROWS;
  if (!on->possible || !off->possible) return false;
  if (idea->off == CSR_WHOLE_ROWS) return on->csr.nlong && CsrKernel(&on->csr, N) == CsrKernel(&off->csr, N);
  /* What is left beside tiles is not divided */
  if (idea->off == CSR_WIDE) return on->csr.narrow_tiles && CsrKernel(&on->csr, N) == 2 && N * sizeof(HrpbScalar) > CSR_TILE_BYTES / 4 * 3;
  if (idea->off == CSR_FOUR) return N <= on->csr.eight_columns && CsrKernel(&on->csr, N) == 2 && N * sizeof(HrpbScalar) > CSR_TILE_BYTES / 4;
  if (on->is_csr && off->is_csr) return CsrKernel(&on->csr, N) != CsrKernel(&off->csr, N);
  if (idea->off == STAGED_WHOLE || idea->off == GATHERED_WHOLE) return on->schedule.nsplit;
  if (off->odd) return s->A->ncols * sizeof(HrpbScalar) % 16 == 0; /* the alignment of B differs */
  return true;
}

/* Medians over rounds, in which all take turns */
static void Measure(const Bench *b, const bool *needed, double *ms, bool *right)
{
  std::vector<double>     times[NVARIANTS];
  std::vector<HrpbScalar> reference;
  int                     repeat[NVARIANTS];

  for (int v = 0; v < NVARIANTS; v++) {
    if (!needed[v]) continue;
    Check(cudaMemset(b->C, 0xff, sizeof(HrpbScalar) * (size_t)(b->s->A->nrows * b->N)));
    Run(b, v);
    Check(cudaDeviceSynchronize());
    if (v == CUSPARSE) reference = SomeColumns(b);
    right[v]  = v == CUSPARSE || Agrees(&b->s->variants[v], SomeColumns(b), reference);
    repeat[v] = (int)std::min(std::max(1 / Milliseconds([&]() { Run(b, v); }), 1.0), (double)MOST_REPEAT);
  }
  for (int round = 0; round < ROUNDS; round++) {
    for (int v = 0; v < NVARIANTS; v++) {
      if (!needed[v]) continue;
      times[v].push_back(Milliseconds([&]() {
        for (int i = 0; i < repeat[v]; i++) Run(b, v);
      }) /
                         repeat[v]);
    }
  }
  for (int v = 0; v < NVARIANTS; v++) {
    if (needed[v]) ms[v] = MedianOf(times[v]);
  }
}

static void BenchColumns(Benchmark *bench, const Subject *s, int64_t N)
{
  bool   needed[NVARIANTS] = {true}, right[NVARIANTS] = {};
  double ms[NVARIANTS] = {};
  Bench  b;

  for (const Idea &idea : ideas) {
    if (Matters(s, &idea, N)) needed[idea.on] = needed[idea.off] = true;
  }
  BenchCreate(s, N, needed, &b);
  Measure(&b, needed, ms, right);
  BenchDestroy(&b);
  printf("  N %ld: cuSPARSE %.4f ms; at %.1f s\n", (long)N, ms[CUSPARSE], Now() - bench->begin);
  for (int v = 0; v < NVARIANTS; v++) {
    if (!needed[v] || right[v]) continue;
    bench->wrong++;
    printf("    WRONG: %s\n", s->variants[v].name);
  }
  for (const Idea &idea : ideas) {
    const double on = ms[idea.on], off = ms[idea.off];

    if (!Matters(s, &idea, N) || !right[idea.on] || !right[idea.off]) continue;
    printf("    %-42s %9.4f ms without, %9.4f with: %6.2f\n", idea.name, off, on, off / on);
    if (bench->csv) fprintf(bench->csv, "%s,%ld,%ld,%ld,\"%s\",%.5f,%.5f,%.4f,%.5f,%s,%s,%s,\"%s\"\n", s->A->name, (long)s->A->nrows, (long)s->A->colidx.size(), (long)N, idea.name, off, on, off / on, ms[CUSPARSE], sizeof(HrpbScalar) == 4 ? "single" : "double", bench->commit, bench->cuda, bench->machine);
  }
  fflush(stdout);
  if (bench->csv) fflush(bench->csv);
}

typedef struct {
  const char *name;
  Matrix (*make)(void);
  bool shuffled; /* in random order, for what reordering brings */
} Family;

static const Family families[] = {
  {"elasticity", []() { return Grid("", 64, 3, true); }, false},
  {"stencil27", []() { return Grid("", 96, 1, true); }, false},
  {"poisson7", []() { return Grid("", 128, 1, false); }, false},
  {"dof8", []() { return Grid("", 40, 8, true); }, false},
  {"rmat", []() { return RMat(524288, 16); }, false},
  {"uniform", []() { return Scattered(524288, 16); }, false},
  {"powerlaw", []() { return PowerLaw(524288); }, false},
  {"arrow", []() { return Arrow(1000000); }, false},
  {"shuffled", []() { return Reordered(Grid("", 64, 3, true), "", RandomOrder((int64_t)64 * 64 * 64 * 3)); }, true}};

/* Open the table. A new one gets its first line */
static FILE *OpenTable(const char *file)
{
  FILE *f = fopen(file, "a");

  if (!f) {
    fprintf(stderr, "%s cannot be written\n", file);
    exit(2);
  }
  fseek(f, 0, SEEK_END);
  if (ftell(f) == 0) fprintf(f, "matrix,rows,nonzeros,N,idea,off_ms,on_ms,brings,cusparse_ms,scalar,commit,cuda,machine\n");
  return f;
}

static int BenchAll(const Options *o)
{
  const std::vector<std::string> names   = Words(o->matrices);
  Benchmark                        bench = {NULL, o->commit, "", "", Now(), 0};
  std::vector<int64_t>           columns;
  cudaDeviceProp                 device;
  int                            id, version;

  for (const std::string &word : Words(o->columns)) {
    columns.push_back(atol(word.c_str()));
    if (columns.back() < 1 || columns.back() > 65535) {
      fprintf(stderr, "-columns needs numbers from 1 to 65535, such as 8,32, not %s\n", word.c_str());
      return 2;
    }
  }
  for (const std::string &name : names) {
    if (std::none_of(std::begin(families), std::end(families), [&](const Family &f) { return name == f.name; })) {
      fprintf(stderr, "-matrices: there is no %s, but", name.c_str());
      for (const Family &f : families) fprintf(stderr, " %s", f.name);
      fprintf(stderr, "\n");
      return 2;
    }
  }
  if (o->file) bench.csv = OpenTable(o->file);
  Check(cudaGetDevice(&id));
  Check(cudaGetDeviceProperties(&device, id));
  Check(cudaRuntimeGetVersion(&version));
  snprintf(bench.machine, sizeof(bench.machine), "%s", device.name);
  snprintf(bench.cuda, sizeof(bench.cuda), "%d.%d", version / 1000, version % 1000 / 10);
  printf("%s, CUDA %s, %s: medians of %d rounds\n", bench.machine, bench.cuda, sizeof(HrpbScalar) == 4 ? "single" : "double", ROUNDS);
  for (const Family &f : families) {
    Matrix  A;
    Subject s;

    if (!names.empty() && std::find(names.begin(), names.end(), f.name) == names.end()) continue;
    A      = f.make();
    A.name = f.name;
    Prepare(&A, !f.shuffled, f.shuffled, &s);
    printf("%s: %ld rows, %ld entries; at %.1f s\n", A.name, (long)A.nrows, (long)A.colidx.size(), Now() - bench.begin);
    fflush(stdout);
    for (int64_t N : columns) BenchColumns(&bench, &s, N);
    Destroy(&s);
  }
  if (bench.csv) fclose(bench.csv);
  printf("%d wrong\n", bench.wrong);
  return bench.wrong ? 1 : 0;
}

int main(int argc, char **argv)
{
  Options o     = {NULL, "unknown", "1,8,32,128", ""};
  bool    bench = false, wrong = false;

  for (int i = 1; i < argc; i++) {
    const std::string option = argv[i], value = i + 1 < argc ? argv[i + 1] : "";

    if (option == "-small") {
      small_run = true;
      continue;
    }
    bench = true;
    if (option == "-csv") o.file = argv[i + 1];
    else if (option == "-columns") o.columns = value;
    else if (option == "-matrices") o.matrices = value;
    else if (option == "-commit") o.commit = argv[i + 1];
    else wrong = true;
    wrong = wrong || value.empty();
    i++;
  }
  if (wrong || (bench && small_run)) {
    printf("usage: %s [-small | -csv FILE [-columns 8,32] [-matrices rmat,arrow] [-commit X]]\n", argv[0]);
    return 2;
  }
  if (bench) return BenchAll(&o);
  TestAll();
  printf("ideas: %d passed, %d failed\n", npassed, nfailed);
  return nfailed ? 1 : 0;
}
