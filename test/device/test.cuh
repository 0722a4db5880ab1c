/*
   What the tests of the products on a device share: matrices, the product in long double on the host, how results are
   compared and counted, and cuSPARSE's product.
*/
#pragma once

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <thread>
#include <vector>

#include <cuda_runtime.h>
#include <cusparse.h>

#include "format/hrpbdevice.h"

static int  npassed, nfailed;
static bool small_run;

#define Check(call) \
  do { \
    const int err_ = (int)(call); \
    if (err_) { \
      fprintf(stderr, "%s:%d: %s failed with %d (%s)\n", __FILE__, __LINE__, #call, err_, HrpbDeviceErrorString()); \
      exit(2); \
    } \
  } while (0)

static void Report(bool ok, const char *what, const char *where)
{
  if (ok) npassed++;
  else {
    nfailed++;
    if (nfailed < 40) printf("FAILED: %s: %s\n", where, what);
  }
}

/* Reproducible noise */
static uint32_t Random(void)
{
  static uint64_t x = 88172645463325252ull;

  x ^= x << 13;
  x ^= x >> 7;
  x ^= x << 17;
  return (uint32_t)(x >> 16);
}
static HrpbScalar Uniform(void) /* in (-1,1) */
{
  return (HrpbScalar)((int32_t)Random() / 2147483648.0);
}

/* Call f(0) to f(n - 1), each of about so many operations, on the processors of the host */
template <typename F> static void InParallel(int64_t n, int64_t operations, F f)
{
  const int64_t            worth = n * operations / 100000 + 1, nthreads = std::min({n, worth, (int64_t)std::max(std::thread::hardware_concurrency(), 1u)});
  std::vector<std::thread> others;
  const auto               share = [&](int64_t t) {
    for (int64_t i = t; i < n; i += nthreads) f(i);
  };

  for (int64_t t = 1; t < nthreads; t++) others.emplace_back(share, t);
  if (nthreads) share(0);
  for (std::thread &other : others) other.join();
}

typedef struct {
  const char             *name;
  int64_t                 nrows, ncols;
  std::vector<HrpbInt>    rowptr, colidx;
  std::vector<HrpbScalar> values;
} Matrix;

typedef bool (*Pattern)(int64_t, int64_t, const Matrix *);

static Matrix Make(const char *name, int64_t nrows, int64_t ncols, Pattern has)
{
  Matrix A = {name, nrows, ncols, {0}, {}, {}};

  for (int64_t i = 0; i < nrows; i++) {
    for (int64_t j = 0; j < ncols; j++) {
      if (has(i, j, &A)) {
        A.colidx.push_back((HrpbInt)j);
        A.values.push_back(Random() % 17 ? Uniform() : 0);
      }
    }
    A.rowptr.push_back((HrpbInt)A.colidx.size());
  }
  return A;
}

static bool Band(int64_t i, int64_t j, const Matrix *) { return llabs(i - j) < 4; }
static bool WideBand(int64_t i, int64_t j, const Matrix *) { return llabs(i - j) < 7; }
static bool Stencil(int64_t i, int64_t j, const Matrix *) /* 27 points, 3 unknowns a node, 7 x 6 nodes in a plane */
{
  const int64_t a = i / 3, b = j / 3;

  return llabs(a % 7 - b % 7) <= 1 && llabs(a / 7 % 6 - b / 7 % 6) <= 1 && llabs(a / 42 - b / 42) <= 1;
}
static bool Sparse(int64_t, int64_t, const Matrix *) { return Random() % 40 == 0; }
static bool Dense(int64_t, int64_t, const Matrix *) { return true; }
static bool OneEntry(int64_t i, int64_t j, const Matrix *A) { return j == i * 37 % A->ncols; }
static bool OneColumn(int64_t i, int64_t j, const Matrix *) { return j == 5 && i % 3; }
static bool OneBrick(int64_t i, int64_t j, const Matrix *) { return i >= 8 && i < 16 && j >= 20 && j < 24; }
static bool Gaps(int64_t i, int64_t, const Matrix *) { return i / 128 % 2 == 1 && Random() % 10 == 0; }
static bool DenseRows(int64_t i, int64_t, const Matrix *) { return i % 61 == 3 || Random() % 50 == 0; }
static bool Nothing(int64_t, int64_t, const Matrix *) { return false; }

template <typename T> static T *Upload(const std::vector<T> &x)
{
  T *d;

  Check(cudaMalloc(&d, x.empty() ? 1 : sizeof(T) * x.size())); /* exact size, so that a read beyond it is found */
  if (!x.empty()) Check(cudaMemcpy(d, x.data(), sizeof(T) * x.size(), cudaMemcpyHostToDevice));
  return d;
}

template <typename T> static std::vector<T> Download(const T *d, int64_t n)
{
  std::vector<T> x(n);

  Check(cudaMemcpy(x.data(), d, sizeof(T) * x.size(), cudaMemcpyDeviceToHost));
  return x;
}

static bool SameBits(const HrpbScalar *x, const HrpbScalar *y, size_t n)
{
  return !memcmp(x, y, sizeof(*x) * n);
}

/* The same bits. Any NaN is the same as any other */
static bool SameNumber(HrpbScalar x, HrpbScalar y)
{
  return std::isnan(x) ? std::isnan(y) : SameBits(&x, &y, 1);
}

/*
   What the split of x into TF32 numbers loses beyond the bits that the bound of the precision knows of. Tensor cores
   have subnormal TF32 numbers, in steps of 2^-136, and cut off what lies between two steps.

   From 2^-113 on, the last bit of x is no less than such a step. Below, the low part of x loses less than a step.
   Where x is subnormal itself, the high part loses as much, and the low part is lost as a whole, which is at most
   2^-138.
*/
static long double LostInSplit(HrpbScalar x)
{
  return fabsl((long double)x) < 0x1p-113L ? 0x1.4p-136L : 0;
}

/*
   Compare c with the product on the host.

   Finite: |c - ref| <= bound (|A||B|), plus for each nonzero product what is lost next to the smallest number. That is
   a rounding, so at most one step of the subnormal numbers. Sums of multiples of a step add nothing. With tf32
   operands are split. Then each of the three products of their parts is cut off, and so is their sum in each of the
   three instructions. The factors have also lost what they lose in the split.

   A zero is +0, because sums begin with +0 and round to nearest. Only products with bits below the smallest number may
   make it -0, where they are added before they are rounded. MATAIJ rounds them first, and has +0 then, too.

   Otherwise: the same NaN or Inf as a loop over the entries gives, with rounded or unrounded products. Next to the
   largest number one of these alone may overflow. The right finite result is also accepted where the loop overflows
   although all terms are finite.
*/
static bool CompareEntry(const Matrix *A, int64_t i, const HrpbScalar *B, HrpbScalar c, long double sum, long double size, double bound, double *worst, bool tf32)
{
  typedef std::numeric_limits<HrpbScalar> Limits;
  /* whole: a product from there on has no bits below the smallest number */
  const long double rounded = (tf32 ? 6 : 1) * (long double)Limits::denorm_min(), whole = 2 * (long double)Limits::min() / Limits::epsilon();
  long double       lost = 0;
  HrpbScalar        plain = 0, fused = 0;
  bool              may_be_negative = false;

  for (HrpbInt k = A->rowptr[i]; k < A->rowptr[i + 1]; k++) {
    const HrpbScalar  a = A->values[k], b = B[A->colidx[k]];
    const long double product = (long double)a * b;

    plain += a * b;
    fused = std::fma(a, b, fused);
    if (product == 0) continue;
    lost += rounded;
    if (tf32) lost += fabsl((long double)a) * LostInSplit(b) + fabsl((long double)b) * LostInSplit(a);
    if (fabsl(product) < whole) may_be_negative = true;
  }
  if (c == 0 && std::signbit(c) && !may_be_negative) return false;
  if (isinf(fused) && c == fused) plain = fused;
  if ((isnan(plain) || isinf(plain)) && !(isfinite(size) && isfinite(c))) return isnan(plain) ? isnan(c) : c == plain;

  const double error = size > 0 ? (double)(std::max(fabsl(c - sum) - lost, 0.0L) / size) : c == 0 ? 0 : 1;

  *worst = std::max(*worst, error);
  return error <= bound;
}

/* One column of C. *worst is the largest error so far */
static bool CompareColumn(const Matrix *A, const HrpbScalar *b, const HrpbScalar *c, double bound, double *worst, bool tf32)
{
  bool ok = true;

  for (int64_t i = 0; i < A->nrows; i++) {
    long double sum = 0, size = 0;

    for (HrpbInt k = A->rowptr[i]; k < A->rowptr[i + 1]; k++) {
      const long double product = (long double)A->values[k] * b[A->colidx[k]];

      sum += product;
      size += fabsl(product);
    }
    /* Most entries are within the bound */
    if (c[i] != 0 && isfinite(size) && fabsl(c[i] - sum) <= bound * size) *worst = std::max(*worst, (double)(fabsl(c[i] - sum) / size));
    else ok = CompareEntry(A, i, b, c[i], sum, size, bound, worst, tf32) && ok;
  }
  return ok;
}

/* Compare all columns with the product on the host */
static bool Compare(const Matrix *A, int64_t N, const HrpbScalar *B, int64_t ldb, const HrpbScalar *C, int64_t ldc, double bound, double *worst, bool tf32 = false)
{
  std::vector<char>   ok((size_t)N);
  std::vector<double> error((size_t)N + 1, *worst);

  InParallel(N, (int64_t)A->colidx.size(), [&](int64_t n) { ok[(size_t)n] = CompareColumn(A, B + n * ldb, C + n * ldc, bound, &error[(size_t)n], tf32); });
  *worst = *std::max_element(error.begin(), error.end());
  return std::find(ok.begin(), ok.end(), 0) == ok.end();
}

/*
   Values next to the smallest normal number: up to 2^14 times that, and down to where two bits are left. Numbers of
   the same k have about one size.
*/
static HrpbScalar TinyNumber(HrpbScalar x, int64_t k)
{
  typedef std::numeric_limits<HrpbScalar> Limits;

  return std::ldexp(x, Limits::min_exponent + 13 - (int)(k * 7 % (Limits::digits + 12)));
}

/* The same with all values of a row tiny */
static Matrix Tiny(Matrix A)
{
  A.name = "tiny values";
  for (int64_t i = 0; i < A.nrows; i++) {
    for (HrpbInt k = A.rowptr[i]; k < A.rowptr[i + 1]; k++) A.values[k] = TinyNumber(A.values[k], i);
  }
  return A;
}

/*
   Huge values, up to half of the largest number. In single precision some rows are beyond 2^115, where a split
   overflows. Others are not.
*/
static Matrix Huge(Matrix A)
{
  A.name = "huge values";
  for (int64_t i = 0; i < A.nrows; i++) {
    for (HrpbInt k = A.rowptr[i]; k < A.rowptr[i + 1]; k++) A.values[k] = std::ldexp(A.values[k], std::numeric_limits<HrpbScalar>::max_exponent - 1 - (int)(i * 5 % 24));
  }
  return A;
}

/*
   Kinds of special values: 0 random, 1 NaN and Inf here and there, 2 next to the largest number, 3 next to the
   smallest, 4 positive, 5 up to 2^24. Kind 5 gives products that overflow with those rows of Huge() that can be split.
*/
static HrpbScalar Entry(int special, int64_t i, int64_t n)
{
  const HrpbScalar huge = sizeof(HrpbScalar) == 4 ? (HrpbScalar)3.4028234e38 : (HrpbScalar)1.7976931348623157e308;

  if (special == 1 && (i * 7 + n * 3) % 61 == 0) return n % 3 == 0 ? (HrpbScalar)NAN : n % 3 == 1 ? (HrpbScalar)INFINITY : -(HrpbScalar)INFINITY;
  if (special == 2) return i % 5 == 0 ? huge * (i % 2 ? 1 : -1) : huge * Uniform() / 4;
  if (special == 3) return TinyNumber(Uniform(), n);
  if (special == 4) return std::fabs(Uniform());
  if (special == 5) return std::ldexp(Uniform(), (int)(n * 7 % 25));
  return Uniform();
}

static __global__ void LeaveNaN(uint32_t n)
{
  extern __shared__ __align__(16) uint8_t shared[];
  volatile HrpbScalar                    *memory = (volatile HrpbScalar *)shared;

  for (uint32_t i = threadIdx.x; i < n; i += blockDim.x) memory[i] = (HrpbScalar)NAN;
}

/*
   Write NaN where the next kernel's shared memory will be, as much as one thread block can have on a multiprocessor. A
   read of what the kernel has not written shows.
*/
static void PoisonShared(void)
{
  int device, nsm, bytes;

  Check(cudaGetDevice(&device));
  Check(cudaDeviceGetAttribute(&nsm, cudaDevAttrMultiProcessorCount, device));
  Check(cudaDeviceGetAttribute(&bytes, cudaDevAttrMaxSharedMemoryPerBlockOptin, device));
  Check(cudaFuncSetAttribute(LeaveNaN, cudaFuncAttributeMaxDynamicSharedMemorySize, bytes));
  LeaveNaN<<<2 * nsm, 512, bytes>>>((uint32_t)bytes / (uint32_t)sizeof(HrpbScalar));
  Check(cudaGetLastError());
}

/*
   Check multiply(N, B, ldb, C, ldc) against the product on the host. It must write C alone, and give the same bits in
   two parts. tf32: see Compare()
*/
template <typename F> static void TestProduct(const Matrix *A, const char *kernel, F multiply, int64_t N, int64_t padding, int64_t shift, int special, double bound, bool tf32 = false)
{
  const int64_t           ldb = A->ncols + padding, ldc = A->nrows + padding;
  const HrpbScalar        guard = (HrpbScalar)-77;
  std::vector<HrpbScalar> B((size_t)(ldb * N) + shift), C((size_t)(ldc * N) + shift, guard), C2(C), C3(C);
  HrpbScalar             *dB, *dC;
  double                  worst = 0;
  bool                    inside = true;
  char                    where[256];

  snprintf(where, sizeof(where), "%s %ldx%ld, %s, N %ld, padding %ld, shift %ld, special %d", A->name, (long)A->nrows, (long)A->ncols, kernel, (long)N, (long)padding, (long)shift, special);
  for (int64_t n = 0; n < N; n++) {
    for (int64_t i = 0; i < A->ncols; i++) B[shift + i + n * ldb] = Entry(special, i, n);
    for (int64_t i = A->ncols; i < ldb; i++) B[shift + i + n * ldb] = (HrpbScalar)NAN; /* must not be read */
  }
  dB = Upload(B);
  dC = Upload(C);
  PoisonShared();
  multiply(N, dB + shift, ldb, dC + shift, ldc);
  Check(cudaMemcpy(C2.data(), dC, sizeof(HrpbScalar) * C2.size(), cudaMemcpyDeviceToHost));
  if (!Compare(A, N, B.data() + shift, ldb, C2.data() + shift, ldc, bound, &worst, tf32)) {
    char what[64];

    snprintf(what, sizeof(what), "wrong, error %.2e", worst);
    Report(false, what, where);
  } else Report(true, "", where);
  for (int64_t n = 0; n < N; n++) {
    for (int64_t i = A->nrows; i < ldc; i++) inside = inside && C2[shift + i + n * ldc] == guard;
  }
  for (int64_t i = 0; i < shift; i++) inside = inside && C2[i] == guard;
  Report(inside, "wrote outside of C", where);
  Check(cudaMemcpy(dC, C.data(), sizeof(HrpbScalar) * C.size(), cudaMemcpyHostToDevice));
  for (int64_t n = 0; n < N;) { /* again, in two parts */
    const int64_t width = n == 0 ? (N + 2) / 3 : N - n;

    multiply(width, dB + shift + n * ldb, ldb, dC + shift + n * ldc, ldc);
    n += width;
  }
  Check(cudaMemcpy(C3.data(), dC, sizeof(HrpbScalar) * C3.size(), cudaMemcpyDeviceToHost));
  Report(SameBits(C2.data(), C3.data(), C2.size()), "other bits in two parts", where);
  cudaFree(dB);
  cudaFree(dC);
}

enum {
  FAR_COLUMNS = 80,
  FAR_LD      = (1 << 25) + 8 /* FAR_COLUMNS such columns have more than 2^31 scalars */
};

/* B and C for TestFar(). Returns false, with nothing allocated, unless the device has twice as much memory to spare */
static bool FarCreate(HrpbScalar **B, HrpbScalar **C)
{
  const size_t bytes = sizeof(HrpbScalar) * FAR_COLUMNS * FAR_LD;
  size_t       unused, total;

  Check(cudaMemGetInfo(&unused, &total));
  *B = *C = NULL;
  if (unused >= 4 * bytes && cudaMalloc(B, bytes) == cudaSuccess && cudaMalloc(C, bytes) == cudaSuccess) return true;
  (void)cudaGetLastError();
  cudaFree(*B);
  printf("skipped: columns that lie far apart, for which %.0f GB should be free\n", 4e-9 * (double)bytes);
  return false;
}

/*
   Test multiply() as TestProduct() does, with columns of B and C that begin up to more than 2^31 scalars after the
   first. Those of B are aligned to 16 bytes, or not. Of the rows that are not used only the first is touched.
*/
template <typename F> static void TestFar(const Matrix *A, const char *kernel, F multiply, HrpbScalar *dB, HrpbScalar *dC, double bound, bool tf32 = false)
{
  const int64_t           N = FAR_COLUMNS, rows = A->ncols + 1, crows = A->nrows + 1;
  const HrpbScalar        guard = (HrpbScalar)-77;
  const size_t            size  = sizeof(HrpbScalar);
  std::vector<HrpbScalar> B((size_t)(rows * N)), C((size_t)(crows * N));

  for (int64_t ld = FAR_LD; ld >= FAR_LD - 1; ld--) {
    double worst  = 0;
    bool   inside = true;
    char   where[256], what[64];

    snprintf(where, sizeof(where), "%s %ldx%ld, %s, columns %ld apart", A->name, (long)A->nrows, (long)A->ncols, kernel, (long)ld);
    for (int64_t n = 0; n < N; n++) {
      for (int64_t i = 0; i < A->ncols; i++) B[i + n * rows] = Entry(0, i, n);
      B[A->ncols + n * rows] = (HrpbScalar)NAN; /* must not be read */
    }
    std::fill(C.begin(), C.end(), guard);
    Check(cudaMemcpy2D(dB, size * ld, B.data(), size * rows, size * rows, N, cudaMemcpyHostToDevice));
    Check(cudaMemcpy2D(dC, size * ld, C.data(), size * crows, size * crows, N, cudaMemcpyHostToDevice));
    multiply(N, dB, ld, dC, ld);
    Check(cudaMemcpy2D(C.data(), size * crows, dC, size * ld, size * crows, N, cudaMemcpyDeviceToHost));
    const bool right = Compare(A, N, B.data(), rows, C.data(), crows, bound, &worst, tf32);

    snprintf(what, sizeof(what), "wrong, error %.2e", worst);
    Report(right, what, where);
    for (int64_t n = 0; n < N; n++) inside = inside && C[A->nrows + n * crows] == guard;
    Report(inside, "wrote outside of C", where);
  }
}

static Matrix LongRow(int64_t ncols, bool positive)
{
  Matrix A = {"long row", 3, ncols, {0}, {}, {}};

  for (int64_t i = 0; i < 3; i++) {
    for (int64_t j = 0; j < ncols; j += i == 1 ? 1 : 1000) {
      A.colidx.push_back((HrpbInt)j);
      A.values.push_back(positive ? (HrpbScalar)fabs(Uniform()) : Uniform());
    }
    A.rowptr.push_back((HrpbInt)A.colidx.size());
  }
  return A;
}

/* cuSPARSE's product. With column-major B and C it is that of aijcusparse */
typedef struct {
  cusparseHandle_t     handle;
  cusparseSpMMAlg_t    algorithm;
  cusparseSpMatDescr_t a;
  cusparseDnMatDescr_t b, c;
  void                *buffer;
} Cusparse;

static const cudaDataType scalar_type = sizeof(HrpbScalar) == 8 ? CUDA_R_64F : CUDA_R_32F;

static void CusparseMultiply(const Cusparse *s)
{
  const HrpbScalar one = 1, zero = 0;

  Check(cusparseSpMM(s->handle, CUSPARSE_OPERATION_NON_TRANSPOSE, CUSPARSE_OPERATION_NON_TRANSPOSE, &one, s->a, s->b, &zero, s->c, scalar_type, s->algorithm, s->buffer));
}

static Cusparse CusparseCreate(const Matrix *A, HrpbInt *rowptr, HrpbInt *colidx, HrpbScalar *values, int64_t N, HrpbScalar *B, HrpbScalar *C, bool rows = false)
{
  const cusparseOrder_t     order = rows ? CUSPARSE_ORDER_ROW : CUSPARSE_ORDER_COL;
  const cusparseIndexType_t index = sizeof(HrpbInt) == 8 ? CUSPARSE_INDEX_64I : CUSPARSE_INDEX_32I;
  const HrpbScalar          one = 1, zero = 0;
  size_t                    bytes;
  Cusparse                  s;

  s.algorithm = rows ? CUSPARSE_SPMM_CSR_ALG2 : CUSPARSE_SPMM_CSR_ALG1; /* the faster one */
  Check(cusparseCreate(&s.handle));
  Check(cusparseCreateCsr(&s.a, A->nrows, A->ncols, (int64_t)A->colidx.size(), rowptr, colidx, values, index, index, CUSPARSE_INDEX_BASE_ZERO, scalar_type));
  Check(cusparseCreateDnMat(&s.b, A->ncols, N, rows ? N : A->ncols, B, scalar_type, order));
  Check(cusparseCreateDnMat(&s.c, A->nrows, N, rows ? N : A->nrows, C, scalar_type, order));
  Check(cusparseSpMM_bufferSize(s.handle, CUSPARSE_OPERATION_NON_TRANSPOSE, CUSPARSE_OPERATION_NON_TRANSPOSE, &one, s.a, s.b, &zero, s.c, scalar_type, s.algorithm, &bytes));
  Check(cudaMalloc(&s.buffer, bytes + 1));
  return s;
}

static void CusparseDestroy(Cusparse *s)
{
  cudaFree(s->buffer);
  cusparseDestroySpMat(s->a);
  cusparseDestroyDnMat(s->b);
  cusparseDestroyDnMat(s->c);
  cusparseDestroy(s->handle);
}
