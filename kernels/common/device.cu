#include "launch.cuh"

static thread_local cudaError_t last_error = cudaSuccess;

HrpbError HrpbDeviceError(cudaError_t err)
{
  last_error = err;
  (void)cudaGetLastError(); /* the caller's own checks shall not meet it again */
  return err == cudaErrorMemoryAllocation ? HRPB_ERR_DEVICE_MEMORY : HRPB_ERR_DEVICE;
}

const char *HrpbDeviceErrorString(void)
{
  return cudaGetErrorString(last_error);
}

static __global__ void AnyKernel() { }

HrpbError GetDeviceInfo(const DeviceInfo **info)
{
  enum {
    MAX_DEVICES = 64
  };
  static thread_local DeviceInfo known[MAX_DEVICES];
  int                            device, major, minor;
  cudaFuncAttributes             any;
  cudaError_t                    err;
  DeviceInfo                    *d;

  HrpbCallCuda(cudaGetDevice(&device));
  if (device >= MAX_DEVICES) return HrpbDeviceError(cudaErrorInvalidDevice);
  d = &known[device];
  if (!d->cc) {
    HrpbCallCuda(cudaDeviceGetAttribute(&d->nsm, cudaDevAttrMultiProcessorCount, device));
    HrpbCallCuda(cudaDeviceGetAttribute(&d->cache, cudaDevAttrL2CacheSize, device));
    HrpbCallCuda(cudaDeviceGetAttribute(&d->shared_sm, cudaDevAttrMaxSharedMemoryPerMultiprocessor, device));
    HrpbCallCuda(cudaDeviceGetAttribute(&d->shared_cta, cudaDevAttrMaxSharedMemoryPerBlockOptin, device));
    HrpbCallCuda(cudaDeviceGetAttribute(&d->shared_own, cudaDevAttrReservedSharedMemoryPerBlock, device));
    HrpbCallCuda(cudaDeviceGetAttribute(&major, cudaDevAttrComputeCapabilityMajor, device));
    HrpbCallCuda(cudaDeviceGetAttribute(&minor, cudaDevAttrComputeCapabilityMinor, device));
    err = cudaFuncGetAttributes(&any, AnyKernel);
    if (err == cudaErrorNoKernelImageForDevice || err == cudaErrorInvalidDeviceFunction || err == cudaErrorUnsupportedPtxVersion) {
      (void)cudaGetLastError();
      d->code = 0;
    } else {
      HrpbCallCuda(err);
      d->code = any.ptxVersion && any.ptxVersion < 10 * major + minor ? any.ptxVersion : 10 * major + minor;
    }
    d->cc = 10 * major + minor;
  }
  *info = d;
  return HRPB_SUCCESS;
}

HrpbError CheckKernels(void)
{
  const DeviceInfo *device;

  HrpbCall(GetDeviceInfo(&device));
  return device->code ? HRPB_SUCCESS : HRPB_ERR_UNSUPPORTED;
}
