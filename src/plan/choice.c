/*
   The choice: one function of (ask, options, facts, device). See choice.h.

   The questions come in the order of what their answers cost: what is set, what the device has, how the rows are cut,
   the columns, a reordering. A product whose path follows from the first questions asks none of the others.
*/
#include "choice.h"
#include <real/real.h>

/*
   With FEW_ENTRIES entries a row bricks cannot pay: bringing B and writing C alone take as long as the whole CSR
   product
*/
enum {
  FEW_ENTRIES     = 8,    /* entries of a row, on average */
  MOST_LEVELS     = 4096, /* levels of the search for a reordering: some tenths of a second */
  UNSAID_PRODUCTS = 50    /* that are expected while nobody said how many */
};

/* The threshold of alpha where no brick kernel is known to pay */
#define THRESHOLD_NEVER ((PetscReal)2.0)

/* Factor between the times of the model from which on tuning leaves the longer one untried */
#define MUCH 1.3

const char *const AIJTCUReasons[AIJTCU_NREASONS] = {
  [AIJTCU_REASON_UNKNOWN]             = "not known yet",
  [AIJTCU_REASON_SET]                 = "as set",
  [AIJTCU_REASON_SCALAR_TYPE]         = "no bricks for this scalar type",
  [AIJTCU_REASON_NO_DEVICE]           = "there is no GPU",
  [AIJTCU_REASON_NO_KERNEL]           = "no brick kernel that pays on this GPU",
  [AIJTCU_REASON_THRESHOLD_ABOVE_ONE] = "threshold above 1",
  [AIJTCU_REASON_BOUND]               = "bound to the host",
  [AIJTCU_REASON_ANY_ALPHA]           = "bricks at any alpha, as set",
  [AIJTCU_REASON_ALPHA_HIGH]          = "alpha at or above threshold",
  [AIJTCU_REASON_ALPHA_REORDERED]     = "alpha of the reordered matrix at or above threshold",
  [AIJTCU_REASON_ALPHA_LOW]           = "alpha below threshold",
  [AIJTCU_REASON_TUNED]               = "the fastest of a proxy",
  [AIJTCU_REASON_NO_ENTRIES]          = "no entries",
  [AIJTCU_REASON_FEW_ENTRIES]         = "too few entries or products for bricks",
  [AIJTCU_REASON_SHORT_ROWS]          = "rows are short, and columns run with them",
  [AIJTCU_REASON_NO_SURVEY]           = "columns could not be counted",
  [AIJTCU_REASON_SCATTERED]           = "columns are scattered",
  [AIJTCU_REASON_REORDERED_FASTER]    = "bricks of the reordered matrix are faster",
  [AIJTCU_REASON_BRICKS_SLOWER]       = "bricks would be slower",
  [AIJTCU_REASON_BRICKS_FASTER]       = "bricks are faster",
  [AIJTCU_REASON_NO_CSR_KERNEL]       = "no kernel for the CSR path",
  [AIJTCU_REASON_ADDS]                = "it adds to the diagonal block's product",
  [AIJTCU_REASON_ONE_COLUMN]          = "one column"};

/* What a question is about: an ask, or the time of an operation with N columns */
typedef struct {
  SpmmOp                   op;
  PetscInt                 N;
  const AIJTCUOptions     *o;
  const AIJTCUFacts       *f;
  const AIJTCUDeviceFacts *device;
  const AIJTCUAsk         *ask;
} AIJTCUQuestion;

/* The operands that are asked for, without arrays */
SpmmOperands AIJTCUOperandsAsked(const AIJTCUAsk *a)
{
  SpmmOperands o = {.N = a->N, .K = a->K, .update = a->update, .softmax = a->softmax};

  o.X.layout = a->X;
  o.Y.layout = o.Y0.layout = a->Y;
  return o;
}

/* Whether it is Y = A X with column-major operands. Others are with the off-diagonal block of a parallel matrix */
static PetscBool AIJTCUIsPlain(const AIJTCUAsk *a)
{
  const SpmmOperands operands = AIJTCUOperandsAsked(a);

  return (PetscBool)SpmmIsPlain(&operands);
}

HrpbPrecision AIJTCUPrecision(const AIJTCUOptions *o)
{
  if (PetscDefined(USE_REAL_DOUBLE)) return HRPB_FP64;
  return o->precision == MAT_AIJTCU_PRECISION_TF32 ? HRPB_TF32 : HRPB_3XTF32;
}

/* Whether the device has tensor cores that pay for the precision that is set */
static PetscBool AIJTCUTensorCoresPay(const AIJTCUOptions *o, const AIJTCUDeviceFacts *device)
{
  return device->pays[AIJTCUPrecision(o)];
}

/* Whether the model or a tuning may decide: neither a path nor a threshold is set */
static PetscBool AIJTCUPathIsFree(const AIJTCUOptions *o)
{
  return (PetscBool)(o->path == MAT_AIJTCU_PATH_AUTO && o->threshold == (PetscReal)PETSC_DEFAULT);
}

/* Whether a threshold decides */
static PetscBool AIJTCUThresholdDecides(const AIJTCUOptions *o)
{
  return (PetscBool)(o->path == MAT_AIJTCU_PATH_AUTO && o->threshold > 0 && o->threshold <= 1);
}

static PetscReal AIJTCUAlphaOf(const HrpbSurvey *s)
{
  return s->strip_cols16 ? (PetscReal)s->nnz / (16 * (PetscReal)s->strip_cols16) : 0;
}

static PetscBool AIJTCUOrderIsForced(const AIJTCUOptions *o)
{
  return (PetscBool)(o->reorder == MAT_AIJTCU_REORDER_ALWAYS);
}

static void AIJTCUTakePath(AIJTCUDecision *d, MatAIJTCUPath path, AIJTCUReason reason)
{
  d->path   = path;
  d->reason = reason;
}

/*
   Times
*/

/* The kernel whose time is compared. That is between paths, so the update of C does not matter */
static const SpmmKernel *AIJTCUKernelToCompare(const AIJTCUQuestion *q, SpmmFormat format, const SpmmFacts *facts, const HrpbParams *params)
{
  const SpmmOperands operands = SpmmPlain(q->N, NULL, 0, NULL, 0);

  return SpmmChooseKernel(q->op, format, PETSC_FALSE, facts, params, &operands, q->device->device);
}

/* The kernel that makes what is asked for */
static const SpmmKernel *AIJTCUKernelAsked(const AIJTCUQuestion *q, SpmmOp op, SpmmFormat format, const SpmmFacts *facts,
  const HrpbParams *params)
{
  const SpmmOperands operands = AIJTCUOperandsAsked(q->ask);

  return SpmmChooseKernel(op, format, !q->f->on_device, facts, params, &operands, q->device->device);
}

static double AIJTCUSecondsOf(const AIJTCUQuestion *q, const SpmmKernel *kernel, const HrpbParams *params)
{
  if (!kernel || !kernel->seconds) return PETSC_INFINITY;
  return kernel->seconds(&q->f->matrix, params, AIJTCUPrecision(q->o), q->N, q->device->device);
}

/* By the kernel of the table */
static double AIJTCUSecondsOfTableCSR(const AIJTCUQuestion *q)
{
  return AIJTCUSecondsOf(q, AIJTCUKernelToCompare(q, SPMM_CSR, &q->f->matrix, NULL), NULL);
}

static double AIJTCUSecondsOfCSR(const AIJTCUQuestion *q)
{
#if AIJTCU_HAVE_DEVICE
  if (AIJTCU_PARTS > 1 && q->op == SPMM_OP_PRODUCT && q->f->on_device) { /* kernels of complex numbers stand in */
    const double seconds = ComplexCsrSeconds(&q->f->matrix, q->N, q->device->device);

    if (seconds > 0) return seconds;
  }
#endif
  return AIJTCUSecondsOfTableCSR(q);
}

/*
   The format that suits the matrix. Sampled products make whole tiles of bricks, empty slots included: bricks of 8 rows
   have fewer of these
*/
static HrpbParams AIJTCUSuitableFormat(const AIJTCUQuestion *q, const SpmmFacts *facts)
{
  return q->op == SPMM_OP_SAMPLED ? HrpbShortParams() : SpmmBrickFormat(facts, q->device->device);
}

/*
   Whether pairs pay (HrpbParams.pairs): in double precision, where bricks are at least a quarter full. With 16 columns
   and less they take nine tenths of the time, with more as much on average, and have half of the values' bytes
   (kernels/EXPERIMENTS.md). Elsewhere they have not been timed. On the host bricks are a reference
*/
static PetscBool AIJTCUPairsPay(const AIJTCUQuestion *q)
{
  const PetscReal quarter_full = 0.25, alpha = q->f->survey_state == AIJTCU_READY ? AIJTCUAlphaOf(&q->f->matrix.survey) : 0;

  if (!q->f->on_device) return PETSC_TRUE;
  return (PetscBool)(PetscDefined(USE_REAL_DOUBLE) && alpha >= quarter_full);
}

/* Time of bricks in the format that suits the matrix, even if another is set. Pairs save a tenth with few columns */
static double AIJTCUSecondsOfBricks(const AIJTCUQuestion *q)
{
  const HrpbParams format = AIJTCUSuitableFormat(q, &q->f->matrix);
  const double     share = AIJTCU_PARTS > 1 && q->op == SPMM_OP_PRODUCT && format.window_cols > 1 && q->N <= 16 && AIJTCUPairsPay(q) ? 0.9 : 1;

  return share * AIJTCUSecondsOf(q, AIJTCUKernelToCompare(q, SPMM_BRICKS, &q->f->matrix, &format), &format);
}

/* Facts of the reordered matrix. It has the same rows in another sequence */
static SpmmFacts AIJTCUFactsReordered(const AIJTCUFacts *f)
{
  SpmmFacts reordered = f->matrix;

  reordered.survey = f->order_survey;
  return reordered;
}

static double AIJTCUSecondsReordered(const AIJTCUQuestion *q, const SpmmFacts *reordered)
{
  return SpmmSecondsReordered(reordered, AIJTCUPrecision(q->o), q->N, q->device->device);
}

/* Products that are expected with the pattern. A reordering takes as long as some tens */
static double AIJTCUProductsExpected(const AIJTCUQuestion *q)
{
  return (double)(q->o->products == PETSC_DEFAULT ? UNSAID_PRODUCTS : q->o->products);
}

/*
   What bricks save in all products that are expected, with N columns each. csr is the time of a product by the CSR
   path. Where the user said how many products come, it is what they save beyond what it takes to build them. Otherwise
   they are taken to serve for as long as that needs, some products to some tens. The answer does not depend on earlier
   questions: bricks that are there count with their full cost
*/
static double AIJTCUSavedByBricks(const AIJTCUQuestion *q, double csr)
{
  const double saved = AIJTCUProductsExpected(q) * (csr - AIJTCUSecondsOfBricks(q));

  return q->o->products == PETSC_DEFAULT ? saved : saved - SpmmSecondsToBuild(&q->f->matrix, q->device->device);
}

/* Whether the columns allow bricks that may be faster than CSR. Those of sampled products are staged by windows */
static PetscBool AIJTCUColumnsSuitBricks(const AIJTCUQuestion *q)
{
  const HrpbSurvey *s = &q->f->matrix.survey;

  return (PetscBool)(q->op == SPMM_OP_SAMPLED ? SpmmColumnsRun(s) : SpmmPanelsShareRows(s));
}

/* Time of a product in the given order, by what would be taken for it */
static double AIJTCUSecondsInOrder(const AIJTCUQuestion *q)
{
  const double csr = AIJTCUSecondsOfCSR(q);

  return AIJTCUColumnsSuitBricks(q) && AIJTCUSavedByBricks(q, csr) > 0 ? AIJTCUSecondsOfBricks(q) : csr;
}

/*
   Whether bricks lose wherever the columns are: even if bricks have no gaps and need no rows of B, while CSR brings a
   row of B for each entry. This needs no look at the columns
*/
static PetscBool AIJTCUHasTooFewEntries(const AIJTCUQuestion *q)
{
  AIJTCUFacts          worst = *q->f, best = *q->f;
  const AIJTCUQuestion csr = {q->op, q->N, q->o, &worst, q->device, q->ask}, bricks = {q->op, q->N, q->o, &best, q->device, q->ask};

  worst.matrix.survey.needed_rows = worst.matrix.nnz;
  best.matrix                     = SpmmFactsReorderedAtBest(&best.matrix);
  best.matrix.survey.staged_rows = best.matrix.survey.needed_rows = best.matrix.survey.most_staged_rows = 0;
  return (PetscBool)(AIJTCUSavedByBricks(&bricks, AIJTCUSecondsOfCSR(&csr)) < 0);
}

/*
   Formats
*/

static PetscBool AIJTCUFormatsEqual(const HrpbParams *a, const HrpbParams *b)
{
  return (PetscBool)(a->brick_rows == b->brick_rows && a->panel_rows == b->panel_rows && a->block_cols == b->block_cols &&
                     a->window_cols == b->window_cols && a->pairs == b->pairs);
}

/*
   A format with the values stored as bricks of complex scalars have them: each number once, as pairs, where that pays
   and a kernel of products takes them. A reordering may part the rows of a complex number. Bricks that are there keep
   what they have; pairs are tried where whole blocks were refused. The bits of products are the same with 8 rows
*/
static HrpbParams AIJTCUFormatStored(const AIJTCUQuestion *q, PetscBool reordered, HrpbParams format)
{
  const AIJTCUFacts *f     = q->f;
  const SpmmOperands plain = SpmmPlain(1, NULL, 0, NULL, 0);
  const SpmmFacts    facts = f->matrix; /* without the sizes of blocks: the answer is the same when there are bricks */

  format.pairs = 0;
  if (AIJTCU_PARTS == 1 || reordered || format.window_cols == 1) return format;
  if (!f->bricks_reordered && (f->bricks_state == AIJTCU_READY || (f->bricks_state == AIJTCU_REFUSED && f->bricks_format.pairs))) {
    format.pairs = f->bricks_format.pairs;
    if (AIJTCUFormatsEqual(&format, &f->bricks_format)) return format;
  }
  format.pairs = AIJTCUPairsPay(q);
  if (format.pairs && !SpmmChooseKernel(SPMM_OP_PRODUCT, SPMM_BRICKS, !f->on_device, &facts, &format, &plain, q->device->device)) format.pairs = 0;
  return format;
}

/* The format that is set. If none is: that of bricks on the host, which are a reference */
HrpbParams AIJTCUFormatSet(const AIJTCUOptions *o)
{
  const MatAIJTCUFormat *s = &o->format;

  if (!s->brick_rows) return HrpbReferenceParams();
  return (HrpbParams){(int32_t)s->brick_rows, (int32_t)s->panel_rows, (int32_t)s->block_cols, (int32_t)s->window_cols};
}

/*
   Tuning
*/

/* Whether tuning applies. Otherwise the model decides, or what was set */
static PetscBool AIJTCUTuningApplies(const AIJTCUOptions *o, const AIJTCUFacts *f, const AIJTCUDeviceFacts *device)
{
  if (o->tune != MAT_AIJTCU_TUNE_PROXY || !AIJTCUPathIsFree(o) || o->format.brick_rows || AIJTCUOrderIsForced(o)) return PETSC_FALSE;
  return (PetscBool)(f->on_device && AIJTCUTensorCoresPay(o, device));
}

/*
   Whether tuning applies, and the tunings are of what is set now. Where a reordering is not allowed any more, the
   choice is different, and so are the options that replay it.
*/
PetscBool AIJTCUTuningIsValid(const AIJTCUOptions *o, const AIJTCUFacts *f, const AIJTCUDeviceFacts *device)
{
  return (PetscBool)(f->ntuned && f->tuned_precision == o->precision && f->tuned_reorder == o->reorder && AIJTCUTuningApplies(o, f, device));
}

/* Index of the tuning for N columns, or for the nearest number if the table is full; -1 where nothing was tuned */
PetscInt AIJTCUTuningFind(SpmmOp op, const AIJTCUOptions *o, const AIJTCUFacts *f, PetscInt N, const AIJTCUDeviceFacts *device)
{
  PetscInt found = -1;

  if (!AIJTCUTuningIsValid(o, f, device)) return -1;
  for (PetscInt k = 0; k < f->ntuned; k++) {
    const AIJTCUDecision *t    = &f->tuned[k].choice;
    const PetscInt        away = PetscAbsInt(t->N - N);

    if (t->op != op || (away && f->ntuned < AIJTCU_MOST_TUNED)) continue;
    if (found < 0 || away < PetscAbsInt(f->tuned[found].choice.N - N)) found = k;
  }
  return found;
}

/* Whether this choice can be tuned and has not been */
static PetscBool AIJTCUHasRoomForTuning(const AIJTCUQuestion *q)
{
  const PetscBool full = (PetscBool)(q->f->ntuned == AIJTCU_MOST_TUNED && AIJTCUTuningIsValid(q->o, q->f, q->device));

  return (PetscBool)(q->op == SPMM_OP_PRODUCT && AIJTCUTuningApplies(q->o, q->f, q->device) && !full);
}

/* The brick format that has won, if one has */
static const HrpbParams *AIJTCUFormatTuned(const AIJTCUQuestion *q)
{
  return AIJTCUTuningIsValid(q->o, q->f, q->device) && q->f->tuned_format.brick_rows ? &q->f->tuned_format : NULL;
}

static double AIJTCUSecondsOfVariant(const AIJTCUQuestion *q, const HrpbParams *format)
{
  if (!format->brick_rows) return AIJTCUSecondsOfCSR(q);
  return AIJTCUSecondsOf(q, AIJTCUKernelToCompare(q, SPMM_BRICKS, &q->f->matrix, format), format);
}

static void AIJTCUAddVariant(const HrpbParams *format, AIJTCUVariant variant[], PetscInt *n)
{
  for (PetscInt k = 0; k < *n; k++) {
    if (AIJTCUFormatsEqual(format, &variant[k].format)) return;
  }
  variant[(*n)++] = (AIJTCUVariant){*format, PETSC_FALSE, 1};
}

/*
   Ways to multiply among which tuning chooses, and their number; none where there is nothing to multiply. The model's
   choice, a path, comes first, and is one of those to time. The others are the CSR path, the format that bricks would
   have, and three formats more. For nearly all matrices one of these was within 5 % of the best of all formats
   (kernels/EXPERIMENTS.md). Once bricks have won they keep their format. Windows of several columns are for columns
   that run.

   The model is mostly within 15 % of the time. What it has MUCH slower than another was hardly ever the fastest. It
   takes all formats of a kernel for equally fast, so all of these are timed, or none. A kernel whose time it does not
   know is slower than any.
*/
PetscInt AIJTCUVariants(const AIJTCUAsk *model, const AIJTCUOptions *o, const AIJTCUFacts *f, const AIJTCUDeviceFacts *device,
  AIJTCUVariant variant[AIJTCU_MOST_VARIANTS])
{
  const AIJTCUQuestion q    = {model->op, model->N, o, f, device, NULL};
  const PetscBool      csr  = (PetscBool)(f->csr_state == AIJTCU_READY);
  const HrpbParams     none = {0, 0, 0, 0}, staged = HrpbStagedParams(), *tuned = AIJTCUFormatTuned(&q);
  const HrpbParams     formats[] = {
        tuned ? *tuned : SpmmBrickFormat(&f->matrix, device->device),
    {staged.brick_rows, staged.panel_rows, staged.block_cols, staged.window_cols / 2},
    HrpbShortParams(), HrpbRowsParams()};
  double   seconds[AIJTCU_MOST_VARIANTS], least = PETSC_INFINITY;
  PetscInt n = 0;

  if (!f->matrix.survey.strip_cols16 || (model->path == MAT_AIJTCU_PATH_CSR && !csr)) return 0;
  if (model->path == MAT_AIJTCU_PATH_CSR) AIJTCUAddVariant(&none, variant, &n);
  for (size_t k = 0; k < (tuned ? 1 : PETSC_STATIC_ARRAY_LENGTH(formats)); k++) {
    const HrpbParams format = AIJTCUFormatStored(&q, PETSC_FALSE, formats[k]);

    if (!k || format.window_cols == 1 || SpmmColumnsRun(&f->matrix.survey)) AIJTCUAddVariant(&format, variant, &n);
  }
  if (csr) AIJTCUAddVariant(&none, variant, &n);
  for (PetscInt k = 0; k < n; k++) {
    seconds[k] = AIJTCUSecondsOfVariant(&q, &variant[k].format);
    least      = PetscMin(least, seconds[k]);
  }
  for (PetscInt k = 0; k < n; k++) {
    variant[k].timed = (PetscBool)(!k || seconds[k] <= MUCH * least);
    if (AIJTCU_PARTS > 1 && !variant[k].format.brick_rows && seconds[k] < PETSC_INFINITY) variant[k].share = seconds[k] / AIJTCUSecondsOfTableCSR(&q);
  }
  return n;
}

/*
   Reordering
*/

/* Note a need. The answer is no until the need is met */
static PetscBool AIJTCULacksFact(AIJTCUDecision *d, AIJTCUNeedFact need, PetscInt levels)
{
  d->need   = need;
  d->levels = levels;
  return PETSC_TRUE;
}

static PetscBool AIJTCULacksSurvey(const AIJTCUQuestion *q, AIJTCUDecision *d)
{
  return q->f->survey_state == AIJTCU_EMPTY ? AIJTCULacksFact(d, AIJTCU_NEED_SURVEY, 0) : PETSC_FALSE;
}

/* Sampled products want panels where rows are short and their columns run, too */
static PetscBool AIJTCULacksCSR(const AIJTCUQuestion *q, AIJTCUDecision *d)
{
  const AIJTCUFacts *f = q->f;

  if (f->csr_state == AIJTCU_EMPTY) return AIJTCULacksFact(d, AIJTCU_NEED_CSR, 0);
  if (q->op != SPMM_OP_SAMPLED || f->csr_state != AIJTCU_READY || f->panels_sought) return PETSC_FALSE;
  return f->matrix.rows_entries && !f->matrix.panel_rows ? AIJTCULacksFact(d, AIJTCU_NEED_PANELS, 0) : PETSC_FALSE;
}

static PetscBool AIJTCULacksVector(const AIJTCUQuestion *q, AIJTCUDecision *d)
{
  const AIJTCUFacts *f = q->f;

  if (f->vector_state == AIJTCU_EMPTY) return AIJTCULacksFact(d, AIJTCU_NEED_VECTOR, 0);
  if (!q->ask->transposed || f->vector_state != AIJTCU_READY) return PETSC_FALSE;
  return f->transpose_state == AIJTCU_EMPTY ? AIJTCULacksFact(d, AIJTCU_NEED_TRANSPOSE, 0) : PETSC_FALSE;
}

/* Whether there is what kernels for one vector need */
static PetscBool AIJTCUHasVector(const AIJTCUQuestion *q)
{
  return (PetscBool)(q->f->vector_state == AIJTCU_READY && (!q->ask->transposed || q->f->transpose_state == AIJTCU_READY));
}

/* Ask for a reordering, unless the answer is known. A search that found nothing also answers for shorter searches */
static PetscBool AIJTCULacksOrder(const AIJTCUQuestion *q, AIJTCUDecision *d, PetscInt levels)
{
  const AIJTCUFacts *f = q->f;

  if (f->order_state == AIJTCU_READY) return PETSC_FALSE;
  if (f->order_state == AIJTCU_REFUSED && f->order_forced >= AIJTCUOrderIsForced(q->o) && f->order_levels >= levels) return PETSC_FALSE;
  return AIJTCULacksFact(d, AIJTCU_NEED_ORDER, levels);
}

/*
   Whether bricks on a device are to be of the reordered matrix, if there is a reordering. Rows and columns get the
   same order. Once bricks of the original matrix have won a tuning, nothing is reordered any more: otherwise bricks
   would be rebuilt from product to product.
*/
static PetscBool AIJTCUWantsOrder(const AIJTCUQuestion *q, AIJTCUDecision *d)
{
  const PetscBool forced = AIJTCUOrderIsForced(q->o);

  if (q->op != SPMM_OP_PRODUCT || q->f->matrix.nrows != q->f->matrix.ncols) return PETSC_FALSE;
  if (forced) return (PetscBool)!AIJTCULacksSurvey(q, d);
  if (q->o->reorder != MAT_AIJTCU_REORDER_AUTO || AIJTCUFormatTuned(q)) return PETSC_FALSE;
  if ((!AIJTCUPathIsFree(q->o) && !AIJTCUThresholdDecides(q->o)) || AIJTCULacksSurvey(q, d)) return PETSC_FALSE;
  if (AIJTCUThresholdDecides(q->o) && AIJTCUAlphaOf(&q->f->matrix.survey) >= q->o->threshold) return PETSC_FALSE;
  return SpmmOrderMayHelp(&q->f->matrix) ? PETSC_TRUE : PETSC_FALSE;
}

/* Whether there is a reordering that the option allows. A forced one may be left from another value of the option. */
static PetscBool AIJTCUOrderIsUsable(const AIJTCUQuestion *q)
{
  return (PetscBool)(q->f->order_state == AIJTCU_READY && (AIJTCUOrderIsForced(q->o) || q->f->order_shared >= AIJTCU_LEAST_SHARED));
}

/* Levels of a search for a reordering that faster products make up for */
static double AIJTCUMostLevels(const AIJTCUQuestion *q, double gain)
{
  const double none = SpmmSecondsToReorder(&q->f->matrix, 0, q->device->device);
  const double one  = SpmmSecondsToReorder(&q->f->matrix, 1, q->device->device);

  return PetscMin((AIJTCUProductsExpected(q) * gain - none) / (one - none), MOST_LEVELS);
}

/*
   Whether bricks of the reordered matrix are faster, and the reordering pays within the products that are expected,
   with N columns each. The answer does not depend on earlier questions: a reordering that was found for other products
   counts with its full cost. The tests that need no reordering come first.
*/
static PetscBool AIJTCUReorderingPays(const AIJTCUQuestion *q, AIJTCUDecision *d)
{
  const AIJTCUFacts *f      = q->f;
  const PetscBool    forced = AIJTCUOrderIsForced(q->o);
  SpmmFacts          reordered;
  double             given, levels, gain, cost;

  if (!AIJTCUWantsOrder(q, d) || !f->matrix.survey.strip_cols16) return PETSC_FALSE;
  if (!forced && f->matrix.nnz <= FEW_ENTRIES * f->matrix.nrows) return PETSC_FALSE;
  /* forced: bricks in the given order are not allowed */
  given     = forced ? AIJTCUSecondsOfCSR(q) : AIJTCUSecondsInOrder(q);
  reordered = SpmmFactsReorderedAtBest(&f->matrix);
  levels    = forced ? MOST_LEVELS : AIJTCUMostLevels(q, given - AIJTCUSecondsReordered(q, &reordered));
  if (levels < 1 || AIJTCULacksOrder(q, d, (PetscInt)levels)) return PETSC_FALSE;
  reordered = AIJTCUFactsReordered(f);
  if (!AIJTCUOrderIsUsable(q) || (!forced && !SpmmColumnsRun(&reordered.survey))) return PETSC_FALSE;
  gain = given - AIJTCUSecondsReordered(q, &reordered);
  if (gain <= 0 || forced) return (PetscBool)(gain > 0);
  cost = SpmmSecondsToReorder(&f->matrix, (int32_t)f->order_found, q->device->device);
  return (PetscBool)(f->order_found <= levels && AIJTCUProductsExpected(q) * gain > cost);
}

/*
   Path
*/

/*
   Whether bricks are slower than CSR: see AIJTCUSavedByBricks(). Where a reordering is forced and was found, it has
   been too slow already, and bricks of the original matrix are not allowed. Without kernels for both nothing is saved
*/
static PetscBool AIJTCUWouldBeSlower(const AIJTCUQuestion *q)
{
  if (q->op == SPMM_OP_PRODUCT && AIJTCUOrderIsForced(q->o) && q->f->order_state == AIJTCU_READY) return PETSC_TRUE;
  return (PetscBool)(AIJTCUSavedByBricks(q, AIJTCUSecondsOfCSR(q)) <= 0);
}

/*
   Whether the CSR path makes the product by a kernel for one vector, where there is one. These kernels write all rows
   of C, so they do not add what an off-diagonal block has for a few
*/
static PetscBool AIJTCUIsForVector(const AIJTCUQuestion *q)
{
  if (q->op != SPMM_OP_PRODUCT || q->N != 1 || !AIJTCUIsPlain(q->ask)) return PETSC_FALSE;
  return (PetscBool)(q->f->on_device && q->o->mult != MAT_AIJTCU_MULT_CUSPARSE);
}

/* Bricks or CSR on a device, where nothing was set */
static void AIJTCUDecidePathByTime(const AIJTCUQuestion *q, AIJTCUDecision *d)
{
  const AIJTCUFacts *f     = q->f;
  const PetscInt     tuned = q->ask->untuned ? -1 : AIJTCUTuningFind(q->op, q->o, f, q->N, q->device);
  PetscBool          csr, pays;

  /* bricks have not been faster with one column anywhere */
  if (AIJTCUIsForVector(q) && !AIJTCUOrderIsForced(q->o)) {
    if (AIJTCULacksVector(q, d)) return;
    if (f->vector_state == AIJTCU_READY) {
      AIJTCUTakePath(d, MAT_AIJTCU_PATH_CSR, AIJTCU_REASON_ONE_COLUMN);
      return;
    }
  }
  if (tuned >= 0) {
    AIJTCUTakePath(d, f->tuned[tuned].choice.path, f->tuned[tuned].choice.reason);
    return;
  }
  if (!q->ask->untuned && q->N && f->matrix.nrows && AIJTCUHasRoomForTuning(q)) {
    (void)AIJTCULacksFact(d, AIJTCU_NEED_TUNING, 0);
    return;
  }
  if (AIJTCULacksCSR(q, d)) return;
  csr = (PetscBool)(f->csr_state == AIJTCU_READY);
  /* These two need no look at the columns. Such a look takes as long as some products */
  if (csr && f->matrix.rows_entries && f->matrix.nnz <= FEW_ENTRIES * f->matrix.nrows) {
    AIJTCUTakePath(d, MAT_AIJTCU_PATH_CSR, AIJTCU_REASON_SHORT_ROWS);
    return;
  }
  if (csr && q->op == SPMM_OP_PRODUCT && (!f->matrix.nnz || (!AIJTCUOrderIsForced(q->o) && AIJTCUHasTooFewEntries(q)))) {
    AIJTCUTakePath(d, MAT_AIJTCU_PATH_CSR, f->matrix.nnz ? AIJTCU_REASON_FEW_ENTRIES : AIJTCU_REASON_NO_ENTRIES);
    return;
  }
  if (AIJTCULacksSurvey(q, d)) return;
  pays = AIJTCUReorderingPays(q, d);
  if (d->need) return;
  if (f->survey_state == AIJTCU_REFUSED) AIJTCUTakePath(d, MAT_AIJTCU_PATH_CSR, AIJTCU_REASON_NO_SURVEY);
  else if (!f->matrix.survey.strip_cols16) AIJTCUTakePath(d, MAT_AIJTCU_PATH_CSR, AIJTCU_REASON_NO_ENTRIES);
  else if (pays) AIJTCUTakePath(d, MAT_AIJTCU_PATH_TCU, AIJTCU_REASON_REORDERED_FASTER);
  else if (!AIJTCUColumnsSuitBricks(q)) AIJTCUTakePath(d, MAT_AIJTCU_PATH_CSR, AIJTCU_REASON_SCATTERED);
  else if (!csr) AIJTCUTakePath(d, MAT_AIJTCU_PATH_TCU, AIJTCU_REASON_NO_CSR_KERNEL);
  else if (AIJTCUWouldBeSlower(q)) AIJTCUTakePath(d, MAT_AIJTCU_PATH_CSR, AIJTCU_REASON_BRICKS_SLOWER);
  else AIJTCUTakePath(d, MAT_AIJTCU_PATH_TCU, AIJTCU_REASON_BRICKS_FASTER);
}

/*
   Decide by the least alpha that was set. With one column bricks were not faster anywhere. Where alpha is below the
   threshold, and a reordering is allowed and may help, it is that of the reordered matrix that counts
*/
static void AIJTCUDecidePathByAlpha(const AIJTCUQuestion *q, AIJTCUDecision *d)
{
  const AIJTCUFacts *f = q->f;
  PetscBool          order;

  if (q->N == 1 && q->op == SPMM_OP_PRODUCT) {
    AIJTCUTakePath(d, MAT_AIJTCU_PATH_CSR, AIJTCU_REASON_ONE_COLUMN);
    return;
  }
  if (AIJTCULacksSurvey(q, d)) return;
  if (AIJTCUAlphaOf(&f->matrix.survey) >= q->o->threshold) {
    AIJTCUTakePath(d, MAT_AIJTCU_PATH_TCU, AIJTCU_REASON_ALPHA_HIGH);
    return;
  }
  order = (PetscBool)(f->on_device && AIJTCUIsPlain(q->ask) && AIJTCUWantsOrder(q, d));
  if (order && AIJTCULacksOrder(q, d, MOST_LEVELS)) return;
  if (order && AIJTCUOrderIsUsable(q) && AIJTCUAlphaOf(&f->order_survey) >= q->o->threshold)
    AIJTCUTakePath(d, MAT_AIJTCU_PATH_TCU, AIJTCU_REASON_ALPHA_REORDERED);
  else AIJTCUTakePath(d, MAT_AIJTCU_PATH_CSR, AIJTCU_REASON_ALPHA_LOW);
}

/* What a threshold says of a product */
static void AIJTCUDecidePathByThreshold(const AIJTCUQuestion *q, AIJTCUDecision *d)
{
  if (q->o->threshold > 1) AIJTCUTakePath(d, MAT_AIJTCU_PATH_CSR, AIJTCU_REASON_THRESHOLD_ABOVE_ONE);
  else if (q->o->threshold <= 0) AIJTCUTakePath(d, MAT_AIJTCU_PATH_TCU, AIJTCU_REASON_ANY_ALPHA);
  else AIJTCUDecidePathByAlpha(q, d);
}

/*
   With an off-diagonal block, whose product is added to another. Bricks need a pass over all of C for it, while CSR
   touches rows with entries only: so bricks are taken only where they are set, or by a threshold that is
*/
static void AIJTCUDecidePathToAdd(const AIJTCUQuestion *q, AIJTCUDecision *d)
{
  if (q->o->path == MAT_AIJTCU_PATH_TCU) AIJTCUTakePath(d, MAT_AIJTCU_PATH_TCU, AIJTCU_REASON_SET);
  else if (q->o->path == MAT_AIJTCU_PATH_AUTO && q->o->threshold != (PetscReal)PETSC_DEFAULT) AIJTCUDecidePathByThreshold(q, d);
  else AIJTCUTakePath(d, MAT_AIJTCU_PATH_CSR, AIJTCU_REASON_ADDS);
}

static void AIJTCUDecidePath(const AIJTCUQuestion *q, AIJTCUDecision *d)
{
  const AIJTCUOptions *o    = q->o;
  const AIJTCUFacts   *f    = q->f;
  const PetscBool      pays = AIJTCUTensorCoresPay(o, q->device), unset = (PetscBool)(o->threshold == (PetscReal)PETSC_DEFAULT);
  const PetscBool      bricks = (PetscBool)(o->path == MAT_AIJTCU_PATH_AUTO || o->path == MAT_AIJTCU_PATH_TCU);

  if (q->op == SPMM_OP_VECTOR) AIJTCUTakePath(d, MAT_AIJTCU_PATH_CSR, AIJTCU_REASON_ONE_COLUMN);
  else if (q->op == SPMM_OP_PRODUCT && !AIJTCUIsPlain(q->ask)) AIJTCUDecidePathToAdd(q, d);
  else if (!AIJTCU_HAVE_BRICKS && o->path != MAT_AIJTCU_PATH_CUSPARSE) AIJTCUTakePath(d, MAT_AIJTCU_PATH_CSR, AIJTCU_REASON_SCALAR_TYPE);
  else if (bricks && f->device && !f->bound && !pays) AIJTCUTakePath(d, MAT_AIJTCU_PATH_CSR, AIJTCU_REASON_NO_KERNEL);
  else if (o->path != MAT_AIJTCU_PATH_AUTO) AIJTCUTakePath(d, o->path, AIJTCU_REASON_SET);
  else if (unset && !f->device) AIJTCUTakePath(d, MAT_AIJTCU_PATH_CSR, AIJTCU_REASON_NO_DEVICE);
  else if (unset && !pays) AIJTCUTakePath(d, MAT_AIJTCU_PATH_CSR, AIJTCU_REASON_NO_KERNEL);
  else if (unset && f->bound) AIJTCUTakePath(d, MAT_AIJTCU_PATH_CSR, AIJTCU_REASON_BOUND);
  else if (unset) AIJTCUDecidePathByTime(q, d);
  else AIJTCUDecidePathByThreshold(q, d);
}

/*
   The times that the model compares, and where they meet
*/

/* Whether bricks pay if the matrix had so many times its alpha: its entries in fewer columns of strips and panels */
static PetscBool AIJTCUPaysAtAlpha(const AIJTCUQuestion *q, double times)
{
  AIJTCUFacts    other = *q->f;
  AIJTCUQuestion at    = *q;
  HrpbSurvey    *s     = &other.matrix.survey;

  s->strip_cols8      = (int64_t)((double)s->strip_cols8 / times);
  s->strip_cols16     = (int64_t)((double)s->strip_cols16 / times);
  s->staged_rows      = (int64_t)((double)s->staged_rows / times);
  s->needed_rows      = (int64_t)((double)s->needed_rows / times);
  s->most_staged_rows = (int64_t)((double)s->most_staged_rows / times);
  at.f                = &other;
  return (PetscBool)(AIJTCUSavedByBricks(&at, AIJTCUSecondsOfCSR(q)) > 0);
}

/* The alpha from which on bricks pay. 0 where they do at the least alpha that there is, 2 where they do at none */
static PetscReal AIJTCUThresholdByTime(const AIJTCUQuestion *q, double alpha)
{
  double low = 1. / 16, high = 1;

  if (AIJTCUPaysAtAlpha(q, low / alpha)) return 0;
  if (!AIJTCUPaysAtAlpha(q, high / alpha)) return THRESHOLD_NEVER;
  for (int k = 0; k < 30; k++) {
    const double middle = (low + high) / 2;

    if (AIJTCUPaysAtAlpha(q, middle / alpha)) high = middle;
    else low = middle;
  }
  return (PetscReal)high;
}

/*
   A product with a dense matrix of the same size, by cuBLAS on an H200 (test/results/papers-h200.csv): a share of the
   bandwidth, or nearly all flops, in single precision without tensor cores; and what a product takes however small it
   is. That is 0.66 to 1.16 of what was measured. Of complex numbers it is not known
*/
static double AIJTCUSecondsOfDense(const AIJTCUQuestion *q)
{
  const double flops = PetscDefined(USE_REAL_DOUBLE) ? 6e13 : 5.1e13, share = 0.7, least = PetscDefined(USE_REAL_DOUBLE) ? 3e-5 : 2.2e-5;
  const double entries = (double)q->f->matrix.nrows * (double)q->f->matrix.ncols;

  if (AIJTCU_PARTS > 1) return 0;
  return least + PetscMax(entries * (double)sizeof(PetscScalar) / (share * q->device->device->model->bandwidth), 2 * entries * (double)q->N / flops);
}

/* What is compared for a product with N columns, as far as it is known */
AIJTCUComparison AIJTCUCompare(PetscInt N, const AIJTCUOptions *o, const AIJTCUFacts *f, const AIJTCUDeviceFacts *device)
{
  const AIJTCUAsk      ask = {.op = SPMM_OP_PRODUCT, .N = N};
  const AIJTCUQuestion q   = {SPMM_OP_PRODUCT, N, o, f, device, &ask};
  AIJTCUComparison     c   = {.threshold = AIJTCUThresholdInForce(o, f->device, device)};

  if (f->survey_state != AIJTCU_READY || !f->matrix.survey.strip_cols16) return c;
  c.alpha = AIJTCUAlphaOf(&f->matrix.survey);
  if (f->order_state == AIJTCU_READY) c.alpha_reordered = AIJTCUAlphaOf(&f->order_survey);
  if (!f->on_device || f->csr_state != AIJTCU_READY || !AIJTCUTensorCoresPay(o, device)) return c;
  c.csr    = AIJTCUSecondsOfCSR(&q);
  c.bricks = AIJTCUSecondsOfBricks(&q);
  c.dense  = AIJTCUSecondsOfDense(&q);
  if (f->order_state == AIJTCU_READY) {
    const SpmmFacts reordered = AIJTCUFactsReordered(f);

    c.reordered = AIJTCUSecondsReordered(&q, &reordered);
  }
  if (o->threshold == (PetscReal)PETSC_DEFAULT) c.threshold = AIJTCUThresholdByTime(&q, c.alpha);
  return c;
}

/*
   The threshold that is set. If none is, a value that says how the choice works: 0 where a model of the times decides,
   and "never bricks" on the host, where they are a reference
*/
PetscReal AIJTCUThresholdInForce(const AIJTCUOptions *o, PetscBool of_device, const AIJTCUDeviceFacts *device)
{
  if (o->threshold != (PetscReal)PETSC_DEFAULT) return o->threshold;
  return of_device && AIJTCUTensorCoresPay(o, device) ? 0 : THRESHOLD_NEVER;
}

/*
   What follows from a path
*/

/* Whether the bricks of a decision are there, built or refused */
static PetscBool AIJTCUHasBricks(const AIJTCUFacts *f, const AIJTCUDecision *d)
{
  if (f->bricks_state == AIJTCU_EMPTY || f->bricks_reordered != d->reordered) return PETSC_FALSE;
  return AIJTCUFormatsEqual(&d->format, &f->bricks_format);
}

/* The matrix as its bricks are of it. Where they exist the size of their blocks is known */
static SpmmFacts AIJTCUFactsOfBricks(const AIJTCUFacts *f, const AIJTCUDecision *d)
{
  SpmmFacts facts = d->reordered ? AIJTCUFactsReordered(f) : f->matrix;

  if (f->bricks_state == AIJTCU_READY && AIJTCUHasBricks(f, d)) {
    facts.max_pattern = f->bricks_max_pattern;
    facts.max_values  = f->bricks_max_values;
  }
  return facts;
}

/*
   Whether bricks are of the reordered matrix, where there is a usable order. The numeric phase of a product asks this,
   and knows the path, but not the reason for it. An order that was found and is no faster is left alone. Bricks of the
   reordered matrix stay so: otherwise those of two numbers of columns would be built in turn
*/
static PetscBool AIJTCUTakesOrder(const AIJTCUQuestion *q)
{
  const AIJTCUFacts *f         = q->f;
  const SpmmFacts    reordered = AIJTCUFactsReordered(f);

  if (!AIJTCUOrderIsUsable(q)) return PETSC_FALSE;
  if (AIJTCUOrderIsForced(q->o) || AIJTCUThresholdDecides(q->o) || (f->bricks_state == AIJTCU_READY && f->bricks_reordered)) return PETSC_TRUE;
  if (!SpmmColumnsRun(&reordered.survey)) return PETSC_FALSE;
  return (PetscBool)(!AIJTCUColumnsSuitBricks(q) || AIJTCUSecondsReordered(q, &reordered) < AIJTCUSecondsOfBricks(q));
}

/* Decide for bricks: of which matrix, and in which format */
static void AIJTCUDecideBricks(const AIJTCUQuestion *q, AIJTCUDecision *d)
{
  const AIJTCUFacts *f     = q->f;
  const HrpbParams  *tuned = AIJTCUFormatTuned(q);
  SpmmFacts          facts;

  /* the path was decided while the matrix was bound to the host */
  if (f->on_device && !AIJTCUTensorCoresPay(q->o, q->device)) return;
  if (f->on_device) {
    d->reordered = AIJTCUWantsOrder(q, d);
    if (d->need || (d->reordered && AIJTCUOrderIsForced(q->o) && AIJTCULacksOrder(q, d, MOST_LEVELS))) return;
    d->reordered = (PetscBool)(d->reordered && AIJTCUTakesOrder(q));
  }
  facts = d->reordered ? AIJTCUFactsReordered(f) : f->matrix;
  /* a sampled product takes the bricks that are there, so that products and it do not build theirs in turn */
  if (q->op == SPMM_OP_SAMPLED && f->bricks_state == AIJTCU_READY) {
    if (f->bricks_reordered) return;
    d->format = f->bricks_format;
  } else if (AIJTCU_PARTS > 1 && f->on_device && q->o->format.brick_rows && !d->reordered && AIJTCULacksSurvey(q, d)) {
    return; /* for pairs */
  } else if (q->o->format.brick_rows || !f->on_device) d->format = AIJTCUFormatSet(q->o);
  else if (tuned) d->format = *tuned;
  else if (!d->reordered && AIJTCULacksSurvey(q, d)) return;
  else d->format = d->reordered ? SpmmBrickFormatReordered(&facts) : AIJTCUSuitableFormat(q, &facts);
  d->format = AIJTCUFormatStored(q, d->reordered, d->format);
  facts     = AIJTCUFactsOfBricks(f, d);
  d->there  = AIJTCUHasBricks(f, d);
  d->kernel = AIJTCUKernelAsked(q, q->op, SPMM_BRICKS, &facts, &d->format);
}

static void AIJTCUDecideCSR(const AIJTCUQuestion *q, AIJTCUDecision *d)
{
  const AIJTCUFacts *f      = q->f;
  const PetscBool    vector = (PetscBool)(q->op == SPMM_OP_VECTOR || AIJTCUIsForVector(q));

  if (!f->on_device) { /* the parent makes plain products */
    if (q->op == SPMM_OP_PRODUCT && !AIJTCUIsPlain(q->ask)) d->kernel = AIJTCUKernelAsked(q, SPMM_OP_PRODUCT, SPMM_CSR, &f->matrix, NULL);
    return;
  }
  if (vector && AIJTCULacksVector(q, d)) return;
  if (vector && AIJTCUHasVector(q)) d->kernel = AIJTCUKernelAsked(q, SPMM_OP_VECTOR, SPMM_CSR, &f->matrix, NULL);
  if (d->kernel || q->op == SPMM_OP_VECTOR || AIJTCULacksCSR(q, d)) return;
  if (f->csr_state == AIJTCU_READY) d->kernel = AIJTCUKernelAsked(q, q->op, SPMM_CSR, &f->matrix, NULL);
}

/* Decide how what is asked for is made */
static AIJTCUDecision AIJTCUDecideOne(const AIJTCUAsk *ask, const AIJTCUOptions *o, const AIJTCUFacts *f, const AIJTCUDeviceFacts *device)
{
  const AIJTCUQuestion q = {ask->op, PetscMax(ask->N, ask->decide), o, f, device, ask};
  AIJTCUDecision       d = {.op = q.op, .N = q.N, .path = ask->path, .reason = ask->reason, .precision = AIJTCUPrecision(o)};

  if (d.path == MAT_AIJTCU_PATH_AUTO) AIJTCUDecidePath(&q, &d);
  if (d.need) return d;
  if (d.path == MAT_AIJTCU_PATH_TCU) AIJTCUDecideBricks(&q, &d);
  else if (d.path == MAT_AIJTCU_PATH_CSR) AIJTCUDecideCSR(&q, &d);
  if (d.kernel && d.kernel->seconds) {
    const SpmmFacts facts = AIJTCUFactsOfBricks(f, &d);

    d.seconds = d.kernel->seconds(&facts, &d.format, d.precision, q.N, device->device);
    /* of what stands in */
    if (AIJTCU_PARTS > 1 && d.path == MAT_AIJTCU_PATH_CSR && AIJTCUIsPlain(ask)) d.seconds = AIJTCUSecondsOfCSR(&q);
  }
  return d;
}

/*
   Whether a sampled product, as decided, its softmax, and the product of that with a dense matrix are faster in one
   pass, by this kernel, than one after the other. The entries of the first have to be packed for bricks
*/
static PetscBool AIJTCUFusedPays(const AIJTCUQuestion *q, const AIJTCUDecision *sampled, const SpmmKernel *fused)
{
  const PetscInt          N      = q->ask->N;
  const AIJTCUQuestion    first  = {SPMM_OP_SAMPLED, sampled->N, q->o, q->f, q->device, q->ask};
  const AIJTCUQuestion    second = {SPMM_OP_PRODUCT, N, q->o, q->f, q->device, q->ask};
  const AIJTCUQuestion    both   = {SPMM_OP_FUSED, sampled->N + N, q->o, q->f, q->device, q->ask};
  const SpmmSampledTimes *t      = &q->device->device->model->sampled;
  const double            pass   = 1e-12 * t->entry * (double)q->f->matrix.nnz;
  double                  one, other;

  if (sampled->reason != AIJTCU_REASON_BRICKS_FASTER) return PETSC_TRUE; /* bricks are set */
  one   = AIJTCUSecondsOf(&both, fused, &sampled->format) * (q->ask->softmax ? t->fused_softmax / t->fused : 1);
  other = AIJTCUSecondsOfBricks(&first) + PetscMin(AIJTCUSecondsOfCSR(&second), AIJTCUSecondsOfBricks(&second) + pass);
  if (q->ask->softmax) other += pass;
  return (PetscBool)(one < other);
}

/* A fused product takes the bricks of the sampled one, where that takes bricks. There is no other way for it */
static AIJTCUDecision AIJTCUDecideFused(const AIJTCUAsk *ask, const AIJTCUOptions *o, const AIJTCUFacts *f, const AIJTCUDeviceFacts *device)
{
  const AIJTCUQuestion q       = {SPMM_OP_FUSED, ask->N, o, f, device, ask};
  AIJTCUAsk            sampled = *ask;
  AIJTCUDecision       d;

  sampled.op = SPMM_OP_SAMPLED;
  sampled.N  = ask->K;
  d          = AIJTCUDecideOne(&sampled, o, f, device);
  d.op       = SPMM_OP_FUSED;
  if (d.need || !d.kernel) return d;
  if (d.path == MAT_AIJTCU_PATH_TCU) {
    const SpmmFacts facts = AIJTCUFactsOfBricks(f, &d);

    d.kernel = AIJTCUKernelAsked(&q, SPMM_OP_FUSED, SPMM_BRICKS, &facts, &d.format);
  } else d.kernel = NULL;
  if (d.kernel && !AIJTCUFusedPays(&q, &d, d.kernel)) d.kernel = NULL;
  return d;
}

AIJTCUDecision AIJTCUDecide(const AIJTCUAsk *ask, const AIJTCUOptions *o, const AIJTCUFacts *f, const AIJTCUDeviceFacts *device)
{
  return ask->op == SPMM_OP_FUSED ? AIJTCUDecideFused(ask, o, f, device) : AIJTCUDecideOne(ask, o, f, device);
}
