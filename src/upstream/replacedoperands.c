/*
   Products of matrices on a device keep the operands of their symbolic phase

     P^T A P, R A R^T and A B C of a MATSEQAIJCUSPARSE are made of two products (MatProductSymbolic_ABC_Basic()), and
     all of a MATMPIAIJCUSPARSE of several (MatProductSymbolic_MPIAIJBACKEND()). These have references to the operands
     of then. MatProductReplaceMats() does not reach them.

       MatProductCreate(A, P, NULL, &C); MatProductSetType(C, MATPRODUCT_PtAP); MatProductSetFromOptions(C);
       MatProductSymbolic(C); MatProductNumeric(C);
       MatProductReplaceMats(A2, NULL, NULL, C);
       MatProductNumeric(C);  // P^T A P, not P^T A2 P, if A is a MATSEQAIJCUSPARSE

     What would help: MatProductReplaceMats() on the products inside, in the numeric phase.

   Needed: 3.24 to 3.26. Gone when: nothing says it; try the lines above. Ours: sparseproduct.c, with a GPU.
*/
#include "upstream.h"

/* Whether C is of sparse matrices alone */
PetscErrorCode AIJTCUProductIsSparse(Mat C, PetscBool *is)
{
  const Mat operand[3] = {C->product->A, C->product->B, C->product->C};

  PetscFunctionBegin;
  *is = PETSC_TRUE;
  for (int i = 0; i < 3 && *is; i++) {
    if (operand[i]) PetscCall(PetscObjectBaseTypeCompareAny((PetscObject)operand[i], is, MATSEQAIJ, MATMPIAIJ, ""));
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* The values of C by another product, set up with the operands that C has now. They have the pattern of those before */
PetscErrorCode AIJTCUProductOfReplaced(Mat C)
{
  const Mat_Product *product = C->product;
  const char        *prefix;
  Mat                D;

  PetscFunctionBegin;
  PetscCall(MatProductCreate(product->A, product->B, product->C, &D));
  PetscCall(MatGetOptionsPrefix(C, &prefix));
  PetscCall(MatSetOptionsPrefix(D, prefix));
  PetscCall(MatProductSetType(D, product->type));
  PetscCall(MatProductSetAlgorithm(D, product->alg));
  PetscCall(MatProductSetFill(D, product->fill));
  D->product->api_user = product->api_user;
  PetscCall(MatProductSetFromOptions(D));
  PetscCall(MatProductSymbolic(D));
  PetscCall(MatProductNumeric(D));
  PetscCall(MatCopy(D, C, SAME_NONZERO_PATTERN));
  PetscCall(MatDestroy(&D));
  PetscFunctionReturn(PETSC_SUCCESS);
}
