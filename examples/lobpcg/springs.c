#include "springs.h"
#include <petscaijtcu.h>

enum {
  PRODUCTS = 100 /* a solve has 40 iterations with about two products each */
};

/*
   A spring of random stiffness between any two coupled unknowns, and one of stiffness 1 that holds each unknown. The
   smallest eigenvalue is 1, that of a rigid motion. The next ones lie close to it, like the lowest ones of an elastic
   body. first is the number of the first row that is here.
*/
PetscErrorCode SpringsSetValues(PetscInt first, GenerateCSR *csr)
{
  Mat       A;
  PetscBool symmetric;

  PetscFunctionBegin;
  for (PetscInt i = 0; i < csr->m; i++) {
    const PetscInt row      = first + i;
    PetscInt       diagonal = -1;
    PetscReal      sum      = 1;

    for (PetscInt k = csr->i[i]; k < csr->i[i + 1]; k++) {
      const PetscInt col = csr->j[k];

      if (col == row) diagonal = k;
      else {
        const PetscReal stiffness = PetscAbsReal(GenerateValue(PetscMin(row, col), PetscMax(row, col)));

        csr->a[k] = -stiffness;
        sum += stiffness;
      }
    }
    PetscCheck(diagonal >= 0, PETSC_COMM_SELF, PETSC_ERR_ARG_WRONG, "Row %" PetscInt_FMT " has no diagonal entry: LOBPCG needs a family with a symmetric pattern", row);
    csr->a[diagonal] = sum;
  }
  if (csr->m < csr->n) PetscFunctionReturn(PETSC_SUCCESS); /* other processes have the rest; one process checks it */
  PetscCall(MatCreateSeqAIJWithArrays(PETSC_COMM_SELF, csr->m, csr->n, csr->i, csr->j, csr->a, &A));
  PetscCall(MatIsSymmetric(A, 0, &symmetric));
  PetscCall(MatDestroy(&A));
  PetscCheck(symmetric, PETSC_COMM_SELF, PETSC_ERR_ARG_WRONG, "The matrix is not symmetric: LOBPCG needs a family with a symmetric pattern");
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* The matrix as a program gets it that leaves the type to -mat_type. type plays the part of the user's choice */
PetscErrorCode SpringsCreateMat(MPI_Comm comm, const GenerateCSR *csr, const char type[], Mat *A)
{
  PetscFunctionBegin;
  PetscCall(PetscOptionsSetValue(NULL, "-mat_type", type));
  PetscCall(MatCreate(comm, A));
  PetscCall(MatSetSizes(*A, csr->m, csr->m, csr->n, csr->n));
  PetscCall(MatSetType(*A, type));
  PetscCall(MatAIJTCUSetExpectedProducts(*A, PRODUCTS)); /* does nothing for other types */
  PetscCall(MatSetFromOptions(*A));
  PetscCall(MatSeqAIJSetPreallocationCSR(*A, csr->i, csr->j, csr->a));
  PetscCall(MatMPIAIJSetPreallocationCSR(*A, csr->i, csr->j, csr->a));
  PetscCall(MatSetOption(*A, MAT_SYMMETRIC, PETSC_TRUE));
  PetscCall(MatSetOption(*A, MAT_SYMMETRY_ETERNAL, PETSC_TRUE));
  PetscFunctionReturn(PETSC_SUCCESS);
}
