/*
   bricks-staged for values that are pairs: complex numbers, of which half the bytes are stored. A file of its own,
   because its kernels take a while to compile.
*/
#include "stagedproduct.cuh"

template <int P> static HrpbError Run(const Product *p, const SpmmDevice *device)
{
  return RunColumnMajor<P, true>(p, device);
}

HrpbError StagedPairsRun(const Product *p, const SpmmDevice *device)
{
  HrpbCallPrecision(p->precision, Run, p, device);
  return HRPB_SUCCESS;
}
