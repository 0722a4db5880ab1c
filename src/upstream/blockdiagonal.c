/*
   PCPBJACOBI and PCVPBJACOBI go to the device by the exact name of a matrix's type

     They compare the type of the matrix, and of what MatGetBlockDiagonal() gives, with MATSEQAIJCUSPARSE and
     MATMPIAIJCUSPARSE. A matrix of a type that is derived from these is preconditioned on the host, with vectors copied
     both ways in each iteration.

     What would help: PetscObjectBaseTypeCompareAny(), or a look at the matrix's vector type.

   Needed: 3.24 to 3.26. Gone when: nothing says it; read PCSetUp_PBJacobi() and PCSetUp_VPBJacobi(). Ours: "pbjacobi"
   and "vpbjacobi" of solvers.c, which are right on the host as well.

   Here are the rows of the diagonal blocks as CSR. at is workspace for row numbers
*/
#include "upstream.h"

static PetscErrorCode AIJTCUGetBlocksCSR(Mat local, PetscInt nblocks, const PetscInt sizes[], PetscInt bs, PetscInt at[], PetscInt i[], PetscInt j[], PetscScalar v[])
{
  PetscInt first = 0;

  PetscFunctionBegin;
  i[0] = 0;
  for (PetscInt b = 0; b < nblocks; b++) {
    const PetscInt size = sizes ? sizes[b] : bs;

    for (PetscInt row = first; row < first + size; row++) {
      at[row]    = row;
      i[row + 1] = i[row] + size;
      for (PetscInt k = 0; k < size; k++) j[i[row] + k] = first + k;
    }
    PetscCall(MatGetValues(local, size, at + first, size, at + first, v + i[first]));
    first += size;
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode AIJTCUSetBlocksCSR(Mat D, PetscBool on_device, PetscInt bs, const PetscInt i[], const PetscInt j[], const PetscScalar v[])
{
  PetscFunctionBegin;
  PetscCall(MatSetType(D, MATSEQAIJ));
  PetscCall(MatSetBlockSize(D, bs));
  PetscCall(MatSeqAIJSetPreallocationCSR(D, i, j, v));
  if (on_device) PetscCall(MatConvert(D, MATSEQAIJCUSPARSE, MAT_INPLACE_MATRIX, &D));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*
   The diagonal blocks as a matrix of type MATSEQAIJCUSPARSE on this process, or MATSEQAIJ where A is bound to the host:
   PETSc applies them where their type says. They have sizes[] rows, or bs rows each.
   The caller inverts it on the host, as it does for an aijcusparse.
*/
static PetscErrorCode AIJTCUGetDiagonalBlocks(Mat A, PetscInt nblocks, const PetscInt sizes[], PetscInt bs, Mat *D)
{
  Mat            local;
  PetscInt       n, rows = 0, nnz = 0, *at, *i, *j;
  PetscScalar   *v;
  PetscBool      bound;
  PetscErrorCode ierr, freed;

  PetscFunctionBegin;
  *D = NULL;
  PetscCall(MatBoundToCPU(A, &bound));
  PetscCall(MatGetLocalSize(A, &n, NULL));
  PetscCall(MatGetDiagonalBlock(A, &local));
  for (PetscInt b = 0; b < nblocks; b++) {
    const PetscInt size = sizes ? sizes[b] : bs;

    rows += size;
    nnz += size * size;
  }
  PetscCheck(rows == n, PETSC_COMM_SELF, PETSC_ERR_ARG_SIZ, "The diagonal blocks have %" PetscInt_FMT " rows, and the matrix %" PetscInt_FMT " on this process", rows, n);
  PetscCall(PetscMalloc4(n, &at, n + 1, &i, nnz, &j, nnz, &v));
  ierr = AIJTCUGetBlocksCSR(local, nblocks, sizes, bs, at, i, j, v);
  if (!ierr) ierr = MatCreate(PETSC_COMM_SELF, D);
  if (!ierr) ierr = MatSetSizes(*D, n, n, n, n);
  if (!ierr) ierr = MatSetErrorIfFailure(*D, A->erroriffailure);
  if (!ierr) ierr = AIJTCUSetBlocksCSR(*D, (PetscBool)!bound, bs, i, j, v);
  freed = PetscFree4(at, i, j, v);
  if (!ierr) ierr = freed;
  if (ierr) PetscCall(MatDestroy(D));
  PetscCall(ierr);
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode AIJTCUGetBlockDiagonal(Mat A, Mat *D)
{
  PetscInt n, bs;

  PetscFunctionBegin;
  PetscCall(MatGetLocalSize(A, &n, NULL));
  PetscCall(MatGetBlockSize(A, &bs));
  PetscCall(AIJTCUGetDiagonalBlocks(A, n / bs, NULL, bs, D));
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode AIJTCUGetVBlockDiagonal(Mat A, Mat *D)
{
  PetscInt        nblocks;
  const PetscInt *sizes;

  PetscFunctionBegin;
  PetscCall(MatGetVariableBlockSizes(A, &nblocks, &sizes));
  PetscCheck(!A->rmap->n || nblocks, PETSC_COMM_SELF, PETSC_ERR_ARG_WRONGSTATE, "Must call MatSetVariableBlockSizes() before");
  PetscCall(AIJTCUGetDiagonalBlocks(A, nblocks, sizes, 1, D));
  PetscFunctionReturn(PETSC_SUCCESS);
}
