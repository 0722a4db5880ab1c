/*
   PCPBJACOBI and PCVPBJACOBI go to the device by the exact name of a matrix's type

     They compare the type of the matrix, and of what MatGetBlockDiagonal() gives, with MATSEQAIJCUSPARSE and
     MATMPIAIJCUSPARSE. A matrix of a type that is derived from these is preconditioned on the host, with vectors copied
     both ways in each iteration.

     What would help: PetscObjectBaseTypeCompareAny(), or a look at the matrix's vector type.

   Needed: 3.24 to 3.26. Gone when: nothing says it; read PCSetUp_PBJacobi() and PCSetUp_VPBJacobi(). Ours: "pbjacobi"
   and "vpbjacobi" of solvers.c, which are right on the host as well.

   PCPBJACOBI goes on with blocks on the device after a set-up on the host

     PCSetUp_PBJacobi_CUDA() sets pc->ops->apply, and PCSetUp_PBJacobi_Host() does not set it back. A preconditioner
     that was set up for a matrix of the device, and then for one of the host, applies the first one's blocks: old
     numbers, without a word. With ours so does one whose matrix was bound to the host between.

       PCSetOperators(pc, A, A); PCApply(pc, x, y);  // A is a MATAIJCUSPARSE
       PCSetOperators(pc, B, B); PCApply(pc, x, z);  // B is a MATAIJ; z is of A

     Where MATOP_GET_BLOCK_DIAGONAL gives a matrix of the host, PCSetUp_PBJacobi() destroys it, and goes on with a
     pointer to the inverses, which belonged to it.

     What would help: pc->ops->apply and applytranspose set in PCSetUp_PBJacobi_Host(), too, and a reference to diagPB.

   Needed: 3.24 to 3.26. Gone when: "PCPBJACOBI of a matrix of the host" of upstream.c. Ours: blocksizes.c, with a GPU.

   PCPBJACOBI keeps its memory on the device when a larger matrix comes

     PCSetUp_PBJacobi_CUDA() allocates once, there is no PCReset() for it, and the blocks of the next matrix are copied
     behind the end. PCGAMG sets up its levels anew for a new pattern: the solvers of the levels stay, and a level may
     have more rows than before. What lies there on the device has other numbers then, or a kernel reads an illegal
     address.

       PCSetOperators(pc, A, A); PCSetUp(pc);  // A is a MATAIJCUSPARSE with 20 rows
       PCReset(pc);
       PCSetOperators(pc, B, B); PCSetUp(pc);  // B has 2000

     What would help: PCReset() that frees the memory, or the size beside it, as PCVPBJACOBI has it.

   Needed: 3.24 to 3.26. Gone when: nothing says it; read PCSetUp_PBJacobi_CUDA(). Ours: blocksizes.c.

   The set-up in pcjacobi.c begins with the functions of the host, and makes PETSc's preconditioner anew where more
   entries come.

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

static PetscErrorCode AIJTCUSetBlocksCSR(Mat D, PetscInt bs, const PetscInt i[], const PetscInt j[], const PetscScalar v[])
{
  PetscFunctionBegin;
  PetscCall(MatSetType(D, MATSEQAIJ));
  PetscCall(MatSetBlockSize(D, bs));
  PetscCall(MatSeqAIJSetPreallocationCSR(D, i, j, v));
  PetscCall(MatConvert(D, MATSEQAIJCUSPARSE, MAT_INPLACE_MATRIX, &D));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*
   The diagonal blocks as a matrix of type MATSEQAIJCUSPARSE on this process, or nothing where A is bound to the host:
   PETSc takes A itself then. They have sizes[] rows, or bs rows each. The caller inverts them on the host, as it does
   for an aijcusparse.
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
  if (bound) PetscFunctionReturn(PETSC_SUCCESS);
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
  if (!ierr) ierr = AIJTCUSetBlocksCSR(*D, bs, i, j, v);
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
