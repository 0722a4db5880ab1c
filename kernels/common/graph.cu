/*
   Launches that come again, as a CUDA graph.
*/
#include "launch.cuh"

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
