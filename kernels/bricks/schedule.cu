/*
   Balance: thread blocks that work at the same time shall end at the same time. A panel with many more blocks than
   others is cut into parts. Each is multiplied on its own, and parts.cuh adds their sums in order. If that helps, the
   longest items of work come first.

   Source: cuTeSpMM, section 5, where heavy row panels are split. Only counters are atomic, so the result has the same
   bits every time. Where a cut is made follows from the format and from constants, not from the device. Cuts keep the
   sums of a long row short, and with them their rounding errors.
*/
#include <stdlib.h>

#include <algorithm>
#include <vector>

#include "product.cuh"
#include "seconds.h"

enum {
  FEWEST = 2, /* parts of a panel that is cut because of its length alone */

  /*
     What panels are cut for: 132 multiprocessors, as an H200 has, with up to three thread blocks each. It is so on
     other devices, too, because the sums of a product depend on it
  */
  SLOTS          = 132,

  MOST_COUNTED   = 16,   /* the most parts of a panel that one warp adds */
  MOST_PANELS    = 4096, /* more panels than this keep all thread blocks busy as they are */
  LEAST_GAIN     = 20,   /* a cut, or another sequence, saves at least one of so many blocks */
  STORE_BLOCKS   = 2,    /* to store the sums of a panel takes as long as such a number of blocks; */
  PARTIAL_BLOCKS = 6,    /* so does to store those of a part, and to add them to the others; */
  COMBINE_BLOCKS = 6     /* and cuts as such. They do not now, but the bits of products follow from this number */
};

namespace {
/* What becomes of panels: those of from blocks and more are cut into equal parts of at most part blocks */
struct Cuts {
  uint32_t from, part;

  uint32_t Parts(uint32_t nblocks) const { return nblocks < from ? 1 : (nblocks + part - 1) / part; }
};
} // namespace

/* The copy has read x when the call returns, because that is no pinned memory */
template <typename T> static HrpbError Upload(const std::vector<T> &x, cudaStream_t stream, void **d, int64_t *bytes)
{
  T *p;

  HrpbCall(HrpbAllocate(&p, (int64_t)x.size(), stream));
  *d = p;
  *bytes += (int64_t)(sizeof(T) * x.size());
  HrpbCallCuda(cudaMemcpyAsync(p, x.data(), sizeof(T) * x.size(), cudaMemcpyHostToDevice, stream));
  return HRPB_SUCCESS;
}

/*
   A counter for each strip of a panel that is cut. None where a panel has so many parts that the last warp would take
   long to add them: a kernel behind adds then
*/
static HrpbError ZeroCounts(const Hrpb *h, cudaStream_t stream, HrpbSchedule *s)
{
  const int64_t n = (int64_t)s->nsplit * (h->params.panel_rows / h->params.brick_rows), bytes = (int64_t)sizeof(*s->counts) * n;

  if (s->nmany) return HRPB_SUCCESS;
  HrpbCall(HrpbAllocate(&s->counts, n, stream));
  s->bytes += bytes;
  HrpbCallCuda(cudaMemsetAsync(s->counts, 0, (size_t)bytes, stream));
  return HRPB_SUCCESS;
}

/* The items of work, panel by panel. split gets the panel of each part */
static std::vector<WorkItem> CutPanels(const std::vector<uint32_t> &start, const Cuts &cuts, std::vector<SplitPanel> *split)
{
  std::vector<WorkItem> items;
  int32_t               index = 0;

  items.reserve(start.size());
  split->clear();
  for (size_t p = 0; p + 1 < start.size(); p++) {
    const uint32_t n = start[p + 1] - start[p], nparts = cuts.Parts(n);
    const int32_t  first = (int32_t)split->size();

    for (uint32_t i = 0; i < nparts; i++) {
      items.push_back({(int32_t)p, start[p] + (uint32_t)((uint64_t)n * i / nparts), start[p] + (uint32_t)((uint64_t)n * (i + 1) / nparts), nparts > 1 ? first + (int32_t)i : -1});
    }
    if (nparts > 1) split->insert(split->end(), nparts, {(int32_t)p, index++, first, (int32_t)nparts});
  }
  return items;
}

/* Each panel of split once, behind it: those with many parts, whose number is returned, and then the others */
static int32_t ListCutPanels(std::vector<SplitPanel> *split)
{
  std::vector<SplitPanel> cut;

  for (size_t slot = 0; slot < split->size(); slot += (*split)[slot].nslots) cut.push_back((*split)[slot]);

  const auto others = std::stable_partition(cut.begin(), cut.end(), [](const SplitPanel &p) { return p.nslots > MOST_COUNTED; });

  split->insert(split->end(), cut.begin(), cut.end());
  return (int32_t)(others - cut.begin());
}

/* How many panels there are of each number of blocks, up to that of the longest */
static std::vector<uint32_t> PanelsByBlocks(const std::vector<uint32_t> &start)
{
  std::vector<uint32_t> panels;

  for (size_t p = 0; p + 1 < start.size(); p++) {
    const uint32_t n = start[p + 1] - start[p];

    if (n >= panels.size()) panels.resize(n + 1);
    panels[n]++;
  }
  return panels;
}

namespace {
/* The work of n items, in blocks: items[w] of them have w blocks, and all have sum */
struct Work {
  std::vector<uint32_t> items;
  uint64_t              n = 0, sum = 0;
};
} // namespace

/* Parts of a panel differ by one block at most */
static Work WorkOf(const std::vector<uint32_t> &panels, const Cuts &cuts)
{
  Work work;

  work.items.resize(panels.size() + PARTIAL_BLOCKS);
  for (size_t n = 0; n < panels.size(); n++) {
    const uint32_t nparts = cuts.Parts((uint32_t)n), least = (uint32_t)n / nparts, longer = (uint32_t)n % nparts, own = nparts > 1 ? PARTIAL_BLOCKS : STORE_BLOCKS;

    work.items[least + own] += panels[n] * (nparts - longer);
    if (longer) work.items[least + 1 + own] += panels[n] * longer;
    work.n += (uint64_t)panels[n] * nparts;
    work.sum += panels[n] * ((uint64_t)n + (uint64_t)own * nparts);
  }
  return work;
}

static std::vector<uint32_t> LargestFirst(const Work &work)
{
  std::vector<uint32_t> sorted;

  sorted.reserve(work.n);
  for (size_t w = work.items.size(); w-- > 0;) sorted.insert(sorted.end(), work.items[w], (uint32_t)w);
  return sorted;
}

/*
   The work of the thread block that has most of it, where so many share a multiprocessor. Items are dealt as in
   bricks-staged: in turn, or forth and back where the longest come first
*/
static uint64_t Busiest(const std::vector<uint32_t> &work, size_t ctas, bool longest_first)
{
  const size_t          nslots = SLOTS * ctas;
  std::vector<uint64_t> slot(nslots);

  for (size_t first = 0, turn = 0; first < work.size(); first += nslots, turn++) { /* no division for each item */
    const size_t n    = std::min(nslots, work.size() - first);
    const bool   back = longest_first && turn % 2;

    for (size_t i = 0; i < n; i++) slot[back ? nslots - 1 - i : i] += work[first + i];
  }
  return *std::max_element(slot.begin(), slot.end());
}

/*
   A sum over products with one thread block on a multiprocessor, with two, and with three, which are as much slower. No
   thread block has less than the mean: where that alone takes most or more, the answer is most
*/
static uint64_t TimeOf(const std::vector<uint32_t> &panels, const Cuts &cuts, uint64_t most)
{
  const Work            work    = WorkOf(panels, cuts);
  const uint64_t        combine = panels.size() > cuts.from ? COMBINE_BLOCKS : 0; /* the longest panel is cut */
  std::vector<uint32_t> sorted;
  uint64_t              blocks = 0;

  for (size_t ctas = 1; ctas <= HRPB_MOST_CTAS; ctas++) blocks += ctas * ((work.sum + SLOTS * ctas - 1) / (SLOTS * ctas) + combine);
  if (blocks >= most) return most;
  sorted = LargestFirst(work);
  blocks = 0;
  for (size_t ctas = 1; ctas <= HRPB_MOST_CTAS; ctas++) blocks += ctas * (Busiest(sorted, ctas, true) + combine);
  return blocks;
}

/*
   How panels are cut. Cutting everywhere loses: sums of parts are stored, read and stored again. So panels are cut
   where the busiest thread block has less to do then
*/
static Cuts ChooseCuts(const Hrpb *h, const std::vector<uint32_t> &panels)
{
  const uint32_t most  = (uint32_t)std::max(HRPB_PART_COLS / h->params.block_cols, 1);
  Cuts           best  = {FEWEST * most, most};
  uint64_t       least = TimeOf(panels, best, UINT64_MAX);

  for (uint32_t part = 3 * most / 2; part >= LEAST_PART; part = 3 * part / 4) {
    const Cuts     cuts = {part + 1, std::min(part, most)};
    const uint64_t time = TimeOf(panels, cuts, least);

    if (LEAST_GAIN * time >= (LEAST_GAIN - 1) * least) continue;
    best  = cuts;
    least = time;
  }
  return best;
}

/* For each number of thread blocks on a multiprocessor, whether the longest items come first. True where any do */
static bool ChooseSequence(const std::vector<WorkItem> &items, const std::vector<uint32_t> &panels, const Cuts &cuts, bool longest_first[HRPB_MOST_CTAS])
{
  const std::vector<uint32_t> sorted = LargestFirst(WorkOf(panels, cuts));
  std::vector<uint32_t>       in_turn;
  bool                        any = false;

  in_turn.reserve(items.size());
  for (const WorkItem &i : items) in_turn.push_back(i.end - i.begin + (i.slot >= 0 ? PARTIAL_BLOCKS : STORE_BLOCKS));
  for (size_t ctas = 1; ctas <= HRPB_MOST_CTAS; ctas++) {
    longest_first[ctas - 1] = LEAST_GAIN * Busiest(sorted, ctas, true) < (LEAST_GAIN - 1) * Busiest(in_turn, ctas, false);
    any |= longest_first[ctas - 1];
  }
  return any;
}

static HrpbError Schedule(const Hrpb *h, cudaStream_t stream, HrpbSchedule *s)
{
  const uint32_t          most = (uint32_t)std::max(HRPB_PART_COLS / h->params.block_cols, 1);
  const bool              few  = h->npanels <= MOST_PANELS && HrpbSharesRows(&h->params);
  std::vector<uint32_t>   start, panels;
  std::vector<WorkItem>   items;
  std::vector<SplitPanel> split;
  Cuts                    cuts = {FEWEST * most, most};
  bool                    longest_first = false;

  s->nitems = h->npanels;
  if (!h->nblocks) return HRPB_SUCCESS;
  start.assign(h->panel_blocks, h->panel_blocks + h->npanels + 1);
  if (few) panels = PanelsByBlocks(start);
  if (few) cuts = ChooseCuts(h, panels);
  items     = CutPanels(start, cuts, &split);
  s->nitems = (int32_t)items.size();
  s->nslots = (int32_t)split.size();
  s->nmany  = ListCutPanels(&split);
  s->nsplit = (int32_t)split.size() - s->nslots;
  if (few) longest_first = ChooseSequence(items, panels, cuts, s->longest_first);
  if (!split.empty()) {
    std::stable_partition(items.begin(), items.end(), [](const WorkItem &i) { return i.slot >= 0; });
    HrpbCall(Upload(items, stream, &s->items, &s->bytes));
    HrpbCall(Upload(split, stream, &s->split, &s->bytes));
    HrpbCall(ZeroCounts(h, stream, s));
  }
  if (longest_first) {
    std::stable_sort(items.begin(), items.end(), [](const WorkItem &a, const WorkItem &b) { return a.end - a.begin > b.end - b.begin; });
    HrpbCall(Upload(items, stream, &s->longest, &s->bytes));
  }
  return HRPB_SUCCESS;
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
  (void)HrpbFree(s->longest, HRPB_SUCCESS, stream);
  (void)HrpbFree(s->split, HRPB_SUCCESS, stream);
  (void)HrpbFree(s->counts, HRPB_SUCCESS, stream);
  *s = {};
}
