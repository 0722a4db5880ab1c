/*
   The brick kernels against a product in long double on the host, with plain arrays. No PETSc.

     test-multiply            all tests
     test-multiply -small     few and small ones, to run under compute-sanitizer
     test-multiply -small 1/2 the first of two shares of these, each with every other test
     test-multiply -gathered  of these the bricks that are gathered, in which racecheck finds no hazards that are none
     test-multiply -pairs     of these the bricks of complex numbers that are stored as pairs
     test-multiply -parts     products alone whose panels are cut into many parts
     test-multiply -slices    large products alone that are made in slices of columns
     test-multiply -accuracy  errors relative to |A||B| beside those of cuSPARSE
*/
#include "bricks/parts.cuh"
#include "matrices.cuh"

static bool gathered_only, pairs_only;
static int  share = 1, nshares = 1;

/* Whether the next of the tests that take long belongs to this share */
static bool IsMine(void)
{
  static int next;

  return next++ % nshares == share - 1;
}

static HrpbScalar *BuildOnDevice(const Matrix *A, const HrpbParams *params, const int32_t *order, Hrpb *h)
{
  HrpbInt    *rowptr = Upload(A->rowptr), *colidx = Upload(A->colidx);
  HrpbScalar *values = Upload(A->values), *packed;

  Check(HrpbBuildDevice(A->nrows, A->ncols, rowptr, colidx, order, params, NULL, h));
  Check(cudaMalloc(&packed, sizeof(HrpbScalar) * (HrpbValueCount(h) + 1)));
  Check(HrpbPackValuesDevice(h, rowptr, colidx, values, NULL, packed, NULL));
  Check(cudaDeviceSynchronize());
  cudaFree(rowptr);
  cudaFree(colidx);
  cudaFree(values);
  return packed;
}

/* The product by a kernel, in a workspace that is as long as the product says */
static void RunKernel(const SpmmKernel *k, const SpmmMatrix *A, const SpmmOperands &o)
{
  size_t bytes;
  void  *work = NULL;

  Check(SpmmWork(k, A, &o, &bytes));
  if (bytes) Check(cudaMalloc(&work, bytes));
  if (bytes) Check(cudaMemset(work, 0xff, bytes)); /* NaN: a read of what was not written shows */
  Check(SpmmRun(k, A, &o, work, NULL));
  Check(cudaDeviceSynchronize());
  cudaFree(work);
}

/* C = A B on the device for columns [first, first + N), with B and C where they are */
static void Multiply(const Hrpb *h, const HrpbScalar *values, HrpbPrecision precision, int64_t N, const HrpbScalar *B, int64_t ldb, HrpbScalar *C, int64_t ldc)
{
  HrpbSchedule       s;
  const SpmmMatrix   A = BricksMatrix(h, &s, values, precision);
  const SpmmOperands o = SpmmPlain(N, B, ldb, C, ldc);

  Check(HrpbScheduleDevice(h, NULL, &s));
  RunKernel(KernelFor(&A, &o), &A, o);
  HrpbScheduleDestroyDevice(&s, NULL);
}

static double Bound(HrpbPrecision precision)
{
  return precision == HRPB_FP64 ? 1e-15 : precision == HRPB_3XTF32 ? 1e-6 : 1.3e-3;
}

static std::vector<HrpbPrecision> Precisions(void)
{
#if defined(HRPB_USE_SINGLE)
  return {HRPB_3XTF32, HRPB_TF32};
#else
  return {HRPB_FP64};
#endif
}

/* Call test(kernel, precision, multiply) in each precision, with A as bricks of the format */
template <typename F> static void WithBricks(const Matrix *A, const HrpbParams &params, const int32_t *order, F test)
{
  Hrpb        h;
  HrpbScalar *values = BuildOnDevice(A, &params, order, &h);

  for (HrpbPrecision precision : Precisions()) {
    const auto multiply = [&](int64_t N, const HrpbScalar *B, int64_t ldb, HrpbScalar *C, int64_t ldc) { Multiply(&h, values, precision, N, B, ldb, C, ldc); };
    char       kernel[64];

    snprintf(kernel, sizeof(kernel), "format %d %d %d %d%s, precision %d", params.brick_rows, params.panel_rows, params.block_cols, params.window_cols, params.pairs ? " pairs" : "", precision);
    test(kernel, precision, multiply);
  }
  HrpbDestroyDevice(&h, NULL);
  cudaFree(values);
}

/* The same in the format of each kernel, as products choose them */
template <typename F> static void WithKernels(const Matrix *A, F test)
{
  for (const HrpbParams &params : {HrpbStagedParams(), HrpbShortParams(), HrpbRowsParams(), HrpbGatherParams()}) WithBricks(A, params, NULL, test);
}

/* Whether there is a kernel for a format */
static bool IsTaken(const HrpbParams &params)
{
  const SpmmFacts    facts = {};
  const SpmmOperands plain = SpmmPlain(8, NULL, 0, NULL, 0);
  const SpmmDevice  *device;

  Check(SpmmGetDevice(&device));
  return SpmmChooseKernel(SPMM_OP_PRODUCT, SPMM_BRICKS, false, &facts, &params, &plain, device);
}

/*
   pairs: A is of blocks a -b, b a. In a small run a matrix has with a format one of the wide products, and two of those
   with special values; with the next format it has the next ones. So each comes with every format and with every
   matrix, but not with every two
*/
static void TestFormats(const Matrix *A, const int32_t *order, bool pairs = false)
{
  enum {
    MANY_ENTRIES = 10000 /* matrices with more are multiplied with fewer columns where a run shall be small */
  };
  static const HrpbParams formats[] = {{16, 128, 64, 8}, {16, 128, 128, 8}, {8, 64, 64, 8}, {8, 64, 128, 8}, {8, 64, 32, 2}, {16, 32, 16, 16}, {16, 128, 64, 4}, {8, 8, 256, 1}, {16, 16, 64, 1}, {8, 64, 32, 1}, {8, 24, 8, 4}, {16, 256, 64, 8}, {8, 128, 32, 16}, {16, 128, 64, 1}, {8, 64, 64, 1}, {16, 64, 32, 1}};

  static const struct {
    int64_t N, apart; /* and elements between columns of B */
    int     special;
  } specials[] = {{21, 16, 1}, {5, 0, 1}, {40, 0, 2}, {10, 0, 3}, {7, 0, 5}};
  static int turn; /* there are 16 formats, so the next matrix begins with the next product */

  for (HrpbParams params : formats) {
    turn++;
    if (pairs ? params.window_cols == 1 : gathered_only && params.window_cols > 1) continue;
    params.pairs = pairs;
    if ((pairs && !IsTaken(params)) || !IsMine()) continue;
    WithBricks(A, params, order, [&](const char *kernel, HrpbPrecision precision, const auto &multiply) {
      const double bound = Bound(precision);
      const bool   tf32  = precision != HRPB_FP64;
      int          k     = 0;

      for (int64_t N : {1, 3, 8, 9, 16, 17, 24, 33, 48, 50, 64, 72, 128, 93, 100, 129, 257, 300}) {
        if (small_run && (pairs || A->values.size() > MANY_ENTRIES ? N != 3 && N != 33 : N != 3 && N != 24 && N != 33 && N != 50 && N != 129)) continue;
        if (!small_run || N == 3 || N == 33 || turn % 3 == (N == 24 ? 0 : N == 50 ? 1 : 2)) TestProduct(A, kernel, multiply, N, k % 3 == 0 ? 0 : k % 3 == 1 ? 3 : 18, k % 4 == 3, 0, bound, tf32);
        k++;
      }
      for (int s = 0; s < 5; s++) {
        if ((small_run && (turn + s) % 5 > 1) || (precision == HRPB_TF32 && specials[s].special == 2)) continue;
        TestProduct(A, kernel, multiply, specials[s].N, specials[s].apart, 0, specials[s].special, bound, tf32);
      }
    });
  }
}

/*
   Pairs take half of the values, and give the bits of all values, but for which NaN it is where there are several. In
   double bricks of 16 rows have chunks with pairs alone: their products are compared as those of other formats
*/
static void TestPairs(const Matrix *A)
{
  const int64_t           most = 137;
  std::vector<HrpbScalar> B((size_t)(A->ncols * most)), C[2];
  HrpbScalar             *dB, *dC;
  int64_t                 values[2];

  for (HrpbScalar &b : B) b = Random() % 200 ? Uniform() : Random() % 2 ? (HrpbScalar)INFINITY : (HrpbScalar)NAN;
  dB = Upload(B);
  Check(cudaMalloc(&dC, sizeof(HrpbScalar) * (size_t)(A->nrows * most + 1)));
  for (HrpbParams params : {HrpbStagedParams(), HrpbShortParams(), HrpbParams{8, 64, HRPB_SHORT_COLS, 8}}) {
    if (!IsMine()) continue;
    for (int64_t N : small_run ? std::vector<int64_t>{8, 33} : std::vector<int64_t>{1, 8, 24, 33, 64, 137}) {
      for (params.pairs = 0; params.pairs < 2; params.pairs++) {
        WithBricks(A, params, NULL, [&](const char *, HrpbPrecision precision, const auto &multiply) {
          if (precision == HRPB_TF32) return;
          multiply(N, dB, A->ncols, dC, A->nrows);
          C[params.pairs] = Download(dC, A->nrows * N);
        });
        {
          Hrpb h;

          cudaFree(BuildOnDevice(A, &params, NULL, &h));
          values[params.pairs] = h.value_count - HRPB_VALUE_UNIT * (int64_t)h.nblocks;
          HrpbDestroyDevice(&h, NULL);
        }
      }
      const bool chunks = params.brick_rows == 16 && sizeof(HrpbScalar) == 8;

      Report(chunks || std::equal(C[0].begin(), C[0].end(), C[1].begin(), C[1].end(), SameNumber), "pairs give other bits", A->name);
      Report(2 * values[1] <= values[0] + HRPB_VALUE_UNIT * (int64_t)A->nrows, "pairs are not half of the values", A->name);
    }
  }
  cudaFree(dB);
  cudaFree(dC);
}

/* Tiles of columns whose number is not that of thread blocks, nor a part of it */
static void TestManyColumns(void)
{
  const Matrix  A = Make("many columns", 300, 90, Sparse);
  const int64_t N = small_run ? 421 : 2581;

  WithKernels(&A, [&](const char *kernel, HrpbPrecision precision, const auto &multiply) {
    TestProduct(&A, kernel, multiply, N, 3, 0, 0, Bound(precision), precision != HRPB_FP64);
  });
}

/* Panels of 128 rows, whose chains of blocks are of very different length. Small runs have the chains in fewer rows */
static bool Uneven(int64_t i, int64_t j, const Matrix *) { return llabs(i - j) < 3 || (i % 128 < (small_run ? 8 : 40) && j % 2 == i % 2 && j < (i / 128 * 5 % 7) * (i / 128 * 5 % 7) * 120); }

/*
   The items of work have each block of a panel once, in its place. Parts have slots of their own. The other sequence
   has the same items, the longest first
*/
static void TestSchedule(const Matrix *A, const HrpbParams &params, bool cut, bool sorted)
{
  HrpbSchedule s;
  Hrpb         h;
  HrpbScalar  *values = BuildOnDevice(A, &params, NULL, &h);

  Check(HrpbScheduleDevice(&h, NULL, &s));
  const std::vector<uint32_t> start = Download(h.blocked_row_ptr, h.npanels + 1);
  std::vector<WorkItem>       items = s.items ? Download((const WorkItem *)s.items, s.nitems) : std::vector<WorkItem>(), longest = s.longest ? Download((const WorkItem *)s.longest, s.nitems) : items;
  const auto                  before = [](const WorkItem &a, const WorkItem &b) { return a.begin != b.begin ? a.begin < b.begin : a.panel < b.panel; };
  uint32_t                    next = 0;
  int32_t                     slot = 0;
  bool                        ok   = s.nitems == (s.items ? (int32_t)items.size() : h.npanels);

  Report(cut == (s.nsplit > 0) && cut == (s.items != NULL) && sorted == (s.longest != NULL), "panels are cut, or sorted, where they should not be, or the other way round", A->name);
  for (size_t i = 1; i < longest.size() && s.longest; i++) ok = ok && longest[i - 1].end - longest[i - 1].begin >= longest[i].end - longest[i].begin;
  for (std::vector<WorkItem> *all : {&items, &longest}) {
    std::sort(all->begin(), all->end(), before);
    next = 0;
    slot = 0;
    for (const WorkItem &w : *all) {
      ok   = ok && w.begin == next && w.begin <= w.end && start[w.panel] <= w.begin && w.end <= start[w.panel + 1];
      ok   = ok && (w.end - w.begin == start[w.panel + 1] - start[w.panel] ? w.slot == -1 : w.slot == slot++);
      next = w.end;
    }
    ok = ok && (all->empty() || (next == (uint32_t)h.nblocks && slot == s.nslots));
  }
  Report(ok, "items of work are not the blocks", A->name);
  HrpbScheduleDestroyDevice(&s, NULL);
  HrpbDestroyDevice(&h, NULL);
  cudaFree(values);
}

/* A few long rows. Panels have none of them, or one that has a few parts, or many, or about 16 in wide matrices */
static bool Heavy(int64_t i, int64_t j, const Matrix *A)
{
  return llabs(i - j) < 3 || i == 5 || i == 290 || (i == 150 && j < (A->ncols > 5000 ? 10300 : 2800));
}

/* Bricks with one schedule for all products */
struct Cut {
  Hrpb          h;
  HrpbScalar   *values;
  HrpbSchedule  s;
  HrpbPrecision precision;
};

static void MultiplyCut(const Cut &cut, const HrpbSchedule *s, const SpmmOperands &o)
{
  const SpmmMatrix A = BricksMatrix(&cut.h, s, cut.values, cut.precision);

  RunKernel(KernelFor(&A, &o), &A, o);
}

/* The schedule's parts number k, each as if it were a whole panel */
static std::vector<WorkItem> PartsNumber(int32_t k, const std::vector<WorkItem> &items, const std::vector<SplitPanel> &split)
{
  std::vector<WorkItem> parts;

  for (const WorkItem &w : items) {
    if (w.slot >= 0 && w.slot - split[w.slot].first == k) parts.push_back({w.panel, w.begin, w.end, -1});
  }
  return parts;
}

/* A sum with compensation */
struct Compensated {
  HrpbScalar sum, lost;

  void Add(HrpbScalar x)
  {
    const HrpbScalar t = sum + x, y = t - sum;

    lost += (sum - (t - y)) + (x - y);
    sum = t;
  }
  HrpbScalar Total() const { return sum + lost; }
};

/* Whether part k of so many is the last of a range, which is an eighth of 17 parts and more, and all of fewer */
static bool EndsRange(int32_t k, int32_t nparts)
{
  for (int32_t r = 1; nparts > 16 && r < 8; r++) {
    if (k + 1 == nparts * r / 8) return true;
  }
  return k + 1 == nparts;
}

/* C in cut panels: the product by each part, added on the host */
static std::vector<HrpbScalar> SumOfParts(const Cut &cut, int64_t N, const HrpbScalar *B, HrpbScalar *C)
{
  const size_t                  n     = (size_t)(cut.h.nrows * N);
  const std::vector<WorkItem>   items = Download((const WorkItem *)cut.s.items, cut.s.nitems);
  const std::vector<SplitPanel> split = Download((const SplitPanel *)cut.s.split, cut.s.nslots);
  std::vector<int32_t>          nparts((size_t)cut.h.npanels);
  std::vector<Compensated>      range(n), all(n);
  std::vector<HrpbScalar>       sum(n);

  for (const SplitPanel &s : split) nparts[s.panel] = s.nslots;
  for (int32_t k = 0;; k++) {
    const std::vector<WorkItem> parts = PartsNumber(k, items, split);
    HrpbSchedule                alone = {};
    WorkItem                   *d;

    if (parts.empty()) break;
    alone.items  = d = Upload(parts);
    alone.nitems = (int32_t)parts.size();
    Check(cudaMemset(C, 0, sizeof(HrpbScalar) * n));
    MultiplyCut(cut, &alone, SpmmPlain(N, B, cut.h.ncols, C, cut.h.nrows));
    const std::vector<HrpbScalar> part = Download(C, (int64_t)n);

    for (size_t i = 0; i < n; i++) {
      const int32_t of = nparts[i % cut.h.nrows / cut.h.params.panel_rows];

      range[i].Add(part[i]);
      if (k >= of || !EndsRange(k, of)) continue;
      all[i].Add(range[i].Total());
      range[i] = {};
    }
    cudaFree(d);
  }
  for (size_t i = 0; i < n; i++) sum[i] = all[i].Total();
  return sum;
}

static bool IsCut(const std::vector<SplitPanel> &split, int64_t panel)
{
  return std::any_of(split.begin(), split.end(), [=](const SplitPanel &s) { return s.panel == panel; });
}

/*
   The bits of cut panels are those of their parts, added in order. After a product nothing is counted any more. A
   row-major C has the same bits
*/
static void TestBitsOfParts(const Cut &cut, int64_t N, const HrpbScalar *B, HrpbScalar *C, const char *where)
{
  const int64_t                 rows  = cut.h.nrows, counters = (int64_t)cut.s.nsplit * (cut.h.params.panel_rows / cut.h.params.brick_rows);
  const std::vector<SplitPanel> split = Download((const SplitPanel *)cut.s.split, cut.s.nslots);
  const std::vector<HrpbScalar> parts = SumOfParts(cut, N, B, C);
  SpmmOperands                  o     = SpmmPlain(N, B, cut.h.ncols, C, rows);
  bool                          ok    = true;

  for (SpmmLayout layout : {SPMM_COLUMN_MAJOR, SPMM_ROW_MAJOR}) {
    o.Y = {C, layout == SPMM_COLUMN_MAJOR ? rows : N, layout};
    MultiplyCut(cut, &cut.s, o);
    const std::vector<HrpbScalar> c = Download(C, rows * N);

    for (int64_t n = 0; n < N; n++) {
      for (int64_t i = 0; i < rows; i++) ok = ok && (!IsCut(split, i / cut.h.params.panel_rows) || SameBits(&c[layout == SPMM_COLUMN_MAJOR ? i + n * rows : i * N + n], &parts[i + n * rows], 1));
    }
    for (uint32_t count : Download(cut.s.counts, cut.s.counts ? counters : 0)) ok = ok && !count;
  }
  Report(ok, "not the bits of the parts of cut panels, or counters are left", where);
}

/*
   Panels with parts: products of many widths, up to most, one after the other, with one schedule. half: of the columns
   of A. Terms of both halves cancel, and their sizes are further apart than two numbers can hold. So the order in which
   parts are added shows. many: whether a panel has more parts than one warp adds
*/
static void TestParts(int32_t half, int32_t most, bool many)
{
  Matrix                  A = Make(many ? "panels of many parts" : "heavy panels", 300, 2 * half, Heavy);
  std::vector<HrpbScalar> B((size_t)(A.ncols * most));
  HrpbScalar             *dB, *dC;

  for (size_t k = 0; k < A.values.size(); k++) {
    const HrpbInt j = A.colidx[k] % half;

    A.values[k] = (A.colidx[k] < half ? 1 : -1) * std::ldexp((HrpbScalar)(j % 89 + 1) / 89, (int)(j / 125 * 7 % (2 * std::numeric_limits<HrpbScalar>::digits)));
  }
  for (size_t k = 0; k < B.size(); k++) B[k] = k / half % 2 ? B[k - half] : Uniform();
  dB = Upload(B);
  Check(cudaMalloc(&dC, sizeof(HrpbScalar) * (size_t)(A.nrows * most)));
  for (const HrpbParams &params : {HrpbStagedParams(), HrpbShortParams(), HrpbRowsParams(), HrpbGatherParams()}) {
    Cut cut;

    if ((gathered_only && params.window_cols > 1) || !IsMine()) continue;
    cut.values = BuildOnDevice(&A, &params, NULL, &cut.h);
    Check(HrpbScheduleDevice(&cut.h, NULL, &cut.s));
    Report(cut.s.nsplit > 1 && cut.s.nslots > 2 * cut.s.nsplit && many == (cut.s.nmany > 0) && many == !cut.s.counts, "panels do not have parts, or not as many", A.name);
    for (HrpbPrecision precision : Precisions()) {
      char where[64];

      snprintf(where, sizeof(where), "format %d %d %d %d, precision %d", params.brick_rows, params.panel_rows, params.block_cols, params.window_cols, precision);
      cut.precision = precision;
      for (int64_t N : small_run && many ? std::vector<int64_t>{33, 8} : small_run ? std::vector<int64_t>{33, most, 8} : std::vector<int64_t>{33, 1, most, 8, 16, 72}) TestBitsOfParts(cut, N, dB, dC, where);
      if (!many) { /* without counters, as where another panel has many parts */
        Cut behind = cut;

        behind.s.counts = NULL;
        for (int64_t N : small_run ? std::vector<int64_t>{33, 8} : std::vector<int64_t>{33, 1, 8, 16, 72}) TestBitsOfParts(behind, N, dB, dC, where);
      }
      for (int special = 0; special < 4; special++) {
        if ((precision == HRPB_TF32 && special == 2) || (small_run && many && special && special != 3)) continue;
        TestProduct(&A, where, [&](int64_t N, const HrpbScalar *b, int64_t ldb, HrpbScalar *c, int64_t ldc) { MultiplyCut(cut, &cut.s, SpmmPlain(N, b, ldb, c, ldc)); }, special == 0 ? (small_run ? 33 : 129) : 19 + special, special, special, special, Bound(precision), precision != HRPB_FP64);
      }
    }
    HrpbScheduleDestroyDevice(&cut.s, NULL);
    HrpbDestroyDevice(&cut.h, NULL);
    cudaFree(cut.values);
  }
  cudaFree(dB);
  cudaFree(dC);
}

static void TestHeavyPanels(void)
{
  TestParts(2200, MOST_PART_COLUMNS + 21, false); /* more columns than one launch has */
  TestParts(20000, 130, true);
}

/*
   A sum of 10^6 positive terms has an error as small as any other. A plain loop over them would exceed the bound a
   hundred times, and so would a sum that is cut off in place of rounded.
*/
static void TestLongRow(void)
{
  const Matrix A = LongRow(1000003, true);

  WithKernels(&A, [&](const char *kernel, HrpbPrecision precision, const auto &multiply) {
    TestProduct(&A, kernel, multiply, 1, 0, 0, 4, Bound(precision), precision != HRPB_FP64);
    TestProduct(&A, kernel, multiply, 8, 0, 0, 4, Bound(precision), precision != HRPB_FP64);
  });
}

static void TestFarApart(const Matrix *A)
{
  HrpbScalar *B, *C;

  if (!FarCreate(&B, &C)) return;
  WithKernels(A, [&](const char *kernel, HrpbPrecision precision, const auto &multiply) { TestFar(A, kernel, multiply, B, C, Bound(precision), precision != HRPB_FP64); });
  cudaFree(B);
  cudaFree(C);
}

/*
   Where B is far larger than L2, and its rows are brought several times, columns are multiplied in slices: a few of as
   many columns, and a last one with a narrow rest. That must give the bits of products with a few columns each, which
   need no slices. Columns of B are aligned, and they are not. One row is so long that its panel is cut
*/
static void TestSlices(void)
{
  enum {
    COLUMNS = 270,
    PART    = 30,
    WIDE    = 128, /* columns with which B is beyond L2 */
    ENTRIES = 4    /* of a row, far apart */
  };
  const SpmmDevice *device;
  Matrix            A = {"slices", 0, 0, {0}, {}, {}};

  Check(SpmmGetDevice(&device));
  A.nrows = A.ncols = 4 * (int64_t)device->cache / (WIDE * (int64_t)sizeof(HrpbScalar)) / 8 * 8;
  for (int64_t i = 0; i < A.nrows; i++) {
    std::vector<HrpbInt> columns;

    for (int64_t k = 0; k < ENTRIES; k++) columns.push_back((HrpbInt)((i + k * A.ncols / ENTRIES) % A.ncols));
    for (int64_t j = 0; i == 77 && j < A.ncols / 2; j++) columns.push_back((HrpbInt)j);
    std::sort(columns.begin(), columns.end());
    columns.erase(std::unique(columns.begin(), columns.end()), columns.end());
    for (HrpbInt j : columns) {
      A.colidx.push_back(j);
      A.values.push_back(Uniform());
    }
    A.rowptr.push_back((HrpbInt)A.colidx.size());
  }
  std::vector<HrpbScalar> B((size_t)((A.ncols + 1) * COLUMNS));
  const size_t            bytes = sizeof(HrpbScalar) * (size_t)(A.nrows * COLUMNS);
  HrpbScalar             *dB, *dC, *dP;

  for (HrpbScalar &b : B) b = Uniform();
  dB = Upload(B);
  Check(cudaMalloc(&dC, bytes));
  Check(cudaMalloc(&dP, bytes));
  for (const HrpbParams &params : {HrpbStagedParams(), HrpbShortParams()}) {
    WithBricks(&A, params, NULL, [&](const char *kernel, HrpbPrecision, const auto &multiply) {
      for (int64_t ldb : {A.ncols, A.ncols + 1}) {
        Check(cudaMemset(dC, 0xff, bytes));
        Check(cudaMemset(dP, 0, bytes));
        multiply(COLUMNS, dB, ldb, dC, A.nrows);
        for (int64_t n = 0; n < COLUMNS; n += PART) multiply(PART, dB + n * ldb, ldb, dP + n * A.nrows, A.nrows);
        Report(!memcmp(Download(dC, A.nrows * COLUMNS).data(), Download(dP, A.nrows * COLUMNS).data(), bytes), "other bits in slices of columns", kernel);
      }
    });
  }
  cudaFree(dB);
  cudaFree(dC);
  cudaFree(dP);
}

/* Error of a loop over the entries in CSR order, as MATAIJ has it on the host */
static double PlainError(const Matrix *A, int64_t N, const HrpbScalar *B)
{
  double worst = 0;

  for (int64_t n = 0; n < N; n++) {
    for (int64_t i = 0; i < A->nrows; i++) {
      long double sum = 0, size = 0;
      HrpbScalar  plain = 0;

      for (HrpbInt k = A->rowptr[i]; k < A->rowptr[i + 1]; k++) {
        const HrpbScalar b = B[A->colidx[k] + n * A->ncols];

        sum += (long double)A->values[k] * b;
        size += fabsl((long double)A->values[k] * b);
        plain += A->values[k] * b;
      }
      if (size > 0) worst = std::max(worst, (double)(fabsl(plain - sum) / size));
    }
  }
  return worst;
}

/*
   In double bricks of 8 rows add long sums in chunks. With terms of one sign the largest error is then far below that
   of a loop over the entries
*/
static void TestChunks(void)
{
  const int64_t N = 16;
  Matrix        A = Make("long sums", 64, 700, Dense);

  for (HrpbScalar &v : A.values) v = (HrpbScalar)fabs(v);
  std::vector<HrpbScalar> B((size_t)(A.ncols * N)), C((size_t)(A.nrows * N));

  for (HrpbScalar &b : B) b = (HrpbScalar)fabs(Uniform());
  HrpbScalar *const dB = Upload(B), *const dC = Upload(C);

  for (const HrpbParams &params : {HrpbShortParams(), HrpbRowsParams()}) {
    WithBricks(&A, params, NULL, [&](const char *kernel, HrpbPrecision, const auto &multiply) {
      double worst = 0;

      multiply(N, dB, A.ncols, dC, A.nrows);
      Check(cudaMemcpy(C.data(), dC, sizeof(HrpbScalar) * C.size(), cudaMemcpyDeviceToHost));
      Report(Compare(&A, N, B.data(), A.ncols, C.data(), A.nrows, 1, &worst) && 2 * worst < PlainError(&A, N, B.data()), "sums have the error of a loop", kernel);
    });
  }
  cudaFree(dB);
  cudaFree(dC);
}

/*
   All kernels that take a format give the same bits. A strip has from none to a few bricks in each of many blocks, so
   chunks of sums end anywhere
*/
static void TestKernelsAgree(void)
{
  const Matrix            A = Make("gaps in strips", 136, 1000, [](int64_t i, int64_t j, const Matrix *) { return (i / 8 + j / 64) % 3 != 1 && (5 * i + 3 * j) % 37 < 2; });
  const int64_t           most = 40;
  std::vector<HrpbScalar> B((size_t)(A.ncols * most));
  const SpmmDevice       *device;
  HrpbScalar             *dB, *dC;

  Check(SpmmGetDevice(&device));
  for (HrpbScalar &b : B) b = Uniform();
  dB = Upload(B);
  Check(cudaMalloc(&dC, sizeof(HrpbScalar) * (size_t)(A.nrows * most)));
  for (const HrpbParams &params : {HrpbStagedParams(), HrpbShortParams(), HrpbRowsParams()}) {
    Hrpb         h;
    HrpbSchedule s;
    HrpbScalar  *values = BuildOnDevice(&A, &params, NULL, &h);

    Check(HrpbScheduleDevice(&h, NULL, &s));
    for (HrpbPrecision precision : Precisions()) {
      const SpmmMatrix M     = BricksMatrix(&h, &s, values, precision);
      const SpmmFacts  facts = SpmmFactsOf(&M);

      for (int64_t N : {1, 8, 40}) {
        const SpmmOperands      o = SpmmPlain(N, dB, A.ncols, dC, A.nrows);
        std::vector<HrpbScalar> first;
        int                     kernels = 0;

        for (int i = 0; SpmmKernelGet(i); i++) {
          const SpmmKernel *k = SpmmKernelGet(i);

          if (k->op != SPMM_OP_PRODUCT || k->format != SPMM_BRICKS || k->host || !k->takes(&facts, &h.params, &o, device)) continue;
          RunKernel(k, &M, o);
          const std::vector<HrpbScalar> C = Download(dC, A.nrows * N);

          if (kernels++ == 0) first = C;
          else Report(!memcmp(first.data(), C.data(), sizeof(HrpbScalar) * C.size()), "not the bits of another kernel", k->name);
        }
        Report(kernels > 1, "one kernel alone", params.window_cols > 1 ? "windows" : "single columns");
      }
    }
    HrpbScheduleDestroyDevice(&s, NULL);
    HrpbDestroyDevice(&h, NULL);
    cudaFree(values);
  }
  cudaFree(dB);
  cudaFree(dC);
}

/* Errors of ours, of cuSPARSE and of a plain loop: the largest over all entries */
static void Accuracy(const Matrix *A, bool positive)
{
  const int64_t           N = 8;
  std::vector<HrpbScalar> B((size_t)(A->ncols * N)), C((size_t)(A->nrows * N));
  HrpbInt                *rowptr = Upload(A->rowptr), *colidx = Upload(A->colidx);
  HrpbScalar             *avalues = Upload(A->values), *dB, *dC;
  double                  worst[4] = {0, 0, 0, 0};
  const HrpbParams        params[] = {HrpbStagedParams(), HrpbGatherParams()};

  for (HrpbScalar &b : B) b = positive ? (HrpbScalar)fabs(Uniform()) : Uniform();
  dB = Upload(B);
  dC = Upload(C);
  for (int f = 0; f < 2; f++) {
    Hrpb        h;
    HrpbScalar *values = BuildOnDevice(A, &params[f], NULL, &h);

    Multiply(&h, values, sizeof(HrpbScalar) == 8 ? HRPB_FP64 : HRPB_3XTF32, N, dB, A->ncols, dC, A->nrows);
    Check(cudaMemcpy(C.data(), dC, sizeof(HrpbScalar) * C.size(), cudaMemcpyDeviceToHost));
    (void)Compare(A, N, B.data(), A->ncols, C.data(), A->nrows, 1, &worst[f]);
    if (f == 0 && sizeof(HrpbScalar) == 4) {
      Multiply(&h, values, HRPB_TF32, N, dB, A->ncols, dC, A->nrows);
      Check(cudaMemcpy(C.data(), dC, sizeof(HrpbScalar) * C.size(), cudaMemcpyDeviceToHost));
      (void)Compare(A, N, B.data(), A->ncols, C.data(), A->nrows, 1, &worst[2]);
    }
    HrpbDestroyDevice(&h, NULL);
    cudaFree(values);
  }
  {
    Cusparse c = CusparseCreate(A, rowptr, colidx, avalues, N, dB, dC);

    CusparseMultiply(&c);
    Check(cudaMemcpy(C.data(), dC, sizeof(HrpbScalar) * C.size(), cudaMemcpyDeviceToHost));
    (void)Compare(A, N, B.data(), A->ncols, C.data(), A->nrows, 1, &worst[3]);
    CusparseDestroy(&c);
  }
  printf("accuracy %s%s, %d bytes: staged %.2e, gathered %.2e, tf32 %.2e, cuSPARSE %.2e, a loop on the host %.2e\n", A->name, positive ? " positive" : "", (int)sizeof(HrpbScalar), worst[0], worst[1], worst[2], worst[3], PlainError(A, N, B.data()));
  cudaFree(rowptr);
  cudaFree(colidx);
  cudaFree(avalues);
  cudaFree(dB);
  cudaFree(dC);
}

int main(int argc, char **argv)
{
  std::vector<Matrix> matrices;

  gathered_only = argc > 1 && !strcmp(argv[1], "-gathered");
  pairs_only    = argc > 1 && !strcmp(argv[1], "-pairs");
  small_run     = gathered_only || pairs_only || (argc > 1 && !strcmp(argv[1], "-small"));
  if (argc > 2 && (sscanf(argv[2], "%d/%d", &share, &nshares) != 2 || share < 1 || share > nshares)) return 2;
  if (argc > 1 && !strcmp(argv[1], "-accuracy")) {
    Accuracy(new Matrix(Make("stencil", 1260, 1260, Stencil)), false);
    Accuracy(new Matrix(Make("dense", 300, 3000, Dense)), false);
    Accuracy(new Matrix(LongRow(1000003, false)), false);
    Accuracy(new Matrix(LongRow(1000003, true)), true);
    return 0;
  }
  if (argc > 1 && (!strcmp(argv[1], "-slices") || !strcmp(argv[1], "-parts"))) {
    if (!strcmp(argv[1], "-slices")) TestSlices();
    else TestHeavyPanels();
    printf("multiply: %d passed, %d failed\n", npassed, nfailed);
    return nfailed ? 1 : 0;
  }
  matrices.push_back(Make("stencil", small_run ? 189 : 756, small_run ? 189 : 756, Stencil));
  matrices.push_back(Make("band", 333, 333, Band));
  matrices.push_back(Make("random", 500, 400, Sparse));
  if (!small_run) {
    matrices.push_back(Make("random wide", 60, 3001, Sparse));
    matrices.push_back(Make("random tall", 1501, 70, Sparse));
    matrices.push_back(Make("dense", 150, 299, Dense));
    matrices.push_back(Make("one entry a row", 200, 90, OneEntry));
    matrices.push_back(Make("one column", 300, 40, OneColumn));
    matrices.push_back(Make("single column", 300, 1, Dense));
    matrices.push_back(Make("single row", 1, 700, Dense));
    matrices.push_back(Make("dense rows", 300, 500, DenseRows));
    matrices.push_back(LongRow(20011, false));
    matrices.push_back(Huge(Make("", 189, 189, Stencil)));
    matrices.push_back(Tiny(Make("", 189, 189, Stencil)));
  }
  matrices.push_back(Make("one brick", 40, 50, OneBrick));
  matrices.push_back(Make("empty panels", 700, 200, Gaps));
  matrices.push_back(Make("no entries", 30, 30, Nothing));
  matrices.push_back(Make("uneven panels", 900, 4400, Uneven));
  for (const Matrix &A : matrices) {
    if (!pairs_only) TestFormats(&A, NULL);
  }
  for (const Matrix &A : matrices) {
    const Matrix doubled = Doubled(A);

    if (gathered_only || A.values.size() > (small_run ? 8000 : 300000)) continue;
    TestFormats(&doubled, NULL, true);
    TestPairs(&doubled);
  }
  if (pairs_only) {
    printf("multiply: %d passed, %d failed\n", npassed, nfailed);
    return nfailed ? 1 : 0;
  }
  TestSchedule(&matrices.back(), HrpbStagedParams(), true, false);
  TestSchedule(&matrices[0], HrpbStagedParams(), false, false);
  {
    const Matrix steps = Make("steps", 600 * 16, 330, [](int64_t i, int64_t j, const Matrix *) { return j < (i / 16 * 7 % 5 + 1) * 64; });

    TestSchedule(&steps, {16, 16, 64, 8}, false, true);
  }
  {
    const Matrix              &A     = matrices[0];
    const std::vector<int64_t> order = RandomOrder(A.nrows);
    int32_t                   *d     = Upload(std::vector<int32_t>(order.begin(), order.end()));

    TestFormats(&A, d);
    cudaFree(d);
  }
  TestHeavyPanels();
  if (IsMine()) TestKernelsAgree();
  if (sizeof(HrpbScalar) == 8 && IsMine()) TestChunks();
  if (IsMine()) TestManyColumns();
  if (!small_run) {
    TestLongRow();
    TestSlices();
    TestFarApart(&matrices[0]);
  }
  printf("multiply: %d passed, %d failed\n", npassed, nfailed);
  return nfailed ? 1 : 0;
}
