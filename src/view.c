/*
   What MatView() says of a MATAIJTCU, and -mat_aijtcu_view_choice.
*/
#include "aijtcuimpl.h"
#include <petscviewer.h>

/* The path for N columns as the whole parallel matrix sees it: bricks where a block of any process takes them */
static PetscErrorCode AIJTCUPathOfAll(Mat A, PetscInt N, MatAIJTCUPath *path)
{
  Mat         blocks[2];
  const char *reason;
  PetscBool   tcu = PETSC_FALSE;
  AIJTCUPlan *plan;

  PetscFunctionBegin;
  PetscCall(AIJTCUGetBlocks(A, blocks));
  for (PetscInt i = 0; i < 2; i++) {
    if (!blocks[i]) continue;
    PetscCall(AIJTCUGetPlan(blocks[i], &plan));
    if (i && !plan->device) continue; /* on the host PETSc multiplies the off-diagonal block itself */
    PetscCall(AIJTCUChoosePath(blocks[i], plan, N, path, &reason));
    if (*path == MAT_AIJTCU_PATH_TCU) tcu = PETSC_TRUE;
  }
  PetscCallMPI(MPIU_Allreduce(MPI_IN_PLACE, &tcu, 1, MPI_C_BOOL, MPI_LOR, PetscObjectComm((PetscObject)A)));
  if (*path != MAT_AIJTCU_PATH_CUSPARSE) *path = tcu ? MAT_AIJTCU_PATH_TCU : MAT_AIJTCU_PATH_CSR; /* the parent's is the choice of no block by itself */
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* The format of this process's bricks where they exist, what the options say where they do not */
static PetscErrorCode AIJTCUGetParams(Mat A, HrpbParams *params)
{
  Mat         blocks[2];
  AIJTCUPlan *plan;

  PetscFunctionBegin;
  PetscCall(AIJTCUGetBlocks(A, blocks));
  PetscCall(AIJTCUGetPlan(blocks[0], &plan));
  *params = AIJTCUGetFormat(plan);
  if (plan->built) *params = plan->params;
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
   The lines that follow the parent's in the formats info and info_detail, where a matrix is viewed by itself: in the view of a solver
   they would be noise. Sums over the processes; collective
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
    CLUSTERED,
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
  if (!isascii || tab > 2 || !plan || !A->assembled || (format != PETSC_VIEWER_ASCII_INFO && format != PETSC_VIEWER_ASCII_INFO_DETAIL)) PetscFunctionReturn(PETSC_SUCCESS);
  o = AIJTCUGetOptions(plan);
  PetscCall(AIJTCUGetParams(A, &params));
  PetscCall(MatAIJTCUGetSynergy(A, &s));
  PetscCall(AIJTCULocalCounts(A, &sum[NNZ], &sum[COLS8], &sum[COLS16]));
  sum[BRICKS]       = s.bricks;
  sum[HRPB_BYTES]   = s.hrpb_bytes;
  sum[CSR_BYTES]    = s.csr_bytes;
  sum[DEVICE_BYTES] = s.device_bytes;
  sum[BUILT]        = s.built;
  sum[CLUSTERED]    = s.reordered;
  weighted[0]       = s.fill * (PetscReal)s.bricks;
  weighted[1]       = s.beta > 0 ? (PetscReal)s.bricks / s.beta : 0;
  PetscCallMPI(MPIU_Allreduce(MPI_IN_PLACE, sum, NSUM, MPIU_INT64, MPI_SUM, PetscObjectComm((PetscObject)A)));
  PetscCallMPI(MPIU_Allreduce(MPI_IN_PLACE, weighted, 2, MPIU_REAL, MPI_SUM, PetscObjectComm((PetscObject)A)));
  PetscCall(AIJTCUSynergyFromCounts(sum[NNZ], sum[COLS8], sum[COLS16], &s));
  PetscCall(PetscViewerASCIIPushTab(viewer));
  PetscCall(PetscViewerASCIIPrintf(viewer, "aijtcu on the %s: synergy %s, alpha %.4f (8-row strips %.4f), modelled intensity %.1f\n", plan->device ? "device" : "host", MatAIJTCUSynergyClasses[s.cls], (double)s.alpha, (double)s.alpha8, (double)s.intensity));
  PetscCall(PetscViewerASCIIPrintf(viewer, "  bricks of %d x %d, panels of %d rows, blocks of %d columns, windows of %d; bytes of CSR %" PetscInt64_FMT "\n", (int)params.brick_rows, HRPB_BRICK_COLS, (int)params.panel_rows, (int)params.block_cols, (int)params.window_cols, sum[CSR_BYTES]));
  if (sum[BUILT]) {
    PetscCall(PetscViewerASCIIPrintf(viewer, "  %" PetscInt64_FMT " bricks, fill %.4f, beta %.4f, bytes of HRPB %" PetscInt64_FMT "\n", sum[BRICKS], (double)(sum[BRICKS] ? weighted[0] / (PetscReal)sum[BRICKS] : 0), (double)(sum[BRICKS] ? (PetscReal)sum[BRICKS] / weighted[1] : 0), sum[HRPB_BYTES]));
  } else PetscCall(PetscViewerASCIIPrintf(viewer, "  bricks not built\n"));
  if (sum[CLUSTERED]) PetscCall(PetscViewerASCIIPrintf(viewer, "  bricks are of the matrix in another order\n"));
  if (sum[DEVICE_BYTES]) PetscCall(PetscViewerASCIIPrintf(viewer, "  %" PetscInt64_FMT " bytes of device memory beside the matrix\n", sum[DEVICE_BYTES]));
  PetscCall(PetscViewerASCIIPrintf(viewer, "  path %s", MatAIJTCUPaths[o->path]));
  PetscCall(PetscViewerASCIIUseTabs(viewer, PETSC_FALSE)); /* the rest of the line */
  for (size_t i = 0; i < PETSC_STATIC_ARRAY_LENGTH(widths); i++) {
    MatAIJTCUPath path;

    PetscCall(AIJTCUPathOfAll(A, widths[i], &path));
    PetscCall(PetscViewerASCIIPrintf(viewer, "%s N = %" PetscInt_FMT ": %s", i ? "," : ";", widths[i], MatAIJTCUPaths[path]));
  }
  PetscCall(PetscViewerASCIIPrintf(viewer, "\n"));
  PetscCall(PetscViewerASCIIUseTabs(viewer, PETSC_TRUE));
  PetscCall(AIJTCUViewTuned(A, viewer));
  PetscCall(PetscViewerASCIIPopTab(viewer));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* One line of -mat_aijtcu_view_choice */
typedef struct _n_AIJTCUChoice AIJTCUChoice;
struct _n_AIJTCUChoice {
  char          name[64];
  PetscInt      rows, cols, N;
  MatAIJTCUPath path;
  const char   *reason;  /* static strings */
  char         *options; /* that replay what was tuned; empty where nothing was */
  PetscInt64    times;
  AIJTCUChoice *next;
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

static PetscErrorCode AIJTCUCountChoice(Mat A, PetscInt N, MatAIJTCUPath path, const char reason[], const char name[], const char options[])
{
  AIJTCUChoice **last = &choices, *added;
  PetscErrorCode ierr;

  PetscFunctionBegin;
  for (; *last; last = &(*last)->next) {
    PetscBool same, replayed;

    PetscCall(PetscStrncmp((*last)->name, name, sizeof((*last)->name) - 1, &same));
    PetscCall(PetscStrcmp((*last)->options, options, &replayed));
    if (same && replayed && (*last)->rows == A->rmap->n && (*last)->cols == A->cmap->n && (*last)->N == N && (*last)->path == path && (*last)->reason == reason) break;
  }
  if (!*last) {
    PetscCall(PetscNew(&added));
    ierr = PetscStrallocpy(options, &added->options);
    if (ierr) PetscCall(PetscFree(added));
    PetscCall(ierr);
    added->rows   = A->rmap->n;
    added->cols   = A->cmap->n;
    added->N      = N;
    added->path   = path;
    added->reason = reason;
    *last         = added; /* whole but for its name */
    PetscCall(PetscStrncpy(added->name, name, sizeof(added->name)));
  }
  (*last)->times++;
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode AIJTCURecordChoice(Mat A, PetscInt N, MatAIJTCUPath path, const char reason[])
{
  const char    *name;
  char          *options; /* of this product: of another pattern, say, others may have been tuned since */
  PetscErrorCode ierr;

  PetscFunctionBegin;
  if (!view_choice) PetscFunctionReturn(PETSC_SUCCESS);
  name = ((PetscObject)A)->name ? ((PetscObject)A)->name : ((PetscObject)A)->prefix ? ((PetscObject)A)->prefix : "(unnamed)";
  PetscCall(AIJTCUReplay(A, N, &options));
  ierr = AIJTCUCountChoice(A, N, path, reason, name, options);
  PetscCall(PetscFree(options));
  PetscCall(ierr);
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode AIJTCUViewChoice(void)
{
  PetscFunctionBegin;
  PetscCall(PetscPrintf(PETSC_COMM_WORLD, "aijtcu: products with dense matrices set up by the first process\n"));
  if (!choices) PetscCall(PetscPrintf(PETSC_COMM_WORLD, "  none\n"));
  while (choices) {
    AIJTCUChoice *c = choices;

    PetscCall(PetscPrintf(PETSC_COMM_WORLD, "  %s, %" PetscInt_FMT " x %" PetscInt_FMT ", N = %" PetscInt_FMT ": %s, %" PetscInt64_FMT " times (%s)%s%s\n", c->name, c->rows, c->cols, c->N, MatAIJTCUPaths[c->path], c->times, c->reason, c->options[0] ? ": " : "", c->options));
    choices = c->next;
    PetscCall(PetscFree(c->options));
    PetscCall(PetscFree(c));
  }
  view_choice = PETSC_FALSE;
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
