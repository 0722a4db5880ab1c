/*
   CSR times one vector where lengths of rows differ much, and x is long. A thread block reads the entries of
   neighbouring rows, one behind the other, whatever row they are of, and the numbers of x that they meet. From shared
   memory lanes add them up, as many for a row as bins.cu has.

   Where hardly a number of x comes from L1, each takes a sector of 32 bytes from L2, and sectors limit the product.
   Rows in bins are read apart from their neighbours, and the sectors between them are read twice.
*/
#include "vector.cuh"

enum {
  TURNS = VECTOR_STAGED / VECTOR_THREADS /* entries of a thread, which are on their way together */
};

namespace {
/* An entry, and what it meets in x */
template <typename Number> struct alignas(2 * sizeof(Number)) Term {
  Number value, x;
};

/* One of the lanes of a row */
struct Lane {
  int32_t place, lane, lanes; /* place: that of its row */
};
} // namespace

/* Thread blocks on a multiprocessor, see csr.cu */
static __host__ __device__ constexpr int BlocksOf(size_t number)
{
  return number == 16 ? 4 : number == 8 ? 6 : 8;
}

/* Threads that have no more read the last entry again, see VectorSumOfLane() */
template <typename Number>
static __device__ __forceinline__ void Stage(const VectorProductWith<Number> &a, const VectorBlock &b, Term<Number> *terms)
{
  const HrpbInt *colidx = a.colidx + b.begin;
  const auto     values = a.values + b.begin;
  int32_t        col[TURNS];
  Number         value[TURNS], x[TURNS];
  const auto     At = [&](int i) { return (uint32_t)min((int32_t)threadIdx.x + i * VECTOR_THREADS, b.entries - 1); };

  if (b.entries == 0) return;
#pragma unroll
  for (int i = 0; i < TURNS; i++) col[i] = (int32_t)VectorReadOnce(colidx + At(i));
#pragma unroll
  for (int i = 0; i < TURNS; i++) value[i] = VectorReadOnce(values + At(i));
#pragma unroll
  for (int i = 0; i < TURNS; i++) x[i] = VectorReadX(a.x + col[i]);
#pragma unroll
  for (int i = 0; i < TURNS; i++) terms[threadIdx.x + i * VECTOR_THREADS] = {value[i], x[i]};
}

/* Lane i of all rows. Rows with more lanes come first, so that none has lanes of two warps */
static __device__ __forceinline__ Lane LaneOf(const VectorBlock &b, int32_t i)
{
  Lane    l        = {0, 0, 1};
  int32_t rows     = 0;
  int32_t of_these = 0;

#pragma unroll
  for (int bin = VECTOR_BINS - 1; bin >= 0; bin--) {
    if (i >= of_these) l = {rows + ((i - of_these) >> bin), (i - of_these) & ((1 << bin) - 1), 1 << bin};
    of_these += b.rows[bin] << bin;
    rows += b.rows[bin];
  }
  return l;
}

template <typename Number>
static __global__ void __launch_bounds__(VECTOR_THREADS, BlocksOf(sizeof(Number)))
  VectorStaged(const __grid_constant__ VectorProductWith<Number> a)
{
  __shared__ Term<Number> terms[VECTOR_STAGED];
  __shared__ Number       sums[VECTOR_THREADS];
  __shared__ uint16_t     ends[VECTOR_THREADS + 1]; /* of rows; that of row i is ends[i + 1] */
  __shared__ uint8_t      places[VECTOR_THREADS];
  const int32_t           block = (int32_t)blockIdx.x - a.nparts, thread = (int32_t)threadIdx.x;
  int32_t               nrows = 0, nlanes = 0;

  if (VectorHasLongRows(a, block)) return;

  const VectorBlock b = a.blocks[block];

#pragma unroll
  for (int bin = 0; bin < VECTOR_BINS; bin++) {
    nrows += b.rows[bin];
    nlanes += b.rows[bin] << bin;
  }

  const int32_t row  = b.first + min(thread, nrows - 1);
  const HrpbInt end  = __ldg(a.rowptr + row + 1);
  const uint8_t mine = __ldg(a.places + row);

  VectorBegin(a);
  Stage(a, b, terms);
  if (thread == 0) ends[0] = 0;
  ends[thread + 1] = (uint16_t)(end - b.begin);
  places[thread]   = mine;
  __syncthreads();
  for (int32_t i = thread; i - thread % HRPB_LANES < nlanes; i += VECTOR_THREADS) {
    const bool    is = i < nlanes;
    const Lane    l  = LaneOf(b, i);
    const int32_t r  = is ? places[l.place] : 0, stop = is ? ends[r + 1] : 0;
    Number        sum = {};

    for (int32_t k = (is ? ends[r] : 0) + l.lane; k < stop; k += l.lanes) {
      const Term<Number> t = terms[k];

      sum = VectorFma(t.value, t.x, sum);
    }
#pragma unroll
    for (int distance = HRPB_LANES / 2; distance > 0; distance /= 2) {
      const Number other = VectorOfLane(sum, distance);

      if (distance < l.lanes) sum = sum + other;
    }
    if (is && l.lane == 0) sums[r] = sum;
  }
  __syncthreads();
  if (thread < nrows) VectorStore(a, b.first + thread, sums[thread]);
}

template <typename Number, bool CONJUGATE = false>
static HrpbError RunFor(const SpmmMatrix *A, const SpmmOperands *o, void *work, HrpbStream stream)
{
  VectorProductWith<Number> p;

  HrpbCall(VectorProductOf(A, o, work, &p, CONJUGATE));
  return VectorLaunch(VectorStaged<Number>, &p, A->vector->nblocks, stream);
}

static bool Takes(const SpmmFacts *facts, const HrpbParams *, const SpmmOperands *o, const SpmmDevice *)
{
  return facts->staged && VectorTakes(o);
}

SPMM_KERNEL(SpmmVectorStaged) =
  VectorKernel("vector-staged", "CSR times one vector, entries of neighbouring rows at once", Takes, VectorWork, RunFor<HrpbScalar>);

VECTOR_SINGLE_KERNEL(SpmmVectorStagedSingle, "vector-staged", Takes, RunFor<float>);

template <bool CONJUGATE> static HrpbError RunPairs(const SpmmMatrix *A, const SpmmOperands *o, void *work, HrpbStream stream)
{
  return RunFor<VectorPair, CONJUGATE>(A, o, work, stream);
}

VECTOR_PAIRS_KERNELS(SpmmVectorStagedPairs, "vector-staged", "entries of neighbouring rows at once", Takes, RunPairs);
