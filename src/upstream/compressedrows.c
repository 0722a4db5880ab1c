/*
   MATSEQAIJCUSPARSE forgets that its rows are compressed

     Where more than 6 of 10 rows are empty, the arrays on the device have the other rows alone
     (Mat_SeqAIJ.compressedrow). MatGetDiagonal() of a MATSEQAIJCUSPARSE takes the offsets for those of all rows: it
     gives other entries, and reads beside the array. MatAXPY() with SUBSET_NONZERO_PATTERN hands them to
     cusparseXcsrgeam2() with the number of all rows, which ends in an illegal access.

       // a matrix with entries in its last row alone
       MatMult(A, x, y);       // it is on the device now
       MatGetDiagonal(A, d);   // is not its diagonal
       MatAXPY(A, 2, B, SUBSET_NONZERO_PATTERN);  // ends in an error, if B's pattern is another one

     What would help: cprowIndices in GetDiagonal_CSR(); MatAXPY_SeqAIJ() for compressed rows.

   Needed: 3.24 to 3.26. Gone when: nothing says it; the other is an illegal access, try the lines above.
   Ours: sequences.c, -each.
*/
#include "upstream.h"

/* Whether the rows of A on the device are not all rows. A is in its parent's view, and about to work there */
PetscErrorCode AIJTCURowsAreCompressed(Mat A, PetscBool *are)
{
  PetscFunctionBegin;
  *are = PETSC_FALSE;
#if PetscDefined(HAVE_CUDA)
  const AIJTCUDeviceInt *all, *nonempty, *columns;

  if (A->boundtocpu) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCall(MatSeqAIJCUSPARSEGetIJ(A, PETSC_FALSE, &all, &columns));
  PetscCall(MatSeqAIJCUSPARSEGetIJ(A, PETSC_TRUE, &nonempty, &columns));
  *are = (PetscBool)(all != nonempty);
#else
  (void)A;
#endif
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* The diagonal of a sequential A, from the host. d is a vector of any kind */
PetscErrorCode AIJTCUHostDiagonal(Mat A, Vec d)
{
  const PetscInt    *rowptr, *colidx;
  const PetscScalar *values;
  PetscScalar       *diagonal;
  PetscInt           n;
  PetscBool          have;

  PetscFunctionBegin;
  PetscCall(MatGetRowIJ(A, 0, PETSC_FALSE, PETSC_FALSE, &n, &rowptr, &colidx, &have));
  PetscCheck(have, PETSC_COMM_SELF, PETSC_ERR_PLIB, "No row pointers");
  PetscCall(MatSeqAIJGetArrayRead(A, &values));
  PetscCall(VecGetArray(d, &diagonal));
  for (PetscInt i = 0; i < n; i++) {
    diagonal[i] = 0;
    for (PetscInt k = rowptr[i]; k < rowptr[i + 1]; k++) {
      if (colidx[k] == i) diagonal[i] = values[k];
    }
  }
  PetscCall(VecRestoreArray(d, &diagonal));
  PetscCall(MatSeqAIJRestoreArrayRead(A, &values));
  PetscCall(MatRestoreRowIJ(A, 0, PETSC_FALSE, PETSC_FALSE, &n, &rowptr, &colidx, &have));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Y += a X on the host, where Y has all entries of X */
PetscErrorCode AIJTCUHostAddSubset(Mat Y, PetscScalar a, Mat X)
{
  PetscInt     first, last, room = 0;
  PetscScalar *scaled = NULL;

  PetscFunctionBegin;
  PetscCall(MatGetOwnershipRange(X, &first, &last));
  for (PetscInt i = first; i < last; i++) {
    const PetscInt    *columns;
    const PetscScalar *values;
    PetscInt           n;

    PetscCall(MatGetRow(X, i, &n, &columns, &values));
    if (n > room) {
      room = 2 * n;
      PetscCall(PetscRealloc((size_t)room * sizeof(*scaled), &scaled));
    }
    for (PetscInt k = 0; k < n; k++) scaled[k] = a * values[k];
    PetscCall(MatSetValues(Y, 1, &i, n, columns, scaled, ADD_VALUES));
    PetscCall(MatRestoreRow(X, i, &n, &columns, &values));
  }
  PetscCall(PetscFree(scaled));
  PetscCall(MatAssemblyBegin(Y, MAT_FINAL_ASSEMBLY));
  PetscCall(MatAssemblyEnd(Y, MAT_FINAL_ASSEMBLY));
  PetscFunctionReturn(PETSC_SUCCESS);
}
