/*
   Functions that this program defines in place of those of PETSc and CUDA. The loader finds the program's definitions
   before those of the libraries, for calls of PETSc as for ours. Each function does its own work first, and then calls
   the one it stands in for. INTERPOSE_THEN() does more after that, which may look at the result. Include this file
   after _GNU_SOURCE has been defined.
*/
#pragma once

#include <dlfcn.h>

#define INTERPOSE_THEN(type, name, parameters, arguments, first, then) \
  PETSC_EXTERN type name parameters \
  { \
    static type(*next) parameters; \
    if (!next) *(void **)&next = dlsym(RTLD_NEXT, #name); \
    first; \
    const type result = (*next)arguments; \
    then; \
    return result; \
  }
#define INTERPOSE(type, name, parameters, arguments, first) INTERPOSE_THEN(type, name, parameters, arguments, first, (void)result)
