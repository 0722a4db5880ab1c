/*
   MatCreateAIJTCU().
*/
#include "typeimpl.h"

/*@C
  MatCreateAIJTCU - Creates a preallocated `MATAIJTCU`

  Collective

  Input Parameters:
+ comm  - MPI communicator
. m     - number of local rows, or `PETSC_DECIDE`
. n     - number of local columns, or `PETSC_DECIDE`
. M     - number of global rows, or `PETSC_DETERMINE`
. N     - number of global columns, or `PETSC_DETERMINE`
. d_nz  - nonzeros a row in the diagonal block, same for all local rows
. d_nnz - nonzeros of each row of the diagonal block, or `NULL`
. o_nz  - nonzeros a row in the off-diagonal block, same for all local rows
- o_nnz - nonzeros of each row of the off-diagonal block, or `NULL`

  Output Parameter:
. A - the matrix

  Level: intermediate

  Note:
  The arguments are those of `MatCreateAIJ()`. The options of `MATAIJTCU` are read by `MatSetFromOptions()`, which this
  function does not call.

.seealso: `MATAIJTCU`, `MatCreateAIJ()`, `MatCreateAIJCUSPARSE()`
@*/
PetscErrorCode MatCreateAIJTCU(MPI_Comm comm, PetscInt m, PetscInt n, PetscInt M, PetscInt N, PetscInt d_nz, const PetscInt d_nnz[], PetscInt o_nz, const PetscInt o_nnz[], Mat *A)
{
  PetscFunctionBegin;
  PetscCall(PetscDLLibraryRegister_petscaijtcu());
  PetscCall(MatCreate(comm, A));
  PetscCall(MatSetSizes(*A, m, n, M, N));
  PetscCall(MatSetType(*A, MATAIJTCU));
  PetscCall(MatSeqAIJSetPreallocation(*A, d_nz, d_nnz));
  PetscCall(MatMPIAIJSetPreallocation(*A, d_nz, d_nnz, o_nz, o_nnz));
  PetscFunctionReturn(PETSC_SUCCESS);
}
