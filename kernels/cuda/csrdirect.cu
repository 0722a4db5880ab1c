/*
   CSR times B as it is, a column at a time: for a single column, and where a copy of B would cost more than it saves.

   A thread block has a section. All its threads read the entries, in whole sectors and whatever their rows, and the numbers of B they meet; then, from shared memory, a thread adds up a row, or a
   part of one, chunk by chunk; where rows are long so many lanes do that, a chunk each. So many reads are on their way, and the bits are those of the other kernel.
*/
#include <string.h>

#include "copy.cuh"
#include "csr.cuh"

enum {
  DIRECT_THREADS   = 128,
  DIRECT_READS     = 8,                                     /* entries of a thread that are on their way together: most sections take one turn */
  DIRECT_SHARED    = sizeof(HrpbScalar) == 8 ? 75 : 50,     /* percent of a multiprocessor's memory to be shared memory: more thread blocks would be no gain, for they want the rest as a cache for B */
  DIRECT_LONG_ROWS = 64,                                    /* mean number of entries from which on so many lanes add up a row: a section has too few of them for a thread each */
  DIRECT_LANES     = 8,
  LEAST_SHIFT      = 3,
  MOST_SHIFT       = 5,
  NO_SHIFT         = 31,
  MOST_CUT         = CSR_SECTION / (CSR_LEAST_PART + 1),    /* rows of a section that are cut, */
  MOST_PIECES      = 2 * CSR_SECTION / (CSR_LEAST_PART + 1) /* and their parts: two of CSR_LEAST_PART + 1 entries; longer rows have fewer for each entry */
};
static_assert(DIRECT_THREADS * DIRECT_READS >= CSR_SHARED + 2 * CSR_LEAST_PART && DIRECT_THREADS * DIRECT_READS >= CSR_SHARED_LONG + 4 * CSR_LEAST_PART, "one turn for rows of up to so many entries");
static_assert(1 << LEAST_SHIFT == CSR_CHUNK && DIRECT_THREADS % (1 << MOST_SHIFT) == 0, "lanes with a chunk each do not meet, and the terms that a thread writes are equally far apart");
static_assert(CSR_SECTION % CSR_MOST_PART == 0, "parts of a row do not reach from a section into the next");

struct DirectArgs {
  const HrpbInt    *rowptr, *colidx;
  const HrpbScalar *values, *B;
  const CsrSection *sections;
  HrpbScalar       *C, *partial;
  int64_t           ldb, ldc, ldpartial;
  int32_t           part_entries;
};

/* *p where has, without a branch: all reads of a thread are on their way before it waits for the first. What is read once need not take the place of numbers of B in the multiprocessor's cache */
template <typename T> static __device__ __forceinline__ T ReadOnce(const T *p, bool has)
{
  static_assert(sizeof(T) == 4 || sizeof(T) == 8, "");
  T x;

  if constexpr (sizeof(T) == 4) {
    uint32_t bits;

    asm volatile("{\n.reg .pred p;\nsetp.ne.s32 p,%2,0;\n@p ld.global.nc.L1::no_allocate.b32 %0,[%1];\n}" : "=r"(bits) : "l"(p), "r"((int)has));
    memcpy(&x, &bits, sizeof(x));
  } else {
    uint64_t bits;

    asm volatile("{\n.reg .pred p;\nsetp.ne.s32 p,%2,0;\n@p ld.global.nc.L1::no_allocate.b64 %0,[%1];\n}" : "=l"(bits) : "l"(p), "r"((int)has));
    memcpy(&x, &bits, sizeof(x));
  }
  return x;
}

/* An entry and the number of B that it meets */
struct alignas(2 * sizeof(HrpbScalar)) Term {
  HrpbScalar a, b;
};

/*
   A place is left out after 2^Shift() terms, so that threads of a warp do not meet in a bank: those with a chunk each of the same row, and those with rows of so many entries each, whose terms begin an odd number of places
   apart then. Rows of 27 entries do so without, those of 42 meet in pairs; parts of 64 and more are few
*/
template <int LANES> static __device__ __forceinline__ uint32_t Shift(uint32_t entries)
{
  if (LANES > 1) return LEAST_SHIFT;
  return entries % 4 ? NO_SHIFT : min(max(__ffs(entries) - 1, (int)LEAST_SHIFT), (int)MOST_SHIFT);
}

/* Where term k lies */
static __host__ __device__ __forceinline__ uint32_t Place(uint32_t k, uint32_t shift)
{
  return k + (k >> shift);
}

/* n terms of up to CSR_CHUNK, read together with those behind them */
static __device__ __forceinline__ HrpbScalar SumOfChunk(const Term *term, uint32_t shift, uint32_t first, int32_t n)
{
  const uint32_t near  = (1u << shift) - (first & ((1u << shift) - 1)); /* before one is left out */
  const uint32_t at    = SharedAddress(term + Place(first, shift));
  uint32_t       after = at + (uint32_t)sizeof(Term);
  HrpbScalar     sum   = 0;
  Term           t[CSR_CHUNK];

  asm("" : "+r"(after)); /* or the compiler computes each place by itself */
#pragma unroll
  for (uint32_t i = 0; i < CSR_CHUNK; i++) t[i] = *(const Term *)__cvta_shared_to_generic((!i || i < near ? at : after) + i * (uint32_t)sizeof(Term));
#pragma unroll
  for (int i = 0; i < CSR_CHUNK; i++) {
    if (i < n) sum = fma(t[i].a, t[i].b, sum);
  }
  return sum;
}

/* By LANES lanes together, a chunk each, whose sums are added in their order; all lanes of the warp call it */
template <int LANES> static __device__ __forceinline__ HrpbScalar SumOfTerms(const Term *term, uint32_t shift, int32_t begin, int32_t end)
{
  HrpbScalar sum = 0;

  if constexpr (LANES == 1) {
#pragma unroll 1
    for (; begin + CSR_CHUNK <= end; begin += CSR_CHUNK) sum += SumOfChunk(term, shift, begin, CSR_CHUNK);
    if (begin < end) sum += SumOfChunk(term, shift, begin, end - begin);
  } else {
    constexpr int32_t TURN  = LANES * CSR_CHUNK;
    const int32_t     turns = __reduce_max_sync(HRPB_ALL_LANES, (end - begin + TURN - 1) / TURN);

    begin += (int32_t)threadIdx.x % LANES * CSR_CHUNK;
#pragma unroll 1
    for (int32_t turn = 0; turn < turns; turn++, begin += TURN) {
      const HrpbScalar part = begin < end ? SumOfChunk(term, shift, begin, end - begin) : 0;

#pragma unroll
      for (int lane = 0; lane < LANES; lane++) sum += __shfl_sync(HRPB_ALL_LANES, part, lane, LANES);
    }
  }
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

template <int LANES> static __global__ void __launch_bounds__(DIRECT_THREADS, 8) CsrDirect(const __grid_constant__ DirectArgs a)
{
  extern __shared__ Term term[];
  __shared__ HrpbInt     rowptr[CSR_SHARED + 1];
  __shared__ CutRow      cut[MOST_CUT];
  __shared__ Piece       piece[MOST_PIECES];
  __shared__ HrpbScalar  part[MOST_PIECES];
  __shared__ int32_t     ncut, npieces;
  constexpr int32_t      ROWS = DIRECT_THREADS / LANES;
  const CsrSection       s = a.sections[blockIdx.x], next = a.sections[blockIdx.x + 1];
  const int32_t          length = (int32_t)(next.begin - s.begin), nrows = s.slot < 0 ? next.row - s.row : 0, thread = threadIdx.x, own = thread / LANES, lane = thread % LANES;
  const HrpbInt         *colidx = a.colidx + s.begin;
  const HrpbScalar      *values = a.values + s.begin, *b = a.B + blockIdx.y * a.ldb;
  HrpbScalar            *c = a.C + blockIdx.y * a.ldc + s.row;
  const uint32_t         shift = Shift<LANES>(s.slot >= 0 ? a.part_entries : nrows ? length / nrows : 0), apart = Place(DIRECT_THREADS, shift);
  const auto             InOneGo = [&](const Piece &row) { return CsrInOneGo(colidx + row.begin, values + row.begin, row.end - row.begin, b, 1); };

  asm("" : "+l"(b)); /* or the compiler computes the address of each number of B from the beginning */
  if (thread == 0) ncut = npieces = 0;
#pragma unroll 1
  for (int32_t i = thread; i <= nrows; i += DIRECT_THREADS) CopyAsync<sizeof(HrpbInt)>(SharedAddress(rowptr + i), a.rowptr + s.row + i);
  CopyAsyncCommit();
#pragma unroll 1
  for (int32_t first = thread; first < length; first += DIRECT_THREADS * DIRECT_READS) {
    const HrpbInt    *cols = colidx + first;
    const HrpbScalar *vals = values + first;
    Term             *to   = term + Place(first, shift);
    HrpbInt           col[DIRECT_READS];
    HrpbScalar        value[DIRECT_READS], x[DIRECT_READS];
    const auto        Has = [&](int i) { return i == 0 || i * DIRECT_THREADS < length - first; };

#pragma unroll
    for (int i = 0; i < DIRECT_READS; i++) {
      col[i]   = ReadOnce(cols + i * DIRECT_THREADS, Has(i));
      value[i] = ReadOnce(vals + i * DIRECT_THREADS, Has(i));
    }
#pragma unroll
    for (int i = 0; i < DIRECT_READS; i++) x[i] = Has(i) ? __ldg(b + (int32_t)col[i]) : 0;
#pragma unroll
    for (int i = 0; i < DIRECT_READS; i++) {
      if (Has(i)) to[i * apart] = {value[i], x[i]};
    }
  }
  CopyAsyncWait<0>();
  __syncthreads();

  if (s.slot >= 0) { /* parts of a row that is put together elsewhere */
    const int32_t n = (length + a.part_entries - 1) / a.part_entries;

    for (int32_t first = 0; first < n; first += ROWS) {
      const int32_t    i     = first + own;
      const int32_t    begin = min(i * a.part_entries, length);
      const HrpbScalar sum   = SumOfTerms<LANES>(term, shift, begin, min(begin + a.part_entries, length));

      if (i < n && lane == 0) a.partial[s.slot + i + blockIdx.y * a.ldpartial] = sum;
    }
    return;
  }
  for (int32_t first = 0; first < nrows; first += ROWS) {
    const int32_t    i     = first + own;
    const Piece      row   = i < nrows ? Piece{(int32_t)(rowptr[i] - s.begin), (int32_t)(rowptr[i + 1] - s.begin)} : Piece{0, 0};
    const bool       whole = row.end - row.begin <= a.part_entries;
    const HrpbScalar sum   = SumOfTerms<LANES>(term, shift, row.begin, whole ? row.end : row.begin);

    if (i >= nrows || lane) continue;
    if (whole) {
      c[i] = CsrAgain<1>(row.end - row.begin, &sum) ? InOneGo(row) : sum;
    } else {
      const int32_t nparts = (row.end - row.begin + a.part_entries - 1) / a.part_entries, at = atomicAdd(&npieces, nparts);

      cut[atomicAdd(&ncut, 1)] = {i, at, nparts, row};
      for (int32_t k = 0; k < nparts; k++) piece[at + k] = {row.begin + k * a.part_entries, min(row.begin + (k + 1) * a.part_entries, row.end)};
    }
  }
  __syncthreads();
  /* cusparseSpMV() of cuSPARSE 12.6 looks at a word of shared memory that it has not written, the one where the last of these lies for 32 rows, and leaves out a row where it finds it. volatile: nobody here reads the zeros */
  for (int32_t i = thread; i <= nrows; i += DIRECT_THREADS) ((volatile HrpbInt *)rowptr)[i] = 0;
  if (!ncut) return;
  for (int32_t first = 0; first < npieces; first += ROWS) {
    const int32_t    i     = first + own;
    const Piece      terms = i < npieces ? piece[i] : Piece{0, 0};
    const HrpbScalar sum   = SumOfTerms<LANES>(term, shift, terms.begin, terms.end);

    if (i < npieces && lane == 0) part[i] = sum;
  }
  __syncthreads();
  for (int32_t first = thread / HRPB_LANES * (HRPB_LANES / CSR_COMBINE_LANES); first < ncut; first += DIRECT_THREADS / CSR_COMBINE_LANES) {
    const int32_t    i   = first + thread % HRPB_LANES / CSR_COMBINE_LANES;
    const CutRow     r   = i < ncut ? cut[i] : CutRow{};
    const HrpbScalar sum = CsrSumOfParts(part + r.first, r.nparts);

    if (i < ncut && thread % CSR_COMBINE_LANES == 0) c[r.row] = isfinite(sum) ? sum : InOneGo(r.terms);
  }
}

template <int LANES> static HrpbError Launch(const CsrProduct *p)
{
  const CsrSchedule *s      = p->schedule;
  const DirectArgs   a      = {p->rowptr, p->colidx, p->values, p->B, (const CsrSection *)s->sections, p->C, p->partial, p->ldb, p->ldc, s->nparts, s->part_entries};
  const size_t       shared = sizeof(Term) * Place(s->section_entries + CSR_CHUNK, LEAST_SHIFT); /* a last chunk is read as a whole */

  HrpbCallCuda(cudaFuncSetAttribute(CsrDirect<LANES>, cudaFuncAttributePreferredSharedMemoryCarveout, DIRECT_SHARED));
  CsrDirect<LANES><<<dim3(s->nsections, p->N), DIRECT_THREADS, shared, p->stream>>>(a);
  HrpbCallCuda(cudaGetLastError());
  return HRPB_SUCCESS;
}

HrpbError CsrDirectRun(const CsrProduct *p)
{
  return p->schedule->nnz < DIRECT_LONG_ROWS * (int64_t)p->schedule->nrows ? Launch<1>(p) : Launch<DIRECT_LANES>(p);
}
