/*
   One vector: every kernel of SPMM_OP_VECTOR against a product in long double on the host, and against the order of
   sums that vector/vector.h states, to the bit. No PETSc.

     test-vector            all tests
     test-vector -small     few and small ones, to run under compute-sanitizer
     test-vector -csv FILE  times the kernels beside cuSPARSE, half a minute; writes the table FILE
       [-matrices a,b]      some of those that are generated: stencil27, poisson7, elasticity, dof8, uniform, rmat,
                            powerlaw
       [-files a,b]         with these matrices in PETSc's binary format, too
       [-commit X]          what the table says of the version
       [-variants]          with every number of lanes, and of entries on their way
*/
#include "vector/single.h"
#include "matrices.cuh"
#include "vectortimes.cuh"

static HrpbScalar AddLanes(std::vector<HrpbScalar> sum)
{
  for (size_t distance = sum.size() / 2; distance > 0; distance /= 2) {
    for (size_t l = 0; l < distance; l++) sum[l] += sum[l + distance];
  }
  return sum[0];
}

/* Entries begin to end - 1 by lanes */
static std::vector<HrpbScalar> SumsOfLanes(const Matrix *A, int64_t begin, int64_t end, int lanes, const HrpbScalar *x)
{
  std::vector<HrpbScalar> sum((size_t)lanes);

  for (int64_t k = begin; k < end; k++) sum[(k - begin) % lanes] = std::fma(A->values[k], x[A->colidx[k]], sum[(k - begin) % lanes]);
  return sum;
}

/* The sum of a row in the order that the interface states */
static HrpbScalar Stated(const Matrix *A, int64_t i, const VectorPlan *plan, const HrpbScalar *x)
{
  static const int64_t most[] = {3, 8, 20, 48, 128, 256};
  const int64_t        begin = A->rowptr[i], end = A->rowptr[i + 1];
  HrpbScalar           sum   = 0;
  int                  lanes = plan->lanes;

  if (!lanes) {
    lanes = 1;
    for (int64_t m : most) lanes *= end - begin > m ? 2 : 1;
  }
  if (end - begin <= plan->long_entries) sum = AddLanes(SumsOfLanes(A, begin, end, lanes, x));
  else {
    for (int64_t first = begin; first < end; first += VECTOR_PART) {
      const std::vector<HrpbScalar> sums = SumsOfLanes(A, first, std::min(end, first + VECTOR_PART), VECTOR_THREADS, x);
      HrpbScalar                    part = 0;

      for (auto warp = sums.begin(); warp != sums.end(); warp += 32) part += AddLanes(std::vector<HrpbScalar>(warp, warp + 32));
      sum += part;
    }
  }
  if (std::isfinite(sum)) return sum;
  sum = 0;
  for (int64_t k = begin; k < end; k++) sum = std::fma(A->values[k], x[A->colidx[k]], sum);
  return sum;
}

/* The product is wrong where neither the order of sums nor the error is what it should be */
static void TestVector(const Matrix *A, const VectorPlan *plan, const HrpbInt *rowptr, const HrpbInt *colidx, const HrpbScalar *values, const SpmmKernel *k, bool adds, bool in_place, int special)
{
  const double            bound = sizeof(HrpbScalar) == 8 ? 1e-14 : 5e-6;
  const HrpbScalar        guard = (HrpbScalar)-77;
  std::vector<HrpbScalar> x((size_t)A->ncols), y0((size_t)A->nrows), y((size_t)A->nrows + 1, guard);
  SpmmMatrix              M = {.nrows = A->nrows, .ncols = A->ncols, .rowptr = rowptr, .colidx = colidx, .values = values, .vector = plan};
  SpmmOperands            o;
  HrpbScalar             *dx, *dy0, *dy;
  void                   *work;
  size_t                  bytes;
  int64_t                 wrong = 0, other = 0;
  char                    where[256];

  snprintf(where, sizeof(where), "%s %ldx%ld, %s, %d lanes, nodes of %d rows%s%s, special %d", A->name, (long)A->nrows, (long)A->ncols, k->name, plan->lanes, plan->node_rows, adds ? ", y0 is added" : "", in_place ? ", y is y0" : "", special);
  for (int64_t i = 0; i < A->ncols; i++) x[i] = Entry(special, i, i / 61);
  for (HrpbScalar &v : y0) v = Uniform();
  if (in_place) std::copy(y0.begin(), y0.end(), y.begin());
  dx  = Upload(x);
  dy0 = Upload(y0);
  dy  = Upload(y);
  o   = SpmmPlain(1, dx, A->ncols, dy, A->nrows);
  if (adds) {
    o.update = SPMM_ADD;
    o.Y0     = {in_place ? dy : dy0, A->nrows, SPMM_COLUMN_MAJOR};
  }
  Check(SpmmWork(k, &M, &o, &bytes));
  Check(cudaMalloc(&work, bytes + 1));
  Check(cudaMemset(work, 0xff, bytes + 1)); /* NaN: a read of what was not written shows */
  PoisonShared();
  Check(SpmmRun(k, &M, &o, work, NULL));
  Check(cudaDeviceSynchronize());
  y = Download(dy, A->nrows + 1);
  for (int64_t i = 0; i < A->nrows; i++) {
    HrpbScalar  stated = Stated(A, i, plan, x.data());
    long double sum = 0, size = 0; /* size: of the terms that are finite */
    const long double tiny = (long double)std::numeric_limits<HrpbScalar>::denorm_min() * (A->rowptr[i + 1] - A->rowptr[i]);

    for (HrpbInt e = A->rowptr[i]; e < A->rowptr[i + 1]; e++) {
      const long double t = (long double)A->values[e] * x[A->colidx[e]];

      sum += t;
      if (std::isfinite(t)) size += fabsl(t);
    }
    if (adds) {
      stated = y0[i] + stated;
      sum += y0[i];
      size += fabsl((long double)y0[i]);
    }
    if (!SameNumber(stated, y[i])) other++;
    if (special == 2 || size >= std::numeric_limits<HrpbScalar>::max() / 2) continue; /* may overflow */
    if (std::isnan(sum) ? !std::isnan(y[i]) : std::isinf(sum) ? y[i] != (HrpbScalar)sum : !(fabsl(y[i] - sum) <= bound * size + tiny)) wrong++;
  }
  Report(wrong == 0, "wrong", where);
  Report(other == 0, "not added in the order that is stated", where);
  Report(y[A->nrows] == guard, "wrote behind y", where);
  for (HrpbScalar *p : {dx, dy0, dy}) cudaFree(p);
  cudaFree(work);
}

/*
   A product in any precision, as itself, added to y0, or as a step of a smoother in place of y0, against long double.
   kernel takes arrays of T
*/
template <typename T>
static void TestUpdate(const Matrix *A, const VectorPlan *plan, const HrpbInt *rowptr, const HrpbInt *colidx, const T *values,
  const SpmmKernel *kernel, SpmmUpdate update, int variant)
{
  const double      bound = sizeof(T) == 8 ? 1e-14 : 5e-6;
  const bool        step = update == SPMM_STEP, has_rhs = variant % 2 == 0, has_diagonal = variant % 3 > 0;
  const HrpbScalar  a = variant == 1 ? 0 : (HrpbScalar)0.75, b = variant == 2 ? 0 : (HrpbScalar)-1.25, c = variant == 3 ? 0 : (HrpbScalar)0.5;
  std::vector<T>    x((size_t)A->ncols), y0((size_t)A->nrows), rhs(y0), diagonal(y0), y;
  SpmmMatrix        M = {.nrows = A->nrows, .ncols = A->ncols, .rowptr = rowptr, .colidx = colidx, .values = (const HrpbScalar *)values, .vector = plan};
  SpmmOperands      o;
  T                *dx, *dy, *drhs, *dd;
  void             *work;
  size_t            bytes;
  int64_t           wrong = 0;
  char              where[256];

  snprintf(where, sizeof(where), "%s %ldx%ld, %s, %d lanes, update %d, variant %d", A->name, (long)A->nrows, (long)A->ncols, kernel->name, plan->lanes, (int)update, variant);
  for (std::vector<T> *v : {&x, &y0, &rhs, &diagonal}) {
    for (T &number : *v) number = (T)Uniform();
  }
  if (step && a == 0) std::fill(y0.begin(), y0.end(), (T)NAN); /* it is not read */
  if (step && c == 0) std::fill(rhs.begin(), rhs.end(), (T)NAN);
  dx   = Upload(x);
  dy   = Upload(y0);
  drhs = Upload(rhs);
  dd   = Upload(diagonal);
  o    = SpmmPlain(1, (const HrpbScalar *)dx, A->ncols, (HrpbScalar *)dy, A->nrows);
  o.update = update;
  o.Y0     = {(const HrpbScalar *)dy, A->nrows, SPMM_COLUMN_MAJOR};
  o.B      = {has_rhs ? (const HrpbScalar *)drhs : NULL, A->nrows, SPMM_COLUMN_MAJOR};
  o.D      = has_diagonal ? (const HrpbScalar *)dd : NULL;
  o.dblock = 1;
  o.a      = a;
  o.b      = b;
  o.c      = c;
  Check(SpmmWork(kernel, &M, &o, &bytes));
  Check(cudaMalloc(&work, bytes + 1));
  Check(cudaMemset(work, 0xff, bytes + 1));
  Check(SpmmRun(kernel, &M, &o, work, NULL));
  y = Download(dy, A->nrows);
  for (int64_t i = 0; i < A->nrows; i++) {
    long double sum = 0, size = 0;

    for (HrpbInt e = A->rowptr[i]; e < A->rowptr[i + 1]; e++) {
      const long double t = (long double)(T)A->values[e] * x[A->colidx[e]];

      sum += t;
      size += fabsl(t);
    }
    if (step) {
      const long double d = c * (has_diagonal ? (long double)diagonal[i] : 1), r = has_rhs ? (long double)rhs[i] : 0;

      sum  = c == 0 ? 0 : d * (r - sum);
      size = c == 0 ? 0 : fabsl(d) * (fabsl(r) + size);
      if (b != 0) sum += b * (long double)x[i], size += fabsl(b * (long double)x[i]);
    }
    if (update == SPMM_ADD || (step && a != 0)) {
      const long double before = (step ? (long double)a : 1) * y0[i];

      sum += before;
      size += fabsl(before);
    }
    wrong += !(fabsl(y[i] - sum) <= bound * size);
  }
  Report(wrong == 0, "wrong", where);
  for (T *p : {dx, dy, drhs, dd}) cudaFree(p);
  cudaFree(work);
}

/*
   Steps of a smoother that follow each other, x and y by turns: each may be brought to the device before the one before
   it has ended, and then has the bits that it has otherwise. k takes arrays of T
*/
template <typename T>
static void TestBehind(const Matrix *A, const VectorPlan *plan, const HrpbInt *rowptr, const HrpbInt *colidx, const T *values, const SpmmKernel *k)
{
  const SpmmMatrix M = {.nrows = A->nrows, .ncols = A->ncols, .rowptr = rowptr, .colidx = colidx, .values = (const HrpbScalar *)values, .vector = plan};
  std::vector<T>   begin[2], right[2];
  T               *x[2];
  void            *work = NULL;
  bool             same = true;

  for (std::vector<T> &v : begin) {
    v.resize((size_t)A->nrows);
    for (T &number : v) number = (T)Uniform();
  }
  for (int round = 0; round < (small_run ? 2 : 6); round++) { /* first one after the other */
    for (int i = 0; i < 2; i++) x[i] = Upload(begin[i]);
    for (int step = 0; step < 9; step++) {
      SpmmOperands o = SpmmPlain(1, (const HrpbScalar *)x[step % 2], A->ncols, (HrpbScalar *)x[1 - step % 2], A->nrows);
      size_t       bytes;

      o.update = SPMM_STEP;
      o.Y0     = {o.Y.array, A->nrows, SPMM_COLUMN_MAJOR};
      o.a      = (HrpbScalar)0.25;
      o.b      = (HrpbScalar)0.5;
      o.c      = (HrpbScalar)0.125;
      o.behind = round && step;
      Check(SpmmWork(k, &M, &o, &bytes));
      if (!work) Check(cudaMalloc(&work, bytes + 1));
      Check(SpmmRun(k, &M, &o, work, NULL));
    }
    Check(cudaDeviceSynchronize());
    for (int i = 0; i < 2; i++) {
      const std::vector<T> found = Download(x[i], A->nrows);

      if (!round) right[i] = found;
      for (size_t r = 0; r < found.size(); r++) same = same && SameNumber(found[r], right[i][r]);
      cudaFree(x[i]);
    }
  }
  Report(same, "other numbers where it comes before the kernel before it has ended", (std::string(A->name) + ", " + k->name + (sizeof(T) == 4 ? ", float" : "")).c_str());
  cudaFree(work);
}

/* Steps, and in a library of double precision all of it in single precision */
static void TestUpdates(const Matrix *A, const VectorPlan *plan, const HrpbInt *rowptr, const HrpbInt *colidx, const HrpbScalar *values,
  const SpmmKernel *k, int call)
{
  std::vector<float> rounded((size_t)(plan->first + plan->nnz));
  float             *single;

  if (A->nrows == A->ncols) TestBehind(A, plan, rowptr, colidx, values, k);
  /* numbers next to the largest make sums that overflow, and have a test of their own: TestVector() */
  for (HrpbScalar v : A->values) {
    if (std::fabs(v) > std::numeric_limits<float>::max() / 1e6f) return;
  }
  for (int variant = 0; variant < 6 && A->nrows == A->ncols; variant++) TestUpdate(A, plan, rowptr, colidx, values, k, SPMM_STEP, variant);
  if (sizeof(HrpbScalar) == 4) return;
  for (size_t e = 0; e < A->values.size(); e++) rounded[(size_t)plan->first + e] = (float)A->values[e];
  single = Upload(rounded);
  k      = VectorSingleKernel(k);
  Report(k != NULL, "no kernel for single precision", A->name);
  for (int variant = call % 2; variant < 6 && A->nrows == A->ncols; variant += 2) TestUpdate(A, plan, rowptr, colidx, single, k, SPMM_STEP, variant);
  if (A->nrows == A->ncols) TestBehind(A, plan, rowptr, colidx, single, k);
  TestUpdate(A, plan, rowptr, colidx, single, k, call % 2 ? SPMM_ADD : SPMM_ASSIGN, 0);
  cudaFree(single);
}

/* Numbers of all sizes to single precision and back, scaled by the largest. Sums and steps are those of the host */
static void TestSingle(void)
{
  const int n = 5003, bs = 3, rows = n / bs * bs;

  for (int e : {-1073, -1000, -150, 0, 7, 300, 1022, 1024, 1025}) { /* 1024: with a NaN, 1025: all zeros */
    std::vector<HrpbScalar> x(n);
    std::vector<float>      y;
    HrpbScalar             *dx, *dz;
    float                  *dy;
    VectorLargest          *largest;
    bool                    ok = true;
    const int               exponent = sizeof(HrpbScalar) == 4 ? e / 10 : e;
    char                    where[64];

    snprintf(where, sizeof(where), "exponent %d", e);
    for (HrpbScalar &number : x) number = e == 1025 ? 0 : std::ldexp(Uniform(), e == 1024 ? 0 : exponent);
    if (e == 1024) x[77] = (HrpbScalar)NAN;
    dx = Upload(x);
    dz = Upload(x);
    dy = Upload(std::vector<float>(n));
    Check(cudaMalloc(&largest, sizeof(*largest)));
    Check(VectorZeroLargest(largest, NULL));
    Check(VectorFindLargest(n, dx, largest, NULL));
    Check(VectorFindLargest(n / 2, dx, largest, NULL)); /* not larger */
    Check(VectorToSingle(n, dx, 3, largest, dy, NULL));
    Check(VectorToDouble(n, dy, -3, largest, dz, NULL));

    const std::vector<HrpbScalar> z = Download(dz, n);
    const VectorLargest           found = Download(largest, 1)[0];
    HrpbScalar                    most = 0;

    for (HrpbScalar number : x) most = std::isnan(number) || std::isnan(most) ? (HrpbScalar)NAN : std::max(most, (HrpbScalar)std::fabs(number));
    y = Download(dy, n);
    Report(VectorLargestIsFinite(found) == !std::isnan(most), "finite or not", where);
    if (std::isfinite(most) && most > 0) {
      const int scale = VectorExponent(found);

      /* next to the smallest number of a double the largest is smaller than a half */
      ok = std::ldexp((long double)most, -scale) < 1 && (scale <= -1021 || std::ldexp((long double)most, -scale) >= 0.5L);
      Report(ok, "another exponent", where);
      ok = true;
      for (int i = 0; i < n; i++) ok = ok && y[i] == (float)(8 * std::ldexp((long double)x[i], -scale));
      Report(ok, "other numbers in single precision", where);
    } else Report(VectorExponent(found) == 0, "an exponent without a number", where);
    ok = true;
    for (int i = 0; i < n; i++) ok = ok && (std::isnan(x[i]) ? std::isnan(z[i]) : fabsl((long double)z[i] - x[i]) <= 6e-8L * fabsl((long double)x[i]) + std::numeric_limits<HrpbScalar>::denorm_min());
    Report(ok, "other numbers there and back", where);
    cudaFree(dx);
    cudaFree(dz);
    cudaFree(dy);
    cudaFree(largest);
  }
  for (int dblock : {1, bs}) {
    for (int variant = 0; variant < 4; variant++) {
      const float        a = variant == 1 ? 0 : 0.75f, b = variant == 2 ? 0 : -1.25f, c = variant == 3 ? 0 : 0.5f;
      std::vector<float> y0(rows), x(rows), r(rows), D((size_t)rows * dblock);
      bool               ok = true;

      for (std::vector<float> *v : {&y0, &x, &r, &D}) {
        for (float &number : *v) number = (float)Uniform();
      }

      float                 *dy = Upload(y0), *dx = Upload(x), *dr = Upload(r), *dD = Upload(D);
      const VectorSingleStep s = {a, b, c, a == 0 ? NULL : dy, b == 0 ? NULL : dx, c == 0 ? NULL : dr, dD, dblock, dy};

      Check(VectorStepSingle(rows, &s, NULL));
      const std::vector<float> y = Download(dy, rows);

      for (int i = 0; i < rows; i++) {
        double sum = 0, size = 0;

        for (int k = 0; k < dblock; k++) {
          const double t = (double)D[(size_t)(i / dblock * dblock * dblock + k * dblock + i % dblock)] * r[(size_t)(i / dblock * dblock + k)];

          sum += t, size += std::fabs(t);
        }
        ok = ok && std::fabs(y[i] - (c * sum + b * x[i] + a * y0[i])) <= 1e-6 * (c * size + std::fabs(b * x[i]) + std::fabs(a * y0[i]));
      }
      Report(ok, "wrong", dblock == 1 ? "a step in single precision" : "a step with blocks in single precision");
      for (float *p : {dy, dx, dr, dD}) cudaFree(p);
    }
  }
}

/* Whether rows have the same columns */
static bool SameColumns(const Matrix *A, int64_t i, int64_t j)
{
  const int64_t length = A->rowptr[i + 1] - A->rowptr[i];

  return length == A->rowptr[j + 1] - A->rowptr[j] && std::equal(A->colidx.begin() + A->rowptr[i], A->colidx.begin() + A->rowptr[i + 1], A->colidx.begin() + A->rowptr[j]);
}

/* Nodes are all rows in their order, cut where columns differ and where a node is full, and nowhere else */
static void TestNodes(const Matrix *A, const VectorPlan *plan)
{
  const std::vector<int32_t> nodes = Download((const int32_t *)plan->nodes, plan->nnodes + 1);
  bool                       ok    = nodes[0] == 0 && nodes[plan->nnodes] == A->nrows;
  int64_t                    from  = 0; /* where these columns began */

  for (int32_t n = 0; n < plan->nnodes && ok; n++) {
    ok = nodes[n + 1] > nodes[n] && nodes[n + 1] - nodes[n] <= plan->node_rows;
    if (n && !SameColumns(A, nodes[n] - 1, nodes[n])) from = nodes[n];
    ok = ok && (nodes[n] - from) % plan->node_rows == 0;
    for (int64_t i = nodes[n] + 1; i < nodes[n + 1] && ok; i++) ok = SameColumns(A, nodes[n], i);
  }
  Report(ok, "wrong nodes", A->name);
}

/* The bin of a row that is not cut */
static int BinOf(int64_t length)
{
  int bin = 0;

  while (length > VectorBinEntries(bin)) bin++;
  return bin;
}

/* Each row that is not cut is in one block. Rows of a block are neighbours, and no more than it has room for */
static void TestBlocks(const Matrix *A, const VectorPlan *plan)
{
  const std::vector<VectorBlock> blocks = Download((const VectorBlock *)plan->blocks, plan->nblocks);
  const std::vector<uint8_t>     places = Download((const uint8_t *)plan->places, plan->nrows);
  std::vector<int>               found((size_t)A->nrows);
  bool                           ok = true;

  for (const VectorBlock &b : blocks) {
    int64_t at = b.first, entries = 0;

    for (int bin = VECTOR_BINS - 1; bin >= 0; bin--) {
      for (int64_t end = at + b.rows[bin]; at < end && ok; at++) {
        const int64_t row = b.first + places[at], length = row < A->nrows ? A->rowptr[row + 1] - A->rowptr[row] : -1;

        ok = length >= 0 && length <= plan->long_entries && BinOf(length) == bin && !found[row]++;
        entries += length;
      }
    }
    ok = ok && at > b.first && at - b.first <= VECTOR_THREADS && b.begin == A->rowptr[b.first] + plan->first;
    ok = ok && b.entries == entries && entries == A->rowptr[at] - A->rowptr[b.first] && entries <= VECTOR_STAGED;
  }
  for (int64_t i = 0; i < A->nrows; i++) ok = ok && (found[i] == 1 || A->rowptr[i + 1] - A->rowptr[i] > plan->long_entries);
  Report(ok, "wrong thread blocks of rows", A->name);
}

/* The transpose is A's entries by columns, in the order of rows; new values come to their places */
static void TestTranspose(const Matrix *A, const VectorPlan *plan, const HrpbInt *rowptr, const HrpbInt *colidx, const HrpbScalar *values)
{
  VectorTranspose                                  t;
  std::vector<std::vector<std::pair<HrpbInt, HrpbScalar>>> columns((size_t)A->ncols);
  bool                                             ok = true;
  size_t                                           at = 0;

  Check(VectorTransposeDevice(rowptr, colidx, NULL, plan, &t));
  Check(VectorTransposeValuesDevice(plan->first, values, NULL, &t));
  for (int64_t i = 0; i < A->nrows; i++) {
    for (HrpbInt k = A->rowptr[i]; k < A->rowptr[i + 1]; k++) columns[A->colidx[k]].push_back({(HrpbInt)i, A->values[k]});
  }
  const std::vector<HrpbInt>    found_rowptr = Download(t.rowptr, A->ncols + 1), found_colidx = Download(t.colidx, plan->nnz);
  const std::vector<HrpbScalar> found_values = Download(t.values, plan->nnz);

  for (int64_t j = 0; j < A->ncols && ok; j++) {
    ok = found_rowptr[j] == (HrpbInt)at;
    for (size_t e = 0; e < columns[j].size() && ok; e++, at++) ok = found_colidx[at] == columns[j][e].first && SameBits(&found_values[at], &columns[j][e].second, 1);
  }
  Report(ok && found_rowptr[A->ncols] == (HrpbInt)plan->nnz && t.plan.nnz == plan->nnz, "wrong transpose", A->name);
  VectorTransposeDestroyDevice(&t, NULL);
}

/* The transpose of a matrix without rows has rows without entries */
static void TestNoRows(void)
{
  const int64_t   ncols = 5;
  HrpbInt        *rowptr = Upload(std::vector<HrpbInt>{0}), *colidx = Upload(std::vector<HrpbInt>());
  VectorPlan      plan;
  VectorTranspose t;

  Check(VectorPlanDevice(0, ncols, rowptr, NULL, &plan));
  Check(VectorTransposeDevice(rowptr, colidx, NULL, &plan, &t));
  Report(plan.ncols == ncols && t.plan.nrows == ncols && Download(t.rowptr, ncols + 1) == std::vector<HrpbInt>(ncols + 1, 0), "wrong transpose", "no rows");
  VectorTransposeDestroyDevice(&t, NULL);
  VectorPlanDestroyDevice(&plan, NULL);
  cudaFree(rowptr);
  cudaFree(colidx);
}

enum Kind {
  PLAIN,
  NODES, /* rows come in nodes that pay */
  BINS,  /* lengths of rows differ much */
  FAR    /* bases do not reach */
};

/* Each kernel that takes the plan, with every number of lanes */
static void TestKernels(const Matrix &A, const VectorPlan *plan, const HrpbInt *rowptr, const HrpbInt *colidx, const HrpbScalar *values)
{
  for (int i = 0, call = 0; SpmmKernelGet(i); i++) {
    const SpmmKernel  *k     = SpmmKernelGet(i);
    const SpmmMatrix   S     = {.nrows = A.nrows, .ncols = A.ncols, .vector = plan};
    const SpmmFacts    facts = SpmmFactsOf(&S);
    const SpmmOperands o     = SpmmPlain(1, NULL, A.ncols, NULL, A.nrows);

    if (k->op != SPMM_OP_VECTOR || !k->takes(&facts, NULL, &o, NULL)) continue;
    for (int lanes = 1; lanes <= 32 && plan->lanes; lanes *= 2) {
      const bool nodes = !strcmp(k->name, "vector-nodes");

      for (int turns = 2; turns <= (nodes ? 2 : 8); turns *= 2) {
        VectorPlan with = *plan;

        with.lanes = lanes;
        with.turns = turns;
        if (lanes % 3 == 1 && nodes) with.columns = NULL; /* it takes those of the CSR, too */
        for (int special = 0; special < 5; special++, call++) TestVector(&A, &with, rowptr, colidx, values, k, call % 3 > 0, call % 3 == 1, special);
      }
    }
    for (int special = 0; special < 5; special++, call++) TestVector(&A, plan, rowptr, colidx, values, k, call % 3 > 0, call % 3 == 1, special);
    for (int lanes = plan->lanes ? 1 : 0; lanes <= (plan->lanes ? 32 : 0); lanes = lanes ? 2 * lanes : 1) {
      VectorPlan with = *plan;

      with.lanes = lanes;
      TestUpdates(&A, &with, rowptr, colidx, values, k, call++);
    }
  }
}

static void TestMatrix(const Matrix &A, Kind kind, int64_t shift = 0)
{
  Matrix                  M = A;
  std::vector<HrpbScalar> shifted(A.values);
  std::vector<HrpbInt>    shifted_columns(A.colidx);
  HrpbInt                *rowptr, *colidx;
  HrpbScalar             *values;
  VectorPlan              plan;
  int64_t                 longest = 0, nlong = 0, nonempty = 0;

  /* a matrix need not begin at the first entry of its arrays */
  shifted.insert(shifted.begin(), shift, (HrpbScalar)NAN);
  shifted_columns.insert(shifted_columns.begin(), shift, -1);
  for (HrpbInt &p : M.rowptr) p += (HrpbInt)shift;
  rowptr = Upload(M.rowptr);
  colidx = Upload(shifted_columns);
  values = Upload(shifted);
  for (int64_t i = 0; i < A.nrows; i++) {
    const int64_t length = A.rowptr[i + 1] - A.rowptr[i];

    longest = std::max(longest, length);
    nonempty += length > 0;
  }
  Check(VectorPlanDevice(A.nrows, A.ncols, rowptr, NULL, &plan));
  for (int64_t i = 0; i < A.nrows; i++) nlong += A.rowptr[i + 1] - A.rowptr[i] > plan.long_entries;
  Report(plan.longest == longest && plan.nlong == nlong && plan.nonempty == nonempty && plan.nnz == (int64_t)A.values.size(), "wrong numbers of the plan", A.name);
  Check(VectorNodesDevice(rowptr, colidx, NULL, &plan));
  Report((plan.nnodes > 0) == (kind == NODES), kind == NODES ? "no nodes are found" : "nodes that are hardly any", A.name);
  Report((plan.lanes == 0) == (kind == BINS), kind == BINS ? "rows are not sorted by their lengths" : "rows are sorted in vain", A.name);
  if (plan.nnodes) TestNodes(&A, &plan);
  Check(VectorColumnsDevice(rowptr, colidx, NULL, &plan));
  Report((plan.columns != NULL) == (kind != BINS && kind != FAR && !A.values.empty()), "wrong choice of short columns", A.name);
  TestKernels(A, &plan, rowptr, colidx, values);
  if (kind == BINS) {
    Check(VectorStageDevice(rowptr, NULL, &plan));
    TestBlocks(&A, &plan);
    TestKernels(A, &plan, rowptr, colidx, values);
  }
  TestTranspose(&A, &plan, rowptr, colidx, values);
  VectorPlanDestroyDevice(&plan, NULL);
  cudaFree(rowptr);
  cudaFree(colidx);
  cudaFree(values);
}

/* Rows of these lengths, with columns that repeat and are not sorted */
static Matrix Lengths(const char *name, const std::vector<int64_t> &lengths, int64_t ncols)
{
  Matrix A = {name, (int64_t)lengths.size(), ncols, {0}, {}, {}};

  for (int64_t length : lengths) {
    for (int64_t k = 0; k < length; k++) {
      A.colidx.push_back((HrpbInt)(Random() % ncols));
      A.values.push_back(Uniform());
    }
    A.rowptr.push_back((HrpbInt)A.colidx.size());
  }
  return A;
}

/* Rows of all lengths where the number of lanes changes, behind many empty ones, beside rows that are cut */
static Matrix AllLengths(const char *name, int64_t times)
{
  static const int64_t some[] = {256, 256, 256, 256, 0, 1, 3, 4, 8, 9, 20, 21, 48, 49, 128, 129, 256, 257, 255, 300, 4097};
  std::vector<int64_t> lengths;

  for (int64_t i = 0; i < times; i++) {
    lengths.insert(lengths.end(), 100 * (size_t)i, 0);
    for (int64_t length : some) lengths.push_back(length);
    for (int64_t k = 0; k < 40 * i; k++) lengths.push_back(some[Random() % 13]);
  }
  return Lengths(name, lengths, 3000);
}

/* Runs of up to most rows with the same columns */
static Matrix Runs(const char *name, int64_t nruns, int64_t most, int64_t ncols, int64_t length)
{
  Matrix A = {name, 0, ncols, {0}, {}, {}};

  for (int64_t i = 0; i < nruns; i++) {
    std::vector<HrpbInt> columns;

    for (int64_t k = Random() % length; k >= 0; k--) columns.push_back((HrpbInt)(Random() % ncols));
    for (int64_t rows = 1 + Random() % most; rows > 0; rows--, A.nrows++) {
      for (HrpbInt c : columns) {
        A.colidx.push_back(c);
        A.values.push_back(Uniform());
      }
      A.rowptr.push_back((HrpbInt)A.colidx.size());
    }
  }
  return A;
}

/* The same, and in the middle some rows with as many entries as all others have, divided by a number */
static Matrix WithLongRows(const Matrix &A, int64_t nrows, int64_t number)
{
  const int64_t        half = A.nrows / 2, length = (int64_t)A.values.size() / number / nrows;
  std::vector<int64_t> lengths((size_t)nrows, length);
  Matrix               L = Lengths(A.name, lengths, A.ncols), M = {A.name, 0, A.ncols, {0}, {}, {}};

  const auto Append = [&](const Matrix &B, int64_t i) {
    M.colidx.insert(M.colidx.end(), B.colidx.begin() + B.rowptr[i], B.colidx.begin() + B.rowptr[i + 1]);
    M.values.insert(M.values.end(), B.values.begin() + B.rowptr[i], B.values.begin() + B.rowptr[i + 1]);
    M.rowptr.push_back((HrpbInt)M.colidx.size());
    M.nrows++;
  };
  for (int64_t i = 0; i < A.nrows; i++) {
    for (int64_t k = 0; i == half && k < nrows; k++) Append(L, k);
    Append(A, i);
  }
  return M;
}

/* Every 33 rows, for the first of them, there is one whose columns lie too far apart for a base */
static Matrix FarApart(int64_t rows)
{
  Matrix A = {"columns far apart", 1000, 100000, {0}, {}, {}};

  for (int64_t i = 0; i < A.nrows; i++) {
    for (int64_t k = 0; k < 9; k++) {
      A.colidx.push_back((HrpbInt)(i * 10 + k * k + (k == 8 && i % 33 == 0 && i / 33 < rows ? 65536 : k == 8 ? 65000 : 0)));
      A.values.push_back(Uniform());
    }
    A.rowptr.push_back((HrpbInt)A.colidx.size());
  }
  return A;
}

/* Rows of many lengths are staged where there are many columns and many entries, and are in bins elsewhere */
static void TestStaged(void)
{
  enum {
    NROWS = 65536
  };
  std::vector<HrpbInt> rows(NROWS + 1);

  for (int64_t i = 0; i < NROWS; i++) rows[i + 1] = rows[i] + (i % 64 ? 50 : 1000); /* 2^22 and a hundredth */
  for (int k = 0; k < 3; k++) {
    HrpbInt   *rowptr = Upload(rows);
    VectorPlan plan;

    Check(VectorPlanDevice(k == 1 ? NROWS - 1024 : NROWS, k == 2 ? 131072 : 131073, rowptr, NULL, &plan));
    Report(plan.lanes == 0 && (plan.blocks != NULL) == (k == 0) && (plan.order == NULL) == (k == 0), "wrong choice of rows that are staged", k == 0 ? "many" : k == 1 ? "few entries" : "few columns");
    VectorPlanDestroyDevice(&plan, NULL);
    cudaFree(rowptr);
  }
}

/* Operands that are not one vector */
static void TestRefused(void)
{
  for (int i = 0; SpmmKernelGet(i); i++) {
    const SpmmKernel *k     = SpmmKernelGet(i);
    SpmmFacts         facts = {};
    SpmmOperands      o     = SpmmPlain(1, NULL, 9, NULL, 9);

    if (k->op != SPMM_OP_VECTOR) continue;
    facts.nodes         = 1;
    facts.short_columns = true;
    facts.staged        = !strcmp(k->name, "vector-staged");
    facts.bins          = facts.staged || !strcmp(k->name, "vector-bins");
    Report(k->takes(&facts, NULL, &o, NULL), "does not take one vector", k->name);
    o.N = 2;
    Report(!k->takes(&facts, NULL, &o, NULL), "takes two vectors", k->name);
    o.N        = 1;
    o.X.layout = SPMM_ROW_MAJOR;
    Report(!k->takes(&facts, NULL, &o, NULL), "takes a row-major x", k->name);
    o.X.layout = SPMM_COLUMN_MAJOR;
    o.update   = SPMM_STEP;
    o.D        = (const HrpbScalar *)&o;
    o.dblock   = 3;
    Report(!k->takes(&facts, NULL, &o, NULL), "takes a smoother's step with blocks", k->name);
  }
}

static int Usage(const char *program)
{
  printf("usage: %s [-small | -csv FILE [-matrices rmat,dof8] [-files a.petsc,b.petsc] [-commit X] [-variants]]\n", program);
  return 2;
}

static int Times(int argc, char **argv)
{
  VectorTimes v        = {.commit = "unknown"};
  bool        variants = false;
  std::string matrices, files;

  for (int i = 1; i < argc; i++) {
    const std::string option = argv[i];

    if (option == "-variants") variants = true;
    else if (i + 1 == argc) return Usage(argv[0]);
    else if (option == "-csv") v.csv = fopen(argv[++i], "w");
    else if (option == "-matrices") matrices = argv[++i];
    else if (option == "-files") files = argv[++i];
    else if (option == "-commit") v.commit = argv[++i];
    else return Usage(argv[0]);
  }
  if (!v.csv) return Usage(argv[0]);
  TimeVectors(&v, matrices, files, variants);
  fclose(v.csv);
  return nfailed ? 1 : 0;
}

int main(int argc, char **argv)
{
  small_run = argc == 2 && !strcmp(argv[1], "-small");
  if (argc > 1 && !small_run) return Times(argc, argv);
  TestRefused();
  TestStaged();
  TestNoRows();
  TestSingle();
  TestMatrix(Make("band", 333, 333, Band), PLAIN);
  TestMatrix(Make("nothing", 40, 30, Nothing), NODES);
  TestMatrix(Grid("27 points, 3 unknowns", 4, 3, true), NODES, 5);
  TestMatrix(Lengths("long rows", {5, 1023, 1024, 1025, 0, 4095, 4096, 4097, 3, 8192, 8193, 20001}, 5000), BINS);
  TestMatrix(AllLengths("all lengths", small_run ? 1 : 6), BINS, 3);
  if (!small_run) {
    for (int dofs = 1; dofs <= 9; dofs++) TestMatrix(Grid("27 points", 4, dofs, true), dofs > 1 ? NODES : PLAIN);
    TestMatrix(Grid("7 points", 9, 1, false), PLAIN, 1);
    TestMatrix(Make("random", 500, 400, Sparse), PLAIN);
    TestMatrix(Make("dense", 150, 299, Dense), NODES);
    TestMatrix(Make("one entry a row", 200, 90, OneEntry), PLAIN);
    TestMatrix(Make("one column", 300, 40, OneColumn), NODES);
    TestMatrix(Make("single column", 300, 1, Dense), NODES);
    TestMatrix(Make("single row", 1, 700, Dense), PLAIN);
    TestMatrix(Make("dense rows", 300, 500, DenseRows), BINS);
    TestMatrix(Make("empty rows", 700, 200, Gaps), NODES);
    TestMatrix(Runs("runs of 2 at most", 200, 2, 300, 40), NODES);
    TestMatrix(Runs("runs of 5 at most", 100, 5, 300, 70), NODES);
    TestMatrix(Runs("runs of 30 at most", 60, 30, 300, 20), NODES);
    TestMatrix(WithLongRows(Runs("some long rows in runs", 600, 4, 300, 70), 2, 20), NODES, 3);
    TestMatrix(WithLongRows(Runs("a very long row in runs", 2000, 4, 300, 70), 1, 20), NODES, 3);
    TestMatrix(WithLongRows(Make("some long rows", 3000, 3000, Band), 3, 20), PLAIN);
    TestMatrix(FarApart(3), PLAIN, 2);
    TestMatrix(FarApart(900), FAR);
    TestMatrix(RMat(4096, 9), BINS, 1);
    TestMatrix(PowerLaw(512), PLAIN);
    TestMatrix(Huge(Make("", 333, 333, WideBand)), PLAIN);
    TestMatrix(Tiny(Make("", 333, 333, WideBand)), PLAIN);
    TestMatrix(Lengths("many rows", std::vector<int64_t>(100000, 2), 1000), PLAIN);
    TestMatrix(LongRow(300003, true), BINS);
  }
  printf("vector: %d passed, %d failed\n", npassed, nfailed);
  return nfailed ? 1 : 0;
}
