/*
   One vector in single precision, in a library of double precision: what a cycle of multigrid needs beside products.
   In a library of single precision all of it is there, too, and has no use.

   A product has the kernel, the VectorPlan and the index arrays of the product in double precision. Values of the
   matrix and all vectors of the operands are float. So are a, b and c of a step: they are rounded.

   Numbers of double precision have exponents that float has not. They are scaled by powers of two, which changes no
   digit. Which power follows from the largest number of an array: see VectorExponent(). NaN stays NaN, and Inf stays
   Inf.
*/
#pragma once

#include "../spmm.h"

#ifdef __cplusplus
extern "C" {
#endif

/* The kernel that does in single precision what a kernel for one vector does; NULL where there is none */
const SpmmKernel *VectorSingleKernel(const SpmmKernel *);

/*
   The largest absolute value of an array, in device memory, as the bits of a double: they are in the order of the
   values, and NaN is larger than all. It is made larger where an array has a larger one, so it begins with zero
*/
typedef unsigned long long VectorLargest;
HrpbError VectorZeroLargest(VectorLargest *largest, HrpbStream stream);
HrpbError VectorFindLargest(int64_t n, const HrpbScalar *x, VectorLargest *largest, HrpbStream stream);

/* Whether it is a number, and e with |x| < 2^e. That is 0 where all numbers are zero, and where one is not finite */
HRPB_INLINE bool VectorLargestIsFinite(VectorLargest largest)
{
  return largest >> 52 < 2047;
}
HRPB_INLINE int VectorExponent(VectorLargest largest)
{
  return largest && VectorLargestIsFinite(largest) ? (int)(largest >> 52) - 1022 : 0;
}

/* y = 2^exponent x, divided or multiplied by 2^VectorExponent(*largest), unless that is NULL. It is on the device */
HrpbError VectorToSingle(int64_t n, const HrpbScalar *x, int exponent, const VectorLargest *largest, float *y, HrpbStream stream);
HrpbError VectorToDouble(int64_t n, const float *x, int exponent, const VectorLargest *largest, HrpbScalar *y, HrpbStream stream);

/* A step of a smoother: y = a y0 + b x + c D r. A term whose number is zero is left out. y may be y0, x or r */
typedef struct {
  float        a, b, c;
  const float *y0, *x, *r, *D;
  int32_t      dblock; /* 1 for a diagonal, or rows of the blocks along it, see SpmmOperands. y is not r then */
  float       *y;
} VectorSingleStep;
HrpbError VectorStepSingle(int64_t n, const VectorSingleStep *, HrpbStream stream);

#ifdef __cplusplus
}
#endif
