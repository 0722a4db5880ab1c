/*
   Errors of CUDA, numbers that come from a device, and what is known of it.
*/
#include <stdio.h>
#include <string.h>

#include "launch.cuh"

static thread_local cudaError_t last_error = cudaSuccess;

HrpbError HrpbDeviceError(cudaError_t err)
{
  last_error = err;
  (void)cudaGetLastError(); /* the caller's own checks shall not meet it again */
  /* thread blocks that wait for each other, and a context that has a part of the multiprocessors */
  if (err == cudaErrorCooperativeLaunchTooLarge) return HRPB_ERR_UNSUPPORTED;
  return err == cudaErrorMemoryAllocation ? HRPB_ERR_DEVICE_MEMORY : HRPB_ERR_DEVICE;
}

const char *HrpbDeviceErrorString(void)
{
  return cudaGetErrorString(last_error);
}

HrpbError HrpbBring(void *to, const void *from, size_t bytes, HrpbStream stream)
{
  HrpbCallCuda(cudaMemcpyAsync(to, from, bytes, cudaMemcpyDeviceToHost, stream));
  HrpbCallCuda(cudaStreamSynchronize(stream));
  return HRPB_SUCCESS;
}

static bool InTwoDimensions(int64_t ld)
{
  return ld <= (int64_t)(INT32_MAX / sizeof(HrpbScalar));
}

HrpbError HrpbCopyColumns(HrpbScalar *to, int64_t ldto, const HrpbScalar *from, int64_t ldfrom, int64_t rows, int64_t columns, HrpbStream stream)
{
  const size_t size = sizeof(HrpbScalar);

  if (!rows || !columns) return HRPB_SUCCESS;
  if (InTwoDimensions(ldto > ldfrom ? ldto : ldfrom)) HrpbCallCuda(cudaMemcpy2DAsync(to, size * ldto, from, size * ldfrom, size * rows, columns, cudaMemcpyDeviceToDevice, stream));
  else {
    for (int64_t j = 0; j < columns; j++) HrpbCallCuda(cudaMemcpyAsync(to + j * ldto, from + j * ldfrom, size * rows, cudaMemcpyDeviceToDevice, stream));
  }
  return HRPB_SUCCESS;
}

HrpbError HrpbZeroColumns(HrpbScalar *to, int64_t ldto, int64_t rows, int64_t columns, HrpbStream stream)
{
  const size_t size = sizeof(HrpbScalar);

  if (!rows || !columns) return HRPB_SUCCESS;
  if (InTwoDimensions(ldto)) HrpbCallCuda(cudaMemset2DAsync(to, size * ldto, 0, size * rows, columns, stream));
  else {
    for (int64_t j = 0; j < columns; j++) HrpbCallCuda(cudaMemsetAsync(to + j * ldto, 0, size * rows, stream));
  }
  return HRPB_SUCCESS;
}

static __global__ void AnyKernel() { }

static HrpbError Attribute(cudaDeviceAttr attribute, int device, int *x)
{
  HrpbCallCuda(cudaDeviceGetAttribute(x, attribute, device));
  return HRPB_SUCCESS;
}

/* Which code the device runs: the compute capability that a kernel of ours was compiled for */
static HrpbError CodeOf(int cc, int *code)
{
  cudaFuncAttributes any;
  const cudaError_t  err = cudaFuncGetAttributes(&any, AnyKernel);

  *code = 0;
  if (err == cudaErrorNoKernelImageForDevice || err == cudaErrorInvalidDeviceFunction || err == cudaErrorUnsupportedPtxVersion) {
    (void)cudaGetLastError();
    return HRPB_SUCCESS;
  }
  HrpbCallCuda(err);
  *code = any.ptxVersion && any.ptxVersion < cc ? any.ptxVersion : cc;
  return HRPB_SUCCESS;
}

static HrpbError LookAt(int device, SpmmDevice *d)
{
  cudaDeviceProp properties;
  int            major, minor, kilohertz, bits;

  HrpbCall(Attribute(cudaDevAttrComputeCapabilityMajor, device, &major));
  HrpbCall(Attribute(cudaDevAttrComputeCapabilityMinor, device, &minor));
  HrpbCall(Attribute(cudaDevAttrMultiProcessorCount, device, &d->nsm));
  HrpbCall(Attribute(cudaDevAttrL2CacheSize, device, &d->cache));
  HrpbCall(Attribute(cudaDevAttrMaxSharedMemoryPerMultiprocessor, device, &d->shared_sm));
  HrpbCall(Attribute(cudaDevAttrMaxSharedMemoryPerBlockOptin, device, &d->shared_cta));
  HrpbCall(Attribute(cudaDevAttrReservedSharedMemoryPerBlock, device, &d->shared_own));
  HrpbCall(Attribute(cudaDevAttrMemoryClockRate, device, &kilohertz));
  HrpbCall(Attribute(cudaDevAttrGlobalMemoryBusWidth, device, &bits));
  HrpbCallCuda(cudaGetDeviceProperties(&properties, device));
  (void)snprintf(d->name, sizeof(d->name), "%s", properties.name);
  d->memory    = properties.totalGlobalMem;
  d->bandwidth = 2e3 * kilohertz * bits / 8; /* two transfers a cycle */
  HrpbCall(CodeOf(10 * major + minor, &d->code));
  d->model = SpmmNearestModel(d->name, 10 * major + minor, d->nsm, d->bandwidth);
  d->cc    = 10 * major + minor; /* the last: known */
  return HRPB_SUCCESS;
}

HrpbError SpmmGetDevice(const SpmmDevice **d)
{
  enum {
    MAX_DEVICES = 64
  };
  static thread_local SpmmDevice known[MAX_DEVICES]; /* one for each thread, so that none waits for another */
  int                            device;

  HrpbCallCuda(cudaGetDevice(&device));
  if (device >= MAX_DEVICES) return HrpbDeviceError(cudaErrorInvalidDevice);
  if (!known[device].cc) HrpbCall(LookAt(device, &known[device]));
  *d = &known[device];
  return HRPB_SUCCESS;
}

HrpbError CheckKernels(void)
{
  const SpmmDevice *device;

  HrpbCall(SpmmGetDevice(&device));
  return device->code ? HRPB_SUCCESS : HRPB_ERR_UNSUPPORTED;
}
