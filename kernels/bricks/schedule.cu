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

enum {
  FEWEST = 2, /* parts of a panel that is cut because of its length alone */

  /*
     What panels are cut for: 132 multiprocessors, as an H200 has, with up to three thread blocks each. It is so on
     other devices, too, because the sums of a product depend on it
  */
  SLOTS          = 132,

  LEAST_PART     = 8,    /* blocks of the shortest part */
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

static uint32_t BlocksOf(const Hrpb *h, int32_t panel)
{
  return h->panel_blocks[panel + 1] - h->panel_blocks[panel];
}

/* Part number i of nparts of a panel, which begin where begin does */
static WorkItem PartOf(const Hrpb *h, int32_t panel, uint32_t i, uint32_t nparts, int32_t slot)
{
  const uint32_t begin = h->panel_blocks[panel], n = BlocksOf(h, panel);

  return {panel, begin + (uint32_t)((uint64_t)n * i / nparts), begin + (uint32_t)((uint64_t)n * (i + 1) / nparts), slot};
}

/* Call take() for each item of work: parts of panels first, then whole panels */
template <typename F> static void ForItems(const Hrpb *h, const Cuts &cuts, bool any_cut, F take)
{
  int32_t slot = 0;

  for (int32_t p = 0; any_cut && p < h->npanels; p++) {
    const uint32_t nparts = cuts.Parts(BlocksOf(h, p));

    for (uint32_t i = 0; nparts > 1 && i < nparts; i++) take(PartOf(h, p, i, nparts, slot++));
  }
  for (int32_t p = 0; p < h->npanels; p++) {
    if (cuts.Parts(BlocksOf(h, p)) == 1) take(PartOf(h, p, 0, 1, -1));
  }
}

/* The panel of each part */
static std::vector<SplitPanel> PanelsOfParts(const Hrpb *h, const Cuts &cuts)
{
  std::vector<SplitPanel> split;
  int32_t                 index = 0;

  for (int32_t p = 0; p < h->npanels; p++) {
    const uint32_t nparts = cuts.Parts(BlocksOf(h, p));

    if (nparts > 1) split.insert(split.end(), nparts, {p, index++, (int32_t)split.size(), (int32_t)nparts});
  }
  return split;
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
static std::vector<uint32_t> PanelsByBlocks(const Hrpb *h)
{
  std::vector<uint32_t> panels;

  for (int32_t p = 0; p < h->npanels; p++) {
    const uint32_t n = BlocksOf(h, p);

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

namespace {
/*
   Items are dealt to thread blocks, of which so many share a multiprocessor, as bricks-staged does: in turn, or forth
   and back where the longest come first
*/
struct Deal {
  const size_t nslots;
  const bool   longest_first;
  size_t       next = 0;
  bool         back = false;
  uint64_t     slot[(int)SLOTS * HRPB_MOST_CTAS] = {}; /* the work of each thread block */

  Deal(size_t ctas, bool longest) : nslots(SLOTS * ctas), longest_first(longest) { }
  void Put(uint64_t work)
  {
    slot[back ? nslots - 1 - next : next] += work;
    if (++next == nslots) { /* no division for each item */
      next = 0;
      back = longest_first && !back;
    }
  }
  /* the work of the thread block that has most of it */
  uint64_t Busiest(void) const { return *std::max_element(slot, slot + nslots); }
};
} // namespace

static uint64_t BusiestLongestFirst(const Work &work, size_t ctas)
{
  Deal deal(ctas, true);

  for (size_t w = work.items.size(); w-- > 0;) {
    for (uint32_t i = 0; i < work.items[w]; i++) deal.Put(w);
  }
  return deal.Busiest();
}

static uint64_t BusiestInTurn(const Hrpb *h, const Cuts &cuts, size_t ctas)
{
  Deal deal(ctas, false);

  for (int32_t p = 0; p < h->npanels; p++) {
    const uint32_t n = BlocksOf(h, p), nparts = cuts.Parts(n);

    for (uint32_t i = 0; i < nparts; i++) deal.Put((uint64_t)n * (i + 1) / nparts - (uint64_t)n * i / nparts + (nparts > 1 ? PARTIAL_BLOCKS : STORE_BLOCKS));
  }
  return deal.Busiest();
}

/*
   A sum over products with one thread block on a multiprocessor, with two, and with three, which are as much slower. No
   thread block has less than the mean: where that alone takes most or more, the answer is most
*/
static uint64_t TimeOf(const std::vector<uint32_t> &panels, const Cuts &cuts, uint64_t most)
{
  const Work     work    = WorkOf(panels, cuts);
  const uint64_t combine = panels.size() > cuts.from ? COMBINE_BLOCKS : 0; /* the longest panel is cut */
  uint64_t       blocks  = 0;

  for (size_t ctas = 1; ctas <= HRPB_MOST_CTAS; ctas++) blocks += ctas * ((work.sum + SLOTS * ctas - 1) / (SLOTS * ctas) + combine);
  if (blocks >= most) return most;
  blocks = 0;
  for (size_t ctas = 1; ctas <= HRPB_MOST_CTAS; ctas++) blocks += ctas * (BusiestLongestFirst(work, ctas) + combine);
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
static bool ChooseSequence(const Hrpb *h, const Work &work, const Cuts &cuts, bool longest_first[HRPB_MOST_CTAS])
{
  bool any = false;

  for (size_t ctas = 1; ctas <= HRPB_MOST_CTAS; ctas++) {
    longest_first[ctas - 1] = LEAST_GAIN * BusiestLongestFirst(work, ctas) < (LEAST_GAIN - 1) * BusiestInTurn(h, cuts, ctas);
    any |= longest_first[ctas - 1];
  }
  return any;
}

/* The items of work, those with most blocks first, and otherwise as ForItems() has them. No panel has more than most */
static std::vector<WorkItem> LongestFirst(const Hrpb *h, const Cuts &cuts, bool any_cut, int32_t nitems, size_t most)
{
  std::vector<WorkItem> items((size_t)nitems);
  std::vector<uint32_t> place(most + 1); /* how many items have so many blocks; then where the next one of them comes */
  uint32_t              before = 0;

  ForItems(h, cuts, any_cut, [&](const WorkItem &i) { place[i.end - i.begin]++; });
  for (size_t n = place.size(); n-- > 0;) {
    const uint32_t count = place[n];

    place[n] = before;
    before += count;
  }
  ForItems(h, cuts, any_cut, [&](const WorkItem &i) { items[place[i.end - i.begin]++] = i; });
  return items;
}

static HrpbError UploadParts(const Hrpb *h, const Cuts &cuts, cudaStream_t stream, HrpbSchedule *s)
{
  std::vector<WorkItem>   items;
  std::vector<SplitPanel> split = PanelsOfParts(h, cuts);

  s->nslots = (int32_t)split.size();
  s->nmany  = ListCutPanels(&split);
  s->nsplit = (int32_t)split.size() - s->nslots;
  items.reserve((size_t)s->nitems);
  ForItems(h, cuts, true, [&](const WorkItem &i) { items.push_back(i); });
  HrpbCall(Upload(items, stream, &s->items, &s->bytes));
  HrpbCall(Upload(split, stream, &s->split, &s->bytes));
  return ZeroCounts(h, stream, s);
}

static HrpbError Schedule(const Hrpb *h, cudaStream_t stream, HrpbSchedule *s)
{
  const uint32_t              most   = (uint32_t)std::max(HRPB_PART_COLS / h->params.block_cols, 1);
  const bool                  few    = h->npanels <= MOST_PANELS && HrpbSharesRows(&h->params);
  const std::vector<uint32_t> panels = PanelsByBlocks(h);
  Cuts                        cuts   = {FEWEST * most, most};
  Work                        work;
  bool                        any_cut, longest_first;

  s->nitems = h->npanels;
  if (!h->nblocks) return HRPB_SUCCESS;
  if (few) cuts = ChooseCuts(h, panels);
  work          = WorkOf(panels, cuts);
  any_cut       = work.n > (uint64_t)h->npanels;
  longest_first = few && ChooseSequence(h, work, cuts, s->longest_first);
  s->nitems     = (int32_t)work.n;
  if (any_cut) HrpbCall(UploadParts(h, cuts, stream, s));
  if (longest_first) HrpbCall(Upload(LongestFirst(h, cuts, any_cut, s->nitems, panels.size() - 1), stream, &s->longest, &s->bytes));
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
