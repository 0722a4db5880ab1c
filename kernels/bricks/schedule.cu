/*
   Balance: thread blocks that work at the same time shall end at the same time. A panel with many more blocks than others
   is cut into parts. Each is multiplied on its own, and their sums are added in order. If that helps, the longest items
   of work come first.

   Source: cuTeSpMM, section 5, where heavy row panels are split. Nothing is added by atomics, so the result has the
   same bits every time. Where a cut is made follows from the format and from constants, not from the device. Cuts keep
   the sums of a long row short, and with them their rounding errors.
*/
#include <stdlib.h>

#include <algorithm>
#include <vector>

#include "product.cuh"

enum {
  MANY = 2, /* the fewest parts of a panel that is cut because of its length alone */

  /*
     What panels are cut for: 132 multiprocessors, as an H200 has, with up to three thread blocks each. It is so on
     other devices, too, because the sums of a product depend on it
  */
  SLOTS          = 132,
  SLOTS_MOST     = 3,
  LEAST_PART     = 8,    /* blocks of the shortest part */
  MOST_PANELS    = 4096, /* more panels than this keep all thread blocks busy as they are */
  LEAST_GAIN     = 20,   /* a cut, or another sequence, saves at least one of so many blocks */
  STORE_BLOCKS   = 1,    /* to store the sums of a panel takes as long as such a number of blocks; */
  PARTIAL_BLOCKS = 3,    /* so does to store those of a part, and to add them to the others; */
  COMBINE_BLOCKS = 3     /* and the kernel that adds */
};

namespace {
/* A panel that was cut: its parts have the slots first, first + 1, ... */
struct SplitPanel {
  int32_t panel, first, nslots;
};

/* What becomes of panels: those of many blocks and more are cut into equal parts of at most part blocks */
struct Cuts {
  uint32_t many, part;
  bool     longest_first; /* or parts first, and then panels, in their sequence */

  uint32_t Parts(uint32_t nblocks) const { return nblocks < many ? 1 : (nblocks + part - 1) / part; }
};
} // namespace

template <typename T> static HrpbError Upload(const std::vector<T> &x, cudaStream_t stream, void **d)
{
  T *p;

  if (x.empty()) return HRPB_SUCCESS;
  HrpbCall(HrpbAllocate(&p, (int64_t)x.size(), stream));
  *d = p;
  HrpbCallCuda(cudaMemcpyAsync(p, x.data(), sizeof(T) * x.size(), cudaMemcpyHostToDevice, stream));
  HrpbCallCuda(cudaStreamSynchronize(stream));
  return HRPB_SUCCESS;
}

static HrpbError Download(const Hrpb *h, cudaStream_t stream, std::vector<uint32_t> *blocked_row_ptr)
{
  blocked_row_ptr->resize((size_t)h->npanels + 1);
  HrpbCallCuda(cudaMemcpyAsync(blocked_row_ptr->data(), h->blocked_row_ptr, sizeof(uint32_t) * blocked_row_ptr->size(), cudaMemcpyDeviceToHost, stream));
  HrpbCallCuda(cudaStreamSynchronize(stream));
  return HRPB_SUCCESS;
}

/* The items of work, panel by panel. split gets the panels that are cut, and nslots the number of their parts */
static std::vector<WorkItem> CutPanels(const std::vector<uint32_t> &start, const Cuts &cuts, std::vector<SplitPanel> *split, int32_t *nslots)
{
  std::vector<WorkItem> items;

  items.reserve(start.size());
  split->clear();
  *nslots = 0;
  for (size_t p = 0; p + 1 < start.size(); p++) {
    const uint32_t n = start[p + 1] - start[p], nparts = cuts.Parts(n);

    if (nparts > 1) split->push_back({(int32_t)p, *nslots, (int32_t)nparts});
    for (uint32_t i = 0; i < nparts; i++) {
      items.push_back({(int32_t)p, start[p] + (uint32_t)((uint64_t)n * i / nparts), start[p] + (uint32_t)((uint64_t)n * (i + 1) / nparts), nparts > 1 ? (*nslots)++ : -1});
    }
  }
  return items;
}

/* What comes first: a longer item, or a part. Items that are alike stay in their sequence */
static void Sort(const Cuts &cuts, std::vector<WorkItem> *items)
{
  std::stable_sort(items->begin(), items->end(), [&](const WorkItem &a, const WorkItem &b) { return cuts.longest_first ? a.end - a.begin > b.end - b.begin : a.slot >= 0 && b.slot < 0; });
}

/*
   The work of each item in the sequence of Sort(), in blocks. Where the longest come first, panels and their parts are
   counted by their length
*/
static std::vector<uint32_t> WorkOf(const std::vector<uint32_t> &start, const Cuts &cuts)
{
  std::vector<uint32_t> work, count;

  work.reserve(start.size());
  for (size_t p = 0; p + 1 < start.size(); p++) {
    const uint32_t n = start[p + 1] - start[p], nparts = cuts.Parts(n);

    for (uint32_t i = 0; i < nparts; i++) work.push_back((n + i) / nparts + (nparts > 1 ? PARTIAL_BLOCKS : STORE_BLOCKS));
  }
  if (!cuts.longest_first) return work;
  for (uint32_t w : work) {
    if (w >= count.size()) count.resize(w + 1);
    count[w]++;
  }
  work.clear();
  for (size_t w = count.size(); w-- > 0;) work.insert(work.end(), count[w], (uint32_t)w);
  return work;
}

/*
   How long a product takes, in blocks: the work of the thread block that has most of it, and that of adding the parts.
   It is summed over one to SLOTS_MOST thread blocks on a multiprocessor, each of which is the slower the more there are.
   Items are dealt forth and back, as in bricks-staged
*/
static uint64_t TimeOf(const std::vector<uint32_t> &start, const Cuts &cuts)
{
  const std::vector<uint32_t> work    = WorkOf(start, cuts);
  const uint64_t              combine = work.size() + 1 > start.size() ? COMBINE_BLOCKS : 0;
  uint64_t                    sum     = 0;

  for (uint32_t ctas = 1; ctas <= SLOTS_MOST; ctas++) {
    const size_t          nslots = (size_t)SLOTS * ctas;
    std::vector<uint64_t> slot(nslots);

    for (size_t i = 0; i < work.size(); i++) slot[i / nslots % 2 ? nslots - 1 - i % nslots : i % nslots] += work[i];
    sum += ctas * (*std::max_element(slot.begin(), slot.end()) + combine);
  }
  return sum;
}

/*
   How panels are cut. Cutting everywhere loses: sums of parts are stored, read and stored again. So panels are cut, or
   their sequence changed, where a product takes less time then
*/
static Cuts ChooseCuts(const Hrpb *h, const std::vector<uint32_t> &start)
{
  const uint32_t most = (uint32_t)std::max(HRPB_PART_COLS / h->params.block_cols, 1);
  Cuts           best = {MANY * most, most, false};
  uint64_t       least;

  if (h->npanels > MOST_PANELS || h->params.window_cols == 1) return best;
  least = TimeOf(start, best);
  for (uint32_t part = MANY * most - 1; part >= LEAST_PART; part = 3 * part / 4) {
    const Cuts     cuts = {part + 1, std::min(part, most), true};
    const uint64_t time = TimeOf(start, cuts);

    if (LEAST_GAIN * time >= (LEAST_GAIN - 1) * least) continue;
    best  = cuts;
    least = time;
  }
  return best;
}

static HrpbError Schedule(const Hrpb *h, cudaStream_t stream, HrpbSchedule *s)
{
  std::vector<uint32_t>   start;
  std::vector<WorkItem>   items;
  std::vector<SplitPanel> split;

  s->nitems = h->npanels;
  if (!h->nblocks) return HRPB_SUCCESS;
  HrpbCall(Download(h, stream, &start));
  const Cuts cuts = ChooseCuts(h, start);
  items           = CutPanels(start, cuts, &split, &s->nslots);
  if (split.empty() && !cuts.longest_first) return HRPB_SUCCESS;
  Sort(cuts, &items);
  s->nitems = (int32_t)items.size();
  s->nsplit = (int32_t)split.size();
  s->bytes  = (int64_t)(sizeof(items[0]) * items.size() + sizeof(split[0]) * split.size());
  HrpbCall(Upload(items, stream, &s->items));
  return Upload(split, stream, &s->split);
}

HrpbError HrpbScheduleDevice(const Hrpb *h, HrpbStream stream, HrpbSchedule *s)
{
  HrpbError err;

  *s = {};
  try {
    err = Schedule(h, stream, s);
  } catch (const std::bad_alloc &) {
    err = HRPB_ERR_MEMORY;
  }
  if (err) HrpbScheduleDestroyDevice(s, stream);
  return err;
}

void HrpbScheduleDestroyDevice(HrpbSchedule *s, HrpbStream stream)
{
  (void)HrpbFree(s->items, HRPB_SUCCESS, stream);
  (void)HrpbFree(s->split, HRPB_SUCCESS, stream);
  *s = {};
}

/*
   Add the sums of the parts of each panel that was cut, with compensation, in their order. A thread has a row and a
   column
*/
template <int BM, typename Scalar> static __global__ void __launch_bounds__(256) Combine(Format<Scalar> f, DenseArgs<Scalar> d, const SplitPanel *split)
{
  const SplitPanel s = split[blockIdx.x];

  HrpbWaitForKernelBefore();
  for (int64_t i = (int64_t)blockIdx.y * blockDim.x + threadIdx.x; i < (int64_t)f.panel_rows * d.N; i += (int64_t)gridDim.y * blockDim.x) {
    const int32_t panel_row = (int32_t)(i % f.panel_rows), row = MatrixRow(f, s.panel, panel_row);
    const int64_t n    = i / f.panel_rows;
    const Scalar *part = d.partial + (int64_t)s.first * f.panel_rows + panel_row + n * d.ldpartial;
    Scalar        sum = 0, lost = 0;

    if (row < 0) continue;
    for (int32_t k = 0; k < s.nslots; k++, part += f.panel_rows) HrpbAddCompensated(*part, &sum, &lost);
    sum += lost;
    d.C[row + n * d.ldc] = IsFinite(sum) ? sum : ExactEntry<BM>(f, s.panel, panel_row, d.B + n * d.ldb);
  }
}

HrpbError CombineRun(const Product *p)
{
  const HrpbSchedule      *s    = p->schedule;
  const Format<HrpbScalar> f    = FormatOf(p->h, s, p->values);
  const dim3               grid = dim3(s->nsplit, HrpbGrid((int64_t)p->h->params.panel_rows * p->N, 256, 1024));

  if (!s->nsplit) return HRPB_SUCCESS;
  return LaunchAfter(p->h->params.brick_rows == 8 ? Combine<8, HrpbScalar> : Combine<16, HrpbScalar>, grid, 256, 0, p->stream, f, DenseArgsOf(p), (const SplitPanel *)s->split);
}
