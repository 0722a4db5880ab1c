/*
   CSR times rows of B that a thread block has brought into shared memory. It suits rows of one or two dozen entries
   whose columns run with the rows, as in a 27-point stencil: there an entry of B is wanted many times.

   A thread has a row of A, with its entries in registers for all columns of B (staged.cuh).
*/
#include <math.h>

#include "staged.cuh"

enum {
  COLUMN_AT_MOST = CSR_STAGED_BYTES / 2 / CSR_STAGED_COLUMNS
};

namespace {
struct StagedArgs {
  PanelA            a;
  PanelB            b;
  const HrpbInt    *colidx;
  const HrpbScalar *values;
  HrpbScalar       *C;
  int64_t           ldc;
};
} // namespace

#if HAVE_COPY_ENGINE
/*
   Compute again the columns of a tile from n0 on, of a row whose sums are not all finite: a chunk may have overflowed
*/
static __device__ __noinline__ void MultiplyAgain(const StagedArgs &args, int32_t row, HrpbInt begin, int32_t length, int32_t n0)
{
  for (int32_t n = n0; n < min(n0 + CSR_STAGED_COLUMNS, args.b.N); n++) {
    HrpbScalar *c = args.C + row + n * args.ldc;

    if (!isfinite(*c)) *c = CsrInOneGo(args.colidx + begin, args.values + begin, length, args.b.B + n * args.b.ldb, 1);
  }
}

/* The consumers, all warps but one */
template <typename Shape> static __device__ __forceinline__ void Consume(const StagedArgs &args, const Ring &ring)
{
  const PanelA &a     = args.a;
  const PanelB &b     = args.b;
  const HrpbInt start = __ldg(a.rowptr);
  RingPlace     at;
  uint32_t      first_scalar[Shape::SHIFTS];

  FirstColumns<Shape>(b, ring, first_scalar);
  for (int32_t panel = blockIdx.x; panel < b.npanels; panel += gridDim.x) {
    const PanelRow    r      = RowOfThread(a, panel, start);
    const uint16_t   *places = a.places + (r.begin - start);
    const HrpbScalar *values = args.values + r.begin;
    HrpbScalar        value[CSR_STAGED_ENTRIES];
    uint32_t          place[CSR_STAGED_ENTRIES]; /* then in bytes */

    asm("" : "+l"(places), "+l"(values)); /* or the compiler computes each address by itself */
#pragma unroll
    for (int k = 0; k < CSR_STAGED_ENTRIES; k++) {
      place[k] = k < r.length ? __ldg(places + k) : (Shape::COLUMN_BYTES - ZERO_BYTES) / (uint32_t)sizeof(HrpbScalar);
      value[k] = k < r.length ? __ldg(values + k) : 0;
    }
#pragma unroll
    for (int k = 0; k < CSR_STAGED_ENTRIES; k++) place[k] *= (uint32_t)sizeof(HrpbScalar);
    for (int32_t n0 = 0; n0 < b.N; n0 += CSR_STAGED_COLUMNS) {
      uint32_t   column[Shape::SHIFTS];
      HrpbScalar sum[CSR_STAGED_COLUMNS] = {};
      bool       finite = true;

#pragma unroll
      for (int c = 0; c < Shape::SHIFTS; c++) column[c] = first_scalar[c] + at.stage * Shape::STAGE_BYTES;
      RingWaitFull(ring, at);
#pragma unroll
      for (int first = 0; first < CSR_STAGED_ENTRIES; first += CSR_CHUNK) {
        HrpbScalar part[CSR_STAGED_COLUMNS] = {};

        if (first >= r.longest) break;
#pragma unroll
        for (int k = first; k < first + CSR_CHUNK && k < CSR_STAGED_ENTRIES; k++) {
#pragma unroll
          for (int c = 0; c < CSR_STAGED_COLUMNS; c++) part[c] = fma(value[k], ReadShared(column[c % Shape::SHIFTS] + place[k] + c * Shape::COLUMN_BYTES), part[c]);
        }
#pragma unroll
        for (int c = 0; c < CSR_STAGED_COLUMNS; c++) sum[c] += part[c];
      }
      RingLeave(ring, at);
      at.Next(Shape::STAGES);
      if (!r.in) continue;
#pragma unroll
      for (int c = 0; c < CSR_STAGED_COLUMNS; c++) {
        if (n0 + c < b.N) {
          args.C[r.row + (n0 + c) * args.ldc] = sum[c];
          finite = finite && isfinite(sum[c]);
        }
      }
      if (!finite) MultiplyAgain(args, r.row, r.begin, r.length, n0);
    }
  }
}
#endif

template <typename Shape> static __global__ void __launch_bounds__(PANEL_THREADS, 1) CsrStaged(const __grid_constant__ StagedArgs args)
{
#if HAVE_COPY_ENGINE
  RunPanels<Shape>(args.b, [&](const Ring &ring) { Consume<Shape>(args, ring); });
#else
  __trap(); /* there are no panels: CsrStagedSupports() */
#endif
}

HrpbError CsrStagedSupports(bool *supports)
{
  const SpmmDevice *device;

  *supports = false;
  HrpbCall(SpmmGetDevice(&device));
  *supports = device->code >= 90 && RoomForStages(device, 1) >= CSR_STAGED_BYTES;
  return HRPB_SUCCESS;
}

static bool Takes(const SpmmFacts *facts, const HrpbParams *, const SpmmOperands *o, const SpmmDevice *)
{
  return SpmmIsPlain(o) && facts->panel_rows && !facts->panels_sampled;
}

/* A multiprocessor has a panel at a time. The last turn of panels may keep few multiprocessors busy */
static double Seconds(const SpmmFacts *facts, const HrpbParams *, HrpbPrecision, int64_t N, const SpmmDevice *device)
{
  const SpmmCsrTimes *t      = &device->model->csr;
  const double        panels = (double)facts->nrows / facts->panel_rows, turns = ceil(panels / device->nsm);

  return 1e-12 * (t->launch + (t->staged_entry + t->staged * (double)N) * (double)facts->nnz * turns * device->nsm / panels + t->dense * (double)N * (double)facts->nrows);
}

static HrpbError RunProduct(const SpmmMatrix *A, const SpmmOperands *o, void *work, HrpbStream stream)
{
  const SpmmDevice *device;
  CsrProduct        p;
  StagedArgs        args;

  HrpbCall(SpmmGetDevice(&device));
  HrpbCall(CsrProductOf(A, o, work, stream, &p));
  args = {PanelAOf(A), PanelBOf(A->csr, p.N, p.B, p.ldb), p.colidx, p.values, p.C, p.ldc};
  return LaunchWithShape<COLUMN_AT_MOST>(A->csr, p.ldb, [&](auto shape) {
    typedef decltype(shape) Shape;

    return LaunchRing(CsrStaged<Shape>, RingGrid(device, args.b.npanels, 1), PANEL_THREADS, Shape::STAGES * Shape::STAGE_BYTES, p.stream, args);
  });
}

SPMM_KERNEL(SpmmCsrStaged) = {
  .name    = "csr-staged",
  .what    = "CSR times rows of B in shared memory: for rows of up to 28 entries whose columns run with them",
  .op      = SPMM_OP_PRODUCT,
  .format  = SPMM_CSR,
  .takes   = Takes,
  .seconds = Seconds,
  .run     = RunProduct
};
