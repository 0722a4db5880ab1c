/*
   Maps of the rows of a matrix of CSR, in place: softmax and leaky ReLU, and their gradients.

   A group of lanes has a row. Each lane goes through entries as many apart as there are lanes, and sums of lanes are
   added pairwise. So the order is the same on every run.
*/
#include "../common/launch.cuh"
#include "sample.h"

enum {
  MAP_THREADS = 256
};

template <int L> static __device__ __forceinline__ HrpbScalar MostOfLanes(HrpbScalar x)
{
#pragma unroll
  for (int distance = L / 2; distance > 0; distance /= 2) {
    const HrpbScalar other = __shfl_xor_sync(HRPB_ALL_LANES, x, distance);

    x = other > x ? other : x;
  }
  return x;
}

/* L: lanes of a group. All lanes of a warp come to the shuffles together, also those beyond the last row */
template <int L> static __global__ void __launch_bounds__(MAP_THREADS) MapRows(SampledMap map, SampledRows r, HrpbScalar slope)
{
  const int64_t row  = ((int64_t)blockIdx.x * MAP_THREADS + threadIdx.x) / L;
  const int     lane = threadIdx.x % L;
  HrpbScalar    most = -(HrpbScalar)INFINITY, sum = 0;
  int64_t       begin[2] = {}, end[2] = {};

#pragma unroll
  for (int b = 0; b < 2; b++) {
    if (row < r.nrows && r.rowptr[b]) {
      begin[b] = (int64_t)r.rowptr[b][row] + lane;
      end[b]   = r.rowptr[b][row + 1];
    }
  }
  switch (map) {
  case SAMPLED_SOFTMAX:
    for (int b = 0; b < 2; b++) {
      for (int64_t e = begin[b]; e < end[b]; e += L) most = r.out[b][e] > most ? r.out[b][e] : most;
    }
    most = MostOfLanes<L>(most);
    for (int b = 0; b < 2; b++) {
      for (int64_t e = begin[b]; e < end[b]; e += L) sum += r.out[b][e] = exp(r.out[b][e] - most);
    }
    sum = HrpbSumOfLanes<L>(sum);
    for (int b = 0; b < 2; b++) {
      for (int64_t e = begin[b]; e < end[b]; e += L) r.out[b][e] /= sum;
    }
    break;
  case SAMPLED_SOFTMAX_GRADIENT:
    for (int b = 0; b < 2; b++) {
      for (int64_t e = begin[b]; e < end[b]; e += L) sum += r.in[b][e] * r.out[b][e];
    }
    sum = HrpbSumOfLanes<L>(sum);
    for (int b = 0; b < 2; b++) {
      for (int64_t e = begin[b]; e < end[b]; e += L) r.out[b][e] = r.in[b][e] * (r.out[b][e] - sum);
    }
    break;
  case SAMPLED_LEAKY_RELU:
    for (int b = 0; b < 2; b++) {
      for (int64_t e = begin[b]; e < end[b]; e += L) r.out[b][e] = r.out[b][e] > 0 ? r.out[b][e] : slope * r.out[b][e];
    }
    break;
  case SAMPLED_LEAKY_RELU_GRADIENT:
    for (int b = 0; b < 2; b++) {
      for (int64_t e = begin[b]; e < end[b]; e += L) r.out[b][e] = r.in[b][e] > 0 ? r.out[b][e] : slope * r.out[b][e];
    }
    break;
  }
}

HrpbError SampledMapDevice(SampledMap map, const SampledRows *r, int64_t nnz, HrpbScalar slope, HrpbStream stream)
{
  if (!r->nrows || !nnz) return HRPB_SUCCESS;
  if (nnz <= 16 * r->nrows) HrpbCall(HrpbLaunch(MapRows<4>, HrpbGrid(r->nrows, MAP_THREADS / 4), MAP_THREADS, 0, stream, map, *r, slope));
  else HrpbCall(HrpbLaunch(MapRows<32>, HrpbGrid(r->nrows, MAP_THREADS / 32), MAP_THREADS, 0, stream, map, *r, slope));
  return HRPB_SUCCESS;
}
