/*
   Complex matrices (kernels/real): the real matrix that stands for one, transposes, and every kernel that reads the
   complex matrix itself, against sums on the host. No PETSc.

     test-complex         all tests
     test-complex -small  few and small ones, to run under compute-sanitizer

   Kernels for several columns add the entries of a row one after the other, or two at a time, so their results are
   known to the bit, unless the row is cut. Those of kernels for one vector are compared within rounding.
*/
#include "real/pairs.cuh"
#include "matrices.cuh"

struct Complex {
  HrpbScalar re, im;
};

static Complex RandomComplex(void)
{
  const HrpbScalar re = Uniform();

  return {re, Uniform()};
}

/* The next term of a sum, as kernels add it: all four products, and none of C's rules for infinite numbers */
static Complex Fma(Complex a, Complex b, Complex sum)
{
  return {std::fma(-a.im, b.im, std::fma(a.re, b.re, sum.re)), std::fma(a.im, b.re, std::fma(a.re, b.im, sum.im))};
}

static Complex Conjugated(Complex a, bool conjugate)
{
  return {a.re, conjugate ? -a.im : a.im};
}

/* A pattern with complex values, whose entries do not begin with the first of the arrays */
struct Test {
  const Matrix        *A;
  std::vector<HrpbInt> rowptr, colidx;
  std::vector<Complex> values;
  int64_t              nnz, first;
};

static Test TestOf(const Matrix *A, int64_t first)
{
  Test t = {A, A->rowptr, A->colidx, {}, (int64_t)A->colidx.size(), first};

  for (HrpbInt &r : t.rowptr) r += (HrpbInt)first;
  t.colidx.insert(t.colidx.begin(), first, (HrpbInt)1 << 30);
  for (int64_t k = 0; k < first + t.nnz; k++) t.values.push_back(k < first ? Complex{(HrpbScalar)NAN, (HrpbScalar)NAN} : RandomComplex());
  return t;
}

static std::vector<HrpbScalar> Parts(const std::vector<Complex> &x)
{
  const HrpbScalar *p = (const HrpbScalar *)x.data();

  return std::vector<HrpbScalar>(p, p + 2 * x.size());
}

/* The arrays on the device */
struct OnDevice {
  HrpbInt    *rowptr, *colidx;
  HrpbScalar *values;
};

/* The real matrix has the blocks (a -b; b a), on the host and on the device */
static void TestRealMatrix(const Test &t, const OnDevice &d, HrpbInt **real_rowptr, HrpbInt **real_colidx)
{
  const int64_t           m = t.A->nrows, n = 4 * t.nnz;
  std::vector<HrpbInt>    rowptr((size_t)(2 * m + 1)), colidx((size_t)n);
  std::vector<HrpbScalar> values((size_t)n);
  const std::vector<HrpbScalar> parts = Parts(t.values);
  HrpbScalar             *real_values;
  bool                    ok;
  size_t                  at = 0;

  ComplexPatternHost(m, t.rowptr.data(), t.colidx.data(), rowptr.data(), colidx.data());
  ComplexValuesHost(m, t.rowptr.data(), parts.data(), values.data());
  ok = rowptr[0] == 0;
  for (int64_t i = 0; i < 2 * m; i++) {
    for (HrpbInt k = t.rowptr[i / 2]; k < t.rowptr[i / 2 + 1] && ok; k++, at += 2) {
      const Complex a = t.values[k];

      ok = colidx[at] == 2 * t.colidx[k] && colidx[at + 1] == 2 * t.colidx[k] + 1;
      ok = ok && values[at] == (i % 2 ? a.im : a.re) && values[at + 1] == (i % 2 ? a.re : -a.im);
    }
    ok = ok && rowptr[i + 1] == (HrpbInt)at;
  }
  Report(ok, "wrong real matrix on the host", t.A->name);
  Check(cudaMalloc(real_rowptr, sizeof(HrpbInt) * (size_t)(2 * m + 1)));
  Check(cudaMalloc(real_colidx, sizeof(HrpbInt) * (size_t)n + 1));
  Check(cudaMalloc(&real_values, sizeof(HrpbScalar) * (size_t)n + 1));
  Check(ComplexPatternDevice(m, t.nnz, d.rowptr, d.colidx, *real_rowptr, *real_colidx, NULL));
  Check(ComplexValuesDevice(m, t.nnz, d.rowptr, d.values, real_values, NULL));
  Report(Download(*real_rowptr, 2 * m + 1) == rowptr && Download(*real_colidx, n) == colidx, "another pattern of the real matrix on the device", t.A->name);
  Report(SameBits(Download(real_values, n).data(), values.data(), (size_t)n), "other values of the real matrix on the device", t.A->name);
  cudaFree(real_values);
}

/* What B has: random numbers, some NaN and Inf among them, or numbers whose products overflow where a few are added */
enum Numbers {
  USUAL,
  SPECIAL,
  LARGE
};

/* What a product with N columns is, and what went into it */
struct Product {
  std::vector<Complex> B, C0;
  int64_t              N, ldb, ldc;
  bool                 adds, in_place;
  Numbers              numbers;
};

static Product MakeProduct(const Matrix *A, int64_t N, bool adds, bool in_place, Numbers numbers)
{
  const HrpbScalar large = numbers == LARGE ? std::numeric_limits<HrpbScalar>::max() / 2 : 1;
  const HrpbScalar inf = std::numeric_limits<HrpbScalar>::infinity(), nan = std::numeric_limits<HrpbScalar>::quiet_NaN();
  const Complex    specials[] = {{inf, 0}, {1, -inf}, {nan, 2}, {-inf, inf}, {3, nan}};
  Product          p = {{}, {}, N, A->ncols + 3, A->nrows + 2, adds, in_place, numbers};

  for (int64_t k = 0; k < p.ldb * N; k++) {
    const Complex x = RandomComplex();

    p.B.push_back(numbers == SPECIAL && Random() % 37 == 0 ? specials[Random() % 5] : Complex{large * x.re, large * x.im});
  }
  for (int64_t k = 0; k < p.ldc * N; k++) p.C0.push_back(RandomComplex());
  return p;
}

/* One part beside the sum of the terms in their order and in long double. size: of the terms */
static bool Right(HrpbScalar got, HrpbScalar stated, long double sum, long double size, bool bits)
{
  const double bound = sizeof(HrpbScalar) == 8 ? 1e-14 : 5e-6;

  if (bits && !SameNumber(got, stated)) return false;
  if (!std::isfinite(stated)) return SameNumber(got, stated);
  return fabsl(got - sum) <= bound * size;
}

/*
   together: entries of a row that the kernel adds to each other before it adds their sum to that of the row; 0 where
   the bits are not known. What is not finite then is that of one entry after the other. Kernels for one vector count
   complex numbers, the others their parts
*/
static void TestProduct(const Test &t, const OnDevice &d, const SpmmKernel *k, const CsrSchedule *schedule, const VectorPlan *plan, const Product &p, bool conjugate, int together)
{
  const int64_t        m = t.A->nrows, parts = k->op == SPMM_OP_VECTOR ? 1 : 2;
  const Complex        guard = {-77, -78};
  std::vector<Complex> start((size_t)(p.ldc * p.N + 1), guard), C;
  const std::vector<HrpbScalar> b = Parts(p.B), c0 = Parts(p.C0);
  HrpbScalar          *B = Upload(b), *C0 = Upload(c0), *dC;
  SpmmMatrix           M = {.nrows = parts * m, .ncols = parts * t.A->ncols, .rowptr = d.rowptr, .colidx = d.colidx, .values = d.values, .csr = schedule, .vector = plan};
  SpmmOperands         o;
  void                *work;
  size_t               bytes = 0;
  int64_t              wrong = 0, beside = 0;
  char                 where[256];

  snprintf(where, sizeof(where), "%s %ldx%ld, %s, %ld columns%s%s%s", t.A->name, (long)m, (long)t.A->ncols, k->name, (long)p.N, p.adds ? ", C0 is added" : "", p.in_place ? ", C is C0" : "", p.numbers == SPECIAL ? ", NaN and Inf" : p.numbers == LARGE ? ", large numbers" : "");
  if (p.in_place) std::copy(p.C0.begin(), p.C0.end(), start.begin());
  dC = Upload(Parts(start));
  o  = SpmmPlain(p.N, B, parts * p.ldb, dC, parts * p.ldc);
  if (p.adds) {
    o.update = SPMM_ADD;
    o.Y0     = {p.in_place ? dC : C0, parts * p.ldc, SPMM_COLUMN_MAJOR};
  }
  if (k->work) Check(k->work(&M, &o, &bytes));
  Check(cudaMalloc(&work, bytes + 1));
  Check(cudaMemset(work, 0xff, bytes + 1)); /* NaN: a read of what was not written shows */
  PoisonShared();
  Check(k->run(&M, &o, work, NULL));
  Check(cudaDeviceSynchronize());
  C.resize(start.size());
  {
    const std::vector<HrpbScalar> got = Download(dC, 2 * (int64_t)start.size());

    memcpy(C.data(), got.data(), sizeof(HrpbScalar) * got.size());
  }
  for (int64_t n = 0; n < p.N; n++) {
    for (int64_t i = 0; i < p.ldc; i++) {
      const Complex got = C[i + n * p.ldc], was = start[i + n * p.ldc];

      if (i >= m) {
        beside += !SameNumber(got.re, was.re) || !SameNumber(got.im, was.im);
        continue;
      }
      const Complex c0_   = p.adds ? p.C0[i + n * p.ldc] : Complex{0, 0};
      Complex       sum   = {0, 0}, some = {0, 0}, sums = {0, 0};
      long double   re = 0, im = 0, size = 0;

      for (HrpbInt e = t.rowptr[i]; e < t.rowptr[i + 1]; e++) {
        const Complex a = Conjugated(t.values[e], conjugate), x = p.B[t.colidx[e] + n * p.ldb];

        sum  = Fma(a, x, sum);
        some = Fma(a, x, some);
        if (together && ((e - t.rowptr[i]) % together == together - 1 || e + 1 == t.rowptr[i + 1])) {
          sums = {sums.re + some.re, sums.im + some.im};
          some = {0, 0};
        }
        re += (long double)a.re * x.re - (long double)a.im * x.im;
        im += (long double)a.re * x.im + (long double)a.im * x.re;
        size += (fabsl(a.re) + fabsl(a.im)) * (fabsl(x.re) + fabsl(x.im));
      }
      if (together > 1 && std::isfinite(sums.re) && std::isfinite(sums.im)) sum = sums;
      if (p.adds) sum = {c0_.re + sum.re, c0_.im + sum.im};
      size += fabsl(c0_.re) + fabsl(c0_.im);
      wrong += !Right(got.re, sum.re, re + c0_.re, size, together) || !Right(got.im, sum.im, im + c0_.im, size, together);
    }
  }
  Report(wrong == 0, "wrong", where);
  Report(beside == 0 && C.back().re == guard.re && C.back().im == guard.im, "wrote beside C", where);
  for (HrpbScalar *q : {B, C0, dC}) cudaFree(q);
  cudaFree(work);
}

/* The transpose has the columns' entries in the order of the rows */
static void TestTranspose(const Test &t, const OnDevice &d, const VectorPlan *plan)
{
  VectorTranspose                                       T;
  std::vector<std::vector<std::pair<HrpbInt, Complex>>> columns((size_t)t.A->ncols);
  bool                                                  ok = true;
  size_t                                                at = 0;

  Check(ComplexTransposeDevice(d.rowptr, d.colidx, NULL, plan, &T));
  Check(ComplexTransposeValuesDevice(plan->first, d.values, NULL, &T));
  for (int64_t i = 0; i < t.A->nrows; i++) {
    for (HrpbInt k = t.rowptr[i]; k < t.rowptr[i + 1]; k++) columns[t.colidx[k]].push_back({(HrpbInt)i, t.values[k]});
  }
  const std::vector<HrpbInt>    rowptr = Download(T.rowptr, t.A->ncols + 1), colidx = Download(T.colidx, plan->nnz);
  const std::vector<HrpbScalar> values = Download(T.values, 2 * plan->nnz);

  for (int64_t j = 0; j < t.A->ncols && ok; j++) {
    ok = rowptr[j] == (HrpbInt)at;
    for (size_t e = 0; e < columns[j].size() && ok; e++, at++) ok = colidx[at] == columns[j][e].first && values[2 * at] == columns[j][e].second.re && values[2 * at + 1] == columns[j][e].second.im;
  }
  Report(ok && at == (size_t)t.nnz, "wrong transpose", t.A->name);
  VectorTransposeDestroyDevice(&T, NULL);
}

/* Values by a map, on the host and on the device */
static void TestTake(const Test &t, const OnDevice &d)
{
  const std::vector<HrpbScalar> parts = Parts(t.values);
  std::vector<HrpbInt>          map;
  std::vector<HrpbScalar>       host((size_t)(2 * t.nnz));
  HrpbInt                      *dmap;
  HrpbScalar                   *to = Upload(host);
  bool                          ok = true;

  for (int64_t k = 0; k < t.nnz; k++) map.push_back((HrpbInt)(t.first + (k * 7 + 3) % t.nnz));
  dmap = Upload(map);
  ComplexTakeHost(t.nnz, map.data(), parts.data(), host.data());
  Check(ComplexTakeDevice(t.nnz, dmap, d.values, to, NULL));
  for (int64_t k = 0; k < t.nnz; k++) ok = ok && host[2 * k] == t.values[map[k]].re && host[2 * k + 1] == t.values[map[k]].im;
  Report(ok && SameBits(Download(to, 2 * t.nnz).data(), host.data(), host.size()), "wrong values by a map", t.A->name);
  cudaFree(dmap);
  cudaFree(to);
}

static int npaneled; /* matrices with panels */

enum Kind {
  RUNS,  /* short rows, whose columns run with them */
  ROWS,  /* rows that are not cut */
  NODES, /* the same, in nodes */
  CUT    /* some are cut */
};

static const char *NameOf(Kind kind, int64_t N)
{
  return kind == RUNS ? "csr-rows-complex" : kind == NODES ? "csr-nodes-complex" : "csr-complex";
}

/* Panels of a few rows, where rows of B fit into shared memory. They are in double precision */
static void TestPanels(const Test &t, const OnDevice &d, int64_t longest)
{
#if !defined(HRPB_USE_SINGLE)
  static const int64_t widths[] = {1, 2, 5, 8, 33};
  VectorPlan           panels   = {};
  int                  call     = 0;

  panels.nrows = (int32_t)t.A->nrows;
  panels.ncols = (int32_t)t.A->ncols;
  panels.nnz   = t.nnz;
  Check(ComplexPanelsDevice(longest, d.rowptr, d.colidx, 96, NULL, &panels));
  if (panels.panel_rows) npaneled++;
  for (int64_t N : widths) {
    for (int updates = 0; updates < 3 && panels.panel_rows; updates++, call++) {
      TestProduct(t, d, &ComplexCsrPanels, NULL, &panels, MakeProduct(t.A, N, updates > 0, updates > 1, call % 2 == 1 ? SPECIAL : USUAL), false, 2);
      TestProduct(t, d, &ComplexCsrPanels, NULL, &panels, MakeProduct(t.A, N, updates > 0, updates > 1, LARGE), false, 2);
    }
  }
  VectorPlanDestroyDevice(&panels, NULL);
#endif
}

static void TestMatrix(const Matrix &A, Kind kind, int64_t first)
{
  static const int64_t widths[] = {1, 2, 3, 4, 5, 8, 11, 16, 17, 33, 40, 71};
  const Test           t = TestOf(&A, first);
  const OnDevice       d = {Upload(t.rowptr), Upload(t.colidx), Upload(Parts(t.values))};
  HrpbInt             *real_rowptr, *real_colidx;
  CsrSchedule          schedule;
  VectorPlan           plan, pairs;
  int                  call = 0;

  Check(ComplexFits(A.nrows, A.ncols, t.nnz));
  TestRealMatrix(t, d, &real_rowptr, &real_colidx);
  TestTake(t, d);
  Check(CsrScheduleDevice(2 * A.nrows, 2 * A.ncols, real_rowptr, real_colidx, NULL, &schedule));
  Check(VectorPlanDevice(A.nrows, A.ncols, d.rowptr, NULL, &plan));
  Check(ComplexCsrDevice(&schedule, d.rowptr, d.colidx, NULL, &pairs));
  Report((pairs.nnodes > 0) == (kind == NODES), "nodes", A.name);
  Report((pairs.nparts > 0) == (kind == CUT), "rows that are cut", A.name);
  TestTranspose(t, d, &plan);
  for (int64_t N : widths) {
    if (small_run && N > 40) continue;
    for (int updates = 0; updates < 3; updates++, call++) { /* C = A B, C = C0 + A B, C = C + A B */
      const Product      p = MakeProduct(&A, N, updates > 0, updates > 1, call % 2 == 1 ? SPECIAL : USUAL);
      const SpmmOperands o = SpmmPlain(N, NULL, 2, NULL, 2);
      const SpmmKernel  *k = ComplexCsrKernel(&schedule, &pairs, &o);

      Report(k && !strcmp(k->name, NameOf(kind, N)), "another kernel than expected", A.name);
      pairs.scattered = call % 2; /* bits do not depend on it */
      if (k) TestProduct(t, d, k, &schedule, &pairs, p, false, kind == CUT ? 0 : kind == RUNS ? 1 : 2);
      if (k && kind != CUT && N > 4) TestProduct(t, d, k, &schedule, &pairs, MakeProduct(&A, N, updates > 0, updates > 1, LARGE), false, kind == RUNS ? 1 : 2);
      if (N == 1) {
        for (bool conjugate : {false, true}) TestProduct(t, d, ComplexVectorKernel(&plan, conjugate), NULL, &plan, p, conjugate, 0);
      }
      if (N > 1 && N < 4 && !updates) TestProduct(t, d, ComplexCsrColumnsKernel(), NULL, &plan, p, false, 0);
    }
  }
  TestPanels(t, d, schedule.longest / 2);
  CsrScheduleDestroyDevice(&schedule, NULL);
  VectorPlanDestroyDevice(&plan, NULL);
  VectorPlanDestroyDevice(&pairs, NULL);
  for (HrpbInt *p : {d.rowptr, d.colidx, real_rowptr, real_colidx}) cudaFree(p);
  cudaFree(d.values);
}

/* Nodes of 1 to 7 rows that share some columns; others have none */
static bool Uneven(int64_t i, int64_t j, const Matrix *)
{
  const int64_t node = i * i / 997 * 31 + i / 7;

  return node % 11 != 3 && (node * 37 + j * 61) % 23 < 3;
}

/* Some rows are full, and others are empty or have a few entries */
static bool HugeRows(int64_t i, int64_t j, const Matrix *) { return i % 19 == 5 || (i % 7 != 2 && (i * 31 + j) % 401 == 0); }

/* A few entries left and right of the diagonal, but for some rows without any */
static bool Slim(int64_t i, int64_t j, const Matrix *) { return i % 41 != 7 && llabs(i - j) <= 2; }

int main(int argc, char **argv)
{
  small_run = argc > 1 && !strcmp(argv[1], "-small");
  TestMatrix(Grid("7 points", small_run ? 6 : 13, 1, false), RUNS, 0);
  TestMatrix(Make("slim", 300, 300, Slim), RUNS, 3);
  TestMatrix(Grid("27 points", small_run ? 4 : 9, 1, true), ROWS, 5);
  TestMatrix(Scattered(small_run ? 150 : 500, 12), ROWS, 0);
  TestMatrix(Make("gaps", 300, 90, Gaps), NODES, 1);
  TestMatrix(Make("nothing", 50, 40, Nothing), NODES, 0);
  for (int64_t rows : {2, 3, 4, 6, 8}) TestMatrix(Grid("nodes", 4, rows, rows < 4), NODES, rows);
  TestMatrix(Make("uneven nodes", 300, 200, Uneven), NODES, 1);
  TestMatrix(Make("dense rows", 200, small_run ? 300 : 700, DenseRows), CUT, 2);
  TestMatrix(Make("huge rows", 45, small_run ? 1100 : 5000, HugeRows), CUT, 3);
#if !defined(HRPB_USE_SINGLE)
  Report(npaneled >= 3, "too few matrices have panels", "all");
#endif
  printf("complex: %d passed, %d failed\n", npassed, nfailed);
  return nfailed > 0;
}
