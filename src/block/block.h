/*
   Block forms of PETSc's solvers and preconditioners: how they come into PETSc's lists, and into a factor.
*/
#pragma once

#include "../common/common.h"
#include "basis.h"

/* methods.c */
PETSC_INTERN PetscErrorCode AIJTCUBlockRegister(void);

#if AIJTCU_HAVE_BLOCK && AIJTCU_HAVE_DEVICE
/* matsolve.c */
PETSC_INTERN PetscErrorCode AIJTCUMatSolveEnter(Mat, IS, IS);
#endif
