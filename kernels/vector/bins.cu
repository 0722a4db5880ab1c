/*
   CSR times one vector where lengths of rows differ much. Rows are sorted by the number of lanes that suits them, so
   that the rows of a warp are about equally long.
*/
#include "vector.cuh"

namespace {
/* The first thread block of each bin */
struct Bins {
  int32_t block[VECTOR_BINS], row[VECTOR_BINS + 1];
};
} // namespace

enum {
  TURNS = 2 /* entries of a lane that are on their way together */
};

template <int BIN, typename Number>
static __device__ __forceinline__ void MultiplyBin(const VectorProductWith<Number> &a, const Bins &bins, int32_t block)
{
  constexpr int LANES  = 1 << BIN;
  const int64_t i      = bins.row[BIN] + ((int64_t)(block - bins.block[BIN]) * VECTOR_THREADS + threadIdx.x) / LANES;
  const bool    is     = i < bins.row[BIN + 1];
  const int32_t row    = is ? __ldg(a.order + i) : 0;
  const HrpbInt begin  = is ? __ldg(a.rowptr + row) : 0;
  const int32_t length = is ? (int32_t)(__ldg(a.rowptr + row + 1) - begin) : 0;

  VectorBegin(a);

  const Number part = VectorSumOfLane<LANES, TURNS>(a.colidx + begin, a.values + begin, length, a.x, threadIdx.x % LANES);
  const Number sum  = VectorSumOfLanes<LANES>(part);

  if (is && threadIdx.x % LANES == 0) VectorStore(a, row, sum);
}

template <typename Number>
static __global__ void __launch_bounds__(VECTOR_THREADS, sizeof(Number) == 16 ? 6 : 8)
  VectorBins(const __grid_constant__ VectorProductWith<Number> a, const __grid_constant__ Bins bins)
{
  const int32_t block = (int32_t)blockIdx.x - a.nparts;

  if (VectorHasLongRows(a, block)) return;
  if (block < bins.block[1]) MultiplyBin<0, Number>(a, bins, block);
  else if (block < bins.block[2]) MultiplyBin<1, Number>(a, bins, block);
  else if (block < bins.block[3]) MultiplyBin<2, Number>(a, bins, block);
  else if (block < bins.block[4]) MultiplyBin<3, Number>(a, bins, block);
  else if (block < bins.block[5]) MultiplyBin<4, Number>(a, bins, block);
  else MultiplyBin<5, Number>(a, bins, block);
}

template <typename Number, bool CONJUGATE = false>
static HrpbError RunFor(const SpmmMatrix *A, const SpmmOperands *o, void *work, HrpbStream stream)
{
  VectorProductWith<Number> p;
  Bins                      bins;
  int32_t                   blocks = 0;

  HrpbCall(VectorProductOf(A, o, work, &p, CONJUGATE));
  bins.row[0] = 0;
  for (int bin = 0; bin < VECTOR_BINS; bin++) {
    const int32_t per_block = VECTOR_THREADS >> bin, rows = A->vector->bin_rows[bin];

    bins.block[bin]   = blocks;
    bins.row[bin + 1] = bins.row[bin] + rows;
    blocks += rows / per_block + (rows % per_block > 0);
  }
  return VectorLaunch(VectorBins<Number>, &p, blocks, stream, bins);
}

static bool Takes(const SpmmFacts *facts, const HrpbParams *, const SpmmOperands *o, const SpmmDevice *)
{
  return facts->bins && !facts->staged && VectorTakes(o);
}

SPMM_KERNEL(SpmmVectorBins) =
  VectorKernel("vector-bins", "CSR times one vector, rows sorted by their length", Takes, VectorWork, RunFor<HrpbScalar>);

VECTOR_SINGLE_KERNEL(SpmmVectorBinsSingle, "vector-bins", Takes, RunFor<float>);

template <bool CONJUGATE> static HrpbError RunPairs(const SpmmMatrix *A, const SpmmOperands *o, void *work, HrpbStream stream)
{
  return RunFor<VectorPair, CONJUGATE>(A, o, work, stream);
}

VECTOR_PAIRS_KERNELS(SpmmVectorBinsPairs, "vector-bins", "rows sorted by their length", Takes, RunPairs);
