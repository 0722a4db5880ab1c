/*
   Launches of kernels, and what the launchers know of the device.
*/
#pragma once

#include "device.cuh"

typedef struct {
  int cc;         /* compute capability, 90 for 9.0, */
  int code;       /* and the one that the kernels it runs were compiled for: a later device takes those of an earlier one. 0 where it can run none */
  int nsm;        /* multiprocessors */
  int cache;      /* bytes of the second cache */
  int shared_sm;  /* bytes of shared memory of a multiprocessor, */
  int shared_cta; /* that one thread block can have, */
  int shared_own; /* and that the system keeps of each */
} DeviceInfo;

HrpbError GetDeviceInfo(const DeviceInfo **);

/* HRPB_ERR_UNSUPPORTED where the device can run none of the kernels */
HrpbError CheckKernels(void);

/*
   Launch a kernel behind another of ours, for which it waits with HrpbWaitForKernelBefore(): from Hopper on it is there before that one has ended. The first of several is launched as usual, and waits for everything before it.
   Then none ends before those before it have
*/
template <typename... Formal, typename... Actual> static HrpbError LaunchAfter(void (*kernel)(Formal...), dim3 grid, int threads, size_t shared, cudaStream_t stream, const Actual &...arguments)
{
  cudaLaunchAttribute early  = {};
  cudaLaunchConfig_t  config = {};
  const DeviceInfo   *device;

  HrpbCall(GetDeviceInfo(&device));
  early.id                                         = cudaLaunchAttributeProgrammaticStreamSerialization;
  early.val.programmaticStreamSerializationAllowed = 1;
  config.gridDim                                   = grid;
  config.blockDim                                  = dim3(threads);
  config.dynamicSmemBytes                          = shared;
  config.stream                                    = stream;
  config.attrs                                     = &early;
  config.numAttrs                                  = device->code >= 90; /* kernels compiled for an earlier device do not wait */
  HrpbCallCuda(cudaLaunchKernelEx(&config, kernel, arguments...));
  return HRPB_SUCCESS;
}
