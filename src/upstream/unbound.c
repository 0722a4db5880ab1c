/*
   MatSetValuesCOO() of a MATAIJCUSPARSE that is bound to the host is lost, or an error

     MatBindToCPU() takes the function from a sequential matrix, and that of MATSEQAIJ does not come in its place:
     MatSetValuesCOO_Basic() lacks the list of entries. A parallel matrix keeps the function, which writes the arrays on
     the device. Those on the host are read as they are. A list that is given while the matrix is bound is not the
     device's either.

       MatSetPreallocationCOO(A, n, i, j);
       MatBindToCPU(A, PETSC_TRUE);
       MatSetValuesCOO(A, v, INSERT_VALUES);  // 1 process: error, "Missing coo_i IS"
       MatMult(A, x, y);                      // 2 processes: with values of before

     MatHeaderMerge(A, &C) gives A the flag of C, and leaves it its functions: a bound sequential A is not bound any
     more, and still has none.

     What would help: the functions of MATAIJ composed while a matrix is bound, with the list of the host.

   Needed: 3.24 to 3.26. Gone when: "MatSetValuesCOO() of a bound matrix" of upstream.c. Ours: coo.c.

   MatZeroRowsColumns() of a MATMPIAIJCUSPARSE that is bound to the host adds to numbers that nobody has set

     It duplicates its work vector, which is bound as well. The duplicate has the operations of the host, and is not
     bound (fdcoloring.c). Columns are zeroed that should not be.

       MatBindToCPU(A, PETSC_TRUE);
       MatZeroRowsColumns(A, 1, &row, 1, NULL, NULL);  // 2 processes

     What would help: VecBindToCPU() of the duplicate.

   Needed: 3.24 to 3.26. Gone when: "VecDuplicate() of a bound vector" of upstream.c. Ours: sequences.c, "bound".

   MatDuplicate() of a MATMPIAIJCUSPARSE that is bound to the host gives a matrix with a work vector that is half bound

     MatDuplicate_MPIAIJ() duplicates the work vector, too. The duplicate has the operations of the host, and is not
     bound (fdcoloring.c); the new matrix is not bound either. Scatters into this vector take an array of the device
     that is not there: a crash, or an error of MPI on some processes while others wait.

       MatBindToCPU(A, PETSC_TRUE);
       MatDuplicate(A, MAT_COPY_VALUES, &B);  // 2 processes
       MatMult(B, x, y); MatZeroRowsColumns(B, 1, &row, 1, NULL, NULL);

     What would help: a work vector that is made anew, by MatCreateVecs() of the block.

   Needed: 3.24 to 3.26. Gone when: "VecDuplicate() of a bound vector" of upstream.c. Ours: sequences.c, "boundcopy".

   A factor of MATSOLVERCUSPARSE cannot be computed anew while its MATSEQAIJCUSPARSE is bound to the host

     The numeric phase takes the values to the device, which is an error for a bound matrix. So is PCSetUp() of PCILU,
     PCICC and PCBJACOBI.

       MatLUFactorNumeric(F, A, &info);  // an ILU of MATSOLVERCUSPARSE
       MatBindToCPU(A, PETSC_TRUE);
       MatScale(A, 2);
       MatLUFactorNumeric(F, A, &info);  // error, "Cannot copy to GPU"

     What would help: values copied from the host in the numeric phase.

   Needed: 3.24 to 3.26. Gone when: nothing says it; try the lines above. Ours: matsolve.c, with a GPU.

   Cholesky and ICC of a MATSEQAIJCUSPARSE that is bound to the host give zeros

     MatGetFactor_seqaijcusparse_cusparse() then takes the functions of the host, which solve as for a MATSEQSBAIJ. The
     factor is a MATSEQAIJCUSPARSE, and has no block rows for them.

       MatBindToCPU(A, PETSC_TRUE);
       MatGetFactor(A, MATSOLVERCUSPARSE, MAT_FACTOR_ICC, &F);  // and symbolic and numeric phase
       MatSolve(F, b, x);  // x is not written

     What would help: a factor of MATSEQSBAIJ, as of MATSOLVERPETSC.

   Needed: 3.24 to 3.26. Gone when: nothing says it; try the lines above. Ours: matsolve.c, with a GPU.

   MatMPIAIJGetLocalMatMerge() of a MATMPIAIJCUSPARSE that is bound to the host is an error

     It merges the two blocks on the device, and takes their values there first.

       MatBindToCPU(A, PETSC_TRUE);
       MatMPIAIJGetLocalMatMerge(A, MAT_INITIAL_MATRIX, NULL, &B);  // 2 processes: error, "Cannot copy to GPU"

     A sparse product that was set up before B was bound calls it as well.

     What would help: the function of MATMPIAIJ while the matrix is bound.

   Needed: 3.24 to 3.26. Gone when: "MatMPIAIJGetLocalMatMerge() of a bound matrix" of upstream.c. Ours: type.c, with a
   GPU.

   MatGetMultiProcBlock() binds the diagonal block of a MATMPIAIJCUSPARSE to the host

     The new matrix is a MATMPIAIJ, and has that block, too. Its assembly binds its blocks, as it is of the host. From
     then on the block of the old matrix works on the host, and is refused where the device is needed. PCBJACOBI with
     fewer blocks than processes does that to the matrix of a solver.

       MatGetMultiProcBlock(A, PETSC_COMM_SELF, MAT_INITIAL_MATRIX, &B);  // 2 processes
       MatMPIAIJGetSeqAIJ(A, &block, NULL, NULL);
       MatBoundToCPU(block, &bound);                                      // true; that of A is false

     What would help: MatBindToCPU() of the block, as the old matrix is, at the end of MatGetMultiProcBlock_MPIAIJ().

   Needed: 3.24 to 3.26. Gone when: "MatGetMultiProcBlock()" of upstream.c. Ours: type.c, with a GPU.

   Here a bound matrix is not bound for as long as such a call takes: AIJTCUCallUnbound(), and MatGetFactor_AIJTCU() for
   Cholesky and ICC. The duplicate of a parallel one is bound, and freed again. A block that was bound with another
   matrix is freed. It has a plan before, because that matrix gives it vectors of the host (hostvectors.c)
*/
#include "upstream.h"

/* lost: A is bound, whatever it says */
PetscErrorCode AIJTCUUnbind(Mat A, PetscBool lost, PetscBool *bound)
{
#if PetscDefined(HAVE_DEVICE)
  PetscErrorCode ierr;
#endif

  PetscFunctionBegin;
  *bound = PETSC_FALSE;
#if PetscDefined(HAVE_DEVICE)
  *bound = A->boundtocpu;
  if (lost) A->boundtocpu = PETSC_TRUE;
  if (!A->boundtocpu) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCall(MatBindToCPU(A, PETSC_FALSE));
  ierr = AIJTCUValuesToHost(A, PETSC_TRUE); /* PETSc's own type does not say so: valuestohost.c */
  if (ierr) (void)MatBindToCPU(A, PETSC_TRUE);
  PetscCall(ierr);
#else
  (void)A;
  (void)lost;
#endif
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* After B was made a duplicate of A */
PetscErrorCode AIJTCUFreeDuplicate(Mat A, Mat B)
{
  PetscFunctionBegin;
#if PetscDefined(HAVE_DEVICE)
  Mat block[2];

  if (!A->boundtocpu || B->boundtocpu || B->hash_active) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCall(AIJTCULocalBlocks(B, block, NULL));
  if (block[0] == B) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCall(MatBindToCPU(B, PETSC_TRUE));
  PetscCall(MatBindToCPU(B, PETSC_FALSE));
#else
  (void)A;
  (void)B;
#endif
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* After the diagonal block of A became a block of another matrix, too */
PetscErrorCode AIJTCUFreeShared(Mat A)
{
  PetscFunctionBegin;
#if PetscDefined(HAVE_DEVICE)
  Mat block[2];

  PetscCall(AIJTCULocalBlocks(A, block, NULL));
  if (!A->boundtocpu) PetscCall(MatBindToCPU(block[0], PETSC_FALSE));
#else
  (void)A;
#endif
  PetscFunctionReturn(PETSC_SUCCESS);
}
