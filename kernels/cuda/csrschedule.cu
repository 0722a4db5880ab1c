/*
   Which rows are cut, into which sections the entries fall, and whether rows are multiplied as they come. A part is what a few lanes add one by one: long rows would keep them busy when all others are done. A section is
   what a thread block of the kernel without a copy of B holds in shared memory: whole rows, or a piece of one that is too long.
*/
#include <string.h>

#include <cub/device/device_scan.cuh>

#include "csr.cuh"

/* Of a row, and, summed up, of those before a row */
struct Counts {
  int32_t nlong, nparts, ngiant, nsections; /* giant: longer than a section */
};

struct AddCounts {
  __host__ __device__ Counts operator()(const Counts &a, const Counts &b) const { return {a.nlong + b.nlong, a.nparts + b.nparts, a.ngiant + b.ngiant, a.nsections + b.nsections}; }
};

static __device__ int64_t Length(const HrpbInt *rowptr, int64_t row)
{
  return rowptr[row + 1] - rowptr[row];
}

/* A row that might not fit behind others; it is so long that the next one begins elsewhere anyway */
static __device__ bool IsAlone(int64_t length)
{
  return length > CSR_SECTION - CSR_SHARED;
}

/* Rows count as well as entries, lest a section have many empty ones */
static __device__ int64_t SharedSection(const HrpbInt *rowptr, int64_t row)
{
  return (rowptr[row] - rowptr[0] + row) / CSR_SHARED;
}

static_assert(CSR_SECTION - CSR_SHARED >= CSR_SHARED, "the row behind one that is alone begins a section");

static __device__ bool BeginsSection(const HrpbInt *rowptr, int64_t row)
{
  return row == 0 || IsAlone(Length(rowptr, row)) || SharedSection(rowptr, row) != SharedSection(rowptr, row - 1);
}

static __global__ void __launch_bounds__(HRPB_THREADS) CountRows(const HrpbInt *rowptr, int32_t nrows, int32_t part_entries, Counts *count)
{
  for (int64_t row = (int64_t)blockIdx.x * HRPB_THREADS + threadIdx.x; row <= nrows; row += (int64_t)gridDim.x * HRPB_THREADS) {
    Counts c = {};

    if (row < nrows) {
      const int64_t length = Length(rowptr, row);

      c.nlong     = length > part_entries;
      c.nparts    = c.nlong ? (int32_t)((length + part_entries - 1) / part_entries) : 0;
      c.ngiant    = length > CSR_SECTION;
      c.nsections = c.ngiant ? (int32_t)((length + CSR_SECTION - 1) / CSR_SECTION) : BeginsSection(rowptr, row);
    }
    count[row] = c;
  }
}

/* before is the scanned count. One more section says where the last one ends */
static __global__ void __launch_bounds__(HRPB_THREADS) ListRows(const HrpbInt *rowptr, const Counts *before, int32_t nrows, int32_t part_entries, CsrLongRow *rows, CsrSection *sections)
{
  const int32_t ngiant = before[nrows].ngiant;

  for (int64_t row = (int64_t)blockIdx.x * HRPB_THREADS + threadIdx.x; row <= nrows; row += (int64_t)gridDim.x * HRPB_THREADS) {
    const Counts b = before[row], next = before[row < nrows ? row + 1 : row];
    const bool   giant = next.ngiant > b.ngiant;

    if (next.nlong > b.nlong) rows[giant ? b.ngiant : ngiant + b.nlong - b.ngiant] = {(int32_t)row, b.nparts, next.nparts - b.nparts};
    for (int32_t k = 0; k < next.nsections - b.nsections; k++) sections[b.nsections + k] = {(HrpbInt)(rowptr[row] + (HrpbInt)k * CSR_SECTION), (int32_t)row, giant ? b.nparts + k * (CSR_SECTION / part_entries) : -1};
    if (row == nrows) sections[b.nsections] = {rowptr[nrows], nrows, -1};
  }
}

static __global__ void __launch_bounds__(HRPB_THREADS) ListParts(const HrpbInt *rowptr, const CsrLongRow *rows, int32_t nlong, int32_t part_entries, CsrPart *parts)
{
  for (int32_t i = blockIdx.x; i < nlong; i += gridDim.x) {
    const CsrLongRow r = rows[i];

    for (int32_t k = threadIdx.x; k < r.nparts; k += HRPB_THREADS) {
      const HrpbInt begin = rowptr[r.row] + (HrpbInt)k * part_entries, left = rowptr[r.row + 1] - begin;

      parts[r.first + k] = {begin, (int32_t)(left < part_entries ? left : part_entries)};
    }
  }
}

static __global__ void __launch_bounds__(HRPB_THREADS) LargestSection(const CsrSection *sections, int32_t nsections, int32_t *largest)
{
  for (int64_t i = (int64_t)blockIdx.x * HRPB_THREADS + threadIdx.x; i < nsections; i += (int64_t)gridDim.x * HRPB_THREADS) atomicMax(largest, (int32_t)(sections[i + 1].begin - sections[i].begin));
}

/* What the kernel that takes rows as they come asks for: a thread block's entries, and sectors of a column of B that its warps read, entry by entry */
struct RowsNeed {
  unsigned long long sectors;
  int32_t            entries;
};

static __global__ void __launch_bounds__(CSR_ROWS) MeasureRows(const HrpbInt *rowptr, const HrpbInt *colidx, int32_t nrows, RowsNeed *need)
{
  constexpr int32_t SECTOR = 32 / (int32_t)sizeof(HrpbScalar);
  const int64_t     first = (int64_t)blockIdx.x * CSR_ROWS, row = first + threadIdx.x, last = first + CSR_ROWS < nrows ? first + CSR_ROWS : nrows;
  uint32_t          sectors = 0;

  if (row < last) {
    const bool    above = threadIdx.x % HRPB_LANES != 0; /* another row of the warp */
    const HrpbInt begin = rowptr[row], before = above ? rowptr[row - 1] : 0, length = rowptr[row + 1] - begin, other = above ? begin - before : 0;

    for (HrpbInt k = 0; k < length; k++) sectors += k >= other || colidx[begin + k] / SECTOR != colidx[before + k] / SECTOR;
  }
  sectors = __reduce_add_sync(HRPB_ALL_LANES, sectors);
  if (threadIdx.x % HRPB_LANES == 0) atomicAdd(&need->sectors, sectors);
  if (threadIdx.x == 0) atomicMax(&need->entries, (int32_t)(rowptr[last] - rowptr[first]));
}

/*
   Rows several times as long as the mean would keep a warp busy when all others are done. A power of two, so that a few more entries somewhere
   seldom move it
*/
static int32_t PartEntries(int64_t nrows, int64_t nnz)
{
  int32_t entries = CSR_LEAST_PART;

  while (entries < CSR_MOST_PART && entries < 4 * (nnz / nrows)) entries *= 2;
  return entries;
}

/*
   A copy of B pays when its rows are read more than once, and by more than a column. It never does for few products, which a copy and a second launch cost more than they save:
   some 10 microseconds. B's columns are the second dimension of the grid
*/
static int32_t DirectColumns(const CsrSchedule *s)
{
  const int64_t most = 65535, few = ((int64_t)1 << 21) / (s->nnz + s->nrows);

  if (s->nnz <= s->ncols) return (int32_t)most;
  return (int32_t)(few < 1 ? 1 : few < most ? few : most);
}

/*
   Whether the copy of B is left out: then it is read from one entry to the next what the matrix says, half of it in vain at most. With 16 entries a row that
   takes as long as the copy saves
*/
static HrpbError ScheduleRows(const HrpbInt *rowptr, const HrpbInt *colidx, RowsNeed *need, cudaStream_t stream, CsrSchedule *s)
{
  RowsNeed n;

  if (s->nlong || s->nnz <= s->ncols || s->nnz / s->nrows > CSR_ROWS_ENTRIES / CSR_ROWS) return HRPB_SUCCESS;
  HrpbCallCuda(cudaMemsetAsync(need, 0, sizeof(*need), stream));
  MeasureRows<<<HrpbGrid(s->nrows, CSR_ROWS), CSR_ROWS, 0, stream>>>(rowptr, colidx, s->nrows, need);
  HrpbCallCuda(cudaGetLastError());
  HrpbCallCuda(cudaMemcpyAsync(&n, need, sizeof(n), cudaMemcpyDeviceToHost, stream));
  HrpbCallCuda(cudaStreamSynchronize(stream));
  if (n.entries <= CSR_ROWS_ENTRIES && n.sectors * 32 <= (unsigned long long)s->nnz * 2 * sizeof(HrpbScalar)) s->rows_entries = n.entries;
  return HRPB_SUCCESS;
}

static HrpbError Schedule(const HrpbInt *rowptr, const HrpbInt *colidx, Counts *count, void *scan, size_t scan_bytes, cudaStream_t stream, CsrSchedule *s)
{
  const int64_t n = (int64_t)s->nrows + 1;
  int32_t      *largest = (int32_t *)count; /* when the counts have been used, as does what ScheduleRows() counts */
  Counts        total;
  CsrLongRow   *rows;
  CsrPart      *parts;
  CsrSection   *sections;

  CountRows<<<HrpbGrid(n, HRPB_THREADS), HRPB_THREADS, 0, stream>>>(rowptr, s->nrows, s->part_entries, count);
  HrpbCallCuda(cudaGetLastError());
  HrpbCallCuda(cub::DeviceScan::ExclusiveScan(scan, scan_bytes, count, count, AddCounts(), Counts(), n, stream));
  HrpbCallCuda(cudaMemcpyAsync(&total, count + s->nrows, sizeof(total), cudaMemcpyDeviceToHost, stream));
  HrpbCallCuda(cudaStreamSynchronize(stream));
  s->nlong     = total.nlong;
  s->nparts    = total.nparts;
  s->ngiant    = total.ngiant;
  s->nsections = total.nsections;
  HrpbCall(HrpbAllocate(&sections, (int64_t)s->nsections + 1));
  s->sections = sections;
  if (s->nlong) {
    HrpbCall(HrpbAllocate(&rows, s->nlong));
    s->long_rows = rows;
    HrpbCall(HrpbAllocate(&parts, s->nparts));
    s->parts = parts;
  }
  ListRows<<<HrpbGrid(n, HRPB_THREADS), HRPB_THREADS, 0, stream>>>(rowptr, count, s->nrows, s->part_entries, (CsrLongRow *)s->long_rows, sections);
  HrpbCallCuda(cudaGetLastError());
  if (s->nlong) {
    ListParts<<<HrpbGrid(s->nlong, 1), HRPB_THREADS, 0, stream>>>(rowptr, rows, s->nlong, s->part_entries, parts);
    HrpbCallCuda(cudaGetLastError());
  }
  HrpbCallCuda(cudaMemsetAsync(largest, 0, sizeof(*largest), stream));
  LargestSection<<<HrpbGrid(s->nsections, HRPB_THREADS), HRPB_THREADS, 0, stream>>>(sections, s->nsections, largest);
  HrpbCallCuda(cudaGetLastError());
  HrpbCallCuda(cudaMemcpyAsync(&s->section_entries, largest, sizeof(*largest), cudaMemcpyDeviceToHost, stream));
  HrpbCallCuda(cudaStreamSynchronize(stream));
  return ScheduleRows(rowptr, colidx, (RowsNeed *)count, stream, s);
}

HrpbError CsrScheduleDevice(int64_t nrows, int64_t ncols, const HrpbInt *rowptr, const HrpbInt *colidx, HrpbStream stream, CsrSchedule *s)
{
  Counts   *count = NULL;
  uint8_t  *scan  = NULL;
  size_t    bytes = 0;
  HrpbInt   first, end;
  HrpbError err;

  memset(s, 0, sizeof(*s));
  if (nrows < 0 || ncols < 0) return HRPB_ERR_CSR;
  if (nrows >= INT32_MAX || ncols >= INT32_MAX) return HRPB_ERR_OVERFLOW;
  if (nrows == 0) return HRPB_SUCCESS;
  HrpbCallCuda(cudaMemcpyAsync(&first, rowptr, sizeof(first), cudaMemcpyDeviceToHost, stream));
  HrpbCallCuda(cudaMemcpyAsync(&end, rowptr + nrows, sizeof(end), cudaMemcpyDeviceToHost, stream));
  HrpbCallCuda(cudaStreamSynchronize(stream));
  s->nrows          = (int32_t)nrows;
  s->ncols          = (int32_t)ncols;
  s->nnz            = end - first;
  s->part_entries   = PartEntries(nrows, s->nnz);
  s->direct_columns = DirectColumns(s);
  err               = HrpbAllocate(&count, nrows + 1);
  if (!err) {
    const cudaError_t cerr = cub::DeviceScan::ExclusiveScan(NULL, bytes, count, count, AddCounts(), Counts(), nrows + 1, stream);

    if (cerr != cudaSuccess) err = HrpbDeviceError(cerr);
  }
  if (!err) err = HrpbAllocate(&scan, (int64_t)bytes);
  if (!err) err = Schedule(rowptr, colidx, count, scan, bytes, stream, s);
  err = HrpbFree(scan, err);
  err = HrpbFree(count, err);
  if (err) CsrScheduleDestroyDevice(s);
  return err;
}

void CsrScheduleDestroyDevice(CsrSchedule *s)
{
  (void)cudaFree(s->long_rows);
  (void)cudaFree(s->parts);
  (void)cudaFree(s->sections);
  memset(s, 0, sizeof(*s));
}
