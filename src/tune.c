/*
   Tuning: the choice of path and format by measured times instead of a model. The times are those of a proxy, a few
   rows of the matrix that stand for all (kernels/proxy/proxy.h). What is found is kept for a pattern, an operation and
   a number of columns. It is a fact for the choice.

   The time of a proxy's product is scaled to the whole matrix. One part is not: the row-major copy of B that some
   kernels make. It has all of B, with any number of rows, so it is timed by itself and added unscaled. The time of a
   launch is scaled as if it were work. That adds the same few microseconds to all variants, and the proxy is large
   enough for it.

   B and C are the proxy's own. When the path of a product is chosen, B need not have its values yet. Numbers that are
   not finite would send sums through another computation.

   The variants are the formats among which a device chooses (AIJTCUFormat()), and the CSR path. The kernels derive the
   rest from these and from N: how many columns of C a thread block has, and whether a CSR kernel copies B.

   Six formats more were variants once: windows of 16, half blocks, panels of 64 with bricks of 16, taller gathered
   panels. In double precision the winners were not closer to the best of all (kernels/EXPERIMENTS.md), and building
   bricks of the proxy takes most of the time of tuning.
*/
#include "aijtcuimpl.h"

/*
   Append one option with its value. One that does not fit is an error, because a cut option would replay another
   choice
*/
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

static PetscErrorCode AIJTCUAppendChoice(const char prefix[], const AIJTCUDecision *d, char text[], size_t len)
{
  const HrpbParams *f = &d->format;

  PetscFunctionBegin;
  PetscCall(AIJTCUAppendOption(prefix, "mat_aijtcu_path", MatAIJTCUPaths[d->path], text, len));
  if (d->reordered) PetscCall(AIJTCUAppendOption(prefix, "mat_aijtcu_reorder", MatAIJTCUReorders[MAT_AIJTCU_REORDER_ALWAYS], text, len));
  if (f->brick_rows) {
    char numbers[64];

    PetscCall(PetscSNPrintf(numbers, sizeof(numbers), "%d,%d,%d,%d", (int)f->brick_rows, (int)f->panel_rows, (int)f->block_cols, (int)f->window_cols));
    PetscCall(AIJTCUAppendOption(prefix, "mat_aijtcu_format", numbers, text, len));
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*
   The options that replay a choice. For a sequential matrix they give the same bits without tuning. They have the
   prefix of A, or of the parallel matrix that A is a block of. The caller frees the string, unless there is an error.
*/
PetscErrorCode AIJTCUTuningOptions(Mat A, const AIJTCUTuned *t, char **text)
{
  enum {
    OPTIONS = 3,
    WITHOUT = 64 /* characters of an option and its value, without the prefix */
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
  ierr = AIJTCUAppendChoice(prefix, &t->choice, *text, len);
  if (ierr) PetscCall(PetscFree(*text));
  PetscCall(ierr);
  PetscFunctionReturn(PETSC_SUCCESS);
}

#if AIJTCU_HAVE_DEVICE
  #include <proxy/proxy.h>

enum {
  MOST_COLUMNS = 256, /* most columns of the proxy. Kernels cut wider products into tiles of at most 128 */
  CSR          = AIJTCU_NFORMATS
};

/* Factor of the fastest time. The first variant within it wins, so that noise seldom changes the choice */
static const PetscReal tie  = (PetscReal)1.02;
static const PetscReal near = (PetscReal)1.05; /* factor of the fastest time so far. A slower variant is timed once */

/* Variant k: a format, or zeros for the CSR path */
static HrpbParams AIJTCUVariantParams(PetscInt k)
{
  return k == CSR ? (HrpbParams){0, 0, 0, 0} : AIJTCUFormat((int)k);
}

/* What the timings of all variants share */
typedef struct {
  AIJTCUTuned       *tuned;
  const AIJTCUFacts *facts;
  HrpbProxy          proxy;
  double             columns; /* columns of the product for each column of the proxy */
  PetscInt           ncopies; /* copies of B that were timed */
  int32_t            ldr[3];  /* their leading dimensions: two for bricks, one for CSR */
  double             copy[3]; /* their times in seconds */
  double             best;    /* seconds of the proxy's fastest product, scaled parts only; negative at first */
  double             spent;   /* seconds spent on the proxy's products */
} AIJTCUTuneRun;

/* Time the copy of B with this leading dimension. Zero means no copy, which takes no time */
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

/* Time one variant. The copy of B comes first. A product whose scaled part is already too slow is not timed again. */
static PetscErrorCode AIJTCUTimeVariant(const AIJTCUPlan *plan, const AIJTCUDeviceCSR *csr, const HrpbParams *v, AIJTCUTuneRun *r, double *seconds, HrpbError *err)
{
  const double share = r->proxy.share;
  HrpbTiming   t;
  double       once, limit = 1e30;

  PetscFunctionBegin;
  PetscCall(AIJTCUTimeCopy(csr, v->brick_rows ? HrpbCopyForBricks(&r->proxy, v) : HrpbCopyForCsr(&r->proxy, &plan->csr.schedule, r->tuned->choice.N), r, &once, err));
  if (*err) PetscFunctionReturn(PETSC_SUCCESS);
  if (r->best >= 0) limit = share * (double)near * r->best / r->columns + (1 - share) * once;
  if (v->brick_rows) AIJTCUCallDevice(*err, HrpbTimeBricksDevice(&r->proxy, v, AIJTCUPrecision(AIJTCUGetOptions(plan)), limit, csr->stream, &t));
  else AIJTCUCallDevice(*err, HrpbTimeCsrDevice(&r->proxy, &plan->csr.schedule, r->tuned->choice.N, limit, csr->stream, &t));
  if (*err) PetscFunctionReturn(PETSC_SUCCESS);
  r->spent += t.products * t.seconds;
  once     = PetscMin(once, t.seconds);
  *seconds = r->columns * (once + (t.seconds - once) / share);
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*
   Errors that refuse bricks are no errors here. Lack of memory ends the timing, because the next variant would need as
   much. A CSR path without a time ends it, too: nothing is left to compare with.
*/
static PetscErrorCode AIJTCUTimeVariants(Mat A, const AIJTCUPlan *plan, const AIJTCUDeviceCSR *csr, AIJTCUTuneRun *r, HrpbError *err)
{
  const AIJTCUFacts *facts = r->facts;

  PetscFunctionBegin;
  for (PetscInt k = 0; k < AIJTCU_MOST_VARIANTS; k++) {
    const HrpbParams v    = AIJTCUVariantParams(k);
    double           time = 0;

    if (!(k == CSR ? plan->csr.state == AIJTCU_READY : AIJTCUFormatIsCandidate(facts, &v))) continue;
    PetscCall(AIJTCUTimeVariant(plan, csr, &v, r, &time, err));
    if (*err == HRPB_ERR_DEVICE_MEMORY || *err == HRPB_ERR_MEMORY || (*err && k == CSR)) PetscFunctionReturn(PETSC_SUCCESS);
    if (*err)
      PetscCall(PetscInfo(A, "aijtcu: bricks of %d rows, panels of %d, blocks of %d columns, windows of %d are not timed: %s\n", (int)v.brick_rows,
        (int)v.panel_rows, (int)v.block_cols, (int)v.window_cols, HrpbErrorString(*err)));
    else {
      r->tuned->variant[k].seconds = (PetscReal)time;
      if (r->best < 0 || time < r->best) r->best = time;
    }
    *err = HRPB_SUCCESS;
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*
   Whether the proxy has about as many entries a row as the matrix. Segments are chosen by their number. Where a few
   segments have nearly all entries, the proxy may have none of these.
*/
static PetscBool AIJTCUProxyStands(const HrpbProxy *p)
{
  return (PetscBool)(p->entries <= 2 * p->share && 2 * p->entries >= p->share);
}

/*
   Columns of the proxy: as many as products have, up to MOST_COLUMNS. Fewer, where B, a copy of it and C would take
   more memory than products may.
*/
static PetscErrorCode AIJTCUProxyColumns(Mat A, int64_t segment_rows, PetscInt *N)
{
  const size_t rows = (size_t)PetscMin(A->rmap->n, 2 * HRPB_REPRESENTATIVES * segment_rows); /* the proxy's most */

  PetscFunctionBegin;
  for (*N = PetscMin(*N, MOST_COLUMNS);; *N = (*N / 2 + 15) / 16 * 16) { /* halved like the pieces of a product */
    const size_t columns = (size_t)*N, filled = (columns + 15) / 16 * 16;
    PetscBool    fits;

    PetscCall(AIJTCUWorkspaceFits(sizeof(PetscScalar) * ((size_t)A->cmap->n * (columns + filled) + rows * columns), &fits));
    if (fits || *N <= 16) PetscFunctionReturn(PETSC_SUCCESS);
  }
}

/* Time the variants. Called again after memory was short */
static PetscErrorCode AIJTCUTimeVariantsCSR(Mat A, AIJTCUPlan *plan, const AIJTCUDeviceCSR *csr, void *ctx, HrpbError *err)
{
  AIJTCUTuneRun *r = (AIJTCUTuneRun *)ctx;
  PetscInt       N = r->tuned->choice.N;
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
  r->columns             = (double)r->tuned->choice.N / (double)N;
  r->tuned->tuning.share = (PetscReal)r->proxy.share;
  if (AIJTCUProxyStands(&r->proxy)) ierr = AIJTCUTimeVariants(A, plan, csr, r, err);
  else
    ierr = PetscInfo(A, "aijtcu: no tuning for %" PetscInt_FMT " columns, the model decides: %g %% of the rows have %g %% of the entries\n",
      r->tuned->choice.N, 100 * r->proxy.share, 100 * r->proxy.entries);
  HrpbProxyDestroyDevice(&r->proxy, csr->stream);
  PetscCall(ierr);
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* The first of the variants that are about as fast as the fastest */
static PetscInt AIJTCUTuneWinner(const AIJTCUTuned *t, double best)
{
  for (PetscInt k = 0; k < t->tuning.nvariants; k++) {
    if (t->variant[k].seconds > 0 && t->variant[k].seconds <= tie * (PetscReal)best) return k;
  }
  return -1;
}

/* Time the variants and take one. If there are no times, the model's choice stays, which t has */
static PetscErrorCode AIJTCUTuneByTime(Mat A, AIJTCUPlan *plan, const AIJTCUFacts *facts, const HrpbParams *format, AIJTCUTuned *t)
{
  AIJTCUTuneRun r = {.tuned = t, .facts = facts, .best = -1};
  HrpbError     err;

  PetscFunctionBegin;
  /* there is nothing to multiply, or no bricks to multiply with */
  if (!facts->matrix.survey.strip_cols16) PetscFunctionReturn(PETSC_SUCCESS);
  for (PetscInt k = 0; k < AIJTCU_MOST_VARIANTS; k++) {
    const HrpbParams v = AIJTCUVariantParams(k);

    t->variant[k] = (MatAIJTCUVariant){
      k == CSR ? MAT_AIJTCU_PATH_CSR : MAT_AIJTCU_PATH_TCU, {v.brick_rows, v.panel_rows, v.block_cols, v.window_cols},
      0};
  }
  t->tuning.nvariants = AIJTCU_MOST_VARIANTS;
  PetscCall(AIJTCUDeviceCallForMemory(A, plan, AIJTCU_CSR_VALUES, AIJTCUTimeVariantsCSR, &r, &err));
  if (err) PetscCall(PetscInfo(A, "aijtcu: no tuning for %" PetscInt_FMT " columns, the model decides: %s\n", t->choice.N, HrpbErrorString(err)));
  else t->tuning.winner = AIJTCUTuneWinner(t, r.best);
  if (t->tuning.winner < 0) {
    t->tuning.nvariants = 0; /* nothing was compared, even if some were timed */
    /* this format stays, even if another wins for other numbers of columns */
    if (t->choice.path == MAT_AIJTCU_PATH_TCU) t->choice.format = *format;
    PetscFunctionReturn(PETSC_SUCCESS);
  }
  t->choice.path     = t->variant[t->tuning.winner].path;
  t->choice.format   = AIJTCUVariantParams(t->tuning.winner);
  t->choice.reason   = AIJTCU_REASON_TUNED;
  t->tuning.products = (PetscReal)(r.spent / (double)t->variant[t->tuning.winner].seconds);
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*
   Add a choice for the operation and the columns of the model's choice, which it starts from.

   The model's choice stays where bricks may be of a reordered matrix in which columns come in runs: the model knows
   whether that pays. Otherwise the variants are timed. The format of the model is the one that bricks would have.
*/
PetscErrorCode AIJTCUTuningCreate(Mat A, AIJTCUPlan *plan, const AIJTCUFacts *facts, const AIJTCUDecision *model, PetscBool reordered, const HrpbParams *format)
{
  AIJTCUTunings *all = &plan->tunings;
  AIJTCUTuned   *t;

  PetscFunctionBegin;
  if (!all->tuned) {
    PetscCall(PetscCalloc1(AIJTCU_MOST_TUNED, &all->tuned));
    all->precision = AIJTCUGetOptions(plan)->precision;
    all->reorder   = AIJTCUGetOptions(plan)->reorder;
  }
  PetscCheck(all->n < AIJTCU_MOST_TUNED, PETSC_COMM_SELF, PETSC_ERR_PLIB, "No room for another tuning");
  t = &all->tuned[all->n];
  PetscCall(PetscMemzero(t, sizeof(*t))); /* if a call below fails, this place is used again */
  t->tuning.winner    = -1;
  t->choice           = (AIJTCUDecision){.op = model->op, .N = model->N, .path = model->path, .reason = model->reason};
  t->choice.reordered = (PetscBool)(reordered && model->path == MAT_AIJTCU_PATH_TCU);
  if (!reordered) PetscCall(AIJTCUTuneByTime(A, plan, facts, format, t));
  t->tuning.variant = t->variant;
  if (t->choice.format.brick_rows) all->format = t->choice.format;
  all->n++;
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Log how long it took, and what was found */
PetscErrorCode AIJTCUTuningFinish(Mat A, AIJTCUPlan *plan, PetscLogDouble seconds)
{
  AIJTCUTuned   *t = &plan->tunings.tuned[plan->tunings.n - 1];
  char          *text;
  PetscErrorCode ierr;

  PetscFunctionBegin;
  t->tuning.seconds = (PetscReal)seconds;
  PetscCall(AIJTCUTuningOptions(A, t, &text));
  ierr = PetscInfo(A, "aijtcu: tuned for %" PetscInt_FMT " columns in %g s (%s): %s\n", t->choice.N, seconds, AIJTCUReasons[t->choice.reason], text);
  PetscCall(PetscFree(text));
  PetscCall(ierr);
  PetscFunctionReturn(PETSC_SUCCESS);
}
#endif

PetscErrorCode AIJTCUTuningDestroy(AIJTCUTunings *t)
{
  PetscFunctionBegin;
  PetscCall(PetscFree(t->tuned));
  PetscCall(PetscMemzero(t, sizeof(*t)));
  PetscFunctionReturn(PETSC_SUCCESS);
}
