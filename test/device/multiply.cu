/*
   The brick kernels against a product in long double on the host, with plain arrays. No PETSc.

     test-multiply            all tests
     test-multiply -small     few and small ones, to run under compute-sanitizer
     test-multiply -accuracy  errors relative to |A||B| beside those of cuSPARSE
*/
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

  Check(cudaMalloc(&d, sizeof(T) * (x.size() + 1)));
  if (!x.empty()) Check(cudaMemcpy(d, x.data(), sizeof(T) * x.size(), cudaMemcpyHostToDevice));
  return d;
}

static HrpbScalar *BuildOnDevice(const Matrix *A, const HrpbParams *params, const int32_t *order, Hrpb *h)
{
  HrpbInt    *rowptr = Upload(A->rowptr), *colidx = Upload(A->colidx);
  HrpbScalar *values = Upload(A->values), *packed;

  Check(HrpbBuildDevice(A->nrows, A->ncols, rowptr, colidx, order, params, NULL, h));
  Check(cudaMalloc(&packed, sizeof(HrpbScalar) * (HrpbValueCount(h) + 1)));
  Check(HrpbPackValuesDevice(h, rowptr, colidx, values, packed, NULL));
  Check(cudaDeviceSynchronize());
  cudaFree(rowptr);
  cudaFree(colidx);
  cudaFree(values);
  return packed;
}

/* C = A B on the device for columns [first, first + N), with B and C where they are */
static void Multiply(const Hrpb *h, const HrpbScalar *values, HrpbPrecision precision, int64_t N, const HrpbScalar *B, int64_t ldb, HrpbScalar *C, int64_t ldc)
{
  size_t bytes;
  void  *work;
  HrpbSchedule s;

  Check(HrpbScheduleDevice(h, NULL, &s));
  Check(HrpbMultiplyWorkDevice(h, &s, precision, N, &bytes));
  Check(cudaMalloc(&work, bytes + 1));
  Check(cudaMemset(work, 0xff, bytes + 1)); /* NaN: what is read there was written */
  Check(HrpbMultiplyDevice(h, &s, values, precision, N, B, ldb, C, ldc, work, NULL));
  Check(cudaDeviceSynchronize());
  HrpbScheduleDestroyDevice(&s);
  cudaFree(work);
}

static bool SameBits(const HrpbScalar *x, const HrpbScalar *y, size_t n)
{
  return !memcmp(x, y, sizeof(*x) * n);
}

/* Finite: |c - ref| <= bound (|A||B|). Otherwise the same NaN or Inf as a loop over the entries gives */
static bool Compare(const Matrix *A, int64_t N, const HrpbScalar *B, int64_t ldb, const HrpbScalar *C, int64_t ldc, double bound, double *worst)
{
  bool ok = true;

  for (int64_t n = 0; n < N; n++) {
    for (int64_t i = 0; i < A->nrows; i++) {
      long double      sum = 0, size = 0;
      HrpbScalar       plain = 0;
      const HrpbScalar c     = C[i + n * ldc];

      for (HrpbInt k = A->rowptr[i]; k < A->rowptr[i + 1]; k++) {
        const HrpbScalar b = B[A->colidx[k] + n * ldb];

        sum += (long double)A->values[k] * b;
        size += fabsl((long double)A->values[k] * b);
        plain += A->values[k] * b;
      }
      if (isnan(plain) || isinf(plain)) ok = ok && (isnan(plain) ? isnan(c) : c == plain);
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

static void TestProduct(const Matrix *A, const Hrpb *h, const HrpbScalar *values, HrpbPrecision precision, int64_t N, int64_t padding, int64_t shift, int special, double bound)
{
  const int64_t           ldb = A->ncols + padding, ldc = A->nrows + padding;
  const HrpbScalar        guard = (HrpbScalar)-77;
  const HrpbParams       *p     = &h->params;
  std::vector<HrpbScalar> B((size_t)(ldb * N) + shift), C((size_t)(ldc * N) + shift, guard), C2(C), C3(C);
  HrpbScalar             *dB, *dC;
  double                  worst = 0;
  bool                    inside = true;
  char                    where[256];

  snprintf(where, sizeof(where), "%s %ldx%ld, format %d %d %d %d, N %ld, padding %ld, shift %ld, special %d, precision %d", A->name, (long)A->nrows, (long)A->ncols, p->brick_rows, p->panel_rows, p->block_cols, p->window_cols, (long)N, (long)padding, (long)shift, special, precision);
  for (int64_t n = 0; n < N; n++) {
    for (int64_t i = 0; i < A->ncols; i++) B[shift + i + n * ldb] = Entry(special, i, n);
    for (int64_t i = A->ncols; i < ldb; i++) B[shift + i + n * ldb] = (HrpbScalar)NAN; /* not to be read */
  }
  dB = Upload(B);
  dC = Upload(C);
  Multiply(h, values, precision, N, dB + shift, ldb, dC + shift, ldc);
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

    Multiply(h, values, precision, width, dB + shift + n * ldb, ldb, dC + shift + n * ldc, ldc);
    n += width;
  }
  Check(cudaMemcpy(C3.data(), dC, sizeof(HrpbScalar) * C3.size(), cudaMemcpyDeviceToHost));
  Report(SameBits(C2.data(), C3.data(), C2.size()), "other bits in two parts", where);
  cudaFree(dB);
  cudaFree(dC);
}

static double Bound(HrpbPrecision precision)
{
  return precision == HRPB_FP64 ? 1e-15 : precision == HRPB_3XTF32 ? 1e-6 : 1.2e-3;
}

static void TestFormats(const Matrix *A, const int32_t *order)
{
  static const HrpbParams formats[] = {{16, 128, 64, 8}, {8, 64, 64, 8}, {8, 64, 32, 2}, {16, 32, 16, 16}, {16, 128, 64, 4}, {8, 8, 256, 1}, {16, 16, 64, 1}, {8, 64, 32, 1}, {8, 24, 8, 4}, {16, 256, 64, 8}, {8, 128, 32, 16}};
  static const int64_t    widths[]  = {1, 3, 8, 16, 17, 24, 33, 48, 64, 72, 93, 100, 128, 129, 300};
#if defined(HRPB_USE_SINGLE)
  const std::vector<HrpbPrecision> precisions = {HRPB_3XTF32, HRPB_TF32};
#else
  const std::vector<HrpbPrecision> precisions = {HRPB_FP64};
#endif

  for (const HrpbParams &params : formats) {
    Hrpb        h;
    HrpbScalar *values = BuildOnDevice(A, &params, order, &h);

    for (HrpbPrecision precision : precisions) {
      int k = 0;

      for (int64_t N : widths) {
        if (small_run && N != 3 && N != 33 && N != 129) continue;
        TestProduct(A, &h, values, precision, N, k % 3 == 0 ? 0 : k % 3 == 1 ? 3 : 16, k % 4 == 3, 0, Bound(precision));
        k++;
      }
      TestProduct(A, &h, values, precision, 21, 16, 0, 1, Bound(precision));
      if (precision != HRPB_TF32) TestProduct(A, &h, values, precision, 40, 0, 0, 2, Bound(precision));
    }
    HrpbDestroyDevice(&h);
    cudaFree(values);
  }
}

/* Errors of ours and of cuSPARSE, the largest of all entries */
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
    HrpbDestroyDevice(&h);
    cudaFree(values);
  }
  {
    const cudaDataType   type = sizeof(HrpbScalar) == 8 ? CUDA_R_64F : CUDA_R_32F;
    const HrpbScalar     one = 1, zero = 0;
    cusparseHandle_t     handle;
    cusparseSpMatDescr_t a;
    cusparseDnMatDescr_t b, c;
    size_t               bytes;
    void                *buffer;

    Check(cusparseCreate(&handle));
    Check(cusparseCreateCsr(&a, A->nrows, A->ncols, (int64_t)A->colidx.size(), rowptr, colidx, avalues, CUSPARSE_INDEX_32I, CUSPARSE_INDEX_32I, CUSPARSE_INDEX_BASE_ZERO, type));
    Check(cusparseCreateDnMat(&b, A->ncols, N, A->ncols, dB, type, CUSPARSE_ORDER_COL));
    Check(cusparseCreateDnMat(&c, A->nrows, N, A->nrows, dC, type, CUSPARSE_ORDER_COL));
    Check(cusparseSpMM_bufferSize(handle, CUSPARSE_OPERATION_NON_TRANSPOSE, CUSPARSE_OPERATION_NON_TRANSPOSE, &one, a, b, &zero, c, type, CUSPARSE_SPMM_CSR_ALG1, &bytes));
    Check(cudaMalloc(&buffer, bytes + 1));
    Check(cusparseSpMM(handle, CUSPARSE_OPERATION_NON_TRANSPOSE, CUSPARSE_OPERATION_NON_TRANSPOSE, &one, a, b, &zero, c, type, CUSPARSE_SPMM_CSR_ALG1, buffer));
    Check(cudaMemcpy(C.data(), dC, sizeof(HrpbScalar) * C.size(), cudaMemcpyDeviceToHost));
    (void)Compare(A, N, B.data(), A->ncols, C.data(), A->nrows, 1, &worst[3]);
    cudaFree(buffer);
    cusparseDestroySpMat(a);
    cusparseDestroyDnMat(b);
    cusparseDestroyDnMat(c);
    cusparseDestroy(handle);
  }
  printf("accuracy %s%s, %d bytes: staged %.2e, gathered %.2e, tf32 %.2e, cuSPARSE %.2e\n", A->name, positive ? " positive" : "", (int)sizeof(HrpbScalar), worst[0], worst[1], worst[2], worst[3]);
  cudaFree(rowptr);
  cudaFree(colidx);
  cudaFree(avalues);
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

int main(int argc, char **argv)
{
  std::vector<Matrix> matrices;

  small_run = argc > 1 && !strcmp(argv[1], "-small");
  if (argc > 1 && !strcmp(argv[1], "-accuracy")) {
    Accuracy(new Matrix(Make("stencil", 1260, 1260, Stencil)), false);
    Accuracy(new Matrix(Make("dense", 300, 3000, Dense)), false);
    Accuracy(new Matrix(LongRow(1000003, false)), false);
    Accuracy(new Matrix(LongRow(1000003, true)), true);
    return 0;
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
  }
  matrices.push_back(Make("one brick", 40, 50, OneBrick));
  matrices.push_back(Make("empty panels", 700, 200, Gaps));
  matrices.push_back(Make("no entries", 30, 30, Nothing));
  for (const Matrix &A : matrices) TestFormats(&A, NULL);
  {
    const Matrix        &A = matrices[0];
    std::vector<int32_t> order((size_t)A.nrows);
    int32_t             *d;

    for (int64_t i = 0; i < A.nrows; i++) order[i] = (int32_t)i;
    for (int64_t i = A.nrows - 1; i > 0; i--) std::swap(order[i], order[Random() % (i + 1)]);
    d = Upload(order);
    TestFormats(&A, d);
    cudaFree(d);
  }
  printf("multiply: %d passed, %d failed\n", npassed, nfailed);
  return nfailed ? 1 : 0;
}
