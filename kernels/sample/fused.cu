/*
   Y = W Z in one pass over bricks, where W = S .* (B X^T), or its softmax, is not stored.

   A block's rows of Z and of X come into a stage together, from two or more warps. The other warps have a strip each,
   with its rows of B and its sums of Y in registers. A warp makes the entries of four bricks as sampled-bricks
   does. The lane that has an entry of W as a sum is not the one that needs it as an operand of the next instruction: so
   shuffles take it there.

   Softmax is made as the blocks come. A lane keeps the largest entry so far of each of its two rows, and what it has
   added up is relative to that. An entry that is larger makes all lanes of the strip agree on the new largest one, and
   scale their sums. Rows seldom have many such entries.

   A part of a panel leaves its sums, and the largest entry and the sum of each row. A second kernel puts the parts of a
   panel together, in their order.
*/
#include "sample.cuh"
#include "tiles.cuh"

enum {
  FUSED_ROWS      = 8,  /* of a brick */
  FUSED_TILES     = 4,  /* of 16 columns, of X and of Z */
  COMBINE_THREADS = 128
};

namespace {
struct FusedArgs {
  StagedArgs<HrpbScalar> x, z; /* the ring, with X and with Z as what is brought */
  SampleArgs             s; /* out: Y; N: columns of X */
  int64_t                ldout;
  HrpbScalar            *partial; /* [nslots] panel_rows x (N + 2): sums, largest entries, sums of rows */
  const SplitPanel      *cut;     /* panels that are cut */
  bool                   softmax, x_aligned, z_aligned;
};

/* What a lane keeps of each of its two rows while blocks come: the largest entry, and the sum of its exponentials */
template <typename Scalar> struct RowState {
  Scalar most[2], sum[2];
};
} // namespace

/* An entry of W before softmax, in full precision */
static __device__ __forceinline__ HrpbScalar EntryInOneGo(const SampleArgs &s, int32_t row, HrpbInt e)
{
  const HrpbScalar p = SampleInOneGo(s.left + row, s.ldleft, s.right + s.colidx[e], s.ldright, s.N);

  return s.values ? s.values[e] * p : p;
}

/* A row of W times a column of Z, entry by entry, for sums that are not finite. Products are not rounded */
static __device__ __noinline__ HrpbScalar FusedInOneGo(const SampleArgs &s, bool softmax, int32_t row, const HrpbScalar *z)
{
  const HrpbInt begin = s.rowptr[row], end = s.rowptr[row + 1];
  HrpbScalar    most = -INFINITY, all = 0, y = 0;

#pragma unroll 1
  for (HrpbInt e = begin; softmax && e < end; e++) most = fmax(most, EntryInOneGo(s, row, e));
#pragma unroll 1
  for (HrpbInt e = begin; softmax && e < end; e++) all += exp(EntryInOneGo(s, row, e) - most);
#pragma unroll 1
  for (HrpbInt e = begin; e < end; e++) {
    const HrpbScalar w = EntryInOneGo(s, row, e);

    y = fma(softmax ? exp(w - most) / all : w, z[s.colidx[e]], y);
  }
  return y;
}

/* What relates sums to a larger entry than before. Without an entry before there are no sums */
static __device__ __forceinline__ HrpbScalar ScaleTo(HrpbScalar most, HrpbScalar before)
{
  return most == before ? 1 : exp(before - most);
}

/* The largest of a row, or the sum, over the lanes that have its columns: those with the same lane % 4 */
template <typename Scalar, typename Op> static __device__ __forceinline__ Scalar ReduceRow(Scalar x, Op op)
{
#pragma unroll
  for (int distance = 4; distance < HRPB_LANES; distance *= 2) x = op(x, __shfl_xor_sync(HRPB_ALL_LANES, x, distance));
  return x;
}

/* Entries become exp(entry - most). Where most grows, sums are scaled */
template <int NT, typename Scalar> static __device__ __forceinline__ void Exponentials(Scalar (&w)[2][2][1], const BrickGroup<FUSED_ROWS> &group, uint32_t g, RowState<Scalar> *row, Scalar (&sum)[NT][4])
{
  Scalar most[2];
  bool   grows = false;

#pragma unroll
  for (int j = 0; j < 2; j++) {
    most[j] = row->most[j];
#pragma unroll
    for (int e = 0; e < 2; e++) {
      if (group.Has(j, 8 * e + g)) most[j] = fmax(most[j], w[e][j][0]);
    }
    grows |= most[j] > row->most[j];
  }
  if (__any_sync(HRPB_ALL_LANES, grows)) {
#pragma unroll
    for (int j = 0; j < 2; j++) {
      most[j] = ReduceRow(most[j], [](Scalar x, Scalar y) { return fmax(x, y); });
      const Scalar scale = ScaleTo(most[j], row->most[j]);

      row->most[j] = most[j];
      row->sum[j] *= scale;
#pragma unroll
      for (int t = 0; t < NT; t++) {
        sum[t][j] *= scale;
        sum[t][2 + j] *= scale;
      }
    }
  }
#pragma unroll
  for (int j = 0; j < 2; j++) {
#pragma unroll
    for (int e = 0; e < 2; e++) {
      if (group.Has(j, 8 * e + g)) row->sum[j] += w[e][j][0] = exp(w[e][j][0] - row->most[j]);
    }
  }
}

/*
   sum += entries of two bricks times their rows of Z. z has the addresses of those rows that the lane reads, in the
   first of the tile's columns that it has. In double an instruction takes one brick, and the next one needs not wait
   for it where there are several tiles
*/
template <int PITCH, int NT> static __device__ __forceinline__ void FusedStep(double (&sum)[NT][4], const double (&w)[2], const uint32_t (&z)[2])
{
#pragma unroll
  for (int q = 0; q < 2; q++) {
#pragma unroll
    for (int t = 0; t < NT; t++) MmaFp64(sum[t], ReadShared(z[q] + TILE_COLS * t * PITCH), ReadShared(z[q] + (TILE_COLS * t + 8) * PITCH), w[q]);
  }
}

template <int P, int PITCH, int NT> static __device__ __forceinline__ void FusedStep(float (&sum)[NT][4], const float (&w)[2], const uint32_t (&z)[2])
{
  Fragment<P, 2> right;

  right.Set(0, w[0]);
  right.Set(1, w[1]);
#pragma unroll
  for (int t = 0; t < NT; t++) {
    Fragment<P, 4> left;
    float          part[4] = {};

#pragma unroll
    for (int i = 0; i < 4; i++) left.Set(i, ReadShared(z[i / 2] + (TILE_COLS * t + 8 * (i % 2)) * PITCH));
    MmaSplit<P>(part, left, right);
#pragma unroll
    for (int i = 0; i < 4; i++) sum[t][i] += part[i];
  }
}

/*
   Entries of four bricks times their rows of Z. A lane = 4*g + k has entries of columns g and 8 + g and of rows 2*k and
   2*k + 1. Of bricks 2*e and 2*e + 1 it needs those of column k and of row g. In the first round lanes of the first
   brick give their even rows, and those of the second one their odd rows. In the second round it is the other way round
*/
template <int P, int PITCH, int NT, typename Scalar> static __device__ __forceinline__ void MultiplyEntries(Scalar (&sum)[NT][4], const Scalar (&w)[2][2][1], uint32_t bricks, uint32_t brick, uint32_t n, uint32_t zrows, uint32_t g, uint32_t k)
{
#pragma unroll
  for (uint32_t e = 0; e < 2; e++) {
    Scalar   got[2];
    uint32_t z[2];

    if (2 * e >= n) break;
#pragma unroll
    for (uint32_t round = 0; round < 2; round++) got[round] = __shfl_sync(HRPB_ALL_LANES, (round ? g < 4 : g >= 4) ? w[e][1][0] : w[e][0][0], 4 * (4 * ((g + round) % 2) + k) + g / 2);
    const Scalar operand[2] = {g % 2 ? got[1] : got[0], g % 2 ? got[0] : got[1]};

#pragma unroll
    for (uint32_t q = 0; q < 2; q++) {
      z[q] = zrows + ReadShared8(ColumnByte(bricks + (brick + min(2 * e + q, n - 1)) * (uint32_t)sizeof(HrpbBrick), k)) * (uint32_t)sizeof(Scalar);
    }
    if constexpr (P == HRPB_FP64) FusedStep<PITCH, NT>(sum, operand, z);
    else FusedStep<P, PITCH, NT>(sum, operand, z);
  }
}

/* Sums of a whole panel to Y, or of a part to its slot. Sums of Y that are not finite are computed again */
template <int NT, typename Scalar> static __device__ __forceinline__ void StoreFused(const FusedArgs &a, const WorkItem &item, uint32_t strip, uint32_t g, uint32_t k, const Scalar (&sum)[NT][4], const RowState<Scalar> &row)
{
  const Format<Scalar> &f       = a.x.f;
  const int32_t         N       = a.z.d.N;
  Scalar               *partial = a.partial + (int64_t)item.slot * f.panel_rows * (N + 2);

#pragma unroll
  for (int j = 0; j < 2; j++) {
    const int32_t panel_row = (int32_t)(strip * FUSED_ROWS + 2 * k + j), r = MatrixRow(f, item.panel, panel_row);
    const Scalar  all = ReduceRow(row.sum[j], [](Scalar x, Scalar y) { return x + y; });

    if (r < 0) continue;
    if (item.slot >= 0 && g == 0) {
      partial[(int64_t)N * f.panel_rows + panel_row]       = row.most[j];
      partial[(int64_t)(N + 1) * f.panel_rows + panel_row] = all;
    }
#pragma unroll
    for (int t = 0; t < NT; t++) {
#pragma unroll
      for (int h = 0; h < 2; h++) {
        const int32_t n = TILE_COLS * t + (int32_t)g + 8 * h;
        Scalar        y = sum[t][2 * h + j];

        if (n >= N) continue;
        if (item.slot >= 0) {
          partial[(int64_t)n * f.panel_rows + panel_row] = y;
          continue;
        }
        if (a.softmax && item.begin < item.end && all != 0) y /= all;
        a.s.out[r + n * a.ldout] = IsFinite(y) ? y : FusedInOneGo(a.s, a.softmax, r, a.z.d.B + n * a.z.d.ldb);
      }
    }
  }
}

/* The lane's entries of a group of bricks before scaling that are not finite, as a loop over all columns has them */
static __device__ __noinline__ void EntriesAgain(const FusedArgs &a, int32_t panel, uint32_t strip, uint32_t g, uint32_t k, uint32_t block, BrickGroup<FUSED_ROWS> group, uint32_t right, HrpbScalar *entry)
{
  const Format<HrpbScalar> &f = a.x.f;

#pragma unroll 1
  for (int i = 0; i < 4; i++) {
    const int e = i / 2, j = i % 2;

    if (!group.Has(j, group.Column(e, 0, g, k)) || IsFinite(entry[i])) continue;
    const int64_t column = MatrixColumn(f, f.windows + f.window_ptr[block], (group.y[e] - right) / (uint32_t)sizeof(HrpbScalar));

    entry[i] = SampleInOneGo(a.s.left + MatrixRow(f, panel, RowOfProduct<FUSED_ROWS>(strip, g, k, j)), a.s.ldleft, a.s.right + column, a.s.ldright, a.s.N);
  }
}

/*
   P     precision
   KT    tiles of 16 columns of X
   NT    of Z
   SAME  Z is X: a stage has it once
   SOFTMAX
   CTAS  thread blocks on a multiprocessor
   NP    producer warps: one for the packed blocks and Z, the others for X
*/
template <int P, int KT, int NT, bool SAME, bool SOFTMAX, int CTAS, int NP> static __global__ void __launch_bounds__((STAGED_STRIPS + NP) * 32, CTAS) Fused(const __grid_constant__ FusedArgs a)
{
  typedef typename Mma<P>::Scalar Scalar;
  typedef LeftTile<P, FUSED_ROWS> Tile;
  /* columns of a stage: NB of Z, and KB of X behind them */
  constexpr int PITCH = Pitch(FUSED_ROWS), KB = TILE_COLS * KT, NB = SAME ? 0 : TILE_COLS * NT, ALL = NB + KB;
  extern __shared__ __align__(STAGE_ALIGN) uint8_t shared[];
  const Format<Scalar> &f = a.x.f;
  const SampleArgs     &s = a.s;
  const int32_t  N = a.z.d.N, K = s.N, nstages = a.x.nstages;
  const bool     scaled = s.values != NULL;
  const uint32_t warp = threadIdx.x / 32, lane = __shfl_sync(HRPB_ALL_LANES, threadIdx.x % 32, threadIdx.x % 32), nconsumers = blockDim.x / 32 - NP, g = lane / 4, k = lane % 4;
  const uint32_t begin = __shfl_sync(HRPB_ALL_LANES, SharedAddress(shared), 0); /* a shuffle keeps it in a register */
  const Ring     ring  = RingAt(begin, begin + nstages * a.x.stage_bytes);
  RingPlace      at;

  /* Columns beyond the last stay zero: nobody copies there, and zero times what may be left there might be NaN */
  for (int32_t i = threadIdx.x; i < nstages * ALL * (int32_t)(PITCH / sizeof(Scalar)); i += blockDim.x) {
    const int32_t at_word = i / nstages, column = at_word / (int32_t)(PITCH / sizeof(Scalar));

    if (column < NB ? column >= N : column - NB >= K) WriteShared(begin + i % nstages * a.x.stage_bytes + at_word * (int32_t)sizeof(Scalar), 0);
  }
  RingInit(ring, nstages, 32 * NP + RUN_ARRIVALS, nconsumers);
  if (warp >= nconsumers) {
    const Ring     behind = {begin + PITCH * NB, ring.full, ring.empty};
    const uint32_t who    = warp - nconsumers;

    if (who > 0 && a.x_aligned) ProduceApart<FUSED_ROWS, KB, Copies<FUSED_ROWS, KB, NP - 1, true, Scalar>, NO_RUN>(a.x, behind, who - 1, lane);
    else if (who > 0) ProduceApart<FUSED_ROWS, KB, Copies<FUSED_ROWS, KB, NP - 1, false, Scalar>, NO_RUN>(a.x, behind, who - 1, lane);
    else if (SAME && scaled) ProduceApart<FUSED_ROWS, ALL, NoCopies<Scalar>, BOTH_RUNS>(a.x, ring, 0, lane);
    else if (SAME) ProduceApart<FUSED_ROWS, ALL, NoCopies<Scalar>, PATTERN_RUN>(a.x, ring, 0, lane);
    else if (a.z_aligned && scaled) ProduceApart<FUSED_ROWS, ALL, Copies<FUSED_ROWS, TILE_COLS * NT, 1, true, Scalar>, BOTH_RUNS>(a.z, ring, 0, lane);
    else if (a.z_aligned) ProduceApart<FUSED_ROWS, ALL, Copies<FUSED_ROWS, TILE_COLS * NT, 1, true, Scalar>, PATTERN_RUN>(a.z, ring, 0, lane);
    else if (scaled) ProduceApart<FUSED_ROWS, ALL, Copies<FUSED_ROWS, TILE_COLS * NT, 1, false, Scalar>, BOTH_RUNS>(a.z, ring, 0, lane);
    else ProduceApart<FUSED_ROWS, ALL, Copies<FUSED_ROWS, TILE_COLS * NT, 1, false, Scalar>, PATTERN_RUN>(a.z, ring, 0, lane);
    return;
  }

  Turns    turns(false, a.x.full);
  WorkItem next = turns.i < (uint32_t)f.nitems ? GetItem(f, turns.i) : WorkItem{};

  while (turns.i < (uint32_t)f.nitems) {
    const WorkItem   item = next;
    RowState<Scalar> row  = {{-(Scalar)INFINITY, -(Scalar)INFINITY}, {}};
    Scalar           sum[NT][4] = {};
    Tile             left[KT];

    LoadLeft<P, FUSED_ROWS, KT>(left, f, item.panel, warp, g, k, s.left, s.ldleft, K);
    turns.Next();
    if (turns.i < (uint32_t)f.nitems) next = GetItem(f, turns.i);
    for (uint32_t block = item.begin; block < item.end; block++) {
      const uint32_t base = begin + at.stage * a.x.stage_bytes, run = base + a.x.pattern_at, start = run + (uint32_t)HrpbOffsetStripStart() + 2 * warp;
      const uint32_t bricks = run + (uint32_t)HrpbOffsetBricks(f.strips), values = base + PITCH * ALL, right = base + PITCH * NB + Tile::NEXT * k * PITCH, zrows = base + g * PITCH;

      RingWaitFull(ring, at);
      const uint32_t last = ReadShared16(start + 2);

#pragma unroll 1
      for (uint32_t brick = ReadShared16(start); brick < last; brick += TILE_BRICKS) {
        const uint32_t               n = min(last - brick, (uint32_t)TILE_BRICKS);
        const BrickGroup<FUSED_ROWS> group(bricks, brick, n, right, g, k);
        Scalar                       entry[2][2][1];

        if (n > 2) SampleTiles<P, FUSED_ROWS, KT, true>(left, group.y, entry);
        else SampleTiles<P, FUSED_ROWS, KT, false>(left, group.y, entry);
        /* What is not finite is rare, and a branch for each entry would take longer than the entries */
        bool look = false;

        EachProduct<FUSED_ROWS>([&](int e, int j, int) { look |= !IsFinite(entry[e][j][0]); });
        if (look) {
          Scalar all[4]; /* a copy, because entries stay in registers */

          EachProduct<FUSED_ROWS>([&](int e, int j, int) { all[2 * e + j] = entry[e][j][0]; });
          EntriesAgain(a, item.panel, warp, g, k, block, group, right, all);
          EachProduct<FUSED_ROWS>([&](int e, int j, int) { entry[e][j][0] = all[2 * e + j]; });
        }
        EachProduct<FUSED_ROWS>([&](int e, int j, int) {
          Scalar *p = &entry[e][j][0];

          if (scaled) *p *= ReadShared(values + PlaceOfValue<FUSED_ROWS>(group.Brick(bricks, brick, n, e, g, k), g, k, j, 0) * (uint32_t)sizeof(Scalar));
          if (!group.Has(j, group.Column(e, 0, g, k))) *p = 0;
        });
        if (SOFTMAX) Exponentials<NT>(entry, group, g, &row, sum);
        MultiplyEntries<P, PITCH, NT>(sum, entry, bricks, brick, n, zrows, g, k);
      }
      RingLeave(ring, at);
      at.Next(nstages);
    }
    StoreFused<NT>(a, item, warp, g, k, sum, row);
  }
}

/*
   A row of Y from the parts of its panel, in their order: each is scaled to the largest entry of all. A thread has an
   entry of Y, and a column of thread blocks a panel
*/
static __global__ void __launch_bounds__(COMBINE_THREADS) CombineFused(const __grid_constant__ FusedArgs a)
{
  const Format<HrpbScalar> &f = a.x.f;
  const SplitPanel          s = a.cut[blockIdx.x];
  const int32_t             N = a.z.d.N, rows = f.panel_rows, i = blockIdx.y * COMBINE_THREADS + threadIdx.x;

  HrpbWaitForKernelBefore();
  if (i >= rows * N) return;

  const int32_t     panel_row = i % rows, n = i / rows, row = MatrixRow(f, s.panel, panel_row);
  const HrpbScalar *part = a.partial + (int64_t)s.first * rows * (N + 2) + panel_row;
  HrpbScalar        most = -INFINITY, y = 0, lost = 0, all = 0, lost_all = 0;

  if (row < 0) return;
  for (int32_t p = 0; a.softmax && p < s.nslots; p++) most = fmax(most, part[(int64_t)p * rows * (N + 2) + (int64_t)N * rows]);
  for (int32_t p = 0; p < s.nslots; p++, part += (int64_t)rows * (N + 2)) {
    const HrpbScalar scale = a.softmax ? ScaleTo(most, part[(int64_t)N * rows]) : 1;

    HrpbAddCompensated(scale * part[(int64_t)n * rows], &y, &lost);
    HrpbAddCompensated(scale * part[(int64_t)(N + 1) * rows], &all, &lost_all);
  }
  y += lost;
  all += lost_all;
  if (a.softmax && all != 0) y /= all;
  a.s.out[row + n * a.ldout] = IsFinite(y) ? y : FusedInOneGo(a.s, a.softmax, row, a.z.d.B + n * a.z.d.ldb);
}

/* Tiles for so many columns: 1, 2 or 4 */
static int TilesFor(int64_t columns)
{
  return columns <= TILE_COLS ? 1 : columns <= 2 * TILE_COLS ? 2 : FUSED_TILES;
}

static bool IsSame(const SpmmOperands *o)
{
  return o->Z.array == o->X.array && o->Z.ld == o->X.ld && o->N == o->K;
}

/* Bytes of a stage */
static void GetFusedStage(uint32_t max_pattern, uint32_t max_values, const SpmmOperands *o, StagedArgs<HrpbScalar> *a)
{
  GetStage(FUSED_ROWS, max_pattern, o->update == SPMM_SCALE ? max_values : 0, TILE_COLS * (TilesFor(o->K) + (IsSame(o) ? 0 : TilesFor(o->N))), a);
}

template <int P, int KT, int NT, bool SAME> static HrpbError LaunchFused(FusedArgs *a, const SpmmDevice *device, cudaStream_t stream)
{
  constexpr int CTAS = KT + NT <= FUSED_TILES ? 2 : 1, NP = 4 - CTAS;
  const int     ctas = ShareStages(device, CTAS, (int)a->x.stage_bytes, &a->x.nstages);

  a->z.nstages = a->x.nstages;
  return LaunchRing(a->softmax ? Fused<P, KT, NT, SAME, true, CTAS, NP> : Fused<P, KT, NT, SAME, false, CTAS, NP>, dim3(1, RingGrid(device, a->x.f.nitems, ctas)), (a->x.f.strips + NP) * 32, a->x.nstages * (int)a->x.stage_bytes + RING_BARRIERS, stream, *a);
}

template <int P, int KT> static HrpbError LaunchFor(bool same, int nt, FusedArgs *a, const SpmmDevice *device, cudaStream_t stream)
{
  if (same) return LaunchFused<P, KT, KT, true>(a, device, stream);
  switch (nt) {
  case 1:
    return LaunchFused<P, KT, 1, false>(a, device, stream);
  case 2:
    return LaunchFused<P, KT, 2, false>(a, device, stream);
  default:
    return LaunchFused<P, KT, FUSED_TILES, false>(a, device, stream);
  }
}

template <int P> static HrpbError RunFused(const SpmmMatrix *A, const SpmmOperands *o, HrpbScalar *partial, const SpmmDevice *device, cudaStream_t stream)
{
  const int nt = TilesFor(o->N);
  FusedArgs a  = {};

  a.s         = SampleArgsOf(A, o);
  a.s.N       = (int32_t)o->K;
  a.ldout     = o->Y.ld;
  a.partial   = partial;
  a.cut       = (const SplitPanel *)A->schedule->split + A->schedule->nslots;
  a.softmax   = o->softmax;
  a.x_aligned = IsAligned(o->X.array, o->X.ld, 16);
  a.z_aligned = IsAligned(o->Z.array, o->Z.ld, 16);
  a.x.f       = FormatOf(A->hrpb, A->schedule, A->brick_values);
  a.x.ncols   = A->hrpb->ncols;
  a.x.full    = 1; /* tile */
  GetFusedStage(A->hrpb->max_pattern, A->hrpb->max_values, o, &a.x);
  a.z         = a.x;
  a.x.sectors = IsAligned(o->X.array, o->X.ld, HRPB_SECTOR);
  a.x.d.B     = o->X.array;
  a.x.d.ldb   = o->X.ld;
  a.x.d.N     = (int32_t)o->K;
  a.z.sectors = IsAligned(o->Z.array, o->Z.ld, HRPB_SECTOR);
  a.z.d.B     = o->Z.array;
  a.z.d.ldb   = o->Z.ld;
  a.z.d.N     = (int32_t)o->N;
  switch (TilesFor(o->K)) {
  case 1:
    HrpbCall((LaunchFor<P, 1>(IsSame(o), nt, &a, device, stream)));
    break;
  case 2:
    HrpbCall((LaunchFor<P, 2>(IsSame(o), nt, &a, device, stream)));
    break;
  default:
    HrpbCall((LaunchFor<P, FUSED_TILES>(IsSame(o), nt, &a, device, stream)));
  }
  if (!A->schedule->nsplit) return HRPB_SUCCESS;
  return LaunchAfter(CombineFused, dim3(A->schedule->nsplit, HrpbGrid(a.x.f.panel_rows * o->N, COMBINE_THREADS)), COMBINE_THREADS, 0, stream, a);
}

static bool Takes(const SpmmFacts *facts, const HrpbParams *params, const SpmmOperands *o, const SpmmDevice *device)
{
  StagedArgs<HrpbScalar> a;

  if (params->brick_rows != FUSED_ROWS || !IsStagedFormat(params) || params->pairs || o->K > (int)TILE_COLS * FUSED_TILES || o->N > (int)TILE_COLS * FUSED_TILES) return false;
  GetFusedStage(facts->max_pattern, facts->max_values, o, &a);
  return TwoStagesFit(device, a.stage_bytes);
}

/* Without softmax; N are the columns of X and of Z together */
static double Seconds(const SpmmFacts *facts, const HrpbParams *params, HrpbPrecision precision, int64_t N, const SpmmDevice *device)
{
  return device->model->sampled.fused * SpmmBricksStaged.seconds(facts, params, precision, N, device);
}

static HrpbError Workspace(const SpmmMatrix *A, const SpmmOperands *o, size_t *bytes)
{
  *bytes = ProductPartialBytes(A, o->N + 2);
  return HRPB_SUCCESS;
}

static HrpbError Run(const SpmmMatrix *A, const SpmmOperands *o, void *work, HrpbStream stream)
{
  const SpmmFacts   facts = SpmmFactsOf(A);
  const SpmmDevice *device;

  HrpbCall(SampleDevice(A, &device));
  if (!Takes(&facts, &A->hrpb->params, o, device)) return HRPB_ERR_UNSUPPORTED;
  if (!A->hrpb->nblocks) {
    for (int64_t n = 0; n < o->N; n++) HrpbCallCuda(cudaMemsetAsync(o->Y.array + n * o->Y.ld, 0, sizeof(HrpbScalar) * (size_t)A->nrows, stream));
    return HRPB_SUCCESS;
  }
  HrpbCallPrecision(A->precision, RunFused, A, o, (HrpbScalar *)work, device, stream);
  return HRPB_SUCCESS;
}

SPMM_KERNEL(SpmmFusedBricks) = {
  .name    = "fused-bricks",
  .what    = "a sampled product, or its softmax, times a dense matrix: in one pass over bricks of 8 rows",
  .op      = SPMM_OP_FUSED,
  .format  = SPMM_BRICKS,
  .takes   = Takes,
  .work    = Workspace,
  .seconds = Seconds,
  .run     = Run
};
