/*
   The numbers of blocks and of their coefficients, as PETSc has them. Where these are complex HrpbScalar is one of the
   two parts. Kernels are written once: of a real number BlockConj() and BlockReal() are the number.

   A complex product on a device is the plain one of four multiplications. On the host it is that of C.
*/
#pragma once

#include "../format/hrpb.h"

#if !defined(HRPB_USE_COMPLEX)
typedef HrpbScalar BlockNumber;

HRPB_INLINE BlockNumber BlockConj(BlockNumber x)
{
  return x;
}

HRPB_INLINE HrpbScalar BlockReal(BlockNumber x)
{
  return x;
}
#elif defined(__cplusplus)
struct BlockNumber {
  HrpbScalar re, im;

  #if defined(__CUDACC__)
    #define BLOCK_INLINE __host__ __device__
  #else
    #define BLOCK_INLINE
  #endif
  BlockNumber() = default; /* not set: shared memory may have it */
  BLOCK_INLINE BlockNumber(HrpbScalar x, HrpbScalar y = 0)
      : re(x), im(y) {}

  BLOCK_INLINE BlockNumber &operator+=(BlockNumber y)
  {
    re += y.re;
    im += y.im;
    return *this;
  }

  BLOCK_INLINE BlockNumber &operator-=(BlockNumber y)
  {
    re -= y.re;
    im -= y.im;
    return *this;
  }

  BLOCK_INLINE BlockNumber &operator*=(BlockNumber y)
  {
    const HrpbScalar real = re * y.re - im * y.im;

    im = re * y.im + im * y.re;
    re = real;
    return *this;
  }
  #undef BLOCK_INLINE
};

HRPB_INLINE BlockNumber BlockConj(BlockNumber x)
{
  return BlockNumber(x.re, -x.im);
}

HRPB_INLINE HrpbScalar BlockReal(BlockNumber x)
{
  return x.re;
}

HRPB_INLINE bool operator==(BlockNumber x, BlockNumber y)
{
  return x.re == y.re && x.im == y.im;
}

HRPB_INLINE bool operator!=(BlockNumber x, BlockNumber y)
{
  return !(x == y);
}

HRPB_INLINE BlockNumber operator-(BlockNumber x)
{
  return BlockNumber(-x.re, -x.im);
}

HRPB_INLINE BlockNumber operator+(BlockNumber x, BlockNumber y)
{
  return x += y;
}

HRPB_INLINE BlockNumber operator-(BlockNumber x, BlockNumber y)
{
  return x -= y;
}

HRPB_INLINE BlockNumber operator*(BlockNumber x, BlockNumber y)
{
  return x *= y;
}

HRPB_INLINE BlockNumber operator*(HrpbScalar x, BlockNumber y)
{
  return BlockNumber(x * y.re, x * y.im);
}

HRPB_INLINE BlockNumber operator*(BlockNumber x, HrpbScalar y)
{
  return y * x;
}

HRPB_INLINE BlockNumber operator/(BlockNumber x, HrpbScalar y)
{
  return BlockNumber(x.re / y, x.im / y);
}

/* By the larger part of y, so that no square of it is needed */
HRPB_INLINE BlockNumber operator/(BlockNumber x, BlockNumber y)
{
  const bool       flat  = (y.re < 0 ? -y.re : y.re) >= (y.im < 0 ? -y.im : y.im);
  const HrpbScalar ratio = flat ? y.im / y.re : y.re / y.im, size = flat ? y.re + y.im * ratio : y.im + y.re * ratio;

  if (flat) return BlockNumber((x.re + x.im * ratio) / size, (x.im - x.re * ratio) / size);
  return BlockNumber((x.re * ratio + x.im) / size, (x.im * ratio - x.re) / size);
}
#else
  #include <complex.h>

  #if defined(HRPB_USE_SINGLE)
typedef float _Complex BlockNumber;
  #else
typedef double _Complex BlockNumber;
  #endif

HRPB_INLINE BlockNumber BlockConj(BlockNumber x)
{
  #if defined(HRPB_USE_SINGLE)
  return conjf(x);
  #else
  return conj(x);
  #endif
}

HRPB_INLINE HrpbScalar BlockReal(BlockNumber x)
{
  return (HrpbScalar)x;
}
#endif
