/*
   What MatView() says of a MATAIJTCU, and -mat_aijtcu_view_choice. Viewing builds nothing and chooses nothing: what no
   product has needed yet is said not to be known.
*/
#include "aijtcuimpl.h"
#include <petscviewer.h>

static const char unknown[] = "not known yet";

/* The path for N columns as the whole parallel matrix sees it: bricks where a block of any process takes them. In words */
static PetscErrorCode AIJTCUPathOfAll(Mat A, PetscInt N, const char **path)
{
  enum {
    TCU,
    UNKNOWN,
    CUSPARSE,
    NANSWERS
  };
  Mat         blocks[2];
  AIJTCUPlan *plan;
  PetscBool   any[NANSWERS] = {PETSC_FALSE, PETSC_FALSE, PETSC_FALSE};

  PetscFunctionBegin;
  PetscCall(AIJTCUGetBlocks(A, blocks));
  for (PetscInt i = 0; i < 2; i++) {
    AIJTCUDecision d;
    PetscBool      known;

    if (!blocks[i]) continue;
    PetscCall(AIJTCUGetPlan(blocks[i], &plan));
    if (i && !plan->device) continue; /* on the host PETSc multiplies the off-diagonal block itself */
    PetscCall(AIJTCUPlanPeek(blocks[i], plan, SPMM_OP_PRODUCT, N, &d, &known));
    if (!known) any[UNKNOWN] = PETSC_TRUE;
    else if (d.path == MAT_AIJTCU_PATH_TCU) any[TCU] = PETSC_TRUE;
    else if (d.path == MAT_AIJTCU_PATH_CUSPARSE) any[CUSPARSE] = PETSC_TRUE; /* as set, and then of all blocks */
  }
  PetscCallMPI(MPIU_Allreduce(MPI_IN_PLACE, any, NANSWERS, MPI_C_BOOL, MPI_LOR, PetscObjectComm((PetscObject)A)));
  if (any[TCU]) *path = MatAIJTCUPaths[MAT_AIJTCU_PATH_TCU];
  else if (any[UNKNOWN]) *path = unknown;
  else *path = MatAIJTCUPaths[any[CUSPARSE] ? MAT_AIJTCU_PATH_CUSPARSE : MAT_AIJTCU_PATH_CSR];
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*
   The format of this process's bricks where they exist. Where they do not: the one that is set or, on the host, the
   default one; zeros on a device, which chooses a format when it builds them
*/
static PetscErrorCode AIJTCUViewFormat(Mat A, HrpbParams *format)
{
  Mat         blocks[2];
  AIJTCUPlan *plan;
  PetscBool   device;

  PetscFunctionBegin;
  PetscCall(AIJTCUGetBlocks(A, blocks));
  PetscCall(AIJTCUGetPlan(blocks[0], &plan));
  PetscCall(AIJTCUPlanSync(blocks[0], plan));
  PetscCall(AIJTCUOnDevice(blocks[0], plan, &device));
  if (plan->bricks.state == AIJTCU_READY) *format = plan->bricks.format;
  else if (device && !AIJTCUGetOptions(plan)->format.brick_rows) PetscCall(PetscMemzero(format, sizeof(*format)));
  else *format = AIJTCUGetFormat(plan);
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* What the rows of all processes have together, and whether any of them have bricks */
static PetscErrorCode AIJTCUViewSynergy(Mat A, MatAIJTCUSynergy *all)
{
  enum {
    NNZ,
    COLS8,
    COLS16,
    BRICKS,
    HRPB_BYTES,
    CSR_BYTES,
    DEVICE_BYTES,
    BUILT,
    REORDERED,
    NSUM
  };
  const MPI_Comm   comm = PetscObjectComm((PetscObject)A);
  MatAIJTCUSynergy s;
  PetscInt64       sum[NSUM];
  PetscReal        filled, groups; /* fill and beta are ratios of sums: filled/bricks, and bricks/groups */
  PetscBool        known;

  PetscFunctionBegin;
  PetscCall(MatAIJTCUGetSynergy(A, &s));
  PetscCall(AIJTCULocalCounts(A, PETSC_TRUE, &sum[NNZ], &sum[COLS8], &sum[COLS16], &known));
  sum[BRICKS]       = s.bricks;
  sum[HRPB_BYTES]   = s.hrpb_bytes;
  sum[CSR_BYTES]    = s.csr_bytes;
  sum[DEVICE_BYTES] = s.device_bytes;
  sum[BUILT]        = s.built;
  sum[REORDERED]    = s.reordered;
  filled            = s.fill * (PetscReal)s.bricks;
  groups            = s.beta > 0 ? (PetscReal)s.bricks / s.beta : 0;
  PetscCallMPI(MPIU_Allreduce(MPI_IN_PLACE, sum, NSUM, MPIU_INT64, MPI_SUM, comm));
  PetscCallMPI(MPIU_Allreduce(MPI_IN_PLACE, &filled, 1, MPIU_REAL, MPI_SUM, comm));
  PetscCallMPI(MPIU_Allreduce(MPI_IN_PLACE, &groups, 1, MPIU_REAL, MPI_SUM, comm));
  *all = s;
  PetscCall(AIJTCUSynergyFromCounts(sum[NNZ], sum[COLS8], sum[COLS16], all));
  all->bricks       = sum[BRICKS];
  all->hrpb_bytes   = sum[HRPB_BYTES];
  all->csr_bytes    = sum[CSR_BYTES];
  all->device_bytes = sum[DEVICE_BYTES];
  all->built        = (PetscBool)(sum[BUILT] > 0);
  all->reordered    = (PetscBool)(sum[REORDERED] > 0);
  all->fill         = all->bricks ? filled / (PetscReal)all->bricks : 0;
  all->beta         = groups > 0 ? (PetscReal)all->bricks / groups : 0;
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* One line: the path that is set, and those that products take */
static PetscErrorCode AIJTCUViewPaths(Mat A, const AIJTCUPlan *plan, PetscViewer viewer)
{
  const PetscInt widths[] = {1, 8, 32, 128};

  PetscFunctionBegin;
  PetscCall(PetscViewerASCIIPrintf(viewer, "  path %s", MatAIJTCUPaths[AIJTCUGetOptions(plan)->path]));
  PetscCall(PetscViewerASCIIUseTabs(viewer, PETSC_FALSE)); /* the rest of the line */
  for (size_t i = 0; i < PETSC_STATIC_ARRAY_LENGTH(widths); i++) {
    const char *path = NULL;

    PetscCall(AIJTCUPathOfAll(A, widths[i], &path));
    PetscCall(PetscViewerASCIIPrintf(viewer, "%s N = %" PetscInt_FMT ": %s", i ? "," : ";", widths[i], path));
  }
  PetscCall(PetscViewerASCIIPrintf(viewer, "\n"));
  PetscCall(PetscViewerASCIIUseTabs(viewer, PETSC_TRUE));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode AIJTCUViewBricks(Mat A, const MatAIJTCUSynergy *s, PetscViewer viewer)
{
  HrpbParams f = {0, 0, 0, 0};

  PetscFunctionBegin;
  PetscCall(AIJTCUViewFormat(A, &f));
  if (f.brick_rows)
    PetscCall(PetscViewerASCIIPrintf(viewer, "  bricks of %d x %d, panels of %d rows, blocks of %d columns, windows of %d; bytes of CSR %" PetscInt64_FMT "\n",
                                     (int)f.brick_rows, HRPB_BRICK_COLS, (int)f.panel_rows, (int)f.block_cols, (int)f.window_cols, s->csr_bytes));
  else PetscCall(PetscViewerASCIIPrintf(viewer, "  format of bricks %s; bytes of CSR %" PetscInt64_FMT "\n", unknown, s->csr_bytes));
  if (s->built)
    PetscCall(PetscViewerASCIIPrintf(viewer, "  %" PetscInt64_FMT " bricks, fill %.4f, beta %.4f, bytes of HRPB %" PetscInt64_FMT "\n",
                                     s->bricks, (double)s->fill, (double)s->beta, s->hrpb_bytes));
  else PetscCall(PetscViewerASCIIPrintf(viewer, "  bricks not built\n"));
  if (s->reordered) PetscCall(PetscViewerASCIIPrintf(viewer, "  bricks are of the reordered matrix\n"));
  if (s->device_bytes) PetscCall(PetscViewerASCIIPrintf(viewer, "  %" PetscInt64_FMT " bytes of device memory beside the matrix\n", s->device_bytes));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*
   What was tuned, as options that replay it. Of a parallel matrix: for the diagonal block of each process, of which the
   first one says it
*/
static PetscErrorCode AIJTCUViewTuned(Mat A, PetscViewer viewer)
{
  PetscFunctionBegin;
#if AIJTCU_HAVE_DEVICE
  const char    *of_block = " (diagonal block of the first process)";
  Mat            blocks[2];
  AIJTCUPlan    *plan;
  char          *text;
  PetscErrorCode ierr;

  PetscCall(AIJTCUGetBlocks(A, blocks));
  PetscCall(AIJTCUGetPlan(blocks[0], &plan));
  for (PetscInt k = 0; k < plan->tunings.n; k++) {
    const AIJTCUDecision *choice = &plan->tunings.tuned[k].choice;
    const AIJTCUTuned    *tuned;

    PetscCall(AIJTCUPlanTuned(blocks[0], plan, choice->op, choice->N, &tuned));
    if (!tuned) continue; /* it was for another pattern, or before something was set */
    PetscCall(AIJTCUTuningOptions(blocks[0], tuned, &text));
    ierr = PetscViewerASCIIPrintf(viewer, "  tuned for N = %" PetscInt_FMT "%s: %s\n", tuned->choice.N, blocks[0] == A ? "" : of_block, text);
    PetscCall(PetscFree(text));
    PetscCall(ierr);
  }
#else
  (void)A;
  (void)viewer;
#endif
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*
   The lines that follow the parent's in the format info, where a matrix is viewed by itself. In the view of a solver they
   would be noise, as in the format info_detail, with which a MATIS prints its local matrices. Collective
*/
PetscErrorCode AIJTCUView(Mat A, PetscViewer viewer)
{
  PetscViewerFormat format;
  PetscBool         isascii;
  AIJTCUPlan       *plan;
  MatAIJTCUSynergy  s;
  PetscInt          tab = 0; /* MatView() itself has set two */

  PetscFunctionBegin;
  PetscCall(PetscObjectTypeCompare((PetscObject)viewer, PETSCVIEWERASCII, &isascii));
  PetscCall(PetscViewerGetFormat(viewer, &format));
  PetscCall(AIJTCUGetPlan(A, &plan));
  if (isascii) PetscCall(PetscViewerASCIIGetTab(viewer, &tab));
  if (!isascii || tab > 2 || !plan || !A->assembled || format != PETSC_VIEWER_ASCII_INFO) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCall(AIJTCUViewSynergy(A, &s));
  PetscCall(PetscViewerASCIIPushTab(viewer));
  PetscCall(PetscViewerASCIIPrintf(viewer, "aijtcu on the %s: synergy %s, alpha %.4f (8-row strips %.4f), modelled intensity %.1f\n",
                                   plan->device ? "device" : "host", MatAIJTCUSynergyClasses[s.cls], (double)s.alpha, (double)s.alpha8, (double)s.intensity));
  PetscCall(AIJTCUViewBricks(A, &s, viewer));
  PetscCall(AIJTCUViewPaths(A, plan, viewer));
  PetscCall(AIJTCUViewTuned(A, viewer));
  PetscCall(PetscViewerASCIIPopTab(viewer));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*
   -mat_aijtcu_view_choice: what products were set up, in the order in which they first were. A product of a parallel
   matrix counts once. PETSc makes it of products of the blocks of each process; those of the first process are listed
   below it
*/
typedef struct _n_AIJTCUChoice AIJTCUChoice;
struct _n_AIJTCUChoice {
  char         *name;
  PetscInt      rows, cols, N;
  PetscInt64    times;
  AIJTCUChoice *next;
  /* of a sequential matrix */
  MatAIJTCUPath path;
  const char   *reason;  /* a static string */
  char         *options; /* that replay what was tuned; empty where nothing was */
  /* of a parallel one */
  PetscMPIInt   processes;      /* 0 of a sequential one */
  PetscObjectId plan, diagonal; /* when a product was last set up: the container of its plan, and its diagonal block */
  AIJTCUChoice *blocks;
};
static AIJTCUChoice *choices     = NULL;
static PetscBool     view_choice = PETSC_FALSE;

/* Options that replay what was tuned for N columns; empty where nothing was. To be freed by the caller */
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

static PetscErrorCode AIJTCUChoiceDestroy(AIJTCUChoice **c)
{
  PetscFunctionBegin;
  while (*c) {
    AIJTCUChoice *next = (*c)->next;

    PetscCall(AIJTCUChoiceDestroy(&(*c)->blocks));
    PetscCall(PetscFree((*c)->name));
    PetscCall(PetscFree((*c)->options));
    PetscCall(PetscFree(*c));
    *c = next;
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Count one like c, which is copied where there is none yet */
static PetscErrorCode AIJTCUChoiceCount(AIJTCUChoice **list, const AIJTCUChoice *c, AIJTCUChoice **counted)
{
  PetscErrorCode ierr;

  PetscFunctionBegin;
  for (; *list; list = &(*list)->next) {
    const AIJTCUChoice *l = *list;
    PetscBool           named, replayed;

    PetscCall(PetscStrcmp(l->name, c->name, &named));
    PetscCall(PetscStrcmp(l->options, c->options, &replayed));
    if (named && replayed && l->rows == c->rows && l->cols == c->cols && l->N == c->N && l->processes == c->processes &&
        l->path == c->path && l->reason == c->reason) break;
  }
  if (!*list) {
    AIJTCUChoice *added;

    PetscCall(PetscNew(&added));
    *added      = *c;
    added->name = added->options = NULL;
    ierr        = PetscStrallocpy(c->name, &added->name);
    if (!ierr) ierr = PetscStrallocpy(c->options, &added->options);
    if (ierr) PetscCall(AIJTCUChoiceDestroy(&added));
    PetscCall(ierr);
    *list = added;
  }
  (*list)->times++;
  *counted = *list;
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* The line of the parallel matrix whose block A is, for N columns if there is one; NULL for another matrix */
static PetscErrorCode AIJTCUChoiceOfWhole(Mat A, PetscInt N, AIJTCUChoice **whole)
{
  AIJTCUPlan   *plan;
  PetscObjectId id;

  PetscFunctionBegin;
  *whole = NULL;
  PetscCall(AIJTCUGetPlan(A, &plan));
  if (!plan->owner) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCall(PetscObjectGetId((PetscObject)plan->owner->container, &id));
  for (AIJTCUChoice *c = choices; c; c = c->next) {
    if (c->plan == id && (!*whole || c->N == N)) *whole = c;
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

static const char *AIJTCUChoiceName(Mat A)
{
  return ((PetscObject)A)->name ? ((PetscObject)A)->name : ((PetscObject)A)->prefix ? ((PetscObject)A)->prefix : "(unnamed)";
}

/* A product of a sequential matrix with N columns is set up */
PetscErrorCode AIJTCURecordChoice(Mat A, PetscInt N, MatAIJTCUPath path, const char reason[])
{
  AIJTCUChoice   c = {.rows = A->rmap->n, .cols = A->cmap->n, .N = N, .path = path, .reason = reason}, *whole, *counted;
  PetscErrorCode ierr;

  PetscFunctionBegin;
  if (!view_choice) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCall(AIJTCUChoiceOfWhole(A, N, &whole));
  c.name = (char *)AIJTCUChoiceName(A); /* read only */
  if (whole) {
    PetscObjectId id;

    PetscCall(PetscObjectGetId((PetscObject)A, &id));
    c.name = (char *)(id == whole->diagonal ? "diagonal block" : "off-diagonal block");
  }
  PetscCall(AIJTCUReplay(A, N, &c.options)); /* of this product: of another pattern, say, others may have been tuned since */
  ierr = AIJTCUChoiceCount(whole ? &whole->blocks : &choices, &c, &counted);
  PetscCall(PetscFree(c.options));
  PetscCall(ierr);
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* A product of a parallel matrix is */
PetscErrorCode AIJTCURecordWhole(Mat A, PetscInt N)
{
  AIJTCUChoice c = {.name = (char *)AIJTCUChoiceName(A), .options = (char *)"", .rows = A->rmap->N, .cols = A->cmap->N, .N = N}, *counted;
  AIJTCUPlan  *plan;
  Mat          diagonal;

  PetscFunctionBegin;
  if (!view_choice) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCallMPI(MPI_Comm_size(PetscObjectComm((PetscObject)A), &c.processes));
  PetscCall(AIJTCUChoiceCount(&choices, &c, &counted));
  PetscCall(AIJTCUGetPlan(A, &plan));
  PetscCall(MatMPIAIJGetSeqAIJ(A, &diagonal, NULL, NULL));
  PetscCall(PetscObjectGetId((PetscObject)plan->container, &counted->plan));
  PetscCall(PetscObjectGetId((PetscObject)diagonal, &counted->diagonal));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode AIJTCUChoicePrint(const AIJTCUChoice *c)
{
  const MPI_Comm comm = PETSC_COMM_WORLD;

  PetscFunctionBegin;
  PetscCall(PetscPrintf(comm, "%s, %" PetscInt_FMT " x %" PetscInt_FMT, c->name, c->rows, c->cols));
  if (c->processes) PetscCall(PetscPrintf(comm, " on %d process%s", (int)c->processes, c->processes == 1 ? "" : "es"));
  PetscCall(PetscPrintf(comm, ", N = %" PetscInt_FMT ": %s", c->N, c->processes ? "in blocks" : MatAIJTCUPaths[c->path]));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode AIJTCUChoicePrintReason(const AIJTCUChoice *c)
{
  PetscFunctionBegin;
  PetscCall(PetscPrintf(PETSC_COMM_WORLD, " (%s)%s%s", c->reason, c->options[0] ? ": " : "", c->options));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* A product's line, and those of its blocks. How often PETSc multiplied these is not said: that is its affair */
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

static PetscErrorCode AIJTCUViewChoice(void)
{
  PetscErrorCode ierr = PETSC_SUCCESS;

  PetscFunctionBegin;
  PetscCall(PetscPrintf(PETSC_COMM_WORLD, "aijtcu: products with dense matrices set up by the first process\n"));
  if (!choices)
    PetscCall(PetscPrintf(PETSC_COMM_WORLD, "  none: a product of an aijtcu matrix with a dense one is counted (MatMatMult()), a product with a vector is not (MatMult())\n"));
  for (const AIJTCUChoice *c = choices; c && !ierr; c = c->next) ierr = AIJTCUChoicePrintAll(c);
  PetscCall(AIJTCUChoiceDestroy(&choices));
  view_choice = PETSC_FALSE;
  PetscCall(ierr);
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Called when the library is loaded, with what the option says */
PetscErrorCode AIJTCUViewChoiceSetUp(PetscBool view)
{
  PetscFunctionBegin;
  if (view && !view_choice) PetscCall(PetscRegisterFinalize(AIJTCUViewChoice));
  view_choice = view;
  PetscFunctionReturn(PETSC_SUCCESS);
}
