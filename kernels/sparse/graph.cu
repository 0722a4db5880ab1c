/*
   The graph of a matrix whose rows come in blocks: an entry for each block, the sum of its entries' magnitudes in the
   order of rows; and a matrix plus its transpose.
*/
#include <string.h>

#include "../common/launch.cuh"
#include "../csr/transpose.h"
#include "blocks.cuh"

namespace {
struct Subset {
  int32_t n, at[SPARSE_MOST_BLOCK]; /* which rows and columns of a block count; n is 0 for all */
};
} // namespace

static __global__ void __launch_bounds__(HRPB_THREADS) Collapse(const __grid_constant__ SparseMatrix A, int32_t size, const __grid_constant__ Subset subset, HrpbInt *rowptr, HrpbInt *colidx, HrpbScalar *values)
{
  const int64_t nblocks = A.nrows / size;
  const int32_t count   = subset.n ? subset.n : size;

  for (int64_t block = (int64_t)blockIdx.x * HRPB_WARPS + threadIdx.x / HRPB_LANES; block <= nblocks; block += (int64_t)gridDim.x * HRPB_WARPS) {
    const int64_t first = A.rowptr[block * size], to = first / size / size; /* rows of before have whole blocks */

    if (threadIdx.x % HRPB_LANES == 0) rowptr[block] = (HrpbInt)to;
    if (block == nblocks) break;
    const int64_t n = A.rowptr[block * size + 1] - first;

    for (int64_t k = threadIdx.x % HRPB_LANES; k < n / size; k += HRPB_LANES) {
      HrpbScalar sum = 0;

      for (int32_t i = 0; i < count; i++) {
        const HrpbScalar *row = A.values + first + (subset.n ? subset.at[i] : i) * n + k * size;

        for (int32_t j = 0; j < count; j++) sum += fabs(row[subset.n ? subset.at[j] : j]);
      }
      colidx[to + k] = A.colidx[first + k * size] / size;
      values[to + k] = sum;
    }
  }
}

static HrpbError Make(const SparseMatrix *A, int32_t size, const Subset *subset, SparseGraph *g, HrpbStream stream)
{
  if (size > 1) HrpbCall(SparseBlocksAreWhole(A, size, size, stream));
  HrpbCall(HrpbAllocate(&g->rowptr, g->n + 1, stream));
  HrpbCall(HrpbAllocate(&g->colidx, g->nnz, stream));
  HrpbCall(HrpbAllocate(&g->values, g->nnz, stream));
  HrpbCall(HrpbLaunch(Collapse, HrpbGrid(g->n + 1, HRPB_WARPS), HRPB_THREADS, 0, stream, *A, size, *subset, g->rowptr, g->colidx, g->values));
  return HRPB_SUCCESS;
}

HrpbError SparseGraphCreate(const SparseMatrix *A, int32_t size, int32_t n, const int32_t at[], HrpbStream stream, SparseGraph *g)
{
  Subset      subset = {};
  SparseGraph made   = {};
  HrpbError   err;

  *g = made;
  if (A->nrows % size || A->ncols % size || n > SPARSE_MOST_BLOCK) return HRPB_ERR_UNSUPPORTED;
  HrpbCall(CheckKernels());
  subset.n = n;
  for (int32_t i = 0; i < n; i++) subset.at[i] = at[i];
  made.n   = A->nrows / size;
  made.nnz = A->nnz / size / size;
  err      = Make(A, size, &subset, &made, stream);
  if (err) return SparseGraphDestroy(&made, err, stream);
  *g = made;
  return HRPB_SUCCESS;
}

/* One matrix above another, and the matrix [I I] that adds them */
static __global__ void __launch_bounds__(HRPB_THREADS) Stack(int64_t n, int64_t nnz, const HrpbInt *rowptr, const HrpbInt *below, HrpbInt *stacked, HrpbInt *pairs, HrpbInt *pair)
{
  for (int64_t i = (int64_t)blockIdx.x * HRPB_THREADS + threadIdx.x; i <= n; i += (int64_t)gridDim.x * HRPB_THREADS) {
    stacked[i]     = rowptr[i];
    stacked[n + i] = (HrpbInt)(nnz + below[i]);
    pairs[i]       = (HrpbInt)(2 * i);
    if (i < n) {
      pair[2 * i]     = (HrpbInt)i;
      pair[2 * i + 1] = (HrpbInt)(n + i);
    }
  }
}

static __global__ void __launch_bounds__(HRPB_THREADS) Ones(int64_t n, HrpbScalar *x)
{
  for (int64_t i = (int64_t)blockIdx.x * HRPB_THREADS + threadIdx.x; i < n; i += (int64_t)gridDim.x * HRPB_THREADS) x[i] = 1;
}

namespace {
/* What lives while a transpose is added. One allocation, which `stacked` begins */
struct Sum {
  HrpbInt    *stacked, *columns, *pairs, *pair; /* [2 n + 1], [2 nnz], [n + 1], [2 n] */
  HrpbScalar *values, *ones;                    /* [2 nnz], [2 n] */
};
} // namespace

static HrpbError AddStacked(const SparseGraph *g, const SparseTranspose *t, const Sum *s, SparseProduct *p, HrpbScalar **values, HrpbStream stream)
{
  const size_t nnz    = (size_t)g->nnz;
  SparseMatrix adder  = {g->n, 2 * g->n, 2 * g->n, s->pairs, s->pair, s->ones};
  SparseMatrix both   = {2 * g->n, g->n, 2 * g->nnz, s->stacked, s->columns, s->values};

  HrpbCall(CsrTakeDevice(g->nnz, t->map, g->values, s->values + nnz, stream));
  HrpbCallCuda(cudaMemcpyAsync(s->values, g->values, sizeof(HrpbScalar) * nnz, cudaMemcpyDeviceToDevice, stream));
  HrpbCallCuda(cudaMemcpyAsync(s->columns, g->colidx, sizeof(HrpbInt) * nnz, cudaMemcpyDeviceToDevice, stream));
  HrpbCallCuda(cudaMemcpyAsync(s->columns + nnz, t->colidx, sizeof(HrpbInt) * nnz, cudaMemcpyDeviceToDevice, stream));
  HrpbCall(HrpbLaunch(Stack, HrpbGrid(g->n + 1, HRPB_THREADS), HRPB_THREADS, 0, stream, g->n, g->nnz, g->rowptr, t->rowptr, s->stacked, s->pairs, s->pair));
  HrpbCall(HrpbLaunch(Ones, HrpbGrid(2 * g->n, HRPB_THREADS), HRPB_THREADS, 0, stream, 2 * g->n, s->ones));
  HrpbCall(SparseProductCreate(&adder, &both, stream, p));
  HrpbCall(HrpbAllocate(values, p->nnz, stream));
  return SparseProductFill(p, &adder, &both, *values, stream);
}

HrpbError SparseGraphAddTranspose(SparseGraph *g, HrpbStream stream)
{
  const SparseMatrix M = {g->n, g->n, g->nnz, g->rowptr, g->colidx, g->values};
  SparseTranspose    t;
  SparseProduct      p      = {};
  HrpbScalar        *values = NULL;
  Sum                s;
  HrpbError          err;

  if (g->n == 0 || g->nnz == 0) return HRPB_SUCCESS;
  if (sizeof(HrpbInt) == 4 && (g->nnz > INT32_MAX / 2 || g->n > INT32_MAX / 2)) return HRPB_ERR_OVERFLOW;
  HrpbCall(SparseTransposeCreate(&M, stream, &t));
  err = HrpbAllocateTogether(stream, &s.stacked, 2 * g->n + 1, &s.columns, 2 * g->nnz, &s.pairs, g->n + 1, &s.pair, 2 * g->n, &s.values, 2 * g->nnz, &s.ones, 2 * g->n);
  if (!err) err = HrpbFree(s.stacked, AddStacked(g, &t, &s, &p, &values, stream), stream);
  err = SparseTransposeDestroy(&t, err, stream);
  if (err) {
    err = HrpbFree(values, err, stream);
    return SparseProductDestroy(&p, err, stream);
  }
  HrpbCall(SparseGraphDestroy(g, HRPB_SUCCESS, stream));
  g->n      = p.nrows;
  g->nnz    = p.nnz;
  g->rowptr = p.rowptr;
  g->colidx = p.colidx;
  g->values = values;
  return HrpbFree(p.rows, HRPB_SUCCESS, stream);
}

/* scale[i] = 1 / sqrt(|g_ii|), or 0 where that is 0 or not there */
static __global__ void __launch_bounds__(HRPB_THREADS) Diagonal(int64_t n, const HrpbInt *rowptr, const HrpbInt *colidx, const HrpbScalar *values, HrpbScalar *scale)
{
  for (int64_t i = (int64_t)blockIdx.x * HRPB_THREADS + threadIdx.x; i < n; i += (int64_t)gridDim.x * HRPB_THREADS) {
    HrpbScalar x = 0;

    for (int64_t k = rowptr[i]; k < rowptr[i + 1]; k++) {
      if (colidx[k] == i) x = values[k];
    }
    scale[i] = x == 0 ? x : sqrt(fabs(1 / x));
  }
}

static __global__ void __launch_bounds__(HRPB_THREADS) Scale(int64_t n, const HrpbInt *rowptr, const HrpbInt *colidx, const HrpbScalar *scale, HrpbScalar *values)
{
  for (int64_t i = (int64_t)blockIdx.x * HRPB_WARPS + threadIdx.x / HRPB_LANES; i < n; i += (int64_t)gridDim.x * HRPB_WARPS) {
    for (int64_t k = rowptr[i] + threadIdx.x % HRPB_LANES; k < rowptr[i + 1]; k += HRPB_LANES) values[k] = values[k] * scale[i] * scale[colidx[k]];
  }
}

HrpbError SparseGraphScale(SparseGraph *g, HrpbStream stream)
{
  HrpbScalar *scale;
  HrpbError   err;

  if (g->n == 0) return HRPB_SUCCESS;
  HrpbCall(HrpbAllocate(&scale, g->n, stream));
  err = HrpbLaunch(Diagonal, HrpbGrid(g->n, HRPB_THREADS), HRPB_THREADS, 0, stream, g->n, g->rowptr, g->colidx, g->values, scale);
  if (!err) err = HrpbLaunch(Scale, HrpbGrid(g->n, HRPB_WARPS), HRPB_THREADS, 0, stream, g->n, g->rowptr, g->colidx, scale, g->values);
  return HrpbFree(scale, err, stream);
}

HrpbError SparseGraphProduct(const SparseMatrix *A, const SparseMatrix *B, HrpbStream stream, SparseGraph *g)
{
  SparseProduct p;

  memset(g, 0, sizeof(*g));
  HrpbCall(SparseProductCreate(A, B, stream, &p));
  g->n      = p.nrows;
  g->nnz    = p.nnz;
  g->rowptr = p.rowptr;
  g->colidx = p.colidx;
  return HrpbFree(p.rows, HRPB_SUCCESS, stream);
}

HrpbError SparseGraphDropValues(SparseGraph *g, HrpbStream stream)
{
  HrpbScalar *values = g->values;

  g->values = NULL;
  return HrpbFree(values, HRPB_SUCCESS, stream);
}

HrpbError SparseGraphDestroy(SparseGraph *g, HrpbError err, HrpbStream stream)
{
  err = HrpbFree(g->rowptr, err, stream);
  err = HrpbFree(g->colidx, err, stream);
  err = HrpbFree(g->values, err, stream);
  memset(g, 0, sizeof(*g));
  return err;
}
