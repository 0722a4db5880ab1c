/*
   Checks the value of an option before PETSc reads it.
*/
#include "common.h"

/* What PETSc reads as PETSC_DEFAULT */
static PetscErrorCode AIJTCUOptionIsDefault(const char word[], PetscBool *is)
{
  PetscFunctionBegin;
  PetscCall(PetscStrcasecmp(word, "PETSC_DEFAULT", is));
  if (!*is) PetscCall(PetscStrcasecmp(word, "DEFAULT", is));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*
   Check that an option, if set, has a value of its kind. PETSc's own message names neither the option nor the values
   allowed. PETSc also takes a whole number beyond PetscInt for another one, a missing number for none, and a missing
   name for any. text says which values are allowed.
*/
PetscErrorCode AIJTCUCheckOption(MPI_Comm comm, PetscOptionItems PetscOptionsObject, AIJTCUOptionKind kind, const char name[],
  const char text[])
{
  const char *const kinds[]    = {"a name", "a whole number", "a number", "true or false (yes or no, on or off, 1 or 0)"};
  const char *const logicals[] = {"", "true", "yes", "on", "1", "false", "no", "off", "0"};
  const char       *word;
  char             *end;
  PetscBool         set, good = PETSC_FALSE;
  long long         whole;
  double            real;

  PetscFunctionBegin;
  PetscCall(PetscOptionsFindPair(PetscOptionsObject->options, PetscOptionsObject->prefix, name, &word, &set));
  if (!set) PetscFunctionReturn(PETSC_SUCCESS);
  if (!word) word = "";
  switch (kind) {
  case AIJTCU_OPTION_NAME: /* PetscOptionsEnum() checks which one */
    good = (PetscBool)(word[0] != 0);
    break;
  case AIJTCU_OPTION_WHOLE:
    PetscCall(AIJTCUOptionIsDefault(word, &good));
    whole = strtoll(word, &end, 10);
    good  = (PetscBool)(good || (end > word && !*end && whole >= -PETSC_INT_MAX && whole <= PETSC_INT_MAX));
    break;
  case AIJTCU_OPTION_REAL:
    PetscCall(AIJTCUOptionIsDefault(word, &good));
    real = strtod(word, &end);
    good = (PetscBool)(good || (end > word && !*end && real == real)); /* no NaN */
    break;
  case AIJTCU_OPTION_LOGICAL:
    for (size_t i = 0; i < PETSC_STATIC_ARRAY_LENGTH(logicals) && !good; i++) PetscCall(PetscStrcasecmp(word, logicals[i], &good));
    break;
  }
  PetscCheck(good, comm, PETSC_ERR_ARG_OUTOFRANGE, "-%s%s must be %s, not '%s': %s",
    PetscOptionsObject->prefix ? PetscOptionsObject->prefix : "", name + 1, kinds[kind], word, text);
  PetscFunctionReturn(PETSC_SUCCESS);
}
