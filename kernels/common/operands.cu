/*
   All operands with all kernels: a plain product into the workspace, then one pass that finishes it. The last entry of
   each format in the table.
*/
#include <algorithm>

#include "launch.cuh"
#include "operands.h"

enum {
  SIDE    = 32, /* rows and columns of a tile, */
  THREADS = 256 /* and threads that go through it, neighbours along what is contiguous in Y */
};

namespace {
struct FinishArgs {
  SpmmFinish  f;
  HrpbScalar *Y;
  int64_t     row, column, nrows, N;
};

/* A plain product in the workspace: its own, then A X, then X column-major where it is not */
struct General {
  const SpmmKernel *kernel;
  SpmmOperands      plain;
  size_t            kernel_bytes, ax, x; /* bytes, and scalars */
};
} // namespace

static __global__ void __launch_bounds__(THREADS) Finish(const __grid_constant__ FinishArgs a)
{
  for (int64_t n0 = (int64_t)blockIdx.y * SIDE; n0 < a.N; n0 += (int64_t)gridDim.y * SIDE) {
    for (int e = threadIdx.x; e < SIDE * SIDE; e += THREADS) {
      const int64_t i = (int64_t)blockIdx.x * SIDE + (a.row == 1 ? e % SIDE : e / SIDE), n = n0 + (a.row == 1 ? e / SIDE : e % SIDE);

      if (i < a.nrows && n < a.N) a.Y[i * a.row + n * a.column] = SpmmFinished(&a.f, i, n);
    }
  }
}

/* to [nrows x N], column-major, is from, which is row-major */
static __global__ void __launch_bounds__(THREADS) ToColumns(const HrpbScalar *from, int64_t ldfrom, HrpbScalar *to, int64_t ldto, int64_t nrows, int64_t N)
{
  __shared__ HrpbScalar tile[SIDE][SIDE + 1];
  const int64_t         i0 = (int64_t)blockIdx.x * SIDE;

  for (int64_t n0 = (int64_t)blockIdx.y * SIDE; n0 < N; n0 += (int64_t)gridDim.y * SIDE) {
    for (int e = threadIdx.x; e < SIDE * SIDE; e += THREADS) {
      const int i = e / SIDE, n = e % SIDE;

      if (i0 + i < nrows && n0 + n < N) tile[n][i] = from[(i0 + i) * ldfrom + n0 + n];
    }
    __syncthreads();
    for (int e = threadIdx.x; e < SIDE * SIDE; e += THREADS) {
      const int i = e % SIDE, n = e / SIDE;

      if (i0 + i < nrows && n0 + n < N) to[i0 + i + (n0 + n) * ldto] = tile[n][i];
    }
    __syncthreads();
  }
}

static dim3 Tiles(int64_t nrows, int64_t N)
{
  return dim3(HrpbGrid(nrows, SIDE), HrpbGrid(N, SIDE, 65535));
}

/* Whole units of 16 bytes, so that all columns are aligned alike */
static int64_t LeadingDimension(int64_t nrows)
{
  const int64_t unit = 16 / sizeof(HrpbScalar);

  return (std::max(nrows, (int64_t)1) + unit - 1) / unit * unit;
}

static HrpbError GeneralOf(SpmmFormat format, const SpmmMatrix *A, const SpmmOperands *o, General *g)
{
  const int64_t     unit  = 256 / sizeof(HrpbScalar), ldx = LeadingDimension(A->ncols), ldax = LeadingDimension(A->nrows);
  const SpmmFacts   facts = SpmmFactsOf(A);
  const SpmmDevice *device;

  HrpbCall(SpmmGetDevice(&device));
  g->plain  = SpmmPlain(o->N, o->X.array, o->X.layout == SPMM_COLUMN_MAJOR ? o->X.ld : ldx, NULL, ldax);
  g->kernel = SpmmChooseKernel(SPMM_OP_PRODUCT, format, false, &facts, A->hrpb ? &A->hrpb->params : NULL, &g->plain, device);
  if (!g->kernel) return HRPB_ERR_UNSUPPORTED;
  HrpbCall(SpmmWork(g->kernel, A, &g->plain, &g->kernel_bytes));
  g->kernel_bytes = (size_t)HrpbWholeUnits(g->kernel_bytes);
  g->ax           = (size_t)((ldax * o->N + unit - 1) / unit * unit);
  g->x            = o->X.layout == SPMM_COLUMN_MAJOR ? 0 : (size_t)(ldx * o->N);
  return HRPB_SUCCESS;
}

static HrpbError GeneralWork(SpmmFormat format, const SpmmMatrix *A, const SpmmOperands *o, size_t *bytes)
{
  General g;

  HrpbCall(GeneralOf(format, A, o, &g));
  *bytes = g.kernel_bytes + sizeof(HrpbScalar) * (g.ax + g.x);
  return HRPB_SUCCESS;
}

static HrpbError GeneralRun(SpmmFormat format, const SpmmMatrix *A, const SpmmOperands *o, void *work, cudaStream_t stream)
{
  General     g;
  HrpbScalar *ax, *x;
  FinishArgs  a;
  SpmmView    y;

  HrpbCall(GeneralOf(format, A, o, &g));
  ax              = (HrpbScalar *)((uint8_t *)work + g.kernel_bytes);
  x               = ax + g.ax;
  g.plain.Y.array = ax;
  if (g.x) {
    HrpbCall(HrpbLaunch(ToColumns, Tiles(A->ncols, o->N), THREADS, 0, stream, o->X.array, o->X.ld, x, g.plain.X.ld, A->ncols, o->N));
    g.plain.X.array = x;
  }
  HrpbCall(SpmmRun(g.kernel, A, &g.plain, work, stream));
  y = SpmmViewOf(o->Y.array, o->Y.ld, o->Y.layout);
  a = {SpmmFinishOf(o, ax, g.plain.Y.ld), o->Y.array, y.row, y.column, A->nrows, o->N};
  HrpbCall(HrpbLaunch(Finish, Tiles(A->nrows, o->N), THREADS, 0, stream, a));
  return HRPB_SUCCESS;
}

/* It must not choose itself for the plain product */
static bool Takes(const SpmmFacts *, const HrpbParams *, const SpmmOperands *o, const SpmmDevice *)
{
  return !SpmmIsPlain(o);
}

template <SpmmFormat FORMAT> static HrpbError Work(const SpmmMatrix *A, const SpmmOperands *o, size_t *bytes)
{
  return GeneralWork(FORMAT, A, o, bytes);
}

template <SpmmFormat FORMAT> static HrpbError Run(const SpmmMatrix *A, const SpmmOperands *o, void *work, HrpbStream stream)
{
  return GeneralRun(FORMAT, A, o, work, stream);
}

SPMM_KERNEL(SpmmBricksGeneral) = {
  .name   = "bricks-general",
  .what   = "another kernel for bricks, then a pass over Y: for updates and row-major operands",
  .op     = SPMM_OP_PRODUCT,
  .format = SPMM_BRICKS,
  .takes  = Takes,
  .work   = Work<SPMM_BRICKS>,
  .run    = Run<SPMM_BRICKS>
};

SPMM_KERNEL(SpmmCsrGeneral) = {
  .name   = "csr-general",
  .what   = "another kernel for CSR, then a pass over Y: for updates and row-major operands",
  .op     = SPMM_OP_PRODUCT,
  .format = SPMM_CSR,
  .takes  = Takes,
  .work   = Work<SPMM_CSR>,
  .run    = Run<SPMM_CSR>
};
