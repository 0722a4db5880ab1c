/*
   What the kernels of sampled products share: operands, and the end of an entry.

   For each entry of A in row i and column j they have the product of row i of the left operand with row j of the right
   one.
*/
#pragma once

#include "../common/launch.cuh"

struct SampleArgs {
  const HrpbInt    *rowptr, *colidx;
  const HrpbScalar *values; /* what products are scaled by, or NULL */
  HrpbScalar       *out;    /* a number for each entry */
  const HrpbScalar *left, *right;
  int64_t           ldleft, ldright;
  int32_t           nrows, ncols, N;
};

/* Products with as many columns: the times of sampled ones are so many times theirs (SpmmSampledTimes) */
extern "C" const SpmmKernel SpmmBricksStaged, SpmmCsrStaged, SpmmCsrRows, SpmmCsrCopy;

static inline SampleArgs SampleArgsOf(const SpmmMatrix *A, const SpmmOperands *o)
{
  return {A->rowptr, A->colidx, o->update == SPMM_SCALE ? A->values : NULL, o->Y.array, o->B.array, o->X.array, o->B.ld, o->X.ld, (int32_t)A->nrows, (int32_t)A->ncols, (int32_t)o->N};
}

/*
   A product as a loop over the columns has it, from a row of each operand and the steps to the next columns. The sums
   of tensor cores and of several lanes may overflow where this one does not, and a split of Inf is NaN. So what does
   not come out finite is computed again
*/
static __device__ __noinline__ HrpbScalar SampleInOneGo(const HrpbScalar *left, int64_t ldleft, const HrpbScalar *right, int64_t ldright, int32_t N)
{
  HrpbScalar sum = 0;

#pragma unroll 1
  for (int32_t l = 0; l < N; l++) sum = fma(left[l * ldleft], right[l * ldright], sum);
  return sum;
}

