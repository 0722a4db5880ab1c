/*
   Products of sparse matrices on the device, against a computation on the host: patterns entry by entry, values in
   long double. No PETSc.

     spgemm [-small]
     spgemm -time [FILE.csv COMMIT]   times of products of the sizes of a multigrid's set-up, beside cuSPARSE
*/
#include <chrono>

#include "sparse/sparse.h"
#include "test.cuh"

/* The product of two matrices, with the sums of the terms' magnitudes */
struct Result {
  Matrix                   C;
  std::vector<long double> sum, size;
};

static Matrix Transpose(const Matrix &A)
{
  Matrix T = {"transpose", A.ncols, A.nrows, std::vector<HrpbInt>((size_t)A.ncols + 1), {}, {}};

  T.colidx.resize(A.colidx.size());
  T.values.resize(A.colidx.size());
  for (HrpbInt j : A.colidx) T.rowptr[(size_t)j + 1]++;
  for (int64_t j = 0; j < A.ncols; j++) T.rowptr[(size_t)j + 1] += T.rowptr[(size_t)j];
  std::vector<HrpbInt> next(T.rowptr);
  for (int64_t i = 0; i < A.nrows; i++) {
    for (HrpbInt k = A.rowptr[(size_t)i]; k < A.rowptr[(size_t)i + 1]; k++) {
      const HrpbInt at = next[(size_t)A.colidx[(size_t)k]]++;

      T.colidx[(size_t)at] = (HrpbInt)i;
      T.values[(size_t)at] = A.values[(size_t)k];
    }
  }
  return T;
}

/* A B, where terms of B have magnitudes bsize, or those of its values */
static Result Multiply(const Matrix &A, const Matrix &B, const long double *bsum, const long double *bsize)
{
  std::vector<long double> sum((size_t)B.ncols), size((size_t)B.ncols);
  std::vector<char>        has((size_t)B.ncols);
  Result                   R = {{"product", A.nrows, B.ncols, {0}, {}, {}}, {}, {}};

  for (int64_t i = 0; i < A.nrows; i++) {
    std::vector<HrpbInt> columns;

    for (HrpbInt k = A.rowptr[(size_t)i]; k < A.rowptr[(size_t)i + 1]; k++) {
      for (HrpbInt l = B.rowptr[(size_t)A.colidx[(size_t)k]]; l < B.rowptr[(size_t)A.colidx[(size_t)k] + 1]; l++) {
        const size_t      j = (size_t)B.colidx[(size_t)l];
        const long double a = A.values[(size_t)k], b = bsum ? bsum[l] : B.values[(size_t)l], s = bsize ? bsize[l] : fabsl(b);

        if (!has[j]) {
          columns.push_back((HrpbInt)j);
          sum[j] = size[j] = 0;
        }
        has[j] = 1;
        sum[j] += a * b;
        size[j] += fabsl(a) * s;
      }
    }
    std::sort(columns.begin(), columns.end());
    for (HrpbInt j : columns) {
      R.C.colidx.push_back(j);
      R.sum.push_back(sum[(size_t)j]);
      R.size.push_back(size[(size_t)j]);
      has[(size_t)j] = 0;
    }
    R.C.rowptr.push_back((HrpbInt)R.C.colidx.size());
  }
  return R;
}

static Result Reference(SparseOp op, const Matrix *const operand[])
{
  switch (op) {
  case SPARSE_AB:
    return Multiply(*operand[0], *operand[1], NULL, NULL);
  case SPARSE_AtB:
    return Multiply(Transpose(*operand[0]), *operand[1], NULL, NULL);
  default:
    {
      const Result inner = op == SPARSE_PtAP ? Multiply(*operand[0], *operand[1], NULL, NULL) : op == SPARSE_RARt ? Multiply(*operand[0], Transpose(*operand[1]), NULL, NULL) : Multiply(*operand[1], *operand[2], NULL, NULL);

      return Multiply(op == SPARSE_PtAP ? Transpose(*operand[1]) : op == SPARSE_RARt ? *operand[1] : *operand[0], inner.C, inner.sum.data(), inner.size.data());
    }
  }
}

static SparseMatrix ToDevice(const Matrix &A)
{
  return SparseMatrix{A.nrows, A.ncols, (int64_t)A.colidx.size(), Upload(A.rowptr), Upload(A.colidx), Upload(A.values)};
}

static void FreeDevice(const SparseMatrix &A)
{
  Check(cudaFree((void *)A.rowptr));
  Check(cudaFree((void *)A.colidx));
  Check(cudaFree((void *)A.values));
}

static bool Near(const Result &R, const std::vector<HrpbScalar> &values)
{
  const long double bound = 64 * (long double)std::numeric_limits<HrpbScalar>::epsilon();

  for (size_t k = 0; k < values.size(); k++) {
    if (!(fabsl(values[k] - R.sum[k]) <= bound * R.size[k])) return false;
  }
  return true;
}

/* Sizes of the operands' blocks, which may not be whole */
typedef int32_t Sides[3][2];
static const Sides no_blocks = {};

/* What is no operand has no rows. whole: products are made block by block */
static void Test(SparseOp op, Matrix first, Matrix second, Matrix third = Matrix(), const Sides &sides = no_blocks, bool whole = false)
{
  Matrix                   *operand[3] = {&first, &second, &third};
  const int                 n = op == SPARSE_ABC ? 3 : 2;
  static const char        *names[] = {"AB", "AtB", "PtAP", "RARt", "ABC"};
  SparseMatrix              matrix[3];
  SparsePlan                plan;
  char                      where[256];
  const int64_t             guard = 5;

  snprintf(where, sizeof(where), "%s, %s %ld x %ld and %s %ld x %ld", names[op], first.name, (long)first.nrows, (long)first.ncols, second.name, (long)second.nrows, (long)second.ncols);
  for (int i = 0; i < n; i++) {
    matrix[i]       = ToDevice(*operand[i]);
    matrix[i].brows = sides[i][0];
    matrix[i].bcols = sides[i][1];
  }
  PoisonShared();
  Check(SparsePlanCreate(op, matrix, true, NULL, &plan));
  Report((plan.blocks[0].rows > 0) == whole, whole ? "not block by block" : "block by block", where);
  const Result R = Reference(op, operand);

  Report(plan.result.nrows == R.C.nrows && plan.result.ncols == R.C.ncols && plan.result.nnz == (int64_t)R.C.colidx.size(), "sizes", where);
  if (plan.result.nnz == (int64_t)R.C.colidx.size()) {
    std::vector<HrpbScalar> values(R.C.colidx.size() + guard, (HrpbScalar)-77);
    HrpbScalar             *dvalues = Upload(values);

    Report(Download(plan.result.rowptr, R.C.nrows + 1) == R.C.rowptr, "row pointers", where);
    Report(Download(plan.result.colidx, plan.result.nnz) == R.C.colidx, "columns", where);
    PoisonShared();
    Check(SparsePlanFill(&plan, matrix, dvalues, NULL));
    values = Download(dvalues, plan.result.nnz + guard);
    Report(std::all_of(values.end() - guard, values.end(), [](HrpbScalar x) { return x == (HrpbScalar)-77; }), "wrote beyond the end", where);
    values.resize(R.C.colidx.size());
    Report(Near(R, values), "values", where);
    Check(SparsePlanFill(&plan, matrix, dvalues, NULL));
    Report(SameBits(values.data(), Download(dvalues, plan.result.nnz).data(), values.size()), "other bits the second time", where);
    for (int i = 0; i < n; i++) { /* new values */
      for (HrpbScalar &x : operand[i]->values) x = Uniform();
      if (!operand[i]->values.empty()) Check(cudaMemcpy((void *)matrix[i].values, operand[i]->values.data(), sizeof(HrpbScalar) * operand[i]->values.size(), cudaMemcpyHostToDevice));
    }
    Check(SparsePlanFill(&plan, matrix, dvalues, NULL));
    Report(Near(Reference(op, operand), Download(dvalues, plan.result.nnz)), "new values", where);
    Check(cudaFree(dvalues));
  }
  Check(SparsePlanDestroy(&plan, HRPB_SUCCESS, NULL));
  for (int i = 0; i < n; i++) FreeDevice(matrix[i]);
}

/* Each entry becomes a block of so many rows and columns */
static Matrix InBlocks(const Matrix &B, int32_t rows, int32_t cols)
{
  Matrix A = {B.name, B.nrows * rows, B.ncols * cols, {0}, {}, {}};

  for (int64_t i = 0; i < A.nrows; i++) {
    for (HrpbInt k = B.rowptr[(size_t)(i / rows)]; k < B.rowptr[(size_t)(i / rows) + 1]; k++) {
      for (int32_t j = 0; j < cols; j++) {
        A.colidx.push_back(B.colidx[(size_t)k] * cols + j);
        A.values.push_back(Uniform());
      }
    }
    A.rowptr.push_back((HrpbInt)A.colidx.size());
  }
  return A;
}

/* Products of matrices of whole blocks: b and c unknowns at nodes, matrices, a prolongator. Then one lacks an entry */
static void TestBlocks(const Matrix &A, const Matrix &P, int32_t b, int32_t c)
{
  const Matrix a = InBlocks(A, b, b), p = InBlocks(P, b, c);
  const Sides  ab = {{b, b}, {b, c}}, atb = {{b, c}, {b, b}}, abc = {{b, b}, {b, b}, {b, c}};
  const bool   some = !a.colidx.empty() && !p.colidx.empty() && b * c > 1 && b > 1;

  Test(SPARSE_AB, a, p, Matrix(), ab, some);
  Test(SPARSE_AtB, p, a, Matrix(), atb, some);
  Test(SPARSE_PtAP, a, p, Matrix(), ab, some);
  Test(SPARSE_ABC, a, a, p, abc, some);
  if (!some) return;
  Matrix broken = p;
  broken.colidx.pop_back();
  broken.values.pop_back();
  for (HrpbInt &k : broken.rowptr) k = std::min(k, (HrpbInt)broken.colidx.size());
  Test(SPARSE_PtAP, a, broken, Matrix(), ab, false);
  Test(SPARSE_AB, a, p, Matrix(), atb, b == c); /* blocks that do not meet */
}

/* A row has the columns of its aggregate and of the next */
static bool Aggregates(int64_t i, int64_t j, const Matrix *A)
{
  const int64_t aggregate = i * A->ncols / A->nrows;

  return llabs(aggregate / 3 - j / 3) <= 1;
}
static bool LastRow(int64_t i, int64_t j, const Matrix *A) { return i == A->nrows - 1 || j == i % A->ncols; }
static bool FirstColumn(int64_t i, int64_t j, const Matrix *A) { return j == 0 || j == i % A->ncols; }
static bool FarApart(int64_t i, int64_t j, const Matrix *) { return j % 4096 == 0 || j == i; }

/* The sums of blocks, and of these with their transpose. With a hole in a block there is no graph */
static void TestGraph(int64_t nblocks, int32_t size, Pattern has, const std::vector<int32_t> &at)
{
  const Matrix            B = Make("graph", nblocks, nblocks, has);
  Matrix                  A = {"blocks", nblocks * size, nblocks * size, {0}, {}, {}}, broken;
  std::vector<HrpbScalar> sums;
  SparseMatrix            matrix;
  SparseGraph             g;
  char                    where[128];

  snprintf(where, sizeof(where), "graph of %ld blocks of %d, %d of them, %ld entries", (long)nblocks, (int)size, (int)at.size(), (long)B.colidx.size());
  for (int64_t i = 0; i < A.nrows; i++) {
    for (HrpbInt k = B.rowptr[(size_t)(i / size)]; k < B.rowptr[(size_t)(i / size) + 1]; k++) {
      for (int32_t j = 0; j < size; j++) {
        A.colidx.push_back(B.colidx[(size_t)k] * size + j);
        A.values.push_back(Uniform());
      }
    }
    A.rowptr.push_back((HrpbInt)A.colidx.size());
  }
  for (int64_t b = 0; b < nblocks; b++) {
    for (HrpbInt k = B.rowptr[(size_t)b]; k < B.rowptr[(size_t)b + 1]; k++) {
      HrpbScalar sum = 0;

      for (int32_t i = 0; i < size; i++) {
        for (int32_t j = 0; j < size; j++) {
          const bool counts = at.empty() || (std::find(at.begin(), at.end(), i) != at.end() && std::find(at.begin(), at.end(), j) != at.end());

          if (counts) sum += std::fabs(A.values[(size_t)(A.rowptr[(size_t)(b * size + i)] + (k - B.rowptr[(size_t)b]) * size + j)]);
        }
      }
      sums.push_back(sum);
    }
  }
  matrix = ToDevice(A);
  Check(SparseGraphCreate(&matrix, size, (int32_t)at.size(), at.data(), NULL, &g));
  Report(g.n == nblocks && g.nnz == (int64_t)sums.size() && Download(g.rowptr, g.n + 1) == B.rowptr && Download(g.colidx, g.nnz) == B.colidx, "pattern", where);
  Report(SameBits(Download(g.values, g.nnz).data(), sums.data(), sums.size()), "values", where);
  Check(SparseGraphScale(&g, NULL));
  {
    std::vector<HrpbScalar> scale((size_t)nblocks), scaled;
    bool                    near = true;

    for (int64_t b = 0; b < nblocks; b++) {
      for (HrpbInt k = B.rowptr[(size_t)b]; k < B.rowptr[(size_t)b + 1]; k++) {
        if (B.colidx[(size_t)k] == b && sums[(size_t)k] != 0) scale[(size_t)b] = 1 / std::sqrt(sums[(size_t)k]);
      }
    }
    scaled = Download(g.values, g.nnz);
    for (int64_t b = 0; b < nblocks; b++) {
      for (HrpbInt k = B.rowptr[(size_t)b]; k < B.rowptr[(size_t)b + 1]; k++) {
        const HrpbScalar right = sums[(size_t)k] * scale[(size_t)b] * scale[(size_t)B.colidx[(size_t)k]];

        near = near && std::fabs(scaled[(size_t)k] - right) <= 8 * std::numeric_limits<HrpbScalar>::epsilon() * right;
        sums[(size_t)k] = scaled[(size_t)k];
      }
    }
    Report(near, "scaled", where);
  }
  Check(SparseGraphAddTranspose(&g, NULL));
  {
    std::vector<HrpbInt>    rowptr(1, 0), colidx;
    std::vector<HrpbScalar> values;

    for (int64_t i = 0; i < nblocks; i++) {
      std::vector<HrpbScalar> row((size_t)nblocks);
      std::vector<char>       in((size_t)nblocks);

      for (HrpbInt k = B.rowptr[(size_t)i]; k < B.rowptr[(size_t)i + 1]; k++) row[(size_t)B.colidx[(size_t)k]] = sums[(size_t)k], in[(size_t)B.colidx[(size_t)k]] = 1;
      for (int64_t j = 0; j < nblocks; j++) {
        for (HrpbInt k = B.rowptr[(size_t)j]; k < B.rowptr[(size_t)j + 1]; k++) {
          if (B.colidx[(size_t)k] == i) row[(size_t)j] += sums[(size_t)k], in[(size_t)j] = 1;
        }
      }
      for (int64_t j = 0; j < nblocks; j++) {
        if (!in[(size_t)j]) continue;
        colidx.push_back((HrpbInt)j);
        values.push_back(row[(size_t)j]);
      }
      rowptr.push_back((HrpbInt)colidx.size());
    }
    Report(g.nnz == (int64_t)values.size() && Download(g.rowptr, g.n + 1) == rowptr && Download(g.colidx, g.nnz) == colidx, "pattern with its transpose", where);
    Report(g.nnz == (int64_t)values.size() && SameBits(Download(g.values, g.nnz).data(), values.data(), values.size()), "values with its transpose", where);
  }
  Check(SparseGraphDestroy(&g, HRPB_SUCCESS, NULL));
  FreeDevice(matrix);
  if (size == 1 || A.colidx.empty()) return;
  broken = A; /* an entry less in the last row that has some */
  broken.colidx.pop_back();
  broken.values.pop_back();
  for (HrpbInt &k : broken.rowptr) k = std::min(k, (HrpbInt)broken.colidx.size());
  matrix = ToDevice(broken);
  Report(SparseGraphCreate(&matrix, size, 0, NULL, NULL, &g) == HRPB_ERR_UNSUPPORTED && !g.rowptr, "a hole in a block", where);
  FreeDevice(matrix);
}

/*
   The independent set of a walk in random order, and as numbered, against the walk. The first nodes are alone: of three
   one has a diagonal, one nothing, and one another node, which may take it, whether it comes before or after
*/
static void TestIndependent(int64_t n, int64_t reach, int64_t alone)
{
  Matrix               G = {"graph", n, n, {0}, {}, {}};
  std::vector<char>    has((size_t)(n * n));
  std::vector<int32_t> order((size_t)n), owner((size_t)n);
  SparseMatrix         g;
  char                 where[96];

  snprintf(where, sizeof(where), "independent set of %ld nodes, %ld apart, %ld alone", (long)n, (long)reach, (long)alone);
  for (int64_t i = 0; i < n; i++) {
    if (i < alone && i % 3) {
      const int64_t j = alone + i % std::max(n - alone, (int64_t)1);

      if (i % 3 == 2 && j < n) has[(size_t)(i * n + j)] = has[(size_t)(j * n + i)] = 1;
      continue;
    }
    has[(size_t)(i * n + i)] = 1;
    for (int64_t j = i + 1; j < n && j <= i + reach && i >= alone; j++) {
      if (Random() % 2) has[(size_t)(i * n + j)] = has[(size_t)(j * n + i)] = 1;
    }
  }
  for (int64_t i = 0; i < n; i++) {
    for (int64_t j = 0; j < n; j++) {
      if (!has[(size_t)(i * n + j)]) continue;
      G.colidx.push_back((HrpbInt)j);
      G.values.push_back(1);
    }
    G.rowptr.push_back((HrpbInt)G.colidx.size());
  }
  for (int64_t i = 0; i < n; i++) order[(size_t)i] = (int32_t)i;
  g = ToDevice(G);
  Check(SparseIsSymmetric(&g, NULL));
  for (int shuffled = 0; shuffled < 2; shuffled++) {
    std::vector<int32_t> right((size_t)n, -1);

    for (int64_t i = n - 1; i > 0 && shuffled; i--) std::swap(order[(size_t)i], order[(size_t)(Random() % (uint64_t)(i + 1))]);
    for (int32_t i : order) { /* as PETSc walks: a node that is alone stays for others to take */
      if (right[(size_t)i] != -1 || G.rowptr[(size_t)i + 1] - G.rowptr[(size_t)i] < 2) continue;
      right[(size_t)i] = i;
      for (HrpbInt k = G.rowptr[(size_t)i]; k < G.rowptr[(size_t)i + 1]; k++) {
        if (right[(size_t)G.colidx[(size_t)k]] == -1) right[(size_t)G.colidx[(size_t)k]] = i;
      }
    }
    const HrpbError err = SparseIndependent(&g, shuffled ? order.data() : NULL, NULL, owner.data());

    Report(err == HRPB_SUCCESS ? owner == right : err == HRPB_ERR_UNSUPPORTED && !shuffled, shuffled ? "in random order" : "as numbered", where);
  }
  FreeDevice(g);
  if (n < 2 || alone >= n) return;
  for (int64_t i = 0; i < n; i++) { /* an entry without its opposite */
    if (G.rowptr[(size_t)i + 1] - G.rowptr[(size_t)i] < 2) continue;
    G.colidx.erase(G.colidx.begin() + G.rowptr[(size_t)i] + (G.colidx[(size_t)G.rowptr[(size_t)i]] == i));
    G.values.pop_back();
    for (int64_t j = i + 1; j <= n; j++) G.rowptr[(size_t)j]--;
    g = ToDevice(G);
    Report(SparseIsSymmetric(&g, NULL) == HRPB_ERR_UNSUPPORTED, "an entry without its opposite", where);
    FreeDevice(g);
    return;
  }
}

/*
   What a process has of a matrix: rows from `first` up to `end`. Its columns come first then, and all others are
   ghosts
*/
static Matrix PartOf(const Matrix &G, int64_t first, int64_t end, std::vector<HrpbInt> &ghosts)
{
  Matrix part = {"part", end - first, G.ncols, {0}, {}, {}};

  ghosts.clear();
  for (int64_t j = 0; j < G.ncols; j++) {
    if (j < first || j >= end) ghosts.push_back((HrpbInt)j);
  }
  for (int64_t i = first; i < end; i++) {
    for (int others = 0; others < 2; others++) {
      for (HrpbInt k = G.rowptr[(size_t)i]; k < G.rowptr[(size_t)i + 1]; k++) {
        const int64_t j = G.colidx[(size_t)k];

        if ((j < first || j >= end) != others) continue;
        part.colidx.push_back((HrpbInt)(!others ? j - first : end - first + (j < first ? j : j - (end - first))));
        part.values.push_back(1);
      }
    }
    part.rowptr.push_back((HrpbInt)part.colidx.size());
  }
  return part;
}

/*
   Sums over entries of ghosts agree if each has one opposite, and otherwise not. Rows that are taken are those of
   the matrix
*/
static void TestGhosts(int64_t n)
{
  Matrix G = {"graph", n, n, {0}, {}, {}};
  char   where[64];

  snprintf(where, sizeof(where), "ghosts of %ld nodes", (long)n);
  for (int lacking = 0; lacking < 2; lacking++) {
    uint64_t sum[2] = {0, 0};

    G.rowptr = {0};
    G.colidx.clear();
    G.values.clear();
    for (int64_t i = 0; i < n; i++) {
      for (int64_t j = 0; j < n; j++) {
        if ((i + 1) * (j + 1) % 3 || (lacking && i == n - 1 && j == 0)) continue;
        G.colidx.push_back((HrpbInt)j);
        G.values.push_back(1);
      }
      G.rowptr.push_back((HrpbInt)G.colidx.size());
    }
    for (int p = 0; p < 3; p++) {
      const int64_t        first = n * p / 3, end = n * (p + 1) / 3;
      std::vector<HrpbInt> ghosts, rows, to = {0}, taken, right;
      const Matrix         part = PartOf(G, first, end, ghosts);
      SparseMatrix         g    = ToDevice(part);
      uint64_t             of_part[2];

      Report(SparseIsSymmetric(&g, NULL) == HRPB_SUCCESS, "columns that are rows are symmetric", where);
      Check(SparseGhostSums(&g, first, ghosts.data(), NULL, of_part));
      for (int k = 0; k < 2; k++) sum[k] += of_part[k];
      for (int64_t i = end - first - 1; i >= 0; i -= 2) {
        rows.push_back((HrpbInt)i);
        for (HrpbInt k = part.rowptr[(size_t)i]; k < part.rowptr[(size_t)i + 1]; k++) right.push_back(part.colidx[(size_t)k]);
        to.push_back((HrpbInt)right.size());
      }
      taken.resize(right.size());
      Check(SparseTakeRows(&g, (int64_t)rows.size(), rows.data(), to.data(), NULL, taken.data()));
      Report(taken == right, "rows that are taken", where);
      FreeDevice(g);
    }
    Report((sum[0] == sum[1]) == !lacking, lacking ? "an entry of a ghost without its opposite" : "entries of ghosts", where);
  }
}

/* Y + 3 X with an X that has some of Y's entries, and with one that has others */
static void TestAdd(Pattern has)
{
  const Matrix            Y = Make("Y", small_run ? 50 : 500, 70, has);
  Matrix                  X = {"X", Y.nrows, Y.ncols, {0}, {}, {}};
  std::vector<HrpbScalar> right(Y.values);
  SparseMatrix            y = ToDevice(Y), x;

  for (int64_t i = 0; i < Y.nrows; i++) {
    for (HrpbInt k = Y.rowptr[(size_t)i]; k < Y.rowptr[(size_t)i + 1]; k++) {
      if (Random() % 3 == 0) continue;
      X.colidx.push_back(Y.colidx[(size_t)k]);
      X.values.push_back(Uniform());
      right[(size_t)k] += 3 * X.values.back();
    }
    X.rowptr.push_back((HrpbInt)X.colidx.size());
  }
  x = ToDevice(X);
  Check(SparseIsSubset(&x, y.rowptr, y.colidx, NULL));
  Check(SparseAddSubset(&x, 3, y.rowptr, y.colidx, (HrpbScalar *)y.values, NULL));
  {
    const std::vector<HrpbScalar> sum  = Download(y.values, y.nnz);
    bool                          near = true;

    for (size_t k = 0; k < sum.size(); k++) near = near && std::fabs(sum[k] - right[k]) <= 8 * std::numeric_limits<HrpbScalar>::epsilon();
    Report(near, "values", "a sum with some of the entries");
    FreeDevice(x);
    x = ToDevice(Make("dense", Y.nrows, Y.ncols, Dense));
    Report(SparseIsSubset(&x, y.rowptr, y.colidx, NULL) == (has == Dense ? HRPB_SUCCESS : HRPB_ERR_UNSUPPORTED), "an entry that is lacking",
      "a sum");
    if (has != Dense) Report(SameBits(sum.data(), Download(y.values, y.nnz).data(), sum.size()), "changed", "a sum that was refused");
  }
  FreeDevice(x);
  FreeDevice(y);
}

/* Two matrices side by side become one, with the columns of the second in other places, and two again */
static void TestParts(int64_t nrows, Pattern left, Pattern right)
{
  const Matrix D = Make("D", nrows, 50, left), O = Make("O", nrows, 30, right);
  const size_t n = (size_t)nrows + 1, nnz = D.colidx.size() + O.colidx.size(), others = 2 * (size_t)O.ncols;

  std::vector<HrpbInt>    map, place(others), rowptr(1), colidx, back(O.colidx);
  std::vector<HrpbScalar> values;
  std::vector<uint8_t>    used(others);
  SparseMatrix            d = ToDevice(D), o = ToDevice(O);
  HrpbInt                *joined = Upload(std::vector<HrpbInt>(n)), *columns = Upload(std::vector<HrpbInt>(nnz + 1)), *to;
  HrpbInt                *rows[2], *cols[2];
  HrpbScalar             *all = Upload(std::vector<HrpbScalar>(nnz + 1)), *parts[2];
  uint8_t                *flags = Upload(used);

  for (int b = 0; b < 2; b++) {
    rows[b]  = Upload(std::vector<HrpbInt>(n));
    cols[b]  = Upload(std::vector<HrpbInt>(nnz + 1));
    parts[b] = Upload(std::vector<HrpbScalar>(nnz + 1));
  }
  for (int64_t j = 0; j < O.ncols; j++) map.push_back((HrpbInt)(2 * j + 1));
  for (int64_t i = 0; i < nrows; i++) {
    for (HrpbInt k = D.rowptr[(size_t)i]; k < D.rowptr[(size_t)i + 1]; k++) {
      colidx.push_back(D.colidx[(size_t)k]);
      values.push_back(D.values[(size_t)k]);
    }
    for (HrpbInt k = O.rowptr[(size_t)i]; k < O.rowptr[(size_t)i + 1]; k++) {
      colidx.push_back((HrpbInt)D.ncols + map[(size_t)O.colidx[(size_t)k]]);
      values.push_back(O.values[(size_t)k]);
      used[(size_t)map[(size_t)O.colidx[(size_t)k]]] = 1;
    }
    rowptr.push_back((HrpbInt)colidx.size());
  }
  to = Upload(map);
  Check(SparseJoin(&d, &o, to, joined, columns, NULL));
  Check(SparseJoinValues(&d, &o, all, NULL));
  Report(Download(joined, n) == rowptr && Download(columns, nnz) == colidx && Download(all, nnz) == values, "joined", "parts");
  Check(cudaFree(to));
  {
    const SparseMatrix C = {nrows, D.ncols + (int64_t)others, (int64_t)nnz, joined, columns, all};
    HrpbInt            next = 0;

    Check(SparseSplitRows(&C, D.ncols, rows[0], rows[1], flags, NULL));
    Report(Download(flags, others) == used, "columns that there are", "parts");
    for (size_t j = 0; j < others; j++) {
      place[j] = next;
      next += used[j];
    }
    for (HrpbInt &j : back) j = place[(size_t)map[(size_t)j]];
    to = Upload(place);
    Check(SparseSplitColumns(&C, D.ncols, rows[0], rows[1], to, cols[0], cols[1], NULL));
    Check(SparseSplitValues(&C, rows[0], rows[1], parts[0], parts[1], NULL));
    Report(Download(rows[0], n) == D.rowptr && Download(cols[0], D.colidx.size()) == D.colidx, "the first", "parts");
    Report(Download(rows[1], n) == O.rowptr && Download(cols[1], back.size()) == back, "the second", "parts");
    Report(Download(parts[0], D.values.size()) == D.values && Download(parts[1], O.values.size()) == O.values, "values", "parts");
    Check(SparseRenumber((int64_t)nnz, columns, D.ncols, to, columns, NULL));
    for (HrpbInt &j : colidx) j = j < D.ncols ? j : (HrpbInt)D.ncols + place[(size_t)(j - D.ncols)];
    Report(Download(columns, nnz) == colidx, "numbers", "parts");
  }
  for (void *p : std::vector<void *>{joined, columns, to, rows[0], rows[1], cols[0], cols[1], all, parts[0], parts[1], flags})
    Check(cudaFree(p));
  FreeDevice(d);
  FreeDevice(o);
}

/*
   Q and R of m rows of n columns, as LAPACK has them, in long double. a is Q then, with min(m, n) columns that are not
   zero
*/
static void Factor(int64_t m, int64_t n, std::vector<long double> &a, std::vector<long double> &r)
{
  const int64_t            least = std::min(m, n);
  std::vector<long double> q((size_t)(m * n)), tau((size_t)n);
  const auto               at = [&](std::vector<long double> &x, int64_t i, int64_t j) -> long double & { return x[(size_t)(i * n + j)]; };
  const auto               reflect = [&](std::vector<long double> &x, int64_t k, int64_t j) {
    long double sum = at(x, k, j);

    for (int64_t i = k + 1; i < m; i++) sum += at(a, i, k) * at(x, i, j);
    at(x, k, j) -= tau[(size_t)k] * sum;
    for (int64_t i = k + 1; i < m; i++) at(x, i, j) -= tau[(size_t)k] * sum * at(a, i, k);
  };

  for (int64_t k = 0; k < least; k++) {
    const long double top = at(a, k, k);
    long double       sum = 0;

    for (int64_t i = k + 1; i < m; i++) sum += at(a, i, k) * at(a, i, k);
    if (sum == 0) continue;
    at(a, k, k)    = -copysignl(sqrtl(top * top + sum), top);
    tau[(size_t)k] = (at(a, k, k) - top) / at(a, k, k);
    for (int64_t i = k + 1; i < m; i++) at(a, i, k) /= top - at(a, k, k);
    for (int64_t j = k + 1; j < n; j++) reflect(a, k, j);
  }
  r.assign((size_t)(n * n), 0);
  for (int64_t i = 0; i < least; i++) {
    for (int64_t j = i; j < n; j++) at(r, i, j) = at(a, i, j);
    at(q, i, i) = 1;
  }
  for (int64_t k = least - 1; k >= 0; k--) {
    for (int64_t j = 0; j < least; j++) reflect(q, k, j);
  }
  a = q;
}

/*
   The prolongator of aggregates of up to 9 nodes and of one with all others, and nodes that are in none. All rows of an
   aggregate but the first of them are times size
*/
static void TestProlong(int64_t nnodes, int32_t bs, int32_t ncols, HrpbScalar size, HrpbScalar first)
{
  std::vector<int32_t>     begin(1), member, before(1), aggregate((size_t)nnodes, -1);
  std::vector<HrpbInt>     rowptr(1), colidx;
  std::vector<HrpbScalar>  vectors((size_t)(nnodes * bs * ncols));
  std::vector<long double> a, r, all;
  char                     where[128];
  SparseGraph              p;
  bool                     right = true, coarser = true;

  snprintf(where, sizeof(where), "prolongator of %ld nodes of %d rows, %d columns, rows times %g, first %g", (long)nnodes, (int)bs, (int)ncols, (double)size, (double)first);
  for (int64_t node = 0; node < nnodes;) {
    const int64_t end = nnodes > 40 && node >= nnodes / 2 ? nnodes : std::min(nnodes, node + 1 + (int64_t)(Random() % 9));

    for (; node < end; node++) {
      if (node + 1 < end && Random() % 5 == 0) continue;
      member.push_back((int32_t)node);
      aggregate[(size_t)node] = (int32_t)begin.size() - 1;
    }
    begin.push_back((int32_t)member.size());
  }
  for (int64_t node = 0; node < nnodes; node++) before.push_back(before.back() + (aggregate[(size_t)node] >= 0));
  for (int64_t row = 0; row < nnodes * bs; row++) {
    const int32_t c    = aggregate[(size_t)(row / bs)];
    const bool    is_first = c >= 0 && row == (int64_t)member[(size_t)begin[(size_t)c]] * bs;

    for (int32_t j = 0; j < ncols; j++) {
      vectors[(size_t)(j * nnodes * bs + row)] = Uniform() * (is_first ? first : size);
      if (c >= 0) colidx.push_back((HrpbInt)(c * ncols + j));
    }
    rowptr.push_back((HrpbInt)colidx.size());
  }

  const SparseAggregates  g = {nnodes, (int64_t)begin.size() - 1, bs, ncols, begin.data(), member.data(), before.data()};
  std::vector<HrpbScalar> coarse((size_t)(g.naggregates * ncols * ncols));

  Check(SparseProlong(&g, aggregate.data(), vectors.data(), NULL, &p, coarse.data()));
  Report(Download(p.rowptr, (size_t)(nnodes * bs + 1)) == rowptr && Download(p.colidx, (size_t)p.nnz) == colidx, "pattern", where);
  const std::vector<HrpbScalar> values = Download(p.values, (size_t)p.nnz);

  for (int64_t c = 0; c < g.naggregates; c++) {
    const int64_t m = (int64_t)(begin[(size_t)c + 1] - begin[(size_t)c]) * bs;
    const auto    row_of = [&](int64_t i) { return (int64_t)member[(size_t)(begin[(size_t)c] + i / bs)] * bs + i % bs; };

    a.clear();
    for (int64_t i = 0; i < m; i++) {
      for (int32_t j = 0; j < ncols; j++) a.push_back(vectors[(size_t)(j * nnodes * bs + row_of(i))]);
    }
    Factor(m, ncols, a, r);

    /* roundings grow as columns depend on each other, which R's diagonal shows */
    long double bound = 1e3L * std::numeric_limits<HrpbScalar>::epsilon();

    for (int32_t k = 0; k < std::min<int64_t>(m, ncols); k++) {
      const long double norm = sqrtl((long double)m) * (k ? size : std::max(size, first));

      bound = std::max(bound, 1e3L * std::numeric_limits<HrpbScalar>::epsilon() * norm / fabsl(r[(size_t)(k * ncols + k)]));
    }
    for (int64_t i = 0; i < m; i++) {
      for (int32_t j = 0; j < ncols; j++) right = right && fabsl(values[(size_t)(rowptr[(size_t)row_of(i)] + j)] - a[(size_t)(i * ncols + j)]) <= bound;
    }
    for (int32_t i = 0; i < ncols; i++) {
      for (int32_t j = 0; j < ncols; j++) {
        const long double off = fabsl(coarse[(size_t)(j * g.naggregates * ncols + c * ncols + i)] - r[(size_t)(i * ncols + j)]);

        coarser = coarser && off <= bound * sqrtl((long double)m) * (i ? size : std::max(size, first));
      }
    }
  }
  Report(right, "columns", where);
  Report(coarser, "vectors of the level beneath", where);
  Check(SparseGraphDestroy(&p, HRPB_SUCCESS, NULL));
}

/* Rows in pairs with the same columns, which are no pairs: no graph of blocks */
static void TestMisaligned(void)
{
  SparseMatrix matrix = ToDevice(Make("pairs", 40, 40, [](int64_t i, int64_t j, const Matrix *) { return (j + 1) / 2 == i / 2 + 3; }));
  SparseGraph  g;

  Report(SparseGraphCreate(&matrix, 2, 0, NULL, NULL, &g) == HRPB_ERR_UNSUPPORTED, "columns that are no blocks", "graph");
  FreeDevice(matrix);
}

static void TestGraphs(void)
{
  for (Pattern has : {Band, Sparse, Dense}) TestAdd(has);
  for (int64_t n : {1, 2, 40, small_run ? 100 : 1500}) {
    for (int64_t reach : {1, 5, 50}) TestIndependent(n, reach, n / 3);
  }
  TestIndependent(small_run ? 60 : 700, 700, 0);
  for (int64_t n : {6, 90}) TestGhosts(n);
  TestMisaligned();
  for (int64_t n : {1, 7, small_run ? 60 : 900}) {
    const HrpbScalar tiny = sizeof(HrpbScalar) == 8 ? 1e-170 : 1e-25, huge = sizeof(HrpbScalar) == 8 ? 1e200 : 1e30;

    for (int32_t bs : {1, 3}) {
      for (int32_t ncols : {1, 3, 6}) {
        for (HrpbScalar size : {(HrpbScalar)1, tiny, huge}) {
          TestProlong(n, bs, ncols, size, size);
          TestProlong(n, bs, ncols, size, 1);
        }
      }
    }
  }
  for (Pattern left : {Band, Nothing, Dense}) {
    for (Pattern right : {Sparse, Nothing, Dense}) TestParts(small_run ? 40 : 400, left, right);
  }

  for (int32_t size : {1, 2, 3, 6}) {
    for (Pattern has : {Band, Sparse, FirstColumn, Nothing}) {
      TestGraph(small_run ? 40 : 300, size, has, {});
      if (size > 1) TestGraph(33, size, has, {0, size - 1});
    }
    TestGraph(1, size, Dense, {});
  }
}

static void TestAll(void)
{
  const int64_t n = small_run ? 126 : 1260;

  for (Pattern a : {Stencil, Band, Sparse, Dense, DenseRows, Nothing, Gaps, OneColumn}) {
    if (a == Dense && !small_run) continue;
    const Matrix A = Make("A", n, n, a), P = Make("P", n, n / 6, Aggregates);

    Test(SPARSE_PtAP, A, P);
    Test(SPARSE_AB, A, A);
    Test(SPARSE_AtB, A, A);
    Test(SPARSE_RARt, A, Transpose(P));
    Test(SPARSE_ABC, Transpose(P), A, P);
  }
  for (int64_t rows : {0, 1, 33, 70}) {
    for (int64_t middle : {0, 1, 40}) {
      for (int64_t columns : {0, 1, 65}) {
        Test(SPARSE_AB, Make("sparse", rows, middle, Dense), Make("sparse", middle, columns, DenseRows));
        Test(SPARSE_AtB, Make("rows", middle, rows, DenseRows), Make("sparse", middle, columns, Sparse));
      }
    }
  }
  /* rows of all bins, and longer ones */
  for (int64_t columns : {50, 150, 300, 700, 2500, 7000, 20000, 40000}) {
    if (small_run && columns > 20000) continue;
    Test(SPARSE_AB, Make("last row", 9, 5, LastRow), Make("dense row", 5, columns, LastRow));
  }
  Test(SPARSE_AB, Make("band", 40, 3, FirstColumn), Make("far apart", 3, small_run ? 40000 : 3000000, FarApart));
  Test(SPARSE_AtB, Make("first column", 300, 40, FirstColumn), Make("first column", 300, 200, FirstColumn));
}

static void TestAllBlocks(void)
{
  const int64_t n          = small_run ? 42 : 420;
  const int32_t sizes[][2] = {{2, 2}, {2, 3}, {3, 3}, {3, 6}, {6, 6}, {5, 4}, {8, 8}, {3, 1}, {1, 3}};

  for (Pattern a : {Stencil, Band, Sparse, DenseRows, Nothing, Gaps, OneColumn}) {
    for (const int32_t *size : sizes) {
      TestBlocks(Make("A", n, n, a), Make("P", n, n / 6, Aggregates), size[0], size[1]);
    }
  }
  /* so many rows that warps have them */
  for (int k : {0, 2}) TestBlocks(Make("A", 2100, 2100, Band), Make("P", 2100, 350, Aggregates), sizes[k][0], sizes[k][1]);
  /* rows of all bins, and longer ones */
  for (int64_t columns : {50, 150, 300, 700, 2500, 7000, 20000}) {
    for (int32_t b : {2, 3}) {
      const Sides sides = {{b, b}, {b, b}};

      if (small_run && columns > 7000 && b > 2) continue;
      Test(SPARSE_AB, InBlocks(Make("last row", 9, 5, LastRow), b, b), InBlocks(Make("dense row", 5, columns, LastRow), b, b), Matrix(), sides, true);
    }
  }
  {
    const Sides too_large = {{9, 9}, {9, 9}};

    Test(SPARSE_AB, InBlocks(Make("A", 6, 6, Band), 9, 9), InBlocks(Make("A", 6, 6, Band), 9, 9), Matrix(), too_large, false);
  }
}

/*
   What a multigrid's set-up multiplies: A of a grid of nodes with 27 neighbours and some unknowns, and a smoothed
   prolongator, from cubes of 3^3 nodes to 6 unknowns, or to one for one unknown
*/
static Matrix GridMatrix(int64_t n, int64_t unknowns)
{
  Matrix A = {"grid", n * n * n * unknowns, n * n * n * unknowns, {0}, {}, {}};

  for (int64_t node = 0; node < n * n * n; node++) {
    for (int64_t u = 0; u < unknowns; u++) {
      for (int64_t d = 0; d < 27; d++) {
        const int64_t x = node % n + d % 3 - 1, y = node / n % n + d / 3 % 3 - 1, z = node / n / n + d / 9 - 1;

        if (x < 0 || x >= n || y < 0 || y >= n || z < 0 || z >= n) continue;
        for (int64_t v = 0; v < unknowns; v++) A.colidx.push_back((HrpbInt)(((z * n + y) * n + x) * unknowns + v));
      }
      A.rowptr.push_back((HrpbInt)A.colidx.size());
    }
  }
  A.values.assign(A.colidx.size(), (HrpbScalar)0.5);
  return A;
}

static Matrix GridProlongator(int64_t n, int64_t unknowns)
{
  const int64_t c = (n + 2) / 3, coarse = unknowns == 1 ? 1 : 6;
  Matrix        P = {"prolongator", n * n * n * unknowns, c * c * c * coarse, {0}, {}, {}};

  for (int64_t node = 0; node < n * n * n; node++) {
    const int64_t x = node % n, y = node / n % n, z = node / n / n;

    for (int64_t u = 0; u < unknowns; u++) {
      for (int64_t k = std::max<int64_t>(z - 1, 0) / 3; k <= std::min(z + 1, n - 1) / 3; k++) {
        for (int64_t j = std::max<int64_t>(y - 1, 0) / 3; j <= std::min(y + 1, n - 1) / 3; j++) {
          for (int64_t i = std::max<int64_t>(x - 1, 0) / 3; i <= std::min(x + 1, n - 1) / 3; i++) {
            for (int64_t v = 0; v < coarse; v++) P.colidx.push_back((HrpbInt)(((k * c + j) * c + i) * coarse + v));
          }
        }
      }
      P.rowptr.push_back((HrpbInt)P.colidx.size());
    }
  }
  P.values.assign(P.colidx.size(), (HrpbScalar)0.25);
  return P;
}

template <typename F> static double Milliseconds(F f)
{
  Check(cudaDeviceSynchronize());
  const auto begin = std::chrono::steady_clock::now();

  f();
  Check(cudaDeviceSynchronize());
  return 1e3 * std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
}

#ifndef EMULATED_ARCH
/* cuSPARSE's A B, from its descriptors to the values. Negative where it refuses */
static double CusparseMilliseconds(const SparseMatrix &A, const SparseMatrix &B)
{
  const cusparseIndexType_t index = sizeof(HrpbInt) == 8 ? CUSPARSE_INDEX_64I : CUSPARSE_INDEX_32I;
  const cusparseOperation_t op    = CUSPARSE_OPERATION_NON_TRANSPOSE;
  const HrpbScalar          one = 1, zero = 0;
  cusparseHandle_t          handle;
  cusparseSpMatDescr_t      a, b, c;
  cusparseSpGEMMDescr_t     s;
  HrpbInt                  *rowptr, *colidx = NULL;
  HrpbScalar               *values = NULL;
  void                     *buffer1 = NULL, *buffer2 = NULL;
  bool                      done = false;

  Check(cusparseCreate(&handle));
  const double ms = Milliseconds([&] {
    size_t  bytes;
    int64_t nrows, ncols, nnz;

    Check(cudaMalloc(&rowptr, sizeof(HrpbInt) * (size_t)(A.nrows + 1)));
    Check(cusparseCreateCsr(&a, A.nrows, A.ncols, A.nnz, (void *)A.rowptr, (void *)A.colidx, (void *)A.values, index, index, CUSPARSE_INDEX_BASE_ZERO, scalar_type));
    Check(cusparseCreateCsr(&b, B.nrows, B.ncols, B.nnz, (void *)B.rowptr, (void *)B.colidx, (void *)B.values, index, index, CUSPARSE_INDEX_BASE_ZERO, scalar_type));
    Check(cusparseCreateCsr(&c, A.nrows, B.ncols, 0, rowptr, NULL, NULL, index, index, CUSPARSE_INDEX_BASE_ZERO, scalar_type));
    Check(cusparseSpGEMM_createDescr(&s));
    if (cusparseSpGEMM_workEstimation(handle, op, op, &one, a, b, &zero, c, scalar_type, CUSPARSE_SPGEMM_DEFAULT, s, &bytes, NULL) || cudaMalloc(&buffer1, bytes)) return;
    if (cusparseSpGEMM_workEstimation(handle, op, op, &one, a, b, &zero, c, scalar_type, CUSPARSE_SPGEMM_DEFAULT, s, &bytes, buffer1)) return;
    if (cusparseSpGEMM_compute(handle, op, op, &one, a, b, &zero, c, scalar_type, CUSPARSE_SPGEMM_DEFAULT, s, &bytes, NULL) || cudaMalloc(&buffer2, bytes)) return;
    if (cusparseSpGEMM_compute(handle, op, op, &one, a, b, &zero, c, scalar_type, CUSPARSE_SPGEMM_DEFAULT, s, &bytes, buffer2)) return;
    Check(cusparseSpMatGetSize(c, &nrows, &ncols, &nnz));
    Check(cudaMalloc(&colidx, sizeof(HrpbInt) * (size_t)nnz));
    Check(cudaMalloc(&values, sizeof(HrpbScalar) * (size_t)nnz));
    Check(cusparseCsrSetPointers(c, rowptr, colidx, values));
    Check(cusparseSpGEMM_copy(handle, op, op, &one, a, b, &zero, c, scalar_type, CUSPARSE_SPGEMM_DEFAULT, s));
    done = true;
  });

  (void)cudaGetLastError();
  Check(cusparseSpGEMM_destroyDescr(s));
  for (cusparseSpMatDescr_t m : {a, b, c}) Check(cusparseDestroySpMat(m));
  for (void *p : {(void *)rowptr, (void *)colidx, (void *)values, buffer1, buffer2}) Check(cudaFree(p));
  Check(cusparseDestroy(handle));
  return done ? ms : -1;
}
#else
static double CusparseMilliseconds(const SparseMatrix &, const SparseMatrix &) { return -1; }
#endif

static FILE       *table; /* of times, or NULL */
static const char *commit = "unknown";

static void TimeProduct(const char *name, int64_t nodes, int64_t unknowns, const SparseMatrix &A, const SparseMatrix &B)
{
  SparseProduct p;
  HrpbScalar   *values;
  double        create = 1e30, fill = 1e30, cusparse;

  for (int k = 0; k < 3; k++) {
    create = std::min(create, Milliseconds([&] { Check(SparseProductCreate(&A, &B, NULL, &p)); }));
    if (k < 2) Check(SparseProductDestroy(&p, HRPB_SUCCESS, NULL));
  }
  Check(cudaMalloc(&values, sizeof(HrpbScalar) * (size_t)p.nnz));
  for (int k = 0; k < 3; k++) fill = std::min(fill, Milliseconds([&] { Check(SparseProductFill(&p, &A, &B, values, NULL)); }));
  Check(cudaFree(values));
  cusparse = CusparseMilliseconds(A, B);
  printf("  %-14s %9ld rows %10ld entries %12ld multiplications: pattern %8.2f ms, values %8.2f; cuSPARSE %8.2f; bins", name, (long)p.nrows, (long)p.nnz, (long)p.multiplications, create, fill, cusparse);
  for (int i = 0; i < SPARSE_BINS; i++) printf(" %ld", (long)(p.begin[i + 1] - p.begin[i]));
  printf("\n");
  fflush(stdout);
  if (table) {
    cudaDeviceProp properties;
    int            version;

    Check(cudaGetDeviceProperties(&properties, 0));
    Check(cudaRuntimeGetVersion(&version));
    fprintf(table, "%ld^3 nodes,%ld,%s,%ld,%ld,%ld,%.3f,%.3f,%.3f,%s,%s,%d.%d,\"%s\"\n", (long)nodes, (long)unknowns, name, (long)p.nrows, (long)p.nnz, (long)p.multiplications, create, fill, cusparse, sizeof(HrpbScalar) == 8 ? "double" : "single", commit, version / 1000, version % 1000 / 10, properties.name);
  }
  Check(SparseProductDestroy(&p, HRPB_SUCCESS, NULL));
}

static void TimeGrid(int64_t n, int64_t unknowns)
{
  SparseMatrix    A = ToDevice(GridMatrix(n, unknowns)), P = ToDevice(GridProlongator(n, unknowns)), R, AP;
  SparseTranspose t;
  SparseProduct   p;
  SparsePlan      plan;
  SparseMatrix    operands[2] = {A, P};
  HrpbScalar     *values, *rvalues, *cvalues;
  double          ms;

  printf("%ld^3 nodes with %ld unknowns: A %ld entries, P %ld\n", (long)n, (long)unknowns, (long)A.nnz, (long)P.nnz);
  ms = Milliseconds([&] { Check(SparseTransposeCreate(&P, NULL, &t)); });
  printf("  transpose of P: %.2f ms\n", ms);
  Check(cudaMalloc(&rvalues, sizeof(HrpbScalar) * (size_t)t.nnz));
  Check(cudaMemset(rvalues, 0, sizeof(HrpbScalar) * (size_t)t.nnz));
  R = SparseMatrix{t.nrows, t.ncols, t.nnz, t.rowptr, t.colidx, rvalues};
  TimeProduct("A P", n, unknowns, A, P);
  Check(SparseProductCreate(&A, &P, NULL, &p));
  Check(cudaMalloc(&values, sizeof(HrpbScalar) * (size_t)p.nnz));
  Check(SparseProductFill(&p, &A, &P, values, NULL));
  AP = SparseMatrix{p.nrows, p.ncols, p.nnz, p.rowptr, p.colidx, values};
  TimeProduct("P^T (A P)", n, unknowns, R, AP);
  if (unknowns == 1) TimeProduct("A A", n, unknowns, A, A);
  Check(SparseProductDestroy(&p, HRPB_SUCCESS, NULL));
  Check(cudaFree(values));
  ms = Milliseconds([&] { Check(SparsePlanCreate(SPARSE_PtAP, operands, true, NULL, &plan)); });
  Check(cudaMalloc(&cvalues, sizeof(HrpbScalar) * (size_t)plan.result.nnz));
  const double first = Milliseconds([&] { Check(SparsePlanFill(&plan, operands, cvalues, NULL)); }), again = Milliseconds([&] { Check(SparsePlanFill(&plan, operands, cvalues, NULL)); });

  printf("  P^T A P: plan %.2f ms, values %.2f, again %.2f; %.0f MB beside the result\n", ms, first, again, 1e-6 * (double)SparsePlanBytes(&plan));
  Check(SparsePlanDestroy(&plan, HRPB_SUCCESS, NULL));
  Check(SparseTransposeDestroy(&t, HRPB_SUCCESS, NULL));
  Check(cudaFree(cvalues));
  Check(cudaFree(rvalues));
  FreeDevice(A);
  FreeDevice(P);
}

int main(int argc, char **argv)
{
  if (argc > 1 && !strcmp(argv[1], "-time")) {
    TimeGrid(8, 3); /* to load the kernels */
    if (argc > 3) {
      table  = fopen(argv[2], "w");
      commit = argv[3];
      if (!table) return 2;
      fprintf(table, "grid,unknowns,product,rows,entries,multiplications,pattern_ms,values_ms,cusparse_ms,precision,commit,cuda,machine\n");
    }
    TimeGrid(64, 3);
    TimeGrid(100, 1);
    if (table) fclose(table);
    return 0;
  }
  small_run = argc > 1 && !strcmp(argv[1], "-small");
  TestAll();
  TestAllBlocks();
  TestGraphs();
  printf("spgemm: %d passed, %d failed\n", npassed, nfailed);
  return nfailed > 0;
}
