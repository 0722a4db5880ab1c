/*
   Bricks times a column-major B, read where it is.
*/
#include <algorithm>

#include "stagedproduct.cuh"

template <int P> static HrpbError Run(const Product *p, const SpmmDevice *device)
{
  StagedArgs<HrpbScalar> a;
  const Tiling           t = StagedArgsOf(p, device, false, &a);

  return IsAligned(p->B, p->ldb) ? LaunchFor<P, B_ALIGNED>(p, device, &t, &a) : LaunchFor<P, B_UNALIGNED>(p, device, &t, &a);
}

static bool Takes(const SpmmFacts *facts, const HrpbParams *params, const SpmmOperands *o, const SpmmDevice *device)
{
  return SpmmIsPlain(o) && IsStagedFormat(params) && StagesFit(facts, params, device, false);
}

/*
   Rows of B that a product stages, for the model. With few panels the measured time already has what narrow windows
   save
*/
static double StagedRows(const SpmmFacts *facts, const SpmmDevice *device)
{
  const HrpbSurvey *s = &facts->survey;

  if (!device->model->narrow_windows_save || SpmmHasFewPanels(facts->nrows, device)) return (double)s->staged_rows;
  return (double)s->needed_rows + (double)(s->staged_rows - s->needed_rows) * SpmmWindowColumns(facts) / HrpbStagedParams().window_cols;
}

/*
   The format is taken to be that of HrpbStagedParams(), whatever the parameters are. Bricks are taken to have nine
   tenths of the fill that alpha allows, as in four families of matrices
*/
static double Seconds(const SpmmFacts *facts, const HrpbParams *, HrpbPrecision precision, int64_t N, const SpmmDevice *device)
{
  const SpmmBrickTimes *t       = &device->model->bricks[precision];
  const HrpbParams      format  = HrpbStagedParams();
  const HrpbSurvey     *s       = &facts->survey;
  const double          columns = (double)std::max(N, (int64_t)TILE_COLS / 2); /* at least half a tile */
  const double          bricks  = (double)s->strip_cols16 / (0.9 * (int)HRPB_BRICK_COLS);
  const double          panels  = std::max(1.0, (double)facts->nrows / format.panel_rows);
  const double          staged  = StagedRows(facts, device);
  const double          longest = (double)s->most_staged_rows * staged / std::max(1.0, (double)s->staged_rows);
  const double          in_turn = std::min(longest * (SpmmHasFewPanels(facts->nrows, device) ? device->model->short_in_turn : 1), (double)HRPB_PART_COLS) / format.block_cols;
  const double          blocks  = (t->block + t->block_column * columns) * in_turn;
  const double          work    = (t->brick + t->brick_column * columns) * bricks + t->staged * staged * columns;
  const double          dense   = t->dense * (double)N * ((double)facts->nrows + (double)facts->ncols);

  return 1e-12 * std::max(blocks + t->launch + work * std::max(1.0, device->nsm / panels) + dense, t->least);
}

static HrpbError RunProduct(const SpmmMatrix *A, const SpmmOperands *o, void *work, HrpbStream stream)
{
  Product           p;
  const SpmmDevice *device;

  HrpbCall(ProductOf(A, o, work, stream, &p, &device));
  if (!A->hrpb->nblocks) return ProductWithoutBricks(&p);
  HrpbCallPrecision(A->precision, Run, &p, device);
  return CombineRun(&p);
}

SPMM_KERNEL(SpmmBricksStaged) = {
  .name    = "bricks-staged",
  .what    = "bricks on tensor cores, with the rows of B that a block needs in shared memory",
  .op      = SPMM_OP_PRODUCT,
  .format  = SPMM_BRICKS,
  .takes   = Takes,
  .work    = ProductWork,
  .seconds = Seconds,
  .run     = RunProduct
};
