/*
   MatCreateSubMatrices() with MAT_REUSE_MATRIX leaves old values on the device

     For a parallel matrix it fills sequential submatrices that there are already on the host, through a->a, and does
     not say so. A submatrix of type MATSEQAIJCUSPARSE that has been multiplied keeps its old values on the device.

       MatCreateSubMatrices(A, 1, &is, &is, MAT_INITIAL_MATRIX, &sub);
       MatMult(sub[0], x, y);
       MatScale(A, 2);
       MatCreateSubMatrices(A, 1, &is, &is, MAT_REUSE_MATRIX, &sub);
       MatMult(sub[0], x, z);  // gives z = y

     What would help: offloadmask and the object state set where the values are filled in.

   Needed: 3.24 to 3.26. Gone when: "MatCreateSubMatrices()" of upstream.c, 2 processes. Ours: solvers.c (PCASM,
   PCGASM).
*/
#include "upstream.h"

PetscErrorCode AIJTCUSubMatricesFilled(PetscInt n, Mat B[])
{
  PetscFunctionBegin;
  for (PetscInt i = 0; i < n; i++) {
    PetscBool sequential;

    PetscCall(PetscObjectBaseTypeCompare((PetscObject)B[i], MATSEQAIJ, &sequential));
    if (!sequential) continue;
#if PetscDefined(HAVE_DEVICE)
    B[i]->offloadmask = PETSC_OFFLOAD_CPU;
#endif
    PetscCall(PetscObjectStateIncrease((PetscObject)B[i]));
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}
