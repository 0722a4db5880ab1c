/*
   The independent set that a greedy walk over the nodes of a graph finds, by all nodes at once; and which neighbours
   its nodes take.

   The walk takes a node unless a neighbour was taken before. So a node is taken once all neighbours that come before it
   are known not to be, and it is not once one of them is. All nodes look at their neighbours in rounds, until all are
   decided. What a round reads of another node may be old, and then it waits for the next: the set is the same. In a
   random order there are as many rounds as the logarithm of the number of nodes, nearly.
*/
#include "../common/launch.cuh"
#include "sparse.h"

enum {
  UNDECIDED,
  TAKEN,
  BESIDE, /* a neighbour is taken */
  ALONE,  /* without neighbours: neither */
  ROUNDS = 256
};

/* Whether an entry has none opposite. A warp has a row */
static __global__ void __launch_bounds__(HRPB_THREADS) Opposite(const __grid_constant__ SparseMatrix G, uint32_t *lacking)
{
  for (int64_t row = (int64_t)blockIdx.x * HRPB_WARPS + threadIdx.x / HRPB_LANES; row < G.nrows; row += (int64_t)gridDim.x * HRPB_WARPS) {
    for (int64_t k = G.rowptr[row] + threadIdx.x % HRPB_LANES; k < G.rowptr[row + 1]; k += HRPB_LANES) {
      int64_t begin = G.rowptr[G.colidx[k]], end = G.rowptr[G.colidx[k] + 1];

      while (begin < end) {
        const int64_t half = begin + (end - begin) / 2;

        if (G.colidx[half] < row) begin = half + 1;
        else end = half;
      }
      if (begin == G.rowptr[G.colidx[k] + 1] || G.colidx[begin] != row) *lacking = 1;
    }
  }
}

static __global__ void __launch_bounds__(HRPB_THREADS)
Begin(const __grid_constant__ SparseMatrix G, const int32_t *order, int32_t *rank, int32_t *state)
{
  for (int64_t i = (int64_t)blockIdx.x * HRPB_THREADS + threadIdx.x; i < G.nrows; i += (int64_t)gridDim.x * HRPB_THREADS) {
    rank[order ? order[i] : i] = (int32_t)i;
    state[i]                   = G.rowptr[i + 1] - G.rowptr[i] < 2 ? ALONE : UNDECIDED;
  }
}

/* A warp has a node */
static __global__ void __launch_bounds__(HRPB_THREADS)
Round(const __grid_constant__ SparseMatrix G, const int32_t *rank, volatile int32_t *state, uint32_t *undecided)
{
  for (int64_t row = (int64_t)blockIdx.x * HRPB_WARPS + threadIdx.x / HRPB_LANES; row < G.nrows; row += (int64_t)gridDim.x * HRPB_WARPS) {
    bool waits = false, beside = false;

    if (__shfl_sync(HRPB_ALL_LANES, state[row], 0) != UNDECIDED) continue;
    for (int64_t first = G.rowptr[row]; first < G.rowptr[row + 1] && !beside; first += HRPB_LANES) {
      const int64_t k = first + threadIdx.x % HRPB_LANES;

      if (k < G.rowptr[row + 1] && G.colidx[k] != row) {
        const int32_t s = state[G.colidx[k]];

        if (s == TAKEN) beside = true;
        else if (s == UNDECIDED && rank[G.colidx[k]] < rank[row]) waits = true;
      }
      beside = __any_sync(HRPB_ALL_LANES, beside);
    }
    waits = __any_sync(HRPB_ALL_LANES, waits);
    if (threadIdx.x % HRPB_LANES) continue;
    if (beside) state[row] = BESIDE;
    else if (!waits) state[row] = TAKEN;
    else *undecided = 1;
  }
}

/* The node itself where it is taken, the neighbour that the walk took first where one was, or -1 */
static __global__ void __launch_bounds__(HRPB_THREADS)
Owners(const __grid_constant__ SparseMatrix G, const int32_t *rank, const int32_t *state, int32_t *owner)
{
  for (int64_t row = (int64_t)blockIdx.x * HRPB_WARPS + threadIdx.x / HRPB_LANES; row < G.nrows; row += (int64_t)gridDim.x * HRPB_WARPS) {
    int32_t first = INT32_MAX, of = state[row] == TAKEN ? (int32_t)row : -1;

    for (int64_t k = G.rowptr[row] + threadIdx.x % HRPB_LANES; k < G.rowptr[row + 1] && state[row] == BESIDE; k += HRPB_LANES) {
      if (state[G.colidx[k]] != TAKEN || rank[G.colidx[k]] >= first) continue;
      first = rank[G.colidx[k]];
      of    = G.colidx[k];
    }
    for (int apart = HRPB_LANES / 2; apart; apart /= 2) {
      const int32_t other = __shfl_xor_sync(HRPB_ALL_LANES, first, apart), node = __shfl_xor_sync(HRPB_ALL_LANES, of, apart);

      if (other < first) of = node;
      if (other < first) first = other;
    }
    if (threadIdx.x % HRPB_LANES == 0) owner[row] = of;
  }
}

static HrpbError FindLacking(const SparseMatrix *G, uint32_t *lacking, HrpbStream stream)
{
  uint32_t found;

  HrpbCallCuda(cudaMemsetAsync(lacking, 0, sizeof(found), stream));
  HrpbCall(HrpbLaunch(Opposite, HrpbGrid(G->nrows, HRPB_WARPS), HRPB_THREADS, 0, stream, *G, lacking));
  HrpbCall(HrpbBring(&found, lacking, sizeof(found), stream));
  return found ? HRPB_ERR_UNSUPPORTED : HRPB_SUCCESS;
}

HrpbError SparseIsSymmetric(const SparseMatrix *G, HrpbStream stream)
{
  uint32_t *lacking;

  HrpbCall(CheckKernels());
  if (G->nrows != G->ncols) return HRPB_ERR_UNSUPPORTED;
  HrpbCall(HrpbAllocate(&lacking, 1, stream));
  return HrpbFree(lacking, FindLacking(G, lacking, stream), stream);
}

namespace {
/* One allocation, which `rank` begins */
struct Work {
  int32_t  *rank, *state, *owner, *order;
  uint32_t *undecided;
};
} // namespace

static HrpbError Walk(const SparseMatrix *G, const int32_t order[], const Work *w, int32_t owner[], HrpbStream stream)
{
  const size_t bytes = sizeof(*owner) * (size_t)G->nrows;
  uint32_t     undecided = 1;

  if (order) HrpbCallCuda(cudaMemcpyAsync(w->order, order, bytes, cudaMemcpyHostToDevice, stream));
  HrpbCall(HrpbLaunch(Begin, HrpbGrid(G->nrows, HRPB_THREADS), HRPB_THREADS, 0, stream, *G, (const int32_t *)(order ? w->order : NULL), w->rank,
                      w->state));
  for (int round = 0; undecided; round++) {
    if (round == ROUNDS) return HRPB_ERR_UNSUPPORTED;
    HrpbCallCuda(cudaMemsetAsync(w->undecided, 0, sizeof(undecided), stream));
    HrpbCall(HrpbLaunch(Round, HrpbGrid(G->nrows, HRPB_WARPS), HRPB_THREADS, 0, stream, *G, w->rank, w->state, w->undecided));
    HrpbCall(HrpbBring(&undecided, w->undecided, sizeof(undecided), stream));
  }
  HrpbCall(HrpbLaunch(Owners, HrpbGrid(G->nrows, HRPB_WARPS), HRPB_THREADS, 0, stream, *G, w->rank, w->state, w->owner));
  return HrpbBring(owner, w->owner, bytes, stream);
}

HrpbError SparseIndependent(const SparseMatrix *G, const int32_t order[], HrpbStream stream, int32_t owner[])
{
  Work w = {};

  HrpbCall(CheckKernels());
  if (G->nrows == 0) return HRPB_SUCCESS;
  if (G->nrows >= INT32_MAX) return HRPB_ERR_OVERFLOW;
  HrpbCall(HrpbAllocateTogether(stream, &w.rank, G->nrows, &w.state, G->nrows, &w.owner, G->nrows, &w.order, G->nrows, &w.undecided,
                                (int64_t)1));
  return HrpbFree(w.rank, Walk(G, order, &w, owner, stream), stream);
}

/* The last neighbour of the set, unless it is the only one, and the node is there already. A warp has a node */
static __global__ void __launch_bounds__(HRPB_THREADS) Take(const __grid_constant__ SparseMatrix G, const int32_t *owner, int32_t *taker)
{
  for (int64_t row = (int64_t)blockIdx.x * HRPB_WARPS + threadIdx.x / HRPB_LANES; row < G.nrows; row += (int64_t)gridDim.x * HRPB_WARPS) {
    int32_t first = INT32_MAX, last = -1;

    for (int64_t k = G.rowptr[row] + threadIdx.x % HRPB_LANES; k < G.rowptr[row + 1] && owner[row] != row; k += HRPB_LANES) {
      const int32_t node = G.colidx[k];

      if (owner[node] != node) continue;
      first = min(first, node);
      last  = max(last, node);
    }
    for (int apart = HRPB_LANES / 2; apart; apart /= 2) {
      first = min(first, __shfl_xor_sync(HRPB_ALL_LANES, first, apart));
      last  = max(last, __shfl_xor_sync(HRPB_ALL_LANES, last, apart));
    }
    if (threadIdx.x % HRPB_LANES == 0) taker[row] = first == last && last == owner[row] ? -1 : last;
  }
}

static HrpbError TakeAll(const SparseMatrix *G, const int32_t owner[], int32_t *on_device, int32_t *takers, int32_t taker[], HrpbStream stream)
{
  const size_t bytes = sizeof(*owner) * (size_t)G->nrows;

  HrpbCallCuda(cudaMemcpyAsync(on_device, owner, bytes, cudaMemcpyHostToDevice, stream));
  HrpbCall(HrpbLaunch(Take, HrpbGrid(G->nrows, HRPB_WARPS), HRPB_THREADS, 0, stream, *G, (const int32_t *)on_device, takers));
  return HrpbBring(taker, takers, bytes, stream);
}

HrpbError SparseTakers(const SparseMatrix *G, const int32_t owner[], HrpbStream stream, int32_t taker[])
{
  int32_t *on_device, *takers;

  HrpbCall(CheckKernels());
  if (G->nrows == 0) return HRPB_SUCCESS;
  HrpbCall(HrpbAllocateTogether(stream, &on_device, G->nrows, &takers, G->nrows));
  return HrpbFree(on_device, TakeAll(G, owner, on_device, takers, taker, stream), stream);
}
