static char help[] = "Tests how a product is made: AIJTCUDecide() with facts of matrices and devices that are made up here. Needs no GPU.\n\
Prints on error only.\n\n";

#include <petscsys.h>
#include <../src/plan/choice.h>

/* Times come from kernels for a device. The model knows the matrices below in double precision */
#define HAVE_KERNELS (PetscDefined(HAVE_CUDA) && (!PETSC_VERSION_LT(3, 26, 0) || !PetscDefined(USE_64BIT_INDICES)))
#define HAVE_TIMES   (HAVE_KERNELS && PetscDefined(USE_REAL_DOUBLE))

static SpmmDevice        h200;
static AIJTCUDeviceFacts device;  /* a device whose tensor cores pay */
static AIJTCUDeviceFacts nothing; /* no device */

/* What each test starts from, and changes */
typedef struct {
  AIJTCUOptions            o;
  AIJTCUFacts              f;
  const AIJTCUDeviceFacts *device;
  PetscBool                untuned;
} Question;

/* The matrices of test/results/bench-double-h200.csv: rows, counts of a survey, longest row, and kernel for CSR */
typedef struct {
  const char *name;
  int64_t     rows, nnz, strip_cols8, strip_cols16, staged_rows, most_staged_rows, needed_rows, longest;
  int32_t     panel_rows, rows_entries;
  PetscInt    first; /* least number of columns, among those below, at which bricks were taken; 0 for none */
  HrpbParams  format;
} Matrix;

static const Matrix elasticity = {"elasticity", 786432, 61731000, 13645800, 10180200, 7508800, 1296, 7256100, 81, 0, 0, 1, {8, 64, 64, 4}};
static const Matrix dof8       = {"8 unknowns a node", 512000, 105154048, 13144256, 8688576, 4901248, 1296, 4901248, 216, 0, 0, 1, {8, 64, 64, 8}};
static const Matrix tetra      = {"tetrahedra", 786432, 34511598, 12575931, 9909102, 6990008, 1744, 3573294, 45, 0, 0, 8, {8, 64, 64, 4}};
static const Matrix stencil27  = {"27 points", 884736, 23393656, 9651928, 8670376, 6754176, 1008, 6561984, 27, 672, 0, 0, {0, 0, 0, 0}};
static const Matrix banded     = {"banded", 524288, 17301232, 2621392, 1572832, 655328, 160, 655328, 33, 0, 0, 1, {16, 128, 64, 8}};
static const Matrix poisson7   = {"7 points", 2097152, 14581760, 10911744, 10649600, 10420224, 640, 10420224, 7, 0, 2048, 0, {0, 0, 0, 0}};
static const Matrix rmat       = {"R-MAT", 524288, 7969230, 7356496, 7045114, 31972512, 240144, 5740353, 24934, 0, 0, 0, {0, 0, 0, 0}};
static const Matrix uniform    = {"uniform", 524288, 8388490, 8387584, 8386549, 66068408, 16296, 8372246, 16, 0, 0, 0, {0, 0, 0, 0}};
static const Matrix permuted   = {"elasticity, permuted", 786432, 61731000, 61708944, 61684065, 464457416, 77984, 61338075, 81, 0, 0, 8, {16, 128, 64, 8}};

/* Rows have so many entries that all windows of a panel have some: columns run, and yet an order helps */
static const Matrix crowded = {"8 unknowns a node, permuted", 32768, 6229504, 6094832, 5960656, 8365536, 32744, 4378080, 216, 0, 0, 0, {16, 128, 64, 8}};

/* Columns that do not run, and that the rows of a panel share. Such a matrix was not measured */
static const Matrix shared = {"shared columns", 786432, 34511598, 12575931, 9909102, 24000000, 6000, 9000000, 45, 0, 0, 0, {8, 64, 64, 1}};

static const HrpbParams whole = {16, 128, 64, 8};
static const HrpbParams brief = {8, 64, 64, 4}; /* short panels */
static const HrpbParams rows  = {8, 64, 64, 1}; /* rows of a row-major B */

static HrpbSurvey SurveyOf(const Matrix *m)
{
  return (HrpbSurvey){.nnz = m->nnz, .strip_cols8 = m->strip_cols8, .strip_cols16 = m->strip_cols16, .staged_rows = m->staged_rows, .most_staged_rows = m->most_staged_rows, .needed_rows = m->needed_rows};
}

/* A matrix on a device. All is known except a reordering, and nothing is set */
static Question Ask(const Matrix *m)
{
  Question q;

  memset(&q, 0, sizeof(q));
  q.device                  = &device;
  q.o.threshold             = PETSC_DEFAULT;
  q.o.products              = PETSC_DEFAULT;
  q.f.device                = PETSC_TRUE;
  q.f.on_device             = PETSC_TRUE;
  q.f.survey_state          = AIJTCU_READY;
  q.f.csr_state             = AIJTCU_READY;
  q.f.vector_state          = AIJTCU_REFUSED; /* one column has a test of its own */
  q.f.matrix.nrows          = m->rows;
  q.f.matrix.ncols          = m->rows;
  q.f.matrix.nnz            = m->nnz;
  q.f.matrix.longest        = m->longest;
  q.f.matrix.survey         = SurveyOf(m);
  q.f.matrix.direct_columns = 1;
  q.f.matrix.panel_rows     = m->panel_rows;
  q.f.matrix.rows_entries   = m->rows_entries;
  return q;
}

/* The same matrix on the host */
static Question AskHost(const Matrix *m)
{
  Question q = Ask(m);

  q.device   = &nothing;
  q.f.device = q.f.on_device = PETSC_FALSE;
  q.f.bound                  = PETSC_TRUE;
  q.f.csr_state              = AIJTCU_EMPTY;
  return q;
}

static AIJTCUDecision Decide(const Question *q, PetscInt N)
{
  const AIJTCUAsk ask = {.op = SPMM_OP_PRODUCT, .N = N, .untuned = q->untuned};

  return AIJTCUDecide(&ask, &q->o, &q->f, q->device);
}

/* A sampled product of 32 columns */
static AIJTCUDecision DecideSampled(const Question *q)
{
  const AIJTCUAsk ask = {.op = SPMM_OP_SAMPLED, .N = 32};

  return AIJTCUDecide(&ask, &q->o, &q->f, q->device);
}

/* The same in one pass with a product of 32 columns */
static AIJTCUDecision DecideFused(const Question *q)
{
  const AIJTCUAsk ask = {.op = SPMM_OP_FUSED, .N = 32, .K = 32};

  return AIJTCUDecide(&ask, &q->o, &q->f, q->device);
}

/* Sampled products: bricks as in products, but never reordered, and those that are there are taken */
static PetscErrorCode TestSampled(void)
{
  const struct {
    const Matrix *m;
    MatAIJTCUPath path;
    const char   *kernel;
  } right[] = {
    {&elasticity, MAT_AIJTCU_PATH_TCU, "sampled-bricks"},
    {&stencil27,  MAT_AIJTCU_PATH_CSR, "sampled-staged"},
    {&poisson7,   MAT_AIJTCU_PATH_CSR, "sampled-rows"  },
    {&uniform,    MAT_AIJTCU_PATH_CSR, "sampled-copy"  },
    {&permuted,   MAT_AIJTCU_PATH_CSR, "sampled-copy"  },
    {&shared,     MAT_AIJTCU_PATH_CSR, "sampled-copy"  }
  };
  Question       q;
  AIJTCUDecision d;
  PetscBool      same;

  PetscFunctionBegin;
  for (size_t i = 0; i < PETSC_STATIC_ARRAY_LENGTH(right); i++) {
    for (int reorder = 0; reorder < 2; reorder++) {
      q                 = Ask(right[i].m);
      q.f.panels_sought = PETSC_TRUE;
      q.o.reorder       = reorder ? MAT_AIJTCU_REORDER_ALWAYS : MAT_AIJTCU_REORDER_AUTO;
      q.o.tune          = MAT_AIJTCU_TUNE_PROXY;
      d                 = DecideSampled(&q);
      PetscCall(PetscStrcmp(d.kernel ? d.kernel->name : "", right[i].kernel, &same));
      if (d.path != right[i].path || d.need || d.reordered || !same) PetscCall(PetscPrintf(PETSC_COMM_SELF, "sampled, %s: %s (%s), kernel %s, need %d, not %s\n", right[i].m->name, MatAIJTCUPaths[d.path], AIJTCUReasons[d.reason], d.kernel ? d.kernel->name : "none", (int)d.need, right[i].kernel));
    }
  }
  /* short rows whose columns run: panels are sought, and products do not take them. Other matrices need none */
  q = Ask(&poisson7);
  d = DecideSampled(&q);
  if (d.need != AIJTCU_NEED_PANELS || Decide(&q, 32).need) PetscCall(PetscPrintf(PETSC_COMM_SELF, "sampled, %s: need %d, of a product %d\n", poisson7.name, (int)d.need, (int)Decide(&q, 32).need));
  q.f.panels_sought         = PETSC_TRUE;
  q.f.matrix.panel_rows     = 480;
  q.f.matrix.staged_rows    = 1700;
  q.f.matrix.panels_sampled = 1;
  d                         = DecideSampled(&q);
  PetscCall(PetscStrcmp(d.kernel ? d.kernel->name : "", "sampled-staged", &same));
  if (!same) PetscCall(PetscPrintf(PETSC_COMM_SELF, "sampled, %s: not by its panels\n", poisson7.name));
  d = Decide(&q, 32);
  PetscCall(PetscStrcmp(d.kernel ? d.kernel->name : "", "csr-rows", &same));
  if (!same) PetscCall(PetscPrintf(PETSC_COMM_SELF, "%s: %s takes panels of sampled products\n", poisson7.name, d.kernel ? d.kernel->name : "none"));
  q = Ask(&uniform);
  d = DecideSampled(&q);
  if (d.need) PetscCall(PetscPrintf(PETSC_COMM_SELF, "sampled, %s: need %d\n", uniform.name, (int)d.need));
  for (int i = 0; i < 2; i++) { /* in one pass with another product where that is faster, as measured, or bricks are set */
    q = Ask(i ? &stencil27 : &elasticity);
    if (!DecideFused(&q).kernel == !i) PetscCall(PetscPrintf(PETSC_COMM_SELF, "fused, %s: not as measured\n", i ? stencil27.name : elasticity.name));
    q.o.path = MAT_AIJTCU_PATH_TCU;
    if (!DecideFused(&q).kernel) PetscCall(PetscPrintf(PETSC_COMM_SELF, "fused: not with bricks that are set\n"));
  }
  q                      = Ask(&elasticity);
  q.f.bricks_state       = AIJTCU_READY;
  q.f.bricks_format      = (HrpbParams){8, 64, 64, 8};
  q.f.bricks_max_pattern = 10;
  d                      = DecideSampled(&q);
  if (!d.kernel || d.format.brick_rows != 8) PetscCall(PetscPrintf(PETSC_COMM_SELF, "sampled: not the bricks that are there\n"));
  q.f.bricks_reordered = PETSC_TRUE;
  d                    = DecideSampled(&q);
  if (d.kernel) PetscCall(PetscPrintf(PETSC_COMM_SELF, "sampled: bricks of the reordered matrix\n"));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Check the path for N columns, and its reason */
static PetscErrorCode CheckPath(const Question *q, PetscInt N, MatAIJTCUPath path, AIJTCUReason reason, const char what[])
{
  const AIJTCUDecision d = Decide(q, N);

  PetscFunctionBegin;
  if (d.path != path || d.reason != reason || d.op != SPMM_OP_PRODUCT || d.N != N)
    PetscCall(PetscPrintf(PETSC_COMM_SELF, "%s, %" PetscInt_FMT " columns: %s (%s), need %d, not %s (%s)\n", what, N, MatAIJTCUPaths[d.path], AIJTCUReasons[d.reason], (int)d.need, MatAIJTCUPaths[path], AIJTCUReasons[reason]));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Check which fact is lacking before the path is known */
static PetscErrorCode CheckNeed(const Question *q, PetscInt N, AIJTCUNeedFact need, const char what[])
{
  const AIJTCUDecision d = Decide(q, N);

  PetscFunctionBegin;
  if (d.path != MAT_AIJTCU_PATH_AUTO || d.need != need) PetscCall(PetscPrintf(PETSC_COMM_SELF, "%s, %" PetscInt_FMT " columns: need %d for path %s (%s), not %d\n", what, N, (int)d.need, MatAIJTCUPaths[d.path], AIJTCUReasons[d.reason], (int)need));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Check what follows from the path. Without a name there must be no kernel. Without a format none is compared */
static PetscErrorCode CheckRest(const Question *q, PetscInt N, const char kernel[], const HrpbParams *format, PetscBool reordered, const char what[])
{
  const AIJTCUDecision d = Decide(q, N);
  const HrpbParams    *f = &d.format;
  PetscBool            same;

  PetscFunctionBegin;
  if (d.need) PetscCall(PetscPrintf(PETSC_COMM_SELF, "%s, %" PetscInt_FMT " columns: fact %d is needed\n", what, N, (int)d.need));
  PetscCall(PetscStrcmp(d.kernel ? d.kernel->name : "", kernel ? kernel : "", &same));
  if (!same) PetscCall(PetscPrintf(PETSC_COMM_SELF, "%s, %" PetscInt_FMT " columns: kernel %s, not %s\n", what, N, d.kernel ? d.kernel->name : "none", kernel ? kernel : "none"));
  if (d.reordered != reordered) PetscCall(PetscPrintf(PETSC_COMM_SELF, "%s, %" PetscInt_FMT " columns: %sreordered\n", what, N, reordered ? "not " : ""));
  if (format && (f->brick_rows != format->brick_rows || f->panel_rows != format->panel_rows || f->block_cols != format->block_cols || f->window_cols != format->window_cols))
    PetscCall(PetscPrintf(PETSC_COMM_SELF, "%s, %" PetscInt_FMT " columns: format %d,%d,%d,%d, not %d,%d,%d,%d\n", what, N, (int)f->brick_rows, (int)f->panel_rows, (int)f->block_cols, (int)f->window_cols, (int)format->brick_rows, (int)format->panel_rows, (int)format->block_cols, (int)format->window_cols));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode TestHost(void)
{
  const HrpbParams reference = {8, 64, 32, 1}, set = {16, 32, 64, 4};
  Question         q = AskHost(&elasticity);

  PetscFunctionBegin;
  PetscCall(CheckPath(&q, 32, MAT_AIJTCU_PATH_CSR, AIJTCU_REASON_NO_DEVICE, "the host"));
  PetscCall(CheckRest(&q, 32, NULL, NULL, PETSC_FALSE, "the host, where the parent's product is the CSR path"));
  q.f.survey_state = AIJTCU_EMPTY;
  PetscCall(CheckPath(&q, 32, MAT_AIJTCU_PATH_CSR, AIJTCU_REASON_NO_DEVICE, "the host, nothing counted"));
  q.o.path = MAT_AIJTCU_PATH_CUSPARSE;
  PetscCall(CheckPath(&q, 32, MAT_AIJTCU_PATH_CUSPARSE, AIJTCU_REASON_SET, "cusparse"));
  PetscCall(CheckRest(&q, 32, NULL, NULL, PETSC_FALSE, "cusparse"));
  q.o.path = MAT_AIJTCU_PATH_TCU;
  PetscCall(CheckPath(&q, 32, MAT_AIJTCU_PATH_TCU, AIJTCU_REASON_SET, "bricks on the host"));
  PetscCall(CheckRest(&q, 32, "bricks-host", &reference, PETSC_FALSE, "bricks on the host"));
  q.o.reorder = MAT_AIJTCU_REORDER_ALWAYS;
  PetscCall(CheckRest(&q, 32, "bricks-host", &reference, PETSC_FALSE, "bricks on the host, which are not reordered"));
  q.o.format = (MatAIJTCUFormat){set.brick_rows, set.panel_rows, set.block_cols, set.window_cols};
  PetscCall(CheckRest(&q, 32, "bricks-host", &set, PETSC_FALSE, "bricks on the host, with a format"));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* A threshold that is set decides, on the host and on a device */
static PetscErrorCode TestThreshold(void)
{
  Question q = AskHost(&elasticity);

  PetscFunctionBegin;
  q.f.matrix.survey.nnz = 4 * q.f.matrix.survey.strip_cols16; /* alpha is 1/4 */
  q.o.threshold         = 0.25;
  PetscCall(CheckPath(&q, 32, MAT_AIJTCU_PATH_TCU, AIJTCU_REASON_ALPHA_HIGH, "alpha is the threshold"));
  q.f.matrix.survey.nnz -= 100; /* in single precision one nonzero less is the same alpha */
  PetscCall(CheckPath(&q, 32, MAT_AIJTCU_PATH_CSR, AIJTCU_REASON_ALPHA_LOW, "alpha next below the threshold"));
  q.f.survey_state = AIJTCU_EMPTY;
  PetscCall(CheckNeed(&q, 32, AIJTCU_NEED_SURVEY, "a threshold"));
  q.o.threshold = 0;
  PetscCall(CheckPath(&q, 32, MAT_AIJTCU_PATH_TCU, AIJTCU_REASON_ANY_ALPHA, "a threshold of 0"));
  q.o.threshold = (PetscReal)1.001;
  PetscCall(CheckPath(&q, 32, MAT_AIJTCU_PATH_CSR, AIJTCU_REASON_THRESHOLD_ABOVE_ONE, "a threshold above 1"));
  q.o.threshold = 1;
  PetscCall(CheckNeed(&q, 32, AIJTCU_NEED_SURVEY, "a threshold of 1"));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* One column is no matter of alpha. An off-diagonal block is one of its own alpha, and so is the reordered matrix */
static PetscErrorCode TestThresholdOnDevice(void)
{
  AIJTCUAsk      adds = {.op = SPMM_OP_PRODUCT, .N = 32, .Y = SPMM_COLUMN_MAJOR, .update = SPMM_ADD};
  AIJTCUDecision d;
  Question       q = Ask(&elasticity); /* alpha is 0.379 */

  PetscFunctionBegin;
  q.o.threshold = (PetscReal)0.375;
  PetscCall(CheckPath(&q, 32, MAT_AIJTCU_PATH_TCU, AIJTCU_REASON_ALPHA_HIGH, "a threshold below alpha"));
  PetscCall(CheckPath(&q, 1, MAT_AIJTCU_PATH_CSR, AIJTCU_REASON_ONE_COLUMN, "a threshold below alpha"));
  d = AIJTCUDecide(&adds, &q.o, &q.f, q.device);
  if (d.path != MAT_AIJTCU_PATH_TCU || d.reason != AIJTCU_REASON_ALPHA_HIGH) PetscCall(PetscPrintf(PETSC_COMM_SELF, "an off-diagonal block above the threshold: %s (%s)\n", MatAIJTCUPaths[d.path], AIJTCUReasons[d.reason]));
  q.o.threshold = (PetscReal)0.385;
  PetscCall(CheckPath(&q, 32, MAT_AIJTCU_PATH_CSR, AIJTCU_REASON_ALPHA_LOW, "a threshold above alpha"));
  d = AIJTCUDecide(&adds, &q.o, &q.f, q.device);
  if (d.path != MAT_AIJTCU_PATH_CSR || d.reason != AIJTCU_REASON_ALPHA_LOW) PetscCall(PetscPrintf(PETSC_COMM_SELF, "an off-diagonal block below the threshold: %s (%s)\n", MatAIJTCUPaths[d.path], AIJTCUReasons[d.reason]));
  q.o.threshold = 0;
  PetscCall(CheckPath(&q, 1, MAT_AIJTCU_PATH_TCU, AIJTCU_REASON_ANY_ALPHA, "a threshold of 0"));
  q.o.threshold = PETSC_DEFAULT;
  d             = AIJTCUDecide(&adds, &q.o, &q.f, q.device);
  if (d.path != MAT_AIJTCU_PATH_CSR || d.reason != AIJTCU_REASON_ADDS) PetscCall(PetscPrintf(PETSC_COMM_SELF, "an off-diagonal block: %s (%s)\n", MatAIJTCUPaths[d.path], AIJTCUReasons[d.reason]));
  q             = Ask(&permuted);
  q.o.threshold = (PetscReal)0.25;
  PetscCall(CheckNeed(&q, 32, AIJTCU_NEED_ORDER, "a threshold, in random order"));
  q.f.order_state  = AIJTCU_READY;
  q.f.order_shared = 40;
  q.f.order_survey = SurveyOf(&elasticity);
  PetscCall(CheckPath(&q, 32, MAT_AIJTCU_PATH_TCU, AIJTCU_REASON_ALPHA_REORDERED, "a threshold, reordered"));
  if (!Decide(&q, 32).reordered) PetscCall(PetscPrintf(PETSC_COMM_SELF, "a threshold: bricks are not of the reordered matrix\n"));
  q.o.threshold = (PetscReal)0.5;
  PetscCall(CheckPath(&q, 32, MAT_AIJTCU_PATH_CSR, AIJTCU_REASON_ALPHA_LOW, "a threshold above that of the reordered matrix"));
  q.o.threshold = (PetscReal)0.25;
  q.o.reorder   = MAT_AIJTCU_REORDER_NEVER;
  PetscCall(CheckPath(&q, 32, MAT_AIJTCU_PATH_CSR, AIJTCU_REASON_ALPHA_LOW, "a threshold, and no reordering"));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*
   What is compared is what decides: alpha is at or above the threshold exactly where bricks are faster, and that is
   where bricks are taken. Half of the entries in the same columns are half of alpha
*/
static PetscErrorCode TestComparison(const Matrix *m)
{
  const PetscInt columns[] = {2, 8, 32, 128, 256};

  PetscFunctionBegin;
  for (size_t k = 0; k < PETSC_STATIC_ARRAY_LENGTH(columns); k++) {
    const PetscInt         N = columns[k];
    Question               q = Ask(m);
    const AIJTCUComparison c = AIJTCUCompare(N, &q.o, &q.f, q.device);
    AIJTCUDecision         d;

    q.o.reorder = MAT_AIJTCU_REORDER_NEVER;
    d           = Decide(&q, N);
    if (PetscAbsReal(c.alpha - (PetscReal)m->nnz / (16 * (PetscReal)m->strip_cols16)) > 1e-6) PetscCall(PetscPrintf(PETSC_COMM_SELF, "%s: alpha %g\n", m->name, (double)c.alpha));
    if ((c.threshold <= c.alpha) != (c.bricks < c.csr)) PetscCall(PetscPrintf(PETSC_COMM_SELF, "%s, %" PetscInt_FMT " columns: alpha %g, threshold %g, bricks %g s, CSR %g s\n", m->name, N, (double)c.alpha, (double)c.threshold, c.bricks, c.csr));
    if (d.reason == AIJTCU_REASON_BRICKS_FASTER && c.bricks >= c.csr) PetscCall(PetscPrintf(PETSC_COMM_SELF, "%s, %" PetscInt_FMT " columns: bricks are taken, and are said to be slower\n", m->name, N));
    if (d.reason == AIJTCU_REASON_BRICKS_SLOWER && c.bricks < c.csr) PetscCall(PetscPrintf(PETSC_COMM_SELF, "%s, %" PetscInt_FMT " columns: CSR is taken, and is said to be slower\n", m->name, N));
    if (d.path == MAT_AIJTCU_PATH_CSR && d.seconds != c.csr) PetscCall(PetscPrintf(PETSC_COMM_SELF, "%s, %" PetscInt_FMT " columns: CSR takes %g s, and is said to take %g\n", m->name, N, d.seconds, c.csr));
    if (c.threshold > (PetscReal)0.0625 && c.threshold <= 1) { /* what is less full than that is slower, what is fuller is faster */
      for (int fuller = 0; fuller < 2; fuller++) {
        const double times = (double)(c.threshold / c.alpha) * (fuller ? 1.01 : 0.99);
        Matrix       other = *m;

        other.strip_cols8      = (int64_t)((double)m->strip_cols8 / times);
        other.strip_cols16     = (int64_t)((double)m->strip_cols16 / times);
        other.staged_rows      = (int64_t)((double)m->staged_rows / times);
        other.needed_rows      = (int64_t)((double)m->needed_rows / times);
        other.most_staged_rows = (int64_t)((double)m->most_staged_rows / times);
        q                      = Ask(&other);
        if ((AIJTCUCompare(N, &q.o, &q.f, q.device).bricks < c.csr) != fuller) PetscCall(PetscPrintf(PETSC_COMM_SELF, "%s, %" PetscInt_FMT " columns: the times do not meet at %g\n", m->name, N, (double)c.threshold));
      }
    }
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* A dense matrix is faster where a fifth of the entries are not zero and columns are many, and not at a hundredth */
static PetscErrorCode TestDense(void)
{
  /* pruned1 and pruned20 of examples/bench: of 8192 rows, the columns that strips have follow from chance */
  const Matrix m[] = {
    {"a hundredth", 8192, 671089,   647700,  622800,  524288, 8192, 379000, 130,  0, 0, 0, {0, 0, 0, 0}},
    {"a fifth",     8192, 13421773, 6981200, 4076100, 524288, 8192, 524288, 1800, 0, 0, 0, {0, 0, 0, 0}}
  };

  PetscFunctionBegin;
  for (int k = 0; k < 2; k++) {
    const Question         q = Ask(&m[k]);
    const AIJTCUComparison c = AIJTCUCompare(512, &q.o, &q.f, q.device);

    if ((c.dense < PetscMin(c.bricks, c.csr)) != k) PetscCall(PetscPrintf(PETSC_COMM_SELF, "%s: a dense matrix takes %g s, bricks %g s, CSR %g s\n", m[k].name, c.dense, c.bricks, c.csr));
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Answers that need no look at the matrix */
static PetscErrorCode TestDevice(void)
{
  AIJTCUDeviceFacts old = device;
  Question          q   = Ask(&elasticity);

  PetscFunctionBegin;
  q.f.survey_state = q.f.csr_state = AIJTCU_EMPTY;
  q.f.on_device                    = PETSC_FALSE;
  q.f.bound                        = PETSC_TRUE;
  PetscCall(CheckPath(&q, 32, MAT_AIJTCU_PATH_CSR, AIJTCU_REASON_BOUND, "bound to the host"));
  q.f.on_device = PETSC_TRUE;
  q.f.bound     = PETSC_FALSE;
  PetscCall(CheckNeed(&q, 32, AIJTCU_NEED_CSR, "nothing known"));
  PetscCall(PetscMemzero(old.pays, sizeof(old.pays)));
  q.device = &old;
  PetscCall(CheckPath(&q, 32, MAT_AIJTCU_PATH_CSR, AIJTCU_REASON_NO_KERNEL, "no tensor cores that pay"));
  q.o.path = MAT_AIJTCU_PATH_TCU;
  PetscCall(CheckPath(&q, 32, MAT_AIJTCU_PATH_CSR, AIJTCU_REASON_NO_KERNEL, "no tensor cores that pay for bricks that are set"));
  q.f.bound     = PETSC_TRUE;
  q.f.on_device = PETSC_FALSE;
  PetscCall(CheckPath(&q, 32, MAT_AIJTCU_PATH_TCU, AIJTCU_REASON_SET, "bricks that are set, bound to the host"));
  q.o.path = MAT_AIJTCU_PATH_AUTO;
  PetscCall(CheckPath(&q, 32, MAT_AIJTCU_PATH_CSR, AIJTCU_REASON_NO_KERNEL, "no tensor cores that pay, bound to the host"));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Answers that follow from how the rows are cut, without a look at the columns */
static PetscErrorCode TestRows(void)
{
  Question q = Ask(&poisson7);

  PetscFunctionBegin;
  q.f.survey_state = AIJTCU_EMPTY;
  q.f.matrix.nnz   = 8 * q.f.matrix.nrows;
  PetscCall(CheckPath(&q, 32, MAT_AIJTCU_PATH_CSR, AIJTCU_REASON_SHORT_ROWS, "8 entries a row"));
  PetscCall(CheckRest(&q, 32, HAVE_KERNELS ? "csr-rows" : NULL, NULL, PETSC_FALSE, "8 entries a row"));
  q.f.matrix.nnz++;
  PetscCall(CheckNeed(&q, 32, AIJTCU_NEED_SURVEY, "more than 8 entries a row"));
  q.f.matrix.nnz          = 8 * q.f.matrix.nrows;
  q.f.matrix.rows_entries = 0;
  PetscCall(CheckNeed(&q, 32, AIJTCU_NEED_SURVEY, "short rows whose columns may be anywhere"));
  if (HAVE_TIMES) { /* bricks of a small matrix cannot make up for their set-up in 25 products, wherever its columns are */
    q.f.matrix.nrows = q.f.matrix.ncols = 10000;
    q.f.matrix.nnz            = 80000;
    q.f.matrix.direct_columns = 12;
    q.o.products              = 25;
    PetscCall(CheckPath(&q, 12, MAT_AIJTCU_PATH_CSR, AIJTCU_REASON_FEW_ENTRIES, "a small matrix"));
    PetscCall(CheckRest(&q, 12, "csr-direct", NULL, PETSC_FALSE, "a small matrix"));
    PetscCall(CheckPath(&q, 13, MAT_AIJTCU_PATH_CSR, AIJTCU_REASON_FEW_ENTRIES, "a small matrix, more columns"));
    PetscCall(CheckRest(&q, 13, "csr-copy", NULL, PETSC_FALSE, "a small matrix, more columns"));
    PetscCall(CheckNeed(&q, 256, AIJTCU_NEED_SURVEY, "a small matrix, many columns"));
    q.o.products = 5000;
    PetscCall(CheckNeed(&q, 13, AIJTCU_NEED_SURVEY, "a small matrix, many products"));
    q.o.products = PETSC_DEFAULT;
    PetscCall(CheckNeed(&q, 13, AIJTCU_NEED_SURVEY, "a small matrix, nobody said how many products"));
    q.f.matrix.nrows = q.f.matrix.ncols = poisson7.rows;
  }
  q.f.matrix.nnz            = 0;
  q.f.matrix.direct_columns = 12;
  PetscCall(CheckPath(&q, 12, MAT_AIJTCU_PATH_CSR, AIJTCU_REASON_NO_ENTRIES, "no entries"));
  q.f.csr_state = AIJTCU_REFUSED;
  PetscCall(CheckNeed(&q, 12, AIJTCU_NEED_SURVEY, "no kernel for CSR"));
  q.f.csr_state = AIJTCU_EMPTY;
  PetscCall(CheckNeed(&q, 12, AIJTCU_NEED_CSR, "no schedule"));
  q.o.path = MAT_AIJTCU_PATH_CSR;
  if (Decide(&q, 12).need != AIJTCU_NEED_CSR) PetscCall(PetscPrintf(PETSC_COMM_SELF, "the kernel of a path that is set needs no schedule\n"));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* One column is a product with one vector, where nothing else is set */
static PetscErrorCode TestOneColumn(void)
{
  Question q = Ask(&dof8);

  PetscFunctionBegin;
  q.f.survey_state = q.f.csr_state = q.f.vector_state = AIJTCU_EMPTY;
  PetscCall(CheckNeed(&q, 1, AIJTCU_NEED_VECTOR, "one column"));
  PetscCall(CheckNeed(&q, 2, AIJTCU_NEED_CSR, "two columns"));
  q.f.vector_state = AIJTCU_READY;
  PetscCall(CheckPath(&q, 1, MAT_AIJTCU_PATH_CSR, AIJTCU_REASON_ONE_COLUMN, "one column"));
  PetscCall(CheckRest(&q, 1, HAVE_KERNELS ? "vector-csr" : NULL, NULL, PETSC_FALSE, "one column"));
  q.f.matrix.short_columns = true;
  PetscCall(CheckRest(&q, 1, HAVE_KERNELS ? "vector-csr16" : NULL, NULL, PETSC_FALSE, "one column, short columns"));
  q.f.matrix.bins = true;
  PetscCall(CheckRest(&q, 1, HAVE_KERNELS ? "vector-bins" : NULL, NULL, PETSC_FALSE, "one column, rows of all lengths"));
  q.f.matrix.staged = true;
  PetscCall(CheckRest(&q, 1, HAVE_KERNELS ? "vector-staged" : NULL, NULL, PETSC_FALSE, "one column, rows that are staged"));
  q.f.matrix.staged = false;
  q.o.tune = MAT_AIJTCU_TUNE_PROXY;
  PetscCall(CheckPath(&q, 1, MAT_AIJTCU_PATH_CSR, AIJTCU_REASON_ONE_COLUMN, "one column, with tuning"));
  q.o.tune = MAT_AIJTCU_TUNE_NONE;
  q.o.mult = MAT_AIJTCU_MULT_CUSPARSE;
  PetscCall(CheckNeed(&q, 1, AIJTCU_NEED_CSR, "one column, kernels for one vector are not to be used"));
  q.o.mult = MAT_AIJTCU_MULT_AUTO;
  q.o.path = MAT_AIJTCU_PATH_CSR;
  PetscCall(CheckRest(&q, 1, HAVE_KERNELS ? "vector-bins" : NULL, NULL, PETSC_FALSE, "one column on a path that is set"));
  q.f.survey_state = q.f.csr_state = AIJTCU_READY;
  q.f.vector_state                 = AIJTCU_REFUSED;
  PetscCall(CheckRest(&q, 1, HAVE_KERNELS ? "csr-direct" : NULL, NULL, PETSC_FALSE, "one column, without what kernels for one vector need"));
  q.o.path = MAT_AIJTCU_PATH_AUTO;
  PetscCall(CheckPath(&q, 1, MAT_AIJTCU_PATH_TCU, AIJTCU_REASON_BRICKS_FASTER, "the same, by time"));
  q.f.vector_state = AIJTCU_READY;
  q.o.path         = MAT_AIJTCU_PATH_TCU;
  PetscCall(CheckPath(&q, 1, MAT_AIJTCU_PATH_TCU, AIJTCU_REASON_SET, "one column by bricks that are set"));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Answers that follow from the columns without a time */
static PetscErrorCode TestColumns(void)
{
  const HrpbParams gathered = {8, 8, 256, 1};
  Question         q        = Ask(&uniform);

  PetscFunctionBegin;
  q.o.reorder = MAT_AIJTCU_REORDER_NEVER;
  PetscCall(CheckPath(&q, 32, MAT_AIJTCU_PATH_CSR, AIJTCU_REASON_SCATTERED, "uniform"));
  PetscCall(CheckRest(&q, 32, HAVE_KERNELS ? "csr-copy" : NULL, NULL, PETSC_FALSE, "uniform"));
  q.f.csr_state = AIJTCU_REFUSED;
  PetscCall(CheckPath(&q, 32, MAT_AIJTCU_PATH_CSR, AIJTCU_REASON_SCATTERED, "uniform, no kernel for CSR"));
  PetscCall(CheckRest(&q, 32, NULL, NULL, PETSC_FALSE, "uniform, no kernel for CSR"));
  q.f.matrix.survey.staged_rows = 2 * q.f.matrix.survey.needed_rows + 1;
  PetscCall(CheckPath(&q, 32, MAT_AIJTCU_PATH_CSR, AIJTCU_REASON_SCATTERED, "less than half of the rows are needed"));
  q.f.matrix.survey.staged_rows--;
  PetscCall(CheckPath(&q, 32, MAT_AIJTCU_PATH_TCU, AIJTCU_REASON_NO_CSR_KERNEL, "half of the rows are needed"));
  q.f.matrix.survey.staged_rows = 3 * q.f.matrix.nnz;
  q.f.matrix.survey.needed_rows = q.f.matrix.nnz / 3 * 2;
  PetscCall(CheckRest(&q, 32, HAVE_KERNELS ? "bricks-rows" : NULL, HAVE_KERNELS ? &rows : NULL, PETSC_FALSE, "scattered columns that rows of a panel share"));
  q.f.matrix.survey.needed_rows++;
  PetscCall(CheckPath(&q, 32, MAT_AIJTCU_PATH_CSR, AIJTCU_REASON_SCATTERED, "rows of a panel share few columns"));
  q.f.survey_state = AIJTCU_REFUSED;
  PetscCall(PetscMemzero(&q.f.matrix.survey, sizeof(q.f.matrix.survey)));
  PetscCall(CheckPath(&q, 32, MAT_AIJTCU_PATH_CSR, AIJTCU_REASON_NO_SURVEY, "columns that cannot be counted"));
  q.f.survey_state = AIJTCU_READY;
  PetscCall(CheckPath(&q, 32, MAT_AIJTCU_PATH_CSR, AIJTCU_REASON_NO_ENTRIES, "no entries"));
  q        = Ask(&uniform);
  q.o.path = MAT_AIJTCU_PATH_TCU;
  if (HAVE_TIMES) PetscCall(CheckRest(&q, 32, "bricks-gather", &gathered, PETSC_FALSE, "bricks of scattered columns"));
  q.f.survey_state = AIJTCU_EMPTY;
  if (Decide(&q, 32).need != AIJTCU_NEED_SURVEY) PetscCall(PetscPrintf(PETSC_COMM_SELF, "the format needs no survey\n"));
  q.o.format = (MatAIJTCUFormat){16, 64, 32, 8};
  PetscCall(CheckRest(&q, 32, HAVE_KERNELS ? "bricks-staged" : NULL, NULL, PETSC_FALSE, "a format that is set, which needs no survey"));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* The paths that the benchmark took on an H200, by the model of the times */
static PetscErrorCode TestMatrix(const Matrix *m, AIJTCUReason without)
{
  const PetscInt N[] = {1, 2, 3, 4, 8, 16, 24, 32, 64, 93, 96, 128, 256};

  PetscFunctionBegin;
  for (size_t k = 0; k < PETSC_STATIC_ARRAY_LENGTH(N); k++) {
    const Question q = Ask(m);

    if (m == &tetra && N[k] < m->first) continue; /* bricks take about as long as CSR */
    if (m->first && N[k] >= m->first) {
      PetscCall(CheckPath(&q, N[k], MAT_AIJTCU_PATH_TCU, AIJTCU_REASON_BRICKS_FASTER, m->name));
      PetscCall(CheckRest(&q, N[k], "bricks-staged", &m->format, PETSC_FALSE, m->name));
    } else {
      PetscCall(CheckPath(&q, N[k], MAT_AIJTCU_PATH_CSR, without, m->name));
      PetscCall(CheckRest(&q, N[k], N[k] == 1 ? "csr-direct" : m->panel_rows   ? "csr-staged"
                                                             : m->rows_entries ? "csr-rows"
                                                                               : "csr-copy",
        NULL, PETSC_FALSE, m->name));
    }
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Bricks must make up for their set-up within the products that are announced, if any are */
static PetscErrorCode TestProducts(void)
{
  Question q = Ask(&tetra);

  PetscFunctionBegin;
  PetscCall(CheckPath(&q, 8, MAT_AIJTCU_PATH_TCU, AIJTCU_REASON_BRICKS_FASTER, "tetrahedra, nobody said how many products"));
  q.o.products = 10;
  PetscCall(CheckPath(&q, 8, MAT_AIJTCU_PATH_CSR, AIJTCU_REASON_BRICKS_SLOWER, "tetrahedra, 10 products"));
  q.o.products = 1000;
  PetscCall(CheckPath(&q, 8, MAT_AIJTCU_PATH_TCU, AIJTCU_REASON_BRICKS_FASTER, "tetrahedra, 1000 products"));
  q            = Ask(&elasticity);
  q.o.products = 2;
  PetscCall(CheckPath(&q, 8, MAT_AIJTCU_PATH_CSR, AIJTCU_REASON_FEW_ENTRIES, "elasticity, 2 products"));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* A panel that is cut needs another kernel, which costs more than bricks of a matrix with short rows otherwise save */
static PetscErrorCode TestCut(void)
{
  Matrix arrow = {"arrow", 60012, 640033, 0, 173000, 168000, 1300, 163000, 1300, 0, 0, 0, {0, 0, 0, 0}};

  PetscFunctionBegin;
  for (int cut = 0; cut < 2; cut++) {
    Question q = Ask(&arrow);

    q.o.products = 1000;
    PetscCall(CheckPath(&q, 8, cut ? MAT_AIJTCU_PATH_CSR : MAT_AIJTCU_PATH_TCU, cut ? AIJTCU_REASON_BRICKS_SLOWER : AIJTCU_REASON_BRICKS_FASTER, cut ? "a row of all columns" : "rows that are short"));
    arrow.most_staged_rows = 60016;
    arrow.longest          = 40011;
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* In graphs with random edges the search for a reordering ends early. It is not repeated for any number of columns. */
static PetscErrorCode TestGraph(const Matrix *m)
{
  PetscFunctionBegin;
  for (PetscInt N = 2; N <= 256; N *= 2) {
    Question q = Ask(m);

    q.f.order_state  = AIJTCU_REFUSED;
    q.f.order_shared = 7;
    q.f.order_levels = 4096;
    PetscCall(CheckPath(&q, N, MAT_AIJTCU_PATH_CSR, AIJTCU_REASON_SCATTERED, m->name));
    PetscCall(CheckRest(&q, N, "csr-copy", NULL, PETSC_FALSE, m->name));
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Matrices of few rows have short panels. How few depends on the device's multiprocessors */
static PetscErrorCode TestFewRows(void)
{
  SpmmDevice        a100  = h200;
  AIJTCUDeviceFacts other = device;
  Question          q     = Ask(&elasticity);

  PetscFunctionBegin;
  q.o.path                      = MAT_AIJTCU_PATH_TCU;
  q.f.matrix.survey.nnz         = 30 * 135 * 128;
  q.f.matrix.survey.needed_rows = q.f.matrix.survey.staged_rows;
  q.f.matrix.nrows = q.f.matrix.ncols = 165 * 128;
  PetscCall(CheckRest(&q, 32, "bricks-staged", &whole, PETSC_FALSE, "rows for five quarters of the multiprocessors"));
  q.f.matrix.nrows = q.f.matrix.ncols = 165 * 128 - 1;
  PetscCall(CheckRest(&q, 32, "bricks-staged", &brief, PETSC_FALSE, "one row less"));
  a100.nsm     = 108;
  other.device = &a100;
  q.device     = &other;
  PetscCall(CheckRest(&q, 32, "bricks-staged", &whole, PETSC_FALSE, "the same with fewer multiprocessors"));
  q.f.matrix.nrows = q.f.matrix.ncols = 135 * 128 - 1;
  PetscCall(CheckRest(&q, 32, "bricks-staged", &brief, PETSC_FALSE, "few rows with fewer multiprocessors"));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*
   B is copied to a row-major one where three rows and those that are needed are at most what windows of 4
   stage, and columns of B do not begin where sectors do
*/
static PetscErrorCode TestRowMajor(void)
{
  const int64_t n = 786430;
  Question      q = Ask(&elasticity);

  PetscFunctionBegin;
  q.o.path         = MAT_AIJTCU_PATH_TCU;
  q.f.matrix.nrows = q.f.matrix.ncols = n;
  q.f.matrix.survey.needed_rows       = 10 * n;
  q.f.matrix.survey.staged_rows       = 16 * n;
  PetscCall(CheckRest(&q, 32, "bricks-rows", &rows, PETSC_FALSE, "three rows in vain"));
  q.f.matrix.survey.staged_rows -= 2;
  PetscCall(CheckRest(&q, 32, "bricks-staged", NULL, PETSC_FALSE, "not quite three rows in vain"));
  q.f.matrix.survey.staged_rows = 18 * n;
  PetscCall(CheckRest(&q, 32, "bricks-rows", &rows, PETSC_FALSE, "four rows in vain"));
  q.f.matrix.nrows = q.f.matrix.ncols = n + 2;
  PetscCall(CheckRest(&q, 32, "bricks-staged", NULL, PETSC_FALSE, "the same where columns of B begin where sectors do"));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*
   So have matrices in which a panel stages twice as many rows of B as the mean. In double columns of B must begin where
   sectors of 32 bytes do, or at multiples of 16 bytes where there are few panels
*/
static PetscErrorCode TestUneven(void)
{
  const PetscInt half = 16 / (PetscInt)sizeof(PetscScalar);
  Question       q    = Ask(&elasticity);

  PetscFunctionBegin;
  q.o.path                           = MAT_AIJTCU_PATH_TCU;
  q.f.matrix.survey.nnz              = 30 * 395 * 128;
  q.f.matrix.survey.staged_rows      = 8 * q.f.matrix.nrows; /* 1024 for each panel of 128 rows */
  q.f.matrix.survey.needed_rows      = 8 * q.f.matrix.nrows;
  q.f.matrix.survey.most_staged_rows = 2047;
  PetscCall(CheckRest(&q, 32, "bricks-staged", &whole, PETSC_FALSE, "less than twice the mean"));
  q.f.matrix.survey.most_staged_rows = 2048;
  PetscCall(CheckRest(&q, 32, "bricks-staged", &brief, PETSC_FALSE, "twice the mean"));
  q.f.matrix.ncols += half;
  PetscCall(CheckRest(&q, 32, "bricks-staged", &whole, PETSC_FALSE, "columns of B at multiples of 16 bytes"));
  q.f.matrix.nrows              = 395 * 128;
  q.f.matrix.survey.staged_rows = q.f.matrix.survey.needed_rows = 8 * q.f.matrix.nrows;
  PetscCall(CheckRest(&q, 32, "bricks-staged", &brief, PETSC_FALSE, "the same with fewer panels"));
  q.f.matrix.nrows += 128;
  q.f.matrix.survey.staged_rows = q.f.matrix.survey.needed_rows = 8 * q.f.matrix.nrows;
  PetscCall(CheckRest(&q, 32, "bricks-staged", &whole, PETSC_FALSE, "three panels for each multiprocessor"));
  q.f.matrix.nrows -= 128;
  q.f.matrix.ncols++;
  PetscCall(CheckRest(&q, 32, "bricks-staged", &whole, PETSC_FALSE, "columns of B anywhere"));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Long rows are added in chunks, which bricks of 16 rows have not */
static PetscErrorCode TestLongRows(void)
{
  Question q = Ask(&elasticity);

  PetscFunctionBegin;
  q.o.path              = MAT_AIJTCU_PATH_TCU;
  q.f.matrix.survey.nnz = 40 * q.f.matrix.nrows;
  PetscCall(CheckRest(&q, 32, "bricks-staged", &brief, PETSC_FALSE, "40 entries in a row"));
  q.f.matrix.survey.nnz--;
  PetscCall(CheckRest(&q, 32, "bricks-staged", &whole, PETSC_FALSE, "fewer than 40 entries in a row"));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Windows are narrower where few of the rows of B that are staged are needed */
static PetscErrorCode TestWindows(void)
{
  const HrpbParams four = {16, 128, 64, 4}, two = {16, 128, 64, PetscDefined(USE_REAL_DOUBLE) ? 2 : 4};
  Question         q    = Ask(&elasticity);

  PetscFunctionBegin;
  q.o.path                      = MAT_AIJTCU_PATH_TCU;
  q.f.matrix.survey.nnz         = 30 * q.f.matrix.nrows;
  q.f.matrix.survey.staged_rows = 10000000;
  q.f.matrix.survey.needed_rows = 8000000;
  PetscCall(CheckRest(&q, 32, "bricks-staged", &whole, PETSC_FALSE, "four fifths are needed"));
  q.f.matrix.survey.needed_rows--;
  PetscCall(CheckRest(&q, 32, "bricks-staged", &four, PETSC_FALSE, "one row less is needed"));
  q.f.matrix.survey.needed_rows = 5999999;
  PetscCall(CheckRest(&q, 32, "bricks-staged", &four, PETSC_FALSE, "less than six tenths are needed"));
  q.f.matrix.ncols++;
  PetscCall(CheckRest(&q, 32, "bricks-staged", &two, PETSC_FALSE, "less than six tenths are needed, columns of B anywhere"));
  q.f.matrix.survey.needed_rows++;
  PetscCall(CheckRest(&q, 32, "bricks-staged", &four, PETSC_FALSE, "six tenths are needed, columns of B anywhere"));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* A reordering was found. Its bricks are as good as those of elasticity in its original order */
static void Reorder(Question *q, PetscReal shared, PetscInt levels)
{
  q->f.order_state  = AIJTCU_READY;
  q->f.order_shared = shared;
  q->f.order_found  = levels;
  q->f.order_survey = SurveyOf(&elasticity);
}

static PetscErrorCode TestReordering(void)
{
  Question       q = Ask(&permuted);
  AIJTCUDecision d;
  AIJTCUAsk      numeric = {.op = SPMM_OP_PRODUCT, .N = 32, .path = MAT_AIJTCU_PATH_TCU}; /* it does not know the reason */

  PetscFunctionBegin;
  q.o.products = 10;
  PetscCall(CheckPath(&q, 1, MAT_AIJTCU_PATH_CSR, AIJTCU_REASON_SCATTERED, "permuted, where no reordering can pay"));
  q.o.products = 25; /* with more, the longest search would pay */
  PetscCall(CheckNeed(&q, 32, AIJTCU_NEED_ORDER, "permuted"));
  d = Decide(&q, 32);
  if (d.levels < 100 || d.levels > 4096) PetscCall(PetscPrintf(PETSC_COMM_SELF, "a search through %" PetscInt_FMT " levels\n", d.levels));
  /* a search that found nothing answers for shorter ones, too */
  q.f.order_state  = AIJTCU_REFUSED;
  q.f.order_levels = d.levels;
  PetscCall(CheckPath(&q, 32, MAT_AIJTCU_PATH_CSR, AIJTCU_REASON_SCATTERED, "a search in vain"));
  q.f.order_levels = d.levels - 1;
  PetscCall(CheckNeed(&q, 32, AIJTCU_NEED_ORDER, "a shorter search in vain"));
  Reorder(&q, 20, 100);
  PetscCall(CheckPath(&q, 32, MAT_AIJTCU_PATH_TCU, AIJTCU_REASON_REORDERED_FASTER, "reordered"));
  PetscCall(CheckRest(&q, 32, "bricks-rows", &rows, PETSC_TRUE, "reordered"));
  if (!AIJTCUDecide(&numeric, &q.o, &q.f, q.device).reordered) PetscCall(PetscPrintf(PETSC_COMM_SELF, "reordered when the path is chosen, and not when the product is made\n"));
  PetscCall(CheckPath(&q, 1, MAT_AIJTCU_PATH_CSR, AIJTCU_REASON_SCATTERED, "reordered, where it does not pay"));
  Reorder(&q, 20, d.levels + 1);
  PetscCall(CheckPath(&q, 32, MAT_AIJTCU_PATH_CSR, AIJTCU_REASON_SCATTERED, "a reordering through more levels than pay"));
  q.o.products = 100; /* they pay for a longer search, */
  PetscCall(CheckPath(&q, 32, MAT_AIJTCU_PATH_TCU, AIJTCU_REASON_REORDERED_FASTER, "a reordering that pays in 100 products"));
  q.o.products = 1; /* and a single one for none */
  Reorder(&q, 20, 1);
  PetscCall(CheckPath(&q, 32, MAT_AIJTCU_PATH_CSR, AIJTCU_REASON_SCATTERED, "a reordering for one product"));
  q.o.products = 50;
  Reorder(&q, (PetscReal)19.9, 100);
  PetscCall(CheckPath(&q, 32, MAT_AIJTCU_PATH_CSR, AIJTCU_REASON_SCATTERED, "neighbours that share too little"));
  q.o.reorder = MAT_AIJTCU_REORDER_NEVER;
  Reorder(&q, 40, 100);
  PetscCall(CheckPath(&q, 32, MAT_AIJTCU_PATH_CSR, AIJTCU_REASON_SCATTERED, "a reordering that is not allowed"));
  q.o.reorder                  = MAT_AIJTCU_REORDER_AUTO;
  q.f.order_survey.staged_rows = 2 * q.f.order_survey.needed_rows + 1;
  PetscCall(CheckPath(&q, 32, MAT_AIJTCU_PATH_CSR, AIJTCU_REASON_SCATTERED, "reordered, and scattered again"));
  Reorder(&q, 40, 100);
  q.f.matrix.ncols++;
  PetscCall(CheckPath(&q, 32, MAT_AIJTCU_PATH_CSR, AIJTCU_REASON_SCATTERED, "a matrix that is not square"));
  q = Ask(&permuted);
  Reorder(&q, 40, 4096);
  PetscCall(CheckPath(&q, 20000, MAT_AIJTCU_PATH_TCU, AIJTCU_REASON_REORDERED_FASTER, "a reordering through many levels"));
  q.f.order_found++;
  PetscCall(CheckPath(&q, 20000, MAT_AIJTCU_PATH_CSR, AIJTCU_REASON_SCATTERED, "a reordering through more levels than are ever sought"));
  q                = Ask(&permuted);
  q.f.matrix.nrows = q.f.matrix.ncols = 2097152; /* a B with rows enough that L2 holds little of it */
  q.f.matrix.nnz                      = 8 * q.f.matrix.nrows + 1;
  PetscCall(CheckNeed(&q, 32, AIJTCU_NEED_ORDER, "more than 8 entries a row"));
  q.f.matrix.nnz--;
  PetscCall(CheckPath(&q, 32, MAT_AIJTCU_PATH_CSR, AIJTCU_REASON_SCATTERED, "8 entries a row"));
  q.o.path = MAT_AIJTCU_PATH_TCU;
  Reorder(&q, 40, 100);
  PetscCall(CheckRest(&q, 32, "bricks-gather", NULL, PETSC_FALSE, "bricks that are set, which the model does not reorder"));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* An order was found, and bricks in the given order are the choice. They are not of the reordered matrix, if none is yet */
static PetscErrorCode TestReorderingIdle(void)
{
  Question q = Ask(&shared);

  PetscFunctionBegin;
  Reorder(&q, 40, 100);
  q.f.order_survey.staged_rows = 2 * q.f.order_survey.needed_rows + 1;
  PetscCall(CheckPath(&q, 128, MAT_AIJTCU_PATH_TCU, AIJTCU_REASON_BRICKS_FASTER, "an order that scatters columns"));
  PetscCall(CheckRest(&q, 128, "bricks-rows", &rows, PETSC_FALSE, "an order that scatters columns"));
  q.f.bricks_reordered = PETSC_TRUE;
  PetscCall(CheckRest(&q, 128, "bricks-rows", &rows, PETSC_FALSE, "an order that scatters columns, and no bricks"));
  q.f.bricks_state = AIJTCU_READY;
  if (!Decide(&q, 128).reordered) PetscCall(PetscPrintf(PETSC_COMM_SELF, "bricks of the reordered matrix do not stay so\n"));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Columns that run, and panels that need many rows of B. The limit is 16 for each row of A */
static PetscErrorCode TestReorderingRuns(void)
{
  Question q = Ask(&crowded);

  PetscFunctionBegin;
  PetscCall(CheckNeed(&q, 32, AIJTCU_NEED_ORDER, crowded.name));
  q.f.matrix.survey.staged_rows = q.f.matrix.survey.needed_rows = 16 * q.f.matrix.nrows + 1;
  PetscCall(CheckNeed(&q, 128, AIJTCU_NEED_ORDER, "panels that need many rows"));
  q.f.matrix.survey.staged_rows = --q.f.matrix.survey.needed_rows;
  if (Decide(&q, 128).need) PetscCall(PetscPrintf(PETSC_COMM_SELF, "an order is sought for panels that need few rows\n"));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* A forced reordering is sought as far as possible, even after a shorter search */
static PetscErrorCode TestForced(void)
{
  Question q = Ask(&elasticity);

  PetscFunctionBegin;
  q.o.reorder = MAT_AIJTCU_REORDER_ALWAYS;
  q.o.path    = MAT_AIJTCU_PATH_TCU;
  if (Decide(&q, 32).need != AIJTCU_NEED_ORDER) PetscCall(PetscPrintf(PETSC_COMM_SELF, "bricks that are set need no reordering that is forced\n"));
  q.o.path = MAT_AIJTCU_PATH_AUTO;
  PetscCall(CheckNeed(&q, 32, AIJTCU_NEED_ORDER, "forced"));
  if (Decide(&q, 32).levels != 4096) PetscCall(PetscPrintf(PETSC_COMM_SELF, "a forced search through few levels\n"));
  q.f.order_state  = AIJTCU_REFUSED;
  q.f.order_levels = 4096;
  PetscCall(CheckNeed(&q, 32, AIJTCU_NEED_ORDER, "forced, after a search that was not"));
  q.f.order_forced = PETSC_TRUE;
  PetscCall(CheckPath(&q, 32, MAT_AIJTCU_PATH_TCU, AIJTCU_REASON_BRICKS_FASTER, "forced, in vain"));
  PetscCall(CheckRest(&q, 32, "bricks-staged", &elasticity.format, PETSC_FALSE, "forced, in vain"));
  Reorder(&q, 0, 4000);
  PetscCall(CheckPath(&q, 32, MAT_AIJTCU_PATH_TCU, AIJTCU_REASON_REORDERED_FASTER, "forced"));
  PetscCall(CheckRest(&q, 32, "bricks-rows", &rows, PETSC_TRUE, "forced"));
  q.f.order_survey = SurveyOf(&permuted);
  PetscCall(CheckPath(&q, 32, MAT_AIJTCU_PATH_CSR, AIJTCU_REASON_BRICKS_SLOWER, "forced, with bricks that are worse"));
  q.o.path = MAT_AIJTCU_PATH_TCU;
  PetscCall(CheckRest(&q, 32, "bricks-gather", NULL, PETSC_TRUE, "bricks that are set, forced"));
  q.o.reorder = MAT_AIJTCU_REORDER_NEVER;
  PetscCall(CheckRest(&q, 32, "bricks-staged", &elasticity.format, PETSC_FALSE, "bricks that are set, with a reordering left"));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* A tuning is a fact like others */
static PetscErrorCode TestTuning(void)
{
  const HrpbParams format = {8, 64, 64, 8};
  AIJTCUTuned      tuned[AIJTCU_MOST_TUNED];
  Question         q = Ask(&elasticity);

  PetscFunctionBegin;
  PetscCall(PetscMemzero(tuned, sizeof(tuned)));
  for (PetscInt k = 0; k < AIJTCU_MOST_TUNED; k++) {
    tuned[k].choice = (AIJTCUDecision){.op = SPMM_OP_PRODUCT, .N = 10 * (k + 1), .path = k % 2 ? MAT_AIJTCU_PATH_TCU : MAT_AIJTCU_PATH_CSR, .reason = AIJTCU_REASON_TUNED};
    if (k % 2) tuned[k].choice.format = format;
  }
  q.f.survey_state = q.f.csr_state = AIJTCU_EMPTY;
  q.o.tune                         = MAT_AIJTCU_TUNE_PROXY;
  q.f.tuned                        = tuned;
  PetscCall(CheckNeed(&q, 10, AIJTCU_NEED_TUNING, "nothing tuned"));
  PetscCall(CheckNeed(&q, 0, AIJTCU_NEED_CSR, "no columns to tune for"));
  q.untuned = PETSC_TRUE;
  PetscCall(CheckNeed(&q, 10, AIJTCU_NEED_CSR, "the model of what is tuned"));
  q.untuned      = PETSC_FALSE;
  q.f.ntuned       = 2;
  q.f.tuned_format = format;
  PetscCall(CheckPath(&q, 10, MAT_AIJTCU_PATH_CSR, AIJTCU_REASON_TUNED, "tuned"));
  PetscCall(CheckPath(&q, 20, MAT_AIJTCU_PATH_TCU, AIJTCU_REASON_TUNED, "tuned"));
  PetscCall(CheckRest(&q, 20, HAVE_KERNELS ? "bricks-staged" : NULL, &format, PETSC_FALSE, "tuned, which needs no survey"));
  PetscCall(CheckNeed(&q, 30, AIJTCU_NEED_TUNING, "another number of columns"));
  q.f.ntuned = AIJTCU_MOST_TUNED;
  PetscCall(CheckPath(&q, 26, MAT_AIJTCU_PATH_CSR, AIJTCU_REASON_TUNED, "no room for more: the nearest"));
  PetscCall(CheckPath(&q, 1000, MAT_AIJTCU_PATH_TCU, AIJTCU_REASON_TUNED, "no room for more: the nearest"));
  q.o.reorder = MAT_AIJTCU_REORDER_NEVER;
  PetscCall(CheckNeed(&q, 20, AIJTCU_NEED_TUNING, "tuned while something else was set"));
  q.o.reorder = MAT_AIJTCU_REORDER_ALWAYS;
  PetscCall(CheckNeed(&q, 20, AIJTCU_NEED_CSR, "tuning has no meaning where a reordering is forced"));
  q.o.reorder = MAT_AIJTCU_REORDER_AUTO;
  q.o.format  = (MatAIJTCUFormat){8, 64, 32, 1};
  PetscCall(CheckNeed(&q, 20, AIJTCU_NEED_CSR, "nor where a format is set"));
  q.o.format = (MatAIJTCUFormat){0, 0, 0, 0};
  q.o.path   = MAT_AIJTCU_PATH_TCU;
  PetscCall(CheckPath(&q, 10, MAT_AIJTCU_PATH_TCU, AIJTCU_REASON_SET, "nor where the path is set"));
  q.o.path = MAT_AIJTCU_PATH_AUTO;
  q.o.tune = MAT_AIJTCU_TUNE_NONE;
  PetscCall(CheckNeed(&q, 20, AIJTCU_NEED_CSR, "what was tuned, with tuning turned off"));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Where bricks of the original matrix have won, nothing is reordered any more */
static PetscErrorCode TestTunedOrder(void)
{
  AIJTCUTuned tuned = {.choice = {.op = SPMM_OP_PRODUCT, .N = 10, .path = MAT_AIJTCU_PATH_TCU, .reason = AIJTCU_REASON_TUNED, .format = {8, 8, 256, 1}}};
  Question    q     = Ask(&permuted);

  PetscFunctionBegin;
  q.o.tune    = MAT_AIJTCU_TUNE_PROXY;
  q.untuned = PETSC_TRUE;
  q.f.tuned   = &tuned;
  PetscCall(CheckNeed(&q, 32, AIJTCU_NEED_ORDER, "nothing has won"));
  q.f.ntuned = 1;
  PetscCall(CheckNeed(&q, 32, AIJTCU_NEED_ORDER, "CSR has won"));
  q.f.tuned_format = tuned.choice.format;
  PetscCall(CheckPath(&q, 32, MAT_AIJTCU_PATH_CSR, AIJTCU_REASON_SCATTERED, "bricks have won"));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* What tuning chooses among, and which of these are timed: a text for each, a star for those that are not */
static PetscErrorCode CheckVariants(const Question *q, PetscInt N, const char right[], const char what[])
{
  Question       untuned = *q;
  AIJTCUAsk      model   = {.op = SPMM_OP_PRODUCT, .N = N};
  AIJTCUVariant  variant[AIJTCU_MOST_VARIANTS];
  PetscInt       n;
  char           found[256] = "";
  PetscBool      same;

  PetscFunctionBegin;
  untuned.o.tune = MAT_AIJTCU_TUNE_NONE;
  model.path     = Decide(&untuned, N).path;
  n              = AIJTCUVariants(&model, &q->o, &q->f, q->device, variant);
  for (PetscInt k = 0; k < n; k++) {
    const HrpbParams *f = &variant[k].format;
    char              text[64];

    if (f->brick_rows) PetscCall(PetscSNPrintf(text, sizeof(text), "%s%d/%d/%d%s", k ? " " : "", (int)f->brick_rows, (int)f->panel_rows, (int)f->window_cols, variant[k].timed ? "" : "*"));
    else PetscCall(PetscSNPrintf(text, sizeof(text), "%scsr%s", k ? " " : "", variant[k].timed ? "" : "*"));
    PetscCall(PetscStrlcat(found, text, sizeof(found)));
  }
  PetscCall(PetscStrcmp(found, right, &same));
  if (!same) PetscCall(PetscPrintf(PETSC_COMM_SELF, "%s, %" PetscInt_FMT " columns: tuning chooses among %s, not %s\n", what, N, found, right));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* The model's choice comes first. What it has much slower than another is not timed */
static PetscErrorCode TestVariants(void)
{
  const AIJTCUTuned tuned = {.choice = {.op = SPMM_OP_PRODUCT, .N = 10, .path = MAT_AIJTCU_PATH_TCU, .reason = AIJTCU_REASON_TUNED, .format = {8, 64, 64, 8}}};
  Question          q     = Ask(&banded);

  PetscFunctionBegin;
  PetscCall(CheckVariants(&q, 128, "16/128/8 16/128/4 8/64/4 8/64/1* csr*", banded.name));
  q.f.csr_state = AIJTCU_REFUSED;
  PetscCall(CheckVariants(&q, 128, "16/128/8 16/128/4 8/64/4 8/64/1*", "no schedule for CSR"));
  q.f.csr_state                  = AIJTCU_READY;
  q.f.matrix.survey.strip_cols16 = 0;
  PetscCall(CheckVariants(&q, 128, "", "nothing to multiply"));
  q = Ask(&dof8);
  PetscCall(CheckVariants(&q, 32, "8/64/8 16/128/4 8/64/4 8/64/1 csr*", dof8.name));
  q = Ask(&stencil27);
  PetscCall(CheckVariants(&q, 8, "csr 16/128/8* 16/128/4* 8/64/4* 8/64/1*", stencil27.name));
  q = Ask(&tetra);
  PetscCall(CheckVariants(&q, 4, "csr 8/64/4 16/128/4 8/64/1", tetra.name));
  PetscCall(CheckVariants(&q, 128, "8/64/4 16/128/4 8/64/1* csr*", tetra.name));
  q.o.tune         = MAT_AIJTCU_TUNE_PROXY;
  q.f.tuned        = &tuned;
  q.f.ntuned       = 1;
  q.f.tuned_format = tuned.choice.format;
  PetscCall(CheckVariants(&q, 4, "csr 8/64/8", "a format has won"));
  PetscCall(CheckVariants(&q, 128, "8/64/8 csr*", "a format has won"));
  q                = Ask(&uniform);
  q.f.order_state  = AIJTCU_REFUSED;
  q.f.order_levels = 4096;
  PetscCall(CheckVariants(&q, 32, "csr 8/8/1* 8/64/1*", uniform.name));
  q.f.csr_state = AIJTCU_REFUSED;
  PetscCall(CheckVariants(&q, 32, "", "CSR without a schedule"));
  PetscFunctionReturn(PETSC_SUCCESS);
}

int main(int argc, char **argv)
{
  PetscCall(PetscInitialize(&argc, &argv, NULL, help));
  PetscCall(PetscStrncpy(h200.name, "NVIDIA H200", sizeof(h200.name)));
  h200.cc = h200.code = 90;
  h200.nsm            = 132;
  h200.bandwidth      = 4.8e12;
  h200.shared_sm      = 228 * 1024;
  h200.shared_cta     = 227 * 1024;
  h200.shared_own     = 1024;
  h200.model          = SpmmNearestModel(h200.name, h200.cc, h200.nsm, h200.bandwidth);
  device.device       = &h200;
  for (size_t k = 0; k < PETSC_STATIC_ARRAY_LENGTH(device.pays); k++) device.pays[k] = PETSC_TRUE;
  for (PetscInt k = 0; k < AIJTCU_NREASONS; k++) PetscCheck(AIJTCUReasons[k] && AIJTCUReasons[k][0], PETSC_COMM_SELF, PETSC_ERR_PLIB, "No words for reason %" PetscInt_FMT, k);
  PetscCall(TestHost());
  PetscCall(TestThreshold());
  PetscCall(TestDevice());
  PetscCall(TestRows());
  if (HAVE_KERNELS) PetscCall(TestOneColumn());
  PetscCall(TestColumns());
  PetscCall(TestTuning());
  if (HAVE_KERNELS) PetscCall(TestThresholdOnDevice());
  if (HAVE_TIMES) {
    const Matrix *const all[] = {&elasticity, &dof8, &tetra, &stencil27, &banded, &rmat, &uniform, &permuted, &crowded, &shared};

    for (size_t k = 0; k < PETSC_STATIC_ARRAY_LENGTH(all); k++) PetscCall(TestComparison(all[k]));
    PetscCall(TestDense());
    PetscCall(TestMatrix(&elasticity, AIJTCU_REASON_BRICKS_SLOWER));
    PetscCall(TestMatrix(&dof8, AIJTCU_REASON_BRICKS_SLOWER));
    PetscCall(TestMatrix(&tetra, AIJTCU_REASON_BRICKS_SLOWER));
    PetscCall(TestMatrix(&stencil27, AIJTCU_REASON_BRICKS_SLOWER));
    PetscCall(TestMatrix(&banded, AIJTCU_REASON_BRICKS_SLOWER));
    PetscCall(TestMatrix(&poisson7, AIJTCU_REASON_SHORT_ROWS));
    PetscCall(TestProducts());
    PetscCall(TestCut());
    PetscCall(TestGraph(&rmat));
    PetscCall(TestGraph(&uniform));
    PetscCall(TestFewRows());
    PetscCall(TestRowMajor());
    PetscCall(TestUneven());
    PetscCall(TestWindows());
    PetscCall(TestLongRows());
    PetscCall(TestSampled());
    PetscCall(TestReordering());
    PetscCall(TestReorderingIdle());
    PetscCall(TestReorderingRuns());
    PetscCall(TestForced());
    PetscCall(TestTunedOrder());
    PetscCall(TestVariants());
  }
  PetscCall(PetscFinalize());
  return 0;
}

/*TEST

  build:
    requires: !complex

  test:
    output_file: output/empty.out

TEST*/
