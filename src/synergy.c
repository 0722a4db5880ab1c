/*
   The synergy of a matrix with tensor cores (cuTeSpMM, sections 4 and 6.4), and the path that follows from it.
*/
#include "aijtcuimpl.h"

/* Count, once for a pattern, what alpha needs; nothing is built */
PetscErrorCode AIJTCUAnalyse(Mat A, AIJTCUPlan *plan)
{
  AIJTCUPatternKey key;
  const PetscInt  *rowptr, *colidx;
  PetscInt         nrows;
  PetscBool        done, device;
  int64_t          count[2] = {0, 0};
  const int32_t    rows[2]  = {8, 16};
  HrpbError        err      = HRPB_SUCCESS;

  PetscFunctionBegin;
  PetscCall(AIJTCUPatternKeyGet(A, &key));
  if (plan->analysed && AIJTCUPatternKeyEqual(&key, &plan->analysis_key)) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCall(PetscLogEventBegin(MAT_AIJTCU_Analyse, A, 0, 0, 0));
  PetscCall(AIJTCUOnDevice(A, plan, &device));
#if AIJTCU_HAVE_DEVICE
  for (PetscInt i = 0; i < 2 && device && !err; i++) PetscCall(AIJTCUDeviceCountStripColumns(A, rows[i], &count[i], &err));
#endif
  PetscCall(MatGetRowIJ(A, 0, PETSC_FALSE, PETSC_FALSE, &nrows, &rowptr, &colidx, &done));
  PetscCheck(done, PETSC_COMM_SELF, PETSC_ERR_PLIB, "No row access to a matrix of type %s", ((PetscObject)A)->type_name);
  for (PetscInt i = 0; i < 2 && !device && !err; i++) err = HrpbCountStripColumns(A->rmap->n, A->cmap->n, rowptr, colidx, rows[i], &count[i]);
  plan->nnz = A->rmap->n ? rowptr[A->rmap->n] - rowptr[0] : 0;
  PetscCall(MatRestoreRowIJ(A, 0, PETSC_FALSE, PETSC_FALSE, &nrows, &rowptr, &colidx, &done));
  if (err) { /* no slots counted: alpha is zero, and the choice the scalar path */
    PetscCall(PetscInfo(A, "aijtcu: synergy is unknown: %s\n", HrpbErrorString(err)));
    count[0] = count[1] = 0;
  }
  plan->strip_cols8  = count[0];
  plan->strip_cols16 = count[1];
  plan->analysed     = PETSC_TRUE;
  plan->analysis_key = key;
  PetscCall(PetscLogEventEnd(MAT_AIJTCU_Analyse, A, 0, 0, 0));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* alpha, intensity and class from nonzeros and active columns of 8- and 16-row strips (sums over any number of matrices) */
PetscErrorCode AIJTCUSynergyFromCounts(PetscInt64 nnz, PetscInt64 strip_cols8, PetscInt64 strip_cols16, MatAIJTCUSynergy *s)
{
  PetscFunctionBegin;
  s->alpha     = strip_cols16 ? (PetscReal)nnz / (16 * (PetscReal)strip_cols16) : 0;
  s->alpha8    = strip_cols8 ? (PetscReal)nnz / (8 * (PetscReal)strip_cols8) : 0;
  s->intensity = 512 * s->alpha;
  s->cls       = s->alpha < 0.125 ? MAT_AIJTCU_SYNERGY_LOW : s->alpha < 0.25 ? MAT_AIJTCU_SYNERGY_MEDIUM : MAT_AIJTCU_SYNERGY_HIGH;
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*
   The threshold in force. On a device with kernels for the plan's precision bricks beat the parent's product at any synergy (test/results); on the host
   they are a reference, and by default nothing is worth them
*/
PetscErrorCode AIJTCUThreshold(const AIJTCUPlan *plan, PetscReal *threshold)
{
  PetscBool device = PETSC_FALSE;

  PetscFunctionBegin;
  *threshold = AIJTCUGetOptions(plan)->threshold;
  if (*threshold != (PetscReal)PETSC_DEFAULT) PetscFunctionReturn(PETSC_SUCCESS);
#if AIJTCU_HAVE_DEVICE
  if (plan->device) PetscCall(AIJTCUDeviceSupports(plan, &device));
#endif
  *threshold = device ? 0 : AIJTCU_THRESHOLD_NEVER;
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*
   Whether N columns are enough for bricks on a device. Up to 16 columns a product with bricks takes about as long as with one: some time for each brick,
   of which there are nnz/(58 alpha) at nine tenths of the fill that alpha allows. The parent's product takes some time for each nonzero, and
   more for each column (it is what the scalar path was when this was measured). Where strips share next to no columns the bricks are gathered and the parent's reads of B are slow, too: twelve
   columns. Times are of an H200, in picoseconds; from 32 columns on bricks won for every matrix measured (test/results)
*/
static PetscErrorCode AIJTCUEnoughColumns(Mat A, AIJTCUPlan *plan, PetscInt N, MatAIJTCUPath *path, const char **reason)
{
  const PetscReal  brick  = PetscDefined(USE_REAL_SINGLE) ? 250 : 180;
  const PetscReal  entry  = PetscDefined(USE_REAL_SINGLE) ? 7.6 : 10.8;
  const PetscReal  column = PetscDefined(USE_REAL_SINGLE) ? 1.3 : 2.44;
  PetscBool        enough = (PetscBool)(N >= 32);
  MatAIJTCUSynergy s;

  PetscFunctionBegin;
  if (N >= 4 && N < 32) {
    PetscCall(AIJTCUAnalyse(A, plan));
    PetscCall(AIJTCUSynergyFromCounts(plan->nnz, plan->strip_cols8, plan->strip_cols16, &s));
    if (16 * s.alpha < 1.2) enough = (PetscBool)(N >= 12);
    else enough = (PetscBool)(58 * s.alpha * (entry + column * (PetscReal)N) > brick);
  }
  if (!enough) {
    *path   = MAT_AIJTCU_PATH_SCALAR;
    *reason = "too few columns";
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*
   The path of a product of the sequential matrix A with N dense columns, and the reason in a few words
*/
PetscErrorCode AIJTCUChoosePath(Mat A, AIJTCUPlan *plan, PetscInt N, MatAIJTCUPath *path, const char **reason)
{
  PetscReal threshold;
  PetscBool bound;

  PetscFunctionBegin;
  *path = AIJTCUGetOptions(plan)->path;
  if (!AIJTCU_HAVE_BRICKS && *path != MAT_AIJTCU_PATH_PARENT) {
    *path   = MAT_AIJTCU_PATH_SCALAR;
    *reason = "no bricks for this scalar type";
    PetscFunctionReturn(PETSC_SUCCESS);
  }
  if (*path != MAT_AIJTCU_PATH_AUTO) {
    *reason = "as set";
    PetscFunctionReturn(PETSC_SUCCESS);
  }
  *path = MAT_AIJTCU_PATH_SCALAR;
  PetscCall(AIJTCUThreshold(plan, &threshold));
  PetscCall(MatBoundToCPU(A, &bound));
  if (threshold > 1) *reason = AIJTCUGetOptions(plan)->threshold == (PetscReal)PETSC_DEFAULT ? "no brick kernel that pays here" : "threshold above 1";
  else if (AIJTCUGetOptions(plan)->threshold == (PetscReal)PETSC_DEFAULT && bound) *reason = "bound to the host";
  else if (threshold <= 0) {
    *path   = MAT_AIJTCU_PATH_TCU;
    *reason = "bricks pay at any alpha";
    if (AIJTCUGetOptions(plan)->threshold == (PetscReal)PETSC_DEFAULT) PetscCall(AIJTCUEnoughColumns(A, plan, N, path, reason));
  } else {
    MatAIJTCUSynergy s;

    PetscCall(AIJTCUAnalyse(A, plan));
    PetscCall(AIJTCUSynergyFromCounts(plan->nnz, plan->strip_cols8, plan->strip_cols16, &s));
    if (s.alpha >= threshold) *path = MAT_AIJTCU_PATH_TCU;
    *reason = s.alpha >= threshold ? "alpha at or above threshold" : "alpha below threshold";
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* The local sequential matrices that carry bricks: A itself, or the diagonal and off-diagonal block. A must be an assembled aijtcu */
PetscErrorCode AIJTCUGetBlocks(Mat A, Mat blocks[2])
{
  AIJTCUPlan *plan;

  PetscFunctionBegin;
  PetscCall(AIJTCUGetPlan(A, &plan));
  PetscCheck(plan, PetscObjectComm((PetscObject)A), PETSC_ERR_ARG_WRONG, "Matrix of type %s has no aijtcu plan: it must be of type %s", ((PetscObject)A)->type_name ? ((PetscObject)A)->type_name : "(not set)", MATAIJTCU);
  PetscCheck(A->assembled, PetscObjectComm((PetscObject)A), PETSC_ERR_ARG_WRONGSTATE, "Not for an unassembled matrix: call MatAssemblyBegin() and MatAssemblyEnd() first");
  blocks[0] = A;
  blocks[1] = NULL;
  if (plan->kind == AIJTCU_KIND_MPI) {
    PetscCall(AIJTCUAttachBlocks(A));
    PetscCall(MatMPIAIJGetSeqAIJ(A, &blocks[0], &blocks[1], NULL));
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Nonzeros and active columns of strips of the local rows */
PetscErrorCode AIJTCULocalCounts(Mat A, PetscInt64 *nnz, PetscInt64 *cols8, PetscInt64 *cols16)
{
  AIJTCUPlan *plan;
  Mat         blocks[2];

  PetscFunctionBegin;
  *nnz = *cols8 = *cols16 = 0;
  PetscCall(AIJTCUGetBlocks(A, blocks));
  for (PetscInt i = 0; i < 2; i++) {
    if (!blocks[i]) continue;
    PetscCall(AIJTCUGetPlan(blocks[i], &plan));
    PetscCall(AIJTCUAnalyse(blocks[i], plan));
    *nnz += plan->nnz;
    *cols8 += plan->strip_cols8;
    *cols16 += plan->strip_cols16;
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
  Counts active columns once for a nonzero pattern, on the host, in time proportional to the nonzeros; builds nothing.

  Of a `MATMPIAIJTCU` the diagonal and the off-diagonal block of this process are taken together.

  Source:
  cuTeSpMM, section 4 (alpha, beta, operational intensity) and Table 1 (classes).

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
  PetscCall(AIJTCUGetBlocks(A, blocks));
  for (PetscInt i = 0; i < 2; i++) {
    if (!blocks[i]) continue;
    PetscCall(AIJTCUGetPlan(blocks[i], &plan));
    synergy->csr_bytes += plan->nnz * (PetscInt64)(sizeof(PetscScalar) + sizeof(PetscInt)) + (blocks[i]->rmap->n + 1) * (PetscInt64)sizeof(PetscInt);
#if AIJTCU_HAVE_BRICKS
    if (plan->built) {
      synergy->built = PETSC_TRUE;
      synergy->bricks += plan->hrpb.nbricks;
      synergy->hrpb_bytes += (PetscInt64)(HrpbBytes(&plan->hrpb) + HrpbValueCount(&plan->hrpb) * sizeof(HrpbScalar));
      slots += (PetscInt64)plan->hrpb.nbricks * plan->params.brick_rows * HRPB_BRICK_COLS;
      brick_nnz += plan->hrpb.nnz;
      brick_cols += plan->hrpb.nbrick_cols;
    }
#endif
  }
  if (slots) synergy->fill = (PetscReal)brick_nnz / (PetscReal)slots;
  if (brick_cols) synergy->beta = (PetscReal)synergy->bricks / (PetscReal)brick_cols;
  PetscFunctionReturn(PETSC_SUCCESS);
}
