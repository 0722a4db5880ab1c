/*
   CSR times one vector, with a few lanes of a warp for each row. A thread block has each part of a row that is cut.
*/
#include "vector.cuh"

enum {
  MOST_LANES_OF_8 = 4 /* more lanes do not have eight entries on their way, but four */
};

/*
   As many thread blocks on a multiprocessor as leave each registers for its reads. Without that number the compiler
   takes few registers, and has reads wait for each other
*/
static __host__ __device__ constexpr int BlocksOf(int turns, bool is_short, size_t number = sizeof(HrpbScalar))
{
  if (number == 16) return turns == 2 ? 6 : 4;
  if (turns == 2) return 8;
  if (number == 8) return turns == 4 ? 6 : 4;
  return turns == 4 ? (is_short ? 8 : 6) : (is_short ? 6 : 5);
}

template <int LANES, int TURNS, bool SHORT, typename Number>
static __global__ void __launch_bounds__(VECTOR_THREADS, BlocksOf(TURNS, SHORT, sizeof(Number)))
  VectorCsr(const __grid_constant__ VectorProductWith<Number> a)
{
  const uint32_t row  = (blockIdx.x - a.nparts) * (VECTOR_THREADS / LANES) + threadIdx.x / LANES;
  const int32_t  lane = threadIdx.x % LANES;

  if (VectorHasLongRows(a, (int32_t)blockIdx.x - a.nparts)) return;

  const HrpbInt begin  = row < a.nrows ? __ldg(a.rowptr + row) : 0;
  const int32_t length = row < a.nrows ? (int32_t)(__ldg(a.rowptr + row + 1) - begin) : 0;
  const bool    whole  = length <= a.long_entries;
  const int32_t base   = SHORT && row < a.nrows ? __ldg(a.bases + row / VECTOR_GROUP) : -1;
  Number        sum;

  VectorBegin(a);
  if (SHORT && base >= 0) sum = VectorSumOfLane<LANES, TURNS>(a.columns + begin, a.values + begin, whole ? length : 0, a.x + base, lane);
  else sum = VectorSumOfLane<LANES, TURNS>(a.colidx + begin, a.values + begin, whole ? length : 0, a.x, lane);
  sum = VectorSumOfLanes<LANES>(sum);
  if (row < a.nrows && whole && lane == 0) VectorStore(a, (int32_t)row, sum);
}

template <typename Number>
static __global__ void __launch_bounds__(VECTOR_THREADS, BlocksOf(VECTOR_PART_TURNS, false, sizeof(Number)))
  MultiplyParts(const __grid_constant__ VectorProductWith<Number> a)
{
  HrpbLetNextKernelCome();
  VectorMultiplyPart(a, blockIdx.x);
}

template <typename Number> HrpbError VectorMultiplyParts(const VectorProductWith<Number> *p, cudaStream_t stream)
{
  HrpbCall(HrpbLaunch(MultiplyParts<Number>, p->nparts, VECTOR_THREADS, 0, stream, *p));
  return HRPB_SUCCESS;
}

/* Column-major, and a step has no blocks along its diagonal */
bool VectorTakes(const SpmmOperands *o)
{
  if (o->N != 1 || o->X.layout != SPMM_COLUMN_MAJOR || o->Y.layout != SPMM_COLUMN_MAJOR) return false;
  if (o->update == SPMM_ASSIGN) return true;
  if (o->Y0.array && o->Y0.layout != SPMM_COLUMN_MAJOR) return false;
  if (o->update == SPMM_ADD) return true;
  return o->update == SPMM_STEP && (!o->B.array || o->B.layout == SPMM_COLUMN_MAJOR) && (!o->D || o->dblock == 1);
}

HrpbError VectorWork(const SpmmMatrix *A, const SpmmOperands *, size_t *bytes)
{
  *bytes = A->vector->nparts > A->vector->nlong ? sizeof(HrpbScalar) * (size_t)A->vector->nparts : 0;
  return HRPB_SUCCESS;
}

HrpbError VectorPairWork(const SpmmMatrix *A, const SpmmOperands *o, size_t *bytes)
{
  const HrpbError err = VectorWork(A, o, bytes);

  *bytes *= 2;
  return err;
}

template <typename Number> static void SetValues(const HrpbScalar *values, bool, const Number **to)
{
  *to = (const Number *)values;
}

static void SetValues(const HrpbScalar *values, bool conjugate, VectorPairValues *to)
{
  *to = {(const VectorPair *)values, conjugate};
}

template <typename Number>
HrpbError VectorProductOf(const SpmmMatrix *A, const SpmmOperands *o, void *work, VectorProductWith<Number> *p, bool conjugate)
{
  const VectorPlan                     *v    = A->vector;
  const bool                            step = o->update == SPMM_STEP;
  typename VectorValuesOf<Number>::Type values;

  if (!VectorTakes(o)) return HRPB_ERR_UNSUPPORTED;
  SetValues(A->values, conjugate, &values);
  *p = {A->rowptr, A->colidx, values, (const Number *)o->X.array, o->update == SPMM_ASSIGN ? NULL : (const Number *)o->Y0.array,
    (Number *)o->Y.array, (Number *)work, (const VectorPart *)v->parts, (const VectorLongRow *)v->long_rows, (const int32_t *)v->nodes,
    (const int32_t *)v->order, (const int32_t *)v->bases, v->columns ? (const uint16_t *)v->columns - v->first : NULL,
    (const VectorBlock *)v->blocks, (const uint8_t *)v->places, v->nrows, v->nnodes, v->nlong, v->long_entries, v->nparts, 0, o->behind, {}};
  if constexpr (std::is_floating_point<Number>::value) {
    if (step) p->step = {true, (const Number *)o->B.array, (const Number *)o->D, (Number)o->a, (Number)o->b, (Number)o->c};
  } else if (step) return HRPB_ERR_UNSUPPORTED;
  return HRPB_SUCCESS;
}

#define INSTANTIATE(Number) \
  template HrpbError VectorMultiplyParts(const VectorProductWith<Number> *, cudaStream_t); \
  template HrpbError VectorProductOf(const SpmmMatrix *, const SpmmOperands *, void *, VectorProductWith<Number> *, bool)
INSTANTIATE(HrpbScalar);
INSTANTIATE(VectorPair);
#if !defined(HRPB_USE_SINGLE)
INSTANTIATE(float);
#endif

template <int LANES, bool SHORT, typename Number> static HrpbError Launch(VectorProductWith<Number> *p, int32_t turns, cudaStream_t stream)
{
  auto kernel = turns == 2 ? VectorCsr<LANES, 2, SHORT, Number> : VectorCsr<LANES, 4, SHORT, Number>;

  if constexpr (LANES <= MOST_LANES_OF_8 && sizeof(Number) <= sizeof(HrpbScalar)) {
    if (turns == 8) kernel = VectorCsr<LANES, 8, SHORT, Number>;
  }

  return VectorLaunch(kernel, p, HrpbGrid(p->nrows, VECTOR_THREADS / LANES), stream);
}

template <bool SHORT, typename Number = HrpbScalar, bool CONJUGATE = false>
static HrpbError Run(const SpmmMatrix *A, const SpmmOperands *o, void *work, HrpbStream stream)
{
  const int32_t             turns = A->vector->turns;
  VectorProductWith<Number> p;

  HrpbCall(VectorProductOf(A, o, work, &p, CONJUGATE));
  return VectorWithLanes(A->vector->lanes, [&](auto lanes) { return Launch<decltype(lanes)::value, SHORT>(&p, turns, stream); });
}

static bool Takes(const SpmmFacts *facts, const HrpbParams *, const SpmmOperands *o, const SpmmDevice *)
{
  return !facts->bins && VectorTakes(o);
}

static bool TakesShort(const SpmmFacts *facts, const HrpbParams *, const SpmmOperands *o, const SpmmDevice *)
{
  return facts->short_columns && VectorTakes(o);
}

SPMM_KERNEL(SpmmVectorCsr) =
  VectorKernel("vector-csr", "CSR times one vector, a few lanes for each row", Takes, VectorWork, Run<false>);

SPMM_KERNEL(SpmmVectorCsr16) =
  VectorKernel("vector-csr16", "CSR times one vector, columns of 16 bits", TakesShort, VectorWork, Run<true>);

template <bool SHORT> static HrpbError RunSingle(const SpmmMatrix *A, const SpmmOperands *o, void *work, HrpbStream stream)
{
  return Run<SHORT, float>(A, o, work, stream);
}

VECTOR_SINGLE_KERNEL(SpmmVectorCsrSingle, "vector-csr", Takes, RunSingle<false>);
VECTOR_SINGLE_KERNEL(SpmmVectorCsr16Single, "vector-csr16", TakesShort, RunSingle<true>);

template <bool CONJUGATE> static HrpbError RunPairs(const SpmmMatrix *A, const SpmmOperands *o, void *work, HrpbStream stream)
{
  return A->vector->columns ? Run<true, VectorPair, CONJUGATE>(A, o, work, stream) : Run<false, VectorPair, CONJUGATE>(A, o, work, stream);
}

VECTOR_PAIRS_KERNELS(SpmmVectorCsrPairs, "vector-csr", "a few lanes for each row", Takes, RunPairs);
