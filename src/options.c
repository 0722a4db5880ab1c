/*
   What a user can set on a MATAIJTCU, by options and by functions.
*/
#include "aijtcuimpl.h"

PetscErrorCode AIJTCUOptionsInitialize(AIJTCUOptions *o)
{
  PetscFunctionBegin;
  o->path       = MAT_AIJTCU_PATH_AUTO;
  o->brick_rows = 8;  /* the fuller brick, and the height of the FP64 operand */
  o->panel_rows = 64; /* tall panels stage a row of B once for several strips */
  o->block_cols = 32;
  o->threshold  = PETSC_DEFAULT;
  PetscFunctionReturn(PETSC_SUCCESS);
}

const AIJTCUOptions *AIJTCUGetOptions(const AIJTCUPlan *plan)
{
  return plan->owner ? &plan->owner->options : &plan->options;
}

MatAIJTCUCounts *AIJTCUGetCounts(AIJTCUPlan *plan)
{
  return plan->owner ? &plan->owner->counts : &plan->counts;
}

static PetscErrorCode AIJTCUCheckBrickRows(Mat A, PetscInt rows)
{
  PetscFunctionBegin;
  PetscCheck(rows == 8 || rows == 16, PetscObjectComm((PetscObject)A), PETSC_ERR_ARG_OUTOFRANGE, "-mat_aijtcu_brick_rows (MatAIJTCUSetBrickRows()) must be 8 or 16, not %" PetscInt_FMT, rows);
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode AIJTCUCheckPanelRows(Mat A, PetscInt rows, PetscInt brick_rows)
{
  PetscFunctionBegin;
  PetscCheck(rows > 0 && rows <= 256 && rows % brick_rows == 0, PetscObjectComm((PetscObject)A), PETSC_ERR_ARG_OUTOFRANGE, "-mat_aijtcu_panel_rows (MatAIJTCUSetPanelRows()) must be a multiple of the brick rows, %" PetscInt_FMT ", up to 256, not %" PetscInt_FMT,
             brick_rows, rows);
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode AIJTCUCheckBlockCols(Mat A, PetscInt cols)
{
  PetscFunctionBegin;
  PetscCheck(cols > 0 && cols <= HRPB_MAX_BLOCK && cols % HRPB_BRICK_COLS == 0, PetscObjectComm((PetscObject)A), PETSC_ERR_ARG_OUTOFRANGE, "-mat_aijtcu_block_cols (MatAIJTCUSetBlockCols()) must be a multiple of %d up to %d, not %" PetscInt_FMT, HRPB_BRICK_COLS, HRPB_MAX_BLOCK, cols);
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode AIJTCUCheckThreshold(Mat A, PetscReal alpha)
{
  PetscFunctionBegin;
  PetscCheck(alpha == (PetscReal)PETSC_DEFAULT || alpha >= 0, PetscObjectComm((PetscObject)A), PETSC_ERR_ARG_OUTOFRANGE, "-mat_aijtcu_synergy_threshold (MatAIJTCUSetSynergyThreshold()) must be 0 (always bricks), a fraction up to 1, more than 1 (never), or PETSC_DEFAULT, not %g", (double)alpha);
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Called inside PetscObjectOptionsBegin() of MatSetFromOptions(). Everything is read and checked before anything is set */
PetscErrorCode AIJTCUSetFromOptions(Mat A, AIJTCUPlan *plan, PetscOptionItems PetscOptionsObject)
{
  AIJTCUOptions o = plan->options;
  PetscBool     set;

  PetscFunctionBegin;
  PetscOptionsHeadBegin(PetscOptionsObject, "AIJTCU options");
  PetscCall(PetscOptionsEnum("-mat_aijtcu_path", "Path of products with dense matrices", "MatAIJTCUSetPath", MatAIJTCUPaths, (PetscEnum)o.path, (PetscEnum *)&o.path, NULL));
  PetscCall(PetscOptionsInt("-mat_aijtcu_brick_rows", "Rows of a brick (8 or 16)", "MatAIJTCUSetBrickRows", o.brick_rows, &o.brick_rows, NULL));
  PetscCall(AIJTCUCheckBrickRows(A, o.brick_rows));
  PetscCall(PetscOptionsInt("-mat_aijtcu_panel_rows", "Rows of a row panel (a multiple of the brick rows, up to 256)", "MatAIJTCUSetPanelRows", o.panel_rows, &o.panel_rows, &set));
  if (!set) o.panel_rows = (o.panel_rows + o.brick_rows - 1) / o.brick_rows * o.brick_rows;
  PetscCall(AIJTCUCheckPanelRows(A, o.panel_rows, o.brick_rows));
  PetscCall(PetscOptionsInt("-mat_aijtcu_block_cols", "Active columns of a block (a multiple of 4, up to 256)", "MatAIJTCUSetBlockCols", o.block_cols, &o.block_cols, NULL));
  PetscCall(AIJTCUCheckBlockCols(A, o.block_cols));
  PetscCall(PetscOptionsReal("-mat_aijtcu_synergy_threshold", "Least alpha for which auto takes the brick path", "MatAIJTCUSetSynergyThreshold", o.threshold, &o.threshold, NULL));
  PetscCall(AIJTCUCheckThreshold(A, o.threshold));
  PetscOptionsHeadEnd();
  plan->options = o;
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* The plan of an aijtcu: setters leave other matrices alone, as PETSc's type-specific setters do; getters need one */
static PetscErrorCode AIJTCUGetOwnPlan(Mat A, PetscBool need, AIJTCUPlan **plan)
{
  PetscFunctionBegin;
  PetscValidHeaderSpecific(A, MAT_CLASSID, 1);
  PetscCall(AIJTCUGetPlan(A, plan));
  PetscCheck(*plan || !need, PetscObjectComm((PetscObject)A), PETSC_ERR_ARG_WRONG, "Matrix of type %s has no aijtcu plan: it must be of type %s", ((PetscObject)A)->type_name ? ((PetscObject)A)->type_name : "(not set)", MATAIJTCU);
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*@
  MatAIJTCUSetPath - Sets which path the products of a `MATAIJTCU` with dense matrices take

  Logically Collective

  Input Parameters:
+ A    - the matrix; other types are left alone
- path - `MAT_AIJTCU_PATH_AUTO` (default), `MAT_AIJTCU_PATH_TCU` or `MAT_AIJTCU_PATH_SCALAR`

  Options Database Key:
. -mat_aijtcu_path (auto|tcu|scalar) - the path

  Level: intermediate

  Notes:
  Holds for products that are set up afterwards.

  Where bricks cannot be had (complex scalars, rows that are not sorted, no memory) a product takes the scalar path whatever is set;
  run with `-info` to be told.

.seealso: `MATAIJTCU`, `MatAIJTCUGetPath()`, `MatAIJTCUSetSynergyThreshold()`
@*/
PetscErrorCode MatAIJTCUSetPath(Mat A, MatAIJTCUPath path)
{
  AIJTCUPlan *plan;

  PetscFunctionBegin;
  PetscCall(AIJTCUGetOwnPlan(A, PETSC_FALSE, &plan));
  PetscValidLogicalCollectiveEnum(A, path, 2);
  PetscCheck(path >= MAT_AIJTCU_PATH_AUTO && path <= MAT_AIJTCU_PATH_SCALAR, PetscObjectComm((PetscObject)A), PETSC_ERR_ARG_OUTOFRANGE, "Path must be MAT_AIJTCU_PATH_AUTO, MAT_AIJTCU_PATH_TCU or MAT_AIJTCU_PATH_SCALAR, not %d", (int)path);
  if (plan) plan->options.path = path;
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*@
  MatAIJTCUGetPath - Gets what `MatAIJTCUSetPath()` or `-mat_aijtcu_path` set

  Not Collective

  Input Parameter:
. A - a `MATAIJTCU`

  Output Parameter:
. path - the path

  Level: intermediate

.seealso: `MATAIJTCU`, `MatAIJTCUSetPath()`
@*/
PetscErrorCode MatAIJTCUGetPath(Mat A, MatAIJTCUPath *path)
{
  AIJTCUPlan *plan;

  PetscFunctionBegin;
  PetscCall(AIJTCUGetOwnPlan(A, PETSC_TRUE, &plan));
  PetscAssertPointer(path, 2);
  *path = AIJTCUGetOptions(plan)->path;
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*@
  MatAIJTCUSetBrickRows - Sets the height of the bricks of a `MATAIJTCU`

  Logically Collective

  Input Parameters:
+ A    - the matrix; other types are left alone
- rows - 8 (default; FlashSparse) or 16 (cuTeSpMM, section 3.2)

  Options Database Key:
. -mat_aijtcu_brick_rows rows - the height

  Level: intermediate

  Note:
  Panel rows that are not a multiple of the new height are rounded up to one.

.seealso: `MATAIJTCU`, `MatAIJTCUGetBrickRows()`, `MatAIJTCUSetPanelRows()`
@*/
PetscErrorCode MatAIJTCUSetBrickRows(Mat A, PetscInt rows)
{
  AIJTCUPlan *plan;

  PetscFunctionBegin;
  PetscCall(AIJTCUGetOwnPlan(A, PETSC_FALSE, &plan));
  PetscValidLogicalCollectiveInt(A, rows, 2);
  PetscCall(AIJTCUCheckBrickRows(A, rows));
  if (plan) {
    plan->options.brick_rows = rows;
    plan->options.panel_rows = (plan->options.panel_rows + rows - 1) / rows * rows;
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*@
  MatAIJTCUGetBrickRows - Gets the height of the bricks of a `MATAIJTCU`

  Not Collective

  Input Parameter:
. A - a `MATAIJTCU`

  Output Parameter:
. rows - 8 or 16

  Level: intermediate

.seealso: `MATAIJTCU`, `MatAIJTCUSetBrickRows()`
@*/
PetscErrorCode MatAIJTCUGetBrickRows(Mat A, PetscInt *rows)
{
  AIJTCUPlan *plan;

  PetscFunctionBegin;
  PetscCall(AIJTCUGetOwnPlan(A, PETSC_TRUE, &plan));
  PetscAssertPointer(rows, 2);
  *rows = AIJTCUGetOptions(plan)->brick_rows;
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*@
  MatAIJTCUSetPanelRows - Sets the rows of a row panel (TM) of a `MATAIJTCU`

  Logically Collective

  Input Parameters:
+ A    - the matrix; other types are left alone
- rows - a multiple of the brick rows, up to 256 (default 64)

  Options Database Key:
. -mat_aijtcu_panel_rows rows - the rows

  Level: intermediate

.seealso: `MATAIJTCU`, `MatAIJTCUGetPanelRows()`, `MatAIJTCUSetBrickRows()`, `MatAIJTCUSetBlockCols()`
@*/
PetscErrorCode MatAIJTCUSetPanelRows(Mat A, PetscInt rows)
{
  AIJTCUPlan *plan;

  PetscFunctionBegin;
  PetscCall(AIJTCUGetOwnPlan(A, PETSC_FALSE, &plan));
  PetscValidLogicalCollectiveInt(A, rows, 2);
  PetscCall(AIJTCUCheckPanelRows(A, rows, plan ? plan->options.brick_rows : 8));
  if (plan) plan->options.panel_rows = rows;
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*@
  MatAIJTCUGetPanelRows - Gets the rows of a row panel of a `MATAIJTCU`

  Not Collective

  Input Parameter:
. A - a `MATAIJTCU`

  Output Parameter:
. rows - the rows

  Level: intermediate

.seealso: `MATAIJTCU`, `MatAIJTCUSetPanelRows()`
@*/
PetscErrorCode MatAIJTCUGetPanelRows(Mat A, PetscInt *rows)
{
  AIJTCUPlan *plan;

  PetscFunctionBegin;
  PetscCall(AIJTCUGetOwnPlan(A, PETSC_TRUE, &plan));
  PetscAssertPointer(rows, 2);
  *rows = AIJTCUGetOptions(plan)->panel_rows;
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*@
  MatAIJTCUSetBlockCols - Sets the active columns of a block (TK) of a `MATAIJTCU`

  Logically Collective

  Input Parameters:
+ A    - the matrix; other types are left alone
- cols - a multiple of 4, up to 256 (default 32)

  Options Database Key:
. -mat_aijtcu_block_cols cols - the columns

  Level: intermediate

.seealso: `MATAIJTCU`, `MatAIJTCUGetBlockCols()`, `MatAIJTCUSetPanelRows()`
@*/
PetscErrorCode MatAIJTCUSetBlockCols(Mat A, PetscInt cols)
{
  AIJTCUPlan *plan;

  PetscFunctionBegin;
  PetscCall(AIJTCUGetOwnPlan(A, PETSC_FALSE, &plan));
  PetscValidLogicalCollectiveInt(A, cols, 2);
  PetscCall(AIJTCUCheckBlockCols(A, cols));
  if (plan) plan->options.block_cols = cols;
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*@
  MatAIJTCUGetBlockCols - Gets the active columns of a block of a `MATAIJTCU`

  Not Collective

  Input Parameter:
. A - a `MATAIJTCU`

  Output Parameter:
. cols - the columns

  Level: intermediate

.seealso: `MATAIJTCU`, `MatAIJTCUSetBlockCols()`
@*/
PetscErrorCode MatAIJTCUGetBlockCols(Mat A, PetscInt *cols)
{
  AIJTCUPlan *plan;

  PetscFunctionBegin;
  PetscCall(AIJTCUGetOwnPlan(A, PETSC_TRUE, &plan));
  PetscAssertPointer(cols, 2);
  *cols = AIJTCUGetOptions(plan)->block_cols;
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*@
  MatAIJTCUSetSynergyThreshold - Sets the least alpha for which `MAT_AIJTCU_PATH_AUTO` takes the brick path

  Logically Collective

  Input Parameters:
+ A     - the matrix; other types are left alone
- alpha - a fraction; 0 for always, more than 1 for never, `PETSC_DEFAULT` for what the kernels of the machine deserve

  Options Database Key:
. -mat_aijtcu_synergy_threshold alpha - the threshold

  Level: intermediate

  Note:
  By default never where only the host's bricks are at hand: they are a reference, slower than the parent's product.

.seealso: `MATAIJTCU`, `MatAIJTCUGetSynergyThreshold()`, `MatAIJTCUGetSynergy()`
@*/
PetscErrorCode MatAIJTCUSetSynergyThreshold(Mat A, PetscReal alpha)
{
  AIJTCUPlan *plan;

  PetscFunctionBegin;
  PetscCall(AIJTCUGetOwnPlan(A, PETSC_FALSE, &plan));
  PetscValidLogicalCollectiveReal(A, alpha, 2);
  PetscCall(AIJTCUCheckThreshold(A, alpha));
  if (plan) plan->options.threshold = alpha;
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*@
  MatAIJTCUGetSynergyThreshold - Gets the least alpha for which `MAT_AIJTCU_PATH_AUTO` takes the brick path

  Not Collective

  Input Parameter:
. A - a `MATAIJTCU`

  Output Parameter:
. alpha - the threshold in force, also where `PETSC_DEFAULT` was set

  Level: intermediate

.seealso: `MATAIJTCU`, `MatAIJTCUSetSynergyThreshold()`
@*/
PetscErrorCode MatAIJTCUGetSynergyThreshold(Mat A, PetscReal *alpha)
{
  AIJTCUPlan *plan;

  PetscFunctionBegin;
  PetscCall(AIJTCUGetOwnPlan(A, PETSC_TRUE, &plan));
  PetscAssertPointer(alpha, 2);
  *alpha = AIJTCUThreshold(plan);
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*@
  MatAIJTCUGetCounts - Gets how often plans of a `MATAIJTCU` were built, refreshed and used on this process

  Not Collective

  Input Parameter:
. A - a `MATAIJTCU`

  Output Parameter:
. counts - the counts

  Level: developer

.seealso: `MATAIJTCU`, `MatAIJTCUCounts`
@*/
PetscErrorCode MatAIJTCUGetCounts(Mat A, MatAIJTCUCounts *counts)
{
  AIJTCUPlan *plan;

  PetscFunctionBegin;
  PetscCall(AIJTCUGetOwnPlan(A, PETSC_TRUE, &plan));
  PetscAssertPointer(counts, 2);
  *counts = *AIJTCUGetCounts(plan);
  PetscFunctionReturn(PETSC_SUCCESS);
}
