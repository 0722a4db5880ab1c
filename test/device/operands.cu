/*
   Every kernel of the table, including those of the host, with all operands that it takes, against a product in long
   double. No PETSc.

     test-operands         all tests
     test-operands -small  few and small ones, to run under compute-sanitizer
*/
#include "matrices.cuh"

/* A dense matrix of any layout */
struct DenseOperand {
  std::vector<HrpbScalar> values; /* including its surroundings */
  int64_t                 rows, N, ld;
  SpmmLayout              layout;

  size_t At(int64_t i, int64_t n) const { return (size_t)(layout == SPMM_COLUMN_MAJOR ? i + n * ld : i * ld + n); }
};

static const HrpbScalar guard = (HrpbScalar)-77;

static DenseOperand MakeDense(int64_t rows, int64_t N, SpmmLayout layout, int64_t padding, int special)
{
  const int64_t vector = 16 / sizeof(HrpbScalar), lines = layout == SPMM_COLUMN_MAJOR ? N : layout == SPMM_ROW_MAJOR ? rows : rows + 1;
  int64_t       ld     = (layout == SPMM_COLUMN_MAJOR ? rows : N) + padding;
  DenseOperand        d;

  if (layout == SPMM_ROW_MAJOR_PADDED) ld = (ld + vector - 1) / vector * vector;
  d = {std::vector<HrpbScalar>((size_t)(ld * lines), layout == SPMM_ROW_MAJOR_PADDED ? 0 : guard), rows, N, ld, layout};
  for (int64_t n = 0; n < N; n++) {
    for (int64_t i = 0; i < rows; i++) d.values[d.At(i, n)] = Entry(special, i, n);
  }
  return d;
}

/* What a kernel is asked for */
struct Case {
  int64_t    N, padding;
  SpmmLayout x, y, y0, rhs;
  SpmmUpdate update;
  HrpbScalar a, b, c;
  int32_t    dblock; /* zero: no D */
  bool       in_place, has_rhs, has_y0;
  int        special; /* kind of X: see Entry() */
};

/* The operands on the host; the arrays are those of these matrices */
struct Operands {
  DenseOperand                  X, Y, Y0, B;
  std::vector<HrpbScalar> D;
};

static Operands MakeOperands(const Matrix *A, const Case &c)
{
  Operands o;

  o.X  = MakeDense(A->ncols, c.N, c.x, c.padding, c.special);
  o.Y0 = MakeDense(A->nrows, c.N, c.in_place ? c.y : c.y0, c.padding, 0);
  o.B  = MakeDense(A->nrows, c.N, c.rhs, c.padding, 0);
  o.Y  = o.Y0;
  if (!c.in_place) {
    o.Y = MakeDense(A->nrows, c.N, c.y, c.padding, 0);
    std::fill(o.Y.values.begin(), o.Y.values.end(), guard);
  }
  for (int64_t k = 0; c.dblock && k < A->nrows * c.dblock; k++) o.D.push_back(Uniform());
  return o;
}

/* The same operands with arrays of the host, or of a device */
static SpmmOperands OperandsOf(const Case &c, const Operands &o, const HrpbScalar *X, HrpbScalar *Y, const HrpbScalar *Y0, const HrpbScalar *B, const HrpbScalar *D)
{
  SpmmOperands s = {};

  s.N      = c.N;
  s.X      = {X, o.X.ld, c.x};
  s.Y      = {Y, o.Y.ld, c.y};
  s.update = c.update;
  if (c.update != SPMM_ASSIGN && c.has_y0) s.Y0 = {c.in_place ? Y : Y0, o.Y0.ld, o.Y0.layout};
  if (c.update == SPMM_STEP && c.has_rhs) s.B = {B, o.B.ld, c.rhs};
  if (c.update == SPMM_STEP && c.dblock) s.D = D;
  s.a      = c.a;
  s.b      = c.b;
  s.c      = c.c;
  s.dblock = c.dblock;
  return s;
}

/*
   Entry i, n of Y; size is the sum of its terms' magnitudes. A sum with NaN or Inf terms is that of MATAIJ, in any
   order
*/
static long double Expected(const Matrix *A, const Case &c, const Operands &o, int64_t i, int64_t n, long double *size)
{
  const int64_t block = std::max(c.dblock, (int32_t)1), first = i / block * block;
  long double   y     = 0;
  const auto    product = [&](int64_t row, long double *terms) {
    long double sum = 0;

    *terms = 0;
    for (HrpbInt k = A->rowptr[row]; k < A->rowptr[row + 1]; k++) {
      const long double t = (long double)A->values[k] * o.X.values[o.X.At(A->colidx[k], n)];

      sum += t;
      *terms += fabsl(t);
    }
    return sum;
  };
  const auto add = [&](long double t) {
    y += t;
    *size += fabsl(t);
  };

  *size = 0;
  if (c.update == SPMM_ASSIGN || c.update == SPMM_ADD) {
    y = product(i, size);
    if (c.update == SPMM_ADD) add(o.Y0.values[o.Y0.At(i, n)]);
    return y;
  }
  for (int64_t j = c.dblock ? first : i; j < (c.dblock ? first + block : i + 1); j++) {
    const long double d = c.dblock ? (long double)o.D[first * block + (i - first) + (j - first) * block] : 1;
    long double       terms, ax = product(j, &terms);

    y += c.c * d * ((c.has_rhs ? (long double)o.B.values[o.B.At(j, n)] : 0) - ax);
    *size += fabsl(c.c * d) * (terms + (c.has_rhs ? fabsl((long double)o.B.values[o.B.At(j, n)]) : 0));
  }
  if (c.b != 0) add((long double)c.b * o.X.values[o.X.At(i, n)]);
  if (c.a != 0 && c.has_y0) add((long double)c.a * o.Y0.values[o.Y0.At(i, n)]);
  return y;
}

/* Check that Y is right, and that nothing around it was written */
static bool IsRight(const Matrix *A, const Case &c, const Operands &o, const std::vector<HrpbScalar> &Y, double bound)
{
  std::vector<bool> inside(Y.size());
  bool              ok = true;

  for (int64_t n = 0; n < c.N; n++) {
    for (int64_t i = 0; i < A->nrows; i++) {
      long double       size;
      const long double y = Expected(A, c, o, i, n, &size);
      const HrpbScalar  found = Y[o.Y.At(i, n)];

      inside[o.Y.At(i, n)] = true;
      ok = ok && (std::isnan(y) ? std::isnan(found) : std::isinf(y) ? found == (HrpbScalar)y : fabsl(found - y) <= bound * size);
    }
  }
  for (size_t k = 0; k < Y.size(); k++) ok = ok && (inside[k] || Y[k] == guard);
  return ok;
}

/* The matrix in all formats, on the host and on the device */
struct Subject {
  const Matrix           *A;
  DeviceCsr               csr;
  DeviceBricks            bricks;
  Hrpb                    h;
  std::vector<HrpbScalar> packed;

  SpmmMatrix For(const SpmmKernel *k, HrpbPrecision precision) const
  {
    if (k->format == SPMM_CSR && !k->host) return CsrMatrix(&csr.schedule, csr.rowptr, csr.colidx, csr.values);
    if (!k->host) return BricksMatrix(&bricks.h, &bricks.schedule, bricks.values, precision);
    if (k->format == SPMM_CSR) return {.nrows = A->nrows, .ncols = A->ncols, .rowptr = A->rowptr.data(), .colidx = A->colidx.data(), .values = A->values.data()};
    return {.nrows = A->nrows, .ncols = A->ncols, .hrpb = &h, .brick_values = packed.data()};
  }
};

static std::vector<HrpbScalar> RunOnHost(const SpmmKernel *k, const SpmmMatrix *M, const Case &c, const Operands &o)
{
  std::vector<HrpbScalar> Y = o.Y.values;
  const SpmmOperands      s = OperandsOf(c, o, o.X.values.data(), Y.data(), o.Y0.values.data(), o.B.values.data(), o.D.data());

  Check(SpmmRun(k, M, &s, NULL, NULL));
  return Y;
}

/* Run all columns at once. With a width, run that many columns at a time */
static std::vector<HrpbScalar> RunOnDevice(const SpmmKernel *k, const SpmmMatrix *M, const Case &c, const Operands &o, int64_t width)
{
  HrpbScalar             *X = Upload(o.X.values), *Y = Upload(o.Y.values), *Y0 = Upload(o.Y0.values), *B = Upload(o.B.values), *D = Upload(o.D);
  const SpmmOperands      all = OperandsOf(c, o, X, Y, Y0, B, D), piece = SpmmColumns(&all, 0, width);
  std::vector<HrpbScalar> found;
  size_t                  bytes, most;
  void                   *work;

  Check(SpmmWork(k, M, &all, &most));
  Check(SpmmWork(k, M, &piece, &bytes));
  Report(bytes <= most || piece.X.layout != all.X.layout, "fewer columns need more workspace", k->name);
  Check(cudaMalloc(&work, bytes + 1));
  Check(cudaMemset(work, 0xff, bytes + 1)); /* NaN: a read of what was not written shows */
  for (int64_t n = 0; n < c.N; n += width) {
    const SpmmOperands part = SpmmColumns(&all, n, std::min(width, c.N - n));

    PoisonShared();
    Check(SpmmRun(k, M, &part, work, NULL));
  }
  Check(cudaDeviceSynchronize());
  found = Download(Y, (int64_t)o.Y.values.size());
  for (void *p : {(void *)X, (void *)Y, (void *)Y0, (void *)B, (void *)D, work}) cudaFree(p);
  return found;
}

/* A kernel does not try operands that it does not take */
static void TestRefused(const SpmmKernel *k, const SpmmMatrix *M, const Case &c, const Operands &o, const char *where)
{
  HrpbScalar        *X = Upload(o.X.values), *Y = Upload(o.Y.values), *Y0 = Upload(o.Y0.values);
  const SpmmOperands s = OperandsOf(c, o, X, Y, Y0, NULL, NULL);

  Report(SpmmRun(k, M, &s, NULL, NULL) == HRPB_ERR_UNSUPPORTED, "operands that it does not take are not refused", where);
  for (HrpbScalar *p : {X, Y, Y0}) cudaFree(p);
}

/*
   The same product with plain operands, by the kernel that the table has for those. Also with values next to the
   largest number, where some of it is computed again.
*/
static bool IsPlainProduct(const Matrix *A, const SpmmMatrix *M, const Case &c, const Operands &o, const std::vector<HrpbScalar> &Y)
{
  const SpmmLayout columns = SPMM_COLUMN_MAJOR;
  const Case       plain   = {c.N, 0, columns, columns, columns, columns, SPMM_ASSIGN, 0, 0, 0, 0, false, false, false, c.special};
  Operands         p       = MakeOperands(A, plain);
  bool             ok      = true;

  for (int64_t n = 0; n < c.N; n++) {
    for (int64_t i = 0; i < A->ncols; i++) p.X.values[p.X.At(i, n)] = o.X.values[o.X.At(i, n)];
  }
  const SpmmOperands            shape = OperandsOf(plain, p, NULL, NULL, NULL, NULL, NULL);
  const std::vector<HrpbScalar> product = RunOnDevice(KernelFor(M, &shape), M, plain, p, c.N);

  for (int64_t n = 0; n < c.N; n++) {
    for (int64_t i = 0; i < A->nrows; i++) {
      const HrpbScalar y = product[p.Y.At(i, n)] + (c.update == SPMM_ADD ? o.Y0.values[o.Y0.At(i, n)] : 0), found = Y[o.Y.At(i, n)];

      ok = ok && (std::isnan(y) ? std::isnan(found) : y == found);
    }
  }
  return ok;
}

static void TestCase(const Subject *s, const Case &c)
{
  const HrpbPrecision precision = sizeof(HrpbScalar) == 8 ? HRPB_FP64 : HRPB_3XTF32;
  const double        bound     = sizeof(HrpbScalar) == 8 ? 4e-15 : 4e-6;
  const Operands      o         = MakeOperands(s->A, c);
  const SpmmDevice   *device;
  std::vector<HrpbScalar> host[2];
  char                    where[256];

  Check(SpmmGetDevice(&device));
  for (int i = 0; SpmmKernelGet(i); i++) {
    const SpmmKernel *k = SpmmKernelGet(i);

    if (k->op != SPMM_OP_PRODUCT) continue; /* vector.cu and sample.cu test the others */

    const SpmmMatrix   M     = s->For(k, precision);
    const SpmmFacts    facts = SpmmFactsOf(&M);
    const SpmmOperands shape = OperandsOf(c, o, NULL, NULL, o.Y0.values.data(), o.B.values.data(), o.D.data());

    snprintf(where, sizeof(where), "%s, %s, N %ld, padding %ld, X %d, Y %d, Y0 %d, update %d, D %d%s%s%s, special %d", s->A->name, k->name, (long)c.N, (long)c.padding, c.x, c.y, c.y0, c.update, c.dblock, c.in_place ? ", in place" : "", c.has_rhs ? "" : ", no B", c.has_y0 ? "" : ", no Y0", c.special);
    if (k->host && c.special == 2) continue;
    if (k->host) {
      host[k->format == SPMM_CSR] = RunOnHost(k, &M, c, o);
      Report(IsRight(s->A, c, o, host[k->format == SPMM_CSR], bound), "wrong", where);
      continue;
    }
    if (!k->takes(&facts, M.hrpb ? &M.hrpb->params : NULL, &shape, device)) {
      if (!SpmmIsPlain(&shape)) TestRefused(k, &M, c, o, where);
      continue;
    }
    const std::vector<HrpbScalar> Y = RunOnDevice(k, &M, c, o, c.N);

    if (c.special != 2) Report(IsRight(s->A, c, o, Y, bound), "wrong", where);
    if (c.update != SPMM_STEP) Report(IsPlainProduct(s->A, &M, c, o, Y), "not the bits of a plain product, and of what it is added to", where);
    if (c.N > 16) Report(SameBits(Y.data(), RunOnDevice(k, &M, c, o, 16).data(), Y.size()), "other bits in pieces", where);
  }
  for (size_t k = 0; k < host[0].size(); k++) { /* no values next to the largest number */
    if (!SameNumber(host[0][k], host[1][k])) Report(false, "not the same bits on the host by CSR and by bricks", where);
  }
}

static void TestMatrix(const Matrix &A, const HrpbParams &params)
{
  const SpmmLayout columns = SPMM_COLUMN_MAJOR, rows = SPMM_ROW_MAJOR, padded = SPMM_ROW_MAJOR_PADDED;
  const bool       square = A.nrows == A.ncols;
  Subject          s      = {.A = &A, .csr = CsrOnDevice(&A)};

  s.bricks = BricksOnDevice(A.nrows, A.ncols, s.csr.rowptr, s.csr.colidx, NULL, s.csr.values, &params);
  Check(HrpbBuildHost(A.nrows, A.ncols, A.rowptr.data(), A.colidx.data(), NULL, &params, &s.h));
  s.packed.resize(HrpbValueCount(&s.h) + 1);
  HrpbPackValuesHost(&s.h, A.rowptr.data(), A.values.data(), s.packed.data());
  for (int64_t N : {1, 5, 33, 70}) {
    if (small_run && (N == 5 || N == 70)) continue;
    for (int special = 0; special < 3; special++) {
      for (SpmmLayout x : {columns, rows, padded}) {
        for (SpmmLayout y : {columns, rows}) TestCase(&s, {N, N % 3, x, y, y, columns, SPMM_ASSIGN, 0, 0, 0, 0, false, false, false, special});
        TestCase(&s, {N, 1, x, columns, columns, columns, SPMM_ADD, 0, 0, 0, 0, true, false, true, special});
      }
      TestCase(&s, {N, 0, columns, columns, columns, columns, SPMM_ADD, 0, 0, 0, 0, false, false, true, special});
      /* rows of X that are whole vectors */
      TestCase(&s, {(N + 3) / 4 * 4, 0, rows, columns, columns, columns, SPMM_ADD, 0, 0, 0, 0, true, false, true, special});
      TestCase(&s, {N, 2, rows, rows, columns, columns, SPMM_ADD, 0, 0, 0, 0, false, false, true, special});
      TestCase(&s, {N, 2, columns, rows, rows, columns, SPMM_ADD, 0, 0, 0, 0, true, false, true, special});
    }
  }
  for (int32_t dblock = 0; dblock <= 6 && square; dblock++) {
    if (A.nrows % std::max(dblock, (int32_t)1)) continue;
    TestCase(&s, {9, 1, columns, columns, columns, columns, SPMM_STEP, (HrpbScalar)0.75, (HrpbScalar)-1.25, (HrpbScalar)0.5, dblock, true, true, true, dblock == 3 ? 1 : 0});
    TestCase(&s, {33, 0, rows, rows, columns, columns, SPMM_STEP, (HrpbScalar)0.75, (HrpbScalar)-1.25, (HrpbScalar)0.5, dblock, false, true, true, 0});
    TestCase(&s, {4, 0, padded, columns, columns, rows, SPMM_STEP, 0, 1, (HrpbScalar)0.5, dblock, true, true, true, 0});
    TestCase(&s, {4, 3, columns, rows, columns, columns, SPMM_STEP, 1, 0, -1, dblock, false, false, false, 0});
  }
  HrpbDestroy(&s.h);
  BricksDestroy(&s.bricks);
  CsrDestroy(&s.csr);
}

/* A Y0 that must not be read holds NaN, and absent operands are NULL. Wrong operands are errors */
static void TestOperands(void)
{
  const Matrix      A   = Make("band", 40, 40, Band);
  const SpmmKernel *k   = SpmmKernelFind("csr-host");
  const SpmmMatrix  M   = {.nrows = 40, .ncols = 40, .rowptr = A.rowptr.data(), .colidx = A.colidx.data(), .values = A.values.data()};
  std::vector<HrpbScalar> X(80), Y(80);
  const SpmmOperands plain = SpmmPlain(2, X.data(), 40, Y.data(), 40);
  const auto         wrong = [&](const char *what, void (*change)(SpmmOperands *)) {
    SpmmOperands o = plain;

    change(&o);
    Report(SpmmRun(k, &M, &o, NULL, NULL) == HRPB_ERR_OPERANDS, what, "operands");
  };

  Report(SpmmRun(k, &M, &plain, NULL, NULL) == HRPB_SUCCESS, "refused", "operands");
  wrong("a leading dimension of X that is too small", [](SpmmOperands *o) { o->X.ld = 39; });
  wrong("a leading dimension of a row-major X that is too small", [](SpmmOperands *o) { o->X = {o->X.array, 1, SPMM_ROW_MAJOR}; });
  wrong("a leading dimension of Y that is too small", [](SpmmOperands *o) { o->Y.ld = 39; });
  wrong("a Y with padding", [](SpmmOperands *o) { o->Y.layout = SPMM_ROW_MAJOR_PADDED; });
  wrong("Y is X", [](SpmmOperands *o) { o->Y.array = (HrpbScalar *)o->X.array; });
  wrong("nothing to add to", [](SpmmOperands *o) { o->update = SPMM_ADD; });
  wrong("Y is B", [](SpmmOperands *o) {
    o->update = SPMM_STEP;
    o->B      = {o->Y.array, o->Y.ld, o->Y.layout};
  });
  wrong("blocks that do not divide the rows", [](SpmmOperands *o) {
    o->update = SPMM_STEP;
    o->D      = o->X.array;
    o->dblock = 3;
  });
  Report(!SpmmKernelFind("csr-hosts"), "a kernel that there is not", "operands");
}

/* As in the block of a parallel matrix that needs rows of others: few rows have entries. One of them is cut */
static bool FewRows(int64_t i, int64_t, const Matrix *) { return i == 47 || (i % 40 == 7 && Random() % 20 == 0); }

int main(int argc, char **argv)
{
  small_run = argc > 1 && !strcmp(argv[1], "-small");
  TestOperands();
  TestMatrix(Make("stencil", small_run ? 120 : 240, small_run ? 120 : 240, Stencil), HrpbStagedParams());
  TestMatrix(Make("empty rows", small_run ? 300 : 700, 200, Gaps), HrpbShortParams());
  TestMatrix(Make("random", 180, 180, Sparse), HrpbGatherParams());
  TestMatrix(Make("random", 180, 180, Sparse), HrpbRowsParams());
  TestMatrix(Make("no entries", 30, 30, Nothing), HrpbRowsParams());
  TestMatrix(Make("no entries", 30, 30, Nothing), HrpbStagedParams());
  TestMatrix(LongRow(3000, false), HrpbGatherParams()); /* some rows are cut */
  TestMatrix(LongRow(3000, false), HrpbRowsParams());
  TestMatrix(Make("few rows", small_run ? 200 : 500, small_run ? 120 : 300, FewRows), HrpbShortParams());
  if (!small_run) {
    TestMatrix(Make("wide band", 300, 300, WideBand), HrpbStagedParams());
    TestMatrix(Make("dense rows", 300, 500, DenseRows), HrpbGatherParams());
    TestMatrix(Make("one column", 60, 60, OneColumn), HrpbShortParams());
  }
  printf("operands: %d passed, %d failed\n", npassed, nfailed);
  return nfailed ? 1 : 0;
}
