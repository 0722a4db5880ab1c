/*
   Bricks times a column-major B, read where it is.
*/
#include "stagedproduct.cuh"

static bool Takes(const SpmmFacts *facts, const HrpbParams *params, const SpmmOperands *o, const SpmmDevice *device)
{
  return SpmmIsPlain(o) && IsStagedFormat(params) && StagesFit(facts, params, device, false);
}

/*
   Whether N columns of B take so much more than L2, and its rows are brought so often, that L2 does not hold the rows
   that are in use. Panels that lie apart share rows of B
*/
static bool IsBeyondCache(const Hrpb *h, int64_t N, const SpmmDevice *device)
{
  enum {
    CACHES = 3, /* times that L2 holds less than B */
    OFTEN  = 3  /* times that a row of B is brought, on average */
  };

  return h->ncols * N * (int64_t)sizeof(HrpbScalar) > CACHES * (int64_t)device->cache && h->nwindows * h->params.window_cols > OFTEN * (int64_t)h->ncols;
}

/*
   Columns of B that are multiplied at a time: those of a launch, of the widest tile, or of the model, whose rows in use
   L2 holds. A is read again for each slice. Values that are pairs are read fast, and leave room for more thread blocks:
   two tiles of 64 columns side by side took 1.08 of the time of one after the other
*/
static int32_t SliceColumns(const Product *p, const SpmmDevice *device)
{
  if (p->h->params.pairs) return (int)HALF_TILES * TILE_COLS;

  const int32_t wide = std::min(p->N, (int32_t)WIDE_TILES * (int32_t)TILE_COLS);

  if (!IsBeyondCache(p->h, p->N, device)) return LaunchColumns(device);
  return IsBeyondCache(p->h, wide, device) ? device->model->slice_columns : wide;
}

template <int P> static HrpbError Run(const Product *p, const SpmmDevice *device)
{
  return RunColumnMajor<P, false>(p, device);
}

static HrpbError RunProduct(const SpmmMatrix *A, const SpmmOperands *o, void *work, HrpbStream stream)
{
  Product           p;
  const SpmmDevice *device;

  HrpbCall(ProductOf(A, o, work, stream, &p, &device));
  if (!A->hrpb->nblocks) return ProductWithoutBricks(&p);
  return RunSlices(&p, SliceColumns(&p, device), [&](const Product *slice, int32_t) {
    if (slice->h->params.pairs) return StagedPairsRun(slice, device);
    HrpbCallPrecision(slice->precision, Run, slice, device);
    return HRPB_SUCCESS;
  });
}

SPMM_KERNEL(SpmmBricksStaged) = {
  .name    = "bricks-staged",
  .what    = "bricks on tensor cores, with the rows of B that a block needs in shared memory",
  .op      = SPMM_OP_PRODUCT,
  .format  = SPMM_BRICKS,
  .takes   = Takes,
  .work    = ProductWork,
  .seconds = BricksStagedSeconds,
  .run     = RunProduct
};
