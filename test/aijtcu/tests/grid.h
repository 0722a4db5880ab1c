/* A grid of n x n points with bs unknowns each, by MatSetValues(): coupled with those around them */
#pragma once

#include <petscmat.h>

typedef struct {
  PetscBool corners;      /* a point has eight neighbours, else four */
  PetscReal here[2];      /* an unknown with itself, and with others of its point */
  PetscReal neighbour[2]; /* with the same unknown of a neighbour, and with its others */
  PetscInt  lone;         /* every lone-th point is coupled with nothing; 0 for none */
  PetscInt  oneway;       /* every oneway-th point is not coupled with those behind it, but they with it; 0 for none */
} GridValues;

static inline PetscErrorCode GridCreate(MatType type, PetscInt n, PetscInt bs, const GridValues *values, Mat *A)
{
  PetscInt first, end;

  PetscFunctionBegin;
  PetscCall(MatCreate(PETSC_COMM_WORLD, A));
  PetscCall(MatSetSizes(*A, PETSC_DECIDE, PETSC_DECIDE, n * n * bs, n * n * bs));
  PetscCall(MatSetType(*A, type));
  PetscCall(MatSetBlockSize(*A, bs));
  PetscCall(MatSetUp(*A));
  PetscCall(MatGetOwnershipRange(*A, &first, &end));
  for (PetscInt row = first; row < end; row++) {
    const PetscInt x = row / bs % n, y = row / bs / n;

    for (PetscInt k = 0; k < 9; k++) {
      const PetscInt   dx = k % 3 - 1, dy = k / 3 - 1, i = x + dx, j = y + dy;
      const PetscReal *v = k == 4 ? values->here : values->neighbour;

      if (i < 0 || i >= n || j < 0 || j >= n || (dx && dy && !values->corners)) continue;
      if (values->lone && k != 4 && ((x + n * y) % values->lone == 0 || (i + n * j) % values->lone == 0)) continue;
      if (values->oneway && k > 4 && (x + n * y) % values->oneway == 0) continue;
      for (PetscInt c = 0; c < bs; c++) PetscCall(MatSetValue(*A, row, (i + n * j) * bs + c, v[c != row % bs], INSERT_VALUES));
    }
  }
  PetscCall(MatAssemblyBegin(*A, MAT_FINAL_ASSEMBLY));
  PetscCall(MatAssemblyEnd(*A, MAT_FINAL_ASSEMBLY));
  PetscFunctionReturn(PETSC_SUCCESS);
}
