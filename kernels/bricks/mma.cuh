/*
   One step of a tensor core: bricks of 8 or 16 rows times 16 columns of B, in each precision.

   Fragments (PTX ISA, warp-level matrix instructions), with lane = 4*g + k. Of a brick a lane holds slot k of row g,
   and of row g + 8 if there are 16 rows. Of B a lane holds the row that column k of the brick meets, for two columns of
   B, which are called first and second. The accumulators of 16 columns of B are

     8 rows:   the operands are swapped (FlashSparse), C^T = B^T A^T. sum[0], sum[1] are rows 2k, 2k + 1 for the first
               column of B, sum[2], sum[3] the same rows for the second
     16 rows:  sum[0], sum[1] are row g, for the columns of B that lane groups 2k and 2k + 1 loaded as first. sum[2],
               sum[3] are row g + 8. sum[4] to sum[7] are the same for the second
*/
#pragma once

#include "../common/device.cuh"

/* P: an HrpbPrecision */
template <int P> struct Mma {
  typedef float Scalar;
  enum {
    BRICKS = 2 /* a step of m16n8k8 takes two bricks */
  };
};
template <> struct Mma<HRPB_FP64> {
  typedef double Scalar;
  enum {
    BRICKS = 1
  };
};

/* Call a function template that has the precision as its first argument */
#if defined(HRPB_USE_SINGLE)
  #define HrpbCallPrecision(precision, function, ...) HrpbCall((precision) == HRPB_TF32 ? function<HRPB_TF32>(__VA_ARGS__) : function<HRPB_3XTF32>(__VA_ARGS__))
#else
  #define HrpbCallPrecision(precision, function, ...) HrpbCall(function<HRPB_FP64>(__VA_ARGS__))
#endif

/* c += a b, 8 x 4 times 4 x 8 in double */
__device__ __forceinline__ void MmaFp64(double *c, double a, double b)
{
  asm("mma.sync.aligned.m8n8k4.row.col.f64.f64.f64.f64 {%0,%1},{%2},{%3},{%0,%1};" : "+d"(c[0]), "+d"(c[1]) : "d"(a), "d"(b));
}

/* The same with 16 rows: one instruction from sm_90 on, one for each half before */
__device__ __forceinline__ void MmaFp64(double *c, double a0, double a1, double b)
{
#if __CUDA_ARCH__ >= 900
  asm("mma.sync.aligned.m16n8k4.row.col.f64.f64.f64.f64 {%0,%1,%2,%3},{%4,%5},{%6},{%0,%1,%2,%3};" : "+d"(c[0]), "+d"(c[1]), "+d"(c[2]), "+d"(c[3]) : "d"(a0), "d"(a1), "d"(b));
#else
  MmaFp64(c, a0, b);
  MmaFp64(c + 2, a1, b);
#endif
}

/* c += a b, 16 x 8 times 8 x 8 in TF32 with sums in single */
__device__ __forceinline__ void MmaTf32(float *c, const uint32_t a[4], const uint32_t b[2])
{
  asm("mma.sync.aligned.m16n8k8.row.col.f32.tf32.tf32.f32 {%0,%1,%2,%3},{%4,%5,%6,%7},{%8,%9},{%0,%1,%2,%3};" : "+f"(c[0]), "+f"(c[1]), "+f"(c[2]), "+f"(c[3]) : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b[0]), "r"(b[1]));
}

/*
   x = high + low, both TF32. The error is up to 1.5 times 2^-23 |x|: low may have a bit or two too many, which a tensor
   core leaves out. Below 2^-113 low is subnormal and has fewer bits.

   high is x rounded to 11 bits by Veltkamp's splitting: 8192 x is exact, and so is the difference. cvt.rna takes twice
   as many instructions. For NaN and Inf high is NaN, from about 2^115 on it is Inf. Then the sum is not finite, and is
   computed again without tensor cores.
*/
__device__ __forceinline__ void SplitTf32(float x, uint32_t *high, uint32_t *low)
{
  const float rounded = __fmaf_rn(-8192.0f, x, __fmul_rn(8193.0f, x));

  *high = __float_as_uint(rounded);
  *low  = __float_as_uint(x - rounded);
}

/*
   x for TF32: a tensor core leaves out all but 11 bits, so x gets half of a unit in the last of these, on average.

   This is one instruction in place of two. The error is between -0.64 and 0.72 units, and 5 percent larger on average
   than that of rounding, which is 0.5 at most. Numbers of 11 bits stay what they are, and so do NaN and Inf. The
   largest numbers become Inf: see SplitTf32().
*/
__device__ __forceinline__ uint32_t RoundTf32(float x)
{
  return __float_as_uint(__fmul_rn(1 + 0.72f / 2048, x));
}

template <int P, int N> struct Fragment { /* N operand registers of a lane, split where the precision wants it */
  uint32_t high[N], low[N];

  __device__ __forceinline__ void Set(int i, float x)
  {
    if (P == HRPB_3XTF32) SplitTf32(x, &high[i], &low[i]);
    else high[i] = RoundTf32(x);
  }
};

template <int P> __device__ __forceinline__ void MmaSplit(float *c, const Fragment<P, 4> &a, const Fragment<P, 2> &b)
{
  if (P == HRPB_3XTF32) { /* small terms first */
    MmaTf32(c, a.low, b.high);
    MmaTf32(c, a.high, b.low);
  }
  MmaTf32(c, a.high, b.high);
}

/* What a lane holds of the bricks of a step: set once, used for all columns of B */
template <int P, int BM> struct Bricks {
  Fragment<P, BM == 8 ? 2 : 4> f;

  __device__ __forceinline__ void Set(const float *first, const float *second)
  {
    if (BM == 8) {
      f.Set(0, first[0]);
      f.Set(1, second[0]);
    } else {
      f.Set(0, first[0]);
      f.Set(1, first[1]);
      f.Set(2, second[0]);
      f.Set(3, second[1]);
    }
  }
};

/*
   sum += two bricks times 16 columns of B; x[brick][first or second].

   A tensor core truncates where it adds. So each step starts from zero, and its sums are added with rounding: the error
   of a long row grows as on scalar cores. Where second is false the second columns of B are zeros, and nobody asks for
   their sums. With 8 rows one instruction does both; in double it has half the size without the second.
*/
template <int P> __device__ __forceinline__ void Step(float (&sum)[4], const Bricks<P, 8> &bricks, const float (&x)[2][2], bool = true)
{
  Fragment<P, 4> b;
  float          part[4] = {};

  b.Set(0, x[0][0]);
  b.Set(1, x[0][1]);
  b.Set(2, x[1][0]);
  b.Set(3, x[1][1]);
  MmaSplit<P>(part, b, bricks.f);
#pragma unroll
  for (int i = 0; i < 4; i++) sum[i] += part[i];
}

template <int P> __device__ __forceinline__ void Step(float (&sum)[8], const Bricks<P, 16> &bricks, const float (&x)[2][2], bool second = true)
{
#pragma unroll
  for (int j = 0; j < 2; j++) {
    Fragment<P, 2> b;
    float          part[4] = {};

    if (j && !second) break;
    b.Set(0, x[0][j]);
    b.Set(1, x[1][j]);
    MmaSplit<P>(part, bricks.f, b);
#pragma unroll
    for (int i = 0; i < 4; i++) sum[4 * j + i] += part[i];
  }
}

template <int BM> struct Bricks<HRPB_FP64, BM> {
  double a[BM / 8];

  __device__ __forceinline__ void Set(const double *first, const double *)
  {
#pragma unroll
    for (int i = 0; i < BM / 8; i++) a[i] = first[i];
  }
};

template <int P> __device__ __forceinline__ void Step(double (&sum)[4], const Bricks<P, 8> &bricks, const double (&x)[1][2], bool second = true)
{
  if (second) MmaFp64(sum, x[0][0], x[0][1], bricks.a[0]);
  else MmaFp64(sum, x[0][0], bricks.a[0]);
}

template <int P> __device__ __forceinline__ void Step(double (&sum)[8], const Bricks<P, 16> &bricks, const double (&x)[1][2], bool second = true)
{
  MmaFp64(sum, bricks.a[0], bricks.a[1], x[0][0]);
  if (second) MmaFp64(sum + 4, bricks.a[0], bricks.a[1], x[0][1]);
}
