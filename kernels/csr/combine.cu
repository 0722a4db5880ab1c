/*
   Rows that are cut, from the sums of their parts. A thread has a row and a column. If the row is huge a thread block
   has it.
*/
#include "csr.cuh"
#include "../common/launch.cuh"

enum {
  COMBINE_THREADS = 256,
  COMBINE_WARPS   = COMBINE_THREADS / HRPB_LANES,
  EXACT_READS     = 4 /* entries of a lane that are on their way together */
};

namespace {
struct CombineArgs {
  const HrpbInt    *rowptr, *colidx;
  const HrpbScalar *values, *B, *partial;
  const CsrLongRow *rows;
  HrpbScalar       *C;
  int64_t           ldb, ldc, ldpartial, N;
  int32_t           nhuge, nrows; /* huge rows, and all */
  int64_t           b_row;
  const HrpbScalar *C0;
  int64_t           ldc0;
};
} // namespace

static __device__ __forceinline__ void Store(const CombineArgs &a, int32_t row, int64_t n, HrpbScalar sum)
{
  a.C[row + n * a.ldc] = a.C0 ? a.C0[row + n * a.ldc0] + sum : sum;
}

/*
   An entry of C in one go, by all lanes of a warp. They read together, and each adds all entries in their order. Once
   the sum is infinite the order does not matter: it stays infinite, unless one of the entries that are left makes it
   NaN
*/
static __device__ __noinline__ HrpbScalar ExactSum(const CombineArgs &a, int32_t row, int64_t n)
{
  const HrpbScalar *b     = a.B + n * a.ldb;
  const HrpbInt     begin = a.rowptr[row], end = a.rowptr[row + 1];
  const int32_t     lane  = threadIdx.x % HRPB_LANES;
  HrpbScalar        sum   = 0;

  for (int64_t first = begin; first < end && !isnan(sum); first += EXACT_READS * HRPB_LANES) {
    HrpbScalar value[EXACT_READS], x[EXACT_READS];

#pragma unroll
    for (int i = 0; i < EXACT_READS; i++) {
      const int64_t at = first + i * HRPB_LANES + lane;

      value[i] = at < end ? a.values[at] : (HrpbScalar)0;
      x[i]     = at < end ? b[(int64_t)a.colidx[at] * a.b_row] : (HrpbScalar)0;
    }
#pragma unroll
    for (int i = 0; i < EXACT_READS; i++) {
      if (isfinite(sum)) {
        for (int k = 0; k < HRPB_LANES; k++) sum = fma(__shfl_sync(HRPB_ALL_LANES, value[i], k), __shfl_sync(HRPB_ALL_LANES, x[i], k), sum);
      } else if (__any_sync(HRPB_ALL_LANES, isnan(fma(value[i], x[i], sum)))) sum = (HrpbScalar)NAN;
    }
  }
  return CsrOneNaN(sum);
}

/* A huge row and a column, by all threads of the thread block */
static __device__ void CombineHuge(const CombineArgs &a, const CsrLongRow &r, int64_t n)
{
  __shared__ HrpbScalar warp_sum[COMBINE_WARPS], warp_lost[COMBINE_WARPS];
  const HrpbScalar     *part = a.partial + r.first + n * a.ldpartial;
  const int32_t         lane = threadIdx.x % HRPB_LANES, warp = threadIdx.x / HRPB_LANES;
  HrpbScalar            sum = 0, lost = 0;

#pragma unroll 4
  for (int32_t k = threadIdx.x; k < r.nparts; k += COMBINE_THREADS) HrpbAddCompensated(part[k], &sum, &lost);
  CsrAddLanes<HRPB_LANES>(&sum, &lost);
  __syncthreads(); /* what the row before left there has been read */
  if (lane == 0) {
    warp_sum[warp]  = sum;
    warp_lost[warp] = lost;
  }
  __syncthreads();
  if (warp > 0) return;
  sum  = lane < COMBINE_WARPS ? warp_sum[lane] : (HrpbScalar)0;
  lost = lane < COMBINE_WARPS ? warp_lost[lane] : (HrpbScalar)0;
  CsrAddLanes<COMBINE_WARPS>(&sum, &lost);
  sum += lost;
  if (!isfinite(__shfl_sync(HRPB_ALL_LANES, sum, 0))) sum = ExactSum(a, r.row, n);
  if (lane == 0) Store(a, r.row, n, sum);
}

/*
   What CsrSumOfParts() computes with as many lanes, to the bit, by one thread: there are many rows, and most have few
   parts
*/
static __device__ __forceinline__ HrpbScalar SumOfParts(int32_t nparts, const HrpbScalar *part)
{
  HrpbScalar sum[CSR_COMBINE_LANES] = {}, lost[CSR_COMBINE_LANES] = {};

#pragma unroll 1
  for (int32_t first = 0; first < nparts; first += CSR_COMBINE_LANES) {
#pragma unroll
    for (int k = 0; k < CSR_COMBINE_LANES; k++) {
      if (first + k < nparts) HrpbAddCompensated(part[first + k], &sum[k], &lost[k]);
    }
  }
#pragma unroll
  for (int distance = CSR_COMBINE_LANES / 2; distance > 0; distance /= 2) {
#pragma unroll
    for (int k = 0; k < distance; k++) {
      HrpbAddCompensated(sum[k + distance], &sum[k], &lost[k]);
      lost[k] += lost[k + distance];
    }
  }
  return sum[0] + lost[0];
}

/* A row for each thread, and a column. Beyond the last row there are rows without parts */
static __device__ void CombineRows(const CombineArgs &a, const CsrLongRow &r, int64_t n)
{
  const int32_t lane = threadIdx.x % HRPB_LANES;
  HrpbScalar    sum  = SumOfParts(r.nparts, a.partial + r.first + n * a.ldpartial);

  for (uint32_t todo = __ballot_sync(HRPB_ALL_LANES, !isfinite(sum)); todo; todo &= todo - 1) {
    const int        from  = __ffs(todo) - 1;
    const HrpbScalar exact = ExactSum(a, __shfl_sync(HRPB_ALL_LANES, r.row, from), n);

    if (lane == from) sum = exact;
  }
  if (r.nparts) Store(a, r.row, n, sum);
}

/*
   Thread blocks with a huge row come first, then those with a row for each thread. Columns are the second dimension of
   the grid
*/
static __global__ void __launch_bounds__(COMBINE_THREADS) CsrCombine(const __grid_constant__ CombineArgs a)
{
  const int64_t row = a.nhuge + ((int64_t)blockIdx.x - a.nhuge) * COMBINE_THREADS + threadIdx.x;

  HrpbWaitForKernelBefore();
  for (int64_t n = blockIdx.y; n < a.N; n += gridDim.y) {
    if (blockIdx.x < a.nhuge) CombineHuge(a, a.rows[blockIdx.x], n);
    else CombineRows(a, row < a.nrows ? a.rows[row] : CsrLongRow{0, 0, 0}, n);
  }
}

HrpbError CsrCombineRun(const CsrProduct *p, bool all)
{
  const int64_t      most = 65535; /* of the second dimension of a grid */
  const CsrSchedule *s = p->schedule;
  const int32_t      nrows = all ? s->nlong : s->ngiant;
  const CombineArgs  a = {p->rowptr, p->colidx, p->values, p->B, p->partial, (const CsrLongRow *)s->long_rows, p->C, p->ldb, p->ldc, s->nparts, p->N, s->nhuge, nrows, p->b_row, p->C0, p->ldc0};

  if (nrows == 0) return HRPB_SUCCESS;
  return LaunchAfter(CsrCombine, dim3(s->nhuge + (nrows - s->nhuge + COMBINE_THREADS - 1) / COMBINE_THREADS, p->N < most ? p->N : most), COMBINE_THREADS, 0, p->stream, a);
}

CsrProduct CsrProductOfAny(const SpmmMatrix *A, const SpmmOperands *o, void *work, cudaStream_t stream)
{
  const bool by_columns = o->X.layout == SPMM_COLUMN_MAJOR, adds = o->update == SPMM_ADD;

  return {A->csr, A->rowptr, A->colidx, A->values, o->X.array, o->Y.array, (HrpbScalar *)work, by_columns ? o->X.ld : 1, o->Y.ld, (int32_t)o->N, stream, by_columns ? 1 : o->X.ld, adds ? o->Y0.array : NULL, adds ? o->Y0.ld : 0};
}

HrpbError CsrProductOf(const SpmmMatrix *A, const SpmmOperands *o, void *work, cudaStream_t stream, CsrProduct *p)
{
  if (!SpmmIsPlain(o)) return HRPB_ERR_UNSUPPORTED;
  *p = CsrProductOfAny(A, o, work, stream);
  return HRPB_SUCCESS;
}
