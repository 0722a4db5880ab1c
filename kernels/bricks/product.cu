/*
   What products by bricks have in common, whichever kernel makes them.
*/
#include "product.cuh"

/* sm_86, sm_89 and sm_120 run FP64 tensor instructions at 1/64 of the FP32 rate */
static bool Supported(const SpmmDevice *d, HrpbPrecision precision)
{
  if (!d->code) return false;
#if defined(HRPB_USE_SINGLE)
  return d->cc >= 80 && precision != HRPB_FP64;
#else
  return (d->cc == 80 || d->cc == 90 || d->cc == 100) && precision == HRPB_FP64;
#endif
}

HrpbError HrpbSupportsDevice(HrpbPrecision precision, bool *supports)
{
  const SpmmDevice *device;

  *supports = false;
  HrpbCall(SpmmGetDevice(&device));
  *supports = Supported(device, precision);
  return HRPB_SUCCESS;
}

size_t ProductPartialBytes(const SpmmMatrix *A, int64_t N)
{
  const int64_t sums = PartSums(A->hrpb->params.panel_rows, std::min(N, (int64_t)MOST_PART_COLUMNS));

  return (size_t)HrpbWholeUnits(sizeof(HrpbScalar) * (size_t)(A->schedule->nslots * sums));
}

HrpbError ProductWork(const SpmmMatrix *A, const SpmmOperands *o, size_t *bytes)
{
  const SpmmDevice *device;

  HrpbCall(SpmmGetDevice(&device));
  if (!Supported(device, A->precision)) return HRPB_ERR_UNSUPPORTED;
  *bytes = ProductPartialBytes(A, o->N);
  return HRPB_SUCCESS;
}

HrpbError ProductOf(const SpmmMatrix *A, const SpmmOperands *o, void *work, cudaStream_t stream, Product *p, const SpmmDevice **device)
{
  HrpbCall(SpmmGetDevice(device));
  if (!Supported(*device, A->precision) || !SpmmIsPlain(o)) return HRPB_ERR_UNSUPPORTED;
  *p = {A->hrpb, A->schedule, A->brick_values, A->precision, (int32_t)o->N, o->X.array, o->Y.array, o->X.ld, o->Y.ld, 1, 1, (HrpbScalar *)work, stream, false};
  return HRPB_SUCCESS;
}

HrpbError ProductWithoutBricks(const Product *p)
{
  const int64_t rows = p->h->nrows;

  return p->crow == 1 ? HrpbZeroColumns(p->C, p->ldc, rows, p->N, p->stream) : HrpbZeroColumns(p->C, p->crow, p->N, rows, p->stream);
}
