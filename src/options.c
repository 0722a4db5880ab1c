/*
   What a user can set on a MATAIJTCU, by options and by functions.
*/
#include "aijtcuimpl.h"

PetscErrorCode AIJTCUOptionsInitialize(AIJTCUOptions *o)
{
  PetscFunctionBegin;
  o->path        = MAT_AIJTCU_PATH_AUTO;
  o->brick_rows  = 8;  /* the fuller brick, and the height of the FP64 operand */
  o->panel_rows  = 64; /* tall panels stage a row of B once for several strips */
  o->block_cols  = 32;
  o->window_cols = 1; /* no row of B is staged that no entry needs */
  o->format_set  = PETSC_FALSE;
  o->precision   = MAT_AIJTCU_PRECISION_FULL;
  o->cluster     = MAT_AIJTCU_CLUSTER_AUTO;
  o->tune        = MAT_AIJTCU_TUNE_NONE;
  o->threshold   = PETSC_DEFAULT;
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

HrpbPrecision AIJTCUGetPrecision(const AIJTCUPlan *plan)
{
  if (PetscDefined(USE_REAL_DOUBLE)) return HRPB_FP64;
  return AIJTCUGetOptions(plan)->precision == MAT_AIJTCU_PRECISION_TF32 ? HRPB_TF32 : HRPB_3XTF32;
}

static PetscInt AIJTCURoundUp(PetscInt n, PetscInt unit)
{
  return (n + unit - 1) / unit * unit;
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

static PetscErrorCode AIJTCUCheckWindowCols(Mat A, PetscInt cols)
{
  PetscFunctionBegin;
  PetscCheck(cols == 1 || cols == 2 || cols == 4 || cols == 8 || cols == 16, PetscObjectComm((PetscObject)A), PETSC_ERR_ARG_OUTOFRANGE, "-mat_aijtcu_window_cols (MatAIJTCUSetWindowCols()) must be 1, 2, 4, 8 or 16, not %" PetscInt_FMT, cols);
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Both are powers of two: a multiple of the larger is one of each */
static PetscErrorCode AIJTCUCheckBlockCols(Mat A, PetscInt cols, PetscInt window_cols)
{
  const PetscInt unit = PetscMax(HRPB_BRICK_COLS, window_cols);

  PetscFunctionBegin;
  PetscCheck(cols > 0 && cols <= HRPB_MAX_BLOCK && cols % unit == 0, PetscObjectComm((PetscObject)A), PETSC_ERR_ARG_OUTOFRANGE, "-mat_aijtcu_block_cols (MatAIJTCUSetBlockCols()) must be a multiple of %" PetscInt_FMT " up to %d where windows have %" PetscInt_FMT " columns, not %" PetscInt_FMT, unit, HRPB_MAX_BLOCK, window_cols, cols);
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode AIJTCUCheckPrecision(Mat A, MatAIJTCUPrecision precision)
{
  PetscFunctionBegin;
  PetscCheck(precision == MAT_AIJTCU_PRECISION_FULL || precision == MAT_AIJTCU_PRECISION_TF32, PetscObjectComm((PetscObject)A), PETSC_ERR_ARG_OUTOFRANGE, "Precision must be MAT_AIJTCU_PRECISION_FULL or MAT_AIJTCU_PRECISION_TF32, not %d", (int)precision);
  PetscCheck(precision == MAT_AIJTCU_PRECISION_FULL || PetscDefined(USE_REAL_SINGLE), PetscObjectComm((PetscObject)A), PETSC_ERR_SUP, "-mat_aijtcu_precision (MatAIJTCUSetPrecision()) tf32 needs a PETSc configured with --with-precision=single; here it must be full");
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode AIJTCUCheckThreshold(Mat A, PetscReal alpha)
{
  PetscFunctionBegin;
  PetscCheck(alpha == (PetscReal)PETSC_DEFAULT || alpha >= 0, PetscObjectComm((PetscObject)A), PETSC_ERR_ARG_OUTOFRANGE, "-mat_aijtcu_synergy_threshold (MatAIJTCUSetSynergyThreshold()) must be 0 (always bricks), a fraction up to 1, more than 1 (never), or PETSC_DEFAULT, not %g", (double)alpha);
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*
   Whether the value of an option, if there is one, is of a kind. What PETSc says of one that is not names neither the option nor what it may be, a whole number beyond
   PetscInt becomes another one, a number that is missing is no error, and a name that is missing means any of the names. The text says what it may be
*/
PetscErrorCode AIJTCUCheckOption(MPI_Comm comm, PetscOptionItems PetscOptionsObject, AIJTCUOptionKind kind, const char name[], const char text[])
{
  const char *const kinds[]    = {"a name", "a whole number", "a number", "true or false (yes or no, on or off, 1 or 0)"};
  const char *const logicals[] = {"", "true", "yes", "on", "1", "false", "no", "off", "0"};
  char              word[64], *end;
  PetscBool         set, good = PETSC_FALSE;
  long long         whole;
  double            real;

  PetscFunctionBegin;
  PetscCall(PetscOptionsGetString(PetscOptionsObject->options, PetscOptionsObject->prefix, name, word, sizeof(word), &set));
  if (!set) PetscFunctionReturn(PETSC_SUCCESS);
  switch (kind) {
  case AIJTCU_OPTION_NAME: /* which one, PetscOptionsEnum() asks */
    good = (PetscBool)(word[0] != 0);
    break;
  case AIJTCU_OPTION_WHOLE:
    whole = strtoll(word, &end, 10);
    good  = (PetscBool)(end > word && !*end && whole >= -PETSC_INT_MAX && whole <= PETSC_INT_MAX);
    break;
  case AIJTCU_OPTION_REAL:
    PetscCall(PetscStrcasecmp(word, "PETSC_DEFAULT", &good));
    if (!good) PetscCall(PetscStrcasecmp(word, "DEFAULT", &good));
    real = strtod(word, &end);
    good = (PetscBool)(good || (end > word && !*end && real == real)); /* no NaN */
    break;
  case AIJTCU_OPTION_LOGICAL:
    for (size_t i = 0; i < PETSC_STATIC_ARRAY_LENGTH(logicals) && !good; i++) PetscCall(PetscStrcasecmp(word, logicals[i], &good));
    break;
  }
  PetscCheck(good, comm, PETSC_ERR_ARG_OUTOFRANGE, "-%s%s must be %s, not '%s': %s", PetscOptionsObject->prefix ? PetscOptionsObject->prefix : "", name + 1, kinds[kind], word, text);
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode AIJTCUOptionsInt(Mat A, PetscOptionItems PetscOptionsObject, const char name[], const char text[], const char function[], PetscInt *value, PetscBool *set)
{
  PetscFunctionBegin;
  PetscCall(AIJTCUCheckOption(PetscObjectComm((PetscObject)A), PetscOptionsObject, AIJTCU_OPTION_WHOLE, name, text));
  PetscCall(PetscOptionsInt(name, text, function, *value, value, set));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Called inside PetscObjectOptionsBegin() of MatSetFromOptions(). Everything is read and checked before anything is set */
PetscErrorCode AIJTCUSetFromOptions(Mat A, AIJTCUPlan *plan, PetscOptionItems PetscOptionsObject)
{
  const char *const threshold = "Least alpha for which auto takes the brick path (0: always, a fraction up to 1, more than 1: never, or PETSC_DEFAULT)";
  AIJTCUOptions     o         = plan->options;
  PetscBool         set, any = o.format_set;

  PetscFunctionBegin;
  PetscOptionsHeadBegin(PetscOptionsObject, "AIJTCU options");
  PetscCall(AIJTCUCheckOption(PetscObjectComm((PetscObject)A), PetscOptionsObject, AIJTCU_OPTION_NAME, "-mat_aijtcu_path", "auto, tcu, scalar or parent"));
  PetscCall(PetscOptionsEnum("-mat_aijtcu_path", "Path of products with dense matrices", "MatAIJTCUSetPath", MatAIJTCUPaths, (PetscEnum)o.path, (PetscEnum *)&o.path, NULL));
  PetscCall(AIJTCUCheckOption(PetscObjectComm((PetscObject)A), PetscOptionsObject, AIJTCU_OPTION_NAME, "-mat_aijtcu_precision", "full or tf32"));
  PetscCall(PetscOptionsEnum("-mat_aijtcu_precision", "Precision of bricks on a device", "MatAIJTCUSetPrecision", MatAIJTCUPrecisions, (PetscEnum)o.precision, (PetscEnum *)&o.precision, NULL));
  PetscCall(AIJTCUCheckPrecision(A, o.precision));
  PetscCall(AIJTCUOptionsInt(A, PetscOptionsObject, "-mat_aijtcu_brick_rows", "Rows of a brick (8 or 16)", "MatAIJTCUSetBrickRows", &o.brick_rows, &set));
  any = (PetscBool)(any || set);
  PetscCall(AIJTCUCheckBrickRows(A, o.brick_rows));
  PetscCall(AIJTCUOptionsInt(A, PetscOptionsObject, "-mat_aijtcu_panel_rows", "Rows of a row panel (a multiple of the brick rows, up to 256)", "MatAIJTCUSetPanelRows", &o.panel_rows, &set));
  any = (PetscBool)(any || set);
  if (!set) o.panel_rows = AIJTCURoundUp(o.panel_rows, o.brick_rows);
  PetscCall(AIJTCUCheckPanelRows(A, o.panel_rows, o.brick_rows));
  PetscCall(AIJTCUOptionsInt(A, PetscOptionsObject, "-mat_aijtcu_window_cols", "Columns of a window (1, 2, 4, 8 or 16)", "MatAIJTCUSetWindowCols", &o.window_cols, &set));
  any = (PetscBool)(any || set);
  PetscCall(AIJTCUCheckWindowCols(A, o.window_cols));
  PetscCall(AIJTCUOptionsInt(A, PetscOptionsObject, "-mat_aijtcu_block_cols", "Columns of a block (a multiple of 4 and of the window columns, up to 256)", "MatAIJTCUSetBlockCols", &o.block_cols, &set));
  any = (PetscBool)(any || set);
  if (!set) o.block_cols = AIJTCURoundUp(o.block_cols, o.window_cols);
  PetscCall(AIJTCUCheckBlockCols(A, o.block_cols, o.window_cols));
  PetscCall(AIJTCUCheckOption(PetscObjectComm((PetscObject)A), PetscOptionsObject, AIJTCU_OPTION_NAME, "-mat_aijtcu_cluster", "auto, never or always"));
  PetscCall(PetscOptionsEnum("-mat_aijtcu_cluster", "Whether bricks may be of the matrix in another order", "MatAIJTCUSetCluster", MatAIJTCUClusters, (PetscEnum)o.cluster, (PetscEnum *)&o.cluster, NULL));
  PetscCall(AIJTCUCheckOption(PetscObjectComm((PetscObject)A), PetscOptionsObject, AIJTCU_OPTION_NAME, "-mat_aijtcu_tune", "none or proxy"));
  PetscCall(PetscOptionsEnum("-mat_aijtcu_tune", "Whether path and format are chosen by timing", "MatAIJTCUSetTune", MatAIJTCUTunes, (PetscEnum)o.tune, (PetscEnum *)&o.tune, NULL));
  PetscCall(AIJTCUCheckOption(PetscObjectComm((PetscObject)A), PetscOptionsObject, AIJTCU_OPTION_REAL, "-mat_aijtcu_synergy_threshold", threshold));
  PetscCall(PetscOptionsReal("-mat_aijtcu_synergy_threshold", threshold, "MatAIJTCUSetSynergyThreshold", o.threshold, &o.threshold, NULL));
  PetscCall(AIJTCUCheckThreshold(A, o.threshold));
  PetscOptionsHeadEnd();
  o.format_set  = any;
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
- path - `MAT_AIJTCU_PATH_AUTO` (default), `MAT_AIJTCU_PATH_TCU`, `MAT_AIJTCU_PATH_SCALAR` or `MAT_AIJTCU_PATH_PARENT`

  Options Database Key:
. -mat_aijtcu_path (auto|tcu|scalar|parent) - the path

  Level: intermediate

  Notes:
  Holds for products that are set up afterwards.

  The scalar path needs no bricks: on a device it is a kernel that reads the matrix as it is, on the host the parent's product. The parent's product on a
  device is that of cuSPARSE.

  Where bricks cannot be had (complex scalars, rows that are not sorted, no memory, a device without tensor cores that pay for the precision) a product takes the scalar path whatever is set, and where
  there is no memory for that either, or the library was not compiled for the device, the parent's; run with `-info` to be told.

.seealso: `MATAIJTCU`, `MatAIJTCUGetPath()`, `MatAIJTCUSetSynergyThreshold()`
@*/
PetscErrorCode MatAIJTCUSetPath(Mat A, MatAIJTCUPath path)
{
  AIJTCUPlan *plan;

  PetscFunctionBegin;
  PetscCall(AIJTCUGetOwnPlan(A, PETSC_FALSE, &plan));
  PetscValidLogicalCollectiveEnum(A, path, 2);
  PetscCheck(path >= MAT_AIJTCU_PATH_AUTO && path <= MAT_AIJTCU_PATH_PARENT, PetscObjectComm((PetscObject)A), PETSC_ERR_ARG_OUTOFRANGE, "Path must be MAT_AIJTCU_PATH_AUTO, MAT_AIJTCU_PATH_TCU, MAT_AIJTCU_PATH_SCALAR or MAT_AIJTCU_PATH_PARENT, not %d", (int)path);
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
  MatAIJTCUSetPrecision - Sets how exactly the bricks of a `MATAIJTCU` are multiplied on a device

  Logically Collective

  Input Parameters:
+ A         - the matrix; other types are left alone
- precision - `MAT_AIJTCU_PRECISION_FULL` (default) or `MAT_AIJTCU_PRECISION_TF32`

  Options Database Key:
. -mat_aijtcu_precision (full|tf32) - the precision

  Level: intermediate

  Notes:
  The full precision is that of `PetscScalar`. TF32 keeps 11 bits of each factor (a relative error of about 5e-4 in an entry of the product), sums
  are in single precision. It exists in single precision only.

  The bricks of the host are always multiplied in full precision, and so is everything on the scalar path.

  `MAT_AIJTCU_PRECISION_TF32` in double precision is a `PETSC_ERR_SUP`.

.seealso: `MATAIJTCU`, `MatAIJTCUGetPrecision()`, `MatAIJTCUPrecision`
@*/
PetscErrorCode MatAIJTCUSetPrecision(Mat A, MatAIJTCUPrecision precision)
{
  AIJTCUPlan *plan;

  PetscFunctionBegin;
  PetscCall(AIJTCUGetOwnPlan(A, PETSC_FALSE, &plan));
  PetscValidLogicalCollectiveEnum(A, precision, 2);
  PetscCall(AIJTCUCheckPrecision(A, precision));
  if (plan) plan->options.precision = precision;
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*@
  MatAIJTCUGetPrecision - Gets what `MatAIJTCUSetPrecision()` or `-mat_aijtcu_precision` set

  Not Collective

  Input Parameter:
. A - a `MATAIJTCU`

  Output Parameter:
. precision - the precision

  Level: intermediate

.seealso: `MATAIJTCU`, `MatAIJTCUSetPrecision()`
@*/
PetscErrorCode MatAIJTCUGetPrecision(Mat A, MatAIJTCUPrecision *precision)
{
  AIJTCUPlan *plan;

  PetscFunctionBegin;
  PetscCall(AIJTCUGetOwnPlan(A, PETSC_TRUE, &plan));
  PetscAssertPointer(precision, 2);
  *precision = AIJTCUGetOptions(plan)->precision;
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*@
  MatAIJTCUSetCluster - Sets whether the bricks of a `MATAIJTCU` may be of the matrix in another order of its rows and columns

  Logically Collective

  Input Parameters:
+ A       - the matrix; other types are left alone
- cluster - `MAT_AIJTCU_CLUSTER_AUTO` (default), `MAT_AIJTCU_CLUSTER_NEVER` or `MAT_AIJTCU_CLUSTER_ALWAYS`

  Options Database Key:
. -mat_aijtcu_cluster (auto|never|always) - whether they may

  Level: intermediate

  Notes:
  For matrices whose unknowns are numbered without regard to which are neighbours. On a device the rows and columns of a square block are put in the order of Cuthill and McKee, in which
  bricks are full, once for a nonzero pattern. Each product then takes B to that order and C back: the matrix itself, B and C keep theirs, and the entries of C are the same but for rounding.

  By default that is done where `auto` chooses the path, columns are scattered, rows share columns with their neighbours, and a model of the times says that it pays
  within 50 products. `MAT_AIJTCU_CLUSTER_ALWAYS` holds for all bricks on a device.

  The order takes two whole numbers for each nonzero on the device until another one is looked for (or bricks are used under `MAT_AIJTCU_CLUSTER_NEVER`), six while it is found, and a product a copy of B and one of C. Viewing a matrix with -mat_view ::ascii_info
  asks for the path of some numbers of columns, and may so find an order. A matrix of a thin and long graph (thousands of levels), or with 2^31 nonzeros, keeps its own.

  Sums of numbers next to the largest one may overflow in one order and not in another.

  Source:
  E. Cuthill and J. McKee, Reducing the bandwidth of sparse symmetric matrices (1969).

.seealso: `MATAIJTCU`, `MatAIJTCUGetCluster()`, `MatAIJTCUCluster`, `MatAIJTCUSynergy`
@*/
PetscErrorCode MatAIJTCUSetCluster(Mat A, MatAIJTCUCluster cluster)
{
  AIJTCUPlan *plan;

  PetscFunctionBegin;
  PetscCall(AIJTCUGetOwnPlan(A, PETSC_FALSE, &plan));
  PetscValidLogicalCollectiveEnum(A, cluster, 2);
  PetscCheck(cluster >= MAT_AIJTCU_CLUSTER_AUTO && cluster <= MAT_AIJTCU_CLUSTER_ALWAYS, PetscObjectComm((PetscObject)A), PETSC_ERR_ARG_OUTOFRANGE, "Cluster must be MAT_AIJTCU_CLUSTER_AUTO, MAT_AIJTCU_CLUSTER_NEVER or MAT_AIJTCU_CLUSTER_ALWAYS, not %d", (int)cluster);
  if (plan) plan->options.cluster = cluster;
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*@
  MatAIJTCUGetCluster - Gets what `MatAIJTCUSetCluster()` or `-mat_aijtcu_cluster` set

  Not Collective

  Input Parameter:
. A - a `MATAIJTCU`

  Output Parameter:
. cluster - whether bricks may be of the matrix in another order

  Level: intermediate

.seealso: `MATAIJTCU`, `MatAIJTCUSetCluster()`
@*/
PetscErrorCode MatAIJTCUGetCluster(Mat A, MatAIJTCUCluster *cluster)
{
  AIJTCUPlan *plan;

  PetscFunctionBegin;
  PetscCall(AIJTCUGetOwnPlan(A, PETSC_TRUE, &plan));
  PetscAssertPointer(cluster, 2);
  *cluster = AIJTCUGetOptions(plan)->cluster;
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*@
  MatAIJTCUSetTune - Sets whether a `MATAIJTCU` on a device chooses path and format by timing

  Logically Collective

  Input Parameters:
+ A    - the matrix; other types are left alone
- tune - `MAT_AIJTCU_TUNE_NONE` (default) or `MAT_AIJTCU_TUNE_PROXY`

  Options Database Key:
. -mat_aijtcu_tune (none|proxy) - whether it does

  Level: intermediate

  Notes:
  With `MAT_AIJTCU_TUNE_PROXY` the first product of a nonzero pattern with a number of columns that is set up times bricks of several formats and the scalar path, on a few segments of rows that stand for all of them:
  segments with like entries form clusters, and each cluster is represented in proportion. The fastest is kept for all products with that number of columns until the pattern changes; new values change nothing. Of those
  within 2 % of the fastest it is always the same one. Bricks have one format for a pattern, so a further number of columns is tuned between that format, once one has won, and the scalar path; there may be eight,
  others take what the nearest of them takes. With another precision, or another value of `MatAIJTCUSetCluster()`, all begins anew.

  What is timed differs from run to run, and so may the choice, and with it the rounding of products. `MatAIJTCUGetTuning()`, -mat_view ::ascii_info, -mat_aijtcu_view_choice and -info tell the choice, the last three as options
  that replay it: for a sequential matrix exactly. Of a parallel one they tell it of a block of a process, while the options hold for all blocks, each of which may have taken another path and another format.

  It has a meaning where `auto` chooses by time: the path is `MAT_AIJTCU_PATH_AUTO`, no format, no threshold and no `MAT_AIJTCU_CLUSTER_ALWAYS` is set, and the matrix is on a device. Where there is another order of
  rows and columns in which columns come in runs the model decides as ever, and so it does where memory is short, or where the proxy has not its share of the entries (half of it at least, twice as much at most).

  The proxy has enough rows to keep the device as busy as a large matrix does, and is the matrix itself if that has less than twice as many (200000 on an H200): then each product is short, but tuning takes as long as some tens
  of them. It needs a copy of the proxy, and of one dense matrix with as many rows as A has columns, or two, with 256 columns at most, fewer where these would take more than -mat_aijtcu_workspace_max.

  Source:
  LO-SpMM, section 5: proxies of products, and 5.2: their occupancy.

.seealso: `MATAIJTCU`, `MatAIJTCUGetTune()`, `MatAIJTCUGetTuning()`, `MatAIJTCUTune`, `MatAIJTCUSetPath()`
@*/
PetscErrorCode MatAIJTCUSetTune(Mat A, MatAIJTCUTune tune)
{
  AIJTCUPlan *plan;

  PetscFunctionBegin;
  PetscCall(AIJTCUGetOwnPlan(A, PETSC_FALSE, &plan));
  PetscValidLogicalCollectiveEnum(A, tune, 2);
  PetscCheck(tune == MAT_AIJTCU_TUNE_NONE || tune == MAT_AIJTCU_TUNE_PROXY, PetscObjectComm((PetscObject)A), PETSC_ERR_ARG_OUTOFRANGE, "Tune must be MAT_AIJTCU_TUNE_NONE or MAT_AIJTCU_TUNE_PROXY, not %d", (int)tune);
  if (plan) plan->options.tune = tune;
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*@
  MatAIJTCUGetTune - Gets what `MatAIJTCUSetTune()` or `-mat_aijtcu_tune` set

  Not Collective

  Input Parameter:
. A - a `MATAIJTCU`

  Output Parameter:
. tune - whether path and format are chosen by timing

  Level: intermediate

.seealso: `MATAIJTCU`, `MatAIJTCUSetTune()`, `MatAIJTCUGetTuning()`
@*/
PetscErrorCode MatAIJTCUGetTune(Mat A, MatAIJTCUTune *tune)
{
  AIJTCUPlan *plan;

  PetscFunctionBegin;
  PetscCall(AIJTCUGetOwnPlan(A, PETSC_TRUE, &plan));
  PetscAssertPointer(tune, 2);
  *tune = AIJTCUGetOptions(plan)->tune;
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*@
  MatAIJTCUSetBrickRows - Sets the height of the bricks of a `MATAIJTCU`

  Logically Collective

  Input Parameters:
+ A    - the matrix; other types are left alone
- rows - 8 (default; FlashSparse) or 16 (cuTeSpMM, section 3.2)

  Options Database Key:
. -mat_aijtcu_brick_rows (8|16) - the height

  Level: intermediate

  Notes:
  A brick has 4 columns.

  Panel rows that are not a multiple of the new height are rounded up to one.

  While none of brick rows, panel rows, block columns and window columns is set, a matrix on a device chooses all four by itself; the first that is
  set puts the defaults in force for the others. Bricks that exist are built anew at the next product.

.seealso: `MATAIJTCU`, `MatAIJTCUGetBrickRows()`, `MatAIJTCUSetPanelRows()`, `MatAIJTCUSetBlockCols()`, `MatAIJTCUSetWindowCols()`
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
    plan->options.format_set = PETSC_TRUE;
    plan->options.panel_rows = AIJTCURoundUp(plan->options.panel_rows, rows);
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

  Note:
  This is what is set, also where a device chose its own format; `MatView()` with the format info tells what bricks have.

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

  Note:
  See `MatAIJTCUSetBrickRows()` for what a device chooses while this is not set.

.seealso: `MATAIJTCU`, `MatAIJTCUGetPanelRows()`, `MatAIJTCUSetBrickRows()`, `MatAIJTCUSetBlockCols()`
@*/
PetscErrorCode MatAIJTCUSetPanelRows(Mat A, PetscInt rows)
{
  AIJTCUPlan *plan;

  PetscFunctionBegin;
  PetscCall(AIJTCUGetOwnPlan(A, PETSC_FALSE, &plan));
  PetscValidLogicalCollectiveInt(A, rows, 2);
  PetscCall(AIJTCUCheckPanelRows(A, rows, plan ? plan->options.brick_rows : 8));
  if (plan) {
    plan->options.panel_rows = rows;
    plan->options.format_set = PETSC_TRUE;
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*@
  MatAIJTCUGetPanelRows - Gets the rows of a row panel of a `MATAIJTCU`

  Not Collective

  Input Parameter:
. A - a `MATAIJTCU`

  Output Parameter:
. rows - what is set, also where a device chose its own format

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
  MatAIJTCUSetBlockCols - Sets the columns of a block (TK) of a `MATAIJTCU`: its active windows together have as many at most

  Logically Collective

  Input Parameters:
+ A    - the matrix; other types are left alone
- cols - a multiple of 4 and of the window columns, up to 256 (default 32)

  Options Database Key:
. -mat_aijtcu_block_cols cols - the columns

  Level: intermediate

  Notes:
  See `MatAIJTCUSetBrickRows()` for what a device chooses while this is not set.

  A device brings the rows of B that a block needs into shared memory where blocks have up to 64 columns (in single precision with bricks of 16 rows 128), windows 16 bytes or more, and panels 8 strips at most. Bricks of other
  formats gather single rows of a copy of B, which takes longer where columns come in runs.

.seealso: `MATAIJTCU`, `MatAIJTCUGetBlockCols()`, `MatAIJTCUSetPanelRows()`, `MatAIJTCUSetWindowCols()`
@*/
PetscErrorCode MatAIJTCUSetBlockCols(Mat A, PetscInt cols)
{
  AIJTCUPlan *plan;

  PetscFunctionBegin;
  PetscCall(AIJTCUGetOwnPlan(A, PETSC_FALSE, &plan));
  PetscValidLogicalCollectiveInt(A, cols, 2);
  PetscCall(AIJTCUCheckBlockCols(A, cols, plan ? plan->options.window_cols : 1));
  if (plan) {
    plan->options.block_cols = cols;
    plan->options.format_set = PETSC_TRUE;
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*@
  MatAIJTCUGetBlockCols - Gets the columns of a block of a `MATAIJTCU`

  Not Collective

  Input Parameter:
. A - a `MATAIJTCU`

  Output Parameter:
. cols - what is set, also where a device chose its own format

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
  MatAIJTCUSetWindowCols - Sets the columns of a window (TW) of a `MATAIJTCU`: consecutive rows of the dense matrix that are staged together

  Logically Collective

  Input Parameters:
+ A    - the matrix; other types are left alone
- cols - 1 (default), 2, 4, 8 or 16

  Options Database Key:
. -mat_aijtcu_window_cols (1|2|4|8|16) - the columns

  Level: intermediate

  Notes:
  A window is staged where any of its columns has an entry. Wider ones take fewer copies and suit matrices whose columns come in
  runs, such as those of several unknowns a node; elsewhere they stage rows that nothing uses.

  Block columns that are not a multiple of the new width are rounded up to one.

  See `MatAIJTCUSetBrickRows()` for what a device chooses while this is not set.

.seealso: `MATAIJTCU`, `MatAIJTCUGetWindowCols()`, `MatAIJTCUSetBlockCols()`
@*/
PetscErrorCode MatAIJTCUSetWindowCols(Mat A, PetscInt cols)
{
  AIJTCUPlan *plan;

  PetscFunctionBegin;
  PetscCall(AIJTCUGetOwnPlan(A, PETSC_FALSE, &plan));
  PetscValidLogicalCollectiveInt(A, cols, 2);
  PetscCall(AIJTCUCheckWindowCols(A, cols));
  if (plan) {
    plan->options.window_cols = cols;
    plan->options.format_set  = PETSC_TRUE;
    plan->options.block_cols  = AIJTCURoundUp(plan->options.block_cols, cols);
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*@
  MatAIJTCUGetWindowCols - Gets the columns of a window of a `MATAIJTCU`

  Not Collective

  Input Parameter:
. A - a `MATAIJTCU`

  Output Parameter:
. cols - what is set, also where a device chose its own format: 1, 2, 4, 8 or 16

  Level: intermediate

.seealso: `MATAIJTCU`, `MatAIJTCUSetWindowCols()`
@*/
PetscErrorCode MatAIJTCUGetWindowCols(Mat A, PetscInt *cols)
{
  AIJTCUPlan *plan;

  PetscFunctionBegin;
  PetscCall(AIJTCUGetOwnPlan(A, PETSC_TRUE, &plan));
  PetscAssertPointer(cols, 2);
  *cols = AIJTCUGetOptions(plan)->window_cols;
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*@
  MatAIJTCUSetSynergyThreshold - Sets the least alpha for which `MAT_AIJTCU_PATH_AUTO` takes the brick path

  Logically Collective

  Input Parameters:
+ A     - the matrix; other types are left alone
- alpha - a fraction; 0 for always, more than 1 for never, `PETSC_DEFAULT` (default) to let the model choose

  Options Database Key:
. -mat_aijtcu_synergy_threshold alpha - the threshold

  Level: intermediate

  Notes:
  The fraction is that of `MatAIJTCUSynergy`: nonzeros among the slots of the active columns of strips of 16 rows (cuTeSpMM, section 4). A threshold
  that is set decides by alpha alone, for every number of columns, on the host as on a device that has tensor cores for the precision.

  By default there are no bricks where only the host's are at hand: those are a reference, slower than the parent's product. On a device whose tensor
  cores suit the precision a model compares the times of bricks and of the scalar path for the matrix and the number of columns.

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
. alpha - the threshold in force

  Level: intermediate

  Note:
  Where `PETSC_DEFAULT` is set, it is 0 where a model of the times decides, and 2 (never) where there are no bricks by default.

.seealso: `MATAIJTCU`, `MatAIJTCUSetSynergyThreshold()`
@*/
PetscErrorCode MatAIJTCUGetSynergyThreshold(Mat A, PetscReal *alpha)
{
  AIJTCUPlan *plan;

  PetscFunctionBegin;
  PetscCall(AIJTCUGetOwnPlan(A, PETSC_TRUE, &plan));
  PetscAssertPointer(alpha, 2);
  PetscCall(AIJTCUThreshold(plan, alpha));
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
