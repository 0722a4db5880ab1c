#include "device.cuh"

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
