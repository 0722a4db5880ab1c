/*
   What the kernels for CSR of complex numbers share that read a row-major copy of B: what they get, how they add, and
   how they store.

   The copy has real rows: the real parts of a row of B, and behind them the imaginary ones. A row with few columns has
   complex numbers, which is called together: it is one line of L1 at most, and a lane reads both parts at once. The
   terms of two entries are added to each other, and then to the sum of the row. That leaves half of the error of a sum
   in one go, and no register has to be kept for it.
*/
#pragma once

#include "pairs.cuh"

enum {
  COMPLEX_WIDTH    = 16 / sizeof(HrpbScalar),        /* numbers of a lane's read */
  COMPLEX_TOGETHER = 128 / (2 * sizeof(HrpbScalar)), /* the most columns with both parts together */
  COMPLEX_READS    = 4                               /* entries on their way together where a sum is made again */
};

/* What a lane reads at once: parts of neighbouring columns, or both parts of half as many */
struct alignas(16) ComplexRead {
  HrpbScalar x[COMPLEX_WIDTH];
};

/* Columns of a lane's vector */
static constexpr __host__ __device__ int ComplexWidth(bool together)
{
  return together ? COMPLEX_WIDTH / 2 : COMPLEX_WIDTH;
}

/* Numbers of a lane's columns */
template <bool TOGETHER> struct ComplexColumns {
  VectorPair x[ComplexWidth(TOGETHER)];
};

struct ComplexProduct {
  const HrpbInt    *rowptr, *colidx;
  const VectorPair *values;
  const HrpbScalar *R, *C0; /* R: the copy. C0 is NULL where nothing is added */
  HrpbScalar       *C;
  int64_t           ldc, ldc0;
  int32_t           ldr, N;   /* a row of the copy has 2 ldr scalars */
  bool              together; /* which are complex numbers */
};

static inline int32_t ComplexLeadingDimension(int64_t N)
{
  return (int32_t)((N + COMPLEX_WIDTH - 1) / COMPLEX_WIDTH * COMPLEX_WIDTH);
}

static inline ComplexProduct ComplexProductOf(const SpmmMatrix *A, const SpmmOperands *o, const HrpbScalar *R, int32_t ldr, bool together)
{
  return {A->rowptr, A->colidx, (const VectorPair *)A->values, R, o->update == SPMM_ADD ? o->Y0.array : NULL, o->Y.array, o->Y.ld, o->Y0.ld,
    ldr, (int32_t)o->N, together};
}

/* The lane's columns of a row of the copy; n: the first of them, which is there */
template <bool TOGETHER>
static __device__ __forceinline__ ComplexColumns<TOGETHER> ComplexReadColumns(const ComplexProduct &p, const HrpbScalar *row, int32_t n)
{
  constexpr int            W     = COMPLEX_WIDTH;
  const ComplexRead        first = *(const ComplexRead *)(row + (TOGETHER ? 2 * n : n));
  const ComplexRead        im    = TOGETHER ? first : *(const ComplexRead *)(row + p.ldr + n);
  ComplexColumns<TOGETHER> c;

#pragma unroll
  for (int w = 0; w < ComplexWidth(TOGETHER); w++) c.x[w] = TOGETHER ? VectorPair{first.x[2 * w % W], first.x[(2 * w + 1) % W]} : VectorPair{first.x[w], im.x[w]};
  return c;
}

/*
   sum with the terms of two entries a, which are added to each other first. In place of an entry that is not there a is
   zero, and x a number that the row meets: where zero times that is NaN, the sum is not finite without it either, and
   is made again
*/
static __device__ __forceinline__ VectorPair ComplexAddTwo(VectorPair sum, const VectorPair *a, VectorPair x0, VectorPair x1)
{
  return sum + VectorFma(a[1], x1, VectorFma(a[0], x0, VectorPair{0, 0}));
}

static __device__ __forceinline__ void ComplexStoreSum(const ComplexProduct &p, int64_t row, int32_t n, VectorPair sum)
{
  if (p.C0) sum = *(const VectorPair *)(p.C0 + 2 * row + n * p.ldc0) + sum; /* which may be C */
  *(VectorPair *)(p.C + 2 * row + n * p.ldc) = sum;
}

/* A row in column n with one entry after the other, as MATAIJ adds them */
static __device__ __noinline__ VectorPair ComplexInOneGo(const ComplexProduct &p, int64_t row, int32_t n)
{
  const HrpbInt end = p.rowptr[row + 1];
  VectorPair    sum = {};

#pragma unroll COMPLEX_READS
  for (HrpbInt k = p.rowptr[row]; k < end; k++) {
    const HrpbScalar *b = p.R + 2 * (int64_t)p.colidx[k] * p.ldr;

    sum = VectorFma(p.values[k], p.together ? VectorPair{b[2 * n], b[2 * n + 1]} : VectorPair{b[n], b[p.ldr + n]}, sum);
  }
  return VectorOneNan(sum);
}

/* The sums that are again, of K vectors that are G lanes apart, of rows from row on. See ComplexStore() */
template <int G, int K, bool TOGETHER>
static __device__ __noinline__ void ComplexStoreAgain(const ComplexProduct &p, int64_t row, int32_t n0, uint64_t again)
{
  constexpr int WIDTH = ComplexWidth(TOGETHER);

  for (; again; again &= again - 1) {
    const int     i = __ffsll((long long)again) - 1, w = i % WIDTH, k = i / WIDTH % K, j = i / WIDTH / K;
    const int32_t n = n0 + k * G * WIDTH + w;

    ComplexStoreSum(p, row + j, n, ComplexInOneGo(p, row + j, n));
  }
}

/*
   Store a lane's sums of nrows rows, of K vectors that are G lanes apart, the first of them at column n0. Those that
   are not finite are made again: two terms may overflow together where the entries one by one do not. C may be C0, so
   they are not stored before
*/
template <int G, int K, int ROWS, bool TOGETHER>
static __device__ __forceinline__ void ComplexStore(const ComplexProduct &p, int64_t row, int32_t nrows, int32_t n0,
  const ComplexColumns<TOGETHER> (&sum)[ROWS][K])
{
  constexpr int WIDTH = ComplexWidth(TOGETHER);
  uint64_t      again = 0;

#pragma unroll
  for (int j = 0; j < ROWS; j++) {
    if (j >= nrows) break;
#pragma unroll
    for (int k = 0; k < K; k++) {
#pragma unroll
      for (int w = 0; w < WIDTH; w++) {
        const int32_t n = n0 + k * G * WIDTH + w;

        if (n >= p.N) continue;
        if (VectorIsFinite(sum[j][k].x[w])) ComplexStoreSum(p, row + j, n, sum[j][k].x[w]);
        else again |= (uint64_t)1 << ((j * K + k) * WIDTH + w);
      }
    }
  }
  if (again) ComplexStoreAgain<G, K, TOGETHER>(p, row, n0, again);
}
