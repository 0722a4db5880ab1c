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

   Here such a matrix is not bound for as long as the call takes: AIJTCUCallUnbound()
*/
#include "upstream.h"

/* lost: A is bound, whatever it says */
PetscErrorCode AIJTCUUnbind(Mat A, PetscBool lost, PetscBool *bound)
{
  PetscFunctionBegin;
  *bound = PETSC_FALSE;
#if PetscDefined(HAVE_DEVICE)
  *bound = A->boundtocpu;
  if (lost) A->boundtocpu = PETSC_TRUE;
  PetscCall(MatBindToCPU(A, PETSC_FALSE));
#else
  (void)A;
  (void)lost;
#endif
  PetscFunctionReturn(PETSC_SUCCESS);
}
