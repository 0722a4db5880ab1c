/*
   What CUB does with arrays on the device, in memory that is there for the call alone.
*/
#pragma once

#include <cub/device/device_scan.cuh>

#include "device.cuh"

/* call(memory, bytes) calls CUB: without memory, for the bytes that it needs, and then with it */
template <typename F> static HrpbError HrpbCallCub(F call, HrpbStream stream)
{
  uint8_t    *memory;
  size_t      bytes = 0;
  cudaError_t cuda;

  HrpbCallCuda(call((void *)NULL, bytes));
  HrpbCall(HrpbAllocate(&memory, (int64_t)bytes, stream));
  cuda = call((void *)memory, bytes);
  return HrpbFree(memory, cuda == cudaSuccess ? HRPB_SUCCESS : HrpbDeviceError(cuda), stream);
}

/* a[i] = a[0] + ... + a[i - 1], i < n */
template <typename T> static HrpbError HrpbExclusiveSum(T *a, int64_t n, HrpbStream stream)
{
  return HrpbCallCub([=](void *memory, size_t &bytes) { return cub::DeviceScan::ExclusiveSum(memory, bytes, a, a, n, stream); }, stream);
}
