/*
   Bricks times a row-major B: what bricks-staged does where columns of A do not run.

   A column-major B is read in windows of two rows at least, one for each 16 bytes of a column, and most rows of windows
   may be in vain. Of a row-major one a block has just the rows that it needs, in whole sectors and wherever they lie.
   Columns of B need not be aligned. A column-major B is copied first. C may be row-major, too.
*/
#include "stagedproduct.cuh"
#include "../common/rowmajor.cuh"

/* Columns of a row of the copy of B */
static int32_t LeadingDimension(int64_t N)
{
  return (int32_t)WholeSectors(N);
}

/* Panels of one strip are for bricks-gather: their rows of B are not shared */
static bool Takes(const SpmmFacts *facts, const HrpbParams *params, const SpmmOperands *o, const SpmmDevice *device)
{
  const int32_t strips = params->panel_rows / params->brick_rows;

  if (o->update != SPMM_ASSIGN || params->window_cols > 1) return false;
  /* RowCopies counts the bytes of a row of B in 32 bits */
  if (o->X.layout == SPMM_ROW_MAJOR_PADDED && (uint64_t)o->X.ld * sizeof(HrpbScalar) > UINT32_MAX) return false;
  if (strips == 1 || strips > STAGED_STRIPS || params->block_cols > StagedCols(params->brick_rows)) return false;
  return StagesFit(facts, params, device, true);
}

static HrpbError WorkBytes(const SpmmMatrix *A, const SpmmOperands *o, size_t *bytes)
{
  HrpbCall(ProductWork(A, o, bytes));
  if (o->X.layout != SPMM_ROW_MAJOR_PADDED) *bytes += sizeof(HrpbScalar) * (size_t)A->ncols * (size_t)LeadingDimension(o->N);
  return HRPB_SUCCESS;
}

/*
   B as the kernel reads it: rows that begin where 16 bytes do, a padded B where it is, others as a copy in R. What a
   copy has behind column N is multiplied, and not stored
*/
static HrpbError MakeRows(const SpmmOperands *o, HrpbScalar *R, Product *p)
{
  const int32_t ldr  = LeadingDimension(o->N), nrows = p->h->ncols;

  p->ldb = 1;
  if (o->X.layout == SPMM_ROW_MAJOR_PADDED) {
    p->brow = o->X.ld;
    return HRPB_SUCCESS;
  }
  p->B      = R;
  p->brow   = ldr;
  p->behind = o->X.layout == SPMM_COLUMN_MAJOR;
  if (p->behind) return RowMajor(o->X.array, o->X.ld, nrows, p->N, R, nrows, ldr, p->stream);
  return HrpbCopyColumns(R, ldr, o->X.array, o->X.ld, o->N, nrows, p->stream);
}

template <int P> static HrpbError Run(const Product *p, const SpmmDevice *device)
{
  StagedArgs<HrpbScalar> a;
  const Tiling           t = StagedArgsOf(p, device, true, &a);

  return LaunchFor<P, B_ROWS, false>(p, device, &t, &a);
}

static HrpbError RunProduct(const SpmmMatrix *A, const SpmmOperands *o, void *work, HrpbStream stream)
{
  HrpbScalar        *R     = (HrpbScalar *)((uint8_t *)work + ProductPartialBytes(A, o->N));
  const SpmmOperands plain = SpmmPlain(o->N, o->X.array, o->X.ld, o->Y.array, o->Y.ld);
  const SpmmFacts    facts = SpmmFactsOf(A);
  Product            p;
  const SpmmDevice  *device;

  HrpbCall(ProductOf(A, &plain, work, stream, &p, &device));
  if (!Takes(&facts, &A->hrpb->params, o, device)) return HRPB_ERR_UNSUPPORTED;
  if (o->Y.layout == SPMM_ROW_MAJOR) {
    p.crow = o->Y.ld;
    p.ldc  = 1;
  }
  if (!A->hrpb->nblocks) return ProductWithoutBricks(&p);
  HrpbCall(MakeRows(o, R, &p));
  return RunSlices(&p, LaunchColumns(device), [&](const Product *slice, int32_t) {
    HrpbCallPrecision(slice->precision, Run, slice, device);
    return HRPB_SUCCESS;
  });
}

SPMM_KERNEL(SpmmBricksRows) = {
  .name    = "bricks-rows",
  .what    = "bricks on tensor cores, with the rows of a row-major B, or a copy of B, that a block needs in shared memory",
  .op      = SPMM_OP_PRODUCT,
  .format  = SPMM_BRICKS,
  .takes   = Takes,
  .work    = WorkBytes,
  .seconds = BricksRowsSeconds,
  .copies  = LeadingDimension,
  .run     = RunProduct
};
