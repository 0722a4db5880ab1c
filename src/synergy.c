/*
   The synergy of a matrix with tensor cores (cuTeSpMM, sections 4 and 6.4), and the path that follows from it.
*/
#include "aijtcuimpl.h"

/* The part of a survey that alpha needs, on the host */
static PetscErrorCode AIJTCUHostSurvey(Mat A, AIJTCUPlan *plan, HrpbError *err)
{
  const PetscInt *rowptr, *colidx;

  PetscFunctionBegin;
  PetscCall(AIJTCUHostGetCSR(A, &rowptr, &colidx));
  *err = HrpbCountStripColumns(A->rmap->n, A->cmap->n, rowptr, colidx, 8, &plan->survey.strip_cols8);
  if (!*err) *err = HrpbCountStripColumns(A->rmap->n, A->cmap->n, rowptr, colidx, 16, &plan->survey.strip_cols16);
  plan->survey.nnz = A->rmap->n ? rowptr[A->rmap->n] - rowptr[0] : 0;
  PetscCall(AIJTCUHostRestoreCSR(A, &rowptr, &colidx));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Count, once for a pattern, what the model needs to know of bricks; nothing is built */
PetscErrorCode AIJTCUAnalyse(Mat A, AIJTCUPlan *plan)
{
  AIJTCUPatternKey key;
  PetscBool        device;
  HrpbError        err = HRPB_SUCCESS;

  PetscFunctionBegin;
  PetscCall(AIJTCUPatternKeyGet(A, &key));
  PetscCall(AIJTCUOnDevice(A, plan, &device));
  if (plan->analysed && (plan->analysed_device || !device) && AIJTCUPatternKeyEqual(&key, &plan->analysis_key)) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCall(PetscLogEventBegin(MAT_AIJTCU_Analyse, A, 0, 0, 0));
  PetscCall(PetscMemzero(&plan->survey, sizeof(plan->survey)));
#if AIJTCU_HAVE_DEVICE
  if (device) PetscCall(AIJTCUDeviceSurvey(A, plan, &err));
  if (err == HRPB_ERR_UNSUPPORTED) PetscCall(AIJTCUHostSurvey(A, plan, &err)); /* which has all that is of use there */
#endif
  if (!device) PetscCall(AIJTCUHostSurvey(A, plan, &err));
  if (err) { /* alpha is zero, and the choice the scalar path */
    PetscCall(PetscInfo(A, "aijtcu: synergy is unknown: %s\n", HrpbErrorString(err)));
    plan->survey.strip_cols8 = plan->survey.strip_cols16 = 0;
  }
  plan->analysed        = PETSC_TRUE;
  plan->analysed_device = device;
  plan->analysis_key    = key;
  PetscCall(PetscLogEventEnd(MAT_AIJTCU_Analyse, A, 0, 0, 0));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Whether the columns of a matrix come in runs: at least half of the rows of B that would be staged are needed */
PetscBool AIJTCUColumnsRun(const HrpbSurvey *survey)
{
  return (PetscBool)(2 * survey->needed_rows >= survey->staged_rows);
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
   The threshold in force. On a device with kernels for the plan's precision a model of the time decides, unless a threshold was set; on the host bricks
   are a reference, and by default nothing is worth them
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

#if AIJTCU_HAVE_DEVICE
/*
   Times on a device in picoseconds, fitted to what examples/bench measured on an H200 (test/results/README.md). They are constants, so that the choice, and with it the bits, is the same in every
   run
*/
typedef struct {
  PetscReal launch;       /* of a product, */
  PetscReal least;        /* and as long as it takes with next to nothing to do; */
  PetscReal block;        /* to come to the next block of the panel that has most of them, */
  PetscReal block_column; /* with so many columns; */
  PetscReal brick;        /* to decode a brick of 16 rows, */
  PetscReal brick_column; /* and to multiply it with a column of B, as far as it does not hide behind the next; */
  PetscReal staged;       /* to bring an entry of B into shared memory; */
  PetscReal dense;        /* and for an entry of B or C */
} AIJTCUBrickRates;

typedef struct {
  PetscReal launch;
  PetscReal entry;        /* to read an entry of the CSR, */
  PetscReal entry_column; /* to multiply it with an entry of B of a row-major copy, */
  PetscReal dense;        /* and to copy an entry of B or write one of C; */
  PetscReal in_place;     /* all of that for rows that are multiplied as they come, */
  PetscReal staged;       /* and for rows of B in shared memory, */
  PetscReal staged_entry; /* where reading an entry takes longer; */
  PetscReal column;       /* and for a product column by column, */
  PetscReal column_launch;
  PetscReal scattered;    /* as entry_column, where the rows of B that rows need are all over it, but in the second cache; */
  PetscReal spread;       /* otherwise this, */
  PetscReal spread_byte;  /* and so much for each byte of a tile of all rows of B */
} AIJTCUCSRRates;

typedef struct {
  PetscReal permute; /* an entry of B or C, to another order, */
  PetscReal bricks;  /* times as long as bricks of a matrix that came in a good order */
  PetscReal level;   /* of the search for it, */
  PetscReal entry;   /* and to name an entry anew, and build bricks of it, */
  PetscReal long_entry; /* where rows are so long that they are not sorted in registers; */
  PetscReal one_row;    /* and an entry of the longest row, which one warp goes through */
} AIJTCUClusterRates;

static const AIJTCUBrickRates brick_rates[] = {
  [HRPB_FP64]   = {9.7e6, 10e6, 1.0e6, 5.5e3, 41, 2.8, 0.18, 1.25},
  [HRPB_3XTF32] = {8.0e6, 22e6, 3.2e6, 19e3, 45, 1.45, 0.23, 1.9},
  [HRPB_TF32]   = {14e6, 15e6, 2.3e6, 23e3, 43, 0.62, 0.44, 0.91}
};
  #if PetscDefined(USE_REAL_SINGLE)
static const AIJTCUCSRRates csr_rates = {24e6, 3.2, 0.19, 2.1, 0.46, 0.22, 1.6, 2.9, 12e6, 0.34, 0.1, 2.8e-9};
static const AIJTCUClusterRates cluster_rates = {7.7, 0.9, 70e6, 150, 650, 57e3};
  #else
static const AIJTCUCSRRates csr_rates = {21e6, 2.6, 0.475, 4.5, 0.78, 0.345, 2.9, 3.9, 12e6, 0.76, 0.50, 4.7e-9};
static const AIJTCUClusterRates cluster_rates = {8.9, 1.0, 70e6, 150, 600, 57e3};
  #endif

enum {
  FEWEST_COLUMNS   = 8,   /* of half a tile: fewer take as long; */
  FEWEST_COPIED    = 4,   /* columns of a copy of B: so do fewer of these, */
  FEWEST_CSR       = 8,   /* and where rows are few, for the device is not busy with fewer; */
  FEWEST_SCATTERED = PetscDefined(USE_REAL_SINGLE) ? 10 : 8, /* columns of scattered rows of B: so do fewer of these */
  ENOUGH_PANELS    = 132, /* to keep all multiprocessors busy */
  PAYS_WITHIN      = 50,  /* products, what another order costs; */
  FEW_PANELS       = 165, /* a quarter more than that: with fewer, shorter panels, of which there are more, are faster; */
  BEST_STAGED      = 4,   /* rows of B for a row of A, in the best order of any mesh; */
  LONG_ROWS        = 128, /* entries of a row, on average, beyond which it costs more */
  FEW_ENTRIES      = 8    /* of a row, on average: bricks take as long to bring B and write C alone as rows that are multiplied as they come */
};

/* With the shorter panels that few rows are given: times as many blocks (of HrpbStagedParams()) in the panel that has most of them, unless that is cut. Fitted to four matrices */
static const PetscReal short_in_turn = (PetscReal)(PetscDefined(USE_REAL_SINGLE) ? 0.2 : 0.34);

static PetscBool AIJTCUHasFewPanels(Mat A)
{
  return (PetscBool)(A->rmap->n < (PetscInt)FEW_PANELS * HrpbStagedParams().panel_rows);
}

/* Whether windows half as wide stage fewer rows of B, by a tenth or more: about half of those that no entry needs are in windows whose other half has none either, seen for all kinds of matrices */
static PetscBool AIJTCUWantsNarrowWindows(const HrpbSurvey *survey)
{
  return (PetscBool)(5 * survey->needed_rows < 4 * survey->staged_rows);
}

/* Blocks of 8 unknowns: a quarter of their bricks of 16 rows is empty. Seen in double for 8 dof: 3 to 6 % for 32 columns and more, at the price of 3 % for 8; no gain in single */
static PetscBool AIJTCUFillsBricksOf8(const HrpbSurvey *survey)
{
  return (PetscBool)(PetscDefined(USE_REAL_DOUBLE) && 20 * survey->nnz >= 19 * 8 * survey->strip_cols8);
}

/* The format for a matrix of which nothing was set: staged where columns come in runs; otherwise strips gather what they need. Tables of times: kernels/README.md */
HrpbParams AIJTCUDeviceFormat(Mat A, const HrpbSurvey *survey)
{
  HrpbParams staged = HrpbStagedParams();

  if (!AIJTCUColumnsRun(survey)) return HrpbGatherParams();
  if (AIJTCUHasFewPanels(A)) return HrpbShortParams();
  if (AIJTCUFillsBricksOf8(survey)) return (HrpbParams){8, 64, HRPB_SHORT_COLS, 8};
  if (AIJTCUWantsNarrowWindows(survey)) staged.window_cols /= 2;
  return staged;
}

/* Rows of B that the model takes to be staged. Narrow windows of singles are half a sector each: what they save in rows does not show in the time of all matrices, so that is not counted on; nor with few panels, whose time has it */
static PetscReal AIJTCUStagedRows(Mat A, const HrpbSurvey *survey)
{
  if (PetscDefined(USE_REAL_SINGLE) || AIJTCUHasFewPanels(A) || !AIJTCUWantsNarrowWindows(survey)) return (PetscReal)survey->staged_rows;
  return (PetscReal)(survey->staged_rows + survey->needed_rows) / 2;
}

/* Bricks have nine tenths of the fill that alpha allows, seen for four families of matrices */
static PetscReal AIJTCUTimeOfBricks(Mat A, const AIJTCUPlan *plan, const HrpbSurvey *survey, PetscInt N)
{
  const AIJTCUBrickRates *r       = &brick_rates[AIJTCUGetPrecision(plan)];
  const HrpbParams        format  = HrpbStagedParams();
  const PetscReal         bricks  = (PetscReal)survey->strip_cols16 / (HRPB_BRICK_COLS * (PetscReal)0.9), staged = AIJTCUStagedRows(A, survey);
  const PetscReal         panels  = PetscMax(1, (PetscReal)A->rmap->n / (PetscReal)format.panel_rows);
  const PetscReal         columns = PetscMax(N, FEWEST_COLUMNS), in_turn = PetscMin((PetscReal)survey->most_staged_rows * (AIJTCUHasFewPanels(A) ? short_in_turn : 1), HRPB_PART_COLS) / (PetscReal)format.block_cols;
  const PetscReal         blocks  = (r->block + r->block_column * columns) * in_turn;
  const PetscReal         other   = r->launch + ((r->brick + r->brick_column * columns) * bricks + r->staged * staged * columns) * PetscMax(1, ENOUGH_PANELS / panels) + r->dense * (PetscReal)N * ((PetscReal)A->rmap->n + (PetscReal)A->cmap->n);

  return PetscMax(blocks + other, r->least);
}

/* The rows of B of a panel of A in shared memory: a multiprocessor has a panel at a time, and the last ones may keep few of them busy */
static PetscReal AIJTCUTimeOfStagedCSR(Mat A, const AIJTCUPlan *plan, PetscInt N)
{
  const AIJTCUCSRRates *r      = &csr_rates;
  const PetscReal       panels = (PetscReal)A->rmap->n / (PetscReal)plan->csr.panel_rows, turns = PetscCeilReal(panels / ENOUGH_PANELS);

  return r->launch + (r->staged_entry + r->staged * (PetscReal)N) * (PetscReal)plan->survey.nnz * turns * ENOUGH_PANELS / panels;
}

/* Columns of a copy of B that it takes as long to make and to write C of, */
static PetscReal AIJTCUCopiedColumns(Mat A, PetscInt N)
{
  return (PetscReal)PetscMax(N, AIJTCUHasFewPanels(A) ? FEWEST_CSR : FEWEST_COPIED);
}

/* and to multiply with: whole sixty-fours of bytes where there is more than one */
static PetscReal AIJTCUMultipliedColumns(Mat A, PetscInt N)
{
  const PetscInt unit = 64 / (PetscInt)sizeof(HrpbScalar);

  return N > unit ? (PetscReal)((N + unit - 1) / unit * unit) : AIJTCUCopiedColumns(A, N);
}

static PetscReal AIJTCUTimeOfCSR(Mat A, const AIJTCUPlan *plan, PetscInt N)
{
  const AIJTCUCSRRates *r   = &csr_rates;
  const PetscReal       nnz = (PetscReal)plan->survey.nnz, columns = (PetscReal)N;

  if (N <= plan->csr.direct_columns) return r->column_launch + r->column * columns * nnz;
  if (plan->csr.panel_rows) return AIJTCUTimeOfStagedCSR(A, plan, N);
  if (plan->csr.rows_entries) return r->launch + (r->entry + r->in_place * columns) * nnz;
  return r->launch + (r->entry + r->entry_column * AIJTCUMultipliedColumns(A, N)) * nnz + r->dense * AIJTCUCopiedColumns(A, N) * ((PetscReal)A->rmap->n + (PetscReal)A->cmap->n);
}

/* Where columns are scattered the rate is another, which follows from how much of a tile of B's copy the second cache holds; without a copy of B the time is the same as ever, or less */
static PetscReal AIJTCUTimeOfScattered(Mat A, const AIJTCUPlan *plan, PetscInt N)
{
  const AIJTCUCSRRates *r    = &csr_rates;
  const PetscReal       rate = PetscMax(r->scattered, r->spread + r->spread_byte * CSR_TILE_BYTES * (PetscReal)A->cmap->n);

  if (!CsrCopiesB(&plan->csr, N)) return AIJTCUTimeOfCSR(A, plan, N);
  return AIJTCUTimeOfCSR(A, plan, N) + (rate * (PetscReal)PetscMax(N, FEWEST_SCATTERED) - r->entry_column * AIJTCUMultipliedColumns(A, N)) * (PetscReal)plan->survey.nnz;
}

/*
   Whether bricks of the matrix in another order are faster, and the order pays within PAYS_WITHIN products with N columns, each time that is asked: the answer does not depend on what was asked
   before. What can be said without the order is said first
*/
static PetscErrorCode AIJTCUOrderPays(Mat A, AIJTCUPlan *plan, PetscInt N, PetscBool *pays)
{
  const AIJTCUClusterRates *r       = &cluster_rates;
  const PetscBool           forced  = AIJTCUClusterForced(plan);
  const PetscReal           nnz     = (PetscReal)plan->survey.nnz, rows = (PetscReal)A->rmap->n;
  const PetscReal           entries = nnz * (nnz > LONG_ROWS * rows ? r->long_entry : r->entry) + r->one_row * (PetscReal)plan->csr.longest;
  const HrpbSurvey          full    = {.nnz = plan->survey.nnz, .strip_cols16 = plan->survey.nnz / 16, .staged_rows = BEST_STAGED * (int64_t)A->rmap->n, .needed_rows = BEST_STAGED * (int64_t)A->rmap->n}; /* of bricks without a gap */
  PetscReal                 left, levels, gain;

  PetscFunctionBegin;
  PetscCall(AIJTCUWantsCluster(A, plan, pays));
  if (!plan->survey.strip_cols16 || (!forced && nnz <= FEW_ENTRIES * rows)) *pays = PETSC_FALSE;
  if (!*pays) PetscFunctionReturn(PETSC_SUCCESS);
  *pays  = PETSC_FALSE;
  left   = (AIJTCUColumnsRun(&plan->survey) ? AIJTCUTimeOfCSR(A, plan, N) : AIJTCUTimeOfScattered(A, plan, N)) - 2 * r->permute * (PetscReal)N * rows;
  levels = forced ? AIJTCU_MOST_LEVELS : PetscMin((PAYS_WITHIN * (left - r->bricks * AIJTCUTimeOfBricks(A, plan, &full, N)) - entries) / r->level, AIJTCU_MOST_LEVELS);
  if (levels < 1) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCall(AIJTCUClusterUpdate(A, plan, (PetscInt)levels));
  if (!AIJTCUClusterUsable(plan) || (!forced && !AIJTCUColumnsRun(&plan->clustered_survey))) PetscFunctionReturn(PETSC_SUCCESS);
  gain  = left - r->bricks * AIJTCUTimeOfBricks(A, plan, &plan->clustered_survey, N);
  *pays = (PetscBool)(gain > 0 && (forced || (plan->clustered.levels <= levels && PAYS_WITHIN * gain > entries + r->level * (PetscReal)plan->clustered.levels)));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* The choice between bricks and CSR on a device, where nothing was set */
static PetscErrorCode AIJTCUChooseByTime(Mat A, AIJTCUPlan *plan, PetscInt N, MatAIJTCUPath *path, const char **reason)
{
  const AIJTCUTuned *tuned;
  PetscBool          usable, pays;

  PetscFunctionBegin;
  PetscCall(AIJTCUTuneFind(A, plan, N, &tuned));
  if (tuned) {
    *path   = tuned->path;
    *reason = tuned->reason;
    PetscFunctionReturn(PETSC_SUCCESS);
  }
  *path = MAT_AIJTCU_PATH_CSR;
  PetscCall(AIJTCUPlanUpdateScalar(A, plan, &usable)); /* which kernel it would be */
  if (usable && plan->csr.rows_entries && plan->csr.nnz <= FEW_ENTRIES * (PetscInt64)A->rmap->n) { /* what needs no look at the columns, which takes as long as some products */
    *reason = "rows are short, and columns run with them";
    PetscFunctionReturn(PETSC_SUCCESS);
  }
  if (usable && plan->csr.direct_columns > 1 && N <= plan->csr.direct_columns) { /* nor does this */
    *reason = plan->csr.nnz ? "too few entries for bricks" : "no entries";
    PetscFunctionReturn(PETSC_SUCCESS);
  }
  PetscCall(AIJTCUAnalyse(A, plan));
  PetscCall(AIJTCUOrderPays(A, plan, N, &pays));
  if (!plan->survey.strip_cols16) *reason = plan->survey.nnz ? "synergy is unknown" : "no entries";
  else if (pays) {
    *path   = MAT_AIJTCU_PATH_TCU;
    *reason = "bricks are faster in another order";
  } else if (!AIJTCUColumnsRun(&plan->survey)) *reason = "columns are scattered";
  else if (usable && ((AIJTCUClusterForced(plan) && plan->clustered.n) || AIJTCUTimeOfBricks(A, plan, &plan->survey, N) >= AIJTCUTimeOfCSR(A, plan, N))) *reason = "bricks would be slower";
  else {
    *path   = MAT_AIJTCU_PATH_TCU;
    *reason = usable ? "bricks are faster" : "no kernel for the scalar path";
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}
#endif

/*
   The path of a product of the sequential matrix A with N dense columns, and the reason in a few words
*/
PetscErrorCode AIJTCUChoosePath(Mat A, AIJTCUPlan *plan, PetscInt N, MatAIJTCUPath *path, const char **reason)
{
  const PetscBool unset = AIJTCUGetOptions(plan)->threshold == (PetscReal)PETSC_DEFAULT ? PETSC_TRUE : PETSC_FALSE;
  PetscReal       threshold;
  PetscBool       bound;

  PetscFunctionBegin;
  (void)N; /* where there is no device */
  *path = AIJTCUGetOptions(plan)->path;
  if (!AIJTCU_HAVE_BRICKS && *path != MAT_AIJTCU_PATH_CUSPARSE) {
    *path   = MAT_AIJTCU_PATH_CSR;
    *reason = "no bricks for this scalar type";
    PetscFunctionReturn(PETSC_SUCCESS);
  }
#if AIJTCU_HAVE_DEVICE
  if (*path == MAT_AIJTCU_PATH_AUTO || *path == MAT_AIJTCU_PATH_TCU) {
    PetscBool device, supports = PETSC_TRUE;

    PetscCall(AIJTCUOnDevice(A, plan, &device));
    if (device) PetscCall(AIJTCUDeviceSupports(plan, &supports));
    if (!supports) {
      *path   = MAT_AIJTCU_PATH_CSR;
      *reason = "no brick kernel that pays here";
      PetscFunctionReturn(PETSC_SUCCESS);
    }
  }
#endif
  if (*path != MAT_AIJTCU_PATH_AUTO) {
    *reason = "as set";
    PetscFunctionReturn(PETSC_SUCCESS);
  }
  *path = MAT_AIJTCU_PATH_CSR;
  PetscCall(AIJTCUThreshold(plan, &threshold));
  PetscCall(MatBoundToCPU(A, &bound));
  if (threshold > 1) *reason = unset ? "no brick kernel that pays here" : "threshold above 1";
  else if (unset && bound) *reason = "bound to the host";
#if AIJTCU_HAVE_DEVICE
  else if (unset) PetscCall(AIJTCUChooseByTime(A, plan, N, path, reason));
#endif
  else if (threshold <= 0) {
    *path   = MAT_AIJTCU_PATH_TCU;
    *reason = "bricks at any alpha, as set";
  } else {
    MatAIJTCUSynergy s;

    PetscCall(AIJTCUAnalyse(A, plan));
    PetscCall(AIJTCUSynergyFromCounts(plan->survey.nnz, plan->survey.strip_cols8, plan->survey.strip_cols16, &s));
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
    *nnz += plan->survey.nnz;
    *cols8 += plan->survey.strip_cols8;
    *cols16 += plan->survey.strip_cols16;
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

#if AIJTCU_HAVE_BRICKS
static PetscInt64 AIJTCUBytesOfBricks(const AIJTCUPlan *plan)
{
  return (PetscInt64)(HrpbBytes(&plan->hrpb) + HrpbValueCount(&plan->hrpb) * sizeof(*plan->values));
}

static PetscInt64 AIJTCUBytesOnDevice(const AIJTCUPlan *plan)
{
  PetscInt64 bytes = plan->csr_scheduled ? plan->csr.bytes : 0;

  if (plan->clustered.n) bytes += (PetscInt64)HrpbClusteredBytes(&plan->clustered);
  if (plan->built && plan->on_device) bytes += AIJTCUBytesOfBricks(plan) + plan->schedule.bytes + (plan->map ? HrpbValueCount(&plan->hrpb) * (PetscInt64)sizeof(*plan->map) : 0);
  return bytes;
}
#endif

/*@
  MatAIJTCUGetSynergy - Gets the synergy model's view of the local rows of a `MATAIJTCU`

  Not Collective

  Input Parameter:
. A - an assembled `MATAIJTCU`

  Output Parameter:
. synergy - alpha, class and, once bricks exist, what they measure

  Level: intermediate

  Notes:
  Counts active columns once for a nonzero pattern, where the matrix is, in time proportional to the nonzeros; builds nothing. A pattern that cannot
  be counted (a size beyond 32 bits, no memory) has alpha 0; `-info` says why.

  A matrix that is not assembled is a `PETSC_ERR_ARG_WRONGSTATE`.

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
  PetscCall(AIJTCUGetPlan(A, &plan));
  PetscCall(AIJTCUThreshold(plan, &synergy->threshold));
  PetscCall(AIJTCUGetBlocks(A, blocks));
  for (PetscInt i = 0; i < 2; i++) {
    if (!blocks[i]) continue;
    PetscCall(AIJTCUGetPlan(blocks[i], &plan));
    synergy->csr_bytes += plan->survey.nnz * (PetscInt64)(sizeof(PetscScalar) + sizeof(PetscInt)) + (blocks[i]->rmap->n + 1) * (PetscInt64)sizeof(PetscInt);
#if AIJTCU_HAVE_BRICKS
    if (plan->built) {
      synergy->built = PETSC_TRUE;
      if (plan->bricks_clustered) synergy->reordered = PETSC_TRUE;
      synergy->bricks += plan->hrpb.nbricks;
      synergy->hrpb_bytes += AIJTCUBytesOfBricks(plan) + (plan->bricks_clustered ? (PetscInt64)HrpbClusteredBytes(&plan->clustered) : 0);
      slots += (PetscInt64)plan->hrpb.nbricks * plan->params.brick_rows * HRPB_BRICK_COLS;
      brick_nnz += plan->hrpb.nnz;
      brick_cols += plan->hrpb.nbrick_cols;
    }
    synergy->device_bytes += AIJTCUBytesOnDevice(plan);
#endif
  }
  if (slots) synergy->fill = (PetscReal)brick_nnz / (PetscReal)slots;
  if (brick_cols) synergy->beta = (PetscReal)synergy->bricks / (PetscReal)brick_cols;
  PetscFunctionReturn(PETSC_SUCCESS);
}
