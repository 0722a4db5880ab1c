/*
   The product on the device: which kernel, and what it needs.
*/
#include "product.cuh"

/* sm_86, sm_89 and sm_120 have FP64 tensor cores in name only: 1/64 of the FP32 rate */
static bool Supported(const DeviceInfo *d, HrpbPrecision precision)
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
  const DeviceInfo *device;

  *supports = false;
  HrpbCall(GetDeviceInfo(&device));
  *supports = Supported(device, precision);
  return HRPB_SUCCESS;
}

HrpbParams HrpbStagedParams(void)
{
  return {16, 128, HRPB_STAGED_COLS, 8};
}

HrpbParams HrpbShortParams(void)
{
  return {8, 64, HRPB_SHORT_COLS, 4};
}

HrpbParams HrpbGatherParams(void)
{
  return {8, 8, 256, 1};
}

static HrpbError ProductOf(const Hrpb *h, const HrpbSchedule *schedule, const HrpbScalar *values, HrpbPrecision precision, int64_t N, const HrpbScalar *B, int64_t ldb, HrpbScalar *C, int64_t ldc, HrpbStream stream, Product *p, const DeviceInfo **device)
{
  HrpbCall(GetDeviceInfo(device));
  if (!Supported(*device, precision)) return HRPB_ERR_UNSUPPORTED;
  if (N > HRPB_MAX_COLUMNS) return HRPB_ERR_OVERFLOW;
  *p = {h, schedule, values, precision, (int32_t)N, B, C, ldb, ldc, NULL, stream};
  return HRPB_SUCCESS;
}

/* The partial sums come first in the workspace */
static size_t PartialBytes(const Product *p)
{
  return (sizeof(HrpbScalar) * (size_t)p->schedule->nslots * (size_t)p->h->params.panel_rows * (size_t)p->N + 255) / 256 * 256;
}

HrpbError HrpbMultiplyWorkDevice(const Hrpb *h, const HrpbSchedule *schedule, HrpbPrecision precision, int64_t N, size_t *bytes)
{
  const DeviceInfo *device;
  Product           p;

  *bytes = 0;
  HrpbCall(ProductOf(h, schedule, NULL, precision, N, NULL, 0, NULL, 0, NULL, &p, &device));
  if (N > 0 && h->nrows > 0) *bytes = PartialBytes(&p) + (StagedTakes(&p, device) ? 0 : GatherWork(&p));
  return HRPB_SUCCESS;
}

HrpbError HrpbMultiplyDevice(const Hrpb *h, const HrpbSchedule *schedule, const HrpbScalar *values, HrpbPrecision precision, int64_t N, const HrpbScalar *B, int64_t ldb, HrpbScalar *C, int64_t ldc, void *work, HrpbStream stream)
{
  const DeviceInfo *device;
  Product           p;

  HrpbCall(ProductOf(h, schedule, values, precision, N, B, ldb, C, ldc, stream, &p, &device));
  if (N == 0 || h->nrows == 0) return HRPB_SUCCESS;
  if (h->nblocks == 0) {
    for (int64_t n = 0; n < N; n++) HrpbCallCuda(cudaMemsetAsync(C + n * ldc, 0, sizeof(HrpbScalar) * h->nrows, stream));
    return HRPB_SUCCESS;
  }
  p.partial = (HrpbScalar *)work;
  work      = (uint8_t *)work + PartialBytes(&p);
  HrpbCall(StagedTakes(&p, device) ? StagedRun(&p, device) : GatherRun(&p, work));
  return CombineRun(&p);
}
