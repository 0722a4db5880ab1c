/*
   What MatAIJTCUView() says of a MATAIJTCU. A view builds nothing, searches nothing and chooses nothing. A fact that no
   product has needed yet is "not known yet". Only columns are counted, as MatAIJTCUGetSynergy() does.
*/
#include "typeimpl.h"
#include <petscviewer.h>

static const char unknown[] = "not known yet";

/* The path for N columns, in words. A parallel matrix takes bricks where a block of any process does */
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
    const AIJTCUAsk ask = {.op = SPMM_OP_PRODUCT, .N = N};
    AIJTCUDecision  d;
    PetscBool       known;

    if (!blocks[i]) continue;
    PetscCall(AIJTCUGetPlan(blocks[i], &plan));
    if (i && !plan->id.device) continue; /* on the host PETSc multiplies the off-diagonal block itself */
    PetscCall(AIJTCUPlanPeek(blocks[i], plan, &ask, &d, &known));
    if (!known) any[UNKNOWN] = PETSC_TRUE;
    else if (d.path == MAT_AIJTCU_PATH_TCU) any[TCU] = PETSC_TRUE;
    else if (d.path == MAT_AIJTCU_PATH_CUSPARSE) any[CUSPARSE] = PETSC_TRUE; /* set for all blocks */
  }
  PetscCallMPI(MPIU_Allreduce(MPI_IN_PLACE, any, NANSWERS, MPI_C_BOOL, MPI_LOR, PetscObjectComm((PetscObject)A)));
  if (any[TCU]) *path = MatAIJTCUPaths[MAT_AIJTCU_PATH_TCU];
  else if (any[UNKNOWN]) *path = unknown;
  else *path = MatAIJTCUPaths[any[CUSPARSE] ? MAT_AIJTCU_PATH_CUSPARSE : MAT_AIJTCU_PATH_CSR];
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*
   The format of this process's bricks, if they exist. If not: the one that is set, or the default on the host. Zeros
   on a device, which chooses a format when it builds bricks.
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

/* Sums over the rows of all processes, and whether any process has bricks */
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

  PetscFunctionBegin;
  PetscCall(MatAIJTCUGetSynergy(A, &s));
  PetscCall(AIJTCULocalCounts(A, &sum[NNZ], &sum[COLS8], &sum[COLS16]));
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
  PetscCall(PetscViewerASCIIPrintf(viewer, "path %s", MatAIJTCUPaths[AIJTCUGetOptions(plan)->path]));
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
  if (!f.brick_rows) PetscCall(PetscViewerASCIIPrintf(viewer, "format of bricks %s", unknown));
  else
    PetscCall(PetscViewerASCIIPrintf(viewer, "bricks of %d x %d, panels of %d rows, blocks of %d columns, windows of %d",
      (int)f.brick_rows, HRPB_BRICK_COLS, (int)f.panel_rows, (int)f.block_cols, (int)f.window_cols));
  PetscCall(PetscViewerASCIIUseTabs(viewer, PETSC_FALSE)); /* the rest of the line */
  PetscCall(PetscViewerASCIIPrintf(viewer, "; bytes of CSR %" PetscInt64_FMT "\n", s->csr_bytes));
  PetscCall(PetscViewerASCIIUseTabs(viewer, PETSC_TRUE));
  if (s->built)
    PetscCall(PetscViewerASCIIPrintf(viewer, "%" PetscInt64_FMT " bricks, fill %.4f, beta %.4f, bytes of HRPB %" PetscInt64_FMT "\n",
      s->bricks, (double)s->fill, (double)s->beta, s->hrpb_bytes));
  else PetscCall(PetscViewerASCIIPrintf(viewer, "bricks not built\n"));
  if (s->reordered) PetscCall(PetscViewerASCIIPrintf(viewer, "bricks are of the reordered matrix\n"));
  if (s->device_bytes)
    PetscCall(PetscViewerASCIIPrintf(viewer, "%" PetscInt64_FMT " bytes of device memory beside the matrix\n", s->device_bytes));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*
   What was tuned, as options that replay it. For a parallel matrix the first process prints what was tuned for its
   diagonal block.
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
    if (!tuned) continue; /* it was for another pattern, or before an option changed */
    PetscCall(AIJTCUTuningOptions(blocks[0], tuned, &text));
    ierr = PetscViewerASCIIPrintf(viewer, "tuned for N = %" PetscInt_FMT "%s: %s\n", tuned->choice.N,
      blocks[0] == A ? "" : of_block, text);
    PetscCall(PetscFree(text));
    PetscCall(ierr);
  }
#else
  (void)A;
  (void)viewer;
#endif
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*@
  MatAIJTCUView - Prints what is known of a `MATAIJTCU`: synergy, bricks, the paths that products take, what was tuned

  Collective

  Input Parameters:
+ A      - an assembled `MATAIJTCU`
- viewer - an ASCII viewer; others print nothing. `NULL` is standard output

  Options Database Key:
. -mat_aijtcu_view [viewer] - call this when `A` is destroyed. Of a matrix with a prefix, the option has it, too

  Level: intermediate

  Notes:
  A view builds nothing, searches nothing and chooses nothing. What no product has needed yet is not known yet.

  Numbers are of all processes together. `MatView()` is that of the parent type, with our name.

  A matrix that is not assembled is a `PETSC_ERR_ARG_WRONGSTATE`, one of another type a `PETSC_ERR_ARG_WRONG`.

.seealso: `MATAIJTCU`, `MatAIJTCUGetSynergy()`, `MatAIJTCUGetFacts()`, `MatView()`
@*/
PetscErrorCode MatAIJTCUView(Mat A, PetscViewer viewer)
{
  AIJTCUPlan      *plan;
  PetscBool        isascii;
  MatAIJTCUSynergy s;

  PetscFunctionBegin;
  PetscValidHeaderSpecific(A, MAT_CLASSID, 1);
  if (!viewer) PetscCall(PetscViewerASCIIGetStdout(PetscObjectComm((PetscObject)A), &viewer));
  PetscValidHeaderSpecific(viewer, PETSC_VIEWER_CLASSID, 2);
  PetscCheckSameComm(A, 1, viewer, 2);
  PetscCall(AIJTCUViewSynergy(A, &s)); /* checks A */
  PetscCall(PetscObjectTypeCompare((PetscObject)viewer, PETSCVIEWERASCII, &isascii));
  if (!isascii) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCall(AIJTCUGetPlan(A, &plan));
  PetscCall(PetscObjectPrintClassNamePrefixType((PetscObject)A, viewer));
  PetscCall(PetscViewerASCIIPushTab(viewer));
  PetscCall(PetscViewerASCIIPrintf(viewer, "rows=%" PetscInt_FMT ", cols=%" PetscInt_FMT ", on the %s: synergy %s, alpha %.4f (8-row strips %.4f)\n", A->rmap->N, A->cmap->N,
    plan->id.device ? "device" : "host", MatAIJTCUSynergyClasses[s.cls], (double)s.alpha,
    (double)s.alpha8));
  PetscCall(AIJTCUViewBricks(A, &s, viewer));
  PetscCall(AIJTCUViewPaths(A, plan, viewer));
  PetscCall(AIJTCUViewTuned(A, viewer));
  PetscCall(PetscViewerASCIIPopTab(viewer));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* -mat_aijtcu_view: before A is destroyed, when all is known. Collective */
PetscErrorCode AIJTCUViewFromOptions(Mat A)
{
  const PetscObject obj = (PetscObject)A;
  PetscViewer       viewer;
  PetscViewerFormat format;
  PetscBool         view;
  PetscErrorCode    ierr;

  PetscFunctionBegin;
  if (!A->assembled) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCall(PetscOptionsCreateViewer(PetscObjectComm(obj), obj->options, obj->prefix, "-mat_aijtcu_view", &viewer, &format, &view));
  if (!view) PetscFunctionReturn(PETSC_SUCCESS);
  obj->refct++; /* MatDestroy() has counted to zero: a reference that comes and goes must not destroy A again */
  ierr = MatAIJTCUView(A, viewer);
  obj->refct--;
  PetscCall(PetscViewerDestroy(&viewer));
  PetscCall(ierr);
  PetscFunctionReturn(PETSC_SUCCESS);
}
