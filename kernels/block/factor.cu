/*
   A factor of a small matrix that is not definite with certainty: see BlockFactor. In real double only.

   One thread block. A lane has a row, and of it each column of its warp, in registers, as where a matrix is inverted.
   With the matrix G, scaled to ones on its diagonal, goes one that begins as 1: what is added to a row of G is added to
   that row, too. When a row becomes that of a pivot, there is its row of the inverse factor. So a step needs one wait.
   Each lane has its number of what is left of the diagonal as well. So all warps find the same pivot.
*/
#include "block.cuh"

#if !defined(HRPB_USE_SINGLE) && !defined(HRPB_USE_COMPLEX)
enum {
  COUNT = (int)BLOCK_SQUARE / (int)HRPB_WARPS /* columns of a warp */
};

namespace {
struct FactorArgs {
  BlockFactor t;
  int32_t     N;
};
} // namespace

/* Which lane has the largest number, rounded to single, or -1 where none is larger than least. The first of several */
static __device__ __forceinline__ int Largest(double x, double least)
{
  const unsigned int bits = x > least ? __float_as_uint((float)x) : 0, most = __reduce_max_sync(HRPB_ALL_LANES, bits);

  return __ffs((int)__ballot_sync(HRPB_ALL_LANES, most && bits == most)) - 1;
}

static __global__ void __launch_bounds__(HRPB_THREADS) FactorKernel(const __grid_constant__ FactorArgs a)
{
  __shared__ double  column[2][BLOCK_SQUARE], zeta[BLOCK_SQUARE][BLOCK_SQUARE + 1], C[BLOCK_SQUARE][BLOCK_SQUARE];
  const BlockFactor &t = a.t;
  const int          N = a.N, i = threadIdx.x % HRPB_LANES, warp = threadIdx.x / HRPB_LANES;
  const double       least = 16 * N * 2.220446049250313e-16;
  HrpbWaitForKernelBefore();
  const double       own = i < N ? t.G[i * N + i] : 0, first = own > 0 ? own : 0, root = sqrt(first), scale = first > 0 ? 1 / root : 0;
  double             g[COUNT], e[COUNT], by[COUNT], left = first > 0 ? own * scale * scale : 0;
  bool               nan = false, open = true; /* open: the row is no pivot yet */
  int                k;

#pragma unroll
  for (int q = 0; q < COUNT; q++) {
    const int    j = q * HRPB_WARPS + warp;
    const double x = i < N && j < N ? (t.G[j * N + i] + t.G[i * N + j]) / 2 : 0;

    nan        = nan || x - x != 0;
    by[q]      = __shfl_sync(HRPB_ALL_LANES, scale, j);
    g[q]       = x * scale * by[q];
    e[q]       = i == j;
    zeta[j][i] = 0;
    C[j][i]    = i < N && j < N ? t.C[j * N + i] : 0;
  }
  nan = __syncthreads_or(nan);
  const bool negative = __syncthreads_or(own < -1.4901161193847656e-08); /* of numbers that were one, and no rounding */
  for (k = 0; k < N && !nan && !negative; k++) {
    const int     p   = Largest(open ? left : 0, least);
    double *const now = column[k % 2];

    if (p < 0) break;
    const double pivot = __shfl_sync(HRPB_ALL_LANES, left, p), inverse = rsqrt(pivot);

#pragma unroll
    for (int q = 0; q < COUNT; q++) {
      if (q * HRPB_WARPS + warp == p) now[i] = g[q];
    }
    __syncthreads();
    const double mine = i == p ? pivot : now[i], add = open && i != p ? mine * (inverse * inverse) : 0; /* of its row */

    if (warp == 0 && open) zeta[i][k] = mine * inverse * root;
#pragma unroll
    for (int q = 0; q < COUNT; q++) {
      const int    j   = q * HRPB_WARPS + warp;
      const double row = __shfl_sync(HRPB_ALL_LANES, e[q], p);

      if (i == 0 && j < N) t.F[k * N + j] = row * by[q] * inverse;
      g[q] -= add * now[j];
      e[q] -= add * row;
    }
    left -= add * mine;
    open = open && i != p;
  }
  __syncthreads();
  for (int j = warp; j < N; j += HRPB_WARPS) {
    double sum = 0;

    if (i < N && j >= k) t.F[j * N + i] = 0;
    for (int l = 0; l < N; l++) sum += zeta[l][i] * C[j][l];
    if (i < N) {
      t.zeta[j * N + i] = zeta[j][i];
      t.C[j * N + i]    = sum;
    }
  }
  if (warp == 0 && i < N) t.dropped[i] = open ? (first > 0 ? sqrt(fabs(left)) * root : sqrt(fabs(own))) : 0;
  if (threadIdx.x == 0) *t.rank = nan ? (double)NAN : negative ? -1 : k;
}

HrpbError BlockFactorize(const BlockShape *s, const BlockFactor *t)
{
  const FactorArgs a = {*t, (int32_t)s->N};

  if (s->N > BLOCK_SQUARE) return HRPB_ERR_UNSUPPORTED;
  if (s->N == 0) return HRPB_SUCCESS;
  return LaunchAfter(FactorKernel, dim3(1), HRPB_THREADS, 0, s->stream, a);
}
#endif
