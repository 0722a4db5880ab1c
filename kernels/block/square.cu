/*
   Blocks times square matrices, and products of two blocks, on tensor cores in double. They are what a method does in
   which all columns share a Krylov space.

   A block of n rows and N columns has s = n N 8 bytes. Bytes that go through memory:

     combine  (terms + 1) s   (terms + 2) s if it is added
     gram     2 s             s where Y is D X, for one product or two

   cuBLAS reads the result again for each term but the first, and a block again for each product.

   A warp has 16 rows at a time. A step of a tensor core is 16 x 4 times 4 x 8 (mma.cuh). With lane = 4 g + k:

     combine  Y^T = K^T X^T. A lane has rows 2 g and 2 g + 1 of each fourth column of X, in one load. Even rows are one
              step, odd rows another. Of Y a lane has rows 4 k to 4 k + 3 of each eighth column.
     gram     X^T Y. A lane has rows 2 k and 2 k + 1 of each eighth column, in one load, and the same of the next 8 rows.
              Which rows are in which step does not matter.

   Columns behind the last are zeros. So are rows.

   Sums of gram: a warp adds its rows, then a thread block its warps, then BlockSumParts() the thread blocks, all in a
   fixed order. How many thread blocks there are depends on n alone. So do bits.
*/
#include "block.cuh"
#include "../bricks/mma.cuh"

#if !defined(HRPB_USE_SINGLE)
enum {
  ROWS         = 16,  /* of a warp at a time */
  MOST_COMBINE = 528, /* thread blocks: four for each multiprocessor of an H100 */
  MOST_PARTS   = 264,
  PART         = ROWS * HRPB_WARPS /* rows of a part are a multiple of this */
};

namespace {
struct CombineArgs {
  BlockTerm term[2];
  BlockOut  Y;
  int64_t   n;
  int32_t   N, nterms;
  bool      add;
};

struct GramArgs {
  BlockGram g;
  double   *parts;
  int64_t   n, rows; /* rows of a part */
  int32_t   N;
};
} // namespace

/* Pairs of rows can be moved at once: there are all rows of a warp, and columns begin where they should */
static __device__ __forceinline__ bool Whole(const double *array, int64_t ld, int64_t rows)
{
  return rows >= ROWS && (uintptr_t)array % 16 == 0 && ld % 2 == 0;
}

/* Row i of a column and the next one, of so many rows. Zeros where there are none */
static __device__ __forceinline__ void LoadPair(const double *column, int i, int64_t rows, double x[2])
{
  x[0] = i < rows ? column[i] : 0;
  x[1] = i + 1 < rows ? column[i + 1] : 0;
}

static __device__ __forceinline__ void StorePair(double *column, int i, int64_t rows, const double x[2])
{
  if (i < rows) column[i] = x[0];
  if (i + 1 < rows) column[i + 1] = x[1];
}

/* Rows 2 g and 2 g + 1 of columns 4 s + k, from row i on, in x[s] */
template <int M>
static __device__ __forceinline__ void LoadTerm(const BlockTerm &t, int64_t i, int64_t rows, int32_t N, int g, int k, double x[4 * M][2])
{
  const double *X = t.X.array + k * t.X.ld + i;

  if (Whole(X - k * t.X.ld, t.X.ld, rows)) {
  #pragma unroll
    for (int s = 0; s < 4 * M; s++) {
      x[s][0] = x[s][1] = 0;
      if (4 * s + k < N) LoadPack(X + 4 * s * t.X.ld + 2 * g, x[s]);
    }
  } else {
  #pragma unroll
    for (int s = 0; s < 4 * M; s++) {
      x[s][0] = x[s][1] = 0;
      if (4 * s + k < N) LoadPair(X + 4 * s * t.X.ld, 2 * g, rows, x[s]);
    }
  }
  if (t.D) {
    double d[2];

    LoadPair(t.D + i, 2 * g, rows, d);
  #pragma unroll
    for (int s = 0; s < 4 * M; s++) x[s][0] *= d[0], x[s][1] *= d[1];
  }
}

/* The square matrix of a term, with its sign, as lanes want it: those of a step one after the other, each its two numbers */
template <int M>
static __device__ __forceinline__ void LoadSquare(const BlockTerm &t, int32_t N, double *square)
{
  for (int e = threadIdx.x; e < 256 * M * M; e += HRPB_THREADS) {
    const int out = e / (16 * M), in = e % (16 * M); /* column of Y, column of X */
    double    x = 0;

    if (in < N && out < N) x = t.sign * (t.transpose ? t.K[in * N + out] : t.K[out * N + in]);
    square[64 * (in / 4 * M + out / 16) + 2 * (4 * (out % 8) + in % 4) + out % 16 / 8] = x;
  }
}

/* Add what a lane has of 8 columns of Y, or replace them: rows 4 k to 4 k + 3 of one */
static __device__ __forceinline__ void LeaveRows(double *column, bool whole, int k, int64_t rows, bool add, double y[4])
{
  #pragma unroll
  for (int r = 0; r < 4; r += 2) {
    double before[2] = {};

    if (add) {
      if (whole) LoadPack(column + 4 * k + r, before);
      else LoadPair(column, 4 * k + r, rows, before);
    }
    y[r] += before[0], y[r + 1] += before[1];
    if (whole) StorePack(column + 4 * k + r, y + r);
    else StorePair(column, 4 * k + r, rows, y + r);
  }
}

/* At most 16 M columns */
template <int M>
static __global__ void __launch_bounds__(HRPB_THREADS, 2) CombineKernel(const __grid_constant__ CombineArgs a)
{
  __shared__ __align__(16) double squares[2][256 * M * M];
  const int                       lane = threadIdx.x % HRPB_LANES, g = lane / 4, k = lane % 4;
  const int64_t                   warp = (int64_t)blockIdx.x * HRPB_WARPS + threadIdx.x / HRPB_LANES;

  for (int32_t t = 0; t < a.nterms; t++) LoadSquare<M>(a.term[t], a.N, squares[t]);
  __syncthreads();
  for (int64_t i = warp * ROWS; i < a.n; i += (int64_t)gridDim.x * HRPB_WARPS * ROWS) {
    const int64_t rows         = a.n - i;
    const bool    whole        = Whole(a.Y.array + i, a.Y.ld, rows);
    double        sum[M][2][4] = {}, x[2][4 * M][2];

  #pragma unroll
    for (int t = 0; t < 2; t++) {
      if (t < a.nterms) LoadTerm<M>(a.term[t], i, rows, a.N, g, k, x[t]);
    }
  #pragma unroll
    for (int t = 0; t < 2; t++) {
      if (t >= a.nterms) break;
  #pragma unroll
      for (int s = 0; s < 4 * M; s++) {
  #pragma unroll
        for (int m = 0; m < M; m++) {
          double c[2];

          LoadPack(squares[t] + 64 * (s * M + m) + 2 * lane, c);
  #pragma unroll
          for (int e = 0; e < 2; e++) MmaFp64(sum[m][e], c[0], c[1], x[t][s][e]);
        }
      }
    }
  #pragma unroll
    for (int c = 0; c < 2 * M; c++) {
      double y[4];

  #pragma unroll
      for (int r = 0; r < 4; r++) y[r] = sum[c / 2][r % 2][c % 2 * 2 + r / 2];
      if (8 * c + g < a.N) LeaveRows(a.Y.array + (8 * c + g) * a.Y.ld + i, whole, k, rows, a.add, y);
    }
  }
}

/* Rows 2 k and 2 k + 1, and those 8 behind them, of columns 8 c + g, from row i on, in x[c] */
template <int M>
static __device__ __forceinline__ void LoadRows(BlockIn X, int64_t i, int64_t rows, int32_t N, int g, int k, double x[2 * M][4])
{
  const bool whole = Whole(X.array + i, X.ld, rows);

  #pragma unroll
  for (int c = 0; c < 2 * M; c++) {
    const double *column = X.array + (8 * c + g) * X.ld + i;

  #pragma unroll
    for (int h = 0; h < 4; h += 2) {
      x[c][h] = x[c][h + 1] = 0;
      if (8 * c + g >= N) continue;
      if (whole) LoadPack(column + 4 * h + 2 * k, x[c] + h);
      else LoadPair(column, 4 * h + 2 * k, rows, x[c] + h);
    }
  }
}

/* X and Y of those rows */
template <int M>
static __device__ __forceinline__ void LoadBoth(const GramArgs &a, int64_t i, int64_t rows, int g, int k, double x[2 * M][4], double y[2 * M][4])
{
  LoadRows<M>(a.g.X, i, rows, a.N, g, k, x);
  if (a.g.Y.array) LoadRows<M>(a.g.Y, i, rows, a.N, g, k, y);
  else {
    double d[4];

  #pragma unroll
    for (int h = 0; h < 4; h += 2) LoadPair(a.g.D + i, 4 * h + 2 * k, rows, d + h);
  #pragma unroll
    for (int c = 0; c < 2 * M; c++) {
  #pragma unroll
      for (int r = 0; r < 4; r++) y[c][r] = d[r] * x[c][r];
    }
  }
}

/* Products of 16 columns of X with 8 of Y: those that reach the diagonal or are above it, M (M + 1) of 16 M columns */
template <int M>
static __device__ __forceinline__ void AddGram(const double x[2 * M][4], const double y[2 * M][4], double (*sum)[4])
{
  int p = 0;

  #pragma unroll
  for (int i = 0; i < M; i++) {
  #pragma unroll
    for (int j = 2 * i; j < 2 * M; j++, p++) {
  #pragma unroll
      for (int r = 0; r < 4; r++) MmaFp64(sum[p], x[2 * i][r], x[2 * i + 1][r], y[j][r]);
    }
  }
}

/* At most 16 M columns. What is above the diagonal becomes what is below it */
template <int M, BlockGramKind KIND>
static __global__ void __launch_bounds__(HRPB_THREADS, 1) GramKernel(const __grid_constant__ GramArgs a)
{
  constexpr int     TWO = KIND == BLOCK_GRAM_PLAIN ? 1 : 2, P = M * (M + 1);
  __shared__ double total[TWO * P * 128];
  const int         lane = threadIdx.x % HRPB_LANES, warp = threadIdx.x / HRPB_LANES, g = lane / 4, k = lane % 4;
  const int64_t     end             = min(a.n, ((int64_t)blockIdx.x + 1) * a.rows);
  double            sum[TWO * P][4] = {}, x[2 * M][4], y[2 * M][4];

  for (int64_t i = blockIdx.x * a.rows + warp * ROWS; i < end; i += PART) {
    LoadBoth<M>(a, i, end - i, g, k, x, y);
    AddGram<M>(x, y, sum);
    if (KIND == BLOCK_GRAM_WITH_X) AddGram<M>(x, x, sum + P);
    if (KIND == BLOCK_GRAM_WITH_Y) AddGram<M>(y, y, sum + P);
  }
  for (int w = 0; w < HRPB_WARPS; w++) {
    if (w == warp) {
  #pragma unroll
      for (int p = 0; p < TWO * P; p++) {
  #pragma unroll
        for (int c = 0; c < 4; c++) {
          double *const t = total + p * 128 + c * HRPB_LANES + lane;

          *t = w ? *t + sum[p][c] : sum[p][c];
        }
      }
    }
    __syncthreads();
  }
  for (int e = threadIdx.x; e < TWO * 256 * M * M; e += HRPB_THREADS) {
    const int which = e / (256 * M * M), i = e % (16 * M), j = e / (16 * M) % (16 * M), row = min(i, j), column = max(i, j);
    const int m = row / 16, p = m * (2 * M + 1 - m) + column / 8 - 2 * m; /* products before those of these rows, and in them */
    const int of = 4 * (row % 8) + column % 8 / 2;

    if (i < a.N && j < a.N) a.parts[((int64_t)(which * a.N + j) * a.N + i) * gridDim.x + blockIdx.x] = total[(which * P + p) * 128 + (row % 16 / 8 * 2 + column % 2) * HRPB_LANES + of];
  }
}

static int64_t Parts(int64_t n)
{
  return n ? HrpbGrid(n, PART, MOST_PARTS) : 0;
}

size_t BlockGramWork(int64_t n, int64_t N, BlockGramKind kind)
{
  return sizeof(double) * (size_t)((kind == BLOCK_GRAM_PLAIN ? 1 : 2) * N * N * Parts(n));
}

template <int M>
static HrpbError RunGram(const BlockShape *s, const GramArgs &a)
{
  const unsigned int parts = (unsigned int)Parts(s->n);

  if (a.g.kind == BLOCK_GRAM_PLAIN) GramKernel<M, BLOCK_GRAM_PLAIN><<<parts, HRPB_THREADS, 0, s->stream>>>(a);
  else if (a.g.kind == BLOCK_GRAM_WITH_X) GramKernel<M, BLOCK_GRAM_WITH_X><<<parts, HRPB_THREADS, 0, s->stream>>>(a);
  else GramKernel<M, BLOCK_GRAM_WITH_Y><<<parts, HRPB_THREADS, 0, s->stream>>>(a);
  HrpbCallCuda(cudaGetLastError());
  return HRPB_SUCCESS;
}

HrpbError BlockGramProducts(const BlockShape *s, const BlockGram *g, HrpbScalar *G)
{
  const int64_t parts = Parts(s->n);
  GramArgs      a     = {*g, (double *)s->work, s->n, 0, (int32_t)s->N};

  if (s->N > BLOCK_SQUARE) return HRPB_ERR_UNSUPPORTED;
  if (parts && s->N) {
    a.rows = ((s->n + parts - 1) / parts + PART - 1) / PART * PART;
    HrpbCall(s->N > 16 ? RunGram<2>(s, a) : RunGram<1>(s, a));
  }
  return BlockSumParts(s, parts, (g->kind == BLOCK_GRAM_PLAIN ? 1 : 2) * s->N * s->N, G);
}

HrpbError BlockCombine(const BlockShape *s, bool add, int32_t nterms, const BlockTerm terms[], BlockOut Y)
{
  CombineArgs        a    = {{terms[0], terms[nterms - 1]}, Y, s->n, (int32_t)s->N, nterms, add};
  const unsigned int grid = HrpbGrid(s->n, PART, MOST_COMBINE);

  if (s->N > BLOCK_SQUARE) return HRPB_ERR_UNSUPPORTED;
  if (s->n == 0 || s->N == 0) return HRPB_SUCCESS;
  if (s->N > 16) CombineKernel<2><<<grid, HRPB_THREADS, 0, s->stream>>>(a);
  else CombineKernel<1><<<grid, HRPB_THREADS, 0, s->stream>>>(a);
  HrpbCallCuda(cudaGetLastError());
  return HRPB_SUCCESS;
}
#endif
