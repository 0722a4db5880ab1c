/*
   The kernels of sampled products against sums in long double on the host, with plain arrays. No PETSc.

     test-sample            all tests
     test-sample -small     few and small ones, for the emulator and compute-sanitizer
     test-sample -csv FILE  times the kernels beside cuSPARSE's, seconds; appends to the table FILE
       [-commit X]          what the table says of the version
*/
#include "matrices.cuh"
#include "sample/sample.h"

typedef struct {
  int64_t N, padding;
  int     shift;   /* scalars by which the operands begin beyond an aligned address */
  bool    scale;
  bool    padded;  /* the right operand is row-major */
  int     special; /* 1: some NaN, Inf and huge numbers; 2: all operands are huge or tiny */
} Case;

/* rows x N with a leading dimension. What lies between columns is NaN */
struct Operand {
  int64_t                 rows, ld;
  int                     shift;
  std::vector<HrpbScalar> values;

  HrpbScalar  At(int64_t i, int64_t l) const { return values[shift + i + l * ld]; }
  HrpbScalar &At(int64_t i, int64_t l) { return values[shift + i + l * ld]; }
};

/* The same row-major, padded with zeros */
static std::vector<HrpbScalar> Padded(const Operand &o, int64_t N, int64_t ld)
{
  std::vector<HrpbScalar> x((size_t)((o.rows + 1) * ld), (HrpbScalar)0);

  for (int64_t i = 0; i < o.rows; i++) {
    for (int64_t l = 0; l < N; l++) x[i * ld + l] = o.At(i, l);
  }
  return x;
}

static Operand MakeOperand(int64_t rows, const Case &c)
{
  Operand o = {rows, rows + c.padding, c.shift, std::vector<HrpbScalar>((size_t)(c.shift + (rows + c.padding) * c.N), (HrpbScalar)NAN)};

  for (int64_t l = 0; l < c.N; l++) {
    for (int64_t i = 0; i < rows; i++) o.At(i, l) = c.special == 2 ? (HrpbScalar)ldexp((double)Uniform(), sizeof(HrpbScalar) == 8 ? 480 : 58) : Uniform();
  }
  if (c.special == 1 && c.N) {
    const int64_t after = std::min(c.N / 2 + 1, c.N - 1);

    o.At(3 % rows, c.N - 1)        = (HrpbScalar)NAN;
    o.At(11 % rows, c.N / 2)       = (HrpbScalar)INFINITY;
    o.At(5 % rows, after)          = (HrpbScalar)INFINITY; /* it may lie where a column beyond N would be */
    o.At(rows / 2, 0)              = -(HrpbScalar)INFINITY;
    o.At(rows - 1, c.N / 3)        = std::numeric_limits<HrpbScalar>::max();
    if (rows > 20) o.At(17, c.N - 1) = std::numeric_limits<HrpbScalar>::max();
  }
  return o;
}

/* NaN where NaN is right, and so on: what a loop over the columns gives decides */
static bool IsRight(const Matrix *A, const Case &c, const Operand &left, const Operand &right, const std::vector<HrpbScalar> &y, double bound)
{
  for (int64_t i = 0; i < A->nrows; i++) {
    for (HrpbInt e = A->rowptr[i]; e < A->rowptr[i + 1]; e++) {
      const HrpbScalar scale = c.scale ? A->values[e] : 1;
      HrpbScalar       loop = 0;
      long double      sum = 0, size = 0;

      for (int64_t l = 0; l < c.N; l++) {
        const HrpbScalar a = left.At(i, l), b = right.At(A->colidx[e], l);

        loop = std::fma(a, b, loop);
        sum += (long double)a * b;
        size += fabsl((long double)a * b);
      }
      loop *= scale;
      if (!std::isfinite(loop)) {
        if (std::isnan(loop) != (bool)std::isnan(y[e]) || (!std::isnan(loop) && loop != y[e])) return false;
      } else if (!(fabsl(y[e] - sum * scale) <= bound * size * fabsl((long double)scale) + (long double)c.N * std::numeric_limits<HrpbScalar>::denorm_min())) return false;
    }
  }
  return true;
}

/* Run a kernel twice, into memory of NaN, with workspace of NaN */
static void TestKernel(const SpmmKernel *k, const SpmmMatrix *M, const Matrix *A, const char *format, const Case &c, const Operand &left, const Operand &right, double bound)
{
  const size_t            nnz = A->colidx.size();
  std::vector<HrpbScalar> y[2];
  const int64_t           ld    = SampledRowMajorLD(c.N);
  HrpbScalar             *dleft = Upload(left.values), *dright, *dy, before;
  SpmmOperands            o;
  size_t                  bytes;
  void                   *work;
  char                    where[256];

  if (c.padded) dright = Upload(Padded(right, c.N, ld));
  else dright = Upload(right.values);
  o = SpmmSampled(c.N, dleft + c.shift, left.ld, dright + c.shift, right.ld, c.scale, NULL);
  if (c.padded) o.X = {dright, ld, SPMM_ROW_MAJOR_PADDED};
  snprintf(where, sizeof(where), "%s, %s %s, precision %d, N %ld, padding %ld, shift %d, scale %d, padded %d, special %d", A->name, k->name, format, (int)M->precision, (long)c.N, (long)c.padding, c.shift, c.scale, c.padded, c.special);
  Check(SpmmWork(k, M, &o, &bytes));
  Check(cudaMalloc(&work, bytes + 1));
  Check(cudaMalloc(&dy, sizeof(HrpbScalar) * (nnz + 1)));
  for (std::vector<HrpbScalar> &result : y) {
    SpmmOperands run = o;

    run.Y.array = dy;
    Check(cudaMemset(work, 0xff, bytes + 1));
    Check(cudaMemset(dy, 0xff, sizeof(HrpbScalar) * (nnz + 1)));
    Check(SpmmRun(k, M, &run, work, NULL));
    Check(cudaDeviceSynchronize());
    result = Download(dy, (int64_t)nnz + 1);
  }
  memset(&before, 0xff, sizeof(before));
  Report(IsRight(A, c, left, right, y[0], bound), "wrong", where);
  Report(SameBits(y[0].data(), y[1].data(), nnz), "other bits in another run", where);
  Report(SameBits(&y[0][nnz], &before, 1), "a number behind the last entry", where);
  cudaFree(dleft);
  cudaFree(dright);
  cudaFree(dy);
  cudaFree(work);
}

static double Bound(HrpbPrecision precision)
{
  return precision == HRPB_FP64 ? 4e-15 : precision == HRPB_3XTF32 ? 4e-6 : 1.3e-3;
}

/*
   Call try_it(kernel, matrix, format) for all kernels of an operation that take the operands: with CSR, or with each of
   the bricks in each precision
*/
template <typename Try> static void ForKernels(SpmmOp op, const SpmmOperands &o, DeviceCsr *csr, const std::vector<DeviceBricks> &bricks, Try try_it)
{
#if defined(HRPB_USE_SINGLE)
  const HrpbPrecision precisions[] = {HRPB_3XTF32, HRPB_TF32};
#else
  const HrpbPrecision precisions[] = {HRPB_FP64};
#endif
  const SpmmDevice *device;

  Check(SpmmGetDevice(&device));
  for (int i = 0; SpmmKernelGet(i); i++) {
    const SpmmKernel *k = SpmmKernelGet(i);

    if (k->op != op || k->host) continue;
    if (k->format == SPMM_CSR) {
      SpmmMatrix      M     = CsrMatrix(&csr->schedule, csr->rowptr, csr->colidx, csr->values);
      const SpmmFacts facts = SpmmFactsOf(&M);

      M.precision = precisions[0];
      if (k->takes(&facts, NULL, &o, device)) try_it(k, M, "-");
      continue;
    }
    for (HrpbPrecision precision : precisions) {
      for (const DeviceBricks &b : bricks) {
        SpmmMatrix      M     = BricksMatrix(&b.h, &b.schedule, b.values, precision);
        const SpmmFacts facts = SpmmFactsOf(&M);
        char            format[64];

        M.rowptr = csr->rowptr;
        M.colidx = csr->colidx;
        M.values = csr->values;
        snprintf(format, sizeof(format), "%d/%d/%d/%d%s", b.h.params.brick_rows, b.h.params.panel_rows, b.h.params.block_cols, b.h.params.window_cols, b.h.order ? " in an order" : "");
        if (k->takes(&facts, &b.h.params, &o, device)) try_it(k, M, format);
      }
    }
  }
}

/* All kernels of the table that take it, with CSR and with bricks of several formats, in natural and another order */
static void TestCase(const Matrix *A, DeviceCsr *csr, const std::vector<DeviceBricks> &bricks, const Case &c)
{
  const Operand left = MakeOperand(A->nrows, c), right = MakeOperand(A->ncols, c);
  SpmmOperands  o    = SpmmSampled(c.N, NULL, A->nrows, NULL, A->ncols, c.scale, NULL);

  if (c.padded) o.X.layout = SPMM_ROW_MAJOR_PADDED;
  ForKernels(SPMM_OP_SAMPLED, o, csr, bricks, [&](const SpmmKernel *k, const SpmmMatrix &M, const char *format) {
    if (M.precision == HRPB_TF32 && c.special == 2) return; /* the bound is for sums without cancellation */
    TestKernel(k, &M, A, format, c, left, right, Bound(M.precision));
  });
}

typedef struct {
  int64_t K, N, padding;
  int     shift;
  bool    scale, softmax, same; /* same: Z is the right operand */
  int     special;
} FusedCase;

/*
   A row of Y = W Z in long double, and how far from it a kernel may be: w and its error, times the sizes of Z. And the
   same row entry by entry, which says where NaN and Inf belong, with products that are rounded or not: one beyond the
   largest number is Inf only where it is rounded, and with the other Inf it is NaN
*/
static bool IsFusedRowRight(const Matrix *A, const FusedCase &c, int64_t i, const Operand &left, const Operand &right, const Operand &z, const std::vector<HrpbScalar> &y, int64_t ldy, double bound)
{
  const HrpbInt            begin = A->rowptr[i], end = A->rowptr[i + 1];
  std::vector<long double> w((size_t)(end - begin)), error(w.size());
  std::vector<HrpbScalar>  loop(w.size());
  long double              most = -INFINITY, all = 0, worst = 0;
  HrpbScalar               most_loop = -(HrpbScalar)INFINITY, all_loop = 0;

  for (HrpbInt e = begin; e < end; e++) {
    const HrpbScalar scale = c.scale ? A->values[e] : 1;
    HrpbScalar       p     = 0;
    long double      sum   = 0, size = 0;

    for (int64_t l = 0; l < c.K; l++) {
      p = std::fma(left.At(i, l), right.At(A->colidx[e], l), p);
      sum += (long double)left.At(i, l) * right.At(A->colidx[e], l);
      size += fabsl((long double)left.At(i, l) * right.At(A->colidx[e], l));
    }
    w[e - begin]     = sum * scale;
    error[e - begin] = bound * size * fabsl((long double)scale);
    loop[e - begin]  = p * scale;
    most             = std::max(most, w[e - begin]);
    if (std::isfinite(w[e - begin])) worst = std::max(worst, error[e - begin]);
    most_loop        = std::fmax(most_loop, loop[e - begin]);
  }
  for (size_t e = 0; c.softmax && e < w.size(); e++) {
    all += w[e] = expl(w[e] - most);
    all_loop += loop[e] = std::exp(loop[e] - most_loop);
    error[e] = w[e] * (4 * worst + 4 * bound);
  }
  for (size_t e = 0; c.softmax && e < w.size(); e++) loop[e] /= all_loop;
  for (int64_t n = 0; n < c.N; n++) {
    long double sum = 0, allowed = c.K * std::numeric_limits<HrpbScalar>::denorm_min();
    HrpbScalar  expected = 0, fused = 0;
    bool        finite = true; /* all terms are: then another order of sums may have no Inf on the way */

    for (size_t e = 0; e < w.size(); e++) {
      const HrpbScalar to = z.At(A->colidx[begin + (HrpbInt)e], n);

      sum += w[e] * to;
      allowed += (error[e] + 4 * bound * fabsl(w[e])) * fabsl((long double)to);
      expected += loop[e] * to;
      fused = std::fma(loop[e], to, fused);
      finite = finite && std::isfinite(loop[e] * to);
    }
    if (c.softmax && !w.empty()) {
      sum /= all;
      allowed /= all;
    }
    if (std::isinf(fused) && y[i + n * ldy] == fused) expected = fused;
    if (!std::isfinite(expected) && !(finite && fabsl(y[i + n * ldy] - sum) <= allowed)) {
      if (std::isnan(expected) != (bool)std::isnan(y[i + n * ldy]) || (!std::isnan(expected) && expected != y[i + n * ldy])) return false;
    } else if (std::isfinite(expected) && !(fabsl(y[i + n * ldy] - sum) <= allowed)) return false;
  }
  return true;
}

static void TestFusedKernel(const SpmmKernel *k, const SpmmMatrix *M, const Matrix *A, const char *format, const FusedCase &c, double bound)
{
  const Case              columns = {c.K, c.padding, c.shift, false, false, c.special};
  const Operand           left = MakeOperand(A->nrows, columns), right = MakeOperand(A->ncols, columns), z = c.same ? right : MakeOperand(A->ncols, {c.N, 2 * c.padding, 0, false, false, c.special == 1 ? 1 : 0});
  HrpbScalar             *dleft = Upload(left.values), *dright = Upload(right.values), *dz = c.same ? dright : Upload(z.values), *dy;
  const int64_t           ldy = A->nrows + 1;
  std::vector<HrpbScalar> y[2];
  size_t                  bytes;
  void                   *work;
  char                    where[256];
  bool                    is = true, untouched = true;
  const SpmmOperands      o = SpmmFused(c.K, dleft + c.shift, left.ld, dright + c.shift, right.ld, c.scale, c.softmax, c.N, dz + z.shift, z.ld, NULL, ldy);

  snprintf(where, sizeof(where), "%s, %s %s, precision %d, K %ld, N %ld, padding %ld, shift %d, scale %d, softmax %d, same %d, special %d", A->name, k->name, format, (int)M->precision, (long)c.K, (long)c.N, (long)c.padding, c.shift, c.scale, c.softmax, c.same, c.special);
  Check(SpmmWork(k, M, &o, &bytes));
  Check(cudaMalloc(&work, bytes + 1));
  Check(cudaMalloc(&dy, sizeof(HrpbScalar) * (size_t)(ldy * c.N + 1)));
  for (std::vector<HrpbScalar> &result : y) {
    SpmmOperands run = o;

    run.Y.array = dy;
    Check(cudaMemset(work, 0xff, bytes + 1));
    Check(cudaMemset(dy, 0xff, sizeof(HrpbScalar) * (size_t)(ldy * c.N + 1)));
    Check(SpmmRun(k, M, &run, work, NULL));
    Check(cudaDeviceSynchronize());
    result = Download(dy, ldy * c.N + 1);
  }
  for (int64_t i = 0; i < A->nrows && is; i++) is = IsFusedRowRight(A, c, i, left, right, z, y[0], ldy, bound);
  for (int64_t n = 0; n < c.N; n++) untouched = untouched && std::isnan(y[0][n * ldy + A->nrows]);
  Report(is, "wrong", where);
  Report(SameBits(y[0].data(), y[1].data(), y[0].size()), "other bits in another run", where);
  Report(untouched, "a number behind a column", where);
  cudaFree(dleft);
  cudaFree(dright);
  if (!c.same) cudaFree(dz);
  cudaFree(dy);
  cudaFree(work);
}

/* Fused products with bricks of all formats that the kernel takes */
static void TestFused(const Matrix *A, DeviceCsr *csr, const std::vector<DeviceBricks> &bricks, const FusedCase &c)
{
  const SpmmOperands o = SpmmFused(c.K, NULL, A->nrows, NULL, A->ncols, c.scale, c.softmax, c.N, NULL, A->ncols, NULL, A->nrows);

  ForKernels(SPMM_OP_FUSED, o, csr, bricks, [&](const SpmmKernel *k, const SpmmMatrix &M, const char *format) { TestFusedKernel(k, &M, A, format, c, Bound(M.precision)); });
}

/* Y may lie beside the other operands in an array. Where it begins or ends within one of them it is refused */
static void TestFusedOverlap(const Matrix *A, DeviceCsr *csr, const std::vector<DeviceBricks> &bricks)
{
  const int64_t m = A->nrows, n = A->ncols, N = 2;
  HrpbScalar   *all = Upload(std::vector<HrpbScalar>((size_t)(4 * N * (m + n)), (HrpbScalar)0.5)), *left = all, *right = left + N * m, *z = right + N * n, *y = z + N * n;

  ForKernels(SPMM_OP_FUSED, SpmmFused(N, left, m, right, n, false, false, N, z, n, y, m), csr, bricks, [&](const SpmmKernel *k, const SpmmMatrix &M, const char *format) {
    const auto run = [&](HrpbScalar *to) {
      const SpmmOperands o = SpmmFused(N, left, m, right, n, false, false, N, z, n, to, m);
      size_t             bytes;
      void              *work;
      HrpbError          err;

      Check(SpmmWork(k, &M, &o, &bytes));
      Check(cudaMalloc(&work, bytes + 1));
      err = SpmmRun(k, &M, &o, work, NULL);
      Check(cudaDeviceSynchronize());
      cudaFree(work);
      return err;
    };

    Report(run(y) == HRPB_SUCCESS, "Y right behind Z is refused", format);
    Report(run(y - 1) == HRPB_ERR_OPERANDS, "Y begins within Z", format);
    Report(run(right + 1) == HRPB_ERR_OPERANDS, "Y begins within X", format);
    Report(run(left + 1) == HRPB_ERR_OPERANDS, "Y begins within B", format);
  });
  cudaFree(all);
}

/*
   Scaled products need A's own values, too: what is not finite is computed again from them. More than 64 columns are
   not fused
*/
static void TestRefused(const Matrix *A, DeviceCsr *csr, const std::vector<DeviceBricks> &bricks)
{
  const int64_t m = A->nrows, n = A->ncols, K = 80;
  HrpbScalar   *all = Upload(std::vector<HrpbScalar>((size_t)(K * (m + n)), (HrpbScalar)0.5)), *left = all, *right = left + K * m;

  ForKernels(SPMM_OP_SAMPLED, SpmmSampled(4, left, m, right, n, true, NULL), csr, bricks, [&](const SpmmKernel *k, const SpmmMatrix &M, const char *format) {
    const SpmmOperands o       = SpmmSampled(4, left, m, right, n, true, left);
    SpmmMatrix         without = M;

    without.values = NULL;
    Report(SpmmRun(k, &without, &o, NULL, NULL) == HRPB_ERR_OPERANDS, "scaled without values", format);
  });
  ForKernels(SPMM_OP_FUSED, SpmmFused(4, left, m, right, n, false, false, 4, right, n, left, m), csr, bricks, [&](const SpmmKernel *k, const SpmmMatrix &M, const char *format) {
    HrpbScalar        *y = Upload(std::vector<HrpbScalar>((size_t)(4 * m)));
    const SpmmOperands o = SpmmFused(K, left, m, right, n, false, false, 4, right, n, y, m);

    Report(SpmmRun(k, &M, &o, NULL, NULL) == HRPB_ERR_UNSUPPORTED, "more columns than are fused", format);
    cudaFree(y);
  });
  cudaFree(all);
}

static void TestMatrix(const Matrix *A)
{
  static const HrpbParams formats[] = {HrpbStagedParams(), HrpbShortParams(), {16, 128, 32, 4}, {8, 24, 8, 4}, {16, 32, 16, 16}};
  DeviceCsr                 csr = CsrOnDevice(A);
  std::vector<DeviceBricks> bricks;
  int                       k = 0;

  for (const HrpbParams &params : formats) {
    if (small_run && bricks.size() == 3) break;
    bricks.push_back(BricksOnDevice(A->nrows, A->ncols, csr.rowptr, csr.colidx, NULL, csr.values, &params));
  }
  if (A->nrows > 1) {
    const std::vector<int64_t> order = RandomOrder(A->nrows);
    int32_t                   *d     = Upload(std::vector<int32_t>(order.begin(), order.end()));
    DeviceBricks               b     = {};

    Check(HrpbBuildDevice(A->nrows, A->ncols, csr.rowptr, csr.colidx, d, &formats[0], NULL, &b.h));
    Check(HrpbScheduleDevice(&b.h, NULL, &b.schedule));
    Check(cudaMalloc(&b.values, sizeof(HrpbScalar) * (HrpbValueCount(&b.h) + 1)));
    Check(HrpbPackValuesDevice(&b.h, csr.rowptr, csr.colidx, csr.values, NULL, b.values, NULL));
    bricks.push_back(b);
    cudaFree(d);
  }
  for (int64_t N : {0, 1, 3, 8, 13, 16, 17, 31, 32, 50, 64, 100, 128, 131, 300, 512}) {
    if (small_run && N != 0 && N != 3 && N != 32 && N != 50 && N != 131) continue;
    TestCase(A, &csr, bricks, {N, k % 3 == 0 ? 0 : k % 3 == 1 ? 3 : 16, k % 4 == 3, k % 2 == 0, false, 0});
    k++;
  }
  for (int64_t N : {0, 1, 30, 70}) TestCase(A, &csr, bricks, {N, 1, 0, N == 30, true, 0});
  TestCase(A, &csr, bricks, {33, 1, 0, true, true, 1});
  TestCase(A, &csr, bricks, {33, 1, 0, true, false, 1});
  if (!small_run) TestCase(A, &csr, bricks, {140, 0, 0, false, false, 1});
  TestCase(A, &csr, bricks, {20, 0, 1, false, false, 2});
  k = 0;
  for (int64_t K : {0, 3, 16, 20, 32, 50, 64}) {
    for (int64_t N : {1, 8, 17, 33, 64}) {
      if (small_run ? (K + N) % 3 : (K + N) % 2) continue;
      TestFused(A, &csr, bricks, {K, N, k % 3 == 0 ? 0 : k % 3 == 1 ? 3 : 16, k % 4 == 3, k % 2 == 0, k % 4 < 2, false, 0});
      k++;
    }
    TestFused(A, &csr, bricks, {K, K, 2, K % 4 == 0, K % 3 == 0, K % 2 == 0, true, 0});
  }
  for (bool softmax : {false, true}) TestFused(A, &csr, bricks, {20, 17, 1, 0, true, softmax, false, 1});
  TestFused(A, &csr, bricks, {12, 17, 1, 0, true, false, false, 2});
  if (A->nrows > 1) TestFusedOverlap(A, &csr, bricks);
  if (A->nrows > 1) TestRefused(A, &csr, bricks);
  for (DeviceBricks &b : bricks) BricksDestroy(&b);
  CsrDestroy(&csr);
}

/*
   Kernels on CSR, where a panel needs so many rows of the right operand. sampled-staged has less room for them than
   panels may have
*/
static void TestPanels(const Matrix &A, int64_t staged_rows)
{
  const bool         fits = staged_rows <= CSR_STAGED_ROWS, staged = staged_rows * (int64_t)sizeof(HrpbScalar) < 23000;
  const SpmmOperands o   = SpmmSampled(1, NULL, A.nrows, NULL, A.ncols, false, NULL);
  DeviceCsr          csr = CsrOnDevice(&A);
  bool               found = false;
  int                k     = 0;

  Report(MakePanels(&csr) == (fits && CanStage()), fits ? "rows of the right operand do not fit" : "rows of the right operand fit", A.name);
  ForKernels(SPMM_OP_SAMPLED, o, &csr, {}, [&](const SpmmKernel *kernel, const SpmmMatrix &, const char *) { found = found || !strcmp(kernel->name, "sampled-staged"); });
  Report(found == (staged && CanStage()), staged ? "sampled-staged does not take it" : "sampled-staged takes it", A.name);
  for (int64_t N : {0, 1, 2, 3, 4, 7, 8, 15, 33, 128}) {
    /* columns begin anywhere within 16 bytes */
    TestCase(&A, &csr, {}, {N, k % 3, k % 2 * (k % 3 + 1), k % 2 == 0, false, 0});
    k++;
  }
  TestCase(&A, &csr, {}, {33, 1, 0, true, false, 1});
  TestCase(&A, &csr, {}, {9, 0, 1, false, false, 1});
  TestCase(&A, &csr, {}, {20, 0, 1, false, false, 2});
  CsrDestroy(&csr);
}

/* Rows with seven entries have panels for sampled products alone: the kernel of products stays */
static void TestPanelsSought(void)
{
  const SpmmOperands plain = SpmmPlain(32, NULL, 0, NULL, 0);
  const SpmmDevice  *device;
  int64_t            side = 1;
  const char        *kernel[2];

  Check(SpmmGetDevice(&device));
  /* nearly all multiprocessors have a panel */
  while ((side + 1) * (side + 1) * (side + 1) <= (int64_t)device->nsm * CSR_PANEL_ROWS) side++;
  {
    const Matrix A   = Grid("7 points, panels sought", side, 1, false);
    DeviceCsr    csr = CsrOnDevice(&A);

    Report(!csr.schedule.panel_rows, "panels before they are sought", A.name);
    for (int sought = 0; sought < 2; sought++) {
      const SpmmMatrix M     = CsrMatrix(&csr.schedule, csr.rowptr, csr.colidx, csr.values);
      const SpmmFacts  facts = SpmmFactsOf(&M);

      kernel[sought] = SpmmChooseKernel(SPMM_OP_PRODUCT, SPMM_CSR, false, &facts, NULL, &plain, device)->name;
      if (!sought) Check(CsrPanelsForSampledDevice(csr.rowptr, csr.colidx, NULL, &csr.schedule));
    }
    Report((csr.schedule.panel_rows > 0) == CanStage(), "no panels where they are sought", A.name);
    Report(!strcmp(kernel[0], kernel[1]), "another kernel for products", A.name);
    TestCase(&A, &csr, {}, {9, 1, 1, true, false, 0});
    CsrDestroy(&csr);
  }
}

/* A map of rows that are in one matrix or two, against the same on the host in long double */
static void TestMap(const Matrix *A, const Matrix *B, SampledMap map)
{
  const Matrix           *M[2]  = {A, B};
  const HrpbScalar        slope = (HrpbScalar)0.25;
  std::vector<HrpbScalar> in[2], out[2], result[2];
  SampledRows             rows = {A->nrows, {}, {}, {}};
  HrpbScalar             *dout[2], *din[2];
  HrpbInt                *rowptr[2];
  bool                    right = true;
  char                    where[128];

  snprintf(where, sizeof(where), "%s%s, map %d", A->name, B ? " and another" : "", (int)map);
  for (int b = 0; b < (B ? 2 : 1); b++) {
    for (size_t e = 0; e < M[b]->colidx.size(); e++) {
      in[b].push_back(Uniform());
      out[b].push_back(20 * Uniform());
    }
    rows.rowptr[b] = rowptr[b] = Upload(M[b]->rowptr);
    rows.in[b] = din[b] = Upload(in[b]);
    rows.out[b] = dout[b] = Upload(out[b]);
  }
  Check(SampledMapDevice(map, &rows, (int64_t)(in[0].size() + in[1].size()), slope, NULL));
  Check(cudaDeviceSynchronize());
  for (int b = 0; b < (B ? 2 : 1); b++) {
    result[b] = Download(dout[b], (int64_t)out[b].size());
    cudaFree(rowptr[b]);
    cudaFree(din[b]);
    cudaFree(dout[b]);
  }
  for (int64_t i = 0; i < A->nrows; i++) {
    long double most = -INFINITY, sum = 0, size = 1;

    for (int b = 0; b < (B ? 2 : 1); b++) {
      for (HrpbInt e = M[b]->rowptr[i]; e < M[b]->rowptr[i + 1]; e++) most = std::max(most, (long double)out[b][e]);
    }
    for (int b = 0; b < (B ? 2 : 1); b++) {
      for (HrpbInt e = M[b]->rowptr[i]; e < M[b]->rowptr[i + 1]; e++) {
        sum += map == SAMPLED_SOFTMAX ? expl(out[b][e] - most) : (long double)in[b][e] * out[b][e];
        size += fabsl((long double)in[b][e] * out[b][e]);
      }
    }
    for (int b = 0; b < (B ? 2 : 1); b++) {
      for (HrpbInt e = M[b]->rowptr[i]; e < M[b]->rowptr[i + 1]; e++) {
        const long double c = out[b][e], other = in[b][e];
        const long double y = map == SAMPLED_SOFTMAX ? expl(c - most) / sum : map == SAMPLED_SOFTMAX_GRADIENT ? other * (c - sum) : (map == SAMPLED_LEAKY_RELU ? c : other) > 0 ? c : slope * c;

        if (!(fabsl(y - result[b][e]) <= (sizeof(HrpbScalar) == 8 ? 1e-14 : 1e-5) * (map == SAMPLED_SOFTMAX_GRADIENT ? size : fabsl(y)))) right = false;
      }
    }
  }
  Report(right, "wrong", where);
}

static void TestMaps(void)
{
  const Matrix rows = Make("dense rows", 300, 100, DenseRows), few = Make("one entry a row", 300, 90, OneEntry), none = Make("no entries", 300, 10, Nothing);

  for (SampledMap map : {SAMPLED_SOFTMAX, SAMPLED_SOFTMAX_GRADIENT, SAMPLED_LEAKY_RELU, SAMPLED_LEAKY_RELU_GRADIENT}) {
    TestMap(&rows, NULL, map);
    TestMap(&rows, &few, map);
    TestMap(&few, NULL, map);
    TestMap(&none, &few, map);
    TestMap(&none, NULL, map);
  }
}

/*
   Milliseconds of cuSPARSE's sampled product, which does not scale, with operands as PETSc has them or row-major. The
   product goes into y
*/
static double CusparseSampled(const Matrix *A, const DeviceCsr *csr, int64_t N, HrpbScalar *left, HrpbScalar *right, HrpbScalar *y, bool rows)
{
  const HrpbScalar one = 1, zero = 0;
  Cusparse         s = CusparseCreate(A, csr->rowptr, csr->colidx, y, N, right, left, rows); /* its B and C are ours */
  size_t           bytes;
  void            *buffer;
  double           ms;

  Check(cusparseSDDMM_bufferSize(s.handle, CUSPARSE_OPERATION_NON_TRANSPOSE, CUSPARSE_OPERATION_TRANSPOSE, &one, s.c, s.b, &zero, s.a, scalar_type, CUSPARSE_SDDMM_ALG_DEFAULT, &bytes));
  Check(cudaMalloc(&buffer, bytes + 1));
  Check(cusparseSDDMM_preprocess(s.handle, CUSPARSE_OPERATION_NON_TRANSPOSE, CUSPARSE_OPERATION_TRANSPOSE, &one, s.c, s.b, &zero, s.a, scalar_type, CUSPARSE_SDDMM_ALG_DEFAULT, buffer));
  ms = Median(5, [&] { Check(cusparseSDDMM(s.handle, CUSPARSE_OPERATION_NON_TRANSPOSE, CUSPARSE_OPERATION_TRANSPOSE, &one, s.c, s.b, &zero, s.a, scalar_type, CUSPARSE_SDDMM_ALG_DEFAULT, buffer)); });
  cudaFree(buffer);
  CusparseDestroy(&s);
  return ms;
}

/* The largest difference of the first numbers of two arrays, scaled by values if there are such */
static double Differ(const HrpbScalar *a, const HrpbScalar *b, const HrpbScalar *values, int64_t n)
{
  n = std::min(n, (int64_t)1 << 22);

  const std::vector<HrpbScalar> x = Download(a, n), y = Download(b, n), v = Download(values ? values : b, n);
  double                        worst = 0;

  for (int64_t e = 0; e < n; e++) worst = std::max(worst, fabs((double)x[e] - (double)y[e] * (values ? (double)v[e] : 1.0)));
  return worst;
}

/* Time a kernel, and add its line to the table */
static void TimeKernel(FILE *f, const char *line, const SpmmKernel *k, const SpmmMatrix *M, const Matrix *A, const SpmmOperands *o, const HrpbScalar *wanted, const HrpbScalar *values, const char *format)
{
  static const char *const precisions[] = {"FP64", "3xTF32", "TF32"};
  const double             nnz          = (double)A->colidx.size();
  size_t                   bytes;
  void                    *work;
  double                   ms;

  Check(SpmmWork(k, M, o, &bytes));
  Check(cudaMalloc(&work, bytes + 1));
  ms = Median(9, [&] { Check(SpmmRun(k, M, o, work, NULL)); });
  fprintf(f, "%s,%s,%s,%s,%d,%.5f,%.3e\n", line, k->name, format, k->format == SPMM_BRICKS ? precisions[M->precision] : "full", o->update == SPMM_SCALE, ms, Differ(o->Y.array, wanted, o->update == SPMM_SCALE ? values : NULL, (int64_t)nnz));
  fflush(f);
  cudaFree(work);
}

/* Times of all kernels for a matrix and N columns, with both formats of bricks, scaled and not */
static void TimeMatrix(FILE *f, const char *commit, const Matrix *A, DeviceCsr *csr, const std::vector<DeviceBricks> &bricks, int64_t N)
{
  const size_t            nnz = A->colidx.size();
  std::vector<HrpbScalar> random((size_t)(A->nrows + A->ncols));
  HrpbScalar             *left, *right, *y, *wanted;
  char                    line[256];
  double                  rows;

  for (HrpbScalar &x : random) x = Uniform();
  Check(cudaMalloc(&left, sizeof(HrpbScalar) * (size_t)(A->nrows * N)));
  Check(cudaMalloc(&right, sizeof(HrpbScalar) * (size_t)(A->ncols * N)));
  for (int64_t l = 0; l < N; l++) { /* columns differ in where they begin */
    Check(cudaMemcpy(left + l * A->nrows, random.data() + l, sizeof(HrpbScalar) * (size_t)A->nrows, cudaMemcpyHostToDevice));
    Check(cudaMemcpy(right + l * A->ncols, random.data() + 2 * l + 1, sizeof(HrpbScalar) * (size_t)A->ncols, cudaMemcpyHostToDevice));
  }
  Check(cudaMalloc(&y, sizeof(HrpbScalar) * (nnz + 1)));
  Check(cudaMalloc(&wanted, sizeof(HrpbScalar) * (nnz + 1)));
  rows = CusparseSampled(A, csr, N, left, right, wanted, true);
  snprintf(line, sizeof(line), "%s,%s,%ld,%zu,%ld,%.5f,%.5f", commit, A->name, (long)A->nrows, nnz, (long)N, CusparseSampled(A, csr, N, left, right, wanted, false), rows);
  for (bool scale : {false, true}) {
    const SpmmOperands o = SpmmSampled(N, left, A->nrows, right, A->ncols, scale, y);

    ForKernels(SPMM_OP_SAMPLED, o, csr, bricks, [&](const SpmmKernel *k, const SpmmMatrix &M, const char *format) { TimeKernel(f, line, k, &M, A, &o, wanted, csr->values, format); });
  }
  cudaFree(left);
  cudaFree(right);
  cudaFree(y);
  cudaFree(wanted);
}

static void Times(const char *file, const char *commit)
{
  const HrpbParams formats[] = {HrpbStagedParams(), HrpbShortParams()};
  FILE            *f         = fopen(file, "a");

  if (!f) {
    fprintf(stderr, "cannot write %s\n", file);
    exit(2);
  }
  if (ftell(f) == 0) fprintf(f, "commit,matrix,rows,nonzeros,k,cusparse_ms,cusparse_row_major_ms,kernel,format,precision,scaled,ms,difference\n");
  for (int m = 0; m < 4; m++) {
    const Matrix A   = m == 0 ? Grid("elasticity-like", 64, 3, true) : m == 1 ? Grid("27-point", 96, 1, true) : m == 2 ? Grid("7-point", 128, 1, false) : Scattered(1 << 19, 16);
    DeviceCsr    csr = CsrOnDevice(&A);
    std::vector<DeviceBricks> bricks;

    Check(CsrPanelsForSampledDevice(csr.rowptr, csr.colidx, NULL, &csr.schedule)); /* as before a product of PETSc's */
    for (const HrpbParams &params : formats) { /* bricks of scattered columns take very long, and are not chosen */
      if (m < 3) bricks.push_back(BricksOnDevice(A.nrows, A.ncols, csr.rowptr, csr.colidx, NULL, csr.values, &params));
    }
    for (int64_t N : {32, 128}) TimeMatrix(f, commit, &A, &csr, bricks, N);
    for (DeviceBricks &b : bricks) BricksDestroy(&b);
    CsrDestroy(&csr);
  }
  fclose(f);
}

int main(int argc, char **argv)
{
  std::vector<Matrix> matrices;

  if (argc > 2 && !strcmp(argv[1], "-csv")) {
    Times(argv[2], argc > 4 && !strcmp(argv[3], "-commit") ? argv[4] : "unknown");
    return 0;
  }
  small_run = argc > 1 && !strcmp(argv[1], "-small");
  matrices.push_back(Make("stencil", small_run ? 189 : 756, small_run ? 189 : 756, Stencil));
  matrices.push_back(Make("random", small_run ? 140 : 500, small_run ? 90 : 400, Sparse));
  matrices.push_back(Make("empty panels", small_run ? 300 : 700, small_run ? 60 : 200, Gaps));
  matrices.push_back(LongRow(small_run ? 4200 : 20011, false));
  matrices.push_back(Make("no entries", 30, 30, Nothing));
  if (!small_run) {
    matrices.push_back(Make("band", 333, 333, Band));
    matrices.push_back(Make("random wide", 60, 3001, Sparse));
    matrices.push_back(Make("random tall", 1501, 70, Sparse));
    matrices.push_back(Make("dense", 150, 299, Dense));
    matrices.push_back(Make("one entry a row", 200, 90, OneEntry));
    matrices.push_back(Make("one column", 300, 40, OneColumn));
    matrices.push_back(Make("single column", 300, 1, Dense));
    matrices.push_back(Make("single row", 1, 700, Dense));
    matrices.push_back(Make("dense rows", 300, 500, DenseRows));
    matrices.push_back(Make("one brick", 40, 50, OneBrick));
    matrices.push_back(RMat(512, 8));
  }
  for (const Matrix &A : matrices) TestMatrix(&A);
  TestPanels(Make("27 diagonals", small_run ? 150 : 1501, small_run ? 151 : 1501, Diagonals), CSR_PANEL_ROWS);
  for (int64_t lines : {3, 5, 7, 9}) {
    if (lines == 5 || !small_run) TestPanels(Lines(lines * 1000, lines), lines * CSR_PANEL_ROWS);
  }
  if (!small_run) {
    TestPanels(Grid("7 points", 11, 1, false), CSR_PANEL_ROWS);
    TestPanels(Offset(Grid("", 13, 1, true), "offset, 27 points"), CSR_PANEL_ROWS);
  }
  TestPanelsSought();
  TestMaps();
  printf("sample: %d passed, %d failed\n", npassed, nfailed);
  return nfailed ? 1 : 0;
}
