/*
   CSR of complex numbers times a block, where rows come in nodes: a few rows, one behind the other, that have the same
   columns (vector/vector.h). It is csr.cu of this folder with a node in place of a row: the row of B that an entry
   meets is read once for all rows of the node. The bits are the same, a row's entries are added one after the other.

   What the lanes of a group read of a node is on its way into shared memory while they multiply with what is there.
*/
#include "pairs.cuh"
#include "../common/copy.cuh"
#include "../common/rowmajor.cuh"

enum {
  THREADS = 128,
  WIDTH   = 16 / sizeof(HrpbScalar) /* columns of a lane's vector */
};

/* Entries of each row that come together */
static __host__ __device__ constexpr int ChunkOf(int rows)
{
  return rows <= 4 ? 8 : 4;
}

/* Thread blocks on a multiprocessor, which leave each registers for its sums */
static __host__ __device__ constexpr int BlocksOf(int rows, int vectors)
{
  return rows * vectors <= 3 ? 4 : rows * vectors <= 8 ? 3 : 2;
}

namespace {
struct CsrNodesArgs {
  const HrpbInt    *rowptr, *colidx;
  const VectorPair *values;
  const int32_t    *nodes;
  const HrpbScalar *R, *C0; /* C0 is NULL where nothing is added */
  HrpbScalar       *C;
  int64_t           ldc, ldc0;
  int32_t           nnodes, ldr, N;
};

struct alignas(16) Columns {
  HrpbScalar x[WIDTH];
};

/* What a group has in shared memory: it begins one bank of 16 bytes behind that of the group before */
template <int ROWS> struct alignas(16) Stages {
  static constexpr int CHUNK = ChunkOf(ROWS), BYTES = 2 * ROWS * CHUNK * sizeof(VectorPair) + 2 * CHUNK * sizeof(HrpbInt);
  VectorPair value[2][ROWS][CHUNK];
  HrpbInt    column[2][CHUNK];
  char       gap[144 - BYTES % 128];
};
} // namespace

/*
   The groups of a warp go together, as far as the longest of their nodes.

   G     lanes of a group
   K     vectors of a lane, G vectors apart
   ROWS  of a node. Rows that it does not have are its last one once more, and are not stored
*/
template <int G, int K, int ROWS> static __global__ void __launch_bounds__(THREADS, BlocksOf(ROWS, K)) CsrNodes(const __grid_constant__ CsrNodesArgs a)
{
  constexpr int           CHUNK = ChunkOf(ROWS), TURN = K == 1 ? 4 : 2; /* entries that go together */
  __shared__ Stages<ROWS> stages[THREADS / G];
  Stages<ROWS>           &s     = stages[threadIdx.x / G];
  const int32_t           node = blockIdx.x * (THREADS / G) + threadIdx.x / G, lane = threadIdx.x % G;
  const int32_t           n0    = blockIdx.y * (G * K * WIDTH) + lane * WIDTH; /* first column */
  Columns                 re[ROWS][K] = {}, im[ROWS][K] = {};

  HrpbWaitForKernelBefore();

  const bool        is    = node < a.nnodes;
  const int32_t     row = is ? __ldg(a.nodes + node) : 0, nrows = is ? __ldg(a.nodes + node + 1) - row : 0;
  const HrpbInt     begin  = __ldg(a.rowptr + row);
  const int32_t     length = is ? (int32_t)(__ldg(a.rowptr + row + 1) - begin) : 0, longest = HrpbMostOfLanes(length);
  const HrpbScalar *r      = a.R + (n0 < a.N ? n0 : 0);
  const auto        Column = [&](int k) { return n0 + k * G * WIDTH < a.N ? k * G * WIDTH : 0; };
  const auto        Bring = [&](int32_t first, int stage) {
    for (int i = lane; i < ROWS * CHUNK; i += G) {
      const int32_t at = first + i % CHUNK;

      if (at < length)
        CopyAsync<sizeof(VectorPair)>(SharedAddress(&s.value[stage][i / CHUNK][i % CHUNK]), a.values + begin + (int64_t)min(i / CHUNK, nrows - 1) * length + at);
    }
    for (int i = lane; i < CHUNK; i += G) {
      if (first < length) CopyAsync<sizeof(HrpbInt)>(SharedAddress(&s.column[stage][i]), a.colidx + begin + min(first + i, length - 1));
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
      Columns x[TURN][K], y[TURN][K];

      if (first + at >= length) break;
#pragma unroll
      for (int u = 0; u < TURN; u++) {
        const HrpbScalar *row_b = r + 2 * (int64_t)s.column[stage][at + u] * a.ldr;

#pragma unroll
        for (int k = 0; k < K; k++) {
          x[u][k] = *(const Columns *)(row_b + Column(k));
          y[u][k] = *(const Columns *)(row_b + a.ldr + Column(k));
        }
      }
#pragma unroll
      for (int u = 0; u < TURN; u++) {
        if (first + at + u >= length) break;
#pragma unroll
        for (int j = 0; j < ROWS; j++) {
          const VectorPair value = s.value[stage][j][at + u];

#pragma unroll
          for (int k = 0; k < K; k++) {
#pragma unroll
            for (int w = 0; w < WIDTH; w++) {
              const VectorPair sum = VectorFma(value, VectorPair{x[u][k].x[w], y[u][k].x[w]}, VectorPair{re[j][k].x[w], im[j][k].x[w]});

              re[j][k].x[w] = sum.re;
              im[j][k].x[w] = sum.im;
            }
          }
        }
      }
    }
    __syncwarp();
  }
  if (!length && a.C == a.C0) return; /* C is not touched where there are no entries */
#pragma unroll
  for (int j = 0; j < ROWS; j++) {
    if (j >= nrows) break;
#pragma unroll
    for (int k = 0; k < K; k++) {
#pragma unroll
      for (int w = 0; w < WIDTH; w++) {
        const int32_t n   = n0 + k * G * WIDTH + w;
        VectorPair    sum = {re[j][k].x[w], im[j][k].x[w]};

        if (n >= a.N) continue;
        if (a.C0) sum = *(const VectorPair *)(a.C0 + 2 * (row + j) + n * a.ldc0) + sum; /* which may be C */
        *(VectorPair *)(a.C + 2 * (row + j) + n * a.ldc) = sum;
      }
    }
  }
}

static int32_t LeadingDimension(int64_t N)
{
  return (int32_t)((N + WIDTH - 1) / WIDTH * WIDTH);
}

static HrpbError WorkBytes(const SpmmMatrix *A, const SpmmOperands *o, size_t *bytes)
{
  *bytes = sizeof(HrpbScalar) * (size_t)A->ncols * (size_t)LeadingDimension(o->N);
  return HRPB_SUCCESS;
}

template <int G, int K, int ROWS> static HrpbError Launch(const CsrNodesArgs &a, cudaStream_t stream)
{
  return LaunchAfter(CsrNodes<G, K, ROWS>, dim3(HrpbGrid(a.nnodes, THREADS / G), (a.N + G * K * WIDTH - 1) / (G * K * WIDTH)), THREADS, 0, stream, a);
}

template <int ROWS> static HrpbError LaunchFor(const CsrNodesArgs &a, cudaStream_t stream)
{
  if (a.N <= 4 * WIDTH) return Launch<4, 1, ROWS>(a, stream);
  if (a.N <= 8 * WIDTH) return Launch<8, 1, ROWS>(a, stream);
  if (a.N <= 16 * WIDTH) return Launch<8, 2, ROWS>(a, stream);
  return Launch<16, 2, ROWS>(a, stream);
}

/* nrows, ncols and the operands are those of the real matrix, arrays and VectorPlan those of the complex one */
static HrpbError Run(const SpmmMatrix *A, const SpmmOperands *o, void *work, HrpbStream stream)
{
  const int32_t N = (int32_t)o->N, ldr = LeadingDimension(N), rows = A->vector->node_rows;
  HrpbScalar   *R = (HrpbScalar *)work;
  CsrNodesArgs a = {A->rowptr, A->colidx, (const VectorPair *)A->values, (const int32_t *)A->vector->nodes, R, o->update == SPMM_ADD ? o->Y0.array : NULL,
    o->Y.array, o->Y.ld, o->Y0.ld, A->vector->nnodes, ldr, N};

  if (!PairsTake(NULL, NULL, o, NULL) || !rows) return HRPB_ERR_UNSUPPORTED;
  HrpbCall(RowMajor(o->X.array, o->X.ld, (int32_t)A->ncols, N, R, (int32_t)A->ncols, ldr, stream));
  return rows == 2 ? LaunchFor<2>(a, stream) : rows == 3 ? LaunchFor<3>(a, stream) : rows == 4 ? LaunchFor<4>(a, stream) : rows == 6 ? LaunchFor<6>(a, stream) : LaunchFor<VECTOR_NODE>(a, stream);
}

SPMM_KERNEL(ComplexCsrNodes) = {
  .name   = "csr-nodes-complex",
  .what   = "CSR of complex numbers times a row-major copy of B, whose rows are read once for rows of A that share them",
  .op     = SPMM_OP_PRODUCT,
  .format = SPMM_CSR,
  .takes  = PairsTake,
  .work   = WorkBytes,
  .run    = Run
};
