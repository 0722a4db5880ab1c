/*
   The model of the time of bricks-staged and bricks-rows, and of building bricks.

   Both go through blocks of bricks, and bring rows of B. From a column-major B whole sectors come, for each window and
   column. A window that does not begin where a sector does reaches into one more. From a row-major B the rows that are
   needed come, and nothing else.
*/
#include "seconds.h"
#include "../real/rates.h"
#include "../real/twice.h"

enum {
  STAGES_MANY = 16, /* rows of B that are staged for each row, beyond which neighbouring panels need not share them */
  MEET_OFTEN  = 25, /* percent: of needed rows by entries, up to which panels share rows of B with those nearby */
  MEET_SELDOM = 55  /* percent: from which on they share none */
};

/*
   Sectors of a window of a column, on average. Columns of B follow each other in memory, as in PETSc, and begin at
   multiples of some bytes
*/
static double SectorsOf(const SpmmFacts *facts, int32_t window_cols)
{
  const int64_t column = facts->ncols * (int64_t)sizeof(HrpbScalar), window = window_cols * (int64_t)sizeof(HrpbScalar);
  int64_t       begin  = HRPB_SECTOR;

  while (column % begin || begin > window) begin /= 2;
  return 1 + (double)(window - begin) / HRPB_SECTOR;
}

/*
   The share of what comes that no panel nearby has brought. Panels that lie near each other share rows of B, if the
   rows of a panel do. Where each entry of a panel needs a row of its own, columns are taken to be anywhere, and what L2
   does not hold is in memory alone. Where panels stage many rows for each of theirs, entries that hardly meet in one
   tell that panels hardly share rows either: bricks-staged waits for them then, wherever they are
*/
static double FarShare(const SpmmFacts *facts, int64_t N, bool waits, const SpmmDevice *device)
{
  const HrpbSurvey *s      = &facts->survey;
  const int64_t     nnz    = s->nnz / REAL_ENTRIES;
  const double      bytes  = (double)facts->ncols * (double)N * (double)sizeof(HrpbScalar);
  const double      memory = 10 * s->needed_rows < 9 * nnz || bytes <= device->model->cache ? 0 : 1 - device->model->cache / bytes;
  double            alone;

  if (!waits || s->staged_rows <= (int64_t)STAGES_MANY * facts->nrows) return memory;
  alone = (100 * (double)s->needed_rows / (double)nnz - MEET_OFTEN) / (MEET_SELDOM - MEET_OFTEN);
  alone = alone < 0 ? 0 : alone > 1 ? 1 : alone;
  return memory > alone ? memory : alone;
}

/*
   How many times as long as with all multiprocessors busy it takes. Thread blocks have a panel, which is shorter where
   panels are few, or a part of it, and a tile of columns of B
*/
static double Idle(const SpmmFacts *facts, int64_t tiles, const SpmmDevice *device)
{
  const HrpbParams format = SpmmHasFewPanels(facts->nrows, device) ? HrpbShortParams() : HrpbStagedParams();
  const double     panels = (double)facts->nrows / format.panel_rows, parts = (double)facts->survey.staged_rows / (LEAST_PART * format.block_cols);
  const double     pieces = (panels > parts ? panels : parts) * (double)tiles;

  return pieces < device->nsm ? device->nsm / (pieces < 1 ? 1 : pieces) : 1;
}

static int64_t Tiles(int64_t N, int64_t most)
{
  return N > most ? (N + most - 1) / most : 1;
}

/*
   The blocks of the longest item of work, of a panel that stages longest rows of B, where all stage staged. A panel is
   cut into parts of LEAST_PART blocks at least, and hardly into less than what a multiprocessor has to do
*/
static double InTurn(double longest, double staged, int64_t nrows, const SpmmDevice *device)
{
  const HrpbParams format = SpmmHasFewPanels(nrows, device) ? HrpbShortParams() : HrpbStagedParams();
  const double     least  = LEAST_PART * format.block_cols, share = staged / device->nsm;
  double           most   = share > least ? share : least;

  if (most > HRPB_PART_COLS) most = HRPB_PART_COLS;
  return (longest < most ? longest : most) / format.block_cols;
}

/*
   t        times of the kernel
   staged   rows of B, or of its copy, that blocks have in shared memory
   brought  entries that come for a column
   far      the share of these that no panel nearby has brought
   tiles    of columns, which thread blocks multiply side by side
   The format is taken to be that of HrpbStagedParams(), whatever the parameters are. Bricks are taken to have nine
   tenths of the fill that alpha allows, as in four families of matrices. They are decoded again for each half of
   WIDE_COLS: short panels have no wider tiles. A panel goes through its blocks one after the other, with WIDE_COLS
   columns at most. More columns are work of other thread blocks, and wait for multiprocessors. Panels that are cut cost
   something once, and something for each part
*/
static double Seconds(const SpmmFacts *facts, const SpmmBrickTimes *t, double staged, double brought, double far, int64_t N, int64_t tiles, const SpmmDevice *device)
{
  const HrpbParams   format  = HrpbStagedParams();
  const HrpbSurvey  *s       = &facts->survey;
  const double       columns = (double)(N < LEAST_TILE ? LEAST_TILE : N);
  const double       bricks  = (double)s->strip_cols16 / (0.9 * (int)HRPB_BRICK_COLS);
  const double       longest = s->staged_rows ? (double)s->most_staged_rows * staged / (double)s->staged_rows : 0;
  const double       in_turn = InTurn(longest, staged, facts->nrows, device);
  const double       alone   = in_turn * (columns < WIDE_COLS ? columns : WIDE_COLS), shared = staged / format.block_cols / device->nsm * columns;
  const double       wait    = alone > shared ? alone : shared;
  const double       blocks  = t->block * in_turn + t->block_column * (wait < in_turn * columns ? wait : in_turn * columns);
  const double       cut     = longest > HRPB_PART_COLS ? t->cut + t->part * longest / HRPB_PART_COLS : 0;
  const double       decoded = t->brick * (double)Tiles(N, WIDE_COLS / 2);
  const double       work    = (decoded + t->brick_column * columns) * bricks + (t->staged + t->far * far) * brought * columns;
  const double       dense   = t->dense * (double)N * ((double)facts->nrows + (double)facts->ncols);
  const double       all     = t->launch + blocks + cut + work * Idle(facts, tiles, device) + dense;

  return 1e-12 * (all > t->least ? all : t->least);
}

/* Bricks of complex numbers have shorter panels for the same work, and other shares of L2 and of instructions */
static SpmmBrickTimes StagedTimes(HrpbPrecision precision, const SpmmDevice *device)
{
  SpmmBrickTimes t = device->model->bricks[precision];

  if (REAL_ENTRIES == 1 || precision != HRPB_FP64) return t;
  t.launch *= complex_parts.bricks.launch;
  t.block_column *= complex_parts.bricks.block_column;
  t.brick *= complex_parts.bricks.brick;
  t.brick_column *= complex_parts.bricks.brick_column;
  t.staged *= complex_parts.bricks.staged;
  t.far *= complex_parts.bricks.far;
  t.dense *= complex_parts.bricks.dense;
  t.cut *= complex_parts.bricks.cut;
  t.part *= complex_parts.bricks.part;
  return t;
}

/* With few panels the measured time already has what narrow windows save, where it chooses them */
double BricksStagedSeconds(const SpmmFacts *facts, const HrpbParams *params, HrpbPrecision precision, int64_t N, const SpmmDevice *device)
{
  const HrpbSurvey *s      = &facts->survey;
  const int32_t     most   = HrpbStagedParams().window_cols;
  const bool        narrow = COMPLEX_FORMATS || (device->model->narrow_windows_save && !SpmmHasFewPanels(facts->nrows, device));
  const int32_t     window = narrow ? SpmmWindowColumns(facts) : most;
  const double      staged = (double)s->needed_rows + (double)(s->staged_rows - s->needed_rows) * window / most;
  const double      brought = staged / window * SectorsOf(facts, window) * (HRPB_SECTOR / (int)sizeof(HrpbScalar));
  const SpmmBrickTimes times = StagedTimes(precision, device);

  (void)params;
  return Seconds(facts, &times, staged, brought, FarShare(facts, N, true, device), N, Tiles(N, WIDE_COLS), device);
}

/* The same for the rows that are needed, and a copy of B. Each tile of columns goes through A anew. All are as wide */
double BricksRowsSeconds(const SpmmFacts *facts, const HrpbParams *params, HrpbPrecision precision, int64_t N, const SpmmDevice *device)
{
  const SpmmBrickTimes *t      = &device->model->rows[precision];
  const double          launch = 1e-12 * t->launch, needed = (double)facts->survey.needed_rows;
  const int64_t         tiles  = Tiles(N, ROWS_TILE_BYTES / (int64_t)sizeof(HrpbScalar)), columns = (N + tiles - 1) / tiles;

  (void)params;
  return launch + (Seconds(facts, t, needed, needed, FarShare(facts, columns, false, device), columns, tiles, device) - launch) * (double)tiles;
}

/* To build bricks, and to find out which ones: beyond what the CSR path takes to begin */
double SpmmSecondsToBuild(const SpmmFacts *facts, const SpmmDevice *device)
{
  const SpmmBuildTimes *t = &device->model->build;

  return 1e-12 * (t->start + t->entry * (double)facts->nnz + t->staged * (double)facts->survey.staged_rows);
}
