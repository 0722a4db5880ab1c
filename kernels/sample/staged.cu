/*
   Sampled products with CSR and rows of the right operand in shared memory. It suits rows of one or two dozen entries
   whose columns run with the rows, as in a stencil: there a row of the right operand is wanted many times.

   A thread has a row of A, with the sums of all its entries in registers. It goes down the columns of the operands: one
   number of the left operand, and one of shared memory for each entry (../csr/staged.cuh). The sums are stored by lanes
   that exchange them through shared memory first, because what neighbouring threads have lies rows apart.
*/
#include "../csr/staged.cuh"
#include "sample.cuh"

enum {
  STORED      = 8,                                             /* entries of a row that are stored together */
  STORE_PITCH = (STORED + 1) * sizeof(HrpbScalar),             /* from a row to the next: in other banks */
  STORE_BYTES = CSR_PANEL_ROWS * STORE_PITCH,                  /* of shared memory, behind the stages */
  LONGEST     = (CSR_STAGED_BYTES - STORE_BYTES) / 2 / CSR_STAGED_COLUMNS / 16 * 16 /* bytes of the longest column */
};

namespace {
struct SampleStagedArgs {
  PanelA     a;
  PanelB     b; /* the right operand */
  SampleArgs s;
};
} // namespace

#if HAVE_COPY_ENGINE
/*
   Store the sums of a warp's rows. STORED lanes store so many neighbouring entries of a row, then those of another row.
   sum[] are those of this lane's row, whose entries are the length ones from begin on. start is the first entry of all
*/
static __device__ __forceinline__ void StoreEntries(const SampleArgs &s, uint32_t room, HrpbInt start, HrpbInt begin, int32_t length, int32_t longest, const HrpbScalar (&sum)[CSR_STAGED_ENTRIES])
{
  const int32_t lane = threadIdx.x % HRPB_LANES, entry = lane % STORED;

#pragma unroll
  for (int first = 0; first < CSR_STAGED_ENTRIES; first += STORED) {
    HrpbInt    at[STORED]; /* the entry of this lane in each turn, or a negative number */
    HrpbScalar scale[STORED];

    if (first >= longest) break;
#pragma unroll
    for (int k = 0; k < STORED && first + k < CSR_STAGED_ENTRIES; k++) WriteShared(room + lane * STORE_PITCH + k * sizeof(HrpbScalar), sum[first + k]);
    __syncwarp();
#pragma unroll
    for (int turn = 0; turn < STORED; turn++) {
      const int32_t row    = turn * (HRPB_LANES / STORED) + lane / STORED;
      const HrpbInt begins = __shfl_sync(HRPB_ALL_LANES, begin, row);

      at[turn]    = first + entry < __shfl_sync(HRPB_ALL_LANES, length, row) ? begins + first + entry : -1;
      scale[turn] = 1;
    }
    if (s.values) { /* all on their way before the first is waited for: a condition on each read would be a branch */
#pragma unroll
      for (int turn = 0; turn < STORED; turn++) scale[turn] = __ldg(s.values + (at[turn] < 0 ? start : at[turn]));
    }
#pragma unroll
    for (int turn = 0; turn < STORED; turn++) {
      const int32_t row = turn * (HRPB_LANES / STORED) + lane / STORED;

      if (at[turn] >= 0) s.out[at[turn]] = scale[turn] * ReadShared(room + row * STORE_PITCH + entry * sizeof(HrpbScalar));
    }
    __syncwarp();
  }
}

/* The consumers, all warps but one */
template <typename Shape> static __device__ __forceinline__ void Consume(const SampleStagedArgs &args, const Ring &ring)
{
  const PanelA    &a     = args.a;
  const PanelB    &b     = args.b;
  const SampleArgs &s    = args.s;
  const uint32_t   room  = ring.stages + Shape::STAGES * Shape::STAGE_BYTES + threadIdx.x / HRPB_LANES * HRPB_LANES * STORE_PITCH;
  const HrpbInt    start = __ldg(a.rowptr);
  RingPlace        at;
  uint32_t         first_scalar[Shape::SHIFTS];

  FirstColumns<Shape>(b, ring, first_scalar);
  for (int32_t panel = blockIdx.x; panel < b.npanels; panel += gridDim.x) {
    const PanelRow    r      = RowOfThread(a, panel, start);
    const uint16_t   *places = a.places + (r.begin - start);
    const HrpbScalar *x      = s.left + (r.length ? r.row : 0);
    HrpbScalar        sum[CSR_STAGED_ENTRIES] = {}, next[CSR_STAGED_COLUMNS];
    uint32_t          place[CSR_STAGED_ENTRIES]; /* then in bytes */

    asm("" : "+l"(places)); /* or the compiler computes each address by itself */
#pragma unroll
    for (int k = 0; k < CSR_STAGED_ENTRIES; k++) place[k] = k < r.length ? __ldg(places + k) : (Shape::COLUMN_BYTES - ZERO_BYTES) / (uint32_t)sizeof(HrpbScalar);
#pragma unroll
    for (int c = 0; c < CSR_STAGED_COLUMNS; c++) next[c] = c < b.N ? __ldg(x + c * s.ldleft) : (HrpbScalar)0;
#pragma unroll
    for (int k = 0; k < CSR_STAGED_ENTRIES; k++) place[k] *= (uint32_t)sizeof(HrpbScalar);
    for (int32_t n0 = 0; n0 < b.N; n0 += CSR_STAGED_COLUMNS) {
      uint32_t   column[Shape::SHIFTS];
      HrpbScalar left[CSR_STAGED_COLUMNS];

#pragma unroll
      for (int c = 0; c < CSR_STAGED_COLUMNS; c++) {
        const int32_t n = n0 + CSR_STAGED_COLUMNS + c;

        left[c] = next[c];
        next[c] = n < b.N ? __ldg(x + n * s.ldleft) : (HrpbScalar)0;
      }
#pragma unroll
      for (int c = 0; c < Shape::SHIFTS; c++) column[c] = first_scalar[c] + at.stage * Shape::STAGE_BYTES;
      RingWaitFull(ring, at);
#pragma unroll
      for (int first = 0; first < CSR_STAGED_ENTRIES; first += CSR_CHUNK) {
        if (first >= r.longest) break;
#pragma unroll
        for (int c = 0; c < CSR_STAGED_COLUMNS; c++) {
          if (c && n0 + c >= b.N) break; /* nobody has brought this column */
#pragma unroll
          for (int k = first; k < first + CSR_CHUNK && k < CSR_STAGED_ENTRIES; k++) sum[k] = fma(left[c], ReadShared(column[c % Shape::SHIFTS] + place[k] + c * Shape::COLUMN_BYTES), sum[k]);
        }
      }
      RingLeave(ring, at);
      at.Next(Shape::STAGES);
    }
    StoreEntries(s, room, start, r.begin, r.length, r.longest, sum);
  }
}
#endif

template <typename Shape> static __global__ void __launch_bounds__(PANEL_THREADS, 1) SampleStaged(const __grid_constant__ SampleStagedArgs args)
{
#if HAVE_COPY_ENGINE
  RunPanels<Shape>(args.b, [&](const Ring &ring) { Consume<Shape>(args, ring); });
#else
  __trap(); /* there are no panels: CsrStagedSupports() */
#endif
}

static bool Takes(const SpmmFacts *facts, const HrpbParams *, const SpmmOperands *o, const SpmmDevice *)
{
  return facts->panel_rows && PanelColumnBytes(facts->staged_rows) <= LONGEST && o->X.layout == SPMM_COLUMN_MAJOR;
}

static double Seconds(const SpmmFacts *facts, const HrpbParams *params, HrpbPrecision precision, int64_t N, const SpmmDevice *device)
{
  return device->model->sampled.staged * SpmmCsrStaged.seconds(facts, params, precision, N, device);
}

static HrpbError Run(const SpmmMatrix *A, const SpmmOperands *o, void *, HrpbStream stream)
{
  const SampleStagedArgs args = {PanelAOf(A), PanelBOf(A->csr, o->N, o->X.array, o->X.ld), SampleArgsOf(A, o)};
  const SpmmDevice      *device;

  HrpbCall(SpmmGetDevice(&device));
  return LaunchWithShape<LONGEST>(A->csr, o->X.ld, [&](auto shape) {
    typedef decltype(shape) Shape;

    return LaunchRing(SampleStaged<Shape>, RingGrid(device, args.b.npanels, 1), PANEL_THREADS, Shape::STAGES * Shape::STAGE_BYTES + STORE_BYTES, stream, args);
  });
}

SPMM_KERNEL(SpmmSampledStaged) = {
  .name    = "sampled-staged",
  .what    = "sampled products with rows of the right operand in shared memory: for rows of up to 28 entries whose columns run with them",
  .op      = SPMM_OP_SAMPLED,
  .format  = SPMM_CSR,
  .takes   = Takes,
  .seconds = Seconds,
  .run     = Run
};
