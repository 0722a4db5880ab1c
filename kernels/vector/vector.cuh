/*
   What the kernels for one vector share: how a row is added up, and where its sum goes.

   Numbers are HrpbScalar, or VectorPair, a complex number, or float in a library of double precision (single.h).
   Kernels are written once for all.
*/
#pragma once

#include <type_traits>

#include "../spmm.h"
#include "../common/device.cuh"
#include "../common/launch.cuh"

enum {
  VECTOR_PART_TURNS = 4 /* entries of a lane of a part that are on their way together */
};

/* A part of a row that is cut. Its sum has the slot of the same number, unless it is the only part of its row */
struct VectorPart {
  HrpbInt begin;
  int32_t length, row;
  bool    whole;
};

/* A row that is cut: its parts are first, first + 1, ... */
struct VectorLongRow {
  int32_t row, first, nparts;
};

/* A complex number, and what is read and written as one */
#if defined(HRPB_USE_SINGLE)
typedef float2 VectorUnit;
#else
typedef double2 VectorUnit;
#endif
struct alignas(2 * sizeof(HrpbScalar)) VectorPair {
  HrpbScalar re, im;
};

/* Values of the matrix that are read as they are, or, of complex ones, as their conjugates */
struct VectorPairValues {
  const VectorPair *at;
  bool              conjugate;

  __device__ VectorPair operator[](int64_t k) const { return {at[k].re, conjugate ? -at[k].im : at[k].im}; }
};

template <typename Number> struct VectorValuesOf {
  typedef const Number *Type;
};

template <> struct VectorValuesOf<VectorPair> {
  typedef VectorPairValues Type;
};

/* A step of a smoother with a diagonal, in place of y0 + A x: y = a y0 + b x + c D (rhs - A x). See SPMM_STEP */
template <typename Number> struct VectorStep {
  bool          is;
  const Number *rhs, *D; /* or NULL */
  Number        a, b, c;
};

/* A product as the kernels get it */
template <typename Number> struct VectorProductWith {
  const HrpbInt       *rowptr, *colidx;
  typename VectorValuesOf<Number>::Type values;
  const Number        *x, *y0; /* y0 is NULL where nothing is added */
  Number              *y, *partial;
  const VectorPart    *parts;
  const VectorLongRow *long_rows;
  const int32_t       *nodes, *order, *bases;
  const uint16_t      *columns; /* that of entry 0 of the CSR; NULL without short columns */
  const VectorBlock   *blocks;
  const uint8_t       *places;
  int32_t              nrows, nnodes, nlong, long_entries;
  int32_t              nparts, nblocks; /* of a launch: thread blocks for parts, and, behind them, for rows */
  bool                 behind;          /* of a launch: thread blocks may be there before the kernel before has ended */
  VectorStep<Number>   step;
};

/* A kernel for one vector: its object for the table */
static constexpr SpmmKernel VectorKernel(const char *name, const char *what, decltype(SpmmKernel::takes) takes,
  decltype(SpmmKernel::work) work, decltype(SpmmKernel::run) run)
{
  return {.name = name, .what = what, .op = SPMM_OP_VECTOR, .format = SPMM_CSR, .takes = takes, .work = work, .run = run};
}

/* csr.cu: a kernel with all parts of rows that are cut */
template <typename Number> HrpbError VectorMultiplyParts(const VectorProductWith<Number> *, cudaStream_t);

/* csr.cu: bytes of workspace, and a product as it was described. HRPB_ERR_UNSUPPORTED for what is not taken */
bool      VectorTakes(const SpmmOperands *);
HrpbError VectorWork(const SpmmMatrix *, const SpmmOperands *, size_t *bytes);
HrpbError VectorPairWork(const SpmmMatrix *, const SpmmOperands *, size_t *bytes);
template <typename Number>
HrpbError VectorProductOf(const SpmmMatrix *, const SpmmOperands *, void *work, VectorProductWith<Number> *, bool conjugate = false);

/* A kernel for single precision, where scalars have another. See single.h */
#if defined(HRPB_USE_SINGLE)
  #define VECTOR_SINGLE_KERNEL(kernel, text, taken, runs)
#else
  #define VECTOR_SINGLE_KERNEL(kernel, text, taken, runs) \
    SPMM_KERNEL(kernel) = VectorKernel(text "-single", "the same in single precision", taken, VectorWork, runs)
#endif

/* A kernel for complex numbers as two objects: with the matrix as it is, and with its conjugate. See real/real.h */
#define VECTOR_PAIRS_KERNELS(kernel, text, description, taken, runs) \
  SPMM_KERNEL(kernel) = \
    VectorKernel(text "-complex", "CSR times one vector of complex numbers, " description, taken, VectorPairWork, runs<false>); \
  SPMM_KERNEL(kernel##Conjugate) = VectorKernel( \
    text "-conjugate", "conjugated CSR times one vector of complex numbers, " description, taken, VectorPairWork, runs<true>)

/* columns.cu */
void VectorDropColumns(VectorPlan *, cudaStream_t);

/* What is read once does not take the place of numbers of x in L1 */
template <typename T> static __device__ __forceinline__ T VectorReadOnce(const T *p)
{
  return __ldcs(p);
}

/* Arithmetic with all kinds of numbers */
template <typename T> static __device__ __forceinline__ T VectorFma(T a, T b, T sum)
{
  return fma(a, b, sum);
}

static __device__ __forceinline__ VectorPair VectorFma(VectorPair a, VectorPair b, VectorPair sum)
{
  return {fma(-a.im, b.im, fma(a.re, b.re, sum.re)), fma(a.im, b.re, fma(a.re, b.im, sum.im))};
}

static __device__ __forceinline__ VectorPair operator+(VectorPair a, VectorPair b)
{
  return {a.re + b.re, a.im + b.im};
}

template <int LANES, typename T> static __device__ __forceinline__ T VectorSumOfLanes(T x)
{
  return HrpbSumOfLanes<LANES>(x);
}

template <int LANES> static __device__ __forceinline__ VectorPair VectorSumOfLanes(VectorPair x)
{
  return {HrpbSumOfLanes<LANES>(x.re), HrpbSumOfLanes<LANES>(x.im)};
}

/* That of the lane whose number differs by the bit distance */
template <typename T> static __device__ __forceinline__ T VectorOfLane(T x, int distance)
{
  return __shfl_xor_sync(HRPB_ALL_LANES, x, distance);
}

static __device__ __forceinline__ VectorPair VectorOfLane(VectorPair x, int distance)
{
  return {VectorOfLane(x.re, distance), VectorOfLane(x.im, distance)};
}

template <typename T> static __device__ __forceinline__ bool VectorIsFinite(T x)
{
  return isfinite(x);
}

static __device__ __forceinline__ bool VectorIsFinite(VectorPair x)
{
  return isfinite(x.re) && isfinite(x.im);
}

template <typename T> static __device__ __forceinline__ bool VectorIsNan(T x)
{
  return isnan(x);
}

static __device__ __forceinline__ bool VectorIsNan(VectorPair x)
{
  return isnan(x.re) && isnan(x.im);
}

/* The same NaN, whatever it was made of */
template <typename T> static __device__ __forceinline__ T VectorOneNan(T x)
{
  return isnan(x) ? (T)NAN : x;
}

static __device__ __forceinline__ VectorPair VectorOneNan(VectorPair x)
{
  return {VectorOneNan(x.re), VectorOneNan(x.im)};
}

/* Reads of whole numbers */
template <typename T> static __device__ __forceinline__ T VectorRead(const T *p)
{
  return __ldg(p);
}

static __device__ __forceinline__ VectorPair VectorRead(const VectorPair *p)
{
  union {
    VectorUnit unit;
    VectorPair pair;
  } number;

  number.unit = __ldg((const VectorUnit *)p);
  return number.pair;
}

static __device__ __forceinline__ VectorPair VectorReadOnce(const VectorPair *p)
{
  union {
    VectorUnit unit;
    VectorPair pair;
  } number;

  number.unit = __ldcs((const VectorUnit *)p);
  return number.pair;
}

static __device__ __forceinline__ VectorPairValues operator+(VectorPairValues values, int64_t n)
{
  return {values.at + n, values.conjugate};
}

static __device__ __forceinline__ VectorPair VectorReadOnce(VectorPairValues values)
{
  const VectorPair value = VectorReadOnce(values.at);

  return {value.re, values.conjugate ? -value.im : value.im};
}

/* What a step makes of the sum of a row. A term whose number is zero is left out */
template <typename T> static __device__ __forceinline__ T VectorStepOf(const VectorProductWith<T> &a, int32_t row, T sum)
{
  const VectorStep<T> &s = a.step;
  T                    y = 0;

  if (s.c != 0) y = s.c * (s.D ? s.D[row] : (T)1) * ((s.rhs ? s.rhs[row] : (T)0) - sum);
  if (s.b != 0) y += s.b * a.x[row];
  if (s.a != 0 && a.y0) y += s.a * a.y0[row];
  return y;
}

/* There is none of complex numbers */
static __device__ __forceinline__ VectorPair VectorStepOf(const VectorProductWith<VectorPair> &, int32_t, VectorPair sum)
{
  return sum;
}

/* Call f with the lanes of a row, a number that the compiler knows */
template <typename F> static HrpbError VectorWithLanes(int32_t lanes, F f)
{
  switch (lanes) {
  case 1:
    return f(std::integral_constant<int, 1>());
  case 2:
    return f(std::integral_constant<int, 2>());
  case 4:
    return f(std::integral_constant<int, 4>());
  case 8:
    return f(std::integral_constant<int, 8>());
  case 16:
    return f(std::integral_constant<int, 16>());
  default:
    return f(std::integral_constant<int, 32>());
  }
}

/*
   By all threads before x is read, or y is written. What is read earlier the kernel before does not write. The next
   kernel may come as soon as all thread blocks are here: it waits as well
*/
template <typename Number> static __device__ __forceinline__ void VectorBegin(const VectorProductWith<Number> &a)
{
  if (!a.behind) return;
  HrpbLetNextKernelCome();
  HrpbWaitForKernelBefore();
}

/*
   A number of x, in its place behind the wait and the reads of the matrix. By __ldg() it might come before the wait.
   The compiler puts other reads where they need more registers
*/
template <typename T> static __device__ __forceinline__ T VectorReadX(const T *p)
{
  T x;

  if constexpr (sizeof(T) == 8) asm volatile("ld.global.f64 %0, [%1];" : "=d"(x) : "l"(p));
  else asm volatile("ld.global.f32 %0, [%1];" : "=f"(x) : "l"(p));
  return x;
}

static __device__ __forceinline__ VectorPair VectorReadX(const VectorPair *p)
{
  const VectorUnit unit = *(const VectorUnit *)p;

  return {unit.x, unit.y};
}

/*
   What lane adds of a row, of LANES lanes. TURNS entries are on their way together. Lanes that have fewer read the last
   one of the row again: with a condition on each read the compiler waits for one before it issues the next
*/
template <int LANES, int TURNS, typename Column, typename Values, typename Number>
static __device__ __forceinline__ Number VectorSumOfLane(const Column *colidx, Values values, int32_t length, const Number *x, int32_t lane)
{
  Number sum = {};

#pragma unroll 1
  for (int32_t first = lane; first < length; first += LANES * TURNS) {
    int32_t    col[TURNS];
    Number     value[TURNS], b[TURNS];
    const auto At = [&](int i) { return (uint32_t)(i == 0 ? first : min(first + i * LANES, length - 1)); };

#pragma unroll
    for (int i = 0; i < TURNS; i++) col[i] = (int32_t)VectorReadOnce(colidx + At(i));
#pragma unroll
    for (int i = 0; i < TURNS; i++) value[i] = VectorReadOnce(values + At(i));
#pragma unroll
    for (int i = 0; i < TURNS; i++) b[i] = VectorReadX(x + col[i]);
#pragma unroll
    for (int i = 0; i < TURNS; i++) {
      if (i == 0 || first + i * LANES < length) sum = VectorFma(value[i], b[i], sum);
    }
  }
  return sum;
}

/*
   y of a row, by one thread. Where the sum is not finite, one of lanes may have overflowed where the entries one by one
   do not, and which NaN it is depends on the order
*/
template <typename Number> static __device__ __forceinline__ void VectorStore(const VectorProductWith<Number> &a, int32_t row, Number sum)
{
  if (!VectorIsFinite(sum)) {
    const HrpbInt end = a.rowptr[row + 1];

    sum = {};
#pragma unroll 1
    for (HrpbInt k = a.rowptr[row]; k < end && !VectorIsNan(sum); k++) sum = VectorFma(a.values[k], a.x[a.colidx[k]], sum);
    sum = VectorOneNan(sum);
  }
  a.y[row] = a.step.is ? VectorStepOf(a, row, sum) : a.y0 ? a.y0[row] + sum : sum;
}

/* A part of a row that is cut, by all threads of the thread block */
template <typename Number> static __device__ __forceinline__ void VectorMultiplyPart(const VectorProductWith<Number> &a, int32_t i)
{
  enum {
    WARPS = VECTOR_THREADS / HRPB_LANES
  };
  __shared__ Number warp_sum[WARPS];
  constexpr int     TURNS = VECTOR_PART_TURNS;
  const VectorPart  p     = a.parts[i];
  Number            sum   = VectorSumOfLane<VECTOR_THREADS, TURNS>(a.colidx + p.begin, a.values + p.begin, p.length, a.x, threadIdx.x);

  sum = VectorSumOfLanes<HRPB_LANES>(sum);
  if (threadIdx.x % HRPB_LANES == 0) warp_sum[threadIdx.x / HRPB_LANES] = sum;
  __syncthreads();
  if (threadIdx.x > 0) return;
  sum = {};
  for (int w = 0; w < WARPS; w++) sum = sum + warp_sum[w];
  if (p.whole) VectorStore(a, p.row, sum);
  else a.partial[i] = sum;
}

/* A row that was cut, from the sums of its parts. Few rows have many */
template <typename Number> static __device__ __forceinline__ void VectorCombineParts(const VectorProductWith<Number> &a, int64_t i)
{
  if (i >= a.nlong) return;

  const VectorLongRow r   = a.long_rows[i];
  Number              sum = {};

  if (r.nparts == 1) return;
#pragma unroll 8
  for (int32_t k = 0; k < r.nparts; k++) sum = sum + a.partial[r.first + k];
  VectorStore(a, r.row, sum);
}

/*
   Whether a thread block, counted from the first that has rows, has none: it is given a part, or rows that were cut.
   These come last, and wait for the kernel that has their parts
*/
template <typename Number> static __device__ __forceinline__ bool VectorHasLongRows(const VectorProductWith<Number> &a, int32_t block)
{
  if (block >= 0 && block < a.nblocks) return false;
  if (block < 0) {
    VectorBegin(a);
    VectorMultiplyPart(a, blockIdx.x);
  } else {
    HrpbWaitForKernelBefore();
    VectorCombineParts(a, (int64_t)(block - a.nblocks) * VECTOR_THREADS + threadIdx.x);
  }
  return true;
}

/*
   Launch a kernel with so many thread blocks for rows, which calls VectorHasLongRows() and, for rows, VectorBegin().
   Where a row has several parts, a kernel with all parts goes ahead, and they are added up when they are long done
*/
template <typename Number, typename... More>
static HrpbError VectorLaunch(void (*kernel)(VectorProductWith<Number>, More...), VectorProductWith<Number> *p, int64_t nblocks,
  cudaStream_t stream, const More &...more)
{
  const bool     apart   = p->nparts > p->nlong;
  const unsigned combine = apart ? HrpbGrid(p->nlong, VECTOR_THREADS) : 0;

  if (apart) {
    HrpbCall(VectorMultiplyParts(p, stream));
    p->nparts = 0;
    p->behind = false; /* rows do not wait for parts */
  }
  p->nblocks = (int32_t)nblocks;
  return LaunchAs(!apart && !p->behind, kernel, dim3((unsigned)(p->nparts + p->nblocks) + combine), VECTOR_THREADS, 0, stream, *p, more...);
}
