/*
   Launches of kernels.
*/
#pragma once

#include "../spmm.h"
#include "device.cuh"

/* HRPB_ERR_UNSUPPORTED where the device can run none of the kernels */
HrpbError CheckKernels(void);

/*
   Launch a kernel behind another of ours. From Hopper on it starts before that one has ended, and waits for it by
   HrpbWaitForKernelBefore(). The first of several is launched as usual, and waits for all work before it. So none ends
   before those before it
*/
template <typename... Formal> static HrpbError LaunchAs(bool first, void (*kernel)(Formal...), dim3 grid, int threads, size_t shared, cudaStream_t stream, typename HrpbSame<Formal>::type... arguments)
{
  cudaLaunchAttribute early  = {};
  cudaLaunchConfig_t  config = {};
  const SpmmDevice   *device;

  HrpbCall(SpmmGetDevice(&device));
  early.id                                         = cudaLaunchAttributeProgrammaticStreamSerialization;
  early.val.programmaticStreamSerializationAllowed = 1;
  config.gridDim                                   = grid;
  config.blockDim                                  = dim3(threads);
  config.dynamicSmemBytes                          = shared;
  config.stream                                    = stream;
  config.attrs                                     = &early;
  config.numAttrs                                  = !first && device->code >= 90; /* earlier code does not wait */
  return HrpbLaunchAs(&config, kernel, arguments...);
}

template <typename... Formal> static HrpbError LaunchAfter(void (*kernel)(Formal...), dim3 grid, int threads, size_t shared, cudaStream_t stream, typename HrpbSame<Formal>::type... arguments)
{
  return LaunchAs(false, kernel, grid, threads, shared, stream, arguments...);
}
