#include "pathtaken.h"

static PetscErrorCode IsOurs(Mat A, PetscBool *ours)
{
  PetscFunctionBegin;
  PetscCall(PetscObjectTypeCompareAny((PetscObject)A, ours, MATSEQAIJTCU, MATMPIAIJTCU, ""));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* The counts; zeros for a matrix of another type than MATAIJTCU */
PetscErrorCode ExamplePathCounts(Mat A, MatAIJTCUCounts *counts)
{
  PetscBool ours;

  PetscFunctionBegin;
  PetscCall(PetscMemzero(counts, sizeof(*counts)));
  PetscCall(IsOurs(A, &ours));
  if (ours) PetscCall(MatAIJTCUGetCounts(A, counts));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* The paths of the products since earlier counts, such as "tcu" or "tcu+csr". Empty for a matrix of another type. */
PetscErrorCode ExamplePathTaken(Mat A, const MatAIJTCUCounts *before, char text[], size_t len)
{
  MatAIJTCUCounts now;

  PetscFunctionBegin;
  text[0] = 0;
  PetscCall(ExamplePathCounts(A, &now));
  for (MatAIJTCUPath p = MAT_AIJTCU_PATH_TCU; p <= MAT_AIJTCU_PATH_CUSPARSE; p++) {
    if (p == MAT_AIJTCU_PATH_TCU ? now.tcu == before->tcu : p == MAT_AIJTCU_PATH_CSR ? now.csr == before->csr
                                                                                     : now.cusparse == before->cusparse) continue;
    if (text[0]) PetscCall(PetscStrlcat(text, "+", len));
    PetscCall(PetscStrlcat(text, MatAIJTCUPaths[p], len));
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* The same of sampled products, "fused" where they were multiplied in the same pass. Empty where the host made them */
PetscErrorCode ExampleSampledPathTaken(Mat A, const MatAIJTCUCounts *before, char text[], size_t len)
{
  MatAIJTCUCounts now;

  PetscFunctionBegin;
  PetscCall(ExamplePathCounts(A, &now));
  PetscCall(PetscStrncpy(text, now.fused > before->fused ? "fused" : now.sampled_tcu > before->sampled_tcu ? MatAIJTCUPaths[MAT_AIJTCU_PATH_TCU]
                                                                 : now.sampled_csr > before->sampled_csr ? MatAIJTCUPaths[MAT_AIJTCU_PATH_CSR]
                                                                                                         : "", len));
  PetscFunctionReturn(PETSC_SUCCESS);
}
