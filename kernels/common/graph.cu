/*
   What a run launches, before it does: as a CUDA graph, or its kernels alone.
*/
#include "launch.cuh"

static thread_local bool loading;

bool HrpbIsLoading(void)
{
  return loading;
}

/*
   To ask CUDA about a kernel brings it to the device. Those that were asked about are noted, as many as there is room
   for: the question takes a microsecond
*/
HrpbError HrpbLoadKernel(const void *kernel)
{
  enum {
    ROOM = 512 /* a power of two, for some hundred kernels and devices */
  };
  struct Loaded {
    const void *kernel;
    int         device;
  };
  static thread_local Loaded known[ROOM];
  cudaFuncAttributes         attributes;
  int                        device;
  Loaded                    *place;

  HrpbCallCuda(cudaGetDevice(&device));
  place = &known[(((uintptr_t)kernel >> 4) * 0x9e3779b97f4a7c15ull >> 40) % ROOM];
  if (place->kernel == kernel && place->device == device) return HRPB_SUCCESS;
  HrpbCallCuda(cudaFuncGetAttributes(&attributes, kernel));
  *place = {kernel, device};
  return HRPB_SUCCESS;
}

HrpbError SpmmLoad(HrpbError (*launch)(void *, HrpbStream), void *ctx, HrpbStream stream)
{
  HrpbError err;

  loading = true;
  err     = launch(ctx, stream);
  loading = false;
  return err;
}

/* The graph of what launch() launches */
static cudaError_t CaptureIn(cudaStream_t stream, HrpbError (*launch)(void *, HrpbStream), void *ctx, cudaGraph_t *graph)
{
  const cudaError_t begun = cudaStreamBeginCapture(stream, cudaStreamCaptureModeRelaxed);
  const HrpbError   err   = begun == cudaSuccess ? launch(ctx, stream) : HRPB_ERR_DEVICE;
  const cudaError_t ended = begun == cudaSuccess ? cudaStreamEndCapture(stream, graph) : begun;

  return ended == cudaSuccess && err ? cudaErrorStreamCaptureInvalidated : ended;
}

/* CUDA's default stream cannot be captured */
SpmmGraph SpmmCapture(HrpbError (*launch)(void *, HrpbStream), void *ctx)
{
  cudaStream_t    stream = NULL;
  cudaGraph_t     graph  = NULL;
  cudaGraphExec_t exec   = NULL;
  cudaError_t     err    = cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking);

  if (err == cudaSuccess) err = CaptureIn(stream, launch, ctx, &graph);
  if (err == cudaSuccess) err = cudaGraphInstantiateWithFlags(&exec, graph, 0);
  if (err != cudaSuccess) {
    (void)HrpbDeviceError(err);
    exec = NULL;
  }
  if (graph) (void)cudaGraphDestroy(graph);
  if (stream) (void)cudaStreamDestroy(stream);
  return exec;
}
