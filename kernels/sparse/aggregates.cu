/*
   The prolongator of aggregates: vectors near the null space, restricted to an aggregate, are Q R. Q is the block of
   the prolongator, R what the vectors are on the level beneath.

   As LAPACK's dgeqrf() and dorgqr() do it, with the same signs: a reflection for each column. A warp has an aggregate.
   Each lane has every 32nd of its rows, and nobody else touches these.
*/
#include "../common/launch.cuh"
#include "sparse.h"

namespace {
/* The rows of an aggregate in the values of the prolongator, and in R */
struct Rows {
  const int32_t *node, *before; /* nodes of the aggregate; all nodes that have entries, before each node */
  HrpbScalar    *values;
  int64_t        n;
  int32_t        bs, ncols;

  __device__ HrpbScalar *operator[](int64_t row) const
  {
    return values + ((int64_t)before[node[row / bs]] * bs + row % bs) * ncols;
  }
};
} // namespace

/* The first row from `first` on that this lane has */
static __device__ int64_t Mine(int64_t first)
{
  return first + (threadIdx.x % HRPB_LANES + HRPB_LANES - first % HRPB_LANES) % HRPB_LANES;
}

static __device__ HrpbScalar Entry(const Rows &a, int64_t row, int32_t column)
{
  return __shfl_sync(HRPB_ALL_LANES, row % HRPB_LANES == threadIdx.x % HRPB_LANES ? a[row][column] : 0, (int)(row % HRPB_LANES));
}

static __device__ void SetEntry(const Rows &a, int64_t row, int32_t column, HrpbScalar x)
{
  if (row % HRPB_LANES == threadIdx.x % HRPB_LANES) a[row][column] = x;
}

/* I - tau v v^T of columns [from, end): v is in column k, under its first entry, which is one */
static __device__ void Reflect(const Rows &a, int32_t k, HrpbScalar tau, int32_t from, int32_t end)
{
  for (int32_t j = from; j < end && tau != 0; j++) {
    const HrpbScalar top = Entry(a, k, j);
    HrpbScalar       sum = 0;

    for (int64_t row = Mine(k + 1); row < a.n; row += HRPB_LANES) sum += a[row][k] * a[row][j];
    sum = tau * (top + HrpbSumOfLanes(sum));
    SetEntry(a, k, j, top - sum);
    for (int64_t row = Mine(k + 1); row < a.n; row += HRPB_LANES) a[row][j] -= a[row][k] * sum;
  }
}

/* The magnitude of the largest number of column k under the diagonal */
static __device__ HrpbScalar Most(const Rows &a, int32_t k)
{
  HrpbScalar most = 0;

  for (int64_t row = Mine(k + 1); row < a.n; row += HRPB_LANES) most = fmax(most, fabs(a[row][k]));
  return HrpbMostOfLanes(most);
}

/* The sum of the squares of column k under the diagonal, times scale */
static __device__ HrpbScalar Squares(const Rows &a, int32_t k, HrpbScalar scale)
{
  HrpbScalar sum = 0;

  for (int64_t row = Mine(k + 1); row < a.n; row += HRPB_LANES) sum += (a[row][k] * scale) * (a[row][k] * scale);
  return HrpbSumOfLanes(sum);
}

/*
   The reflection that leaves nothing under the diagonal of column k: tau; v in the column; R's entry in *diagonal.
   Where squares would vanish or overflow, all is scaled by a power of two
*/
static __device__ HrpbScalar Householder(const Rows &a, int32_t k, HrpbScalar *diagonal)
{
  constexpr int    range = sizeof(HrpbScalar) == 8 ? 1022 : 126, digits = sizeof(HrpbScalar) == 8 ? 52 : 23;
  const HrpbScalar least = scalbn((HrpbScalar)1, digits - range), most = scalbn((HrpbScalar)1, range);
  HrpbScalar       scale = 1, top = Entry(a, k, k), sum = Squares(a, k, scale);

  *diagonal = top;
  if (sum < least || sum > most || top * top > most) {
    const HrpbScalar under = Most(a, k), all = fmax(under, fabs(top));

    if (under == 0) return 0;
    scale = scalbn((HrpbScalar)1, all < most ? min(range, -ilogb(all)) : -range);
    sum   = Squares(a, k, scale);
  }
  top *= scale;

  const HrpbScalar d = -copysign(sqrt(top * top + sum), top);

  *diagonal = d / scale;
  for (int64_t row = Mine(k + 1); row < a.n; row += HRPB_LANES) a[row][k] = a[row][k] * scale / (top - d);
  return (d - top) / d;
}

/* Row i of R, which others have column by column. An aggregate may have fewer rows than there are columns */
static __device__ void StoreR(const Rows &a, int64_t stride, HrpbScalar *r)
{
  for (int32_t i = 0; i < a.ncols; i++) {
    for (int32_t j = 0; j < a.ncols; j++) {
      const HrpbScalar x = i < a.n && i <= j ? Entry(a, i, j) : 0;

      if (threadIdx.x % HRPB_LANES == 0) r[j * stride + i] = x;
    }
  }
}

static __global__ void __launch_bounds__(HRPB_THREADS)
Orthogonalize(const __grid_constant__ SparseAggregates g, const HrpbScalar *vectors, HrpbScalar *tau, HrpbScalar *values, HrpbScalar *coarse)
{
  for (int64_t c = (int64_t)blockIdx.x * HRPB_WARPS + threadIdx.x / HRPB_LANES; c < g.naggregates; c += (int64_t)gridDim.x * HRPB_WARPS) {
    const Rows       a      = {g.member + g.begin[c], g.before, values, (int64_t)(g.begin[c + 1] - g.begin[c]) * g.bs, g.bs, g.ncols};
    const int32_t    n      = a.n < a.ncols ? (int32_t)a.n : a.ncols;
    HrpbScalar *const t     = tau + c * a.ncols;
    const int64_t    stride = g.naggregates * a.ncols;

    for (int64_t row = Mine(0); row < a.n; row += HRPB_LANES) {
      const int64_t from = (int64_t)a.node[row / a.bs] * a.bs + row % a.bs;

      for (int32_t j = 0; j < a.ncols; j++) a[row][j] = vectors[j * g.nnodes * a.bs + from];
    }
    for (int32_t k = 0; k < n; k++) {
      HrpbScalar       diagonal;
      const HrpbScalar tau_k = Householder(a, k, &diagonal);

      SetEntry(a, k, k, diagonal);
      t[k] = tau_k; /* by all lanes: each reads its own */
      Reflect(a, k, tau_k, k + 1, a.ncols);
    }
    StoreR(a, stride, coarse + c * a.ncols);
    for (int32_t k = n - 1; k >= 0; k--) {
      const HrpbScalar tau_k = t[k];

      for (int32_t j = n; j < a.ncols && k == n - 1; j++) {
        for (int64_t row = Mine(0); row < a.n; row += HRPB_LANES) a[row][j] = 0;
      }
      Reflect(a, k, tau_k, k + 1, n);
      SetEntry(a, k, k, 1 - tau_k);
      for (int64_t row = Mine(k + 1); row < a.n; row += HRPB_LANES) a[row][k] *= -tau_k;
      for (int64_t row = Mine(0); row < k; row += HRPB_LANES) a[row][k] = 0;
    }
  }
}

static __global__ void __launch_bounds__(HRPB_THREADS)
Pattern(const __grid_constant__ SparseAggregates g, const int32_t *aggregate, HrpbInt *rowptr, HrpbInt *colidx)
{
  for (int64_t row = (int64_t)blockIdx.x * HRPB_THREADS + threadIdx.x; row <= g.nnodes * g.bs; row += (int64_t)gridDim.x * HRPB_THREADS) {
    const int64_t node = row / g.bs, whole = g.before[node];
    const bool    has  = row < g.nnodes * g.bs && aggregate[node] >= 0;
    const int64_t at   = (whole * g.bs + (has ? row % g.bs : 0)) * g.ncols;

    rowptr[row] = (HrpbInt)at;
    for (int32_t j = 0; has && j < g.ncols; j++) colidx[at + j] = (HrpbInt)aggregate[node] * g.ncols + j;
  }
}

/* Whose nodes are which, on the device. One allocation, which `begin` of the copy begins */
static HrpbError Upload(const SparseAggregates *g, const int32_t aggregate[], SparseAggregates *d, int32_t **on_device, HrpbStream stream)
{
  int32_t      *begin, *member, *before;
  const int64_t nmembers = g->begin[g->naggregates];
  const size_t  size     = sizeof(*begin);

  HrpbCall(HrpbAllocateTogether(stream, &begin, g->naggregates + 1, &member, nmembers, &before, g->nnodes + 1, on_device, g->nnodes));
  *d        = *g;
  d->begin  = begin;
  d->member = member;
  d->before = before;
  HrpbCallCuda(cudaMemcpyAsync(begin, g->begin, size * (size_t)(g->naggregates + 1), cudaMemcpyHostToDevice, stream));
  HrpbCallCuda(cudaMemcpyAsync(member, g->member, size * (size_t)nmembers, cudaMemcpyHostToDevice, stream));
  HrpbCallCuda(cudaMemcpyAsync(before, g->before, size * (size_t)(g->nnodes + 1), cudaMemcpyHostToDevice, stream));
  HrpbCallCuda(cudaMemcpyAsync(*on_device, aggregate, size * (size_t)g->nnodes, cudaMemcpyHostToDevice, stream));
  return HRPB_SUCCESS;
}

static HrpbError MakePattern(const SparseAggregates *d, const int32_t *aggregate, SparseGraph *p, HrpbStream stream)
{
  HrpbCall(HrpbAllocate(&p->rowptr, p->n + 1, stream));
  HrpbCall(HrpbAllocate(&p->colidx, p->nnz, stream));
  return HrpbLaunch(Pattern, HrpbGrid(p->n + 1, HRPB_THREADS), HRPB_THREADS, 0, stream, *d, aggregate, p->rowptr, p->colidx);
}

static HrpbError MakeValues(const SparseAggregates *d, const HrpbScalar vectors[], SparseGraph *p, HrpbScalar coarse[], HrpbStream stream)
{
  const int64_t nvectors = d->nnodes * d->bs * d->ncols, ncoarse = d->naggregates * d->ncols * d->ncols;
  HrpbScalar   *on_device, *r, *tau;
  HrpbError     err;

  HrpbCall(HrpbAllocate(&p->values, p->nnz, stream));
  HrpbCall(HrpbAllocateTogether(stream, &on_device, nvectors, &r, ncoarse, &tau, d->naggregates * d->ncols));
  const cudaError_t copied = cudaMemcpyAsync(on_device, vectors, sizeof(*vectors) * (size_t)nvectors, cudaMemcpyHostToDevice, stream);

  err = copied == cudaSuccess ? HRPB_SUCCESS : HrpbDeviceError(copied);
  if (!err) err = HrpbLaunch(Orthogonalize, HrpbGrid(d->naggregates, HRPB_WARPS), HRPB_THREADS, 0, stream, *d,
                             (const HrpbScalar *)on_device, tau, p->values, r);
  if (!err) err = HrpbBring(coarse, r, sizeof(*coarse) * (size_t)ncoarse, stream);
  return HrpbFree(on_device, err, stream);
}

HrpbError SparseProlong(const SparseAggregates *g, const int32_t aggregate[], const HrpbScalar vectors[], HrpbStream stream,
                        SparseGraph *p, HrpbScalar coarse[])
{
  SparseGraph      made = {};
  SparseAggregates d    = {};
  int32_t         *on_device;
  HrpbError        err;

  *p = made;
  HrpbCall(CheckKernels());
  made.n   = g->nnodes * g->bs;
  made.nnz = (int64_t)g->begin[g->naggregates] * g->bs * g->ncols;
  if (sizeof(HrpbInt) == 4 && made.nnz > INT32_MAX) return HRPB_ERR_OVERFLOW;
  err = Upload(g, aggregate, &d, &on_device, stream);
  if (!err) err = MakePattern(&d, on_device, &made, stream);
  if (!err) err = MakeValues(&d, vectors, &made, coarse, stream);
  err = HrpbFree((void *)d.begin, err, stream);
  if (err) return SparseGraphDestroy(&made, err, stream);
  *p = made;
  return HRPB_SUCCESS;
}
