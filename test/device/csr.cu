/*
   The product with CSR against one in long double on the host, with plain arrays. No PETSc.

     test-csr           all tests
     test-csr -small    few and small ones, to run under compute-sanitizer
     test-csr -time n   milliseconds, median of n, beside cuSPARSE and bricks
*/
#include "matrices.cuh"

static SpmmMatrix MatrixOf(const DeviceCsr *d)
{
  return CsrMatrix(&d->schedule, d->rowptr, d->colidx, d->values);
}

static void *Work(const DeviceCsr *d, int64_t N)
{
  const SpmmMatrix A = MatrixOf(d);
  size_t           bytes;
  void            *work;

  Check(WorkFor(&A, N, &bytes));
  if (!bytes) return NULL;
  Check(cudaMalloc(&work, bytes));
  Check(cudaMemset(work, 0xff, bytes)); /* NaN: a read of what was not written shows */
  return work;
}

static void Multiply(const DeviceCsr *d, int64_t N, const HrpbScalar *B, int64_t ldb, HrpbScalar *C, int64_t ldc)
{
  const SpmmMatrix A    = MatrixOf(d);
  void            *work = Work(d, N);

  Check(MultiplyPlain(&A, N, B, ldb, C, ldc, work));
  Check(cudaDeviceSynchronize());
  cudaFree(work);
}

/*
   The kernels. Each can take any number of columns, even where the schedule names another. They are: from a copy of B,
   in tiles of two widths, by four or eight lanes; column by column; rows as they come, which is for short rows; and
   rows of B in shared memory.
*/
enum Kernel {
  COPY,
  NARROW,
  EIGHT,
  NARROW_EIGHT,
  DIRECT,
  ROWS,
  STAGED,
  NKERNELS
};

static const char *const kernel_names[NKERNELS] = {"a copy of B", "a copy in narrow tiles", "a copy, by eight lanes", "a copy in narrow tiles, by eight lanes", "no copy of B", "rows as they come", "rows of B in shared memory"};

enum {
  /* columns of A from which B gets few columns, because making B takes longer than multiplying */
  MANY   = 200000,
  EIGHTS = sizeof(HrpbScalar) == 8 ? 25 : 21, /* columns shared by eight lanes, the last of which have none */
  THREES = sizeof(HrpbScalar) == 8 ? 21 : 45, /* three vectors a lane of four, or two of eight; some have none */
  /* columns of wide tiles, or of twice as many narrow ones; some lanes of the last tile have none */
  WIDE   = sizeof(HrpbScalar) == 8 ? 57 : 53,
  TILE_AND_HALF = 384 / sizeof(HrpbScalar) + 1 /* a whole tile, and one in which nearly half of the lanes have none */
};

static DeviceCsr With(const DeviceCsr *d, Kernel kernel, int32_t rows_entries = 0)
{
  DeviceCsr other = *d;

  other.schedule.direct_columns = kernel == DIRECT ? 65535 : 0;
  other.schedule.rows_entries   = kernel == ROWS ? rows_entries : 0;
  other.schedule.narrow_tiles   = kernel == NARROW || kernel == NARROW_EIGHT;
  other.schedule.eight_columns  = kernel == EIGHT || kernel == NARROW_EIGHT ? HRPB_MAX_COLUMNS : 0;
  other.schedule.eight_anyway   = kernel == NARROW_EIGHT;
  if (kernel != STAGED) other.schedule.panel_rows = 0;
  return other;
}

/* The most entries of 256 rows */
static int64_t RowsEntries(const Matrix *A)
{
  int64_t most = 0;

  for (int64_t i = 0; i < A->nrows; i += 256) most = std::max(most, (int64_t)(A->rowptr[std::min(i + 256, A->nrows)] - A->rowptr[i]));
  return most;
}

/* One entry of A B, added entry by entry */
static HrpbScalar InOrder(const Matrix *A, int64_t i, const HrpbScalar *b)
{
  HrpbScalar sum = 0;

  for (HrpbInt k = A->rowptr[i]; k < A->rowptr[i + 1]; k++) sum = std::fma(A->values[k], b[A->colidx[k]], sum);
  return sum;
}

/* The same, added as the interface says of a row that is not cut: in chunks of eight, unless that is not finite */
static HrpbScalar InChunks(const Matrix *A, int64_t i, const HrpbScalar *b)
{
  HrpbScalar sum = 0;

  for (HrpbInt begin = A->rowptr[i]; begin < A->rowptr[i + 1]; begin += 8) {
    HrpbScalar part = 0;

    for (HrpbInt k = begin; k < std::min(begin + 8, A->rowptr[i + 1]); k++) part = std::fma(A->values[k], b[A->colidx[k]], part);
    sum += part;
  }
  return std::isfinite(sum) ? sum : InOrder(A, i, b);
}

/*
   Rows are added as the interface says, so the bits of rows that are not cut are known. With huge numbers some sums
   overflow in a chunk, others in the row, and others in both.
*/
static void TestOrder(const Matrix *A, const DeviceCsr *d, bool huge = false, int64_t columns = 0)
{
  const int64_t           N = columns ? columns : A->ncols >= MANY ? 3 : d->schedule.narrow_tiles ? WIDE : EIGHTS;
  std::vector<HrpbScalar> B((size_t)(A->ncols * N)), C((size_t)(A->nrows * N), -77);
  HrpbScalar             *dB, *dC;
  int64_t                 section = 1280, wrong = 0, nlong = 0, ngiant = 0, nhuge = 0;

  for (int64_t i = 0; i < A->nrows; i++) { /* the section is shorter where rows are cut that would fit into it */
    const int64_t length = A->rowptr[i + 1] - A->rowptr[i];

    if (length > d->schedule.part_entries && length <= 1280) section = 1024;
  }
  for (HrpbScalar &b : B) b = Uniform() * (huge ? std::numeric_limits<HrpbScalar>::max() : 1);
  dB = Upload(B);
  dC = Upload(C);
  Multiply(d, N, dB, A->ncols, dC, A->nrows);
  Check(cudaMemcpy(C.data(), dC, sizeof(HrpbScalar) * C.size(), cudaMemcpyDeviceToHost));
  for (int64_t i = 0; i < A->nrows; i++) {
    if (A->rowptr[i + 1] - A->rowptr[i] > section) ngiant++;
    if (A->rowptr[i + 1] - A->rowptr[i] > 2048) nhuge++;
    if (A->rowptr[i + 1] - A->rowptr[i] > d->schedule.part_entries) {
      nlong++;
      continue;
    }
    for (int64_t n = 0; n < N; n++) {
      const HrpbScalar sum = InChunks(A, i, B.data() + n * A->ncols), c = C[i + n * A->nrows];

      if (!SameNumber(sum, c)) wrong++;
    }
  }
  Report(wrong == 0, huge ? "sums that overflow are not added again in the order of the entries" : "not added in chunks, in the order of the entries", A->name);
  Report(nlong == d->schedule.nlong && ngiant == d->schedule.ngiant && nhuge == d->schedule.nhuge, "wrong number of long rows", A->name);
  Report(d->schedule.section_entries <= section, "a section is too large", A->name);
  cudaFree(dB);
  cudaFree(dC);
}

/* More columns never need less memory. A product is made in pieces where memory is short, and relies on that */
static void TestWork(const Matrix *A, const DeviceCsr *d)
{
  const SpmmMatrix M    = MatrixOf(d);
  size_t           last = 0, bytes;
  bool             grows = true;

  for (int64_t N = 0; N < 70000; N = N < 200 ? N + 1 : N + 311) {
    Check(WorkFor(&M, N, &bytes));
    grows = grows && bytes >= last;
    last  = bytes;
  }
  Report(grows, "more columns need less memory", A->name);
}

/* Entries, if each row that is not cut had as many as the longest such row of its eight */
static void TestTurns(const Matrix *A, const DeviceCsr *d)
{
  int64_t turns = 0;

  for (int64_t first = 0; first < A->nrows; first += 8) {
    int64_t longest = 0;

    for (int64_t i = first; i < std::min(first + 8, A->nrows); i++) {
      const int64_t length = A->rowptr[i + 1] - A->rowptr[i];

      if (length <= d->schedule.part_entries) longest = std::max(longest, length);
      else turns += length;
    }
    turns += 8 * longest;
  }
  Report(d->schedule.turns == turns, "wrong number of turns", A->name);
}

/* Where most rows have no entries, those that have some and are not cut are listed in their order */
static void TestFilled(const Matrix *A, const DeviceCsr *d)
{
  std::vector<int32_t> rows;

  for (int64_t i = 0; i < A->nrows; i++) {
    const int64_t length = A->rowptr[i + 1] - A->rowptr[i];

    if (length > 0 && length <= d->schedule.part_entries) rows.push_back((int32_t)i);
  }
  Report((size_t)d->schedule.nfilled == rows.size(), "wrong number of rows with entries", A->name);
  Report((d->schedule.filled != NULL) == (rows.size() < (size_t)A->nrows / 2), d->schedule.filled ? "a list of most rows" : "no list of few rows", A->name);
  if (d->schedule.filled) Report(Download((const int32_t *)d->schedule.filled, d->schedule.nfilled) == rows, "not the rows with entries", A->name);
}

/* staged: whether rows of B fit into shared memory, on a device that has enough of it */
static void TestMatrix(const Matrix &A, const std::vector<int64_t> &widths, bool staged)
{
  static const struct {
    int64_t N, padding, shift;
    int     special;
  } products[] = {{1, 1, 1, 1}, {21, 16, 0, 1}, {6, 0, 0, 2}, {5, 0, 0, 3}, {3, 0, 0, 4}, {5, 0, 0, 5}, {WIDE, 3, 1, 0}};
  const double  bound      = sizeof(HrpbScalar) == 8 ? 2e-15 : 1e-6;
  DeviceCsr     d          = CsrOnDevice(&A);
  const int64_t entries    = RowsEntries(&A);
  DeviceCsr     kernels[NKERNELS] = {With(&d, COPY), With(&d, EIGHT), With(&d, NARROW), With(&d, NARROW_EIGHT), With(&d, DIRECT)};
  int           nkernels = 5, k = 0, call = 0;

  Report(d.schedule.rows_entries == 0 || d.schedule.rows_entries == entries, "wrong number of entries of rows", A.name);
  TestOrder(&A, &d);
  if (!d.schedule.nlong && entries && entries <= 4096) kernels[nkernels++] = With(&d, ROWS, (int32_t)entries);
  if (MakePanels(&d)) kernels[nkernels++] = With(&d, STAGED);
  Report((kernels[nkernels - 1].schedule.panel_rows > 0) == (staged && d.schedule.longest <= CSR_STAGED_ENTRIES && CanStage()), staged ? "rows of B are not brought into shared memory" : "rows of B are brought into shared memory that cannot be", A.name);
  /*
     The kernels take turns. So different kernels make the whole product and its parts, and each kernel goes first for
     some widths.
  */
  const auto multiply = [&](int64_t N, const HrpbScalar *B, int64_t ldb, HrpbScalar *C, int64_t ldc) { Multiply(&kernels[call++ % nkernels], N, B, ldb, C, ldc); };

  for (int64_t N : widths) {
    if (small_run && N != 1 && N != 3 && N != 45) continue;
    call = k;
    TestProduct(&A, "csr", multiply, N, k % 3 == 0 ? 0 : k % 3 == 1 ? 3 : 16, k % 4 == 3, 0, bound);
    k++;
  }
  for (int first = 0; first < nkernels; first++) {
    for (const auto &p : products) {
      if (p.N == WIDE && A.ncols >= MANY) continue;
      call = first;
      TestProduct(&A, "csr", multiply, p.N, p.padding, p.shift, p.special, bound);
    }
    TestOrder(&A, &kernels[first]);
    if (A.ncols < MANY) TestOrder(&A, &kernels[first], true);
  }
  for (Kernel kernel : {COPY, EIGHT}) {
    DeviceCsr  other = With(&d, kernel);
    const auto idle  = [&](int64_t N, const HrpbScalar *B, int64_t ldb, HrpbScalar *C, int64_t ldc) { Multiply(&other, N, B, ldb, C, ldc); };

    if (A.ncols >= MANY) continue;
    other.schedule.eight_anyway = true; /* for eight lanes alone */
    TestOrder(&A, &other, false, THREES);
    TestProduct(&A, "csr", idle, TILE_AND_HALF, 0, 1, 1, bound);
  }
  TestWork(&A, &d);
  TestFilled(&A, &d);
  TestTurns(&A, &d);
  CsrDestroy(&d);
}

/* A matrix that all kernels take. The last one needs a device with the shared memory */
static void TestFarApart(const Matrix &A)
{
  const double       bound      = sizeof(HrpbScalar) == 8 ? 2e-15 : 1e-6;
  DeviceCsr          d          = CsrOnDevice(&A);
  DeviceCsr          kernels[NKERNELS] = {With(&d, COPY), With(&d, NARROW), With(&d, EIGHT), With(&d, NARROW_EIGHT), With(&d, DIRECT), With(&d, ROWS, (int32_t)RowsEntries(&A))};
  int                nkernels   = 6;
  HrpbScalar        *B, *C;

  if (MakePanels(&d)) kernels[nkernels++] = With(&d, STAGED);
  if (FarCreate(&B, &C)) {
    for (int k = 0; k < nkernels; k++) {
      TestFar(&A, kernel_names[k], [&](int64_t N, const HrpbScalar *b, int64_t ldb, HrpbScalar *c, int64_t ldc) { Multiply(&kernels[k], N, b, ldb, c, ldc); }, B, C, bound);
    }
    cudaFree(B);
    cudaFree(C);
  }
  CsrDestroy(&d);
}

/*
   Rows with the given numbers of entries, then count rows of one entry. Columns are in any order, some of them
   repeated
*/
static Matrix Lengths(const char *name, const std::vector<int64_t> &lengths, int64_t count, int64_t ncols)
{
  Matrix A = {name, (int64_t)lengths.size() + count, ncols, {0}, {}, {}};

  for (int64_t i = 0; i < A.nrows; i++) {
    const int64_t length = i < (int64_t)lengths.size() ? lengths[i] : 1;

    for (int64_t k = 0; k < length; k++) {
      A.colidx.push_back((HrpbInt)(Random() % ncols));
      A.values.push_back(Uniform());
    }
    A.rowptr.push_back((HrpbInt)A.colidx.size());
  }
  return A;
}

/* Few columns that lie far apart; the last column is one of them */
static Matrix Far(int64_t n)
{
  const int64_t        ncols = 2000003;
  std::vector<int64_t> entries;

  for (int64_t i = 0; i < n; i++) {
    for (int64_t col : {i / 2, i / 2 + 1, 300000 + i, 700000 + i / 3, ncols - 1 - i / 9}) entries.push_back(i * ncols + col);
  }
  return FromEntries("far", n, ncols, entries);
}

/* Rows of B on both sides of a limit of the panels' builder. It looks at 2^16 sectors from the first one on. */
static Matrix Border(int64_t n)
{
  const int64_t        ncols = 600011, border = (int64_t)65536 * 32 / (int64_t)sizeof(HrpbScalar);
  std::vector<int64_t> entries;

  for (int64_t i = 0; i < n; i++) {
    for (int64_t col : {i % 4, border - n / 2 + i}) entries.push_back(i * ncols + col);
  }
  return FromEntries("border", n, ncols, entries);
}

/* The last columns, between the first ones */
static Matrix NotSorted(int64_t n)
{
  Matrix A = {"not sorted", n, 2000000, {0}, {}, {}};

  for (int64_t i = 0; i < n; i++) {
    for (int64_t col : {i / 2, A.ncols - 1 - i, i / 2 + 1}) {
      A.colidx.push_back((HrpbInt)col);
      A.values.push_back(Uniform());
    }
    A.rowptr.push_back((HrpbInt)A.colidx.size());
  }
  return A;
}

/*
   Sums that overflow, in a chunk, in a part or in the row. Terms with Inf and NaN, early and late. Rows that are not
   cut, rows that are cut, and rows longer than a thread block takes. All give what a loop along the row gives. The
   rows have the first columns, forwards and backwards.
*/
static void TestNotFinite(void)
{
  const HrpbScalar           huge = (sizeof(HrpbScalar) == 4 ? (HrpbScalar)3.4028234e38 : (HrpbScalar)1.7976931348623157e308) * (HrpbScalar)0.9, inf = INFINITY;
  const int64_t              ncols = 70000, N = WIDE, lengths[] = {60, 200, 1000, 1500, 5000, ncols};
  Matrix                     A = {"not finite", 0, ncols, {0}, {}, {}};
  std::vector<HrpbScalar>    B((size_t)(ncols * N)), C;
  HrpbScalar                *dB, *dC;
  DeviceCsr                  d;
  const auto                 set = [&](int64_t n, int64_t first, std::initializer_list<HrpbScalar> values) { std::copy(values.begin(), values.end(), B.begin() + n * ncols + first); };

  for (int64_t length : lengths) {
    for (int backwards = 0; backwards < 2; backwards++) {
      for (int64_t k = 0; k < length; k++) {
        A.colidx.push_back((HrpbInt)(backwards ? length - 1 - k : k));
        A.values.push_back(1);
      }
      A.rowptr.push_back((HrpbInt)A.colidx.size());
    }
  }
  while (A.rowptr.size() < 20000) { /* so that with this mean rows of 200 are cut */
    A.colidx.push_back(0);
    A.values.push_back(1);
    A.rowptr.push_back((HrpbInt)A.colidx.size());
  }
  A.nrows = (int64_t)A.rowptr.size() - 1;
  C.assign((size_t)(A.nrows * N), -77);
  for (HrpbScalar &b : B) b = Uniform();
  set(0, 1, {-huge});
  set(0, 150, {huge, huge / 2}); /* only the sum of the part overflows; backwards also that of the row */
  set(1, 1, {huge, huge});       /* Inf, then entries that cannot change it */
  set(2, 1, {-huge, -huge, inf}); /* an entry that makes NaN of it, forwards */
  set(3, 170, {inf});
  set(4, 3, {inf});
  set(4, 180, {-inf});
  set(5, 199, {(HrpbScalar)NAN});
  set(6, 1, {-inf});
  set(7, ncols - 2, {-huge, -huge});
  set(8, 1, {-huge});
  set(8, 12, {huge, huge / 2}); /* only the sum of the chunk overflows; backwards also that of the row */
  dB = Upload(B);
  dC = Upload(C);
  d  = CsrOnDevice(&A);
  Report(d.schedule.nlong == 10 && d.schedule.ngiant == 6 && d.schedule.nhuge == 4, "wrong number of long rows", A.name);
  for (const Kernel k : {COPY, NARROW, EIGHT, NARROW_EIGHT, DIRECT}) {
    const DeviceCsr kernel = With(&d, k);
    int64_t         wrong  = 0;

    Check(cudaMemset(dC, 0x11, sizeof(HrpbScalar) * C.size()));
    Multiply(&kernel, N, dB, ncols, dC, A.nrows);
    Check(cudaMemcpy(C.data(), dC, sizeof(HrpbScalar) * C.size(), cudaMemcpyDeviceToHost));
    for (int64_t n = 0; n < N; n++) {
      for (int64_t i = 0; i < A.nrows; i++) {
        const HrpbScalar sum = InOrder(&A, i, B.data() + n * ncols), c = C[i + n * A.nrows];

        if (!(std::fabs(sum) <= huge / 4 ? std::fabs(c - sum) <= (HrpbScalar)1e-2 : SameNumber(sum, c))) wrong++;
      }
    }
    Report(wrong == 0, kernel_names[k], A.name);
  }
  cudaFree(dB);
  cudaFree(dC);
  CsrDestroy(&d);
}

static void TestErrors(void)
{
  const int64_t many = (int64_t)1 << 31;
  HrpbInt      *rowptr = Upload(std::vector<HrpbInt>{0});
  HrpbScalar   *C = Upload(std::vector<HrpbScalar>{1});
  CsrSchedule   s;
  SpmmMatrix    A;
  size_t        bytes;

  Report(CsrScheduleDevice(many, 1, rowptr, rowptr, NULL, &s) == HRPB_ERR_OVERFLOW, "2^31 rows", "errors");
  Report(CsrScheduleDevice(1, many, rowptr, rowptr, NULL, &s) == HRPB_ERR_OVERFLOW, "2^31 columns", "errors");
  Report(CsrScheduleDevice(-1, 1, rowptr, rowptr, NULL, &s) == HRPB_ERR_CSR, "a negative size", "errors");
  Check(CsrScheduleDevice(0, 5, rowptr, rowptr, NULL, &s));
  A = CsrMatrix(&s, rowptr, NULL, NULL);
  Report(WorkFor(&A, HRPB_MAX_COLUMNS + 1, &bytes) == HRPB_ERR_OVERFLOW, "too many columns", "errors");
  Report(MultiplyPlain(&A, 4, NULL, 5, C, 1, NULL) == HRPB_SUCCESS, "no rows", "errors");
  CsrScheduleDestroyDevice(&s, NULL);
  cudaFree(rowptr);
  cudaFree(C);
}

/* A band and a few rows with entries anywhere, like a circuit with supply lines */
static Matrix Circuit(int64_t n)
{
  std::vector<int64_t> entries;

  for (int64_t i = 0; i < n; i++) {
    entries.push_back(i * n + i);
    for (int k = 0; k < 4; k++) entries.push_back(i * n + std::min(std::max(i + Random() % 200 - 100, (int64_t)0), n - 1));
    if (i % (n / 30) == 7) {
      for (int k = 0; k < 574; k++) entries.push_back(i * n + Random() % n);
    }
  }
  return FromEntries("circuit", n, n, entries);
}

/* Time of bricks in the format; negative where the device has no kernels for it */
static double TimeBricks(const Matrix *A, const DeviceCsr *d, const HrpbParams *params, HrpbPrecision precision, int n, int64_t N, const HrpbScalar *B, HrpbScalar *C)
{
  DeviceBricks b;
  SpmmMatrix   M;
  void        *work;
  size_t       bytes;
  double       time;
  bool         supports;

  Check(HrpbSupportsDevice(precision, &supports));
  if (!supports) return -1;
  b = BricksOnDevice(A->nrows, A->ncols, d->rowptr, d->colidx, NULL, d->values, params);
  M = BricksMatrix(&b.h, &b.schedule, b.values, precision);
  Check(WorkFor(&M, N, &bytes));
  Check(cudaMalloc(&work, bytes + 1));
  time = Median(n, [&]() { Check(MultiplyPlain(&M, N, B, A->ncols, C, A->nrows, work)); });
  cudaFree(work);
  BricksDestroy(&b);
  return time;
}

static void Time(const Matrix &A, int n)
{
  const HrpbParams    gather = HrpbGatherParams(), staged = HrpbStagedParams();
  const bool          single = sizeof(HrpbScalar) == 4;
  const HrpbPrecision full   = single ? HRPB_3XTF32 : HRPB_FP64;
  DeviceCsr           d      = CsrOnDevice(&A);
  const SpmmMatrix    M      = MatrixOf(&d);
  HrpbScalar         *column;

  {
    std::vector<HrpbScalar> x((size_t)A.ncols);

    for (HrpbScalar &v : x) v = Uniform();
    column = Upload(x);
  }
  printf("%s: %ld rows, %ld entries; %d rows of more than %d in %d parts\n", A.name, (long)A.nrows, (long)A.colidx.size(), d.schedule.nlong, d.schedule.part_entries, d.schedule.nparts);
  printf("     N  cuSPARSE       csr  bricks gathered    staged%s\n", single ? "      TF32" : "");
  for (int64_t N : {1, 2, 3, 4, 8, 12, 16, 24, 32, 64, 96, 128}) {
    HrpbScalar *B, *C;
    void       *work = Work(&d, N);
    Cusparse    c;
    double      cusparse, csr;

    Check(cudaMalloc(&B, sizeof(HrpbScalar) * A.ncols * N));
    Check(cudaMalloc(&C, sizeof(HrpbScalar) * A.nrows * N));
    for (int64_t j = 0; j < N; j++) Check(cudaMemcpy(B + j * A.ncols, column, sizeof(HrpbScalar) * A.ncols, cudaMemcpyDeviceToDevice));
    c        = CusparseCreate(&A, d.rowptr, d.colidx, d.values, N, B, C);
    cusparse = Median(n, [&]() { CusparseMultiply(&c); });
    csr      = Median(n, [&]() { Check(MultiplyPlain(&M, N, B, A.ncols, C, A.nrows, work)); });
    printf("%6ld %9.4f %9.4f %16.4f %9.4f", (long)N, cusparse, csr, TimeBricks(&A, &d, &gather, full, n, N, B, C), TimeBricks(&A, &d, &staged, full, n, N, B, C));
    if (single) printf(" %9.4f", TimeBricks(&A, &d, &staged, HRPB_TF32, n, N, B, C));
    printf("\n");
    fflush(stdout);
    CusparseDestroy(&c);
    cudaFree(work);
    cudaFree(B);
    cudaFree(C);
  }
  cudaFree(column);
  CsrDestroy(&d);
}

static Matrix Band(const char *name, int64_t n, int64_t width)
{
  std::vector<int64_t> entries;

  for (int64_t i = 0; i < n; i++) {
    for (int64_t j = std::max(i - width, (int64_t)0); j <= std::min(i + width, n - 1); j++) entries.push_back(i * n + j);
  }
  return FromEntries(name, n, n, entries);
}

/* Rows of three entries whose columns run with them, but one of 40 in each 32: the others' lanes wait for its */
static Matrix Uneven(int64_t n)
{
  std::vector<int64_t> entries;

  for (int64_t i = 0; i < n; i++) {
    for (int64_t j = 0; j < (i % 32 == 7 ? 40 : 3); j++) entries.push_back(i * n + (i + j) % n);
  }
  return FromEntries("uneven", n, n, entries);
}

/*
   What the schedule chooses. In double precision eight lanes take a row. In single precision they do where rows are of
   all lengths and C is small; where rows are few, some lanes get no columns. Rows are multiplied as they come only
   where they are short, few of them much longer than those beside them, and their columns run with them. Rows of B are
   brought into shared memory where A has enough rows for that.
*/
static void TestRowsChosen(void)
{
  const Matrix  short_rows = Grid("7 points", 24, 1, false), long_rows = Grid("27 points", 12, 1, true), scattered = Scattered(4096, 6), graph = RMat(4096, 8), uneven = Uneven(4096);
  const Matrix *matrices[] = {&short_rows, &long_rows, &scattered, &graph, &uneven};
  int           cache, current, nsm;

  Check(cudaGetDevice(&current));
  Check(cudaDeviceGetAttribute(&cache, cudaDevAttrL2CacheSize, current));
  Check(cudaDeviceGetAttribute(&nsm, cudaDevAttrMultiProcessorCount, current));
  for (const Matrix *A : matrices) {
    DeviceCsr d = CsrOnDevice(A);

    Report(d.schedule.panel_rows == 0, "rows of B in shared memory that do not pay", A->name);
    Report(d.schedule.rows_entries == (A == &short_rows ? RowsEntries(A) : 0), A == &short_rows ? "a copy of B that does not pay" : "no copy of B where one pays", A->name);
    Report(d.schedule.eight_columns == (sizeof(HrpbScalar) == 8 ? HRPB_MAX_COLUMNS : A == &graph ? cache / 3 / (4 * 4096) : 0), "wrong number of columns that have eight lanes a row", A->name);
    Report(d.schedule.eight_anyway == (A->nrows <= 192 * nsm), "lanes without columns where that does not pay, or none where it does", A->name);
    TestOrder(A, &d);
    CsrDestroy(&d);
  }
  for (int beyond = 0; beyond < 2; beyond++) { /* the most rows that count as few, and one more */
    const Matrix A = Scattered(192 * nsm + beyond, 6);
    DeviceCsr    d = CsrOnDevice(&A);

    Report(d.schedule.eight_anyway == !beyond, "lanes without columns where that does not pay, or none where it does", A.name);
    TestOrder(&A, &d, false, THREES);
    CsrDestroy(&d);
  }
  if (CanStage() && !small_run) {
    /*
       One panel for each multiprocessor; two; two with fewer rows; or only just more than one, where two would have
       half of the rows.
    */
    const int32_t of_each[4] = {CSR_PANEL_ROWS, 2 * CSR_PANEL_ROWS, 700, CSR_PANEL_ROWS + 10}, panel_rows[4] = {CSR_PANEL_ROWS, CSR_PANEL_ROWS, 352, 0};

    for (int k = 0; k < 4; k++) {
      const Matrix A = Band("27 diagonals", (int64_t)nsm * of_each[k], 13);
      DeviceCsr    d = CsrOnDevice(&A);

      Report(d.schedule.panel_rows == panel_rows[k], "wrong number of rows of a panel", A.name);
      if (panel_rows[k]) TestOrder(&A, &d);
      CsrDestroy(&d);
    }
  }
}

/*
   Narrow tiles of a copy of B are for scattered columns of a B that is too large for L2. They are not for a graph,
   some of whose columns are met often.
*/
static void TestTilesChosen(void)
{
  int device, cache;

  if (small_run) return;
  Check(cudaGetDevice(&device));
  Check(cudaDeviceGetAttribute(&cache, cudaDevAttrL2CacheSize, device));
  if (cache < 16 << 20) return; /* samples of this few columns meet some of them twice, and tiles stay wide */
  const int64_t n = 2 * (int64_t)cache / CSR_TILE_BYTES;
  int64_t       power = 1, side = 1;

  while (power < n) power *= 2;
  while (side * side * side < n) side++;
  const Matrix matrices[] = {Scattered(n, 4), Scattered(n / 4, 16), RMat(power, 4), Grid("7 points", side, 1, false)};

  for (const Matrix &A : matrices) {
    const bool wanted = &A == matrices;
    DeviceCsr  d      = CsrOnDevice(&A);

    Report((d.schedule.narrow_tiles != 0) == wanted, wanted ? "no narrow tiles where they pay" : "narrow tiles that do not pay", A.name);
    CsrDestroy(&d);
  }
}

int main(int argc, char **argv)
{
  const std::vector<int64_t> widths = {1, 2, 3, 4, 5, 7, 8, 9, 12, 13, 16, 17, 24, 25, 31, 32, 33, 34, 45, 48, 50, 63, 64, 65, 96, 130};

  small_run = argc > 1 && !strcmp(argv[1], "-small");
  if (argc > 1 && !strcmp(argv[1], "-time")) {
    const int n = argc > 2 ? atoi(argv[2]) : 20;

    if (n < 1) {
      fprintf(stderr, "-time needs a positive number of repetitions, not %s\n", argv[2]);
      return 2;
    }
    Time(Grid("poisson7", 128, 1, false), n);
    Time(RMat(524288, 16), n);
    Time(Scattered(524288, 16), n);
    Time(Grid("stencil27", 96, 1, true), n);
    Time(Grid("elasticity", 64, 3, true), n);
    Time(Grid("dof8", 40, 8, true), n);
    Time(Arrow(1000000), n);
    Time(PowerLaw(524288), n);
    Time(RMat(16384, 8), n);
    Time(Circuit(17758), n);
    return 0;
  }
  TestErrors();
  TestRowsChosen();
  TestTilesChosen();
  TestNotFinite();
  TestMatrix(Make("stencil", small_run ? 189 : 756, small_run ? 189 : 756, Stencil), widths, false);
  TestMatrix(Lengths("lengths", {0, 1, 7, 8, 9, 63, 64, 65, 0, 127, 128, 129, 200, 1000, 3, 0}, 500, 300), widths, false);
  TestMatrix(Grid("7 points", small_run ? 6 : 11, 1, false), widths, true);
  /* Its rows have two chunks, and may be taken as they come */
  TestMatrix(Make("wide band", small_run ? 150 : 333, small_run ? 150 : 333, WideBand), widths, true);
  TestMatrix(Make("27 diagonals", small_run ? 150 : 1501, small_run ? 151 : 1501, Diagonals), widths, true);
  for (int64_t lines : {3, 5, 7, 9}) {
    if (lines == 7 || !small_run) TestMatrix(Lines(lines * 1000, lines), {1, 3, 4, 9}, lines * CSR_PANEL_ROWS <= CSR_STAGED_ROWS);
  }
  TestMatrix(Lines(1200, 3), {1, 3, 4, 9}, true);
  TestMatrix(Make("no entries", 30, 30, Nothing), widths, false);
  TestMatrix(Make("no columns", 30, 0, Nothing), {1, 2, 33}, false);
  TestMatrix(Lengths("few rows", {0, 0, 0, 3, 0, 0, 9, 64, 65, 0, 0, 0, 0, 1300, 0, 0, 1, 0, 0, 0}, 0, 300), {1, 3, 45}, false);
  if (!small_run) {
    TestMatrix(Far(2000), {1, 3, 4, 9, 32}, true);
    TestMatrix(Border(1000), {1, 3, 4, 9}, true);
    TestMatrix(Offset(Lengths("", {5, 700, 0, 2}, 90, 60), "offset"), widths, false);
    TestMatrix(Offset(Grid("", 13, 1, true), "offset, 27 points"), widths, true);
    TestMatrix(Scattered(20000, 16), {1, 2, 21}, false);
    TestMatrix(Lengths("in any order", std::vector<int64_t>(1300, 20), 0, 600), {1, 2, 21}, true);
    TestMatrix(NotSorted(1300), {1, 2, 21}, false);
    TestMatrix(Make("random", 500, 400, Sparse), widths, true);
    TestMatrix(Make("random wide", 60, 3001, Sparse), widths, false);
    TestMatrix(Make("random tall", 1501, 70, Sparse), widths, true);
    TestMatrix(Make("dense", 150, 299, Dense), widths, false);
    TestMatrix(Make("one entry a row", 200, 90, OneEntry), widths, true);
    TestMatrix(Make("one column", 300, 40, OneColumn), widths, true);
    TestMatrix(Make("single column", 300, 1, Dense), widths, true);
    TestMatrix(Make("single row", 1, 700, Dense), widths, false);
    TestMatrix(Make("dense rows", 300, 500, DenseRows), widths, false);
    TestMatrix(Make("empty rows", 700, 200, Gaps), widths, true);
    TestMatrix(Lengths("sections", {895, 1, 511, 512, 513, 640, 767, 768, 769, 896, 897, 0, 1023, 1024, 1025, 5, 1151, 1279, 1280, 1281, 3, 2047, 2048, 2049, 0, 2560, 2561, 9}, 5000, 3000), {1, 2, 8, 35}, false);
    TestMatrix(Lengths("rows of a short section and more", {1025, 1100, 1, 1280}, 5000, 3000), {1, 2, 8, 35}, false);
    TestMatrix(Lengths("longer rows", {0, 1, 8, 9, 63, 64, 65, 71, 72, 73, 127, 128, 129, 136, 192, 200, 255, 256, 257, 300, 511, 512, 513, 0, 40, 1300, 2049, 100}, 0, 3000), widths, false);
    TestMatrix(Lengths("rows just cut", std::vector<int64_t>(300, 65), 5000, 3000), {1, 2, 8, 35}, false);
    TestMatrix(Lengths("many rows", {}, 300000, 1000), {1, 4, 33}, true);
    TestMatrix(Grid("7 points, 30000 rows", 31, 1, false), {16, 64}, true);
    TestMatrix(Lengths("long rows", {100003, 3, 99999, 70000}, 5000, 5000), {1, 2, 8, 35}, false);
    {
      std::vector<int64_t> lengths(300, 100);

      lengths[7]   = 5003;
      lengths[100] = 1281;
      TestMatrix(Lengths("long rows among rows of 100", lengths, 3, 6000), {1, 2, 8, 35}, false);
    }
    TestMatrix(Huge(Make("", 333, 333, WideBand)), {1, 3, 40}, true);
    TestMatrix(Tiny(Make("", 333, 333, WideBand)), {1, 3, 40}, true);
    TestFarApart(Make("wide band", 333, 333, WideBand));
    TestMatrix(LongRow(1000003, false), {1, 8}, false);
    TestMatrix(LongRow(1000003, true), {1, 8}, false);
  }
  printf("csr: %d passed, %d failed\n", npassed, nfailed);
  return nfailed ? 1 : 0;
}
