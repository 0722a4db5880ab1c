#include "spread.h"

/* Sorts the n > 0 times */
PetscErrorCode SpreadOf(PetscInt n, PetscReal seconds[], Spread *spread)
{
  PetscFunctionBegin;
  PetscCall(PetscSortReal(n, seconds));
  spread->least  = seconds[0];
  spread->median = (seconds[(n - 1) / 2] + seconds[n / 2]) / 2;
  PetscFunctionReturn(PETSC_SUCCESS);
}
