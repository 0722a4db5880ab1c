/*
   CSR times one vector where rows come in nodes: a few rows, one behind the other, that have the same columns. Lanes of
   a warp have a node. They read its columns, and the numbers of x that these meet, once for all its rows.

   The bits are those of csr.cu: a lane adds what it would add there.
*/
#include "vector.cuh"

enum {
  TURNS = 2 /* columns of a lane that are on their way together */
};

template <int LANES, int ROWS> static __global__ void __launch_bounds__(VECTOR_THREADS) VectorNodes(const __grid_constant__ VectorProduct a)
{
  const int64_t node = ((int64_t)(blockIdx.x - a.nparts) * VECTOR_THREADS + threadIdx.x) / LANES;
  const int32_t lane = threadIdx.x % LANES;

  HrpbLetNextKernelCome();
  if (blockIdx.x < a.nparts) {
    VectorMultiplyPart(a, blockIdx.x);
    return;
  }

  const bool        is     = node < a.nnodes;
  const int32_t     row    = is ? __ldg(a.nodes + node) : 0, nrows = is ? __ldg(a.nodes + node + 1) - row : 0;
  const HrpbInt     begin  = is ? __ldg(a.rowptr + row) : 0;
  const int32_t     length = is ? (int32_t)(__ldg(a.rowptr + row + 1) - begin) : 0;
  const bool        whole  = length <= a.long_entries;
  const HrpbInt    *colidx = a.colidx + begin;
  const HrpbScalar *values = a.values + begin;
  HrpbScalar        sum[ROWS] = {};

#pragma unroll 1
  for (int32_t first = lane; whole && first < length; first += LANES * TURNS) {
    int32_t    col[TURNS];
    HrpbScalar value[TURNS][ROWS], x[TURNS];
    const auto Has = [&](int i) { return i == 0 || first < length - i * LANES; };

#pragma unroll
    for (int i = 0; i < TURNS; i++) {
      col[i] = Has(i) ? (int32_t)VectorReadOnce(colidx + first + i * LANES) : 0;
#pragma unroll
      for (int r = 0; r < ROWS; r++) value[i][r] = Has(i) && r < nrows ? VectorReadOnce(values + r * length + first + i * LANES) : (HrpbScalar)0;
    }
#pragma unroll
    for (int i = 0; i < TURNS; i++) x[i] = Has(i) ? __ldg(a.x + col[i]) : (HrpbScalar)0;
#pragma unroll
    for (int i = 0; i < TURNS; i++) {
#pragma unroll
      for (int r = 0; r < ROWS; r++) {
        if (Has(i) && r < nrows) sum[r] = fma(value[i][r], x[i], sum[r]);
      }
    }
  }
#pragma unroll
  for (int r = 0; r < ROWS; r++) {
    const HrpbScalar all = VectorAddLanes<LANES>(sum[r]);

    if (whole && r < nrows && lane == r % LANES) VectorStore(a, row + r, all);
  }
}

template <int LANES, int ROWS> static HrpbError Launch(const VectorProduct *p, cudaStream_t stream)
{
  const int64_t per_block = VECTOR_THREADS / LANES;

  VectorNodes<LANES, ROWS><<<p->nparts + (unsigned)((p->nnodes + per_block - 1) / per_block), VECTOR_THREADS, 0, stream>>>(*p);
  HrpbCallCuda(cudaGetLastError());
  return VectorCombine(p, stream);
}

template <int LANES> static HrpbError LaunchRows(const VectorProduct *p, int32_t rows, cudaStream_t stream)
{
  return rows == 2 ? Launch<LANES, 2>(p, stream) : rows == 3 ? Launch<LANES, 3>(p, stream) : rows == 4 ? Launch<LANES, 4>(p, stream) : rows == 6 ? Launch<LANES, 6>(p, stream) : Launch<LANES, VECTOR_NODE>(p, stream);
}

static HrpbError Run(const SpmmMatrix *A, const SpmmOperands *o, void *work, HrpbStream stream)
{
  const int32_t rows = A->vector->node_rows;
  VectorProduct p;

  HrpbCall(VectorProductOf(A, o, work, &p));
  switch (A->vector->lanes) {
  case 1:
    return LaunchRows<1>(&p, rows, stream);
  case 2:
    return LaunchRows<2>(&p, rows, stream);
  case 4:
    return LaunchRows<4>(&p, rows, stream);
  case 8:
    return LaunchRows<8>(&p, rows, stream);
  case 16:
    return LaunchRows<16>(&p, rows, stream);
  default:
    return LaunchRows<32>(&p, rows, stream);
  }
}

static bool Takes(const SpmmFacts *facts, const HrpbParams *, const SpmmOperands *o, const SpmmDevice *)
{
  return facts->nodes && VectorTakes(o);
}

SPMM_KERNEL(SpmmVectorNodes) = {
  .name   = "vector-nodes",
  .what   = "CSR times one vector, columns once for rows that share them",
  .op     = SPMM_OP_VECTOR,
  .format = SPMM_CSR,
  .takes  = Takes,
  .work   = VectorWork,
  .run    = Run
};
