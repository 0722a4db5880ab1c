#include "springs.h"
#include "csrmat.h"

/*
   A spring of random stiffness between any two coupled unknowns, and one that holds each unknown. Its stiffness is the
   smallest eigenvalue, that of a rigid motion. The next ones lie close to it, like the lowest ones of an elastic body.
   first is the number of the first row that is here.
*/
PetscErrorCode SpringsSetValues(PetscInt first, PetscReal hold, GenerateCSR *csr)
{
  PetscBool symmetric;

  PetscFunctionBegin;
  for (PetscInt i = 0; i < csr->m; i++) {
    const PetscInt row      = first + i;
    PetscInt       diagonal = -1;
    PetscReal      sum      = hold;

    for (PetscInt k = csr->i[i]; k < csr->i[i + 1]; k++) {
      const PetscInt col = csr->j[k];

      if (col == row) diagonal = k;
      else {
        const PetscReal stiffness = PetscAbsReal(GenerateValue(PetscMin(row, col), PetscMax(row, col)));

        csr->a[k] = -stiffness;
        sum += stiffness;
      }
    }
    PetscCheck(diagonal >= 0, PETSC_COMM_SELF, PETSC_ERR_ARG_WRONG, "Row %" PetscInt_FMT " has no diagonal entry: springs need a family with a symmetric pattern", row);
    csr->a[diagonal] = sum;
  }
  if (csr->m < csr->n) PetscFunctionReturn(PETSC_SUCCESS); /* other processes have the rest; one process checks it */
  PetscCall(ExampleCSRIsSymmetric(csr, &symmetric));
  PetscCheck(symmetric, PETSC_COMM_SELF, PETSC_ERR_ARG_WRONG, "The matrix is not symmetric: springs need a family with a symmetric pattern");
  PetscFunctionReturn(PETSC_SUCCESS);
}
