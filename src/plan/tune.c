/*
   Tuning: the choice of path and format by measured times instead of a model. The times are those of a proxy, a few
   rows of the matrix that stand for all (kernels/proxy/proxy.h). What is found is kept for a pattern, an operation and
   a number of columns. It is a fact for the choice.

   The time of a proxy's product is scaled to the whole matrix. Two parts are not: the launch, and the row-major copy of
   B that some kernels make. The copy has all of B, with any number of rows. So these are timed by themselves and added
   unscaled.

   B and C are the proxy's own. When the path of a product is chosen, B need not have its values yet. Numbers that are
   not finite would send sums through another computation.

   The proxy of a complex matrix is real. The kernel of complex numbers that stands in for one of CSR is not timed: the
   model says what part of the time it takes.

   What is timed is a few formats and the CSR path, but for those that the model has much slower than others
   (AIJTCUVariants()). The kernels derive the rest from these and from N: how many columns of C a thread block has, and
   whether a CSR kernel copies B. Where one variant is left, nothing is timed: it is the model's choice.

   Building bricks takes most of the time of tuning. So the model's choice comes first. Then most of the others are seen
   to be slower in their first product.
*/
#include "planimpl.h"

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
  prefix = plan->id.owner ? plan->id.owner->id.prefix : ((PetscObject)A)->prefix;
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
  MOST_COLUMNS = 256 /* most columns of the proxy. Kernels cut wider products into tiles of at most 128 */
};

/* Factor of the fastest time. The first variant within it wins, so that noise seldom changes the choice */
static const PetscReal tie = (PetscReal)1.02;

/* What the timings of all variants share */
typedef struct {
  AIJTCUTuned         *tuned;
  const AIJTCUVariant *variant; /* those of tuned, in the same order */
  HrpbProxy            proxy;
  double               columns; /* columns of the product for each column of the proxy */
  PetscInt             ncopies; /* copies of B that were timed, and a launch without one */
  int32_t              ldr[4];  /* their leading dimensions: two for bricks, one for CSR, zero for none */
  double               copy[4]; /* their times in seconds */
  double               best;    /* seconds of the fastest product, as scaled; negative at first */
  double               spent;   /* seconds spent on the proxy's products */
} AIJTCUTuneRun;

/*
   Time what is not scaled: a launch, and the copy of B with this leading dimension, if it is not zero. Nothing is where
   the proxy is the matrix
*/
static PetscErrorCode AIJTCUTimeUnscaled(const AIJTCUDeviceCSR *csr, int32_t ldr, AIJTCUTuneRun *r, double *seconds, HrpbError *err)
{
  HrpbTiming t;
  PetscInt   k = 0;

  PetscFunctionBegin;
  *err     = HRPB_SUCCESS;
  *seconds = 0;
  if (r->proxy.share >= 1) PetscFunctionReturn(PETSC_SUCCESS);
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

/*
   Time one variant. What is not scaled comes first
*/
static PetscErrorCode AIJTCUTimeVariant(const AIJTCUPlan *plan, const AIJTCUDeviceCSR *csr, const HrpbParams *format, AIJTCUTuneRun *r, double *seconds, HrpbError *err)
{
  const double share = r->proxy.share;
  HrpbTiming   t;
  double       once;

  PetscFunctionBegin;
  PetscCall(AIJTCUTimeUnscaled(csr, format->brick_rows ? HrpbCopyForBricks(&r->proxy, format) : HrpbCopyForCsr(&r->proxy, &plan->csr.schedule, r->tuned->choice.N), r, &once, err));
  if (*err) PetscFunctionReturn(PETSC_SUCCESS);
  if (format->brick_rows) AIJTCUCallDevice(*err, HrpbTimeBricksDevice(&r->proxy, format, AIJTCUPrecision(plan->options), csr->stream, &t));
  else AIJTCUCallDevice(*err, HrpbTimeCsrDevice(&r->proxy, &plan->csr.schedule, r->tuned->choice.N, csr->stream, &t));
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
  PetscFunctionBegin;
  for (PetscInt k = 0; k < r->tuned->tuning.nvariants; k++) {
    const HrpbParams *format = &r->variant[k].format;
    double            time   = 0;

    if (!r->variant[k].timed) continue;
    r->tuned->variant[k].seconds = 0;
    PetscCall(AIJTCUTimeVariant(plan, csr, format, r, &time, err));
    if (*err == HRPB_ERR_DEVICE_MEMORY || *err == HRPB_ERR_MEMORY || (*err && !format->brick_rows)) PetscFunctionReturn(PETSC_SUCCESS);
    if (*err)
      PetscCall(PetscInfo(A, "aijtcu: bricks of %d rows, panels of %d, blocks of %d columns, windows of %d are not timed: %s\n", (int)format->brick_rows,
        (int)format->panel_rows, (int)format->block_cols, (int)format->window_cols, HrpbErrorString(*err)));
    else {
      time *= r->variant[k].share;
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
static PetscErrorCode AIJTCUProxyColumns(const AIJTCUDeviceCSR *csr, int64_t segment_rows, PetscInt *N)
{
  const size_t rows = (size_t)PetscMin(csr->nrows, 2 * HRPB_REPRESENTATIVES * segment_rows); /* the proxy's most */

  PetscFunctionBegin;
  for (*N = PetscMin(*N, MOST_COLUMNS);; *N = (*N / 2 + 15) / 16 * 16) { /* halved like the pieces of a product */
    const size_t columns = (size_t)*N, filled = (columns + 15) / 16 * 16;
    PetscBool    fits;

    PetscCall(AIJTCUWorkspaceFits(sizeof(HrpbScalar) * ((size_t)csr->ncols * (columns + filled) + rows * columns), &fits));
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
  PetscCall(AIJTCUProxyColumns(csr, segment_rows, &N));
  AIJTCUCallDevice(*err, HrpbProxyCreateDevice(csr->nrows, csr->ncols, csr->rowptr, csr->colidx, csr->values, segment_rows, N, csr->stream, &r->proxy));
  if (*err) PetscFunctionReturn(PETSC_SUCCESS);
  r->ncopies             = 0;
  r->best                = -1;
  r->spent               = 0;
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

/* What variant k is, as a choice */
static void AIJTCUTuneTake(AIJTCUTuned *t, const AIJTCUVariant variant[], PetscInt k)
{
  t->choice.path   = t->variant[k].path;
  t->choice.format = variant[k].format;
}

/* Time the variants and take one. If there are no times, the model's choice stays, which is the first */
static PetscErrorCode AIJTCUTuneByTime(Mat A, AIJTCUPlan *plan, const AIJTCUVariant variant[], PetscInt n, AIJTCUTuned *t)
{
  AIJTCUTuneRun r      = {.tuned = t, .variant = variant, .best = -1};
  PetscInt      ntimed = 0;
  HrpbError     err;

  PetscFunctionBegin;
  for (PetscInt k = 0; k < n; k++) {
    const HrpbParams *v = &variant[k].format;

    t->variant[k] = (MatAIJTCUVariant){
      v->brick_rows ? MAT_AIJTCU_PATH_TCU : MAT_AIJTCU_PATH_CSR, {v->brick_rows, v->panel_rows, v->block_cols, v->window_cols},
      0};
    ntimed += variant[k].timed;
  }
  PetscCall(PetscInfo(A, "aijtcu: tuning for %" PetscInt_FMT " columns tries %" PetscInt_FMT " of %" PetscInt_FMT " variants, the model has the others much slower\n", t->choice.N, ntimed, n));
  t->tuning.nvariants = n;
  AIJTCUTuneTake(t, variant, 0);
  if (ntimed == 1) {
    t->tuning.winner = 0;
    PetscFunctionReturn(PETSC_SUCCESS);
  }
  PetscCall(AIJTCUDeviceCallForMemory(A, plan, AIJTCU_CSR_VALUES, AIJTCUTimeVariantsCSR, &r, &err));
  if (err) PetscCall(PetscInfo(A, "aijtcu: no tuning for %" PetscInt_FMT " columns, the model decides: %s\n", t->choice.N, HrpbErrorString(err)));
  else t->tuning.winner = AIJTCUTuneWinner(t, r.best);
  if (t->tuning.winner < 0) {
    t->tuning.nvariants = 0; /* nothing was compared, even if some were timed */
    PetscFunctionReturn(PETSC_SUCCESS);
  }
  AIJTCUTuneTake(t, variant, t->tuning.winner);
  t->choice.reason   = AIJTCU_REASON_TUNED;
  t->tuning.products = (PetscReal)(r.spent / (double)t->variant[t->tuning.winner].seconds);
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*
   Add a choice for the operation and the columns of the model's choice, among n variants, of which that is the first.

   Without variants the model's choice stays: where bricks may be of a reordered matrix, it knows whether that pays, and
   where there is nothing to multiply.
*/
PetscErrorCode AIJTCUTuningCreate(Mat A, AIJTCUPlan *plan, const AIJTCUAsk *model, PetscBool reordered, const AIJTCUVariant variant[], PetscInt n)
{
  AIJTCUTunings *all = &plan->tunings;
  AIJTCUTuned   *t;

  PetscFunctionBegin;
  if (!all->tuned) {
    PetscCall(PetscCalloc1(AIJTCU_MOST_TUNED, &all->tuned));
    all->precision = plan->options->precision;
    all->reorder   = plan->options->reorder;
  }
  PetscCheck(all->n < AIJTCU_MOST_TUNED, PETSC_COMM_SELF, PETSC_ERR_PLIB, "No room for another tuning");
  t = &all->tuned[all->n];
  PetscCall(PetscMemzero(t, sizeof(*t))); /* if a call below fails, this place is used again */
  t->tuning.winner    = -1;
  t->choice           = (AIJTCUDecision){.op = model->op, .N = model->N, .path = model->path, .reason = model->reason};
  t->choice.reordered = (PetscBool)(reordered && model->path == MAT_AIJTCU_PATH_TCU);
  if (n) PetscCall(AIJTCUTuneByTime(A, plan, variant, n, t));
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

PetscErrorCode AIJTCUTuningDestroy(AIJTCUPlan *plan)
{
  AIJTCUTunings *t = &plan->tunings;

  PetscFunctionBegin;
  PetscCall(PetscFree(t->tuned));
  PetscCall(PetscMemzero(t, sizeof(*t)));
  PetscFunctionReturn(PETSC_SUCCESS);
}
