/*
   Which format of bricks suits a matrix on a device. Tables of times: kernels/EXPERIMENTS.md.
*/
#include "../spmm.h"
#include "../real/twice.h"

HrpbParams HrpbReferenceParams(void)
{
  return (HrpbParams){8, 64, 32, 1};
}

HrpbParams HrpbStagedParams(void)
{
  return (HrpbParams){16, 128, HRPB_STAGED_COLS, 8};
}

HrpbParams HrpbShortParams(void)
{
  return (HrpbParams){8, 64, HRPB_SHORT_COLS, 4};
}

HrpbParams HrpbRowsParams(void)
{
  return (HrpbParams){8, 64, HRPB_SHORT_COLS, 1};
}

HrpbParams HrpbGatherParams(void)
{
  return (HrpbParams){8, 8, 256, 1};
}

bool SpmmColumnsRun(const HrpbSurvey *survey)
{
  return 2 * survey->needed_rows >= survey->staged_rows;
}

/* A row of B that a panel needs meets 1.5 of its entries on average, or more */
bool SpmmPanelsShareRows(const HrpbSurvey *survey)
{
  return SpmmColumnsRun(survey) || 3 * survey->needed_rows <= 2 * survey->nnz / REAL_ENTRIES;
}

/*
   Panels in a good order need up to 13 rows of B for each of their rows (28 real matrices). Columns run in bad orders,
   too: where nodes have many unknowns, and where a small matrix has many entries in a row
*/
bool SpmmOrderMayHelp(const SpmmFacts *facts)
{
  enum {
    MANY_ROWS = 16
  };
  const HrpbSurvey *s = &facts->survey;

  return !SpmmColumnsRun(s) || s->needed_rows > MANY_ROWS * facts->nrows;
}

/* Shorter panels are faster where there are fewer panels than multiprocessors and a quarter more */
bool SpmmHasFewPanels(int64_t nrows, const SpmmDevice *device)
{
  return nrows < (int64_t)(5 * device->nsm / 4) * HrpbStagedParams().panel_rows;
}

/*
   Whether columns of B begin at multiples of so many bytes, where they follow each other in memory, as in PETSc. A
   window that does not begin where a sector of 32 bytes does is in two. Columns that do not begin at multiples of 16
   bytes are copied by scalars, which takes longer for each row
*/
static bool ColumnsBeginAt(const SpmmFacts *facts, int bytes)
{
  return facts->ncols * (int64_t)sizeof(HrpbScalar) % bytes == 0;
}

/*
   Columns of a window, where windows of HrpbStagedParams() stage so many rows of B that no entry needs. Windows half as
   wide then stage a tenth fewer rows, or more. About half of the rows that are not needed are in windows whose other
   half has no entry either, in matrices of all kinds. So windows a quarter as wide are for matrices that need less than
   six tenths, if wider ones were in two sectors. A window has 16 bytes of each column of B at least. Of complex numbers
   in double windows are sectors, or one number where columns of B do not begin where sectors do
*/
int32_t SpmmWindowColumns(const SpmmFacts *facts)
{
  const HrpbSurvey *s    = &facts->survey;
  const int32_t     most = HrpbStagedParams().window_cols, least = 16 / (int32_t)sizeof(HrpbScalar);

  if (COMPLEX_FORMATS) return ColumnsBeginAt(facts, 32) ? most / 2 : most / 4;
  if (5 * s->needed_rows >= 4 * s->staged_rows) return most;
  return 5 * s->needed_rows < 3 * s->staged_rows && most / 4 >= least && !ColumnsBeginAt(facts, 32) ? most / 4 : most / 2;
}

/*
   Some panel stages at least twice as many rows of B as the mean. Shorter panels share such work more evenly. They
   stage more rows. In double these must come fast: from three panels for each multiprocessor on, work is shared evenly
   enough unless windows are whole sectors. In single blocks are twice as wide, and panels have half as many
*/
static bool WantsShortPanels(const SpmmFacts *facts, const SpmmDevice *device)
{
  const HrpbSurvey *s      = &facts->survey;
  const double      panels = (double)facts->nrows / HrpbStagedParams().panel_rows;
  const bool        uneven = (double)s->most_staged_rows * panels >= 2 * (double)s->staged_rows;

  return uneven && (sizeof(HrpbScalar) == 4 || (ColumnsBeginAt(facts, 16) && (ColumnsBeginAt(facts, 32) || panels < 3 * device->nsm)));
}

/*
   Blocks of 8 unknowns: a quarter of their bricks of 16 rows is empty. In double bricks of 8 rows gain 3 to 6 % for 32
   columns and more, and lose 3 % for 8. They gain nothing in single
*/
static bool FillsBricksOf8(const HrpbSurvey *survey)
{
  return sizeof(HrpbScalar) == 8 && 20 * survey->nnz >= 19 * 8 * survey->strip_cols8;
}

/*
   Complex numbers. Sums of 20 entries and more want chunks, which bricks of 8 rows have, and for shorter rows these are
   as fast. Bricks of 16 rows have chunks where values are pairs. They take 0.93 of the time where they are full, as
   with 8 unknowns a node, and 1.0 to 1.1 elsewhere (kernels/EXPERIMENTS.md)
*/
static HrpbParams ComplexFormat(const SpmmFacts *facts, const SpmmDevice *device)
{
  const HrpbSurvey *s      = &facts->survey;
  HrpbParams        params = HrpbShortParams();

  if (20 * s->nnz >= 19 * 16 * s->strip_cols16 && !SpmmHasFewPanels(facts->nrows, device)) return HrpbStagedParams();
  params.window_cols = SpmmWindowColumns(facts);
  return params;
}

/*
   Bricks of 16 rows of real numbers add a row in one go. In double, where cuSPARSE adds rows of some hundred entries in
   a tree, their largest errors are 3 to 5 times its, with 44 entries a row and more on average. Bricks of 8 rows add in
   chunks: twice its errors, and take 0.94 to 1.07 of the time for such matrices (kernels/EXPERIMENTS.md)
*/
static bool HasLongRows(const SpmmFacts *facts)
{
  enum {
    LONG_ROWS = 40
  };

  return sizeof(HrpbScalar) == 8 && facts->survey.nnz >= LONG_ROWS * facts->nrows;
}

/*
   Bricks of a row-major copy of B stage the rows that are needed, and no others. The copy costs as much as three rows
   for each row of B. Of a column-major B windows of 4 stage half of what windows of 8 do in vain. Where columns of B
   begin at multiples of 32 bytes these are whole sectors, and the copy has not paid anywhere
*/
static bool WantsRows(const SpmmFacts *facts)
{
  enum {
    COPY = 3 /* rows */
  };
  const HrpbSurvey *s = &facts->survey;

  return !ColumnsBeginAt(facts, 32) && s->needed_rows + (int64_t)COPY * facts->ncols <= (s->needed_rows + s->staged_rows) / 2;
}

HrpbParams SpmmBrickFormat(const SpmmFacts *facts, const SpmmDevice *device)
{
  HrpbParams staged = HrpbStagedParams();

  if (!SpmmPanelsShareRows(&facts->survey)) return HrpbGatherParams();
  if (!SpmmColumnsRun(&facts->survey) || WantsRows(facts)) return HrpbRowsParams();
  if (COMPLEX_FORMATS) return ComplexFormat(facts, device);
  if (SpmmHasFewPanels(facts->nrows, device)) return HrpbShortParams();
  if (FillsBricksOf8(&facts->survey)) return (HrpbParams){8, 64, HRPB_SHORT_COLS, 8};
  if (HasLongRows(facts) || WantsShortPanels(facts, device)) return HrpbShortParams();
  staged.window_cols = SpmmWindowColumns(facts);
  return staged;
}

HrpbParams SpmmBrickFormatReordered(const SpmmFacts *facts)
{
  return SpmmColumnsRun(&facts->survey) ? HrpbRowsParams() : HrpbGatherParams();
}
