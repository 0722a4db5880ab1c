#include "csv.h"
#include "files.h"
#include "options.h"

/* -csv and -commit. A table that cannot be written is an error at once, not after the work */
PetscErrorCode ExampleOptionsTable(PetscOptionItems PetscOptionsObject, ExampleTable *table)
{
  PetscFunctionBegin;
  table->file[0] = 0;
  PetscCall(PetscStrncpy(table->commit, "unknown", sizeof(table->commit)));
  PetscCall(ExampleOptionsText(PetscOptionsObject, "-csv", "File to append the results to", table->file, sizeof(table->file), NULL));
  PetscCall(ExampleOptionsText(PetscOptionsObject, "-commit", "What the table says of the version", table->commit, sizeof(table->commit), NULL));
  if (table->file[0]) PetscCall(ExampleFileCheckWrite(PetscOptionsObject->comm, table->file));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Open a table to append to, and give a new one the names of its columns. To be closed with PetscFClose() */
PetscErrorCode ExampleCSVOpen(MPI_Comm comm, const char file[], const char columns[], FILE **fp)
{
  PetscBool there = PETSC_FALSE;

  PetscFunctionBegin;
  PetscCall(PetscTestFile(file, 'r', &there));
  PetscCall(PetscFOpen(comm, file, "a", fp));
  if (!there) PetscCall(PetscFPrintf(comm, *fp, "%s\n", columns));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Version of the library in use, such as "3.26.1" */
PetscErrorCode ExamplePETScVersion(char text[], size_t len)
{
  PetscInt major, minor, subminor;

  PetscFunctionBegin;
  PetscCall(PetscGetVersionNumber(&major, &minor, &subminor, NULL));
  PetscCall(PetscSNPrintf(text, len, "%" PetscInt_FMT ".%" PetscInt_FMT ".%" PetscInt_FMT, major, minor, subminor));
  PetscFunctionReturn(PETSC_SUCCESS);
}
