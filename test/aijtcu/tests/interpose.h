/*
   The program's definitions of functions come before those of the libraries that have them, for PETSc's calls as for ours. Each does something first, and calls what it stands in for. Include it after
   _GNU_SOURCE has been defined
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
