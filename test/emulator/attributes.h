/*
   What the emulated device says of itself: an A100 or H100 with fewer multiprocessors, so that thread blocks that stay
   have more to do. arch: 80 or 90. After cudaDeviceAttr is there.
*/
#pragma once

constexpr int EmulatedAttribute(cudaDeviceAttr attribute, int arch)
{
  const bool hopper = arch >= 90;

  switch (attribute) {
  case cudaDevAttrMultiProcessorCount:
    return 3;
  case cudaDevAttrL2CacheSize:
    return 40 << 20;
  case cudaDevAttrComputeCapabilityMajor:
    return arch / 10;
  case cudaDevAttrComputeCapabilityMinor:
    return arch % 10;
  case cudaDevAttrMaxSharedMemoryPerMultiprocessor:
    return hopper ? 228 << 10 : 164 << 10;
  case cudaDevAttrMaxSharedMemoryPerBlockOptin:
    return hopper ? 227 << 10 : 163 << 10;
  case cudaDevAttrReservedSharedMemoryPerBlock:
    return 1 << 10;
  case cudaDevAttrCooperativeLaunch: /* thread blocks run one after the other */
    return 0;
  case cudaDevAttrGlobalMemoryBusWidth:
    return 5120;
  default:
    return 1;
  }
}
