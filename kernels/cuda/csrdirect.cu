/*
   CSR times B as it is, a column at a time: for a single column, and where a copy of B would cost more than it saves.

   A thread block has a section. All its threads read the entries, in whole sectors and whatever their rows, and the numbers of B they meet; then, from shared memory, a thread adds up a row, or a
   part of one, chunk by chunk. So many reads are on their way, and the bits are those of the other kernel.
*/
#include <string.h>

#include "copy.cuh"
#include "csr.cuh"

enum {
  DIRECT_THREADS = 128,
  DIRECT_READS   = 8,                                     /* entries of a thread that are on their way together: most sections take one turn */
  DIRECT_SHARED  = sizeof(HrpbScalar) == 8 ? 75 : 50,     /* percent of a multiprocessor's memory to be shared memory: more thread blocks would be no gain, for they want the rest as a cache for B */
  MOST_CUT       = CSR_SECTION / (CSR_LEAST_PART + 1),    /* rows of a section that are cut, */
  MOST_PIECES    = 2 * CSR_SECTION / (CSR_LEAST_PART + 1) /* and their parts: two of CSR_LEAST_PART + 1 entries; longer rows have fewer for each entry */
};
static_assert(MOST_PIECES <= DIRECT_THREADS && CSR_SECTION / CSR_LEAST_PART <= DIRECT_THREADS, "a thread adds up one part");
static_assert(DIRECT_THREADS * DIRECT_READS >= CSR_SHARED + 2 * CSR_LEAST_PART && DIRECT_THREADS * DIRECT_READS >= CSR_SHARED_LONG + 4 * CSR_LEAST_PART, "one turn for rows of up to so many entries");
static_assert(CSR_SECTION % CSR_MOST_PART == 0, "parts of a row do not reach from a section into the next");

struct DirectArgs {
  const HrpbInt    *rowptr, *colidx;
  const HrpbScalar *values, *B;
  const CsrSection *sections;
  HrpbScalar       *C, *partial;
  int64_t           ldb, ldc, ldpartial;
  int32_t           part_entries;
};

/* What is read once need not take the place of numbers of B in the multiprocessor's cache */
template <typename T> static __device__ __forceinline__ T ReadOnce(const T *p)
{
  static_assert(sizeof(T) == 4 || sizeof(T) == 8, "");
  T x;

  if constexpr (sizeof(T) == 4) {
    uint32_t bits;

    asm("ld.global.nc.L1::no_allocate.b32 %0, [%1];" : "=r"(bits) : "l"(p));
    memcpy(&x, &bits, sizeof(x));
  } else {
    uint64_t bits;

    asm("ld.global.nc.L1::no_allocate.b64 %0, [%1];" : "=l"(bits) : "l"(p));
    memcpy(&x, &bits, sizeof(x));
  }
  return x;
}

/* An entry and the number of B that it meets */
struct alignas(2 * sizeof(HrpbScalar)) Term {
  HrpbScalar a, b;
};

/* Where term k lies: one is left out after 32, or the threads of a warp with rows of 16 entries each would meet in a bank */
static __host__ __device__ __forceinline__ int32_t Place(int32_t k)
{
  return k + k / 32;
}

/* n terms of up to CSR_CHUNK, read together */
static __device__ __forceinline__ HrpbScalar SumOfChunk(const Term *term, int32_t first, int32_t n)
{
  HrpbScalar sum = 0;
  Term       t[CSR_CHUNK];

#pragma unroll
  for (int i = 0; i < CSR_CHUNK; i++) t[i] = term[Place(first + min(i, n - 1))];
#pragma unroll
  for (int i = 0; i < CSR_CHUNK; i++) {
    if (i < n) sum = fma(t[i].a, t[i].b, sum);
  }
  return sum;
}

static __device__ __forceinline__ HrpbScalar SumOfTerms(const Term *term, int32_t begin, int32_t end)
{
  HrpbScalar sum = 0;

#pragma unroll 1
  for (; begin + CSR_CHUNK <= end; begin += CSR_CHUNK) sum += SumOfChunk(term, begin, CSR_CHUNK);
  if (begin < end) sum += SumOfChunk(term, begin, end - begin);
  return sum;
}

/* Terms begin to end - 1 */
struct Piece {
  int32_t begin, end;
};

/* A row that is cut: its parts are the pieces first, first + 1, ... in any place */
struct CutRow {
  int32_t row, first, nparts;
  Piece   terms;
};

static __global__ void __launch_bounds__(DIRECT_THREADS, 8) CsrDirect(const __grid_constant__ DirectArgs a)
{
  extern __shared__ Term term[];
  __shared__ HrpbInt     rowptr[CSR_SHARED + 1];
  __shared__ CutRow      cut[MOST_CUT];
  __shared__ Piece       piece[MOST_PIECES];
  __shared__ HrpbScalar  part[MOST_PIECES];
  __shared__ int32_t     ncut, npieces;
  const CsrSection       s = a.sections[blockIdx.x], next = a.sections[blockIdx.x + 1];
  const int32_t          length = (int32_t)(next.begin - s.begin), nrows = s.slot < 0 ? next.row - s.row : 0, thread = threadIdx.x;
  const HrpbInt         *colidx = a.colidx + s.begin;
  const HrpbScalar      *values = a.values + s.begin, *b = a.B + blockIdx.y * a.ldb;
  HrpbScalar            *c = a.C + blockIdx.y * a.ldc + s.row;
  const auto             InOneGo = [&](const Piece &row) { return CsrInOneGo(colidx + row.begin, values + row.begin, row.end - row.begin, b, 1); };

  if (thread == 0) ncut = npieces = 0;
  for (int32_t i = thread; i <= nrows; i += DIRECT_THREADS) CopyAsync<sizeof(HrpbInt)>(SharedAddress(rowptr + i), a.rowptr + s.row + i);
  CopyAsyncCommit();
#pragma unroll 1
  for (int32_t first = thread; first < length; first += DIRECT_THREADS * DIRECT_READS) {
    int32_t    col[DIRECT_READS];
    HrpbScalar value[DIRECT_READS], x[DIRECT_READS];

    /* The last entry again beyond the end: without a condition the reads do not wait for each other */
#pragma unroll
    for (int i = 0; i < DIRECT_READS; i++) {
      const int32_t at = min(first + i * DIRECT_THREADS, length - 1);

      col[i]   = (int32_t)ReadOnce(colidx + at);
      value[i] = ReadOnce(values + at);
    }
#pragma unroll
    for (int i = 0; i < DIRECT_READS; i++) x[i] = __ldg(b + col[i]);
#pragma unroll
    for (int i = 0; i < DIRECT_READS; i++) {
      const int32_t at = first + i * DIRECT_THREADS;

      if (at < length) term[Place(at)] = {value[i], x[i]};
    }
  }
  CopyAsyncWait<0>();
  __syncthreads();

  if (s.slot >= 0) { /* parts of a row that is put together elsewhere */
    const int32_t begin = thread * a.part_entries;

    if (begin < length) a.partial[s.slot + thread + blockIdx.y * a.ldpartial] = SumOfTerms(term, begin, min(begin + a.part_entries, length));
    return;
  }
  for (int32_t i = thread; i < nrows; i += DIRECT_THREADS) {
    const Piece   row    = {(int32_t)(rowptr[i] - s.begin), (int32_t)(rowptr[i + 1] - s.begin)};
    const int32_t nparts = (row.end - row.begin + a.part_entries - 1) / a.part_entries;

    if (nparts <= 1) {
      const HrpbScalar sum = SumOfTerms(term, row.begin, row.end);

      c[i] = CsrAgain<1>(row.end - row.begin, &sum) ? InOneGo(row) : sum;
    } else {
      const int32_t first = atomicAdd(&npieces, nparts);

      cut[atomicAdd(&ncut, 1)] = {i, first, nparts, row};
      for (int32_t k = 0; k < nparts; k++) piece[first + k] = {row.begin + k * a.part_entries, min(row.begin + (k + 1) * a.part_entries, row.end)};
    }
  }
  __syncthreads();
  /* cusparseSpMV() of cuSPARSE 12.6 looks at a word of shared memory that it has not written, the one where the last of these lies for 32 rows, and leaves out a row where it finds it. volatile: nobody here reads the zeros */
  for (int32_t i = thread; i <= nrows; i += DIRECT_THREADS) ((volatile HrpbInt *)rowptr)[i] = 0;
  if (!ncut) return;
  if (thread < npieces) part[thread] = SumOfTerms(term, piece[thread].begin, piece[thread].end);
  __syncthreads();
  for (int32_t first = thread / HRPB_LANES * (HRPB_LANES / CSR_COMBINE_LANES); first < ncut; first += DIRECT_THREADS / CSR_COMBINE_LANES) {
    const int32_t    i   = first + thread % HRPB_LANES / CSR_COMBINE_LANES;
    const CutRow     r   = i < ncut ? cut[i] : CutRow{};
    const HrpbScalar sum = CsrSumOfParts(part + r.first, r.nparts);

    if (i < ncut && thread % CSR_COMBINE_LANES == 0) c[r.row] = isfinite(sum) ? sum : InOneGo(r.terms);
  }
}

HrpbError CsrDirectRun(const CsrProduct *p)
{
  const CsrSchedule *s = p->schedule;
  const DirectArgs   a = {p->rowptr, p->colidx, p->values, p->B, (const CsrSection *)s->sections, p->C, p->partial, p->ldb, p->ldc, s->nparts, s->part_entries};

  HrpbCallCuda(cudaFuncSetAttribute(CsrDirect, cudaFuncAttributePreferredSharedMemoryCarveout, DIRECT_SHARED));
  CsrDirect<<<dim3(s->nsections, p->N), DIRECT_THREADS, sizeof(Term) * (size_t)Place(s->section_entries), p->stream>>>(a);
  HrpbCallCuda(cudaGetLastError());
  return HRPB_SUCCESS;
}
