/*
   The reordering of a matrix, the reordered matrix, and products by its bricks, against what the host makes of them. No
   PETSc.

     test-reorder         all tests
     test-reorder -small  few and small ones, to run under compute-sanitizer
     test-reorder -time   milliseconds for meshes whose unknowns are in a random order
*/
#include "matrices.cuh"
#include "order/reorder.h"

typedef struct {
  std::vector<int32_t> order, position;
  std::vector<HrpbInt> rowptr, colidx, entry;
} OnHost;

static OnHost DownloadAll(const HrpbReordered *c)
{
  return {Download(c->order, c->n), Download(c->position, c->n), Download(c->rowptr, (int64_t)c->n + 1), Download(c->colidx, c->nnz), Download(c->entry, c->nnz)};
}

/*
   Check that the order is a permutation, and that the matrix is the original one in that order, row by row and entry
   by entry.
*/
static void TestIsMatrix(const Matrix *A, const OnHost *h)
{
  std::vector<bool> seen(A->nrows);
  int64_t           wrong = 0;

  for (int64_t k = 0; k < A->nrows; k++) {
    const int32_t row = h->order[k];

    if (row < 0 || row >= A->nrows || seen[row] || h->position[row] != k) {
      Report(false, "the order is no permutation", A->name);
      return;
    }
    seen[row] = true;
  }
  Report(h->rowptr[0] == 0 && h->rowptr.back() == A->rowptr.back() - A->rowptr[0], "wrong number of entries", A->name);
  for (int64_t k = 0; k < A->nrows; k++) {
    const HrpbInt first = A->rowptr[h->order[k]], last = A->rowptr[h->order[k] + 1];

    if (h->rowptr[k + 1] - h->rowptr[k] != last - first) {
      wrong++;
      continue;
    }
    for (HrpbInt e = h->rowptr[k]; e < h->rowptr[k + 1]; e++) {
      const HrpbInt from = h->entry[e];

      if (from < first || from >= last || h->order[h->colidx[e]] != A->colidx[from] || (e > h->rowptr[k] && h->colidx[e] <= h->colidx[e - 1])) wrong++;
    }
  }
  Report(wrong == 0, "not the matrix in that order", A->name);
}

static HrpbError OrderOf(const Matrix *A, HrpbReordered *c, HrpbInt **rowptr, HrpbInt **colidx)
{
  *rowptr = Upload(A->rowptr);
  *colidx = Upload(A->colidx);
  return HrpbReorderDevice(A->nrows, *rowptr, *colidx, 500, NULL, c);
}

static void TestMatrix(const Matrix &A)
{
  HrpbInt      *rowptr, *colidx;
  HrpbReordered c, again, few;
  OnHost        h, other;

  Check(OrderOf(&A, &c, &rowptr, &colidx));
  h = DownloadAll(&c);
  TestIsMatrix(&A, &h);
  Check(HrpbReorderDevice(A.nrows, rowptr, colidx, c.levels, NULL, &again));
  other = DownloadAll(&again);
  Report(HrpbReorderDevice(A.nrows, rowptr, colidx, c.levels - 1, NULL, &few) == HRPB_ERR_UNSUPPORTED && !few.n && !few.order, "more levels than there may be are not refused", A.name);
  Report(h.order == other.order && h.colidx == other.colidx && h.entry == other.entry && c.levels == again.levels, "another order the second time", A.name);
  HrpbReorderDestroyDevice(&c, NULL);
  HrpbReorderDestroyDevice(&again, NULL);
  Report(!c.n && !c.order, "not zero when destroyed", A.name);
  cudaFree(rowptr);
  cudaFree(colidx);
}

/*
   In an order that was found breadth first, the first neighbours of rows come in the order of the rows. The first row
   of a part has none before it. For a symmetric pattern
*/
static void TestIsBreadthFirst(const Matrix *A, const OnHost *h)
{
  int32_t first_before = -1;
  int64_t wrong        = 0;

  for (int32_t k = 0; k < A->nrows; k++) {
    const int32_t row   = h->order[k];
    int32_t       first = k;

    for (HrpbInt e = A->rowptr[row]; e < A->rowptr[row + 1]; e++) first = std::min(first, h->position[A->colidx[e]]);
    wrong += first < first_before;
    first_before = first;
  }
  Report(wrong == 0, "rows are not in the order of their first neighbours", A->name);
}

/* The product by bricks of the reordered matrix, with B and C in the order of the matrix itself */
static void TestProducts(const Matrix *A, const HrpbReordered *order)
{
  const HrpbPrecision precision = sizeof(HrpbScalar) == 8 ? HRPB_FP64 : HRPB_3XTF32;
  HrpbScalar         *values    = Upload(A->values);

  for (const HrpbParams &params : {HrpbStagedParams(), HrpbShortParams(), HrpbRowsParams(), HrpbGatherParams()}) {
    DeviceBricks     b        = BricksOnDevice(order->n, order->n, order->rowptr, order->colidx, order->entry, values, &params);
    const SpmmMatrix bricks   = BricksMatrix(&b.h, &b.schedule, b.values, precision);
    const auto       multiply = [&](int64_t N, const HrpbScalar *B, int64_t ldb, HrpbScalar *C, int64_t ldc) {
      const SpmmOperands o      = SpmmPlain(N, B, ldb, C, ldc);
      const SpmmKernel  *kernel = KernelFor(&bricks, &o);
      size_t             bytes;
      void              *work;

      Check(SpmmWorkReordered(kernel, &bricks, order, N, &bytes));
      Check(cudaMalloc(&work, bytes + 1));
      Check(cudaMemset(work, 0xff, bytes + 1)); /* NaN: a read of what was not written shows */
      Check(SpmmRunReordered(kernel, &bricks, order, &o, work, NULL));
      Check(cudaDeviceSynchronize());
      cudaFree(work);
    };

    for (int64_t N : {1, 8, 21, 65}) TestProduct(A, "reordered", multiply, N, N == 8 ? 0 : 3, N == 21, N == 21, precision == HRPB_FP64 ? 1e-15 : 1e-6);
    BricksDestroy(&b);
  }
  cudaFree(values);
}

/* Active columns of strips of 16 rows: a reordering is to reduce them */
static int64_t StripColumns(const Matrix *A)
{
  int64_t n;

  Check(HrpbCountStripColumns(A->nrows, A->ncols, A->rowptr.data(), A->colidx.data(), 16, &n));
  return n;
}

/* From any order of a mesh, the reordering is about as good as the order in which the mesh is made */
static void TestMesh(int64_t side, int64_t dofs, bool products)
{
  const Matrix  natural = Grid("mesh", side, dofs, true), shuffled = Reordered(natural, "shuffled mesh", RandomOrder(natural.nrows));
  HrpbInt      *rowptr, *colidx;
  HrpbReordered c;
  OnHost        h;
  Matrix        found = {"found", natural.nrows, natural.ncols, {}, {}, {}};
  double        shared;

  TestMatrix(natural);
  TestMatrix(shuffled);
  Check(OrderOf(&shuffled, &c, &rowptr, &colidx));
  h            = DownloadAll(&c);
  found.rowptr = h.rowptr;
  found.colidx = h.colidx;
  TestIsBreadthFirst(&shuffled, &h);
  if (products) TestProducts(&shuffled, &c);
  Report(StripColumns(&found) < 1.3 * StripColumns(&natural), "the order is much worse than that of the mesh", natural.name);
  Report(StripColumns(&found) < 0.8 * StripColumns(&shuffled), "the order is no better than a random one", natural.name);
  Check(HrpbSharedNeighboursDevice(shuffled.nrows, rowptr, colidx, NULL, &shared));
  Report(shared > 0.3, "neighbours share too little", shuffled.name);
  HrpbReorderDestroyDevice(&c, NULL);
  cudaFree(rowptr);
  cudaFree(colidx);
}

/* Rows that are not connected, in more parts than are searched one by one; some rows without entries */
static void TestParts(void)
{
  Matrix        A = {"parts", 3000, 3000, {0}, {}, {}};
  HrpbInt      *rowptr, *colidx;
  HrpbReordered c;

  for (int64_t i = 0; i < A.nrows; i++) {
    const int64_t first = i / 10 * 10;

    for (int64_t j = first; j < first + 10 && i % 7; j++) {
      A.colidx.push_back((HrpbInt)j);
      A.values.push_back(Uniform());
    }
    A.rowptr.push_back((HrpbInt)A.colidx.size());
  }
  TestMatrix(A);
  Check(OrderOf(&A, &c, &rowptr, &colidx));
  TestProducts(&A, &c);
  HrpbReorderDestroyDevice(&c, NULL);
  cudaFree(rowptr);
  cudaFree(colidx);
}

/*
   Two hubs that are neighbours, each with leaves of its own. Two of three leaves have nothing but the hub, so their
   rows are equal. The others are neighbours of another leaf, too
*/
static void TestHubs(int64_t leaves)
{
  Matrix               A = {"hubs", 0, 0, {}, {}, {}};
  const int64_t        n = 2 * leaves + 2;
  std::vector<int64_t> entries;
  HrpbInt             *rowptr, *colidx;
  HrpbReordered        c;
  OnHost               h;

  for (int64_t hub = 0; hub < 2; hub++) {
    for (int64_t k = 1; k <= leaves; k++) {
      const int64_t leaf = 2 * k + 1 - hub, own = hub; /* hubs are rows 0 and 1, and their leaves take turns */

      entries.push_back(own * n + leaf);
      entries.push_back(leaf * n + own);
      if (k % 3 == 0 && k > 3) {
        entries.push_back(leaf * n + leaf - 6);
        entries.push_back((leaf - 6) * n + leaf);
      }
    }
  }
  entries.push_back(1);
  entries.push_back(n);
  A = FromEntries("hubs", n, n, entries);
  TestMatrix(A);
  Check(OrderOf(&A, &c, &rowptr, &colidx));
  h = DownloadAll(&c);
  TestIsBreadthFirst(&A, &h);
  Report(c.levels <= 16, "too many levels", A.name);
  for (const HrpbInt hub : {0, 1}) { /* leaves with nothing but the hub are equal rows: side by side, ascending */
    int64_t runs = 0;

    for (int64_t k = 0, before = -1; k < n; k++) {
      const int64_t row = h.order[k];

      if (A.rowptr[row + 1] - A.rowptr[row] != 1 || A.colidx[A.rowptr[row]] != hub) {
        before = -1;
        continue;
      }
      runs += row <= before || before < 0;
      before = row;
    }
    /* a leaf with other columns may have the same hash */
    Report(runs >= 1 && runs <= 1 + leaves / 10000, "equal rows are not side by side", A.name);
  }
  HrpbReorderDestroyDevice(&c, NULL);
  cudaFree(rowptr);
  cudaFree(colidx);
}

/* The pattern may be unsymmetric and lack a diagonal. The row pointers may begin anywhere */
static void TestUnsymmetric(void)
{
  Matrix        A = {"unsymmetric", 2000, 2000, {0}, {}, {}};
  HrpbInt      *rowptr, *colidx;
  HrpbReordered c;
  double        shared;

  for (int64_t i = 0; i < A.nrows; i++) {
    for (int64_t k = 0; k < 1 + i % 5; k++) A.colidx.push_back((HrpbInt)((i * 613 + k * 377) % A.ncols));
    std::sort(A.colidx.begin() + A.rowptr.back(), A.colidx.end());
    A.rowptr.push_back((HrpbInt)A.colidx.size());
  }
  A.values.resize(A.colidx.size());
  TestMatrix(A);
  Check(OrderOf(&A, &c, &rowptr, &colidx));
  Check(HrpbSharedNeighboursDevice(A.nrows, rowptr, colidx, NULL, &shared));
  Report(shared < 0.3, "neighbours share too much", A.name);
  HrpbReorderDestroyDevice(&c, NULL);
  cudaFree(rowptr);
  cudaFree(colidx);
  for (HrpbInt &p : A.rowptr) p += 3;
  A.colidx.insert(A.colidx.begin(), 3, 0);
  A.name = "with a base";
  TestMatrix(A);
}

static void TestRefused(void)
{
  Matrix        A = {"path", 2000, 2000, {0}, {}, {}};
  HrpbInt      *rowptr, *colidx;
  HrpbReordered c;

  for (int64_t i = 0; i < A.nrows; i++) { /* a level for each row */
    for (int64_t j = std::max(i - 1, (int64_t)0); j <= std::min(i + 1, A.ncols - 1); j++) A.colidx.push_back((HrpbInt)j);
    A.rowptr.push_back((HrpbInt)A.colidx.size());
  }
  Report(OrderOf(&A, &c, &rowptr, &colidx) == HRPB_ERR_UNSUPPORTED && !c.n && !c.order, "a path is not refused", A.name);
  Report(HrpbReorderDevice(0, rowptr, colidx, 500, NULL, &c) == HRPB_ERR_UNSUPPORTED, "no rows", "refused");
  Report(HrpbReorderDevice(-1, rowptr, colidx, 500, NULL, &c) == HRPB_ERR_CSR, "a negative size", "refused");
  Report(HrpbReorderDevice((int64_t)1 << 31, rowptr, colidx, 500, NULL, &c) == HRPB_ERR_OVERFLOW, "2^31 rows", "refused");
  cudaFree(rowptr);
  cudaFree(colidx);
}

static void TestPermute(int64_t n, int64_t N)
{
  const std::vector<int64_t> order  = RandomOrder(n);
  const int64_t              ldfrom = n + 3, ldto = n + 5;
  std::vector<HrpbScalar>    from(ldfrom * N), to(ldto * N, -1), found;
  std::vector<int32_t>       index(order.begin(), order.end());
  HrpbScalar                *dfrom, *dto;
  int32_t                   *dindex;

  for (HrpbScalar &x : from) x = Uniform();
  dfrom  = Upload(from);
  dto    = Upload(to);
  dindex = Upload(index);
  Check(HrpbPermuteRowsDevice(dindex, n, N, dfrom, ldfrom, dto, ldto, NULL));
  for (int64_t j = 0; j < N; j++) {
    for (int64_t k = 0; k < n; k++) to[k + j * ldto] = from[index[k] + j * ldfrom];
  }
  found = Download(dto, ldto * N);
  Report(SameBits(found.data(), to.data(), to.size()), "rows are not permuted", "permute");
  cudaFree(dfrom);
  cudaFree(dto);
  cudaFree(dindex);
}

static void Time(int64_t side, int64_t dofs)
{
  const Matrix  A = Reordered(Grid("mesh", side, dofs, true), "shuffled mesh", RandomOrder(side * side * side * dofs));
  HrpbInt      *rowptr, *colidx;
  HrpbReordered c;
  HrpbSurvey    before, after;
  double        best = 1e30;

  Check(OrderOf(&A, &c, &rowptr, &colidx));
  for (int i = 0; i < 3; i++) {
    HrpbReorderDestroyDevice(&c, NULL);
    best = std::min(best, Milliseconds([&]() { Check(HrpbReorderDevice(A.nrows, rowptr, colidx, 500, NULL, &c)); }));
  }
  Check(HrpbSurveyDevice(A.nrows, A.ncols, rowptr, colidx, NULL, &before));
  Check(HrpbSurveyDevice(c.n, c.n, c.rowptr, c.colidx, NULL, &after));
  printf("mesh of %ld^3 nodes, %ld unknowns each, %ld entries: %.2f ms, %d levels; rows of B staged for a row of A %.1f, before %.1f\n", (long)side, (long)dofs, (long)c.nnz, best, c.levels, (double)after.staged_rows / A.nrows, (double)before.staged_rows / A.nrows);
  HrpbReorderDestroyDevice(&c, NULL);
  cudaFree(rowptr);
  cudaFree(colidx);
}

int main(int argc, char **argv)
{
  small_run = argc == 2 && !strcmp(argv[1], "-small");
  if (argc == 2 && !strcmp(argv[1], "-time")) {
    Time(64, 3);
    Time(96, 1);
    Time(40, 8);
    return 0;
  }
  if (argc > 2 || (argc == 2 && !small_run)) {
    printf("usage: %s [-small | -time]\n", argv[0]);
    return 2;
  }
  TestMesh(7, 3, true);
  if (!small_run) TestMesh(20, 3, false);
  TestMesh(small_run ? 8 : 30, 1, false);
  TestParts();
  TestHubs(100);
  TestHubs(5000);
  if (!small_run) TestHubs(1000000);
  TestUnsymmetric();
  TestRefused();
  TestPermute(1000, 1);
  TestPermute(777, 9);
  if (!small_run) TestPermute(2, 300000); /* more columns than a grid has */
  printf("reorder: %d passed, %d failed\n", npassed, nfailed);
  return nfailed ? 1 : 0;
}
