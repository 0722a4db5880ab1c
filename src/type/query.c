/*
   What a program can ask of a MATAIJTCU beside its options: how it suits tensor cores, and what was tuned.
*/
#include "typeimpl.h"

/*
   Compute alpha and class from nonzeros and active columns of strips of 8 and 16 rows. The counts may be
   sums over several matrices.
*/
PetscErrorCode AIJTCUSynergyFromCounts(PetscInt64 nnz, PetscInt64 strip_cols8, PetscInt64 strip_cols16, MatAIJTCUSynergy *s)
{
  PetscFunctionBegin;
  s->alpha  = strip_cols16 ? (PetscReal)nnz / (16 * (PetscReal)strip_cols16) : 0;
  s->alpha8 = strip_cols8 ? (PetscReal)nnz / (8 * (PetscReal)strip_cols8) : 0;
  s->cls    = s->alpha < 0.125 ? MAT_AIJTCU_SYNERGY_LOW : s->alpha < 0.25 ? MAT_AIJTCU_SYNERGY_MEDIUM
                                                                             : MAT_AIJTCU_SYNERGY_HIGH;
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Nonzeros of a sequential matrix, on the host or on a device */
static PetscErrorCode AIJTCUNonzeros(Mat A, PetscInt64 *nnz)
{
  MatInfo info;

  PetscFunctionBegin;
  AIJTCUCallParent(A, MatGetInfo(A, MAT_LOCAL, &info));
  *nnz = (PetscInt64)info.nz_used;
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Nonzeros and active columns of strips of the local rows, as kernels see them. They are counted once for a pattern */
PetscErrorCode AIJTCULocalCounts(Mat A, PetscInt64 *nnz, PetscInt64 *cols8, PetscInt64 *cols16)
{
  AIJTCUPlan *plan;
  Mat         blocks[2];

  PetscFunctionBegin;
  *nnz = *cols8 = *cols16 = 0;
  PetscCall(AIJTCUGetBlocks(A, blocks));
  for (PetscInt i = 0; i < 2; i++) {
    PetscInt64 entries = 0;

    if (!blocks[i]) continue;
    PetscCall(AIJTCUGetPlan(blocks[i], &plan));
    PetscCall(AIJTCUPlanSync(blocks[i], plan));
    PetscCall(AIJTCUNonzeros(blocks[i], &entries));
    PetscCall(AIJTCUPlanSurvey(blocks[i], plan));
    *nnz += AIJTCU_PARTS * AIJTCU_PARTS * entries;
    *cols8 += plan->survey.survey.strip_cols8;
    *cols16 += plan->survey.survey.strip_cols16;
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*@
  MatAIJTCUGetSynergy - Gets the synergy model's view of the local rows of a `MATAIJTCU`

  Not Collective

  Input Parameter:
. A - an assembled `MATAIJTCU`

  Output Parameter:
. synergy - alpha, class and, once bricks exist, what they measure

  Level: intermediate

  Notes:
  Counts active columns once for a nonzero pattern, where the matrix is, in time proportional to the nonzeros; builds
  nothing. A pattern that cannot be counted (a size beyond 32 bits, no memory) has alpha 0; `-info` says why.

  After a product the threshold and the two times are those that `MAT_AIJTCU_PATH_AUTO` compares for as many columns.
  The times are zero where it compared none: on the host, or where one answer was clear without.

  A matrix that is not assembled is a `PETSC_ERR_ARG_WRONGSTATE`.

  Of a `MATMPIAIJTCU` the diagonal and the off-diagonal block of this process are taken together. Threshold and times
  are those of the diagonal block.

  Source:
  cuTeSpMM, section 4 (alpha, beta) and Table 1 (classes).

.seealso: `MATAIJTCU`, `MatAIJTCUSynergy`, `MatAIJTCUSetSynergyThreshold()`
@*/
PetscErrorCode MatAIJTCUGetSynergy(Mat A, MatAIJTCUSynergy *synergy)
{
  AIJTCUPlan *plan;
  Mat         blocks[2];
  PetscInt64  nnz, cols8, cols16, slots = 0, brick_nnz = 0, brick_cols = 0;

  PetscFunctionBegin;
  PetscValidHeaderSpecific(A, MAT_CLASSID, 1);
  PetscAssertPointer(synergy, 2);
  PetscCall(PetscMemzero(synergy, sizeof(*synergy)));
  PetscCall(AIJTCULocalCounts(A, &nnz, &cols8, &cols16));
  PetscCall(AIJTCUSynergyFromCounts(nnz, cols8, cols16, synergy));
  PetscCall(AIJTCUGetPlan(A, &plan));
  PetscCall(AIJTCUThreshold(plan, &synergy->threshold));
#if AIJTCU_HAVE_HALO
  synergy->device_bytes = AIJTCUHaloBytes(plan->halo);
#endif
  PetscCall(AIJTCUGetBlocks(A, blocks));
  synergy->csr_bytes = nnz / (AIJTCU_PARTS * AIJTCU_PARTS) * (PetscInt64)(sizeof(PetscScalar) + sizeof(PetscInt));
  for (PetscInt i = 0; i < 2; i++) {
    const AIJTCUBricks *b;

    if (!blocks[i]) continue;
    PetscCall(AIJTCUGetPlan(blocks[i], &plan));
    b = &plan->bricks;
    synergy->csr_bytes += (blocks[i]->rmap->n + 1) * (PetscInt64)sizeof(PetscInt);
    synergy->device_bytes += AIJTCUPlanDeviceBytes(plan);
#if AIJTCU_HAVE_BRICKS
    if (b->state != AIJTCU_READY) continue;
    synergy->built = PETSC_TRUE;
    if (b->reordered) synergy->reordered = PETSC_TRUE;
    synergy->bricks += b->hrpb.nbricks;
    synergy->hrpb_bytes += AIJTCUBricksBytes(b) + (b->reordered ? AIJTCUOrderBytes(plan) : 0);
    slots += (PetscInt64)b->hrpb.nbricks * b->format.brick_rows * HRPB_BRICK_COLS;
    brick_nnz += b->hrpb.nnz;
    brick_cols += b->hrpb.nbrick_cols;
#else
    (void)b;
#endif
  }
  PetscCall(AIJTCUGetPlan(blocks[0], &plan));
  if (plan->columns) {
    AIJTCUComparison c;

    PetscCall(AIJTCUPlanCompare(blocks[0], plan, plan->columns, PETSC_FALSE, &c));
    synergy->columns        = plan->columns;
    synergy->threshold      = c.threshold;
    synergy->bricks_seconds = (PetscReal)c.bricks;
    synergy->csr_seconds    = (PetscReal)c.csr;
  }
  if (slots) synergy->fill = (PetscReal)brick_nnz / (PetscReal)slots;
  if (brick_cols) synergy->beta = (PetscReal)synergy->bricks / (PetscReal)brick_cols;
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*@
  MatAIJTCUGetTuning - Gets what `MAT_AIJTCU_TUNE_PROXY` found for products of a `MATAIJTCU` with a number of columns

  Not Collective

  Input Parameters:
+ A - an assembled `MATAIJTCU`
- N - columns of the dense matrix

  Output Parameter:
. tuning - the variants with their times, and which of them products take

  Level: advanced

  Notes:
  There are no variants where there was no product with as many columns yet, where tuning does not apply (see
  `MatAIJTCUSetTune()`), or where nothing could be timed and the model has decided. A change of the pattern drops them.

  The first variant is the model's choice. It wins untimed where the model has all others much slower.

  Where there is no room for another number of columns (see `MatAIJTCUSetTune()`) this is what was found for the nearest
  one, and its times are those of products with as many columns as that.

  The variants are there until the pattern changes or the matrix is destroyed, and until the first product after
  `MatAIJTCUSetPrecision()` or `MatAIJTCUSetReorder()` has set something else.

  Of a `MATMPIAIJTCU` this is what was found for the diagonal block of this process.

.seealso: `MATAIJTCU`, `MatAIJTCUSetTune()`, `MatAIJTCUTuning`, `MatAIJTCUVariant`
@*/
PetscErrorCode MatAIJTCUGetTuning(Mat A, PetscInt N, MatAIJTCUTuning *tuning)
{
  const AIJTCUTuned *tuned;
  AIJTCUPlan        *plan;
  Mat                blocks[2];

  PetscFunctionBegin;
  PetscValidHeaderSpecific(A, MAT_CLASSID, 1);
  PetscAssertPointer(tuning, 3);
  PetscCall(PetscMemzero(tuning, sizeof(*tuning)));
  tuning->winner = -1;
  PetscCall(AIJTCUGetBlocks(A, blocks));
  PetscCall(AIJTCUGetPlan(blocks[0], &plan));
  PetscCall(AIJTCUPlanTuned(blocks[0], plan, SPMM_OP_PRODUCT, N, &tuned));
  if (tuned) *tuning = tuned->tuning;
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*@
  MatAIJTCUGetFacts - Gets the facts about a `MATAIJTCU` that the model of times reads, and the kernel for N columns

  Not Collective

  Input Parameters:
+ A - an assembled `MATAIJTCU`
- N - columns of the dense matrix

  Output Parameter:
. facts - the facts

  Level: developer

  Notes:
  A fact that is not known yet is found out, as by a first product. Active columns are counted, and rows are scheduled
  for the CSR path. A reordering is sought where the choice depends on it. Bricks are not built. With
  `MAT_AIJTCU_TUNE_PROXY` N columns are tuned, which takes one of the numbers of columns that there is room for.

  The benchmark in examples writes these facts beside its times, and `make fit` reads them.

  Of a `MATMPIAIJTCU` these are the facts of the diagonal block of this process.

.seealso: `MATAIJTCU`, `MatAIJTCUFacts`, `MatAIJTCUGetSynergy()`
@*/
PetscErrorCode MatAIJTCUGetFacts(Mat A, PetscInt N, MatAIJTCUFacts *facts)
{
  const AIJTCUAsk   ask = {.op = SPMM_OP_PRODUCT, .N = N};
  AIJTCUPlan       *plan;
  AIJTCUFacts       known;
  AIJTCUDecision    d;
  AIJTCUDeviceFacts device;
  SpmmFacts         matrix;
  const HrpbSurvey *survey = &matrix.survey;
  Mat               blocks[2];

  PetscFunctionBegin;
  PetscValidHeaderSpecific(A, MAT_CLASSID, 1);
  PetscAssertPointer(facts, 3);
  PetscCall(AIJTCUGetBlocks(A, blocks));
  PetscCall(AIJTCUGetPlan(blocks[0], &plan));
  PetscCall(AIJTCUPlanKnow(blocks[0], plan, &ask, &known, &d));
  PetscCall(AIJTCUDeviceFactsGet(plan, &device));
  matrix = known.matrix;
  if (d.reordered) matrix.survey = known.order_survey;
  *facts = (MatAIJTCUFacts){
    .path             = d.path,
    .kernel           = d.kernel ? AIJTCUPlanKernel(plan, &ask, &d)->name : "",
    .reordered        = d.reordered,
    .strip_cols8      = survey->strip_cols8,
    .strip_cols16     = survey->strip_cols16,
    .staged_rows      = survey->staged_rows,
    .needed_rows      = survey->needed_rows,
    .most_staged_rows = survey->most_staged_rows,
    .levels           = (PetscInt)known.order_found,
    .turns            = known.matrix.turns,
    .direct_columns   = known.matrix.direct_columns,
    .panel_rows       = known.matrix.panels_sampled ? 0 : known.matrix.panel_rows,
    .rows_entries     = known.matrix.rows_entries,
    .seconds          = (PetscReal)d.seconds
  };
  facts->model = device.device ? device.device->model->name : "";
  PetscFunctionReturn(PETSC_SUCCESS);
}
