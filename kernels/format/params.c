/*
   Which format of bricks suits a matrix on a device. Tables of times: kernels/EXPERIMENTS.md.
*/
#include "../spmm.h"

HrpbParams HrpbStagedParams(void)
{
  return (HrpbParams){16, 128, HRPB_STAGED_COLS, 8};
}

HrpbParams HrpbShortParams(void)
{
  return (HrpbParams){8, 64, HRPB_SHORT_COLS, 4};
}

HrpbParams HrpbGatherParams(void)
{
  return (HrpbParams){8, 8, 256, 1};
}

bool SpmmColumnsRun(const HrpbSurvey *survey)
{
  return 2 * survey->needed_rows >= survey->staged_rows;
}

/* Shorter panels are faster where there are fewer panels than multiprocessors and a quarter more */
bool SpmmHasFewPanels(int64_t nrows, const SpmmDevice *device)
{
  return nrows < (int64_t)(5 * device->nsm / 4) * HrpbStagedParams().panel_rows;
}

/*
   Columns of a window: half as many where windows of HrpbStagedParams() stage so many rows of B that no entry needs. A
   quarter as many are 3 % faster with 8 columns of B, and slower from 16 on
*/
int32_t SpmmWindowColumns(const HrpbSurvey *survey)
{
  const int32_t most = HrpbStagedParams().window_cols;

  return 5 * survey->needed_rows >= 4 * survey->staged_rows ? most : most / 2;
}

/*
   Some panel stages at least twice as many rows of B as the mean. Shorter panels share such work more evenly, and their
   bricks of 8 rows are fuller
*/
static bool IsUneven(const SpmmFacts *facts)
{
  const HrpbSurvey *s = &facts->survey;

  return (double)s->most_staged_rows * (double)facts->nrows >= 2.0 * HrpbStagedParams().panel_rows * (double)s->staged_rows;
}

/*
   Blocks of 8 unknowns: a quarter of their bricks of 16 rows is empty. In double bricks of 8 rows gain 3 to 6 % for 32
   columns and more, and lose 3 % for 8. They gain nothing in single
*/
static bool FillsBricksOf8(const HrpbSurvey *survey)
{
  return sizeof(HrpbScalar) == 8 && 20 * survey->nnz >= 19 * 8 * survey->strip_cols8;
}

HrpbParams SpmmBrickFormat(const SpmmFacts *facts, const SpmmDevice *device)
{
  HrpbParams staged = HrpbStagedParams();

  if (!SpmmColumnsRun(&facts->survey)) return HrpbGatherParams();
  if (SpmmHasFewPanels(facts->nrows, device)) return HrpbShortParams();
  if (FillsBricksOf8(&facts->survey)) return (HrpbParams){8, 64, HRPB_SHORT_COLS, 8};
  if (IsUneven(facts)) return HrpbShortParams();
  staged.window_cols = SpmmWindowColumns(&facts->survey);
  return staged;
}

HrpbParams SpmmBrickFormatReordered(const SpmmFacts *facts)
{
  return SpmmColumnsRun(&facts->survey) ? HrpbShortParams() : HrpbGatherParams();
}
