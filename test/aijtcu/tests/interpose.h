/*
   Functions that this program defines in place of those of PETSc and CUDA. The loader finds the program's definitions
   before those of the libraries, for calls of PETSc as for ours. Each function does its own work first, and then calls
   the one it stands in for. Include this file after _GNU_SOURCE has been defined.
*/
#pragma once

#include <dlfcn.h>

#define INTERPOSE(type, name, parameters, arguments, first) \
  PETSC_EXTERN type name parameters \
  { \
    static type(*next) parameters; \
    if (!next) *(void **)&next = dlsym(RTLD_NEXT, #name); \
    first; \
    return (*next)arguments; \
  }
