/*
   Tuning: path and format by the times of a proxy, a few rows of the matrix that stand for all (kernels/proxy/proxy.h),
   instead of a model of the time. What is found is kept for a pattern, an operation and a number of columns, and is a
   fact for the choice.

   A product of the proxy takes its share of the time of a product of the matrix, but for the row-major copy that some
   kernels make of B: that has all of B whatever rows there are, so it is timed by itself and neither scaled nor left
   out. What is launched once is scaled, too, as if it were work: that is the same few microseconds for all variants,
   and the proxy is large enough.

   B and C are the proxy's own. When the path of a product is chosen B need not have its values yet, and numbers that
   are not finite would send sums through another computation.

   The variants are the formats among which a device chooses (AIJTCUFormat()), and the CSR path. How many columns of C a
   thread block has, and whether a kernel for CSR copies B, follow from these and from N in the kernels: there is
   nothing to set. Six formats more (windows of 16, half blocks, panels of 64 with bricks of 16, taller gathered panels)
   were among them: in double the winners were not closer to the best of all (kernels/README.md), and building bricks of
   the proxy is what most of tuning takes.
*/
#include "aijtcuimpl.h"

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
   The options, with the prefix of A or of the parallel matrix whose block it is, that replay a choice: of a sequential
   matrix the same bits without tuning. To be freed by the caller, unless there is an error
*/
PetscErrorCode AIJTCUTuningOptions(Mat A, const AIJTCUTuned *t, char **text)
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
  ierr = AIJTCUAppendChoice(prefix, &t->choice, *text, len);
  if (ierr) PetscCall(PetscFree(*text));
  PetscCall(ierr);
  PetscFunctionReturn(PETSC_SUCCESS);
}

#if AIJTCU_HAVE_DEVICE
  #include <proxy/proxy.h>

enum {
  MOST_COLUMNS = 256, /* of the proxy: kernels go through wider products in tiles of 128 at most */
  CSR          = AIJTCU_NFORMATS
};

static const PetscReal tie  = (PetscReal)1.02; /* times the fastest: the first of these wins, so that noise seldom moves the choice */
static const PetscReal near = (PetscReal)1.05; /* times the fastest so far: what is slower is timed once */

/* Variant k: a format, or zeros for the CSR path */
static HrpbParams AIJTCUVariantParams(PetscInt k)
{
  return k == CSR ? (HrpbParams){0, 0, 0, 0} : AIJTCUFormat((int)k);
}

/* What the times of the variants have in common */
typedef struct {
  AIJTCUTuned       *tuned;
  const AIJTCUFacts *facts;
  HrpbProxy          proxy;
  double             columns; /* of the product, for each that the proxy has */
  PetscInt           ncopies; /* of B that were timed: */
  int32_t            ldr[2];  /* those for bricks and for CSR have rows of different lengths, */
  double             copy[2]; /* and take so many s */
  double             best;    /* s of the fastest product so far, as the proxy has it; negative before one was timed */
  double             spent;   /* s of the proxy's products */
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

/*
   The copy of B comes first: a product that is so slow that it need not be timed again is known by what of it is scaled
*/
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
   What bricks are refused for is no error. Want of memory ends the timing, for the next variant would want as much, and
   so does a CSR path without a time, for there is nothing to compare with
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
   Whether the proxy has about as many entries for a row as the matrix. Segments are chosen by their number: where few
   of them have nearly all entries, none of these may be among the chosen
*/
static PetscBool AIJTCUProxyStands(const HrpbProxy *p)
{
  return (PetscBool)(p->entries <= 2 * p->share && 2 * p->entries >= p->share);
}

/*
   Columns that the proxy has: as many as products have, unless these are many, or B, a copy of it and C would take more
   memory than products may
*/
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

/* The first of those that are about as fast as the fastest */
static PetscInt AIJTCUTuneWinner(const AIJTCUTuned *t, double best)
{
  for (PetscInt k = 0; k < t->tuning.nvariants; k++) {
    if (t->variant[k].seconds > 0 && t->variant[k].seconds <= tie * (PetscReal)best) return k;
  }
  return -1;
}

/* The times of the variants, and the one that is taken. Where there are none, the model's choice, which t has, stays */
static PetscErrorCode AIJTCUTuneByTime(Mat A, AIJTCUPlan *plan, const AIJTCUFacts *facts, const HrpbParams *format, AIJTCUTuned *t)
{
  AIJTCUTuneRun r = {.tuned = t, .facts = facts, .best = -1};
  HrpbError     err;

  PetscFunctionBegin;
  if (!facts->matrix.survey.strip_cols16) PetscFunctionReturn(PETSC_SUCCESS); /* there is nothing to multiply, or not by bricks */
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
    t->tuning.nvariants = 0;                                               /* none that are compared, even if some were timed */
    if (t->choice.path == MAT_AIJTCU_PATH_TCU) t->choice.format = *format; /* for good, whatever wins for other numbers of columns */
    PetscFunctionReturn(PETSC_SUCCESS);
  }
  t->choice.path     = t->variant[t->tuning.winner].path;
  t->choice.format   = AIJTCUVariantParams(t->tuning.winner);
  t->choice.reason   = AIJTCU_REASON_TUNED;
  t->tuning.products = (PetscReal)(r.spent / (double)t->variant[t->tuning.winner].seconds);
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*
   One more choice, for the operation and the columns of the model's, of which it begins. With a reordering that bricks
   may be of, in which columns come in runs, the model's it remains: it knows whether that pays. Otherwise the variants
   are timed. The format is the one that bricks would have by the model
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
  PetscCall(PetscMemzero(t, sizeof(*t))); /* after an error in what follows it is used again */
  t->tuning.winner    = -1;
  t->choice           = (AIJTCUDecision){.op = model->op, .N = model->N, .path = model->path, .reason = model->reason};
  t->choice.reordered = (PetscBool)(reordered && model->path == MAT_AIJTCU_PATH_TCU);
  if (!reordered) PetscCall(AIJTCUTuneByTime(A, plan, facts, format, t));
  t->tuning.variant = t->variant;
  if (t->choice.format.brick_rows) all->format = t->choice.format;
  all->n++;
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* How long it took as a whole, and what was found */
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
