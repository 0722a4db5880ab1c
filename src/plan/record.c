/*
   -mat_aijtcu_view_choice: a line that says whether the type was at work, and how much of the work was ours; then the
   products with dense matrices that were set up, in the order of their first set-up.

   A product of a parallel matrix counts once. PETSc makes it of products of the blocks of each process, and sets those
   up at every numeric phase. Those of the first process are listed below it, without a number.
*/
#include "planimpl.h"

struct _n_AIJTCUChoice {
  char         *name;
  PetscBool     transposed; /* the product is A^T B; rows and columns are of A, or of what is multiplied for a block */
  PetscInt      rows, cols, N;
  PetscInt64    times;
  AIJTCUChoice *next;
  /* count of a sequential matrix */
  MatAIJTCUPath path;
  const char   *reason;  /* a static string */
  char         *compared; /* alpha, threshold and times, as far as they are known */
  char         *options;  /* options that replay what was tuned; empty where nothing was */
  /* count of a parallel matrix */
  PetscMPIInt   processes; /* 0 for a sequential matrix */
  AIJTCUChoice *blocks;
};
static AIJTCUChoice *choices     = NULL;
static PetscBool     view_choice = PETSC_FALSE;

/* Options that replay what was tuned for N columns; empty where nothing was. The caller frees them */
static PetscErrorCode AIJTCUReplay(Mat A, PetscInt N, char **text)
{
  PetscFunctionBegin;
  *text = NULL;
#if AIJTCU_HAVE_DEVICE
  AIJTCUPlan        *plan;
  const AIJTCUTuned *tuned;

  PetscCall(AIJTCUGetPlan(A, &plan));
  PetscCall(AIJTCUPlanTuned(A, plan, SPMM_OP_PRODUCT, N, &tuned));
  if (tuned) PetscCall(AIJTCUTuningOptions(A, tuned, text));
#else
  (void)A;
  (void)N;
#endif
  if (!*text) PetscCall(PetscStrallocpy("", text));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*
   What was compared, for the line that says why: "; alpha 0.3790, threshold 0.1170, bricks 344 us, CSR 810 us". Facts
   that the decision did without are found out here, but for an off-diagonal block, and only where the model decides
*/
static PetscErrorCode AIJTCUCompared(Mat A, PetscInt N, char text[], size_t len)
{
  AIJTCUPlan          *plan;
  AIJTCUComparison     c;
  const AIJTCUOptions *o;
  PetscBool            set;

  PetscFunctionBegin;
  text[0] = 0;
  PetscCall(AIJTCUGetPlan(A, &plan));
  o   = AIJTCUGetOptions(plan);
  set = (PetscBool)(o->threshold != (PetscReal)PETSC_DEFAULT);
  if (o->path != MAT_AIJTCU_PATH_AUTO) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCall(AIJTCUPlanCompare(A, plan, N, (PetscBool)(!set && N > 1 && !plan->id.off_diagonal), &c));
  if (!set && !c.csr) PetscFunctionReturn(PETSC_SUCCESS);
#define Append(...) PetscCall(PetscSNPrintf(text + strlen(text), len - strlen(text), __VA_ARGS__))
  if (c.alpha > 0) Append("; alpha %.4f", (double)c.alpha);
  if (c.alpha_reordered > 0) Append(", reordered %.4f", (double)c.alpha_reordered);
  if (c.threshold > 0 && c.threshold <= 1) Append("; threshold %.4f%s", (double)c.threshold, set ? ", as set" : "");
  else if (!set) Append("; no threshold, bricks are %s at any", c.threshold > 0 ? "slower" : "faster");
  if (c.csr > 0) Append("; bricks %.4g us, CSR %.4g us", 1e6 * c.bricks, 1e6 * c.csr);
  if (c.csr > 0 && c.reordered > 0) Append(", reordered %.4g us", 1e6 * c.reordered);
  if (c.dense > 0 && c.dense < PetscMin(c.bricks, c.csr)) Append("; a dense matrix would take %.4g us", 1e6 * c.dense);
  if (set && o->tune != MAT_AIJTCU_TUNE_NONE) Append("; not tuned: a threshold is set");
#undef Append
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode AIJTCUChoiceDestroy(AIJTCUChoice **c)
{
  PetscFunctionBegin;
  while (*c) {
    AIJTCUChoice *next = (*c)->next;

    PetscCall(AIJTCUChoiceDestroy(&(*c)->blocks));
    PetscCall(PetscFree((*c)->name));
    PetscCall(PetscFree((*c)->compared));
    PetscCall(PetscFree((*c)->options));
    PetscCall(PetscFree(*c));
    *c = next;
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Whether two products are of matrices that the list does not tell apart */
static PetscErrorCode AIJTCUChoiceIsOfSame(const AIJTCUChoice *a, const AIJTCUChoice *b, PetscBool *same)
{
  PetscFunctionBegin;
  PetscCall(PetscStrcmp(a->name, b->name, same));
  *same = (PetscBool)(*same && a->transposed == b->transposed && a->rows == b->rows && a->cols == b->cols && a->processes == b->processes);
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Count a product like c. If the list has none yet, add a copy of c */
static PetscErrorCode AIJTCUChoiceCount(AIJTCUChoice **list, const AIJTCUChoice *c, AIJTCUChoice **counted)
{
  PetscErrorCode ierr;

  PetscFunctionBegin;
  for (; *list; list = &(*list)->next) {
    const AIJTCUChoice *l = *list;
    PetscBool           same, replayed;

    PetscCall(AIJTCUChoiceIsOfSame(l, c, &same));
    PetscCall(PetscStrcmp(l->options, c->options, &replayed));
    if (same && replayed && l->N == c->N && l->path == c->path && l->reason == c->reason) break;
  }
  if (!*list) {
    AIJTCUChoice *added;

    PetscCall(PetscNew(&added));
    *added      = *c;
    added->name = added->compared = added->options = NULL;
    ierr        = PetscStrallocpy(c->name, &added->name);
    if (!ierr) ierr = PetscStrallocpy(c->compared, &added->compared);
    if (!ierr) ierr = PetscStrallocpy(c->options, &added->options);
    if (ierr) PetscCall(AIJTCUChoiceDestroy(&added));
    PetscCall(ierr);
    *list = added;
  }
  (*list)->times++;
  *counted = *list;
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* The product with N columns of the parallel matrix whose block A is. NULL if there is none, or if A is no block */
static PetscErrorCode AIJTCUChoiceOfWhole(Mat A, PetscInt N, AIJTCUChoice **whole)
{
  AIJTCUPlan  *plan;
  AIJTCUChoice like;

  PetscFunctionBegin;
  *whole = NULL;
  PetscCall(AIJTCUGetPlan(A, &plan));
  if (!plan->id.owner || !plan->id.owner->counted) PetscFunctionReturn(PETSC_SUCCESS);
  *whole          = plan->id.owner->counted;
  like            = **whole;
  like.transposed = plan->is_transpose;
  for (AIJTCUChoice *c = choices; c; c = c->next) {
    PetscBool same;

    PetscCall(AIJTCUChoiceIsOfSame(c, &like, &same));
    if (same && c->N == N) *whole = c;
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

static const char *AIJTCUChoiceName(Mat A)
{
  return ((PetscObject)A)->name ? ((PetscObject)A)->name : ((PetscObject)A)->prefix ? ((PetscObject)A)->prefix : "(unnamed)";
}

/* A product of a sequential matrix with N columns was set up */
PetscErrorCode AIJTCURecordChoice(Mat A, PetscInt N, MatAIJTCUPath path, const char reason[])
{
  AIJTCUChoice   c = {.rows = A->rmap->n, .cols = A->cmap->n, .N = N, .path = path, .reason = reason}, *whole, *counted;
  AIJTCUPlan    *plan;
  PetscErrorCode ierr;
  char           compared[256];

  PetscFunctionBegin;
  if (!view_choice) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCall(AIJTCUCompared(A, N, compared, sizeof(compared)));
  c.compared = compared;
  PetscCall(AIJTCUChoiceOfWhole(A, N, &whole));
  PetscCall(AIJTCUGetPlan(A, &plan));
  c.name       = (char *)AIJTCUChoiceName(A); /* read only */
  c.transposed = plan->is_transpose;
  if (whole) c.name = (char *)(plan->id.off_diagonal ? "off-diagonal block" : "diagonal block");
  /* The options as they are for this product. Later ones may differ, of another pattern for example */
  PetscCall(AIJTCUReplay(A, N, &c.options));
  ierr = AIJTCUChoiceCount(whole ? &whole->blocks : &choices, &c, &counted);
  PetscCall(PetscFree(c.options));
  PetscCall(ierr);
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* A product of a parallel matrix with N columns was set up */
PetscErrorCode AIJTCURecordWhole(Mat A, PetscBool transposed, PetscInt N)
{
  AIJTCUChoice c = {.name = (char *)AIJTCUChoiceName(A), .transposed = transposed, .compared = (char *)"", .options = (char *)"", .rows = A->rmap->N, .cols = A->cmap->N, .N = N};
  AIJTCUPlan  *plan;

  PetscFunctionBegin;
  if (!view_choice) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCallMPI(MPI_Comm_size(PetscObjectComm((PetscObject)A), &c.processes));
  PetscCall(AIJTCUGetPlan(A, &plan));
  PetscCall(AIJTCUChoiceCount(&choices, &c, &plan->counted));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode AIJTCUChoicePrint(const AIJTCUChoice *c)
{
  const MPI_Comm comm = PETSC_COMM_WORLD;

  PetscFunctionBegin;
  PetscCall(PetscPrintf(comm, "%s%s, %" PetscInt_FMT " x %" PetscInt_FMT, c->transposed ? "transpose of " : "", c->name, c->rows, c->cols));
  if (c->processes) PetscCall(PetscPrintf(comm, " on %d process%s", (int)c->processes, c->processes == 1 ? "" : "es"));
  PetscCall(PetscPrintf(comm, ", N = %" PetscInt_FMT ": %s", c->N, c->processes ? "in blocks" : MatAIJTCUPaths[c->path]));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode AIJTCUChoicePrintReason(const AIJTCUChoice *c)
{
  PetscFunctionBegin;
  PetscCall(PetscPrintf(PETSC_COMM_WORLD, " (%s%s)%s%s", c->reason, c->compared, c->options[0] ? ": " : "", c->options));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Print a product's line, and those of its blocks */
static PetscErrorCode AIJTCUChoicePrintAll(const AIJTCUChoice *c)
{
  const MPI_Comm comm = PETSC_COMM_WORLD;

  PetscFunctionBegin;
  PetscCall(PetscPrintf(comm, "  "));
  PetscCall(AIJTCUChoicePrint(c));
  PetscCall(PetscPrintf(comm, ", %" PetscInt64_FMT " time%s", c->times, c->times == 1 ? "" : "s"));
  if (!c->processes) PetscCall(AIJTCUChoicePrintReason(c));
  PetscCall(PetscPrintf(comm, "\n"));
  for (const AIJTCUChoice *b = c->blocks; b; b = b->next) {
    PetscCall(PetscPrintf(comm, "    "));
    PetscCall(AIJTCUChoicePrint(b));
    PetscCall(AIJTCUChoicePrintReason(b));
    PetscCall(PetscPrintf(comm, "\n"));
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* How many products were ours: "; what: 3 of 4 by its kernels", or "; what: none" */
static PetscErrorCode AIJTCUPrintShare(const char what[], PetscInt64 ours, PetscInt64 others)
{
  PetscFunctionBegin;
  if (ours + others) PetscCall(PetscPrintf(PETSC_COMM_WORLD, "; %s: %" PetscInt64_FMT " of %" PetscInt64_FMT " by its kernels", what, ours, ours + others));
  else PetscCall(PetscPrintf(PETSC_COMM_WORLD, "; %s: none", what));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode AIJTCUPrintMatrices(void)
{
  const AIJTCUTotals *t   = &AIJTCUAll;
  const PetscInt64    all = t->matrices[0] + t->matrices[1];

  PetscFunctionBegin;
  PetscCall(PetscPrintf(PETSC_COMM_WORLD, "%" PetscInt64_FMT " matri%s of type aijtcu", all, all == 1 ? "x" : "ces"));
  if (t->matrices[0] && t->matrices[1]) PetscCall(PetscPrintf(PETSC_COMM_WORLD, ", %" PetscInt64_FMT " of them on the host", t->matrices[0]));
  if (t->attached) PetscCall(PetscPrintf(PETSC_COMM_WORLD, ", %" PetscInt64_FMT " of type aijcusparse with its products", t->attached));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* The line that tells on from off, also where a program only calls KSPSolve() */
static PetscErrorCode AIJTCUViewTotals(void)
{
  const AIJTCUTotals    *t    = &AIJTCUAll;
  const MatAIJTCUCounts *host = &t->counts[0], *c = &t->counts[1];
  const PetscBool        ondevice = (PetscBool)(t->matrices[1] || t->attached);
  const PetscInt64       sampled  = host->sampled_tcu + host->sampled_csr + c->sampled_tcu + c->sampled_csr;
  PetscMPIInt            size;

  PetscFunctionBegin;
  PetscCallMPI(MPI_Comm_size(PETSC_COMM_WORLD, &size));
  if (!ondevice && !t->matrices[0]) {
    PetscCall(PetscPrintf(PETSC_COMM_WORLD, "aijtcu: OFF, no matrix of type aijtcu: it needs -mat_type aijtcu, or -dm_mat_type aijtcu for a DM\n"));
    PetscFunctionReturn(PETSC_SUCCESS);
  }
  PetscCall(PetscPrintf(PETSC_COMM_WORLD, ondevice ? "aijtcu: ON, " : "aijtcu: ON, but without a GPU, "));
  PetscCall(AIJTCUPrintMatrices());
  if (ondevice) PetscCall(AIJTCUPrintShare("MatMult()", c->mult, c->mult_parent));
  else PetscCall(PetscPrintf(PETSC_COMM_WORLD, "; MatMult(): PETSc's"));
  PetscCall(AIJTCUPrintShare("products with blocks of vectors", c->tcu + c->csr + host->tcu, c->cusparse + host->csr + host->cusparse));
  if (c->sparse) PetscCall(PetscPrintf(PETSC_COMM_WORLD, "; sparse products: %" PetscInt64_FMT, c->sparse));
  if (sampled) PetscCall(PetscPrintf(PETSC_COMM_WORLD, "; sampled products: %" PetscInt64_FMT, sampled));
  if (t->solves) PetscCall(PetscPrintf(PETSC_COMM_WORLD, "; solves of blocks: %" PetscInt64_FMT " of %" PetscInt64_FMT " as a whole", t->whole, t->solves));
  PetscCall(PetscPrintf(PETSC_COMM_WORLD, size > 1 ? " (first process)\n" : "\n"));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode AIJTCUViewChoice(void)
{
  PetscErrorCode ierr;

  PetscFunctionBegin;
  ierr = AIJTCUViewTotals();
  if (choices && !ierr) ierr = PetscPrintf(PETSC_COMM_WORLD, "aijtcu: products with dense matrices set up by the first process\n");
  for (const AIJTCUChoice *c = choices; c && !ierr; c = c->next) ierr = AIJTCUChoicePrintAll(c);
  PetscCall(AIJTCUChoiceDestroy(&choices));
  view_choice = PETSC_FALSE;
  PetscCall(ierr);
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Called when the library is loaded, with the value of the option */
PetscErrorCode AIJTCUViewChoiceSetUp(PetscBool view)
{
  PetscFunctionBegin;
  if (view && !view_choice) PetscCall(PetscRegisterFinalize(AIJTCUViewChoice));
  view_choice = view;
  PetscCall(PetscMemzero(&AIJTCUAll, sizeof(AIJTCUAll))); /* PETSc may be initialized again */
  PetscFunctionReturn(PETSC_SUCCESS);
}
