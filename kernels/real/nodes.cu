/*
   CSR of complex numbers times a block, where rows come in nodes: a few rows, one behind the other, that have the same
   columns (vector/vector.h). It is csr.cu of this folder with a node in place of a row: the row of B that an entry
   meets is read once for all rows of the node. The bits are the same. Rows that are in no nodes are nodes of one row.

   What the lanes of a group read of a node is on its way into shared memory while they multiply with what is there.
*/
#include "copy.cuh"
#include "../common/copy.cuh"
#include "../common/rowmajor.cuh"

enum {
  THREADS = 128,
  WIDTH   = COMPLEX_WIDTH
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
  ComplexProduct p;
  const int32_t *nodes; /* NULL where they have one row each */
  int32_t        nnodes;
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
   The groups of a warp go together, as far as the longest of their nodes.

   G     lanes of a group
   K     vectors of a lane, G vectors apart
   ROWS  of a node. Rows that it does not have are its last one once more, and are not stored
*/
template <int G, int K, int ROWS> static __global__ void __launch_bounds__(THREADS, BlocksOf(ROWS, K)) CsrNodes(const __grid_constant__ CsrNodesArgs a)
{
  constexpr int CHUNK = ChunkOf(ROWS), TURN = K == 1 ? 4 : 2; /* entries that go together */
  __shared__ Stages<ROWS> stages[THREADS / G];
  Stages<ROWS>           &s    = stages[threadIdx.x / G];
  const int32_t           node = blockIdx.x * (THREADS / G) + threadIdx.x / G, lane = threadIdx.x % G;
  const int32_t           n0          = blockIdx.y * (G * K * WIDTH) + lane * WIDTH; /* first column */
  ComplexColumns          re[ROWS][K] = {}, im[ROWS][K] = {};

  HrpbWaitForKernelBefore();

  const bool        is  = node < a.nnodes;
  const int32_t     row = !is ? 0 : ROWS == 1 ? node : __ldg(a.nodes + node), nrows = !is ? 0 : ROWS == 1 ? 1 : __ldg(a.nodes + node + 1) - row;
  const HrpbInt     begin  = __ldg(a.p.rowptr + row);
  const int32_t     length = is ? (int32_t)(__ldg(a.p.rowptr + row + 1) - begin) : 0, longest = HrpbMostOfLanes(length);
  const HrpbScalar *r      = a.p.R + (n0 < a.p.N ? n0 : 0);
  const auto        Column = [&](int k) { return n0 + k * G * WIDTH < a.p.N ? k * G * WIDTH : 0; };
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
      ComplexColumns x[TURN][K], y[TURN][K];

      if (first + at >= length) break;
#pragma unroll
      for (int u = 0; u < TURN; u++) {
        const HrpbScalar *row_b = r + 2 * (int64_t)s.column[stage][at + u] * a.p.ldr;

#pragma unroll
        for (int k = 0; k < K; k++) {
          x[u][k] = *(const ComplexColumns *)(row_b + Column(k));
          y[u][k] = *(const ComplexColumns *)(row_b + a.p.ldr + Column(k));
        }
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
            for (int w = 0; w < WIDTH; w++) {
              const VectorPair sum = ComplexAddTwo(VectorPair{re[j][k].x[w], im[j][k].x[w]}, value, VectorPair{x[u][k].x[w], y[u][k].x[w]},
                VectorPair{x[u + 1][k].x[w], y[u + 1][k].x[w]});

              re[j][k].x[w] = sum.re;
              im[j][k].x[w] = sum.im;
            }
          }
        }
      }
    }
    __syncwarp();
  }
  if (!length && a.p.C == a.p.C0) return; /* C is not touched where there are no entries */
  ComplexStore<G>(a.p, row, nrows, n0, re, im);
}

static HrpbError WorkBytes(const SpmmMatrix *A, const SpmmOperands *o, size_t *bytes)
{
  *bytes = sizeof(HrpbScalar) * (size_t)A->ncols * (size_t)ComplexLeadingDimension(o->N);
  return HRPB_SUCCESS;
}

template <int G, int K, int ROWS> static HrpbError Launch(const CsrNodesArgs &a, cudaStream_t stream)
{
  return LaunchAfter(CsrNodes<G, K, ROWS>, dim3(HrpbGrid(a.nnodes, THREADS / G), (a.p.N + G * K * WIDTH - 1) / (G * K * WIDTH)), THREADS, 0, stream, a);
}

template <int ROWS> static HrpbError LaunchFor(const CsrNodesArgs &a, cudaStream_t stream)
{
  if (a.p.N <= 4 * WIDTH) return Launch<4, 1, ROWS>(a, stream);
  if (a.p.N <= 8 * WIDTH) return Launch<8, 1, ROWS>(a, stream);
  if (a.p.N <= 16 * WIDTH) return Launch<8, 2, ROWS>(a, stream);
  return Launch<16, 2, ROWS>(a, stream);
}

/* nrows, ncols and the operands are those of the real matrix, arrays and VectorPlan those of the complex one */
static HrpbError Run(const SpmmMatrix *A, const SpmmOperands *o, void *work, HrpbStream stream)
{
  const VectorPlan *v = A->vector;
  const int32_t     N = (int32_t)o->N, ldr = ComplexLeadingDimension(N), rows = v->nnodes ? v->node_rows : 1;
  HrpbScalar       *R = (HrpbScalar *)work;
  CsrNodesArgs      a = {ComplexProductOf(A, o, R, ldr), (const int32_t *)v->nodes, v->nnodes ? v->nnodes : (int32_t)(A->nrows / 2)};

  if (!PairsTake(NULL, NULL, o, NULL) || v->nparts) return HRPB_ERR_UNSUPPORTED;
  HrpbCall(RowMajor(o->X.array, o->X.ld, (int32_t)A->ncols, N, R, (int32_t)A->ncols, ldr, stream));
  if (rows == 1) return LaunchFor<1>(a, stream);
  return rows == 2 ? LaunchFor<2>(a, stream) : rows == 3 ? LaunchFor<3>(a, stream) : rows == 4 ? LaunchFor<4>(a, stream) : rows == 6 ? LaunchFor<6>(a, stream) : LaunchFor<VECTOR_NODE>(a, stream);
}

/* csr-complex from COMPLEX_MANY columns on, where no row is cut */
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
