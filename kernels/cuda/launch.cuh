/*
   A product as the launchers of the kernels get it, and what they know of the device.
*/
#pragma once

#include "device.cuh"
#include "multiply.cuh"

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

typedef struct {
  const Hrpb         *h;
  const HrpbSchedule *schedule;
  const HrpbScalar   *values;
  HrpbPrecision       precision;
  int32_t           N;
  const HrpbScalar *B;
  HrpbScalar       *C;
  int64_t           ldb, ldc;
  HrpbScalar       *partial; /* see DenseArgs */
  cudaStream_t      stream;
} Product;

static inline DenseArgs<HrpbScalar> DenseArgsOf(const Product *p)
{
  const bool pairs = !p->h->order && (p->ldc * sizeof(HrpbScalar) | (uintptr_t)p->C) % (2 * sizeof(HrpbScalar)) == 0;

  return {p->B, p->C, p->ldb, p->ldc, p->N, pairs, p->partial, (int64_t)p->schedule->nslots * p->h->params.panel_rows};
}

/* schedule.cu: put the sums of parts of panels together */
HrpbError CombineRun(const Product *);

/* Columns of a block at most, and blocks, with fewer of which a panel is better multiplied with 64 columns of B at a time than with 128 */
static constexpr __host__ __device__ int StagedCols(int brick_rows)
{
  return brick_rows == 16 ? HRPB_STAGED_COLS : HRPB_SHORT_COLS;
}

static constexpr __host__ __device__ int StagedShortPanel(int brick_rows)
{
  return StagedCols(brick_rows) == 64 ? 16 : 5;
}

/* staged.cu: whether the kernel takes this product; it reads B where it is */
bool      StagedTakes(const Product *, const DeviceInfo *);
HrpbError StagedRun(const Product *, const DeviceInfo *);

/* gather.cu takes any product. A row of its copy of B has so many columns */
int32_t   GatherLeadingDimension(int32_t N);
size_t    GatherWork(const Product *);
HrpbError GatherRun(const Product *, void *work);
