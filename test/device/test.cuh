/*
   What the tests of the products on a device share: matrices, the product in long double on the host, how results are compared and counted, and cuSPARSE's product.
*/
#pragma once

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <algorithm>
#include <vector>

#include <cuda_runtime.h>
#include <cusparse.h>

#include "hrpbdevice.h"

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

  Check(cudaMalloc(&d, x.empty() ? 1 : sizeof(T) * x.size())); /* no more: what is read behind it is found */
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

/*
   Finite: |c - ref| <= bound (|A||B|). Otherwise the same NaN or Inf as a loop over the entries gives, with products that are rounded or not: next to the largest number it may overflow with one of them alone. Only where
   the loop overflows, with terms that are all finite, what is right may come out, too
*/
static bool Compare(const Matrix *A, int64_t N, const HrpbScalar *B, int64_t ldb, const HrpbScalar *C, int64_t ldc, double bound, double *worst)
{
  bool ok = true;

  for (int64_t n = 0; n < N; n++) {
    for (int64_t i = 0; i < A->nrows; i++) {
      long double      sum = 0, size = 0;
      HrpbScalar       plain = 0, fused = 0;
      const HrpbScalar c = C[i + n * ldc];

      for (HrpbInt k = A->rowptr[i]; k < A->rowptr[i + 1]; k++) {
        const HrpbScalar b = B[A->colidx[k] + n * ldb];

        sum += (long double)A->values[k] * b;
        size += fabsl((long double)A->values[k] * b);
        plain += A->values[k] * b;
        fused = std::fma(A->values[k], b, fused);
      }
      if (!isfinite(c) && isinf(fused)) plain = fused;
      if ((isnan(plain) || isinf(plain)) && !(isfinite(size) && isfinite(c))) ok = ok && (isnan(plain) ? isnan(c) : c == plain);
      else {
        const double error = size > 0 ? (double)(fabsl(c - sum) / size) : c == 0 ? 0 : 1;

        if (!(error <= bound)) ok = false;
        *worst = std::max(*worst, error);
      }
    }
  }
  return ok;
}

/* Special: 0 random, 1 NaN and Inf here and there, 2 next to the largest number, 3 next to the smallest */
static HrpbScalar Entry(int special, int64_t i, int64_t n)
{
  const HrpbScalar huge = sizeof(HrpbScalar) == 4 ? (HrpbScalar)3.4028234e38 : (HrpbScalar)1.7976931348623157e308;

  if (special == 1 && (i * 7 + n * 3) % 61 == 0) return n % 3 == 0 ? (HrpbScalar)NAN : n % 3 == 1 ? (HrpbScalar)INFINITY : -(HrpbScalar)INFINITY;
  if (special == 2) return i % 5 == 0 ? huge * (i % 2 ? 1 : -1) : huge * Uniform() / 4;
  return Uniform();
}

/* multiply(N, B, ldb, C, ldc) against the product on the host; and it must write C alone, and give the same bits in two parts */
template <typename F> static void TestProduct(const Matrix *A, const char *kernel, F multiply, int64_t N, int64_t padding, int64_t shift, int special, double bound)
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
    for (int64_t i = A->ncols; i < ldb; i++) B[shift + i + n * ldb] = (HrpbScalar)NAN; /* not to be read */
  }
  dB = Upload(B);
  dC = Upload(C);
  multiply(N, dB + shift, ldb, dC + shift, ldc);
  Check(cudaMemcpy(C2.data(), dC, sizeof(HrpbScalar) * C2.size(), cudaMemcpyDeviceToHost));
  if (!Compare(A, N, B.data() + shift, ldb, C2.data() + shift, ldc, bound, &worst)) {
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

/* aijcusparse's product: cuSPARSE, column-major B */
typedef struct {
  cusparseHandle_t     handle;
  cusparseSpMatDescr_t a;
  cusparseDnMatDescr_t b, c;
  void                *buffer;
} Cusparse;

static const cudaDataType scalar_type = sizeof(HrpbScalar) == 8 ? CUDA_R_64F : CUDA_R_32F;

static void CusparseMultiply(const Cusparse *s)
{
  const HrpbScalar one = 1, zero = 0;

  Check(cusparseSpMM(s->handle, CUSPARSE_OPERATION_NON_TRANSPOSE, CUSPARSE_OPERATION_NON_TRANSPOSE, &one, s->a, s->b, &zero, s->c, scalar_type, CUSPARSE_SPMM_CSR_ALG1, s->buffer));
}

static Cusparse CusparseCreate(const Matrix *A, HrpbInt *rowptr, HrpbInt *colidx, HrpbScalar *values, int64_t N, HrpbScalar *B, HrpbScalar *C)
{
  const cusparseIndexType_t index = sizeof(HrpbInt) == 8 ? CUSPARSE_INDEX_64I : CUSPARSE_INDEX_32I;
  const HrpbScalar          one = 1, zero = 0;
  size_t                    bytes;
  Cusparse                  s;

  Check(cusparseCreate(&s.handle));
  Check(cusparseCreateCsr(&s.a, A->nrows, A->ncols, (int64_t)A->colidx.size(), rowptr, colidx, values, index, index, CUSPARSE_INDEX_BASE_ZERO, scalar_type));
  Check(cusparseCreateDnMat(&s.b, A->ncols, N, A->ncols, B, scalar_type, CUSPARSE_ORDER_COL));
  Check(cusparseCreateDnMat(&s.c, A->nrows, N, A->nrows, C, scalar_type, CUSPARSE_ORDER_COL));
  Check(cusparseSpMM_bufferSize(s.handle, CUSPARSE_OPERATION_NON_TRANSPOSE, CUSPARSE_OPERATION_NON_TRANSPOSE, &one, s.a, s.b, &zero, s.c, scalar_type, CUSPARSE_SPMM_CSR_ALG1, &bytes));
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
