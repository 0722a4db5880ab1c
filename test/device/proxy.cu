/*
   The proxy of a matrix. Its features and rows against what the host makes of them, and products that are timed. No
   PETSc.

     test-proxy         all tests
     test-proxy -small  few and small ones, to run under compute-sanitizer
*/
#include "matrices.cuh"
#include "proxy/proxy.h"

enum {
  SAMPLED       = 8, /* one row in this many is looked at */
  MOST_SEGMENTS = 256
};

static HrpbFeatures features[MOST_SEGMENTS];

/*
   Rows of many kinds: runs of columns that grow and shrink down the matrix, single columns, none. begin is a number of
   entries that belong to no row and come first.
*/
static Matrix Mixed(int64_t nrows, int64_t ncols, int64_t begin)
{
  Matrix A = {"mixed", nrows, ncols, {0}, {}, {}};

  A.rowptr[0] = (HrpbInt)begin;
  A.colidx.resize(begin);
  for (int64_t i = 0; i < nrows; i++) {
    std::vector<HrpbInt> row;

    if (i % 13 != 7) {
      for (int64_t k = 0; k < 3 + i * 20 / nrows + (i % 1024 == 511 ? 100 : 0); k++) row.push_back((HrpbInt)((i / 3 * 3 + k) % ncols));
      for (int64_t k = 0; k < i / 256 % 5; k++) row.push_back((HrpbInt)(Random() % ncols));
    }
    std::sort(row.begin(), row.end());
    row.erase(std::unique(row.begin(), row.end()), row.end());
    A.colidx.insert(A.colidx.end(), row.begin(), row.end());
    A.rowptr.push_back((HrpbInt)A.colidx.size());
  }
  for (size_t k = 0; k < A.colidx.size(); k++) A.values.push_back(Uniform());
  return A;
}

/* The 7-point stencil of a grid that is 20 x 20 wide, except at its edges */
static bool Points7(int64_t i, int64_t j, const Matrix *)
{
  const int64_t distance = llabs(i - j);

  return distance <= 1 || distance == 20 || distance == 400;
}

static HrpbFeatures FeaturesOnHost(const Matrix *A, int64_t first, int64_t rows)
{
  HrpbFeatures f = {A->rowptr[first], A->rowptr[first + rows] - A->rowptr[first], 0, 0, 0, 0};

  for (int64_t i = first; i < first + rows; i++) {
    const HrpbInt begin = A->rowptr[i], end = A->rowptr[i + 1];

    f.longest = std::max(f.longest, (int64_t)(end - begin));
    if (i % SAMPLED != SAMPLED - 1) continue;
    for (HrpbInt k = begin; k < end; k++) {
      f.runs += k == begin || A->colidx[k] != A->colidx[k - 1] + 1;
      f.shared += std::binary_search(A->colidx.begin() + A->rowptr[i - 1], A->colidx.begin() + begin, A->colidx[k]);
    }
    if (end > begin) f.span += A->colidx[end - 1] - A->colidx[begin];
  }
  return f;
}

static bool SameFeatures(const HrpbFeatures *a, const HrpbFeatures *b)
{
  return a->begin == b->begin && a->entries == b->entries && a->longest == b->longest && a->runs == b->runs && a->shared == b->shared && a->span == b->span;
}

/* Fill features, and return their number */
static int32_t TestFeatures(const Matrix &A, int64_t segment_rows, int64_t stride)
{
  const int32_t n = (int32_t)((A.nrows - segment_rows) / stride + 1);
  DeviceCsr     d = CsrOnDevice(&A);

  Check(HrpbFeaturesDevice(d.rowptr, d.colidx, segment_rows, stride, n, NULL, features));
  for (int32_t s = 0; s < n; s++) {
    const HrpbFeatures right = FeaturesOnHost(&A, s * stride, segment_rows);
    char               what[256];

    snprintf(what, sizeof(what), "segment %d of %ld rows: entries %ld (must be %ld), longest %ld (%ld), runs %ld (%ld), shared %ld (%ld), span %ld (%ld)", s, (long)segment_rows, (long)features[s].entries, (long)right.entries, (long)features[s].longest, (long)right.longest, (long)features[s].runs, (long)right.runs, (long)features[s].shared, (long)right.shared, (long)features[s].span, (long)right.span);
    Report(SameFeatures(&features[s], &right), what, A.name);
  }
  CsrDestroy(&d);
  return n;
}

/* Check that the product of the proxy's rows with its B is timed */
static void CheckC(const HrpbProxy *p, const Matrix *A, const char *where)
{
  const std::vector<HrpbScalar> B = Download(p->B, p->ldb * p->N), C = Download(p->C, p->ldc * p->N);
  double                        worst = 0;

  Report(Compare(A, p->N, B.data(), p->ldb, C.data(), p->ldc, sizeof(HrpbScalar) == 8 ? 1e-14 : 1e-5, &worst), "what is timed is no product", where);
  Check(cudaMemset(p->C, 0xff, sizeof(HrpbScalar) * (size_t)(p->ldc * p->N)));
}

static bool Plausible(const HrpbTiming *t)
{
  return t->seconds > 0 && t->seconds < 10 && t->products >= 1 && t->products <= 2;
}

/*
   Columns of a copy of B. For CSR: one vector of 16 bytes, or two where one is not enough. For bricks: tiles of 16
   columns
*/
static int32_t CopyForCsr(int64_t N)
{
  const int64_t vector = 16 / sizeof(HrpbScalar), unit = N > vector ? 2 * vector : vector;

  return (int32_t)((N + unit - 1) / unit * unit);
}

/* A has the rows that p should have. whole is the schedule of the whole matrix */
static void TestTimes(const HrpbProxy *p, const Matrix *A, const CsrSchedule *whole, const char *where)
{
  const HrpbParams staged[] = {HrpbStagedParams(), {16, 64, 64, 8}, {8, 64, 64, 4}, {8, 64, 64, 8}, {16, 128, 32, 16}}, gathered[] = {HrpbGatherParams(), {16, 16, 256, 1}};
  const HrpbParams refused[] = {{8, 128, 64, 8}, {8, 64, 128, 8}}; /* 16 strips; blocks too wide for 8 rows */
  HrpbPrecision    precision = sizeof(HrpbScalar) == 8 ? HRPB_FP64 : HRPB_3XTF32;
  CsrSchedule      s         = *whole;
  HrpbTiming       t;

  for (const HrpbParams &params : staged) {
    Check(HrpbTimeBricksDevice(p, &params, precision, NULL, &t));
    Report(Plausible(&t) && !t.ldr && !HrpbCopyForBricks(p, &params), "staged bricks are not timed", where);
    CheckC(p, A, where);
  }
  for (const HrpbParams &params : gathered) {
    Check(HrpbTimeBricksDevice(p, &params, precision, NULL, &t));
    Report(Plausible(&t) && t.ldr == (p->N + 15) / 16 * 16 && t.ldr == HrpbCopyForBricks(p, &params), "gathered bricks are not timed, or with another copy", where);
    CheckC(p, A, where);
  }
  for (const HrpbParams &params : refused) Report(HrpbTimeBricksDevice(p, &params, precision, NULL, &t) == HRPB_ERR_UNSUPPORTED && !t.products, "a format that is not staged is timed", where);
  if (s.rows_entries) { /* rows as they come, with any N */
    s.direct_columns = 0;
    Check(HrpbTimeCsrDevice(p, &s, p->N, NULL, &t));
    Report(Plausible(&t) && !t.ldr && !HrpbCopyForCsr(p, &s, p->N), "rows are not multiplied as they come", where);
    CheckC(p, A, where);
  }
  if (s.longest <= CSR_STAGED_ENTRIES) { /* rows of B in shared memory, where the device has enough of it */
    s.direct_columns = 0;
    s.panel_rows     = CSR_PANEL_ROWS;
    if (p->share == 1) { /* the panels are those of the matrix */
      s.run_ptr = s.runs = s.places = NULL;
      s.panel_rows                  = 0;
      Check(CsrPanelsDevice(p->rowptr, p->colidx, CSR_PANEL_ROWS, NULL, &s));
    }
    const HrpbError err = s.panel_rows ? HrpbTimeCsrDevice(p, &s, p->N, NULL, &t) : HRPB_ERR_UNSUPPORTED;

    if (p->share == 1) CsrPanelsDestroy(&s, NULL);
    /* Rows that are taken as they come need few rows of B */
    if (err == HRPB_ERR_UNSUPPORTED) Report(!s.rows_entries || !CanStage(), "no rows of B in shared memory where they fit", where);
    else {
      Check(err);
      Report(CanStage() && Plausible(&t) && !t.ldr && !HrpbCopyForCsr(p, &s, p->N), "rows of B in shared memory are not timed", where);
      CheckC(p, A, where);
    }
  }
  s.panel_rows     = 0;
  s.direct_columns = (int32_t)p->N;
  s.rows_entries   = 0;
  /* A product with one column more than the proxy has is not made column by column. Neither is the proxy's */
  for (int wider = 0; wider < 2; wider++) {
    Check(HrpbTimeCsrDevice(p, &s, p->N + wider, NULL, &t));
    Report(Plausible(&t) && t.ldr == (wider ? CopyForCsr(p->N) : 0) && t.ldr == HrpbCopyForCsr(p, &s, p->N + wider), "CSR is not timed, or with another copy", where);
    CheckC(p, A, where);
  }
  for (int32_t ldr : {CopyForCsr(p->N), (int32_t)(p->N + 15) / 16 * 16, 0}) {
    Check(HrpbTimeCopyDevice(p, ldr, NULL, &t));
    Report(Plausible(&t) && !t.ldr, "the copy of B, or a launch, is not timed", where);
  }
}

/* The rows of a proxy as a matrix */
static Matrix DownloadProxy(const HrpbProxy *p)
{
  Matrix A = {"proxy", p->nrows, p->ncols, {}, {}, {}};

  A.rowptr = Download(p->rowptr, p->nrows + 1);
  A.colidx = Download(p->colidx, A.rowptr.back());
  A.values = Download(p->values, A.rowptr.back());
  return A;
}

static void CheckB(const HrpbProxy *p, const char *where)
{
  std::vector<HrpbScalar> B   = Download(p->B, p->ldb * p->N);
  double                  sum = 0, squares = 0;

  for (HrpbScalar b : B) {
    sum += b;
    squares += (double)b * b;
  }
  Report(p->ldb >= p->ncols && p->ldc >= p->nrows && fabs(sum) < 0.1 * B.size() && squares > 0.2 * B.size() && squares < 0.5 * B.size(), "B is no noise", where);
}

/* as_they_come: whether rows are multiplied as they come */
static void TestSegments(const Matrix &A, int64_t segment_rows, int64_t N, bool as_they_come)
{
  const int32_t n = TestFeatures(A, segment_rows, segment_rows);
  DeviceCsr     d = CsrOnDevice(&A);
  int32_t       chosen[HRPB_REPRESENTATIVES];
  Matrix        right = {"right", HRPB_REPRESENTATIVES * segment_rows, A.ncols, {0}, {}, {}}, found = right;
  HrpbProxy     p;

  Check(HrpbChooseSegments(n, features, HRPB_REPRESENTATIVES, chosen));
  for (int32_t s : chosen) {
    for (int64_t i = s * segment_rows; i < (s + 1) * segment_rows; i++) {
      right.colidx.insert(right.colidx.end(), A.colidx.begin() + A.rowptr[i], A.colidx.begin() + A.rowptr[i + 1]);
      right.values.insert(right.values.end(), A.values.begin() + A.rowptr[i], A.values.begin() + A.rowptr[i + 1]);
      right.rowptr.push_back((HrpbInt)right.colidx.size());
    }
  }
  Check(HrpbProxyCreateDevice(A.nrows, A.ncols, d.rowptr, d.colidx, d.values, segment_rows, N, NULL, &p));
  Check(cudaDeviceSynchronize());
  found = DownloadProxy(&p);
  Report(p.nrows == right.nrows && p.ncols == A.ncols && p.N == N && fabs(p.share * A.nrows - p.nrows) < 1e-6, "the proxy has another size", A.name);
  Report(fabs(p.entries * (double)(A.rowptr.back() - A.rowptr[0]) - (double)right.colidx.size()) < 1e-3, "the proxy has another share of the entries", A.name);
  Report(found.rowptr == right.rowptr && found.colidx == right.colidx && SameBits(found.values.data(), right.values.data(), right.values.size()), "the proxy has other rows", A.name);
  CheckB(&p, A.name);
  Report((d.schedule.rows_entries > 0) == as_they_come, "another kernel for CSR than the test is about", A.name);
  TestTimes(&p, &right, &d.schedule, A.name);
  HrpbProxyDestroyDevice(&p, NULL);
  Report(!p.nrows && !p.B && !p.own[0], "not zero when destroyed", A.name);
  CsrDestroy(&d);
}

/* The proxy of a small matrix is the matrix */
static void TestWhole(const Matrix &A, int64_t N)
{
  DeviceCsr d = CsrOnDevice(&A);
  HrpbProxy p;

  Check(HrpbProxyCreateDevice(A.nrows, A.ncols, d.rowptr, d.colidx, d.values, HRPB_UNIT_ROWS, N, NULL, &p));
  Report(p.rowptr == d.rowptr && p.colidx == d.colidx && p.values == d.values && p.nrows == A.nrows && p.share == 1 && p.entries == 1, "the proxy is not the matrix", A.name);
  CheckB(&p, A.name);
  TestTimes(&p, &A, &d.schedule, A.name);
  HrpbProxyDestroyDevice(&p, NULL);
  Check(cudaDeviceSynchronize());
  Report(Download(d.colidx, (int64_t)A.colidx.size()) == A.colidx, "the matrix went with its proxy", A.name);
  CsrDestroy(&d);
}

/*
   Entries in the first and last rows alone, as in an off-diagonal block. Segments without entries stand for nearly all
   rows, and the proxy says so.
*/
static void TestEnds(int64_t nsegments)
{
  const int64_t nrows = nsegments * HRPB_UNIT_ROWS;
  Matrix        A     = {"ends", nrows, 64, {0}, {}, {}};
  DeviceCsr     d;
  HrpbProxy     p;

  for (int64_t i = 0; i < nrows; i++) {
    for (HrpbInt j = 0; j < 7 && (i < 100 || i >= nrows - 100); j++) {
      A.colidx.push_back(9 * j);
      A.values.push_back(Uniform());
    }
    A.rowptr.push_back((HrpbInt)A.colidx.size());
  }
  d = CsrOnDevice(&A);
  Check(HrpbProxyCreateDevice(A.nrows, A.ncols, d.rowptr, d.colidx, d.values, HRPB_UNIT_ROWS, 8, NULL, &p));
  Report(p.share > 0.1 && (p.entries < p.share / 2 || p.entries > p.share * 2), "the proxy seems to have its share of the entries", A.name);
  HrpbProxyDestroyDevice(&p, NULL);
  CsrDestroy(&d);
}

static void TestRefused(const Matrix &A)
{
  DeviceCsr d = CsrOnDevice(&A);
  HrpbProxy p;
  int64_t   rows;

  Report(HrpbProxyCreateDevice(0, A.ncols, d.rowptr, d.colidx, d.values, HRPB_UNIT_ROWS, 8, NULL, &p) == HRPB_ERR_PARAMETER && !p.nrows, "no rows", "refused");
  Report(HrpbProxyCreateDevice(A.nrows, A.ncols, d.rowptr, d.colidx, d.values, 100, 8, NULL, &p) == HRPB_ERR_PARAMETER && !p.nrows, "segments of 100 rows", "refused");
  Report(HrpbProxyCreateDevice(A.nrows, A.ncols, d.rowptr, d.colidx, d.values, HRPB_UNIT_ROWS, 0, NULL, &p) == HRPB_ERR_PARAMETER && !p.nrows, "no columns", "refused");
  Check(HrpbSegmentRowsDevice(&rows));
  Report(rows > 0 && rows % HRPB_UNIT_ROWS == 0, "a segment of no rows", "rows");
  CsrDestroy(&d);
}

int main(int argc, char **argv)
{
  small_run = argc == 2 && !strcmp(argv[1], "-small");
  if (argc > 2 || (argc == 2 && !small_run)) {
    printf("usage: %s [-small]\n", argv[0]);
    return 2;
  }
  TestFeatures(Mixed(256, 300, 0), 256, 256);
  TestFeatures(Mixed(3000, 300, 5), 512, 768);
  TestSegments(Mixed(24 * 256 + 77, 501, 0), 256, 8, false);
  TestSegments(Make("7 points", 24 * 256 + 77, 24 * 256 + 77, Points7), 256, 8, true);
  if (!small_run) {
    TestSegments(Mixed(24 * 256 + 77, 501, 3), 256, 33, false);
    TestSegments(Mixed(60000, 60000, 0), 512, 100, false);
    TestFeatures(Make("dense rows", 512, 200, DenseRows), 256, 256);
  }
  TestWhole(Mixed(700, 600, 3), 9);
  TestWhole(Make("stencil", 252, 252, Stencil), 16);
  TestEnds(96);
  TestRefused(Mixed(300, 300, 0));
  printf("proxy: %d passed, %d failed\n", npassed, nfailed);
  return nfailed ? 1 : 0;
}
