/*
   Who makes a product: product.c and productmpi.c make those with a dense matrix, sparse.c those of sparse matrices on
   a device, and delegate.c has the parent type make all others.
*/
#include "productimpl.h"
#include "../sparse/sparse.h"

/*
   PETSc calls this for every product in which a MATAIJTCU takes part. It also calls it for a matrix of a parent type
   with a plan, if another operand is dense.
*/
PetscErrorCode MatProductSetFromOptions_AIJTCU(Mat C)
{
  Mat         operand[3] = {C->product->A, C->product->B, C->product->C};
  AIJTCUPlan *plan[3]    = {NULL, NULL, NULL};
  PetscBool   dense, bysymmetry, transposed, inside = PETSC_FALSE, outside = PETSC_FALSE;

  PetscFunctionBegin;
  for (int i = 0; i < 3; i++) {
    if (operand[i]) PetscCall(AIJTCUGetPlan(operand[i], &plan[i]));
    if (plan[i] && plan[i]->id.view_depth) inside = PETSC_TRUE;
    else if (plan[i] && plan[i]->id.own_name) outside = PETSC_TRUE;
  }
  if (inside) {
    /* outside: in place of a MATTRANSPOSEVIRTUAL PETSc has put the matrix behind it, which is not in the view */
    if (outside) PetscCall(AIJTCUDelegate(C));
    else PetscCall(AIJTCUDelegateInView(C, MatProductSetFromOptions_AIJTCU));
    PetscFunctionReturn(PETSC_SUCCESS);
  }
  PetscCheck(plan[0] || plan[1] || plan[2], PetscObjectComm((PetscObject)C), PETSC_ERR_PLIB,
    "A function of aijtcu was copied to a matrix without a plan");
  C->ops->productsymbolic = NULL;
  PetscCall(AIJTCUProductIsDense(C, &dense, &bysymmetry));
  PetscCall(AIJTCUProductIsTransposed(C, &transposed));
  /* what follows from the pattern is asked for when it is there */
  if (plan[0] && operand[0]->assembled && (dense || transposed)) {
    if (plan[0]->id.kind == AIJTCU_KIND_SEQ) PetscCall(AIJTCUSetUpProduct(C, plan[0], transposed));
    else PetscCall(AIJTCUSetUpProductMPI(C, plan[0]));
  }
  if (!C->ops->productsymbolic) PetscCall(AIJTCUSetUpSparse(C, AIJTCUDelegate));
  if (!C->ops->productsymbolic) PetscCall(AIJTCUDelegate(C));
  PetscFunctionReturn(PETSC_SUCCESS);
}
