/*
   Products of sparse matrices on the device, against a computation on the host: patterns entry by entry, values in long
   double. No PETSc.

     spgemm [-small]
     spgemm -time        times of products of the sizes of a multigrid's set-up, beside cuSPARSE
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

static Result Reference(SparseOp op, const std::vector<Matrix> &operand)
{
  switch (op) {
  case SPARSE_AB:
    return Multiply(operand[0], operand[1], NULL, NULL);
  case SPARSE_AtB:
    return Multiply(Transpose(operand[0]), operand[1], NULL, NULL);
  default:
    {
      const Result inner = op == SPARSE_PtAP ? Multiply(operand[0], operand[1], NULL, NULL) : op == SPARSE_RARt ? Multiply(operand[0], Transpose(operand[1]), NULL, NULL) : Multiply(operand[1], operand[2], NULL, NULL);

      return Multiply(op == SPARSE_PtAP ? Transpose(operand[1]) : op == SPARSE_RARt ? operand[1] : operand[0], inner.C, inner.sum.data(), inner.size.data());
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

static void Test(SparseOp op, std::vector<Matrix> operand)
{
  static const char        *names[] = {"AB", "AtB", "PtAP", "RARt", "ABC"};
  std::vector<SparseMatrix> matrix;
  SparsePlan                plan;
  char                      where[256];
  const int64_t             guard = 5;

  snprintf(where, sizeof(where), "%s, %s %ld x %ld and %s %ld x %ld", names[op], operand[0].name, (long)operand[0].nrows, (long)operand[0].ncols, operand[1].name, (long)operand[1].nrows, (long)operand[1].ncols);
  for (const Matrix &A : operand) matrix.push_back(ToDevice(A));
  PoisonShared();
  Check(SparsePlanCreate(op, matrix.data(), NULL, &plan));
  const Result R = Reference(op, operand);

  Report(plan.result.nrows == R.C.nrows && plan.result.ncols == R.C.ncols && plan.result.nnz == (int64_t)R.C.colidx.size(), "sizes", where);
  if (plan.result.nnz == (int64_t)R.C.colidx.size()) {
    std::vector<HrpbScalar> values(R.C.colidx.size() + guard, (HrpbScalar)-77);
    HrpbScalar             *dvalues = Upload(values);

    Report(Download(plan.result.rowptr, R.C.nrows + 1) == R.C.rowptr, "row pointers", where);
    Report(Download(plan.result.colidx, plan.result.nnz) == R.C.colidx, "columns", where);
    PoisonShared();
    Check(SparsePlanFill(&plan, matrix.data(), dvalues, NULL));
    values = Download(dvalues, plan.result.nnz + guard);
    Report(std::all_of(values.end() - guard, values.end(), [](HrpbScalar x) { return x == (HrpbScalar)-77; }), "wrote beyond the end", where);
    values.resize(R.C.colidx.size());
    Report(Near(R, values), "values", where);
    Check(SparsePlanFill(&plan, matrix.data(), dvalues, NULL));
    Report(SameBits(values.data(), Download(dvalues, plan.result.nnz).data(), values.size()), "other bits the second time", where);
    for (size_t i = 0; i < operand.size(); i++) { /* new values */
      for (HrpbScalar &x : operand[i].values) x = Uniform();
      if (!operand[i].values.empty()) Check(cudaMemcpy((void *)matrix[i].values, operand[i].values.data(), sizeof(HrpbScalar) * operand[i].values.size(), cudaMemcpyHostToDevice));
    }
    Check(SparsePlanFill(&plan, matrix.data(), dvalues, NULL));
    Report(Near(Reference(op, operand), Download(dvalues, plan.result.nnz)), "new values", where);
    Check(cudaFree(dvalues));
  }
  Check(SparsePlanDestroy(&plan, HRPB_SUCCESS, NULL));
  for (const SparseMatrix &A : matrix) FreeDevice(A);
}

static bool Aggregates(int64_t i, int64_t j, const Matrix *A) /* a row has the columns of its aggregate and of the next */
{
  const int64_t aggregate = i * A->ncols / A->nrows;

  return llabs(aggregate / 3 - j / 3) <= 1;
}
static bool LastRow(int64_t i, int64_t j, const Matrix *A) { return i == A->nrows - 1 || j == i % A->ncols; }
static bool FirstColumn(int64_t i, int64_t j, const Matrix *A) { return j == 0 || j == i % A->ncols; }
static bool FarApart(int64_t i, int64_t j, const Matrix *) { return j % 4096 == 0 || j == i; }

static void TestAll(void)
{
  const int64_t n = small_run ? 126 : 1260;

  for (Pattern a : {Stencil, Band, Sparse, Dense, DenseRows, Nothing, Gaps, OneColumn}) {
    if (a == Dense && !small_run) continue;
    const Matrix A = Make("A", n, n, a), P = Make("P", n, n / 6, Aggregates);

    Test(SPARSE_PtAP, {A, P});
    Test(SPARSE_AB, {A, A});
    Test(SPARSE_AtB, {A, A});
    Test(SPARSE_RARt, {A, Transpose(P)});
    Test(SPARSE_ABC, {Transpose(P), A, P});
  }
  for (int64_t rows : {0, 1, 33, 70}) {
    for (int64_t middle : {0, 1, 40}) {
      for (int64_t columns : {0, 1, 65}) {
        Test(SPARSE_AB, {Make("sparse", rows, middle, Dense), Make("sparse", middle, columns, DenseRows)});
        Test(SPARSE_AtB, {Make("rows", middle, rows, DenseRows), Make("sparse", middle, columns, Sparse)});
      }
    }
  }
  /* rows of all bins, and longer ones */
  for (int64_t columns : {50, 150, 300, 700, 2500, 7000, 20000, 40000}) {
    if (small_run && columns > 20000) continue;
    Test(SPARSE_AB, {Make("last row", 9, 5, LastRow), Make("dense row", 5, columns, LastRow)});
  }
  Test(SPARSE_AB, {Make("band", 40, 3, FirstColumn), Make("far apart", 3, small_run ? 40000 : 3000000, FarApart)});
  Test(SPARSE_AtB, {Make("first column", 300, 40, FirstColumn), Make("first column", 300, 200, FirstColumn)});
}

int main(int argc, char **argv)
{
  small_run = argc > 1 && !strcmp(argv[1], "-small");
  TestAll();
  printf("spgemm: %d passed, %d failed\n", npassed, nfailed);
  return nfailed > 0;
}
