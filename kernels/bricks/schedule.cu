/*
   Balance: a panel with many more blocks than others is cut into parts. Each is multiplied on its own, and their sums
   are added in order.

   Source: cuTeSpMM, section 5, where heavy row panels are split. Nothing is added by atomics, so the result has the
   same bits every time. Where a cut is made follows from the format alone. Cuts keep the sums of a long row short, and
   with them their rounding errors.
*/
#include <stdlib.h>

#include <vector>

#include "product.cuh"

enum {
  MANY = 2 /* the fewest parts of a panel that is cut */
};

namespace {
/* A panel that was cut: its parts have the slots first, first + 1, ... */
struct SplitPanel {
  int32_t panel, first, nslots;
};
} // namespace

static __global__ void LongestPanel(const uint32_t *blocked_row_ptr, int32_t npanels, uint32_t *longest)
{
  uint32_t most = 0;

  for (int32_t p = blockIdx.x * blockDim.x + threadIdx.x; p < npanels; p += gridDim.x * blockDim.x) most = max(most, blocked_row_ptr[p + 1] - blocked_row_ptr[p]);
  most = __reduce_max_sync(0xffffffff, most);
  if (threadIdx.x % 32 == 0) atomicMax(longest, most);
}

static HrpbError FindLongest(const Hrpb *h, cudaStream_t stream, uint32_t *d, uint32_t *longest)
{
  HrpbCallCuda(cudaMemsetAsync(d, 0, sizeof(*d), stream));
  LongestPanel<<<HrpbGrid(h->npanels, 256, 1024), 256, 0, stream>>>(h->blocked_row_ptr, h->npanels, d);
  HrpbCallCuda(cudaGetLastError());
  HrpbCallCuda(cudaMemcpyAsync(longest, d, sizeof(*d), cudaMemcpyDeviceToHost, stream));
  HrpbCallCuda(cudaStreamSynchronize(stream));
  return HRPB_SUCCESS;
}

/* The most blocks of a panel */
static HrpbError GetLongest(const Hrpb *h, cudaStream_t stream, uint32_t *longest)
{
  uint32_t *d;

  HrpbCall(HrpbAllocate(&d, 1, stream));
  return HrpbFree(d, FindLongest(h, stream, d, longest), stream);
}

template <typename T> static HrpbError Upload(const std::vector<T> &x, cudaStream_t stream, void **d)
{
  T *p;

  HrpbCall(HrpbAllocate(&p, (int64_t)x.size(), stream));
  *d = p;
  HrpbCallCuda(cudaMemcpyAsync(p, x.data(), sizeof(T) * x.size(), cudaMemcpyHostToDevice, stream));
  HrpbCallCuda(cudaStreamSynchronize(stream));
  return HRPB_SUCCESS;
}

static HrpbError Schedule(const Hrpb *h, cudaStream_t stream, HrpbSchedule *s)
{
  const uint32_t          part = HRPB_PART_COLS / h->params.block_cols > 1 ? HRPB_PART_COLS / h->params.block_cols : 1;
  uint32_t                longest;
  std::vector<uint32_t>   start;
  std::vector<WorkItem>   items;
  std::vector<SplitPanel> split;

  s->nitems = h->npanels;
  if (!h->nblocks) return HRPB_SUCCESS;
  HrpbCall(GetLongest(h, stream, &longest));
  if (longest < MANY * part) return HRPB_SUCCESS;
  start.resize((size_t)h->npanels + 1);
  HrpbCallCuda(cudaMemcpyAsync(start.data(), h->blocked_row_ptr, sizeof(uint32_t) * start.size(), cudaMemcpyDeviceToHost, stream));
  HrpbCallCuda(cudaStreamSynchronize(stream));
  for (int32_t p = 0; p < h->npanels; p++) { /* parts come first: they are the longest items */
    const uint32_t nblocks = start[p + 1] - start[p], nparts = (nblocks + part - 1) / part;

    if (nblocks < MANY * part) continue;
    split.push_back({p, s->nslots, (int32_t)nparts});
    for (uint32_t i = 0; i < nparts; i++) items.push_back({p, start[p] + i * part, start[p] + (i + 1) * part < start[p + 1] ? start[p] + (i + 1) * part : start[p + 1], s->nslots++});
  }
  for (int32_t p = 0; p < h->npanels; p++) {
    if (start[p + 1] - start[p] < MANY * part) items.push_back({p, start[p], start[p + 1], -1});
  }
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
