/*
   CSR times one vector where rows come in nodes: a few rows, one behind the other, that have the same columns. Lanes of
   a warp have a node. They read its columns, and the numbers of x that these meet, once for all its rows.

   The bits are those of csr.cu: a lane adds what it would add there.
*/
#include "vector.cuh"

/*
   Entries of a row that are on their way together. In single precision there are registers for more reads, and for more
   thread blocks. Rows with a whole warp are long, and where there are few of them each turn of a lane is waited for
*/
static __host__ __device__ constexpr int TurnsOf(int rows, int lanes, bool single)
{
  if (single) return rows == 3 ? 6 : rows == 4 ? 2 : 4;
  return rows == 2 && lanes == HRPB_LANES ? 6 : rows == 3 ? 3 : rows == VECTOR_NODE ? 4 : 2;
}

/* Thread blocks on a multiprocessor, which leave each registers for its reads, see csr.cu */
static __host__ __device__ constexpr int BlocksOf(int rows, int lanes, bool single)
{
  return rows == 2 ? (lanes == HRPB_LANES && !single ? 4 : 6) : single && rows == 3 ? 5 : rows <= 4 ? 4 : rows == 6 || single ? 3 : 2;
}

/*
   What a lane adds of each row of a node. Rows that the node does not have are its last one once more, and nobody asks
   for their sums
*/
template <int LANES, int ROWS, typename Column, typename Number>
static __device__ __forceinline__ void AddNode(const Column *colidx, const Number *values, int32_t nrows, int32_t length, const Number *x,
  int32_t lane, Number (&sum)[ROWS])
{
  constexpr int TURNS = TurnsOf(ROWS, LANES, sizeof(Number) == 4);

#pragma unroll 1
  for (int32_t first = lane; first < length; first += LANES * TURNS) {
    int32_t    col[TURNS];
    Number     value[TURNS][ROWS], b[TURNS];
    const auto At = [&](int i) { return i == 0 ? first : min(first + i * LANES, length - 1); };

#pragma unroll
    for (int i = 0; i < TURNS; i++) col[i] = (int32_t)VectorReadOnce(colidx + (uint32_t)At(i));
#pragma unroll
    for (int i = 0; i < TURNS; i++) {
#pragma unroll
      for (int r = 0; r < ROWS; r++) value[i][r] = VectorReadOnce(values + (uint32_t)(min(r, nrows - 1) * length + At(i)));
    }
#pragma unroll
    for (int i = 0; i < TURNS; i++) b[i] = VectorReadX(x + col[i]);
#pragma unroll
    for (int i = 0; i < TURNS; i++) {
#pragma unroll
      for (int r = 0; r < ROWS; r++) {
        if (i == 0 || first + i * LANES < length) sum[r] = fma(value[i][r], b[i], sum[r]);
      }
    }
  }
}

template <int LANES, int ROWS, bool SHORT, typename Number>
static __global__ void __launch_bounds__(VECTOR_THREADS, BlocksOf(ROWS, LANES, sizeof(Number) == 4))
  VectorNodes(const __grid_constant__ VectorProductWith<Number> a)
{
  const uint32_t node = (blockIdx.x - a.nparts) * (VECTOR_THREADS / LANES) + threadIdx.x / LANES;
  const int32_t  lane = threadIdx.x % LANES;

  if (VectorHasLongRows(a, (int32_t)blockIdx.x - a.nparts)) return;

  const bool    is     = node < a.nnodes;
  const int32_t row    = is ? __ldg(a.nodes + node) : 0, nrows = is ? __ldg(a.nodes + node + 1) - row : 0;
  const HrpbInt begin  = is ? __ldg(a.rowptr + row) : 0;
  const int32_t length = is ? (int32_t)(__ldg(a.rowptr + row + 1) - begin) : 0;
  const bool    whole  = length <= a.long_entries;
  const int32_t base   = SHORT && is ? __ldg(a.bases + row / VECTOR_GROUP) : -1;
  Number        sum[ROWS] = {};

  VectorBegin(a);
  if (SHORT && base >= 0) AddNode<LANES, ROWS>(a.columns + begin, a.values + begin, nrows, whole ? length : 0, a.x + base, lane, sum);
  else AddNode<LANES, ROWS>(a.colidx + begin, a.values + begin, nrows, whole ? length : 0, a.x, lane, sum);
#pragma unroll
  for (int first = 0; first < ROWS; first += LANES) { /* a lane stores a row */
    Number mine = 0;

#pragma unroll
    for (int r = first; r < ROWS && r < first + LANES; r++) {
      const Number all = HrpbSumOfLanes<LANES>(sum[r]);

      if (lane == r - first) mine = all;
    }
    if (whole && first + lane < nrows) VectorStore(a, row + first + lane, mine);
  }
}

template <int LANES, int ROWS, typename Number> static HrpbError Launch(VectorProductWith<Number> *p, cudaStream_t stream)
{
  const int64_t per_block = VECTOR_THREADS / LANES;
  const auto    kernel    = p->columns ? VectorNodes<LANES, ROWS, true, Number> : VectorNodes<LANES, ROWS, false, Number>;

  return VectorLaunch(kernel, p, (p->nnodes + per_block - 1) / per_block, stream);
}

template <int LANES, typename Number> static HrpbError LaunchRows(VectorProductWith<Number> *p, int32_t rows, cudaStream_t stream)
{
  return rows == 2 ? Launch<LANES, 2>(p, stream) : rows == 3 ? Launch<LANES, 3>(p, stream) : rows == 4 ? Launch<LANES, 4>(p, stream) : rows == 6 ? Launch<LANES, 6>(p, stream) : Launch<LANES, VECTOR_NODE>(p, stream);
}

template <typename Number> static HrpbError Run(const SpmmMatrix *A, const SpmmOperands *o, void *work, HrpbStream stream)
{
  const int32_t             rows = A->vector->node_rows;
  VectorProductWith<Number> p;

  HrpbCall(VectorProductOf(A, o, work, &p));
  return VectorWithLanes(A->vector->lanes, [&](auto lanes) { return LaunchRows<decltype(lanes)::value>(&p, rows, stream); });
}

static bool Takes(const SpmmFacts *facts, const HrpbParams *, const SpmmOperands *o, const SpmmDevice *)
{
  return facts->nodes && VectorTakes(o);
}

SPMM_KERNEL(SpmmVectorNodes) =
  VectorKernel("vector-nodes", "CSR times one vector, columns once for rows that share them", Takes, VectorWork, Run<HrpbScalar>);

VECTOR_SINGLE_KERNEL(SpmmVectorNodesSingle, "vector-nodes", Takes, Run<float>);
