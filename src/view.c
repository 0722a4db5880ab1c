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

/* The format of this process's bricks where they exist. Where they do not: the one that is set or, on the host, the default one. A device chooses it when it builds them: zeros */
static PetscErrorCode AIJTCUViewFormat(Mat A, HrpbParams *params)
{
  Mat         blocks[2];
  AIJTCUPlan *plan;
  PetscBool   device;

  PetscFunctionBegin;
  PetscCall(AIJTCUGetBlocks(A, blocks));
  PetscCall(AIJTCUGetPlan(blocks[0], &plan));
  PetscCall(AIJTCUOnDevice(blocks[0], plan, &device));
  if (plan->built) *params = plan->params;
  else if (device && !AIJTCUGetOptions(plan)->format.brick_rows) PetscCall(PetscMemzero(params, sizeof(*params)));
  else *params = AIJTCUGetFormat(plan);
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* What was tuned for A or, of a parallel matrix, for the diagonal block of each process, of which the first one says it, as options that replay it */
static PetscErrorCode AIJTCUViewTuned(Mat A, PetscViewer viewer)
{
  PetscFunctionBegin;
#if AIJTCU_HAVE_DEVICE
  Mat            blocks[2];
  AIJTCUPlan    *plan;
  char          *text;
  PetscErrorCode ierr;

  PetscCall(AIJTCUGetBlocks(A, blocks));
  PetscCall(AIJTCUGetPlan(blocks[0], &plan));
  for (PetscInt k = 0; k < plan->ntuned; k++) {
    const AIJTCUTuned *tuned;

    PetscCall(AIJTCUTuneFind(blocks[0], plan, plan->tuned[k].N, &tuned));
    if (!tuned) continue; /* it was for another pattern, or before something was set */
    PetscCall(AIJTCUTuneOptions(blocks[0], tuned, &text));
    ierr = PetscViewerASCIIPrintf(viewer, "  tuned for N = %" PetscInt_FMT "%s: %s\n", tuned->N, blocks[0] == A ? "" : " (diagonal block of the first process)", text);
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
   The lines that follow the parent's in the format info, where a matrix is viewed by itself: in the view of a solver
   they would be noise, and so they would be in the format info_detail, in which a MATIS prints its local matrices. Sums
   over the processes; collective
*/
PetscErrorCode AIJTCUView(Mat A, PetscViewer viewer)
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
  const PetscInt       widths[] = {1, 8, 32, 128};
  PetscViewerFormat    format;
  PetscBool            isascii;
  AIJTCUPlan          *plan;
  const AIJTCUOptions *o;
  HrpbParams           params = {0, 0, 0, 0};
  MatAIJTCUSynergy     s;
  PetscInt64           sum[NSUM];
  PetscInt             tab = 0; /* MatView() itself has set two */
  PetscReal            weighted[2]; /* fill and beta are ratios of sums: fill x bricks, and bricks/beta */

  PetscFunctionBegin;
  PetscCall(PetscObjectTypeCompare((PetscObject)viewer, PETSCVIEWERASCII, &isascii));
  PetscCall(PetscViewerGetFormat(viewer, &format));
  PetscCall(AIJTCUGetPlan(A, &plan));
  if (isascii) PetscCall(PetscViewerASCIIGetTab(viewer, &tab));
  if (!isascii || tab > 2 || !plan || !A->assembled || format != PETSC_VIEWER_ASCII_INFO) PetscFunctionReturn(PETSC_SUCCESS);
  o = AIJTCUGetOptions(plan);
  PetscCall(AIJTCUViewFormat(A, &params));
  PetscCall(MatAIJTCUGetSynergy(A, &s));
  PetscCall(AIJTCULocalCounts(A, &sum[NNZ], &sum[COLS8], &sum[COLS16]));
  sum[BRICKS]       = s.bricks;
  sum[HRPB_BYTES]   = s.hrpb_bytes;
  sum[CSR_BYTES]    = s.csr_bytes;
  sum[DEVICE_BYTES] = s.device_bytes;
  sum[BUILT]        = s.built;
  sum[REORDERED]    = s.reordered;
  weighted[0]       = s.fill * (PetscReal)s.bricks;
  weighted[1]       = s.beta > 0 ? (PetscReal)s.bricks / s.beta : 0;
  PetscCallMPI(MPIU_Allreduce(MPI_IN_PLACE, sum, NSUM, MPIU_INT64, MPI_SUM, PetscObjectComm((PetscObject)A)));
  PetscCallMPI(MPIU_Allreduce(MPI_IN_PLACE, weighted, 2, MPIU_REAL, MPI_SUM, PetscObjectComm((PetscObject)A)));
  PetscCall(AIJTCUSynergyFromCounts(sum[NNZ], sum[COLS8], sum[COLS16], &s));
  PetscCall(PetscViewerASCIIPushTab(viewer));
  PetscCall(PetscViewerASCIIPrintf(viewer, "aijtcu on the %s: synergy %s, alpha %.4f (8-row strips %.4f), modelled intensity %.1f\n", plan->device ? "device" : "host", MatAIJTCUSynergyClasses[s.cls], (double)s.alpha, (double)s.alpha8, (double)s.intensity));
  if (params.brick_rows) PetscCall(PetscViewerASCIIPrintf(viewer, "  bricks of %d x %d, panels of %d rows, blocks of %d columns, windows of %d; ", (int)params.brick_rows, HRPB_BRICK_COLS, (int)params.panel_rows, (int)params.block_cols, (int)params.window_cols));
  else PetscCall(PetscViewerASCIIPrintf(viewer, "  format of bricks %s; ", unknown));
  PetscCall(PetscViewerASCIIUseTabs(viewer, PETSC_FALSE)); /* the rest of the line */
  PetscCall(PetscViewerASCIIPrintf(viewer, "bytes of CSR %" PetscInt64_FMT "\n", sum[CSR_BYTES]));
  PetscCall(PetscViewerASCIIUseTabs(viewer, PETSC_TRUE));
  if (sum[BUILT]) {
    PetscCall(PetscViewerASCIIPrintf(viewer, "  %" PetscInt64_FMT " bricks, fill %.4f, beta %.4f, bytes of HRPB %" PetscInt64_FMT "\n", sum[BRICKS], (double)(sum[BRICKS] ? weighted[0] / (PetscReal)sum[BRICKS] : 0), (double)(sum[BRICKS] ? (PetscReal)sum[BRICKS] / weighted[1] : 0), sum[HRPB_BYTES]));
  } else PetscCall(PetscViewerASCIIPrintf(viewer, "  bricks not built\n"));
  if (sum[REORDERED]) PetscCall(PetscViewerASCIIPrintf(viewer, "  bricks are of the reordered matrix\n"));
  if (sum[DEVICE_BYTES]) PetscCall(PetscViewerASCIIPrintf(viewer, "  %" PetscInt64_FMT " bytes of device memory beside the matrix\n", sum[DEVICE_BYTES]));
  PetscCall(PetscViewerASCIIPrintf(viewer, "  path %s", MatAIJTCUPaths[o->path]));
  PetscCall(PetscViewerASCIIUseTabs(viewer, PETSC_FALSE)); /* the rest of the line */
  for (size_t i = 0; i < PETSC_STATIC_ARRAY_LENGTH(widths); i++) {
    const char *path = NULL;

    PetscCall(AIJTCUPathOfAll(A, widths[i], &path));
    PetscCall(PetscViewerASCIIPrintf(viewer, "%s N = %" PetscInt_FMT ": %s", i ? "," : ";", widths[i], path));
  }
  PetscCall(PetscViewerASCIIPrintf(viewer, "\n"));
  PetscCall(PetscViewerASCIIUseTabs(viewer, PETSC_TRUE));
  PetscCall(AIJTCUViewTuned(A, viewer));
  PetscCall(PetscViewerASCIIPopTab(viewer));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*
   -mat_aijtcu_view_choice: what products were set up, in the order in which they first were. A product of a parallel
   matrix counts once. PETSc makes it of products of the blocks of each process; those of the first process are listed
   below it, without their number, which is PETSc's affair
*/
typedef struct _n_AIJTCUChoice AIJTCUChoice;
struct _n_AIJTCUChoice {
  char          *name;
  PetscInt       rows, cols, N;
  PetscMPIInt    processes; /* of a parallel matrix, more than one; otherwise: */
  MatAIJTCUPath  path;
  const char    *reason;  /* a static string */
  char          *options; /* that replay what was tuned; empty where nothing was */
  PetscInt64     times;
  PetscObjectId  plan, diagonal; /* of a parallel matrix, when it was last set up: of its plan's container, and of its diagonal block */
  AIJTCUChoice  *blocks, *next;
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
  PetscCall(AIJTCUTuneFind(A, plan, N, &tuned));
  if (tuned) PetscCall(AIJTCUTuneOptions(A, tuned, text));
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
    if (named && replayed && l->rows == c->rows && l->cols == c->cols && l->N == c->N && l->processes == c->processes && l->path == c->path && l->reason == c->reason) break;
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
  const char    *s    = c->times == 1 ? "" : "s";

  PetscFunctionBegin;
  if (c->processes) {
    PetscCall(PetscPrintf(comm, "  %s, %" PetscInt_FMT " x %" PetscInt_FMT " on %d process%s, N = %" PetscInt_FMT ": in blocks, %" PetscInt64_FMT " time%s\n", c->name, c->rows, c->cols, (int)c->processes, c->processes == 1 ? "" : "es", c->N, c->times, s));
    for (const AIJTCUChoice *b = c->blocks; b; b = b->next) PetscCall(PetscPrintf(comm, "    %s, %" PetscInt_FMT " x %" PetscInt_FMT ", N = %" PetscInt_FMT ": %s (%s)%s%s\n", b->name, b->rows, b->cols, b->N, MatAIJTCUPaths[b->path], b->reason, b->options[0] ? ": " : "", b->options));
  } else PetscCall(PetscPrintf(comm, "  %s, %" PetscInt_FMT " x %" PetscInt_FMT ", N = %" PetscInt_FMT ": %s, %" PetscInt64_FMT " time%s (%s)%s%s\n", c->name, c->rows, c->cols, c->N, MatAIJTCUPaths[c->path], c->times, s, c->reason, c->options[0] ? ": " : "", c->options));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode AIJTCUViewChoice(void)
{
  PetscErrorCode ierr = PETSC_SUCCESS;

  PetscFunctionBegin;
  PetscCall(PetscPrintf(PETSC_COMM_WORLD, "aijtcu: products with dense matrices set up by the first process\n"));
  if (!choices) PetscCall(PetscPrintf(PETSC_COMM_WORLD, "  none: a product of an aijtcu matrix with a dense one is counted (MatMatMult()), a product with a vector is not (MatMult())\n"));
  for (const AIJTCUChoice *c = choices; c && !ierr; c = c->next) ierr = AIJTCUChoicePrint(c);
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
