/*
   Sums of what comes before, over arrays on the device.
*/
#pragma once

#include <cub/device/device_scan.cuh>

#include "device.cuh"

/* a[i] = a[0] + ... + a[i - 1], i < n */
template <typename T> static HrpbError HrpbExclusiveSum(T *a, int64_t n, HrpbStream stream)
{
  uint8_t    *scan;
  size_t      bytes = 0;
  cudaError_t cuda;

  HrpbCallCuda(cub::DeviceScan::ExclusiveSum(NULL, bytes, a, a, n, stream));
  HrpbCall(HrpbAllocate(&scan, (int64_t)bytes, stream));
  cuda = cub::DeviceScan::ExclusiveSum(scan, bytes, a, a, n, stream);
  return HrpbFree(scan, cuda == cudaSuccess ? HRPB_SUCCESS : HrpbDeviceError(cuda), stream);
}
