/*
   Arithmetic with blocks on a device.

   All of it is limited by memory. A block of n rows and N columns has s = n N sizeof(number) bytes. Bytes that go
   through memory, where no coefficient is zero:

     dots     (nx + 1) s          nx blocks X and one Y, which is read once for MOST_X of them
     axpby    3 s                 2 s where b is zero, nothing where a is zero and b one
     maxpy    (nx + 2) s          Y is read and written once for MOST_X blocks X
     cg_step  3 s                 2 are read, 1 written. The sums cost nothing more
     cg_direction  5 s            3 are read, 2 written; 3 s without X
     smooth   5 s, and D as below
     scale    2 s, and D N/COLUMNS times, from L2 where it fits

   Tiles, and how sums are made: tile.cuh.
*/
#include <algorithm>

#include "tile.cuh"

enum {
  PARTS       = sizeof(BlockNumber) / sizeof(HrpbScalar), /* of a number */
  MOST_BLOCKS = 65535, /* of a grid, in its second dimension */
  MOST_MOVED  = 128,   /* columns that one kernel moves */
  COLUMNS     = 8,     /* that share what is read of D */
  SHARED      = 49152  /* bytes that a thread block may always have */
};

/* sums[k] = the sum of its ntiles parts, by one warp */
static __global__ void __launch_bounds__(THREADS) SumTiles(const BlockNumber *parts, int64_t ntiles, int64_t nsums, BlockNumber *sums)
{
  HrpbWaitForKernelBefore();
  SumParts(parts, ntiles, nsums, sums);
}

namespace {
struct DotsArgs {
  BlockIn      X[MOST_X], Y;
  BlockNumber *parts;
  int64_t      n, N;
  int32_t      nx;
};

struct UpdateArgs {
  BlockIn            X;
  BlockOut           Y;
  const BlockNumber *a, *b;
  int64_t            n, N;
};

struct SumArgs {
  BlockIn            X[MOST_X];
  BlockOut           Y;
  const BlockNumber *coef;
  HrpbScalar         sign;
  int64_t            n, N;
  int32_t            nx;
};

struct StepArgs {
  BlockStep    t;
  BlockNumber *parts; /* or NULL */
  int64_t      n, N;
};

struct DirectionArgs {
  BlockDirection t;
  int64_t        n, N;
};

struct ResidualArgs {
  BlockIn            X, Y;
  BlockOut           R;
  const BlockNumber *a;
  BlockNumber       *parts; /* or NULL */
  int64_t            n, N;
};

struct MoveArgs {
  BlockIn  X;
  BlockOut Y;
  int64_t  n;
  int32_t  N;
  HrpbInt  from[MOST_MOVED], to[MOST_MOVED];
};

struct SmoothArgs {
  BlockSmooth t;
  int64_t     n, N;
};

struct InvertArgs {
  BlockInvert t;
  int64_t     N;
  bool        shared; /* the matrix is worked on in shared memory, else where the results go */
};

struct ScaleArgs {
  BlockIn            X;
  BlockOut           Y;
  const BlockNumber *D;
  int64_t            n, N;
  int32_t            dblock, row, column; /* entry i, k of a block is at i row + k column */
};
} // namespace

static __global__ void __launch_bounds__(THREADS) DotsKernel(const __grid_constant__ DotsArgs a)
{
  __shared__ BlockNumber sums[HRPB_WARPS][MOST_X];
  const int64_t          i0 = (int64_t)blockIdx.x * TILE, rows = a.n - i0;
  BlockNumber            x[ENTRIES], y[ENTRIES];

  for (int64_t j = blockIdx.y; j < a.N; j += gridDim.y) {
    Load(a.Y.array + j * a.Y.ld + i0, rows, y);
    for (int32_t i = 0; i < a.nx; i++) {
      Load(a.X[i].array + j * a.X[i].ld + i0, rows, x);
      LeaveWarpSum(sums, i, WarpDot(x, y));
    }
    SumWarps(sums, a.nx, a.parts + j * gridDim.x + blockIdx.x, a.N * gridDim.x);
  }
}

static __global__ void __launch_bounds__(THREADS) AXPBYKernel(const __grid_constant__ UpdateArgs u)
{
  const int64_t i0 = (int64_t)blockIdx.x * TILE, rows = u.n - i0;

  for (int64_t j = blockIdx.y; j < u.N; j += gridDim.y) {
    const BlockNumber a = Coefficient(u.a, j), b = Coefficient(u.b, j);
    BlockNumber       x[ENTRIES] = {}, y[ENTRIES] = {};

    if (a == 0 && b == 1) continue;
    if (a != 0) Load(u.X.array + j * u.X.ld + i0, rows, x);
    if (b != 0) Load(u.Y.array + j * u.Y.ld + i0, rows, y);
#pragma unroll
    for (int e = 0; e < ENTRIES; e++) {
      y[e] = b != 0 ? b * y[e] : (BlockNumber)0;
      if (a != 0) y[e] += a * x[e];
    }
    Store(u.Y.array + j * u.Y.ld + i0, rows, y);
  }
}

static __global__ void __launch_bounds__(THREADS) MAXPYKernel(const __grid_constant__ SumArgs a)
{
  const int64_t i0 = (int64_t)blockIdx.x * TILE, rows = a.n - i0;

  for (int64_t j = blockIdx.y; j < a.N; j += gridDim.y) {
    BlockNumber *const column = a.Y.array + j * a.Y.ld + i0;
    BlockNumber        x[ENTRIES], y[ENTRIES];
    bool               loaded = false;

    for (int32_t i = 0; i < a.nx; i++) {
      const BlockNumber c = a.sign * Coefficient(a.coef, i * a.N + j);

      if (c == 0) continue;
      Load(a.X[i].array + j * a.X[i].ld + i0, rows, x);
      if (!loaded) Load(column, rows, y);
      loaded = true;
#pragma unroll
      for (int e = 0; e < ENTRIES; e++) y[e] += c * x[e];
    }
    if (loaded) Store(column, rows, y);
  }
}

static __global__ void __launch_bounds__(THREADS) CGStepKernel(const __grid_constant__ StepArgs s)
{
  __shared__ BlockNumber sums[HRPB_WARPS][MOST_X];
  const int64_t          i0 = (int64_t)blockIdx.x * TILE, rows = s.n - i0;
  const BlockStep       &t = s.t;

  for (int64_t j = blockIdx.y; j < s.N; j += gridDim.y) {
    BlockNumber *const R = t.R.array + j * t.R.ld + i0;
    BlockNumber        kept[2], w[ENTRIES], r[ENTRIES];
    const BlockNumber  a = BlockStepLength(&t.lengths, j, kept);

    if (blockIdx.x == 0 && threadIdx.x == 0) {
      t.lengths.kept[j]       = kept[0];
      t.lengths.kept[s.N + j] = kept[1];
      t.lengths.step[j]       = a;
    }
    if (a != 0) {
      Load(t.W.array + j * t.W.ld + i0, rows, w);
      Load(R, rows, r);
#pragma unroll
      for (int e = 0; e < ENTRIES; e++) r[e] -= a * w[e];
      Store(R, rows, r);
    } else if (s.parts) Load(R, rows, r);
    if (!s.parts) continue;
    if (t.kind) {
      BlockNumber z[ENTRIES];

      Load(t.D + i0, rows, z);
#pragma unroll
      for (int e = 0; e < ENTRIES; e++) z[e] *= r[e];
      LeaveWarpSum(sums, 0, WarpDot(r, z));
      LeaveWarpSum(sums, 1, t.kind == BLOCK_STEP_WITH_Z ? WarpDot(z, z) : WarpDot(r, r));
    } else LeaveWarpSum(sums, 0, WarpDot(r, r));
    SumWarps(sums, t.kind ? 2 : 1, s.parts + j * gridDim.x + blockIdx.x, s.N * gridDim.x);
  }
}

static __global__ void __launch_bounds__(THREADS) CGDirectionKernel(const __grid_constant__ DirectionArgs d)
{
  const int64_t         i0 = (int64_t)blockIdx.x * TILE, rows = d.n - i0;
  const BlockDirection &t = d.t;

  for (int64_t j = blockIdx.y; j < d.N; j += gridDim.y) {
    BlockNumber *const P = t.P.array + j * t.P.ld + i0;
    const BlockNumber  a = Coefficient(t.active, j), b = a != 0 ? BlockScalar(BLOCK_DIVIDE, t.now[j], t.before[j]) : (BlockNumber)0;
    const BlockNumber  step = t.X.array ? t.step[j] : (BlockNumber)0;
    BlockNumber        p[ENTRIES] = {}, x[ENTRIES];

    if (b != 0 || step != 0) Load(P, rows, p);
    if (step != 0) {
      BlockNumber *const X = t.X.array + j * t.X.ld + i0;

      Load(X, rows, x);
#pragma unroll
      for (int e = 0; e < ENTRIES; e++) x[e] += step * p[e];
      Store(X, rows, x);
    }
    if (a != 0) {
      BlockNumber r[ENTRIES];

      Load(t.R.array + j * t.R.ld + i0, rows, r);
      Load(t.D + i0, rows, x);
#pragma unroll
      for (int e = 0; e < ENTRIES; e++) x[e] *= r[e];
    }
#pragma unroll
    for (int e = 0; e < ENTRIES; e++) {
      p[e] = b != 0 ? b * p[e] : (BlockNumber)0;
      if (a != 0) p[e] += a * x[e];
    }
    Store(P, rows, p);
  }
}

static __global__ void __launch_bounds__(THREADS) ResidualKernel(const __grid_constant__ ResidualArgs s)
{
  __shared__ BlockNumber sums[HRPB_WARPS][MOST_X];
  const int64_t          i0 = (int64_t)blockIdx.x * TILE, rows = s.n - i0;

  for (int64_t j = blockIdx.y; j < s.N; j += gridDim.y) {
    const BlockNumber a = Coefficient(s.a, j);
    BlockNumber       x[ENTRIES], r[ENTRIES];

    Load(s.Y.array + j * s.Y.ld + i0, rows, r);
    if (a != 0) {
      Load(s.X.array + j * s.X.ld + i0, rows, x);
#pragma unroll
      for (int e = 0; e < ENTRIES; e++) r[e] -= a * x[e];
    }
    Store(s.R.array + j * s.R.ld + i0, rows, r);
    if (!s.parts) continue;
    LeaveWarpSum(sums, 0, WarpDot(r, r));
    SumWarps(sums, 1, s.parts + j * gridDim.x + blockIdx.x, s.N * gridDim.x);
  }
}

/* A thread moves its entries of all columns, so that their order is that of the columns */
static __global__ void __launch_bounds__(THREADS) MoveKernel(const __grid_constant__ MoveArgs m)
{
  const int64_t i0 = (int64_t)blockIdx.x * TILE, rows = m.n - i0;
  BlockNumber   x[ENTRIES];

  for (int32_t k = 0; k < m.N; k++) {
    Load(m.X.array + (int64_t)m.from[k] * m.X.ld + i0, rows, x);
    Store(m.Y.array + (int64_t)m.to[k] * m.Y.ld + i0, rows, x);
  }
}

static __global__ void __launch_bounds__(THREADS)
  ScalarsKernel(BlockScalarOp op, int64_t N, const BlockNumber *active, BlockNumber *out, const BlockNumber *x, const BlockNumber *y)
{
  for (int64_t j = (int64_t)blockIdx.x * THREADS + threadIdx.x; j < N; j += (int64_t)gridDim.x * THREADS)
    out[j] = Coefficient(active, j) != 0 ? BlockScalar(op, Coefficient(x, j), Coefficient(y, j)) : (BlockNumber)0;
}

/*
   One thread block, and no more than LANES columns. A lane has a row, and of it each column of its warp, in registers.
   The column of the pivot goes through shared memory, in two places by turns, so that a sweep waits once
*/
static __global__ void __launch_bounds__(THREADS) InvertFewKernel(const __grid_constant__ InvertArgs a)
{
  __shared__ BlockNumber column[2][HRPB_LANES], inverse[HRPB_LANES][HRPB_LANES], C[HRPB_LANES][HRPB_LANES];
  constexpr int          COUNT = HRPB_LANES / HRPB_WARPS;
  const BlockInvert     &t     = a.t;
  const int              N = (int)a.N, n = (int)t.rank, i = threadIdx.x % HRPB_LANES, warp = threadIdx.x / HRPB_LANES;
  BlockNumber            x[COUNT];
  bool                   good = true;

  HrpbWaitForKernelBefore();
  if (warp == 0 && i < N) t.pivots[i] = 1;
#pragma unroll
  for (int q = 0; q < COUNT; q++) {
    const int j = q * HRPB_WARPS + warp;

    x[q]    = i < N && j < N ? (t.H[j * N + i] + BlockConj(t.H[i * N + j])) / 2 : (BlockNumber)0;
    C[j][i] = i < n && j < N && t.active[j] != 0 ? t.C[j * N + i] : (BlockNumber)0;
  }
  __syncthreads(); /* the pivots are ones */
#pragma unroll
  for (int r = 0; r < COUNT; r++) {
    for (int k = r * HRPB_WARPS; k < (r + 1) * HRPB_WARPS && k < n && good; k++) {
      BlockNumber *const now = column[k % 2];

      if (k % HRPB_WARPS == warp) now[i] = x[r];
      __syncthreads();
      const HrpbScalar pivot = BlockReal(now[k]), over = 1 / pivot;

      if (threadIdx.x == 0) t.pivots[k] = pivot;
      good = pivot > 0;
#pragma unroll
      for (int q = 0; q < COUNT; q++) {
        const int j = q * HRPB_WARPS + warp;

        if (i < n && j < n) x[q] = BlockSweep(x[q], now[i], now[j], over, i == k, j == k);
      }
    }
  }
#pragma unroll
  for (int q = 0; q < COUNT; q++) {
    const int j = q * HRPB_WARPS + warp;

    inverse[j][i] = good && i < n && j < n ? -x[q] : (BlockNumber)0;
    if (i < N && j < N) t.inverse[j * N + i] = inverse[j][i];
  }
  __syncthreads();
  for (int j = warp; j < N && i < N; j += HRPB_WARPS) {
    BlockNumber sum = 0;

    for (int k = 0; k < n && good; k++) sum += inverse[k][i] * C[j][k];
    t.step[j * N + i] = sum;
  }
}

/* The same for any number of columns. As on the host, with all entries of a sweep at once */
static __global__ void __launch_bounds__(THREADS) InvertKernel(const __grid_constant__ InvertArgs a)
{
  extern __shared__ BlockNumber square[];
  const BlockInvert            &t = a.t;
  const int32_t                 N = (int32_t)a.N, n = (int32_t)t.rank, size = N * N;
  BlockNumber *const A = a.shared ? square : t.inverse, *const column = a.shared ? square + size : t.step;
  bool good = true;

  for (int32_t e = threadIdx.x; e < N; e += THREADS) t.pivots[e] = 1;
  for (int32_t e = threadIdx.x; e < size; e += THREADS) A[e] = (t.H[e] + BlockConj(t.H[e % N * N + e / N])) / 2;
  __syncthreads();
  for (int32_t k = 0; k < n && good; k++) {
    const HrpbScalar pivot = BlockReal(A[k * N + k]), over = 1 / pivot;

    for (int32_t i = threadIdx.x; i < n; i += THREADS) column[i] = A[k * N + i];
    if (threadIdx.x == 0) t.pivots[k] = pivot;
    good = pivot > 0;
    __syncthreads();
    for (int32_t j = threadIdx.x / HRPB_LANES; j < n; j += HRPB_WARPS) { /* a warp has a column */
      for (int32_t i = threadIdx.x % HRPB_LANES; i < n; i += HRPB_LANES) A[j * N + i] = BlockSweep(A[j * N + i], column[i], column[j], over, i == k, j == k);
    }
    __syncthreads();
  }
  for (int32_t e = threadIdx.x; e < size; e += THREADS) {
    const BlockNumber x = good && e % N < n && e / N < n ? -A[e] : (BlockNumber)0;

    A[e] = t.inverse[e] = x;
  }
  __syncthreads();
  for (int32_t e = threadIdx.x; e < size; e += THREADS) {
    BlockNumber sum = 0;

    for (int32_t k = 0; k < n && good && t.active[e / N] != 0; k++) sum += A[k * N + e % N] * t.C[e / N * N + k];
    t.step[e] = sum;
  }
}

/* COLUMNS columns with the same entries of a diagonal, which stay in registers */
static __global__ void __launch_bounds__(THREADS) DiagonalKernel(const __grid_constant__ ScaleArgs s)
{
  const int64_t i0 = (int64_t)blockIdx.x * TILE, rows = s.n - i0;
  BlockNumber   d[ENTRIES], x[ENTRIES];

  Load(s.D + i0, rows, d);
  for (int64_t j0 = (int64_t)blockIdx.y * COLUMNS; j0 < s.N; j0 += (int64_t)gridDim.y * COLUMNS) {
    for (int64_t j = j0; j < j0 + COLUMNS && j < s.N; j++) {
      Load(s.X.array + j * s.X.ld + i0, rows, x);
#pragma unroll
      for (int e = 0; e < ENTRIES; e++) x[e] *= d[e];
      Store(s.Y.array + j * s.Y.ld + i0, rows, x);
    }
  }
}

/* The same for a step of a smoother */
static __global__ void __launch_bounds__(THREADS) SmoothKernel(const __grid_constant__ SmoothArgs s)
{
  const int64_t      i0 = (int64_t)blockIdx.x * TILE, rows = s.n - i0;
  const BlockSmooth &t          = s.t;
  BlockNumber        d[ENTRIES] = {}, x[ENTRIES], y[ENTRIES];

  if (t.c != 0) Load(t.D + i0, rows, d);
#pragma unroll
  for (int e = 0; e < ENTRIES; e++) d[e] *= t.c;
  for (int64_t j0 = (int64_t)blockIdx.y * COLUMNS; j0 < s.N; j0 += (int64_t)gridDim.y * COLUMNS) {
    for (int64_t j = j0; j < j0 + COLUMNS && j < s.N; j++) {
#pragma unroll
      for (int e = 0; e < ENTRIES; e++) y[e] = 0;
      if (t.c != 0) {
        Load(t.B.array + j * t.B.ld + i0, rows, y);
        if (t.W.array) {
          Load(t.W.array + j * t.W.ld + i0, rows, x);
#pragma unroll
          for (int e = 0; e < ENTRIES; e++) y[e] -= x[e];
        }
#pragma unroll
        for (int e = 0; e < ENTRIES; e++) y[e] *= d[e];
      }
      if (t.b != 0) {
        Load(t.X.array + j * t.X.ld + i0, rows, x);
#pragma unroll
        for (int e = 0; e < ENTRIES; e++) y[e] += t.b * x[e];
      }
      if (t.a != 0) {
        Load(t.Y0.array + j * t.Y0.ld + i0, rows, x);
#pragma unroll
        for (int e = 0; e < ENTRIES; e++) y[e] += t.a * x[e];
      }
      Store(t.Y.array + j * t.Y.ld + i0, rows, y);
    }
  }
}

/* A row of blocks for each thread, and COLUMNS columns. Neighbours read the same entries of X, which come from L1 */
static __global__ void __launch_bounds__(THREADS) BlocksKernel(const __grid_constant__ ScaleArgs s)
{
  const int64_t i = (int64_t)blockIdx.x * THREADS + threadIdx.x, first = i / s.dblock * s.dblock;
  const int64_t d = first * s.dblock + (i - first) * s.row; /* the first entry of the row */

  if (i >= s.n) return;
  for (int64_t j0 = (int64_t)blockIdx.y * COLUMNS; j0 < s.N; j0 += (int64_t)gridDim.y * COLUMNS) {
    const BlockNumber *X            = s.X.array + j0 * s.X.ld + first;
    const int          columns      = (int)min((int64_t)COLUMNS, s.N - j0);
    BlockNumber        sum[COLUMNS] = {};

    for (int32_t k = 0; k < s.dblock; k++) {
      const BlockNumber entry = s.D[d + (int64_t)k * s.column];

#pragma unroll
      for (int c = 0; c < COLUMNS; c++) {
        if (c < columns) sum[c] += entry * X[c * s.X.ld + k];
      }
    }
#pragma unroll
    for (int c = 0; c < COLUMNS; c++) {
      if (c < columns) s.Y.array[(j0 + c) * s.Y.ld + i] = sum[c];
    }
  }
}

/* The same for a step of a smoother */
static __global__ void __launch_bounds__(THREADS) SmoothBlocksKernel(const __grid_constant__ SmoothArgs s)
{
  const BlockSmooth       &t = s.t;
  const int64_t            i = (int64_t)blockIdx.x * THREADS + threadIdx.x, first = i / t.dblock * t.dblock;
  const BlockNumber *const D = t.D + first * t.dblock + (i - first);

  if (i >= s.n) return;
  for (int64_t j0 = (int64_t)blockIdx.y * COLUMNS; j0 < s.N; j0 += (int64_t)gridDim.y * COLUMNS) {
    const int   columns    = (int)min((int64_t)COLUMNS, s.N - j0);
    BlockNumber y[COLUMNS] = {};

    for (int32_t k = 0; k < t.dblock && t.c != 0; k++) {
      const BlockNumber entry = t.c * D[(int64_t)k * t.dblock];

#pragma unroll
      for (int c = 0; c < COLUMNS; c++) {
        if (c < columns) y[c] += entry * (t.B.array[(j0 + c) * t.B.ld + first + k] - (t.W.array ? t.W.array[(j0 + c) * t.W.ld + first + k] : 0));
      }
    }
#pragma unroll
    for (int c = 0; c < COLUMNS; c++) {
      if (c >= columns) continue;
      if (t.b != 0) y[c] += t.b * t.X.array[(j0 + c) * t.X.ld + i];
      if (t.a != 0) y[c] += t.a * t.Y0.array[(j0 + c) * t.Y0.ld + i];
      t.Y.array[(j0 + c) * t.Y.ld + i] = y[c];
    }
  }
}

/* A thread block for each tile of each column, or of a group of columns */
static dim3 Grid(const BlockShape *s, int64_t columns = 1)
{
  return dim3(HrpbGrid(s->n, TILE), HrpbGrid(s->N, columns, MOST_BLOCKS));
}

static bool IsEmpty(const BlockShape *s)
{
  return s->n == 0 || s->N == 0;
}

static size_t Work(int64_t n, int64_t N, int64_t nx)
{
  return sizeof(BlockNumber) * (size_t)(std::min(nx, (int64_t)MOST_X) * N * Tiles(n));
}

HrpbError BlockSumParts(const BlockShape *s, int64_t nparts, int64_t nsums, BlockNumber *sums)
{
  if (nsums == 0) return HRPB_SUCCESS;
  return LaunchAs(nparts == 0, SumTiles, dim3(HrpbGrid(nsums, HRPB_WARPS)), THREADS, 0, s->stream, (const BlockNumber *)s->work, nparts,
    nsums, sums);
}

/* nx N sums of the parts that the kernel before has left in the workspace. A block without rows has no parts */
static HrpbError Sum(const BlockShape *s, int64_t nx, BlockNumber *sums)
{
  return BlockSumParts(s, Tiles(s->n), nx * s->N, sums);
}

static HrpbError Dots(const BlockShape *s, int64_t nx, const BlockIn X[], BlockIn Y, BlockNumber *dots)
{
  DotsArgs a;

  a.Y     = Y;
  a.parts = (BlockNumber *)s->work;
  a.n     = s->n;
  a.N     = s->N;
  for (int64_t first = 0; first < nx; first += MOST_X) {
    a.nx = (int32_t)std::min(nx - first, (int64_t)MOST_X);
    std::copy(X + first, X + first + a.nx, a.X);
    if (!IsEmpty(s)) {
      HrpbCall(HrpbLaunch(DotsKernel, Grid(s), THREADS, 0, s->stream, a));
    }
    HrpbCall(Sum(s, a.nx, dots + first * s->N));
  }
  return HRPB_SUCCESS;
}

static HrpbError AXPBY(const BlockShape *s, BlockOut Y, const BlockNumber *a, BlockIn X, const BlockNumber *b)
{
  const UpdateArgs u = {X, Y, a, b, s->n, s->N};

  if (IsEmpty(s)) return HRPB_SUCCESS;
  HrpbCall(HrpbLaunch(AXPBYKernel, Grid(s), THREADS, 0, s->stream, u));
  return HRPB_SUCCESS;
}

static HrpbError MAXPY(const BlockShape *s, BlockOut Y, HrpbScalar sign, int64_t nx, const BlockNumber *coef, const BlockIn X[])
{
  SumArgs a;

  if (IsEmpty(s)) return HRPB_SUCCESS;
  a.Y    = Y;
  a.sign = sign;
  a.n    = s->n;
  a.N    = s->N;
  for (int64_t first = 0; first < nx; first += MOST_X) {
    a.nx   = (int32_t)std::min(nx - first, (int64_t)MOST_X);
    a.coef = coef ? coef + first * s->N : NULL;
    std::copy(X + first, X + first + a.nx, a.X);
    HrpbCall(HrpbLaunch(MAXPYKernel, Grid(s), THREADS, 0, s->stream, a));
  }
  return HRPB_SUCCESS;
}

/* Without rows there are lengths all the same */
static HrpbError CGStep(const BlockShape *s, const BlockStep *t, BlockNumber *sums)
{
  const StepArgs step = {*t, sums && s->n ? (BlockNumber *)s->work : NULL, s->n, s->N};
  const dim3     grid = Grid(s);

  if (s->N == 0) return HRPB_SUCCESS;
  HrpbCall(HrpbLaunch(CGStepKernel, dim3(std::max(grid.x, 1u), grid.y), THREADS, 0, s->stream, step));
  return sums ? Sum(s, t->kind ? 2 : 1, sums) : HRPB_SUCCESS;
}

static HrpbError CGDirection(const BlockShape *s, const BlockDirection *t)
{
  const DirectionArgs d = {*t, s->n, s->N};

  if (IsEmpty(s)) return HRPB_SUCCESS;
  HrpbCall(HrpbLaunch(CGDirectionKernel, Grid(s), THREADS, 0, s->stream, d));
  return HRPB_SUCCESS;
}

static HrpbError Residual(const BlockShape *s, BlockIn Y, const BlockNumber *a, BlockIn X, BlockOut R, BlockNumber *sums)
{
  const ResidualArgs r = {X, Y, R, a, sums ? (BlockNumber *)s->work : NULL, s->n, s->N};

  if (!IsEmpty(s)) {
    HrpbCall(HrpbLaunch(ResidualKernel, Grid(s), THREADS, 0, s->stream, r));
  }
  return sums ? Sum(s, 1, sums) : HRPB_SUCCESS;
}

static HrpbError Smooth(const BlockShape *s, const BlockSmooth *t)
{
  const SmoothArgs a = {*t, s->n, s->N};

  if (IsEmpty(s)) return HRPB_SUCCESS;
  if (t->dblock == 1) HrpbCall(HrpbLaunch(SmoothKernel, Grid(s, COLUMNS), THREADS, 0, s->stream, a));
  else HrpbCall(HrpbLaunch(SmoothBlocksKernel, dim3(HrpbGrid(s->n, THREADS), HrpbGrid(s->N, COLUMNS, MOST_BLOCKS)), THREADS, 0, s->stream, a));
  return HRPB_SUCCESS;
}

static HrpbError Copy(const BlockShape *s, BlockIn X, BlockOut Y)
{
  return IsEmpty(s) || X.array == Y.array
           ? HRPB_SUCCESS
           : HrpbCopyColumns((HrpbScalar *)Y.array, PARTS * Y.ld, (const HrpbScalar *)X.array, PARTS * X.ld, PARTS * s->n, s->N, s->stream);
}

static HrpbError Zero(const BlockShape *s, BlockOut Y)
{
  return IsEmpty(s) ? HRPB_SUCCESS : HrpbZeroColumns((HrpbScalar *)Y.array, PARTS * Y.ld, PARTS * s->n, s->N, s->stream);
}

static HrpbError Move(const BlockShape *s, const HrpbInt *from, const HrpbInt *to, BlockIn X, BlockOut Y)
{
  MoveArgs m;

  if (IsEmpty(s)) return HRPB_SUCCESS;
  m.X = X;
  m.Y = Y;
  m.n = s->n;
  for (int64_t first = 0; first < s->N; first += MOST_MOVED) {
    m.N = (int32_t)std::min(s->N - first, (int64_t)MOST_MOVED);
    for (int32_t k = 0; k < m.N; k++) {
      m.from[k] = from ? from[first + k] : (HrpbInt)(first + k);
      m.to[k]   = to ? to[first + k] : (HrpbInt)(first + k);
    }
    HrpbCall(HrpbLaunch(MoveKernel, HrpbGrid(s->n, TILE), THREADS, 0, s->stream, m));
  }
  return HRPB_SUCCESS;
}

static HrpbError Scalars(const BlockShape *s, BlockScalarOp op, const BlockNumber *active, BlockNumber *out, const BlockNumber *x,
  const BlockNumber *y)
{
  if (s->N == 0) return HRPB_SUCCESS;
  HrpbCall(HrpbLaunch(ScalarsKernel, HrpbGrid(s->N, THREADS, MOST_BLOCKS), THREADS, 0, s->stream, op, s->N, active, out, x, y));
  return HRPB_SUCCESS;
}

static HrpbError Invert(const BlockShape *s, const BlockInvert *t)
{
  enum {
    MOST = 1 << 15 /* numbers of entries are 32 bits */
  };
  const size_t     bytes = sizeof(BlockNumber) * (size_t)(s->N * s->N + s->N);
  const InvertArgs a     = {*t, s->N, bytes <= SHARED};

  if (s->N == 0) return HRPB_SUCCESS;
  if (s->N > MOST) return HRPB_ERR_UNSUPPORTED;
  if (s->N <= HRPB_LANES) HrpbCall(LaunchAfter(InvertFewKernel, dim3(1), THREADS, 0, s->stream, a));
  else HrpbCall(HrpbLaunch(InvertKernel, 1, THREADS, a.shared ? bytes : 0, s->stream, a));
  return HRPB_SUCCESS;
}

static HrpbError Scale(const BlockShape *s, const BlockNumber *D, int32_t dblock, bool transpose, BlockIn X, BlockOut Y)
{
  const ScaleArgs a = {X, Y, D, s->n, s->N, dblock, transpose ? dblock : 1, transpose ? 1 : dblock};

  if (IsEmpty(s)) return HRPB_SUCCESS;
  if (dblock == 1) HrpbCall(HrpbLaunch(DiagonalKernel, Grid(s, COLUMNS), THREADS, 0, s->stream, a));
  else HrpbCall(HrpbLaunch(BlocksKernel, dim3(HrpbGrid(s->n, THREADS), HrpbGrid(s->N, COLUMNS, MOST_BLOCKS)), THREADS, 0, s->stream, a));
  return HRPB_SUCCESS;
}

const BlockOps BlockOpsDevice = {
  .work     = Work,
  .dots     = Dots,
  .axpby    = AXPBY,
  .maxpy    = MAXPY,
  .cg_step  = CGStep,
  .cg_direction = CGDirection,
  .cg_iterate   = BlockCGIterate,
  .residual = Residual,
  .smooth   = Smooth,
  .copy     = Copy,
  .zero     = Zero,
  .move     = Move,
  .scalars  = Scalars,
  .invert   = Invert,
  .scale    = Scale,
#if !defined(HRPB_USE_SINGLE) && !defined(HRPB_USE_COMPLEX)
  .square    = BLOCK_SQUARE,
  .gram_work = BlockGramWork,
  .gram      = BlockGramProducts,
  .combine   = BlockCombine,

  .combine_gram = BlockCombineGram,
  .factor       = BlockFactorize
#endif
};
