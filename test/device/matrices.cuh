/*
   What the programs share that also measure: matrices with the patterns of applications and graphs, a matrix on the
   device as CSR, as bricks and reordered, and milliseconds.
*/
#pragma once

#include "csr/csr.cuh"
#include "test.cuh"

/* A matrix from entries, numbered row*ncols + column, in any order. Entries in the same place become one */
static inline Matrix FromEntries(const char *name, int64_t nrows, int64_t ncols, const std::vector<int64_t> &entries)
{
  Matrix               A = {name, nrows, ncols, {}, {}, {}};
  std::vector<int64_t> sorted(entries);

  std::sort(sorted.begin(), sorted.end());
  sorted.erase(std::unique(sorted.begin(), sorted.end()), sorted.end());
  A.rowptr.assign((size_t)nrows + 1, 0);
  for (int64_t e : sorted) {
    A.rowptr[e / ncols + 1]++;
    A.colidx.push_back((HrpbInt)(e % ncols));
    A.values.push_back(Uniform());
  }
  for (int64_t i = 0; i < nrows; i++) A.rowptr[i + 1] += A.rowptr[i];
  return A;
}

/*
   A grid of side^3 nodes. The neighbours of a node differ from it by one: in one coordinate (7 points) or in any (27).
*/
static inline Matrix Grid(const char *name, int64_t side, int64_t dofs, bool all)
{
  Matrix A = {name, side * side * side * dofs, side * side * side * dofs, {0}, {}, {}};

  for (int64_t i = 0; i < A.nrows; i++) {
    const int64_t node = i / dofs, x = node % side, y = node / side % side, z = node / side / side;

    for (int64_t dz = -1; dz <= 1; dz++) {
      for (int64_t dy = -1; dy <= 1; dy++) {
        for (int64_t dx = -1; dx <= 1; dx++) {
          if ((!all && dx * dx + dy * dy + dz * dz > 1) || x + dx < 0 || x + dx >= side || y + dy < 0 || y + dy >= side || z + dz < 0 || z + dz >= side) continue;
          for (int64_t f = 0; f < dofs; f++) {
            A.colidx.push_back((HrpbInt)((node + dx + side * (dy + side * dz)) * dofs + f));
            A.values.push_back(Uniform());
          }
        }
      }
    }
    A.rowptr.push_back((HrpbInt)A.colidx.size());
  }
  return A;
}

static inline Matrix Scattered(int64_t n, int64_t degree)
{
  std::vector<int64_t> entries;

  for (int64_t k = 0; k < n * degree; k++) entries.push_back(k / degree * n + Random() % n);
  return FromEntries("uniform", n, n, entries);
}

/* The real matrix of a complex one, whose real parts are A: an entry a + bi becomes the block a -b, b a */
static inline Matrix Doubled(const Matrix &A)
{
  Matrix                  D = {A.name, 2 * A.nrows, 2 * A.ncols, {0}, {}, {}};
  std::vector<HrpbScalar> b;

  for (size_t k = 0; k < A.values.size(); k++) b.push_back(Uniform());
  for (int64_t i = 0; i < D.nrows; i++) {
    for (HrpbInt k = A.rowptr[i / 2]; k < A.rowptr[i / 2 + 1]; k++) {
      for (HrpbInt c = 0; c < 2; c++) {
        D.colidx.push_back(2 * A.colidx[k] + c);
        D.values.push_back(i % 2 == c ? A.values[k] : c ? -b[k] : b[k]);
      }
    }
    D.rowptr.push_back((HrpbInt)D.colidx.size());
  }
  return D;
}

static inline bool Diagonals(int64_t i, int64_t j, const Matrix *) { return llabs(i - j) <= 13; }

/*
   The given number of rows of a grid with lines of n / lines points. Each row has the three points around it, in each
   of three lines. This gives rows of B for each number of stages in csr/staged.cuh
*/
static inline Matrix Lines(int64_t n, int64_t lines)
{
  std::vector<int64_t> entries;

  for (int64_t i = 0; i < n; i++) {
    for (int64_t k = 0; k < lines; k++) {
      for (int64_t j = -1; j <= 1; j++) entries.push_back(i * n + (i + j + k * (n / lines) + n) % n);
    }
  }
  return FromEntries("lines", n, n, entries);
}

/* Row pointers that do not begin at zero. What lies before them must not be read */
static inline Matrix Offset(Matrix A, const char *name)
{
  A.name = name;
  for (HrpbInt &r : A.rowptr) r += 3;
  A.colidx.insert(A.colidx.begin(), 3, (HrpbInt)1 << 30);
  A.values.insert(A.values.begin(), 3, (HrpbScalar)NAN);
  return A;
}

static inline Matrix RMat(int64_t n, int64_t degree) /* n a power of two */
{
  std::vector<int64_t> entries;

  for (int64_t k = 0; k < n * degree; k++) {
    int64_t row = 0, col = 0;

    for (int64_t half = n / 2; half; half /= 2) {
      const uint32_t draw = Random() % 100;

      if (draw >= 76) row += half;
      if ((draw >= 57 && draw < 76) || draw >= 95) col += half;
    }
    entries.push_back(row * n + col);
  }
  return FromEntries("rmat", n, n, entries);
}

static inline Matrix Arrow(int64_t n)
{
  std::vector<int64_t> entries;

  for (int64_t i = 0; i < n; i++) {
    entries.push_back(i);
    entries.push_back(i * n);
    entries.push_back(i * n + i);
  }
  return FromEntries("arrow", n, n, entries);
}

/* Rows of 10^5 entries and fewer, by a power of their rank, in random order; n a power of two */
static inline Matrix PowerLaw(int64_t n)
{
  std::vector<int64_t> entries;

  for (int64_t i = 0; i < n; i++) {
    const int64_t rank = i * 40503 % n, length = (int64_t)(1e5 / pow((double)rank + 1, 0.75));

    for (int64_t k = 0; k < length; k++) entries.push_back(i * n + Random() % n);
  }
  return FromEntries("power law", n, n, entries);
}

static inline std::vector<int64_t> RandomOrder(int64_t n)
{
  std::vector<int64_t> order(n);

  for (int64_t k = 0; k < n; k++) order[k] = k;
  for (int64_t k = n - 1; k > 0; k--) std::swap(order[k], order[Random() % (k + 1)]);
  return order;
}

/* Row and column k of the result are row and column order[k] of A, which is square */
static inline Matrix Reordered(const Matrix &A, const char *name, const std::vector<int64_t> &order)
{
  std::vector<int64_t>                        position(order.size());
  std::vector<std::pair<HrpbInt, HrpbScalar>> row;
  Matrix                                      R = {name, A.nrows, A.ncols, {0}, {}, {}};

  for (size_t k = 0; k < order.size(); k++) position[order[k]] = (int64_t)k;
  R.colidx.reserve(A.colidx.size());
  R.values.reserve(A.values.size());
  for (int64_t from : order) {
    row.clear();
    for (HrpbInt e = A.rowptr[from]; e < A.rowptr[from + 1]; e++) row.push_back({(HrpbInt)position[A.colidx[e]], A.values[e]});
    std::sort(row.begin(), row.end());
    for (const auto &entry : row) {
      R.colidx.push_back(entry.first);
      R.values.push_back(entry.second);
    }
    R.rowptr.push_back((HrpbInt)R.colidx.size());
  }
  return R;
}

/* A on the device, and the schedule of the CSR kernels */
typedef struct {
  HrpbInt    *rowptr, *colidx;
  HrpbScalar *values;
  CsrSchedule schedule;
} DeviceCsr;

/* Whether the device has the shared memory for rows of B */
static inline bool CanStage(void)
{
  cudaDeviceProp prop;
  int            device;

  Check(cudaGetDevice(&device));
  Check(cudaGetDeviceProperties(&prop, device));
  return prop.major >= 9 && prop.sharedMemPerBlockOptin >= CSR_STAGED_BYTES;
}

static inline DeviceCsr CsrOnDevice(const Matrix *A)
{
  DeviceCsr d = {Upload(A->rowptr), Upload(A->colidx), Upload(A->values), {}};

  Check(CsrScheduleDevice(A->nrows, A->ncols, d.rowptr, d.colidx, NULL, &d.schedule));
  return d;
}

/* Whether rows of B fit into shared memory. If so, the schedule has them there from now on */
static inline bool MakePanels(DeviceCsr *d)
{
  CsrPanelsDestroy(&d->schedule, NULL);
  Check(CsrPanelsDevice(d->rowptr, d->colidx, CSR_PANEL_ROWS, NULL, &d->schedule));
  return d->schedule.panel_rows > 0;
}

static inline void CsrDestroy(DeviceCsr *d)
{
  CsrScheduleDestroyDevice(&d->schedule, NULL);
  cudaFree(d->rowptr);
  cudaFree(d->colidx);
  cudaFree(d->values);
}

/* A matrix as bricks, and their schedule, which says what panels are cut */
struct DeviceBricks {
  Hrpb         h;
  HrpbSchedule schedule;
  HrpbScalar  *values;
};

/* Entry k of the CSR has the value csr_values[entry[k]], or csr_values[k] where entry is NULL */
static inline DeviceBricks BricksOnDevice(int64_t nrows, int64_t ncols, const HrpbInt *rowptr, const HrpbInt *colidx, const HrpbInt *entry, const HrpbScalar *csr_values, const HrpbParams *params)
{
  DeviceBricks b;

  Check(HrpbBuildDevice(nrows, ncols, rowptr, colidx, NULL, params, NULL, &b.h));
  Check(cudaMalloc(&b.values, sizeof(HrpbScalar) * (HrpbValueCount(&b.h) + 1)));
  Check(HrpbPackValuesDevice(&b.h, rowptr, colidx, csr_values, entry, b.values, NULL));
  Check(HrpbScheduleDevice(&b.h, NULL, &b.schedule));
  return b;
}

static inline void BricksDestroy(DeviceBricks *b)
{
  HrpbScheduleDestroyDevice(&b->schedule, NULL);
  HrpbDestroyDevice(&b->h, NULL);
  cudaFree(b->values);
}

/* The two as the kernels see them */
static inline SpmmMatrix CsrMatrix(const CsrSchedule *s, const HrpbInt *rowptr, const HrpbInt *colidx, const HrpbScalar *values)
{
  return {.nrows = s->nrows, .ncols = s->ncols, .rowptr = rowptr, .colidx = colidx, .values = values, .csr = s};
}

static inline SpmmMatrix BricksMatrix(const Hrpb *h, const HrpbSchedule *s, const HrpbScalar *values, HrpbPrecision precision)
{
  return {.nrows = h->nrows, .ncols = h->ncols, .hrpb = h, .schedule = s, .brick_values = values, .precision = precision};
}

/* The kernel that the table has for such operands */
static inline const SpmmKernel *KernelFor(const SpmmMatrix *A, const SpmmOperands *o)
{
  const SpmmFacts   facts = SpmmFactsOf(A);
  const SpmmDevice *device;

  Check(SpmmGetDevice(&device));
  return SpmmChooseKernel(SPMM_OP_PRODUCT, A->hrpb ? SPMM_BRICKS : SPMM_CSR, false, &facts, A->hrpb ? &A->hrpb->params : NULL, o, device);
}

/* Operands of a plain product, and the product */
static inline HrpbError WorkFor(const SpmmMatrix *A, int64_t N, size_t *bytes)
{
  const SpmmOperands o = SpmmPlain(N, NULL, A->ncols, NULL, A->nrows);

  return SpmmWork(KernelFor(A, &o), A, &o, bytes);
}

static inline HrpbError MultiplyPlain(const SpmmMatrix *A, int64_t N, const HrpbScalar *B, int64_t ldb, HrpbScalar *C, int64_t ldc, void *work)
{
  const SpmmOperands o = SpmmPlain(N, B, ldb, C, ldc);

  return SpmmRun(KernelFor(A, &o), A, &o, work, NULL);
}

/* Milliseconds that the device is busy with what f() launches */
template <typename F>
static inline double Milliseconds(F f)
{
  cudaEvent_t begin, end;
  float       t;

  Check(cudaEventCreate(&begin));
  Check(cudaEventCreate(&end));
  Check(cudaEventRecord(begin));
  f();
  Check(cudaEventRecord(end));
  Check(cudaEventSynchronize(end));
  Check(cudaEventElapsedTime(&t, begin, end));
  Check(cudaEventDestroy(begin));
  Check(cudaEventDestroy(end));
  return t;
}

static inline double MedianOf(std::vector<double> times)
{
  std::sort(times.begin(), times.end());
  return times[times.size() / 2];
}

/* Median of n times, after one run that does not count */
template <typename F>
static inline double Median(int n, F f)
{
  std::vector<double> times(n);

  f();
  for (double &t : times) t = Milliseconds(f);
  return MedianOf(times);
}
