/*
   MatHeaderMerge() calls a matrix's destroy function without the matrix's name and what is composed with it

     MatHeaderMerge(A, &C) sets A's type name and its lists of composed objects and functions to NULL, then calls
     A->ops->destroy. A type that is derived from another one outside of PETSc keeps its data in a composed container.
     Its destroy function cannot find them then, nor the destroy function of the parent type, and cannot tell from what
     PETSc passes that A will get all of it back.

       MatSetType(A, MATSEQAIJ);
       original = A->ops->destroy; A->ops->destroy = MyDestroy;
       PetscObjectCompose(A, "MyData", data);
       MatAXPY(A, 1, B, DIFFERENT_NONZERO_PATTERN);
       // calls MyDestroy(A), where PetscObjectQuery(A, "MyData", &data) gives NULL

     What would help: keep the lists while destroy runs, or an operation that exchanges the data of two matrices of a
     type.

   Needed: 3.24 to 3.26. Gone when: "MatHeaderMerge()" of upstream.c. Ours: identity.c.

   The parent's function is kept in the table of operations, which MatHeaderMerge() leaves as it is: in the slot
   `create`, which no matrix type of PETSc sets or calls. A function that a program has put before ours, and that calls
   ours, stays in front
*/
#include "upstream.h"

PetscErrorCode (*AIJTCUKeptDestroy(Mat A))(Mat)
{
  return A->ops->create;
}

void AIJTCUKeepDestroy(Mat A, PetscErrorCode (*own)(Mat))
{
  if (A->ops->destroy == own || (A->ops->create && A->ops->destroy != A->ops->create)) return;
  A->ops->create  = A->ops->destroy;
  A->ops->destroy = own;
}

void AIJTCUGiveDestroyBack(Mat A, PetscErrorCode (*own)(Mat))
{
  if (A->ops->destroy != own) return;
  A->ops->destroy = A->ops->create;
  A->ops->create  = NULL;
}
