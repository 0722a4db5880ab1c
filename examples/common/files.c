#include "files.h"
#include <errno.h>
#include <sys/stat.h>
#include <unistd.h>

/* An error that rank 0 met (a value of errno), on all processes. wrong has %s for the name, and for what went wrong */
static PetscErrorCode Check(MPI_Comm comm, int error, PetscErrorCode code, const char wrong[], const char name[])
{
  char message[PETSC_MAX_PATH_LEN + 256];

  PetscFunctionBegin;
  PetscCallMPI(MPI_Bcast(&error, 1, MPI_INT, 0, comm));
  if (!error) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCall(PetscSNPrintf(message, sizeof(message), wrong, name, strerror(error)));
  SETERRQ(comm, code, "%s", message);
}

/* 0, or a value of errno */
static int MakeOne(const char folder[])
{
  struct stat status;

  if (!mkdir(folder, 0777)) return 0;
  if (errno != EEXIST) return errno;
  if (stat(folder, &status)) return errno;
  return S_ISDIR(status.st_mode) ? 0 : ENOTDIR;
}

/* A folder for output, and those that it is in, where they are missing */
PetscErrorCode ExampleFolderMake(MPI_Comm comm, const char folder[])
{
  PetscMPIInt rank;
  int         error = 0;
  char       *path;

  PetscFunctionBegin;
  PetscCallMPI(MPI_Comm_rank(comm, &rank));
  if (rank == 0) {
    PetscCall(PetscStrallocpy(folder, &path));
    for (char *end = path; !error && (end = strchr(end + 1, '/'));) {
      *end  = 0;
      error = MakeOne(path);
      *end  = '/';
    }
    if (!error) error = MakeOne(path);
    if (!error && access(path, W_OK | X_OK)) error = errno;
    PetscCall(PetscFree(path));
  }
  PetscCall(Check(comm, error, PETSC_ERR_FILE_OPEN, "The folder %s cannot be made, or not be written to: %s", folder));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* A file that will be written or appended to. It is left as it is */
PetscErrorCode ExampleFileCheckWrite(MPI_Comm comm, const char file[])
{
  PetscMPIInt rank;
  int         error = 0;

  PetscFunctionBegin;
  PetscCallMPI(MPI_Comm_rank(comm, &rank));
  if (rank == 0) {
    const PetscBool there = (PetscBool)!access(file, F_OK);
    FILE           *fp    = fopen(file, "a");

    if (!fp) error = errno;
    else if (fclose(fp) || (!there && unlink(file))) error = errno;
  }
  PetscCall(Check(comm, error, PETSC_ERR_FILE_OPEN, "%s cannot be written: %s", file));
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode ExampleFilesCheckRead(MPI_Comm comm, PetscInt n, char *const files[])
{
  PetscMPIInt rank;

  PetscFunctionBegin;
  PetscCallMPI(MPI_Comm_rank(comm, &rank));
  for (PetscInt k = 0; k < n; k++) PetscCall(Check(comm, rank == 0 && access(files[k], R_OK) ? errno : 0, PETSC_ERR_FILE_OPEN, "%s cannot be read: %s", files[k]));
  PetscFunctionReturn(PETSC_SUCCESS);
}
