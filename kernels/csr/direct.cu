/*
   CSR times B as it is, a column at a time: for a single column, and where a copy of B would cost more than it saves.

   A thread block has a section. All its threads read the entries, in whole sectors whatever their rows, and the numbers
   of B that the entries meet. Many reads are on their way at a time. Entries and numbers of B lie in shared memory
   then, where rows are added up chunk by chunk. A thread adds up a row, or, where rows are long, a few lanes have a
   chunk each. Where some rows are cut, rows have all lengths. There threads first add up chunks, whatever rows they
   belong to.

   The bits of the result are those of the other kernels on CSR.
*/
#include <string.h>

#include "../common/copy.cuh"
#include "csr.cuh"

enum {
  DIRECT_THREADS   = 128,
  /* entries of a thread that are on their way together: most sections take one turn */
  DIRECT_READS     = 8,
  /*
     percent of a multiprocessor's memory that are shared memory. The rest is a cache for B, which more thread blocks
     would need
  */
  DIRECT_SHARED    = sizeof(HrpbScalar) == 8 ? 75 : 50,
  /*
     rows with this many entries or more, on average, are added up by DIRECT_LANES lanes: a section has too few of them
     for all threads
  */
  DIRECT_LONG_ROWS = 64,
  DIRECT_LANES     = 8,
  LEAST_SHIFT      = 3,
  MOST_SHIFT       = 5,
  NO_SHIFT         = 31,
  MARKS            = CSR_CUT_SECTION / 32 + 1,              /* words: a bit for each entry of a section, one more */
  MOST_CUT         = CSR_CUT_SECTION / (CSR_LEAST_PART + 1) /* the most rows of a section that are cut */
};
static_assert(DIRECT_THREADS * DIRECT_READS >= CSR_SHARED + 2 * CSR_LEAST_PART && DIRECT_THREADS * DIRECT_READS >= CSR_CUT_SECTION, "rows of up to these lengths take one turn");
static_assert(1 << LEAST_SHIFT == CSR_CHUNK && DIRECT_THREADS % (1 << MOST_SHIFT) == 0, "lanes with a chunk each do not meet, and the terms that a thread writes are equally far apart");
static_assert(CSR_CHUNK == 8 && CSR_LEAST_PART % CSR_CHUNK == 0, "a byte of marks for a thread, and parts of a row begin with a chunk");

namespace {
/* How rows are added up from shared memory */
enum Adding {
  BY_THREADS, /* by a thread */
  BY_LANES,   /* by DIRECT_LANES lanes, a chunk each */
  BY_CHUNKS   /* first chunks by threads, then rows: rows have all lengths, and some are cut */
};

struct DirectArgs {
  const HrpbInt    *rowptr, *colidx;
  const HrpbScalar *values, *B;
  const CsrSection *sections;
  HrpbScalar       *C, *partial;
  int64_t           ldb, ldc, ldpartial;
  int32_t           part_entries;
};
} // namespace

/*
   *p if has, without a branch, so that all reads of a thread are on their way before it waits for the first. What is
   read once does not take the place of numbers of B in L1
*/
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

namespace {
/* An entry and the number of B that it meets */
struct alignas(2 * sizeof(HrpbScalar)) Term {
  HrpbScalar a, b;
};
} // namespace

/*
   One place is left out after every 2^Shift() terms, so that threads of a warp meet in few banks.

   Threads with consecutive chunks do not meet. Threads with rows of equally many entries, a multiple of 4, do not meet
   either: their terms begin an odd number of places apart. An odd number of entries needs no place left out. Rows of 42
   entries meet in pairs. Parts of 64 entries and more are few.
*/
template <Adding HOW> static __device__ __forceinline__ uint32_t Shift(uint32_t entries)
{
  if (HOW != BY_THREADS) return LEAST_SHIFT;
  return entries % 4 ? NO_SHIFT : min(max(__ffs(entries) - 1, (int)LEAST_SHIFT), (int)MOST_SHIFT);
}

/* The place of term k */
static __host__ __device__ __forceinline__ uint32_t Place(uint32_t k, uint32_t shift)
{
  return k + (k >> shift);
}

/*
   The sum of n terms, CSR_CHUNK at most. QUIET: nobody writes meanwhile, so the terms behind them are read as well,
   without conditions
*/
template <bool QUIET> static __device__ __forceinline__ HrpbScalar SumOfChunk(const Term *term, uint32_t shift, uint32_t first, int32_t n)
{
  const uint32_t near  = (1u << shift) - (first & ((1u << shift) - 1)); /* terms before the next gap */
  const uint32_t at    = SharedAddress(term + Place(first, shift));
  uint32_t       after = at + (uint32_t)sizeof(Term);
  HrpbScalar     sum   = 0;
  Term           t[CSR_CHUNK];

  asm("" : "+r"(after)); /* or the compiler computes each place by itself */
#pragma unroll
  for (uint32_t i = 0; i < CSR_CHUNK; i++) {
    if (QUIET || i < n) t[i] = *(const Term *)__cvta_shared_to_generic((!i || i < near ? at : after) + i * (uint32_t)sizeof(Term));
  }
#pragma unroll
  for (int i = 0; i < CSR_CHUNK; i++) {
    if (i < n) sum = fma(t[i].a, t[i].b, sum);
  }
  return sum;
}

/*
   The sum of the terms from begin to end - 1. LANES lanes have a chunk each, and the sums of chunks are added in their
   order. All lanes of the warp call it
*/
template <int LANES> static __device__ __forceinline__ HrpbScalar SumOfTerms(const Term *term, uint32_t shift, int32_t begin, int32_t end)
{
  HrpbScalar sum = 0;

  if constexpr (LANES == 1) {
#pragma unroll 1
    for (; begin + CSR_CHUNK <= end; begin += CSR_CHUNK) sum += SumOfChunk<true>(term, shift, begin, CSR_CHUNK);
    if (begin < end) sum += SumOfChunk<true>(term, shift, begin, end - begin);
  } else {
    constexpr int32_t TURN  = LANES * CSR_CHUNK;
    const int32_t     turns = __reduce_max_sync(HRPB_ALL_LANES, (end - begin + TURN - 1) / TURN);

    begin += (int32_t)threadIdx.x % LANES * CSR_CHUNK;
#pragma unroll 1
    for (int32_t turn = 0; turn < turns; turn++, begin += TURN) {
      const HrpbScalar part = begin < end ? SumOfChunk<true>(term, shift, begin, end - begin) : 0;

#pragma unroll
      for (int lane = 0; lane < LANES; lane++) sum += __shfl_sync(HRPB_ALL_LANES, part, lane, LANES);
    }
  }
  return sum;
}

/* The same from the sums of chunks that AddChunks() left */
static __device__ __forceinline__ HrpbScalar SumOfChunks(const Term *term, int32_t begin, int32_t end)
{
  HrpbScalar sum = 0;

#pragma unroll 4
  for (; begin < end; begin += CSR_CHUNK) sum += term[Place(begin, LEAST_SHIFT)].a;
  return sum;
}

static constexpr uint32_t EVERY_CHUNK = 0x01010101u; /* marks of a row that begins where a word does */

/* Mark the first term of each chunk of a row */
static __device__ __forceinline__ void MarkChunks(uint32_t *marks, int32_t begin, int32_t end)
{
#pragma unroll 1
  for (int32_t at = begin / 32 * 32; at < end; at += 32) {
    uint32_t bits = EVERY_CHUNK << begin % CSR_CHUNK;

    if (at < begin) bits &= ~0u << (begin - at);
    if (end - at < 32) bits &= ~(~0u << (end - at));
    atomicOr(marks + at / 32, bits);
  }
}

/*
   Put the sum of each chunk in the place of its first term. A thread has the chunks that begin in CSR_CHUNK terms: one,
   or some shorter ones
*/
static __device__ __forceinline__ void AddChunks(Term *term, const uint32_t *marks, int32_t length)
{
#pragma unroll 1
  for (int32_t first = threadIdx.x * CSR_CHUNK; first < length; first += DIRECT_THREADS * CSR_CHUNK) {
    const uint32_t mark = __funnelshift_r(marks[first / 32], marks[first / 32 + 1], first % 32);

#pragma unroll 1
    for (uint32_t own = mark & (length - first < CSR_CHUNK ? ~(~0u << (length - first)) : 0xffu); own; own &= own - 1) {
      const int32_t at = __ffs(own) - 1, n = __ffs(mark >> at >> 1); /* terms up to the next mark */

      term[Place(first + at, LEAST_SHIFT)].a = SumOfChunk<false>(term, LEAST_SHIFT, first + at, n);
    }
  }
}

namespace {
/* A row that is cut */
struct CutRow {
  int32_t row, begin, end;
};
} // namespace

template <Adding HOW> static __global__ void __launch_bounds__(DIRECT_THREADS, 8) CsrDirect(const __grid_constant__ DirectArgs a)
{
  extern __shared__ Term term[];
  __shared__ HrpbInt     rowptr[CSR_SHARED + 1];
  __shared__ uint32_t    marks[HOW == BY_CHUNKS ? MARKS : 1];
  __shared__ CutRow      cut[HOW == BY_CHUNKS ? MOST_CUT : 1];
  __shared__ int32_t     ncut;
  constexpr int32_t      LANES = HOW == BY_LANES ? DIRECT_LANES : 1, ROWS = DIRECT_THREADS / LANES;
  const CsrSection       s = a.sections[blockIdx.x], next = a.sections[blockIdx.x + 1];
  const int32_t          length = (int32_t)(next.begin - s.begin), nrows = s.slot < 0 ? next.row - s.row : 0, thread = threadIdx.x, own = thread / LANES, lane = thread % LANES;
  const HrpbInt         *colidx = a.colidx + s.begin;
  const HrpbScalar      *values = a.values + s.begin, *b = a.B + blockIdx.y * a.ldb;
  HrpbScalar            *c = a.C + blockIdx.y * a.ldc + s.row;
  const uint32_t         shift = Shift<HOW>(s.slot >= 0 ? a.part_entries : nrows ? length / nrows : 0), apart = Place(DIRECT_THREADS, shift);
  const auto             InOneGo = [&](int32_t begin, int32_t end) { return CsrInOneGo(colidx + begin, values + begin, end - begin, b, 1); };
  const auto             Sum     = [&](int32_t begin, int32_t end) {
    if constexpr (HOW == BY_CHUNKS) return SumOfChunks(term, begin, end);
    else return SumOfTerms<LANES>(term, shift, begin, end);
  };

  HrpbLetNextKernelCome();
  asm("" : "+l"(b)); /* or the compiler computes each address from the beginning */
#pragma unroll 1
  for (int32_t i = thread; i <= nrows; i += DIRECT_THREADS) CopyAsync<sizeof(HrpbInt)>(SharedAddress(rowptr + i), a.rowptr + s.row + i);
  CopyAsyncCommit();
  if constexpr (HOW == BY_CHUNKS) {
    if (thread == 0) ncut = 0;
    for (int32_t i = thread; i < MARKS; i += DIRECT_THREADS) marks[i] = s.slot < 0 ? 0 : EVERY_CHUNK;
  }
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

  if constexpr (HOW == BY_CHUNKS) {
    for (int32_t i = thread; i < nrows; i += DIRECT_THREADS) MarkChunks(marks, (int32_t)(rowptr[i] - s.begin), (int32_t)(rowptr[i + 1] - s.begin));
    if (thread == 0) atomicOr(marks + length / 32, 1u << length % 32); /* the last row ends here */
    __syncthreads();
    AddChunks(term, marks, length);
    __syncthreads();
  }
  /*
     Leave zeros behind. cusparseSpMV() of cuSPARSE 12.6 looks at a word of shared memory that it has not written: for
     32 rows the place of the last of these. Where the word is not zero it may leave out a row. volatile, because nobody
     here reads the zeros
  */
  const auto leave_zeros = [&]() {
    for (int32_t i = thread; i <= nrows; i += DIRECT_THREADS) ((volatile HrpbInt *)rowptr)[i] = 0;
  };

  if (s.slot >= 0) { /* parts of a row that CsrCombineRun() puts together */
    const int32_t n = (length + a.part_entries - 1) / a.part_entries;

    for (int32_t first = 0; first < n; first += ROWS) {
      const int32_t    i     = first + own;
      const int32_t    begin = min(i * a.part_entries, length);
      const HrpbScalar sum   = Sum(begin, min(begin + a.part_entries, length));

      if (i < n && lane == 0) a.partial[s.slot + i + blockIdx.y * a.ldpartial] = sum;
    }
    leave_zeros();
    return;
  }
  for (int32_t first = 0; first < nrows; first += ROWS) {
    const int32_t    i     = first + own;
    const int32_t    begin = i < nrows ? (int32_t)(rowptr[i] - s.begin) : 0, end = i < nrows ? (int32_t)(rowptr[i + 1] - s.begin) : 0;
    const bool       whole = HOW != BY_CHUNKS || end - begin <= a.part_entries;
    const HrpbScalar sum   = Sum(begin, whole ? end : begin);

    if (i >= nrows || lane) continue;
    if (whole) c[i] = CsrAgain<1>(end - begin, &sum) ? InOneGo(begin, end) : sum;
    else cut[atomicAdd(&ncut, 1)] = {i, begin, end};
  }
  __syncthreads();
  leave_zeros();
  if constexpr (HOW == BY_CHUNKS) {
    for (int32_t first = thread / HRPB_LANES * (HRPB_LANES / CSR_COMBINE_LANES); first < ncut; first += DIRECT_THREADS / CSR_COMBINE_LANES) {
      const int32_t    i   = first + thread % HRPB_LANES / CSR_COMBINE_LANES;
      const CutRow     r   = i < ncut ? cut[i] : CutRow{};
      const HrpbScalar sum = CsrSumOfParts((r.end - r.begin + a.part_entries - 1) / a.part_entries, [&](int32_t k) { return Sum(r.begin + k * a.part_entries, min(r.begin + (k + 1) * a.part_entries, r.end)); });

      if (i < ncut && thread % CSR_COMBINE_LANES == 0) c[r.row] = isfinite(sum) ? sum : InOneGo(r.begin, r.end);
    }
  }
}

template <Adding HOW> static HrpbError Launch(const CsrProduct *p)
{
  const CsrSchedule *s      = p->schedule;
  const DirectArgs   a      = {p->rowptr, p->colidx, p->values, p->B, (const CsrSection *)s->sections, p->C, p->partial, p->ldb, p->ldc, s->nparts, s->part_entries};
  const size_t       shared = sizeof(Term) * Place(s->section_entries + CSR_CHUNK, LEAST_SHIFT); /* whole chunks */

  HrpbCallCuda(cudaFuncSetAttribute(CsrDirect<HOW>, cudaFuncAttributePreferredSharedMemoryCarveout, DIRECT_SHARED));
  HrpbCall(HrpbLaunch(CsrDirect<HOW>, dim3(s->nsections, p->N), DIRECT_THREADS, shared, p->stream, a));
  return HRPB_SUCCESS;
}

static bool Takes(const SpmmFacts *facts, const HrpbParams *, const SpmmOperands *o, const SpmmDevice *)
{
  return SpmmIsPlain(o) && o->N <= facts->direct_columns;
}

static HrpbError WorkBytes(const SpmmMatrix *A, const SpmmOperands *o, size_t *bytes)
{
  *bytes = A->csr->ngiant ? CsrPartialBytes(A, o->N) : 0;
  return HRPB_SUCCESS;
}

static double Seconds(const SpmmFacts *facts, const HrpbParams *, HrpbPrecision, int64_t N, const SpmmDevice *device)
{
  const SpmmCsrTimes *t = &device->model->csr;

  return 1e-12 * (t->column_launch + (t->column * (double)facts->nnz + t->dense * (double)facts->nrows) * (double)N);
}

/* Rows that are longer than a section are left to CsrCombineRun() */
static HrpbError RunProduct(const SpmmMatrix *A, const SpmmOperands *o, void *work, HrpbStream stream)
{
  const CsrSchedule *s = A->csr;
  CsrProduct         p;

  HrpbCall(CsrProductOf(A, o, work, stream, &p));
  if (s->nlong > s->ngiant) HrpbCall(Launch<BY_CHUNKS>(&p)); /* sections have CSR_CUT_SECTION entries at most */
  else HrpbCall(s->nnz >= DIRECT_LONG_ROWS * (int64_t)s->nrows ? Launch<BY_LANES>(&p) : Launch<BY_THREADS>(&p));
  return CsrCombineRun(&p, false);
}

SPMM_KERNEL(SpmmCsrDirect) = {
  .name    = "csr-direct",
  .what    = "CSR times B as it is, column by column",
  .op      = SPMM_OP_PRODUCT,
  .format  = SPMM_CSR,
  .takes   = Takes,
  .work    = WorkBytes,
  .seconds = Seconds,
  .run     = RunProduct
};
