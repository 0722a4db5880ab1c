/* Multigrid with two levels */
#pragma once

#include <petscksp.h>

/* An interpolation to the rows of A, with A's type and no entries yet, from n columns of this process, or N of all */
static inline PetscErrorCode InterpolationCreate(Mat A, PetscInt n, PetscInt N, Mat *P)
{
  MatType  type;
  PetscInt m;

  PetscFunctionBegin;
  PetscCall(MatGetType(A, &type));
  PetscCall(MatGetLocalSize(A, &m, NULL));
  PetscCall(MatCreate(PETSC_COMM_WORLD, P));
  PetscCall(MatSetSizes(*P, m, n, PETSC_DETERMINE, N));
  PetscCall(MatSetType(*P, type));
  PetscCall(MatSetUp(*P));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* The preconditioner of ksp: the coarse matrix is P^T A P. It keeps P */
static inline PetscErrorCode SetTwoLevels(KSP ksp, Mat *P)
{
  PC pc;

  PetscFunctionBegin;
  PetscCall(MatAssemblyBegin(*P, MAT_FINAL_ASSEMBLY));
  PetscCall(MatAssemblyEnd(*P, MAT_FINAL_ASSEMBLY));
  PetscCall(KSPGetPC(ksp, &pc));
  PetscCall(PCSetType(pc, PCMG));
  PetscCall(PCMGSetLevels(pc, 2, NULL));
  PetscCall(PCMGSetGalerkin(pc, PC_MG_GALERKIN_BOTH));
  PetscCall(PCMGSetInterpolation(pc, 1, *P));
  PetscCall(MatDestroy(P));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* The smoother of the fine level, with Jacobi */
static inline PetscErrorCode SetSmoother(KSP ksp, KSPType type, KSP *smoother)
{
  PC pc;

  PetscFunctionBegin;
  PetscCall(KSPGetPC(ksp, &pc));
  PetscCall(PCMGGetSmoother(pc, 1, smoother));
  PetscCall(KSPSetType(*smoother, type));
  PetscCall(KSPGetPC(*smoother, &pc));
  PetscCall(PCSetType(pc, PCJACOBI));
  PetscFunctionReturn(PETSC_SUCCESS);
}
