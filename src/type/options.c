/*
   What a user can set on a MATAIJTCU: the options, and which values they may have. set.c has the functions that set the
   same.
*/
#include "typeimpl.h"

static PetscErrorCode AIJTCUCheckPrecision(Mat A, PetscEnum precision)
{
  PetscFunctionBegin;
  PetscCheck((MatAIJTCUPrecision)precision == MAT_AIJTCU_PRECISION_FULL || PetscDefined(USE_REAL_SINGLE), PetscObjectComm((PetscObject)A), PETSC_ERR_SUP,
             "-mat_aijtcu_precision (MatAIJTCUSetPrecision()) tf32 needs a PETSc configured with --with-precision=single; "
             "here it must be full");
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Options with names for values: those of the field that lies offset bytes behind the first */
static const struct {
  const char        *name, *text, *function;
  const char *const *values; /* as PetscOptionsEnum() takes them */
  size_t             offset;
  PetscErrorCode (*check)(Mat, PetscEnum); /* what else a value must fulfil, or NULL */
} enums[AIJTCU_NENUMS] = {
  [AIJTCU_ENUM_PATH]      = {"-mat_aijtcu_path", "Path of products with dense matrices", "MatAIJTCUSetPath", MatAIJTCUPaths, offsetof(AIJTCUOptions, path), NULL},
  [AIJTCU_ENUM_PRECISION] = {"-mat_aijtcu_precision", "Precision of bricks on a device", "MatAIJTCUSetPrecision", MatAIJTCUPrecisions, offsetof(AIJTCUOptions, precision), AIJTCUCheckPrecision},
  [AIJTCU_ENUM_REORDER]   = {"-mat_aijtcu_reorder", "Whether bricks may be of the reordered matrix", "MatAIJTCUSetReorder", MatAIJTCUReorders, offsetof(AIJTCUOptions, reorder), NULL},
  [AIJTCU_ENUM_TUNE]      = {"-mat_aijtcu_tune", "Whether path and format are chosen by timing", "MatAIJTCUSetTune", MatAIJTCUTunes, offsetof(AIJTCUOptions, tune), NULL},
  [AIJTCU_ENUM_MULT]      = {"-mat_aijtcu_mult", "What multiplies with one vector on a device", "MatAIJTCUSetMult", MatAIJTCUMults, offsetof(AIJTCUOptions, mult), NULL},
  [AIJTCU_ENUM_SPARSE]    = {"-mat_aijtcu_sparse", "Who makes products with sparse matrices on a device", "MatAIJTCUSetSparse", MatAIJTCUSparses, offsetof(AIJTCUOptions, sparse), NULL},
  [AIJTCU_ENUM_MG_PRECISION] = {"-mat_aijtcu_mg_precision", "Precision of a multigrid cycle for one vector on a device", "MatAIJTCUSetMGPrecision", MatAIJTCUMGPrecisions, offsetof(AIJTCUOptions, mg_precision), NULL},
  [AIJTCU_ENUM_HALO]      = {"-mat_aijtcu_halo", "How processes exchange rows of the dense matrix", "MatAIJTCUSetHalo", MatAIJTCUHalos, offsetof(AIJTCUOptions, halo), NULL}
};

/* Zeros are the first value of each enumeration, and no format */
PetscErrorCode AIJTCUOptionsInitialize(AIJTCUOptions *o)
{
  PetscFunctionBegin;
  PetscCall(PetscMemzero(o, sizeof(*o)));
  o->products  = PETSC_DEFAULT;
  o->threshold = PETSC_DEFAULT;
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscEnum *AIJTCUEnumOf(AIJTCUOptions *o, AIJTCUEnum which)
{
  return (PetscEnum *)((char *)o + enums[which].offset);
}

/* Behind the names of the values come the name of the type, and what the constants begin with */
static PetscInt AIJTCUCountValues(const char *const values[])
{
  PetscInt n = 0;

  while (values[n + 2]) n++;
  return n;
}

/* The values as a text: one, two or three. For a program as its constants */
static PetscErrorCode AIJTCUListValues(AIJTCUEnum which, PetscBool constants, char text[], size_t len)
{
  const char *const *values = enums[which].values;
  const PetscInt     n      = AIJTCUCountValues(values);

  PetscFunctionBegin;
  text[0] = 0;
  for (PetscInt i = 0; i < n; i++) {
    char value[64];

    PetscCall(PetscSNPrintf(value, sizeof(value), "%s", values[i]));
    if (constants) PetscCall(PetscStrtoupper(value));
    PetscCall(PetscStrlcat(text, i == 0 ? "" : i == n - 1 ? " or " : ", ", len));
    if (constants) PetscCall(PetscStrlcat(text, values[n + 1], len));
    PetscCall(PetscStrlcat(text, value, len));
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode AIJTCUCheckEnum(Mat A, AIJTCUEnum which, PetscEnum value)
{
  const char *const *values = enums[which].values;
  const PetscInt     n      = AIJTCUCountValues(values);

  PetscFunctionBegin;
  if ((int)value < 0 || (int)value >= n) {
    char text[512];

    PetscCall(AIJTCUListValues(which, PETSC_TRUE, text, sizeof(text)));
    SETERRQ(PetscObjectComm((PetscObject)A), PETSC_ERR_ARG_OUTOFRANGE, "%s must be %s, not %d", values[n], text, (int)value);
  }
  if (enums[which].check) PetscCall((*enums[which].check)(A, value));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode AIJTCUOptionsEnum(Mat A, PetscOptionItems PetscOptionsObject, AIJTCUEnum which, AIJTCUOptions *o)
{
  PetscEnum *value = AIJTCUEnumOf(o, which);
  char       text[512];

  PetscFunctionBegin;
  PetscCall(AIJTCUListValues(which, PETSC_FALSE, text, sizeof(text)));
  PetscCall(AIJTCUCheckOption(PetscObjectComm((PetscObject)A), PetscOptionsObject, AIJTCU_OPTION_NAME, enums[which].name, text));
  PetscCall(PetscOptionsEnum(enums[which].name, enums[which].text, enums[which].function, enums[which].values, *value, value, NULL));
  PetscCall(AIJTCUCheckEnum(A, which, *value));
  PetscFunctionReturn(PETSC_SUCCESS);
}

#define FORMAT_NAME "-mat_aijtcu_format (MatAIJTCUSetFormat()): "

/*
   Check a format: four numbers that agree with each other, or four zeros. The columns of a window are a power of two,
   and so are those of a brick, so a multiple of the larger is a multiple of both.
*/
PetscErrorCode AIJTCUCheckFormat(Mat A, const MatAIJTCUFormat *f)
{
  const MPI_Comm comm   = PetscObjectComm((PetscObject)A);
  const PetscInt window = f->window_cols, unit = PetscMax(HRPB_BRICK_COLS, window);

  PetscFunctionBegin;
  if (!f->brick_rows && !f->panel_rows && !f->block_cols && !f->window_cols) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCheck(f->brick_rows == 8 || f->brick_rows == 16, comm, PETSC_ERR_ARG_OUTOFRANGE,
             FORMAT_NAME "rows of a brick must be 8 or 16, not %" PetscInt_FMT, f->brick_rows);
  PetscCheck(f->panel_rows > 0 && f->panel_rows <= 256 && f->panel_rows % f->brick_rows == 0, comm, PETSC_ERR_ARG_OUTOFRANGE,
             FORMAT_NAME "rows of a panel must be a multiple of those of a brick, %" PetscInt_FMT ", up to 256, not %" PetscInt_FMT,
             f->brick_rows, f->panel_rows);
  PetscCheck(window == 1 || window == 2 || window == 4 || window == 8 || window == 16, comm, PETSC_ERR_ARG_OUTOFRANGE,
             FORMAT_NAME "columns of a window must be 1, 2, 4, 8 or 16, not %" PetscInt_FMT, window);
  PetscCheck(f->block_cols > 0 && f->block_cols <= HRPB_MAX_BLOCK && f->block_cols % unit == 0, comm, PETSC_ERR_ARG_OUTOFRANGE,
             FORMAT_NAME "columns of a block must be a multiple of %" PetscInt_FMT " up to %d where windows have %" PetscInt_FMT
             ", not %" PetscInt_FMT, unit, HRPB_MAX_BLOCK, window, f->block_cols);
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode AIJTCUCheckProducts(Mat A, PetscInt products)
{
  PetscFunctionBegin;
  PetscCheck(products > 0 || products == PETSC_DEFAULT, PetscObjectComm((PetscObject)A), PETSC_ERR_ARG_OUTOFRANGE,
             "-mat_aijtcu_products (MatAIJTCUSetExpectedProducts()) must be 1 or more, or PETSC_DEFAULT, not %" PetscInt_FMT, products);
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode AIJTCUCheckThreshold(Mat A, PetscReal alpha)
{
  PetscFunctionBegin;
  PetscCheck(alpha == (PetscReal)PETSC_DEFAULT || alpha >= 0, PetscObjectComm((PetscObject)A), PETSC_ERR_ARG_OUTOFRANGE,
             "-mat_aijtcu_synergy_threshold (MatAIJTCUSetSynergyThreshold()) must be 0 (always bricks), a fraction up to 1, "
             "more than 1 (never), or PETSC_DEFAULT, not %g", (double)alpha);
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Read four whole numbers with commas between them, and nothing else */
static PetscBool AIJTCUReadFormat(const char *word, MatAIJTCUFormat *f)
{
  PetscInt *const number[] = {&f->brick_rows, &f->panel_rows, &f->block_cols, &f->window_cols};

  for (int k = 0; k < 4; k++) {
    char           *end;
    const long long whole = strtoll(word, &end, 10);

    if (end == word || *end != (k < 3 ? ',' : 0) || whole < -PETSC_INT_MAX || whole > PETSC_INT_MAX) return PETSC_FALSE;
    *number[k] = (PetscInt)whole;
    word       = end + 1;
  }
  return PETSC_TRUE;
}

static PetscErrorCode AIJTCUOptionsFormat(Mat A, PetscOptionItems PetscOptionsObject, MatAIJTCUFormat *f)
{
  const char *const text = "Rows of a brick, rows of a panel, columns of a block, columns of a window: "
                           "four whole numbers brick,panel,block,window, such as 16,128,64,8";
  const char       *word;
  char              now[128], unused[128];
  PetscBool         set;

  PetscFunctionBegin;
  PetscCall(PetscSNPrintf(now, sizeof(now), "%" PetscInt_FMT ",%" PetscInt_FMT ",%" PetscInt_FMT ",%" PetscInt_FMT,
                          f->brick_rows, f->panel_rows, f->block_cols, f->window_cols));
  PetscCall(PetscOptionsFindPair(PetscOptionsObject->options, PetscOptionsObject->prefix, "-mat_aijtcu_format", &word, &set));
  if (set) {
    PetscCheck(word && AIJTCUReadFormat(word, f), PetscObjectComm((PetscObject)A), PETSC_ERR_ARG_OUTOFRANGE,
               "-%smat_aijtcu_format must be four whole numbers, not '%s': %s",
               PetscOptionsObject->prefix ? PetscOptionsObject->prefix : "", word ? word : "", text);
    PetscCall(AIJTCUCheckFormat(A, f));
  }
  /* This one is for -help */
  PetscCall(PetscOptionsString("-mat_aijtcu_format", text, "MatAIJTCUSetFormat", now, unused, sizeof(unused), NULL));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Called inside PetscObjectOptionsBegin() of MatSetFromOptions(). All options are read and checked before any is set */
PetscErrorCode AIJTCUSetFromOptions(Mat A, AIJTCUPlan *plan, PetscOptionItems PetscOptionsObject)
{
  const char *const threshold = "Least alpha for which auto takes bricks "
                                "(0: always, a fraction up to 1, more than 1: never, or PETSC_DEFAULT)";
  const char *const products  = "Products that are expected with a nonzero pattern: what is prepared must pay within them";
  const MPI_Comm    comm      = PetscObjectComm((PetscObject)A);
  AIJTCUOptions     o         = plan->id.options;
  PetscBool         view;

  PetscFunctionBegin;
  PetscOptionsHeadBegin(PetscOptionsObject, "AIJTCU options");
  for (PetscInt k = 0; k < AIJTCU_NENUMS; k++) PetscCall(AIJTCUOptionsEnum(A, PetscOptionsObject, (AIJTCUEnum)k, &o));
  PetscCall(AIJTCUOptionsFormat(A, PetscOptionsObject, &o.format));
  PetscCall(AIJTCUCheckOption(comm, PetscOptionsObject, AIJTCU_OPTION_WHOLE, "-mat_aijtcu_products", products));
  PetscCall(PetscOptionsInt("-mat_aijtcu_products", products, "MatAIJTCUSetExpectedProducts", o.products, &o.products, NULL));
  PetscCall(AIJTCUCheckProducts(A, o.products));
  PetscCall(AIJTCUCheckOption(comm, PetscOptionsObject, AIJTCU_OPTION_REAL, "-mat_aijtcu_synergy_threshold", threshold));
  PetscCall(PetscOptionsReal("-mat_aijtcu_synergy_threshold", threshold, "MatAIJTCUSetSynergyThreshold", o.threshold, &o.threshold, NULL));
  PetscCall(AIJTCUCheckThreshold(A, o.threshold));
  /* For -help: view.c reads it */
  PetscCall(PetscOptionsName("-mat_aijtcu_view", "Print what is known of the matrix when it is destroyed", "MatAIJTCUView", &view));
  PetscOptionsHeadEnd();
  plan->id.options = o;
  PetscFunctionReturn(PETSC_SUCCESS);
}
