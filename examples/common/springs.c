#include "springs.h"
#include "csrmat.h"

/*
   A spring of random stiffness between any two coupled unknowns, and one of stiffness 1 that holds each unknown. The
   smallest eigenvalue is 1, that of a rigid motion. The next ones lie close to it, like the lowest ones of an elastic
   body.
*/
PetscErrorCode SpringsSetValues(GenerateCSR *csr)
{
  PetscBool symmetric;

  PetscFunctionBegin;
  for (PetscInt row = 0; row < csr->m; row++) {
    PetscInt  diagonal = -1;
    PetscReal sum      = 1;

    for (PetscInt k = csr->i[row]; k < csr->i[row + 1]; k++) {
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
  PetscCall(ExampleCSRIsSymmetric(csr, &symmetric));
  PetscCheck(symmetric, PETSC_COMM_SELF, PETSC_ERR_ARG_WRONG, "The matrix is not symmetric: springs need a family with a symmetric pattern");
  PetscFunctionReturn(PETSC_SUCCESS);
}
