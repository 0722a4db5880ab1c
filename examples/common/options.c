#include "options.h"
#include <errno.h>

/* The text of an option as the user wrote it. NULL if the option is absent, empty if it has no value. */
static PetscErrorCode ValueOf(PetscOptionItems PetscOptionsObject, const char name[], const char **value)
{
  PetscBool set;

  PetscFunctionBegin;
  PetscCall(PetscOptionsFindPair(PetscOptionsObject->options, PetscOptionsObject->prefix, name, value, &set));
  if (!set) *value = NULL;
  else if (!*value) *value = "";
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode WrongValue(PetscOptionItems PetscOptionsObject, const char name[], const char value[], const char kind[], const char text[])
{
  PetscFunctionBegin;
  SETERRQ(PetscOptionsObject->comm, PETSC_ERR_ARG_OUTOFRANGE, "%s must be %s, not '%s': %s", name, kind, value, text);
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* The number that a text begins with. end is behind it, or at the beginning of the text if no number fits */
static PetscInt ReadInt(const char text[], char **end)
{
  long long value;

  errno = 0;
  value = strtoll(text, end, 10);
  if (errno || value < -(long long)PETSC_INT_MAX || value > (long long)PETSC_INT_MAX) *end = (char *)text;
  return (PetscInt)value;
}

/* A whole number, at least least */
PetscErrorCode ExampleOptionsInt(PetscOptionItems PetscOptionsObject, const char name[], const char text[], PetscInt least, PetscInt *number)
{
  const char *value;
  char       *end;

  PetscFunctionBegin;
  PetscCall(ValueOf(PetscOptionsObject, name, &value));
  if (value) {
    const PetscInt given = ReadInt(value, &end);

    if (end == value || *end) PetscCall(WrongValue(PetscOptionsObject, name, value, "a whole number", text));
    PetscCheck(given >= least, PetscOptionsObject->comm, PETSC_ERR_ARG_OUTOFRANGE, "%s must be %" PetscInt_FMT " or more, not %" PetscInt_FMT ": %s", name, least, given, text);
  }
  PetscCall(PetscOptionsInt(name, text, NULL, *number, number, NULL));
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode ExampleOptionsReal(PetscOptionItems PetscOptionsObject, const char name[], const char text[], PetscReal *number)
{
  const char *value;
  char       *end;

  PetscFunctionBegin;
  PetscCall(ValueOf(PetscOptionsObject, name, &value));
  if (value) {
    const double given = strtod(value, &end);

    if (end == value || *end || PetscIsInfOrNanReal((PetscReal)given)) PetscCall(WrongValue(PetscOptionsObject, name, value, "a number", text));
  }
  PetscCall(PetscOptionsReal(name, text, NULL, *number, number, NULL));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* A logical value. Without a text it is true, as in PETSc */
PetscErrorCode ExampleOptionsBool(PetscOptionItems PetscOptionsObject, const char name[], const char text[], PetscBool *logical)
{
  const char *const logicals[] = {"", "true", "yes", "on", "1", "false", "no", "off", "0"};
  const char       *value;
  PetscBool         good = PETSC_FALSE;

  PetscFunctionBegin;
  PetscCall(ValueOf(PetscOptionsObject, name, &value));
  for (size_t k = 0; value && !good && k < PETSC_STATIC_ARRAY_LENGTH(logicals); k++) PetscCall(PetscStrcasecmp(value, logicals[k], &good));
  if (value && !good) PetscCall(WrongValue(PetscOptionsObject, name, value, "true or false (yes or no, on or off, 1 or 0)", text));
  PetscCall(PetscOptionsBool(name, text, NULL, *logical, logical, NULL));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* A text such as a file name. There is room for size characters, including the final zero */
PetscErrorCode ExampleOptionsText(PetscOptionItems PetscOptionsObject, const char name[], const char text[], char word[], size_t size, PetscBool *set)
{
  const char *value;

  PetscFunctionBegin;
  PetscCall(ValueOf(PetscOptionsObject, name, &value));
  PetscCheck(!value || *value, PetscOptionsObject->comm, PETSC_ERR_ARG_WRONG, "%s needs a value: %s", name, text);
  PetscCheck(!value || strlen(value) < size, PetscOptionsObject->comm, PETSC_ERR_ARG_OUTOFRANGE, "%s: the text is longer than %zu characters: %s", name, size - 1, text);
  PetscCall(PetscOptionsString(name, text, NULL, word, word, size, set));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode Append(PetscInt *n, PetscInt *room, char ***list, const char begin[], size_t length)
{
  char *word;

  PetscFunctionBegin;
  if (*n == *room) {
    *room = PetscMax(16, 2 * *room);
    PetscCall(PetscRealloc((size_t)*room * sizeof(**list), list));
  }
  PetscCall(PetscMalloc1(length + 1, &word));
  PetscCall(PetscArraycpy(word, begin, length));
  word[length]    = 0;
  (*list)[(*n)++] = word;
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* The lines of a text file, without white space around them. Empty lines and lines that begin with # are left out. */
static PetscErrorCode AppendLines(PetscOptionItems PetscOptionsObject, const char name[], const char file[], PetscInt *n, PetscInt *room, char ***list)
{
  const PetscInt before = *n;
  FILE          *fp     = fopen(file, "r");
  char          *line   = NULL;
  size_t         size   = 0;

  PetscFunctionBegin;
  PetscCheck(fp, PetscOptionsObject->comm, PETSC_ERR_FILE_OPEN, "%s @%s: %s cannot be read: %s", name, file, file, strerror(errno));
  while (getline(&line, &size, fp) >= 0) {
    const char *begin  = line + strspn(line, " \t\r\n");
    size_t      length = strlen(begin);

    while (length && strchr(" \t\r\n", begin[length - 1])) length--;
    if (length && *begin != '#') PetscCall(Append(n, room, list, begin, length));
  }
  free(line);
  (void)fclose(fp);
  PetscCheck(*n > before, PetscOptionsObject->comm, PETSC_ERR_FILE_UNEXPECTED, "%s @%s: nothing is in that list", name, file);
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*
   Words with commas between them, or the default ones. A word @FILE stands for the lines of a text file, which each
   process reads. The caller frees the list with ExampleListDestroy().
*/
PetscErrorCode ExampleOptionsList(PetscOptionItems PetscOptionsObject, const char name[], const char text[], const char usual[], PetscInt *n, char ***list)
{
  const char *value, *word;
  char       *copy;
  PetscInt    room = 0;
  size_t      size;

  PetscFunctionBegin;
  *n    = 0;
  *list = NULL;
  PetscCall(ValueOf(PetscOptionsObject, name, &value));
  size = (value ? strlen(value) : 0) + 1;
  PetscCall(PetscMalloc1(size, &copy));
  PetscCall(PetscOptionsString(name, text, NULL, usual, copy, size, NULL)); /* for -help */
  PetscCall(PetscFree(copy));
  for (word = value ? value : usual; *word;) {
    const size_t length = strcspn(word, ",");

    if (length > 1 && *word == '@') {
      PetscCall(PetscMalloc1(length, &copy));
      PetscCall(PetscArraycpy(copy, word + 1, length - 1));
      copy[length - 1] = 0;
      PetscCall(AppendLines(PetscOptionsObject, name, copy, n, &room, list));
      PetscCall(PetscFree(copy));
    } else if (length) PetscCall(Append(n, &room, list, word, length));
    word += length + (word[length] == ',');
  }
  PetscCheck(*n || !value, PetscOptionsObject->comm, PETSC_ERR_ARG_WRONG, "%s needs a list with one thing in it at least: %s", name, text);
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode ExampleListDestroy(PetscInt n, char ***list)
{
  PetscFunctionBegin;
  for (PetscInt k = 0; k < n; k++) PetscCall(PetscFree((*list)[k]));
  PetscCall(PetscFree(*list));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*
   Positive whole numbers with commas between them, or the default ones. As in PETSc, 3-6 is 3,4,5 and 3-8:2 is 3,5,7.
   The caller frees the array with PetscFree().
*/
PetscErrorCode ExampleOptionsNumbers(PetscOptionItems PetscOptionsObject, const char name[], const char text[], const char usual[], PetscInt *n, PetscInt **list)
{
  char   **word;
  PetscInt words, room = 0;

  PetscFunctionBegin;
  *n    = 0;
  *list = NULL;
  PetscCall(ExampleOptionsList(PetscOptionsObject, name, text, usual, &words, &word));
  for (PetscInt k = 0; k < words; k++) {
    char    *end;
    PetscInt first = ReadInt(word[k], &end), last = first + 1, step = 1;

    if (end > word[k] && *end == '-') last = ReadInt(end + 1, &end);
    if (end > word[k] && *end == ':') step = ReadInt(end + 1, &end);
    if (end == word[k] || *end || first < 1 || last <= first || step < 1) PetscCall(WrongValue(PetscOptionsObject, name, word[k], "positive whole numbers, such as 8,32", text));
    for (PetscInt64 number = first; number < last; number += step) {
      if (*n == room) {
        room = PetscMax(16, 2 * room);
        PetscCall(PetscRealloc((size_t)room * sizeof(**list), list));
      }
      (*list)[(*n)++] = (PetscInt)number;
    }
  }
  PetscCall(ExampleListDestroy(words, &word));
  PetscFunctionReturn(PETSC_SUCCESS);
}
