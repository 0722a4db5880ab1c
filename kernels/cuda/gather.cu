/*
   Bricks times a row-major copy of B, read where the bricks say: a warp for each strip, nothing staged. For matrices whose columns are scattered, for devices
   before Hopper, and for whatever the staged kernel cannot take.
*/
#include "launch.cuh"
#include "rowmajor.cuh"

enum {
  GATHER_WARPS = 4
};

template <typename Scalar> struct GatherArgs {
  Format<Scalar>    f;
  DenseArgs<Scalar> d;
  const Scalar     *R;   /* row-major copy of B, */
  int32_t           ldr; /* its leading dimension a multiple of 16, zeros beyond B */
  bool              direct; /* a panel is one strip, and windows are columns: those of a brick are the next four */
};

template <typename Scalar> struct alignas(2 * sizeof(Scalar)) ScalarPair {
  Scalar x, y;
};

/*
   P    precision
   BM   rows of a brick
   NT   tiles of 16 columns that a warp multiplies: two at most, for many warps hide latency better than many columns
   U    bricks whose rows of B are in flight together
   CTAS thread blocks on a multiprocessor, at least
*/
template <int P, int BM, int NT, int U, int CTAS> __global__ void __launch_bounds__(GATHER_WARPS * 32, CTAS) Gather(const __grid_constant__ GatherArgs<typename Mma<P>::Scalar> a)
{
  typedef typename Mma<P>::Scalar Scalar;
  constexpr int         SUMS = BM / 2;
  const Format<Scalar> &f    = a.f;
  const uint32_t        lane = threadIdx.x % 32, g = lane / 4, k = lane % 4;
  const int64_t         w    = (int64_t)blockIdx.x * GATHER_WARPS + threadIdx.x / 32;
  const uint32_t        strip = (uint32_t)(w % f.strips), tw = f.window_cols;
  const int64_t         at    = w / f.strips;
  const int32_t         n0    = blockIdx.y * 16 * NT;
  const int32_t         tiles = (a.ldr - n0) / 16; /* that there are of the NT */
  const Scalar         *r     = a.R + n0 + 2 * g;
  Scalar                sum[NT][SUMS] = {};

  if (at >= f.nitems) return;
  const WorkItem item = GetItem(f, at);

  for (uint32_t block = item.begin; block < item.end; block++) {
    const PackedBlock<BM> p(f.pattern + (size_t)f.pattern_ptr[block] * HRPB_PATTERN_UNIT);
    const Scalar         *values   = f.values + (size_t)f.value_ptr[block] * HRPB_VALUE_UNIT;
    const uint32_t        first    = f.window_ptr[block], nwindows = f.window_ptr[block + 1] - first;
    const int32_t        *windows  = f.windows + first;
    const uint32_t        last     = p.StripStart(strip + 1);

#pragma unroll 1
    for (uint32_t brick = p.StripStart(strip); brick < last; brick += U) {
      Scalar slots[U][BM / 8], x[U][NT][2];
      const Scalar *row[U];

#pragma unroll
      for (int u = 0; u < U; u++) {
        const bool     in  = brick + u < last;
        const uint32_t now = in ? brick + u : brick;

        p.Decode(now, in, values, lane, slots[u]);
        if (a.direct) row[u] = r + (int64_t)windows[min(HRPB_BRICK_COLS * now + k, nwindows - 1)] * a.ldr;
        else {
          const uint32_t column = p.Column(now, k);

          row[u] = r + ((int64_t)windows[column / tw] * tw + column % tw) * a.ldr;
        }
      }
#pragma unroll
      for (int u = 0; u < U; u++) {
#pragma unroll
        for (int t = 0; t < NT; t++) {
          if (t >= tiles) continue;
          const ScalarPair<Scalar> pair = *(const ScalarPair<Scalar> *)(row[u] + 16 * t);

          x[u][t][0] = pair.x;
          x[u][t][1] = pair.y;
        }
      }
#pragma unroll
      for (int u = 0; u < U; u += Mma<P>::BRICKS) {
        Bricks<P, BM> bricks;

        bricks.Set(slots[u], slots[u + Mma<P>::BRICKS - 1]);
#pragma unroll
        for (int t = 0; t < NT; t++) {
          Scalar y[Mma<P>::BRICKS][2];

          if (t >= tiles) continue;
#pragma unroll
          for (int v = 0; v < Mma<P>::BRICKS; v++) {
            y[v][0] = x[u + v][t][0];
            y[v][1] = x[u + v][t][1];
          }
          Step<P>(sum[t], bricks, y);
        }
      }
    }
  }
  StoreSums<BM, NT, true>(f, a.d, item, strip, lane, sum, n0);
}

static int32_t LeadingDimension(int32_t N)
{
  return (N + 15) / 16 * 16;
}

size_t GatherWork(const Product *p)
{
  return sizeof(HrpbScalar) * (size_t)p->h->ncols * (size_t)LeadingDimension(p->N);
}

template <int P, int BM, int NT, int U, int CTAS> static HrpbError Launch(const Product *p, const GatherArgs<HrpbScalar> *a)
{
  const int64_t nwarps = (int64_t)a->f.nitems * a->f.strips;

  Gather<P, BM, NT, U, CTAS><<<dim3(HrpbGrid(nwarps, GATHER_WARPS), (a->ldr + 16 * NT - 1) / (16 * NT)), GATHER_WARPS * 32, 0, p->stream>>>(*a);
  HrpbCallCuda(cudaGetLastError());
  return HRPB_SUCCESS;
}

template <int P> static HrpbError Run(const Product *p, const GatherArgs<HrpbScalar> *a)
{
  if (p->h->params.brick_rows == 16) return a->ldr <= 16 ? Launch<P, 16, 1, 4, 1>(p, a) : Launch<P, 16, 2, 4, 1>(p, a);
  return a->ldr <= 16 ? Launch<P, 8, 1, 4, 8>(p, a) : Launch<P, 8, 2, 2, 7>(p, a);
}

HrpbError GatherRun(const Product *p, const DeviceInfo *, void *work)
{
  const HrpbParams      *params = &p->h->params;
  GatherArgs<HrpbScalar> a;

  a.f      = FormatOf(p->h, p->schedule, p->values);
  a.d      = DenseArgsOf(p);
  a.R      = (const HrpbScalar *)work;
  a.ldr    = LeadingDimension(p->N);
  a.direct = params->panel_rows == params->brick_rows && params->window_cols == 1;
  HrpbCall(RowMajor(p->B, p->ldb, p->h->ncols, p->N, (HrpbScalar *)work, p->h->ncols, a.ldr, p->stream));
#if defined(HRPB_USE_SINGLE)
  return p->precision == HRPB_TF32 ? Run<HRPB_TF32>(p, &a) : Run<HRPB_3XTF32>(p, &a);
#else
  return Run<HRPB_FP64>(p, &a);
#endif
}
