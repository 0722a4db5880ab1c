/*
   The schedule of a CSR matrix: which rows are cut, into which sections the entries fall, and which kernel suits.

   A part is what a few lanes add one by one. Long rows are cut into parts, because they would keep a few lanes busy
   when all others are done. A section is what a thread block of direct.cu holds in shared memory: whole rows, or a
   piece of a row that is too long.
*/
#include <algorithm>
#include <string.h>

#include "csr.cuh"
#include "../common/launch.cuh"

enum {
  MOST_BLOCKS = 1024,       /* the most thread blocks: each ends with atomic operations on the same numbers */
  SAMPLES     = 64,         /* places where columns are looked at */
  SAMPLED     = 4096,       /* entries of each place */
  SLOTS_SHIFT = 13,         /* slots for twice as many columns as a place has entries */
  SLOTS       = 1 << SLOTS_SHIFT
};

namespace {
/* Of a row, or, summed up, of all rows before a row */
struct Counts {
  int32_t nfilled; /* rows with entries that are not cut */
  int32_t nlong, nparts, ngiant, nhuge, nsections; /* giant rows are longer than a section */

  __host__ __device__ Counts operator+(const Counts &b) const { return {nfilled + b.nfilled, nlong + b.nlong, nparts + b.nparts, ngiant + b.ngiant, nhuge + b.nhuge, nsections + b.nsections}; }
};
} // namespace

static __device__ int64_t Length(const HrpbInt *rowptr, int64_t row)
{
  return rowptr[row + 1] - rowptr[row];
}

namespace {
/* Limits of sections: the most entries of one, and the entries and rows within which several rows begin */
struct Limits {
  int32_t most, shared;
};
} // namespace
static constexpr Limits WHOLE_ROWS = {CSR_SECTION, CSR_SHARED}, CUT_ROWS = {CSR_CUT_SECTION, CSR_CUT_SHARED};

/* Entries of each section of a row that is longer than a section. They are whole parts */
static __device__ int32_t Piece(Limits limits)
{
  return limits.shared / CSR_MOST_PART * CSR_MOST_PART;
}

/* Whether a row might not fit behind others. It is so long that the next row begins a section anyway */
static __device__ bool IsAlone(int64_t length, Limits limits)
{
  return length > limits.most - limits.shared;
}

static_assert(CUT_ROWS.most - CUT_ROWS.shared >= CUT_ROWS.shared && WHOLE_ROWS.most - WHOLE_ROWS.shared >= CSR_MOST_PART, "the row behind one that is alone begins a section, and where no others are cut only those are alone that are longer than a section");

/* The shared section that a row begins in. Rows count as entries do: a section has few rows, even if they are empty */
static __device__ int64_t SharedSection(const HrpbInt *rowptr, int32_t shared, int64_t row)
{
  return (rowptr[row] - rowptr[0] + row) / shared;
}

static __device__ bool BeginsSection(const HrpbInt *rowptr, Limits limits, int64_t row)
{
  return row == 0 || IsAlone(Length(rowptr, row), limits) || SharedSection(rowptr, limits.shared, row) != SharedSection(rowptr, limits.shared, row - 1);
}

/* The first row that begins in shared section q or behind it */
static __device__ int64_t FirstRow(const HrpbInt *rowptr, int32_t shared, int64_t nrows, int64_t q)
{
  int64_t begin = 0;

  for (int64_t end = nrows; begin < end;) {
    const int64_t middle = begin + (end - begin) / 2;

    if (SharedSection(rowptr, shared, middle) < q) begin = middle + 1;
    else end = middle;
  }
  return begin;
}

/* Entries of the section that ends with this row; 0 where none ends */
static __device__ int64_t SectionEndingWith(const HrpbInt *rowptr, Limits limits, int64_t nrows, int64_t row)
{
  const int64_t length = Length(rowptr, row);

  if (IsAlone(length, limits)) return length <= limits.most ? length : Piece(limits);
  if (row + 1 < nrows && !BeginsSection(rowptr, limits, row + 1)) return 0;
  return rowptr[row + 1] - rowptr[FirstRow(rowptr, limits.shared, nrows, SharedSection(rowptr, limits.shared, row))];
}

namespace {
/* What the host needs to know */
struct Needs {
  HrpbInt            first, end;      /* the first entry of the matrix, and the one behind the last */
  unsigned long long longest;         /* longest row */
  unsigned long long longest_whole;   /* longest row that is not longer than a section */
  unsigned long long sectors;         /* csr-rows: sectors of a column of B that its warps read, entry by entry */
  unsigned long long turns;           /* csr-rows: turns of all lanes: for each, entries of its warp's longest row */
  unsigned long long eights;          /* csr-copy: the same for eight rows, of those that are not cut */
  int32_t            rows_entries;    /* csr-rows: the most entries of a thread block */
  int32_t            section_entries; /* entries of the largest section */
  int32_t            columns;         /* different columns of each sample, summed up */
  Counts             total;           /* of all rows */
};
} // namespace

static __global__ void __launch_bounds__(HRPB_THREADS) MeasureMatrix(const HrpbInt *rowptr, int32_t nrows, Needs *needs)
{
  unsigned long long longest = 0;
  uint32_t           whole   = 0;

  for (int64_t row = (int64_t)blockIdx.x * HRPB_THREADS + threadIdx.x; row < nrows; row += (int64_t)gridDim.x * HRPB_THREADS) {
    const int64_t length = Length(rowptr, row);

    longest = max(longest, (unsigned long long)length);
    if (length <= CSR_SECTION) whole = max(whole, (uint32_t)length);
  }
  if (blockIdx.x == 0 && threadIdx.x == 0) {
    needs->first = rowptr[0];
    needs->end   = rowptr[nrows];
  }
  longest = HrpbMostOfLanes(longest);
  whole   = __reduce_max_sync(HRPB_ALL_LANES, whole);
  if (threadIdx.x % HRPB_LANES == 0 && longest) atomicMax(&needs->longest, longest);
  if (threadIdx.x % HRPB_LANES == 0 && whole) atomicMax(&needs->longest_whole, whole);
}

namespace {
/* How rows are cut */
struct Rules {
  int32_t part_entries;
  Limits  limits;
};
} // namespace

static __host__ __device__ Rules RulesOf(int64_t nrows, const Needs *needs)
{
  const int32_t part_entries = CsrPartEntries(nrows, needs->end - needs->first);
  /* with sections of WHOLE_ROWS no row is cut within a section, which direct.cu relies on */
  const bool    cut          = (int64_t)needs->longest_whole > part_entries;

  return {part_entries, {cut ? CUT_ROWS.most : WHOLE_ROWS.most, cut ? CUT_ROWS.shared : WHOLE_ROWS.shared}};
}

/* Whether rows are short enough for csr-rows: with 16 entries a row it takes as long as a copy of B saves */
static __host__ __device__ bool AreShort(int64_t nrows, int64_t ncols, const Needs *needs)
{
  const int64_t nnz = needs->end - needs->first;

  return (int64_t)needs->longest <= CsrPartEntries(nrows, nnz) && nnz > ncols && nnz / nrows <= CSR_ROWS_ENTRIES / CSR_ROWS;
}

static __device__ Counts CountsOf(const HrpbInt *rowptr, const Rules &r, int64_t row)
{
  const int64_t length = Length(rowptr, row);
  Counts        c      = {};

  c.nlong     = length > r.part_entries;
  c.nfilled   = length > 0 && !c.nlong;
  c.nparts    = c.nlong ? (int32_t)((length + r.part_entries - 1) / r.part_entries) : 0;
  c.ngiant    = length > r.limits.most;
  c.nhuge     = length > CSR_HUGE;
  c.nsections = c.ngiant ? (int32_t)((length + Piece(r.limits) - 1) / Piece(r.limits)) : BeginsSection(rowptr, r.limits, row);
  return c;
}

/* The counts of the lane that is so far below */
static __device__ Counts Below(const Counts &c, int distance)
{
  const auto below = [=](int32_t x) { return __shfl_up_sync(HRPB_ALL_LANES, x, distance); };

  return {below(c.nfilled), below(c.nlong), below(c.nparts), below(c.ngiant), below(c.nhuge), below(c.nsections)};
}

/* total and the counts of the threads before. Those of all threads are added to total */
static __device__ Counts SumBefore(const Counts &own, Counts *warps, Counts *total)
{
  const int lane = threadIdx.x % HRPB_LANES, warp = threadIdx.x / HRPB_LANES;
  Counts    upto = own, before;

  for (int distance = 1; distance < HRPB_LANES; distance *= 2) {
    const Counts below = Below(upto, distance);

    if (lane >= distance) upto = upto + below;
  }
  before = Below(upto, 1);
  if (lane == 0) before = {};
  before = before + *total;
  __syncthreads(); /* the sums before have been read */
  if (lane == HRPB_LANES - 1) warps[warp] = upto;
  __syncthreads();
  for (int i = 0; i < HRPB_WARPS; i++) {
    if (i < warp) before = before + warps[i];
    *total = *total + warps[i];
  }
  return before;
}

/* Turns that the rows of eight lanes take together, in each of these lanes its share. All lanes of the warp call it */
static __device__ uint64_t TurnsOfEight(int64_t length, int32_t part_entries)
{
  int32_t longest = length <= part_entries ? (int32_t)length : 0;

  for (int distance = 1; distance < 8; distance *= 2) longest = max(longest, __shfl_xor_sync(HRPB_ALL_LANES, longest, distance));
  return (uint64_t)longest + (length > part_entries ? (uint64_t)length : 0);
}

/* What csr-rows would do with the rows of a thread block of its own. All threads call it */
static __device__ void MeasureRows(const HrpbInt *rowptr, const HrpbInt *colidx, int32_t nrows, int64_t first, Needs *needs)
{
  constexpr int32_t SECTOR  = HRPB_SECTOR / (int32_t)sizeof(HrpbScalar);
  const int64_t     row     = first + threadIdx.x, last = first + CSR_ROWS < nrows ? first + CSR_ROWS : nrows;
  uint32_t          sectors = 0, turns = 0;

  if (row < last) {
    const bool    above = threadIdx.x % HRPB_LANES != 0; /* the row before is in the warp, too */
    const HrpbInt begin = rowptr[row], before = above ? rowptr[row - 1] : 0, length = rowptr[row + 1] - begin, other = above ? begin - before : 0;

    for (HrpbInt k = 0; k < length; k++) sectors += k >= other || colidx[begin + k] / SECTOR != colidx[before + k] / SECTOR;
    turns = (uint32_t)length; /* no row is cut */
  }
  sectors = __reduce_add_sync(HRPB_ALL_LANES, sectors);
  turns   = HRPB_LANES * __reduce_max_sync(HRPB_ALL_LANES, turns);
  if (threadIdx.x % HRPB_LANES == 0) {
    atomicAdd(&needs->sectors, sectors);
    atomicAdd(&needs->turns, turns);
  }
  if (threadIdx.x == 0) atomicMax(&needs->rows_entries, (int32_t)(rowptr[last] - rowptr[first]));
}

static_assert((int)CSR_ROWS == (int)HRPB_THREADS, "a thread block counts the rows of one of csr-rows at a time");

/* The rows of each thread block of the next two kernels, which have the same grid: so many, in whole CSR_ROWS */
static __device__ int64_t Share(int64_t nrows, int64_t blocks)
{
  return ((nrows + CSR_ROWS - 1) / CSR_ROWS + blocks - 1) / blocks * CSR_ROWS;
}

/* Count rows, of each thread block in share, and of all in needs */
static __global__ void __launch_bounds__(HRPB_THREADS) CountRows(const HrpbInt *rowptr, const HrpbInt *colidx, int32_t nrows, int32_t ncols, Counts *share, Needs *needs)
{
  __shared__ Counts warps[HRPB_WARPS];
  const Rules       rules      = RulesOf(nrows, needs);
  const bool        short_rows = AreShort(nrows, ncols, needs);
  const int64_t     n = Share(nrows, gridDim.x), begin = blockIdx.x * n, end = begin + n < nrows ? begin + n : nrows;
  Counts            own = {}, total = {};
  int32_t           section = 0;
  uint64_t          eights  = 0;

  for (int64_t first = begin; first < end; first += CSR_ROWS) {
    const int64_t row = first + threadIdx.x;

    if (row < end) {
      own     = own + CountsOf(rowptr, rules, row);
      section = max(section, (int32_t)SectionEndingWith(rowptr, rules.limits, nrows, row));
    }
    eights += TurnsOfEight(row < end ? Length(rowptr, row) : 0, rules.part_entries);
    if (short_rows) MeasureRows(rowptr, colidx, nrows, first, needs);
  }
  section = __reduce_max_sync(HRPB_ALL_LANES, section);
  eights  = HrpbSumOfLanes(eights);
  if (threadIdx.x % HRPB_LANES == 0 && section) atomicMax(&needs->section_entries, section);
  if (threadIdx.x % HRPB_LANES == 0) atomicAdd(&needs->eights, (unsigned long long)eights);
  (void)SumBefore(own, warps, &total);
  if (threadIdx.x == 0) {
    share[blockIdx.x] = total;
    atomicAdd(&needs->total.nfilled, total.nfilled);
    atomicAdd(&needs->total.nlong, total.nlong);
    atomicAdd(&needs->total.nparts, total.nparts);
    atomicAdd(&needs->total.ngiant, total.ngiant);
    atomicAdd(&needs->total.nhuge, total.nhuge);
    atomicAdd(&needs->total.nsections, total.nsections);
  }
}

/*
   List long rows, sections, and unless it is NULL rows that are filled. total counts all rows, share those of each
   thread block. One more section says where the last one ends
*/
static __global__ void __launch_bounds__(HRPB_THREADS) ListRows(const HrpbInt *rowptr, int32_t nrows, Rules rules, Counts total, const Counts *share, CsrLongRow *rows, CsrSection *sections, int32_t *filled)
{
  __shared__ Counts warps[HRPB_WARPS];
  const int64_t     n = Share(nrows, gridDim.x), begin = blockIdx.x * n, end = begin + n < nrows ? begin + n : nrows;
  const int32_t     piece = Piece(rules.limits);
  Counts            own = {}, before = {};

  for (int i = threadIdx.x; i < blockIdx.x; i += HRPB_THREADS) own = own + share[i];
  (void)SumBefore(own, warps, &before);
  for (int64_t first = begin; first < end; first += CSR_ROWS) {
    const int64_t row = first + threadIdx.x;
    const Counts  c   = row < end ? CountsOf(rowptr, rules, row) : Counts(), b = SumBefore(c, warps, &before);

    if (c.nfilled && filled) filled[b.nfilled] = (int32_t)row;
    if (c.nlong) rows[c.nhuge ? b.nhuge : c.ngiant ? total.nhuge + b.ngiant - b.nhuge : total.ngiant + b.nlong - b.ngiant] = {(int32_t)row, b.nparts, c.nparts};
    for (int32_t k = 0; k < c.nsections; k++) sections[b.nsections + k] = {(HrpbInt)(rowptr[row] + (HrpbInt)k * piece), (int32_t)row, c.ngiant ? b.nparts + k * (piece / rules.part_entries) : -1};
  }
  if (blockIdx.x == 0 && threadIdx.x == 0) sections[total.nsections] = {rowptr[nrows], nrows, -1};
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

/* Whether there are enough entries for samples, and more than columns of B */
static __host__ __device__ bool HasSamples(int64_t ncols, int64_t nnz)
{
  return nnz > ncols && nnz >= (int64_t)SAMPLES * SAMPLED;
}

/* How many different columns the entries of a sample have */
static __global__ void __launch_bounds__(HRPB_THREADS) CountColumns(const HrpbInt *colidx, int64_t ncols, Needs *needs)
{
  __shared__ int32_t slot[SLOTS];
  const int64_t      nnz     = needs->end - needs->first;
  const HrpbInt     *sample  = colidx + needs->first + nnz / SAMPLES * blockIdx.x;
  int32_t            columns = 0;

  if (!HasSamples(ncols, nnz)) return;
  for (int32_t i = threadIdx.x; i < SLOTS; i += HRPB_THREADS) slot[i] = -1;
  __syncthreads();
  for (int32_t i = threadIdx.x; i < SAMPLED; i += HRPB_THREADS) {
    const int32_t col = (int32_t)sample[i];
    int32_t       found;

    for (uint32_t at = (uint32_t)col * 2654435761u >> (32 - SLOTS_SHIFT);; at++) { /* Knuth's multiplicative hash */
      found = atomicCAS(&slot[at % SLOTS], -1, col);
      if (found == -1 || found == col) break;
    }
    columns += found == -1;
  }
  columns = __reduce_add_sync(HRPB_ALL_LANES, columns);
  if (threadIdx.x % HRPB_LANES == 0) atomicAdd(&needs->columns, columns);
}

/*
   The most columns for csr-direct. A copy of B pays when its rows are read more than once, and by more than two
   columns. It does not pay for small products: copy and second kernel take a few microseconds. The columns of B are the
   second dimension of the grid
*/
static int32_t DirectColumns(const CsrSchedule *s)
{
  const int64_t most = 65535, two = ((int64_t)1 << 21) / (s->nnz + s->nrows); /* twice as many, for a small matrix */

  if (s->nnz <= s->ncols) return (int32_t)most;
  return two < 2 ? 1 : (int32_t)std::min(std::max(two / 2, (int64_t)2), most);
}

/*
   Whether narrow tiles may be faster. Where columns are scattered, and none has many more entries than others, the cost
   of a row of B depends on whether it is still in L2. This is twice as likely for tiles half as wide. But there are
   twice as many tiles, and each reads all entries. So tiles are narrow if a wide one of B does not fit into L2 and is
   not far too large
*/
static HrpbError MayWantNarrowTiles(int64_t ncols, bool *may)
{
  const int64_t     bytes = (int64_t)CSR_TILE_BYTES * ncols;
  const SpmmDevice *device;

  HrpbCall(SpmmGetDevice(&device));
  *may = bytes > device->cache && bytes < 8 * (int64_t)device->cache;
  return HRPB_SUCCESS;
}

/*
   Whether nearly all entries of a sample are in different columns. 2^18 columns that are met at random lack 1 percent.
   In an R-MAT graph 9 to 15 percent are lacking: a few columns have many entries, and their rows of B stay in L2 anyway
*/
static bool AreScattered(int32_t columns)
{
  return 100 * (int64_t)columns >= 97 * (int64_t)SAMPLES * SAMPLED;
}

/*
   How many lanes have a row: eight in double. In single four rows of a warp, of eight lanes each, are half a sector of
   C. So there eight lanes pay only where L2 puts the halves together (C takes at most a third of it) and where rows
   have all lengths. eight_anyway: where four lanes for each row would not keep the device busy, others may be idle
*/
static HrpbError EightColumns(CsrSchedule *s)
{
  const SpmmDevice *device;

  HrpbCall(SpmmGetDevice(&device));
  s->eight_columns = sizeof(HrpbScalar) == 8 ? HRPB_MAX_COLUMNS : s->nparts ? (int32_t)(device->cache / 3 / ((int64_t)sizeof(HrpbScalar) * s->nrows)) : 0;
  s->eight_anyway  = 4 * (int64_t)s->nrows <= (int64_t)device->nsm * CSR_RESIDENT * CSR_THREADS;
  return HRPB_SUCCESS;
}

/*
   Whether csr-rows suits. Up to half of what is read may be in vain, and lanes may be idle in up to half of their turns
*/
static bool IsForRows(int64_t nnz, const Needs *needs)
{
  const unsigned long long twice = 2 * (unsigned long long)nnz;

  return needs->rows_entries <= CSR_ROWS_ENTRIES && needs->sectors * HRPB_SECTOR <= twice * sizeof(HrpbScalar) && needs->turns <= twice;
}

namespace {
typedef struct {
  Needs       *needs;
  Counts      *share;  /* [blocks] */
  unsigned int blocks; /* thread blocks that count and list rows */
} Workspace;
} // namespace

/* Numbers of the matrix. The device finds by itself how rows are cut, so the host waits once */
static HrpbError Count(const HrpbInt *rowptr, const HrpbInt *colidx, Workspace *w, cudaStream_t stream, const CsrSchedule *s, Needs *needs)
{
  bool sampled;

  HrpbCall(MayWantNarrowTiles(s->ncols, &sampled));
  w->blocks = HrpbGrid(s->nrows, CSR_ROWS, MOST_BLOCKS);
  HrpbCall(HrpbAllocateTogether(stream, &w->needs, 1, &w->share, w->blocks));
  HrpbCallCuda(cudaMemsetAsync(w->needs, 0, sizeof(*w->needs), stream));
  HrpbCall(HrpbLaunch(MeasureMatrix, HrpbGrid(s->nrows, HRPB_THREADS, MOST_BLOCKS), HRPB_THREADS, 0, stream, rowptr, s->nrows, w->needs));
  HrpbCall(HrpbLaunch(CountRows, w->blocks, HRPB_THREADS, 0, stream, rowptr, colidx, s->nrows, s->ncols, w->share, w->needs));
  if (sampled) {
    HrpbCall(HrpbLaunch(CountColumns, SAMPLES, HRPB_THREADS, 0, stream, colidx, s->ncols, w->needs));
  }
  return HrpbBring(needs, w->needs, sizeof(*needs), stream);
}

/* What follows from the numbers */
static HrpbError Choose(const Needs *needs, CsrSchedule *s)
{
  s->nnz             = needs->end - needs->first;
  s->part_entries    = CsrPartEntries(s->nrows, s->nnz);
  s->direct_columns  = DirectColumns(s);
  s->longest         = (int64_t)needs->longest;
  s->turns           = (int64_t)needs->eights;
  s->nfilled         = needs->total.nfilled;
  s->nlong           = needs->total.nlong;
  s->nparts          = needs->total.nparts;
  s->ngiant          = needs->total.ngiant;
  s->nhuge           = needs->total.nhuge;
  s->nsections       = needs->total.nsections;
  s->section_entries = needs->section_entries;
  s->narrow_tiles    = HasSamples(s->ncols, s->nnz) && AreScattered(needs->columns);
  if (AreShort(s->nrows, s->ncols, needs) && IsForRows(s->nnz, needs)) s->rows_entries = needs->rows_entries;
  return EightColumns(s);
}

static HrpbError List(const HrpbInt *rowptr, const Workspace *w, const Needs *needs, cudaStream_t stream, CsrSchedule *s)
{
  const int64_t nfilled = s->nfilled < s->nrows / 2 ? (int64_t)s->nfilled + 1 : 0; /* also where all rows are cut */
  CsrLongRow   *rows;
  CsrPart      *parts;
  CsrSection   *sections;
  int32_t      *filled;

  HrpbCall(HrpbAllocateTogether(stream, &sections, (int64_t)s->nsections + 1, &filled, nfilled, &rows, s->nlong, &parts, s->nparts));
  s->sections  = sections;
  s->filled    = nfilled ? filled : NULL;
  s->long_rows = s->nlong ? rows : NULL;
  s->parts     = s->nlong ? parts : NULL;
  s->bytes     = (int64_t)sizeof(*sections) * (s->nsections + 1) + (int64_t)sizeof(*filled) * nfilled + (int64_t)sizeof(*rows) * s->nlong + (int64_t)sizeof(*parts) * s->nparts;
  HrpbCall(HrpbLaunch(ListRows, w->blocks, HRPB_THREADS, 0, stream, rowptr, s->nrows, RulesOf(s->nrows, needs), needs->total, w->share, rows, sections, (int32_t *)s->filled));
  if (s->nlong) {
    HrpbCall(HrpbLaunch(ListParts, HrpbGrid(s->nlong, 1), HRPB_THREADS, 0, stream, rowptr, rows, s->nlong, s->part_entries, parts));
  }
  return HRPB_SUCCESS;
}

HrpbError CsrScheduleDevice(int64_t nrows, int64_t ncols, const HrpbInt *rowptr, const HrpbInt *colidx, HrpbStream stream, CsrSchedule *s)
{
  Workspace w = {};
  Needs     needs;
  HrpbError err;

  memset(s, 0, sizeof(*s));
  if (nrows < 0 || ncols < 0) return HRPB_ERR_CSR;
  if (nrows >= INT32_MAX || ncols >= INT32_MAX) return HRPB_ERR_OVERFLOW;
  if (nrows == 0) return HRPB_SUCCESS;
  HrpbCall(CheckKernels());
  s->nrows = (int32_t)nrows;
  s->ncols = (int32_t)ncols;
  err      = Count(rowptr, colidx, &w, stream, s, &needs);
  if (!err) err = Choose(&needs, s);
  if (!err) err = List(rowptr, &w, &needs, stream, s);
  if (!err) err = CsrPanelsDevice(rowptr, colidx, 0, stream, s);
  err = HrpbFree(w.needs, err, stream);
  if (err) CsrScheduleDestroyDevice(s, stream);
  return err;
}

void CsrScheduleDestroyDevice(CsrSchedule *s, HrpbStream stream)
{
  (void)HrpbFree(s->sections, HRPB_SUCCESS, stream); /* the other lists lie behind it */
  CsrPanelsDestroy(s, stream);
  memset(s, 0, sizeof(*s));
}
