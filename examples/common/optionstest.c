static char help[] = "Reads options with the functions of the examples: prints the errors of wrong values, and how many numbers long lists have.\n\n";

#include "errormessage.h"
#include "options.h"

static PetscErrorCode Get(const char text[])
{
  PetscInt  whole = 1, words, numbers, *number = NULL;
  PetscReal real    = 1;
  PetscBool logical = PETSC_FALSE, set;
  char      word[8] = "usual", **list = NULL;

  PetscFunctionBegin;
  PetscOptionsBegin(PETSC_COMM_SELF, NULL, "Test of options", NULL);
  PetscCall(ExampleOptionsInt(PetscOptionsObject, "-whole", "number of things", 1, &whole));
  PetscCall(ExampleOptionsReal(PetscOptionsObject, "-real", "their length", &real));
  PetscCall(ExampleOptionsBool(PetscOptionsObject, "-logical", "whether there are things", &logical));
  PetscCall(ExampleOptionsText(PetscOptionsObject, "-text", "their name", word, sizeof(word), &set));
  PetscCall(ExampleOptionsNumbers(PetscOptionsObject, "-numbers", "numbers of things", "4,8", &numbers, &number));
  PetscCall(ExampleOptionsList(PetscOptionsObject, "-list", "names of things", "one", &words, &list));
  PetscOptionsEnd();
  PetscCall(PetscPrintf(PETSC_COMM_SELF, "%.40s%s\n  %" PetscInt_FMT " %g %d %s; %" PetscInt_FMT " numbers from %" PetscInt_FMT " to %" PetscInt_FMT "; %" PetscInt_FMT " names from %s to %s\n", text, strlen(text) > 40 ? " ..." : "", whole, (double)real, (int)logical, word, numbers, number[0], number[numbers - 1], words, list[0], list[words - 1]));
  PetscCall(PetscFree(number));
  PetscCall(ExampleListDestroy(words, &list));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Print the value of an option, or the error */
static PetscErrorCode Try(const char text[])
{
  PetscErrorCode error;
  const char    *message;

  PetscFunctionBegin;
  PetscCall(PetscOptionsClear(NULL));
  PetscCall(PetscOptionsInsertString(NULL, text));
  PetscCall(PetscPushErrorHandler(PetscReturnErrorHandler, NULL));
  error = Get(text);
  PetscCall(PetscPopErrorHandler());
  if (!error) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCall(ExampleErrorMessage(error, &message));
  PetscCall(PetscPrintf(PETSC_COMM_SELF, "%s\n  error: %s\n", text, message));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode WriteList(const char name[], int n)
{
  FILE *fp = fopen(name, "w");

  PetscFunctionBegin;
  PetscCheck(fp, PETSC_COMM_SELF, PETSC_ERR_FILE_OPEN, "Cannot write %s", name);
  (void)fprintf(fp, "# a comment\n\n");
  for (int k = 0; k < n; k++) (void)fprintf(fp, "  name, number %d \r\n", k);
  PetscCheck(!fclose(fp), PETSC_COMM_SELF, PETSC_ERR_FILE_WRITE, "Cannot write %s", name);
  PetscFunctionReturn(PETSC_SUCCESS);
}

int main(int argc, char **args)
{
  const char *const texts[]    = {"", "-whole 7 -real -2.5e-3 -logical -text name", "-logical no -numbers 3 -list a,b", "-numbers 1-5,8-20:4", "-list a,@optionstest.list,b", "-whole banana", "-whole 1.5", "-whole 99999999999999999999", "-whole 0",
       "-whole", "-real banana", "-real 1,5", "-real nan", "-logical maybe", "-text eightlet", "-text", "-numbers 8,banana", "-numbers 8,0", "-numbers 5-3", "-numbers", "-list ,", "-list @optionstest.none", "-list @optionstest.empty"};
  char              many[4096] = "-numbers 1", names[4096] = "-list a";

  PetscFunctionBeginUser;
  PetscCall(PetscInitialize(&argc, &args, NULL, help));
  PetscCall(WriteList("optionstest.list", 300));
  PetscCall(WriteList("optionstest.empty", 0));
  for (int k = 2; k <= 500; k++) {
    char number[16];

    PetscCall(PetscSNPrintf(number, sizeof(number), ",%d", k));
    PetscCall(PetscStrlcat(many, number, sizeof(many)));
    PetscCall(PetscStrlcat(names, ",name", sizeof(names)));
  }
  PetscCall(Try(many));
  PetscCall(Try(names));
  for (size_t k = 0; k < PETSC_STATIC_ARRAY_LENGTH(texts); k++) PetscCall(Try(texts[k]));
  PetscCall(PetscOptionsClear(NULL));
  PetscCall(PetscFinalize());
  return 0;
}

/*TEST

   test:

TEST*/
