/*
   MatSolveTranspose() goes on with the old factor, where that of MATSOLVERCUSPARSE is computed anew

     cusparseSpSV_analysis() takes the values of a matrix. The numeric phases of LU and ILU(0) call it the first time,
     and cusparseSpSV_updateMatrix() the next times, for L and U, not for what MatSolveTranspose() solves with. The flag
     that would have that analysed again, updatedTransposeSpSVAnalysis, is reset in the first case alone.

       MatLUFactorNumeric(F, A, &info);
       MatSolveTranspose(F, b, x);
       MatScale(A, 2);
       MatLUFactorNumeric(F, A, &info);
       MatSolveTranspose(F, b, x);  // x is what it was

     KSPBICG with PCLU or PCILU stops too early then, or does not converge. What would help:
     fs->updatedTransposeSpSVAnalysis = PETSC_FALSE in both cases, in MatSeqAIJCUSPARSEBuildFactoredMatrix_LU() and
     MatILUFactorNumeric_SeqAIJCUSPARSE_ILU0().

   Needed: 3.24 to 3.26 with CUDA 12.1.1 or newer. Gone when: "MatSolveTranspose() with a factor computed anew" of
   upstream.c. Ours: matsolve.c with dense blocks of the host; "bicg_bjacobi" and "bicg_asm" of solvers.c.

   Here that flag is reset. Where it is not found, MatSolveTranspose() of a factor computed anew is an error
*/
#include "cusparsefactor.h"

#if AIJTCU_HAVE_DEVICE
static PetscErrorCode MatSolveTranspose_AIJTCU_Old(Mat F, Vec b, Vec x)
{
  PetscFunctionBegin;
  (void)b;
  (void)x;
  SETERRQ(PetscObjectComm((PetscObject)F), PETSC_ERR_SUP, "This PETSc would solve with the transpose of the factor as it was before it was computed anew: make a new factor, or use -mat_cusparse_use_cpu_solve");
}

/* To be called after each numeric phase of LU or ILU. again: it is not the first */
PetscErrorCode AIJTCUFactorTransposeAnew(Mat F, PetscBool again)
{
  MatSolverType   type;
  AIJTCUFactorFit fit;
  PetscBool       cusparse;

  PetscFunctionBegin;
  if (!again) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCall(MatFactorGetSolverType(F, &type));
  PetscCall(PetscStrcmp(type, MATSOLVERCUSPARSE, &cusparse));
  if (!cusparse || F->offloadmask == PETSC_OFFLOAD_CPU) PetscFunctionReturn(PETSC_SUCCESS); /* it solves on the host */
  PetscCall(AIJTCUFactorAsk(&fit));
  if (fit.flags) ((AIJTCUFactorData *)F->spptr)->transpose_analysed = PETSC_FALSE;
  else F->ops->solvetranspose = MatSolveTranspose_AIJTCU_Old;
  PetscFunctionReturn(PETSC_SUCCESS);
}
#endif
