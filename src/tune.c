/*
   Tuning: path and format by the times of a proxy, a few rows of the matrix that stand for all (kernels/proxydevice.h), instead of a model of the time. What is found is kept for a pattern and a number of columns.

   A product of the proxy takes its share of the time of a product of the matrix, but for the row-major copy that some kernels make of B: that has all of B whatever rows there are, so it is timed by itself and
   neither scaled nor left out. What is launched once is scaled, too, as if it were work: that is the same few microseconds for all variants, and the proxy is large enough.

   B and C are the proxy's own. When the path of a product is chosen B need not have its values yet, and numbers that are not finite would send sums through another computation.
*/
#include "aijtcuimpl.h"
#include <petsctime.h>

#if AIJTCU_HAVE_DEVICE
enum {
  MOST_COLUMNS = 256 /* of the proxy: kernels go through wider products in tiles of 128 at most */
};

static const PetscReal tie  = (PetscReal)1.02; /* times the fastest: the first of these wins, so that noise seldom moves the choice */
static const PetscReal near = (PetscReal)1.05; /* times the fastest so far: what is slower is timed once */

/*
   The variants: the formats that AIJTCUDeviceFormat() chooses among, and the scalar path. Those staged are for columns that come in runs, the gathered one (windows of one column) for scattered ones. How many columns
   of C a thread block has, and whether a kernel for CSR copies B, follow from these and from N in the kernels: there is nothing to set.

   Six formats more (windows of 16, half blocks, panels of 64 with bricks of 16, taller gathered panels) were among them: in double the winners were not closer to the best of all (kernels/README.md), and building bricks of the
   proxy is what most of tuning takes
*/
static const HrpbParams variants[] = {
  {16, 128, HRPB_STAGED_COLS, 8}, /* HrpbStagedParams() */
  {16, 128, HRPB_STAGED_COLS, 4},
  {8, 64, HRPB_SHORT_COLS, 8},
  {8, 64, HRPB_SHORT_COLS, 4},    /* HrpbShortParams() */
  {8, 8, 256, 1},                 /* HrpbGatherParams() */
  {0, 0, 0, 0}                    /* the scalar path */
};
_Static_assert(PETSC_STATIC_ARRAY_LENGTH(variants) <= AIJTCU_MOST_VARIANTS, "room for all variants");

/* Whether tuning has a meaning for A: otherwise the model decides, or what was set */
static PetscErrorCode AIJTCUTuneApplies(Mat A, const AIJTCUPlan *plan, PetscBool *applies)
{
  const AIJTCUOptions *o = AIJTCUGetOptions(plan);

  PetscFunctionBegin;
  *applies = (PetscBool)(o->tune == MAT_AIJTCU_TUNE_PROXY && o->path == MAT_AIJTCU_PATH_AUTO && !o->format.brick_rows && o->threshold == (PetscReal)PETSC_DEFAULT && o->reorder != MAT_AIJTCU_REORDER_ALWAYS);
  if (*applies) PetscCall(AIJTCUOnDevice(A, plan, applies));
  if (*applies) PetscCall(AIJTCUDeviceSupports(plan, applies));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* The same, and what was tuned is of A's pattern, and of the precision and the order of bricks that are set: where another order is not allowed any more the choice is another, and so is what replays it */
static PetscErrorCode AIJTCUTuneIsValid(Mat A, const AIJTCUPlan *plan, PetscBool *valid)
{
  const AIJTCUOptions *o = AIJTCUGetOptions(plan);
  AIJTCUPatternKey     key;

  PetscFunctionBegin;
  *valid = PETSC_FALSE;
  if (!plan->ntuned) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCall(AIJTCUPatternKeyGet(A, &key));
  if (AIJTCUPatternKeyEqual(&key, &plan->tune_key) && plan->tune_precision == o->precision && plan->tune_cluster == o->reorder) PetscCall(AIJTCUTuneApplies(A, plan, valid));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* What was tuned for N columns or, where there is no room for more of them, for the nearest number; NULL where nothing was */
PetscErrorCode AIJTCUTuneFind(Mat A, const AIJTCUPlan *plan, PetscInt N, const AIJTCUTuned **tuned)
{
  PetscBool valid;

  PetscFunctionBegin;
  *tuned = NULL;
  PetscCall(AIJTCUTuneIsValid(A, plan, &valid));
  for (PetscInt k = 0; k < plan->ntuned && valid; k++) {
    const AIJTCUTuned *t = &plan->tuned[k];

    if (t->N == N || (plan->ntuned == AIJTCU_MOST_TUNED && (!*tuned || PetscAbsInt(t->N - N) < PetscAbsInt((*tuned)->N - N)))) *tuned = t;
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Of the bricks, if one has won; otherwise format stays */
PetscErrorCode AIJTCUTuneFormat(Mat A, const AIJTCUPlan *plan, HrpbParams *format)
{
  PetscBool valid;

  PetscFunctionBegin;
  PetscCall(AIJTCUTuneIsValid(A, plan, &valid));
  if (valid && plan->tune_format.brick_rows) *format = plan->tune_format;
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode AIJTCUTuneReset(AIJTCUPlan *plan)
{
  PetscFunctionBegin;
  plan->ntuned = 0;
  PetscCall(PetscMemzero(&plan->tune_format, sizeof(plan->tune_format)));
  PetscCall(PetscFree(plan->tuned));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* One more option with its value. What does not fit is an error: half an option would be no replay, or another one */
static PetscErrorCode AIJTCUAppendOption(const char prefix[], const char name[], const char value[], char text[], size_t len)
{
  const char *part[] = {text[0] ? " -" : "-", prefix, name, " ", value};
  size_t      used, more;

  PetscFunctionBegin;
  for (size_t k = 0; k < PETSC_STATIC_ARRAY_LENGTH(part); k++) {
    PetscCall(PetscStrlen(text, &used));
    PetscCall(PetscStrlen(part[k], &more));
    PetscCheck(used + more < len, PETSC_COMM_SELF, PETSC_ERR_PLIB, "No room for -%s%s", prefix, name);
    PetscCall(PetscStrlcat(text, part[k], len));
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode AIJTCUAppendChoice(const char prefix[], const AIJTCUTuned *t, char text[], size_t len)
{
  const HrpbParams *f = &t->format;

  PetscFunctionBegin;
  PetscCall(AIJTCUAppendOption(prefix, "mat_aijtcu_path", MatAIJTCUPaths[t->path], text, len));
  if (t->clustered) PetscCall(AIJTCUAppendOption(prefix, "mat_aijtcu_reorder", MatAIJTCUReorders[MAT_AIJTCU_REORDER_ALWAYS], text, len));
  if (f->brick_rows) {
    char numbers[64];

    PetscCall(PetscSNPrintf(numbers, sizeof(numbers), "%d,%d,%d,%d", (int)f->brick_rows, (int)f->panel_rows, (int)f->block_cols, (int)f->window_cols));
    PetscCall(AIJTCUAppendOption(prefix, "mat_aijtcu_format", numbers, text, len));
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* The options, with the prefix of A or of the parallel matrix whose block it is, that replay a choice: of a sequential matrix the same bits without tuning. To be freed by the caller, unless there is an error */
PetscErrorCode AIJTCUTuneOptions(Mat A, const AIJTCUTuned *t, char **text)
{
  enum {
    OPTIONS = 3,
    WITHOUT = 64 /* characters of an option and its value beside the prefix */
  };
  const char    *prefix;
  AIJTCUPlan    *plan;
  size_t         len;
  PetscErrorCode ierr;

  PetscFunctionBegin;
  PetscCall(AIJTCUGetPlan(A, &plan));
  prefix = plan->owner ? plan->owner->prefix : ((PetscObject)A)->prefix;
  if (!prefix) prefix = "";
  PetscCall(PetscStrlen(prefix, &len));
  len = OPTIONS * (len + WITHOUT);
  PetscCall(PetscCalloc1(len, text));
  ierr = AIJTCUAppendChoice(prefix, t, *text, len);
  if (ierr) PetscCall(PetscFree(*text));
  PetscCall(ierr);
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Whether a variant is to be timed: formats of the kind that suits the columns, or the one that bricks have already */
static PetscBool AIJTCUIsCandidate(const AIJTCUPlan *plan, const HrpbParams *v)
{
  const HrpbParams *f = &plan->tune_format;

  if (!v->brick_rows) return plan->csr_scheduled;
  if (f->brick_rows) return AIJTCUParamsEqual(v, f);
  return (PetscBool)((v->window_cols > 1) == AIJTCUColumnsRun(&plan->survey));
}

/* What the times of the variants have in common */
typedef struct {
  AIJTCUTuned *tuned;
  HrpbProxy    proxy;
  double       columns; /* of the product, for each that the proxy has */
  PetscInt     ncopies; /* of B that were timed: */
  int32_t      ldr[2];  /* those for bricks and for CSR have rows of different lengths, */
  double       copy[2]; /* and take so many s */
  double       best;    /* s of the fastest product so far, as the proxy has it; negative before one was timed */
  double       spent;   /* s of the proxy's products */
} AIJTCUTuneRun;

/* Of the copy of B with this leading dimension; none takes no time */
static PetscErrorCode AIJTCUTimeCopy(const AIJTCUDeviceCSR *csr, int32_t ldr, AIJTCUTuneRun *r, double *seconds, HrpbError *err)
{
  HrpbTiming t;
  PetscInt   k = 0;

  PetscFunctionBegin;
  *err     = HRPB_SUCCESS;
  *seconds = 0;
  if (!ldr) PetscFunctionReturn(PETSC_SUCCESS);
  while (k < r->ncopies && r->ldr[k] != ldr) k++;
  if (k == r->ncopies) {
    PetscCheck(k < (PetscInt)PETSC_STATIC_ARRAY_LENGTH(r->ldr), PETSC_COMM_SELF, PETSC_ERR_PLIB, "More kinds of copies of B than there is room for");
    AIJTCUCallDevice(*err, HrpbTimeCopyDevice(&r->proxy, ldr, csr->stream, &t));
    if (*err) PetscFunctionReturn(PETSC_SUCCESS);
    r->ldr[k]  = ldr;
    r->copy[k] = t.seconds;
    r->spent += t.products * t.seconds;
    r->ncopies++;
  }
  *seconds = r->copy[k];
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* The copy of B comes first: a product that is so slow that it need not be timed again is known by what of it is scaled */
static PetscErrorCode AIJTCUTimeVariant(const AIJTCUPlan *plan, const AIJTCUDeviceCSR *csr, const HrpbParams *v, AIJTCUTuneRun *r, double *seconds, HrpbError *err)
{
  const double share = r->proxy.share;
  HrpbTiming   t;
  double       once, limit = 1e30;

  PetscFunctionBegin;
  PetscCall(AIJTCUTimeCopy(csr, v->brick_rows ? HrpbCopyForBricks(&r->proxy, v) : HrpbCopyForCsr(&r->proxy, &plan->csr, r->tuned->N), r, &once, err));
  if (*err) PetscFunctionReturn(PETSC_SUCCESS);
  if (r->best >= 0) limit = share * (double)near * r->best / r->columns + (1 - share) * once;
  if (v->brick_rows) AIJTCUCallDevice(*err, HrpbTimeBricksDevice(&r->proxy, v, AIJTCUGetPrecision(plan), limit, csr->stream, &t));
  else AIJTCUCallDevice(*err, HrpbTimeCsrDevice(&r->proxy, &plan->csr, r->tuned->N, limit, csr->stream, &t));
  if (*err) PetscFunctionReturn(PETSC_SUCCESS);
  r->spent += t.products * t.seconds;
  once     = PetscMin(once, t.seconds);
  *seconds = r->columns * (once + (t.seconds - once) / share);
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* What bricks are refused for is no error. Want of memory ends the timing, for the next variant would want as much, and so does a scalar path without a time, for there is nothing to compare with */
static PetscErrorCode AIJTCUTimeVariants(Mat A, const AIJTCUPlan *plan, const AIJTCUDeviceCSR *csr, AIJTCUTuneRun *r, HrpbError *err)
{
  PetscFunctionBegin;
  for (size_t k = 0; k < PETSC_STATIC_ARRAY_LENGTH(variants); k++) {
    const HrpbParams *v    = &variants[k];
    MatAIJTCUVariant *to   = &r->tuned->variant[k];
    double            time = 0;

    if (!AIJTCUIsCandidate(plan, v)) continue;
    PetscCall(AIJTCUTimeVariant(plan, csr, v, r, &time, err));
    if (*err == HRPB_ERR_DEVICE_MEMORY || *err == HRPB_ERR_MEMORY || (*err && !v->brick_rows)) PetscFunctionReturn(PETSC_SUCCESS);
    if (*err) PetscCall(PetscInfo(A, "aijtcu: bricks of %d rows, panels of %d, blocks of %d columns, windows of %d are not timed: %s\n", (int)v->brick_rows, (int)v->panel_rows, (int)v->block_cols, (int)v->window_cols, HrpbErrorString(*err)));
    else {
      to->seconds = (PetscReal)time;
      if (r->best < 0 || time < r->best) r->best = time;
    }
    *err = HRPB_SUCCESS;
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Whether the proxy has about as many entries for a row as the matrix. Segments are chosen by their number: where few of them have nearly all entries, none of these may be among the chosen */
static PetscBool AIJTCUProxyStands(const HrpbProxy *p)
{
  return (PetscBool)(p->entries <= 2 * p->share && 2 * p->entries >= p->share);
}

/* Columns that the proxy has: as many as products have, unless these are many, or B, a copy of it and C would take more memory than products may */
static PetscErrorCode AIJTCUProxyColumns(Mat A, int64_t segment_rows, PetscInt *N)
{
  const size_t rows = (size_t)PetscMin(A->rmap->n, 2 * HRPB_REPRESENTATIVES * segment_rows); /* the proxy has no more */

  PetscFunctionBegin;
  for (*N = PetscMin(*N, MOST_COLUMNS);; *N = (*N / 2 + 15) / 16 * 16) { /* as products are cut */
    const size_t columns = (size_t)*N, filled = (columns + 15) / 16 * 16;
    PetscBool    fits;

    PetscCall(AIJTCUWorkspaceFits(sizeof(PetscScalar) * ((size_t)A->cmap->n * (columns + filled) + rows * columns), &fits));
    if (fits || *N <= 16) PetscFunctionReturn(PETSC_SUCCESS);
  }
}

/* Also the second time, after memory was short */
static PetscErrorCode AIJTCUTimeVariantsCSR(Mat A, AIJTCUPlan *plan, const AIJTCUDeviceCSR *csr, void *ctx, HrpbError *err)
{
  AIJTCUTuneRun *r = (AIJTCUTuneRun *)ctx;
  PetscInt       N = r->tuned->N;
  int64_t        segment_rows;
  PetscErrorCode ierr = PETSC_SUCCESS;

  PetscFunctionBegin;
  AIJTCUCallDevice(*err, HrpbSegmentRowsDevice(&segment_rows));
  if (*err) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCall(AIJTCUProxyColumns(A, segment_rows, &N));
  AIJTCUCallDevice(*err, HrpbProxyCreateDevice(A->rmap->n, A->cmap->n, csr->rowptr, csr->colidx, csr->values, segment_rows, N, csr->stream, &r->proxy));
  if (*err) PetscFunctionReturn(PETSC_SUCCESS);
  r->ncopies             = 0;
  r->best                = -1;
  r->columns             = (double)r->tuned->N / (double)N;
  r->tuned->tuning.share = (PetscReal)r->proxy.share;
  if (AIJTCUProxyStands(&r->proxy)) ierr = AIJTCUTimeVariants(A, plan, csr, r, err);
  else ierr = PetscInfo(A, "aijtcu: no tuning for %" PetscInt_FMT " columns, the model decides: %g %% of the rows have %g %% of the entries\n", r->tuned->N, 100 * r->proxy.share, 100 * r->proxy.entries);
  HrpbProxyDestroyDevice(&r->proxy, csr->stream);
  PetscCall(ierr);
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* The first of those that are about as fast as the fastest */
static PetscInt AIJTCUTuneWinner(const AIJTCUTuned *t, double best)
{
  for (PetscInt k = 0; k < t->tuning.nvariants; k++) {
    if (t->variant[k].seconds > 0 && t->variant[k].seconds <= tie * (PetscReal)best) return k;
  }
  return -1;
}

/* The times of the variants for N columns, and the one that is taken. Where there are none, the model's choice of a path, which t has, stays */
static PetscErrorCode AIJTCUTuneByTime(Mat A, AIJTCUPlan *plan, AIJTCUTuned *t)
{
  AIJTCUTuneRun r = {.tuned = t, .best = -1};
  PetscBool     usable;
  HrpbError     err;

  PetscFunctionBegin;
  PetscCall(AIJTCUAnalyse(A, plan));
  PetscCall(AIJTCUPlanUpdateScalar(A, plan, &usable));
  if (!plan->survey.strip_cols16) PetscFunctionReturn(PETSC_SUCCESS); /* there is nothing to multiply, or not by bricks */
  for (size_t k = 0; k < PETSC_STATIC_ARRAY_LENGTH(variants); k++) {
    const HrpbParams *v = &variants[k];

    t->variant[k] = (MatAIJTCUVariant){v->brick_rows ? MAT_AIJTCU_PATH_TCU : MAT_AIJTCU_PATH_CSR, {v->brick_rows, v->panel_rows, v->block_cols, v->window_cols}, 0};
  }
  t->tuning.nvariants = (PetscInt)PETSC_STATIC_ARRAY_LENGTH(variants);
  PetscCall(AIJTCUDeviceCallForMemory(A, plan, AIJTCU_CSR_VALUES, AIJTCUTimeVariantsCSR, &r, &err));
  if (err) PetscCall(PetscInfo(A, "aijtcu: no tuning for %" PetscInt_FMT " columns, the model decides: %s\n", t->N, HrpbErrorString(err)));
  else t->tuning.winner = AIJTCUTuneWinner(t, r.best);
  if (t->tuning.winner < 0) {
    t->tuning.nvariants = 0; /* none that are compared, even if some were timed */
    if (t->path == MAT_AIJTCU_PATH_TCU) t->format = plan->tune_format.brick_rows ? plan->tune_format : AIJTCUDeviceFormat(A, &plan->survey); /* for good, whatever wins for other numbers of columns */
    PetscFunctionReturn(PETSC_SUCCESS);
  }
  t->path            = t->variant[t->tuning.winner].path;
  t->format          = variants[t->tuning.winner];
  t->reason          = "the fastest of a proxy";
  t->tuning.products = (PetscReal)(r.spent / (double)t->variant[t->tuning.winner].seconds);
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Path and format for N columns. Where there is another order that bricks may be of, in which columns come in runs, that is the model's to choose, and so is whether it pays for N. An order in which they do not was found in vain */
static PetscErrorCode AIJTCUTune(Mat A, AIJTCUPlan *plan, AIJTCUTuned *t)
{
  PetscLogDouble start, end;
  PetscBool      clustered;
  char          *text;
  PetscErrorCode ierr;

  PetscFunctionBegin;
  PetscCall(PetscTime(&start));
  t->tuning.winner = -1;
  PetscCall(AIJTCUChoosePath(A, plan, t->N, &t->path, &t->reason));
  PetscCall(AIJTCUClusterForBricks(A, plan, &clustered));
  clustered    = (PetscBool)(clustered && AIJTCUColumnsRun(&plan->clustered_survey));
  t->clustered = (PetscBool)(clustered && t->path == MAT_AIJTCU_PATH_TCU);
  if (!clustered) PetscCall(AIJTCUTuneByTime(A, plan, t));
  PetscCall(PetscTime(&end));
  t->tuning.seconds = (PetscReal)(end - start);
  PetscCall(AIJTCUTuneOptions(A, t, &text));
  ierr = PetscInfo(A, "aijtcu: tuned for %" PetscInt_FMT " columns in %g s (%s): %s\n", t->N, (double)t->tuning.seconds, t->reason, text);
  PetscCall(PetscFree(text));
  PetscCall(ierr);
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Before the path of a product with N columns is chosen */
PetscErrorCode AIJTCUTuneUpdate(Mat A, AIJTCUPlan *plan, PetscInt N)
{
  const AIJTCUTuned *found;
  AIJTCUTuned       *t;
  PetscBool          applies, valid;

  PetscFunctionBegin;
  PetscCall(AIJTCUTuneApplies(A, plan, &applies));
  if (!applies || !N || !A->rmap->n) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCall(AIJTCUTuneFind(A, plan, N, &found));
  if (found) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCall(AIJTCUTuneIsValid(A, plan, &valid));
  if (!valid) {
    PetscCall(AIJTCUTuneReset(plan));
    PetscCall(PetscCalloc1(AIJTCU_MOST_TUNED, &plan->tuned));
    PetscCall(AIJTCUPatternKeyGet(A, &plan->tune_key));
    plan->tune_precision = AIJTCUGetOptions(plan)->precision;
    plan->tune_cluster   = AIJTCUGetOptions(plan)->reorder;
  }
  t = &plan->tuned[plan->ntuned];
  PetscCall(PetscMemzero(t, sizeof(*t))); /* after an error in what follows it is used again */
  t->N = N;
  PetscCall(PetscLogEventBegin(MAT_AIJTCU_Tune, A, 0, 0, 0));
  PetscCall(AIJTCUTune(A, plan, t));
  PetscCall(PetscLogEventEnd(MAT_AIJTCU_Tune, A, 0, 0, 0));
  t->tuning.variant = t->variant;
  if (t->format.brick_rows) plan->tune_format = t->format;
  plan->ntuned++;
  PetscFunctionReturn(PETSC_SUCCESS);
}
#endif

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
  There are no variants where there was no product with as many columns yet, where tuning does not apply (see `MatAIJTCUSetTune()`), or where nothing could be timed and the model has decided. No matter what was tuned before a change of the pattern.

  Where there is no room for another number of columns (see `MatAIJTCUSetTune()`) this is what was found for the nearest one, and its times are those of products with as many columns as that.

  The variants are there until the pattern changes or the matrix is destroyed, and until the first product after `MatAIJTCUSetPrecision()` or `MatAIJTCUSetReorder()` has set something else.

  Of a `MATMPIAIJTCU` this is what was found for the diagonal block of this process.

.seealso: `MATAIJTCU`, `MatAIJTCUSetTune()`, `MatAIJTCUTuning`, `MatAIJTCUVariant`
@*/
PetscErrorCode MatAIJTCUGetTuning(Mat A, PetscInt N, MatAIJTCUTuning *tuning)
{
  Mat blocks[2];

  PetscFunctionBegin;
  PetscValidHeaderSpecific(A, MAT_CLASSID, 1);
  PetscAssertPointer(tuning, 3);
  PetscCall(PetscMemzero(tuning, sizeof(*tuning)));
  tuning->winner = -1;
  PetscCall(AIJTCUGetBlocks(A, blocks));
#if AIJTCU_HAVE_DEVICE
  AIJTCUPlan        *plan;
  const AIJTCUTuned *tuned;

  PetscCall(AIJTCUGetPlan(blocks[0], &plan));
  PetscCall(AIJTCUTuneFind(blocks[0], plan, N, &tuned));
  if (tuned) *tuning = tuned->tuning;
#else
  (void)N;
#endif
  PetscFunctionReturn(PETSC_SUCCESS);
}
