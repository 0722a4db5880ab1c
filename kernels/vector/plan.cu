/*
   What is found once for a pattern: long rows, and nodes.
*/
#include <string.h>
#include <cub/device/device_select.cuh>

#include "vector.cuh"
#include "../common/launch.cuh"
#include "../common/scan.cuh"

enum {
  MOST_BLOCKS = 1024, /* the most thread blocks that end with atomic operations on the same number */
  LANES       = 8     /* that compare two rows */
};

namespace {
/* What the host needs to know */
struct Needs {
  HrpbInt            first, end; /* the first entry of the matrix, and the one behind the last */
  unsigned long long longest;
  int32_t            nlong, nparts;
};
} // namespace

static __device__ int32_t PartsOf(int64_t length)
{
  return length > VECTOR_LONG ? (int32_t)((length + VECTOR_PART - 1) / VECTOR_PART) : 0;
}

static __global__ void __launch_bounds__(HRPB_THREADS) Measure(const HrpbInt *rowptr, int32_t nrows, Needs *needs)
{
  unsigned long long longest = 0;

  if (blockIdx.x == 0 && threadIdx.x == 0) {
    needs->first = rowptr[0];
    needs->end   = rowptr[nrows];
  }
  for (int64_t row = (int64_t)blockIdx.x * HRPB_THREADS + threadIdx.x; row < nrows; row += (int64_t)gridDim.x * HRPB_THREADS) {
    const int64_t length = rowptr[row + 1] - rowptr[row];
    const int32_t nparts = PartsOf(length);

    longest = max(longest, (unsigned long long)length);
    if (nparts) {
      atomicAdd(&needs->nlong, 1);
      atomicAdd(&needs->nparts, nparts);
    }
  }
#pragma unroll
  for (int distance = HRPB_LANES / 2; distance > 0; distance /= 2) longest = max(longest, __shfl_xor_sync(HRPB_ALL_LANES, longest, distance));
  if (threadIdx.x % HRPB_LANES == 0 && longest) atomicMax(&needs->longest, longest);
}

/* Long rows in any order: each is added up by itself */
static __global__ void __launch_bounds__(HRPB_THREADS) ListLongRows(const HrpbInt *rowptr, int32_t nrows, Needs *needs, VectorLongRow *rows, VectorPart *parts)
{
  for (int64_t row = (int64_t)blockIdx.x * HRPB_THREADS + threadIdx.x; row < nrows; row += (int64_t)gridDim.x * HRPB_THREADS) {
    const HrpbInt begin  = rowptr[row], end = rowptr[row + 1];
    const int32_t nparts = PartsOf(end - begin);

    if (!nparts) continue;

    const int32_t first = atomicAdd(&needs->nparts, nparts);

    rows[atomicAdd(&needs->nlong, 1)] = {(int32_t)row, first, nparts};
    for (int32_t i = 0; i < nparts; i++) {
      const HrpbInt at = begin + (HrpbInt)i * VECTOR_PART;

      parts[first + i] = {at, (int32_t)min((int64_t)(end - at), (int64_t)VECTOR_PART), (int32_t)row, nparts == 1};
    }
  }
}

/* Lanes of a row: as few as leave each lane several entries, because sums of lanes cost time */
static int32_t Lanes(int64_t nrows, int64_t nnz)
{
  const double mean  = (double)nnz / (double)nrows;
  int32_t      lanes = 1;

  while (lanes < HRPB_LANES && mean > 5 * lanes) lanes *= 2;
  return lanes;
}

static HrpbError MakePlan(const HrpbInt *rowptr, Needs *on_device, cudaStream_t stream, VectorPlan *v)
{
  const unsigned grid = HrpbGrid(v->nrows, HRPB_THREADS, MOST_BLOCKS);
  VectorLongRow *rows;
  VectorPart    *parts;
  Needs          needs;

  HrpbCallCuda(cudaMemsetAsync(on_device, 0, sizeof(needs), stream));
  Measure<<<grid, HRPB_THREADS, 0, stream>>>(rowptr, v->nrows, on_device);
  HrpbCallCuda(cudaGetLastError());
  HrpbCallCuda(cudaMemcpyAsync(&needs, on_device, sizeof(needs), cudaMemcpyDeviceToHost, stream));
  HrpbCallCuda(cudaStreamSynchronize(stream));
  if (needs.longest >= INT32_MAX) return HRPB_ERR_OVERFLOW;
  v->nnz     = needs.end - needs.first;
  v->longest = (int64_t)needs.longest;
  v->lanes   = Lanes(v->nrows, v->nnz);
  if (!needs.nlong) return HRPB_SUCCESS;
  v->nlong  = needs.nlong;
  v->nparts = needs.nparts;
  HrpbCall(HrpbAllocate(&rows, v->nlong, stream));
  v->long_rows = rows;
  HrpbCall(HrpbAllocate(&parts, v->nparts, stream));
  v->parts = parts;
  v->bytes = (int64_t)sizeof(*rows) * v->nlong + (int64_t)sizeof(*parts) * v->nparts;
  HrpbCallCuda(cudaMemsetAsync(on_device, 0, sizeof(needs), stream));
  ListLongRows<<<grid, HRPB_THREADS, 0, stream>>>(rowptr, v->nrows, on_device, rows, parts);
  HrpbCallCuda(cudaGetLastError());
  return HRPB_SUCCESS;
}

HrpbError VectorPlanDevice(int64_t nrows, int64_t ncols, const HrpbInt *rowptr, HrpbStream stream, VectorPlan *v)
{
  Needs    *needs = NULL;
  HrpbError err;

  memset(v, 0, sizeof(*v));
  if (nrows < 0 || ncols < 0) return HRPB_ERR_CSR;
  if (nrows >= INT32_MAX || ncols >= INT32_MAX) return HRPB_ERR_OVERFLOW;
  if (nrows == 0) return HRPB_SUCCESS;
  HrpbCall(CheckKernels());
  v->nrows = (int32_t)nrows;
  v->ncols = (int32_t)ncols;
  err      = HrpbAllocate(&needs, 1, stream);
  if (!err) err = MakePlan(rowptr, needs, stream, v);
  err = HrpbFree(needs, err, stream);
  if (err) VectorPlanDestroyDevice(v, stream);
  return err;
}

/* Whether each row has other columns than the row before it. LANES lanes compare two rows */
static __global__ void __launch_bounds__(HRPB_THREADS) CompareRows(const HrpbInt *rowptr, const HrpbInt *colidx, int32_t nrows, uint8_t *differs)
{
  const int32_t lane = threadIdx.x % LANES;

  for (int64_t first = (int64_t)blockIdx.x * (HRPB_THREADS / LANES); first < nrows; first += (int64_t)gridDim.x * (HRPB_THREADS / LANES)) {
    const int64_t row   = first + threadIdx.x / LANES;
    int           other = row == 0;

    if (row > 0 && row < nrows) {
      const HrpbInt before = rowptr[row - 1], begin = rowptr[row], length = rowptr[row + 1] - begin;

      other = begin - before != length;
      for (HrpbInt k = lane; k < length && !other; k += LANES) other = colidx[before + k] != colidx[begin + k];
    }
#pragma unroll
    for (int distance = LANES / 2; distance > 0; distance /= 2) other |= __shfl_xor_sync(HRPB_ALL_LANES, other, distance);
    if (lane == 0 && row < nrows) differs[row] = other != 0;
  }
}

namespace {
struct Differs {
  const uint8_t *differs;

  __host__ __device__ bool operator()(int32_t row) const { return differs[row] != 0; }
};

/* Nodes of at most some rows: of a run of rows with the same columns, or, summed up, of all runs before it */
struct NodeCounts {
  static constexpr int KINDS = 5;
  int32_t              nodes[KINDS];

  __host__ __device__ NodeCounts operator+(const NodeCounts &b) const
  {
    NodeCounts sum = *this;

    for (int k = 0; k < KINDS; k++) sum.nodes[k] += b.nodes[k];
    return sum;
  }
};
} // namespace

/* The most rows of a node for which nodes.cu has a kernel */
static __host__ __device__ int32_t NodeRows(int kind)
{
  return kind < 3 ? kind + 2 : kind == 3 ? 6 : VECTOR_NODE;
}

static __global__ void __launch_bounds__(HRPB_THREADS) CountNodes(const int32_t *runs, int32_t nruns, int32_t nrows, NodeCounts *count)
{
  for (int64_t i = (int64_t)blockIdx.x * HRPB_THREADS + threadIdx.x; i <= nruns; i += (int64_t)gridDim.x * HRPB_THREADS) {
    const int32_t rows = i < nruns ? (i + 1 < nruns ? runs[i + 1] : nrows) - runs[i] : 0;
    NodeCounts    c;

    for (int k = 0; k < NodeCounts::KINDS; k++) c.nodes[k] = (rows + NodeRows(k) - 1) / NodeRows(k);
    count[i] = c;
  }
}

static __global__ void __launch_bounds__(HRPB_THREADS) ListNodes(const int32_t *runs, int32_t nruns, int32_t nrows, int kind, const NodeCounts *before, int32_t *nodes)
{
  for (int64_t i = (int64_t)blockIdx.x * HRPB_THREADS + threadIdx.x; i <= nruns; i += (int64_t)gridDim.x * HRPB_THREADS) {
    const int32_t end = i + 1 < nruns ? runs[i + 1] : nrows;
    int32_t       at  = before[i].nodes[kind];

    if (i == nruns) nodes[at] = nrows;
    else {
      for (int32_t row = runs[i]; row < end; row += NodeRows(kind)) nodes[at++] = row;
    }
  }
}

namespace {
struct Search {
  uint8_t    *differs, *temporary;
  int32_t    *runs, *nruns;
  NodeCounts *count;
};
} // namespace

/* The smallest nodes that are nearly as few as larger ones. A kernel with room for more rows is slower */
static int ChooseKind(const NodeCounts *total)
{
  const int32_t fewest = total->nodes[NodeCounts::KINDS - 1];
  int           kind   = 0;

  while (kind < NodeCounts::KINDS - 1 && total->nodes[kind] > fewest + fewest / 32) kind++;
  return kind;
}

static HrpbError FindNodes(const HrpbInt *rowptr, const HrpbInt *colidx, Search *s, cudaStream_t stream, VectorPlan *v)
{
  const Differs is      = {NULL};
  size_t        bytes   = 0;
  int32_t       nruns;
  int32_t      *nodes;
  int           kind;
  NodeCounts    total;

  HrpbCall(HrpbAllocate(&s->differs, v->nrows, stream));
  HrpbCall(HrpbAllocate(&s->runs, v->nrows, stream));
  HrpbCall(HrpbAllocate(&s->nruns, 1, stream));
  CompareRows<<<HrpbGrid(v->nrows, HRPB_THREADS / LANES), HRPB_THREADS, 0, stream>>>(rowptr, colidx, v->nrows, s->differs);
  HrpbCallCuda(cudaGetLastError());
  HrpbCallCuda(cub::DeviceSelect::If(NULL, bytes, thrust::counting_iterator<int32_t>(0), s->runs, s->nruns, v->nrows, is, stream));
  HrpbCall(HrpbAllocate(&s->temporary, (int64_t)bytes, stream));
  HrpbCallCuda(cub::DeviceSelect::If(s->temporary, bytes, thrust::counting_iterator<int32_t>(0), s->runs, s->nruns, v->nrows, Differs{s->differs}, stream));
  HrpbCallCuda(cudaMemcpyAsync(&nruns, s->nruns, sizeof(nruns), cudaMemcpyDeviceToHost, stream));
  HrpbCallCuda(cudaStreamSynchronize(stream));
  if (4 * (int64_t)nruns > 3 * (int64_t)v->nrows) return HRPB_SUCCESS; /* too few rows share columns */
  HrpbCall(HrpbAllocate(&s->count, (int64_t)nruns + 1, stream));
  CountNodes<<<HrpbGrid((int64_t)nruns + 1, HRPB_THREADS), HRPB_THREADS, 0, stream>>>(s->runs, nruns, v->nrows, s->count);
  HrpbCallCuda(cudaGetLastError());
  HrpbCall(HrpbExclusiveSum(s->count, (int64_t)nruns + 1, stream));
  HrpbCallCuda(cudaMemcpyAsync(&total, s->count + nruns, sizeof(total), cudaMemcpyDeviceToHost, stream));
  HrpbCallCuda(cudaStreamSynchronize(stream));
  kind = ChooseKind(&total);
  HrpbCall(HrpbAllocate(&nodes, (int64_t)total.nodes[kind] + 1, stream));
  v->nodes     = nodes;
  v->nnodes    = total.nodes[kind];
  v->node_rows = NodeRows(kind);
  v->bytes += (int64_t)sizeof(*nodes) * ((int64_t)v->nnodes + 1);
  ListNodes<<<HrpbGrid((int64_t)nruns + 1, HRPB_THREADS), HRPB_THREADS, 0, stream>>>(s->runs, nruns, v->nrows, kind, s->count, nodes);
  HrpbCallCuda(cudaGetLastError());
  return HRPB_SUCCESS;
}

static void DropNodes(VectorPlan *v, HrpbStream stream)
{
  if (v->nodes) v->bytes -= (int64_t)sizeof(int32_t) * ((int64_t)v->nnodes + 1);
  (void)HrpbFree(v->nodes, HRPB_SUCCESS, stream);
  v->nodes  = NULL;
  v->nnodes = v->node_rows = 0;
}

HrpbError VectorNodesDevice(const HrpbInt *rowptr, const HrpbInt *colidx, HrpbStream stream, VectorPlan *v)
{
  Search    s = {};
  HrpbError err;

  DropNodes(v, stream);
  if (v->nrows == 0) return HRPB_SUCCESS;
  err = FindNodes(rowptr, colidx, &s, stream, v);
  err = HrpbFree(s.differs, err, stream);
  err = HrpbFree(s.temporary, err, stream);
  err = HrpbFree(s.runs, err, stream);
  err = HrpbFree(s.nruns, err, stream);
  err = HrpbFree(s.count, err, stream);
  if (err) DropNodes(v, stream);
  return err;
}

void VectorPlanDestroyDevice(VectorPlan *v, HrpbStream stream)
{
  DropNodes(v, stream);
  (void)HrpbFree(v->long_rows, HRPB_SUCCESS, stream);
  (void)HrpbFree(v->parts, HRPB_SUCCESS, stream);
  memset(v, 0, sizeof(*v));
}
