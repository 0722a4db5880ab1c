/*
   Blocks times square matrices, and products of two blocks, on tensor cores in double. They are what a method does in
   which all columns share a Krylov space.

   A block of n rows and N columns has s = n N 8 bytes. Bytes that go through memory:

     combine       (terms + 1) s   3 s where a term is added to Y
     gram          2 s             s where Y is D X, for one product or two
     combine_gram  3 s

   cuBLAS reads the result again for each term but the first, and a block again for each product.

   A warp has 16 rows at a time, and the next are on their way while it works on these. A step of a tensor core is
   16 x 4 times 4 x 8 (mma.cuh). With lane = 4 g + k:

     combine  Y^T = K^T X^T. A lane has rows 2 g and 2 g + 1 of each fourth column of X, in one load. Even rows are one
              step, odd rows another. Of Y a lane has rows 4 k to 4 k + 3 of each eighth column.
     gram     X^T Y. A lane has rows 2 k and 2 k + 1 of each eighth column, in one load, and the same of the next 8
              rows. Which rows are in which step does not matter. So what combine leaves in a lane can be taken as it
              is: rows 4 k to 4 k + 3.

   Columns behind the last are zeros. So are rows.

   Sums of gram: a warp adds its rows, then a thread block its warps, then BlockSumParts() the thread blocks, all in a
   fixed order. How many thread blocks there are depends on n, and on whether there are more than 16 columns. So do
   bits. There are as many as a device has room for at once: a second turn would load square matrices again.
*/
#include "block.cuh"
#include "../bricks/mma.cuh"

#if !defined(HRPB_USE_SINGLE) && !defined(HRPB_USE_COMPLEX)
enum {
  ROWS         = 16,                /* of a warp at a time */
  PART         = ROWS * HRPB_WARPS, /* of a thread block at a time */
  MOST_CTAS    = 132                /* thread blocks: one for each multiprocessor of an H100, where there are M of 2 */
};

namespace {
struct CombineArgs {
  BlockTerm term[2];
  BlockOut  Y;
  int64_t   n;
  int32_t   N;
};

struct GramArgs {
  BlockGram g;
  double   *parts;
  int64_t   n, rows; /* rows of a part */
  int32_t   N;
};

struct CombineGramArgs {
  CombineArgs   combine;
  const double *D;
  double       *parts;
};

/* What a lane has of ROWS rows of the terms. In place of a second term there may be Y, to which the first is added */
template <int M> struct TermRows {
  double x[2][4 * M][2]; /* rows 2 g and 2 g + 1 of columns 4 s + k; or rows 4 k to 4 k + 3 of columns 8 c + g */
  double d[2];
};

/* What a lane has of ROWS rows of X and Y, or of D in place of Y */
template <int M, bool SCALED> struct GramRows {
  double x[2 * M][4], y[SCALED ? 1 : 2 * M][4]; /* rows 2 k, 2 k + 1, 8 + 2 k, 9 + 2 k of columns 8 c + g */
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

/* Pairs of rows from first, first + stride, ... on, of columns j0, j0 + step, ... of a block that begins at row i */
template <int COLUMNS, int PAIRS> static __device__ __forceinline__ void LoadColumns(BlockIn X, int64_t i, int64_t rows, int32_t N, int j0, int step, int first, int stride, double (*x)[2])
{
  const bool    whole = Whole(X.array + i, X.ld, rows);
  const double *X0    = X.array + j0 * X.ld + i;

#pragma unroll
  for (int c = 0; c < COLUMNS; c++) {
#pragma unroll
    for (int h = 0; h < PAIRS; h++) {
      double *const pair = x[c * PAIRS + h];

      pair[0] = pair[1] = 0;
      if (j0 + c * step >= N) continue;
      if (whole) LoadPack(X0 + c * step * X.ld + first + h * stride, pair);
      else LoadPair(X0 + c * step * X.ld, first + h * stride, rows, pair);
    }
  }
}

template <int M, int TERMS, bool ADD> static __device__ __forceinline__ void LoadTerms(const CombineArgs &a, int64_t i, int g, int k, TermRows<M> *r)
{
  const int64_t rows = a.n - i;

  if (rows <= 0) return;
  if (a.term[0].D) LoadPair(a.term[0].D + i, 2 * g, rows, r->d);
#pragma unroll
  for (int t = 0; t < TERMS; t++) LoadColumns<4 * M, 1>(a.term[t].X, i, rows, a.N, k, 4, 2 * g, 0, r->x[t]);
  if (ADD) LoadColumns<2 * M, 2>((BlockIn){a.Y.array, a.Y.ld}, i, rows, a.N, g, 8, 4 * k, 2, r->x[1]);
}

/* The square matrix of a term, with its sign, as lanes want it: for each step the two numbers of each lane */
template <int M> static __device__ __forceinline__ void LoadSquare(const BlockTerm &t, int32_t N, double *square)
{
  for (int e = threadIdx.x; e < 256 * M * M; e += HRPB_THREADS) {
    const int out = e / (16 * M), in = e % (16 * M); /* column of Y, column of X */
    double    x = 0;

    if (in < N && out < N) x = t.sign * (t.transpose ? t.K[in * N + out] : t.K[out * N + in]);
    square[64 * (in / 4 * M + out / 16) + 2 * (4 * (out % 8) + in % 4) + out % 16 / 8] = x;
  }
}

/* Y from accumulators, sum[16 columns of Y][even or odd rows] */
template <int M> static __device__ __forceinline__ void StoreRows(const CombineArgs &a, int64_t i, int g, int k, const double sum[M][2][4])
{
  const int64_t rows  = a.n - i;
  const bool    whole = Whole(a.Y.array + i, a.Y.ld, rows);

#pragma unroll
  for (int c = 0; c < 2 * M; c++) {
    double *const column = a.Y.array + (8 * c + g) * a.Y.ld + i;

    if (8 * c + g >= a.N) continue;
#pragma unroll
    for (int h = 0; h < 2; h++) {
      const double y[2] = {sum[c / 2][0][c % 2 * 2 + h], sum[c / 2][1][c % 2 * 2 + h]};

      if (whole) StorePack(column + 4 * k + 2 * h, y);
      else StorePair(column, 4 * k + 2 * h, rows, y);
    }
  }
}

/* Add the terms of ROWS rows */
template <int M, int TERMS> static __device__ __forceinline__ void AddTerms(const double (*squares)[256 * M * M], int lane, const TermRows<M> &r, double sum[M][2][4])
{
#pragma unroll
  for (int t = 0; t < TERMS; t++) {
#pragma unroll
    for (int s = 0; s < 4 * M; s++) {
#pragma unroll
      for (int m = 0; m < M; m++) {
        double c[2];

        LoadPack(squares[t] + 64 * (s * M + m) + 2 * lane, c);
#pragma unroll
        for (int e = 0; e < 2; e++) MmaFp64(sum[m][e], c[0], c[1], r.x[t][s][e]);
      }
    }
  }
}

/* At most 16 M columns */
template <int M, int TERMS, bool ADD> static __global__ void __launch_bounds__(HRPB_THREADS, 3 - M) CombineKernel(const __grid_constant__ CombineArgs a)
{
  __shared__ __align__(16) double squares[TERMS][256 * M * M];
  const int     lane = threadIdx.x % HRPB_LANES, g = lane / 4, k = lane % 4;
  const int64_t stride = (int64_t)gridDim.x * PART;
  int64_t       i      = (int64_t)blockIdx.x * PART + threadIdx.x / HRPB_LANES * ROWS;
  TermRows<M>   r, next;

  HrpbWaitForKernelBefore();
  LoadTerms<M, TERMS, ADD>(a, i, g, k, &r);
  for (int t = 0; t < TERMS; t++) LoadSquare<M>(a.term[t], a.N, squares[t]);
  __syncthreads();
  for (; i < a.n; i += stride, r = next) {
    double sum[M][2][4];

    LoadTerms<M, TERMS, ADD>(a, i + stride, g, k, &next);
    if (a.term[0].D) {
#pragma unroll
      for (int s = 0; s < 4 * M; s++) r.x[0][s][0] *= r.d[0], r.x[0][s][1] *= r.d[1];
    }
#pragma unroll
    for (int c = 0; c < 2 * M; c++) {
#pragma unroll
      for (int row = 0; row < 4; row++) sum[c / 2][row % 2][c % 2 * 2 + row / 2] = ADD ? r.x[1][2 * c + row / 2][row % 2] : 0;
    }
    AddTerms<M, TERMS>(squares, lane, r, sum);
    StoreRows<M>(a, i, g, k, sum);
  }
}

template <int M, bool SCALED> static __device__ __forceinline__ void LoadBoth(const GramArgs &a, int64_t i, int64_t end, int g, int k, GramRows<M, SCALED> *r)
{
  const int64_t rows = end - i;

  if (rows <= 0) return;
  LoadColumns<2 * M, 2>(a.g.X, i, rows, a.N, g, 8, 2 * k, 8, (double(*)[2])r->x);
  if (!SCALED) LoadColumns<2 * M, 2>(a.g.Y, i, rows, a.N, g, 8, 2 * k, 8, (double(*)[2])r->y);
  else {
    LoadPair(a.g.D + i, 2 * k, rows, r->y[0]);
    LoadPair(a.g.D + i, 8 + 2 * k, rows, r->y[0] + 2);
  }
}

/* Products of 16 columns of X with 8 of Y: those that reach the diagonal or are above it, M (M + 1) of 16 M columns */
template <int M> static __device__ __forceinline__ void AddGram(const double x[2 * M][4], const double y[2 * M][4], double (*sum)[4])
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

/* All products of ROWS rows */
template <int M, BlockGramKind KIND> static __device__ __forceinline__ void AddGrams(const double x[2 * M][4], const double y[2 * M][4], double (*sum)[4])
{
  AddGram<M>(x, y, sum);
  if (KIND == BLOCK_GRAM_WITH_X) AddGram<M>(x, x, sum + M * (M + 1));
  if (KIND == BLOCK_GRAM_WITH_Y) AddGram<M>(y, y, sum + M * (M + 1));
}

/* The same with D X in place of Y. d has D at the rows of x */
template <int M, BlockGramKind KIND> static __device__ __forceinline__ void AddScaledGrams(const double x[2 * M][4], const double d[4], double (*sum)[4])
{
  double y[2 * M][4];

#pragma unroll
  for (int c = 0; c < 2 * M; c++) {
#pragma unroll
    for (int row = 0; row < 4; row++) y[c][row] = d[row] * x[c][row];
  }
  AddGrams<M, KIND>(x, y, sum);
}

/*
   The part of a thread block: of TWO matrices. What is above the diagonal becomes what is below it. There is room in
   total for what a warp has
*/
template <int M, int TWO> static __device__ __forceinline__ void StorePart(const double (*sum)[4], double *total, int32_t N, double *parts)
{
  constexpr int P    = M * (M + 1);
  const int     lane = threadIdx.x % HRPB_LANES, warp = threadIdx.x / HRPB_LANES;

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
    const int m = row / 16, p = m * (2 * M + 1 - m) + column / 8 - 2 * m; /* which product */
    const int of = 4 * (row % 8) + column % 8 / 2;

    if (i < N && j < N) parts[((int64_t)(which * N + j) * N + i) * gridDim.x + blockIdx.x] = total[(which * P + p) * 128 + (row % 16 / 8 * 2 + column % 2) * HRPB_LANES + of];
  }
}

/* At most 16 M columns */
template <int M, BlockGramKind KIND, bool SCALED> static __global__ void __launch_bounds__(HRPB_THREADS, 3 - M) GramKernel(const __grid_constant__ GramArgs a)
{
  constexpr int       TWO = KIND == BLOCK_GRAM_PLAIN ? 1 : 2, P = M * (M + 1);
  constexpr bool      AHEAD = M == 1 || TWO == 1 || SCALED; /* there are registers for the next rows */
  __shared__ double   total[TWO * P * 128];
  const int           lane = threadIdx.x % HRPB_LANES, warp = threadIdx.x / HRPB_LANES, g = lane / 4, k = lane % 4;
  const int64_t       end             = min(a.n, ((int64_t)blockIdx.x + 1) * a.rows);
  double              sum[TWO * P][4] = {};
  GramRows<M, SCALED> r, next;

  HrpbWaitForKernelBefore();
  if (AHEAD) LoadBoth<M, SCALED>(a, blockIdx.x * a.rows + warp * ROWS, end, g, k, &next);
  for (int64_t i = blockIdx.x * a.rows + warp * ROWS; i < end; i += PART) {
    if (AHEAD) r = next;
    LoadBoth<M, SCALED>(a, AHEAD ? i + PART : i, end, g, k, AHEAD ? &next : &r);
    if (SCALED) AddScaledGrams<M, KIND>(r.x, r.y[0], sum);
    else AddGrams<M, KIND>(r.x, r.y, sum);
  }
  StorePart<M, TWO>(sum, total, a.N, a.parts);
}

/*
   Two terms, and the products of their sum. There are no registers for the next rows beside these: they are on their
   way while products are made
*/
template <int M, BlockGramKind KIND> static __global__ void __launch_bounds__(HRPB_THREADS, 3 - M) CombineGramKernel(const __grid_constant__ CombineGramArgs a)
{
  constexpr int TWO = KIND == BLOCK_GRAM_PLAIN ? 1 : 2, P = M * (M + 1);
  __shared__ __align__(16) double squares[2][256 * M * M];
  __shared__ double  total[TWO * P * 128];
  const CombineArgs &c      = a.combine;
  const int          lane   = threadIdx.x % HRPB_LANES, g = lane / 4, k = lane % 4;
  const int64_t      stride = (int64_t)gridDim.x * PART;
  int64_t            i      = (int64_t)blockIdx.x * PART + threadIdx.x / HRPB_LANES * ROWS;
  double             sum[TWO * P][4] = {};
  TermRows<M>        r;

  HrpbWaitForKernelBefore();
  LoadTerms<M, 2, false>(c, i, g, k, &r);
  for (int t = 0; t < 2; t++) LoadSquare<M>(c.term[t], c.N, squares[t]);
  __syncthreads();
  for (; i < c.n; i += stride) {
    double y[M][2][4] = {}, x[2 * M][4], d[4];

    for (int h = 0; h < 2; h++) LoadPair(a.D + i, 4 * k + 2 * h, c.n - i, d + 2 * h);
    AddTerms<M, 2>(squares, lane, r, y);
    LoadTerms<M, 2, false>(c, i + stride, g, k, &r);
    StoreRows<M>(c, i, g, k, y);
#pragma unroll
    for (int j = 0; j < 2 * M; j++) {
#pragma unroll
      for (int row = 0; row < 4; row++) x[j][row] = y[j / 2][row % 2][j % 2 * 2 + row / 2];
    }
    AddScaledGrams<M, KIND>(x, d, sum);
  }
  StorePart<M, TWO>(sum, total, c.N, a.parts);
}

/* Of up to 16 columns a multiprocessor has two */
static int64_t Parts(int64_t n, int64_t N)
{
  return n ? HrpbGrid(n, PART, N > 16 ? MOST_CTAS : 2 * MOST_CTAS) : 0;
}

size_t BlockGramWork(int64_t n, int64_t N, BlockGramKind kind)
{
  return sizeof(double) * (size_t)((kind == BLOCK_GRAM_PLAIN ? 1 : 2) * N * N * Parts(n, N));
}

template <int M, bool SCALED> static HrpbError RunGram(const BlockShape *s, const GramArgs &a)
{
  const unsigned int parts = (unsigned int)Parts(s->n, s->N);

  if (a.g.kind == BLOCK_GRAM_PLAIN) HrpbCall(LaunchAfter(GramKernel<M, BLOCK_GRAM_PLAIN, SCALED>, parts, HRPB_THREADS, 0, s->stream, a));
  else if (a.g.kind == BLOCK_GRAM_WITH_X) HrpbCall(LaunchAfter(GramKernel<M, BLOCK_GRAM_WITH_X, SCALED>, parts, HRPB_THREADS, 0, s->stream, a));
  else HrpbCall(LaunchAfter(GramKernel<M, BLOCK_GRAM_WITH_Y, SCALED>, parts, HRPB_THREADS, 0, s->stream, a));
  return HRPB_SUCCESS;
}

template <int M> static HrpbError RunGramOf(const BlockShape *s, const GramArgs &a)
{
  return a.g.Y.array ? RunGram<M, false>(s, a) : RunGram<M, true>(s, a);
}

HrpbError BlockGramProducts(const BlockShape *s, const BlockGram *g, BlockNumber *G)
{
  const int64_t parts = Parts(s->n, s->N);
  GramArgs      a     = {*g, (double *)s->work, s->n, 0, (int32_t)s->N};

  if (s->N > BLOCK_SQUARE) return HRPB_ERR_UNSUPPORTED;
  if (parts && s->N) {
    a.rows = ((s->n + parts - 1) / parts + PART - 1) / PART * PART;
    HrpbCall(s->N > 16 ? RunGramOf<2>(s, a) : RunGramOf<1>(s, a));
  }
  return BlockSumParts(s, parts, (g->kind == BLOCK_GRAM_PLAIN ? 1 : 2) * s->N * s->N, G);
}

template <int M> static HrpbError RunCombine(const BlockShape *s, bool add, int32_t nterms, const CombineArgs &a)
{
  const unsigned int grid = (unsigned int)Parts(s->n, s->N);

  if (add) HrpbCall(LaunchAfter(CombineKernel<M, 1, true>, grid, HRPB_THREADS, 0, s->stream, a));
  else if (nterms == 1) HrpbCall(LaunchAfter(CombineKernel<M, 1, false>, grid, HRPB_THREADS, 0, s->stream, a));
  else HrpbCall(LaunchAfter(CombineKernel<M, 2, false>, grid, HRPB_THREADS, 0, s->stream, a));
  return HRPB_SUCCESS;
}

HrpbError BlockCombine(const BlockShape *s, bool add, int32_t nterms, const BlockTerm terms[], BlockOut Y)
{
  const CombineArgs a = {{terms[0], terms[nterms - 1]}, Y, s->n, (int32_t)s->N};

  if (s->N > BLOCK_SQUARE || (add && nterms > 1)) return HRPB_ERR_UNSUPPORTED;
  if (s->n == 0 || s->N == 0) return HRPB_SUCCESS;
  return s->N > 16 ? RunCombine<2>(s, add, nterms, a) : RunCombine<1>(s, add, nterms, a);
}

template <int M> static HrpbError RunCombineGram(const BlockShape *s, BlockGramKind kind, const CombineGramArgs &a)
{
  const unsigned int parts = (unsigned int)Parts(s->n, s->N);

  if (kind == BLOCK_GRAM_PLAIN) HrpbCall(LaunchAfter(CombineGramKernel<M, BLOCK_GRAM_PLAIN>, parts, HRPB_THREADS, 0, s->stream, a));
  else if (kind == BLOCK_GRAM_WITH_X) HrpbCall(LaunchAfter(CombineGramKernel<M, BLOCK_GRAM_WITH_X>, parts, HRPB_THREADS, 0, s->stream, a));
  else HrpbCall(LaunchAfter(CombineGramKernel<M, BLOCK_GRAM_WITH_Y>, parts, HRPB_THREADS, 0, s->stream, a));
  return HRPB_SUCCESS;
}

HrpbError BlockCombineGram(const BlockShape *s, const BlockTerm terms[2], BlockOut Y, BlockGramKind kind, const BlockNumber *D,
  BlockNumber *G)
{
  const CombineGramArgs a = {{{terms[0], terms[1]}, Y, s->n, (int32_t)s->N}, D, (double *)s->work};

  if (s->N > BLOCK_SQUARE) return HRPB_ERR_UNSUPPORTED;
  if (s->n && s->N) HrpbCall(s->N > 16 ? RunCombineGram<2>(s, kind, a) : RunCombineGram<1>(s, kind, a));
  return BlockSumParts(s, Parts(s->n, s->N), (kind == BLOCK_GRAM_PLAIN ? 1 : 2) * s->N * s->N, G);
}
#endif
