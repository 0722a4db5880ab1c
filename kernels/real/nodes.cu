/*
   CSR of complex numbers times a row-major copy of B (copy.cuh), as in csr/copy.cu. A group of lanes has a row, or a
   part of a row that is cut, and each lane a few columns. It adds the entries in their order, two at a time, so bits do
   not depend on how many columns there are. What the lanes read of A is on its way into shared memory while they
   multiply with what is there.

   Where rows come in nodes (vector/vector.h) a group has a node: the row of B that an entry meets is read once for all
   rows of the node. The bits are the same.
*/
#include "copy.cuh"
#include "../common/copy.cuh"
#include "../common/rowmajor.cuh"

enum {
  THREADS = 128,
  SAMPLES = 256 /* rows that are asked for their columns */
};

/* Entries of each row that come together */
static __host__ __device__ constexpr int ChunkOf(int rows)
{
  return rows <= 4 ? 8 : 4;
}

/* Thread blocks on a multiprocessor, which leave each registers for its sums */
static __host__ __device__ constexpr int BlocksOf(int rows, int vectors)
{
  return rows == 1 ? (vectors == 1 ? 8 : 6) : vectors == 1 ? (rows == 2 ? 6 : rows == 3 ? 5 : 4) : rows == 2 ? 5 : rows <= 6 ? 3 : 2;
}

namespace {
struct CsrNodesArgs {
  ComplexProduct    p;
  const int32_t    *nodes; /* NULL where they have one row each */
  int32_t           nnodes;
  const VectorPart *parts;   /* of rows with more entries than most. There are no nodes then */
  VectorPair       *partial; /* the sums of a part follow each other */
  int32_t           nparts, most;
  uint32_t          part_blocks; /* thread blocks for parts: they come first, because their items are the longest */
};

/* What a group has in shared memory: it begins one bank of 16 bytes behind that of the group before */
template <int ROWS> struct alignas(16) Stages {
  static constexpr int CHUNK = ChunkOf(ROWS), BYTES = 2 * ROWS * CHUNK * sizeof(VectorPair) + 2 * CHUNK * sizeof(HrpbInt);
  VectorPair           value[2][ROWS][CHUNK];
  HrpbInt              column[2][CHUNK];
  char                 gap[144 - BYTES % 128];
};
} // namespace

/*
   The groups of a warp go together, as far as the longest of their nodes, or of their parts.

   G         lanes of a group
   K         vectors of a lane, G vectors apart
   ROWS      of a node. Rows that it does not have are its last one once more, and are not stored
   TOGETHER  both parts of a number are read at once: copy.cuh
*/
template <int G, int K, int ROWS, bool TOGETHER>
static __global__ void __launch_bounds__(THREADS, BlocksOf(ROWS, K)) CsrNodes(const __grid_constant__ CsrNodesArgs a)
{
  constexpr int WIDTH = ComplexWidth(TOGETHER), CHUNK = ChunkOf(ROWS);
  constexpr int TURN = TOGETHER ? CHUNK : K == 1 ? 4 : 2; /* entries that go together */
  __shared__ Stages<ROWS> stages[THREADS / G];
  Stages<ROWS>           &s    = stages[threadIdx.x / G];
  const bool              cut  = ROWS == 1 && blockIdx.x < a.part_blocks;
  const int32_t           item = (int32_t)(cut ? blockIdx.x : blockIdx.x - a.part_blocks) * (THREADS / G) + threadIdx.x / G, lane = threadIdx.x % G;
  const int32_t           n0   = blockIdx.y * (G * K * WIDTH) + lane * WIDTH; /* first column */
  ComplexColumns<TOGETHER> sum[ROWS][K] = {};

  HrpbWaitForKernelBefore();

  const bool        is     = item < (cut ? a.nparts : a.nnodes);
  const int32_t     row    = !is || cut ? 0 : ROWS == 1 ? item : __ldg(a.nodes + item);
  const HrpbInt     begin  = is && cut ? a.parts[item].begin : __ldg(a.p.rowptr + row);
  const int32_t     all    = !is ? 0 : cut ? a.parts[item].length : (int32_t)(__ldg(a.p.rowptr + row + 1) - begin);
  const bool        mine   = is && (cut || all <= a.most); /* rows that are cut are others' */
  const int32_t     nrows  = !mine ? 0 : ROWS == 1 ? 1 : __ldg(a.nodes + item + 1) - row;
  const int32_t     length = mine ? all : 0, longest = HrpbMostOfLanes(length);
  const auto        Column = [&](int k) { return n0 + k * G * WIDTH < a.p.N ? n0 + k * G * WIDTH : 0; };
  const auto        Bring  = [&](int32_t first, int stage) {
    for (int i = lane; i < ROWS * CHUNK; i += G) {
      const int32_t at = first + i % CHUNK;

      if (at < length)
        CopyAsync<sizeof(VectorPair)>(SharedAddress(&s.value[stage][i / CHUNK][i % CHUNK]),
          a.p.values + begin + (int64_t)min(i / CHUNK, nrows - 1) * length + at);
      else if (at == length) s.value[stage][i / CHUNK][i % CHUNK] = {0, 0}; /* the second of two entries */
    }
    for (int i = lane; i < CHUNK; i += G) {
      if (first < length) CopyAsync<sizeof(HrpbInt)>(SharedAddress(&s.column[stage][i]), a.p.colidx + begin + min(first + i, length - 1));
    }
    CopyAsyncCommit();
  };

  Bring(0, 0);
#pragma unroll 1
  for (int32_t first = 0, stage = 0; first < longest; first += CHUNK, stage ^= 1) {
    Bring(first + CHUNK, stage ^ 1);
    CopyAsyncWait<1>();
    __syncwarp();
#pragma unroll
    for (int at = 0; at < CHUNK; at += TURN) {
      ComplexColumns<TOGETHER> x[TURN][K];

      if (first + at >= length) break;
#pragma unroll
      for (int u = 0; u < TURN; u++) {
        const HrpbScalar *row_b = a.p.R + 2 * (int64_t)s.column[stage][at + u] * a.p.ldr;

#pragma unroll
        for (int k = 0; k < K; k++) x[u][k] = ComplexReadColumns<TOGETHER>(a.p, row_b, Column(k));
      }
#pragma unroll
      for (int u = 0; u < TURN; u += 2) {
        if (first + at + u >= length) break;
#pragma unroll
        for (int j = 0; j < ROWS; j++) {
          const VectorPair value[2] = {s.value[stage][j][at + u], s.value[stage][j][at + u + 1]};

#pragma unroll
          for (int k = 0; k < K; k++) {
#pragma unroll
            for (int w = 0; w < WIDTH; w++) sum[j][k].x[w] = ComplexAddTwo(sum[j][k].x[w], value, x[u][k].x[w], x[u + 1][k].x[w]);
          }
        }
      }
    }
    __syncwarp();
  }
  if (cut) {
#pragma unroll
    for (int k = 0; k < K; k++) {
#pragma unroll
      for (int w = 0; w < WIDTH; w++) {
        const int32_t n = n0 + k * G * WIDTH + w;

        if (mine && n < a.p.N) a.partial[(int64_t)item * a.p.N + n] = sum[0][k].x[w];
      }
    }
    return;
  }
  if (!length && a.p.C == a.p.C0) return; /* C is not touched where there are no entries */
  ComplexStore<G>(a.p, row, nrows, n0, sum);
}

/* The sums of parts come first, then the copy of B */
static HrpbError WorkBytes(const SpmmMatrix *A, const SpmmOperands *o, size_t *bytes)
{
  *bytes = ComplexPartialBytes(A->vector, o->N) + sizeof(HrpbScalar) * (size_t)A->ncols * (size_t)ComplexLeadingDimension(o->N);
  return HRPB_SUCCESS;
}

template <int G, int K, int ROWS, bool TOGETHER> static HrpbError Launch(CsrNodesArgs a, cudaStream_t stream)
{
  constexpr int GROUPS = THREADS / G, COLUMNS = G * K * ComplexWidth(TOGETHER);

  a.part_blocks = (a.nparts + GROUPS - 1) / GROUPS;
  return LaunchAfter(CsrNodes<G, K, ROWS, TOGETHER>, dim3(a.part_blocks + HrpbGrid(a.nnodes, GROUPS), (a.p.N + COLUMNS - 1) / COLUMNS), THREADS, 0, stream, a);
}

/* slices: columns come in narrow slices, one after the other, and what L2 holds of B is theirs */
template <int ROWS> static HrpbError LaunchFor(const CsrNodesArgs &a, bool slices, cudaStream_t stream)
{
  const int32_t N = a.p.N;

  if (a.p.together) return N <= 4 * ComplexWidth(true) ? Launch<4, 1, ROWS, true>(a, stream) : Launch<8, 1, ROWS, true>(a, stream);
  if (N <= 4 * COMPLEX_WIDTH) return Launch<4, 1, ROWS, false>(a, stream);
  if (N <= 8 * COMPLEX_WIDTH || slices) return Launch<8, 1, ROWS, false>(a, stream);
  return N <= 16 * COMPLEX_WIDTH ? Launch<16, 1, ROWS, false>(a, stream) : Launch<16, 2, ROWS, false>(a, stream);
}

/* A row-major copy of B */
static HrpbError CopyOf(const SpmmMatrix *A, const SpmmOperands *o, const ComplexProduct &p, HrpbScalar *R, cudaStream_t stream)
{
  typedef std::conditional<sizeof(HrpbScalar) == 8, double2, float2>::type Both;
  const int32_t nrows = (int32_t)A->ncols;

  if (p.together) return RowMajor((const Both *)o->X.array, o->X.ld / 2, nrows / 2, p.N, (Both *)R, nrows / 2, p.ldr, stream);
  return RowMajor(o->X.array, o->X.ld, nrows, p.N, R, nrows, p.ldr, stream);
}

/*
   nrows, ncols and the operands are those of the real matrix, arrays and VectorPlan those of the complex one. Where
   columns are spread each entry brings a row of B from L2, and the fewer bytes of it together the better
*/
static HrpbError Run(const SpmmMatrix *A, const SpmmOperands *o, void *work, HrpbStream stream)
{
  const VectorPlan  *v        = A->vector;
  const int32_t      rows     = v->nnodes ? v->node_rows : 1;
  const bool         together = o->N <= (v->scattered ? COMPLEX_TOGETHER / 2 : COMPLEX_TOGETHER);
  VectorPair        *sums     = (VectorPair *)work;
  HrpbScalar        *R        = (HrpbScalar *)((uint8_t *)work + ComplexPartialBytes(v, o->N));
  const CsrNodesArgs a = {ComplexProductOf(A, o, R, ComplexLeadingDimension(o->N), together), (const int32_t *)v->nodes,
    v->nnodes ? v->nnodes : (int32_t)(A->nrows / 2), (const VectorPart *)v->parts, sums, v->nparts, v->nparts ? v->long_entries : INT32_MAX, 0};
  const SpmmDevice *device;

  if (!PairsTake(NULL, NULL, o, NULL) || v->nparts != A->csr->nparts / 2) return HRPB_ERR_UNSUPPORTED;
  HrpbCall(SpmmGetDevice(&device));

  const bool slices = v->scattered && 16 * COMPLEX_WIDTH * (int64_t)sizeof(HrpbScalar) * A->ncols > (int64_t)device->cache;

  HrpbCall(CopyOf(A, o, a.p, R, stream));
  if (rows == 1) HrpbCall(LaunchFor<1>(a, slices, stream));
  else if (rows == 2) HrpbCall(LaunchFor<2>(a, slices, stream));
  else if (rows == 3) HrpbCall(LaunchFor<3>(a, slices, stream));
  else if (rows == 4) HrpbCall(LaunchFor<4>(a, slices, stream));
  else if (rows == 6) HrpbCall(LaunchFor<6>(a, slices, stream));
  else HrpbCall(LaunchFor<VECTOR_NODE>(a, slices, stream));
  return ComplexCombine(A, a.p, sums, stream);
}

/* From the first to the last entry of a row, on average of a sample: a quarter of all columns, or more */
static __global__ void __launch_bounds__(SAMPLES) MeasureSpread(const HrpbInt *rowptr, const HrpbInt *colidx, int32_t nrows, int32_t ncols, int32_t *scattered)
{
  __shared__ unsigned long long all;
  const int64_t row   = (int64_t)nrows * threadIdx.x / SAMPLES;
  const HrpbInt begin = rowptr[row], end = rowptr[row + 1];

  if (threadIdx.x == 0) all = 0;
  __syncthreads();
  if (begin < end) atomicAdd(&all, (unsigned long long)llabs((long long)colidx[end - 1] - (long long)colidx[begin]));
  __syncthreads();
  if (threadIdx.x == 0) *scattered = all / SAMPLES >= (unsigned long long)ncols / 4;
}

HrpbError ComplexScatterDevice(const HrpbInt *rowptr, const HrpbInt *colidx, cudaStream_t stream, VectorPlan *v)
{
  int32_t  *scattered;
  HrpbError err;

  if (!v->nnz) return HRPB_SUCCESS;
  err = HrpbAllocate(&scattered, 1, stream);
  if (!err) err = HrpbLaunch(MeasureSpread, 1, SAMPLES, 0, stream, rowptr, colidx, v->nrows, v->ncols, scattered);
  if (!err) err = HrpbBring(&v->scattered, scattered, sizeof(v->scattered), stream);
  return HrpbFree(scattered, err, stream);
}

SPMM_KERNEL(ComplexCsrSingles) = {
  .name   = "csr-complex",
  .what   = "CSR of complex numbers times a row-major copy of B",
  .op     = SPMM_OP_PRODUCT,
  .format = SPMM_CSR,
  .takes  = PairsTake,
  .work   = WorkBytes,
  .run    = Run
};

SPMM_KERNEL(ComplexCsrNodes) = {
  .name   = "csr-nodes-complex",
  .what   = "CSR of complex numbers times a row-major copy of B, whose rows are read once for rows of A that share them",
  .op     = SPMM_OP_PRODUCT,
  .format = SPMM_CSR,
  .takes  = PairsTake,
  .work   = WorkBytes,
  .run    = Run
};
