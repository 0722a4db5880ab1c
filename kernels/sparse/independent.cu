/*
   The independent set that a greedy walk over the nodes of a graph finds, by all nodes at once; and which neighbours
   its nodes take.

   The walk takes a node unless a neighbour was taken before. So a node is taken once all neighbours that come before it
   are known not to be, and it is not once one of them is. All nodes look at their neighbours in rounds, until all are
   decided. What a round reads of another node may be old, and then it waits for the next: the set is the same. In a
   random order there are as many rounds as the logarithm of the number of nodes, nearly.

   Several processes walk by turns, each over its own nodes. A node waits for the next turn while a ghost beside it is
   undecided that a later process owns. Then all tell their nodes' states, and nodes beside a ghost that was taken are
   decided.
*/
#include <string.h>

#include "../common/launch.cuh"
#include "sparse.h"

enum {
  UNDECIDED,
  TAKEN,
  BESIDE, /* a neighbour is taken */
  ALONE,  /* of at most one entry: neither */
  BARRED, /* in this turn, by a ghost */
  ROUNDS = 256
};

/* Whether an entry of the columns that are rows, too, has none opposite. A warp has a row */
static __global__ void __launch_bounds__(HRPB_THREADS) Opposite(const __grid_constant__ SparseMatrix G, uint32_t *lacking)
{
  for (int64_t row = (int64_t)blockIdx.x * HRPB_WARPS + threadIdx.x / HRPB_LANES; row < G.nrows; row += (int64_t)gridDim.x * HRPB_WARPS) {
    for (int64_t k = G.rowptr[row] + threadIdx.x % HRPB_LANES; k < G.rowptr[row + 1]; k += HRPB_LANES) {
      if (G.colidx[k] >= G.nrows) continue;
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

/* Ghosts come last in any order. A node whose only entry is in this process's columns is alone, a neighbour's, too */
static __global__ void __launch_bounds__(HRPB_THREADS)
Begin(const __grid_constant__ SparseMatrix G, const int32_t *order, int32_t *rank, int32_t *state, int32_t *owner)
{
  for (int64_t i = (int64_t)blockIdx.x * HRPB_THREADS + threadIdx.x; i < G.ncols; i += (int64_t)gridDim.x * HRPB_THREADS) {
    state[i] = UNDECIDED;
    if (i >= G.nrows) rank[i] = INT32_MAX;
    else {
      const int64_t first = G.rowptr[i], n = G.rowptr[i + 1] - first;

      rank[order ? order[i] : i] = (int32_t)i;
      owner[i]                   = -1;
      if (n == 0 || (n == 1 && G.colidx[first] < G.nrows)) state[i] = ALONE;
    }
  }
}

/* Nodes beside an undecided ghost from column `later` on. A warp has a node */
static __global__ void __launch_bounds__(HRPB_THREADS)
Bar(const __grid_constant__ SparseMatrix G, int64_t later, int32_t *state)
{
  for (int64_t row = (int64_t)blockIdx.x * HRPB_WARPS + threadIdx.x / HRPB_LANES; row < G.nrows; row += (int64_t)gridDim.x * HRPB_WARPS) {
    bool barred = false;

    if (__shfl_sync(HRPB_ALL_LANES, state[row], 0) != UNDECIDED) continue;
    for (int64_t k = G.rowptr[row] + threadIdx.x % HRPB_LANES; k < G.rowptr[row + 1]; k += HRPB_LANES) {
      if (G.colidx[k] >= later && state[G.colidx[k]] == UNDECIDED) barred = true;
    }
    barred = __any_sync(HRPB_ALL_LANES, barred);
    if (barred && threadIdx.x % HRPB_LANES == 0) state[row] = BARRED;
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

/*
   After a turn, of nodes that have none yet: the node itself where it is taken, or the neighbour that the walk took
   first. Nodes that were barred are beside one, or undecided again. One that is alone may have a neighbour that is
   taken
*/
static __global__ void __launch_bounds__(HRPB_THREADS)
Owners(const __grid_constant__ SparseMatrix G, const int32_t *rank, int32_t *state, int32_t *owner)
{
  for (int64_t row = (int64_t)blockIdx.x * HRPB_WARPS + threadIdx.x / HRPB_LANES; row < G.nrows; row += (int64_t)gridDim.x * HRPB_WARPS) {
    const int32_t s     = __shfl_sync(HRPB_ALL_LANES, state[row], 0);
    int32_t       first = INT32_MAX, of = -1;

    if (__shfl_sync(HRPB_ALL_LANES, owner[row], 0) >= 0) continue;
    for (int64_t k = G.rowptr[row] + threadIdx.x % HRPB_LANES; k < G.rowptr[row + 1] && s != TAKEN; k += HRPB_LANES) {
      if (state[G.colidx[k]] != TAKEN || rank[G.colidx[k]] >= first) continue;
      first = rank[G.colidx[k]];
      of    = G.colidx[k];
    }
    for (int apart = HRPB_LANES / 2; apart; apart /= 2) {
      const int32_t other = __shfl_xor_sync(HRPB_ALL_LANES, first, apart), node = __shfl_xor_sync(HRPB_ALL_LANES, of, apart);

      if (other < first) of = node;
      if (other < first) first = other;
    }
    if (threadIdx.x % HRPB_LANES) continue;
    owner[row] = s == TAKEN ? (int32_t)row : of;
    if (s == BARRED) state[row] = of < 0 ? UNDECIDED : BESIDE;
  }
}

/* Nodes that are still undecided, and beside ghosts that are taken: the first one owns a node. A warp has a node */
static __global__ void __launch_bounds__(HRPB_THREADS)
Meet(const __grid_constant__ SparseMatrix G, int32_t *state, int32_t *owner, uint32_t *undecided)
{
  for (int64_t row = (int64_t)blockIdx.x * HRPB_WARPS + threadIdx.x / HRPB_LANES; row < G.nrows; row += (int64_t)gridDim.x * HRPB_WARPS) {
    int32_t first = INT32_MAX;

    if (__shfl_sync(HRPB_ALL_LANES, state[row], 0) != UNDECIDED) continue;
    for (int64_t k = G.rowptr[row] + threadIdx.x % HRPB_LANES; k < G.rowptr[row + 1]; k += HRPB_LANES) {
      if (G.colidx[k] >= G.nrows && state[G.colidx[k]] == TAKEN) first = min(first, G.colidx[k]);
    }
    for (int apart = HRPB_LANES / 2; apart; apart /= 2) first = min(first, __shfl_xor_sync(HRPB_ALL_LANES, first, apart));
    if (threadIdx.x % HRPB_LANES) continue;
    if (first == INT32_MAX) *undecided = 1;
    else {
      state[row] = BESIDE;
      owner[row] = first;
    }
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
  if (G->nrows > G->ncols) return HRPB_ERR_UNSUPPORTED;
  HrpbCall(HrpbAllocate(&lacking, 1, stream));
  return HrpbFree(lacking, FindLacking(G, lacking, stream), stream);
}

HrpbError SparseWalkDestroy(SparseWalk *w, HrpbError err, HrpbStream stream)
{
  err = HrpbFree(w->rank, err, stream);
  memset(w, 0, sizeof(*w));
  return err;
}

static HrpbError WalkBegin(const SparseMatrix *G, const int32_t order[], const SparseWalk *w, HrpbStream stream)
{
  if (order && G->nrows) HrpbCallCuda(cudaMemcpyAsync(w->order, order, sizeof(*order) * (size_t)G->nrows, cudaMemcpyHostToDevice, stream));
  return HrpbLaunch(Begin, HrpbGrid(G->ncols, HRPB_THREADS), HRPB_THREADS, 0, stream, *G, (const int32_t *)(order ? w->order : NULL), w->rank,
                    w->state, w->owner);
}

HrpbError SparseWalkCreate(const SparseMatrix *G, const int32_t order[], HrpbStream stream, SparseWalk *w)
{
  SparseWalk made = {};
  HrpbError  err;

  *w = made;
  HrpbCall(CheckKernels());
  if (G->ncols >= INT32_MAX) return HRPB_ERR_OVERFLOW;
  HrpbCall(HrpbAllocateTogether(stream, &made.rank, G->ncols, &made.state, G->ncols, &made.owner, G->nrows, &made.order, G->nrows,
                                &made.undecided, (int64_t)1));
  err = WalkBegin(G, order, &made, stream);
  if (err) return SparseWalkDestroy(&made, err, stream);
  *w = made;
  return HRPB_SUCCESS;
}

HrpbError SparseWalkTurn(const SparseMatrix *G, int64_t later, const SparseWalk *w, HrpbStream stream, int32_t state[])
{
  uint32_t undecided = 1;

  if (later < G->ncols) HrpbCall(HrpbLaunch(Bar, HrpbGrid(G->nrows, HRPB_WARPS), HRPB_THREADS, 0, stream, *G, later, w->state));
  for (int round = 0; undecided; round++) {
    if (round == ROUNDS) return HRPB_ERR_UNSUPPORTED;
    HrpbCallCuda(cudaMemsetAsync(w->undecided, 0, sizeof(undecided), stream));
    HrpbCall(HrpbLaunch(Round, HrpbGrid(G->nrows, HRPB_WARPS), HRPB_THREADS, 0, stream, *G, w->rank, w->state, w->undecided));
    HrpbCall(HrpbBring(&undecided, w->undecided, sizeof(undecided), stream));
  }
  HrpbCall(HrpbLaunch(Owners, HrpbGrid(G->nrows, HRPB_WARPS), HRPB_THREADS, 0, stream, *G, w->rank, w->state, w->owner));
  return state ? HrpbBring(state, w->state, sizeof(*state) * (size_t)G->nrows, stream) : HRPB_SUCCESS;
}

HrpbError SparseWalkMeet(const SparseMatrix *G, const int32_t ghosts[], const SparseWalk *w, HrpbStream stream, int32_t *undecided)
{
  uint32_t found;

  if (G->ncols > G->nrows) HrpbCallCuda(cudaMemcpyAsync(w->state + G->nrows, ghosts, sizeof(*ghosts) * (size_t)(G->ncols - G->nrows),
                                                        cudaMemcpyHostToDevice, stream));
  HrpbCallCuda(cudaMemsetAsync(w->undecided, 0, sizeof(found), stream));
  HrpbCall(HrpbLaunch(Meet, HrpbGrid(G->nrows, HRPB_WARPS), HRPB_THREADS, 0, stream, *G, w->state, w->owner, w->undecided));
  HrpbCall(HrpbBring(&found, w->undecided, sizeof(found), stream));
  *undecided = found != 0;
  return HRPB_SUCCESS;
}

HrpbError SparseWalkOwners(const SparseMatrix *G, const SparseWalk *w, HrpbStream stream, int32_t owner[])
{
  return HrpbBring(owner, w->owner, sizeof(*owner) * (size_t)G->nrows, stream);
}

HrpbError SparseIndependent(const SparseMatrix *G, const int32_t order[], HrpbStream stream, int32_t owner[])
{
  SparseWalk w;
  HrpbError  err;

  if (G->nrows == 0) return HRPB_SUCCESS;
  HrpbCall(SparseWalkCreate(G, order, stream, &w));
  err = SparseWalkTurn(G, G->ncols, &w, stream, NULL);
  if (!err) err = SparseWalkOwners(G, &w, stream, owner);
  return SparseWalkDestroy(&w, err, stream);
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
  HrpbCallCuda(cudaMemcpyAsync(on_device, owner, sizeof(*owner) * (size_t)G->ncols, cudaMemcpyHostToDevice, stream));
  HrpbCall(HrpbLaunch(Take, HrpbGrid(G->nrows, HRPB_WARPS), HRPB_THREADS, 0, stream, *G, (const int32_t *)on_device, takers));
  return HrpbBring(taker, takers, sizeof(*taker) * (size_t)G->nrows, stream);
}

HrpbError SparseTakers(const SparseMatrix *G, const int32_t owner[], HrpbStream stream, int32_t taker[])
{
  int32_t *on_device, *takers;

  HrpbCall(CheckKernels());
  if (G->nrows == 0) return HRPB_SUCCESS;
  HrpbCall(HrpbAllocateTogether(stream, &on_device, G->ncols, &takers, G->nrows));
  return HrpbFree(on_device, TakeAll(G, owner, on_device, takers, taker, stream), stream);
}

/* Numbers that tell pairs apart: a step of splitmix64 */
static __device__ uint64_t Mixed(uint64_t x)
{
  x += 0x9e3779b97f4a7c15;
  x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9;
  x = (x ^ (x >> 27)) * 0x94d049bb133111eb;
  return x ^ (x >> 31);
}

/* Sums over the entries of ghosts of numbers for (row, column) and (column, row). A warp has a row */
static __global__ void __launch_bounds__(HRPB_THREADS)
Sums(const __grid_constant__ SparseMatrix G, int64_t first, const HrpbInt *ghosts, unsigned long long *sums)
{
  uint64_t here = 0, there = 0;

  for (int64_t row = (int64_t)blockIdx.x * HRPB_WARPS + threadIdx.x / HRPB_LANES; row < G.nrows; row += (int64_t)gridDim.x * HRPB_WARPS) {
    for (int64_t k = G.rowptr[row] + threadIdx.x % HRPB_LANES; k < G.rowptr[row + 1]; k += HRPB_LANES) {
      if (G.colidx[k] < G.nrows) continue;
      const uint64_t i = (uint64_t)(first + row), j = (uint64_t)ghosts[G.colidx[k] - G.nrows];

      here += Mixed(Mixed(i) + j);
      there += Mixed(Mixed(j) + i);
    }
  }
  if (here) atomicAdd(&sums[0], (unsigned long long)here);
  if (there) atomicAdd(&sums[1], (unsigned long long)there);
}

static HrpbError SumAll(const SparseMatrix *G, int64_t first, const HrpbInt ghosts[], HrpbInt *on_device, unsigned long long *sums,
  HrpbStream stream, uint64_t sum[2])
{
  if (G->ncols > G->nrows) HrpbCallCuda(cudaMemcpyAsync(on_device, ghosts, sizeof(*ghosts) * (size_t)(G->ncols - G->nrows),
                                                        cudaMemcpyHostToDevice, stream));
  HrpbCallCuda(cudaMemsetAsync(sums, 0, 2 * sizeof(*sums), stream));
  HrpbCall(HrpbLaunch(Sums, HrpbGrid(G->nrows, HRPB_WARPS), HRPB_THREADS, 0, stream, *G, first, (const HrpbInt *)on_device, sums));
  return HrpbBring(sum, sums, 2 * sizeof(*sums), stream);
}

HrpbError SparseGhostSums(const SparseMatrix *G, int64_t first, const HrpbInt ghosts[], HrpbStream stream, uint64_t sum[2])
{
  HrpbInt            *on_device;
  unsigned long long *sums;

  HrpbCall(CheckKernels());
  HrpbCall(HrpbAllocateTogether(stream, &on_device, G->ncols - G->nrows, &sums, (int64_t)2));
  return HrpbFree(on_device, SumAll(G, first, ghosts, on_device, sums, stream, sum), stream);
}
