#include "csrmat.h"
#include "matload.h"
#include <petscaijtcu.h>

/* The rows of a matrix in a file. To be destroyed with GenerateCSRDestroy() */
PetscErrorCode ExampleCSRLoad(const char file[], GenerateCSR *csr)
{
  Mat                A;
  const PetscInt    *i, *j;
  const PetscScalar *a;
  PetscBool          done;

  PetscFunctionBegin;
  PetscCall(MatCreate(PETSC_COMM_SELF, &A));
  PetscCall(MatSetType(A, MATSEQAIJ));
  PetscCall(ExampleMatLoad(PETSC_COMM_SELF, file, A));
  PetscCall(MatGetSize(A, NULL, &csr->n));
  PetscCall(MatGetRowIJ(A, 0, PETSC_FALSE, PETSC_FALSE, &csr->m, &i, &j, &done));
  PetscCheck(done, PETSC_COMM_SELF, PETSC_ERR_PLIB, "No row access");
  PetscCall(MatSeqAIJGetArrayRead(A, &a));
  PetscCall(PetscMalloc1(csr->m + 1, &csr->i));
  PetscCall(PetscMalloc1(i[csr->m], &csr->j));
  PetscCall(PetscMalloc1(i[csr->m], &csr->a));
  PetscCall(PetscArraycpy(csr->i, i, csr->m + 1));
  PetscCall(PetscArraycpy(csr->j, j, i[csr->m]));
  PetscCall(PetscArraycpy(csr->a, a, i[csr->m]));
  PetscCall(MatSeqAIJRestoreArrayRead(A, &a));
  PetscCall(MatRestoreRowIJ(A, 0, PETSC_FALSE, PETSC_FALSE, &csr->m, &i, &j, &done));
  PetscCall(MatGetSize(A, &csr->m, NULL));
  PetscCall(MatDestroy(&A));
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode ExampleCSRIsSymmetric(const GenerateCSR *csr, PetscBool *symmetric)
{
  Mat A;

  PetscFunctionBegin;
  *symmetric = PETSC_FALSE;
  if (csr->m != csr->n) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCall(MatCreateSeqAIJWithArrays(PETSC_COMM_SELF, csr->m, csr->n, csr->i, csr->j, csr->a, &A));
  PetscCall(MatIsSymmetric(A, 0, symmetric));
  PetscCall(MatDestroy(&A));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*
   The matrix as a program gets it that leaves the type to -mat_type. type plays the part of the user's choice. products
   is how many products with blocks are expected; types that are not ours ignore it.
*/
PetscErrorCode ExampleCSRMat(const GenerateCSR *csr, PetscBool symmetric, PetscInt products, const char type[], Mat *A)
{
  PetscFunctionBegin;
  PetscCall(PetscOptionsSetValue(NULL, "-mat_type", type));
  PetscCall(MatCreate(PETSC_COMM_SELF, A));
  PetscCall(MatSetSizes(*A, csr->m, csr->n, csr->m, csr->n));
  PetscCall(MatSetType(*A, type));
  PetscCall(MatAIJTCUSetExpectedProducts(*A, products));
  PetscCall(MatSetFromOptions(*A));
  PetscCall(MatSeqAIJSetPreallocationCSR(*A, csr->i, csr->j, csr->a));
  PetscCall(MatSetOption(*A, MAT_SYMMETRIC, symmetric));
  PetscCall(MatSetOption(*A, MAT_SYMMETRY_ETERNAL, PETSC_TRUE));
  PetscFunctionReturn(PETSC_SUCCESS);
}
