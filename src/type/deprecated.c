/*
   Options that had another name before 0.1.0 and still work. Each becomes the option that it is called now. They go
   one release later, with the old names in petscaijtcu.h.
*/
#include "typeimpl.h"

static const char version[] = "0.1.0 of petsc-aijtcu";

/* Set the option; without a value, take it away */
static PetscErrorCode AIJTCUChangeOption(PetscOptionItems PetscOptionsObject, const char name[], const char value[])
{
  char key[PETSC_MAX_OPTION_NAME];

  PetscFunctionBegin;
  PetscCall(PetscSNPrintf(key, sizeof(key), "-%s%s", PetscOptionsObject->prefix ? PetscOptionsObject->prefix : "", name + 1));
  if (value) PetscCall(PetscOptionsSetValue(PetscOptionsObject->options, key, value));
  else PetscCall(PetscOptionsClearValue(PetscOptionsObject->options, key));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Old values of -mat_aijtcu_path */
static PetscErrorCode AIJTCUDeprecatedPath(Mat A, PetscOptionItems PetscOptionsObject)
{
  const char *const values[][2] = {
    {"scalar", "csr"     },
    {"parent", "cusparse"}
  };
  const char *word, *prefix = PetscOptionsObject->prefix ? PetscOptionsObject->prefix : "";
  PetscBool   set, old;

  PetscFunctionBegin;
  PetscCall(PetscOptionsFindPair(PetscOptionsObject->options, prefix, "-mat_aijtcu_path", &word, &set));
  if (!set || !word) PetscFunctionReturn(PETSC_SUCCESS);
  for (size_t k = 0; k < PETSC_STATIC_ARRAY_LENGTH(values); k++) {
    PetscCall(PetscStrcasecmp(word, values[k][0], &old));
    if (!old) continue;
    PetscCall(PetscInfo(A, "aijtcu: -%smat_aijtcu_path %s is deprecated as of version %s: use %s instead\n", prefix, values[k][0],
                        version, values[k][1]));
    PetscCall(AIJTCUChangeOption(PetscOptionsObject, "-mat_aijtcu_path", values[k][1]));
    break; /* the word is gone */
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*
   Each of the four numbers of a format had an option of its own. A number that is not set is taken from the format f
   of A, or else from the host's. Panel rows and block columns are rounded up to the multiple that they must be. The
   new option finds numbers that are not allowed.
*/
static PetscErrorCode AIJTCUDeprecatedFormat(Mat A, PetscOptionItems PetscOptionsObject, MatAIJTCUFormat f)
{
  const MatAIJTCUFormat unset  = {8, 64, 32, 1};
  const char           *prefix = PetscOptionsObject->prefix ? PetscOptionsObject->prefix : "";
  struct {
    const char *name, *text;
    PetscInt   *value;
    PetscBool   set;
  } number[] = {
    {"-mat_aijtcu_brick_rows",  "8 or 16",                                              &f.brick_rows,  PETSC_FALSE},
    {"-mat_aijtcu_panel_rows",  "a multiple of the brick rows, up to 256",              &f.panel_rows,  PETSC_FALSE},
    {"-mat_aijtcu_block_cols",  "a multiple of 4 and of the window columns, up to 256", &f.block_cols,  PETSC_FALSE},
    {"-mat_aijtcu_window_cols", "1, 2, 4, 8 or 16",                                     &f.window_cols, PETSC_FALSE}
  };
  char      format[128], advice[2 * PETSC_MAX_OPTION_NAME];
  PetscBool any = PETSC_FALSE, now;

  PetscFunctionBegin;
  if (!f.brick_rows) f = unset;
  for (int k = 0; k < 4; k++) {
    PetscCall(AIJTCUCheckOption(PetscObjectComm((PetscObject)A), PetscOptionsObject, AIJTCU_OPTION_WHOLE, number[k].name, number[k].text));
    PetscCall(PetscOptionsGetInt(PetscOptionsObject->options, prefix, number[k].name, number[k].value, &number[k].set));
    any = (PetscBool)(any || number[k].set);
  }
  if (!any) PetscFunctionReturn(PETSC_SUCCESS);
  if (!number[1].set && f.brick_rows > 0) f.panel_rows = (f.panel_rows + f.brick_rows - 1) / f.brick_rows * f.brick_rows;
  if (!number[2].set && f.window_cols > 0) f.block_cols = (f.block_cols + f.window_cols - 1) / f.window_cols * f.window_cols;
  PetscCall(PetscSNPrintf(format, sizeof(format), "%" PetscInt_FMT ",%" PetscInt_FMT ",%" PetscInt_FMT ",%" PetscInt_FMT,
                          f.brick_rows, f.panel_rows, f.block_cols, f.window_cols));
  PetscCall(PetscSNPrintf(advice, sizeof(advice), "  Use the option -%smat_aijtcu_format %s instead.", prefix, format));
  for (int k = 0; k < 4; k++) {
    PetscCall(PetscOptionsDeprecated(number[k].name, NULL, version, advice));
    if (number[k].set) PetscCall(AIJTCUChangeOption(PetscOptionsObject, number[k].name, NULL));
  }
  PetscCall(PetscOptionsHasName(PetscOptionsObject->options, prefix, "-mat_aijtcu_format", &now));
  if (!now) PetscCall(AIJTCUChangeOption(PetscOptionsObject, "-mat_aijtcu_format", format));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Called before today's options are read, so that those win */
PetscErrorCode AIJTCUDeprecatedOptions(Mat A, PetscOptionItems PetscOptionsObject, const MatAIJTCUFormat *format)
{
  PetscFunctionBegin;
  PetscCall(AIJTCUDeprecatedPath(A, PetscOptionsObject));
  PetscCall(PetscOptionsDeprecated("-mat_aijtcu_cluster", "-mat_aijtcu_reorder", version, NULL));
  PetscCall(AIJTCUDeprecatedFormat(A, PetscOptionsObject, *format));
  PetscFunctionReturn(PETSC_SUCCESS);
}
