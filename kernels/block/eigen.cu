/*
   The first eigenvectors of a small symmetric matrix by one thread block: eigen.h.

     T = Q^T A Q     tridiagonal, by reflections: the upper triangle, last column first, as LAPACK's sytrd does
     eigenvalues     by counts of negative pivots, at several points of an interval at once
     vectors of T    by twisted factorizations (Parlett, Dhillon, Linear Algebra Appl. 267, 1997), one thread each
     orthonormal     by a Cholesky factorization of their products, twice if it was far from it
     tested          whether residuals are rounding. There is no care for eigenvalues that are very close
     Z = Q V         a warp has four vectors in registers

   A step of the first is a pass over what is left of the triangle. It applies the reflection of the step before, and
   multiplies by the new one, whose vector is made of the next column alone. So entries are read and written once.

   The triangle is packed by columns. When it is tridiagonal, the vectors of the reflections go to memory, and vectors
   take its place. All sums have a fixed order.
*/
#include "../common/launch.cuh"
#include "eigen.h"
#include <string.h>

#if !defined(HRPB_USE_COMPLEX)
enum {
  WARPS   = 16,
  THREADS = WARPS * HRPB_LANES, /* more than rows */
  CHUNKS  = 7,                  /* rows of a lane */
  MOST    = CHUNKS * HRPB_LANES,
  COLUMNS = 4 /* that a warp works on at a time */
};

namespace {
struct EigenArgs {
  BlockEigen e;
  int32_t    ld; /* of vectors, from a row to the next one. It is odd: lanes that have a row each read other banks */
};

/* What is in shared memory. Vectors have n numbers */
struct Room {
  double *A;     /* the triangle; then vectors, and behind them their products */
  double *parts; /* a vector of each warp */
  double *d, *e, *e2, *tau, *q, *sums;
  double *v[2], *w[2];
};
} // namespace

/* Numbers in the place of A */
static size_t Numbers(size_t n, size_t k, size_t ld)
{
  const size_t triangle = n * (n + 1) / 2, vectors = (n + k) * ld;

  return triangle > vectors ? triangle : vectors;
}

static size_t SharedBytes(size_t n, size_t k, size_t ld)
{
  return sizeof(double) * (Numbers(n, k, ld) + n * (WARPS + 9) + WARPS);
}

static __device__ __forceinline__ Room MakeRoom(double *memory, int n, int k, int ld)
{
  Room r;

  r.A     = memory;
  r.parts = memory + max(n * (n + 1) / 2, (n + k) * ld);
  r.d     = r.parts + WARPS * n;
  r.e     = r.d + n;
  r.e2    = r.e + n;
  r.tau   = r.e2 + n;
  r.q     = r.tau + n;
  r.v[0]  = r.q + n;
  r.v[1]  = r.v[0] + n;
  r.w[0]  = r.v[1] + n;
  r.w[1]  = r.w[0] + n;
  r.sums  = r.w[1] + n;
  return r;
}

static __device__ __forceinline__ double WarpSum(double x)
{
  for (int s = HRPB_LANES / 2; s; s /= 2) x += __shfl_xor_sync(HRPB_ALL_LANES, x, s);
  return x;
}

static __device__ __forceinline__ double WarpMost(double x)
{
  for (int s = HRPB_LANES / 2; s; s /= 2) x = fmax(x, __shfl_xor_sync(HRPB_ALL_LANES, x, s));
  return x;
}

/* x[0] + x[step] + ..., of so many numbers, without one addition waiting for all before it */
template <int COUNT> static __device__ __forceinline__ double SumOf(const double *x, int step)
{
  if constexpr (COUNT == 1) return x[0];
  else return SumOf<COUNT / 2>(x, step) + SumOf<COUNT - COUNT / 2>(x + COUNT / 2 * step, step);
}

/*
   Of all threads that have a row, in all threads. sums must not be in use before, and may not be changed until all have
   come on
*/
static __device__ __forceinline__ double BlockSum(double x, double *sums)
{
  x = WarpSum(x);
  if (threadIdx.x % HRPB_LANES == 0) sums[threadIdx.x / HRPB_LANES] = x;
  __syncthreads();
  return SumOf<CHUNKS>(sums, 1);
}

static __device__ __forceinline__ double BlockMost(double x, double *sums)
{
  double most = 0;

  x = WarpMost(x);
  if (threadIdx.x % HRPB_LANES == 0) sums[threadIdx.x / HRPB_LANES] = x;
  __syncthreads();
  for (int w = 0; w < WARPS; w++) most = fmax(most, sums[w]);
  __syncthreads();
  return most;
}

/* The power of two that brings a positive number to between one half and one */
static __device__ __forceinline__ double ToOne(double x)
{
  int64_t bits;

  memcpy(&bits, &x, sizeof(x));
  bits = (2045 - (bits >> 52)) << 52;
  memcpy(&x, &bits, sizeof(x));
  return x;
}

/*
   The reflection for column i, of which a thread has one entry, x: v with v[i - 1] = 1, and tau. The column becomes
   (0, ..., 0, beta), and v takes its place
*/
static __device__ __forceinline__ void Reflect(const Room &r, int i, double x, double *v, double *column)
{
  const int    row    = threadIdx.x;
  const double square = BlockSum(row < i - 1 ? x * x : 0, r.sums), alpha = r.q[0];
  double       beta = alpha, tau = 0, scale = 0;

  if (square > 0) {
    beta  = -copysign(sqrt(alpha * alpha + square), alpha);
    scale = 1 / (alpha - beta);
    tau   = (beta - alpha) / beta;
  }
  if (row < i) column[row] = v[row] = row == i - 1 ? 1 : scale * x;
  if (row == 0) {
    r.e[i - 1] = beta;
    r.tau[i]   = tau;
  }
  __syncthreads();
}

/*
   A - v0 w0^T - w0 v0^T takes the place of the first i columns of A, and its product with v goes to q and, for rows
   above the diagonal, to the parts of the warps
*/
static __device__ __forceinline__ void UpdateAndMultiply(const Room &r, int n, int i, const double *v0, const double *w0, const double *v)
{
  const int lane = threadIdx.x % HRPB_LANES, warp = threadIdx.x / HRPB_LANES;
  double    p[CHUNKS] = {};

  for (int last = i - 1 - warp; last >= 0; last -= COLUMNS * WARPS) {
    double  sum[COLUMNS] = {}, vc[COLUMNS], v0c[COLUMNS], w0c[COLUMNS];
    double *column[COLUMNS];

#pragma unroll
    for (int j = 0; j < COLUMNS; j++) {
      const int c = max(last - j * WARPS, 0);

      column[j] = r.A + c * (c + 1) / 2;
      vc[j] = v[c], v0c[j] = v0[c], w0c[j] = w0[c];
    }
#pragma unroll
    for (int h = 0; h < CHUNKS; h++) { /* without branches but this one: loads do not wait for each other */
      const int row = h * HRPB_LANES + lane, there = min(row, last);

      if (h * HRPB_LANES > last) break;

      const double vr = v[there], v0r = v0[there], w0r = w0[there];
      double       a[COLUMNS];

#pragma unroll
      for (int j = 0; j < COLUMNS; j++) a[j] = row <= last - j * WARPS ? column[j][row] : 0;
#pragma unroll
      for (int j = 0; j < COLUMNS; j++) {
        const int c = last - j * WARPS;

        a[j] = row <= c ? a[j] - v0r * w0c[j] - w0r * v0c[j] : 0;
        p[h] += a[j] * vc[j];
        sum[j] += row < c ? a[j] * vr : 0;
      }
#pragma unroll
      for (int j = 0; j < COLUMNS; j++) {
        if (row <= last - j * WARPS) column[j][row] = a[j];
      }
    }
#pragma unroll
    for (int j = 0; j < COLUMNS; j++) sum[j] = WarpSum(sum[j]);
#pragma unroll
    for (int j = 0; j < COLUMNS; j++) {
      if (lane == j && last - j * WARPS >= 0) r.q[last - j * WARPS] = sum[j];
    }
  }
#pragma unroll
  for (int h = 0; h < CHUNKS; h++) {
    if (h * HRPB_LANES + lane < i) r.parts[warp * n + h * HRPB_LANES + lane] = p[h];
  }
  __syncthreads();
}

/* d, e and tau of A. Column i of it has the vector of its reflection afterwards, above the diagonal */
static __device__ __forceinline__ void Tridiagonal(const Room &r, int n)
{
  const int row = threadIdx.x;
  int       now = 0;

  if (row < n) r.v[1][row] = r.w[1][row] = 0;
  __syncthreads();
  for (int i = n - 1; i > 0; i--, now = 1 - now) {
    const double *v0 = r.v[1 - now], *w0 = r.w[1 - now];
    double *const v = r.v[now], *const w = r.w[now], *const column = r.A + i * (i + 1) / 2;
    double x = 0, p = 0, half;

    if (row <= i) x = column[row] - v0[row] * w0[i] - w0[row] * v0[i];
    if (row == i) r.d[i] = x;
    if (row == i - 1) r.q[0] = x;
    Reflect(r, i, x, v, column);
    UpdateAndMultiply(r, n, i, v0, w0, v);
    if (row < i) p = (r.q[row] + SumOf<WARPS>(r.parts + row, n)) * r.tau[i];
    half = BlockSum(row < i ? p * v[row] : 0, r.sums) * r.tau[i] / 2;
    if (row < i) w[row] = p - half * v[row];
    __syncthreads();
  }
  if (row == 0) r.d[0] = r.A[0] - 2 * r.v[1 - now][0] * r.w[1 - now][0];
  __syncthreads();
}

/* One more leading minor of T - x I, and one if its sign is another one */
static __device__ __forceinline__ int NextMinor(double d, double e2, double x, double *before, double *now)
{
  const double next = (d - x) * *now - e2 * *before;
  const int    sign = signbit(next) != signbit(*now);

  *before = *now;
  *now    = next;
  return sign;
}

/* How many eigenvalues of T are less than x: changes of sign of its leading minors. Two in a row are never zero */
static __device__ __forceinline__ int CountLess(const Room &r, int n, double x)
{
  enum {
    STEPS = 8 /* that numbers may grow and shrink unchecked: at most by 3, and by 1e-44 in two */
  };
  double before = 1, now = r.d[0] - x;
  int    count = signbit(now) != 0, i = 1;

  for (; i + STEPS <= n; i += STEPS) { /* without branches: loads do not wait */
    const double scale = ToOne(fmax(fabs(before), fabs(now)));

    before *= scale;
    now *= scale;
#pragma unroll
    for (int s = 0; s < STEPS; s++) count += NextMinor(r.d[i + s], r.e2[i + s - 1], x, &before, &now);
  }
  if (i < n) {
    const double scale = ToOne(fmax(fabs(before), fabs(now)));

    before *= scale;
    now *= scale;
    for (; i < n; i++) count += NextMinor(r.d[i], r.e2[i - 1], x, &before, &now);
  }
  return count;
}

/* Eigenvalues of T, whose norm is less than one, in v[0]. Some lanes of a warp look for one together */
static __device__ __forceinline__ void Values(const Room &r, int n, int k)
{
  int lanes = HRPB_LANES, bits = 5;

  for (; lanes > 1 && lanes * k > THREADS; lanes /= 2) bits--;

  const int    which = min((int)threadIdx.x / lanes, k - 1), lane = threadIdx.x % lanes, first = threadIdx.x % HRPB_LANES / lanes * lanes;
  double       low = -1, high = 1;
  const double points = lanes + 1;

  for (int found = 0; found < 56; found += max(bits, 1)) {
    const double   x    = low + (high - low) * ((lane + 1) / points);
    const unsigned less = __ballot_sync(HRPB_ALL_LANES, CountLess(r, n, x) <= which) >> first;
    const int      m    = ~less ? min(__ffs((int)~less) - 1, lanes) : lanes; /* points that are not beyond it */
    const double   a = __shfl_sync(HRPB_ALL_LANES, x, first + max(m - 1, 0)), b = __shfl_sync(HRPB_ALL_LANES, x, first + min(m, lanes - 1));

    if (m > 0) low = a;
    if (m < lanes) high = b;
  }
  if (lane == 0 && (int)threadIdx.x / lanes < k) r.v[0][which] = low + (high - low) / 2;
  __syncthreads();
}

static __device__ __forceinline__ double NotZero(double x)
{
  const double tiny = 1e-32;

  return fabs(x) > tiny ? x : tiny;
}

/*
   The vector of T for an eigenvalue, with length one, in a column of V. What the next step needs of T is loaded before
   what this one divides by
*/
static __device__ __forceinline__ void Twisted(const Room &r, int n, int ld, double lambda, double *V)
{
  double pivot = r.d[n - 1] - lambda, least = HUGE_VAL, square = 1, z = 1;
  int    twist = 0;

  for (int i = n - 1; i > 0; i--) { /* pivots from below; from an entry to the next one */
    const double d = r.d[i - 1], e = r.e[i - 1], e2 = r.e2[i - 1], over = 1 / NotZero(pivot);

    V[i * ld] = -e * over;
    pivot     = d - lambda - e2 * over;
  }
  pivot = r.d[0] - lambda;
  for (int i = 0; i < n; i++) { /* and from above. They meet where what is left is least */
    const int    next = min(i + 1, n - 1);
    const double d = r.d[next], e = r.e[i], e2 = r.e2[i], below = V[next * ld];
    const double rest = fabs(i < n - 1 ? pivot + e * below : pivot);

    if (rest < least) {
      least = rest;
      twist = i;
    }
    pivot = d - lambda - e2 / NotZero(pivot);
  }
  pivot = r.d[0] - lambda;
  for (int i = 0; i < twist; i++) {
    const double d = r.d[i + 1], e = r.e[i], e2 = r.e2[i], over = 1 / NotZero(pivot);

    V[i * ld] = -e * over;
    pivot     = d - lambda - e2 * over;
  }
  V[twist * ld] = 1;
  for (int i = twist - 1; i >= 0; i--) {
    V[i * ld] = z *= V[i * ld];
    square += z * z;
  }
  z = 1;
  for (int i = twist + 1; i < n; i++) {
    V[i * ld] = z *= V[i * ld];
    square += z * z;
  }
  square = 1 / sqrt(square);
  for (int i = 0; i < n; i++) V[i * ld] *= square;
}

/* G = V^T V on and below the diagonal, in tiles */
static __device__ __forceinline__ void Products(const double *V, int n, int k, int ld, double *G)
{
  enum {
    ROWS = 4
  };
  const int rows = (k + ROWS - 1) / ROWS, columns = (k + 1) / 2;

  for (int tile = threadIdx.x; tile < rows * columns; tile += THREADS) {
    const int i0 = tile % rows * ROWS, j0 = tile / rows * 2;
    double    sum[ROWS][2] = {};

    if (i0 + ROWS <= j0) continue;
    for (int m = 0; m < n; m++) {
      const double *row = V + m * ld;
      const double  a = row[j0], b = row[min(j0 + 1, k - 1)];

#pragma unroll
      for (int i = 0; i < ROWS; i++) {
        const double x = row[min(i0 + i, k - 1)];

        sum[i][0] += x * a;
        sum[i][1] += x * b;
      }
    }
    for (int i = 0; i < ROWS; i++) {
      for (int j = 0; j < 2; j++) {
        if (i0 + i < k && j0 + j < k) G[(i0 + i) * ld + j0 + j] = sum[i][j];
      }
    }
  }
  __syncthreads();
}

/* V becomes orthonormal. Returns the least pivot: one where V was before, not positive where vectors are dependent */
static __device__ __forceinline__ double Orthonormalize(double *V, int n, int k, int ld, double *G)
{
  const int     row   = threadIdx.x;
  double *const mine  = V + row * ld;
  double        least = 1;

  Products(V, n, k, ld, G);
  for (int j = 0; j < k; j++) { /* G = L L^T */
    const double pivot = G[j * ld + j], over = 1 / sqrt(pivot);

    least = pivot < least ? pivot : least;
    if (!(pivot > 0)) return -1;
    __syncthreads();
    if (row >= j && row < k) G[row * ld + j] *= over;
    __syncthreads();
    for (int e = threadIdx.x; e < (k - j - 1) * (k - j - 1); e += THREADS) {
      const int a = j + 1 + e / (k - j - 1), b = j + 1 + e % (k - j - 1);

      if (b <= a) G[a * ld + b] -= G[a * ld + j] * G[b * ld + j];
    }
    __syncthreads();
  }
  if (row < k) G[row * ld + row] = 1 / G[row * ld + row];
  __syncthreads();
  if (row < n) { /* V = V L^-T */
    for (int j = 0; j < k; j++) {
      double sum = mine[j];

#pragma unroll 4
      for (int m = 0; m < j; m++) sum -= mine[m] * G[j * ld + m];
      mine[j] = sum * G[j * ld + j];
    }
  }
  __syncthreads();
  return least;
}

/* Whether residuals are rounding: those of LAPACK's stedc are up to 7. Rayleigh quotients go to values */
static __device__ __forceinline__ bool AreEigenvectors(const Room &r, const double *V, int n, int k, int ld, double *values)
{
  const int    lane  = threadIdx.x % HRPB_LANES;
  const double limit = 16 * 2.220446049250313e-16;
  bool         good  = true;

  for (int j = threadIdx.x / HRPB_LANES; j < k; j += WARPS) {
    double sum = 0, z[CHUNKS];

#pragma unroll
    for (int h = 0; h < CHUNKS; h++) {
      const int i = h * HRPB_LANES + lane;

      z[h] = 0;
      if (i >= n) continue;
      z[h] = r.d[i] * V[i * ld + j] + (i ? r.e[i - 1] * V[(i - 1) * ld + j] : 0) + (i < n - 1 ? r.e[i] * V[(i + 1) * ld + j] : 0);
      sum += z[h] * V[i * ld + j];
    }
    sum = WarpSum(sum);
#pragma unroll
    for (int h = 0; h < CHUNKS; h++) {
      const int i = h * HRPB_LANES + lane;

      good = good && (i >= n || fabs(z[h] - sum * V[i * ld + j]) <= limit);
    }
    if (lane == 0) values[j] = sum;
  }
  return BlockMost(good ? 0 : 1, r.sums) == 0;
}

/* Z = Q V, with Q of the vectors in work */
static __device__ __forceinline__ void BackTransform(const Room &r, const double *work, const double *V, int n, int k, int ld, HrpbScalar *Z)
{
  const int lane = threadIdx.x % HRPB_LANES, warp = threadIdx.x / HRPB_LANES;

  for (int j0 = warp * COLUMNS; j0 < k; j0 += WARPS * COLUMNS) {
    double z[COLUMNS][CHUNKS], v[CHUNKS], next[CHUNKS] = {};

#pragma unroll
    for (int h = 0; h < CHUNKS; h++) {
      const int i = h * HRPB_LANES + lane;

#pragma unroll
      for (int j = 0; j < COLUMNS; j++) z[j][h] = i < n && j0 + j < k ? V[i * ld + j0 + j] : 0;
    }
    if (lane < 1) next[0] = work[1];
    for (int i = 1; i < n; i++) {
      double        sum[COLUMNS] = {};
      const double *column       = work + (i + 1) * (i + 2) / 2;

#pragma unroll
      for (int h = 0; h < CHUNKS; h++) {
        v[h] = next[h];
        if (h * HRPB_LANES + lane < i + 1 && i + 1 < n) next[h] = column[h * HRPB_LANES + lane];
      }
#pragma unroll
      for (int h = 0; h < CHUNKS; h++) {
        if (h * HRPB_LANES >= i) break;
#pragma unroll
        for (int j = 0; j < COLUMNS; j++) sum[j] += v[h] * z[j][h];
      }
#pragma unroll
      for (int j = 0; j < COLUMNS; j++) sum[j] = WarpSum(sum[j]) * r.tau[i];
#pragma unroll
      for (int h = 0; h < CHUNKS; h++) {
        if (h * HRPB_LANES >= i) break;
#pragma unroll
        for (int j = 0; j < COLUMNS; j++) z[j][h] -= sum[j] * v[h];
      }
    }
#pragma unroll
    for (int h = 0; h < CHUNKS; h++) {
      const int i = h * HRPB_LANES + lane;

#pragma unroll
      for (int j = 0; j < COLUMNS; j++) {
        if (i < n && j0 + j < k) Z[(j0 + j) * n + i] = (HrpbScalar)z[j][h];
      }
    }
  }
}

static __global__ void __launch_bounds__(THREADS) EigenKernel(const __grid_constant__ EigenArgs a)
{
  extern __shared__ __align__(16) double memory[];
  const int                              n = a.e.n, k = a.e.k, ld = a.ld;
  const Room                             r = MakeRoom(memory, n, k, ld);
  double *const work = (double *)a.e.work, *const V = r.A, *const G = V + n * ld;
  double most = 0, scale, norm = 0, larger, least;
  bool   number = true;

  if (threadIdx.x == 0) *a.e.good = 0;
  for (int c = threadIdx.x / HRPB_LANES; c < n; c += WARPS) {
    for (int i = threadIdx.x % HRPB_LANES; i <= c; i += HRPB_LANES) {
      const double x = a.e.A[c * n + i];

      r.A[c * (c + 1) / 2 + i] = x;
      most                     = fmax(most, fabs(x));
      number                   = number && x - x == 0;
    }
  }
  most = BlockMost(number ? most : HUGE_VAL, r.sums);
  if (!(most > 0 && most < HUGE_VAL)) return;
  scale = ToOne(most); /* squares neither overflow nor vanish */
  for (int e = threadIdx.x; e < n * (n + 1) / 2; e += THREADS) r.A[e] *= scale;
  __syncthreads();
  Tridiagonal(r, n);
  for (int e = threadIdx.x; e < n * (n + 1) / 2; e += THREADS) work[e] = r.A[e];
  if ((int)threadIdx.x < n) {
    const int i = threadIdx.x;

    norm = fabs(r.d[i]) + (i ? fabs(r.e[i - 1]) : 0) + (i < n - 1 ? fabs(r.e[i]) : 0);
  }
  larger = ToOne(BlockMost(norm, r.sums));
  if ((int)threadIdx.x < n) {
    const double d = larger * r.d[threadIdx.x], e = (int)threadIdx.x < n - 1 ? larger * r.e[threadIdx.x] : 0;

    r.d[threadIdx.x]  = d;
    r.e[threadIdx.x]  = e;
    r.e2[threadIdx.x] = fmax(e * e, 1e-44); /* so minors do not vanish. It is far less than rounding */
  }
  __syncthreads();
  Values(r, n, k);
  if ((int)threadIdx.x < k) Twisted(r, n, ld, r.v[0][threadIdx.x], V + threadIdx.x);
  __syncthreads();
  least = Orthonormalize(V, n, k, ld, G);
  if (least > 0.01 && least < 0.99) least = fmin(least, Orthonormalize(V, n, k, ld, G));
  if (!(least > 0.01)) return;
  if (!AreEigenvectors(r, V, n, k, ld, r.v[1])) return;
  BackTransform(r, work, V, n, k, ld, a.e.Z);
  if ((int)threadIdx.x < k) a.e.values[threadIdx.x] = (HrpbScalar)(r.v[1][threadIdx.x] / larger / scale);
  if (threadIdx.x == 0) *a.e.good = 1;
}

size_t BlockEigenWork(int32_t n)
{
  return sizeof(double) * (size_t)n * ((size_t)n + 1) / 2;
}

HrpbError BlockEigenvectors(const BlockEigen *e, HrpbStream stream)
{
  const EigenArgs   a     = {*e, e->k | 1};
  const size_t      bytes = SharedBytes((size_t)e->n, (size_t)e->k, (size_t)a.ld);
  const SpmmDevice *device;

  HrpbCall(SpmmGetDevice(&device));
  if (e->n < 4 || e->n > MOST || e->k < 1 || e->k > e->n || bytes > (size_t)device->shared_cta) return HRPB_ERR_UNSUPPORTED;
  HrpbCallCuda(cudaFuncSetAttribute(EigenKernel, cudaFuncAttributeMaxDynamicSharedMemorySize, (int)bytes));
  return HrpbLaunch(EigenKernel, 1, THREADS, bytes, stream, a);
}
#endif
