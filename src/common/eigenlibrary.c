/*
   The library for SLEPc's solvers, libpetscaijtcueps. It lies beside this one, and needs SLEPc. So it is loaded where
   the process has SLEPc: when this library is loaded, or, where SLEPc comes later, as in Python, with the first matrix
   after that.
*/
#define _GNU_SOURCE
#include "common.h"
#include <dlfcn.h>
#if defined(__linux__)
  #include <link.h>
#endif

#define AIJTCU_EIGEN_LIBRARY "libpetscaijtcueps.so"

static struct {
  PetscBool done; /* until PetscFinalize() */
  PetscErrorCode (*enter)(void);
} AIJTCUEigen;

#if defined(__linux__)
static int AIJTCUFindSlepc(struct dl_phdr_info *info, size_t unused, void *path)
{
  const char *name = strrchr(info->dlpi_name ? info->dlpi_name : "", '/');

  (void)unused;
  if (!name || strncmp(name, "/libslepc", 9)) return 0;
  *(const char **)path = info->dlpi_name;
  return 1;
}
#endif

static PetscErrorCode AIJTCUEigenForget(void)
{
  PetscFunctionBegin;
  AIJTCUEigen.done = PETSC_FALSE;
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* The other library, if SLEPc is the one that it will find; why says what is wrong */
static void AIJTCUEigenOpen(const char slepc[], char path[], size_t size, const char **why)
{
  Dl_info here, there;
  void   *handle, *fn;
  char   *name;

  *why = "the folder of libpetscaijtcu is not known";
  if (!dladdr((void *)(uintptr_t)AIJTCUEigenForget, &here) || strlen(here.dli_fname) + sizeof(AIJTCU_EIGEN_LIBRARY) > size) return;
  strcpy(path, here.dli_fname);
  name = strrchr(path, '/');
  strcpy(name ? name + 1 : path, AIJTCU_EIGEN_LIBRARY);
  handle = dlopen(path, RTLD_NOW | RTLD_LOCAL);
  *why   = handle ? "it was compiled for another SLEPc" : dlerror();
  if (!handle) return;
  fn = dlsym(handle, "EPSRegister");
  if (!fn || !dladdr(fn, &there) || strcmp(there.dli_fname, slepc)) return;
  fn = dlsym(handle, "PetscDLLibraryRegister_petscaijtcueps");
  memcpy(&AIJTCUEigen.enter, &fn, sizeof(fn));
  *why = fn ? NULL : "it is another library";
}

PetscErrorCode AIJTCUEigenLoad(void)
{
  char        path[PETSC_MAX_PATH_LEN] = "";
  const char *slepc                    = NULL, *why;

  PetscFunctionBegin;
  if (AIJTCUEigen.done) PetscFunctionReturn(PETSC_SUCCESS);
#if defined(__linux__)
  (void)dl_iterate_phdr(AIJTCUFindSlepc, (void *)&slepc);
#endif
  if (!slepc) PetscFunctionReturn(PETSC_SUCCESS);
  AIJTCUEigen.done = PETSC_TRUE;
  PetscCall(PetscRegisterFinalize(AIJTCUEigenForget));
  if (!AIJTCUEigen.enter) {
    AIJTCUEigenOpen(slepc, path, sizeof(path), &why);
    if (why) {
      PetscCall(PetscInfo(NULL, "aijtcu: SLEPc's solvers are as they were, because %s cannot be used: %s\n", path[0] ? path : AIJTCU_EIGEN_LIBRARY, why));
      PetscFunctionReturn(PETSC_SUCCESS);
    }
  }
  PetscCall((*AIJTCUEigen.enter)());
  PetscFunctionReturn(PETSC_SUCCESS);
}
